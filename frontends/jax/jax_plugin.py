"""The entry point in the group `jax_plugins`, which JAX calls to find the plugin."""

from __future__ import annotations

import os
from typing import Any

from . import PLATFORM
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

    from . import inspection, jax_dlpack
    from .jax_lowerings import install_callbacks, share_cpu_rules
    from .plugin import plugin

    bridge = internal("xla_bridge")
    if PLATFORM in bridge._backend_factories:
        return
    internal("interpreters.mlir")._platforms_with_donation.append(PLATFORM)
    share_cpu_rules()
    install_callbacks()
    jax_dlpack.install()
    inspection.install()
    _use_persistent_cache()
    bridge._nonexperimental_plugins.add(PLATFORM)
    bridge.register_plugin(PLATFORM, priority=PRIORITY, c_api=plugin().capsule)


def _use_persistent_cache() -> None:
    """JAX uses its persistent cache of compilations on the platforms that it lists; our executables serialize too."""
    module = internal("compilation_cache")
    asked = module.is_cache_used

    def is_cache_used(backend: Any) -> bool:
        if backend.platform != PLATFORM:
            return asked(backend)
        return module._is_cache_enabled()

    module.is_cache_used = is_cache_used
