"""Results as statements that can be cited: published, recomputed, improved, new and open.

A result says what is played and asked, what the answer is, how it relates to the quantity and of what type
it is, who published what, and which command of which version gave it.  Most stand in the fact files of this
program (`claims.facts`): published lines with what was recorded or recomputed for them, ``new.tsv`` and
``open.tsv``.  A JSON file that a command wrote is a result, too: it names its game, command, version,
machine, processor seconds and memory, and of a table the checksums of all layers.

Such a file is compared with the results of the same game and quantity.  A game is that of a line if its start
is, too: the lines about what is forced, and those within limits, begin with the empty board, the others with
two random tiles.
"""

from __future__ import annotations

import json
import math
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import date
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from tilebase._version import version
from tilebase.claims.facts import (
    NEW,
    NUMBER,
    OPEN,
    RECOMPUTED,
    WINNABLE,
    WORDS,
    Cited,
    Claim,
    Quantity,
    agrees,
    quantities,
    read_claims,
    read_facts,
    read_needed,
    read_records,
    split_relation,
    took_of,
    unit_of,
)
from tilebase.errors import CorruptError, TilebaseError, UsageError, check_first
from tilebase.files.source import read_file
from tilebase.game.game import Game
from tilebase.game.grid import is_shape
from tilebase.game.names import RANDOM_STARTS, game_text, title_of
from tilebase.game.spawns import ORIGINAL
from tilebase.objectives.values import Found, Interval, Lower, Upper
from tilebase.runtime.documents import mapping
from tilebase.runtime.rows import latex_escaped

RECORDING = ("solve", "count", "force", "lemma", "evaluate", "reach")
"""The commands whose records are results."""
GROUPS = {
    "published": "published, and not computed here",
    "recomputed": "published, and computed again",
    "improved": "published, and improved or corrected here",
    "new": "no publication found",
    "open": "not known",
}
"""The groups of results, in words."""


AUTHORS, TITLE = "tilebase contributors", "tilebase: exact answers about the game 2048"
"""Who made this program, and its title in citations."""
RELATIONS = {"lower": "at least", "upper": "at most", "found": "at most", "interval": "from"}
"""By the type of a computed value, the words between the quantity and the value; equal without any.

A game that was found has at least as many moves as the shortest one."""
NO_QUANTITY = Quantity("", "")
"""Of a question that no line of the fact files asks again."""
CHANCE, LOWER = "probability to win", "proved lower bound of the probability to win"
UPPER = LOWER.replace("lower", "upper")
"""Questions of records; bounds are compared with the probability, too."""
LARGEST = "largest tile that can be forced"
"""The question of a record that names no goal."""
COUNTS = {"live_states": " live", "states": " states"}
"""How the count of a quantity ends in the answer of a record."""
FLOATS = "win_within_limits"
"""The quantity whose published values were rounded at each slide."""


