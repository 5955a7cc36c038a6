"""The environments keep the interface of Gymnasium, and the oracle says what a table says."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from tilebase import Board, Game, open_table
from tilebase.arrays import TableArrays
from tilebase.datasets import BENCHMARKS
from tilebase.envs import GameEnv, GameVectorEnv, OracleInfo, VectorOracleInfo, WideGame
from tilebase.errors import UsageError

GAME = Game("2x3", 32)
MODES = ("NextStep", "SameStep", "Disabled")


@pytest.fixture(scope="module")
def table(solved):
    with open_table(solved(GAME, "win,score")) as table:
        yield table


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"game": Game("3x3", 512), "reward": "score", "illegal": "terminate", "render_mode": "ansi"},
        {"game": Game("2x2x2", 16).identity, "reward": "moves"},
        {"game": Game("2x3", 16, unmergeable=[5]), "observation": "one-hot"},
        {"game": WideGame("4x4"), "reward": "score", "render_mode": "rgb_array"},
        {"game": WideGame("8x8", 2048).identity, "observation": "one-hot"},
    ],
    ids=str,
)
def test_gymnasium_accepts_the_environment(parameters) -> None:
    env = gymnasium.make("tilebase.envs:tilebase/2048-v0", **parameters)
    check_env(env.unwrapped)
    pickle.loads(pickle.dumps(env)).reset()
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


def test_names() -> None:
    """One for each game of a benchmark; the whole game has no goal, and rewards the score."""
    for task in BENCHMARKS.values():
        env = gymnasium.make(f"tilebase/{task.table}-v0", reward=task.objective)
        assert (env.unwrapped.game, env.unwrapped.reward) == (task.game, task.objective)
        assert gymnasium.make(EnvSpec.from_json(env.spec.to_json())).unwrapped.game == task.game
    whole = gymnasium.make_vec("tilebase/4x4-v0", num_envs=2)
    assert (whole.game, whole.reward) == (WideGame("4x4"), "score")
    assert whole.single_observation_space.high.max() == 17  # 131,072


@pytest.mark.parametrize("game", [GAME, Game("2x2x2", 16, walls=[1]), WideGame("4x4")], ids=str)
def test_observations_are_boards(game) -> None:
    """One-hot: a 1 at the exponent of each cell, as `as_policy` shows boards to an agent."""
    pair = [GameVectorEnv(game, num_envs=3, reward="moves", observation=o) for o in ("exponents", "one-hot")]
    for _ in range(2):
        boards, shown = (env.reset(seed=2)[0] for env in pair)
        assert shown.dtype == np.uint8
        assert shown.shape == (*boards.shape, pair[0].single_observation_space.high.max() + 1)
        np.testing.assert_array_equal(shown.argmax(axis=-1), boards)
        assert (shown.sum(axis=-1) == 1).all()


def test_a_copied_state_is_continued() -> None:
    """With other spawns, or with the same; the values of the oracle are those of the state."""
    for env in (GameEnv(GAME, reward="score"), GameVectorEnv(GAME, num_envs=3, max_episode_steps=9)):
        first = env.reset(seed=1)
        state = pickle.loads(pickle.dumps(env.clone_state(include_rng=True)))
        assert {state, env.clone_state(include_rng=True)} == {state} != {env.clone_state()}
        expected = steps(env)
        same(env.restore_state(state), first)
        same(steps(env), expected)
        with pytest.raises(UsageError, match="restore what clone_state returned"):
            env.restore_state(None)
    env, seen = GameEnv(Game("3x3", 64)), set()
    env.reset(options={"board": "2,2,0/0,0,0/0,0,0"})
    state = env.clone_state()
    for _ in range(20):
        env.restore_state(state)
        seen.add(str(env.step(0)[0]))
    assert len(seen) > 5


def test_a_restored_state_has_its_own_values(table) -> None:
    env = OracleInfo(GameEnv(GAME), table)
    env.reset(options={"board": "2,2,0/0,0,0"})
    state = env.unwrapped.clone_state()
    regret = env.step(3)[4]["regret"]
    env.step(0)
    env.unwrapped.restore_state(state)
    assert env.step(3)[4]["regret"] == regret


def test_boards_are_rendered(capsys, monkeypatch) -> None:
    """As `RecordVideo` collects them: the pixels have the colours of `Board.svg`."""
    game = Game("2x3", 64, walls=[5])
    env = gymnasium.wrappers.RenderCollection(GameEnv(game, render_mode="rgb_array"))
    env.reset(options={"board": "2,16,0/0,32,#"})
    env.step(0)
    first, second = env.render()
    assert first.dtype == np.uint8
    assert first.shape == (236, 348, 3)
    centres = {
        (row, column): first[20 + 112 * row, 20 + 112 * column] for row in (0, 1) for column in (0, 1, 2)
    }
    fills = ("f3ece2", "f29e62", "d5cabd", "d5cabd", "f0885c", "6f655b")
    assert [bytes(pixel).hex() for pixel in centres.values()] == list(fills)
    assert (first != second).any()
    monkeypatch.setattr("time.sleep", lambda _: None)
    env = GameEnv(game, render_mode="human")
    env.reset(options={"board": "2,16,0/0,32,#"})
    assert env.step(0)[2] is False
    assert capsys.readouterr().out.count("│  16 │") == 2


def test_a_start_board_and_seeds() -> None:
    env = GameEnv(GAME)
    for board in ("2,4,8/0,0,0", Board.parse(GAME, "2,4,8/0,0,0"), np.array([[1, 2, 3], [0, 0, 0]])):
        found, info = env.reset(options={"board": board})
        assert found.tolist() == [[1, 2, 3], [0, 0, 0]]
        assert info["action_mask"].tolist() == [0, 0, 0, 1]
    first, again = ((env.reset(seed=4), steps(env)) for _ in range(2))
    same(first, again)
    assert str((env.reset(), steps(env))) != str(first)


@pytest.mark.parametrize("make", [gymnasium.make, gymnasium.make_vec])
def test_a_specification_is_text(make) -> None:
    """Of a `Game` and of its identity; the environment of the text is the same one."""
    options = {"autoreset_mode": AutoresetMode.SAME_STEP, "num_envs": 2} if make is gymnasium.make_vec else {}
    game = Game("2x3", 32, spawn="1/4", limits="16,16,16/16,16,16")
    specs = [
        make("tilebase/2048-v0", game=one, reward="score", **options).spec for one in (game, game.identity)
    ]
    assert specs[0] == specs[1]
    text = specs[0].to_json()
    assert text == specs[1].to_json()
    again = make(EnvSpec.from_json(text))
    assert again.unwrapped.game == game
    assert again.unwrapped.reward == "score"
    assert again.spec == specs[0]
    with pytest.raises(
        UsageError, match=r"name a goal of at most 65536, as 4x4 65536, in Python Game\('4x4', 65536\)"
    ):
        make("tilebase/2048-v0", game=Game("4x4"))
    assert make("tilebase/2048-v0", game=Game("4x4", 65536)).reset(seed=1)


STUCK = Game("1x2", 8, start="2,4")
"""Games that begin without a slide: the first step terminates them."""
DIFFERENT = [
    {"game": GAME},
    {"game": GAME, "reward": "score", "illegal": "terminate"},
    {"game": Game("2x2", 8), "max_episode_steps": 3},
    {"game": GAME, "reward": "score", "max_episode_steps": 4, "illegal": "terminate"},
    {"game": STUCK},
    {"game": WideGame("2x3", 16), "observation": "one-hot", "max_episode_steps": 5},
    {"game": STUCK, "max_episode_steps": 1, "illegal": "terminate"},
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("options", DIFFERENT, ids=str)
@pytest.mark.parametrize("oracle", [False, True])
def test_many_games_are_those_of_single_environments(mode, options, oracle, solved) -> None:
    """Whatever Gymnasium's own vector environment returns of single ones, bit for bit, with all infos."""
    n = 7
    if oracle and options["game"].wide:
        options = options | {"game": Game("2x3", 16)}
    table = solved(options["game"], options.get("reward", "win"), "9/10") if oracle else None

    def single():
        env = gymnasium.make("tilebase/2048-v0", **options)
        return OracleInfo(env, table) if oracle else env

    made = gymnasium.make_vec("tilebase/2048-v0", num_envs=n, autoreset_mode=mode, **options)
    ours = VectorOracleInfo(made, table) if oracle else made
    theirs = SyncVectorEnv([single] * n, autoreset_mode=AutoresetMode(mode))
    assert made.metadata["autoreset_mode"] == AutoresetMode(mode)
    assert made.single_observation_space == theirs.single_observation_space
    assert made.action_space == theirs.action_space
    for seed in (11, 12):
        rng = np.random.default_rng(seed)
        same(ours.reset(seed=seed), theirs.reset(seed=seed))
        for step in range(25):
            actions = rng.integers(0, made.single_action_space.n, n)
            found, expected = ours.step(actions), theirs.step(actions)
            same(found, expected)
            again = found[2] | found[3] if mode == "Disabled" else rng.random(n) < 0.3
            if again.any() and (mode == "Disabled" or step % 5 == 0):
                chosen = [{"reset_mask": again.copy()} for _ in range(2)]
                same(ours.reset(options=chosen[0]), theirs.reset(options=chosen[1]))


