"""Policies of other forms: all forms of one agent have the same probabilities; what they are worth."""

from __future__ import annotations

import json
import runpy
from typing import Any

import numpy as np
import pytest

from pages import ROOT
from test_arrays import Tensor
from tilebase import count, evaluate, open_table, thin
from tilebase.arrays import GameArrays, TableArrays
from tilebase.cli import main
from tilebase.errors import MissingBoardError, ResourceError, UsageError
from tilebase.game.game import Game
from tilebase.game.symmetry import canonical
from tilebase.objectives.numbers import digits_text
from tilebase.objectives.objective import Objective
from tilebase.objectives.values import Rounded
from tilebase.policies import ACTION_ORDERS, OBSERVATIONS, as_policy, compare, cost_of, judge, visited_states
from tilebase.policies.distributions import distributions
from tilebase.policies.judging import Judgement
from tilebase.policies.simulation import CONFIDENCE, binomial_interval

GAME = Game("2x3", 16)
SMALL = Game("2x2", 32)
GAMES = (
    SMALL,
    Game("2x3", 16, masks="..x/...|.../..x"),
    Game("2x2x2", 8),
    Game("2x2", goal_sum=30),
    Game("2x3", 16, horizon=24),
)


@pytest.fixture(scope="module")
def table(solved):
    with open_table(solved(GAME, "win,score,loss")) as found:
        yield found


@pytest.fixture(scope="module")
def keys(table):
    found = TableArrays(table).to_arrays("states")
    return found["keys"][found["allowed"].any(axis=1)]


def first(boards: Any, allowed: Any) -> Any:
    """The first allowed action: another slide on a turned board."""
    return allowed.argmax(axis=-1)


def first_slide(board):
    return next(iter(board.slides()))


class Model:
    """As the models of learning packages: one-hot boards, a tuple, and masks if they are asked for."""

    observation_space = np.zeros((2, 3, 7))

    def predict(self, seen, action_masks=None):
        assert seen.shape[1:] == self.observation_space.shape
        return action_masks.argmax(axis=1), None


class Blind:
    """It knows no mask, and prefers action 0."""

    def predict(self, observation):
        return np.zeros(len(observation), dtype=np.int64)


def test_forms_of_one_agent(keys):
    boards = GameArrays(GAME)
    expected = as_policy(first, GAME).probabilities(keys)
    assert expected.sum() == len(keys)
    forms = (
        as_policy(first, GAME, asked="one"),
        as_policy(first_slide, GAME, asked="board"),
        as_policy(Model(), GAME),
        as_policy(lambda _, allowed: np.eye(4)[allowed.argmax(axis=1)], GAME),
        as_policy(lambda _, allowed: [[4, 3, 2, 1]] * len(allowed), GAME, output="scores"),
        as_policy(as_policy(first, GAME), GAME),
        *(
            as_policy(lambda _, allowed, form=form: Tensor(form(allowed)), GAME, asked=asked, output=output)
            for asked in ("batch", "one")
            for output, form in {
                "actions": lambda allowed: allowed.argmax(axis=-1),
                "probabilities": lambda allowed: np.eye(4, dtype=np.float32)[allowed.argmax(axis=-1)],
                "scores": lambda allowed: np.eye(4, dtype=np.float32)[allowed.argmax(axis=-1)],
            }.items()
        ),
    )
    for policy in forms:
        np.testing.assert_array_equal(policy.probabilities(keys), expected)
    allowed = boards.slide(keys).allowed
    np.testing.assert_array_equal(forms[0](boards.unpack(keys), allowed), expected)


class Sampler:
    """The signature of ``MaskablePPO.predict`` of sb3-contrib, which samples unless it is told not to."""

    def __init__(self) -> None:
        self._rng = np.random.default_rng(0)

    def predict(self, observation, state=None, episode_start=None, deterministic=False, action_masks=None):
        assert state is episode_start is None
        drawn = 1 if deterministic else self._rng.random((len(observation), len(GAME.directions)))
        return (drawn * action_masks).argmax(axis=-1), state


