"""The exact value of a policy, and its loss against optimal play.

`random` (every allowed slide with the same probability), `greedy` (the slide that merges most)
and the policies of tables treat equivalent boards equally.  So the backward pass evaluates them up to
symmetry, with the slide of the policy instead of the best slide.  A Python callable may treat equivalent
boards differently.  So `policies.judging` judges it without symmetry, unless `symmetry` says what it does
with turned boards, in games of any size; as it does a policy that is asked for many boards at once
(`tilebase.policies.as_policy`).

With a thinned table or one of all boards, a callable is evaluated by the rules alone, over the states that it
can reach, which is for small games.  After it has reached some ten thousand states, the number of all states
that it can reach is estimated from the share of all boards in these layers.  A policy reaches a smaller share
of the boards with a large sum than of those with a small sum.  So a policy is refused only if the estimate is
three times too large.  For a refused policy, random games give a mean and its standard error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, Unpack

import numpy as np

from tilebase.arrays import Floats, GameArrays, Keys, Slid
from tilebase.cluster.runs import Run
from tilebase.costs.estimate import Estimate, admit, number_in_words
from tilebase.costs.reachable import calling, evaluating
from tilebase.counting.combinatorics import boards_by_sum
from tilebase.errors import ResourceError, UsageError
from tilebase.files.keys import Reachable
from tilebase.files.solved import StoredValues
from tilebase.game.board import Board
from tilebase.game.findings import Finding, Reported
from tilebase.game.game import Game
from tilebase.objectives.numbers import byte_text, estimate_text
from tilebase.objectives.objective import Objective, find_objective
from tilebase.objectives.rounding import Rounding
from tilebase.objectives.values import Value
from tilebase.policies.asking import (
    ArrayPolicy,
    as_policy,
    find_policy,
    findings_of,
    player_text,
    takes_arrays,
)
from tilebase.policies.following import Agent, Frame, Symmetry, back, follow
from tilebase.policies.judging import Judgement, cost_of, judge, regret_text, worth_text
from tilebase.policies.simulation import (
    CONFIDENCE,
    binomial_interval,
    counts_wins,
    sample_games,
    standard_error,
    worth_at_end,
)
from tilebase.runtime.measured import duration
from tilebase.runtime.progress import Pace, Progress
from tilebase.runtime.resources import Allowance, Use
from tilebase.runtime.rows import html_text
from tilebase.runtime.storage import temporary_folder
from tilebase.sparse.backward import BackwardPass
from tilebase.sparse.folds import PolicyFold
from tilebase.sparse.reading import LayerReader
from tilebase.tables.probe import Table, afterstate_counts, local_folder, open_table
from tilebase.tables.prober import Prober

Policy: TypeAlias = Callable[[Board], str | Mapping[str, float]]
"""A function from a state to a direction, or to directions with their probabilities."""

MOST_STATES = 2_000_000
"""States that a callable may reach by default; these take a few minutes and 400 MB."""
STATE_BYTES = 200
"""Bytes of memory per state that a callable reaches."""
TRIAL_STATES = 50_000
"""After so many states, the number of states that a callable can reach is estimated."""
TRIAL_SPREAD = 3.0
"""What is expected then may be wrong by this factor."""


@dataclass(frozen=True)
class Evaluation(Reported):
    """The value of the start under a policy.

    Attributes
    ----------
    game, policy, objective:
        What is played, the policy, and the objective of the values.
    value, start:
        The value of the start under the policy, a float that is rounded in each step, and under optimal play,
        as the table has it.
    rounding, value_rounding:
        How far `regret` and `value` can be from the exact numbers by rounding.  Larger differences are real.
    states:
        For a callable, the number of live states, in which it slides, that it can reach: without symmetry, or
        up to it where it was judged so; None otherwise.
    games, error:
        If the value is a mean over games, their number and its standard error; None if it is exact.
    interval:
        If games were won or lost, the probability to win with the confidence `CONFIDENCE`: the exact interval
        of a binomial distribution (Clopper-Pearson).
    judged:
        Where the policy loses, if it was judged.
    plays_by:
        The objective by which the policy plays, if it is a table.
    """

    facts = (
        "policy", "plays_by", "objective", "value", "optimum", "regret", "rounding", "states", "games",
        "error", "interval", "judged",
    )  # fmt: skip

    game: Game
    policy: str
    objective: Objective
    value: float
    start: Value
    states: int | None = None
    games: int | None = None
    error: float | None = None
    rounding: float = 0.0
    interval: tuple[float, float] | None = None
    judged: Judgement | None = field(default=None, repr=False)
    value_rounding: float = 0.0
    plays_by: Objective | None = None

    def __post_init__(self) -> None:
        if self.objective.unit == "probability":  # a sum of rounded numbers can be larger than 1
            object.__setattr__(self, "value", min(self.value, 1.0))

    def __repr__(self) -> str:
        return f"<Evaluation of {self.policy}: {self.objective.label} {self.text}, optimum {self.start}>"

    def _repr_html_(self) -> str:
        if self.judged is not None:
            return self.judged._repr_html_()
        row = {
            "policy": self.player, str(self.objective): self.text,
            "optimum": str(self.start), "regret": self.regret_text,
        }  # fmt: skip
        return html_text(f"{self.games:,} games" if self.games else "exact but for rounding", [row])

    @property
    def player(self) -> str:
        """The policy; of a table also by which objective it plays."""
        return player_text(self.policy, self.plays_by)

    @property
    def text(self) -> str:
        """The value as it is printed; a mean of games with its standard error."""
        if self.error is not None:
            return estimate_text(self.value, self.error)
        return worth_text(self.value, self.value_rounding, self.objective)

    @property
    def regret_text(self) -> str:
        """The loss as it is printed; of a mean of games with the same standard error."""
        if self.error:
            return estimate_text(self.regret, self.error)
        return regret_text(self.regret, self.rounding, self.objective)

    @property
    def optimum(self) -> float:
        """The value of the start under optimal play."""
        return float(self.start)

    @property
    def regret(self) -> float:
        """The loss of the policy against optimal play."""
        return abs(self.optimum - self.value) if self.objective.is_cost else self.optimum - self.value

    def asked(self) -> tuple[Finding, ...]:
        """Return what the policy is worth, and optimal play."""
        if self.judged is not None:
            return self.judged.asked()
        kind = "rounded" if self.games is None else f"mean of {self.games:,} games"
        return findings_of(self.game, self.objective.text, self.player, self.text, self.start, kind)


def evaluate(
    table: Table | Path | str,
    policy: str | Path | Table | Policy | ArrayPolicy,
    *,
    objective: str | None = None,
    states: int | None = None,
    games: int | None = None,
    seed: int = 0,
    symmetry: Symmetry | None = None,
    returns: bool = False,
    **use: Unpack[Use],
) -> Evaluation:
    """Compute the value of a policy in the game of a table: exact, or a mean over games if `games` is given.

    Parameters
    ----------
    table:
        A table in a folder on this machine, with values of `objective`.
    policy:
        ``"random"``, ``"greedy"``, another table of the same game or its folder, ``"module:function"``, a
        callable of one `Board`, an object with ``predict``, a function of ``boards, allowed``, or a result of
        `tilebase.policies.as_policy`.  The module is imported, also from the current folder, so its code
        runs: name only modules that you trust.
    objective:
        Label of an objective of the table whose values are means in floats.  None: the first of these.  If
        the policy is a table, it plays by this objective, or if it lacks it or with None, by its first.
    states:
        Refuse a callable that can reach more states than this.  None: `MOST_STATES` with a thinned table or
        one of all boards, where the callable is not judged, but followed by the rules alone; otherwise no
        limit.
    games, seed:
        Play this number of random games; return their mean and its standard error.  None: exact.
    symmetry:
        How the policy treats rotated and mirrored boards, as in `tilebase.policies.judge`, which judges it;
        `Evaluation.judged` shows where it loses.  None: ``check`` for an `ArrayPolicy`, ``none`` for another
        callable; other policies are then evaluated, and not judged.
    returns:
        As in `tilebase.policies.judge`, which judges the policy.
    use:
        Memory, threads and the like: the keywords of `Use`.

    Raises
    ------
    UsageError
        If the policy does not exist or returns a slide that is not allowed, or the table lacks the objective;
        if games are to have returns.
    ResourceError
        If a callable reaches more than `states` states.
    """
    if (states is not None and states < 1) or (games is not None and games < 2):
        raise UsageError("give at least 1 state, and at least 2 games for a mean and its error")
    if returns and games is not None:
        raise UsageError("returns are computed exactly, without games: give --returns or --games, not both")
    allowed = Allowance.of(**use)
    opened, found = open_table(table), find_policy(policy)
    chosen = _objective(opened, objective)
    start = opened.start[chosen.label]
    symmetry = symmetry or usual_symmetry(opened, found, games, returns=returns)
    asked = asked_policy(found, opened.game, policy, objective)
    if symmetry is None:
        admit(expected_cost(opened, found, allowed, states, games), allowed, lambda _: INSTEAD)
    if games is not None:
        return _sampled(opened, asked, chosen, sample_games(asked, chosen, games, allowed, seed=seed))
    if symmetry is not None:
        judged = judge(
            opened, asked, objective=chosen.label, symmetry=symmetry, returns=returns,
            **vars(_counting(allowed, states)),
        )  # fmt: skip
        return Evaluation(
            opened.game, asked.name, chosen, judged.value, judged.start, judged.states,
            rounding=judged.rounding, judged=judged, value_rounding=judged.rounding, plays_by=asked.by,
        )  # fmt: skip
    reached = None
    exact = Objective(chosen.name, "float64", chosen.discount)  # the table's may have another type
    if callable(found):
        value, reached = evaluate_function(asked, chosen, allowed, states or MOST_STATES)
    else:
        value = _evaluate_fold(opened, exact, asked, _fold(opened.game, exact, found, asked), allowed)
    rounding, own = _roundings(opened, chosen, exact, value)
    return Evaluation(
        opened.game, asked.name, chosen, value, start, reached, rounding=rounding, value_rounding=own,
        plays_by=asked.by,
    )  # fmt: skip


def usual_symmetry(
    table: Table, found: Any, games: int | None = None, *, returns: bool = False
) -> Symmetry | None:
    """Return how a policy is judged if nobody says; None for one that is evaluated otherwise.

    A function of a `Board` is judged if the table contains all that it meets.
    """
    if returns or takes_arrays(found):
        return "check"
    whole = table.manifest.thinned is None and table.manifest.space == "reachable"
    return "none" if whole and games is None and callable(found) else None


def asked_policy(found: Any, game: Game, given: Any, objective: str | None = None) -> ArrayPolicy:
    """Return what `find_policy` found as a policy of many boards, under the name that was given."""
    asked = as_policy(found, game, asked=None if takes_arrays(found) else "board", objective=objective)
    if isinstance(given, str) and not isinstance(found, Table):
        asked.name = given
    return asked


def _counting(allowed: Allowance, most: int | None) -> Allowance:
    """Return the same, where a report of more than so many states raises `ResourceError`."""

    def report(progress: Progress) -> None:
        if most is not None and progress.positions > most:
            raise ResourceError(f"the policy reaches more than {most:,} states: {INSTEAD}")
        if allowed.progress is not None:
            allowed.progress(progress)

    return replace(allowed, progress=report)


def _sampled(table: Table, asked: ArrayPolicy, objective: Objective, paid: Floats) -> Evaluation:
    """Return what games have paid on average, and how sure this is."""
    interval = None
    if counts_wins(objective):
        interval = binomial_interval(int(paid.sum()), len(paid), CONFIDENCE)
    value, start = objective.told(float(paid.mean())), table.start[objective.label]
    return Evaluation(
        table.game, asked.name, objective, value, start, games=len(paid), error=standard_error(paid),
        interval=interval, plays_by=asked.by,
    )  # fmt: skip


def expected_cost(
    table: Table,
    found: Any,
    allowed: Allowance,
    states: int | None,
    games: int | None,
    symmetry: Symmetry | None = None,
) -> Estimate:
    """Estimate what evaluating a policy takes; of a function, if it reaches as many states as it may."""
    symmetry = symmetry or usual_symmetry(table, found, games)
    if games is None and symmetry is not None:
        return cost_of(table, asked_policy(found, table.game, None), symmetry=symmetry)
    if games is None and not callable(found):
        return evaluating(table.game, afterstate_counts(table), allowed)
    if games is None:
        return calling(table.game, states or MOST_STATES, STATE_BYTES)
    longest = max(boards_by_sum(table.game)) / 2 ** table.game.spawn_exponents[0]
    return calling(table.game, games * longest, 0)


def _roundings(table: Table, objective: Objective, exact: Objective, value: float) -> tuple[float, float]:
    """Return how far what a policy loses can be from the exact number, and how far its value."""
    # The mean over the slides of a policy takes at most 7 more roundings: less than twice those of a step.
    error = 3 * Rounding(table.game, exact).error(value, 0)
    optimum = table.rounding(objective).error(float(table.start[objective.label]), 0)
    return optimum + error, error


def _objective(table: Table, label: str | None) -> Objective:
    fit = [o for o in table.objectives if o.is_mean and not o.is_bound]
    found = next(iter(fit), None) if label is None else find_objective(fit, label)
    if found is not None:
        return found
    raise UsageError(
        f"a policy is evaluated under an objective that is a mean in floats, as win or score, and "
        f"{table.location.name} has no values " + (f"of {label} of this type" if label else "of these")
    )


def _fold(game: Game, objective: Objective, policy: Table | str, asked: ArrayPolicy) -> PolicyFold:
    """Return the fold of the values of one of `BUILT_IN`, or of a table."""
    if isinstance(policy, str):
        return PolicyFold(game, objective, guide_merge="tile" * (policy == "greedy"))
    afterstate_counts(policy)  # its files are compared with its manifest
    local_folder(policy)
    by = policy.plays_by(asked.by)
    values = partial(LayerReader(policy.name, game, policy.layers, (by,)).values, by)
    return PolicyFold(game, objective, guide=values, guide_merge=by.merge, slack=policy.slack(by))


def _evaluate_fold(
    table: Table, objective: Objective, policy: ArrayPolicy, fold: PolicyFold, allowed: Allowance
) -> float:
    """Compute the value of the start under a policy, by a backward pass over a table's boards."""
    path, game = local_folder(table), table.game
    run = Run(**vars(allowed), folder=path)
    with temporary_folder() as values:
        stored = StoredValues(values / objective.label, game, objective, release=True)
        space = Reachable(table.layers[table.manifest.labels[0]], afterstate_counts(table))
        with closing(BackwardPass(run, space, [stored], folds=[fold], release=True)) as backward_pass:
            backward_pass.run()
        layers = {objective.label: stored.files}
        with closing(stored), closing(Prober(table.name, game, [objective], layers)) as prober:
            evaluator, total = prober.evaluator(objective), Fraction(0)
            for board, p in game.starts():
                slides = prober.slides(board, objective)
                if slides:
                    chances = policy.probabilities(np.array([game.pack(board)], dtype=np.uint64))[0]
                    taken = {one for one, chance in zip(game.directions, chances, strict=True) if chance}
                    worths = [Fraction(worth or 0) for one, *_, worth in slides if one in taken]
                else:
                    worths = [Fraction(evaluator.end(board, won=game.has_goal_sum(board)))]
                total += p * sum(worths, Fraction(0)) / len(worths)
    return float(objective.told(total))


