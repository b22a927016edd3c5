"""Which parameters of kernels are constants of the program, for passes that prepare those when they compile."""

from __future__ import annotations

from xdsl.dialects import memref
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp
from xdsl.ir import SSAValue

from ...dialects.support.kernel import CONTRACTION, Kernel, kernels_of
from ...dialects.support.views import root_buffer
from ...hlo_dialect.types import is_splat


def mark_constant_parameters(module: ModuleOp) -> None:
    """State of each kernel with products which parameters get a constant that is no splat from every call."""
    kernels = {
        kernel.sym_name.data: kernel
        for kernel in kernels_of(module)
        if any(CONTRACTION in op.attributes for op in kernel.body.block.ops)
    }
    whole = {op.sym_name.data for op in module.body.block.ops if isinstance(op, memref.GlobalOp) and _is_whole(op)}
    if not kernels or not whole:
        return
    from .kernel_calls import arguments_of  # few programs have such constants

    calls = arguments_of(kernels, module)
    for name, kernel in kernels.items():
        columns = zip(*calls.get(name, ()), strict=True)
        found = [number for number, given in enumerate(columns) if all(_constant(each) in whole for each in given)]
        if found:
            Kernel(kernel).constants = found


def _is_whole(op: memref.GlobalOp) -> bool:
    """Whether a constant has elements, and is no splat."""
    value = op.initial_value
    if op.constant is None or not isinstance(value, DenseIntOrFPElementsAttr):
        return False
    return len(value.data.data) > 0 and not is_splat(value)


def _constant(value: SSAValue) -> str | None:
    """The name of the constant that a value is a view of."""
    op = root_buffer(value).owner
    return op.name_.root_reference.data if isinstance(op, memref.GetGlobalOp) else None
