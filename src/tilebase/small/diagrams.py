"""Small games as decision diagrams: states, actions with values, and the probabilities of what follows.

A state is drawn as its board with its value.  An action is drawn as a point.  An edge from the state
to the point names the directions; edges from the point to the states that can follow have
probabilities.  Best actions have thick lines; a legend says so.  Values are exact fractions from the oracle
(`oracle.values`), shown rounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from tilebase.errors import UsageError
from tilebase.game.game import Cells, Game
from tilebase.game.names import title_of
from tilebase.game.symmetry import canonical
from tilebase.objectives.numbers import digits_text
from tilebase.objectives.objective import Objective
from tilebase.small import oracle
from tilebase.small.graphs import EDGE, SPECIALS, board_label, state_graph, state_name

BEST = "#2f7d4f"
LEGEND = (
    "{title}: states up to symmetry; below each board its value, the {value}",
    "lines to a point: slides, and the value after them; the best are thick and green",
    "lines from a point: the probability of what the spawn leads to",
)
"""The lines below a diagram."""
Ending = Literal["win", "lose"]


@dataclass(frozen=True)
class Action:
    """One action of a state: one slide, or several equivalent slides.

    Attributes
    ----------
    directions:
        The slides, joined by "=".
    value:
        The value of the state if this action is taken.
    best:
        Whether no other action has a larger value.
    outcomes:
        The states that can follow, with probabilities that sum to 1.
    """

    directions: str
    value: Fraction
    best: bool
    outcomes: tuple[tuple[Cells | Ending, Fraction], ...]


@dataclass(frozen=True)
class Diagram:
    """The live states of a game with their values and actions, by ascending sum and board.

    `objective` says what a value is.
    """

    game: Game
    objective: Objective
    values: dict[Cells, Fraction]
    actions: dict[Cells, tuple[Action, ...]]


def decision_diagram(
    game: Game, *, optimal: bool = False, discount: Fraction | str | int = 1, max_states: int = 2000
) -> Diagram:
    """Return the decision diagram of a small game with a goal.

    With `optimal`, it has only the best actions and the states that they lead to.  Raises `UsageError`
    if the game has no goal or more than `max_states` live states.

    >>> diagram = decision_diagram(Game("2x2", 8))
    >>> len(diagram.values), str(diagram.values[(0, 0, 1, 1)])
    (15, '1')
    """
    if not game.can_win:
        raise UsageError("values need a goal: name one")
    states = state_graph(game, max_states=max_states).states
    solved = oracle.values(game, discount=discount)
    actions = {state: tuple(_actions(solved, state)) for state in states}
    if optimal:
        actions = _reached_by_best(game, actions)
    return Diagram(
        game,
        Objective("win", discount=solved.discount),
        {state: solved.states[state] for state in actions},
        actions,
    )


def _actions(solved: oracle.Values, state: Cells) -> Iterator[Action]:
    game = solved.game
    merged: dict[Cells, list[str]] = {}
    for direction, after in game.slides(state).items():
        merged.setdefault(canonical(game, after), []).append(direction)
    worths = {
        after: solved.discount * (Fraction(1) if game.wins(after) else solved.afterstates[after])
        for after in merged
    }
    most = max(worths.values())
    for after, directions in merged.items():
        outcomes: dict[Cells | Ending, Fraction] = {}
        for board, p in [] if game.wins(after) else game.spawns(after):
            end: Cells | Ending = canonical(game, board) if game.slides(board) else "lose"
            if game.has_goal_sum(board):
                end = "win"
            outcomes[end] = outcomes.get(end, Fraction(0)) + p
        last: Ending = "win" if game.wins(after) else "lose"  # the horizon ends the game
        found = tuple(outcomes.items()) or ((last, Fraction(1)),)
        yield Action("=".join(directions), worths[after], worths[after] == most, found)


def _reached_by_best(game: Game, actions: dict[Cells, tuple[Action, ...]]) -> dict[Cells, tuple[Action, ...]]:
    waiting = [canonical(game, board) for board, _ in game.starts()]
    kept: set[Cells] = set()
    while waiting:
        state = waiting.pop()
        if state in kept or state not in actions:
            continue
        kept.add(state)
        for action in actions[state]:
            if action.best:
                waiting += [end for end, _ in action.outcomes if not isinstance(end, str)]
    return {
        state: tuple(action for action in found if action.best)
        for state, found in actions.items()
        if state in kept
    }


def diagram_to_dot(diagram: Diagram) -> str:
    """Return the diagram in the DOT language; the same diagram always gives the same text."""
    game = diagram.game
    title = f"{title_of(game)} under optimal play"
    legend = "\\l".join([*LEGEND, ""]).format(title=title, value=diagram.objective.text)
    lines = [
        f'digraph "{game}" {{',
        '  graph [rankdir=LR, ranksep=0.5, nodesep=0.15, bgcolor="white", fontname="Helvetica"];',
        f'  graph [fontsize=10, labeljust=l, label="{legend}"];',
        '  node [shape=plain, fontname="Helvetica", fontsize=10];',
        f'  edge [color="{EDGE}", arrowsize=0.5, penwidth=0.8, fontname="Helvetica", fontsize=8];',
    ]
    ends = {end for found in diagram.actions.values() for a in found for end, _ in a.outcomes}
    lines += [
        f'  {ending} [shape=box, style="rounded,filled", fillcolor="{SPECIALS[ending]}", fontcolor="white"];'
        for ending in ("win", "lose")
        if ending in ends
    ]
    for state, found in diagram.actions.items():
        lines += _state_lines(game, state, diagram.values[state], found)
    return "\n".join([*lines, "}"]) + "\n"


def _state_lines(game: Game, state: Cells, value: Fraction, found: tuple[Action, ...]) -> Iterator[str]:
    name = state_name(game, state)
    label = (
        f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="1" CELLPADDING="0"><TR><TD>{board_label(game, state)}'
        f"</TD></TR><TR><TD>{number(value)}</TD></TR></TABLE>"
    )
    yield f"  {name} [label=<{label}>];"
    for i, action in enumerate(found):
        point = f"{name}_{i}"
        heavy = f', color="{BEST}", penwidth=2' if action.best else ""
        yield f'  {point} [shape=point, width=0.06, color="{BEST if action.best else EDGE}"];'
        words = f"{action.directions}\\n{number(action.value)}"
        yield f'  {name} -> {point} [arrowhead=none, label="{words}"{heavy}];'
        for end, p in action.outcomes:
            target = end if isinstance(end, str) else state_name(game, end)
            yield f'  {point} -> {target} [label="{number(p)}"{heavy}];'


def number(value: Fraction) -> str:
    """Write a number with three significant digits, without zeros at the end; with more if it is almost 1.

    >>> number(Fraction(1, 3)), number(Fraction(1)), number(Fraction(9, 20))
    ('0.333', '1', '0.45')
    """
    return digits_text(value, 3)
