"""
The analysed form of a linalg operation on memrefs: a loop nest and, for each operand, one stride per loop.

Indexing maps and layouts together make every operand's element address linear in the loop indices:
`root[offset + sum(stride_l * i_l)]`. In that form dropping unit loops, reordering and collapsing loops are tuple
operations, and an operand becomes a strided view with one dimension per loop that moves it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any, cast

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, StridedLayoutAttr
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import FillOp, GenericOp, IndexOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)

from ...dialects.support.buffers import row_major
from ...dialects.support.classes import one_of, record
from ...dialects.support.editing import operands_of
from ...dialects.support.kernel import loop_sizes
from ...dialects.support.views import is_view
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.walking import operand_groups, operations_inside
from .index_maps import check_index_map, without_part
from .loop_builder import Index, LoopBuilder, buffer_of

Structured = FillOp | GenericOp | memref.CopyOp
"""Operations that have such a form."""


@record
class ElementAddress:
    """The offset of a memref's element 0 in a buffer of identity layout, and the strides of its dimensions."""

    root: SSAValue
    offset: int
    dynamic: tuple[tuple[SSAValue, int], ...]
    """Terms `value * factor` of the offset."""
    strides: tuple[int, ...]

    def offset_at(self, builder: LoopBuilder) -> Index:
        """The offset in the root buffer, computed at the builder's insertion point."""
        offset: Index = self.offset
        for value, factor in self.dynamic:
            offset += builder.index(value) * factor
        return offset


@record
class Access(ElementAddress):
    """
    The elements of one operand: `root[offset + dynamic + sum(strides[l] * i_l)]`.

    The strides, in elements, are one per loop of the nest; 0 if the loop does not move the operand.
    """


@record
class Nest:
    """A linalg operation as loops. The first `bound` loops are bound from outside (rows of a row kernel)."""

    op: Operation
    sizes: tuple[int, ...]
    reduction: tuple[bool, ...]
    inputs: tuple[Access | SSAValue, ...]
    """A plain value is a scalar operand."""
    outputs: tuple[Access, ...]
    body: Block | None
    """The generic's body; None: input i is copied to output i."""
    dims: dict[int, int | None] = field(default_factory=dict[int, "int | None"])
    """For each dimension used by linalg.index, its loop; None for a dimension of size 1."""
    bound: int = 0

    @property
    def accesses(self) -> tuple[Access, ...]:
        return (*(x for x in self.inputs if isinstance(x, Access)), *self.outputs)

    @property
    def free(self) -> range:
        """The loops that are not bound."""
        return range(self.bound, len(self.sizes))

    @property
    def parallel_loops(self) -> list[int]:
        return [l for l in self.free if not self.reduction[l]]

    @property
    def reduction_loops(self) -> list[int]:
        return [l for l in self.free if self.reduction[l]]

    def size_of(self, loops: Sequence[int]) -> int:
        return math.prod(self.sizes[l] for l in loops)

    def permuted(self, order: Sequence[int]) -> Nest:
        """The nest with loop `order[k]` at position k; loops that are left out must have size 1."""

        def pick(access: Access) -> Access:
            strides = access.strides
            return Access(access.root, access.offset, access.dynamic, tuple([strides[l] for l in order]))

        where = {old: new for new, old in enumerate(order)}
        return Nest(
            self.op,
            tuple([self.sizes[l] for l in order]),
            tuple([self.reduction[l] for l in order]),
            tuple([pick(x) if type(x) is Access else x for x in self.inputs]),
            tuple(map(pick, self.outputs)),
            self.body,
            {dim: None if l is None else where.get(l) for dim, l in self.dims.items()},
            self.bound,
        )

    def without_unit_loops(self) -> Nest:
        """Bound loops stay."""
        return self.permuted([l for l, size in enumerate(self.sizes) if size != 1 or l < self.bound])

    def collapsed(self) -> Nest:
        """Collapse neighbouring free loops of one kind if every operand moves through both with matching strides."""
        asked = {l for l in self.dims.values() if l is not None}
        sizes = list(self.sizes)
        keep: list[int] = []
        for l in range(len(sizes)):
            if keep and self._can_collapse(keep[-1], l, asked):
                sizes[l] *= sizes[keep[-1]]
                keep[-1] = l
            else:
                keep.append(l)
        if len(keep) == len(sizes):
            return self
        # The inner one of two collapsed loops remains, with its strides and the size of both.
        return replace(self, sizes=tuple(sizes)).permuted(keep)

    def _can_collapse(self, outer: int, inner: int, asked: set[int]) -> bool:
        if outer < self.bound or outer in asked or inner in asked:
            return False
        if self.reduction[outer] != self.reduction[inner]:
            return False
        return all(x.strides[outer] == x.strides[inner] * self.sizes[inner] for x in self.accesses)


