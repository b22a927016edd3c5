"""This machine's CPU as a target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from ...passes.manager.pipelines import LOWER_LINALG, LOWER_LLVM, LOWER_LOOPS
from ..program.pipeline import ITSELF
from ..program.target import Emitter, Target, TargetOptionError, TextAt

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ..ahead.machine import Machine
    from ..program.container import Serialized
    from ..program.executable import Executable
    from ..program.lowering import Lowering


SIZED_BY_VECTORS = (
    "tile-loops",
    "convert-linalg-ext-to-scf",
    "convert-linalg-to-scf",
    "convert-contractions-to-vector",
    "expand-math",
    "convert-loops-to-cf",
)
"""The passes that depend on the width of vectors."""


class Vectors(Protocol):
    """A machine, as far as passes depend on it."""

    @property
    def vector_bits(self) -> int: ...

    @property
    def dots(self) -> tuple[str, ...]: ...

    @property
    def registers(self) -> int: ...

    @property
    def l2_bytes(self) -> int | None: ...

    @property
    def soft_half(self) -> bool: ...

    @property
    def soft_fma(self) -> bool: ...

    @property
    def soft_extremes(self) -> bool: ...

    @property
    def slow_masks(self) -> bool: ...

    @property
    def slow_subnormals(self) -> bool: ...

    @property
    def scalable(self) -> bool: ...


def tuned_for(machine: Vectors, spec: str, one_thread: bool = False) -> str:
    """A pass with the options that state what a machine's vectors are and can, and whether one thread runs the code."""
    if spec == "convert-to-llvm":
        soft = soft_options(machine)
        return f"{spec}{{{' '.join(soft)}}}" if soft else spec
    if spec == "convert-loops-to-cf" and machine.scalable:
        return f"{spec}{{scalable=true}}"
    if spec not in SIZED_BY_VECTORS:
        return with_dots(NATIVE_CALLS.get(spec, spec), machine.dots)
    options = [f"vector-bits={machine.vector_bits}", *_exponentials(spec, machine.vector_bits, machine.slow_subnormals)]
    if spec == "convert-contractions-to-vector":
        options += [f"{name}=true" for name in machine.dots]
        options += [f"registers={machine.registers}"] * (machine.registers > 0)
        options += _cache_option(machine.l2_bytes)
        options += ["tiles=1"] * one_thread
    return f"{spec}{{{' '.join(options)}}}"


def with_dots(spec: str, dots: Sequence[str]) -> str:
    """decompose-hlo that keeps convolutions of bf16 if the machine multiplies pairs of them; other passes unchanged."""
    keeps = spec.startswith("decompose-hlo{") and "bfloat-dots" in dots
    return f"{spec[:-1]} bfloat-dots=true}}" if keeps else spec


def _exponentials(spec: str, vector_bits: int, slow_subnormals: bool) -> list[str]:
    """
    The options of expand-math that choose exponential functions.

    AVX-512, which alone has vectors of 512 bits, multiplies by powers of two in one instruction.
    """
    if spec != "expand-math":
        return []
    return ["scalings=true"] * (vector_bits == 512) + ["slow-subnormals=true"] * slow_subnormals


def soft_options(machine: Vectors) -> list[str]:
    """The options of convert-to-llvm for what a machine has no, or only slow, instructions for."""
    found = {
        "soft-half": machine.soft_half,
        "soft-fma": machine.soft_fma,
        "soft-extremes": machine.soft_extremes,
        "slow-masks": machine.slow_masks,
    }
    return [f"{name}=true" for name, holds in found.items() if holds]


def _cache_option(l2_bytes: int | None) -> list[str]:
    """The option for an L2 cache that is not of the usual size; none if the size is not known."""
    from ...lowering.device.cpu import CPU as MACHINE

    return [] if l2_bytes in (None, MACHINE.l2_bytes) else [f"l2-bytes={l2_bytes}"]


RESULTS = "plan-buffers{results=true}"

NATIVE_CALLS = {
    "decompose-hlo": "decompose-hlo{native-calls=true direct-calls=true}",
    "convert-hlo-to-linalg": "convert-hlo-to-linalg{filled-pads=true}",
    "schedule-kernels": "schedule-kernels{in-place=true}",
    "plan-buffers": RESULTS,
}
"""
Specs of passes for targets that run the loops of convert-linalg-ext-to-scf, and whose kernels write over arguments; and
that have vectors of neighbours.
"""

FAST = "simplify-hlo{math=fast}"
FLUSHING = {"x86_64": "x86", "aarch64": "aarch64", "arm64": "aarch64"}
"""The beginnings of triples of CPUs on which subnormal numbers can count as zeros."""
SUBNORMALS = ("keep", "flush")
"""The values of the option of that name; where they are flushed, they count as zeros."""
DONATING = "bufferize{in-place=true donate=true}"


