"""Files that a stranger wrote: right answers or one sentence, soon, and without gigabytes of memory."""

from __future__ import annotations

import copy as copying
import gzip
import hashlib
import json
import math
import os
import random
import re
import resource
import runpy
import shutil
import stat
import struct
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard

from attack.strange import FRACTIONS, JSON, members
from judging import promise
from repetition import one_in
from stored import encode_keys, journal, layers_of, put, sign, sign_table, values_folders, zipped
from tilebase import Game, Objective, UsageError, count, evaluate, open_table, solve, thin, verify_table
from tilebase.check import RefusedError, check_certificate
from tilebase.cli.verify import verify
from tilebase.errors import CorruptError, MissingLayerError, StorageError, TilebaseError, WrongGameError
from tilebase.files.format import (
    HEADER,
    INDEX,
    MAGIC,
    MOST_CHUNK_KEYS,
    MOST_CHUNKS,
    SEGMENT,
    Chunk,
    Contents,
    Layer,
    compress,
    decode_keys,
    encode_values,
)
from tilebase.files.layers import LayerFolder, Page, PagedLayers, Pages, read_contents
from tilebase.files.places import DECIDED
from tilebase.files.run import verify_run
from tilebase.files.source import Folder
from tilebase.files.store import LayerStore
from tilebase.game.notation import fraction_of
from tilebase.runtime.documents import parse_json, understood
from tilebase.search.search import CRC, HEAD, Facts
from tilebase.small.oracle import values

TINY = Game("2x2", 16)
MOST_SECONDS = 30.0
"""Far more than any of these takes, for machines that do much else; a hang lasts for ever."""
COMPILING = 300.0
"""Seconds for what may have to compile kernels first."""
MOST_MEMORY = 1 << 30
"""Bytes beyond what is there before: less than the gigabytes that some of these files declare."""


@pytest.fixture(autouse=True)
def bounded() -> Iterator[None]:
    """Whatever is tested has little memory and little time."""
    statm = Path("/proc/self/statm")
    if not statm.exists():  # a system that does not say what a process has; the time is bounded anyway
        yield
        return
    used = int(statm.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + MOST_MEMORY, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def soon(ask: Callable[[], Any], seconds: float = MOST_SECONDS) -> Any:
    """What a call returns, or its error of ours; others are raised, and slowness is one."""
    since = time.monotonic()
    try:
        found = ask()
    except TilebaseError as error:
        found = error
    assert time.monotonic() - since < seconds
    if isinstance(found, TilebaseError):
        assert str(found).isprintable()
        assert len(str(found)) < 1000
    return found


@pytest.fixture
def folder(solved: Callable[..., Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(solved(TINY, "win,lower,upper"), tmp_path / "table"))


GOOD = ("1/10", "1/3", "0.1")
HUGE = [
    *("1E-99999", "1e-1001", "1e-9_9_9_9_9_9_9", " 1e+99999999 ", "", "½"),
    *("0." + "1" * 5000, "1" * 5000, "1/" + "9" * 5000, *(text for text in FRACTIONS if text not in GOOD)),
]


@pytest.mark.parametrize("text", HUGE, ids=lambda text: text[:20])
def test_exact_numbers_are_bounded(text):
    for ask in (
        lambda: Game("2x2", 16, spawn=text),
        lambda: Objective("win", discount=text),  # type: ignore[arg-type]
        lambda: values(TINY, discount=text),
    ):
        assert isinstance(soon(ask), UsageError)


def test_exact_numbers_are_exact():
    for text in ("0.1", "1/10", "1e-1", "10E-2", " 1/10 ", 0.1, Decimal("0.1"), Decimal("1E-1")):
        assert fraction_of(text) == fraction_of("1/10")
    assert fraction_of("1e-1000").denominator == 10**1000
    with pytest.raises(ValueError, match="exponent"):
        fraction_of(Decimal("1e-999999999"))


# -- JSON ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["", "nonsense", "[NaN]", "[Infinity]", "[-Infinity]", "[1e999]", "[" * 17 + "]" * 17, "[" * 100_000,
     '{"a":' * 100_000, "9" * 5000, '"\ud800', "\0", "[1,]"],
    ids=lambda text: text[:20],
)  # fmt: skip
def test_json_of_strangers(text):
    with pytest.raises(CorruptError, match="meta is damaged"):
        parse_json(text.encode("utf-8", "surrogatepass"), "meta")


