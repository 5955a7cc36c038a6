"""Exact rational values of small games: the recurrence of `small.oracle` in integers, a layer at a time.

All values of the afterstates of a sum s are whole numbers over one denominator

    D(s) = B ** ((S - s) / 2),    B = q L d,

where S is the largest sum of a state, q the common denominator of the spawn law, L the least common
multiple of 1 to the number of cells, and d the denominator of the discount.  The mean over n spawns divides
by n q, the discount by d, and a spawn raises the sum by 2 at least: so each step stays whole.
The integers grow by about 15 bits for each two units of the sum on a 3x3 board, so this is for games of up to
some millions of afterstates.  The boards are those that the forward pass of `count` finds.

`PLAYS` are other ways to play than the best.  ``fastest`` compares values for equality, which only fractions
allow; `small.oracle.played` says each in plain Python.  Two of them need a second value of each board, the
second row of all arrays.  ``undo`` takes the mean over values of states and, where the spawn is taken back,
of the afterstate itself, which divides once more: so S is larger by 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from tilebase.costs.estimate import number_in_words
from tilebase.costs.shares import layers_of
from tilebase.errors import ResourceError, UsageError
from tilebase.files.format import Contents
from tilebase.files.layers import LayerFolder
from tilebase.game.findings import Finding, Reported
from tilebase.game.game import Game, check_is_game
from tilebase.game.names import rules_of, title_of
from tilebase.objectives.encoding import FIRST, NONE, WON, end_values, sentinels
from tilebase.objectives.numbers import SMALL
from tilebase.objectives.objective import Objective, objectives_of
from tilebase.objectives.rounding import Rounding
from tilebase.questions.count import count
from tilebase.runtime.progress import Pace
from tilebase.runtime.resources import Use
from tilebase.runtime.storage import temporary_folder
from tilebase.sparse.reading import LayerReader, merge_weights
from tilebase.tables.probe import Table, open_table

Array = npt.NDArray[Any]

MOST_AFTERSTATES = 3_000_000
"""Afterstates of a game that is solved in fractions; these take some minutes."""
SURELY = 5
"""A game is not counted if so many times as many are expected: estimates are wrong by a factor 3 at most."""
MOST_DIGITS = 4_300
"""Most digits of a denominator: Python writes no longer integers."""
PLAYS = {
    "best": "the play that makes the value best",
    "worst": "the play that makes the value worst",
    "fastest": "of the plays that win with the largest probability, one that wins in the fewest slides",
    "undo": "the best play of a player who may take back one spawn, which is then drawn again",
}
"""Who plays, and how; `solve_exactly` says what is computed."""
DIGITS = 40
"""A fraction with more digits is printed as a decimal."""


@dataclass(frozen=True)
class ExactLayer:
    """The exact values of the afterstates, or of the states, of one sum.

    Attributes
    ----------
    sum:
        The sum of the tiles.
    keys:
        ``uint64[n]``: the packed canonical boards, ascending.
    numerators:
        ``object[n]``: ``numerators[i] / denominator`` is the value of board i, as users see it.
    denominator:
        One for all, not reduced.
    slides:
        Of states, ``object[n, A]``: the numerators of the slides in the directions of the game, None for a
        slide that is not allowed.  None for afterstates.
    """

    sum: int
    keys: Array
    numerators: Array
    denominator: int
    slides: Array | None = None


@dataclass(frozen=True, repr=False)
class ExactSolution(Reported):
    """The exact value of the start of a game.

    Attributes
    ----------
    game, objective:
        The game, and what the value means.
    start:
        The value of the start; of `loss` the probability itself.
    afterstates:
        The number of afterstates that were solved.
    play:
        One of `PLAYS`.
    """

    facts = (
        "game", "objective", "play", "value", "numerator_digits", "denominator_digits", "afterstates",
    )  # fmt: skip

    game: Game
    objective: Objective
    start: Fraction
    afterstates: int
    play: str = "best"

    @property
    def text(self) -> str:
        """The fraction if it is short, else a decimal that `fraction_text` makes."""
        return fraction_text(self.start, self.objective)

    @property
    def title(self) -> str:
        """What the value means, in words."""
        if self.play == "fastest":
            return "expected slides of a won game, fastest play"
        words = {"best": "", "worst": ", worst play", "undo": ", one spawn may be taken back"}
        return self.objective.text + words[self.play]

    @property
    def value(self) -> dict[str, str]:
        """The value of the start with its type, as JSON has it."""
        return {"kind": "exact", "value": str(self.start)}

    @property
    def numerator_digits(self) -> int:
        """The number of digits of the numerator."""
        return len(str(self.start.numerator))

    @property
    def denominator_digits(self) -> int:
        """The number of digits of the denominator."""
        return len(str(self.start.denominator))

    def asked(self) -> tuple[Finding, ...]:
        """Return the value; a long fraction is rounded to a decimal."""
        kind = "exact" if self.text == str(self.start) else "rounded"
        return (Finding(title_of(self.game), self.title, self.text, kind, rules_of(self.game)),)


def solve_exactly(
    game: Game,
    objective: str | Objective = "win",
    *,
    discount: Fraction | float | str = 1,
    play: str = "best",
    layer: Callable[[ExactLayer], None] | None = None,
    states: Callable[[ExactLayer], None] | None = None,
    **use: Unpack[Use],
) -> ExactSolution:
    """Solve a small game in fractions: without any rounding.

    Parameters
    ----------
    game:
        The game, with at most `MOST_AFTERSTATES` afterstates.
    objective, discount:
        An objective whose values are means, such as ``"win"``, ``"loss"`` or ``"score"``.  Its type of floats
        does not matter.
    play:
        ``"best"``, or one of the other `PLAYS`.  ``"worst"``: the player makes the value as bad as possible.
        ``"undo"``: once in a game, after a spawn, the player may take this spawn back, and a tile is drawn
        again by the same law; the tiles of the start stay.  ``"fastest"``, for the objective ``"win"``
        without a discount: among all plays with the largest probability to win, the least expected number
        of slides of a game that is won.
    layer:
        Called with the exact values of each layer, the largest sum first.  For ``"fastest"`` these are the
        expected slides of won games, lost games counted as 0; divided by the probability to win, they are
        the value of a board.
    states:
        The same for the states that play from the start reaches, without those that a sum has won.  Only for
        ``"best"``.
    use:
        The keywords of `Use`, for counting the boards; the values are computed by one thread.

    Raises
    ------
    UsageError
        If the objective is no mean, or is a bound: integers are exact anyway.  If the play does not exist,
        does not fit the objective, or is ``"fastest"`` in a game that no play wins; if states are asked for
        with another play than the best.
    ResourceError
        If the game has too many afterstates.

    >>> solve_exactly(Game("2x2", 16)).start
    Fraction(770009003, 800000000)
    >>> [float(solve_exactly(Game("2x2", 16), play=one).start) for one in ("worst", "fastest", "undo")]
    [0.0, 8.263879262720776, 0.996251125375]
    """
    check_is_game(game)
    chosen = check_exact(game, objective, play, discount)
    if states is not None and play != "best":
        raise UsageError(f"the values of states are those of the play best: leave {play} or states out")
    expected = float(layers_of(game).afterstates.sum())
    if expected > SURELY * MOST_AFTERSTATES:  # counting may take hours
        raise _too_large(game, f"about {number_in_words(expected)}", chosen)
    with temporary_folder() as folder:
        path = folder / "run"
        counts = count(game, folder=path, keep="afterstates", **use)
        every = counts.total("afterstates")
        if every > MOST_AFTERSTATES:
            raise _too_large(game, f"{every:,}", chosen)
        pace = Pace(use.get("progress"), "afterstates")
        with LayerFolder(path / "afterstates", Contents(game)) as boards:
            return _Pass(boards, chosen, play).run(every, layer, states, pace)


def _too_large(game: Game, afterstates: str, objective: Objective) -> ResourceError:
    bounds = objective.name in ("win", "loss") and objective.discount == 1
    return ResourceError(
        f"{game} has {afterstates} afterstates, and fractions are for at most {MOST_AFTERSTATES:,}: "
        "solve it in floats" + (", or for proved bounds with the objective lower,upper" if bounds else "")
    )


def check_exact(game: Game, objective: str | Objective, play: str, discount: Any = 1) -> Objective:
    """Return the objective.  Raises `UsageError` as `solve_exactly`, before anything is computed."""
    chosen = _mean(objective, discount)
    chosen.check(game)
    if play not in PLAYS:
        raise UsageError(f"play {play!r} does not exist: choose one of {', '.join(PLAYS)}")
    if play == "fastest" and (chosen.name != "win" or chosen.discount != 1):
        raise UsageError("fastest is about games that are won: it takes the objective win without a discount")
    return chosen


def _mean(objective: str | Objective, discount: Any) -> Objective:
    """Return one objective.  Raises `UsageError` unless it is a mean in floats."""
    found = objectives_of(objective, discount)
    if len(found) != 1:
        raise UsageError(f"fractions are computed for one objective at a time, not for {objective}")
    if not found[0].is_mean or found[0].is_bound:
        raise UsageError(
            f"{found[0].name} needs no fractions: it is computed in integers; choose a mean, as win or score"
        )
    return found[0]


class _Keys(LayerReader):
    """The boards of a run, with no values yet."""

    def values(self, _total: int) -> Array:
        """Return no values."""
        return np.zeros(0)


class _Pass:
    """The backward pass in integers."""

    def __init__(self, boards: LayerFolder, objective: Objective, play: str) -> None:
        self.game = game = boards.contents.game
        self.objective, self.play = objective, play
        self._rows = 2 if play in ("fastest", "undo") else 1
        self._reader = _Keys(str(boards.folder), game, {objective.label: boards}, objective)
        self._sums = boards.sums()
        self._most = max([*self._sums, *(game.sum(board) for board, _ in game.starts())])
        self._most += (1 << max(game.spawn_exponents)) + (2 if play == "undo" else 0)
        self._base = game.spawn.denominator * objective.discount.denominator
        self._base *= math.lcm(*range(1, game.cells + 1))
        first = min(game.sum(board) for board, _ in game.starts())
        digits = math.log10(self._base) * ((self._most - first) // 2)
        if digits > MOST_DIGITS:
            raise ResourceError(
                f"fractions of {game} may have {digits:,.0f} digits, and at most {MOST_DIGITS:,} are "
                "written: give a discount or spawns with fewer digits, or a smaller goal"
            )
        self._won = int(sentinels(game, objective)[1])
        self._values: dict[int, Array] = {}  # rows of numerators by sum, for the layers above the present one

    def denominator(self, total: int) -> int:
        """Return D(s)."""
        return int(self._base ** ((self._most - total) // 2))

    def run(
        self,
        every: int,
        layer: Callable[[ExactLayer], None] | None,
        states: Callable[[ExactLayer], None] | None,
        pace: Pace,
    ) -> ExactSolution:
        """Solve all layers, of `every` afterstates together, and the start."""
        game, done = self.game, 0
        state_sums = set[int]() if states is None else self._state_sums()
        starts, most = {game.sum(board) for board, _ in game.starts()}, 1 << max(game.spawn_exponents)
        for total in sorted(state_sums.union(self._sums), reverse=True):
            if total in self._sums:  # else no slide is allowed
                keys, values = self._afterstates(total)
                self._values[total] = values
                # Only spawns and starts read layers above.
                for above in [s for s in self._values if s not in starts and s > total + most]:
                    del self._values[above]
                if layer is not None:
                    told = self.objective.told(values[-1])
                    layer(ExactLayer(total, keys, told, self.denominator(total)))
                done += len(keys)
                if pace.due() or done == every:
                    pace.report(total, "solve", done, done / every)
            if states is not None and total in state_sums:
                states(self._state_layer(total))
        return ExactSolution(game, self.objective, self._start(), every, self.play)

    def _start(self) -> Fraction:
        """Return the value of the start."""
        rows = [Fraction(0)] * self._rows
        for board, p in self.game.starts():
            total = self.game.sum(board)
            found = self._states(np.array([self.game.pack(board)], dtype=np.uint64), total)
            one = self.denominator(total) * self.objective.discount.denominator
            rows = [value + p * Fraction(int(row[0]), one) for value, row in zip(rows, found, strict=True)]
        if self.play == "fastest" and not rows[0]:
            raise UsageError(f"no play wins {self.game}: there is no fastest win")
        return rows[1] / rows[0] if self.play == "fastest" else Fraction(self.objective.told(rows[-1]))

    def _afterstates(self, total: int) -> tuple[Array, Array]:
        """Return the afterstates of a sum, and the rows of their values over D(total)."""
        game, reader, d = self.game, self._reader, self.objective.discount.denominator
        keys = reader.keys(total)
        if game.ended(total):
            return keys, self._ended(keys) * self.denominator(total)
        spawned = []
        for exponent in game.spawn_exponents:
            states, origin = reader.spawns(keys, exponent)
            # A spawn divides D by B once for each two units of the sum.
            more = self._base ** ((1 << exponent) // 2) // d
            worths = self._states(states, total + (1 << exponent)) * more
            empty = np.bincount(origin, minlength=len(keys))
            spawned.append((worths, origin, game.spawn.weight(exponent), empty))
        values = np.zeros((self._rows, len(keys)), dtype=object)
        for row in range(self._rows):
            for worths, origin, weight, empty in spawned:
                here = worths[row]
                if self.play == "undo" and row:
                    here = np.maximum(here, values[0][origin])
                sums = np.add.reduceat(here, np.searchsorted(origin, np.arange(len(keys))))
                values[row] += sums * weight // (empty * game.spawn.denominator)  # without a rest
        return keys, values

    def _states(self, states: Array, total: int) -> Array:
        """Return the rows of values of states of a sum over D(total) and the denominator of the discount."""
        if self.game.reached(total):
            won = self._with_rows(np.full(len(states), self._won, dtype=object))
            return won * (self.denominator(total) * self.objective.discount.denominator)
        return self._best(states, total, *self._worths(states, total))

    def _worths(self, states: Array, total: int) -> tuple[Array, Array]:
        """Return what slides are worth over D(total), ``[row, slide, state]``, and which are allowed."""
        one, links = self.denominator(total), self._reader.layer(total).link(states)
        values = self._values.get(total, np.zeros((self._rows, 0), dtype=object))
        front = np.zeros((self._rows, FIRST), dtype=object)
        front[:, WON : WON + 1] = self._with_rows(np.full(1, self._won * one, dtype=object))
        worths = np.concatenate([front, values], axis=1)[:, links.slots]
        for k in range(len(links.slots)):
            gains = np.full(len(states), self.objective.slide, dtype=object)
            if self.objective.merge:
                gains = gains + _whole(links.gains[k // 2])
            worths[0, k] += gains * one
            if self.play == "undo":
                worths[1, k] += gains * one
        return worths, links.slots != NONE

    def _state_sums(self) -> set[int]:
        """Return the sums of the states whose values may be asked for."""
        before = [total for total in self._sums if not self.game.ended(total)]
        sums = {total + (1 << exponent) for total in before for exponent in self.game.spawn_exponents}
        sums |= {self.game.sum(board) for board, _ in self.game.starts()}
        return {total for total in sums if not self.game.reached(total)}

    def _state_layer(self, total: int) -> ExactLayer:
        """Return the values of the states of a sum that has some."""
        game, discount = self.game, self.objective.discount
        starts = [game.pack(board) for board, _ in game.starts() if game.sum(board) == total]
        made = [self._reader.compiled.canonical(np.array(starts, dtype=np.uint64))]
        for exponent in game.spawn_exponents:
            before = total - (1 << exponent)
            if before in self._sums and not game.ended(before):
                made.append(self._reader.spawns(self._reader.keys(before), exponent)[0])
        (keys,) = merge_weights(np.concatenate(made))
        worths, allowed = self._worths(keys, total)
        slides = self.objective.told(worths[0] * discount.numerator)
        slides[~allowed] = None
        values = self.objective.told(self._best(keys, total, worths, allowed)[0])
        one = self.denominator(total) * discount.denominator
        return ExactLayer(total, keys, values, one, slides.T)

    def _best(self, states: Array, total: int, worths: Array, allowed: Array) -> Array:
        """Return what `_states` does, from what slides are worth: of the slide that the player takes."""
        above, below = worths.max(initial=0) + 1, worths.min(initial=0) - 1
        if self.play == "worst":
            chosen: Array = np.where(allowed, worths, above).min(axis=1)
        else:
            chosen = np.where(allowed, worths, below).max(axis=1)
        if self.play == "fastest":
            # A slide takes one move in each game that is won after it.
            slides = np.where(allowed & (worths[0] == chosen[0]), worths[1], above).min(axis=0)
            chosen = np.stack([chosen[0], chosen[0] + slides])
        discount = self.objective.discount
        ends = self._ended(states) * (self.denominator(total) * discount.denominator)
        either: Array = np.where(allowed.any(axis=0), chosen * discount.numerator, ends)
        return either

    def _ended(self, boards: Array) -> Array:
        """Return the rows of what boards are worth on which the game ends, if they are not won."""
        return self._with_rows(_whole(end_values(self.objective, self._reader.compiled.tops(boards))))

    def _with_rows(self, ends: Array) -> Array:
        """Return the rows of what ends are worth: no slide follows, and there is no spawn to take back."""
        return np.stack([ends, *[ends * (self.play == "undo")] * (self._rows - 1)])


def _whole(numbers: Array) -> Array:
    """Return whole numbers as Python integers, which do not overflow."""
    return np.array([int(number) for number in numbers.tolist()], dtype=object)


def fraction_text(value: Fraction, objective: Objective) -> str:
    """Return a fraction, or if it is long a decimal rounded to `DIGITS` significant digits, with ``≈``.

    >>> fraction_text(Fraction(2, 3), Objective("win"))
    '2/3'
    >>> fraction_text(1 - Fraction(1, 3**90), Objective("win"))
    '≈ 1 - 1.145742637671319864267636924948858003603e-43'
    """
    if len(str(value)) <= DIGITS:
        return str(value)
    if objective.name == "win" and 0 < 1 - value < SMALL:
        return f"≈ 1 - {_decimal(1 - value)}"
    return f"≈ {_decimal(value)}"


def _decimal(value: Fraction) -> str:
    """Return a decimal with `DIGITS` significant digits, rounded to the nearest."""
    from decimal import Context, Decimal

    return str(Context(prec=DIGITS).divide(Decimal(value.numerator), Decimal(value.denominator))).lower()


@dataclass(frozen=True)
class ExactCheck:
    """The distances of the floats of a table from the exact values.

    Attributes
    ----------
    objective:
        The objective that was compared.
    values:
        The number of values that were compared: those of all afterstates, and of the start.
    largest_error:
        The largest distance relative to the exact value; infinite if a value is not 0 where 0 is exact.
    start_error:
        That of the start.
    proved:
        The largest distance that `rounding` allows, relative to the value, of the same values.
    wrong:
        How many values are further from the exact one than that.
    """

    objective: Objective
    values: int
    largest_error: float
    start_error: float
    proved: float
    wrong: int

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return self.__dict__ | {"objective": self.objective.identity}


def check_exactly(table: Table | Path | str, objective: str | None = None, **use: Unpack[Use]) -> ExactCheck:
    """Compare every float of a table with the exact fraction.

    Parameters
    ----------
    table:
        A table of reachable positions, whole, of at most `MOST_AFTERSTATES` afterstates.
    objective:
        The label of an objective whose values are means in floats.  None: the first of the table.
    use:
        The keywords of `Use`.

    Raises
    ------
    UsageError
        If the objective is not such a mean, or the table holds all boards, or was thinned.
    ResourceError
        If the game has too many afterstates.
    """
    opened = open_table(table)
    chosen = _mean(opened.objective(objective), 1)
    if opened.dense or opened.manifest.thinned is not None:
        raise UsageError(
            f"{opened.location.name} does not hold just the reachable positions: fractions are compared with "
            "a whole table of these"
        )
    rounding = Rounding(opened.game, chosen)
    values = wrong = 0
    largest = proved = 0.0

    def compare(value: float, exact: Fraction, total: int) -> float:
        """Compare a float with its exact value, and return their relative distance."""
        nonlocal values, wrong, largest, proved
        away, allowed = abs(Fraction(value) - exact), rounding.error(value, total)
        values += 1
        wrong += away > Fraction(allowed)
        error = float(away / exact) if exact else math.inf if away else 0.0
        largest = max(largest, error)
        if exact:
            proved = max(proved, allowed / float(exact))
        return error

    def compare_layer(layer: ExactLayer) -> None:
        found = opened.prober.layer(layer.sum, chosen)
        stored = np.concatenate([np.zeros(0), *(found.values(chunk) for chunk in range(found.chunks))])
        for number, exact in zip(stored.tolist(), layer.numerators.tolist(), strict=True):
            value = float(chosen.told(chosen.read(number)))
            compare(value, Fraction(exact, layer.denominator), layer.sum)

    start = solve_exactly(opened.game, chosen, layer=compare_layer, **use).start
    error = compare(float(opened.start[chosen.label]), start, 0)
    return ExactCheck(chosen, values, largest, error, proved, wrong)
