# NumPy's stubs give Unknown for arrays of element types that only the program knows:
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
"""
Elementary functions of the chlo dialect: circular and hyperbolic ones and their inverses, of floats and complex
numbers.

References compute in extended precision where the machine has it, so that f64 is rounded nearly correctly.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from xdsl.irdl import irdl_op_definition

from ..diagnostics import fail
from ..op import COMPOSED
from ..ops.elementwise import Kind
from .base import ChloUnaryOp


class ElementaryOp(ChloUnaryOp):
    """A function of floats or complex numbers (i1); the result has the operand's type (c1)."""

    KINDS: ClassVar[Kind] = Kind.FLOAT | Kind.COMPLEX
    FUNCTION: ClassVar[Any]

    def compute(self, x: Any) -> Any:
        return type(self).FUNCTION(x.astype(np.clongdouble if x.dtype.kind == "c" else np.longdouble))


@irdl_op_definition
class AcosOp(ElementaryOp):
    """The inverse cosine, in [0, pi]; NaN outside of [-1, 1]. Complex: cuts along the real axis beyond -1 and 1."""

    name = "chlo.acos"
    COST: ClassVar[int] = COMPOSED
    FUNCTION: ClassVar[Any] = np.arccos


@irdl_op_definition
class AcoshOp(ElementaryOp):
    """The inverse hyperbolic cosine, not negative; NaN below 1. Complex: a cut along the real axis below 1."""

    name = "chlo.acosh"
    COST: ClassVar[int] = COMPOSED
    FUNCTION: ClassVar[Any] = np.arccosh


@irdl_op_definition
class AsinOp(ElementaryOp):
    """The inverse sine, in [-pi/2, pi/2]; NaN outside of [-1, 1]. Complex: cuts along the real axis beyond -1 and 1."""

    name = "chlo.asin"
    COST: ClassVar[int] = COMPOSED
    FUNCTION: ClassVar[Any] = np.arcsin


@irdl_op_definition
class AsinhOp(ElementaryOp):
    """The inverse hyperbolic sine. Complex: cuts along the imaginary axis beyond -i and i."""

    name = "chlo.asinh"
    COST: ClassVar[int] = COMPOSED
    FUNCTION: ClassVar[Any] = np.arcsinh


@irdl_op_definition
class AtanOp(ElementaryOp):
    """The inverse tangent, in [-pi/2, pi/2]. Complex: cuts along the imaginary axis beyond -i and i."""

    name = "chlo.atan"
    FUNCTION: ClassVar[Any] = np.arctan


@irdl_op_definition
class AtanhOp(ElementaryOp):
    """The inverse hyperbolic tangent; NaN outside of [-1, 1]. Complex: cuts along the real axis beyond -1 and 1."""

    name = "chlo.atanh"
    COST: ClassVar[int] = COMPOSED
    FUNCTION: ClassVar[Any] = np.arctanh


@irdl_op_definition
class CoshOp(ElementaryOp):
    """The hyperbolic cosine, (e**x + e**-x) / 2."""

    name = "chlo.cosh"
    COST: ClassVar[int] = COMPOSED
    FUNCTION: ClassVar[Any] = np.cosh


@irdl_op_definition
class SinhOp(ElementaryOp):
    """The hyperbolic sine, (e**x - e**-x) / 2."""

    name = "chlo.sinh"
    COST: ClassVar[int] = COMPOSED
    FUNCTION: ClassVar[Any] = np.sinh


@irdl_op_definition
class TanOp(ElementaryOp):
    """The tangent of radians."""

    name = "chlo.tan"
    FUNCTION: ClassVar[Any] = np.tan


@irdl_op_definition
class AsinAcosKernelOp(ElementaryOp):
    """
    An intermediate step of upstream's decompositions of complex asin and acos.

    Nothing specifies it but its uses there: it is read, verified and printed, and has neither reference nor
    decomposition.
    """

    name = "chlo._asin_acos_kernel"
    KINDS: ClassVar[Kind] = Kind.COMPLEX

    def compute(self, x: Any) -> Any:
        fail(self, "has no meaning of its own: it is an intermediate step of another compiler's decompositions")


OPS = (AcosOp, AcoshOp, AsinOp, AsinhOp, AtanOp, AtanhOp, CoshOp, SinhOp, TanOp, AsinAcosKernelOp)
