"""Many games played at once follow the rules, and chance has the probabilities of the game."""

from __future__ import annotations

import math

import numpy as np
import pytest

import test_arrays
from tilebase import Game, UsageError
from tilebase._kernels import wide
from tilebase.arrays import GameArrays
from tilebase.game.game import WideGame
from tilebase.objectives.objective import potentials
from tilebase.simulator import REWARDS, Simulator, WideSimulator, simulator_of

GAMES = (
    *test_arrays.GAMES,
    Game("2x4", 32, walls=[3], horizon=36, spawn="1/4"),
    Game("2x3", 16, unmergeable=[5], start="empty", spawn=1),
    Game("3x4", limits=16),
)
TINY = Game("2x2", 16)


def earned(game: Game, before: tuple[int, ...], after: tuple[int, ...], won: bool, reward: str) -> float:
    """The reward of a slide, from the definitions."""

    def made(merge: str) -> int:
        table = potentials(merge)
        tiles = [sum(table[e] for e in board if not game.is_x(e)) for board in (before, after)]
        return tiles[1] - tiles[0]

    return {"win": float(won), "score": made("tile"), "merges": made("one"), "moves": 1}[reward]


@pytest.mark.parametrize("game", GAMES, ids=str)
@pytest.mark.parametrize("reward", REWARDS)
def test_each_step_follows_the_rules(game: Game, reward: str) -> None:
    if reward == "win" and not game.can_win:
        with pytest.raises(UsageError, match="cannot be won"):
            Simulator(game, 1)
        return
    games, rng = Simulator(game, 40, reward=reward, seed=5), np.random.default_rng(1)
    starts = {board for board, _ in game.starts()}
    assert {tuple(board) for board in games.boards.reshape(40, -1).tolist()} <= starts
    for _ in range(60):
        before, going = games.boards.reshape(40, -1).tolist(), games.going
        actions = rng.integers(0, len(games.actions), 40)
        games.step(actions)
        for i in np.flatnonzero(going):
            slides = game.slides(tuple(before[i]))
            after = slides.get(game.directions[actions[i]])
            now = tuple(games.boards[i].ravel().tolist())
            assert games.refused[i] == (after is None)
            if after is None:
                assert now == tuple(before[i])
                assert games.rewards[i] == 0
                continue
            spawned = [] if game.wins(after) else [board for board, _ in game.spawns(after)]
            assert now in spawned if spawned else now == after
            won = game.wins(after) or game.has_goal_sum(now)
            allowed = game.slides(now) if spawned and not won else {}
            assert games.won[i] == won
            assert games.going[i] == bool(allowed)
            assert games.allowed[i].tolist() == [d in allowed for d in game.directions]
            assert games.rewards[i] == earned(game, tuple(before[i]), after, won, reward)
            assert game.pack(now) == games.keys[i]
        assert games.rewards[~going].tolist() == [0] * int((~going).sum())
        assert not games.allowed[~games.going].any()


def test_chance_has_the_probabilities_of_the_game() -> None:
    game, n = Game("2x3", 64, spawn="1/4"), 40_000
    games = Simulator(game, n, reward="moves", seed=7)
    frequencies(game.starts(), games.boards.reshape(n, -1))
    for text in ("2,4,8/0,0,0", "2,4,0/2,4,0"):
        games.place(np.full(n, game.pack(game.parse(text)), dtype=np.uint64))
        games.step(np.full(n, game.directions.index("down")))
        frequencies(game.spawns(game.slides(game.parse(text))["down"]), games.boards.reshape(n, -1))


def frequencies(expected, found) -> None:
    """Compare by chi-square: 6 standard deviations beyond the degrees of freedom."""
    boards, counts = np.unique(found, axis=0, return_counts=True)
    counted = dict(zip(map(tuple, boards.tolist()), counts.tolist(), strict=True))
    assert counted.keys() <= {board for board, _ in expected}
    means = [(float(p) * len(found), counted.get(board, 0)) for board, p in expected]
    square = sum((count - mean) ** 2 / mean for mean, count in means)
    assert square < len(means) + 6 * math.sqrt(2 * len(means))


