"""What environments of other packages call an action, and where their legal actions differ.

tests/packages holds what each did with boards, in an environment of its own; `record.py` there wrote it.
"""

from __future__ import annotations

import runpy
import subprocess
import venv
from pathlib import Path

import numpy as np
import pytest

from tilebase import Game
from tilebase.arrays import GameArrays
from tilebase.policies import ACTION_ORDERS

FOLDER = Path(__file__).parent / "packages"
RECIPES = runpy.run_path(str(FOLDER / "recipes.py"))["RECIPES"]
GAME = Game("4x4", 65536)


def lines(package: str) -> list[tuple[list[int], str, list[str]]]:
    first, _, *rest = (FOLDER / f"{package}.tsv").read_text("utf-8").splitlines()
    assert first.split()[1] == package
    found = [line.split("\t") for line in rest]
    return [([int(e, 16) for e in board], legal, after.split(",")) for board, legal, after in found]


@pytest.mark.parametrize("package", ACTION_ORDERS)
def test_actions_of_other_packages(package: str) -> None:
    """Each recorded board is ours after the slide of that name, with one spawned tile more."""
    order = [GAME.directions.index(name) for name in ACTION_ORDERS[package]]
    arrays, taken = GameArrays(GAME), 0
    for board, _, boards in lines(package):
        slid = arrays.slide(arrays.pack([board]))
        for action, text in enumerate(boards):
            if text != "-":
                after = arrays.unpack(slid.after[:, order[action]]).ravel()
                found = np.array([int(e, 16) for e in text])
                (spawned,) = np.flatnonzero(after != found)
                assert after[spawned] == 0
                assert found[spawned] in (1, 2)
                taken += 1
    assert taken > 60


@pytest.mark.parametrize("package", ACTION_ORDERS)
def test_legal_actions_of_other_packages(package: str) -> None:
    """They are those that are allowed; OpenSpiel leaves some out, and never adds one."""
    order = [GAME.directions.index(name) for name in ACTION_ORDERS[package]]
    arrays, missing = GameArrays(GAME), 0
    for board, legal, _ in lines(package):
        allowed = arrays.slide(arrays.pack([board])).allowed[0, order]
        mask = np.array([word == "1" for word in legal])
        assert not (mask & ~allowed).any()
        missing += int((allowed & ~mask).sum())
    assert (missing > 0) == (package == "open-spiel")


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES)
def test_recipes_in_environments_of_their_own(recipe: str, tmp_path: Path) -> None:
    """Agents of other packages, installed beside tilebase and nothing else, and judged."""
    venv.create(tmp_path, with_pip=True)
    python, clone = tmp_path / "bin/python", FOLDER.parents[1]
    subprocess.run([python, "-m", "pip", "install", "-q", f"{clone}[rl]", *RECIPES[recipe]], check=True)
    subprocess.run([python, FOLDER / "recipes.py", recipe], cwd=tmp_path, check=True)
