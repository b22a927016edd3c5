"""
`sdy.mesh`, which JAX puts before sharded programs: the devices along named axes, to which replica groups may refer.

Other operations of the sdy dialect are not known; its attributes are kept as text (see dialect.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, SymbolNameConstraint
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation, irdl_attr_definition, irdl_op_definition, prop_def, traits_def
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from .attributes import IntArray, int_array, int_list_text, ints, parse_int_list
from .op import check
from .process_groups import Mesh, MeshAxisAttr, mesh_axis
from .structural_syntax import print_attributes, split_attributes


@irdl_attr_definition
class ShardingMeshAttr(Mesh):
    """`#sdy.mesh<["x"=2, "y"=4], device_ids=[7, 6, ..]>`"""

    name = "sdy.mesh"
    axes: ArrayAttr[MeshAxisAttr]
    device_ids: IntArray
    """Nothing where the devices are numbered in row-major order."""

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        def parse_axis() -> MeshAxisAttr:
            name = parser.parse_str_literal()
            parser.parse_punctuation("=")
            return mesh_axis(name, parser.parse_integer())

        with parser.in_angle_brackets():
            axes = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parse_axis)
            numbers: tuple[int, ...] = ()
            if parser.parse_optional_punctuation(",") is not None:
                parser.parse_keyword("device_ids")
                parser.parse_punctuation("=")
                numbers = parse_int_list(parser)
            return [ArrayAttr(axes), int_array(numbers)]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string("<[")
        for index, axis in enumerate(self.axes.data):
            printer.print_string(", " if index else "")
            printer.print_string_literal(axis.axis_name.data)
            printer.print_string(f"={axis.size}")
        numbers = ints(self.device_ids)
        printer.print_string(f"], device_ids={int_list_text(numbers)}>" if numbers else "]>")

    def sizes(self) -> dict[str, int]:
        return {axis.axis_name.data: axis.size for axis in self.axes.data}

    def numbers(self) -> np.ndarray[Any, Any] | None:
        return np.array(ints(self.device_ids)) if ints(self.device_ids) else None


@irdl_op_definition
class MeshOp(IRDLOperation):
    """`sdy.mesh @mesh = <["x"=2, "y"=4]>`: names a mesh."""

    name = "sdy.mesh"
    sym_name = prop_def(SymbolNameConstraint())
    mesh = prop_def(ShardingMeshAttr)
    traits = traits_def(SymbolOpInterface())

    @classmethod
    def parse(cls, parser: Parser) -> MeshOp:
        name = parser.parse_symbol_name()
        parser.parse_punctuation("=")
        mesh = ShardingMeshAttr(*ShardingMeshAttr.parse_parameters(parser))  # pyright: ignore
        properties, attributes = split_attributes(cls, parser.parse_optional_attr_dict())
        return cls.create(properties={**properties, "sym_name": name, "mesh": mesh}, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_string(" = ")
        self.mesh.print_parameters(printer)
        print_attributes(printer, self, ("sym_name", "mesh"))

    def verify_(self) -> None:
        try:
            self.mesh.verify_mesh()
        except VerifyException as error:
            check(False, f"mesh: {error}")


OPS = (MeshOp,)
ATTRIBUTES = (ShardingMeshAttr,)
