"""Bodies of fused generics: compose index maps, clone a body once per distinct access, share equal operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias, TypeGuard, cast

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import BoolAttr, IntegerAttr, i1, i64
from xdsl.dialects.linalg.ops import FillOp, GenericOp, IndexOp
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

from ...dialects.support.attributes import MAY_WRAP, AttributeNumbers, integer_attr
from ...dialects.support.buffers import INDEX
from ...dialects.support.classes import one_of
from ...dialects.support.creation import append, create_op, new_block
from ...dialects.support.editing import clone_op, operands_of
from ...dialects.support.kernel import CONTRACTION
from ...lowering.loop_nests.index_maps import without_part

Access: TypeAlias = tuple[AffineExpr | SSAValue, ...]
"""The index at which a tensor is read: expressions in the loop's dimensions, or index values that the body computes."""


_is_value = one_of(SSAValue)

_INDEX_OPS: dict[AffineBinaryOpKind, type[Operation]] = {
    AffineBinaryOpKind.Add: arith.AddiOp,
    AffineBinaryOpKind.Mul: arith.MuliOp,
}


_TRUE, _FALSE = BoolAttr.from_bool(True), BoolAttr.from_bool(False)
_FOLDED = frozenset((arith.CmpiOp, arith.SelectOp, arith.AndIOp, arith.OrIOp))


def _is_integer(owner: Operation | Block) -> TypeGuard[arith.ConstantOp]:
    """Whether an operation is an integer constant."""
    return type(owner) is arith.ConstantOp and isinstance(owner.value, IntegerAttr)


def _integer(constant: arith.ConstantOp) -> int:
    return cast("IntegerAttr[Any]", constant.value).value.data


def _joined(op: Operation, conditions: Sequence[SSAValue]) -> SSAValue | None:
    """The value of `and` or `or` of conditions of which one is constant."""
    for known, other in (conditions, reversed(conditions)):
        if _is_integer(known.owner):
            decides = bool(_integer(known.owner)) is (type(op) is arith.OrIOp)
            return known if decides else other
    return None


_Linear: TypeAlias = tuple[tuple[tuple[int, int], ...], int]
"""(dimension, coefficient) by dimension, without zeros, and the constant."""


@lru_cache(maxsize=8192)
def _linear(expr: AffineExpr) -> _Linear:
    expr = without_part(expr)
    if isinstance(expr, AffineDimExpr):
        return ((expr.position, 1),), 0
    if isinstance(expr, AffineConstantExpr):
        return (), expr.value
    assert isinstance(expr, AffineBinaryOpExpr), "index maps have no symbols"
    left, right = _linear(expr.lhs), _linear(expr.rhs)
    if expr.kind is AffineBinaryOpKind.Add:
        return _sum([(1, left), (1, right)], 0)
    assert expr.kind is AffineBinaryOpKind.Mul and not right[0], "index maps are linear"
    return _sum([(right[1], left)], 0)


def _sum(terms: Sequence[tuple[int, _Linear]], constant: int) -> _Linear:
    found: dict[int, int] = {}
    for factor, (coefficients, offset) in terms:
        constant += factor * offset
        for dim, coefficient in coefficients:
            found[dim] = found.get(dim, 0) + factor * coefficient
    return tuple(sorted((dim, c) for dim, c in found.items() if c != 0)), constant


@lru_cache(maxsize=8192)
def substitute(expr: AffineExpr, access: tuple[AffineExpr, ...]) -> AffineExpr:
    """`expr` with its dimensions replaced by `access`, simplified to a sum of multiples of dimensions."""
    if isinstance(expr, AffineDimExpr) and isinstance(access[expr.position], AffineDimExpr):
        return access[expr.position]
    coefficients, constant = _linear(expr)
    coefficients, constant = _sum([(factor, _linear(access[dim])) for dim, factor in coefficients], constant)
    result: AffineExpr | None = None
    for dim, factor in coefficients:
        term = AffineExpr.dimension(dim) * factor
        result = term if result is None else result + term
    return AffineExpr.constant(constant) if result is None else result + constant


def inputs_of(generic: GenericOp) -> Sequence[SSAValue]:
    """
    The inputs of a generic on tensors, whose outputs are as many as its results; `GenericOp.inputs` counts them by
    unpacking an attribute.
    """
    operands = list(operands_of(generic))
    return operands[: len(operands) - len(generic.results)]


@lru_cache(maxsize=64)
def point(rank: int) -> tuple[AffineExpr, ...]:
    """The identity access of a generic: each of its dimensions."""
    return tuple(AffineExpr.dimension(dim) for dim in range(rank))


