"""Certificates that were changed and signed again: refused, or what they claim is true by the plain rules."""

from __future__ import annotations

import gzip
import hashlib
import json
import random
from math import prod
from pathlib import Path
from typing import Any

import second_reader
from attack.case import Case
from attack.random_games import random_game
from attack.rules import MEASURES, TooLargeError
from conformance.engines import can_be_certified
from conformance.games import SMALL_GAMES
from tilebase import Game, UsageError, force
from tilebase.check import RefusedError, check_certificate

GAMES = [game for game in SMALL_GAMES if can_be_certified(game)]
GUARANTEED = list(MEASURES).index("guaranteed")
MUTANTS = 20
"""Changed certificates in a case."""
NAMES = (
    *("shape", "goal", "drops", "limits", "starts", "claim", "boards"),
    *("goal_sum", "x", "horizon", "masks", "patterns", "afterstates"),
)
"""The names of a header in their order."""


def sound(rng: random.Random, folder: Path) -> tuple[str, dict[str, Any], list[str]]:
    """A game, and the header and the lines of its certificate: a small game, or a random formation."""
    while rng.random() < 0.6:
        drawn = random_game(rng, formation=True, spawn=rng.choice((0, 1, "1/10", "1/10")))
        try:
            return drawn.lines, *certificate(drawn.game, folder)
        except UsageError:  # a game that is not asked: a score, walls, the start of none
            continue
    game = rng.choice(GAMES)
    return repr(game), *certificate(game, folder)


def certificate(game: Game, folder: Path) -> tuple[dict[str, Any], list[str]]:
    """The header and the lines of the certificate of a game.  Raises `UsageError` if it has none."""
    path = folder / "sound.cert"
    force(game, threads=1, certificate=path)
    head, *lines = gzip.decompress(path.read_bytes().partition(b"\n")[2]).decode().splitlines()
    return json.loads(head), lines


def signed(header: dict[str, Any], lines: list[str]) -> bytes:
    """A certificate with the right checksum."""
    header = {name: header[name] for name in NAMES if name in header}
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
        board = board[:cell] + rng.choice("0123456x") + board[cell + 1 :]
    new = " ".join([board, *drop])
    if way == "insert":
        lines.insert(at, new)
        return f"the board {new} added"
    old, lines[at] = lines[at], new
    return f"{old} changed to {new}"


def mutate_header(rng: random.Random, header: dict[str, Any]) -> str:
    cells = prod(int(size) for size in header["shape"].split("x"))
    boards = ["".join(rng.choice("00123x") for _ in range(cells)) for _ in range(rng.randint(1, 2))]
    choices: dict[str, list[Any]] = {
        "goal": [None, 8, 16, 32],
        "drops": [[2], [4], [2, 4]],
        "claim": ["forced", "not forced"],
        "limits": [None, [rng.choice((4, 8, 16)) for _ in range(cells)]],
        "starts": [[], boards],
        "goal_sum": [rng.randrange(4, 60)],
        "x": [0, 1, 2, rng.randrange(cells)],
        "horizon": [rng.randrange(4, 80), 2 * rng.randrange(2, 40)],
        "masks": [[], ["".join(rng.choice("..x") for _ in range(cells))]],
        "patterns": [[], ["".join(rng.choice("*****0234x") for _ in range(cells))]],
        "afterstates": [[], boards],
        "shape": ["2x2", "1x4", "4x1", "2x3", "3x2", "1x2x2", "2x1x2", "1x6"],
    }
    name = rng.choice([*header, *choices])  # names that the header has are drawn twice as often
    if name in NAMES[7:] and name in header and rng.random() < 0.3:
        del header[name]
        return f"without {name}"
    if name == "boards":
        name = "claim"
    header[name] = rng.choice(choices[name])
    return f"{name} = {header[name]}"


def is_true(header: dict[str, Any]) -> bool | None:
    """Whether what a header claims is so, by the plain rules; None if that takes too long."""
    rules, starts, afters = second_reader.certified(header)
    rules.most = 60_000
    try:
        won = [rules.has_sum(start) or bool(rules.state(start)[GUARANTEED]) for start in starts]
        won += [bool(rules.after(after)[GUARANTEED]) for after in afters]
    except TooLargeError:
        return None
    return all(won) if header["claim"] == "forced" else not any(won)


def attack(case: Case) -> None:
    """Some changed certificates of one game."""
    lines_of_game, whole, boards = sound(case.rng, case.folder)
    path = case.folder / "p.cert"
    for mutant in range(MUTANTS):
        header, lines = json.loads(json.dumps(whole)), list(boards)
        changes = case.rng.choice((1, 1, 1, 2, 4)) if mutant else 0  # the first is as it was
        history = "; ".join(mutate(case.rng, header, lines) for _ in range(changes))
        if case.rng.random() < 0.8:
            header["boards"] = len(lines)
        if case.rng.random() < 0.5:  # in the order of their sums again
            lines.sort(key=lambda line: sum(1 << int(e, 36) for e in line.split(" ")[0] if e not in "0x"))
        path.write_bytes(signed(header, lines))
        shown = f"{lines_of_game}; its certificate: {history}; signed again, header {json.dumps(header)}"
        case.done["certificates"] += 1
        case.done["of formations"] += any(name in whole for name in NAMES[7:])
        try:
            claimed = check_certificate(path)
        except RefusedError as error:
            case.expect(bool(mutant), "check: a sound certificate is refused", str(error), shown)
            continue
        except Exception as error:
            case.fail(f"check: {type(error).__name__}", str(error), shown)
            continue
        case.done["accepted"] += 1
        case.expect(claimed == header, "check: another header", f"{claimed}", shown)
        case.call("second reader", shown, second_reader.check_certificate, path.read_bytes())
        case.expect(is_true(header) is not False, "check: a false certificate", "it is accepted", shown)
