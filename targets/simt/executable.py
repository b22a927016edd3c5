"""Programs that run on the SIMT interpreter: NumPy arrays in, NumPy arrays out, no GPU."""

from __future__ import annotations

from collections.abc import Callable

from ...hlo_dialect.types import Array
from ..program.executable import Executable
from ..program.facts import Facts, Kernel
from ..program.lowering import Lowering
from .host import HostProgram
from .memory import undefined
from .traffic import table


class SimtExecutable(Executable):
    """
    A program that is interpreted.

    A call raises SimtError if a kernel's behaviour is undefined on a GPU, CheckFailure if one of the program's checks
    does not hold. Kernels are always timed, but these are the interpreter's times, not a GPU's. Memory traffic is
    meaningful: `traffic_table` shows it for a program compiled with `profile=True`.
    """

    def __init__(self, program: HostProgram, facts: Facts, text_at: Callable[[str], str]):
        super().__init__(facts, text_at)
        self.program = program
        self._traffic = program.count_traffic() if facts.profiled else []

    @property
    def kernels(self) -> list[Kernel]:
        for kernel in self.facts.kernels:
            kernel.calls, kernel.nanoseconds = self.program.profile.get(kernel.name, (0, 0))
        return self.facts.kernels

    def reset_profile(self) -> None:
        self.program.profile.clear()
        if self._traffic:
            self._traffic = self.program.count_traffic()

    def traffic_table(self) -> str:
        return table(self._traffic) if self._traffic else ""

    def serialize(self) -> bytes:
        """Raises ValueError: interpreted programs are not kept."""
        raise ValueError("programs of the target simt are not serialized: it interprets their IR")

    def run(self, arrays: list[Array]) -> list[Array]:
        outputs = [undefined(type_.shape, type_.dtype) for type_ in self.facts.outputs]
        self.program.run(arrays, outputs)
        return outputs


def build(lowering: Lowering, text_at: Callable[[str], str]) -> SimtExecutable:
    """Lower the module, which is consumed, to the gpu-level IR, and prepare that to run. Raises DiagnosticError."""
    lowering.to_the_end()
    with lowering.timing.stage("prepare"):
        program = HostProgram(lowering.module)
    return SimtExecutable(program, lowering.facts, text_at)