def same(found, expected) -> None:
    """Compare what two environments returned: types, numbers, names, and nothing more."""
    assert getattr(found, "dtype", type(found)) == getattr(expected, "dtype", type(expected))
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for name, one in expected.items():
            same(found[name], one)
    elif isinstance(expected, tuple | list) or getattr(expected, "dtype", np.dtype(int)).kind == "O":
        for one, other in zip(found, expected, strict=True):
            same(one, other)
    else:
        assert np.array_equal(found, expected)


def test_boards_to_begin_with() -> None:
    env = GameVectorEnv(GAME, num_envs=2)
    boards = np.array([[[1, 2, 3], [0, 0, 0]], [[1, 1, 0], [0, 0, 4]]])
    found, _ = env.reset(options={"boards": boards})
    assert found.tolist() == boards.tolist()
    found, _ = env.reset(options={"boards": boards[::-1], "reset_mask": np.array([True, False])})
    assert found.tolist() == [boards[1].tolist()] * 2
    assert env.action_masks().tolist() == [[True, True, True, True]] * 2
    texts = ["2,4,8/0,0,0", Board(GAME, (1, 1, 0, 0, 0, 4))]
    for given in (texts, np.array(["2,4,8/0,0,0", "2,2,0/0,0,16"]), [texts[0], boards[1].ravel()]):
        assert env.reset(options={"boards": given})[0].tolist() == boards.tolist()


