"""linalg_ext operations that sort: by a comparator, by an integer key, and the first elements of such an order."""

from __future__ import annotations

from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import IntegerAttr, IntegerType, i1
from xdsl.irdl import irdl_op_definition, prop_def
from xdsl.utils.exceptions import VerifyException

from .base import DestinationOp
from .window import shape_of


class _SortingOp(DestinationOp):
    """Stably reorders the slices of N outputs along `dimension` together; the initial contents are sorted."""

    MOST_REGIONS: ClassVar = 1

    dimension = prop_def(IntegerAttr)

    def verify_(self) -> None:
        super().verify_()
        if self.inputs or not self.outputs or not 1 <= len(self.regions) <= self.MOST_REGIONS:
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
    """
    The region takes an element of each output and yields an unsigned integer key; keys ascend in the result.

    If there is one output, a second region may take a key and yield an element that has it: of the elements with one
    key, that which most rows have (+0 for both zeros).
    """

    MOST_REGIONS: ClassVar = 2

    name = "linalg_ext.sort_by_key"

    def verify_(self) -> None:
        super().verify_()
        self.verify_region(len(self.outputs), integer=True)
        if len(self.regions) == 1:
            return
        key, inverse = (region.block for region in self.regions)
        element = cast(Any, self.outputs[0].type).element_type
        yielded = [() if block.last_op is None else tuple(block.last_op.operand_types) for block in (key, inverse)]
        if len(self.outputs) != 1 or tuple(inverse.arg_types) != yielded[0] or yielded[1] != (element,):
            raise VerifyException("expected the second region to take a key and yield an element of the one output")


@irdl_op_definition
class TopKOp(DestinationOp):
    """
    The first elements of each row, the last dimension, in a stable order of keys that ascend, and their places (i32).

    ins: the rows. outs: the elements and their places, only written. The region takes an element and yields an unsigned
    integer key.
    """

    name = "linalg_ext.top_k"

    def verify_(self) -> None:
        super().verify_()
        if len(self.inputs) != 1 or len(self.outputs) != 2 or len(self.regions) != 1:
            raise VerifyException("expected an input, two outputs, and one region")
        shape, *found = (shape_of(value) for value in (self.inputs[0], *self.outputs))
        if found[0] != found[1] or not shape or found[0][:-1] != shape[:-1] or found[0][-1] > shape[-1]:
            raise VerifyException("expected outputs of one shape, with a first part of the input's rows")
        last = self.regions[0].block.last_op
        types = () if last is None else tuple(last.operand_types)
        if len(self.regions[0].block.args) != 1 or len(types) != 1 or not isinstance(types[0], IntegerType):
            raise VerifyException("expected a region that takes one element and yields one integer")


OPS = (SortOp, SortByKeyOp, TopKOp)
