"""Console blocks of the documentation: what they say is run, and what they show is compared.

A block is fenced as ``console`` and begins with a line ``$ COMMAND``.  What a command prints follows it.  The
commands of a block run one after the other in an empty folder of the block's own.

- A block shows standard output, or standard output and standard error as they come; of a command that fails,
  it shows both.
- A line ``...`` stands for any number of lines.
- The version of tilebase is not compared.
- Times and sizes are compared as "a time" and "a size", for they differ from machine to machine: every number
  before a unit, and the last number of each line below a header that ends in ``seconds``.
- Blanks within a line count as one, because the width of a column follows from such numbers.

Comments in front of a block are instructions to the test, which a reader of the page does not see:

    <!-- slow: REASON -->       the block runs only with the slow tests
    <!-- before: COMMAND -->    a command to run first; what it prints is not compared
    <!-- not run: WORD -->      the block is not run, only parsed; the test says what the word stands for
"""

from __future__ import annotations

import io
import re
import shlex
import subprocess
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilebase.cli import main
from tilebase.cli.commands import NAMES, app

BLOCK = re.compile(
    r"(?P<comments>(?:^<!-- [^\n]*? -->\n+)*)^```console\n(?P<text>\$ .*?)^```$", re.MULTILINE | re.DOTALL
)
COMMENT = re.compile(r"^<!-- (slow|before|not run): (.*?) -->$", re.MULTILINE)

NUMBER = r"\d[\d,]*(?:\.\d+)?"
UNIT = "(?:[nµm]?s|min|h|d|y|seconds?|minutes?|hours?|days?|weeks?|years?)"
TIME = re.compile(rf"\b(?:{NUMBER} {UNIT}|about \d+(?::\d\d)+)\b")
SIZE = re.compile(rf"\b{NUMBER} (?:[kMGTP]?i?B)\b")
NUMBERS = r"\d+\.\d+\.\d+(?:\.dev\d+\+\w+(?:\.dirty)?)?"
VERSION = re.compile(rf"\btilebase {NUMBERS}(?![\w.]*\w)|(?<=,){NUMBERS}$")
LAST_NUMBER = re.compile(rf"{NUMBER}$")


@dataclass(frozen=True)
class Command:
    """One command of a block, and the lines that the page shows below it."""

    text: str
    shown: tuple[str, ...] = ()

    @property
    def words(self) -> list[str]:
        return shlex.split(self.text, comments=True)

    @property
    def arguments(self) -> list[str]:
        """The arguments of tilebase, without a redirection at the end."""
        words = self.words[1:]
        return words[:-2] if words[-2:-1] == [">"] else words


@dataclass(frozen=True)
class Block:
    """A console block of a page."""

    page: Path
    line: int
    commands: tuple[Command, ...]
    before: tuple[Command, ...]
    slow: str
    """Why the block is slow; empty if it is not."""
    not_run: str
    """The word for why the block is not run, or empty."""

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks(page: Path) -> list[Block]:
    """The console blocks of a page that hold commands of tilebase."""
    text = page.read_text("utf-8")
    found = []
    for match in BLOCK.finditer(text):
        notes = COMMENT.findall(match["comments"])
        said = dict(notes)
        block = Block(
            page=page,
            line=text.count("\n", 0, match.start("text")) + 1,
            commands=commands(match["text"]),
            before=tuple(Command(note) for name, note in notes if name == "before"),
            slow=said.get("slow", ""),
            not_run=said.get("not run", ""),
        )
        if any(command.words[0] == "tilebase" for command in block.commands):
            found.append(block)
    return found


def commands(text: str) -> tuple[Command, ...]:
    """The commands of the text of a block."""
    parts = re.split(r"^\$ (.*)\n", text, flags=re.MULTILINE)[1:]
    return tuple(
        Command(line, tuple(shown.splitlines())) for line, shown in zip(parts[::2], parts[1::2], strict=True)
    )


def function_of(arguments: list[str]) -> Any:
    """What a command calls; raises if it cannot be parsed."""
    quietly: dict[str, bool] = {"print_error": False, "exit_on_error": False}
    _, given, *_ = app.meta.parse_args(arguments, **quietly)
    planned = given.args[0] == "plan" and given.args[1] in NAMES  # `plan` runs the command itself
    return app.parse_args(given.args[planned:], **quietly)[0]


class Copied(io.StringIO):
    """A text stream whose text also goes to another one."""

    def __init__(self, other: io.StringIO) -> None:
        super().__init__()
        self._other = other

    def write(self, text: str) -> int:
        self._other.write(text)
        return super().write(text)


@dataclass(frozen=True)
class Printed:
    """What a command printed: its exit status, standard output, and both outputs as they came."""

    status: int
    out: str
    both: str


def run(command: Command) -> Printed:
    """Run a command in the current folder."""
    if command.words[0] != "tilebase":
        done = subprocess.run(["bash", "-c", command.text], capture_output=True, text=True, check=False)
        return Printed(done.returncode, done.stdout, done.stdout + done.stderr)
    both = io.StringIO()
    out, err = Copied(both), Copied(both)
    with redirect_stdout(out), redirect_stderr(err):
        status = main(command.arguments)
    if command.words[-2:-1] == [">"]:
        Path(command.words[-1]).write_text(out.getvalue(), "utf-8")
        return Printed(status, "", err.getvalue())
    return Printed(status, out.getvalue(), both.getvalue())


def masked(lines: list[str]) -> list[str]:
    """Lines without what differs from machine to machine."""
    result, seconds = list[str](), False
    for line in lines:
        text = " ".join(line.split())
        seconds = (seconds and bool(LAST_NUMBER.search(text))) or text.endswith(" seconds")
        if seconds:
            text = LAST_NUMBER.sub("a time", text)
        result.append(VERSION.sub("tilebase", SIZE.sub("a size", TIME.sub("a time", text))))
    return result


def fits(shown: tuple[str, ...], printed: str) -> bool:
    """Whether the lines of a page are those that were printed."""
    pattern = "".join(
        r"(?:.*\n)*" if line == "..." else re.escape(line) + r"\n" for line in masked(list(shown))
    )
    text = "".join(f"{line}\n" for line in masked(printed.splitlines()))
    return re.fullmatch(pattern, text) is not None


def agree(shown: tuple[str, ...], printed: Printed) -> bool:
    """Whether a page shows what a command printed."""
    return fits(shown, printed.both) or (not printed.status and fits(shown, printed.out))
