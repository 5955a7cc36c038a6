"""Retrograde analysis with sets of boards.

``sum``: layer by layer, the largest sum first.  A spawn adds 2 or 4 and a slide adds nothing, so each layer
needs only the two above it and one step, and nothing is iterated.  Edixhoven proposes such sweep lines
(section 6.3) and did not try them.

``sweep``: his sweep lines (k, l): the boards with l tiles of exponent k and none above, from the largest k
and l down.  Within a line the two preimages alternate until nothing is added.

``accumulative``: one set of all boards grows until nothing is added (his algorithm 1).

The *winner* is the side whose least fixpoint is computed.  A state is in the set if that side wins from
there with the player to move; an afterstate, with a spawn to come.
"""

from __future__ import annotations

import math
import operator
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from tilebase.bdd.sets import Diagram, Sets
from tilebase.counting.combinatorics import boards_by_sum
from tilebase.game.game import Cells, Game

STRATEGIES = ("sum", "sweep", "accumulative")
DROPPERS = ("adversary", "helper", "first-cell")
"""Who spawns: an adversary, someone who wants the goal too, or a rule: always on the first empty cell."""
WINNERS = ("slider", "dropper")
SweepLine = tuple[int, int]


@dataclass(frozen=True)
class Line:
    """What was found for one layer or sweep line, or for all boards.

    Attributes
    ----------
    name:
        The sum; ``(k,l)`` for a sweep line; ``all``.
    iterations:
        How often the two preimages were computed.
    seconds:
        Time for it.
    states, afterstates:
        How many are won by the side whose set is computed; -1 if they were not counted.
    nodes:
        Nodes of the larger of the two diagrams at the end; 0 if they were not counted.
    peak:
        Nodes of the largest set during the iterations.
    """

    name: str
    iterations: int
    seconds: float
    states: int = -1
    afterstates: int = -1
    nodes: int = 0
    peak: int = 0


@dataclass(frozen=True)
class Rules:
    """What is solved: who spawns, whose set is computed, and whether all boards are solved.

    Attributes
    ----------
    dropper, winner:
        One of `DROPPERS`, one of `WINNERS`.
    strong:
        Whether the whole set is wanted, and not only whether it holds the start.
    counts:
        Whether boards and nodes are counted.
    lemma:
        Whether states that play from an empty board cannot make (Edixhoven, corollary 7) are left out: for a
        tile of exponent k, k - 1 cells are empty or hold less; k - 2 if 4s are spawned.
    """

    dropper: str = "adversary"
    winner: str = "slider"
    strong: bool = True
    counts: bool = True
    lemma: bool = False


@dataclass
class Part:
    """A layer or a sweep line, while it is solved.

    Attributes
    ----------
    name:
        As in `Line`.
    boards:
        Its states.
    above:
        For each exponent whose spawn leads out of the part: the states that the winner wins there.
    pending:
        Its states from which a slide leads into a part above that lets the slider win.
    afters:
        Its boards as afterstates.
    found:
        The afterstates that the winner wins.
    """

    name: str
    boards: Diagram
    above: dict[int, Diagram]
    pending: Diagram = None
    afters: Diagram = None
    found: Diagram = None


