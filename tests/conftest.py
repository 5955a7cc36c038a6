"""Fixtures that several files of tests share."""

from __future__ import annotations

import gc
import os
import shlex
import shutil
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack
from functools import cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from playwright.sync_api import Browser, Page, expect, sync_playwright

from executing import ThreadExecutor
from serving import BROWSED, SECONDS
from tilebase import solve
from tilebase.cli import main
from tilebase.costs import rates
from tilebase.costs.rates import FACTORS, RUNS
from tilebase.game.game import Game
from tilebase.runtime import system
from tilebase.runtime.resources import Allowance

if TYPE_CHECKING:
    from clustering import Workers

pytest_plugins = ["cpu_seconds", "repetition"]

gc.disable()  # until tests are collected: modules and tests stay, and to look at them takes a CPU second

# Estimates of this process are those of the fixed rates, whatever the machine.
FACTORS.update(dict.fromkeys(RUNS, 1.0))
# Nor does a plan say that the machine is busy, or has compiled nothing.
system.load = lambda: 0.0
rates.is_first = wraps(rates.is_first)(lambda: False)

# How long examples take depends on what else the machine does.
hypothesis_settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
hypothesis_settings.load_profile("busy")

# Tests stop programs with signals.  What a shell runs in the background, and all that this starts, ignores
# Ctrl-C, and what nohup runs SIGHUP.
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_collection_finish() -> None:
    """Look for garbage again, but not among what was collected."""
    gc.freeze()
    gc.enable()


CHROMIUM = "--no-sandbox --disable-gpu --disable-site-isolation-trials --renderer-process-limit=1"
_OPEN: list[tuple[ExitStack, Browser]] = []


@pytest.fixture(scope="module")
def browser() -> Browser:
    """Debian's Chromium, which scripts/test installs where it may.

    It stays until the next test is of a file without a browser: while it is open, its event loop keeps others
    in this thread from running.
    """
    executable = shutil.which("chromium")
    if executable is None:
        pytest.skip("the system package chromium is missing, in which the pages are tested")
    if not _OPEN:
        expect.set_options(timeout=1000 * SECONDS)
        stack = ExitStack()
        playwright = stack.enter_context(sync_playwright())
        chromium = playwright.chromium.launch(executable_path=executable, args=CHROMIUM.split())
        stack.callback(chromium.close)
        _OPEN.append((stack, chromium))
    return _OPEN[0][1]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Generator[None, None, None]:
    """Close the browser behind the last of its tests."""
    yield
    if _OPEN and (nextitem is None or nextitem.nodeid.partition("::")[0] not in BROWSED):
        _OPEN.pop()[0].close()


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    """A tab without animations for many tests, since a new one costs more than all else that they do."""
    context = browser.new_context(reduced_motion="reduce", viewport={"width": 1280, "height": 720})
    context.set_default_timeout(1000 * SECONDS)
    yield context.new_page()
    context.close()


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    """Two worker processes on this machine."""
    from clustering import start_workers

    found = start_workers()
    yield found
    found.executor.close()
    found.end()


@pytest.fixture
def address(workers: Workers) -> Iterator[str]:
    """The address of their scheduler; the keys are in Dask's configuration, as a user may have them."""
    import dask.config

    with dask.config.set(workers.keys):
        yield workers.executor.address


@pytest.fixture(scope="module")
def threads() -> Iterator[ThreadExecutor]:
    """Two threads of this process that do pieces of work."""
    found = ThreadExecutor(Allowance(memory=4 << 30, threads=2))
    yield found
    found.close()


@pytest.fixture
def lasting(tmp_path: Path) -> Path:
    """A folder for a run of many minutes, in which a test that was stopped goes on: see tests/slow.py."""
    kept = os.environ.get("TILEBASE_LASTING")
    return Path(kept) if kept else tmp_path / "run"


@pytest.fixture(scope="session", autouse=True)
def runs_apart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Runs without a folder of their own, which stopped commands leave, lie not in the home of the user."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEBASE_RUNS_DIR", str(tmp_path_factory.mktemp("runs")))
        yield


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the current one, with runs in its subfolder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TILEBASE_RUNS_DIR", str(tmp_path / "runs"))
    return tmp_path


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Callable[..., None]:
    """Assert that a command prints nothing but one sentence, perhaps with notes, and exits with a status."""

    def check(arguments: Sequence[str], status: int, *sentences: str) -> None:
        assert main(list(arguments)) == status
        printed = capsys.readouterr()
        assert not printed.out
        assert printed.err.startswith("tilebase: ")
        assert all(line.startswith("  ") for line in printed.err.splitlines()[1:]), printed.err
        assert all(sentence in printed.err for sentence in sentences), printed.err

    return check


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a command, given as one text or in words; return what it prints."""

    def run(*words: object, status: int = 0) -> str:
        asked = shlex.split(str(words[0])) if len(words) == 1 else [str(word) for word in words]
        capsys.readouterr()
        assert main(asked) == status, capsys.readouterr().err
        return capsys.readouterr().out

    return run


@pytest.fixture(scope="session")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Folders of tables, each solved once: not to be written to."""

    @cache
    def make(game: Game, objectives: str = "win", discount: str = "1") -> Path:
        folder = tmp_path_factory.mktemp("table")
        solve(game, objectives, discount=discount, table=folder, threads=1)
        return folder

    return make


@pytest.fixture
def copy(solved: Callable[..., Path], tmp_path: Path) -> Callable[..., Path]:
    """A table of one's own, to damage."""

    def make(*arguments: object) -> Path:
        return Path(shutil.copytree(solved(*arguments), tmp_path / "copy"))

    return make