def test_what_cannot_be_read_is_not_called_damaged():
    for error in (StorageError("the disk fails"), WrongGameError("another game"), MissingLayerError("gone")):
        with pytest.raises(type(error), match=str(error)), understood("a journal"):
            raise error
    sentence = "a journal is damaged, or not written by tilebase: it lacks 'sum'"
    with pytest.raises(CorruptError, match=sentence), understood("a journal"):
        raise KeyError("sum")


VALUES = [*JSON[one_in(5)], "../../etc", "a/b", 10**400]
"""What stands in place of each member of a document; by default a fifth of what there is."""


def versions(document: Any, values: list[Any]) -> Iterator[tuple[str, Any]]:
    """The document with each member replaced by each value and left out, and the path of the member."""
    for number, (_, _, path) in enumerate(members(document)):
        for value in [..., *values]:
            found = copying.deepcopy(document)
            here, name, _ = [*members(found)][number]
            here[name] = value
            if value is ...:
                del here[name]
            yield path, found
    yield from (("", value) for value in values)


def harmless(folder: Path, exact: dict[str, float]) -> None:
    """A probe of a table gives the right value, or an error of ours."""

    def ask() -> Any:
        with open_table(folder) as table:
            assert table.value
            return table.probe("4,4/0,2")

    found = soon(ask)
    if not isinstance(found, TilebaseError):
        assert float(found.value) == pytest.approx(exact[found.meaning.split(",")[0]], abs=1e-9)


def test_every_member_of_a_manifest(folder):
    file = folder / "manifest.json"
    good = json.loads(file.read_bytes())
    worth = float(values(TINY).states[(0, 1, 2, 2)])
    exact = {"probability to win": worth, "proved lower bound of the probability to win": worth,
             "proved upper bound of the probability to win": worth}  # fmt: skip
    tried = 0
    for _, document in versions(good, VALUES):
        sign(file, document)
        harmless(folder, exact)
        tried += 1
    assert tried > 1000
    sign(file, good | {"space": "all"})
    harmless(folder, exact)


def test_games_whose_index_would_be_large(folder):
    file = folder / "manifest.json"
    good = json.loads(file.read_bytes())
    for shape, goal in (("4x4", 2**15), ("3x5", 2**14), ("4x4", None)):
        game = Game(shape, goal, limits=None if goal else 2**15).identity
        for space in ({}, {"space": "all"}):
            sign(file, good | {"game": game} | space)
            assert isinstance(soon(lambda: open_table(folder).probe(2)), TilebaseError)


def test_a_manifest_without_end(folder):
    os.truncate(folder / "manifest.json", 10**12)  # takes no room on the disk
    assert isinstance(soon(lambda: open_table(folder)), CorruptError)


def test_pipes_in_place_of_files(folder, printed):
    for name in ("values/win/000.seg", "values/win/layers.idx", "manifest.json"):
        (folder / name).unlink()
        os.mkfifo(folder / name)
        assert stat.S_ISFIFO((folder / name).stat().st_mode)
        assert isinstance(soon(lambda: open_table(folder).probe("4,4/0,4", "win")), StorageError)
        assert "delete" not in printed(f"verify {folder} -q", status=1)


# -- layers ----------------------------------------------------------------------------------------

BOTH = Contents(TINY, objective=Objective("win"))
KEYS = Contents(TINY)


