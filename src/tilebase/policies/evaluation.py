"""The exact value of a policy, and its loss against optimal play.

`random` (every allowed slide with the same probability), `greedy` (the slide that merges most)
and the policies of tables treat equivalent boards equally.  So the backward pass evaluates them up to
symmetry, with the slide of the policy instead of the best slide.  A Python callable may treat equivalent
boards differently.  So `policies.judging` judges it without symmetry, unless `symmetry` says what it does
with turned boards, in games of any size; as it does a policy that is asked for many boards at once
(`tilebase.policies.as_policy`).

The table has to hold all states that a callable meets.  For too many states, or a table that lacks some,
random games give a mean and its standard error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, Unpack

import numpy as np

from tilebase.cluster.runs import Run
from tilebase.costs.estimate import Estimate, admit
from tilebase.costs.reachable import evaluating, playing
from tilebase.errors import ResourceError, UsageError
from tilebase.files.solved import StoredValues
from tilebase.game.board import Board
from tilebase.game.findings import Finding, Reported
from tilebase.game.game import Game
from tilebase.objectives.numbers import estimate_text
from tilebase.objectives.objective import Objective, find_objective
from tilebase.objectives.rounding import Rounding
from tilebase.objectives.values import Rounded, Unknown, Value
from tilebase.policies.asking import (
    ArrayPolicy,
    as_policy,
    find_policy,
    findings_of,
    player_text,
    takes_arrays,
)
from tilebase.policies.following import Symmetry
from tilebase.policies.judging import Judgement, cost_of, judge, regret_text, worth_text
from tilebase.policies.simulation import (
    CONFIDENCE,
    binomial_interval,
    counts_wins,
    sample_games,
    standard_error,
)
from tilebase.runtime.progress import Progress
from tilebase.runtime.resources import Allowance, Use
from tilebase.runtime.rows import html_text
from tilebase.runtime.storage import temporary_folder
from tilebase.sparse.backward import BackwardPass
from tilebase.sparse.folds import PolicyFold
from tilebase.sparse.reading import LayerReader
from tilebase.sparse.recount import Reachable
from tilebase.tables.probe import Table, afterstate_counts, local_folder, open_table
from tilebase.tables.prober import Prober

Policy: TypeAlias = Callable[[Board], str | Mapping[str, float]]
"""A function from a state to a direction, or to directions with their probabilities."""

INSTEAD = (
    "let it take many boards at once, as policy(boards, allowed) with arrays of exponents and of allowed "
    "slides, and judge it with --asked batch --symmetry none (symmetry='none'), which is much faster; or "
    "allow more with --states (states=), play games with --games (games=), or evaluate it in a smaller game"
)
FEWER = "play random games (--games, games=), or fewer of them, or evaluate it in a smaller game"
NORMAL = 10
"""Of fewer wins or losses that are expected, no number of standard errors is given."""


@dataclass(frozen=True)
class Evaluation(Reported):
    """The value of the start under a policy.

    Attributes
    ----------
    game, policy, objective:
        What is played, the policy, and the objective of the values.
    value, start:
        The value of the start under the policy, a float that is rounded in each step, and under optimal play,
        as the table has it; `Unknown` if the games of a table pay what it has no values of.
    rounding, value_rounding:
        How far `regret` and `value` can be from the exact numbers by rounding.  Larger differences are real.
    states:
        For a callable, the number of live states, in which it slides, that it can reach: without symmetry, or
        up to it where it was judged so; None otherwise.
    games, wins, error:
        If the value is a mean over games, their number, how many were won, and its standard error; None if it
        is exact.
    judged:
        Where the policy loses, if it was judged.
    plays_by:
        The objective by which the policy plays, if it is a table.
    """

    facts = (
        "policy", "plays_by", "objective", "value", "optimum", "regret", "rounding", "states", "games",
        "wins", "error", "interval", "z", "judged",
    )  # fmt: skip

    game: Game
    policy: str
    objective: Objective
    value: float
    start: Value | Unknown
    states: int | None = None
    games: int | None = None
    wins: int | None = None
    error: float | None = None
    rounding: float = 0.0
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

    @property
    def interval(self) -> tuple[float, float] | None:
        """The probability to win, with the confidence `CONFIDENCE`: the exact interval of a binomial
        distribution (Clopper-Pearson).  None unless games pay 1 for a win and else 0.
        """
        if self.wins is None or self.games is None or not counts_wins(self.objective):
            return None
        return binomial_interval(self.wins, self.games, CONFIDENCE)

    @property
    def z(self) -> float | None:
        """Standard errors between games of optimal play and its value; 0 if rounding explains the difference.

        None if the policy does not play by `objective`, if that value is not known, if all games paid the
        same, so that the error is 0, and of wins without a discount, if fewer than `NORMAL` wins or losses
        are expected: see `interval`.
        """
        known = not isinstance(self.start, Unknown) and self.plays_by == self.objective
        if self.games is None or self.error is None or not known:
            return None
        rounding = self.start.error if isinstance(self.start, Rounded) else 0.0
        difference, error, p = self.value - self.optimum, self.error, self.optimum
        # The payoffs of games are rounded like values, and no more often.
        if abs(difference) <= 2 * rounding < math.inf:
            return 0.0
        if counts_wins(self.objective):
            few = min(p, 1 - p) * self.games < NORMAL
            error = 0.0 if few else math.sqrt(p * (1 - p) / self.games)
        return difference / error if error else None

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
        the policy is a table, it plays by this objective, or if it lacks it or with None, by its first.  With
        games, any objective: of one that is no mean, the games pay wins, slides or a score.
    states:
        Refuse a callable that can reach more states than this.  None: no limit.
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
        If the policy does not exist or returns a slide that is not allowed; if the table lacks the objective,
        or holds all boards and no games are played; if games are to have returns; if a table that plays is
        not a whole one in a folder on this machine.
    MissingBoardError
        If a callable meets a state that a thinned table lacks.
    ResourceError
        If a callable reaches more than `states` states.
    """
    if (states is not None and states < 1) or (games is not None and games < 2) or seed < 0:
        raise UsageError("give 1 state or more, 2 games or more for a mean with its error, no negative seed")
    if returns and games is not None:
        raise UsageError("returns are computed exactly, without games: give --returns or --games, not both")
    allowed = Allowance.of(**use)
    opened, found = open_table(table), find_policy(policy)
    chosen = _objective(opened, objective, games)
    start = opened.start.get(chosen.label, Unknown())
    symmetry = symmetry or usual_symmetry(found, returns=returns)
    if games is not None or symmetry is None:
        if isinstance(found, Table):
            local_folder(found)
        admit(expected_cost(opened, found, allowed, games), allowed, lambda _: FEWER)
    asked = asked_policy(found, opened.game, policy, objective)
    result = partial(Evaluation, opened.game, asked.name, chosen, plays_by=asked.by)
    if games is not None:
        paid, wins = sample_games(asked, chosen, games, allowed, seed=seed)
        mean, error = chosen.told(float(paid.mean())), standard_error(paid)
        return result(mean, start, games=games, wins=wins, error=error)
    if symmetry is not None:
        judged = judge(
            opened, asked, objective=chosen.label, symmetry=symmetry, returns=returns,
            **vars(_counting(allowed, states)),
        )  # fmt: skip
        error = judged.rounding
        return result(
            judged.value, judged.start, judged.states, rounding=error, judged=judged, value_rounding=error
        )
    exact = Objective(chosen.name, "float64", chosen.discount)  # the table's may have another type
    value = _evaluate_fold(opened, exact, asked, _fold(opened.game, exact, found, asked), allowed)
    rounding, own = _roundings(opened, chosen, exact, value)
    return result(value, start, rounding=rounding, value_rounding=own)


