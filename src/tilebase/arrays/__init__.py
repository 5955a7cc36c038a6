"""Many boards at once, as NumPy arrays: packing, sliding, and the values of a table.

>>> import numpy as np
>>> from tilebase import Game
>>> from tilebase.arrays import GameArrays
>>> arrays = GameArrays(Game("2x2", 16))
>>> keys = arrays.pack(np.array([[[2, 2], [0, 4]], [[8, 4], [2, 4]]]), encoding="tiles")
>>> slid = arrays.slide(keys)
>>> slid.allowed  # left, right, up, down
array([[ True,  True, False,  True],
       [False, False,  True,  True]])
>>> slid.reward[1]
array([0, 0, 8, 8], dtype=int32)
>>> arrays.unpack(slid.after[1, 2:3])
array([[[3, 3],
        [1, 0]]], dtype=uint8)

    boards.py   `GameArrays`: the rules of a game
    values.py   `TableArrays`: the values of a table

A board is the same in every call: an array of the shape of the game, or of all cells in one row.  A batch of
boards has any axes in front, and what is returned has the same.  `ENCODINGS` says how a cell is written.
Actions are numbered in the order of ``game.directions``: left, right, up, down, and in a box front and back.
"""

from __future__ import annotations

from tilebase.arrays.boards import (
    BATCH,
    CACHED,
    ENCODINGS,
    Encoding,
    Flags,
    Floats,
    GameArrays,
    Keys,
    Slid,
    as_array,
    as_keys,
    by_sum,
    sums_of,
)
from tilebase.arrays.values import LayerArrays, Probed, TableArrays

__all__ = [
    "BATCH", "CACHED", "ENCODINGS", "Encoding", "Flags", "Floats", "GameArrays", "Keys", "LayerArrays",
    "Probed", "Slid", "TableArrays", "as_array", "as_keys", "by_sum", "sums_of",
]  # fmt: skip
