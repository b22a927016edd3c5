"""
xhlo: an MLIR-style compiler for HLO in Python.

    exe = xhlo.compile("program.mlir")      # or StableHLO text, or jax.jit(f).lower(..)
    y = exe(x)                              # NumPy in, NumPy out
    print(exe.as_text("fused"))             # "hlo", "fused", "linalg", "loops", "llvm", "asm"
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .frontends.builder.builder import Builder as Builder
    from .frontends.clusters.context import asarray as asarray
    from .frontends.clusters.context import autocluster as autocluster
    from .frontends.clusters.report import explain_clusters as explain_clusters
    from .frontends.jax.inspection import executable_of as executable_of
    from .frontends.numpy.batched import vmap as vmap
    from .frontends.numpy.control_flow import cond as cond
    from .frontends.numpy.control_flow import fori_loop as fori_loop
    from .frontends.numpy.control_flow import map_ as map
    from .frontends.numpy.control_flow import scan as scan
    from .frontends.numpy.control_flow import switch as switch
    from .frontends.numpy.control_flow import while_loop as while_loop
    from .frontends.numpy.errors import TraceError as TraceError
    from .frontends.numpy.jit import jit as jit
    from .hlo_dialect.custom_calls.call import CustomCall as CustomCall
    from .hlo_dialect.custom_calls.registry import CustomCallError as CustomCallError
    from .hlo_dialect.custom_calls.registry import custom_call as custom_call
    from .hlo_dialect.custom_calls.registry import register_custom_call as register_custom_call
    from .hlo_dialect.diagnostics import DiagnosticError as DiagnosticError
    from .hlo_dialect.ops.check_calls import CheckFailure as CheckFailure
    from .targets.ahead.library import Library as Library
    from .targets.ahead.library import compile_ahead as compile_ahead
    from .targets.compile import compile_program as compile
    from .targets.compile import deserialize as deserialize
    from .targets.nvptx.runtime.arrays import DeviceArray as DeviceArray
    from .targets.nvptx.runtime.driver import CudaError as CudaError
    from .targets.nvptx.runtime.driver import GpuUnavailableError as GpuUnavailableError
    from .targets.program.executable import Executable as Executable
    from .targets.program.signing import sign_executable as sign_executable

__all__ = [
    "Builder",
    "CheckFailure",
    "CudaError",
    "CustomCall",
    "CustomCallError",
    "DeviceArray",
    "DiagnosticError",
    "Executable",
    "GpuUnavailableError",
    "Library",
    "TraceError",
    "asarray",
    "autocluster",
    "compile",
    "compile_ahead",
    "cond",
    "custom_call",
    "deserialize",
    "explain_clusters",
    "fori_loop",
    "jit",
    "map",
    "register_custom_call",
    "scan",
    "sign_executable",
    "switch",
    "vmap",
    "while_loop",
]

_HOMES = {
    "vmap": (".frontends.numpy.batched", "vmap"),
    "asarray": (".frontends.clusters.context", "asarray"),
    "autocluster": (".frontends.clusters.context", "autocluster"),
    "explain_clusters": (".frontends.clusters.report", "explain_clusters"),
    "while_loop": (".frontends.numpy.control_flow", "while_loop"),
    "switch": (".frontends.numpy.control_flow", "switch"),
    "scan": (".frontends.numpy.control_flow", "scan"),
    "map": (".frontends.numpy.control_flow", "map_"),
    "numpy": (".numpy", ""),
    "fori_loop": (".frontends.numpy.control_flow", "fori_loop"),
    "cond": (".frontends.numpy.control_flow", "cond"),
    "Builder": (".frontends.builder.builder", "Builder"),
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
    "TraceError": (".frontends.numpy.errors", "TraceError"),
    "jit": (".frontends.numpy.jit", "jit"),
    "Library": (".targets.ahead.library", "Library"),
    "compile_ahead": (".targets.ahead.library", "compile_ahead"),
    "compile": (".targets.compile", "compile_program"),
    "deserialize": (".targets.compile", "deserialize"),
    "sign_executable": (".targets.program.signing", "sign_executable"),
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
        home = import_module(module, __name__)
        value = getattr(home, attribute) if attribute else home
    globals()[name] = value
    return value
