"""The largest exponents on the boards of a game, and where each bound comes from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tilebase.game.grid import Cells

UNBOUNDED = 64
"""Stands for the largest exponent where no rule bounds tiles; a packed key holds far less."""


@dataclass(frozen=True)
class Bounds:
    """The largest exponents of ordinary tiles on the boards of a game.

    Attributes
    ----------
    code:
        The largest that fits into a cell of a packed key.
    built:
        The largest that play from the start can make.
    anywhere:
        The largest on a board that is not won and not beyond the horizon, whatever the limits; `UNBOUNDED` if
        no rule bounds tiles.
    allowed:
        For each cell, the largest that the rules allow on a board that is not won; 0 where no ordinary tile
        can be.  It does not depend on the start.
    """

    code: int
    built: int
    anywhere: int
    allowed: Cells

    @cached_property
    def tops(self) -> Cells:
        """For each cell, the largest on a board that play from the start can make, and that is not won.

        Engines index boards up to these.  Boards that no play makes may hold more: see `allowed`.
        """
        return tuple(min(self.built, most) for most in self.allowed)

    @cached_property
    def packed(self) -> Cells:
        """For each cell, the largest that the rules allow and that fits into a packed key."""
        return tuple(min(self.code, most) for most in self.allowed)

    @property
    def closed(self) -> bool:
        """Whether all boards that the rules allow hold only tiles that play from the start can build."""
        return self.tops == self.allowed

    @property
    def cuts_merges(self) -> bool:
        """Whether a limit may forbid a merge, whatever cell it is on."""
        return max(self.tops) < min(self.built, self.anywhere)
