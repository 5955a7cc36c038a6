"""Formations solved one after the other: positions, CPU seconds, peak memory and bytes on disk.

    python benchmarks/formations.py                      tables of at most 25 million positions
    python benchmarks/formations.py --most 2e6           smaller ones only
    python benchmarks/formations.py --only 442 --only t  some formations
    python benchmarks/formations.py --keep FILE.tsv      goes on with this file, a line for each table

Each table is solved by `tilebase solve`, on one thread, with the default objective (float64); small ones are
solved twice, since the first run may compile kernels.  The lines are those of
src/tilebase/costs/formations.tsv, from which `tilebase plan formations` says what solving takes.  The
number of positions is exact.  CPU seconds depend on the machine.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tilebase import Formation, formations, open_table
from tilebase.counting.combinatorics import boards_by_sum
from tilebase.game.symmetry import symmetries

GOALS = tuple(1 << exponent for exponent in range(5, 15))
COLUMNS = (
    "formation",
    "goal",
    "boards",
    "positions",
    "cpu_seconds",
    "memory_mb",
    "keys_bytes",
    "values_bytes",
    "win",
)
FIRST_SHARE = 0.05
"""Positions per board up to symmetry, for the first table of a formation: only to leave out large ones."""
COMPILED = 2e6
"""Tables with fewer positions are solved twice."""


def measure(one: Formation, goal: int) -> dict[str, object] | None:
    """The line of a table; None if it could not be solved."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["solve", "--formation", one.name, str(goal), "-o", folder, "--threads", "1", "--quiet"]
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", "tilebase", *command, "--anyway"], stdout=subprocess.DEVNULL
        )
        _, status, used = os.wait4(child.pid, 0)
        if status:
            return None
        with open_table(folder) as table:
            positions = sum(map(table.prober.count, table.prober.sums()))
            keys = sum(
                int(layers.layer(total).index["keys_bytes"].sum())
                for layers in table.layers.values()
                for total in layers.sums()
            )
            win = float(table.start["win"])
        held = sum(file.stat().st_size for file in Path(folder, "values").rglob("*") if file.is_file())
    return {
        "formation": one.name,
        "goal": goal,
        "boards": sum(boards_by_sum(one.game(goal)).values()),
        "positions": positions,
        "cpu_seconds": f"{used.ru_utime + used.ru_stime:.1f}",
        "memory_mb": used.ru_maxrss // 1024,
        "keys_bytes": keys,
        "values_bytes": held - keys,
        "win": repr(win),
    }


def tables(one: Formation, most: float, known: dict[tuple[str, int], int]) -> Iterator[dict[str, object]]:
    """The lines of a formation by ascending goal, up to the first table that is expected to exceed `most`."""
    share = FIRST_SHARE / len(symmetries(one.game(one.least_goal)))
    for goal in GOALS:
        if not one.least_goal <= goal <= one.largest_goal:
            continue
        boards = sum(boards_by_sum(one.game(goal)).values())
        if (one.name, goal) not in known:
            if share * boards > most:
                return
            line = measure(one, goal)
            if line is not None and int(str(line["positions"])) < COMPILED:
                line = measure(one, goal)
            if line is None:
                print(f"{one.name} to {goal} could not be solved", file=sys.stderr)
                return
            known[one.name, goal] = int(str(line["positions"]))
            yield line
        share = known[one.name, goal] / boards


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--most", type=float, default=25e6)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    known: dict[tuple[str, int], int] = {}
    if options.keep is not None and options.keep.exists():
        for text in options.keep.read_text("utf-8").splitlines():
            if text and not text.startswith(("#", "formation\t")):
                words = text.split("\t")
                known[words[0], int(words[1])] = int(words[3])
    else:
        write("\t".join(COLUMNS), options.keep)
    for one in formations():
        if not options.only or one.name in options.only:
            for line in tables(one, options.most, known):
                write("\t".join(str(line[name]) for name in COLUMNS), options.keep)
    print(f"peak memory of a run: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6:.1f} GB")
    return 0


def write(text: str, file: Path | None) -> None:
    print(text, flush=True)
    if file is not None:
        with file.open("a", encoding="utf-8") as stream:
            stream.write(text + "\n")


if __name__ == "__main__":
    sys.exit(main())
