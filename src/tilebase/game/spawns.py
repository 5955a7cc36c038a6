"""The spawn law: which tiles are spawned on which cells, and with which probability.

Nothing else in the program knows a probability of a spawn.  In the original game a spawned tile is a 4 with
probability 1/10, and each empty cell is as likely as any other.  A law may depend on the number of cells that
are empty before the spawn, or spawn any tiles, or give weights to cells.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from tilebase.errors import GameError, UsageError
from tilebase.game.notation import count_of, fraction_of, split_cells

MOST_DENOMINATOR = 10**18
"""Largest common denominator of the probabilities of a law."""
MOST_WEIGHT = 1000
"""Largest weight of a cell."""


@dataclass(frozen=True)
class SpawnLaw:
    """The probability that a spawned tile is a 4; otherwise it is a 2.  Or the probabilities of any tiles.

    Written as ``"1/10"``, or as ``"1/10, 4: 1/4, 1: 1/2"``: with at most 4 empty cells 1/4, with one 1/2.  A
    law that depends on the number of empty cells spawns both tiles on every board.  A law over other tiles is
    written as ``"2: 9/10, 8: 1/10"``; the probabilities sum to 1.  ``"2: 9/10, 4: 1/10"`` is ``"1/10"``.

    Weights of cells follow any law after the word ``on``, one for each cell in row-major order, as
    ``"1/10 on 1,2/2,4"``: the tile falls on an empty cell with the probability of the weight of the cell over
    the sum of the weights of all empty cells.  The tile does not depend on the cell.

    Attributes
    ----------
    four:
        The probability of a 4 where no other applies.
    few:
        Pairs ``(n, p)``, n ascending: with at most n empty cells, but more than in the pair before, it is p.
    others:
        Pairs of exponent and probability, ascending, of a law that spawns other tiles than 2 and 4; then
        `four` is the probability of a 4 among them.  Empty for other laws.
    cells:
        The weight of each cell, without a common divisor; 0 on cells that no tile enters (`fitted`).  Empty
        if all cells weigh the same.

    >>> law = SpawnLaw.of("0.1, 3: 1/4")
    >>> str(law), law.chance(2, 3), law.chance(1, 4), law.denominator
    ('1/10, 3: 1/4', Fraction(1, 4), Fraction(9, 10), 20)
    """

    four: Fraction
    few: tuple[tuple[int, Fraction], ...] = ()
    others: tuple[tuple[int, Fraction], ...] = ()
    cells: tuple[int, ...] = ()

    @classmethod
    def of(cls, law: SpawnLaw | Fraction | float | str | int) -> SpawnLaw:
        """Return the law that a user wrote.  Raises `GameError` unless it is one."""
        if isinstance(law, SpawnLaw):
            return law
        if isinstance(law, str) and " on " in law:
            tiles, _, weights = law.partition(" on ")
            return replace(cls.of(tiles), cells=_weights(weights))
        first: Any = law
        others: list[str] = []
        if isinstance(law, str) and ":" in law.partition(",")[0]:
            return _law_of_tiles(law)
        if isinstance(law, str):
            first, *others = re.split(r"\s*,\s*", law.strip())
        few = {}
        for word in others:
            most, colon, chance = word.partition(":")
            if not (colon and most.strip().isdecimal() and 0 < int(most) < 100) or int(most) in few:
                raise GameError(
                    f"{word[:40]!r} is not part of a spawn law: write the largest number of empty cells, a "
                    "colon and the probability of a 4, as 4: 1/4"
                )
            few[int(most)] = _probability(chance.strip())
        found = cls(_probability(first), tuple(sorted(few.items())))
        if few and not all(0 < p < 1 for p in found.fours):
            raise GameError(
                "a spawn law that depends on the number of empty cells must always spawn both 2s and 4s: "
                f"no probability of {str(law)[:40]!r} may be 0 or 1"
            )
        if found.denominator > MOST_DENOMINATOR:
            raise GameError(f"the probabilities of {str(law)[:40]!r} have too large a common denominator")
        return found

    def __str__(self) -> str:
        where = f" on {','.join(map(str, self.cells))}" if self.cells else ""
        if self.others:
            return ", ".join(f"{1 << e}: {p}" for e, p in self.others) + where
        return ", ".join([str(self.four), *(f"{n}: {p}" for n, p in self.few)]) + where

    def fitted(self, cells: int, closed: Collection[int]) -> SpawnLaw:
        """Return the law for a board of so many cells, some of which no tile enters.

        Raises `GameError` unless it has a weight for each cell, positive where a tile can be spawned.
        """
        if not self.cells:
            return self
        if len(self.cells) != cells:
            raise GameError(
                f"{count_of(len(self.cells), 'weight')} of cells in the spawn law, and the board has "
                f"{count_of(cells, 'cell')}: give a weight for each cell"
            )
        weights = [0 if cell in closed else weight for cell, weight in enumerate(self.cells)]
        for cell, weight in enumerate(weights):
            if not weight and cell not in closed:
                raise GameError(
                    f"the weight of cell {cell} is 0: give a whole number from 1 to {MOST_WEIGHT}"
                )
        shared = math.gcd(*weights)
        fitted = () if len(set(weights) - {0}) <= 1 else tuple(weight // shared for weight in weights)
        return replace(self, cells=fitted)

    @property
    def with_equal_cells(self) -> SpawnLaw:
        """The law that spawns the same tiles, with all cells of the same weight."""
        return replace(self, cells=())

    @property
    def fours(self) -> list[Fraction]:
        """All probabilities of a 4."""
        return [self.four, *(p for _, p in self.few)]

    @cached_property
    def exponents(self) -> tuple[int, ...]:
        """Exponents that are spawned with positive probability, ascending."""
        return tuple(e for e, p in self._tiles(self.four).items() if p > 0)

    @cached_property
    def denominator(self) -> int:
        """The least common denominator of all probabilities."""
        return math.lcm(*(p.denominator for p in self.fours), *(p.denominator for _, p in self.others))

    @property
    def depends(self) -> bool:
        """Whether it depends on the number of empty cells."""
        return bool(self.few)

    def chance(self, exponent: int, empty: int) -> Fraction:
        """Return the probability that a tile that is spawned on one of `empty` cells has this exponent."""
        four = next((p for n, p in self.few if empty <= n), self.four)
        return self._tiles(four).get(exponent, Fraction(0))

    @property
    def is_common(self) -> bool:
        """Whether no other tiles than 2 and 4 are spawned."""
        return not self.others

    def mixed(self, exponent: int, empty: int) -> Fraction:
        """Return the part of larger tiles among the spawned tiles that are at least 2 to the exponent.

        `chance` of them all, by that of these and of the exponent: so a mean over all tiles is mixed from the
        largest tile on.
        """
        larger = sum((self.chance(e, empty) for e in self.exponents if e > exponent), Fraction(0))
        return larger / (larger + self.chance(exponent, empty)) if larger else Fraction(0)

    def _tiles(self, four: Fraction) -> dict[int, Fraction]:
        """Return the probability of each exponent if that of a 4 is `four`."""
        return dict(self.others) or {1: 1 - four, 2: four}

    def weight(self, cell: int) -> int:
        """Return the weight of a cell; 1 if all cells weigh the same."""
        return self.cells[cell] if self.cells else 1

    def weight_of(self, cells: Iterable[int]) -> int:
        """Return the sum of the weights of some cells; their number if all cells weigh the same."""
        return sum(map(self.weight, cells))

    def most_weight(self, cells: int) -> int:
        """Return the sum of the weights of all cells of a board of so many cells."""
        return sum(self.cells) if self.cells else cells

    def totals(self, cells: int) -> set[int]:
        """Return the sums of weights that the empty cells of a board of so many cells may have."""
        found = {0}
        for weight in self.cells or (1,) * cells:
            found |= {total + weight for total in found}
        return found - {0}

    def weights(self, exponent: int, cells: int) -> list[int]:
        """``[n]``: `chance` with n empty cells, up to `cells`, as a numerator over `denominator`."""
        return [int(self.chance(exponent, n) * self.denominator) for n in range(cells + 1)]

    @property
    def words(self) -> str:
        """The law in words: ``2 with probability 9/10 and 4 with probability 1/10``.

        If it depends on the number of empty cells, the other probabilities of a 4 follow in brackets.
        """
        law = " and ".join(f"{2**e} with probability {p}" for e, p in self._tiles(self.four).items() if p)
        few = [f"{p} with at most {count_of(n, 'empty cell')}" for n, p in reversed(self.few)]
        where = f" on cells of the weights {','.join(map(str, self.cells))}" if self.cells else ""
        return (f"{law} ({', '.join(few)})" if few else law) + where


MOST_TILE = 1 << 8
"""The largest tile that may be spawned."""


def _weights(text: str) -> tuple[int, ...]:
    """Read the weights of cells; a wall may be written ``#``.  Raises `GameError`."""
    words = ["0" if word == "#" else word for word in split_cells(text)]
    wrong = [word for word in words if not word.isdecimal() or len(word) > 6 or int(word) > MOST_WEIGHT]
    if wrong or not words:
        raise GameError(
            f"{(wrong or [text])[0][:40]!r} is not a weight of a cell: give a whole number from 1 to "
            f"{MOST_WEIGHT} for each cell, as 1,2/2,4"
        )
    return tuple(map(int, words))


