"""Each kernel as few generics as it can be: producers go into the bodies of what reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import arith, func, math, tensor
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, DenseArrayBase, IntegerType, ModuleOp, i64
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import FillOp, GenericOp, YieldOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ..hlo_dialect.hlo_pass import HloPass
from .linalg_bodies import Access, FusedBody

RECOMPUTED_COST = 8
"""A value that several generics need is computed in each of them up to this cost, else once, into memory."""

_COSTS: dict[type[Operation], int] = {arith.DivfOp: 6, math.SqrtOp: 6, math.AbsFOp: 1, math.CopySignOp: 1}


def _cost(generic: GenericOp) -> int:
    """Roughly the instructions of a body; an elementary function counts 16."""
    total = 0
    for op in generic.body.block.ops:
        default = 16 if op.name.startswith("math.") else 0 if isinstance(op, (arith.ConstantOp, YieldOp)) else 1
        total += _COSTS.get(type(op), default)
    return total


def is_parallel(generic: GenericOp) -> bool:
    return all(kind.data is IteratorType.PARALLEL for kind in generic.iterator_types.data)


@lru_cache(maxsize=64)
def _point(rank: int) -> Access:
    return tuple(AffineExpr.dimension(dim) for dim in range(rank))


@lru_cache(maxsize=1024)
def _map_attr(rank: int, access: Access) -> AffineMapAttr:
    return AffineMapAttr(AffineMap(rank, 0, access))


@dataclass
class Plan:
    """Which generics stay; the others are computed inside those that read them."""

    groups: list[list[GenericOp]]
    """The generics that stay, in order; those of one group become one generic."""
    inlined: set[GenericOp] = field(default_factory=set[GenericOp])


def plan_kernel(block: Block) -> Plan:
    """
    Decide for a kernel's block.

    A generic stays when it reduces, when something else than a generic reads its result (the function's return, an
    insert, a body that reads at a computed place), or when several that stay need it and it is not cheap.
    """
    generics = [op for op in block.ops if isinstance(op, GenericOp)]
    costs: dict[GenericOp, int] = {}
    for generic in generics:
        producers = {operand.owner for operand in generic.inputs if isinstance(operand.owner, GenericOp)}
        costs[generic] = _cost(generic) + sum(costs[producer] for producer in _ordered(producers, generics))
    readers: dict[GenericOp, set[int]] = {}
    stays: list[GenericOp] = []
    plan = Plan([])
    for number, generic in reversed(list(enumerate(generics))):
        users = [user for result in generic.results for user in _users(result)]
        needed = set[int]().union(*(readers[user] for user in users if user is not None))
        returned = any(user is None for user in users)
        if returned or not is_parallel(generic) or (len(needed) > 1 and costs[generic] > RECOMPUTED_COST):
            stays.append(generic)
            readers[generic] = {number}
        else:
            plan.inlined.add(generic)
            readers[generic] = needed
    plan.groups = _groups(stays[::-1], plan.inlined)
    return plan


def _ordered(found: set[Any], generics: list[GenericOp]) -> list[GenericOp]:
    return [generic for generic in generics if generic in found]


def _users(value: SSAValue) -> list[GenericOp | None]:
    """The generics that read a value as an input; None for any other use of it."""
    users: list[GenericOp | None] = []
    for use in value.uses:
        user = use.operation
        is_input = isinstance(user, GenericOp) and use.index < len(user.inputs)
        users.append(user if is_input else None)
    return users


def _groups(stays: list[GenericOp], inlined: set[GenericOp]) -> list[list[GenericOp]]:
    """
    Generics over one iteration space become one when only the function's return and the group itself read their
    results: what a later member reads of an earlier one is then a value of the body.
    """
    groups: list[list[GenericOp]] = []
    by_space: dict[Any, list[GenericOp]] = {}
    for generic in stays:
        space = (_extents(generic), generic.iterator_types)
        group = by_space.get(space)
        if "xhlo.contraction" in generic.attributes:
            groups.append([generic])
        elif group is not None and all(_read_only_by(member, {*group, generic}, inlined) for member in group):
            group.append(generic)
        else:
            by_space[space] = group = [generic]
            groups.append(group)
    return groups


def _read_only_by(member: GenericOp, allowed: set[GenericOp], inlined: set[GenericOp]) -> bool:
    """Whether nothing but the return and the allowed ones read the member, those at the same point of the loop."""
    for result in member.results:
        for use in result.uses:
            user = use.operation
            if isinstance(user, func.ReturnOp):
                continue
            if not isinstance(user, GenericOp) or use.index >= len(user.inputs):
                return False
            if user.indexing_maps.data[use.index].data.results != _point(len(member.iterator_types)):
                return False
            if user not in allowed and not (user in inlined and _read_only_by(user, allowed, inlined)):
                return False
    return True


def _extents(generic: GenericOp) -> tuple[int, ...]:
    """The loop's sizes, read off the operands that a plain dimension indexes."""
    rank = len(generic.iterator_types)
    sizes = [-1] * rank
    for value, attr in zip(generic.operands, generic.indexing_maps.data, strict=True):
        shape: tuple[int, ...] = cast(Any, value.type).get_shape()
        for size, expr in zip(shape, attr.data.results, strict=True):
            position = getattr(expr, "position", None)
            if position is not None:
                sizes[position] = size
    return tuple(sizes)


