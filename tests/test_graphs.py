"""Graphs of small games against the oracle, and as text and pictures."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path

import pytest

import cached_oracle as oracle
from strategies import SMALL_GAMES
from tilebase import UsageError, open_table, open_winning_set
from tilebase.game.game import Cells, Game
from tilebase.game.symmetry import canonical
from tilebase.patterns.lemmas import alternating_line_steps
from tilebase.patterns.rules import push
from tilebase.pictures.graphs import row_picture, set_picture
from tilebase.small.diagrams import decision_diagram, diagram_picture
from tilebase.small.graphs import StateGraph, graph_picture, state_graph
from tilebase.small.layered import Edge, Node, Picture, _Layout
from tilebase.small.oracle import Node as State

SMALL, LEAST = Game("2x2", 32), Game("2x2", 8)
GAMES = [game for game in SMALL_GAMES if game.cells < 8 and game != Game("1x2x3", 16)]
"""Those that the oracle takes a second for at most."""
SVG = "{http://www.w3.org/2000/svg}"


def to_dot(graph: StateGraph, *, group: bool = False) -> str:
    return graph_picture(graph, group=group).dot()


def nodes(dot: str) -> list[str]:
    return re.findall(r'^  (\w+) \[label="', dot, re.MULTILINE)


def edges(dot: str) -> list[tuple[str, str]]:
    return re.findall(r"^  (\w+) -> (\w+) \[color=.*\];$", dot, re.MULTILINE)


def folded(game: Game) -> set[tuple[Cells, State]]:
    """The oracle's transitions without direction, up to symmetry."""

    def node(end: State) -> State:
        return end if isinstance(end, str) else canonical(game, end)

    return {(canonical(game, state), node(end)) for state, _, end in oracle.transitions(game)}


@pytest.mark.parametrize("game", GAMES, ids=str)
def test_graph_is_the_oracle_s(game: Game) -> None:
    graph = state_graph(game, specials=True)
    layers = oracle.reachable(game).values()
    assert set(graph.states) == {state for layer in layers for state in layer.states if game.slides(state)}
    assert set(graph.edges) == folded(game)
    assert len(set(graph.edges)) == len(graph.edges)
    further = oracle.reachable(game, lookahead=True).values()
    expected = {state for layer in further for state in layer.states}
    assert set(state_graph(game, lookahead=True).states) == expected


def test_specials_are_left_out_unless_asked_for() -> None:
    plain, special = state_graph(SMALL), state_graph(SMALL, specials=True)
    assert plain.states == special.states
    ends = [after for _, after in special.edges if isinstance(after, str)]
    assert plain.edges == tuple(edge for edge in special.edges if not isinstance(edge[1], str))
    assert (ends.count("win"), ends.count("lose")) == (3, 33)
    assert ends.count("win") == oracle.count(SMALL).total("winning")
    # From - - / 2 2 six states can follow (Lees-Miller, Counting States).
    after = {SMALL.format(end) for state, end in plain.edges if state == (0, 0, 1, 1)}
    assert after == {"0,2/4,0", "0,0/2,4", "0,4/4,0", "0,0/4,4", "0,2/2,2", "0,2/4,2"}


def test_order_is_by_sum_and_largest_tile() -> None:
    graph = state_graph(SMALL)
    parts = graph.parts()
    assert list(parts) == sorted(parts)
    assert [state for states in parts.values() for state in states] == list(graph.states)
    assert parts[4, 2] == [(0, 0, 1, 1), (0, 1, 1, 0)]
    between = [(state, after) for state, after in graph.edges if not isinstance(after, str)]
    assert {SMALL.sum(after) - SMALL.sum(state) for state, after in between} == {2, 4}


def test_a_graph_may_have_as_many_states_as_are_allowed() -> None:
    assert len(state_graph(SMALL, max_states=57).states) == 57


