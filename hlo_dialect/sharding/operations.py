"""
The operations of the sdy dialect, in which JAX states how a program's arrays are split between devices.

`partition-spmd` (passes/partition_spmd/) derives the program of each device from them; for one device all are erased.
Spec: https://openxla.org/shardy/sdy_dialect
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import IntegerAttr, IntegerType, SymbolNameConstraint, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure, ReturnLike, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from ..attributes import int_attr
from ..collectives.process_groups import find_mesh
from ..collectives.tokens import TokenType
from ..diagnostics import fail
from ..op import HloOp, RegionOp, RegionRunner, reject, replace_op
from ..ops.control_flow import ReturnOp
from ..syntax.structural import (
    finish_same_type,
    parse_attributes,
    parse_functional,
    print_attributes,
    print_functional,
    print_values,
    split_attributes,
)
from ..types import Array, element_of, i32, make_tensor, shape_of
from .attributes import ManualAxesAttr, ShardingAttr, ShardingMeshAttr, ShardingPerValueAttr


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
            reject(f"mesh: {error}")


class SameValueOp(HloOp):
    """An operation whose result is its operand; it only annotates it."""

    def infer_types(self) -> tuple[Attribute, ...]:
        return tuple(self.operand_types)

    def reference(self, *operands: Array) -> tuple[Array, ...]:
        return operands

    def verify_(self) -> None:
        if self.result_types[0] != self.operand_types[0]:
            reject(f"{self.mnemonic}_result: result has type {self.result_types[0]}, expected {self.operand_types[0]}")


class ConstraintOp(SameValueOp):
    """sharding_constraint and reshard: the array must be split in a certain way from here on."""

    operand = operand_def(TensorType)
    sharding = prop_def(ShardingAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @property
    def wanted(self) -> ShardingAttr:
        """The sharding that the array must have."""
        return cast(ShardingAttr, self.properties["sharding"])

    @classmethod
    def parse(cls, parser: Parser) -> ConstraintOp:
        operand = parser.parse_unresolved_operand()
        return finish_same_type(cls, parser, [operand], {"sharding": ShardingAttr.parse_sharding(parser)})

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.operands[0])
        printer.print_string(" ")
        self.wanted.print_parameters(printer)
        print_attributes(printer, self, ("sharding",))
        printer.print_string(" : ")
        printer.print_attribute(self.result_types[0])

    def verify_(self) -> None:
        super().verify_()
        try:
            self.wanted.verify_on(self, shape_of(self.operands[0]), "the operand")
        except VerifyException as error:
            raise VerifyException(f"{self.mnemonic}_sharding: {error}") from None


@irdl_op_definition
class ShardingConstraintOp(ConstraintOp):
    """
    `%1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {}]> : tensor<8x8xf32>`: %1 is %0 with this sharding.

    Raises: VerifyException naming sharding_constraint_*.
    """

    name = "sdy.sharding_constraint"


@irdl_op_definition
class ReshardOp(ConstraintOp):
    """
    `%1 = sdy.reshard %0 <@mesh, [{"x"}, {}]> : tensor<8x8xf32>`: %1 is %0 with another sharding.

    Raises: VerifyException naming reshard_*.
    """

    name = "sdy.reshard"


_DIRECTIONS = ("NONE", "FORWARD", "BACKWARD", "BOTH")


@irdl_op_definition
class PropagationBarrierOp(SameValueOp):
    """
    `%1 = sdy.propagation_barrier %0 allowed_direction=NONE : tensor<8xf32>`: shardings do not pass here.

    Raises: VerifyException naming propagation_barrier_*.
    """

    name = "sdy.propagation_barrier"
    operand = operand_def(TensorType)
    allowed_direction = prop_def(IntegerAttr[IntegerType])
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> PropagationBarrierOp:
        operand = parser.parse_unresolved_operand()
        parser.parse_keyword("allowed_direction")
        parser.parse_punctuation("=")
        direction = int_attr(_DIRECTIONS.index(parser.parse_keyword_in(_DIRECTIONS)), i32)
        return finish_same_type(cls, parser, [operand], {"allowed_direction": direction})

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.operands[0])
        printer.print_string(f" allowed_direction={_DIRECTIONS[self.allowed_direction.value.data]}")
        print_attributes(printer, self, ("allowed_direction",))
        printer.print_string(" : ")
        printer.print_attribute(self.result_types[0])

    def verify_(self) -> None:
        super().verify_()
        number = self.allowed_direction.value.data
        if not (0 <= number < len(_DIRECTIONS)):
            reject(f"propagation_barrier_direction: allowed_direction is {number}, expected 0 to 3")


@irdl_op_definition
class ShardingGroupOp(HloOp):
    """
    `sdy.sharding_group %0 group_id=0 : tensor<8xf32>`: all values of a group must be split alike.

    Raises: VerifyException naming sharding_group_*.
    """

    name = "sdy.sharding_group"
    operand = operand_def(TensorType)
    group_id = prop_def(IntegerAttr[IntegerType])

    @classmethod
    def parse(cls, parser: Parser) -> ShardingGroupOp:
        operand = parser.parse_unresolved_operand()
        parser.parse_keyword("group_id")
        parser.parse_punctuation("=")
        stated = {"group_id": int_attr(parser.parse_integer())}
        properties, attributes = parse_attributes(cls, parser, stated)
        parser.parse_punctuation(":")
        value = parser.resolve_operand(operand, parser.parse_type())
        return cls.create(operands=[value], properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.operands[0])
        printer.print_string(f" group_id={self.group_id.value.data}")
        print_attributes(printer, self, ("group_id",))
        printer.print_string(" : ")
        printer.print_attribute(self.operand_types[0])

    def infer_types(self) -> tuple[Attribute, ...]:
        return ()

    def reference(self, *operands: Array) -> tuple[Array, ...]:
        return ()

    def verify_(self) -> None:
        number = self.group_id.value.data
        if number < 0:
            reject(f"sharding_group_id: group_id {number} is negative")


@irdl_op_definition
class ShardingReturnOp(ReturnOp):
    """`sdy.return %0 : tensor<4xf32>`: ends the body of an operation of this dialect."""

    name = "sdy.return"
    returned = var_operand_def()
    traits = traits_def(IsTerminator(), ReturnLike(), Pure())


@irdl_op_definition
class ManualComputationOp(RegionOp):
    """
    Run the body on each device, on its own parts of the operands along `manual_axes`. JAX's shard_map lowers to it.

    Shapes: the body takes and returns the operands' and results' parts. Axes that are not manual do not split them.
    Raises: VerifyException naming manual_computation_*.
    """

    name = "sdy.manual_computation"
    operands_ = var_operand_def(TensorType | TokenType)
    in_shardings = prop_def(ShardingPerValueAttr)
    out_shardings = prop_def(ShardingPerValueAttr)
    manual_axes = prop_def(ManualAxesAttr)
    body = region_def()
    outs = var_result_def(TensorType | TokenType)

    @classmethod
    def parse(cls, parser: Parser) -> ManualComputationOp:
        def named(name: str) -> None:
            parser.parse_keyword(name)
            parser.parse_punctuation("=")

        def argument() -> Parser.Argument:
            argument = parser.parse_argument(expect_type=True)
            parser.parse_optional_location()
            return argument

        operands = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        named("in_shardings")
        stated: dict[str, Attribute] = {"in_shardings": ShardingPerValueAttr.parse_list(parser)}
        named("out_shardings")
        stated["out_shardings"] = ShardingPerValueAttr.parse_list(parser)
        named("manual_axes")
        stated["manual_axes"] = ManualAxesAttr.parse_list(parser)
        arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, argument)
        body = parser.parse_region(arguments)
        properties, attributes = parse_attributes(cls, parser, stated)
        values, results = parse_functional(parser, operands)
        return cls.create(
            operands=values, result_types=results, properties=properties, attributes=attributes, regions=[body]
        )

    def print(self, printer: Printer) -> None:
        printer.print_string("(")
        print_values(printer, self.operands)
        printer.print_string(") in_shardings=")
        self.in_shardings.print_list(printer)
        printer.print_string(" out_shardings=")
        self.out_shardings.print_list(printer)
        printer.print_string(" manual_axes=")
        self.manual_axes.print_list(printer)
        printer.print_string(" (")
        printer.print_list(self.regions[0].block.args, printer.print_block_argument)
        printer.print_string(") ")
        printer.print_region(self.regions[0], print_entry_block_args=False, print_empty_block=False)
        print_attributes(printer, self, ("in_shardings", "out_shardings", "manual_axes"))
        print_functional(printer, self)

    def infer_types(self) -> tuple[Attribute, ...]:
        return tuple(self.result_types)

    @property
    def mesh_size(self) -> int:
        """The number of devices that the computation runs on."""
        shardings = (*self.in_shardings.shardings.data, *self.out_shardings.shardings.data)
        return max((find_mesh(sharding.mesh, self).devices().size for sharding in shardings), default=1)

    def verify_(self) -> None:
        block = self.regions[0].blocks.first
        if not (block is not None and block.next_block is None and isinstance(block.last_op, ShardingReturnOp)):
            reject("manual_computation_body: body must be one block that ends with sdy.return")
        assert block is not None and block.last_op is not None
        inner = [argument.type for argument in block.args]
        self._verify_values("operand", self.in_shardings, self.operand_types, inner)
        self._verify_values("result", self.out_shardings, self.result_types, block.last_op.operand_types)

    def _verify_values(
        self, what: str, shardings: ShardingPerValueAttr, types: Sequence[Attribute], inner: Sequence[Attribute]
    ) -> None:
        each = shardings.shardings.data
        if not (len(each) == len(types) == len(inner)):
            reject(
                f"manual_computation_{what}s: there are {len(types)} {what}s, {len(each)} shardings for them and "
                f"{len(inner)} values of the body"
            )
        for index, (sharding, type_, part) in enumerate(zip(each, types, inner, strict=True)):
            name = f"{what} {index}"
            try:
                wanted = self._part_type(sharding, type_, name)
            except VerifyException as error:
                raise VerifyException(f"manual_computation_sharding: {error}") from None
            if part != wanted:
                reject(f"manual_computation_parts: the body's part of {name} has type {part}, expected {wanted}")

    def _part_type(self, sharding: ShardingAttr, type_: Attribute, name: str) -> Attribute:
        """The type of a device's part. Raises VerifyException."""
        if isinstance(type_, TokenType):
            sharding.verify_on(self, (), name)
            return type_
        shape = list(shape_of(type_))
        mesh, manual = sharding.verify_on(self, shape, name), set(self.manual_axes.names)
        sizes = mesh.sizes()
        missing = next((axis for axis in self.manual_axes.names if axis not in sizes), None)
        if missing is not None:
            reject(f'the mesh of {name} has no axis "{missing}", which is manual')
        for dim, dimension in enumerate(sharding.dimensions.data):
            free = False
            for axis in dimension.axes.data:
                if axis.axis_name.data not in manual:
                    free = True
                    continue
                if free:
                    reject(f"a manual axis follows one that is not in dimension {dim} of {name}")
                size = axis.part[1] if axis.part else sizes[axis.axis_name.data]
                if shape[dim] % size != 0:
                    reject(f"dimension {dim} of {name} does not divide into {size} parts")
                shape[dim] //= size
        return make_tensor(tuple(shape), element_of(type_))

    def reference_with_regions(self, run: RegionRunner, *operands: Array) -> tuple[Array, ...]:
        if self.mesh_size > 1:
            raise NotImplementedError(NEEDS_PARTITIONING)
        return run(self.regions[0], *operands)


