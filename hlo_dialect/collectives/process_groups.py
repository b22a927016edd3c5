"""
The participants of a collective operation: channel handles, replica groups as lists and by the axes of a mesh.

A program runs on a grid of processes, (replica, partition). A collective splits the grid into groups by one of the
spec's strategies, which `use_global_device_ids` and the channel choose.
Spec: https://openxla.org/stablehlo/spec#collective-ops
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import IntEnum, StrEnum
from itertools import pairwise
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..attributes import int_attr
from ..diagnostics import fail
from ..op import reject
from ..shapes import repeated
from ..types import constant_array, i64

ProcessId = tuple[int, int]
"""(replica, partition)"""

Groups = tuple[tuple[int, ...], ...]

MAX_PROCESSES = 1 << 24
"""The limit for a mesh, a list of groups or of pairs; a longer one (a splat can claim any length) is refused."""

MOST_DEVICES = 1 << 20
"""The most processes of a program: passes list the groups of all."""


class ChannelType(IntEnum):
    """The numbers of the kinds of channels in `#hlo.channel_handle`."""

    INVALID = 0
    DEVICE_TO_DEVICE = 1
    DEVICE_TO_HOST = 2
    HOST_TO_DEVICE = 3


def _field(parser: AttrParser, name: str, first: bool = False) -> None:
    """`name =`, after a comma unless it is the first."""
    if not first:
        parser.parse_punctuation(",")
    parser.parse_keyword(name)
    parser.parse_punctuation("=")


@irdl_attr_definition
class ChannelHandleAttr(ParametrizedAttribute):
    """`#hlo.channel_handle<handle = 1, type = 0>`: the number of a channel and what it connects."""

    name = "hlo.channel_handle"
    handle_attr: IntegerAttr[IntegerType]
    type_attr: IntegerAttr[IntegerType]

    @property
    def handle(self) -> int:
        return self.handle_attr.value.data

    @property
    def type(self) -> int:
        return self.type_attr.value.data

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            _field(parser, "handle", first=True)
            handle = parser.parse_integer()
            _field(parser, "type")
            return [int_attr(handle), int_attr(parser.parse_integer())]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<handle = {self.handle}, type = {self.type}>")


# Meshes --------------------------------------------------------------------------------------------------------


@irdl_attr_definition
class MeshAxisAttr(ParametrizedAttribute):
    """`#hlo.mesh_axis<name = "x", size = 2>`"""

    name = "hlo.mesh_axis"
    axis_name: StringAttr
    size_attr: IntegerAttr[IntegerType]

    @property
    def size(self) -> int:
        return self.size_attr.value.data

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            _field(parser, "name", first=True)
            name = parser.parse_str_literal()
            _field(parser, "size")
            return [StringAttr(name), int_attr(parser.parse_integer())]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string("<name = ")
        printer.print_string_literal(self.axis_name.data)
        printer.print_string(f", size = {self.size}>")


class Mesh(ParametrizedAttribute):
    """A mesh of devices, in either dialect's spelling."""

    def sizes(self) -> dict[str, int]:
        """The axes and how many devices lie along each."""
        raise NotImplementedError

    def numbers(self) -> np.ndarray[Any, Any] | None:
        """The numbers of the devices in row-major order, if they are not 0, 1, .."""
        raise NotImplementedError

    def verify_mesh(self) -> None:
        """
        Raise VerifyException for repeated axes or devices, and for sizes that are not positive, too large, or do not
        fit the list of devices.
        """
        sizes = self.sizes()
        if len(sizes) < len(cast(Any, self).axes.data):
            raise VerifyException("an axis stands twice")
        for name, size in sizes.items():
            if size < 1:
                raise VerifyException(f'axis "{name}" has size {size}')
        total = math.prod(sizes.values())
        if total > MAX_PROCESSES:
            raise VerifyException(f"{total} devices are more than {MAX_PROCESSES}")
        numbers = self.numbers()
        if numbers is not None and numbers.size != total:
            raise VerifyException(f"there are {numbers.size} device_ids for {total} devices")
        if numbers is not None and repeated(numbers.reshape(-1).tolist()):
            raise VerifyException("device_ids names a device twice")

    def devices(self) -> np.ndarray[Any, Any]:
        """The numbers of the devices, one dimension per axis. Raises VerifyException."""
        self.verify_mesh()
        shape, numbers = tuple(self.sizes().values()), self.numbers()
        return (np.arange(math.prod(shape)) if numbers is None else numbers).reshape(shape)


def mesh_axis(name: str, size: int) -> MeshAxisAttr:
    return MeshAxisAttr(StringAttr(name), int_attr(size))


