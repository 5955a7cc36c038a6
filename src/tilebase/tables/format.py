"""The layer file: ascending keys in compressed chunks, with an index and checksums.

docs/format.md is the specification; this is its reference implementation, in NumPy and
without Numba.  All integers are little-endian.

    header   16 bytes  "tilebase", "LAYER", version, two zero bytes
    chunks             zstd frames of LEB128 deltas between neighbouring keys
    index    20 bytes a chunk: first key u64, keys u32, bytes u32, CRC-32 of the frame u32
    meta               JSON, UTF-8: game, sum, kind, keys in a chunk
    trailer  48 bytes  offset of the index u64, keys u64, chunks u64, bytes of meta u32,
                       CRC-32 of index u32, of meta u32, of the trailer so far u32, "LAYEREND"

Every byte is covered by a checksum or a fixed value.  A file appears under its name only
when it is complete: it is written beside its place and renamed.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import zstandard

from tilebase.errors import CorruptError, MissingLayerError, StorageError

Keys = npt.NDArray[np.uint64]

HEADER = b"tilebaseLAYER\x01\x00\x00"
END = b"LAYEREND"
CHUNK_KEYS = 1 << 14
"""Keys in a chunk, the last one of a file aside: one ranged read of about 10 kB a probe."""
LEVEL = 3
"""Level of zstd: higher ones save a few percent and cost several times as much (docs/format.md)."""

_INDEX = np.dtype([("first", "<u8"), ("keys", "<u4"), ("bytes", "<u4"), ("crc", "<u4")])
_TRAILER = struct.Struct("<QQQIIII8s")


@dataclass(frozen=True)
class Chunk:
    """One encoded chunk: its first key, its number of keys and its zstd frame."""

    first: int
    keys: int
    frame: bytes


def encode_keys(keys: Keys) -> bytes:
    """LEB128 deltas of ascending keys, the first key left out (NumPy; slow but plain)."""
    out = bytearray()
    for delta in np.diff(keys).tolist():
        while delta > 0x7F:
            out.append(delta & 0x7F | 0x80)
            delta >>= 7
        out.append(delta)
    return bytes(out)


def decode_keys(first: int, data: bytes, count: int) -> Keys:
    """The keys of a chunk from its first key and deltas.  Raises `CorruptError`."""
    raw = np.frombuffer(data, dtype=np.uint8)
    ends = np.flatnonzero(raw < 0x80)
    if len(ends) != count - 1 or (len(raw) and raw[-1] >= 0x80):
        raise CorruptError(f"a chunk holds {len(ends) + 1} keys where its index says {count}")
    starts = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else np.empty(0, np.int64)
    place = np.arange(len(raw)) - np.repeat(starts, ends - starts + 1) if len(ends) else starts
    pieces = (raw & 0x7F).astype(np.uint64) << (7 * place).astype(np.uint64)
    keys = np.empty(count, dtype=np.uint64)
    keys[0] = first
    if len(ends):
        keys[1:] = np.uint64(first) + np.cumsum(np.add.reduceat(pieces, starts), dtype=np.uint64)
    return keys


def compress(first: int, count: int, deltas: bytes) -> Chunk:
    """A chunk from its deltas; safe to call from several threads."""
    return Chunk(first, count, zstandard.ZstdCompressor(level=LEVEL).compress(deltas))


def write_layer(path: Path, chunks: Iterable[Chunk], meta: dict[str, Any], *, durable: bool = True) -> int:
    """Write a layer file by atomic rename; return its size in bytes.

    `chunks` come in ascending order.  With `durable`, file and folder are flushed to disk
    before the call returns.  Raises `StorageError` if the disk refuses; then no file and no
    part of one is left.
    """
    beside = path.with_name(f".{path.name}.part")
    try:
        with beside.open("wb") as file:
            size = _write_parts(file, chunks, meta)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        beside.replace(path)
        if durable:
            sync_folder(path.parent)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise StorageError(f"cannot write {path}: {error.strerror or error}") from error
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    return size


def _write_parts(file: Any, chunks: Iterable[Chunk], meta: dict[str, Any]) -> int:
    file.write(HEADER)
    rows = []
    for chunk in chunks:
        file.write(chunk.frame)
        rows.append((chunk.first, chunk.keys, len(chunk.frame), zlib.crc32(chunk.frame)))
    index = np.array(rows, dtype=_INDEX).tobytes()
    text = json.dumps(meta, sort_keys=True, separators=(",", ":")).encode()
    offset = len(HEADER) + sum(row[2] for row in rows)
    keys = sum(row[1] for row in rows)
    numbers = (offset, keys, len(rows), len(text), zlib.crc32(index), zlib.crc32(text))
    crc = zlib.crc32(_TRAILER.pack(*numbers, 0, b"")[: _TRAILER.size - 12])
    file.write(index + text + _TRAILER.pack(*numbers, crc, END))
    return int(file.tell())


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to disk, so that a rename in it lasts."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class LayerFile:
    """An open layer file.  Thread-safe: each read is one positioned read.

    Raises
    ------
    MissingLayerError
        If the file is not there.
    CorruptError
        If header, index, meta or trailer are damaged; chunks are checked as they are read.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        try:
            self._descriptor = os.open(self.path, os.O_RDONLY)
        except FileNotFoundError as error:
            raise MissingLayerError(f"{path} is not there") from error
        except OSError as error:
            raise StorageError(f"cannot read {path}: {error.strerror}") from error
        try:
            self._open()
        except OSError as error:
            self.close()
            raise StorageError(f"cannot read {path}: {error.strerror or error}") from error
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        self.nbytes = os.fstat(self._descriptor).st_size
        if self.nbytes < len(HEADER) + _TRAILER.size:
            raise CorruptError(f"{self.path} is no layer file: it has {self.nbytes} bytes; make it anew")
        if self._read(0, len(HEADER)) != HEADER:
            raise CorruptError(
                f"{self.path} is no layer file, or one of another version: its header is wrong"
            )
        trailer = self._read(self.nbytes - _TRAILER.size, _TRAILER.size)
        offset, self.keys_total, chunks, meta_bytes, index_crc, meta_crc, crc, end = _TRAILER.unpack(trailer)
        index_bytes = chunks * _INDEX.itemsize
        if crc != zlib.crc32(trailer[: _TRAILER.size - 12]) or end != END:
            raise CorruptError(f"{self.path} is damaged in its trailer; make it anew")
        if offset + index_bytes + meta_bytes + _TRAILER.size != self.nbytes:
            raise CorruptError(f"{self.path} is truncated or mixed; make it anew")
        index = self._read(offset, index_bytes)
        text = self._read(offset + index_bytes, meta_bytes)
        if zlib.crc32(index) != index_crc or zlib.crc32(text) != meta_crc:
            raise CorruptError(f"{self.path} is damaged in its index; make it anew")
        self.index = np.frombuffer(index, dtype=_INDEX)
        self.meta: dict[str, Any] = json.loads(text)
        self._offsets = len(HEADER) + np.concatenate([[0], np.cumsum(self.index["bytes"], dtype=np.int64)])
        if self._offsets[-1] != offset or int(self.index["keys"].sum(dtype=np.int64)) != self.keys_total:
            raise CorruptError(f"{self.path} is damaged: its index does not add up; make it anew")

    def _read(self, offset: int, size: int) -> bytes:
        parts = []
        while size:
            part = os.pread(self._descriptor, size, offset)
            if not part:
                raise CorruptError(f"{self.path} ends too early; make it anew")
            parts.append(part)
            offset, size = offset + len(part), size - len(part)
        return b"".join(parts)

    def close(self) -> None:
        """Close the file; reads fail from then on."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> LayerFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return int(self.keys_total)

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return len(self.index)

    def deltas(self, chunk: int) -> bytes:
        """The LEB128 deltas of a chunk, one ranged read.  Raises `CorruptError`."""
        row = self.index[chunk]
        frame = self._read(int(self._offsets[chunk]), int(row["bytes"]))
        if zlib.crc32(frame) != row["crc"]:
            raise CorruptError(f"{self.path} is damaged in chunk {chunk}; make it anew")
        try:
            data = zstandard.ZstdDecompressor().decompress(frame, max_output_size=10 * int(row["keys"]) + 1)
        except zstandard.ZstdError as error:
            raise CorruptError(f"{self.path} is damaged in chunk {chunk}: {error}") from error
        return bytes(data)

    def keys(self, chunk: int, decode: Callable[[int, bytes, int], Keys] = decode_keys) -> Keys:
        """The keys of a chunk, ascending; `decode` may be a faster twin of `decode_keys`."""
        row = self.index[chunk]
        return decode(int(row["first"]), self.deltas(chunk), int(row["keys"]))

    def __iter__(self) -> Iterator[Keys]:
        return (self.keys(chunk) for chunk in range(self.chunks))

    def __contains__(self, key: int) -> bool:
        """Whether the layer holds this key, by one ranged read of one chunk."""
        chunk = int(np.searchsorted(self.index["first"], np.uint64(key), side="right")) - 1
        if chunk < 0:
            return False
        keys = self.keys(chunk)
        at = int(np.searchsorted(keys, np.uint64(key)))
        return at < len(keys) and int(keys[at]) == key

    def verify(self) -> None:
        """Read everything.  Raises `CorruptError` at the first byte that is wrong."""
        last = -1
        for chunk in range(self.chunks):
            keys = self.keys(chunk)
            if int(keys[0]) <= last or (np.diff(keys) == 0).any() or (keys[1:] < keys[:-1]).any():
                raise CorruptError(f"{self.path} is damaged: keys of chunk {chunk} are not ascending")
            last = int(keys[-1])
