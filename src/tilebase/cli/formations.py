"""``tilebase formations``: where large tiles stand in endgames, by name, and what their tables take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from tilebase.cli.options import FormatOption, OutputOption, ThreadsOption, parse_seconds
from tilebase.cli.output import choose_format, table_text, write_rows, write_text
from tilebase.errors import UsageError
from tilebase.game.formations import Formation, formation
from tilebase.game.formations import formations as all_formations
from tilebase.objectives.numbers import byte_text
from tilebase.runtime.resources import check_threads, parse_bytes

if TYPE_CHECKING:
    from tilebase.costs.formations import TableSize

GOALS = (128, 256, 512, 1024, 2048, 4096)
"""The goals of the list."""
MASKS_BESIDE = 6
"""Masks drawn beside each other."""


def formations(
    name: Annotated[str | None, Parameter(help="Show this one in detail; a name, or FILE.toml.")] = None,
    *,
    goal: Annotated[int | None, Parameter(help="Boards, positions and sizes for this goal only.")] = None,
    fit: Annotated[
        tuple[str, str, str] | None,
        Parameter(
            negative=(),
            help="List what can be solved with so much memory, disk and time, each to its largest goal: "
            "16GiB 50GB 2h.",
        ),
    ] = None,
    threads: ThreadsOption = None,
    form: FormatOption = None,
    output: OutputOption = None,
) -> int:
    """List the formations of endgames by name, with what solving them takes on this machine.

    A formation says where large tiles (x) stand that never merge, where the goal wins (o, if not everywhere),
    and where play starts. The list has the number of free cells and the time to solve each goal; "no" is
    what the engine refuses. Some are no endgames but games on a smaller board, whose x are walls: the list
    names them. Numbers of boards are exact; numbers of positions with ~ are estimates.

    tilebase formations

    tilebase formations 442

    tilebase formations --goal 512

    tilebase formations 442 --goal 512

    tilebase formations --fit 16GiB 50GB 2h
    """
    chosen, used = choose_format(form, output), check_threads(threads)
    if fit is not None and (name is not None or goal is not None):
        raise UsageError("--fit chooses formations and goals itself: leave the name and --goal out")
    if name is not None:
        one = formation(name)
        sizes = _sizes([one], goal)
        if chosen == "table":
            write_text(_described(one) + table_text(_rows(sizes, used, "goal")), output)
            return 0
    elif fit is not None:
        sizes = _fitting(fit, used)
    else:
        sizes = _sizes(all_formations(), goal)
    document = [_as_dict(size, used) for size in sizes]
    if chosen != "table":
        write_rows(document, document, chosen, output, game=None)
    elif name is None and goal is None and fit is None:
        write_rows(_times(sizes, used), document, chosen, output, game=None)
        walled = [one.name for one in all_formations() if one.fixed]
        if output is None:
            print(
                f"\nIn {', '.join(walled)} the x are walls, which nothing moves: these are games on a "
                "smaller board, and their values are not those of endgames of the 4x4 game."
            )
    else:
        names = ("formation", "goal") if fit else ("formation",)
        write_rows(_rows(sizes, used, *names), document, chosen, output, game=None)
    return 0


def _sizes(listed: Sequence[Formation], goal: int | None) -> list[TableSize]:
    from tilebase.costs.formations import size_of_table, sizes_of

    if goal is None:
        return [size for one in listed for size in sizes_of(one)]
    able = [one for one in listed if one.least_goal <= goal <= one.largest_goal]
    if not able and len(listed) == 1:
        listed[0].game(goal)  # raises `GameError`, which says what goals it makes
    if not able:
        raise UsageError(f"no formation makes {goal}: choose a goal as 128, 256 or 512")
    return [size_of_table(one, goal) for one in able]


def _fitting(fit: tuple[str, str, str], threads: int) -> list[TableSize]:
    from tilebase.costs.formations import tables_that_fit

    memory, disk, seconds = parse_bytes(fit[0]), parse_bytes(fit[1]), parse_seconds(fit[2])
    assert memory is not None
    assert disk is not None
    assert seconds is not None
    found = list(tables_that_fit(memory, disk, seconds, threads))
    if not found:
        raise UsageError(
            f"no formation fits into {fit[0]} of memory, {fit[1]} of disk and {fit[2]}: allow more of them"
        )
    return found


# -- tables ------------------------------------------------------------------------------------------


def _times(sizes: Sequence[TableSize], threads: int) -> list[dict[str, Any]]:
    """Return a row for each formation: the time for each goal."""
    rows: dict[str, dict[str, Any]] = {}
    for size in sizes:
        one = size.formation
        row = rows.setdefault(
            one.name,
            {"": one.name, "x, o": one.picture, "free": str(one.free_cells)}
            | {str(goal): "" for goal in GOALS},
        )
        if size.goal in GOALS:
            row[str(size.goal)] = "no" if not size.possible else brief(size.seconds(threads))
    return list(rows.values())


def _rows(sizes: Sequence[TableSize], threads: int, *names: str) -> list[dict[str, Any]]:
    """Return a row for each table; `names` says whether it is named by formation, goal or both."""
    return [
        {
            **({"": size.formation.name} if "formation" in names else {}),
            **({"goal": str(size.goal)} if "goal" in names else {}),
            "boards": f"{size.boards:,}",
            "positions": size.positions_text,
            "time": size.time_text(threads),
            "memory": byte_text(size.memory),
            "disk": byte_text(size.disk),
        }
        for size in sizes
    ]


def _as_dict(size: TableSize, threads: int) -> dict[str, Any]:
    one = size.formation
    return {
        "formation": one.name,
        "category": one.category,
        "picture": one.picture,
        "masks": "|".join(one.masks),
        "goal_cells": one.goal_cells,
        "starts": "|".join(one.starts),
        "free_cells": one.free_cells,
        "goal": size.goal,
        "boards": size.boards,
        "positions": size.positions,
        "measured": size.measured,
        "seconds": round(size.seconds(threads), 1),
        "memory": size.memory,
        "disk": size.disk,
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


# -- one formation -----------------------------------------------------------------------------------


def _described(one: Formation) -> str:
    """Return a formation in words, with a drawing of its masks."""
    free = f"{one.free_cells} cells for other tiles"
    role = "a wall" if one.fixed else "a large tile, which slides and never merges"
    lines = [f"{one.name}: {free}", "", *_drawn(one), "", *([f"x  {role}"] if one.x_cells else [])]
    if not one.wins_anywhere:
        lines.append("o  where the goal wins")
    if one.x_cells and not one.masks and not one.fixed:
        lines.append("The x may stand anywhere.")
    elif len(one.masks) > 1:
        lines.append("After each slide the x must cover one of these masks.")
    lines.append(f"Play starts, after a slide, on {' or '.join(one.starts)}")
    if one.extra is not None:
        lines.append(f"and ends at the sum goal + {one.start_sum + 2 * one.extra - 4}.")
    elif one.horizon is not None:
        lines.append(f"and ends at the sum {one.horizon}.")
    return "\n".join([*lines, "", ""])


def _drawn(one: Formation) -> list[str]:
    """Return the masks, or the first start, as pictures beside each other."""
    pictures = [_picture(one, mask) for mask in one.masks] or [one.picture.split("/")]
    lines = []
    for first in range(0, len(pictures), MASKS_BESIDE):
        beside = pictures[first : first + MASKS_BESIDE]
        lines += ["    ".join(" ".join(row) for row in rows) for rows in zip(*beside, strict=True)]
        lines.append("")
    return lines[:-1]


def _picture(one: Formation, mask: str) -> list[str]:
    """Return a mask with the goal cells that it leaves."""
    marked = "" if one.wins_anywhere else one.goal_cells
    goals = marked.ljust(len(mask), ".")
    drawn = "".join("o" if a == "." and b == "x" else a for a, b in zip(mask, goals, strict=True))
    return drawn.split("/")
