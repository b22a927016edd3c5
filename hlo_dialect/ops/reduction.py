"""
reduce: fold dimensions of one or more tensors with a function.

The order of a reduction is the implementation's choice (StableHLO spec): any binary tree over the elements in row-major
order, with the initial value anywhere. The reference uses a balanced tree, or NumPy's pairwise sums.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr, SymbolRefAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.irdl import (
    OptPropertyDef,
    SameVariadicOperandSize,
    irdl_op_definition,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import RecursiveMemoryEffect, SymbolTable

from ...dialects.support.creation import append
from ..attributes import IntArray, int_array, int_list_text, ints, parse_int_list
from ..diagnostics.suggestions import did_you_mean
from ..numbers.number_semantics import round_to, working
from ..op import HloOp, RegionOp, RegionRunner, Role, is_elementwise, reject
from ..shapes import shape_text, shapes_agree
from ..syntax.structural import new_line, parse_attributes, parse_functional, print_attributes, print_functional
from ..types import (
    Array,
    element_of,
    make_tensor,
    numpy_dtype,
    shape_of,
)
from .constraints import (
    check_accumulated,
    check_init_values,
    check_range,
    check_reducer,
    check_unique,
    refuse_shaped_accumulators,
    scalar_types,
)
from .control_flow import ReturnOp, region_block, returned_types
from .quantized.types import UniformQuantizedType

COMMUTATIVE = frozenset(f"hlo.{name}" for name in ("add", "multiply", "maximum", "minimum", "and", "or", "xor"))
"""Commutative combiners of two values of one type, which the `applies` form names."""

_UFUNCS: dict[str, np.ufunc] = {
    "hlo.add": np.add,
    "hlo.multiply": np.multiply,
    "hlo.and": np.bitwise_and,
    "hlo.or": np.bitwise_or,
    "hlo.xor": np.bitwise_xor,
}
"""Combiners whose NumPy reduction has hlo's semantics in every element type; max and min differ in signed zeros."""


def single_combiner(region: Region) -> Operation | None:
    """
    The region's only operation if it is `return op(%a, %b)` of its two arguments, in either order; else None.

    None also for quantized elements: the operation is not that on the stored integers.
    """
    found = _only_operation(region)
    return None if found is None or isinstance(element_of(found.operands[0]), UniformQuantizedType) else found


def _only_operation(region: Region) -> Operation | None:
    block = region.blocks.first
    if block is None or block.next_block is not None or len(block.args) != 2:
        return None
    op, last = block.first_op, block.last_op
    if op is None or op.next_op is not last or not isinstance(last, ReturnOp):
        return None
    if len(op.results) != 1 or len(last.operands) != 1 or last.operands[0] is not op.results[0]:
        return None
    given = tuple(op.operands)
    if given == tuple(block.args) or given == tuple(reversed(block.args)):
        return op
    return None


def _compact_combiner(op: ReduceOp) -> Operation | None:
    """The combiner, if the short form of the syntax can express it."""
    combiner = _only_operation(op.regions[0])
    if combiner is None or combiner.name not in COMMUTATIVE or combiner.attributes or combiner.properties:
        return None
    if len(op.operands) != 2 or tuple(combiner.operands) != tuple(op.regions[0].block.args):
        return None
    scalar = op.operands[1].type
    same = shape_of(scalar) == () and all(
        type_ == scalar for type_ in (*combiner.operand_types, *combiner.result_types)
    )
    return combiner if same else None


