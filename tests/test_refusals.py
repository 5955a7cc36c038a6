"""What the command line refuses: each command of ``refusals.tsv`` prints one sentence and writes nothing.

In the folder are tables ``t`` and ``big``, an ``unfinished`` one, one of ``all`` boards, a ``run`` of counts,
a winning ``set``, a ``link`` to ``t``, an exported ``page``, an ``agent``, and ``full`` and ``site`` of
others.  A sentence may be given in parts, with `` ... `` between them.
"""

from __future__ import annotations

import csv
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from stored import contents
from tilebase import Game, count, solve, symbolic

with Path(__file__).with_name("refusals.tsv").open(encoding="utf-8") as file:
    ROWS = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


BIG = Game("3x3", 32, masks=".../..x/.xx", start="after 2,0,0/0,0,x/2,x,x|0,0,0/0,2,x/2,x,x", horizon=60)
FILES = {
    "full/letter.txt": b"mine",
    "page/index.html": b'<!-- "format": "tilebase policy" -->',
    "site/index.html": b"mine",
    "bytes": b"\xff\xfe\x00",
    "empty": b"\n",
    "game.txt": b"2,2/0,0",
    "broken.py": b"def first(board:\n",
    "agent.py": b"def first(board):\n    return next(iter(board.slides()))\n",
}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    solve(Game("2x2", 32), "win,lower,upper,score", table=folder / "t", threads=1)
    solve(Game("2x2", 32), table=folder / "unfinished", down_to=20, threads=1)
    solve(BIG, table=folder / "big", threads=1)
    solve(Game("2x2", 16), table=folder / "all", space="all", threads=1)
    count(Game("2x2", 16), folder=folder / "run", keep="afterstates", threads=1)
    symbolic(Game("2x2", 16), export=folder / "set")
    (folder / "link").symlink_to("t")
    for name in ("full", "site", "page/pictures"):
        (folder / name).mkdir(parents=True)
    for name, data in FILES.items():
        (folder / name).write_bytes(data)
    return folder


@pytest.mark.parametrize("row", ROWS, ids=[row["command"] for row in ROWS])
def test_a_refusal_is_one_sentence_and_nothing_is_written(row, tables, folder, refused, monkeypatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # of agents
    shutil.copytree(tables, folder, symlinks=True, dirs_exist_ok=True)
    words = [word.replace(r"\n", "\n") for word in shlex.split(row["command"])]
    refused(words, int(row["status"]), *row["sentence"].split(" ... "))
    assert contents(folder) == contents(tables)
    assert names(folder) == names(tables)


def names(folder: Path) -> set[str]:
    """All files and folders, also empty ones, but the folder of runs without a name."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")} - {"runs"}


def test_a_tile_of_many_digits_is_cut(refused: Callable[..., None]) -> None:
    refused(["force", "2x2", "8", "--start", "9" * 5000 + ",4/4,4"], 2, "tile on cell 0 is too large for 2x2")
