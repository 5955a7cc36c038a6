"""``tilebase solve``: the values of a game under optimal play, and proved bounds; exact is a subcommand."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from tilebase.cli.limits import sooner
from tilebase.cli.options import (
    USED,
    ClusterOption,
    GameOptions,
    GoalArgument,
    ObjectiveOption,
    Options,
    ShapeOrGoal,
    ShownOptions,
    UseOptions,
    WorkOption,
    make_game,
)
from tilebase.cli.output import PLANNING, Shown, how_certain, plannable, signature
from tilebase.cli.progress import counting_progress, prepare_kernels
from tilebase.errors import UsageError
from tilebase.game.findings import claim_of
from tilebase.game.formations import formation_of
from tilebase.game.game import Game
from tilebase.game.names import game_text, title_of
from tilebase.objectives.numbers import digits_text
from tilebase.objectives.objective import Objective, check_goal_fits, parse_objectives
from tilebase.runtime.measured import working_time
from tilebase.runtime.resources import parse_bytes
from tilebase.runtime.rows import table_text

if TYPE_CHECKING:
    from tilebase.objectives.results import Solution
    from tilebase.objectives.values import Found, Value
    from tilebase.questions.prove import ProvedBound

CHANCES = ("win", "lower", "upper")
"""The objectives that are, or bound, the probability to win."""
UP_TO_SYMMETRY = "afterstates, up to symmetry"


@dataclass(frozen=True)
class EngineOptions(Options):
    """On which boards a game is solved, how far, and by whom."""

    space: str | None = None
    """reachable: the positions that occur, counted first; all: every board within the limits, without
    counting; cuda: all, on a GPU; auto: the quicker of the two, with -o reachable. Default: auto with masks,
    all for bounds within limits without a table, otherwise reachable."""
    down_to: int | None = None
    """Stop after the layer of this sum."""
    work: WorkOption = None
    cluster: ClusterOption = None
    disk: Annotated[str | None, Parameter(group=USED)] = None
    """Disk to use, such as 30GB; default: the free space. Layers that do not fit are counted twice."""


@dataclass(frozen=True)
class TableOptions(Options):
    """The table that is kept, and what is left out of it."""

    table: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None
    """Folder for a table to probe; the same command continues there, with other objectives it adds them."""
    above: float | None = None
    """Omit boards worth less than this under the first objective, such as 0.5; a probe prints that their
    value is below it."""


@plannable
def values(
    shape: ShapeOrGoal = "",
    goal: GoalArgument = None,
    *,
    game: GameOptions = GameOptions(),
    objective: ObjectiveOption = "win",
    how: EngineOptions = EngineOptions(),
    kept: TableOptions = TableOptions(),
    shown: ShownOptions = ShownOptions(),
    run: UseOptions = UseOptions(),
) -> int:
    """Solve a game: the value of every position.

    Prints the value of the start: the mean over the two random tiles, or over the start boards of a
    formation, which are also listed; for guaranteed and survival the least over them, for longest, highest
    and fewest the best. These five are exact; lower and upper are proved, in integers rounded outward, each
    with a sentence to cite; the others are floats, rounded in each step. -o saves all values as a table for
    probe, play, evaluate and thin. A record in JSON has the values by sum.

    tilebase solve 3x3 512 -o 3x3-512/

    tilebase solve 3x3 --objective score

    tilebase solve 3x3 1024 --objective lower,upper

    tilebase solve 3x4 256 --limits 128,128,32,32/64,32,16,16/32,16,16,16
    --objective lower:uint32 --record bound.json

    tilebase solve --formation 442 128 -o 442-128/
    """
    question = make_game(shape, goal, game)
    show = shown.checked()
    objectives = parse_objectives(objective)
    from tilebase.questions.running import Ask

    ask = Ask.on(how.space, question, objectives, how.down_to, table=kept.table is not None)
    within = ask.space
    folder = kept.table or how.work
    if kept.above is not None and kept.table is None:
        raise UsageError("--above leaves boards out of a table: name its folder with -o")
    if PLANNING.get():
        if ask.on_device:
            raise UsageError(f"what a pass with --space {how.space} takes is not planned: leave it out")
        from tilebase.costs.rows import solving

        rows = solving(
            question, objectives, within if kept.above is None else "reachable",
            replace(run.allowed(), disk=parse_bytes(how.disk, "disk")),
            keep=kept.table is not None if kept.above is None else None, down_to=how.down_to, folder=folder,
            cluster=how.cluster,
        )  # fmt: skip
        more = _recorded(question, objectives) + _sooner(question, objectives)
        return show.plan(rows, game=question, more=more)
    if kept.table is not None and how.work is not None:
        raise UsageError("a table is the folder of its run: leave --work out")
    prepare_kernels()
    from tilebase.files.work_folders import work_folder
    from tilebase.questions.solve import solve_asked

    with work_folder(folder, "solve", question, within, *(one.label for one in objectives)) as place:
        bounds_alone = all(one.is_bound and one.discount == 1 for one in objectives)
        if within == "all" and bounds_alone and kept.table is None and how.down_to is None:
            # Passes over all boards prove bounds, and nothing else is wanted: no layer is summed up.
            check_goal_fits(question)
            ask = replace(ask, summaries=False, checksums=show.as_json)
        since = working_time()
        with counting_progress(known=lambda: _recorded(question, objectives).strip()) as progress:
            use = run.use(progress) | {"disk": how.disk}
            solution = solve_asked(ask, folder=place.path, cluster=how.cluster, **vars(kept), **use)
        _write(solution, show, working_time() - since, kept.table, kept.above)
        if solution.complete:
            place.finish()
            return 0
    lowest = min((layer.sum for layer in solution.layers[0]), default=None)
    reached = "no layer was solved" if lowest is None else f"solved down to sum {lowest}"
    print(f"not complete: {reached}", file=sys.stderr)
    return 0


def exact(
    shape: ShapeOrGoal = "",
    goal: GoalArgument = None,
    *,
    game: GameOptions = GameOptions(),
    objective: ObjectiveOption = "win",
    play: Annotated[
        str,
        Parameter(
            help="best; worst, which makes the value as bad as possible; fastest, the expected slides "
            "of a won game, by the fastest play among those that win most often; undo, which may "
            "take back one spawn."
        ),
    ] = "best",
    shown: ShownOptions = ShownOptions(),
    run: UseOptions = UseOptions(),
) -> int:
    """Solve a game in fractions: games of up to 3 million afterstates, such as 3x3 to 64.

    tilebase solve exact 3x3 64 --objective loss

    tilebase solve exact 3x3 32 --play fastest
    """
    question = make_game(shape, goal, game)
    show = shown.checked()
    objectives = parse_objectives(objective)
    prepare_kernels()
    from tilebase.questions.exact import check_exact, solve_exactly

    for one in objectives:  # before the first is solved
        check_exact(question, one, play)
    found = []
    for one in objectives:
        with counting_progress() as progress:
            found.append(solve_exactly(question, one, play=play, **run.use(progress)))
    title = title_of(question)
    rows: list[dict[str, Any]] = [{"": UP_TO_SYMMETRY, title: f"{found[0].afterstates:,}"}]
    for solution in found:
        rows.append({"": solution.title, title: solution.text})
        if solution.text != str(solution.start):
            rows.append({"": "  exactly", title: str(solution.start)})
    data = [
        {"objective": one.objective.label, "play": play, "kind": "exact", "value": str(one.start)}
        for one in found
    ]
    documents = [one.as_dict() for one in found]
    show.write(rows, documents if len(documents) > 1 else documents[0], data=data, game=question)
    return 0


def _write(solution: Solution, show: Shown, seconds: float, table: Path | None, above: float | None) -> None:
    """Write the value of the start, with a sentence to cite for each proved bound."""
    from tilebase.questions.prove import bounds_of

    bounds = bounds_of(solution, seconds)
    start = dict(solution.start) | {one.objective.label: one.bounded for one in bounds}  # as in the sentences
    title = title_of(solution.game)
    rows = _totals(solution, start, title)
    if above is not None and solution.complete:
        rows.insert(1, _kept(table, title, above))
    found = list(start.values())
    text = table_text(rows) + how_certain(found, "--objective guaranteed, or tilebase solve exact")
    text += _cited(bounds, show.record) + _recorded(solution.game, solution.objectives, found)
    show.write(
        rows, partial(_document, solution, bounds, table), data=_values(solution, start), text=text,
        game=solution.game,
    )  # fmt: skip


def _document(solution: Solution, bounds: tuple[ProvedBound, ...], table: Path | None) -> dict[str, Any]:
    """Return the document of a solution, with the sentences of its bounds and the checksums of its table."""
    document = solution.as_dict()
    if bounds:
        said = {one.objective.label: one.asked()[0] for one in bounds}
        told = zip(solution.start, solution.asked(), strict=True)
        document |= claim_of(said.get(label, one) for label, one in told)
        document["bounds"] = [one.as_dict() for one in bounds]
    if table is not None and solution.complete:
        document |= _checksums(table)
    return document


def _cited(bounds: tuple[ProvedBound, ...], record: Path | None) -> str:
    """Return the sentences to cite; an upper bound of 1 has none, and a lower one of 0."""
    text = "".join(f"\n{one.statement} {signature()}\n" for one in bounds if not one.is_vacuous)
    kept = record is not None and record.suffix.lower() == ".json"
    how = f"tilebase cite {record}" if kept else "add --record bound.json, then tilebase cite bound.json"
    return text + (f"As BibTeX: {how}\n" if text else "")


def _sooner(game: Game, objectives: Sequence[Objective]) -> str:
    """Return a line that names the search for limits, for a lower bound of a game without limits."""
    lower = any(one.is_bound and not one.rounds_up for one in objectives)
    if not lower or game.limits is not None or game.goal is None or formation_of(game) is not None:
        return ""
    return f"\n{sooner(game_text(game))}"


def _recorded(game: Game, objectives: Sequence[Objective], values: Sequence[Found] = ()) -> str:
    """Return a line that names a better recorded bound of the probability to win; empty without one."""
    from tilebase.claims.results import better_chance

    asked = [at for at, one in enumerate(objectives) if one.name in CHANCES and one.discount == 1]
    lines = [better_chance(game, values[at] if values else None) for at in asked]
    return next((f"\n{line}" for line in lines if line), "")


def _totals(solution: Solution, start: Mapping[str, Value], title: str) -> list[dict[str, Any]]:
    what = UP_TO_SYMMETRY if solution.unit == "afterstates" else solution.unit
    rows = [{"": what, title: f"{solution.positions:,}"}]
    names = [one.name for one in solution.objectives]
    for one, value in zip(solution.objectives, start.values(), strict=solution.complete):
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


def _checksums(table: Path) -> dict[str, Any]:
    """Return the checksums of the layers of a finished table, by label and sum."""
    from tilebase.tables.probe import open_table

    with open_table(str(table)) as opened:
        return {
            "checksums": {
                label: {str(total): layers.record(total).text for total in layers.sums()}
                for label, layers in opened.layers.items()
            }
        }


def _values(solution: Solution, start: Mapping[str, Value]) -> list[dict[str, Any]]:
    starts = {"": start, **solution.starts_by_board}
    return [
        {"objective": one.label, "kind": value.kind, "type": one.dtype, "value": float(value)}
        | ({"board": board} if solution.starts_by_board else {})
        for board, values in starts.items()
        for one, value in zip(solution.objectives, values.values(), strict=solution.complete)
    ]


solve = App(name="solve")
solve.default(values)
solve.command(exact)
