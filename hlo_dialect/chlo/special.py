"""
Special functions of the chlo dialect: the error function and its kin, gamma and its kin, a Bessel function.

References are in special_functions.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from xdsl.irdl import irdl_op_definition

from ..numbers import special_functions
from ..op import COMPOSED, SERIES, SPECIAL
from .base import ChloBinaryOp, ChloUnaryOp


def _by_element(function: Callable[[float], float], x: Any) -> Any:
    """A function of Python floats on an f64 array."""
    return np.asarray(np.frompyfunc(function, 1, 1)(x), dtype=np.float64)


@irdl_op_definition
class ErfOp(ChloUnaryOp):
    """The error function, 2 / sqrt(pi) times the integral of e ** -(t * t) from 0 to x. Types: float (i1, c1)."""

    name = "chlo.erf"
    COST: ClassVar[int] = COMPOSED

    def compute(self, x: Any) -> Any:
        return _by_element(math.erf, x)


@irdl_op_definition
class ErfcOp(ChloUnaryOp):
    """1 - erf(x), with full relative precision where that is tiny. Types: float (i1, c1)."""

    name = "chlo.erfc"
    COST: ClassVar[int] = SPECIAL

    def compute(self, x: Any) -> Any:
        return _by_element(math.erfc, x)


@irdl_op_definition
class ErfInvOp(ChloUnaryOp):
    """The y with erf(y) = x; infinite at -1 and 1, NaN beyond. Types: float (i1, c1)."""

    name = "chlo.erf_inv"
    COST: ClassVar[int] = SPECIAL

    def compute(self, x: Any) -> Any:
        return special_functions.erf_inv(x)


@irdl_op_definition
class LgammaOp(ChloUnaryOp):
    """log |Gamma(x)|; infinite at 0, -1, -2, .. and at both infinities. Types: float (i1, c1)."""

    name = "chlo.lgamma"
    COST: ClassVar[int] = SPECIAL

    def compute(self, x: Any) -> Any:
        return special_functions.lgamma(x)


@irdl_op_definition
class DigammaOp(ChloUnaryOp):
    """The derivative of log Gamma(x); NaN at 0, -1, -2, .. and at -inf. Types: float (i1, c1)."""

    name = "chlo.digamma"
    COST: ClassVar[int] = SPECIAL

    def compute(self, x: Any) -> Any:
        return special_functions.digamma(x)


@irdl_op_definition
class BesselI1eOp(ChloUnaryOp):
    """e ** -|x| I1(x), the modified Bessel function of order 1 without its growth. Types: float (i1, c1)."""

    name = "chlo.bessel_i1e"
    COST: ClassVar[int] = SPECIAL

    def compute(self, x: Any) -> Any:
        return special_functions.bessel_i1e(x)


@irdl_op_definition
class PolygammaOp(ChloBinaryOp):
    """
    The n-th derivative of digamma at x, n a whole number; NaN for any other n.

    At x = 0, -1, -2, .. infinite where n is odd and NaN where it is even. Types: float (i1), all of one type (c1).
    """

    name = "chlo.polygamma"
    COST: ClassVar[int] = SERIES

    def compute(self, x: Any, y: Any) -> Any:
        return special_functions.polygamma(x, y)


@irdl_op_definition
class ZetaOp(ChloBinaryOp):
    """
    Hurwitz's zeta function, the sum of (q + n) ** -x over n = 0, 1, ..

    Infinite at x = 1, NaN below. At q = 0, -1, .. infinite where x is even, else NaN; at other negative q only for
    integral x. Types: float (i1), all of one type (c1).
    """

    name = "chlo.zeta"
    COST: ClassVar[int] = SERIES

    def compute(self, x: Any, y: Any) -> Any:
        return special_functions.zeta(x, y)


OPS = (ErfOp, ErfcOp, ErfInvOp, LgammaOp, DigammaOp, BesselI1eOp, PolygammaOp, ZetaOp)
