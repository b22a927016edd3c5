"""AMD GPUs as targets: one for each chip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...lowering.device.amd_chips import AMD_CHIPS, DEFAULT_AMD_CHIP, AmdChip
from ...passes.manager.pipelines import LOWER_GPU_LOOPS, LOWER_LINALG, LOWER_ROCDL, LOWER_ROCDL_TO_LLVM
from ..gpu.target import GpuTarget
from ..program.target import Emitter, TextAt

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ..program.container import Serialized
    from ..program.executable import Executable
    from ..program.lowering import Lowering


@dataclass(frozen=True)
class Amdgcn(GpuTarget):
    """AMDGCN through LLVM, linked by lld."""

    chip: AmdChip

    name = "amdgcn"
    summary = "AMD GPUs: AMDGCN code objects through LLVM and lld"
    lowering = {"linalg": LOWER_LINALG, "loops": LOWER_GPU_LOOPS, "rocdl": LOWER_ROCDL, "llvm": LOWER_ROCDL_TO_LLVM}
    options = ("chip",)
    binary = frozenset({"obj", "hsaco"})

    @property
    def machine(self) -> str:
        return self.chip.name

    @property
    def emitters(self) -> Mapping[str, Emitter]:
        return {"llvm": self._llvm_text, "asm": self._assembly, "obj": self._object_code, "hsaco": self._code_object}

    def _llvm_text(self, module: ModuleOp) -> str:
        from .emission import emit_llvm

        return emit_llvm(module)

    def _assembly(self, module: ModuleOp) -> str:
        from .emission import emit_assembly

        return emit_assembly(module, self.chip)

    def _object_code(self, module: ModuleOp) -> bytes:
        from .emission import emit_object

        return emit_object(module, self.chip)

    def _code_object(self, module: ModuleOp) -> bytes:
        from .emission import emit_object
        from .linking import linked

        return linked(emit_object(module, self.chip))

    def build(self, lowering: Lowering, text_at: TextAt) -> Executable:
        from .build import build_image
        from .executable import HipExecutable

        return HipExecutable(build_image(lowering, self.chip), text_at)

    def load(self, serialized: Serialized, text_at: TextAt) -> Executable:
        from ..gpu.serialization import read_image
        from .executable import HipExecutable

        return HipExecutable(read_image(serialized), text_at)

    def environment(self) -> Mapping[str, str]:
        from ..gpu.serialization import environment
        from .linking import linker_version

        return {**environment(), "chip": self.chip.name, "linker": linker_version()}

    def configured(self, options: Mapping[str, str]) -> Amdgcn:
        return self.for_chip(AMD_CHIPS, options)

    def present(self) -> Amdgcn:
        from .runtime.device import present_chip

        return self if self.chosen else replace(self, chip=present_chip(self.chip))

    def require(self) -> None:
        from .runtime.device import open_device

        open_device()


AMDGCN = Amdgcn(AMD_CHIPS[DEFAULT_AMD_CHIP])
