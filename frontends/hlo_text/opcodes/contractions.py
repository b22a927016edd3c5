"""Opcodes of products and linear algebra: dot, convolution, fft, cholesky, triangular-solve, batch-norm-*."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, FloatAttr, FloatTF32Type
from xdsl.ir import Attribute

from ....hlo_dialect.attributes import (
    DotAlgorithmAttr,
    DotDimensionNumbersAttr,
    Precision,
    PrecisionAttr,
    bool_attr,
    int_array,
    int_attr,
)
from ....hlo_dialect.chlo.ragged_dot import ChloPrecisionAttr, RaggedDotDimensionNumbersAttr, RaggedDotOp
from ....hlo_dialect.ops.algorithms.fourier import FftOp, fft_type
from ....hlo_dialect.ops.algorithms.linear_algebra import CholeskyOp, Transpose, TransposeAttr, TriangularSolveOp
from ....hlo_dialect.ops.algorithms.normalization import BatchNormGradOp, BatchNormInferenceOp, BatchNormTrainingOp
from ....hlo_dialect.ops.contraction import DotGeneralOp
from ....hlo_dialect.ops.convolution import ConvolutionOp
from ....hlo_dialect.syntax.convolution import ConvDimensionNumbersAttr, Dimensions
from ....hlo_dialect.types import dense_constant, f32, i1
from ..registry import opcode
from ..shapes import ELEMENTS
from ..step import Step, Value
from ..values import UnexpectedValueError, Window, read_float, read_window, read_words

_ALGORITHM = re.compile(r"dot_(?:any_f8_any_f8|([a-z0-9]+)_([a-z0-9]+))_([a-z0-9]+)(?:_x([0-9]+))?(_fast_accum)?")
_LABELS = re.compile(r"([0-9bf?]+)_([0-9io?]+)->([0-9bf?]+)")
_DOT = "lhs_batch_dims rhs_batch_dims lhs_contracting_dims rhs_contracting_dims"


def precision(step: Step) -> ArrayAttr[PrecisionAttr] | None:
    """`operand_precision={highest,default}`; packed_nibble and other levels of XLA's are refused."""
    if not step.has("operand_precision"):
        return None
    levels = {level.value.lower(): PrecisionAttr(level) for level in Precision}

    def read(text: str) -> ArrayAttr[PrecisionAttr]:
        words = [word.lower() for word in read_words(text)]
        if any(word not in levels for word in words):
            raise UnexpectedValueError(f"one of {', '.join(levels)} for each operand")
        return ArrayAttr([levels[word] for word in words])

    return step.attribute("operand_precision", read)


def _algorithm(text: str) -> DotAlgorithmAttr | None:
    """`dot_bf16_bf16_f32_x3`"""
    if text.lower() in ("dot_unset", "alg_unset"):
        return None
    match = _ALGORITHM.fullmatch(text.lower().replace("alg_", ""))
    names = None if match is None else [match[1] or "f8e5m2", match[2] or "f8e5m2", match[3]]
    if match is None or names is None or any(name not in ELEMENTS and name != "tf32" for name in names):
        raise UnexpectedValueError("the name of an algorithm, such as dot_bf16_bf16_f32_x3")
    types = [FloatTF32Type() if name == "tf32" else ELEMENTS[name] for name in names]
    one, operations, imprecise = int_attr(1), int_attr(int(match[4] or "1")), int_attr(int(match[5] is not None), i1)
    return DotAlgorithmAttr(types[0], types[1], types[2], one, one, operations, imprecise)


@opcode("dot", f"{_DOT} operand_precision algorithm sparsity", 2)
def dot(step: Step) -> Value:
    if step.has("sparsity"):
        step.fail("products of sparse operands are not supported", "sparsity")
    numbers = DotDimensionNumbersAttr.of(*(step.ints(name, ()) for name in _DOT.split()))
    algorithm = step.attribute("algorithm", _algorithm) if step.has("algorithm") else None
    operands = [step.value(0), step.value(1)]
    return step.op(
        DotGeneralOp, operands, dot_dimension_numbers=numbers, precision_config=precision(step), algorithm=algorithm
    )


@opcode("ragged-dot", f"{_DOT} lhs_ragged_dims rhs_group_dims operand_precision", 3)
def ragged_dot(step: Step) -> Value:
    lists = [int_array(step.ints(name, ())) for name in (*_DOT.split(), "lhs_ragged_dims", "rhs_group_dims")]
    numbers = RaggedDotDimensionNumbersAttr.new(lists)
    levels, given = precision(step), None
    if levels is not None:
        given = ArrayAttr([ChloPrecisionAttr(level.data) for level in levels.data])
    return step.op(RaggedDotOp, step.flat(), ragged_dot_dimension_numbers=numbers, precision_config=given)


