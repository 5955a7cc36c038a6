"""A script as a user writes one: `tests/test_project.py` checks that mypy --strict accepts it."""

from __future__ import annotations

import numpy as np

from tilebase import (
    Below,
    Board,
    Exact,
    Forced,
    Game,
    Progress,
    ProvedBound,
    Rounded,
    Solution,
    Table,
    UsageError,
    count,
    evaluate,
    explain,
    force,
    formation,
    open_table,
    prove,
    simulate,
    solve,
)
from tilebase.errors import MissingBoardError
from tilebase.patterns.reach import Reach, reach
from tilebase.questions.limits import search_limits


def value_of(table: Table, text: str) -> float:
    """The value of a board as a number; 0 if the table does not hold it."""
    answer = table.get(text)
    return 0.0 if answer is None else float(answer.value)


def known(table: Table, text: str) -> str:
    """What is known of a board."""
    found = table.get(text, "nothing")
    if isinstance(found, str):
        return found
    value = found.value
    if isinstance(value, Rounded):
        return f"{value.value} in {value.dtype}, at most {value.error} wrong"
    if isinstance(value, Exact | Below):
        return str(value)
    return f"{float(value)}: {' or '.join(found.best)}"


def boards(game: Game, keys: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> list[Board]:
    """The boards of packed keys as NumPy gives them."""
    return [Board.from_key(game, key) for key in keys]


def worst(table: Table) -> tuple[str, float]:
    """The worst slide of the first start board, and its value."""
    game = table.game
    state = Board(game, game.starts()[0][0])
    slides = table.probe(state).slides
    chosen = min(slides, key=lambda slide: float(slide.value))
    return chosen.direction, float(chosen.value)


def report(folder: str) -> str:
    """Something of a table."""
    with open_table(folder) as table:
        first: float = float(table.value)
        z: float | None = simulate(table, 100).z
        texts = [board.text for board in boards(table.game, np.array([0x1100, 0x1200], dtype=np.uint64))]
        return f"{first} {worst(table)} {value_of(table, '2,2/0,0')} {known(table, '2,2/0,0')} {texts} {z}"


def all_of_it(progress: Progress | None = None) -> list[str]:
    """A line from each kind of result."""
    game = Game("2x2", 32, start="empty")
    solution: Solution = solve(game, "lower,upper", threads=1)
    bound: ProvedBound = prove(game, dtype="uint32", direction="upper")
    forced: Forced = force(Game("2x2", 8))
    found: Reach = reach("2,2/0,0")
    limits: str = search_limits(game, 1000).best.text
    total: int = count(formation("44").game(32)).total("live")
    meaning: str = explain("guaranteed")[0].text
    lines = [bound.statement, forced.statement, found.statement, limits, meaning, str(total)]
    if progress is not None:
        lines.append(f"{progress.fraction:.0%}")
    return [*lines, *(str(value) for value in solution.start.values())]


def regret(folder: str, policy: str) -> float | None:
    """What a policy loses; None if it does not exist or leaves the table."""
    try:
        return evaluate(folder, policy, threads=1).regret
    except (UsageError, MissingBoardError):
        return None
