"""The deprecated `broadcast`, which StableHLO keeps outside its specification; broadcast_in_dim replaces it."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from ..attributes import IntArray, ints
from ..op import reject
from ..shapes import verify_results_agree
from ..syntax.keywords import KeywordOp, int_list
from ..types import Array, element_of, make_tensor, shape_of


@irdl_op_definition
class BroadcastOp(KeywordOp):
    """
    Repeat the operand along new leading dimensions of the sizes `broadcast_sizes`.

    Shapes: operand (d0, .., dn), result (broadcast_sizes.., d0, .., dn).
    Raises: VerifyException naming broadcast_i2 (sizes are not negative) or broadcast_c1 (the result's type); the
            numbers are not the specification's, which has no such operation.
    """

    name = "hlo.broadcast"
    LINEAR: ClassVar[bool] = True
    operand = operand_def(TensorType)
    broadcast_sizes = prop_def(IntArray)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    KEYWORDS: ClassVar = (int_list("sizes", "broadcast_sizes"),)

    @property
    def sizes(self) -> tuple[int, ...]:
        return ints(self.broadcast_sizes)

    def infer_types(self) -> tuple[Attribute, ...]:
        operand = self.operands[0]
        return (make_tensor((*self.sizes, *shape_of(operand)), element_of(operand)),)

    def verify_(self) -> None:
        if not all(size >= 0 for size in self.sizes):
            reject(f"broadcast_i2: broadcast_sizes {self.sizes} are not all at least 0")
        verify_results_agree(self, "broadcast_c1")

    def reference(self, *operands: Array) -> Array:
        (operand,) = operands
        return np.broadcast_to(operand, (*self.sizes, *operand.shape))


OPS = (BroadcastOp,)