NEEDS_PARTITIONING = "it runs on several devices: hlo-opt --partition-spmd makes the program of one of them"


def erase_sharding(op: SameValueOp | ShardingGroupOp | ManualComputationOp) -> None:
    """
    Remove an operation that has no effect on one device: its operands replace its results, or its body replaces it.

    Raises DiagnosticError for a computation of several devices.
    """
    if isinstance(op, SameValueOp):
        replace_op(op, (), list(op.operands))
    elif isinstance(op, ShardingGroupOp):
        replace_op(op, (), ())
    elif op.mesh_size > 1:
        fail(op, f"is not supported: {NEEDS_PARTITIONING}")
    else:
        inline_body(op, op.operands)


def inline_body(op: ManualComputationOp, arguments: Sequence[SSAValue]) -> None:
    """Replace a computation by its body, applied to these arguments."""
    block = op.regions[0].block
    last = block.last_op
    assert last is not None
    for argument, value in zip(block.args, arguments, strict=True):
        argument.replace_all_uses_with(value)
    returned = list(last.operands)
    body = [inner for inner in block.ops if inner is not last]
    for inner in body:
        inner.detach()
    replace_op(op, body, returned)


OPS = (
    MeshOp,
    ShardingConstraintOp,
    ReshardOp,
    PropagationBarrierOp,
    ShardingGroupOp,
    ManualComputationOp,
    ShardingReturnOp,
)
