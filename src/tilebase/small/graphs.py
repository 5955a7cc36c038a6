"""Small games as graphs: every live state, and the states that can follow it.

Each orbit of states is drawn once, as its canonical board.  An edge joins a state to each state
that a slide and a spawn can make of it.  There is only one edge, even if several slides and spawns
lead there.  Edges lead to sums that are larger by 2 or 4, so the graph is drawn in columns by sum.

The special states ``win`` and ``lose`` stand for the end of the game: after a slide that wins, and
for a state without a slide.  With lookahead, states that are won or lost within one move are also
drawn as ``win`` and ``lose`` (see `tilebase.small.oracle`).

A graph of at most a few hundred states can be read.  The figures of Lees-Miller, Counting States by
Exhaustive Enumeration (2017), are the graph of the 2x2 game to 32 without and with parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tilebase.counting.combinatorics import bound
from tilebase.errors import UsageError
from tilebase.game.game import Cells, Game
from tilebase.game.names import title_of
from tilebase.small.layered import FRAME, Edge, Picture, boards_node, pill
from tilebase.small.layered import Node as Box
from tilebase.small.oracle import Node, node, successors

Part: TypeAlias = tuple[int, int]
"""The common sum and largest tile of some states; the tile is 0 on an empty board."""

MAX_STATES = 20_000
HOPELESS = 100
"""A game is refused without counting if its possible boards exceed the allowed states by this factor."""

SPECIALS = {"win": "#2f7d4f", "lose": "#a63d2f"}


@dataclass(frozen=True)
class StateGraph:
    """The live states of a game and the transitions between them."""

    game: Game
    # The live states by sum, largest tile and board, each ascending; canonical if each is for its orbit.
    states: tuple[Cells, ...]
    # Pairs of a state and a state that can follow it, in the order of `states`, each pair once.  Edges to
    # ``"win"`` and ``"lose"`` are included only with `specials`.
    edges: tuple[tuple[Cells, Node], ...]

    def parts(self) -> dict[Part, list[Cells]]:
        """Return the states by sum and largest tile, ascending."""
        result: dict[Part, list[Cells]] = {}
        for state in self.states:
            result.setdefault(part_of(self.game, state), []).append(state)
        return result


def part_of(game: Game, state: Cells) -> Part:
    """Return the sum and the largest tile of a state."""
    largest = game.max_exponent(state)
    return game.sum(state), 2**largest if largest else 0


def state_graph(
    game: Game,
    *,
    lookahead: bool = False,
    specials: bool = False,
    symmetric: bool = True,
    max_states: int = MAX_STATES,
) -> StateGraph:
    """Return the graph of a small game, computed with the rules in plain Python.

    With `lookahead`, states that are won or lost within one move are drawn as ``win`` and ``lose``; with
    `specials`, the edges to these are kept.  If `symmetric`, there is one state for each orbit; otherwise
    there are all reachable states.  Raises `UsageError` if the game has more than `max_states` live states,
    or so many possible boards that counting its states would take too long.

    >>> graph = state_graph(Game("2x2", 32))
    >>> len(graph.states), len(graph.edges)
    (57, 149)
    """
    followers = _explore(game, lookahead, symmetric, max_states)
    states = sorted(followers, key=lambda state: (*part_of(game, state), state))
    index_of: dict[Node, int] = {"win": -2, "lose": -1}
    index_of.update((state, i) for i, state in enumerate(states))
    edges = tuple(
        (state, after)
        for state in states
        for after in sorted(followers[state], key=index_of.__getitem__)
        if specials or not isinstance(after, str)
    )
    return StateGraph(game, tuple(states), edges)


def _explore(game: Game, lookahead: bool, symmetric: bool, max_states: int) -> dict[Cells, set[Node]]:
    """Return the nodes that can follow each live state."""
    possible = bound(game).canonical_possible
    if possible > HOPELESS * max_states:
        raise _too_large(game, f"may have up to {possible:,} live states", max_states)
    layers: dict[int, set[Cells]] = {}
    followers: dict[Cells, set[Node]] = {}
    for board, _ in game.starts():
        start = node(game, board, symmetric=symmetric, lookahead=lookahead)
        if not isinstance(start, str):
            layers.setdefault(game.sum(start), set()).add(start)
    while layers:
        for state in sorted(layers.pop(min(layers))):
            followers[state] = {
                end
                for after in game.slides(state).values()
                for end in successors(game, after, symmetric=symmetric, lookahead=lookahead)
            }
            if len(followers) > max_states:
                raise _too_large(game, f"has more than {max_states:,} live states", max_states)
            for after in followers[state]:
                if not isinstance(after, str):
                    layers.setdefault(game.sum(after), set()).add(after)
    return followers


def _too_large(game: Game, size: str, most: int) -> UsageError:
    return UsageError(
        f"{title_of(game)} {size}, too many for a graph of at most {most:,}: "
        "choose a smaller board or goal, or draw the counts with tilebase count --record counts.svg, or one "
        "board of a table with tilebase probe TABLE BOARD --record board.svg"
    )


# -- pictures --------------------------------------------------------------------------------------


def graph_picture(graph: StateGraph, *, group: bool = False) -> Picture:
    """Return the graph as a picture in columns by sum.

    Each state is named ``s`` and its packed key in hexadecimal.  With
    `group`, each part (the states of one sum and largest tile) is one node, and edges join
    parts.  Its name is ``p``, the sum, ``_`` and the largest tile.  It shows its states under
    ``sum / largest tile``.
    """
    game = graph.game
    if group:
        parts = graph.parts().items()
        named = {end: f"p{total}_{tile}" for (total, tile), states in parts for end in states}
        nodes = [_part(game, *part, states) for part, states in parts]
    else:
        named = {state: state_name(game, state) for state in graph.states}
        nodes = [board_node(game, state, game.sum(state)) for state in graph.states]
    edges = dict.fromkeys(
        Edge(named[state], after, colour=f"{SPECIALS[after]}70")
        if isinstance(after, str)
        else Edge(named[state], named[after])
        for state, after in graph.edges
    )
    heads = {node.column: str(node.column) for node in nodes}
    return Picture(title_of(game), [*nodes, *special_boxes(nodes, edges)], [*edges], heads)


def special_boxes(nodes: Sequence[Box], edges: Iterable[Edge]) -> Iterator[Box]:
    """Yield the boxes ``win`` and ``lose`` where edges lead there, in a column behind all nodes."""
    reached, last = {edge.target for edge in edges}, max((node.column for node in nodes), default=0) + 1
    yield from (pill(name, last, colour) for name, colour in SPECIALS.items() if name in reached)


def state_name(game: Game, state: Cells) -> str:
    """Return the name of a state's node: ``s`` and its key in hexadecimal."""
    return f"s{game.pack(state):0{-(-game.bits * game.cells // 4)}x}"


def board_node(game: Game, state: Cells, column: int, below: str = "") -> Box:
    """Return a state as a node, with what stands below it."""
    return boards_node(state_name(game, state), column, game.shape, [(game.format(state), below)])


def _part(game: Game, total: int, tile: int, states: Sequence[Cells]) -> Box:
    """Return a frame with a heading, and the boards in rows, about twice as high as wide."""
    boards = [(game.format(state), "") for state in states]
    wide, head = max(1, round((len(states) / 2) ** 0.5)), f"{total} / {tile}"
    return boards_node(f"p{total}_{tile}", total, game.shape, boards, head=head, wide=wide, frame=FRAME)
