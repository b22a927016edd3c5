"""
Both platforms in one process: xhlo, which is the default, and XLA's cpu, with eight devices each.

JAX reads these variables when it is imported, so the suite is a pytest run of its own: `pytest test/jax`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest

os.environ["JAX_PLATFORMS"] = "xhlo,cpu"
os.environ["XHLO_NUM_DEVICES"] = "8"
os.environ["JAX_NUM_CPU_DEVICES"] = "8"
# Some tests set these themselves; they must not affect the others.
for name in ("JAX_ENABLE_X64", "JAX_COMPILATION_CACHE_DIR", "XHLO_DUMP_TO"):
    os.environ.pop(name, None)


@pytest.fixture(autouse=True)
def no_leftover_effects() -> Iterator[None]:
    """Wait until the callbacks of a test have ended."""
    yield
    if "jax" in sys.modules:
        sys.modules["jax"].effects_barrier()
