"""Layer files and value files: compressed chunks with an index and checksums.

docs/format.md is the specification.  This is its reference implementation, in NumPy without
Numba.  All integers are little-endian.

    header   16 bytes  "tilebase", "LAYER" or "VALUE", version, two zero bytes
    chunks             zstd frames: LEB128 deltas between neighbouring ascending keys (in version 2 between
                       their bits that vary), or values
    index    20 bytes per chunk: first key u64, keys u32, bytes u32, CRC-32 of the frame u32
    meta               JSON, UTF-8: game, sum, kind, and the objective of values
    trailer  48 bytes  offset of the index u64, keys u64, chunks u64, bytes of meta u32,
                       CRC-32 of index u32, of meta u32, of the trailer so far u32, "LAYEREND"

A value file has one chunk for each chunk of its layer file, with the same first keys in its index.  Every
byte is covered by a checksum or a fixed value.  A file gets its name only when it is complete: it is written
under another name and renamed.
"""

from __future__ import annotations

import contextlib
import re
import struct
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import zstandard

from tilebase.errors import CorruptError
from tilebase.files.source import LocalFile, Source
from tilebase.objectives.objective import Objective
from tilebase.objectives.types import TYPES
from tilebase.runtime.documents import mapping, parse_json, shown, to_json
from tilebase.runtime.storage import PartFile, storage_errors

Keys = npt.NDArray[np.uint64]
Values = npt.NDArray[Any]

HEADER = b"tilebaseLAYER\x01\x00\x00"
SHORT_HEADER = b"tilebaseLAYER\x02\x00\x00"
"""Of a layer file whose meta says which bits of its keys vary."""
VALUE_HEADER = b"tilebaseVALUE\x01\x00\x00"
END = b"LAYEREND"
CHUNK_KEYS = 1 << 14
"""Keys in each chunk that is written, except the last of a file: a probe reads one chunk, about 10 kB."""
MOST_CHUNK_KEYS = 1 << 20
"""Most keys in a chunk that is read; files of other programs may have larger chunks (docs/format.md)."""
MOST_CHUNKS = 1 << 22
"""Most chunks of one file: 70,000,000,000 keys in chunks of `CHUNK_KEYS`, with an index of 84 MB."""
MOST_META = 1 << 20
"""Most bytes of meta."""
_WINDOW = 1 << 23
"""Bytes of the window of zstd, at most: RFC 8878 asks every reader to support so much."""
LEVEL = 3
"""Level of zstd: higher ones save a few percent and cost several times as much (docs/format.md)."""
VALUE_LEVEL = -1
"""For values of more than a bit: half the time of `LEVEL`, and 2 to 8 percent more bytes."""
_OF_THREAD = threading.local()


_INDEX = np.dtype([("first", "<u8"), ("keys", "<u4"), ("bytes", "<u4"), ("crc", "<u4")])
_TRAILER = struct.Struct("<QQQIIII8s")


@dataclass(frozen=True)
class Chunk:
    """One encoded chunk: its first key, its number of keys and its zstd frame."""

    first: int
    keys: int
    frame: bytes


def encode_keys(keys: Keys) -> bytes:
    """LEB128 deltas of ascending keys, without the first key (NumPy; slow, but easy to read)."""
    out = bytearray()
    for delta in np.diff(keys).tolist():
        while delta > 0x7F:
            out.append(delta & 0x7F | 0x80)
            delta >>= 7
        out.append(delta)
    return bytes(out)


def decode_keys(first: int, data: bytes, count: int) -> Keys:
    """Return the keys of a chunk, from its first key and the deltas.  Raises `CorruptError`."""
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
    check_ascending(keys)
    return keys


def check_ascending(keys: Keys) -> None:
    """Raise `CorruptError` unless keys are strictly ascending; wrong deltas may be 0, or overflow."""
    if (keys[1:] <= keys[:-1]).any():
        raise CorruptError("the keys of a chunk are not ascending")