@dataclass(frozen=True)
class Result:
    """One result.

    Attributes
    ----------
    name:
        How `cite` finds it: words of the file, the board and the question.
    group:
        One of `GROUPS`.
    board, question:
        What is played, and what is asked.
    value, kind:
        The answer as text, and its type: exact, rounded (with the type of float, where the published number
        differs), measured, found, lower, upper, interval,
        verdict, or published where nothing was computed here; of an open question, what is known.
    published, source:
        What was published, with its relation (`Claim.stated`), and where; empty for new results.
    command, version, date:
        What computed it, and when; empty if nothing did.
    checked:
        What else gives the same, or where more is said.
    near:
        The nearest published results, if no publication of this one was found.
    note:
        What a reader should know of the line or of the run.
    size, took, machine:
        Counts of work, time and memory of the run, and where it ran, as far as they were recorded.
    needs:
        What it would take to compute it, if that is known and it was not computed.
    checksum:
        The SHA-256 of the layers that a file records; empty without any.
    said:
        The sentences of the command that wrote a file, with the rules of the game.
    quantity:
        The quantity of a line of the fact files, if records of commands are compared with it.
    """

    name: str
    group: str
    board: str
    question: str
    value: str
    kind: str
    published: str = ""
    source: str = ""
    command: str = ""
    version: str = ""
    date: str = ""
    checked: str = ""
    size: str = ""
    took: str = ""
    machine: str = ""
    needs: str = ""
    checksum: str = ""
    said: str = ""
    near: str = ""
    note: str = ""
    quantity: Quantity = field(default=NO_QUANTITY, repr=False)

    @property
    def relation(self) -> str:
        """The words between the quantity and the value: at least, at most, about or from; empty if equal."""
        return split_relation(self.published)[0] if self.kind == "published" else RELATIONS.get(self.kind, "")

    @property
    def answer(self) -> str:
        """The value with its relation, such as ``at least 256``."""
        return f"{self.relation} {self.value}".lstrip()

    @property
    def statement(self) -> str:
        """The result in a sentence."""
        if self.said:
            return self.said
        asked = self.question or "value"
        if self.group == "open":
            return f"2048 on {self.board}: {asked} is not known; {self.value}."
        words = f"2048 on {self.board}: {asked}: {self.answer}"
        if self.kind == "published":
            return f"{words} ({self.source})."
        also = f"; published: {self.published} ({self.source})" if self.published else ""
        if self.kind not in ("lower", "upper", "interval"):
            return f"{words} ({self.kind}){also}."
        proved = self.answer.replace("from ", "at least ").replace(" to ", " and at most ")
        start = RANDOM_STARTS[self.quantity.start or "two-tiles"]
        if self.board.startswith("formation"):
            start = "a random start board of the formation, a spawn first"
        return (
            f"2048 on {self.board} from {start}, spawns of {ORIGINAL.words}: under optimal play, the {asked} "
            f"is proved to be {proved} (in integers, rounded outward){also}."
        )

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        values = {name: value for name, value in vars(self).items() if name != "quantity"}
        return values | {"relation": self.relation, "statement": self.statement}

    def text(self) -> str:
        """Return the result as a reader cites it: the statement, the command and the version."""
        cost = ", ".join(word for word in (self.machine, self.took) if word)
        took = f" ({cost})" if self.took else ""
        run = f" Computed by `{self.command}`, tilebase {self.version}, {self.date}{took}."
        check = f" Checked: {self.checked}." if self.checked and self.group != "open" else ""
        near = f" Closest publication: {self.near}." if self.near else ""
        note = f" Note: {self.note}." if self.note else ""
        needs = f" It would take: {self.needs}." if self.needs else ""
        layers = f" SHA-256 of the layers: {self.checksum}." if self.checksum else ""
        return f"{self.statement}{run if self.command else ''}{check}{near}{note}{layers}{needs}"

    def bibtex(self) -> str:
        """Return an entry of BibTeX for the result; of a published one that was not computed, its source."""
        about, name = f"2048 on {self.board}: {self.question}", _name("tilebase", self.name).replace(".", "-")
        if self.kind == "published":
            author, title, year, where = Cited.of(self.source)
            about += f": {self.answer}. Not computed by tilebase {version()}"
            return entry(name, title, latex_escaped(". ".join(filter(None, (where, about)))), author, year)
        run = f"Computed by \\texttt{{{latex_escaped(self.command)}}}" if self.command else "Not computed"
        note = f"{latex_escaped(self.statement)} {run}, tilebase {latex_escaped(self.version or version())}"
        return entry(name, about, note, year=self.date[:4] or None)


