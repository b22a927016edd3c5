"""scan: a loop along one dimension that carries values from step to step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from xdsl.dialects.builtin import BoolAttr, DenseArrayBase, IntegerAttr, IntegerType, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    AttrSizedResultSegments,
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
from xdsl.traits import RecursiveMemoryEffect

from ..op import RegionOp, RegionRunner, reject
from ..ops.control_flow import all_agree, region_block, returned_types, types_text
from ..shapes import DYNAMIC, dims_agree, merge_dim
from ..syntax.structural import parse_functional, print_functional, print_values, split_attributes
from ..types import Array, element_of, i32, i64, make_tensor, numpy_dtype, shape_of

_SEGMENTS = ("operandSegmentSizes", "resultSegmentSizes")


def _parse_values(parser: Parser) -> list[UnresolvedOperand]:
    return parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)


@irdl_op_definition
class ScanOp(RegionOp):
    """
    Run `body` on each slice of the inputs along `dimension`, in rising order, or falling if `is_reverse`.

    The body takes a slice of each input, without that dimension, and the carries; it returns a slice of each output
    and the next carries. `is_associative` lets a compiler choose the order of steps; here they stay in theirs.

    Shapes: N inputs (.., n, ..), inits; outputs (.., n, ..) and the last carries, of the types of inits.
    Raises: VerifyException naming scan_c1 (`dimension` is one of every input and output), scan_c2 (their size along it
    is one, and is `scan_dim_size`, which must be stated if there are no inputs), scan_c3 (the body's arguments),
    scan_c4 (what it returns), scan_c5 (the results' types).
    """

    name = "chlo.scan"
    inputs = var_operand_def(TensorType)
    inits = var_operand_def(TensorType)
    dimension = prop_def(IntegerAttr[IntegerType])
    scan_dim_size = opt_prop_def(IntegerAttr[IntegerType])
    is_reverse = opt_prop_def(BoolAttr)
    is_associative = opt_prop_def(BoolAttr)
    outputs = var_result_def(TensorType)
    carries = var_result_def(TensorType)
    body = region_def()
    traits = traits_def(RecursiveMemoryEffect())
    irdl_options = (AttrSizedOperandSegments(as_property=True), AttrSizedResultSegments(as_property=True))

    @property
    def dim(self) -> int:
        return self.dimension.value.data

    @property
    def reverse(self) -> bool:
        return self.is_reverse is not None and bool(self.is_reverse)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        inputs = _parse_values(parser)
        parser.parse_keyword("inits")
        inits = _parse_values(parser)
        parser.parse_keyword("dimension")
        parser.parse_punctuation("=")
        dimension = IntegerAttr(parser.parse_integer(), i64)
        parsed = parser.parse_optional_attr_dict_with_keyword()
        properties, attributes = split_attributes(cls, {} if parsed is None else dict(parsed.data))
        body = parser.parse_region()
        operands, results = parse_functional(parser, [*inputs, *inits])
        properties["dimension"] = dimension
        properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, [len(inputs), len(inits)])
        properties["resultSegmentSizes"] = DenseArrayBase.from_list(
            i32, [max(len(results) - len(inits), 0), min(len(inits), len(results))]
        )
        return cls.create(
            operands=operands, result_types=results, properties=properties, attributes=attributes, regions=[body]
        )

    def print(self, printer: Printer) -> None:
        printer.print_string("(")
        print_values(printer, self.inputs)
        printer.print_string(") inits (")
        print_values(printer, self.inits)
        printer.print_string(f") dimension={self.dim} ")
        hidden = ("dimension", *_SEGMENTS)
        merged = {**self.properties, **self.attributes}
        shown = {name: merged[name] for name in sorted(merged) if name not in hidden}
        printer.print_op_attributes(shown, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.regions[0], print_empty_block=False)
        print_functional(printer, self)

    @property
    def steps(self) -> int:
        """The size along `dimension`; DYNAMIC where it is unknown."""
        stated = DYNAMIC if self.scan_dim_size is None else self.scan_dim_size.value.data
        for value in self.inputs:
            stated = merge_dim(stated, shape_of(value)[self.dim])
        return stated

    def slice_type(self, type_: Attribute) -> Attribute:
        """The type without `dimension`."""
        shape = shape_of(type_)
        return make_tensor(shape[: self.dim] + shape[self.dim + 1 :], element_of(type_))

    def infer_types(self) -> tuple[Attribute, ...]:
        returned = returned_types(region_block(self.regions[0], "scan_c4", "body"))
        count = len(returned) - len(self.inits)
        if count < 0:
            reject(f"scan_c4: body returns {len(returned)} values, fewer than there are carries, {len(self.inits)}")
        outputs: list[Attribute] = []
        for type_ in returned[:count]:
            shape = shape_of(type_)
            if self.dim > len(shape):
                reject(f"scan_c1: dimension {self.dim} is none of an output's")
            outputs.append(make_tensor((*shape[: self.dim], self.steps, *shape[self.dim :]), element_of(type_)))
        return (*outputs, *(value.type for value in self.inits))

    def region_arguments(self, index: int) -> Sequence[Attribute]:
        return (*(self.slice_type(value.type) for value in self.inputs), *(value.type for value in self.inits))

    def verify_(self) -> None:
        self._verify_dimension()
        block = region_block(self.regions[0], "scan_c3", "body")
        given = tuple(argument.type for argument in block.args)
        carried = tuple(value.type for value in self.inits)
        wanted = (*(self.slice_type(value.type) for value in self.inputs), *carried)
        if not all_agree(given, wanted):
            reject(f"scan_c3: body takes {types_text(given)}, expected {types_text(wanted)}")
        returned = returned_types(block)
        last = returned[len(returned) - len(carried) :]
        if not (len(returned) >= len(carried) and all_agree(last, carried)):
            reject(f"scan_c4: body returns {types_text(returned)}, which do not end with {types_text(carried)}")
        inferred = self.infer_types()
        if not (len(self.carries) == len(carried) and all_agree(tuple(self.result_types), inferred)):
            reject(f"scan_c5: results have types {types_text(self.result_types)}, expected {types_text(inferred)}")

    def _verify_dimension(self) -> None:
        ranks = [len(shape_of(value)) for value in self.inputs]
        if not (self.dim >= 0 and all(self.dim < rank for rank in ranks)):
            reject(f"scan_c1: dimension {self.dim} is not a dimension of every input")
        if not (bool(ranks) or self.scan_dim_size is not None):
            reject("scan_c2: there are no inputs, so that scan_dim_size must be given")
        for value in self.inputs:
            if not dims_agree(shape_of(value)[self.dim], self.steps):
                reject(f"scan_c2: {value.type} has not {self.steps} elements along dimension {self.dim}")
        if self.steps != DYNAMIC and self.steps < 0:
            reject(f"scan_c2: scan_dim_size is {self.steps}")

    def reference_with_regions(self, run: RegionRunner, *operands: Array) -> tuple[Array, ...]:
        count = len(self.inputs)
        inputs, carries = operands[:count], tuple(operands[count:])
        steps = inputs[0].shape[self.dim] if inputs else self.steps
        slices: list[tuple[Array, ...]] = []
        order: Sequence[int] = range(steps - 1, -1, -1) if self.reverse else range(steps)
        for step in order:
            returned = run(self.regions[0], *(np.take(value, step, axis=self.dim) for value in inputs), *carries)
            split = len(returned) - len(carries)
            slices.append(returned[:split])
            carries = returned[split:]
        if self.reverse:
            slices.reverse()
        outputs: list[Array] = []
        for index, result in enumerate(self.outputs):
            if slices:
                outputs.append(np.stack([step[index] for step in slices], axis=self.dim))
            else:
                outputs.append(np.zeros(shape_of(result), numpy_dtype(element_of(result))))
        return (*outputs, *carries)


OPS = (ScanOp,)
