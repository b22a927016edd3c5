"""arith and math compute the same as NumPy, as scalars and in vectors, run on this machine."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from lowered_programs import DTYPES, WIDTHS, elementwise, floats, integers, same, unsigned

INTEGER_BINARY = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
    "maxsi": np.maximum,
    "minsi": np.minimum,
    "maxui": lambda a, b: np.maximum(unsigned(a), unsigned(b)).view(a.dtype),
    "minui": lambda a, b: np.minimum(unsigned(a), unsigned(b)).view(a.dtype),
}


@pytest.mark.long(6)
@pytest.mark.sample(3)
@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("type_", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("name", INTEGER_BINARY)
def test_integer_binary(name: str, type_: str, vector: bool) -> None:
    a, b = integers(type_), integers(type_, 1)
    shown = f"vector<8x{type_}>" if vector else type_
    got = elementwise(f"%r = arith.{name} %a, %b : {shown}", [a, b], [type_, type_], type_, vector)
    same(got, INTEGER_BINARY[name](a, b))


@pytest.mark.long(6)
@pytest.mark.parametrize("type_", ["i8", "i32", "i64"])
@pytest.mark.parametrize("name", ["divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi", "ceildivui"])
def test_division(name: str, type_: str) -> None:
    a, b = integers(type_), integers(type_, 1)
    info = np.iinfo(a.dtype)
    b[b == 0] = 3
    b[(a == info.min) & (b == -1)] = 5
    got = elementwise(f"%r = arith.{name} %a, %b : {type_}", [a, b], [type_, type_], type_)
    pairs = zip(a.tolist(), b.tolist(), strict=True)
    mask = (1 << WIDTHS[type_]) - 1

    def exact(x: int, y: int) -> int:
        ux, uy = x & mask, y & mask
        sign = -1 if (x < 0) != (y < 0) else 1
        return {
            "divsi": sign * (abs(x) // abs(y)),
            "remsi": x - y * sign * (abs(x) // abs(y)),
            "floordivsi": x // y,
            "ceildivsi": -(-x // y),
            "divui": ux // uy,
            "remui": ux % uy,
            "ceildivui": -(-ux // uy),
        }[name]

    expected = np.array([exact(x, y) & mask for x, y in pairs], f"u{a.dtype.itemsize}").view(a.dtype)
    same(got, expected)


@pytest.mark.long(3)
@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("name", ["shli", "shrui", "shrsi"])
def test_shift(name: str, vector: bool) -> None:
    a = integers("i32")
    b = (integers("i32", 1) & 31).astype(np.int32)
    shown = "vector<8xi32>" if vector else "i32"
    got = elementwise(f"%r = arith.{name} %a, %b : {shown}", [a, b], ["i32", "i32"], "i32", vector)
    expected = {"shli": a << b, "shrsi": a >> b, "shrui": (a.view("u4") >> b.view("u4")).view("i4")}[name]
    same(got, expected)


def test_extended_results() -> None:
    a, b = integers("i32"), integers("i32", 1)
    got = elementwise("%low, %r = arith.mulsi_extended %a, %b : i32", [a, b], ["i32", "i32"], "i32")
    same(got, ((a.astype(np.int64) * b) >> 32).astype(np.int32))
    got = elementwise("%low, %r = arith.mului_extended %a, %b : i32", [a, b], ["i32", "i32"], "i32")
    same(got, ((a.view("u4").astype(np.uint64) * b.view("u4")) >> 32).astype("u4").view("i4"))
    got = elementwise("%sum, %r = arith.addui_extended %a, %b : i32, i1", [a, b], ["i32", "i32"], "i1")
    same(got, (a.view("u4").astype(np.uint64) + b.view("u4")) >> 32 != 0)


FLOAT_BINARY = {
    "addf": np.add,
    "subf": np.subtract,
    "mulf": np.multiply,
    "divf": np.divide,
    "maximumf": np.maximum,
    "minimumf": np.minimum,
    "maxnumf": np.fmax,
    "minnumf": np.fmin,
}


@pytest.mark.long(9)
@pytest.mark.sample(3)
@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("type_", ["bf16", "f16", "f32", "f64"])
@pytest.mark.parametrize("name", FLOAT_BINARY)
def test_float_binary(name: str, type_: str, vector: bool) -> None:
    a, b = floats(type_), floats(type_, 1)
    shown = f"vector<8x{type_}>" if vector else type_
    got = elementwise(f"%r = arith.{name} %a, %b : {shown}", [a, b], [type_, type_], type_, vector)
    with np.errstate(all="ignore"):
        expected = FLOAT_BINARY[name](a, b).astype(a.dtype)
    zeros = (a == 0) & (b == 0)
    if name in ("maximumf", "minimumf"):
        # IEEE 754-2019: -0 is less than +0; NumPy returns either.
        signs = np.signbit(a) & np.signbit(b) if name == "maximumf" else np.signbit(a) | np.signbit(b)
        expected = np.where(zeros, np.where(signs, -0.0, 0.0).astype(a.dtype), expected)
    elif name in ("maxnumf", "minnumf"):
        got, expected = np.where(zeros, a, got), np.where(zeros, a, expected)
    same(got, expected)


def test_negation_and_remainder() -> None:
    a, b = floats("f32"), floats("f32", 1)
    same(elementwise("%r = arith.negf %a : f32", [a], ["f32"], "f32"), -a)
    with np.errstate(all="ignore"):
        expected = np.fmod(a, b)
    text = '%r = "arith.remf"(%a, %b) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32'
    same(elementwise(text, [a, b], ["f32", "f32"], "f32"), expected)


INTEGER_PREDICATES = ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"]
COMPARE = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip


@pytest.mark.long(4)
@pytest.mark.parametrize("predicate", INTEGER_PREDICATES)
def test_compare_integers(predicate: str) -> None:
    a, b = integers("i32"), integers("i32", 1)
    b[::3] = a[::3]
    got = elementwise(f"%r = arith.cmpi {predicate}, %a, %b : i32", [a, b], ["i32", "i32"], "i1")
    operands = (a, b) if predicate[0] != "u" else (unsigned(a), unsigned(b))
    same(got, COMPARE[predicate[-2:]](*operands))


@pytest.mark.long(6)
@pytest.mark.parametrize(
    "predicate",
    "false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true".split(),
)
def test_compare_floats(predicate: str) -> None:
    a, b = floats("f32"), floats("f32", 1)
    b[::3] = a[::3]
    got = elementwise(f"%r = arith.cmpf {predicate}, %a, %b : f32", [a, b], ["f32", "f32"], "i1")
    unordered = np.isnan(a) | np.isnan(b)
    if predicate in ("true", "false", "ord", "uno"):
        expected = {
            "true": np.ones_like(unordered),
            "false": np.zeros_like(unordered),
            "ord": ~unordered,
            "uno": unordered,
        }[predicate]
    else:
        holds = COMPARE[predicate[1:]](a, b)
        expected = holds | unordered if predicate[0] == "u" else holds & ~unordered
    same(got, expected)


def test_select() -> None:
    c, a, b = integers("i1"), floats("f32"), floats("f32", 1)
    got = elementwise("%r = arith.select %a, %b, %c : f32", [c, a, b], ["i1", "f32", "f32"], "f32")
    same(got, np.where(c, a, b))


CASTS = [
    ("extsi", "i8", "i32"),
    ("extui", "i8", "i32"),
    ("extui", "i1", "i32"),
    ("extsi", "i1", "i64"),
    ("trunci", "i64", "i8"),
    ("trunci", "i32", "i1"),
    ("sitofp", "i32", "f32"),
    ("sitofp", "i64", "f64"),
    ("sitofp", "i8", "f16"),
    ("uitofp", "i32", "f32"),
    ("uitofp", "i64", "f64"),
    ("uitofp", "i1", "f32"),
    ("extf", "f32", "f64"),
    ("extf", "f16", "f32"),
    ("extf", "bf16", "f32"),
    ("truncf", "f64", "f32"),
    ("truncf", "f32", "f16"),
    ("truncf", "f32", "bf16"),
    ("bitcast", "f32", "i32"),
    ("bitcast", "i64", "f64"),
    ("bitcast", "bf16", "i16"),
]


@pytest.mark.long(3)
@pytest.mark.sample(3)
@pytest.mark.parametrize(("name", "source", "target"), CASTS)
def test_cast(name: str, source: str, target: str) -> None:
    a = integers(source) if source[0] == "i" else floats(source)
    got = elementwise(f"%r = arith.{name} %a : {source} to {target}", [a], [source], target)
    dtype = np.dtype(DTYPES[target])
    with np.errstate(all="ignore"):
        if name == "bitcast":
            expected = a.view(dtype)
        elif name in ("extui", "uitofp"):
            expected = unsigned(a).astype(dtype) if source != "i1" else a.astype(dtype)
        elif source == "i1":
            expected = -a.astype(dtype)
        elif target == "i1":
            expected = (a & 1).astype(np.bool_)
        else:
            expected = a.astype(dtype)
    same(got, expected)


@pytest.mark.parametrize(("name", "target"), [("fptosi", "i32"), ("fptosi", "i8"), ("fptoui", "i32")])
def test_float_to_integer(name: str, target: str) -> None:
    a = np.array([0.0, 0.9, 1.5, 100.99, -0.5, 3.0, 77.7, 1.0], np.float32)
    got = elementwise(f"%r = arith.{name} %a : f32 to {target}", [a], ["f32"], target)
    same(got, np.trunc(a).astype(DTYPES[target]))


def test_denormals_survive_conversion_to_bfloat() -> None:
    a = np.array([1e-40, -3e-39, 9.2e-41, 4.6e-41, 4.5e-41, 1e-38, 1.0, -0.0], np.float32)
    got = elementwise("%r = arith.truncf %a : f32 to bf16", [a], ["f32"], "bf16")
    np.testing.assert_array_equal(got.view("u2"), a.astype(ml_dtypes.bfloat16).view("u2"))


def test_index_cast() -> None:
    a = integers("i32")
    text = """%x = arith.index_cast %a : i32 to index
              %y = arith.addi %x, %x : index
              %r = arith.index_cast %y : index to i64"""
    same(elementwise(text, [a], ["i32"], "i64"), a.astype(np.int64) * 2)


def test_product_and_sum_are_not_fused() -> None:
    """No contraction without the flag; with it, the machine's fused multiply-add."""
    rng = np.random.default_rng(0)
    a, b, c = (rng.normal(size=64).astype(np.float32) for _ in range(3))
    types = ["f32"] * 3
    text = "%p = arith.mulf %a, %b : f32\n%r = arith.addf %p, %c : f32"
    same(elementwise(text, [a, b, c], types, "f32"), a * b + c)
    fused = (a.astype(np.float64) * b + c).astype(np.float32)
    same(elementwise("%r = math.fma %a, %b, %c : f32", [a, b, c], types, "f32"), fused)