class Analysis:
    """One run of a strategy.

    Attributes
    ----------
    won, won_afters:
        The states and afterstates that the winner wins, by the name of their line, if `keep` is set.
    """

    def __init__(
        self, sets: Sets, rules: Rules, tell: Callable[[Line, float], None], *, keep: bool = False
    ) -> None:
        self.sets, self.game, self.rules, self._tell, self._keep = sets, sets.game, rules, tell, keep
        self.won: dict[str, Diagram] = {}
        self.won_afters: dict[str, Diagram] = {}
        self._found: dict[Cells, bool] = {}
        self._careful = sets.library.careful

    def run(self, strategy: str) -> bool:
        """Whether the winner wins from the start."""
        {"sum": self._by_sum, "sweep": self._by_lines, "accumulative": self._accumulate}[strategy]()
        return self._verdict()

    # -- the strategies ------------------------------------------------------------------------------

    def _by_sum(self) -> None:
        game, layers = self.game, self._careful(self.sets.layers)
        above = self._with_goal_sum(layers)
        least = 0 if self.rules.strong else min(game.sum(board) for board in self.starts)
        totals = [total for total in sorted(layers, reverse=True) if least <= total]
        costs = {total: math.sqrt(count) for total, count in boards_by_sum(game).items()}
        whole, done = sum(costs[total] for total in totals), 0.0
        for total in totals:
            spawned = {e: above.get(total + 2**e, self.sets.none) for e in game.spawn_exponents}
            part = Part(str(total), layers.pop(total), spawned)
            done += costs[total]
            above[total] = self._solve(part, done / whole)
            above.pop(total + 4, None)

    def _with_goal_sum(self, layers: dict[int, Diagram]) -> dict[int, Diagram]:
        """Take the layers that have the goal sum away: what the winner wins of those that a spawn makes."""
        ended = {total: layers.pop(total) for total in [*layers] if self.game.reached(total)}
        if self.rules.winner == "dropper" or not ended:
            return {}
        return {total: ended[total] for total in ended if total < min(ended) + 4}

    def _by_lines(self) -> None:
        sets, spawned = self.sets, self.game.spawn_exponents
        lines = self._careful(self._sweep_lines)
        pending: dict[SweepLine, Diagram] = {}
        kept: dict[SweepLine, Diagram] = {}
        for done, line in enumerate(sorted(lines, reverse=True), 1):
            k, count = line
            above = {e: kept.get((k, count + 1) if e == k else (e, 1), sets.none) for e in spawned if e >= k}
            part = Part(f"({k},{count})", lines.pop(line), above)
            part.pending = pending.pop(line, sets.none)
            states = self._solve(part, done / (done + len(lines)))
            if not self.rules.strong and self._found.keys() >= set(self.starts):
                break
            if k <= spawned[-1]:
                kept[line] = states
            lower = {other: boards for other, boards in lines.items() if other[0] >= k - 1}
            for other, boards in self._careful(self._passed, part, lower).items():
                pending[other] = self._careful(operator.or_, pending.get(other, sets.none), boards)

    def _accumulate(self) -> None:
        self._solve(Part("all", self._careful(getattr, self.sets, "every"), {}), 1.0)

    def _sweep_lines(self) -> dict[SweepLine, Diagram]:
        """The states with `count` tiles of exponent k and none above, by (k, count)."""
        found: dict[SweepLine, Diagram] = {}
        for k in range(max(self.game.tops) + 1):
            plain = {value: int(value == k > 0) for value in self.sets.values if value <= k}
            xs = {value: 0 for value in self.sets.values if self.game.is_x(value)}
            by_count = self.sets.by_total(plain | xs)
            found |= {(k, count): boards for count, boards in by_count.items() if count or not k}
        return found

    # -- one layer or line ---------------------------------------------------------------------------

    def _solve(self, part: Part, fraction: float) -> Diagram:
        """The states of a part that the winner wins."""
        sets, began = self.sets, time.perf_counter()
        part.afters = self._careful(sets.as_afters, part.boards)
        if self.rules.lemma:
            possible = self._careful(getattr, self, "_possible")
            part.boards = self._careful(operator.and_, part.boards, possible)
        # A sum needs one step: what follows a spawn has another sum.
        once = part.above.keys() >= set(self.game.spawn_exponents)
        states = sets.none if once else self._careful(self._states, part, sets.none)
        iterations = peak = 0
        while True:
            found = self._careful(self._afters, part, states)
            iterations += 1
            if found == part.found:
                break
            part.found, before = found, states
            states = self._careful(self._states, part, found)
            if self.rules.counts:
                peak = max(peak, sets.nodes(states), sets.nodes(found))
            self._careful(self._look_up, states, part)
            if once or states == before or (not self.rules.strong and self._verdict()):
                break
        if self._keep:
            self.won[part.name], self.won_afters[part.name] = states, part.found
        line = Line(part.name, iterations, time.perf_counter() - began)
        if self.rules.counts:
            line = replace(
                line,
                states=self._careful(sets.count, states),
                afterstates=self._careful(sets.count, part.found, after=True),
                nodes=max(sets.nodes(states), sets.nodes(part.found)),
                peak=peak,
            )
        self._tell(line, fraction)
        return states

    def _afters(self, part: Part, states: Diagram) -> Diagram:
        """The afterstates of a part that the winner wins, if it wins these states of the part."""
        sets, rules = self.sets, self.rules
        chooses = rules.dropper == "helper" or rules.winner == "dropper"
        reached = []
        for exponent in self.game.spawn_exponents:
            above = part.above.get(exponent, states)
            wanted = above if chooses else sets.others(above)
            reached.append(sets.spawns_into(wanted, exponent, first=rules.dropper == "first-cell"))
        spawned = part.afters & sets.open
        afters = spawned & sets.union(reached) if chooses else sets.minus(spawned, sets.union(reached))
        if not self.game.patterns:
            return afters
        won = part.afters & sets.matching
        return afters | won if rules.winner == "slider" else sets.minus(afters, won)

    def _states(self, part: Part, afters: Diagram) -> Diagram:
        """The states of a part that the winner wins, from the afterstates that it wins."""
        sets, for_slider = self.sets, self.rules.winner == "slider"
        into = self._slides_into(afters if for_slider else sets.minus(part.afters, afters))
        saved = sets.union([into, sets.making] if part.pending is None else [into, sets.making, part.pending])
        return part.boards & saved if for_slider else sets.minus(part.boards, saved)

    def _passed(self, part: Part, lower: dict[SweepLine, Diagram]) -> dict[SweepLine, Diagram]:
        """The states of lower sweep lines from which a slide leads into a part that lets the slider win."""
        sets = self.sets
        afters = part.found if self.rules.winner == "slider" else sets.minus(part.afters, part.found)
        into = self._slides_into(afters) if lower else sets.none
        return {line: boards & into for line, boards in lower.items()}

    def _slides_into(self, afters: Diagram) -> Diagram:
        return self.sets.slides_into(afters, symmetric=self.rules.dropper != "first-cell")

    @cached_property
    def _possible(self) -> Diagram:
        """The states that corollary 7 allows."""
        sets, spawned = self.sets, self.game.spawn_exponents[-1]
        possible = sets.every
        for k in range(spawned + 1, max(self.game.tops) + 1):
            without = sets.where([[value for value in values if value != k] for values in sets.allowed])
            by_count = sets.by_total({value: int(value < k) for value in sets.values})
            crowded = sets.union(boards for count, boards in by_count.items() if count < k - spawned)
            possible = sets.minus(possible, sets.minus(crowded, without))
        return possible

    # -- the start -----------------------------------------------------------------------------------

    @cached_property
    def starts(self) -> list[Cells]:
        """The states that play can begin with."""
        game = self.game
        if self.rules.dropper != "first-cell" or game.start_board is not None:
            return [board for board, _ in game.starts()]
        begun = [game.empty_board]
        for _ in range(1 if game.start == "empty" else 2):
            begun = [after for board in begun for after in _first_spawns(game, board)]
        return begun

    def _look_up(self, states: Diagram, part: Part) -> None:
        """Note which starts of a part are won."""
        for board in self.starts:
            if self.sets.holds(part.boards, board):
                self._found[board] = self.sets.holds(states, board)

    def _verdict(self) -> bool:
        """Whether the winner wins, as far as is known: who spawns chooses the start too."""
        found = [self._found.get(board, False) for board in self.starts]
        chooses = self.rules.dropper == "helper" or self.rules.winner == "dropper"
        return any(found) if chooses else all(found)


def _first_spawns(game: Game, board: Cells) -> list[Cells]:
    """The boards after a spawn on the first empty cell; none if there is no such cell."""
    cells = [cell for cell, value in enumerate(board) if not value and cell not in game.walls]
    return [board[:cell] + (e,) + board[cell + 1 :] for cell in cells[:1] for e in game.spawn_exponents]
