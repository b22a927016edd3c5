"""Loops of functions in vectors with their steps written out: the same results, and what is left to the optimizer."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from xhlo.targets.cpu import jit
from xhlo.targets.cpu.vector_loops import written_out

BOTH = """
define void @f(ptr noalias %x, i64 %x_at, ptr noalias %y, i64 %y_at, i64 %apart, ptr noalias %z, i64 %start, i64 %n) {
b0:
  %some = icmp slt i64 %start, %n
  br i1 %some, label %b1, label %b2
b1:
  %i = phi i64 [ %start, %b0 ], [ %next, %b1 ]
  %sum = phi <4 x float> [ splat (float 1.0), %b0 ], [ %more_sum, %b1 ]
  %x_i = add i64 %x_at, %i
  %p = getelementptr inbounds float, ptr %x, i64 %x_i
  %y_i = mul i64 %i, %apart
  %y_j = add i64 %y_i, %y_at
  %q = getelementptr inbounds float, ptr %y, i64 %y_j
  %a = load <4 x float>, ptr %p, align 4
  %q_b = getelementptr inbounds float, ptr %q, i64 4
  %b = load <4 x float>, ptr %q_b, align 4
  %c = fmul <4 x float> %a, %b
  %more_sum = fadd <4 x float> %sum, %c
  %next = add nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %b1, label %b2MARK
b2:
  %end = phi <4 x float> [ splat (float 1.0), %b0 ], [ %more_sum, %b1 ]
  store <4 x float> %end, ptr %z, align 4
  ret void
}
"""
MARK = '\n!0 = !{!"llvm.loop.unroll.count", i32 4}\n!1 = distinct !{!1, !0}\n'

MAPPED = """
define void @f(ptr noalias %x, ptr noalias %y, i64 %n) {
b0:
  br label %b1
b1:
  %j = phi i64 [ 0, %b0 ], [ %j_next, %b3 ]
  %j_at = mul i64 %j, 8
  br label %b2
b2:
  %i = phi i64 [ 0, %b1 ], [ %next, %b2 ]
  %at = add i64 %i, %j_at
  %p = getelementptr float, ptr %x, i64 %at
  %v = load <4 x float>, ptr %p, align 4
  %count = trunc i64 %i to i32
  %number = sitofp i32 %count to float
  %one = insertelement <4 x float> poison, float %number, i64 0
  %all = shufflevector <4 x float> %one, <4 x float> poison, <4 x i32> zeroinitializer
  %w = fadd <4 x float> %v, %all
  %q = getelementptr float, ptr %y, i64 %at
  store <4 x float> %w, ptr %q, align 4
  %next = add nsw i64 %i, 4
  %more = icmp slt i64 %next, 8
  br i1 %more, label %b2, label %b3
b3:
  %j_next = add nsw i64 %j, 1
  %j_more = icmp slt i64 %j_next, %n
  br i1 %j_more, label %b1, label %b4
b4:
  ret void
}
"""


@pytest.mark.parametrize("marked", [False, True])
def test_sums(marked: bool) -> None:
    """Loops of no, few and several whole rounds of four steps, from any start; each sum in the order of the loop."""
    text = BOTH.replace("MARK", ", !llvm.loop !1") + MARK if marked else BOTH.replace("MARK", "")
    written = written_out(text)
    assert written is not None
    assert written.count("fmul <4 x float>") == (5 if marked else 1)
    loaded = jit.load(jit.compile_to_object(text, level=jit.IN_VECTORS), ["f"])
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal(size).astype(np.float32) for size in (32, 256))
    function = jit.ctypes.CFUNCTYPE(None, *[jit.ctypes.c_void_p, jit.ctypes.c_int64] * 2, *FURTHER)(loaded.address("f"))
    for start, n in itertools.product((0, 2, 3), range(13)):
        expected = np.ones(4, np.float32)
        for i in range(start, n):
            expected += x[1 + i : 5 + i] * y[7 + 9 * i + 4 : 7 + 9 * i + 8]
        found = np.zeros(4, np.float32)
        function(x.ctypes.data, 1, y.ctypes.data, 7, 9, found.ctypes.data, start, n)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("n", "products"), [(12, 4), (13, 5)])
def test_sums_of_a_known_number(n: int, products: int) -> None:
    """No loop for the rest where there is none."""
    text = BOTH.replace("MARK", ", !llvm.loop !1") + MARK
    text = text.replace("i64 %next, %n", f"i64 %next, {n}").replace("[ %start,", "[ 0,")
    written = written_out(text)
    assert written is not None
    assert written.count("fmul <4 x float>") == products
    loaded = jit.load(jit.compile_to_object(text, level=jit.IN_VECTORS), ["f"])
    x, y, z = (np.arange(size, dtype=np.float32) for size in (16, 32, 4))
    function = jit.ctypes.CFUNCTYPE(None, *[jit.ctypes.c_void_p, jit.ctypes.c_int64] * 2, *FURTHER)(loaded.address("f"))
    function(x.ctypes.data, 0, y.ctypes.data, 0, 1, z.ctypes.data, 0, 1)
    np.testing.assert_array_equal(z, 1 + sum(x[i : i + 4] * y[i + 4 : i + 8] for i in range(n)))


FURTHER = (jit.ctypes.c_int64, jit.ctypes.c_void_p, jit.ctypes.c_int64, jit.ctypes.c_int64)


def test_counters_that_a_loop_uses_and_loops_around() -> None:
    assert written_out(MAPPED) is not None
    loaded = jit.load(jit.compile_to_object(MAPPED, level=jit.IN_VECTORS), ["f"])
    x, y = np.arange(24, dtype=np.float32), np.zeros(24, np.float32)
    function = jit.ctypes.CFUNCTYPE(None, jit.ctypes.c_void_p, jit.ctypes.c_void_p, jit.ctypes.c_int64)
    function(loaded.address("f"))(x.ctypes.data, y.ctypes.data, 3)
    np.testing.assert_array_equal(y, x + np.tile(np.repeat([0, 4], 4), 3))


def test_places_that_a_loop_finds_are_left_in_it() -> None:
    text = MAPPED.replace("%at = add i64 %i, %j_at", "%at = xor i64 %i, %j_at")
    assert written_out(text) is not None
    loaded = jit.load(jit.compile_to_object(text, level=jit.IN_VECTORS), ["f"])
    x, y = np.arange(24, dtype=np.float32), np.zeros(24, np.float32)
    function = jit.ctypes.CFUNCTYPE(None, jit.ctypes.c_void_p, jit.ctypes.c_void_p, jit.ctypes.c_int64)
    function(loaded.address("f"))(x.ctypes.data, y.ctypes.data, 3)
    np.testing.assert_array_equal(y, x + np.tile(np.repeat([0, 4], 4), 3))


@pytest.mark.parametrize(
    ("pattern", "instead"),
    [
        ("br i1 %more, label %b2, label %b3", "br i1 %more, label %b2, label %b3, !llvm.loop !1"),  # wholly, by LLVM
        ("%at = add i64 %i, %j_at", "%at = mul i64 %i, %i"),  # does not grow evenly
        ("%next = add nsw i64 %i, 4", "%next = add nsw i64 %i, %n"),  # no number
        ("%j_next = add nsw i64 %j, 1", "%used = add i64 %at, 1\n  %j_next = add nsw i64 %j, 1"),  # inner value
        ("icmp slt i64 %next, 8", "icmp ne i64 %next, 8"),  # another end
        ("icmp slt i64 %next, 8", "icmp slt i64 %next, %at"),  # an end that moves
        ("ptr %y, i64 %at", "ptr %y, i64 %next"),  # the next iteration's number
    ],
)
def test_other_loops_are_left_to_the_optimizer(pattern: str, instead: str) -> None:
    assert pattern in MAPPED
    text = MAPPED.replace(pattern, instead) + '\n!0 = !{!"llvm.loop.unroll.full"}\n!1 = distinct !{!1, !0}\n'
    assert written_out(text) is None


def test_steps_of_which_a_mask_tells_no_rest_are_left_to_the_optimizer() -> None:
    text = BOTH.replace("MARK", ", !llvm.loop !1") + MARK
    assert written_out(text) is not None
    assert written_out(text.replace("i32 4}", "i32 3}")) is None


def test_short_loops_in_deep_nests_are_left_to_the_optimizer() -> None:
    """Long ones are not, nor those whose places need few instructions."""
    outer = "b0:\n  br label %c1\nc1:\n  %k = phi i64 [ 0, %b0 ], [ %k_next, %b4 ]\n  br label %b1\nb1:"
    end = "b4:\n  %k_next = add nsw i64 %k, 1\n  %k_more = icmp slt i64 %k_next, %n\n  br i1 %k_more, label %c1, label %b5\nb5:"
    deep = MAPPED.replace("b0:\n  br label %b1\nb1:", outer).replace("[ 0, %b0 ], [ %j_next", "[ 0, %c1 ], [ %j_next")
    deep = deep.replace("b4:", end)
    assert written_out(deep) is not None
    places = "".join(f"  %at{i} = add i64 %{f'at{i - 1}' if i else 'i'}, %j_at\n" for i in range(5))
    deep = deep.replace("  %at = add i64 %i, %j_at\n", f"{places}  %at = add i64 %at4, %j_at\n")
    assert written_out(deep) is None
    sums = "".join(f"  %w{i} = fadd <4 x float> %w{i - 1}, %all\n" for i in range(1, 100))
    long = deep.replace("  %q =", f"  %w0 = fadd <4 x float> %w, %v\n{sums}  %q =").replace(
        "float> %w, ptr", "float> %w99, ptr"
    )
    assert written_out(long) is not None


def test_values_that_are_handed_on_twice_are_left_to_the_optimizer() -> None:
    sum_, end = (line for line in BOTH.splitlines() if "[ splat (float 1.0), %b0 ]" in line)
    twice = BOTH.replace("MARK", "").replace(sum_, f"{sum_}\n{sum_.replace('%sum', '%other')}")
    assert written_out(BOTH.replace("MARK", "")) is not None
    assert end in twice
    assert written_out(twice) is None


def test_loops_with_many_pointers_are_left_to_the_optimizer() -> None:
    """Distances that follow from arguments need none; others do."""
    for distance, left in (("%n", False), ("%j", True)):
        more = [f"  %at{i} = mul i64 %at{i - 1}, {distance}\n" for i in range(1, 9)]
        more[0] = "  %at1 = mul i64 %n, %n\n"
        places = [f"  %to{i} = add i64 %at, %at{i}\n" for i in range(1, 9)]
        stores = [
            f"  %q{i} = getelementptr float, ptr %y, i64 %to{i}\n  store <4 x float> %w, ptr %q{i}, align 4\n"
            for i in range(1, 9)
        ]
        begin, end = MAPPED.split("  %next = add nsw i64 %i, 4\n")
        text = "".join((begin, *more, *places, *stores, "  %next = add nsw i64 %i, 4\n", end))
        assert (written_out(text) is None) == left


def test_addresses_that_arguments_are_between() -> None:
    """Elements in rows and planes: one pointer for the four that each iteration reads, another for what it writes."""
    text = """
