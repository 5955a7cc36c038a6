"""Commands killed at every operation on files: whatever is left, the same command then ends as if alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from killing import Commands, clear
from repetition import one_in
from stored import contents

GAME = ["2x2", "8", "-q", "--threads", "1"]
SOLVE, COUNT, FORCE = (["solve", *GAME], ["count", *GAME], ["force", *GAME])
DENSE = [*SOLVE, "--space", "all"]
ABOVE = [*SOLVE, "--above", "0.3", "--objective", "win,moves", "-o"]
THIN = ["thin", "source", "--visited", "0.01", "-q", "-o"]
DATA = ["export", "data", "source", "--visits", "-q", "-o"]


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    folder = tmp_path_factory.mktemp("kills")
    table = str(folder / "source")
    thin = ["thin", table, "--visited", "0.01", "-q", "-o", str(folder / "thin")]
    data = ["export", "data", table, "--visits", "-q", "-o", str(folder / "warm")]
    with Commands(
        folder, [COUNT, [*SOLVE, "-o", table], DENSE, FORCE, thin, data, [*ABOVE, str(folder / "above")]]
    ) as found:
        yield found


def kill_everywhere(commands: Commands, arguments: list[str], target: Path, step: int = 1) -> None:
    """Kill a command at one operation after the other; the same command then gives the same files.

    With a `step`, only some operations are taken; `scripts/test --all` takes all.
    """
    whole = commands.run(arguments)
    assert whole.status == 0, whole.err
    files = contents(target) if target.is_dir() else target.read_bytes() if target.exists() else None
    killed = 0
    for at in range(1, whole.operations + 1)[one_in(step)]:
        clear(target)
        first = commands.run(arguments, kill_at=at)
        killed += first.status is None
        again = commands.run(arguments)
        assert again.status == 0, f"killed at {at}: {again.err}"
        assert again.err == whole.err
        found = contents(target) if target.is_dir() else target.read_bytes() if target.exists() else None
        assert found == files, f"killed at {at}"
        left = [path for path in commands.folder.rglob(".*") if path.suffix in (".part", ".lock", ".spill")]
        assert left == [], f"killed at {at}"
    assert killed > 5


@pytest.mark.parametrize("command", [SOLVE, COUNT, FORCE], ids=lambda command: command[0])
def test_folder_that_nobody_named(command: list[str], commands: Commands) -> None:
    """Folders of runs are used and deleted; the same command handles what a kill at any point leaves."""
    kill_everywhere(commands, command, commands.folder / "runs", step=8 if command is SOLVE else 2)


@pytest.mark.parametrize("space", ["reachable", "all"])
def test_table(space: str, commands: Commands) -> None:
    table = commands.folder / "table"
    kill_everywhere(commands, [*SOLVE, "--space", space, "-o", "table"], table, step=4)
    clear(table)


@pytest.mark.parametrize(
    ("command", "name", "step"),
    [(ABOVE, "pruned", 8), ([*FORCE, "-c"], "2x2-8.cert", 3), (THIN, "thinned", 4), (DATA, "data", 8)],
    ids=["pruned", "certificate", "thin", "data"],
)
def test_what_is_named(command: list[str], name: str, step: int, commands: Commands) -> None:
    """The manifest of several objectives names the files of a layer in one order, journal or not."""
    kill_everywhere(commands, [*command, name], commands.folder / name, step)
    assert not (commands.folder / "thinned/thin.json").exists()


def test_output(commands: Commands) -> None:
    """The older file stays until the new one is whole."""
    output = commands.folder / "counts.csv"
    operations = commands.run([*COUNT, "--by", "sum", "--record", "counts.csv"]).operations
    new, seen = output.read_text(), set()
    for at in range(operations - 25, operations + 1):
        output.write_text("mine")
        commands.run([*COUNT, "--by", "sum", "--record", "counts.csv"], kill_at=at)
        seen.add(output.read_text())
        commands.run([*COUNT, "--by", "sum", "--record", "counts.csv"])
        assert output.read_text() == new
    assert seen == {"mine", new}
