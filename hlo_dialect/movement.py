"""
Operations that move elements without computing: broadcast, reshape, transpose, slice, concatenate, pad, reverse.

Spec: https://openxla.org/stablehlo/spec
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, IntegerType, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import Pure

from .attributes import IntArray, int_array, int_attr, int_list_text, ints, parse_int_list
from .op import HloOp, check
from .shapes import (
    DYNAMIC,
    dims_agree,
    element_count,
    merge_dim,
    repeated,
    shape_text,
    verify_results_agree,
)
from .structural_syntax import (
    finish_functional,
    finish_same_type,
    parse_named,
    parse_operands_then,
    print_attributes,
    print_functional,
    print_values,
)
from .types import Array, element_of, make_tensor, shape_of


def _check_size(constraint: str, name: str, values: Sequence[int], rank: int) -> None:
    check(
        len(values) == rank,
        lambda: f"{constraint}: {name} has {len(values)} entries, expected the operand's rank {rank}",
    )


def _check_element_types(op: HloOp, constraint: str) -> None:
    operand, result = element_of(op.operands[0]), element_of(op.results[0])
    check(
        operand == result,
        lambda: f"{constraint}: operand and result have different element types {operand} and {result}",
    )


def _parse_dims(parser: Parser) -> tuple[UnresolvedOperand, IntArray]:
    """`%a, dims = [1, 0]`"""
    operand = parser.parse_unresolved_operand()
    parse_named(parser, "dims")
    return operand, int_array(parse_int_list(parser))


def _print_dims(printer: Printer, operand: SSAValue, dims: Sequence[int]) -> None:
    printer.print_string(" ")
    printer.print_operand(operand)
    printer.print_string(f", dims = {int_list_text(dims)}")


@irdl_op_definition
class BroadcastInDimOp(HloOp):
    """
    Repeat data along new or one-sized dimensions: `result[i] = operand[j]`, j[k] = i[dims[k]], or 0 where
    the operand's dimension k is 1.

    Shapes: operand (d0, .., dn), result of any rank; operand dimension k lies along result dimension dims[k].
    Raises: VerifyException naming broadcast_in_dim_c1..c5.
    Spec:   https://openxla.org/stablehlo/spec#broadcast_in_dim
    """

    name = "hlo.broadcast_in_dim"
    operand = operand_def(TensorType)
    broadcast_dimensions = prop_def(IntArray)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @property
    def dims(self) -> tuple[int, ...]:
        return ints(self.broadcast_dimensions)

    @classmethod
    def parse(cls, parser: Parser) -> BroadcastInDimOp:
        operand, dims = _parse_dims(parser)
        return finish_functional(cls, parser, [operand], {"broadcast_dimensions": dims})

    def print(self, printer: Printer) -> None:
        _print_dims(printer, self.operands[0], self.dims)
        print_attributes(printer, self, ("broadcast_dimensions",))
        print_functional(printer, self)

    def infer_types(self) -> tuple[Attribute, ...]:
        return (self.results[0].type,)

    def verify_(self) -> None:
        operand, result = shape_of(self.operands[0]), shape_of(self.results[0])
        dims = self.dims
        _check_element_types(self, "broadcast_in_dim_c1")
        _check_size("broadcast_in_dim_c2", "broadcast_dimensions", dims, len(operand))
        check(
            all(0 <= dim < len(result) for dim in dims),
            lambda: f"broadcast_in_dim_c3: broadcast_dimensions {dims} are not all in [0, {len(result)})",
        )
        check(not repeated(dims), lambda: f"broadcast_in_dim_c4: broadcast_dimensions {dims} are not unique")
        for index, dim in enumerate(dims):
            check(
                operand[index] == 1 or dims_agree(operand[index], result[dim]),
                lambda index=index, dim=dim: (
                    f"broadcast_in_dim_c5: operand dimension {index} has size "
                    f"{operand[index]}, which is neither 1 nor the size {result[dim]} of result dimension {dim}"
                ),
            )

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        if self.operands[0].type == self.results[0].type and self.dims == tuple(range(len(self.dims))):
            return (self.operands[0],)
        return None

    def reference(self, *operands: Array) -> Array:
        (operand,) = operands
        shape = shape_of(self.results[0])
        dims = self.dims
        order = sorted(range(len(dims)), key=lambda index: dims[index])
        aligned = [1] * len(shape)
        for index in order:
            aligned[dims[index]] = operand.shape[index]
        return np.broadcast_to(np.transpose(operand, order).reshape(aligned), shape)


@irdl_op_definition
class ReshapeOp(HloOp):
    """
    The same elements in row-major order under another shape.

    Shapes: operand and result have the same number of elements.
    Raises: VerifyException naming reshape_c1, reshape_c2.
    Spec:   https://openxla.org/stablehlo/spec#reshape
    """

    name = "hlo.reshape"
    operand = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> ReshapeOp:
        operand = parser.parse_unresolved_operand()
        return finish_functional(cls, parser, [operand])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.operands[0])
        print_attributes(printer, self)
        print_functional(printer, self)

    def infer_types(self) -> tuple[Attribute, ...]:
        return (self.results[0].type,)

    def verify_(self) -> None:
        _check_element_types(self, "reshape_c1")
        before, after = element_count(shape_of(self.operands[0])), element_count(shape_of(self.results[0]))
        check(
            dims_agree(before, after),
            lambda: f"reshape_c2: operand has {before} elements and result {after}",
        )

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        operand = self.operands[0]
        if operand.type == self.results[0].type:
            return (operand,)
        source = operand.owner
        if isinstance(source, ReshapeOp) and source.operands[0].type == self.results[0].type:
            return (source.operands[0],)
        return None

    def reference(self, *operands: Array) -> Array:
        return operands[0].reshape(shape_of(self.results[0]))


@irdl_op_definition
class TransposeOp(HloOp):
    """
    Permute the dimensions: `result[i[p0], .., i[pn]] = operand[i0, .., in]`.

    Shapes: operand (d0, .., dn), result (d[p0], .., d[pn]).
    Raises: VerifyException naming transpose_c1..c3.
    Spec:   https://openxla.org/stablehlo/spec#transpose
    """

    name = "hlo.transpose"
    operand = operand_def(TensorType)
    permutation = prop_def(IntArray)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @property
    def dims(self) -> tuple[int, ...]:
        return ints(self.permutation)

    @classmethod
    def parse(cls, parser: Parser) -> TransposeOp:
        operand, dims = _parse_dims(parser)
        return finish_functional(cls, parser, [operand], {"permutation": dims})

    def print(self, printer: Printer) -> None:
        _print_dims(printer, self.operands[0], self.dims)
        print_attributes(printer, self, ("permutation",))
        print_functional(printer, self)

    def infer_types(self) -> tuple[Attribute, ...]:
        shape = shape_of(self.operands[0])
        check(
            sorted(self.dims) == list(range(len(shape))),
            lambda: f"transpose_c2: permutation {self.dims} is not a permutation of the {len(shape)} dimensions",
        )
        return (make_tensor(tuple(shape[dim] for dim in self.dims), element_of(self.operands[0])),)

    def verify_(self) -> None:
        _check_element_types(self, "transpose_c1")
        verify_results_agree(self, "transpose_c3")

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        if self.dims == tuple(range(len(self.dims))) and self.operands[0].type == self.results[0].type:
            return (self.operands[0],)
        source = self.operands[0].owner
        if isinstance(source, TransposeOp) and source.operands[0].type == self.results[0].type:
            composed = tuple(source.dims[dim] for dim in self.dims)
            if composed == tuple(range(len(composed))):
                return (source.operands[0],)
        return None

    def reference(self, *operands: Array) -> Array:
        return np.transpose(operands[0], self.dims)


@irdl_op_definition
class SliceOp(HloOp):
    """
    A strided box: `result[i] = operand[start + i * stride]`.

    Shapes: operand (d0, ..), result dimension k has ceil((limit[k] - start[k]) / stride[k]) elements.
    Raises: VerifyException naming slice_c1..c5.
    Spec:   https://openxla.org/stablehlo/spec#slice
    """

    name = "hlo.slice"
    operand = operand_def(TensorType)
    start_indices = prop_def(IntArray)
    limit_indices = prop_def(IntArray)
    strides = prop_def(IntArray)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @property
    def starts(self) -> tuple[int, ...]:
        return ints(self.start_indices)

    @property
    def limits(self) -> tuple[int, ...]:
        return ints(self.limit_indices)

    @property
    def steps(self) -> tuple[int, ...]:
        return ints(self.strides)

    @classmethod
    def parse(cls, parser: Parser) -> SliceOp:
        operand = parser.parse_unresolved_operand()

        def parse_range() -> tuple[int, int, int]:
            start = parser.parse_integer()
            parser.parse_punctuation(":")
            limit = parser.parse_integer()
            return start, limit, parser.parse_integer() if parser.parse_optional_punctuation(":") else 1

        ranges = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parse_range)
        return finish_functional(
            cls,
            parser,
            [operand],
            {
                "start_indices": int_array([start for start, _, _ in ranges]),
                "limit_indices": int_array([limit for _, limit, _ in ranges]),
                "strides": int_array([stride for _, _, stride in ranges]),
            },
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.operands[0])
        ranges = (
            f"{start}:{limit}" if step == 1 else f"{start}:{limit}:{step}"
            for start, limit, step in zip(self.starts, self.limits, self.steps, strict=True)
        )
        printer.print_string(f" [{', '.join(ranges)}]")
        print_attributes(printer, self, ("start_indices", "limit_indices", "strides"))
        print_functional(printer, self)

    def infer_types(self) -> tuple[Attribute, ...]:
        shape = shape_of(self.operands[0])
        for name, values in (
            ("start_indices", self.starts),
            ("limit_indices", self.limits),
            ("strides", self.steps),
        ):
            _check_size("slice_c2", name, values, len(shape))
        sizes: list[int] = []
        for dim, (size, start, limit, step) in enumerate(zip(shape, self.starts, self.limits, self.steps, strict=True)):
            check(
                0 <= start <= limit and (size == DYNAMIC or limit <= size),
                lambda dim=dim, start=start, limit=limit, size=size: (
                    f"slice_c3: range [{start}:{limit}] of "
                    f"dimension {dim} does not lie in [0:{'?' if size == DYNAMIC else size}]"
                ),
            )
            check(
                step > 0,
                lambda dim=dim, step=step: f"slice_c4: stride {step} of dimension {dim} is not positive",
            )
            sizes.append(-(-(limit - start) // step))
        return (make_tensor(tuple(sizes), element_of(self.operands[0])),)

    def verify_(self) -> None:
        _check_element_types(self, "slice_c1")
        verify_results_agree(self, "slice_c5")

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        if self.operands[0].type == self.results[0].type and DYNAMIC not in shape_of(self.results[0]):
            return (self.operands[0],)
        return None

    def reference(self, *operands: Array) -> Array:
        return operands[0][tuple(map(slice, self.starts, self.limits, self.steps))]


@irdl_op_definition
class ConcatenateOp(HloOp):
    """
    Tensors side by side along one dimension.

    Shapes: inputs equal except in `dimension`, where the result has the sum.
    Raises: VerifyException naming concatenate_c1..c6.
    Spec:   https://openxla.org/stablehlo/spec#concatenate
    """

    name = "hlo.concatenate"
    inputs = var_operand_def(TensorType)
    dimension = prop_def(IntegerAttr[IntegerType])
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @property
    def dim(self) -> int:
        return self.dimension.value.data

    @classmethod
    def parse(cls, parser: Parser) -> ConcatenateOp:
        inputs = parse_operands_then(parser, "dim")
        dimension = int_attr(parser.parse_integer())
        return finish_functional(cls, parser, inputs, {"dimension": dimension})

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_values(printer, self.operands)
        printer.print_string(f", dim = {self.dim}")
        print_attributes(printer, self, ("dimension",))
        print_functional(printer, self)

    def infer_types(self) -> tuple[Attribute, ...]:
        check(len(self.operands) > 0, "concatenate_c3: there are no inputs")
        elements = [element_of(value) for value in self.operands]
        check(
            all(element == elements[0] for element in elements),
            lambda: f"concatenate_c1: inputs have different element types {', '.join(map(str, elements))}",
        )
        shapes = [shape_of(value) for value in self.operands]
        rank, dim = len(shapes[0]), self.dim
        check(0 <= dim < rank, lambda: f"concatenate_c4: dimension {dim} is not in [0, {rank})")
        result = list(shapes[0])
        for index, shape in enumerate(shapes[1:], 1):
            check(
                len(shape) == rank and all(d == dim or dims_agree(result[d], shape[d]) for d in range(rank)),
                lambda index=index, shape=shape: (
                    f"concatenate_c2: input {index} of shape {shape_text(shape)} does "
                    f"not fit input 0 of shape {shape_text(shapes[0])} outside dimension {dim}"
                ),
            )
            result = [merge_dim(first, second) for first, second in zip(result, shape, strict=True)]
        sizes = [shape[dim] for shape in shapes]
        result[dim] = DYNAMIC if DYNAMIC in sizes else sum(sizes)
        return (make_tensor(tuple(result), elements[0]),)

    def verify_(self) -> None:
        (inferred,) = self.infer_types()
        check(
            element_of(inferred) == element_of(self.results[0]),
            lambda: (
                f"concatenate_c5: result has element type {element_of(self.results[0])}, inputs have "
                f"{element_of(inferred)}"
            ),
        )
        verify_results_agree(self, "concatenate_c6")

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        if len(self.operands) == 1 and self.operands[0].type == self.results[0].type:
            return (self.operands[0],)
        return None

    def reference(self, *operands: Array) -> Array:
        return np.concatenate(operands, axis=self.dim)


@irdl_op_definition
class PadOp(HloOp):
    """
    Surround and interleave with a padding value: `result[low + j * (interior + 1)] = operand[j]`, else the value.

    Negative low and high padding removes elements, after interior padding.

    Shapes: dimension k has d + max(d - 1, 0) * interior[k] + low[k] + high[k] elements.
    Raises: VerifyException naming pad_c1..c4.
    Spec:   https://openxla.org/stablehlo/spec#pad
    """

    name = "hlo.pad"
    operand = operand_def(TensorType)
    padding_value = operand_def(TensorType)
    edge_padding_low = prop_def(IntArray)
    edge_padding_high = prop_def(IntArray)
    interior_padding = prop_def(IntArray)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @property
    def low(self) -> tuple[int, ...]:
        return ints(self.edge_padding_low)

    @property
    def high(self) -> tuple[int, ...]:
        return ints(self.edge_padding_high)

    @property
    def interior(self) -> tuple[int, ...]:
        return ints(self.interior_padding)

    @classmethod
    def parse(cls, parser: Parser) -> PadOp:
        operand = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        value = parser.parse_unresolved_operand()
        parsed: dict[str, Attribute] = {}
        for keyword, name in (
            ("low", "edge_padding_low"),
            ("high", "edge_padding_high"),
            ("interior", "interior_padding"),
        ):
            parse_named(parser, keyword)
            parsed[name] = int_array(parse_int_list(parser))
        return finish_functional(cls, parser, [operand, value], parsed)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_values(printer, self.operands)
        printer.print_string(
            f", low = {int_list_text(self.low)}, high = {int_list_text(self.high)}, "
            f"interior = {int_list_text(self.interior)}"
        )
        print_attributes(printer, self, ("edge_padding_low", "edge_padding_high", "interior_padding"))
        print_functional(printer, self)

    def infer_types(self) -> tuple[Attribute, ...]:
        operand, value = self.operands
        check(
            element_of(operand) == element_of(value),
            lambda: (
                "pad_c1: operand and padding_value have different element types "
                f"{element_of(operand)} and {element_of(value)}"
            ),
        )
        check(
            shape_of(value) == (), lambda: f"pad_i2: padding_value of shape {shape_text(shape_of(value))} is no scalar"
        )
        shape = shape_of(operand)
        _check_size("pad_c2", "edge_padding_low", self.low, len(shape))
        _check_size("pad_c2", "edge_padding_high", self.high, len(shape))
        _check_size("pad_c2", "interior_padding", self.interior, len(shape))
        check(
            all(pad >= 0 for pad in self.interior),
            lambda: f"pad_c3: interior_padding {self.interior} has a negative entry",
        )
        sizes: list[int] = []
        for dim, size in enumerate(shape):
            padded = size + max(size - 1, 0) * self.interior[dim] + self.low[dim] + self.high[dim]
            check(
                size == DYNAMIC or padded >= 0,
                lambda dim=dim, padded=padded: f"pad_c4: result dimension {dim} would have {padded} elements",
            )
            sizes.append(DYNAMIC if size == DYNAMIC else padded)
        return (make_tensor(tuple(sizes), element_of(operand)),)

    def verify_(self) -> None:
        _check_element_types(self, "pad_c1")
        verify_results_agree(self, "pad_c4")

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        nothing = not any(self.low) and not any(self.high) and not any(self.interior)
        if nothing and self.operands[0].type == self.results[0].type:
            return (self.operands[0],)
        return None

    def reference(self, *operands: Array) -> Array:
        operand, value = operands
        shape = shape_of(self.results[0])
        result = np.full(shape, value, dtype=operand.dtype)
        to: list[slice] = []
        taken: list[slice] = []
        for dim, size in enumerate(shape):
            step, low = self.interior[dim] + 1, self.low[dim]
            first = max(0, -(low // step))
            last = min(operand.shape[dim] - 1, (size - 1 - low) // step)
            if last < first:
                return result
            taken.append(slice(first, last + 1))
            to.append(slice(low + first * step, low + last * step + 1, step))
        result[tuple(to)] = operand[tuple(taken)]
        return result


@irdl_op_definition
class ReverseOp(HloOp):
    """
    Reverse the order of elements along the given dimensions.

    Shapes: operand and result have the same type.
    Raises: VerifyException naming reverse_c1..c3.
    Spec:   https://openxla.org/stablehlo/spec#reverse
    """

    name = "hlo.reverse"
    operand = operand_def(TensorType)
    dimensions = prop_def(IntArray)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @property
    def dims(self) -> tuple[int, ...]:
        return ints(self.dimensions)

    @classmethod
    def parse(cls, parser: Parser) -> ReverseOp:
        operand, dims = _parse_dims(parser)
        return finish_same_type(cls, parser, operand, {"dimensions": dims})

    def print(self, printer: Printer) -> None:
        _print_dims(printer, self.operands[0], self.dims)
        print_attributes(printer, self, ("dimensions",))
        if self.operands[0].type == self.results[0].type:
            printer.print_string(" : ")
            printer.print_attribute(self.results[0].type)
        else:
            print_functional(printer, self)

    def infer_types(self) -> tuple[Attribute, ...]:
        return (self.operands[0].type,)

    def verify_(self) -> None:
        verify_results_agree(self, "reverse_c1")
        rank = len(shape_of(self.operands[0]))
        check(not repeated(self.dims), lambda: f"reverse_c2: dimensions {self.dims} are not unique")
        check(
            all(0 <= dim < rank for dim in self.dims),
            lambda: f"reverse_c3: dimensions {self.dims} are not all in [0, {rank})",
        )

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        shape = shape_of(self.operands[0])
        if self.operands[0].type == self.results[0].type and all(shape[dim] in (0, 1) for dim in self.dims):
            return (self.operands[0],)
        return None

    def reference(self, *operands: Array) -> Array:
        return np.flip(operands[0], self.dims)


OPS = (BroadcastInDimOp, ReshapeOp, TransposeOp, SliceOp, ConcatenateOp, PadOp, ReverseOp)
