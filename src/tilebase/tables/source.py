"""Where the files of a table are: a folder, one zip file, or a URL that fsspec knows.

A source is one file of which ranges are read; a location is a folder of them.  Local reads
are positioned, so that threads share a source without locks.
"""

from __future__ import annotations

import os
import struct
import zipfile
from pathlib import Path
from typing import Any, Protocol

from tilebase.errors import CorruptError, MissingExtraError, MissingLayerError, StorageError

_LOCAL_HEADER = struct.Struct("<4s5HIIIHH")


class Source(Protocol):
    """A file to read ranges of."""

    name: str
    size: int

    def read(self, offset: int, size: int) -> bytes:
        """Exactly `size` bytes.  Raises `CorruptError` if the file ends before, `StorageError`."""

    def close(self) -> None:
        """Let go of it."""


class Location(Protocol):
    """A folder of sources."""

    name: str

    def open(self, name: str) -> Source:
        """The file of this name.  Raises `MissingLayerError` if it is not there, `StorageError`."""

    def close(self) -> None:
        """Let go of it."""


class LocalFile:
    """A file on this machine, or a range of one.

    With `hold` it stays open; otherwise it is opened for each read, so that a table of a
    thousand layers needs no thousand descriptors.
    """

    def __init__(
        self, path: Path | str, offset: int = 0, size: int | None = None, *, hold: bool = True
    ) -> None:
        self.name = str(path)
        self._path, self._offset, self._hold = path, offset, hold
        self._descriptor = self._open()
        self.size = os.fstat(self._descriptor).st_size if size is None else size
        if not hold:
            self.close()

    def _open(self) -> int:
        try:
            return os.open(self._path, os.O_RDONLY)
        except FileNotFoundError as error:
            raise MissingLayerError(f"{self._path} is not there") from error
        except OSError as error:
            raise StorageError(f"cannot read {self._path}: {error.strerror}") from error

    def read(self, offset: int, size: int) -> bytes:
        """Exactly `size` bytes."""
        descriptor = self._descriptor if self._hold else self._open()
        try:
            data = os.pread(descriptor, size, self._offset + offset)
            while 0 < len(data) < size:
                more = os.pread(descriptor, size - len(data), self._offset + offset + len(data))
                if not more:
                    break
                data += more
        except OSError as error:
            raise StorageError(f"cannot read {self.name}: {error.strerror or error}") from error
        finally:
            if not self._hold:
                os.close(descriptor)
        if len(data) != size:
            raise CorruptError(f"{self.name} ends too early; make it anew")
        return data

    def close(self) -> None:
        """Close the file; one that is held can no longer be read."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class Folder:
    """A folder on this machine."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = str(path)

    def open(self, name: str) -> Source:
        """The file of this name."""
        return LocalFile(self.path / name, hold=False)

    def close(self) -> None:
        """Nothing is held."""


class Zip:
    """One zip file, whose members must be stored without compression: they are compressed already."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = str(path)
        try:
            with zipfile.ZipFile(path) as archive:
                self._members = {info.filename: info for info in archive.infolist()}
        except (OSError, ValueError, NotImplementedError, struct.error, zipfile.BadZipFile) as error:
            raise CorruptError(f"{path} is no zip file, or a damaged one: {error}") from error
        self._prefix = self._find_prefix()

    def _find_prefix(self) -> str:
        """A table may lie in the zip file's only folder."""
        found = [name for name in self._members if name.rpartition("/")[2] == "manifest.json"]
        return min(found, key=len, default="manifest.json").removesuffix("manifest.json")

    def open(self, name: str) -> Source:
        """The member of this name."""
        info = self._members.get(self._prefix + name)
        if info is None:
            raise MissingLayerError(f"{self.path} holds no {name}")
        if info.compress_type != zipfile.ZIP_STORED:
            raise CorruptError(f"{self.path} is compressed: zip the table with zip -0 -r")
        whole = LocalFile(self.path)
        try:
            fields = _LOCAL_HEADER.unpack(whole.read(info.header_offset, _LOCAL_HEADER.size))
        finally:
            whole.close()
        offset = info.header_offset + _LOCAL_HEADER.size + fields[-2] + fields[-1]
        member = LocalFile(self.path, offset, info.file_size, hold=False)
        member.name = f"{self.path}:{name}"
        return member

    def close(self) -> None:
        """Nothing is held."""


class _UrlFile:
    """A file of an fsspec file system."""

    def __init__(self, system: Any, path: str) -> None:
        self.name = path
        self._system = system
        try:
            self.size = int(system.size(path))
        except FileNotFoundError as error:
            raise MissingLayerError(f"{path} is not there") from error
        except (OSError, ValueError) as error:
            raise StorageError(f"cannot read {path}: {error}") from error

    def read(self, offset: int, size: int) -> bytes:
        """Exactly `size` bytes."""
        try:
            data = bytes(self._system.cat_file(self.name, start=offset, end=offset + size))
        except (OSError, ValueError) as error:
            raise StorageError(f"cannot read {self.name}: {error}") from error
        if len(data) != size:
            raise CorruptError(f"{self.name} ends too early; make it anew")
        return data

    def close(self) -> None:
        """Nothing is held."""


class Url:
    """A folder behind a URL, by fsspec."""

    def __init__(self, url: str) -> None:
        try:
            import fsspec
        except ImportError as error:
            raise MissingExtraError("reading URLs needs fsspec: pip install 'tilebase[remote]'") from error
        self.name = url
        try:
            self._system, self._path = fsspec.core.url_to_fs(url)
        except (ImportError, ValueError) as error:
            raise StorageError(f"cannot read {url}: {error}") from error

    def open(self, name: str) -> Source:
        """The file of this name."""
        return _UrlFile(self._system, f"{self._path.rstrip('/')}/{name}")

    def close(self) -> None:
        """Nothing is held."""


def open_location(location: Path | str) -> Location:
    """The folder, zip file or URL of this name.  Raises `MissingLayerError` if it is not there."""
    if "://" in str(location):
        return Url(str(location))
    path = Path(location)
    if path.is_dir():
        return Folder(path)
    if path.is_file():
        return Zip(path)
    raise MissingLayerError(f"{path} is not there: name the folder or zip file of a table")