def usual_symmetry(found: Any, *, returns: bool = False) -> Symmetry | None:
    """Return how a policy is judged if nobody says; None for one that is evaluated otherwise."""
    if returns or takes_arrays(found):
        return "check"
    return "none" if callable(found) else None


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


def expected_cost(
    table: Table, found: Any, allowed: Allowance, games: int | None, symmetry: Symmetry | None = None
) -> Estimate:
    """Estimate what evaluating a policy takes."""
    if games is not None:
        afters = sum(afterstate_counts(found).values()) if isinstance(found, Table) else 0
        calls = callable(found) and not takes_arrays(found)
        return playing(table.game, games, afters, "call" if calls else "visit")
    symmetry = symmetry or usual_symmetry(found)
    if symmetry is not None:
        return cost_of(table, asked_policy(found, table.game, None), symmetry=symmetry)
    return evaluating(table.game, afterstate_counts(table), allowed)


def _roundings(table: Table, objective: Objective, exact: Objective, value: float) -> tuple[float, float]:
    """Return how far what a policy loses can be from the exact number, and how far its value."""
    # The mean over the slides of a policy takes at most 7 more roundings: less than twice those of a step.
    error = 3 * Rounding(table.game, exact).error(value, 0)
    optimum = table.rounding(objective).error(float(table.start[objective.label]), 0)
    return optimum + error, error


def _objective(table: Table, label: str | None, games: int | None) -> Objective:
    fit = [o for o in table.objectives if o.is_mean and not o.is_bound]
    found = next(iter(fit), None) if label is None else find_objective(fit, label)
    if found is not None:
        return found
    if games is not None:
        meaning = table.objective(label).meaning
        return Objective({("", 1): "moves", ("tile", 0): "score"}.get((meaning.merge, meaning.slide), "win"))
    raise UsageError(
        f"a policy is evaluated under an objective that is a mean in floats, as win or score, and "
        f"{table.location.name} has no values " + (f"of {label} of this type" if label else "of these")
    )


def _fold(game: Game, objective: Objective, policy: Table | str, asked: ArrayPolicy) -> PolicyFold:
    """Return the fold of the values of one of `BUILT_IN`, or of a table."""
    if isinstance(policy, str):
        return PolicyFold(game, objective, guide_merge="tile" * (policy == "greedy"))
    afterstate_counts(policy)  # its files are compared with its manifest
    by = policy.plays_by(asked.by)
    values = LayerReader(policy.name, game, policy.layers, by).values
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
