"""``tilebase index``: how many boards there are, and what solving all of them takes."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from tilebase.cli.options import (
    DEFAULT_GAME,
    FormatOption,
    GameOptions,
    GoalArgument,
    OutputOption,
    ShapeArgument,
    make_game,
)
from tilebase.cli.output import choose_format, write_rows

TYPES = {"bit": 0.125, "uint16, float16": 2, "uint32, float32": 4, "uint64, float64": 8}
"""Bytes of a value, as they are stored; a bit takes a byte in memory."""


def index(
    shape: ShapeArgument,
    goal: GoalArgument = None,
    *,
    game: GameOptions = DEFAULT_GAME,
    layers: Annotated[bool, Parameter(negative=(), help="A row for each sum.")] = False,
    board: Annotated[str | None, Parameter(help="A board whose rank to print.")] = None,
    rank: Annotated[str | None, Parameter(help="SUM:RANK, whose board to print.")] = None,
    form: FormatOption = None,
    output: OutputOption = None,
) -> int:
    """Print how many boards lie within the limits, by sum, and the memory that layers of them take.

    A run has three layers in memory, and the one it makes; tables and the program come to these. Nothing is
    solved: tilebase bound --plan says what a run takes in all, and how long.

    tilebase index 4x4 256 --layers

    tilebase index 2x2 32 --board 2,4/8,16
    """
    from tilebase.counting.combinatorics import boards_by_sum, layers_together
    from tilebase.dense.index import PerfectIndex
    from tilebase.errors import UsageError
    from tilebase.objectives.values import byte_text

    question = make_game(shape, goal, game)
    chosen = choose_format(form, output)
    if board is not None or rank is not None:
        if form is not None or output is not None or layers:
            raise UsageError("--board and --rank print a line: leave out layers, format and output")
        from tilebase.game.board import Board

        ranks = PerfectIndex(question)
        if board is not None:
            cells = Board.read(question, board).cells
            print(f"sum {question.sum(cells)}, rank {ranks.rank(cells):,}")
        if rank is not None:
            total, _, place = rank.partition(":")
            place = place.replace(",", "")  # as ranks are printed
            if not (total.isdecimal() and place.isdecimal()):
                raise UsageError(f"--rank {rank} is not a sum and a rank: write SUM:RANK, as 30:17")
            print(question.format(ranks.unrank(int(total), int(place))))
        return 0
    movable = question.unmergeable and not question.fixed
    sizes = PerfectIndex(question).sizes() if movable else boards_by_sum(question)
    most = max(layers_together(sizes).values())
    rows: list[dict[str, Any]]
    if layers:
        rows = [{"sum": s, "boards": size} for s, size in sizes.items()]
    else:
        peak = max(sizes, key=lambda s: sizes[s])
        rows = [
            {"": "layers", str(question): len(sizes)},
            {"": "boards", str(question): sum(sizes.values())},
            {"": f"largest layer, of sum {peak}", str(question): sizes[peak]},
        ]
        for name, size in TYPES.items():
            rows.append({"": f"layers in memory, {name}", str(question): byte_text(max(size, 1) * most)})
            rows.append(
                {"": f"table of {name}, not compressed", str(question): byte_text(size * sum(sizes.values()))}
            )
    document = {
        "game": question.identity,
        "layers": {str(s): size for s, size in sizes.items()},
        "boards": sum(sizes.values()),
        "memory": {name: int(max(size, 1) * most) for name, size in TYPES.items()},
    }
    if layers and chosen == "table":
        write_rows(rows, document, chosen, output)
        if output is None:
            print(
                f"all {sum(sizes.values()):,}; layers in memory: "
                + ", ".join(f"{byte_text(max(size, 1) * most)} for {name}" for name, size in TYPES.items())
            )
        return 0
    write_rows(rows, document, chosen, output)
    return 0
