"""The decorators of all kernels: compiled code is cached in folders named by the sources that it depends on.

Numba's cache looks at the file of the compiled function only, so an edit in a callee's file would go
unnoticed.  Here each module of kernels has a folder whose name holds a hash of its code, of the code of the
modules of this package that it imports, of the versions of Numba and llvmlite, and of the settings that
change the machine code.  An edit elsewhere, of a comment or of a docstring leaves its compiled kernels as
they are, and all copies of the package share them.  Of processes that want the same kernel at once, one
compiles it.  Where no folder can be used (`paths.cache_folder`), or its disk is full, each process compiles
its kernels, and says so.

Nor do kernels count references (``_nrt=False``): what they are given outlives the call. The counts are
atomic, so that threads that share an array would wait for each other whenever one takes a slice. So a
kernel cannot make an array: what it works in is given to it.
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import hashlib
import inspect
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, wraps
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from llvmlite import binding, ir
from numba import typeof, types
from numba.core import cgutils, config
from numba.core.dispatcher import Dispatcher
from numba.core.typing.templates import infer_global, make_intrinsic_template
from numba.extending import intrinsic, overload

from tilebase._kernels.machine_code import load_machine_code, one_process, part_options, say_uncached
from tilebase._kernels.packed import packed_type
from tilebase.runtime.paths import cache_folder

PLAIN = os.environ.get("TILEBASE_DEBUG") == "python" or bool(config.DISABLE_JIT or config.ENABLE_CUDASIM)
"""Whether kernels are not compiled: Python runs them, a thousand times slower, for a debugger or `print`.

