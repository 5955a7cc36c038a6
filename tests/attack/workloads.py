"""Commands whose files do not depend on interruptions, each with what it leaves behind undisturbed."""

from __future__ import annotations

import json
import re
import tempfile
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from attack.processes import Run, contents, put, run
from conformance.engines import memory_for_batches
from tilebase.check import RefusedError, check_certificate
from tilebase.game.game import Game
from tilebase.objectives.objective import Objective

OLD = "what was there before\n"


@dataclass(frozen=True)
class Workload:
    """A command, what has to be there before it, and what it leaves."""

    args: tuple[str, ...]
    before: tuple[tuple[str, ...], ...] = ()  # commands that make what it reads
    own: tuple[str, ...] = ()  # files that a search writes: whole, but not always the same
    output: str = ""  # a file that it writes in one go, and that was there before

    @property
    def name(self) -> str:
        """By which failures are counted."""
        telling = ("all", "-o", "--work", "-c")
        return " ".join((self.args[0], *(word for word in self.args[1:] if word in telling)))

    @property
    def lines(self) -> str:
        """What to type, one command a line."""
        return "\n".join(f"tilebase {' '.join(args)}" for args in (*self.before, self.args))

    @property
    def takes_no_turns(self) -> bool:
        """Whether it wants a new folder, and so refuses where another one has been."""
        return self.args[0] == "thin"


def workload(text: str, *before: str, own: str = "", output: str = "") -> Workload:
    """A workload from text."""
    earlier = tuple(tuple(one.split()) for one in before)
    return Workload(tuple(text.split()), earlier, tuple(own.split()), output)


@cache
def workloads() -> tuple[Workload, ...]:
    """All of them; the last one goes in batches: a minute of files in a second."""
    of_score = "solve 2x3 16 --objective score -o t -q --threads 1"
    limits = "32,32,16/16,16,16/8,8,8"
    batched = (
        f"solve 3x3 64 --limits {limits} --start empty --space all --objective lower --threads 1 -q -o t"
    )
    memory = memory_for_batches(Game("3x3", 64, limits=limits, start="empty"), Objective("lower"), threads=1)
    return (
        workload("count 2x3 32 --keep states -o run -q --threads 1"),
        workload("count 2x3 32 --spawn 0 -q --threads 1"),
        workload("count 2x3 32 -q --threads 1 --by sum,max --record x.csv", output="x.csv"),
        workload("solve 2x3 16 --objective win,lower -o t -q --threads 1"),
        workload("solve 2x3 16 --objective win -q --threads 1"),
        workload("solve 2x3 16 --objective guaranteed,upper --space all -o t -q --threads 1"),
        workload("solve 2x3 16 --spawn 1/3 --space all -q --threads 1"),
        workload(of_score, "solve 2x3 16 -o t -q --threads 1"),
        workload("thin t --visited 0.001 -o small -q", f"{of_score},win"),
        workload("force 2x3 16 -c p.cert -q --threads 1 --work w", own="p.cert w", output="p.cert"),
        workload("force 2x3 16 --spawns 4 -q --threads 1 --engine dense"),
        workload("solve 2x3 32 --limits 16,8,4/16,8,4 --objective lower:uint32 -q --threads 1"),
        workload("lemma 2x3 64 -q --threads 1 -f json"),
        workload("export data t --visits -o d -q", of_score),
        workload(
            "export boards run --sum 20 --states -o x.parquet",
            "count 2x3 16 --keep states -o run -q",
            output="x.parquet",
        ),
        workload(f"{batched} --memory {memory}"),
    )


@dataclass(frozen=True)
class Undisturbed:
    """What a workload finds and leaves when nothing happens to it."""

    before: dict[str, bytes]
    after: dict[str, bytes]
    out: str
    points: int
    seconds: float


@cache
def undisturbed(work: Workload) -> Undisturbed:
    """Run a workload once."""
    with tempfile.TemporaryDirectory(prefix="attack-") as temporary:
        folder = Path(temporary) / "here"
        folder.mkdir()
        for args in work.before:
            succeed(run(folder, args), args)
        if work.output:
            (folder / work.output).write_text(OLD)
        before, since = contents(folder), time.monotonic()
        done = run(folder, work.args, count=True)
        seconds = time.monotonic() - since
        succeed(done, work.args)
        return Undisturbed(before, contents(folder), plain(done.out), done.points, seconds)


def succeed(done: Run, args: tuple[str, ...]) -> None:
    """Raise unless a command succeeded: then the attack itself is wrong."""
    if done.status:
        raise RuntimeError(f"tilebase {' '.join(args)}: {done.status}: {done.err}")


def plain(out: str) -> str:
    """What is printed, without what varies: times, and how many boards a search opened."""
    out = re.sub(r"[\d,]+ (afterstates by|boards prove)", "N \\1", out)
    out = re.sub(r'"seconds": [\d.]+', '"seconds": S', out)
    return re.sub(r"in [\d.]+ s\b", "in S s", out)


def differences(work: Workload, folder: Path) -> list[str]:
    """What is not as an undisturbed run leaves it: one sentence each."""
    wanted, found = undisturbed(work).after, contents(folder)
    own = (*work.own, ".cache/", "runs/.kernels/")  # what a run learns about the machine may get lost
    left = [name for name in found.keys() - wanted.keys() if not name.startswith(own) or ".part" in name]
    missing = [name for name in wanted.keys() - found.keys() if not name.startswith(own)]
    other = [
        name
        for name in found.keys() & wanted.keys()
        if plain_file(name, found[name]) != plain_file(name, wanted[name]) and not name.startswith(own)
    ]
    told = {"left over": left, "missing": missing, "not the same": other}
    return [f"{name} is {what}" for what, names in told.items() for name in sorted(names)] + unproved(folder)


def plain_file(name: str, data: bytes) -> Any:
    """What a file says; of a journal of values the lines of layers, without those of checkpoints."""
    if not name.endswith("/layers.jsonl"):
        return data
    lines = [json.loads(line.rpartition(b"\t")[0]) for line in data.splitlines()]
    return [line for line in lines if "sum" in line]


def unproved(folder: Path) -> list[str]:
    """Certificates that prove nothing."""
    sentences = []
    for path in folder.glob("*.cert"):
        try:
            if path.read_bytes() != OLD.encode():
                check_certificate(path)
        except RefusedError as error:
            sentences.append(f"{path.name}: {error}")
    return sentences


def place(work: Workload, folder: Path) -> None:
    """Put there what a workload reads."""
    put(folder, undisturbed(work).before)


def half_written(work: Workload, folder: Path) -> list[str]:
    """What a stopped run left that poses as whole: an output cut short, a manifest of no table."""
    sentences = unproved(folder)
    if work.output:
        path, whole = folder / work.output, undisturbed(work).after.get(work.output)
        if not path.exists():
            sentences.append(f"{work.output}, which was there before, is gone")
        elif path.read_bytes() not in (OLD.encode(), whole) and work.output not in work.own:
            sentences.append(f"{work.output} is neither what was there before nor what it should be")
    for manifest in folder.glob("*/manifest.json"):
        checked = run(folder, ["verify", manifest.parent.name, "-q", "--sample", "20"])
        if checked.status:
            sentences.append(f"{manifest.parent.name} is not sound: {checked.out}{checked.err}"[:300])
    return sentences
