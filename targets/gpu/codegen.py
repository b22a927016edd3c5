"""LLVM's optimizer and code generators for GPUs."""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import Any

import llvmlite.binding

llvm: Any = llvmlite.binding
"""The package is untyped."""

LEVEL = 3
"""The level of LLVM's optimizer, the same as that of the vendors' compilers."""

_lock = threading.RLock()
"""Only one thread at a time may make and use llvmlite's objects."""


@lru_cache(maxsize=1)
def _initialize() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


@lru_cache(maxsize=8)
def _target_machine(triple: str, chip: str, features: str) -> Any:
    _initialize()
    target: Any = llvm.Target.from_triple(triple)
    return target.create_target_machine(cpu=chip, features=features, opt=3)


class Backend:
    """LLVM's backend for one chip. Methods raise RuntimeError with LLVM's message for invalid text."""

    def __init__(self, triple: str, chip: str, features: str = ""):
        self._machine_of = triple, chip, features

    def assembly(self, text: str) -> str:
        """The assembly of a module of LLVM IR."""
        return str(self._generated(text, "emit_assembly"))

    def object_code(self, text: str) -> bytes:
        """The object file of a module of LLVM IR."""
        return bytes(self._generated(text, "emit_object"))

    def optimized(self, text: str) -> str:
        """The LLVM IR after the optimizer, as text."""
        with _lock:
            return str(self._optimized(text, _target_machine(*self._machine_of)))

    def _generated(self, text: str, method: str) -> Any:
        with _lock:
            machine = _target_machine(*self._machine_of)
            return getattr(machine, method)(self._optimized(text, machine))

    def _optimized(self, text: str, machine: Any) -> Any:
        # A separate context, because LLVM never frees objects interned in the global one.
        module: Any = llvm.parse_assembly(text, context=llvm.create_context())
        module.triple = self._machine_of[0]
        module.data_layout = str(machine.target_data)
        module.verify()
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