@dataclass(frozen=True)
class Varying:
    """The bits in which the keys of a file may differ; all together, they make the short form of a key.

    Where large tiles stay on their cells, the difference of short keys takes a third of the bytes.
    """

    mask: int

    @classmethod
    def of(cls, meta: Mapping[str, Any]) -> Varying | None:
        """Return what the meta of a file says; None if it says nothing: keys are whole.

        Raises `CorruptError`.
        """
        if "varying" not in meta:
            return None
        text = meta["varying"]
        if not isinstance(text, str) or not re.fullmatch("[1-9a-f][0-9a-f]{0,15}", text):
            raise CorruptError("its meta does not say in hexadecimal which bits of keys vary")
        return cls(int(text, 16))

    @property
    def meta(self) -> dict[str, str]:
        """The part of the meta of a file."""
        return {"varying": f"{self.mask:x}"}

    @cached_property
    def _stretches(self) -> list[tuple[np.uint64, np.uint64]]:
        """Stretches of neighbouring bits that vary: their mask in a key, and by how much they are shifted."""
        found, taken = [], 0
        for run in re.finditer("1+", f"{self.mask:b}"[::-1]):
            length = run.end() - run.start()
            found.append((np.uint64((1 << length) - 1 << run.start()), np.uint64(run.start() - taken)))
            taken += length
        return found

    def shorten(self, keys: Keys) -> Keys:
        """Return the short forms of keys, in the same order."""
        short = np.zeros_like(keys)
        for mask, shift in self._stretches:
            short |= (keys & mask) >> shift
        return short

    def lengthen(self, first: int, short: Keys) -> Keys:
        """Return the keys of a chunk from its first key and their short forms.  Raises `CorruptError`."""
        if len(short) and int(short[-1]) >> self.mask.bit_count():
            raise CorruptError("a short key has more bits than vary")
        keys = np.full_like(short, np.uint64(first & ~self.mask))
        for mask, shift in self._stretches:
            keys |= short << shift & mask
        return keys


def compress(first: int, count: int, data: bytes, level: int = LEVEL) -> Chunk:
    """Compress the deltas or values of a chunk; safe to call from several threads."""
    return Chunk(first, count, _compressor(level).compress(data))


def _compressor(level: int) -> zstandard.ZstdCompressor:
    """Return the compressor of this thread: to make one takes as long as to compress 10 kB."""
    compressors: dict[int, zstandard.ZstdCompressor] = _OF_THREAD.__dict__.setdefault("compressors", {})
    if level not in compressors:
        compressors[level] = zstandard.ZstdCompressor(level=level)
    return compressors[level]


def encode_values(values: Values, bits: bool) -> bytes:
    """Values as bytes of a chunk: those of the array, or one bit per value, the lowest bit first."""
    if bits:
        return np.packbits(values, bitorder="little").tobytes()
    return values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes()


def _decompressor() -> zstandard.ZstdDecompressor:
    """Return the decompressor of this thread: to make one takes as long as to decompress 10 kB."""
    if "decompressor" not in _OF_THREAD.__dict__:
        _OF_THREAD.decompressor = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
    found: zstandard.ZstdDecompressor = _OF_THREAD.decompressor
    return found


class LayerWriter:
    """Writes a layer or value file under another name; `finish` renames it.

    Errors of the disk raise `StorageError`.  As a context manager, it deletes the unfinished file if
    `finish` was not called.
    """

    def __init__(self, path: Path, header: bytes = HEADER) -> None:
        self.path = path
        self._part = PartFile(path)
        self._rows: list[tuple[int, int, int, int]] = []
        self.checksum = ""
        self._write(header)

    def _write(self, data: bytes) -> None:
        with storage_errors(self.path):
            self._part.file.write(data)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._part.discard()

    def add(self, chunk: Chunk) -> None:
        """Append a chunk.  Chunks must come in ascending order of keys."""
        self._write(chunk.frame)
        self._rows.append((chunk.first, chunk.keys, len(chunk.frame), zlib.crc32(chunk.frame)))

    def finish(self, meta: dict[str, Any], *, durable: bool) -> int:
        """Complete and rename the file, set `checksum`, and return the size of the file in bytes.

        With `durable`, file and folder are flushed to disk before the call returns.
        """
        footer, self.checksum = _footer(self._rows, meta)
        self._write(footer)
        size = len(HEADER) + sum(row[2] for row in self._rows) + len(footer)
        self._part.finish(durable=durable)
        return size


