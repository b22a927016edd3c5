"""What JAX calls to find the plugin: the entry point of the group `jax_plugins`."""

from __future__ import annotations

from typing import Any


def initialize() -> None:
    """Register the platform "xhlo" with JAX, behind its own: JAX uses it when JAX_PLATFORMS names it."""
    import jax._src.xla_bridge as xla_bridge  # pyright: ignore[reportMissingTypeStubs]
    from jax._src.interpreters import mlir  # pyright: ignore[reportMissingTypeStubs]

    from .client import PLATFORM
    from .plugin import plugin

    bridge: Any = xla_bridge
    donating: list[str] = mlir._platforms_with_donation  # pyright: ignore
    if PLATFORM not in donating:
        donating.append(PLATFORM)
    bridge._nonexperimental_plugins.add(PLATFORM)
    bridge.register_plugin(PLATFORM, priority=PRIORITY, c_api=plugin().capsule)


PRIORITY = -100
"""Below the platform cpu's 0: installing xhlo changes no program."""
