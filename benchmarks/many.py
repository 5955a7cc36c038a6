"""Arrays of boards: how many boards a CPU second packs, slides and looks up in a table of 3x3 to 512.

    scripts/bench --arrays

Goals, boards a CPU second on one core: `probe` 1 million from memory in any encoding, 200,000 from a folder
that is read for the first time.  The boards are a million random states of the table, seed 1, not canonical.
The goal of two threads is 1.6 times the boards a second of one, by the clock, which an idle machine reaches.
Games that are sampled: 10,000 a CPU second for what is compiled, and for a small network in NumPy at least
60 % of the time in the network itself.  Games of optimal play are long.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tilebase import Game, Table, open_table, solve
from tilebase.arrays import TableArrays
from tilebase.policies import as_policy
from tilebase.policies.simulation import sample_games
from tilebase.runtime.resources import Allowance

BOARDS = 1_000_000
WARM_GOAL, COLD_GOAL, THREADS_GOAL = 1e6, 2e5, 1.6
ROUNDS = 10
GAMES, GAMES_GOAL, SHARE_GOAL = 50_000, 1e4, 0.6


def rate(call: Callable[[], Any], n: int = BOARDS) -> float:
    """Boards a CPU second."""
    began = time.process_time()
    call()
    return n / (time.process_time() - began)


def gain_of_threads(table: Table, boards: Any) -> float:
    """How many times as fast two threads are by the clock, each at its best of several rounds in turn."""
    both = [TableArrays(table, threads=threads) for threads in (1, 2)]
    found = [float("inf")] * len(both)
    for _ in range(ROUNDS + 1):  # the first reads the layers
        for i, arrays in enumerate(both):
            began = time.perf_counter()
            arrays.probe(boards)
            found[i] = min(found[i], time.perf_counter() - began)
    return found[0] / found[1]


def sampled(table: Table) -> list[tuple[str, float, float, str]]:
    """Measure games that are sampled: a name, what was found, the goal and the unit."""
    rng = np.random.default_rng(1)
    depth = table.game.x + 1
    first = rng.normal(size=(table.game.cells * depth, 64)).astype(np.float32)
    last = rng.normal(size=(64, 4)).astype(np.float32)
    inside = 0.0

    def network(boards: Any, _: Any) -> Any:
        nonlocal inside
        began = time.process_time()
        seen = np.eye(depth, dtype=np.float32)[boards].reshape(len(boards), -1)
        found = np.maximum(seen @ first, 0) @ last
        inside += time.process_time() - began
        return found

    rates = {}
    policies = {"random": "random", "greedy": "greedy", "optimal": table, "network": network}
    for name, policy in policies.items():
        output: Any = "scores" if name == "network" else None
        asked, win = as_policy(policy, table.game, output=output), table.objectives[0]
        sample_games(asked, win, 1000, Allowance.of())  # compiles, and reads layers
        inside, began = 0.0, time.process_time()
        sample_games(asked, win, GAMES, Allowance.of())
        rates[name] = time.process_time() - began
    found = [
        (f"{name} play", GAMES / rates[name], GAMES_GOAL, "games a CPU second")
        for name in ("random", "greedy", "optimal")
    ]
    return [*found, ("network's share", inside / rates["network"], SHARE_GOAL, "of the time")]


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
            tiles = arrays.boards.unpack(packed, encoding="tiles")
            warm = {
                "exponents": max(rate(lambda: arrays.probe(boards)) for _ in range(3)),
                "tiles": max(rate(lambda: arrays.probe(tiles, encoding="tiles")) for _ in range(3)),
                "keys": max(rate(lambda: arrays.probe(packed, encoding="keys")) for _ in range(3)),
            }
            gain = gain_of_threads(table, boards)
            played = sampled(table)
            others = {
                "pack": lambda: arrays.boards.pack(boards),
                "unpack": lambda: arrays.boards.unpack(packed),
                "slide": lambda: arrays.boards.slide(packed),
                "canonical": lambda: arrays.boards.canonical(packed),
                "locate": lambda: arrays.locate(packed),
            }
            for name, call in others.items():
                print(f"{name:12} {rate(call) / 1e6:6.2f} M boards a CPU second")
    rates = [("probe, cold", cold, COLD_GOAL)]
    rates += [(f"probe, {encoding}", found, WARM_GOAL) for encoding, found in warm.items()]
    for name, found, goal in rates:
        word = "reached" if found >= goal else "MISSED"
        print(f"{name:16} {found / 1e6:6.2f} M boards a CPU second (goal {goal / 1e6:g} M: {word})")
    for name, found, goal, unit in [("two threads", gain, THREADS_GOAL, "times the rate of one"), *played]:
        word = "reached" if found >= goal else "MISSED"
        print(f"{name:16} {found:9,.2f} {unit} (goal {goal:,g}: {word})")
    good = gain >= THREADS_GOAL and all(found >= goal for _, found, goal in rates)
    return 0 if good and all(found >= goal for _, found, goal, _ in played) else 1


if __name__ == "__main__":
    sys.exit(main())
