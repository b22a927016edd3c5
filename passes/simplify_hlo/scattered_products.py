"""
Products of tensors whose sums run over dimensions that are scattered in memory become products of matrices.

The kernel of a product runs along one sum, of dimensions that follow each other in both factors; all others are loops
around it, which read and write the result again and again. Where they leave it few terms, as in a network of tensors,
moving the dimensions of a factor first takes less time than that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.ir import Operation, SSAValue

from ...dialects.support.buffers import row_major
from ...hlo_dialect.attributes import DotDimensionNumbersAttr
from ...hlo_dialect.expressions.tensor import Tensor
from ...hlo_dialect.ops.contraction import DotGeneralOp
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import element_of, shape_of
from .rewrite import OPEN_ORDER, Rewrite, assumes, by, simplifications, start

LONG = 48
"""Terms of a sum that make up for reading and writing the result around them."""

Dims = tuple[int, ...]


@dataclass(frozen=True)
class _Factor:
    """A factor of a product, and its dimensions by their part in it."""

    value: SSAValue
    batching: Dims
    free: Dims
    contracting: Dims

    @property
    def shape(self) -> Dims:
        return shape_of(self.value)

    @property
    def strides(self) -> Dims:
        return row_major(self.shape)

    def size(self, dims: Sequence[int]) -> int:
        return math.prod(self.shape[dim] for dim in dims)

    @property
    def is_scattered(self) -> bool:
        """Whether it is no matrix as it lies in memory."""
        sides = ([(self.shape[dim], (self.strides[dim],)) for dim in side] for side in (self.free, self.contracting))
        return any(len(_runs(side)) > 1 for side in sides)

    def matrices(self, x: Tensor) -> tuple[Tensor, Dims, int]:
        """
        Tensor `x` of the factor with one free and one contracted dimension, moved only if it has to be, and in whole
        rows if it can be; where its batching dimensions are then, and the contracted one.
        """

        def distance(group: Dims) -> int:
            return max(self.strides[dim] for dim in group)

        def last(group: Dims) -> int:
            return max((dim for dim in group if self.shape[dim] > 1), default=0)

        sides = sorted([self.free, self.contracting], key=last)
        groups = [*((dim,) for dim in self.batching), *sides]
        if not self.is_scattered:
            groups.sort(key=distance, reverse=True)
        moved = x.transpose([dim for group in groups for dim in group]).reshape([self.size(group) for group in groups])
        return moved, tuple(groups.index((dim,)) for dim in self.batching), groups.index(self.contracting)


@simplifications.on(DotGeneralOp)
@assumes(OPEN_ORDER)
def regroup_scattered_product(op: Operation) -> Rewrite | None:
    """
    A product whose factors have few terms of a sum beside each other is one of matrices, if that moves fewer elements
    than the result has in all passes over it.
    """
    assert isinstance(op, DotGeneralOp)
    numbers = op.dot_dimension_numbers
    if len(numbers.lhs_contracting) < 2 or not all(is_static(shape_of(factor)) for factor in op.operands):
        return None
    left = _Factor(op.operands[0], numbers.lhs_batching, op.lhs_free, numbers.lhs_contracting)
    right = _Factor(op.operands[1], numbers.rhs_batching, op.rhs_free, numbers.rhs_contracting)
    run = _longest_run(left, right)
    left, right = _in_one_order(left, right)
    passes = left.size(left.contracting) // run
    moved = sum(math.prod(factor.shape) for factor in (left, right) if factor.is_scattered)
    if run >= LONG or passes < 2 or math.prod(shape_of(op.results[0])) * passes < moved:
        return None
    x = start(left.value)
    lhs, lhs_batching, lhs_contracting = left.matrices(x)
    rhs, rhs_batching, rhs_contracting = right.matrices(Tensor(x.builder, right.value))
    new = DotDimensionNumbersAttr.of(lhs_batching, rhs_batching, (lhs_contracting,), (rhs_contracting,))
    stated = {name: value for name, value in op.properties.items() if name != "dot_dimension_numbers"}
    product = lhs.dot(rhs, new, element_of(op.results[0]), **stated)
    return by(product.reshape(shape_of(op.results[0])))


def _longest_run(left: _Factor, right: _Factor) -> int:
    """The most terms of the sum that follow each other in both factors."""
    terms = sorted(zip(left.contracting, right.contracting, strict=True))
    return max(_runs([(left.shape[x], (left.strides[x], right.strides[y])) for x, y in terms]), default=1)


def _in_one_order(left: _Factor, right: _Factor) -> tuple[_Factor, _Factor]:
    """The factors with the terms of the sum in the order that they have in the larger one, which may stay then."""
    larger = 0 if math.prod(left.shape) >= math.prod(right.shape) else 1
    terms = sorted(zip(left.contracting, right.contracting, strict=True), key=lambda pair: pair[larger])
    return (
        replace(left, contracting=tuple(pair[0] for pair in terms)),
        replace(right, contracting=tuple(pair[1] for pair in terms)),
    )


def _runs(loops: Sequence[tuple[int, Dims]]) -> list[int]:
    """The sizes of loops, each with its strides, after those that follow each other in memory have become one."""
    runs: list[int] = []
    before: Dims = ()
    for size, strides in loops:
        if size == 1:
            continue
        if runs and before == tuple(size * stride for stride in strides):
            runs[-1] *= size
        else:
            runs.append(size)
        before = strides
    return runs
