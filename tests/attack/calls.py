"""Calls of the public interface with arguments that nobody expects: an answer, or one sentence of tilebase.

Where a parameter may be anything, a `TypeError` is an answer too, as of any Python function; text, numbers
and lists of numbers must be understood or refused with an error of tilebase.
"""

from __future__ import annotations

import atexit
import math
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
from tilebase import Board, Game, Objective, Table, open_table, solve
from tilebase.counting.combinatorics import bound
from tilebase.dense.index import PerfectIndex
from tilebase.errors import TilebaseError
from tilebase.game.symmetry import canonical, orbit_size
from tilebase.objectives.objective import parse_objectives

CALLS = 2000
"""Calls in a case."""
SECONDS = 20
"""A call that takes longer does not end."""

GAMES = (
    Game("2x2", 32),
    Game("2x3", 16, limits="8,8,8/8,8,4"),
    Game("1x4"),
    Game("2x2x2", 16, unmergeable=[3]),
    Game("3x3", 64, walls=[4], start="empty"),
    Game("4x4", 2048),
    Game("4x8", 8, spawn=0),
)
NUMBERS: tuple[Any, ...] = (
    *(0, 1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 32, 64, 255, 1024, 2048, 32768, 65536, -1, -2, -(2**63), 2**31),
    *(
        2**63,
        2**64,
        10**30,
        10**400,
        True,
        False,
        0.0,
        0.5,
        -0.5,
        1e-300,
        1e300,
        math.inf,
        -math.inf,
        math.nan,
    ),
)
TEXTS = (
    *(
        "",
        " ",
        "x",
        "#",
        ".",
        "0",
        "2",
        "-1",
        "2x2",
        "3x3",
        "4x4",
        "0x0",
        "1x1",
        "2x2x2",
        "9x9",
        "2 x 2",
        "X",
    ),
    *(
        "2\u00d72",
        "999x999",
        "1x",
        "x1",
        "two-tiles",
        "empty",
        "pair",
        "lemma1",
        "win",
        "lower,upper",
        "score",
    ),
    *(
        "win:float16",
        "win:",
        ":",
        "win,win",
        "upper:uint64",
        "2,4/0,8",
        "2 4 ; . 8",
        "0x1203",
        "1203",
        "[[",
        "{}",
    ),
    *(
        "[[2, 4], [0, 8]]",
        '{"board": 3}',
        "[" * 5000,
        "0x" + "f" * 40,
        "2" * 5000,
        "1/10",
        "1e-999999999",
        "1/0",
    ),
    *(
        "nan",
        "inf",
        "0.1",
        "9" * 400 + "/7",
        "\0",
        "\n",
        "\u00e9",
        "\U0001d7da",
        "\u0662",
        "\u00b2",
        "*,4/*,*",
    ),
    *("64,32,*/*,*,*", "|", "*|*", "8,8/8,4", "4,,4", "-0"),
)
OBJECTS: tuple[Any, ...] = (
    None,
    b"2x2",
    object(),
    {},
    {1: 2},
    set(),
    Fraction(1, 3),
    Fraction(-1, 7),
    range(3),
    int,
)


def attack(case: Case) -> None:
    """Many calls, each with random arguments."""
    previous = signal.signal(signal.SIGALRM, _too_long)
    try:
        for _ in range(CALLS):
            name, function, anything = case.rng.choice(FUNCTIONS)
            arguments = _arguments(case.rng, anything)
            _call(case, name, function, arguments, anything=anything)
    finally:
        signal.signal(signal.SIGALRM, previous)


def _too_long(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"more than {SECONDS} seconds")


def _call(
    case: Case, name: str, function: Callable[..., Any], arguments: dict[str, Any], *, anything: bool
) -> None:
    case.done["calls"] += 1
    lines = f"{name}: {', '.join(f'{key}={value!r}' for key, value in arguments.items())}"[:2000]
    allowed = (TilebaseError, TypeError) if anything else TilebaseError
    signal.alarm(SECONDS)
    try:
        function(**arguments)
    except allowed as error:
        case.done["refused"] += 1
        text = str(error)
        fit = len(text) < 1000 and "\n" not in text.strip()
        case.expect(fit or isinstance(error, TypeError), f"{name}: no sentence", text[:300], lines)
    except BaseException:
        case.fail(f"{name}: traceback", traceback.format_exc(limit=-4).strip(), lines)
    finally:
        signal.alarm(0)


# -- what is called -----------------------------------------------------------------------------------


def _text_or_number(rng: random.Random) -> Any:
    return rng.choice((rng.choice(TEXTS), rng.choice(NUMBERS)))


