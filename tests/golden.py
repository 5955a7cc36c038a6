"""Golden run folders: what runs leave behind when they are killed, and what they end with, byte for byte.

``tests/golden.tar.zst`` holds for each case the files that the whole command leaves, and each different state
in which a kill leaves them.  Changed code must continue from all of them and end in the same bytes.  A change
that is meant to write other bytes makes them anew, and says so:

    .venv/bin/python tests/golden.py
"""

from __future__ import annotations

import io
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

import zstandard

from stopping import Commands, Hit, clear
from stored import contents

PATH = Path(__file__).with_name("golden.tar.zst")
VERSION = "0.1.0"
"""The version of the program in all files, whatever commit runs."""
SETUP = f"import tilebase._version; tilebase._version._of_checkout = lambda folder: {VERSION!r}"
WHOLE = "whole"

State = dict[str, bytes]
"""Files by their paths below the folder in which the command runs."""


@dataclass(frozen=True)
class Case:
    """A command that writes into the folder ``run``, with 1 thread and quietly."""

    name: str
    command: str

    @property
    def arguments(self) -> list[str]:
        """The whole command."""
        return [*self.command.split(), "--threads", "1", "-q"]


CASES = (
    Case("table", "solve 2x2 16 --objective win,lower,upper:uint16 -o run"),
    Case("floats", "solve 2x2 8 --objective win:float16,win:float32 -o run"),
    Case("payoffs", "solve 1x4 --limits 8 --objective score,merges,moves,survival,longest -o run"),
    Case("discount", "solve 2x2 8 --objective win@0.9,moves@0.9 -o run"),
    Case("forced", "solve 2x3 8 --objective guaranteed,win -o run"),
    Case("pattern", "solve 2x2 32 --limits 16,8/8,4 --pattern pair --objective lower --start empty -o run"),
    Case("masks", f"solve --formation {Path(__file__).with_name('small.toml')} 8 -o run"),
    Case("all", "solve 2x2 16 --space all --objective win,lower -o run"),
    Case("all-score", "solve 2x2 8 --space all --objective score:float32,longest -o run"),
    Case("above", "solve 2x2 16 --above 0.3 --objective win,moves -o run"),
    Case("down-to", "solve 2x2 16 --down-to 12 -o run"),
    Case("count", "count 2x3 8 --keep afterstates -o run"),
    Case("states", "count 2x2 16 --keep states -o run"),
    Case("prove", "solve 2x2 16 --objective lower --work run"),
    Case("search", "force 2x3 16 --engine search --work run"),
    Case("bits", "force 2x2 16 --engine dense --work run"),
)


def read() -> dict[str, list[State]]:
    """All states of each case; the first is that of the whole command."""
    found: dict[str, dict[str, State]] = {case.name: {} for case in CASES}
    data = zstandard.ZstdDecompressor().decompress(PATH.read_bytes(), max_output_size=1 << 28)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            case, state, name = member.name.split("/", 2)
            file = archive.extractfile(member)
            assert file is not None
            found[case].setdefault(state, {})[name] = file.read()
    return {case: [states.pop(WHOLE), *states.values()] for case, states in found.items()}


def states_of(commands: Commands, case: Case) -> dict[str, State]:
    """What the whole command leaves, and each different state that a kill leaves, named by the operation."""
    empty(commands.folder)
    whole = commands.run(case.arguments)
    assert whole.status == 0, (case.name, whole.err)
    found = {WHOLE: contents(commands.folder)}
    for at in range(1, whole.count + 1):
        empty(commands.folder)
        commands.run(case.arguments, Hit(number=at))
        state = contents(commands.folder)
        if state and state not in found.values():
            found[f"{at:04}"] = state
    empty(commands.folder)
    return found


def empty(folder: Path) -> None:
    """Remove all that lies in a folder."""
    for path in folder.iterdir():
        clear(path)


def write() -> None:
    """Make the archive with the code as it is."""
    buffer = io.BytesIO()
    with (
        tempfile.TemporaryDirectory() as folder,
        tarfile.open(fileobj=buffer, mode="w") as archive,
        Commands(Path(folder), [case.arguments for case in CASES], setup=SETUP) as commands,
    ):
        for case in CASES:
            states = states_of(commands, case)
            sys.stdout.write(f"{case.name}: {len(states)} states, {len(states[WHOLE])} files at the end\n")
            for name, state in states.items():
                for path, data in sorted(state.items()):
                    member = tarfile.TarInfo(f"{case.name}/{name}/{path}")
                    member.size = len(data)
                    archive.addfile(member, io.BytesIO(data))
    PATH.write_bytes(zstandard.ZstdCompressor(level=19).compress(buffer.getvalue()))
    sys.stdout.write(f"{PATH.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    write()
