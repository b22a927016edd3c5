"""
The parts of JAX that have no public interface and that a platform of its own needs.

JAX's plugin interface covers devices, buffers and executables. It does not cover lowering rules, callbacks, DLPack and
the persistent cache, whose lists of platforms are closed; the files jax_*.py open them for ours. All of them access
`jax._src` through this file.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def internal(name: str) -> Any:
    """The module `jax._src.<name>`."""
    return import_module(f"jax._src.{name}")
