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
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from tilebase.bdd.sets import Diagram, Sets
from tilebase.counting.combinatorics import boards_by_sum
from tilebase.game.game import Cells, Game

if TYPE_CHECKING:
    from tilebase.bdd.checkpoints import Checkpoints

STRATEGIES = ("sum", "sweep", "accumulative")
VARIANTS = ("adversarial", "cooperative", "deterministic")
"""Who spawns: an adversary, someone who wants the goal too, or a rule: always on the first empty cell."""
PLAYERS = ("slider", "dropper")
SweepLine = tuple[int, int]
STATES = "states"
"""The name, in a checkpoint within a line, of the states that are found so far."""


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
    variant, player:
        One of `VARIANTS`, one of `PLAYERS`.
    strong:
        Whether the whole set is wanted, and not only whether it holds the start.
    counts:
        Whether boards and nodes are counted.
    corollary7:
        Whether states that play from an empty board cannot make are left out: those that break Edixhoven's
        corollary 7, and, a condition of ours, those without a tile that was just spawned.  For a tile of
        exponent k, k - 1 cells are empty or hold less; k - 2 if 4s are spawned.
    until:
        The name of the last line that is computed; empty for all.
    """

    variant: str = "adversarial"
    player: str = "slider"
    strong: bool = True
    counts: bool = True
    corollary7: bool = False
    until: str = ""


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
    ended:
        Whether its sum has reached the horizon, so that a slide that makes one of its boards is the last.
    held:
        What a checkpoint within the part needs beside its states; None if none is written.
    """

    name: str
    boards: Diagram
    above: dict[int, Diagram]
    pending: Diagram = None
    afters: Diagram = None
    found: Diagram = None
    ended: bool = False
    held: dict[str, Diagram] | None = None


