"""convert-hlo-to-linalg and fuse-linalg against the reference semantics of hlo, at the edges of every operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from linalg_programs import check, element, kernel, numbered, reducer, tensor

BF16 = ml_dtypes.bfloat16
SIGNED = (np.int8, np.int16, np.int32, np.int64)
UNSIGNED = (np.uint8, np.uint16, np.uint32, np.uint64)
INTEGERS = (*SIGNED, *UNSIGNED)
FLOATS = (BF16, np.float16, np.float32, np.float64)
NAMES = {np.dtype(d): np.dtype(d).name for d in (*INTEGERS, *FLOATS, np.bool_)}


def edges(dtype: Any) -> Any:
    """Values at the ends of a type's range, around zero, and between."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        width = 8 * dtype.itemsize
        some = [0, 1, 2, 3, 5, 7, 100, width - 1, width, info.max, info.max - 1, info.max // 2, info.min, info.min + 1]
        return np.array(sorted({*some, *(-v for v in (1, 2, 3, 8) if info.min < 0)}), dtype)
    info = ml_dtypes.finfo(dtype)
    some = [0.0, 1.0, 0.5, 1.5, 2.5, 0.1, 3.0, 0.75, 7.3, 100.0, 1e-3, np.inf, 3.5, 0.499999]
    some += [float(info.max), float(info.tiny), float(info.smallest_subnormal), float(info.tiny) * 1.5]
    some += [127.0, 128.0, 255.5, 256.0, 32768.0, 2.0**31, 2.0**32, 2.0**63, 2.0**64]
    with np.errstate(over="ignore"):
        return np.array([*some, *(-v for v in some), np.nan]).astype(dtype)


def pairs(dtype: Any, count: int = 2) -> list[Any]:
    return [grid.reshape(-1) for grid in np.meshgrid(*[edges(dtype)] * count)]


# -- elementwise ---------------------------------------------------------------------------------------

UNARY = {
    "abs": (*SIGNED, *FLOATS),
    "cbrt": FLOATS,
    "ceil": FLOATS,
    "cosine": FLOATS,
    "count_leading_zeros": INTEGERS,
    "exponential": FLOATS,
    "exponential_minus_one": FLOATS,
    "floor": FLOATS,
    "is_finite": FLOATS,
    "log": FLOATS,
    "log_plus_one": FLOATS,
    "logistic": FLOATS,
    "negate": (*INTEGERS, *FLOATS),
    "not": (np.bool_, *INTEGERS),
    "popcnt": INTEGERS,
    "round_nearest_afz": FLOATS,
    "round_nearest_even": FLOATS,
    "rsqrt": FLOATS,
    "sign": (*SIGNED, *FLOATS),
    "sine": FLOATS,
    "sqrt": FLOATS,
    "tan": FLOATS,
    "tanh": FLOATS,
}
BINARY = {
    "add": (np.bool_, *INTEGERS, *FLOATS),
    "and": (np.bool_, *INTEGERS),
    "atan2": FLOATS,
    "divide": (*INTEGERS, *FLOATS),
    "maximum": (np.bool_, *INTEGERS, *FLOATS),
    "minimum": (np.bool_, *INTEGERS, *FLOATS),
    "multiply": (np.bool_, *INTEGERS, *FLOATS),
    "or": (np.bool_, *INTEGERS),
    "power": (*INTEGERS, *FLOATS),
    "remainder": (*INTEGERS, *FLOATS),
    "shift_left": INTEGERS,
    "shift_right_arithmetic": INTEGERS,
    "shift_right_logical": INTEGERS,
    "subtract": (*INTEGERS, *FLOATS),
    "xor": (np.bool_, *INTEGERS),
}
INEXACT = {"cbrt", "cosine", "exponential", "exponential_minus_one", "log", "log_plus_one", "logistic", "rsqrt"}
INEXACT |= {"sine", "tan", "tanh", "atan2", "power"}


def cases(table: dict[str, Sequence[Any]]) -> list[Any]:
    return [pytest.param(n, d, id=f"{n}-{NAMES[np.dtype(d)]}") for n, dtypes in table.items() for d in dtypes]


def elementwise(name: str, arrays: Sequence[Any], result: Any, attributes: str = "") -> str:
    types = [tensor(array.shape, array.dtype) for array in arrays]
    names = ", ".join(f"%a{i}" for i in range(len(arrays)))
    shape = max((array.shape for array in arrays), key=len)
    out = tensor(shape, result)
    return kernel(f'  %r = "hlo.{name}"({names}) {attributes} : ({", ".join(types)}) -> {out}', types, [out])


@pytest.mark.long(12)
@pytest.mark.parametrize(("name", "dtype"), cases(UNARY))
def test_unary(name: str, dtype: Any) -> None:
    x = edges(dtype)
    result = np.bool_ if name == "is_finite" else dtype
    check(elementwise(name, [x], result), x, ulps=2 if name in INEXACT else 0, generics=1)


@pytest.mark.long(12)
@pytest.mark.parametrize(("name", "dtype"), cases(BINARY))
def test_binary(name: str, dtype: Any) -> None:
    x, y = pairs(dtype)
    check(elementwise(name, [x, y], dtype), x, y, ulps=2 if name in INEXACT else 0, generics=1)


@pytest.mark.long(5)
@pytest.mark.parametrize("direction", ["EQ", "NE", "LT", "LE", "GT", "GE"])
@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint64, *FLOATS], ids=element)
def test_compare(direction: str, dtype: Any) -> None:
    x, y = pairs(dtype)
    kinds = ["FLOAT", "TOTALORDER"] if x.dtype.kind in "fV" or dtype is BF16 else [""]
    for kind in kinds:
        attributes = f"comparison_direction = #stablehlo<comparison_direction {direction}>"
        if kind:
            attributes += f", compare_type = #stablehlo<comparison_type {kind}>"
        check(elementwise("compare", [x, y], np.bool_, f"{{{attributes}}}"), x, y, generics=1)


