"""
The gpu_library dialect: GPU work that the host delegates to a vendor library instead of launching a kernel.

A call takes the place of a launch among the host's operations of a kernel, and runs in their order. It states all the
information that the library needs; buffers are whole, of identity layout, and it describes the matrices in them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, cast

from xdsl.dialects.builtin import IntAttr, IntegerAttr, MemRefType, NoneAttr, StringAttr, UnitAttr, i64
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

ACTIVATIONS = ("relu", "gelu_tanh")
"""`max(x, 0)`, and `x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))`: not the gelu of the error function."""

SUMS = {
    ("f32", "f32"): "f32",
    ("f64", "f64"): "f64",
    ("f16", "f16"): "f32",
    ("f16", "f32"): "f32",
    ("bf16", "bf16"): "f32",
    ("bf16", "f32"): "f32",
    ("i8", "i32"): "i32",
}
"""The accumulator type, by the types of factors and result."""

WITH_EPILOGUE = ("f32", "f16", "bf16")
"""The result types that allow a bias or an activation."""

MOST = 2**31 - 1
"""Maximum rows, columns, batches and elements from row to row."""


@dataclass(frozen=True)
class Matrix:
    """
    `rows x columns` elements of a buffer; [b, i, j] is at `offset + b * batch_stride + i * row_stride +
    j * column_stride`. All in elements.
    """

    rows: int
    columns: int
    row_stride: int
    column_stride: int
    batch_stride: int = 0
    offset: int = 0

    @property
    def row_major(self) -> bool:
        """Whether neighbouring elements of a row are neighbours in memory."""
        return self.column_stride == 1 and self.row_stride >= self.columns

    @property
    def column_major(self) -> bool:
        return self.row_stride == 1 and self.column_stride >= self.rows

    @property
    def leading(self) -> int:
        """Elements from row to row, or from column to column: the leading dimension of BLAS."""
        return self.row_stride if self.row_major else self.column_stride

    def end(self, batch: int) -> int:
        """One past the last element's index in the buffer."""
        last = (self.rows - 1) * self.row_stride + (self.columns - 1) * self.column_stride
        return self.offset + (batch - 1) * self.batch_stride + last + 1


@dataclass(frozen=True)
class Matmul:
    """The problem of a gpu_library.matmul, as data: equal problems are the same for the library."""

    lhs: Matrix
    rhs: Matrix
    out: Matrix
    batch: int
    element: str
    """The element type of the factors."""
    result: str
    bias: bool = False
    activation: str = ""
    tf32: bool = False

    @property
    def total(self) -> str:
        """The accumulator type."""
        return SUMS[self.element, self.result]

    @property
    def products(self) -> int:
        return self.batch * self.lhs.rows * self.lhs.columns * self.rhs.columns


@irdl_attr_definition
class MatrixAttr(ParametrizedAttribute):
    """`#gpu_library.matrix<shape = [2, 3], strides = [3, 1], batch_stride = 6, offset = 0>`: a matrix in a buffer."""

    name = "gpu_library.matrix"
    rows: IntAttr
    columns: IntAttr
    row_stride: IntAttr
    column_stride: IntAttr
    batch_stride: IntAttr
    offset: IntAttr

    @classmethod
    def of(cls, matrix: Matrix) -> MatrixAttr:
        return cls(*(IntAttr(getattr(matrix, field.name)) for field in fields(matrix)))

    @property
    def matrix(self) -> Matrix:
        return Matrix(*(getattr(self, field.name).data for field in fields(Matrix)))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        def pair(word: str) -> list[int]:
            parser.parse_keyword(word)
            parser.parse_punctuation("=")
            found = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
            if len(found) != 2:
                parser.raise_error(f"expected two numbers as {word}: of rows and of columns")
            return found

        with parser.in_angle_brackets():
            numbers = pair("shape")
            parser.parse_punctuation(",")
            numbers += pair("strides")
            for word in ("batch_stride", "offset"):
                parser.parse_punctuation(",")
                parser.parse_keyword(word)
                parser.parse_punctuation("=")
                numbers.append(parser.parse_integer())
        return [IntAttr(number) for number in numbers]

    def print_parameters(self, printer: Printer) -> None:
        one = self.matrix
        shape, strides = [one.rows, one.columns], [one.row_stride, one.column_stride]
        printer.print_string(
            f"<shape = {shape}, strides = {strides}, batch_stride = {one.batch_stride}, offset = {one.offset}>"
        )


