"""
Rules for reductions of what was put together: of concatenates their parts are reduced, of pads their operands, and of
broadcasts along dimensions that repeat their operand, that operand once.

They change the order in which elements are combined, and so are always on only where that changes no result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from ...hlo_dialect.expressions.tensor import Builder, Tensor, concatenate
from ...hlo_dialect.ops.creation import is_splat_of, splat_of
from ...hlo_dialect.ops.elementwise_binary import AddOp, AndOp, MaximumOp, MinimumOp, MultiplyOp, OrOp
from ...hlo_dialect.ops.movement import BroadcastInDimOp
from ...hlo_dialect.ops.reduction import ReduceOp, single_combiner
from ...hlo_dialect.ops.slicing import ConcatenateOp, PadOp
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import element_of, i1, is_float, is_integer, shape_of
from .rewrite import Rewrite, approximations, assumes, by, simplifications

MOST_PARTS = 4
"""Parts of a concatenation up to which as many reductions are better than its copy."""


@dataclass(frozen=True)
class _Folding:
    """A reduction of one input by one operation."""

    op: ReduceOp
    combiner: type[Operation]
    changes_floats: bool
    """Whether the result depends on the order."""

    @property
    def value(self) -> SSAValue:
        return self.op.inputs[0]

    @property
    def init(self) -> SSAValue:
        return self.op.init_values[0]

    def starts_neutral(self) -> bool:
        """Whether to begin with the initial value twice is to begin with it once."""
        return self.combiner in _IDEMPOTENT or _is_neutral(self.combiner, self.init)

    def of(self, x: Tensor, dims: list[int]) -> Tensor:
        """The same reduction of another value along other dimensions."""
        return x.reduce(self.combiner, Tensor(x.builder, self.init), dims)


_IDEMPOTENT = (AndOp, MaximumOp, MinimumOp, OrOp)


def _is_neutral(combiner: type[Operation], value: SSAValue) -> bool:
    if combiner not in (AddOp, MultiplyOp):
        return False
    number = int(combiner is MultiplyOp)
    return is_splat_of(value, float(number) if is_float(element_of(value)) else number)


def _folding(op: Operation) -> _Folding | None:
    assert isinstance(op, ReduceOp)
    element = element_of(op.inputs[0])
    combiner = single_combiner(op.body)
    if len(op.inputs) != 1 or combiner is None or element != element_of(op.outs[0]):
        return None
    if not is_static(shape_of(op.inputs[0])) or 0 in shape_of(op.inputs[0]) or combiner.properties:
        return None
    kind = type(combiner)
    if kind not in (_IDEMPOTENT if element == i1 else (*_IDEMPOTENT, AddOp, MultiplyOp)):
        return None
    if not (is_float(element) or is_integer(element) or element == i1):
        return None
    return _Folding(op, kind, is_float(element) and kind not in _IDEMPOTENT)


# -- the rewrites ----------------------------------------------------------------------------------------


def _of_parts(folding: _Folding) -> Rewrite | None:
    whole = folding.value.owner
    if not isinstance(whole, ConcatenateOp) or not folding.value.has_one_use():
        return None
    if not 2 <= len(whole.operands) <= MOST_PARTS or not folding.starts_neutral():
        return None
    dims = list(folding.op.dims)
    builder = Builder()
    parts = [folding.of(each, dims) for each in builder.tensors(whole.operands)]
    if whole.dim not in dims:
        return by(concatenate(parts, whole.dim - sum(dim < whole.dim for dim in dims)))
    total = parts[0]
    for part in parts[1:]:
        total = total.apply(folding.combiner, part)
    return by(total)


def _of_padded(folding: _Folding) -> Rewrite | None:
    pad = folding.value.owner
    if not isinstance(pad, PadOp) or any(amount < 0 for amount in (*pad.low, *pad.high)):
        return None
    same = pad.padding_value is folding.init or _is_same_splat(pad.padding_value, folding.init)
    if not same or not folding.starts_neutral() or 0 in shape_of(pad.operand):
        return None
    dims = list(folding.op.dims)
    kept = [dim for dim in range(len(pad.low)) if dim not in dims]
    builder = Builder()
    inner = folding.of(Tensor(builder, pad.operand), dims)
    low, high, interior = ([each[dim] for dim in kept] for each in (pad.low, pad.high, pad.interior))
    if any((*low, *high, *interior)):
        inner = inner.pad(Tensor(builder, folding.init), low, high, interior)
    return by(inner)


def _is_same_splat(one: SSAValue, other: SSAValue) -> bool:
    number = splat_of(one)
    if number is None:
        return False
    return is_splat_of(other, float(number) if is_float(element_of(one)) else int(number))


def _of_repeated(folding: _Folding) -> Rewrite | None:
    """Only sums: `reduction.py` has the combiners that give x for x and x."""
    spread, dims = folding.value.owner, folding.op.dims
    if folding.combiner is not AddOp or not isinstance(spread, BroadcastInDimOp) or not folding.starts_neutral():
        return None
    source, shape = shape_of(spread.operands[0]), shape_of(folding.value)
    if any(shape[dim] != size for dim, size in zip(spread.dims, source, strict=True)):
        return None
    repeated = [dim for dim in dims if dim not in spread.dims]
    count = math.prod(shape[dim] for dim in repeated)
    if count <= 1 or list(spread.dims) != sorted(spread.dims):
        return None
    x = Tensor(Builder(), spread.operands[0])
    kept = [dim for dim in range(len(shape)) if dim not in repeated]
    smaller = (
        x if len(kept) == len(source) else x.broadcast([shape[d] for d in kept], [kept.index(d) for d in spread.dims])
    )
    left = [kept.index(dim) for dim in dims if dim in kept]
    total = folding.of(smaller, left) if left else smaller
    return by(total * (float(count) if is_float(x.element) else count))


def _in_order(
    op: Operation, whole: type[Operation], rewrite: Callable[[_Folding], Rewrite | None], floats: bool
) -> Rewrite | None:
    """The rewrite of a reduction of what `whole` makes, if its order matters as stated."""
    folding = _folding(op) if isinstance(op.operands[0].owner, whole) else None
    return None if folding is None or folding.changes_floats is not floats else rewrite(folding)


# -- the rules -------------------------------------------------------------------------------------------


@simplifications.on(ReduceOp)
def reduce_of_concatenate(op: Operation) -> Rewrite | None:
    """A reduction of a concatenation of few parts, which nothing else needs, is one of each; not a sum of floats."""
    return _in_order(op, ConcatenateOp, _of_parts, floats=False)


@approximations.on(ReduceOp)
@assumes("a sum may be ordered by the parts that it is of")
def sum_of_concatenate(op: Operation) -> Rewrite | None:
    """A sum, or product, of a concatenation of few parts, which nothing else needs, is one of each part."""
    return _in_order(op, ConcatenateOp, _of_parts, floats=True)


@simplifications.on(ReduceOp)
def reduce_of_pad(op: Operation) -> Rewrite | None:
    """A reduction of what is padded with its initial value is one of the operand; not a sum of floats."""
    return _in_order(op, PadOp, _of_padded, floats=False)


@approximations.on(ReduceOp)
@assumes("a sum may be ordered as if it had fewer terms")
def sum_of_pad(op: Operation) -> Rewrite | None:
    """A sum, or product, of what is padded with its initial value is one of the operand."""
    return _in_order(op, PadOp, _of_padded, floats=True)


@simplifications.on(ReduceOp)
def sum_of_broadcast(op: Operation) -> Rewrite | None:
    """A sum of integers along dimensions of a broadcast that repeat its operand is the operand times their size."""
    return _in_order(op, BroadcastInDimOp, _of_repeated, floats=False)


@approximations.on(ReduceOp)
@assumes("a sum of equal numbers may be rounded once, and does not overflow")
def float_sum_of_broadcast(op: Operation) -> Rewrite | None:
    """A sum of floats along dimensions of a broadcast that repeat its operand is the operand times their size."""
    return _in_order(op, BroadcastInDimOp, _of_repeated, floats=True)
