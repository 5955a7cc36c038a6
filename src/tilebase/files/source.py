"""Where the files of a table are: a folder, one zip file, or a URL (`files.remote`).

A source is one file, of which ranges are read; a location is a folder of sources.  Local reads
name their offset (`os.pread`), so that threads can share a source without locks.

A file that a user names for a result (`check_output`) never replaces a part of a table, a run, or a proof.
"""

from __future__ import annotations

import errno
import io
import os
import re
import stat
import struct
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Protocol, Self
from urllib.parse import urlsplit

from tilebase.errors import (
    CorruptError,
    MissingLayerError,
    StorageError,
    TilebaseError,
    UsageError,
    check_first,
)
from tilebase.files import places
from tilebase.game.grid import is_shape
from tilebase.runtime import system
from tilebase.runtime.documents import MOST_BYTES, shown
from tilebase.runtime.storage import A_FOLDER, atomic_folder, check_writable, storage_errors

_LOCAL_HEADER = struct.Struct("<4s5HIIIHH")
_DAMAGE = (
    ValueError, NotImplementedError, OverflowError, EOFError, LookupError, RuntimeError, struct.error,
    zipfile.BadZipFile,
)  # fmt: skip
"""The exceptions that `zipfile` raises for damaged files, apart from OSError."""
CERTIFICATE = b"tilebase certificate "
"""How the file of a certificate begins."""
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.:-]*://")
"""How a URL begins."""
MOST_MEMBERS = 1 << 23
"""Most bytes of the list of members of a zip file; enough for a table of 80,000 files."""
PIECE = 1 << 24
"""Bytes that are read at once."""


class Closing(ABC):
    """What is closed at the end of a ``with`` block."""

    @abstractmethod
    def close(self) -> None:
        """Release files and memory."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Source(Protocol):
    """A file of which ranges can be read."""

    name: str

    @property
    def size(self) -> int:
        """Bytes of the file; of one on a server, asking for it may take a request."""

    def read(self, offset: int, size: int) -> bytes:
        """Exactly `size` bytes.  Raises `CorruptError` if the file is too short, or `StorageError`."""

    def close(self) -> None:
        """Release the file."""


class Location(Protocol):
    """A folder of sources."""

    name: str

    def open(self, name: str) -> Source:
        """Return the file of this name.

        Raises `MissingLayerError` if it does not exist, or `StorageError`.
        """

    def close(self) -> None:
        """Release what the location holds."""


class LocalFile:
    """A file on this machine, or a range of one.

    With `hold` it stays open.  Otherwise it is opened for each read, so that a table of a
    thousand layers does not need a thousand descriptors.
    """

    def __init__(
        self, path: Path | str, offset: int = 0, size: int | None = None, *, hold: bool = True
    ) -> None:
        self.name = str(path)
        self._path, self._offset, self._hold = path, offset, hold
        self._descriptor = self._open()
        there = os.fstat(self._descriptor).st_size
        self.size = there - offset if size is None else size
        if not hold:
            self.close()
        if min(offset, self.size) < 0 or offset + self.size > there:
            self.close()
            raise CorruptError(f"{self.name} ends too early; make it again")

    def _open(self) -> int:
        try:
            descriptor = os.open(self._path, os.O_RDONLY | system.AS_IT_IS)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise MissingLayerError(f"{self._path} not found") from error
        except (OSError, ValueError) as error:
            raise StorageError(f"cannot read {self._path}: {getattr(error, 'strerror', error)}") from error
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            os.close(descriptor)
            what = A_FOLDER if stat.S_ISDIR(mode) else "it is not a file"
            raise StorageError(f"cannot read {self._path}: {what}")
        return descriptor

    def read(self, offset: int, size: int) -> bytes:
        """Exactly `size` bytes."""
        if not 0 <= offset <= offset + size <= self.size:
            raise CorruptError(f"{self.name} ends too early; make it again")
        descriptor = self._descriptor if self._hold else self._open()
        data = bytearray()
        try:
            # In pieces, so that no more memory is taken than the file has if it has become shorter.
            while more := os.pread(
                descriptor, min(size - len(data), PIECE), self._offset + offset + len(data)
            ):
                data += more
        except OSError as error:
            raise StorageError(f"cannot read {self.name}: {error.strerror or error}") from error
        finally:
            if not self._hold:
                os.close(descriptor)
        if len(data) != size:
            raise CorruptError(f"{self.name} ends too early; make it again")
        return bytes(data)

    def reaches(self, end: int) -> bool:
        """Return whether a whole file that is held has so many bytes now: it may have grown."""
        if self.size < end:
            self.size = os.fstat(self._descriptor).st_size
        return self.size >= end

    def is_same(self, other: LocalFile) -> bool:
        """Return whether both are the same file, held open."""
        return os.path.sameopenfile(self._descriptor, other._descriptor)

    def close(self) -> None:
        """Close the file; one that is held can no longer be read."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def read_document(source: Source, most: int = MOST_BYTES) -> bytes:
    """Return all bytes of a small file.

    Raises `CorruptError` if it has more than `most`, or `StorageError`.
    """
    if source.size > most:
        raise CorruptError(f"{source.name} has {source.size} bytes; at most {most} are read")
    return source.read(0, source.size)


