"""The math_ext dialect: special functions that MLIR's math dialect lacks. `expand-math` makes arithmetic of both."""

from __future__ import annotations

from xdsl.dialects.math import FloatingPointLikeBinaryMathOperation, FloatingPointLikeUnaryMathOperation
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure, SameOperandsAndResultType


class _UnaryOp(FloatingPointLikeUnaryMathOperation):
    traits = traits_def(Pure(), SameOperandsAndResultType())


class _BinaryOp(FloatingPointLikeBinaryMathOperation):
    traits = traits_def(Pure(), SameOperandsAndResultType())


@irdl_op_definition
class ErfcOp(_UnaryOp):
    """1 - erf(x), with full relative precision where that is tiny."""

    name = "math_ext.erfc"


@irdl_op_definition
class ErfInvOp(_UnaryOp):
    """The y with erf(y) = x."""

    name = "math_ext.erf_inv"


@irdl_op_definition
class LgammaOp(_UnaryOp):
    """log |Gamma(x)|"""

    name = "math_ext.lgamma"


@irdl_op_definition
class DigammaOp(_UnaryOp):
    """The derivative of log Gamma(x)."""

    name = "math_ext.digamma"


@irdl_op_definition
class BesselI1eOp(_UnaryOp):
    """e ** -|x| I1(x)"""

    name = "math_ext.bessel_i1e"


@irdl_op_definition
class PolygammaOp(_BinaryOp):
    """The n-th derivative of digamma at x, n a whole number."""

    name = "math_ext.polygamma"


@irdl_op_definition
class ZetaOp(_BinaryOp):
    """Hurwitz's zeta function, the sum of (q + n) ** -x over n = 0, 1, .."""

    name = "math_ext.zeta"


OPS = (ErfcOp, ErfInvOp, LgammaOp, DigammaOp, BesselI1eOp, PolygammaOp, ZetaOp)
