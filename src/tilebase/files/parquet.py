"""Parquet files, and layers as such files.

The columns of a layer are ``key`` and ``cells`` of `files.schema`.  The metadata of the file holds two
entries.  ``tilebase`` says as JSON what the layer is: game, kind and sum.  ``tilebase.sha256`` is a checksum
of that text and all keys, since the checksums of Parquet cover neither the metadata nor, in the files of most
programs, the pages.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tilebase.errors import MissingExtraError
from tilebase.files.format import Layer, cells_of
from tilebase.files.source import check_output
from tilebase.runtime.documents import to_json
from tilebase.runtime.storage import atomic_file

NEEDED = "Arrow and Parquet need pyarrow"
META, CHECK = b"tilebase", b"tilebase.sha256"
"""Names in the metadata of the file."""


def load_pyarrow(missing: str = NEEDED) -> tuple[Any, Any]:
    """Return pyarrow and its module for Parquet.  Raises `MissingExtraError` with the sentence `missing`."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtraError.of(missing, "parquet") from error
    return pa, pq


@contextmanager
def parquet_file(path: Path, schema: Any, *, durable: bool = True, **options: Any) -> Iterator[Any]:
    """Give a ``pyarrow.parquet.ParquetWriter``; the file gets its name when it is complete.

    `options` are those of the writer.  Raises `StorageError` or `MissingExtraError`.
    """
    _, pq = load_pyarrow()
    with atomic_file(path, durable=durable) as file, pq.ParquetWriter(file, schema, **options) as writer:
        yield writer


def export_parquet(layer: Layer, output: Path) -> int:
    """Write the boards of a layer as Parquet, one row group per chunk; return their number.

    Raises `CorruptError`, `StorageError` or `MissingExtraError`, and what `check_output` raises.
    """
    from tilebase.files.keys import decode  # which loads the compiler; rows of a record need none

    pa, _ = load_pyarrow()
    check_output(output)
    game, kind, lookahead = layer.contents.game, layer.contents.kind, layer.contents.lookahead
    meta = {"game": game.identity, "kind": kind, "lookahead": lookahead, "sum": layer.sum}
    text = to_json(meta, "sorted")
    digest = hashlib.sha256(text.encode())
    for chunk in range(layer.chunks):
        keys = layer.keys(chunk, decode)
        digest.update(keys.astype("<u8", copy=False).data)
    schema = pa.schema([("key", pa.uint64()), ("cells", pa.list_(pa.uint8(), game.cells))]).with_metadata(
        {META: text, CHECK: digest.hexdigest()}
    )
    with parquet_file(output, schema) as writer:
        for chunk in range(layer.chunks):
            keys = layer.keys(chunk, decode)
            cells = pa.array(cells_of(game, keys).T.ravel())
            columns = [pa.array(keys), pa.FixedSizeListArray.from_arrays(cells, game.cells)]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))
    return len(layer)
