"""The environments keep the interface of Gymnasium, and the oracle says what a table says."""

from __future__ import annotations

import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from tilebase import Board, Game, open_table, solve
from tilebase.envs import GameEnv, GameVectorEnv, OracleInfo, VectorOracleInfo
from tilebase.errors import UsageError

GAME = Game("2x3", 32)
MODES = ("NextStep", "SameStep", "Disabled")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("table")
    solve(GAME, "win,score", table=folder)
    with open_table(folder) as table:
        yield table


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"game": Game("3x3", 512), "reward": "score", "illegal": "terminate", "render_mode": "ansi"},
        {"game": Game("2x2x2", 16).identity, "reward": "moves"},
        {"game": Game("2x3", 16, unmergeable=[5])},
    ],
    ids=str,
)
def test_gymnasium_accepts_the_environment(parameters) -> None:
    env = gymnasium.make("tilebase.envs:tilebase/2048-v0", **parameters)
    check_env(env.unwrapped)
    assert env.observation_space.contains(env.reset(seed=1)[0])


def test_a_game_played_to_its_end() -> None:
    env = GameEnv(GAME, reward="score", render_mode="ansi")
    board, info = env.reset(seed=2)
    total = 0.0
    while info["action_mask"].any():
        assert env.action_masks().tolist() == [bool(x) for x in info["action_mask"]]
        assert sorted(Board(GAME, tuple(board.ravel())).slides()) == sorted(
            d for d, yes in zip(GAME.directions, info["action_mask"], strict=True) if yes
        )
        board, reward, terminated, truncated, info = env.step(info["action_mask"].argmax())
        total += reward
        assert not truncated
    assert terminated
    assert total > 0
    assert env.render() == GAME.format(board.ravel().tolist())


def test_a_start_board_and_seeds() -> None:
    env = GameEnv(GAME)
    for board in ("2,4,8/0,0,0", Board.parse(GAME, "2,4,8/0,0,0"), np.array([[1, 2, 3], [0, 0, 0]])):
        found, info = env.reset(options={"board": board})
        assert found.tolist() == [[1, 2, 3], [0, 0, 0]]
        assert info["action_mask"].tolist() == [0, 0, 0, 1]
    first, again = (play(env, env.reset(seed=4)) for _ in range(2))
    assert first == again
    assert play(env, env.reset()) != first


def play(env, reset) -> list:
    board, info = reset
    boards = [board.tolist()]
    while info["action_mask"].any():
        board, _, _, _, info = env.step(info["action_mask"].argmax())
        boards.append(board.tolist())
    return boards


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("illegal", ["noop", "terminate"])
def test_many_games_are_those_of_single_environments(mode, illegal) -> None:
    """Step by step what Gymnasium's own vector environment makes of single ones, with the same infos."""
    n, rng = 7, np.random.default_rng(0)
    ours = gymnasium.make_vec(
        "tilebase/2048-v0", num_envs=n, game=GAME, autoreset_mode=mode, illegal=illegal, reward="score"
    )
    theirs = SyncVectorEnv(
        [lambda: GameEnv(GAME, illegal=illegal, reward="score") for _ in range(n)],
        autoreset_mode=AutoresetMode(mode),
    )
    assert ours.metadata["autoreset_mode"] == AutoresetMode(mode)
    assert ours.single_observation_space == theirs.single_observation_space
    assert ours.action_space == theirs.action_space
    found, expected = ours.reset(seed=11), theirs.reset(seed=11)
    same(found, expected)
    for _ in range(60):
        actions = rng.integers(0, 4, n)
        found, expected = ours.step(actions), theirs.step(actions)
        same(found, expected)
        ended = found[2] | found[3]
        if mode == "Disabled" and ended.any():
            same(
                ours.reset(options={"reset_mask": ended})[:1], theirs.reset(options={"reset_mask": ended})[:1]
            )


def same(found, expected) -> None:
    """Compare what two environments returned: arrays, flags and infos with their names."""
    *arrays, infos = found
    *others, told = expected
    if not isinstance(infos, dict):
        arrays, others, infos, told = [*arrays, infos], [*others, told], {}, {}
    for one, other in zip(arrays, others, strict=True):
        assert one.dtype == other.dtype
        assert one.tolist() == other.tolist()
    compare(infos, told)


def compare(infos, told) -> None:
    assert infos.keys() == told.keys()
    for name in (name for name in told if not name.startswith("_")):
        which = told[f"_{name}"]
        assert infos[f"_{name}"].tolist() == which.tolist()
        if isinstance(told[name], dict):
            compare(infos[name], told[name])
        else:
            assert [np.asarray(x).tolist() for x in infos[name][which]] == [
                np.asarray(x).tolist() for x in told[name][which]
            ]


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_a_game_is_truncated_after_its_steps(mode) -> None:
    env = GameVectorEnv(Game("4x4", 2048), num_envs=3, autoreset_mode=mode, max_episode_steps=5)
    _, infos = env.reset(seed=1)
    cuts = []
    for _ in range(12):
        _, _, terminated, truncated, infos = env.step(infos["action_mask"].argmax(axis=1))
        assert not terminated.any()
        cuts.append(truncated.tolist())
    period = 6 if mode == "NextStep" else 5
    assert cuts == [[k % period == 4] * 3 for k in range(12)]


def test_boards_to_begin_with() -> None:
    env = GameVectorEnv(GAME, num_envs=2)
    boards = np.array([[[1, 2, 3], [0, 0, 0]], [[1, 1, 0], [0, 0, 4]]])
    found, _ = env.reset(options={"boards": boards})
    assert found.tolist() == boards.tolist()
    found, _ = env.reset(options={"boards": boards[::-1], "reset_mask": np.array([True, False])})
    assert found.tolist() == [boards[1].tolist()] * 2
    assert env.action_masks().tolist() == [[True, True, True, True]] * 2