def entry(name: str, title: str, note: str, author: str = AUTHORS, year: str | None = None) -> str:
    """Return an entry of BibTeX; `note` is LaTeX.  A year of None is this one, an empty one is omitted."""
    year = str(date.today().year) if year is None else year
    return (
        f"@misc{{{name},\n  author = {{{{{latex_escaped(author)}}}}},\n"
        f"  title = {{{{{latex_escaped(title)}}}}},\n"
        + (f"  year = {{{year}}},\n" if year else "")
        + f"  note = {{{note}}}\n}}\n"
    )


def cited_program() -> str:
    """Return an entry of BibTeX for this program, as CITATION.cff of the clone cites it."""
    return entry("tilebase", TITLE, f"tilebase {latex_escaped(version())}")


# -- the fact files -------------------------------------------------------------------------------


@cache
def results() -> tuple[Result, ...]:
    """Return all results of the fact files, group by group."""
    found = [*map(_of_claim, read_claims()), *_new(), *_open()]
    often = Counter(one.name for one in found)
    # Several sources may publish one quantity, and one may contradict itself.
    found = [
        replace(one, name=_name(one.name, one.published)) if often[one.name] > 1 else one for one in found
    ]
    order = list(GROUPS)
    return tuple(sorted(found, key=lambda one: order.index(one.group)))


def _of_claim(claim: Claim) -> Result:
    asked = claim.quantity
    name = _name(claim.file.removesuffix(".tsv"), claim.board, asked.name)
    said: dict[str, Any] = {
        "board": claim.board, "question": asked.words, "published": claim.stated, "source": claim.source,
        "quantity": asked,
    }  # fmt: skip
    row = read_records().get(claim.key) or read_records(RECOMPUTED).get(claim.key)
    if row is None:
        needs = read_needed().get(claim.key, "")
        return Result(
            name, "published", value=claim.value, kind="published", needs=needs, note=claim.note, **said
        )
    computed, kind = row["computed"], row.get("kind") or asked.kind
    same = agrees(claim.stated, computed)
    if claim.is_reading:
        kind = "exact, by our reading"
    elif asked.quantity == FLOATS and not same:
        kind = f"rounded at each slide in {claim.columns['value_type']}, differs"
    sign = {"at least": 1, "at most": -1}.get(claim.relation, 0)
    better = sign * Fraction(computed) > sign * Fraction(claim.value) if sign else bool(claim.right)
    group = "improved" if better and not same else "recomputed"
    note = "; ".join(filter(None, (claim.note, row.get("note"))))
    return _of_row(name, group, row, value=computed, kind=kind, note=note, **said)


def _new() -> Iterator[Result]:
    for row in read_facts(NEW):
        name, asked = _name("new", row["board"], row["question"]), quantities().get(row["quantity"])
        yield _of_row(name, "new", row, quantity=asked or NO_QUANTITY)


def _open() -> Iterator[Result]:
    for row in read_facts(OPEN):
        needs = read_needed()[OPEN, row["board"], row["question"]]
        yield _of_row(_name("open", row["board"], row["question"]), "open", row, kind="open", needs=needs)


def _of_row(name: str, group: str, row: Mapping[str, str], **more: Any) -> Result:
    """Return a result with the columns of a row that it has, too."""
    columns: dict[str, Any] = {one.name: row[one.name] for one in fields(Result) if one.name in row}
    return Result(name, group, **(columns | {"took": took_of(row)} | more))


def _name(*words: str) -> str:
    text = "-".join(word for word in words if word).lower()
    return re.sub(r"[^a-z0-9.]+", "-", text).strip("-")


# -- finding --------------------------------------------------------------------------------------


def find_result(name: str) -> Result:
    """Return the one result that `find_results` finds by its name, the beginning of it, or a JSON file.

    Raises `UsageError` if there is none or more than one, and of a file what `find_results` raises.
    """
    check_first(name, str, "the name of a result or of a JSON file")
    found = find_results(name)
    if len(found) > 1:
        few = ", ".join(one.name for one in found[:5])
        raise UsageError(f"{len(found)} results are found by {name!r}: name one, such as {few}")
    return found[0]


