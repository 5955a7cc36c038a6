"""Calls of the public interface with arguments that nobody expects: an answer, or one sentence of tilebase.

Where a parameter may be anything, a `TypeError` is an answer too, as of any Python function.
"""

from __future__ import annotations

import atexit
import random
import shutil
import signal
import tempfile
import traceback
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from attack.case import Case
from attack.strange import NUMBERS, WORDS
from tilebase import Board, Game, Objective, Table, open_table, solve
from tilebase.counting.combinatorics import bound
from tilebase.dense.index import PerfectIndex
from tilebase.errors import TilebaseError
from tilebase.game.symmetry import canonical, orbit_size
from tilebase.objectives.objective import parse_objectives

CALLS, SECONDS = 2000, 20
"""Calls in a case; a call that takes longer does not end."""
GAMES = (
    Game("2x2", 32),
    Game("2x3", 16, limits="8,8,8/8,8,4"),
    Game("1x4"),
    Game("2x2x2", 16, unmergeable=[3]),
    Game("3x3", 64, walls=[4], start="empty"),
    Game("4x4", 2048),
    Game("4x8", 8, spawn=0),
)
OBJECTS = (None, b"2x2", object(), {}, {1: 2}, set(), Fraction(1, 3), Fraction(-1, 7), range(3), int)


def attack(case: Case) -> None:
    """Many calls, each with random arguments."""
    previous = signal.signal(signal.SIGALRM, _too_long)
    try:
        for _ in range(CALLS):
            _call(case, case.rng.choice([*CALLS_OF]), _thing(case.rng), _thing(case.rng))
    finally:
        signal.signal(signal.SIGALRM, previous)


def _too_long(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"more than {SECONDS} seconds")


def _call(case: Case, name: str, thing: Any, other: Any) -> None:
    lines = f"{name}: {thing!r}, {other!r}"[:2000]
    case.done["calls"] += 1
    signal.alarm(SECONDS)
    try:
        CALLS_OF[name](thing, other, case.rng)
    except (TilebaseError, TypeError) as error:
        case.done["refused"] += 1
        fit = len(str(error)) < 1000 and "\n" not in str(error).strip()
        case.expect(fit or isinstance(error, TypeError), f"{name}: no sentence", str(error)[:300], lines)
    except BaseException:
        case.fail(f"{name}: traceback", traceback.format_exc(limit=-4).strip(), lines)
    finally:
        signal.alarm(0)


def _thing(rng: random.Random) -> Any:
    """A text, a number, a board in some shape and type, or anything."""
    cells = [rng.choice((0, 0, 1, 2, 3, 4, 16, -1, 2**63)) for _ in range(rng.choice((0, 1, 4, 4, 6, 8, 9)))]
    of_boards: tuple[Any, ...] = (
        cells, tuple(cells), np.array(cells, dtype=object), np.array(cells, dtype=float),
        [cells[: len(cells) // 2], cells[len(cells) // 2 :]],
    )  # fmt: skip
    return rng.choice(rng.choice((WORDS, NUMBERS, of_boards, of_boards, OBJECTS)))


def _game(thing: Any, other: Any, rng: random.Random) -> None:
    """A game with one or two strange arguments."""
    options: dict[str, Any] = {"shape": rng.choice(("2x2", "2x3", "4x4")), "goal": rng.choice((None, 16, 32))}
    names = ("shape", "goal", "spawn", "start", "limits", "walls", "unmergeable", "pattern")
    options |= {rng.choice(names): thing, rng.choice(names): other}
    made = Game(**options)
    assert Game.from_identity(made.identity) == made
    str(made)


def _board(thing: Any, other: Any, rng: random.Random) -> None:
    board = Board.read(rng.choice(GAMES), thing)
    board.slides()
    board.canonical()
    assert board.text
    assert Board.read(board.game, board.unicode()) == board
    assert Board.read(board.game, board.key) == board


def _rules(thing: Any, other: Any, rng: random.Random) -> None:
    game = rng.choice(GAMES)
    cells = game.check(thing)
    game.slides(cells)
    canonical(game, cells)
    assert orbit_size(game, cells) >= 1


def _objective(thing: Any, other: Any, rng: random.Random) -> None:
    name = rng.choice(("win", "lower", "score", thing))
    one = Objective(name, rng.choice(("", thing)), other if rng.random() < 0.5 else 1)
    assert Objective.from_identity(one.identity) == one


def _index(thing: Any, other: Any, rng: random.Random) -> None:
    index = _perfect(rng.randrange(3))
    assert index.rank(index.unrank(thing, other) if rng.random() < 0.5 else thing) >= 0


def _probe(thing: Any, other: Any, rng: random.Random) -> None:
    table = _table(rng.randrange(2))
    if rng.random() < 0.2:
        table.start[thing]
    else:
        table.probe(thing, *([other] if rng.random() < 0.3 else []))


@cache
def _perfect(number: int) -> PerfectIndex:
    return PerfectIndex(GAMES[number])


@cache
def _table(number: int) -> Table:
    """A table that stays to the end of the process."""
    folder = Path(tempfile.mkdtemp(prefix="attack-calls-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    solve(Game("2x2", 16), "win,lower,upper", table=folder, space=("reachable", "all")[number], threads=1)
    return open_table(folder)


CALLS_OF: dict[str, Callable[[Any, Any, random.Random], Any]] = {
    "game": _game,
    "board": _board,
    "drawing": lambda thing, _, rng: Board(game := rng.choice(GAMES), game.starts()[0][0]).svg(thing),
    "rules": _rules,
    "key": lambda thing, _, rng: Board.from_key(rng.choice(GAMES), thing),
    "array": lambda thing, _, rng: Board.from_numpy(rng.choice(GAMES), thing, exponents=rng.random() < 0.5),
    "objective": _objective,
    "objectives": lambda thing, other, _: parse_objectives(thing if isinstance(thing, str) else "win", other),
    "index": _index,
    "probe": _probe,
    "open": lambda thing, *_: open_table(thing),
    "bound": lambda thing, other, _: bound(Game("2x2", thing, spawn=other)),
}