def read_file(path: Path, most: int = MOST_BYTES) -> bytes:
    """As `read_document`, of a file on this machine.  Raises `MissingLayerError` if it does not exist."""
    with closing(LocalFile(path)) as file:
        return read_document(file, most)


class Folder:
    """A folder on this machine."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = str(path)

    def open(self, name: str) -> Source:
        """Return the file of this name."""
        return LocalFile(self.path / name, hold=False)

    def close(self) -> None:
        """Do nothing: a folder holds nothing open."""


class _Careful(io.FileIO):
    """A file that refuses reads of more than `MOST_MEMBERS` bytes, which a hostile zip file may cause."""

    def read(self, size: int | None = -1, /) -> bytes:
        """At most `size` bytes; all the rest if negative, as when `zipfile` reads the last 64 kB."""
        if size is not None and size > MOST_MEMBERS:
            raise ValueError(f"its list of members has more than {MOST_MEMBERS} bytes")
        return super().read(size) or b""


class Zip:
    """One zip file.  Its members must be stored without zip's own compression, so that ranges can be read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = str(path)
        LocalFile(path).close()  # raises if it is not a file or cannot be read
        try:
            with _Careful(path) as file, zipfile.ZipFile(file) as archive:
                self._members = {info.filename: info for info in archive.infolist()}
        except OSError as error:
            if error.errno != errno.EINVAL:  # EINVAL comes from impossible offsets: a damaged file
                raise StorageError(f"cannot read {path}: {error.strerror or error}") from error
            raise CorruptError(f"{path} is not a zip file, or is damaged: an offset is wrong") from error
        except _DAMAGE as error:
            if is_certificate(path):
                raise MissingLayerError(
                    f"{path} is a certificate, not a table: give a table, which tilebase solve -o writes"
                ) from error
            raise CorruptError(
                f"{path} is not a zip file of a table, or is damaged ({shown(error)}): name the folder, the "
                "zip file or the URL of a table"
            ) from error
        # The folder of the table in the zip file, with a slash; empty if the table is at the top.
        found = [name for name in self._members if name.rpartition("/")[2] == places.TABLE]
        self._prefix = min(found, key=len, default=places.TABLE).removesuffix(places.TABLE)

    def open(self, name: str) -> Source:
        """Return the member of this name."""
        info = self._members.get(self._prefix + name)
        if info is None:
            raise MissingLayerError(f"{self.path} holds no {name}")
        if info.compress_type != zipfile.ZIP_STORED:
            raise CorruptError(f"{self.path} is compressed: zip the table with zip -0 -r")
        with closing(LocalFile(self.path)) as whole:
            fields = _LOCAL_HEADER.unpack(whole.read(info.header_offset, _LOCAL_HEADER.size))
        if fields[0] != b"PK\3\4":
            raise CorruptError(f"{self.path} is not a zip file, or is damaged: the header of {name} is wrong")
        offset = info.header_offset + _LOCAL_HEADER.size + fields[-2] + fields[-1]
        try:
            member = LocalFile(self.path, offset, info.file_size, hold=False)
        except CorruptError as error:
            raise CorruptError(f"{self.path} is damaged: {name} does not lie within it") from error
        member.name = f"{self.path}:{name}"
        return member

    def close(self) -> None:
        """Do nothing: members are opened for each read."""