Numba's simulator of CUDA runs in Python, too, and calls scalar functions of this package.
"""
if os.environ.get("TILEBASE_DEBUG") == "1":
    # An index out of bounds is an IndexError, in kernels of their own cache; a crash prints where Python was.
    config.BOUNDSCHECK = 1
    faulthandler.enable()

PACKAGE = __name__.rpartition(".")[0]
SETTINGS = ("BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "OPT", "SLP_VECTORIZE")
"""Settings of Numba that change the code and that its own cache does not look at."""
ALWAYS = ("jit", "arguments")
"""Every kernel depends on these: on the options of the compiler, and on the fields of its arguments."""
N, WORDS, WORDS_2 = types.int64, types.uint64[::1], types.uint64[:, ::1]
"""Types of the parameters of linked kernels."""
UNUSED_DAYS = 60
"""Folders that were not used for so long are deleted when a new one is made."""
IMPORTS = re.compile(rf"^\s*from {re.escape(PACKAGE)}(?:\.(\w+)| import ([\w, ]+))", re.MULTILINE)
DOCUMENTS, STRING = '"' * 3, "'" * 3
UNFINISHED = (*"([{,=+%\\\"'",)
"""How a line ends after which a string is no docstring."""


def sources(module: str, folder: Path) -> list[Path]:
    """Find the files of a package that a module depends on, itself included, by its imports."""
    found: set[str] = set()
    waiting = [module, *ALWAYS]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            for one, several in IMPORTS.findall((folder / f"{name}.py").read_text("utf-8")):
                waiting += [one] if one else re.findall(r"\w+", several)
    return [folder / f"{name}.py" for name in sorted(found)]


@cache
def code_of(text: str) -> str:
    """Return a source without its comments, docstrings and blank lines; what is in doubt stays.

    In doubt are a comment behind code with quotes, and the whole of a source in which a string of several
    lines is no statement of its own.
    """
    kept = [""]
    inside = False
    for line in text.splitlines():
        if DOCUMENTS in line or STRING in line:
            bare = line.strip()
            begins = not inside and bare.startswith(DOCUMENTS) and not kept[-1].endswith(UNFINISHED)
            ends = bare.endswith(DOCUMENTS) and not bare.endswith("\\" + DOCUMENTS)
            marks = bare.count(DOCUMENTS)
            if marks == 1 and (begins or (inside and ends)):
                inside = begins
            elif not (marks == 2 and begins and ends):
                return text
        elif not inside:
            code, comment, _ = line.partition("#")
            if (comment and '"' not in line and "'" not in line) or not code.strip():
                line = code.rstrip()
            if line:
                kept.append(line)
    return "\n".join(kept)


def cache_key(module: str, folder: Path = Path(__file__).parent) -> str:
    """Hash what the compiled kernels of a module depend on."""
    settings = [str(getattr(config, name)) for name in SETTINGS]
    digest = hashlib.sha256(" ".join([numba.__version__, llvmlite.__version__, *settings]).encode())
    for path in sources(module, folder):
        digest.update(f"{path.name}\0{code_of(path.read_text('utf-8'))}\0".encode())
    return digest.hexdigest()[:12]


def is_compiled(module: str) -> bool:
    """Return whether kernels of a module were compiled before and are kept."""
    cache = cache_folder()
    return not PLAIN and cache is not None and any((cache / f"{module}-{cache_key(module)}").rglob("*.nbc"))


@cache
def _kernel_cache(module: str) -> str | None:
    """Make the folder for the compiled kernels of a module, if it can be written."""
    cache = cache_folder()
    if cache is None:
        return None
    folder = cache / f"{module}-{cache_key(module)}"
    try:
        folder.mkdir(parents=True)
        _delete_unused(folder)
    except FileExistsError:
        pass
    except OSError:
        return None
    try:
        os.utime(folder)
    except OSError:
        return None
    return str(folder)


def _delete_unused(new: Path) -> None:
    """Delete the folders of the same module that no process has used for long."""
    module = new.name.rpartition("-")[0]
    for folder in new.parent.glob(f"{module}-*"):
        with suppress(FileNotFoundError):  # another process has deleted it
            if time.time() - folder.stat().st_mtime > UNUSED_DAYS * 86400:
                shutil.rmtree(folder, ignore_errors=True)


def kernel() -> Callable[[Callable[..., Any]], Any]:
    """Compile without the GIL and with the cache described above, for the types of each call."""
    return _compiled


def _compiled(function: Callable[..., Any]) -> Any:
    if PLAIN:
        return _wrapping(function)
    package, _, module = function.__module__.rpartition(".")
    own = package == PACKAGE
    folder = _kernel_cache(module) if own else None
    kept, config.CACHE_DIR = config.CACHE_DIR, folder or ""
    try:
        found = numba.njit(
            nogil=True, cache=folder is not None, boundscheck=False, _nrt=False, no_cfunc_wrapper=True
        )(function)  # fmt: skip
    finally:
        config.CACHE_DIR = kept
    if folder is not None:
        load_machine_code(found._cache)
    compile_alone = found.compile

    def compile_with_callees(signature: Any) -> Any:
        if own and folder is None:
            say_uncached("no folder for them can be written")
        for callee in _callees(function):
            callee.call()
        with without_collector():
            if folder is None:
                return compile_alone(signature)
            with one_process(Path(folder) / f"{function.__qualname__}.lock"):
                return compile_alone(signature)

    found.compile = compile_with_callees  # Numba calls it for each new combination of types
    return found


@contextmanager
def without_collector() -> Iterator[None]:
    """Look for no garbage meanwhile: the compiler makes a million objects that stay until it ends."""
    found = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if found:
            gc.enable()


def _wrapping(function: Callable[..., Any]) -> Callable[..., Any]:
    """Run a kernel in Python: unsigned numbers wrap around without a warning, as in compiled code."""

    @wraps(function)
    def run(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*arguments)

    return run


def chosen(choose: Callable[..., Any]) -> Any:
    """Make a function for kernels that is what `choose` returns for the types of its arguments, Numba's."""
    if PLAIN:
        return lambda *arguments: choose(*map(typeof, arguments))(*arguments)

    @wraps(choose)
    def replaced(*_arguments: Any) -> Any:
        raise NotImplementedError

    overload(replaced)(choose)
    return replaced