# -- functions ----------------------------------------------------------------------------------


REACHING = 0.8
"""The share of the time for finding the states; the rest is for computing their values."""


def evaluate_function(
    policy: ArrayPolicy, objective: Objective, allowed: Allowance, most_states: int
) -> tuple[float, int]:
    """Compute the value of the start under a policy from the rules alone, and count the live states it meets.

    No symmetry is used.  Raises `UsageError` as `Agent` does, `ResourceError` if the policy reaches
    too many states.
    """
    boards, game, reached, done = policy.boards, policy.boards.game, 0, 0
    pace, sizes = Pace(allowed.progress, "states"), boards_by_sum(game)

    def look(total: int, keys: Keys) -> Slid:
        nonlocal reached
        reached += len(keys)
        if pace.due() or reached > most_states:
            share = sum(n for at, n in sizes.items() if at <= total) / sum(sizes.values())
            pace.report(total, "reach", reached, REACHING * share)
            _check_size(reached, share, pace.seconds, most_states)
        return boards.slide(keys)

    def won(states: Keys) -> Floats:
        return worth_at_end(boards, objective, states, won=True)

    frames = list(follow(boards, Agent(policy, "none"), look, ended=True))
    starts = np.array([game.pack(board) for board, _ in game.starts()], dtype=np.uint64)
    worth = won(starts)  # of those that have won; the others follow
    values = back(
        boards, frames, partial(_gained, boards, objective), won, turned=False,
        discount=float(objective.discount),
    )  # fmt: skip
    for frame, worths, _ in values:
        done += len(worths)
        here = np.isin(starts, frame.keys)
        worth[here] = worths[frame.keys.searchsorted(starts[here])]
        if pace.due():
            pace.report(frame.sum, "value", reached, REACHING + (1 - REACHING) * done / reached)
    value = sum(float(p) * float(one) for (_, p), one in zip(game.starts(), worth, strict=True))
    return objective.told(value), sum(int(frame.found.allowed.any(axis=1).sum()) for frame in frames)


