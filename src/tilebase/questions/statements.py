"""What each result says in a sentence that can be cited: the game with its rules, the question, the value.

A record of `solve`, `count`, `force`, `lemma`, `evaluate` or `reach` holds what `Statement.as_dict` returns,
and `questions.results` reads that and nothing else.  A value has the text that its command prints, and its
type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilebase.game.findings import Finding, claim_of
from tilebase.game.game import Game
from tilebase.game.names import rules_of, title_of
from tilebase.objectives.numbers import estimate_text

if TYPE_CHECKING:
    from tilebase.questions.distributions import Distributions
    from tilebase.questions.policies import Evaluation
    from tilebase.questions.simulation import Simulation

Asked = tuple[str, str, str]
"""A question, its answer as text, and the type of that."""


@dataclass(frozen=True)
class Statement:
    """A result in a sentence, and its parts: what is played and asked, the answer, and its type."""

    board: str
    question: str
    value: str
    kind: str
    text: str

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values: the sentence, and the parts as the ``claim``."""
        parts = {"board": self.board, "question": self.question, "value": self.value, "kind": self.kind}
        return {"statement": self.text, "claim": parts}


def _answered(game: Game, asked: Sequence[Asked], *, rules: str) -> Statement:
    """Return a statement of several answers."""
    return _told(title_of(game), asked, rules=rules)


def _told(board: str, asked: Sequence[Asked], *, rules: str) -> Statement:
    """Return the same of a board with a title."""
    document = claim_of(Finding(board, *one, rules) for one in asked)
    return Statement(**document["claim"], text=document["statement"])


# -- policies -------------------------------------------------------------------------------------


def of_evaluation(game: Game, found: Evaluation) -> Statement:
    """Return what a policy is worth, and optimal play."""
    kind = "rounded" if found.games is None else f"mean of {found.games:,} games"
    asked = [
        (f"{found.objective.text}, by the policy {found.player}", found.text, kind),
        (f"{found.objective.text}, under optimal play", str(found.start), found.start.kind),
    ]
    return _answered(game, asked, rules=rules_of(game))


def of_simulation(game: Game, found: Simulation) -> Statement:
    """Return the mean of games played by a table."""
    objective = found.objective
    what = objective.text if objective.is_mean and not objective.is_bound else f"value of {objective.name}"
    if objective.is_win and objective.discount == 1:
        what = "probability to win"
    what += f", by the policy of a table for {objective.name}"
    mean = estimate_text(found.mean, found.error), f"mean of {found.games:,} games"
    return _answered(game, [(what, *mean)], rules=rules_of(game))


def of_distributions(game: Game, found: Distributions) -> Statement:
    """Return the means of distributions, and the probabilities to meet boards."""
    by = f"by the policy {found.player}"
    asked = [
        (f"mean of the {name} at the end, {by}", one.mean_text, "rounded") for name, one in found.of.items()
    ]
    asked += [
        (f"probability to meet {board}, {by}", found.meets_text(board), "rounded") for board in found.meets
    ]
    return _answered(game, asked, rules=rules_of(game))
