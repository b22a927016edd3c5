"""
Products with weights that a mask made zero: attention's values whose scores are discarded are not multiplied.

Where a mask bounds the columns of the scores, the weights beyond are zero, unless the mask's value is not far below the
scores. A tile looks at them, and at the values that they would multiply, for 0 times infinity is NaN: if all is zero
there, and the values are finite, their steps are left out. They would add zeros to sums, whose bits stay the same, but
for the sign of a sum of nothing but products that underflow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, IntegerType
from xdsl.ir import SSAValue

from ....dialects.support.buffers import memref_type
from ....dialects.support.scalar import Scalar, scalar_attr, width_of
from ...loop_nests.kernel_builder import Index, known
from ...loop_nests.loop_builder import LoopBuilder, buffer_of
from ..blocking import Blocking
from ..contraction import Contraction
from ..shared_function import call_known, writes
from ..vectors import VectorBuilder
from .masks import RowMask

INFINITY = {Float32Type(): 0x7F800000, BFloat16Type(): 0x7F80, Float16Type(): 0x7C00}
"""The bits of infinity; those of finite numbers without their signs are less."""

TOGETHER = 4
"""Vectors that are read at once, so that none waits for another."""


@dataclass(frozen=True)
class WeighedProduct:
    """A product whose rows, in a tile, are likely to be zero where a mask discards columns of an earlier one."""

    product: Contraction
    mask: RowMask

    def steps(
        self,
        builder: LoopBuilder,
        kernel: func.FuncOp,
        blocking: Blocking,
        rows_of_a: tuple[SSAValue, Index, int],
        outer: Sequence[Index],
        rows: tuple[Index, Index],
    ) -> tuple[Index, Index]:
        """
        The steps along k that the tile needs, in groups of the blocking. `rows_of_a`: the buffer of its weights, where
        they begin, and the distance of rows; `rows`: its first row, and the number of its rows.
        """
        product, group = self.product, blocking.group
        k = product.k.size
        lower, upper = self.mask.panels(builder, outer, *rows, group)
        upper = builder.index(upper).max(lower)
        before, after = lower * group, builder.min(upper * group, k)
        ranges: list[tuple[Index, Index]] = [(0, before), (after, k - after)]
        found: Scalar | None = None
        for start, size in ranges:
            if size == 0:
                continue
            buffer, at, stride = rows_of_a
            weights = buffer, at + start, stride, rows[1], size
            is_zero = _greatest(builder, kernel, blocking, weights).compare("eq", 0)
            is_finite = self._values(builder, kernel, blocking, outer, (start, size))
            found = is_zero & is_finite if found is None else found & is_zero & is_finite
        if found is None:
            return lower, upper
        start = 0 if known(lower) == 0 else builder.select(found, lower, 0)
        return start, builder.select(found, upper, -(-k // group))

    def _values(
        self,
        builder: LoopBuilder,
        kernel: func.FuncOp,
        blocking: Blocking,
        outer: Sequence[Index],
        steps: tuple[Index, Index],
    ) -> Scalar:
        """Whether the other factor is finite in some steps, of which the first and the number are given."""
        b, n, k = self.product.b, self.product.n, self.product.k
        at = b.offset_at(builder) + steps[0] * k.b
        for loop, index in zip(self.product.outer, outer, strict=True):
            at += index * loop.b
        rows, columns = (1, steps[1] * n.size) if k.b == n.size else (steps[1], n.size)
        found = _greatest(builder, kernel, blocking, (b.root, at, k.b, rows, columns))
        return found.compare("ult", INFINITY[buffer_of(b.root).element_type])


def can_be_weighed(product: Contraction, blocking: Blocking) -> bool:
    """Whether steps along k can be left out: of one pass, over rows of floats on both sides."""
    one_pass = -(-product.k.size // blocking.group) <= blocking.kc
    return (
        one_pass
        and product.k.a == product.n.b == 1
        and all(buffer_of(x.root).element_type in INFINITY for x in (product.a, product.b))
    )


def _greatest(
    builder: LoopBuilder,
    kernel: func.FuncOp,
    blocking: Blocking,
    block: tuple[SSAValue, Index, Index, Index, Index],
) -> Scalar:
    """
    The greatest number without its sign, as bits, in a block of a buffer: where it begins, the distance of its rows,
    their number, and their length.
    """
    width = width_of(buffer_of(block[0]).element_type)
    found = builder.alloca(memref_type((1,), IntegerType(width)))
    call_known(builder, kernel, "greatest", (*block, found), blocking.lanes * 32 // width, _emit_greatest)
    return builder.on(builder.load(found, [0]))


@writes(5)
def _emit_greatest(builder: LoopBuilder, parameters: Sequence[SSAValue], lanes: int) -> None:
    """The body of the function that finds it, and stores it in the last parameter; `lanes`: elements of a vector."""
    buffer, *numbers, target = parameters
    begin, apart, rows, columns = map(builder.index, numbers)
    vectors, bits = VectorBuilder(builder), buffer_of(target).element_type
    no_sign = builder.scalar(scalar_attr((1 << width_of(bits) - 1) - 1, bits))
    zero = builder.scalar(scalar_attr(0, bits))
    several = lanes * TOGETHER

    def greatest(carried: SSAValue, at: Index, length: int) -> SSAValue:
        view = builder.strided_view(buffer, at, (length,), (1,))
        value = vectors.bitcast(vectors.load(view, [0], length), bits, length)
        return vectors.greatest(carried, vectors.conjunction(value, vectors.splat(no_sign, length)))

    with builder.loop(0, rows, carry=[vectors.splat(zero, lanes)] * TOGETHER) as (row, found):
        start, whole, full = begin + row * apart, columns // several * several, columns // lanes * lanes
        with builder.loop(0, whole, step=several, carry=found) as (column, sums):
            places = [start + column + part * lanes for part in range(TOGETHER)]
            builder.yield_(*(greatest(x, at, lanes) for x, at in zip(sums, places, strict=True)))
        with builder.loop(whole, full, step=lanes, carry=sums[:1]) as (column, one):
            builder.yield_(greatest(one[0], start + column, lanes))
        with builder.loop(full, columns, carry=one) as (column, last):
            element = greatest(vectors.splat(zero, 1), start + column, 1)
            builder.yield_(vectors.greatest(last[0], vectors.splat(element, lanes)))
        builder.yield_(last[0], *sums[1:])
    total = found[0]
    for each in found[1:]:
        total = vectors.greatest(total, each)
    vectors.store(vectors.folded(total, vectors.greatest), target, [0])
