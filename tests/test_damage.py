"""Damaged files: each kind of damage of tests/stored.py, in each file of each format.

Nothing wrong is believed, and the command that wrote the files mends them, perhaps after a file is deleted
that it names.  That every changed byte is found is tested in tests/test_second_reader.py.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from stored import DAMAGE, contents, without_positions, zipped
from tilebase import count, force, open_table, open_winning_set, prove, solve, symbolic, thin, verify_table
from tilebase.check import RefusedError, check_certificate
from tilebase.errors import CorruptError, TilebaseError, WrongGameError
from tilebase.files.run import verify_run
from tilebase.game.game import Game

GAME = Game("2x2", 16, limits="8,8/8,4")
BOARDS = ("8,4/0,2", "2,2/0,0", "4,8/2,4", "8,8/2,4")


class Format(NamedTuple):
    """How files are written: as a command leaves them that was stopped, and by the command that goes on."""

    begin: Callable[[Path], Any]
    finish: Callable[[Path], Any]


solved = partial(solve, GAME, "win,score", threads=1)
FORMATS: dict[str, Format] = {
    "table": Format(*2 * (lambda folder: solved(table=folder),)),
    "table of all boards": Format(*2 * (lambda folder: solved(table=folder, space="all"),)),
    "stopped table": Format(
        lambda folder: solved(table=folder, down_to=12), lambda folder: solved(table=folder)
    ),
    "stopped run": Format(
        lambda folder: solved(folder=folder, down_to=12), lambda folder: solved(folder=folder)
    ),
    "stopped pruned table": Format(
        lambda folder: solved(table=folder, above=0.4, down_to=12),
        lambda folder: solved(table=folder, above=0.4),
    ),
    "counts": Format(*2 * (lambda folder: count(GAME, folder=folder, keep="states", threads=1).totals,)),
    "bound": Format(*2 * (lambda folder: prove(GAME, folder=folder, threads=1).value,)),
    "bits": Format(*2 * (lambda folder: force(GAME, engine="dense", folder=folder, threads=1).forced,)),
    "search": Format(*2 * (lambda folder: force(GAME, engine="search", folder=folder, threads=1).forced,)),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, Any, dict[str, Any]]]:
    """Of a format the folder to damage, and what the command then says and leaves."""

    @cache
    def make(name: str) -> tuple[Path, Any, dict[str, Any]]:
        folder = tmp_path_factory.mktemp("made")
        FORMATS[name].begin(folder / "begun")
        shutil.copytree(folder / "begun", folder / "whole")
        return folder / "begun", FORMATS[name].finish(folder / "whole"), without_positions(folder / "whole")

    return make


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", FORMATS)
def test_the_same_command_mends_what_is_damaged(name, damage, made, tmp_path) -> None:
    """All but run.json, which says what the folder is for: a folder without it is somebody else's."""
    begun, result, expected = made(name)
    finish, folder = FORMATS[name].finish, tmp_path / "damaged"
    for file in contents(begun):
        shutil.copytree(begun, folder)
        DAMAGE[damage](folder / file)
        before = contents(folder)
        if file.endswith("run.json"):
            with pytest.raises(WrongGameError):
                finish(folder)
            assert contents(folder) == before
        else:
            try:
                found = finish(folder)
            except (CorruptError, WrongGameError) as error:
                assert (folder / file).read_bytes() == before[file]
                said = str(error)
                assert f"{folder / file} " in said
                assert "delete it" in said
                (folder / file).unlink()
                found = finish(folder)
            assert found == result
            assert without_positions(folder) == expected, file
            is_table = (folder / "manifest.json").exists()
            found = verify_table(folder, sample=0) if is_table else verify_run(folder)
            assert not found.wrong, file
        shutil.rmtree(folder)


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", ["table", "table of all boards"])
def test_damage_is_told_and_gives_no_wrong_answer(name, damage, made, tmp_path) -> None:
    """A probe does not say either that the table lacks the board."""
    whole, *_ = made(name)
    with open_table(whole) as table:
        right = {board: table.probe(board) for board in BOARDS}
    for file in contents(whole):
        folder = shutil.copytree(whole, tmp_path / "damaged")
        DAMAGE[damage](folder / file)
        try:
            wrong = verify_table(folder, sample=0).wrong
            with open_table(folder) as table:
                assert {board: table.get(board) for board in BOARDS} == right
        except TilebaseError as error:
            wrong = (str(error),)
        assert wrong or (damage == "longer" and file.endswith((".seg", ".idx"))), file
        assert all(str((folder / file).parent) in sentence for sentence in wrong)
        shutil.rmtree(folder)


def in_a_zip_file(folder: Path) -> None:
    solved(table=folder / "table")
    zipped(folder / "table", folder / "a.zip", "table/")
    shutil.rmtree(folder / "table")


def thinned(folder: Path) -> None:
    solved(table=folder / "table")
    thin(folder / "table", folder / "thin", above=0)
    shutil.rmtree(folder / "table")


def probed(path: Path) -> Any:
    with open_table(path) as table:
        return [table.probe(board) for board in BOARDS[:2]]


def verified(path: Path) -> int:
    found = verify_table(path, sample=0)
    if found.wrong:
        raise CorruptError(found.wrong[0])
    return found.layers


def probed_set(folder: Path) -> Any:
    with open_winning_set(folder) as winning:
        return [winning.probe(board) for board in BOARDS]


READ: dict[str, tuple[Callable[[Path], Any], Callable[[Path], Any]]] = {
    "winning set": (
        lambda folder: symbolic(GAME, export=folder / "set"), lambda folder: probed_set(folder / "set")
    ),
    "certificate": (
        lambda folder: force(Game("2x3", 16), certificate=folder / "a.cert"),
        lambda folder: check_certificate(folder / "a.cert"),
    ),
    "zip file": (in_a_zip_file, lambda folder: probed(folder / "a.zip")),
    "thinned table": (thinned, lambda folder: verified(folder / "thin")),
}  # fmt: skip


@pytest.fixture(scope="module")
def read_from(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder that each entry of `READ` makes, once: whoever damages a file writes it back."""

    @cache
    def make(name: str) -> Path:
        folder = tmp_path_factory.mktemp("read")
        READ[name][0](folder)
        return folder

    return make


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", READ)
def test_what_is_damaged_is_refused_or_read_as_it_was(name: str, damage: str, read_from: Any) -> None:
    folder, (_, read) = read_from(name), READ[name]
    right, refused = read(folder), 0
    for file, data in contents(folder).items():
        DAMAGE[damage](folder / file)
        try:
            assert read(folder) == right, file
        except (TilebaseError, RefusedError, FileNotFoundError):
            refused += 1
        finally:
            (folder / file).write_bytes(data)
    assert refused or damage == "longer" or name == "zip file"
