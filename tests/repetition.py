"""Of what tests repeat the daily run takes a part; ``scripts/test --all`` takes all.

This module is a plugin: of tests that repeat themselves over many cases it leaves some out.
``repeated.tsv`` says for each such test that one case of so many runs.  A case that is named on the command
line runs, too.
"""

from __future__ import annotations

import os
from collections import Counter
from datetime import date
from functools import cache
from pathlib import Path

import pytest

LIST = Path(__file__).with_name("repeated.tsv")


def todays(step: int) -> slice:
    """Return one of so many, others on each day; all with TILEBASE_EVERY_KILL=1 (``scripts/test --all``)."""
    step = 1 if os.environ.get("TILEBASE_EVERY_KILL") == "1" else step
    return slice(date.today().toordinal() % step, None, step)


@cache
def repeated() -> dict[str, int]:
    """By test, of how many cases one is taken."""
    lines = LIST.read_text("utf-8").splitlines()[1:]
    return {test: int(number) for test, number in (line.split("\t") for line in lines)}


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the cases that the daily run leaves out."""
    seen: Counter[str] = Counter()
    for item in items:
        test = item.nodeid.partition("[")[0]
        if test not in repeated() or item.get_closest_marker("all") is not None:
            continue
        if seen[test] % repeated()[test]:
            item.add_marker(pytest.mark.all)
        seen[test] += 1
