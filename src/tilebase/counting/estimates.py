"""Time, memory and disk of a query, estimated before it begins; queries that take too long are refused.

The number of boards within the limits is computed exactly, in a moment (`counting.combinatorics`).  The
share of them, up to symmetry, that play can reach is estimated.  It was counted for 28 games (states times
symmetries, divided by boards):

    3x3 to 128 0.43, 3x3 to 1024 0.23, 2x5 to 128 0.37, 3x4 to 16 0.21, 3x4 to 64 0.29   up to 13 cells: 0.3
    3x5 to 16 0.08, 4x4 to 16 0.04, 4x4 to 64 0.12                                       more: 0.1

With limits the shares are similar (3x4 to 128 within 64,64,32,16/32,32,16,8/16,8,8,8: 0.31).  An estimate
uses the share of the right column; its bounds are 1/3 of that and 3 times as much.  In games with masks
and a horizon, it was counted for some formations:

    L3 to 64 0.29, L3 to 256 0.31, L3f to 32 0.27                                     goal anywhere: 0.28
    442 to 64 0.15, 442 to 128 0.13, 442 to 512 0.07, 4421 to 64 0.22, t to 64 0.11   goal on cells: 0.13
    44 to 64 0.13, 442t to 32 0.07

The counted shares lie within these bounds, except for games of one row, of 4 cells or to 8.  The size of a
pass over all boards is known and needs no share.

The rates are those of docs/performance.md, per thread.
"""

from __future__ import annotations

import logging
import math
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from tilebase.counting.combinatorics import boards_by_sum, layers_together
from tilebase.errors import ResourceError, UsageError
from tilebase.game.formations import title_of
from tilebase.game.game import Game
from tilebase.game.symmetry import symmetries
from tilebase.objectives.numbers import byte_text
from tilebase.objectives.objective import Objective
from tilebase.runtime.resources import OVERHEAD

LOG = logging.getLogger("tilebase")

SHARES = ((13, 0.3), (32, 0.1))
"""Pairs: for up to so many cells, the share of the boards up to symmetry that play reaches."""
MASKED_SHARES = (0.28, 0.13)
"""The same for games with masks: with a goal on any cell, and without."""
SPREAD = 3.0
"""The share may be smaller or larger by this factor."""
AFTERSTATES = 0.45
"""Afterstates per state.  Measured: 0.2 to 0.65, more for larger goals."""
COUNT_SECONDS = 8e-8
"""Seconds per state to count, with one thread."""
SOLVE_SECONDS = 4e-7
"""Seconds per afterstate to solve the first objective, with one thread."""
MASKED_SECONDS = 1.2e-7
"""The same for games with masks, which mostly have no symmetry.  Measured: 0.7e-7 to 1.3e-7."""
FOLD_SECONDS = 1e-7
"""Seconds per afterstate for each further objective."""
THREAD_RATE = 35e6
"""Boards per second and thread of a pass over all boards with uint32 values, measured with two threads."""
MASKED_RATE = 45e6
"""The same for games with a mask.  Measured: 41e6 to 55e6."""
SEVERAL_RATE = 18e6
"""The same for games with several masks, whose index ranks up to 2.6 times as many boards.  Measured: 15e6 to
26e6."""
BITS_RATE = 400e6
"""Boards per second and thread of a pass over all boards with Boolean values as bits."""
KEY_BYTES = 0.65
"""Bytes on disk per key of an afterstate."""
VALUE_SHARE = 0.55
"""Size of a compressed value on disk, as a share of the size in memory."""
DISK_RATE = 1e9
"""Bytes per second from and to a disk."""

WEEK = 7 * 86400.0
"""Seconds: a query that is expected to take longer on this machine is refused."""
DAY = 86400.0
"""Seconds: the most that a query takes that is proposed instead."""
WORTH_BYTES = 1e8
"""Bytes: a query that needs less disk is never refused for it."""
WORTH_TELLING = 30.0
"""Seconds: the estimates of shorter runs are not logged."""


