"""
The rules of propagate-shardings: the factors of each operation, as Shardy defines them.

Source: shardy/dialect/sdy/transforms/propagation/op_sharding_rule_registry.cc in openxla/shardy
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from xdsl.dialects.builtin import TensorType, UnregisteredAttr
from xdsl.ir import Operation, SSAValue

from ...hlo_dialect.attributes import ints
from ...hlo_dialect.chlo.structural import TopKOp
from ...hlo_dialect.custom_calls.operations import CustomCallOp
from ...hlo_dialect.op import is_elementwise
from ...hlo_dialect.ops.algorithms.fourier import FftOp
from ...hlo_dialect.ops.algorithms.linear_algebra import CholeskyOp, TriangularSolveOp
from ...hlo_dialect.ops.contraction import DotGeneralOp
from ...hlo_dialect.ops.conversion import BitcastConvertOp
from ...hlo_dialect.ops.convolution import ConvolutionOp
from ...hlo_dialect.ops.creation import ConstantOp
from ...hlo_dialect.ops.dynamic import DynamicSliceOp, DynamicUpdateSliceOp
from ...hlo_dialect.ops.gather import GatherOp
from ...hlo_dialect.ops.movement import BroadcastInDimOp, ReshapeOp, ReverseOp, TransposeOp
from ...hlo_dialect.ops.reduction import ReduceOp
from ...hlo_dialect.ops.scatter import ScatterOp
from ...hlo_dialect.ops.slicing import ConcatenateOp, PadOp, SliceOp
from ...hlo_dialect.ops.sort import SortOp
from ...hlo_dialect.ops.window import ReduceWindowOp, SelectAndScatterOp
from ...hlo_dialect.rules import Rules
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.sharding.factors import ShardingRule, parse_sharding_rule
from ...hlo_dialect.sharding.operations import ConstraintOp
from ...hlo_dialect.types import shape_of

Factors = Callable[[Operation], ShardingRule | None]
sharding_rules = Rules[Factors]("propagate-shardings", __package__)

RULE = "sdy.sharding_rule"
"""The attribute that states the factors of an operation."""


def static_shape(value: SSAValue) -> tuple[int, ...]:
    """The shape of a value; () for tokens and for shapes that are not static, which nothing splits."""
    return shape_of(value) if _is_static(value) else ()


def _is_static(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and is_static(shape_of(value))


def rule_of(op: Operation) -> ShardingRule | None:
    """
    The factors of an operation; None if shardings do not pass it.

    Raises VerifyException if the operation states factors that do not fit its operands and results.
    """
    if any(isinstance(value.type, TensorType) and not _is_static(value) for value in (*op.operands, *op.results)):
        return None
    stated = op.attributes.get(RULE)
    if isinstance(stated, UnregisteredAttr):
        found = parse_sharding_rule(stated.value.data)
        found.verify_on(list(map(static_shape, op.operands)), list(map(static_shape, op.results)))
        return found
    rule = sharding_rules.get(type(op)) or (_common if is_elementwise(op) else None)
    return None if rule is None else rule(op)


def _rule(op: Operation) -> ShardingRule:
    return ShardingRule(
        [len(static_shape(value)) for value in op.operands], [len(static_shape(value)) for value in op.results]
    )


@sharding_rules.on(ReverseOp, ConstraintOp)
def _common(op: Operation) -> ShardingRule | None:
    shape = static_shape(op.results[0]) if op.results else ()
    return _rule(op).add_common(shape) if shape else None


@sharding_rules.on(BitcastConvertOp)
def _bitcast(op: Operation) -> ShardingRule:
    """The innermost dimension of the narrower type is needed whole."""
    before, after = static_shape(op.operands[0]), static_shape(op.results[0])
    rule = _rule(op).add_common(min(before, after, key=len))
    for shape, dims in ((before, ([len(before) - 1], [None])), (after, ([None], [len(after) - 1]))):
        if len(shape) > min(len(before), len(after)):
            rule.add(shape[-1], *dims, special=True)
    return rule


@sharding_rules.on(BroadcastInDimOp)
def _broadcast(op: Operation) -> ShardingRule:
    assert isinstance(op, BroadcastInDimOp)
    before, after, rule = static_shape(op.operands[0]), static_shape(op.results[0]), _rule(op)
    sources = {dim: source for source, dim in enumerate(ints(op.broadcast_dimensions))}
    for dim, size in enumerate(after):
        source = sources.get(dim)
        if source is not None and before[source] != size:
            rule.add(1, [source], [None])
            source = None
        rule.add(size, [source], [dim])
    return rule


@sharding_rules.on(TransposeOp)
def _transpose(op: Operation) -> ShardingRule:
    assert isinstance(op, TransposeOp)
    rule = _rule(op)
    for dim, source in enumerate(ints(op.permutation)):
        rule.add(shape_of(op.operands[0])[source], [source], [dim])
    return rule


@sharding_rules.on(ReshapeOp)
def _reshape(op: Operation) -> ShardingRule | None:
    """Common factors from the outermost on; where sizes have none, factors of one side until both sides agree again."""
    before, after = static_shape(op.operands[0]), static_shape(op.results[0])
    if 0 in before or not (before and after):
        return None
    rule = _rule(op)
    sides = [_Side(before), _Side(after)]
    while not all(side.is_done for side in sides):
        ahead = sides[0].product - sides[1].product
        if ahead == 0:
            common = math.gcd(*(side.rest for side in sides))
            if common > 1:
                rule.add(common, [sides[0].dim], [sides[1].dim])
                for side in sides:
                    side.take(common)
                continue
            for index in (0, 1):
                _own(rule, sides, index, sides[index].rest)
            continue
        behind = 0 if ahead < 0 else 1
        side, other = sides[behind], sides[1 - behind]
        ratio, rest = divmod(other.product, side.product)
        common = math.gcd(side.rest, other.rest)
        if not rest and side.rest % ratio == 0:
            size = ratio
        else:
            size = side.rest // common if side.rest > common else side.rest
        _own(rule, sides, behind, size)
    return rule


class _Side:
    """How far the dimensions of one side of a reshape are divided into factors."""

    def __init__(self, shape: Sequence[int]):
        self.dims = [(dim, size) for dim, size in enumerate(shape) if size > 1]
        self.rest = self.dims[0][1] if self.dims else 1
        self.product = 1

    @property
    def is_done(self) -> bool:
        return not self.dims

    @property
    def dim(self) -> int:
        return self.dims[0][0]

    def take(self, size: int) -> None:
        self.rest //= size
        self.product *= size
        if self.rest == 1:
            del self.dims[0]
            self.rest = self.dims[0][1] if self.dims else 1


def _own(rule: ShardingRule, sides: Sequence[_Side], index: int, size: int) -> None:
    """Add a factor that only one side has."""
    dim: list[int | None] = [None, None]
    dim[index] = sides[index].dim
    rule.add(size, dim[:1], dim[1:])
    sides[index].take(size)


@sharding_rules.on(ConcatenateOp)
def _concatenate(op: Operation) -> ShardingRule:
    assert isinstance(op, ConcatenateOp)
    joined = op.dimension.value.data
    return _rule(op).add_common(static_shape(op.results[0]), lambda dim: dim == joined)


@sharding_rules.on(DynamicSliceOp)
def _dynamic_slice(op: Operation) -> ShardingRule | None:
    """Split along what the slice covers entirely; at constant starts, as a slice."""
    if all(map(_is_constant, op.operands[1:])):
        return _resized(op)
    rule, after = _rule(op), static_shape(op.results[0])
    rest: list[int | None] = [None] * (len(op.operands) - 1)
    for dim, size in enumerate(static_shape(op.operands[0])):
        if size == after[dim]:
            rule.add(size, [dim, *rest], [dim])
    return rule


def _is_constant(value: SSAValue, depth: int = 8) -> bool:
    """Whether an index is a constant, or a short computation from constants, which XLA has folded by then."""
    op = value.owner
    if isinstance(op, ConstantOp):
        return True
    return depth > 0 and is_elementwise(op) and all(_is_constant(operand, depth - 1) for operand in op.operands)


@sharding_rules.on(PadOp, SliceOp)
def _resized(op: Operation) -> ShardingRule:
    """Dimensions of another size correspond too, but parts move between devices."""
    before, after = static_shape(op.operands[0]), static_shape(op.results[0])
    return _rule(op).add_common(before, lambda dim: before[dim] != after[dim])


@sharding_rules.on(ReduceWindowOp, SelectAndScatterOp)
def _windowed(op: Operation) -> ShardingRule:
    """A factor of each dimension has the number of windows."""
    source, windows = static_shape(op.operands[0]), static_shape(op.results[0])
    if isinstance(op, SelectAndScatterOp):
        windows = static_shape(op.operands[1])
    return _rule(op).add_common(windows, lambda dim: source[dim] != windows[dim])


@sharding_rules.on(DynamicUpdateSliceOp)
def _dynamic_update_slice(op: Operation) -> ShardingRule:
    whole, update, rule = static_shape(op.operands[0]), static_shape(op.operands[1]), _rule(op)
    for dim, (size, updated) in enumerate(zip(whole, update, strict=True)):
        rest: list[int | None] = [None] * (len(op.operands) - 2)
        rule.add(size, [dim, dim if size == updated else None, *rest], [dim])
    return rule


@sharding_rules.on(SortOp)
def _sort(op: Operation) -> ShardingRule | None:
    """The sorted dimension stays split only if there are others, along which the work may be shared instead."""
    assert isinstance(op, SortOp)
    shape, rule = static_shape(op.results[0]), _rule(op)
    batch = any(size > 1 for dim, size in enumerate(shape) if dim != op.dim)
    for dim, size in enumerate(shape):
        if batch or dim != op.dim:
            rule.add(size, [dim] * len(op.operands), [dim] * len(op.results), special=dim == op.dim)
    return rule


@sharding_rules.on(TopKOp)
def _top_k(op: Operation) -> ShardingRule:
    return _rule(op).add_common(static_shape(op.operands[0])[:-1])


@sharding_rules.on(FftOp)
def _fourier(op: Operation) -> ShardingRule:
    before, after = static_shape(op.operands[0]), static_shape(op.results[0])
    return _rule(op).add_common(before if before[-1] == after[-1] else before[:-1])


@sharding_rules.on(CholeskyOp)
def _cholesky(op: Operation) -> ShardingRule:
    shape = static_shape(op.results[0])
    return _rule(op).add_common(shape, lambda dim: dim >= len(shape) - 2)


@sharding_rules.on(TriangularSolveOp)
def _triangular_solve(op: Operation) -> ShardingRule:
    """The rows or columns of the right-hand side that are solved independently, and the batch."""
    assert isinstance(op, TriangularSolveOp)
    shape = static_shape(op.results[0])
    rule = _rule(op).add_common(shape[:-2])
    free = len(shape) - 1 if op.left_side.value.data else len(shape) - 2
    rule.add(shape[free], [None, free], [free], special=True)
    return rule


@sharding_rules.on(ReduceOp)
def _reduce(op: Operation) -> ShardingRule:
    assert isinstance(op, ReduceOp)
    count, rule, kept = op.input_count, _rule(op), 0
    for dim, size in enumerate(static_shape(op.operands[0])):
        folded = dim in op.dims
        rule.add(size, [*[dim] * count, *[None] * count], [None if folded else kept] * count, special=folded)
        kept += not folded
    return rule


@sharding_rules.on(DotGeneralOp)
def _dot(op: Operation) -> ShardingRule:
    assert isinstance(op, DotGeneralOp)
    numbers, rule = op.dot_dimension_numbers, _rule(op)
    lhs, rhs = map(static_shape, op.operands)
    batch = zip(numbers.lhs_batching, numbers.rhs_batching, strict=True)
    free = [*((dim, None) for dim in op.lhs_free), *((None, dim) for dim in op.rhs_free)]
    for result, (left, right) in enumerate([*batch, *free]):
        rule.add(lhs[left] if left is not None else rhs[right or 0], [left, right], [result])
    for left, right in zip(numbers.lhs_contracting, numbers.rhs_contracting, strict=True):
        rule.add(lhs[left], [left, right], [None], special=True)
    return rule


@sharding_rules.on(ConvolutionOp)
def _convolution(op: Operation) -> ShardingRule:
    assert isinstance(op, ConvolutionOp)
    numbers, rule = op.dimension_numbers, _rule(op)
    (image, kernel), result = map(static_shape, op.operands), static_shape(op.results[0])
    batches, features = op.batch_group_count.value.data, op.feature_group_count.value.data
    if batches > 1:
        rule.add(batches, [numbers.lhs.batch, numbers.kernel.feature], [numbers.output.feature])
    rule.add(result[numbers.output.batch], [numbers.lhs.batch, None], [numbers.output.batch])
    spatial = (numbers.lhs.spatial, numbers.kernel.spatial, numbers.output.spatial)
    for source, window, target in zip(*spatial, strict=True):
        rest = image[source]
        both = [(result[target], False), (kernel[window], True)]
        for size, summed in sorted(both, key=lambda each: -each[0]):
            size = min(rest, size)
            if size > 1:
                dims = ([source, window], [None]) if summed else ([source, None], [target])
                rule.add(size, *dims, special=True)
                rest //= size
    if features > 1:
        rule.add(features, [numbers.lhs.feature, numbers.kernel.feature], [numbers.output.feature])
    rule.add(kernel[numbers.kernel.batch], [numbers.lhs.feature, numbers.kernel.batch], [None], special=True)
    rest = result[numbers.output.feature] // (batches * features)
    rule.add(rest, [None, numbers.kernel.feature], [numbers.output.feature])
    return rule


@sharding_rules.on(GatherOp)
def _gather(op: Operation) -> ShardingRule:
    assert isinstance(op, GatherOp)
    numbers, rule = op.dimension_numbers, _rule(op)
    lookup = _Lookup(
        ints(numbers.offset_dims),
        ints(numbers.collapsed_slice_dims),
        dict(zip(ints(numbers.start_indices_batching_dims), ints(numbers.operand_batching_dims), strict=True)),
        numbers.index_vector_dim.value.data,
    )
    for source, place, result, size in lookup.factors(static_shape(op.operands[0]), static_shape(op.results[0])):
        rule.add(size, [source, place], [result])
    return rule


@sharding_rules.on(ScatterOp)
def _scatter(op: Operation) -> ShardingRule:
    assert isinstance(op, ScatterOp)
    numbers, rule, count = op.scatter_dimension_numbers, _rule(op), op.input_count
    lookup = _Lookup(
        ints(numbers.update_window_dims),
        ints(numbers.inserted_window_dims),
        dict(zip(ints(numbers.scatter_indices_batching_dims), ints(numbers.input_batching_dims), strict=True)),
        numbers.index_vector_dim.value.data,
    )
    for source, place, update, size in lookup.factors(static_shape(op.operands[0]), static_shape(op.operands[-1])):
        operands = [*[source] * count, place, *[update] * count]
        rule.add(size, operands, [source] * count, special=source is None and place is not None)
    return rule


class _Lookup(NamedTuple):
    """Which dimensions of the operand, the indices and the slices of a gather or scatter correspond."""

    windows: Sequence[int]
    """Dimensions of the slices that are not batch dimensions."""
    collapsed: Sequence[int]
    """Dimensions of the operand that the slices lack."""
    batching: dict[int, int]
    """The operand's dimension for dimensions of the indices."""
    vector: int
    """The dimension of the indices that holds index vectors."""

    def factors(
        self, shape: Sequence[int], slices: Sequence[int]
    ) -> list[tuple[int | None, int | None, int | None, int]]:
        """The dimension of the operand, of the indices and of the slices of each factor, and its size."""
        found: list[tuple[int | None, int | None, int | None, int]] = []
        dropped = {*self.collapsed, *self.batching.values()}
        kept = iter([dim for dim in range(len(shape)) if dim not in dropped])
        places = (dim for dim in range(len(slices) + 1) if dim != self.vector)
        for dim, size in enumerate(slices):
            if dim not in self.windows:
                place = next(places)
                found.append((self.batching.get(place), place, dim, size))
                continue
            source = next(kept)
            if shape[source] == size:
                found.append((source, None, dim, size))
            else:
                found += [(source, None, None, shape[source]), (None, None, dim, size)]
        return [*found, *((dim, None, None, shape[dim]) for dim in self.collapsed)]


@sharding_rules.on(CustomCallOp)
def _custom_call(op: Operation) -> ShardingRule | None:
    assert isinstance(op, CustomCallOp)
    return _top_k(op) if op.target == "mhlo.topk" else None
