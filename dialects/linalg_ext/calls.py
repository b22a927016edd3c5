"""linalg_ext operations that call functions outside of compiled code: host_call."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr
from xdsl.irdl import irdl_op_definition, prop_def
from xdsl.utils.exceptions import VerifyException

from .base import DestinationOp


@irdl_op_definition
class HostCallOp(DestinationOp):
    """
    Call the host program's function for a custom call's target: it reads `ins` and fills `outs`.

    `call` holds the custom call's properties and attributes; `operands_as` and `results_as` are the hlo types that the
    function sees: they have signedness, and are complex if the buffers hold pairs.
    """

    name = "linalg_ext.host_call"
    target = prop_def(StringAttr)
    call = prop_def(DictionaryAttr)
    operands_as = prop_def(ArrayAttr)
    results_as = prop_def(ArrayAttr)

    def verify_(self) -> None:
        super().verify_()
        if len(self.operands_as.data) != len(self.inputs) or len(self.results_as.data) != len(self.outputs):
            raise VerifyException("expected a type in operands_as for each input, in results_as for each output")


OPS = (HostCallOp,)
