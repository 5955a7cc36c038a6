"""A forward search for a game that fills a board, with a bounded number of positions of each layer.

It finds games; it proves nothing by itself.  Cells may be kept: every slide must leave the tile on them as it
is.  A search whose lowest row is kept finds games on a board with any number of complete rows below.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from tilebase._kernels import onward
from tilebase._kernels.arguments import Words
from tilebase.patterns.backward import Table, make_boards, make_scratch, pack, words_of
from tilebase.patterns.effort import ANY, Effort
from tilebase.patterns.moves import replay
from tilebase.patterns.rules import Move, Position, Rules, drops_made
from tilebase.runtime.progress import Pace

CHUNK = 2048
"""Positions between two looks at the clock."""


@dataclass(frozen=True)
class Aim:
    """What a forward search looks for.

    Attributes
    ----------
    start:
        The position before the first drop.
    kept:
        Cells whose tile may not change.
    largest:
        The largest exponent that may be made.
    most:
        How many tiles may have that exponent.
    drops:
        If given, the last position has so many drops of 2s, counted with those of `start`, and no slide is
        left there.  Otherwise the last position is any full board.
    """

    start: Position
    kept: frozenset[int] = field(default_factory=frozenset)
    largest: int = 2
    most: int = 1 << 20
    drops: int | None = None


@dataclass(frozen=True)
class Onward:
    """What a forward search found.

    Attributes
    ----------
    moves:
        The moves from the start on; None if no game was found.
    exhaustive:
        Whether no position was left out.
    positions:
        How many positions it kept.
    stopped:
        Whether time ran out.
    """

    moves: tuple[Move, ...] | None
    exhaustive: bool
    positions: int
    stopped: bool = False


def search_on(
    rules: Rules,
    aim: Aim,
    effort: Effort = ANY,
    *,
    width: int,
) -> Onward:
    """Look for a game from a position to an aim, keeping at most `width` positions of each layer."""
    return _Search(rules, aim, width, effort.seed).run(effort.deadline, effort.pace("positions"))


class _Search:
    def __init__(self, rules: Rules, aim: Aim, width: int, seed: int) -> None:
        self.rules, self.aim, self.width = rules, aim, width
        boards = make_boards(rules, aim.largest + 1)
        if any(aim.start):
            boards = boards._replace(images=boards.images[:1])
        self.boards = boards
        self.scratch = make_scratch(rules, boards, seed)
        self.words = words_of(rules, boards.bits)
        self.random = np.random.default_rng(seed)
        self.kept = np.full(rules.cells, onward.FREE, dtype=np.uint8)
        for cell in aim.kept:
            self.kept[cell] = aim.start[cell]

    def run(self, deadline: float, pace: Pace) -> Onward:
        table = Table(self.words)
        table.add(pack(self.boards, self.scratch, [after for _, after in self.rules.spawns(self.aim.start)]))
        layers = [table.keys()]
        made = drops_made(self.aim.start) + 1
        last = self.rules.cells << (self.aim.largest - 1) if self.aim.drops is None else self.aim.drops
        exhaustive, done = True, 0
        while len(layers[-1]) and made < last:
            made += 1
            goal = np.zeros(self.words, dtype=np.uint64)
            dead = self.aim.drops is not None
            table = Table(self.words)
            stopped = self._advance(layers[-1], table, dead, goal, deadline)
            done += len(layers[-1])
            if goal.any() and (not dead or made == last):
                return Onward(self._moves(layers, goal), exhaustive, done)
            if stopped:
                return Onward(None, False, done, stopped=True)
            keys = self._choose(table.keys())
            exhaustive &= len(keys) == table.used
            layers.append(keys)
            if pace.due():
                pace.report(made, "search", done, min(made / last, 1.0))
        return Onward(None, exhaustive, done)

    def _advance(self, keys: Words, table: Table, dead: bool, goal: Words, deadline: float) -> bool:
        """Fill the table with the positions after some; return whether time ran out."""
        at, used = 0, np.array([table.used], dtype=np.int64)
        while at < len(keys) and not goal.any():
            end = min(at + CHUNK, len(keys))
            at = onward.advance(
                keys, at, end, self.boards, self.kept, self.aim.most, dead, table.slots, used, goal,
                self.scratch,
            )  # fmt: skip
            table.used = int(used[0])
            if at < end:
                table.grow()
            if time.perf_counter() > deadline:
                return True
        return False

    def _choose(self, keys: Words) -> Words:
        """Return the positions that are kept: those with few equal neighbours, but with some chance."""
        if len(keys) <= self.width:
            return keys
        pairs = np.zeros(len(keys), dtype=np.int64)
        onward.count_pairs(keys, self.boards, self.scratch, pairs)
        order = np.argpartition(pairs + 4 * self.random.random(len(keys)), self.width)
        return keys[np.sort(order[: self.width])]

    def _moves(self, layers: list[Words], goal: Words) -> tuple[Move, ...]:
        """Return the moves of the game to a goal."""
        chain = [goal]
        for keys in reversed(layers):
            chain.append(keys[onward.find_source(keys, self.boards, chain[-1], self.scratch)])
        wanted = [bytes(key) for key in reversed(chain)]
        rules = Rules(self.rules.rows, self.rules.columns, most=self.aim.largest)
        moves: list[Move] = []
        position = self.aim.start
        for key in wanted:
            slides = [((), position)] if not moves else [((d,), then) for d, then in rules.slides(position)]
            options = [(*d, new, then) for d, after in slides for new, then in rules.spawns(after)]
            found = pack(self.boards, self.scratch, [option[-1] for option in options])
            *step, position = next(o for o, k in zip(options, found, strict=True) if bytes(k) == key)
            moves += step
        replay(rules, moves, self.aim.start)
        return tuple(moves)
