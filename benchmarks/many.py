"""Arrays of boards: how many boards a CPU second packs, slides and looks up in a table of 3x3 to 512.

    scripts/bench --arrays

Goals, boards a CPU second on one core: `probe` 1 million from memory, 200,000 from a folder that is read
for the first time.  The boards are a million random states of the table, seed 1, not canonical.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tilebase import Game, open_table, solve
from tilebase.arrays import TableArrays

BOARDS = 1_000_000
WARM_GOAL, COLD_GOAL = 1e6, 2e5


def rate(call: Callable[[], Any], n: int = BOARDS) -> float:
    """Boards a CPU second."""
    began = time.process_time()
    call()
    return n / (time.process_time() - began)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        solve(Game("3x3", 512), table=folder)
        with open_table(folder) as table:
            arrays = TableArrays(table)
            began = time.process_time()
            keys = arrays.to_arrays("states")["keys"]
            print(f"{'to_arrays':12} {len(keys):,} states in {time.process_time() - began:.1f} CPU s")
        turned = np.rot90(arrays.boards.unpack(keys), axes=(1, 2))
        boards = turned[np.random.default_rng(1).permutation(len(keys))[:BOARDS]]
        with open_table(folder) as table:
            arrays = TableArrays(table)
            packed = arrays.boards.pack(boards)
            cold = rate(lambda: arrays.probe(boards))
            warm = max(rate(lambda: arrays.probe(boards)) for _ in range(3))
            others = {
                "pack": lambda: arrays.boards.pack(boards),
                "unpack": lambda: arrays.boards.unpack(packed),
                "slide": lambda: arrays.boards.slide(packed),
                "canonical": lambda: arrays.boards.canonical(packed),
                "locate": lambda: arrays.locate(packed),
            }
            for name, call in others.items():
                print(f"{name:12} {rate(call) / 1e6:6.2f} M boards a CPU second")
    for name, found, goal in (("probe, cold", cold, COLD_GOAL), ("probe, warm", warm, WARM_GOAL)):
        word = "reached" if found >= goal else "MISSED"
        print(f"{name:12} {found / 1e6:6.2f} M boards a CPU second (goal {goal / 1e6:g} M: {word})")
    return 0 if cold >= COLD_GOAL and warm >= WARM_GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
