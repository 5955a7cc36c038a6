"""Claims: the lines of the fact files, and the recorded runs that computed them.

A claim is what a source says: a quantity of a game is equal to a value, at least, at most or about it.
``facts/quantities.tsv`` has the quantities: their words, the type of what is computed, and the rules of their
games.  `questions.reproduce` computes them again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, NamedTuple

from tilebase.errors import UsageError
from tilebase.game.findings import VERDICTS
from tilebase.game.formations import formation
from tilebase.game.game import Game
from tilebase.runtime.rows import numbered_rows, read_rows

SOURCES = {
    "lees-miller": "Lees-Miller",
    "slizkov": "Slizkov",
    "edixhoven": "Edixhoven",
    "endgames": "2048EndgameTablebase",
    "yamashita": "Yamashita",
    "dabish": "Dabish",
    "galebach": "Galebach",
}
RECORDS, RECOMPUTED = "records.tsv", "recomputed.tsv"
"""Recorded results of published lines: of long runs, and of `reproduce`."""
NEW, OPEN, NEEDED = "new.tsv", "open.tsv", "needed.tsv"
"""Results of which no publication was found, questions that nobody has answered, and what it would take to
compute what was not."""
ERRATA, RUNS, SECTIONS = "errata.tsv", "runs.tsv", "sections.tsv"
"""Mistakes of the sources, runs and measurements that are no results, and the sections of the sources: rows
of pages (`docs/extensions/tables.py`)."""
QUANTITIES = "quantities.tsv"
NOT_PUBLISHED = frozenset((RECORDS, RECOMPUTED, NEW, OPEN, NEEDED, ERRATA, RUNS, SECTIONS, QUANTITIES))
"""The files that hold no published lines."""
MACHINES = ("two_cores", "16_cores")
"""The machines of `NEEDED` that are named where a line is cited."""
Key = tuple[str, str, str]
"""A file of facts, a board and a question."""
WORDS = {decided: word for decided, (word, _) in VERDICTS.items()}
"""How a verdict is written."""
WINNABLE = {"winnable": "yes", "not_winnable": "no"}
"""How the lines within limits write it."""
LARGEST = "largest"
"""The goal of lines that ask for the largest tile."""
LEAST_LEMMA_1 = 64
"""The least goal that has a pattern of Lemma 1."""


class Cited(NamedTuple):
    """A citation of a fact file in parts; empty where it does not say the year or the place."""

    author: str
    title: str
    year: str
    where: str

    @classmethod
    def of(cls, source: str) -> Cited:
        """Split a citation: author, title, and where and when it was published.

        >>> Cited.of("Lees-Miller, The Mathematics of 2048: Counting States (2017)")
        Cited(author='Lees-Miller', title='The Mathematics of 2048: Counting States', year='2017', where='')
        >>> Cited.of("Slizkov, Computational bounds for the 2048 game, arXiv:2303.07266, figure 3")[2:]
        ('2023', 'arXiv:2303.07266, figure 3')
        """
        author, _, rest = source.partition(", ")
        title = re.split(r", (?=arXiv|MSc)| \(", rest)[0]
        where = rest.removeprefix(title).strip(", ")
        preprint, year = re.search(r"arXiv:(\d\d)", where), re.search(r"\b20\d\d\b", where)
        found = f"20{preprint[1]}" if preprint else year[0] if year else ""
        return cls(author, title, found, where.removeprefix(f"({found})").strip(", "))


@dataclass(frozen=True)
class Quantity:
    """What is asked of a game: a line of ``quantities.tsv``, whose comments describe its columns."""

    quantity: str
    kind: str
    recorded: str = ""
    start: str = ""
    spawn: str = ""
    pattern: str = ""
    name: str = ""
    words: str = ""

    def of(self, columns: Mapping[str, str]) -> Quantity:
        """Return the quantity of one line, with the cells of the line in its name and words."""
        told = {one.name: getattr(self, one.name).format_map(columns) for one in fields(self)}
        told["name"] = told["name"] or told["quantity"]
        told["words"] = told["words"] or told["name"].replace("_", " ")
        return Quantity(**told)


@dataclass(frozen=True)
class Claim:
    """One published line."""

    file: str  # the file of facts
    number: int  # that of the line in the file
    board: str  # what is played, in words; `game` is what is played
    quantity: Quantity  # what is asked
    relation: str  # "at least", "at most" or "about"; empty if the quantity equals the published digits
    value: str
    source: str  # the citation
    place: str
    right: str
    """Of an erratum, the place in docs/errata.md that says so, and what is right; of a line whose source
    leaves open what it counts, the page that says what is counted here.  Empty elsewhere."""
    note: str  # what a reader of the line should know
    columns: Mapping[str, str]  # all cells of the line

    @classmethod
    def of(cls, file: str, number: int, columns: Mapping[str, str]) -> Claim:
        """Read the cells of a line."""
        place, right, note = (columns.get(name, "") for name in ("place", "right", "note"))
        if place:
            note = f"an erratum: {place}" if right else f"{note} ({place})"
        return cls(
            file, number, _board(columns), quantities()[columns["quantity"]].of(columns),
            columns.get("relation", ""), columns["value"], columns["source"], place, right, note, columns,
        )  # fmt: skip

    @property
    def question(self) -> str:
        """What is asked, in words."""
        return self.quantity.words

    @property
    def key(self) -> Key:
        """How recorded runs name the line."""
        return self.file, self.board, self.question

    @property
    def stated(self) -> str:
        """The published value with its relation, such as ``at least 256``."""
        return f"{self.relation} {self.value}".lstrip()

    @property
    def is_reading(self) -> bool:
        """Whether the source leaves open what it counts; no agreement is claimed."""
        return bool(self.place) and not self.right

    @property
    def has_game(self) -> bool:
        """Whether the line is about one game; others are about a board, whatever is played on it."""
        return self.columns.get("goal", LARGEST) != LARGEST

    @cached_property
    def game(self) -> Game:
        """What is played.  Raises `GameError` for lines about boards that are no game's."""
        named = self.columns.get("goal", "")
        goal = int(named) if named.isdecimal() else None
        if "formation" in self.columns:
            return formation(self.columns["formation"]).game(goal)
        rules = {name: getattr(self.quantity, name) for name in ("start", "spawn", "pattern")}
        if goal is None or goal < LEAST_LEMMA_1:
            del rules["pattern"]
        rules["limits"] = self.columns.get("limits")
        return Game(self.columns["board"], goal, **{name: rule for name, rule in rules.items() if rule})


