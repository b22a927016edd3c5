"""linalg_ext operations that transform whole rows: fourier."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import DenseArrayBase, StringAttr
from xdsl.irdl import irdl_op_definition, prop_def
from xdsl.utils.exceptions import VerifyException

from .base import DestinationOp
from .window import shape_of

KINDS = ("FFT", "IFFT", "RFFT", "IRFFT")


@irdl_op_definition
class FourierOp(DestinationOp):
    """
    Fourier transforms of the last dimensions, as hlo.fft's; complex arrays have a last dimension of two, the parts.

    ins: the operand, and one dimension of numbers, the tables of the transforms' plan. outs: the result, only written.
    """

    name = "linalg_ext.fourier"
    kind = prop_def(StringAttr)
    lengths = prop_def(DenseArrayBase)

    def verify_(self) -> None:
        super().verify_()
        if len(self.inputs) != 2 or len(self.outputs) != 1 or self.regions:
            raise VerifyException("expected an operand, tables, one output and no region")
        kind, lengths = self.kind.data, tuple(cast(Any, self.lengths).get_values())
        if kind not in KINDS:
            raise VerifyException(f"expected one of {', '.join(KINDS)}")
        if len(shape_of(self.inputs[1])) != 1:
            raise VerifyException("expected tables of one dimension")
        operand, result = shape_of(self.inputs[0]), shape_of(self.outputs[0])
        given = operand if kind == "RFFT" else operand[:-1]
        made = result if kind == "IRFFT" else result[:-1]
        real, other = (made, given) if kind == "IRFFT" else (given, made)
        halved = (*real[:-1], real[-1] // 2 + 1) if kind in ("RFFT", "IRFFT") and real else real
        pairs = (operand[-1:] if kind != "RFFT" else (2,), result[-1:] if kind != "IRFFT" else (2,))
        if other != halved or real[len(real) - len(lengths) :] != lengths or pairs != ((2,), (2,)):
            raise VerifyException("expected an operand and a result that the transform's lengths relate")


OPS = (FourierOp,)
