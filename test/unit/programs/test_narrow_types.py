"""Integers of 2 and 4 bits, floats of 8, 6 and 4 bits: every value, on both targets, against XLA if it has the type."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from cpu_programs import run
from xhlo.hlo_dialect.numbers import number_semantics
from xhlo.hlo_dialect.types import dense_constant, element_type_of, numpy_dtype

INTEGERS = {name: np.dtype(getattr(ml_dtypes, dtype)) for name, dtype in
            {"i2": "int2", "i4": "int4", "ui2": "uint2", "ui4": "uint4"}.items()}  # fmt: skip
FLOATS = {
    f"f{bits}{form.upper()}": np.dtype(getattr(ml_dtypes, f"float{bits}_{form}"))
    for bits, form in (
        (8, "e5m2"), (8, "e4m3"), (8, "e3m4"), (8, "e4m3fn"), (8, "e5m2fnuz"), (8, "e4m3fnuz"),
        (8, "e4m3b11fnuz"), (8, "e8m0fnu"), (6, "e2m3fn"), (6, "e3m2fn"), (4, "e2m1fn"),
    )
}  # fmt: skip
WIDE = {
    "i1": np.dtype(np.bool_),
    **{f"{sign}{width}": np.dtype(f"{'u' if sign == 'ui' else ''}int{width}")
       for sign in ("i", "ui") for width in (8, 16, 32, 64)},
    "bf16": np.dtype(ml_dtypes.bfloat16), "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32), "f64": np.dtype(np.float64),
}  # fmt: skip
ALL = {**INTEGERS, **FLOATS, **WIDE}
IN_XLA = [name for name in FLOATS if not name.startswith("f6")]


def every(name: str) -> np.ndarray:
    """All values of a narrow type; for a wide type, values around the rounding boundaries of narrow types."""
    dtype = ALL[name]
    if name in INTEGERS or name in FLOATS:
        bits = 2 if "2" in name[:3] and name in INTEGERS else 4 if name in INTEGERS else ml_dtypes.finfo(dtype).bits
        return np.arange(1 << bits, dtype=np.uint8).view(dtype)
    if name == "i1":
        return np.array([False, True])
    with np.errstate(all="ignore"):
        values = [every(narrow).astype(np.float32) for narrow in FLOATS]
        finite = np.unique(np.concatenate([value[np.isfinite(value)] for value in values]).astype(np.float64))
        middle = (finite[1:] + finite[:-1]) / 2
        edges = np.concatenate([finite, middle, middle * (1 + 2.0**-40), middle * (1 - 2.0**-40), -0.0 * finite])
        if number_semantics.is_integer_dtype(dtype):
            info = np.iinfo(dtype)
            edges = edges[(edges > info.min) & (edges < info.max)]
            return np.concatenate([np.unique(edges.astype(dtype)), np.array([info.min, info.max], dtype)])
        return np.concatenate([edges, [np.inf, -np.inf, np.nan, -np.nan, 1e300, 448.0, 465.0]]).astype(dtype)


def same(got: np.ndarray, want: np.ndarray, what: str) -> None:
    """Equal values, NaN equal to NaN, zeros by their sign."""
    assert got.dtype == want.dtype and got.shape == want.shape, what
    if number_semantics.is_float_dtype(got.dtype):
        first, second = got.astype(np.float64), want.astype(np.float64)
        equal = (first == second) & (np.signbit(first) == np.signbit(second)) | np.isnan(first) & np.isnan(second)
    else:
        equal = np.asarray(got == want)
    assert equal.all(), f"{what}: {(~equal).sum()} wrong, got {got[~equal][:6]}, want {want[~equal][:6]}"


def tensor(name: str, array: np.ndarray) -> str:
    return f"tensor<{''.join(f'{dim}x' for dim in array.shape)}{name}>"


def program(inputs: dict[str, tuple[str, np.ndarray]], ops: list[tuple[str, str]]) -> str:
    """`ops` as (text, result type), all results returned."""
    parameters = ", ".join(f"%{key}: {tensor(*value)}" for key, value in inputs.items())
    types = ", ".join(result for _, result in ops)
    body = "\n".join(f"  %r{i} = {op}" for i, (op, _) in enumerate(ops))
    names = ", ".join(f"%r{i}" for i in range(len(ops)))
    return f"func.func @main({parameters}) -> ({types}) {{\n{body}\n  return {names} : {types}\n}}"


def both(inputs: dict[str, tuple[str, np.ndarray]], ops: list[tuple[str, str]]) -> tuple[np.ndarray, ...]:
    """The results on the CPU, which must equal the reference's."""
    text, arrays = program(inputs, ops), [array for _, array in inputs.values()]
    found = run(text, arrays)
    for (op, _), got, want in zip(ops, found, run(text, arrays, "reference"), strict=True):
        same(got, want, op)
    return found


