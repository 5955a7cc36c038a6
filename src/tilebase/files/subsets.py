"""A part of the boards of a table's layer, written as a layer of another table.

The new layers have full chunks again.  Their bytes depend only on the boards that are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tilebase.errors import CorruptError
from tilebase.files.format import CHUNK_KEYS, Layer, value_chunk
from tilebase.files.keys import decode, encode
from tilebase.files.layers import Layers, same_boards
from tilebase.files.store import LayerStore

Array: TypeAlias = npt.NDArray[Any]
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
    kept = 0
    with ExitStack() as stack:
        writers = {label: stack.enter_context(store.writer(total)) for label, store in target.items()}
        for piece in _regrouped(_chosen(layers, choose), CHUNK_KEYS):
            kept += len(piece[KEYS])
            (keys,) = encode(piece[KEYS], next(iter(layers.values())).contents.varying)
            for label, writer in writers.items():
                objective = layers[label].contents.objective
                assert objective is not None
                writer.add(value_chunk(keys.first, piece[label], objective.is_boolean, keys.frames))
        if kept:
            for writer in writers.values():
                writer.finish(durable=durable)
    return kept


def _chosen(layers: Mapping[str, Layer], choose: Callable[[int, Columns], Array]) -> Iterator[Columns]:
    """Yield the chosen boards of each chunk."""
    first, *others = layers.values()
    if any(not same_boards(first, other) for other in others):
        raise CorruptError(f"{first.name} does not hold the boards of {others[0].name}")
    for chunk in range(first.chunks):
        columns = {KEYS: first.keys(chunk, decode)}
        columns |= {label: layer.values(chunk) for label, layer in layers.items()}
        chosen = choose(int(first.starts[chunk]), columns)
        yield {label: column[chosen] for label, column in columns.items()}


def _regrouped(parts: Iterable[Columns], size: int) -> Iterator[Columns]:
    """Yield the rows of all parts in pieces of `size`; the last may be shorter, and none is empty."""
    held: list[Columns] = []
    count = 0
    for part in parts:
        held.append(part)
        count += len(part[KEYS])
        if count >= size:
            joined = _join(held)
            whole = count // size * size
            for at in range(0, whole, size):
                yield {label: column[at : at + size] for label, column in joined.items()}
            held, count = [{label: column[whole:] for label, column in joined.items()}], count - whole
    if count:
        yield _join(held)


def _join(parts: Sequence[Columns]) -> Columns:
    return {label: np.concatenate([part[label] for part in parts]) for label in parts[0]}
