"""Programs on quantized tensors: every operation that takes them, and random products and convolutions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import numpy as np
from xdsl.dialects.func import FuncOp

from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.ops.quantized.types import UniformQuantizedType
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.types import element_of, is_integer, numpy_dtype, shape_of


@dataclass(frozen=True)
class QuantizedProgram:
    """A function `@main` whose arguments are quantized, or of other types."""

    text: str

    def inputs(self, rng: np.random.Generator) -> list[np.ndarray]:
        """Random arguments: any stored integers, indices and predicates 0 or 1, floats around 0."""
        found: list[np.ndarray] = []
        for type_ in argument_types(self.text):
            element, shape = element_of(type_), shape_of(type_)
            if isinstance(element, UniformQuantizedType):
                values = rng.integers(*element.limits, shape, endpoint=True)
            elif is_integer(element):
                values = rng.integers(0, 2, shape)
            else:
                values = rng.normal(0, 3, shape)
            found.append(np.asarray(values).astype(cast(Any, numpy_dtype(element))))
        return found


def argument_types(text: str) -> Sequence[Any]:
    """The types of the parameters of a module's first function."""
    function = next(op for op in parse_module(text, "test.mlir", make_context()).ops if isinstance(op, FuncOp))
    return function.function_type.inputs.data


@cache
def element_type(parameters: str) -> UniformQuantizedType:
    """The type `!quant.uniform<parameters>`."""
    (type_,) = argument_types(f"func.func private @f(tensor<{quant(parameters)}>)")
    return cast(UniformQuantizedType, element_of(type_))


def tensor(shape: Iterable[int], element: str) -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


def quant(parameters: str) -> str:
    return f"!quant.uniform<{parameters}>"


def program(arguments: str, results: Sequence[str], lines: Sequence[str]) -> QuantizedProgram:
    """A function with the results %r0, %r1, .., one for each line, which lacks its left side."""
    body = "\n".join(line if " = " in line[:8] else f"  %r{i} = {line}" for i, line in enumerate(lines))
    values, types = ", ".join(f"%r{i}" for i in range(len(results))), ", ".join(results)
    return QuantizedProgram(f"func.func @main({arguments}) -> ({types}) {{\n{body}\n  return {values} : {types}\n}}")


# -- each operation --------------------------------------------------------------------------------

UNARY = (
    "abs cbrt ceil cosine exponential exponential_minus_one floor log log_plus_one logistic negate round_nearest_afz "
    "round_nearest_even rsqrt sign sine sqrt tan tanh"
).split()
BINARY = "add atan2 divide maximum minimum multiply power remainder subtract".split()
SHAPE = (5, 40)


EXACT = "abs floor negate sqrt round_nearest_even add subtract multiply divide maximum remainder".split()
"""Operations that are the same to the bit everywhere, in any float type."""


def elementwise(parameters: str, step: str, ops: Sequence[str] = (*UNARY, *BINARY)) -> QuantizedProgram:
    """Elementwise operations from a quantized type to that with scale and zero point `step`, and comparisons."""
    result = f"{parameters.partition(',')[0]}, {step}"
    x, r, mask = (tensor(SHAPE, element) for element in (quant(parameters), quant(result), "i1"))
    lines = [f"stablehlo.{op} %x : ({x}) -> {r}" for op in UNARY if op in ops]
    lines += [f"stablehlo.{op} %x, %y : ({x}, {x}) -> {r}" for op in BINARY if op in ops]
    lines += [f"stablehlo.uniform_quantize %x : ({x}) -> {r}", f"stablehlo.compare LE, %x, %y : ({x}, {x}) -> {mask}"]
    lines += [f"stablehlo.is_finite %x : ({x}) -> {mask}"]
    return program(f"%x: {x}, %y: {x}", [r] * (len(lines) - 2) + [mask] * 2, lines)


_COMBINER = """({{
  ^bb0(%a: tensor<{q}>, %b: tensor<{q}>):
    %c = stablehlo.OP %a, %b : tensor<{q}>
    stablehlo.return %c : tensor<{q}>
}})"""
_COMPARATOR = """({{
  ^bb0(%a: tensor<{q}>, %b: tensor<{q}>):
    %c = stablehlo.compare OP, %a, %b : (tensor<{q}>, tensor<{q}>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
}})"""
_SCATTER = (
    "#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
    "index_vector_dim = 1>"
)
_GATHER = (
    "#stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>"
)

