"""
The dimension of a loop's tensors along which its iterations treat every row by itself.

A recurrence over a batch carries tensors with a row for each sequence: no row is computed from others. `rows_of` finds
the dimension of each tensor that numbers the rows, by the factors of operations that propagate-shardings knows: a row
passes an operation if all its results have the factor, and it is neither reduced, reversed nor moved.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ...dialects.support.classes import one_of
from ...hlo_dialect.attributes import ints
from ...hlo_dialect.loops import Loop
from ...hlo_dialect.op import is_elementwise
from ...hlo_dialect.ops.contraction import DotGeneralOp
from ...hlo_dialect.ops.control_flow import ReturnOp
from ...hlo_dialect.ops.creation import ConstantOp, IotaOp
from ...hlo_dialect.ops.dynamic import DynamicSliceOp, DynamicUpdateSliceOp
from ...hlo_dialect.ops.gather import GatherOp
from ...hlo_dialect.ops.movement import BroadcastInDimOp, ReshapeOp, ReverseOp, TransposeOp
from ...hlo_dialect.ops.reduction import ReduceOp
from ...hlo_dialect.ops.slicing import ConcatenateOp, PadOp, SliceOp
from ...hlo_dialect.ops.window import ReduceWindowOp
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.sharding.factors import ShardingRule
from ...hlo_dialect.types import shape_of
from ..propagate_shardings.rules import rule_of

_is_passed = one_of(
    ReturnOp,
    BroadcastInDimOp,
    ConcatenateOp,
    ConstantOp,
    DotGeneralOp,
    DynamicSliceOp,
    DynamicUpdateSliceOp,
    GatherOp,
    IotaOp,
    PadOp,
    ReduceOp,
    ReduceWindowOp,
    ReshapeOp,
    ReverseOp,
    SliceOp,
    TransposeOp,
)
"""The operations besides elementwise ones that a loop over rows may have."""


class _Dependent(Exception):
    """Rows depend on each other, and why."""


@dataclass
class Rows:
    """The rows of a loop: their number, and the dimension that numbers them, by value of the body."""

    loop: Loop
    count: int
    dims: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """It has the values of the body with a row for each; the others are the same for all rows."""
    rules: dict[Operation, ShardingRule | None] = field(default_factory=dict[Operation, ShardingRule | None])
    """The factors of operations, as they are found."""

    @property
    def carried(self) -> dict[int, int]:
        """The dimension of each carried tensor that has rows, by position."""
        args = self.loop.body.args
        return {argument.index: self.dims[argument] for argument in args if argument in self.dims}

    def places(self, op: Operation) -> Sequence[int | None]:
        """The dimension that numbers the rows of each operand and result of an operation; None where nothing does."""
        factor, rule = self.factor(op)
        if factor is None or rule is None:
            return (None,) * (len(op.operands) + len(op.results))
        return [next((dim for dim, factors in enumerate(dims) if factors == [factor]), None) for dims in rule.tensors]

    def factor(self, op: Operation) -> tuple[int | None, ShardingRule | None]:
        """The factor of an operation that numbers the rows, and all its factors. Raises _Dependent."""
        values = (*op.operands, *op.results)
        if self.dims.keys().isdisjoint(values):
            return None, None
        if op not in self.rules:
            self.rules[op] = rule_of(op)
        rule = self.rules[op]
        if rule is None:
            raise _Dependent(f"{op.name} is not computed row by row")
        found: set[int] = set()
        for value, of in zip(values, rule.tensors, strict=True):
            if value in self.dims:
                factors = of[self.dims[value]]
                if len(factors) != 1:
                    raise _Dependent(f"{op.name} mixes rows with other dimensions")
                found.add(factors[0])
        if len(found) > 1:
            raise _Dependent(f"{op.name} combines rows with each other")
        (factor,) = found
        if any(factor in factors and factors != [factor] for dims in rule.tensors for factors in dims):
            raise _Dependent(f"{op.name} mixes rows with other dimensions")
        return factor, rule


def rows_of(loop: Loop) -> Rows | str:
    """The rows of a loop, in which most of its values have a part; in words why it has none."""
    reason = _refusal(loop)
    if reason is not None:
        return reason
    reason, far = "it carries no tensors", 0
    best: Rows | None = None
    rules: dict[Operation, ShardingRule | None] = {}
    tried: set[tuple[SSAValue, int]] = set()
    # The state is smaller than what is stacked, and known to be in rows sooner.
    tensors = sorted(filter(shape_of, loop.body.args), key=lambda argument: math.prod(shape_of(argument)))
    for argument in tensors:
        for dim, size in enumerate(shape_of(argument)):
            if size < 2 or (argument, dim) in tried:
                continue
            found = Rows(loop, size, rules=rules)
            try:
                _spread(found, argument, dim)
            except _Dependent as error:
                if len(found.dims) > far:
                    reason, far = str(error), len(found.dims)
                continue
            tried |= found.dims.items()
            if best is None or len(found.dims) > len(best.dims):
                best = found
        if best is not None and len(best.carried) == len(tensors):
            break
    return reason if best is None else best


def rows_along(loop: Loop, position: int, dim: int) -> Rows:
    """The rows of a loop that a dimension of a carried tensor is known to number."""
    start = loop.body.args[position]
    rows = Rows(loop, shape_of(start)[dim])
    _spread(rows, start, dim)
    return rows


def _refusal(loop: Loop) -> str | None:
    for value in loop.body.args:
        if not is_static(shape_of(value)):
            return "it carries a tensor whose shape is not known"
    for op in loop.body.ops:
        if not _is_passed(op) and not is_elementwise(op):
            return f"{op.name} is not computed row by row"
    return None


def _spread(rows: Rows, start: BlockArgument, dim: int) -> None:
    """Find the rows in all values, from a carried tensor that numbers them by a dimension. Raises _Dependent."""
    loop, body = rows.loop, rows.loop.body
    pending: list[tuple[SSAValue, Operation | None]] = []

    def assign(value: SSAValue, dim: int, by: Operation | None = None) -> None:
        if not _has_place(value, body):
            return
        if value not in rows.dims:
            rows.dims[value] = dim
            pending.append((value, by))
        elif rows.dims[value] != dim:
            raise _Dependent("a tensor has its rows along two dimensions")

    def follow(value: SSAValue, op: Operation) -> None:
        """Find the rows of the other values of an operation that reads or makes one."""
        if isinstance(op, ReturnOp):
            for argument, returned in zip(body.args, op.operands, strict=True):
                if returned is value:
                    assign(argument, rows.dims[value])
            return
        places = rows.places(op)
        for other, place in zip((*op.operands, *op.results), places, strict=True):
            if place is not None:
                assign(other, place, op)
        _check(op, places, rows)

    assign(start, dim)
    while pending:
        value, by = pending.pop()
        if isinstance(value, BlockArgument):
            assign(loop.returned[value.index], rows.dims[value])
        neighbours = [value.owner] if isinstance(value.owner, Operation) else []
        for op in (*neighbours, *_users(value, body)):
            # The operation that gave it its rows knows them, unless it reads it twice: rows times themselves.
            if op is not by or op.operands.count(value) > 1:
                follow(value, op)
    if any(argument.first_use for argument in loop.cond.args if loop.body.args[argument.index] in rows.dims):
        raise _Dependent("its condition depends on its rows")


def _has_place(value: SSAValue, body: Block) -> bool:
    """Whether the value is computed in the body, by more than an index or a number: such may be read along any."""
    owner = value.owner
    if type(value) is BlockArgument:
        return owner is body
    return owner.parent is body and not is_repeated(owner)


is_repeated = one_of(ConstantOp, IotaOp)
"""Whether each tile makes its own part of an operation's result, along the dimension that is asked for."""