def test_a_game_does_not_depend_on_the_others() -> None:
    def play(seed, n):
        games, boards = Simulator(Game("2x3", 64), n, seed=seed), []
        while games.going.any():
            boards.append(games.boards.copy())
            games.step(games.allowed.argmax(axis=1))
        return games, boards

    together, boards = play(3, 5)
    for i in range(5):
        alone, own = play([3 + i], 1)
        assert alone.won[0] == together.won[i]
        assert [b.tolist() for (b,) in own] == [b[i].tolist() for b in boards[: len(own)]]


def test_a_goal_that_does_not_fit_a_key_is_drawn() -> None:
    game = Game("5x4", 256)
    for reward, worth in {"win": 1, "score": 256, "merges": 1, "moves": 1}.items():
        games = Simulator(game, 1, reward=reward)
        games.place(games.arrays.pack([[7, 7, *[0] * 18]]))
        games.step([0])
        assert games.won[0]
        assert games.boards.ravel().tolist() == [8, *[0] * 19]
        assert games.rewards.tolist() == [worth]
        games.step([1])
        assert games.boards.ravel().tolist() == [8, *[0] * 19]


@pytest.mark.parametrize(
    "game", [Game("5x4", 256), Game("1x22", 16), Game("4x4", 65536), Game("3x5", 65536)], ids=str
)
def test_slides_where_the_goal_does_not_fit_a_key(game: Game) -> None:
    """Compiled slides are those of the rules in plain Python: they took an empty cell for a goal."""
    arrays, rng = GameArrays(game), np.random.default_rng(0)
    top = game.goal_exponent
    assert top is not None
    full = rng.integers(1, top, (100, game.cells))
    states = np.where(rng.random((100, game.cells)) < 0.6, np.where(full < top - 3, full, top - 1), 0)
    slid = arrays.slide(arrays.pack(states))
    for i, state in enumerate(states.tolist()):
        slides = game.slides(state)
        for a, direction in enumerate(game.directions):
            assert slid.allowed[i, a] == (direction in slides)
            assert slid.wins[i, a] == (direction in slides and game.wins(slides[direction]))
    assert slid.wins.any()


@pytest.mark.parametrize("reward", REWARDS)
@pytest.mark.parametrize(
    ("words", "options"),
    [
        (("2x3", 32), {"spawn": "1/4"}),
        (("2x4", 64), {"walls": [3]}),
        (("2x2x2", 16), {"start": "empty"}),
        (("3x3", 64), {"start": "2,4,8/0,0,0/0,0,0"}),
        (("1x5", 8), {"spawn": 1, "start": "after 0,0,0,2,0"}),
    ],
    ids=str,
)
def test_wide_boards_are_played_as_packed_ones(words, options, reward) -> None:
    """The same seeds, the same games, bit for bit: also from states that are placed or restored."""
    n, rng = 30, np.random.default_rng(0)
    pair = [simulator_of(kind(*words, **options), n, reward=reward, seed=3) for kind in (Game, WideGame)]
    assert [type(one) for one in pair] == [Simulator, WideSimulator]
    states = [one.clone_state(include_rng=True) for one in pair]
    for step in range(80):
        for name in ("boards", "allowed", "rewards", "refused", "going", "won"):
            np.testing.assert_array_equal(*(getattr(one, name) for one in pair))
        actions, begin = rng.integers(0, len(pair[0].actions), n), ~pair[0].going & (rng.random(n) < 0.3)
        which = rng.random(n) < 0.9
        for one, state in zip(pair, states, strict=True):
            if step == 40:
                one.restore_state(state)
            if step == 60:
                some = one.game.starts()[-1][0]
                one.place(one.pack([some] * n), np.arange(n) < 3)
            one.step(actions, which=which, begin=begin, illegal="terminate" if step % 2 else "noop")


def test_kernels_of_wide_boards_count_games() -> None:
    games = simulator_of(WideGame("2x2", 8, start="2,4/4,0"), 5)
    cells, rules, standing = games._cells, games._rules, games._standing
    assert wide.begin_wide(cells, np.arange(5) > 1, games._streams, rules) == 3
    cells[0] = 1, 2, 2, 1
    assert wide.look_ahead_wide(cells, rules, standing, games.allowed) == games.going.sum() == 4
    actions, out = games.allowed.argmax(axis=1), (standing, games.rewards, games.refused)
    which = np.arange(5) < 4
    assert wide.play_wide(cells, games.allowed, which, actions, False, games._streams, rules, *out) == 3


