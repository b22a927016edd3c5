"""
sort: order tensors along a dimension by a comparator.

Sorting is always stable, whatever `is_stable` says. `sort_key` recognizes comparators that compare one function of both
elements, as most do, and `sort_keys` those that compare a second one where the first is equal, and so on; they need not
run for each pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from typing import Any, ClassVar, cast

import numpy as np
from xdsl.dialects.builtin import BoolAttr, IntegerAttr, IntegerType, TensorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import irdl_op_definition, opt_prop_def, region_def, traits_def, var_operand_def, var_result_def
from xdsl.traits import RecursiveMemoryEffect

from ..numbers.number_semantics import total_order_key
from ..op import HloOp, RegionOp, RegionRunner, Role, is_elementwise, reject
from ..shapes import merge_dim, shape_text, shapes_agree, verify_results_agree
from ..types import Array, element_of, i1, is_float, is_float_dtype, make_tensor, shape_of
from .comparison import CompareOp
from .constraints import scalar_types
from .control_flow import region_block, returned_types, types_text
from .creation import ConstantOp
from .elementwise_binary import AndOp, OrOp
from .quantized.types import UniformQuantizedType
from .reduction import is_elementwise_region


@dataclass(frozen=True)
class SortKey:
    """The key of a comparator: `value`, computed from the first of each pair of elements, ascending or descending."""

    value: SSAValue
    """The key in the comparator, a function of the arguments 0, 2, .."""
    total_order: bool
    """Whether floats compare by all their bits; otherwise zeros are equal (and the position of NaN is unspecified)."""
    descending: bool

    @property
    def operations(self) -> list[Operation]:
        """The operations of the comparator that compute the value, in their order."""
        needed: dict[SSAValue, None] = {}
        waiting = [self.value]
        while waiting:
            value = waiting.pop()
            if value not in needed:
                needed[value] = None
                waiting += value.owner.operands if isinstance(value.owner, Operation) else ()
        block = self.value.owner if isinstance(self.value.owner, Block) else self.value.owner.parent
        return [] if block is None else [op for op in block.ops if any(result in needed for result in op.results)]


def sort_key(comparator: Region) -> SortKey | None:
    """
    The key if the comparator is `f(a) < f(b)`, `f(a) > f(b)` or one of these with sides exchanged; else None.

    None also for quantized elements, whose order is not quite that of the stored integers: large ones may be equal;
    and in the weak order, which few programs sort by.
    """
    assert comparator.block.last_op is not None
    return _key_of(comparator.block.last_op.operands[0], comparator.block)


def sort_keys(comparator: Region) -> list[SortKey]:
    """
    The keys, the most significant first, if the comparator is `f(a) < f(b) | f(a) == f(b) & (g(a) < g(b) | ..)`.

    Each comparison is as `sort_key` describes it, floats in their total order if there are several; else none.
    """
    block = comparator.block
    assert block.last_op is not None
    value, keys = block.last_op.operands[0], list[SortKey]()
    while isinstance(either := value.owner, OrOp):
        rest = [found for pair in _exchanged(either) if (found := _next_key(*pair, block)) is not None]
        if len(rest) != 1:
            return []
        keys.append(rest[0][0])
        value = rest[0][1]
    last = _key_of(value, block)
    if last is None or (keys and not last.total_order):
        return []
    return [*keys, last]


def _exchanged(op: AndOp | OrOp) -> tuple[tuple[SSAValue, SSAValue], tuple[SSAValue, SSAValue]]:
    """The operands in both orders."""
    return (op.operands[0], op.operands[1]), (op.operands[1], op.operands[0])


def _next_key(less: SSAValue, otherwise: SSAValue, block: Block) -> tuple[SortKey, SSAValue] | None:
    """The key of `less`, and what decides where it is equal, if that is what `otherwise` says."""
    key, both = _key_of(less, block), otherwise.owner
    if key is None or not key.total_order or not isinstance(both, AndOp):
        return None
    compare = cast(CompareOp, less.owner)
    for equal, rest in _exchanged(both):
        same = equal.owner
        if (
            isinstance(same, CompareOp)
            and same.direction == "EQ"
            and same.compare_type == compare.compare_type
            and set(same.operands) == set(compare.operands)
        ):
            return key, rest
    return None


def _key_of(value: SSAValue, block: Block) -> SortKey | None:
    """The key of a comparison: see `sort_key`."""
    compare = value.owner
    if not isinstance(compare, CompareOp) or compare.direction not in ("LT", "GT") or compare.is_weak_order:
        return None
    if isinstance(element_of(compare.operands[0]), UniformQuantizedType):
        return None
    ascending = compare.direction == "LT"
    for first, second, forward in ((*compare.operands, True), (*reversed(compare.operands), False)):
        if _is_mirrored(block, first, second):
            return SortKey(first, compare.is_total_order or not is_float(element_of(first)), ascending is not forward)
    return None


def _is_mirrored(block: Block, first: SSAValue, second: SSAValue) -> bool:
    """Whether `first` is a function of the pairs' first arguments, and `second` the same of their second ones."""
    seen: set[tuple[SSAValue, SSAValue]] = set()
    waiting = [(first, second)]
    while waiting:
        pair = waiting.pop()
        if pair in seen:
            continue
        seen.add(pair)
        left, right = pair
        if isinstance(left, BlockArgument) and isinstance(right, BlockArgument):
            inside = left.block is block and right.block is block
            if not inside or left.index % 2 or right.index != left.index + 1:
                return False
            continue
        if isinstance(left, BlockArgument) or isinstance(right, BlockArgument):
            return False
        mine, other = cast(Operation, left.owner), cast(Operation, right.owner)
        if mine.parent is not block or not _same_function(mine, other):
            return False
        waiting += zip(mine.operands, other.operands, strict=True)
    return True


