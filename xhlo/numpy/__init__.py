"""
The array API standard 2024.12: `import xhlo.numpy as xp`.

Its functions work on the arrays of compiled functions, see `xhlo.jit`, and on `xp.Array` outside of them.

>>> import xhlo.numpy as xp
>>> x = xp.reshape(xp.arange(6.0), (3, 2))
>>> print(xp.sum(x, axis=0))
[6. 9.]
"""

# pyright: reportUnsupportedDunderAll=false
from __future__ import annotations

from ..frontends.array_api.namespace import NAMES

globals().update(NAMES)
__all__ = [*NAMES, "fft", "linalg"]

from . import fft as fft  # noqa: E402
from . import linalg as linalg  # noqa: E402