class Unsteady(Sampler):
    """As `Sampler`, without the parameter: it always samples."""

    def predict(self, observation, action_masks=None):
        return super().predict(observation, action_masks=action_masks)

    def arrays(self, boards, allowed):
        return self.predict(boards, allowed)[0]

    def one(self, _, allowed):
        return self._rng.choice(np.flatnonzero(allowed))

    def seeded(self, _, allowed):
        """The same numbers in each call, so that the answer depends on the place in the batch."""
        return (np.random.default_rng(0).random(allowed.shape) * allowed).argmax(axis=1)

    def rarely(self, boards, allowed):
        """Every slide with the same probability, but for one board of 50."""
        rare = (self._rng.random(len(boards)) < 0.02)[:, None]
        return np.where(rare, np.eye(4)[allowed.argmax(axis=1)], allowed / allowed.sum(axis=1, keepdims=True))

    def board(self, board):
        return self._rng.choice(list(board.slides()))


def test_agents_that_sample_only_if_they_may(table):
    """``deterministic=True`` is passed where it is taken: the slides are those of `first`."""
    exact = judge(table, first, symmetry="none")
    assert judge(table, Sampler(), symmetry="none").value == exact.value
    assert evaluate(table, Sampler(), symmetry="none").value == exact.value
    assert evaluate(table, Sampler(), games=50, seed=1) == evaluate(table, Sampler(), games=50, seed=1)

    def either(board, deterministic=False):
        return first_slide(board) if deterministic else Unsteady().board(board)

    assert judge(table, either, symmetry="none").value == exact.value
    assert evaluate(table, either).value == pytest.approx(exact.value, rel=1e-12)
    assert evaluate(table, either, games=50).error >= 0


AGAIN = "answers otherwise when it is asked again about .*: let it return the probabilities .*, or play games"


@pytest.mark.parametrize("form", ["predict", "arrays", "seeded", "rarely", "board", "one"])
@pytest.mark.parametrize("symmetry", ["check", "canonical", "none"])
def test_agents_that_do_not_repeat_their_answers(table, form, symmetry):
    """They have no exact value, however they are asked; turned boards are not blamed for it."""
    model: Any = Unsteady()
    policy = model if form == "predict" else getattr(model, form)
    policy = as_policy(policy, GAME, asked="one") if form == "one" else policy
    ways = [
        lambda: judge(table, policy, symmetry=symmetry),
        lambda: compare(table, {"random": "random", "mine": policy}, symmetry=symmetry),
        lambda: evaluate(table, policy, symmetry=symmetry),
        lambda: list(visited_states(TableArrays(table), policy, symmetry=symmetry)),
    ]
    if form == "board":
        ways += [lambda: evaluate(table, policy), lambda: distributions(table, policy, of=["tile"])]
    for way in ways:
        with pytest.raises(UsageError, match=AGAIN):
            way()
    assert evaluate(table, policy, games=20).error >= 0


def test_networks_may_round_otherwise_in_another_batch(table):
    """Probabilities that differ from call to call by less than `SUM_ERROR` are not refused."""
    calls = []

    def rounded(boards, allowed):
        calls.append(len(boards))
        weights = allowed * (1 + 1e-7 * np.sin(len(calls) + np.arange(4)))
        return weights / weights.sum(axis=1, keepdims=True)

    judged = judge(table, rounded, symmetry="check")
    assert judged.value == pytest.approx(evaluate(table, "random").value, rel=1e-4)


@pytest.mark.parametrize("package", ACTION_ORDERS)
def test_actions_in_the_order_of_other_packages(package, keys):
    """What the policy calls action b is the direction of this name, in masks, actions and scores."""
    order = ACTION_ORDERS[package]
    by_name = {name: a for a, name in enumerate(GAME.directions)}
    allowed = GameArrays(GAME).slide(keys).allowed
    preferred = [next(by_name[name] for name in order if may[by_name[name]]) for may in allowed]
    scores = as_policy(
        lambda boards, _: np.tile([4, 3, 2, 1], (len(boards), 1)), GAME, output="scores", actions=package
    )
    for policy in (as_policy(first, GAME, actions=package), as_policy(first, GAME, actions=order), scores):
        assert policy.probabilities(keys).argmax(axis=1).tolist() == preferred