@pytest.mark.parametrize(("game", "largest"), [(WideGame("4x4"), 17), (WideGame("8x8"), 65)], ids=str)
def test_the_largest_tiles_of_wide_boards(game: Game, largest: int) -> None:
    """2**16 and 2**16 make 131,072, which earns as much; the largest tile is one more for each cell."""
    games = simulator_of(game, 1, reward="score")
    games.place(games.pack([[16, 16, *[0] * (game.cells - 2)]]))
    games.step([0])
    assert (games.boards.max(), games.rewards[0]) == (17, 1 << 17)
    assert games.boards.sum() in (18, 19)
    assert max(game.tops) == min(largest, 64)
    with pytest.raises(UsageError, match="on cell 0 is not part of the game"):
        games.pack([[largest + 1] + [0] * (game.cells - 1)])


def test_states_of_other_games_are_not_restored() -> None:
    games = Simulator(TINY, 2)
    for other in (Simulator(TINY, 1), Simulator(Game("2x2", 32), 2), WideSimulator(WideGame("2x2", 16), 2)):
        with pytest.raises(UsageError, match="restore what clone_state returned for <Simulator of 2 games"):
            games.restore_state(other.clone_state())


def test_games_begin_anew_one_by_one() -> None:
    games = Simulator(TINY, 4)
    while games.going.any():
        games.step(games.allowed.argmax(axis=1))
    ended = games.boards.copy()
    games.begin(np.array([True, False, False, True]))
    assert games.going.tolist() == [True, False, False, True]
    assert (games.boards[1:3] == ended[1:3]).all()
    games.step(games.allowed.argmax(axis=1), begin=np.array([False, True, False, False]))
    assert games.going[1:3].tolist() == [True, False]
    assert games.rewards[1] == 0
    before = games.boards.copy()
    games.step(games.allowed.argmax(axis=1), which=np.arange(4) > 0)
    assert (games.boards[0] == before[0]).all()
    assert (games.boards[3] != before[3]).any()


def test_a_slide_that_is_not_allowed() -> None:
    game = Game("2x2", 16, start="0,0/2,4")
    games, down = Simulator(game, 1), [game.directions.index("down")]
    games.step(down)
    assert (games.refused[0], games.going[0]) == (True, True)
    games.step(down, illegal="terminate")
    assert (games.going[0], games.won[0]) == (False, False)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda g: Simulator(g, 0), "1 or more"),
        (lambda _: Simulator(WideGame("4x4"), 1), "64 bits; those of Game.'4x4', 65536. do not"),
        (lambda _: WideGame("9x8"), "choose one of at most 64$"),
        (lambda _: WideGame("4x4", limits=16), "and no other rules"),
        (lambda g: simulator_of(g, 2).pack([[1, 1, 0, 0]]), r"give 2 boards .*, not a batch \[1\]"),
        (lambda g: simulator_of(g, 2).pack([1, 1, 0, 0]), r"not a batch \[\]"),
        (lambda g: Simulator(g, 2, reward="lower"), "the reward must be one of"),
        (lambda g: Simulator(g, 2, seed=-1), "0 or more"),
        (lambda g: Simulator(g, 2, seed=[1, 2, 3]), "one seed, or 2"),
        (lambda g: Simulator(g, 2).step([0]), "an array .2. of whole numbers"),
        (lambda g: Simulator(g, 2).step([0.0, 1.0]), "an array .2. of whole numbers"),
        (lambda g: Simulator(g, 2).step([0, 4]), "actions are 0 to 3, not 4"),
        (lambda g: Simulator(g, 2).step([0, 1], illegal="x"), "illegal must be one of"),
        (lambda g: Simulator(g, 2).step([0, 1], which=[True]), r"\[2\] of Boolean values, not \[1\]"),
        (lambda g: Simulator(g, 2).step([0, 1], begin=[0, 1]), r"not \[2\] of int64"),
        (lambda g: simulator_of(g, 2).begin(np.ones(3, dtype=bool)), r"not \[3\] of bool"),
    ],
)
def test_what_is_wrong_is_said(make, words) -> None:
    with pytest.raises(UsageError, match=words):
        make(TINY)
