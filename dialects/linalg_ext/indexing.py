"""linalg_ext operations at computed indices: scatter, and nonzero."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import BoolAttr, DenseArrayBase, IntegerAttr, i1, i32
from xdsl.irdl import irdl_op_definition, prop_def
from xdsl.utils.exceptions import VerifyException

from .base import DestinationOp
from .window import shape_of


@irdl_op_definition
class ScatterOp(DestinationOp):
    """
    Combine each element of N updates into its destination in the N outputs, in the updates' row-major order.

    ins: indices, then the updates. outs: N of one shape, with their initial contents. The region takes N present and N
    update values and yields N. Windows that are not entirely in bounds are dropped. The lists are those of
    hlo.scatter's dimension numbers; `is_unsigned` is the signedness of the indices, `is_unique` states that no element
    is updated twice.
    """

    name = "linalg_ext.scatter"
    window = prop_def(DenseArrayBase)
    inserted = prop_def(DenseArrayBase)
    batching = prop_def(DenseArrayBase)
    index_batching = prop_def(DenseArrayBase)
    index_map = prop_def(DenseArrayBase)
    vector_dim = prop_def(IntegerAttr)
    is_unsigned = prop_def(BoolAttr)
    is_unique = prop_def(BoolAttr)

    def verify_(self) -> None:
        super().verify_()
        count = len(self.outputs)
        if len(self.inputs) != count + 1 or len(self.regions) != 1:
            raise VerifyException("expected indices, an update for each output, and one region")
        if len(self.regions[0].block.args) != 2 * count:
            raise VerifyException(f"expected {2 * count} region arguments")
        if any(shape_of(update) != shape_of(self.inputs[1]) for update in self.inputs[1:]):
            raise VerifyException("expected updates of one shape")
        rank = len(shape_of(self.outputs[0]))
        lists: tuple[Any, ...] = (self.window, self.inserted, self.batching)
        if sum(len(values.get_values()) for values in lists) != rank:
            raise VerifyException(f"expected window, inserted and batching to have {rank} entries together")
        indices = shape_of(self.inputs[0])
        vector = cast(Any, self.vector_dim).value.data
        components = len(cast(Any, self.index_map).get_values())
        if not 0 <= vector <= len(indices) or (indices[vector] if vector < len(indices) else 1) != components:
            raise VerifyException("expected a component of the index vectors for each entry of index_map")


@irdl_op_definition
class NonzeroOp(DestinationOp):
    """
    The places of the true elements of a mask, in ascending order, then the length of the mask.

    ins: the mask, i1. outs: i32 of any length, only written; places for which there is no room are left out.
    """

    name = "linalg_ext.nonzero"

    def verify_(self) -> None:
        super().verify_()
        if len(self.inputs) != 1 or len(self.outputs) != 1 or self.regions:
            raise VerifyException("expected a mask, one output, and no region")
        mask, places = (cast(Any, value.type) for value in (self.inputs[0], self.outputs[0]))
        if (mask.element_type, places.element_type) != (i1, i32):
            raise VerifyException("expected a mask of i1 and places of i32")
        if len(mask.get_shape()) != 1 or len(places.get_shape()) != 1:
            raise VerifyException("expected a mask and places of one dimension")


OPS = (ScatterOp, NonzeroOp)