def test_observations_of_other_packages(keys):
    """The shapes and types that docs/policies.md states, cell by cell."""
    seen: dict[str, Any] = {}
    boards = GameArrays(GAME).unpack(keys)
    for name in OBSERVATIONS:

        def keeping(shown: Any, allowed: Any, name: str = name) -> Any:
            seen[name] = shown
            return allowed.argmax(axis=1)

        as_policy(keeping, GAME, observation=name).probabilities(keys)
    assert {name: (str(one.dtype), one.shape[1:]) for name, one in seen.items()} == {
        "exponents": ("uint8", (2, 3)),
        "tiles": ("int64", (2, 3)),
        "gymnasium-2048": ("uint8", (2, 3, 16)),
        "jumanji": ("int32", (2, 3)),
        "open-spiel": ("float32", (2, 3)),
        "pgx": ("bool", (2, 3, 31)),
    }
    for name in ("gymnasium-2048", "pgx"):
        np.testing.assert_array_equal(seen[name].argmax(axis=-1), boards)
        assert (seen[name].sum(axis=-1) == 1).all()
    for name in ("tiles", "open-spiel"):
        np.testing.assert_array_equal(seen[name], np.where(boards, 2.0**boards, 0))
    flat = as_policy(lambda shown, allowed: first(shown.reshape(len(allowed), 6), allowed), GAME,
                     observation=lambda boards: boards * 2)  # fmt: skip
    assert flat.probabilities(keys).sum() == len(keys)


def test_slides_that_are_not_allowed(keys):
    allowed = GameArrays(GAME).slide(keys).allowed
    with pytest.raises(UsageError, match=r"the policy slides left on .*, which is not allowed"):
        as_policy(Blind(), GAME).probabilities(keys)
    masked = as_policy(Blind(), GAME, illegal="mask").probabilities(keys)
    np.testing.assert_array_equal(masked[allowed[:, 0]][:, 0], 1)
    shut = ~allowed[:, 0]
    np.testing.assert_allclose(masked[shut], allowed[shut] / allowed[shut].sum(axis=1, keepdims=True))
    even = as_policy(lambda b, _: np.full((len(b), 4), 0.25), GAME, illegal="mask").probabilities(keys)
    np.testing.assert_allclose(even, allowed / allowed.sum(axis=1, keepdims=True))


@pytest.mark.parametrize(
    ("answer", "options", "message"),
    [
        (first, {"asked": "twice"}, "'twice' is not one of batch, one, board, predict"),
        (first, {"output": "q"}, "'q' is not one of actions, probabilities, scores"),
        (first, {"illegal": "skip"}, "'skip' is not one of raise, mask"),
        (first, {"observation": "text"}, "the observation must be one of exponents"),
        (first, {"actions": "dopamine"}, "actions must be tilebase, gymnasium-2048"),
        (first, {"actions": ("left", "right", "up")}, "actions must be the directions of"),
        (lambda _, a: a.argmax(axis=1), {"output": "scores"}, r"need floats \[\d+, 4\]"),
        (lambda b, _: np.full((len(b), 4), np.nan), {"output": "scores"}, "the score NaN to a slide"),
        (lambda _, a: np.eye(4)[a.argmax(axis=1)], {"output": "actions"}, r"need \d+ whole numbers"),
        (lambda _: "north", {"asked": "board"}, "answers 'north' to .*, where"),
        (lambda b, _: b, {"observation": "pgx"}, "answers an array"),
        (lambda b, _: np.zeros(len(b) + 1, int), {}, r"answers an array \[\d+\] of int64; \d+ boards need"),
        (lambda b, _: np.full(len(b), 4), {}, "answers 4, but actions are 0 to 3"),
        (lambda b, _: np.full(len(b), -1), {}, "answers -1, but actions are 0 to 3"),
        (lambda b, _: np.full((len(b), 4), np.nan), {}, "must be at least 0 and add up to 1"),
        (lambda b, _: np.full((len(b), 4), 0.5), {}, "must be at least 0 and add up to 1"),
        (lambda b, _: np.array([["left"] * 4] * len(b)), {}, "answers an array .* of <U4"),
        (lambda *_: None, {}, r"answers an array \[\] of object"),
        (lambda b, _: np.zeros(len(b), dtype=int), {}, "the policy slides left on .*, which is not allowed"),
        *((lambda *_: 1 / 0, {"asked": one}, "fails on .*: ZeroDiv") for one in ("batch", "one", "board")),
    ],
)
def test_options_and_answers_that_are_refused(answer, options, message, keys):
    with pytest.raises(UsageError, match=message):
        as_policy(answer, GAME, **options).probabilities(keys)


