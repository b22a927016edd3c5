"""Fourier transforms of the array API standard: `xhlo.numpy.fft`."""

# pyright: reportUnsupportedDunderAll=false
from __future__ import annotations

from ..frontends.array_api.namespace import EXTENSIONS

globals().update(EXTENSIONS["fft"])
__all__ = list(EXTENSIONS["fft"])