def _law_of_tiles(text: str) -> SpawnLaw:
    """Return the law that names each tile with its probability.  Raises `GameError`."""
    found: dict[int, Fraction] = {}
    for word in text.split(","):
        tile, _, chance = word.strip().partition(":")
        number = int(tile) if tile.strip().isdecimal() and len(tile) < 6 else 0
        if not (2 <= number <= MOST_TILE and number & (number - 1) == 0) or number.bit_length() - 1 in found:
            raise GameError(
                f"{word.strip()[:40]!r} is not part of a spawn law: write each tile once, a power of two "
                f"from 2 to {MOST_TILE}, a colon and its probability, as 2:0.9,8:0.1"
            )
        found[number.bit_length() - 1] = _probability(chance.strip(), f"a spawned {number}")
    if sum(found.values()) != 1:
        raise GameError(f"the probabilities of {text[:40]!r} sum to {sum(found.values())}, but must sum to 1")
    tiles = tuple(sorted((e, p) for e, p in found.items() if p))
    four = found.get(2, Fraction(0))
    if {e for e, _ in tiles} <= {1, 2}:
        return SpawnLaw(four)
    law = SpawnLaw(four, (), tiles)
    if law.denominator > MOST_DENOMINATOR:
        raise GameError(f"the probabilities of {text[:40]!r} have too large a common denominator")
    return law


