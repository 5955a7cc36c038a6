"""What a word of this program means, from the one place that defines it.

objective      `objectives.objective.MEANINGS`
type           `objectives.types.TYPES`
rule           the docstring of `Game`, which describes each of its arguments
formation      `game/formations.tsv`
variable       of the environment: `runtime.paths.VARIABLES`
term           `game/words.tsv`
column         of data sets: `files.schema.COLUMNS`
benchmark      `datasets/benchmarks.tsv`, and its reference agents, `datasets/agents.tsv`
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from tilebase.errors import UsageError, check_first
from tilebase.files.schema import ADDED, columns_of
from tilebase.game.formations import Formation, formations
from tilebase.game.game import Game
from tilebase.objectives.objective import DISCOUNTED, MEANINGS, Meaning
from tilebase.objectives.types import TYPES, ValueType
from tilebase.objectives.values import NEVER
from tilebase.runtime.paths import VARIABLES
from tilebase.runtime.rows import read_rows

FEW = 3
"""Most rules and terms that explain a word by speaking of it."""
LISTED = ("objective", "type", "rule", "variable", "column", "benchmark")
"""The kinds whose name finds all their words."""
MASKS_BESIDE = 6
"""Masks drawn beside each other."""


@dataclass(frozen=True)
class Explanation:
    """What a word means.

    Attributes
    ----------
    word:
        The word.
    kind:
        ``"objective"``, ``"type"``, ``"rule"``, ``"formation"``, ``"variable"``, ``"term"``, ``"column"`` or
        ``"benchmark"``.
    text:
        Its meaning: one or more sentences, of a formation with a drawing.
    """

    word: str
    kind: str
    text: str


def explain(word: str) -> tuple[Explanation, ...]:
    """Return the meanings of a word: more than one if, for example, a rule and a term have the same name.

    A plural finds the singular.  If a name of several words, such as ``raw states``, has no meaning, it finds
    those of all its words.  A word without a meaning, such as ``lemma1``, finds rules and terms that use it.
    A kind, such as ``rules``, also finds all words of this kind, unless there are many (formations, terms).

    Raises `UsageError`, which names the nearest words, if nothing has this name.

    >>> explain("guaranteed")[0].kind, explain("afterstate")[0].text
    ('objective', 'a board after a slide and before the spawn')
    """
    check_first(word, str, "a word")
    known = words()
    wanted = _joined(word).lstrip("-")
    if (kind := wanted.removesuffix("s")) in LISTED:
        return (*_named(wanted), *(one for one in known if one.kind == kind))
    if not _named(wanted):
        wanted = _joined(word.partition(",")[0]).lstrip("-")  # of a label: afterstates, up to symmetry
    # A name such as q_left is one word; raw_states, which has no meaning of its own, is two.
    found = _named(wanted) or _all_named(map(_joined, word.split())) or _all_named(wanted.split("-"))
    found = found or _speaking_of(wanted) or _speaking_of(wanted.replace("-", ""))
    if not found:
        near = difflib.get_close_matches(wanted, [one.word.lower() for one in known], n=3, cutoff=0.6)
        hint = f"did you mean {', '.join(dict.fromkeys(near))}? " if near else ""
        raise UsageError(f"unknown word {word!r}: {hint}tilebase explain lists them all")
    return found


def _named(word: str) -> tuple[Explanation, ...]:
    """Return the meanings of a word in small letters, or of its singular or plural; nothing if it has none.

    An objective has a second name, the words in which its value is printed.
    """
    forms = (word, word.removesuffix("s"), word.removesuffix("es"), re.sub("ies$", "y", word), f"{word}s")
    found = (
        tuple(one for one in words() if form in (_joined(one.word), _joined(one.text.partition(".")[0])))
        for form in forms
    )
    return next(filter(None, found), ())


def _all_named(parts: Iterable[str]) -> tuple[Explanation, ...]:
    """Return the meanings of several words; nothing if one of them has none."""
    found = [_named(part) for part in parts]
    return tuple(dict.fromkeys(one for part in found for one in part)) if all(found) else ()


def _joined(text: str) -> str:
    return "-".join(re.split(r"[\s_,()]+", text.strip(" _()").lower()))


def _speaking_of(word: str) -> tuple[Explanation, ...]:
    """Return the rules and terms whose meaning has a word; nothing if many do, as for a common word."""
    there = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])", re.IGNORECASE)
    found = tuple(one for one in words() if one.kind in ("rule", "term") and there.search(one.text))
    return found if len(found) <= FEW else ()


@cache
def words() -> tuple[Explanation, ...]:
    """Return all words with their meanings, kind by kind."""
    return (
        *(Explanation(name, "objective", _objective(name, meaning)) for name, meaning in MEANINGS.items()),
        *(Explanation(name, "type", _type(one)) for name, one in TYPES.items()),
        *(Explanation(name.replace("_", "-"), "rule", text) for name, text in rules()),
        *(Explanation(one.name, "formation", described(one)) for one in formations()),
        *(Explanation(name, "variable", text) for name, text in VARIABLES.items()),
        *(Explanation(row["word"], "term", row["meaning"]) for row in read_rows("game", "words.tsv")),
        *(
            Explanation(one.name, "column", f"{one.meaning}; {one.type}")
            for one in columns_of(Game("2x2"), states=True, added=ADDED)
        ),
        *(
            Explanation(row["name"], "benchmark", _benchmark(row))
            for row in read_rows("datasets", "benchmarks.tsv")
        ),
    )


def rules() -> Iterator[tuple[str, str]]:
    """Yield the name and the meaning of each rule that a game can have."""
    described = inspect.getdoc(Game) or ""
    listed = described.partition("Parameters\n----------\n")[2].partition("\n\nRaises\n")[0]
    for part in re.split(r"\n(?=\w+:$)", listed, flags=re.MULTILINE):
        name, _, text = part.partition(":\n")
        unmarked = re.sub(r" \(`\w+`\)|`", "", text.replace('``"', '"').replace('"``', '"'))
        yield name, " ".join(unmarked.split())


def _objective(name: str, meaning: Meaning) -> str:
    """Return an objective in sentences: what a win is worth, what is added, and how spawns are combined."""
    cost = meaning.lost < 0
    earned = [
        f"a win is worth {meaning.win}"
        if meaning.win
        else f"a win {'costs' if cost else 'is worth'} nothing by itself",
        *(["a lost game has no number, its cost is infinite"] if meaning.lost == -NEVER else []),
        *([f"a loss costs {-meaning.lost}"] if cost and meaning.lost != -NEVER else []),
        *([f"each slide adds {meaning.slide}"] if meaning.slide > 0 else []),
        *([f"each slide costs {-meaning.slide}"] if meaning.slide < 0 else []),
        *(["each merge adds the tile that it makes"] if meaning.merge == "tile" else []),
        *(["each merge adds 1"] if meaning.merge == "one" else []),
        *(["the end is worth the largest tile"] if meaning.end else []),
    ]
    # Engines hold the negative of a cost, of which the largest is the least cost.
    least, largest = ("largest", "least") if cost else ("least", "largest")
    over = {
        "mean": "the mean, with their probabilities",
        "least": f"the {least}",
        "largest": f"the {largest}",
    }
    rounding = {"": "", "down": " Each step is rounded down.", "up": " Each step is rounded up."}
    discounted = " It takes a discount." if name in DISCOUNTED else ""
    return (
        f"{meaning.text}. {', '.join(earned).capitalize()}; over slides the {largest} value is taken, "
        f"over spawns {over[meaning.spawns]}.{rounding[meaning.rounding]}{discounted} "
        f"Types: {', '.join(meaning.types)}."
    )


def _benchmark(row: dict[str, str]) -> str:
    """Return a task: the game, its environment, and the values of its players and of the reference agents."""
    players = {name: row[name] for name in ("optimum", "random", "greedy")}
    agents = [one for one in read_rows("datasets", "agents.tsv") if one["benchmark"] == row["name"]]
    players |= {one["agent"]: one["value"] for one in agents if one["agent"] not in players}
    values = ", ".join(f"{name} {value}" for name, value in players.items())
    game, objective = row["name"].removesuffix(f"-{row['objective']}"), row["objective"]
    return f"{row['words']}; environment tilebase/{game}-v0 with the reward {objective}; {values}"


def _type(one: ValueType) -> str:
    """Return a type of values in a sentence."""
    size = f"{one.bits} bit{'s' * (one.bits > 1)} a value, not compressed"
    if one.one > 1:
        return f"an integer that stands for itself divided by 2^{one.one.bit_length() - 1}; {size}"
    if one.is_float:
        return f"a float, printed with {one.digits} digits; {size}"
    return f"an exact {'Boolean value' if one.bits == 1 else 'integer'}; {size}"


# -- formations --------------------------------------------------------------------------------------


def described(one: Formation) -> str:
    """Return a formation in words, with a drawing of its masks."""
    free = f"{one.free_cells} cells for other tiles"
    signs = {"x  a large tile, which slides and never merges": one.x_cells, "#  a wall": one.walls}
    lines = [free, "", *_drawn(one), "", *(sign for sign, cells in signs.items() if cells)]
    if not one.wins_anywhere:
        lines.append("o  where the goal wins")
    if one.x_cells and not one.masks:
        lines.append("The x may stand anywhere.")
    elif len(one.masks) > 1:
        lines.append("After each slide the x must cover one of these masks.")
    lines.append(f"Play starts, after a slide, on {' or '.join(one.starts)}")
    if one.extra is not None:
        lines.append(f"and ends at the sum goal + {one.start_sum + 2 * one.extra - 4}.")
    elif one.horizon is not None:
        lines.append(f"and ends at the sum {one.horizon}.")
    if one.walls:
        lines.append("Nothing moves the walls: this is a game on a smaller board, and no endgame of 4x4.")
    return "\n".join(lines)


def _drawn(one: Formation) -> list[str]:
    """Return the masks, or the first start, as pictures beside each other."""
    pictures = [_picture(one, mask) for mask in one.masks] or [one.picture.split("/")]
    lines = []
    for first in range(0, len(pictures), MASKS_BESIDE):
        beside = pictures[first : first + MASKS_BESIDE]
        lines += ["    ".join(" ".join(row) for row in rows) for rows in zip(*beside, strict=True)]
        lines.append("")
    return lines[:-1]


def _picture(one: Formation, mask: str) -> list[str]:
    """Return a mask with the goal cells that it leaves."""
    marked = "" if one.wins_anywhere else one.goal_cells
    goals = marked.ljust(len(mask), ".")
    drawn = "".join("o" if a == "." and b == "x" else a for a, b in zip(mask, goals, strict=True))
    return drawn.split("/")
