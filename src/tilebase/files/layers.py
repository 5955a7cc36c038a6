"""Layers in a folder: an index of records, and segments of chunks.

    layers.idx      what the layers are (`format.Contents`), then the record of each layer
    000.seg, ...    the chunks of layer after layer; a segment of `SEGMENT` bytes or more ends with its layer

`files.store` writes them.

The manifest of a table names pages of the index: stretches of some 32 kB that hold the records of whole
layers, with a checksum each.  So a reader anywhere gets a layer by reading the manifest and one page.
"""

from __future__ import annotations

import threading
import zlib
from bisect import bisect_right
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tilebase.errors import CorruptError, MissingLayerError, WrongGameError
from tilebase.files import places
from tilebase.files.format import HEAD, HEADER, INDEX, SEGMENT, Contents, Layer, Record
from tilebase.files.source import Closing, LocalFile, Location, Source
from tilebase.game.game import Game
from tilebase.objectives.objective import Objective
from tilebase.runtime.documents import parse_json, understood
from tilebase.runtime.threads import Recent

MOST_TEXT = 1 << 24
"""Most bytes of what an index says of its contents."""
MOST_PAGE = 1 << 28
"""Most bytes of a page that is read; a layer has rows of `format.MOST_CHUNKS` chunks, 117 MB."""
KEPT_PAGES = 1 << 26
"""Bytes of pages that a table keeps in memory."""


class LayerFolder(Closing):
    """The layers in a folder on this machine, to be read.  Safe to share between threads.

    Layers that another process adds are found when they are asked for.

    Raises `WrongGameError` if the folder holds layers of other contents.
    """

    def __init__(self, folder: Path, contents: Contents) -> None:
        self.folder, self.contents = folder, contents
        self.records: dict[int, Record] = {}  # of each layer, by sum
        self._places: dict[int, int] = {}  # where the record of each sum is in the index
        self._end = 0  # of the records that were read
        self._files: dict[str, LocalFile] = {}
        self._replaced: list[LocalFile] = []  # files whose names others got
        self._lock = threading.Lock()
        self._scan()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.folder}: {len(self.records):,} layers>"

    def close(self) -> None:
        """Close the files.  They are opened again if a layer is asked for."""
        with self._lock:
            for file in (*self._files.values(), *self._replaced):
                file.close()
            self._files.clear()
            self._replaced.clear()

    def _scan(self) -> None:
        """Read the records that were added to the index since the last call, up to one that is not sound.

        Such a record is torn, or damaged.  Those behind it are not looked for: their layers are made again.
        """
        try:
            index = LocalFile(self.folder / places.INDEX)
        except MissingLayerError:
            return
        with closing(index):
            if not self._end:
                try:
                    text = _text_of(index)
                except CorruptError:
                    text = None
                if text is None:  # torn, or damaged: all layers are made again
                    return
                if text != self.contents.header[HEADER.size :]:
                    raise WrongGameError(
                        f"{self.folder} holds layers of another game or objective: delete it, and the same "
                        "command makes it again"
                    )
                self._end = len(self.contents.header)
            while self._end + HEAD <= index.size:
                record = Record.parse(index.read(self._end, HEAD), self.contents.check)
                if record is None or (end := self._end + record.size(self.contents)) > index.size:
                    return
                self.records[record.sum], self._places[record.sum] = record, self._end
                self._end = end

    def sums(self) -> list[int]:
        """Return the sums of all layers, ascending."""
        return sorted(self.records)

    def layer(self, total: int, *, hold: bool = True) -> Layer:
        """Return the layer of one sum.  Raises `MissingLayerError` or `CorruptError`.

        With `hold` it can be read until the folder is closed, else for ever; then no file stays open.
        """
        name = f"{self.folder}, sum {total},"
        with self._lock:
            if total not in self.records:
                self._scan()
            if total not in self.records:
                raise MissingLayerError(f"{self.folder} has no layer of sum {total}")
            record, at = self.records[total], self._places[total]
            record.check(name)
            size = record.size(self.contents)
            index = self._file(places.INDEX, at + size)
            source = self._file(places.segment(record.segment), record.offset + record.nbytes)
            if not hold:
                source = LocalFile(source.name, hold=False)
            return Layer(source, record, index.read(at + HEAD, size - HEAD), self.contents, name)

    def _file(self, name: str, end: int) -> LocalFile:
        """Return a file that has at least so many bytes now; it may have grown since it was opened.

        Raises `CorruptError` if a segment does not begin as it should.
        """
        file = self._files.get(name)
        if file is not None and file.reaches(end):
            return file
        new = LocalFile(self.folder / name)
        if file is not None and file.is_same(new):  # it is too short
            new.close()
            return file
        if name != places.INDEX and (new.size < len(SEGMENT) or new.read(0, len(SEGMENT)) != SEGMENT):
            new.close()
            raise CorruptError(f"{self.folder / name} is damaged, or of another version: make it again")
        if file is not None:
            self._replaced.append(file)  # layers may still read it
        self._files[name] = new
        return new

    def is_sound(self, total: int, boards: int, checksum: str | None) -> bool:
        """Return whether a layer is the one with this checksum and number of boards, in every byte."""
        record = self.records.get(total)
        if record is None or (record.boards, record.text) != (boards, checksum):
            return False
        try:
            self.layer(total).check_bytes()
        except (CorruptError, MissingLayerError):
            return False
        return True


