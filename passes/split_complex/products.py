"""
Products of complex matrices, of which one is in memory as pairs and the other has few rows or columns.

Four products of the parts would read the large matrix twice, after copies of its parts. As real numbers it has twice as
many columns, or rows of twice the length, and one product reads it where it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.ir import Operation

from ...hlo_dialect.attributes import DotDimensionNumbersAttr
from ...hlo_dialect.expressions.complex import Complex
from ...hlo_dialect.expressions.tensor import Tensor, concatenate
from ...hlo_dialect.ops.contraction import DotGeneralOp
from ...hlo_dialect.ops.movement import untransposed
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import shape_of
from .arithmetic import PartsBuilder, bilinear, split_rules
from .layout import interleave, part_type, whole_of

FEW, MANY = 4, 16
"""Most rows of the one factor, and how many times as many the other one has; its sums are of as many numbers, too."""


@split_rules.on(DotGeneralOp)
def _dot(op: Operation, b: PartsBuilder) -> Complex | Tensor | None:
    assert isinstance(op, DotGeneralOp)
    product = _product_of(op, b)
    if product is None:
        return bilinear(op, b)
    return product.along() if len(product.pairs.shape) - 2 in product.dims else product.across()


@dataclass(frozen=True)
class _Product:
    """A product of few rows with a matrix of pairs, whose dimensions are contracted with those of the rows in order."""

    op: DotGeneralOp
    number: int
    """Which factor the few rows are."""
    rows: Complex
    row_dims: tuple[int, ...]
    pairs: Tensor
    dims: tuple[int, ...]

    def across(self) -> Complex:
        """Both parts of the rows by all numbers of the matrix's rows, which are twice as long."""
        made = self._dot(_stacked(self.rows), tuple(dim + 1 for dim in self.row_dims), self.dims)
        # The parts of the matrix are the last of its free dimensions, those of the rows the first of theirs.
        left = len(self.op.lhs_free)
        own, other = (0, len(made.shape) - 1) if self.number == 0 else (left + 1, left)

        def part(of_rows: int, of_pairs: int) -> Tensor:
            if own < other:
                return made.take(other, of_pairs).take(own, of_rows)
            return made.take(own, of_rows).take(other, of_pairs)

        return Complex(part(0, 0) - part(1, 1), part(0, 1) + part(1, 0))

    def along(self) -> Complex:
        """Sums along the matrix's rows, whose numbers meet (re, -im) for the real part, (im, re) for the other one."""
        free = self.op.lhs_free if self.number == 0 else self.op.rhs_free
        # Both factors are contiguous along the sums.
        z = self.rows.each(lambda part: part.transpose((*free, *self.row_dims)))
        signed = Complex(interleave(Complex(z.re, -z.im)), interleave(Complex(z.im, z.re)))
        dims = tuple(range(1 + len(free), len(z.re.shape) + 2))
        made = self._dot(_stacked(signed), dims, (*self.dims, len(self.pairs.shape) - 1))
        dim = 0 if self.number == 0 else len(self.op.lhs_free)
        return Complex(made.take(dim, 0), made.take(dim, 1))

    def _dot(self, rows: Tensor, row_dims: tuple[int, ...], dims: tuple[int, ...]) -> Tensor:
        """The product of real factors in the order of the operands."""
        op, factors = self.op, [(rows, row_dims), (self.pairs, dims)]
        (lhs, left), (rhs, right) = factors if self.number == 0 else factors[::-1]
        numbers = DotDimensionNumbersAttr.of((), (), left, right)
        stated = {name: value for name, value in op.properties.items() if name != "dot_dimension_numbers"}
        return lhs.dot(rhs, numbers, part_type(op.results[0].type).element_type, **stated)


def _product_of(op: DotGeneralOp, b: PartsBuilder) -> _Product | None:
    """The product, if one factor has few rows and the other one is in memory."""
    numbers = op.dot_dimension_numbers
    contracting, free = (numbers.lhs_contracting, numbers.rhs_contracting), (op.lhs_free, op.rhs_free)
    shapes = [shape_of(value) for value in op.operands]
    if numbers.lhs_batching or not all(map(is_static, shapes)):
        return None
    if math.prod(shapes[0][dim] for dim in numbers.lhs_contracting) < MANY:
        return None
    counts = [math.prod(shape[dim] for dim in dims) for shape, dims in zip(shapes, free, strict=True)]
    few = counts.index(min(counts))
    many = 1 - few
    pairs = whole_of(b.operand(many)) if counts[few] <= FEW and counts[many] >= MANY * counts[few] else None
    if pairs is None:
        return None
    value, dims = untransposed(pairs.value, (*free[many], len(pairs.shape) - 1))
    places = tuple(dims[dim] for dim in contracting[many])
    return _Product(op, few, b.operand(few), contracting[few], Tensor(b, value), places)


def _stacked(z: Complex) -> Tensor:
    """Both parts in a new first dimension."""
    return concatenate([part.reshape((1, *part.shape)) for part in z], 0)
