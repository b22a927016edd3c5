"""
JAX's lowering rules for this platform, where they differ between platforms.

JAX has rules for the platform cpu that call LAPACK and the like by name (`lapack_ssyevd_ffi`); xhlo implements those
targets, so the rules serve it too. Those of Python functions that a program calls back are in jax_callbacks.py.
"""

from __future__ import annotations

import importlib
import threading
from collections import ChainMap
from typing import Any

from . import PLATFORM, REPORTED
from .jax_internals import internal

PALLAS = "pallas_call"
"""The name of Pallas' primitive; the primitive itself does not exist before a program imports Pallas."""


class _Rules(ChainMap[Any, Any]):
    """Our platform's rules, then those of the platform cpu, including those registered later; and one for Pallas."""

    def __contains__(self, primitive: Any) -> bool:
        return super().__contains__(primitive) or primitive.name == PALLAS

    def __missing__(self, primitive: Any) -> Any:
        if primitive.name != PALLAS:
            raise KeyError(primitive)
        usual = internal("interpreters.mlir")._lowerings[primitive]

        def lower(ctx: Any, *operands: Any, **parameters: Any) -> Any:
            if not parameters["interpret"]:
                raise NotImplementedError(
                    "xhlo runs Pallas kernels as the programs that they mean: pass interpret=True to pallas_call; "
                    "machine code from Mosaic and Triton is for TPUs and GPUs"
                )
            return usual.rule(ctx, *operands, **parameters)

        return type(usual)(lower, usual.inline)


def share_cpu_rules() -> None:
    """Let our platform use the lowering rules of the platform cpu."""
    rules = internal("interpreters.mlir")._platform_specific_lowerings
    if not isinstance(rules.get(PLATFORM), _Rules):
        rules[PLATFORM] = _Rules(rules.get(PLATFORM, {}), rules["cpu"])


_installing = threading.Lock()


def install_callbacks() -> None:
    """Let pure_callback, io_callback, debug.callback and debug.print work on our platform."""
    callback, debugging = internal("callback"), internal("debugging")
    with _installing:
        if isinstance(callback.xb, _Bridge):
            return
        others = callback.emit_python_callback

        def emit(ctx: Any, function: Any, token: Any, operands: Any, *rest: Any, **options: Any) -> Any:
            if tuple(ctx.module_context.platforms) not in ((PLATFORM,), (REPORTED,)):
                return others(ctx, function, token, operands, *rest, **options)
            from .jax_callbacks import emit_callback

            return emit_callback(ctx, function, token, operands, *rest, **options)

        callback.emit_python_callback = emit
        # The public name, by which jax.experimental.sparse calls it.
        public: Any = importlib.import_module("jax.interpreters.mlir")
        public.emit_python_callback = emit
        callback.xb = _Bridge(callback.xb)
        debugging.xla_bridge = _Bridge(debugging.xla_bridge)


class _Bridge:
    """
    JAX's xla_bridge as its callbacks see it.

    Callbacks get their arguments on a device of the platform cpu, or on ours if JAX_PLATFORMS leaves cpu out.
    """

    def __init__(self, module: Any):
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def local_devices(self, *arguments: Any, backend: Any = None, **options: Any) -> Any:
        try:
            return self._module.local_devices(*arguments, backend=backend, **options)
        except RuntimeError:
            if backend != "cpu":
                raise
            return self._module.local_devices(*arguments, backend=PLATFORM, **options)
