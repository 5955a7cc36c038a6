"""Size and speed of codecs for layers.

A layer is a list of ascending 64-bit keys.  A codec is a compressor at one of its levels.  Its
input is the keys as they are, or the LEB128 deltas of neighbouring keys (docs/format.md).  The
result is decompressed and compared with the keys before its row is reported.

Speeds are megabytes (10**6 bytes) of keys per second, at eight bytes per key, with one thread and
including the time for the deltas.  So rows with and without deltas can be compared.
"""

from __future__ import annotations

import lzma
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import zstandard

from tilebase.errors import CorruptError, MissingExtraError, UsageError
from tilebase.files.format import CHUNK_KEYS, Layer

Keys = npt.NDArray[np.uint64]
Function = Callable[[bytes], bytes]

LEVELS: dict[str, tuple[int | None, ...]] = {
    "raw": (None,),
    "zstd": (1, 3, 6, 9, 12, 19),
    "brotli": (0, 2, 5, 7, 9),
    "xz": (0, 3, 6, 9),
}
"""The levels that are compared; raw does not compress."""

XZ_WINDOWS = {0: 1 << 18, 3: 1 << 22, 6: 1 << 23, 9: 1 << 26}
"""Bytes of the window of each level of xz.  It can be made smaller, but not larger."""


@dataclass(frozen=True)
class CodecRow:
    """The measurements of one codec.

    Attributes
    ----------
    codec, level, delta:
        The compressor, its level (None for raw), and whether its input was deltas.
    keys:
        How many keys were compressed.
    bytes:
        Their compressed size, without the index of a layer file.
    compress_seconds, decompress_seconds:
        The shortest of the repeated measurements.
    pareto:
        Whether no other row is smaller and at least as fast to compress, or faster and at
        least as small.
    pareto_read:
        The same for decompressing.
    """

    codec: str
    level: int | None
    delta: bool
    keys: int
    bytes: int
    compress_seconds: float
    decompress_seconds: float
    pareto: bool = False
    pareto_read: bool = False

    @property
    def bits_per_key(self) -> float:
        """Bits per key."""
        return 8 * self.bytes / self.keys

    @property
    def compress_mb_per_s(self) -> float:
        """Megabytes of keys compressed per second."""
        return 8e-6 * self.keys / self.compress_seconds

    @property
    def decompress_mb_per_s(self) -> float:
        """Megabytes of keys decompressed per second."""
        return 8e-6 * self.keys / self.decompress_seconds

    def as_dict(self) -> dict[str, Any]:
        """Return all numbers as plain JSON values, rounded to significant digits."""
        return {
            "codec": self.codec,
            "level": self.level,
            "delta": self.delta,
            "keys": self.keys,
            "bytes": self.bytes,
            "bits_per_key": round(self.bits_per_key, 3),
            "compress_seconds": round(self.compress_seconds, 6),
            "compress_mb_per_s": round(self.compress_mb_per_s, 2),
            "decompress_seconds": round(self.decompress_seconds, 6),
            "decompress_mb_per_s": round(self.decompress_mb_per_s, 2),
            "pareto": self.pareto,
            "pareto_read": self.pareto_read,
        }


def compare(
    layer: Layer,
    *,
    codecs: Sequence[str] = tuple(LEVELS),
    limit_keys: int | None = 2_000_000,
    whole: bool = False,
    repeat: int = 1,
    progress: Callable[[CodecRow], None] | None = None,
) -> list[CodecRow]:
    """Measure codecs with the keys of a layer; one row per codec, the smallest first.

    Parameters
    ----------
    layer:
        A layer of boards, as `tables.layers.open_layer` opens.
    codecs:
        Which of `LEVELS` to compare.
    limit_keys:
        From a larger layer, only about so many keys are used, from chunks spread evenly over
        it; None for all keys.
    whole:
        Compress all keys as one stream, as an archive would.  Otherwise each chunk is compressed
        by itself, as in a layer file, so that a key can be looked up.
    repeat:
        How often each codec is measured; the shortest time counts.
    progress:
        Called with each row after its measurement; `pareto` and `pareto_read` are not yet set.

    Raises
    ------
    UsageError
        For an unknown codec, a number below 1, or a layer without keys.
    MissingExtraError
        If brotli is to be compared and not installed.
    StorageError, CorruptError
        If the layer cannot be read or is damaged.
    """
    ways = [way for name in codecs for way in _levels(name)]
    if not ways:
        raise UsageError(f"no codec to compare: choose at least one of {', '.join(LEVELS)}")
    if repeat < 1 or (limit_keys is not None and limit_keys < 1):
        raise UsageError("the number of keys and of repetitions must be at least 1")
    chunks = _sample(layer, limit_keys)
    if whole:
        chunks = [np.concatenate(chunks)]
    _measure(chunks, "raw", None, False, 1)  # the first pass uses new memory, which is slower: not counted
    rows = []
    for codec, level in ways:
        for delta in (False, True):
            row = _measure(chunks, codec, level, delta, repeat)
            rows.append(row)
            if progress is not None:
                progress(row)
    write = frontier([(row.bytes, row.compress_seconds) for row in rows])
    read = frontier([(row.bytes, row.decompress_seconds) for row in rows])
    marked = [replace(row, pareto=i in write, pareto_read=i in read) for i, row in enumerate(rows)]
    return sorted(marked, key=lambda row: (row.bytes, row.compress_seconds))