def single(_):
    return gymnasium.make("tilebase/2048-v0", game=GAME, reward="score", max_episode_steps=9)


def vector(_):
    return GameVectorEnv(GAME, num_envs=5, reward="score", autoreset_mode="SameStep")


COPIED = {
    "single": single,
    "wide goal": lambda _: GameEnv(Game("5x4", 256)),
    "vector": vector,
    "OracleInfo": lambda table: OracleInfo(single(table), table),
    "VectorOracleInfo": lambda table: VectorOracleInfo(vector(table), table),
}


def steps(env) -> list:
    """What 12 steps return after a reset, and after a second one, which takes further spawns."""
    rng = np.random.default_rng(0)
    found = []
    for at in range(12):
        if at == 6:
            found.append(env.reset())
        shape = () if env.unwrapped.__class__ is GameEnv else env.num_envs
        found.append(env.step(rng.integers(0, 4, shape)))
    return found


@pytest.fixture(scope="module")
def elsewhere():
    """A process that was started by spawning."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        yield lambda env: pool.apply(steps, (env,))


@pytest.mark.parametrize("kind", COPIED)
def test_copies_have_the_same_future(kind, table, elsewhere) -> None:
    """They go on with the same spawns and values, and none changes the other."""
    env = COPIED[kind](table)
    env.reset(seed=3)
    if kind == "wide goal":
        env.reset(options={"board": [7, 7, *[0] * 18]})
    env.step(env.action_space.sample() * 0)
    deep, pickled = copy.deepcopy(env), pickle.dumps(env)
    expected = steps(env)
    for found in (elsewhere(pickle.loads(pickled)), steps(pickle.loads(pickled)), steps(deep)):
        same(found, expected)


def test_the_oracle_says_what_the_table_says(table) -> None:
    env = OracleInfo(GameEnv(GAME), table)
    board, info = env.reset(seed=5)
    rng = np.random.default_rng(1)
    while info["action_mask"].any():
        answer = table.probe(Board(GAME, tuple(board.ravel())))
        assert info["v"] == float(answer.value)
        values = {slide.direction: float(slide.value) for slide in answer.slides}
        assert {d: q for d, q in zip(GAME.directions, info["q"], strict=True) if q > -np.inf} == values
        action = rng.choice(np.flatnonzero(info["action_mask"]))
        board, _, terminated, _, info = env.step(action)
        assert info["regret"] == float(answer.value) - values[GAME.directions[action]]
    assert terminated
    assert info["v"] == 0.0
    assert (info["q"] == -np.inf).all()


def test_gymnasium_accepts_the_oracle(table) -> None:
    with pytest.warns(UserWarning, match="different from the unwrapped version"):  # as of any wrapper
        check_env(OracleInfo(gymnasium.make("tilebase/2048-v0", game=GAME), table))
    spec = OracleInfo(gymnasium.make("tilebase/2048-v0", game=GAME), table, objective="score").spec
    again = gymnasium.make(EnvSpec.from_json(spec.to_json()))
    found, expected = again.reset(options={"board": "2,4,8/0,0,0"})[1], table.probe("2,4,8/0,0,0", "score")
    assert found["v"] == float(expected.value)


def test_a_board_that_the_table_lacks(solved) -> None:
    game = Game("2x2", 32, start="2,4/0,8")
    info = OracleInfo(GameEnv(game), solved(game)).reset(options={"board": "2,2/0,0"})[1]
    assert np.isnan(info["v"])
    np.testing.assert_array_equal(info["q"], [np.nan, np.nan, -np.inf, np.nan])


def test_a_discount_as_in_a_return(solved) -> None:
    """The first slide counts whole.  By hand: down wins at once; left needs two slides, if a 4 is spawned."""
    game = Game("2x2", 8, start="4,2/4,0")
    for reward, value in (("win", 1.0), ("score", 8.0)):
        env = GameEnv(game, reward=reward)
        info = OracleInfo(env, solved(game, "win,score", "1/2")).reset()[1]
        assert info["v"] == value
        assert dict(zip(game.directions, info["q"], strict=True))["down"] == value
        arrays = TableArrays(solved(game, "win,score", "1/2"), reward, returns=True)
        found = pickle.loads(pickle.dumps(arrays)).probe("4,2/4,0")
        assert (found.value, found.q[3]) == (value, value)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("illegal", ["noop", "terminate"])
@pytest.mark.parametrize(("reward", "discount"), [("win", 1), ("score", 1), ("score", 0.9)])
def test_rewards_and_regrets_add_up_to_the_value(solved, mode, illegal, reward, discount) -> None:
    """In the mean, value = rewards + regrets, whatever is played, also by actions that are not allowed."""
    n, rng = 10_000, np.random.default_rng(2)
    env = GameVectorEnv(GAME, num_envs=n, autoreset_mode=mode, illegal=illegal, reward=reward)
    oracle = VectorOracleInfo(env, solved(GAME, "win,score", str(discount)))
    _, infos = oracle.reset(seed=1)
    v, total, going, steps = infos["v"].copy(), np.zeros(n), np.ones(n, dtype=bool), 0
    for _ in range(25 if mode != "Disabled" else 1):
        _, rewards, terminated, truncated, infos = oracle.step(rng.integers(0, 4, n))
        lost = infos["regret"] + infos.get("final_info", {"regret": 0})["regret"]
        total += np.where(going, discount**steps * (rewards + lost), 0.0)
        going &= ~(terminated | truncated)
        steps += 1
    rest = discount**steps * np.where(going, infos["v"], 0.0)
    difference = total + rest - v
    assert abs(difference.mean()) < 5 * difference.std() / n**0.5


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda _: GameEnv("3x3"), "must be a Game or its identity"),
        (lambda _: GameEnv(Game("3x3")), "cannot be won"),
        (lambda _: GameEnv(GAME, illegal="x"), "illegal must be one of"),
        (lambda _: GameEnv(GAME, render_mode="x"), "render mode must be ansi, rgb_array, human or None"),
        (lambda _: GameEnv(GAME, observation="tiles"), "observation must be exponents or one-hot"),
        (lambda t: OracleInfo(gymnasium.make("tilebase/4x4-v0"), t), "is a table of"),
        (lambda _: GameEnv(GAME).step(4), "actions are 0 to 3, not 4"),
        (lambda _: GameEnv(GAME).step("left"), "whole numbers"),
        (lambda _: GameEnv(GAME).reset(options={"board": [[9, 9, 9], [9, 9, 9]]}), "is not a board"),
        (lambda _: GameEnv(GAME).reset(options={"board": [1, 2]}), "must be an array"),
        (lambda _: GameEnv(GAME).reset(options={"boards": []}), "no option 'boards'; it has board$"),
        (lambda _: GameVectorEnv(GAME).reset(options={"board": []}), "'board'; it has reset_mask, boards$"),
        (lambda _: GameVectorEnv(GAME, autoreset_mode="x"), "autoreset mode"),
        (lambda _: GameVectorEnv(GAME, max_episode_steps=0), "1 or more"),
        (lambda _: GameVectorEnv(GAME, num_envs=2).step([0]), "an array .2. of whole numbers"),
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


def test_actions_of_ended_games_and_those_that_are_not_allowed_are_refused_before_any_game_moves() -> None:
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
    ended = Game("2x2", 16, start="2,4/4,2")
    env = GameVectorEnv(ended, num_envs=1, autoreset_mode="Disabled", illegal="terminate")
    env.reset()
    assert env.step([0])[2].tolist() == [True]
    with pytest.raises(UsageError, match="game 0 has ended"):
        env.step([0])


def test_a_missing_extra_gets_one_sentence() -> None:
    script = "import sys; sys.modules['gymnasium'] = None\nimport tilebase.envs"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "MissingExtraError: environments need the package gymnasium: in the clone" in done.stderr
