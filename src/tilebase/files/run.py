"""The folder of a run: its query, its finished layers, and how a run continues after a kill.

    run.json        the query: game, lookahead, what is kept, format, checksum
    counts.jsonl    one line per finished layer, with a checksum; this decides what is finished
    afterstates/    layers of afterstates (`files.layers`)
    states/         layers of states, if they are kept
    lock            held by the process that writes here

A layer is finished when its line in counts.jsonl is complete; its chunks and its record are written before.
A line names the digest of its query and the checksums of its layers.  A run that continues compares them: it
makes damaged and missing layers again, with the same bytes, and refuses layers of another game or
objective.

A folder is deleted under its lock.  First run.json gets another name, by one rename.  A process that
finds a folder in this state, after a kill, finishes the deletion.
"""

from __future__ import annotations

import errno
import logging
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tilebase.counting.counts import STORED, CountResult, counts_of
from tilebase.errors import (
    CorruptError,
    GameError,
    MissingLayerError,
    StorageError,
    TilebaseError,
    WrongGameError,
)
from tilebase.files import places
from tilebase.files.format import Contents, Record
from tilebase.files.layers import LayerFolder
from tilebase.files.source import Closing, read_file
from tilebase.files.store import RELEASED_BYTES, LayerStore
from tilebase.game.game import Game
from tilebase.runtime.documents import (
    checked_json,
    digest_of,
    mapping,
    parse_json,
    shown,
    to_json,
    understood,
    whole,
)
from tilebase.runtime.storage import (
    FileLock,
    file_crc,
    open_own,
    refuse_link,
    remove_parts,
    storage_errors,
    write_all,
    write_whole,
)

LOG = logging.getLogger(__name__)
T = TypeVar("T")

VERSION = 3
MOST_JOURNAL = 1 << 28
"""Most bytes of a journal; the line of a layer has less than 1 kB."""
MOST_SUM = 1 << 31
"""A sum that no board reaches."""
ANEW = "delete it, and run the command again"
"""What to do with a journal that is damaged, or another one."""
KEEP = ("counts", "afterstates", "states")
"""What a run keeps when it ends; each entry includes the entries before it."""


@dataclass(frozen=True)
class Query:
    """The query of a run: what it computes.  Two runs with equal queries write identical files."""

    game: Game
    lookahead: bool = False
    keep: str = "counts"

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "format": "tilebase run",
            "version": VERSION,
            "game": self.game.identity,
            "lookahead": self.lookahead,
            "keep": self.keep,
        }

    @property
    def text(self) -> str:
        """The content of run.json: the query and its checksum."""
        return checked_json(self.as_dict())

    def contents(self, kind: str) -> Contents:
        """Return what its layers of afterstates or states are."""
        return Contents(self.game, kind, self.lookahead)