MATH_UNARY = {
    "sqrt": np.sqrt,
    "absf": np.abs,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "roundeven": np.rint,
    "round": lambda a: np.copysign(np.floor(np.abs(a) + 0.5), a),
}


@pytest.mark.long(3)
@pytest.mark.sample(5)
@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("type_", ["bf16", "f32", "f64"])
@pytest.mark.parametrize("name", MATH_UNARY)
def test_math_intrinsic(name: str, type_: str, vector: bool) -> None:
    a = floats(type_)
    shown = f"vector<8x{type_}>" if vector else type_
    got = elementwise(f"%r = math.{name} %a : {shown}", [a], [type_], type_, vector)
    with np.errstate(all="ignore"):
        expected = MATH_UNARY[name](a.astype(np.float64) if type_ != "f64" else a).astype(a.dtype)
    same(got, expected)


def test_copysign_and_rsqrt() -> None:
    a, b = floats("f32"), floats("f32", 1)
    same(elementwise("%r = math.copysign %a, %b : f32", [a, b], ["f32", "f32"], "f32"), np.copysign(a, b))
    with np.errstate(all="ignore"):
        expected = (np.float32(1) / np.sqrt(a)).astype(np.float32)
    same(elementwise("%r = math.rsqrt %a : f32", [a], ["f32"], "f32"), expected)


