"""``tilebase probe``: the value of a position and of its slides, from a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tilebase.cli.output import write_document, write_text
from tilebase.errors import UsageError

if TYPE_CHECKING:
    from tilebase.objectives.values import Value
    from tilebase.tables.probe import Answer
    from tilebase.tables.winning import Unknown, WinningAnswer, WinningSet

TableArgument = Annotated[str, Parameter(help="Folder, zip file or URL of a table.")]
LocalTableArgument = Annotated[str, Parameter(help="Folder of a table on this machine.")]
LabelOption = Annotated[
    str | None,
    Parameter(help="Which of the table's objectives; left out: the first, or the interval."),
]


def probe(
    table: Annotated[str, Parameter(help="Folder, zip file or URL of a table or a winning set.")],
    board: Annotated[
        str | None,
        Parameter(
            help="Tiles by rows (2,4/0,8), a key (0x...), hexadecimal digits of exponents, or JSON. "
            "Left out: the value of the start."
        ),
    ] = None,
    *,
    objective: LabelOption = None,
    form: Annotated[str, Parameter(name=["--format", "-f"], help="table or json.")] = "table",
) -> int:
    """Look a position up in a table: its value, the value of every slide, and the best ones.

    In a winning set that tilebase symbolic wrote: whether one side wins, and after which slides.

    tilebase probe 3x3-512/ "2,0,0/4,8,2/16,32,64"
    """
    from tilebase.tables.winning import WinningSet, open_solved

    if form not in ("table", "json"):
        raise UsageError(f"format {form!r} does not exist: choose one of table, json")
    with open_solved(table) as opened:
        found: Value | Unknown | Answer | WinningAnswer
        if isinstance(opened, WinningSet):
            found, text = _look_up(opened, board, objective)
        elif board is None:
            found = opened.value if objective is None else opened.start[objective]
            text = f"start of {opened.game}: {found}\n"
        else:
            answer = opened.probe(board, objective)
            found, text = answer, describe(answer)
    if form == "json":
        write_document(found.as_dict(), None)
    else:
        write_text(text, None)
    return 0


def _look_up(
    winning: WinningSet, board: str | None, objective: str | None
) -> tuple[Value | Unknown | WinningAnswer, str]:
    """What a winning set says of a board or the start, also as text."""
    if objective is not None:
        raise UsageError(
            f"{winning.location.name} is a winning set and has no objectives: leave {objective} out"
        )
    if board is None:
        return winning.value, f"start of {winning.game}: {winning.manifest.meaning}: {winning.value}\n"
    answer = winning.probe(board)
    return answer, describe(answer)


def describe(answer: Answer | WinningAnswer) -> str:
    """The result as text."""
    lines = [answer.board.unicode(), f"{answer.meaning}: {answer.value}"]
    if not answer.slides:
        lines.append("no slide is allowed: the game is over")
    width = max((len(slide.direction) for slide in answer.slides), default=0)
    for slide in answer.slides:
        mark = "*" if slide.direction in answer.best else " "
        note = "wins" if slide.wins else f"then {len(slide.spawns())} spawns"
        lines.append(f"{mark} {slide.direction:{width}}  {slide.value}  {note}")
    return "\n".join(lines) + "\n"
