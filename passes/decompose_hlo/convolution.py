"""Simplify convolutions: padding, dilation and reversal become separate operations."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence
from functools import partial

import numpy as np
from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute, Operation, SSAValue

from ...hlo_dialect.attributes import int_array
from ...hlo_dialect.expressions.tensor import Builder, Tensor, concatenate
from ...hlo_dialect.numbers.number_semantics import is_short_float
from ...hlo_dialect.op import replace_op
from ...hlo_dialect.ops.convolution import ConvolutionOp, DynamicConvOp
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.syntax.convolution import ConvDimensionNumbersAttr, Dimensions
from ...hlo_dialect.types import (
    HloTensor,
    bf16,
    dense_constant,
    element_of,
    f32,
    make_tensor,
    numpy_dtype,
    shape_of,
    tensor_type,
)
from .pairs import has_pairs
from .patches import digits_of, is_product, product_of_patches
from .phases import Phase, SumsOfTaps, is_depthwise, phases_of, sums_of_taps
from .subpixels import Along, Dimension, by_features, dimensions_of
from .transform import bfloat_dot_decompositions, decompositions, short_float_decompositions

LARGE = 1 << 18
"""Least number of multiplications of a convolution for which extra operations around it pay off."""

FEWER = 5
"""Phases of a convolution with more features, on average, that make up for a copy which puts them side by side."""

LEAST_ODD = 3
"""Fewest features, of an odd number, for which a further one of zeros pays off."""

LEAST_FEATURES = 8
"""Least number of output features in a row for which making them contiguous in memory pays off."""

MOST_IN_ROWS = 16
"""Most output features of a group whose filters' gradients are summed along rows of both images as they lie."""

VECTOR = 16
"""Elements of a vector of f32 on most CPUs of today."""


def _is_short_float(value: SSAValue) -> bool:
    dtype = numpy_dtype(element_of(value))
    return dtype is not None and is_short_float(dtype)


def _is_short(op: ConvolutionOp) -> bool:
    return _is_short_float(op.lhs)


def _lacks_pairs(op: ConvolutionOp) -> bool:
    """Whether a convolution of short floats is none whose elements are multiplied in pairs of bf16."""
    return _is_short(op) and not has_pairs(op, shape_of(op.rhs)[op.dimension_numbers.kernel.batch])


def _convolution_in_pairs(op: ConvolutionOp) -> Sequence[Operation]:
    """
    Likewise for targets that multiply pairs of bf16, which a convolution of an odd number of features gets by a further
    one of zeros.
    """
    numbers = op.dimension_numbers
    summed = shape_of(op.rhs)[numbers.kernel.batch]
    large = all(is_static(shape_of(value)) for value in (*op.operands, *op.results)) and _multiplications(op) >= LARGE
    odd = summed >= LEAST_ODD and summed % 2 == 1
    if not large or not odd or has_pairs(op, summed) or not has_pairs(op, summed + 1):
        return _convolution(op, _lacks_pairs)
    builder = Builder()
    lhs, rhs = builder.tensors([op.lhs, op.rhs])
    zero = _zeros(builder, make_tensor((), bf16))

    def even(x: Tensor, feature: int) -> Tensor:
        return x.pad(zero, [0] * len(x.shape), [int(dim == feature) for dim in range(len(x.shape))])

    return builder.replace(op, _changed(op, even(lhs, numbers.lhs.feature), even(rhs, numbers.kernel.batch)))


