"""Certificates that were changed and signed again: refused, or what they claim is true by the plain rules."""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import tempfile
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from attack.case import Case
from attack.rules import Board, Rules, TooLargeError
from tilebase import Game, force
from tilebase.check import RefusedError, check_certificate

GAMES: tuple[tuple[str, int, dict[str, Any]], ...] = (
    ("2x2", 8, {"start": "empty"}),
    ("2x2", 16, {"start": "empty"}),
    ("2x2", 8, {}),
    ("2x2", 16, {"four": 0, "start": "empty"}),
    ("2x2", 32, {"four": 1}),
    ("2x2", 16, {"limits": "8,8/8,4", "start": "empty"}),
    ("2x3", 16, {"start": "empty"}),
    ("2x3", 32, {"start": "2,4,0/8,16,0"}),
    ("2x3", 16, {"limits": "8,8,8/8,8,4", "start": "empty"}),
    ("1x5", 8, {"start": "empty"}),
    ("1x4", 8, {"four": 0, "start": "empty"}),
    ("1x2x2", 8, {"start": "empty"}),
)
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
MUTANTS = 20
"""Changed certificates in a case."""


@cache
def sound(number: int) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The header and the lines of a sound certificate."""
    shape, goal, options = GAMES[number]
    with tempfile.TemporaryDirectory(prefix="attack-") as temporary:
        path = Path(temporary) / "p.cert"
        force(Game(shape, goal, **options), threads=1, certificate=path)
        body = path.read_bytes().partition(b"\n")[2]
    head, *lines = gzip.decompress(body).decode().splitlines()
    return json.loads(head), tuple(lines)


def signed(header: dict[str, Any], lines: list[str]) -> bytes:
    """A certificate with the right checksum."""
    text = "\n".join([json.dumps(header), *lines]) + "\n"
    packed = gzip.compress(text.encode(), 1, mtime=0)
    return f"tilebase certificate 1 {hashlib.sha256(packed).hexdigest()}\n".encode() + packed


def mutate(rng: random.Random, header: dict[str, Any], lines: list[str]) -> str:
    """Change something in place; say what."""
    way = rng.choice(("drop", "change", "change", "double", "move", "header", "header", "insert"))
    if way == "header" or not lines:
        return mutate_header(rng, header)
    at = rng.randrange(len(lines))
    if way == "drop":
        line = lines.pop(at)
        return f"without the board {line}"
    if way == "double":
        lines.insert(at, lines[at])
        return f"the board {lines[at]} twice"
    if way == "move":
        other = rng.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
        return f"lines {at} and {other} exchanged"
    board, *drop = lines[at].split(" ")
    cell = rng.randrange(len(board))
    if drop and rng.random() < 0.6:
        drop = [str(rng.randrange(2 * len(board)))]
    else:
        board = board[:cell] + rng.choice("0123456") + board[cell + 1 :]
    new = " ".join([board, *drop])
    if way == "insert":
        lines.insert(at, new)
        return f"the board {new} added"
    old, lines[at] = lines[at], new
    return f"{old} changed to {new}"


def mutate_header(rng: random.Random, header: dict[str, Any]) -> str:
    name = rng.choice(("goal", "drops", "claim", "limits", "starts", "shape"))
    cells = 1
    for size in header["shape"].split("x"):
        cells *= int(size)
    choices: dict[str, list[Any]] = {
        "goal": [8, 16, 32],
        "drops": [[2], [4], [2, 4]],
        "claim": ["forced", "not forced"],
        "limits": [None, [rng.choice((4, 8, 16)) for _ in range(cells)]],
        "starts": [
            [],
            ["".join(rng.choice("00123") for _ in range(cells)) for _ in range(rng.randint(1, 2))],
        ],
        "shape": ["2x2", "1x4", "4x1", "2x3", "3x2", "1x2x2", "2x1x2", "1x6"],
    }
    header[name] = rng.choice(choices[name])
    return f"{name} = {header[name]}"


def is_true(header: dict[str, Any]) -> bool | None:
    """Whether what a header claims is so, by the plain rules; None if that takes too long."""
    shape = tuple(int(size) for size in header["shape"].split("x"))
    drops, limits = header["drops"], header["limits"]
    four = {(2,): Fraction(0), (4,): Fraction(1), (2, 4): Fraction(1, 10)}[tuple(drops)]
    rules = Rules(
        shape, header["goal"], four, "empty", None if limits is None else tuple(limits), most=60_000
    )
    boards = [tuple(2 ** DIGITS.index(e) if e != "0" else 0 for e in start) for start in header["starts"]]
    try:
        if not boards:
            won = [bool(rules.value[1])]
        else:
            won = [bool(state_of(rules, board)) for board in boards]
    except TooLargeError:
        return None
    return all(won) if header["claim"] == "forced" else not any(won)


def state_of(rules: Rules, board: Board) -> Fraction:
    return rules.state(board)[1]


def attack(case: Case) -> None:
    """Some changed certificates of one game."""
    number = case.rng.randrange(len(GAMES))
    path = case.folder / "p.cert"
    for _ in range(MUTANTS):
        header, boards = sound(number)
        header, lines = json.loads(json.dumps(header)), list(boards)
        history = "; ".join(mutate(case.rng, header, lines) for _ in range(case.rng.choice((1, 1, 1, 2, 4))))
        if case.rng.random() < 0.8:
            header["boards"] = len(lines)
        if case.rng.random() < 0.5:  # in the order of their sums again
            lines.sort(key=lambda line: sum(2 ** DIGITS.index(e) for e in line.split(" ")[0] if e != "0"))
        path.write_bytes(signed(header, lines))
        shown = (
            f"the certificate of Game{GAMES[number]!r}: {history}; signed again, header {json.dumps(header)}"
        )
        case.done["certificates"] += 1
        try:
            claimed = check_certificate(path)
        except RefusedError:
            continue
        except Exception as error:
            case.fail(f"check: {type(error).__name__}", str(error), shown)
            continue
        case.done["accepted"] += 1
        case.expect(claimed == header, "check: another header", f"{claimed}", shown)
        case.expect(is_true(header) is not False, "check: a false certificate", "it is accepted", shown)
