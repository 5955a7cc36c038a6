"""A script as a user writes one: `tests/test_project.py` checks that the types of its calls are right."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tilebase import (
    Below,
    Board,
    Exact,
    Forced,
    Game,
    Progress,
    ProvedBound,
    Rounded,
    Solution,
    Table,
    UsageError,
    count,
    evaluate,
    explain,
    force,
    formation,
    open_table,
    prove,
    solve,
)
from tilebase.arrays import GameArrays, TableArrays
from tilebase.datasets import benchmark
from tilebase.envs import GameEnv, GameVectorEnv, OracleInfo, VectorOracleInfo
from tilebase.errors import MissingBoardError
from tilebase.patterns.reach import Reach, reach
from tilebase.policies import ArrayPolicy, Comparison, as_policy, compare, judge
from tilebase.questions.limits import search_limits


def value_of(table: Table, text: str) -> float:
    """The value of a board as a number; 0 if the table does not hold it."""
    answer = table.get(text)
    return 0.0 if answer is None else float(answer.value)


def known(table: Table, text: str) -> str:
    """What is known of a board."""
    found = table.get(text, "nothing")
    if isinstance(found, str):
        return found
    value = found.value
    if isinstance(value, Rounded):
        return f"{value.value} in {value.dtype}, at most {value.error} wrong"
    if isinstance(value, Exact | Below):
        return str(value)
    return f"{float(value)}: {' or '.join(found.best)}"


def boards(game: Game, keys: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> list[Board]:
    """The boards of packed keys as NumPy gives them."""
    return [Board.from_key(game, key) for key in keys]


def worst(table: Table) -> tuple[str, float]:
    """The worst slide of the first start board, and its value."""
    game = table.game
    state = Board(game, game.starts()[0][0])
    slides = table.probe(state).slides
    chosen = min(slides, key=lambda slide: float(slide.value))
    return chosen.direction, float(chosen.value)


def report(folder: str) -> str:
    """Something of a table."""
    with open_table(folder) as table:
        first: float = float(table.value)
        z: float | None = evaluate(table, table, games=100).z
        texts = [board.text for board in boards(table.game, np.array([0x1100, 0x1200], dtype=np.uint64))]
        return f"{first} {worst(table)} {value_of(table, '2,2/0,0')} {known(table, '2,2/0,0')} {texts} {z}"


def all_of_it(progress: Progress | None = None) -> list[str]:
    """A line from each kind of result."""
    game = Game("2x2", 32, start="empty")
    solution: Solution = solve(game, "lower,upper", threads=1)
    bound: ProvedBound = prove(game, dtype="uint32", direction="upper")
    forced: Forced = force(Game("2x2", 8))
    found: Reach = reach("2,2/0,0")
    limits: str = search_limits(game, 1000).best.text
    total: int = count(formation("44").game(32)).total("live")
    meaning: str = explain("guaranteed")[0].text
    lines = [bound.statement, forced.statement, found.statement, limits, meaning, str(total)]
    if progress is not None:
        lines.append(f"{progress.fraction:.0%}")
    return [*lines, *(str(value) for value in solution.start.values())]


def regret(folder: str, policy: str) -> float | None:
    """What a policy loses; None if it does not exist or leaves the table."""
    try:
        return evaluate(folder, policy, threads=1).regret
    except (UsageError, MissingBoardError):
        return None


def first(boards: npt.NDArray[np.uint8], allowed: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
    """An agent that is asked for many boards."""
    chosen: npt.NDArray[np.intp] = allowed.argmax(axis=1)
    return chosen


def agents(folder: str) -> tuple[float, float, Comparison]:
    """What agents are worth: the value and the score of one, and several."""
    with open_table(folder) as table:
        policy: ArrayPolicy = as_policy(first, table.game, actions="pgx", observation="pgx")
        judged = judge(table, policy, symmetry="none", threads=1)
        score: float = benchmark("2x2-32-win").score(judged.value)
        return judged.worst[0].regret, score, compare(table, {"mine": policy}, symmetry="none")


def arrays(folder: str) -> float:
    """The mean value of some boards."""
    with open_table(folder) as table:
        boards = GameArrays(table.game).pack([[1, 1, 0, 0]])
        found = TableArrays(table, threads=2).probe(boards, encoding="keys")
        return float(found.value.mean())


def one_game(folder: str) -> tuple[float, float]:
    """What a game earns and loses in an environment."""
    env = OracleInfo(GameEnv(Game("2x2", 32), reward="win", render_mode="ansi"), folder)
    board, info = env.reset(seed=1)
    earned = lost = 0.0
    ended = False
    while not ended:
        action = int(info["action_mask"].argmax())
        board, reward, terminated, truncated, info = env.step(action)
        earned, lost = earned + float(reward), lost + info["regret"]
        ended = terminated or truncated or not board.any()
    return earned, lost


def many_games(folder: str, steps: int) -> npt.NDArray[np.float64]:
    """What many games lose."""
    envs = VectorOracleInfo(GameVectorEnv(Game("2x2", 32), num_envs=100), folder)
    _, infos = envs.reset(seed=1)
    lost: npt.NDArray[np.float64] = np.zeros(envs.num_envs)
    for _ in range(steps):
        _, _, _, _, infos = envs.step(infos["action_mask"].argmax(axis=1))
        lost += infos["regret"]
    return lost
