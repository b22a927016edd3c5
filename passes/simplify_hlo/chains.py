"""
Slices of what elementwise operations compute from indices, broadcasts and memory: only the slices are computed.

Random numbers are such: a chain of a hundred operations on the index of each element, of which a program may take few.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from ...dialects.support.rewriting import like
from ...hlo_dialect.attributes import int_array
from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.op import HloOp, is_elementwise
from ...hlo_dialect.ops.creation import IotaOp, is_splat_constant, splat_of
from ...hlo_dialect.ops.dynamic import DynamicSliceOp
from ...hlo_dialect.ops.gather import GatherOp
from ...hlo_dialect.ops.index_dimensions import GatherDimensionNumbersAttr, IndexDimensions
from ...hlo_dialect.ops.movement import BroadcastInDimOp
from ...hlo_dialect.ops.slicing import SliceOp
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import bit_width, element_of, is_integer, is_unsigned, make_tensor, shape_of
from .rewrite import Rewrite, by, simplifications

AnySlice: TypeAlias = SliceOp | DynamicSliceOp | GatherOp

_IN_MEMORY = frozenset({"dot", "custom"})
"""Roles of operations whose results are written anyway."""

MOST_SLICES = 32
"""Slices of one chain, each of which gets operations of its own."""


@simplifications.on(SliceOp, DynamicSliceOp, GatherOp)
def slice_of_chain(op: Operation) -> Rewrite | None:
    """
    The slices alone are computed of elementwise operations that only slices use, if they are at most half of it, or all
    of it where long rows are at places that only a run of the program knows: those would be read from memory.
    """
    assert isinstance(op, AnySlice)
    whole = op.operands[0]
    shape = shape_of(whole)
    if not is_elementwise(whole.owner) or whole.owner.parent is not op.parent or not is_static(shape) or 0 in shape:
        return None
    slices = [use.operation for use in itertools.islice(whole.uses, MOST_SLICES + 1)]
    if len(slices) > MOST_SLICES:
        return None
    if not all(isinstance(each, AnySlice) and each.operands[0] is whole and _has_part(each) for each in slices):
        return None
    most = math.prod(shape) if all(_reads_long_rows(each) for each in slices) else math.prod(shape) // 2
    if sum(math.prod(shape_of(each.results[0])) for each in slices) > most:
        return None
    chain = _chain(whole.owner)
    if chain is None:
        return None
    return by(_computed(chain, _part(op), whole))


LONG_ROW = 16
"""Neighbouring elements that are read in about the time in which they are read in the order of the whole tensor."""


def _reads_long_rows(op: Operation) -> bool:
    if isinstance(op, GatherOp):
        (along,) = op.dims.index_map
        return math.prod(shape_of(op.operand)[along + 1 :]) >= LONG_ROW
    return isinstance(op, DynamicSliceOp) and shape_of(op.result)[-1:] >= (LONG_ROW,)


@simplifications.on(GatherOp)
def gather_of_rows(op: Operation) -> Rewrite | None:
    """Rows of gathered rows, no more than these are, are gathered at once: `x[i][j]` is `x[i[j]]`."""
    assert isinstance(op, GatherOp)
    inner = op.operand.owner
    if not isinstance(inner, GatherOp) or inner.parent is not op.parent or not op.operand.has_one_use():
        return None
    if not (_has_part(op) and _has_part(inner)) or math.prod(shape_of(op.result)) > math.prod(shape_of(inner.result)):
        return None
    rows, taken = _Rows(inner), _Rows(op)
    if rows.batch != (taken.along,):
        return None
    batch = [taken.sizes[dim] for dim in taken.batch]
    places = Tensor(taken.builder, inner.start_indices).reshape([rows.sizes[taken.along]])
    of_places = IndexDimensions((), (0,), (), (), (0,), op.dims.vector_dim)
    indices = gather(taken.builder, places.value, Tensor(taken.builder, op.start_indices), of_places, (1,), batch)
    along = (rows.along,)
    dims = IndexDimensions(op.dims.window, along, (), (), along, len(batch))
    return by(gather(taken.builder, inner.operand, indices, dims, inner.sizes, taken.sizes))


def _has_part(op: AnySlice) -> bool:
    shape = shape_of(op.results[0])
    return is_static(shape) and 0 not in shape and (not isinstance(op, GatherOp) or takes_rows(op))


def _part(op: AnySlice) -> Part:
    if isinstance(op, GatherOp):
        return _Rows(op)
    return _StaticPart(op) if isinstance(op, SliceOp) else _DynamicPart(op)


def _chain(last: Operation) -> list[HloOp] | None:
    """
    The elementwise operations that compute a value, users first, as far as nothing else uses them; None if the slices
    of what they take would have to be computed beside what others compute.
    """
    shape, left = shape_of(last.results[0]), {last: 0}
    found: list[HloOp] = []
    pending = [last]
    leaves: dict[SSAValue, None] = {}
    while pending:
        op = pending.pop()
        if not is_elementwise(op) or op.regions or len(op.results) != 1 or op.parent is not last.parent:
            return None
        if any(shape_of(value) not in (shape, ()) for value in (*op.operands, *op.results)):
            return None
        found.append(op)
        for value in op.operands:
            owner = value.owner
            if shape_of(value) != shape or not is_elementwise(owner) or owner.parent is not last.parent:
                leaves[value] = None
                continue
            if owner not in left:
                left[owner] = value.uses.get_length()
            left[owner] -= 1
            if left[owner] == 0:
                pending.append(owner)
    shared = any(count > 0 for count in left.values())
    return None if shared or not all(_is_at_hand(value, shape) for value in leaves) else found


def _is_at_hand(value: SSAValue, shape: tuple[int, ...]) -> bool:
    """Whether a slice of a value costs no more than reading it."""
    owner = value.owner
    if shape_of(value) != shape or not isinstance(owner, HloOp) or is_splat_constant(value):
        return True
    if isinstance(owner, IotaOp):
        element = element_of(value)
        return is_integer(element) and shape[owner.dimension] <= 1 << bit_width(element) - 1
    if isinstance(owner, GatherOp):
        return value.has_one_use() and _has_part(owner)  # see gather_of_rows
    return isinstance(owner, BroadcastInDimOp) or owner.name == "hlo.constant" or owner.ROLE in _IN_MEMORY


def _computed(chain: Sequence[HloOp], part: Part, whole: SSAValue) -> Tensor:
    """The part of a value that a chain computes, users first."""
    b, shape = part.builder, shape_of(whole)
    known: dict[SSAValue, Tensor] = {}

    def of(value: SSAValue) -> Tensor:
        if value not in known:
            known[value] = Tensor(b, value) if shape_of(value) != shape else _part_of_leaf(value, part)
        return known[value]

    for op in reversed(chain):
        operands = [of(value).value for value in op.operands]
        (result,) = op.results
        known[result] = b.add(like(op, operands, [make_tensor(part.sizes, element_of(result))]))
    return known[whole]


def _part_of_leaf(value: SSAValue, part: Part) -> Tensor:
    """The part of a value that no operation of the chain computes."""
    owner = value.owner
    if is_splat_constant(value):
        return part.builder.splat(splat_of(value).item(), make_tensor(part.sizes, element_of(value)))
    if isinstance(owner, IotaOp):
        return part.of_indices(owner)
    return part.of_broadcast(owner) if isinstance(owner, BroadcastInDimOp) else part.of(value)


class Part(ABC):
    """The part that a slice takes of tensors of its operand's shape."""

    def __init__(self, op: AnySlice):
        self.builder = Builder()
        self.sizes = shape_of(op.results[0])

    @abstractmethod
    def of(self, value: SSAValue) -> Tensor:
        """The part of a tensor in memory."""

    @abstractmethod
    def of_broadcast(self, op: BroadcastInDimOp) -> Tensor:
        """The part of a broadcast."""

    @abstractmethod
    def of_indices(self, iota: IotaOp) -> Tensor:
        """The part of an iota of integers."""

    def clamped(self, start: Tensor, most: int) -> Tensor:
        """An index as slices and gathers take it, up to the last place."""
        unsigned = is_unsigned(start.element)
        largest = (1 << bit_width(start.element) - (not unsigned)) - 1
        return (start if unsigned else start.maximum(0)).minimum(min(most, largest))