@irdl_op_definition
class ReduceOp(RegionOp):
    """
    Fold `dimensions` of the inputs with `body`, beginning from the initial values; several inputs fold together.

    Shapes: N inputs of one shape and N scalar init_values; N results of that shape without `dimensions`.
    Raises: VerifyException naming reduce_c1..c8.
    Spec:   https://openxla.org/stablehlo/spec#reduce
    """

    name = "hlo.reduce"
    ROLE: ClassVar[Role | None] = "reduce"
    READS_REGIONS: ClassVar[bool] = False
    inputs = var_operand_def(TensorType)
    init_values = var_operand_def(TensorType)
    dimensions = prop_def(IntArray)
    outs = var_result_def(TensorType)
    body = region_def()
    traits = traits_def(RecursiveMemoryEffect())
    irdl_options = (SameVariadicOperandSize(),)

    @property
    def dims(self) -> tuple[int, ...]:
        return ints(self.dimensions)

    @property
    def input_count(self) -> int:
        return len(self.operands) // 2

    @classmethod
    def parse(cls, parser: Parser) -> ReduceOp:
        inputs: list[UnresolvedOperand] = []
        inits: list[UnresolvedOperand] = []
        more: str | None = ","
        while more is not None:
            with parser.in_parens():
                inputs.append(parser.parse_unresolved_operand())
                parser.parse_keyword("init")
                parser.parse_punctuation(":")
                inits.append(parser.parse_unresolved_operand())
            more = parser.parse_optional_punctuation(",")
        combiner, position = None, parser.pos
        if parser.parse_optional_keyword("applies") is not None:
            position = parser.pos
            combiner = _parse_combiner(parser)
        parser.parse_keyword("across")
        parser.parse_keyword("dimensions")
        parser.parse_punctuation("=")
        stated = {"dimensions": int_array(parse_int_list(parser))}
        properties, attributes = parse_attributes(cls, parser, stated)
        operands, results = parse_functional(parser, [*inputs, *inits])
        if combiner is not None:
            if len(results) != 1:
                parser.raise_error(f"'applies' stands for a body of one result, got {len(results)}")
            body = combiner_region(combiner, element_of(results[0]), location_at(parser, position))
        else:
            body = _parse_reducer(parser, len(inputs))
        return cls.create(
            operands=operands,
            result_types=results,
            properties=properties,
            attributes=attributes,
            regions=[body],
        )

    def print(self, printer: Printer) -> None:
        count = self.input_count
        for index in range(count):
            printer.print_string(", (" if index else "(")
            printer.print_operand(self.operands[index])
            printer.print_string(" init: ")
            printer.print_operand(self.operands[count + index])
            printer.print_string(")")
        combiner = _compact_combiner(self)
        if combiner is not None:
            spell = getattr(printer, "spell", str)  # the printer's name for it, hlo's or StableHLO's
            printer.print_string(f" applies {spell(combiner.name)}")
        printer.print_string(f" across dimensions = {int_list_text(self.dims)}")
        print_attributes(printer, self, ("dimensions",))
        print_functional(printer, self)
        if combiner is None:
            self._print_reducer(printer)

    def _print_reducer(self, printer: Printer) -> None:
        count = self.input_count
        block = self.regions[0].block
        new_line(printer)
        printer.print_string(" reducer")
        for index in range(count):
            printer.print_string("(" if index == 0 else " (")
            printer.print_block_argument(block.args[index])
            printer.print_string(", ")
            printer.print_block_argument(block.args[count + index])
            printer.print_string(")")
        printer.print_string(" ")
        printer.print_region(self.regions[0], print_entry_block_args=False, print_empty_block=False)

    def flops(self) -> int:
        return math.prod(shape_of(self.operands[0]))

    def infer_types(self) -> tuple[Attribute, ...]:
        count = self.input_count
        if count <= 0 or len(self.operands) != 2 * count:
            reject(f"reduce_c3: there are {len(self.operands)} operands, expected as many inputs as init_values")
        shape = shape_of(self.operands[0])
        for value in self.operands[1:count]:
            if not shapes_agree(shape_of(value), shape):
                reject(f"reduce_c1: inputs have different shapes {shape_text(shape)} and {shape_text(shape_of(value))}")
        dims = self.dims
        check_range("reduce_c4", "dimensions", dims, len(shape))
        check_unique("reduce_c5", "dimensions", dims)
        kept = tuple(size for dim, size in enumerate(shape) if dim not in dims)
        block = region_block(self.regions[0], "reduce_c6", "body")
        return tuple(make_tensor(kept, element_of(type_)) for type_ in returned_types(block))

    def region_arguments(self, index: int) -> Sequence[Attribute]:
        return scalar_types(self.operands[self.input_count :], 2)

    def verify_(self) -> None:
        self._verify_init_values()
        block = region_block(self.regions[0], "reduce_c6", "body")
        count = self.input_count
        check_reducer("reduce_c6", "body", block, self.operands[:count], self.operands[count:])
        check_accumulated(self, "reduce_c3", "reduce_c8", "reduce_c7", self.input_count, "body")

    def _verify_init_values(self) -> None:
        count = self.input_count
        if count <= 0 or len(self.operands) != 2 * count:
            reject(f"reduce_c3: there are {len(self.operands)} operands, expected as many inputs as init_values")
        kept = tuple(size for dim, size in enumerate(shape_of(self.operands[0])) if dim not in self.dims)
        check_init_values("reduce_i2", "reduce_c2", self.operands[:count], self.operands[count:], kept)

    def reference_with_regions(self, run: RegionRunner, *operands: Array) -> tuple[Array, ...]:
        count = self.input_count
        refuse_shaped_accumulators(self, self.operands[count:])
        body = self.regions[0]
        accumulators = [numpy_dtype(element_of(type_)) for type_ in self.result_types]
        arrays = [value.astype(accumulators[index % count]) for index, value in enumerate(operands)]
        flat = [_reduced_last(value, self.dims) for value in arrays[:count]]
        inits = arrays[count:]
        return fold_last(run, body, flat, inits)


