"""Flipped, cut, exchanged and lost files: somebody notices, or every answer is right."""

from __future__ import annotations

import random
import tempfile
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from attack.case import Case
from attack.processes import contents, put
from tilebase import Game, count, force, open_table, solve, symbolic, thin, verify_table
from tilebase.check import RefusedError
from tilebase.errors import TilebaseError
from tilebase.files.run import verify_run
from tilebase.small import oracle

GAME, OTHER, LARGER = Game("2x3", 16), Game("2x3", 16, spawn="1/5"), Game("2x3", 32)
OBJECTIVES = "win,lower,guaranteed"
Files = dict[str, bytes]
LAYERS = (".idx", ".seg")
"""How the names of files of layers end."""
FOREIGN = {
    "table": ["other", "larger", "moves", "thin"],
    "dense": ["dense other", "table"],
    "thin": ["table", "other"],
}
"""From which tables files are taken."""


def attack(case: Case) -> None:
    """Damage one thing of a table or run, and ask everybody who reads it."""
    kind = case.rng.choice(("table", "table", "dense", "thin", "run", "run"))
    (attack_run if kind == "run" else attack_table)(case, kind)
    case.done["damaged"] += 1


# -- what there is to damage --------------------------------------------------------------------------


@cache
def made(name: str) -> Files:
    """The sound files of a target."""
    with tempfile.TemporaryDirectory(prefix="attack-") as temporary:
        folder = Path(temporary) / "t"
        MAKERS[name](folder)
        return contents(folder)


def _zip(folder: Path) -> None:
    folder.mkdir()
    with zipfile.ZipFile(folder / "t.zip", "w") as archive:
        for name, data in made("table").items():
            if not name.endswith("/"):
                archive.writestr(name, data)


def _thin(folder: Path) -> None:
    put(folder.parent / "whole", made("table"))
    thin(folder.parent / "whole", folder, above=0.001)


def _certificates(folder: Path) -> None:
    folder.mkdir()
    for goal in (16, 32):
        force(Game("2x3", goal, start="empty"), threads=1, certificate=folder / f"{goal}.cert")


MAKERS: dict[str, Callable[[Path], Any]] = {
    "table": lambda folder: solve(GAME, OBJECTIVES, table=folder, threads=1),
    "other": lambda folder: solve(OTHER, OBJECTIVES, table=folder, threads=1),
    "larger": lambda folder: solve(LARGER, OBJECTIVES, table=folder, threads=1),
    "moves": lambda folder: solve(GAME, "moves", table=folder, threads=1),
    "dense": lambda folder: solve(GAME, OBJECTIVES, table=folder, threads=1, space="all"),
    "dense other": lambda folder: solve(OTHER, OBJECTIVES, table=folder, threads=1, space="all"),
    "run": lambda folder: count(GAME, folder=folder, keep="states", threads=1),
    "run other": lambda folder: count(LARGER, folder=folder, keep="states", threads=1),
    "thin": _thin,
    "zip": _zip,
    "certificates": _certificates,
    "winning": lambda folder: symbolic(GAME, export=folder),
}


# -- damage -------------------------------------------------------------------------------------------


def damage(rng: random.Random, files: Files, foreign: list[Files]) -> str:
    """Damage some files in place; say how."""
    name = rng.choice([name for name in files if not name.endswith("/")])
    data = files[name]
    way = rng.choice(("flip", "flip", "cut", "append", "zeros", "delete", "swap", "exchange", "folder"))
    if way == "delete":
        del files[name]
        return f"{name} deleted"
    if way == "swap":
        like = [one for one in files if Path(one).suffix == Path(name).suffix]
        other = rng.choice(like)
        files[name], files[other] = files[other], files[name]
        return f"{name} and {other} exchanged"
    if way in ("exchange", "folder"):
        return exchange(rng, files, name, foreign, whole=way == "folder")
    place = rng.randrange(len(data) + 1)
    behind = data[place:]
    if way == "flip" and behind:
        behind = bytes([behind[0] ^ rng.randrange(1, 256)]) + behind[1:]
    elif way == "cut":
        behind = b""
    elif way == "append":
        place, behind = len(data), rng.randbytes(rng.randint(1, 40))
    elif way == "zeros":
        size = rng.randint(0, len(behind))
        behind = bytes(size) + behind[size:]
    files[name] = data[:place] + behind
    return f"{name}: {way} at byte {place}"


def exchange(rng: random.Random, files: Files, name: str, foreign: list[Files], *, whole: bool) -> str:
    """Take a file, everything of the same sum, or the values of another objective, from another table."""
    source, parent = rng.choice(foreign), Path(name).parent.as_posix()
    real = [one for one in source if not one.endswith("/")]
    if whole and parent.startswith("values/") and rng.random() < 0.5:
        theirs = rng.choice(
            sorted({Path(one).parent.as_posix() for one in real if one.startswith("values/")})
        )
        files |= {f"{parent}/{Path(one).name}": source[one] for one in real if one.startswith(f"{theirs}/")}
        return f"the files of {theirs} of another table put into {parent}"
    stem = Path(name).stem
    files |= {
        one: source[one]
        for one in real
        if (Path(one).stem == stem and one in files if whole else one == name)
    }
    return f"{f'all files {stem}' if whole else name} taken from another table"


