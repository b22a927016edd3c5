"""
Factors of products that are constants of the program: they are packed by the compiler.

A kernel may serve several calls with different constants, so that the panels come as a parameter, in the place of the
constant where nothing else reads that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import numpy as np
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import BFloat16Type, DenseIntOrFPElementsAttr, ModuleOp, StringAttr, TensorType, UnitAttr
from xdsl.ir import BlockArgument, Operation, SSAValue

from ...dialects.support.buffer_ops import take_block_arguments
from ...dialects.support.buffers import memref_type
from ...dialects.support.editing import erase_op, insert_before
from ...dialects.support.kernel import Kernel, is_kernel
from ...dialects.support.rewriting import add_arguments, set_arguments
from ...dialects.support.views import is_view, root_buffer
from ...hlo_dialect.arrays import Array
from ...hlo_dialect.types import constant_array, dense_constant
from ...hlo_dialect.walking import operations_in
from ..loop_nests.loop_builder import buffer_of
from .blocking import Blocking
from .factors.invariant import InvariantFactors
from .operand import Operand
from .panel import EXPONENT, LEAST_CONSTANT, NO_SIGN, Packed

MOST_GROWTH = 2
"""How many times as large as the constant its panels may be, where few rows or columns leave much of them empty."""

SMALL = 1 << 14
"""Bytes of panels that may be any number of times as large."""

ALIGNMENT = 64


class _Made(NamedTuple):
    """Panels of a kernel."""

    factor: BlockArgument
    parameter: BlockArgument
    """The parameter that the panels are."""
    passed: list[tuple[func.CallOp, str | SSAValue]]
    """The calls, and the panels that each passes: the name of a constant, or a buffer."""


def constants_of(kernel: func.FuncOp) -> list[SSAValue]:
    """The parameters that get constants from all calls."""
    return [kernel.body.block.args[number] for number in Kernel(kernel).constants]


class ConstantFactors:
    """The constants of a module and their panels, by layout: calls of one constant share them."""

    def __init__(self, module: ModuleOp):
        self.module = module
        self.constants = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, memref.GlobalOp)}
        self.panels: dict[tuple[object, ...], str] = {}
        self.calls: dict[str, list[func.CallOp]] = {}
        if any(Kernel(op).constants for op in module.body.block.ops if is_kernel(op)):
            for op in operations_in(module):
                if isinstance(op, func.CallOp):
                    self.calls.setdefault(op.callee.root_reference.data, []).append(op)

    def of(self, kernel: func.FuncOp, invariants: InvariantFactors) -> KernelConstants:
        """The constants of one kernel, and its parameters among the `invariants` of loops."""
        numbers = Kernel(kernel).constants
        calls = self.calls.get(kernel.sym_name.data, []) if numbers else []
        found: dict[SSAValue, Sequence[str]] = {}
        for number in numbers if calls else ():
            owners = [root_buffer(call.operands[number]).owner for call in calls]
            assert all(isinstance(owner, memref.GetGlobalOp) for owner in owners)
            names = [cast(memref.GetGlobalOp, owner).name_.root_reference.data for owner in owners]
            found[kernel.body.block.args[number]] = names
        return KernelConstants(self, kernel, calls, found, invariants)

    def packed(self, name: str, operand: Operand, element: Packed, bias: int) -> str:
        """The name of a constant's panels."""
        key = (name, operand.layout, element, bias)
        found = self.panels.get(key)
        if found is None:
            value = self.constants[name].initial_value
            array = _panels(constant_array(cast("DenseIntOrFPElementsAttr[Any]", value)), operand, bias)
            found = self.panels[key] = f"{name}_panels_{len(self.panels)}"
            attribute = dense_constant(array, TensorType(element, array.shape))
            type_ = memref_type(array.shape, element)
            op = memref.GlobalOp.get(StringAttr(found), type_, attribute, constant=UnitAttr(), alignment=ALIGNMENT)
            self.module.body.block.insert_op_after(op, self.constants[name])
        return found

    def are_large(self, name: str) -> bool:
        """Whether no element of a constant of bf16 is smaller than what `are_normal` assumes of constants."""
        found = constant_array(cast("DenseIntOrFPElementsAttr[Any]", self.constants[name].initial_value))
        magnitudes = np.ascontiguousarray(found).view(np.uint16) & NO_SIGN
        return bool(np.all((magnitudes == 0) | (magnitudes >> EXPONENT >= LEAST_CONSTANT)))

    def drop_unread(self) -> None:
        """Erase the constants that nothing reads but the panels."""
        if not self.panels:
            return
        read = {op.name_.root_reference.data for op in operations_in(self.module) if isinstance(op, memref.GetGlobalOp)}
        for name in {str(key[0]) for key in self.panels} - read:
            erase_op(self.constants[name])