@pytest.mark.parametrize("dtype", [np.bool_, np.int32, np.uint8, BF16, np.float32], ids=element)
def test_select_and_clamp(dtype: Any) -> None:
    x, y = pairs(dtype)
    mask = np.arange(x.size) % 3 == 0
    check(elementwise("select", [mask, x, y], dtype), mask, x, y, generics=1)
    check(elementwise("select", [mask[0], x, y], dtype), mask[0], x, y, generics=1)
    if dtype is not np.bool_:
        low, high = np.asarray(1, dtype), np.asarray(5, dtype)
        check(elementwise("clamp", [low, x, high], dtype), low, x, high, generics=1)
        check(elementwise("clamp", [x, y, x], dtype), x, y, x, generics=1)


@pytest.mark.long(4)
@pytest.mark.parametrize("source", [np.bool_, *INTEGERS, *FLOATS], ids=element)
@pytest.mark.parametrize("target", [np.bool_, *INTEGERS, *FLOATS], ids=element)
def test_convert(source: Any, target: Any) -> None:
    x = edges(source)
    rng = np.random.default_rng(7)
    if np.dtype(source) != bool:
        x = np.concatenate([x, rng.integers(0, 256, 200 * x.itemsize, dtype=np.uint8).view(source)])
    check(elementwise("convert", [x], target), x)


@pytest.mark.parametrize(("source", "target"), [(np.float32, np.uint32), (np.int16, BF16), (np.float16, np.int16)])
def test_bitcast_convert(source: Any, target: Any) -> None:
    x = edges(source)
    check(elementwise("bitcast_convert", [x], target), x)


@pytest.mark.long(3)
@pytest.mark.parametrize("dtype", FLOATS, ids=element)
@pytest.mark.parametrize("bits", [(8, 7), (5, 10), (4, 3), (1, 0), (11, 52), (5, 2)])
def test_reduce_precision(dtype: Any, bits: tuple[int, int]) -> None:
    with np.errstate(over="ignore"):
        x = np.concatenate([edges(dtype), np.linspace(-70000, 70000, 301).astype(dtype)])
    attributes = f"{{exponent_bits = {bits[0]} : i32, mantissa_bits = {bits[1]} : i32}}"
    check(elementwise("reduce_precision", [x], dtype, attributes), x)


# -- creation and movement -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS], ids=element)
def test_iota_and_constant(dtype: Any) -> None:
    type_ = tensor((3, 300), dtype)
    body = f"""
  %i = "hlo.iota"() {{iota_dimension = 1 : i64}} : () -> {type_}
  %c = "hlo.constant"() {{value = dense<3> : {type_}}} : () -> {type_}
  %r = "hlo.subtract"(%i, %c) : ({type_}, {type_}) -> {type_}"""
    if np.dtype(dtype).kind not in "iu":
        body = body.replace("dense<3>", "dense<3.0>")
    check(kernel(body, [], [type_]), generics=1)


