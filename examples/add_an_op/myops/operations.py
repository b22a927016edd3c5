"""The definition of the operation: its operands and attributes, its verifier, and its semantics in NumPy."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import StringAttr
from xdsl.irdl import irdl_op_definition, opt_prop_def

from xhlo.hlo_dialect.op import reject
from xhlo.hlo_dialect.ops.elementwise import ElementwiseUnaryOp, Kind

FORMS = ("none", "tanh")
"""The values of `approximate`, as in PyTorch."""


@irdl_op_definition
class GeluOp(ElementwiseUnaryOp):
    """
    x Phi(x), Phi the standard normal distribution; `approximate = "tanh"` computes Phi by a hyperbolic tangent.

    Shapes: any; the result has the operand's type (gelu_c1). Types: float (gelu_i1).
    Raises: VerifyException naming gelu_i1, gelu_c1, or gelu_c2 for another `approximate`.
    Source: Hendrycks and Gimpel, Gaussian Error Linear Units, 2016.
    """

    name = "myops.gelu"
    KINDS: ClassVar[Kind] = Kind.FLOAT
    WIDE: ClassVar[bool] = True
    approximate = opt_prop_def(StringAttr)

    @property
    def by_tanh(self) -> bool:
        return self.approximate is not None and self.approximate.data == "tanh"

    def verify_(self) -> None:
        super().verify_()
        form = "none" if self.approximate is None else self.approximate.data
        if form not in FORMS:
            reject(f'gelu_c2: approximate is "{form}", expected one of {", ".join(FORMS)}')

    def compute(self, x: Any) -> Any:
        if self.by_tanh:
            phi = (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2
        else:
            phi = np.asarray(np.frompyfunc(lambda value: math.erfc(-value / math.sqrt(2)) / 2, 1, 1)(x), np.float64)
        return np.where(np.isneginf(x), -0.0, x * phi)


OPS = (GeluOp,)
