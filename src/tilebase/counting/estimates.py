"""What a question will take, before it is begun; and a refusal of what cannot end.

How many boards lie within the limits is known exactly at once (`counting.combinatorics`).  Which share
of them, up to symmetry, play can reach is not: it was counted for 28 games (states times symmetries,
by boards):

    3x3 to 128 0.43, 3x3 to 1024 0.23, 2x5 to 128 0.37, 3x4 to 16 0.21, 3x4 to 64 0.29   up to 13 cells: 0.3
    3x5 to 16 0.08, 4x4 to 16 0.04, 4x4 to 64 0.12                                       more: 0.1

With limits the shares are alike (3x4 to 128 within 64,64,32,16/32,32,16,8/16,8,8,8: 0.31).  An estimate
says the share of the right column, and a third of it and three times as much as its bounds.  All but those
of one row, of 4 cells or to 8 are within them.  A pass over all boards has no such share: its size is known.

The rates are those of docs/performance.md, for each thread.
"""

from __future__ import annotations

import logging
import math
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tilebase.counting.combinatorics import boards_by_sum, layers_together
from tilebase.errors import ResourceError, UsageError
from tilebase.game.game import Game
from tilebase.game.symmetry import symmetries
from tilebase.objectives.objective import Objective
from tilebase.objectives.values import byte_text
from tilebase.runtime.resources import OVERHEAD

LOG = logging.getLogger("tilebase")

SHARES = ((13, 0.3), (32, 0.1))
"""Up to so many cells: the share of the boards up to symmetry that play reaches."""
SPREAD = 3.0
"""The share may be so many times smaller or larger."""
AFTERSTATES = 0.45
"""Afterstates for each state: 0.2 to 0.65, the more the larger the goal."""
COUNT_SECONDS = 8e-8
"""For a state, one thread."""
SOLVE_SECONDS = 4e-7
"""For an afterstate and the first objective, one thread."""
FOLD_SECONDS = 1e-7
"""For an afterstate and each further objective."""
THREAD_RATE = 35e6
"""Boards a second and thread of a pass over all boards, with uint32: measured with two."""
BITS_RATE = 400e6
"""The same, with bits."""
KEY_BYTES = 0.65
"""On disk, for an afterstate."""
VALUE_SHARE = 0.55
"""Of the bytes of a value, what a compressed one takes on disk."""
DISK_RATE = 1e9
"""Bytes a second from and to a disk."""

WEEK = 7 * 86400.0
"""Seconds of this machine: what is expected to take longer is refused."""
DAY = 86400.0
"""What is proposed instead takes at most so long."""
WORTH_BYTES = 1e8
"""Bytes: of less disk nothing is said."""
WORTH_TELLING = 30.0
"""Seconds: of shorter runs nothing is said."""


@dataclass(frozen=True)
class Estimate:
    """What a run is expected to take.

    Attributes
    ----------
    task, game:
        ``"counting"``, ``"solving"`` and so on, and what.
    bound:
        Boards that there are at most, up to symmetry where play is up to symmetry: exact.
    positions, unit:
        How many are expected to be worked off, and what they are.
    seconds, threads:
        Expected on this machine.
    memory:
        Bytes without which it certainly cannot be done.
    disk:
        Bytes expected on disk at the same time.
    spread:
        Positions, seconds and disk may be so many times smaller or larger; 1: they are known.
    """

    task: str
    game: Game
    bound: int
    positions: float
    unit: str
    seconds: float
    threads: int
    memory: int
    disk: float
    spread: float = 1.0

    @property
    def size(self) -> str:
        """The size in words."""
        if self.spread == 1:
            return f"{self.bound:,} {self.unit}"
        low, high = (
            number_in_words(self.positions / self.spread),
            number_in_words(self.positions * self.spread),
        )
        return (
            f"about {number_in_words(self.positions)} {self.unit} ({low} to {high}, at most {self.bound:,})"
        )

    @property
    def time(self) -> str:
        """The time in words."""
        threads = f"{self.threads} thread{'s' * (self.threads > 1)}"
        if self.spread == 1:
            return f"about {duration(self.seconds)} with {threads}"
        low, high = duration(self.seconds / self.spread), duration(self.seconds * self.spread)
        return f"about {duration(self.seconds)} with {threads} ({low} to {high})"

    @property
    def sentence(self) -> str:
        """Size, time and disk."""
        disk = f", {byte_text(int(self.disk))} of disk" if self.disk >= 1e9 else ""
        return f"{self.task} {self.game}: {self.size}, {self.time}{disk}"