def test_other_games_and_other_things(table):
    with pytest.raises(UsageError, match="is a table of 2x3, to 16, not of 2x2"):
        as_policy(table, Game("2x2", 32))
    with pytest.raises(UsageError, match=r"first is a policy for 2x3, to 16, not for 2x2"):
        as_policy(as_policy(first, GAME), Game("2x2", 32))
    with pytest.raises(UsageError, match="must be a function, a table or an object with predict, not 3"):
        as_policy(3, GAME)
    wide = as_policy(first, Game("3x4", 1 << 13), observation=OBSERVATIONS["gymnasium-2048"])
    assert wide(np.full((1, 3, 4), 12), np.ones((1, 4), dtype=bool)).tolist() == [[1, 0, 0, 0]]
    with pytest.raises(UsageError, match="holds exponents below 16"):
        OBSERVATIONS["gymnasium-2048"](np.full((1, 3, 4), 16, dtype=np.uint8))


@pytest.fixture(params=GAMES, ids=str)
def each(request, solved):
    with open_table(solved(request.param, "score,moves,win")) as found:
        yield found


@pytest.fixture
def small(solved):
    with open_table(solved(SMALL, "win,score")) as found:
        yield found


def uniform(boards: Any, allowed: Any) -> Any:
    return allowed / allowed.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("label", ["score", "moves", "win"])
def test_an_agent_without_symmetry(each, label, monkeypatch):
    """Against the evaluation of a callable, which asks for one board after the other; also in pieces."""
    exact = evaluate(each, first_slide, objective=label)
    for piece in (50, 1 << 18):
        monkeypatch.setattr("tilebase.policies.following.PIECE", piece)
        judged = judge(each, first, objective=label, symmetry="none", batch=7, keep=True)
        assert judged.value == pytest.approx(exact.value, rel=1e-10, abs=1e-12)
        assert judged.regret == pytest.approx(exact.regret, rel=1e-9, abs=1e-12)
        assert judged.optimum == exact.optimum
        assert sum(lost for _, lost in judged.by_sum.values()) == judged.regret
        for layer in judged.layers:
            np.testing.assert_array_equal(np.isnan(layer.own_q), layer.chances == 0)
            mean = (np.nan_to_num(layer.own_q) * layer.chances).sum(axis=1)
            np.testing.assert_allclose(layer.own_value, mean, rtol=1e-12, atol=1e-14)


def test_an_agent_is_judged_by_returns_and_cited(solved, tmp_path, printed):
    """With the discount 1/2, all values are twice those of the table, without any rounding."""
    ways = ({"returns": returns, "symmetry": "none", "keep": True} for returns in (False, True))
    (mine, table), (own, returns) = (
        (mine, [one.random, mine.value, mine.optimum, mine.regret, mine.rounding, mine.worst[0].loss])
        for way in ways
        for one in [compare(solved(SMALL, "score@0.5"), {"mine": first}, **way)]
        for mine in [one.judged["mine"]]
    )
    assert returns == [2 * number for number in table]
    np.testing.assert_array_equal(own.probe("2,2/0,0")[1], 2 * mine.probe("2,2/0,0")[1])
    folder = solved(SMALL, "score@0.5")
    assert evaluate(folder, "greedy", returns=True).value == 2 * evaluate(folder, "greedy").value
    assert str(own.start) in printed(f"evaluate {folder} random --returns -q")
    own.record(tmp_path / "r.json", command="judge(...)")
    cited = printed(f"cite {tmp_path / 'r.json'}")
    assert f"discount 1/2 for each slide after the first, by the policy mine: {own.text} (rounded)" in cited
    assert "Computed by `judge(...)`, tilebase " in cited


