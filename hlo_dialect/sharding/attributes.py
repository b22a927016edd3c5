"""
The attributes of the sdy dialect: meshes of devices, and how the dimensions of arrays are split along their axes.

`#sdy.sharding<@mesh, [{"x", "y":(1)2}, {?}], replicated={"z"}>`: dimension 0 is split along axis x, then along the
first part of axis y; dimension 1 is not split, but may be (`?`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, BoolAttr, IntegerAttr, IntegerType, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, OpaqueSyntaxAttribute, Operation, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..attributes import IntArray, int_array, int_attr, int_list_text, ints, parse_int_list
from ..collectives.process_groups import AxisRefAttr, Mesh, MeshAxisAttr, find_mesh, mesh_axis, split_axes
from ..op import reject


@irdl_attr_definition
class ShardingMeshAttr(Mesh):
    """`#sdy.mesh<["x"=2, "y"=4], device_ids=[7, 6, ..]>`"""

    name = "sdy.mesh"
    axes: ArrayAttr[MeshAxisAttr]
    device_ids: IntArray
    """Empty if the devices are numbered in row-major order."""

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


# Axes ----------------------------------------------------------------------------------------------------------


def _parse_axis(parser: AttrParser) -> AxisRefAttr:
    """`"x"`, or `"x":(2)4`, the part of size 4 after one of size 2."""
    name = parser.parse_str_literal()
    part: list[IntegerAttr[IntegerType]] = []
    if parser.parse_optional_punctuation(":") is not None:
        with parser.in_parens():
            part.append(int_attr(parser.parse_integer()))
        part.append(int_attr(parser.parse_integer()))
    return AxisRefAttr(StringAttr(name), ArrayAttr(part))


def _print_axis(printer: Printer, axis: AxisRefAttr) -> None:
    printer.print_string_literal(axis.axis_name.data)
    if axis.part is not None:
        printer.print_string(f":({axis.part[0]}){axis.part[1]}")


def _parse_axes(parser: AttrParser) -> ArrayAttr[AxisRefAttr]:
    return ArrayAttr(parser.parse_comma_separated_list(parser.Delimiter.BRACES, lambda: _parse_axis(parser)))


def _print_axes(printer: Printer, axes: ArrayAttr[AxisRefAttr]) -> None:
    printer.print_string("{")
    printer.print_list(axes.data, lambda axis: _print_axis(printer, axis))
    printer.print_string("}")


# Shardings -----------------------------------------------------------------------------------------------------


@irdl_attr_definition
class DimensionShardingAttr(ParametrizedAttribute):
    """`#sdy.dimension_sharding<{"x", ?}p1>`: the axes that split a dimension, whether more may, and a priority."""

    name = "sdy.dimension_sharding"
    axes: ArrayAttr[AxisRefAttr]
    is_open: BoolAttr
    priority: ArrayAttr[IntegerAttr[IntegerType]]
    """Empty, or one number."""

    @classmethod
    def of(
        cls, axes: Sequence[AxisRefAttr], is_open: bool = False, priority: Sequence[int] = ()
    ) -> DimensionShardingAttr:
        return cls(ArrayAttr(axes), BoolAttr.from_bool(is_open), ArrayAttr([int_attr(number) for number in priority]))

    @classmethod
    def parse_dimension(cls, parser: AttrParser) -> DimensionShardingAttr:
        """`{"x", ?}p1`"""
        axes: list[AxisRefAttr] = []
        is_open = False
        parser.parse_punctuation("{")
        while parser.parse_optional_punctuation("}") is None:
            if axes or is_open:
                parser.parse_punctuation(",")
            if is_open:
                parser.raise_error("expected `}` after `?`")
            is_open = parser.parse_optional_punctuation("?") is not None
            if not is_open:
                axes.append(_parse_axis(parser))
        position = parser.pos
        word = parser.parse_optional_identifier()
        if word is None:
            return cls.of(axes, is_open)
        if word[0] != "p" or not word[1:].isdecimal() or len(word) > 18:
            parser.raise_error("expected a priority, p0, p1, ..", position)
        return cls.of(axes, is_open, (int(word[1:]),))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return list(cls.parse_dimension(parser).parameters)

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string("<")
        self.print_dimension(printer)
        printer.print_string(">")

    def print_dimension(self, printer: Printer) -> None:
        printer.print_string("{")
        printer.print_list(self.axes.data, lambda axis: _print_axis(printer, axis))
        if self.is_open.value.data:
            printer.print_string(", ?" if self.axes.data else "?")
        printer.print_string("}" + "".join(f"p{number.value.data}" for number in self.priority.data))


@irdl_attr_definition
class ShardingAttr(ParametrizedAttribute):
    """`#sdy.sharding<@mesh, [{"x"}, {?}], replicated={"y"}, unreduced={"z"}>`: how one array is split."""

    name = "sdy.sharding"
    mesh: Attribute
    """A symbol, or a mesh itself: `mesh<["x"=2]>`."""
    dimensions: ArrayAttr[DimensionShardingAttr]
    replicated: ArrayAttr[AxisRefAttr]
    unreduced: ArrayAttr[AxisRefAttr]

    @classmethod
    def parse_sharding(cls, parser: AttrParser) -> ShardingAttr:
        """Parse the angle brackets and their contents."""
        empty: ArrayAttr[AxisRefAttr] = ArrayAttr([])
        axes = {"replicated": empty, "unreduced": empty}
        with parser.in_angle_brackets():
            mesh: Attribute
            if parser.parse_optional_keyword("mesh") is not None:
                mesh = ShardingMeshAttr(*ShardingMeshAttr.parse_parameters(parser))  # pyright: ignore
            else:
                mesh = SymbolRefAttr(parser.parse_symbol_name())
            parser.parse_punctuation(",")
            dimensions = parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE, lambda: DimensionShardingAttr.parse_dimension(parser)
            )
            while parser.parse_optional_punctuation(",") is not None:
                position = parser.pos
                name = parser.parse_identifier()
                if name not in axes:
                    parser.raise_error("expected 'replicated' or 'unreduced'", position)
                parser.parse_punctuation("=")
                axes[name] = _parse_axes(parser)
        return cls(mesh, ArrayAttr(dimensions), axes["replicated"], axes["unreduced"])

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        return list(cls.parse_sharding(parser).parameters)

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string("<")
        if isinstance(self.mesh, ShardingMeshAttr):
            printer.print_string("mesh")
            self.mesh.print_parameters(printer)
        else:
            printer.print_attribute(self.mesh)
        printer.print_string(", [")
        printer.print_list(self.dimensions.data, lambda dimension: dimension.print_dimension(printer))
        printer.print_string("]")
        for name, axes in (("replicated", self.replicated), ("unreduced", self.unreduced)):
            if axes.data:
                printer.print_string(f", {name}=")
                _print_axes(printer, axes)
        printer.print_string(">")

    def axes(self) -> list[AxisRefAttr]:
        """All axes that the sharding names, those of the dimensions first."""
        named = [axis for dimension in self.dimensions.data for axis in dimension.axes.data]
        return [*named, *self.replicated.data, *self.unreduced.data]

    def verify_on(self, user: Operation, shape: Sequence[int], what: str) -> Mesh:
        """
        Check that the sharding fits an array of `shape`: its rank, and axes of the mesh that do not overlap.

        Raises VerifyException, which calls the array `what`.
        """
        mesh = find_mesh(self.mesh, user)
        mesh.verify_mesh()
        rank = len(self.dimensions.data)
        maximal = not mesh.sizes() and mesh.numbers() is not None
        if not (rank == len(shape) or (maximal and not rank)):
            reject(f"{what} has {len(shape)} dimensions, its sharding {rank}")
        sizes = mesh.sizes()
        unknown = next((axis.axis_name.data for axis in self.axes() if axis.axis_name.data not in sizes), None)
        if unknown is not None:
            reject(f'the mesh has no axis "{unknown}", which the sharding of {what} names')
        try:
            split_axes(sizes, self.axes())
        except VerifyException as error:
            raise VerifyException(f"the sharding of {what}: {error}") from None
        return mesh


@irdl_attr_definition
class ShardingPerValueAttr(ParametrizedAttribute):
    """`#sdy.sharding_per_value<[<@mesh, [{"x"}]>, <@mesh, []>]>`: the shardings of several values."""

    name = "sdy.sharding_per_value"
    shardings: ArrayAttr[ShardingAttr]

    @classmethod
    def parse_list(cls, parser: AttrParser) -> ShardingPerValueAttr:
        """`[<@mesh, ..>, ..]`"""
        each = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: ShardingAttr.parse_sharding(parser))
        return cls(ArrayAttr(each))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return list(cls.parse_list(parser).parameters)

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string("<")
        self.print_list(printer)
        printer.print_string(">")

    def print_list(self, printer: Printer) -> None:
        printer.print_string("[")
        printer.print_list(self.shardings.data, lambda sharding: sharding.print_parameters(printer))
        printer.print_string("]")


@irdl_attr_definition
class ManualAxesAttr(ParametrizedAttribute, OpaqueSyntaxAttribute):
    """`#sdy<manual_axes{"x", "y"}>`: the axes along which a computation sees only its device's part of arrays."""

    name = "sdy.manual_axes"
    axes: ArrayAttr[StringAttr]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(axis.data for axis in self.axes.data)

    @classmethod
    def parse_list(cls, parser: AttrParser) -> ManualAxesAttr:
        names = parser.parse_comma_separated_list(parser.Delimiter.BRACES, parser.parse_str_literal)
        return cls(ArrayAttr([StringAttr(name) for name in names]))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        return list(cls.parse_list(parser).parameters)

    def print_parameters(self, printer: Printer) -> None:
        self.print_list(printer)

    def print_list(self, printer: Printer) -> None:
        printer.print_string("{")
        printer.print_list(self.names, printer.print_string_literal)
        printer.print_string("}")

    def verify(self) -> None:
        if len(set(self.names)) < len(self.names):
            raise VerifyException(f"manual axes {', '.join(self.names)} name one twice")


OPS: tuple[type[Operation], ...] = ()
ATTRIBUTES = (ManualAxesAttr, DimensionShardingAttr, ShardingAttr, ShardingMeshAttr, ShardingPerValueAttr)
