"""Documents made by somebody who means harm: every checksum is right, and nothing that they say is sound.

What reads them has to end in time and within memory, with a sentence or an answer: never a traceback.
What they say of values cannot be checked, so answers are not compared.  tests/test_hostile.py has layers, zip
files, certificates and searches of strangers, and each member of a manifest for itself.
"""

from __future__ import annotations

import asyncio
import json
import random
import zlib
from pathlib import Path
from typing import Any

from attack.case import Case
from attack.made import Files, made
from attack.processes import put, run
from attack.strange import FRACTIONS, JSON, WORDS, members
from serving import Inside
from tilebase.runtime.documents import sealed
from tilebase.web.app import make_app
from tilebase.web.collection import Collection

SECONDS, MEMORY = 60.0, 1 << 30
"""What a command may take, beyond what it has when it begins."""
OF_TABLES = (
    "probe t 2,4,0/0,0,0", "probe t 2,4,0/0,0,0 -f json", "probe t", "verify t -q --sample 5",
    "evaluate t random -q --threads 1", "evaluate t --games 3 -q", "thin t --visited 0.1 -o small -q",
    "solve 2x3 16 --objective win,lower,guaranteed -o t -q --threads 1",
)  # fmt: skip
OF_RUNS = (
    "count 2x3 16 --keep states --work t -q --threads 1", "verify t", "solve 2x3 16 -o t -q --threads 1",
)  # fmt: skip
OF_SETS = ("probe t 2,4,0/0,0,0", "probe t", "verify t -q", "verify t -f json", "lemma 2x3 16 -q")
KINDS = {
    ("table", "manifest.json"): OF_TABLES,
    ("dense", "manifest.json"): OF_TABLES,
    ("thin", "manifest.json"): OF_TABLES,
    ("winning", "manifest.json"): OF_SETS,
    ("run", "run.json"): OF_RUNS,
    ("run", "counts.jsonl"): OF_RUNS,
}
"""Things and their documents, and the commands that read them."""


def attack(case: Case) -> None:
    """One hostile document, and one command that reads it."""
    kind, name = case.rng.choice([*KINDS])
    files = dict(made(kind))
    history = spoil(case.rng, files, name)
    put(case.folder / "here" / "t", files)
    args = case.rng.choice(KINDS[kind, name]).split(" ")
    lines = f"{name} of a thing ({kind}): {history}\ntilebase {' '.join(args)}"
    if name == "manifest.json":
        serve(case, case.folder / "here" / "t", lines)
    done = run(case.folder / "here", args, seconds=SECONDS, limit=MEMORY)
    case.done["hostile files"] += 1
    if done.complaint:
        case.fail(f"{args[0]}, {kind}: {done.complaint[:50]}", done.err[-900:] or done.complaint, lines)
    elif done.wordy:
        case.fail(f"{args[0]}, {kind}: not one sentence", done.err[:600], lines)


def serve(case: Case, folder: Path, lines: str) -> None:
    """Ask the explorer for what a thing says of itself: its status may be 500, but no handler is missing."""
    app = make_app(Collection([folder]))
    with asyncio.Runner() as runner:
        for path in ("/api/tables", "/api/tables/t"):
            case.call(f"GET {path}", lines, Inside(app, runner).get, path)


def spoil(rng: random.Random, files: Files, name: str) -> str:
    """Change a document, or a line of a journal, and sign it again; say what was changed."""
    lines = [files[name]] if name.endswith(".json") else files[name].splitlines()
    at = rng.randrange(len(lines))
    values = json.loads(lines[at].rpartition(b"\t")[0] or lines[at])
    values.pop("check", None)
    history = f"line {at}: {'; '.join(mutate(rng, values) for _ in range(rng.choice((1, 1, 2))))}"
    text = json.dumps(values)
    if name.endswith(".json"):
        files[name] = sealed(text).encode("utf-8", "surrogatepass")
    else:
        lines[at] = b"%b\t%08x" % (text.encode(), zlib.crc32(text.encode()))
        files[name] = b"\n".join(lines) + b"\n"
    return history


def mutate(rng: random.Random, values: Any) -> str:
    """Change something in a document in place; say what."""
    found = [*members(values)]
    numbers = [one for one in found if type(one[0][one[1]]) is int]
    fractions = [one for one in found if one[1] in ("four", "discount")]
    way = rng.random()
    if way < 0.25 and numbers:  # one that is hardly bounded
        here, name, path = rng.choice(numbers)
        here[name] = (1 << rng.choice((31, 32, 53, 62, 63, 64, 100))) - rng.choice((0, 1))
    elif way < 0.35 and fractions:  # they can be much larger than their text
        here, name, path = rng.choice(fractions)
        here[name] = rng.choice(FRACTIONS)
    else:
        here, name, path = rng.choice(found)
        here[name] = rng.choice(JSON)
        if way < 0.45 and isinstance(here, dict):
            here[rng.choice(WORDS)] = here.pop(name)
            return f"another name of {path}"
    return f"{path} = {str(here[name])[:60]!r}"
