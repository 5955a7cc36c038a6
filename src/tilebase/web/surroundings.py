"""The surroundings of a board as a graph: its slides, the spawns after each, and the values of all of these.

It is made of the documents of positions and spawns, so it shows what the table knows, as the page shows it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from tilebase.small.diagrams import BEST
from tilebase.small.graphs import EDGE, SPECIALS, words_label

Document = Mapping[str, Any]
COLUMNS = 5
"""Boards in a row of the states after a slide."""
ENDINGS = {"won": SPECIALS["win"], "lost": SPECIALS["lose"], "ended": EDGE}


def surroundings_to_dot(
    shape: Sequence[int], centre: Document, after: Mapping[str, Sequence[Document]]
) -> str:
    """Write the graph in the language DOT.  Each board with the player to move links to ``#`` and its text.

    `centre` is the document of a position, and ``after[direction]`` the spawns after each of its slides.
    """
    lines = [
        "digraph {",
        '  graph [rankdir=LR, ranksep=0.5, nodesep=0.25, bgcolor="white", fontname="Helvetica"];',
        '  node [shape=plain, fontname="Helvetica", fontsize=10];',
        f'  edge [color="{EDGE}", arrowsize=0.5, penwidth=0.8, fontname="Helvetica", fontsize=10];',
        f"  centre [label=<{_table(_board(shape, centre['cells'], _short(centre)))}>];",
    ]
    for slide in centre["slides"]:
        name = slide["direction"]
        heavy = f', color="{BEST}", penwidth=2' if slide["best"] else ""
        lines.append(f"  {name} [label=<{_table(_board(shape, slide['cells'], _short(slide)))}>];")
        lines.append(f'  centre -> {name} [label="{name}"{heavy}];')
        if slide["ends"]:
            colour = ENDINGS[slide["ends"]]
            lines.append(
                f'  {name}_end [shape=box, style="rounded,filled", color="{colour}", fillcolor="{colour}", '
                f'fontcolor="white", label="{slide["ends"]}"];'
            )
        else:
            lines.append(f"  {name}_end [label=<{_spawns(shape, after[name])}>];")
        lines.append(f"  {name} -> {name}_end;")
    return "\n".join([*lines, "}"]) + "\n"


def _spawns(shape: Sequence[int], spawns: Sequence[Document]) -> str:
    """Return the states after a slide with their probabilities and values, in rows."""
    cells = [
        _board(
            shape,
            one["cells"],
            f"{one['fraction']}: {_short(one) if one['state'] == 'play' else one['state']}",
            f' HREF="#{one["board"]}" TOOLTIP="{one["board"]}"',
        )
        for one in spawns
    ]
    return _table(*("".join(cells[at : at + COLUMNS]) for at in range(0, len(cells), COLUMNS)))


def _short(document: Document) -> str:
    value = document["value"]
    return "" if value is None else str(value["short"])


def _board(shape: Sequence[int], cells: Sequence[str], below: str, more: str = "") -> str:
    """Return a cell of a table: a board, and what is written below it."""
    inner = (
        f"<TR><TD>{words_label(shape, cells)}</TD></TR>"
        f'<TR><TD><FONT POINT-SIZE="10">{escape(below) or " "}</FONT></TD></TR>'
    )
    return f'<TD{more}><TABLE BORDER="0" CELLBORDER="0" CELLSPACING="1" CELLPADDING="0">{inner}</TABLE></TD>'


def _table(*rows: str) -> str:
    body = "".join(f"<TR>{row}</TR>" for row in rows)
    return f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="4" CELLPADDING="0">{body}</TABLE>'
