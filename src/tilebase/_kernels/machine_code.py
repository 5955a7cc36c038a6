"""How kernels become machine code, are kept in Numba's cache, checked and loaded without their LLVM bitcode.

Numba keeps two forms of a compiled function: machine code, and bitcode, from which it compiles the function
into others.  It parses the bitcode of each function that it loads, and looks at each symbol of it: three
quarters of the time that loading takes, 0.1 s of a command.  A kernel is rarely compiled into another (see
`tilebase._kernels.jit`), so here the bitcode is parsed only then.

Nor does Numba notice a damaged file: machine code with a wrong byte ends the process without a word.

Numba also optimises each function, makes machine code of it, and does both again in each function that it
is compiled into.  Here a part of kernels is only compiled into them: a dense kernel takes a seventh less.

All of this uses private parts of Numba.  So it is done only under the releases with which it was tried
(`TRIED`); under another one Numba compiles and loads kernels its own way.
"""

from __future__ import annotations

import io
import logging
import os
import pickle
import re
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO

import numba
from llvmlite import binding
from numba.core.caching import IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult, compile_result

from tilebase.runtime import system
from tilebase.runtime.paths import NO_CACHE

LOG = logging.getLogger(__name__)
LINE = re.compile(r"-\d+(?=\.py\d+)")
TRIED = ((0, 61), (0, 68))
"""The first and the last release of Numba with which this module was tried."""
PATIENCE = 60.0
"""Seconds after which a kernel is compiled here, though another process has begun to: a process can hang."""


def is_tried() -> bool:
    """Return whether this release of Numba is one with which private parts of it were tried."""
    found = TRIED[0] <= numba.version_info.short <= TRIED[1]
    if not found:
        LOG.debug("Numba %s, which was not tried, compiles and loads kernels its own way", numba.__version__)
    return found


@cache
def part_options() -> dict[str, Any]:
    """Return the options of Numba with which a function becomes a `Part`."""
    return {"pipeline_class": PartCompiler} if is_tried() else {}


def load_machine_code(kept: Any) -> None:
    """Let a cache of Numba check its files and load machine code only, under a release that was tried."""
    if not is_tried():
        return
    kept._cache_file = CheckedFiles.of(kept._cache_file)

    def load(signature: Any, context: Any) -> Any:
        with kept._guard_against_spurious_io_errors():
            found = kept._cache_file.load(kept._index_key(signature, context.codegen()))
            return None if found is None else _loaded(context, *found)

    kept.load_overload = load


@contextmanager
def one_process(path: Path) -> Iterator[None]:
    """Hold the lock of a file while a kernel is compiled: whoever waits for it then finds the kernel.

    A process waits for at most `PATIENCE`, and not where there are no locks.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        yield
        return
    try:
        last = time.monotonic() + PATIENCE
        with suppress(OSError):
            while not system.lock(descriptor) and time.monotonic() < last:
                time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)


class CheckedFiles(IndexDataCacheFile):  # type: ignore[misc]
    """The files in which a cache keeps a kernel, each with its CRC-32 at the end.

    A file that is damaged or cut off counts as missing: the kernel is compiled anew.
    """

    @classmethod
    def of(cls, files: IndexDataCacheFile) -> CheckedFiles:
        """Return the same files, checked, with neither place, line nor time of the source.

        Their folder is that of the code (`jit.cache_key`), in which a name stands for one kernel; Numba makes
        another in it, which stays empty, for the place of the source.
        """
        name = LINE.sub("", files._index_name.removesuffix(".nbi"))
        return cls(str(Path(files._cache_path).parent), name, None)

    def save(self, key: Any, data: Any) -> None:
        """Keep a kernel, if the system lets us: else the next process compiles it anew."""
        try:
            super().save(key, data)
        except OSError as error:
            say_uncached(error.strerror or str(error))

    @contextmanager
    def _open_for_write(self, path: str) -> Iterator[BinaryIO]:
        with super()._open_for_write(path) as file:
            written = io.BytesIO()
            yield written
            data = written.getvalue()
            file.write(data + zlib.crc32(data).to_bytes(4, "little"))

    def _load_index(self) -> Any:
        with suppress(FileNotFoundError):
            _checked(self._index_path)
            return super()._load_index()
        return {}

    def _load_data(self, name: str) -> Any:
        return pickle.loads(_checked(self._data_path(name)))


@cache
def say_uncached(reason: str) -> None:
    """Say once why compiled kernels are not kept."""
    LOG.warning("compiled kernels are not kept (%s): %s", reason, NO_CACHE)


def _checked(path: str) -> bytes:
    """Return the bytes before the checksum of a file.  Raises `FileNotFoundError` also if it is damaged."""
    found = Path(path).read_bytes()
    if zlib.crc32(found[:-4]).to_bytes(4, "little") != found[-4:]:
        raise FileNotFoundError(f"{path} is damaged")
    return found[:-4]


class Part(JITCodeLibrary):  # type: ignore[misc]
    """A function that is only compiled into others: neither optimised nor made machine code by itself."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, _name: str) -> int:
        """There is none: no process calls it."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        """What Numba tells, once a function is compiled, where its constants of Python are: it has none."""
        return SimpleNamespace(set_env=lambda _name, _environment: None)


class PartCompiler(Compiler):  # type: ignore[misc]
    """What compiles parts."""

    def __init__(self, typing: Any, target: Any, _library: Any, *settings: Any) -> None:
        super().__init__(typing, target, Part(target.codegen(), "part"), *settings)


class MachineCode(JITCodeLibrary):  # type: ignore[misc]
    """The functions of a compiled kernel, as its machine code has them."""

    def __init__(self, codegen: Any, name: str, code: bytes, bitcode: bytes, symbols: list[str]) -> None:
        super().__init__(codegen, name)
        self._bitcode, self._shared_module = bitcode, None
        self._disable_inspection = self._finalized = True
        codegen._engine._ee.add_object_file(binding.ObjectFileRef.from_data(code))
        codegen._engine._defined_symbols.update(symbols)

    def _get_module_for_linking(self) -> Any:
        """Parse the bitcode: the kernel is compiled into another."""
        if self._shared_module is None:
            self._shared_module = binding.parse_bitcode(self._bitcode)
        return self._shared_module


def _loaded(
    context: Any,
    library: tuple[str, str, tuple[bytes, bytes]],
    described: Any,
    environment: Any,
    signature: Any,
    objectmode: bool,
    lifted: Any,
    annotation: str,
    at_reload: list[Any],
    environments: tuple[Any, ...],
) -> CompileResult:
    """Make a compiled function of what Numba's cache keeps of it, in the order in which it keeps it."""
    name, _, (code, bitcode) = library
    symbols = [described.llvm_func_name, described.llvm_cpython_wrapper_name]
    made = MachineCode(context.codegen(), name, code, bitcode, symbols)
    for one in at_reload:
        one()
    entry = context.get_executable(made, described, environment)
    for one in environments:
        made.codegen.set_env(one.env_name, one)
    return compile_result(
        target_context=context,
        typing_context=context.typing_context,
        library=made,
        environment=environment,
        entry_point=entry,
        fndesc=described,
        type_annotation=annotation,
        signature=signature,
        objectmode=objectmode,
        lifted=lifted,
        reload_init=at_reload,
        referenced_envs=environments,
    )