# Convolutions -----------------------------------------------------------------------------------------------------


def _labels(text: str) -> ConvDimensionNumbersAttr:
    """`b01f_01io->b01f`"""
    match = _LABELS.fullmatch(text)
    if match is None:
        raise UnexpectedValueError("labels of dimensions, such as b01f_01io->b01f")
    spatial = len(match[1]) - 2
    lhs, kernel = _dimensions(match[1], "bf", spatial), _dimensions(match[2], "io", spatial)
    return ConvDimensionNumbersAttr.of(lhs, kernel, _dimensions(match[3], "bf", spatial))


def _dimensions(labels: str, others: str, spatial: int) -> Dimensions:
    wanted = [*others, *map(str, range(spatial))]
    if spatial > 9 or sorted(labels) != sorted(wanted):
        raise UnexpectedValueError(f"each of the labels {', '.join(wanted)} once for each array")
    first, second, *rest = map(labels.index, wanted)
    return Dimensions(first, second, tuple(rest))


@opcode("convolution", "window dim_labels feature_group_count batch_group_count conv_kind operand_precision", 2)
def convolution(step: Step) -> Value:
    window = step.attribute("window", read_window, Window())
    numbers = step.attribute("dim_labels", _labels)
    kernel = step.tensor(1).shape
    sizes = tuple(kernel[dim] for dim in numbers.kernel.spatial if dim < len(kernel))
    if window.sizes and window.sizes != sizes:
        step.fail(f"the window's size is {window.sizes}, the kernel's {sizes}", "window")
    if not window.sizes and sizes:
        step.fail("expected the attribute window")
    return step.op(
        ConvolutionOp,
        [step.value(0), step.value(1)],
        window_strides=int_array(window.strides),
        padding=pairs(window.padding),
        lhs_dilation=int_array(window.base_dilations),
        rhs_dilation=int_array(window.window_dilations),
        window_reversal=DenseArrayBase.from_list(i1, [int(bool(each)) for each in window.reversal]),
        dimension_numbers=numbers,
        feature_group_count=int_attr(step.int("feature_group_count", 1)),
        batch_group_count=int_attr(step.int("batch_group_count", 1)),
        precision_config=precision(step),
    )


def pairs(rows: Sequence[Sequence[int]]) -> Attribute:
    """A constant of two integers for each row."""
    return dense_constant(np.array(rows, np.int64).reshape(len(rows), 2))


# Others -----------------------------------------------------------------------------------------------------------

_FFTS = {name: fft_type(name) for name in ("FFT", "IFFT", "RFFT", "IRFFT")}


@opcode("fft", "fft_type fft_length", 1)
def fft(step: Step) -> Value:
    kind, length = step.choice("fft_type", _FFTS), int_array(step.ints("fft_length"))
    return step.op(FftOp, [step.value(0)], fft_type=kind, fft_length=length)


@opcode("cholesky", "lower", 1)
def cholesky(step: Step) -> Value:
    return step.op(CholeskyOp, [step.value(0)], lower=bool_attr(step.bool("lower", False)))


_TRANSPOSES = {name: TransposeAttr(Transpose(name)) for name in ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")}


@opcode("triangular-solve", "left_side lower unit_diagonal transpose_a", 2)
def triangular_solve(step: Step) -> Value:
    flags = {name: bool_attr(step.bool(name, False)) for name in ("left_side", "lower", "unit_diagonal")}
    transpose = step.choice("transpose_a", _TRANSPOSES, _TRANSPOSES["NO_TRANSPOSE"])
    return step.op(TriangularSolveOp, step.flat(), **flags, transpose_a=transpose)


_BATCH_NORMS = {
    "batch-norm-training": BatchNormTrainingOp,
    "batch-norm-inference": BatchNormInferenceOp,
    "batch-norm-grad": BatchNormGradOp,
}


@opcode(" ".join(_BATCH_NORMS), "epsilon feature_index")
def batch_norm(step: Step) -> Value:
    epsilon = FloatAttr(step.attribute("epsilon", read_float), f32)
    index = int_attr(step.int("feature_index"))
    return step.op(_BATCH_NORMS[step.instruction.opcode], step.flat(), epsilon=epsilon, feature_index=index)
