"""All names of `xhlo.numpy`."""

from __future__ import annotations

from typing import Any

from ..numpy.arrays import STANDARDS
from .array import Array
from .creation import CREATION
from .fft import FFT
from .functions import FUNCTIONS
from .inspection import CONSTANTS, DTYPES, INSPECTION
from .linalg import LINALG

# Imported because it adds its functions.
from .sizes import UniqueAll as UniqueAll

NAMES: dict[str, Any] = {
    **CONSTANTS,
    **DTYPES,
    **CREATION,
    **FUNCTIONS,
    **INSPECTION,
    "Array": Array,
    "__array_api_version__": STANDARDS[-1],
}
EXTENSIONS: dict[str, dict[str, Any]] = {"fft": FFT, "linalg": LINALG}
