"""The steps of a pass by groups shared out: ranges of the boards of a group are done by workers.

    fold            from V of the groups with one more tile
    slide, once for each group that slides lead to: from its W, and what the slides before have found

The first process makes a file of the full size in the exchange folder for each of these, and each piece
writes its own range of it.  No piece reads a file that a piece beside it writes, so a piece that is done
twice writes the same bytes twice, and a worker that was given up cannot change a finished file: it opens
only one that is there.  A worker has in memory what the first process would have: W of one group at a time.

The first process does small groups itself.
"""

from __future__ import annotations

import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase.cluster.executors import Executor
from tilebase.cluster.pieces import Piece
from tilebase.dense.group_rules import GroupRules, Step, alone, group_in
from tilebase.dense.held import HeldValues
from tilebase.dense.shared import MOST_CHUNKS, ranges
from tilebase.dense.stores import joined_checksum, write_all
from tilebase.files import places
from tilebase.files.format import CHUNK_KEYS
from tilebase.game.game import Game
from tilebase.objectives.objective import Objective
from tilebase.runtime.resources import OVERHEAD
from tilebase.runtime.storage import open_own, storage_errors

Array = npt.NDArray[Any]
SHARED_BOARDS = 1 << 22
"""Groups of fewer boards are done by the process that runs the pass: sharing them takes longer."""


@dataclass(frozen=True, kw_only=True)
class GroupPiece(Piece):
    """A range of the boards of a group; `step` is ``"fold"`` or ``"slide"``, `reads` are names of values.

    Attributes
    ----------
    group:
        The number of the group.
    before:
        The file in the exchange folder with what slides to other groups have found; empty in the first turn.
    last:
        Whether no further slides follow.
    """

    group: int
    before: str = ""
    last: bool = True


def piece_bytes(objective: Objective) -> int:
    """Return the bytes that a thread takes for what a piece makes, at most, beside what it reads."""
    return 2 * MOST_CHUNKS * CHUNK_KEYS * np.dtype(objective.type.kept).itemsize


class GroupJob:
    """Does pieces of a pass by groups in a worker process: a `cluster.pieces.Job`.

    Values that several pieces read stay in memory as long as `room` bytes are enough.
    """

    def __init__(self, folder: Path, exchange: Path, game: Game, objective: Objective, room: int) -> None:
        self._asked = folder, exchange, game, objective, room
        self._lock = threading.Lock()
        self._tables: tuple[GroupRules, HeldValues] | None = None
        self._kept: OrderedDict[str, Array] = OrderedDict()

    def __reduce__(self) -> Any:
        return GroupJob, self._asked

    def do(self, piece: Piece) -> tuple[int, int, int]:
        """Write the values of a piece; return their CRC-32, their bytes, and the most bytes in memory."""
        assert isinstance(piece, GroupPiece)
        folder, exchange, game, objective, _ = self._asked
        with self._lock:
            if self._tables is None:
                rules = GroupRules(game, objective)
                held = HeldValues(rules.backup.dtype, bits=objective.is_boolean, folder=folder)
                self._tables = rules, held
        rules, held = self._tables
        step = Step(piece.step, piece.group, piece.total, piece.reads)
        before = held.stored(exchange / piece.before, piece.begin, piece.end) if piece.before else None
        values, most = rules.do(step, piece.begin, piece.end, self._read, alone, before)
        if piece.last:
            values = rules.stored(step, values)
        packed, path = held.packed(values), exchange / piece.writes
        with storage_errors(path), open_own(path, "r+b", 0) as file:
            file.seek(held.stored_bytes(piece.begin))
            write_all(file, packed)
        return zlib.crc32(packed.data), packed.nbytes, most

    def _read(self, name: str) -> Array:
        """Return values, and keep them; those that were not asked for the longest time are let go."""
        with self._lock:  # one thread reads a file, and the others wait for it
            if name not in self._kept:
                assert self._tables is not None
                rules, held = self._tables
                values = held.stored(held.path(name), 0, int(rules.groups.sizes[group_in(name)]))
                room = self._asked[-1] - values.nbytes
                while self._kept and sum(one.nbytes for one in self._kept.values()) > room:
                    self._kept.popitem(last=False)
                self._kept[name] = values
            self._kept.move_to_end(name)
            return self._kept[name]


class SharedGroups:
    """The workers of a pass by groups, and what they do."""

    def __init__(self, executor: Executor, folder: Path, game: Game, objective: Objective) -> None:
        self._executor = executor
        room = executor.memory - OVERHEAD - executor.threads_each * piece_bytes(objective)
        self._job = GroupJob(folder.resolve(), executor.exchange, game, objective, room)

    def do(self, step: Step, size: int, nbytes: int, tell: Callable[[float], None]) -> tuple[Path, int, int]:
        """Do a step; return a file of so many bytes, its CRC-32 and the most bytes of a worker thread.

        `tell` gets the share of the step that is done.  Raises what a worker raises.
        """
        turns = [step.reads] if step.kind == "fold" else [(name,) for name in step.reads]
        before, crc, most = None, 0, 0
        for turn, reads in enumerate(turns):
            path = self._executor.exchange / places.exchanged(step.total, step.name, turn)
            pieces = [
                GroupPiece(
                    step.kind, step.total, begin, end, reads, path.name, group=step.group,
                    before=before.name if before else "", last=turn == len(turns) - 1,
                )
                for begin, end in ranges(size, self._executor.threads)
            ]  # fmt: skip
            with _released(path, before):
                with storage_errors(path), open_own(path, "wb") as file:
                    file.truncate(nbytes)
                crc, worked = self._map(pieces, tell, turn, len(turns))
            before, most = path, max(most, worked)
        assert before is not None
        return before, crc, most

    def _map(
        self, pieces: list[GroupPiece], tell: Callable[[float], None], turn: int, turns: int
    ) -> tuple[int, int]:
        """Do the pieces of a turn; return the CRC-32 of its file and the most bytes of a worker thread."""
        parts, most = [], 0
        with closing(self._executor.map(self._job, pieces)) as results:
            for piece, (crc, written, worked) in zip(pieces, results, strict=True):
                parts.append((crc, written))
                most = max(most, worked)
                tell((turn + piece.end / pieces[-1].end) / turns)
        return joined_checksum(parts), most


@contextmanager
def _released(path: Path, before: Path | None) -> Iterator[None]:
    """Delete the file of the turn before at the end, and after an error that of this turn, too."""
    try:
        yield
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        if before is not None:
            before.unlink(missing_ok=True)
