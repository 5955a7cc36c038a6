"""The layers of a dense pass, in memory and in files, and the journal from which the pass goes on.

A layer in a file has plain values in the order of a backend's layout.  ``layers.jsonl`` has a line for each
finished layer, and lines that name the states of the last layers, the checkpoint.  The states lie in files of
the same folder.  Only the last checkpoint counts; what is older is deleted.
"""

from __future__ import annotations

import errno
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from tilebase._kernels import dense as kernels
from tilebase.dense.backends.protocol import Backend
from tilebase.dense.index import LayerMap
from tilebase.dense.steps import Source
from tilebase.dense.tables import AllSpawns
from tilebase.errors import CorruptError
from tilebase.files import places
from tilebase.files.format import CHUNK_KEYS
from tilebase.files.run import Journal
from tilebase.game.game import Game
from tilebase.objectives.encoding import FIRST, Backup
from tilebase.objectives.results import ChunkSummary
from tilebase.runtime import system
from tilebase.runtime.documents import text, understood, whole
from tilebase.runtime.storage import file_crc, open_own, publish, storage_errors, write_all
from tilebase.runtime.threads import Pool

Array = npt.NDArray[Any]
LAYOUTS = {"values": "states", "bits": "bits"}
"""The ends of the names of the files that have states, by the layout of their backend."""
READ_BYTES = 1 << 26
"""Bytes of a file that are read or written by one thread at once."""
CRC_BOARDS = 1 << 22
"""Boards whose checksum a thread finds at once: joining takes far less time than finding them."""
Lines = dict[int, dict[str, Any]]
"""Finished layers by sum, as the journal has them."""


# -- in memory -------------------------------------------------------------------------------------


class Memory:
    """The memory of layers that are released, for those to come.

    Where the system has to find and clear fresh pages for each layer, this takes longer than any step of the
    pass.  Buffers have the size of the largest layer or window; what of one is never used costs nothing.
    """

    def __init__(self, dtype: np.dtype[Any], size: int) -> None:
        self._dtype, self._size = dtype, size
        self._spare: list[Array] = []

    def take(self) -> Array:
        """Return a buffer, with anything in it."""
        return self._spare.pop() if self._spare else self._new()

    def _new(self) -> Array:
        """Return a buffer that begins with a page: so files can be read into it past the system's cache."""
        count = self._size * self._dtype.itemsize
        memory = np.empty(count + system.PAGE_BYTES, dtype=np.uint8)
        begin = -memory.ctypes.data % system.PAGE_BYTES
        return memory[begin : begin + count].view(self._dtype)

    def give(self, buffer: Array) -> None:
        """Take back a buffer."""
        self._spare.append(buffer)


class DenseLayer:
    """The values of some blocks of a layer in memory, by rank behind the sentinels.

    With `memory` they lie in a buffer of it, for as long as the layer is there.  Kernels take `arrays`.
    """

    _memory: Memory | None = None

    def __init__(self, blocks: LayerMap, backup: Backup, memory: Memory | None = None) -> None:
        self.map = blocks
        size = FIRST + blocks.size
        self._buffer = memory.take() if memory else np.empty(size, dtype=backup.dtype)
        self._memory = memory  # only now: a buffer that could not be had is not given back
        self.values = self._buffer[:size]
        self.values[:FIRST] = backup.front
        self.arrays = kernels.Values(self.values, blocks.offsets)

    def __del__(self) -> None:
        if self._memory is not None:
            self._memory.give(self._buffer)

    def numpy(self) -> Array:
        """Return the values, sentinels first."""
        return self.values

    def buffer(self) -> Array:
        """Return a buffer of the size of `data`, to be filled and passed to `load`."""
        return self.values[FIRST:]

    @property
    def data(self) -> Array:
        return self.numpy()[FIRST:]

    @property
    def nbytes(self) -> int:
        return int(self.map.size * self.values.dtype.itemsize)

    def value(self, where: Any) -> Any:
        return self.numpy()[FIRST + where]

    def summary(self) -> ChunkSummary | None:
        return None

    def take(self, part: DenseLayer) -> None:
        """Take the values of some of the boards from a part that has them."""
        values = self.numpy()
        found = part.numpy()
        for local, there, count in runs(part.map, self.map):
            values[FIRST + there : FIRST + there + count] = found[FIRST + local : FIRST + local + count]
        self.load(values[FIRST:])

    def fill(self, value: Any) -> None:
        values = self.buffer()
        values[:] = value
        self.load(values)

    def load(self, values: Array) -> None:
        if not np.may_share_memory(values, self._buffer):
            self.values[FIRST:] = values


