"""Operations on `LANES` words at once, for `_kernels.matrices`: LLVM would see no vectors in their loops.

Their arrays may overlap for all that LLVM knows.  What an operation is on one word after the other is the
function before it, which Python runs.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types

from tilebase._kernels.jit import operation
from tilebase._kernels.scalar import U1, U6, U63, U64, address_of

LANES = 8
"""As many words as a processor's widest registers have."""
SEVEN, EIGHT, BYTES = (np.uint64(n) for n in (7, LANES, 8))
MOST_ROWS = 64 * LANES // 4
"""Lanes of which `add_runs` has what belongs to them in a square of 64 rows of `LANES` words."""
DONE, BYTE, SHIFT = (np.uint64(k * MOST_ROWS) for k in (1, 2, 3))
MASKS = {size: 0xFFFF_FFFF_FFFF_FFFF // ((1 << size) + 1) for size in (32, 16, 8, 4, 2, 1)}
"""By size, the lower half of each ``2 * size`` bits."""
NUMBER, BYTE_TYPE, INDEX = ir.IntType(64), ir.IntType(8), ir.IntType(32)
VECTOR = ir.VectorType(NUMBER, LANES)


def _vector(builder, data, position):
    """Return the address of `LANES` words."""
    return builder.bitcast(builder.gep(data, [position]), VECTOR.as_pointer())


def _each(builder, value):
    """Return a vector of one number."""
    one = builder.insert_element(VECTOR(ir.Undefined), value, INDEX(0))
    return builder.shuffle_vector(one, one, ir.VectorType(INDEX, LANES)(None))


def _copy_lanes(out, to, source, begin):
    out[to : to + EIGHT] = source[begin : begin + EIGHT]


@operation(_copy_lanes)
def copy_lanes(typing_context, out, to, source, begin):  # noqa: ARG001  (the signature is Numba's)
    """Copy `LANES` words."""

    def generate(context, builder, signature, arguments):
        there, here = (address_of(context, builder, signature, arguments, k) for k in (0, 2))
        words = builder.load(_vector(builder, here, arguments[3]), align=8)
        builder.store(words, _vector(builder, there, arguments[1]), align=8)
        return context.get_dummy_value()

    return types.void(out, types.uint64, source, types.uint64), generate


def _transpose_squares(square):
    for size, mask in MASKS.items():
        # A view: the rows by blocks of 2 * size, each of an upper and a lower half.
        halves, shift = square.reshape(-1, 2, size * LANES), np.uint64(size)
        upper, lower = halves[:, 0], halves[:, 1]
        # The bits in which both differ: to flip them in both is to exchange them.
        moved = (upper >> shift ^ lower) & np.uint64(mask)
        lower ^= moved
        upper ^= moved << shift


@operation(_transpose_squares)
def transpose_squares(typing_context, square):  # noqa: ARG001  (the signature is Numba's)
    """Transpose 64 x 64 bits, `LANES` such squares beside each other.

    The upper right and the lower left quarter of a square are exchanged, then the same in each quarter, and
    so on down to squares of 2 x 2 bits.  Two of these steps are done with the words in registers.

        p q      p r
        r s  ->  q s
    """

    def generate(context, builder, signature, arguments):
        data = address_of(context, builder, signature, arguments, 0)
        for size in (32, 8, 2):
            half = size // 2
            for row in range(64):
                if row & (size | half):
                    continue
                places = [_vector(builder, data, NUMBER((row + k * half) * LANES)) for k in range(4)]
                words = [builder.load(place, align=8) for place in places]
                for k, n, bits in ((0, 2, size), (1, 3, size), (0, 1, half), (2, 3, half)):
                    shift, mask = VECTOR([bits] * LANES), VECTOR([MASKS[bits]] * LANES)
                    moved = builder.and_(builder.xor(builder.lshr(words[k], shift), words[n]), mask)
                    words[n] = builder.xor(words[n], moved)
                    words[k] = builder.xor(words[k], builder.shl(moved, shift))
                for place, word in zip(places, words, strict=True):
                    builder.store(word, place, align=8)
        return context.get_dummy_value()

    return types.void(square), generate


def _add_runs(words, begin, bits, filled, lanes, first):
    for lane in range(first, first + EIGHT):
        bit = BYTES * (begin + lanes[BYTE + lane]) + lanes[SHIFT + lane]
        k, shift = bit >> U6, bit & U63
        run = (words[k] >> shift | words[k + U1] << U1 << U63 - shift) & (U1 << bits) - U1
        word = lanes[lane] | run << filled
        lanes[lane], lanes[DONE + lane] = run >> U1 >> U63 - filled if filled + bits >= U64 else word, word


@operation(_add_runs)
def add_runs(typing_context, words, begin, bits, filled, lanes, first):  # noqa: ARG001  (Numba's signature)
    """Add a run of at most 56 bits to each of `LANES` lanes: to the `filled` bits of a word that it has.

    The lanes are those from `first` on.  The run of a lane begins ``lanes[BYTE + lane]`` bytes and
    ``lanes[SHIFT + lane]`` bits behind the byte `begin` of `words`.  ``lanes[DONE + lane]`` becomes the word;
    ``lanes[lane]`` keeps it until it is full, then the bits of the run that it has no room for.
    """

    def generate(context, builder, signature, arguments):
        source, held = (address_of(context, builder, signature, arguments, k) for k in (0, 4))
        _, start, size, used, _, offset = arguments
        source, held = builder.bitcast(source, BYTE_TYPE.as_pointer()), builder.gep(held, [offset])
        kept, done, shifts = (_vector(builder, held, NUMBER(int(k))) for k in (0, DONE, SHIFT))
        run = VECTOR(ir.Undefined)
        for lane in range(LANES):
            byte = builder.add(start, builder.load(builder.gep(held, [NUMBER(int(BYTE) + lane)])))
            there = builder.bitcast(builder.gep(source, [byte]), NUMBER.as_pointer())
            run = builder.insert_element(run, builder.load(there, align=1), INDEX(lane))
        run = builder.lshr(run, builder.load(shifts, align=8))
        run = builder.and_(run, _each(builder, builder.sub(builder.shl(NUMBER(1), size), NUMBER(1))))
        word = builder.or_(builder.load(kept, align=8), builder.shl(run, _each(builder, used)))
        # In two steps, since a shift by 64 is not defined.
        rest = builder.lshr(run, VECTOR([1] * LANES))
        rest = builder.lshr(rest, _each(builder, builder.sub(NUMBER(63), used)))
        full = builder.icmp_unsigned(">=", builder.add(used, size), NUMBER(64))
        builder.store(builder.select(full, rest, word), kept, align=8)
        builder.store(word, done, align=8)
        return context.get_dummy_value()

    number = types.uint64
    return types.void(words, number, number, number, lanes, number), generate