def duration(seconds: float, digits: int = 2) -> str:
    """``28 minutes``, ``3.1 days`` or ``540 years``: two digits, unless more are asked for."""
    units = (("years", 365.25 * DAY), ("days", DAY), ("hours", 3600.0), ("minutes", 60.0))
    for unit, size in units:
        if seconds >= 2 * size:
            return f"{_rounded(seconds / size, digits)} {unit}"
    return "a second" if 0.5 <= seconds < 1.5 and digits == 2 else f"{_rounded(seconds, digits)} seconds"


def _rounded(number: float, digits: int = 2) -> str:
    if number <= 0:
        return "0"
    after = digits - 1 - math.floor(math.log10(number))
    text = f"{round(number, after):,.{max(after, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def number_in_words(number: float) -> str:
    """``570 trillion``: two digits."""
    names = (("quadrillion", 1e15), ("trillion", 1e12), ("billion", 1e9), ("million", 1e6))
    for name, size in names:
        if number >= size:
            return f"{_rounded(number / size)} {name}"
    return _rounded(max(number, 1.0))


# -- estimating -----------------------------------------------------------------------------------


def counting(game: Game, threads: int, *, up_to: int | None = None, keep: str = "counts") -> Estimate:
    """What counting takes."""
    bound, share = _canonical(game, up_to), _share(game)
    states = share * bound
    kept = {"counts": 0.0, "afterstates": AFTERSTATES, "states": 1 + AFTERSTATES}[keep]
    # The keys of two layers, at least, are on disk.
    disk = KEY_BYTES * states * max(kept, 0.04 * AFTERSTATES)
    seconds = states * COUNT_SECONDS / _used(states * COUNT_SECONDS, threads)
    return Estimate("counting", game, bound, states, "states", seconds, threads, OVERHEAD, disk, SPREAD)


def solving(
    game: Game, objectives: Sequence[Objective], threads: int, *, down_to: int | None = None, table: bool
) -> Estimate:
    """What counting and solving take; the largest layers need a bit and a third a rank in memory."""
    before = counting(game, threads, keep="afterstates")
    done = _canonical(game, None, down_to) / max(before.bound, 1)
    afters = AFTERSTATES * before.positions * done
    work = afters * (SOLVE_SECONDS + FOLD_SECONDS * (len(objectives) - 1))
    values = sum(_stored_bytes(one) for one in objectives) * afters * (1 if table else 0.05)
    largest = max(boards_by_sum(game).values()) // len(symmetries(game))
    return Estimate(
        "solving", game, before.bound, before.positions, "states",
        before.seconds + work / _used(work, threads), threads, OVERHEAD + largest // 6,
        before.disk + values, SPREAD,
    )  # fmt: skip


def afterstates(game: Game, total: int) -> float:
    """The afterstates that are expected in the layer of one sum."""
    return AFTERSTATES * _share(game) * boards_by_sum(game)[total] / len(symmetries(game))


