"""Child processes search the installation for modules, and not the current folder."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tilebase
from tilebase.runtime import system

HERE = Path(tilebase.__file__).parents[1]


@pytest.fixture
def hostile(folder: Path) -> Iterator[Path]:
    """The current folder holds a file for each module that there is.  None may be run."""
    names = {*sys.stdlib_module_names, *importlib.metadata.packages_distributions(), "tilebase", "cli", "bdd"}
    (folder / "hostile").mkdir()
    for name in names:
        (folder / "hostile" / f"{name}.py").write_text(
            f"open({str(folder / 'run')!r}, 'a').write({name!r} + ' '); raise SystemExit(7)\n"
        )
    os.chdir(folder / "hostile")
    yield folder / "hostile"
    assert not (folder / "run").exists(), (folder / "run").read_text()


@pytest.mark.all  # starting workers takes three CPU seconds
def test_workers_run_no_file_of_the_current_folder(hostile: Path, printed) -> None:
    assert "states" in printed("count 2x2 16 --cluster local:1 -q")


def test_the_command_itself_runs_no_file_of_the_current_folder(hostile: Path) -> None:
    """Neither as a script nor with ``-P``."""
    script = str(Path(sys.executable).with_name("tilebase"))
    for command, says in (
        ([script, "force", "2x2", "16", "--engine", "diagrams", "-q"], "the player cannot force the tile 16"),
        ([sys.executable, "-P", "-m", "tilebase", "--version"], tilebase.__version__),
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert says in done.stdout


def test_a_child_searches_what_this_process_does_but_not_the_current_folder(tmp_path, monkeypatch) -> None:
    link, other = tmp_path / "link", tmp_path / "other"
    link.symlink_to(tmp_path / "here")
    for folder in (tmp_path / "here", other):
        folder.mkdir()
    monkeypatch.chdir(link)
    monkeypatch.setattr(sys, "path", ["", str(tmp_path / "here"), str(link), ".", str(other), str(HERE)])
    found = system.child_environment()
    assert found["PYTHONPATH"] == os.pathsep.join([str(other), str(HERE)])
    assert found["PYTHONSAFEPATH"] == "1"
    monkeypatch.chdir(HERE)  # this package is there, and nowhere else
    assert str(HERE) in system.child_environment()["PYTHONPATH"].split(os.pathsep)