def test_dot_has_a_node_a_state_and_an_edge_a_transition() -> None:
    graph = state_graph(SMALL)
    text = to_dot(graph)
    names = {f"s{SMALL.pack(state):04x}" for state in graph.states}
    assert set(nodes(text)) == names == {end for edge in edges(text) for end in edge}
    assert len(edges(text)) == len(graph.edges)
    assert "win" not in text
    special = to_dot(state_graph(SMALL, specials=True))
    assert all(f'{end} [label="{end}"' in special for end in ("win", "lose"))
    assert special.isascii()


def test_dot_of_parts() -> None:
    graph = state_graph(SMALL)
    text, parts = to_dot(graph, group=True), graph.parts()
    assert nodes(text) == [f"p{total}_{largest}" for total, largest in parts]
    for (total, largest), states in parts.items():
        assert f'"{total} / {largest}' + "".join(rf"\n{SMALL.format(one)}" for one in states) + '"' in text
    # A move changes the sum by 2 or 4 and keeps the largest tile or doubles it.
    ends = [[[int(word) for word in one[1:].split("_")] for one in edge] for edge in edges(text)]
    assert {(b - a, y // x) for (a, x), (b, y) in ends} <= {(2, 1), (2, 2), (4, 1), (4, 2)}


def drawn(game: Game, group: bool) -> Picture:
    return graph_picture(state_graph(game, specials=True), group=group)


DRAWN = [
    SMALL,
    Game("1x1", start="empty"),
    Game("1x2x3", 8, walls=[1], unmergeable=[0]),
    Game("2x2", limits=8),
]
PICTURES = {
    **{f"{game}, {group=}": partial(drawn, game, group) for game in DRAWN for group in (False, True)},
    "values": lambda: diagram_picture(decision_diagram(Game("2x2", 16))),
    "raw values": lambda: diagram_picture(decision_diagram(LEAST, symmetric=False)),
    "rows": lambda: row_picture(6),
    "one state": lambda: diagram_picture(decision_diagram(LEAST, symmetric=False, board=(0, 1, 1, 0))),
}


@pytest.mark.parametrize("make", PICTURES.values(), ids=PICTURES)
def test_drawings_show_all_and_nothing_overlaps(make: Callable[[], Picture]) -> None:
    picture = make()
    root = ET.fromstring(picture.svg())
    boxes = root.findall(f"{SVG}g[@class='node']")
    assert [box.findtext(f"{SVG}title") for box in boxes] == [node.name for node in picture.nodes]
    assert len(root.findall(f"{SVG}path[@class='edge']")) == len(picture.edges)
    placed = _Layout(picture)
    for column, left, width in zip(placed.columns, placed.left, placed.widths, strict=False):
        assert width + 40 < placed.left[placed.columns.index(column) + 1] - left
        for one, other in itertools.pairwise(column):
            apart = placed.y[other] - placed.y[one] - (placed._size(one)[1] + placed._size(other)[1]) / 2
            assert apart > 6.9
    for edge, path in zip(picture.edges, placed.paths, strict=True):
        assert (path[0], path[-1]) == (edge.source, edge.target)
        assert [placed._at(item) for item in path] == list(
            range(placed._at(path[0]), placed._at(path[-1]) + 1)
        )
    assert picture.svg() == picture.svg()


def test_sweeps_untangle() -> None:
    nodes = [Node("abcdef"[i], int(i > 2), "", 9, 9, "") for i in range(6)]
    layout = _Layout(Picture("", nodes, [Edge("a", "f"), Edge("b", "e"), Edge("c", "d")]))
    assert layout._crossings() == 0
    assert [layout.y[one] for one in "abc"] == pytest.approx([layout.y[one] for one in "fed"])


@pytest.mark.parametrize(("length", "rows"), [(2, 5), (4, 10), (6, 16), (8, 25)])
def test_rows_that_become_a_checkerboard(length: int, rows: int) -> None:
    """Edixhoven, figure 6: rows of even length; each step is what a drop of 2 and a slide make."""
    steps = alternating_line_steps(length)
    picture = row_picture(length)
    assert len(picture.nodes) == len(steps) == rows
    assert len(picture.edges) == sum(map(len, steps.values()))
    (full,) = (row for row, later in steps.items() if not later)
    assert full == (1, 2) * (length // 2)
    for row, later in steps.items():
        dropped = [(*row[:cell], 1, *row[cell + 1 :]) for cell in range(length) if not row[cell]]
        made = {push(way, 2) for one in (row, *dropped) for way in (one, one[::-1])} | set(dropped)
        assert all(after in made or after[::-1] in made for after in later)
    if length >= 4:  # lemma 11
        assert all(row.count(0) <= 2 and 2 in (row[0], row[-1]) for row in steps)


def test_the_diagram_of_a_winning_set(tmp_path: Path, printed) -> None:
    """Each board is followed from the root; the number of paths to yes is that of the states."""
    folder, file = tmp_path / "set", tmp_path / "diagram.svg"
    printed(f"force diagrams 1x4 8 -o {folder} -q")
    found = printed(f"export graph {folder} --layer 10 -o {file}")
    assert "layer 10, 25 nodes without complement edges" in found
    assert len(ET.parse(file).getroot().findall(f"{SVG}g[@class='node']")) == 25
    opened = open_winning_set(folder)
    picture = set_picture(opened, "10")
    column = {node.name: node.column for node in picture.nodes}
    follow = {(edge.source, 0 if edge.dashed else 1): edge.target for edge in picture.edges}
    manifest, won = opened.manifest, 0
    for board in product(manifest.codes, repeat=4):
        if manifest.game.sum(board) != 10:
            continue
        bits = [manifest.codes[board[cell]][bit].replace("*", "0") for cell, bit in manifest.variables]
        at = picture.nodes[0].name
        while (at, 0) in follow:
            at = follow[at, int(bits[column[at]])]
        won += at == "yes"
    assert won == 12
    with pytest.raises(UsageError, match="layer 9 is not in this set: choose one of 16, 14"):
        set_picture(opened, "9")


def test_graph_command(tmp_path: Path, printed) -> None:
    special = to_dot(state_graph(SMALL, specials=True), group=True)
    assert printed("export graph 2x2 32 --group --specials") == special
    files = [tmp_path / "graph.dot", tmp_path / "graph.svg"]
    said = "57 states up to symmetry, 149 transitions"
    found = printed(f"export graph 2x2 32 -o {files[0]} -o {files[1]}")
    assert found == "".join(f"{file}: {said}\n" for file in files)
    assert files[0].read_text("utf-8") == to_dot(state_graph(SMALL))
    assert ET.parse(files[1]).getroot().tag == f"{SVG}svg"


def test_values_are_drawn_of_as_many_states_as_are_allowed(tmp_path: Path, printed, refused) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tilebase.cli.export.DRAWN", 20)
        asked = f"export graph 2x2 16 -o {tmp_path / 'a.svg'}"
        for option in ("--values", "--group"):
            refused(f"{asked} {option}".split(), 2, "has more than 20 live states")
        assert ": 35 states" in printed(f"{asked} --values --max-states 35")
        assert ", 1 action," in printed(f"{asked} --board 0,2/2,0")


def test_a_position_is_drawn_with_the_values_of_its_slides(solved, tmp_path: Path, printed) -> None:
    table, file = solved(Game("2x2", 16), "win"), tmp_path / "a.svg"
    printed(f"probe {table} 2,4/0,2 --record {file}")
    answer = open_table(table).probe("2,4/0,2")
    assert answer.svg() == re.sub("<metadata>.*?</metadata>", "", file.read_text())
    found = [text.text for text in ET.fromstring(answer.svg()).iter(f"{SVG}text")]
    for slide in answer.as_dict()["slides"]:
        assert slide["direction"] in found
        assert slide["value"]["short"] in found
