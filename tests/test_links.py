"""Links that somebody has put where a command writes: what they lead to stays as it was.

Python reports all that a command opens or makes (`sys.addaudithook`).  The command runs again for each of
these names, with a link there before it begins.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import tilebase
from tilebase.cli import main
from tilebase.errors import StorageError
from tilebase.game.game import Game
from tilebase.runtime.storage import open_own

FILES = {
    "csv": "count 2x2 8 -q --record NAME.csv",
    "diagrams": "force diagrams 2x2 8 -q --record NAME.csv",
    "json": "solve 2x2 8 -q --record NAME.json",
    "parquet": "rank 2x2 8 --record NAME.parquet",
    "text": "export graph 2x2 8 -o NAME.dot",
    "picture": "count 2x2 8 -q --record NAME.svg",
    "replay": "reach replay 2x2 R --deterministic --record NAME.svg -f csv",
    "position": "probe ../table 2,2/0,0 --record NAME.svg -f csv",
    "certificate": "force 2x2 8 -q -c NAME.cert",
    "record": "solve 2x2 8 --objective lower -q --record NAME.json",
    "keys": "export boards ../table --sum 8 -o NAME.parquet",
    "review": "review ../table ../game.txt --record NAME.csv",
}
FOLDERS = {
    "counts": "count 2x2 16 -q -o NAME --keep states",
    "process": "export mdp 2x2 8 -o NAME",
    "bound": "solve 2x2 16 --objective lower -q --work NAME",
    "decided": "force 2x2 8 -q --work NAME",
    "thin": "thin ../table -o NAME --visited 0.01 -q",
    "table": "solve 2x2 16 -q -o NAME --objective win,moves",
    "pruned": "solve 2x2 16 -q -o NAME --above 0.1",
    "page": "export page ../table -o NAME",
}


@pytest.fixture
def place(folder: Path, solved: Callable[..., Path]) -> Path:
    """The current folder, in which commands write, with a table beside it."""
    shutil.copytree(solved(Game("2x2", 16), "win,moves"), folder / "table")
    (folder / "game.txt").write_text("2,2/0,0\n4,2/0,0\n")
    (folder / "place").mkdir()
    os.chdir(folder / "place")
    return folder / "place"


class Watch:
    """What is opened for writing or made as a folder; at number `at`, the current folder is copied."""

    paths: list[str] | None = None
    at = 0


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
    if Watch.paths is None or not (writes or event == "os.mkdir") or isinstance(arguments[0], int):
        return
    path = os.path.relpath(os.fsdecode(arguments[0]))
    if path.split("/")[0] not in (".", ".."):
        paths, Watch.paths = Watch.paths, None
        paths.append(path)
        if len(paths) == Watch.at:
            shutil.copytree(".", "../begun")
        Watch.paths = paths


sys.addaudithook(_watch)


def watched(arguments: list[str], at: int = 0) -> list[str]:
    Watch.paths, Watch.at = [], at
    try:
        assert main(arguments) == 0
        return Watch.paths
    finally:
        Watch.paths = None


def attack(place: Path, arguments: list[str]) -> list[str]:
    """Run a command with a link at each name that it opens; return these names.

    The folder holds what the same command has left that was killed.  Of the names in a folder with the same
    suffix one is taken.
    """
    count = len(watched(arguments))
    _empty(place)
    paths = watched(arguments, count * 2 // 3 or 1)
    names = {(Path(path).parent, *path.split(".")[-2:]): path for path in paths}.values()
    lay_links(place, arguments, names)
    return list(names)


def lay_links(place: Path, arguments: list[str], names: Iterable[str]) -> None:
    """Run a command with a link at each of these names, in a copy of the folder ``begun``."""
    begun, victim = place.parent / "begun", place.parent / "victim"
    for name, kind in product(names, ("file", "second name", "folder")):
        for path in (place, victim):
            _empty(path)
        shutil.copytree(begun, place, dirs_exist_ok=True)
        (victim / "below").mkdir()
        file = victim / "below" / "file"
        file.write_text("mine")
        link = place / name
        if not link.parent.is_dir():
            continue  # the command makes this folder, after a look at its name
        _remove(link)
        os.link(file, link) if kind == "second name" else link.symlink_to(file if kind == "file" else victim)
        assert main(arguments) in (0, 1), (name, kind)
        assert sorted(victim.rglob("*")) == [victim / "below", file], (name, kind)
        assert file.read_text() == "mine", (name, kind)


def _empty(path: Path) -> None:
    path.mkdir(exist_ok=True)
    for entry in path.iterdir():
        _remove(entry)


def _remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)


@pytest.mark.parametrize("command", FILES.values(), ids=FILES)
def test_files(command: str, place: Path) -> None:
    assert attack(place, command.replace("NAME", "out").split())[0].startswith(".out.")


@pytest.mark.parametrize("command", FOLDERS.values(), ids=FOLDERS)
def test_folders(command: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert attack(place, command.replace("NAME", "out").split())
    assert "Traceback" not in capsys.readouterr().err


def test_the_folder_of_a_winning_set(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A worker writes it, which no hook of this process sees: these are the names that it opens or makes."""
    command = ["force", "diagrams", "2x2", "8", "-q", "-o", "out"]
    assert main(command) == 0
    shutil.copytree(".", "../begun")
    files = sorted(path.name for path in Path("out").iterdir())
    assert files == ["manifest.json", "winning.dddmp"]
    lay_links(place, command, ["out", *(f"out/.{name}.part" for name in files)])
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("mode", ["wb", "w+b", "ab", "r+b"])
def test_what_is_no_file_of_its_own_is_neither_opened_nor_changed(mode: str, tmp_path: Path) -> None:
    mine, link, other, pipe = (tmp_path / name for name in ("mine", "link", "other", "pipe"))
    mine.write_text("mine")
    link.symlink_to(mine)
    os.link(mine, other)
    os.mkfifo(pipe)
    for path in (link, other, pipe, tmp_path):
        with pytest.raises(StorageError, match="is a link to something else, or no file: delete it"):
            open_own(path, mode)
    link.unlink()
    link.symlink_to(tmp_path / "new")
    with pytest.raises(StorageError, match="is a link"):
        open_own(link, mode)
    assert mine.read_text() == "mine"
    assert not (tmp_path / "new").exists()


def test_only_what_refuses_links_opens_files_for_writing() -> None:
    """Everything else asks `runtime.storage`."""
    source = Path(tilebase.__file__).parent
    found = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and _writes(node)
    }
    goes_on = "cli/log.py"  # a log may be a device, and is never replaced
    assert found == {"runtime/storage.py", goes_on}


def _writes(call: ast.Call) -> bool:
    """Whether a call opens a file for writing, or writes one by its name."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    constants = [
        one.value for one in (*call.args, *(k.value for k in call.keywords)) if isinstance(one, ast.Constant)
    ]
    modes = [one for one in constants if isinstance(one, str) and re.fullmatch("[rwax]b?[+]?b?", one)]
    return name in ("write_bytes", "tofile") or (
        name == "open" and any(set(mode) & set("wax+") for mode in modes)
    )
