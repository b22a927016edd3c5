"""The entry point in the group `jax_plugins`, which JAX calls to find the plugin."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from ...targets.cache.files import may_read
from . import NAME_VARIABLE, PLATFORM, REPORTED, SUBNORMALS, SUBNORMALS_VARIABLE
from .jax_internals import internal

PRIORITY = -100
"""Below the platform cpu's 0: installing xhlo changes no program."""


def initialize() -> None:
    """
    Register the platform "xhlo" with JAX: JAX uses it if JAX_PLATFORMS names it. If JAX_PLATFORMS names only other
    platforms, nothing is loaded.
    """
    named = os.environ.get("JAX_PLATFORMS", "")
    if named and PLATFORM not in named.split(","):
        return

    bridge = internal("xla_bridge")
    if (problem := _problem_with_variables(named)) is not None:
        # JAX only logs what this function raises, and says later that it does not know the platform.
        bridge.register_backend_factory(PLATFORM, partial(_fail, problem), priority=PRIORITY, fail_quietly=False)
        return

    from . import inspection, jax_dlpack
    from .jax_lowerings import install_callbacks, share_cpu_rules
    from .plugin import plugin

    if PLATFORM in bridge._backend_factories:
        return
    internal("interpreters.mlir")._platforms_with_donation.append(PLATFORM)
    share_cpu_rules()
    install_callbacks()
    jax_dlpack.install()
    inspection.install()
    internal("compiler").register_xla_runtime_error_handler(_let_interrupts_in)
    _use_persistent_cache()
    bridge._nonexperimental_plugins.add(PLATFORM)
    if REPORTED != PLATFORM:
        bridge._alias_to_platforms[REPORTED] = [PLATFORM]
    capsule = plugin().capsule
    bridge.register_plugin(PLATFORM, priority=PRIORITY, c_api=capsule)
    _register_profiler(capsule)


def _register_profiler(capsule: Any) -> None:
    """
    Let `jax.profiler.trace` ask the plugin for events.

    jaxlib calls every function of the table that it knows, whatever the size of ours, and later versions know more.
    """
    if internal("lib").version[:2] == (0, 10):
        internal("lib")._profiler.register_plugin_profiler(capsule)


def _problem_with_variables(named: str) -> str | None:
    """The problem with the variables of the plugin, if any; `named` is JAX_PLATFORMS."""
    if SUBNORMALS not in ("flush", "keep"):
        return f"{SUBNORMALS_VARIABLE}={SUBNORMALS}: subnormal numbers are flush or keep"
    if REPORTED not in (PLATFORM, "cpu"):
        return f"{NAME_VARIABLE}={REPORTED}: the platform can be called xhlo or cpu"
    if REPORTED != PLATFORM and named != PLATFORM:
        return (
            f"{NAME_VARIABLE}={REPORTED} needs JAX_PLATFORMS={PLATFORM}, which is {named or 'not set'}: there would be "
            f"two platforms called {REPORTED}"
        )
    return None


def _fail(problem: str) -> NoReturn:
    raise RuntimeError(problem)


def _let_interrupts_in(error: Exception) -> None:
    """
    Called by JAX for an error of a compilation, and does nothing: as it is called, Python raises a pending interrupt.

    Without it, an interrupted compilation would end with the plugin's error CANCELLED.
    """


def _use_persistent_cache() -> None:
    """JAX uses its persistent cache of compilations on the platforms that it lists; our executables serialize too."""
    module = internal("compilation_cache")
    asked = module.is_cache_used

    def is_cache_used(backend: Any) -> bool:
        if backend.platform != REPORTED:
            return asked(backend)
        return module._is_cache_enabled()

    module.is_cache_used = is_cache_used
    cache_of = module._get_cache

    def get_cache(backend: Any) -> Any:
        cache = cache_of(backend)
        return cache if cache is None or backend.platform != REPORTED else _TrustedCache(cache)

    module._get_cache = get_cache


class _TrustedCache:
    """JAX's cache, without the files that another user may have written."""

    def __init__(self, cache: Any):
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def get(self, key: str) -> bytes | None:
        folder = getattr(self._cache, "path", None)
        is_trusted = not isinstance(folder, Path) or may_read(folder / f"{key}-cache")
        return self._cache.get(key) if is_trusted else None