# ---- the oracle ----


def test_the_oracle_says_what_the_table_says(table) -> None:
    env = OracleInfo(GameEnv(GAME), table)
    board, info = env.reset(seed=5)
    rng = np.random.default_rng(1)
    while info["action_mask"].any():
        answer = table.probe(Board(GAME, tuple(board.ravel())))
        assert info["v"] == float(answer.value)
        values = {slide.direction: float(slide.value) for slide in answer.slides}
        assert {d: q for d, q in zip(GAME.directions, info["q"], strict=True) if q == q} == values
        action = rng.choice(np.flatnonzero(info["action_mask"]))
        board, _, terminated, _, info = env.step(action)
        assert info["regret"] == float(answer.value) - values[GAME.directions[action]]
    assert terminated
    assert info["v"] == 0.0
    assert np.isnan(info["q"]).all()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("illegal", ["noop", "terminate"])
@pytest.mark.parametrize("reward", ["win", "score"])
def test_rewards_and_regrets_add_up_to_the_value(table, mode, illegal, reward) -> None:
    """In the mean, value = rewards + regrets, whatever is played, also by actions that are not allowed."""
    n, rng = 30_000, np.random.default_rng(2)
    env = GameVectorEnv(GAME, num_envs=n, autoreset_mode=mode, illegal=illegal, reward=reward)
    oracle = VectorOracleInfo(env, table)
    _, infos = oracle.reset(seed=1)
    v, total, going = infos["v"].copy(), np.zeros(n), np.ones(n, dtype=bool)
    for _ in range(25 if mode != "Disabled" else 1):
        _, rewards, terminated, truncated, infos = oracle.step(rng.integers(0, 4, n))
        total += np.where(going, rewards + infos["regret"], 0.0)
        going &= ~(terminated | truncated)
    rest = np.where(going, infos["v"], 0.0)
    difference = total + rest - v
    assert abs(difference.mean()) < 5 * difference.std() / n**0.5


# ---- what is wrong is said ----


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda _: GameEnv("3x3"), "must be a Game or its identity"),
        (lambda _: GameEnv(Game("3x3")), "cannot be won"),
        (lambda _: GameEnv(GAME, illegal="x"), "illegal must be one of"),
        (lambda _: GameEnv(GAME, render_mode="human"), "render mode"),
        (lambda _: GameEnv(GAME).step(4), "actions are 0 to 3, not 4"),
        (lambda _: GameEnv(GAME).step("left"), "whole numbers"),
        (lambda _: GameEnv(GAME).reset(options={"board": [[9, 9, 9], [9, 9, 9]]}), "is not a board"),
        (lambda _: GameEnv(GAME).reset(options={"board": [1, 2]}), "must be an array"),
        (lambda _: GameEnv(GAME).reset(options={"boards": []}), "no option 'boards'; it has board$"),
        (lambda _: GameVectorEnv(GAME).reset(options={"board": []}), "'board'; it has reset_mask, boards$"),
        (lambda _: GameVectorEnv(GAME, autoreset_mode="x"), "autoreset mode"),
        (lambda _: GameVectorEnv(GAME, max_episode_steps=0), "1 or more"),
        (lambda _: GameVectorEnv(GAME, num_envs=2).step([0]), "2 whole numbers"),
        (lambda _: GameVectorEnv(GAME, num_envs=2).step([float("nan"), 0]), "whole numbers"),
        (lambda _: GameVectorEnv(GAME, num_envs=2).reset(options={"reset_mask": [True]}), "reset_mask"),
        (lambda _: GameVectorEnv(GAME).reset(options={"reset_mask": np.zeros(1, bool)}), "no game"),
        (lambda t: OracleInfo(gymnasium.make("CartPole-v1"), t), "an environment of tilebase"),
        (lambda t: OracleInfo(GameEnv(Game("2x2", 16)), t), "is a table of"),
        (lambda t: OracleInfo(GameEnv(GAME, reward="moves"), t), "moves"),
    ],
)
def test_what_is_wrong_is_said(table, make, words) -> None:
    with pytest.raises(UsageError, match=words):
        make(table)


def test_actions_that_are_not_allowed_are_refused_before_any_game_moves() -> None:
    env = GameVectorEnv(GAME, num_envs=2, illegal="raise")
    boards = np.array([[[1, 1, 0], [0, 0, 0]], [[1, 2, 3], [0, 0, 0]]])
    env.reset(options={"boards": boards})
    with pytest.raises(UsageError, match="left is not allowed on 2,4,8/0,0,0, in game 1"):
        env.step([0, 0])
    assert env.games.boards.tolist() == boards.tolist()
    single = GameEnv(GAME, illegal="raise")
    single.reset(options={"board": boards[1]})
    with pytest.raises(UsageError, match="in game 0"):
        single.step(0)


def test_an_ended_game_waits_in_the_mode_disabled() -> None:
    game = Game("2x2", 16, start="2,4/4,2")
    env = GameVectorEnv(game, num_envs=1, autoreset_mode="Disabled", illegal="terminate")
    env.reset()
    assert env.step([0])[2].tolist() == [True]
    with pytest.raises(UsageError, match="game 0 has ended"):
        env.step([0])


def test_a_missing_extra_gets_one_sentence() -> None:
    script = "import sys; sys.modules['gymnasium'] = None\nimport tilebase.envs"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "MissingExtraError: environments need the package gymnasium: install tilebase[rl]" in done.stderr
