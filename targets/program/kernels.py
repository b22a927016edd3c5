"""The kernels of a program, read from the module after outline-kernels, for `exe.kernels` and profiles."""

from __future__ import annotations

import math
from collections import Counter

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation

from ...dialects.build import kernel as attributes
from ...hlo_dialect.custom_calls.operations import CustomCallOp
from ...hlo_dialect.custom_calls.registry import target_of
from ...hlo_dialect.op import is_elementwise
from ...hlo_dialect.ops.contraction import DotGeneralOp
from ...hlo_dialect.ops.convolution import ConvolutionOp
from ...hlo_dialect.ops.scatter import ScatterOp
from ...hlo_dialect.ops.window import ReduceWindowOp, SelectAndScatterOp
from ...hlo_dialect.types import element_of, is_float, numpy_dtype, shape_of
from ...hlo_dialect.walking import operations_in
from .facts import Kernel


def tensor_bytes(type_: Attribute) -> int:
    """Bytes of a tensor of static shape; 0 if NumPy lacks the element type."""
    dtype = numpy_dtype(element_of(type_))
    return 0 if dtype is None else math.prod(shape_of(type_)) * dtype.itemsize


def flops_of(op: Operation) -> int:
    """Floating-point operations of one hlo operation, an elementary function counted as one."""
    if not op.results or not is_float(element_of(op.results[0])):
        return 0
    if isinstance(op, DotGeneralOp):
        contracted = op.dot_dimension_numbers.lhs_contracting
        lhs = shape_of(op.lhs)
        return 2 * math.prod(shape_of(op.results[0])) * math.prod(lhs[d] for d in contracted)
    if isinstance(op, ConvolutionOp):
        kernel, outputs = shape_of(op.rhs), op.dimension_numbers.kernel.feature
        return 2 * math.prod(shape_of(op.result)) * math.prod(kernel[:outputs] + kernel[outputs + 1 :])
    if is_elementwise(op):
        return math.prod(shape_of(op.results[0]))
    if op.name == "hlo.reduce":
        return math.prod(shape_of(op.operands[0]))
    if isinstance(op, ScatterOp):
        return op.input_count * math.prod(shape_of(op.updates[0]))
    if isinstance(op, ReduceWindowOp):
        return math.prod(shape_of(op.results[0])) * (1 if op.scan is not None else op.window.size)
    if isinstance(op, SelectAndScatterOp):
        return math.prod(shape_of(op.source)) * (op.window.size + 1)
    return 0


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
