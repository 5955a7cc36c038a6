"""Flipped, cut, exchanged and lost files: somebody notices, or every answer is right."""

from __future__ import annotations

import io
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
from tilebase.check import RefusedError, check_certificate
from tilebase.errors import TilebaseError
from tilebase.files.format import Contents
from tilebase.files.layers import LayerFolder
from tilebase.files.run import verify_run
from tilebase.objectives.objective import Objective
from tilebase.small import oracle

GAME = Game("2x3", 16)
OTHER = Game("2x3", 16, spawn="1/5")
LARGER = Game("2x3", 32)
OBJECTIVES = "win,lower,guaranteed"
Files = dict[str, bytes]
LAYERS = (".idx", ".seg")
"""How the names of files of layers end."""


def attack(case: Case) -> None:
    """Damage one thing in one or two ways, and ask everybody who reads it."""
    kind = case.rng.choice(tuple(TARGETS))
    TARGETS[kind](case, kind)


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
    names = [name for name in files if not name.endswith("/")]
    name = rng.choice(names)
    data = files[name]
    way = rng.choice(
        ("flip", "flip", "flip", "byte", "cut", "append", "zeros", "delete", "swap", "exchange", "folder")
    )
    if way == "flip" and data:
        place, bit = rng.randrange(len(data)), rng.randrange(8)
        files[name] = data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :]
        return f"bit {bit} of byte {place} of {name} flipped"
    if way == "byte" and data:
        place, value = rng.randrange(len(data)), rng.randrange(256)
        files[name] = data[:place] + bytes([value]) + data[place + 1 :]
        return f"byte {place} of {name} set to {value}"
    if way == "cut" and data:
        size = rng.randrange(len(data))
        files[name] = data[:size]
        return f"{name} cut to {size} bytes"
    if way == "append":
        files[name] = data + rng.randbytes(rng.randint(1, 40))
        return f"bytes appended to {name}"
    if way == "zeros" and data:
        place = rng.randrange(len(data))
        size = rng.randint(1, len(data) - place)
        files[name] = data[:place] + bytes(size) + data[place + size :]
        return f"{size} bytes of {name} from {place} set to 0"
    if way == "delete":
        del files[name]
        return f"{name} deleted"
    if way == "swap":
        return swap(rng, files, name)
    return exchange(rng, files, name, foreign, whole=way == "folder")


def swap(rng: random.Random, files: Files, name: str) -> str:
    """Exchange two files of the same kind."""
    like = [one for one in files if one != name and Path(one).suffix == Path(name).suffix]
    if not like:
        return "nothing"
    other = rng.choice(like)
    files[name], files[other] = files[other], files[name]
    return f"{name} and {other} exchanged"


def exchange(rng: random.Random, files: Files, name: str, foreign: list[Files], *, whole: bool) -> str:
    """Take a file, or everything of the same sum, or a whole folder, from another table."""
    if not foreign:
        return "nothing"
    source = rng.choice(foreign)
    stem, parent = Path(name).stem, Path(name).parent.as_posix()
    if whole and rng.random() < 0.5:  # values of another objective under this name
        theirs = rng.choice(
            sorted({Path(one).parent.as_posix() for one in source if one.startswith("values/")}) or [""]
        )
        taken = {
            f"{parent}/{Path(one).name}": data
            for one, data in source.items()
            if theirs and one.startswith(f"{theirs}/") and not one.endswith("/")
        }
        taken = {one: data for one, data in taken.items() if parent.startswith("values/")}
        text = f"the files of {theirs} of another table put into {parent}"
    elif whole:
        taken = {
            one: data
            for one, data in source.items()
            if Path(one).stem == stem and one in files and not one.endswith("/")
        }
        text = f"all files {stem} taken from another table"
    else:
        taken = {name: source[name]} if name in source else {}
        text = f"{name} taken from another table"
    files.update(taken)
    return text if taken else "nothing"


def differing(files: Files, sound: Files) -> list[str]:
    """The files that are not as they were.  Bytes behind the last layer of a folder are nobody's."""
    return [
        one
        for one in sorted({*files, *sound})
        if files.get(one) != sound.get(one)
        and not (one.endswith(LAYERS) and one in sound and files.get(one, b"").startswith(sound[one]))
    ]


# -- who reads it -------------------------------------------------------------------------------------


def quietly(function: Callable[[], Any]) -> tuple[Any, Exception | None]:
    """What a call gives, or how it fails."""
    try:
        return function(), None
    except Exception as error:
        return None, error


def refused(case: Case, where: str, error: Exception | None, lines: str) -> bool:
    """Whether it was refused; anything but an error of tilebase is a failure."""
    if error is None:
        return False
    if not isinstance(error, TilebaseError | RefusedError):
        case.fail(f"{where}: {type(error).__name__}", f"{error}", lines)
    elif "\n" in str(error) or not str(error):
        case.fail(f"{where}: not a sentence", repr(str(error)), lines)
    return True


