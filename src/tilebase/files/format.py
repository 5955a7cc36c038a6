"""The bytes of a layer: chunks of keys and values, rows that say where they are, and a record of all.

docs/format.md is the specification.  This is its reference implementation, in NumPy without
Numba; only `files.keys` encodes keys.  All integers are little-endian.

    chunk    one zstd frame for each column: LEB128 deltas between short forms of neighbouring keys; values
    row      of a chunk: first key u64, boards u32, and for each column bytes u32, CRC-32 of the frame u32
    record   of a layer: a head of 60 bytes (`Record`), then its rows

`files.layers` puts chunks into segments and records into an index.  A CRC-32 covers every byte: the row that
of its frames, the head that of its rows, and the manifest or the journal that of the head.
"""

from __future__ import annotations

import contextlib
import re
import struct
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import zstandard

from tilebase.errors import CorruptError
from tilebase.files.source import Source
from tilebase.game.game import Game
from tilebase.objectives.objective import Objective
from tilebase.objectives.types import TYPES
from tilebase.runtime.documents import to_json

Keys = npt.NDArray[np.uint64]
Values = npt.NDArray[Any]
Decode: TypeAlias = "Callable[[int, bytes, int, Varying | None], Keys]"
"""From the first key of a chunk, its deltas and its number of keys, the keys."""

CHUNK_KEYS = 1 << 14
"""Boards in each chunk that is written, except the last of a layer: a probe reads one chunk, some 50 kB."""
MOST_CHUNK_KEYS = 1 << 20
"""Most boards in a chunk that is read; files of other programs may have larger chunks (docs/format.md)."""
MOST_CHUNKS = 1 << 22
"""Most chunks of a layer: 70,000,000,000 boards in chunks of `CHUNK_KEYS`, with rows of 117 MB."""
_WINDOW = 1 << 23
"""Bytes of the window of zstd, at most: RFC 8878 asks every reader to support so much."""
LEVEL = 3
"""Level of zstd: higher ones save a few percent and cost several times as much.  Readers need not know it."""
VALUE_LEVEL = -1
"""For values of more than a bit: 55 % of the time of `LEVEL` and 8 % more bytes on 3x3 to 512."""
VALUE_SHARE = 0.55
"""Size of a compressed value on disk, as a share of the size in memory, about."""


def stored_bytes(objectives: Iterable[Objective]) -> float:
    """Return about how many bytes on disk the compressed values of a board take."""
    return VALUE_SHARE * sum(one.value_bytes for one in objectives)


@dataclass(frozen=True)
class Chunk:
    """An encoded chunk: its first key or rank, its number of boards, and one zstd frame for each column."""

    first: int
    boards: int
    frames: tuple[bytes, ...]


def decode_keys(first: int, data: bytes, count: int, varying: Varying | None = None) -> Keys:
    """Return the keys of a chunk, from its first key and the deltas, which may be those of short forms.

    Raises `CorruptError`.
    """
    if varying is not None:
        return varying.lengthen(first, decode_keys(varying.shorten_one(first), data, count))
    raw = np.frombuffer(data, dtype=np.uint8)
    ends = np.flatnonzero(raw < 0x80).astype(np.int32)
    if len(ends) != count - 1 or (len(raw) and raw[-1] >= 0x80):
        raise CorruptError(f"a chunk holds {len(ends) + 1} keys where its index says {count}")
    keys = np.empty(count, dtype=np.uint64)
    keys[0] = first
    if len(ends):
        starts = np.concatenate([np.zeros(1, dtype=np.int32), ends[:-1] + 1], dtype=np.int32)
        if (ends - starts).max() > 9:
            raise CorruptError("a chunk holds a difference of more than 10 bytes")
        position = np.arange(len(raw), dtype=np.int32) - np.repeat(starts, ends - starts + 1)
        pieces = (raw & 0x7F).astype(np.uint64) << (7 * position).astype(np.uint64)
        keys[1:] = np.uint64(first) + np.cumsum(np.add.reduceat(pieces, starts), dtype=np.uint64)
    if (keys[1:] <= keys[:-1]).any():  # wrong deltas may be 0, or overflow
        raise CorruptError("the keys of a chunk are not ascending")
    return keys