define void @f(ptr noalias %x, i64 %row, i64 %plane, ptr noalias %y, i64 %n) {
b0:
  br label %b1
b1:
  %i = phi i64 [ 0, %b0 ], [ %next, %b1 ]
  %at = mul i64 %i, 8
  %p = getelementptr inbounds float, ptr %x, i64 %at
  %a = load <4 x float>, ptr %p, align 4
  %second = add i64 %at, %row
  %q = getelementptr inbounds float, ptr %x, i64 %second
  %b = load <4 x float>, ptr %q, align 4
  %i_half = mul i64 %i, 4
  %i_plane = add i64 %plane, %i_half
  %twice = mul i64 %i_plane, 2
  %far = sub i64 %twice, %row
  %r = getelementptr inbounds float, ptr %x, i64 %far
  %c = load <4 x float>, ptr %r, align 4
  %farther = add i64 %far, 3
  %s = getelementptr inbounds float, ptr %x, i64 %farther
  %d = load <4 x float>, ptr %s, align 4
  %ab = fsub <4 x float> %a, %b
  %cd = fmul <4 x float> %c, %d
  %abcd = fsub <4 x float> %ab, %cd
  %to = getelementptr inbounds float, ptr %y, i64 %i
  store <4 x float> %abcd, ptr %to, align 4
  %next = add nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %b1, label %b2
b2:
  ret void
}
"""
    written = written_out(text)
    assert written is not None
    assert written.count("= call ptr asm") == 2
    loaded = jit.load(jit.compile_to_object(text, level=jit.IN_VECTORS), ["f"])
    x, y = np.random.default_rng(1).standard_normal(300).astype(np.float32), np.zeros(12, np.float32)
    kinds = [jit.ctypes.c_void_p, jit.ctypes.c_int64, jit.ctypes.c_int64, jit.ctypes.c_void_p, jit.ctypes.c_int64]
    jit.ctypes.CFUNCTYPE(None, *kinds)(loaded.address("f"))(x.ctypes.data, 11, 50, y.ctypes.data, 8)
    expected = np.zeros(12, np.float32)
    for i in range(8):
        a, b, c, d = (x[8 * i + start : 8 * i + start + 4] for start in (0, 11, 89, 92))
        expected[i : i + 4] = (a - b) - c * d
    np.testing.assert_array_equal(y, expected)


def rows_of(count: int, more: str = "") -> str:
    """A function that adds up `count` rows of x, which are apart by an argument, eight steps after each other."""
    rows = "".join(
        f"""  %apart{i} = mul i64 %row, {i}
  %at{i} = add i64 %at, %apart{i}
  %p{i} = getelementptr inbounds float, ptr %x, i64 %at{i}
  %v{i} = load <4 x float>, ptr %p{i}, align 4
  %s{i} = fadd <4 x float> %{f"s{i - 1}" if i else "sum"}, %v{i}
