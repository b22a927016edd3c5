"""Elementary functions become calls of private functions of plain arithmetic, which LLVM inlines and vectorizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, func, math
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float32Type,
    Float64Type,
    FunctionType,
    ModuleOp,
    StringAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, Operation, Region

from ..dialects.gpu_ops import GpuModuleOp
from ..dialects.scalar import Scalar
from ..hlo_dialect.hlo_pass import HloPass
from ..hlo_dialect.walking import operations_in
from ..lowering.device_parts import lowered_parts
from .math_functions import exponential, trigonometric

Body = Callable[..., Scalar]

# Each math operation, the element types it is expanded for, and the function that writes its body. What is not
# here stays: square root, rounding and the like are instructions, and the rest of f64 is left to the C library.
_BOTH = (Float32Type, Float64Type)
_SINGLE = (Float32Type,)
BODIES: dict[type[Operation], tuple[tuple[type[Attribute], ...], Body]] = {
    math.ExpOp: (_BOTH, exponential.exp),
    math.ExpM1Op: (_BOTH, exponential.expm1),
    math.LogOp: (_BOTH, exponential.log),
    math.Log1pOp: (_BOTH, exponential.log1p),
    math.TanhOp: (_BOTH, exponential.tanh),
    math.RsqrtOp: (_BOTH, exponential.rsqrt),
    math.PowFOp: (_SINGLE, exponential.power),
    math.CbrtOp: (_SINGLE, exponential.cbrt),
    math.SinOp: (_SINGLE, trigonometric.sin),
    math.CosOp: (_SINGLE, trigonometric.cos),
    math.TanOp: (_SINGLE, trigonometric.tan),
    math.Atan2Op: (_SINGLE, trigonometric.atan2),
}


def _body_of(op: Operation, device: bool) -> tuple[str, Body] | None:
    """The name and body of the function that replaces `op`, if it is one to replace."""
    found = BODIES.get(type(op))
    if found is not None:
        types, body = found
        element = op.results[0].type
        return (f"{op.name.split('.')[1]}_{element}", body) if isinstance(element, types) else None
    if isinstance(op, arith.TruncFOp) and isinstance(op.results[0].type, BFloat16Type) and not device:
        source = op.operands[0].type
        wide = isinstance(source, Float64Type)
        body = exponential.round_double_to_bf16 if wide else exponential.round_to_bf16
        return (f"truncf_{source}_bf16", body) if isinstance(source, (Float32Type, Float64Type)) else None
    return None


def _define(name: str, op: Operation, body: Body) -> func.FuncOp:
    operands = [operand.type for operand in op.operands]
    results = [result.type for result in op.results]
    block = Block(arg_types=operands)
    value = body(*(Scalar(block, argument) for argument in block.args))
    block.add_op(func.ReturnOp(value.value))
    function = func.FuncOp(name, FunctionType.from_lists(operands, results), Region(block), StringAttr("private"))
    function.attributes["xhlo.inline"] = UnitAttr()
    return function


@dataclass(frozen=True)
class ExpandMathPass(HloPass):
    """
    Elementary functions become calls of private arithmetic functions, one for each function and type.

    Before: `%y = math.exp %x : f32`
    After:  `%y = func.call @xhlo_math_exp_f32(%x) : (f32) -> f32`, with that function's body in arith
    Assumes: scalar operands. Rounding to bfloat16 is expanded too: the machine's own flushes denormals.
    Leaves: math operations that are single instructions, and those of f64 that the C library computes.
    """

    name = "expand-math"

    def run(self, ctx: Context, module: ModuleOp) -> None:
        for part in lowered_parts(module):
            self._expand(part)

    def _expand(self, part: ModuleOp | GpuModuleOp) -> None:
        defined: dict[str, func.FuncOp] = {}
        device = isinstance(part, GpuModuleOp)
        for op in operations_in(part):
            found = _body_of(op, device)
            if found is None:
                continue
            name, body = f"xhlo_math_{found[0]}", found[1]
            if name not in defined:
                defined[name] = _define(name, op, body)
            call = func.CallOp(name, op.operands, [result.type for result in op.results])
            call.location = op.location
            cast(Block, op.parent).insert_op_before(call, op)
            op.results[0].replace_all_uses_with(call.results[0])
            op.detach()
            op.erase()
        part.body.block.add_ops(defined.values())
