"""The folder of a run: what was asked, which layers are done, and how to go on after a kill.

    run.json            the question: game, lookahead, what is kept, format, checksum
    counts.jsonl        one line a finished layer, with a checksum; the order of truth
    afterstates/S.tbl   afterstates of sum S (docs/format.md)
    states/S.tbl        states of sum S, if they are kept
    lock                held by the process that writes here

A layer counts as finished when its line in counts.jsonl is complete; its files were
renamed into place before.  Whatever a kill leaves beyond the last complete line is made
again, with the same bytes.
"""

from __future__ import annotations

import fcntl
import json
import os
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tilebase.counts import STORED
from tilebase.documents import mapping, parse_json, shown, understood, whole
from tilebase.errors import CorruptError, GameError, MissingLayerError, StorageError, WrongGameError
from tilebase.game import Game
from tilebase.tables.format import LayerFile, sync_folder
from tilebase.tables.source import read_file
from tilebase.tables.verify import Findings, StopCheckError

VERSION = 1
MOST_JOURNAL = 1 << 28
"""Bytes of a journal; a layer has a line of less than 1 kB."""
MOST_SUM = 1 << 31
"""No board has so large a sum."""
KEEP = ("counts", "afterstates", "states")
"""What stays when a run is done; each holds what those before it hold."""
BEFORE_MANIFEST = ("lock", ".run.json.part")
"""What a run that was killed at once may leave in a folder without a manifest."""


@dataclass(frozen=True)
class Question:
    """What a run computes.  Two runs with equal questions give identical files."""

    game: Game
    lookahead: bool = False
    keep: str = "counts"

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "format": "tilebase run",
            "version": VERSION,
            "game": self.game.identity,
            "lookahead": self.lookahead,
            "keep": self.keep,
        }

    @property
    def text(self) -> str:
        """What run.json holds: the question and its checksum."""
        question = self.as_dict()
        check = zlib.crc32(json.dumps(question, sort_keys=True).encode())
        return json.dumps(question | {"check": f"{check:08x}"}, indent=1, sort_keys=True) + "\n"


class Journal:
    """Lines of JSON with checksums, appended one by one: what is finished, in order."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: Any = None

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def read(self) -> list[dict[str, Any]]:
        """All lines, in order; a torn last line is cut off.

        Raises `CorruptError` if an earlier line is damaged.
        """
        if not self.path.exists():
            return []
        data = read_file(self.path, MOST_JOURNAL)
        lines, good = read_journal(data, self.path)
        if good < len(data):
            os.truncate(self.path, good)
        return lines

    def clear(self) -> None:
        """Forget all lines."""
        self.close()
        self.path.unlink(missing_ok=True)

    def append(self, line: dict[str, Any], *, durable: bool) -> None:
        """Declare something finished.  Raises `StorageError`."""
        text = json.dumps(line, sort_keys=True, separators=(",", ":"))
        try:
            if self._file is None:
                self._file = self.path.open("ab", buffering=0)
            data = f"{text}\t{zlib.crc32(text.encode()):08x}\n".encode()
            while data:  # a disk that becomes full may take a part first
                data = data[self._file.write(data) :]
            if durable:
                os.fsync(self._file.fileno())
        except OSError as error:
            raise StorageError(f"cannot write {self.path}: {error.strerror or error}") from error


class RunFolder:
    """A folder that one process fills, layer by layer.

    Raises
    ------
    WrongGameError
        If the folder holds the answer to another question, or files that are no run.
    StorageError
        If it cannot be written, or another process is writing it.
    """

    def __init__(self, path: Path, question: Question) -> None:
        self.path = path
        self.question = question
        self.journal = Journal(path / "counts.jsonl")
        try:
            self._prepare()
        except OSError as error:
            raise StorageError(f"cannot use {path}: {error.strerror or error}") from error

    def _prepare(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        manifest = self.path / "run.json"
        if manifest.exists():
            check_question(manifest, self.question)
        elif any(entry.name not in BEFORE_MANIFEST for entry in self.path.iterdir()):
            raise WrongGameError(f"{self.path} holds other files: choose an empty folder or a new one")
        self._lock = (self.path / "lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._lock.close()
            raise StorageError(f"another process is writing {self.path}: wait for it or stop it") from error
        if not manifest.exists():
            write_whole(manifest, self.question.text)
        for kind in ("afterstates", "states"):
            (self.path / kind).mkdir(exist_ok=True)
        for leftover in (*self.path.rglob(".*.part"), *self.path.glob(".*.spill")):
            leftover.unlink()

    def close(self) -> None:
        """Let others write here."""
        self.journal.close()
        self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def layer_path(self, kind: str, total: int) -> Path:
        """Where the layer of one sum is; `kind` is afterstates or states."""
        return self.path / kind / f"{total:06d}.tbl"

    def keep_only(self, kind: str, totals: list[int]) -> None:
        """Delete all layers of a kind but those of some sums."""
        kept = {self.layer_path(kind, total) for total in totals}
        for path in (self.path / kind).glob("*.tbl"):
            if path not in kept:
                path.unlink()

    def remove_layer(self, kind: str, total: int) -> None:
        """Delete a layer that nothing needs any more."""
        self.layer_path(kind, total).unlink(missing_ok=True)


def delete_run(path: Path) -> None:
    """Delete a run's folder.  Raises `WrongGameError` if it is none: nothing else is deleted."""
    _read_manifest(path)
    try:
        for kind in ("afterstates", "states"):
            for file in (path / kind).glob("*.tbl"):
                file.unlink()
            if (path / kind).exists():
                (path / kind).rmdir()
        for name in ("counts.jsonl", "lock", "run.json"):
            (path / name).unlink(missing_ok=True)
        path.rmdir()
    except OSError as error:
        raise StorageError(f"cannot delete all of {path}: {error.strerror or error}") from error


