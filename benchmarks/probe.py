"""Probing a table of 3x3 to 512: microseconds warm, milliseconds cold, and bytes on disk.

    python benchmarks/probe.py

Goals: 50 µs warm (the chunks decoded before), 5 ms cold (a layer that was not opened before; the
file is in the page cache).  The positions are those of one game of optimal play, seed 1.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time

from tilebase import Board, Game, Table, open_table, solve

WARM_GOAL, COLD_GOAL = 50e-6, 5e-3


def one_game(table: Table) -> list[Board]:
    """The states of one game of optimal play."""
    rng = random.Random(1)
    board = Board(table.game, table.game.starts()[0][0])
    boards = []
    while (answer := table.probe(board)).best:
        boards.append(board)
        slide = next(slide for slide in answer.slides if slide.direction == answer.best[0])
        if slide.wins:
            break
        states, chances = zip(*slide.spawns(), strict=True)
        board = rng.choices(states, [float(p) for p in chances])[0]
    return boards


def seconds(table: Table, board: Board) -> float:
    began = time.perf_counter()
    table.probe(board)
    return time.perf_counter() - began


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        solve(Game("3x3", 512), table=folder)
        with open_table(folder) as table:
            boards = one_game(table)
            warm = min(statistics.mean(seconds(table, board) for board in boards) for _ in range(20))
        with open_table(folder) as table:
            cold = [seconds(table, board) for board in boards]
            indexes = [table.prober.layer(total).index for total in table.prober.sums()]
        keys, values = (
            sum(int(one[f"{what}_bytes"].sum()) for one in indexes) for what in ("keys", "values")
        )
    median = statistics.median(cold)
    hot, fresh = (
        "reached" if found <= goal else "MISSED" for found, goal in ((warm, WARM_GOAL), (median, COLD_GOAL))
    )
    print(
        f"{'probe, warm':18} {warm * 1e6:8.0f} µs (goal {WARM_GOAL * 1e6:g} µs: {hot}), "
        f"over {len(boards)} positions of a game"
    )
    print(
        f"{'probe, cold':18} {median * 1e3:8.2f} ms (goal {COLD_GOAL * 1e3:g} ms: {fresh}), "
        f"at most {max(cold) * 1e3:.2f} ms"
    )
    print(f"{keys:,} bytes of keys, {values:,} bytes of values")
    return 0 if warm <= WARM_GOAL and median <= COLD_GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
