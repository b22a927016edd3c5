"""
hlo.fft on targets that lower it to loops: `xhlo.fourier`. Its second operand has the numbers that the loops read.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from ..ops.algorithms.fourier import FftType, transform
from ..types import Array
from .call import CustomCall
from .registry import CustomCallTarget

FOURIER = "xhlo.fourier"


def _fourier(call: CustomCall, x: Array, _: Array) -> Array:
    """The transform of the last dimensions: see `FftOp`."""
    lengths, result = call.attributes["lengths"], call.results[0]
    return transform(FftType(call.attributes["kind"]), lengths, x, result.shape, result.dtype)


def _check(call: CustomCall) -> str | None:
    kind, lengths = call.attributes.get("kind"), cast("tuple[int, ...]", call.attributes.get("lengths"))
    if kind not in [each.value for each in FftType] or type(lengths) is not tuple or not 1 <= len(lengths) <= 3:
        return "the attributes kind and lengths do not describe a transform"
    if len(call.operands) != 2 or len(call.results) != 1:
        return "it takes an array and tables, and gives an array"
    operand, result = call.operands[0], call.results[0]
    real, other = (result, operand) if kind == "IRFFT" else (operand, result)
    halved = kind in ("RFFT", "IRFFT")
    expected: tuple[Any, ...] = (*real.shape[:-1], real.shape[-1] // 2 + 1) if halved and real.shape else real.shape
    kinds = ("f" if halved else "c") + "c"
    sizes = real.dtype.itemsize * (1 + halved), other.dtype.itemsize
    if other.shape != expected or real.dtype.kind + other.dtype.kind != kinds or sizes[0] != sizes[1]:
        return f"{operand.text} and {result.text} do not belong together"
    if real.shape[len(real.shape) - len(lengths) :] != lengths or np.dtype(other.dtype).itemsize not in (8, 16):
        return f"it does not take {operand.text}"
    return None


TARGETS = (CustomCallTarget(FOURIER, _fourier, _check, loops=True),)
