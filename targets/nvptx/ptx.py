"""LLVM IR of device functions to PTX: checked first, since LLVM ends the process where it cannot go on."""

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
"""The package has no types."""

TRIPLE = "nvptx64-nvidia-cuda"
LEVEL = 3
"""Of LLVM's optimizer, as nvcc's."""

Timings = dict[str, float]
"""Seconds by stage: parse, optimize, codegen."""

_lock = threading.RLock()
"""llvmlite's objects are made and used by one thread at a time."""


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
    The PTX of a module of LLVM IR, of version `ptx` (78 is 7.8), which `gpu_chips.ptx_version` gives.

    Products and sums are not contracted: `mul.rn` and `add.rn` are what the program says, where LLVM IR does not allow
    more. `timings` receives the seconds of each stage.
    Raises PtxVersionError for a version that does not know the chip, RuntimeError with LLVM's message for text that it
    refuses. The text is to have passed `checks.check_device_functions`.
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
        # A context of its own: what LLVM interns in the global one stays for ever.
        module: Any = llvm.parse_assembly(text, context=llvm.create_context())
        module.triple = TRIPLE
        module.data_layout = str(machine.target_data)
        module.verify()
    with _stage(timings, "optimize"):
        options: Any = llvm.create_pipeline_tuning_options(speed_level=LEVEL)
        # A thread has no vectors but those of loads and stores, which the code generator makes.
        options.loop_vectorization = options.slp_vectorization = options.loop_interleaving = False
        options.loop_unrolling = True
        builder: Any = llvm.create_pass_builder(machine, options)
        manager: Any = builder.getModulePassManager()
        manager.run(module, builder)
        # llvmlite forgets to: its ObjectRef's empty method comes first in the class's order.
        llvm.newpassmanagers.NewPassManager._dispose(manager)
    return module
