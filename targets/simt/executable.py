"""Programs that run on the SIMT interpreter: NumPy arrays in, NumPy arrays out, no GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...hlo_dialect.types import Array, ArrayType
from ...passes.manager import pipelines
from ...passes.manager.timing import Timing
from ..compile import run_passes
from ..cpu.build import entry_types
from ..cpu.image import Check, checks_of, result_count
from ..cpu.loading import checker
from ..executable import Executable, Kernel
from ..kernel_info import describe_kernels
from ..registry import SIMT
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

    def __init__(
        self,
        program: HostProgram,
        inputs: Sequence[ArrayType],
        outputs: Sequence[ArrayType],
        results: int,
        checks: Sequence[Check],
        kernels: list[Kernel],
        stages: dict[str, float],
        text_at: Callable[[str], str],
        profile: bool = False,
    ):
        """The first `results` of the `outputs` are the program's own; the others are the operands of its checks."""
        super().__init__(text_at)
        self.program = program
        self._inputs = tuple(inputs)
        self._outputs = tuple(outputs)
        self._results = results
        self._check = checker(checks) if checks else None
        self._kernels = kernels
        self._stages = stages
        self._traffic = program.count_traffic() if profile else []

    @property
    def input_types(self) -> tuple[ArrayType, ...]:
        return self._inputs

    @property
    def output_types(self) -> tuple[ArrayType, ...]:
        return self._outputs[: self._results]

    @property
    def kernels(self) -> list[Kernel]:
        for kernel in self._kernels:
            kernel.calls, kernel.nanoseconds = self.program.profile.get(kernel.name, (0, 0))
        return self._kernels

    @property
    def compile_stages(self) -> dict[str, float]:
        return dict(self._stages)

    def reset_profile(self) -> None:
        self.program.profile.clear()
        if self._traffic:
            self._traffic = self.program.count_traffic()

    def traffic_table(self) -> str:
        return table(self._traffic) if self._traffic else ""

    def serialize(self) -> bytes:
        """Raises ValueError: interpreted programs cannot be serialized."""
        raise ValueError("programs of the target simt are not serialized: it interprets their IR")

    def __call__(self, *arguments: Any) -> Array | tuple[Array, ...]:
        if len(arguments) != len(self._inputs):
            raise TypeError(f"expected {len(self._inputs)} arguments, got {len(arguments)}")
        arrays = [_input(argument, i, self._inputs[i]) for i, argument in enumerate(arguments)]
        outputs = [undefined(type_.shape, type_.dtype) for type_ in self._outputs]
        self.program.run(arrays, outputs)
        if self._check is not None:
            self._check(outputs)
        results = outputs[: self._results]
        return results[0] if len(results) == 1 else tuple(results)


def _input(argument: Any, index: int, wanted: ArrayType) -> Array:
    """A contiguous array of the expected type. Raises TypeError."""
    array: Array = np.asarray(argument)
    if array.dtype != wanted.dtype or array.shape != wanted.shape:
        found = f"{array.dtype}{list(array.shape)}"
        raise TypeError(f"argument {index}: expected {wanted.dtype}{list(wanted.shape)} ({wanted.text}), got {found}")
    return np.ascontiguousarray(array).reshape(wanted.shape)


def build(
    ctx: Context,
    module: ModuleOp,
    timing: Timing,
    text_at: Callable[[str], str],
    *,
    profile: bool = False,
    fuse: bool = True,
    verify_each: bool = False,
) -> SimtExecutable:
    """
    Run the pipeline on `module`, which is consumed, down to the gpu-level IR, and prepare it to run.

    Without `fuse` each operation is a kernel of its own; with `verify_each` the module is verified after each pass.
    """

    def run(*specs: str) -> None:
        run_passes(ctx, module, specs, timing, verify_each)

    run(*map(SIMT.tune, pipelines.FRONT))
    inputs, outputs = entry_types(module)
    checks, count = checks_of(module), result_count(module, len(outputs))
    outline, *linalg = SIMT.passes_between(None, "linalg")
    run(*map(SIMT.tune, pipelines.FUSE if fuse else pipelines.FUSE_NONE), outline)
    kernels = describe_kernels(module)
    run(*linalg, *SIMT.passes_between("linalg", "loops"))
    with timing.stage("prepare"):
        program = HostProgram(module)
    return SimtExecutable(program, inputs, outputs, count, checks, kernels, timing.seconds, text_at, profile)
