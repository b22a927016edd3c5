"""linalg_ext operations that call out of compiled code: host_call."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr
from xdsl.irdl import irdl_op_definition, prop_def
from xdsl.utils.exceptions import VerifyException

from .base import DestinationOp


@irdl_op_definition
class HostCallOp(DestinationOp):
    """
    Call the function that the host program has for a custom call's target: it reads `ins` and fills `outs`.

    `call` is what the custom call states; `operands_as` and `results_as` are the types, of hlo, that the function sees:
    they have signs, and complex numbers where the buffers hold pairs.
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