@dataclass(frozen=True)
class Estimate:
    """What a run is expected to take.

    Attributes
    ----------
    task, game:
        ``"counting"``, ``"solving"`` and so on, and the game.
    bound:
        An exact upper bound on the number of boards, up to symmetry if the engine works so.
    positions, unit:
        The expected number of positions, and what they are.
    seconds, threads:
        The expected time on this machine with so many threads.
    memory:
        Bytes without which the run is not possible.
    disk:
        Bytes expected on disk at the same time.
    spread:
        Positions, seconds and disk may be smaller or larger by this factor; 1 if they are known.
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
        return f"{self.task} {title_of(self.game)}: {self.size}, {self.time}{disk}"


def duration(seconds: float, digits: int = 2) -> str:
    """A time in words with so many digits: ``28 minutes``, ``3.1 days`` or ``540 years``."""
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
    """A number in words with two digits: ``570 trillion``."""
    names = (("quadrillion", 1e15), ("trillion", 1e12), ("billion", 1e9), ("million", 1e6))
    for name, size in names:
        if number >= size:
            return f"{_rounded(number / size)} {name}"
    return _rounded(max(number, 1.0))


# -- estimating -----------------------------------------------------------------------------------


def counting(game: Game, threads: int, *, up_to: int | None = None, keep: str = "counts") -> Estimate:
    """The estimate for counting the reachable states."""
    bound, share = _canonical(game, up_to), _share(game)
    states = share * bound
    kept = {"counts": 0.0, "afterstates": AFTERSTATES, "states": 1 + AFTERSTATES}[keep]
    # At least the keys of two layers are on disk.
    disk = KEY_BYTES * states * max(kept, 0.04 * AFTERSTATES)
    seconds = states * COUNT_SECONDS / _used(states * COUNT_SECONDS, threads)
    return Estimate("counting", game, bound, states, "states", seconds, threads, OVERHEAD, disk, SPREAD)


def solving(
    game: Game, objectives: Sequence[Objective], threads: int, *, down_to: int | None = None, table: bool
) -> Estimate:
    """The estimate for counting and solving; the largest layers need 4/3 bits of memory per rank."""
    before = counting(game, threads, keep="afterstates")
    done = _canonical(game, None, down_to) / max(before.bound, 1)
    afters = AFTERSTATES * before.positions * done
    work = afters * ((MASKED_SECONDS if game.masks else SOLVE_SECONDS) + FOLD_SECONDS * (len(objectives) - 1))
    values = sum(_stored_bytes(one) for one in objectives) * afters * (1 if table else 0.05)
    largest = max(boards_by_sum(game).values()) // len(symmetries(game))
    return Estimate(
        "solving", game, before.bound, before.positions, "states",
        before.seconds + work / _used(work, threads), threads, OVERHEAD + largest // 6,
        before.disk + values, SPREAD,
    )  # fmt: skip


def afterstates(game: Game, total: int) -> float:
    """The expected number of afterstates in the layer of one sum."""
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
    """The estimate for a pass over all boards within the limits, one objective after the other."""
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
        work = boards / (threads * (BITS_RATE if bits else values_rate(game)))
        seconds += max(work, 8 * size * boards / DISK_RATE if batched else 0.0)
        disk = max(disk, size * together if batched else 0.0)
    if keep:
        disk += sum(_stored_bytes(one) for one in objectives) * boards
    return Estimate(task, game, boards, boards, "boards", seconds, threads, OVERHEAD, disk)


def values_rate(game: Game) -> float:
    """Boards per second and thread of a pass over all boards, without bits."""
    return (THREAD_RATE, MASKED_RATE, SEVERAL_RATE)[min(len(game.masks), 2)]


def _canonical(game: Game, up_to: int | None, down_to: int | None = None) -> int:
    """How many boards up to symmetry lie within the limits, about, with sums from `down_to` to `up_to`."""
    sizes = boards_by_sum(game).items()
    boards = sum(n for s, n in sizes if s >= (down_to or 0) and (up_to is None or s <= up_to))
    return -(-boards // len(symmetries(game)))


def _share(game: Game) -> float:
    if game.masks:
        return MASKED_SHARES[game.goal is None]
    return next(share for cells, share in SHARES if game.free_cells <= cells)


def _used(seconds: float, threads: int) -> int:
    """Threads that speed the run up: the layers of short runs are too small to be shared."""
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

    With `anyway` nothing is refused.  `estimate` is also called with smaller games, since the message
    proposes one that can be solved.  The estimate of a run that begins is logged if the run takes
    `WORTH_TELLING` seconds or more.
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
                ways.insert(
                    0, f"a smaller goal ({title_of(other.game)} takes about {duration(other.seconds)})"
                )
                break
        raise ResourceError(
            f"{found.sentence}: {wrong}; ask for {', '.join(ways)}, or begin it all the same with --anyway "
            "(in Python anyway=True)"
        )
    if found.seconds >= WORTH_TELLING:
        LOG.info("expected: %s", found.sentence)


def refuse_endless(question: str) -> NoReturn:
    """Raise `ResourceError` for a question that may never end and was asked without a time limit."""
    raise ResourceError(
        f"nobody knows whether {question} ends: say how long it may take, as --budget 10min (seconds=600); "
        "what is known by then is printed"
    )


def _too_much(estimate: Estimate, memory: int, folder: Path) -> str | None:
    """Why a run is refused, in words; None if it is not."""
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
    """Bytes to which a folder can grow, its own files included; None if the system does not say."""
    try:
        there = next(path for path in [folder, *folder.absolute().parents] if path.exists())
        held = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        return shutil.disk_usage(there).free + held
    except (OSError, StopIteration):
        return None


def _smaller_goals(game: Game) -> Iterator[Game]:
    """The games with smaller goals, in steps of a factor 2, as far as they exist."""
    goal = game.goal or 4 << max(game.tops)
    while goal > 16:
        goal //= 2
        try:
            yield game.changed(goal=goal)
        except UsageError:
            continue
