"""Graphs in columns from left to right, as SVG and in the language DOT.

Every edge leads to a later column.  The SVG is laid out in three steps (Sugiyama, Tagawa and Toda, Methods
for Visual Understanding of Hierarchical System Structures, 1981):

1. An edge passes a *knot* in each column that it skips.  Edges of one style to the same node share their
   knots: they run together, and none can be taken for an edge to another node.  The label of an edge has a
   slot beside its source.
2. Each column is ordered by the mean position of its neighbours in the column before, then in the column
   after, and so on.  The order with the fewest crossings is kept.
3. Each item is moved towards the mean height of its neighbours.  Those of a column that would then be too
   close move as a block: the least squares solution with these distances (pool adjacent violators).
"""

from __future__ import annotations

import itertools
from bisect import bisect_right, insort
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TypeAlias

from tilebase.game.board import DARK, drawing, drawing_size

EDGE, GREY, PAPER, FONT = "#8a8a96", "#6b6b76", "#fbf8f3", "Helvetica, Arial, sans-serif"
"""`PAPER` is the ground, so that a drawing can be read on a light and on a dark page."""
FRAME = f'fill="#ffffff" stroke="{EDGE}"'
"""The frame of several boards that are one node."""
SCALE = 0.19
"""The scale of the drawings of boards."""
BETWEEN_NODES, BETWEEN_KNOTS = 16.0, 7.0
LEAST_GAP, MOST_GAP, SLOPE = 46.0, 180.0, 0.25
"""The gap between two columns, and its share of the largest difference in height that an edge has in it."""
MARGIN, LINE, ROUNDS = 18.0, 14.0, 24
LABEL, SLOT, STUB = 9.0, 12.0, 10.0
"""The size of a label, the height of its slot, and the line between the source and the label."""
GRAVITY = 0.1
"""The weight of the middle of the picture, where nodes have 1."""

Point: TypeAlias = tuple[float, float]
Item: TypeAlias = str | tuple[str, str, int]
"""The name of a node; or a knot: the target and the style of its edges, and its column."""


@dataclass(frozen=True)
class Node:
    """A node: its name, its column, its attributes in DOT, and its drawing in SVG, with its size."""

    name: str
    column: int
    dot: str
    width: float
    height: float
    svg: str


@dataclass(frozen=True)
class Edge:
    """An edge to a later column.  `colour` may end with two digits of opacity; `head` means an arrow."""

    source: str
    target: str
    label: str = ""
    colour: str = EDGE
    width: float = 0.8
    dashed: bool = False
    head: bool = True

    @property
    def style(self) -> str:
        """How it is drawn, in SVG."""
        opacity = f' stroke-opacity="{int(self.colour[7:], 16) / 255:.2f}"' if self.colour[7:] else ""
        dashes = ' stroke-dasharray="4 3"' if self.dashed else ""
        return f'stroke="{self.colour[:7]}" stroke-width="{0.5 + 0.55 * self.width:.2f}"{opacity}{dashes}'

    @property
    def dot(self) -> str:
        """The edge in DOT."""
        marks = [f'color="{self.colour}"', f"penwidth={self.width:g}"]
        marks += [f'label="{self.label}"'] if self.label else []
        marks += ["arrowhead=none"] * (not self.head) + ["style=dashed"] * self.dashed
        return f"  {self.source} -> {self.target} [{', '.join(marks)}];"


@dataclass(frozen=True)
class Picture:
    """A graph to be drawn: `heads[column]` is the text above a column, `legend` the lines below all."""

    title: str
    nodes: Sequence[Node]
    edges: Sequence[Edge]
    heads: Mapping[int, str] = field(default_factory=dict)
    legend: Sequence[str] = ()

    def dot(self) -> str:
        """Return the graph in the language DOT; the same graph always has the same text."""
        columns: dict[int, list[str]] = {}
        for node in self.nodes:
            columns.setdefault(node.column, []).append(node.name)
        legend = "".join(line + "\\l" for line in self.legend)
        lines = [
            f'digraph "{self.title}" {{',
            f'  graph [rankdir=LR, fontname="Helvetica", fontsize=10, labeljust=l, label="{legend}"];',
            '  node [shape=box, fontname="Helvetica", fontsize=10];',
            '  edge [arrowsize=0.5, fontname="Helvetica", fontsize=8];',
            *(f"  {node.name} [{node.dot}];" for node in self.nodes),
            *(f"  {{ rank=same; {'; '.join(names)}; }}" for names in columns.values()),
            *(edge.dot for edge in self.edges),
        ]
        return "\n".join([*lines, "}"]) + "\n"

    def svg(self) -> str:
        """Return the graph as SVG; the same graph always has the same text."""
        return _Layout(self).svg()