MOVES = {
    "broadcast": ((2, 1, 3), (4, 2, 5, 3), 'broadcast_in_dim"(%a0) {broadcast_dimensions = array<i64: 1, 2, 3>}'),
    "broadcast_scalar": ((), (2, 3), 'broadcast_in_dim"(%a0) {broadcast_dimensions = array<i64>}'),
    "broadcast_swapped": ((2, 3), (3, 2), 'broadcast_in_dim"(%a0) {broadcast_dimensions = array<i64: 1, 0>}'),
    "broadcast_empty": ((1,), (0,), 'broadcast_in_dim"(%a0) {broadcast_dimensions = array<i64: 0>}'),
    "transpose": ((2, 3, 4), (4, 2, 3), 'transpose"(%a0) {permutation = array<i64: 2, 0, 1>}'),
    "reverse": ((2, 3), (2, 3), 'reverse"(%a0) {dimensions = array<i64: 1>}'),
    "slice": (
        (7, 5),
        (2, 4),
        'slice"(%a0) {start_indices = array<i64: 1, 0>, limit_indices = array<i64: 6, 4>, strides = array<i64: 3, 1>}',
    ),
    "split": ((6, 4), (2, 3, 4), 'reshape"(%a0)'),
    "unit_dims": ((1, 6, 1), (6,), 'reshape"(%a0)'),
    "more_unit_dims": ((6,), (1, 6, 1, 1), 'reshape"(%a0)'),
    "one_element": ((1, 1), (), 'reshape"(%a0)'),
    "one_element_up": ((), (1, 1), 'reshape"(%a0)'),
    "merge": ((2, 3, 4), (6, 4), 'reshape"(%a0)'),
    "regroup": ((4, 3), (2, 6), 'reshape"(%a0)'),
    "empty": ((0, 3), (3, 0, 2), 'reshape"(%a0)'),
}


@pytest.mark.parametrize("name", MOVES)
def test_movement(name: str) -> None:
    source, target, op = MOVES[name]
    have, want = tensor(source, np.float32), tensor(target, np.float32)
    body = f'  %n = "hlo.negate"(%a0) : ({have}) -> {have}\n  %m = "hlo.{op} : ({have}) -> {want}'.replace(
        '"(%a0)', '"(%n)'
    ).replace('"hlo.negate"(%n)', '"hlo.negate"(%a0)')
    body += f'\n  %r = "hlo.multiply"(%m, %m) : ({want}, {want}) -> {want}'
    affine = name not in ("merge", "regroup", "empty")
    check(kernel(body, [have], [want]), numbered(*source), generics=1 if affine else 2)


PADS = [(((1, 2)), (0, 0), (0, 0)), ((1, 0), (2, 3), (1, 0)), ((-1, 0), (0, -2), (0, 2)), ((2, -1), (-1, 2), (2, 0))]


@pytest.mark.parametrize(("low", "high", "interior"), PADS)
@pytest.mark.parametrize("shape", [(4, 3), (1, 4), (0, 3)])
def test_pad(low: Any, high: Any, interior: Any, shape: Any) -> None:
    out = tuple(n + a + b + max(n - 1, 0) * i for n, a, b, i in zip(shape, low, high, interior, strict=True))
    if min(out) < 0:
        pytest.skip("no such shape")
    attributes = ", ".join(
        f"{name} = array<i64: {', '.join(map(str, v))}>"
        for name, v in (("edge_padding_low", low), ("edge_padding_high", high), ("interior_padding", interior))
    )
    types = [tensor(shape, np.float32), tensor((), np.float32)]
    want = tensor(out, np.float32)
    # The operand and the result are computed in the kernel: all of it is one generic.
    body = f"""
  %n = "hlo.negate"(%a0) : ({types[0]}) -> {types[0]}
  %p = "hlo.pad"(%n, %a1) {{{attributes}}} : ({types[0]}, {types[1]}) -> {want}
  %r = "hlo.negate"(%p) : ({want}) -> {want}"""
    check(kernel(body, types, [want]), numbered(*shape), np.float32(-5), generics=1)


def test_concatenate() -> None:
    types = [tensor(shape, np.uint8) for shape in ((2, 3), (2, 0), (2, 1))]
    want = tensor((2, 4), np.uint8)
    body = f"""
  %n = "hlo.add"(%a0, %a0) : ({types[0]}, {types[0]}) -> {types[0]}
  %r = "hlo.concatenate"(%n, %a1, %a2) {{dimension = 1 : i64}} : ({", ".join(types)}) -> {want}"""
    inputs = [numbered(*shape, dtype=np.uint8) for shape in ((2, 3), (2, 0), (2, 1))]
    check(kernel(body, types, [want], "concatenate"), *inputs)


