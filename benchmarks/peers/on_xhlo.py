"""xhlo, through xhlo.compile and NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import jax

import xhlo

from . import functions
from .rows import Arguments, Row

SYSTEMS = ("xhlo",)
VERSIONS = {"xhlo": version("xhlo")}


def prepare(row: Row, system: str, arguments: Arguments) -> Callable[[], Any] | None:
    executable = xhlo.compile(jax.jit(getattr(functions, row.name)).lower(*arguments))
    return lambda: executable(*arguments)
