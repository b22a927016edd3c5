"""
The array API standard 2024.12: `import xhlo.numpy as xp`.

Its functions work on the arrays of compiled functions, see `xhlo.jit`, and on `xp.Array` outside of them.
"""

# pyright: reportUnsupportedDunderAll=false
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..frontends.array_api.namespace import NAMES

globals().update(NAMES)
__all__ = [*NAMES, "fft", "linalg"]

from . import fft as fft  # noqa: E402
from . import linalg as linalg  # noqa: E402

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
