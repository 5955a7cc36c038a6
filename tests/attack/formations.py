"""Random formations: games with masks, a horizon, goals on some cells and starts after a slide.

They are asked in every way in which `attack.games` asks, against the same plain rules.
"""

from __future__ import annotations

import random
from math import prod
from typing import Any

from attack.case import REFUSED, Case
from attack.games import ask_everything
from attack.random_games import FOURS, DrawnGame, random_game, rules_of
from attack.rules import MEASURES
from tilebase.errors import GameError
from tilebase.game.game import Game
from tilebase.small import oracle

SHAPES = ("2x2", "2x3", "2x3", "3x2", "3x3", "3x3", "3x3", "2x4", "2x4", "1x5", "2x2x2")
LARGE = ("3x4", "4x4", "4x4", "2x2x4", "4x5")


def attack(case: Case) -> None:
    """One random formation, asked in every way."""
    drawn = random_game(case.rng, options_of=draw)
    check_oracle(case, drawn)
    ask_everything(case, drawn, large_formation(case.rng))


def check_oracle(case: Case, drawn: DrawnGame) -> None:
    """The oracle of tilebase gives the start the value that the plain rules give it."""
    for name, exact in zip(MEASURES, drawn.rules.value, strict=True):
        lines = f"{drawn.lines}; oracle.values(game, {name!r}).start"
        found = case.call("oracle.values", lines, oracle.values, drawn.game, name)
        if found is not REFUSED:
            case.expect(found.start == exact, "oracle.values", f"{found.start}, by the rules {exact}", lines)


def large_formation(rng: random.Random) -> DrawnGame:
    """A formation of any size, whose states are not to be listed."""
    while True:
        options = draw(rng, LARGE)
        if options["goal"] is None:  # two 16384 would make the tile that has the code of x
            cells = prod(int(size) for size in options["shape"].split("x"))
            options["limits"] = options.get("limits") or [16384] * cells
        try:
            return DrawnGame(Game(**options), rules_of(options, 0), options)
        except GameError:
            continue


def draw(rng: random.Random, shapes: tuple[str, ...] = SHAPES) -> dict[str, Any]:
    """Arguments of a formation, which may not exist."""
    shape = rng.choice(shapes)
    cells = prod(int(size) for size in shape.split("x"))
    options: dict[str, Any] = {"shape": shape, "goal": 8 << rng.randrange(min(4, cells - 1))}
    options["spawn"] = rng.choice(FOURS)
    if rng.random() < 0.15:
        options["walls"] = [rng.randrange(cells)]
    large = rng.randint(1, max(1, cells - 4)) if rng.random() < 0.85 else 0
    free = [cell for cell in range(cells) if cell not in options.get("walls", ())]
    if large:
        smallest = max(1, large - rng.choice((0, 0, 0, 1)))  # an x more than the mask has cells
        options["masks"] = [
            sorted(rng.sample(free, rng.randint(smallest, large))) for _ in range(rng.choice((1, 1, 2, 3)))
        ]
    draw_goal(rng, options, cells)
    draw_start(rng, options, free, large)
    return options


def draw_goal(rng: random.Random, options: dict[str, Any], cells: int) -> None:
    """The goal on any cell, on some cells, a sum, or none; limits, and a largest tile."""
    goal = options["goal"]
    which = rng.random()
    if which < 0.3:
        patterns = [["*"] * cells for _ in range(rng.randint(1, 2))]
        for pattern in patterns:
            pattern[rng.randrange(cells)] = str(goal)
        options["pattern"] = "|".join(",".join(pattern) for pattern in patterns)
        options["goal"] = rng.choice((None, None, 2 * goal))
    elif which < 0.4:
        options["goal"] = None
    if rng.random() < 0.15:
        options["limits"] = [
            rng.choice([limit for limit in (4, 8, 16, 32) if limit <= goal]) for _ in range(cells)
        ]
    if rng.random() < 0.1:
        options["goal_sum"] = 2 * rng.randint(3, 4 * cells)
    if options["goal"] is None and options.get("limits") is None and rng.random() < 0.5:
        options["limits"] = [rng.choice((4, 8, 16, goal))] * cells


def draw_start(rng: random.Random, options: dict[str, Any], free: list[int], large: int) -> None:
    """Starts of every type, with the x of a mask and perhaps more, and a horizon above them."""
    words = [["0"] * (free[-1] + 1) for _ in range(rng.choice((1, 1, 2, 3)))]
    cells = prod(int(size) for size in options["shape"].split("x"))
    for board in words:
        board += ["0"] * (cells - len(board))
        held = set(rng.choice(options["masks"])) if large else set[int]()
        held |= set(rng.sample(sorted(set(free) - held), min(large, len(free)) - len(held)))
        for cell in free:
            board[cell] = "x" if cell in held else str(rng.choice((0, 0, 0, 2, 2, 4, 8)))
        for cell in set(range(cells)) - set(free):
            board[cell] = "#"
    texts = [",".join(board) for board in words]
    options["start"] = rng.choice(("two-tiles", "empty", "after", "after", "after", texts[0]))
    if options["start"] == "after":
        options["start"] = "after " + "|".join(texts)
    shown = words[0]
    if options["start"] in ("two-tiles", "empty"):
        shown = ["x" if large and cell in options["masks"][0] else "0" for cell in range(cells)]
        for cell in rng.sample([c for c in free if shown[c] == "0"], large - shown.count("x")):
            shown[cell] = "x"
    options["unmergeable"] = [cell for cell, word in enumerate(shown) if word == "x"]
    if rng.random() < 0.6:
        least = max(sum(int(word) for word in board if word.isdigit()) for board in words)
        options["horizon"] = least + 2 * rng.randint(1, 12)