FEWEST_DIGITS = 3
"""Digits from which on a number is taken for the rounding of a value."""


def find_results(*words: str) -> tuple[Result, ...]:
    """Return the results whose file, group, board, question and authors have all the words, in any order.

    Limits on cells are one word: 256 does not find boards with a limit of 256.  Limits, and words without a
    digit, may be cut short: *prob* finds *probability*.  A single word may be the name of a result or how
    names begin, or a JSON file that a command wrote.  A number that no board or question has finds the
    results with this value, published or computed; otherwise, with three digits or more, those whose values
    it rounds.

    Raises `UsageError` if there is none; of a file, `MissingLayerError` if it does not exist, `StorageError`
    if it cannot be read, `CorruptError` if it is no result.
    """
    for one in words:
        check_first(one, str, "a word of a result")
    known, word = results(), words[0] if len(words) == 1 else ""
    if word.endswith(".json"):
        return (read_result(Path(word)),)
    begun = tuple(one for one in known if word and one.name.startswith(word))
    named = tuple(one for one in begun if one.name == word)
    if named or len(begun) == 1:
        return named or begun
    asked = [part for word in words for one in _parts(word) for part in one.split("-")]
    found = tuple(one for one in known if one in begun or (asked and _has_all(one, asked)))
    found = found or (_with_value(word.replace(",", "")) if word else ())
    if not found:
        raise UsageError(
            f"no result has all of the words {' '.join(words)!r}: tilebase cite lists them; {_instead(asked)}"
        )
    return found


