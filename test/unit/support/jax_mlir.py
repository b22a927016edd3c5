"""MLIR contexts of JAX that the tests of a process share."""

from __future__ import annotations

import functools
from typing import Any

import pytest


@functools.cache
def shared_context(unregistered: bool = False) -> Any:
    """
    A context with JAX's dialects, to load which takes longer than to read a program; `unregistered`: it reads
    operations of other dialects too. Skips the test without JAX.
    """
    context: Any = pytest.importorskip("jax._src.interpreters.mlir").make_ir_context()
    context.allow_unregistered_dialects = unregistered
    return context