def _same_function(first: Operation, second: Operation) -> bool:
    """Whether the operations are elementwise or constants, and differ only in their operands."""
    if type(first) is not type(second) or first.properties != second.properties or first.regions or second.regions:
        return False
    if first.result_types != second.result_types or len(first.results) != 1:
        return False
    return isinstance(first, ConstantOp) or is_elementwise(first)


@irdl_op_definition
class SortOp(RegionOp):
    """
    Reorder the slices of N inputs along `dimension` together, so that `comparator(earlier, later)` holds or neither
    precedes the other. A negative dimension counts from the end; a missing one is the last. Always stable.

    Shapes: N inputs of one shape, results of their types (c2). The comparator takes a pair of scalars for each input.
    Raises: VerifyException naming sort_c1..c5.
    Spec:   https://openxla.org/stablehlo/spec#sort
    """

    name = "hlo.sort"
    ROLE: ClassVar[Role | None] = "custom"
    READS_REGIONS: ClassVar[bool] = False
    inputs = var_operand_def(TensorType)
    dimension = opt_prop_def(IntegerAttr[IntegerType])
    is_stable = opt_prop_def(BoolAttr)
    outs = var_result_def(TensorType)
    comparator = region_def()
    traits = traits_def(RecursiveMemoryEffect())

    @property
    def stated_dim(self) -> int:
        return -1 if self.dimension is None else self.dimension.value.data

    @property
    def dim(self) -> int:
        """The dimension, from the front."""
        stated = self.stated_dim
        return stated + len(shape_of(self.operands[0])) if stated < 0 else stated

    def infer_types(self) -> tuple[Attribute, ...]:
        if len(self.operands) <= 0:
            reject("sort_c1: there are no inputs")
        shape = shape_of(self.operands[0])
        for value in self.operands[1:]:
            other = shape_of(value)
            if not shapes_agree(shape, other):
                reject(f"sort_c3: inputs have different shapes {shape_text(shape)} and {shape_text(other)}")
            shape = tuple(map(merge_dim, shape, other))
        rank, dim = len(shape), self.stated_dim
        if not (-rank <= dim < rank):
            reject(f"sort_c4: dimension {dim} is not in [-{rank}, {rank})")
        return tuple(make_tensor(shape_of(value), element_of(value)) for value in self.operands)

    def region_arguments(self, index: int) -> Sequence[Attribute]:
        return tuple(type_ for type_ in scalar_types(self.operands) for _ in range(2))

    def verify_(self) -> None:
        self.infer_types()
        verify_results_agree(self, "sort_c2")
        block = region_block(self.regions[0], "sort_c5", "comparator")
        wanted = [make_tensor((), element_of(value)) for value in self.operands for _ in range(2)]
        given, returned = [argument.type for argument in block.args], returned_types(block)
        if given != wanted or returned != (make_tensor((), i1),):
            reject(
                f"sort_c5: comparator takes {types_text(given)} and returns {types_text(returned)}, expected "
                f"{types_text(wanted)} and (tensor<i1>)"
            )

    def reference_with_regions(self, run: RegionRunner, *operands: Array) -> tuple[Array, ...]:
        moved = [np.moveaxis(value, self.dim, -1) for value in operands]
        shape = moved[0].shape
        if shape[-1] <= 1 or 0 in shape:
            return tuple(operands)
        rows = [np.ascontiguousarray(value).reshape(-1, shape[-1]) for value in moved]
        order = _order(run, self.regions[0], rows)
        ordered = [np.take_along_axis(value, order, axis=-1).reshape(shape) for value in rows]
        return tuple(np.moveaxis(value, -1, self.dim) for value in ordered)