class Journal:
    """The file that lists what is finished, in order: lines of JSON with checksums, appended one by one.

    `identity` is the query that the lines belong to.  Each line has its digest as ``of``.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any]) -> None:
        self.path = path
        self._of = {"of": digest_of(identity)}
        self._file: Any = None

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def read(self) -> list[dict[str, Any]]:
        """Return all lines, in order, without ``of``.  An incomplete last line is removed from the file.

        Raises `CorruptError` if an earlier line is damaged, `WrongGameError` if a line belongs to another
        query.
        """
        lines, good, torn = read_journal(self.path)
        if any(line.pop("of", None) != self._of["of"] for line in lines):
            raise WrongGameError(f"{self.path} belongs to another game or objective: {ANEW}")
        if torn:
            with storage_errors(self.path), open_own(self.path, "r+b") as file:
                file.truncate(good)
        return lines

    def rewrite(self, lines: Iterable[dict[str, Any]]) -> None:
        """Replace all lines, unless the file holds these lines already.  Raises `StorageError`."""
        self.close()
        text = "".join(self._text(line) for line in lines)
        if text:
            if not self.path.exists() or self.path.read_bytes() != text.encode():
                write_whole(self.path, text)
        else:
            self.path.unlink(missing_ok=True)

    def append(self, *lines: dict[str, Any], durable: bool) -> None:
        """Add lines for what is finished, with one write.  Raises `StorageError`."""
        with storage_errors(self.path):
            if self._file is None:
                self._file = open_own(self.path, "ab", 0)
            write_all(self._file, "".join(map(self._text, lines)).encode())
            if durable:
                os.fsync(self._file.fileno())

    def _text(self, line: dict[str, Any]) -> str:
        text = to_json(line | self._of, "canonical")
        return f"{text}\t{zlib.crc32(text.encode()):08x}\n"


class RunFolder(Closing):
    """A folder that one process fills, layer by layer.

    Raises `WrongGameError` if the folder holds a run of another query or other files, `StorageError` if it
    cannot be written or another process is writing it.
    """

    def __init__(self, path: Path, query: Query) -> None:
        self.path = path
        self.query = query
        self.journal = Journal(path / places.COUNTS, query.as_dict())
        self._layers: dict[str, LayerStore] = {}
        with storage_errors(path, "use"):
            self._lock = self._take()
            try:
                self._prepare()
            except BaseException:
                self._lock.release()
                raise

    def _take(self) -> FileLock:
        """Return the lock of the folder; the folder is made if it does not exist."""
        while True:
            self.path.mkdir(parents=True, exist_ok=True)
            self._refuse_others()
            try:
                lock = FileLock.take(self.path / places.LOCK)
            except FileNotFoundError:
                continue  # another process has just deleted the folder
            if lock is None:
                raise StorageError(f"another process is writing {self.path}: wait for it or stop it")
            return lock

    def _refuse_others(self) -> None:
        """Raise `WrongGameError` unless the folder is empty, or holds this run or a partly deleted run."""
        manifest = self.path / places.QUERY
        names = {entry.name for entry in self.path.iterdir()}
        if manifest.name in names:
            check_query(manifest, self.query)
        elif places.TABLE in names:
            raise WrongGameError(
                f"{self.path} holds a table without {places.QUERY}, to which nothing can be added: choose an "
                "empty folder or a new one"
            )
        elif places.DELETED not in names and not names <= set(places.BEFORE_QUESTION):
            raise WrongGameError(f"{self.path} holds other files: choose an empty folder or a new one")

    def _prepare(self) -> None:
        """Finish an interrupted deletion, and make the files and folders that a run needs."""
        if (self.path / places.DELETED).exists():
            _delete_contents(self.path)
        self._refuse_others()
        begun = (self.path / places.QUERY).exists()
        LOG.debug("%s %s", "going on in" if begun else "beginning in", self.path)
        if not begun:
            write_whole(self.path / places.QUERY, self.query.text)
        remove_parts(self.path)

    def close(self) -> None:
        """Release the lock, so that other processes can write here."""
        self.journal.close()
        for store in self._layers.values():
            store.close()
        self._lock.release()

    def layers(self, kind: str) -> LayerStore:
        """Return the layers of afterstates or of states."""
        if kind not in self._layers:
            contents = self.query.contents(kind)
            self._layers[kind] = LayerStore(self.path / kind, contents, segment_bytes=RELEASED_BYTES)
        return self._layers[kind]


def counted(folder: RunFolder) -> CountResult | None:
    """Return the counts of a finished run, whose layers may be deleted; None if it is not finished."""
    lines = folder.journal.read()
    if not lines or not lines[-1].get("complete", False):
        return None
    game = folder.query.game
    lines = count_lines(lines, game, folder.journal.path)
    return counts_of(game, folder.query.lookahead, lines, complete=True)


def is_counted(path: Path) -> bool:
    """Return whether a folder holds all counts of a run.  The counts are not checked."""
    try:
        lines = (path / places.COUNTS).read_bytes().splitlines()
    except OSError:
        return False
    return bool(lines) and b'"complete":true' in lines[-1]


def delete_run(path: Path, *, damaged: bool = False, table: bool = False) -> None:
    """Delete the folder of a run in any state.  After a kill, another call can finish the deletion.

    With `damaged` the folder needs no valid run.json; with `table` it may be a table.  Raises
    `WrongGameError` if it is not a run, or is a table, and `StorageError` if a process writes it, or it holds
    other files: then nothing is deleted.
    """
    begun = {entry.name for entry in path.iterdir()} if path.is_dir() else {""}
    # A kill at the very end leaves only the lock.
    if not damaged and not (path / places.DELETED).exists() and not begun <= set(places.BEFORE_QUESTION):
        read_query(path)
    if not table and (path / places.TABLE).exists():
        raise WrongGameError(f"{path} is a table: delete it by hand")
    with storage_errors(path, "delete all of"):
        lock = FileLock.take(path / places.LOCK)
        if lock is None:
            raise StorageError(f"cannot delete {path}: another process is writing it")
        try:
            _delete_contents(path)
        except BaseException:
            lock.release()
            raise
        lock.release(delete=True)
        try:
            path.rmdir()
        except OSError as error:  # another process has just begun a run here, or deleted the folder, too
            if error.errno not in (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST):
                raise


def _delete_contents(path: Path) -> None:
    """Delete all but the lock, under the lock.  Raises `StorageError` if there are other files."""
    entries = sorted(path.rglob("*"), reverse=True)  # the content of a folder before the folder
    for entry in entries:
        name = entry.relative_to(path).as_posix()
        if not places.KNOWN.fullmatch(name):
            raise StorageError(f"cannot delete all of {path}: it holds {name}, which is not part of a run")
    (path / places.TABLE).unlink(missing_ok=True)  # before its parts, so that no table lacks some
    marker = path / places.DELETED
    if (path / places.QUERY).exists():
        (path / places.QUERY).replace(marker)
    for entry in entries:
        if entry.name in (places.LOCK, places.QUERY, places.DELETED) and entry.parent == path:
            continue
        if entry.is_dir() and not entry.is_symlink():
            entry.rmdir()
        else:
            entry.unlink(missing_ok=True)
    marker.unlink(missing_ok=True)


def check_query(manifest: Path, query: Query) -> None:
    """Raise `WrongGameError` unless `manifest` is that of `query`."""
    try:
        found = parse_json(read_file(manifest), str(manifest))
        if found.get("format") != "tilebase run":
            raise ValueError
    except (ValueError, AttributeError) as error:
        raise WrongGameError(f"{manifest} is not the manifest of a run: choose another folder") from error
    for key, value in query.as_dict().items():
        if found.get(key) != value:
            there, asked = (_in_words(key, parameter) for parameter in (found.get(key), value))
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
    return f"{key} {shown(to_json(value))}"


def read_journal(path: Path) -> tuple[list[dict[str, Any]], int, bool]:
    """Return the complete lines of a journal, the bytes they take, and whether a torn one follows.

    There are no lines without a file.  Raises `CorruptError` or `StorageError`.
    """
    data = read_file(path, MOST_JOURNAL) if path.exists() else b""
    lines, good = [], 0
    for raw in data.splitlines(keepends=True):
        text, _, crc = raw.rstrip(b"\n").rpartition(b"\t")
        if not raw.endswith(b"\n") or crc != f"{zlib.crc32(text):08x}".encode():
            if good + len(raw) < len(data):
                raise CorruptError(f"{path} is damaged after byte {good}: {ANEW}")
            break
        lines.append(mapping(parse_json(text, f"a line of {path}"), f"a line of {path}"))
        good += len(raw)
    return lines, good, good < len(data)


def verify_run(
    path: Path, found: Findings | None = None, boards: Mapping[int, int] | None = None
) -> Findings:
    """Read every byte of a run's folder.  Return the faults, added to `found`.

    `boards` are the afterstates of each sum in the table that the run has made; None for another folder.
    Raises `WrongGameError` if the folder is not a run, `StorageError` if its run.json cannot be read.
    """
    found = Findings() if found is None else found
    query, sound = read_query(path)
    if not sound:
        found.wrong.append(f"{path / places.QUERY} is damaged: delete the folder and count again")
    with suppress(StopCheckError), found.checking():
        recorded, apart, marked = _verify_journal(path / places.COUNTS, query, found, boards)
        # Those of a table are deleted, and a kill may have left some.
        for kind in () if (path / places.TABLE).exists() else ("afterstates", "states"):
            with LayerFolder(path / kind, query.contents(kind)) as layers:
                kept = KEEP.index(query.keep) >= KEEP.index(kind)
                wanted = {
                    s for s, line in recorded.items()
                    if kept and sum(line[kind]) and not is_given_up(query.game, apart, s)
                }  # fmt: skip
                there = {s for s, one in layers.records.items() if has_segment(layers, one)}
                for total in sorted(wanted | there):
                    with found.checking():
                        if (line := recorded.get(total)) is None:
                            found.wrong += verify_layer(layers, total, None)
                            continue
                        # Layers that are given up were not written when they were found in bits.
                        unlisted = marked and is_given_up(query.game, apart, total)
                        listed = line["files"].get(kind, None if unlisted else "")
                        found.wrong += verify_layer(layers, total, listed, sum(line[kind]))
        if not is_counted(path):  # of a pass over all boards, the layers from which it continues
            for total, listed in [(s, line["files"].get("bits")) for s, line in recorded.items()][-2:]:
                file = path / places.bits(total)
                try:
                    if listed is not None and file_crc(file) != listed:
                        found.wrong.append(f"{file} is damaged: delete the folder and count again")
                except StorageError as error:
                    found.wrong.append(str(error))
    return found


def _verify_journal(
    journal: Path, query: Query, found: Findings, boards: Mapping[int, int] | None
) -> tuple[dict[int, dict[str, Any]], int, bool]:
    """Return the lines of the journal by sum, `apart_of` them, and whether they are marked.

    Raises `CorruptError` or `StorageError`.
    """
    lines, _, torn = read_journal(journal)
    if torn:
        found.wrong.append(f"{journal} ends in a torn line: continue the run to mend it")
    own = digest_of(query.as_dict())
    if any(line.get("of") != own for line in lines):
        found.wrong.append(f"{journal} belongs to another game: {ANEW}")
    recorded = {line["sum"]: line for line in count_lines(lines, query.game, journal)}
    counted = {total: sum(line["afterstates"]) for total, line in recorded.items() if line["afterstates"]}
    if boards is not None and not (lines and lines[-1].get("complete") and counted == boards):
        found.wrong.append(other_layers(journal))
    return recorded, apart_of(lines, journal), is_marked(lines)


def count_lines(lines: list[dict[str, Any]], game: Game, path: Path) -> list[dict[str, Any]]:
    """Return the lines of a journal that hold the counts of a layer.  Raises `CorruptError`."""
    found = [line for line in lines if "sum" in line]
    with understood(str(path)):
        for line in found:
            whole(line["sum"], "a sum", MOST_SUM)
            for name in STORED:
                if type(line[name]) is not list or len(line[name]) > game.bounds.code + 1:
                    raise CorruptError(f"{name} of sum {line['sum']} are not counts")
                for number in line[name]:
                    whole(number, f"a count of {name} of sum {line['sum']}")
            mapping(line["files"], f"the checksums of sum {line['sum']}")
    lacks = _gap(found, game, complete=bool(lines) and bool(lines[-1].get("complete")))
    if lacks is not None:
        raise CorruptError(f"{path} is damaged: it lacks the layer of sum {lacks}: {ANEW}")
    return found


def apart_of(lines: Iterable[Mapping[str, Any]], path: Path) -> int:
    """Return of how many layers a pair is kept, as a journal says; 0 if all are.  Raises `CorruptError`."""
    with understood(str(path)):
        found = [whole(line["apart"], "the distance of pairs", MOST_SUM) for line in lines if "apart" in line]
    return found[0] if found else 0


def is_marked(lines: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether the layers of a journal were made in bits: then it counts no states by largest tile."""
    return any(line.get("marked") for line in lines)