class _Box(Part):
    """As many dimensions, each cut by itself."""

    def of(self, value: SSAValue) -> Tensor:
        return self.cut(Tensor(self.builder, value), {dim: dim for dim in range(len(self.sizes))})

    def of_broadcast(self, op: BroadcastInDimOp) -> Tensor:
        places = {dim: at for at, dim in enumerate(op.dims) if shape_of(op.operand)[at] != 1}
        return self.cut(Tensor(self.builder, op.operand), places).broadcast(self.sizes, op.dims)

    @abstractmethod
    def cut(self, x: Tensor, places: Mapping[int, int]) -> Tensor:
        """The part of a tensor that has the dimensions `places`, under other numbers, and others of one element."""


class _StaticPart(_Box):
    def __init__(self, op: SliceOp):
        super().__init__(op)
        self.op = op

    def cut(self, x: Tensor, places: Mapping[int, int]) -> Tensor:
        starts, limits, strides = [0] * len(x.shape), list(x.shape), [1] * len(x.shape)
        for dim, at in places.items():
            starts[at], limits[at], strides[at] = self.op.starts[dim], self.op.limits[dim], self.op.steps[dim]
        whole = not any(starts) and limits == list(x.shape) and all(step == 1 for step in strides)
        return x if whole else x.slice(starts, limits, strides)

    def of_indices(self, iota: IotaOp) -> Tensor:
        dim = iota.dimension
        indices = self.builder.iota(make_tensor(self.sizes, element_of(iota.result)), dim)
        step, start = self.op.steps[dim], self.op.starts[dim]
        # A stride beyond the tensor may be no number of the type.
        indices = indices if step == 1 or self.sizes[dim] == 1 else indices * step
        return indices if start == 0 else indices + start


