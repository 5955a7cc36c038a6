"""A plugin: of tests that repeat themselves over many cases, the daily run takes a part.

``repeated.tsv`` says for each such test that one case of so many runs; the others run with
``scripts/test --all``.  A case that is named on the command line runs, too.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

LIST = Path(__file__).with_name("repeated.tsv")


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
