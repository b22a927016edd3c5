"""NVIDIA GPUs as targets: one per chip, PTX version and choice of approximations and libraries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...lowering.device.chips import DEFAULT_CHIP, Chip, PtxVersionError, UnknownChipError, get_chip, ptx_version
from ...passes.manager.pipelines import LOWER_GPU_LOOPS, LOWER_LINALG, LOWER_NVVM, LOWER_NVVM_TO_LLVM
from ..gpu.target import GpuTarget, tuned
from ..program.target import Emitter, Target, TargetOptionError, TextAt

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ..program.container import Serialized
    from ..program.executable import Executable
    from ..program.lowering import Lowering
    from .assembler import Cubin


@dataclass(frozen=True)
class Nvptx(GpuTarget):
    """PTX through LLVM, machine code through ptxas."""

    chip: Chip
    ptx: int
    """The PTX version to emit: 78 is 7.8."""
    math: str = "default"
    """strict, default or fast, which uses the chip's approximations of elementary functions."""
    libraries: str = "never"
    """Which contractions call cuBLASLt: never, auto (large ones) or always (all that it supports)."""

    name = "nvptx"
    summary = "NVIDIA GPUs: PTX through LLVM, machine code through ptxas"
    lowering = {"linalg": LOWER_LINALG, "loops": LOWER_GPU_LOOPS, "nvvm": LOWER_NVVM, "llvm": LOWER_NVVM_TO_LLVM}
    options = ("chip", "ptx-version", "math", "libraries")
    binary = frozenset({"cubin"})
    reports_resources = True

    @property
    def machine(self) -> str:
        modes = [self.math] * (self.math != "default")
        return " ".join([self.chip.name, *modes, *[f"libraries={self.libraries}"] * (self.libraries != "never")])

    @property
    def emitters(self) -> Mapping[str, Emitter]:
        return {"llvm": _llvm_text, "ptx": self._ptx_text, "cubin": lambda module: self._cubin(module).code}

    def _ptx_text(self, module: ModuleOp) -> str:
        from .emission import emit_ptx

        return emit_ptx(module, self.chip, self.ptx)

    def _cubin(self, module: ModuleOp) -> Cubin:
        from .emission import emit_cubin

        return emit_cubin(module, self.chip, self.ptx)

    def tune(self, spec: str) -> str:
        """Map kernels to the chip's blocks and threads, matrix products together with their elementwise users."""
        return tuned(spec, self.chip, self.math, self.libraries)

    def build(self, lowering: Lowering, text_at: TextAt) -> Executable:
        from .build import build_image
        from .executable import CudaExecutable

        return CudaExecutable(build_image(lowering, self.chip, self.ptx), text_at)

    def load(self, serialized: Serialized, text_at: TextAt) -> Executable:
        from .loading import load

        return load(serialized, text_at)

    def environment(self) -> Mapping[str, str]:
        from ..gpu.serialization import environment

        chip = {"chip": self.chip.name, "PTX": str(self.ptx), "math": self.math, "libraries": self.libraries}
        return {**environment(), **chip}

    def configured(self, options: Mapping[str, str]) -> Target:
        known = {name: value for name, value in options.items() if name in self.options}
        super().configured({name: value for name, value in options.items() if name not in known})
        chosen = self.chosen or "chip" in known
        chip, ptx = known.pop("chip", self.chip.name), known.pop("ptx-version", None)
        try:
            machine = get_chip(chip)
            version = self.ptx if machine == self.chip and ptx is None else ptx_version(machine, ptx)
        except (UnknownChipError, PtxVersionError) as error:
            raise TargetOptionError(str(error)) from None
        return replace(self, chip=machine, ptx=version, chosen=chosen, **known)

    def present(self) -> Target:
        from .runtime.cublaslt import present_libraries
        from .runtime.device import present_chip

        if self.chosen:
            return replace(self, libraries=present_libraries())
        return nvptx(present_chip(), libraries=present_libraries())

    def require(self) -> None:
        from .runtime.device import open_device

        open_device()

    def resources(self, module: ModuleOp) -> str:
        from .resources import resources_table

        return resources_table(self._cubin(module).kernels)


def _llvm_text(module: ModuleOp) -> str:
    from .emission import emit_llvm

    return emit_llvm(module)


def nvptx(chip: str = DEFAULT_CHIP, ptx: str | None = None, mode: str = "default", libraries: str = "never") -> Nvptx:
    """
    The target for a chip of `lowering/device/chips.py` and a PTX version such as "8.0" (by default the chip's).

    Raises UnknownChipError, and PtxVersionError for a version without the chip.
    """
    machine = get_chip(chip)
    return Nvptx(machine, ptx_version(machine, ptx), mode, libraries)


NVPTX = nvptx()
