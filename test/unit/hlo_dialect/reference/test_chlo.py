"""chlo: references, the accuracy of the decomposition, and what the pass keeps and refuses."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from xhlo.hlo_dialect.chlo.base import SquareOp
from xhlo.hlo_dialect.chlo.special import ErfcOp, ErfOp
from xhlo.hlo_dialect.diagnostics import DiagnosticError, HloContext
from xhlo.hlo_dialect.reference import evaluate
from xhlo.hlo_dialect.shapes import DYNAMIC
from xhlo.hlo_dialect.types import element_type_of, f32, make_tensor
from xhlo.lowering.convert_chlo_to_hlo.conversion import ConvertChloToHloPass

bf16 = ml_dtypes.bfloat16


def module_of(op: type[Any], type_: Any) -> ModuleOp:
    """A function @main that applies `op`, with the location x.mlir:7:3."""
    block = Block(arg_types=[type_])
    applied = op.infer([block.args[0]])
    applied.location = FileLineColLoc(StringAttr("x.mlir"), IntAttr(7), IntAttr(3))
    block.add_ops([applied, ReturnOp(applied.result)])
    return ModuleOp([FuncOp("main", ((type_,), (type_,)), Region(block))])


def run(op: type[Any], x: Any, decomposed: bool) -> Any:
    element_type = element_type_of(x.dtype)
    assert element_type is not None
    module = module_of(op, make_tensor(x.shape, element_type))
    if decomposed:
        ConvertChloToHloPass(complete=True).apply(HloContext(), module)
    module.verify()
    (result,) = evaluate(module, [x])
    assert result.dtype == x.dtype and result.shape == x.shape
    return result


def worst_ulp(result: Any, exact: Any) -> float:
    """The largest error in units of the last place of the exact values, which are f64."""
    tiny, digits = (float(ml_dtypes.finfo(result.dtype).smallest_normal), ml_dtypes.finfo(result.dtype).nmant)
    _, exponent = np.frexp(np.maximum(np.abs(exact), tiny))
    return float(np.max(np.abs(result.astype(np.float64) - exact) / np.ldexp(1.0, exponent - 1 - digits)))


def inputs(dtype: Any, end: float) -> Any:
    rng = np.random.default_rng(0)
    parts = [rng.uniform(-end, end, 20000), rng.uniform(-1.2, 1.2, 5000), 10.0 ** rng.uniform(-30, 0, 500)]
    edges = [rng.uniform(edge - 0.01, edge + 0.01, 500) for edge in (0.5, 1.0, 4.0, 6.0)]
    return np.concatenate([*parts, *edges]).astype(dtype)


@pytest.mark.parametrize(("op", "function"), [(ErfOp, math.erf), (ErfcOp, math.erfc)], ids=["erf", "erfc"])
@pytest.mark.parametrize(("dtype", "bound"), [(bf16, 0.51), (np.float16, 0.51), (np.float32, 1.5), (np.float64, 4)])
def test_accuracy(op: type[Any], function: Callable[[float], float], dtype: Any, bound: float):
    """The C library's f64 functions are themselves accurate only to 1 ulp, which the bound of f64 includes."""
    x = inputs(dtype, 27.4 if dtype is np.float64 else 10.4)
    exact = np.array([function(float(value)) for value in x])
    assert worst_ulp(run(op, x, decomposed=True), exact) <= bound


def exact_erfc(x: float) -> Fraction:
    """erfc(x) for x >= 4 by its continued fraction, to 30 digits."""
    z, tail = Fraction(x), Fraction(0)
    for k in range(160, 0, -1):
        tail = Fraction(k, 2) / (z + tail)
        tail = tail.limit_denominator(10**40)
    return _exp(-z * z) / (z + tail) / _SQRT_PI


_SQRT_PI = Fraction(1772453850905516027298167483341145182798, 10**39)


def _exp(x: Fraction) -> Fraction:
    """e^x to 40 digits."""
    small, term, total = x / 4096, Fraction(1), Fraction(1)
    for k in range(1, 40):
        term = Fraction(round(term * small / k * 10**80), 10**80)
        total += term
    for _ in range(12):
        total = Fraction(total.numerator * total.numerator, total.denominator**2)
        scale = 10 ** max(60, 60 + len(str(total.denominator)) - len(str(total.numerator)))
        total = Fraction(round(total * scale), scale)
    return total


@pytest.mark.parametrize("x", [4.3, 7.123456789, 11.75, 19.017, 25.999])
def test_tail_in_double_keeps_its_precision(x: float):
    result = Fraction(float(run(ErfcOp, np.array(x), decomposed=True)))
    exact = exact_erfc(x)
    assert abs(result - exact) <= exact * 4 * Fraction(1, 2**52)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("decomposed", [False, True])
def test_ends(dtype: Any, decomposed: bool):
    x = np.array([math.nan, math.inf, -math.inf, 0.0, -0.0, 100, -100, 1e30], dtype)
    erf, erfc = run(ErfOp, x, decomposed), run(ErfcOp, x, decomposed)
    np.testing.assert_array_equal(erf, np.array([math.nan, 1, -1, 0, 0, 1, -1, 1], dtype))
    np.testing.assert_array_equal(np.signbit(erf[3:5]), [False, True])
    np.testing.assert_array_equal(erfc, np.array([math.nan, 0, 2, 1, 1, 0, 2, 0], dtype))


def test_denormal_results_of_erfc():
    x = np.linspace(9.2, 10.0, 400).astype(np.float32)
    result = run(ErfcOp, x, decomposed=True)
    exact = np.array([math.erfc(float(value)) for value in x])
    assert (result > 0).all() and result[-1] < np.finfo(np.float32).tiny
    assert worst_ulp(result, exact) <= 1.0


@pytest.mark.parametrize("dtype", [bf16, np.float16, np.float32, np.float64, np.complex64])
def test_square(dtype: Any):
    x = np.array([0, 1, 3, 11], dtype)
    for decomposed in (False, True):
        np.testing.assert_array_equal(run(SquareOp, x, decomposed), (x * x).astype(dtype))


def test_operations_keep_their_place():
    module = module_of(ErfcOp, make_tensor((3,), f32))
    ConvertChloToHloPass(complete=True).apply(HloContext(), module)
    ops = [op for op in module.walk() if op.name.startswith("hlo.")]
    assert len(ops) > 20
    assert all(str(op.location) == str(ops[0].location) and "x.mlir" in str(op.location) for op in ops)


def test_unknown_shapes_are_refused():
    module = module_of(ErfOp, make_tensor((DYNAMIC,), f32))
    with pytest.raises(DiagnosticError, match=r"'chlo.erf' op cannot be decomposed: the shape of .* is unknown"):
        ConvertChloToHloPass(complete=True).apply(HloContext(), module)