@cache
def answers(name: str) -> dict[tuple[str, str], Any]:
    """Every objective's answer on each state that occurs, by the sound table."""
    found = {}
    with tempfile.TemporaryDirectory(prefix="attack-") as temporary:
        put(Path(temporary), made(name))
        place = Path(temporary) / "t.zip" if name == "zip" else Path(temporary)
        with open_table(place) as table:
            states = [s for layer in oracle.reachable(GAME).values() for s in layer.states]
            for state in states:
                for label in table.manifest.labels:
                    found[GAME.format(state), label] = table.get(GAME.format(state), None, label)
            for label in table.manifest.labels:
                found["start", label] = table.start[label]
    return found


def ask(case: Case, place: Path, name: str, where: str, lines: str) -> None:
    """Every answer of a table is the sound one's, or refused."""
    right = answers(name)
    table, error = quietly(lambda: open_table(place))
    if refused(case, where, error, lines):
        return
    asked = case.rng.sample(list(right.items()), min(len(right), 60))
    asked += [(key, value) for key, value in right.items() if key[0] == "start"]
    with table:
        for (text, label), wanted in asked:
            if text == "start":
                found, error = quietly(lambda label=label: table.start[label])
            else:
                found, error = quietly(lambda text=text, label=label: table.get(text, None, label))
            if refused(case, where, error, f"{lines}; probe {text} {label}"):
                continue
            if found is None:
                continue
            same = found == wanted if text == "start" else facts(found) == facts(wanted)
            if not case.expect(
                same,
                f"{where}: another answer",
                f"{text}, {label}: {told(found)} instead of {told(wanted)}",
                lines,
            ):
                return
    case.done["tables asked"] += 1


def told(answer: Any) -> str:
    """An answer in a few words."""
    return str(getattr(answer, "value", answer))


def facts(answer: Any) -> Any:
    """What an answer says, whatever else is in the manifest."""
    if answer is None:
        return None
    return (
        answer.board.text,
        answer.value,
        answer.best,
        [(s.direction, s.value, s.wins) for s in answer.slides],
    )


def attack_table(case: Case, name: str) -> None:
    """A folder with a table."""
    foreign = {
        "table": ["other", "larger", "moves", "thin"],
        "dense": ["dense other", "table"],
        "thin": ["table", "other"],
    }
    files, others = dict(made(name)), [made(one) for one in foreign[name]]
    if case.rng.random() < 0.4:
        one = case.rng.choice([one for one in files if one.endswith((*LAYERS, ".jsonl"))])
        history = [exchange(case.rng, files, one, others, whole=case.rng.random() < 0.7)]
    else:
        history = [damage(case.rng, files, others)]
    folder = case.folder / "t"
    put(folder, files)
    lines = f"a table ({name}) of 2x3 to 16, {OBJECTIVES}: {', '.join(history)}"
    sound = made(name)
    changed = differing(files, sound)
    found, error = quietly(lambda: verify_table(folder, sample=10))
    noticed = refused(case, "verify", error, lines) or bool(found.wrong)
    must = any(one.endswith(LAYERS) for one in changed)
    where = f"verify, {Path(changed[0]).suffix if changed else ''}"
    case.expect(noticed or not must, where, "nothing is said to be wrong", lines)
    ask(case, folder, name, f"probe, {name}", lines)
    case.done["damaged"] += 1
    if name != "thin" and case.rng.random() < 0.6:
        solve_again(case, folder, name, lines)


def solve_again(case: Case, folder: Path, name: str, lines: str) -> None:
    """Solving again refuses, or what it then signs is right."""
    space = "all" if name == "dense" else "reachable"
    lines = f"{lines}; then solve(game, {OBJECTIVES!r}, table=..., space={space!r}) again"
    solution, error = quietly(lambda: solve(GAME, OBJECTIVES, table=folder, space=space, threads=1))
    if refused(case, f"solve again, {name}", error, lines):
        return
    right = answers(name)
    for one, value in zip(solution.objectives, solution.start.values(), strict=True):
        wanted = right["start", one.label]
        case.expect(
            value == wanted, f"solve again, {name}: another answer", f"{value} instead of {wanted}", lines
        )
    ask(case, folder, name, f"probe after solving again, {name}", lines)
    case.done["solved again"] += 1


