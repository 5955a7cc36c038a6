"""Published numbers: the lines of the fact files, and results of earlier runs for those that take long.

`questions.reproduce` computes the lines again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from tilebase.errors import UsageError
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
LESS_IS_BETTER = "drops_to_an_end_position"
"""The question of the facts whose answer is the least number that somebody found."""
RECORDS, RECOMPUTED = "records.tsv", "recomputed.tsv"
"""The files of recorded results, beside the files of facts: of long runs, and of `reproduce`."""
NEW, OPEN, NEEDED = "new.tsv", "open.tsv", "needed.tsv"
"""Results of which no publication was found, questions that nobody has answered (`questions.results`), and
what it would take to compute published lines that were not."""
ERRATA, RUNS, SECTIONS = "errata.tsv", "runs.tsv", "sections.tsv"
"""Mistakes of the sources, runs and measurements that are no results, and the sections of the sources: rows
of pages (`make-results`)."""
MACHINES = ("two_cores", "16_cores", "one_H200")
"""The machines of `NEEDED` that are named where a line is cited."""
BESIDE = frozenset((RECORDS, RECOMPUTED, NEW, OPEN, NEEDED, ERRATA, RUNS, SECTIONS))
"""The files that hold no published lines."""
NO_QUESTION = frozenset(
    ("value", "answer", "max_tile", "lower_bound", "claim", "relation", "source", "precision", "note")
    + ("board", "goal", "rules", "limits", "formation", "N", "M")
)
"""The columns of fact files that are no part of a question."""
MEASURES = {
    f"{name}_{what}": f"{words}: {unit}"
    for name, words in (
        ("accumulative", "accumulative"), ("sweep", "sweep lines"), ("cumulative", "all lines"),
        *((f"line_{k}_{n}", f"sweep line ({k},{n})") for k, n in ((8, 2), (8, 1), (7, 2), (10, 7), (10, 6))),
    )
    for what, unit in (
        ("seconds", "seconds"), ("largest_nodes", "peak nodes of a set"), ("nodes", "nodes of the final set"),
        ("states", "states at both turns"), ("bytes_per_state", "bytes per state of the final sets"),
    )
}  # fmt: skip
"""The measures of `symbolic_solving.tsv` in words."""


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
class Record:
    """The result of an earlier run, for a line that takes long.

    Attributes
    ----------
    computed:
        The result.
    command:
        The command that gave it.
    date, version:
        When it was recorded, and the version that recorded it.
    size, took, machine, note:
        The counts of work, what the run took (`took_of`), where it ran and what else was seen; empty where
        that was not recorded.
    """

    computed: str
    command: str
    date: str
    version: str
    size: str = ""
    took: str = ""
    machine: str = ""
    note: str = ""


@dataclass(frozen=True)
class Fact:
    """One line of a fact file."""

    file: str
    number: int  # the number of the line in the file
    source: str  # the citation in the file
    columns: dict[str, str]

    @property
    def published(self) -> str:
        """The published number, or "yes" or "no"."""
        for name in ("value", "answer", "max_tile", "lower_bound", "claim"):
            if name in self.columns:
                return self.columns[name]
        raise UsageError(f"{self.file}, line {self.number} has no column for a value")

    @property
    def relation(self) -> str:
        """How the quantity relates to the published number.

        ``at least``, ``at most`` or ``about``; empty if it is equal, in the published digits.
        """
        return self.columns.get("relation", "")

    @property
    def stated(self) -> str:
        """The published number with its relation, as ``at least 256``."""
        return f"{self.relation} {self.published}".lstrip()

    @property
    def question(self) -> str:
        """The other columns, in words, without those that say what is played."""
        found = {name: text for name, text in self.columns.items() if name not in NO_QUESTION and text}
        return " ".join(
            f"discount {text}" if name == "discount" else MEASURES.get(text, text)
            for name, text in found.items()
        )

    @property
    def board(self) -> str:
        """What is played: the board, its goal and its limits, or the formation."""
        named = self.columns
        if "formation" in named:
            return f"formation {named['formation']} to {named['goal']}"
        board = f"{named['N']}x{named['N']} to {2 ** int(named['M'])}" if "N" in named else named["board"]
        if named.get("goal"):
            board += f" to {named['goal']}"
        elif "goal" in named and named.get("quantity") != "largest tile that can be forced":
            board += " without a goal"
        if named.get("rules"):
            board += f", {named['rules']}"
        return board + (f" within {named['limits']}" if "limits" in named else "")

    @property
    def erratum(self) -> tuple[str, str] | None:
        """If the source is wrong, the place in docs/errata.md that says so, and what is right."""
        found = re.match(r"erratum (#[\w-]+): (.*)", self.columns.get("note", ""))
        return (f"docs/errata.md{found[1]}", found[2]) if found else None

    @property
    def reading(self) -> tuple[str, str] | None:
        """If the source leaves open what it counts, the page that says what is counted here, and the text."""
        found = re.match(r"reading (\S+): (.*)", self.columns.get("note", ""))
        return (found[1], found[2]) if found else None

    @property
    def place(self) -> str:
        """Where the documentation says more: of an erratum, or of a reading; empty elsewhere."""
        found = self.erratum or self.reading
        return found[0] if found else ""

    @property
    def note(self) -> str:
        """What a reader of the line should know; empty if nothing."""
        if self.erratum:
            return f"an erratum: {self.place}"
        return f"{self.reading[1]} ({self.place})" if self.reading else self.columns.get("note", "")


# -- reading --------------------------------------------------------------------------------------


def read_facts(source: str | None = None) -> list[Fact]:
    """Return all lines of the fact files, or those of one of `SOURCES`.  Raises `UsageError`."""
    if source is not None and source not in SOURCES:
        raise UsageError(f"source {source!r} does not exist: choose one of {', '.join(SOURCES)}")
    found = []
    for file in sorted(files("tilebase").joinpath("facts").iterdir(), key=lambda file: file.name):
        if file.name.endswith(".tsv") and file.name not in BESIDE:
            found += list(_read_file(file.name, file.read_text("utf-8")))
    return [fact for fact in found if source is None or SOURCES[source] in fact.source]


@cache
def read_records() -> dict[tuple[str, str, str], Record]:
    """By file of facts, board and question, the recorded results of long runs."""
    return _read_records(RECORDS)


@cache
def read_recomputed() -> dict[tuple[str, str, str], Record]:
    """Return the same of what `reproduce` computed when docs/results.md was written last."""
    return _read_records(RECOMPUTED)


@cache
def read_needed() -> dict[tuple[str, str, str], str]:
    """By file of facts, board and question, what it would take to compute a line that was not computed.

    Of each way to do it, the last words are the command; one that was stopped goes on.
    """
    found: dict[tuple[str, str, str], str] = {}
    for row in read_other(NEEDED):
        words = [f"{name.replace('_', ' ')}: {row[name]}" for name in MACHINES if row[name]]
        words += [row["otherwise"]] if row["otherwise"] else []
        words += [f"by `{row['command'].replace(' plan ', ' ', 1)}`"] if row["command"] else []
        key = row["file"], row["board"], row["question"]
        found[key] = "; or ".join([*([found[key]] if key in found else []), "; ".join(words)])
    return found


def read_other(name: str) -> list[dict[str, str]]:
    """Return the rows of another file beside the facts."""
    return read_rows("facts", name)


def _read_records(name: str) -> dict[tuple[str, str, str], Record]:
    rows = read_other(name)
    return {
        (row["file"], row["board"], row["question"]): Record(
            row["computed"], row["command"], row["date"], row["version"], row.get("size", ""), took_of(row),
            row.get("machine", ""), row.get("note", ""),
        )
        for row in rows
    }  # fmt: skip


def took_of(row: dict[str, str]) -> str:
    """Return what the run of a row took, in words.

    >>> took_of({"wall": "11 min", "cpu_seconds": "1251", "memory": "", "disk": "3.04 GB"})
    '11 min, 1251 CPU s, 3.04 GB on disk'
    """
    units = {
        "wall": "",
        "cpu_seconds": " CPU s",
        "memory": " of memory",
        "disk": " on disk",
        "conditions": "",
    }
    return ", ".join(row[name] + unit for name, unit in units.items() if row.get(name))


def _read_file(name: str, text: str) -> Iterator[Fact]:
    cited = re.search(r"source: (.*)", text)
    for number, columns in numbered_rows(text):
        yield Fact(name, number, columns.get("source") or (cited[1].rstrip(".") if cited else ""), columns)


# -- agreeing -------------------------------------------------------------------------------------


NUMBER = re.compile(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?")
"""A number as sources write it."""


def agrees(published: str, computed: Any) -> bool:
    """Return whether a computed value equals the published one, which may have a relation, in its digits.

    The zeros at the end of a whole number are digits, unless it is one that the source calls *about* so much.

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
    """Split a number with its relation (`Fact.stated`).

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
