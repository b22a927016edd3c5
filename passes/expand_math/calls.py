"""The functions of plain arithmetic that replace operations, by class and element type, and the calls of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects import arith, func, math, memref
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    StringAttr,
    TensorType,
    UnitAttr,
    f32,
    i64,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...dialects.arith_ops import RemFOp
from ...dialects.support.attributes import call_op, function_op, return_op
from ...dialects.support.buffers import memref_type
from ...dialects.support.editing import erase_op, insert_before, replace_uses
from ...dialects.support.kernel import INLINE, NOT_ABOVE_ZERO
from ...dialects.support.scalar import Scalar
from ...hlo_dialect.walking import operations_in
from ...lowering.device.parts import MATH_FUNCTION
from . import (
    approximations,
    division,
    exponential,
    exponential_double,
    integers,
    known_powers,
    remainder,
    trigonometric,
    trigonometric_double,
    usual_rows,
)

Body = Callable[..., Scalar]
Bodies: TypeAlias = "Mapping[type[Operation], Mapping[type[Attribute], Body]]"

# The function that writes the body of each math operation, by element type. Others stay: rounding and similar
# operations are instructions.
BODIES: dict[type[Operation], Mapping[type[Attribute], Body]] = {
    math.ExpOp: {Float32Type: exponential.exp, Float64Type: exponential.exp},
    math.ExpM1Op: {Float32Type: exponential.expm1, Float64Type: exponential.expm1},
    math.LogOp: {Float32Type: exponential.log, Float64Type: exponential.log},
    math.Log1pOp: {Float32Type: exponential.log1p, Float64Type: exponential.log1p},
    math.TanhOp: {Float32Type: exponential.tanh, Float64Type: exponential.tanh},
    math.RsqrtOp: {Float32Type: exponential.rsqrt, Float64Type: exponential.rsqrt},
    math.PowFOp: {Float32Type: exponential.power, Float64Type: exponential_double.power},
    math.CbrtOp: {Float32Type: exponential.cbrt, Float64Type: exponential_double.cbrt},
    math.Atan2Op: {Float32Type: trigonometric.atan2, Float64Type: trigonometric_double.atan2},
}

# Functions that leave rare arguments to the C library; `rarely` names the operations of that by these names.
WITH_LIBRARY: dict[type[Operation], Mapping[type[Attribute], Body]] = {
    math.SinOp: {Float32Type: trigonometric.sin_usual, Float64Type: trigonometric_double.sin_usual},
    math.CosOp: {Float32Type: trigonometric.cos_usual, Float64Type: trigonometric_double.cos_usual},
    math.TanOp: {Float32Type: trigonometric.tan_usual, Float64Type: trigonometric_double.tan_usual},
    RemFOp: {Float32Type: remainder.fmod_usual, Float64Type: remainder.fmod_usual},
}

# Functions for CPUs that multiply by a power of two in one instruction: AVX-512.
WITH_SCALINGS: dict[type[Operation], Mapping[type[Attribute], Body]] = {
    math.ExpOp: {Float32Type: exponential.scaled_exp, Float64Type: exponential.scaled_exp},
}

# The same as WITH_LIBRARY for targets without a C library. LLVM's floating-point remainder is fmod there too.
NO_LIBRARY: dict[type[Operation], Mapping[type[Attribute], Body]] = {
    math.SinOp: {Float32Type: trigonometric.sin, Float64Type: trigonometric_double.sin},
    math.CosOp: {Float32Type: trigonometric.cos, Float64Type: trigonometric_double.cos},
    math.TanOp: {Float32Type: trigonometric.tan, Float64Type: trigonometric_double.tan},
    RemFOp: {Float32Type: remainder.fmod, Float64Type: remainder.fmod},
}

# GPU approximations, used instead of the above if `mode` is fast.
FAST: dict[type[Operation], Mapping[type[Attribute], Body]] = {
    math.ExpOp: {Float32Type: approximations.exp},
    math.LogOp: {Float32Type: approximations.log},
    math.TanhOp: {Float32Type: approximations.tanh},
    math.RsqrtOp: {Float32Type: approximations.rsqrt},
    math.SqrtOp: {Float32Type: approximations.sqrt},
    math.PowFOp: {Float32Type: approximations.power},
    math.CbrtOp: {Float32Type: approximations.cbrt},
    math.SinOp: {Float32Type: approximations.sin},
    math.CosOp: {Float32Type: approximations.cos},
    math.TanOp: {Float32Type: approximations.tan},
    arith.DivfOp: {Float32Type: approximations.divide},
}

WIDEST = 512
"""Bits of a vector that the divider takes twice as long for as for half of it."""

WIDE = 256
"""Bits of a vector that the divider takes longer for than for a product and two multiply-adds."""

TABLES: dict[str, Sequence[int]] = {trigonometric_double.TWO_OVER_PI: trigonometric_double.TWO_OVER_PI_WORDS}
"""i64 constants that function bodies read from memory."""


def _in_single(body: Body) -> Body:
    """The function of a narrower float type, computed in f32."""

    def wide(*operands: Scalar) -> Scalar:
        return body(*(operand.extend(f32) for operand in operands)).truncate(operands[0].type)

    return wide


def _body_of(op: Operation, tables: Sequence[Bodies], device: bool) -> tuple[str, Body] | None:
    """The name and body of the function that replaces `op`; None if `op` stays."""
    if type(op) is arith.TruncFOp and isinstance(op.results[0].type, BFloat16Type) and not device:
        source = op.operands[0].type
        wide = isinstance(source, Float64Type)
        body = exponential.round_double_to_bf16 if wide else exponential.round_to_bf16
        return (f"truncf_{source}_bf16", body) if isinstance(source, (Float32Type, Float64Type)) else None
    if trigonometric.is_arctangent(op):
        return "atan_f32", trigonometric.atan
    exponent = None if FAST in tables else known_powers.exponent_of(op)
    if exponent is not None:
        return known_powers.name_of(exponent, op.results[0].type), known_powers.power_by(exponent)
    for table in tables:
        found = table.get(type(op))
        if found is None:
            continue
        element = op.results[0].type
        name = f"{op.name.split('.')[1]}_{element}"
        if type(element) in found:
            return name, found[type(element)]
        if device and isinstance(element, (Float16Type, BFloat16Type)) and Float32Type in found:
            return name, _in_single(found[Float32Type])
    return None


def table_of(name: str) -> memref.GlobalOp:
    """The constant of a name in TABLES."""
    words = [word - (1 << 64) if word >> 63 else word for word in TABLES[name]]
    value = DenseIntOrFPElementsAttr.from_list(TensorType(i64, (len(words),)), words)
    type_ = memref_type((len(words),), i64)
    return memref.GlobalOp.get(StringAttr(name), type_, value, constant=UnitAttr(), alignment=16)


def define(name: str, op: Operation, values: Sequence[SSAValue], body: Body) -> func.FuncOp:
    """The function of a name that computes the operation's result from some of its operands, to be inlined."""
    operands = [value.type for value in values]
    results = [result.type for result in op.results]
    block = Block(arg_types=operands)
    value = body(*(Scalar(block, argument) for argument in block.args))
    block.add_op(return_op([value.value]))
    function = function_op(f"{MATH_FUNCTION}{name}", operands, results, Region(block))
    function.attributes[INLINE] = UnitAttr()
    return function