def mode_of(path: Path) -> int:
    """Return the type of a file as in `st_mode` of `stat`; 0 if it does not exist.  Raises `StorageError`."""
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a name with a zero byte
        return 0
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror or error}") from error


def is_certificate(path: Path) -> bool:
    """Return whether a path is a file that begins as certificates do.  Raises `StorageError`."""
    return beginning(path, len(CERTIFICATE)) == CERTIFICATE


def beginning(path: Path, size: int) -> bytes:
    """Return the first bytes of a file; none if there is no file.  Raises `StorageError`."""
    if not stat.S_ISREG(mode_of(path)):
        return b""
    with storage_errors(path, "read"), path.open("rb") as file:
        return file.read(size)


def local_path(location: Path | str) -> Path | None:
    r"""Return the path of what is on this machine, also of a ``file:`` URL; None for another URL.

    >>> local_path("https://host/table"), local_path("file:///tables/my%20table").as_posix()
    (None, '/tables/my table')
    """
    check_first(location, (str, os.PathLike), "the name of a folder, a file or a URL")
    text = str(location)
    if text[:7].lower() == "file://":
        from urllib.request import url2pathname  # takes 20 ms, with all of HTTP

        return Path(url2pathname(urlsplit(text).path))
    return None if _URL.match(text) else Path(location)


def address(location: Location) -> str:
    """Return what `open_location` takes, also in another working folder: an absolute path, or a URL."""
    path = local_path(location.name)
    return location.name if path is None else str(path.absolute())


def open_location(location: Path | str) -> Location:
    """Return the folder, zip file or URL of this name.  Raises `MissingLayerError` if it does not exist."""
    path = local_path(location)
    if path is None:
        from tilebase.files.remote import RemoteLocation  # takes 20 ms, with all of HTTP

        return RemoteLocation(str(location))
    mode = mode_of(path)
    if stat.S_ISDIR(mode):
        return Folder(path)
    if mode:
        return Zip(path)
    made = f", which tilebase solve {path.name} GOAL -o {path} makes" if is_shape(path.name) else ""
    raise MissingLayerError(f"{path} not found: name a folder or zip file of a table or winning set{made}")


# -- files that a user names for results -----------------------------------------------------------


MARKS = (places.QUERY, places.TABLE, places.POLICY)
"""Names of the files that say what a folder of tilebase is, if they name one of its formats."""
FORMATS = re.compile(rb'"format":\s*"tilebase (run|table|winning set|policy)"')


def check_output(path: Path, *, over_proof: bool = False) -> None:
    """Raise an error unless a result may be written to a file; to be called before it is computed.

    That is a `UsageError` if the file lies in the folder of a table, a run, a winning set or an exported
    page, or is a certificate; with `over_proof` it may be one.  Raises `StorageError` if it cannot be
    written.
    """
    check_writable(path)
    refuse_kept(path, over_proof=over_proof)


@contextmanager
def new_folder(path: Path, is_replaced: Callable[[Path], bool], refused: TilebaseError) -> Iterator[Path]:
    """Write a folder of results whole or not at all: the block fills the folder that it is given.

    Before, it raises `refused` if the folder holds something and `is_replaced` does not say that it may be
    replaced, `UsageError` if it is the current folder, or lies in one that `check_output` refuses, and
    `StorageError` if the folder around it does not exist, or another process writes it.
    """
    refuse_kept(path)
    with storage_errors(path):
        if not path.parent.is_dir():
            raise StorageError(f"cannot write {path}: the folder {path.parent} does not exist")
        if path.resolve() == Path.cwd():
            raise UsageError(
                "the folder is written as a whole: name another folder than the current one for it"
            )
        if path.exists() and not (path.is_dir() and (is_replaced(path) or not any(path.iterdir()))):
            raise refused
    with atomic_folder(path) as part:
        yield part


def refuse_kept(path: Path, *, over_proof: bool = False) -> None:
    """As `check_output`, for a file that is appended to: whether the system lets us write is not asked."""
    for folder in Path(os.path.realpath(path)).parents:
        for found in filter(None, (FORMATS.search(beginning(folder / name, 200)) for name in MARKS)):
            raise UsageError(
                f"{path} lies in {folder}, the folder of a {found[1].decode()}: name a file outside of it"
            )
    if not over_proof and is_certificate(path):
        raise UsageError(f"{path} is a certificate: name another file, or delete it")
