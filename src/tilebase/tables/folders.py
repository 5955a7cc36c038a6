"""Folders of tables: which of them fit a board, and what each says of it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilebase.errors import (
    BoardError,
    CorruptError,
    MissingBoardError,
    MissingLayerError,
    MissingObjectiveError,
    StorageError,
    TilebaseError,
    UsageError,
    check_first,
)
from tilebase.files import places
from tilebase.files.source import Closing
from tilebase.game.formations import goal_of
from tilebase.objectives.objective import find_objective
from tilebase.tables.answers import Answer
from tilebase.tables.large_tiles import OVER, SHAPE, TILE
from tilebase.tables.probe import Table, open_table

MOST_DEPTH = 3
"""How deep below the folder tables may be."""
MOST_FOLDERS = 10_000
"""Most folders that are looked through."""
MISSING = OVER + 1
"""The stage of a board that fits a table which does not hold it; see `large_tiles.NoReadingError`."""


@dataclass(frozen=True)
class FolderAnswer:
    """The result of probing a folder of tables.

    Attributes
    ----------
    answers:
        ``answers[name]``: what a table says that fits, by the path of its folder in the folder of tables.
        In the order of `best_first`.
    others:
        ``others[name]``: why another table does not fit, in one sentence.
    unreadable:
        ``unreadable[name]``: why a table could not be read.
    """

    answers: Mapping[str, Answer]
    others: dict[str, str]
    unreadable: dict[str, str]

    def __repr__(self) -> str:
        return f"<FolderAnswer of {', '.join(self.answers)}; {len(self.others)} others do not fit>"

    def as_dict(self, *, spawns: bool = False) -> dict[str, Any]:
        """As plain JSON values: see `Answer.as_dict`."""
        return {
            "answers": [
                {"table": name, "game": answer.board.game.identity} | answer.as_dict(spawns=spawns)
                for name, answer in self.answers.items()
            ],
            "others": dict(self.others),
            "unreadable": dict(self.unreadable),
        }


class TableFolder(Closing):
    """The tables in the subfolders of a folder.  `open_tables` makes it.

    Attributes
    ----------
    path:
        The folder.
    tables:
        ``tables[name]``: the table in a subfolder, by its path in the folder.
    unreadable:
        ``unreadable[name]``: why a subfolder could not be read, in one sentence.
    """

    def __init__(self, path: Path, tables: dict[str, Table], unreadable: dict[str, str]) -> None:
        self.path, self.tables, self.unreadable = path, tables, unreadable

    def __repr__(self) -> str:
        return f"<TableFolder {self.path}: {', '.join(self.tables)}>"

    def close(self) -> None:
        """Release files and memory."""
        for table in self.tables.values():
            table.close()

    def with_objective(self, objective: str) -> dict[str, Table]:
        """Return the tables with values of an objective, by name.  Raises `MissingObjectiveError`."""
        found = {
            name: table
            for name, table in self.tables.items()
            if find_objective(table.objectives, objective) is not None
        }
        if not found:
            raise MissingObjectiveError(f"no table in {self.path} has values of {objective}: leave it out")
        return found

    def probe(self, board: Any, objective: str | None = None) -> FolderAnswer:
        """Return what each table that fits says of a board.

        Parameters
        ----------
        board:
            As for `Table.probe`.
        objective:
            As for `Table.probe`.  A table without this objective does not fit.

        Raises
        ------
        MissingBoardError
            If no table fits, or this is no board: the sentence says why the nearest does not.
        MissingObjectiveError
            If no table has values of the objective.
        """
        if objective is not None:
            self.with_objective(objective)
        answers: dict[str, Answer] = {}
        others: dict[str, tuple[int, str]] = {}
        unreadable = dict(self.unreadable)
        for name, table in self.tables.items():
            try:
                answers[name] = table.probe(board, objective)
            except (CorruptError, StorageError, MissingLayerError) as error:
                unreadable[name] = str(error)
            except (UsageError, MissingBoardError) as error:
                others[name] = (_stage(table, error), str(error))
        if not answers:
            raise self._none(others, unreadable)
        why = {name: why for name, (_, why) in others.items()}
        return FolderAnswer(best_first(answers), why, unreadable)

    def _none(self, others: dict[str, tuple[int, str]], unreadable: dict[str, str]) -> TilebaseError:
        """Return the error for a board that fits no table."""
        if not others:
            name, why = next(iter(unreadable.items()))
            return MissingBoardError(f"no table in {self.path} can be read: {name}: {why}")
        name, (_, why) = max(others.items(), key=lambda item: item[1][0])
        count = f"the only table in {self.path}" if len(others) == 1 else f"any of the {len(others)} tables"
        where = "" if len(others) == 1 else f" in {self.path}; the nearest is"
        return MissingBoardError(f"the board does not fit {count}{where} {name}: {why}")


def best_first(answers: Mapping[str, Answer]) -> dict[str, Answer]:
    """Return answers with the same meaning as neighbours, those for the largest goal first.

    To make a smaller tile is likelier, so values for different goals cannot be compared.  For one goal the
    best value is first.  Chances that are lost, and then answers that judge no slide (`Answer.unjudged`), are
    the last.
    """
    meanings = list(dict.fromkeys(one.meaning for one in answers.values()))

    def place(item: tuple[str, Answer]) -> tuple[Any, ...]:
        one = item[1]
        goal, _ = goal_of(one.board.game)
        lost = one.unit == "probability" and one.rank == -one.cost
        return meanings.index(one.meaning), bool(one.unjudged), lost, -(goal or 0), -one.rank

    return dict(sorted(answers.items(), key=place))


def _stage(table: Table, error: TilebaseError) -> int:
    """Return how near a board came to a table; the nearest has the largest number."""
    if isinstance(error, MissingBoardError):
        return MISSING
    if not isinstance(error, BoardError):
        return SHAPE - 1  # the table has no such objective
    return getattr(error, "stage", SHAPE if "cell" in str(error) and not table.game.unmergeable else TILE)


def open_tables(path: Path | str) -> TableFolder:
    """Open all tables in the subfolders of a folder on this machine, up to three levels deep.

    A subfolder that cannot be read is not an error: `TableFolder.unreadable` names it.

    Raises
    ------
    MissingLayerError
        If there is no such folder, or no table in it.
    UsageError
        If it has more than 10,000 subfolders.

    >>> open_tables("nowhere")
    Traceback (most recent call last):
        ...
    tilebase.errors.MissingLayerError: nowhere is not a folder: name one that holds tables in subfolders
    """
    check_first(path, (str, Path), "the name of a folder")
    folder = Path(path)
    if not folder.is_dir():
        raise MissingLayerError(f"{folder} is not a folder: name one that holds tables in subfolders")
    tables: dict[str, Table] = {}
    unreadable: dict[str, str] = {}
    for subfolder, problem in subfolders(folder):
        name = subfolder.relative_to(folder).as_posix()
        if problem:
            unreadable[name] = problem
            continue
        try:
            tables[name] = open_table(subfolder)
        except TilebaseError as error:
            unreadable[name] = str(error)
    if not tables and not unreadable:
        raise MissingLayerError(f"{folder} holds no table: make one with tilebase solve ... -o {folder}/NAME")
    return TableFolder(folder, tables, unreadable)


def holds_tables(location: Path | str) -> bool:
    """Return whether a location is a folder, holds no table itself, and has one in a subfolder."""
    path = Path(location)
    tables = (not problem for _, problem in subfolders(path))
    return path.is_dir() and not (path / places.TABLE).exists() and any(tables)


def subfolders(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield the subfolders with a manifest, and an empty text; or one that cannot be read, and why.

    They are up to three levels deep, and in alphabetical order on each.
    """
    waiting, seen = [(folder, 0)], 0
    while waiting:
        subfolder, depth = waiting.pop(0)
        seen += 1
        if seen > MOST_FOLDERS:
            raise UsageError(f"{folder} has more than {MOST_FOLDERS:,} subfolders: name a smaller one")
        try:
            names = sorted(entry.name for entry in os.scandir(subfolder) if entry.is_dir())
        except OSError as error:
            yield subfolder, f"cannot read {subfolder}: {error.strerror or error}"
            continue
        if depth and (subfolder / places.TABLE).exists():
            yield subfolder, ""
        elif depth < MOST_DEPTH:
            waiting += [(subfolder / name, depth + 1) for name in names]
