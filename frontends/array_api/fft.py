"""The extension of Fourier transforms."""

from __future__ import annotations

from typing import Any

import numpy as np

from .creation import new, on
from .functions import of_numpy

FFT: dict[str, Any] = {
    name: of_numpy(getattr(np.fft, name))
    for name in "fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftshift ifftshift".split()
}


def _frequencies(name: str) -> Any:
    function = getattr(np.fft, name)

    def standard(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
        on(device)
        return new(function(n, d).astype(dtype or float))

    standard.__name__, standard.__doc__ = name, function.__doc__
    return standard


FFT.update({name: _frequencies(name) for name in ("fftfreq", "rfftfreq")})