class FusedBody:
    """
    A body under construction, and the operands that it needs.

    `producer_of` returns the generic of a value that is computed here, and None for one that is read. Without loops
    (`loops` is False) the body is standalone scalar code that reads every element by tensor.extract.
    """

    def __init__(
        self,
        producer_of: Callable[[SSAValue], GenericOp | None],
        output_types: Sequence[Attribute] = (),
        loops: bool = True,
    ):
        self.block = new_block(output_types)
        self.outputs = list(self.block.args)
        self.producer_of = producer_of
        self.loops = loops
        self.operands: list[tuple[SSAValue, tuple[AffineExpr, ...]]] = []
        self._accesses: dict[Access, Access] = {}
        """The one object for equal accesses: hashing one takes a call for each of its expressions and their parts."""
        self._compositions: dict[tuple[int, int], tuple[Sequence[AffineExpr], Access]] = {}
        """By the identities of the expressions, which it keeps, and of the access."""
        self._elements: dict[tuple[SSAValue, int], SSAValue] = {}
        self._inlined: dict[tuple[GenericOp, int], list[SSAValue]] = {}
        self._known: dict[Any, SSAValue] = {}
        self._number = AttributeNumbers()

    # -- elements ----------------------------------------------------------------------------------

    def element(self, value: SSAValue, access: Access) -> SSAValue:
        """One element of a tensor: computed here if its producer is fused, else read."""
        return self._element(value, self._one(access))

    def _one(self, access: Access) -> Access:
        return self._accesses.setdefault(access, access)

    def _element(self, value: SSAValue, access: Access) -> SSAValue:
        if type(value.owner) is FillOp:
            return value.owner.inputs[0]
        producer = self.producer_of(value)
        if producer is not None:
            assert isinstance(value, OpResult), "a generic makes it"
            return self._compute(producer, access)[value.index]
        key = (value, id(access))
        found = self._elements.get(key)
        if found is None:
            found = self._elements[key] = self._read(value, access)
        return found

    def _read(self, value: SSAValue, access: Access) -> SSAValue:
        type_: Any = value.type
        element = type_.element_type
        affine = tuple(place for place in access if isinstance(place, AffineExpr))
        if self.loops and len(affine) == len(access):
            self.operands.append((value, affine))
            return self.block.insert_arg(element, len(self.operands) - 1)
        places = [self.index(place) for place in access]
        return self._emit(tensor.ExtractOp, (value, *places), (element,), {})

    def is_only(self, generic: GenericOp) -> bool:
        """Whether the body computes what a generic does, and nothing else but constants."""
        return all(computed is generic or not inputs_of(computed) for computed, _ in self._inlined)

    def keep(self, value: SSAValue, affine: tuple[AffineExpr, ...]) -> None:
        """Keep an operand that nothing reads."""
        self.operands.append((value, affine))
        self.block.insert_arg(cast(Any, value.type).element_type, len(self.operands) - 1)

    def compute(self, generic: GenericOp, access: Access) -> list[SSAValue]:
        """
        Compute the element that a parallel generic yields at the point `access` of its loops.

        Its producers are computed first, with an explicit stack because chains may be long.
        """
        return self._compute(generic, self._one(access))

    def _compute(self, generic: GenericOp, access: Access) -> list[SSAValue]:
        known = self._inlined
        stack = [(generic, access)]
        while stack:
            user, place = stack[-1]
            if (user, id(place)) not in known:
                missing = [found for found in self._producers(user, place) if (found[0], id(found[1])) not in known]
                if missing:
                    stack += reversed(missing)
                    continue
                known[user, id(place)] = self._clone_body(user, place, None)
            stack.pop()
        return known[generic, id(access)]

    def combine(self, generic: GenericOp, accumulators: Sequence[SSAValue]) -> list[SSAValue]:
        """
        The values that a generic yields at its own loop point, with `accumulators` as the elements of its outputs.
        """
        access = self._one(point(len(generic.iterator_types)))
        if CONTRACTION in generic.attributes:
            return self._clone_body(generic, access, accumulators)  # its factors keep their order
        for producer, place in self._producers(generic, access):
            self._compute(producer, place)
        return self._clone_body(generic, access, accumulators)

    def _producers(self, generic: GenericOp, access: Access) -> list[tuple[GenericOp, Access]]:
        """The fused generics that produce a body's arguments, with their accesses."""
        found: list[tuple[GenericOp, Access]] = []
        for argument, operand, attr in zip(
            generic.body.block.args, inputs_of(generic), generic.indexing_maps.data, strict=False
        ):
            if argument.first_use is not None:
                producer = self.producer_of(operand)
                if producer is not None:
                    found.append((producer, self._compose(attr.data.results, access)))
        return found

    def _clone_body(
        self, generic: GenericOp, access: Access, accumulators: Sequence[SSAValue] | None
    ) -> list[SSAValue]:
        source = generic.body.block
        operands = list(operands_of(generic))
        count = len(operands) - (len(generic.results) if accumulators is not None else 0)
        values: dict[SSAValue, SSAValue] = dict(zip(source.args[count:], accumulators or (), strict=True))
        maps = generic.indexing_maps.data
        for argument, operand, attr in zip(source.args[:count], operands[:count], maps[:count], strict=True):
            if argument.first_use is not None:
                values[argument] = self._element(operand, self._compose(attr.data.results, access))
        for op in source.ops:
            if op is source.last_op:
                break
            self._clone(op, values, access)
        assert source.last_op is not None, "a generic's body has a terminator"
        return [values.get(operand, operand) for operand in operands_of(source.last_op)]

    def _clone(self, op: Operation, values: dict[SSAValue, SSAValue], access: Access) -> None:
        operands = [values.get(operand, operand) for operand in operands_of(op)]
        if type(op) is IndexOp:
            values[op.results[0]] = self.index(access[op.dim.value.data])
        elif type(op) is tensor.ExtractOp:
            values[op.result] = self.element(op.tensor, tuple(operands[1:]))
        elif op.regions or len(op.results) != 1:
            new = clone_op(op, values)
            self.block.add_op(new)
            values.update(zip(op.results, new.results, strict=True))
        else:
            folded = self._folded(op, operands) if type(op) in _FOLDED else None
            values[op.results[0]] = folded or self._emit(type(op), operands, (op.results[0].type,), op.properties, op)

    def _folded(self, op: Operation, operands: Sequence[SSAValue]) -> SSAValue | None:
        """
        The value of a comparison of constant integers, or of a choice by one or by it and others: a shift by a constant
        has both, because an amount that is not below the width gives zero, and so has a division.
        """
        if type(op) is arith.SelectOp:
            condition = operands[0].owner
            return operands[1 if _integer(condition) else 2] if _is_integer(condition) else None
        if type(op) is not arith.CmpiOp:
            return _joined(op, operands) if operands[0].type == i1 else None
        owners = [operand.owner for operand in operands]
        if not all(map(_is_integer, owners)) or operands[0].type == i1:
            return None
        # Only programs with such a comparison load the evaluator.
        from ...hlo_dialect.numbers.scalar_operations import constant, scalar_function

        compare = scalar_function(op)
        assert compare is not None, "comparisons of integers have a value"
        holds = bool(compare(*(constant(cast(Operation, owner)) for owner in owners)))
        return self._emit(arith.ConstantOp, (), (i1,), {"value": _TRUE if holds else _FALSE})

    # -- operations --------------------------------------------------------------------------------

    def _emit(
        self,
        cls: type[Operation],
        operands: Sequence[SSAValue],
        types: Sequence[Attribute],
        properties: dict[str, Attribute],
        origin: Operation | None = None,
    ) -> SSAValue:
        """The result of an operation, emitted unless an equal one exists: bodies hold only pure operations."""
        key = (cls, *operands, *map(self._number, properties.values()), *map(self._number, types))
        found = self._known.get(key)
        if found is None:
            op = create_op(cls, operands=operands, result_types=types, properties=dict(properties))
            if origin is not None:
                op.location = origin.location
                op.attributes = dict(origin.attributes)
            append(self.block, op)
            found = self._known[key] = op.results[0]
        return found

    # -- indices ------------------------------------------------------------------------------------

    def _compose(self, expressions: Sequence[AffineExpr], access: Access) -> Access:
        """The results of expressions in a producer's dimensions when these are at `access`."""
        key = (id(expressions), id(access))
        known = self._compositions.get(key)
        if known is not None:
            return known[1]
        if any(map(_is_value, access)):
            found = self._one(tuple(self._composed(expr, access) for expr in expressions))
        else:
            affine: Any = access
            found = self._one(tuple([substitute(expr, affine) for expr in expressions]))
        self._compositions[key] = (expressions, found)
        return found

    def _composed(self, expr: AffineExpr, access: Access) -> AffineExpr | SSAValue:
        expr = without_part(expr)
        if isinstance(expr, AffineDimExpr):
            return access[expr.position]
        if not isinstance(expr, AffineBinaryOpExpr):
            return expr
        left, right = self._composed(expr.lhs, access), self._composed(expr.rhs, access)
        if isinstance(left, AffineExpr) and isinstance(right, AffineExpr):
            return AffineExpr.binary(expr.kind, left, right)
        return self._arithmetic(expr.kind, self.index(left), self.index(right))

    def index(self, place: AffineExpr | SSAValue) -> SSAValue:
        """An index as a value: an expression in the loop's dimensions becomes arithmetic."""
        if isinstance(place, SSAValue):
            return place
        if isinstance(place, AffineDimExpr):
            return self._emit(IndexOp, (), (INDEX,), {"dim": integer_attr(place.position, i64)})
        if isinstance(place, AffineConstantExpr):
            return self._emit(arith.ConstantOp, (), (INDEX,), {"value": integer_attr(place.value, INDEX)})
        assert isinstance(place, AffineBinaryOpExpr), "index maps have no symbols"
        return self._arithmetic(place.kind, self.index(place.lhs), self.index(place.rhs))

    def _arithmetic(self, kind: AffineBinaryOpKind, left: SSAValue, right: SSAValue) -> SSAValue:
        return self._emit(_INDEX_OPS[kind], (left, right), (INDEX,), {"overflowFlags": MAY_WRAP})
