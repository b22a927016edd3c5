"""
The operations that make tokens, and those that exchange data with the host.

infeed, outfeed, send and recv talk to a host that neither the
reference nor the CPU target has; both refuse them by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import ArrayAttr, DenseIntOrFPElementsAttr, IntegerAttr, IntegerType, StringAttr, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from ..op import HloOp, reject
from ..ops.control_flow import types_text
from ..syntax.structural import parse_result_only, print_attributes, print_operands, print_result_only, split_attributes
from ..types import Array
from .process_groups import ChannelHandleAttr, ChannelType, verify_pairs
from .tokens import TOKEN, TokenType, token


def check_token(constraint: str, what: str, value: SSAValue | Attribute) -> None:
    type_ = value.type if isinstance(value, SSAValue) else value
    if not isinstance(type_, TokenType):
        reject(f"{constraint}: {what} has type {type_}, expected {token}")


def _check_tensors(constraint: str, what: str, types: Sequence[Attribute]) -> None:
    if not all(isinstance(type_, TensorType) for type_ in types):
        reject(f"{constraint}: {what} have types {types_text(types)}, expected tensors")


@irdl_op_definition
class AfterAllOp(HloOp):
    """
    A token that comes after all the given ones.

    Types: inputs (i1) and result (o1) are tokens.
    Spec:  https://openxla.org/stablehlo/spec#after_all
    """

    name = "hlo.after_all"
    inputs = var_operand_def()
    result = result_def()
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> AfterAllOp:
        unresolved = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        properties, attributes = split_attributes(cls, parser.parse_optional_attr_dict())
        parser.parse_punctuation(":")
        position = parser.pos
        type_ = parser.parse_type()
        operands = unresolved or ()
        values = parser.resolve_operands(operands, (type_,) * len(operands), position)
        return cls.create(operands=values, result_types=(type_,), properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        print_operands(printer, self)
        print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(self.results[0].type)

    def infer_types(self) -> tuple[Attribute, ...]:
        return (token,)

    def verify_(self) -> None:
        for index, operand in enumerate(self.operands):
            check_token("after_all_i1", f"input {index}", operand)
        check_token("after_all_o1", "result", self.results[0])

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        return (self.operands[0],) if len(self.operands) == 1 else None

    def reference(self, *operands: Array) -> Array:
        return TOKEN


@irdl_op_definition
class CreateTokenOp(HloOp):
    """
    A token that comes after nothing; StableHLO has deprecated it in favour of after_all without inputs.

    Types: result (o1) is a token.
    """

    name = "hlo.create_token"
    result = result_def()
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> CreateTokenOp:
        return parse_result_only(cls, parser)

    def print(self, printer: Printer) -> None:
        print_result_only(printer, self)

    def infer_types(self) -> tuple[Attribute, ...]:
        return (token,)

    def verify_(self) -> None:
        check_token("create_token_o1", "result", self.results[0])

    def reference(self, *operands: Array) -> Array:
        return TOKEN


class HostOp(HloOp):
    """An operation that exchanges data with the host, or through a channel that the host sets up."""

    DOES: ClassVar[str] = "exchanges"
    """The host's action, for messages."""

    def infer_types(self) -> tuple[Attribute, ...]:
        return tuple(self.result_types)

    def reference(self, *operands: Array) -> tuple[Array, ...]:
        raise NotImplementedError(f"it needs a host that {self.DOES} the data, and there is none")


def _verify_received(op: HloOp, constraints: tuple[str, str, str]) -> None:
    """Results: at least one (the first constraint), tensors (the second) and then a token (the third)."""
    types = tuple(op.result_types)
    some, tensors, last = constraints
    if len(types) <= 0:
        reject(f"{some}: there are no results, expected at least the token")
    _check_tensors(tensors, "the results before the last", types[:-1])
    check_token(last, "the last result", types[-1])


@irdl_op_definition
class InfeedOp(HostOp):
    """
    Read arrays that the host feeds to the program.

    Types:  token (i1); results are tensors and a last token.
    Raises: VerifyException naming infeed_c1..c3, or infeed_layout (StableHLO's: one list of integers a tensor).
    Spec:   https://openxla.org/stablehlo/spec#infeed
    """

    name = "hlo.infeed"
    token = operand_def()
    infeed_config = opt_prop_def(StringAttr)
    layout = opt_prop_def(ArrayAttr)
    outs = var_result_def()
    DOES: ClassVar[str] = "feeds"

    def verify_(self) -> None:
        check_token("infeed_i1", "token", self.operands[0])
        _verify_received(self, ("infeed_c1", "infeed_c2", "infeed_c3"))
        if self.layout is None:
            return
        layouts, count = cast("ArrayAttr[Any]", self.layout).data, len(self.results) - 1
        if len(layouts) != count:
            reject(f"infeed_layout: there are {len(layouts)} layouts for {count} tensors")
        for index, layout in enumerate(layouts):
            if not (
                isinstance(layout, ArrayAttr)
                and all(isinstance(number, IntegerAttr) for number in cast("ArrayAttr[Any]", layout).data)
            ):
                reject(f"infeed_layout: layout {index} is no array of integers")


