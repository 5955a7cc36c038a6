"""Ways to store a layer: levels of zstd, brotli and xz, with and without deltas, by size and speed.

    scripts/bench --codecs FOLDER --sum 88                 a table of the ways, the smallest first
    scripts/bench --codecs FOLDER --sum 88 --all           all keys of the layer instead of 2,000,000
    scripts/bench --codecs FOLDER --sum 88 -o ways.svg     a picture of size against speed as well

FOLDER is a table, or a run that ``tilebase count --keep afterstates -o FOLDER`` has left.  A layer is a list
of ascending 64-bit keys.  The input of a codec is the keys as they are, or the LEB128 deltas of neighbours
(docs/format.md).  As in a layer file, each chunk of keys is compressed by itself.  Lees-Miller compares the
same three codecs.

Speeds are megabytes (10**6 bytes) of keys per second, at eight bytes per key, with one thread and including
the time for the deltas, so that rows with and without deltas can be compared.  A way that no other beats in
size and speed of compression is marked with *.  Goal: that of layer files (zstd, level 3, deltas) is marked.
"""

from __future__ import annotations

import argparse
import lzma
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import brotli
import numpy as np
import numpy.typing as npt
import zstandard

from tilebase._kernels.codec import encode_deltas
from tilebase.errors import TilebaseError
from tilebase.files.format import CHUNK_KEYS, LEVEL, Layer
from tilebase.files.keys import decode, shortened
from tilebase.tables.layers import open_layer

Keys = npt.NDArray[np.uint64]
LEVELS: dict[str, tuple[int, ...]] = {
    "raw": (0,), "zstd": (1, 3, 6, 9, 12, 19), "brotli": (0, 2, 5, 7, 9), "xz": (0, 3, 6, 9),
}  # fmt: skip
"""The levels that are compared; raw does not compress."""
OF_FILES = ("zstd", LEVEL, True)
XZ_WINDOWS = {0: 1 << 18, 3: 1 << 22, 6: 1 << 23, 9: 1 << 26}
"""Bytes of the window of each level of xz.  A smaller one serves a smaller input."""
MOST_KEYS = 2_000_000


@dataclass(frozen=True)
class Way:
    """What was measured of a codec at a level, whose input is deltas or keys."""

    codec: str
    level: int
    deltas: bool
    keys: int
    bytes: int
    writing: float  # seconds
    reading: float

    @property
    def name(self) -> tuple[str, int, bool]:
        return self.codec, self.level, self.deltas

    @property
    def bits(self) -> float:
        """Bits per key."""
        return 8 * self.bytes / self.keys

    def speed(self, seconds: float) -> float:
        """Megabytes of keys per second."""
        return 8e-6 * self.keys / seconds