def _users(value: SSAValue, block: Block) -> Iterator[Operation]:
    """The operations of the body that use a value; itself or in a region."""
    for use in value.uses:
        op: Operation | None = use.operation
        while op is not None and op.parent is not block:
            op = op.parent_op()
        if op is not None:
            yield op


def _check(op: Operation, places: Sequence[int | None], rows: Rows) -> None:
    """Raise _Dependent unless each row of the operation's results is that of its operands."""
    rule = rows.rules[op]
    of_results = places[len(op.operands) :]
    if rule is None or None in of_results or rule.results[0][of_results[0] or 0][0] in rule.special:
        raise _Dependent(f"{op.name} combines rows with each other")
    moved = False
    match op:
        case ReverseOp():
            moved = of_results[0] in ints(op.dimensions)
        case PadOp():
            edges = (op.edge_padding_low, op.edge_padding_high, op.interior_padding)
            moved = any(ints(each)[of_results[0] or 0] for each in edges)
        case ReduceWindowOp():
            of = op.window
            fields = (of.dimensions, of.strides, of.base_dilations, of.dilations, of.low, of.high)
            moved = tuple(each[of_results[0] or 0] for each in fields) != (1, 1, 1, 1, 0, 0)
        case DynamicUpdateSliceOp():
            moved = places[1] is None
        case GatherOp():
            moved = places[0] is None and places[1] is None  # along a part of each slice
        case _:
            pass
    if moved:
        raise _Dependent(f"{op.name} moves rows")
