"""
Columns of a row kernel's product that a mask discards: those above the diagonal of causal attention are not computed.

All that reads the product selects something else where a comparison of indices fails, whatever the product is there.
Blocks in which it fails for all rows are left out; zeros stand for their products, which no result depends on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.ir import SSAValue

from ...loop_nests.kernel_builder import Index
from ...loop_nests.loop_builder import LoopBuilder
from ...loop_nests.masks import Condition, State, conditions_of, states_of
from ...loop_nests.nest import Access, Nest
from ..clearing import clear_block
from ..contraction import Contraction
from .plan import RowProductPlan, is_product


@dataclass(frozen=True)
class RowMask:
    """Conditions on rows and columns of a product: where one of them fails, its element does not matter."""

    product: Contraction
    conditions: tuple[Condition, ...]
    """The last loop of each is that over columns, with a factor of 1 or -1."""

    def panels(
        self, builder: LoopBuilder, outer: Sequence[Index], first: Index, rows: Index, width: int
    ) -> tuple[Index, Index]:
        """The panels of `width` columns that matter to some of the `rows` rows from `first`: a range, maybe empty."""
        n = self.product.n.size
        lower, upper = builder.index(0), builder.index(n)
        for condition in self.conditions:
            *others, (_, sign) = condition.factors
            # The condition is `sign * column + most >= 0` for the row where it holds for most columns.
            most: Index = condition.constant
            for loop, factor in others:
                row = outer[loop] if loop < len(outer) else first + (rows - 1) if factor > 0 else first
                most += row * factor
            if sign < 0:
                upper = builder.index(builder.min(upper, most + 1))
            else:
                lower = lower.max(0 - most)
        lower, upper = builder.index(builder.min(lower, n)), upper.max(0)
        return lower // width, (upper + (width - 1)) // width

    def clear(
        self,
        builder: LoopBuilder,
        kernel: func.FuncOp,
        rows_of_c: tuple[SSAValue, Index, int],
        rows: Index,
        panels: tuple[Index, Index],
        width: int,
    ) -> None:
        """Set `rows` rows of C, of which the buffer, offset and stride are given, to zero outside these panels."""
        buffer, at, stride = rows_of_c
        n = self.product.n.size
        right = builder.min(panels[1] * width, n)
        for start, size in ((0, panels[0] * width), (right, n - right)):
            if size != 0:
                clear_block(builder, kernel, buffer, at + start, (rows, size), (stride, 1))


def mask_of(plan: RowProductPlan, number: int, product: Contraction) -> RowMask | None:
    """The mask of a product of the plan, the nest with that number; None if there is none."""
    if product.c.root not in plan.temporaries or product.c.dynamic:
        return None
    rows = len(plan.shape)
    later = [nest for nest in plan.nests[number + 1 :] if not is_product(nest)]
    candidates = dict.fromkeys(condition for nest in later for condition in _conditions(nest, product, rows))
    found = tuple(condition for condition in candidates if _decides(plan, number, product, condition))
    return RowMask(product, found) if found else None


def _conditions(nest: Nest, product: Contraction, rows: int) -> Iterator[Condition]:
    """The conditions of a nest on rows and on columns of the product."""
    along = [access for access in nest.accesses if _column_loop(nest, access, product, rows) is not None]
    by_columns = _columns_first(nest, along, product, rows)
    for condition in conditions_of(by_columns) if by_columns is not None else ():
        factors = dict(condition.factors)
        if max(factors, default=-1) == rows and abs(factors[rows]) == 1:
            yield condition


def _decides(plan: RowProductPlan, number: int, product: Contraction, condition: Condition) -> bool:
    """Whether no result depends on the product where the condition fails."""
    rows = len(plan.shape)
    scores = {product.c.root}
    """The buffers whose elements depend on the product's at the same place."""
    for nest in plan.nests[number + 1 :]:
        read = [access for access in nest.accesses if access.root in scores]
        if not read:
            continue
        by_columns = None if is_product(nest) else _columns_first(nest, read, product, rows)
        if by_columns is None:
            return False
        operands = by_columns.inputs if nest.body is None else (*by_columns.inputs, *by_columns.outputs)
        states = [State(isinstance(x, Access) and x.root in scores) for x in operands]
        results = states_of(by_columns, states, condition, ())
        for access, state in zip(by_columns.outputs, results, strict=True):
            if state.scores:
                if access.root not in plan.temporaries or _column_loop(by_columns, access, product, rows) != rows:
                    return False
                scores.add(access.root)
    return True


def _columns_first(nest: Nest, accesses: Sequence[Access], product: Contraction, rows: int) -> Nest | None:
    """The nest with the loop over columns, by these accesses, after those over rows; None if they have no such loop."""
    loops = {_column_loop(nest, access, product, rows) for access in accesses}
    column = loops.pop() if len(loops) == 1 else None
    if column is None:
        return None
    rest = [loop for loop in range(rows, len(nest.sizes)) if loop != column]
    return nest.permuted([*range(rows), column, *rest])


def _column_loop(nest: Nest, access: Access, product: Contraction, rows: int) -> int | None:
    """The loop that moves an access through a row as the product's columns; None if it goes there otherwise."""
    moving = [loop for loop in range(rows, len(nest.sizes)) if access.strides[loop] and nest.sizes[loop] > 1]
    if len(moving) != 1 or access.dynamic or access.offset != product.c.offset:
        return None
    (loop,) = moving
    return loop if access.strides[loop] == 1 and nest.sizes[loop] == product.n.size else None
