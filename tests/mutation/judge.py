"""Judges changes: each in a copy of the tree, by the tests that should notice it, the quickest first.

A process loads what is slow to load (Numba, pytest, ...) and nothing of tilebase.  For each file of tests it
forks a child, which imports tilebase from the copy and runs pytest.  The child ends with the first test that
fails, or is killed in a test that takes far too long.  Tests that noticed a change are run without it, too.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import importlib
import io
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mutation.changes import Change

ROOT = Path(__file__).parents[2]
LOADED = (
    "cyclopts", "hypothesis", "hypothesis.strategies", "numba", "numpy", "playwright.sync_api", "pytest",
    "rich.console", "rich.progress", "rich.table", "schemathesis", "zstandard", "_hypothesis_pytestplugin",
)  # fmt: skip
"""Loaded once, before children are forked."""
MEMORY = 8 << 30
"""Bytes of memory with which a child is killed, since a changed size may ask for all there is.

No limit of the system is set: tilebase asks for these limits, and its tests would see them.
"""
SECONDS, COMPILING = 40.0, 400.0
"""CPU seconds that one test may take; the second if a kernel was changed, which is compiled anew."""
WALL = 1800
"""Seconds after which a child is killed that waits for something and takes no CPU time."""
BROKEN, REFUSED, NOTHING = 2, 4, 5  # exit statuses of pytest
OPTIONS = (
    "-q", "-p", "no:cacheprovider", "--hypothesis-seed=0", "-W", "ignore::pytest.PytestAssertRewriteWarning",
)  # fmt: skip
"""How pytest is called.  Its warning of what is loaded already concerns `LOADED`."""
PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Run:
    """What some tests said: those that failed, and what it took."""

    failed: tuple[str, ...]
    cpu: float


@dataclass(frozen=True)
class Verdict:
    """By which test a change was noticed, or None if it lived."""

    change: Change
    by: str | None
    cpu: float


class SpoiltError(Exception):
    """Tests cannot be run, so that they can judge nothing."""


def load() -> None:
    """Load what children need: Numba and pytest load the rest of their parts when they do something."""
    for name in LOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    import numba
    import pytest

    numba.njit(lambda x: x + 1)(1)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        pytest.main([folder, f"--rootdir={folder}", *OPTIONS])


def copy_tree(target: Path) -> None:
    """A copy of all files that git tracks or does not ignore."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    for name in filter(None, listing.split("\0")):
        if (ROOT / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).is_dir():  # tests/facts is a link to a folder
                (target / name).symlink_to((ROOT / name).readlink())
            else:
                shutil.copy2(ROOT / name, target / name)


def copy_kernels(target: Path) -> None:
    """Take along what was compiled for this checkout."""
    # in a process of its own: children load tilebase from their copy
    ask = """from pathlib import Path
from tilebase._kernels import jit
print(*(jit._kernel_cache(path.stem) for path in Path(jit.__file__).parent.glob("*.py")), sep="\\n")"""
    kept = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True).stdout
    for folder in map(Path, kept.split("\n")[:-1]):
        if folder.is_dir():
            shutil.copytree(folder, target / folder.name)


def tree_of_links(source: Path, target: Path) -> Path:
    """The same files without copying them: Numba replaces files and does not write into them."""
    shutil.copytree(source, target, copy_function=os.link)
    return target


def digest(tree: Path, *names: str) -> str:
    """A short sum of files."""
    return hashlib.sha256(b"\0".join((tree / name).read_bytes() for name in names)).hexdigest()[:16]


