"""``tilebase rank``: the number of boards of each sum, and the rank of a board among them."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, Any

from cyclopts import Parameter

from tilebase.cli.options import GameOptions, GoalArgument, ShapeOrGoal, ShownOptions, make_game
from tilebase.cli.output import Shown
from tilebase.errors import ResourceError, UsageError
from tilebase.game.game import Game
from tilebase.game.names import title_of
from tilebase.objectives.objective import Objective
from tilebase.pictures import PICTURES

TYPES = {
    "Boolean": Objective("guaranteed"),
    "uint16, float16": Objective("lower", "uint16"),
    "uint32, float32": Objective("lower", "uint32"),
    "uint64, float64": Objective("lower", "uint64"),
}
"""An objective with values of each type."""


def rank(
    shape: ShapeOrGoal = "",
    goal: GoalArgument = None,
    *,
    game: GameOptions = GameOptions(),
    board: Annotated[str | None, Parameter(help="Print the sum and the rank of this board.")] = None,
    at: Annotated[
        str | None, Parameter(help="Print the board with this sum and rank, counted from 0: 30,17.")
    ] = None,
    shown: ShownOptions = ShownOptions(),
) -> int:
    """Count all boards within limits, or rank one.

    Counts by combinatorics, without playing: all boards, and an upper bound of the states among them. Also
    prints the memory that a pass over all boards needs for its four layers; tables and the program need more.
    Boolean values are bits if this saves memory. CSV and Parquet have rows by sum, and --record sizes.svg
    draws them. tilebase plan estimates the memory and time of a pass.

    tilebase rank 4x4 256

    tilebase rank 4x4 256 --record sizes.svg

    tilebase rank 2x2 32 --board 2,4/8,16

    tilebase rank 2x2 32 --at 30,17
    """
    question = make_game(shape, goal, game)
    if board is not None and at is not None:
        raise UsageError("give --board or --at, one of the two, or none of them")
    show = shown.checked(PICTURES if board is None and at is None else ())
    if board is None and at is None:
        _write_sizes(question, show)
        return 0
    from tilebase.dense.index import PerfectIndex
    from tilebase.game.board import Board

    index = PerfectIndex(question)
    if at is not None:
        try:
            total, number = map(int, at.split(","))
        except ValueError as error:
            raise UsageError(f"--at {at}: give a sum and a rank, such as --at 30,17") from error
        cells = index.unrank(total, number)
    else:
        cells = Board.read(question, str(board)).cells
    row = {"board": question.format(cells), "sum": question.sum(cells), "rank": index.rank(cells)}
    text = f"sum {row['sum']}, rank {row['rank']:,}" if at is None else row["board"]
    show.write([row], row, text=f"{text}\n", game=question)
    return 0


def _write_sizes(game: Game, show: Shown) -> None:
    """Write how many boards there are, and the memory that layers of them take."""
    from tilebase.costs.passes import layers_in_memory
    from tilebase.counting.combinatorics import COUNTED, bound
    from tilebase.counting.tiles import groups_of
    from tilebase.objectives.numbers import byte_text

    result, title = bound(game), title_of(game)
    boards = result.boards_by_sum
    memory = dict(zip(TYPES, layers_in_memory(game, *TYPES.values()), strict=True))
    document: dict[str, Any] = result.as_dict() | {"memory": memory}
    peak = max(boards, key=lambda total: boards[total])
    rows: list[dict[str, Any]] = [
        {"": "layers", title: len(boards)},
        *({"": words, title: result.totals[name]} for name, words in COUNTED.items()),
        {"": f"largest layer, of sum {peak}", title: boards[peak]},
    ]
    for name, objective in TYPES.items():
        rows.append({"": f"layers in memory, {name}", title: byte_text(memory[name])})
        table = byte_text(objective.value_bytes * result.boards)
        rows.append({"": f"uncompressed table, {name}", title: table})
    with suppress(UsageError, ResourceError):  # unmergeable tiles, or too many groups to list
        groups = groups_of(game)
        document["groups"] = {"number": len(groups), "largest": groups.largest}
        size = f"{len(groups):,}, the largest of {groups.largest:,} boards"
        rows.append({"": "groups of equal tiles", title: size})
    show.write(
        rows, document, data=result.layers, game=game,
        draw=lambda plots, file: plots.plot_sizes(result, file),
    )  # fmt: skip
