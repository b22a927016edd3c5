"""
The xhlo executable of a function that JAX compiled.

    compiled = jax.jit(f).lower(x).compile()
    compiled.as_text()                                # the program with its fusions, as HLO text
    xhlo.executable_of(compiled).as_text("fused")     # any stage, as MLIR or assembly
    xhlo.executable_of(compiled).kernels              # one by one, with bytes and flops
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import PLATFORM, REPORTED
from .jax_internals import internal

if TYPE_CHECKING:
    from ...targets.cpu.executable import CpuExecutable


def executable_of(compiled: Any) -> CpuExecutable:
    """
    The xhlo executable of the object that `jax.jit(f).lower(..).compile()` returns. Raises TypeError for anything else,
    ValueError for an executable of another platform.

    >>> import os
    >>> os.environ.setdefault("JAX_PLATFORMS", "xhlo")
    'xhlo'
    >>> import jax
    >>> import numpy as np
    >>> import xhlo
    >>> compiled = jax.jit(lambda x: jax.numpy.tanh(x).sum()).lower(np.ones(8, np.float32)).compile()
    >>> [kernel.kind for kernel in xhlo.executable_of(compiled).kernels]
    ['reduce']
    """
    runtime = getattr(compiled, "runtime_executable", None)
    if runtime is None:
        raise TypeError(f"expected what jax.jit(f).lower(..).compile() returns, got {type(compiled).__name__}")
    return _of_runtime(runtime())


def _of_runtime(runtime: Any) -> CpuExecutable:
    if runtime.client.platform != REPORTED:
        raise ValueError(f"the function was compiled for the platform '{runtime.client.platform}', not for {PLATFORM}")
    from .executables import by_fingerprint

    found = by_fingerprint(bytes(runtime.fingerprint).decode())
    if found is None:
        raise ValueError("the executable has been deleted")
    return found.compiled.executable


def install() -> None:
    """Let JAX's `as_text()` of compiled functions show our program with its fusions, in HLO's spelling."""
    kind = internal("stages").Executable
    others = kind.as_text

    def as_text(self: Any) -> str:
        runtime = self.xla_extension_executable()
        if runtime.client.platform != REPORTED:
            return others(self)
        from ...hlo_dialect.diagnostics import DiagnosticError
        from .programs import hlo_text

        source = _of_runtime(runtime).source
        try:
            return others(self) if source is None else hlo_text(source)
        except DiagnosticError:
            # An operation that HLO lacks: the program before the passes, which JAX wrote, has a form in HLO.
            return others(self)

    kind.as_text = as_text