def by_xla(function: Callable[..., Any], *arguments: np.ndarray) -> np.ndarray:
    """The result of XLA's newer kernels: the older ones, which compile sooner (conftest.py), get f8E5M2FNUZ wrong."""
    options: dict[str, str | bool] = {"xla_cpu_use_fusion_emitters": True}
    return np.asarray(jax.jit(function, compiler_options=options)(*arguments))


def test_types_and_dtypes_correspond() -> None:
    for dtype in ALL.values():
        element = element_type_of(dtype)
        assert element is not None and numpy_dtype(element) == dtype


def test_constants_of_narrow_integers_have_zeros_above() -> None:
    data = dense_constant(np.frombuffer(b"\xff\x07\x18", ml_dtypes.int4)).data.data
    assert data == b"\x0f\x07\x08"


# Conversions -----------------------------------------------------------------------------------------------------


@pytest.mark.long(3)
@pytest.mark.sample(4)
@pytest.mark.parametrize("source", [*INTEGERS, *FLOATS])
def test_narrow_to_every_type(source: str) -> None:
    x = every(source)
    ops = [(f"hlo.convert %x : ({tensor(source, x)}) -> {tensor(target, x)}", tensor(target, x)) for target in ALL]
    both({"x": (source, x)}, ops)


@pytest.mark.long(3)
@pytest.mark.sample(4)
@pytest.mark.parametrize("source", WIDE)
def test_every_type_to_narrow(source: str) -> None:
    x = every(source)
    targets = [*INTEGERS, *FLOATS]
    ops = [(f"hlo.convert %x : ({tensor(source, x)}) -> {tensor(target, x)}", tensor(target, x)) for target in targets]
    both({"x": (source, x)}, ops)


@pytest.mark.sample(4)
@pytest.mark.parametrize("target", [*INTEGERS, *IN_XLA])
def test_conversions_are_xlas(target: str) -> None:
    """Conversions from f32, f16 and i8, without f32 denormals, which XLA flushes."""
    for source in ("f32", "f16", "i8"):
        x = every(source)
        if source != "i8":
            x = x[(np.abs(x.astype(np.float64)) >= 2.0**-126) | (x == 0)]
        want = by_xla(lambda v: jax.lax.convert_element_type(v, ALL[target]), x)
        with np.errstate(all="ignore"):
            same(number_semantics.convert(x, ALL[target]), want, f"{source} to {target}")


@pytest.mark.parametrize("name", ["f6E2M3FN", "f6E3M2FN", "f4E2M1FN"])
def test_a_format_without_nan_saturates(name: str) -> None:
    largest = float(ml_dtypes.finfo(FLOATS[name]).max)
    x = np.array([np.inf, -np.inf, 1e30, np.nan, -np.nan], np.float32)
    (got,) = both({"x": ("f32", x)}, [(f"hlo.convert %x : (tensor<5xf32>) -> tensor<5x{name}>", f"tensor<5x{name}>")])
    same(got, np.array([largest, -largest, largest, -0.0, -0.0]).astype(got.dtype), name)


def test_a_power_of_two_has_no_sign_and_no_zero() -> None:
    x = np.array([0.0, -1.0, 1.0, 1.5, 3.0, 2.0**-127, np.inf, np.nan, 2.0**-140], np.float32)
    type_ = "tensor<9xf8E8M0FNU>"
    (got,) = both({"x": ("f32", x)}, [(f"hlo.convert %x : (tensor<9xf32>) -> {type_}", type_)])
    assert got.view(np.uint8).tolist() == [0xFF, 0xFF, 127, 128, 129, 0, 0xFF, 0xFF, 0]