def _convolution(op: ConvolutionOp, widens: Callable[[ConvolutionOp], bool] = _is_short) -> Sequence[Operation]:
    """
    Before: `convolution(%x, %w) .. window = {stride = [2], pad = [[1, 1]], reverse = [true]}`
    After:  `%0 = pad %x, %zero, low = [0, 1, 0], ..`, `%1 = reverse %w, dims = [0]`, `convolution(%0, %1) ..`

    A convolution without elements becomes zeros. A large one of f16/bf16 is converted to f32 if `widens` says so; the
    target multiplies others directly. Other rewrites of large ones: `_with_neighbouring_features`, `_in_parts`; one
    whose windows are larger than its input: `_exchanged`.
    """
    if not all(is_static(shape_of(value)) for value in (*op.operands, *op.results)):
        return ()
    builder = Builder()
    lhs, rhs = builder.tensors([op.lhs, op.rhs])
    if 0 in (*shape_of(op.result), *shape_of(op.lhs), *shape_of(op.rhs)):
        result = _zeros(builder, tensor_type(op.result))
    elif any(op.reversal):
        dims = [dim for dim, reverse in zip(op.dimension_numbers.kernel.spatial, op.reversal, strict=True) if reverse]
        result = _changed(op, lhs, rhs.reverse(dims), window_reversal=None)
    elif _multiplications(op) >= LARGE and (digits := digits_of(op)) is not None:
        zero = _zeros(builder, make_tensor((), element_of(op.lhs)))
        result = product_of_patches(op, lhs, rhs, digits, zero)
    elif _is_input_smaller(op):
        result = _exchanged(op, lhs, rhs)
    elif _multiplications(op) >= LARGE and widens(op):
        wide = _changed(op, lhs.convert(f32), rhs.convert(f32), make_tensor(shape_of(op.result), _wide_result(op)))
        result = wide.convert(element_of(op.result))
    elif _multiplications(op) >= LARGE and (moved := _with_neighbouring_features(op, lhs, rhs)) is not None:
        result = moved
    elif _multiplications(op) >= LARGE and (parts := _in_parts(op, lhs, rhs)) is not None:
        result = parts
    elif op.window.is_padded:
        result = _changed(op, _padded(lhs, *op.lhs_padding), rhs, padding=None, lhs_dilation=None)
    else:
        return ()
    return builder.replace(op, result)


def _wide_result(op: ConvolutionOp) -> Attribute:
    """The accumulator type for f16/bf16 products. Operands are converted once because they are read many times."""
    return f32 if _is_short_float(op.result) else element_of(op.result)


def _multiplications(op: ConvolutionOp) -> int:
    taps = shape_of(op.rhs)
    return math.prod(shape_of(op.result)) * math.prod(taps) // max(1, taps[op.dimension_numbers.kernel.feature])


def _zeros(builder: Builder, type_: HloTensor) -> Tensor:
    return builder.constant(np.zeros(1, numpy_dtype(type_.element_type)), type_)


def _padded(lhs: Tensor, low: Sequence[int], high: Sequence[int], interior: Sequence[int]) -> Tensor:
    """The tensor with zeros around and between its elements; without its edges where amounts are negative."""
    if max(*low, *high, *interior) <= 0:
        return _sliced(lhs, [range(-x, size + y) for x, size, y in zip(low, lhs.shape, high, strict=True)])
    zero = _zeros(lhs.builder, make_tensor((), lhs.element))
    return lhs.pad(zero, low, high, interior)


def _changed(
    op: ConvolutionOp,
    lhs: Tensor,
    rhs: Tensor,
    type_: HloTensor | None = None,
    **properties: Attribute | None,
) -> Tensor:
    """The convolution with new operands and changed properties; None removes a property."""
    merged = {name: value for name, value in {**op.properties, **properties}.items() if value is not None}
    new = ConvolutionOp.create(
        operands=[lhs.value, rhs.value],
        result_types=[type_ or op.result.type],
        properties=merged,
        attributes=op.attributes,
        location=op.location,
    )
    return lhs.builder.add(new)


# -- windows larger than the input -----------------------------------------------------------------


def _is_input_smaller(op: ConvolutionOp) -> bool:
    """Whether fewer multiplications remain if the input slides over the kernel."""
    numbers, lhs, rhs = op.dimension_numbers, shape_of(op.lhs), shape_of(op.rhs)
    if op.feature_groups != 1 or op.batch_groups != 1:
        return False
    size = math.prod(lhs[dim] for dim in numbers.lhs.spatial)
    # A dilated input has its own rewrites, which skip the zeros between its elements.
    taps = op.window.size // math.prod(op.window.base_dilations)
    images, features = lhs[numbers.lhs.batch], rhs[numbers.kernel.feature]
    return size < taps and size * features * _in_vectors(images) < taps * images * _in_vectors(features)