@irdl_op_definition
class MatmulOp(IRDLOperation):
    """
    `out[b] = activation(lhs[b] * rhs[b] + bias)` for each b < batch, by a library:

    `gpu_library.matmul ins(%a, %b : memref<8x4xf32>, memref<4x16xf32>) bias(%c : memref<16xf32>)
    outs(%d : memref<8x16xf32>) {lhs_matrix = #gpu_library.matrix<..>, rhs_matrix = .., out_matrix = ..}`

    Each matrix is row- or column-major, that of the result row-major. Products are exact and accumulated in the type
    given by `SUMS`, in an order that the library chooses, always the same; with `tf32` the factors' mantissas may be
    truncated to 10 bits. Bias (a vector along the rows of the result, of its type) and activation are applied to the
    sum, which is then rounded once to the result's type. The results of relu for NaN and -0 are library-defined.

    Raises: VerifyException.
    """

    name = "gpu_library.matmul"

    lhs = operand_def(MemRefType)
    rhs = operand_def(MemRefType)
    bias = opt_operand_def(MemRefType)
    out = operand_def(MemRefType)
    lhs_matrix = prop_def(MatrixAttr)
    rhs_matrix = prop_def(MatrixAttr)
    out_matrix = prop_def(MatrixAttr)
    batch = opt_prop_def(IntegerAttr.constr(i64))
    activation = opt_prop_def(StringAttr)
    tf32 = opt_prop_def(UnitAttr)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "`ins` `(` $lhs `,` $rhs `:` type($lhs) `,` type($rhs) `)` (`bias` `(` $bias^ `:` type($bias) `)`)?"
        " `outs` `(` $out `:` type($out) `)` attr-dict"
    )

    def __init__(self, problem: Matmul, lhs: SSAValue, rhs: SSAValue, bias: SSAValue | None, out: SSAValue):
        """Types are those of the buffers; `bias` is given if the problem has one."""
        matrices = {"lhs_matrix": problem.lhs, "rhs_matrix": problem.rhs, "out_matrix": problem.out}
        properties: dict[str, Attribute] = {name: MatrixAttr.of(matrix) for name, matrix in matrices.items()}
        if problem.batch != 1:
            properties["batch"] = IntegerAttr(problem.batch, i64)
        if problem.activation:
            properties["activation"] = StringAttr(problem.activation)
        if problem.tf32:
            properties["tf32"] = UnitAttr()
        super().__init__(operands=[lhs, rhs, bias, out], properties=properties)

    @property
    def problem(self) -> Matmul:
        return Matmul(
            self.lhs_matrix.matrix,
            self.rhs_matrix.matrix,
            self.out_matrix.matrix,
            1 if self.batch is None else self.batch.value.data,
            str(_buffer(self.lhs).element_type),
            str(_buffer(self.out).element_type),
            self.bias is not None,
            "" if self.activation is None else self.activation.data,
            self.tf32 is not None,
        )

    def verify_(self) -> None:
        for value in self.operands:
            if not isinstance(_buffer(value).layout, NoneAttr) or not _buffer(value).has_static_shape():
                raise VerifyException(f"a buffer is of type {value.type}, not of known sizes and identity layout")
        problem = self.problem
        _check_types(problem, str(_buffer(self.rhs).element_type))
        lhs, rhs, out = problem.lhs, problem.rhs, problem.out
        if (lhs.rows, rhs.columns, lhs.columns) != (out.rows, out.columns, rhs.rows):
            shapes = " and ".join(f"{one.rows}x{one.columns}" for one in (lhs, rhs))
            raise VerifyException(f"the product of {shapes} is not of {out.rows}x{out.columns}")
        if problem.batch < 1 or problem.batch > MOST:
            raise VerifyException(f"batch is {problem.batch}, not a positive number of 31 bits")
        for name, matrix, buffer in (("lhs", lhs, self.lhs), ("rhs", rhs, self.rhs), ("out", out, self.out)):
            _check_matrix(name, matrix, problem.batch, math.prod(_buffer(buffer).get_shape()))
        if not out.row_major:
            raise VerifyException("out_matrix is not row-major")
        if problem.batch > 1 and not _is_apart(out, problem.batch):
            raise VerifyException("the matrices of out's batch overlap")
        if self.bias is not None:
            type_ = _buffer(self.bias)
            if math.prod(type_.get_shape()) != out.columns or str(type_.element_type) != problem.result:
                raise VerifyException(f"bias has not {out.columns} elements of type {problem.result}")


