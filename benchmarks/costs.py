"""Fourteen commands: what was expected before they began, what was measured, and the ratio of both.

    scripts/bench --costs               all of them: about six CPU minutes
    scripts/bench --costs --only 3x3    those whose name contains a word

Goal: CPU seconds, and bytes of disk where a table is written, within 1.5 times of what was expected.  Memory
is the peak of the process.  The rates are the fixed ones, and the start of the program is added to what is
expected.  All commands run on one thread.  docs/performance.md shows those that were
recorded, the section `estimates` of src/tilebase/facts/runs.tsv.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilebase import Game, formation
from tilebase.costs.passes import passing, search_seconds
from tilebase.costs.rates import FACTORS, RUNS
from tilebase.costs.reachable import counting, evaluating, solving, thinning, verifying
from tilebase.costs.shares import layers_of
from tilebase.objectives.numbers import byte_text
from tilebase.objectives.objective import parse_objectives
from tilebase.runtime.measured import duration
from tilebase.runtime.resources import Allowance

GOAL = 1.5
ONE = Allowance(memory=8 << 30, threads=1)
WIN = parse_objectives("win")
LIMITS = "256,128,16,16/64,64,32,16/16,16,16,16"
BOUND = f"--limits {LIMITS} --pattern lemma1 --start empty"


@dataclass(frozen=True)
class Cost:
    """Seconds and bytes: CPU time, and of a table on disk (0 without one)."""

    seconds: float
    disk: float = 0.0


def counted(game: Game) -> Cost:
    return Cost(counting(game, ONE).seconds)


def solved(game: Game, objective: str = "win", *, table: bool = False) -> Cost:
    objectives = parse_objectives(objective)
    found = solving(game, objectives, ONE, table=table)
    return Cost(found.seconds, found.disk if table else 0.0)


def passed(game: Game, objective: str) -> Cost:
    return Cost(passing(game, parse_objectives(objective), ONE).seconds)


def searched(game: Game) -> Cost:
    return Cost(search_seconds(game, ONE))


TABLE = Game("3x3", 512)
"""What the commands on a table are measured with."""
SIZES = {
    total: round(layer)
    for total, layer in zip(
        layers_of(TABLE).sums.tolist(), layers_of(TABLE).afterstates.tolist(), strict=True
    )
}


COMMANDS: dict[str, Callable[[], Cost]] = {
    "count 3x3 1024": lambda: counted(Game("3x3", 1024)),
    "count 4x4 32": lambda: counted(Game("4x4", 32)),
    "solve 3x3 1024": lambda: solved(Game("3x3", 1024)),
    "solve 3x4 64": lambda: solved(Game("3x4", 64)),
    "solve --formation 442 512 --objective lower:uint32 -o TABLE": lambda: solved(
        formation("442").game(512), "lower:uint32", table=True
    ),
    "solve --formation L3 256 -o TABLE": lambda: solved(formation("L3").game(256), table=True),
    "solve --formation 442 128 --space all": lambda: passed(formation("442").game(128), "win"),
    f"solve 3x4 512 {BOUND} --objective lower:uint32": lambda: passed(
        Game("3x4", 512, limits=LIMITS, pattern="lemma1", start="empty"), "lower:uint32"
    ),
    "force 2x6 128 --start empty --engine dense": lambda: passed(
        Game("2x6", 128, start="empty"), "guaranteed"
    ),
    "force 3x4 64 --start empty --engine search": lambda: searched(Game("3x4", 64, start="empty")),
    "evaluate TABLE random": lambda: Cost(evaluating(TABLE, SIZES, ONE).seconds),
    "thin TABLE --visited 1e-7 -o THIN": lambda: Cost(thinning(TABLE, SIZES, WIN, visits=True).seconds),
    "thin TABLE --above 0.5 -o THIN": lambda: Cost(thinning(TABLE, SIZES, WIN, visits=False).seconds),
    "verify TABLE --sample 2000": lambda: Cost(verifying(TABLE, sum(SIZES.values()), WIN, 2000).seconds),
}


@dataclass(frozen=True)
class Measured:
    """What a command took: CPU seconds, bytes of memory at the peak, bytes of its table."""

    seconds: float
    memory: int
    disk: int


def run(folder: str, words: list[str]) -> Any:
    """What a command uses; the program ends if it fails."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "tilebase", *words, "--quiet"], cwd=folder, stdout=subprocess.DEVNULL,
        env=os.environ | {"TILEBASE_RUNS_DIR": f"{folder}/runs"},
    )  # fmt: skip
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"tilebase {' '.join(words)} failed")
    return used


def measure(command: str) -> Measured:
    """Run a command on one thread, in an empty folder."""
    words, one = shlex.split(command), ["--threads", "1", "--memory", str(ONE.memory)]
    with tempfile.TemporaryDirectory() as folder:
        if "TABLE" in words and words[0] != "solve":
            run(folder, ["solve", TABLE.shape_text, str(TABLE.goal), "-o", "TABLE", *one])
        used = run(folder, words if words[0] in ("thin", "verify") else words + one)
        disk = sum(
            file.stat().st_size
            for file in Path(folder, "TABLE" if words[0] == "solve" else "none").rglob("*")
            if file.is_file()
        )
    return Measured(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, disk)


def main(only: str) -> int:
    FACTORS.update(dict.fromkeys(RUNS, 1.0))
    reached = True
    print("| command | expected | measured | ratio | disk expected | measured | ratio | memory |")
    print("|---|---|---|---|---|---|---|---|")
    start = min(measure("solve 2x2 32").seconds for _ in range(3))
    for command, expect in COMMANDS.items():
        if only not in command:
            continue
        expected, measured = expect(), measure(command)
        seconds = expected.seconds + start
        ratios = [measured.seconds / seconds]
        cells = [duration(seconds), duration(measured.seconds), f"{ratios[0]:.2f}"]
        if expected.disk:
            ratios.append(measured.disk / expected.disk)
            cells += [byte_text(int(expected.disk)), byte_text(measured.disk), f"{ratios[1]:.2f}"]
        else:
            cells += ["", "", ""]
        print(f"| `tilebase {command}` | {' | '.join([*cells, byte_text(measured.memory)])} |", flush=True)
        reached &= all(1 / GOAL <= ratio <= GOAL for ratio in ratios)
    print(f"goal, within {GOAL} times: {'reached' if reached else 'MISSED'}", file=sys.stderr)
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main(" ".join(sys.argv[1:])))
