"""The default run takes a part of what tests repeat, the same on every day; ``scripts/test --all`` takes all.

``repeated.tsv`` names tests and files with a number n, of which about one case in n runs.  The values of each
parameter of a test are numbered; a case runs if the numbers of its values add up to a multiple of n, or if it
shows a value of several cases that no other case of the run shows.  So each engine meets some games, each
game some engines, and every value that is combined with others occurs; of a plain list every n-th case runs.
Of a file every n-th test runs, from the first on.  What is named on the command line runs as a whole.

This module is a plugin.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

LIST = Path(__file__).with_name("repeated.tsv")


def one_in(step: int) -> slice:
    """Return every n-th, from the first on; all with TILEBASE_EVERY_KILL=1 (``scripts/test --all``)."""
    return slice(None, None, 1 if os.environ.get("TILEBASE_EVERY_KILL") == "1" else step)


@cache
def repeated() -> dict[str, int]:
    """By file or test, of how many cases one is taken."""
    lines = LIST.read_text("utf-8").splitlines()[1:]
    return {name: int(number) for name, number in (line.split("\t") for line in lines)}


def group_of(nodeid: str) -> str:
    """Return the line of the list that a case belongs to: that of its test, else of its file; "" if none."""
    test = nodeid.partition("[")[0]
    return next((name for name in (test, test.partition("::")[0]) if name in repeated()), "")


def values_of(item: pytest.Item) -> dict[str, Any]:
    """Return the parameters of a case, by name."""
    spec = getattr(item, "callspec", None)
    return {} if spec is None else {name: hashed(one) for name, one in spec.params.items()}


def hashed(value: Any) -> Any:
    """Return the value, or the number of its object if it cannot be hashed."""
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value


def numbered(cases: Sequence[pytest.Item]) -> list[tuple[int, ...]]:
    """Return the numbers of the values of each case; parameters that always change together have one."""
    values = [values_of(case) for case in cases]
    columns = dict[tuple[int, ...], None]()
    for name in values[0]:
        seen = list(dict.fromkeys(one.get(name) for one in values))
        places = {one: number for number, one in enumerate(seen)}
        columns[tuple(places[one.get(name)] for one in values)] = None
    return list(zip(*columns, strict=True)) if columns else [(number,) for number in range(len(cases))]


def taken(cases: Sequence[pytest.Item], step: int) -> set[pytest.Item]:
    """Return the cases of a test that run."""
    rows = [list(enumerate(row)) for row in numbered(cases)]
    often = Counter(value for row in rows for value in row)
    found = {case for case, row in zip(cases, rows, strict=True) if sum(n for _, n in row) % step == 0}
    shown = {value for case, row in zip(cases, rows, strict=True) if case in found for value in row}
    for case, row in zip(cases, rows, strict=True):
        if any(often[value] > 1 and value not in shown for value in row):
            found.add(case)
            shown.update(row)
    return found


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the cases that the default run leaves out."""
    named = tuple(path for path in config.args if path.partition("::")[0].endswith(".py"))
    groups = defaultdict[str, list[pytest.Item]](list)
    for item in items:
        group = group_of(item.nodeid)
        if group and item.get_closest_marker("all") is None and not item.nodeid.startswith(named):
            groups[group].append(item)
    for group, cases in groups.items():
        step = repeated()[group]
        chosen = taken(cases, step) if "::" in group else set(cases[::step])
        for case in cases:
            if case not in chosen:
                case.add_marker(pytest.mark.all)