def fold_last(run: RegionRunner, body: Region, values: Sequence[Array], inits: Sequence[Array]) -> tuple[Array, ...]:
    """Fold the last dimension of the values with `body`; all arrays have its element types."""
    combiner = single_combiner(body)
    ufunc = _UFUNCS.get(combiner.name) if combiner is not None else None
    own = ufunc is np.multiply and values[0].dtype.kind == "c"  # NumPy's product of complex numbers is another
    if ufunc is not None and len(values) == 1 and not own:
        return (_ufunc_reduce(ufunc, values[0], inits[0]),)
    if is_elementwise_region(body):
        return _tree_reduce(run, body, values, inits)
    return _scalar_reduce(run, body, values, inits)


def _parse_combiner(parser: Parser) -> type[Operation]:
    """The operation that `applies` names: elementwise, of two operands."""
    position = parser.pos
    name = parser.parse_identifier()
    combiner = parser.ctx.get_optional_op(name, dialect_stack=("hlo",))
    if combiner is not None and _combines(combiner):
        return combiner
    known = [op.name.partition(".")[2] for op in parser.ctx.get_dialect("hlo").operations if _combines(op)]
    prefix, dot, rest = name.rpartition(".")
    near = did_you_mean(rest, known, f"{prefix}{dot}")
    parser.raise_error(f"expected the name of a binary operation after 'applies'{near}", position)


def _combines(op_type: type[Operation]) -> bool:
    """Whether it is elementwise, of two operands, and needs no properties."""
    if not issubclass(op_type, HloOp) or op_type.ROLE != "elementwise":
        return False
    definition = op_type.get_irdl_definition()
    return len(definition.operands) == 2 and all(
        isinstance(one, OptPropertyDef) for one in definition.properties.values()
    )


def location_at(parser: Parser, position: int) -> LocationAttr:
    """The file position, if the parser keeps track of it (the project's reader does)."""
    positions = getattr(parser, "positions", None)
    return UNKNOWN_LOC if positions is None else positions.location(position)


def combiner_region(combiner: type[Operation], element: Attribute, location: LocationAttr) -> Region:
    """The body that `applies combiner` denotes, on scalars of an element type."""
    scalar = make_tensor((), element)
    block = Block(arg_types=(scalar, scalar))
    op = combiner.create(operands=block.args, result_types=(scalar,), location=location)
    append(block, op)
    append(block, ReturnOp.create(operands=op.results, location=location))
    return Region(block)


def _parse_reducer(parser: Parser, count: int) -> Region:
    """
    `reducer(%a: t, %b: t) (%c: u, %d: u) {..}`: one pair per input; the block takes all first, then all second
    arguments.
    """
    parser.parse_keyword("reducer")
    first: list[Parser.Argument] = []
    second: list[Parser.Argument] = []
    for _ in range(count):
        with parser.in_parens():
            first.append(_parse_argument(parser))
            parser.parse_punctuation(",")
            second.append(_parse_argument(parser))
    return parser.parse_region([*first, *second])