def _board(columns: Mapping[str, str]) -> str:
    """Return what is played in words: the board or the formation, its goal, rules and limits."""
    goal = columns.get("goal", LARGEST)
    return (
        (f"formation {columns['formation']}" if "formation" in columns else columns["board"])
        + ("" if goal == LARGEST else f" to {goal}" if goal else " without a goal")
        + (f", {columns['rules']}" if columns.get("rules") else "")
        + (f" within {columns['limits']}" if "limits" in columns else "")
    )


# -- reading --------------------------------------------------------------------------------------


@cache
def quantities() -> dict[str, Quantity]:
    """Return the quantities of the fact files, by name."""
    return {row["quantity"]: Quantity(**row) for row in read_rows("facts", QUANTITIES)}


def read_claims(source: str | None = None) -> list[Claim]:
    """Return all published lines of the fact files, or those of one of `SOURCES`.  Raises `UsageError`."""
    if source is not None and source not in SOURCES:
        raise UsageError(f"source {source!r} does not exist: choose one of {', '.join(SOURCES)}")
    claims = [
        Claim.of(file.name, number, columns)
        for file in sorted(files("tilebase").joinpath("facts").iterdir(), key=lambda file: file.name)
        if file.name.endswith(".tsv") and file.name not in NOT_PUBLISHED
        for number, columns in numbered_rows(file.read_text("utf-8"))
    ]
    return [one for one in claims if source is None or SOURCES[source] in one.source]