def layers_above(
    spawns: dict[int, AllSpawns], reads: Sequence[DenseLayer], writes: DenseLayer
) -> tuple[kernels.Successors, ...]:
    """The layers that spawns lead to, that of the largest first; any layer where nothing is spawned."""
    layers, exponents = reads or [writes] * len(spawns), sorted(spawns, reverse=True)
    return tuple(
        kernels.Successors(*layer.arrays, spawns[e]) for e, layer in zip(exponents, layers, strict=True)
    )


def runs(part: LayerMap, whole: LayerMap) -> Iterator[tuple[int, int, int]]:
    """Stretches of a part of a layer: the first rank in the part, in the whole, and how many."""
    if part is whole:
        yield 0, 0, whole.size
        return
    keep = part.offsets.ravel() >= 0
    local, there = part.offsets.ravel()[keep], whole.offsets.ravel()[keep]
    order = np.argsort(local)
    local, there = local[order], there[order]
    if not len(local):
        return
    breaks = np.flatnonzero(np.diff(there - local)) + 1
    begins = np.concatenate([[0], breaks])
    ends = np.concatenate([local[breaks], [part.size]])
    for first, end in zip(begins, ends, strict=True):
        yield int(local[first]), int(there[first]), int(end - local[first])


D = TypeVar("D", bound=DenseLayer)


# -- in files --------------------------------------------------------------------------------------


def states_path(folder: Path, total: int, layout: str = "values") -> Path:
    """Return where a pass keeps the states of a sum, in the layout of its backend."""
    return folder / places.of_sum(total, LAYOUTS[layout])


def change(values: Array, how: Callable[[Array], Array]) -> None:
    """Replace values by what a function makes of them, chunk by chunk."""
    for at in range(0, len(values), CHUNK_KEYS):
        values[at : at + CHUNK_KEYS] = how(values[at : at + CHUNK_KEYS])


def checksum_parts(values: Array, pool: Pool) -> Iterator[tuple[int, int]]:
    """Yield the CRC-32 and the bytes of pieces of values, in order."""
    pieces = (values[at : at + CRC_BOARDS] for at in range(0, len(values), CRC_BOARDS))
    return pool.map(lambda piece: (zlib.crc32(piece.data), piece.nbytes), pieces)


def joined_checksum(parts: Iterable[tuple[int, int]]) -> str:
    """Return the CRC-32 of byte strings one after the other, from the CRC-32 and the length of each.

    A CRC is the remainder of a polynomial over two elements; its product with x**8 stands for one more byte.
    The highest bit of a number here is the coefficient of x**0.

    >>> joined_checksum([(zlib.crc32(b"20"), 2), (zlib.crc32(b"48"), 2)]) == f"{zlib.crc32(b'2048'):08x}"
    True
    """
    found = 0
    for crc, length in parts:
        shift, power, bytes_left = 1 << 31, 1 << 23, length  # 1; x**8, later its squares
        while bytes_left:
            if bytes_left & 1:
                shift = _product(shift, power)
            power = _product(power, power)
            bytes_left >>= 1
        found = _product(found, shift) ^ crc
    return f"{found:08x}"


def _product(a: int, b: int) -> int:
    """Return the product of two polynomials modulo that of CRC-32."""
    found = 0
    for bit in range(31, -1, -1):
        if a >> bit & 1:
            found ^= b
        b = b >> 1 ^ (0xEDB88320 if b & 1 else 0)
    return found


@dataclass
class Moved:
    """The bytes of layers that a pass has read from files and written to them."""

    nbytes: int = 0


