"""``tilebase plan``: what a command takes, before it begins; and what the tables of formations take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from tilebase.cli.library import is_board_alone, offer
from tilebase.cli.options import (
    GameOptions,
    GoalArgument,
    ObjectiveOption,
    ShapeOrGoal,
    ShownOptions,
    ThreadsOption,
    UseOptions,
    make_game,
)
from tilebase.cli.output import tell_doubts
from tilebase.cli.progress import showing_notes
from tilebase.errors import UsageError
from tilebase.game.formations import Formation
from tilebase.game.formations import formations as all_formations
from tilebase.objectives.numbers import byte_text, chance_text
from tilebase.objectives.objective import parse_objectives
from tilebase.runtime.resources import Allowance
from tilebase.runtime.rows import table_text

if TYPE_CHECKING:
    from tilebase.questions.fitting import Fit

GOALS = (128, 256, 512, 1024, 2048, 4096)
"""The goals of the list."""
WALLED = (
    "the other cells are walls: these are games on a smaller board, whose values are not those of endgames."
)

LEGEND = (
    "For one goal, with the best to reach it: tilebase plan formations 128\n"
    "x: a large tile, which must stay; o: a cell where the goal is made; chance: to make the largest goal "
    "that was solved\n\n"
)

plan = App(name="plan")


@plan.default
def _game(
    shape: ShapeOrGoal = "",
    goal: GoalArgument = None,
    *,
    game: GameOptions = GameOptions(),
    objective: ObjectiveOption = "win",
    shown: ShownOptions = ShownOptions(),
    use: UseOptions = UseOptions(),
) -> int:
    """Estimate a command, or compare formations.

    Estimates time, memory and disk, and starts nothing. Write plan in front of a command (count, solve,
    force, evaluate, thin or verify) to plan it with its options. For a game, plan estimates counting,
    solving and forcing. For a board, it lists the games that have it. With more --threads than processors,
    the plan is for that number of cores. If something does not fit, the reasons are below the table.

    tilebase plan 4x4 256

    tilebase plan solve 3x4 512 --limits 256,128,64,64/64,64,64,64/64,64,64,64 --objective lower:uint32

    tilebase plan evaluate 3x3-512/ greedy

    tilebase plan --formation 442 512

    tilebase plan "0,2,4,0/0,8,16,2/2,4,512,256/1024,2048,4096,8192"
    """
    show = shown.checked()
    if goal is None and game == GameOptions() and is_board_alone(shape):
        offer(shape, show)
        return 0
    question = make_game(shape, goal, game)
    objectives = parse_objectives(objective)
    if len(objectives) > 1:
        raise UsageError(f"a game is planned for one objective: choose one of {objective}")
    from tilebase.costs import rows

    with showing_notes():
        found = rows.everything(question, objectives[0], use.allowed())
    return show.plan(found, game=question)


@plan.command
def formations(
    goal: Annotated[
        int | None, Parameter(help="List boards, positions and sizes for this goal only.")
    ] = None,
    *,
    threads: ThreadsOption = None,
    shown: ShownOptions = ShownOptions(),
) -> int:
    """List the formations of endgames, with their chance to win and the cost of solving them on this machine.

    For one goal, the quickest formations come first, games on a smaller board last, and the best chance to
    win is named. Without a goal, the list has the number of free cells, the known chance to win the largest
    goal, and the time to solve each goal; "no" means that the engine refuses it. A chance is known if its
    table was solved once. In games on a smaller board, the x are walls. A ~ marks an estimated number of
    positions. Times are those with a table (-o); without one, a pass over all boards may be quicker. tilebase
    explain 442 draws a formation.

    tilebase plan formations

    tilebase plan formations 128
    """
    show, used = shown.checked(), Allowance.of(threads=threads).cores
    sizes, legend, note = _sizes(goal), "", ""
    if goal is None:
        rows, legend = _times(sizes, used), LEGEND
    else:
        sizes = sorted(sizes, key=lambda pair: (pair[0].walled, not pair[1].possible, pair[1].seconds(used)))
        rows, note = _rows(sizes, used), _best(sizes, goal, used)
    document = [_as_dict(one, size, used) for one, size in sizes]
    walled = list(dict.fromkeys(one.name for one, _ in sizes if one.walled))
    note += f"\nIn {', '.join(walled)} {WALLED}\n" if walled else ""
    show.write(rows, document, data=document, text=legend + table_text(rows) + note, game=None)
    tell_doubts()
    return 0


def _sizes(goal: int | None) -> list[tuple[Formation, Fit]]:
    from tilebase.questions.fitting import Fit, tables_of

    if goal is None:
        return [(one, fit) for one in all_formations() for fit in tables_of(one)]
    able = [one for one in all_formations() if one.least_goal <= goal <= one.largest_goal]
    if not able:
        raise UsageError(f"no formation makes {goal}: choose a goal as 128, 256 or 512")
    return [(one, Fit(one.game(goal), goal, one)) for one in able]


# -- tables ------------------------------------------------------------------------------------------


def _times(sizes: Sequence[tuple[Formation, Fit]], threads: int) -> list[dict[str, Any]]:
    """Return a row for each formation: the time for each goal."""
    rows: dict[str, dict[str, Any]] = {}
    for one, size in sizes:
        row = rows.setdefault(
            one.name,
            {"": one.name, "x, o": one.picture, "free": str(one.free_cells), "chance": ""}
            | {str(goal): "" for goal in GOALS},
        )
        if size.chance is not None:
            row["chance"] = f"{chance_text(size.chance)} to {size.goal}"
        if size.goal in GOALS:
            row[str(size.goal)] = "no" if not size.possible else brief(size.seconds(threads))
    return list(rows.values())


def _best(sizes: Sequence[tuple[Formation, Fit]], goal: int, threads: int) -> str:
    """Return what has the best chance to win: in all, and of what is solved sooner; and what is not known."""
    memory = Allowance.of().memory
    real = [
        (one.name, size) for one, size in sizes
        if size.possible and not one.walled and size.least.memory <= memory
    ]  # fmt: skip
    best: list[tuple[str, Fit]] = []
    for name, size in real:  # by ascending time
        if size.chance is not None and (not best or size.chance > (best[-1][1].chance or 0.0)):
            best.append((name, size))
    if not best:
        return ""
    told = [f"{name} ({chance_text(size.chance)}, {size.time_text(threads)})" for name, size in best[::-1]]
    words = f"\nBest to {goal} on this machine, by the known chance to win: {told[0]}"
    words += f"; solved sooner: {', '.join(told[1:])}. " if told[1:] else ". "
    words += f"tilebase explain {best[-1][0]} draws it.\n"
    unknown = [name for name, size in real if size.chance is None]
    return words + (f"Not known, and perhaps better: {', '.join(unknown)}.\n" if unknown else "")


def _rows(sizes: Sequence[tuple[Formation, Fit]], threads: int) -> list[dict[str, Any]]:
    rows = []
    for one, size in sizes:
        time = size.time_text(threads)
        solving = f"solve takes {time.lstrip('~')}" if size.possible else "solve refuses it"
        rows.append(
            {
                "": one.name + " (walls)" * one.walled,
                "chance": chance_text(size.chance) or f"not known: {solving}",
                "positions": size.positions_text,
                "time with -o": time,
                "memory": byte_text(size.least.memory),
                "disk": byte_text(round(size.least.disk)),
            }
        )
    return rows


def _as_dict(one: Formation, size: Fit, threads: int) -> dict[str, Any]:
    return {
        "formation": one.name,
        "category": one.category,
        "picture": one.picture,
        "masks": "|".join(one.masks),
        "goal_cells": one.goal_cells,
        "starts": "|".join(one.starts),
        "free_cells": one.free_cells,
        "walled": one.walled,
        "goal": size.goal,
        "chance": size.chance,
        "boards": size.boards,
        "positions": size.positions,
        "measured": size.measured,
        "seconds": round(size.seconds(threads), 1),
        "memory": size.least.memory,
        "disk": round(size.least.disk),
        "possible": size.possible,
    }


def brief(seconds: float) -> str:
    """Return a time in a few characters.

    >>> brief(4), brief(200), brief(9000), brief(2e5), brief(1e9)
    ('4 s', '3 min', '2.5 h', '2.3 d', '32 y')
    """
    for unit, length in (("y", 365.25 * 86400), ("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 1.5 * length:
            amount = seconds / length
            return f"{amount:.0f} {unit}" if amount >= 10 or unit == "min" else f"{amount:.1f} {unit}"
    return f"{max(seconds, 1):.0f} s"