@dataclass(frozen=True, eq=False)
class Cpu(Target):
    """Machine code through LLVM, on all cores."""

    named: Machine | None = None
    """The machine to lower for; this computer if it is None."""

    math: str = "default"
    """
    strict, default or fast, with which rules of simplify-hlo may change results of floats, and subnormal numbers count
    as zeros.
    """

    subnormals: str = "keep"
    """flush lets subnormal numbers count as zeros, as on XLA:CPU."""

    name = "cpu"
    summary = "machine code of this computer through LLVM, on all its cores"
    lowering = {"linalg": LOWER_LINALG, "loops": LOWER_LOOPS, "llvm": LOWER_LLVM}
    profiler = {"outline-parallel-loops": "instrument-kernels"}
    guards = {
        "bufferize": ("bufferize",),
        "plan-buffers": ("plan-buffers{guard=SIDE}",),
        "outline-loops": (),
        "convert-loops-to-cf": (ITSELF, "guard-kernels"),
    }
    options = ("triple", "cpu", "math", "subnormals")
    binary = frozenset({"obj"})

    @property
    def machine(self) -> str:
        named = [] if self.named is None else [self.named.triple, self.named.cpu, self.named.features]
        options = ["math=fast"] * (self.math == "fast") + ["subnormals=flush"] * (self.subnormals == "flush")
        return " ".join([*named, *options]).strip()

    @property
    def emitters(self) -> Mapping[str, Emitter]:
        return {"llvm": self._llvm_text, "asm": self._assembly, "obj": self._object}

    def configured(self, options: Mapping[str, str]) -> Target:
        known = {name: value for name, value in options.items() if name in self.options}
        super().configured({name: value for name, value in options.items() if name not in known})
        changed = replace(self, math=known.pop("math", self.math), subnormals=known.pop("subnormals", self.subnormals))
        if changed.subnormals not in SUBNORMALS:
            raise TargetOptionError(f"subnormals={changed.subnormals}: the option is {' or '.join(SUBNORMALS)}")
        if not known:
            return changed
        from ..ahead.machine import Machine, MachineError

        try:
            return replace(changed, named=Machine.named(known.get("triple"), known.get("cpu")))
        except MachineError as error:
            raise TargetOptionError(str(error)) from None

    @property
    def _flushes(self) -> bool:
        return self.math == "fast" or self.subnormals == "flush"

    def _llvm_text(self, module: ModuleOp) -> str:
        from ..llvm_text.module import emit_llvm_ir

        if self.named is None:
            return emit_llvm_ir(module)
        return self.named.header + emit_llvm_ir(module, big_endian=self.named.kind.big_endian)

    def _assembly(self, module: ModuleOp) -> str:
        from .jit import compile_to_assembly

        return compile_to_assembly(self._llvm_text(module), machine=self.named and self.named.target_machine)

    def _object(self, module: ModuleOp) -> bytes:
        from .jit import compile_to_object

        return compile_to_object(self._llvm_text(module), machine=self.named and self.named.target_machine)

    def tune(self, spec: str) -> str:
        """
        Let bufferize overwrite what is not needed any more, and state the machine's vectors, instructions and caches to
        the passes that depend on them, where they are no defaults.
        """
        if spec == "bufferize":
            return DONATING
        if spec == "simplify-hlo" and self.math == "fast":
            return FAST
        if spec == "convert-to-llvm":
            return self._conversion()
        if self.named is not None:
            return tuned_for(self.named, spec)
        if spec not in SIZED_BY_VECTORS and spec != "decompose-hlo":
            return NATIVE_CALLS.get(spec, spec)
        from ...hlo_dialect.diagnostics import DiagnosticError

        try:
            from .host import host_cpu, host_dots, host_l2_bytes, host_triple, host_vector_bits, slow_subnormals
        except DiagnosticError:
            return NATIVE_CALLS.get(spec, spec)  # without llvmlite there is only IR, and no code for this machine
        if spec == "decompose-hlo":
            return with_dots(NATIVE_CALLS[spec], host_dots())
        bits = host_vector_bits()
        options = [
            *([] if bits == 512 else [f"vector-bits={bits}"]),
            *_exponentials(spec, bits, not self._flushes and slow_subnormals(host_triple(), host_cpu())),
        ]
        if spec == "convert-contractions-to-vector":
            options += [f"{name}=true" for name in host_dots()]
            options += _cache_option(host_l2_bytes())
        return f"{spec}{{{' '.join(options)}}}" if options else spec

    def _conversion(self) -> str:
        """convert-to-llvm with what the machine lacks, and without subnormal numbers if these are flushed."""
        from ...hlo_dialect.diagnostics import DiagnosticError

        try:
            from .host import host_soft, host_triple
        except DiagnosticError:
            return "convert-to-llvm"  # without llvmlite, as above
        options = host_soft() if self.named is None else soft_options(self.named)
        triple = host_triple() if self.named is None else self.named.triple
        registers = next((kind for start, kind in FLUSHING.items() if triple.startswith(start)), None)
        if self._flushes and registers is not None:
            options = [*options, f"flush-subnormals={registers}"]
        return f"convert-to-llvm{{{' '.join(options)}}}" if options else "convert-to-llvm"

    def build(self, lowering: Lowering, text_at: TextAt) -> Executable:
        if self.named is not None:
            from ...hlo_dialect.diagnostics import fail

            fail(lowering.module, f"was lowered for {self.machine}: programs run on this computer only")
        from .build import build_image
        from .early_engine import engine_beside
        from .loading import load_image

        with engine_beside():
            image = build_image(lowering, self.machine)
        return load_image(image, text_at)

    def load(self, serialized: Serialized, text_at: TextAt) -> Executable:
        from .loading import load

        return load(serialized, text_at)

    def environment(self) -> Mapping[str, str]:
        from .serialization import environment

        return environment()


CPU = Cpu()