def _probability(value: Any, tile: str = "a 4") -> Fraction:
    """Read a probability, exact.  Raises `GameError` unless it lies in [0, 1]."""
    text = str(value)[:40]
    try:
        result = fraction_of(value)
    except (ValueError, TypeError) as error:
        raise GameError(
            f"{text!r} is not a probability: write a decimal or a fraction, as 0.1 or 1/10"
        ) from error
    if result.denominator > MOST_DENOMINATOR:
        raise GameError(f"the probability {text} has too many digits: at most eighteen behind the point")
    if not 0 <= result <= 1:
        raise GameError(f"the probability of {tile} is {text}, but must lie between 0 and 1")
    return result


ORIGINAL = SpawnLaw(Fraction(1, 10))
"""The law of the original game."""
SPAWNED = {"2,4": ORIGINAL, "2": SpawnLaw(Fraction(0)), "4": SpawnLaw(Fraction(1))}
"""The tiles that an adversary may spawn, and a law that spawns just these."""


def law_of(spawns: str) -> SpawnLaw:
    """Make a law that spawns exactly these tiles.  Raises `UsageError`."""
    word = ",".join(sorted(spawns.replace(" ", "").split(",")))
    if word not in SPAWNED:
        raise UsageError(
            f"the spawned tiles must be 2,4 or 2 or 4, not {spawns!r}: for others, tilebase solve with "
            "--objective guaranteed --spawn 2:0.5,8:0.5 says whether a win can be forced"
        )
    return SPAWNED[word]