class Judge:
    """Judges one change after the other in a copy of its own, beside which compiled kernels are kept."""

    def __init__(self, tree: Path) -> None:
        self.tree, self._times = tree, 0
        self._process: int | None = None  # the child that runs tests, and the number of its group
        self._kernels = tree.parent / "kernels"
        self._kernels.mkdir(exist_ok=True)

    def judge(self, change: Change, tests: Sequence[str]) -> Verdict:
        """Run tests, each the arguments of pytest as text, on the changed file until one fails."""
        path = self.tree / change.file
        source = path.read_text("utf-8")
        compiles = "_kernels" in path.parts
        kernels = tree_of_links(self._kernels, self.tree.parent / "changed") if compiles else self._kernels
        cpu = 0.0
        self._write(path, change.apply(source))
        try:
            for test in tests:
                run = self.run(["-x", *shlex.split(test)], COMPILING if compiles else SECONDS, kernels)
                cpu += run.cpu
                if run.failed:
                    return Verdict(change, run.failed[0], cpu)
            return Verdict(change, None, cpu)
        finally:
            self._write(path, source)
            if compiles:
                shutil.rmtree(kernels)

    def failing(self, tests: Sequence[str]) -> set[str]:
        """Those tests that fail without any change; a file stands for whether its tests can be collected."""
        files: dict[str, list[str]] = {}
        for test in tests:
            files.setdefault(test.partition("::")[0], []).append(test)
        found: set[str] = set()
        for file, names in files.items():
            chosen = [name for name in names if "::" in name]
            found.update(self.run(chosen or ["--collect-only", file], COMPILING, self._kernels).failed)
        return found

    def _write(self, path: Path, text: str) -> None:
        """Python compiles a file again if its time, in seconds, has changed."""
        path.write_text(text, "utf-8")
        self._times += 1
        os.utime(path, (self._times, self._times))

    def run(self, arguments: Sequence[str], seconds: float, kernels: Path) -> Run:
        """Run pytest in a child, with a limit on the CPU seconds of each test."""
        folder = self.tree.parent
        for name in ("printed.txt", "failed.txt", "begun.txt"):  # a child may be killed before it writes any
            (folder / name).write_bytes(b"")
        process = os.fork()
        if not process:
            self._child(arguments, seconds, kernels)
        self._process = process
        try:
            status, cpu = _wait(process)
        finally:
            self.kill()
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process, 0)
            shutil.rmtree(folder / "base", ignore_errors=True)
        printed = "\n".join((folder / "printed.txt").read_text("utf-8", "replace").splitlines()[-60:])
        if status in (REFUSED, NOTHING):
            raise SpoiltError(f"pytest cannot run {shlex.join(arguments)}:\n{printed}")
        failed = (folder / "failed.txt").read_text("utf-8").splitlines()
        if status != 0 and not failed:  # it did not end by itself
            failed = [(folder / "begun.txt").read_text("utf-8")]
        return Run(tuple(failed), cpu)

    def kill(self) -> None:
        """Kill the child if it still runs, and what it has started."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process, signal.SIGKILL)
            self._process = None

    def _child(self, arguments: Sequence[str], seconds: float, kernels: Path) -> None:
        """Be the child: leave the process group, the standard streams and the path of the parent, and run."""
        status = BROKEN
        try:
            os.setsid()
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.chdir(self.tree)
            folder = self.tree.parent
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            printed = os.open(folder / "printed.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
            os.dup2(printed, 1)
            os.dup2(printed, 2)
            sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            os.environ["PYTHONPATH"] = str(self.tree / "src")
            os.environ["TILEBASE_RUNS_DIR"] = str(folder / "base/runs")
            os.environ["TILEBASE_CACHE_DIR"] = str(kernels)
            ours = {str(ROOT), str(ROOT / "src"), str(ROOT / "tests"), ""}
            sys.path[:] = [str(self.tree / "src"), *(name for name in sys.path if name not in ours)]
            sys.modules.pop("facts", None)  # the copy has its own
            import pytest

            recorder = _Recorder(folder, seconds)
            status = pytest.main([*arguments, *OPTIONS, f"--basetemp={folder / 'base'}"], plugins=[recorder])
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)


class _Recorder:
    """Writes down which test begins and which fail, and gives each so many CPU seconds."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self._begun, self._failed, self._seconds = folder / "begun.txt", folder / "failed.txt", seconds
        self._begin("no test")
        self._failed.write_text("")

    def _begin(self, name: str) -> None:
        self._begun.write_text(name, "utf-8")
        signal.setitimer(signal.ITIMER_PROF, self._seconds)  # its signal ends the process

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._begin(nodeid)

    def pytest_collectstart(self, collector: object) -> None:
        self._begin(getattr(collector, "nodeid", ""))

    def pytest_runtest_logreport(self, report: object) -> None:
        self._tell(report)

    def pytest_collectreport(self, report: object) -> None:
        self._tell(report)

    def _tell(self, report: object) -> None:
        if getattr(report, "failed", False):
            with self._failed.open("a", encoding="utf-8") as file:
                file.write(f"{getattr(report, 'nodeid', '?')}\n")


def _wait(process: int) -> tuple[int | None, float]:
    """The exit status of a child, None if it took too long or too much memory, and its CPU seconds."""
    end = time.monotonic() + WALL
    while time.monotonic() < end:
        found, status, usage = os.wait4(process, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime
        resident = int(Path(f"/proc/{process}/statm").read_text().split()[1])
        if resident * resource.getpagesize() > MEMORY:
            break
        time.sleep(0.02)
    return None, 0.0
