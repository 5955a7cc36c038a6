"""Decision processes and diagrams: a public solver, the oracle and ours must agree."""

from __future__ import annotations

import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from collections import defaultdict
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import cached_oracle as oracle
from stored import contents
from tilebase import solve
from tilebase.cli import main
from tilebase.errors import ResourceError, UsageError
from tilebase.game.game import Cells, Game
from tilebase.game.symmetry import canonical
from tilebase.objectives.numbers import digits_text
from tilebase.objectives.objective import parse_objectives
from tilebase.questions.mdp import to_mdp
from tilebase.questions.mdp_files import export_mdp
from tilebase.small.diagrams import DIGITS, Diagram, decision_diagram, diagram_picture

DISCOUNT = Fraction(99, 100)
GAMES = [
    Game("2x2", 8),
    Game("2x2", 32),
    Game("2x2", 16, start="empty"),
    Game("2x3", 8, spawn="1/3"),
    Game("2x3", 16, walls=[1]),
    Game("2x2", 32, limits="16,8/8,4"),
    Game("2x2", 16, horizon=14),
    Game("2x3", 8, masks="..x/...|.../..x", start="after 0,0,x/2,2,0", horizon=16),
]
WITH_GOAL = [*GAMES, Game("2x2", 16, spawn=0), Game("2x3", 8, unmergeable=[0, 5], start="empty")]

TO_A_SUM = Game("2x2", goal_sum=12)

needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is optional")


# -- decision processes ----------------------------------------------------------------------------


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("game", [*WITH_GOAL, TO_A_SUM], ids=str)
def test_arrays_are_consistent(game, merge, symmetric):
    mdp = to_mdp(game, symmetric=symmetric, merge=merge)
    mdp.assert_consistent()
    layers = oracle.reachable(game, symmetric=symmetric).values()
    assert set(mdp.states) == {state for layer in layers for state in layer.states if game.slides(state)}
    assert list(mdp.states) == sorted(mdp.states, key=lambda state: (game.sum(state), game.pack(state)))
    assert mdp.symmetric == symmetric
    assert mdp.actions[-2:] == ("stay", "stay")
    rows = mdp.transitions.toarray()
    for pair, (state, name) in enumerate(zip(mdp.pair_states[:-2], mdp.actions, strict=False)):
        check_pair(mdp, rows[pair], mdp.rewards[pair], mdp.states[state], name.split("="))
    for i, state in enumerate(mdp.states):
        names = [mdp.actions[pair] for pair in np.flatnonzero(mdp.pair_states == i)]
        assert sorted("=".join(names).split("=")) == sorted(game.slides(state))
        assert list(mdp.action_numbers[mdp.pair_states == i]) == list(range(len(names)))


@cache
def places(mdp_states: tuple[Cells, ...]) -> dict[Cells, int]:
    return {board: i for i, board in enumerate(mdp_states)}


def check_pair(mdp, chances, reward: float, state: Cells, directions: list[str]) -> None:
    """What an action leads to, by the rules."""
    game, win, lose = mdp.game, len(mdp.states), len(mdp.states) + 1
    place = places(mdp.states)
    row = {int(i): chances[i] for i in np.flatnonzero(chances)}
    for direction in directions:
        after = game.slides(state)[direction]
        expected: dict[int, Fraction] = {}
        for board, p in [] if game.wins(after) else game.spawns(after):
            stood = canonical(game, board) if mdp.symmetric else board
            target = win if game.has_goal_sum(board) else place.get(stood, lose)
            assert (target != lose) == (game.has_goal_sum(board) or bool(game.slides(board)))
            expected[target] = expected.get(target, Fraction(0)) + p
        expected = expected or {win if game.wins(after) else lose: Fraction(1)}
        assert reward == pytest.approx(float(expected.get(win, 0)), abs=1e-15)
        if mdp.symmetric or len(directions) == 1:
            assert row == pytest.approx({target: float(p) for target, p in expected.items()}, abs=1e-15)


@pytest.mark.parametrize(
    ("game", "symmetric"), [(GAMES[0], False), *((game, True) for game in GAMES)], ids=str
)
@pytest.mark.parametrize("method", ["value_iteration", "policy_iteration"])
def test_a_public_solver_agrees(game, method, symmetric):
    from quantecon.markov import DiscreteDP

    mdp = to_mdp(game, symmetric=symmetric, merge=symmetric)
    process = DiscreteDP(
        mdp.rewards, mdp.transitions.tocsr(), float(DISCOUNT), mdp.pair_states, mdp.action_numbers
    )
    found = process.solve(method=method, epsilon=1e-13, max_iter=10_000)
    exact = oracle.values(game, "win", discount=DISCOUNT)
    ours = DISCOUNT * found.v[: len(mdp.states)]
    theirs = [float(exact.states[canonical(game, state)]) for state in mdp.states]
    assert np.abs(ours.astype(float) - theirs).max() < 1e-12
    assert found.v[-2:] == pytest.approx([0, 0], abs=1e-15)
    start = float(DISCOUNT) * mdp.start @ found.v
    assert start == pytest.approx(float(exact.start), abs=1e-12)


