"""linalg_ext operations on batches of small matrices: cholesky, lu, triangular_solve."""

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


@irdl_op_definition
class LuOp(DestinationOp):
    """
    LU factors with partial pivoting, as LAPACK's getrf: L and U in one matrix, the rows exchanged, counted from 1, and
    0 or the number from 1 of the first zero on U's diagonal, the last two i32.

    ins: matrices in the last two dimensions. outs: as described, only written.
    """

    name = "linalg_ext.lu"

    def verify_(self) -> None:
        super().verify_()
        if len(self.inputs) != 1 or len(self.outputs) != 3 or self.regions:
            raise VerifyException("expected an input, three outputs and no region")
        shape, factors, pivots, info = (shape_of(value) for value in (self.inputs[0], *self.outputs))
        least = (*shape[:-2], min(shape[-2:], default=0))
        if len(shape) < 2 or factors != shape or pivots != least or info != shape[:-2]:
            raise VerifyException("expected matrices, as many factors, the exchanged rows and a number for each")


@irdl_op_definition
class TriangularSolveOp(DestinationOp):
    """
    x of `op(a) x = b` (`left`) or of `x op(a) = b`, for triangular matrices a; `op` transposes with `transpose`.

    ins: a (.., n, n), b (.., n, k) or (.., k, n). outs: x, as b, only written. With `unit` the diagonal is ones.
    """

    name = "linalg_ext.triangular_solve"
    left = prop_def(BoolAttr)
    lower = prop_def(BoolAttr)
    transpose = prop_def(BoolAttr)
    unit = prop_def(BoolAttr)

    def verify_(self) -> None:
        super().verify_()
        if len(self.inputs) != 2 or len(self.outputs) != 1 or self.regions:
            raise VerifyException("expected two inputs, an output and no region")
        a, b, x = (shape_of(value) for value in (*self.inputs, *self.outputs))
        side = 0 if len(b) < 2 else b[-2] if self.left.value.data else b[-1]
        if len(b) < 2 or a != (*b[:-2], side, side) or x != b:
            raise VerifyException("expected square matrices, and right sides and solutions that fit them")


OPS = (CholeskyOp, LuOp, TriangularSolveOp)
