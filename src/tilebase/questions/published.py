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

SOURCES = {
    "lees-miller": "Lees-Miller",
    "slizkov": "Slizkov",
    "edixhoven": "Edixhoven",
    "endgames": "2048EndgameTablebase",
}
LESS_IS_BETTER = "drops_to_an_end_position"
"""The question of the facts whose answer is the least number that somebody found."""
RECORDS, RECOMPUTED = "records.tsv", "recomputed.tsv"
"""The files of recorded results, beside the files of facts: of long runs, and of `reproduce`."""
NEW, OPEN, NEEDED = "new.tsv", "open.tsv", "needed.tsv"
"""Results that no source has, questions that nobody has answered (`questions.results`), and what it would
take to compute published lines that were not."""
ERRATA, RUNS = "errata.tsv", "runs.tsv"
"""Mistakes of the sources, and runs and measurements that are no results: rows of pages (`make-results`)."""
MACHINES = ("two_cores", "16_cores", "one_H200")
"""The machines of `NEEDED` that are named where a line is cited."""
BESIDE = frozenset((RECORDS, RECOMPUTED, NEW, OPEN, NEEDED, ERRATA, RUNS))
"""The files that hold no published lines."""
NO_QUESTION = frozenset(
    ("value", "answer", "max_tile", "lower_bound", "claim", "source", "precision", "note", "status")
    + ("board", "goal", "limits", "formation", "N", "M")
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
        return cls(author, title, found, "" if where == f"({found})" else where)


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
    size, took, machine:
        The counts of work, what the run took (`took_of`) and where it ran; empty where that was not recorded.
    """

    computed: str
    command: str
    date: str
    version: str
    size: str = ""
    took: str = ""
    machine: str = ""


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
        goal = f" to {named['goal']}" if "goal" in named else ""
        return board + goal + (f" within {named['limits']}" if "limits" in named else "")

    @property
    def erratum(self) -> tuple[str, str] | None:
        """If the source is wrong, the place in docs/errata.md that says so, and what is right."""
        found = re.match(r"erratum (#[\w-]+): (.*)", self.columns.get("note", ""))
        return (f"docs/errata.md{found[1]}", found[2]) if found else None


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
    text = files("tilebase").joinpath("facts", name).read_text("utf-8")
    return [one.columns for one in _read_file(name, text)]


def _read_records(name: str) -> dict[tuple[str, str, str], Record]:
    rows = read_other(name)
    return {
        (row["file"], row["board"], row["question"]): Record(
            row["computed"], row["command"], row["date"], row["version"], row.get("size", ""), took_of(row),
            row.get("machine", ""),
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
    names: list[str] = []
    cited = re.search(r"source: (.*)", text)
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#") or not line.strip():
            continue
        words = line.split("\t")
        if not names:
            names = words
            continue
        columns = dict(zip(names, words, strict=False))
        yield Fact(name, number, columns.get("source") or (cited[1].rstrip(".") if cited else ""), columns)


# -- agreeing -------------------------------------------------------------------------------------


def agrees(published: str, computed: Any) -> bool:
    """Return whether a computed value equals the published one in the published digits.

    >>> agrees("0.08", Fraction(79, 1000)), agrees("5.63e14 (2*8^16)", 2 * 8**16), agrees("57", 58)
    (True, True, False)
    """
    word = published.split()[0]
    if not re.fullmatch(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?", word):
        return published == str(computed)
    if re.fullmatch(r"\d+", word):
        return Fraction(word) == Fraction(computed)
    mantissa, _, exponent = word.partition("e")
    digits = len(mantissa.partition(".")[2])
    unit = Fraction(10) ** (int(exponent or 0) - digits)
    # Some published numbers are rounded, others are truncated.
    return (
        abs(Fraction(word) - Fraction(computed)) <= unit
        if exponent
        else (round(Fraction(computed) / unit) == Fraction(word) / unit)
    )
