"""Layers of keys, encoded and decoded by the compiled codec: the boards of passes, and a part of a table.

The layers of a part have full chunks again, and their bytes depend only on the boards that are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property, partial
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tilebase._kernels import codec
from tilebase.errors import CorruptError
from tilebase.files.format import CHUNK_KEYS, Chunk, Layer, Varying, compress, value_chunk
from tilebase.files.layers import LayerFolder, Layers, same_boards
from tilebase.files.store import LayerStore
from tilebase.game.game import Game
from tilebase.runtime.threads import Pool

Array: TypeAlias = npt.NDArray[Any]
Keys = npt.NDArray[np.uint64]
JOB_CHUNKS = 32
"""Chunks that one task encodes or decodes: half a million keys."""
JOB_KEYS, KEPT_JOBS = CHUNK_KEYS // 2, 32
"""Least keys in memory that one task takes, and most tasks for a layer: each costs 45 µs of Python."""


def encode(keys: Keys, varying: Varying | None = None) -> list[Chunk]:
    """Ascending keys as chunks of `CHUNK_KEYS`, the last one shorter."""
    out = np.empty(10 * min(len(keys), CHUNK_KEYS), dtype=np.uint8)
    chunks = []
    for at in range(0, len(keys), CHUNK_KEYS):
        piece = keys[at : at + CHUNK_KEYS]
        size = codec.encode_deltas(piece if varying is None else shortened(varying, piece), out)
        chunks.append(compress(int(piece[0]), len(piece), out[:size].tobytes()))
    return chunks


def decode(first: int, data: bytes, count: int, varying: Varying | None = None) -> Keys:
    """Return the compiled counterpart of `files.format.decode_keys`.  Raises `CorruptError`."""
    keys = np.empty(count, dtype=np.uint64)
    # A writable copy, since a read-only array has another type in Numba, which would compile again.
    raw = np.frombuffer(bytearray(data), dtype=np.uint8)
    begin = first if varying is None else varying.shorten_one(first)
    found = codec.decode_deltas(np.uint64(begin), raw, keys)
    if found == -2:
        raise CorruptError("the keys of a chunk are not ascending")
    if found != count:
        raise CorruptError(f"a chunk does not hold the {count} keys that its index says")
    return keys if varying is None else _lengthened(varying, first, keys)


def shortened(varying: Varying, keys: Keys) -> Keys:
    """Return the short forms of keys, in the same order."""
    (masks, shifts), (_, zeros, _), short = varying.stretches, varying.spread, np.empty_like(keys)
    codec.move_bits(keys, masks, shifts, zeros, np.uint64(0), short)
    return short


def _lengthened(varying: Varying, first: int, short: Keys) -> Keys:
    """Return the compiled counterpart of `Varying.lengthen`.  Raises `CorruptError`."""
    varying.check(short)
    (masks, zeros, shifts), keys = varying.spread, np.empty_like(short)
    codec.move_bits(short, masks, zeros, shifts, varying.rest(first), keys)
    return keys


class BoardCheck:
    """Checks that keys are boards of a game with one sum.

    A file from a stranger may hold any keys.  Keys of other boards have ranks beyond the arrays of the
    kernels, which do not check them.
    """

    _WRONG, _X = 1 << 28, 1 << 21  # what a forbidden code and a movable x add to a sum

    def __init__(self, game: Game) -> None:
        self.game = game
        step = 16 // game.bits
        tables = [
            self._sums(range(max(end - step, 0), end)) for end in range(game.cells, 0, -step)
        ]  # of the last cells first
        sizes = np.array([len(table) for table in tables], dtype=np.uint64)
        used = game.bits * game.cells
        # The arguments of the kernel: sums, starts, masks, width, unused, x_masks.
        self._arguments = (
            np.concatenate(tables),
            np.cumsum(sizes, dtype=np.uint64) - sizes,
            sizes - np.uint64(1),
            np.uint64(game.bits * step),
            np.uint64((1 << 64) - (1 << used)),
            np.array([game.cell_bits(mask) for mask in game.masks], dtype=np.uint64),
        )
        self._moving = len(game.unmergeable)

    def _sums(self, cells: range) -> npt.NDArray[np.int32]:
        """``[packed]``: what these cells add to the sum of the board."""
        found, x = np.zeros(1, dtype=np.int64), self._X
        for cell in cells:
            adds = np.full(self.game.x + 1, self._WRONG, dtype=np.int64)
            for code in self.game.codes(cell):
                adds[code] = x if self.game.is_x(code) else self.game.sum((code,))
            found = (found[:, None] + adds).ravel()
        return np.minimum(found, self._WRONG).astype(np.int32)  # small tables stay in cache

    def demand(self, keys: Keys, total: int, name: str) -> None:
        """Raise `CorruptError` unless all keys are boards of this sum."""
        if not codec.are_boards(keys, *self._arguments, total + self._moving * self._X):
            raise CorruptError(f"{name} holds keys that are not boards of sum {total} of {self.game}")


def joined(parts: Sequence[Keys]) -> Keys:
    """Return the keys of all parts; those of a single one are not copied."""
    return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, dtype=np.uint64), *parts])


def regrouped(parts: Iterable[list[Array]], size: int) -> Iterator[list[Array]]:
    """Yield the rows of all parts, which are some columns, in pieces of `size`; only the last may be shorter.

    None is empty.
    """
    waiting: list[list[Array]] = []
    count = 0
    for part in parts:
        waiting.append(part)
        count += len(part[0])
        if count >= size:
            columns = [np.concatenate(column) for column in zip(*waiting, strict=True)]
            whole = count // size * size
            for at in range(0, whole, size):
                yield [column[at : at + size] for column in columns]
            waiting, count = [[column[whole:] for column in columns]], count - whole
    if count:
        yield [np.concatenate(column) for column in zip(*waiting, strict=True)]


def encoded(
    parts: Iterable[Keys], varying: Varying | None, pool: Pool | None, job_chunks: int = JOB_CHUNKS
) -> Iterable[Chunk]:
    """Return ascending `parts` as the chunks of a layer.

    They depend only on the keys, not on the sizes of the parts, the chunks of a task or on threads.  Without
    a pool, this thread does all the work, which is best for few keys.
    """
    if pool is None:
        return encode(joined(list(parts)), varying)
    pieces = (keys for (keys,) in regrouped(([part] for part in parts), job_chunks * CHUNK_KEYS))
    return chain.from_iterable(pool.map(partial(encode, varying=varying), pieces, ahead=8))


Take: TypeAlias = Callable[[Iterable[Callable[[], Keys]]], None]
"""Takes functions that together list the keys of a layer, in any order."""


class StoredLayer:
    """One finished layer in files, and also its keys if they are few."""

    def __init__(
        self, folder: LayerFolder, total: int, keys: Keys | None = None, jobs: int = KEPT_JOBS
    ) -> None:
        """`jobs`: most pieces of keys in memory."""
        self._folder, self._total, self._keys = folder, total, keys
        self._each = JOB_KEYS if keys is None else max(JOB_KEYS, -(-len(keys) // jobs))

    @cached_property
    def layer(self) -> Layer:
        """The layer.  Raises `CorruptError` or `MissingLayerError`."""
        return self._folder.layer(self._total)

    @property
    def jobs(self) -> int:
        """Number of pieces that `read` can return."""
        if self._keys is not None:
            return max(-(-len(self._keys) // self._each), 1)
        return -(-self.layer.chunks // JOB_CHUNKS)

    def read(self, job: int) -> Keys:
        """Return the keys of one piece, ascending.  Raises `CorruptError`."""
        if self._keys is not None:
            return self._keys[job * self._each : (job + 1) * self._each]
        chunks = range(job * JOB_CHUNKS, min((job + 1) * JOB_CHUNKS, self.layer.chunks))
        return read_keys(self.layer, chunks)


def read_keys(layer: Layer, chunks: Iterable[int]) -> Keys:
    """Return the keys of some chunks, one after the other.  Raises `CorruptError`."""
    return joined([layer.keys(chunk, decode) for chunk in chunks])


# -- the boards of the backward pass ---------------------------------------------------------------


class BoardsRead(NamedTuple):
    """Some chunks of a layer: their boards as they are stored, and as keys."""

    span: range
    frames: list[bytes]
    keys: Array


def frames_of(layer: Layer, span: range) -> list[bytes]:
    """Return the keys of some chunks as they are stored.  Raises `CorruptError`."""
    return [layer.frames(chunk, ("keys",))[0] for chunk in span]


def read_boards(layer: Layer, span: range) -> BoardsRead:
    """Read the boards of some chunks.  Raises `CorruptError`."""
    frames = frames_of(layer, span)
    keys = [layer.keys_in(frame, chunk, decode) for frame, chunk in zip(frames, span, strict=True)]
    return BoardsRead(span, frames, joined(keys))


# -- a part of the boards of a table ---------------------------------------------------------------

Columns: TypeAlias = Mapping[str, Array]
"""``columns[label]``: the values of some boards under an objective; ``columns[KEYS]``: their keys."""

KEYS = "keys"
"""Stands for the keys in `Columns`; no label of an objective is so."""


def write_subset(
    source: Mapping[str, Layers],
    target: Mapping[str, LayerStore],
    total: int,
    choose: Callable[[int, Columns], Array],
    *,
    durable: bool = False,
) -> int:
    """Write the chosen boards of a layer and their values, by label; return how many.

    ``choose(first, columns)`` returns the chosen boards of a chunk, as indexes or as a mask; `first` is the
    position of its first board in the layer.  If no board is chosen, nothing is written.  Raises
    `CorruptError` or `StorageError`.
    """
    layers = {label: one.layer(total) for label, one in source.items()}
    varying = next(iter(layers.values())).contents.varying
    kept = 0
    with ExitStack() as stack:
        writers = [stack.enter_context(store.writer(total)) for store in target.values()]
        objectives = [layers[label].contents.objective for label in target]
        chosen = _chosen(layers, choose)
        columns = ([part[name] for name in (KEYS, *target)] for part in chosen)
        for keys, *values in regrouped(columns, CHUNK_KEYS):
            kept += len(keys)
            (chunk,) = encode(keys, varying)
            for writer, objective, column in zip(writers, objectives, values, strict=True):
                assert objective is not None
                writer.add(value_chunk(chunk.first, column, objective.is_boolean, chunk.frames))
        if kept:
            for writer in writers:
                writer.finish(durable=durable)
    return kept


def _chosen(layers: Mapping[str, Layer], choose: Callable[[int, Columns], Array]) -> Iterator[Columns]:
    first, *others = layers.values()
    if any(not same_boards(first, other) for other in others):
        raise CorruptError(f"{first.name} does not hold the boards of {others[0].name}")
    for chunk in range(first.chunks):
        columns = {KEYS: first.keys(chunk, decode)}
        columns |= {label: layer.values(chunk) for label, layer in layers.items()}
        chosen = choose(int(first.starts[chunk]), columns)
        yield {label: column[chosen] for label, column in columns.items()}
