"""The boards that play reaches, in bits: a pass over all boards from the smallest sum to the largest.

    R[s] = start states of s, and what spawns make of A[s - 2], A[s - 4]     states
    A[s] = what slides make of R[s]                                          afterstates

Layers are those of `workspace.InWindows`, and the same steps make them, with spawns that lead to larger sums
and slides that lead on: one layer is in memory, the two before it are in files.  Rotations and reflections
are counted by the lemma of Burnside: there are as many boards up to symmetry as boards on average that a
symmetry keeps.  Nothing in a count is shared with the pass over reachable boards (`sparse.forward`), which
gives the same.  That pass takes layers from here (`Marks`) to be solved, if they have no symmetries.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase._kernels import bits, lookup, rank, reached
from tilebase._kernels.dense import Half
from tilebase.cluster.runs import Run
from tilebase.counting.counts import STORED, CountResult, counts_of, trimmed
from tilebase.dense.backends.bits import WORD, BitLayer, Bits, Job, job_of, paired, successors
from tilebase.dense.index import Part, PerfectIndex
from tilebase.dense.layers import RawLayer
from tilebase.dense.plan import FILES, Plan
from tilebase.dense.sizes import Words, check_index
from tilebase.dense.steps import Source
from tilebase.dense.tables import DenseRules, Filled, classes_of
from tilebase.dense.workspace import InWindows, Shares
from tilebase.errors import CorruptError, ResourceError, UsageError
from tilebase.files import places
from tilebase.files.keys import StoredLayer, Take
from tilebase.files.run import MOST_SUM, RunFolder, count_lines, delete_bits, first_sum, layers_before
from tilebase.game.game import Cells, Game
from tilebase.game.symmetry import symmetries
from tilebase.objectives.encoding import make_backup
from tilebase.objectives.numbers import byte_text, enough_text
from tilebase.objectives.objective import Objective
from tilebase.runtime.documents import text
from tilebase.runtime.progress import Pace
from tilebase.runtime.resources import Allowance
from tilebase.runtime.storage import make_folder, remove_parts, storage_errors
from tilebase.runtime.threads import Pool

Array = npt.NDArray[Any]
NO_TILE = 255
"""An exponent that no tile has."""
SEEN_BYTES = 16
"""Of each half board, what is known of it, about (`Seen`)."""
KEYS = 1 << 18
"""Keys that are listed at a time, about."""


class Reached(Bits):
    """The steps of `Bits` the other way: states are folded from afterstates, which slides make of states."""

    onward = True

    def __init__(self, rules: DenseRules, pool: Pool, words: Words, window: int) -> None:
        reached.or_results.want()
        super().__init__(rules, pool, words, window)
        self._words = words

    @cached_property
    def _seen(self) -> tuple[reached.Seen, reached.Seen]:
        """What half boards tell of boards: of the outer ones, and of the inner ones."""
        game, (top, bottom), (a, b, c, d) = self._rules.game, self._rules.rows, self._rules.index.parts
        return seen(game, top, (a, b), inner=False), seen(game, bottom, (c, d), inner=True)

    @cached_property
    def _part_keys(self) -> list[Array]:
        """By part, the keys of its fillings."""
        game, found = self._rules.game, []
        every = np.ones((game.cells, 1 << game.bits), dtype=bool)
        for part in self._rules.index.parts:
            boards, keys = np.zeros((len(part), game.cells), dtype=np.uint8), np.empty(len(part), dtype=WORD)
            boards[:, part.cells] = part.fillings
            lookup.pack_cells(boards, every, np.uint64(game.bits), keys)
            found.append(keys)
        return found

    def exponents(self, total: int) -> list[int]:
        """Return the exponents whose spawns lead to states of a sum, the largest first."""
        return [e for e in self._exponents if self.sizes.get(total - 2**e)]

    def _fold(self, total: int, states: dict[int, BitLayer], afters: BitLayer) -> Job:
        """States: made by spawns on afterstates of smaller sums, which are given as `states`."""
        units, mirrors, out = self._rules.index.units(total), self._mirrors[0], afters.arrays
        if not states:
            afters.fill(False)
            return lambda *_: None
        (outer, inner), spawns = self._folded[False], self._spawns[False]
        given = [e for e in self._exponents if e in states]
        downs = paired(successors(spawns[e], 1 << (e - 1), states[e]) for e in given)
        first = self.exponents(total)[0] in states
        return job_of(bits.fold_spawns, units, outer, inner, mirrors, 0, downs, first, False, out)

    def kinds(self, layer: BitLayer) -> Array:
        """int64[kind, e]: the boards of a layer with the largest exponent e: states, losing, winning ones."""
        (outer, inner), mirrors, (rows, columns) = self._halves, self._mirrors[0], self._seen
        units, words, sums = layer.map.units, layer.arrays, np.flatnonzero(layer.map.boards)
        exponents, lines = max(self._rules.game.tops) + 1, len(rows.border)

        def count(thread: int) -> Array:
            found = np.zeros((3, exponents), dtype=np.int64)
            marks = np.empty((exponents * (lines + 1) + lines + 2) * self._words.row, dtype=WORD)
            mine = sums[thread :: len(self._scratch)]
            reached.count_kinds(
                mine, units, outer, inner, mirrors, rows, columns, words, marks, self._scratch[thread], found
            )
            return found

        found: Array = np.array(list(self._pool.map(count, range(len(self._scratch))))).sum(axis=0)
        found[:, 1:] -= found[:, :-1].copy()
        return found

    def add(self, layer: BitLayer, boards: Array) -> None:
        """Add boards to a whole layer."""
        self.set(layer, self.places(layer.map, boards))

    def set(self, layer: BitLayer, found: Array) -> None:
        """Add the boards that are these bits of a layer."""
        rank.set_bits(found, len(found), layer.words)

    def leave_out_won(self, layer: BitLayer) -> None:
        """Remove the boards that hold a pattern from a whole layer of afterstates."""
        if not self._rules.patterns:
            return
        leave_out = job_of(
            bits.leave_out, layer.map.units, *self._folded[False], self._mirrors[0], self._rules.patterns,
            layer.arrays,
        )  # fmt: skip
        self._pool.share_out(leave_out, layer.map.jobs(), self._scratch)

    def keys(self, layer: BitLayer, job: Array) -> Array:
        """Return the keys of the boards in some matrices of a whole layer, or of images of them."""
        (outer, inner), (a, b, c, d) = self._folded[False], self._part_keys
        halves = 2, self._words.halves
        lists, rows, found, at, begin = np.empty(halves, WORD), np.empty(halves, np.int64), [], 0, 0
        while at < len(job):
            out = np.empty(KEYS + self._words.halves, dtype=WORD)
            n, at, begin = reached.list_keys(
                job, layer.map.units, outer, inner, self._mirrors[0], layer.arrays, ((a, b), (c, d)), at,
                begin, lists, rows, out,
            )  # fmt: skip
            found.append(out[:n])
        return np.concatenate(found)


# -- which boards are lost, or won by a slide ----------------------------------------------------


def look_at(game: Game, boards: Array, lines: Iterable[Sequence[int]]) -> tuple[Array, Array]:
    """Return which boards have no slide, and on which two tiles are slid together that make the goal.

    ``boards[n, cell]`` are exponents; cells beside each other in a line are neighbours.
    """
    half, (stuck, wins) = half_of(game), np.zeros((2, len(boards)), dtype=bool)
    stuck |= (boards > 0).all(axis=1)
    for line in lines:
        last = np.zeros(len(boards), dtype=np.uint8)
        for cell in line:
            here = boards[:, cell]
            stuck &= here != last
            wins |= (here == half) & (last == half)
            last = np.where(here > 0, here, last)
    return stuck, wins


def half_of(game: Game) -> int:
    """Return the exponent of two tiles that make the goal; one that no tile has without a goal."""
    return (game.goal_exponent or NO_TILE + 1) - 1


def seen(game: Game, half: Half, parts: Sequence[Part], *, inner: bool) -> reached.Seen:
    """Return what outer or `inner` half boards tell of boards."""
    first, second = parts
    one, other = np.indices([len(first), len(second)]).reshape(2, -1)
    a, b = classes_of(first).astype(np.int64)[one], classes_of(second).astype(np.int64)[other]
    numbers = half.firsts[a, b] + (one - first.starts[a]) * second.counts[b] + other - second.starts[b]
    order = np.argsort(numbers)
    boards = np.hstack([first.fillings[one[order]], second.fillings[other[order]]])
    place = {cell: i for i, cell in enumerate((*first.cells, *second.cells))}
    lines = [
        (len(line), [place[cell] for cell in sorted(line) if cell in place]) for line in game.grid.all_lines
    ]
    stuck, wins = look_at(game, boards, [line for _, line in lines])
    border, near = np.zeros((2, 0, len(boards)), dtype=np.uint8)
    for line in (line[::-1] if inner else line for whole, line in lines if 0 < len(line) < whole):
        last = np.zeros(len(boards), dtype=np.uint8)
        for cell in line:
            last = np.where(boards[:, cell] > 0, boards[:, cell], last)
        border, near = np.vstack([border, boards[None, :, line[-1]]]), np.vstack([near, last[None]])
    return reached.Seen(boards.max(axis=1, initial=0), stuck, wins, border, near == half_of(game))


# -- boards that symmetries keep -----------------------------------------------------------------


def kept_by(game: Game, symmetry: Cells) -> Filled:
    """Return the boards that a symmetry keeps, by sum."""
    left, cycles = set(range(game.cells)), []
    while left:
        cycle = [min(left)]
        while (following := symmetry[cycle[-1]]) != cycle[0]:
            cycle.append(following)
        left -= set(cycle)
        cycles.append(cycle)
    every = range(max(game.tops) + 1)
    return Filled(game.cells, [(cycle, every) for cycle in cycles])


def kinds_of(game: Game, boards: Array) -> Array:
    """int64[kind, e]: how many boards have the largest exponent e: all, losing and winning ones."""
    stuck, wins = look_at(game, boards, game.grid.all_lines)
    every, largest = np.ones(len(boards), dtype=bool), boards.max(axis=1)
    return np.array(
        [np.bincount(largest[kind], minlength=max(game.tops) + 1) for kind in (every, stuck, wins)]
    )


# -- the pass ------------------------------------------------------------------------------------


class Onward(InWindows):
    """Layers of the pass: those of smaller sums are in files.  `see` gets states, then afterstates: true."""

    def __init__(self, see: Callable[[BitLayer, bool], None], *arguments: Any) -> None:
        super().__init__(*arguments)
        self._see, self._above = see, lambda _: False

    def _fold(self, afters: BitLayer, shares: Shares) -> None:
        super()._fold(afters, shares)
        self._see(afters, False)

    def _slide(self, layer: BitLayer, file: RawLayer, shares: Shares) -> None:
        super()._slide(layer, file, shares)
        self._see(layer, True)

    def release_below(self, total: int) -> None:
        """Release the layers of smaller sums."""
        for old in [s for s in self._states if s < total]:
            self._states.pop(old).release()


def classes_of_symmetries(game: Game) -> dict[Cells, int]:
    """Return symmetries that keep different numbers of boards, and how many keep as many: conjugate ones."""
    group = symmetries(game)
    inverse = {p: tuple(map(p.index, range(len(p)))) for p in group}
    return Counter(min(tuple(q[p[i]] for i in inverse[q]) for q in group) for p in group)


def check_counted(game: Game) -> None:
    """Raise `UsageError` unless the states of a game can be counted by a pass over all boards."""
    if not game.is_plain:
        raise UsageError(
            f"{game} has rules with which a pass over all boards does not count: count the reachable ones"
        )


def game_until(game: Game, up_to: int | None) -> Game:
    """Return a game with the same states up to a sum, and without larger sums and tiles.

    >>> game_until(Game("4x4", 2048), 60)
    Game('4x4', 64, horizon=58)
    """
    if up_to is None or up_to >= game.largest_sum:
        return game
    starts = [*(board for board, _ in game.starts()), *game.start_afters]
    most = max(up_to & ~1, *map(game.sum, starts))
    unmade = max(most.bit_length(), 3)  # the exponent of a tile that no board of such a sum has
    horizon = max(most + 2 - (1 << max(game.spawn_exponents)), 2)  # spawns lead from there to the last sum
    return game.changed(goal=1 << unmade if unmade <= max(game.tops) else game.goal, horizon=horizon)


class Marking(ABC):
    """The boards that play reaches, found in bits, layer by layer from small sums to large ones.

    Raises as `check_index` and `count_plan`, `ResourceError` for too little memory, and `CorruptError` or
    `StorageError`.
    """

    def __init__(
        self, game: Game, folder: Path, run: Run, *, advice: str = "or count the reachable boards"
    ) -> None:
        """`advice` ends the sentence of an error for too little memory."""
        index = PerfectIndex(game)
        check_index(index)
        plan, words = count_plan(index, run)
        if plan.whole_bytes > run.memory:
            raise ResourceError(
                f"to count {game} over all boards needs {enough_text(plan.whole_bytes)} of memory, and "
                f"{byte_text(run.memory)} may be used: give more, {advice}"
            )
        self._played, self._sizes = game, index.sizes()
        self._pool = Pool(plan.threads or run.threads)
        with storage_errors(folder, "use"):
            make_folder(folder)
            remove_parts(folder)
        index = index.mirrored()
        rules = DenseRules(index, self._pool, merge="", folder=folder if plan.mapped else None)
        self._bits = Reached(rules, self._pool, words, plan.window)
        anything = Objective("longest")  # layers have no values
        self._layers = Onward(
            self._made, self._pool, not plan.waits, self._bits, index, folder, anything,
            make_backup(game, anything),
        )  # fmt: skip
        # Added to the states, and to the afterstates: the first tile is spawned on these.
        self._starts = _by_sum(game, (board for board, _ in game.starts())), _by_sum(game, game.start_afters)

    @abstractmethod
    def _see(self, layer: BitLayer, *, slid: bool) -> None:
        """Take the states of a layer, or its afterstates if they are `slid`, while they are in memory."""

    def close(self) -> None:
        """Stop the threads."""
        self._pool.close()

    def _made(self, layer: BitLayer, slid: bool) -> None:
        """Complete the states of a layer, or its afterstates if they are `slid`, and see them."""
        if slid:
            self._bits.leave_out_won(layer)
        if (starts := self._starts[slid].get(layer.total)) is not None:
            self._bits.add(layer, starts)
        self._see(layer, slid=slid)


def _by_sum(game: Game, boards: Iterable[Cells]) -> dict[int, Array]:
    """Return boards and their images by their sums, as `Reached.add` takes them."""
    found: dict[int, set[Cells]] = {}
    for board in boards:
        images = {tuple(board[cell] for cell in symmetry) for symmetry in symmetries(game)}
        found.setdefault(game.sum(board), set()).update(images)
    return {total: np.array(sorted(images), dtype=np.uint8) for total, images in found.items()}


class Marks(Marking):
    """Makes the layers of a game without symmetries for the pass that solves it, each from those before it.

    Deletes what a killed process has left in the folder.  Raises as `Marking`.
    """

    def __init__(self, game: Game, folder: Path, run: Run, memory: int) -> None:
        delete_bits(folder, set())
        advice = f"since {byte_text(run.memory - memory)} are for the other parts of this run"
        super().__init__(game, folder, replace(run, memory=memory), advice=advice)
        self._take: Take | None = None
        self._found = [0, 0]

    def make(
        self, total: int, sources: Mapping[int, StoredLayer], take: Take | None, tell: Callable[[float], None]
    ) -> tuple[int, int]:
        """Return how many states and afterstates the layer of a sum has.

        `sources` are the afterstates that it follows from, by sum.  `take` is called with functions that
        list its own; None if nobody wants them.
        """
        self._take, self._found = take, [0, 0]
        for near, source in sources.items():
            if near not in self._layers.totals:
                self._enter(near, source)
        if total in self._sizes:
            self._layers.solve(total, None, tell)
        self._layers.release_below(total + 2 - 2 * layers_before(self._played))
        return self._found[0], self._found[1]

    def _enter(self, total: int, source: StoredLayer) -> None:
        """Take up a layer that is not in bits."""
        layer, game = self._bits.layer(Source(total)), self._played
        layer.fill(False)

        def find(job: int) -> Array:
            keys = source.read(job)
            boards = np.empty((len(keys), game.cells), dtype=np.uint8)
            lookup.unpack_keys(keys, np.uint64(game.bits), boards)
            return self._bits.places(layer.map, boards)

        # Found by all threads, set by one: bits of two jobs may share a word.
        for found in self._pool.map(find, range(source.jobs), ahead=2 * self._pool.threads):
            self._bits.set(layer, found)
        self._layers.keep(layer)

    def _see(self, layer: BitLayer, *, slid: bool) -> None:
        self._found[slid] = self._bits.count(layer)
        if slid and self._take is not None:
            self._take(partial(self._bits.keys, layer, job) for job in layer.map.jobs())

    def close(self) -> None:
        """Stop the threads, and delete files."""
        self._layers.release_below(MOST_SUM)
        super().close()


class CountPass(Marking):
    """Counts the states of a game in the folder of a run, which this process holds, perhaps `up_to` a sum.

    Raises as `Marking`.
    """

    def __init__(self, folder: RunFolder, run: Run, up_to: int | None = None) -> None:
        self.game, self._folder = folder.query.game, folder
        self._last = MOST_SUM if up_to is None else up_to
        check_counted(self.game)
        super().__init__(game_until(self.game, up_to), folder.path / "afterstates", run)
        classes, whole = classes_of_symmetries(self.game), tuple(range(self.game.cells))
        self._order = sum(classes.values())
        self._kept = [(kept_by(self._played, p), count) for p, count in classes.items() if p != whole]
        self._line: dict[str, Any] = {}
        self._pace, self._had, self._every = Pace(run.progress, "boards"), 0, 0

    def run(self) -> CountResult:
        """Count the layers; continue after the last one in the folder, where some are missing."""
        journal, done = self._folder.journal, False
        lines = count_lines(journal.read(), self.game, journal.path)
        total = lines[-1]["sum"] if lines else first_sum(self.game) - 2
        for line in lines[-2:] if total < self._last else []:
            if crc := line["files"].get("bits"):
                self._load(line["sum"], text(crc, "a checksum"))
        self._every = sum(self._sizes.values())
        self._had = sum(n for s, n in self._sizes.items() if s <= total)
        self._pace.start(self._had / self._every)
        while not done and total + 2 <= self._last:
            total += 2
            lines.append(self._layer(total))
            self._had += self._sizes.get(total, 0)
            if total >= max(self._starts[False]) and not any(sum(line["afterstates"]) for line in lines[-2:]):
                journal.append({"complete": True}, durable=True)
                done = True
        if lines:
            self._pace.report(lines[-1]["sum"], "done", self._every, 1.0)
        if done:
            self._layers.release_below(MOST_SUM)
        lines = [line for line in lines if line["sum"] <= self._last]
        return counts_of(self.game, False, lines, complete=done)

    def _load(self, total: int, crc: str) -> None:
        """Take up a layer from which the pass continues.  Raises `CorruptError`."""
        file, advice = self._folder.path / places.bits(total), f"delete {self._folder.path} and count again"
        if not file.exists():
            raise CorruptError(f"{file} is missing: {advice}")
        try:
            self._layers.load(total, crc)
        except CorruptError as error:
            raise CorruptError(f"{file} is damaged: {advice}") from error

    def _layer(self, total: int) -> dict[str, Any]:
        """Make a layer, enter it in the journal, and return its line."""
        self._line = {name: [] for name in STORED} | {"sum": total, "files": {}}
        if total in self._sizes:
            self._layers.solve(total, None, partial(self._report, total))
            self._line["files"] = {"bits": self._layers.save(total)}
        self._folder.journal.append(self._line, durable=True)
        self._layers.release_below(total - 2)
        return self._line

    def _report(self, total: int, part: float) -> None:
        if self._pace.due():
            done = self._had + int(part * self._sizes[total])
            self._pace.report(total, "count", done, done / self._every)

    def _see(self, layer: BitLayer, *, slid: bool) -> None:
        """Count the boards of a layer."""
        every, orbits = self._count(layer)
        if slid:
            self._line["afterstates"] = trimmed(orbits[0])
            return
        self._line |= {
            "states": trimmed(orbits[0]), "live": trimmed(orbits[0] - orbits[1]),
            "winning": trimmed(orbits[2]),
            "raw_states": trimmed(every[0]), "raw_live": trimmed(every[0] - every[1]),
        }  # fmt: skip

    def _count(self, layer: BitLayer) -> tuple[Array, Array]:
        """Return the boards of a layer, with all images, and up to symmetry: ``[kind, e]`` as `kinds_of`."""
        every = self._bits.kinds(layer)
        kept = every.copy()
        for symmetric, count in self._kept:
            for boards in symmetric.of_sum(layer.total):
                kept += count * kinds_of(self._played, boards[layer.held(boards)])
        return every, kept // self._order


def count_plan(index: PerfectIndex, allowed: Allowance, words: Words | None = None) -> tuple[Plan, Words]:
    """Return the plan of the pass, and what bits take, `words` if that is known.

    It is that of a pass that forces a goal, with all layers but one in files, a matrix more for a thread, and
    what half boards tell.  If a layer and a window do not fit, its `whole_bytes` are more than its memory.
    Raises `ResourceError` for a game that is not counted in bits.
    """
    sizes, (a, b, c, d) = index.sizes(), index.parts
    gaps = ResourceError(
        f"bits of {index.game} would be mostly gaps, since few halves of boards share a sum: count the "
        "reachable boards"
    )
    words = words or Words.of(index, sizes)
    if words is None:
        raise gaps
    for threads in (allowed.threads, 1):
        spare = threads * 8 * (words.matrix + 1) + SEEN_BYTES * (len(a) * len(b) + len(c) * len(d))
        given = replace(allowed, memory=allowed.memory - spare, threads=threads)
        plan = Plan.of_bits(index, sizes, given, words)
        if plan is None:
            raise gaps
        if plan.whole_bytes <= given.memory:
            break
    # Where three layers fit into memory, two of them are windows.
    window = plan.window or max(words.two_windows, 2 * words.layer)
    disk = FILES * 8 * words.layer
    return replace(
        plan, batched=True, window=window, disk_bytes=disk, memory=allowed.memory,
        whole_bytes=plan.whole_bytes + spare, threads=plan.threads or threads,
    ), words  # fmt: skip
