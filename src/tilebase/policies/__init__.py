"""Policies: their values, where they lose, how their games end, and random games.

Games are followed sum by sum: each state has the probability that a game meets it.  What a decision loses
is known from the table, so the value of the agent is that of optimal play less the sum of what it loses:

    V*(start) - V_agent(start) = sum over states of P(state) * (V*(state) - sum over slides of p * Q*(slide))

What is in memory is the states of a sum and of those that follow, and what is computed for `PIECE` states.

Modules, those that the others import first:

    asking          `as_policy`: one way to ask whatever chooses slides
    following       the states that a policy meets, how often, and what follows from them
    judging         `judge`, `compare`, what they find (`Judgement`, `Comparison`) and take (`cost_of`)
    simulation      random games of a policy
    evaluation      the value of a policy
    distributions   how the games of a policy end, and which boards they meet

Ties are broken in one way: a policy that rates slides (``random``, ``greedy``, a table, scores) takes each
of those that are rated best with the same probability.  Of a table these are the slides whose values differ
from the best one by no more than rounding explains (`Table.slack`).  Random games draw one of them.

>>> from tempfile import TemporaryDirectory
>>> from tilebase import Game, open_table, solve
>>> def first_allowed(boards, allowed):
...     return allowed.argmax(axis=1)
>>> with TemporaryDirectory() as folder:
...     solution = solve(Game("2x2", 32), table=folder)
...     with open_table(folder) as table:
...         judged = judge(table, first_allowed, symmetry="none")
>>> f"{judged.value:.6f}", f"{judged.regret:.6f}", judged.states
('0.000247', '0.082640', 188)
"""

from __future__ import annotations

from tilebase.policies.asking import (
    ACTION_ORDERS,
    BUILT_IN,
    OBSERVATIONS,
    ArrayPolicy,
    BatchPolicy,
    as_policy,
)
from tilebase.policies.following import Symmetry, Visited, optimal_visits, visited_states
from tilebase.policies.judging import Comparison, Decision, Judgement, compare, cost_of, judge, normalised

__all__ = [
    "ACTION_ORDERS", "BUILT_IN", "OBSERVATIONS", "ArrayPolicy", "BatchPolicy", "Comparison", "Decision",
    "Judgement", "Symmetry", "Visited", "as_policy", "compare", "cost_of", "judge", "normalised",
    "optimal_visits", "visited_states",
]  # fmt: skip