def _footer(rows: list[tuple[int, int, int, int]], meta: dict[str, Any]) -> tuple[bytes, str]:
    """Return the bytes after the chunks (index, meta, trailer), and the checksum of the file."""
    index = np.array(rows, dtype=_INDEX).tobytes()
    text = to_json(meta, "canonical").encode()
    offset = len(HEADER) + sum(row[2] for row in rows)
    keys = sum(row[1] for row in rows)
    numbers = (offset, keys, len(rows), len(text), zlib.crc32(index), zlib.crc32(text))
    crc = zlib.crc32(_TRAILER.pack(*numbers, 0, b"")[: _TRAILER.size - 12])
    return index + text + _TRAILER.pack(*numbers, crc, END), f"{crc:08x}"


def header_of(meta: Mapping[str, Any]) -> bytes:
    """Return the header of a layer file with this meta."""
    return SHORT_HEADER if "varying" in meta else HEADER


def write_layer(
    path: Path,
    chunks: Iterable[Chunk],
    meta: dict[str, Any],
    *,
    varying: Varying | None = None,
    durable: bool = True,
) -> tuple[int, str]:
    """Write a layer file by atomic rename; return its size in bytes and its checksum.

    `chunks` must be in ascending order, and `varying` that with which they were encoded.  Raises
    `StorageError` if the system refuses to write; then no new file is left.
    """
    meta = meta | (varying.meta if varying is not None else {})
    with LayerWriter(path, header_of(meta)) as writer:
        for chunk in chunks:
            writer.add(chunk)
        return writer.finish(meta, durable=durable), writer.checksum


def _sums(lengths: npt.NDArray[np.uint32]) -> npt.NDArray[np.int64]:
    """From the lengths of pieces: where each piece begins, and where the last one ends."""
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths, dtype=np.int64)])