@irdl_attr_definition
class MeshAttr(Mesh):
    """
    `#hlo.mesh<axes=[<name = "x", size = 2>], device_ids=dense<[1, 0]> : tensor<2xi64>>`: devices along named axes.

    Without `device_ids` the devices are numbered in row-major order.
    """

    name = "hlo.mesh"
    axes: ArrayAttr[MeshAxisAttr]
    device_ids: Attribute
    """A dense list, or the empty string."""

    @property
    def numbered(self) -> bool:
        """Whether the mesh states how its devices are numbered."""
        return isinstance(self.device_ids, DenseIntOrFPElementsAttr)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            _field(parser, "axes", first=True)
            axes = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_axis(parser))
            devices: Attribute = StringAttr("")
            if parser.parse_optional_punctuation(",") is not None:
                _field(parser, "device_ids", first=True)
                devices = parser.parse_attribute()
            return [ArrayAttr(axes), devices]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string("<axes=[")
        for index, axis in enumerate(self.axes.data):
            printer.print_string(", " if index else "")
            axis.print_parameters(printer)
        printer.print_string("]")
        if self.numbered:
            printer.print_string(", device_ids=")
            printer.print_attribute(self.device_ids)
        printer.print_string(">")

    def sizes(self) -> dict[str, int]:
        return {axis.axis_name.data: axis.size for axis in self.axes.data}

    def numbers(self) -> np.ndarray[Any, Any] | None:
        return constant_array(cast("DenseIntOrFPElementsAttr[Any]", self.device_ids)) if self.numbered else None


def _parse_axis(parser: AttrParser) -> MeshAxisAttr:
    """`<name = "x", size = 2>`, or with `#hlo.mesh_axis` before it."""
    if parser.parse_optional_characters("<") is None:
        position = parser.pos
        axis = parser.parse_attribute()
        if not isinstance(axis, MeshAxisAttr):
            parser.raise_error("expected an axis of a mesh", position)
        return axis
    _field(parser, "name", first=True)
    name = parser.parse_str_literal()
    _field(parser, "size")
    size = parser.parse_integer()
    parser.parse_punctuation(">")
    return mesh_axis(name, size)


@irdl_attr_definition
class AxisRefAttr(ParametrizedAttribute):
    """`#hlo.axis_ref<name = "x", sub_axis_info = (1)2>`: an axis, or the part of `size` after one of `pre_size`."""

    name = "hlo.axis_ref"
    axis_name: StringAttr
    sub_axis: ArrayAttr[IntegerAttr[IntegerType]]
    """Nothing, or (pre_size, size)."""

    @property
    def part(self) -> tuple[int, int] | None:
        numbers = tuple(number.value.data for number in self.sub_axis.data)
        return (numbers[0], numbers[1]) if numbers else None

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            _field(parser, "name", first=True)
            name = parser.parse_str_literal()
            part: list[IntegerAttr[IntegerType]] = []
            if parser.parse_optional_punctuation(",") is not None:
                _field(parser, "sub_axis_info", first=True)
                with parser.in_parens():
                    part.append(int_attr(parser.parse_integer()))
                part.append(int_attr(parser.parse_integer()))
            return [StringAttr(name), ArrayAttr(part)]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string("<name = ")
        printer.print_string_literal(self.axis_name.data)
        if self.part is not None:
            printer.print_string(f", sub_axis_info = ({self.part[0]}){self.part[1]}")
        printer.print_string(">")


@irdl_attr_definition
class ReplicaGroupMeshAxesAttr(ParametrizedAttribute):
    """
    `#hlo.replica_group_mesh_axes<mesh = @mesh, axes = [#hlo.axis_ref<name = "x">]>`: the devices that differ only
    along these axes make a group.
    """

    name = "hlo.replica_group_mesh_axes"
    mesh: Attribute
    axes: ArrayAttr[Attribute]

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            _field(parser, "mesh", first=True)
            mesh = parser.parse_attribute()
            _field(parser, "axes")
            position = parser.pos
            axes = parser.parse_attribute()
            if not isinstance(axes, ArrayAttr):
                parser.raise_error("expected an array of references to axes", position)
            return [mesh, cast("ArrayAttr[Any]", axes)]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string("<mesh = ")
        printer.print_attribute(self.mesh)
        printer.print_string(", axes = ")
        printer.print_attribute(self.axes)
        printer.print_string(">")


