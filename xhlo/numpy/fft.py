"""Fourier transforms of the array API standard: `xhlo.numpy.fft`."""

# pyright: reportUnsupportedDunderAll=false
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..frontends.array_api.namespace import EXTENSIONS

globals().update(EXTENSIONS["fft"])
__all__ = list(EXTENSIONS["fft"])

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
