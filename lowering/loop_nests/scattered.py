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
    stores = [op for op in _operations(body) if type(op) is memref.StoreOp]
    if not stores or any(type(op.value.owner) is not memref.LoadOp for op in stores):
        return False
    steps = Steps(body)
    return any(_is_apart(steps.of_access(op)) for op in stores)


def _is_apart(step: int | None) -> bool:
    return step is None or abs(step) > MOST_APART


def gathers(loop: scf.ForOp) -> list[memref.LoadOp]:
    """The loads of a loop without regions inside at places that follow from data, not from the iteration alone."""
    body = loop.body.block
    loads = [op for op in operations_of(body) if type(op) is memref.LoadOp]
    steps = Steps(body)
    return [op for op in loads if steps.of_access(op) is None]


class Steps:
    """How much numbers grow from an iteration of a loop to the next one, where that is the same for all."""

    def __init__(self, body: Block) -> None:
        """`body`: that of a loop without loops inside; conditionals are looked into."""
        self._found: dict[SSAValue, int | None] = dict.fromkeys(body.args)
        self._found[body.args[0]] = 1
        for op in _operations(body):
            step = self._of_result(op)
            for result in op.results:
                self._found[result] = step

    def of(self, value: SSAValue) -> int | None:
        """The step of a number; None if it varies or is not known."""
        return self._found.get(value, 0)

    def of_access(self, access: memref.LoadOp | memref.StoreOp) -> int | None:
        """
        How many elements of a buffer are from the element of an iteration to that of the next one; None if that varies
        or is not known.
        """
        type_ = buffer_of(access.memref)
        layout, shape = type_.layout, type_.get_shape()
        strides = layout.get_strides() if isinstance(layout, StridedLayoutAttr) else row_major(tuple(shape))
        whole = 0
        for index, stride in zip(access.indices, strides, strict=True):
            step = self.of(index)
            if step is None or (step and stride is None):
                return None
            whole += step and step * (stride or 0)
        owner = access.memref.owner
        if isinstance(owner, memref.ReinterpretCastOp) and owner.offsets:
            begin = self.of(owner.offsets[0])
            return None if begin is None else whole + begin
        return whole

    def _of_result(self, op: Operation) -> int | None:
        """The step of what an operation computes."""
        if _is_cast(op):
            return self.of(op.operands[0])
        if type(op) is arith.ConstantOp:
            return 0
        if len(op.operands) != 2:
            return None
        one, other = map(self.of, op.operands)
        if one is None or other is None:
            return None
        if one == other == 0:
            return 0
        match op:
            case arith.AddiOp():
                return one + other
            case arith.SubiOp():
                return one - other
            case arith.MuliOp() if not other and (factor := known_number(op.rhs)) is not None:
                return one * factor
            case arith.MuliOp() if not one and (factor := known_number(op.lhs)) is not None:
                return other * factor
            case _:
                return None


def _operations(block: Block) -> Iterator[Operation]:
    """The operations of a block and of its conditionals, each after those that it uses."""
    for op in operations_of(block):
        if type(op) is scf.IfOp:
            for region in op.regions:
                for inside in region.blocks:
                    yield from _operations(inside)
        yield op
