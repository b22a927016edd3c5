"""
hlo.fusion: operations that become one kernel. It is not in StableHLO; HLO has a similar operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, get_args

from xdsl.dialects.builtin import IntegerAttr, IntegerType, StringAttr
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, RecursiveMemoryEffect

from ..attributes import int_attr
from ..op import HloOp, RegionOp, RegionRunner, Role, is_elementwise, reject
from ..shapes import shape_text, shapes_agree, verify_results_agree
from ..syntax.structural import print_attributes, print_types, split_attributes
from ..types import Array, shape_of
from .control_flow import all_agree, region_block, returned_types, types_text
from .reduction import ReduceOp

FusionKind = Literal["loop", "reduce", "row", "dot", "update", "concatenate", "custom", "kept"]
KINDS: tuple[str, ...] = get_args(FusionKind)
KEPT_KIND = "mhlo.fusion_kind"
"""The attribute of a kept fusion with its kind in HLO: kLoop, kInput, kOutput or kCustom."""

_ROOTS = {
    "dot": ("hlo.dot_general", "hlo.convolution"),
    "update": ("hlo.dynamic_update_slice",),
    "concatenate": ("hlo.concatenate",),
}
"""The operations of which a fusion of the kind contains exactly one, beside concatenations that are parts of others."""


@irdl_op_definition
class FusionOp(RegionOp):
    """
    One kernel: its operands are the region's arguments, its results the values that the region returns.

    Kinds: `loop` (all results of one shape), `reduce` (reductions, results of the reduced shape), `row` (a chain that
    shares the first `row_dims` dimensions), `dot`, `update` (result 0 may reuse operand 0's buffer), `concatenate`,
    `custom` (another operation, and those of loops before or after it), `kept` (any operations, as another compiler
    fused them).

    `%r = hlo.fusion loop (%a = %x : tensor<16xf32>) -> tensor<16xf32> { .. }`; `hlo.fusion row<1> (..)`.

    Shapes: arguments have the operands' types, results the returned types.
    Raises: VerifyException naming fusion_c1..c6.
    """

    name = "hlo.fusion"
    ROLE: ClassVar[Role | None] = "host"
    inputs = var_operand_def()
    kind = prop_def(StringAttr)
    row_dims = opt_prop_def(IntegerAttr[IntegerType])
    outs = var_result_def()
    body = region_def()
    traits = traits_def(IsolatedFromAbove(), RecursiveMemoryEffect())

    @property
    def row_count(self) -> int:
        """The number of leading dimensions that a row fusion's operations share; 0 for other kinds."""
        return 0 if self.row_dims is None else self.row_dims.value.data

    @classmethod
    def parse(cls, parser: Parser) -> FusionOp:
        properties: dict[str, Attribute] = {"kind": StringAttr(parser.parse_keyword_in(KINDS))}
        if parser.parse_optional_punctuation("<") is not None:
            properties["row_dims"] = int_attr(parser.parse_integer())
            parser.parse_punctuation(">")

        def parse_binding() -> tuple[Parser.Argument, UnresolvedOperand]:
            argument = parser.parse_argument(expect_type=False)
            parser.parse_punctuation("=")
            operand = parser.parse_unresolved_operand()
            parser.parse_punctuation(":")
            return argument.resolve(parser.parse_type()), operand

        bindings = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_binding)
        types = [argument.type for argument, _ in bindings]
        operands = parser.resolve_operands([operand for _, operand in bindings], types, parser.pos)
        parser.parse_punctuation("->")
        results: Sequence[Attribute] | None = parser.parse_optional_comma_separated_list(
            parser.Delimiter.PAREN, parser.parse_type
        )
        if results is None:
            results = [parser.parse_type()]
        parsed = parser.parse_optional_attr_dict_with_keyword()
        more, attributes = split_attributes(cls, {} if parsed is None else dict(parsed.data))
        # The region is isolated from above: it uses only its arguments.
        outside, parser.ssa_values = parser.ssa_values, {}
        body = parser.parse_region([argument for argument, _ in bindings])
        parser.ssa_values = outside
        return cls.create(
            operands=operands,
            result_types=results,
            properties={**properties, **more},
            attributes=attributes,
            regions=[body],
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.kind.data}")
        if self.row_dims is not None:
            printer.print_string(f"<{self.row_count}>")
        printer.print_string(" (")
        for index, (argument, value) in enumerate(zip(self.regions[0].block.args, self.operands, strict=True)):
            printer.print_string(", " if index else "")
            printer.print_ssa_value(argument)
            printer.print_string(" = ")
            printer.print_operand(value)
            printer.print_string(" : ")
            printer.print_attribute(argument.type)
        printer.print_string(") -> ")
        types = tuple(self.result_types)
        if len(types) == 1:
            print_types(printer, types)
        else:
            printer.print_string("(")
            print_types(printer, types)
            printer.print_string(")")
        print_attributes(printer, self, ("kind", "row_dims"), keyword=True)
        printer.print_string(" ")
        printer.print_region(self.regions[0], print_entry_block_args=False, print_empty_block=False)

    def infer_types(self) -> tuple[Attribute, ...]:
        return returned_types(region_block(self.regions[0], "fusion_c2", "body"))

    def region_arguments(self, index: int) -> Sequence[Attribute]:
        return tuple(self.operand_types)

    def verify_(self) -> None:
        kind = self.kind.data
        if kind not in KINDS:
            reject(f"fusion_c1: kind '{kind}' is not one of {', '.join(KINDS)}")
        block = region_block(self.regions[0], "fusion_c2", "body")
        given = tuple(argument.type for argument in block.args)
        if not all_agree(given, tuple(self.operand_types)):
            reject(
                f"fusion_c2: body takes {types_text(given)}, the operands have types "
                f"{types_text(tuple(self.operand_types))}"
            )
        verify_results_agree(self, "fusion_c3")
        if (self.row_dims is not None) != (kind == "row"):
            reject("fusion_c4: row_dims is given for the kind row, and for no other")
        self._verify_kind(kind)

    def _verify_kind(self, kind: str) -> None:
        names = [op.name for op in self.regions[0].block.ops]
        roots = sum(name in _ROOTS.get(kind, ()) for name in names)
        if kind in ("loop", "reduce"):
            shapes = [shape_of(type_) for type_ in self.result_types]
            if not all(shapes_agree(shape, shapes[0]) for shape in shapes):
                reject(
                    f"fusion_c5: the results of a {kind} fusion have different shapes "
                    f"{', '.join(map(shape_text, shapes))}"
                )
        if kind == "concatenate":
            if roots != 1 + sum(map(_is_part, self.regions[0].block.ops)):
                reject("fusion_c5: a concatenate fusion holds exactly one hlo.concatenate that is no part of another")
        elif kind in _ROOTS and roots != 1:
            reject(f"fusion_c5: a {kind} fusion holds exactly one {' or '.join(_ROOTS[kind])}")
        if kind == "custom":
            computed = [op for op in self.regions[0].block.ops if op.name not in ("hlo.constant", "hlo.return")]
            if len(computed) > 1:
                computed = [op for op in computed if not _is_in_loops(op)]
            if len(computed) != 1:
                reject("fusion_c5: a custom fusion holds one operation, those of a loop that follows, and hlo.return")
        if kind == "loop" and "hlo.reduce" in names:
            reject("fusion_c5: a loop fusion holds no hlo.reduce")
        if kind == "reduce" and "hlo.reduce" not in names:
            reject("fusion_c5: a reduce fusion holds an hlo.reduce")
        if kind == "row":
            self._verify_rows()

    def _verify_rows(self) -> None:
        """Check that each reduction is of dimensions after the row dimensions, or of just these: sums of columns."""
        count = self.row_count
        if count < 1:
            reject(f"fusion_c6: row_dims {count} is not positive")
        for op in self.regions[0].block.ops:
            if not isinstance(op, ReduceOp) or all(dim >= count for dim in op.dims):
                continue
            shape = shape_of(op.inputs[0])
            kept = [dim for dim, size in enumerate(shape) if dim not in op.dims and size != 1]
            if len(shape) <= count or max(op.dims) >= count or any(dim < count for dim in kept):
                reject(f"fusion_c6: a reduction over {op.dims} reduces some of the {count} row dimensions")

    def reference_with_regions(self, run: RegionRunner, *operands: Array) -> tuple[Array, ...]:
        return run(self.regions[0], *operands)


def _is_in_loops(op: Operation) -> bool:
    """Whether a loop fusion may hold the operation."""
    return is_elementwise(op) or (isinstance(op, HloOp) and op.ROLE in _LOOP_ROLES)


_LOOP_ROLES: tuple[Role, ...] = ("broadcast", "movement", "gather", "iota", "reshape")


def _is_part(op: Operation) -> bool:
    """Whether an operation is a concatenation whose result is an operand of another, and nothing else."""
    if op.name not in _ROOTS["concatenate"]:
        return False
    user = op.results[0].get_user_of_unique_use()
    return user is not None and user.name == op.name


def in_fusion(op: Operation) -> bool:
    """Whether an operation is a part of a fusion."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, FusionOp):
        parent = parent.parent_op()
    return parent is not None


OPS = (FusionOp,)