# -- the layout ------------------------------------------------------------------------------------


class _Layout:
    """The places of a picture's items."""

    def __init__(self, picture: Picture) -> None:
        self.picture, self.node = picture, {node.name: node for node in picture.nodes}
        self.ranks = {at: rank for rank, at in enumerate(sorted({node.column for node in picture.nodes}))}
        # The items of each column, from top to bottom.
        self.columns: list[list[Item]] = [[] for _ in self.ranks]
        for node in picture.nodes:
            self.columns[self.ranks[node.column]].append(node.name)
        # The neighbours of an item in the column before and in the one after.
        self.before: dict[Item, list[Item]] = {}
        self.after: dict[Item, list[Item]] = {}
        self.labels: dict[Item, list[str]] = {}
        for edge in picture.edges:
            if edge.label:
                self.labels.setdefault(edge.source, []).append(edge.label)
        self.paths = [self._path(edge) for edge in picture.edges]  # items from its source to its target
        self._order()
        self.y = self._heights()  # the middle of each item
        self.widths = [max(self._size(item)[0] for item in column) for column in self.columns]
        self.stubs = [0.0] * len(self.columns)
        for item, labels in self.labels.items():
            widest = 2 * STUB + max(text_width(label, LABEL) for label in labels)
            self.stubs[self._at(item)] = max(self.stubs[self._at(item)], widest)
        self.left = self._lefts()  # the left edge of each column

    def _at(self, item: Item) -> int:
        """Return the column of an item."""
        return self.ranks[self.node[item].column] if isinstance(item, str) else item[2]

    def _path(self, edge: Edge) -> list[Item]:
        """Return the items of an edge, and note its knots and neighbours."""
        first, last = self._at(edge.source), self._at(edge.target)
        knots: list[Item] = [(edge.target, edge.style, at) for at in range(first + 1, last)]
        path: list[Item] = [edge.source, *knots, edge.target]
        for at, knot in enumerate(knots, first + 1):
            if knot not in self.before:
                self.columns[at].append(knot)
        for one, other in itertools.pairwise(path):
            if other not in self.after.setdefault(one, []):
                self.after[one].append(other)
                self.before.setdefault(other, []).append(one)
        return path

    def _size(self, item: Item) -> tuple[float, float]:
        """Return the width of an item, and its height with the slots of its labels."""
        if not isinstance(item, str):
            return 0.0, 0.0
        return self.node[item].width, max(self.node[item].height, SLOT * len(self.labels.get(item, ())))

    def _order(self) -> None:
        """Order the columns: the fewest crossings that sweeps of barycentres find."""
        least, best = self._crossings(), [list(column) for column in self.columns]
        for turn in range(ROUNDS):
            links = (self.before, self.after)[turn % 2]
            place: dict[Item, float] = {}
            for column in self.columns if links is self.before else self.columns[::-1]:
                means = {}
                for at, item in enumerate(column):
                    others = [place[other] for other in links.get(item, ())] or [(at + 0.5) / len(column)]
                    means[item] = sum(others) / len(others)
                column.sort(key=means.__getitem__)
                place |= {item: (at + 0.5) / len(column) for at, item in enumerate(column)}
            found = self._crossings()
            if found < least:
                least, best = found, [list(column) for column in self.columns]
        self.columns = best

    def _crossings(self) -> int:
        """Return how many pairs of edges cross between neighbouring columns."""
        place = {item: at for column in self.columns for at, item in enumerate(column)}
        crossings = 0
        for column in self.columns:
            ends: list[int] = []  # of the edges that begin higher, ascending
            for item in column:
                mine = [place[other] for other in self.after.get(item, ())]
                crossings += sum(len(ends) - bisect_right(ends, end) for end in mine)
                for end in mine:
                    insort(ends, end)
        return crossings

    def _heights(self) -> dict[Item, float]:
        """Return the middle of each item: near its neighbours, and at least the gaps apart."""
        y: dict[Item, float] = {}
        for column in self.columns:
            offsets = self._offsets(column)
            y |= {item: at - offsets[-1] / 2 for item, at in zip(column, offsets, strict=True)}
        for turn in range(2 * ROUNDS):
            for column in self.columns if turn % 2 else self.columns[::-1]:
                wanted = [self._wanted(item, y) for item in column]
                y |= zip(column, _apart(wanted, self._offsets(column)), strict=True)
        return y

    def _offsets(self, column: Sequence[Item]) -> list[float]:
        """Return the middles of the items of a column that is as short as it can be."""
        offsets = [0.0]
        for one, other in itertools.pairwise(column):
            gap = BETWEEN_NODES if isinstance(one, str) or isinstance(other, str) else BETWEEN_KNOTS
            offsets.append(offsets[-1] + (self._size(one)[1] + self._size(other)[1]) / 2 + gap)
        return offsets

    def _wanted(self, item: Item, y: Mapping[Item, float]) -> tuple[float, float]:
        """Return the height that an item should have, and its weight: long edges shall be straight."""
        knot = not isinstance(item, str)
        weights = {
            other: (8.0 if knot and not isinstance(other, str) else 1.0)
            for links in (self.before, self.after)
            for other in links.get(item, ())
        }
        whole = sum(weights.values()) + GRAVITY
        return sum(y[other] * weight for other, weight in weights.items()) / whole, whole

    def _lefts(self) -> list[float]:
        """Return the left edges of the columns; the gaps are wider where edges are steep."""
        lefts = [MARGIN]
        for column, width, stub in zip(self.columns, self.widths, self.stubs, strict=True):
            steepest = max(
                (abs(self.y[one] - self.y[other]) for one in column for other in self.after.get(one, ())),
                default=0.0,
            )
            gap = min(MOST_GAP, max(LEAST_GAP, SLOPE * steepest))
            lefts.append(lefts[-1] + width + stub + gap)
        return lefts

    # -- drawing -----------------------------------------------------------------------------------

    def svg(self) -> str:
        """Return the drawing."""
        picture = self.picture
        top = min((self.y[item] - self._size(item)[1] / 2 for item in self.y), default=0.0)
        shift = MARGIN + (2 * LINE if picture.heads else 0) - top
        self.y = {item: y + shift for item, y in self.y.items()}
        floor = MARGIN + max((self.y[item] + self._size(item)[1] / 2 for item in self.y), default=0.0)
        height = floor + LINE * len(picture.legend) + (MARGIN / 2 if picture.legend else 0)
        widths = [left + wide for left, wide in zip(self.left, self.widths, strict=False)]
        width = MARGIN + max([MARGIN, *widths, *(MARGIN + text_width(line, 10) for line in picture.legend)])
        parts = [*self._curves(), *self._nodes()]
        for at, text in picture.heads.items():
            middle = self.left[self.ranks[at]] + self.widths[self.ranks[at]] / 2
            parts.append(words(text, middle, MARGIN + LINE / 2, 12, GREY))
        for row, line in enumerate(picture.legend):
            parts.append(words(line, MARGIN, floor + LINE * row + 4, 10, DARK, "start"))
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width:.0f} {height:.0f}" '
            f'width="{width:.0f}" height="{height:.0f}" font-family="{FONT}">'
            f"<title>{escape(picture.title)}</title>"
            f'<rect width="100%" height="100%" rx="8" fill="{PAPER}"/>{"".join(parts)}</svg>\n'
        )

    def _nodes(self) -> Iterator[str]:
        for name, node in self.node.items():
            at = self._at(name)
            x, y = self.left[at] + (self.widths[at] - node.width) / 2, self.y[name] - node.height / 2
            move = f"translate({x:.1f} {y:.1f})"
            yield f'<g class="node" transform="{move}"><title>{name}</title>{node.svg}</g>'

    def _curves(self) -> Iterator[str]:
        """Yield the edges with their labels; what edges share is drawn once."""
        ports = self._ports(self.after, 1) | self._ports(self.before, -1)
        drawn: set[tuple[Item, Item, str]] = set()
        for edge, path in zip(self.picture.edges, self.paths, strict=True):
            x, y = ports[path[0], path[1], 1]
            line = ""
            if edge.label:
                node, own = self.node[edge.source], self.y[edge.source]
                begin = min(max(y, own - node.height / 3), own + node.height / 3)
                bend, x = x + STUB / 2, x + STUB
                line = (
                    f"M{x - STUB:.1f} {begin:.1f}C{bend:.1f} {begin:.1f} {bend:.1f} {y:.1f} {x:.1f} {y:.1f}"
                )
                colour = edge.colour[:7] if edge.colour != EDGE else GREY
                yield words(edge.label, x + 2, y + 0.35 * LABEL, LABEL, colour, "start")
                x += text_width(edge.label, LABEL) + 6
            line += f"M{x:.1f} {y:.1f}"
            for one, other in itertools.pairwise(path):
                if (one, other, edge.style) in drawn:
                    break  # the rest is drawn, too
                drawn.add((one, other, edge.style))
                start, level = ports[one, other, 1][0] + self.stubs[self._at(one)], y
                x, y = ports[other, one, -1]
                tip = edge.head and other == edge.target
                bend, end = (start + x) / 2, x - 4 * tip
                line += f"H{start:.1f}C{bend:.1f} {level:.1f} {bend:.1f} {y:.1f} {end:.1f} {y:.1f}"
                if tip:
                    wide = 2.2 + edge.width / 2
                    head = f"M{x - 6:.1f} {y - wide:.1f}L{x:.1f} {y:.1f}L{x - 6:.1f} {y + wide:.1f}z"
                    yield f'<path d="{head}" fill="{edge.colour[:7]}"/>'
            yield f'<path class="edge" d="{line}" fill="none" {edge.style}/>'

    def _ports(self, links: Mapping[Item, list[Item]], side: int) -> dict[tuple[Item, Item, int], Point]:
        """Return where edges leave or enter an item: along its side, in the order of their other ends."""
        ports = {}
        for item, others in links.items():
            at, (wide, high) = self._at(item), self._size(item)
            wide = wide if isinstance(item, str) else self.widths[at]
            x = self.left[at] + (self.widths[at] + side * wide) / 2
            step = SLOT if side > 0 and item in self.labels else min(6.0, 0.7 * high / len(others))
            for number, other in enumerate(sorted(others, key=self.y.__getitem__)):
                ports[item, other, side] = (x, self.y[item] + step * (number - (len(others) - 1) / 2))
        return ports