class RawLayer:
    """A layer in a file.  Raises `StorageError` if the disk refuses."""

    def __init__(self, path: Path, size: int, dtype: np.dtype[Any], moved: Moved) -> None:
        self.path, self.size, self.dtype = path, size, dtype
        self.moved = moved

    def read_all(self) -> Array:
        """Return all values."""
        with storage_errors(self.path, "read"):
            return np.fromfile(self.path, dtype=self.dtype)

    def create(self) -> None:
        """Make the file in its full size, for parts to be written."""
        with storage_errors(self.path), open_own(self.path, "wb") as file:
            file.truncate(self.size * self.dtype.itemsize)

    def read_at(self, begin: int, values: Array) -> None:
        """Fill `values` with those from `begin` on."""

        def fill(at: int, piece: Array) -> None:
            with storage_errors(self.path, "read"), self.path.open("rb", buffering=0) as file:
                self._move(file, begin + at, piece, _read_into)

        self._piecewise(fill, values, map)
        self.moved.nbytes += values.nbytes

    def write_at(self, begin: int, values: Array, mapped: Callable[..., Iterable[None]] = map) -> None:
        """Write values from `begin` on to the file; by all threads if `mapped` is that of a pool."""

        def write(at: int, piece: Array) -> None:
            with storage_errors(self.path), open_own(self.path, "r+b", 0) as file:
                self._move(file, begin + at, piece, write_all)

        self._piecewise(write, values, mapped)
        self.moved.nbytes += values.nbytes

    def _move(self, file: Any, begin: int, values: Array, move: Callable[[Any, Array], None]) -> None:
        """Read or write values at their place, past the system's cache if they are whole pages."""
        place = begin * self.dtype.itemsize
        pages = not (place | values.nbytes | values.ctypes.data) % system.PAGE_BYTES
        direct = pages and system.bypass_cache(file.fileno())
        file.seek(place)
        try:
            move(file, values)
        except OSError as error:
            if not direct or error.errno != errno.EINVAL:
                raise
            system.bypass_cache(file.fileno(), bypass=False)
            file.seek(place)
            move(file, values)

    def _piecewise(
        self, do: Callable[[int, Array], None], values: Array, mapped: Callable[..., Iterable[None]]
    ) -> None:
        size = READ_BYTES // self.dtype.itemsize
        for _ in mapped(lambda at: do(at, values[at : at + size]), range(0, len(values), size)):
            pass

    @cached_property
    def checksum(self) -> str:
        """A CRC-32 of the whole file, once it is finished."""
        self.moved.nbytes += self.size * self.dtype.itemsize
        return file_crc(self.path)

    def check(self, crc: str) -> None:
        """Raise `CorruptError` unless the file has this checksum."""
        with storage_errors(self.path, "read"):
            size = self.path.stat().st_size
        if size != self.size * self.dtype.itemsize or self.checksum != crc:
            raise CorruptError(f"{self.path} is damaged: delete {self.path.parent} and solve again")

    def rename(self, path: Path) -> None:
        """Give the finished file its name; then it lasts, even if the power fails.  Raises `StorageError`."""
        publish(self.path, path)
        self.path = path

    def release(self) -> None:
        """Delete the file."""
        self.path.unlink(missing_ok=True)


class DiskStore(RawLayer):
    """A layer in a file, by rank, of which blocks are read and written."""

    def __init__(self, path: Path, blocks: LayerMap, dtype: np.dtype[Any], moved: Moved) -> None:
        super().__init__(path, blocks.size, dtype, moved)
        self.map = blocks

    def read(self, backend: Backend[D], source: Source) -> D:
        """Read the blocks of a source into memory."""
        here = backend.layer(source)
        values, size = here.buffer(), self.dtype.itemsize
        with storage_errors(self.path, "read"), self.path.open("rb", buffering=0) as file:
            for local, there, count in runs(here.map, self.map):
                file.seek(there * size)
                _read_into(file, values[local : local + count])
        here.load(values)
        self.moved.nbytes += values.nbytes
        return here

    def write(self, layer: DenseLayer) -> None:
        """Write the values of some blocks where they belong.  The file must be there."""
        values, size = layer.data, self.dtype.itemsize
        with storage_errors(self.path), open_own(self.path, "r+b", 0) as file:
            for local, there, count in runs(layer.map, self.map):
                file.seek(there * size)
                write_all(file, values[local : local + count])
        self.moved.nbytes += values.nbytes

    def value(self, rank: int) -> Any:
        """Return the value of one board."""
        with storage_errors(self.path, "read"):
            return np.fromfile(self.path, dtype=self.dtype, count=1, offset=rank * self.dtype.itemsize)[0]

    def change(self, how: Callable[[Array], Array]) -> None:
        """Replace all values by what a function makes of them."""
        if not self.size:
            return
        with storage_errors(self.path):
            values = np.memmap(self.path, dtype=self.dtype, mode="r+")
            change(values, how)
            values.flush()