# Arithmetic ------------------------------------------------------------------------------------------------------

BINARY = ("add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "power", "and", "or", "xor",
          "shift_left", "shift_right_logical", "shift_right_arithmetic")  # fmt: skip


def integer_meaning(op: str, x: int, y: int, low: int, high: int) -> int:
    """One operation on Python's integers, reduced to [low, high] modulo 2**width."""
    width = (high - low + 1).bit_length() - 1
    mask = (1 << width) - 1
    amount = y & mask
    signed = (x & mask) - (1 << width if x & (1 << (width - 1)) else 0)
    quotient = 0 if y == 0 else abs(x) // abs(y) * (-1 if (x < 0) != (y < 0) else 1)
    found = {
        "add": x + y, "subtract": x - y, "multiply": x * y, "and": x & y, "or": x | y, "xor": x ^ y,
        "maximum": max(x, y), "minimum": min(x, y),
        "divide": quotient if y else -1, "remainder": x - quotient * y if y else x,
        "shift_left": x << amount if amount < width else 0,
        "shift_right_logical": (x & mask) >> amount if amount < width else 0,
        "shift_right_arithmetic": signed >> min(amount, width - 1),
        "power": x**y if y >= 0 else {1: 1, -1: -1 if y % 2 else 1}.get(x, 0),
    }[op]  # fmt: skip
    return (found - low) % (1 << width) + low


@pytest.mark.parametrize("name", INTEGERS)
def test_arithmetic_of_narrow_integers(name: str) -> None:
    values = every(name)
    low, high = number_semantics.integer_bounds(values.dtype)
    x, y = np.repeat(values, values.size), np.tile(values, values.size)
    type_ = tensor(name, x)
    unary = ["negate", "not", "popcnt", "count_leading_zeros", *(["abs", "sign"] if low else [])]
    directions = ("EQ", "NE", "LT", "LE", "GT", "GE")
    ops = [(f"hlo.{op} %x, %y : {type_}", type_) for op in BINARY]
    ops += [(f"hlo.{op} %x : {type_}", type_) for op in unary]
    mask = tensor("i1", x)
    ops += [(f"hlo.compare {way}, %x, %y : ({type_}, {type_}) -> {mask}", mask) for way in directions]
    ops.append((f"hlo.clamp %x, %y, %x : {type_}", type_))
    found = dict(zip([op for op, _ in ops], both({"x": (name, x), "y": (name, y)}, ops), strict=True))
    pairs = list(zip(x.astype(int).tolist(), y.astype(int).tolist(), strict=True))
    for op in BINARY:
        want = np.array([integer_meaning(op, a, b, low, high) for a, b in pairs]).astype(x.dtype)
        same(found[f"hlo.{op} %x, %y : {type_}"], want, op)


@pytest.mark.long(3)
@pytest.mark.sample(4)
@pytest.mark.parametrize("name", IN_XLA)
def test_arithmetic_of_narrow_floats(name: str) -> None:
    """Every pair of numbers. XLA computes in another wider type, and also rounds once."""
    values = every(name)
    x, y = np.repeat(values, values.size), np.tile(values, values.size)
    type_ = tensor(name, x)
    binary = ("add", "subtract", "multiply", "divide", "maximum", "minimum")
    unary = ("negate", "abs", "sqrt", "floor", "round_nearest_even", "sign", "reduce_precision")
    ops = [(f"hlo.{op} %x, %y : {type_}", type_) for op in binary]
    ops += [(f"hlo.{op} %x{', format = e3m1' if op.startswith('reduce') else ''} : {type_}", type_) for op in unary]
    mask = tensor("i1", x)
    ops.append((f"hlo.compare LT, %x, %y : ({type_}, {type_}) -> {mask}", mask))
    ops.append((f"hlo.is_finite %x : ({type_}) -> {mask}", mask))
    found = both({"x": (name, x), "y": (name, y)}, ops)
    if name == "f8E8M0FNU":
        return  # XLA flushes the least powers, which are f32 denormals
    functions = (jnp.add, jnp.subtract, jnp.multiply, jnp.divide)
    for function, got in zip(functions, found, strict=False):
        same(got, by_xla(function, x, y), function.__name__)