def address_of(value: SSAValue) -> ElementAddress:
    """
    Follow views to the buffer of identity layout that contains `value`.

    A memref.view starts such a buffer: different ones are assumed to be disjoint, as plan-buffers makes them.
    """
    views: list[Operation] = []
    # Parts of parts of a concatenation are views of views, as deep as the program is long.
    while _is_followed(owner := value.owner):
        assert isinstance(owner, Operation)
        views.append(owner)
        value = owner.operands[0]
    address = _root_address(value)
    for op in reversed(views):
        address = _address_in(op, address)
    return address


_is_followed = one_of(
    memref.ReinterpretCastOp,
    memref.SubviewOp,
    memref.CollapseShapeOp,
    memref.ExpandShapeOp,
    memref.AssumeAlignmentOp,
    memref.CastOp,
    memref.MemorySpaceCastOp,
)
"""The views whose elements are those of their first operand, at addresses known from the operation."""


def _root_address(value: SSAValue) -> ElementAddress:
    """The elements of a buffer that is none of these views."""
    type_, owner = buffer_of(value), value.owner
    if is_view(owner) and not isinstance(owner, memref.ViewOp):
        fail(owner, "is a view that convert-linalg-to-scf cannot follow")
    if type(type_.layout) is StridedLayoutAttr:
        strides = type_.layout.get_strides()
        if type_.layout.get_offset() != 0 or any(s is None for s in strides):
            fail(cast(Operation, owner), "has a layout that convert-linalg-to-scf cannot follow")
        return ElementAddress(value, 0, (), tuple(cast(int, s) for s in strides))
    return ElementAddress(value, 0, (), row_major(type_.get_shape()))


def _address_in(op: Operation, source: ElementAddress) -> ElementAddress:
    """The elements of a view of `source`."""
    if isinstance(op, memref.ReinterpretCastOp):
        offset = op.static_offsets.get_values()[0]
        dynamic = ((op.offsets[0], 1),) if offset == DYNAMIC_INDEX else ()
        strides = tuple(int(s) for s in op.static_strides.get_values())
        return ElementAddress(source.root, 0 if dynamic else int(offset), dynamic, strides)
    if isinstance(op, memref.SubviewOp):
        return _subview_address(op, source)
    if isinstance(op, (memref.CollapseShapeOp, memref.ExpandShapeOp)):
        if source.strides != row_major(cast("MemRefType[Any]", op.src.type).get_shape()):
            fail(op, "reshapes a view that is not contiguous: convert-linalg-to-scf cannot follow it")
        return replace(source, strides=row_major(buffer_of(op.results[0]).get_shape()))
    return source


def _subview_address(op: memref.SubviewOp, source: ElementAddress) -> ElementAddress:
    offset, dynamic, values = source.offset, list(source.dynamic), iter(op.offsets)
    for start, stride in zip(op.static_offsets.get_values(), source.strides, strict=True):
        if start == DYNAMIC_INDEX:
            dynamic.append((next(values), stride))
        else:
            offset += int(start) * stride
    steps = [int(s) * t for s, t in zip(op.static_strides.get_values(), source.strides, strict=True)]
    sizes = [int(s) for s in op.static_sizes.get_values()]
    kept = _kept_dims(op, sizes)
    return ElementAddress(source.root, offset, tuple(dynamic), tuple(steps[d] for d in kept))


def _kept_dims(op: memref.SubviewOp, sizes: list[int]) -> list[int]:
    """The dimensions of the source that a rank-reducing subview keeps: all but the dropped unit dimensions."""
    shape = list(buffer_of(op.result).get_shape())
    kept: list[int] = []
    for dim, size in enumerate(sizes):
        if (
            len(kept) < len(shape)
            and shape[len(kept)] == size
            and (size != 1 or len(sizes) - dim >= len(shape) - len(kept))
        ):
            kept.append(dim)
    return kept


def linear_form(expr: AffineExpr, dims: int, op: Operation) -> tuple[list[int], int]:
    """The coefficients and the constant of a linear expression, or of `d mod size`, a part of an operand."""
    expr = without_part(expr)
    match expr:
        case AffineDimExpr():  # as most are
            coefficients = [0] * dims
            coefficients[expr.position] = 1
            return coefficients, 0
        case AffineConstantExpr():
            return [0] * dims, expr.value
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Add):
            (a, x), (b, y) = linear_form(expr.lhs, dims, op), linear_form(expr.rhs, dims, op)
            return [p + q for p, q in zip(a, b, strict=True)], x + y
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Mul):
            (a, x), (b, y) = linear_form(expr.lhs, dims, op), linear_form(expr.rhs, dims, op)
            if any(a) and any(b):
                fail(op, f"has the indexing expression {expr}, which is not linear")
            if any(b):
                (a, x), (b, y) = (b, y), (a, x)
            return [p * y for p in a], x * y
        case _:
            fail(op, f"has the indexing expression {expr}, which is not linear")


