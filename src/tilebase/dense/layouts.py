"""Boolean states from one layout to the other: bytes by rank ("values"), and matrices of bits ("bits").

So a pass goes on from a checkpoint that a backend of the other layout has left.  The boards whose top
half has one sum follow each other by rank, and they are one matrix of bits (`backends.bits.Matrices`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tilebase.dense.backends.bits import Matrices
from tilebase.dense.backends.protocol import DenseWork
from tilebase.dense.stores import RawLayer, released_on_error, states_path
from tilebase.dense.tables import DenseRules, half_counts
from tilebase.runtime.storage import open_own, part_path, storage_errors

Array = npt.NDArray[Any]
WORD, BYTE = np.dtype(np.uint64), np.dtype(np.uint8)


class _Block(NamedTuple):
    """Boards whose parts have one class each: a rectangle of a matrix, and ranks one after the other.

    Attributes
    ----------
    top:
        The sum of the top half, which says which matrix it is.
    rows, columns:
        Of the matrix.
    begin, end:
        Ranks.
    """

    top: int
    rows: slice
    columns: slice
    begin: int
    end: int


def convert(rules: DenseRules, folder: Path, total: int, crc: str, layout: str) -> str:
    """Write the states of a sum in the other layout than `layout`, beside them; return the checksum.

    Raises `CorruptError` or `StorageError`.
    """
    to_bits = layout == "values"
    blocks = _matrices(rules, total)
    sizes = {"values": int(rules.index.sizes()[total]), "bits": blocks.size}
    types: dict[str, np.dtype[Any]] = {"values": BYTE, "bits": WORD}
    other = "bits" if to_bits else "values"
    source = RawLayer(states_path(folder, total, layout), sizes[layout], types[layout], DenseWork())
    source.check(crc)
    path = states_path(folder, total, other)
    made = RawLayer(part_path(path), sizes[other], types[other], DenseWork())
    with released_on_error(made):
        if to_bits:
            with storage_errors(source.path, "read"):  # an empty file cannot be mapped
                mapped = np.memmap(source.path, source.dtype, "r") if source.size else source.read_all()
            made.write_all(bits_of(rules, total, mapped))
        else:
            with storage_errors(made.path), open_own(made.path, "wb") as file:
                for values in values_of(rules, total, source.read_all()):
                    file.write(values.data)
        made.rename(path)
    return made.checksum


def values_of(rules: DenseRules, total: int, words: Array) -> Iterator[Array]:
    """Yield the values of the boards of a sum by rank, matrix by matrix."""
    matrices = _matrices(rules, total)
    for top, blocks in groupby(_blocks(rules, total), lambda block: block.top):
        at, wide, rows = (int(found[top]) for found in (matrices.at, matrices.wide, matrices.rows))
        matrix = words[at : at + rows * wide].reshape(rows, wide)
        bits = np.unpackbits(matrix.astype("<u8").view(BYTE), axis=1, bitorder="little")
        yield np.concatenate([bits[block.rows, block.columns].ravel() for block in blocks])


def bits_of(rules: DenseRules, total: int, values: Array) -> Array:
    """Return the words of the boards of a sum, from their values by rank."""
    matrices = _matrices(rules, total)
    words = np.zeros(matrices.size, dtype=WORD)
    for top, blocks in groupby(_blocks(rules, total), lambda block: block.top):
        at, wide, rows = (int(found[top]) for found in (matrices.at, matrices.wide, matrices.rows))
        bits = np.zeros((rows, 64 * wide), dtype=BYTE)
        for block in blocks:
            here = bits[block.rows, block.columns]
            here[:] = values[block.begin : block.end].reshape(here.shape)
        words[at : at + rows * wide] = np.packbits(bits, axis=1, bitorder="little").view("<u8").ravel()
    return words


def _matrices(rules: DenseRules, total: int) -> Matrices:
    a, b, c, d = rules.index.parts
    return Matrices(rules.index.units(total), half_counts(a, b), half_counts(c, d))


def _blocks(rules: DenseRules, total: int) -> Iterator[_Block]:
    """Yield the blocks of a layer in the order of ranks."""
    index, (top, bottom) = rules.index, rules.rows
    a, b, c, d = index.parts
    units, offsets = index.units(total), index.layer(total).offsets
    for number in index.order[offsets.ravel()[index.order] >= 0].tolist():
        i, j, k = (int(position) for position in np.unravel_index(number, offsets.shape))
        high, left = int(a.sums[i] + b.sums[j]), int(c.sums[k])
        m = int(d.class_of[units - high - left])
        row = int(top.firsts[i, j] - top.begins[high])
        column = int(bottom.firsts[k, m] - bottom.begins[units - high])
        rows, columns = int(a.counts[i] * b.counts[j]), int(c.counts[k] * d.counts[m])
        begin = int(offsets[i, j, k])
        yield _Block(
            high, slice(row, row + rows), slice(column, column + columns), begin, begin + rows * columns
        )
