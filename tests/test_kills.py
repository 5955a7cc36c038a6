"""Commands hit at every operation on files: whatever is left, the same command then ends as if alone."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from repetition import one_in
from stopping import Commands, Done, Hit, clear
from stored import contents

GAME = "2x2 8 -q --threads 1"
COMMANDS = {
    "count": (f"count {GAME}", "runs", 8),
    "solve": (f"solve {GAME}", "runs", 16),
    "force": (f"force {GAME}", "runs", 4),
    "reachable": (f"solve {GAME} -o table", "table", 8),
    "all": (f"solve {GAME} --space all -o table", "table", 8),
    "pruned": (f"solve {GAME} --above 0.3 --objective win,moves -o pruned", "pruned", 16),
    "certificate": (f"force {GAME} -c 2x2-8.cert", "2x2-8.cert", 4),
    "thin": ("thin source --visited 0.01 -q -o thinned", "thinned", 8),
    "data": ("export data source --visits -q -o data", "data", 16),
}
"""By name, a command, what it writes, and of how many operations the default run takes one."""


SIZES = (320, 900, 2000)
"""Bytes of a file that a full disk has room for; what is said fits, too."""


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    folder = tmp_path_factory.mktemp("kills")
    source = f"solve {GAME} -o {folder / 'source'}"
    texts = (command.replace("source", str(folder / "source")) for command, _, _ in COMMANDS.values())
    with Commands(folder, [command.split() for command in (source, *texts)]) as found:
        yield found


def files(target: Path) -> object:
    return contents(target) if target.is_dir() else target.read_bytes() if target.exists() else None


def hit_everywhere(commands: Commands, name: str, hit: Hit, step: int = 0) -> list[Done]:
    """Hit a command at one operation after the other; the same command then gives the same files.

    Only some operations are taken; `scripts/test --all` takes all.  Returns how the hits ended.
    """
    text, target, often = COMMANDS[name]
    arguments, place = text.split(), commands.folder / target
    clear(place)
    whole = commands.run(arguments)
    assert whole.status == 0, whole.err
    wanted, ended = files(place), []
    places = range(1, whole.count + 1)[one_in(step or often)]
    for at in SIZES if hit.moment == "full" else places:
        clear(place)
        ended.append(commands.run(arguments, replace(hit, number=at)))
        if ended[-1].status == 0:  # a fault that does not matter
            assert files(place) == wanted, f"hit at {at}"
        again = commands.run(arguments)
        assert (again.status, again.err) == (0, whole.err), f"hit at {at}"
        assert files(place) == wanted, f"hit at {at}"
        parts = [path for path in commands.folder.rglob(".*") if path.suffix in (".part", ".lock", ".spill")]
        assert [*parts, *commands.folder.rglob("thin.json")] == [], f"hit at {at}"
    return ended


@pytest.mark.parametrize("name", COMMANDS)
def test_after_a_kill_the_same_command_ends_as_if_alone(name: str, commands: Commands) -> None:
    """Folders of runs without a name are used and deleted; all layers of a manifest have one order."""
    assert sum(one.status == -signal.SIGKILL for one in hit_everywhere(commands, name, Hit())) > 3


@pytest.mark.parametrize("name", ["count", "reachable", "all"])
def test_after_a_stop_the_same_command_ends_as_if_alone(name: str, commands: Commands) -> None:
    ended = hit_everywhere(commands, name, Hit(signal=signal.SIGTERM), step=12)
    assert {one.status for one in ended} == {143}
    assert {one.err.count("\n") for one in ended} == {1}


@pytest.mark.parametrize("moment", ["fault", "full"])
@pytest.mark.parametrize("name", COMMANDS)
def test_after_a_fault_of_the_disk_the_same_command_ends_as_if_alone(name, moment, commands) -> None:
    """Where a file cannot be opened, written or renamed, the command says so, or does without."""
    ended = hit_everywhere(commands, name, Hit(moment), step=4 * COMMANDS[name][2])
    failed = [one for one in ended if one.status]
    assert failed or (name, moment) == ("force", "full")  # its files are smaller
    assert {(one.status, one.err.count("\n")) for one in failed} <= {(1, 1)}
    said = "No space left" if moment == "fault" else "File too large"
    assert all(one.err.startswith("tilebase: ") and said in one.err for one in failed)


def test_output(commands: Commands) -> None:
    """The older file stays until the new one is whole."""
    output = commands.folder / "counts.csv"
    arguments = [*COMMANDS["count"][0].split(), "--by", "sum", "--record", "counts.csv"]
    operations = commands.run(arguments).count
    new, seen = output.read_text(), set()
    for at in range(operations - 25, operations + 1)[one_in(3)]:
        output.write_text("mine")
        commands.run(arguments, Hit(number=at))
        seen.add(output.read_text())
        commands.run(arguments)
        assert output.read_text() == new
    assert seen == {"mine", new}