def test_math_integers() -> None:
    a = integers("i32")
    bits = [f"{value & 0xFFFFFFFF:032b}" for value in a.tolist()]
    expected = {
        "ctpop": [text.count("1") for text in bits],
        "ctlz": [len(text) - len(text.lstrip("0")) for text in bits],
        "cttz": [len(text) - len(text.rstrip("0")) for text in bits],
    }
    for name, counts in expected.items():
        got = elementwise(f"%r = math.{name} %a : i32", [a], ["i32"], "i32")
        same(got, np.array(counts, np.int32))
    same(elementwise("%r = math.absi %a : i32", [a], ["i32"], "i32"), np.abs(a))


LIBRARY = "acos acosh asin asinh atan atanh cbrt cos cosh exp exp2 expm1 log log10 log1p log2 sin sinh tan tanh".split()
NUMPY_NAMES = {
    "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atanh": "arctanh",
}  # fmt: skip


@pytest.mark.long(8)
@pytest.mark.spread(2)
@pytest.mark.parametrize("type_", ["f16", "f32", "f64"])
@pytest.mark.parametrize("name", LIBRARY)
def test_math_library(name: str, type_: str) -> None:
    a = np.linspace(-2.5, 2.5, 32).astype(DTYPES[type_])
    got = elementwise(f"%r = math.{name} %a : {type_}", [a], [type_], type_)
    with np.errstate(all="ignore"):
        expected = getattr(np, NUMPY_NAMES.get(name, name))(a.astype(np.float64))
    tolerance = {"f16": 2e-3, "f32": 1e-6, "f64": 1e-14}[type_]
    np.testing.assert_allclose(got.astype(np.float64), expected, rtol=tolerance, atol=tolerance)


def test_math_library_of_two_operands_and_vectors() -> None:
    a, b = np.linspace(0.1, 3, 16), np.linspace(-2, 2, 16)
    got = elementwise("%r = math.atan2 %a, %b : f64", [a, b], ["f64", "f64"], "f64")
    np.testing.assert_allclose(got, np.arctan2(a, b), rtol=1e-14)
    got = elementwise("%r = math.powf %a, %b : vector<8xf64>", [a, b], ["f64", "f64"], "f64", vector=True)
    np.testing.assert_allclose(got, np.power(a, b), rtol=1e-14)