def write_layers(
    path: Path, rows: list[tuple[int, ...]], frames: bytes, contents: Contents = KEYS, total: int = 12,
    header: bytes | None = None, **head: int,
) -> Pages:  # fmt: skip
    """A folder of one layer with right checksums: rows of first key, boards, and bytes and CRC-32 of frames.

    `head` are numbers of its record that are not those of the rows.
    """
    header = contents.header if header is None else header
    check = HEADER.unpack_from(header)[2]
    format_of_row = "<QI" + "II" * len(contents.columns)
    text = b"".join(struct.pack(format_of_row, *row) for row in rows)
    numbers = {"sum": total, "boards": sum(row[1] for row in rows), "chunks": len(rows), "segment": 0,
               "offset": len(SEGMENT), "nbytes": sum(sum(row[2::2]) for row in rows)} | head  # fmt: skip
    what = struct.pack(
        "<4sIQQII", MAGIC, check, numbers["sum"], numbers["boards"], numbers["chunks"], zlib.crc32(text)
    )
    where = struct.pack(
        "<IIQQ", zlib.crc32(what[4:]), numbers["segment"], numbers["offset"], numbers["nbytes"]
    )
    record = what + where + struct.pack("<I", zlib.crc32(what + where)) + text
    path.mkdir(exist_ok=True)
    (path / "layers.idx").write_bytes(header + record)
    (path / "000.seg").write_bytes(SEGMENT + frames)
    return Pages(check, (Page(total, total, len(header), len(record), zlib.crc32(record)),))


def row_of(first: int, boards: int, *frames: bytes) -> tuple[int, ...]:
    return (first, boards, *(number for frame in frames for number in (len(frame), zlib.crc32(frame))))


def refused_everywhere(path: Path, contents: Contents, pages: Pages) -> None:
    """A layer is read by a run and by a table; both say in one sentence that it is damaged."""

    def of_run() -> None:
        with LayerFolder(path, contents) as layers:
            layers.layer(12).verify()

    def of_table() -> None:
        PagedLayers(Folder(path.parent), path.name, contents, pages).layer(12).verify()

    def again() -> None:
        with LayerStore(path, contents) as layers:
            assert not layers.is_sound(12, 3, "01234567")
            layers.layer(12).verify()

    for read in (of_run, of_table, again):
        assert isinstance(soon(read), CorruptError | MissingLayerError), read


def frame_of(size: int, data: bytes = b"") -> bytes:
    """A zstd frame that declares `size` bytes, whatever it holds."""
    block = struct.pack("<I", len(data) << 3 | 1)[:3] + data
    return struct.pack("<IBQ", 0xFD2FB528, 0b11100000, size) + block


def zeros(size: int) -> bytes:
    """A zstd frame of zeros that declares no size."""
    packer = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    return b"".join(packer.compress(bytes(1 << 20)) for _ in range(size >> 20)) + packer.flush()


FRAMES: dict[str, bytes] = {
    "3 GiB": frame_of(3 << 30),
    "2^63": frame_of(1 << 63),
    "2^64 - 2": frame_of((1 << 64) - 2),
    "64 MiB that are there": zeros(64 << 20)[:1000],
    "a bomb": zeros(1 << 30)[:1000],
    "another size than declared": frame_of(9, b"\x01"),
    "skippable": struct.pack("<II", 0x184D2A50, 4) + b"rest",
    "window of 2 GiB": struct.pack("<IBB", 0xFD2FB528, 0, 21 << 3) + b"\x01\0\0",
    "nothing": b"",
    "garbage": bytes(range(64)),
    "dictionary": struct.pack("<IBBI", 0xFD2FB528, 0x03, 0x50, 77) + b"\x01\0\0",
}


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("boards", [2, 16384, MOST_CHUNK_KEYS])
def test_frames_that_declare_more(name, boards, tmp_path):
    frame = FRAMES[name]
    pages = write_layers(tmp_path / "a", [row_of(5, boards, frame)], frame)
    refused_everywhere(tmp_path / "a", KEYS, pages)
    good = zstandard.compress(b"\x01" * (boards - 1))
    pages = write_layers(tmp_path / "b", [row_of(5, boards, good, frame)], good + frame, BOTH)
    refused_everywhere(tmp_path / "b", BOTH, pages)


