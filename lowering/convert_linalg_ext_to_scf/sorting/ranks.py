"""
The ranks of the keys of a short row: the number of those before each, all pairs compared in vectors.

Programs share the function. It may read keys, and write ranks, up to the end of a vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from ....dialects.support.attributes import integer_attr
from ...convert_contractions_to_vector.shared_function import call_known
from ...convert_contractions_to_vector.vectors import VectorBuilder
from ...loop_nests.kernel_builder import Index
from ...loop_nests.loop_builder import LoopBuilder, buffer_of

RADIX_LENGTH = 128
"""Rows with at least this many elements are sorted in other ways."""

LEAST_WIDTH = 8
"""The width of the shortest keys that have room for ranks, and for what two of them are apart by."""

MOST_LANES = 64
"""The lanes of the longest vectors of keys."""


def lanes_of(builder: LoopBuilder, key_type: IntegerType) -> int:
    """The lanes of vectors of keys, also of those that selections compare."""
    return max(2, min(MOST_LANES, builder.vector_bits // key_type.width.data))


def call_ranks(builder: LoopBuilder, kernel: func.FuncOp, arguments: Sequence[Index | SSAValue], lanes: int) -> None:
    """`arguments`: the keys, their ranks; where both begin, and the number of keys."""
    call_known(builder, kernel, "rank", arguments, lanes, _emit_ranks)


def _emit_ranks(builder: LoopBuilder, parameters: Sequence[SSAValue], lanes: int) -> None:
    keys, ranks, at, length = parameters
    vectors, type_ = VectorBuilder(builder), cast(IntegerType, buffer_of(keys).element_type)
    keys, ranks = (builder.strided_view(buffer, builder.index(at), (MOST_LANES,), (1,)) for buffer in (keys, ranks))
    zeros, ones = (vectors.constant(integer_attr(n, type_), lanes) for n in (0, 1))
    count = builder.index(length)
    total, numbers = vectors.splat(count.cast_to(type_), lanes), vectors.numbers(type_, lanes)
    with builder.loop(0, count, step=lanes) as first:
        own = vectors.load(keys, [first], lanes)
        # By how many places each lane is after the other key.
        after = vectors.add(numbers, vectors.splat(first.cast_to(type_), lanes))
        with builder.loop(0, count, carry=[zeros, after]) as (place, state):
            other = vectors.splat(builder.load(keys, [place]), lanes)
            not_after, equal = vectors.compare("ule", own, other), vectors.compare("eq", own, other)
            earlier = vectors.conjunction(equal, vectors.compare("gt", state[1], zeros))
            follows = vectors.difference(not_after, earlier)
            builder.yield_(vectors.counted(state[0], follows), vectors.subtract(state[1], ones))
        vectors.store(vectors.subtract(total, state[0]), ranks, [first])