class _ChunkFile:
    """An open file of chunks.  Thread-safe: each read names its offset.

    `checksum` is the CRC-32 of the trailer.  It covers the whole file, since the trailer holds the
    checksum of the index, and the index holds those of the chunks.
    """

    headers: tuple[bytes, ...] = (HEADER, SHORT_HEADER)
    what = "layer file"

    def __init__(self, source: Path | str | Source) -> None:
        self._source: Source = LocalFile(source) if isinstance(source, str | Path) else source
        self.path = self._source.name
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        read, path = self._source.read, self.path
        self.nbytes = self._source.size
        if self.nbytes < len(HEADER) + _TRAILER.size:
            raise CorruptError(f"{path} is not a {self.what}: it has {self.nbytes} bytes; make it again")
        header = read(0, len(HEADER))
        if header not in self.headers:
            raise CorruptError(f"{path} is not a {self.what}, or one of another version: its header is wrong")
        trailer = read(self.nbytes - _TRAILER.size, _TRAILER.size)
        offset, self.keys_total, chunks, meta_bytes, index_crc, meta_crc, crc, end = _TRAILER.unpack(trailer)
        index_bytes = chunks * _INDEX.itemsize
        if crc != zlib.crc32(trailer[: _TRAILER.size - 12]) or end != END:
            raise CorruptError(f"{path} is damaged in its trailer; make it again")
        if offset + index_bytes + meta_bytes + _TRAILER.size != self.nbytes:
            raise CorruptError(f"{path} is truncated, or parts of several files; make it again")
        if chunks > MOST_CHUNKS or meta_bytes > MOST_META:
            raise CorruptError(
                f"{path} says that it has {chunks} chunks and {meta_bytes} bytes of meta; "
                f"at most {MOST_CHUNKS} and {MOST_META} are read"
            )
        self.checksum = f"{crc:08x}"
        data = read(offset, index_bytes + meta_bytes)
        index, text = data[:index_bytes], data[index_bytes:]
        if zlib.crc32(index) != index_crc or zlib.crc32(text) != meta_crc:
            raise CorruptError(f"{path} is damaged in its index; make it again")
        self.index = np.frombuffer(index, dtype=_INDEX)
        self.meta: dict[str, Any] = mapping(parse_json(text, f"the meta of {path}"), f"the meta of {path}")
        self._check_meta(header)
        self._offsets = len(HEADER) + _sums(self.index["bytes"])
        self.starts: npt.NDArray[np.int64] = _sums(self.index["keys"])
        if self._offsets[-1] != offset or self.starts[-1] != self.keys_total:
            raise CorruptError(f"{path} is damaged: its index does not add up; make it again")
        self._check_index()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.path}: {self.keys_total:,} boards>"

    def _check_meta(self, header: bytes) -> None:
        """Check what is read of meta."""

    def _check_index(self) -> None:
        """Check the sizes of all chunks in the index, before memory is allocated for a chunk."""
        first, keys = self.index["first"], self.index["keys"]
        if (first[1:] <= first[:-1]).any():
            raise CorruptError(f"{self.path} is damaged: the first keys of its chunks are not ascending")
        if (keys == 0).any() or (keys > MOST_CHUNK_KEYS).any():
            raise CorruptError(
                f"{self.path} says that a chunk has {int(keys.min())} or {int(keys.max())} keys; "
                f"1 to {MOST_CHUNK_KEYS} are read"
            )
        if (self.index["bytes"] > 16 * keys.astype(np.int64) + 1024).any():
            raise CorruptError(f"{self.path} says that a chunk takes more bytes than its keys could")

    def close(self) -> None:
        """Close the file.  Later reads fail."""
        self._source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return int(self.keys_total)

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return len(self.index)

    def chunk_of(self, key: int) -> int:
        """Return the only chunk that can hold a key; -1 if the key is below all keys."""
        return int(self.index["first"].searchsorted(np.uint64(key), side="right")) - 1

    def frame(self, chunk: int) -> bytes:
        """Return the zstd frame of a chunk, after comparing its checksum.  Raises `CorruptError`."""
        row = self.index[chunk]
        frame = self._source.read(int(self._offsets[chunk]), int(row["bytes"]))
        if zlib.crc32(frame) != row["crc"]:
            raise CorruptError(f"{self.path} is damaged in chunk {chunk}; make it again")
        return frame

    def check_bytes(self) -> None:
        """Compare every byte with its checksum, without decompressing.  Raises `CorruptError`."""
        for chunk in range(self.chunks):
            self.frame(chunk)

    def data(self, chunk: int, most: int) -> bytes:
        """Return the decompressed bytes of a chunk, at most `most`, by one ranged read.

        Raises `CorruptError`.
        """
        frame = self.frame(chunk)
        try:
            # zstd allocates the size that a frame declares, even if it exceeds `max_output_size`.
            declared = zstandard.frame_content_size(frame)
            if declared > most:
                raise CorruptError(
                    f"{self.path} is damaged in chunk {chunk}: it declares {declared} bytes, "
                    f"and its keys take at most {most}"
                )
            data = _decompressor().decompress(frame, max_output_size=most)
        except zstandard.ZstdError as error:
            raise CorruptError(f"{self.path} is damaged in chunk {chunk}: {error}") from error
        return bytes(data)

    @contextlib.contextmanager
    def _named(self, chunk: int) -> Iterator[None]:
        """Inside the block, errors get the names of file and chunk."""
        try:
            yield
        except CorruptError as error:
            if str(error).startswith(self.path):
                raise
            raise CorruptError(f"{self.path} is damaged in chunk {chunk}: {error}") from error