def cells_of(game: Game, keys: Keys) -> npt.NDArray[np.uint8]:
    """Return ``cells[c, i]``: the code of cell c of board i."""
    mask = np.uint64((1 << game.bits) - 1)
    shifts = (game.bits * np.arange(game.cells - 1, -1, -1)).astype(np.uint64)
    return (keys[None, :] >> shifts[:, None] & mask).astype(np.uint8)


@dataclass(frozen=True)
class Varying:
    """The bits in which the keys of a game may differ; all together, they make the short form of a key.

    Where large tiles stay on their cells, the difference of short keys takes a third of the bytes.
    """

    mask: int

    @classmethod
    def of(cls, game: Game) -> Varying | None:
        """Find these bits; None if they are the lowest of a key, so that its short form is the key.

        They are those of the cells that are not walls and do not hold an x on every board.
        """
        cells = set(range(game.cells)) - set(game.walls) - game.held
        mask = game.cell_bits(cells)
        return cls(mask) if mask & mask + 1 else None

    @cached_property
    def stretches(self) -> tuple[Keys, Keys]:
        """Stretches of neighbouring bits that vary: their masks in a key, and how far they are shifted."""
        masks, shifts, taken = [], [], 0
        for run in re.finditer("1+", f"{self.mask:b}"[::-1]):
            length = run.end() - run.start()
            masks.append((1 << length) - 1 << run.start())
            shifts.append(run.start() - taken)
            taken += length
        return np.array(masks, dtype=np.uint64), np.array(shifts, dtype=np.uint64)

    @cached_property
    def spread(self) -> tuple[Keys, Keys, Keys]:
        """The stretches in a short form: their masks, and how far they are shifted to either side."""
        masks, shifts = self.stretches
        return masks >> shifts, np.zeros_like(shifts), shifts

    @cached_property
    def _numbers(self) -> list[tuple[int, int]]:
        masks, shifts = self.stretches
        return list(zip(masks.tolist(), shifts.tolist(), strict=True))

    def shorten_one(self, key: int) -> int:
        """Return the short form of a key."""
        return sum((key & mask) >> shift for mask, shift in self._numbers)

    def lengthen(self, first: int, short: Keys) -> Keys:
        """Return the keys of a chunk from its first key and their short forms.  Raises `CorruptError`."""
        self.check(short)
        keys = np.full_like(short, self.rest(first))
        for mask, shift in zip(*self.stretches, strict=True):
            keys |= short << shift & mask
        return keys

    def rest(self, first: int) -> np.uint64:
        """Return the bits of a key that are the same in all of a chunk."""
        return np.uint64(first & ~self.mask)

    def check(self, short: Keys) -> None:
        """Raise `CorruptError` if an ascending short form has more bits than vary."""
        if len(short) and int(short[-1]) >> self.mask.bit_count():
            raise CorruptError("a short key has more bits than vary")


def compress(first: int, count: int, deltas: bytes) -> Chunk:
    """Return a chunk of keys from their deltas; safe to call from several threads."""
    return Chunk(first, count, (_OF_THREAD.compressors[LEVEL].compress(deltas),))


def value_chunk(first: int, values: Values, bits: bool, keys: tuple[bytes, ...] = ()) -> Chunk:
    """Return a chunk of values, behind the frame of their keys if they have keys."""
    compressor = _OF_THREAD.compressors[LEVEL if bits else VALUE_LEVEL]
    return Chunk(first, len(values), (*keys, compressor.compress(encode_values(values, bits))))


def encode_values(values: Values, bits: bool) -> bytes:
    """Values as bytes of a chunk: those of the array, or one bit per value, the lowest bit first."""
    if bits:
        return np.packbits(values, bitorder="little").tobytes()
    return values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes()


class _OfThread(threading.local):
    """Compressors by level and a decompressor: to make one takes as long as to compress 10 kB."""

    def __init__(self) -> None:
        self.compressors = {level: zstandard.ZstdCompressor(level=level) for level in (LEVEL, VALUE_LEVEL)}
        self.decompressor = zstandard.ZstdDecompressor(max_window_size=_WINDOW)


_OF_THREAD = _OfThread()


