"""The values that a pass by groups holds for later steps, in memory or in files, from which it goes on.

    layers.jsonl                                   one line: the steps that are done, and what is held
    afterstates-N.group, states-N.group            values, without a header

Values that have been read for the last time are deleted only after the next line is written: so the line
always names files that are there.  Files that it does not name are left from a stopped run.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase.errors import CorruptError
from tilebase.files import places
from tilebase.files.run import Journal
from tilebase.runtime.documents import text, understood, whole
from tilebase.runtime.storage import open_own, publish, storage_errors, sync_files

Array = npt.NDArray[Any]
NAME = re.compile(places.GROUP, re.ASCII)
WAITING_BYTES = 1 << 28
"""Bytes of files that may wait to be deleted: then a pass is saved."""
MOST = 1 << 62
"""A number of values, bytes or steps that no pass reaches."""


@dataclass(frozen=True)
class Held:
    """The most that a pass by groups held at once.

    Attributes
    ----------
    groups, boards, bytes:
        The groups whose values W or V were held, in memory or in files, and how many values and bytes these
        were; W and V of a group count as two.
    working:
        The bytes of the values in work, which are in memory.
    """

    groups: int = 0
    boards: int = 0
    bytes: int = 0
    working: int = 0


@dataclass
class Values:
    """Values that are held.

    Attributes
    ----------
    size, nbytes, readers:
        How many values, their bytes, and how many steps are still to read them.
    crc:
        The CRC-32 of the bytes; None until it is needed.
    kept:
        The values as they are held; None if they are only in a file.
    filed, checked:
        Whether the file is written, and whether its bytes are known to be right.
    """

    size: int
    nbytes: int
    readers: int
    crc: int | None = None
    kept: Array | None = None
    filed: bool = False
    checked: bool = True


class HeldValues:
    """Values by name.  Boolean values are held as bits.

    Without a folder all are in memory, and nothing is saved.  With one they are in files, or with `memory` in
    memory and in files when they are saved.  Raises `StorageError` if files cannot be written or read.
    """

    def __init__(
        self, dtype: np.dtype[Any], *, bits: bool, folder: Path | None = None, memory: bool = True
    ) -> None:
        self._dtype, self._bits = np.dtype(np.uint8) if bits else dtype, bits
        self._folder, self._memory = folder, memory or folder is None
        self._values: dict[str, Values] = {}
        self._boards = self._nbytes = 0  # of all
        self._new: list[str] = []  # files that are not flushed
        self._old: list[str] = []  # files that only the last line needs
        self.held = Held()
        self.starts: dict[int, float] = {}
        """What is stored of the start boards that are solved, by their number."""
        self.waiting = 0
        """Bytes of files that are to be deleted after the next line."""

    def stored_bytes(self, size: int) -> int:
        """Return the bytes that so many values take."""
        return -(-size // 8) if self._bits else size * self._dtype.itemsize

    def path(self, name: str) -> Path:
        """Return the file of values."""
        assert self._folder is not None
        return self._folder / places.of_group(name)

    def packed(self, values: Array) -> Array:
        """Return values as they are held."""
        return np.packbits(values) if self._bits else values

    def unpacked(self, kept: Array, size: int) -> Array:
        """Return values of which these are held."""
        return np.unpackbits(kept, count=size) if self._bits else kept

    def put(self, name: str, values: Array, readers: int) -> None:
        """Hold values until they were read so many times."""
        if not readers:
            return
        kept = self.packed(values)
        one = Values(len(values), kept.nbytes, readers, kept=kept)
        if not self._memory:
            self._write(name, one)
            one.kept = None
        self._hold(name, one)

    def take(self, name: str, part: Path, size: int, crc: int, readers: int) -> None:
        """Hold values that others have written into a file, which is renamed."""
        if not readers:
            part.unlink()
            return
        publish(part, self.path(name))
        self._hold(name, Values(size, self.stored_bytes(size), readers, crc, filed=True))

    def _write(self, name: str, one: Values) -> None:
        assert one.kept is not None
        with storage_errors(self.path(name)), open_own(self.path(name), "wb") as file:
            file.write(one.kept.data)
        one.crc, one.filed = zlib.crc32(one.kept.data), True
        self._new.append(name)

    def _hold(self, name: str, one: Values) -> None:
        self._values[name] = one
        self._boards, self._nbytes = self._boards + one.size, self._nbytes + one.nbytes
        self.held = Held(
            max(self.held.groups, len(self._values)), max(self.held.boards, self._boards),
            max(self.held.bytes, self._nbytes), self.held.working,
        )  # fmt: skip

    def read(self, name: str) -> Array:
        """Return values.  Raises `CorruptError` if their file is not the one that was written."""
        one = self._known(name)
        if one.kept is not None:
            return self.unpacked(one.kept, one.size)
        kept = self._stored(self.path(name))
        if not one.checked and zlib.crc32(kept.data) != one.crc:
            raise CorruptError(f"{self.path(name)} is damaged: delete {self._folder} and solve again")
        one.checked = True
        return self.unpacked(kept, one.size)

    def check(self, name: str) -> None:
        """Raise `CorruptError` if the file of values, which others are to read, is not the one of before."""
        one = self._known(name)
        if not one.checked:
            self.read(name)

    def stored(self, path: Path, begin: int, end: int) -> Array:
        """Return the values of some ranks in a file; `begin` is a multiple of 8."""
        kept = self._stored(path, self.stored_bytes(begin), self.stored_bytes(end - begin))
        return self.unpacked(kept, end - begin)

    def _stored(self, path: Path, at: int = 0, nbytes: int | None = None) -> Array:
        count = -1 if nbytes is None else nbytes // self._dtype.itemsize
        with storage_errors(path, "read"):
            kept = np.fromfile(path, dtype=self._dtype, count=count, offset=at)
            if count >= 0 and len(kept) < count:
                raise OSError(0, "the file is shorter than its group")
            return kept

    def works(self, nbytes: int) -> None:
        """Note that so many bytes were in memory together."""
        self.held = replace(self.held, working=max(self.held.working, nbytes))

    def release(self, name: str) -> None:
        """Note that a step has read values; after the last one they are no longer held."""
        one = self._known(name)
        one.readers -= 1
        if one.readers:
            return
        del self._values[name]
        self._boards, self._nbytes = self._boards - one.size, self._nbytes - one.nbytes
        if one.filed:
            self._old.append(name)
            self.waiting += one.nbytes

    def _known(self, name: str) -> Values:
        if name not in self._values:
            raise CorruptError(f"the journal in {self._folder} lacks {name}: delete the folder")
        return self._values[name]

    def sizes(self) -> dict[str, int]:
        """Return how many values each name has."""
        return {name: one.size for name, one in self._values.items()}

    # -- saving and going on -----------------------------------------------------------------

    @property
    def bytes_to_save(self) -> int:
        """What `save` writes."""
        return sum(one.nbytes for one in self._values.values() if not one.filed)

    def save(self, journal: Journal, steps: int) -> None:
        """Let a pass go on from here: after so many steps."""
        for name, one in self._values.items():
            if not one.filed:
                self._write(name, one)
        sync_files(self.path(name) for name in self._new if name in self._values)
        held = [[name, one.size, one.readers, one.crc] for name, one in self._values.items()]
        line = {"steps": steps, "held": held, "starts": [*self.starts.items()], "most": asdict(self.held)}
        journal.rewrite([line])
        self._delete(self._old)
        self._new, self._old, self.waiting = [], [], 0

    def go_on(self, journal: Journal) -> int:
        """Take up what was saved; return how many steps are done.

        0 if nothing was saved or files are missing: then none is left.  Raises `CorruptError`.
        """
        assert self._folder is not None
        with storage_errors(self._folder, "read"):
            there = {path.stem: path.stat().st_size for path in self._folder.glob(places.of_group("*"))}
        steps = 0
        with understood(str(journal.path)):
            for line in journal.read()[-1:]:
                self._take_up(line)
                steps = whole(line["steps"], "steps", MOST)
        if not steps or any(there.get(name) != one.nbytes for name, one in self._values.items()):
            steps, self._values, self.starts, self.held = 0, {}, {}, Held()
            journal.rewrite([])
        self._delete(there.keys() - self._values.keys())
        self._boards = sum(one.size for one in self._values.values())
        self._nbytes = sum(one.nbytes for one in self._values.values())
        return steps

    def _take_up(self, line: Mapping[str, Any]) -> None:
        for name, *numbers in line["held"]:
            if not NAME.fullmatch(text(name, "a name")):
                raise CorruptError(f"{name!r} is no name of values")
            size, readers, crc = (whole(one, "a number", MOST) for one in numbers)
            self._values[name] = Values(
                size, self.stored_bytes(size), readers, crc, filed=True, checked=False
            )
        of = self._dtype.type
        self.starts = {whole(at, "a start", MOST): of(value).item() for at, value in line["starts"]}
        self.held = Held(**{name: whole(value, name, MOST) for name, value in line["most"].items()})

    def _delete(self, names: Iterable[str]) -> None:
        for name in names:
            with storage_errors(self.path(name), "delete"):
                self.path(name).unlink(missing_ok=True)
