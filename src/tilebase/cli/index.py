"""``tilebase index``: the number of boards of each sum, and the rank of a board among them."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import App, Parameter

from tilebase.cli.options import (
    DEFAULT_GAME,
    FormatOption,
    GameOptions,
    GoalArgument,
    OutputOption,
    ShapeOrGoal,
    make_game,
)
from tilebase.cli.output import choose_format, write_rows
from tilebase.game.names import title_of
from tilebase.objectives.objective import Objective

TYPES = {
    "Boolean": Objective("guaranteed"),
    "uint16, float16": Objective("lower", "uint16"),
    "uint32, float32": Objective("lower", "uint32"),
    "uint64, float64": Objective("lower", "uint64"),
}
"""An objective with values of each type."""

index = App(name="index")


@index.default
def sizes(
    shape: ShapeOrGoal = "",
    goal: GoalArgument = None,
    *,
    game: GameOptions = DEFAULT_GAME,
    layers: Annotated[
        bool, Parameter(negative=(), help="A row for each sum; CSV and Parquet have them always.")
    ] = False,
    form: FormatOption = None,
    output: OutputOption = None,
) -> int:
    """Print how many boards lie within the limits, by sum, and the memory that layers of them take.

    A pass over all of them has three layers in memory, and the one it makes; Boolean values are bits where
    this saves memory. Tables and the program come to these. Nothing is solved: tilebase plan says what a pass
    takes in all, and how long.

    tilebase index 4x4 256 --layers
    """
    from tilebase.costs.machines import layers_in_memory
    from tilebase.counting.combinatorics import boards_by_sum

    question = make_game(shape, goal, game)
    chosen = choose_format(form, output)
    boards = boards_by_sum(question)
    memory = dict(zip(TYPES, layers_in_memory(question, *TYPES.values()), strict=True))
    document = {
        "game": question.identity,
        "layers": {str(s): size for s, size in boards.items()},
        "boards": sum(boards.values()),
        "memory": memory,
    }
    if layers or chosen in ("csv", "parquet"):
        rows = [{"sum": s, "boards": size} for s, size in boards.items()]
        write_rows(rows, document, chosen, output, game=question)
        if chosen == "table" and output is None:
            print(_layers_line(boards, memory))
    else:
        write_rows(_totals(title_of(question), boards, memory), document, chosen, output, game=question)
    return 0


def _totals(title: str, boards: dict[int, int], memory: dict[str, int]) -> list[dict[str, Any]]:
    from tilebase.objectives.numbers import byte_text

    peak, every = max(boards, key=lambda s: boards[s]), sum(boards.values())
    rows: list[dict[str, Any]] = [
        {"": "layers", title: len(boards)},
        {"": "boards", title: every},
        {"": f"largest layer, of sum {peak}", title: boards[peak]},
    ]
    for name, objective in TYPES.items():
        rows.append({"": f"layers in memory, {name}", title: byte_text(memory[name])})
        table = byte_text(objective.value_bytes * every)
        rows.append({"": f"table of {name}, not compressed", title: table})
    return rows


def _layers_line(boards: dict[int, int], memory: dict[str, int]) -> str:
    from tilebase.objectives.numbers import byte_text

    parts = [f"{byte_text(size)} for {name}" for name, size in memory.items()]
    return f"all {sum(boards.values()):,}; layers in memory: {', '.join(parts)}"


@index.command
def rank(
    shape: ShapeOrGoal = "",
    goal: GoalArgument = None,
    *,
    board: Annotated[str, Parameter(help="The board, as in tilebase probe.")],
    game: GameOptions = DEFAULT_GAME,
) -> int:
    """Print the sum of a board and its rank among the boards of that sum, from 0 on.

    tilebase index rank 2x2 32 --board 2,4/8,16
    """
    from tilebase.dense.index import PerfectIndex
    from tilebase.game.board import Board

    question = make_game(shape, goal, game)
    cells = Board.read(question, board).cells
    print(f"sum {question.sum(cells)}, rank {PerfectIndex(question).rank(cells):,}")
    return 0


@index.command
def board(
    shape: ShapeOrGoal = "",
    goal: GoalArgument = None,
    *,
    total: Annotated[int, Parameter(name="--sum", help="The sum of the tiles.")],
    rank: Annotated[int, Parameter(help="The rank among the boards of that sum, from 0 on.")],
    game: GameOptions = DEFAULT_GAME,
) -> int:
    """Print the board of a sum and a rank.

    tilebase index board 2x2 32 --sum 30 --rank 17
    """
    from tilebase.dense.index import PerfectIndex

    question = make_game(shape, goal, game)
    print(question.format(PerfectIndex(question).unrank(total, rank)))
    return 0