DELTAS = zstandard.compress(b"\x01\x02")
GOOD = row_of(5, 3, DELTAS)
LARGE: dict[str, tuple[list[tuple[int, ...]], dict[str, int]]] = {
    "boards of a chunk": ([(5, 2**32 - 1, *GOOD[2:])], {}),
    "no boards in a chunk": ([(5, 0, *GOOD[2:])], {}),
    "bytes of a frame": ([(5, 3, 2**32 - 1, GOOD[3])], {}),
    "boards in all": ([GOOD], {"boards": 2**64 - 1}),
    "boards that wrap": ([GOOD], {"boards": 3 + 2**63}),
    "chunks": ([GOOD], {"chunks": 2**32 - 1}),
    "chunks that wrap": ([GOOD], {"chunks": 2**32 // 20 + 1}),
    "no chunks": ([], {"boards": 3}),
    "more chunks than rows": ([GOOD], {"chunks": 2}),
    "bytes of a layer": ([GOOD], {"nbytes": 2**64 - 1}),
    "offset": ([GOOD], {"offset": 2**64 - 1}),
    "offset and bytes that wrap": ([GOOD], {"offset": 2**64 - len(DELTAS)}),
    "offset beyond the segment": ([GOOD], {"offset": 2**40}),
    "segment": ([GOOD], {"segment": 2**32 - 1}),
    "sum": ([GOOD], {"sum": 2**64 - 1}),
    "the same key twice": ([GOOD, GOOD], {}),
    "a frame beyond the segment": ([(5, 3, len(DELTAS) + 1, GOOD[3])], {}),
}


@pytest.mark.parametrize("name", LARGE)
def test_sizes_that_records_declare(name, tmp_path):
    rows, head = LARGE[name]
    pages = write_layers(tmp_path / "a", rows, DELTAS * len(rows), **head)
    refused_everywhere(tmp_path / "a", KEYS, pages)
    write_layers(tmp_path / "good", [GOOD], DELTAS)
    with LayerFolder(tmp_path / "good", KEYS) as layers:
        layers.layer(12).verify()


@pytest.mark.parametrize(
    ("chunks", "begin", "size"),
    [
        *((rows, KEYS.header, 60 + 20 * rows) for rows in (10**8, 2**31, MOST_CHUNKS, MOST_CHUNKS + 1)),
        *((1, begin, 10**12) for begin in (KEYS.header, b"", HEADER.pack(INDEX, 2**32 - 1, 7))),
    ],
)
def test_sizes_that_indexes_have(chunks, begin, size, tmp_path):
    """An index of zeros is as large as it says, or without end, and takes no room on the disk."""
    path = tmp_path / "a"
    pages = write_layers(path, [GOOD], DELTAS, chunks=chunks)
    if begin != KEYS.header or chunks == 1:
        (path / "layers.idx").write_bytes(begin)
    os.truncate(path / "layers.idx", len(KEYS.header) + size)
    refused_everywhere(path, KEYS, pages)
    page = pages.pages[0]._replace(nbytes=size)
    refused_everywhere(path, KEYS, pages._replace(pages=(page,)))


def test_an_index_of_many_beginnings(tmp_path):
    """Whatever looks like the beginning of a record is looked at once."""
    path = tmp_path / "a"
    pages = write_layers(path, [GOOD], DELTAS)
    begin = MAGIC + KEYS.check.to_bytes(4, "little")
    for piece in (begin, begin + bytes(52)):
        (path / "layers.idx").write_bytes(KEYS.header + piece * (1 << 17))
        refused_everywhere(path, KEYS, pages)


def test_a_record_behind_damage_is_not_read(tmp_path):
    """Whatever was damaged: the layer is missing, and a run makes it again."""
    path = tmp_path / "a"
    write_layers(path, [GOOD], DELTAS)
    record = (path / "layers.idx").read_bytes()[len(KEYS.header) :]
    for garbage in (b"x", MAGIC, record[:-30], bytes(1 << 20), bytes((1 << 24) - 30)):
        (path / "layers.idx").write_bytes(KEYS.header + b"y" + garbage + record)
        with LayerFolder(path, KEYS) as layers, pytest.raises(MissingLayerError, match="no layer of sum 12"):
            layers.layer(12)


@pytest.mark.parametrize(
    "deltas", [b"\x80" * 1000 + b"\x01", b"\xff" * 10 + b"\x01", b"\0", b"\xff" * 9 + b"\x01" + b"\x01" * 1]
)
def test_differences_that_no_writer_writes(deltas):
    from tilebase.files import keys as store

    keys = sum(byte < 0x80 for byte in deltas) + 1
    for decode in (decode_keys, store.decode):
        with pytest.raises(CorruptError):
            decode(1 << 63, deltas, keys)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value)[:20])