class LayerFile(_ChunkFile):
    """An open layer file: ascending keys.  Thread-safe: each read names its offset.

    Raises
    ------
    MissingLayerError
        If the file does not exist.
    CorruptError
        If header, index, meta or trailer are damaged; each chunk is checked when it is read.
    """

    varying: Varying | None = None

    def _check_meta(self, header: bytes) -> None:
        if header != header_of(self.meta):
            raise CorruptError(f"{self.path} is damaged: header and meta are of two versions; make it again")
        try:
            self.varying = Varying.of(self.meta)
        except CorruptError as error:
            raise CorruptError(f"{self.path} is damaged: {error}") from error

    def deltas(self, chunk: int) -> bytes:
        """Return the LEB128 deltas of a chunk.  Raises `CorruptError`."""
        return self.data(chunk, 10 * int(self.index[chunk]["keys"]) + 1)

    def keys(self, chunk: int, decode: Callable[[int, bytes, int], Keys] = decode_keys) -> Keys:
        """Return the keys of a chunk, ascending.  `decode` may be a faster function than `decode_keys`."""
        row = self.index[chunk]
        first, count = int(row["first"]), int(row["keys"])
        with self._named(chunk):
            if self.varying is None:
                return decode(first, self.deltas(chunk), count)
            begin = int(self.varying.shorten(np.array([first], dtype=np.uint64))[0])
            return self.varying.lengthen(first, decode(begin, self.deltas(chunk), count))

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
        """Read and check the whole file.  Raises `CorruptError` at the first fault."""
        last = -1
        for chunk in range(self.chunks):
            keys = self.keys(chunk)
            if int(keys[0]) <= last:
                raise CorruptError(f"{self.path} is damaged: keys of chunk {chunk} are not ascending")
            last = int(keys[-1])


class ValueFile(_ChunkFile):
    """An open value file: the values of the boards of a layer file, in chunks.

    ``meta["objective"]`` says what the values mean.  Raises the same errors as `LayerFile`.
    """

    headers = (VALUE_HEADER,)
    what = "value file"

    @property
    def dtype(self) -> str:
        """The type of the values: a NumPy name, or ``bit``.  Raises `CorruptError`."""
        objective = mapping(self.meta.get("objective"), f"the objective in the meta of {self.path}")
        dtype = objective.get("dtype")
        if dtype not in TYPES:
            raise CorruptError(f"{self.path} holds values of an unknown type: {shown(repr(dtype), 40)}")
        return str(dtype)

    def values(self, chunk: int) -> Values:
        """Return the values of a chunk; Boolean values are returned as uint8.  Raises `CorruptError`."""
        count = int(self.index[chunk]["keys"])
        kind = TYPES[self.dtype]
        expected = (count * kind.bits + 7) // 8
        data = self.data(chunk, expected + 1)
        if len(data) != expected:
            raise CorruptError(f"{self.path} holds {len(data)} bytes in chunk {chunk}, not {expected}")
        if kind.bits == 1:
            return np.unpackbits(np.frombuffer(data, dtype=np.uint8), count=count, bitorder="little")
        values: Values = np.frombuffer(data, dtype=np.dtype(kind.filed).newbyteorder("<"))
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise CorruptError(f"{self.path} is damaged in chunk {chunk}: a value is not finite")
        return values

    def check_pair(self, layer: LayerFile) -> None:
        """Raise `CorruptError` unless these are the values of the boards of `layer`."""
        same = len(self.index) == len(layer.index) and all(
            np.array_equal(self.index[name], layer.index[name]) for name in ("first", "keys")
        )
        if not same or any(self.meta.get(name) != layer.meta.get(name) for name in ("game", "kind", "sum")):
            raise CorruptError(
                f"{self.path} does not hold the values of {layer.path}: files of different runs are mixed"
            )

    def check_objective(self, objective: Objective) -> None:
        """Raise `CorruptError` unless the meta names this objective."""
        if self.meta.get("objective") != objective.identity:
            raise CorruptError(
                f"{self.path} does not hold values of {objective}: files of different runs are mixed"
            )

    def check_ranks(self) -> None:
        """Raise `CorruptError` unless the chunks hold all ranks in order, without gaps."""
        if not np.array_equal(self.index["first"], self.starts[:-1].astype(np.uint64)):
            raise CorruptError(f"{self.path} is damaged: its chunks are not those of boards by rank")

    def verify(self) -> None:
        """Read and check the whole file.  Raises `CorruptError` at the first damaged chunk."""
        for chunk in range(self.chunks):
            self.values(chunk)
