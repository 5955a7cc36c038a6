"""Of what tests repeat the daily run takes a part, another one each day; ``scripts/test --all`` takes all.

This module is a plugin.  ``repeated.tsv`` names files and tests, and says that one case of so many runs on a
day: of the cases of a test, or of the tests of a file.  What is named on the command line runs as a whole.
"""

from __future__ import annotations

import os
from collections import Counter
from datetime import date
from functools import cache
from pathlib import Path
from zlib import crc32

import pytest

LIST = Path(__file__).with_name("repeated.tsv")


def todays(step: int) -> slice:
    """Return one of so many, others on each day; all with TILEBASE_EVERY_KILL=1 (``scripts/test --all``)."""
    step = 1 if os.environ.get("TILEBASE_EVERY_KILL") == "1" else step
    return slice(date.today().toordinal() % step, None, step)


@cache
def repeated() -> dict[str, int]:
    """By file or test, of how many cases one is taken."""
    lines = LIST.read_text("utf-8").splitlines()[1:]
    return {name: int(number) for name, number in (line.split("\t") for line in lines)}


def group_of(nodeid: str) -> str:
    """Return the line of the list that a case belongs to: that of its test, else of its file; "" if none."""
    test = nodeid.partition("[")[0]
    return next((name for name in (test, test.partition("::")[0]) if name in repeated()), "")


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the cases that the run of this day leaves out."""
    named = tuple(path for path in config.args if path.partition("::")[0].endswith(".py"))
    today = date.today().toordinal()
    seen: Counter[str] = Counter()
    for item in items:
        group = group_of(item.nodeid)
        if not group or item.get_closest_marker("all") is not None:
            continue
        # The groups begin on different days, so that each day has about as much to do.
        turn = seen[group] + today + crc32(group.encode())
        seen[group] += 1
        if turn % repeated()[group] and not item.nodeid.startswith(named):
            item.add_marker(pytest.mark.all)
