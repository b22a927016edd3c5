"""This machine's CPU as a target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...lowering.device.cpu import CPU as MACHINE
from ...passes.manager.pipelines import LOWER_LINALG, LOWER_LLVM, LOWER_LOOPS
from ..program.target import Emitter, Target, TextAt

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ..program.container import Serialized
    from ..program.executable import Executable
    from ..program.lowering import Lowering


SIZED_BY_VECTORS = ("convert-contractions-to-vector", "expand-math")
"""The passes that depend on the width of vectors."""

NATIVE_CALLS = {"decompose-hlo": "decompose-hlo{native-calls=true}"}
"""Specs of passes for targets that run the loops of convert-linalg-ext-to-scf."""

DONATING = "bufferize{in-place=true donate=true}"


class Cpu(Target):
    """Machine code through LLVM, on all cores."""

    name = "cpu"
    summary = "machine code of this computer through LLVM, on all its cores"
    lowering = {"linalg": LOWER_LINALG, "loops": LOWER_LOOPS, "llvm": LOWER_LLVM}
    profiler = {"bufferize": "instrument-kernels"}
    guards = {
        DONATING: ("bufferize",),
        "plan-buffers": ("plan-buffers{guard=SIDE}",),
        "convert-loops-to-cf": ("convert-loops-to-cf", "guard-kernels"),
    }
    binary = frozenset({"obj"})

    @property
    def emitters(self) -> Mapping[str, Emitter]:
        return {"llvm": _llvm_text, "asm": _assembly, "obj": _object}

    def tune(self, spec: str) -> str:
        """
        Let bufferize overwrite what is not needed any more, and state this machine's vectors, instructions and caches to
        the passes that depend on them, where they are no defaults.
        """
        if spec == "bufferize":
            return DONATING
        if spec not in SIZED_BY_VECTORS:
            return NATIVE_CALLS.get(spec, spec)
        from ...hlo_dialect.diagnostics import DiagnosticError

        try:
            from .jit import host_dots, host_l2_bytes, host_vector_bits
        except DiagnosticError:
            return spec  # without llvmlite there is only IR, and no code for this machine
        bits = host_vector_bits()
        options = [] if bits == 512 else [f"vector-bits={bits}"]
        if spec == "convert-contractions-to-vector":
            options += [f"{name}=true" for name in host_dots()]
            l2_bytes = host_l2_bytes()
            if l2_bytes not in (None, MACHINE.l2_bytes):
                options.append(f"l2-bytes={l2_bytes}")
        return f"{spec}{{{' '.join(options)}}}" if options else spec

    def build(self, lowering: Lowering, text_at: TextAt) -> Executable:
        from .build import build_image
        from .loading import load_image

        return load_image(build_image(lowering), text_at)

    def load(self, serialized: Serialized, text_at: TextAt) -> Executable:
        from .loading import load

        return load(serialized, text_at)

    def environment(self) -> Mapping[str, str]:
        from .serialization import environment

        return environment()


def _llvm_text(module: ModuleOp) -> str:
    from ..llvm_text.module import emit_llvm_ir

    return emit_llvm_ir(module)


def _assembly(module: ModuleOp) -> str:
    from .jit import compile_to_assembly

    return compile_to_assembly(_llvm_text(module))


def _object(module: ModuleOp) -> bytes:
    from .jit import compile_to_object

    return compile_to_object(_llvm_text(module))


CPU = Cpu()