def replace_by_call(op: Operation, name: str, operands: Sequence[SSAValue]) -> func.CallOp:
    """Replace an operation by a call of the function that `define` made by that name; returns the call."""
    call = call_op(f"{MATH_FUNCTION}{name}", operands, [result.type for result in op.results])
    call.location = op.location
    insert_before(call, op)
    replace_uses(op.results[0], call.results[0])
    erase_op(op)
    return call


def by_symbol(defined: Mapping[str, func.FuncOp]) -> dict[str, func.FuncOp]:
    """Functions by the whole names by which they are called."""
    return {function.sym_name.data: function for function in defined.values()}


@dataclass(frozen=True)
class Calls:
    """The calls in a part of a module, for a machine."""

    device: bool
    """Whether it is code for a GPU."""
    fast: bool
    """Whether a GPU may approximate."""
    complete: bool
    """Whether there is no C library."""
    vector_bits: int
    scalings: bool
    """Whether the CPU multiplies by a power of two in one instruction."""
    slow_subnormals: bool
    """Whether the CPU takes a hundred cycles where an operation makes a subnormal number."""

    @property
    def _divides(self) -> bool:
        """Whether the divider is slower than multiply-adds: it is half as wide as the widest vectors."""
        return self.vector_bits >= WIDEST and not self.complete

    @property
    def _divides_terms(self) -> bool:
        """Whether it is slower than multiply-adds alone, without a look at what is divided."""
        return self.vector_bits >= WIDE and not self.complete

    def replace(self, part: Operation, ops: Sequence[Operation]) -> dict[str, func.FuncOp]:
        """Replace the operations by calls; returns the functions by name, which are in no module yet."""
        device, fast = self.device, self.device and self.fast
        first = [FAST] * fast + [WITH_SCALINGS] * (self.scalings and not device)
        tables = [*first, BODIES, NO_LIBRARY if device or self.complete else WITH_LIBRARY]
        looked = {} if device or not self._divides_terms else usual_rows.look_first(ops, not self._divides)
        changed = frozenset(_ALWAYS).union(*tables, _CONTRACTED if fast else ())
        defined: dict[str, func.FuncOp] = {}
        for op in operations_in(part) if looked else ops:
            if type(op) not in changed:
                continue
            if fast and isinstance(op, _CONTRACTED):
                op.properties["fastmath"] = arith.FastMathFlagsAttr([*op.fastmath.data, _CONTRACT])
            if op in looked:
                found = ("divf_usual_f32", division.divide_usual) if looked[op] else None
            else:
                found = (None if device else self._body_on_cpu(op)) or _body_of(op, tables, device)
            if found is None:
                continue
            name, body = found
            operands = op.operands[:1] if body is trigonometric.atan else op.operands
            if name not in defined:
                defined[name] = define(name, op, operands, body)
            replace_by_call(op, name, operands)
        return by_symbol(defined)

    def _body_on_cpu(self, op: Operation) -> tuple[str, Body] | None:
        """The name and body for operations that only a CPU computes in its own way."""
        if self._divides and division.divides_by_invariant(op):
            return "divf_f32", division.divide_by_invariant
        if integers.divides(op, self.vector_bits):
            return f"{op.name.split('.')[1]}_{op.results[0].type}", integers.body_of(op)
        if not self.complete and integers.divides_small(op, self.vector_bits):
            return f"{op.name.split('.')[1]}_small_{op.results[0].type}", integers.body_of_small(op)
        if type(op) is math.ExpOp and type(element := op.result.type) in BODIES[math.ExpOp]:
            kind = "exp" + "_not_above_zero" * (NOT_ABOVE_ZERO in op.attributes)
            kind += "_summed" * (self.slow_subnormals and _is_summed(op))
            if kind in _EXPONENTIALS:
                return f"{kind}_{element}", _EXPONENTIALS[kind][self.scalings]
        return None


def _is_summed(op: math.ExpOp) -> bool:
    """Whether a power of e is only added to numbers. A product with a subnormal one takes as long as making it."""
    uses = list(op.result.uses)
    return bool(uses) and all(type(use.operation) in (arith.AddfOp, math.Log1pOp) for use in uses)


_EXPONENTIALS: dict[str, tuple[Body, Body]] = {
    "exp_not_above_zero": (exponential.exp_not_above_zero, exponential.scaled_exp_not_above_zero),
    "exp_summed": (exponential.summed_exp, exponential.scaled_summed_exp),
    "exp_not_above_zero_summed": (
        exponential.summed_exp_not_above_zero,
        exponential.scaled_summed_exp_not_above_zero,
    ),
}
"""Powers of e by what is known of them, without and with AVX-512's instructions."""


_CONTRACTED = (arith.AddfOp, arith.SubfOp, arith.MulfOp)

_ALWAYS = (arith.TruncFOp, arith.DivfOp, math.Atan2Op, *integers.DIVISIONS)
"""Operations that are looked at whatever the tables have."""

_CONTRACT = FastMathFlag.ALLOW_CONTRACT