def read_facts(file: str) -> list[dict[str, str]]:
    """Return the rows of one file of facts."""
    return read_rows("facts", file)


@cache
def read_records(file: str = RECORDS) -> dict[Key, dict[str, str]]:
    """Return the rows of recorded results: of long runs, or of what `reproduce` computed (`RECOMPUTED`)."""
    return {(row["file"], row["board"], row["question"]): row for row in read_facts(file)}


@cache
def read_needed() -> dict[Key, str]:
    """Return what it would take to compute lines that were not computed.

    Of each way to do it, the last words are the command; one that was stopped goes on.
    """
    found: dict[Key, str] = {}
    for row in read_facts(NEEDED):
        times = {name: row[name] for name in MACHINES}
        if len({*times.values()}) == 1:
            times = {" or ".join(MACHINES): row[MACHINES[0]]}
        words = [f"{name.replace('_', ' ')}: {time}" for name, time in times.items() if time]
        words += [row["otherwise"]] if row["otherwise"] else []
        words += [f"by `{row['command'].replace(' plan ', ' ', 1)}`"] if row["command"] else []
        key = row["file"], row["board"], row["question"]
        found[key] = "; or ".join([*([found[key]] if key in found else []), "; ".join(words)])
    return found


def took_of(row: Mapping[str, str]) -> str:
    """Return what the run of a row took, in words.

    >>> took_of({"wall": "11 min", "cpu_seconds": "1251", "memory": "", "disk": "3.04 GB"})
    '11 min, 1251 CPU s, 3.04 GB on disk'
    """
    units = {
        "wall": "", "cpu_seconds": " CPU s", "memory": " of memory", "disk": " on disk", "conditions": "",
    }  # fmt: skip
    return ", ".join(row[name] + unit for name, unit in units.items() if row.get(name))


# -- agreeing -------------------------------------------------------------------------------------


NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(\.\d+)?(e[-+]?\d{1,4})?(?!\w)")
"""A number as sources write it, and no part of a word such as a checksum; Python reads each in no time."""


def agrees(published: str, computed: Any) -> bool:
    """Return whether a computed value equals the published one, which may have a relation, in its digits.

    The zeros at the end of a whole number are digits, unless the source says *about*.

    >>> agrees("0.08", Fraction(79, 1000)), agrees("5.63e14 (2*8^16)", 2 * 8**16), agrees("57", 58)
    (True, True, False)
    >>> agrees("about 80000", 78159), agrees("80000", 78159)
    (True, False)
    """
    relation, number = split_relation(published)
    word = number.split()[0]
    if not NUMBER.fullmatch(word):
        return number == str(computed)
    if word.isdecimal() and relation != "about":
        return Fraction(word) == Fraction(computed)
    unit = unit_of(word, zeros=relation == "about")
    # Some published numbers are rounded, others are truncated.
    return (
        abs(Fraction(word) - Fraction(computed)) <= unit
        if "e" in word
        else (round(Fraction(computed) / unit) == Fraction(word) / unit)
    )


def split_relation(text: str) -> tuple[str, str]:
    """Split a number with its relation (`Claim.stated`).

    >>> split_relation("at least 256"), split_relation("57")
    (('at least', '256'), ('', '57'))
    """
    found = re.match("(about|at least|at most) ", text)
    return (found[1], text[found.end() :]) if found else ("", text)


def unit_of(number: str, *, zeros: bool = False) -> Fraction:
    """Return what the last digit of a number counts; with `zeros`, the last one that is not 0.

    >>> [str(unit_of(one)) for one in ("0.08", "5.63e14", "5470")], unit_of("5470", zeros=True)
    (['1/100', '1000000000000', '1'], Fraction(10, 1))
    """
    mantissa, _, exponent = number.partition("e")
    whole, _, digits = mantissa.partition(".")
    ended = len(whole) - len(whole.rstrip("0")) if zeros and not digits else 0
    return Fraction(10) ** (int(exponent or 0) - len(digits) + ended)
