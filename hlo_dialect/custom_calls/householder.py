"""JAX's QR on platforms without a rule of their own: `Qr` and `ProductOfElementaryHouseholderReflectors`."""

from __future__ import annotations

from collections.abc import Callable

from ..types import Array
from .call import CustomCall
from .lapack import geqrf, orgqr
from .lapack_library import LIBRARY
from .lapack_shapes import problem_of
from .registry import CustomCallTarget

QR = "Qr"
PRODUCT = "ProductOfElementaryHouseholderReflectors"

_DTYPES = ("f4", "f8", "c8", "c16")


def _qr(call: CustomCall, x: Array) -> tuple[Array, ...]:
    """R, and the Householder vectors below it; their factors tau."""
    return geqrf(call, x)


def _product(call: CustomCall, vectors: Array, tau: Array) -> Array:
    """The first columns of Q of Householder vectors and their factors."""
    return orgqr(call, vectors, tau)[0]


def _checked(routine: str, results: int) -> Callable[[CustomCall], str | None]:
    """The shapes of LAPACK's routine, in any of its four dtypes."""

    def check(call: CustomCall) -> str | None:
        dtype = call.operands[0].dtype if call.operands else None
        if dtype is None or dtype.str[1:] not in _DTYPES:
            return f"its elements are {dtype}; they have to be f32, f64 or complex numbers of these"
        return problem_of(routine, dtype, results, call)

    return check


TARGETS = (
    CustomCallTarget(QR, _qr, _checked("geqrf", 2), library=LIBRARY, borrows=True),
    CustomCallTarget(PRODUCT, _product, _checked("orgqr", 1), library=LIBRARY, borrows=True),
)