def _text_of(index: Source) -> bytes | None:
    """Return what an index says of its contents, in JSON; None if its beginning is torn.

    Raises `CorruptError` if it is damaged.
    """
    if index.size < HEADER.size:
        return None
    magic, size, crc = HEADER.unpack(index.read(0, HEADER.size))
    text = index.read(HEADER.size, min(size, MOST_TEXT, index.size - HEADER.size))
    if magic == INDEX and len(text) < min(size, MOST_TEXT):
        return None
    if magic != INDEX or zlib.crc32(text) != crc:
        raise CorruptError(f"{index.name} is damaged, or of another version")
    return text


def read_contents(folder: Path) -> Contents | None:
    """Return what the layers of a folder are, as its index says; None if its beginning is torn.

    Raises `CorruptError`, `MissingLayerError` or `StorageError`.
    """
    with closing(LocalFile(folder / places.INDEX)) as index:
        text = _text_of(index)
    if text is None:
        return None
    what = f"the beginning of {index.name}"
    document = parse_json(text, what)
    with understood(what):
        objective = document.get("objective")
        found = Contents(
            Game.from_identity(document["game"]), document["kind"], document.get("lookahead", False),
            None if objective is None else Objective.from_identity(objective),
        )  # fmt: skip
        if found.identity != document:
            raise CorruptError("it has other members")
    return found


def same_boards(one: Layer, other: Layer) -> bool:
    """Return whether the chunks of two layers begin with the same keys and have as many boards."""
    return len(one.index) == len(other.index) and all(
        np.array_equal(one.index[name], other.index[name]) for name in ("first", "boards")
    )


# -- tables ----------------------------------------------------------------------------------------


class Page(NamedTuple):
    """Some records of an index, without gaps."""

    least: int  # the sums of its layers
    most: int
    offset: int  # in the index
    nbytes: int
    crc: int  # CRC-32 of these bytes


class Pages(NamedTuple):
    """The pages of an index, in the order of sums, and the checksum of the contents that its records name."""

    check: int
    pages: tuple[Page, ...]