def test_games_whose_process_does_not_fit():
    with pytest.raises(ResourceError, match=r"listing the slides of 3x4, to 16: .*of memory"):
        to_mdp(Game("3x4", 16), memory="500MB")
    assert len(to_mdp(Game("2x2", 8)).states) == 15


# -- as files ------------------------------------------------------------------------------------

Process = dict[tuple[int, int], tuple[str, float, dict[int, float]]]
"""The action, the reward and the successors of each choice, by its state and its number there."""


def prism_process(folder: Path) -> Process:
    """As the manual of PRISM describes it."""
    rows = [line.split(" ") for line in (folder / "mdp.tra").read_text("ascii").splitlines()[1:]]
    rewards = [line.split(" ") for line in (folder / "mdp.trew").read_text("ascii").splitlines()[1:]]
    worth = {(int(s), int(c), int(to)): float(r) for s, c, to, r in rewards}
    found: Process = {}
    for s, c, to, p, name in rows:
        at = int(s), int(c)
        found.setdefault(at, (name, worth.get((*at, int(to)), 0.0), {}))[2][int(to)] = float(p)
        assert found[at][1] == worth.get((*at, int(to)), 0.0)
    at = [(int(s), int(c), int(to)) for s, c, to, _, _ in rows]
    assert at == sorted(set(at))
    assert len(worth) == len(rewards) == int((folder / "mdp.trew").read_text().split(maxsplit=3)[2])
    return found


def storm_process(folder: Path) -> tuple[Process, dict[str, int]]:
    """As the documentation of Storm describes it; and the states by their labels."""
    head, model = (folder / "mdp.drn").read_text("ascii").split("@model\n")
    found: Process = {}
    labels, state = {}, -1
    for words in (line.replace("[", "").replace("]", "").split() for line in model.splitlines()):
        if words[0] == "state":
            state += 1
            assert words[1:3] == [str(state), "0"]
            labels |= dict.fromkeys(words[3:], state)
        elif words[0] == "action":
            at = state, len([one for one in found if one[0] == state])
            found[at] = words[1], float(words[2]), {}
        else:
            found[at][2][int(words[0])] = float(words[2])
    assert [int(number) for number in re.findall(r"@nr_\w+\n(\d+)", head)] == [state + 1, len(found)]
    return found, labels


def best_start(process: Process, discount: Fraction) -> float:
    """The largest discounted reward from state 0: a linear programme."""
    from scipy.optimize import linprog

    states = max(state for state, _ in process) + 1
    rows, rewards = np.zeros((len(process), states)), []
    for row, ((state, _), (_, reward, leads)) in zip(rows, process.items(), strict=True):
        row[list(leads)] = [float(discount) * p for p in leads.values()]
        row[state] -= 1
        rewards.append(-reward)
    ends = [(None, None)] * (states - 2) + [(0, 0)] * 2
    return float(linprog(np.ones(states), rows, rewards, bounds=ends, method="highs").x[0])


def best_start_of_arrays(folder: Path) -> float:
    """The same of matrices as MDPToolbox takes them: by value iteration."""
    from scipy.sparse import load_npz

    found = np.load(folder / "mdp.npz")
    transitions, pairs = load_npz(folder / "mdp.npz"), found["direction_pairs"]
    matrices, rewards = [transitions[row] for row in pairs], found["rewards"][pairs].T
    values = np.zeros(len(found["start"]))
    for _ in range(40):  # more slides than a game of the smallest boards has
        q = [rewards[:, a] + found["discount"] * (one @ values) for a, one in enumerate(matrices)]
        values = np.max(q, axis=0)
    assert values[[found["won"], found["lost"]]].tolist() == [0, 0]
    assert [one.shape for one in matrices] == [(len(values), len(values))] * len(pairs)
    return float(found["discount"] * (found["start"] @ values))


