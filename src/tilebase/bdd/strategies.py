"""Retrograde analysis with sets of boards.

``sum``: layer by layer, the largest sum first.  A spawn adds 2 or 4 and a slide adds nothing, so each layer
needs only the two above it and one step, and nothing is iterated.  Edixhoven proposes such sweep lines
(section 6.3) and did not try them.

``sweep``: his sweep lines (k, l): the boards with l tiles of exponent k and none above, from the largest k
and l down.  Within a line the two preimages alternate until nothing is added.

``frontier``: sweep lines, but a preimage that asks for one good move is that of the *frontier* alone, the
boards that the last step added; its result is added to what is known.  The other preimage asks for all
moves, and so needs the whole set.  The thesis found this slower.

``bits``: the sweep lines of the exponent below the goal, without diagrams (`dense.sweep`).

``accumulative``: one set of all boards grows until nothing is added (his algorithm 1).

The *winner* is the side whose least fixpoint is computed.  A state is in the set if that side wins from
there with the player to move; an afterstate, with a spawn to come.

A run writes *checkpoints*: the diagrams that what is left needs, from which the same command continues.  A
file in its folder holds them; the journal ``diagrams.jsonl`` lists the lines until then, and its last entry
names the file, with its checksum, and what each diagram is.  Within a line that is iterated, the entry says
how far it came.  A new checkpoint is complete before the one before is deleted.  A run that was killed
between continues at the last entry whose file is whole.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from tilebase.bdd.library import Library
from tilebase.bdd.sets import Diagram, Sets
from tilebase.counting.combinatorics import boards_by_sum
from tilebase.files.run import Journal
from tilebase.game.game import Cells, Game
from tilebase.runtime.measured import SaveClock
from tilebase.runtime.storage import part_path, publish, storage_errors

STRATEGIES = ("sum", "sweep", "frontier", "accumulative")
BITS = "bits"
"""The strategy of `Method` that makes no diagrams."""
VARIANTS = ("adversarial", "cooperative", "deterministic")
"""Who spawns: an adversary, someone who wants the goal too, or a rule: always on the first empty cell."""
PLAYERS = ("slider", "dropper")
SweepLine = tuple[int, int]
STATES = "states"
"""The name, in a checkpoint within a line, of the states that are found so far."""
OFTEN = 60.0
"""Seconds between two checkpoints, at least."""
TIMES = 20.0
"""How many times as long as a checkpoint takes a run works before the next one, at least."""


@dataclass(frozen=True)
class Line:
    """What was found for one layer or sweep line, or for all boards."""

    name: str  # the sum; ``(k,l)`` for a sweep line; ``all``
    iterations: int  # how often the two preimages were computed
    seconds: float  # the time for it
    states: int = -1  # how many are won by the side whose set is computed; -1 if they were not counted
    afterstates: int = -1  # the same
    nodes: int = 0  # of the larger of the two diagrams at the end; 0 if they were not counted
    peak: int = 0  # nodes of the largest set during the iterations
    # With ``bits`` and corollary 7: how many more states are won that the corollary allows, but without a
    # tile that was just spawned; otherwise -1.
    old: int = -1


@dataclass(frozen=True)
class Method:
    """The winning set that diagrams compute, and the strategy.

    Attributes
    ----------
    variant, player:
        One of `VARIANTS`, one of `PLAYERS`.
    strong:
        Whether to compute the whole set, not only whether it contains the start.
    counts:
        Whether boards and nodes are counted.
    corollary7:
        Whether states that play from an empty board cannot make are left out: those that break Edixhoven's
        corollary 7, and, a condition of ours, those without a tile that was just spawned.  For a tile of
        exponent k, k - 1 cells are empty or hold less; k - 2 if 4s are spawned.
    until:
        The name of the last line that is computed; empty for all.
    strategy:
        One of `STRATEGIES`, or `BITS`.
    encoding, order:
        One of `sets.ENCODINGS`, and one of `sets.ORDERS`: None is by columns where these are shorter than
        rows, otherwise by rows.
    """

    variant: str = "adversarial"
    player: str = "slider"
    strong: bool = True
    counts: bool = True
    corollary7: bool = False
    until: str = ""
    strategy: str = "sum"
    encoding: str = "short"
    order: str | None = None

    @property
    def cut(self) -> str:
        """How the boards are cut into layers: the strategy, but ``sweep`` for ``frontier`` and ``bits``."""
        return "sweep" if self.strategy in ("frontier", BITS) else self.strategy

    def order_for(self, game: Game) -> str:
        """Return the order of the variables for the boards of a game."""
        return self.order or ("columns" if game.shape[0] < game.shape[-1] else "rows")


@dataclass
class Part:
    """A layer or a sweep line, while it is solved."""

    name: str  # as in `Line`
    boards: Diagram  # its states
    # For each exponent whose spawn leads out of the part: the states that the winner wins there.
    above: dict[int, Diagram]
    pending: Diagram = None  # its states from which a slide leads into a part above that lets the slider win
    # Whether its sum has reached the horizon, so that a slide that makes one of its boards is the last.
    ended: bool = False
    # What a checkpoint within the part needs beside its states; None if none is written.
    held: dict[str, Diagram] | None = None
    afters: Diagram = None  # its boards as afterstates
    states: Diagram = None  # the states that the winner wins, as far as they are found
    found: Diagram = None  # and the afterstates
    older: Diagram = None  # the states that were found before the last step
    iterations: int = 0  # this and the next as in `Line`, so far
    peak: int = 0


class Checkpoints:
    """The checkpoints of a run.  `identity` is all that decides what is computed, and in which variables."""

    def __init__(self, folder: Path, identity: Mapping[str, Any], library: Library) -> None:
        self._folder, self._library = folder, library
        self._journal = Journal(folder / "diagrams.jsonl", identity)
        self._pending: list[dict[str, Any]] = []
        self._save_clock = SaveClock()
        noted = self._journal.read()
        last = next((n for n in range(len(noted), 0, -1) if self._is_whole(noted[n - 1])), 0)
        self._entries = noted[:last]
        if last < len(noted):
            self._journal.rewrite(self._entries)
        self._written = last
        # The lines that earlier runs have finished, and the one that they iterated, as far as they came.
        self.lines = [Line(**entry["line"]) for entry in self._entries if "line" in entry]
        begun = self._entries[-1].get("begun") if self._entries else None
        self.begun = Line(**begun) if begun else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._journal.close()

    def _is_whole(self, entry: dict[str, Any]) -> bool:
        """Return whether a line names a file, and the file is as it was written."""
        if "file" not in entry:
            return False
        path = self._folder / entry["file"]
        return path.is_file() and bool(_digest(path) == entry["sha256"])

    def load(self) -> dict[str, Diagram]:
        """Return the diagrams of the last checkpoint by name; empty if there is none.

        To be called after `add_vars`.
        """
        if not self._entries:
            return {}
        entry = self._entries[-1]
        return dict(zip(entry["held"], self._library.read(self._folder / entry["file"]), strict=True))

    def add(self, line: Line, held: Mapping[str, Diagram]) -> None:
        """Note a finished line; write a checkpoint if the last one is old.  Raises `StorageError`."""
        self._pending.append({"line": asdict(line)})
        if self._save_clock.is_due(OFTEN, TIMES):
            self._write(held)

    def save(self, begun: Line, held: Mapping[str, Diagram]) -> None:
        """Write a checkpoint within a line if the last one is old.  Raises `StorageError`."""
        if self._save_clock.is_due(OFTEN, TIMES):
            self._pending.append({"begun": asdict(begun)})
            self._write(held)

    def _write(self, held: Mapping[str, Diagram]) -> None:
        self._written += len(self._pending)
        path = self._folder / f"diagrams-{self._written}.dddmp"
        part = part_path(path)
        with self._save_clock.saving():
            with storage_errors(path):
                self._library.write(part, held.values())
                publish(part, path)
            self._pending[-1] |= {"file": path.name, "sha256": _digest(path), "held": list(held)}
            self._journal.append(*self._pending, durable=True)
        self._pending = []
        for old in self._folder.glob("diagrams-*.dddmp"):
            if old != path:
                old.unlink()


class Analysis:
    """One run of a strategy.

    `tell(line, fraction)` is called after each line; `step(iterations)` within a line that is iterated.
    `checkpoints` are continued and written.
    """

    def __init__(
        self,
        sets: Sets,
        method: Method,
        tell: Callable[[Line, float], None],
        *,
        step: Callable[[int], None] | None = None,
        keep: bool = False,
        checkpoints: Checkpoints | None = None,
    ) -> None:
        self.sets, self.game, self.method, self._tell, self._keep = sets, sets.game, method, tell, keep
        self._step = step
        # The states and afterstates that the winner wins, by the name of their line, if they are to be kept.
        self.won: dict[str, Diagram] = {}
        self.won_afters: dict[str, Diagram] = {}
        self._checkpoints = checkpoints
        self._finished = [] if checkpoints is None else checkpoints.lines
        self._loaded: dict[str, Diagram] = {}
        self._last = Line("", 0, 0.0)
        self._found: dict[Cells, bool] = {}

    def run(self) -> bool | None:
        """Return whether the winner wins from the start; None if the work stopped before (`Method.until`)."""
        self.sets.prepare()
        if self._checkpoints is not None:
            self._loaded = self._checkpoints.load()
        if self.method.cut == "sum":
            self._by_sum()
        elif self.method.cut == "sweep":
            self._by_lines()
        else:
            self._solve(Part("all", self.sets.every, {}, held={}), 1.0)
        return None if self._is_last() else self._verdict()

    def _is_last(self) -> bool:
        return bool(self.method.until) and self._last.name == self.method.until

    # -- the strategies ------------------------------------------------------------------------------

    def _by_sum(self) -> None:
        game, layers = self.game, self.sets.layers()
        above = self._with_goal_sum(layers)
        begun = [game.sum(board) for board in self.starts]
        least, latest = 0 if self.method.strong else min(begun), max(begun)
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
            if total > latest:
                self._note({str(other): states for other, states in above.items()})

    def _note(self, held: dict[str, Diagram]) -> None:
        """Note the line that was just finished, and what the others need."""
        if self._checkpoints is not None:
            self._checkpoints.add(self._last, held)

    def _with_goal_sum(self, layers: dict[int, Diagram]) -> dict[int, Diagram]:
        """Take the layers that have the goal sum away: what the winner wins of those that a spawn makes."""
        ended = {total: layers.pop(total) for total in [*layers] if self.game.reached(total)}
        if self.method.player == "dropper" or not ended:
            return {}
        return {total: ended[total] for total in ended if total < min(ended) + 4}

    def _by_lines(self) -> None:
        lines = self._sweep_lines()
        downwards = sorted(lines, reverse=True)
        pending = {line: self._loaded.pop(n) for line in lines if (n := _pending(line)) in self._loaded}
        kept: dict[SweepLine, Diagram] = {}  # the won states of lines into which spawns lead from below
        for done, name in enumerate(downwards, 1):
            if done <= len(self._finished):
                self._tell(self._finished[done - 1], done / len(downwards))
                del lines[name]
                continue
            part = self._sweep_part(name, lines.pop(name), pending, kept)
            states = self._solve(part, done / len(downwards))
            if self._is_last() or (not self.method.strong and self._found.keys() >= set(self.starts)):
                break
            pending.pop(name, None)
            if name[0] <= self.game.spawn_exponents[-1]:
                kept[name] = states
            self._send_down(part, [line for line in lines if line[0] >= name[0] - 1], lines, pending)
            if part.held is not None and not self._found:
                self._note({_pending(other): found for other, found in pending.items()})

    def _sweep_part(
        self, line: SweepLine, boards: Diagram, pending: dict[SweepLine, Diagram],
        kept: dict[SweepLine, Diagram],
    ) -> Part:  # fmt: skip
        """Return a sweep line as a part: spawns of its largest exponent and of larger ones lead out of it."""
        (k, count), none, spawned = line, self.sets.none, self.game.spawn_exponents
        above = {e: kept.get((k, count + 1) if e == k else (e, 1), none) for e in spawned if e >= k}
        part = Part(_name(line), boards, above, pending=pending.get(line, none))
        # What is left after the lines of spawned tiles takes no time, and would need more than is pending.
        if k > spawned[-1] and not self._found:
            part.held = {_pending(other): found for other, found in pending.items()}
        return part

    def _send_down(
        self, part: Part, lower: list[SweepLine], lines: dict[SweepLine, Diagram],
        pending: dict[SweepLine, Diagram],
    ) -> None:  # fmt: skip
        """Add what is pending of lower lines: their states from which a slide saves the slider in a part."""
        if not lower:
            return
        sets, for_slider = self.sets, self.method.player == "slider"
        into = self._slides_into(part.found if for_slider else sets.minus(part.afters, part.found))
        for other in lower:
            pending[other] = sets.union([pending.get(other, sets.none), sets.both(into, lines[other])])

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
        part.afters, part.states, part.older = sets.as_afters(part.boards), sets.none, sets.none
        if self.method.corollary7:
            part.boards = sets.both(part.boards, self._possible)
        if part.above.keys() >= set(self.game.spawn_exponents):
            self._iterate(part)  # once: what follows a spawn is in another part
        else:
            began -= self._begin(part)
            while self._iterate(part):
                if self._step is not None:
                    self._step(part.iterations)
                if part.states == part.older or (not self.method.strong and self._verdict()):
                    break
                if self._checkpoints is not None and part.held is not None:
                    so_far = Line(part.name, part.iterations, time.perf_counter() - began, peak=part.peak)
                    self._checkpoints.save(so_far, part.held | {STATES: part.states})
        if self._keep:
            self.won[part.name], self.won_afters[part.name] = part.states, part.found
        line = Line(part.name, part.iterations, time.perf_counter() - began)
        if self.method.counts:
            line = replace(
                line,
                states=sets.count(part.states),
                afterstates=sets.count(part.found, after=True),
                nodes=max(sets.nodes(part.states), sets.nodes(part.found)),
                peak=part.peak,
            )
        self._tell(line, fraction)
        self._last = line
        return part.states

    def _begin(self, part: Part) -> float:
        """Begin with what an earlier run found within a part, or with a first step; return its seconds."""
        begun = None if self._checkpoints is None else self._checkpoints.begun
        if begun is None or begun.name != part.name or STATES not in self._loaded:
            part.states = self._states(part, self.sets.none)
            return 0.0
        part.states, part.iterations, part.peak = self._loaded.pop(STATES), begun.iterations, begun.peak
        return begun.seconds

    def _iterate(self, part: Part) -> bool:
        """Compute both preimages of a part once; return whether that added afterstates."""
        sets, frontier = self.sets, self.method.strategy == "frontier"
        states, known = part.states, sets.none if part.found is None else part.found
        found = self._afters(part, sets.minus(states, part.older) if frontier and self._chooses else states)
        if frontier:
            found = sets.union([known, found])
        part.iterations += 1
        if found == part.found:
            return False
        fresh = sets.minus(found, known) if frontier and self.method.player == "slider" else found
        part.found, part.states, part.older = found, self._states(part, fresh), states
        if frontier:
            part.states = sets.union([states, part.states])
        if self.method.counts:
            part.peak = max(part.peak, sets.nodes(part.states), sets.nodes(found))
        for board in self.starts:
            if sets.holds(part.boards, board):
                self._found[board] = sets.holds(part.states, board)
        return True

    def _afters(self, part: Part, states: Diagram) -> Diagram:
        """Return the afterstates of a part that the winner wins, if it wins these states of the part."""
        sets, method = self.sets, self.method
        afters = self._after_spawns(part, states)
        if not self.game.patterns:
            return afters
        won = sets.both(part.afters, sets.matching)
        return sets.union([afters, won]) if method.player == "slider" else sets.minus(afters, won)

    def _after_spawns(self, part: Part, states: Diagram) -> Diagram:
        """As `_afters`, without regard to patterns."""
        sets, method = self.sets, self.method
        spawned = sets.both(part.afters, sets.open)
        if part.ended:
            return sets.none if method.player == "slider" else spawned
        reached = []
        for exponent in self.game.spawn_exponents:
            above: Diagram = part.above.get(exponent, states)
            wanted = above if self._chooses else ~above  # boards beyond the limits are in no preimage
            reached.append(sets.spawns_into(wanted, exponent, first=method.variant == "deterministic"))
        return (sets.both if self._chooses else sets.minus)(spawned, sets.union(reached))

    def _states(self, part: Part, afters: Diagram) -> Diagram:
        """Return the states of a part that the winner wins, from the afterstates that it wins."""
        sets, for_slider = self.sets, self.method.player == "slider"
        into = self._slides_into(afters if for_slider else sets.minus(part.afters, afters))
        saved = sets.union([into, sets.making] if part.pending is None else [into, sets.making, part.pending])
        return (sets.both if for_slider else sets.minus)(part.boards, saved)

    @property
    def _chooses(self) -> bool:
        return self.method.variant == "cooperative" or self.method.player == "dropper"

    def _slides_into(self, afters: Diagram) -> Diagram:
        return self.sets.slides_into(afters, symmetric=self.method.variant != "deterministic")

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
        if self.method.variant != "deterministic" or game.start_board is not None:
            return [board for board, _ in game.starts()]
        begun = list(game.start_afters) or [game.empty_board]
        for _ in range(1 if game.start_afters else 2):
            begun = [after for board in begun for after in _first_spawns(game, board)]
        return begun

    def _verdict(self) -> bool:
        """Return whether the winner wins, as far as is known: who spawns chooses the start too."""
        found = [self._found.get(board, False) for board in self.starts]
        return any(found) if self._chooses else all(found)


def _name(line: SweepLine) -> str:
    k, count = line
    return f"({k},{count})"


def _pending(line: SweepLine) -> str:
    return f"pending {_name(line)}"


def _first_spawns(game: Game, board: Cells) -> list[Cells]:
    """Return the boards after a spawn on the first empty cell; empty if all cells hold tiles."""
    cells = [cell for cell, value in enumerate(board) if not value and cell not in game.walls]
    return [board[:cell] + (e,) + board[cell + 1 :] for cell in cells[:1] for e in game.spawn_exponents]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
