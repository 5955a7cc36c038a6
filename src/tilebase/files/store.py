"""Writing folders of layers (`files.layers`): layer after layer, each behind the one before.

A layer is written in three steps: its chunks, its record, and a line in the journal of the run.  It counts
when the line is there.  What a killed process left behind the last such layer is overwritten.  A damaged
layer is written again behind all others, and its last record counts.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Self

from tilebase.files import places
from tilebase.files.format import SEGMENT, Chunk, Contents, Record
from tilebase.files.layers import LayerFolder, Page, Pages
from tilebase.files.source import LocalFile
from tilebase.runtime import system
from tilebase.runtime.storage import (
    atomic_file,
    make_folder,
    open_own,
    refuse_link,
    storage_errors,
    write_all,
)

SEGMENT_BYTES = 1 << 28
"""A segment that has so many bytes ends with its layer."""
RELEASED_BYTES = 1 << 26
"""The same for layers that are given up soon: a segment is deleted as a whole."""
PAGE_BYTES = 1 << 15
"""Bytes of a page of an index, unless there would be more than `MOST_PAGES`."""
MOST_PAGES = 100
"""Pages that a manifest names for one objective, so that the manifest has at most 16 kB with two of them."""
BUFFER = 1 << 20
"""Bytes of chunks that are written at once."""
LET_GO, LATE = 1 << 23, 1 << 26
"""Bytes after which the system is told to keep no copies of the last ones, of which it may be late with some.

