"""Checking that a pattern is a forced win, whatever the other tiles are: Slizkov's lemma 1, computed.

For every board within the limits, a dense pass computes the least number of slides within which the
player can force the goal against every spawn.  It has its own recurrence:

    V(x) = best over slides of W - 1        W(a) = least over spawns of V        a win: `CERTAIN`

A positive value is a forced win, and `CERTAIN` minus the value is the number of slides.  The boards that
hold the pattern are checked when their layer is made.  Layers below the pattern's own sum hold none.

A check for a win within a number of slides needs no layers beyond the sum that so many spawns can reach:
boards with a larger sum count as lost.  This changes no win that is short enough.  So the result is exact
with and without a number of slides.

If these values do not fit into memory, boards are bits: whether the goal can be forced, in whatever number of
slides.  Above the same sum they count as lost.

Where there are too many boards for a pass, `sample_fillings` decides random fillings by the search.  One that
is lost refutes the pattern; that none is lost proves nothing.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from tilebase._kernels.backup import KeepLargest, TakeLargest
from tilebase._kernels.dense import least_where
from tilebase.cluster.runs import Run, run_in
from tilebase.costs.estimate import Estimate, check
from tilebase.costs.passes import passing
from tilebase.dense.backends.bits import BitLayer
from tilebase.dense.index import PerfectIndex
from tilebase.dense.layers import DenseLayer
from tilebase.dense.passes import DensePass, OtherQuery, Sums
from tilebase.dense.plan import Plan
from tilebase.dense.tables import Filled, free_cells, kernel_part, masks, tasks
from tilebase.errors import ResourceError, UsageError
from tilebase.files import places
from tilebase.files.run import Query, RunFolder
from tilebase.game.findings import Finding, Reported
from tilebase.game.game import Cells, Game, check_is_game
from tilebase.game.names import filling_words, title_of
from tilebase.game.notation import count_of
from tilebase.objectives.encoding import Backup
from tilebase.objectives.objective import Objective
from tilebase.questions.force import decide_state, searching
from tilebase.runtime.documents import understood
from tilebase.runtime.measured import working_time
from tilebase.runtime.resources import Allowance, Use

CERTAIN = (1 << 15) - 1
VALUE = np.dtype(np.int16)


@dataclass(frozen=True, repr=False)
class PatternCheck(Reported):
    """The result of a check.

    Attributes
    ----------
    game:
        The game, with the pattern.
    boards:
        Boards solved.
    fillings:
        The number of boards with the pattern and the player to move: all fillings of the other cells.
    within:
        The number of slides that the player may use; None for any number, as for bits if it holds.
    not_won:
        From how many of these boards it cannot, within the limits.
    slides:
        The most slides that the player needs to force it, with the slide that makes the goal;
        None if the goal is not forced from all boards, or if the boards are bits.
    board:
        A filling that needs this number of slides, or from which the goal cannot be forced.
    seconds:
        The time of the last call, without earlier calls that it continued.
    limits:
        The limits of the other cells of these boards, if they are not those of the game.
    """

    game: Game
    boards: int
    fillings: int
    within: int | None
    not_won: int
    slides: int | None
    board: Cells
    seconds: float
    limits: str = ""

    @property
    def holds(self) -> bool:
        """Whether it can be forced from each of them."""
        return not self.not_won

    def asked(self) -> tuple[Finding, ...]:
        """Return whether all fillings are won."""
        value = f"no, not from {self.game.format(self.board)}"
        if self.holds:
            value = f"yes, all {self.fillings:,} boards"
            value += f", within {count_of(self.slides, 'slide')}" if self.slides else ""
        what = filling_words(self.game, self.limits)
        what += "" if self.within is None else f", within {count_of(self.within, 'slide')}"
        return (Finding(title_of(self.game), what, value, "verdict"),)

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return super().as_dict() | {"holds": self.holds, "board": self.game.format(self.board)}


def check_pattern(
    game: Game,
    *,
    fillings: str | Sequence[int] | None = None,
    within: int | None = None,
    folder: Path | str | None = None,
    **use: Unpack[Use],
) -> PatternCheck:
    """Check that the goal tile can be forced from every board that holds the pattern of a game.

    Only the goal tile wins here.  The limits of the game hold during play.  `fillings` are limits for the
    other cells of the boards that hold the pattern; the default is the limits of the game.  Without both, the
    other cells have all tiles below the goal.  A check `within` a number of slides needs fewer boards.
    Finished layers are stored in `folder`, to continue after an interruption; None: a temporary folder. `use`
    are the keywords of `Use`.

    Raises `GameError` for invalid fillings, `UsageError` for a game without goal or pattern or an invalid
    number of slides, `ResourceError` if it does not fit into memory or takes more than a week (unless
    `anyway`), `StorageError`, `CorruptError` or `WrongGameError` if the folder cannot be used.

    >>> check_pattern(Game("2x3", 64, pattern="lemma1")).slides
    4
    """
    check_is_game(game)
    if game.pattern is None or game.goal is None:
        raise UsageError("a check needs a goal and a pattern: write lemma1, or tiles on cells")
    if game.goal_sum is not None:
        raise UsageError("a check is about the goal and the pattern: leave out the goal sum")
    if game.horizon is not None:
        raise UsageError("a check needs no horizon: leave it out, or give a number of slides")
    if game.unmergeable:
        raise UsageError(
            "a pattern is checked only without tiles x: make their cells walls, or leave them out"
        )
    if within is not None and within < 1:
        raise UsageError(f"the number of slides must be 1 or more, not {within}")
    with run_in(folder, **use) as run:
        return _check(game, fillings, within, run)


@dataclass(frozen=True, repr=False)
class FillingSample(Reported):
    """The results of the search for random fillings.

    Attributes
    ----------
    game:
        The game, with the pattern.
    won, undecided:
        The number of fillings from which the goal can be forced, and of those for which time ran out.
    lost:
        The fillings from which it cannot be forced.
    seconds:
        The time of all.
    limits:
        The limits of the other cells of these boards, if they are not those of the game.
    """

    facts = ("game", "fillings", "won", "undecided", "seconds")

    game: Game
    won: int
    undecided: int
    lost: tuple[Cells, ...]
    seconds: float
    limits: str = ""

    @property
    def fillings(self) -> int:
        """The number of fillings that were drawn."""
        return self.won + self.undecided + len(self.lost)

    def asked(self) -> tuple[Finding, ...]:
        """Return what they show: a lost one refutes the pattern, and won ones prove nothing."""
        value = f"{self.won:,} of {self.fillings:,} random boards win, {self.undecided:,} are undecided"
        kind = "sampled"
        if self.lost:
            value, kind = f"no, not from {self.game.format(self.lost[0])}", "verdict"
        return (Finding(title_of(self.game), filling_words(self.game, self.limits), value, kind),)

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return super().as_dict() | {"lost": [self.game.format(board) for board in self.lost]}


def sample_fillings(
    game: Game,
    count: int,
    *,
    fillings: str | Sequence[int] | None = None,
    seconds: float = 1.0,
    seed: int = 0,
    **use: Unpack[Use],
) -> FillingSample:
    """Decide random fillings of the pattern of a game, each by a search of at most some seconds.

    On each cell that the pattern leaves free, no tile and all tiles within `fillings` (default: the limits of
    the game) are equally likely.  The same `seed` draws the same fillings.  The limits of the game hold
    during play, and only the goal tile wins.  `use` are the keywords of `Use`.

    Raises `UsageError` for a game without goal or pattern, with a goal sum, a horizon, tiles x or several
    patterns, `GameError` for invalid fillings.

    >>> sample_fillings(Game("2x3", 64, pattern="lemma1"), 20)
    <FillingSample of 2x3, to 64, pattern lemma1: 20 of 20 random boards win, 0 are undecided>
    """
    check_is_game(game)
    others = game.goal_sum is not None or game.horizon is not None or game.unmergeable
    if len(game.patterns) != 1 or game.goal is None or others:
        raise UsageError(
            "fillings are drawn for a goal and one pattern: leave out a goal sum, a horizon and tiles x"
        )
    if count < 1:
        raise UsageError(f"the number of fillings must be 1 or more, not {count}")
    filled = game if fillings is None else game.changed(limits=fillings)
    rng, since = random.Random(seed), working_time()
    found: list[tuple[Cells, bool | None]] = []
    with searching(game.changed(pattern=None), None, Allowance.of(**use), math.inf) as search:
        for _ in range(count):
            board = tuple(
                rng.randint(0, filled.tops[cell]) if wanted is None else wanted
                for cell, wanted in enumerate(game.patterns[0])
            )
            search.deadline = time.perf_counter() + seconds
            found.append((board, decide_state(search, board)))
    verdicts = [verdict for _, verdict in found]
    lost = tuple(board for board, verdict in found if verdict is False)
    return FillingSample(
        game, verdicts.count(True), verdicts.count(None), lost, working_time() - since,
        "" if fillings is None else filled.limits_text,
    )  # fmt: skip


def _check(game: Game, fillings: str | Sequence[int] | None, within: int | None, run: Run) -> PatternCheck:
    since = working_time()
    search = _Search(game, fillings, within, run)
    values = run.folder / places.values_folder(search.label)
    if not (values / places.SOLVED).exists():
        size = 0 if search.as_bits else VALUE.itemsize

        def expected(game: Game) -> Estimate:
            takes = passing(game, [search.objective], run, sums=search.span, value_bytes=size)
            return replace(takes, task="checking the pattern on all boards of")

        check(search.game, expected, run, run.folder)
    with (
        RunFolder(run.folder, Query(game)),
        DensePass(
            run.within(places.values_folder(search.label)), search.index, search.objective,
            sums=Sums(*search.span), query=search.query,
        ) as dense,
    ):  # fmt: skip
        solved = dense.run()
    with understood(f"the journal in {run.folder}"):  # a continued pass reads it from there
        told = dense.seen.values()
        least, board = min((least, board) for held, _, least, board in told if held)
        lost = sum(lost for _, lost, *_ in told)
    return PatternCheck(
        game,
        sum(dense.sizes[total] for total in solved),
        sum(held for held, *_ in told),
        None if search.as_bits and not lost else within,
        lost,
        None if search.as_bits or lost else CERTAIN - least + 1,
        tuple(board),
        working_time() - since,
        "" if fillings is None else game.changed(limits=fillings).limits_text,
    )


class _Search:
    """The boards among which the pattern is searched, and the boards of the pass."""

    def __init__(
        self, game: Game, fillings: str | Sequence[int] | None, within: int | None, allowed: Allowance
    ) -> None:
        if not game.patterns:
            raise UsageError(f"no board of {game} holds the pattern: the limits leave no cells for it")
        # The slide from a state itself is not in its raw value yet.
        self._enough = 1 if within is None else CERTAIN + 1 - within
        self._tops = tops = game.tops if fillings is None else game.changed(limits=fillings).tops
        self.game, self._patterns = game.changed(pattern=None), game.patterns
        self.index = index = PerfectIndex(self.game)
        lowest: int = min(_sum(game, pattern) for pattern in game.patterns)
        highest: int | None = None
        steps = [2**e for e in game.spawn_exponents]
        if within is not None:
            fullest = [
                [top if wanted is None else wanted for wanted, top in zip(pattern, tops, strict=True)]
                for pattern in game.patterns
            ]
            highest = max(_sum(game, board) for board in fullest) + max(steps) * (within - 1)
        self.span = lowest, highest
        last = max(index.sizes())
        if highest is not None:
            last = min(last, highest)
        if (longest := (last - lowest) // min(steps) + 1) >= CERTAIN:
            raise UsageError(
                f"a win may take {longest:,} slides, more than the {CERTAIN - 1:,} that a check can count: "
                "give limits, or a number of slides"
            )
        self.as_bits = self._are_too_many(allowed)
        self.objective = Objective("guaranteed" if self.as_bits else "survival")
        label = f"{'won' if self.as_bits else 'forced'}-{'-'.join(map(str, tops))}"
        self.label = label + (f"-to-{highest}" if highest is not None else "")

    def _are_too_many(self, allowed: Allowance) -> bool:
        """Return whether values of all boards do not fit into memory."""
        try:
            return Plan.outline(
                self.index, Objective("survival"), allowed, value_bytes=VALUE.itemsize, sums=self.span,
                bits=False,
            ).batched  # fmt: skip
        except ResourceError:
            return True

    @cached_property
    def query(self) -> OtherQuery:
        """What the pass tells of each layer."""
        if self.as_bits:
            return OtherQuery(self._all_won)
        least, start = np.int64(-1), np.int64(CERTAIN)
        adds = (TakeLargest(least, np.int64(-1)),) * len(self.game.spawn_exponents)
        return OtherQuery(
            self._least_of, Backup(VALUE, 0, CERTAIN, adds, KeepLargest(least), start, start, "i8")
        )

    @cached_property
    def _fitting(self) -> tuple[Any, ...]:
        """The parts of the index, with the patterns that their fillings fit."""
        parts = self.index.parts
        return tuple(
            kernel_part(part, marks, free_cells(self.game, part))
            for part, marks in zip(parts, masks(self.game, parts, self._patterns, self._tops), strict=True)
        )

    def _least_of(self, total: int, states: DenseLayer) -> tuple[int, int, int, Cells]:
        """Return how many boards of a layer hold the pattern, how many of these are not won, the least value
        of one, and a board that has it.
        """
        held, lost, least, rank = 0, 0, CERTAIN + 1, -1  # a win by the next slide has the value `CERTAIN`
        for job in tasks(self.index, self.index.block_sizes(total), by_columns=False):
            count, less, value, where = least_where(
                job, self.index.units(total), self._fitting, states.arrays, self._enough
            )
            held, lost = held + int(count), lost + int(less)
            if count and value < least:
                least, rank = int(value), int(where)
        return held, lost, least, self.index.unrank(total, rank) if held else ()

    def _all_won(self, total: int, states: BitLayer) -> tuple[int, int, int, Cells]:
        """Return the same of bits: 1 is a win."""
        held, lost, found = 0, 0, np.zeros(0, dtype=np.uint8)
        for number, filled in enumerate(self._filled):
            for boards in filled.of_sum(total):
                # A board that holds several patterns counts once.
                for pattern in self._patterns[:number]:
                    given = [cell for cell, e in enumerate(pattern) if e is not None]
                    boards = boards[(boards[:, given] != [pattern[cell] for cell in given]).any(axis=1)]
                won = states.held(boards)
                if len(won) and (not held or (not lost and not won.all())):
                    found = boards[won.argmin()]
                held, lost = held + len(won), lost + int(np.count_nonzero(~won))
        return held, lost, int(not lost), tuple(found.tolist())

    @cached_property
    def _filled(self) -> list[Filled]:
        """The boards that hold each pattern."""
        cells = range(self.game.cells)
        allowed = [[e for e in self.game.codes(cell) if e <= self._tops[cell]] for cell in cells]
        return [
            Filled(
                self.game.cells,
                [([c], allowed[c] if e is None else [e] * (e in allowed[c])) for c, e in enumerate(pattern)],
            )
            for pattern in self._patterns
        ]


def _sum(game: Game, tiles: Sequence[int | None]) -> int:
    """Return the sum of some tiles; cells where any tile may be count as empty."""
    return game.sum([e or 0 for e in tiles])
