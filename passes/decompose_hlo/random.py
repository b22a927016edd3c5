"""
Random bits and numbers as integer arithmetic on iotas, elementwise so that they fuse into their users.

The algorithms are those of hlo_dialect/numbers/random_bits.py. Each element computes the whole block of words that
contains it: twice (Threefry) or four times (Philox) the arithmetic, but nothing else is written to memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerType, Signedness
from xdsl.ir import Attribute, Operation

from ...hlo_dialect.expressions.tensor import Builder, Tensor, concatenate
from ...hlo_dialect.numbers.random_bits import (
    PHILOX_KEY_STEPS,
    PHILOX_MULTIPLIERS,
    PHILOX_ROUNDS,
    split_dimension,
    threefry,
)
from ...hlo_dialect.ops.algorithms.random import RngBitGeneratorOp, RngOp, number_rngs
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import (
    bit_width,
    element_of,
    f32,
    f64,
    is_boolean,
    is_float,
    is_unsigned,
    make_tensor,
    shape_of,
)
from .transform import decompositions

Shape = tuple[int, ...]
Pair = tuple[Tensor, Tensor]


def unsigned(width: int) -> IntegerType:
    """The unsigned integer type of `width` bits."""
    return IntegerType(width, Signedness.UNSIGNED)


U32, U64 = unsigned(32), unsigned(64)


def _places(builder: Builder, shape: Shape, sizes: Sequence[int], halved: int = -1) -> Tensor:
    """Each element's row-major linear index in `sizes`; the index along dimension `halved` counts in pairs."""
    type_ = make_tensor(shape, U64)
    place = builder.splat(0, type_)
    for dim in range(len(shape)):
        index = builder.iota(type_, dim)
        if dim == halved:
            index = index >> 1
        place = place + index * math.prod(sizes[dim + 1 :])
    return place


def words(value: Tensor) -> Pair:
    """The low and high halves of 64-bit words."""
    return value.convert(U32), (value >> 32).convert(U32)


def joined(low: Tensor, high: Tensor) -> Tensor:
    return low.convert(U64) | (high.convert(U64) << 32)


def philox(key: Pair, counter: Sequence[Tensor]) -> list[Tensor]:
    """Philox-4x32 with 10 rounds."""
    keys, state = list(key), list(counter)
    for number in range(PHILOX_ROUNDS):
        if number:
            keys = [word + step for word, step in zip(keys, PHILOX_KEY_STEPS, strict=True)]
        low0, high0 = words(state[0].convert(U64) * PHILOX_MULTIPLIERS[0])
        low1, high1 = words(state[2].convert(U64) * PHILOX_MULTIPLIERS[1])
        state = [
            high1 ^ state[1] ^ keys[0],
            low1,
            high0 ^ state[3] ^ keys[1],
            low0,
        ]
    return state


def _scalars(state: Tensor) -> list[Tensor]:
    """The words of the state."""
    return [state.take(0, number) for number in range(state.shape[0])]


def _state(parts: Sequence[Tensor]) -> Tensor:
    """Concatenate the scalars into a vector."""
    return concatenate([part.reshape((1,)) for part in parts], 0)