def operation(python: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Make an intrinsic function of Numba; `python` is what Python does instead."""
    return (lambda _: python) if PLAIN else intrinsic


def is_kernel(dispatcher: Dispatcher) -> bool:
    """Return whether a compiled function of Numba is a kernel, and not compiled as a part of kernels."""
    return "compile" in vars(dispatcher)


def scalar(function: Callable[..., Any], **options: Any) -> Any:
    """Make a function for kernels that is inlined by LLVM into those that call it.

    Python cannot call it: wrappers for Python would take as long to compile as the function itself.
    """
    if PLAIN:
        return function
    return numba.njit(
        nogil=True, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True, **part_options(), **options
    )(function)  # fmt: skip


def inlined(function: Callable[..., Any]) -> Any:
    """Make a function for kernels that is always inlined: one for a few boards, with named tuples."""
    return scalar(function, forceinline=True)


def linked(
    returns: types.Type, *parameters: Any, optional: bool = False
) -> Callable[[Callable[..., Any]], Linked]:
    """Compile for one signature, and link other kernels with the machine code; see `Linked`."""
    return lambda function: Linked(function, returns, parameters, optional)


class Linked:
    """A kernel that is compiled once: a function for Python and for other kernels.

    Numba compiles a function into each of its callers: LLVM optimises it anew and writes machine code for it,
    even where it is not inlined.  What works on a whole batch gains nothing from that.  So the callers of a
    linked kernel read its address from memory, where it is written before a caller is compiled or loaded.

    `parameters` are types of Numba, or classes of named tuples that are `packed`.  An optional kernel is made
    only if it is wanted and a caller is loaded: the rules of a game want what they call.
    """

    def __init__(
        self, function: Callable[..., Any], returns: types.Type, parameters: tuple[Any, ...], optional: bool
    ) -> None:
        self._kernel = _compiled(function)
        self._returns, self._parameters = returns, parameters
        self._wanted, self._called = not optional and not PLAIN, False
        self._address = ctypes.c_uint64()
        self._symbol = f"{function.__module__}.{function.__qualname__}"
        binding.add_symbol(self._symbol, ctypes.addressof(self._address))
        infer_global(self, types.Function(make_intrinsic_template(self, self._typing(), function.__name__)))

    def __call__(self, *arguments: Any) -> Any:
        return self._kernel(*arguments)

    def want(self) -> None:
        """Have an optional kernel ready where it is called."""
        self._wanted = not PLAIN
        if self._called:
            self._bind()

    def call(self) -> None:
        """Have the kernel ready, if it is wanted: a caller is loaded."""
        self._called = True
        if self._wanted:
            self._bind()

    @property
    def signature(self) -> Any:
        """The signature for which the kernel is compiled."""
        return self._returns(*(p if isinstance(p, types.Type) else packed_type(p) for p in self._parameters))

    def _bind(self) -> None:
        """Compile or load the kernel, and write its address where callers read it."""
        if not self._address.value:
            signature = self.signature
            self._kernel.compile(signature)
            made = self._kernel.overloads[signature.args]
            self._address.value = made.library.get_pointer_to_function(made.fndesc.llvm_func_name)

    def _typing(self) -> Callable[..., Any]:
        """Make the call in other kernels, as an intrinsic function of Numba."""

        def call(_context: Any, *_arguments: Any) -> Any:
            return self.signature, self._generate

        names = ["context", *(f"a{k}" for k in range(len(self._parameters)))]
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        call.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in names])  # type: ignore[attr-defined]
        return call

    def _generate(self, context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        returns, convention = signature.return_type, context.call_conv
        address = builder.module.globals.get(self._symbol)
        if address is None:
            address = ir.GlobalVariable(builder.module, ir.IntType(64), self._symbol)
        form = convention.get_function_type(returns, signature.args)
        function = builder.inttoptr(builder.load(address), form.as_pointer())
        status, found = convention.call_function(builder, function, returns, signature.args, arguments)
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return found


@cache
def _callees(function: Callable[..., Any]) -> tuple[Linked, ...]:
    """Find the linked kernels that a function calls, itself or through what is compiled into it."""
    found: dict[Linked, None] = {}
    seen = set()
    waiting = [function]
    while waiting:
        one = waiting.pop()
        seen.add(one)
        for name in one.__code__.co_names:
            value = one.__globals__.get(name)
            if isinstance(value, Linked):
                found[value] = None
            elif isinstance(value, Dispatcher) and value.py_func not in seen:
                waiting.append(value.py_func)
    return tuple(found)