@pytest.mark.parametrize(
    ("game", "objective"),
    [
        *((game, "win") for game in [*WITH_GOAL, TO_A_SUM, Game("2x2", 32, start="2,4/4,2")]),
        (Game("2x2", 32), "win@9/10"), (Game("2x2"), "score"), (Game("2x2", 16), "score@0.99"),
        (TO_A_SUM, "merges"), (Game("2x2", 16, horizon=14), "moves@1/2"),
    ],
    ids=str,
)  # fmt: skip
def test_files_hold_the_process_and_solvers_agree(game: Game, objective: str, tmp_path: Path) -> None:
    """A linear programme and value iteration give the value of the oracle."""
    folder, (chosen,) = tmp_path / "out", parse_objectives(objective)
    counts, mdp = export_mdp(game, folder, chosen), to_mdp(game, chosen)
    states, labels = ((folder / f"mdp.{suffix}").read_text("ascii").splitlines() for suffix in ("sta", "lab"))
    ends, last = (0,) * (1 + game.cells), len(mdp.states) + 2
    live = [(1, game.sum(board), *board) for board in mdp.states]
    listed = enumerate([(0, *ends), *live, (2, *ends), (3, *ends)])
    names = ("phase", "sum", *(f"cell_{cell}" for cell in range(game.cells)))
    assert states == [f"({','.join(names)})", *(f"{n}:({','.join(map(str, s))})" for n, s in listed)]
    assert labels == ['0="init" 1="deadlock" 2="won" 3="lost"', "0: 0", f"{last - 1}: 2", f"{last}: 3"]
    draws: dict[int, float] = defaultdict(float)
    places = {board: number for number, board in enumerate(mdp.states, 1)}
    for board, p in game.starts():
        draws[places.get(canonical(game, board), last)] += float(p)
    found = prism_process(folder)
    assert found.pop((0, 0)) == ("start", 0, pytest.approx(draws, abs=1e-15))
    pairs = zip(mdp.pair_states.tolist(), mdp.action_numbers.tolist(), strict=True)
    rows = zip(pairs, mdp.actions, mdp.rewards, mdp.transitions.toarray(), strict=True)
    assert found == {
        (state + 1, choice): (
            name.replace("=", "_"), reward, {int(to) + 1: row[to] for to in np.flatnonzero(row)}
        )
        for (state, choice), name, reward, row in rows
    }  # fmt: skip
    process, named = storm_process(folder)
    assert (process, named) == (prism_process(folder), {"init": 0, "won": last - 1, "lost": last})
    assert (folder / "mdp.tra").read_text().split("\n", 1)[0] == "{} {} {}".format(*counts)
    assert counts == (last + 1, len(process), sum(len(leads) for _, _, leads in process.values()))
    expected = float(oracle.values(game, chosen.name, discount=chosen.discount).start)
    assert best_start(process, chosen.discount) == pytest.approx(expected, rel=1e-12)
    assert best_start_of_arrays(folder) == pytest.approx(expected, rel=1e-12)