def test_contents_of_strangers(value, folder):
    """What an index says of its layers is something else, or its members are; all checksums fit.

    A table says itself what its layers are, so that a probe may be right all the same.
    """
    manifest = json.loads((folder / "manifest.json").read_bytes())
    path = folder / "values/win/layers.idx"
    good = path.read_bytes()
    records = good[len(BOTH.header) :]
    exact = float(values(TINY).states[(0, 1, 2, 2)])
    for document in [value, *(BOTH.identity | {member: value} for member in BOTH.identity)]:
        text = json.dumps(document).encode("utf-8", "surrogatepass")
        check = zlib.crc32(text)
        header = HEADER.pack(INDEX, len(text), check) + text
        data, (page,) = recorded(records, check), manifest["layers"]["win"]["pages"]
        path.write_bytes(header + data)
        page = [*page[:2], len(header), len(data), f"{zlib.crc32(data):08x}"]
        manifest["layers"]["win"] = {"check": f"{check:08x}", "pages": [page]}
        sign(folder / "manifest.json", manifest)
        harmless(folder, {"probability to win": exact})
        assert soon(lambda: verify_table(folder, sample=10)).wrong
        found = soon(lambda: read_contents(path.parent))
        assert isinstance(found, CorruptError) or (
            found is not None and found.identity == document != BOTH.identity
        )
        assert isinstance(soon(lambda: LayerFolder(path.parent, BOTH)), WrongGameError)
        with suppress(TilebaseError):
            assert verify(str(folder)) == 1


def recorded(records: bytes, check: int) -> bytes:
    """Records that name other contents, with right checksums."""
    found, at = b"", 0
    while at < len(records):
        head = records[at : at + 56]
        rows = 28 * struct.unpack_from("<I", head, 24)[0]
        what = head[:4] + struct.pack("<I", check) + head[8:32]
        where = struct.pack("<I", zlib.crc32(what[4:])) + head[36:]
        found += what + where + struct.pack("<I", zlib.crc32(what + where))
        found += records[at + 60 : at + 60 + rows]
        at += 60 + rows
    return found


def mutated(data: bytes, draw: random.Random) -> bytes:
    found = bytearray(data)
    at, size = draw.randrange(len(found)), draw.choice((1, 1, 2, 4, 8, 40))
    how = draw.randrange(4)
    if how == 0:
        found[at : at + size] = draw.randbytes(size)
    elif how == 1:
        del found[at : at + size]
    elif how == 2:
        found[at:at] = found[at : at + size]
    else:
        found[at : at + size] = draw.choice((b"\0", b"\xff", b"\x7f")) * size
    return bytes(found)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_values_that_are_no_numbers(bad, tmp_path):
    frames = [
        compress(5, 2, data).frames[0] for data in (b"\x01", encode_values(np.array([0.5, bad]), False))
    ]
    with LayerStore(tmp_path / "a", BOTH) as layers:
        layers.write(12, [Chunk(5, 2, tuple(frames))], durable=False)
        with pytest.raises(CorruptError, match="not finite"):
            layers.layer(12).values(0)


# -- keys that lead kernels astray -----------------------------------------------------------------


