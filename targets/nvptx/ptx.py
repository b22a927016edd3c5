"""Compile LLVM IR of device functions to PTX."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import llvmlite.binding

from ...lowering.device.chips import Chip, PtxVersionError, ptx_text

llvm: Any = llvmlite.binding
"""The package is untyped."""

TRIPLE = "nvptx64-nvidia-cuda"
LEVEL = 3
"""The level of LLVM's optimizer, the same as nvcc's."""

Timings = dict[str, float]
"""Seconds by stage: parse, optimize, codegen."""

_lock = threading.RLock()
"""Only one thread at a time may make and use llvmlite's objects."""


@lru_cache(maxsize=1)
def _initialize() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


@lru_cache(maxsize=8)
def _target_machine(chip: str, ptx: int) -> Any:
    _initialize()
    target: Any = llvm.Target.from_triple(TRIPLE)
    return target.create_target_machine(cpu=chip, features=f"+ptx{ptx}", opt=3)


@contextmanager
def _stage(timings: Timings | None, name: str) -> Generator[None]:
    start = time.perf_counter()
    yield
    if timings is not None:
        timings[name] = timings.get(name, 0.0) + time.perf_counter() - start


def compile_to_ptx(text: str, chip: Chip, ptx: int, timings: Timings | None = None) -> str:
    """
    The PTX of a module of LLVM IR, of version `ptx` (78 is 7.8), see `chips.ptx_version`.

    Products and sums are not contracted to fma unless the LLVM IR allows it: they stay `mul.rn` and `add.rn`. `timings`
    receives the seconds of each stage. Raises PtxVersionError for a version without the chip, RuntimeError with LLVM's
    message for invalid text. The module must have passed `checks.check_device_functions`, because LLVM aborts the
    process for code that it cannot select.
    """
    if ptx < chip.oldest_ptx:
        raise PtxVersionError(f"PTX {ptx_text(ptx)} does not know {chip.name}")
    with _lock:
        machine = _target_machine(chip.name, ptx)
        module = _optimized(text, machine, timings)
        with _stage(timings, "codegen"):
            return str(machine.emit_assembly(module))


def optimize(text: str, chip: Chip, ptx: int) -> str:
    """The LLVM IR after the optimizer, as text."""
    with _lock:
        return str(_optimized(text, _target_machine(chip.name, ptx), None))


def _optimized(text: str, machine: Any, timings: Timings | None) -> Any:
    with _stage(timings, "parse"):
        # A separate context, because LLVM never frees objects interned in the global one.
        module: Any = llvm.parse_assembly(text, context=llvm.create_context())
        module.triple = TRIPLE
        module.data_layout = str(machine.target_data)
        module.verify()
    with _stage(timings, "optimize"):
        options: Any = llvm.create_pipeline_tuning_options(speed_level=LEVEL)
        # Threads only have vector loads and stores, which the code generator forms itself.
        options.loop_vectorization = options.slp_vectorization = options.loop_interleaving = False
        options.loop_unrolling = True
        builder: Any = llvm.create_pass_builder(machine, options)
        manager: Any = builder.getModulePassManager()
        manager.run(module, builder)
        # llvmlite does not dispose of it: ObjectRef's empty method comes first in the method resolution order.
        llvm.newpassmanagers.NewPassManager._dispose(manager)
    return module
