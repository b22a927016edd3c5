"""
Rules for pooling whose windows tile their operand: each element is in one window.

Such a pooling folds slices of its operand, element by element, which fuses with what comes before and after. Its
gradient needs no more of the operand than the place in each window whose element was selected: a byte for each window,
which is computed beside the pooling, instead of the operand itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from xdsl.dialects.builtin import i8
from xdsl.ir import Operation, SSAValue

from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.op import is_elementwise
from ...hlo_dialect.ops.comparison import CompareOp, SelectOp
from ...hlo_dialect.ops.control_flow import OptimizationBarrierOp
from ...hlo_dialect.ops.creation import is_splat_of, splat_of
from ...hlo_dialect.ops.elementwise_binary import AddOp, MaximumOp, MinimumOp, MultiplyOp
from ...hlo_dialect.ops.reduction import single_combiner
from ...hlo_dialect.ops.slicing import PadOp, SliceOp
from ...hlo_dialect.ops.window import ReduceWindowOp, SelectAndScatterOp, is_neutral
from ...hlo_dialect.ops.window_geometry import Window
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import element_of, is_float, make_tensor, shape_of
from ...lowering.loop_nests.windows import is_tiled, takes_columns
from .rewrite import Rewrite, by, simplifications

_FOLDED: Mapping[type[Operation], int] = {AddOp: 16, MaximumOp: 8, MinimumOp: 8, MultiplyOp: 16}
"""The operations that may fold slices, and the columns that fill a loop's vectors."""


def _tiles(window: Window, shape: Sequence[int], columns: int) -> bool:
    """Whether the windows tile a tensor of `shape`, whose rows are in windows of their own and whole `columns`."""
    if not is_static(shape) or 0 in shape or window.is_padded or any(step != 1 for step in window.dilations):
        return False
    counts = window.counts(shape)
    if not counts or (counts[-1] % columns and counts[-1] < 4 * columns):
        return False
    return is_tiled(shape, counts, window.dimensions, window.strides, window.low) and takes_columns(
        window.dimensions, window.strides, counts
    )


def _places(x: Tensor, window: Window) -> list[Tensor]:
    """For each place in a window the elements there, of the shape of all windows."""
    return [x.slice(offset, x.shape, window.strides) for offset in window.offsets()]


@simplifications.on(ReduceWindowOp)
def pooling_of_tiles(op: Operation) -> Rewrite | None:
    """A pooling of few elements each, whose windows tile the operand, folds slices of it in the windows' order."""
    assert isinstance(op, ReduceWindowOp)
    combiner = single_combiner(op.body)
    if combiner is None or type(combiner) not in _FOLDED or combiner.properties or len(op.operands) != 2:
        return None
    value, init = op.operands
    if element_of(value) != element_of(op.results[0]) or not _tiles(
        op.window, shape_of(value), _FOLDED[type(combiner)]
    ):
        return None
    builder = Builder()
    places = _places(Tensor(builder, value), op.window)
    # Nothing is below the least number; but 0 is no neutral element of a sum: -0 + 0 is 0.
    if isinstance(combiner, (MaximumOp, MinimumOp)) and is_neutral(combiner, init):
        total, *rest = places
    else:
        total, rest = Tensor(builder, init).broadcast(places[0].shape), places
    for place in rest:
        total = total.apply(type(combiner), place)
    return by(total)


@dataclass(frozen=True)
class _Gradient:
    """The gradient of a maximum of tiles: each window's source goes to its greatest element, the first of several."""

    operand: SSAValue
    source: SSAValue
    window: Window

    @staticmethod
    def of(op: Operation) -> _Gradient | None:
        """The gradient that an operation computes, if there is a pooling of its operand by the same windows."""
        if not isinstance(op, SelectAndScatterOp) or not _tiles(op.window, shape_of(op.operand), _FOLDED[MaximumOp]):
            return None
        select, scatter = single_combiner(op.select), single_combiner(op.scatter)
        if not isinstance(select, CompareOp) or not isinstance(scatter, AddOp) or scatter.properties:
            return None
        in_order = tuple(select.operands) == tuple(op.select.block.args)
        if not in_order or select.direction != "GE" or select.is_total_order or select.is_weak_order:
            return None
        zero = is_splat_of(op.init_value, 0.0 if is_float(element_of(op.init_value)) else 0)
        if not zero or op.result.type != op.operand.type:
            return None
        gradient = _Gradient(op.operand, op.source, op.window)
        return gradient if gradient._is_beside_pooling() else None

    def _is_beside_pooling(self) -> bool:
        """Whether the operand is read for a pooling as well, which it has the same slices for."""
        shape = self.window.counts(shape_of(self.operand))
        users = {use.operation for use in self.operand.uses}
        for user in users:
            if user.name == "hlo.reduce_window" and shape_of(user.results[0]) == shape:
                return True
            if user.name == "hlo.slice" and shape_of(user.results[0]) == shape:
                folded = {use.operation.name for use in user.results[0].uses}
                if "hlo.maximum" in folded:
                    return True
        return False

    def spread(self, gate: CompareOp | None) -> Tensor:
        """The result; zero where `gate`, a comparison of the operand with one number, does not hold."""
        builder = Builder()
        value, *rest = _places(Tensor(builder, self.operand), self.window)
        counts = value.shape
        chosen = builder.splat(0, make_tensor(counts, i8))
        for number, place in enumerate(rest, 1):
            kept = value.compare("GE", place)
            value, chosen = kept.select(value, place), kept.select(chosen, number)
        if gate is not None:
            limit = splat_of(gate.operands[1])
            stated = None if gate.compare_type is None else gate.compare_type.data.value
            chosen = value.compare(gate.direction, limit.item(), stated).select(chosen, -1)
        # The numbers are in memory, so that nothing of the operand is read where they are.
        builder.insert(OptimizationBarrierOp.create(operands=[chosen.value], result_types=[chosen.type]))
        chosen = Tensor(builder, builder.ops[-1].results[0])
        return self._at_places(chosen, Tensor(builder, self.source) + 0)

    def _at_places(self, chosen: Tensor, update: Tensor) -> Tensor:
        """Each window's update at the place that was chosen, zeros elsewhere; computed over windows and places."""
        builder, sizes = chosen.builder, self.window.dimensions
        shape: list[int] = []
        around: list[int] = []
        inside: list[int] = []
        for count, size in zip(chosen.shape, sizes, strict=True):
            around.append(len(shape))
            shape.append(count)
            if size != 1:
                inside.append(len(shape))
                shape.append(size)
        number = builder.splat(0, make_tensor(tuple(shape), i8))
        for dim in inside:
            number = number * shape[dim] + builder.iota(number.type, dim)
        here = chosen.broadcast(shape, around).compare("EQ", number)
        return here.select(update.broadcast(shape, around), 0).reshape(shape_of(self.operand))