@pytest.mark.parametrize("symmetry", ["canonical", "check", "none"])
def test_an_agent_that_treats_turned_boards_alike(each, symmetry):
    judged = judge(each, uniform, objective="score", symmetry=symmetry)
    assert judged.value == pytest.approx(evaluate(each, "random", objective="score").value, rel=1e-10)


def test_the_worst_decisions(small):
    """Each by the table, and all of them together are the regret."""
    judged = judge(small, first, objective="score", worst=10_000, symmetry="canonical")
    lost = [one.regret for one in judged.worst]
    assert sum(lost) == pytest.approx(judged.regret)
    assert lost == sorted(lost, reverse=True)
    for one in judged.worst:
        answer = small.probe(one.board, "score")
        chosen = next(slide for slide in answer.slides if slide.direction == one.chosen)
        assert one.board.cells == canonical(SMALL, one.board.cells)
        assert one.best == answer.best
        assert one.chosen == first_slide(one.board)
        assert one.loss == pytest.approx(float(answer.value) - float(chosen.value), abs=1e-9)
    few = judge(small, first, objective="score", worst=3, symmetry="canonical")
    assert (few.worst, few.as_dict()["worst"][0]["board"]) == (judged.worst[:3], few.worst[0].board.text)
    assert repr(few).startswith("<Judgement of first: score ")
    assert 0 < few.rounding < 1e-9


def test_decisions_of_an_agent_that_mixes_slides(small):
    """The loss is that of the mixture; a best slide among those chosen is no contradiction."""
    judged = judge(small, "greedy", symmetry="canonical")
    for one in judged.worst:
        answer = small.probe(one.board)
        values = {slide.direction: float(slide.value) for slide in answer.slides}
        mean = sum(p * values[direction] for direction, p in one.chances.items())
        assert sum(one.chances.values()) == pytest.approx(1)
        assert one.loss == pytest.approx(float(answer.value) - mean, abs=1e-12)
    # On 2,2/4,8 left and right merge the two 2s, and nothing else merges.
    worst = next(one for one in judged.worst if one.board.text == "2,2/4,8")
    assert (worst.chances, worst.best) == ({"left": 0.5, "right": 0.5}, ("left",))
    assert worst._replace(chances={"up": 1 - 2e-9, "left": 2e-9}).chosen == "up 99.9999998 %"
    assert worst.statement == "left 50.0 %, right 50.0 % on 2,2/4,8, not only left"
    assert judged.as_dict()["worst"][judged.worst.index(worst)]["chances"] == worst.chances


def test_a_value_that_is_less_than_rounding():
    """The noise of a difference is not printed."""
    start = Rounded(0.5, "float64", 1e-15, 1)
    rules = GameArrays(Game("2x2", 8)), False
    judged = Judgement("fool", Objective("win"), start, 0.5 - 1e-16, 3e-15, 10, 0.1, {}, {}, (), *rules)
    assert judged.text == "less than 3.2e-15"
    assert repr(judged) == "<Judgement of fool: win less than 3.2e-15, regret 0.5>"


def test_how_often_states_are_visited(solved):
    """Every game begins, so the first sums have the visits of the starts; an agent meets fewer states."""
    game = Game("2x3", 32)
    with open_table(solved(game)) as table:
        judged = judge(table, uniform)
        begun = float(sum(p for board, p in game.starts() if game.sum(board) == 4))
        assert judged.by_sum[4][0] == pytest.approx(begun)
        assert judged.states == TableArrays(table).to_arrays("states")["allowed"].any(axis=1).sum()
        assert judge(table, first, symmetry="canonical").states < judged.states
        assert 0 < judged.optimal < 1
        for options in ({"symmetry": "some"}, {"worst": -1}, {"batch": 0}):
            with pytest.raises(UsageError):
                judge(table, first, **options)


def test_tables_that_cannot_judge(solved, tmp_path):
    whole = solved(Game("2x3", 32), "win,lower,guaranteed")
    for label in ("lower", "guaranteed"):
        with pytest.raises(UsageError, match="judged by a mean in floats"):
            judge(whole, first, objective=label)
    thin(whole, tmp_path / "thin", above=0.5)
    with pytest.raises(MissingBoardError, match="thinned out"):
        judge(tmp_path / "thin", first, objective="win")


