"""Slides line by line: kernels mark what the rules make of every board, and count the same."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tilebase import Game, formation
from tilebase._kernels import forward, rank
from tilebase._kernels.arguments import Scratch
from tilebase._kernels.packed import packed
from tilebase.game.compiled import CompiledGame
from tilebase.sparse.index import Index, IndexedLayer
from tilebase.sparse.maps import Worker
from tilebase.sparse.windows import SpilledSet

LINED = {
    "442": formation("442").game(64),
    "L3": formation("L3").game(64),
    "mask": Game("2x3", 32, masks="x../...", start="after x,0,0/0,0,0"),
    "walls": Game("3x3", 32, walls=[0, 1]),
    "pattern": Game("2x3", pattern="8,*,*/*,*,*", goal_sum=60),
    "long pattern": Game("2x3", pattern="8,4,*/*,*,*"),
    "limits": Game("2x3", 32, limits="16,16,8/16,16,16"),
    "limits and pattern": Game("3x3", 16, pattern="8,4,*/*,2,*/*,*,*", limits="8,8,4/8,4,4/8,4,8"),
    "three lines": Game("3x4", 16, pattern="8,*,*,*/4,*,*,*/2,*,*,*", limits="8,8,8,8/8,8,4,4/8,4,4,4"),
}
OTHERS = {
    "symmetries": Game("3x3", 32),
    "several masks": Game("2x3", 16, masks="..x/...|x../...", start="after x,0,0/0,2,0|0,0,x/0,2,4"),
    "movable x": Game("2x3", 32, unmergeable=[0], start="empty"),
    "two patterns": Game("2x3", pattern="8,4,*/*,*,*|*,*,*/8,4,*"),
    "five lines": Game("1x5", 32, walls=[0]),
}


def layer_of(game: Game, total: int) -> tuple[Index, IndexedLayer]:
    index = Index(game)
    return index, index.layer(total)


def set_of(layer: IndexedLayer, tmp_path, keys: list[int] | None = None) -> SpilledSet:
    """A set of boards of a layer; empty without keys."""
    words = np.zeros((layer.size >> 6) + 1024, dtype=np.uint64)
    found = SpilledSet(layer.size, words, tmp_path, "boards", direct=True)
    if keys:
        found.add(layer.rank(np.array(sorted(keys), dtype=np.uint64)))
    return found


def some_states(game: Game, total: int, seed: int) -> list[tuple[int, ...]]:
    """States of a sum that are not won, at most 400, with x only where they must stand."""
    rng, found = random.Random(seed), set()
    for _ in range(4000):
        cells = [game.x if cell in game.held else 0 for cell in range(game.cells)]
        free = [cell for cell in range(game.cells) if cell not in game.held | set(game.walls)]
        left = total
        while left and free:
            tile = rng.choice([e for e in range(1, max(game.tops) + 1) if 2**e <= left])
            cells[free.pop(rng.randrange(len(free)))] = tile
            left -= 2**tile
        if not left and game.allowed(cells) and not game.wins(cells):
            found.add(tuple(cells))
    return sorted(found)[:400]


@pytest.mark.parametrize("name", [*LINED, *OTHERS])
def test_which_games_are_judged_by_line(name):
    assert bool(len(Index(LINED.get(name) or OTHERS[name]).line_tables.lines)) == (name in LINED)


@pytest.mark.parametrize("name", LINED)
def test_slides_and_spawns_by_line_are_those_of_the_rules(name, tmp_path):
    game, total = LINED[name], 28
    states = some_states(game, total, seed=1)
    assert len(states) > 20
    _, layer = layer_of(game, total)
    compiled, worker = CompiledGame(game), Worker()
    source = set_of(layer, tmp_path, [game.pack(board) for board in states])
    target, counts = set_of(layer, tmp_path), np.zeros((game.bounds.code + 1, 5), dtype=np.int64)
    worker.forget(layer.size)
    end = forward.slide_map(
        layer.source(source), np.uint64(0), np.uint64(layer.size), compiled.rules, False,
        worker.target(target, layer), worker.recent, worker.scratch, worker.marks, worker.spawned, counts,
    )  # fmt: skip
    assert end == layer.size
    results = [game.slides(board).values() for board in states]
    afters = {game.pack(after) for found in results for after in found if not game.wins(after)}
    assert np.array_equal(target.bits, set_of(layer, tmp_path, sorted(afters)).bits)
    assert counts[:, forward.STATE].sum() == len(states)
    assert counts[:, forward.LIVE].sum() == sum(map(bool, results))
    assert counts[:, forward.WINNING].sum() == sum(any(map(game.wins, found)) for found in results)

    keys = np.array(sorted(afters), dtype=np.uint64)
    _, above = layer_of(game, total + 2)
    spawned = set_of(above, tmp_path)
    forward.spawn_map(
        keys, 0, 1, compiled.rules, worker.target(spawned, above), packed(Scratch.of(forward.BATCH))
    )
    spawns = [board for key in afters for board, _ in game.spawns(game.unpack(key))]
    boards = {game.pack(board) for board in spawns if game.sum(board) == total + 2}
    assert np.array_equal(spawned.bits, set_of(above, tmp_path, sorted(boards)).bits)


@pytest.mark.parametrize(
    ("name", "goal", "shift", "later"),
    [("L3", 512, 12, False), ("442", 128, 24, False), ("4431", 256, 12, True), ("LL", 256, 8, True)],
)
def test_listed_boards_have_their_ranks(name, goal, shift, later, tmp_path):
    """Tails, of which only the bits that differ are kept: few of them, and more than `MANY_TAILS`."""
    game, total = formation(name).game(goal), 300
    index, layer = layer_of(game, total)
    assert (int(index.tail_shift), len(index.tail_key) >= rank.MANY_TAILS) == (shift, later)
    wanted = np.unique(np.random.default_rng(1).integers(0, layer.size, 5_000)).astype(np.uint64)
    boards = set_of(layer, tmp_path)
    rank.set_bits(wanted, len(wanted), boards.bits)
    keys = np.zeros(len(wanted) + 64, dtype=np.uint64)
    maxima, counts = np.zeros(1024, np.uint8), np.zeros(game.bounds.code + 1, dtype=np.int64)
    end = np.uint64(layer.size)
    listed = forward.list_layer(layer.source(boards), np.uint64(0), end, keys, maxima, counts)
    assert listed == counts.sum() == len(wanted)
    found = keys[:listed]
    assert (found[1:] > found[:-1]).all()
    assert all(game.sum(game.unpack(key)) == total for key in found.tolist())
    assert np.array_equal(layer.rank(found), wanted)
