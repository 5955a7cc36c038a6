"""Folders of layers: what goes in comes out, in the same bytes, and every wrong byte is found."""

from __future__ import annotations

import hashlib
import itertools
import json
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilebase.files.store as module
from stopping import no_space
from stored import chunks_of, contents, encode_keys, record_of
from tilebase.errors import CorruptError, MissingLayerError, StorageError
from tilebase.files import keys as store
from tilebase.files.format import (
    CHUNK_KEYS,
    Chunk,
    Contents,
    Layer,
    Varying,
    compress,
    decode_keys,
)
from tilebase.files.keys import encoded
from tilebase.files.layers import LayerFolder, PagedLayers
from tilebase.files.parquet import cells_of, export_parquet
from tilebase.files.source import Folder
from tilebase.files.store import LayerStore
from tilebase.game.formations import formation
from tilebase.game.game import Game
from tilebase.questions.count import count
from tilebase.runtime.threads import Pool
from tilebase.tables.layers import open_layer

TOP = (1 << 64) - 1
WHOLE = Contents(Game("4x4", 2048))
"""Layers of keys of 64 bits."""


def sorted_keys(values) -> np.ndarray:
    return np.array(sorted(values), dtype=np.uint64)


def some_keys(number: int, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.cumsum(rng.integers(1, 1 << 20, number, dtype=np.uint64), dtype=np.uint64)


def split(keys: np.ndarray, size: int = CHUNK_KEYS) -> list[Chunk]:
    return [chunk for at in range(0, len(keys), size) for chunk in store.encode(keys[at : at + size])]


def write(folder, total, chunks, contents=WHOLE, durable=False):
    with LayerStore(folder, contents) as layers:
        return layers.write(total, chunks, durable=durable)


def read(folder, total, contents=WHOLE) -> Layer:
    return LayerFolder(folder, contents).layer(total)


@settings(max_examples=50)
@given(
    mask=st.none() | st.integers(1, TOP),
    other=st.integers(0, TOP),
    values=st.sets(
        st.one_of(st.integers(0, TOP), st.integers(0, 300), st.integers(TOP - 300, TOP)), min_size=1
    ),
)
def test_keys_and_short_keys_round_trip_in_both_codecs(mask, other, values):
    keys, varying = sorted_keys(values), None
    short = keys
    if mask is not None:
        varying = Varying(mask)
        keys = sorted_keys({other & ~mask | value & mask for value in values})
        short = store.shortened(varying, keys)
        bits = [bit for bit in range(64) if mask >> bit & 1]
        wanted = [sum((key >> bit & 1) << at for at, bit in enumerate(bits)) for key in keys.tolist()]
        assert short.tolist() == wanted
        np.testing.assert_array_equal(varying.lengthen(int(keys[0]), short), keys)
    (chunk,) = store.encode(keys, varying)
    assert chunk == compress(int(keys[0]), len(keys), encode_keys(short))
    for decode in (decode_keys, store.decode):
        np.testing.assert_array_equal(decode(int(keys[0]), encode_keys(short), len(keys), varying), keys)


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
    varying = Varying.of(game)
    assert (varying and f"{varying.mask:x}") == mask
    if mask is None:
        return
    keys = np.array([game.pack(board) for board, _ in game.starts()], dtype=np.uint64)
    keys = np.sort(keys) | np.uint64(game.cell_bits(game.held))
    contents = Contents(game)
    write(tmp_path / "a", 8, store.encode(keys, varying), contents)
    layer = read(tmp_path / "a", 8, contents)
    np.testing.assert_array_equal(layer.keys(0), keys)
    np.testing.assert_array_equal(layer.keys(0, store.decode), keys)


def test_short_keys_of_too_many_bits(tmp_path):
    contents = Contents(Game("2x2", 16, walls=[3]))
    write(tmp_path / "a", 8, store.encode(sorted_keys([1, 5000])), contents)
    layer = read(tmp_path / "a", 8, contents)
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


@settings(max_examples=30)
@given(values=st.sets(st.integers(0, TOP), min_size=1, max_size=60), others=st.sets(st.integers(0, TOP)))
def test_in(values, others, tmp_path_factory):
    keys = sorted_keys(values)
    folder = tmp_path_factory.mktemp("in")
    write(folder, 8, split(keys, 7))
    near = {(key + step) & TOP for key in values for step in (-1, 1)}
    layer = read(folder, 8)
    assert len(layer) == len(values)
    assert layer.chunks == -(-len(values) // 7)
    for key in values | others | near | {0, TOP}:
        assert (key in layer) == (key in values), key


@pytest.mark.parametrize("number", [1, 2, CHUNK_KEYS - 1, CHUNK_KEYS, CHUNK_KEYS + 1, 3 * CHUNK_KEYS + 5])
def test_round_trip(number, tmp_path):
    keys, folder = some_keys(number), tmp_path / "layers"
    record = write(folder, 8, split(keys))
    layer = read(folder, 8)
    assert (len(layer), layer.sum, layer.record) == (number, 8, record)
    assert sum(path.stat().st_size for path in folder.iterdir()) == (
        16 + record.nbytes + len(WHOLE.header) + record.size(WHOLE)
    )
    np.testing.assert_array_equal(np.concatenate(list(layer)), keys)
    for chunk in range(layer.chunks):
        np.testing.assert_array_equal(layer.keys(chunk, store.decode), layer.keys(chunk))
    assert [len(part) for part in layer][:-1] == [CHUNK_KEYS] * (layer.chunks - 1)
    layer.verify()
    assert sorted(entry.name for entry in folder.iterdir()) == ["000.seg", "layers.idx"]


@pytest.mark.parametrize("cuts", [[], [1], [5, 5, 30000], [16384], [16383, 16385, 49000, 50000]], ids=str)
def test_bytes_do_not_depend_on_parts_or_threads(cuts, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "JOB_CHUNKS", 2)  # several jobs
    keys = some_keys(50_000)
    write(tmp_path / "whole", 8, split(keys))
    whole = contents(tmp_path / "whole")
    with Pool(2) as threads:
        for number, pool in enumerate((None, threads)):
            folder = tmp_path / str(number)
            write(folder, 8, encoded(iter(np.split(keys, cuts)), None, pool), durable=True)
            assert contents(folder) == whole


SIZES = {4: 20, 6: 3000, 8: 500, 10: 40}


@pytest.fixture
def many(tmp_path):
    """Four layers, in segments of 2,000 bytes or a layer."""
    folder = tmp_path / "many"
    with LayerStore(folder, WHOLE, segment_bytes=2000) as layers:
        for total, number in SIZES.items():
            layers.write(total, split(some_keys(number, total), 200), durable=False)
    return folder


def checksums(folder) -> dict[int, str]:
    return {total: record.text for total, record in LayerFolder(folder, WHOLE).records.items()}


def check(folder, sizes=SIZES) -> None:
    layers = LayerFolder(folder, WHOLE)
    assert layers.sums() == sorted(sizes)
    for total, number in sizes.items():
        layer = layers.layer(total)
        layer.verify()
        np.testing.assert_array_equal(np.concatenate(list(layer)), some_keys(number, total))


def test_a_segment_ends_with_the_layer_that_makes_it_long(many):
    check(many)
    records = LayerFolder(many, WHOLE).records
    assert [records[total].segment for total in SIZES] == [0, 0, 1, 1]


def test_a_reader_finds_layers_that_are_added(many):
    reader = LayerFolder(many, WHOLE)
    write(many, 12, split(some_keys(70, 12)))
    np.testing.assert_array_equal(np.concatenate(list(reader.layer(12))), some_keys(70, 12))


@pytest.mark.parametrize("finished", [[], [4], [4, 6], [4, 6, 8, 10]], ids=str)
@pytest.mark.parametrize("torn", [0, 7, 100])
def test_what_is_not_finished_is_overwritten(finished, torn, many):
    """A run that was killed goes on with the bytes of one that was not."""
    whole, sums = contents(many), checksums(many)
    for name in ("layers.idx", "001.seg"):
        (many / name).write_bytes((many / name).read_bytes() + b"\xff" * torn)
    with LayerStore(many, WHOLE, segment_bytes=2000) as layers:
        layers.keep({total: sums[total] for total in finished})
        assert layers.sums() == finished
        for total, number in SIZES.items():
            if total not in finished:
                layers.write(total, split(some_keys(number, total), 200), durable=False)
        if torn and len(finished) == len(SIZES):
            assert layers.sums() == sorted(SIZES)
    check(many)
    if len(finished) < len(SIZES):
        assert contents(many) == whole


@pytest.mark.parametrize("total", SIZES)
@pytest.mark.parametrize("damage", ["chunks", "rows", "head", "segment"])
def test_a_damaged_layer_is_written_behind_the_others(total, damage, many):
    sums = checksums(many)
    if damage == "segment":
        chunks_of(many, total).path.unlink()
    elif damage == "chunks":
        chunks_of(many, total).flip(20)
    else:
        record_of(many, total).flip(8 if damage == "head" else 63)
    with LayerStore(many, WHOLE, segment_bytes=2000) as layers:
        layers.keep(sums)
        wrong = [s for s, number in SIZES.items() if not layers.is_sound(s, number, sums[s])]
        assert total in wrong
        if damage != "segment":
            assert wrong == ([s for s in SIZES if s >= total] if damage == "head" else [total])
        for s in wrong:
            layers.write(s, split(some_keys(SIZES[s], s), 200), durable=True)
    check(many)
    assert checksums(many) == sums


def test_the_last_layer_is_overwritten_one_of_another_size_is_added_and_an_empty_one_is_none(many):
    whole = contents(many)
    with LayerStore(many, WHOLE, segment_bytes=2000) as layers:
        layers.write(10, split(some_keys(SIZES[10], 10), 200), durable=False)
    assert contents(many) == whole
    with LayerStore(many, WHOLE, segment_bytes=2000) as layers:
        layers.write(6, split(some_keys(100, 6)), durable=False)
        assert layers.write(12, [], durable=False) is None
        layers.pages()
    check(many, SIZES | {6: 100})
    with pytest.raises(MissingLayerError, match="no layer of sum 12"):
        read(many, 12)


def test_segments_without_a_layer_are_deleted(many):
    with LayerStore(many, WHOLE, segment_bytes=2000) as layers:
        layers.release(4)
        assert (many / "000.seg").exists()
        layers.release(6)
        assert not (many / "000.seg").exists()
        layers.release(8)
        layers.release(10)
        assert (many / "001.seg").exists()  # it grows
        layers.write(12, split(some_keys(9000, 12)), durable=False)
        layers.release(12)
        layers.write(14, split(some_keys(9, 14)), durable=False)
        assert not (many / "001.seg").exists()
        layers.clear()
    assert not many.exists()


@pytest.mark.parametrize("least", [1, 300, 1 << 20])
@pytest.mark.parametrize("order", [[4, 6, 8, 10], [10, 8, 6, 4], [6, 4, 10, 8]], ids=str)
def test_pages(least, order, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PAGE_BYTES", least)
    folder = tmp_path / "t" / "values"
    folder.parent.mkdir()
    with LayerStore(folder, WHOLE) as layers:
        for total in order:
            layers.write(total, split(some_keys(SIZES[total], total), 200), durable=False)
        pages = layers.pages()
    assert [page.least for page in pages.pages] == sorted(page.least for page in pages.pages)
    assert (len(pages.pages) == 1) == (least > 1000)
    table = PagedLayers(Folder(tmp_path / "t"), "values", WHOLE, pages)
    assert table.sums() == sorted(order)
    table.check_headers()
    for total, number in SIZES.items():
        layer = table.layer(total)
        np.testing.assert_array_equal(np.concatenate(list(layer)), some_keys(number, total))
    for total in (2, 5, 12):
        with pytest.raises(MissingLayerError, match=f"no layer of sum {total}"):
            table.layer(total)
    record_of(folder, 8).flip(30)
    table = PagedLayers(Folder(tmp_path / "t"), "values", WHOLE, pages)
    with pytest.raises(CorruptError, match="is damaged, or not what the manifest names"):
        table.layer(8)


def test_chunks_that_cannot_be_are_found(many, tmp_path):
    first, second = (store.encode(part)[0] for part in np.split(some_keys(20), 2))
    for name, chunks, words in (
        ("swapped", [second, first], "not ascending"),
        ("twice", [first, first], "not ascending"),
        ("no frame of zstd", [Chunk(5, 3, (b"not zstd",))], "chunk 0"),
    ):
        write(tmp_path / name, 8, chunks)
        with pytest.raises(CorruptError, match=words):
            read(tmp_path / name, 8).verify()
    layer = read(many, 6)
    os.truncate(many / "000.seg", 200)  # while it is open
    with pytest.raises(CorruptError, match="ends too early"):
        layer.verify()


@pytest.mark.parametrize("step", range(2))
def test_full_disk_leaves_the_other_layers(step, many, monkeypatch):
    """Wherever the disk is full, nothing of the new layer counts, and it can be written later."""
    real, calls = module.write_all, itertools.count()

    def write_some(file, data):
        if next(calls) < step:
            return real(file, data)
        file.write(data[: len(data) // 2])
        return no_space()

    with LayerStore(many, WHOLE, segment_bytes=2000) as layers:
        monkeypatch.setattr(module, "write_all", write_some)
        with pytest.raises(StorageError, match=r"cannot write .*: No space left on device"):
            layers.write(12, split(some_keys(9, 12)), durable=False)
        monkeypatch.setattr(module, "write_all", real)
        layers.write(14, split(some_keys(30, 14)), durable=False)
    check(many, SIZES | {14: 30})


def test_flushing_that_fails(many, monkeypatch):
    monkeypatch.setattr(os, "fsync", no_space)
    with LayerStore(many, WHOLE) as layers, pytest.raises(StorageError, match="No space left on device"):
        layers.write(12, split(some_keys(9, 12)), durable=True)
    check(many)


def test_failure_in_the_middle_leaves_no_layer(many):
    def chunks():
        yield from store.encode(some_keys(100))
        raise KeyboardInterrupt

    with LayerStore(many, WHOLE) as layers:
        with pytest.raises(KeyboardInterrupt):
            layers.write(12, chunks(), durable=False)
        layers.write(14, split(some_keys(30, 14)), durable=False)
    check(many, SIZES | {14: 30})


@pytest.mark.parametrize("what", ["folder", "layers.idx", "001.seg"])
def test_links_are_refused(what, many, tmp_path):
    target = tmp_path / "other"
    path = many if what == "folder" else many / what
    path.rename(target)
    path.symlink_to(target)
    before = target.read_bytes() if target.is_file() else b""
    with pytest.raises(StorageError, match="link"):
        write(many, 12, split(some_keys(9, 12)))
    assert not target.is_file() or target.read_bytes() == before


@pytest.mark.parametrize("sizes", [(), (0,), (3, 0, 5), (3, 0, 6), (9, 1), (4,)])
def test_rows_are_regrouped_without_an_empty_piece(sizes):
    ends = [*itertools.accumulate(sizes)]
    parts = [[np.arange(end - size, end)] * 2 for size, end in zip(sizes, ends, strict=True)]
    pieces = [column.tolist() for column, _ in store.regrouped(parts, 4)]
    assert list(itertools.chain(*pieces)) == list(range(sum(sizes)))
    assert [*map(len, pieces)] == [4] * (sum(sizes) // 4) + [sum(sizes) % 4] * (sum(sizes) % 4 > 0)


def test_every_cell_of_a_key_is_checked():
    """A board of another sum, or with x beside all masks is not taken from a file."""
    for game, good, bad in (
        (Game("2x2", 32), "2,4/8,2", ["2,4/8,4", "2,4/2,2"]),
        (Game("3x3", 32), "2,4,8/2,4,8/2,4,2", ["4,4,8/2,4,8/2,4,2", "2,4,8/2,4,8/2,4,4"]),
        (Game("2x3", 32, masks="x../..."), "x,2,4/0,0,2", ["2,x,4/0,0,2", "x,2,4/0,x,2", "0,2,4/0,0,2"]),
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


@pytest.mark.parametrize(
    "game", [Game("2x2", 32), Game("2x3", 32, unmergeable=[0]), Game("2x3", 32, masks="x../...")], ids=str
)
def test_parquet(game, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    count(game, folder=tmp_path / "run", keep="states", threads=1)
    sizes = {
        s: record.boards
        for s, record in LayerFolder(tmp_path / "run" / "states", Contents(game, "states")).records.items()
    }
    for total in sorted(sizes, key=sizes.__getitem__)[-4:]:
        layer = open_layer(tmp_path / "run", total, "states")
        keys = np.concatenate(list(layer))
        assert export_parquet(layer, tmp_path / "layer.parquet") == len(keys)
        table = pq.read_table(tmp_path / "layer.parquet")
        assert table.column_names == ["key", "cells"]
        boards = np.array(table.column("cells").to_pylist()).T
        np.testing.assert_array_equal(boards, cells_of(game, keys))
        assert [game.pack(tuple(board)) for board in boards.T.tolist()] == keys.tolist()
        assert table.column("key").to_pylist() == keys.tolist()
        meta = table.schema.metadata[b"tilebase"]
        assert json.loads(meta)["game"] == game.identity
        digest = hashlib.sha256(meta + keys.astype("<u8").tobytes()).hexdigest()
        assert table.schema.metadata[b"tilebase.sha256"] == digest.encode()