# -- layers ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Contents:
    """What the layers of a folder are."""

    game: Game  # what is played
    # ``states``, ``afterstates``, or ``all`` for the boards within limits, which have ranks and no keys.
    kind: str = "afterstates"
    lookahead: bool = False  # whether states that are won or lost within one move are left out
    objective: Objective | None = None  # of the values; None for keys only

    @property
    def columns(self) -> tuple[str, ...]:
        """What each board has: ``keys``, ``values``, or both."""
        return ("keys",) * (self.kind != "all") + ("values",) * (self.objective is not None)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """As plain JSON values."""
        members: dict[str, Any] = {"game": self.game.identity, "kind": self.kind, "columns": [*self.columns]}
        if self.lookahead:
            members["lookahead"] = True
        return members if self.objective is None else members | {"objective": self.objective.identity}

    @cached_property
    def header(self) -> bytes:
        """The bytes before the records of an index."""
        text = to_json(self.identity, "canonical").encode()
        return HEADER.pack(INDEX, len(text), zlib.crc32(text)) + text

    @cached_property
    def check(self) -> int:
        """The CRC-32 of the identity as it stands in the header: each record names it."""
        return HEADER.unpack_from(self.header)[2]  # type: ignore[no-any-return]

    @cached_property
    def row(self) -> np.dtype[Any]:
        """The type of a row."""
        columns = [(f"{name}_{what}", "<u4") for name in self.columns for what in ("bytes", "crc")]
        return np.dtype([("first", "<u8"), ("boards", "<u4"), *columns])

    @cached_property
    def varying(self) -> Varying | None:
        """The bits in which keys vary; None if their short form is the key."""
        return Varying.of(self.game)


class Record(NamedTuple):
    """The head of a record: what a layer is, and where its chunks are."""

    sum: int
    boards: int
    chunks: int
    rows_crc: int  # of the rows
    checksum: int  # of all before, and of the identity: it covers all boards and values of the layer
    segment: int  # the number of the segment
    offset: int  # of the first chunk in the segment
    nbytes: int  # of all chunks

    @classmethod
    def of(
        cls, contents: Contents, total: int, rows: Sequence[tuple[int, ...]], segment: int, offset: int
    ) -> tuple[Record, bytes]:
        """Return the record of a layer from its rows (`Contents.row`), and its bytes."""
        data = np.array(rows, dtype=contents.row).tobytes()
        boards, nbytes = sum(row[1] for row in rows), sum(sum(row[2::2]) for row in rows)
        rows_crc = zlib.crc32(data)
        what = _WHAT.pack(MAGIC, contents.check, total, boards, len(rows), rows_crc)
        checksum = zlib.crc32(what[4:])
        where = _WHERE.pack(checksum, segment, offset, nbytes)
        crc = zlib.crc32(what + where)
        record = cls(total, boards, len(rows), rows_crc, checksum, segment, offset, nbytes)
        return record, what + where + _LAST.pack(crc) + data

    @classmethod
    def parse(cls, head: bytes, check: int) -> Record | None:
        """Return a record from the bytes of its head; None if they are damaged, or of other contents."""
        magic, of, *what = _WHAT.unpack_from(head)
        where = _WHERE.unpack_from(head, _WHAT.size)
        (crc,) = _LAST.unpack_from(head, HEAD - _LAST.size)
        sound = magic == MAGIC and crc == zlib.crc32(head[: HEAD - _LAST.size]) and of == check
        return cls(*what, *where) if sound and where[0] == zlib.crc32(head[4 : _WHAT.size]) else None

    def check(self, name: str) -> None:
        """Raise `CorruptError` if it says that it is larger than layers are, before its rows are read."""
        if self.chunks > MOST_CHUNKS:
            raise CorruptError(f"{name} has {self.chunks} chunks; at most {MOST_CHUNKS} are read")
        if max(self.sum, self.boards, self.offset, self.nbytes) >= 1 << 62:
            raise CorruptError(f"{name} is damaged: a number of its record is too large")

    def size(self, contents: Contents) -> int:
        """Return the bytes of the record, rows included."""
        return HEAD + self.chunks * contents.row.itemsize

    @property
    def text(self) -> str:
        """The checksum as journals and users name it."""
        return f"{self.checksum:08x}"