@pytest.mark.parametrize("symmetry", ["canonical", "none"])
def test_values_under_an_agent_are_probed(table, symmetry):
    """V and Q of each board, as it is turned; their mean over the start is the value of the agent."""
    judged = judge(table, "random", symmetry=symmetry, keep=True)
    starts, chances = zip(*GAME.starts(), strict=True)
    value, q = judged.probe(starts)
    assert float(value @ np.array(chances, dtype=float)) == pytest.approx(judged.value, rel=1e-12)
    rules, turned = GameArrays(GAME), np.array(starts).reshape(-1, 2, 3)[:, ::-1, ::-1]
    keys = rules.pack(starts)
    allowed = rules.slide(keys).allowed
    np.testing.assert_allclose(np.nanmean(q, axis=1), value)
    np.testing.assert_array_equal(np.isnan(q), ~allowed)
    found = judged.probe(turned.reshape(len(starts), 1, 2, 3))
    assert [one.shape for one in found] == [(len(starts), 1), (len(starts), 1, 4)]
    np.testing.assert_allclose(found[0][:, 0], value, rtol=1e-12)
    np.testing.assert_allclose(found[1][:, 0], q[:, [1, 0, 3, 2]], rtol=1e-12)
    assert np.isnan(judge(table, first, symmetry="none", keep=True).probe("0,0,0/4,8,8")[0])
    with pytest.raises(UsageError, match="judge with keep=True"):
        judge(table, "random").probe(starts)


def test_agents_of_the_example():
    """examples/judge_agents.py: those that need no package; the others run in tests/packages/recipes.py."""
    names = runpy.run_path(str(ROOT / "examples" / "judge_agents.py"))
    states = GameArrays(GAME).pack(["2,2,4/8,0,0", "2,4,0/0,4,0"])
    board = GameArrays(GAME).unpack(states)[0]
    found = names["tabular"]({board.tobytes(): [1, 3, 0, 2]}, GAME).probabilities(states)
    assert found.tolist() == [[0, 1, 0, 0], [0.25] * 4]
    best = names["afterstates"](lambda boards: -(boards > 0).sum(axis=(2, 3)), GAME).probabilities(states)
    np.testing.assert_array_equal(best, as_policy("greedy", GAME).probabilities(states))


def test_callables_are_judged_up_to_symmetry(small):
    """One of `evaluate`, asked board by board without symmetry, against one on canonical boards."""

    def greedy(board):
        gains = {d: sum(e << e for e in after.cells) for d, after in board.slides().items()}
        best = [d for d, gain in gains.items() if gain == max(gains.values())]
        return dict.fromkeys(best, 1 / len(best))

    slow, fast = evaluate(small, greedy), evaluate(small, greedy, symmetry="check")
    assert fast.value == pytest.approx(slow.value, rel=1e-12)
    assert 0 < fast.judged.states < slow.states
    assert fast.as_dict()["judged"]["worst"][0]["loss"] == fast.judged.worst[0].loss
    with pytest.raises(UsageError, match="judge it with --symmetry none"):
        evaluate(small, first_slide, symmetry="check")


def test_agents_are_compared(table):
    found = compare(table, {"mine": first, "random": "random", "best": table}, symmetry="none", worst=3)
    assert [row["policy"] for row in found.rows()] == ["best", "random", "mine"]
    assert found.score("best") == pytest.approx(1)
    assert found.score("random") == pytest.approx(0, abs=1e-12)
    mine = found.judged["mine"]
    assert found.score("mine") == (mine.value - found.random) / (found.optimum - found.random)
    values = [f"{name} {found.judged[name].text}" for name in ("best", "random", "mine")]
    ends = f"optimum {mine.start}, random {digits_text(found.random)}"
    assert repr(found) == f"<Comparison: {', '.join(values)}; {ends}>"
    with pytest.raises(UsageError, match="no agent is named 'yours': the agents are "):
        found.score("yours")
    for wrong in ({}, [first]):
        with pytest.raises(UsageError, match="name at least one policy to compare, as"):
            compare(table, wrong)


