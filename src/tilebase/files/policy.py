"""Packed policies: the best slides of each state, in files that a page reads by ranges over HTTP.

The states of one sum are a sorted list of *ranks*.  The rank of a board is the number of boards that come
before it in key order, among all boards of this sum whose tiles do not exceed what each cell may hold.
Ranks lie much closer together than keys.  Bits per state of 3x3 to 512 at the sum 400, where 57,042 boards,
1 in 22 of this sum, are states: differences of keys with deflate 6.2, of ranks 2.0, by a Golomb-Rice code
3.9; values 4.9; slides on 3x3 to 256 with deflate 2.5.  With
``N(i, s)`` as the number of ways to fill the cells from i on with tiles of the sum s, the rank of a board
with the codes ``c[i]`` is

    sum over cells i, and over codes c < c[i] that cell i may hold:  N(i + 1, s(i) - sum of c)

where ``s(i)`` is the sum of the cells from i on.  An unmergeable tile has the sum 0.

`docs/format.md` specifies the files.  Numbers are little-endian:

    policy-CRC.bin   blocks of up to `BLOCK` states; each is a raw stream of deflate
    index-CRC.bin    for each block, layer by layer: the first rank (8 bytes), the number of bytes of the
                     block and their CRC-32 (4 bytes each)

A block holds 4 bits for each state, 8 in a box: bit a is set if slide a is one of the best.  Then follow, if
there are values, one byte for each state; then the differences between neighbouring ranks in LEB128.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase._kernels import codec
from tilebase.errors import UsageError
from tilebase.files.format import cells_of
from tilebase.game.game import Game
from tilebase.runtime.storage import open_own

Array = npt.NDArray[Any]

FORMAT, VERSION = "tilebase policy", 1
BLOCK = 4096
"""States in a block: blocks of 1,024 take a tenth more, and blocks of 16,384 take 5 % less."""
LEVEL = 9
"""The level of deflate."""
MOST_RANK = 1 << 53
"""Ranks are below this number, so that the floats of JavaScript hold them exactly."""
VALUE_STEP = 0.1
"""The logit of a probability p is log(p / (1 - p)).  Coarse values are logits in such steps."""
_ENTRY = struct.Struct("<QLL")


class Ranks:
    """Ranks of the boards of a game of at most the sum `largest`.

    Raises `UsageError` if there are too many boards of one sum.

    Attributes
    ----------
    codes:
        ``codes[i]``: the codes that cell i may hold, ascending: 0, exponents, and x.
    """

    def __init__(self, game: Game, largest: int) -> None:
        self.game = game
        self.codes = [game.codes(cell) for cell in range(game.cells)]
        self._half = [[0 if game.is_x(code) else 1 << code >> 1 for code in codes] for codes in self.codes]
        most = min(sum(max(half) for half in self._half), largest // 2)
        ways = np.zeros(most + 1, dtype=np.float64)  # floats, so that nothing overflows before the check
        ways[0] = 1
        below = []
        for half in reversed(self._half):
            shifted = np.stack([np.concatenate([np.zeros(min(h, most + 1)), ways])[: most + 1] for h in half])
            below.append(np.concatenate([np.zeros((1, most + 1)), np.cumsum(shifted, axis=0)]))
            ways = below[-1][-1]
        if ways.max() >= MOST_RANK:
            raise UsageError(f"{game} has more than 2^53 boards of one sum: a page cannot number them")
        # _below[i][k, s]: fillings of the cells from i on, of the sum 2 s, with one of the first k codes on
        # cell i.
        self._below = [table.astype(np.int64) for table in reversed(below)]

    def of(self, keys: Array, total: int) -> Array:
        """Return the ranks (int64) of boards of the sum `total`; all must be boards that play can make."""
        game = self.game
        ranks = np.zeros(len(keys), dtype=np.int64)
        left = np.full(len(keys), total // 2)
        for cell, (codes, column) in enumerate(zip(self.codes, cells_of(game, keys), strict=True)):
            index = np.zeros(game.x + 1, dtype=np.int64)  # index[code]: its position in `codes`
            index[list(codes)] = np.arange(len(codes))
            found = index[column]
            ranks += self._below[cell][found, left]
            left -= np.array(self._half[cell])[found]
        return ranks


def coarse(values: Array, certain: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint8]:
    """Probabilities as bytes: 255 for a `certain` 1, else 128 plus the logit in steps, from 1 to 254."""
    with np.errstate(divide="ignore"):
        logits = np.log(values) - np.log1p(-values)
    steps = np.clip(np.round(logits / VALUE_STEP) + 128, 1, 254)
    found: npt.NDArray[np.uint8] = np.where(certain, 255, steps).astype(np.uint8)
    return found


class PolicyWriter:
    """Writes the two files of a policy into a folder, layer by layer, up to the sum `largest`.

    Attributes
    ----------
    layers:
        The sum and the number of states of each layer.
    size:
        Bytes written so far.
    """

    def __init__(self, folder: Path, game: Game, largest: int) -> None:
        self._folder, self._ranks = folder, Ranks(game, largest)
        # One for each direction; 8 in a box, where 6 compress worse.
        self.bits = 4 if len(game.directions) == 4 else 8
        self.codes = self._ranks.codes
        self.layers: list[tuple[int, int]] = []
        self.size = 0
        self._index: list[bytes] = []
        self._file = open_own(folder / "policy.bin", "wb")
        self._buffer = np.empty(10 * BLOCK, dtype=np.uint8)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def add(self, total: int, keys: Array, best: Array, values: Array | None) -> None:
        """Add the states of a sum: ascending keys, whether ``best[k, x]`` slide k is best, coarse values."""
        ranks = self._ranks.of(keys, total).astype(np.uint64)
        flags = np.zeros((len(keys), self.bits), dtype=np.uint8)
        flags[:, : len(best)] = best.T
        for at in range(0, len(ranks), BLOCK):
            part = slice(at, at + BLOCK)
            head = np.packbits(flags[part], bitorder="little").tobytes()
            self._block(ranks[part], head, b"" if values is None else values[part].tobytes())
        self.layers.append((total, len(keys)))

    def _block(self, ranks: Array, *heads: bytes) -> None:
        length = codec.encode_deltas(ranks, self._buffer)
        packer = zlib.compressobj(LEVEL, zlib.DEFLATED, -15)
        # The parts of a block hold different things.  So each begins a new code of deflate (Z_BLOCK).
        parts = [packer.compress(head) + packer.flush(zlib.Z_BLOCK) for head in heads if head]
        data = b"".join(parts) + packer.compress(self._buffer[:length].tobytes()) + packer.flush()
        self._file.write(data)
        self.size += len(data)
        self._index.append(_ENTRY.pack(int(ranks[0]), len(data), zlib.crc32(data)))

    def finish(self) -> dict[str, Any]:
        """Write the index and name both files by its checksum; return what a header says of them."""
        self._file.close()
        index = b"".join(self._index)
        check = f"{zlib.crc32(index):08x}"
        names = {"index": f"index-{check}.bin", "policy": f"policy-{check}.bin"}
        with open_own(self._folder / names["index"], "wb") as file:
            file.write(index)
        (self._folder / "policy.bin").replace(self._folder / names["policy"])
        return {
            "codes": self.codes,
            "block": BLOCK,
            "slideBits": self.bits,
            "layers": self.layers,
            "index": {"name": names["index"], "bytes": len(index), "check": check},
            "policy": {"name": names["policy"], "bytes": self.size},
        }
