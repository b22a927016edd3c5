"""
The sizes of dimensions as values: get_dimension_size, set_dimension_size, and the bounds of unknown ones.

Spec: https://openxla.org/stablehlo/spec
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, IntegerType, TensorType
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue
from xdsl.irdl import irdl_attr_definition, irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ...attributes import IntArray, int_array, ints
from ...op import HloOp, reject
from ...shapes import DYNAMIC, dims_agree
from ...syntax.keywords import KeywordOp, integer
from ...types import Array, dense_constant, element_of, i32, is_integer, make_tensor, shape_of
from ..creation import constant_of


@irdl_attr_definition
class BoundsAttr(ParametrizedAttribute):
    """
    `#hlo.bounds<5, ?>`, the encoding of a tensor type: the largest size of each unknown dimension, `?` for others; also
    read in the older form `#hlo.type_extensions<bounds = [5, ?]>`.
    """

    name = "hlo.bounds"
    sizes: IntArray

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        def size() -> int:
            return DYNAMIC if parser.parse_optional_punctuation("?") is not None else parser.parse_integer()

        def sizes(delimiter: AttrParser.Delimiter) -> IntArray:
            return int_array(parser.parse_comma_separated_list(delimiter, size))

        with parser.in_angle_brackets():
            if parser.parse_optional_keyword("bounds") is None:
                token = parser._current_token  # pyright: ignore[reportPrivateUsage]
                return [int_array([]) if token.text == ">" else sizes(parser.Delimiter.NONE)]
            parser.parse_punctuation("=")
            return [sizes(parser.Delimiter.SQUARE)]

    def verify_shape(self, shape: Sequence[int]) -> None:
        """Raise VerifyException unless there is an entry for each dimension, and a bound only for unknown ones."""
        bounds = ints(self.sizes)
        if len(bounds) != len(shape):
            raise VerifyException(f"there are {len(bounds)} bounds for {len(shape)} dimensions")
        for dim, (bound, size) in enumerate(zip(bounds, shape, strict=True)):
            if DYNAMIC not in (bound, size):
                raise VerifyException(f"dimension {dim} of size {size} has the bound {bound}, expected '?'")

    def print_parameters(self, printer: Printer) -> None:
        sizes = ("?" if size == DYNAMIC else str(size) for size in ints(self.sizes))
        printer.print_string(f"<{', '.join(sizes)}>")


def bounds_of(type_: Attribute) -> Sequence[int]:
    """The largest size of each dimension of a tensor type, DYNAMIC where there is none; empty without bounds."""
    encoding = type_.encoding if isinstance(type_, TensorType) else None
    return ints(encoding.sizes) if isinstance(encoding, BoundsAttr) else ()


@irdl_op_definition
class GetDimensionSizeOp(KeywordOp):
    """
    The size of one dimension.

    Shapes: any; the result is tensor<i32>.
    Raises: VerifyException naming get_dimension_size_c1 or o1.
    Spec:   https://openxla.org/stablehlo/spec#get_dimension_size
    """

    name = "hlo.get_dimension_size"
    operand = operand_def(TensorType)
    dimension = prop_def(IntegerAttr[IntegerType])
    result = result_def(TensorType)
    traits = traits_def(Pure())
    KEYWORDS: ClassVar = (integer("dim", "dimension"),)

    @property
    def place(self) -> int:
        return self.dimension.value.data

    def infer_types(self) -> tuple[Attribute, ...]:
        return (make_tensor((), i32),)

    def verify_(self) -> None:
        _check_dimension(self, "get_dimension_size_c1", self.place)
        if self.results[0].type != make_tensor((), i32):
            reject(f"get_dimension_size_o1: result has type {self.results[0].type}, expected tensor<i32>")

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        size = shape_of(self.operands[0])[self.place]
        return None if size == DYNAMIC else (dense_constant(np.asarray(size, np.int32)),)

    def reference(self, *operands: Array) -> Array:
        return np.asarray(operands[0].shape[self.place], np.int32)


@irdl_op_definition
class SetDimensionSizeOp(KeywordOp):
    """
    The operand with one dimension cut to `size`, at most its static size; deprecated.

    Shapes: size (); the result has the operand's rank, the dimension unknown and bounded (`#hlo.bounds`) or static.
    Raises: VerifyException naming set_dimension_size_c1 (the dimension), c2 (the result's type), c3 (the size) or i2.
    Spec:   openxla/stablehlo, StablehloOps.td, SetDimensionSizeOp.
    """

    name = "hlo.set_dimension_size"
    LINEAR: ClassVar[bool] = True
    READS_CONSTANTS: ClassVar[bool] = True
    operand = operand_def(TensorType)
    size = operand_def(TensorType)
    dimension = prop_def(IntegerAttr[IntegerType])
    result = result_def(TensorType)
    traits = traits_def(Pure())
    KEYWORDS: ClassVar = (integer("dim", "dimension"),)

    @property
    def place(self) -> int:
        return self.dimension.value.data

    def infer_types(self) -> tuple[Attribute, ...]:
        return (self.results[0].type,)

    def verify_(self) -> None:
        _check_dimension(self, "set_dimension_size_c1", self.place)
        size = self.operands[1]
        if not (shape_of(size) == () and is_integer(element_of(size))):
            reject(f"set_dimension_size_i2: size has type {size.type}, expected an integer scalar")
        before, after = shape_of(self.operands[0]), shape_of(self.results[0])
        others = [dim for dim in range(len(before)) if dim != self.place]
        fits = len(before) == len(after) and all(dims_agree(before[dim], after[dim]) for dim in others)
        if not (fits and element_of(self.operands[0]) == element_of(self.results[0])):
            reject(
                f"set_dimension_size_c2: result has type {self.results[0].type}, expected {self.operands[0].type} but "
                f"for dimension {self.place}"
            )
        self._verify_known_size()

    def _verify_known_size(self) -> None:
        """c3: a constant size is that of the result, and at most that of the operand."""
        size = constant_of(self.operands[1])
        if size is None:
            return
        count, before, after = int(size), shape_of(self.operands[0])[self.place], shape_of(self.results[0])[self.place]
        if not (0 <= count <= (count if before == DYNAMIC else before) and dims_agree(count, after)):
            reject(
                f"set_dimension_size_c3: dimension {self.place} of {self.operands[0].type} is to have size {count}, "
                f"the result has type {self.results[0].type}"
            )

    def reference(self, *operands: Array) -> Array:
        operand, size = operands
        return operand[(slice(None),) * self.place + (slice(0, int(size)),)]


def _check_dimension(op: HloOp, constraint: str, dimension: int) -> None:
    rank = len(shape_of(op.operands[0]))
    if not (0 <= dimension < rank):
        reject(f"{constraint}: dimension {dimension} is not in [0, {rank}), the operand's dimensions")


OPS = (GetDimensionSizeOp, SetDimensionSizeOp)
ATTRIBUTES = (BoundsAttr,)
