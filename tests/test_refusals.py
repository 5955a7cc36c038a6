"""What the command line refuses: each command of ``refusals.tsv`` prints one sentence and writes nothing.

In the folder are a table ``t``, one that is ``unfinished``, and ``full``, a folder of something else.
A sentence may be given in parts, with `` ... `` between them.
"""

from __future__ import annotations

import csv
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from stored import contents
from tilebase import solve
from tilebase.game.game import Game

with Path(__file__).with_name("refusals.tsv").open(encoding="utf-8") as file:
    ROWS = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    solve(Game("2x2", 32), "win,lower,upper,score", table=folder / "t", threads=1)
    solve(Game("2x2", 32), table=folder / "unfinished", down_to=20, threads=1)
    (folder / "full").mkdir()
    (folder / "full/letter.txt").write_text("mine")
    return folder


@pytest.mark.parametrize("row", ROWS, ids=[row["command"] for row in ROWS])
def test_a_refusal_is_one_sentence_and_nothing_is_written(row, tables, folder, refused) -> None:
    shutil.copytree(tables, folder, dirs_exist_ok=True)
    words = [word.replace(r"\n", "\n") for word in shlex.split(row["command"])]
    refused(words, int(row["status"]), *row["sentence"].split(" ... "))
    assert contents(folder) == contents(tables)
    assert names(folder) == names(tables)


def names(folder: Path) -> set[str]:
    """All files and folders, also empty ones, but the folder of runs without a name."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")} - {"runs"}


def test_a_tile_of_many_digits_is_cut(refused: Callable[..., None]) -> None:
    refused(["force", "2x2", "8", "--start", "9" * 5000 + ",4/4,4"], 2, "a tile of 5000 digits")