def split_axes(sizes: dict[str, int], axes: Sequence[AxisRefAttr]) -> tuple[list[int], list[int]]:
    """
    The mesh's sizes with every partly used axis cut into pieces, and which of the pieces `axes` name, in their order.

    Raises VerifyException where an axis is unknown, named twice or does not divide.
    """
    pieces: list[int] = []
    chosen: dict[int, int] = {}
    for name, size in sizes.items():
        cuts = {1, size}
        refs = [(index, ref.part or (1, size)) for index, ref in enumerate(axes) if ref.axis_name.data == name]
        for _, (before, length) in refs:
            if before < 1 or length < 1 or size % (before * length):
                raise VerifyException(f'sub-axis ({before}){length} does not divide axis "{name}" of size {size}')
            cuts |= {before, before * length}
        bounds = sorted(cuts)
        for low, high in pairwise(bounds):
            if high % low:
                raise VerifyException(f'sub-axes of axis "{name}" overlap')
            named = [(index, ref) for index, ref in refs if ref[0] <= low and high <= ref[0] * ref[1]]
            if len(named) > 1 or any(ref != (low, high // low) for _, ref in named):
                raise VerifyException(f'sub-axes of axis "{name}" overlap')
            chosen.update((len(pieces), index) for index, _ in named)
            pieces.append(high // low)
        units = [(before, index) for index, (before, length) in refs if length == 1]
        if len(dict(units)) < len(units):
            raise VerifyException(f'sub-axes of axis "{name}" overlap')
        for _, index in units:
            chosen[len(pieces)] = index
            pieces.append(1)
    return pieces, sorted(chosen, key=lambda piece: chosen[piece])


def mesh_groups(attr: ReplicaGroupMeshAxesAttr, user: Operation) -> Groups:
    """The groups of devices that the axes denote. Raises VerifyException if there is no mesh that they fit."""
    mesh = find_mesh(attr.mesh, user)
    mesh.verify_mesh()
    sizes = mesh.sizes()
    axes: list[AxisRefAttr] = []
    for axis in attr.axes.data:
        if not isinstance(axis, AxisRefAttr):
            raise VerifyException(f"{axis} is no reference to an axis")
        if axis.axis_name.data not in sizes:
            raise VerifyException(f'the mesh has no axis "{axis.axis_name.data}"')
        axes.append(axis)
    pieces, chosen = split_axes(sizes, axes)
    devices = mesh.devices().reshape(pieces)
    others = [piece for piece in range(len(pieces)) if piece not in chosen]
    length = math.prod(pieces[piece] for piece in chosen)
    rows = devices.transpose([*others, *chosen]).reshape(-1, length)
    return tuple(tuple(int(device) for device in row) for row in rows)


class UndefinedMeshError(VerifyException):
    """No mesh of the name in the module; another module may have it, so that only running needs it."""


def find_mesh(mesh: Attribute, user: Operation) -> Mesh:
    """The mesh itself, or that of a symbol of a surrounding module. Raises UndefinedMeshError if there is none."""
    if isinstance(mesh, Mesh):
        return mesh
    if not isinstance(mesh, SymbolRefAttr):
        raise VerifyException(f"{mesh} is neither a mesh nor the name of one")
    around = user.parent_op()
    while around is not None:
        inside = around.regions[0].block.ops if around.name == "builtin.module" else ()
        for op in inside:
            found = op.properties.get("mesh")
            if isinstance(found, Mesh) and op.properties.get("sym_name") == mesh.root_reference:
                return found
        around = around.parent_op()
    raise UndefinedMeshError(f"the mesh {mesh} is not defined")


# Verification --------------------------------------------------------------------------------------------------


def groups_of(op: Operation, attr: Attribute) -> Groups:
    """
    The rows of replica_groups without the padding (-1) and without empty rows.

    Raises VerifyException if a mesh is unknown or its axes do not fit.
    """
    if isinstance(attr, ReplicaGroupMeshAxesAttr):
        return mesh_groups(attr, op)
    rows = constant_array(cast("DenseIntOrFPElementsAttr[Any]", attr)).tolist()
    groups = (tuple(number for number in row if number != -1) for row in rows)
    return tuple(group for group in groups if group)


def is_table(attr: Attribute) -> bool:
    """Whether the attribute is a two-dimensional list of 64-bit integers."""
    if not isinstance(attr, DenseIntOrFPElementsAttr):
        return False
    dense = cast("DenseIntOrFPElementsAttr[Any]", attr)
    return dense.get_element_type() == i64 and len(dense.get_shape()) == 2


def _too_long(attr: Attribute) -> bool:
    shape = cast("DenseIntOrFPElementsAttr[Any]", attr).get_shape()
    return math.prod(shape) > MAX_PROCESSES


def verify_groups(
    name: str, op: Operation, attr: Attribute, unique: int, bounds: int, kind: int, padded: bool, dense: bool = True
) -> Groups:
    """
    Check the groups and return them: their form (input number `kind`), that no process is repeated (constraint number
    `unique`), and the range of their numbers (`bounds`), which run from 0 without a gap if `dense`.

    `padded` allows groups of different lengths, filled up with -1. There are no groups where a mesh is not defined.
    """
    if isinstance(attr, ReplicaGroupMeshAxesAttr):
        try:
            return groups_of(op, attr)
        except UndefinedMeshError:
            return ()
        except VerifyException as error:
            raise VerifyException(f"{name}_i{kind}: replica_groups: {error}") from None
    if not (is_table(attr) and not _too_long(attr)):
        reject(f"{name}_i{kind}: replica_groups is no two-dimensional list of 64-bit integers")
    rows = constant_array(cast("DenseIntOrFPElementsAttr[Any]", attr))
    groups = groups_of(op, attr)
    numbers = [number for group in groups for number in group]
    if not (padded or rows.size == len(numbers)):
        reject(f"{name}_c{bounds}: replica_groups holds -1, but groups of one length are needed")
    if repeated(numbers):
        reject(f"{name}_c{unique}: replica_groups names a process twice")
    limit = len(numbers) if dense else None
    wrong = next((number for number in numbers if number < 0 or (limit is not None and number >= limit)), None)
    where = "negative" if limit is None else f"not in [0, {limit}), the number of processes in replica_groups"
    if wrong is not None:
        reject(f"{name}_c{bounds}: replica_groups names process {wrong}, which is {where}")
    return groups


def verify_pairs(constraints: Sequence[str], pairs: DenseIntOrFPElementsAttr[Any]) -> None:
    """
    source_target_pairs: of shape (n, 2), sources unique, targets unique, nothing negative; each by the name of its
    constraint.
    """
    shape = pairs.get_shape()
    if not (is_table(pairs) and shape[1] == 2 and not _too_long(pairs)):
        reject(f"{constraints[0]}: source_target_pairs of type {pairs.type} is no list of pairs of 64-bit integers")
    table = constant_array(pairs).tolist()
    for constraint, what, column in ((constraints[1], "source", 0), (constraints[2], "target", 1)):
        if repeated([pair[column] for pair in table]):
            reject(f"{constraint}: a process is the {what} of two pairs")
    if not all(number >= 0 for pair in table for number in pair):
        reject(f"{constraints[3]}: source_target_pairs {table} names a negative process")


def grid_of(module: ModuleOp) -> tuple[int, int]:
    """The numbers of replicas and partitions that a module states. Raises DiagnosticError beyond MOST_DEVICES."""
    stated = (module.attributes.get(f"mhlo.num_{what}") for what in ("replicas", "partitions"))
    replicas, partitions = (value.value.data if isinstance(value, IntegerAttr) else 1 for value in stated)
    if min(replicas, partitions) < 1 or replicas * partitions > MOST_DEVICES:
        grid = f"{replicas} replicas of {partitions} partitions"
        fail(module, f"is for {grid}: a program runs on one device at least, and on {MOST_DEVICES} at most")
    return replicas, partitions


# Grouping ------------------------------------------------------------------------------------------------------


class Grouping(StrEnum):
    """The meaning of the numbers in replica_groups."""

    CROSS_REPLICA = "cross_replica"
    CROSS_PARTITION = "cross_partition"
    CROSS_REPLICA_AND_PARTITION = "cross_replica_and_partition"
    FLATTENED_IDS = "flattened_ids"

    def whole(self, replicas: int, partitions: int) -> int:
        """The count of these numbers in a grid."""
        match self:
            case Grouping.CROSS_PARTITION:
                return partitions
            case Grouping.FLATTENED_IDS:
                return replicas * partitions
            case _:
                return replicas


def process_groups(strategy: Grouping, groups: Groups, replicas: int, partitions: int) -> list[tuple[ProcessId, ...]]:
    """The groups of processes of a grid; an empty list denotes one group of all."""
    groups = groups or (tuple(range(strategy.whole(replicas, partitions))),)
    match strategy:
        case Grouping.CROSS_REPLICA:
            return [tuple((r, p) for r in group) for group in groups for p in range(partitions)]
        case Grouping.CROSS_PARTITION:
            return [tuple((r, p) for p in group) for group in groups for r in range(replicas)]
        case Grouping.CROSS_REPLICA_AND_PARTITION:
            return [tuple((r, p) for p in range(partitions) for r in group) for group in groups]
        case Grouping.FLATTENED_IDS:
            return [tuple(divmod(number, partitions) for number in group) for group in groups]


OPS: tuple[type[Operation], ...] = ()
ATTRIBUTES = (ChannelHandleAttr, MeshAxisAttr, MeshAttr, AxisRefAttr, ReplicaGroupMeshAxesAttr)
