"""Is a pattern won for certain, whatever the other tiles are?  Slizkov's lemma 1, by computation.

Every board within the limits gets the least number of slides within which the player can force the
goal against every spawn (dense passes downwards from the largest sum):

    V(x) = best over slides of W - 1        W(a) = least over spawns of V        a win: `CERTAIN`

A value above `CERTAIN` / 2 is a forced win, and what it lacks to `CERTAIN` is the number of slides.
Then all boards that hold the pattern are looked at.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilebase._kernels.dense import least_where
from tilebase.enumerate import Progress, check_resources
from tilebase.errors import ResourceError, UsageError
from tilebase.game import Cells, Game
from tilebase.layers.dense import DenseLayer, DenseRules, Law, masks, tasks
from tilebase.layers.threads import DenseWork, Threads
from tilebase.objectives import Objective
from tilebase.perfect import PerfectIndex
from tilebase.plans import Plan

CERTAIN = 1 << 14
VALUE = np.dtype(np.int16)


@dataclass(frozen=True)
class PatternCheck:
    """What became of a check.

    Attributes
    ----------
    game:
        The game, with the pattern.
    boards:
        Boards solved.
    fillings:
        Boards that hold the pattern, the player to move: all fillings of the other cells.
    holds:
        Whether the goal can be forced from every one of them.
    slides:
        The most slides that the player needs to force it, the one that makes the goal included;
        None if the pattern is not won.
    board:
        A filling that needs so many, or from which the goal cannot be forced.
    seconds:
        What it took.
    """

    game: Game
    boards: int
    fillings: int
    holds: bool
    slides: int | None
    board: Cells
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "game": self.game.identity,
            "boards": self.boards,
            "fillings": self.fillings,
            "holds": self.holds,
            "slides": self.slides,
            "board": self.game.format(self.board),
            "seconds": round(self.seconds, 1),
        }


def check_pattern(
    game: Game,
    *,
    fillings: str | Sequence[int] | None = None,
    memory: int | None = None,
    threads: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> PatternCheck:
    """Check that a game's pattern is won: the goal tile can be forced from every filling of the other cells.

    The goal tile alone wins here.  The game's limits hold for the play; `fillings` are limits for
    the boards that hold the pattern, those of the game unless they are given: without either the
    other cells take all tiles below the goal.

    Raises `GameError` for fillings that cannot be, `UsageError` for a game without goal or pattern,
    `ResourceError` if it does not fit.

    >>> check_pattern(Game("2x3", 64, pattern="lemma1")).slides
    6
    """
    if game.pattern is None or game.goal is None:
        raise UsageError("a check needs a goal and a pattern: write lemma1, or tiles on cells")
    if game.unmergeable and not game.fixed:
        raise UsageError(
            "a check takes boards with any number of movable tiles x: fix them, or leave them out"
        )
    memory, threads = check_resources(memory, threads)
    since = time.perf_counter()
    tops = None if fillings is None else _tops_of(game, fillings)
    tile_only = game.changed(pattern=None)
    index = PerfectIndex(tile_only)
    plan = Plan.of(index, Objective("survival"), memory, threads, value_bytes=VALUE.itemsize)
    if plan.batched:
        raise ResourceError(
            f"checking {game} needs {plan.whole_bytes / 2**30:.1f} GiB of memory for "
            f"{plan.boards:.3g} boards: choose a smaller goal or give limits"
        )
    steps = ((np.int64(-1), np.int64(-1)),) * len(game.spawn_exponents)
    law = Law(VALUE, 0, CERTAIN, steps, (np.int64(-1), np.int64(CERTAIN)), np.int64(CERTAIN), "i8")
    with ThreadPoolExecutor(threads) as pool:
        rules = DenseRules(index, pool, made=False)
        fitting = tuple(
            (*fields[:5], masks(game, part, tops))
            for fields, part in zip(rules.parts, index.parts, strict=True)
        )
        engine = Threads(rules, law, pool, threads, largest=plan.largest)
        try:
            found = _descend(engine, index, fitting, plan.boards, progress)
        finally:
            engine.close()
    held, least, total, rank = found
    holds = least > CERTAIN // 2
    # The slide from the state itself is not in its raw value yet.
    slides = CERTAIN - least + 1 if holds else None
    board = index.unrank(total, rank)
    return PatternCheck(game, plan.boards, held, holds, slides, board, time.perf_counter() - since)


def _tops_of(game: Game, fillings: str | Sequence[int]) -> Cells:
    """The largest exponent of each cell of a filling."""
    return game.changed(limits=fillings).tops


def _descend(
    engine: Threads,
    index: PerfectIndex,
    fitting: Any,
    boards: int,
    progress: Callable[[Progress], None] | None,
) -> tuple[int, int, int, int]:
    """Fillings, the least value among them, and the sum and rank of a board that has it."""
    work = DenseWork()
    states: dict[int, DenseLayer] = {}
    fillings, least, where = 0, CERTAIN + 1, (0, 0)
    began, done = time.perf_counter(), 0
    quiet: Callable[[float], None] = lambda _: None  # noqa: E731
    for total in sorted(index.sizes(), reverse=True):
        blocks, sizes = index.layer(total), index.block_sizes(total)
        above = {}
        for exponent in index.game.spawn_exponents:
            up = total + 2**exponent
            above[exponent] = states.get(up) or engine.layer(index.layer(up))
        afters, here = engine.layer(blocks), engine.layer(blocks)
        engine.fold(sizes, above, afters, work, quiet)
        for side in (0, 1):
            engine.slide(side, sizes, afters, here, work, quiet)
        for job in tasks(index, sizes, by_columns=False):
            count, value, place = least_where(job, blocks.half, fitting, blocks.offsets, here.values)
            fillings += int(count)
            if count and value < least:
                least, where = int(value), (total, int(place))
        states = {s: layer for s, layer in states.items() if s <= total + 2}
        states[total] = here
        del afters, above  # before the next ones take their room
        done += blocks.size
        if progress is not None:
            seconds = time.perf_counter() - began
            rate = done / max(seconds, 1e-9)
            progress(
                Progress(total, "solve", done, seconds, rate, done / boards, (boards - done) / rate, "boards")
            )
    if not fillings:
        raise UsageError(f"no board of {index.game} holds the pattern")
    return fillings, least, *where
