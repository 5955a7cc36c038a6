"""Layers in the ecosystem's format: Parquet out and in.

Columns: ``key`` (uint64, ascending) and ``cell_0`` ... (uint8 exponents, row-major; 0 is
empty).  The file's metadata holds, under the name ``tilebase``, the layer's own as JSON.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase.errors import CorruptError, MissingExtraError
from tilebase.game import Game
from tilebase.layers.store import decode, write_keys
from tilebase.storage import atomic_file
from tilebase.tables.format import LayerFile

Keys = npt.NDArray[np.uint64]


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtraError("Parquet needs pyarrow: pip install 'tilebase[parquet]'") from error
    return pa, pq


def cells_of(game: Game, keys: Keys) -> npt.NDArray[np.uint8]:
    """``cells[c, i]``: exponent of cell c of board i."""
    mask = np.uint64((1 << game.bits) - 1)
    shifts = (game.bits * np.arange(game.cells - 1, -1, -1)).astype(np.uint64)
    return (keys[None, :] >> shifts[:, None] & mask).astype(np.uint8)


def export_parquet(layer: Path, output: Path) -> int:
    """Write a layer file as Parquet, one row group a chunk; return the number of boards.

    Raises `CorruptError`, `MissingLayerError`, `StorageError` or `MissingExtraError`.
    """
    pa, pq = _pyarrow()
    with LayerFile(layer) as source:
        game = Game.from_identity(source.meta["game"])
        fields = [("key", pa.uint64()), *((f"cell_{c}", pa.uint8()) for c in range(game.cells))]
        schema = pa.schema(fields).with_metadata({"tilebase": json.dumps(source.meta, sort_keys=True)})
        with atomic_file(output) as file, pq.ParquetWriter(file, schema) as writer:
            for chunk in range(source.chunks):
                keys = source.keys(chunk, decode)
                columns = [pa.array(column) for column in (keys, *cells_of(game, keys))]
                writer.write_table(pa.Table.from_arrays(columns, schema=schema))
        return len(source)


def import_parquet(source: Path, layer: Path) -> int:
    """Write the boards of a Parquet file that `export_parquet` made as a layer file again.

    The layer file has the bytes of the one that was exported.  Raises `CorruptError` if
    keys are missing or not ascending.
    """
    _, pq = _pyarrow()
    try:
        table = pq.read_table(source, columns=["key"])
        meta = json.loads(table.schema.metadata[b"tilebase"])
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise CorruptError(f"{source} is not an exported layer: {error}") from error
    keys = table.column("key").to_numpy().astype(np.uint64)
    if len(keys) == 0 or (keys[1:] <= keys[:-1]).any():
        raise CorruptError(f"{source} is not an exported layer: its keys are not ascending")
    write_keys(layer, [keys], meta, None, durable=True)
    return len(keys)
