"""Values that loops take from outside are frozen where LLVM would take long to take them apart."""

from __future__ import annotations

import ctypes
import re

import numpy as np
import pytest

from xhlo.targets.cpu import jit
from xhlo.targets.cpu.fixed_places import LEAST_ADDRESSES, with_fixed_places


def sums_of_rows(rows: int, addresses: int = LEAST_ADDRESSES) -> str:
    """An optimized loop that reads rows whose first places it takes from outside."""
    lines = ["define void @f(ptr %x, i64 %n) {", "top:"]
    lines += [f"  %row{i} = mul i64 %n, {i + 2}" for i in range(rows)]
    lines += ["  br label %loop", "", "loop:                 ; preds = %loop, %top"]
    lines += ["  %i = phi i64 [ 0, %top ], [ %next, %loop ]"]
    for i in range(addresses):
        lines += [f"  %at{i} = add nuw nsw i64 %i, %row{i % rows}"]
        lines += [f"  %p{i} = getelementptr inbounds float, ptr %x, i64 %at{i}"]
        lines += [f"  store float 1.0, ptr %p{i}, align 4"]
    lines += ["  %next = add i64 %i, 1", "  %more = icmp slt i64 %next, %n"]
    lines += ["  br i1 %more, label %loop, label %end", "", "end:                  ; preds = %loop", "  ret void", "}"]
    return "\n".join(lines) + "\n"


def test_sums_of_a_loop_have_frozen_values() -> None:
    text = with_fixed_places(sums_of_rows(rows=3))
    assert text is not None
    assert text.count("freeze i64") == 3
    assert "  %row2 = mul i64 %n, 4\n  %fixed.row2 = freeze i64 %row2\n" in text
    assert "  %at5 = add nuw nsw i64 %i, %fixed.row2\n" in text
    assert "freeze i64 %n" not in text  # an argument is one value already


def test_pointers_are_frozen() -> None:
    optimized = sums_of_rows(rows=3)
    for i in range(3):
        optimized = optimized.replace(f"%row{i} = mul i64 %n, {i + 2}", f"%row{i} = getelementptr i8, ptr %x, i64 {i}")
    optimized = re.sub(r"  %at\d+ = add .*\n", "", optimized)
    optimized = re.sub(r"ptr %x, i64 %at(\d+)", lambda match: f"ptr %row{int(match[1]) % 3}, i64 %i", optimized)
    text = with_fixed_places(optimized)
    assert text is not None
    assert text.count(" = freeze ptr %row") == 3
    jit.compile_to_object(text)


@pytest.mark.parametrize("text", [sums_of_rows(rows=2), sums_of_rows(rows=3, addresses=LEAST_ADDRESSES - 1)])
def test_small_loops_stay(text: str) -> None:
    assert with_fixed_places(text) is None


def test_loops_over_arguments_stay() -> None:
    assert with_fixed_places(re.sub(r"%row\d+(?! =)", "%n", sums_of_rows(rows=3))) is None


def test_machine_code_is_made_of_frozen_values() -> None:
    """The optimizer makes vectors of a loop; its sums are NumPy's to the bit."""
    lines = ["define void @f(ptr noalias %x, ptr noalias %y, i64 %n) {", "top:"]
    lines += [f"  %row{k} = mul i64 %n, {k}" for k in range(10)]
    lines += ["  br label %loop", "loop:", "  %i = phi i64 [ 0, %top ], [ %next, %loop ]"]
    for k in range(10):
        lines += [f"  %at{k} = add nuw nsw i64 %row{k}, %i", f"  %p{k} = getelementptr float, ptr %x, i64 %at{k}"]
        before = f"%s{k - 1}" if k else "0.0"
        lines += [f"  %v{k} = load float, ptr %p{k}, align 4", f"  %s{k} = fadd float {before}, %v{k}"]
    lines += ["  %q = getelementptr float, ptr %y, i64 %i", "  store float %s9, ptr %q, align 4"]
    lines += ["  %next = add nuw nsw i64 %i, 1", "  %more = icmp slt i64 %next, %n"]
    text = "\n".join([*lines, "  br i1 %more, label %loop, label %end", "end:", "  ret void", "}", ""])
    assert jit.optimize(text).count(" = freeze ") >= 9
    code = jit.load(text, ["f"])
    x, y = np.random.default_rng(0).standard_normal((10, 100), dtype=np.float32), np.empty(100, np.float32)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(code.address("f"))(
        x.ctypes.data, y.ctypes.data, 100
    )
    expected = np.zeros(100, np.float32)
    for row in x:
        expected += row
    np.testing.assert_array_equal(y, expected)