@pytest.mark.parametrize(("name", "shape"), [("f8E4M3FN", (3, 17)), ("f8E5M2", (1, 300)), ("f4E2M1FN", (5, 0))])
def test_reductions_and_contractions_round_once(name: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, shape).astype(FLOATS[name])
    type_, rows, square = tensor(name, x), f"tensor<{shape[0]}x{name}>", f"tensor<{shape[0]}x{shape[0]}x{name}>"
    scalar = f"tensor<{name}>"
    text = f"""func.func @main(%x: {type_}) -> ({rows}, {rows}, {square}) {{
      %z = hlo.constant dense<0.0> : {scalar}
      %0 = hlo.reduce(%x init: %z) applies hlo.add across dimensions = [1] : ({type_}, {scalar}) -> {rows}
      %1 = hlo.reduce(%x init: %z) across dimensions = [1] : ({type_}, {scalar}) -> {rows}
        reducer(%a: {scalar}, %b: {scalar}) {{
          %s = hlo.maximum %a, %b : {scalar}
          %t = hlo.abs %s : {scalar}
          hlo.return %t : {scalar}
        }}
      %2 = hlo.dot_general %x, %x, contracting_dims = [1] x [1] : ({type_}, {type_}) -> {square}
      return %0, %1, %2 : {rows}, {rows}, {square}
    }}"""
    got, want = run(text, [x]), run(text, [x], "reference")
    for one, other in zip(got, want, strict=True):
        same(one, other, text)
    wide = x.astype(np.float32)
    same(got[0], number_semantics.round_to(wide.astype(np.float64).sum(axis=1), x.dtype), "sum")
    same(got[2], number_semantics.round_to(wide.astype(np.float64) @ wide.T.astype(np.float64), x.dtype), "dot")


@pytest.mark.parametrize("name", ["i4", "ui2", "f8E4M3B11FNUZ", "f6E3M2FN"])
def test_movement_and_control_flow(name: str) -> None:
    x = np.resize(every(name), (5, 6))
    wide, tall = tensor(name, x), f"tensor<6x5x{name}>"
    text = f"""func.func @main(%x: {wide}, %p: tensor<i1>) -> ({tall}, tensor<7x6x{name}>, tensor<10x6x{name}>, {wide}) {{
      %c = hlo.constant dense<1{".0" if name.startswith("f") else ""}> : tensor<{name}>
      %i = hlo.constant dense<1> : tensor<i32>
      %0 = hlo.transpose %x, dims = [1, 0] : ({wide}) -> {tall}
      %1 = hlo.pad %x, %c, low = [1, 0], high = [1, 0], interior = [0, 0]
        : ({wide}, tensor<{name}>) -> tensor<7x6x{name}>
      %2 = hlo.concatenate %x, %x, dim = 0 : ({wide}, {wide}) -> tensor<10x6x{name}>
      %row = hlo.slice %x [0:1, 0:6] : ({wide}) -> tensor<1x6x{name}>
      %3 = hlo.dynamic_update_slice %x, %row, %i, %i
        : ({wide}, tensor<1x6x{name}>, tensor<i32>, tensor<i32>) -> {wide}
      %4 = "hlo.if"(%p) ({{
        hlo.return %3 : {wide}
      }}, {{
        hlo.return %x : {wide}
      }}) : (tensor<i1>) -> {wide}
      return %0, %1, %2, %4 : {tall}, tensor<7x6x{name}>, tensor<10x6x{name}>, {wide}
    }}"""
    for flag in (True, False):
        arrays = [x, np.array(flag)]
        for one, other in zip(run(text, arrays), run(text, arrays, "reference"), strict=True):
            same(one, other, name)


# Bits ------------------------------------------------------------------------------------------------------------

WIDTHS = {**{name: 2 if "2" in name else 4 for name in INTEGERS}, "f4E2M1FN": 4, "f8E5M2": 8, "i8": 8, "ui16": 16,
          "bf16": 16, "f32": 32, "i32": 32, "f64": 64, "ui64": 64}  # fmt: skip


