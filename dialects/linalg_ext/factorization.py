"""linalg_ext operations that factor batches of small matrices: cholesky."""

from __future__ import annotations

from xdsl.dialects.builtin import BoolAttr
from xdsl.irdl import irdl_op_definition, prop_def
from xdsl.utils.exceptions import VerifyException

from .base import DestinationOp
from .window import shape_of


@irdl_op_definition
class CholeskyOp(DestinationOp):
    """
    The triangular factors of symmetric matrices, as LAPACK's potrf: the other triangles stay as they were.

    ins: square matrices in the last two dimensions. outs: the same with factors, and for each matrix (i32) 0, or the
    number from 1 of the first row whose pivot is not positive; the factor means nothing then. Both are only written.
    """

    name = "linalg_ext.cholesky"
    lower = prop_def(BoolAttr)

    def verify_(self) -> None:
        super().verify_()
        if len(self.inputs) != 1 or len(self.outputs) != 2 or self.regions:
            raise VerifyException("expected an input, two outputs and no region")
        shape, factor, info = (shape_of(value) for value in (self.inputs[0], *self.outputs))
        if len(shape) < 2 or shape[-1] != shape[-2] or factor != shape or info != shape[:-2]:
            raise VerifyException("expected square matrices, as many factors, and a number for each")


OPS = (CholeskyOp,)
