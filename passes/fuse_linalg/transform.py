"""Fuse producers into the bodies of their readers, so that each kernel has as few generics as possible."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import AffineMapAttr, ModuleOp, TensorType
from xdsl.dialects.linalg.ops import FillOp, GenericOp, YieldOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from ...dialects.support.buffers import i32_array
from ...dialects.support.classes import one_of
from ...dialects.support.creation import create_op
from ...dialects.support.editing import erase_op, insert_before, replace_uses
from ...dialects.support.kernel import LOOP_SIZES, PADDING, Kernel, kernels_of
from ...hlo_dialect.attributes import int_array
from ...hlo_dialect.hlo_pass import HloPass
from ...lowering.convert_hlo_to_linalg.emission import affine_map, maps_attr
from ...lowering.loop_nests.index_maps import part_of
from .bodies import FusedBody, point
from .plan import Group, KernelPlan, is_parallel
from .products import read_and_write_in_place

_is_removable = one_of(
    GenericOp,
    FillOp,
    tensor.EmptyOp,
    tensor.ExtractOp,
    tensor.ExtractSliceOp,
    tensor.CollapseShapeOp,
    tensor.ExpandShapeOp,
)


class KernelFuser:
    """Rewrites one kernel by its plan."""

    def __init__(self, block: Block, rows: int):
        """`rows`: the loops over rows that a row kernel's operations share; 0 for other kernels."""
        self.block = block
        read_and_write_in_place(block, rows > 0)
        self.plan = KernelPlan(block, rows)

    def run(self) -> None:
        old = list(self.block.ops)
        for op in old:
            if type(op) is tensor.ExtractOp:
                self._compute_scalar(op)
        for group in self.plan.groups:
            self._build(group)
        erase_dead(old)

    def _producer(self, value: SSAValue, members: Sequence[GenericOp] = ()) -> GenericOp | None:
        owner = value.owner
        if type(owner) is GenericOp and (owner in self.plan.inlined or owner in members):
            return owner
        return None

    def _compute_scalar(self, op: tensor.ExtractOp) -> None:
        """Replace the read of one element by scalar code that computes it."""
        if self._producer(op.tensor) is None:
            return
        body = FusedBody(self._producer, loops=False)
        value = body.element(op.tensor, tuple(op.indices))
        new = list(body.block.ops)
        for one in new:
            one.detach()
        self.block.insert_ops_before(new, op)
        replace_uses(op.result, value)

    def _keep_sizes(self, body: FusedBody, group: Group, sizes: Sequence[int]) -> None:
        """
        Add an operand that nothing reads for the loops whose sizes no operand gives, as linalg demands.

        Such are those of a reduction of slices or of an iota.
        """
        read = [expr for value, access in body.operands for expr in _places(value, access, sizes)]
        written = [
            expr for g in group.outputs for attr in g.indexing_maps.data[len(g.inputs) :] for expr in attr.data.results
        ]
        lost = [loop for loop in range(len(sizes)) if loop not in _given([*read, *written])]
        if lost:
            element = cast(Any, group.outputs[0].outputs[0].type).element_type
            empty = create_op(tensor.EmptyOp, result_types=[TensorType(element, [sizes[loop] for loop in lost])])
            insert_before(empty, group.members[-1])
            body.keep(empty.results[0], tuple(AffineExpr.dimension(loop) for loop in lost))

    def _build(self, group: Group) -> None:
        """Replace the group by one generic at the position of its last member."""
        last = group.members[-1]
        rank = len(last.iterator_types)
        parallel = is_parallel(last)
        outputs = [output for generic in group.outputs for output in generic.outputs]
        # Members read each other at their own loop point, and only parallel members are read.
        members = group.members if parallel else ()
        body = FusedBody(
            lambda value: self._producer(value, members), [cast(Any, output.type).element_type for output in outputs]
        )
        yielded: list[SSAValue] = []
        for generic in group.outputs:
            if parallel:
                yielded += body.compute(generic, point(rank))
            else:
                taken = len(yielded)
                yielded += body.combine(generic, body.outputs[taken : taken + len(generic.outputs)])
        body.block.add_op(create_op(YieldOp, operands=yielded))
        if not parallel:
            for shape_only, attr in _shapes_only(last):
                body.keep(shape_only, attr.data.results)
        sizes = self.plan.extents[last]
        if not parallel:
            self._keep_sizes(body, group, sizes)
        inputs = [value for value, _ in body.operands]
        attributes = dict(last.attributes)
        if not body.is_only(last):
            attributes.pop(PADDING, None)
        if not parallel:
            attributes[LOOP_SIZES] = int_array(sizes)
        new = create_op(
            GenericOp,
            operands=[*inputs, *(_written(output) if parallel else output for output in outputs)],
            result_types=[output.type for output in outputs],
            properties={
                "indexing_maps": maps_attr(
                    (
                        *(affine_map(rank, *_places(value, access, sizes)) for value, access in body.operands),
                        *(attr for g in group.outputs for attr in g.indexing_maps.data[len(g.inputs) :]),
                    )
                ),
                "iterator_types": last.iterator_types,
                "operandSegmentSizes": i32_array((len(inputs), len(outputs))),
            },
            attributes=attributes,
            regions=[Region(body.block)],
            location=last.location,
        )
        insert_before(new, last)
        old = [result for generic in group.outputs for result in generic.results]
        for before, after in zip(old, new.results, strict=True):
            after.name_hint = before.name_hint
            replace_uses(before, after)


