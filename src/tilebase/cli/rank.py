"""``tilebase rank``: the number of boards of each sum, and the rank of a board among them."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, Any

from cyclopts import Parameter

from tilebase.cli.options import (
    DEFAULT_GAME,
    DEFAULT_SHOWN,
    GameOptions,
    GoalArgument,
    ShapeOrGoal,
    ShownOptions,
    make_game,
)
from tilebase.cli.output import Shown
from tilebase.errors import ResourceError, UsageError
from tilebase.game.game import Game
from tilebase.game.names import title_of
from tilebase.objectives.objective import Objective
from tilebase.runtime.rows import table_text

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
    game: GameOptions = DEFAULT_GAME,
    board: Annotated[str | None, Parameter(help="Print the sum and the rank of this board.")] = None,
    total: Annotated[
        int | None, Parameter(name="--sum", help="With --rank: print the board of this sum and rank.")
    ] = None,
    number: Annotated[
        int | None, Parameter(name="--rank", help="The rank among the boards of that sum, from 0 on.")
    ] = None,
    by: Annotated[
        str | None, Parameter(help="Rows by sum; a record in CSV or Parquet has them always.")
    ] = None,
    shown: ShownOptions = DEFAULT_SHOWN,
) -> int:
    """Count all boards within limits, or rank one.

    With a board its rank, with a rank its board. Without a board or a rank: how many boards there are, and
    the memory that layers of them take. A pass over all of them has three layers in memory, and the one it
    makes; Boolean values are bits where this saves memory. Tables and the program come to these. Nothing is
    solved: tilebase plan says what a pass takes in all, and how long.

    tilebase rank 4x4 256 --by sum

    tilebase rank 2x2 32 --board 2,4/8,16

    tilebase rank 2x2 32 --sum 30 --rank 17
    """
    question = make_game(shape, goal, game)
    if by not in (None, "sum"):
        raise UsageError(f"--by {by}: rows can be by sum")
    if (total is None) != (number is None) or (board is not None and number is not None):
        raise UsageError("give --board, or --sum and --rank together, or none of them")
    show = shown.checked()
    if board is None and total is None:
        _write_sizes(question, show, by=by is not None)
        return 0
    from tilebase.dense.index import PerfectIndex
    from tilebase.game.board import Board

    index = PerfectIndex(question)
    if total is not None and number is not None:
        found = question.format(index.unrank(total, number))
        row = {"board": found, "sum": total, "rank": number}
        text = found
    else:
        cells = Board.read(question, str(board)).cells
        row = {"board": question.format(cells), "sum": question.sum(cells), "rank": index.rank(cells)}
        text = f"sum {row['sum']}, rank {row['rank']:,}"
    show.write([row], row, text=f"{text}\n", game=question)
    return 0


def _write_sizes(game: Game, show: Shown, *, by: bool) -> None:
    """Write how many boards there are, in all or by sum, and the memory that layers of them take."""
    from tilebase.costs.machines import layers_in_memory
    from tilebase.counting.combinatorics import boards_by_sum
    from tilebase.counting.tiles import groups_of

    boards = boards_by_sum(game)
    memory = dict(zip(TYPES, layers_in_memory(game, *TYPES.values()), strict=True))
    document = {
        "game": game.identity,
        "layers": {str(s): size for s, size in boards.items()},
        "boards": sum(boards.values()),
        "memory": memory,
    }
    groups = None
    with suppress(UsageError, ResourceError):  # unmergeable tiles, or too many groups to list
        groups = groups_of(game)
        document["groups"] = {"number": len(groups), "largest": groups.largest}
    data = [{"sum": s, "boards": size} for s, size in boards.items()]
    if by:
        line = f"{_layers_line(boards, memory)}\n"
        show.write(data, document, text=table_text(data) + line, totals=line, game=game)
    else:
        rows = _totals(title_of(game), boards, memory)
        if groups is not None:
            size = f"{len(groups):,}, the largest of {groups.largest:,} boards"
            rows.append({"": "groups of equal tiles", title_of(game): size})
        show.write(rows, document, data=data, game=game)


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
        rows.append({"": f"uncompressed table, {name}", title: table})
    return rows


def _layers_line(boards: dict[int, int], memory: dict[str, int]) -> str:
    from tilebase.objectives.numbers import byte_text

    parts = [f"{byte_text(size)} for {name}" for name, size in memory.items()]
    return f"all {sum(boards.values()):,}; layers in memory: {', '.join(parts)}"