class _Needed:
    """A file that a manifest names: if it is missing, the table is damaged.

    A server says only at the first request that it is missing.
    """

    def __init__(self, location: Location, name: str, lacks: str) -> None:
        self._lacks = lacks
        self._source: Source = self._found(location.open, name)
        self.name = self._source.name

    def _found(self, ask: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return ask(*arguments)
        except MissingLayerError as error:
            raise CorruptError(self._lacks) from error

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self._found(lambda: self._source.size)  # type: ignore[no-any-return]

    def read(self, offset: int, size: int) -> bytes:
        """Exactly `size` bytes."""
        return self._found(self._source.read, offset, size)  # type: ignore[no-any-return]

    def close(self) -> None:
        """Release the file."""
        self._source.close()


class PagedLayers:
    """The layers of one objective of a table, wherever it is.  Safe to share between threads.

    `folder` is the path of the layers in the location.
    """

    def __init__(self, location: Location, folder: str, contents: Contents, pages: Pages) -> None:
        self.location, self.folder, self.contents, self._pages = location, folder, contents, pages
        self.name = f"{location.name}/{folder}"
        self._read = Recent(KEPT_PAGES, lambda page: sum(len(rows) + HEAD for _, rows in page.values()))
        self._leasts = [page.least for page in pages.pages]

    def close(self) -> None:
        """Release memory."""
        self._read.clear()

    def sums(self) -> list[int]:
        """Return the sums of all layers, ascending.  Reads every page."""
        return sorted(total for page in self._pages.pages for total in self._page(page))

    def _page(self, page: Page) -> dict[int, tuple[Record, bytes]]:
        return self._read.get(page.offset, self._parse, page)

    def _parse(self, page: Page) -> dict[int, tuple[Record, bytes]]:
        """Return the records of a page and their rows, by sum.  Raises `CorruptError`."""
        damaged = CorruptError(f"{self.name} is damaged, or not what the manifest names: make it again")
        if page.nbytes > MOST_PAGE:
            raise damaged
        if self._pages.check != self.contents.check:  # spelled in another way, or of another game
            self._check_index()
        with closing(self._open(places.INDEX)) as index:
            data = index.read(page.offset, page.nbytes)
        if zlib.crc32(data) != page.crc:
            raise damaged
        found: dict[int, tuple[Record, bytes]] = {}
        at = 0
        while at < len(data):
            record = Record.parse(data[at : at + HEAD], self._pages.check) if at + HEAD <= len(data) else None
            if record is None or record.sum in found or (end := at + record.size(self.contents)) > len(data):
                raise damaged
            found[record.sum] = record, data[at + HEAD : end]
            at = end
        if not found or (min(found), max(found)) != (page.least, page.most):
            raise damaged
        return found

    def record(self, total: int) -> Record:
        """Return the record of one sum.  Raises `MissingLayerError` or `CorruptError`."""
        return self._find(total)[0]

    def _find(self, total: int) -> tuple[Record, bytes]:
        at = bisect_right(self._leasts, total) - 1
        if at >= 0 and total <= self._pages.pages[at].most:
            found = self._page(self._pages.pages[at]).get(total)
            if found is not None:
                return found
        raise MissingLayerError(f"{self.name} has no layer of sum {total}")

    def layer(self, total: int) -> Layer:
        """Return the layer of one sum.  Raises `MissingLayerError` or `CorruptError`."""
        record, rows = self._find(total)
        source = self._open(places.segment(record.segment))
        return Layer(source, record, rows, self.contents, f"{self.name}, sum {total},")

    def _open(self, name: str) -> Source:
        """Return a file of the folder.  Raises `CorruptError` if it is missing: the manifest names it."""
        lacks = f"{self.name} lacks {name}, which the manifest names"
        return _Needed(self.location, f"{self.folder}/{name}", lacks)

    def check_headers(self) -> None:
        """Compare how the index and its segments begin.  Raises `CorruptError`."""
        numbers = {record.segment for page in self._pages.pages for record, _ in self._page(page).values()}
        names = [places.segment(number) for number in sorted(numbers)]
        for name in names:
            with closing(self._open(name)) as source:
                begin = source.read(0, len(SEGMENT))
            if begin != SEGMENT:
                raise CorruptError(f"{self.name}/{name} is damaged, or of another version")
        if names:
            self._check_index()

    def _check_index(self) -> None:
        """Raise `CorruptError` unless the index says that its layers are those of the manifest."""
        wrong = CorruptError(f"{self.name}/{places.INDEX} is damaged, or of another game or version")
        with closing(self._open(places.INDEX)) as index:
            try:
                text = _text_of(index)
            except CorruptError as error:
                raise wrong from error
        sound = text is not None and zlib.crc32(text) == self._pages.check
        if not sound or parse_json(text or b"", f"the beginning of {index.name}") != self.contents.identity:
            raise wrong


Layers: TypeAlias = LayerFolder | PagedLayers
"""Layers of one objective, in a folder or in a table anywhere."""
