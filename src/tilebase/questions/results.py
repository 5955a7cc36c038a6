"""Results as statements that can be cited: published, recomputed, improved, new and open.

A result says what is played and asked, what the answer is, how it relates to the quantity and of what type
it is, who published what, and which command of which version gave it.  Most stand in the fact files of this
program: published numbers with what was recorded or recomputed for them (`questions.published`), ``new.tsv``
and ``open.tsv``.  A JSON file that a command wrote is a result, too: it names its game, command, version,
machine, processor seconds and memory, and of a table the checksums of all layers.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from tilebase._version import version
from tilebase.errors import CorruptError, UsageError, check_first
from tilebase.files.source import read_file
from tilebase.game.game import Game
from tilebase.game.grid import is_shape
from tilebase.game.names import game_text, rules_of, title_of
from tilebase.objectives.values import Found, Interval, Lower, Upper
from tilebase.questions.comparing import Before, find_before
from tilebase.questions.published import (
    LESS_IS_BETTER,
    MEASURES,
    NEW,
    NUMBER,
    OPEN,
    Cited,
    Fact,
    Record,
    agrees,
    read_facts,
    read_needed,
    read_other,
    read_recomputed,
    read_records,
    took_of,
    unit_of,
)
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


RELATIONS = {"lower": "at least", "upper": "at most", "found": "at most", "interval": "from"}
"""By the type of a computed value, the words between the quantity and the value; equal without any.

