"""
The values of a program during partitioning: whole arrays, parts on each device, and the conversions between them.

A value that is `split` exists as parts only, until something needs all of it: then its parts are gathered, after their
definition. A part of a whole value is sliced out after that value's definition, at an offset that depends on the
partition number.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager

import numpy as np
from xdsl.dialects.builtin import TensorType, UnitAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ...dialects.support.editing import erase_op, replace_uses
from ...hlo_dialect.attributes import int_attr
from ...hlo_dialect.collectives.exchanges import AllGatherOp, CollectiveBroadcastOp, PartitionIdOp, ui32
from ...hlo_dialect.collectives.process_groups import ChannelHandleAttr, Groups
from ...hlo_dialect.collectives.reductions import AllReduceOp
from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.ops.creation import ConstantOp, is_splat_of
from ...hlo_dialect.ops.elementwise_binary import AddOp
from ...hlo_dialect.ops.movement import BroadcastInDimOp
from ...hlo_dialect.ops.reduction import combiner_region
from ...hlo_dialect.sharding.tilings import Tiling
from ...hlo_dialect.types import (
    constant_array,
    dense_constant,
    i32,
    is_splat,
    make_tensor,
    numpy_dtype,
    shape_of,
)

_DEVICE_TO_DEVICE = 1
_SCALAR = make_tensor((), i32)


class Layouts:
    """The values of one function."""

    def __init__(self, entry: Block, replicas: int, partitions: int, first_channel: int):
        self.replicas = replicas
        self.partitions = partitions
        self._channel = first_channel
        self._forms: dict[SSAValue, dict[Tiling, SSAValue]] = {}
        """The parts of split values by tiling; those of the first tiling are as computed."""
        self._wanted: dict[SSAValue, Tiling] = {}
        self._cut: dict[SSAValue, dict[Tiling, SSAValue]] = {}
        """The parts that were sliced out of whole values."""
        self._linear: frozenset[SSAValue] = frozenset()
        self._starts: dict[tuple[int, ...], SSAValue] = {}
        self._number: SSAValue | None = None
        self._made: list[Operation] = []
        # Values that depend only on the partition number are computed once, before this operation.
        self._marker = ConstantOp.of(np.zeros(1, np.int32), _SCALAR)
        Builder(InsertPoint.at_start(entry)).insert(self._marker)

    def finish(self) -> None:
        """Erase the operations that turned out to be unused. Call last."""
        for op in reversed([*self._made, self._marker]):
            if op.parent is not None and not any(result.first_use for result in op.results):
                erase_op(op)

    def _after(self, value: SSAValue) -> Tensor:
        """
        A handle to compute with right after the value's definition; for arguments of the marker's block, after the
        marker.
        """
        owner = value.owner
        if isinstance(owner, Operation):
            return Tensor(Builder(InsertPoint.after(owner), owner.location, self._made), value)
        inside = self._marker.parent is owner
        at = InsertPoint.after(self._marker) if inside else InsertPoint.at_start(owner)
        return Tensor(Builder(at, ops=self._made), value)

    @property
    def _before_all(self) -> Builder:
        return Builder(InsertPoint.before(self._marker), ops=self._made)

    # Tilings of values ---------------------------------------------------------------------------------------

    def split(self, value: SSAValue, tiling: Tiling, part: SSAValue, whole: SSAValue | None = None) -> None:
        """
        Record that `value` exists as parts, and as `whole` if given; a single part replaces it, unless it is to
        be split.
        """
        wanted = self._wanted.pop(value, None)
        if tiling.is_replicated and wanted is None:
            replace_uses(value, part)
            return
        forms = self._forms[value] = {tiling: part}
        if whole is not None:
            forms[Tiling.replicated(len(tiling.counts), self.partitions)] = whole
        if wanted is not None and wanted != tiling.summed():
            self._forms[value] = {wanted: self.part(value, wanted), **forms}

    def want(self, value: SSAValue, tiling: Tiling) -> None:
        """Split the value so, when it is recorded."""
        self._wanted[value] = tiling

    def wanted(self, value: SSAValue) -> Tiling | None:
        return self._wanted.get(value)

    def computed(self, value: SSAValue) -> Tiling | None:
        """How a value was computed, perhaps as summands; None for one that is whole on every device."""
        forms = self._forms.get(value)
        return None if forms is None else next(iter(forms))

    def tiling(self, value: SSAValue) -> Tiling | None:
        """The tiling of a value, summands added; None for one that is then whole on every device."""
        tiling = self.computed(value)
        if tiling is not None and value not in self._linear:
            tiling = tiling.summed()
        return None if tiling is None or tiling.is_replicated else tiling

    @contextmanager
    def summands_of(self, values: Collection[SSAValue]) -> Generator[None]:
        """
        Meanwhile `tiling` and `part` show the summands of these values, for a rule of an operation that is linear in
        them together; of all others they show the sums.
        """
        self._linear = frozenset(values)
        try:
            yield
        finally:
            self._linear = frozenset()

    def replicated(self, value: SSAValue) -> Tiling:
        """The tiling of a value that is whole on every device."""
        rank = len(shape_of(value)) if isinstance(value.type, TensorType) else 0
        return Tiling.replicated(rank, self.partitions)

    def whole(self, value: SSAValue) -> SSAValue:
        """The whole value, on every device; a token is one already."""
        if not isinstance(value.type, TensorType):
            return value
        return self.part(value, Tiling.replicated(len(shape_of(value)), self.partitions))

    def existing_whole(self, value: SSAValue) -> SSAValue | None:
        """The whole value if something has made it already."""
        forms = self._forms.get(value)
        return value if forms is None else forms.get(Tiling.replicated(len(shape_of(value)), self.partitions))

    def part(self, value: SSAValue, tiling: Tiling) -> SSAValue:
        """The part of a value, or the summand of it, that each device holds under a tiling."""
        if self._linear and value not in self._linear:
            tiling = tiling.summed()
        forms = self._forms.get(value)
        if forms is None:
            if tiling.is_replicated:
                return value
            forms = self._cut.setdefault(value, {Tiling.replicated(len(tiling.counts), self.partitions): value})
        if tiling not in forms:
            forms[tiling] = self._converted(value, forms, tiling)
        return forms[tiling]

    def _converted(self, value: SSAValue, forms: dict[Tiling, SSAValue], tiling: Tiling) -> SSAValue:
        """The part of a value of which these forms exist; the forms that it comes from are added to them."""
        known, part = next(iter(forms.items()))
        if tiling.summands > 1 and (
            known.summands == 1 or (known.terms != tiling.terms and not _merges(known, tiling))
        ):
            return self._summand(self.part(value, tiling.summed()), tiling)
        if known.terms != tiling.terms:
            known = _merged(known, tiling) if tiling.summands > 1 else known.summed()
            if known not in forms:
                computed = next(iter(forms))
                forms[known] = self.reduced(part, computed.sum_groups(known), AddOp)
                forms[known].name_hint = value.name_hint
            part = forms[known]
        shape = shape_of(value)
        replicated = Tiling.replicated(len(tiling.counts), self.partitions)
        if tiling == known:
            return part
        if replicated in forms and tiling.summands == 1:
            return self._sliced(forms[replicated], shape, replicated, tiling)
        if tiling.is_replicated:
            return self._gathered(part, shape, known)
        if _refines(known, tiling, shape):
            return self._sliced(part, shape_of(part), known, tiling)
        if (dims := _joined(known, tiling)) and known.fits(shape):
            return self._gathered(part, tiling.part_shape(shape), known, dims)
        if tiling.summands > 1:
            return self._summand(self.part(value, tiling.summed()), tiling)
        return self._sliced(self.whole(value), shape, replicated, tiling)

    def _summand(self, part: SSAValue, tiling: Tiling) -> SSAValue:
        """The summand of each device: all of the part for one of its devices, and zeros for the others."""
        x = self._after(part)
        if is_splat_of(part, 0) or is_splat_of(part, 0.0):
            return part
        first = Tensor(x.builder, self._start(tiling.terms)).equals(0)
        return first.select(x, x.builder.constant(np.zeros(1, numpy_dtype(x.element)), x.type)).value

    # From parts to wholes ------------------------------------------------------------------------------------------

    def _groups(self, groups: Groups) -> Attribute:
        """Groups of partitions as groups of devices, in every replica."""
        rows = [
            [replica * self.partitions + number for number in row] for replica in range(self.replicas) for row in groups
        ]
        return dense_constant(np.array(rows, np.int64).reshape(len(rows), -1))

    def _communication(self, groups: Groups) -> dict[str, Attribute]:
        self._channel += 1
        return {
            "replica_groups": self._groups(groups),
            "channel_handle": ChannelHandleAttr(int_attr(self._channel), int_attr(_DEVICE_TO_DEVICE)),
            "use_global_device_ids": UnitAttr(),
        }

    def _gathered(
        self, part: SSAValue, shape: tuple[int, ...], tiling: Tiling, dims: Collection[int] | None = None
    ) -> SSAValue:
        """Gather the array of `shape` from the devices' parts; only along `dims` if given."""
        x, filled = self._after(part), list(shape_of(part))
        for dim, count in enumerate(tiling.counts):
            if count > 1 and filled[dim] and (dims is None or dim in dims):
                filled[dim] *= count
                type_, groups = make_tensor(tuple(filled), x.element), self._communication(tiling.groups_along([dim]))
                x = x.builder.op(AllGatherOp, [x], type_, all_gather_dim=int_attr(dim), **groups)
        return (x if x.shape == shape else x.first(shape)).value  # the last parts may be padded

    def reduced(self, part: SSAValue, groups: Groups, combiner: type[Operation]) -> SSAValue:
        """Reduce the values of the devices in each group, element by element."""
        x = self._after(part)
        location = x.builder.location
        reduction = AllReduceOp.create(
            operands=[part],
            result_types=[part.type],
            properties=self._communication(groups),
            regions=[combiner_region(combiner, x.element, location)],
            location=location,
        )
        return x.builder.add(reduction).value

    # From wholes to parts ------------------------------------------------------------------------------------------

    def _sliced(self, value: SSAValue, shape: tuple[int, ...], known: Tiling, wanted: Tiling) -> SSAValue:
        """The part under `wanted`, which refines `known`, of a value of `shape`, the device's part under `known`."""
        x = self._after(value)
        ratios = [after // before for before, after in zip(known.counts, wanted.counts, strict=True)]
        sizes = tuple(-(-size // ratio) for size, ratio in zip(shape, ratios, strict=True))
        same = _splat_of(x, sizes)
        if same is not None:
            return same.value
        high = [size * ratio - before for size, ratio, before in zip(sizes, ratios, shape, strict=True)]
        if any(high):
            zero = x.builder.constant(np.zeros(1, numpy_dtype(x.element)), make_tensor((), x.element))
            x = x.pad(zero, [0] * len(high), high)
        starts: list[SSAValue] = []
        for dim, (size, ratio) in enumerate(zip(sizes, ratios, strict=True)):
            offsets = [0 if ratio == 1 else number % ratio * size for number in wanted.coordinates(dim)]
            starts.append(self._start(tuple(offsets)))
        return x.dynamic_slice(x.builder.tensors(starts), sizes).value

    def _start(self, offsets: tuple[int, ...]) -> SSAValue:
        """The partition's entry in a table."""
        if offsets not in self._starts:
            if not any(offsets):
                start = self._before_all.constant(np.zeros(1, np.int32), _SCALAR)
            else:
                number = self.number
                table = self._before_all.constant(np.array(offsets, np.int32))
                start = table.dynamic_slice([Tensor(table.builder, number)], [1]).reshape(())
            self._starts[offsets] = start.value
        return self._starts[offsets]

    def broadcast(self, value: SSAValue, source: int, op: Operation) -> SSAValue:
        """Broadcast partition `source`'s value, after an operation."""
        numbers = [source, *(number for number in range(self.partitions) if number != source)]
        self._channel += 1
        broadcast = Builder(InsertPoint.after(op), op.location).op(
            CollectiveBroadcastOp,
            [value],
            value.type,
            replica_groups=dense_constant(np.array([numbers], np.int64)),
            channel_handle=ChannelHandleAttr(int_attr(self._channel), int_attr(_DEVICE_TO_DEVICE)),
        )
        return broadcast.value

    @property
    def number(self) -> SSAValue:
        """The partition number, an i32."""
        if self._number is None:
            self._number = self._before_all.op(PartitionIdOp, (), make_tensor((), ui32)).convert(i32).value
        return self._number


def _refines(known: Tiling, wanted: Tiling, shape: Sequence[int]) -> bool:
    """Whether each device's part under `known`, of an array of `shape`, contains its part under `wanted`."""
    if not (known.fits(shape) and wanted.fits(shape)):
        return False
    if known.terms != wanted.terms:
        return False
    for dim, (before, after) in enumerate(zip(known.counts, wanted.counts, strict=True)):
        ratio, rest = divmod(after, before)
        if rest or [number // ratio for number in wanted.coordinates(dim)] != known.coordinates(dim):
            return False
    return True


def _merges(known: Tiling, wanted: Tiling) -> bool:
    """Whether adding some of the summands of each part under `known` gives the summands of `wanted`."""
    groups = known.sum_groups(wanted)
    if known.summands % wanted.summands or {len(group) for group in groups} != {known.summands // wanted.summands}:
        return False
    pairs = set(zip(known.places, known.terms, wanted.terms, strict=True))
    return len(pairs) == known.parts * known.summands


def _merged(known: Tiling, wanted: Tiling) -> Tiling:
    """The tiling of `known` after adding those summands that are one summand of `wanted`; see `_merges`."""
    devices = sorted(known.devices, key=lambda device: (known.places[device], wanted.terms[device], device))
    return Tiling(known.counts, tuple(devices), wanted.summands)


def _joined(known: Tiling, wanted: Tiling) -> list[int]:
    """
    The dimensions along which to gather the parts of `known` to get those of `wanted`; empty if that is not possible.
    """
    dims = [dim for dim, (a, b) in enumerate(zip(known.counts, wanted.counts, strict=True)) if a != b]
    kept = known.derived([None if dim in dims else dim for dim in range(len(known.counts))])
    return dims if kept == wanted else []


def _splat_of(x: Tensor, shape: tuple[int, ...]) -> Tensor | None:
    """A splat of another shape with the value's element, if the value is a splat."""
    op = x.value.owner
    type_ = make_tensor(shape, x.element)
    if isinstance(op, ConstantOp) and is_splat(op.dense):
        return x.builder.constant(constant_array(op.dense).reshape(-1)[:1], type_)
    if isinstance(op, BroadcastInDimOp) and not shape_of(op.operands[0]):
        return Tensor(x.builder, op.operands[0]).broadcast(type_)
    return None
