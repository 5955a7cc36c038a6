"""What lies in files: all files of a folder, and all values of a table by board."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import zipfile
import zlib
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tilebase.dense.index import PerfectIndex
from tilebase.files import places
from tilebase.files.format import HEADER, Chunk, Contents, Layer
from tilebase.files.layers import LayerFolder
from tilebase.files.manifest import Manifest
from tilebase.files.store import LayerStore
from tilebase.game.game import Cells, Game
from tilebase.objectives.objective import Objective
from tilebase.objectives.values import Lower, Number, Upper, Value
from tilebase.runtime.documents import sealed


def contents(folder: Path) -> dict[str, bytes]:
    """The files below a folder by their path in it, but not the lock."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "lock"
    }


def without_positions(folder: Path) -> dict[str, Any]:
    """The files below a folder; of folders of layers only the checksums, and of a manifest no pages.

    A damaged layer that is made again lies behind the others, so positions and pages may differ.
    """
    found: dict[str, Any] = {}
    for name, data in contents(folder).items():
        if name.endswith(places.INDEX):
            with layers_of((folder / name).parent) as layers:
                found[name] = {total: record.text for total, record in layers.records.items()}
        elif name.endswith(places.TABLE):
            told = json.loads(data)
            found[name] = {key: told[key] for key in told.keys() - {"check", "layers"}}
        elif not name.endswith(".seg"):
            found[name] = data
    return found


def encode_keys(keys: np.ndarray) -> bytes:
    """LEB128 deltas of ascending keys, without the first key, as chunks hold them: slow, but easy to read."""
    out = bytearray()
    for delta in np.diff(keys).tolist():
        while delta > 0x7F:
            out.append(delta & 0x7F | 0x80)
            delta >>= 7
        out.append(delta)
    return bytes(out)


def journal(*documents: Any) -> str:
    """The lines of a journal with the checksums that they ought to have."""
    texts = [json.dumps(one, sort_keys=True, separators=(",", ":")) for one in documents]
    return "".join(f"{text}\t{zlib.crc32(text.encode()):08x}\n" for text in texts)


def sign(path: Path, values: Any) -> None:
    """Write a document, a manifest with the checksum that it ought to have; `values` may hold an old one."""
    if isinstance(values, dict):
        path.write_text(sealed(json.dumps({name: one for name, one in values.items() if name != "check"})))
    else:
        path.write_text(json.dumps(values))


def number_of(value: Value) -> Number:
    """The number of an exact value or of a bound."""
    assert not hasattr(value, "low"), "an interval is two numbers"
    return value.bound if isinstance(value, Lower | Upper) else value.value  # type: ignore[union-attr]


class Place(NamedTuple):
    """Bytes of a file."""

    path: Path
    begin: int
    size: int

    def read(self) -> bytes:
        """These bytes."""
        return self.path.read_bytes()[self.begin : self.begin + self.size]

    def write(self, data: bytes) -> None:
        """Write other bytes over them, as many."""
        assert len(data) == self.size
        with self.path.open("r+b") as file:
            file.seek(self.begin)
            file.write(data)

    def flip(self, at: int = 0, bits: int = 0x10) -> None:
        """Change a byte of them."""
        data = bytearray(self.read())
        data[at] ^= bits
        self.write(bytes(data))


def flip_at(share: float) -> Callable[[Path], None]:
    """Change a bit of the byte at a share of a file: 0 is its first byte and 1 its last."""

    def flip(path: Path) -> None:
        size = path.stat().st_size
        Place(path, 0, size).flip(int(share * (size - 1)))

    return flip


def zipped(folder: Path, target: Path, prefix: str = "", method: int = zipfile.ZIP_STORED) -> Path:
    """Write a zip file of a folder; return it."""
    with zipfile.ZipFile(target, "w", method) as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, prefix + str(path.relative_to(folder)))
    return target