@pytest.mark.long(9)
@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8, np.uint32, np.uint64], ids=element)
@pytest.mark.parametrize("start", [0, 1, 3, 100, -1])
def test_dynamic_slices(dtype: Any, start: int) -> None:
    """Starts out of range are clamped; starts computed in the kernel need no buffer."""
    x, u = numbered(5, 4), -numbered(2, 3)
    starts = [np.array(start).astype(dtype), np.array(1, dtype)]
    types = [tensor((5, 4), np.float32), tensor((), dtype), tensor((), dtype)]
    want = tensor((2, 3), np.float32)
    body = f"""
  %n = "hlo.negate"(%a0) : ({types[0]}) -> {types[0]}
  %s = "hlo.multiply"(%a1, %a2) : ({types[1]}, {types[2]}) -> {types[1]}
  %d = "hlo.dynamic_slice"(%n, %s, %a2) {{slice_sizes = array<i64: 2, 3>}} : ({", ".join(types)}) -> {want}
  %r = "hlo.negate"(%d) : ({want}) -> {want}"""
    check(kernel(body, types, [want]), x, *starts, generics=1)
    types.insert(1, want)
    body = f'  %r = "hlo.dynamic_update_slice"(%a0, %a1, %a2, %a3) : ({", ".join(types)}) -> {types[0]}'
    check(kernel(body, types, [types[0]], "update"), x, u, *starts)


# -- reductions and contractions -----------------------------------------------------------------------


REDUCTIONS = [("add", d) for d in (np.bool_, np.int32, np.uint8, *FLOATS)]
REDUCTIONS += [(n, d) for n in ("maximum", "minimum") for d in (np.bool_, np.int8, np.uint8, BF16, np.float32)]
REDUCTIONS += [("multiply", np.float32), ("and", np.int32), ("or", np.bool_), ("xor", np.uint16)]


@pytest.mark.long(15)
@pytest.mark.parametrize(("op", "dtype"), REDUCTIONS, ids=lambda v: v if isinstance(v, str) else element(v))
@pytest.mark.parametrize(("shape", "dims"), [((3, 4), (1,)), ((3, 4), (0,)), ((2, 3, 4), (0, 2)), ((5,), (0,))])
def test_reduce(op: str, dtype: Any, shape: tuple[int, ...], dims: tuple[int, ...]) -> None:
    kept = tuple(n for d, n in enumerate(shape) if d not in dims)
    x = numbered(*shape, dtype=dtype) if op != "multiply" else np.linspace(0.5, 2, np.prod(shape)).reshape(shape)
    x = x.astype(dtype)
    types, want = [tensor(shape, dtype), tensor((), dtype)], tensor(kept, dtype)
    body = f"""
  %s = "hlo.{op}"(%a0, %a0) : ({types[0]}, {types[0]}) -> {types[0]}
  %r = "hlo.reduce"(%s, %a1) {reducer(op, types[1])} {{dimensions = array<i64: {", ".join(map(str, dims))}>}}
    : ({types[0]}, {types[1]}) -> {want}"""
    check(kernel(body, types, [want], "reduce"), x, np.array(1, dtype), ulps=4)


@pytest.mark.parametrize(("shape", "dims"), [((0, 3), (0,)), ((3, 0), (0,)), ((1, 3), (0,)), ((2, 3), ()), ((), ())])
def test_reduce_of_degenerate_shapes(shape: tuple[int, ...], dims: tuple[int, ...]) -> None:
    kept = tuple(n for d, n in enumerate(shape) if d not in dims)
    types, want = [tensor(shape, np.float32), tensor((), np.float32)], tensor(kept, np.float32)
    listed = f"array<i64: {', '.join(map(str, dims))}>" if dims else "array<i64>"
    body = f"""
  %s = "hlo.reduce"(%a0, %a1) {reducer("add", types[1])} {{dimensions = {listed}}}
    : ({types[0]}, {types[1]}) -> {want}
  %r = "hlo.negate"(%s) : ({want}) -> {want}"""
    check(kernel(body, types, [want], "reduce"), numbered(*shape), np.float32(7))