def with_keys(folder: Path, total: int, change: Callable[[np.ndarray], np.ndarray]) -> None:
    """Other keys in a layer, their values and checksums fitting."""
    for here in values_folders(folder):
        with layers_of(here) as layers:
            layer = layers.layer(total)
            keys = np.sort(change(np.concatenate(list(layer))))
            stored, objective = layer.values(0), layer.contents.objective
        assert objective is not None
        frames = keyed(layer, keys).frames
        data = encode_values(np.resize(stored, len(keys)), objective.is_boolean)
        more = compress(int(keys[0]), len(keys), data).frames
        put(here, total, [Chunk(int(keys[0]), len(keys), frames + more)])
    sign_table(folder)


def keyed(layer: Layer, keys: np.ndarray) -> Chunk:
    assert layer.contents.varying is None
    return compress(int(keys[0]), len(keys), encode_keys(keys))


CHANGES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "of any kind": lambda keys: (
        np.arange(len(keys), dtype=np.uint64) * np.uint64(0x123456789ABCD) + np.uint64(1)
    ),
    "of another sum": lambda keys: keys + np.uint64(1),
    "of tiles that cannot be": lambda keys: keys | np.uint64(0xF000),
    "too long": lambda keys: keys | np.uint64(1 << 63),
    "not canonical": lambda _: np.array([0x3200], dtype=np.uint64),
}


@pytest.mark.parametrize("name", CHANGES)
def test_keys_that_are_no_boards(name, folder):
    with_keys(folder, 12, CHANGES[name])
    found = soon(lambda: verify_table(folder, sample=None))
    assert isinstance(found, CorruptError) or found.wrong
    for ask in (
        lambda: evaluate(folder, "random"),
        lambda: thin(folder, folder.parent / "thin", above=0.0),
        lambda: evaluate(folder, folder),
    ):
        assert isinstance(soon(ask, COMPILING), CorruptError)


@pytest.mark.parametrize("promised", [True, False])
def test_a_run_that_goes_on_from_foreign_keys(tmp_path, promised):
    """Layers that the journal does not promise are made again; those that it promises are no boards."""
    count(TINY, folder=tmp_path / "run", keep="afterstates", up_to=12, threads=1)
    here = tmp_path / "run" / "afterstates"
    for total in (10, 12):
        with layers_of(here) as layers:
            layer = layers.layer(total)
            keys = np.concatenate(list(layer)) | np.uint64(1 << 40)
        checksum = put(here, total, [keyed(layer, keys)])
        if promised:
            promise(tmp_path / "run" / "counts.jsonl", {total: checksum})
    found = soon(lambda: count(TINY, folder=tmp_path / "run", keep="afterstates", threads=1), COMPILING)
    if promised:
        assert isinstance(found, CorruptError)
    else:
        assert found.as_dict() == count(TINY, threads=1).as_dict()


# -- zip files -------------------------------------------------------------------------------------


def test_mutated_zip_files(folder, tmp_path):
    path = zipped(folder, tmp_path / "a.zip")
    good = path.read_bytes()
    draw = random.Random(3)
    worth = float(values(TINY).states[(0, 1, 2, 2)])
    directory = good.index(b"PK\1\2")
    for number in range(200):
        data = mutated(good[directory:] if number % 3 else good, draw)
        path.write_bytes(good[:directory] + data if number % 3 else data)
        found = soon(lambda: open_table(path).probe("4,4/0,2", "win"))
        assert isinstance(found, TilebaseError) or float(found.value) == pytest.approx(worth, abs=1e-12)