def _levels(codec: str) -> list[tuple[str, int | None]]:
    if codec not in LEVELS:
        raise UsageError(f"codec {codec!r} does not exist: choose one of {', '.join(LEVELS)}")
    if codec == "brotli":
        _brotli()
    return [(codec, level) for level in LEVELS[codec]]


def _brotli() -> Any:
    try:
        import brotli
    except ImportError as error:
        raise MissingExtraError(
            "brotli is not installed: pip install 'tilebase[codecs]', or leave it out with --codecs zstd,xz"
        ) from error
    return brotli


def _sample(layer: Layer, limit: int | None) -> list[Keys]:
    """Read the keys of chunks spread evenly over a layer, in the form whose differences are stored."""
    from tilebase.files.keys import decode

    if not len(layer):
        raise UsageError(f"{layer.name} holds no keys: there is nothing to store")
    wanted = layer.chunks if limit is None else min(layer.chunks, -(-limit // CHUNK_KEYS))
    chosen = np.arange(wanted) * layer.chunks // wanted
    keys = [layer.keys(int(chunk), decode) for chunk in chosen]
    varying = layer.contents.varying
    if varying is not None:
        keys = [varying.shorten(chunk) for chunk in keys]
    return keys if limit is None or len(keys) > 1 else [keys[0][:limit]]


# -- measuring -------------------------------------------------------------------------------------


def _measure(chunks: Sequence[Keys], codec: str, level: int | None, delta: bool, repeat: int) -> CodecRow:
    compress, decompress = _functions(codec, level)
    write, read = _delta_functions() if delta else (_plain_bytes, _plain_keys)
    compressing = decompressing = float("inf")
    frames: list[bytes] = []
    for _ in range(repeat):
        since = time.perf_counter()
        frames = [compress(write(keys)) for keys in chunks]
        between = time.perf_counter()
        restored = [
            read(int(keys[0]), decompress(frame), len(keys))
            for keys, frame in zip(chunks, frames, strict=True)
        ]
        until = time.perf_counter()
        compressing, decompressing = min(compressing, between - since), min(decompressing, until - between)
        if not all(np.array_equal(keys, again) for keys, again in zip(chunks, restored, strict=True)):
            raise CorruptError(f"{codec} {level} does not give back what it was given: do not use it")
    keys, size = sum(map(len, chunks)), sum(map(len, frames))
    return CodecRow(codec, level, delta, keys, size, compressing, decompressing)


def _plain_bytes(keys: Keys) -> bytes:
    return keys.astype("<u8", copy=False).tobytes()


def _plain_keys(_first: int, data: bytes, _count: int) -> Keys:
    return np.frombuffer(data, dtype="<u8").astype(np.uint64)


def _delta_functions() -> tuple[Callable[[Keys], bytes], Callable[[int, bytes, int], Keys]]:
    """Functions that encode and decode deltas; their kernels are compiled when this returns."""
    from tilebase._kernels.codec import encode_deltas
    from tilebase.files.keys import decode

    def encode(keys: Keys) -> bytes:
        out = np.empty(10 * len(keys), dtype=np.uint8)
        return out[: encode_deltas(keys, out)].tobytes()

    decode(1, encode(np.array([1, 2], dtype=np.uint64)), 2)
    return encode, decode


def _functions(codec: str, level: int | None) -> tuple[Function, Function]:
    """Functions that compress and decompress at a level; the compressor is made once."""
    if level is None:
        return _copy, _copy
    if codec == "zstd":
        return zstandard.ZstdCompressor(level=level).compress, zstandard.ZstdDecompressor().decompress
    if codec == "xz":
        return (lambda data: _xz(data, level)), lzma.decompress
    brotli = _brotli()
    return (lambda data: bytes(brotli.compress(data, quality=level))), brotli.decompress


def _copy(data: bytes) -> bytes:
    """A copy: the least work that any codec does."""
    return memoryview(data).tobytes()


def _xz(data: bytes, level: int) -> bytes:
    # Level 9 would clear tables for a window of 64 MiB, even for small inputs.
    window = min(XZ_WINDOWS[level], max(4096, len(data)))
    return lzma.compress(data, filters=[{"id": lzma.FILTER_LZMA2, "preset": level, "dict_size": window}])


# -- comparing -------------------------------------------------------------------------------------


def frontier(points: Sequence[tuple[float, float]]) -> list[int]:
    """Indices of the Pareto-optimal points, by first coordinate; smaller is better in both coordinates.

    A point dominates another if it is better in one coordinate and not worse in the other.  Equal
    points do not dominate each other.

    >>> frontier([(1, 5), (2, 2), (3, 3), (4, 1), (2, 2)])
    [0, 1, 4, 3]
    """
    kept: list[int] = []
    for i in sorted(range(len(points)), key=lambda i: points[i]):
        if not kept or points[i][1] < points[kept[-1]][1] or points[i] == points[kept[-1]]:
            kept.append(i)
    return kept
