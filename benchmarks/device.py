"""A pass over all boards on a CUDA device: what a board takes.

    scripts/bench --cuda

Goals on one H200, 20,338,217,928 boards of 3x4 to 512 within limits, as 32-bit bounds: 50 ps a board to fold,
40 ps for all slides, and not more than 1.5 times their sum by the clock.
"""

from __future__ import annotations

import sys

from tilebase import Game, Objective, prove
from tilebase.cluster.runs import run_in
from tilebase.dense.index import PerfectIndex
from tilebase.dense.passes import DensePass
from tilebase.errors import MissingExtraError
from tilebase.runtime.measured import working_time

LIMITS = "256,128,64,64/64,64,64,64/64,64,64,64"
BOUND = 4294957917
"""Units of 2^-32, which threads find."""
FOLD_GOAL, SLIDES_GOAL, TIMES_GOAL = 50.0, 40.0, 1.5


def main() -> int:
    """Print what was measured, with its goal; 1 if one is missed or the bound is another one."""
    try:  # kernels are compiled for types, by a game that takes no time
        prove(Game("2x2", 16, limits="8,8/4,4", start="empty"), dtype="uint32", space="cuda")
    except MissingExtraError as error:
        print(error, file=sys.stderr)
        return 2
    game = Game("3x4", 512, limits=LIMITS, start="empty", pattern="lemma1")
    since, objective = working_time(), Objective("lower", "uint32")
    with run_in(None) as run, DensePass(run, PerfectIndex(game), objective, backend="cuda") as dense:
        dense.run()
        found, work, spent = dense.start() * objective.one, dense.work, working_time() - since
    fold, slides = (1e12 * work.seconds[step] / work.boards for step in ("fold", "rows"))
    times = 1e12 * spent / work.boards / (fold + slides)
    rows = [
        ("fold", fold, FOLD_GOAL, "ps a board"),
        ("slides", slides, SLIDES_GOAL, "ps a board"),
        ("the pass", times, TIMES_GOAL, "times as long as both"),
    ]
    for name, value, goal, unit in rows:
        word = "reached" if value <= goal else "MISSED"
        print(f"{name:9} {value:6.1f} {unit} (goal {goal:g}: {word})")
    print(f"bound {found} / {objective.one}, {work.boards:,} boards, {spent:.1f} s")
    if found != BOUND:
        print(f"the bound is not {BOUND} / 2^32, as threads find")
        return 1
    return 0 if all(value <= goal for _, value, goal, _ in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