@pytest.mark.long
def test_bitcasts_between_widths() -> None:
    """Bitcasts of random bits, from every width to every other and back."""
    rng = np.random.default_rng(0)
    inputs: dict[str, tuple[str, np.ndarray]] = {}
    ops: list[tuple[str, str]] = []
    for source, target in itertools.permutations(WIDTHS, 2):
        have, want = WIDTHS[source], WIDTHS[target]
        shape = (3,) if have >= want else (3, want // have)
        if source not in inputs:
            raw = rng.integers(0, 256, 3 * 32 * max(have, 8) // 8).astype(np.uint8)
            inputs[source] = (source, (raw & ((1 << min(have, 8)) - 1)).view(ALL[source]))
        full = inputs[source][1]
        array = full[: int(np.prod(shape))].reshape(shape)
        key = f"{source}_{target}"
        inputs[key] = (source, array)
        result = (3,) if want > have else (3, have // want) if have > want else shape
        type_ = f"tensor<{''.join(f'{dim}x' for dim in result)}{target}>"
        ops.append((f"hlo.bitcast_convert %{key} : ({tensor(source, array)}) -> {type_}", type_))
    inputs = {key: value for key, value in inputs.items() if "_" in key}
    text, arrays = program(inputs, ops), [array for _, array in inputs.values()]
    for (op, _), got, want in zip(ops, run(text, arrays), run(text, arrays, "reference"), strict=True):
        assert got.tobytes() == want.tobytes(), op


def test_the_least_significant_part_comes_first() -> None:
    x = np.array([0x12345678], np.uint32)
    ops = [
        ("hlo.bitcast_convert %x : (tensor<1xui32>) -> tensor<1x4xui8>", "tensor<1x4xui8>"),
        ("hlo.bitcast_convert %x : (tensor<1xui32>) -> tensor<1x8xui4>", "tensor<1x8xui4>"),
    ]
    first, second = both({"x": ("ui32", x)}, ops)
    assert first.tolist() == [[0x78, 0x56, 0x34, 0x12]]
    assert second.astype(int).tolist() == [[8, 7, 6, 5, 4, 3, 2, 1]]


def test_complex_bitcasts() -> None:
    z = np.array([1 + 2j, -3.5 + 1e-300j, complex(np.inf, -0.0)], np.complex128)
    text = """func.func @main(%z: tensor<3xcomplex<f64>>) -> (tensor<3x2xcomplex<f32>>, tensor<3xcomplex<f64>>) {
      %0 = hlo.bitcast_convert %z : (tensor<3xcomplex<f64>>) -> tensor<3x2xcomplex<f32>>
      %1 = hlo.bitcast_convert %0 : (tensor<3x2xcomplex<f32>>) -> tensor<3xcomplex<f64>>
      return %0, %1 : tensor<3x2xcomplex<f32>>, tensor<3xcomplex<f64>>
    }"""
    for target in ("cpu", "reference"):
        parts, back = run(text, [z], target)
        assert parts.tobytes() == z.tobytes() and back.tobytes() == z.tobytes()


def test_wrong_arrays_are_refused() -> None:
    text = "func.func @main(%x: tensor<2xi4>) -> tensor<2xi4> {\n  return %x : tensor<2xi4>\n}"
    with pytest.raises(TypeError, match="expected dtype int4"):
        run(text, [np.array([1, 2], np.int8)])


@pytest.mark.long(4)
@pytest.mark.parametrize("name", [*INTEGERS, *FLOATS])
def test_constants_and_iota(name: str) -> None:
    """Long constants become data of the program, short ones and splats code."""
    values = np.resize(every(name), 300)
    long, short, dtype = tensor(name, values), f"tensor<3x{name}>", values.dtype
    text = f"""func.func @main(%x: {long}, %y: {short}) -> ({long}, {long}, {short}, tensor<4x5x{name}>) {{
      %0 = hlo.constant dense<"0x{values.tobytes().hex()}"> : {long}
      %1 = hlo.select %m, %0, %x : tensor<300xi1>, {long}
      %2 = hlo.constant dense<"0x{values[1:4].tobytes().hex()}"> : {short}
      %3 = hlo.iota dim = 1 : tensor<4x5x{name}>
      return %0, %1, %2, %3 : {long}, {long}, {short}, tensor<4x5x{name}>
    }}""".replace("(%x:", "(%m: tensor<300xi1>, %x:")
    inputs = [np.arange(300) % 2 == 0, values[::-1].copy(), values[:3].copy()]
    found = run(text, inputs)
    for got, want in zip(found, run(text, inputs, "reference"), strict=True):
        same(got, want, name)
    same(found[0], values, name)
    with np.errstate(all="ignore"):
        same(found[3], np.broadcast_to(number_semantics.convert(np.arange(5), dtype), (4, 5)), name)


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("op", ["add", "multiply", "maximum", "minimum", "and", "or", "xor"])
def test_reductions_of_narrow_integers(name: str, op: str) -> None:
    values = np.resize(every(name), (7, 37))
    type_, scalar, result = tensor(name, values), f"tensor<{name}>", f"tensor<7x{name}>"
    text = f"""func.func @main(%x: {type_}, %i: {scalar}) -> {result} {{
      %0 = hlo.reduce(%x init: %i) applies hlo.{op} across dimensions = [1] : ({type_}, {scalar}) -> {result}
      return %0 : {result}
    }}"""
    inputs = [values, values[0, 1].reshape(())]
    same(run(text, inputs)[0], run(text, inputs, "reference")[0], op)


@pytest.mark.parametrize("name", ["i4", "ui4"])
def test_products_of_narrow_integers(name: str) -> None:
    """Into i32, and modulo 16 into their own type."""
    rng = np.random.default_rng(0)
    low, high = number_semantics.integer_bounds(INTEGERS[name])
    x = rng.integers(low, high + 1, (33, 65)).astype(INTEGERS[name])
    y = rng.integers(low, high + 1, (65, 17)).astype(INTEGERS[name])
    left, right = tensor(name, x), tensor(name, y)
    wide = "i32" if low else "ui32"
    ops = [
        (f"hlo.dot_general %x, %y, contracting_dims = [1] x [0] : ({left}, {right}) -> tensor<33x17x{each}>", "")
        for each in (wide, name)
    ]
    exact = x.astype(np.int64) @ y.astype(np.int64)
    types = [f"tensor<33x17x{each}>" for each in (wide, name)]
    ops = [(op, type_) for (op, _), type_ in zip(ops, types, strict=True)]
    got = both({"x": (name, x), "y": (name, y)}, ops)
    same(got[0], exact.astype(got[0].dtype), name)
    same(got[1], exact.astype(got[1].dtype), name)


@pytest.mark.long(3)
@pytest.mark.sample(7)
@pytest.mark.parametrize("name", ["bf16", "f16", "f32", *IN_XLA])
@pytest.mark.parametrize("form", [(5, 2), (4, 3), (2, 1), (8, 7), (3, 0)])
def test_reduce_precision_is_xlas(name: str, form: tuple[int, int]) -> None:
    x = every(name)
    if name == "f8E8M0FNU":
        return  # as in all of XLA's functions: the least powers are flushed
    with np.errstate(all="ignore"):
        x = x[(np.abs(x.astype(np.float64)) >= 2.0**-126) | (x.astype(np.float64) == 0)]
    type_ = tensor(name, x)
    (got,) = both({"x": (name, x)}, [(f"hlo.reduce_precision %x, format = e{form[0]}m{form[1]} : {type_}", type_)])
    same(got, by_xla(lambda v: jax.lax.reduce_precision(v, *form), x), name)


def test_bitcasts_of_scalars_and_of_nothing() -> None:
    inputs = {
        "a": ("f32", np.array(-1.5, np.float32)),
        "e": ("ui8", np.zeros((0, 4), np.uint8)),
        "f": ("ui8", np.array([0, 0, 192, 191], np.uint8)),
    }
    ops = [
        ("hlo.bitcast_convert %a : (tensor<f32>) -> tensor<8xui4>", "tensor<8xui4>"),
        ("hlo.bitcast_convert %e : (tensor<0x4xui8>) -> tensor<0xf32>", "tensor<0xf32>"),
        ("hlo.bitcast_convert %e : (tensor<0x4xui8>) -> tensor<0x4x2xi4>", "tensor<0x4x2xi4>"),
        ("hlo.bitcast_convert %f : (tensor<4xui8>) -> tensor<f32>", "tensor<f32>"),
    ]
    assert both(inputs, ops)[3] == -1.5
