"""``tilebase probe``: the value of a position and of its slides, from a table."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from cyclopts import Parameter

from tilebase.cli.library import is_board_alone, offer, open_library
from tilebase.cli.options import ShownOptions
from tilebase.cli.output import how_certain
from tilebase.errors import MissingBoardError, MissingLayerError, UsageError, sentence
from tilebase.game.game import NOTHING, Game
from tilebase.game.names import title_of
from tilebase.objectives.numbers import byte_text
from tilebase.objectives.values import value_document
from tilebase.pictures import DRAWINGS
from tilebase.runtime.storage import folder_bytes

if TYPE_CHECKING:
    from tilebase.tables.answers import Answer
    from tilebase.tables.folders import FolderAnswer, TableFolder
    from tilebase.tables.solved import Solved

TableArgument = Annotated[str, Parameter(help="Folder, zip file or URL of a table.")]
LocalTableArgument = Annotated[str, Parameter(help="Folder of a table on this machine.")]
LabelOption = Annotated[
    str | None, Parameter(help="Objective of the table; default: the first, or the interval.")
]


def check_order(command: str, table: str, other: str) -> None:
    """Raise `UsageError` if a table stands behind what the command takes as the second argument."""
    if _holds_values(other) and not _holds_values(table):
        raise UsageError(f"the table comes first: tilebase {shlex.join([command, other, table])}")


def _holds_values(name: str) -> bool:
    """Return whether a name is that of a folder or zip file with a table, or of a folder of tables."""
    from tilebase.files import places
    from tilebase.files.source import local_path, mode_of
    from tilebase.tables.folders import holds_tables

    path = local_path(name)
    if path is None or path.suffix == ".zip":
        return True
    try:
        return bool(mode_of(path / places.TABLE)) or holds_tables(name)
    except OSError:  # a board may be too long for the name of a file
        return False


def game_of_table(table: str) -> Game:
    """Return the game of a table, as its manifest says.  Raises the errors of `open_table`."""
    from tilebase.tables.probe import open_table

    with open_table(table) as opened:
        return opened.game


def probe(
    table: Annotated[
        str,
        Parameter(
            help="Folder, zip file or URL of a table or a winning set, a certificate, or a folder of "
            "tables. Default: your library."
        ),
    ],
    board: Annotated[
        str | None,
        Parameter(
            help="Tiles by rows (2,4/0,8), a key (0x...), hexadecimal digits of exponents, or JSON. "
            "Default: the value of the start."
        ),
    ] = None,
    *,
    after: Annotated[bool, Parameter(help="The board is one after a slide, before the spawn.")] = False,
    objective: LabelOption = None,
    shown: ShownOptions = ShownOptions(),
) -> int:
    """Look a board up in a table: its value, and the best slide.

    For a formation, type the board that you play: probe finds the large tiles, in any rotation or reflection.
    In a folder of tables, every table that fits answers. Without a table, those of your library answer; if
    none fits, probe lists tables that would, with time, disk and command. For a winning set that tilebase
    force diagrams -o wrote, prints whether one side wins, and after which slides. --record board.svg draws
    the board with the values of its slides.

    tilebase probe 3x3-512/ "2,0,0/4,8,2/16,32,64"

    tilebase probe "2,0,0/4,8,2/16,32,64"

    tilebase probe 442-512/ "0,2,4,0/0,8,16,2/2,4,512,1024/1024,2048,4096,8192"
    """
    show = shown.checked(DRAWINGS)
    if board is None and is_board_alone(table):
        if after:
            raise UsageError("--after asks one table: name it before the board")
        try:
            with open_library() as tables:
                said = _ask_folder(tables, table, objective)
        except (MissingBoardError, MissingLayerError) as error:
            offer(table, replace(show, record=None), sentence(error))
            return 1
    else:
        if board is not None:
            check_order("probe", table, board)
        said = _ask(table, board, objective, after=after)
    show.write(said.rows, said.document, text=said.text, game=None, draw=said.draw)
    return 0


class _Said(NamedTuple):
    """What is said of a board or of the start: as data, as text, and as rows: one for each slide.

    A picture is that of `answer`, of several tables the first; without a board there is none.
    """

    document: Callable[[], dict[str, Any]]
    text: str
    rows: list[dict[str, Any]]
    answer: Answer | None = None

    def draw(self, _plots: Any, file: Path) -> None:
        """Draw the board and its slides."""
        from tilebase.pictures.drawing import write_svg

        if self.answer is None:
            raise UsageError(f"{file} would show a board: name one behind the table")
        write_svg(self.answer.svg(), file)


def _ask(table: str, board: str | None, objective: str | None, *, after: bool) -> _Said:
    """Return what is said of a board, after a slide or before it, or of the start."""
    from tilebase.tables.folders import holds_tables, open_tables
    from tilebase.tables.probe import open_solved

    if after and board is None:
        raise UsageError("--after needs the board after a slide")
    if holds_tables(table):
        if after:
            raise UsageError(
                f"--after asks one table, and {table} holds tables in subfolders: name one of them"
            )
        with open_tables(table) as tables:
            return _ask_folder(tables, board, objective)
    with open_solved(table) as opened:
        if board is None:
            return _ask_start(opened, objective)
        answer = (opened.probe_after if after else opened.probe)(board, objective)
    document = answer.as_dict if after else partial(answer.as_dict, spawns=True)
    return _Said(document, describe(answer), _rows(answer), answer)


def _ask_start(opened: Solved, objective: str | None) -> _Said:
    """Return the value of the start."""
    value = opened.start_value(objective)
    text = f"start of {title_of(opened.game)}: {opened.meaning(objective)}: {value}\n"
    row = {"board": "start", "meaning": opened.meaning(objective), "value": str(value)}
    return _Said(partial(value_document, value, opened.unit(objective)), text, [row])


def _ask_folder(tables: TableFolder, board: str | None, objective: str | None) -> _Said:
    """Return what a folder of tables says; its tables and their starts without a board."""
    if board is not None:
        answer = tables.probe(board, objective)
        _name_unreadable(answer.unreadable)
        rows = [{"table": name} | row for name, one in answer.answers.items() for row in _rows(one)]
        first = next(iter(answer.answers.values()))
        return _Said(partial(answer.as_dict, spawns=True), _describe_folder(answer), rows, first)
    _name_unreadable(tables.unreadable)
    asked = tables.tables if objective is None else tables.with_objective(objective)
    found = {name: _ask_start(one, objective) for name, one in asked.items()}
    sizes = {name: folder_bytes(tables.path / name) for name in asked}
    text = "".join(f"{name}, {byte_text(sizes[name])}: {one.text}" for name, one in found.items())
    rows = [{"table": name} | row | {"bytes": sizes[name]} for name, one in found.items() for row in one.rows]
    return _Said(lambda: {name: one.document() for name, one in found.items()}, text, rows)


def _rows(answer: Answer) -> list[dict[str, Any]]:
    """Return a row for the board, and one for each slide."""
    board = answer.board.text
    values = {"": answer.value} | {one.direction: one.value for one in answer.slides}
    return [
        {"board": board, "slide": slide, "value": str(value), "best": "*" if slide in answer.best else ""}
        for slide, value in values.items()
    ]


def _name_unreadable(unreadable: dict[str, str]) -> None:
    for name, why in unreadable.items():
        print(f"{name} was left out: {why}", file=sys.stderr)


def describe(answer: Answer) -> str:
    """Return the result as text: the board, its value, and the slides."""
    return f"{answer.board.unicode()}\n{_describe_values(answer)}"


def _describe_folder(found: FolderAnswer) -> str:
    """Return the results of several tables as text: the board once, then each table by its name and game."""
    answers = found.answers
    parts = [f"{next(iter(answers.values())).board.unicode()}\n"]
    parts += [f"{name}: {title_of(one.board.game)}\n{_describe_values(one)}" for name, one in answers.items()]
    if found.others:
        many = "1 other table does" if len(found.others) == 1 else f"{len(found.others)} other tables do"
        parts.append(f"{many} not fit: {', '.join(found.others)}\n")
    return "".join(parts)


def _describe_values(answer: Answer) -> str:
    """Return the value of a board, and its slides; also why a slide that would move tiles is not allowed."""
    lines = [answer.how] if answer.how else []
    lines += [f"do not trust these values: {answer.doubt}"] if answer.doubt else []
    lines.append(f"{answer.meaning}: {answer.value}")
    if not (answer.slides or answer.after):
        lines.append("no slide is allowed: the game is over")
    refused = {direction: why for direction, why in answer.refused.items() if why != NOTHING}
    width = max(map(len, [*(slide.direction for slide in answer.slides), *refused]), default=0)
    for slide in answer.slides:
        mark = "*" if slide.direction in answer.best else " "
        note = "wins" if slide.wins else f"then {len(slide.spawns())} possible spawns"
        lines.append(f"{mark} {slide.direction:{width}}  {slide.value}  {note}")
    lines += [f"  {direction:{width}}  {why}" for direction, why in refused.items()]
    lines += [note for note in answer.notes if note != answer.doubt]
    values = [answer.value, *(slide.value for slide in answer.slides)]
    return "\n".join(lines) + "\n" + how_certain(values, "solve --objective guaranteed into the table")
