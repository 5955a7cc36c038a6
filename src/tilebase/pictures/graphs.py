"""Graphs of Edixhoven's thesis: decision diagrams, as in figures 9 and 10, and rows, as in figure 6."""

from __future__ import annotations

from functools import cache

import numpy as np

from tilebase.errors import UsageError
from tilebase.files.winning import STATES, StoredSet, root_name
from tilebase.game.board import DARK
from tilebase.game.game import Game
from tilebase.game.names import title_of
from tilebase.patterns.lemmas import alternating_line_steps
from tilebase.patterns.rules import Position
from tilebase.small.graphs import SPECIALS, board_node, state_name
from tilebase.small.layered import Edge, Node, Picture, pill, words
from tilebase.tables.winning import WinningSet

MOST_NODES = 2_000
"""Most nodes of a decision diagram that is drawn."""
SINKS = {1: ("yes", SPECIALS["win"]), -1: ("no", SPECIALS["lose"])}


def set_picture(winning: WinningSet, layer: str) -> Picture:
    """Return the decision diagram of a layer's states in a winning set, without complement edges.

    A node stands for a bit of a cell, and is named by its row and column; those of one bit are in one column.
    Dashed lines are followed if the bit is 0, others if it is 1.  Raises `UsageError` if the layer does not
    exist or has more than `MOST_NODES` nodes.
    """
    stored, manifest, diagrams = winning.stored, winning.manifest, winning.stored.diagrams
    states = {one.name: one.states for one in manifest.layers}
    if layer not in states:
        raise UsageError(f"layer {layer} is not in this set: choose one of {', '.join(states)}")
    root = diagrams.roots[root_name(STATES, layer)]
    seen, edges, waiting = {root: _diagram_node(stored, root, "n0")}, [], [root]
    while waiting:
        ref = waiting.pop(0)
        sign, node = (1 if ref > 0 else -1), abs(ref)
        for child, bit in ((diagrams.low, 0), (diagrams.high, 1)) if node > 1 else ():
            other = sign * int(child[node])
            if other not in seen:
                seen[other] = _diagram_node(stored, other, f"n{len(seen)}")
                waiting.append(other)
            edges.append(Edge(seen[ref].name, seen[other].name, dashed=not bit))
        if len(seen) > MOST_NODES:
            raise UsageError(f"layer {layer} has more than {MOST_NODES:,} nodes: choose another to draw")
    bits = ", ".join(f"{manifest.game.word(value)} {code}" for value, code in manifest.codes.items())
    columns = {node.column for node in seen.values()} - {len(manifest.variables)}
    heads = {at: f"bit {manifest.variables[at][1] + 1}" for at in sorted(columns)}
    legend = (
        f"{title_of(manifest.game)}, layer {layer}: {states[layer]:,} states where {manifest.meaning}",
        f"circles: row and column of a cell; a line: its bit is 1, dashed: 0; bits of a cell: {bits}",
    )
    return Picture(f"{manifest.game}, layer {layer}", [*seen.values()], edges, heads, legend)


def _diagram_node(stored: StoredSet, ref: int, name: str) -> Node:
    """Return the drawing of a node, or of its complement if the number is negative."""
    if abs(ref) == 1:
        name, colour = SINKS[ref]
        return pill(name, len(stored.manifest.variables), colour)
    manifest = stored.manifest
    # Between the variables of states are those of afterstates.
    place = int(stored.diagrams.variable[abs(ref)]) // 2
    at = np.unravel_index(manifest.variables[place][0], manifest.game.shape)
    text = ",".join(str(number + 1) for number in at)
    svg = f'<circle cx="13" cy="13" r="13" fill="#ffffff" stroke="{DARK}"/>{words(text, 13, 17, 10)}'
    return Node(name, place, f'label="{text}", shape=circle', 26, 26, svg)


def row_picture(length: int) -> Picture:
    """Return the rows from which a full row of alternating 2s and 4s can be made, and what each leads to.

    Of a row and its mirror image one is drawn.  Raises the errors of `alternating_line_steps`.
    """
    steps = alternating_line_steps(length)
    game = Game((1, length), 8, start="empty")

    @cache
    def left(row: Position) -> int:
        """The longest way to a full row: each step adds a tile, merges two or closes gaps."""
        return max((1 + left(after) for after in steps[row]), default=0)

    nodes = [board_node(game, row, -left(row)) for row in sorted(steps)]
    edges = [
        Edge(state_name(game, row), state_name(game, after), dashed=game.sum(row) == game.sum(after))
        for row in sorted(steps)
        for after in sorted(steps[row])
    ]
    legend = (
        f"rows of {length} that can become 2 4 2 4 ... by slides along them, up to reflection",
        "a line: a drop of 2, then a slide; dashed: a slide alone, while the drop is in another row",
    )
    return Picture(f"rows of {length} that can become 2 4 2 4 ...", nodes, edges, legend=legend)