def test_what_judging_takes_is_asked_before(table, monkeypatch):
    asked = []

    def counting(boards, allowed):
        asked.append(len(boards))
        return allowed.argmax(axis=1)

    turned, alone = (cost_of(table, counting, symmetry=one) for one in ("none", "canonical"))
    known = count(GAME).totals
    assert (alone.positions, turned.positions) == (known["live"], known["raw_live"])
    assert judge(table, first, symmetry="canonical").states <= alone.positions
    assert alone.size == f"at most {known['live']:,} states, those of the table"
    assert turned.memory >= alone.memory
    assert len(asked) == 2
    asked.clear()
    monkeypatch.setattr("tilebase.costs.reachable.JUDGED_BYTES", 1 << 50)
    with pytest.raises(ResourceError, match=r"judging an agent in .* play random games instead .*anyway"):
        judge(table, counting, symmetry="none")
    assert len(asked) == 1
    assert judge(table, counting, symmetry="none", anyway=True).states


def test_functions_say_by_their_arguments_how_they_are_asked(table):
    """Two arguments: arrays; one: a `Board`.  A table may be named by its folder."""
    exact = judge(table, first, symmetry="none").value
    folder = table.location.name
    assert judge(folder, first_slide, symmetry="none").value == exact


@pytest.mark.parametrize(
    ("game", "labels", "discount"),
    [
        (GAME, "loss,largest,win,score", "1"),
        (Game("2x2"), "largest", "1"),
        (Game("2x2", 16, start="empty"), "loss,largest,win", "1"),
        (Game("2x2", 16), "win", "0.5"),
    ],
    ids=str,
)
def test_games_have_the_mean_of_the_table(game, labels, discount, solved):
    with open_table(solved(game, labels, discount)) as table:
        policy, found = as_policy("random", game), {}
        for label in labels.split(","):
            one = found[label] = evaluate(table, policy, objective=label, games=2_000, seed=3)
            assert one == evaluate(table, "random", objective=label, games=2_000, seed=3)
            exact = judge(table, policy, objective=label).value
            assert abs(one.value - exact) <= 5 * one.error
            assert exact == pytest.approx(evaluate(table, "random", objective=label).value, rel=1e-12)
            if label == "win" and discount == "1":
                assert one.interval == binomial_interval(round(one.value * 2_000), 2_000, CONFIDENCE)
                assert one.interval[0] < exact < one.interval[1]
            elif label != "loss":
                assert one.interval is None
        if "loss" in labels:  # the same games
            assert found["loss"].value == pytest.approx(1 - found["win"].value, abs=1e-12)


def test_the_command(table, folder, capsys, printed):
    (folder / "tried.py").write_text("def go(boards, allowed):\n    return allowed.argmax(axis=1)\n")
    where = str(table.location.path)
    words = ["evaluate", where, "tried:go", "--asked", "batch", "--symmetry", "none", "-q"]
    assert main([*words, "-f", "json"]) == 0
    exact = judge(table, first, symmetry="none")
    document = json.loads(capsys.readouterr().out)
    assert document["value"] == exact.value
    assert document["judged"]["worst"][0]["board"] == exact.worst[0].board.text
    assert f"costs most {exact.worst[0].statement}: " in " ".join(printed(*words).split())
    assert exact.worst[0].chosen == "left"
    assert "judging an agent in 2x3, to 16" in printed("plan", *words)
    assert "to win, 99.99 % sure" in printed(*words[:5], "--games", "500", "-q")
    assert main([*words[:5], "-q"]) == 2
    assert "judge it with --symmetry none" in capsys.readouterr().err


def test_visited_states(table):
    """The states that a policy meets, as `judge` keeps them; of optimal play, which loses nothing."""
    arrays = TableArrays(table)
    kept = judge(table, first, symmetry="none", keep=True).layers
    for one, layer in zip(visited_states(arrays, first, symmetry="none"), kept, strict=True):
        for name in ("keys", "visits", "value"):
            np.testing.assert_array_equal(getattr(one, name), getattr(layer, name))
    assert not any(one.loss.any() for one in visited_states(arrays))
