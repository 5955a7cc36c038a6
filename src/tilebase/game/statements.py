"""A game in words, for statements that can be cited."""

from __future__ import annotations

from tilebase.game.game import Game


def board_words(game: Game) -> str:
    """The board in words, for statements: ``3x3 with walls on the cells 1, 2``."""
    text = game.shape_text
    if game.walls:
        text += f" with walls on the cells {', '.join(map(str, game.walls))}"
    if game.unmergeable:
        movement = "fixed" if game.fixed else "movable"
        cells = ", ".join(map(str, game.unmergeable))
        text += f" with {movement} tiles that never merge, first on the cells {cells}"
    return text


def within_words(game: Game) -> str:
    """The limits and the largest tile, in words with a blank in front; empty without both."""
    text = "" if game.limits is None else f" within the limits {game.limits_text}"
    return text if game.largest is None else f"{text} without a tile above {game.largest}"


def winning_words(game: Game) -> str:
    """What wins, in words: ``the tile 64 or the pattern pair``."""
    ways = {"the tile": game.goal, "the pattern": game.pattern, "the sum": game.goal_sum}
    return " or ".join(f"{name} {value}" for name, value in ways.items() if value is not None)


def start_words(game: Game) -> str:
    """What play begins on, if who spawns chooses: ``the empty board``."""
    known = {"empty": "the empty board", "two-tiles": "every start of two tiles"}
    return known.get(game.start, f"the board {game.start}")


def spawn_words(game: Game) -> str:
    """The tiles that may be spawned: ``2s and 4s``."""
    return " and ".join(f"{2**e}s" for e in game.spawn_exponents)
