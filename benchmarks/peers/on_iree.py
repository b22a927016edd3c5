"""IREE's CPU compiler, for this machine's processor, from the StableHLO that JAX writes."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import jax
import numpy as np
from iree import compiler, runtime

from . import functions
from .rows import Arguments, Row

SYSTEMS = ("IREE",)
VERSIONS = {"IREE": version("iree-base-compiler")}


def prepare(row: Row, system: str, arguments: Arguments) -> Callable[[], Any] | None:
    lowered = jax.jit(getattr(functions, row.name)).lower(*arguments)
    code = compiler.compile_str(
        lowered.as_text(),
        input_type="stablehlo",
        target_backends=["llvm-cpu"],
        extra_args=["--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3"],
    )
    device = runtime.get_device("local-task")
    config = runtime.Config(device=device)
    module = runtime.load_vm_module(runtime.VmModule.copy_buffer(config.vm_instance, code), config)
    there = [runtime.asdevicearray(device, np.asarray(x)) for x in jax.tree.leaves(arguments)]

    def call() -> Any:
        results = module.main(*there)
        # The results are mapped, not copied; reading one waits for it.
        return [each.to_host() for each in (results if isinstance(results, (tuple, list)) else (results,))]

    return call
