"""``tilebase solve``: the values of a game under optimal play."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from tilebase.cli.options import (
    DEFAULT_ESTIMATED_RUN,
    DEFAULT_GAME,
    ClusterOption,
    DiscountOption,
    EstimatedRunOptions,
    FormatOption,
    GameOptions,
    GoalArgument,
    PlanOption,
    ShapeOrGoal,
    make_game,
)
from tilebase.cli.output import choose_format, write_rows
from tilebase.cli.progress import counting_progress
from tilebase.cli.startup import prepare_kernels
from tilebase.errors import UsageError
from tilebase.game.names import title_of
from tilebase.objectives.numbers import digits_text
from tilebase.objectives.objective import MEANINGS, parse_objectives

if TYPE_CHECKING:
    from tilebase.game.game import Game
    from tilebase.objectives.objective import Objective
    from tilebase.objectives.results import Solution

ObjectiveOption = Annotated[
    str,
    Parameter(
        help=f"{', '.join(MEANINGS)}; several with commas, a type of "
        "value after a colon: win:float32. lower,upper prove an interval."
    ),
]


def solve(
    shape: ShapeOrGoal = "",
    goal: GoalArgument = None,
    *,
    game: GameOptions = DEFAULT_GAME,
    objective: ObjectiveOption = "win",
    discount: DiscountOption = "1",
    table: Annotated[
        Path | None,
        Parameter(
            name=["--output", "-o"],
            help="Folder for a table that can be probed; the same command continues there, others "
            "add objectives.",
        ),
    ] = None,
    space: Annotated[
        str | None,
        Parameter(
            help="reachable: the positions that occur, counted first; all: every board within the limits, "
            "by perfect index, without counting; auto: what takes less time, but reachable with -o. Left "
            "out: auto with masks, else reachable."
        ),
    ] = None,
    by: Annotated[str | None, Parameter(help="Rows by sum.")] = None,
    above: Annotated[
        float | None,
        Parameter(
            help="Leave boards out of the table whose value under the first objective is less, as 0.5; "
            "probes then say that it is below."
        ),
    ] = None,
    exact: Annotated[
        bool,
        Parameter(
            negative=(), help="Solve in fractions: games of up to 3 million afterstates, as 3x3 to 64."
        ),
    ] = False,
    down_to: Annotated[int | None, Parameter(help="Stop after the layer of this sum.")] = None,
    lean: Annotated[
        bool | None,
        Parameter(
            negative="--no-lean",
            help="Keep one layer above the one in work in memory, not two; left out: where memory "
            "asks for it.",
        ),
    ] = None,
    cluster: ClusterOption = None,
    plan: PlanOption = False,
    form: FormatOption = None,
    save: Annotated[Path | None, Parameter(help="File for the rows, instead of printing them.")] = None,
    run: EstimatedRunOptions = DEFAULT_ESTIMATED_RUN,
) -> int:
    """Solve a game: the value of every position that can occur, by backward induction.

    Prints the value of the start, averaged over the two random tiles, or over the start boards of a
    formation, which are listed too. Values are floats, rounded in each step; guaranteed, survival and
    longest are exact; lower and upper are proved, in integers rounded the safe way. With -o all values are
    kept as a table for probe, play, simulate, evaluate and thin.

    tilebase solve 3x3 512 -o 3x3-512/

    tilebase solve 3x3 --objective score

    tilebase solve 3x3 1024 --objective lower,upper

    tilebase solve 3x3 64 --objective loss --exact

    tilebase solve --formation 442 128 -o 442-128/
    """
    question = make_game(shape, goal, game)
    if by not in (None, "sum"):
        raise UsageError(f"--by {by}: rows can be by sum")
    chosen = choose_format(form, save)
    objectives = parse_objectives(objective, discount)
    within = space or ("auto" if question.masks else "reachable")
    if plan:
        from tilebase.costs.rows import solving

        rows = solving(question, objectives, within, keep=table is not None)
        write_rows(rows, rows, chosen, save, game=question)
        return 0
    if exact:
        if any((table, by, above, down_to, lean is not None, cluster, space)):
            raise UsageError(
                "--exact keeps no table and takes no option of one: give a game and an objective"
            )
        return _solve_exactly(question, objectives, chosen, save, run)
    name = "-".join([question.shape_text, question.digest, within, *(one.label for one in objectives)])
    prepare_kernels()
    from tilebase.files.work_folders import work_folder
    from tilebase.questions import solve as engine

    with work_folder(table, name) as work:
        with counting_progress(quiet=run.quiet) as progress:
            solution = engine.solve(
                question, objectives, table=table, folder=None if table else work.path,
                lean=lean, down_to=down_to, space=space, above=above, cluster=cluster, **run.use(progress),
            )  # fmt: skip
        if by:
            rows = list(solution.rows())
        elif chosen in ("csv", "parquet"):
            rows = _values(solution)
        else:
            title = title_of(question)
            rows = _totals(solution, title)
            if above is not None and solution.complete:
                rows.insert(1, _kept(table, title, above))
        write_rows(rows, solution.as_dict() | _checksums(table, solution), chosen, save, game=question)
        if solution.complete:
            work.finish()
    if not solution.complete:
        lowest = min((layer.sum for layer in solution.layers[0]), default=None)
        reached = "no layer was solved" if lowest is None else f"solved down to sum {lowest}"
        print(f"not complete: {reached}", file=sys.stderr)
    return 0


def _solve_exactly(
    question: Game,
    objectives: Sequence[Objective],
    chosen: str,
    save: Path | None,
    run: EstimatedRunOptions,
) -> int:
    """Solve in fractions, and print them."""
    prepare_kernels()
    from tilebase.questions.exact import solve_exactly

    found = []
    for one in objectives:
        with counting_progress(quiet=run.quiet) as progress:
            found.append(solve_exactly(question, one, **run.use(progress)))
    title = title_of(question)
    rows: list[dict[str, Any]] = [{"": "afterstates", title: f"{found[0].afterstates:,}"}]
    for solution in found:
        rows.append({"": solution.objective.text, title: solution.text})
        if solution.text != str(solution.start):
            rows.append({"": "  exactly", title: str(solution.start)})
    if chosen in ("csv", "parquet"):
        rows = [{"objective": one.objective.label, "kind": "exact", "value": str(one.start)} for one in found]
    documents = [solution.as_dict() for solution in found]
    write_rows(rows, documents if len(documents) > 1 else documents[0], chosen, save, game=question)
    return 0


def _totals(solution: Solution, title: str) -> list[dict[str, Any]]:
    rows = [{"": "afterstates", title: f"{solution.positions:,}"}]
    names = [one.name for one in solution.objectives]
    for one, value in zip(solution.objectives, solution.start.values(), strict=solution.complete):
        words = one.text
        if names.count(one.name) > 1:
            words += f" ({one.dtype})"
        rows.append({"": words, title: str(value)})
        for board, values in solution.starts_by_board.items():
            rows.append({"": f"  from {board}", title: str(values[one.label])})
    return rows


def _kept(table: Path | None, title: str, above: float) -> dict[str, Any]:
    """Return the row with the number of boards that a pruned table holds."""
    from tilebase.tables.probe import open_table

    with open_table(str(table)) as opened:
        kept = (opened.manifest.thinned or {})["afterstates"]
    return {"": f"kept: {digits_text(above)} and more", title: f"{kept:,}"}


def _checksums(table: Path | None, solution: Solution) -> dict[str, Any]:
    """Return the checksums of all layers of a table that was finished, by sum; nothing without one."""
    if table is None or not solution.complete:
        return {}
    from tilebase.tables.probe import open_table

    with open_table(str(table)) as opened:
        return {"checksums": {str(total): dict(sums) for total, sums in opened.manifest.layers.items()}}


def _values(solution: Solution) -> list[dict[str, Any]]:
    starts = {"": solution.start, **solution.starts_by_board}
    return [
        {"objective": one.label, "kind": value.kind, "type": one.dtype, "value": float(value)}
        | ({"board": board} if solution.starts_by_board else {})
        for board, values in starts.items()
        for one, value in zip(solution.objectives, values.values(), strict=solution.complete)
    ]
