"""Random games and formations of every kind, each as tilebase's `Game` and as the plain rules."""

from __future__ import annotations

import random
from dataclasses import dataclass
from math import prod
from typing import Any

import second_reader
from attack.rules import Board, TooLargeError, X
from attack.strange import words
from tilebase.errors import GameError
from tilebase.game.game import Game

SHAPES = words("1x2 1x3 1x4 4x1 1x5 1x6 1x7 2x2 2x2 2x2 2x3 2x3 3x2 2x4 3x3 1x2x2 2x1x3 2x2x2 1x1x4")
OF_FORMATIONS = words("2x2 2x3 2x3 3x2 3x3 3x3 3x3 2x4 2x4 1x5 2x2x2")
LARGE = words("4x4 3x4 2x2x4 4x5 3x7 4x8 2x9 2x2x5")
SPAWNS = words("1/10 1/10 1/10 0 1 1/2 3/7 99/100 1/1000 12345/99991 1/10000019 999999999999/1000000000000")
MOST_STATES = 300


@dataclass(frozen=True)
class DrawnGame:
    """A game, the plain rules of the same game, and how it is written."""

    game: Game
    rules: second_reader.Game
    lines: str


def drawn_game(options: dict[str, Any]) -> DrawnGame:
    """The game of some arguments.  Raises `GameError` if there is none."""
    game = Game(**options)
    text = ", ".join(f"{name}={value!r}" for name, value in options.items())
    return DrawnGame(game, second_reader.Game(game.identity), f"game = Game({text})")


def random_game(rng: random.Random, *, formation: bool = False, **fixed: Any) -> DrawnGame:
    """A game that exists and has few states; `fixed` are options that are not drawn."""
    while True:
        options = (draw_formation(rng) if formation else draw(rng)) | fixed
        try:
            drawn = drawn_game(options)
            drawn.rules.most = MOST_STATES
            states, afters = drawn.rules.reachable()
        except (GameError, TooLargeError):
            continue
        if afters and (len(states) > 1 or rng.random() < 0.05):
            drawn.rules.most = 50 * MOST_STATES
            return drawn


def large_game(rng: random.Random) -> DrawnGame:
    """A game or formation of any size, whose states are not to be listed."""
    while True:
        options = draw_formation(rng, LARGE) if rng.random() < 0.5 else draw(rng, LARGE)
        if options["goal"] is None:  # two 16384 would make the tile that has the code of x
            cells = prod(map(int, options["shape"].split("x")))
            options["limits"] = [rng.choice((8, 128, 16384))] * cells
        try:
            return drawn_game(options)
        except GameError:
            continue