A virtual machine spends two CPU seconds for each gigabyte of such copies, and 0.4 without them.
"""


class LayerStore(LayerFolder):
    """The layers in a folder that this process writes.  It makes the folder with the first layer.

    Without `read_again` the system is told that nobody reads them soon.
    """

    def __init__(
        self, folder: Path, contents: Contents, *, segment_bytes: int = SEGMENT_BYTES, read_again: bool = True
    ) -> None:
        self._segment_bytes, self._read_again = segment_bytes, read_again
        self._kept = 0  # bytes written since the system was told to keep no copies
        self._index: Any = None  # the open files
        self._segment: Any = None
        self._waiting: list[bytes] = []  # frames that are not written yet
        self._waits = 0  # their bytes
        self._number = self._begin = self._stop = 0  # of the present segment, and where it and the index end
        self._unflushed: set[Path] = set()
        with storage_errors(folder, "use"):
            refuse_link(folder)
        super().__init__(folder, contents)
        self._drop_cut_off()
        self._cut()

    def _drop_cut_off(self) -> None:
        """Forget the layers whose segment is missing or too short, which are made again."""
        paths = {one.segment: self._path(one.segment) for one in self.records.values()}
        sizes = {number: path.stat().st_size if path.exists() else 0 for number, path in paths.items()}
        self.records = {
            s: one for s, one in self.records.items() if one.offset + one.nbytes <= sizes[one.segment]
        }

    def close(self) -> None:
        """Close the files."""
        self._close_written()
        super().close()

    def _close_written(self) -> None:
        for file in (self._index, self._segment):
            if file is not None:
                file.close()
        self._index = self._segment = None

    def keep(self, finished: Mapping[int, str]) -> None:
        """Forget all layers but the finished ones, which have these checksums by sum.

        What lies behind them is overwritten.
        """
        self.records = {s: one for s, one in self.records.items() if finished.get(s) == one.text}
        self._cut()

    def _cut(self) -> None:
        """Find where the next layer begins: behind the last one."""
        self._close_written()
        least = len(self.contents.header)
        self._stop = max(
            (self._places[s] + one.size(self.contents) for s, one in self.records.items()), default=least
        )
        self._number = max((one.segment for one in self.records.values()), default=0)
        ends = (one.offset + one.nbytes for one in self.records.values() if one.segment == self._number)
        self._begin = max(ends, default=len(SEGMENT))

    def _path(self, number: int) -> Path:
        return self.folder / places.segment(number)

    def _open(self) -> None:
        """Open the files for the next layer."""
        with storage_errors(self.folder, "write into"):
            if self._index is None:
                self.folder.parent.mkdir(exist_ok=True)
                make_folder(self.folder)
                self._index = self._prepared(places.INDEX, self.contents.header, self._stop)
            if self._begin >= self._segment_bytes:
                # The next layer begins a new segment; one whose layers were all given up is deleted.
                if self._segment is not None:
                    self._segment.close()
                    self._segment = None
                with self._lock:
                    old, self._number, self._begin = self._number, self._number + 1, len(SEGMENT)
                    self._delete_unused(old)
            if self._segment is None:
                self._segment = self._prepared(places.segment(self._number), SEGMENT, self._begin)

    def _delete_unused(self, number: int) -> None:
        """Delete a segment that holds no layer."""
        if all(one.segment != number for one in self.records.values()):
            if (name := places.segment(number)) in self._files:
                self._files.pop(name).close()
            self._path(number).unlink(missing_ok=True)

    def _prepared(self, name: str, header: bytes, end: int) -> Any:
        """Return a file, which begins with a header, to be written from `end` on, without a buffer."""
        path = self.folder / name
        with storage_errors(path):
            file = open_own(path, "r+b" if path.exists() else "xb", 0)
            try:
                write_all(file, header)  # also over a damaged one
                file.truncate(end)
                file.seek(end)
            except BaseException:
                file.close()
                raise
        self._unflushed |= {path, self.folder}
        return file

    def writer(self, total: int) -> LayerWriter:
        """Return what takes the chunks of a layer.  One layer is written at a time.

        The last layer is overwritten: a killed run that has it under one objective makes it again for all,
        and ends in the same bytes.
        """
        old = self.records.get(total)
        if old is not None and self._places[total] + old.size(self.contents) == self._stop:
            with self._lock:
                del self.records[total]
            self._cut()
        self._open()
        return LayerWriter(self, total)

    def write(self, total: int, chunks: Iterable[Chunk], *, durable: bool) -> Record | None:
        """Write a layer, unless it has no boards.

        Raises `StorageError` if the system refuses to write; then nothing of it is left.
        """
        with self.writer(total) as writer:
            for chunk in chunks:
                writer.add(chunk)
            return writer.finish(durable=durable) if writer.begun else None

    def _put(self, frames: Sequence[bytes]) -> None:
        self._waiting += frames
        self._waits += sum(map(len, frames))
        if self._waits >= BUFFER:
            self._flush()

    def _flush(self) -> None:
        with storage_errors(self._path(self._number)):
            write_all(self._segment, b"".join(self._waiting))
            self._kept += self._waits
            if not self._read_again and self._kept >= LET_GO:
                end = self._segment.tell()
                system.let_go(self._segment.fileno(), max(end - LATE, 0), end)
                self._kept = 0
        self._waiting, self._waits = [], 0

    def _abandon(self) -> None:
        """Forget the chunks of a layer that is not complete: the next one overwrites them."""
        self._waiting, self._waits = [], 0
        self._segment.close()
        self._segment = None

    def _enter(self, total: int, rows: Sequence[tuple[int, ...]], *, durable: bool) -> Record:
        """Complete the layer whose chunks were written."""
        record, data = Record.of(self.contents, total, rows, self._number, self._begin)
        self._flush()
        if durable:
            with storage_errors(self._path(self._number), "flush"):
                os.fsync(self._segment.fileno())
        with storage_errors(self.folder / places.INDEX):
            self._index.seek(self._stop)
            write_all(self._index, data)
            if durable:
                os.fsync(self._index.fileno())
        with self._lock:
            self.records[total], self._places[total] = record, self._stop
            self._begin += record.nbytes
            self._stop += len(data)
            self._end = max(self._end, self._stop)
        return record

    def release(self, total: int) -> None:
        """Give up a layer.  A segment is deleted when none of its layers is needed, unless it may grow."""
        with self._lock:
            old = self.records.pop(total, None)
            if old is not None and old.segment != self._number:
                self._delete_unused(old.segment)

    def clear(self) -> None:
        """Delete all layers."""
        self.close()
        self.records.clear()
        with storage_errors(self.folder, "delete"):
            refuse_link(self.folder)
            if self.folder.exists():
                for path in self.folder.iterdir():
                    if path.name == places.INDEX or places.SEGMENT.fullmatch(path.name):
                        path.unlink()
                with suppress(OSError):  # others may have files here
                    self.folder.rmdir()
        self._end = 0
        self._cut()

    def sync(self) -> None:
        """Flush what was written to disk, the folder last."""
        for path in sorted(self._unflushed - {self.folder}):
            if path.exists():
                with storage_errors(path, "flush"):
                    system.flush(path)
        if self._unflushed and self.folder.exists():
            with storage_errors(self.folder, "flush"):
                system.flush(self.folder)
                system.flush(self.folder.parent)
        self._unflushed.clear()

    def pages(self) -> Pages:
        """Return the pages of the index, whose records are in the order of sums and without gaps."""
        self._settle()
        totals = sorted(self.records, key=self._places.__getitem__)
        if not totals:
            return Pages(self.contents.check, ())
        least, begin = max(PAGE_BYTES, -(-self._stop // MOST_PAGES)), 0
        pages: list[Page] = []
        with closing(LocalFile(self.folder / places.INDEX)) as index:
            for end, total in enumerate(totals, 1):
                at = self._places[totals[begin]]
                size = self._places[total] + self.records[total].size(self.contents) - at
                if size >= least or end == len(totals):
                    mine = totals[begin:end]
                    pages.append(Page(min(mine), max(mine), at, size, zlib.crc32(index.read(at, size))))
                    begin = end
        return Pages(self.contents.check, tuple(sorted(pages)))

    def _settle(self) -> None:
        """Write the index again if it holds other records, or records that are not in the order of sums."""
        totals = sorted(self.records, key=self._places.__getitem__)
        at = len(self.contents.header)
        compact = totals in (sorted(totals), sorted(totals, reverse=True))
        for total in totals:
            compact &= self._places[total] == at
            at += self.records[total].size(self.contents)
        if compact:
            return
        data = bytearray(self.contents.header)
        with closing(LocalFile(self.folder / places.INDEX)) as index:
            for total in sorted(totals, reverse=True):
                place = len(data)
                data += index.read(self._places[total], self.records[total].size(self.contents))
                self._places[total] = place
        self.close()
        with atomic_file(self.folder / places.INDEX) as file:
            file.write(data)
        self._stop = self._end = len(data)


class LayerWriter:
    """Takes the chunks of one layer, in ascending order; `finish` completes it.

    As a context manager, it forgets the chunks if `finish` was not called.
    """

    def __init__(self, store: LayerStore, total: int) -> None:
        self._store, self._total = store, total
        self._rows: list[tuple[int, ...]] = []
        self._open = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._open:
            self._open = False
            if self.begun:
                self._store._abandon()

    @property
    def begun(self) -> bool:
        """Whether there is a chunk."""
        return bool(self._rows)

    def add(self, chunk: Chunk) -> None:
        """Append a chunk, with a frame for each column."""
        row = [chunk.first, chunk.boards]
        for frame in chunk.frames:
            row += len(frame), zlib.crc32(frame)
        self._rows.append(tuple(row))
        self._store._put(chunk.frames)

    def finish(self, *, durable: bool) -> Record:
        """Complete the layer and return its record.

        With `durable`, it is flushed to disk before the call returns.
        """
        record = self._store._enter(self._total, self._rows, durable=durable)
        self._open = False
        return record