class Analysis:
    """One run of a strategy.

    Attributes
    ----------
    won, won_afters:
        The states and afterstates that the winner wins, by the name of their line, if `keep` is set.

    `tell(line, fraction)` is called after each line; `step(iterations)` within a line that is iterated.
    `checkpoints` are continued and written.
    """

    def __init__(
        self,
        sets: Sets,
        rules: Rules,
        tell: Callable[[Line, float], None],
        *,
        step: Callable[[int], None] | None = None,
        keep: bool = False,
        checkpoints: Checkpoints | None = None,
    ) -> None:
        self.sets, self.game, self.rules, self._tell, self._keep = sets, sets.game, rules, tell, keep
        self._step = step
        self.won: dict[str, Diagram] = {}
        self.won_afters: dict[str, Diagram] = {}
        self._checkpoints = checkpoints
        self._loaded: dict[str, Diagram] = {}
        self._last = Line("", 0, 0.0)
        self._found: dict[Cells, bool] = {}

    def run(self, strategy: str) -> bool | None:
        """Return whether the winner wins from the start; None if the work stopped before (`Rules.until`)."""
        self.sets.prepare()
        if self._checkpoints is not None:
            self._loaded = self._checkpoints.load()
        {"sum": self._by_sum, "sweep": self._by_lines, "accumulative": self._accumulate}[strategy]()
        return None if self._is_last() else self._verdict()

    def _is_last(self) -> bool:
        """Return whether the line that was just finished is the last one."""
        return bool(self.rules.until) and self._last.name == self.rules.until

    # -- the strategies ------------------------------------------------------------------------------

    def _by_sum(self) -> None:
        game, layers = self.game, self.sets.layers()
        above = self._with_goal_sum(layers)
        least = 0 if self.rules.strong else min(game.sum(board) for board in self.starts)
        most = max(layers, default=0) if game.horizon is None else game.last_sum
        totals = [total for total in sorted(layers, reverse=True) if least <= total <= most]
        costs = {total: math.sqrt(count) for total, count in boards_by_sum(game).items()}
        whole, done = sum(costs.get(total, 1.0) for total in totals), 0.0
        above |= {int(name): states for name, states in self._loaded.items()}
        self._loaded = {}
        for line in self._finished:
            done += costs.get(int(line.name), 1.0)
            self._tell(line, done / whole)
        for total in totals:
            if above and total >= min(above):
                continue
            spawned = {e: above.get(total + 2**e, self.sets.none) for e in game.spawn_exponents}
            part = Part(str(total), layers.pop(total), spawned, ended=game.ended(total))
            done += costs.get(total, 1.0)
            above[total] = self._solve(part, done / whole)
            if self._is_last():
                return
            above.pop(total + 4, None)
            if total > self._latest:
                self._note({str(other): states for other, states in above.items()})

    @property
    def _finished(self) -> list[Line]:
        """The lines that earlier runs have finished."""
        return [] if self._checkpoints is None else self._checkpoints.lines

    def _note(self, held: dict[str, Diagram]) -> None:
        """Note the line that was just finished, and what the others need."""
        if self._checkpoints is not None:
            self._checkpoints.add(self._last, held)

    def _with_goal_sum(self, layers: dict[int, Diagram]) -> dict[int, Diagram]:
        """Take the layers that have the goal sum away: what the winner wins of those that a spawn makes."""
        ended = {total: layers.pop(total) for total in [*layers] if self.game.reached(total)}
        if self.rules.player == "dropper" or not ended:
            return {}
        return {total: ended[total] for total in ended if total < min(ended) + 4}

    def _by_lines(self) -> None:
        sets, spawned = self.sets, self.game.spawn_exponents
        lines = self._sweep_lines()
        pending = {line: self._loaded.pop(n) for line in lines if (n := _pending(line)) in self._loaded}
        kept: dict[SweepLine, Diagram] = {}
        finished = {line.name: line for line in self._finished}
        for done, line in enumerate(sorted(lines, reverse=True), 1):
            fraction = done / (done + len(lines) - 1)
            if (name := _name(line)) in finished:
                self._tell(finished[name], fraction)
                del lines[line]
                continue
            k, count = line
            above = {e: kept.get((k, count + 1) if e == k else (e, 1), sets.none) for e in spawned if e >= k}
            part = Part(name, lines.pop(line), above, pending=pending.get(line, sets.none))
            # What is left then takes no time, and would need more than is pending.
            nearly_done = k <= spawned[-1] or self._found
            part.held = None if nearly_done else {_pending(other): found for other, found in pending.items()}
            states = self._solve(part, fraction)
            if self._is_last() or (not self.rules.strong and self._found.keys() >= set(self.starts)):
                break
            pending.pop(line, None)
            if k <= spawned[-1]:
                kept[line] = states
            lower = [other for other in lines if other[0] >= k - 1]
            into = self._slides_into(self._passed(part)) if lower else sets.none
            for other in lower:
                pending[other] = sets.union([pending.get(other, sets.none), sets.both(into, lines[other])])
            if not (nearly_done or self._found):
                self._note({_pending(other): found for other, found in pending.items()})

    def _accumulate(self) -> None:
        self._solve(Part("all", self.sets.every, {}, held={}), 1.0)

    def _sweep_lines(self) -> dict[SweepLine, Diagram]:
        """Return the states with `count` tiles of exponent k and none above, by (k, count)."""
        found: dict[SweepLine, Diagram] = {}
        for k in range(max(self.game.tops) + 1):
            plain = {value: int(value == k > 0) for value in self.sets.values if value <= k}
            xs = {value: 0 for value in self.sets.values if self.game.is_x(value)}
            by_count = self.sets.by_total(plain | xs)
            found |= {(k, count): boards for count, boards in by_count.items() if count or not k}
        return found

    # -- one layer or line ---------------------------------------------------------------------------

    def _solve(self, part: Part, fraction: float) -> Diagram:
        """Return the states of a part that the winner wins."""
        sets, began = self.sets, time.perf_counter()
        part.afters = sets.as_afters(part.boards)
        if self.rules.corollary7:
            part.boards = sets.both(part.boards, self._possible)
        # A sum needs one step: what follows a spawn has another sum.
        once = part.above.keys() >= set(self.game.spawn_exponents)
        begun, states = self._begun(part.name)
        if not (begun.iterations or once):
            states = self._states(part, sets.none)
        began -= begun.seconds
        iterations, peak = begun.iterations, begun.peak
        while True:
            found = self._afters(part, states)
            iterations += 1
            if found == part.found:
                break
            part.found, before = found, states
            states = self._states(part, found)
            if self.rules.counts:
                peak = max(peak, sets.nodes(states), sets.nodes(found))
            for board in self.starts:
                if sets.holds(part.boards, board):
                    self._found[board] = sets.holds(states, board)
            if self._step is not None and not once:
                self._step(iterations)
            if once or states == before or (not self.rules.strong and self._verdict()):
                break
            if self._checkpoints is not None and part.held is not None:
                so_far = Line(part.name, iterations, time.perf_counter() - began, peak=peak)
                self._checkpoints.save(so_far, part.held | {STATES: states})
        if self._keep:
            self.won[part.name], self.won_afters[part.name] = states, part.found
        line = Line(part.name, iterations, time.perf_counter() - began)
        if self.rules.counts:
            line = replace(
                line,
                states=sets.count(states),
                afterstates=sets.count(part.found, after=True),
                nodes=max(sets.nodes(states), sets.nodes(part.found)),
                peak=peak,
            )
        self._tell(line, fraction)
        self._last = line
        return states

    def _begun(self, name: str) -> tuple[Line, Diagram]:
        """Return how far an earlier run came within a part, and the states that it found."""
        begun = None if self._checkpoints is None else self._checkpoints.begun
        if begun is not None and begun.name == name and STATES in self._loaded:
            return begun, self._loaded.pop(STATES)
        return Line(name, 0, 0.0), self.sets.none

    def _afters(self, part: Part, states: Diagram) -> Diagram:
        """Return the afterstates of a part that the winner wins, if it wins these states of the part."""
        sets, rules = self.sets, self.rules
        afters = self._after_spawns(part, states)
        if not self.game.patterns:
            return afters
        won = sets.both(part.afters, sets.matching)
        return sets.union([afters, won]) if rules.player == "slider" else sets.minus(afters, won)

    def _after_spawns(self, part: Part, states: Diagram) -> Diagram:
        """As `_afters`, without regard to patterns."""
        sets, rules = self.sets, self.rules
        spawned = sets.both(part.afters, sets.open)
        if part.ended:
            return sets.none if rules.player == "slider" else spawned
        reached = []
        for exponent in self.game.spawn_exponents:
            above = part.above.get(exponent, states)
            wanted = above if self._chooses else sets.others(above)
            reached.append(sets.spawns_into(wanted, exponent, first=rules.variant == "deterministic"))
        return (sets.both if self._chooses else sets.minus)(spawned, sets.union(reached))

    def _states(self, part: Part, afters: Diagram) -> Diagram:
        """Return the states of a part that the winner wins, from the afterstates that it wins."""
        sets, for_slider = self.sets, self.rules.player == "slider"
        into = self._slides_into(afters if for_slider else sets.minus(part.afters, afters))
        saved = sets.union([into, sets.making] if part.pending is None else [into, sets.making, part.pending])
        return (sets.both if for_slider else sets.minus)(part.boards, saved)

    @property
    def _chooses(self) -> bool:
        """Whether one good spawn is enough for the winner: it spawns itself, or is helped."""
        return self.rules.variant == "cooperative" or self.rules.player == "dropper"

    def _passed(self, part: Part) -> Diagram:
        """Return the afterstates of a part that let the slider win: what lower sweep lines need of it."""
        return part.found if self.rules.player == "slider" else self.sets.minus(part.afters, part.found)

    def _slides_into(self, afters: Diagram) -> Diagram:
        return self.sets.slides_into(afters, symmetric=self.rules.variant != "deterministic")

    @cached_property
    def _possible(self) -> Diagram:
        """The states that can follow a spawn, which is our condition, and that corollary 7 allows."""
        sets, exponents = self.sets, self.game.spawn_exponents
        spawned = exponents[-1]
        old = sets.where([[value for value in values if value not in exponents] for values in sets.allowed])
        possible = sets.minus(sets.every, old)
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
        if self.rules.variant != "deterministic" or game.start_board is not None:
            return [board for board, _ in game.starts()]
        begun = list(game.start_afters) or [game.empty_board]
        for _ in range(1 if game.start_afters else 2):
            begun = [after for board in begun for after in _first_spawns(game, board)]
        return begun

    @cached_property
    def _latest(self) -> int:
        """The largest sum of a start."""
        return max(self.game.sum(board) for board in self.starts)

    def _verdict(self) -> bool:
        """Return whether the winner wins, as far as is known: who spawns chooses the start too."""
        found = [self._found.get(board, False) for board in self.starts]
        return any(found) if self._chooses else all(found)


def _name(line: SweepLine) -> str:
    k, count = line
    return f"({k},{count})"


def _pending(line: SweepLine) -> str:
    """Return the name of `Part.pending` of a sweep line in a checkpoint."""
    return f"pending {_name(line)}"


def _first_spawns(game: Game, board: Cells) -> list[Cells]:
    """Return the boards after a spawn on the first empty cell; empty if all cells hold tiles."""
    cells = [cell for cell, value in enumerate(board) if not value and cell not in game.walls]
    return [board[:cell] + (e,) + board[cell + 1 :] for cell in cells[:1] for e in game.spawn_exponents]
