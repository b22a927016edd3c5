"""Rules for pairs of movements with operations between them that may as well come before or after: both vanish."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue

from ...hlo_dialect.attributes import ints
from ...hlo_dialect.expressions.tensor import Builder, Tensor, concatenate
from ...hlo_dialect.op import is_elementwise
from ...hlo_dialect.ops.creation import ConstantOp, IotaOp
from ...hlo_dialect.ops.movement import BroadcastInDimOp, ReverseOp, TransposeOp
from ...hlo_dialect.ops.slicing import ConcatenateOp, PadOp, SliceOp
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import constant_array, element_of, is_splat, make_tensor, shape_of
from .rewrite import Rewrite, by, simplifications

MOST_BETWEEN = 64
"""Operations between transposes that are looked at: the search begins again at each transpose."""


@simplifications.on(TransposeOp)
def transposes_around_movements(op: Operation) -> Rewrite | None:
    """
    `transpose(f(transpose(x), ..))` is `f(x, ..)` for transposes that undo each other, if nothing else needs f, which
    may be elementwise operations, slices, pads, reverses and concatenations.
    """
    assert isinstance(op, TransposeOp)
    if not is_static(shape_of(op.results[0])):
        return None
    between = _Between(op.dims)
    if not between.collect(op) or not between.is_closed(op):
        return None
    return by(between.moved(op.operands[0]))


@dataclass
class _Between:
    """The operations between transposes from one order of dimensions and back."""

    dims: tuple[int, ...]
    """Those of the last transpose."""
    found: list[Operation] = field(default_factory=list[Operation])
    """They themselves, each after those that it needs."""
    ends: bool = False
    """Whether some value is such a transpose."""
    _moved: dict[SSAValue, Tensor] = field(default_factory=dict[SSAValue, Tensor])
    _builder: Builder = field(default_factory=Builder)

    def _undoes(self, op: Operation) -> bool:
        return isinstance(op, TransposeOp) and tuple(op.dims[dim] for dim in self.dims) == tuple(range(len(self.dims)))

    def collect(self, op: Operation) -> bool:
        """Find them; False if the operand depends on something in the order between that cannot be moved."""
        waiting: list[tuple[SSAValue, bool]] = [(op.operands[0], False)]
        seen = set[Operation]()
        while waiting:
            value, is_done = waiting.pop()
            owner = value.owner
            if is_done:
                assert isinstance(owner, Operation)
                self.found.append(owner)
                continue
            if owner in seen or not shape_of(value):
                continue
            if isinstance(owner, Block) or not is_static(shape_of(value)):
                return False
            if self._undoes(owner):
                self.ends = True
            elif not _is_made(owner):
                if len(seen) == MOST_BETWEEN or not _is_movable(owner):
                    return False
                seen.add(owner)
                waiting.append((value, True))
                waiting += [(each, False) for each in reversed(owner.operands)]
        return self.ends

    def is_closed(self, last: Operation) -> bool:
        """Whether nothing but these operations and the last transpose reads what they compute."""
        inside = {last, *self.found}
        return all(use.operation in inside for op in self.found for use in op.results[0].uses)

    def moved(self, last: SSAValue) -> Tensor:
        """The value that is transposed last, transposed, of the values before the first transposes."""
        for op in self.found:
            self._moved[op.results[0]] = self._rebuilt(op)
        return self._operand(last)

    def _shape(self, value: SSAValue) -> tuple[int, ...]:
        shape = shape_of(value)
        return tuple(shape[dim] for dim in self.dims)

    def _operand(self, value: SSAValue) -> Tensor:
        """The transpose of an operand; a scalar itself."""
        if value in self._moved:
            return self._moved[value]
        owner, builder = value.owner, self._builder
        if not shape_of(value):
            return Tensor(builder, value)
        type_ = make_tensor(self._shape(value), element_of(value))
        if isinstance(owner, ConstantOp):
            found = builder.constant(constant_array(owner.dense).reshape(-1)[:1], type_)
        elif isinstance(owner, IotaOp):
            found = builder.iota(type_, self.dims.index(owner.dimension))
        elif isinstance(owner, BroadcastInDimOp):
            operand = Tensor(builder, owner.operands[0])
            found = operand.broadcast(type_, [self.dims.index(dim) for dim in owner.dims])
        else:
            assert isinstance(owner, TransposeOp)
            found = Tensor(builder, owner.operands[0])
        self._moved[value] = found
        return found

    def _rebuilt(self, op: Operation) -> Tensor:
        """An operation on transposed operands."""
        dims, operands = self.dims, [self._operand(value) for value in op.operands]
        if isinstance(op, SliceOp):
            bounds = (op.starts, op.limits, op.steps)
            return operands[0].slice(*([each[dim] for dim in dims] for each in bounds))
        if isinstance(op, PadOp):
            amounts = (op.low, op.high, op.interior)
            return operands[0].pad(operands[1], *([each[dim] for dim in dims] for each in amounts))
        if isinstance(op, ReverseOp):
            return operands[0].reverse(sorted(dims.index(dim) for dim in op.dims))
        if isinstance(op, ConcatenateOp):
            return concatenate(operands, dims.index(op.dim))
        type_ = make_tensor(self._shape(op.results[0]), element_of(op.results[0]))
        return self._builder.op(type(op), operands, type_, **op.properties)


def _is_made(op: Operation) -> bool:
    """Whether the order of dimensions of what an operation makes is free."""
    return isinstance(op, IotaOp | BroadcastInDimOp) or (isinstance(op, ConstantOp) and is_splat(op.dense))


def _is_movable(op: Operation) -> bool:
    """Whether an operation does the same to transposed operands."""
    if isinstance(op, SliceOp | PadOp | ReverseOp | ConcatenateOp):
        return True
    return is_elementwise(op) and len(op.results) == 1 and not op.regions


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