@dataclass
class KernelConstants:
    """
    The constants that all calls of a kernel pass, names by parameter in the order of the calls, and what loops around
    them do not change.
    """

    pool: ConstantFactors
    kernel: func.FuncOp
    calls: Sequence[func.CallOp]
    names: Mapping[SSAValue, Sequence[str]]
    invariants: InvariantFactors
    _made: list[_Made] = field(default_factory=list[_Made])

    def panels(self, operand: Operand, blocking: Blocking, element: Packed, bias: int) -> SSAValue | None:
        """
        The parameter with all panels of a factor; None if it is packed by the kernel, would grow too large, or has bf16
        so small that their products may be subnormal.
        """
        root = operand.access.root
        if not isinstance(root, BlockArgument) or operand.access.dynamic or operand.computed is not None:
            return None
        size = operand.matrices * operand.panels * operand.panel_size
        itemsize = int(element.compile_time_size)
        if size * itemsize > max(SMALL, MOST_GROWTH * itemsize * math.prod(buffer_of(root).get_shape())):
            return None
        passed: list[tuple[func.CallOp, str | SSAValue]]
        if root in self.names:
            is_small = isinstance(element, BFloat16Type) and not all(map(self.pool.are_large, self.names[root]))
            if buffer_of(root).element_type != element or is_small:
                return None
            names = [self.pool.packed(name, operand, element, bias) for name in self.names[root]]
            passed = list(zip(self.calls, names, strict=True))
        else:
            passed = [*self.invariants.packed(self.kernel, operand, blocking, element, bias)]
            if not passed:
                return None
        (parameter,) = add_arguments(self.kernel.body.block, [memref_type((size,), element)])
        self._made.append(_Made(root, parameter, passed))
        return parameter

    def pass_panels(self) -> None:
        """Let the calls pass the panels, in the place of factors that the kernel does not read any more."""
        if not self._made:
            return
        block = self.kernel.body.block
        arguments: list[BlockArgument] = list(block.args[: len(block.args) - len(self._made)])
        for factor, parameter, passed in self._made:
            _erase_views(factor)
            place = factor.index if factor.first_use is None else len(arguments)
            # Several panels may be of one factor: the first takes its place.
            if place < len(arguments) and arguments[place] is factor:
                arguments[place] = parameter
            else:
                place = len(arguments)
                arguments.append(parameter)
            for call, panels in passed:
                _pass(call, place, _constant(panels, parameter, call) if isinstance(panels, str) else panels)
        set_arguments(block, arguments)
        take_block_arguments(self.kernel)


def _erase_views(value: SSAValue) -> None:
    """Erase the views of a buffer that nothing reads."""
    for use in list(value.uses):
        op = use.operation
        if is_view(op):
            _erase_views(op.results[0])
            if op.results[0].first_use is None:
                erase_op(op)


def _constant(name: str, parameter: SSAValue, call: func.CallOp) -> SSAValue:
    """The constant of that name, for the parameter of a call."""
    op = memref.GetGlobalOp(name, buffer_of(parameter))
    op.location = call.location
    insert_before(op, call)
    return op.memref


def _pass(call: func.CallOp, place: int, panels: SSAValue) -> None:
    """Let a call pass panels as an operand, instead of what it passes there, or after all others."""
    operands = list(call.operands)
    unused = operands[place] if place < len(operands) else None
    operands[place : place + 1] = [panels]
    call.operands = operands
    while (
        unused is not None
        and isinstance(op := unused.owner, Operation)
        and all(x.first_use is None for x in op.results)
    ):
        unused = op.operands[0] if is_view(op) else None
        erase_op(op)


def _panels(constant: Array, operand: Operand, bias: int) -> Array:
    """All panels of a factor: what `Packer` makes while a program runs."""
    flat = np.ascontiguousarray(constant).reshape(-1)
    moving = [(loop.size, loop.stride) for loop in operand.around if loop.stride]
    shape = (*(size for size, _ in moving), operand.size, operand.k_size)
    strides = (*(stride for _, stride in moving), operand.stride, operand.k_stride)
    last = operand.access.offset + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    assert last < flat.size, "a factor's elements are in its buffer"
    view = np.lib.stride_tricks.as_strided(
        flat[operand.access.offset :], shape, [stride * flat.itemsize for stride in strides], writeable=False
    )
    groups = operand.panel_size // operand.width
    made = np.zeros((operand.matrices, operand.panels * operand.width, groups), flat.dtype)
    made[:, : operand.size, : operand.k_size] = view.reshape(operand.matrices, operand.size, operand.k_size)
    if bias:
        made += flat.dtype.type(bias)
    split = made.reshape(operand.matrices, operand.panels, operand.width, groups // operand.group, operand.group)
    panels = split.transpose(0, 1, 3, 2, 4)
    if operand.by_passes:
        assert operand.group == 1, "passes that are together end between groups"
        starts = range(0, groups, operand.by_passes)
        passes = [panels[:, :, start : start + operand.by_passes].reshape(operand.matrices, -1) for start in starts]
        return np.concatenate(passes, axis=1).reshape(-1)
    return np.ascontiguousarray(panels).reshape(-1)
