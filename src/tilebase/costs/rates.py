"""How fast a machine is: the rates of docs/performance.md, per thread."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rates:
    """The rates of one thread of a machine.

    Attributes
    ----------
    count:
        Seconds per state to count.
    solve, masked_solve, fold:
        Seconds per afterstate to solve the first objective; the same for games with masks, which mostly have
        no symmetry (measured: 0.7e-7 to 1.3e-7); for each further objective.
    boards, masked_boards, several_boards:
        Boards per second of a pass over all boards with uint32 values; the same for games with a mask
        (measured: 41e6 to 55e6), and with several masks, whose index ranks up to 2.6 times as many boards
        (measured: 15e6 to 26e6).
    bits:
        Boards per second of such a pass with Boolean values as bits.
    search:
        Afterstates per second that a search for forced wins opens.
    disk:
        Bytes per second from and to a disk.
    shared_count, shared_solve, load, shared_boards:
        CPU seconds on many machines: per state to count, handing ranks to other workers included; per
        afterstate to solve the first objective; per afterstate to load a solved layer; per board of a pass
        over all boards to read and write ranges of files and for checksums.
    piece, step:
        Seconds of the scheduler for a piece, and from the last piece of a step to the first of the next.
    """

    count: float = 8e-8
    solve: float = 4e-7
    masked_solve: float = 1.2e-7
    fold: float = 1e-7
    boards: float = 35e6
    masked_boards: float = 45e6
    several_boards: float = 18e6
    bits: float = 400e6
    search: float = 5.5e5
    disk: float = 1e9
    shared_count: float = 1.1e-7
    shared_solve: float = 4.2e-7
    load: float = 1.5e-8
    shared_boards: float = 2.5e-8
    piece: float = 1e-3
    step: float = 0.05

    def values(self, masks: int) -> float:
        """Boards per second of a pass over all boards of a game with so many masks, without bits."""
        return (self.boards, self.masked_boards, self.several_boards)[min(masks, 2)]


FIXED = Rates()
"""Rates of two virtual cores of a server processor with AVX-512."""


def rates() -> Rates:
    """The rates of this machine."""
    return FIXED
