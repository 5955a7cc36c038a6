"""Command lines as people and scripts get them wrong: a sentence and an exit status, never a traceback.

The options of each command are read from the page of the documentation, so that new ones are attacked too.
"""

from __future__ import annotations

import random
import re
import runpy
import shlex
from functools import cache
from pathlib import Path

from attack.case import Case
from attack.made import made
from attack.processes import put, run
from attack.strange import WORDS, words

TABLES = Path(__file__).parents[2] / "docs" / "extensions" / "tables.py"
SECONDS, MEMORY = 200.0, 3 << 30
SMALL = words("2x2 2x3 1x4 3x2 1x2x2 1x2 2x2x2x2 1x1 33x1 1x33 0x2 2x 2X3 2\u00d72 4x4x4 9999x9999")
PATHS = words("t d r t.zip p.cert l.seg l.idx nowhere nowhere/t . / /proc/self/mem /dev/null")
TABLE = {
    "goal": "8 16 32 64 4 2 0 -8 7 8.0 1e3 99999999999999999999999 2048 0x10",
    "spawn discount": "1/10 1 0.99 0 99/100 -1 2 1/0 nan inf 1e-999999999 1e-30 0.999999999999999 1_0/1_00",
    "start": "two-tiles empty 2,4/0,8 2,2,0/0,0,0 0 x TWO-TILES 0x12",
    "limits fillings": "8,8/8,8 16,8,4/16,8,4 8 8,8 0,0/0,0 -8,8/8,8 7,8/8,8 8,8/8,8/8,8",
    "pattern": "pair lemma1 *,4/*,* 8,4,*/*,*,* *,*/*,* | x PAIR *|* 3,*/*,*",
    "rules": "walls=[0] unmergeable=[0,1] masks='../.x' goal-sum=20 horizon=20 walls=[0,0] walls=[9] "
    "walls=x unmergeable=['a'] steps=-1 at-least=1 horizon=1e99 = walls=[[]] walls=[-1];horizon=20 t",
    "memory": "1GiB 500MB 2GiB 0 1 1KiB -1GiB 1e3GiB 99999999TiB x 1.5.5GiB nanGiB",
    "threads": "1 2 1 0 -1 9999 99999999999999999999 x 1.5",
    "objective": "win win,lower score moves:float32 win:float64 win@0.99 score:float32@1/0 luck , win,win "
    "win:bit lower:uint16,upper:uint16",
    "space": "all reachable all ALL x",
    "by": "sum max sum,max max,sum x sum,sum",
    "format": "table csv json text x JSON",
    "output record": "o.csv o.json o o.txt o.parquet o.svg o.dot nowhere/o.csv . /proc/x t /dev/full",
    "work": "w r t nowhere/w . /proc/w l.seg",
    "kind keep": "afterstates states counts x",
    "up_to down_to sum limit max_states": "8 20 100 0 -1 7 99999999999999999999 x",
    "budget": "1s 1 1s 0 -1 2x nan 1e-9s",
    "engine": "search dense reachable x",
    "spawns": "2,4 2 4 4,2 8 2,2 x",
    "above visited precision": "0.1 0 1e-3 1 -1 2 nan inf x",
    "games sample seed within": "3 1 0 -1 99999999999999999999 x",
    "board": "2,4,0/0,0,0 2,4/0,8 [[2,4],[0,8]] 0x12 {} [[[ 1203 2,4,0/0,0,3 x,2/0,0 #",
    "at": "8,0 20,1 0,99999 -1,0 7,99999999999999999999 8 x,y",
    "type": "uint16 uint32 uint64 float64 x",
    "direction": "lower upper lower x",
    "backend": "threads threads cuda x",
    "policy": "random greedy t nowhere os:getcwd json:dumps x:y : antigravity0:x",
    "shape": " ".join(SMALL),
    "table path layer certificate": " ".join(PATHS),
}
POOL = {name: values.split() for names, values in TABLE.items() for name in names.split()}
"""Values of options; the first three are sensible ones."""


