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

from attack import flips
from attack.case import Case
from attack.processes import EVIL, put, run

TABLES = Path(__file__).parents[2] / "docs" / "extensions" / "tables.py"
SECONDS, MEMORY = 60.0, 3 << 30
LONGEST = 1200
"""Characters of a message, of the name of the program, and a few more."""
SMALL_SHAPES = ("1x2", "1x4", "2x2", "2x2", "2x3", "3x2", "1x2x2")
SHAPES = (
    *SMALL_SHAPES,
    *(
        "0x2",
        "-1x2",
        "2",
        "2x",
        "x2",
        "2X3",
        "2×3",
        "2x2x2x2",
        "1x1",
        "33x1",
        "1x33",
        "1e1x2",
        "2x2 ",
        "",
        "4x4x4",
        "9999x9999",
    ),
    "99999999999999999999x1",
)
TILES = (
    "8",
    "16",
    "32",
    "64",
    "4",
    "2",
    "0",
    "-8",
    "7",
    "8.0",
    "1e3",
    "99999999999999999999999",
    "2048",
    "",
    "x",
    "0x10",
)
WORDS = (
    "",
    "x",
    "-",
    "--",
    "0",
    "-1",
    "1",
    "2,4",
    "nan",
    "inf",
    "1e400",
    "9" * 5000,
    EVIL,
    "ä",
    "\u202e",
    "a b",
    "*",
    "/",
    "'",
    "[",
)
BOARDS = (
    "2,4,0/0,0,0",
    "2,4/0,8",
    "2 4 8 16",
    "0x12",
    "[[2,4],[0,8]]",
    "{}",
    "[[[",
    "1203",
    "2,4,0/0,0,3",
    "x,2/0,0",
    "#",
)
PATHS = (
    "t",
    "d",
    "r",
    "t.zip",
    "p.cert",
    "l.seg",
    "l.idx",
    "nowhere",
    "nowhere/t",
    "",
    ".",
    "/",
    "/proc/self/mem",
    "/dev/null",
)
POOL: dict[str, tuple[str, ...]] = {
    "shape": SHAPES,
    "goal": TILES,
    "spawn": (
        "1/10",
        "0",
        "1",
        "0.1",
        "-1",
        "2",
        "1/0",
        "nan",
        "inf",
        "1e-999999999",
        "1e-30",
        "1/3",
        "x",
        "",
        "0.1e0",
        "1_0/1_00",
    ),
    "discount": ("1", "99/100", "0", "-1", "2", "1/0", "nan", "1e-999999999", "0.999999999999999", "x", ""),
    "start": (
        "two-tiles",
        "empty",
        "2,4/0,8",
        "2,2,0/0,0,0",
        "0",
        "x",
        "",
        "TWO-TILES",
        "0x12",
        "0x" + "f" * 40,
    ),
    "limits": (
        "8,8/8,8",
        "16,8,4/16,8,4",
        "8,8",
        "0,0/0,0",
        "-8,8/8,8",
        "7,8/8,8",
        "9" * 400,
        "",
        "x",
        "8,8/8,8/8,8",
    ),
    "fillings": ("8,8/8,8", "16,8,4/16,8,4", "8", "", "x"),
    "pattern": (
        "pair",
        "lemma1",
        "*,4/*,*",
        "8,4,*/*,*,*",
        "*,*/*,*",
        "",
        "|",
        "x",
        "PAIR",
        "*|*",
        "3,*/*,*",
    ),
    "rules": (
        "walls=[0]",
        "walls=[0,0]",
        "walls=[9]",
        "walls=x",
        "walls=[-1]; horizon=20",
        "unmergeable=[0,1]",
        "unmergeable=['a']",
        "masks='../.x'",
        "goal-sum=20",
        "steps=-1",
        "at-least=1",
        "horizon=1e99",
        "=",
        "walls=[[]]",
        "nowhere.toml",
        "t",
        "",
        "x=1",
    ),
    "memory": (
        "1GiB",
        "500MB",
        "2GiB",
        "0",
        "1",
        "1KiB",
        "-1GiB",
        "1e3GiB",
        "99999999TiB",
        "x",
        "",
        "1.5.5GiB",
        "nanGiB",
    ),
    "threads": ("1", "2", "0", "-1", "9999", "99999999999999999999", "x", "1.5", ""),
    "objective": (
        "win",
        "win,lower",
        "score",
        "moves:float32",
        "win:float64",
        "win@0.99",
        "score:float32@1/0",
        "luck",
        "",
        ",",
        "win,win",
        "win:bit",
        "lower:uint16,upper:uint16",
    ),
    "space": ("all", "reachable", "ALL", "", "x"),
    "by": ("sum", "max", "sum,max", "max,sum", "", "x", "sum,sum"),
    "format": ("table", "csv", "json", "text", "", "x", "JSON"),
    "output": (
        "o.csv",
        "o.json",
        "o.txt",
        "o.parquet",
        "o.svg",
        "o.dot",
        "o",
        "nowhere/o.csv",
        "",
        ".",
        "/proc/x",
        "t",
        "/dev/full",
    ),
    "record": ("rec.json", "nowhere/rec", "", "t"),
    "work": ("w", "r", "t", "nowhere/w", "", ".", "/proc/w", "l.seg"),
    "kind": ("afterstates", "states", "x", ""),
    "keep": ("counts", "states", "afterstates", "", "x"),
    "up_to": ("8", "20", "0", "-1", "7", "99999999999999999999", "x"),
    "down_to": ("8", "20", "0", "-1", "7", "99999999999999999999", "x"),
    "budget": ("1s", "1", "0", "-1", "1e3", "2x", "", "nan", "1e-9s"),
    "engine": ("search", "dense", "reachable", "", "x"),
    "spawns": ("2,4", "2", "4", "4,2", "", "8", "2,2", "x"),
    "above": ("0.1", "0", "1", "-1", "2", "nan", "inf", "x", ""),
    "games": ("3", "0", "-1", "99999999999999999999", "x"),
    "sample": ("5", "0", "-1", "99999999999999999999", "x"),
    "seed": ("0", "1", "-1", "99999999999999999999", "x"),
    "board": BOARDS,
    "sum": ("8", "20", "0", "-1", "7", "99999999999999999999", "x"),
    "at": ("8,0", "20,1", "0,99999", "-1,0", "7,99999999999999999999", "8", "x,y"),
    "within": ("1", "5", "0", "-1", "x"),
    "type": ("uint16", "uint32", "uint64", "float64", "", "x"),
    "direction": ("lower", "upper", "", "x"),
    "precision": ("1e-3", "0", "-1", "nan", "x"),
    "backend": ("threads", "cuda", "", "x"),
    "max_states": ("100", "0", "-1", "99999999999999999999", "x"),
    "policy": (
        "random",
        "greedy",
        "t",
        "nowhere",
        "os:getcwd",
        "json:dumps",
        "x:y",
        ":",
        "",
        "antigravity0:x",
    ),
    "table": PATHS,
    "path": PATHS,
    "layer": PATHS,
    "certificate": PATHS,
    "limit": ("10", "0", "-1", "x"),
}
HEAVY = {"goal": ("8", "16"), "games": ("3", "0", "-1", "x"), "budget": ("1s", "1", "2x", "")}
"""Values that keep a drawn small, mostly: it is answered, not refused."""