def _cells(rng: random.Random) -> Any:
    """A board as a list, in some shape and type."""
    cells = [
        rng.choice((0, 0, 1, 2, 3, 4, 5, 15, 16, 64, -1, 2**63))
        for _ in range(rng.choice((0, 1, 4, 4, 6, 8, 9, 16)))
    ]
    form = rng.randrange(5)
    if form == 0:
        return tuple(cells)
    if form == 1:
        return np.array(cells, dtype=object if max(cells, default=0) >= 2**63 else np.int64)
    if form == 2 and len(cells) % 2 == 0:
        return [cells[: len(cells) // 2], cells[len(cells) // 2 :]]
    if form == 3:
        return np.array([float(cell) for cell in cells])
    return cells


def _thing(rng: random.Random, anything: bool) -> Any:
    choices: list[Callable[[random.Random], Any]] = [_text_or_number, _cells]
    if anything:
        choices.append(lambda random_: random_.choice(OBJECTS))
    return rng.choice(choices)(rng)


def _arguments(rng: random.Random, anything: bool) -> dict[str, Any]:
    return {
        "thing": _thing(rng, anything),
        "other": _thing(rng, anything),
        "rng": random.Random(rng.random()),
    }


def _game(thing: Any, other: Any, rng: random.Random) -> Any:
    """A game with one or two strange arguments."""
    options: dict[str, Any] = {"shape": rng.choice(("2x2", "2x3", "4x4")), "goal": rng.choice((None, 16, 32))}
    names = (
        "shape",
        "goal",
        "spawn",
        "start",
        "limits",
        "walls",
        "unmergeable",
        "pattern",
    )
    options[rng.choice(names)] = thing
    options[rng.choice(names)] = other
    made = Game(**options)
    assert Game.from_identity(made.identity) == made
    str(made)
    return made


def _board(thing: Any, other: Any, rng: random.Random) -> None:
    board = Board.read(rng.choice(GAMES), thing)
    board.slides()
    board.canonical()
    assert board.text
    assert Board.read(board.game, board.unicode()) == board
    assert Board.read(board.game, board.key) == board


def _drawing(thing: Any, other: Any, rng: random.Random) -> None:
    game = rng.choice(GAMES)
    Board(game, game.starts()[0][0]).svg(thing)


def _rules(thing: Any, other: Any, rng: random.Random) -> None:
    game = rng.choice(GAMES)
    cells = game.check(thing)
    game.slides(cells)
    canonical(game, cells)
    assert orbit_size(game, cells) >= 1


def _key(thing: Any, other: Any, rng: random.Random) -> None:
    Board.from_key(rng.choice(GAMES), thing)


def _array(thing: Any, other: Any, rng: random.Random) -> None:
    Board.from_numpy(rng.choice(GAMES), thing, exponents=rng.random() < 0.5)


def _objective(thing: Any, other: Any, rng: random.Random) -> None:
    name = rng.choice(("win", "lower", "score", thing))
    one = Objective(name, rng.choice(("", thing)), other if rng.random() < 0.5 else 1)
    assert Objective.from_identity(one.identity) == one


def _objectives(thing: Any, other: Any, rng: random.Random) -> None:
    parse_objectives(thing if isinstance(thing, str) else "win", other)


def _index(thing: Any, other: Any, rng: random.Random) -> None:
    index = _perfect(rng.randrange(3))
    board = index.unrank(thing, other) if rng.random() < 0.5 else None
    rank = index.rank(thing if board is None else board)
    assert rank >= 0


def _probe(thing: Any, other: Any, rng: random.Random) -> None:
    table = _table(rng.randrange(2))
    if rng.random() < 0.2:
        table.start[thing]
    elif rng.random() < 0.3:
        table.probe(thing, other)
    else:
        table.probe(thing)


def _open(thing: Any, other: Any, rng: random.Random) -> None:
    open_table(thing)


def _bound(thing: Any, other: Any, rng: random.Random) -> None:
    assert bound(Game("2x2", thing, spawn=other)).possible >= 1


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


FUNCTIONS: tuple[tuple[str, Callable[..., Any], bool], ...] = (
    ("Game", _game, True),
    ("Board.read", _board, True),
    ("Board.svg", _drawing, True),
    ("Game.check", _rules, True),
    ("Board.from_key", _key, True),
    ("Board.from_numpy", _array, True),
    ("Objective", _objective, True),
    ("parse_objectives", _objectives, True),
    ("PerfectIndex", _index, True),
    ("Table.probe", _probe, True),
    ("open_table", _open, True),
    ("bound", _bound, True),
)
