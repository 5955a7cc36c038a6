"""The exact value and loss of an agent that is asked for many boards at once.

Games are followed sum by sum: each state has the probability that a game meets it.  What a decision loses
is known from the table, so the value of the agent is that of optimal play less the sum of what it loses:

    V*(start) - V_agent(start) = sum over states of P(state) * (V*(state) - sum over slides of p * Q*(slide))

What is in memory is the states of a sum and of those that follow, and what is computed for `PIECE` states.

    judging.py        `judge`, `compare`, and what they take: `cost_of`; `value_error`: how far a value
                      function is from the table
    following.py      the states that an agent or optimal play meets, and how often
    results.py        `Judgement`, `Comparison` and their parts

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

from tilebase.agents.following import Symmetry, optimal_visits, visited_states
from tilebase.agents.judging import ValueErrors, compare, cost_of, judge, value_error
from tilebase.agents.results import Comparison, Decision, Judgement, Visited, normalised

__all__ = [
    "Comparison", "Decision", "Judgement", "Symmetry", "ValueErrors", "Visited", "compare", "cost_of",
    "judge", "normalised", "optimal_visits", "value_error", "visited_states",
]  # fmt: skip