def test_a_table_gives_the_process_of_its_game(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    solve(Game("2x2", 16, start="empty"), "moves", table=folder / "t", threads=1)
    assert main(["export", "mdp", "t", "-o", "a"]) == 0
    assert main(["export", "mdp", "2x2", "16", "--start", "empty", "-o", "b/"]) == 0
    assert contents(folder / "a") == contents(folder / "b")
    numbers = [f"{int(number):,}" for number in (folder / "a" / "mdp.tra").read_text().split(maxsplit=3)[:3]]
    said = "{} states up to symmetry, {} choices, {} transitions\n".format(*numbers)
    assert capsys.readouterr().out == f"a: {said}b: {said}"


def test_an_earlier_folder_is_replaced(folder: Path) -> None:
    for goal in (16, 8):
        counts = export_mdp(Game("2x2", goal), folder / "a")
        assert (folder / "a" / "mdp.tra").read_text().startswith("{} {} {}\n".format(*counts))
    assert sorted(path.name for path in folder.iterdir()) == ["a"]


# -- diagrams --------------------------------------------------------------------------------------


def check_diagram(diagram: Diagram, exact: oracle.Values) -> None:
    game = diagram.game
    for state, actions in diagram.actions.items():
        most = exact.states[state]
        assert diagram.values[state] == most
        named = {direction: action for action in actions for direction in action.directions.split("=")}
        for direction, action in named.items():
            after = game.slides(state)[direction]
            won = game.wins(after)
            assert action.value == exact.discount * (1 if won else exact.afterstates[canonical(game, after)])
            assert action.best == (action.value == most)
            assert sum(p for _, p in action.outcomes) == 1
            boards = [board for board, _ in game.spawns(after)]
            live = {canonical(game, board) if game.slides(board) else "lose" for board in boards}
            assert {end for end, _ in action.outcomes} == ({"win"} if won else live or {"lose"})
        assert any(action.best for action in actions)


@pytest.mark.parametrize("discount", ["1", "0.9"])
@pytest.mark.parametrize("game", WITH_GOAL, ids=str)
def test_diagrams_equal_the_oracle(game, discount):
    exact = oracle.values(game, discount=discount)
    whole = decision_diagram(game, discount=discount)
    assert set(whole.actions) == {state for state in exact.states if game.slides(state)}
    check_diagram(whole, exact)
    for state, actions in whole.actions.items():
        assert sorted("=".join(a.directions for a in actions).split("=")) == sorted(game.slides(state))
    best = decision_diagram(game, optimal=True, discount=discount)
    check_diagram(best, exact)
    for state, actions in best.actions.items():
        assert actions == tuple(action for action in whole.actions[state] if action.best)


@pytest.mark.parametrize("game", WITH_GOAL, ids=str)
def test_optimal_diagrams_hold_what_best_play_reaches(game):
    best = decision_diagram(game, optimal=True)
    starts = {canonical(game, board) for board, _ in game.starts() if game.slides(board)}
    actions = [action for actions in best.actions.values() for action in actions]
    ends = {end for action in actions for end, _ in action.outcomes}
    reached = starts | {end for end in ends if not isinstance(end, str)}
    assert set(best.actions) == set(best.values) == reached


def test_a_legend_says_what_numbers_mean(printed):
    text = diagram_picture(decision_diagram(Game("2x2", 8), discount="9/10")).dot()
    assert "2x2, to 8 under optimal play: states up to symmetry" in text
    assert "its value, the probability to win, discount 9/10" in text
    drawn = printed("export graph 2x2 8 --values --specials")  # both ends are drawn anyway
    assert drawn == diagram_picture(decision_diagram(Game("2x2", 8))).dot()
    assert "\n  win [" in drawn


@needs_dot
@pytest.mark.parametrize(
    "game", [Game("2x2", 16), Game("2x3", 8, walls=[1], start="empty"), Game("2x2x1", 8)], ids=str
)
def test_dot_accepts_the_text(game):
    text = diagram_picture(decision_diagram(game, optimal=True)).dot()
    done = subprocess.run(["dot", "-Tsvg"], input=text, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert ET.fromstring(done.stdout).tag.endswith("svg")


def test_published_process_without_symmetry():
    """70 states and 530 transitions (Lees-Miller): with win and lose, each of which leads to itself."""
    game = Game("2x2", 8)
    diagram = decision_diagram(game, symmetric=False)
    picture = diagram_picture(diagram)
    leads = [edge for edge in picture.edges if edge.head]
    assert len(diagram.values) + 2 == 70
    assert len(leads) + 2 == 530
    boards = [
        node for node in picture.nodes if "shape=point" not in node.dot and node.name not in ("win", "lose")
    ]
    points = [node for node in picture.nodes if "shape=point" in node.dot]
    assert (len(boards), len(points), len(picture.nodes)) == (68, 200, 270)
    process = to_mdp(game, symmetric=False, merge=False)
    assert (process.transitions.shape[1], process.transitions.nnz) == (70, 530)


def test_one_state_has_the_boards_after_its_slides():
    """The two diagrams of - 2 2 - in Lees-Miller's article: with symmetry all its slides are one action."""
    game = Game("2x2", 8)
    raw = diagram_picture(decision_diagram(game, symmetric=False, board=(0, 1, 1, 0)))
    dashed = [node for node in raw.nodes if "dashed" in node.dot and "dasharray" in node.svg]
    assert (len(raw.nodes), len(dashed), len(raw.edges)) == (17, 4, 20)
    folded = decision_diagram(game, board=(1, 0, 0, 1))
    (action,) = folded.actions[0, 1, 1, 0]
    assert (action.directions, action.after) == ("left=right=up=down", (0, 0, 1, 1))
    assert sorted(map(float, dict(action.outcomes).values())) == [0.1, 0.9]
    with pytest.raises(UsageError, match="is not a live state of 2x2, to 8"):
        decision_diagram(game, board=(1, 1, 1, 1))


@pytest.mark.parametrize(
    ("value", "text"),
    [("1/3", "0.333"), ("0", "0"), ("1", "1"), ("1/1000000", "1e-6"), ("999999/1000000", "0.999999")],
)
def test_numbers_are_short(value, text):
    assert digits_text(Fraction(value), DIGITS) == text