def build_group(group: list[GenericOp], inlined: set[GenericOp]) -> None:
    """Replace the group by one generic at the place of its last member."""
    last = group[-1]
    members = set(group)
    rank = len(last.iterator_types)

    def producer_of(value: SSAValue) -> GenericOp | None:
        owner = value.owner
        return (
            owner
            if isinstance(owner, GenericOp) and (owner in inlined or (owner in members and len(members) > 1))
            else None
        )

    body = FusedBody(rank, producer_of)
    outputs = [output for generic in group for output in generic.outputs]
    out_args = [Block(arg_types=[cast(Any, output.type).element_type]).args[0] for output in outputs]
    yielded: list[SSAValue] = []
    taken = 0
    for generic in group:
        count = len(generic.outputs)
        yielded += body.inline(generic, _point(rank), out_args[taken : taken + count])
        taken += count
    for placeholder in out_args:
        argument = body.block.insert_arg(placeholder.type, len(body.block.args))
        placeholder.replace_all_uses_with(argument)
        yielded = [argument if value is placeholder else value for value in yielded]
    body.block.add_op(YieldOp(*yielded))
    inputs = list(body.operands)
    out_maps = [attr for generic in group for attr in generic.indexing_maps.data[len(generic.inputs) :]]
    attributes = dict(last.attributes)
    if not is_parallel(last):
        attributes["xhlo.loop_sizes"] = DenseArrayBase.from_list(i64, _extents(last))
    new = GenericOp.create(
        operands=[*(value for value, _ in inputs), *outputs],
        result_types=[output.type for output in outputs],
        properties={
            "indexing_maps": ArrayAttr([*(_map_attr(rank, access) for _, access in inputs), *out_maps]),
            "iterator_types": last.iterator_types,
            "operandSegmentSizes": DenseArrayBase.from_list(IntegerType(32), (len(inputs), len(outputs))),
        },
        attributes=attributes,
        regions=[Region(body.block)],
        location=last.location,
    )
    cast(Block, last.parent).insert_op_before(new, last)
    old = [result for generic in group for result in generic.results]
    for before, after in zip(old, new.results, strict=True):
        after.name_hint = before.name_hint
        before.replace_all_uses_with(after)


_PURE = (GenericOp, FillOp, tensor.EmptyOp, tensor.ExtractOp, tensor.CollapseShapeOp, tensor.ExpandShapeOp)


def erase_dead(ops: Sequence[Operation]) -> None:
    """Erase generics and what only they used, from the end."""
    for op in reversed(ops):
        removable = isinstance(op, (GenericOp, FillOp, tensor.EmptyOp, tensor.ExtractOp)) or op.name.startswith(
            "arith."
        )
        if removable and all(result.first_use is None for result in op.results):
            op.detach()
            op.erase()


@dataclass(frozen=True)
class FuseLinalgPass(HloPass):
    """
    The generics of a kernel become as few as possible.

    Before: `%1 = linalg.generic {mul} (%x, %x)`, `%2 = linalg.generic {add} (%1, %y)`
    After:  `%2 = linalg.generic {mul, add} (%x, %y)`
    Assumes: the level after convert-hlo-to-linalg; parallel generics write their results in order (identity map).
    Leaves: in a loop kernel one generic; else one for each reduction, for each result, and for each value that several
            of those need and that is not cheap to compute again.
    """

    name = "fuse-linalg"

    def run(self, ctx: Context, module: ModuleOp) -> None:
        for function in module.body.block.ops:
            if not isinstance(function, func.FuncOp) or "hlo.kernel" not in function.attributes:
                continue
            block = function.body.block
            plan = plan_kernel(block)
            old = list(block.ops)
            for group in plan.groups:
                build_group(group, plan.inlined)
            erase_dead(old)
