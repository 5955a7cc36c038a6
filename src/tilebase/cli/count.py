"""``tilebase count``: the number of reachable states."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from tilebase.cli.options import (
    ClusterOption,
    GameOptions,
    GoalArgument,
    Options,
    ShapeOrGoal,
    ShownOptions,
    UseOptions,
    make_game,
)
from tilebase.cli.output import PLANNING, plannable
from tilebase.cli.progress import counting_progress, prepare_kernels
from tilebase.errors import GameError, UsageError
from tilebase.game.game import Game
from tilebase.game.grid import grid_of, parse_shape
from tilebase.game.names import title_of
from tilebase.pictures import PICTURES
from tilebase.runtime.rows import table_text

TOLD = {
    "states": "states, up to symmetry",
    "live": "live, up to symmetry",
    "losing": "losing, up to symmetry",
    "winning": "winning in one slide, up to symmetry",
    "afterstates": "afterstates, up to symmetry",
    "raw states": "states, without symmetry",
    "raw live": "live, without symmetry",
}
"""What a reader is told that the totals count."""


@dataclass(frozen=True)
class RunOptions(Options):
    """How far a run goes, what it keeps, and who does the large layers."""

    up_to: int | None = None
    """Stop after the layer of this sum."""
    kept: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None
    """Folder of the run; the same command continues there. Default: a folder that is removed at the end."""
    keep: str = "counts"
    """What the folder keeps: counts, afterstates or states."""
    space: str = "auto"
    """reachable: the positions that occur; all: every board, in bits, which counts the same; auto: the
    quicker of the two."""
    cluster: ClusterOption = None


@plannable
def count(
    shape: ShapeOrGoal = "",
    goal: GoalArgument = None,
    *,
    game: GameOptions = GameOptions(),
    by: Annotated[
        str | None, Parameter(help="Rows by sum, by max (the largest tile), or by sum,max.")
    ] = None,
    lookahead: Annotated[bool, Parameter(help="Omit states that are won or lost within one move.")] = False,
    work: RunOptions = RunOptions(),
    shown: ShownOptions = ShownOptions(),
    run: UseOptions = UseOptions(),
) -> int:
    """Count every state that can occur.

    States are boards with the player to move. Live states have an allowed slide, winning ones a slide that
    makes the goal. Afterstates are boards after a slide. Boards with the goal are not counted, since play has
    ended. Rotations and reflections of a board count once; raw counts include each. --record counts.svg draws
    the counts. tilebase rank prints an upper bound of the states, by combinatorics.

    tilebase count 3x3 1024

    tilebase count 3x3 1024 --record counts.svg

    tilebase count 4x4 64 --memory 16GiB
    """
    question = _game(shape, goal, game, work.up_to)
    columns = _columns(by)
    show = shown.checked(PICTURES)
    if work.keep not in ("counts", "afterstates", "states"):
        raise UsageError(f"keep {work.keep!r} does not exist: choose one of counts, afterstates, states")

    def known() -> str:
        from tilebase.questions.alternatives import is_count, recorded

        return "" if lookahead or work.up_to is not None else recorded(question, is_count)

    if PLANNING.get():
        from tilebase.costs.rows import counting

        rows = counting(
            question, run.allowed(), up_to=work.up_to, lookahead=lookahead, keep=work.keep, space=work.space,
            folder=work.kept, cluster=work.cluster,
        )  # fmt: skip
        told = known()
        return show.plan(rows, game=question, more=f"\n{told}\n" if told else "")
    if work.kept is None and work.keep != "counts":
        raise UsageError(f"--keep {work.keep} needs a folder: name one with -o")
    prepare_kernels()
    from tilebase.files.work_folders import work_folder
    from tilebase.questions import count as engine

    with work_folder(work.kept, "count", question, work.keep, *["lookahead"] * lookahead) as folder:
        with counting_progress(known) as progress:
            result = engine.count(
                question, lookahead=lookahead, folder=folder.path, keep=work.keep, up_to=work.up_to,
                space=work.space, cluster=work.cluster, **run.use(progress),
            )  # fmt: skip
        title = title_of(question)
        totals: list[dict[str, Any]] = [
            {"": name.replace("_", " "), title: number} for name, number in result.totals.items()
        ]
        told = table_text([row | {"": TOLD.get(row[""], row[""])} for row in totals])
        rows = list(result.rows(columns))
        show.write(
            rows if columns else totals, result.as_dict,
            # Other programs find totals under the same names for every game.
            data=rows if columns else [{"quantity": name, "value": n} for name, n in result.totals.items()],
            text=None if columns else told, totals=told, game=question,
            draw=lambda plots, file: plots.plot_counts(result, file),
        )  # fmt: skip
        folder.finish()  # only after the result was written, so that it cannot be lost
    if not result.complete:
        print(f"not complete: counted up to sum {max(result.sums, default=0)}", file=sys.stderr)
    return 0


def _game(shape: str, goal: int | None, options: GameOptions, up_to: int | None) -> Game:
    """Return the game; up to a small sum it needs no goal, even if its largest tiles do not fit a cell."""
    try:
        return make_game(shape, goal, options)
    except GameError:
        if goal is not None or up_to is None or options.formation is not None:
            raise
        unmade = 2**2 ** grid_of(parse_shape(shape), False).bits  # no board up to a smaller sum has this tile
        if up_to >= unmade:
            raise
        return make_game(shape, unmade, options)


def _columns(by: str | None) -> tuple[str, ...]:
    columns = tuple(word.strip() for word in by.split(",")) if by else ()
    if not set(columns) <= {"sum", "max"}:
        raise UsageError(f"--by {by}: rows can be by sum, by max, or by sum,max")
    return columns