def sample(layer: Layer, most: int | None) -> list[Keys]:
    """Chunks of keys spread evenly over a layer, without the bits that all its keys share."""
    wanted = layer.chunks if most is None else min(layer.chunks, -(-most // CHUNK_KEYS))
    chunks = [layer.keys(i * layer.chunks // wanted, decode) for i in range(wanted)]
    varying = layer.contents.varying
    return chunks if varying is None else [shortened(varying, chunk) for chunk in chunks]


def functions(codec: str, level: int) -> tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]:
    """Compress and decompress."""
    if codec == "zstd":
        return zstandard.ZstdCompressor(level=level).compress, zstandard.ZstdDecompressor().decompress
    if codec == "xz":

        def compress(data: bytes) -> bytes:
            # Level 9 would clear tables for a window of 64 MiB, even for small inputs.
            window = min(XZ_WINDOWS[level], max(4096, len(data)))
            return lzma.compress(
                data, filters=[{"id": lzma.FILTER_LZMA2, "preset": level, "dict_size": window}]
            )

        return compress, lzma.decompress
    if codec == "brotli":
        return lambda data: bytes(brotli.compress(data, quality=level)), brotli.decompress
    return bytearray, bytes  # a copy each: the least work that any codec does


def deltas_of(keys: Keys) -> bytes:
    out = np.empty(10 * len(keys), dtype=np.uint8)
    return out[: encode_deltas(keys, out)].tobytes()


def measure(chunks: Sequence[Keys], codec: str, level: int, deltas: bool) -> Way:
    """Compress and decompress chunks of keys, which must come back as they were."""
    compress, decompress = functions(codec, level)
    since = time.perf_counter()
    frames = [compress(deltas_of(keys) if deltas else keys.tobytes()) for keys in chunks]
    between = time.perf_counter()
    restored = [
        decode(int(keys[0]), decompress(frame), len(keys))
        if deltas
        else np.frombuffer(decompress(frame), "u8")
        for keys, frame in zip(chunks, frames, strict=True)
    ]
    until = time.perf_counter()
    assert all(np.array_equal(keys, again) for keys, again in zip(chunks, restored, strict=True)), (
        codec,
        level,
    )
    keys = sum(map(len, chunks))
    return Way(codec, level, deltas, keys, sum(map(len, frames)), between - since, until - between)


def compare(chunks: Sequence[Keys]) -> list[Way]:
    """Measure all ways, and sort them by size."""
    for deltas in (False, True):  # the first pass compiles, and uses new memory, which is slower
        measure(chunks, "raw", 0, deltas)
    ways = [
        measure(chunks, codec, level, deltas)
        for codec, levels in LEVELS.items()
        for level in levels
        for deltas in (False, True)
    ]
    return sorted(ways, key=lambda way: (way.bytes, way.writing))


def frontier(points: Sequence[tuple[float, float]]) -> list[int]:
    """Indices of the points that no other is smaller than in one coordinate and not larger in the other.

    >>> frontier([(1, 5), (2, 2), (3, 3), (4, 1), (2, 2)])
    [0, 1, 4, 3]
    """
    kept: list[int] = []
    for i in sorted(range(len(points)), key=lambda i: points[i]):
        if not kept or points[i][1] < points[kept[-1]][1] or points[i] == points[kept[-1]]:
            kept.append(i)
    return kept


def draw(ways: Sequence[Way], path: str) -> None:
    """Draw size against the speeds of writing and reading.  A dashed line joins what is not beaten."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.4, 5.2), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, what in zip(panels, ("writing", "reading"), strict=True):
        points: list[Any] = [(way.speed(getattr(way, what)), way.bits) for way in ways]
        for number, codec in enumerate(LEVELS):
            for deltas in (False, True):
                own = sorted(
                    (way.level, point)
                    for way, point in zip(ways, points, strict=True)
                    if (way.codec, way.deltas) == (codec, deltas)
                )
                axes.plot(
                    *zip(*(point for _, point in own), strict=True), marker="o", markersize=5.5,
                    color=f"C{number}", markerfacecolor=f"C{number}" if deltas else "white",
                    label=f"{codec}{' of deltas' if deltas else ''}",
                )  # fmt: skip
                for level, point in own:
                    axes.annotate(str(level), point, (0, -12), textcoords="offset points", fontsize=7)
        best = [points[i] for i in frontier([(way.bytes, getattr(way, what)) for way in ways])]
        axes.plot(*zip(*best, strict=True), color="black", linestyle="--", linewidth=1, label="not beaten")
        axes.plot(
            *next(point for way, point in zip(ways, points, strict=True) if way.name == OF_FILES),
            "o", markersize=12, markerfacecolor="none", color="black", label="layer files",
        )  # fmt: skip
        axes.set(xscale="log", yscale="log", xlabel=f"{what}, MB of keys a second")
        axes.grid(which="major", color="#e3e3e8")
    panels[0].set(ylabel="bits a key", title=f"{ways[0].keys:,} keys of 8 bytes, one thread")
    panels[1].legend(loc="upper left", bbox_to_anchor=(1.005, 1.02), frameon=False)
    figure.savefig(path)


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench --codecs")
    parser.add_argument("folder")
    parser.add_argument("--sum", type=int, required=True)
    parser.add_argument("--states", action="store_true", help="its states instead of its afterstates")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("-o", dest="picture")
    asked = parser.parse_args(words)
    try:
        layer = open_layer(asked.folder, asked.sum, "states" if asked.states else "afterstates")
    except TilebaseError as error:
        sys.exit(f"scripts/bench --codecs: {error}")
    ways = compare(sample(layer, None if asked.all else MOST_KEYS))
    best = frontier([(way.bytes, way.writing) for way in ways])
    print(
        f"{'':1} {'codec':7}{'level':>6}{'deltas':>8}{'bytes':>14}{'bits a key':>12}"
        f"{'writing':>10}{'reading':>10}"
    )
    for i, way in enumerate(ways):
        print(
            f"{'*' if i in best else '':1} {way.codec:7}{way.level:>6}{'yes' if way.deltas else 'no':>8}"
            f"{way.bytes:>14,}{way.bits:>12.2f}{way.speed(way.writing):>10,.1f}{way.speed(way.reading):>10,.1f}"
        )
    print(f"{ways[0].keys:,} keys; MB/s of 8 bytes a key")
    reached = OF_FILES in {ways[i].name for i in best}
    verdict = "reached" if reached else "MISSED"
    print(f"goal: no way beats that of layer files, zstd {LEVEL} of deltas: {verdict}")
    if asked.picture:
        draw(ways, asked.picture)
    return 0
