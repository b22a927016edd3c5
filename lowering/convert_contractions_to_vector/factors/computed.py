"""
Factors of a product that an elementwise generic computes, such as normalized rows or an activation: they are computed
piece by piece, each just before it is packed, and never go to memory as a whole.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import memref
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from ....dialects.support.buffers import memref_type
from ....dialects.support.views import root_buffer
from ...loop_nests.emission import NestEmitter
from ...loop_nests.kernel_builder import Index
from ...loop_nests.loop_builder import LoopBuilder, buffer_of
from ...loop_nests.makers import makes_elements, stays_computable
from ...loop_nests.nest import Access, Nest

STEPS = 256
"""Elements along k of a panel that are computed together, into the L1 cache: a multiple of all groups."""

Computed = tuple["GenericOp | None", "GenericOp | None"]
"""The generics that compute the two factors."""

NONE: Computed = (None, None)


def computed_factors(op: GenericOp, shared: Collection[SSAValue]) -> Computed:
    """
    The generics that compute the factors of a product for it alone. `shared`: buffers that may be those of results.
    """
    first, second = (_maker_of(op, number, shared) for number in range(2))
    return first, second


def _maker_of(op: GenericOp, number: int, shared: Collection[SSAValue]) -> GenericOp | None:
    factor, places = op.inputs[number], op.indexing_maps.data[number].data.results
    loops = [expr.position for expr in places if isinstance(expr, AffineDimExpr)]
    if list(op.inputs).count(factor) != 1 or len(set(loops)) != len(places):
        return None
    return maker_of(factor, op, op, shared)


def maker_of(factor: SSAValue, reader: Operation, op: GenericOp, shared: Collection[SSAValue]) -> GenericOp | None:
    """
    The elementwise generic that makes a buffer that only one operation reads, of which `op` is a product; None if its
    elements cannot be computed where the product is.
    """
    if not isinstance(factor.owner, memref.AllocOp):
        return None
    users = {use.operation for use in factor.uses} - {reader}
    (maker,) = users if len(users) == 1 else (None,)
    if not isinstance(maker, GenericOp) or list(maker.outputs) != [factor] or factor in maker.inputs:
        return None
    if not makes_elements(maker):
        return None
    if any(root_buffer(value) in shared for value in maker.inputs):
        return None
    return maker if stays_computable(maker, op) else None


@dataclass(frozen=True)
class ComputedFactor:
    """A factor, by the nest that computes it: over the loops around the product, rows of A or columns of B, and k."""

    nest: Nest

    def asks(self, loop: int) -> bool:
        """Whether the factor follows from the index of a loop."""
        return loop in self.nest.dims.values()

    def in_chunks(self, loop: int, count: int, order: Sequence[int]) -> ComputedFactor:
        """
        The factor with a loop over this many chunks of one of its loops before all others, which are those that
        `order` names.
        """
        nest, size = self.nest, self.nest.sizes[loop] // count

        def cut(access: Access) -> Access:
            return replace(access, strides=(access.strides[loop] * size, *access.strides))

        sizes = [count, *nest.sizes]
        sizes[loop + 1] = size
        parts = replace(
            nest,
            sizes=tuple(sizes),
            reduction=(False, *nest.reduction),
            inputs=tuple(cut(x) if isinstance(x, Access) else x for x in nest.inputs),
            outputs=tuple(map(cut, nest.outputs)),
            dims={dim: None if place is None else place + 1 for dim, place in nest.dims.items()},
        )
        parts = parts.permuted([0, *(place + 1 for place in order)])
        return ComputedFactor(replace(parts, bound=len(order) - 1))

    def scratch(self, rows: int, columns: int, builder: LoopBuilder) -> SSAValue:
        """A buffer of the present task for a piece of the factor."""
        (output,) = self.nest.outputs
        return builder.alloca(memref_type((rows, columns), buffer_of(output.root).element_type))

    def compute(
        self,
        builder: LoopBuilder,
        position: Sequence[Index],
        across: tuple[Index, Index],
        along: tuple[Index, Index],
        scratch: SSAValue,
        by_steps: bool,
    ) -> None:
        """
        Compute a piece: `across`, the first of some rows or columns and their number, and `along` the same along k,
        into `scratch[k, row]` if `by_steps`, else `scratch[row, k]`. `position`: the indices of the loops around.
        """
        emitter = NestEmitter(builder, self.nest)
        row, step = self.nest.bound, self.nest.bound + 1
        bounds = {row: (across[0], across[0] + across[1]), step: (along[0], along[0] + along[1])}
        with emitter.element(position, [step, row] if by_steps else [row, step], bounds) as value:
            at = [emitter.indices[row], emitter.indices[step]]
            begin = [across[0], along[0]]
            places = [index - first for index, first in zip(at, begin, strict=True) if index is not None]
            builder.store(value, scratch, places[::-1] if by_steps else places)
