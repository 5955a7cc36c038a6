"""What commands say: each of ``answers.tsv`` ends with its status and prints its words, in this order.

In the folder is a table ``t``.  Of the words some may be left out: `` ... `` stands for them.
"""

from __future__ import annotations

import csv
import re
import shlex
import shutil
from pathlib import Path

import pytest

from tilebase.cli import main
from tilebase.game.game import Game

with Path(__file__).with_name("answers.tsv").open(encoding="utf-8") as file:
    ROWS = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.mark.parametrize("row", ROWS, ids=[row["command"] for row in ROWS])
def test_a_command_says(row, solved, folder, capsys) -> None:
    if " t" in row["command"]:
        shutil.copytree(solved(Game("2x2", 32), "win,lower,upper,score"), folder / "t")
    assert main(shlex.split(row["command"])) == int(row["status"])
    printed = capsys.readouterr()
    words = ".*".join(map(re.escape, row["words"].split(" ... ")))
    assert re.search(words, printed.out + printed.err, re.DOTALL)