def check_question(manifest: Path, question: Question) -> None:
    """Raise `WrongGameError` unless `manifest` is that of `question`."""
    try:
        found = parse_json(read_file(manifest), str(manifest))
        if found.get("format") != "tilebase run":
            raise ValueError
    except (ValueError, AttributeError) as error:
        raise WrongGameError(f"{manifest} is not the manifest of a run: choose another folder") from error
    for key, value in question.as_dict().items():
        if found.get(key) != value:
            there, asked = (_in_words(key, answer) for answer in (found.get(key), value))
            raise WrongGameError(
                f"{manifest.parent} holds another run ({there}, not {asked}): "
                "choose another folder or delete it"
            )


def _in_words(key: str, value: Any) -> str:
    if key == "game" and isinstance(value, dict):
        with suppress(GameError):
            return f"the game {Game.from_identity(value)}"
    if key == "keep":
        return f"one that keeps {value}" + (", to solve what is reachable" if value == "afterstates" else "")
    return f"{key} {shown(json.dumps(value))}"


def read_journal(data: bytes, path: Path) -> tuple[list[dict[str, Any]], int]:
    """The complete lines of a journal and the bytes they take.  Raises `CorruptError`."""
    lines, good = [], 0
    for raw in data.splitlines(keepends=True):
        text, _, crc = raw.rstrip(b"\n").rpartition(b"\t")
        if not raw.endswith(b"\n") or crc != f"{zlib.crc32(text):08x}".encode():
            if good + len(raw) < len(data):
                raise CorruptError(f"{path} is damaged after byte {good}: delete the folder and count again")
            break
        lines.append(mapping(parse_json(text, f"a line of {path}"), f"a line of {path}"))
        good += len(raw)
    return lines, good


def write_whole(path: Path, text: str) -> None:
    """Write a small file by atomic rename, flushed to disk."""
    beside = path.with_name(f".{path.name}.part")
    with beside.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    sync_folder(path.parent)


def verify_run(path: Path, found: Findings | None = None) -> Findings:
    """Read every byte of a run's folder; return what is wrong, or cannot be read, added to `found`.

    Raises `WrongGameError` if it is no run at all, `StorageError` if its run.json cannot be read.
    """
    found = Findings() if found is None else found
    question, sound = _read_manifest(path)
    if not sound:
        found.wrong.append(f"{path / 'run.json'} is damaged: delete the folder and count again")
    with suppress(StopCheckError), found.checking():
        recorded = _verify_journal(path / "counts.jsonl", question.game, found)
        for kind in ("afterstates", "states"):
            for file in sorted((path / kind).glob("*.tbl")):
                with found.checking():
                    found.wrong += _verify_file(file, kind, question.game, recorded)
            if KEEP.index(question.keep) >= KEEP.index(kind):
                files = [path / kind / f"{total:06d}.tbl" for total in recorded if sum(recorded[total][kind])]
                found.wrong += [
                    f"{file} is not there: delete the folder and count again"
                    for file in files
                    if not file.exists()
                ]
    return found


def _verify_journal(journal: Path, game: Game, found: Findings) -> dict[int, dict[str, Any]]:
    """The lines of the journal by sum.  Raises `CorruptError` or `StorageError`."""
    data = read_file(journal, MOST_JOURNAL) if journal.exists() else b""
    lines, good = read_journal(data, journal)
    if good < len(data):
        found.wrong.append(f"{journal} ends in a torn line: continue the run to mend it")
    return {line["sum"]: line for line in count_lines(lines, game, journal)}


def count_lines(lines: list[dict[str, Any]], game: Game, path: Path) -> list[dict[str, Any]]:
    """The lines of a journal of counts that say what a layer holds.  Raises `CorruptError`."""
    found = [line for line in lines if "sum" in line]
    with understood(str(path)):
        for line in found:
            whole(line["sum"], "a sum", MOST_SUM)
            for name in STORED:
                if type(line[name]) is not list or len(line[name]) > game.max_code + 1:
                    raise CorruptError(f"{name} of sum {line['sum']} are no counts")
                for number in line[name]:
                    whole(number, f"a count of {name} of sum {line['sum']}")
    return found


def _read_manifest(path: Path) -> tuple[Question, bool]:
    """What run.json asks, and whether it has the bytes it was written with.  Raises `WrongGameError`."""
    try:
        data = read_file(path / "run.json")
        found = parse_json(data, f"{path}/run.json")
        question = Question(Game.from_identity(found["game"]), found["lookahead"], found["keep"])
        KEEP.index(question.keep)
    except (CorruptError, MissingLayerError, ValueError, KeyError, TypeError) as error:
        raise WrongGameError(f"{path} is not the folder of a run: it has no sound run.json") from error
    return question, data == question.text.encode()


def _verify_file(file: Path, kind: str, game: Game, recorded: dict[int, dict[str, Any]]) -> list[str]:
    with LayerFile(file) as layer:
        layer.verify()
        total = layer.meta.get("sum")
        if layer.meta.get("game") != game.identity or layer.meta.get("kind") != kind:
            return [f"{file} belongs to another game: delete it"]
        if type(total) is not int or file.name != f"{total:06d}.tbl":
            return [f"{file} holds the layer of sum {shown(total, 40)}: it was renamed"]
        if total in recorded and sum(recorded[total][kind]) != len(layer):
            return [f"{file} holds {len(layer)} keys where {sum(recorded[total][kind])} were counted"]
    return []
