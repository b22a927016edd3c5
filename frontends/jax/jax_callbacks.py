"""Python functions that programs call back: custom calls of a target of ours, and the lowering rule that makes them."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ...hlo_dialect.arrays import Array
from ...hlo_dialect.custom_calls.registry import REGISTRY, CustomCallTarget
from .jax_internals import internal

if TYPE_CHECKING:
    from ...hlo_dialect.custom_calls.call import CustomCall

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


def functions_called(calls: Iterable[CustomCall]) -> list[object]:
    """The functions of these calls, to keep them alive: a run may go on when JAX has forgotten its program."""
    return [_callbacks.get(int(call.attributes["index"])) for call in calls]


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


REGISTRY.add(CustomCallTarget(CALLBACK_TARGET, _call_back, local=True))


def emit_callback(
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

    x64 = internal("config").enable_x64
    wide = x64.value

    def checked(*arguments: Any) -> tuple[Any, ...]:
        with x64(wide):  # as where the program was traced: this is another thread
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