@irdl_op_definition
class OutfeedOp(HostOp):
    """
    Hand arrays to the host.

    Types: inputs (i1) are tensors, token (i2) and result (o1) tokens.
    Spec:  https://openxla.org/stablehlo/spec#outfeed
    """

    name = "hlo.outfeed"
    inputs = var_operand_def()
    token = operand_def()
    outfeed_config = opt_prop_def(StringAttr)
    result = result_def()
    DOES: ClassVar[str] = "takes"

    def verify_(self) -> None:
        *inputs, last = (operand.type for operand in self.operands)
        _check_tensors("outfeed_i1", "inputs", inputs)
        check_token("outfeed_i2", "token", last)
        check_token("outfeed_o1", "result", self.results[0])


class ChannelOp(HostOp):
    """send and recv: a transfer through a channel, with the host or another device."""

    @property
    def to_host(self) -> bool:
        flag = self.properties.get("is_host_transfer")
        return isinstance(flag, IntegerAttr) and flag.value.data != 0

    def verify_channel(self, name: str, host: ChannelType) -> None:
        """c1..c4: the pairs, as in collective_permute; c5: what the type of the channel must be."""
        pairs = self.properties.get("source_target_pairs")
        if isinstance(pairs, DenseIntOrFPElementsAttr):
            verify_pairs([f"{name}_c{number}" for number in range(1, 5)], cast("DenseIntOrFPElementsAttr[Any]", pairs))
        channel = cast(ChannelHandleAttr, self.properties["channel_handle"])
        wanted = host if self.to_host else ChannelType.DEVICE_TO_DEVICE
        if channel.type != wanted:
            reject(
                f"{name}_c5: the channel has type {channel.type}, expected {wanted.value} ({wanted.name}) as "
                f"is_host_transfer is {str(self.to_host).lower()}"
            )


@irdl_op_definition
class SendOp(ChannelOp):
    """
    Put arrays into a channel that leads to the host or to another device.

    Types:  inputs (i1) are tensors, token (i2) and result (o1) tokens.
    Raises: VerifyException naming send_c1..c5; the upper bound of c4 depends on the grid and is not checked.
    Spec:   https://openxla.org/stablehlo/spec#send
    """

    name = "hlo.send"
    inputs = var_operand_def()
    token = operand_def()
    channel_handle = prop_def(ChannelHandleAttr)
    is_host_transfer = opt_prop_def(IntegerAttr[IntegerType])
    source_target_pairs = opt_prop_def(DenseIntOrFPElementsAttr)
    result = result_def()
    DOES: ClassVar[str] = "takes"

    def verify_(self) -> None:
        *inputs, last = (operand.type for operand in self.operands)
        _check_tensors("send_i1", "inputs", inputs)
        check_token("send_i2", "token", last)
        check_token("send_o1", "result", self.results[0])
        self.verify_channel("send", ChannelType.DEVICE_TO_HOST)


@irdl_op_definition
class RecvOp(ChannelOp):
    """
    Take arrays out of a channel that comes from the host or from another device.

    Types:  token (i1); results are tensors and a last token.
    Raises: VerifyException naming recv_c1..c8; the upper bound of c4 depends on the grid and is not checked.
    Spec:   https://openxla.org/stablehlo/spec#recv
    """

    name = "hlo.recv"
    token = operand_def()
    channel_handle = prop_def(ChannelHandleAttr)
    is_host_transfer = opt_prop_def(IntegerAttr[IntegerType])
    source_target_pairs = opt_prop_def(DenseIntOrFPElementsAttr)
    outs = var_result_def()
    DOES: ClassVar[str] = "sends"

    def verify_(self) -> None:
        check_token("recv_i1", "token", self.operands[0])
        self.verify_channel("recv", ChannelType.HOST_TO_DEVICE)
        _verify_received(self, ("recv_c6", "recv_c7", "recv_c8"))


OPS = (AfterAllOp, CreateTokenOp, InfeedOp, OutfeedOp, SendOp, RecvOp)
