"""What is said of a policy in a sentence that can be cited: the game with its rules, the question, the value.

Other results derive from `game.findings.Reported`.  A value has the text that its command prints.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tilebase.game.findings import Finding, claim_of
from tilebase.game.game import Game
from tilebase.game.names import rules_of, title_of
from tilebase.objectives.numbers import estimate_text

if TYPE_CHECKING:
    from tilebase.questions.distributions import Distributions
    from tilebase.questions.policies import Evaluation
    from tilebase.questions.simulation import Simulation


def of_evaluation(game: Game, found: Evaluation) -> dict[str, Any]:
    """Return what a policy is worth, and optimal play, as a record has it."""
    kind = "rounded" if found.games is None else f"mean of {found.games:,} games"
    asked = [
        (f"{found.objective.text}, by the policy {found.player}", found.text, kind),
        (f"{found.objective.text}, under optimal play", str(found.start), found.start.kind),
    ]
    return _claim(game, asked)


def of_simulation(game: Game, found: Simulation) -> dict[str, Any]:
    """Return the mean of games played by a table, as a record has it."""
    objective = found.objective
    what = objective.text if objective.is_mean and not objective.is_bound else f"value of {objective.name}"
    if objective.is_win and objective.discount == 1:
        what = "probability to win"
    what += f", by the policy of a table for {objective.name}"
    mean = estimate_text(found.mean, found.error), f"mean of {found.games:,} games"
    return _claim(game, [(what, *mean)])


def of_distributions(game: Game, found: Distributions) -> dict[str, Any]:
    """Return the means of distributions, and the probabilities to meet boards, as a record has them."""
    by = f"by the policy {found.player}"
    asked = [
        (f"mean of the {name} at the end, {by}", one.mean_text, "rounded") for name, one in found.of.items()
    ]
    asked += [
        (f"probability to meet {board}, {by}", found.meets_text(board), "rounded") for board in found.meets
    ]
    return _claim(game, asked)


def _claim(game: Game, asked: Iterable[tuple[str, str, str]]) -> dict[str, Any]:
    """Return quantities, values and their types as `claim_of` does."""
    return claim_of(Finding(title_of(game), *one, rules_of(game)) for one in asked)
