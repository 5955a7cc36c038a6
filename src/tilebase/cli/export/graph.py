"""``tilebase export graph``: the states of a small game and the transitions between them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tilebase.cli.options import (
    DEFAULT_GAME,
    GameOptions,
    GoalArgument,
    ShapeOrGoal,
    make_game,
)
from tilebase.cli.output import write_text
from tilebase.errors import UsageError
from tilebase.files.source import check_output
from tilebase.game.game import Game
from tilebase.objectives.objective import parse_discount

if TYPE_CHECKING:
    from tilebase.small.layered import Picture

SUFFIXES = (".dot", ".gv", ".svg")
DRAWN = 2_000
"""Most states that are drawn one by one; as parts, or as DOT text, more are allowed."""
WRITTEN = 20_000
UP_TO, WITHOUT = "up to symmetry", "without symmetry"


def graph(
    shape: ShapeOrGoal = "",
    goal: GoalArgument = None,
    *,
    game: GameOptions = DEFAULT_GAME,
    group: Annotated[
        bool, Parameter(negative=(), help="One node for all states of one sum and largest tile.")
    ] = False,
    specials: Annotated[
        bool, Parameter(negative=(), help="Draw win and lose, too, as --values always does.")
    ] = False,
    lookahead: Annotated[
        bool, Parameter(negative=(), help="Collapse states that are won or lost within one move.")
    ] = False,
    values: Annotated[
        bool, Parameter(negative=(), help="Draw actions with probabilities and what each is worth.")
    ] = False,
    optimal: Annotated[
        bool, Parameter(negative=(), help="The same, with best actions and what they lead to only.")
    ] = False,
    raw: Annotated[bool, Parameter(negative=(), help="Draw all states, not one of each orbit.")] = False,
    board: Annotated[
        str | None,
        Parameter(help="Draw the actions of this state only, with the boards after its slides, dashed."),
    ] = None,
    layer: Annotated[
        str | None,
        Parameter(help="Draw the decision diagram of this layer of a winning set, whose folder is named."),
    ] = None,
    rows: Annotated[
        int | None,
        Parameter(help="Draw the rows of this length that slides along them can turn into 2 4 2 4 ..."),
    ] = None,
    discount: Annotated[str, Parameter(help="Discount in (0, 1], exact: 0.99 or 99/100.")] = "1",
    max_states: Annotated[
        int | None,
        Parameter(help=f"Refuse larger games. Default: {DRAWN:,} for ungrouped SVG, else {WRITTEN:,}."),
    ] = None,
    output: Annotated[
        list[Path] | None,
        Parameter(
            name=["--output", "-o"],
            negative=(),
            help="File to write, .dot or .svg; may be repeated. Default: DOT is printed.",
        ),
    ] = None,
) -> int:
    """Draw the states of a small game, and the transitions between them, as a graph.

    tilebase export graph 2x2 32 > graph.dot

    tilebase export graph 2x2 32 --group -o graph.svg

    tilebase export graph 2x2 8 --values -o values.svg

    tilebase export graph 2x2 8 --board 0,2/2,0 --raw -o state.svg

    tilebase export graph winning-set --layer 10 -o diagram.svg

    tilebase export graph --rows 6 -o rows.svg
    """
    from tilebase.pictures.drawing import with_metadata
    from tilebase.pictures.graphs import row_picture, set_picture
    from tilebase.tables.winning import open_winning_set

    files = output or []
    for file in files:
        if file.suffix.lower() not in SUFFIXES:
            raise UsageError(f"{file} is neither DOT nor SVG: give it the suffix .dot or .svg")
        check_output(file)
    drawn = any(file.suffix.lower() == ".svg" for file in files) and not group
    most = max_states if max_states is not None else DRAWN if drawn else WRITTEN
    if rows is not None:
        found = row_picture(rows)
        summary = f"{len(found.nodes):,} rows up to reflection, {len(found.edges):,} steps"
    elif layer is not None:
        found = set_picture(open_winning_set(shape), layer)
        summary = f"layer {layer}, {len(found.nodes):,} nodes without complement edges"
    elif values or optimal or board is not None:
        if group or lookahead:
            raise UsageError("values are drawn state by state: leave out --group and --lookahead")
        found, summary = _values(
            make_game(shape, goal, game), optimal, discount, raw, board, min(most, DRAWN)
        )
    else:
        found, summary = _transitions(make_game(shape, goal, game), lookahead, specials, raw, group, most)
    for file in files:
        write_text(with_metadata(found.svg()) if file.suffix.lower() == ".svg" else found.dot(), file)
        sys.stdout.write(f"{file}: {summary}\n")
    if not files:
        sys.stdout.write(found.dot())
    return 0


def _transitions(
    game: Game, lookahead: bool, specials: bool, raw: bool, group: bool, most: int
) -> tuple[Picture, str]:
    from tilebase.small.graphs import graph_picture, state_graph

    found = state_graph(game, lookahead=lookahead, specials=specials, symmetric=not raw, max_states=most)
    size = f"{len(found.states):,} states {WITHOUT if raw else UP_TO}, {len(found.edges):,} transitions"
    return graph_picture(found, group=group), size


def _values(
    game: Game, optimal: bool, discount: str, raw: bool, board: str | None, most: int
) -> tuple[Picture, str]:
    from tilebase.game.board import Board
    from tilebase.small.diagrams import decision_diagram, diagram_picture

    state = None if board is None else Board.read(game, board).cells
    diagram = decision_diagram(
        game,
        optimal=optimal,
        discount=parse_discount(discount),
        symmetric=not raw,
        board=state,
        max_states=most,
    )
    actions = [action for found in diagram.actions.values() for action in found]
    leads = sum(len(action.outcomes) for action in actions)
    size = f"{len(diagram.values):,} states {WITHOUT if raw else UP_TO}, {len(actions):,} actions"
    return diagram_picture(diagram), f"{size}, {leads:,} transitions"
