"""The Python bindings of the CUDA driver, a separate package that is imported when a GPU is requested."""

from __future__ import annotations

import importlib
from typing import Any

from ...gpu.runtime.driver import GpuUnavailableError

MODULE = "cuda.bindings.driver"

_INSTALL = "`pip install xhlo[gpu]` brings it"


def load_bindings() -> Any:
    """The module of bindings. Raises GpuUnavailableError if the package is missing or broken."""
    try:
        return importlib.import_module(MODULE)
    except ImportError as error:
        raise GpuUnavailableError(
            f"the Python package cuda-bindings is missing or broken ({error}); {_INSTALL}"
        ) from None
