"""A game in words: its title, its options on a command line, and statements that can be cited."""

from __future__ import annotations

import shlex

from tilebase.game.formations import formation_of, goal_of
from tilebase.game.game import Game
from tilebase.game.spawns import ORIGINAL


def title_of(game: Game) -> str:
    """Describe a game in short, for people: its formation and what differs from it, or else all rules.

    >>> from tilebase.game.formations import formation
    >>> title_of(formation("l3").game(64, spawn=0)), title_of(Game("3x3", 64))
    ('formation L3, to 64, spawn 0', '3x3, to 64')
    """
    found = formation_of(game)
    if found is None:
        return str(game)
    goal, at_least = goal_of(game)
    words = [f"formation {found.name}"]
    if goal is not None:
        words.append(f"to {goal}{' or more' * at_least}")
    if game.goal_sum is not None:
        words.append(f"to the sum {game.goal_sum}")
    if game.spawn != ORIGINAL:
        words.append(f"spawn {game.spawn}")
    if not found.makes(game, None):
        words.append(f"until the sum {game.horizon}")
    return ", ".join(words)


def game_text(game: Game) -> str:
    """Write a game as a command line names it: shape and goal or formation, and the options that differ.

    `tilebase count`, `solve` and all commands for games with random spawns read it again.

    >>> from tilebase.game.formations import formation
    >>> game_text(formation("l3").game(64, spawn=0)), game_text(Game("3x3", 64, pattern="32,*,*/*,*,*/*,*,*"))
    ('64 --formation L3 --spawn 0', "3x3 64 --pattern '32,*,*/*,*,*/*,*,*'")
    """
    found = formation_of(game)
    spawn = "" if game.spawn == ORIGINAL else str(game.spawn)
    options: dict[str, object]  # the values; empty where the command line leaves the option out
    if found is None:
        words: list[object] = [game.shape_text, game.goal]
        options = {
            "start": "" if game.start == "two-tiles" else game.start, "spawn": spawn, "largest": game.largest,
            "limits": game.limits_text, "pattern": game.pattern, "goal-sum": game.goal_sum,
            "walls": ",".join(map(str, game.walls)), "unmergeable": ",".join(map(str, game.unmergeable)),
            "fixed": game.fixed, "masks": game.masks_text, "horizon": game.horizon,
        }  # fmt: skip
    else:
        goal, at_least = goal_of(game)
        words = [goal]
        options = {
            "formation": found.name, "spawn": spawn, "goal-sum": game.goal_sum,
            "horizon": "" if found.makes(game, None) else game.horizon, "at-least": at_least,
        }  # fmt: skip
    for name, value in options.items():
        if value:
            words += [f"--{name}"] if value is True else [f"--{name}", value]
    return shlex.join(str(word) for word in words if word is not None)


# -- statements ------------------------------------------------------------------------------------


def board_words(game: Game) -> str:
    """Return the board in words, for statements: ``3x3 with walls on the cells 1, 2``."""
    text = game.shape_text
    if game.walls:
        text += f" with walls on the cells {', '.join(map(str, game.walls))}"
    if game.unmergeable:
        movement = "fixed" if game.fixed else "movable"
        cells = ", ".join(map(str, game.unmergeable))
        text += f" with {movement} tiles that never merge, first on the cells {cells}"
    if game.masks:
        masks = game.masks_text.replace("|", " or ")
        which = "one of the masks" if len(game.masks) > 1 else "the mask"
        text += f", which cover {which} {masks} after each slide"
    return text


def within_words(game: Game) -> str:
    """Return the limits, the largest tile and the horizon, in words with a blank in front.

    Empty without them.
    """
    text = "" if game.limits is None else f" within the limits {game.limits_text}"
    if game.largest is not None:
        text += f" without a tile above {game.largest}"
    return text if game.horizon is None else f"{text} in the game that ends at the sum {game.horizon}"


def winning_words(game: Game) -> str:
    """Return what wins, in words: ``the tile 64 or the pattern pair``."""
    ways = {"the tile": game.goal, "the pattern": game.pattern, "the sum": game.goal_sum}
    return " or ".join(f"{name} {value}" for name, value in ways.items() if value is not None)


def start_words(game: Game) -> str:
    """Return what play begins on, if who spawns chooses: ``the empty board``."""
    known = {"empty": "the empty board", "two-tiles": "every start of two tiles"}
    return known.get(game.start) or _start_board(game, "every one")


RANDOM_STARTS = {"empty": "the empty board, a spawn first", "two-tiles": "two random tiles"}
"""What play begins on, by the name of the start."""


def random_start_words(game: Game) -> str:
    """Return what play begins on, if spawns are random: ``two random tiles``."""
    return RANDOM_STARTS.get(game.start) or _start_board(game, "a random one")


def _start_board(game: Game, which: str) -> str:
    """Describe a start board in words, or several, with which of them."""
    if not game.start_afters:
        return f"the board {game.start}"
    texts = [game.format(after) for after in game.start_afters]
    boards = f"the board {texts[0]}" if len(texts) == 1 else f"{which} of the boards {' and '.join(texts)}"
    return f"{boards}, a spawn first"


def spawn_words(game: Game) -> str:
    """Return the tiles that may be spawned: ``2s and 4s``."""
    return " and ".join(f"{2**e}s" for e in game.spawn_exponents)
