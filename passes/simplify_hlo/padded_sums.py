"""
Sums of padded tensors, such as the gradient of a tensor of which slices were used: the layers of stacked weights.

    pad(%a, [4, 0]) + pad(%b, [0, 2]) + pad(%c, [0, 2])  ->  concatenate(%a + 0, %b + %c + 0)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from ...hlo_dialect.expressions.tensor import Builder, Tensor, concatenate
from ...hlo_dialect.ops.creation import is_splat_of
from ...hlo_dialect.ops.elementwise_binary import AddOp
from ...hlo_dialect.ops.slicing import PadOp
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import element_of, is_float, is_integer, make_tensor, shape_of
from .rewrite import Rewrite, by, simplifications

Range: TypeAlias = tuple[int, int]
"""The first element along a dimension, and the end."""


@simplifications.on(AddOp)
def add_of_pads(op: Operation) -> Rewrite | None:
    """
    A sum of tensors that zeros surround along one dimension, at equal or disjoint places, is the concatenation of the
    sums at each place.

    Each element adds what it added before in the same order, without the zeros but one: -0 becomes 0.
    """
    assert isinstance(op, AddOp)
    if _is_term(op.result) or not all(isinstance(each.owner, AddOp | PadOp) for each in op.operands):
        return None
    order: list[AddOp | PadOp] = []
    for each in _in_order(op):
        if each is None:
            return None
        order.append(each)
    places = _places([each for each in order if isinstance(each, PadOp)])
    if places is None:
        return None
    dim, ranges = places
    builder = Builder()
    sums = _sums(builder, order, ranges)
    whole = shape_of(op.result)
    zero = builder.splat(0, make_tensor((), element_of(op.result)))
    if len(sums) == 1:
        [((start, end), total)] = sums.items()
        low, high = [0] * len(whole), [0] * len(whole)
        low[dim], high[dim] = start, whole[dim] - end
        return by(total.pad(zero, low, high))
    parts: list[Tensor] = []
    at = 0
    for (start, end), total in (*sorted(sums.items()), ((whole[dim], whole[dim]), None)):
        if at < start:
            parts.append(zero.broadcast([*whole[:dim], start - at, *whole[dim + 1 :]]))
        if total is not None:
            parts.append(total + 0.0 if is_float(total.element) else total)
        at = end
    return by(concatenate(parts, dim))


def _is_term(value: SSAValue) -> bool:
    """Whether only another sum of the same block reads a value."""
    user = value.get_user_of_unique_use()
    return isinstance(user, AddOp) and user.parent is value.owner.parent


def _in_order(root: AddOp) -> Iterator[AddOp | PadOp | None]:
    """The sums below a sum and the padded tensors that they add, each after its operands; None for another term."""
    waiting: list[tuple[SSAValue, bool]] = [(root.result, False)]
    while waiting:
        value, seen = waiting.pop()
        owner = value.owner
        if isinstance(owner, AddOp) and (owner is root or _is_term(value)):
            if seen:
                yield owner
            else:
                waiting += [(value, True), (owner.rhs, False), (owner.lhs, False)]
        else:
            yield owner if isinstance(owner, PadOp) else None


def _places(pads: list[PadOp]) -> tuple[int, dict[PadOp, Range]] | None:
    """The dimension along which zeros surround, and where the operand of each is; None if that is not known."""
    shape = shape_of(pads[0].result)
    if not is_static(shape) or 0 in shape or not _is_number(pads[0].result):
        return None
    zero = 0.0 if is_float(element_of(pads[0].result)) else 0
    dims: set[int] = set()
    ranges: dict[PadOp, Range] = {}
    for pad in pads:
        dims |= {dim for dim in range(len(shape)) if pad.low[dim] or pad.high[dim]}
        if len(dims) != 1 or any(pad.interior) or not is_splat_of(pad.padding_value, zero):
            return None
        if not is_static(shape_of(pad.operand)):
            return None
        [dim] = dims
        start, end = pad.low[dim], shape[dim] - pad.high[dim]
        if not 0 <= start < end <= shape[dim]:
            return None
        ranges[pad] = (start, end)
    ordered = sorted(set(ranges.values()))
    if any(end > start for (_, end), (start, _) in pairwise(ordered)):
        return None
    return dims.pop(), ranges


def _is_number(value: SSAValue) -> bool:
    return is_float(element_of(value)) or is_integer(element_of(value))


def _sums(builder: Builder, order: Sequence[AddOp | PadOp], ranges: dict[PadOp, Range]) -> dict[Range, Tensor]:
    """The sum at each place, its terms in the order of the whole sum."""
    waiting: list[dict[Range, Tensor]] = []
    for op in order:
        if isinstance(op, PadOp):
            waiting.append({ranges[op]: Tensor(builder, op.operand)})
            continue
        right, left = waiting.pop(), waiting.pop()
        for place in [place for place in right if place in left]:
            right[place] = left[place] + right[place]
        waiting.append(_joined(left, right))
    return waiting.pop()


def _joined(left: dict[Range, Tensor], right: dict[Range, Tensor]) -> dict[Range, Tensor]:
    """Both, where the right one has precedence; changes the larger one."""
    if len(right) > len(left):
        for place, total in left.items():
            right.setdefault(place, total)
        return right
    left.update(right)
    return left
