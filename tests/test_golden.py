"""Runs end in the same bytes as before, also those that older code began and a kill stopped at any operation.

`golden.py` says what is kept and how it is made anew.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import golden
from repetition import one_in
from stopping import Commands
from stored import contents

STATES = golden.read()


@pytest.fixture(scope="module")
def commands(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    """A server that has run the cases of this session once."""
    items = [item for item in request.session.items if item.path == request.path]
    warm = [item.callspec.params["case"].arguments for item in items]  # type: ignore[attr-defined]
    with Commands(tmp_path_factory.mktemp("golden"), warm, setup=golden.SETUP) as found:
        yield found


@pytest.mark.parametrize("case", golden.CASES, ids=lambda case: case.name)
def test_a_run_ends_in_the_same_bytes(case: golden.Case, commands: Commands) -> None:
    whole, *stopped = STATES[case.name]
    assert whole, "the archive holds the files of the whole run"
    for state in [{}, *stopped[one_in(12)]]:
        golden.empty(commands.folder)
        for name, data in state.items():
            (commands.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (commands.folder / name).write_bytes(data)
        done = commands.run(case.arguments)
        assert done.status == 0, (sorted(state), done.err)
        found = contents(commands.folder)
        assert found.keys() == whole.keys(), sorted(state)
        assert [name for name in whole if found[name] != whole[name]] == [], sorted(state)