HEADER = struct.Struct("<16sII")
"""Of an index: `INDEX`, and bytes and CRC-32 of the identity, which follows."""
INDEX = b"tilebaseINDEX\x03\x00\x00"
SEGMENT = b"tilebaseCHUNK\x03\x00\x00"
"""How a segment begins."""
MAGIC = b"LAYR"
_WHAT = struct.Struct("<4sIQQII")
_WHERE = struct.Struct("<IIQQ")
_LAST = struct.Struct("<I")
HEAD = _WHAT.size + _WHERE.size + _LAST.size
"""Bytes of the head of a record: 60."""


def _starts(lengths: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """From the lengths of pieces: where each piece begins, and where the last one ends."""
    starts = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts


class Layer:
    """The boards of one sum: keys in ascending order, values, or both.  Thread-safe.

    Each chunk is read by one ranged read.  `name` says in messages what is damaged.

    Raises `CorruptError` if the rows are damaged; each chunk is checked when it is read.
    """

    def __init__(self, source: Source, record: Record, rows: bytes, contents: Contents, name: str) -> None:
        self._source, self.record, self.contents, self.name = source, record, contents, name
        record.check(name)
        if len(rows) != record.size(contents) - HEAD or zlib.crc32(rows) != record.rows_crc:
            raise CorruptError(f"{name} is damaged in the rows of its index; make it again")
        self.index = np.frombuffer(rows, dtype=contents.row)
        self._check_rows()
        sizes = np.zeros(record.chunks, dtype=np.int64)
        for column in contents.columns:
            sizes += self.index[f"{column}_bytes"]
        self._offsets = record.offset + _starts(sizes)
        self.starts: npt.NDArray[np.int64] = _starts(self.index["boards"])
        if self._offsets[-1] != record.offset + record.nbytes or self.starts[-1] != record.boards:
            raise CorruptError(f"{name} is damaged: its rows do not add up; make it again")

    def __repr__(self) -> str:
        return f"<Layer {self.name.rstrip(',')}: {len(self):,} boards>"

    def _check_rows(self) -> None:
        """Check all sizes before memory is allocated for a chunk."""
        first, boards = self.index["first"], self.index["boards"]
        if (first[1:] <= first[:-1]).any():
            raise CorruptError(f"{self.name} is damaged: the first keys of its chunks are not ascending")
        if (boards == 0).any() or (boards > MOST_CHUNK_KEYS).any():
            raise CorruptError(
                f"{self.name} says that a chunk has {int(boards.min())} or {int(boards.max())} boards; "
                f"1 to {MOST_CHUNK_KEYS} are read"
            )
        for column in self.contents.columns:
            if (self.index[f"{column}_bytes"] > 16 * boards.astype(np.int64) + 1024).any():
                raise CorruptError(f"{self.name} says that a chunk takes more bytes than its boards could")

    def __len__(self) -> int:
        return self.record.boards

    @property
    def sum(self) -> int:
        """The sum of the tiles."""
        return self.record.sum

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return len(self.index)

    def chunk_of(self, key: int) -> int:
        """Return the only chunk that can hold a key; -1 if the key is below all keys."""
        return int(self.index["first"].searchsorted(np.uint64(key), side="right")) - 1

    def frames(self, chunk: int, columns: Sequence[str] | None = None) -> list[bytes]:
        """Return the frames of a chunk in some columns, neighbours, or in all, after comparing checksums.

        Raises `CorruptError`.
        """
        wanted, row = self.contents.columns if columns is None else columns, self.index[chunk]
        offset = int(self._offsets[chunk])
        for column in self.contents.columns[: self.contents.columns.index(wanted[0])]:
            offset += int(row[f"{column}_bytes"])
        sizes = [int(row[f"{column}_bytes"]) for column in wanted]
        data, frames, at = self._source.read(offset, sum(sizes)), [], 0
        for column, size in zip(wanted, sizes, strict=True):
            frames.append(data[at : at + size])
            at += size
            if zlib.crc32(frames[-1]) != row[f"{column}_crc"]:
                raise CorruptError(f"{self.name} is damaged in chunk {chunk}; make it again")
        return frames

    def check_bytes(self) -> None:
        """Compare every byte with its checksum, without decompressing.  Raises `CorruptError`."""
        for chunk in range(self.chunks):
            self.frames(chunk)

    def _content(self, frame: bytes, most: int) -> bytes:
        """Return what a frame holds, at most `most` bytes.  Raises `CorruptError`."""
        try:
            # zstd allocates the size that a frame declares, even if it exceeds `max_output_size`.
            declared = zstandard.frame_content_size(frame)
            if declared > most:
                raise CorruptError(f"it declares {declared} bytes, and its boards take at most {most}")
            return bytes(_OF_THREAD.decompressor.decompress(frame, max_output_size=most))
        except zstandard.ZstdError as error:
            raise CorruptError(str(error)) from error

    @contextlib.contextmanager
    def _named(self, chunk: int) -> Iterator[None]:
        """Inside the block, errors get the names of layer and chunk."""
        try:
            yield
        except CorruptError as error:
            if str(error).startswith(self.name):
                raise
            raise CorruptError(f"{self.name} is damaged in chunk {chunk}: {error}") from error

    def keys(self, chunk: int, decode: Decode = decode_keys) -> Keys:
        """Return the keys of a chunk, ascending.  `decode` may be a faster function than `decode_keys`."""
        return self.keys_in(self.frames(chunk, ("keys",))[0], chunk, decode)

    def keys_in(self, frame: bytes, chunk: int, decode: Decode) -> Keys:
        """Return the keys in a frame of a chunk, as `keys` does."""
        row, varying = self.index[chunk], self.contents.varying
        first, count = int(row["first"]), int(row["boards"])
        with self._named(chunk):
            return decode(first, self._content(frame, 10 * count + 1), count, varying)

    def values(self, chunk: int) -> Values:
        """Return the values of a chunk; Boolean values are returned as uint8.  Raises `CorruptError`."""
        return self._values(chunk, self.frames(chunk, ("values",))[0])

    def both(self, chunk: int, decode: Decode = decode_keys) -> tuple[Keys, Values]:
        """Return the keys and the values of a chunk, by one ranged read."""
        keys, values = self.frames(chunk)
        return self.keys_in(keys, chunk, decode), self._values(chunk, values)

    def _values(self, chunk: int, frame: bytes) -> Values:
        assert self.contents.objective is not None
        count, kind = int(self.index[chunk]["boards"]), TYPES[self.contents.objective.dtype]
        expected = (count * kind.bits + 7) // 8
        with self._named(chunk):
            data = self._content(frame, expected + 1)
            if len(data) != expected:
                raise CorruptError(f"it holds {len(data)} bytes, not {expected}")
            if kind.bits == 1:
                return np.unpackbits(np.frombuffer(data, dtype=np.uint8), count=count, bitorder="little")
            values: Values = np.frombuffer(data, dtype=np.dtype(kind.filed).newbyteorder("<"))
            if values.dtype.kind == "f" and not np.isfinite(values).all():
                raise CorruptError("a value is not finite")
            return values

    def __iter__(self) -> Iterator[Keys]:
        return (self.keys(chunk) for chunk in range(self.chunks))

    def __contains__(self, key: int) -> bool:
        """Return whether the layer holds this key, by one ranged read of one chunk."""
        chunk = self.chunk_of(key)
        if chunk < 0:
            return False
        keys = self.keys(chunk)
        at = int(np.searchsorted(keys, np.uint64(key)))
        return at < len(keys) and int(keys[at]) == key

    def verify(self) -> None:
        """Read and check the whole layer.  Raises `CorruptError` at the first fault."""
        last = -1
        for chunk in range(self.chunks):
            if "values" in self.contents.columns:
                self.values(chunk)
            if "keys" not in self.contents.columns:
                continue
            keys = self.keys(chunk)
            if int(keys[0]) <= last:
                raise CorruptError(f"{self.name} is damaged: keys of chunk {chunk} are not ascending")
            last = int(keys[-1])
        if "keys" not in self.contents.columns:
            self.check_ranks()

    def check_ranks(self) -> None:
        """Raise `CorruptError` unless the chunks hold all ranks in order, without gaps."""
        if not np.array_equal(self.index["first"], self.starts[:-1].astype(np.uint64)):
            raise CorruptError(f"{self.name} is damaged: its chunks are not those of boards by rank")