def passing(
    task: str,
    game: Game,
    objectives: Sequence[Objective],
    threads: int,
    memory: int,
    *,
    down_to: int | None = None,
    keep: bool = False,
    value_bytes: int = 0,
    highest: int | None = None,
) -> Estimate:
    """What a pass over all boards within the limits takes, one objective after the other."""
    sizes = {
        s: n
        for s, n in boards_by_sum(game).items()
        if s >= (down_to or 0) and (highest is None or s <= highest)
    }
    boards, together = sum(sizes.values()), max(layers_together(sizes).values(), default=0)
    seconds = disk = 0.0
    for one in objectives:
        bits = one.dtype == "bit" and not value_bytes and not keep and together // 6 + OVERHEAD < memory
        size = value_bytes or max(1.0, one.value_bytes)
        batched = not bits and size * together + OVERHEAD > memory
        work = boards / (threads * (BITS_RATE if bits else THREAD_RATE))
        seconds += max(work, 8 * size * boards / DISK_RATE if batched else 0.0)
        disk = max(disk, size * together if batched else 0.0)
    if keep:
        disk += sum(_stored_bytes(one) for one in objectives) * boards
    return Estimate(task, game, boards, boards, "boards", seconds, threads, OVERHEAD, disk)


def _canonical(game: Game, up_to: int | None, down_to: int | None = None) -> int:
    """Boards within the limits up to symmetry, at most, of sums up to one or from one on."""
    sizes = boards_by_sum(game).items()
    boards = sum(n for s, n in sizes if s >= (down_to or 0) and (up_to is None or s <= up_to))
    return -(-boards // len(symmetries(game)))


def _share(game: Game) -> float:
    return next(share for cells, share in SHARES if game.free_cells <= cells)


def _used(seconds: float, threads: int) -> int:
    """Threads that have something to do: layers of short runs are too small to be shared."""
    return threads if seconds > 10 else 1


def _stored_bytes(objective: Objective) -> float:
    return VALUE_SHARE * objective.value_bytes


# -- refusing -------------------------------------------------------------------------------------


def check(
    game: Game,
    estimate: Callable[[Game], Estimate],
    *,
    memory: int,
    folder: Path | str | None,
    anyway: bool,
) -> None:
    """Raise `ResourceError` if a run cannot end within a week, or does not fit into memory or on the disk.

    `anyway` lets it begin.  `estimate` is asked about smaller games, too, for what to ask instead.  The
    estimate of a run that begins is logged, if it takes half a minute or more.
    """
    found = estimate(game)
    path = Path(folder or tempfile.gettempdir())
    wrong = None if anyway else _too_much(found, memory, path)
    if wrong is not None:
        ways = [
            "lower limits on cells" if game.limits is not None else "limits on cells (--limits)",
            "fewer cells",
        ]
        for other in map(estimate, _smaller_goals(game)):
            if other.seconds <= DAY and _too_much(other, memory, path) is None:
                ways.insert(0, f"a smaller goal ({other.game} takes about {duration(other.seconds)})")
                break
        raise ResourceError(
            f"{found.sentence}: {wrong}; ask for {', '.join(ways)}, or begin it all the same with --anyway "
            "(in Python anyway=True)"
        )
    if found.seconds >= WORTH_TELLING:
        LOG.info("expected: %s", found.sentence)


def _too_much(estimate: Estimate, memory: int, folder: Path) -> str | None:
    """What is too much, in words."""
    if estimate.seconds > WEEK:
        return "more than a week"
    if estimate.memory > memory:
        have = byte_text(memory)
        return f"that needs more than {byte_text(estimate.memory)} of memory, and {have} may be used"
    free = _free(folder)
    if free is not None and estimate.disk > max(free, WORTH_BYTES):
        return f"{folder} has only {byte_text(free)} of disk left"
    return None


def _free(folder: Path) -> int | None:
    """Bytes that a folder may grow to, its own files included; None if that cannot be told."""
    try:
        there = next(path for path in [folder, *folder.absolute().parents] if path.exists())
        held = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        return shutil.disk_usage(there).free + held
    except (OSError, StopIteration):
        return None


def _smaller_goals(game: Game) -> Iterator[Game]:
    """The same game with smaller goals, as far as there are such games."""
    goal = game.goal or 4 << max(game.tops)
    while goal > 16:
        goal //= 2
        try:
            yield game.changed(goal=goal)
        except UsageError:
            continue