def _order(run: RegionRunner, comparator: Region, rows: Sequence[Array]) -> Array:
    """The order of each row, as indices."""
    keys = sort_keys(comparator)
    if keys:
        integers = [_integers(key, comparator.block, rows) for key in reversed(keys)]
        return np.lexsort(integers, axis=-1) if len(keys) > 1 else np.argsort(integers[0], axis=-1, kind="stable")
    if is_elementwise_region(comparator):
        order = _merged_order(run, comparator, rows)
        if order is not None:
            return order
    return _pairwise_order(run, comparator, rows)


def _integers(key: SortKey, block: Block, rows: Sequence[Array]) -> Array:
    """Integers whose ascending order is that of the key."""
    values: dict[SSAValue, Any] = {block.args[2 * index]: row for index, row in enumerate(rows)}
    for op in key.operations:
        values[op.results[0]] = cast(HloOp, op).reference(*(values[operand] for operand in op.operands))
    found = np.broadcast_to(values[key.value], rows[0].shape)
    if is_float_dtype(found.dtype):
        found = total_order_key(found if key.total_order else np.where(found == 0, np.zeros_like(found), found))
    elif found.dtype.kind not in "biu" or found.dtype.isbuiltin != 1:
        found = found.astype(np.int64)
    return ~found if key.descending else found


def _merged_order(run: RegionRunner, comparator: Region, rows: Sequence[Array]) -> Array | None:
    """
    A merge sort of all rows together, which finds the position of each element in a merged run by binary search.

    None if the comparator is inconsistent, so that two elements would have the same position.
    """
    length = rows[0].shape[1]
    flat = [row.reshape(-1) for row in rows]
    row, column = cast("tuple[Array, Array]", np.indices(rows[0].shape))
    base = row * length
    order = base + column
    width = 1
    while width < length:
        begin = column - column % (2 * width)
        middle = np.minimum(begin + width, length)
        end = np.minimum(begin + 2 * width, length)
        left = column < middle
        low, high = np.where(left, middle, begin), np.where(left, end, middle)
        first = low
        while np.any(low < high):
            probe = (low + high) // 2
            other = np.take_along_axis(order, np.minimum(probe, length - 1), axis=-1)
            before, after = np.where(left, other, order), np.where(left, order, other)
            pairs = [value[place] for value in flat for place in (before, after)]
            holds = np.broadcast_to(run(comparator, *pairs)[0], probe.shape)
            # A left element goes after right elements less than it, a right element after left elements not greater
            # than it.
            passes = np.where(left, holds, ~holds) & (low < high)
            low, high = np.where(passes, probe + 1, low), np.where(passes | (low >= high), high, probe)
        place = begin + (column - np.where(left, begin, middle)) + (low - first)
        merged = np.full(order.shape, -1)
        np.put_along_axis(merged, place, order, axis=-1)
        if np.any(merged < 0):
            return None
        order = merged
        width *= 2
    return order - base


def _pairwise_order(run: RegionRunner, comparator: Region, rows: Sequence[Array]) -> Array:
    """The order by any comparator, run on one pair at a time."""
    order = np.empty(rows[0].shape, np.int64)
    for row in range(len(order)):

        def precedes(first: int, second: int, row: int = row) -> bool:
            pairs = [np.asarray(value[row, index]) for value in rows for index in (first, second)]
            return bool(run(comparator, *pairs)[0])

        def compare(first: int, second: int) -> int:
            return -1 if precedes(first, second) else int(precedes(second, first))

        order[row] = sorted(range(order[row].size), key=cmp_to_key(compare))
    return order


OPS = (SortOp,)