"""
        for i in range(count)
    )
    return f"""
define void @f(ptr noalias %x, i64 %row, i64 %step, ptr noalias %y) {{
b0:
  br label %b1
b1:
  %i = phi i64 [ 0, %b0 ], [ %next, %b1 ]
  %sum = phi <4 x float> [ splat (float 0.0), %b0 ], [ %s{count - 1}, %b1 ]
  %at = mul i64 %i, %step
{rows}{more}  %next = add nsw i64 %i, 1
  %more = icmp slt i64 %next, 8
  br i1 %more, label %b1, label %b2, !llvm.loop !1
b2:
  store <4 x float> %s{count - 1}, ptr %y, align 4
  ret void
}}
{MARK}"""


def sums_of_rows(text: str, count: int) -> None:
    loaded = jit.load(jit.compile_to_object(text, level=jit.IN_VECTORS), ["f"])
    kinds = [jit.ctypes.c_void_p, jit.ctypes.c_int64, jit.ctypes.c_int64, jit.ctypes.c_void_p]
    x, y = np.random.default_rng(0).integers(0, 99, 300).astype(np.float32), np.zeros(4, np.float32)
    jit.ctypes.CFUNCTYPE(None, *kinds)(loaded.address("f"))(x.ctypes.data, 13, 5, y.ctypes.data)
    expected = sum(x[13 * i + 5 * step :][:4] for i in range(count) for step in range(8))
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize(("count", "pointers"), [(6, 1), (8, 1), (9, 2), (14, 2)])
def test_rows_whose_distances_have_no_registers_get_another_pointer(count: int, pointers: int) -> None:
    text = rows_of(count)
    written = written_out(text)
    assert written is not None
    assert written.count("= call ptr asm") == pointers
    sums_of_rows(text, count)


def test_instructions_add_steps_that_arguments_are() -> None:
    """Each reads from the first address and the steps so far, unless other addresses follow from those it reads."""
    far = """  %far = getelementptr float, ptr %p0, i64 %row
  call void @llvm.prefetch.p0(ptr %far, i32 0, i32 3, i32 1)
"""
    for text, from_first in (
        (rows_of(1), 4),
        (rows_of(1, far) + "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)\n", 1),
    ):
        written = written_out(text)
        assert written is not None
        lines = [line for line in written.splitlines() if line.startswith("  %p0.all") and "getelementptr" in line]
        assert len(lines) == 4 and sum("ptr %p0.all0," in line for line in lines) == from_first
        sums_of_rows(text, 1)