A game that was found has at least as many moves as the shortest one."""


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
        What was published, with its relation (`Fact.stated`), and where; empty for new results.
    command, version, date:
        What computed it, and when; empty if nothing did.
    checked:
        What else gives the same, or where more is said.
    near:
        Of a result of which no publication was found, what was published that comes close.
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

    @property
    def relation(self) -> str:
        """The words between the quantity and the value: at least, at most, about or from; empty if equal."""
        if self.kind == "published":
            return self.published.removesuffix(self.value).rstrip()
        return RELATIONS.get(self.kind, "")

    @property
    def answer(self) -> str:
        """The value with its relation, as ``at least 256``."""
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
        return (
            f"2048 on {self.board}{_rules(self.command)}: under optimal play, the {asked} is proved to be "
            f"{proved} (in integers, rounded outward){also}."
        )

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return self.__dict__ | {"relation": self.relation, "statement": self.statement}

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
        key = re.sub(r"[^a-z0-9]+", "-", f"tilebase-{self.name}".lower()).strip("-")
        if self.kind == "published":
            return self._bibtex_of_source(key)
        year = (self.date or date.today().isoformat())[:4]
        program = latex_escaped(self.version or version())
        title = latex_escaped(f"2048 on {self.board}: {self.question}")
        done = f"Computed by \\texttt{{{latex_escaped(self.command)}}}" if self.command else "Not computed"
        return (
            f"@misc{{{key},\n"
            f"  author = {{{{tilebase contributors}}}},\n"
            f"  title = {{{{{title}}}}},\n"
            f"  year = {{{year}}},\n"
            f"  note = {{{latex_escaped(self.statement)} {done}, tilebase {program}}}\n"
            "}\n"
        )

    def _bibtex_of_source(self, key: str) -> str:
        """Return an entry for the source of a published result."""
        cited, board = Cited.of(self.source), f"2048 on {self.board}: {self.question}: {self.answer}"
        note = ". ".join(filter(None, (cited.where, f"{board}. Not computed by tilebase {version()}")))
        year = f"  year = {{{cited.year}}},\n" if cited.year else ""
        return (
            f"@misc{{{key},\n"
            f"  author = {{{{{latex_escaped(cited.author)}}}}},\n"
            f"  title = {{{{{latex_escaped(cited.title)}}}}},\n"
            f"{year}"
            f"  note = {{{latex_escaped(note)}}}\n"
            "}\n"
        )


def _rules(command: str) -> str:
    """Return the start and the spawn law of a `solve` in words, which it names or which are those of 2048.

    Empty if the command is none.
    """
    words = shlex.split(command)
    if words[:2] != ["tilebase", "solve"]:
        return ""
    given = dict(pairwise(words))
    game = Game("3x3", 64, start=given.get("--start", "two-tiles"), spawn=given.get("--spawn", "0.1"))
    if "--formation" in given and "--start" not in given:
        return f" from a random start board of the formation, a spawn first, spawns of {game.spawn.words}"
    return rules_of(game)


@cache
def results() -> tuple[Result, ...]:
    """Return all results of the fact files, group by group."""
    found = [*map(_of_fact, read_facts()), *_new(), *_open()]
    often = Counter(one.name for one in found)
    # Several sources may publish one quantity, and one may contradict itself.
    found = [
        replace(one, name=_name(one.name, one.published)) if often[one.name] > 1 else one for one in found
    ]
    order = list(GROUPS)
    return tuple(sorted(found, key=lambda one: order.index(one.group)))


def _of_fact(fact: Fact) -> Result:
    key = fact.file, fact.board, fact.question
    record = read_records().get(key) or read_recomputed().get(key)
    name = _name(fact.file.removesuffix(".tsv"), fact.board, fact.question)
    if record is None:
        return Result(
            name, "published", fact.board, _asked(fact), fact.published, "published", fact.stated,
            fact.source, needs=read_needed().get(key, ""), note=fact.note,
        )  # fmt: skip
    return Result(
        name, _group(fact, record), fact.board, _asked(fact), record.computed, _kind(fact, record),
        fact.stated, fact.source, record.command, record.version, record.date, size=record.size,
        took=record.took, machine=record.machine, note="; ".join(filter(None, (fact.note, record.note))),
    )  # fmt: skip


def _group(fact: Fact, record: Record) -> str:
    """Return whether a recorded number agrees with the published one, or improves or corrects it."""
    if fact.erratum is not None:
        return "improved"
    sign = {"at least": 1, "at most": -1}.get(fact.relation, 0)
    better = sign and sign * Fraction(record.computed) > sign * Fraction(fact.published)
    return "improved" if better and not agrees(fact.stated, record.computed) else "recomputed"


def _kind(fact: Fact, record: Record) -> str:
    """Return the type of what is computed for a line."""
    if fact.reading:
        return "exact, by our reading"
    if fact.question in MEASURES.values() and "states at both turns" not in fact.question:
        return "measured"
    if fact.question == LESS_IS_BETTER:
        return "found"
    if "lower_bound" in fact.columns:
        dtype = fact.columns.get("value_type", "")
        if dtype.startswith("uint"):
            return "lower"
        same = agrees(fact.stated, record.computed)
        return "rounded" if same else f"rounded at each slide in {dtype}, differs"
    chance = fact.columns.get("quantity") == "probability to win" or fact.file == "optimal_values.tsv"
    if (chance and not record.command.endswith("guaranteed")) or re.fullmatch(r"\d+\.\d+", record.computed):
        return "rounded"
    verdicts = ("yes", "no", "winnable", "not_winnable")
    return "verdict" if fact.published.partition(",")[0] in verdicts else "exact"


ASKED = {
    "optimal_values.tsv": "probability to win",
    "win_probability_bounds.tsv": "probability to make the tile or the pattern of Lemma 1",
    "guaranteed_max_tile.tsv": "largest tile that can be forced",
    "guaranteed_with_limits.tsv": "whether the goal can be forced within the limits",
    "symbolic_solving.tsv": "against 2s only",
    "checkerboards.tsv": "with drops of 2s only",
}
"""What the lines of a file ask, where their columns do not say it."""


CHECKERBOARDS = {
    LESS_IS_BETTER: "fewest drops after which no slide is left",
    "cooperatively_reachable": "whether helpful drops lead to a checkerboard, without an 8",
    "deterministically_reachable": "whether deterministic drops lead to a checkerboard, without an 8",
}
"""Questions about checkerboards whose name does not say what is reached."""


def _asked(fact: Fact) -> str:
    asked = CHECKERBOARDS.get(fact.question, fact.question.replace("_", " "))
    words = [ASKED.get(fact.file, ""), asked]
    return ", ".join(word for word in words if word)


def _name(*words: str) -> str:
    text = "-".join(word for word in words if word).lower()
    return re.sub(r"[^a-z0-9.]+", "-", text).strip("-")


def _new() -> Iterator[Result]:
    for row in read_other(NEW):
        yield Result(
            _name("new", row["board"], row["question"]), "new", row["board"], row["question"], row["value"],
            row["kind"], command=row["command"], version=row["version"], date=row["date"],
            checked=row.get("checked", ""), size=row.get("size", ""), took=took_of(row),
            machine=row.get("machine", ""), near=row.get("near", ""), note=row.get("note", ""),
        )  # fmt: skip


def _open() -> Iterator[Result]:
    for row in read_other(OPEN):
        name = _name("open", row["board"], row["question"])
        yield Result(
            name, "open", row["board"], row["question"], row["known"], "open", checked=row["see"],
            needs=read_needed()[OPEN, row["board"], row["question"]],
        )  # fmt: skip


def find_result(name: str) -> Result:
    """Return the result of a name, of the beginning of one, or of a JSON file that a command wrote.

    Raises `UsageError` if there is none or more than one, `CorruptError` if the file is no result.
    """
    check_first(name, str, "the name of a result or of a JSON file")
    if name.endswith(".json"):
        return read_result(Path(name))
    known = results()
    exact = [one for one in known if one.name == name]
    found = exact or [one for one in known if name and one.name.startswith(name)]
    if len(found) == 1:
        return found[0]
    if found:
        few = ", ".join(one.name for one in found[:5])
        raise UsageError(f"{len(found)} results begin with {name!r}: name one, as {few}")
    near = [one.name for one in known if all(word in one.name for word in name.lower().split("-"))]
    some = f": did you mean {', '.join(near[:5])}?" if near else "; tilebase cite lists them"
    raise UsageError(f"no result has the name {name!r}{some}")


FEWEST_DIGITS = 3
"""Digits from which on a number is taken for the rounding of a value."""


def find_results(*words: str) -> tuple[Result, ...]:
    """Return the results whose file, group, board and question have all the words, in any order.

    Limits on cells are one word: 256 does not find boards with a limit of 256.  A word without a digit may be
    cut short: *prob* finds *probability*.  A single word may be what `find_result` takes, too; if several
    results begin with it, all are returned.  A number that no board or question has finds the results with
    this value, published or computed; otherwise, with three digits or more, those whose values it rounds.

    Raises `UsageError` if there is none.
    """
    known = results()
    begun = [one for one in known if len(words) == 1 and one.name.startswith(words[0])]
    if len(words) == 1 and (
        len(begun) == 1 or words[0].endswith(".json") or words[0] in [one.name for one in begun]
    ):
        return (find_result(words[0]),)
    asked = [part for word in words for one in _parts(word) for part in one.split("-")]
    found = tuple(one for one in known if one in begun or (asked and _has_all(one, asked)))
    if not found and len(words) == 1:
        found = _with_value(words[0].replace(",", ""))
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
    """Return whether a result has all the words, those without a digit perhaps cut short."""
    file = one.name.partition(_name(one.board))[0].replace("-", " ")
    parts = {one.group, *_parts(file), *_parts(one.board), *_parts(one.question)}
    return all(
        word in parts or (word.isalpha() and any(part.startswith(word) for part in parts)) for word in asked
    )


def _parts(text: str) -> list[str]:
    """Return the words of a text; limits are one."""
    return [word.strip(".,/-") for word in re.findall(r"[a-z0-9.,/-]*[a-z0-9][a-z0-9.,/-]*", text.lower())]


def recorded_chance(game: Game) -> Result | None:
    """Return the recorded bounds of the probability to win a game, if limits and a pattern are left out.

    Play within limits wins at most as often, and a pattern is one more way to win: so what is recorded as a
    lower bound for the game is one with a pattern, too.
    """
    named = game if game.unmergeable else game.changed(limits=None, pattern=None)  # of formations, the rules
    plain = title_of(named).replace(",", "", 1)
    bounds = (one for one in results() if one.board == plain and one.kind in ("interval", "lower"))
    return next((one for one in bounds if one.question == "probability to win"), None)


def better_chance(game: Game, value: Found | None = None) -> str:
    """Return a line that names recorded bounds of the probability to win which say more than a value.

    The value is that of the start: bounds, or what play within limits wins; None before it is known.  Empty
    if nothing better is recorded.
    """
    known = recorded_chance(game)
    if known is None:
        return ""
    low, _, high = known.value.partition(" to ")
    match value:
        case None:
            better = True
        case Upper():
            better = bool(high) and Fraction(high) < value.bound
        case Lower() | Interval():
            end = value.bound if isinstance(value, Lower) else value.low
            better = Fraction(low) > end or (
                isinstance(value, Interval) and bool(high) and Fraction(high) < value.high
            )
        case _:
            limited = game.limits is not None or game.pattern is not None
            better = limited and Fraction(low) > Fraction(float(value))
    if not better:
        return ""
    told = f"from {known.value}" if high else f"at least {known.value}"
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
    board, question, value, kind = (claim[name] for name in ("board", "question", "value", "kind"))
    said, command, program = (document[name] for name in ("statement", "command", "version"))
    day, machine, layers = ran["date"], ran["machine"], document.get("checksum", "")
    again = (document.get("again") or {}).get("statement", "")
    texts = (board, question, value, kind, said, command, program, day, machine, layers, again)
    if not all(isinstance(one, str) for one in texts):
        raise TypeError("a result is written as text")
    shlex.split(command)  # what cites it reads its words
    found = Result(
        _name(path.stem), "new", board, question, value, kind, command=command, version=program, date=day,
        checked=again, took=f"{ran['cpu_seconds']:,} processor seconds", machine=machine,
        checksum=layers, said=said,
    )  # fmt: skip
    played = document.get("game")  # `reach` names it in words
    game = Game.from_identity(played) if isinstance(played, dict) else None
    before = None if game is None else find_before(results(), game, question, value)
    found = replace(found, value=value.removeprefix(f"{found.relation} "))
    return found if before is None else _with_before(found, before)


def _with_before(found: Result, before: Before) -> Result:
    """Return a result with who published it before, or as what it was recorded, and whether both agree."""
    one, verdict = before
    if not one.published:
        words = f"{verdict}: " if verdict == "differs" else ""
        return replace(found, said=f"{found.said} Recorded before: {words}{one.value} ({one.name}).")
    told = {"recomputed": ", recomputed here", "improved": ", improved here", "differs": ", which differs"}
    said = f"{found.said} Published: {one.published} ({one.source}){told.get(verdict, '')}."
    group = verdict if verdict in GROUPS else "new"
    return replace(found, group=group, published=one.published, source=one.source, said=said)
