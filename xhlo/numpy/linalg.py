"""Linear algebra of the array API standard: `xhlo.numpy.linalg`."""

# pyright: reportUnsupportedDunderAll=false
from __future__ import annotations

from ..frontends.array_api.namespace import EXTENSIONS

globals().update(EXTENSIONS["linalg"])
__all__ = list(EXTENSIONS["linalg"])
