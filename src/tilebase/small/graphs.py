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
from typing import Literal, TypeAlias

from tilebase.counting.combinatorics import bound
from tilebase.errors import UsageError
from tilebase.game.board import EMPTY, GRID, WALL, X_FILL, ink_color, tile_color
from tilebase.game.game import Cells, Game
from tilebase.game.names import title_of
from tilebase.game.symmetry import canonical
from tilebase.small.layered import EDGE, Edge, Picture, board_svg, pill, words
from tilebase.small.layered import Node as Box
from tilebase.small.oracle import decided

Node: TypeAlias = Cells | Literal["win", "lose"]
"""A live state, or how the game ended."""

Part: TypeAlias = tuple[int, int]
"""The common sum and largest tile of some states; the tile is 0 on an empty board."""

MAX_STATES = 20_000
HOPELESS = 100
"""A game is refused without counting if its possible boards exceed the allowed states by this factor."""

SPECIALS = {"win": "#2f7d4f", "lose": "#a63d2f"}


@dataclass(frozen=True)
class StateGraph:
    """The live states of a game and the transitions between them.

    Attributes
    ----------
    game, lookahead:
        The game, and whether lookahead was used.
    states:
        The live states by sum, largest tile and board, each ascending; canonical if each is for its orbit.
    edges:
        Pairs of a state and a state that can follow it, in the order of `states`, each pair once.
        Edges to ``"win"`` and ``"lose"`` are included only with `specials`.
    """

    game: Game
    lookahead: bool
    states: tuple[Cells, ...]
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

    Parameters
    ----------
    game:
        The game.
    lookahead:
        Draw states that are won or lost within one move as ``win`` and ``lose``.
    specials:
        Keep the edges to ``win`` and ``lose``.
    symmetric:
        One state for each orbit; otherwise all reachable states.
    max_states:
        Refuse games with more live states.

    Raises
    ------
    UsageError
        If the game has more than `max_states` live states, or so many possible boards that counting
        its states would take too long.

    >>> graph = state_graph(Game("2x2", 32))
    >>> len(graph.states), len(graph.edges)
    (57, 149)
    """
    return _graph(game, lookahead, specials, _explore(game, lookahead, symmetric, max_states))


def _explore(game: Game, lookahead: bool, symmetric: bool, max_states: int) -> dict[Cells, list[Node]]:
    """Return the nodes that can follow each live state."""
    possible = bound(game).canonical_possible
    if possible > HOPELESS * max_states:
        raise _too_large(game, f"may have up to {possible:,} live states", max_states)
    layers: dict[int, set[Cells]] = {}
    followers: dict[Cells, list[Node]] = {}
    for board, _ in game.starts():
        node = _node(game, lookahead, symmetric, board)
        if not isinstance(node, str):
            layers.setdefault(game.sum(node), set()).add(node)
    while layers:
        for state in sorted(layers.pop(min(layers))):
            followers[state] = list(_followers(game, lookahead, symmetric, state))
            if len(followers) > max_states:
                raise _too_large(game, f"has more than {max_states:,} live states", max_states)
            for after in followers[state]:
                if not isinstance(after, str):
                    layers.setdefault(game.sum(after), set()).add(after)
    return followers


def _too_large(game: Game, size: str, most: int) -> UsageError:
    return UsageError(
        f"{title_of(game)} {size}, too many for a graph of at most {most:,}: "
        "choose a smaller board or goal, or draw the counts with tilebase count --record counts.svg"
    )


def _node(game: Game, lookahead: bool, symmetric: bool, board: Cells) -> Node:
    """Return the node of a state."""
    if game.has_goal_sum(board):
        return "win"
    afters = game.slides(board).values()
    if not afters:
        return "lose"
    if lookahead and decided(game, board):
        return "win" if any(game.wins(after) for after in afters) else "lose"
    return canonical(game, board) if symmetric else board


def _followers(game: Game, lookahead: bool, symmetric: bool, state: Cells) -> set[Node]:
    result: set[Node] = set()
    for after in game.slides(state).values():
        if game.wins(after):
            result.add("win")
        elif game.ended(game.sum(after)):
            result.add("lose")
        else:
            result |= {_node(game, lookahead, symmetric, board) for board, _ in game.spawns(after)}
    return result


def _graph(game: Game, lookahead: bool, specials: bool, followers: dict[Cells, list[Node]]) -> StateGraph:
    states = sorted(followers, key=lambda state: (*part_of(game, state), state))
    index_of: dict[Node, int] = {"win": -2, "lose": -1}
    index_of.update((state, i) for i, state in enumerate(states))
    edges = tuple(
        (state, after)
        for state in states
        for after in sorted(followers[state], key=index_of.__getitem__)
        if specials or not isinstance(after, str)
    )
    return StateGraph(game, lookahead, tuple(states), edges)


# -- pictures --------------------------------------------------------------------------------------


def graph_picture(graph: StateGraph, *, group: bool = False) -> Picture:
    """Return the graph as a picture in columns by sum.

    Each state is a table of tiles, named ``s`` and its packed key in hexadecimal.  With
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
        nodes = [board_box(game, state, name) for state, name in named.items()]
    edges = dict.fromkeys(
        Edge(named[state], after, colour=f"{SPECIALS[after]}70")
        if isinstance(after, str)
        else Edge(named[state], named[after])
        for state, after in graph.edges
    )
    heads = {node.column: str(node.column) for node in nodes}
    return Picture(str(game), [*nodes, *special_boxes(nodes, edges)], [*edges], heads)


