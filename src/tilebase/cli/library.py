"""Boards without a table: the library answers, or what can be solved is listed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tilebase.cli.output import tell_doubts
from tilebase.errors import MissingLayerError
from tilebase.objectives.numbers import chance_text, share_text
from tilebase.runtime.paths import library_folder
from tilebase.runtime.rows import table_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilebase.cli.output import Shown
    from tilebase.questions.fitting import Fit
    from tilebase.tables.folders import TableFolder

MOST_ASKED, MOST_OFFERED = 40, 6
"""How many positions of a written game are looked at to find tables for it, and how many tables are named."""
SOON = 60.0
"""Seconds for which a player waits for a table with a larger goal."""
LARGE_EQUAL = "two large tiles of this board are equal: they can merge, which no table knows"


def is_board_alone(word: str) -> bool:
    """Return whether a word is a board, and not the name of a file or a folder."""
    from tilebase.questions.fitting import is_board

    return is_board(word) and not os.path.lexists(word)


def open_library() -> TableFolder:
    """Open the tables of the library.  Raises `MissingLayerError` if it has none."""
    from tilebase.tables.folders import holds_tables, open_tables

    folder = library_folder()
    if not holds_tables(folder):
        raise MissingLayerError(
            f"your library {folder} has no table: make one with tilebase solve ... -o {folder}/NAME, or name "
            "another folder with TILEBASE_TABLES_DIR"
        )
    return open_tables(folder)


def offer(board: str, shown: Shown, why: str = "") -> None:
    """Print which games can be solved to answer a board, and the command for one of them.

    Raises as `questions.fitting.fits`.
    """
    from tilebase.costs.rates import slowdown
    from tilebase.questions.fitting import fits

    found, folder = fits(board), library_folder()
    problems = {fit: fit.problem(folder) for fit in found}
    possible, others = ([fit for fit in found if bool(problems[fit]) == no] for no in (False, True))
    rows = [_row(fit) for fit in possible]
    text = f"{why}\n" if why else ""
    text += f"These tables would hold the board:\n{table_text(rows)}" if rows else ""
    if others:
        names = ", ".join(f"{fit.name} ({problems[fit]})" for fit in others)
        text += f"not on this machine: {names}\n"
    if found[0].equal:
        text += f"{LARGE_EQUAL}\n"
    if possible:
        most = SOON / slowdown()
        soon = [fit for fit in possible if fit.expected.seconds <= most]
        best = max(soon, key=lambda fit: fit.goal, default=possible[0])
        which = "The largest goal within a minute" if soon else "The first"
        text += f"{which}: {best.command(folder)}\n"
    document: list[dict[str, Any]] = [
        {
            "name": fit.name, "formation": fit.formation.name if fit.formation else None, "goal": fit.goal,
            "chance": fit.chance, "seconds": round(fit.expected.seconds, 1), "disk": int(fit.expected.disk),
            "memory": fit.expected.memory, "problem": problems[fit], "command": fit.command(folder),
        }
        for fit in found
    ]  # fmt: skip
    shown.write(rows, document, data=document, text=text, game=None)
    tell_doubts()


def offer_for_game(boards: Sequence[str]) -> str:
    """Return which tables would judge how much of a written game, and a command for the soonest; or nothing.

    Raises `BoardError` if one of the positions is no board.
    """
    from tilebase.questions.fitting import fits_of_all

    asked, folder = boards[:: max(1, len(boards) // MOST_ASKED)], library_folder()
    found = [(fit, count) for fit, count in fits_of_all(asked) if not fit.problem(folder)][:MOST_OFFERED]
    if not found:
        return ""
    rows = [_row(fit) | {"of the game": share_text(count / len(asked))} for fit, count in found]
    soonest = min((fit for fit, _ in found), key=lambda fit: fit.expected.seconds)
    command = soonest.command(folder)
    return f"These tables would judge parts of it:\n{table_text(rows)}The soonest: {command}\n"


def _row(fit: Fit) -> dict[str, str]:
    """Return the row of a table that can be solved."""
    time, disk = fit.takes
    return {
        "": f"{fit.name.rpartition('-')[0]}, from this board" if fit.alone else fit.name,
        "x, o": fit.formation.picture if fit.formation else "",
        "chance": chance_text(fit.chance),
        "time": time,
        "disk": disk,
    }
