"""A plugin: CPU seconds of each test file, printed at the end of a run, slowest first.

They are those of the process that runs the test and of its children that have ended, user and system
together.  So other work on the machine hardly changes them; what a test waits for is not in them.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator
from functools import cache
from math import inf
from pathlib import Path
from typing import Any

import pytest

from serving import BROWSED

SHOWN = 15
"""Files that are printed; the others are added up."""
NAME = "cpu seconds"
MEASURED = Path(__file__).with_name("seconds.tsv")
"""What a run took, file by file.  TILEBASE_TEST_SECONDS=1 has a run of all tests write it again."""

QUICK = 3.0
"""CPU seconds of a file that runs with ``scripts/test --fast``."""
COMPILING = tuple(
    f"tests/test_{name}.py" for name in ("again", "answers", "backward", "log", "luck", "reprs", "signatures")
)
"""Quick files that `--fast` leaves out, too: from an empty cache each compiles for ten CPU seconds."""
FIRST = (
    "tests/conformance/test_conformance.py",
    "tests/test_kernels.py",
    "tests/test_cluster.py",
    "tests/test_reference.py",
    "tests/test_project.py",
    *BROWSED,
    *(f"tests/test_{name}.py" for name in ("kills", "plain", "symbolic", "bits")),
    *(f"tests/test_{name}.py" for name in ("certificates", "force", "hostile", "bdd")),
)
"""Of two processes one takes the first and third, and at first compiles the kernels that most files need.

The other takes the second and fourth, and then types and sources: else it would wait for these kernels.  Then
come the files that take 40 CPU seconds or more under ``scripts/test --all``: else one of them may end last.
"""


def spent() -> float:
    """CPU seconds of this process and of its children so far."""
    return sum(os.times()[:4])


@cache
def measured_seconds() -> dict[str, float]:
    """CPU seconds of each test file in the run that was written down."""
    lines = MEASURED.read_text("utf-8").splitlines()[1:]
    return {path: float(seconds) for path, seconds in (line.split("\t") for line in lines)}


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """With TILEBASE_TEST_FAST=1 (``scripts/test --fast``) leave out `COMPILING` and what exceeds `QUICK`."""
    if os.environ.get("TILEBASE_TEST_FAST") != "1" or not collection_path.name.startswith("test_"):
        return None
    path = collection_path.relative_to(MEASURED.parents[1]).as_posix()
    return path in COMPILING or measured_seconds().get(path, inf) > QUICK or None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Note when a test begins; each of its reports carries the seconds since the one before."""
    item.stash[_SINCE] = spent()
    return (yield)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """After `FIRST` slow files come first: then processes that share the files end at about the same time."""
    seconds = measured_seconds()

    def order(item: pytest.Item) -> tuple[int, float]:
        path = item.nodeid.partition("::")[0]
        return FIRST.index(path) if path in FIRST else len(FIRST), -seconds.get(path, inf)

    items.sort(key=order)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Share the files among processes, `BROWSED` as if they were one."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            path = super()._split_scope(nodeid)
            return BROWSED[0] if path in BROWSED else path

    return Scheduling(config, log)


_SINCE = pytest.StashKey[float]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    now = spent()
    # A report has the properties of the item, and those of earlier phases with them.
    report.user_properties = [entry for entry in report.user_properties if entry[0] != NAME]
    report.user_properties.append((NAME, now - item.stash[_SINCE]))
    item.stash[_SINCE] = now
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the table; reports of other processes carry their seconds here, too."""
    files = Counter[str]()
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, seconds in getattr(report, "user_properties", ()):
                if name == NAME:
                    files[report.nodeid.partition("::")[0]] += seconds
    if len(files) < 2:
        return
    ordered = files.most_common()
    if os.environ.get("TILEBASE_TEST_SECONDS") == "1":
        rows = [f"{path}\t{seconds:.1f}\n" for path, seconds in ordered]
        MEASURED.write_text("file\tcpu_seconds\n" + "".join(rows), "utf-8")
    terminalreporter.section(f"CPU seconds by file: {sum(files.values()):,.0f} in all")
    for path, seconds in ordered[:SHOWN]:
        terminalreporter.write_line(f"{seconds:7.1f}  {path}")
    if rest := ordered[SHOWN:]:
        terminalreporter.write_line(f"{sum(seconds for _, seconds in rest):7.1f}  {len(rest)} other files")