def special_boxes(nodes: Sequence[Box], edges: Iterable[Edge]) -> Iterator[Box]:
    """Yield the boxes ``win`` and ``lose`` where edges lead there, in a column behind all nodes."""
    reached, last = {edge.target for edge in edges}, max((node.column for node in nodes), default=0) + 1
    yield from (pill(name, last, colour) for name, colour in SPECIALS.items() if name in reached)


def state_name(game: Game, state: Cells) -> str:
    """Return the name of a state's node: ``s`` and its key in hexadecimal."""
    return f"s{game.pack(state):0{-(-game.bits * game.cells // 4)}x}"


def board_box(game: Game, state: Cells, name: str) -> Box:
    """Return a board as a node in the column of its sum."""
    svg, width, height = board_svg(game, state)
    return Box(name, game.sum(state), f"label=<{board_label(game, state)}>", width, height, svg)


def _part(game: Game, total: int, tile: int, states: Sequence[Cells]) -> Box:
    """Draw a frame with a heading, and the boards in rows, about twice as high as wide."""
    head, columns = f"{total} / {tile}", max(1, round((len(states) / 2) ** 0.5))
    rows = [states[i : i + columns] for i in range(0, len(states), columns)]
    cells = ("".join(f"<TD>{board_label(game, state)}</TD>" for state in row) for row in rows)
    first = f'<TR><TD COLSPAN="{columns}"><FONT POINT-SIZE="11">{head}</FONT></TD></TR>'
    body = "".join(f"<TR>{row}</TR>" for row in cells)
    label = (
        f'<TABLE BORDER="1" COLOR="{EDGE}" CELLBORDER="0" CELLSPACING="6" CELLPADDING="0" STYLE="ROUNDED">'
        f"{first}{body}</TABLE>"
    )
    _, wide, high = board_svg(game, states[0])
    width, height = max(columns * (wide + 8) + 8, 7 * len(head)), len(rows) * (high + 8) + 24
    left = (width - columns * (wide + 8) + 8) / 2
    drawn = [
        board_svg(game, state, left + (wide + 8) * (at % columns), 24 + (high + 8) * (at // columns))[0]
        for at, state in enumerate(states)
    ]
    frame = f'<rect width="{width:g}" height="{height:g}" rx="6" fill="#ffffff" stroke="{EDGE}"/>'
    svg = frame + words(head, width / 2, 16, 11) + "".join(drawn)
    return Box(f"p{total}_{tile}", total, f"label=<{label}>", width, height, svg)


def board_label(game: Game, state: Cells) -> str:
    """Draw a board as a table of tiles; the planes of a box are side by side."""
    words = ["#" if cell in game.walls else game.word(e) if e else "0" for cell, e in enumerate(state)]
    return words_label(game.shape, words)


def words_label(shape: Sequence[int], words: Sequence[str]) -> str:
    """As `board_label`, from a word for each cell: a number, ``x``, ``#`` for a wall, 0 for an empty cell."""
    rows, columns = shape[-2:]
    planes = range(0, len(words), rows * columns)
    lines = []
    for row in range(0, rows * columns, columns):
        gaps = ('<TD WIDTH="6"></TD>' if plane else "" for plane in planes)
        tiles = (words[plane + row : plane + row + columns] for plane in planes)
        lines.append("".join(gap + "".join(map(_tile, line)) for gap, line in zip(gaps, tiles, strict=True)))
    body = "".join(f"<TR>{line}</TR>" for line in lines)
    return f'<TABLE BORDER="0" CELLSPACING="1" CELLPADDING="0" BGCOLOR="{GRID}">{body}</TABLE>'


def _tile(word: str) -> str:
    size = 'FIXEDSIZE="TRUE" WIDTH="20" HEIGHT="20"'
    if word in ("0", "#"):
        return f'<TD {size} BGCOLOR="{WALL if word == "#" else EMPTY}"></TD>'
    fill = X_FILL if word == "x" else tile_color(_exponent(word))
    points = (11, 10, 8, 6, 5)[min(len(word), 5) - 1]
    return (
        f'<TD {size} BGCOLOR="{fill}"><FONT COLOR="{ink_color(fill)}" POINT-SIZE="{points}">'
        f"<B>{'×' if word == 'x' else word}</B></FONT></TD>"
    )


def _exponent(word: str) -> int:
    """Return the exponent of a tile as `notation.tile_text` writes it."""
    return int(word[2:]) if word.startswith("2^") else int(word).bit_length() - 1