STRUCTURAL = (
    "stablehlo.reshape %x : ({X}) -> tensor<2x12x{q}>",
    "stablehlo.transpose %x, dims = [1, 0] : ({X}) -> tensor<6x4x{q}>",
    "stablehlo.slice %x [1:3, 0:6:2] : ({X}) -> tensor<2x3x{q}>",
    "stablehlo.reverse %x, dims = [1] : {X}",
    "stablehlo.broadcast_in_dim %x, dims = [0, 2] : ({X}) -> tensor<4x3x6x{q}>",
    "stablehlo.concatenate %x, %y, dim = 1 : ({X}, {X}) -> tensor<4x12x{q}>",
    "stablehlo.pad %x, %s, low = [1, -1], high = [0, 2], interior = [1, 0] : ({X}, {S}) -> tensor<8x7x{q}>",
    "stablehlo.dynamic_slice %x, %i, %i, sizes = [2, 3] : ({X}, tensor<i32>, tensor<i32>) -> tensor<2x3x{q}>",
    "stablehlo.dynamic_update_slice %x, %y, %i, %i : ({X}, {X}, tensor<i32>, tensor<i32>) -> {X}",
    "stablehlo.select %p, %x, %y : tensor<4x6xi1>, {X}",
    "stablehlo.clamp %x, %y, %x : {X}",
    "stablehlo.bitcast_convert %x : ({X}) -> {X}",
    "stablehlo.optimization_barrier %x : {X}",
    "stablehlo.reduce_precision %x, format = e5m2 : {X}",
    "stablehlo.iota dim = 1 : {X}",
    f'"stablehlo.gather"(%x, %g) <{{{{dimension_numbers = {_GATHER}, slice_sizes = array<i64: 1, 6>}}}}> : '
    "({X}, tensor<3xi32>) -> tensor<3x6x{q}>",
    f'"stablehlo.sort"(%x) {_COMPARATOR.replace("OP", "GT")} {{{{dimension = 1 : i64, is_stable = true}}}} : '
    "({X}) -> {X}",
    "stablehlo.reduce(%x init: %s) applies stablehlo.maximum across dimensions = [1] : ({X}, {S}) -> tensor<4x{q}>",
    f'"stablehlo.reduce_window"(%x, %s) {_COMBINER.replace("OP", "maximum")} {{{{window_dimensions = array<i64: 2, 2>, '
    "window_strides = array<i64: 1, 2>, padding = dense<[[1, 0], [0, 1]]> : tensor<2x2xi64>}} : ({X}, {S}) -> "
    "tensor<4x3x{q}>",
    f'"stablehlo.map"(%x, %y) {_COMBINER.replace("OP", "subtract")} {{{{dimensions = array<i64: 0, 1>}}}} : '
    "({X}, {X}) -> {X}",
    f'"stablehlo.scatter"(%x, %g, %u) {_COMBINER.replace("OP", "minimum")} '
    f"{{{{scatter_dimension_numbers = {_SCATTER}}}}} : ({{X}}, tensor<3xi32>, tensor<3x6x{{q}}>) -> {{X}}",
    f'"stablehlo.select_and_scatter"(%x, %v, %s) ({_COMPARATOR.replace("OP", "GE")[1:-1]}, '
    f"{_COMBINER.replace('OP', 'maximum')[1:-1]}) {{{{window_dimensions = array<i64: 2, 2>, "
    "window_strides = array<i64: 2, 2>}} : ({X}, tensor<2x3x{q}>, {S}) -> {X}",
    '"stablehlo.if"(%d) ({{\n  %c = stablehlo.negate %x : {X}\n  stablehlo.return %c : {X}\n}}, {{\n'
    "  stablehlo.return %y : {X}\n}}) : (tensor<i1>) -> {X}",
    '"stablehlo.case"(%i) ({{\n  stablehlo.return %x : {X}\n}}, {{\n  %c = stablehlo.abs %y : {X}\n'
    "  stablehlo.return %c : {X}\n}}) : (tensor<i32>) -> {X}",
    '"stablehlo.while"(%x) ({{\n^bb0(%a: {X}):\n  %b = stablehlo.slice %a [0:1, 0:1] : ({X}) -> tensor<1x1x{q}>\n'
    "  %c = stablehlo.reshape %b : (tensor<1x1x{q}>) -> {S}\n"
    "  %e = stablehlo.compare LT, %c, %s : ({S}, {S}) -> tensor<i1>\n  stablehlo.return %e : tensor<i1>\n}}, {{\n"
    "^bb0(%a: {X}):\n  %b = stablehlo.broadcast_in_dim %s, dims = [] : ({S}) -> {X}\n"
    "  %c = stablehlo.maximum %a, %b : {X}\n  stablehlo.return %c : {X}\n}}) : ({X}) -> {X}",
)
"""Operations that move, choose or carry elements, on %x and %y: tensor<4x6xq> and values of other types."""


def structural(parameters: str) -> QuantizedProgram:
    """All of `STRUCTURAL` on a quantized type."""
    element = quant(parameters)
    x, scalar = tensor((4, 6), element), tensor((), element)
    arguments = (
        f"%x: {x}, %y: {x}, %s: {scalar}, %i: tensor<i32>, %g: tensor<3xi32>, %p: tensor<4x6xi1>, %d: tensor<i1>, "
        f"%u: {tensor((3, 6), element)}, %v: {tensor((2, 3), element)}"
    )
    lines = [line.format(X=x, S=scalar, q=element) for line in STRUCTURAL]
    return program(arguments, [line[line.rindex("tensor<") :] for line in lines], lines)


