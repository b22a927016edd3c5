"""
JAX's lowering rules for this platform, where they differ between platforms.

JAX has rules for the platform cpu that call LAPACK and the like by name (`lapack_ssyevd_ffi`); xhlo implements those
targets, so the rules serve it too. Python functions that a program calls back are custom calls of a target of ours.
"""

from __future__ import annotations

import importlib
import itertools
import threading
import weakref
from collections import ChainMap
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...hlo_dialect.custom_calls.call import CustomCall
from ...hlo_dialect.custom_calls.registry import REGISTRY, CustomCallTarget
from ...hlo_dialect.types import Array
from . import PLATFORM, REPORTED
from .jax_internals import internal

CALLBACK_TARGET = "xhlo_python_callback"


class _Callback:
    """A function that programs call back; their executables keep it alive."""

    def __init__(self, function: Callable[..., Any]):
        self.function = function


_callbacks: weakref.WeakValueDictionary[int, _Callback] = weakref.WeakValueDictionary()
_numbers = itertools.count(1)


def _call_back(call: CustomCall, *operands: Array) -> tuple[Any, ...]:
    """The meaning of the custom call: the function with that number."""
    found = _callbacks.get(int(call.attributes["index"]))
    if found is None:
        raise RuntimeError("the function that the program calls back belongs to another process, or is gone")
    with _without_mesh():
        return tuple(found.function(*operands))


@contextmanager
def _without_mesh() -> Generator[None]:
    """
    Without the mesh that `jax.set_mesh` sets for the calling thread.

    A callback gets its arguments on the platform cpu, which has none of the mesh's devices. The threads of programs for
    several devices have no mesh either.
    """
    config = internal("config")
    settings = (config.abstract_mesh_context_manager, config.device_context)
    before = [setting.swap_local(config.config_ext.unset) for setting in settings]
    try:
        yield
    finally:
        for setting, value in zip(settings, before, strict=True):
            setting.set_local(value)


def share_cpu_rules() -> None:
    """Let our platform use the lowering rules of the platform cpu, including those registered later."""
    rules = internal("interpreters.mlir")._platform_specific_lowerings
    if not isinstance(rules.get(PLATFORM), ChainMap):
        rules[PLATFORM] = ChainMap(rules.get(PLATFORM, {}), rules["cpu"])


_installing = threading.Lock()


def install_callbacks() -> None:
    """Let pure_callback, io_callback, debug.callback and debug.print work on our platform."""
    callback, debugging = internal("callback"), internal("debugging")
    with _installing:
        if REGISTRY.find(CALLBACK_TARGET) is not None:
            return
        REGISTRY.add(CustomCallTarget(CALLBACK_TARGET, _call_back, local=True))
        others = callback.emit_python_callback

        def emit(ctx: Any, function: Any, token: Any, operands: Any, *rest: Any, **options: Any) -> Any:
            if tuple(ctx.module_context.platforms) not in ((PLATFORM,), (REPORTED,)):
                return others(ctx, function, token, operands, *rest, **options)
            return _emit(ctx, function, token, operands, *rest, **options)

        callback.emit_python_callback = emit
        # The public name, by which jax.experimental.sparse calls it.
        public: Any = importlib.import_module("jax.interpreters.mlir")
        public.emit_python_callback = emit
        callback.xb = _Bridge(callback.xb)
        debugging.xla_bridge = _Bridge(debugging.xla_bridge)


def _emit(
    ctx: Any,
    function: Callable[..., Sequence[Any]],
    token: Any,
    operands: Sequence[Any],
    operand_avals: Sequence[Any],
    result_avals: Sequence[Any],
    *,
    has_side_effect: bool,
    returns_token: bool = True,
    partitioned: bool = False,
    sharding: Any = None,
) -> tuple[Any, Any, Any]:
    """
    Like JAX's emit_python_callback. Returns the results, the token after the call, and the object that keeps the
    function alive.
    """
    canonical = internal("dtypes").canonicalize_value

    def checked(*arguments: Any) -> tuple[Any, ...]:
        values: list[Array] = [canonical(np.asarray(value)) for value in function(*arguments)]
        if len(values) != len(result_avals):
            raise RuntimeError(f"the callback returned {len(values)} arrays; {len(result_avals)} were promised")
        for index, (value, aval) in enumerate(zip(values, result_avals, strict=True)):
            if (value.shape, value.dtype) != (aval.shape, aval.dtype):
                raise RuntimeError(
                    f"result {index} of the callback has shape {value.shape} and dtype {value.dtype}; promised were "
                    f"{aval.shape} and {aval.dtype}"
                )
        return tuple(values)

    number = next(_numbers)
    kept = _callbacks[number] = _Callback(checked)
    ctx.module_context.add_keepalive(kept)
    if token:
        if sharding is not None and result_avals and hasattr(sharding, "shardings"):
            # The token is a result too; with shardings, each result has one.
            impls = internal("sharding_impls")
            whole = impls.SdyArray(
                mesh_shape=(), dim_shardings=(), logical_device_ids=sharding.shardings[0].logical_device_ids
            )
            sharding = impls.SdyArrayList((whole, *sharding.shardings))
        abstract = internal("core").abstract_token
        ctx = ctx.replace(avals_in=[abstract, *ctx.avals_in], avals_out=[abstract, *ctx.avals_out])
        operands = [token, *operands]
    build = internal("ffi").build_ffi_lowering_function(CALLBACK_TARGET, has_side_effect=has_side_effect)
    call = build(ctx, *operands, index=np.int64(number))
    if sharding is not None:
        internal("interpreters.mlir").set_sharding(ctx.module_context, call, sharding)
    results = list(call.results)
    if token:
        token, *results = results
    return results, token, kept


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