@contextmanager
def released_on_error(*files: RawLayer) -> Iterator[None]:
    """Delete the files of layers if they could not be finished."""
    try:
        yield
    except BaseException:
        for file in files:
            file.release()
        raise


def _read_into(file: Any, values: Array) -> None:
    data = values.view(np.uint8).data
    while data:
        count = file.readinto(data)
        if not count:
            raise OSError(0, "the file is shorter than its layer")
        data = data[count:]


# -- the journal -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Checkpoint:
    """The states from which a pass can go on."""

    saved: dict[int, str]  # checksums of their files, by sum
    layout: str  # that of the backend which wrote them

    @classmethod
    def parse(cls, line: Mapping[str, Any]) -> Checkpoint:
        """From its line in the journal, which anybody may have written."""
        saved = {int(total): text(crc, "a checksum") for total, crc in line["saved"].items()}
        layout = line.get("layout", "values")
        if layout not in LAYOUTS:
            raise CorruptError(f"its layout {layout!r} does not exist")
        return cls(saved, layout)

    @property
    def line(self) -> dict[str, Any]:
        """Its line in the journal."""
        return {"saved": {str(total): crc for total, crc in self.saved.items()}, "layout": self.layout}


class Checkpoints:
    """The journal and the states of a pass in its folder; `sizes` are the boards of each sum."""

    def __init__(self, folder: Path, identity: dict[str, Any], game: Game, sizes: Mapping[int, int]) -> None:
        self.folder, self._game, self._sizes = folder, game, sizes
        self.journal = Journal(folder / places.SOLVED, identity)

    def understood(self) -> AbstractContextManager[None]:
        """Return what cannot be understood in here is damage of the journal: `CorruptError`."""
        return understood(str(self.journal.path))

    def read(self) -> tuple[Lines, Checkpoint | None]:
        """Return the finished layers, and the last checkpoint if there is one.  Raises `CorruptError`."""
        with self.understood():
            lines = self.journal.read()
            finished = {whole(line["sum"], "a sum"): line for line in lines if "sum" in line}
            if unknown := finished.keys() - set(self._sizes):
                raise CorruptError(f"it has a layer of the sum {min(unknown)}, and no board has that sum")
            last = [line for line in lines if "saved" in line][-1:]
            checkpoint = Checkpoint.parse(last[0]) if last else None
            if checkpoint is not None and not self._suffices(checkpoint, finished):
                raise CorruptError("its checkpoint lacks a layer")
        return finished, checkpoint

    def _suffices(self, checkpoint: Checkpoint, finished: Lines) -> bool:
        """Return whether it has all that the next layer needs."""
        least = min(checkpoint.saved, default=0)
        following = max((s for s in self._sizes if s < least), default=None)
        if following is None:
            return True
        needed = {following + 2**e for e in self._game.spawn_exponents}
        return needed & finished.keys() <= checkpoint.saved.keys()

    def has_files(self, checkpoint: Checkpoint) -> bool:
        """Return whether the files of a checkpoint are there."""
        return all(path.exists() for path in self._files(checkpoint))

    def _files(self, checkpoint: Checkpoint) -> set[Path]:
        return {states_path(self.folder, total, checkpoint.layout) for total in checkpoint.saved}

    def rewrite(self, finished: Lines, checkpoint: Checkpoint | None) -> None:
        """Let the journal have these lines only."""
        self.journal.rewrite([*finished.values(), *([checkpoint.line] if checkpoint else [])])

    def declare(self, checkpoint: Checkpoint) -> None:
        """Let a pass go on from these states, whose files last, and delete older ones."""
        self.journal.append(checkpoint.line, durable=True)
        self._clean(self._files(checkpoint))

    def complete(self) -> None:
        """End the pass: the journal keeps the layers, and no states are needed."""
        finished, checkpoint = self.read()
        if checkpoint is not None:
            self.rewrite(finished, None)
        self._clean(set())

    def _clean(self, keep: set[Path]) -> None:
        """Delete other states."""
        for ending in LAYOUTS.values():
            for old in set(self.folder.glob(f"*.{ending}")) - keep:
                old.unlink()
