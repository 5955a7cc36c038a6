"""Time, memory and disk of a query in words; queries that take too long are refused before they begin."""

from __future__ import annotations

import logging
import math
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from tilebase.costs.rates import busy
from tilebase.errors import RefusedError, ResourceError, UsageError
from tilebase.files import places
from tilebase.game.formations import formation_of
from tilebase.game.game import Game
from tilebase.game.names import title_of
from tilebase.objectives.numbers import byte_text, enough_text
from tilebase.runtime.measured import DAY, duration, rounded
from tilebase.runtime.progress import EXPECTED
from tilebase.runtime.resources import Allowance
from tilebase.runtime.storage import folder_bytes

LOG = logging.getLogger("tilebase")

WEEK = 7 * DAY
"""Seconds: a query that is expected to take longer on this machine is refused."""
WORTH_BYTES = 1e8
"""Bytes: a query that needs less disk is never refused for it."""
TIMED = 1.5
"""A run may take so many times as long as expected, or as little, since machines are not always as fast."""
NO_FIT = "does not fit"
"""What is said of a run for which there is too little memory or disk."""
WORTH_TELLING = 30.0
"""Seconds: the estimates of shorter runs are not logged."""


@dataclass(frozen=True)
class Estimate:
    """What a run is expected to take."""

    task: str  # "counting", "solving" and so on
    game: Game
    bound: int  # an exact upper bound on the number of boards, up to symmetry if the engine works so
    positions: float  # the expected number of positions
    unit: str  # what these are
    seconds: float  # the expected time on this machine with n `threads`
    threads: int
    memory: int  # bytes without which the run is not possible; 0 if they are not known
    disk: float  # bytes expected on disk at the same time
    spread: float = 1.0  # positions, seconds and disk may be wrong by this factor; 1 if they are known
    moved: float = 0.0  # bytes that a pass over all boards reads and writes
    upper: bool = False
    """Whether positions, seconds and memory are those at most, as where nobody knows what an agent meets, or
    which of the boards follow a single one."""
    peak: int = 0
    """Bytes that the run takes where it may, and in the expected time, if these are more than `memory`; else
    0."""
    apart: int = 0
    """The first two of every `apart` layers stay on disk, and the others are counted twice; 0 if all stay."""
    marked: bool = False  # whether the boards that are solved are found in bits of all boards
    bits_memory: int = 0
    """Bytes with which a pass has bits instead of bytes, and takes far less time and disk; 0 if it has them,
    or if that is not known."""

    @property
    def size(self) -> str:
        """The size in words."""
        about = f"about {number_in_words(self.positions)}"
        if self.upper:
            return f"at most {f'{self.bound:,}' if self.spread == 1 else about} {self.unit}"
        if self.spread == 1:
            return f"{self.bound:,} {self.unit}"
        low, high = map(number_in_words, (self.positions / self.spread, self.positions * self.spread))
        return f"{about} {self.unit} ({low} to {high}, at most {self.bound:,})"

    @property
    def time(self) -> str:
        """The time in words."""
        threads = f"{self.threads} thread{'s' * (self.threads > 1)}"
        return f"{'at most ' * self.upper}about {duration(self.seconds)} with {threads}{self.span}"

    @property
    def span(self) -> str:
        """Between which times it may be, in words; empty where only the machine is uncertain."""
        if self.spread == 1 or self.upper:
            return ""
        wrong = TIMED * self.spread
        return f" ({duration(self.seconds / wrong)} to {duration(self.seconds * wrong)})"

    @property
    def memory_text(self) -> str:
        """The memory in words: without which the run is not possible, and what it takes if it may."""
        peak = [f"{enough_text(self.peak)} at the peak"] if self.peak > self.memory else []
        least = [f"at {'most' if self.upper else 'least'} {enough_text(self.memory)}"] if self.memory else []
        return ", ".join(least + peak)

    def row(self) -> dict[str, str]:
        """Return it as a row of `tilebase plan`."""
        size = {"positions": self.size, "time": self.time}
        size |= {"memory": self.memory_text, "disk": byte_text(int(self.disk))}
        return {"step": f"{self.task} {title_of(self.game)}"} | size

    @property
    def sentence(self) -> str:
        """Size, time and disk."""
        disk = f", {byte_text(int(self.disk))} of disk" if self.disk >= 1e9 else ""
        hint = f"; {self.hint}" if self.hint else ""
        return f"{self.task} {title_of(self.game)}: {self.size}, {self.time}{disk}{hint}"

    @property
    def hint(self) -> str:
        """What would make the run far cheaper, if something would."""
        enough = enough_text(self.bits_memory)
        return f"with {enough} of memory (--memory), far less time and disk" if self.bits_memory else ""


def number_in_words(number: float) -> str:
    """Return a number in words with two digits: ``570 trillion``."""
    names = (("quadrillion", 1e15), ("trillion", 1e12), ("billion", 1e9), ("million", 1e6))
    for name, size in names:
        if number >= size:
            return f"{rounded(number / size)} {name}"
    return rounded(max(number, 1.0))


# -- refusing -------------------------------------------------------------------------------------