def _parse_argument(parser: Parser) -> Parser.Argument:
    """`%a: t`, with an optional location."""
    argument = parser.parse_argument()
    location = parser.parse_optional_location()
    if location is not None:
        argument.location = location
    return argument


def _reduced_last(value: Array, dims: Sequence[int]) -> Array:
    """The array with the reduced dimensions flattened, in row-major order, into a new last dimension."""
    kept = [dim for dim in range(value.ndim) if dim not in dims]
    moved = value.transpose([*kept, *sorted(dims)])
    shape = tuple(value.shape[dim] for dim in kept)
    return np.ascontiguousarray(moved).reshape(*shape, math.prod(value.shape[dim] for dim in dims))


def _ufunc_reduce(ufunc: np.ufunc, value: Array, init: Array) -> Array:
    """NumPy's reduction of the last dimension; narrow floats accumulate in f32 and are rounded once."""
    if value.shape[-1] == 0:  # NumPy's empty sum is +0, which would turn -0 into +0.
        return np.broadcast_to(init, value.shape[:-1])
    values, start = working(value, wide=False), working(init, wide=False)
    if ufunc is np.add and values.dtype.kind == "f":
        # NumPy's sums begin with +0, and those of -0 would be +0.
        reduced = np.add.reduce(values, axis=-1, dtype=values.dtype, initial=-0.0)
    else:
        reduced = ufunc.reduce(values, axis=-1, dtype=values.dtype)
    return round_to(ufunc(start, reduced, dtype=values.dtype), value.dtype)


def is_elementwise_region(region: Region, seen: tuple[Region, ...] = ()) -> bool:
    """
    Whether the region computes each element alone, so that it may run on whole arrays instead of scalars.

    Its operations are elementwise, scalar constants, or calls of functions that satisfy the same condition.
    """
    if region in seen or region.blocks.first is None or region.blocks.first.next_block is not None:
        return False
    for op in region.blocks.first.ops:
        if op.name in ("hlo.return", "func.return") or is_elementwise(op):
            continue
        if op.name == "hlo.constant" and shape_of(op.results[0]) == ():
            continue
        if op.name == "func.call":
            callee = op.properties["callee"]
            assert isinstance(callee, SymbolRefAttr)
            function = SymbolTable.lookup_symbol(op, callee)
            if function is not None and is_elementwise_region(function.regions[0], (*seen, region)):
                continue
        return False
    return True


def _tree_reduce(run: RegionRunner, body: Region, values: Sequence[Array], inits: Sequence[Array]) -> tuple[Array, ...]:
    """Fold the last dimension as a balanced tree, neighbours first: order is preserved, depth is logarithmic."""
    shape = values[0].shape[:-1]
    current = list(values)
    while (size := current[0].shape[-1]) > 1:
        even = size - size % 2
        left = [value[..., 0:even:2] for value in current]
        right = [value[..., 1:even:2] for value in current]
        folded = [np.broadcast_to(result, left[0].shape) for result in run(body, *left, *right)]
        if size % 2:
            folded = [
                np.concatenate((result, value[..., -1:]), axis=-1)
                for result, value in zip(folded, current, strict=True)
            ]
        current = folded
    starts = [np.broadcast_to(init, shape) for init in inits]
    if current[0].shape[-1] == 0:
        return tuple(starts)
    return tuple(np.broadcast_to(result, shape) for result in run(body, *starts, *(value[..., 0] for value in current)))


def _scalar_reduce(
    run: RegionRunner, body: Region, values: Sequence[Array], inits: Sequence[Array]
) -> tuple[Array, ...]:
    """Fold element by element, for bodies with operations that are not elementwise."""
    shape = values[0].shape[:-1]
    results = [np.empty(shape, dtype=value.dtype) for value in values]
    for place in np.ndindex(shape):
        state: tuple[Array, ...] = tuple(inits)
        for index in range(values[0].shape[-1]):
            state = run(body, *state, *(value[(*place, index)].reshape(()) for value in values))
        for result, final in zip(results, state, strict=True):
            result[place] = final
    return tuple(results)


OPS = (ReduceOp,)
