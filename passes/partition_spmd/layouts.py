"""
The values of a program that is partitioned: whole arrays, parts of them on each device, and the ways between.

A value that is `split` exists as parts only, until something needs all of it: then its parts are gathered, behind their
definition. A part of a whole value is sliced out behind that value's definition, at a place that depends on the number
of the partition.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from xdsl.dialects.builtin import LocationAttr, UnitAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...hlo_dialect.attributes import int_array, int_attr
from ...hlo_dialect.collectives.exchanges import AllGatherOp, CollectiveBroadcastOp, PartitionIdOp, ui32
from ...hlo_dialect.collectives.process_groups import ChannelHandleAttr, Groups
from ...hlo_dialect.collectives.reductions import AllReduceOp
from ...hlo_dialect.ops.control_flow import ReturnOp
from ...hlo_dialect.ops.conversion import ConvertOp
from ...hlo_dialect.ops.creation import ConstantOp
from ...hlo_dialect.ops.dynamic import DynamicSliceOp
from ...hlo_dialect.ops.movement import BroadcastInDimOp, ReshapeOp
from ...hlo_dialect.ops.slicing import PadOp, SliceOp
from ...hlo_dialect.sharding.tilings import Tiling
from ...hlo_dialect.types import (
    constant_array,
    dense_constant,
    element_of,
    i32,
    is_splat,
    make_tensor,
    numpy_dtype,
    shape_of,
)

_DEVICE_TO_DEVICE = 1


class Layouts:
    """Of one function."""

    def __init__(self, entry: Block, replicas: int, partitions: int, first_channel: int):
        self.replicas = replicas
        self.partitions = partitions
        self._channel = first_channel
        self._forms: dict[SSAValue, dict[Tiling, SSAValue]] = {}
        """Of values that exist as parts: the parts, those of the first tiling as they were computed."""
        self._cut: dict[SSAValue, dict[Tiling, SSAValue]] = {}
        """Of other values, the parts that were sliced out of them."""
        self._starts: dict[tuple[int, ...], SSAValue] = {}
        self._number: SSAValue | None = None
        self._made: list[Operation] = []
        # What depends on the number of the partition alone is computed once, before this operation.
        self._marker = ConstantOp.of(np.zeros(1, np.int32), make_tensor((), i32))
        _insert_first(entry, self._marker)

    def finish(self) -> None:
        """Call when all is done: what was made and is not needed goes."""
        for op in reversed([*self._made, self._marker]):
            if op.parent is not None and not any(result.first_use for result in op.results):
                op.detach()
                op.erase()

    def _behind(self, value: SSAValue) -> _Place:
        return _Behind(value, self._marker, self._made)

    # What is known of values ---------------------------------------------------------------------------------------

    def split(self, value: SSAValue, tiling: Tiling, part: SSAValue, whole: SSAValue | None = None) -> None:
        """State that `value` exists as parts, and as `whole` if that is given; one part that is all takes its place."""
        if tiling.is_replicated:
            value.replace_all_uses_with(part)
            return
        forms = self._forms[value] = {tiling: part}
        if whole is not None:
            forms[Tiling.replicated(len(tiling.counts), self.partitions)] = whole

    def tiling(self, value: SSAValue) -> Tiling | None:
        """How a value is split; None for one that is whole on every device."""
        forms = self._forms.get(value)
        tiling = None if forms is None else next(iter(forms))
        return None if tiling is None or tiling.is_replicated else tiling

    def whole(self, value: SSAValue) -> SSAValue:
        """All of a value, on every device."""
        return self.part(value, Tiling.replicated(len(shape_of(value)), self.partitions))

    def part(self, value: SSAValue, tiling: Tiling) -> SSAValue:
        """What each device holds of a value under a tiling."""
        forms = self._forms.get(value)
        if forms is None:
            if tiling.is_replicated:
                return value
            cut = self._cut.setdefault(value, {})
            if tiling not in cut:
                whole = Tiling.replicated(len(tiling.counts), self.partitions)
                cut[tiling] = self._sliced(value, shape_of(value), whole, tiling)
            return cut[tiling]
        if tiling not in forms:
            known, part = next(iter(forms.items()))
            if tiling.is_replicated:
                forms[tiling] = self._gathered(part, shape_of(value), known)
            elif _refines(known, tiling, shape_of(value)):
                forms[tiling] = self._sliced(part, shape_of(part), known, tiling)
            elif (dims := _joined(known, tiling)) and known.fits(shape_of(value)):
                forms[tiling] = self._gathered(part, tiling.part_shape(shape_of(value)), known, dims)
            else:
                whole = self.whole(value)
                replicated = Tiling.replicated(len(tiling.counts), self.partitions)
                forms[tiling] = self._sliced(whole, shape_of(value), replicated, tiling)
        return forms[tiling]

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
        """The array of `shape` whose parts the devices hold; of parts along `dims` only, where they are given."""
        place = self._behind(part)
        value, found = part, list(shape_of(part))
        for dim, count in enumerate(tiling.counts):
            if count > 1 and (dims is None or dim in dims):
                found[dim] *= count
                gather = AllGatherOp.create(
                    operands=[value],
                    result_types=[make_tensor(tuple(found), element_of(part))],
                    properties={"all_gather_dim": int_attr(dim), **self._communication(tiling.groups_along([dim]))},
                )
                value = place.add(gather)
        if tuple(found) != shape:  # the last parts are filled up
            value = place.add(_slice(value, shape))
        return value

    def reduced(self, part: SSAValue, groups: Groups, combiner: type[Operation], location: LocationAttr) -> SSAValue:
        """What the devices of each group have, folded element by element."""
        scalar = make_tensor((), element_of(part))
        body = Block(arg_types=[scalar, scalar])
        folded = combiner.create(operands=list(body.args), result_types=[scalar], location=location)
        body.add_ops([folded, ReturnOp.create(operands=folded.results, location=location)])
        reduction = AllReduceOp.create(
            operands=[part],
            result_types=[part.type],
            properties=self._communication(groups),
            regions=[Region(body)],
            location=location,
        )
        return self._behind(part).add(reduction)

    # From wholes to parts ------------------------------------------------------------------------------------------

    def _sliced(self, value: SSAValue, shape: tuple[int, ...], known: Tiling, wanted: Tiling) -> SSAValue:
        """The part under `wanted`, which refines `known`, of a value of which each device holds the part of `shape`."""
        place = self._behind(value)
        ratios = [after // before for before, after in zip(known.counts, wanted.counts, strict=True)]
        sizes = tuple(-(-size // ratio) for size, ratio in zip(shape, ratios, strict=True))
        same = _splat_of(value, sizes)
        if same is not None:
            return place.add(same)
        padded = tuple(size * ratio for size, ratio in zip(sizes, ratios, strict=True))
        if padded != shape:
            value = _filled_up(place, value, padded)
        starts: list[SSAValue] = []
        for dim, (size, ratio) in enumerate(zip(sizes, ratios, strict=True)):
            offsets = [0 if ratio == 1 else number % ratio * size for number in wanted.coordinates(dim)]
            starts.append(self._start(tuple(offsets)))
        return place.add(
            DynamicSliceOp.create(
                operands=[value, *starts],
                result_types=[make_tensor(sizes, element_of(value))],
                properties={"slice_sizes": int_array(sizes)},
            )
        )

    def _start(self, offsets: tuple[int, ...]) -> SSAValue:
        """The entry of a table that belongs to the partition."""
        if offsets not in self._starts:
            place = _Before(self._marker, self._made)
            if not any(offsets):
                self._starts[offsets] = place.add(ConstantOp.of(np.zeros(1, np.int32), make_tensor((), i32)))
            else:
                number = self.number
                table = ConstantOp.of(np.array(offsets, np.int32), make_tensor((len(offsets),), i32))
                entry = DynamicSliceOp.create(
                    operands=[place.add(table), number],
                    result_types=[make_tensor((1,), i32)],
                    properties={"slice_sizes": int_array([1])},
                )
                scalar = ReshapeOp.create(operands=[place.add(entry)], result_types=[make_tensor((), i32)])
                self._starts[offsets] = place.add(scalar)
        return self._starts[offsets]

    def broadcast(self, value: SSAValue, source: int, behind: Operation) -> SSAValue:
        """What partition `source` has, behind an operation."""
        numbers = [source, *(number for number in range(self.partitions) if number != source)]
        self._channel += 1
        broadcast = CollectiveBroadcastOp.create(
            operands=[value],
            result_types=[value.type],
            properties={
                "replica_groups": dense_constant(np.array([numbers], np.int64)),
                "channel_handle": ChannelHandleAttr(int_attr(self._channel), int_attr(_DEVICE_TO_DEVICE)),
            },
            location=behind.location,
        )
        block = behind.parent
        assert block is not None
        block.insert_op_after(broadcast, behind)
        return broadcast.results[0]

    @property
    def number(self) -> SSAValue:
        """The number of the partition, an i32."""
        if self._number is None:
            place = _Before(self._marker, self._made)
            number = place.add(PartitionIdOp.create(result_types=[make_tensor((), ui32)]))
            self._number = place.add(ConvertOp.to(number, i32))
        return self._number


def _refines(known: Tiling, wanted: Tiling, shape: Sequence[int]) -> bool:
    """Whether each device holds, of an array of `shape` under `known`, all of its part under `wanted`."""
    if not (known.fits(shape) and wanted.fits(shape)):
        return False
    for dim, (before, after) in enumerate(zip(known.counts, wanted.counts, strict=True)):
        ratio, rest = divmod(after, before)
        if rest or [number // ratio for number in wanted.coordinates(dim)] != known.coordinates(dim):
            return False
    return True


def _joined(known: Tiling, wanted: Tiling) -> list[int]:
    """The dimensions along which the parts of `known` make up those of `wanted`; none where that is not so."""
    dims = [dim for dim, (a, b) in enumerate(zip(known.counts, wanted.counts, strict=True)) if a != b]
    kept = known.derived([None if dim in dims else dim for dim in range(len(known.counts))])
    return dims if kept == wanted else []


def _splat_of(value: SSAValue, shape: tuple[int, ...]) -> Operation | None:
    """For a value whose elements are all the same, such a value of another shape."""
    op = value.owner
    type_ = make_tensor(shape, element_of(value))
    if isinstance(op, ConstantOp) and is_splat(op.dense):
        return ConstantOp.of(constant_array(op.dense).reshape(-1)[:1], type_)
    if isinstance(op, BroadcastInDimOp) and not shape_of(op.operands[0]):
        return BroadcastInDimOp.create(operands=op.operands, result_types=[type_], properties=op.properties)
    return None


def _slice(value: SSAValue, shape: tuple[int, ...]) -> SliceOp:
    """The first elements along each dimension."""
    return SliceOp.create(
        operands=[value],
        result_types=[make_tensor(shape, element_of(value))],
        properties={
            "start_indices": int_array([0] * len(shape)),
            "limit_indices": int_array(shape),
            "strides": int_array([1] * len(shape)),
        },
    )


def _filled_up(place: _Place, value: SSAValue, shape: tuple[int, ...]) -> SSAValue:
    """The value with zeros behind its elements."""
    element, none = element_of(value), int_array([0] * len(shape))
    zero = place.add(ConstantOp.of(np.zeros(1, numpy_dtype(element)), make_tensor((), element)))
    high = [after - before for before, after in zip(shape_of(value), shape, strict=True)]
    return place.add(
        PadOp.create(
            operands=[value, zero],
            result_types=[make_tensor(shape, element)],
            properties={"edge_padding_low": none, "edge_padding_high": int_array(high), "interior_padding": none},
        )
    )


# Places --------------------------------------------------------------------------------------------------------


class _Place:
    """Where operations are put, one behind the other."""

    def __init__(self, location: LocationAttr | None, made: list[Operation]):
        self._location = location
        self._made = made

    def add(self, op: Operation) -> SSAValue:
        self._made.append(op)
        if self._location is not None:
            op.location = self._location
        self._insert(op)
        return op.results[0]

    def _insert(self, op: Operation) -> None:
        raise NotImplementedError


class _Before(_Place):
    """Before an operation."""

    def __init__(self, op: Operation, made: list[Operation]):
        super().__init__(None, made)
        self._op = op

    def _insert(self, op: Operation) -> None:
        block = self._op.parent
        assert block is not None
        block.insert_op_before(op, self._op)


class _Behind(_Place):
    """Behind the definition of a value; `marker` is the first operation behind arguments of its own block."""

    def __init__(self, value: SSAValue, marker: Operation, made: list[Operation]):
        owner = value.owner
        super().__init__(owner.location if isinstance(owner, Operation) else None, made)
        self._last = owner if isinstance(owner, Operation) else None
        self._block = owner if isinstance(owner, Block) else None
        if self._block is not None and marker.parent is self._block:
            self._last = marker

    def _insert(self, op: Operation) -> None:
        if self._last is None:
            assert self._block is not None
            _insert_first(self._block, op)
        else:
            block = self._last.parent
            assert block is not None
            block.insert_op_after(op, self._last)
        self._last = op


def _insert_first(block: Block, op: Operation) -> None:
    if block.first_op is None:
        block.add_op(op)
    else:
        block.insert_op_before(op, block.first_op)