def check(
    game: Game,
    estimate: Callable[[Game], Estimate],
    allowed: Allowance,
    folder: Path,
    others: Callable[[Callable[[Estimate], bool]], Iterable[str]] = lambda _: (),
    *,
    fewer: str = "",
) -> Estimate:
    """Return the estimate of a run.

    Raises `RefusedError` if it cannot end within a week, or does not fit into memory or on the disk.

    With `anyway` nothing is refused.  `estimate` is also called with smaller games, since the message
    proposes one that can be solved.  `others` returns the notes of the error, other queries and facts; it is
    called with a function that says whether a run is accepted.  `fewer` is proposed in place of limits.  The
    estimate of a run that begins is logged if the run takes `WORTH_TELLING` seconds or more.
    """

    def ways(too_much: Callable[[Estimate], str | None]) -> str:
        other = "lower limits on cells" if game.limits is not None else "limits on cells (--limits)"
        less = "another formation" if formation_of(game) else f"{fewer or other}, fewer cells"
        for smaller in _smaller_goals(game):
            with suppress(ResourceError, UsageError):
                other = estimate(smaller)
                if other.seconds <= DAY and too_much(other) is None:
                    takes = f"{title_of(smaller)} takes about {duration(other.seconds)}"
                    return f"ask for a smaller goal ({takes}), {less}"
        return f"ask for {less}"

    found = estimate(game)
    admit(found, allowed, ways, folder, others)
    return found


def admit(
    found: Estimate,
    allowed: Allowance,
    ways: Callable[[Callable[[Estimate], str | None]], str],
    folder: Path | None = None,
    others: Callable[[Callable[[Estimate], bool]], Iterable[str]] = lambda _: (),
    *,
    sooner: str = "",
) -> None:
    """Refuse or log as `check` does, by an estimate that is there.

    Without a folder the disk is that of temporary files.  `ways` says what to ask for instead; it is called
    with a function that says what is too much of another estimate.  `sooner` is what takes less time, logged
    if the run is long.
    """

    def too_much(one: Estimate) -> str | None:
        perhaps = "perhaps " * one.upper
        faults = [f"{perhaps}more than a week"] if one.seconds > WEEK else []
        if few := shortages(one, allowed, folder):
            faults.append(f"{perhaps}{NO_FIT}: {'; '.join(few.values())}")
        return "; ".join(faults) or None

    wrong = None if allowed.anyway else too_much(found)
    if wrong is not None:
        refused = RefusedError(
            f"{found.sentence}: {wrong}; {ways(too_much)}, or begin it all the same with --anyway "
            "(in Python anyway=True)"
        )
        for line in others(lambda one: too_much(one) is None):
            refused.add_note(line)
        raise refused
    if found.seconds >= WORTH_TELLING:
        LOG.info(EXPECTED, "; ".join(filter(None, (found.sentence, busy(), sooner))))


def refuse_endless(question: str) -> NoReturn:
    """Raise `RefusedError` for a question that may never end and was asked without a time limit."""
    raise RefusedError(
        f"the time for {question} cannot be estimated: give a limit, such as --budget 10min (seconds=600); "
        "partial results are then printed"
    )


def shortages(estimate: Estimate, allowed: Allowance, folder: Path | None = None) -> dict[str, str]:
    """Return what a run has too little of, memory or disk, each with the reason in words."""
    few = {}
    if estimate.memory > allowed.memory:
        few["memory"] = _short(estimate.memory, "memory", allowed.memory, "may be used", upper=estimate.upper)
    if allowed.disk is not None and estimate.disk > allowed.disk:
        few["disk"] = _short(estimate.disk, "disk", allowed.disk, "may be used")
    elif estimate.disk > max(free := free_disk(folder), WORTH_BYTES):
        few["disk"] = _short(estimate.disk, "disk", free, f"are free in {_place(folder)}")
    return few


def within_disk(allowed: Allowance, folder: Path | None) -> Allowance:
    """Return the same with the disk that a run in a folder, or in a temporary one, may have there."""
    return allowed.with_disk(max(free_disk(folder), WORTH_BYTES))


def free_disk(folder: Path | None) -> float:
    """Return the free bytes, with those of the run's own files; infinity if the system does not say."""
    place = _place(folder)
    try:
        there = next(path for path in [place, *place.absolute().parents] if path.exists())
        free = shutil.disk_usage(there).free
        if folder is not None and (folder / places.QUERY).exists():
            free += folder_bytes(folder)
    except (OSError, StopIteration):
        return math.inf
    return free


def _place(folder: Path | None) -> Path:
    return folder or Path(tempfile.gettempdir())


def _short(needed: float, what: str, there: float, how: str, *, upper: bool = False) -> str:
    needs = "may need" if upper else "needs"
    bytes_of = enough_text if what == "memory" else byte_text
    return f"it {needs} {bytes_of(int(needed))} of {what}, and {byte_text(int(there))} {how}"


def _smaller_goals(game: Game) -> Iterator[Game]:
    """Yield the games with smaller goals, in steps of a factor 2, as far as they exist."""
    goal = game.goal or 4 << max(game.tops)
    while goal > 16:
        goal //= 2
        with suppress(UsageError):
            yield game.changed(goal=goal)
