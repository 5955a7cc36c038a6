"""``tilebase export``: results as files for other programs; a function a subcommand."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from tilebase.cli.options import (
    GameOptions,
    GoalArgument,
    Options,
    ShapeOrGoal,
    ShownOptions,
    make_game,
    solved_first,
)
from tilebase.cli.output import write_text
from tilebase.cli.probe import LabelOption, LocalTableArgument, TableArgument, game_of_table
from tilebase.cli.progress import counting_progress, prepare_kernels
from tilebase.errors import UsageError
from tilebase.files.source import check_output
from tilebase.game.game import Game
from tilebase.game.notation import count_of
from tilebase.objectives.numbers import byte_text, summed_text
from tilebase.objectives.objective import parse_discount, parse_objectives
from tilebase.pictures import CONVERTED, DRAWINGS, PICTURES
from tilebase.runtime.measured import ANYWAY, COMMAND
from tilebase.runtime.rows import table_text

if TYPE_CHECKING:
    from tilebase.small.layered import Picture

FolderOption = Annotated[
    Path,
    Parameter(name=["--output", "-o"], help="A new folder, or one of an earlier export, which is replaced."),
]


def boards(
    folder: Annotated[
        str,
        Parameter(
            name="FOLDER",
            help="A table that tilebase solve -o wrote (folder, zip file or URL), or the folder of a run of "
            "tilebase count -o.",
        ),
    ],
    *,
    total: Annotated[int, Parameter(name="--sum", help="The sum of the layer.")],
    states: Annotated[
        bool, Parameter(help="Write states, which count --keep states keeps, not afterstates.")
    ] = False,
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="The Parquet file to write.")],
) -> int:
    """Write the boards of a layer as Parquet: the packed key, and the exponents of the cells.

    The file has a checksum of the game, the kind of layer, the sum and all keys. tilebase export values
    writes the values of boards.

    tilebase export boards 3x3-512/ --sum 88 -o 88.parquet
    """
    from tilebase.files.parquet import export_parquet
    from tilebase.tables.layers import open_layer

    if output.suffix.lower() not in ("", ".parquet", ".pq"):
        raise UsageError(f"{output} would hold Parquet: end it in .parquet")
    layer = open_layer(folder, total, "states" if states else "afterstates")
    rows = export_parquet(layer, output)
    print(f"{output}: {rows:,} boards up to symmetry")
    return 0


def data(
    table: TableArgument,
    *,
    output: FolderOption,
    visits: Annotated[
        bool, Parameter(help="Add the probability that a game of optimal play meets each state.")
    ] = False,
    objective: LabelOption = None,
) -> int:
    """Write a data set of a table's states: Parquet files for each sum, in bounded memory.

    For training, and for large tables with DuckDB or Polars. A row has the cells as one list, the value of
    each slide (NULL if it is not allowed), the best slides, and the number of boards that it stands for.
    tilebase export values writes one file for a data frame.

    tilebase export data 3x3-512/ --visits -o 3x3-512-data/
    """
    prepare_kernels()
    from tilebase.datasets import write_parquet
    from tilebase.tables.probe import open_table

    with open_table(table) as opened, counting_progress() as progress:
        rows = write_parquet(
            opened, output, objective=objective, visits=visits, command=COMMAND.get(), progress=progress
        )
    print(f"{output}: {rows:,} states up to symmetry")
    return 0


DOT = (".dot", ".gv")
DRAWN = 2_000
"""Most states that are drawn one by one; as parts, or as DOT text, more are allowed."""
WRITTEN = 20_000


@dataclass(frozen=True)
class StateOptions(Options):
    """Which states are drawn, and how many of them."""

    group: bool = False
    """One node for all states of one sum and largest tile."""
    specials: bool = False
    """Draw won and lost ends, too; --values always does."""
    lookahead: bool = False
    """Collapse states that are won or lost within one move."""
    raw: bool = False
    """Draw all states, not one of each orbit."""
    max_states: Annotated[
        int | None,
        Parameter(help=f"Refuse larger games. Default: {DRAWN:,} for a picture of all, else {WRITTEN:,}."),
    ] = None


@dataclass(frozen=True)
class ValueOptions(Options):
    """What is drawn of the values."""

    values: bool = False
    """Draw actions with probabilities and values."""
    optimal: bool = False
    """Draw only best actions, and the states that they lead to."""
    board: str | None = None
    """Draw the actions of this state alone, and in dashed frames the boards after its slides. Of a larger
    game: tilebase probe TABLE BOARD --record board.svg."""
    discount: str = "1"
    """Discount in (0, 1], exact: 0.99 or 99/100."""


def graph(
    shape: ShapeOrGoal = "",
    goal: GoalArgument = None,
    *,
    game: GameOptions = GameOptions(),
    output: Annotated[
        list[Path] | None,
        Parameter(
            name=["--output", "-o"],
            help="File to write, .dot or .svg; may be repeated. Default: DOT is printed.",
        ),
    ] = None,
    states: StateOptions = StateOptions(),
    worth: ValueOptions = ValueOptions(),
    layer: Annotated[
        str | None,
        Parameter(help="Draw the decision diagram of this layer of the winning set in the folder SHAPE."),
    ] = None,
    rows: Annotated[
        int | None, Parameter(help="Draw the rows of this length that slides can turn into 2 4 2 4 ...")
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
    from tilebase.pictures.drawing import write_svg
    from tilebase.pictures.graphs import row_picture, set_picture
    from tilebase.tables.winning import open_winning_set

    files = output or []
    for file in files:
        if file.suffix.lower() not in (*DOT, *DRAWINGS):
            raise UsageError(f"{file} is neither DOT nor SVG: end its name in .dot or .svg, {CONVERTED}")
        check_output(file)
    if rows is not None:
        if shape or goal is not None or layer is not None:
            raise UsageError("--rows draws the rows of one length: leave the shape and --layer out")
        found = row_picture(rows)
        summary = f"{len(found.nodes):,} rows up to reflection, {len(found.edges):,} steps"
    elif layer is not None:
        found = set_picture(open_winning_set(shape), layer)
        summary = f"layer {layer}, {len(found.nodes):,} nodes without complement edges"
    else:
        drawn = worth.board is None and any(file.suffix.lower() in DRAWINGS for file in files)
        most = states.max_states if states.max_states is not None else DRAWN if drawn else WRITTEN
        found, summary = _drawn(make_game(shape, goal, game), states, worth, most)
    for file in files:
        if file.suffix.lower() in DOT:
            write_text(found.dot(), file)
        else:
            write_svg(found.svg(), file)
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
    if most < 1:
        raise UsageError(f"--max-states {most}: give 1 or more")
    if not (worth.values or worth.optimal or worth.board):
        if worth.discount != "1":
            raise UsageError("a discount changes values only: draw them with --values, or leave it out")
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
        board=Board.read(game, worth.board).cells if worth.board else None, max_states=most,
    )  # fmt: skip
    actions = [action for found in diagram.actions.values() for action in found]
    leads = sum(len(action.outcomes) for action in actions)
    taken = count_of(len(actions), "action")
    size = f"{len(diagram.values):,} states {folded}, {taken}, {leads:,} transitions"
    return diagram_picture(diagram), size


def page(
    table: LocalTableArgument,
    *,
    output: Annotated[
        Path, Parameter(name=["--output", "-o"], help="A new folder, or an exported page, which is replaced.")
    ],
    objective: LabelOption = None,
    shown: ShownOptions = ShownOptions(),
) -> int:
    """Write a page that plays a table in the browser and trains, to be copied to any web host.

    The folder contains the page and a file with the value of each slide in a few bits. The host needs no
    program. The page reads parts of the file by ranges; a host that ignores ranges sends the whole file once.
    The page also works without a connection, and as a file.

    tilebase export page 3x3-512/ -o page/
    """
    show = shown.checked()
    prepare_kernels()
    from tilebase.web import export

    with counting_progress() as progress:
        found = export.export_page(table, output, objective=objective, anyway=ANYWAY.get(), progress=progress)
    rows: list[dict[str, Any]] = [
        {"": "live states, up to symmetry", found.objective: f"{found.states:,}"},
        {"": "policy", found.objective: byte_text(found.policy)},
        {"": "all files", found.objective: byte_text(found.size)},
        {"": "chance to reach a state without a known slide"} | {found.objective: summed_text(found.leaves)},
    ]
    data, game = found.as_dict(), game_of_table(table)
    files = sum(file.is_file() for file in found.folder.rglob("*"))
    text = (
        f"{table_text(rows)}\n{output}/ has {files} files, {byte_text(found.size)}; try it with "
        f"{shlex.join(['python3', '-m', 'http.server', '-d', str(output)])}, or copy it to any web host\n"
    )
    show.write(rows, data, data=[data], text=text, game=game)
    return 0


CELLS = "cells are exponents: 8 for the tile 256"
STATES = "; --states writes states, and what each slide is worth"


def values(
    table: TableArgument,
    *,
    output: Annotated[
        Path,
        Parameter(
            name=["--output", "-o"],
            help="The file to write: .parquet, .csv, or a picture; fractions: .csv or .jsonl.",
        ),
    ],
    total: Annotated[int | None, Parameter(name="--sum", help="Only the layer of this sum.")] = None,
    states: Annotated[
        bool, Parameter(help="Write states and the value of each slide, not afterstates.")
    ] = False,
    exact: Annotated[
        bool, Parameter(help="Solve the game again, and write values as reduced fractions, p/q.")
    ] = False,
    objective: LabelOption = None,
) -> int:
    """Write the boards of a table with their values, for a data frame: polars.read_parquet(FILE).

    A row is an afterstate up to symmetry, or with --states a state. It has the packed key, the board as text
    and as exponents (8 is the tile 256, 0 is empty), the sum and the value v. A state also has the value of
    each slide (q_left, ...) and the key after it, empty if the slide is not allowed; best adds 1, 2, 4 and 8
    if left, right, up and down are best. A picture (.svg, .pdf, .eps, .png) shows the mean, least and
    largest value by sum.

    tilebase export values 3x3-512/ -o values.parquet

    tilebase export values 3x3-512/ --states --sum 100 -o 100.csv

    tilebase export values 3x3-512/ -o values.svg

    tilebase export values 3x3-64/ --states --exact -o fractions.csv
    """
    drawn = output.suffix.lower() in PICTURES
    if drawn and (states or exact or total is not None):
        raise UsageError("a picture shows the afterstates of all sums: leave --sum, --states and --exact out")
    prepare_kernels()
    from tilebase.datasets.exporting import export_fractions, export_values
    from tilebase.tables.probe import open_table

    with open_table(table) as opened:
        if drawn:
            from tilebase.pictures.plots import plot_values

            plot_values(opened, output, objective)
            print(f"{output}: values of {opened.objective(objective).label} by sum")
            return 0
        kind = "states" if states else "afterstates"
        if exact:
            with counting_progress() as progress:
                rows = export_fractions(
                    opened, output, objective=objective, total=total, states=states, progress=progress
                )
            print(f"{output}: {rows:,} {kind} up to symmetry with their values as fractions")
            return 0
        command = COMMAND.get()
        rows = export_values(opened, output, objective=objective, total=total, states=states, command=command)
    read = f"read_{'csv' if output.suffix == '.csv' else 'parquet'}"
    cells = f"{CELLS}{'' if states else STATES}"
    readers = f"polars.{read}, or pandas.{read} with dtype_backend='pyarrow', reads"
    print(f"{output}: {rows:,} {kind} up to symmetry, which {readers}; {cells}")
    return 0


def mdp(
    what: Annotated[
        tuple[str, ...],
        Parameter(help="A table, for its game; or a shape and a goal; or with --formation a goal."),
    ] = (),
    /,
    *,
    game: GameOptions = GameOptions(),
    objective: Annotated[
        str, Parameter(help="Rewards: win, score, merges or moves; win@0.99 discounts them.")
    ] = "win",
    output: FolderOption,
) -> int:
    """Write the decision process of a small game for PRISM, for Storm, and as sparse matrices.

    Writes the states up to symmetry, their slides with rewards, and the transitions: mdp.sta, mdp.tra,
    mdp.trew and mdp.lab (PRISM), mdp.drn (Storm), mdp.npz (SciPy). State 0 of the text files draws the start.
    The labels are init, won and lost.

    tilebase export mdp 2x2 32 -o 2x2-32-mdp/

    tilebase export mdp 2x3-64/ --objective score@0.99 -o 2x3-64-mdp/
    """
    question = solved_first(what, game)
    if question is None:
        if len(what) != 1:
            raise UsageError("name one table, or a shape and a goal, such as 2x2 32")
        question = game_of_table(what[0])
    chosen = parse_objectives(objective)
    if len(chosen) != 1:
        raise UsageError(f"{objective} names several objectives: choose one")
    prepare_kernels()
    from tilebase.questions.mdp_files import export_mdp

    with counting_progress() as progress:
        found = export_mdp(question, output, chosen[0], anyway=ANYWAY.get(), progress=progress)
    print(
        f"{output}: {found.states:,} states up to symmetry, {found.choices:,} choices, "
        f"{found.transitions:,} transitions"
    )
    return 0


export = App(name="export", help="Write data, pictures and pages for other programs.")
for command in (boards, data, graph, mdp, page, values):
    export.command(command)