def attack_run(case: Case, name: str) -> None:
    """A folder of a run."""
    files = dict(made("run"))
    history = damage(case.rng, files, [made("run other")])
    folder = case.folder / "t"
    put(folder, files)
    lines = f"a run of 2x3 to 16, keep states: {history}"
    sound = made("run")
    changed = [one for one in differing(files, sound) if one != "lock"]
    wrong, error = quietly(lambda: verify_run(folder))
    noticed = refused(case, "verify a run", error, lines) or bool(wrong)
    case.expect(noticed or not changed, "verify a run", "nothing is said to be wrong", lines)
    result, error = quietly(lambda: count(GAME, folder=folder, keep="states", threads=1))
    if not refused(case, "count again", error, lines):
        wanted = oracle.count(GAME).totals
        case.expect(
            result.totals == wanted,
            "count again: another answer",
            f"{result.totals} instead of {wanted}",
            lines,
        )
        # A layer that is made again lies behind the others.
        left = {
            one
            for one in set(differing(contents(folder), sound)) & sound.keys() - {"lock"}
            if not one.endswith((".seg", ".idx"))
        }
        what = f"{sorted(left)[:3]} are not what they were"
        case.expect(not left or not verify_run(folder).sound, "count again: other files", what, lines)
    case.done["damaged"] += 1


def attack_zip(case: Case, name: str) -> None:
    """A table in a zip file: a flip of a byte, or a member of another table."""
    data = made("zip")["t.zip"]
    files = {"t.zip": data}
    if case.rng.random() < 0.3:
        members = {one: content for one, content in made("table").items() if not one.endswith("/")}
        history = damage(case.rng, members, [made("other"), made("moves")])
        raw = io.BytesIO()
        with zipfile.ZipFile(
            raw, "w", case.rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
        ) as archive:
            for one, content in members.items():
                archive.writestr(one, content)
        files["t.zip"] = raw.getvalue()
    else:
        # Most of what decides is at the end.
        if case.rng.random() < 0.5:
            place = len(data) - 1 - case.rng.randrange(4000)
            files["t.zip"] = (
                data[:place] + bytes([data[place] ^ 1 << case.rng.randrange(8)]) + data[place + 1 :]
            )
            history = f"byte {place} of t.zip changed"
        else:
            history = damage(case.rng, files, [])
    put(case.folder, files)
    lines = f"a zip of a table of 2x3 to 16, {OBJECTIVES}: {history}"
    _, error = quietly(lambda: verify_table(case.folder / "t.zip", sample=10))
    refused(case, "verify a zip", error, lines)
    ask(case, case.folder / "t.zip", "zip", "probe a zip", lines)
    case.done["damaged"] += 1


def attack_layer(case: Case, name: str) -> None:
    """A folder of layers, which is read without the manifest and the journal."""
    sound = made("table")
    parent = case.rng.choice([f"values/{one}" for one in OBJECTIVES.split(",")])
    files = {one: sound[one] for one in sound if one.endswith(LAYERS) and one.startswith(f"{parent}/")}
    history = damage(case.rng, files, [made("other"), made("larger")])
    put(case.folder / "here", files)
    lines = f"{parent} of a table of 2x3 to 16: {history}"
    contents = Contents(GAME, objective=Objective(parent.partition("/")[2]))
    right = stored_boards(parent)

    def read() -> LayerFolder:
        return LayerFolder(case.folder / "here" / parent, contents)

    layers, error = quietly(read)
    case.done["damaged"] += 1
    if refused(case, "read layers", error, lines):
        return
    with layers:
        for total in layers.sums():
            found, error = quietly(lambda total=total: boards_of(layers, total))
            if not refused(case, "read a layer", error, lines):
                same = found == right.get(total)
                case.expect(same, "read a layer: unnoticed", f"other boards of sum {total}", lines)


def boards_of(layers: LayerFolder, total: int) -> dict[int, Any]:
    """The boards of a layer, with their values."""
    layer = layers.layer(total)
    layer.verify()
    return {
        key: value
        for keys, values in map(layer.both, range(layer.chunks))
        for key, value in zip(keys.tolist(), values.tolist(), strict=True)
    }


@cache
def stored_boards(parent: str) -> dict[int, dict[int, Any]]:
    """What the sound folder of an objective holds, by sum."""
    with tempfile.TemporaryDirectory(prefix="attack-") as temporary:
        put(Path(temporary), made("table"))
        contents = Contents(GAME, objective=Objective(parent.partition("/")[2]))
        with LayerFolder(Path(temporary) / parent, contents) as layers:
            return {total: boards_of(layers, total) for total in layers.sums()}


def attack_certificate(case: Case, name: str) -> None:
    """Any changed byte of a certificate is refused."""
    sound = made("certificates")
    goal = case.rng.choice(("16.cert", "32.cert"))
    files = {goal: sound[goal]}
    history = damage(case.rng, files, [])
    put(case.folder, files)
    lines = f"the certificate of 2x3 to {goal}: {history}"
    if goal not in files:
        return
    _, error = quietly(lambda: check_certificate(case.folder / goal))
    case.done["damaged"] += 1
    if not refused(case, "check", error, lines):
        case.expect(files == {goal: sound[goal]}, "check: unnoticed", "a changed file is accepted", lines)


TARGETS: dict[str, Callable[[Case, str], None]] = {
    "table": attack_table,
    "dense": attack_table,
    "thin": attack_table,
    "run": attack_run,
    "zip": attack_zip,
    "layer": attack_layer,
    "certificate": attack_certificate,
}