def access_of(value: SSAValue, map_: AffineMap, op: Operation) -> Access:
    address = address_of(value)
    strides = [0] * map_.num_dims
    offset = address.offset
    for expr, stride in zip(map_.results, address.strides, strict=True):
        coefficients, constant = linear_form(expr, map_.num_dims, op)
        offset += stride * constant
        for dim, factor in enumerate(coefficients):
            strides[dim] += stride * factor
    return Access(address.root, offset, address.dynamic, tuple(strides))


def sizes_of_loops(op: GenericOp) -> tuple[int, ...]:
    """
    The size of each dimension: from xhlo.loop_sizes, else from an operand that a plain dimension indexes.

    Fused reductions carry the attribute: a slice that is read from its start looks like the whole of its operand.
    """
    stated = loop_sizes(op)
    if stated is not None:
        return stated
    maps = [attr.data for attr in op.indexing_maps.data]
    sizes: list[int | None] = [None] * len(op.iterator_types.data)
    ins, outs = operand_groups(op)
    for operand, map_ in zip((*outs, *ins), (*maps[len(ins) :], *maps), strict=False):
        if isinstance(operand.type, MemRefType):
            for expr, size in zip(map_.results, buffer_of(operand).get_shape(), strict=True):
                if isinstance(expr, AffineDimExpr) and sizes[expr.position] is None:
                    sizes[expr.position] = size
    if any(size is None for size in sizes):
        fail(op, f"has no operand that gives the size of dimension {sizes.index(None)}")
    return tuple(cast(int, size) for size in sizes)


def nest_of_generic(op: GenericOp) -> Nest:
    maps = [attr.data for attr in op.indexing_maps.data]
    ins, outs = operand_groups(op)
    count = len(ins)
    read = [argument.first_use is not None for argument in op.body.block.args[:count]]
    inputs = [
        access_of(x, m, op) if type(x.type) is MemRefType and used else x
        for x, m, used in zip(ins, maps[:count], read, strict=True)
    ]
    outputs = [access_of(x, m, op) for x, m in zip(outs, maps[count:], strict=True)]
    sizes = sizes_of_loops(op)
    for value, map_ in zip(operands_of(op), maps, strict=True):
        if type(value.type) is MemRefType:
            check_index_map(op, map_.results, buffer_of(value).get_shape(), sizes)
    block = op.body.block
    asked = sorted({int(x.dim.value.data) for x in operations_inside(op.body) if type(x) is IndexOp})
    return _inside(
        op,
        sizes,
        tuple(attr.data is IteratorType.REDUCTION for attr in op.iterator_types.data),
        tuple(inputs),
        tuple(outputs),
        block,
        {dim: dim for dim in asked},
    )


def _inside(
    op: Operation,
    sizes: tuple[int, ...],
    reduction: tuple[bool, ...],
    inputs: tuple[Access | SSAValue, ...],
    outputs: tuple[Access, ...],
    body: Block | None,
    dims: dict[int, int | None] | None = None,
) -> Nest:
    """
    The nest of an operation. Raises DiagnosticError if its loops leave a buffer.

    Types that agree rule that out. This does not trust them: it is the last place where extents are known.
    """
    nest = Nest(op, sizes, reduction, inputs, outputs, body, dims or {})
    for access in nest.accesses if 0 not in sizes else ():
        steps = [stride * (size - 1) for stride, size in zip(access.strides, sizes, strict=True)]
        first = access.offset + sum([step for step in steps if step < 0])
        last = access.offset + sum([step for step in steps if step > 0])
        count = math.prod(buffer_of(access.root).get_shape())
        if last - first >= count if access.dynamic else first < 0 or last >= count:
            fail(op, f"accesses elements {first} to {last} of a buffer of {count}")
    return nest


def nest_of_fill(op: FillOp) -> Nest:
    target = op.outputs[0]
    shape = buffer_of(target).get_shape()
    access = access_of(target, AffineMap.identity(len(shape)), op)
    return _inside(op, shape, (False,) * len(shape), (op.inputs[0],), (access,), None)


def nest_of_copy(op: memref.CopyOp) -> Nest:
    shape = buffer_of(op.destination).get_shape()
    identity = AffineMap.identity(len(shape))
    source, target = access_of(op.source, identity, op), access_of(op.destination, identity, op)
    return _inside(op, shape, (False,) * len(shape), (source,), (target,), None)
