"""A pass over all boards on a CUDA device: what a board takes.

    scripts/bench --cuda

Goals on one H200, 20,338,217,928 boards of 3x4 to 512 within limits, as 32-bit bounds: 50 ps a board to fold,
40 ps for all slides, and not more than 1.5 times their sum by the clock.
"""

from __future__ import annotations

import sys
from typing import Any

from tilebase import Game, Objective, prove
from tilebase.cluster.runs import run_in
from tilebase.dense.backends.cuda import Cuda
from tilebase.dense.index import PerfectIndex
from tilebase.dense.passes import DensePass
from tilebase.errors import MissingExtraError
from tilebase.runtime.measured import working_time

LIMITS = "256,128,64,64/64,64,64,64/64,64,64,64"
BOUND = 4294957917
"""Units of 2^-32, which threads find."""
FOLD_GOAL, SLIDES_GOAL, TIMES_GOAL = 50.0, 40.0, 1.5


def timed() -> list[tuple[bool, Any, Any]]:
    """Time each kernel: a list gets whether it folds, and the events at its begin and its end."""
    found, real = list[tuple[bool, Any, Any]](), Cuda._launch

    def launch(self: Cuda, kernel: Any, writes: Any, *arguments: Any) -> None:
        since, until = (self._cuda.event() for _ in range(2))
        since.record()
        real(self, kernel, writes, *arguments)
        until.record()
        found.append((kernel is self._kernels.fold, since, until))

    Cuda._launch = launch  # type: ignore[method-assign]
    return found


def main() -> int:
    """Print what was measured, with its goal; 1 if one is missed or the bound is another one."""
    try:  # kernels are compiled for types, by a game that takes no time
        prove(Game("2x2", 16, limits="8,8/4,4", start="empty"), dtype="uint32", space="cuda")
    except MissingExtraError as error:
        print(error, file=sys.stderr)
        return 2
    game = Game("3x4", 512, limits=LIMITS, start="empty", pattern="lemma1")
    kernels, since, objective = timed(), working_time(), Objective("lower", "uint32")
    with run_in(None) as run, DensePass(run, PerfectIndex(game), objective, backend="cuda") as dense:
        dense.run()
        found, boards = dense.start() * objective.one, sum(dense.sizes.values())
    spent = working_time() - since
    fold, slides = (
        1e9 * sum(begun.elapsed_time(until) for folds, begun, until in kernels if folds is wanted) / boards
        for wanted in (True, False)
    )
    times = 1e12 * spent / boards / (fold + slides)
    rows = [
        ("fold", fold, FOLD_GOAL, "ps a board"),
        ("slides", slides, SLIDES_GOAL, "ps a board"),
        ("the pass", times, TIMES_GOAL, "times as long as both"),
    ]
    for name, value, goal, unit in rows:
        word = "reached" if value <= goal else "MISSED"
        print(f"{name:9} {value:6.1f} {unit} (goal {goal:g}: {word})")
    print(f"bound {found} / {objective.one}, {boards:,} boards, {spent:.1f} s")
    if found != BOUND:
        print(f"the bound is not {BOUND} / 2^32, as threads find")
        return 1
    return 0 if all(value <= goal for _, value, goal, _ in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