def _gate_of(op: Operation) -> tuple[CompareOp, SelectAndScatterOp] | None:
    """The comparison of a gradient's operand with a number, if `op` selects the gradient by it, else zeros."""
    if not isinstance(op, SelectOp):
        return None
    gate, scattered = op.operands[0].owner, op.operands[1].owner
    if not isinstance(scattered, SelectAndScatterOp) or not isinstance(gate, CompareOp):
        return None
    if not is_splat_of(op.operands[2], 0.0 if is_float(element_of(op.operands[2])) else 0):
        return None
    number = splat_of(gate.operands[1])
    if number is None or not (gate.operands[0] is scattered.operand or _is_gate_of_relu(gate, scattered.operand)):
        return None
    return gate, scattered


def _is_gate_of_relu(gate: CompareOp, operand: SSAValue) -> bool:
    """Whether `gate` is `x > c`, and the operand `max(x, c)`, which is greater than c where x is."""
    relu, (x, limit) = operand.owner, gate.operands
    if not isinstance(relu, MaximumOp) or gate.direction != "GT" or gate.is_total_order or gate.is_weak_order:
        return False
    number = splat_of(limit)
    others = [value for value in relu.operands if value is not x]
    return x in relu.operands and len(others) == 1 and splat_of(others[0]) == number


def _is_whole(op: Operation) -> bool:
    """Whether an operation slices all of its operand, so that it folds away."""
    return isinstance(op, SliceOp) and op.result_types[0] == op.operands[0].type


# -- the rules -------------------------------------------------------------------------------------------


@simplifications.on(ReduceWindowOp)
def gradient_of_sums_of_tiles(op: Operation) -> Rewrite | None:
    """
    The gradient of sums (or means) whose windows tile their operand repeats each window's update.

    It is stated as sums of windows of what zeros interleave: each holds one update, and zeros that make 0 of -0.
    """
    assert isinstance(op, ReduceWindowOp)
    spread, window = op.operands[0].owner, op.window
    if not isinstance(single_combiner(op.body), AddOp) or len(op.operands) != 2 or not isinstance(spread, PadOp):
        return None
    values = (op.operands[1], spread.padding_value)
    if not any(is_splat_of(values[0], zero) and is_splat_of(values[1], zero) for zero in (0, 0.0)):
        return None
    sizes, shape = window.dimensions, shape_of(spread.operand)
    if not is_static(shape) or 0 in shape or math.prod(sizes) == 1 or spread.result.type != op.operands[0].type:
        return None
    if window.is_padded or any(step != 1 for step in (*window.strides, *window.dilations)):
        return None
    same = element_of(spread.operand) == element_of(op.results[0])
    if not same or spread.interior != tuple(size - 1 for size in sizes):
        return None
    builder = Builder()
    update = Tensor(builder, spread.operand) + 0
    tiled = [part for n, size in zip(shape, sizes, strict=True) for part in ((n,) if size == 1 else (n, size))]
    around = list(accumulate((1 if size == 1 else 2 for size in sizes[:-1]), initial=0))
    whole = update.broadcast(tiled, around).reshape([n * size for n, size in zip(shape, sizes, strict=True)])
    low, high = ([n - size + 1 for n, size in zip(edge, sizes, strict=True)] for edge in (spread.low, spread.high))
    if any((*low, *high)):
        whole = whole.pad(Tensor(builder, spread.padding_value), low, high)
    return by(whole)


@simplifications.on(SelectOp)
def gated_gradient_of_pooling(op: Operation) -> Rewrite | None:
    """
    The gradient of a maximum of tiles where the operand passes a test, else zero, as after relu: each window's source
    goes to its selected element if that passes the test.
    """
    found = _gate_of(op)
    gradient = None if found is None else _Gradient.of(found[1])
    return None if found is None or gradient is None else by(gradient.spread(found[0]))


@simplifications.on(SelectAndScatterOp)
def gradient_of_pooling(op: Operation) -> Rewrite | None:
    """
    The gradient of a maximum of tiles, beside that maximum: the number of the selected element in each window is
    computed from the operand, and the result from these numbers. Not if one elementwise operation follows, which the
    gradient's kernel takes in.
    """
    gradient = _Gradient.of(op)
    if gradient is None:
        return None
    user = op.results[0].get_user_of_unique_use()
    if user is not None and (is_elementwise(user) or _is_whole(user)):
        return None
    return by(gradient.spread(None))
