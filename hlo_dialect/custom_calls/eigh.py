"""XLA's own name of the eigendecomposition of symmetric matrices, `Eigh`: what `tf.linalg.eigh` compiles to."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from ..types import Array
from .call import CustomCall
from .lapack import syevd
from .lapack_library import LIBRARY
from .lapack_shapes import problem_of
from .registry import CustomCallTarget

_DTYPES = ("f4", "f8", "c8", "c16")
_CONFIGURATION = re.compile(r"([01]),([01]),[0-9]{1,9},[0-9.eE+-]{1,40}")
"""Whether the lower triangle counts, whether to sort, the most sweeps of Jacobi's method, and its tolerance."""


def _eigh(call: CustomCall, x: Array) -> tuple[Array, Array]:
    """Eigenvectors as columns and eigenvalues, ascending: also where the call leaves their order open."""
    vectors, values, _ = syevd(_as_syevd(call), x)
    return vectors, values


def _as_syevd(call: CustomCall) -> CustomCall:
    """The same call of LAPACK's routine, which returns info too."""
    first = call.operands[0]
    info = replace(first, shape=first.shape[:-2], dtype=np.dtype(np.int32), text=f"the info of {first.text}")
    triangle = "L" if call.backend_config.startswith("1") else "U"
    return replace(call, attributes={"mode": ord("V"), "uplo": ord(triangle)}, results=(*call.results, info))


def _check(call: CustomCall) -> str | None:
    dtype = call.operands[0].dtype if call.operands else None
    if dtype is None or dtype.str[1:] not in _DTYPES:
        return f"its elements are {dtype}; they have to be f32, f64 or complex numbers of these"
    if _CONFIGURATION.fullmatch(call.backend_config) is None:
        return f"backend_config is '{call.backend_config}', expected lower,sort,sweeps,tolerance such as 1,1,100,1e-6"
    return problem_of("syevd", dtype, 3, _as_syevd(call))


TARGETS = (CustomCallTarget("Eigh", _eigh, _check, library=LIBRARY, borrows=True),)
