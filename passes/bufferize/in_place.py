"""
The kernels that may write a result over an argument: each element is read before it is overwritten, and not after.

A kernel reads argument A and writes result R. Both may be one buffer if the operation that computes R reads A only at
the indices at which it writes, no later operation reads A, and earlier ones have finished when it begins. The same
holds if operations compute the parts of a concatenation, as of an update of most of A whose border is A's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects import func, tensor
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.traits import is_side_effect_free

from ...dialects.linalg_ext.calls import HostCallOp
from ...dialects.support.buffer_ops import is_tensor
from ...dialects.support.kernel import CONTRACTION, Kernel
from ...lowering.loop_nests.index_maps import is_row_access, without_part

InPlace = Mapping[int, Sequence[int]]
"""The arguments that each result may be written over, by the number of the result."""


@dataclass
class KernelFacts:
    """The facts of a kernel that host functions need."""

    kernel: Kernel
    over: InPlace
    has_effects: bool
    """Whether it calls functions of the host program."""

    @staticmethod
    def of(function: func.FuncOp, may_overwrite: bool) -> KernelFacts:
        """The facts of a kernel of linalg on tensors; without `may_overwrite` it writes results over no argument."""
        calls = any(type(op) is HostCallOp for op in function.body.block.ops)
        return KernelFacts(Kernel(function), in_place(function) if may_overwrite else {}, calls)

    def updated(self, index: int) -> Sequence[int]:
        """The arguments of which result `index` is an update, or that it may be written over."""
        tied = self.kernel.tied
        return tied[index : index + 1] if index < len(tied) else self.over.get(index, ())


def has_effects(op: Operation, kernels: Mapping[str, KernelFacts]) -> bool:
    """Whether an operation of a host function, or one in its regions, does more than compute values."""
    if isinstance(op, func.CallOp):
        facts = kernels.get(op.callee.root_reference.data)
        return facts is None or facts.has_effects
    if op.regions:
        inner = (each for region in op.regions for block in region.blocks for each in block.ops)
        return any(has_effects(each, kernels) for each in inner)
    return not is_side_effect_free(op)


def in_place(function: func.FuncOp) -> InPlace:
    """The possibilities of a kernel of linalg on tensors; they are independent of each other."""
    block = function.body.block
    terminator = block.last_op
    if len(function.body.blocks) != 1 or not isinstance(terminator, func.ReturnOp):
        return {}
    order = {op: position for position, op in enumerate(block.ops)}
    kernel = Kernel(function)
    maps = _Maps()
    found: dict[int, Sequence[int]] = {}
    # Results that one operation writes at the same indices may be written over the same arguments.
    known: dict[tuple[object, ...], Sequence[int]] = {}
    for number, value in enumerate(terminator.operands):
        if number >= len(kernel.tied) and isinstance(value.owner, tensor.InsertSliceOp):
            parts = _parts(value, terminator, maps)
            arguments = [argument for argument in block.args if argument.type == value.type] if parts else []
            if over := tuple(a.index for a in arguments if _is_dead_outside(a, parts, order, maps)):
                found[number] = over
        if number < len(kernel.tied) or not _is_written_once(value, terminator, maps):
            continue
        key = (value.owner, maps.written(value), value.type)
        if key not in known:
            known[key] = tuple(
                argument.index
                for argument in block.args
                if argument.type == value.type and _is_dead_when_written(argument, value, order, kernel.rows, maps)
            )
        if known[key]:
            found[number] = known[key]
    return found


class _Maps:
    """The indexing maps of operations, each read once."""

    def __init__(self) -> None:
        self._maps: dict[GenericOp, list[AffineMap]] = {}
        self._inputs: dict[GenericOp, int] = {}

    def inputs(self, op: GenericOp) -> int:
        """The number of operands that the operation reads, which come before those that it writes."""
        if op not in self._inputs:
            self._inputs[op] = len(op.inputs)
        return self._inputs[op]

    def of(self, op: GenericOp) -> list[AffineMap]:
        if op not in self._maps:
            self._maps[op] = [attribute.data for attribute in op.indexing_maps.data]
        return self._maps[op]

    def written(self, value: SSAValue) -> AffineMap:
        """The indices at which the operation that computes `value` writes it."""
        assert isinstance(value, OpResult) and isinstance(value.op, GenericOp)
        return self.of(value.op)[self.inputs(value.op) + value.index]


def _is_written_once(value: SSAValue, terminator: Operation, maps: _Maps) -> bool:
    """Whether each iteration of one operation writes an element of a result of its own."""
    writer = value.owner
    return (
        isinstance(writer, GenericOp)
        and isinstance(value, OpResult)
        and _is_permutation(maps.written(value))
        and CONTRACTION not in writer.attributes
        and all(kind.data is IteratorType.PARALLEL for kind in writer.iterator_types.data)
        and isinstance(writer.operands[maps.inputs(writer) + value.index].owner, tensor.EmptyOp)
        and is_tensor(value)
        and [use.operation for use in value.uses].count(terminator) == 1
    )


def _is_dead_when_written(
    argument: SSAValue, value: SSAValue, order: Mapping[Operation, int], rows: int, maps: _Maps
) -> bool:
    writer = value.owner
    assert isinstance(writer, GenericOp)
    written = maps.written(value)
    for use in argument.uses:
        user = use.operation
        if not isinstance(user, GenericOp) or user not in order or use.index >= maps.inputs(user):
            return False
        read = maps.of(user)[use.index]
        if user is writer:
            safe = read == written
        else:
            by_rows = not rows or (is_row_access(read, rows) and is_row_access(written, rows))
            safe = by_rows and order[user] < order[writer] and CONTRACTION not in user.attributes
        if not safe:
            return False
    return True


def _parts(value: SSAValue, user: Operation, maps: _Maps) -> dict[Operation, tuple[int, ...]]:
    """
    The operations that write the parts of a result at their own indices, and where each begins; none unless all of it
    is made of such parts, which nothing but `user` and the concatenations reads.
    """
    found: dict[Operation, tuple[int, ...]] = {}
    pending = [(value, (0,) * len(cast(TensorType[Any], value.type).get_shape()), user)]
    while pending:
        part, first, reader = pending.pop()
        op = part.owner
        if isinstance(op, tensor.EmptyOp):
            continue
        if not isinstance(op, Operation) or not part.has_one_use() or part.get_user_of_unique_use() is not reader:
            return {}
        if isinstance(op, tensor.InsertSliceOp):
            begins = op.static_offsets.get_values()
            if op.offsets or len(begins) != len(first) or any(step != 1 for step in op.static_strides.get_values()):
                return {}
            pending.append((op.dest, first, op))
            pending.append((op.source, tuple(a + b for a, b in zip(first, begins, strict=True)), op))
        elif op in found or not _is_written_once(part, reader, maps) or not _is_identity(maps.written(part)):
            return {}
        else:
            found[op] = first
    return found


def _is_dead_outside(
    argument: SSAValue, parts: Mapping[Operation, Sequence[int]], order: Mapping[Operation, int], maps: _Maps
) -> bool:
    """Whether each part reads an argument only where it writes, and everything else before the first part."""
    begin = min(order[part] for part in parts)
    for use in argument.uses:
        user = use.operation
        if not isinstance(user, GenericOp) or user not in order or use.index >= maps.inputs(user):
            return False
        if (first := parts.get(user)) is None:
            if order[user] > begin or CONTRACTION in user.attributes:
                return False
            continue
        own = (AffineExpr.dimension(dim) + at if at else AffineExpr.dimension(dim) for dim, at in enumerate(first))
        if tuple(map(without_part, maps.of(user)[use.index].results)) != tuple(own):
            return False
    return True


def _is_identity(map_: AffineMap) -> bool:
    return map_.results == AffineMap.identity(map_.num_dims).results


def _is_permutation(map_: AffineMap) -> bool:
    dims = {expr.position for expr in map_.results if isinstance(expr, AffineDimExpr)}
    return len(dims) == len(map_.results) == map_.num_dims
