"""The kernels of a program, read from the module after outline-kernels, for `exe.kernels` and profiles."""

from __future__ import annotations

import math
from collections import Counter

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation

from ...dialects.support import kernel as attributes
from ...hlo_dialect.custom_calls.operations import CustomCallOp
from ...hlo_dialect.custom_calls.registry import target_of
from ...hlo_dialect.op import HloOp
from ...hlo_dialect.types import element_of, is_float, numpy_dtype, shape_of
from ...hlo_dialect.walking import operations_in
from .facts import Kernel


def tensor_bytes(type_: Attribute) -> int:
    """Bytes of a tensor of static shape; 0 if NumPy lacks the element type."""
    dtype = numpy_dtype(element_of(type_))
    return 0 if dtype is None else math.prod(shape_of(type_)) * dtype.itemsize


def flops_of(op: Operation) -> int:
    """Floating-point operations of one hlo operation, an elementary function counted as one."""
    if not isinstance(op, HloOp) or not op.results or not is_float(element_of(op.results[0])):
        return 0
    return op.flops()


def describe_kernels(module: ModuleOp) -> list[Kernel]:
    """The kernels in the module's order."""
    sites: Counter[str] = Counter(
        op.callee.root_reference.data for op in operations_in(module) if isinstance(op, func.CallOp)
    )
    kernels: list[Kernel] = []
    for function in module.body.block.ops:
        if not attributes.is_kernel(function):
            continue
        types = [*function.function_type.inputs, *function.function_type.outputs]
        ops = [op for op in function.body.block.ops if op.name not in ("hlo.constant", "func.return")]
        call = next((op for op in ops if isinstance(op, CustomCallOp)), None)
        library = "" if call is None else target_of(call).library
        kernels.append(
            Kernel(
                name=function.sym_name.data,
                kind=attributes.Kernel(function).kind if call is None else "library" if library else "callback",
                ops=len(ops),
                bytes=sum(tensor_bytes(type_) for type_ in types),
                flops=sum(flops_of(op) for op in ops),
                sites=sites[function.sym_name.data],
                target="" if call is None else call.target,
                library=library,
            )
        )
    return kernels
