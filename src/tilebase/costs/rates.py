"""How fast a machine is: the rates of one thread, and of what many machines share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rates:
    """The rates of one thread of a machine.  Times are CPU seconds.

    Attributes
    ----------
    layer:
        For each layer that is counted, solved or passed: files, journal and small arrays.
    state, rank:
        To count, per reachable state, and per rank of the index of a layer, whose bits are read.
    after, spawn, known_spawn, fold:
        To solve, per afterstate; per spawn after it; the same where the slides of the states were recorded;
        and per spawn for each further objective.
    boards, masked_boards, several_boards:
        Of a pass over all boards with values, per board; the same for games with a mask, and with several
        masks, whose index ranks up to 2.6 times as many boards.
    bits:
        The same with Boolean values as bits.
    opened:
        Of a search for forced wins, per afterstate that it opens.
    disk:
        Bytes per second from and to a disk.
    exchange, load, shared_boards:
        More on many machines: per state that is counted, to hand ranks to other workers; per afterstate, to
        load a solved layer; per board of a pass over all boards, for ranges of files and checksums.
    piece, step:
        Of the scheduler for a piece, and from the last piece of a step to the first of the next.
    """

    layer: float = 4e-4
    state: float = 5.2e-8
    rank: float = 4.5e-10
    after: float = 2e-8
    spawn: float = 3.3e-8
    known_spawn: float = 1.9e-8
    fold: float = 1.5e-8
    boards: float = 1 / 35e6
    masked_boards: float = 1 / 45e6
    several_boards: float = 1 / 18e6
    bits: float = 1 / 400e6
    opened: float = 1 / 5.5e5
    disk: float = 1e9
    exchange: float = 3e-8
    load: float = 1.5e-8
    shared_boards: float = 2.5e-8
    piece: float = 1e-3
    step: float = 0.05

    def values(self, masks: int) -> float:
        """Seconds per board of a pass over all boards of a game with so many masks, without bits."""
        return (self.boards, self.masked_boards, self.several_boards)[min(masks, 2)]


FIXED = Rates()
"""Rates of two virtual cores of a server processor with AVX-512."""


def rates() -> Rates:
    """The rates of this machine."""
    return FIXED