def _gained(boards: GameArrays, objective: Objective, frame: Frame) -> Floats:
    """Return what a policy gains in states: by its slides, and where these end the game; discounted."""
    keys, slid = frame.keys, frame.found
    ended = slid.wins | boards.game.ended(frame.sum)
    each = boards.gains(objective, keys, slid)
    if boards.wide_goal:  # a key has no room for the tile that wins
        for row, action in np.argwhere(slid.wins):
            before = boards.game.unpack(int(keys[row]))
            after = boards.game.slide_any(before, boards.actions[action])
            each[row, action] = objective.gain(boards.game, before, after)
    for won, last in ((True, slid.wins), (False, ended & ~slid.wins)):
        each[last] += worth_at_end(boards, objective, slid.after[last], won=won)
    gained: Floats = float(objective.discount) * (frame.chances * np.where(slid.allowed, each, 0)).sum(axis=1)
    stuck = ~slid.allowed.any(axis=1)
    gained[stuck] = worth_at_end(boards, objective, keys[stuck], won=False)
    return gained


INSTEAD = (
    "let it take many boards at once, as policy(boards, allowed) with arrays of exponents and of allowed "
    "slides, and judge it with --asked batch --symmetry none (symmetry='none'), which is much faster; or "
    "allow more with --states (states=), play games with --games (games=), or evaluate it in a smaller game"
)


def _check_size(count: int, share: float, seconds: float, most_states: int) -> None:
    """Raise `ResourceError` if a policy that has reached some states is expected to reach too many."""
    if count > most_states:
        raise ResourceError(f"the policy reaches more than {most_states:,} states: {INSTEAD}")
    if count >= TRIAL_STATES and count / share > TRIAL_SPREAD * most_states:
        expected = count / share
        raise ResourceError(
            f"the policy is expected to reach about {number_in_words(expected)} states (as it has reached "
            f"{count:,} of the first {share:.2%} of all boards), more than {most_states:,}; they take about "
            f"{duration(seconds * expected / count)} and {byte_text(expected * STATE_BYTES)} of memory: "
            f"{INSTEAD}"
        )
