"""
xhlo: an MLIR-style compiler for HLO in Python.

    exe = xhlo.compile("program.mlir")      # or StableHLO text, or jax.jit(f).lower(..)
    y = exe(x)                              # NumPy in, NumPy out
    print(exe.as_text("fused"))             # "hlo", "fused", "linalg", "loops", "llvm", "asm"

The public names are those of `__all__`, each imported on first use. `__init__.pyi` has their types.
"""

# pyright: reportUnsupportedDunderAll=false
_HOMES = {
    "Builder": (".frontends.builder.builder", "Builder"),
    "CheckFailure": (".hlo_dialect.ops.check_calls", "CheckFailure"),
    "CudaError": (".targets.nvptx.runtime.errors", "CudaError"),
    "CustomCall": (".hlo_dialect.custom_calls.call", "CustomCall"),
    "CustomCallError": (".hlo_dialect.custom_calls.registry", "CustomCallError"),
    "DeviceArray": (".targets.gpu.runtime.arrays", "DeviceArray"),
    "DiagnosticError": (".hlo_dialect.diagnostics.diagnostic", "DiagnosticError"),
    "Executable": (".targets.program.executable", "Executable"),
    "GpuUnavailableError": (".targets.gpu.runtime.driver", "GpuUnavailableError"),
    "HipError": (".targets.amdgcn.runtime.errors", "HipError"),
    "Library": (".targets.ahead.library", "Library"),
    "PluginWarning": (".hlo_dialect.plugins", "PluginWarning"),
    "TraceError": (".frontends.numpy.errors", "TraceError"),
    "asarray": (".frontends.clusters.context", "asarray"),
    "autocluster": (".frontends.clusters.context", "autocluster"),
    "compile": (".targets.compile", "compile"),
    "compile_ahead": (".targets.ahead.library", "compile_ahead"),
    "cond": (".frontends.numpy.control_flow", "cond"),
    "custom_call": (".hlo_dialect.custom_calls.registry", "custom_call"),
    "deserialize": (".targets.compile", "deserialize"),
    "executable_of": (".frontends.jax.inspection", "executable_of"),
    "explain_clusters": (".frontends.clusters.report", "explain_clusters"),
    "fori_loop": (".frontends.numpy.control_flow", "fori_loop"),
    "from_torch": (".frontends.torch.entry", "from_torch"),
    "jit": (".frontends.numpy.jit", "jit"),
    "map": (".frontends.numpy.control_flow", "map_"),
    "numpy": (".numpy", ""),
    "register_custom_call": (".hlo_dialect.custom_calls.registry", "register_custom_call"),
    "scan": (".frontends.numpy.control_flow", "scan"),
    "sign_executable": (".targets.program.signing", "sign_executable"),
    "switch": (".frontends.numpy.control_flow", "switch"),
    "tensorflow": (".tensorflow", ""),
    "vmap": (".frontends.numpy.batched", "vmap"),
    "while_loop": (".frontends.numpy.control_flow", "while_loop"),
}

__all__ = ["__version__", *_HOMES]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> object:
    """Import on first use, so that `import xhlo` itself loads nothing."""
    if name == "__version__":
        globals()[name] = version = _version()
        return version
    from importlib import import_module

    try:
        module, attribute = _HOMES[name]
    except KeyError:
        import sys

        # With both, Python asks "Did you mean ..?"
        problem = f"module 'xhlo' has no attribute {name!r}"
        raise AttributeError(problem, name=name, obj=sys.modules[__name__]) from None
    from .hlo_dialect.garbage_collector import paused_gc
    from .targets.cache.modules import kept_code

    with paused_gc(), kept_code():
        home = import_module(module, __name__)
        value = getattr(home, attribute) if attribute else home
    globals()[name] = value
    return value


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("xhlo")
    except PackageNotFoundError:  # a checkout on the path that is not installed
        return "0+unknown"
