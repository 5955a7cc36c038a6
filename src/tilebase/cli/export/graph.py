"""``tilebase export graph``: the states of a small game and the transitions between them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
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


@Parameter(name="*")
@dataclass(frozen=True)
class StateOptions:
    """Which states are drawn, and how many of them."""

    group: Annotated[
        bool, Parameter(negative=(), help="One node for all states of one sum and largest tile.")
    ] = False
    specials: Annotated[
        bool, Parameter(negative=(), help="Draw win and lose, too; --values always does.")
    ] = False
    lookahead: Annotated[
        bool, Parameter(negative=(), help="Collapse states that are won or lost within one move.")
    ] = False
    raw: Annotated[bool, Parameter(negative=(), help="Draw all states, not one of each orbit.")] = False
    max_states: Annotated[
        int | None,
        Parameter(help=f"Refuse larger games. Default: {DRAWN:,} for ungrouped SVG, else {WRITTEN:,}."),
    ] = None


@Parameter(name="*")
@dataclass(frozen=True)
class ValueOptions:
    """What is drawn of the values."""

    values: Annotated[
        bool, Parameter(negative=(), help="Draw actions with probabilities and what each is worth.")
    ] = False
    optimal: Annotated[
        bool, Parameter(negative=(), help="The same, with best actions and what they lead to only.")
    ] = False
    board: Annotated[
        str | None,
        Parameter(help="The same of this state alone, with the boards after its slides, dashed."),
    ] = None
    discount: Annotated[str, Parameter(help="Discount in (0, 1], exact: 0.99 or 99/100.")] = "1"


@Parameter(name="*")
@dataclass(frozen=True)
class OtherOptions:
    """What is drawn in place of a game."""

    layer: Annotated[
        str | None,
        Parameter(help="Draw the decision diagram of this layer of a winning set, whose folder is named."),
    ] = None
    rows: Annotated[
        int | None,
        Parameter(help="Draw the rows of this length that slides along them can turn into 2 4 2 4 ..."),
    ] = None


DEFAULT_STATES, DEFAULT_VALUES, DEFAULT_OTHER = StateOptions(), ValueOptions(), OtherOptions()


def graph(
    shape: ShapeOrGoal = "",
    goal: GoalArgument = None,
    *,
    game: GameOptions = DEFAULT_GAME,
    output: Annotated[
        list[Path] | None,
        Parameter(
            name=["--output", "-o"],
            negative=(),
            help="File to write, .dot or .svg; may be repeated. Default: DOT is printed.",
        ),
    ] = None,
    states: StateOptions = DEFAULT_STATES,
    worth: ValueOptions = DEFAULT_VALUES,
    other: OtherOptions = DEFAULT_OTHER,
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
    if other.rows is not None:
        found = row_picture(other.rows)
        summary = f"{len(found.nodes):,} rows up to reflection, {len(found.edges):,} steps"
    elif other.layer is not None:
        found = set_picture(open_winning_set(shape), other.layer)
        summary = f"layer {other.layer}, {len(found.nodes):,} nodes without complement edges"
    else:
        drawn = any(file.suffix.lower() == ".svg" for file in files) and not states.group
        most = states.max_states if states.max_states is not None else DRAWN if drawn else WRITTEN
        found, summary = _drawn(make_game(shape, goal, game), states, worth, most)
    for file in files:
        write_text(with_metadata(found.svg()) if file.suffix.lower() == ".svg" else found.dot(), file)
        sys.stdout.write(f"{file}: {summary}\n")
    if not files:
        sys.stdout.write(found.dot())
    return 0


def _drawn(game: Game, states: StateOptions, worth: ValueOptions, most: int) -> tuple[Picture, str]:
    """Return the graph of a game, and its size in words."""
    from tilebase.game.board import Board
    from tilebase.small.diagrams import decision_diagram, diagram_picture
    from tilebase.small.graphs import graph_picture, state_graph

    folded = "without symmetry" if states.raw else "up to symmetry"
    if not (worth.values or worth.optimal or worth.board):
        graph = state_graph(
            game, lookahead=states.lookahead, specials=states.specials, symmetric=not states.raw,
            max_states=most,
        )  # fmt: skip
        size = f"{len(graph.states):,} states {folded}, {len(graph.edges):,} transitions"
        return graph_picture(graph, group=states.group), size
    if states.group or states.lookahead:
        raise UsageError("values are drawn state by state: leave out --group and --lookahead")
    diagram = decision_diagram(
        game, optimal=worth.optimal, discount=parse_discount(worth.discount), symmetric=not states.raw,
        board=Board.read(game, worth.board).cells if worth.board else None, max_states=min(most, DRAWN),
    )  # fmt: skip
    actions = [action for found in diagram.actions.values() for action in found]
    leads = sum(len(action.outcomes) for action in actions)
    size = f"{len(diagram.values):,} states {folded}, {len(actions):,} actions, {leads:,} transitions"
    return diagram_picture(diagram), size