def _threefry_bits(state: Sequence[Tensor], shape: Shape, width: int) -> tuple[list[Tensor], Tensor]:
    builder = state[0].builder
    low, high = words(state[0])
    key = low.broadcast(shape), high.broadcast(shape)
    halved = split_dimension(shape) if shape and width != 64 else -1
    sizes = tuple(-(-size // 2) if dim == halved else size for dim, size in enumerate(shape))
    first, second = threefry(key, words(state[1].broadcast(shape) + _places(builder, shape, sizes, halved)))
    new_state = [state[0], state[1] + math.prod(sizes)]
    if width == 64:
        return new_state, joined(first, second)
    if halved < 0:
        return new_state, first
    odd = (builder.iota(make_tensor(shape, U64), halved) & 1).equals(1)
    return new_state, odd.select(second, first)


def philox_bits(state: Sequence[Tensor], shape: Shape, width: int) -> tuple[list[Tensor], Tensor]:
    """The words of the new state, and random words of 32 bits, or of 64 if `width` is 64."""
    builder = state[0].builder
    count = math.prod(shape)
    start, high = (state[1], state[2]) if len(state) == 3 else (state[1], state[0])
    each = 2 if width == 64 else 4
    place = _places(builder, shape, shape)
    low = start.broadcast(shape)
    lows = low + (place >> each // 2)
    highs = (lows < low).select((high + 1).broadcast(shape), high.broadcast(shape))
    key = words(state[0])
    output = philox((key[0].broadcast(shape), key[1].broadcast(shape)), (*words(lows), *words(highs)))
    blocks = -(-count // each)
    end = start + blocks
    new_state = [state[0], end, (end < start).select(high + 1, high)][: len(state)]
    odd = (place & 1).equals(1)
    if width == 64:
        return new_state, odd.select(joined(output[2], output[3]), joined(output[0], output[1]))
    later = (place & 2).equals(2)
    return new_state, later.select(odd.select(output[3], output[2]), odd.select(output[1], output[0]))


@decompositions.on(RngBitGeneratorOp)
def _rng_bit_generator(op: RngBitGeneratorOp) -> Sequence[Operation]:
    """`rng_bit_generator %s, algorithm = PHILOX` becomes ten rounds of multiplications and exclusive ors on iotas."""
    op.refuse_other_states()
    shape, element = shape_of(op.output), element_of(op.output)
    if not is_static(shape) or not is_static(shape_of(op.initial_state)):
        return ()
    builder = Builder()
    width = bit_width(element)
    generate = _threefry_bits if op.is_threefry else philox_bits
    state, bits = generate(_scalars(Tensor(builder, op.initial_state)), shape, width)
    if width < 32:
        bits = bits.convert(unsigned(width))
    if not is_unsigned(element):
        bits = bits.bits_as(element)
    return builder.replace(op, _state(state), bits)


@decompositions.on(RngOp)
def _rng(op: RngOp) -> Sequence[Operation]:
    """`rng %a, %b, %shape, distribution = UNIFORM` becomes random bits of the operation's own counters, converted."""
    shape, element = shape_of(op.result), element_of(op.result)
    if not is_static(shape):
        return ()
    number_rngs(op)
    builder = Builder()
    scalars = [builder.constant(np.array(word, np.uint64), make_tensor((), U64)) for word in op.state]
    a, b = (bound.broadcast(shape) for bound in builder.tensors([op.a, op.b]))
    if is_boolean(element):
        result = a
    elif is_float(element):
        result = _floats(op, scalars, a, b)
    else:
        result = _integers(scalars, a, b)
    return builder.replace(op, result)


def _uniform(state: Sequence[Tensor], shape: Shape, element: Attribute) -> Tensor:
    """Floats in [0, 1), multiples of 2**-24 or 2**-53."""
    width, kept = (64, 53) if element == f64 else (32, 24)
    bits = philox_bits(state, shape, width)[1]
    return (bits >> (width - kept)).convert(element) * 2.0**-kept


def _floats(op: RngOp, state: Sequence[Tensor], a: Tensor, b: Tensor) -> Tensor:
    shape, element = shape_of(op.result), element_of(op.result)
    compute = f64 if element == f64 else f32
    first, second = a.convert(compute), b.convert(compute)
    if not op.is_normal:
        value = (_uniform(state, shape, compute) * (second - first) + first).convert(element)
        return ((value >= b) | (a >= b)).select(a, value)
    both = _uniform(state, (2, *shape), compute)
    radius, angle = (both.take(0, number) for number in (0, 1))
    radius = ((1.0 - radius).log() * -2.0).sqrt()
    return (radius * (angle * (2 * math.pi)).cosine() * second + first).convert(element)


def _integers(state: Sequence[Tensor], a: Tensor, b: Tensor) -> Tensor:
    """a plus the remainder of random bits by the range."""
    element: Any = element_of(a.value)
    width = bit_width(element)
    wide = unsigned(64 if width == 64 else 32)
    bits = philox_bits(state, shape_of(a.value), width)[1]

    def widened(value: Tensor) -> Tensor:
        signed = value.convert(IntegerType(wide.width.data))
        return value.convert(wide) if is_unsigned(element) else signed.bits_as(wide)

    low, high = widened(a), widened(b)
    drawn = bits % (high - low) + low
    if not is_unsigned(element):
        drawn = drawn.convert(unsigned(width)).bits_as(element)
    return (a >= b).select(a, drawn.convert(element))