def delete_bits(layers: Path, kept: set[Path]) -> None:
    """Delete the other layers of bits in a folder.  Raises `StorageError` if it is a link."""
    with storage_errors(layers, "use"):
        refuse_link(layers)
        for old in {one for one in layers.glob("*.bits") if one.stem.isdecimal()} - kept:
            old.unlink()


def layers_before(game: Game) -> int:
    """Return from how many layers the next follows: half of the largest spawned tile, and two at least."""
    return max(2, (1 << max(game.spawn_exponents)) // 2)


def is_given_up(game: Game, apart: int, total: int) -> bool:
    """Return whether a layer is not among the first of every `apart`, which are kept."""
    return bool(apart) and (total - first_sum(game)) // 2 % apart >= layers_before(game)


def _gap(lines: list[dict[str, Any]], game: Game, *, complete: bool) -> int | None:
    """Return the first sum that lines of counts should have in their order, but lack; None if there is none.

    There is one every 2 from the first sum of the game on.  If they are complete, no spawn leads to more.
    """
    total = first_sum(game)
    for line in lines:
        if line["sum"] != total:
            return total
        total += 2
    spawns_on = (line["sum"] for line in lines if sum(line["afterstates"]) and not game.ended(line["sum"]))
    most = max(spawns_on, default=0) + (1 << max(game.spawn_exponents))
    return total if complete and not game.reached(total) and (most >= total or not lines) else None


def first_sum(game: Game) -> int:
    """Return the least sum of a game: that of a start, or of the afterstates before it."""
    return min(map(game.sum, game.start_afters or [board for board, _ in game.starts()]))


def read_query(path: Path) -> tuple[Query, bool]:
    """Return the query in run.json, and whether the file is unchanged.  Raises `WrongGameError`."""
    try:
        data = read_file(path / places.QUERY)
        found = parse_json(data, f"{path}/{places.QUERY}")
        query = Query(Game.from_identity(found["game"]), found["lookahead"], found["keep"])
        KEEP.index(query.keep)
    except (CorruptError, MissingLayerError, ValueError, KeyError, TypeError) as error:
        raise WrongGameError(f"{path} is not the folder of a run: it has no sound run.json") from error
    return query, data == query.text.encode()


def verify_layer(
    layers: LayerFolder, total: int, listed: str | None, boards: int | None = None
) -> Iterator[str]:
    """Yield a sentence if a layer is missing, or not the one that a journal lists.  Raises `CorruptError`.

    `listed` is the checksum in the journal, None if it lists no layer of this sum: a killed run has not
    finished it.  `boards` are those that were counted, if they were.
    """
    if total not in layers.records:
        yield lacks(layers.folder, total)
        return
    layer = layers.layer(total)
    layer.verify()
    if boards is not None and boards != len(layer):
        yield f"{layer.name} has {len(layer)} boards where {boards} were counted"
    elif listed not in (None, layer.record.text):
        yield f"{layer.name} is not the layer that the journal names"


def has_segment(layers: LayerFolder, record: Record) -> bool:
    """Return whether the segment of a layer is there; without one, the run has given the layer up."""
    return (layers.folder / places.segment(record.segment)).exists()


def other_layers(journal: Path) -> str:
    """Return what is said of a journal that does not list the layers of its table."""
    return f"{journal} does not list the layers of the table: {ANEW}"


def lacks(folder: Path, total: int) -> str:
    """Return what is said of a finished layer that is not there."""
    return f"{folder} lacks the layer of sum {total}: the same command makes it again"


# -- checking --------------------------------------------------------------------------------------


MOST_UNREAD = 3
"""A check stops after so many files that cannot be read, since each may take a time limit of a server."""


class Findings:
    """The results of a check of many files, one sentence for each fault."""

    def __init__(self) -> None:
        self.wrong: list[str] = []
        self.unread: list[str] = []

    @property
    def sound(self) -> bool:
        """Whether everything was read and nothing is wrong."""
        return not self.wrong and not self.unread

    @contextmanager
    def checking(self) -> Iterator[None]:
        """Inside the block, errors of a file become sentences: it cannot be read, or it is wrong.

        Raises `StopCheckError` at the third file that cannot be read.
        """
        try:
            yield
        except StorageError as error:
            self.unread.append(str(error))
            if len(self.unread) >= MOST_UNREAD:
                raise StopCheckError from error
        except TilebaseError as error:
            self.wrong.append(str(error))


class StopCheckError(Exception):
    """So many files cannot be read that the check stops."""
