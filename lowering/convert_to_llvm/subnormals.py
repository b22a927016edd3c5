"""
Functions in which subnormal numbers count as zeros: the bits of the CPU's control register for floats, while they run.

Subnormal operands and results take a hundred cycles and more on many CPUs. The register belongs to a thread, so the
entry and the functions that other threads start set it, and restore it at their end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from xdsl.dialects import llvm
from xdsl.ir import SSAValue

from .builder import LlvmBuilder
from .conventions import I32, I64

Registers = Literal["none", "x86", "aarch64"]
"""The CPUs whose register is known, `none` to leave subnormals as IEEE 754 has them."""

X86_BITS = 0x8040
"""Bits of MXCSR: flush to zero (15), denormals are zeros (6). Intel's manual, volume 1, section 10.2.3."""

AARCH64_BITS = 1 << 24 | 1 << 19
"""Bits of FPCR: FZ for floats and doubles, FZ16 for halves. Arm's manual of the architecture, section C5.2."""


def flushed(to: LlvmBuilder, registers: Registers, body: Callable[[], object]) -> None:
    """Emit `body` between setting the bits and restoring the register."""
    if registers == "none":
        body()
        return
    _BEGIN[registers](to, body)


def _x86(to: LlvmBuilder, body: Callable[[], object]) -> None:
    before, changed = (to.alloca(I32, 1, 4) for _ in range(2))
    to.intrinsic("x86.sse.stmxcsr", (before,), None, ())
    old = to.load(before, I32, 4, tagged=False)
    to.store(_with_bits(to, old, X86_BITS), changed, 4, tagged=False)
    to.intrinsic("x86.sse.ldmxcsr", (changed,), None, ())
    body()
    to.intrinsic("x86.sse.ldmxcsr", (before,), None, ())


def _aarch64(to: LlvmBuilder, body: Callable[[], object]) -> None:
    old = to.intrinsic("aarch64.get.fpcr", (), I64, ())
    to.intrinsic("aarch64.set.fpcr", (_with_bits(to, old, AARCH64_BITS),), None, ())
    body()
    to.intrinsic("aarch64.set.fpcr", (old,), None, ())


def _with_bits(to: LlvmBuilder, old: SSAValue, bits: int) -> SSAValue:
    return to.emit(llvm.OrOp, (old, to.constant(bits, old.type)), old.type)


_BEGIN: Mapping[str, Callable[[LlvmBuilder, Callable[[], object]], None]] = {"x86": _x86, "aarch64": _aarch64}
