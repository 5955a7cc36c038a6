"""``tilebase export graph``: the states of a small game and the transitions between them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

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

SUFFIXES = (".dot", ".gv", ".svg")
DRAWN = 2_000
"""Most states that dot can draw one by one within minutes; as parts, or as DOT text, more are allowed."""
WRITTEN = 20_000


@Parameter(name="*")
@dataclass(frozen=True)
class StateOptions:
    """Which states are drawn, and how many of them."""

    group: Annotated[
        bool, Parameter(negative=(), help="One node for all states of one sum and largest tile.")
    ] = False
    specials: Annotated[
        bool, Parameter(negative=(), help="Draw win and lose, too, as --values always does.")
    ] = False
    lookahead: Annotated[
        bool, Parameter(negative=(), help="Collapse states that are won or lost within one move.")
    ] = False
    max_states: Annotated[
        int | None,
        Parameter(help=f"Refuse larger games. Default: {DRAWN:,} for ungrouped SVG, else {WRITTEN:,}."),
    ] = None


DEFAULT_STATES = StateOptions()


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
    discount: Annotated[str, Parameter(help="Discount in (0, 1], exact: 0.99 or 99/100.")] = "1"


DEFAULT_VALUES = ValueOptions()


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
            help="File to write, .dot or .svg (needs the program dot); may be repeated. "
            "Default: DOT is printed.",
        ),
    ] = None,
    states: StateOptions = DEFAULT_STATES,
    worth: ValueOptions = DEFAULT_VALUES,
) -> int:
    """Write the states of a small game, up to symmetry, and the transitions between them as a graph.

    tilebase export graph 2x2 32 > graph.dot

    tilebase export graph 2x2 32 --group -o graph.svg

    tilebase export graph 2x2 8 --values -o values.svg
    """
    from tilebase.small.graphs import find_dot, render_svg

    files = output or []
    for file in files:
        if file.suffix.lower() not in SUFFIXES:
            raise UsageError(f"{file} is neither DOT nor SVG: give it the suffix .dot or .svg")
        check_output(file)
        if file.suffix.lower() == ".svg":
            find_dot()
    drawn = any(file.suffix.lower() == ".svg" for file in files) and not states.group
    most = states.max_states if states.max_states is not None else DRAWN if drawn else WRITTEN
    question = make_game(shape, goal, game)
    if worth.values or worth.optimal:
        if states.group or states.lookahead:
            raise UsageError("values are drawn state by state: leave out --group and --lookahead")
        text, summary = _values(question, worth.optimal, worth.discount, min(most, DRAWN))
    else:
        text, summary = _transitions(question, states.lookahead, states.specials, states.group, most)
    for file in files:
        render_svg(text, file) if file.suffix.lower() == ".svg" else write_text(text, file)
        sys.stdout.write(f"{file}: {summary}\n")
    if not files:
        sys.stdout.write(text)
    return 0


def _transitions(game: Game, lookahead: bool, specials: bool, group: bool, most: int) -> tuple[str, str]:
    from tilebase.small.graphs import state_graph, to_dot

    found = state_graph(game, lookahead=lookahead, specials=specials, max_states=most)
    size = f"{len(found.states):,} states up to symmetry, {len(found.edges):,} transitions"
    return to_dot(found, group=group), size


def _values(game: Game, optimal: bool, discount: str, most: int) -> tuple[str, str]:
    from tilebase.small.diagrams import decision_diagram, diagram_to_dot

    factor = parse_discount(discount)
    diagram = decision_diagram(game, optimal=optimal, discount=factor, max_states=most)
    actions = sum(len(found) for found in diagram.actions.values())
    return diagram_to_dot(diagram), f"{len(diagram.values):,} states up to symmetry, {actions:,} actions"
