"""Decision processes and diagrams: a public solver, the oracle and ours must agree."""

from __future__ import annotations

import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from quantecon.markov import DiscreteDP

import cached_oracle as oracle
from tilebase import solve
from tilebase.cli import main
from tilebase.errors import ResourceError, UsageError
from tilebase.game.game import Cells, Game
from tilebase.game.symmetry import canonical, images
from tilebase.questions.mdp import to_mdp
from tilebase.small.diagrams import Diagram, decision_diagram, diagram_picture, number

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

needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is optional")


# -- decision processes ----------------------------------------------------------------------------


def test_published_size():
    """The sizes of 2x2 to 8 in The Mathematics of 2048: Optimal Play, without symmetry."""
    mdp = to_mdp(Game("2x2", 8), symmetric=False, merge=False)
    assert len(mdp.states) + 2 == 70
    triples = {
        (int(state), name, int(target))
        for state, name, row in zip(mdp.pair_states, mdp.actions, mdp.transitions, strict=True)
        for target in row.indices
    }
    assert len(triples) == 530


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("game", GAMES, ids=str)
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
            target = place[stood] if game.slides(board) else lose
            expected[target] = expected.get(target, Fraction(0)) + p
        expected = expected or {win if game.wins(after) else lose: Fraction(1)}
        assert reward == game.wins(after)
        if mdp.symmetric or len(directions) == 1:
            assert row == pytest.approx({target: float(p) for target, p in expected.items()}, abs=1e-15)


@pytest.mark.parametrize(
    ("game", "symmetric"), [(GAMES[0], False), *((game, True) for game in GAMES)], ids=str
)
@pytest.mark.parametrize("method", ["value_iteration", "policy_iteration"])
def test_a_public_solver_agrees(game, method, symmetric):
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
    V = dict(zip(mdp.states, ours, strict=True))
    start = sum(
        float(p) * V.get(canonical(game, board) if symmetric else board, 0.0) for board, p in game.starts()
    )
    assert start == pytest.approx(float(exact.start), abs=1e-12)


@pytest.mark.parametrize("game", GAMES, ids=str)
def test_ours_agrees_with_the_oracle(game):
    exact = oracle.values(game, "win", discount="0.99").start
    assert float(solve(game, "win", discount="0.99", threads=1).value) == pytest.approx(
        float(exact), abs=1e-12
    )


def test_games_that_are_no_process():
    with pytest.raises(UsageError, match="needs a goal"):
        to_mdp(Game("2x2"))
    with pytest.raises(ResourceError, match=r"listing the slides of 4x4, to 2048: .*choose a smaller game"):
        to_mdp(Game("4x4", 2048))
    with pytest.raises(ResourceError, match=r"listing the slides of 3x4, to 16: .*of memory"):
        to_mdp(Game("3x4", 16), memory="500MB")
    assert len(to_mdp(Game("2x2", 8)).states) == 15


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
            ends = {"win"} if won else {successor(game, board) for board, _ in game.spawns(after)} or {"lose"}
            assert {end for end, _ in action.outcomes} == ends
        assert any(action.best for action in actions)


def successor(game: Game, board: Cells) -> object:
    return canonical(game, board) if game.slides(board) else "lose"


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
    reached = starts | {
        end
        for actions in best.actions.values()
        for action in actions
        for end, _ in action.outcomes
        if not isinstance(end, str)
    }
    assert set(best.actions) == set(best.values) == reached


@pytest.mark.parametrize("optimal", [False, True])
def test_text_is_stable_and_sound(optimal):
    game = Game("2x2", 32)
    diagram = decision_diagram(game, optimal=optimal)
    text = diagram_picture(diagram).dot()
    assert text == diagram_picture(decision_diagram(Game("2x2", 32), optimal=optimal)).dot()
    edges = re.findall(r"^  (\w+) -> (\w+) ", text, re.MULTILINE)
    nodes = set(re.findall(r"^  (\w+) \[", text, re.MULTILINE)) - {"graph", "node", "edge"}
    assert {end for edge in edges for end in edge} <= nodes
    actions = sum(len(found) for found in diagram.actions.values())
    outcomes = sum(len(a.outcomes) for found in diagram.actions.values() for a in found)
    assert len(edges) == len(set(edges)) == actions + outcomes


def test_a_legend_says_what_numbers_mean(capsys):
    text = diagram_picture(decision_diagram(Game("2x2", 8), discount="9/10")).dot()
    assert "2x2, to 8 under optimal play: states up to symmetry" in text
    assert "its value, the probability to win, discount 9/10" in text
    assert main(["export", "graph", "2x2", "8", "--values", "--specials"]) == 0  # both ends are drawn anyway
    drawn = capsys.readouterr().out
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


def test_diagrams_that_cannot_be_drawn():
    with pytest.raises(UsageError, match="need a goal"):
        decision_diagram(Game("2x2"))
    with pytest.raises(UsageError, match="states"):
        decision_diagram(Game("2x2", 32), max_states=10)
    with pytest.raises(UsageError, match="states"):
        decision_diagram(Game("4x4", 2048))


def test_images_share_a_diagram():
    game = Game("2x2", 16)
    diagram = decision_diagram(game)
    for state in diagram.actions:
        assert all(image == state or image not in diagram.actions for image in images(game, state))


@pytest.mark.parametrize(
    ("value", "text"),
    [("1/3", "0.333"), ("0", "0"), ("1", "1"), ("1/1000000", "1e-6"), ("999999/1000000", "0.999999")],
)
def test_numbers_are_short(value, text):
    assert number(Fraction(value)) == text
