"""Layer files: what goes in comes out, and every wrong byte is found."""

from __future__ import annotations

import errno
import hashlib
import itertools
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilebase.errors import CorruptError, MissingLayerError, StorageError, TilebaseError
from tilebase.files import format as layer_format
from tilebase.files import keys as store
from tilebase.files.format import (
    CHUNK_KEYS,
    Chunk,
    LayerFile,
    Varying,
    compress,
    decode_keys,
    encode_keys,
)
from tilebase.files.keys import write_keys
from tilebase.files.parquet import cells_of, export_parquet
from tilebase.game.formations import formation
from tilebase.game.game import Game
from tilebase.questions.count import count
from tilebase.runtime.threads import Pool

TOP = (1 << 64) - 1
META = {"game": Game("2x2", 32).identity, "kind": "afterstates", "lookahead": False, "sum": 8}


def sorted_keys(values) -> np.ndarray:
    return np.array(sorted(values), dtype=np.uint64)


def some_keys(number: int, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.cumsum(rng.integers(1, 1 << 20, number, dtype=np.uint64), dtype=np.uint64)


def write(path, keys, meta=META, pool=None):
    return write_keys(path, [keys], meta, pool, durable=False)


@settings(deadline=None)
@given(st.sets(st.one_of(st.integers(0, TOP), st.integers(0, 300), st.integers(TOP - 300, TOP)), min_size=1))
def test_deltas_round_trip_in_both_codecs(values):
    keys = sorted_keys(values)
    deltas = encode_keys(keys)
    (chunk,) = store.encode(keys)
    assert chunk == compress(int(keys[0]), len(keys), deltas)
    for decode in (decode_keys, store.decode):
        np.testing.assert_array_equal(decode(int(keys[0]), deltas, len(keys)), keys)


@settings(deadline=None)
@given(st.integers(1, TOP), st.integers(0, TOP), st.sets(st.integers(0, TOP), min_size=1))
def test_short_keys_have_the_order_of_keys_and_give_them_back(mask, other, values):
    varying = Varying(mask)
    keys = sorted_keys({other & ~mask | value & mask for value in values})
    short = varying.shorten(keys)
    bits = [bit for bit in range(64) if mask >> bit & 1]
    assert short.tolist() == [
        sum((key >> bit & 1) << at for at, bit in enumerate(bits)) for key in keys.tolist()
    ]
    np.testing.assert_array_equal(varying.lengthen(int(keys[0]), short), keys)
    assert Varying.of(varying.meta) == varying
    assert Varying.of({}) is None


@pytest.mark.parametrize(
    ("game", "mask"),
    [
        (Game("3x3", 512), None),
        (Game("3x3", 512, walls=(0,)), None),
        (Game("3x3", 512, walls=(8,)), "ffffffff0"),
        (formation("442").game(512), "ffffffffff000000"),
        (formation("L3").game(256), "fffffffff000f000"),
        (formation("free9").game(64), None),
        (formation("3x3").game(64), "fff0fff0fff00000"),
    ],
    ids=str,
)
def test_only_the_cells_that_change_are_stored(game, mask, tmp_path):
    varying = store.varying_bits(game)
    assert (varying and varying.meta["varying"]) == mask
    if mask is None:
        return
    keys = np.array([game.pack(board) for board, _ in game.starts()], dtype=np.uint64)
    meta = META | {"game": game.identity}
    keys = np.sort(keys) | np.uint64(game.cell_bits(game.held))
    write_keys(tmp_path / "a.tbl", [keys], meta, None, varying=varying, durable=False)
    with LayerFile(tmp_path / "a.tbl") as layer:
        assert layer.meta["varying"] == mask
        np.testing.assert_array_equal(layer.keys(0), keys)
        np.testing.assert_array_equal(layer.keys(0, store.decode), keys)


@pytest.mark.parametrize("value", ["", "0", "0f", "F", "-1", "1" * 17, 15, None, ["f"]], ids=repr)
def test_varying_bits_of_strangers(value, tmp_path):
    meta = META | {"varying": value}
    layer_format.write_layer(tmp_path / "a.tbl", store.encode(some_keys(5)), meta, durable=False)
    with pytest.raises(CorruptError, match="does not say in hexadecimal"):
        LayerFile(tmp_path / "a.tbl")


def test_header_and_meta_of_two_versions(tmp_path):
    path = tmp_path / "a.tbl"
    write(path, some_keys(5))
    data = bytearray(path.read_bytes())
    data[13] = 2
    path.write_bytes(data)
    with pytest.raises(CorruptError, match="two versions"):
        LayerFile(path)


def test_short_keys_of_too_many_bits(tmp_path):
    chunks = store.encode(sorted_keys([1, 200]))
    layer_format.write_layer(tmp_path / "a.tbl", chunks, META | {"varying": "7f"}, durable=False)
    with LayerFile(tmp_path / "a.tbl") as layer:
        for decode in (decode_keys, store.decode):
            with pytest.raises(CorruptError, match=r"in chunk 0: a short key has more bits"):
                layer.keys(0, decode)


@pytest.mark.parametrize("decode", [decode_keys, store.decode], ids=["numpy", "compiled"])
@pytest.mark.parametrize(
    ("deltas", "number"),
    [(b"", 2), (b"\x01", 1), (b"\x01\x01", 2), (b"\x80", 1), (b"\x01\x80", 2), (b"\xff\xff", 3)],
)
def test_deltas_of_another_number_of_keys(decode, deltas, number):
    with pytest.raises(CorruptError):
        decode(7, deltas, number)


@settings(max_examples=30, deadline=None)
@given(values=st.sets(st.integers(0, TOP), min_size=1, max_size=60), others=st.sets(st.integers(0, TOP)))
def test_in(values, others, tmp_path_factory):
    path = tmp_path_factory.mktemp("in") / "layer.tbl"
    keys = sorted_keys(values)
    chunks = [chunk for i in range(0, len(keys), 7) for chunk in store.encode(keys[i : i + 7])]
    layer_format.write_layer(path, chunks, META, durable=False)
    near = {(key + step) & TOP for key in values for step in (-1, 1)}
    with LayerFile(path) as layer:
        assert len(layer) == len(values)
        assert layer.chunks == -(-len(values) // 7)
        for key in values | others | near | {0, TOP}:
            assert (key in layer) == (key in values), key


@pytest.mark.parametrize("number", [1, 2, CHUNK_KEYS - 1, CHUNK_KEYS, CHUNK_KEYS + 1, 3 * CHUNK_KEYS + 5])
def test_file_round_trip(number, tmp_path):
    keys = some_keys(number)
    path = tmp_path / "layer.tbl"
    size, checksum = write(path, keys)
    with LayerFile(path) as layer:
        assert (len(layer), layer.nbytes, layer.checksum, layer.meta) == (number, size, checksum, META)
        assert size == path.stat().st_size
        np.testing.assert_array_equal(np.concatenate(list(layer)), keys)
        for chunk in range(layer.chunks):
            np.testing.assert_array_equal(layer.keys(chunk, store.decode), layer.keys(chunk))
        assert [len(part) for part in layer][:-1] == [CHUNK_KEYS] * (layer.chunks - 1)
        layer.verify()
    assert [entry.name for entry in tmp_path.iterdir()] == ["layer.tbl"]


def test_file_without_keys(tmp_path):
    path = tmp_path / "layer.tbl"
    write(path, some_keys(0))
    with LayerFile(path) as layer:
        layer.verify()
        assert (len(layer), layer.chunks, 0 in layer) == (0, 0, False)


@pytest.mark.parametrize("cuts", [[], [1], [5, 5, 30000], [16384], [16383, 16385, 49000, 50000]], ids=str)
def test_bytes_do_not_depend_on_parts_or_threads(cuts, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "JOB_CHUNKS", 2)  # several jobs
    keys = some_keys(50_000)
    write(tmp_path / "whole.tbl", keys)
    whole = (tmp_path / "whole.tbl").read_bytes()
    parts = np.split(keys, cuts)
    with Pool(2) as threads:
        for pool in (None, threads):
            write_keys(tmp_path / "parts.tbl", iter(parts), META, pool, durable=True)
            assert (tmp_path / "parts.tbl").read_bytes() == whole


# -- damage ----------------------------------------------------------------------------------


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.tbl"
    keys = some_keys(40)
    chunks = [chunk for part in np.split(keys, 2) for chunk in store.encode(part)]
    layer_format.write_layer(path, chunks, META)
    return path


def read_all(path):
    with LayerFile(path) as layer:
        layer.verify()


@pytest.mark.parametrize("more", [b"\0", b"x" * 100, layer_format.END])
def test_appended_bytes_are_found(small, more):
    small.write_bytes(small.read_bytes() + more)
    with pytest.raises(CorruptError):
        read_all(small)


def test_file_that_shrinks_while_it_is_open(small):
    with LayerFile(small) as layer:
        os.truncate(small, 20)
        with pytest.raises(CorruptError, match="ends too early"):
            layer.verify()


@pytest.mark.parametrize("order", ["swapped", "twice"])
def test_chunks_out_of_order_are_found(order, tmp_path):
    first, second = (store.encode(part)[0] for part in np.split(some_keys(20), 2))
    chunks = [second, first] if order == "swapped" else [first, first]
    layer_format.write_layer(tmp_path / "layer.tbl", chunks, META)
    with pytest.raises(CorruptError, match="not ascending"):
        read_all(tmp_path / "layer.tbl")


def test_frame_that_is_no_zstd(tmp_path):
    layer_format.write_layer(tmp_path / "layer.tbl", [Chunk(5, 3, b"not zstd")], META)
    with pytest.raises(CorruptError, match="chunk 0"):
        read_all(tmp_path / "layer.tbl")


def test_missing_file(tmp_path):
    with pytest.raises(MissingLayerError, match="is not there"):
        LayerFile(tmp_path / "none.tbl")


def test_folder_instead_of_a_file(tmp_path):
    with pytest.raises(TilebaseError, match=r"cannot read|is not a layer file"):
        LayerFile(tmp_path)


# -- writing ---------------------------------------------------------------------------------


def full(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_full_disk_leaves_the_old_file_and_no_part(small, monkeypatch):
    before = small.read_bytes()
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match=r"cannot write .*small\.tbl: No space left on device"):
        write_keys(small, [some_keys(9)], META, None, durable=True)
    assert small.read_bytes() == before
    assert [entry.name for entry in small.parent.iterdir()] == ["small.tbl"]


def test_limit_of_file_size_leaves_no_part(tmp_path):
    script = """if True:
        import pathlib, resource, sys
        import numpy as np
        from tilebase.errors import StorageError
        from tilebase.files.keys import write_keys
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        keys = np.cumsum(np.random.default_rng(1).integers(1, 1 << 20, 9000, dtype=np.uint64))
        try:
            write_keys(pathlib.Path(sys.argv[1]) / "layer.tbl", [keys], {}, None, durable=False)
        except StorageError as error:
            sys.exit(0 if "cannot write" in str(error) else 3)
        sys.exit(4)
    """
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True)
    assert list(tmp_path.iterdir()) == []


def test_folder_that_is_not_there(tmp_path):
    with pytest.raises(StorageError, match="cannot write"):
        write(tmp_path / "none" / "layer.tbl", some_keys(3))


def test_failure_in_the_middle_leaves_no_part(tmp_path):
    def chunks():
        yield from store.encode(some_keys(100))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        layer_format.write_layer(tmp_path / "layer.tbl", chunks(), META)
    assert list(tmp_path.iterdir()) == []


def test_every_cell_of_a_key_is_checked():
    """A board of another sum, with x beside all masks, or without its fixed x is not taken from a file."""
    for game, good, bad in (
        (Game("2x2", 32), "2,4/8,2", ["2,4/8,4", "2,4/2,2"]),
        (Game("2x3", 32, masks="x../..."), "x,2,4/0,0,2", ["2,x,4/0,0,2", "x,2,4/0,x,2", "0,2,4/0,0,2"]),
        (Game("2x3", 32, unmergeable=[0], fixed=True), "x,2,4/0,0,2", ["0,2,4/0,0,2", "2,x,4/0,0,2"]),
        (Game("2x3", 32, unmergeable=[0]), "2,x,4/0,0,2", ["0,2,4/0,0,2", "2,x,4/x,0,2"]),
        (Game("2x3", 32, limits="4,4,4/4,4,4"), "4,4,4/2,0,0", ["8,4,2/0,0,0"]),
    ):
        check, board = store.BoardCheck(game), game.parse(good)
        check.demand(np.array([game.pack(board)], dtype=np.uint64), game.sum(board), "a file")
        for text in bad:
            words = text.replace("/", ",").split(",")
            other = [game.x if word == "x" else int(word).bit_length() - (word != "0") for word in words]
            for keys in ([game.pack(board), game.pack(other)], [game.pack(other), game.pack(board)]):
                with pytest.raises(CorruptError, match="keys that are not boards"):
                    check.demand(np.array(keys, dtype=np.uint64), game.sum(board), "a file")


# -- Parquet ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "game",
    [Game("2x2", 32), Game("2x3", 32, unmergeable=[0]), Game("3x3", 16), Game("2x3", 32, masks="x../...")],
    ids=str,
)
def test_parquet(game, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    count(game, folder=tmp_path / "run", keep="states", threads=1)
    layers = sorted((tmp_path / "run").rglob("*.tbl"))
    layers = [path for path in layers if path.stat().st_size > 1000][:4] or layers[-4:]
    for path in layers:
        with LayerFile(path) as layer:
            keys = np.concatenate(list(layer))
        assert export_parquet(path, tmp_path / "layer.parquet") == len(keys)
        table = pq.read_table(tmp_path / "layer.parquet")
        assert table.column_names == ["key", *(f"cell_{c}" for c in range(game.cells))]
        boards = np.array([table.column(f"cell_{c}").to_numpy() for c in range(game.cells)])
        np.testing.assert_array_equal(boards, cells_of(game, keys))
        assert [game.pack(tuple(board)) for board in boards.T.tolist()] == keys.tolist()
        assert table.column("key").to_pylist() == keys.tolist()
        meta = table.schema.metadata[b"tilebase"]
        assert json.loads(meta)["game"] == game.identity
        digest = hashlib.sha256(meta + keys.astype("<u8").tobytes()).hexdigest()
        assert table.schema.metadata[b"tilebase.sha256"] == digest.encode()


def test_parquet_to_a_folder_that_is_not_there(small, tmp_path):
    pytest.importorskip("pyarrow")
    with pytest.raises(StorageError, match="cannot write"):
        export_parquet(small, tmp_path / "none" / "layer.parquet")


@pytest.mark.parametrize("sizes", [(), (0,), (3, 0, 5), (3, 0, 6), (9, 1), (4,)])
def test_keys_are_cut_into_pieces_of_one_size(sizes: tuple[int, ...]) -> None:
    ends = [*itertools.accumulate(sizes)]
    parts = [np.arange(end - size, end, dtype=np.uint64) for size, end in zip(sizes, ends, strict=True)]
    pieces = [part.tolist() for part in store._pieces(parts, 4)]
    assert list(itertools.chain(*pieces)) == list(range(sum(sizes)))
    assert [len(piece) for piece in pieces if piece] == [4] * (sum(sizes) // 4) + [sum(sizes) % 4] * (
        sum(sizes) % 4 > 0
    )
