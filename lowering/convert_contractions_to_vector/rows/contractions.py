"""The products of a row kernel in canonical form: those of its rows, and those that sum over its rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from xdsl.dialects.builtin import Float32Type
from xdsl.ir import SSAValue

from ....dialects.support.scalar import Scalar
from ...loop_nests.fills import is_zero
from ...loop_nests.kernel_builder import IndexValue
from ...loop_nests.loop_builder import Index, LoopBuilder, buffer_of
from ...loop_nests.nest import Access, Nest
from ..blocking import Blocking
from ..contraction import Contraction, Loop
from ..packing import Packer
from ..panel import are_normal
from .masks import RowMask
from .plan import RowProductPlan, sums_rows
from .weights import WeighedProduct, can_be_weighed

f32 = Float32Type()


@dataclass(frozen=True)
class TiledProduct:
    """A product of the kernel: its factors and loops, of which `m` is the last loop over rows."""

    nest: Nest
    product: Contraction
    blocking: Blocking
    row_packer: Packer | None
    """Packs panels of rows; None if they are read where they are."""
    packer: Packer | None
    """Packs the other factor, beforehand; None if it is read where it is."""
    mask: RowMask | None
    """Says which columns of its rows are not needed."""
    weighed: WeighedProduct | None
    """Says which of its rows are weights that a mask made zero."""

    def panel_of_columns(
        self, builder: LoopBuilder, outer: Sequence[Index], j: IndexValue, lower: Index, upper: Index
    ) -> tuple[SSAValue, Index, Index]:
        """Panel j of the other factor: its buffer, its offset there, and its first column."""
        product, width = self.product, self.blocking.nr
        column: Index = j * width
        if self.packer is not None:
            at = self.packer.panel(() if self.packer.by_tasks else outer, j, lower, upper)
            return self.packer.buffer, at, column
        if product.n.size % width:
            column = builder.min(column, product.n.size - width)
        at = product.b.offset_at(builder) + column
        for loop, index in zip(product.outer, outer, strict=True):
            at += index * loop.b
        return product.b.root, at + lower * product.k.b, column

    def are_normal(self, builder: LoopBuilder, outer: Sequence[Index], i: Index, j: Index) -> Scalar | None:
        """
        Whether pairs of bf16 of panel i of the rows, and panel j of the other factor, of the matrix at indices `outer`
        are multiplied as they are; None if there are no such pairs, or always.
        """
        if self.row_packer is None or self.packer is None or self.blocking.group == 1:
            return None
        around = () if self.packer.by_tasks else outer
        return are_normal(builder, [self.packer.least(around, j), self.row_packer.least(outer, i)])


def weighed_by(
    product: Contraction, blocking: Blocking, plan: RowProductPlan, earlier: Iterable[TiledProduct]
) -> WeighedProduct | None:
    """A product of rows that may be weights of one of the earlier products, of which a mask discards columns."""
    if product.a.root not in plan.temporaries or not can_be_weighed(product, blocking):
        return None
    masks = [each.mask for each in earlier if each.mask is not None and each.product.n.size == product.k.size]
    return WeighedProduct(product, masks[0]) if masks else None


def row_contraction(plan: RowProductPlan, nest: Nest, inits: Sequence[SSAValue | None]) -> Contraction | None:
    """The product that a nest of a plan is, in f32; None if it has further loops, or does not begin with zeros."""
    if not is_zero(inits[0]) or len(nest.inputs) != 2 or buffer_of(nest.outputs[0].root).element_type != f32:
        return None
    if not all(isinstance(x, Access) for x in nest.inputs):
        return None
    rows = len(plan.shape)
    product = _sum_over_rows(nest, rows) if sums_rows(nest, rows) else _product_of_rows(plan, nest)
    if product is None:
        return None
    loops = (*product.outer, product.m, product.n, product.k)
    return None if any(stride < 0 for loop in loops for stride in (loop.a, loop.b, loop.c)) else product


def _product_of_rows(plan: RowProductPlan, nest: Nest) -> Contraction | None:
    """The product over the last loop over rows, a loop of columns and a contracted one; None if it has others."""
    rows, m = len(plan.shape), len(plan.shape) - 1
    c = nest.outputs[0].strides
    kept = sorted((l for l in range(rows, len(nest.sizes)) if not nest.reduction[l]), key=lambda l: -c[l])
    reduced = [l for l in range(rows, len(nest.sizes)) if nest.reduction[l]]
    nest = replace(nest, bound=rows).permuted([*range(rows), *kept, *reduced]).without_unit_loops().collapsed()
    if len(nest.sizes) != rows + 2 or nest.reduction[rows] or not nest.reduction[rows + 1]:
        return None
    a, b = cast("tuple[Access, Access]", nest.inputs)
    if a.strides[m] == 0:
        a, b = b, a
    loops = _loops(nest, a, b)
    n, k = loops[rows], loops[rows + 1]
    if loops[m].b or not loops[m].c or n.a or n.c != 1 or not k.a or not k.b or b.root in plan.temporaries:
        return None
    return Contraction(a, b, nest.outputs[0], loops[m], n, k, tuple(loops[:m]), (), f32)


def _sum_over_rows(nest: Nest, rows: int) -> Contraction | None:
    """The product that contracts the last loop over rows, with loops of rows and columns; None if it has others."""
    c = nest.outputs[0].strides
    free = sorted(range(rows, len(nest.sizes)), key=lambda l: -c[l])
    nest = replace(nest, bound=rows).permuted([*range(rows), *free]).without_unit_loops().collapsed()
    if len(nest.sizes) != rows + 2 or any(nest.reduction[rows:]):
        return None
    a, b = cast("tuple[Access, Access]", nest.inputs)
    if a.strides[rows] == 0:
        a, b = b, a
    *outer, k, m, n = _loops(nest, a, b)
    if not m.a or m.b or not m.c or n.a or not n.b or n.c != 1 or not k.a or not k.b or k.c:
        return None
    return Contraction(a, b, nest.outputs[0], m, n, k, tuple(outer), (), f32)


def _loops(nest: Nest, a: Access, b: Access) -> list[Loop]:
    return [Loop(n, a.strides[l], b.strides[l], nest.outputs[0].strides[l]) for l, n in enumerate(nest.sizes)]
