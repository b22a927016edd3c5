"""linalg_ext operations that stand for custom calls: host_call, unblocked."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr
from xdsl.irdl import irdl_op_definition, prop_def
from xdsl.utils.exceptions import VerifyException

from .base import DestinationOp


class CallOp(DestinationOp):
    """
    A call of a custom call's target: it reads `ins` and fills `outs`.

    `call` holds the custom call's properties and attributes; `operands_as` and `results_as` are the hlo types that the
    target sees: they have signedness, and are complex if the buffers hold pairs.
    """

    target = prop_def(StringAttr)
    call = prop_def(DictionaryAttr)
    operands_as = prop_def(ArrayAttr)
    results_as = prop_def(ArrayAttr)

    def verify_(self) -> None:
        super().verify_()
        if len(self.operands_as.data) != len(self.inputs) or len(self.results_as.data) != len(self.outputs):
            raise VerifyException("expected a type in operands_as for each input, in results_as for each output")


@irdl_op_definition
class HostCallOp(CallOp):
    """A call of the host program's function for a target."""

    name = "linalg_ext.host_call"


@irdl_op_definition
class UnblockedOp(CallOp):
    """Loops that do what LAPACK's routine of the name `target` does, one matrix of the batch at a time."""

    name = "linalg_ext.unblocked"


OPS = (HostCallOp, UnblockedOp)
