"""The deprecated `broadcast`, which StableHLO keeps outside its specification; broadcast_in_dim took its place."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from ..attributes import IntArray, int_array, int_list_text, ints, parse_int_list
from ..op import HloOp, reject
from ..shapes import verify_results_agree
from ..syntax.structural import finish_functional, parse_named, print_attributes, print_functional
from ..types import Array, element_of, make_tensor, shape_of


@irdl_op_definition
class BroadcastOp(HloOp):
    """
    Repeat the operand along new leading dimensions of the sizes `broadcast_sizes`.

    Shapes: operand (d0, .., dn), result (broadcast_sizes.., d0, .., dn).
    Raises: VerifyException naming broadcast_i2 (sizes are not negative) or broadcast_c1 (the result's type); the
            numbers are not the specification's, which has no such operation.
    """

    name = "hlo.broadcast"
    operand = operand_def(TensorType)
    broadcast_sizes = prop_def(IntArray)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @property
    def sizes(self) -> tuple[int, ...]:
        return ints(self.broadcast_sizes)

    @classmethod
    def parse(cls, parser: Parser) -> BroadcastOp:
        operand = parser.parse_unresolved_operand()
        parse_named(parser, "sizes")
        return finish_functional(cls, parser, [operand], {"broadcast_sizes": int_array(parse_int_list(parser))})

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.operands[0])
        printer.print_string(f", sizes = {int_list_text(self.sizes)}")
        print_attributes(printer, self, ("broadcast_sizes",))
        print_functional(printer, self)

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