def _in_vectors(features: int) -> int:
    """The output features that a kernel computes, which fills vectors."""
    return -(-features // VECTOR) * VECTOR


def _exchanged(op: ConvolutionOp, lhs: Tensor, rhs: Tensor) -> Tensor:
    """
    The convolution of the reversed kernel with the reversed input, which takes the place of the kernel.

    Windows larger than the input mostly hold padding: so in a gradient of the gradient with respect to a kernel.

    Before: `convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[5, 5]]}` of 3 elements
            and 6 taps
    After:  `convolution(%rw, %rx) dim_numbers = [0, f, b]x[o, 0, i]->[f, 0, b], window = {pad = [[2, 2]]}` of 6
            elements and 3 taps, where `%rw` and `%rx` are reversed
    """
    numbers, window = op.dimension_numbers, op.window
    x, w, out = numbers.lhs, numbers.kernel, numbers.output
    padding: list[tuple[int, int]] = []
    for dim, place in enumerate(x.spatial):
        reach = (lhs.shape[place] - 1) * window.base_dilations[dim]
        more = reach - (window.dimensions[dim] - 1) * window.dilations[dim]
        padding.append((window.low[dim] + more, window.high[dim] + more))
    levels = op.precision_config
    return _changed(
        op,
        rhs.reverse(w.spatial),
        lhs.reverse(x.spatial),
        dimension_numbers=ConvDimensionNumbersAttr.of(
            Dimensions(w.feature, w.batch, w.spatial),
            Dimensions(x.feature, x.batch, x.spatial),
            Dimensions(out.feature, out.batch, out.spatial),
        ),
        padding=dense_constant(np.array(padding, np.int64)),
        lhs_dilation=op.rhs_dilation,
        rhs_dilation=op.lhs_dilation,
        precision_config=None if levels is None else ArrayAttr(levels.data[::-1]),
    )


# -- layout ----------------------------------------------------------------------------------------


def _with_neighbouring_features(op: ConvolutionOp, lhs: Tensor, rhs: Tensor) -> Tensor | None:
    """
    The convolution with the result's features innermost, and the input's features or batch; None if they already are.

    Before: `convolution(%x, %w) dim_numbers = [b, f, 0, 1]x..->[b, f, 0, 1]`
    After:  `%0 = transpose %x`, `%1 = convolution(%0, %w) dim_numbers = [b, 0, 1, f]x..->[b, 0, 1, f]`, `transpose %1`

    Vector lanes then hold the result's features, and the elements of a window are read contiguously.
    """
    numbers = op.dimension_numbers
    groups = op.feature_groups * op.batch_groups
    features = shape_of(op.rhs)[numbers.kernel.feature]
    # The features of a group of few fill vectors together with those of other groups.
    together = features if 1 < op.feature_groups < features or op.batch_groups > 1 else features // groups
    rank = len(numbers.lhs.all)
    if together < LEAST_FEATURES or not numbers.lhs.spatial or _sums_along_rows(op) or is_product(op):
        return None
    inner = rank - 1 if rank - 1 not in numbers.lhs.spatial else max(numbers.lhs.batch, numbers.lhs.feature)
    to_lhs, to_out = _to_the_end(inner, rank), _to_the_end(numbers.output.feature, rank)
    if inner == numbers.lhs.batch and to_out != list(range(rank)):
        # The dimension next to the features in the input is next to them in the result.
        to_out.remove(numbers.output.batch)
        to_out.insert(rank - 2, numbers.output.batch)
    if to_lhs == to_out == list(range(rank)):
        return None
    new_numbers = ConvDimensionNumbersAttr.of(
        _renumbered(numbers.lhs, to_lhs), numbers.kernel, _renumbered(numbers.output, to_out)
    )
    shape = shape_of(op.result)
    type_ = make_tensor(tuple(shape[dim] for dim in to_out), element_of(op.result))
    result = _changed(op, lhs.transpose(to_lhs), rhs, type_, dimension_numbers=new_numbers)
    return result.transpose([to_out.index(dim) for dim in range(rank)])


def _sums_along_rows(op: ConvolutionOp) -> bool:
    """
    Whether a convolution is the gradient of the filters of groups of few features, channels first: its window is a
    whole image, and both factors have rows in memory, along which vectors are summed without moving either.
    """
    numbers, groups = op.dimension_numbers, op.batch_groups
    last = len(numbers.lhs.all) - 1
    in_rows = last in numbers.lhs.spatial and last in numbers.kernel.spatial
    return in_rows and groups > 1 and shape_of(op.rhs)[numbers.kernel.feature] <= groups * MOST_IN_ROWS


def _to_the_end(dim: int, rank: int) -> list[int]:
    """The permutation that moves a dimension after the others."""
    return [*(other for other in range(rank) if other != dim), dim]


def _renumbered(dims: Dimensions, permutation: Sequence[int]) -> Dimensions:
    return Dimensions(
        permutation.index(dims.batch),
        permutation.index(dims.feature),
        tuple(permutation.index(dim) for dim in dims.spatial),
    )


# -- phases of a dilated input ---------------------------------------------------------------------


def _in_parts(op: ConvolutionOp, lhs: Tensor, rhs: Tensor) -> Tensor | None:
    """Convolutions of the undilated input, one for each phase, or fewer with phases as features; None for neither."""
    phases, blocks = phases_of(op), dimensions_of(op)
    sums = None if phases is None else sums_of_taps(op, lhs, rhs, phases)
    if phases is not None and (sums is not None or blocks is None):
        return _by_phases(op, lhs, rhs, phases, sums)
    if blocks is None:
        return None
    cropped = any(
        dim.places != shape_of(op.result)[place]
        for dim, place in zip(blocks, op.dimension_numbers.output.spatial, strict=True)
    )
    if phases is None or (is_depthwise(op) and not cropped):
        return _by_features(op, lhs, rhs, blocks)
    fewer = math.prod(map(len, phases)) >= FEWER * math.prod(len(dim.parts) for dim in blocks)
    return _by_features(op, lhs, rhs, blocks) if fewer else _by_phases(op, lhs, rhs, phases, None)


def _by_phases(
    op: ConvolutionOp, lhs: Tensor, rhs: Tensor, phases: list[list[Phase]], sums: SumsOfTaps | None
) -> Tensor:
    """
    Split a convolution of a dilated input into phases that skip the zeros: for dilation 2, the even results convolve
    the undilated input with every other kernel element, the odd results with the remaining ones.

    Before: `%0 = convolution(%x, %w) .. window = {lhs_dilate = [2]}`
    After:  `%1 = slice %w [0:3:2]`, `%2 = slice %w [1:3:2]`, the convolutions with both, stacked and reshaped

    With `sums` the phases are sums of products instead, which one kernel computes and interleaves.

    Where only one phase has kernel elements, as with windows of one element, its results stand between zeros.
    """
    numbers, builder = op.dimension_numbers, lhs.builder
    out = list(shape_of(op.result))
    element = element_of(op.result)
    counts = [-(-out[dim] // len(of_dim)) for dim, of_dim in zip(numbers.output.spatial, phases, strict=True)]
    shape = list(out)
    for dim, count in zip(numbers.output.spatial, counts, strict=True):
        shape[dim] = count
    type_ = make_tensor(tuple(shape), element)

    def part(chosen: Sequence[Phase]) -> Tensor:
        if not all(phase.taps for phase in chosen):
            return _zeros(builder, type_)
        if sums is not None:
            return sums(type_, chosen)
        return _changed(
            op,
            lhs,
            _taps(rhs, numbers.kernel.spatial, [phase.taps for phase in chosen]),
            type_,
            window_strides=int_array([phase.stride for phase in chosen]),
            padding=dense_constant(np.array([[phase.low, phase.high] for phase in chosen], np.int64)),
            lhs_dilation=None,
            rhs_dilation=int_array([phase.dilation for phase in chosen]),
        )

    # Where only one phase is not zero, it is computed alone.
    taken = [filled if len(filled := [phase for phase in of_dim if phase.taps]) == 1 else of_dim for of_dim in phases]
    several = {dim: len(some) for dim, some in zip(numbers.output.spatial, taken, strict=True) if len(some) > 1}
    apart, places = _with_phases(shape, several)

    def joined(dim: int, chosen: tuple[Phase, ...]) -> Tensor:
        """
        The results of all phases of the dimensions from `dim` on, side by side in a dimension after each: one
        concatenation of the others, which is one kernel, and whose reshape interleaves them.
        """
        if dim == len(phases):
            return part(chosen).reshape(apart)
        parts = [joined(dim + 1, (*chosen, phase)) for phase in taken[dim]]
        return parts[0] if len(parts) == 1 else concatenate(parts, places[numbers.output.spatial[dim]])

    interleaved = joined(0, ()).reshape([size * several.get(dim, 1) for dim, size in enumerate(shape)])
    whole = _between_zeros(interleaved, numbers.output.spatial, phases)
    return _sliced(whole, [range(size) for size in out])


def _by_features(op: ConvolutionOp, lhs: Tensor, rhs: Tensor, blocks: list[Dimension]) -> Tensor:
    """The convolution with phases as features; see subpixels.py."""

    def made(filters: Tensor, type_: HloTensor, chosen: Sequence[Along]) -> Tensor:
        return _changed(
            op,
            lhs,
            filters,
            type_,
            window_strides=int_array([along.stride for along in chosen]),
            padding=dense_constant(np.array([[along.low, along.high] for along in chosen], np.int64)),
            lhs_dilation=None,
            rhs_dilation=int_array([along.spread for along in chosen]),
        )

    zero = _zeros(lhs.builder, make_tensor((), element_of(op.result)))
    return by_features(op, rhs, blocks, made, zero)


def _taps(rhs: Tensor, dims: Sequence[int], taps: Sequence[range]) -> Tensor:
    """The given elements of the kernel."""
    ranges = [range(size) for size in rhs.shape]
    for dim, kept in zip(dims, taps, strict=True):
        ranges[dim] = kept
    return _sliced(rhs, ranges)


def _sliced(x: Tensor, ranges: Sequence[range]) -> Tensor:
    if tuple(map(len, ranges)) == x.shape:
        return x
    return x.slice([kept.start for kept in ranges], [kept[-1] + 1 for kept in ranges], [kept.step for kept in ranges])


def _with_phases(shape: Sequence[int], several: Container[int]) -> tuple[list[int], dict[int, int]]:
    """A shape with a dimension of one after each dimension that has several phases, and the places of those."""
    found: list[int] = []
    places: dict[int, int] = {}
    for dim, size in enumerate(shape):
        found.append(size)
        if dim in several:
            places[dim] = len(found)
            found.append(1)
    return found, places


def _between_zeros(part: Tensor, dims: Sequence[int], phases: Sequence[Sequence[Phase]]) -> Tensor:
    """The results with zeros in place of the other phases, along each dimension where only one has kernel elements."""
    low, high, interior = ([0] * len(part.shape) for _ in range(3))
    for dim, of_dim in zip(dims, phases, strict=True):
        filled = [number for number, phase in enumerate(of_dim) if phase.taps]
        if len(filled) == 1:
            low[dim], high[dim], interior[dim] = filled[0], len(of_dim) - 1 - filled[0], len(of_dim) - 1
    return _padded(part, low, high, interior)


@decompositions.on(DynamicConvOp)
def _dynamic_conv(op: DynamicConvOp) -> Sequence[Operation]:
    """A dynamic_conv with constant padding becomes a convolution."""
    new = op.of_constant_padding()
    if new is None:
        return ()
    new.verify_()
    replace_op(op, [new], new.results)
    return [new]


decompositions.add({ConvolutionOp: _convolution})
short_float_decompositions.add({ConvolutionOp: partial(_convolution, widens=lambda _: False)})
bfloat_dot_decompositions.add({ConvolutionOp: _convolution_in_pairs})