def test_zip64_sizes(folder, tmp_path):
    """Members that say they are larger than the file, in fields of 64 bits too."""
    path = zipped(folder, tmp_path / "a.zip")
    good = path.read_bytes()
    entries = [match.start() for match in re.finditer(b"PK\1\2", good)]
    manifest = next(at for at in entries if good[at + 46 :].startswith(b"manifest.json"))
    end, name = good.rindex(b"PK\5\6"), manifest + 46 + len("manifest.json")

    def written(fields: dict[int, bytes], extra: bytes = b"") -> Path:
        data = bytearray(good)
        for at, field in fields.items():
            data[at : at + len(field)] = field
        data[name:name] = extra
        path.write_bytes(data)
        return path

    for size in (2**20, 2**31, 2**32 - 2):
        written({manifest + 20: struct.pack("<II", size, size)})
        assert isinstance(soon(lambda: open_table(path)), CorruptError)
    (length,) = struct.unpack_from("<I", good, end + 12)
    for size in (2**33, 2**40, 2**63, 2**64 - 1):
        extra = struct.pack("<HHQQ", 1, 16, size, size)
        sizes = {manifest + 20: b"\xff" * 8, manifest + 30: struct.pack("<H", len(extra))}
        written(sizes | {end + 12: struct.pack("<I", length + len(extra))}, extra)
        assert isinstance(soon(lambda: open_table(path)), CorruptError)
    for length in (2**31, 2**32 - 1):
        written({end + 12: struct.pack("<I", length)})
        assert isinstance(soon(lambda: open_table(path)), CorruptError)
    with path.open("wb") as file:  # a list of members of 3 GiB, which takes no room on the disk
        file.seek(3 << 30)
        file.write(struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 9999, 9999, 3 << 30, 0, 0))
    assert isinstance(soon(lambda: open_table(path)), CorruptError)


# -- runs, journals, searches, certificates --------------------------------------------------------


def test_every_member_of_a_run(tmp_path, capsys):
    """``run.json`` and a line of each journal, each member replaced by each hostile value."""
    run = tmp_path / "run"
    solve(TINY, "win", table=run, threads=1, down_to=6)
    for name in ("run.json", "counts.jsonl", "values/win/layers.jsonl"):
        file = run / name
        good = file.read_bytes()
        lines = good.splitlines(keepends=True)
        one = json.loads(good) if name == "run.json" else json.loads(lines[1].rpartition(b"\t")[0])
        for _, document in versions(one, VALUES[::20]):
            if name == "run.json":
                sign(file, document)
            else:
                file.write_bytes(b"".join([lines[0], journal(document).encode(), *lines[2:]]))
                soon(lambda: solve(TINY, "win", table=run, threads=1, down_to=6), COMPILING)
            soon(lambda: verify_run(run))
            with suppress(TilebaseError):  # any other error fails
                assert verify(str(run)) in (0, 1, 2)
        file.write_bytes(good)
    capsys.readouterr()


@pytest.mark.parametrize("which", [0, -1], ids=["layer", "checkpoint"])
def test_every_member_of_the_journal_of_a_dense_pass(which, tmp_path):
    """A pass over all boards that goes on from a journal of a stranger."""
    game, run = Game("2x2", 32, limits="16,16/16,8"), tmp_path / "run"
    solve(game, "lower", folder=run, space="all", threads=1, down_to=10)
    file = run / "values" / "lower" / "layers.jsonl"
    good = file.read_bytes()
    kept = {path: path.read_bytes() for path in file.parent.iterdir()}
    lines = good.splitlines(keepends=True)
    one = json.loads(lines[which].rpartition(b"\t")[0])
    assert ("saved" in one) == bool(which)
    exact = solve(game, "lower", space="all", threads=1).value
    for path, document in versions(one, VALUES[::4]):
        if path == ".sum" and type(document.get("sum")) is int:  # one that the game has not: no sentence yet
            continue
        for name, data in kept.items():
            name.write_bytes(data)
        lines[which] = journal(document).encode()
        file.write_bytes(b"".join(lines))
        found = soon(lambda: solve(game, "lower", folder=run, space="all", threads=1), COMPILING)
        if not isinstance(found, TilebaseError) and not path.startswith(".starts"):
            assert found.value == exact


