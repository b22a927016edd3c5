"""Bodies of fused generics: index maps composed, bodies cloned once per distinct map, equal operations shared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.dialects.linalg.ops import GenericOp, IndexOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

from .buffer_ops import INDEX

Access: TypeAlias = tuple[AffineExpr, ...]
"""Where a tensor is read, as expressions of the loop's dimensions."""

_NO_WRAP = arith.IntegerOverflowAttr("none")
_INDEX_OPS: dict[AffineBinaryOpKind, type[Operation]] = {
    AffineBinaryOpKind.Add: arith.AddiOp,
    AffineBinaryOpKind.Mul: arith.MuliOp,
    AffineBinaryOpKind.FloorDiv: arith.FloorDivSIOp,
    AffineBinaryOpKind.CeilDiv: arith.CeilDivSIOp,
    AffineBinaryOpKind.Mod: arith.RemSIOp,
}


@lru_cache(maxsize=8192)
def substitute(expr: AffineExpr, access: Access) -> AffineExpr:
    """`expr` with its dimensions replaced by `access`, constants folded."""
    if isinstance(expr, AffineDimExpr):
        return access[expr.position]
    if not isinstance(expr, AffineBinaryOpExpr):
        return expr
    left, right = substitute(expr.lhs, access), substitute(expr.rhs, access)
    return _simplified(expr.kind, left, right)


def _simplified(kind: AffineBinaryOpKind, left: AffineExpr, right: AffineExpr) -> AffineExpr:
    if isinstance(left, AffineConstantExpr) and isinstance(right, AffineConstantExpr):
        a, b = left.value, right.value
        if kind is AffineBinaryOpKind.Add:
            return AffineExpr.constant(a + b)
        if kind is AffineBinaryOpKind.Mul:
            return AffineExpr.constant(a * b)
    if isinstance(left, AffineConstantExpr) and kind in (AffineBinaryOpKind.Add, AffineBinaryOpKind.Mul):
        left, right = right, left
    if isinstance(right, AffineConstantExpr):
        if kind is AffineBinaryOpKind.Add and right.value == 0:
            return left
        if kind is AffineBinaryOpKind.Mul and right.value == 1:
            return left
        if kind is AffineBinaryOpKind.Mul and right.value == 0:
            return right
        if isinstance(left, AffineBinaryOpExpr) and isinstance(left.rhs, AffineConstantExpr):
            return _with_constant(kind, left, left.rhs.value, right.value)
    return AffineBinaryOpExpr(kind, left, right)


def _with_constant(kind: AffineBinaryOpKind, left: AffineBinaryOpExpr, inner: int, outer: int) -> AffineExpr:
    """(x + a) + b, (x * a) * b and (x + a) * b with the constants gathered."""
    add, mul = AffineBinaryOpKind.Add, AffineBinaryOpKind.Mul
    if kind is add and left.kind is add:
        return _simplified(add, left.lhs, AffineExpr.constant(inner + outer))
    if kind is mul and left.kind is mul:
        return _simplified(mul, left.lhs, AffineExpr.constant(inner * outer))
    if kind is mul and left.kind is add:
        scaled = _simplified(mul, left.lhs, AffineExpr.constant(outer))
        return _simplified(add, scaled, AffineExpr.constant(inner * outer))
    return AffineBinaryOpExpr(kind, left, AffineExpr.constant(outer))


def compose(expressions: Sequence[AffineExpr], access: Access) -> Access:
    return tuple(substitute(expr, access) for expr in expressions)


class FusedBody:
    """The body of a generic under construction, and the operands that it turns out to need."""

    def __init__(self, rank: int, producer_of: Callable[[SSAValue], GenericOp | None]):
        self.block = Block()
        self.rank = rank
        self.producer_of = producer_of
        self.operands: dict[tuple[SSAValue, Access], SSAValue] = {}
        self._elements: dict[tuple[SSAValue, Access], SSAValue] = {}
        self._known: dict[Any, SSAValue] = {}

    def element(self, value: SSAValue, access: Access) -> SSAValue:
        """One element of a tensor: of a fused producer computed here, else read from an operand."""
        key = (value, access)
        found = self._elements.get(key)
        if found is not None:
            return found
        producer = self.producer_of(value)
        if producer is None:
            type_ = cast(Any, value.type).element_type
            found = self.operands[key] = self.block.insert_arg(type_, len(self.block.args))
        else:
            found = self.inline(producer, access, ())[list(producer.results).index(value)]
        self._elements[key] = found
        return found

    def inline(self, generic: GenericOp, access: Access, accumulators: Sequence[SSAValue]) -> list[SSAValue]:
        """
        A generic's body for the point `access` of its loops; what it yields.

        `accumulators` stand for its outputs' elements where the body reads them.
        """
        source = generic.body.block
        maps = [attr.data.results for attr in generic.indexing_maps.data]
        values: dict[SSAValue, SSAValue] = {}
        for argument, operand, results in zip(source.args, generic.inputs, maps, strict=False):
            if argument.first_use is not None:
                values[argument] = self.element(operand, compose(results, access))
        values.update(zip(source.args[len(generic.inputs) :], accumulators, strict=False))
        for op in source.ops:
            if op is source.last_op:
                return [values.get(operand, operand) for operand in op.operands]
            if isinstance(op, IndexOp):
                values[op.results[0]] = self.index(access[op.dim.value.data])
            else:
                self._clone(op, values)
        raise AssertionError("a generic's body has a terminator")

    def _clone(self, op: Operation, values: dict[SSAValue, SSAValue]) -> None:
        operands = [values.get(operand, operand) for operand in op.operands]
        if op.regions:
            new = op.clone(values)
            self.block.add_op(new)
            values.update(zip(op.results, new.results, strict=True))
            return
        results = self._emit(type(op), operands, [r.type for r in op.results], op.properties, op)
        values.update(zip(op.results, results, strict=True))

    def _emit(
        self,
        cls: type[Operation],
        operands: Sequence[SSAValue],
        types: Sequence[Attribute],
        properties: dict[str, Attribute],
        origin: Operation | None = None,
    ) -> Sequence[SSAValue]:
        """Emit an operation, or find an equal one: bodies hold only pure operations."""
        key = (cls, tuple(operands), tuple(properties.values()), tuple(types))
        found = self._known.get(key)
        if found is None:
            op = cls.create(operands=operands, result_types=types, properties=dict(properties))
            if origin is not None:
                op.location = origin.location
                op.attributes = dict(origin.attributes)
            self.block.add_op(op)
            found = self._known[key] = op.results[0]
        return (found,)

    def index(self, expr: AffineExpr) -> SSAValue:
        """An index expression of the loop's dimensions as arithmetic."""
        if isinstance(expr, AffineDimExpr):
            return self._emit(IndexOp, (), (INDEX,), {"dim": IntegerAttr(expr.position, i64)})[0]
        if isinstance(expr, AffineConstantExpr):
            return self._emit(arith.ConstantOp, (), (INDEX,), {"value": IntegerAttr(expr.value, INDEX)})[0]
        assert isinstance(expr, AffineBinaryOpExpr), "index maps have no symbols"
        cls = _INDEX_OPS[expr.kind]
        properties: dict[str, Attribute] = {"overflowFlags": _NO_WRAP} if cls in (arith.AddiOp, arith.MuliOp) else {}
        return self._emit(cls, (self.index(expr.lhs), self.index(expr.rhs)), (INDEX,), properties)[0]