def differing(files: Files, sound: Files) -> list[str]:
    """The files that are not as they were.  Bytes behind the last layer of a folder are nobody's."""
    return [
        one
        for one in sorted({*files, *sound})
        if files.get(one) != sound.get(one)
        and not (one.endswith(LAYERS) and one in sound and files.get(one, b"").startswith(sound[one]))
    ]


# -- who reads it -------------------------------------------------------------------------------------


def quietly(case: Case, where: str, lines: str, function: Callable[[], Any]) -> Any:
    """What a call gives, or None if it is refused; anything but a sentence of tilebase is a failure."""
    try:
        return function()
    except (TilebaseError, RefusedError) as error:
        sentence = bool(str(error)) and "\n" not in str(error)
        case.expect(sentence, f"{where}: not a sentence", repr(str(error)), lines)
    except Exception as error:
        case.fail(f"{where}: {type(error).__name__}", f"{error}", lines)
    return None


@cache
def answers(name: str) -> dict[tuple[str, str], Any]:
    """Every objective's answer on each state that occurs, by the sound table."""
    found = {}
    with tempfile.TemporaryDirectory(prefix="attack-") as temporary:
        put(Path(temporary), made(name))
        with open_table(Path(temporary)) as table:
            states = [GAME.format(s) for layer in oracle.reachable(GAME).values() for s in layer.states]
            for label in table.manifest.labels:
                found |= {(text, label): facts(table.get(text, None, label)) for text in states}
                found["start", label] = table.start[label]
    return found


def facts(answer: Any) -> Any:
    """What an answer says, whatever else is in the manifest."""
    slides = answer and [(slide.direction, slide.value, slide.wins) for slide in answer.slides]
    return answer and (answer.board.text, answer.value, answer.best, slides)


def ask(case: Case, place: Path, name: str, where: str, lines: str) -> None:
    """Every answer of a table is the sound one's, or refused."""
    right = answers(name)
    table = quietly(case, where, lines, lambda: open_table(place))
    if table is None:
        return
    asked = [key for key in right if key[0] == "start"] + case.rng.sample([*right], min(len(right), 60))
    with table:
        for text, label in asked:
            here = f"{lines}; probe {text} {label}"

            def one(text: str = text, label: str = label) -> Any:
                return table.start[label] if text == "start" else facts(table.get(text, None, label))

            found = quietly(case, where, here, one)
            wanted = right[text, label]
            good = found is None or found == wanted
            if not case.expect(good, f"{where}: another answer", f"{found}, not {wanted}", here):
                return


def attack_table(case: Case, name: str) -> None:
    """A folder with a table: verify notices damaged layers, and solving again is right or refused."""
    files, sound, foreign = dict(made(name)), made(name), [made(one) for one in FOREIGN[name]]
    if case.rng.random() < 0.4:
        one = case.rng.choice([one for one in files if one.endswith((*LAYERS, ".jsonl"))])
        history = exchange(case.rng, files, one, foreign, whole=case.rng.random() < 0.7)
    else:
        history = damage(case.rng, files, foreign)
    folder = case.folder / "t"
    put(folder, files)
    lines = f"a table ({name}) of 2x3 to 16, {OBJECTIVES}: {history}"
    found = quietly(case, "verify", lines, lambda: verify_table(folder, sample=10))
    must = any(one.endswith(LAYERS) for one in differing(files, sound))
    case.expect(
        found is None or bool(found.wrong) or not must, "verify", "nothing is said to be wrong", lines
    )
    ask(case, folder, name, f"probe, {name}", lines)
    if name == "thin":
        return
    space = "all" if name == "dense" else "reachable"
    lines = f"{lines}; then solve(game, {OBJECTIVES!r}, table=..., space={space!r}) again"
    again = quietly(
        case, "solve again", lines, lambda: solve(GAME, OBJECTIVES, table=folder, space=space, threads=1)
    )
    if again is not None:
        wanted = [answers(name)["start", one.label] for one in again.objectives]
        case.expect([*again.start.values()] == wanted, "solve again: other values", f"{again.start}", lines)
        ask(case, folder, name, f"probe after solving again, {name}", lines)


def attack_run(case: Case, name: str) -> None:
    """A folder of a run: verify notices, and counting again makes what is missing."""
    files, sound, folder = dict(made(name)), made(name), case.folder / "t"
    lines = f"a run of 2x3 to 16, keep states: {damage(case.rng, files, [made('run other')])}"
    put(folder, files)
    changed = [one for one in differing(files, sound) if one != "lock"]
    wrong = quietly(case, "verify a run", lines, lambda: verify_run(folder))
    noticed = wrong is None or bool(wrong)
    case.expect(noticed or not changed, "verify a run", "nothing is said to be wrong", lines)
    result = quietly(case, "count again", lines, lambda: count(GAME, folder=folder, keep="states", threads=1))
    if result is not None:
        wanted = oracle.count(GAME).totals
        case.expect(result.totals == wanted, "count again: another answer", f"{result.totals}", lines)
        # A layer that is made again lies behind the others.
        left = {*differing(contents(folder), sound)} & sound.keys() - {"lock"}
        left = {one for one in left if not one.endswith(LAYERS)}
        case.expect(not left or not verify_run(folder).sound, "count again: other files", f"{left}", lines)
