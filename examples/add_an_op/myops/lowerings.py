"""The lowering of the operation: arithmetic on one element, which xhlo puts into loops and vectorizes."""

from __future__ import annotations

import math

from xdsl.dialects import math as math_dialect

from xhlo.dialects.support.scalar import Scalar
from xhlo.lowering.convert_hlo_to_linalg.narrow import in_single

from .operations import GeluOp


@in_single
def gelu(op: GeluOp, x: Scalar) -> Scalar:
    """`x * Phi(x)`; -0 at minus infinity, where the product alone would be NaN."""
    if op.by_tanh:
        inner = (x * x * 0.044715 + 1.0) * x * math.sqrt(2 / math.pi)
        phi = (inner.apply(math_dialect.TanhOp) + 1.0) * 0.5
    else:
        phi = ((x * math.sqrt(0.5)).apply(math_dialect.ErfOp) + 1.0) * 0.5
    return x.compare("eq", -math.inf).select(-0.0, x * phi)


SCALARS = ((GeluOp, gelu),)
