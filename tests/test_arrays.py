"""Many boards at once: every number equals what the calls for single boards say."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from conformance import queries
from conformance.games import SMALL_GAMES, cover
from tilebase import open_table, solve, thin
from tilebase.arrays import GameArrays, TableArrays
from tilebase.errors import MissingBoardError, ResourceError, UsageError
from tilebase.game.board import Board
from tilebase.game.game import Cells, Game
from tilebase.game.symmetry import canonical, symmetries
from tilebase.objectives.objective import MEANINGS, Objective, potentials
from tilebase.small import oracle

GAMES = cover(SMALL_GAMES)
PLAIN = Game("2x3", 32)
SMALL = Game("2x2", 32)


def states_of(game: Game) -> list[Cells]:
    """The reachable states, turned in all ways."""
    found = {state for layer in oracle.reachable(game).values() for state in layer.states}
    return sorted({tuple(state[cell] for cell in p) for state in found for p in symmetries(game)})


@pytest.fixture(scope="module", params=GAMES, ids=str)
def game(request: pytest.FixtureRequest) -> Game:
    return request.param


@pytest.fixture(scope="module")
def states(game: Game) -> list[Cells]:
    found = states_of(game)
    return found[:: max(1, len(found) // 50)]


def test_keys_and_boards(game, states):
    arrays = GameArrays(game)
    keys = arrays.pack(np.array(states))
    assert keys.tolist() == [game.pack(state) for state in states]
    assert arrays.unpack(keys).reshape(len(keys), -1).tolist() == [list(state) for state in states]
    shaped = np.array(states).reshape(len(states), *game.shape)
    tiles = arrays.unpack(keys, encoding="tiles")
    for given, encoding in ((shaped, "exponents"), (tiles, "tiles"), (keys, "keys"), (tiles * 1.0, "tiles")):
        assert arrays.pack(given, encoding=encoding).tolist() == keys.tolist()
    assert arrays.pack(np.eye(game.x + 2)[shaped], encoding="one-hot").tolist() == keys.tolist()


def test_canonical_boards_and_turned_actions(game, states):
    arrays = GameArrays(game)
    keys = arrays.pack(np.array(states))
    least, turn = arrays.canonical(keys)
    assert [game.unpack(int(key)) for key in least] == [canonical(game, state) for state in states]
    assert arrays.least(keys).tolist() == least.tolist()
    slid, turned = arrays.slide(keys), arrays.slide(least)
    for x, state in enumerate(states):
        permutation, actions = symmetries(game)[turn[x]], arrays.action_maps[turn[x]]
        assert tuple(state[cell] for cell in permutation) == game.unpack(int(least[x]))
        for name in ("reward", "allowed", "wins"):
            assert getattr(slid, name)[x].tolist() == getattr(turned, name)[x][actions].tolist()


def test_slides(game, states):
    table, slid = potentials("tile"), GameArrays(game).slide(GameArrays(game).pack(np.array(states)))

    def earned(board: Cells) -> int:
        return sum(table[e] for e in board if not game.is_x(e))

    for x, state in enumerate(states):
        allowed = game.slides(state)
        for action, direction in enumerate(game.directions):
            assert slid.allowed[x, action] == (direction in allowed)
            after = allowed.get(direction)
            assert slid.wins[x, action] == (after is not None and game.wins(after))
            assert slid.after[x, action] == (0 if after is None else game.pack(after))
            assert slid.reward[x, action] == (0 if after is None else earned(after) - earned(state))


def test_spawns(game, states):
    arrays = GameArrays(game)
    afters = sorted({a for s in states for a in game.slides(s).values() if not game.wins(a)})
    made, boards, chances = arrays.spawns(arrays.pack(np.array(afters)))
    expected = {
        (i, game.pack(state)): float(p) for i, after in enumerate(afters) for state, p in game.spawns(after)
    }
    found = {(int(i), int(key)): p for key, i, p in zip(made, boards, chances, strict=True)}
    assert found == pytest.approx(expected, rel=1e-15)


def objectives_of(game: Game) -> str:
    """Every objective that fits the game, in the type that it is solved in unless another is asked for."""
    fit = [name for name in MEANINGS if queries.fits(Objective(name), game)]
    return ",".join([*fit, *(["win:float32", "upper:uint32"] if "win" in fit else [])])


def test_values_are_those_of_probes(game, states, solved):
    names = objectives_of(game).split(",")
    alone = [name for name in names if name == "loss"]  # beside it, `probe` knows more of wins than arrays do
    for part in filter(None, (alone, [name for name in names if name not in alone])):
        compare(solved(game, ",".join(part)), game, states)
    if game.can_win and game.goal_sum is None:
        compare(solved(game, "win", "0.9"), game, states)


def compare(folder, game, states):
    with open_table(folder) as table:
        for label in table.manifest.labels:
            found = TableArrays(table, label).probe(np.array(states))
            assert found.known.all()
            for x, state in enumerate(states):
                answer = table.probe(Board(game, state), label)
                assert found.value[x] == number(answer.value)
                slides = {slide.direction: number(slide.value) for slide in answer.slides}
                wanted = [slides.get(direction, math.nan) for direction in game.directions]
                np.testing.assert_array_equal(found.q[x], wanted)
                assert found.allowed[x].tolist() == [one in slides for one in game.directions]
                assert found.best[x].tolist() == [one in answer.best for one in game.directions]


def number(value: Any) -> float:
    """A value of a probe as a float; of a proved bound the nearest."""
    inside = value.bound if hasattr(value, "bound") else value.value
    return float(Fraction(inside))


def test_threads_share_the_boards(solved, monkeypatch):
    monkeypatch.setattr("tilebase.arrays.values.SHARE", 7)
    states = np.array(states_of(PLAIN))[::3]
    with open_table(solved(PLAIN)) as table:
        alone, shared = (TableArrays(table, threads=threads).probe(states) for threads in (1, 3))
        for one, other in zip(alone, shared, strict=True):
            np.testing.assert_array_equal(one, other)
        with pytest.raises(UsageError, match="the number of threads must be 1 to 256, not 0"):
            TableArrays(table, threads=0)


@pytest.mark.parametrize("name", ["moves", "loss", "fewest"])
def test_all_boards_of_a_table(name, solved):
    exact, told = oracle.values(PLAIN, name).afterstates, Objective(name).told
    with open_table(solved(PLAIN, name)) as table:
        arrays = TableArrays(table)
        after = arrays.to_arrays()
        boards = [PLAIN.unpack(int(key)) for key in after["keys"]]
        assert dict(zip(boards, after["value"].tolist(), strict=True)) == pytest.approx(
            {board: float(told(value)) for board, value in exact.items()}, rel=1e-12
        )
        turned = arrays.boards.pack(arrays.boards.unpack(after["keys"])[:, ::-1, ::-1])
        for keys in (after["keys"], turned):
            assert arrays.locate(keys).tolist() == list(range(len(arrays)))
        states = arrays.to_arrays("states")
        reachable = {canonical(PLAIN, state) for state in states_of(PLAIN)}
        assert {PLAIN.unpack(int(key)) for key in states["keys"]} == reachable
        assert (states["sum"][1:] >= states["sum"][:-1]).all()
        assert states["q"].shape == (len(reachable), 4)
        assert arrays.locate(arrays.boards.pack([[4, 4, 4, 4, 4, 4]])).tolist() == [-1]


def test_a_thinned_table(solved, tmp_path):
    thin(solved(PLAIN), tmp_path / "thin", above=0.5)
    states = np.array(states_of(PLAIN))
    all_of, found = (TableArrays(folder).probe(states) for folder in (solved(PLAIN), tmp_path / "thin"))
    assert 0 < found.known.sum() < len(states)
    assert np.isnan(found.value[~found.known]).all()
    assert found.value[found.known].tolist() == all_of.value[found.known].tolist()
    both = ~np.isnan(found.q)
    assert found.q[both].tolist() == all_of.q[both].tolist()
    with pytest.raises(MissingBoardError, match="thinned out"):
        TableArrays(tmp_path / "thin").probe(states, missing="raise")


@pytest.mark.parametrize(
    ("boards", "encoding", "message"),
    [
        ([[1, 2, 3]], "exponents", r"must be an array \[..., 2, 2\] or \[..., 4\], not \[1, 3\]"),
        ([1, 2, 0], "exponents", r"not \[3\]"),
        ([[1, 1, 0, 0], [1, 0, 9, 0]], "exponents", "board 1 is .* holds 512, but must hold .* at most 16"),
        ([[1, -1, 0, 0]], "exponents", "cell 1 holds -1, which stands for no tile, but must hold 0 or"),
        ([[2, 3, 0, 0]], "tiles", "cell 1 holds 3, which stands for no tile, but must hold 0 or"),
        ([[2, 1, 0, 0]], "tiles", "board 0 is not a board of 2x2, to 32: cell 1"),
        ([[2, 0, 6, 0]], "tiles", "board 0 is not a board of 2x2, to 32: cell 2"),
        ([[2, 0, 0, 32]], "tiles", "holds 32, but .* at most 16; pack_played takes boards that are won"),
        ([[1, 256, 0, 0]], "exponents", "board 0 is not a board of 2x2, to 32: cell 1"),
        ([[2, -4, 0, 0]], "tiles", "board 0 is not a board of 2x2, to 32: cell 1"),
        *(([[x, 1, 0, 0]], "exponents", "must be whole numbers, not .* float64") for x in (0.5, math.nan)),
        ([["2", "2", "0", "0"]], "tiles", "must be whole numbers, not an array of <U1"),
        ([1 << 40], "keys", "key 0 is not a board of 2x2, to 32: it has too many bits"),
        *((wrong, "keys", "keys must be whole numbers from 0 to") for wrong in ([-1], [1 << 64], [0.5])),
        ([0xF000], "keys", "board 0 is not a board of 2x2, to 32: cell 0"),
        ([[1, 1, 0, 0], [1]], "exponents", "list cannot be read as an array: rows must have the same length"),
        ([[1, 1, 0, 0]], "colours", "must be one of exponents, tiles, keys, one-hot, not 'colours'"),
        (np.uint64([1 << 8]), "exponents", r'not \[1\]; of packed boards, say encoding="keys"'),
        (np.eye(4)[[1, 1, 0]], "one-hot", r"must be an array \[..., 2, 2\] or \[..., 4\], not \[3\]"),
        (np.eye(9)[[1, 8, 0, 0]], "one-hot", "cell 1 holds 256, but must hold 0 or"),
        *(
            (wrong, "one-hot", r"an array \[..., 2, 2, K\], with a single 1 for each cell")
            for wrong in (2 * np.eye(4), np.ones((4, 2)), np.eye(300)[[299] * 4], 1)
        ),
        (["2,2/0,0", [1, 1, 0, 0]], "tiles", "arrays beside boards as text hold exponents"),
    ],
)
def test_what_is_no_board(boards, encoding, message):
    with pytest.raises(UsageError, match=message):
        GameArrays(SMALL).pack(boards, encoding=encoding)


class Handed:
    """An array of another package: it has only what arrays exchange, as those of CuPy."""

    def __init__(self, array: npt.NDArray[Any]) -> None:
        self._array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()


class Tensor:
    """As a tensor of Torch with a gradient: it is an array only when it is detached and on the host."""

    def __init__(self, array: npt.NDArray[Any], *steps: str) -> None:
        self._array, self._steps = array, steps

    def detach(self) -> Tensor:
        return Tensor(self._array, *self._steps, "detach")

    def cpu(self) -> Tensor:
        return Tensor(self._array, *self._steps, "cpu")

    def __array__(self, *_: Any, **__: Any) -> npt.NDArray[Any]:
        assert self._steps == ("detach", "cpu")
        return np.asarray(self._array)


@pytest.mark.parametrize("form", [np.asarray, Handed, Tensor, lambda boards: boards.tolist()])
def test_arrays_of_other_packages(form):
    boards = np.array([[[1, 2], [0, 3]], [[2, 2], [0, 1]]], dtype=np.int64)
    assert GameArrays(SMALL).pack(form(boards)).tolist() == [0x1203, 0x2201]


@pytest.mark.parametrize("game", [PLAIN, Game("1x6", 32), Game("2x2x2", 16)], ids=str)
def test_batches_of_any_shape(game, solved):
    """What is found has the axes of the batch: none for one board, which may be text, too."""
    arrays = TableArrays(solved(game, "score"))
    states = np.array(states_of(game)[:24]).reshape(2, 3, 4, *game.shape)
    flat = arrays.probe(states.reshape(24, -1))
    keys = arrays.boards.pack(states)
    slid = arrays.boards.slide(keys)
    np.testing.assert_array_equal(arrays.boards.unpack(keys), states)
    for given in (states, states.reshape(2, 3, 4, -1)):
        found = arrays.probe(given)
        for name, column in zip(found._fields, flat, strict=True):
            np.testing.assert_array_equal(getattr(found, name), column.reshape(2, 3, 4, *column.shape[1:]))
        np.testing.assert_array_equal(found.advantage, found.q - found.value[..., None])
        assert (np.nanmax(found.advantage, axis=-1)[found.allowed.any(axis=-1)] == 0).all()
    board = Board(game, tuple(states[0, 0, 0].ravel().tolist()))
    for one in (board, board.text, board.cells, *([states[0, 0, 0]] if game.shape[0] > 1 else [])):
        found = arrays.probe(one)
        assert (found.value, found.q.shape) == (flat.value[0], (len(game.directions),))
    assert arrays.probe([board, states[0, 0, 1]]).value.tolist() == flat.value[:2].tolist()
    assert arrays.probe([board, board.text], encoding="tiles").value.tolist() == [flat.value[0]] * 2
    values, going = arrays.probe_after(slid.after, encoding="keys"), slid.allowed & ~slid.wins
    np.testing.assert_array_equal(flat.q[going.reshape(24, -1)], values[going] + slid.reward[going])
    assert np.isnan(values[~going]).all()
    rules = arrays.boards
    for ask in (
        lambda keys: rules.canonical(keys)[0],
        rules.least,
        rules.stabilisers,
        rules.tops,
        arrays.locate,
    ):
        np.testing.assert_array_equal(ask(keys).ravel(), ask(keys.ravel()))
    np.testing.assert_array_equal(
        rules.spawns(slid.after[going][None])[0], rules.spawns(slid.after[going])[0]
    )
    # A rollout contains boards that a slide has won.
    played = [states[0, 0, 0], np.full(game.shape, game.goal_exponent)]
    found = arrays.probe(played)
    assert found.known.tolist() == [True, False]
    assert np.isnan(found.value).tolist() == [False, True]
    assert not found.allowed[1].any()
    assert np.isnan(arrays.probe_after(played[1]))
    assert np.isnan(arrays.probe(game.format(played[1].ravel())).value)
    with pytest.raises(MissingBoardError, match=r"board 1 is not in .*: it is won"):
        arrays.probe(played, missing="raise")
    with pytest.raises(UsageError, match="must hold"):
        arrays.probe(played[1] + 1)
    assert np.isnan(arrays.probe_after(arrays.game.empty_board))


def test_keys_of_other_types():
    arrays = GameArrays(SMALL)
    keys = arrays.pack([[1, 1, 0, 0], [1, 2, 0, 3]])
    for given in (keys.tolist(), keys.astype(np.int64), np.repeat(keys, 2)[::2]):
        assert arrays.slide(given).after.tolist() == arrays.slide(keys).after.tolist()
        assert arrays.canonical(given)[0].tolist() == arrays.least(given).tolist()
        assert arrays.unpack(given).tolist() == arrays.unpack(keys).tolist()
        assert arrays.stabilisers(given).tolist() == arrays.stabilisers(keys).tolist()
        assert arrays.spawns(given)[0].tolist() == arrays.spawns(keys)[0].tolist()
        assert arrays.tops(given).tolist() == [1, 3]
    assert arrays.slide([]).after.shape == (0, 4)
    for wrong in ([-1], [0.5], ["1"]):
        with pytest.raises(UsageError, match="keys must be whole numbers from 0 to"):
            arrays.slide(wrong)


def test_what_a_table_cannot_answer(solved, tmp_path, monkeypatch):
    solve(SMALL, table=tmp_path / "all", space="all")
    with pytest.raises(UsageError, match="with the space reachable"):
        TableArrays(tmp_path / "all")
    arrays = TableArrays(solved(SMALL))
    with pytest.raises(UsageError, match="no values of score: it has win"):
        TableArrays(solved(SMALL), "score")
    with pytest.raises(UsageError, match="missing must be nan or raise, not 'zero'"):
        arrays.probe([[1, 1, 0, 0]], missing="zero")
    with pytest.raises(UsageError, match="kind must be afterstates or states, not 'boards'"):
        next(arrays.iter_layers("boards"))
    with pytest.raises(UsageError, match="most must be 1 or more, not -1"):
        next(arrays.iter_layers(most=-1))
    with pytest.raises(UsageError, match="exponents or tiles, not as 'keys'"):
        GameArrays(SMALL).unpack([1], encoding="keys")
    assert arrays.probe(np.zeros((0, 2, 2), dtype=np.uint8)).q.shape == (0, 4)
    monkeypatch.setattr("tilebase.arrays.values.available_memory", lambda: 1000)
    with pytest.raises(ResourceError, match="layer by layer with iter_layers"):
        arrays.to_arrays()


def test_every_objective_is_compared():
    names = {name for game in GAMES for name in objectives_of(game).replace(":", ",").split(",")}
    assert set(MEANINGS) <= names


@pytest.mark.parametrize("start", ["two-tiles", "empty", "2,4/0,8", "after 2,4/0,8", "0,0/0,0"])
def test_the_empty_board_is_a_state_only_where_play_begins_with_it(start, solved):
    """Tables and their arrays agree: elsewhere it is not known.  No slide is possible on it."""
    game = Game("2x2", 32, start=start)
    with open_table(solved(game)) as table:
        found = TableArrays(table).probe([[0, 0, 0, 0], game.starts()[0][0]])
        assert found.known.tolist() == [start == "0,0/0,0", True]
        assert not found.allowed[0].any()
        assert not found.best[0].any()
        if start == "0,0/0,0":
            assert found.value.tolist() == [0, 0]
            assert float(table.probe("0,0/0,0").value) == 0
        else:
            assert np.isnan(found.value[0])
            with pytest.raises(MissingBoardError, match="this position cannot occur in 2x2"):
                table.probe("0,0/0,0")
            with pytest.raises(MissingBoardError, match="this position cannot occur in 2x2"):
                TableArrays(table).probe([[0, 0, 0, 0]], missing="raise")


def test_turned_boards():
    game, arrays = PLAIN, GameArrays(PLAIN)
    keys = arrays.pack([[1, 2, 0, 0, 0, 3]] * len(symmetries(game)))
    turned = arrays.turned(keys, np.arange(len(keys)))
    assert [game.unpack(int(key)) for key in turned] == [
        tuple((1, 2, 0, 0, 0, 3)[cell] for cell in p) for p in symmetries(game)
    ]
    boards = arrays.pack([[1, 0, 1, 1, 0, 1], [1, 0, 0, 0, 0, 1], [1, 2, 0, 0, 0, 0]])
    assert arrays.stabilisers(boards).tolist() == [4, 2, 1]
