"""Rules for pairs of movements with elementwise operations between them: both vanish."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation, SSAValue

from ...hlo_dialect.attributes import ints
from ...hlo_dialect.expressions.tensor import Builder
from ...hlo_dialect.op import is_elementwise
from ...hlo_dialect.ops.creation import ConstantOp
from ...hlo_dialect.ops.movement import ReverseOp, TransposeOp
from ...hlo_dialect.types import constant_array, element_of, is_splat, make_tensor, shape_of
from .rewrite import Rewrite, by, simplifications


@simplifications.on(TransposeOp)
def transposes_around_elementwise(op: Operation) -> Rewrite | None:
    """`transpose(f(transpose(x), c))` is `f(x, c)` for transposes that undo each other, if nothing else needs f."""
    assert isinstance(op, TransposeOp)
    undone = tuple(range(len(op.dims)))

    def undoes(inner: Operation) -> bool:
        return isinstance(inner, TransposeOp) and tuple(inner.dims[dim] for dim in op.dims) == undone

    return _without_pair(op, undoes)


@simplifications.on(ReverseOp)
def reverses_around_elementwise(op: Operation) -> Rewrite | None:
    """`reverse(f(reverse(x), c))` is `f(x, c)`, if nothing else needs f."""
    assert isinstance(op, ReverseOp)
    dims = sorted(ints(op.dimensions))
    return _without_pair(op, lambda inner: isinstance(inner, ReverseOp) and sorted(ints(inner.dimensions)) == dims)


def _without_pair(op: Operation, undoes: Callable[[Operation], bool]) -> Rewrite | None:
    """The elementwise operation between, of the operands of the first movements and of splats."""
    middle = op.operands[0].owner
    if not isinstance(middle, Operation) or not is_elementwise(middle) or len(middle.results) != 1:
        return None
    shape = shape_of(op.results[0])
    if not middle.results[0].has_one_use() or middle.regions:
        return None
    builder, operands, found = Builder(), list[SSAValue](), False
    for value in middle.operands:
        owner = value.owner
        if isinstance(owner, ConstantOp) and is_splat(owner.dense):
            of_one = shape_of(value) == ()
            element = constant_array(owner.dense).reshape(-1)[:1]
            spread = builder.constant(element, make_tensor(shape, element_of(value)))
            operands.append(value if of_one else spread.value)
        elif isinstance(owner, Operation) and undoes(owner):
            operands.append(owner.operands[0])
            found = True
        else:
            return None
    if not found:
        return None
    return by(builder.op(type(middle), operands, op.results[0].type, **middle.properties))
