"""The semantics of arith and math: where results are undefined, and operations on integers of 2 and 4 bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xhlo.hlo_dialect.numbers.scalar_operations import scalar_function, undefined
from xhlo.hlo_dialect.reading import parse_module

I8 = np.iinfo(np.int8)


def operation(text: str, *types: str) -> Operation:
    """The one operation of a function whose arguments are %a, %b, .."""
    arguments = ", ".join(f"%{name}: {type_}" for name, type_ in zip("abc", types, strict=False))
    module: ModuleOp = parse_module(f"func.func @f({arguments}) {{\n  %r = {text}\n  return\n}}", "test.mlir")
    return next(op for op in module.walk() if op.results and op.name != "builtin.module")


@pytest.mark.parametrize(
    ("text", "types", "operands", "wanted"),
    [
        ("arith.divui %a, %b : i8", "i8", [[5, 5], [0, -1]], [True, False]),
        ("arith.divsi %a, %b : i8", "i8", [[I8.min, I8.min], [-1, 1]], [True, False]),
        ("arith.remsi %a, %b : i8", "i8", [[I8.min, 1, 1], [-1, 0, -1]], [True, True, False]),
        ("arith.shli %a, %b : i8", "i8", [[1, 1, 1], [7, 8, -1]], [False, True, True]),
        ("arith.shrui %a, %b : i4", "i4", [[1, 1], [3, 4]], [False, True]),
        ("arith.fptosi %a : f32 to i8", "f32", [[-128.9, 127.9, 128, -129, np.nan]], [False, False, True, True, True]),
        ("arith.fptoui %a : f32 to i8", "f32", [[-0.5, 255.9, 256, -1, np.inf]], [False, False, True, True, True]),
        ("arith.addi %a, %b : i8", "i8", [[I8.max], [1]], [False]),
    ],
)
def test_where_results_are_undefined(text: str, types: str, operands: list[Any], wanted: list[bool]):
    dtype = np.float32 if types == "f32" else np.int8
    op = operation(text, *[types] * len(operands))
    bad = np.zeros(len(wanted), np.bool_)
    for _, mask in undefined(op, *(np.array(x, dtype) for x in operands)):
        bad |= mask
    assert bad.tolist() == wanted


def test_an_operation_without_semantics_has_no_function():
    assert scalar_function(operation("arith.constant 1 : i32")) is None


def test_results_of_narrow_integers_are_truncated():
    function = scalar_function(operation("arith.addi %a, %b : i4", "i4", "i4"))
    assert function is not None
    assert function(np.array([7, -8], np.int8), np.array([1, -1], np.int8)).tolist() == [-8, 7]


def test_a_scalar_keeps_its_rank():
    function = scalar_function(operation("arith.bitcast %a : f32 to i32", "f32"))
    assert function is not None
    assert function(np.float32(1)).shape == ()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("arith.cmpi slt, %a, %b : i1", [False, False, True, False]),
        ("arith.cmpi sge, %a, %b : i1", [True, True, False, True]),
        ("arith.cmpi ult, %a, %b : i1", [False, True, False, False]),
        ("arith.cmpi ne, %a, %b : i1", [False, True, True, False]),
        ("arith.maxsi %a, %b : i1", [False, False, False, True]),
        ("arith.minsi %a, %b : i1", [False, True, True, True]),
        ("arith.maxui %a, %b : i1", [False, True, True, True]),
    ],
)
def test_true_is_the_lesser_boolean_as_a_signed_number(text: str, wanted: list[bool]):
    function = scalar_function(operation(text, "i1", "i1"))
    assert function is not None
    assert function(np.array([False, False, True, True]), np.array([False, True, False, True])).tolist() == wanted
