"""Fixtures that several files of tests share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tilebase.cli import main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the current one, with runs in its subfolder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TILEBASE_RUNS_DIR", str(tmp_path / "runs"))
    return tmp_path


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Callable[[Sequence[str], int, str], None]:
    """Assert that a command prints nothing but one sentence and exits with a status."""

    def check(arguments: Sequence[str], status: int, sentence: str) -> None:
        assert main(list(arguments)) == status
        printed = capsys.readouterr()
        assert not printed.out
        assert printed.err.startswith("tilebase: ")
        assert printed.err.count("\n") == 1
        assert sentence in printed.err

    return check