@cache
def commands() -> dict[str, list[tuple[tuple[str, ...], str, bool]]]:
    """For each command its options: names, the type that is shown, and whether it is an argument."""
    found: dict[str, list[tuple[tuple[str, ...], str, bool]]] = {}
    text = runpy.run_path(str(TABLES))["commands"](full=True)
    for name, body in re.findall(
        r"^## tilebase (.+?)\n(.*?)(?=^## |\Z)", text, flags=re.MULTILINE | re.DOTALL
    ):
        options = []
        for line in re.findall(r"^│ (?:\*  |   )?([A-Z-].*?)  ", body, flags=re.MULTILINE):
            names = tuple(re.findall(r"(?<!\S)--?[a-z][a-z-]*", line))
            kind = re.findall(r"\b(STR|INT|FLOAT|PATH)\b", line)
            if names:
                options.append((names, kind[0] if kind else "", line[0] != "-"))
        found[name] = options
    return found


def value_for(rng: random.Random, names: tuple[str, ...], kind: str) -> str:
    """A value for an option, likely or not."""
    name = names[0].lstrip("-").replace("-", "_")
    if rng.random() < 0.06:
        return rng.choice(WORDS)
    if name in HEAVY and rng.random() < 0.7:
        return rng.choice(HEAVY[name])
    if name == "shape" and rng.random() < 0.7:
        return rng.choice(SMALL_SHAPES)
    pool = POOL.get(name)
    if pool is None:
        pool = {"INT": ("1", "0", "-1", "x"), "FLOAT": ("0.5", "nan", "x"), "PATH": PATHS}.get(kind, WORDS)
    # The first values are the sensible ones.
    return rng.choice(pool[:3]) if rng.random() < 0.7 else rng.choice(pool)


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
    if "--output" in {one for names, _, _ in commands()[name] for one in names} and rng.random() < 0.3:
        words += ["-o", rng.choice(POOL["output"])]
    if rng.random() < 0.03:
        words.insert(
            rng.randint(0, len(words)), rng.choice(("--help", "--nonsense", "extra", "--version", "-x", ""))
        )
    if words[:1] == ["reproduce"]:
        words += ["--budget", "1s"]
    return [word.replace("\0", "") for word in words]


@cache
def place() -> dict[str, bytes]:
    """A folder with something of each kind."""
    files: dict[str, bytes] = {}
    for folder, name in (("t", "table"), ("d", "dense"), ("r", "run")):
        files |= {f"{folder}/{one}": data for one, data in flips.made(name).items()}
    table = flips.made("table")
    files["t.zip"] = flips.made("zip")["t.zip"]
    files["p.cert"] = flips.made("certificates")["16.cert"]
    files["l.seg"] = table["values/win/000.seg"]
    files["l.idx"] = table["values/win/layers.idx"]
    return files


def too_much(words: list[str]) -> bool:
    """Whether a command line asks for what may rightly take long."""
    text = " ".join(words)
    sizes = [int(size) for shape in re.findall(r"\b\d+(?:x\d+)+\b", text) for size in shape.split("x")[:4]]
    return (
        any(size > 3 for size in sizes) and len(sizes) > 1 and not re.search(r"\b[14]x[14]\b|33|9999", text)
    )


def attack(case: Case) -> None:
    """One command line."""
    words = command_line(case.rng)
    while too_much(words):
        words = command_line(case.rng)
    folder = case.folder / "here"
    put(folder, place())
    done = run(folder, words, seconds=SECONDS, limit=MEMORY)
    case.done[f"commands with status {done.status}"] += 1
    lines = f"tilebase {shlex.join(words)}"[:1500]
    if done.complaint:
        case.fail(f"{words[0]}: {done.complaint[:60]}", done.err[-700:] or done.complaint, lines)
    elif "--log" in words:
        pass  # its lines may be there, too
    elif done.status == 2 and done.err.strip().count("\n") > 0:
        case.fail(f"{words[0]}: not one sentence", done.err[:600], lines)
    elif done.status == 2 and len(done.err) > LONGEST:
        case.fail(f"{words[0]}: a very long sentence", done.err[:600], lines)
