"""A current folder that somebody has prepared: modules to import, and links where commands write.

Nothing outside the folder changes, nothing in it is run, and a command says one sentence or succeeds.
"""

from __future__ import annotations

import importlib.metadata
import os
import random
import shlex
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from attack import commands
from attack.case import Case
from attack.processes import Run, contents, put, run

SECONDS, MEMORY = 60.0, 3 << 30
WRITING = (
    "count 2x2 16 -q --keep states -o new",
    "count 2x2 16 -q --record new.csv",
    "solve 2x2 16 -q -o new",
    "solve 2x2 16 -q --record new.json",
    "solve 2x2 16 -q --objective win,moves -o new --above 0.1",
    "solve 2x2 16 -q --space all -o new",
    "solve 2x3 16 -q --objective score -o t",
    "thin t -q --visited 0.01 -o new",
    "export boards t --sum 20 -o new.parquet",
    "export page t -o new",
    "force 2x2 8 -q -c new.cert",
    "force 2x2 8 -q --work new",
    "solve 2x2 16 --objective lower -q --record new.json",
    "export graph 2x2 8 -o new.dot",
    "rank 2x2 8 --record new.json",
    "force diagrams 2x2 8 -q --record new",
)
"""What writes the file or the folder ``new``, or into a table that is there."""
NAMES = (
    *(
        "new",
        "new.csv",
        "new.json",
        "new.parquet",
        "new.cert",
        "new.dot",
        "o.csv",
        "o.json",
        "o.txt",
        "o.svg",
    ),
    *("o.parquet", "o.dot", "o", "w", "r", "t", "rec.json", "small"),
    *("new/manifest.json", "new/run.json", "new/counts.jsonl", "new/above.jsonl", "new/index.html"),
    *("t/manifest.json", "t/run.json", "t/values/score/layers.jsonl"),
    *(
        f"{folder}/{name}"
        for folder in ("t/values/score", "t/afterstates", "new/afterstates", "new/states", "new/values/win")
        for name in ("layers.idx", "000.seg")
    ),
    "new/work/run.json",
)
"""What commands write: a link is put where the file or folder is begun."""
GROWING = (".jsonl", ".idx", ".seg")
"""How names end of files that are written where they stand."""
ALONE = 0.1
"""The part of the cases in which the command is a process of its own, which looks for all its modules."""


@cache
def modules() -> tuple[str, ...]:
    """All modules that there are, of Python and installed."""
    names = {*sys.stdlib_module_names, *importlib.metadata.packages_distributions(), "tilebase", "cli", "bdd"}
    return tuple(sorted(name for name in names if name.isidentifier()))


def attack(case: Case) -> None:
    """One folder, and one command."""
    rng, folder, victim = case.rng, case.folder / "here", case.folder / "victim"
    put(folder, commands.place())
    spoil(folder, case.folder / "module")
    put(victim, {"file": b"mine", "below/file": b"mine", "empty/": b""})
    if rng.random() < 0.7:
        words = shlex.split(rng.choice(WRITING))
    else:
        words = commands.command_line(rng)
        while commands.too_much(words):
            words = commands.command_line(rng)
    # Mostly where this command writes.
    own = [name for name in NAMES if name.partition("/")[0] in words] or NAMES
    names = [rng.choice(own if rng.random() < 0.8 else NAMES) for _ in range(rng.randint(1, 4))]
    history = [link(rng, folder / name, victim) for name in names]
    before = contents(victim)
    done = alone(folder, words) if rng.random() < ALONE else run(folder, words, seconds=SECONDS, limit=MEMORY)
    case.done["hostile folders"] += 1
    lines = "\n".join([*filter(None, history), f"tilebase {shlex.join(words)}"[:1500]])
    name = words[0]
    case.expect(
        contents(victim) == before, f"{name}: another folder is changed", changed(before, victim), lines
    )
    ran = case.folder / "module"
    case.expect(not ran.exists(), f"{name}: a module is run", ran.read_text() if ran.exists() else "", lines)
    if done.complaint:
        case.fail(f"{name}: {done.complaint[:60]}", done.err[-700:] or done.complaint, lines)
    elif done.status == 2 and done.err.strip().count("\n") > 0:
        case.fail(f"{name}: not one sentence", done.err[:600], lines)


def spoil(folder: Path, told: Path) -> None:
    """Put a file there for each module, which tells that it was run."""
    for name in modules():
        text = f"open({str(told)!r}, 'a').write({name!r} + ' '); raise SystemExit(7)\n"
        (folder / f"{name}.py").write_text(text)


def link(rng: random.Random, path: Path, victim: Path) -> str:
    """Put a link where a command begins to write a file or folder; return what was done."""
    if rng.random() < 0.1:
        path = path.with_name(".lock")
    elif path.suffix not in GROWING or rng.random() < 0.5:
        path = path.with_name(f".{path.name}.part")
    if not path.parent.is_dir() and rng.random() < 0.5:
        return ""  # a folder that a command makes itself
    path.parent.mkdir(parents=True, exist_ok=True)
    kind = rng.choice(("file", "folder", "second name", "nothing"))
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)
    if kind == "second name":
        os.link(victim / "file", path)
    else:
        path.symlink_to({"file": victim / "below/file", "folder": victim}.get(kind, victim / "new"))
    return f"{path.parent.name}/{path.name} is a link to a {kind}"


def alone(folder: Path, words: list[str]) -> Run:
    """A command as a user types it."""
    script = Path(sys.executable).with_name("tilebase")
    environment = os.environ | {"TILEBASE_RUNS_DIR": str(folder / "runs")}
    try:
        done = subprocess.run(
            [script, *words], cwd=folder, env=environment, capture_output=True, text=True, errors="replace",
            stdin=subprocess.DEVNULL, timeout=2 * SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Run(None, "", "", 0)
    return Run(done.returncode, done.stdout, done.stderr, 0)


def changed(before: dict[str, bytes], victim: Path) -> str:
    """What is not as it was."""
    after = contents(victim)
    return ", ".join(sorted(one for one in before.keys() | after.keys() if before.get(one) != after.get(one)))