def _given(expressions: Iterable[AffineExpr]) -> set[int]:
    """The loops that index a whole dimension of an operand, and so have its size."""
    return {expr.position for expr in expressions if type(expr) is AffineDimExpr}


def _shapes_only(generic: GenericOp) -> list[tuple[SSAValue, AffineMapAttr]]:
    """The inputs that nothing reads but that determine loop sizes, and their maps."""
    pairs = zip(generic.inputs, generic.indexing_maps.data, strict=False)
    return [(value, attr) for value, attr in pairs if isinstance(value.owner, tensor.EmptyOp)]


def _places(value: SSAValue, access: Sequence[AffineExpr], sizes: Sequence[int]) -> list[AffineExpr]:
    """The access as an index map's results: a bare dimension only if it covers the whole operand dimension."""
    shape: tuple[int, ...] = cast(Any, value.type).get_shape()
    return [
        part_of(expr.position, size) if isinstance(expr, AffineDimExpr) and sizes[expr.position] != size else expr
        for expr, size in zip(access, shape, strict=True)
    ]


def _written(output: SSAValue) -> SSAValue:
    """The output of a parallel generic: its fill has been fused into the body."""
    return output.owner.outputs[0] if isinstance(output.owner, FillOp) else output


def erase_dead(ops: Sequence[Operation]) -> None:
    """Erase dead generics and their dead operands, starting from the end."""
    for op in reversed(ops):
        removable = _is_removable(op) or op.name.startswith("arith.")
        if removable and all(result.first_use is None for result in op.results):
            erase_op(op)


class FuseLinalgPass(HloPass):
    """
    Fuse the generics of each kernel into as few as possible.

    Before: `%1 = linalg.generic {mul} (%x, %x)`, `%2 = linalg.generic {add} (%1, %y)`
    After:  `%2 = linalg.generic {mul, add} (%x, %y)`
    Assumes: the level after convert-hlo-to-linalg; parallel generics write their results in order (identity map).
    Leaves: in a loop kernel one generic (and one per value that a reshape needs in memory); else one per reduction, per
            result, and per value that several of those need and that is expensive to recompute. Independent generics
            over one iteration space are merged.
    """

    name = "fuse-linalg"
    takes_buffers = False

    def run(self, ctx: Context, module: ModuleOp) -> None:
        for kernel in kernels_of(module):
            if not kernel.is_declaration:
                KernelFuser(kernel.body.block, Kernel(kernel).rows).run()
