"""linalg_ext operations that sort: by a comparator, or by an integer key."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import IntegerAttr, IntegerType, i1
from xdsl.irdl import irdl_op_definition, prop_def
from xdsl.utils.exceptions import VerifyException

from .base import DestinationOp
from .window import shape_of


class _SortingOp(DestinationOp):
    """Stably reorders the slices of N outputs along `dimension` together; the initial contents are sorted."""

    dimension = prop_def(IntegerAttr)

    def verify_(self) -> None:
        super().verify_()
        if self.inputs or not self.outputs or len(self.regions) != 1:
            raise VerifyException("expected outputs, no inputs, and one region")
        shape = shape_of(self.outputs[0])
        if any(shape_of(value) != shape for value in self.outputs):
            raise VerifyException("expected outputs of one shape")
        if not 0 <= cast(Any, self.dimension).value.data < len(shape):
            raise VerifyException("expected a dimension of the outputs")

    def verify_region(self, arguments: int, integer: bool) -> None:
        """Check the number of the region's arguments and the type it yields: an integer of any width, or an i1."""
        block = self.regions[0].block
        last = block.last_op
        if len(block.args) != arguments:
            raise VerifyException(f"expected {arguments} region arguments")
        types = () if last is None else tuple(last.operand_types)
        if len(types) != 1 or not (isinstance(types[0], IntegerType) if integer else types[0] == i1):
            raise VerifyException(f"expected the region to yield one {'integer' if integer else 'i1'}")


@irdl_op_definition
class SortOp(_SortingOp):
    """
    The region takes a pair of elements of each output (a0, b0, a1, b1, ..) and yields whether the a's come first.

    Whatever it yields, the results are a permutation of the inputs' slices.
    """

    name = "linalg_ext.sort"

    def verify_(self) -> None:
        super().verify_()
        self.verify_region(2 * len(self.outputs), integer=False)


@irdl_op_definition
class SortByKeyOp(_SortingOp):
    """The region takes an element of each output and yields an unsigned integer key; keys ascend in the result."""

    name = "linalg_ext.sort_by_key"

    def verify_(self) -> None:
        super().verify_()
        self.verify_region(len(self.outputs), integer=True)


OPS = (SortOp, SortByKeyOp)
