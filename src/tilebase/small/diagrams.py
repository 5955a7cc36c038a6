"""Small games as decision diagrams: states, actions with values, and the probabilities of what follows.

A state is drawn as its board with its value.  An action is drawn as a point, or, of one state alone, as the
board after the slide in a dashed frame.  An edge from the state to the point names the directions; edges from
the point to the states that can follow have probabilities.  Best actions have thick lines; a legend says so.
Values are exact fractions from the oracle (`oracle.values`), shown rounded.

The diagram of 2x2 to 8 without symmetry has 68 states and 528 edges with probabilities.  With the ends of a
game as two states, each of which leads to itself, these are the 70 states and 530 transitions of Lees-Miller,
Optimal Play with Markov Decision Processes (2018).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from tilebase.errors import UsageError
from tilebase.game.game import Cells, Game
from tilebase.game.names import title_of
from tilebase.game.symmetry import canonical
from tilebase.objectives.numbers import digits_text, texts_apart
from tilebase.objectives.objective import Objective
from tilebase.small import oracle
from tilebase.small.graphs import SPECIALS, board_node, special_boxes, state_graph, state_name
from tilebase.small.layered import EDGE, FRAME, Edge, Node, Picture, boards_node, pill

BEST = "#2f7d4f"
LEGEND = (
    "{title}: {states}; below each board its value, the {value}",
    "lines to a {after}: slides, and the value after them; the best are thick and green",
    "lines from a {after}: the probability of what the spawn leads to",
)
"""The lines below a diagram."""
DIGITS = 3
"""Significant digits of a number in a diagram."""
BEHIND = 1 << 30
"""The column of the states that can follow a single one."""


@dataclass(frozen=True)
class Action:
    """One action of a state: one slide, or several equivalent slides."""

    directions: str  # the slides, joined by "="
    value: Fraction  # of the state, if this action is taken
    best: bool  # whether no other action has a larger value
    outcomes: tuple[tuple[oracle.Node, Fraction], ...]  # what can follow; the probabilities sum to 1
    after: Cells  # the board after the slide


@dataclass(frozen=True)
class Diagram:
    """Live states of a game with their values and actions, by ascending sum and board.

    `objective` says what a value is, and `symmetric` whether each state stands for its orbit.  The diagram of
    one state has the values of the states that can follow it, but not their actions.
    """

    game: Game
    objective: Objective
    values: dict[Cells, Fraction]
    actions: dict[Cells, tuple[Action, ...]]
    symmetric: bool = True


def decision_diagram(
    game: Game,
    *,
    optimal: bool = False,
    discount: Fraction | str | int = 1,
    symmetric: bool = True,
    board: Cells | None = None,
    max_states: int = 2000,
) -> Diagram:
    """Return the decision diagram of a small game with a goal.

    With `optimal`, it has only the best actions and the states that they lead to.  Without `symmetric`, it
    has all reachable states, and each slide is an action of its own.  With `board`, it is that of one live
    state.  Raises `UsageError` if the game has no goal or more than `max_states` live states, or if play does
    not reach the board.

    >>> diagram = decision_diagram(Game("2x2", 8))
    >>> len(diagram.values), str(diagram.values[(0, 0, 1, 1)])
    (15, '1')
    >>> raw = decision_diagram(Game("2x2", 8), symmetric=False)
    >>> len(raw.values), sum(len(action.outcomes) for found in raw.actions.values() for action in found)
    (68, 528)
    """
    if not game.can_win:
        raise UsageError("values need a goal: name one")
    states = state_graph(game, symmetric=symmetric, max_states=max_states).states
    solved = oracle.values(game, discount=discount)
    if board is not None:
        board = oracle.representative(game, game.cells_of(board), symmetric)
        if board not in states:
            raise UsageError(
                f"{game.format(board)} is not a live state of {title_of(game)}: name one that play reaches"
            )
        states = (board,)
    actions = {state: tuple(_actions(solved, state, symmetric)) for state in states}
    if optimal:
        actions = _reached_by_best(game, actions) if board is None else {board: _best(actions[board])}
    shown = dict.fromkeys(actions)
    if board is not None:
        ends = (end for action in actions[board] for end, _ in action.outcomes)
        shown |= dict.fromkeys(end for end in ends if not isinstance(end, str))
    values = {state: solved.states[canonical(game, state)] for state in shown}
    return Diagram(game, Objective("win", discount=solved.discount), values, actions, symmetric)


def _actions(solved: oracle.Values, state: Cells, symmetric: bool) -> Iterator[Action]:
    game = solved.game
    merged: dict[Cells, list[str]] = {}
    for direction, after in game.slides(state).items():
        merged.setdefault(oracle.representative(game, after, symmetric), []).append(direction)
    worths = {
        after: solved.discount
        * (Fraction(1) if game.wins(after) else solved.afterstates[canonical(game, after)])
        for after in merged
    }
    most = max(worths.values())
    for after, directions in merged.items():
        outcomes: dict[oracle.Node, Fraction] = {}
        for board, p in [] if game.wins(after) else game.spawns(after):
            end = oracle.node(game, board, symmetric=symmetric)
            outcomes[end] = outcomes.get(end, Fraction(0)) + p
        last: oracle.Node = "win" if game.wins(after) else "lose"  # the horizon ends the game
        found = tuple(outcomes.items()) or ((last, Fraction(1)),)
        yield Action("=".join(directions), worths[after], worths[after] == most, found, after)


def _best(actions: tuple[Action, ...]) -> tuple[Action, ...]:
    return tuple(action for action in actions if action.best)


def _reached_by_best(game: Game, actions: dict[Cells, tuple[Action, ...]]) -> dict[Cells, tuple[Action, ...]]:
    waiting = [end for board, _ in game.starts() for end in (board, canonical(game, board))]
    kept: set[Cells] = set()
    while waiting:
        state = waiting.pop()
        if state in kept or state not in actions:
            continue
        kept.add(state)
        for action in actions[state]:
            if action.best:
                waiting += [end for end, _ in action.outcomes if not isinstance(end, str)]
    return {state: _best(found) for state, found in actions.items() if state in kept}


def diagram_picture(diagram: Diagram) -> Picture:
    """Return the diagram as a picture in columns by sum, with the actions between them."""
    game, alone = diagram.game, len(diagram.actions) < len(diagram.values)
    nodes = []
    for state, value in diagram.values.items():
        column = BEHIND if alone and state not in diagram.actions else 2 * game.sum(state)
        nodes.append(board_node(game, state, column, digits_text(value, DIGITS)))
    edges = []
    for state, found in diagram.actions.items():
        for i, action in enumerate(found):
            name, colour = state_name(game, state), BEST if action.best else EDGE
            point, width = f"{name}_{i}", 2.0 if action.best else Edge.width
            nodes.append((_after if alone else _point)(game, action, point, 2 * game.sum(state) + 1, colour))
            label = f"{action.directions}: {digits_text(action.value, DIGITS)}"
            edges.append(Edge(name, point, label, colour, width, head=False))
            for end, p in action.outcomes:
                target = end if isinstance(end, str) else state_name(game, end)
                edges.append(Edge(point, target, digits_text(p, DIGITS), colour, width))
    states = "states up to symmetry" if diagram.symmetric else "states without symmetry"
    what = {
        "title": f"{title_of(game)} under optimal play",
        "value": diagram.objective.text,
        "states": states,
    }
    legend = [line.format(**what, after="dashed board" if alone else "point") for line in LEGEND]
    heads = {} if alone else {node.column: str(node.column // 2) for node in nodes if not node.column % 2}
    return Picture(title_of(game), [*nodes, *special_boxes(nodes, edges)], edges, heads, legend)


def _point(_game: Game, _action: Action, name: str, column: int, colour: str) -> Node:
    dot = f'label="", shape=point, color="{colour}"'
    return Node(name, column, dot, 6, 6, f'<circle cx="3" cy="3" r="3" fill="{colour}"/>')


def _after(game: Game, action: Action, name: str, column: int, colour: str) -> Node:
    """Return the board after a slide in a dashed frame."""
    frame = f'fill="none" stroke="{colour}" stroke-width="1.5" stroke-dasharray="5 3"'
    board = [(game.format(action.after), "")]
    return boards_node(name, column, game.shape, board, frame=frame)


# -- one position, as its document (`Answer.as_dict`) tells it --------------------------------------

Document: TypeAlias = Mapping[str, Any]
COLUMNS = 5
"""Boards in a row of the states after a slide."""
ENDINGS = {"won": SPECIALS["win"], "lost": SPECIALS["lose"], "ended": EDGE}


def surroundings(
    shape: Sequence[int], centre: Document, after: Mapping[str, Sequence[Document]] | None = None,
    legend: Sequence[str] = (),
) -> Picture:  # fmt: skip
    """Return a position and its slides with their values as a graph.

    `centre` is the document of the position.  With ``after[direction]``, the documents of the spawns after
    each of its slides, these boards are drawn, too, as links to ``#`` and their text.
    """
    nodes = [boards_node("centre", 0, shape, [(centre["board"], _short(centre))])]
    edges = []
    told = _told(centre["slides"])
    for slide in centre["slides"]:
        name, end = slide["direction"], f"{slide['direction']}_end"
        colour, width = (BEST, 2.0) if slide["best"] else (EDGE, Edge.width)
        nodes.append(boards_node(name, 1, shape, [(slide["board"], told.get(name) or _short(slide))]))
        edges.append(Edge("centre", name, name, colour, width))
        if slide["ends"]:
            nodes.append(pill(end, 2, ENDINGS[slide["ends"]], slide["ends"]))
        elif after is not None:
            spawned = [
                (
                    one["board"],
                    f"{one['fraction']}: {_short(one) if one['state'] == 'play' else one['state']}",
                )
                for one in after[name]
            ]
            nodes.append(boards_node(end, 2, shape, spawned, wide=COLUMNS, frame=FRAME, links=True))
        if nodes[-1].name == end:
            edges.append(Edge(name, end))
    return Picture(centre["board"], nodes, edges, legend=legend)


def _told(slides: Sequence[Document]) -> dict[str, str]:
    """Return the rounded probabilities of slides by direction, told apart."""
    values = {slide["direction"]: slide["value"] for slide in slides if slide["value"]}
    known = {name: one for name, one in values.items() if one["kind"] == "rounded" and "%" in one["short"]}
    texts, numbers = ([one[key] for one in known.values()] for key in ("short", "value"))
    return dict(zip(known, texts_apart(texts, [*map(float, numbers)]), strict=True))


def _short(document: Document) -> str:
    value = document["value"]
    return "" if value is None else str(value["short"])