class _DynamicPart(_Box):
    def __init__(self, op: DynamicSliceOp):
        super().__init__(op)
        self.op = op

    def cut(self, x: Tensor, places: Mapping[int, int]) -> Tensor:
        if all(x.shape[at] == self.sizes[dim] for dim, at in places.items()):
            return x
        zero = self.builder.splat(0, make_tensor((), element_of(self.op.start_indices[0])))
        starts, sizes = [zero] * len(x.shape), list(x.shape)
        for dim, at in places.items():
            starts[at], sizes[at] = Tensor(self.builder, self.op.start_indices[dim]), self.sizes[dim]
        return x.dynamic_slice(starts, sizes)

    def of_indices(self, iota: IotaOp) -> Tensor:
        dim = iota.dimension
        type_ = make_tensor(self.sizes, element_of(iota.result))
        indices = self.builder.iota(type_, dim)
        most = shape_of(iota.result)[dim] - self.sizes[dim]
        if most == 0:
            return indices
        start = self.clamped(Tensor(self.builder, self.op.start_indices[dim]), most)
        return indices + start.convert(type_.element_type).broadcast(type_)


class _Rows(Part):
    """Whole rows along one dimension, at places that a tensor states."""

    def __init__(self, op: GatherOp):
        super().__init__(op)
        self.op = op
        dims = op.dims
        (self.along,) = dims.index_map
        self.batch = dims.batch_dims(len(self.sizes))
        kept = dims.offset_dims(len(shape_of(op.operand)))
        self.place = dict(zip(kept, dims.window, strict=True))
        """The dimensions of the result, by those of the operand."""

    def of(self, value: SSAValue) -> Tensor:
        type_ = make_tensor(self.sizes, element_of(value))
        return self.builder.op(GatherOp, [value, self.op.start_indices], type_, **self.op.properties)

    def of_broadcast(self, op: BroadcastInDimOp) -> Tensor:
        x = Tensor(self.builder, op.operand)
        if self.along not in op.dims:
            return x.broadcast(self.sizes, [self.place[dim] for dim in op.dims])
        at = op.dims.index(self.along)
        kept = [dim for dim in range(len(x.shape)) if dim != at]
        rest = [self.place[op.dims[dim]] for dim in kept]
        if x.shape[at] == 1:
            return x.reshape([x.shape[dim] for dim in kept]).broadcast(self.sizes, rest)
        window = tuple(range(len(self.batch), len(self.batch) + len(kept)))
        dims = IndexDimensions(window, (at,), (), (), (at,), self.op.dims.vector_dim)
        shape = [*(self.sizes[dim] for dim in self.batch), *(x.shape[dim] for dim in kept)]
        sizes = tuple(1 if dim == at else size for dim, size in enumerate(x.shape))
        rows = gather(self.builder, x.value, Tensor(self.builder, self.op.start_indices), dims, sizes, shape)
        return rows.broadcast(self.sizes, [*self.batch, *rest])

    def of_indices(self, iota: IotaOp) -> Tensor:
        type_ = make_tensor(self.sizes, element_of(iota.result))
        if iota.dimension != self.along:
            return self.builder.iota(type_, self.place[iota.dimension])
        places = Tensor(self.builder, self.op.start_indices).reshape([self.sizes[dim] for dim in self.batch])
        places = self.clamped(places, shape_of(iota.result)[self.along] - 1)
        return places.convert(type_.element_type).broadcast(type_, self.batch)


def takes_rows(op: GatherOp) -> bool:
    """Whether a gather takes whole rows along one dimension."""
    dims, shape = op.dims, shape_of(op.operand)
    return (
        len(dims.index_map) == 1
        and dims.collapsed == dims.index_map
        and not dims.batching
        and all(size == (1 if dim in dims.collapsed else shape[dim]) for dim, size in enumerate(op.sizes))
    )


def gather(
    builder: Builder,
    value: SSAValue,
    indices: Tensor,
    dims: IndexDimensions,
    sizes: tuple[int, ...],
    shape: list[int] | tuple[int, ...],
) -> Tensor:
    """A gather with a result of `shape`."""
    type_ = make_tensor(tuple(shape), element_of(value))
    numbers = GatherDimensionNumbersAttr.of(dims)
    stated = {"dimension_numbers": numbers, "slice_sizes": int_array(sizes)}
    return builder.op(GatherOp, [value, indices], type_, **stated)