def leave_out_a_third(path: Path) -> None:
    """Remove the lines in the middle, or the bytes of a file without lines."""
    data = path.read_bytes()
    lines = data.splitlines(keepends=True) if path.suffix == ".jsonl" else []
    parts = lines if len(lines) > 2 else [data[at : at + 1] for at in range(len(data))]
    path.write_bytes(b"".join([*parts[: len(parts) // 3], *parts[2 * len(parts) // 3 :]]))


DAMAGE: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "emptied": lambda path: path.write_bytes(b""),
    "torn": lambda path: os.truncate(path, path.stat().st_size - 3),
    "halved": lambda path: os.truncate(path, path.stat().st_size // 2),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"\xff" * 100),
    "first byte": flip_at(0),
    "byte in the head": flip_at(0.1),
    "byte in the middle": flip_at(0.5),
    "last byte": flip_at(1),
    "a third left out": leave_out_a_third,
    "foreign": lambda path: path.write_bytes(b'{"name": "a letter"}\n'),
    "too new": lambda path: path.write_bytes(newer(path.read_bytes())),
}
"""What can happen to a file.  tests/test_damage.py does all of it to the files of each format."""


def newer(data: bytes) -> bytes:
    """The same file with a version from the future, and the right checksum if it is a document."""
    if data.startswith(b'{"check"'):
        told = json.loads(data)
        return sealed(json.dumps({k: told[k] for k in told if k != "check"} | {"version": 99})).encode()
    return data[:13] + b"\x63" + data[14:]


def contents_of(folder: Path) -> Contents:
    """What the layers of a folder are, as its index says."""
    data = (folder / places.INDEX).read_bytes()
    told = json.loads(data[HEADER.size : HEADER.size + HEADER.unpack_from(data)[1]])
    objective = told.get("objective")
    return Contents(
        Game.from_identity(told["game"]), told["kind"], told.get("lookahead", False),
        None if objective is None else Objective.from_identity(objective),
    )  # fmt: skip


def layers_of(folder: Path) -> LayerFolder:
    """The layers in a folder, as ``run/afterstates`` or ``table/values/win``."""
    return LayerFolder(folder, contents_of(folder))


def chunks_of(folder: Path, total: int) -> Place:
    """Where the chunks of a layer lie."""
    record = layers_of(folder).records[total]
    return Place(folder / places.segment(record.segment), record.offset, record.nbytes)


def record_of(folder: Path, total: int) -> Place:
    """Where the record of a layer lies."""
    layers = layers_of(folder)
    at, size = layers._places[total], layers.records[total].size(layers.contents)
    return Place(folder / places.INDEX, at, size)


def reachable_values(folder: Path, game: Game, objective: Objective) -> dict[Cells, Number]:
    """The values of the afterstates that play makes."""
    found = {}
    with layers_of(folder / places.values_folder(objective.label)) as layers:
        for total in layers.sums():
            layer = layers.layer(total)
            for chunk in range(layer.chunks):
                for key, value in zip(*layer.both(chunk), strict=True):
                    found[game.unpack(int(key))] = objective.told(objective.read(value))
    return found


def all_values(folder: Path, game: Game, objective: Objective) -> dict[Cells, Number]:
    """The values of all boards within the limits, as afterstates; `folder` is that of the objective."""
    found = {}
    with layers_of(folder) as layers:
        for total, boards in in_order(game).items():
            layer = layers.layer(total)
            chunks = itertools.chain.from_iterable(layer.values(chunk) for chunk in range(layer.chunks))
            found |= dict(zip(boards, (objective.told(objective.read(v)) for v in chunks), strict=True))
    return found


@lru_cache(maxsize=4)
def in_order(game: Game) -> dict[int, list[Cells]]:
    """The boards of each sum, in the order of the perfect index."""
    index = PerfectIndex(game)
    return {total: list(index.boards(total)) for total in index.sizes()}


def chunks(layer: Layer) -> list[Chunk]:
    """The chunks of a layer, as they are stored."""
    return [
        Chunk(int(row["first"]), int(row["boards"]), tuple(layer.frames(number)))
        for number, row in enumerate(layer.index)
    ]


def put(folder: Path, total: int, pieces: Iterable[Chunk]) -> str:
    """Write a layer of a folder again, with these chunks; return its checksum."""
    with LayerStore(folder, contents_of(folder)) as store:
        record = store.write(total, pieces, durable=False)
        assert record is not None
        return record.text


def sign_table(folder: Path) -> None:
    """Let the manifest of a table name the layers that are there now."""
    file = folder / places.TABLE
    manifest = Manifest.parse(file.read_bytes(), "manifest")
    pages = {}
    for label in manifest.labels:
        here = folder / places.values_folder(label)
        with LayerStore(here, contents_of(here)) as store:
            pages[label] = store.pages()
    file.write_text(dataclasses.replace(manifest, layers=pages).text)


def values_folders(folder: Path) -> list[Path]:
    """The folders of the objectives of a table or run."""
    return sorted(path.parent for path in folder.glob(f"values/*/{places.INDEX}"))
