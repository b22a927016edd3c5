"""Special functions on one element: whole, on f16 and bf16 too, which expand-math computes wider and rounds once."""

from __future__ import annotations

from xdsl.dialects import math

from ...dialects import math_ext
from ...hlo_dialect.chlo import elementary, special
from .elementwise_unary import applied
from .emission import scalar_patterns

scalar_patterns.add(
    {
        elementary.AcosOp: applied(math.AcosOp),
        elementary.AcoshOp: applied(math.AcoshOp),
        elementary.AsinOp: applied(math.AsinOp),
        elementary.AsinhOp: applied(math.AsinhOp),
        elementary.AtanhOp: applied(math.AtanhOp),
        elementary.CoshOp: applied(math.CoshOp),
        elementary.SinhOp: applied(math.SinhOp),
        special.BesselI1eOp: applied(math_ext.BesselI1eOp),
        special.DigammaOp: applied(math_ext.DigammaOp),
        special.ErfcOp: applied(math_ext.ErfcOp),
        special.ErfInvOp: applied(math_ext.ErfInvOp),
        special.ErfOp: applied(math.ErfOp),
        special.LgammaOp: applied(math_ext.LgammaOp),
        special.PolygammaOp: applied(math_ext.PolygammaOp),
        special.ZetaOp: applied(math_ext.ZetaOp),
    }
)
