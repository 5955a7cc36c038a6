"""Layers as Parquet files: export and import.

The columns are ``key`` (uint64, ascending) and ``cell_0`` ... (uint8 exponents, row-major; 0 is
empty).  The metadata of the file holds two entries.  ``tilebase`` is the meta of the layer as JSON,
with game, kind and sum.  ``tilebase.sha256`` is a checksum of that text and all keys, since the
checksums of Parquet cover neither the metadata nor, in the files of most programs, the pages.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase.errors import CorruptError, MissingExtraError, StorageError
from tilebase.files.format import LayerFile
from tilebase.files.keys import BoardCheck, decode, write_keys
from tilebase.files.source import LocalFile
from tilebase.game.game import Game
from tilebase.runtime.documents import mapping, parse_json, shown, understood, whole
from tilebase.runtime.storage import atomic_file

Keys = npt.NDArray[np.uint64]
META, CHECK = b"tilebase", b"tilebase.sha256"
"""Names in the metadata of the file."""


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
    """Write a layer file as Parquet, one row group per chunk; return the number of boards.

    Raises `CorruptError`, `MissingLayerError`, `StorageError` or `MissingExtraError`.
    """
    pa, pq = _pyarrow()
    with LayerFile(layer) as source:
        with understood(f"the meta of {layer}"):
            game = Game.from_identity(source.meta["game"])
        text = json.dumps(source.meta, sort_keys=True)
        digest = hashlib.sha256(text.encode())
        for chunk in range(source.chunks):
            keys = source.keys(chunk, decode)
            digest.update(keys.astype("<u8", copy=False).data)
        fields = [("key", pa.uint64()), *((f"cell_{c}", pa.uint8()) for c in range(game.cells))]
        schema = pa.schema(fields).with_metadata({META: text, CHECK: digest.hexdigest()})
        with atomic_file(output) as file, pq.ParquetWriter(file, schema) as writer:
            for chunk in range(source.chunks):
                keys = source.keys(chunk, decode)
                columns = [pa.array(column) for column in (keys, *cells_of(game, keys))]
                writer.write_table(pa.Table.from_arrays(columns, schema=schema))
        return len(source)


def import_parquet(source: Path, layer: Path, *, unchecked: bool = False) -> int:
    """Write the boards of a Parquet file that `export_parquet` made as a layer file.

    The layer file has the same bytes as the one that was exported.  Only the column ``key`` and the
    metadata are read.  With `unchecked`, a file without the checksum is accepted, too: one of another
    program or of tilebase 0.1.  Then only this is checked: the keys are ascending, and they are boards of
    the game and the sum that the metadata names.

    Raises
    ------
    CorruptError
        If the file is damaged, or has no checksum and `unchecked` is false.
    MissingLayerError, StorageError
        If it does not exist or cannot be read, or the layer cannot be written.
    """
    text, check, keys = _read_parquet(source)
    meta = mapping(parse_json(text, f"the metadata of {source}"), f"the metadata of {source}")
    if check is None and not unchecked:
        raise CorruptError(
            f"{source} is not an exported layer, or one without a checksum: "
            "import it with unchecked=True if you trust it"
        )
    digest = hashlib.sha256(text + keys.astype("<u8", copy=False).tobytes()).hexdigest()
    if check is not None and check != digest.encode():
        raise CorruptError(f"{source} is damaged: its content is not what its checksum says")
    with understood(f"{source} is not an exported layer: its metadata"):
        game, total = Game.from_identity(mapping(meta["game"], "game")), whole(meta["sum"], "sum")
    if len(keys) == 0 or (keys[1:] <= keys[:-1]).any():
        raise CorruptError(f"{source} is not an exported layer: its keys are not ascending")
    BoardCheck(game).demand(keys, total, str(source))
    write_keys(layer, [keys], meta, None, durable=True)
    return len(keys)


def _read_parquet(source: Path) -> tuple[bytes, bytes | None, Keys]:
    """Metadata, checksum (None without one) and keys of a Parquet file."""
    pa, pq = _pyarrow()
    LocalFile(source).close()  # raises if it does not exist or cannot be read
    try:
        with pq.ParquetFile(source) as file:
            metadata = file.schema_arrow.metadata or {}
            if META not in metadata or file.schema_arrow.field("key").type != pa.uint64():
                raise CorruptError(f"{source} is not an exported layer: metadata or keys are missing")
            column = file.read(columns=["key"]).column("key")
        if column.null_count:
            raise CorruptError(f"{source} is not an exported layer: it lacks keys")
        keys = column.to_numpy().astype(np.uint64)
    except CorruptError:
        raise
    except OSError as error:
        if error.errno is not None:  # an error of the system; Arrow's own errors have no number
            raise StorageError(f"cannot read {source}: {error.strerror}") from error
        raise CorruptError(f"{source} is not an exported layer: {shown(error)}") from error
    except (pa.ArrowException, LookupError, TypeError, ValueError, OverflowError) as error:
        raise CorruptError(f"{source} is not an exported layer: {shown(error)}") from error
    return metadata[META], metadata.get(CHECK), keys
