"""Scalar board functions on packed keys, written once for the CPU and for CUDA.

A key holds `bits` bits per cell, the first cell in the highest bits.  All arithmetic is on
unsigned 64-bit integers: Numba turns a mix of signed and unsigned into floats.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types

from tilebase._kernels.jit import operation, scalar

U0, U1, U2, U6, U63, U64 = (np.uint64(n) for n in (0, 1, 2, 6, 63, 64))


@operation(lambda value: np.uint64((int(value) & -int(value)).bit_length() - 1))
def trailing_zeros(typing_context, value):  # noqa: ARG001  (the signature is Numba's)
    """Return the position of the lowest one bit; undefined for 0."""

    def generate(context, builder, _signature, arguments):
        return builder.cttz(arguments[0], context.get_constant(types.boolean, True))

    return types.uint64(types.uint64), generate


@operation(lambda value: np.uint64(int(value).bit_count()))
def ones(typing_context, value):  # noqa: ARG001  (the signature is Numba's)
    """Count the bits that are set."""

    def generate(_context, builder, _signature, arguments):
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@operation(lambda value: np.uint64(int.from_bytes(int(value).to_bytes(8, "little"), "big")))
def swap_bytes(typing_context, value):  # noqa: ARG001  (the signature is Numba's)
    """Reverse the eight bytes of a word."""

    def generate(_context, builder, _signature, arguments):
        return builder.bswap(arguments[0])

    return types.uint64(types.uint64), generate


def address_of(context, builder, signature, arguments, k):
    """Return the address of the first element of the k-th argument of an operation, an array."""
    return context.make_array(signature.args[k])(context, builder, arguments[k]).data


@operation(lambda _values, _position: None)
def request(typing_context, values, position):  # noqa: ARG001  (the signature is Numba's)
    """Ask for the memory of ``values[position]``, which is not negative, without waiting for it."""

    def generate(context, builder, signature, arguments):
        address = builder.gep(address_of(context, builder, signature, arguments, 0), [arguments[1]])
        number = ir.IntType(32)
        form = ir.FunctionType(ir.VoidType(), [address.type, number, number, number])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [address.type], form)
        builder.call(prefetch, [address, number(0), number(3), number(1)])  # to read, soon again, data
        return context.get_dummy_value()

    return types.void(values, types.uint64), generate


def _sum_pairs(table, *entries):
    return tuple(sum((table[e + k] for e in entries), start=U0) for k in (U0, U1))


@operation(_sum_pairs)
def sum_pairs(typing_context, table, a, b, c, d):  # noqa: ARG001  (the signature is Numba's)
    """Return the sum of ``table[e]``, and that of ``table[e + 1]``, for four e: read and added as pairs."""

    def generate(context, builder, signature, arguments):
        first = address_of(context, builder, signature, arguments, 0)
        form = ir.VectorType(ir.IntType(64), 2)
        total = None
        for entry in arguments[1:]:
            address = builder.bitcast(builder.gep(first, [entry]), form.as_pointer())
            pair = builder.load(address, align=8)
            total = pair if total is None else builder.add(total, pair)
        both = [builder.extract_element(total, ir.IntType(32)(k)) for k in (0, 1)]
        return context.make_tuple(builder, signature.return_type, both)

    entry = types.uint64
    return types.UniTuple(types.uint64, 2)(table, entry, entry, entry, entry), generate


@scalar
def free_cells(key, low_bits, fold):
    """Return the lowest bit of each empty cell of `low_bits`; `fold` is 2, 1, 0 for 4, 3, 2 bits a cell."""
    # The OR of a cell's bits in its lowest bit: of bits 0 and 1, then of these and those `fold` above.
    y = key | key >> U1
    y |= y >> fold
    return ~y & low_bits


@scalar
def sum_of(key, bits, unmergeable):
    """Return the sum of the tiles of a board; tiles of the code `unmergeable` add nothing."""
    mask = (U1 << bits) - U1
    total = U0
    while key:
        exponent = key & mask
        if exponent and exponent != unmergeable:
            total += U1 << exponent
        key >>= bits
    return total


@scalar
def largest_of(key, bits, unmergeable):
    """Return the largest exponent of a board; tiles of the code `unmergeable` have none."""
    mask, largest = (U1 << bits) - U1, U0
    while key:
        if key & mask != unmergeable:
            largest = max(largest, key & mask)
        key >>= bits
    return largest


@scalar
def potential_of(key, table):
    """Return what merging 2s into the tiles of a board earns; ``table[w]``: into those of a word."""
    mask = np.uint64(len(table) - 1)
    width = ones(mask)
    total = 0
    while key:
        total += table[key & mask]
        key >>= width
    return total


@scalar
def slide_line(word, cells, bits, walls, unmergeable):
    """Slide one line towards its first (highest) cell.

    `walls` has bit k set where cell k of the line stops tiles; `unmergeable` is the code that
    never merges, 0 for none.  Returns the new word and the largest exponent made.
    """
    mask = (U1 << bits) - U1
    result = U0
    made = U0
    put = U0  # next cell to fill
    last = U0  # the tile before it if it can still merge, else 0
    for k in range(cells):
        uk = np.uint64(k)
        exponent = word >> (bits * (cells - U1 - uk)) & mask
        # A wall stays, and tiles behind it stop at the cell after it.
        if walls >> uk & U1:
            result |= exponent << (bits * (cells - U1 - uk))
            put = uk + U1
            last = U0
        elif exponent:
            # A merge raises the tile that was put last, in the cell before `put`; it cannot merge again.
            if exponent == last and exponent != unmergeable:
                result += U1 << (bits * (cells - put))
                made = max(made, exponent + U1)
                last = U0
            else:
                result |= exponent << (bits * (cells - U1 - put))
                put += U1
                last = exponent
    return result, made


@scalar
def reverse_line(word, cells, bits):
    """Read a line from its other end; or the walls of one, of which a cell has one bit."""
    mask = (U1 << bits) - U1
    result = U0
    for _ in range(cells):
        result = result << bits | word & mask
        word >>= bits
    return result


@scalar
def holds(key, patterns):
    """Return whether a board holds a pattern; ``patterns[k]``: the mask of its cells, what they hold."""
    found = False
    for k in range(len(patterns)):
        found |= key & patterns[k, 0] == patterns[k, 1]
    return found


@scalar
def stands(key, masks):
    """Return whether all cells of one of the masks hold the code of x, which has all bits set."""
    found = False
    for k in range(len(masks)):
        found |= key & masks[k] == masks[k]
    return found


@scalar
def has_spot(key, spots, fold):
    """Return whether a tile is where it wins; ``spots[k]``: the tile on every cell, and these cells."""
    found = U0
    for k in range(len(spots)):
        found |= free_cells(key ^ spots[k, 0], spots[k, 1], fold)
    return found != U0


@scalar
def within(key, rules):
    """Return whether no cell exceeds its limit.

    Cells are compared two apart so that the borrow of each stays in its own field.
    """
    limits = rules.limits
    # An unmergeable tile, whose bits are all set, passes some cells: there it counts as an empty cell.
    unmergeable = key & key >> U1
    unmergeable &= unmergeable >> rules.fold & limits.passing
    key &= ~((unmergeable << rules.bits) - unmergeable)
    # Limit minus tile, with a guard bit above each: it is borrowed where the tile is larger.
    even = limits.even - (key & limits.fields)
    odd = limits.odd - (key >> rules.bits & limits.fields)
    return (even & odd & limits.guards) == limits.guards
