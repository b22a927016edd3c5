"""Replace elementary functions by calls to private functions of plain arithmetic, which LLVM inlines and vectorizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from xdsl.context import Context
from xdsl.dialects import func, math, memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...dialects.gpu.functions import GpuModuleOp
from ...hlo_dialect.hlo_pass import HloPass
from ...hlo_dialect.walking import operations_in
from ...lowering.device.cpu import CPU, NATIVE_EXTREMES
from ...lowering.device.parts import lowered_parts
from ..manager.pipelines import MATH_MODES

REPLACED = ("math.", "arith.div", "arith.rem", "arith.truncf")
"""How the names of the operations begin that calls of functions replace."""
SPECIAL = frozenset(f"math.{name}" for name in ("acos", "acosh", "asin", "asinh", "atanh", "cosh", "erf", "sinh"))
"""
Those of `math`, beside `math_ext`, whose formulas are those of chlo's operations: most programs need none of these
files.
"""
_EXTREMES = ("arith.maximumf", "arith.minimumf")
_Kind = TypeVar("_Kind", bound=Operation)


@dataclass(frozen=True)
class ExpandMathPass(HloPass):
    """
    Replace elementary functions by calls to private arithmetic functions.

    Before: `%y = math.exp %x : f32`
    After:  `%y = func.call @xhlo_math_exp_f32(%x) : (f32) -> f32`, with that function's body in arith
    In a gpu.module, which has no C library, this applies to every function and to floating-point remainders; host code
    around it is unchanged. There `mode=fast` uses the GPU's approximations: bodies are marked `fastmath<afn>` and
    multiply-adds may be contracted. The modes strict and default do not change rounding.
    On a CPU long innermost loops look at NaN and the signs of zeros after a maximum, where no instruction does, chains
    of maxima look at them once, and two values are compared in both orders; what a loop keeps is the second operand of
    a maximum that stays one. Loops over cached rows (`xhlo.cached`) divide by numbers that they do not change by
    reciprocals, where vectors have 512 bits: results are the same to the bit. Where that is cheap, a loop before looks
    at the whole row (`usual_rows`). Vectors of 256 bits do so where the loop that adds up the row looks at it too. With
    vectors of up to 256 bits, loops over chains of many operations compute several vectors at once (`xhlo.interleave`,
    see chains.py), but for those that are known to have few iterations in one run of the program. There long
    polynomials are evaluated in pairs of terms (polynomials.py).
    Integers of up to 32 bits are divided as floats, which is exact.
    Where operations that make subnormal numbers are slow (`slow-subnormals`), a power of e that is only added is
    rounded as an integer instead, to the same bits.
    Powers by a known multiple of one half are products, roots and quotients. Special functions, as `math_ext.digamma`,
    are functions of their own, whose formulas have elementary ones.
    Assumes: scalar operands. On a CPU, rounding to bfloat16 is expanded too because the hardware conversion flushes
             denormals.
    Leaves: math operations that are single instructions, and on a CPU those of the C library in functions for rare
            arguments, which are not inlined.
    """

    name = "expand-math"
    takes_branches = True

    mode: str = "default"
    """strict, default or fast."""
    complete: bool = False
    """Use no C library functions, even on a CPU."""
    vector_bits: int = CPU.vector_bits
    """The CPU's vectors, as which loops call functions of rare arguments."""

    scalings: bool = False
    """Whether the CPU multiplies by a power of two in one instruction: AVX-512."""

    slow_subnormals: bool = False
    """Whether the CPU takes a hundred cycles where an operation makes a subnormal number: Intel's do."""

    def __post_init__(self) -> None:
        if self.mode not in MATH_MODES:
            raise ValueError(f"no mode is named '{self.mode}'; there are {', '.join(MATH_MODES)}")

    def run(self, ctx: Context, module: ModuleOp) -> None:
        for part in lowered_parts(module):
            self._expand(part)

    @property
    def _leaves_extremes(self) -> bool:
        """Whether NaN and zeros are left to the end of loops that find maxima."""
        return self.vector_bits > NATIVE_EXTREMES and not self.complete

    def _expand(self, part: ModuleOp | GpuModuleOp) -> None:
        ops = operations_in(part)
        special = self._call_special_functions(part, ops)
        if special:
            ops = operations_in(part)
        device = type(part) is GpuModuleOp
        if not device and self._leaves_extremes and any(op.name in _EXTREMES for op in ops):
            ops = _arrange_extremes(part, ops)
        # Most programs need none of the functions' files.
        needed = device or any(op.name.startswith(REPLACED) for op in ops)
        defined = self._call_functions(part, ops) if needed else {}
        rare = {op.callee.root_reference.data: op for op in _inside(defined, func.CallOp)}
        short = self.vector_bits < CPU.vector_bits
        if not device and (short or special):
            # Only machines with short vectors need these, and special functions.
            from .chains import state_vectors

            ops = operations_in(part)
            state_vectors(ops, {**special, **defined}, special, self.vector_bits)
        if not device and short:
            from .polynomials import evaluate_in_pairs

            ours = set(_inside(defined, math.FmaOp))
            evaluate_in_pairs([op for op in ops if type(op) is not math.FmaOp or op in ours])
        if rare:
            from .rare import define_rare

            # Loops over f64 have so many lanes, those that also have f32 twice as many.
            widths = (self.vector_bits // 64, self.vector_bits // 32)
            part.body.block.add_ops([one for call in rare.values() for one in define_rare(call, widths)])

    def _call_special_functions(self, part: ModuleOp | GpuModuleOp, ops: Sequence[Operation]) -> dict[str, func.FuncOp]:
        """Replace special functions, whose arithmetic has elementary ones; returns theirs by name, now in the part."""
        found = [op for op in ops if op.name in SPECIAL or op.name.startswith("math_ext.")]
        if not found:
            return {}
        from .special import call_special_functions

        defined = call_special_functions(found)
        part.body.block.add_ops(defined.values())
        return defined

    def _call_functions(self, part: ModuleOp | GpuModuleOp, ops: Sequence[Operation]) -> dict[str, func.FuncOp]:
        """Replace operations by calls; returns the functions by name, now in the part with the tables that they use."""
        from .calls import TABLES, Calls, table_of

        device = type(part) is GpuModuleOp
        calls = Calls(device, self.mode == "fast", self.complete, self.vector_bits, self.scalings, self.slow_subnormals)
        defined = calls.replace(part, ops)
        used = {op.name_.root_reference.data for op in _inside(defined, memref.GetGlobalOp)}
        part.body.block.add_ops([*(table_of(name) for name in TABLES if name in used), *defined.values()])
        return defined


def _arrange_extremes(part: ModuleOp | GpuModuleOp, ops: Sequence[Operation]) -> Sequence[Operation]:
    """Choose where NaN and the signs of zeros are looked at for maxima; returns the operations of the part."""
    from . import extreme_chains, extremes

    for op in ops:
        if extremes.finds_extremes(op):
            extremes.replace_extremes(op)
    for op in [op for op in operations_in(part) if extreme_chains.ends_chain(op)]:
        extreme_chains.replace_chain(op)
    for op in operations_in(part):
        if extreme_chains.is_pair(op):
            extreme_chains.replace_pair(op)
        elif extreme_chains.begins_with_kept(op):
            op.operands = op.operands[::-1]
    return operations_in(part)


def _inside(functions: Mapping[str, func.FuncOp], kind: type[_Kind]) -> list[_Kind]:
    """The operations of one type in functions."""
    return [op for function in functions.values() for op in operations_in(function) if type(op) is kind]