def test_variadic_reduce_with_any_region() -> None:
    """argmax: the position travels with the value."""
    x = np.array([[1, 5, 5, np.nan], [7, 2, -1, 7], [-np.inf, -np.inf, 0, -1]], np.float32)
    f, i, b = "tensor<f32>", "tensor<ui16>", "tensor<i1>"
    whole, wide = "tensor<3x4xf32>", "tensor<3x4xui16>"
    body = f"""
  %low = "hlo.constant"() {{value = dense<0xFF800000> : {f}}} : () -> {f}
  %zero = "hlo.constant"() {{value = dense<0> : {i}}} : () -> {i}
  %at = "hlo.iota"() {{iota_dimension = 1 : i64}} : () -> {wide}
  %r0, %r1 = "hlo.reduce"(%a0, %at, %low, %zero) ({{
    ^bb0(%v: {f}, %vi: {i}, %w: {f}, %wi: {i}):
      %gt = "hlo.compare"(%v, %w) {{comparison_direction = #stablehlo<comparison_direction GT>}} : ({f}, {f}) -> {b}
      %ne = "hlo.compare"(%v, %v) {{comparison_direction = #stablehlo<comparison_direction NE>}} : ({f}, {f}) -> {b}
      %keep = "hlo.or"(%gt, %ne) : ({b}, {b}) -> {b}
      %value = "hlo.select"(%keep, %v, %w) : ({b}, {f}, {f}) -> {f}
      %place = "hlo.select"(%keep, %vi, %wi) : ({b}, {i}, {i}) -> {i}
      "hlo.return"(%value, %place) : ({f}, {i}) -> ()
  }}) {{dimensions = array<i64: 1>}} : ({whole}, {wide}, {f}, {i}) -> (tensor<3xf32>, tensor<3xui16>)"""
    check(kernel(body, [whole], ["tensor<3xf32>", "tensor<3xui16>"], "reduce"), x, generics=1)


DOTS = [
    ((2, 3), (3, 4), (), (), (1,), (0,)),
    ((3, 2), (4, 3), (), (), (0,), (1,)),
    ((2, 3, 4), (2, 4, 5), (0,), (0,), (2,), (1,)),
    ((4, 2, 3), (5, 3, 4), (0,), (2,), (2,), (1,)),
    ((2, 3, 4), (4, 3, 2), (), (), (1, 2), (1, 0)),
    ((3,), (4,), (), (), (), ()),
    ((2, 3), (2, 3), (0, 1), (0, 1), (), ()),
    ((2, 0), (0, 3), (), (), (1,), (0,)),
    ((3,), (3,), (), (), (0,), (0,)),
]
DOT_TYPES = [(np.float32,) * 3, (BF16,) * 3, (BF16, BF16, np.float32), (np.int8, np.int8, np.int32), (np.uint8,) * 3]
DOT_TYPES += [(np.float16, np.float16, np.float32), (np.float64,) * 3, (np.bool_,) * 3]


@pytest.mark.long(5)
@pytest.mark.parametrize("dot", DOTS, ids=str)
@pytest.mark.parametrize("dtypes", DOT_TYPES, ids=lambda dtypes: "-".join(map(element, dtypes)))
def test_dot_general(dot: Any, dtypes: Any) -> None:
    lhs, rhs, lhs_batch, rhs_batch, lhs_contracting, rhs_contracting = dot
    out = [lhs[d] for d in lhs_batch]
    out += [n for d, n in enumerate(lhs) if d not in (*lhs_batch, *lhs_contracting)]
    out += [n for d, n in enumerate(rhs) if d not in (*rhs_batch, *rhs_contracting)]
    types, want = [tensor(lhs, dtypes[0]), tensor(rhs, dtypes[1])], tensor(out, dtypes[2])
    numbers = f"""lhs_batching_dimensions = {list(lhs_batch)}, rhs_batching_dimensions = {list(rhs_batch)},
      lhs_contracting_dimensions = {list(lhs_contracting)}, rhs_contracting_dimensions = {list(rhs_contracting)}"""
    body = f"""
  %r = "hlo.dot_general"(%a0, %a1) {{dot_dimension_numbers = #stablehlo.dot<{numbers}>}}
    : ({", ".join(types)}) -> {want}"""
    x, y = numbered(*lhs, dtype=dtypes[0]), numbered(*rhs, dtype=dtypes[1])
    if dtypes[0] is np.bool_:
        x, y = np.indices(lhs).sum(0) % 2 == 0, np.indices(rhs).sum(0) % 3 == 0
    check(kernel(body, types, [want], "dot"), x, y, ulps=2)
