"""Functions next to a kernel that other programs are likely to contain too."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import cast

from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, StringAttr, UnitAttr
from xdsl.ir import Attribute, Block, Region, SSAValue

from ...dialects.cpu import SHARED
from ..loop_nests.loop_builder import Index, LoopBuilder


def call_shared(
    builder: LoopBuilder,
    kernel: func.FuncOp,
    suffix: str,
    arguments: Sequence[Index | SSAValue],
    emit: Callable[[LoopBuilder, Sequence[SSAValue]], None],
) -> str:
    """
    Define a function next to `kernel`, named by the kernel and the suffix, and call it at the builder's insertion
    point. Returns its name.

    `emit` writes its body from its parameters. For programs to share it, the body should depend on few numbers that are
    not parameters.
    """
    operands = [value if isinstance(value, SSAValue) else builder.index(value).value for value in arguments]
    block = Block(arg_types=[value.type for value in operands])
    block.add_op(func.ReturnOp())
    type_ = FunctionType.from_lists(list(block.arg_types), [])
    function = func.FuncOp(_free_name(kernel, suffix), type_, Region(block), StringAttr("private"))
    function.attributes[SHARED] = UnitAttr()
    function.location = builder.location
    cast(Block, kernel.parent).insert_ops_after([function], kernel)
    inside = LoopBuilder(function)
    inside.location = builder.location
    emit(inside, block.args)
    builder.insert(func.CallOp(function.sym_name.data, operands, []))
    return function.sym_name.data


class SharedFunctions:
    """The functions next to one kernel that are called from several places, or in several ways."""

    def __init__(self, builder: LoopBuilder, kernel: func.FuncOp):
        self.builder = builder
        self.kernel = kernel
        self._names: dict[tuple[str, tuple[Attribute, ...]], str] = {}

    def call(
        self,
        suffix: str,
        arguments: Sequence[Index | SSAValue],
        emit: Callable[[LoopBuilder, Sequence[SSAValue]], None],
    ) -> None:
        """As `call_shared`; a suffix with arguments of the same types names the same function again."""
        operands = [value if isinstance(value, SSAValue) else self.builder.index(value).value for value in arguments]
        key = suffix, tuple(value.type for value in operands)
        if key in self._names:
            self.builder.insert(func.CallOp(self._names[key], operands, []))
        else:
            self._names[key] = call_shared(self.builder, self.kernel, suffix, arguments, emit)


def _free_name(kernel: func.FuncOp, suffix: str) -> str:
    """A name such as `dot_0_block`, numbered if the kernel has several."""
    module = cast(Block, kernel.parent)
    base = f"{kernel.sym_name.data}_{suffix}"
    taken = {op.sym_name.data for op in module.ops if isinstance(op, func.FuncOp)}
    names = itertools.chain([base], (f"{base}_{number}" for number in itertools.count(1)))
    return next(name for name in names if name not in taken)
