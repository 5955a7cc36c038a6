"""A part of the boards of a table's layer, written as a layer of another table.

The new files have full chunks again.  Their bytes depend only on the boards that are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tilebase.files.format import (
    CHUNK_KEYS,
    VALUE_HEADER,
    LayerFile,
    LayerWriter,
    ValueFile,
    Varying,
    compress,
    encode_values,
    header_of,
)
from tilebase.files.keys import decode, encode
from tilebase.files.manifest import file_name

Array: TypeAlias = npt.NDArray[Any]
Columns: TypeAlias = Mapping[str, Array]
"""``columns[label]``: the values of some boards under an objective; ``columns[KEYS]``: their keys."""

KEYS = "afterstates"
"""The label of the files of keys."""


def write_subset(
    source: Path,
    target: Path,
    total: int,
    labels: Sequence[str],
    choose: Callable[[int, Columns], Array],
    *,
    durable: bool = False,
) -> tuple[int, dict[str, str]]:
    """Write the chosen boards of a layer and their values; return how many, and the files' checksums.

    ``choose(first, columns)`` returns the chosen boards of a chunk, as indexes or as a mask; `first` is the
    position of its first board in the layer.  If no board is chosen, no file is written.  Raises
    `CorruptError` or `StorageError`.
    """
    with ExitStack() as stack:
        keys = stack.enter_context(LayerFile(source / file_name(KEYS, total)))
        values = {label: stack.enter_context(ValueFile(source / file_name(label, total))) for label in labels}
        for file in values.values():
            file.check_pair(keys)
        writers = {
            label: stack.enter_context(
                LayerWriter(
                    target / file_name(label, total), header_of(keys.meta) if label == KEYS else VALUE_HEADER
                )
            )
            for label in (KEYS, *labels)
        }
        bits = {label for label, file in values.items() if file.dtype == "bit"}
        kept = 0
        for piece in _regrouped(_chosen(keys, values, choose), CHUNK_KEYS):
            kept += len(piece[KEYS])
            _add(writers, piece, bits, keys.varying)
        if not kept:
            return 0, {}
        for label, writer in writers.items():
            writer.finish(keys.meta if label == KEYS else values[label].meta, durable=durable)
        return kept, {label: writer.checksum for label, writer in writers.items()}


def _chosen(
    keys: LayerFile, values: Mapping[str, ValueFile], choose: Callable[[int, Columns], Array]
) -> Iterator[Columns]:
    """Yield the chosen boards of each chunk."""
    for chunk in range(keys.chunks):
        columns = {KEYS: keys.keys(chunk, decode)} | {
            label: file.values(chunk) for label, file in values.items()
        }
        chosen = choose(int(keys.starts[chunk]), columns)
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


def _add(writers: Mapping[str, LayerWriter], piece: Columns, bits: set[str], varying: Varying | None) -> None:
    """Add one chunk to each file."""
    keys = piece[KEYS]
    for label, writer in writers.items():
        if label == KEYS:
            for chunk in encode(keys, varying):
                writer.add(chunk)
        else:
            data = encode_values(piece[label], label in bits)
            writer.add(compress(int(keys[0]), len(keys), data))