@cache
def commands() -> dict[str, list[tuple[tuple[str, ...], str, bool]]]:
    """For each command its options: names, the type that is shown, and whether it is an argument."""
    found: dict[str, list[tuple[tuple[str, ...], str, bool]]] = {}
    text = runpy.run_path(str(TABLES))["commands"](full=True)
    for name, body in re.findall(r"^## tilebase (.+?)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL):
        options = found.setdefault(name, [])
        for line in re.findall(r"^│ (?:\*  |   )?([A-Z-].*?)  ", body, flags=re.MULTILINE):
            names = tuple(re.findall(r"(?<!\S)--?[a-z][a-z-]*", line))
            kind = re.findall(r"\b(STR|INT|FLOAT|PATH)\b", line)
            if names:
                options.append((names, kind[0] if kind else "", line[0] != "-"))
    return found


def value_for(rng: random.Random, names: tuple[str, ...], kind: str) -> str:
    """A value for an option, likely or not; a goal is small, since it is answered, not refused."""
    name = names[0].lstrip("-").replace("-", "_")
    if rng.random() < 0.06:
        return rng.choice(WORDS)[:9000]
    others = {"INT": ["1", "0", "-1", "x"], "FLOAT": ["0.5", "nan", "x"], "PATH": PATHS}
    pool = POOL.get(name) or others.get(kind) or ["x"]
    return rng.choice(pool[:2] if name == "goal" else pool[:3]) if rng.random() < 0.7 else rng.choice(pool)


def command_line(rng: random.Random) -> list[str]:
    """A command with arguments and options."""
    name = rng.choice(sorted(commands()))
    words = name.split()
    for names, kind, argument in commands()[name]:
        if argument and rng.random() < 0.93:
            words.append(value_for(rng, names, kind))
        elif not argument and rng.random() < 0.15:
            words.append(rng.choice(names))
            if (kind or names[0][2:] in POOL) and rng.random() < 0.97:
                words.append(value_for(rng, names, kind))
    if rng.random() < 0.03:
        more = rng.choice(("--help", "--nonsense", "extra", "--version", "-x", ""))
        words.insert(rng.randint(0, len(words)), more)
    if words[:1] == ["reproduce"]:
        words += ["--budget", "1s"]
    return [word.replace("\0", "") for word in words]


@cache
def place() -> dict[str, bytes]:
    """A folder with something of each kind."""
    files: dict[str, bytes] = {}
    for folder, name in (("t", "table"), ("d", "dense"), ("r", "run")):
        files |= {f"{folder}/{one}": data for one, data in made(name).items()}
    files["t.zip"] = made("zip")["t.zip"]
    files["p.cert"] = made("certificate")["p.cert"]
    return files | {f"l.{end}": files[f"t/values/win/{name}"] for end, name in
                    (("seg", "000.seg"), ("idx", "layers.idx"))}  # fmt: skip


def too_much(words: list[str]) -> bool:
    """Whether a command line asks for what may rightly take long."""
    text = " ".join(words)
    sizes = [int(size) for shape in re.findall(r"\b\d+(?:x\d+)+\b", text) for size in shape.split("x")[:4]]
    small = re.search(r"\b[14]x[14]\b|33|9999", text)
    return len(sizes) > 1 and max(sizes) > 3 and not small


def attack(case: Case) -> None:
    """One command line."""
    words = command_line(case.rng)
    while too_much(words):
        words = command_line(case.rng)
    put(case.folder / "here", place())
    done = run(case.folder / "here", words, seconds=SECONDS, limit=MEMORY)
    case.done[f"commands with status {done.status}"] += 1
    lines = f"tilebase {shlex.join(words)}"[:1500]
    if done.complaint:
        case.fail(f"{words[0]}: {done.complaint[:60]}", done.err[-700:] or done.complaint, lines)
    elif done.status == 2 and done.wordy and "--log" not in words:  # lines of the log may be there, too
        case.fail(f"{words[0]}: not one sentence", done.err[:600], lines)
