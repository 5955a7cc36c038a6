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
    if game.masks:
        masks = game.masks_text.replace("|", " or ")
        which = "one of the masks" if len(game.masks) > 1 else "the mask"
        text += f", which cover {which} {masks} after each slide"
    return text


def within_words(game: Game) -> str:
    """The limits, the largest tile and the horizon, in words with a blank in front; empty without them."""
    text = "" if game.limits is None else f" within the limits {game.limits_text}"
    if game.largest is not None:
        text += f" without a tile above {game.largest}"
    return text if game.horizon is None else f"{text} in the game that ends at the sum {game.horizon}"


def winning_words(game: Game) -> str:
    """What wins, in words: ``the tile 64 or the pattern pair``."""
    ways = {"the tile": game.goal, "the pattern": game.pattern, "the sum": game.goal_sum}
    return " or ".join(f"{name} {value}" for name, value in ways.items() if value is not None)


def start_words(game: Game) -> str:
    """What play begins on, if who spawns chooses: ``the empty board``."""
    known = {"empty": "the empty board", "two-tiles": "every start of two tiles"}
    return known.get(game.start) or _start_board(game, "every one")


def random_start_words(game: Game) -> str:
    """What play begins on, if spawns are random: ``two random tiles``."""
    known = {"empty": "the empty board, a spawn first", "two-tiles": "two random tiles"}
    return known.get(game.start) or _start_board(game, "a random one")


def _start_board(game: Game, which: str) -> str:
    """A start board in words, or several, with which of them."""
    if not game.start_afters:
        return f"the board {game.start}"
    texts = [game.format(after) for after in game.start_afters]
    boards = f"the board {texts[0]}" if len(texts) == 1 else f"{which} of the boards {' and '.join(texts)}"
    return f"{boards}, a spawn first"


def spawn_words(game: Game) -> str:
    """The tiles that may be spawned: ``2s and 4s``."""
    return " and ".join(f"{2**e}s" for e in game.spawn_exponents)
