"""Counts, solves, proves, probes, reviews, plays, explores and serves: run by tests/test_elsewhere.py."""

from __future__ import annotations

import importlib
import io
import json
import pkgutil
import signal
import sys
import threading
import urllib.request
import zipfile
from pathlib import Path

import pytest

from tilebase import cli
from tilebase.errors import StorageError
from tilebase.files.run import Query, RunFolder
from tilebase.game.game import Game
from tilebase.runtime import system
from tilebase.runtime.storage import FileLock, is_locked


def run(command: str, typed: str = "") -> str:
    """What a command prints."""
    kept, sys.stdin, sys.stdout = (sys.stdin, sys.stdout), io.StringIO(typed), io.StringIO()
    try:
        status = cli.main(command.split())
        printed = sys.stdout.getvalue()
    finally:
        sys.stdin, sys.stdout = kept
    assert status == 0, (command, status)
    return printed


def lock() -> None:
    """One process at a time writes into a folder."""
    with RunFolder(Path("locked"), Query(Game("2x2", 16))):
        assert is_locked(Path("locked/lock"))
        assert FileLock.take(Path("locked/lock")) is None
        with pytest.raises(StorageError, match="another process is writing"):
            RunFolder(Path("locked"), Query(Game("2x2", 16)))
    assert not is_locked(Path("locked/lock"))


def serve(table: str) -> None:
    """A request for the page and one for values; then Ctrl-C."""
    from tilebase.web.app import serve

    answers = []

    def ask(address: str) -> None:
        try:
            for path in ("", "api/probe?table=t&board=2,4/0,2"):
                with urllib.request.urlopen(address + path, timeout=60) as answer:
                    answers.append(answer.read())
        finally:
            signal.raise_signal(signal.SIGINT)

    serve([table], port=0, told=lambda addresses: threading.Thread(target=ask, args=addresses[:1]).start())
    page, values = answers
    assert b"<html" in page
    assert json.loads(values)["value"], values


WITH_DASK = {"tilebase.cluster.dask", "tilebase.cluster.local"}
"""Dask takes a system without `fcntl` for Windows, and asks for its libraries."""


def pack(table: str) -> None:
    """A table as one file."""
    with zipfile.ZipFile(f"{table}.zip", "w") as archive:
        for path in sorted(Path(table).rglob("*")):
            if path.is_file():
                archive.writestr(zipfile.ZipInfo(path.as_posix()), path.read_bytes())


def load_all() -> None:
    """Load every module, as a call in any of them would."""
    import tilebase

    for found in pkgutil.walk_packages(tilebase.__path__, "tilebase."):
        if found.name not in WITH_DASK and not found.name.endswith("__main__"):
            importlib.import_module(found.name)


if __name__ == "__main__":
    assert system.POSIX is ("msvcrt" not in sys.modules)
    load_all()
    lock()
    for command in sys.stdin.read().splitlines():
        print(command, flush=True)
        words, _, typed = command.partition("  # types ")
        if words == "serve t":
            serve("t")
        else:
            print(run(words, typed.replace(" ", "\n")), flush=True)
        if command.endswith("-o t"):
            pack("t")