# -- products --------------------------------------------------------------------------------------

STORAGE = ("i8", "u8", "i8<-127:127>", "i4", "u4", "i16", "i2")


def random_type(
    rng: np.random.Generator, storage: str, expressed: str, axis: tuple[int, int] | None = None, zeros: bool = True
) -> str:
    """
    A quantized type with random scales, and zero points if wanted; `axis`: a dimension with scales of its own, and its
    size.
    """
    low, high = element_type(f"{storage}:f32, 1.0:1").limits

    def step() -> str:
        point = rng.integers(low, high, endpoint=True) if zeros and rng.random() < 0.7 else 0
        return f"{float(rng.choice([0.5, 0.1, 0.037, 0.0078125])):.4E}:{point}"

    if axis is None:
        return quant(f"{storage}:{expressed}, {step()}")
    return quant(f"{storage}:{expressed}:{axis[0]}, {{{','.join(step() for _ in range(axis[1]))}}}")


def random_dot(rng: np.random.Generator) -> QuantizedProgram:
    """A dot_general whose dimensions are in any order; scales per column or batch; some with a float lhs."""
    expressed = str(rng.choice(["f32", "f32", "f16", "bf16", "f64"]))
    sizes = dict(zip("bmnk", (int(size) for size in rng.integers(1, [3, 9, 9, 20])), strict=True))
    lhs_dims, rhs_dims = ("".join(rng.permutation(list(dims))) for dims in ("bmk", "bnk"))
    along = str(rng.choice(["", "n", "b"], p=[0.6, 0.3, 0.1]))
    axis, out_axis = ((dims.index(along), sizes[along]) if along else None for dims in (rhs_dims, "bmn"))
    storage = str(rng.choice(STORAGE))
    lhs, rhs = random_type(rng, storage, expressed), random_type(rng, storage, expressed, axis, zeros=False)
    storage = str(rng.choice(["i8", "i32", "u8", "i16"]))
    result = random_type(rng, storage, expressed, out_axis if rng.random() < 0.7 else None)
    if rng.random() < 0.15:
        lhs = result = expressed
    types = (("%x", lhs_dims, lhs), ("%y", rhs_dims, rhs), ("", "bmn", result))
    x, y, r = (tensor((sizes[dim] for dim in dims), element) for _, dims, element in types)
    places = [f"[{lhs_dims.index(dim)}] x [{rhs_dims.index(dim)}]" for dim in "bk"]
    line = f"batching_dims = {places[0]}, contracting_dims = {places[1]} : ({x}, {y}) -> {r}"
    return program(f"%x: {x}, %y: {y}", [r], [f"stablehlo.dot_general %x, %y, {line}"])


def random_convolution(rng: np.random.Generator) -> QuantizedProgram:
    """A convolution with padding (also negative), dilations, strides, reversal, groups and scales per feature."""
    expressed = str(rng.choice(["f32", "f32", "f16", "f64"]))
    rank = int(rng.integers(1, 3))
    sizes, taps, strides, base, dilations = (
        rng.integers(*ends, rank) for ends in ((4, 8), (1, 4), (1, 3), (1, 3), (1, 3))
    )
    pads, reverse = rng.integers(-1, 3, (rank, 2)), [str(flag).lower() for flag in rng.random(rank) < 0.3]
    features, batches = ((1, 1), (1, 1), (2, 1), (1, 2))[rng.integers(4)]
    batch, inner, outer = (int(size) for size in rng.integers(1, 4, 3))
    counts = ((sizes - 1) * base + pads.sum(1) - (taps - 1) * dilations) // strides + 1
    axis = (rank + 1, outer * features * batches) if rng.random() < 0.5 else None
    storage = str(rng.choice(STORAGE))
    lhs, rhs = random_type(rng, storage, expressed), random_type(rng, storage, expressed, axis)
    result = random_type(rng, str(rng.choice(["i8", "i32", "u8"])), expressed, axis if rng.random() < 0.5 else None)
    if rng.random() < 0.15:
        lhs = result = expressed
    x = tensor((batch * batches, *sizes, inner * features), lhs)
    y = tensor((*taps, inner, outer * features * batches), rhs)
    r = tensor((batch, *np.maximum(counts, 0), outer * features * batches), result)
    spatial = ", ".join(map(str, range(rank)))
    window = (
        f"stride = {strides.tolist()}, pad = {pads.tolist()}, lhs_dilate = {base.tolist()}, "
        f"rhs_dilate = {dilations.tolist()}, reverse = [{', '.join(reverse)}]"
    )
    line = (
        f"dim_numbers = [b, {spatial}, f]x[{spatial}, i, o]->[b, {spatial}, f], window = {{{window}}} "
        f"{{batch_group_count = {batches} : i64, feature_group_count = {features} : i64}} : ({x}, {y}) -> {r}"
    )
    return program(f"%x: {x}, %y: {y}", [r], [f"stablehlo.convolution(%x, %y) {line}"])
