"""
xhlo: an MLIR-style compiler for HLO in Python.

    exe = xhlo.compile("program.mlir")      # or StableHLO text, or jax.jit(f).lower(..)
    y = exe(x)                              # NumPy in, NumPy out
    print(exe.as_text("fused"))             # "hlo", "fused", "linalg", "loops", "llvm", "asm"
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .frontends.jax.inspection import executable_of as executable_of
    from .hlo_dialect.custom_calls.call import CustomCall as CustomCall
    from .hlo_dialect.custom_calls.registry import CustomCallError as CustomCallError
    from .hlo_dialect.custom_calls.registry import custom_call as custom_call
    from .hlo_dialect.custom_calls.registry import register_custom_call as register_custom_call
    from .hlo_dialect.diagnostics import DiagnosticError as DiagnosticError
    from .hlo_dialect.ops.check_calls import CheckFailure as CheckFailure
    from .targets.compile import compile_program as compile
    from .targets.compile import load_executable as deserialize
    from .targets.nvptx.runtime.arrays import DeviceArray as DeviceArray
    from .targets.nvptx.runtime.driver import CudaError as CudaError
    from .targets.nvptx.runtime.driver import GpuUnavailableError as GpuUnavailableError
    from .targets.program.executable import Executable as Executable

__all__ = [
    "CheckFailure",
    "CudaError",
    "CustomCall",
    "CustomCallError",
    "DeviceArray",
    "DiagnosticError",
    "Executable",
    "GpuUnavailableError",
    "compile",
    "custom_call",
    "deserialize",
    "register_custom_call",
]

_HOMES = {
    "CheckFailure": (".hlo_dialect.ops.check_calls", "CheckFailure"),
    "CustomCall": (".hlo_dialect.custom_calls.call", "CustomCall"),
    "CustomCallError": (".hlo_dialect.custom_calls.registry", "CustomCallError"),
    "custom_call": (".hlo_dialect.custom_calls.registry", "custom_call"),
    "register_custom_call": (".hlo_dialect.custom_calls.registry", "register_custom_call"),
    "DiagnosticError": (".hlo_dialect.diagnostics.diagnostic", "DiagnosticError"),
    "CudaError": (".targets.nvptx.runtime.driver", "CudaError"),
    "DeviceArray": (".targets.nvptx.runtime.arrays", "DeviceArray"),
    "GpuUnavailableError": (".targets.nvptx.runtime.driver", "GpuUnavailableError"),
    "Executable": (".targets.program.executable", "Executable"),
    "executable_of": (".frontends.jax.inspection", "executable_of"),
    "compile": (".targets.compile", "compile_program"),
    "deserialize": (".targets.compile", "load_executable"),
}


def __getattr__(name: str) -> Any:
    """Import on first use, so that `import xhlo` itself loads nothing."""
    from importlib import import_module

    try:
        module, attribute = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module 'xhlo' has no attribute {name!r}") from None
    from .hlo_dialect.garbage_collector import paused_gc

    with paused_gc():
        value = getattr(import_module(module, __name__), attribute)
    globals()[name] = value
    return value