def _with_value(word: str) -> tuple[Result, ...]:
    """Return the results with a value; without any, those whose values are rounded or truncated to it."""
    known = [one for one in results() if one.group != "open"]
    if not NUMBER.fullmatch(word):
        return tuple(one for one in known if word in (one.value, one.published))
    number, unit = Fraction(word), unit_of(word)
    values = [(one, _numbers(f"{one.answer} {one.published}")) for one in known]
    found = tuple(one for one, numbers in values if number in numbers)
    if found or len(word.partition("e")[0].lstrip("-0.").replace(".", "")) < FEWEST_DIGITS:
        return found
    steps = number / unit
    return tuple(
        one for one, numbers in values
        if any(steps in (round(value / unit), value // unit) for value in numbers)
    )  # fmt: skip


def _numbers(text: str) -> set[Fraction]:
    return {Fraction(found[0]) for found in NUMBER.finditer(text.replace(",", ""))}


def _instead(asked: Sequence[str]) -> str:
    """Return what may be done where nothing is recorded, in words: of a game that is named, what is wrong."""
    named = [word for word in asked if is_shape(word)] + [word for word in asked if word.isdecimal()]
    try:
        game = Game(named[0], int(named[1])) if len(named) == 2 else Game("3x3", 512)
    except UsageError as error:
        return str(error)
    return f"what nobody has recorded may be computed, as by tilebase solve {game_text(game)}"


def _has_all(one: Result, asked: list[str]) -> bool:
    """Return whether a result has all the words, limits and those without a digit perhaps cut short."""
    file = one.name.partition(_name(one.board))[0].replace("-", " ")
    authors = re.findall("[a-z]+", Cited.of(one.source).author.lower())
    parts = {one.group, *authors, *_parts(file), *_parts(one.board), *_parts(one.question)}
    return all(
        word in parts or ((word.isalpha() or "," in word) and any(part.startswith(word) for part in parts))
        for word in asked
    )


def _parts(text: str) -> list[str]:
    return [word.strip(".,/-") for word in re.findall(r"[a-z0-9.,/-]*[a-z0-9][a-z0-9.,/-]*", text.lower())]


def board_of(game: Game) -> str:
    """Return a game as the fact files name what is played: a title without a comma before the goal."""
    return title_of(game).replace(",", "", 1)


def recorded_chance(game: Game) -> Result | None:
    """Return the recorded bounds of the probability to win a game, if limits and a pattern are left out.

    Play within limits wins at most as often, and a pattern is one more way to win: so what is recorded as a
    lower bound for the game is one with a pattern, too.
    """
    named = game if game.unmergeable else game.changed(limits=None, pattern=None)  # of formations, the rules
    bounds = (one for one in results() if one.kind in ("interval", "lower") and one.board == board_of(named))
    return next((one for one in bounds if one.quantity.recorded == CHANCE), None)


def better_chance(game: Game, value: Found | None = None) -> str:
    """Return a line that names recorded bounds of the probability to win which say more than a value.

    The value is that of the start: bounds, or what play within limits wins; None before it is known.  Empty
    if nothing better is recorded.
    """
    bounded = value is None or isinstance(value, Upper | Lower | Interval)
    limited = game.limits is not None or game.pattern is not None
    known = recorded_chance(game) if bounded or limited else None  # else the value is the chance itself
    if known is None:
        return ""
    first, _, last = known.value.partition(" to ")
    low, high = Fraction(first), Fraction(last or 1)  # what is recorded
    match value:
        case None:
            better = True
        case Upper():
            better = high < value.bound
        case Lower():
            better = low > value.bound
        case Interval():
            better = low > value.low or high < value.high
        case _:
            better = low > Fraction(float(value))
    if not better:
        return ""
    told = f"from {known.value}" if last else f"at least {known.value}"
    return f"recorded for {known.board}, probability to win: {told}; tilebase cite {known.name}\n"


def read_result(path: Path) -> Result:
    """Return the result in a JSON file that a command wrote: what it says, and how it was computed.

    A file of several results is one with all their sentences.  Raises `CorruptError` if it has none.
    """
    try:
        document: Any = json.loads(read_file(path))
        found = [_read(path, one) for one in (document if isinstance(document, list) else [document])]
        if len(found) == 1:
            return found[0]
        return replace(
            found[0], board=", ".join(dict.fromkeys(one.board for one in found)),
            question=", ".join(dict.fromkeys(one.question for one in found)),
            value=", ".join(one.value for one in found), said=" ".join(one.said for one in found),
            kind=" and ".join(dict.fromkeys(one.kind for one in found)), group="new", published="", source="",
        )  # fmt: skip
    except (KeyError, IndexError, TypeError, ValueError, RecursionError) as error:
        raise CorruptError(
            f"{path} is not a result that can be cited: write one with tilebase {', '.join(RECORDING)} "
            "and --record FILE.json"
        ) from error


def _read(path: Path, document: Any) -> Result:
    """Return the result of one object.  Raises KeyError, TypeError or ValueError."""
    claim, ran = document["claim"], document["run"]
    told = {name: claim[name] for name in ("board", "question", "value", "kind")}
    told |= {"said": document["statement"], "checksum": document.get("checksum", "")}
    told |= {name: document[name] for name in ("command", "version")}
    told |= {name: ran[name] for name in ("date", "machine")}
    told["checked"] = (document.get("again") or {}).get("statement", "")
    answers = mapping(claim["answers"], "the answers")
    if not all(isinstance(one, str) for one in (*told.values(), *answers.values())):
        raise TypeError("a result is written as text")
    shlex.split(told["command"])  # what cites it reads its words
    told["value"] = told["value"].removeprefix(f"{RELATIONS.get(told['kind'], '')} ")
    took = f"{ran['cpu_seconds']:,} processor seconds"
    found = Result(_name(path.stem), "new", **told, took=took)
    played = document.get("game")  # `reach` names it in words
    before = find_before(Game.from_identity(played), answers) if isinstance(played, dict) else []
    return _with_before(found, before, several=len(answers) > 1)


def _with_before(found: Result, before: Sequence[tuple[str, Result, str]], *, several: bool) -> Result:
    """Return a result with who published its answers before, or as what they were recorded, and what agrees.

    Questions are named if there are several.
    """
    told = {"recomputed": ", recomputed here", "improved": ", improved here", "differs": ", which differs"}
    said = found.said
    for question, one, verdict in before:
        words = told.get(verdict, "")
        small = re.search(rf"{re.escape(question)}: \S+ \(rounded in (\w+)\)", found.said)
        if verdict == "differs" and small:
            words += f": {small[1]} rounds at each slide"
        where = "Published" if one.published else "Recorded before"
        known = f"{one.published or one.answer} ({one.source or one.name})"
        said += f" {where}: {question + ': ' if several else ''}{known}{words}."
    published = [(one, verdict) for _, one, verdict in before if one.published]
    if not published:
        return replace(found, said=said)
    group = next((verdict for _, verdict in published if verdict in GROUPS), "new")
    (one, _), *_ = published
    return replace(found, group=group, published=one.published, source=one.source, said=said)


# -- comparing ------------------------------------------------------------------------------------


def find_before(game: Game, answers: Mapping[str, str]) -> list[tuple[str, Result, str]]:
    """Return the questions of a record that are answered before, the known results, and how both agree.

    That is recomputed, improved or differs; empty if neither says more.
    """
    limits = game.limits or ()
    if LARGEST in answers:  # it has no goal, and limits even if only the size of a key bounds its tiles
        board = game.shape_text if game.spawn == ORIGINAL else ""
        limits = game.low_limits
    else:
        try:
            board = board_of(game.changed(limits=None, pattern=None, start="two-tiles"))
        except TilebaseError:  # a formation begins with boards of its own
            return []
    board += f" within {','.join(map(str, limits))}" if limits else ""
    # Proved bounds are compared with the probability itself, too.
    low, high = answers.get(LOWER, ""), answers.get(UPPER, "")
    bounds = f"{low.replace('at least', 'from')}{high.replace('at most', ' to')}" if high else low
    asked = {CHANCE: bounds, **answers} if low else answers
    return [
        (named.recorded, one, _agreement(one, asked[named.recorded]))
        for one in results()
        if (named := one.quantity).recorded in asked
        and one.board.replace("/", ",") == board.replace("/", ",")  # planes are written apart in two ways
        and (named.start or "two-tiles", named.pattern or None) == (game.start, game.pattern)
    ]


def _agreement(one: Result, answer: str) -> str:
    """Return how an answer agrees with a known result."""
    known = (one.published or one.answer).split(" (")[0].split(",")[0]
    if one.quantity.kind == "verdict":
        same = WINNABLE.get(known, known) == answer
        return "" if answer == WORDS[None] else "recomputed" if same else "differs"
    if one.quantity.quantity in COUNTS:  # several in one answer
        ending = COUNTS[one.quantity.quantity]
        answer = next((part for part in answer.split(", ") if part.endswith(ending)), "")
    before, now = _allowed(known), _allowed(answer)
    if before is None or now is None:
        return ""
    same = agrees(known, now[0]) and (before[1] < math.inf or now[1] == math.inf)
    if same or before == now:
        return "recomputed"
    if now[0] > before[1] or now[1] < before[0]:
        return "differs"
    return "improved" if before[0] <= now[0] and now[1] <= before[1] else ""


ALLOWED = re.compile(r"(at least |from |about |≈ )?(\d[\d,]*(?:[./]\d+)?)(?: to (\d+(?:\.\d+)?)| [a-z]+)?")
"""A value or its bounds, perhaps with a word for what is counted."""


def _allowed(text: str) -> tuple[Fraction, Fraction | float] | None:
    """Return the least and the largest value that an answer allows; None if it has no such digits."""
    found = ALLOWED.fullmatch(text)
    if found is None:
        return None
    least = Fraction(found[2].replace(",", ""))
    return least, math.inf if found[1] == "at least " else Fraction(found[3] or least)
