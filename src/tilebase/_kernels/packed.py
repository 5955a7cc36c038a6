"""Named tuples in memory: a kernel gets their address, and reads the fields that it uses.

Numba hands a named tuple over field by field.  `BoardRules` and `Scratch` are 400 numbers, so that a call
takes longer than the work on a few boards, and to compile it a third of a second.  `packed` writes the
fields down once, as words of 64 bits: those of an array are its length, its address, its shape and its
strides.  Compiled code sees the same fields under the same names, and relies on them not to change.
"""

from __future__ import annotations

from typing import Any, TypeVar, cast

import numpy as np
from llvmlite import ir
from numba import typeof, types
from numba.core import cgutils
from numba.core.imputils import lower_getattr_generic
from numba.core.typing import templates
from numba.extending import NativeValue, models, register_model, unbox

Tuple = TypeVar("Tuple", bound=tuple[Any, ...])
WORD = ir.IntType(64)


class Packed:
    """A named tuple of arrays, numbers and named tuples of these; read as the named tuple itself."""

    __slots__ = ("_memory", "_numba_type_", "_parts", "_value", "address")

    def __init__(self, value: Any, memory: Any, address: int) -> None:
        self._value, self.address = value, address
        self._memory = memory  # of the words, which lives as long as this
        self._numba_type_ = _type_of(value)
        self._parts: dict[str, Packed] = {}
        for name, field in zip(value._fields, value, strict=True):
            if hasattr(field, "_fields"):
                self._parts[name] = Packed(field, memory, address)
            address += 8 * len(_words(field))

    def __reduce__(self) -> Any:
        raise TypeError("the memory holds addresses: whoever keeps it says how it is made again")

    def __getattr__(self, name: str) -> Any:
        return self._parts.get(name) or getattr(self._value, name)


_TYPES: dict[type, tuple[Any, PackedType]] = {}
"""Of each class of named tuples that was packed, the kinds of its fields and its type."""


def packed_type(of: type) -> PackedType:
    """Return the type of the packed named tuples of a class, of which there is one."""
    return _TYPES[of][1]


def _type_of(value: Any) -> PackedType:
    kinds = _kinds(value)
    if type(value) not in _TYPES:
        _TYPES[type(value)] = kinds, PackedType(typeof(value))
    known, found = _TYPES[type(value)]
    if kinds != known:
        raise TypeError(f"a {type(value).__name__} has fields of other types than those before: {kinds}")
    return found


def _kinds(value: Any) -> Any:
    """Return what Numba's type of a value follows from."""
    if isinstance(value, tuple):
        return tuple(map(_kinds, value))
    if isinstance(value, np.ndarray):
        return value.dtype, value.ndim, value.flags.c_contiguous, value.flags.writeable
    return type(value)


def packed(value: Tuple) -> Tuple:
    """Make a named tuple an argument of kernels that read its fields from memory."""
    words = np.array(_words(value), dtype=np.uint64)
    return cast("Tuple", Packed(value, words, words.ctypes.data))


def _words(value: Any) -> list[int]:
    if isinstance(value, tuple):
        return [word for field in value for word in _words(field)]
    if isinstance(value, np.ndarray):
        return [value.size, value.ctypes.data, *value.shape, *value.strides]
    return [int(value) & (1 << 64) - 1]


class PackedType(types.Type):  # type: ignore[misc]
    """The type of a `Packed`, by that of its named tuple."""

    def __init__(self, of: types.NamedTuple) -> None:
        self.of = of
        super().__init__(name=f"Packed({of.instance_class.__name__})")  # it is part of the names of kernels

    @property
    def key(self) -> Any:
        return self.of


@register_model(PackedType)
class _PackedModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: PackedType) -> None:
        super().__init__(manager, kind, WORD.as_pointer())


@unbox(PackedType)
def _unbox(_kind: PackedType, value: Any, c: Any) -> NativeValue:
    address = c.pyapi.object_getattr_string(value, "address")
    pointer = c.builder.inttoptr(c.pyapi.long_as_ulonglong(address), WORD.as_pointer())
    c.pyapi.decref(address)
    return NativeValue(pointer)


@templates.infer_getattr
class _Fields(templates.AttributeTemplate):  # type: ignore[misc]
    key = PackedType

    def generic_resolve(self, kind: PackedType, name: str) -> types.Type | None:
        if name not in kind.of.fields:
            return None
        field = kind.of.types[kind.of.fields.index(name)]
        return PackedType(field) if isinstance(field, types.NamedTuple) else field


@lower_getattr_generic(PackedType)
def _read_field(context: Any, builder: Any, kind: PackedType, pointer: Any, name: str) -> Any:
    index = kind.of.fields.index(name)
    return _read(context, builder, kind.of.types[index], pointer, sum(map(_size, kind.of.types[:index])))


def _size(kind: types.Type) -> int:
    """Count the words of a field."""
    if isinstance(kind, types.BaseTuple):
        return sum(map(_size, kind.types))
    return 2 + 2 * kind.ndim if isinstance(kind, types.Array) else 1


def _read(context: Any, builder: Any, kind: types.Type, pointer: Any, at: int) -> Any:
    """Read the field that begins with word `at`; the address of a named tuple."""
    if isinstance(kind, types.NamedTuple):
        return _word(builder, pointer, at)
    if isinstance(kind, types.BaseTuple):
        starts = [at + sum(map(_size, kind.types[:k])) for k in range(len(kind.types))]
        members = [
            _read(context, builder, one, pointer, start)
            for one, start in zip(kind.types, starts, strict=True)
        ]
        return context.make_tuple(builder, kind, members)
    if isinstance(kind, types.Array):
        return _read_array(context, builder, kind, pointer, at)
    number = _load(builder, pointer, at, WORD)
    if isinstance(kind, types.Boolean):
        return builder.icmp_unsigned("!=", number, WORD(0))
    return number


def _read_array(context: Any, builder: Any, kind: types.Array, pointer: Any, at: int) -> Any:
    array = context.make_array(kind)(context, builder)
    element = context.get_data_type(kind.dtype)
    words = [_load(builder, pointer, at + 2 + k, WORD) for k in range(2 * kind.ndim)]
    array.nitems = _load(builder, pointer, at, WORD)
    array.data = _load(builder, pointer, at + 1, element.as_pointer())
    array.itemsize = WORD(context.get_abi_sizeof(element))
    array.shape = cgutils.pack_array(builder, words[: kind.ndim])
    array.strides = cgutils.pack_array(builder, words[kind.ndim :])
    array.meminfo = cgutils.get_null_value(array.meminfo.type)
    array.parent = cgutils.get_null_value(array.parent.type)
    return array._getvalue()


def _word(builder: Any, pointer: Any, at: int) -> Any:
    return builder.gep(pointer, [WORD(at)], inbounds=True)


def _load(builder: Any, pointer: Any, at: int, kind: Any) -> Any:
    """Read a word; LLVM is told that it never changes, so that loops read it once."""
    found = builder.load(builder.bitcast(_word(builder, pointer, at), kind.as_pointer()))
    found.set_metadata("invariant.load", builder.module.add_metadata([]))
    return found