def _apart(wanted: Sequence[tuple[float, float]], offsets: Sequence[float]) -> list[float]:
    """Return places near the wanted ones (place, weight) that differ at least as the offsets do.

    >>> _apart([(0, 1), (0, 1)], [0, 10])
    [-5.0, 5.0]
    """
    blocks: list[tuple[float, float, int]] = []  # the sum of place times weight, the weight, the items
    for (place, weight), offset in zip(wanted, offsets, strict=True):
        block = ((place - offset) * weight, weight, 1)
        while blocks and blocks[-1][0] / blocks[-1][1] >= block[0] / block[1]:
            before = blocks.pop()
            block = (before[0] + block[0], before[1] + block[1], before[2] + block[2])
        blocks.append(block)
    starts = [total / weight for total, weight, items in blocks for _ in range(items)]
    return [start + offset for start, offset in zip(starts, offsets, strict=True)]


# -- what nodes show -------------------------------------------------------------------------------


def words(text: str, x: float, y: float, size: float, colour: str = DARK, anchor: str = "middle") -> str:
    """Return a line of text in SVG."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" fill="{colour}" '
        f'text-anchor="{anchor}">{escape(text)}</text>'
    )


def text_width(text: str, size: float) -> float:
    """Return about how wide a text is."""
    return 0.58 * size * len(text)


def boards_node(
    name: str, column: int, shape: Sequence[int], boards: Sequence[tuple[str, str]], *, head: str = "",
    wide: int = 1, frame: str = "", links: bool = False,
) -> Node:  # fmt: skip
    """Return boards in rows of `wide`, each as text with what stands below it; `frame` is a style in SVG.

    With `links`, each board leads to ``#`` and its text.
    """
    width, height = (SCALE * length for length in drawing_size(shape))
    across = max([width, *(text_width(below, 10) for _, below in boards)])
    down = height + 14 * any(below for _, below in boards)
    pad, top = (6 if frame else 0), (22 if head else 6 if frame else 0)
    columns, rows = min(wide, len(boards)), -(-len(boards) // wide)
    whole = max(columns * (across + 8) - 8 + 2 * pad, text_width(head, 11) + 2 * pad)
    high = top + rows * (down + 8) - 8 + pad
    left = (whole - columns * (across + 8) + 8) / 2
    parts = [f'<rect width="{whole:g}" height="{high:g}" rx="6" {frame}/>'] if frame else []
    parts += [words(head, whole / 2, 16, 11)] if head else []
    for at, (text, below) in enumerate(boards):
        x, y = left + (across + 8) * (at % wide) + (across - width) / 2, top + (down + 8) * (at // wide)
        drawn = drawing(shape, text, SCALE).replace("<svg ", f'<svg x="{x:g}" y="{y:g}" ', 1)
        drawn += words(below, x + width / 2, y + height + 12, 10) if below else ""
        parts.append(f'<a href="#{escape(text)}">{drawn}</a>' if links else drawn)
    label = "\\n".join([head] * bool(head) + [f"{text} {below}".rstrip() for text, below in boards])
    dot = f'label="{label}"{", style=dashed" if "dasharray" in frame else ""}'
    return Node(name, column, dot, whole, high, "".join(parts))


def pill(name: str, column: int, colour: str, text: str = "") -> Node:
    """Return a node that is a word on a colour."""
    text, width = text or name, max(40.0, text_width(text or name, 12) + 16)
    dot = f'label="{text}", style="rounded,filled", fillcolor="{colour}", fontcolor="white"'
    svg = f'<rect width="{width:g}" height="24" rx="7" fill="{colour}"/>'
    return Node(name, column, dot, width, 24, svg + words(text, width / 2, 16, 12, "#ffffff"))
