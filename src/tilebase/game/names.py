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
    if game.first_sum:
        words.append(f"from {game.start}")
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
    rules: dict[str, object]
    options: dict[str, object]  # the values; empty where the command line leaves the option out
    if found is None:
        words: list[object] = [game.shape_text, game.goal]
        options = {
            "start": "" if game.start == "two-tiles" else game.start, "spawn": spawn,
            "limits": game.limits_text, "pattern": game.pattern,
        }  # fmt: skip
        rules = {
            "goal-sum": game.goal_sum, "walls": list(game.walls), "unmergeable": list(game.unmergeable),
            "masks": game.masks_text and f"'{game.masks_text}'", "horizon": game.horizon,
        }  # fmt: skip
    else:
        goal, at_least = goal_of(game)
        words = [goal]
        options = {"formation": found.name, "start": game.first_sum and game.start, "spawn": spawn}
        rules = {
            "goal-sum": game.goal_sum, "horizon": "" if found.makes(game, None) else game.horizon,
            "at-least": "true" if at_least else "",
        }  # fmt: skip
    options["rules"] = "; ".join(f"{name} = {value}" for name, value in rules.items() if value)
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
        cells = ", ".join(map(str, game.unmergeable))
        text += f" with movable tiles that never merge, first on the cells {cells}"
    if game.masks:
        masks = game.masks_text.replace("|", " or ")
        which = "one of the masks" if len(game.masks) > 1 else "the mask"
        text += f", which cover {which} {masks} after each slide"
    return text


def within_words(game: Game) -> str:
    """Return the limits and the horizon, in words with a blank in front; empty without them."""
    text = "" if game.limits is None else f" within the limits {game.limits_text}"
    return text if game.horizon is None else f"{text} in the game that ends at the sum {game.horizon}"


def winning_words(game: Game) -> str:
    """Return what wins, in words: ``the tile 64 or the pattern two``."""
    pattern = game.pattern
    if pattern == "pair" and game.goal:  # a bound with it is one for the tile
        pattern += f" (two tiles {game.goal // 2}, which a slide merges)"
    ways = {"the tile": game.goal, "the pattern": pattern, "the sum": game.goal_sum}
    return " or ".join(f"{name} {value}" for name, value in ways.items() if value is not None)


def start_words(game: Game) -> str:
    """Return what play begins on, if who spawns chooses: ``the empty board``."""
    known = {"empty": "the empty board", "two-tiles": "every start of two tiles"}
    return known.get(game.start) or _start_board(game, "every one")


RANDOM_STARTS = {"empty": "the empty board, a spawn first", "two-tiles": "two random tiles"}
"""What play begins on, by the name of the start."""


def rules_of(game: Game) -> str:
    """Return how play begins and what is spawned, in words with a blank in front."""
    start = RANDOM_STARTS.get(game.start) or _start_board(game, "a random one")
    return f" from {start}, spawns of {game.spawn.words}"


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


FORCED = {
    "adversarial": ("force", "against every spawn of {}"),
    "cooperative": ("make", "if spawns of {} help"),
    "deterministic": ("force", "if {} are always spawned on the first empty cell"),
}
"""By who spawns, what the player does, and how; `{}` are the tiles that are spawned."""


def forced_sentence(
    forced: bool | None, board: str, start: str, wins: str, spawns: str, variant: str = "adversarial"
) -> str:
    """Return whether the player can force a win, in words; None is undecided.

    >>> forced_sentence(False, "2048 on 2x2", "the empty board", "the tile 16", "2s and 4s")
    '2048 on 2x2, from the empty board: the player cannot force the tile 16 against every spawn of 2s and 4s.'
    """
    can = {
        True: "the player can", False: "the player cannot",
        None: "it is undecided whether the player can",
    }[forced]  # fmt: skip
    verb, how = FORCED[variant]
    return f"{board}, from {start}: {can} {verb} {wins} {how.format(spawns)}."


def forced_words(game: Game, forced: bool | None, variant: str = "adversarial") -> str:
    """Return `forced_sentence` of a game."""
    start = start_words(game)
    if variant == "cooperative":
        start = start.replace("every", "some")
    wins = f"{winning_words(game)}{within_words(game)}"
    return forced_sentence(forced, f"2048 on {board_words(game)}", start, wins, spawn_words(game), variant)


def filling_words(game: Game, limits: str = "") -> str:
    """Return what is asked of a pattern: of all its fillings, or of those within some limits."""
    within = f" with the tiles that {limits} allows" if limits else ""
    return (
        f"whether {game.goal} can be forced against every spawn of {spawn_words(game)} from every board that "
        f"holds the pattern{within}"
    )