def _buffer(value: SSAValue) -> MemRefType[Any]:
    return cast("MemRefType[Any]", value.type)


def _check_types(problem: Matmul, rhs: str) -> None:
    if rhs != problem.element or (problem.element, problem.result) not in SUMS:
        known = ", ".join(f"{element} to {result}" for element, result in SUMS)
        raise VerifyException(f"no product of {problem.element} and {rhs} gives {problem.result}; there are {known}")
    if problem.tf32 and problem.element != "f32":
        raise VerifyException(f"tf32 is about factors of f32, not of {problem.element}")
    if problem.activation and problem.activation not in ACTIVATIONS:
        raise VerifyException(f"no activation is called '{problem.activation}'; there are {', '.join(ACTIVATIONS)}")
    if (problem.bias or problem.activation) and problem.result not in WITH_EPILOGUE:
        raise VerifyException(f"a result of {problem.result} takes neither bias nor activation")


def _check_matrix(name: str, matrix: Matrix, batch: int, elements: int) -> None:
    if not (0 < matrix.rows <= MOST and 0 < matrix.columns <= MOST and matrix.leading <= MOST):
        raise VerifyException(f"{name}_matrix has sizes that are not positive numbers of 31 bits")
    if not matrix.row_major and not matrix.column_major:
        raise VerifyException(
            f"{name}_matrix is neither row- nor column-major: one stride is 1, the other not less than a row or column"
        )
    if matrix.offset < 0 or matrix.batch_stride < 0 or matrix.end(batch) > elements:
        raise VerifyException(f"{name}_matrix reaches beyond its buffer of {elements} elements")


def _is_apart(matrix: Matrix, batch: int) -> bool:
    """Whether the matrices of a row-major batch share no element; their rows may interleave."""
    dims = sorted([(matrix.row_stride, matrix.rows), (matrix.batch_stride, batch)])
    inner = matrix.columns
    for stride, size in dims:
        if size > 1:
            if stride < inner:
                return False
            inner = stride * (size - 1) + inner
    return True


def major(sizes: Sequence[int], strides: Sequence[int]) -> tuple[int, int] | None:
    """
    Equivalent strides of a matrix's (rows, columns) that make it row- or column-major; None if there are none.

    The stride of a single row or column is arbitrary.
    """
    (rows, columns), (down, along) = sizes, strides
    if rows == columns == 1:
        return 1, 1
    if rows == 1:
        return (columns, 1) if along == 1 else (1, along) if along > 0 else None
    if columns == 1:
        return (1, rows) if down == 1 else (down, 1) if down > 0 else None
    if (along == 1 and down >= columns) or (down == 1 and along >= rows):
        return down, along
    return None


OPS = (MatmulOp,)
ATTRIBUTES = (MatrixAttr,)
