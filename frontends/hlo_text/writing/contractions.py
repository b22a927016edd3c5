"""Products, convolutions, transforms, linear algebra and random numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....hlo_dialect.attributes import ints
from ....hlo_dialect.chlo.ragged_dot import RaggedDotOp
from ....hlo_dialect.chlo.structural import TopKOp
from ....hlo_dialect.ops.algorithms.fourier import FftOp
from ....hlo_dialect.ops.algorithms.linear_algebra import CholeskyOp, TriangularSolveOp
from ....hlo_dialect.ops.algorithms.normalization import BatchNormGradOp, BatchNormInferenceOp, BatchNormTrainingOp
from ....hlo_dialect.ops.algorithms.random import RngBitGeneratorOp, RngOp
from ....hlo_dialect.ops.contraction import DotGeneralOp
from ....hlo_dialect.ops.convolution import ConvolutionOp
from ....hlo_dialect.ops.older_contractions import DotOp
from ....hlo_dialect.syntax.convolution import ConvDimensionNumbersAttr, Dimensions
from ....hlo_dialect.types import constant_array, shape_of
from .lines import Lines
from .rules import writers
from .values import braced, opcode_of


def _precision(op: Any) -> str:
    config = op.properties.get("precision_config")
    levels = [] if config is None else [level.data.value.lower() for level in config.data]
    return f"operand_precision={{{','.join(levels)}}}" if any(level != "default" for level in levels) else ""


def _dot_numbers(numbers: Any) -> list[str]:
    lists = {
        "lhs_batch_dims": numbers.lhs_batching,
        "lhs_contracting_dims": numbers.lhs_contracting,
        "rhs_batch_dims": numbers.rhs_batching,
        "rhs_contracting_dims": numbers.rhs_contracting,
    }
    return [f"{name}={braced(dims)}" for name, dims in lists.items() if dims or "contracting" in name]


@writers.on(DotGeneralOp)
def _dot_general(lines: Lines, op: Any) -> None:
    lines.define(op, "dot", *_dot_numbers(op.dot_dimension_numbers), _precision(op), _algorithm(op.algorithm))


def _algorithm(algorithm: Any) -> str:
    if algorithm is None:
        return ""
    types = [str(algorithm.lhs_precision_type), str(algorithm.rhs_precision_type)]
    pair = "any_f8_any_f8" if all(name.startswith("f8") for name in types) else "_".join(types)
    count = algorithm.num_primitive_operations.value.data
    ending = f"_x{count}" if count > 1 else "_fast_accum" if algorithm.is_imprecise else ""
    return f"algorithm=dot_{pair}_{algorithm.accumulation_type}{ending}"


@writers.on(DotOp)
def _dot(lines: Lines, op: Any) -> None:
    last = len(shape_of(op.operands[0])) - 1
    lines.define(op, "dot", f"lhs_contracting_dims={{{last}}}", "rhs_contracting_dims={0}", _precision(op))


@writers.on(RaggedDotOp)
def _ragged_dot(lines: Lines, op: Any) -> None:
    numbers = op.ragged_dot_dimension_numbers
    groups = [
        f"lhs_ragged_dims={braced(ints(numbers.lhs_ragged_dimensions))}",
        f"rhs_group_dims={braced(ints(numbers.rhs_group_dimensions))}",
    ]
    lines.define(op, "ragged-dot", *_dot_numbers(numbers.dot), *groups, _precision(op))


def window_text(
    sizes: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[Sequence[int]],
    base: Sequence[int],
    window: Sequence[int],
    reversal: Sequence[int] = (),
) -> str:
    """`window={size=2x2 stride=1x2}`, without the entries that say nothing; empty without dimensions."""

    def entry(name: str, values: Sequence[int], default: int) -> str:
        return f" {name}={'x'.join(map(str, values))}" if any(value != default for value in values) else ""

    if not sizes:
        return ""
    pads = "x".join(f"{low}_{high}" for low, high in padding)
    pad = f" pad={pads}" if any(number for pair in padding for number in pair) else ""
    dilations = entry("lhs_dilate", base, 1) + entry("rhs_dilate", window, 1)
    return (
        f"window={{size={'x'.join(map(str, sizes))}{entry('stride', strides, 1)}{pad}{dilations}"
        f"{entry('rhs_reversal', reversal, 0)}}}"
    )


def listed_or(attribute: Any, rank: int) -> Sequence[int]:
    """The entries of a list of integers that is all ones where it is left out."""
    return (1,) * rank if attribute is None else ints(attribute)


def padding_of(op: Any, rank: int) -> list[list[int]]:
    """The padding of each dimension; none where it is left out."""
    given = op.properties.get("padding")
    return [[0, 0]] * rank if given is None else constant_array(given).reshape(rank, 2).tolist()


@writers.on(ConvolutionOp)
def _convolution(lines: Lines, op: Any) -> None:
    numbers: ConvDimensionNumbersAttr = op.dimension_numbers
    kernel: tuple[int, ...] = shape_of(op.operands[1])
    rank: int = len(numbers.lhs.spatial)
    window = window_text(
        [kernel[dim] for dim in numbers.kernel.spatial],
        listed_or(op.window_strides, rank),
        padding_of(op, rank),
        listed_or(op.lhs_dilation, rank),
        listed_or(op.rhs_dilation, rank),
        [int(flag) for flag in op.reversal],
    )
    labels = f"{_labels(numbers.lhs, 'bf')}_{_labels(numbers.kernel, 'io')}->{_labels(numbers.output, 'bf')}"
    counts = [
        f"{name}={count.value.data}"
        for name in ("feature_group_count", "batch_group_count")
        if (count := op.properties[name]).value.data != 1
    ]
    lines.define(op, "convolution", window, f"dim_labels={labels}", *counts, _precision(op))


def _labels(dims: Dimensions, others: str) -> str:
    labels = {dims.batch: others[0], dims.feature: others[1], **{dim: str(n) for n, dim in enumerate(dims.spatial)}}
    return "".join(labels[dim] for dim in range(len(labels)))


@writers.on(FftOp)
def _fft(lines: Lines, op: Any) -> None:
    lines.define(op, "fft", f"fft_type={op.fft_type.data.value}", f"fft_length={braced(ints(op.fft_length))}")


def _bool(attribute: Any) -> str:
    return "true" if attribute is not None and attribute.value.data else "false"


@writers.on(CholeskyOp)
def _cholesky(lines: Lines, op: Any) -> None:
    lines.define(op, "cholesky", f"lower={_bool(op.properties.get('lower'))}")


@writers.on(TriangularSolveOp)
def _triangular_solve(lines: Lines, op: Any) -> None:
    flags = [f"{name}={_bool(op.properties[name])}" for name in ("left_side", "lower", "unit_diagonal")]
    lines.define(op, "triangular-solve", *flags, f"transpose_a={op.transpose_a.data.value}")


@writers.on(BatchNormTrainingOp, BatchNormInferenceOp, BatchNormGradOp)
def _batch_norm(lines: Lines, op: Any) -> None:
    numbers = [f"epsilon={op.epsilon.value.data!r}", f"feature_index={op.feature_index.value.data}"]
    lines.define(op, opcode_of(op), *numbers)


@writers.on(RngBitGeneratorOp)
def _rng_bit_generator(lines: Lines, op: Any) -> None:
    lines.define(op, "rng-bit-generator", f"algorithm=rng_{op.rng_algorithm.data.value.lower()}")


@writers.on(RngOp)
def _rng(lines: Lines, op: Any) -> None:
    operands = lines.operands(op)[:2]
    lines.define(op, "rng", f"distribution=rng_{op.rng_distribution.data.value.lower()}", operands=operands)


@writers.on(TopKOp)
def _top_k(lines: Lines, op: Any) -> None:
    lines.define(op, "topk", f"k={op.k.value.data}", "largest=true")
