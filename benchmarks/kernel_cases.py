"""The inputs of the kernel benchmarks: layers of real games, and each kernel called on one of them.

`Inputs` makes what several kernels share, once and only if it is asked for.  Each function below makes
a `Case` of it: one kernel on one input.  `benchmarks/kernels.py` times the cases on the large inputs, and
tests/test_signatures.py runs them on the small ones.

Afterstates come from a forward pass, and the states that a dense pass reads come from that pass.  The values
that `sparse.folds` reads are not those of a game: they are spread over the range of their type, since no
kernel there branches on a value.  Everything uses one thread.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt

from tilebase._kernels import (
    backward,
    boards,
    codec,
    coded,
    exchange,
    forward,
    lookup,
    play,
    rank,
)
from tilebase._kernels.arguments import Directory, Links, Scratch, Target
from tilebase._kernels.packed import packed
from tilebase.arrays import CACHED
from tilebase.cluster.runs import Run
from tilebase.dense.backends.bits import BitLayer, Bits, Words
from tilebase.dense.backends.threads import Threads
from tilebase.dense.index import PerfectIndex
from tilebase.dense.steps import Source, Step, whole_steps
from tilebase.dense.tables import DenseRules, free_cells, half_tables, kernel_part, masks
from tilebase.dense.workspace import InMemory
from tilebase.files.format import Varying
from tilebase.files.keys import BoardCheck, StoredLayer
from tilebase.files.policy import HALVINGS, Packer, Ranks
from tilebase.files.run import Query, RunFolder
from tilebase.game.compiled import CompiledGame, permutations
from tilebase.game.formations import formation
from tilebase.game.game import Game, WideGame
from tilebase.game.symmetry import symmetries
from tilebase.objectives.encoding import FIRST, WON, make_backup
from tilebase.objectives.objective import parse_objectives
from tilebase.runtime.resources import Allowance
from tilebase.runtime.storage import temporary_folder
from tilebase.runtime.threads import Pool
from tilebase.search.search import Search
from tilebase.simulator import simulator_of
from tilebase.sparse.folds import Spawned, make_fold
from tilebase.sparse.forward import ForwardPass
from tilebase.sparse.index import GameIndex, Index, IndexedLayer, enter, join, new_directory
from tilebase.sparse.maps import Worker
from tilebase.sparse.reading import spawns_of, word_potentials
from tilebase.sparse.sizes import PAGE_BYTES
from tilebase.sparse.windows import Arena, SpilledSet, Windows

Array = npt.NDArray[Any]
ONE = Allowance(memory=1 << 30, threads=1)
SPREAD = np.uint64(0x9E3779B97F4A7C15)
"""Multiples of it modulo 2**64 are spread evenly."""


@dataclass(frozen=True)
class Case:
    """One kernel on one input.

    Attributes
    ----------
    run:
        Calls the kernel; returns how many boards, keys, ... it worked on.
    written:
        The arrays that the kernel wrote.
    clear:
        Makes the arrays as they were before the kernel; called before each run.
    """

    run: Callable[[], int]
    written: Callable[[], Sequence[Array]]
    clear: Callable[[], None] = lambda: None

    def signature(self) -> str:
        """The work of one run, and the CRC-32 of all that the kernel wrote, least significant byte first."""
        self.clear()
        work, crc = self.run(), 0
        for array in self.written():
            crc = zlib.crc32(array.astype(array.dtype.newbyteorder("<")).tobytes(), crc)
        return f"{work} {crc:08x}"


@dataclass(frozen=True)
class Inputs:
    """The games whose layers are the inputs; no board of the dense games is larger than its limits.

    Attributes
    ----------
    sparse, total:
        A game for the kernels of the forward and the backward pass, and the sum of its layer.
    lined, lined_total:
        The same, a game whose slides are judged line by line.
    dense, dense_total:
        A game for the passes over all boards within limits, and the sum of its layer.
    tabulated:
        A game of two dimensions for the tables of half boards.
    forced:
        A game for the search.
    quartered, quartered_total:
        A game with many half boards, and the sum of a layer.
    movable:
        A game with x that move, for the half boards of the perfect index.
    halves:
        How often all float16s from 0 to 1 are converted.
    """

    sparse: Game
    total: int
    lined: Game
    lined_total: int
    dense: Game
    dense_total: int
    tabulated: Game
    forced: Game
    quartered: Game
    quartered_total: int
    movable: Game
    halves: int

    def text(self, of: str) -> str:
        """An input in words: "sparse", "lined", "dense" and so on."""
        game = getattr(self, of)
        if of == "halves":
            return f"numbers from 0 to 1, {game} times"
        total = {
            "sparse": self.total, "lined": self.lined_total, "dense": self.dense_total,
            "quartered": self.quartered_total,
        }.get(of)  # fmt: skip
        return str(game) if total is None else f"{game}, sum {total}"

    @cached_property
    def layers(self) -> Layers:
        """The layers of the sparse game."""
        return Layers(self.sparse, self.total)

    @cache  # noqa: B019 - inputs live as long as the process
    def values(self, objective: str) -> DenseLayers:
        """A dense pass down to the layer, one value per board."""
        return DenseLayers(self.dense, self.dense_total, objective, bits=False)

    @cached_property
    def bits(self) -> DenseLayers:
        """A dense pass down to the layer, one bit per board."""
        return DenseLayers(self.dense, self.dense_total, "guaranteed", bits=True)


LARGE = Inputs(
    sparse=Game("3x3", 1024),
    total=500,
    lined=formation("442").game(512),
    lined_total=300,
    dense=Game("3x4", 32, limits="16,16,16,8/16,16,8,8/8,8,8,4"),
    dense_total=60,
    tabulated=Game("3x4", 256),
    forced=Game("3x4", 32, start="empty"),
    quartered=Game("4x4", 64),
    quartered_total=140,
    movable=formation("free8").game(32),
    halves=100,
)
SMALL = Inputs(
    sparse=Game("3x3", 64),
    total=60,
    lined=Game("3x3", 64, walls=[0, 1]),
    lined_total=60,
    dense=Game("2x3", 32),
    dense_total=40,
    tabulated=Game("2x3", 32),
    forced=Game("2x4", 32, start="empty"),
    quartered=Game("4x4", 64),
    quartered_total=60,
    movable=formation("free9").game(8),
    halves=1,
)


# -- the forward and the backward pass -----------------------------------------------------------


class Layers:
    """The afterstates around one layer of a game, and what kernels take with them."""

    def __init__(self, game: Game, total: int) -> None:
        self.game, self.total, self.compiled = game, total, CompiledGame(game)
        self.rules = self.compiled.rules
        indexed = GameIndex(game)
        self.indexed = {s: indexed.at(s) for s in range(total, total + 5, 2)}
        self.afters = {}  # by sum: canonical keys, ascending
        with (
            temporary_folder() as folder,
            RunFolder(folder / "run", Query(game, False, "afterstates")) as run,
            closing(ForwardPass(run, Run(**vars(ONE), folder=run.path))) as forward_pass,
        ):
            forward_pass.run(up_to=total + 4)
            for s in range(total - 4, total + 5, 2):
                self.afters[s] = StoredLayer(run.layers("afterstates"), s).read(0)

    def empty_set(self, total: int | None = None) -> SpilledSet:
        """A set of boards of the layer, or of that of another sum."""
        size = self.indexed[total or self.total].size
        windows = Windows(size)
        return SpilledSet(size, np.zeros(windows.blocks * windows.block_words, dtype=np.uint64), Path(), "")

    def target(self, boards: SpilledSet, arena: Arena | None, total: int | None = None) -> Target:
        """A set that is filled, at once or through an arena."""
        pages = (arena or Arena(0)).pages_for(boards.block_bits)
        return Target(self.indexed[total or self.total].ranking, arena is None, boards.bits, pages)

    def spawn(self, target: Target, scratch: Scratch, total: int | None = None) -> int:
        """Put the states of the layer into a set: what spawns make of earlier afterstates."""
        total = total or self.total
        for exponent in self.game.spawn_exponents:
            keys = self.afters[total - 2**exponent]
            place = forward.spawn_map(keys, 0, exponent, self.rules, target, scratch)
            assert place == len(keys)
        return sum(len(self.spawned(total - 2**e, e)) for e in self.game.spawn_exponents)

    @cache  # noqa: B019 - as above
    def spawned(self, total: int, exponent: int) -> Array:
        """What the spawns of one exponent make of the afterstates of a sum: keys, not canonical."""
        return spawns_of(self.compiled, self.afters[total], exponent)[0]

    @cached_property
    def states(self) -> SpilledSet:
        """The states of the layer."""
        found = self.empty_set()
        self.spawn(self.target(found, None), packed(Scratch.of(forward.BATCH)))
        return found

    def slide(
        self,
        total: int,
        states: SpilledSet,
        afters: SpilledSet,
        worker: Worker,
        *,
        ahead: bool = False,
    ) -> Array:
        """Slide the states of a sum, mark the afterstates; return the counts.

        With `ahead`, states that are decided within one move are left out.
        """
        counts = np.zeros((self.game.bounds.code + 1, 5), dtype=np.int64)
        source, target = self.indexed[total].source(states), self.target(afters, None, total)
        forward.slide_map(
            source, np.uint64(0), np.uint64(states.size), self.rules, ahead, target, worker.recent,
            worker.scratch, worker.marks, worker.spawned, counts,
        )  # fmt: skip
        return counts

    @cache  # noqa: B019 - as above
    def directory(self, total: int) -> Directory:
        """The directory of the afterstates of a sum above the layer."""
        keys, indexed = self.afters[total], self.indexed[total]
        found = new_directory(indexed.size)
        join(found, enter(found, indexed.rank(keys), FIRST))
        return found

    def link(self, exponent: int, merges: Sequence[str], out: Links, spawns: Array, scratch: Scratch) -> int:
        """Link the layer to what follows a spawn; return the number of spawns."""
        indexed: IndexedLayer = self.indexed[self.total + 2**exponent]
        count, n, sound = backward.link(
            self.afters[self.total], 0, exponent, self.rules, indexed.ranking,
            self.directory(self.total + 2**exponent), word_potentials(self.game, merges), scratch, spawns,
            out,
        )  # fmt: skip
        assert sound
        assert count == len(self.afters[self.total])
        return int(n)

    def new_links(self, exponent: int, merges: Sequence[str]) -> tuple[Links, Array]:
        """Memory for all links of the layer, and for the number of spawns on each afterstate."""
        axes, width = len(self.game.shape), len(self.spawned(self.total, exponent)) + forward.BATCH
        links = Links(
            np.zeros((2 * axes, width), dtype=np.uint32),
            np.zeros((len(merges), axes, width), dtype=np.int32),
            np.zeros((1, 0), dtype=np.uint64),
        )
        return links, np.zeros(len(self.afters[self.total]), dtype=np.uint8)


def spawn_map(inputs: Inputs) -> Case:
    """Mark the states of a small layer: bits are set at once."""
    layers, scratch = inputs.layers, packed(Scratch.of(forward.BATCH))
    states = layers.empty_set()
    target = layers.target(states, None)
    return Case(lambda: layers.spawn(target, scratch), lambda: [states.bits], lambda: states.bits.fill(0))


def _spawned_arena(layers: Layers, states: SpilledSet) -> Arena:
    """An arena with the ranks of all states of the layer, each as often as it is reached."""
    boards = sum(len(layers.spawned(layers.total - 2**e, e)) for e in layers.game.spawn_exponents)
    pages = boards // forward.PAGE + 3 * states.windows.blocks + 64
    arena = Arena(pages * PAGE_BYTES)
    arena.reset(states.windows.blocks)
    return arena


def push(inputs: Inputs) -> Case:
    """The same with pages of offsets, as large layers have them; bits are set by `flush`."""
    layers, scratch = inputs.layers, packed(Scratch.of(forward.BATCH))
    states = layers.empty_set()
    arena = _spawned_arena(layers, states)

    def run() -> int:
        return layers.spawn(layers.target(states, arena), scratch)

    def written() -> list[Array]:
        _, order, length = arena.by_block(states.windows.blocks)
        return [arena.data[page * forward.PAGE :][: int(length[page])] for page in order.tolist()]

    return Case(run, written, lambda: arena.reset(states.windows.blocks))


def flush(inputs: Inputs) -> Case:
    """Set the bits of all offsets in an arena, duplicates included."""
    layers = inputs.layers
    states = layers.empty_set()
    arena = _spawned_arena(layers, states)
    offsets = layers.spawn(layers.target(states, arena), packed(Scratch.of(forward.BATCH)))
    start, order, length = arena.by_block(states.windows.blocks)

    def run() -> int:
        bits = np.uint64(states.block_bits)
        forward.flush(0, states.windows.blocks, 0, bits, arena.data, start, order, length, states.bits)
        return offsets

    return Case(run, lambda: [states.bits], lambda: states.bits.fill(0))


def pack_offsets(inputs: Inputs) -> Case:
    """Write all ranks in an arena for another worker, in two windows."""
    layers = inputs.layers
    states = layers.empty_set()
    arena = _spawned_arena(layers, states)
    offsets = layers.spawn(layers.target(states, arena), packed(Scratch.of(forward.BATCH)))
    pages = arena.by_block(states.windows.blocks)
    out = np.zeros((2, 4 * offsets + exchange.HEAD * states.windows.blocks), dtype=np.uint8)
    middle, block = states.windows.blocks // 2, np.zeros(1 << states.block_bits - 6, dtype=np.uint64)

    def run() -> int:
        for window, (first, last) in enumerate(((0, middle), (middle, states.windows.blocks))):
            exchange.pack_offsets(
                first, last, states.block_bits, arena.data, *pages, block, out[window]
            )  # fmt: skip
        return offsets

    return Case(run, lambda: [out], lambda: out.fill(0))


def unpack_offsets(inputs: Inputs) -> Case:
    """Set the bits of all ranks that another worker wrote."""
    layers = inputs.layers
    states = layers.empty_set()
    arena = _spawned_arena(layers, states)
    offsets = layers.spawn(layers.target(states, arena), packed(Scratch.of(forward.BATCH)))
    block = np.zeros(1 << states.block_bits - 6, dtype=np.uint64)
    out = np.zeros(4 * offsets + exchange.HEAD * states.windows.blocks, dtype=np.uint8)
    pages = arena.by_block(states.windows.blocks)
    n = exchange.pack_offsets(0, states.windows.blocks, states.block_bits, arena.data, *pages, block, out)

    def run() -> int:
        exchange.unpack_offsets(out[:n], states.block_bits, states.bits)
        return offsets

    return Case(run, lambda: [states.bits], lambda: states.bits.fill(0))


def slide_map(inputs: Inputs, *, ahead: bool = False) -> Case:
    """Slide the states of the layer, mark the afterstates and count."""
    layers, worker = inputs.layers, Worker()
    afters, counts = layers.empty_set(), np.zeros(0)
    states = layers.states.count(0, layers.states.size)
    if ahead:
        forward.collapse.want()

    def run() -> int:
        nonlocal counts
        counts = layers.slide(layers.total, layers.states, afters, worker, ahead=ahead)
        return states

    def clear() -> None:
        worker.forget(layers.states.size)
        afters.bits.fill(0)

    return Case(run, lambda: [afters.bits, counts], clear)


def slide_ahead(inputs: Inputs) -> Case:
    """The same, of states that are not decided within one move."""
    return slide_map(inputs, ahead=True)


def by_line(make: Callable[[Inputs], Case]) -> Callable[[Inputs], Case]:
    """Make a case of the game whose slides are judged line by line."""
    return lambda inputs: make(replace(inputs, sparse=inputs.lined, total=inputs.lined_total))


def list_layer(inputs: Inputs) -> Case:
    """List the states of the layer and count them by largest tile."""
    layers = inputs.layers
    indexed, states = layers.indexed[layers.total], layers.states
    n = states.count(0, states.size)
    keys, counts = np.zeros(n + 64, dtype=np.uint64), np.zeros(layers.game.bounds.code + 1, dtype=np.int64)
    maxima = np.empty(forward.BATCH, dtype=np.uint8)

    def run() -> int:
        end = np.uint64(states.size)
        return int(forward.list_layer(indexed.source(states), np.uint64(0), end, keys, maxima, counts))

    return Case(run, lambda: [keys[:n], counts], lambda: counts.fill(0))


def link(inputs: Inputs) -> Case:
    """Link the layer to the afterstates that follow spawns of a 2."""
    layers, scratch = inputs.layers, packed(Scratch.of(2 * forward.BATCH + 2))
    links, spawns = layers.new_links(1, ())
    n = layers.link(1, (), links, spawns, scratch)
    return Case(lambda: layers.link(1, (), links, spawns, scratch), lambda: [links.slots[:, :n], spawns])


def best_after(inputs: Inputs, size: int = 0) -> Case:
    """The best value over the slides after spawns of a 2 on the layer; there is memory for `size` values."""
    layers, scratch = inputs.layers, packed(Scratch.of(2 * forward.BATCH + 2))
    links, spawns = layers.new_links(1, ())
    above = layers.total + 2
    values = _values(max(len(layers.afters[above]), size))
    best = np.zeros(links.slots.shape[1], dtype=np.uint64)
    indexed: IndexedLayer = layers.indexed[above]

    def run() -> int:
        _, n, sound = backward.best_after(
            layers.afters[layers.total], 0, 1, layers.rules, indexed.ranking, layers.directory(above), values,
            scratch, spawns, best,
        )  # fmt: skip
        assert sound
        return int(n)

    n = run()
    return Case(run, lambda: [best[:n], spawns])


def best_after_far(inputs: Inputs) -> Case:
    """The same, as of so many values that they are requested first."""
    return best_after(inputs, backward.FAR)


def index_keys(inputs: Inputs) -> Case:
    """Enter the afterstates of the layer into its directory."""
    layers = inputs.layers
    indexed, keys = layers.indexed[layers.total], layers.afters[layers.total]
    ranks = indexed.rank(keys)
    out, edge = new_directory(indexed.size), np.zeros(3, dtype=np.uint64)

    def run() -> int:
        backward.index_keys(ranks, len(ranks), FIRST, out, edge)
        return len(ranks)

    return Case(run, lambda: [out.bits, out.counts, edge])


def _values(n: int) -> Array:
    """The values of a layer of n afterstates, and those of a slide that is not allowed and one that wins."""
    values = np.zeros(FIRST + n, dtype=np.uint32)
    values[FIRST:] = _spread(n, 1 << 14)
    values[WON] = 1 << 14
    return values


def _spread(n: int, most: int) -> Array:
    """``n`` integers from 0 to ``most - 1``."""
    high = (np.arange(1, n + 1, dtype=np.uint64) * SPREAD) >> np.uint64(33)
    return high % np.uint64(most)


def fold(objective: str) -> Callable[[Inputs], Case]:
    """The best over slides, then the fold over spawns, then the values: all kernels of one objective."""

    def make(inputs: Inputs) -> Case:
        layers = inputs.layers
        (one,) = parse_objectives(objective)
        folds, scratch = make_fold(layers.game, one), packed(Scratch.of(2 * forward.BATCH + 2))
        jobs, boards = [], len(layers.afters[layers.total])
        for exponent in sorted(layers.game.spawn_exponents, reverse=True):
            links, spawns = layers.new_links(exponent, folds.merges)
            n = layers.link(exponent, folds.merges, links, spawns, scratch)
            above = layers.total + 2**exponent
            values = folds.values(len(layers.afters[above]), above)
            found = _spread(len(layers.afters[above]), 0x3C00 if one.dtype == "float16" else 1 << 14)
            if one.is_boolean:
                found &= np.uint64(1)
            elif one.is_mean and one.dtype != "float16":
                found = found / 2.0**14
            folds.put(values, 0, found.astype(np.uint8) if one.is_boolean else found)
            gains = dict(zip(folds.merges, links.gains, strict=True))
            jobs.append((Spawned(exponent, links.slots, n, gains, spawns), values))
        out: list[Array] = []

        def run() -> int:
            acc = folds.start(boards)
            for spawned, values in jobs:
                folds.add(acc, spawned, values)
            out[:] = [folds.finish(acc, jobs[0][0].spawns, None)]
            return sum(spawned.n for spawned, _ in jobs)

        return Case(run, lambda: out)

    return make


def rank_keys(inputs: Inputs) -> Case:
    """Rank the states that spawns of a 2 make of the layer below."""
    layers = inputs.layers
    keys = layers.compiled.canonical(layers.spawned(layers.total - 2, 1))
    ranking, out = layers.indexed[layers.total].ranking, np.zeros(len(keys), dtype=np.uint64)

    def run() -> int:
        rank.rank_keys(keys, len(keys), ranking, out)
        return len(keys)

    return Case(run, lambda: [out])


def index_halves(name: str) -> Callable[[Inputs], Case]:
    """List the heads of a perfect index, or sort its tails, with the arguments that the index gives."""

    def make(inputs: Inputs) -> Case:
        kernel, calls = getattr(rank, name), list[list[Any]]()

        def call(*arguments: Any) -> None:
            calls.append([one.copy() if isinstance(one, np.ndarray) else one for one in arguments])
            kernel(*arguments)

        with patch.object(rank, name, call):
            Index(inputs.movable)
        arguments = calls[-1]
        written = {"list_halves": arguments[6:], "sort_halves": arguments[5:]}[name]
        ends = arguments[5].copy()

        def clear() -> None:
            if name == "sort_halves":
                arguments[5][:] = ends

        def run() -> int:
            kernel(*arguments)
            return len(arguments[-1 if name == "list_halves" else 0])  # halves

        return Case(run, lambda: written, clear)

    return make


def rank_quartered(inputs: Inputs) -> Case:
    """Rank random boards of a layer, in batches as the passes do; the tables are too large for caches."""
    index, generator = Index(inputs.quartered), np.random.default_rng(0)
    layer = index.layer(inputs.quartered_total)
    ranks = np.sort(generator.integers(0, layer.size, 10_000 * inputs.halves, dtype=np.uint64))
    listing = layer.listing
    heads = np.searchsorted(listing.starts, ranks, side="right") - 1
    tails = index.tail_start[listing.tail_sums[heads]] + ranks - listing.starts[heads]
    keys = index.head_key[listing.heads[heads]] | index.tail_rest
    keys |= index.tail_key[tails].astype(np.uint64) << index.tail_shift
    generator.shuffle(keys)
    ranking, out = layer.ranking, np.zeros(len(keys), dtype=np.uint64)

    def run() -> int:
        for at in range(0, len(keys), forward.BATCH):
            batch = keys[at : at + forward.BATCH]
            rank.rank_keys(batch, len(batch), ranking, out[at:])
        return len(keys)

    return Case(run, lambda: [out])


def canonicalise(inputs: Inputs) -> Case:
    """Make these states canonical, in batches as the passes do."""
    layers = inputs.layers
    source, images = layers.spawned(layers.total - 2, 1), packed(Scratch.of(forward.BATCH)).images
    keys = source.copy()

    def run() -> int:
        for at in range(0, len(keys), forward.BATCH):
            batch = keys[at : at + forward.BATCH]
            boards.canonicalise(batch, len(batch), layers.rules.symmetries, images)
        return len(keys)

    return Case(run, lambda: [keys], lambda: np.copyto(keys, source))


def count_stabilisers(inputs: Inputs) -> Case:
    """Count the symmetries of these states."""
    states, rules = inputs.layers.spawned(inputs.total - 2, 1), inputs.layers.rules
    images, out = np.empty((2, CACHED), dtype=np.uint64), np.zeros(len(states), dtype=np.int64)

    def run() -> int:
        return int(lookup.count_stabilisers(states, rules.symmetries, images, out))

    return Case(run, lambda: [out])


def find_least(inputs: Inputs) -> Case:
    """Find the canonical boards of these states, and the symmetries that make them."""
    states = inputs.layers.spawned(inputs.total - 2, 1)
    group = packed(permutations(inputs.layers.game, symmetries(inputs.layers.game)[1:]))
    least, which = np.zeros_like(states), np.zeros(len(states), dtype=np.uint8)
    images = np.empty(CACHED, dtype=np.uint64)
    return Case(lambda: int(lookup.find_least(states, group, images, least, which)), lambda: [least, which])


def rate_slides(inputs: Inputs) -> Case:
    """Write the values of these states and of their slides, in the order of the states."""
    layers, above = inputs.layers, inputs.total + 2
    states, rules, axes = layers.spawned(inputs.total, 1), layers.rules, len(layers.game.shape)
    keys, n, actions = layers.afters[above], len(layers.spawned(inputs.total, 1)), 2 * axes
    links = Links(
        np.zeros((actions, n), dtype=np.uint32),
        np.zeros((0, axes, n), dtype=np.int32),
        np.zeros((actions, n), dtype=np.uint64),
    )
    assert backward.link_states(
        states, rules, layers.indexed[above].ranking, layers.directory(above),
        word_potentials(layers.game, ()), packed(Scratch.of(2 * forward.BATCH + 2)), links,
    )  # fmt: skip
    values, worth = _values(len(keys)).astype(np.float64), np.array([0.0, 1e-12, 1.0])
    out = (
        np.zeros(n), np.zeros((n, actions)), *np.zeros((2, n, actions), dtype=bool), np.zeros(n, dtype=bool)
    )  # fmt: skip

    def run() -> int:
        missing = lookup.rate_slides(
            states, links.slots, links.afters, np.zeros((0, 0), dtype=np.int32), keys, values, worth,
            np.zeros(layers.game.x + 1), rules.bits, rules.unmergeable, np.arange(n), *out,
        )  # fmt: skip
        assert missing == 0
        return n

    return Case(run, lambda: out)


def slide_all(inputs: Inputs) -> Case:
    """Slide these states in all directions, in batches as the arrays of boards do."""
    layers = inputs.layers
    states, rules = layers.spawned(layers.total - 2, 1), layers.rules
    scratch, marks = packed(Scratch.of(2 * CACHED + 8)), np.zeros(2 * CACHED, dtype=np.uint8)
    after = np.zeros((len(states), 4), dtype=np.uint64)
    kinds = np.zeros((len(states), 4), dtype=np.uint8)

    def run() -> int:
        for at in range(0, len(states), CACHED):
            batch = states[at : at + CACHED]
            play.slide_all(batch, len(batch), rules, scratch, marks, after[at:], kinds[at:])
        return len(states)

    return Case(run, lambda: [after, kinds])


def play_games(inputs: Inputs, game: Game | None = None) -> Case:
    """Play a step of 4,096 games in the middle: slides to where the first is allowed."""
    played = simulator_of(game or inputs.sparse, 4096, reward="score", seed=1)
    for _ in range(inputs.total // 4):
        played.step(played.allowed.argmax(axis=1), begin=~played.going)
    kept = played.clone_state()

    def clear() -> None:
        played.seed(2)
        played.restore_state(kept)

    def run() -> int:
        played.step(played.allowed.argmax(axis=1))
        return len(played)

    return Case(run, lambda: [getattr(played, "keys", played.boards), played.rewards, played.boards], clear)


def play_wide(inputs: Inputs) -> Case:
    """The same of a wide game, which plays the same games."""
    return play_games(inputs, WideGame(inputs.sparse.shape, inputs.sparse.goal))


# -- files ---------------------------------------------------------------------------------------


def encode(inputs: Inputs) -> Case:
    """Encode the keys of the layer, without compressing them."""
    keys = inputs.layers.afters[inputs.total]
    out = np.zeros(10 * len(keys), dtype=np.uint8)
    size = codec.encode_deltas(keys, out)

    def run() -> int:
        assert codec.encode_deltas(keys, out) == size
        return len(keys)

    return Case(run, lambda: [out[:size]])


def decode(inputs: Inputs) -> Case:
    """Decode them."""
    keys = inputs.layers.afters[inputs.total]
    data, out = np.zeros(10 * len(keys), dtype=np.uint8), np.zeros_like(keys)
    size = codec.encode_deltas(keys, data)
    return Case(lambda: int(codec.decode_deltas(keys[0], data[:size], out)), lambda: [out])


def shorten(inputs: Inputs) -> Case:
    """Make the short forms of the keys, as if the bits of every other cell stayed."""
    keys, bits = inputs.layers.afters[inputs.total], inputs.sparse.bits
    mask = sum((1 << bits) - 1 << bits * cell for cell in range(0, inputs.sparse.cells, 2))
    (masks, shifts), out = Varying(mask).stretches, np.zeros_like(keys)

    def run() -> int:
        codec.move_bits(keys, masks, shifts, np.zeros_like(shifts), np.uint64(0), out)
        return len(keys)

    return Case(run, lambda: [out])


def check_boards(inputs: Inputs) -> Case:
    """Check that the keys of the layer are boards of its sum; a key of another sum must be refused."""
    keys, check = inputs.layers.afters[inputs.total], BoardCheck(inputs.sparse)
    wrong = np.concatenate([keys[:-1], inputs.layers.afters[inputs.total + 2][-1:]])

    def run() -> int:
        check.demand(keys, inputs.total, "the layer")
        return len(keys)

    def refused() -> list[Array]:
        try:
            check.demand(wrong, inputs.total, "the layer")
        except ValueError:
            return [np.ones(1, dtype=np.uint8)]
        return [np.zeros(1, dtype=np.uint8)]

    return Case(run, refused)


def pack(inputs: Inputs) -> Case:
    """Pack the layer into the blocks of a page, with cells as if values rose with keys."""
    keys = inputs.layers.afters[inputs.total]
    packer = Packer(Ranks(inputs.sparse, inputs.total))
    places = np.linspace(1 << HALVINGS, 254 << HALVINGS, len(keys)).astype(np.int32)
    halvings = np.arange(len(keys), dtype=np.int32) % 3
    made: list[Array] = []

    def run() -> int:
        made[:] = [
            np.frombuffer(data, dtype=np.uint8)
            for _, data in packer.blocks(inputs.total, keys, places, halvings, False)
        ]
        return len(keys)

    return Case(run, lambda: made)


# -- the dense passes ----------------------------------------------------------------------------


class DenseLayers:
    """A dense pass in memory from the largest sum down to a layer, which is not made yet."""

    def __init__(self, game: Game, total: int, objective: str, *, bits: bool) -> None:
        self.game, self.total, index = game, total, PerfectIndex(game)
        (one,) = parse_objectives(objective)
        backup, pool, sizes = make_backup(game, one), Pool(1), index.sizes()
        rules = DenseRules(index.mirrored() if bits else index, pool, merge=one.merge)
        self.backend: Any = (
            Bits(rules, pool, words := Words.of(index, sizes), words.layer)
            if bits
            else Threads(rules, backup, pool, largest=None)
        )
        self.boards = sizes[total]
        self.memory: InMemory[Any] = InMemory(self.backend, index, Path(), one, backup)
        nothing: Any = SimpleNamespace(add=lambda _: None)  # is kept of afterstates
        for s in sorted((s for s in sizes if s > total), reverse=True):
            self.memory.release_above(s + 4)
            self.memory.solve(s, nothing, lambda _: None)

    def case(self, kind: Step) -> Case:
        """One step of the layer, after the steps before it."""
        afters, states = self._layer(), self._layer()
        steps = list(whole_steps(self.backend.steps, self.game.spawn_exponents, self.total))
        for one in itertools.takewhile(lambda one: one.kind is not kind, steps):
            self._do(one, afters, states)
        (step,) = (one for one in steps if one.kind is kind)
        before = [_buffer(layer).copy() for layer in (afters, states)]

        def run() -> int:
            self._do(step, afters, states)
            return self.boards

        def clear() -> None:
            for layer, values in zip((afters, states), before, strict=True):
                np.copyto(_buffer(layer), values)

        return Case(run, lambda: [_buffer(afters if kind is Step.FOLD else states)], clear)

    def window_case(self) -> Case:
        """Add a window of what columns win, half of the sums of left halves, to states that rows win."""
        bits = self.backend
        afters, states = self._layer(), self._layer()
        self._do(next(whole_steps(bits.steps, self.game.spawn_exponents, self.total)), afters, states)
        columns = bits.by_left(self.total)
        first, second = columns.cut(columns.size // 2 + columns.largest())
        with bits.windows(two=False) as memory:
            one, other = (
                BitLayer(self.total, columns.window(sums), bits, memory) for sums in (first, second)
            )
        for won in (one, other):
            bits.slide_window(afters, won, lambda _: None)
        bits.slide_rows(afters, one, lambda _: None)
        before = afters.words.copy()

        def run() -> int:
            bits.add_window(afters, other, lambda _: None)
            return self.boards

        return Case(run, lambda: [afters.words], lambda: np.copyto(afters.words, before))

    def _layer(self) -> Any:
        layer = self.backend.layer(Source(self.total))
        _buffer(layer)[-len(layer.data) :] = 0  # bits that no kernel writes are in the signature, too
        return layer

    def _do(self, step: Any, afters: Any, states: Any) -> None:
        fold = step.kind is Step.FOLD
        reads = [self.memory.layer(source.total) for source in step.reads] if fold else [afters]
        self.backend.do(step, reads, afters if fold else states, lambda _: None)


def _buffer(layer: Any) -> Array:
    """All memory of a layer: words of bits, or values with the sentinels before them."""
    found: Array = layer.words if isinstance(layer, BitLayer) else layer.values
    return found


def dense(objective: str, step: Step) -> Callable[[Inputs], Case]:
    """A step of the dense pass with values."""
    return lambda inputs: inputs.values(objective).case(step)


def bits(step: Step) -> Callable[[Inputs], Case]:
    """A step of the dense pass with one bit per board."""
    return lambda inputs: inputs.bits.case(step)


def windowed_bits(inputs: Inputs) -> Case:
    """The same with windows of what columns win."""
    return inputs.bits.window_case()


def tabulate(inputs: Inputs) -> Case:
    """Fill the tables of slides to the left and right in the top half, what merges score included."""
    game = inputs.tabulated
    index = PerfectIndex(game)
    marks = masks(game, index.parts, game.patterns)
    parts = [kernel_part(index.parts[k], marks[k], free_cells(game, index.parts[k])) for k in (0, 1)]
    top, jobs = half_tables(index, (0, 1), (parts[0], parts[1]), ["left", "right"], "tile")

    def run() -> int:
        for job in jobs:
            job()
        return int(top.table.size)

    def clear() -> None:
        top.table.fill(0)
        top.earned.fill(0)

    return Case(run, lambda: [top.table, top.earned], clear)


# -- the rest ------------------------------------------------------------------------------------


def search(inputs: Inputs) -> Case:
    """Decide a game from nothing; written are the verdict and the table of what is decided."""
    done: list[Array] = []

    def run() -> int:
        found = Search(inputs.forced, ONE)
        try:
            won = found.decide(0)
        finally:
            found.close()
        done[:] = [np.array([won], dtype=np.uint8), found.facts.table]
        return found.opened

    return Case(run, lambda: done)


def decode_halves(inputs: Inputs) -> Case:
    """All float16s from 0 to 1 as numbers."""
    codes = np.tile(np.arange(0x3C01, dtype=np.uint16), inputs.halves)
    out = np.zeros(len(codes))

    def run() -> int:
        coded.decode(codes, out)
        return len(codes)

    return Case(run, lambda: [out])


def encode_halves(inputs: Inputs) -> Case:
    """Numbers from 0 to 1 as float16s: all multiples of 2^-14, of which some lie between two float16s."""
    values = np.tile(np.arange((1 << 14) + 1) / 2.0**14, inputs.halves)
    out = np.zeros(len(values), dtype=np.uint16)

    def run() -> int:
        coded.encode(values, out)
        return len(values)

    return Case(run, lambda: [out])
