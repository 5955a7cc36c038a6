"""What was measured of questions whose cost no formula gives: decision diagrams, and searches on any board.

Nobody can say before how large a diagram gets, or how many positions a search keeps.  `cases.tsv` holds what
was measured.  A question on more cells or to a larger goal usually takes longer, so other sizes are taken to
lie between cases.  That may be wrong: a search ends early on some large boards.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from tilebase.objectives.numbers import byte_text
from tilebase.runtime.measured import duration
from tilebase.runtime.rows import read_rows


@dataclass(frozen=True)
class Case:
    """A question that was asked once.

    Attributes
    ----------
    size, goal:
        Rows and columns; the goal, 0 without one.
    seconds, memory:
        What it took; 0 bytes if that was not measured.
    """

    size: tuple[int, ...]
    goal: int
    seconds: float
    memory: int

    @property
    def name(self) -> str:
        """The size and the goal."""
        return "x".join(map(str, self.size)) + (f" to {self.goal}" if self.goal else "")


@dataclass(frozen=True)
class Span:
    """What a question takes by the cases around it.

    Attributes
    ----------
    least, most:
        The largest case that is not larger, and the one of least time that is not smaller; None without one.
        Both are the same if the question itself was measured.
    """

    least: Case | None
    most: Case | None

    @property
    def measured(self) -> bool:
        """Whether the question itself was measured."""
        return self.least is not None and self.least is self.most

    @property
    def seconds(self) -> float:
        """The time that is expected at most; infinite if nobody knows."""
        return math.inf if self.most is None else self.most.seconds

    @property
    def time(self) -> str:
        """The time in words."""
        if self.measured and self.least is not None:
            return f"about {duration(self.least.seconds)}"
        words = []
        if self.least is not None:
            words.append(f"more than {duration(self.least.seconds)} ({self.least.name})")
        if self.most is not None:
            words.append(f"less than {duration(self.most.seconds)} ({self.most.name})")
        return ", ".join(words) or "not known: nothing like it was measured"

    def row(self, question: str) -> dict[str, str]:
        """Return it as a row of `tilebase plan`."""
        known = None if self.most is None or not self.most.memory else byte_text(self.most.memory)
        return {"question": question, "time": self.time, "memory": known or "not measured"}


@cache
def cases() -> dict[str, list[Case]]:
    """Return the cases of each question."""
    found: dict[str, list[Case]] = {}
    for row in read_rows("costs", "cases.tsv"):
        size, seconds = tuple(map(int, row["size"].split("x"))), float(row["seconds"].removeprefix("~"))
        case = Case(size, int(row["goal"]), seconds, int(row["memory"]) << 20)
        found.setdefault(row["question"], []).append(case)
    return found


def span_of(question: str, size: Sequence[int], goal: int = 0) -> Span:
    """Return what a question of a size takes, between those that were measured.

    >>> span_of("fill", (5, 7)).time
    'more than a second (5x5), less than 19 seconds (5x9)'
    """
    known, here = cases().get(question, []), (*sorted(size), goal)
    exact = next((case for case in known if (*sorted(case.size), case.goal) == here), None)
    if exact is not None:
        return Span(exact, exact)
    below = [case for case in known if _fits((*sorted(case.size), case.goal), here)]
    above = [case for case in known if _fits(here, (*sorted(case.size), case.goal))]
    least = max(below, key=lambda case: case.seconds, default=None)
    most = min(above, key=lambda case: case.seconds, default=None)
    if least is not None and most is not None and least.seconds > most.seconds:
        least = None  # a smaller one took longer
    return Span(least, most)


def _fits(one: Sequence[int], other: Sequence[int]) -> bool:
    """Return whether no side and no goal of one is larger than that of the other."""
    return len(one) == len(other) and all(a <= b for a, b in zip(one, other, strict=True))