def draw(rng: random.Random, shapes: list[str] = SHAPES) -> dict[str, Any]:
    """Arguments of a game, which may not exist."""
    shape = rng.choice(shapes)
    cells = prod(map(int, shape.split("x")))
    options: dict[str, Any] = {"shape": shape, "goal": None, "spawn": rng.choice(SPAWNS)}
    if rng.random() < 0.75 or cells > 5:
        options["goal"] = 8 << rng.randrange(min(5, cells))
    for name in ("walls", "unmergeable"):
        if rng.random() < 0.3:
            options[name] = sorted(rng.sample(range(cells), min(cells, rng.randint(1, 2))))
    tiles = [1 << e for e in range(1, ((options["goal"] or 2 << cells) // 2).bit_length())]
    if rng.random() < 0.45:
        some = [rng.choice(tiles[1:] or [4]) for _ in range(cells)]
        options["limits"] = some if rng.random() < 0.7 else some[:1] * cells
    if rng.random() < 0.3:
        options["pattern"] = draw_pattern(rng, cells, tiles)
    options["start"] = draw_start(rng, options, cells, tiles)
    if rng.random() < 0.15:
        options["goal_sum"] = 2 * rng.randint(3, 4 * cells)
    return options


def draw_pattern(rng: random.Random, cells: int, tiles: list[int]) -> str:
    """One or two patterns of one or two cells, or any two neighbours of half the goal."""
    if rng.random() < 0.3:
        return "pair"
    patterns = [["*"] * cells for _ in range(rng.randint(1, 2))]
    for pattern in patterns:
        for cell in rng.sample(range(cells), min(cells, rng.randint(1, 2))):
            pattern[cell] = str(rng.choice([*tiles[1:], 0]))
    return "|".join(map(",".join, patterns))


def draw_start(rng: random.Random, options: dict[str, Any], cells: int, tiles: list[int]) -> str:
    """A name or a board, with an x where the game has one and no tile on walls; few of large tiles merge."""
    name = rng.choice(("two-tiles", "two-tiles", "empty", "board", "large"))
    if name not in ("board", "large"):
        return name
    board = [str(rng.choice([0, 0, *tiles])) for _ in range(cells)]
    if name == "large" and 2 < cells < 10:
        options["goal"] = rng.choice((None, 32768))
        options.pop("limits", None)
        board = [
            *map(str, sorted(rng.sample([16 << e for e in range(11)], cells - 2), reverse=True)),
            "2",
            "0",
        ]
    signs = dict.fromkeys(options.get("unmergeable", ()), "x") | dict.fromkeys(options.get("walls", ()), "#")
    return ",".join(signs.get(cell, word) for cell, word in enumerate(board))


def draw_formation(rng: random.Random, shapes: list[str] = OF_FORMATIONS) -> dict[str, Any]:
    """Arguments of a game with masks, a horizon, goals on some cells and starts of every type."""
    shape = rng.choice(shapes)
    cells = prod(map(int, shape.split("x")))
    goal = 8 << rng.randrange(min(4, cells - 1))
    options: dict[str, Any] = {"shape": shape, "goal": goal, "spawn": rng.choice(SPAWNS)}
    if rng.random() < 0.15:
        options["walls"] = [rng.randrange(cells)]
    large = rng.randint(1, max(1, cells - 4)) if rng.random() < 0.85 else 0
    free = [cell for cell in range(cells) if cell not in options.get("walls", ())]
    if large:
        smallest = max(1, large - rng.choice((0, 0, 0, 1)))  # an x more than the mask has cells
        options["masks"] = [
            sorted(rng.sample(free, rng.randint(smallest, large))) for _ in range(rng.choice((1, 1, 2, 3)))
        ]
    which = rng.random()
    if which < 0.3:  # the goal on one of two cells
        patterns = [["*"] * cells for _ in range(rng.randint(1, 2))]
        for pattern in patterns:
            pattern[rng.randrange(cells)] = str(goal)
        options["pattern"] = "|".join(map(",".join, patterns))
    if which < 0.4:
        options["goal"] = rng.choice((None, None, 2 * goal))
    if rng.random() < 0.15:
        options["limits"] = [
            rng.choice([tile for tile in (4, 8, 16, 32) if tile <= goal]) for _ in range(cells)
        ]
    if rng.random() < 0.1:
        options["goal_sum"] = 2 * rng.randint(3, 4 * cells)
    if options["goal"] is None and rng.random() < 0.5:
        options.setdefault("limits", [rng.choice((4, 8, 16, goal))] * cells)
    boards = [formed(rng, options, free, large) for _ in range(rng.choice((1, 1, 2, 3)))]
    texts = [",".join(board) for board in boards]
    options["start"] = rng.choice(("two-tiles", "empty", texts[0], *["after " + "|".join(texts)] * 3))
    if options["start"] in ("two-tiles", "empty"):
        boards = [formed(rng, {"masks": options.get("masks", [])[:1], "shape": shape}, free, large)]
    options["unmergeable"] = [cell for cell, word in enumerate(boards[0]) if word == "x"]
    if rng.random() < 0.6:
        least = max(sum(int(word) for word in board if word.isdigit()) for board in boards)
        options["horizon"] = least + 2 * rng.randint(1, 12)
    return options


def formed(rng: random.Random, options: dict[str, Any], free: list[int], large: int) -> list[str]:
    """The words of a board with the x of a mask, and perhaps more."""
    held = set(rng.choice(options["masks"])) if large else set[int]()
    held |= set(rng.sample(sorted(set(free) - held), min(large, len(free)) - len(held)))
    return [
        "x" if cell in held else str(rng.choice((0, 0, 0, 2, 2, 4, 8))) if cell in free else "#"
        for cell in range(prod(map(int, options["shape"].split("x"))))
    ]


def random_boards(rng: random.Random, drawn: DrawnGame, count: int) -> list[Board]:
    """Boards that a game may have, reachable or not; none where slides lead to ever larger tiles."""
    boards = [random_board(rng, drawn.rules) for _ in range(count if drawn.game.bounds.closed else 0)]
    return [board for board in boards if drawn.rules.total(board) and drawn.rules.exists(board)]


def random_board(rng: random.Random, rules: second_reader.Game) -> Board:
    """A board within the limits of a game, reachable or not, with the x on a mask."""
    free = {cell for cell in range(rules.cells) if cell not in rules.walls}
    held = set(rng.choice(rules.masks)) if rules.masks else set[int]()
    held |= set(rng.sample(sorted(free - held), len(rules.unmergeable) - len(held)))
    density, high = rng.choice((0.3, 0.7, 1.0, 1.0)), rng.random() < 0.4
    board = []
    for cell in range(rules.cells):
        tiles = [tile for tile in rules.choices(cell) if tile > 0]
        there = tiles and rng.random() < density
        board.append(X if cell in held else rng.choice(tiles[-2:] if high else tiles) if there else 0)
    return tuple(board)