@pytest.mark.parametrize(
    ("at", "number"),
    [(0, 0), (1, 0), (1, -1), (3, -1), (4, 0), (4, -(2**63)), (4, 2**62), (4, 2**63 - 1), (4, 8193)],
)
def test_decided_afterstates_with_another_head(at: int, number: int, tmp_path: Path) -> None:
    """Under a right checksum."""
    Facts(1 << 22, 0).save(tmp_path / DECIDED)
    Facts(1 << 22, 0).load(tmp_path / DECIDED)
    data = (tmp_path / DECIDED).read_bytes()
    head = [*HEAD.unpack_from(data)]
    head[at] = number if at else b"npz"
    data = HEAD.pack(*head) + data[HEAD.size : -CRC.size]
    (tmp_path / DECIDED).write_bytes(data + CRC.pack(zlib.crc32(data)))
    assert isinstance(soon(lambda: Facts(1 << 22, 0).load(tmp_path / DECIDED)), CorruptError)


def certificate(header: Any, boards: bytes = b"") -> bytes:
    body = gzip.compress(json.dumps(header).encode() + b"\n") + gzip.compress(boards)
    return f"tilebase certificate 1 {hashlib.sha256(body).hexdigest()}\n".encode() + body


def test_certificates_of_strangers(tmp_path):
    good = {"shape": "2x2", "goal": 8, "drops": [2, 4], "limits": None, "starts": [], "boards": 1}
    good |= {"claim": "forced"}
    shapes = ["9999999999x1", "2x" * 1000 + "2", "0x5", "-2x-2", "1e9x2"]
    path = tmp_path / "a.cert"
    of_shape = [("", good | {"shape": shape}) for shape in shapes]
    for _, document in [*versions(good, VALUES), *of_shape]:
        path.write_bytes(certificate(document, b"0000\n"))
        since = time.monotonic()
        with pytest.raises(RefusedError):
            check_certificate(path)
        assert time.monotonic() - since < MOST_SECONDS
    path.write_bytes(certificate(good, b"0000\n" * 100_000))
    with pytest.raises(RefusedError):
        check_certificate(path)


def test_the_reader_to_copy(tmp_path):
    """It is as careful: an assertion fails, soon and without much memory."""
    names = runpy.run_path(str(Path(__file__).parents[1] / "examples" / "read_table.py"))
    table = tmp_path / "table"
    solve(TINY, "win", table=table, threads=1)
    assert len(list(names["read_table"](table, "win"))) == open_table(table).manifest.counts["afterstates"]
    manifest = json.loads((table / "manifest.json").read_bytes())

    def read(rows: list[tuple[int, ...]], frames: bytes, page_bytes: int = 0, **head: int) -> None:
        pages = write_layers(table / "values/win", rows, frames, BOTH, **head)
        (page,) = pages.pages
        page = page._replace(nbytes=page_bytes or page.nbytes)
        page_entry = [*page[:-1], f"{page.crc:08x}"]
        manifest["layers"]["win"] = {"check": f"{pages.check:08x}", "pages": [page_entry]}
        sign(table / "manifest.json", manifest)
        since = time.monotonic()
        with pytest.raises(
            (AssertionError, ValueError, zstandard.ZstdError, RecursionError, struct.error, OSError)
        ):
            list(names["read_table"](table, "win"))
        assert time.monotonic() - since < MOST_SECONDS

    number = zstandard.compress(bytes(24))
    for frame in FRAMES.values():
        good = zstandard.compress(b"\x01" * (MOST_CHUNK_KEYS - 1))
        read([row_of(5, MOST_CHUNK_KEYS, frame, good)], frame + good)
        read([row_of(5, 3, DELTAS, frame)], DELTAS + frame)
    for rows, head in LARGE.values():
        data = [(*row, len(number), zlib.crc32(number)) for row in rows]
        read(data, (DELTAS + number) * len(rows), **head)
    bomb = zstandard.compress(b"\x80" * 10_000_000)
    read([row_of(5, MOST_CHUNK_KEYS, bomb, number)], bomb + number)
    read([row_of((1 << 64) - 1, 3, DELTAS, number)], DELTAS + number)
    for size in (10, 59, 10**6, 2**40, 2**62):
        read([row_of(5, 3, DELTAS, number)], DELTAS + number, size)
