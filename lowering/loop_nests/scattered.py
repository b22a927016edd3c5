"""
Loops that read or write elements at places that are apart in memory.

Where vectors cannot be scattered, LLVM computes the place of each lane by itself and stores the elements of a vector
one by one, each under its condition. A loop that computes what it stores gains by vectors all the same; one that only
moves elements does not, and compiles in less than half of the time without.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import StridedLayoutAttr
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.support.buffers import row_major
from ...dialects.support.classes import one_of
from ...hlo_dialect.walking import operations_of
from .kernel_builder import known_number
from .loop_builder import buffer_of

MOST_APART = 8
"""Vectors are shuffled and stored where elements are at most so far apart, a limit of LLVM's."""

_is_cast = one_of(arith.IndexCastOp, arith.ExtSIOp, arith.ExtUIOp, arith.TruncIOp)


def scatters(loop: scf.ForOp) -> bool:
    """
    Whether a loop without loops inside, which carries no values, writes elements that are apart, and only those that it
    has loaded.
    """
    if loop.iter_args:
        return False
    body = loop.body.block
    stores = list(_stores(body))
    moves = all(type(op.value.owner) is memref.LoadOp for op in stores)
    return moves and any(_is_apart(op, body) for op in stores)


def gathers(loop: scf.ForOp) -> list[memref.LoadOp]:
    """The loads of a loop without regions inside at places that follow from data, not from the iteration alone."""
    body = loop.body.block
    loads = (op for op in operations_of(body) if type(op) is memref.LoadOp)
    return [op for op in loads if step_of_access(op, body) is None]


def _stores(block: Block) -> Iterator[memref.StoreOp]:
    """The stores of a block and of its conditionals."""
    for op in operations_of(block):
        if type(op) is memref.StoreOp:
            yield op
        elif type(op) is scf.IfOp:
            for region in op.regions:
                for inside in region.blocks:
                    yield from _stores(inside)


def _is_apart(store: memref.StoreOp, body: Block) -> bool:
    step = step_of_access(store, body)
    return step is None or abs(step) > MOST_APART


def step_of_access(access: memref.LoadOp | memref.StoreOp, body: Block) -> int | None:
    """
    How many elements of a buffer are from the element of an iteration to that of the next one; None if that varies or
    is not known.
    """
    buffer, indices = access.memref, access.indices
    steps: dict[SSAValue, int | None] = {}
    type_ = buffer_of(buffer)
    layout, shape = type_.layout, type_.get_shape()
    strides = layout.get_strides() if isinstance(layout, StridedLayoutAttr) else row_major(tuple(shape))
    whole = 0
    for index, stride in zip(indices, strides, strict=True):
        step = _step_of(index, body, steps)
        if step is None or (step and stride is None):
            return None
        whole += step and step * (stride or 0)
    owner = buffer.owner
    if isinstance(owner, memref.ReinterpretCastOp) and owner.offsets:
        begin = _step_of(owner.offsets[0], body, steps)
        return None if begin is None else whole + begin
    return whole


def _step_of(value: SSAValue, body: Block, steps: dict[SSAValue, int | None]) -> int | None:
    """
    How much greater a number is in the next iteration; None if that varies or is not known. `steps` receives those that
    are found, since long chains refer to a number several times.
    """
    if value not in steps:
        steps[value] = _step_through(value, body, steps)
    return steps[value]


def _step_through(value: SSAValue, body: Block, steps: dict[SSAValue, int | None]) -> int | None:
    """The step of a number by those of the numbers from which it is computed."""
    owner = value.owner
    if owner is body:
        return 1 if value is body.args[0] else None
    if isinstance(owner, Block) or not _is_inside(owner, body):
        return 0
    if _is_cast(owner):
        return _step_of(owner.operands[0], body, steps)
    if len(owner.operands) == 2:
        one, other = (_step_of(operand, body, steps) for operand in owner.operands)
        if one is None or other is None:
            return None
        if one == other == 0:
            return 0
        match owner:
            case arith.AddiOp():
                return one + other
            case arith.SubiOp():
                return one - other
            case arith.MuliOp() if not other and (factor := known_number(owner.rhs)) is not None:
                return one * factor
            case arith.MuliOp() if not one and (factor := known_number(owner.lhs)) is not None:
                return other * factor
            case _:
                return None
    return 0 if type(owner) is arith.ConstantOp else None


def _is_inside(op: Operation, body: Block) -> bool:
    """Whether an operation is in a block, or in a conditional there."""
    block = op.parent
    while block is not None and block is not body:
        around = block.parent_op()
        block = around.parent if type(around) is scf.IfOp else None
    return block is body
