"""Random games of every kind, each as tilebase's `Game` and as the plain `Rules`."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any

from attack.rules import Board, Rules, TooLargeError, X
from tilebase.errors import GameError
from tilebase.game.game import Game

SHAPES = (
    *("1x2", "1x3", "1x4", "4x1", "1x5", "1x6", "1x7", "2x2", "2x2", "2x2", "2x3", "2x3", "3x2"),
    *("2x4", "3x3", "1x2x2", "2x1x3", "2x2x2", "1x1x4"),
)
FOURS = (
    "1/10",
    "1/10",
    "1/10",
    "0",
    "1",
    "1/2",
    "3/7",
    "99/100",
    "1/1000",
    "12345/99991",
)
MOST_STATES = 300


@dataclass(frozen=True)
class DrawnGame:
    """A game twice over, and how it is written."""

    game: Game
    rules: Rules
    options: dict[str, Any]  # the arguments of `Game`, shape and goal first

    @property
    def lines(self) -> str:
        """The game in Python."""
        shape, goal = self.options["shape"], self.options["goal"]
        rest = "".join(
            f", {name}={value!r}" for name, value in self.options.items() if name not in ("shape", "goal")
        )
        return f"game = Game({shape!r}, {goal!r}{rest})"

    @property
    def unbounded(self) -> bool:
        """Whether slides lead from boards of tiles that play can make to larger tiles."""
        return not self.game.bounds.closed

    @property
    def command(self) -> list[str]:
        """The game as arguments of the command line."""
        words = [self.options["shape"]]
        if self.options["goal"] is not None:
            words.append(str(self.options["goal"]))
        rare = []
        for name, value in self.options.items():
            if name in ("shape", "goal") or value is None or value is False:
                continue
            if name in ("goal_sum", "walls", "unmergeable", "masks", "horizon"):
                rare.append(f"{name.replace('_', '-')} = {value!r}")
            elif value is True:
                words.append(f"--{name}")
            else:
                text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
                words += [f"--{name}", text]
        if rare:
            words += ["--rules", "; ".join(rare)]
        return words


def random_game(
    rng: random.Random,
    most_states: int = MOST_STATES,
    options_of: Callable[[random.Random], dict[str, Any]] | None = None,
    **fixed: Any,
) -> DrawnGame:
    """A game that exists and has few states; `fixed` are options that are not drawn."""
    while True:
        options = (options_of or draw)(rng) | fixed
        try:
            game = Game(**options)
        except GameError:
            continue
        if (
            game.goal is None
            and game.limits
            and any(limit > 1 << top for limit, top in zip(game.limits, game.tops, strict=True) if top)
        ):
            continue  # a limit above all that can be built: whether it counts for symmetry is not said
        drawn = DrawnGame(game, rules_of(options, most_states), options)
        try:
            states, _ = drawn.rules.reachable()
        except TooLargeError:
            continue
        if len(states) > 1 or rng.random() < 0.05:
            drawn.rules.most = 50 * most_states
            return drawn


def large_game(rng: random.Random) -> DrawnGame:
    """A game of any size, whose states are not to be listed."""
    while True:
        options = draw(rng)
        options["shape"] = rng.choice(("4x4", "3x4", "2x2x4", "4x5", "3x7", "4x8", "2x9", "2x2x5"))
        options |= {"start": "two-tiles", "goal": rng.choice((None, 8, 16, 64, 256, 2048, 32768, 65536))}
        for name in ("limits", "pattern"):
            options.pop(name, None)
        if options["goal"] is None and (largest := rng.choice((None, 8, 128, 16384, 32768))) is not None:
            options["limits"] = [largest] * prod(map(int, options["shape"].split("x")))
        try:
            return DrawnGame(Game(**options), rules_of(options, 0), options)
        except GameError:
            continue


def draw(rng: random.Random) -> dict[str, Any]:
    """Arguments of a game, which may not exist."""
    shape = rng.choice(SHAPES)
    sizes = [int(size) for size in shape.split("x")]
    cells = 1
    for size in sizes:
        cells *= size
    options: dict[str, Any] = {"shape": shape, "goal": None, "spawn": rng.choice(FOURS)}
    if rng.random() < 0.75 or cells > 5:
        options["goal"] = 8 << rng.randrange(min(5, cells))
    if rng.random() < 0.3:
        options["walls"] = sorted(rng.sample(range(cells), min(cells, rng.randint(1, 2))))
    if rng.random() < 0.3:
        options["unmergeable"] = sorted(rng.sample(range(cells), min(cells, rng.randint(1, 2))))
    most = (options["goal"] or 2 ** (cells + 1)) // 2
    tiles = [1 << e for e in range(1, most.bit_length())]
    if rng.random() < 0.35:
        options["limits"] = [rng.choice(tiles[1:] or [4]) for _ in range(cells)]
    elif rng.random() < 0.2:
        options["limits"] = [rng.choice(tiles[1:] or [4])] * cells
    if rng.random() < 0.3:
        options["pattern"] = draw_pattern(rng, cells, tiles)
    options["start"] = draw_start(rng, options, cells, tiles)
    # Numbers of their own: those of older seeds stay what they were.
    own = random.Random(repr(options).replace("spawn", "four"))
    if own.random() < 0.15:
        options["goal_sum"] = 2 * own.randint(3, 4 * cells)
    return options


def draw_pattern(rng: random.Random, cells: int, tiles: list[int]) -> str:
    """One or two patterns."""
    if rng.random() < 0.3:
        return "pair"
    patterns = []
    for _ in range(rng.randint(1, 2)):
        words = ["*"] * cells
        for cell in rng.sample(range(cells), min(cells, rng.randint(1, 2))):
            words[cell] = str(rng.choice([*tiles[1:], 0]))
        patterns.append(",".join(words))
    return "|".join(patterns)


def draw_start(rng: random.Random, options: dict[str, Any], cells: int, tiles: list[int]) -> str:
    """A name or a board, with an x where the game has one and no tile on walls."""
    name = rng.choice(("two-tiles", "two-tiles", "empty", "board"))
    if name != "board":
        return name
    words = []
    for cell in range(cells):
        if cell in options.get("walls", ()):
            words.append("#")
        elif cell in options.get("unmergeable", ()):
            words.append("x")
        else:
            words.append(str(rng.choice([0, 0, *tiles])))
    return ",".join(words)


def rules_of(options: dict[str, Any], most: int) -> Rules:
    """The plain rules of the same game."""
    shape = tuple(int(size) for size in options["shape"].split("x"))
    walls = frozenset(options.get("walls", ()))
    start = options["start"]
    rules = Rules(
        shape,
        options["goal"],
        Fraction(options["spawn"]),
        start,
        None if options.get("limits") is None else tuple(options["limits"]),
        walls,
        frozenset(options.get("unmergeable", ())),
        goal_sum=options.get("goal_sum"),
        masks=tuple({frozenset(mask) for mask in options.get("masks", ())}),
        horizon=options.get("horizon"),
        most=most,
    )
    if start.startswith("after "):
        rules.begun = tuple(dict.fromkeys(map(rules.read, start.removeprefix("after ").split("|"))))
    elif start not in ("two-tiles", "empty"):
        rules.start = rules.read(start)
    rules.patterns = read_patterns(rules, options.get("pattern"))
    return rules


def read_patterns(rules: Rules, text: str | None) -> tuple[tuple[int | None, ...], ...]:
    """The patterns of a text; ``pair`` is any two neighbours of half the goal, where limits allow them."""
    if text is None:
        return ()
    if text != "pair":
        return tuple(
            tuple(None if word == "*" else int(word) for word in one.split(",")) for one in text.split("|")
        )
    assert rules.goal is not None
    half, found = rules.goal // 2, set()
    for axis in range(len(rules.shape)):
        for cell, place in enumerate(rules.places):
            beside = (*place[:axis], place[axis] + 1, *place[axis + 1 :])
            if beside not in rules.places:
                continue
            two = (cell, rules.places.index(beside))
            if all(rules.limit(c) >= half and c not in rules.walls for c in two):
                found.add(tuple(half if c in two else None for c in range(rules.cells)))
    return tuple(sorted(found, key=str))


def random_board(rng: random.Random, drawn: DrawnGame) -> Board:
    """A board within the limits of a game, reachable or not."""
    game, rules = drawn.game, drawn.rules
    free = [cell for cell in range(rules.cells) if cell not in rules.walls]
    places = set(rules.unmergeable)
    if rules.masks:
        places = set(rng.choice(rules.masks))
        places |= set(rng.sample(sorted(set(free) - places), len(rules.unmergeable) - len(places)))
    elif rules.unmergeable:
        places = set(rng.sample(free, len(rules.unmergeable)))
    density, high = rng.choice((0.3, 0.7, 1.0, 1.0)), rng.random() < 0.4
    board = []
    for cell in range(rules.cells):
        top = game.tops[cell]
        if cell in places:
            board.append(X)
        elif cell in rules.walls or not top or rng.random() > density:
            board.append(0)
        else:
            board.append(1 << (max(1, top - rng.randint(0, 1)) if high else rng.randint(1, top)))
    return tuple(board)
