"""Operations on the SIMT interpreter: against LLVM's machine code, NumPy and Python's integers."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from lowered_programs import DTYPES, elementwise, floats, integers, same
from simt_programs import SHARED, kernel_text, run_device_function

BF16 = ml_dtypes.bfloat16


def on_simt(body: str, inputs: list[np.ndarray], types: list[str], result: str) -> np.ndarray:
    """`body` defines %r of %a, %b, ..; a block of threads, one for each element."""
    count = len(inputs[0])
    names = "abc"[: len(inputs)]
    loads = "\n".join(f"%{n} = memref.load %m{n}[%t] : memref<{count}x{t}>" for n, t in zip(names, types, strict=True))
    parameters = ", ".join(f"%m{n}: memref<{count}x{t}>" for n, t in zip(names, types, strict=True))
    out = np.zeros(count, DTYPES[result])
    text = kernel_text(
        f"{loads}\n{body}\nmemref.store %r, %out[%t] : memref<{count}x{result}>",
        f"{parameters}, %out: memref<{count}x{result}>",
        threads=count,
    )
    run_device_function(text, *inputs, out)
    return out


def agrees(body: str, inputs: list[np.ndarray], types: list[str], result: str) -> None:
    same(on_simt(body, inputs, types, result), elementwise(body, inputs, types, result))


WIDE = ["i8", "i16", "i32", "i64"]
PREDICATES = ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"]


@pytest.mark.long(2)
@pytest.mark.sample(2)
@pytest.mark.parametrize("type_", WIDE)
def test_integer_arithmetic(type_: str):
    a, b = integers(type_, 0), integers(type_, 1)
    for op in ("addi", "subi", "muli", "andi", "ori", "xori", "maxsi", "minsi", "maxui", "minui"):
        agrees(f"%r = arith.{op} %a, %b : {type_}", [a, b], [type_, type_], type_)
    for predicate in PREDICATES:
        agrees(f"%r = arith.cmpi {predicate}, %a, %b : {type_}", [a, b], [type_, type_], "i1")
    width = np.dtype(DTYPES[type_]).itemsize * 8
    amount = (np.arange(len(a)) % width).astype(a.dtype)
    for op in ("shli", "shrsi", "shrui"):
        agrees(f"%r = arith.{op} %a, %b : {type_}", [a, amount], [type_, type_], type_)


@pytest.mark.parametrize("type_", WIDE)
def test_integer_division(type_: str):
    a, b = integers(type_, 0), integers(type_, 1)
    b = np.where(b == 0, 3, b).astype(b.dtype)
    overflow = (a == np.iinfo(a.dtype).min) & (b == -1)
    b = np.where(overflow, 5, b).astype(b.dtype)
    for op in ("divsi", "remsi", "divui", "remui", "floordivsi"):
        agrees(f"%r = arith.{op} %a, %b : {type_}", [a, b], [type_, type_], type_)
    exact = [-(-x // y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    np.testing.assert_array_equal(
        on_simt(f"%r = arith.ceildivsi %a, %b : {type_}", [a, b], [type_, type_], type_), np.array(exact, a.dtype)
    )


def test_booleans_and_select():
    a, b, c = integers("i1"), integers("i1")[::-1].copy(), integers("i32")
    for op in ("andi", "ori", "xori"):
        agrees(f"%r = arith.{op} %a, %b : i1", [a, b], ["i1", "i1"], "i1")
    for predicate in ("eq", "ne", "ult"):
        agrees(f"%r = arith.cmpi {predicate}, %a, %b : i1", [a, b], ["i1", "i1"], "i1")
    agrees("%r = arith.select %a, %b, %c : i32", [a, c, c[::-1].copy()], ["i1", "i32", "i32"], "i32")


@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_float_arithmetic(type_: str):
    a, b = floats(type_, 0), floats(type_, 1)
    for op in ("addf", "subf", "mulf", "divf", "maximumf", "minimumf"):
        agrees(f"%r = arith.{op} %a, %b : {type_}", [a, b], [type_, type_], type_)
    agrees(f"%r = arith.negf %a : {type_}", [a], [type_], type_)
    for op in ("absf", "ceil", "floor", "trunc", "round", "roundeven", "sqrt"):
        agrees(f"%r = math.{op} %a : {type_}", [a], [type_], type_)
    agrees(f"%r = math.copysign %a, %b : {type_}", [a, b], [type_, type_], type_)


@pytest.mark.parametrize("type_", ["f16", "bf16", "f32", "f64"])
def test_float_comparisons(type_: str):
    a, b = floats(type_, 0), floats(type_, 1)
    for predicate in ("oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno"):
        want = on_simt(f"%r = arith.cmpf {predicate}, %a, %b : {type_}", [a, b], [type_, type_], "i1")
        wide = a.astype(np.float64), b.astype(np.float64)
        order = {"eq": wide[0] == wide[1], "ne": (wide[0] < wide[1]) | (wide[0] > wide[1])}
        order |= {"gt": wide[0] > wide[1], "ge": wide[0] >= wide[1], "lt": wide[0] < wide[1], "le": wide[0] <= wide[1]}
        nan = np.isnan(wide[0]) | np.isnan(wide[1])
        special = {"ord": ~nan, "uno": nan}
        expected = special.get(predicate, order.get(predicate[1:]))
        assert expected is not None
        if predicate not in special and predicate[0] == "u":
            expected = expected | nan
        np.testing.assert_array_equal(want, expected, predicate)


CASTS = [
    ("extsi", "i8", "i32"), ("extui", "i8", "i32"), ("extui", "i1", "i32"), ("extsi", "i1", "i32"),
    ("trunci", "i64", "i16"), ("trunci", "i32", "i1"), ("sitofp", "i32", "f32"), ("uitofp", "i32", "f32"),
    ("uitofp", "i1", "f32"), ("sitofp", "i64", "f64"), ("extf", "bf16", "f32"), ("extf", "f16", "f64"),
    ("truncf", "f64", "f32"), ("truncf", "f32", "f16"), ("truncf", "f64", "f16"),
    ("bitcast", "f32", "i32"), ("bitcast", "i64", "f64"), ("bitcast", "bf16", "i16"),
]  # fmt: skip


@pytest.mark.parametrize(("op", "source", "target"), CASTS)
def test_casts(op: str, source: str, target: str):
    x = floats(source) if source[0] in "fb" else integers(source)
    agrees(f"%r = arith.{op} %a : {source} to {target}", [x], [source], target)


def test_rounding_to_bf16_is_to_nearest_even_and_once():
    bits = np.array([0x3F808000, 0x3F818000, 0x3F808001, 0x7F800000, 0xFF800000, 0x00000001], np.uint32)
    got = on_simt("%r = arith.truncf %a : f32 to bf16", [bits.view(np.float32)], ["f32"], "bf16")
    same(got.view(np.uint16), np.array([0x3F80, 0x3F82, 0x3F81, 0x7F80, 0xFF80, 0], np.uint16))
    # Just above a tie of bf16: an f32 in between would be the tie itself, and round down to even.
    x = np.array([1.0 + 2.0**-8 + 2.0**-40], np.float64)
    got = on_simt("%r = arith.truncf %a : f64 to bf16", [x], ["f64"], "bf16")
    assert float(got[0]) == 1.0 + 2.0**-7


def test_float_to_integer_in_range():
    x = np.array([0.0, -0.5, 1.9, -1.9, 2147483520.0, -2147483648.0], np.float32)
    agrees("%r = arith.fptosi %a : f32 to i32", [x], ["f32"], "i32")
    x = np.array([0.0, -0.5, 1.9, 4294967040.0, 2147483648.0], np.float32)
    agrees("%r = arith.fptoui %a : f32 to i32", [x], ["f32"], "i32")


@pytest.mark.parametrize("type_", WIDE)
def test_bit_counts_and_wide_products(type_: str):
    a, b = integers(type_, 0), integers(type_, 1)
    width = 8 * a.dtype.itemsize
    plain = [value % 2**width for value in a.tolist()]
    counts = {
        "ctpop": [value.bit_count() for value in plain],
        "ctlz": [width - value.bit_length() for value in plain],
        "cttz": [next((i for i in range(width) if value >> i & 1), width) for value in plain],
    }
    for op, want in counts.items():
        same(on_simt(f"%r = math.{op} %a : {type_}", [a], [type_], type_), np.array(want, a.dtype))
    for op, signed in (("mulsi_extended", True), ("mului_extended", False)):
        values = (a.tolist(), b.tolist()) if signed else (plain, [value % 2**width for value in b.tolist()])
        products = [x * y for x, y in zip(*values, strict=True)]
        for name, shift in (("%r, %high", 0), ("%low, %r", width)):
            got = on_simt(f"{name} = arith.{op} %a, %b : {type_}", [a, b], [type_, type_], type_)
            want = [(product >> shift) % 2**width for product in products]
            assert [value % 2**width for value in got.tolist()] == want


FUNCTIONS = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "log2": np.log2, "sin": np.sin,
    "cos": np.cos, "tan": np.tan, "tanh": np.tanh, "cbrt": np.cbrt, "rsqrt": lambda x: 1 / np.sqrt(x),
    "atan": np.arctan,
}  # fmt: skip


def test_elementary_functions():
    x = np.abs(floats("f32"))
    with np.errstate(all="ignore"):
        for name, function in FUNCTIONS.items():
            want = function(x.astype(np.float64)).astype(np.float32)
            same(on_simt(f"%r = math.{name} %a : f32", [x], ["f32"], "f32"), want)
        y = floats("f32", 3)
        want = np.power(x.astype(np.float64), y).astype(np.float32)
        same(on_simt("%r = math.powf %a, %b : f32", [x, y], ["f32", "f32"], "f32"), want)
        want = np.arctan2(y.astype(np.float64), x).astype(np.float32)
        same(on_simt("%r = math.atan2 %a, %b : f32", [y, x], ["f32", "f32"], "f32"), want)


def test_fma_rounds_once():
    a = np.array([1 + 2.0**-12], np.float32)
    c = np.array([-1 - 2.0**-11], np.float32)
    got = on_simt("%r = math.fma %a, %b, %c : f32", [a, a, c], ["f32"] * 3, "f32")
    assert got[0] == 2.0**-24


@pytest.mark.parametrize("width", [2, 4])
def test_narrow_integers(width: int):
    """In memory their upper bits are zero; arithmetic wraps."""
    type_, size, half = f"i{width}", 2**width, 2 ** (width - 1)
    pairs = [(x, y) for x in range(size) for y in range(size)]
    a, b = (np.array(values, np.int8) for values in zip(*pairs, strict=True))

    def compute(op: str) -> list[int]:
        count = len(a)
        body = f"""
        %x = memref.load %a[%t] : memref<{count}x{type_}>
        %y = memref.load %b[%t] : memref<{count}x{type_}>
        {op}
        memref.store %r, %o[%t] : memref<{count}x{type_}>
        """
        out = np.zeros(count, np.int8)
        parameters = ", ".join(f"%{name}: memref<{count}x{type_}>" for name in "abo")
        run_device_function(kernel_text(body, parameters, threads=count), a, b, out)
        return out.tolist()

    def signed(value: int) -> int:
        return value - size if value >= half else value

    wanted = {
        "addi": lambda x, y: x + y,
        "muli": lambda x, y: x * y,
        "maxui": max,
        "maxsi": lambda x, y: max(signed(x), signed(y)),
    }
    for name, function in wanted.items():
        assert compute(f"%r = arith.{name} %x, %y : {type_}") == [function(x, y) % size for x, y in pairs], name
    for name, function in (("ult", lambda x, y: x < y), ("slt", lambda x, y: signed(x) < signed(y))):
        got = compute(f"%g = arith.cmpi {name}, %x, %y : {type_}\n%r = arith.extui %g : i1 to {type_}")
        assert got == [int(function(x, y)) for x, y in pairs]
    assert compute(f"%r = math.ctlz %x : {type_}") == [(width - x.bit_length()) % size for x, _ in pairs]
    shifted = f"%one = arith.constant 1 : {type_}\n%r = arith.SHIFT %x, %one : {type_}"
    assert compute(shifted.replace("SHIFT", "shrui")) == [x >> 1 for x, _ in pairs]
    assert compute(shifted.replace("SHIFT", "shrsi")) == [(signed(x) >> 1) % size for x, _ in pairs]
    cast = f"%w = arith.EXT %x : {type_} to i32\n%three = arith.constant -3 : i32\n%s = arith.addi %w, %three : i32\n"
    cast += f"%c = arith.constant 0 : i32\n%l = arith.maxsi %s, %c : i32\n%r = arith.trunci %l : i32 to {type_}"
    assert compute(cast.replace("EXT", "extui")) == [max(x - 3, 0) for x, _ in pairs]
    assert compute(cast.replace("EXT", "extsi")) == [max(signed(x) - 3, 0) for x, _ in pairs]


# -- vectors --------------------------------------------------------------------------------------------------------


def test_vectors():
    x = np.arange(128, dtype=np.float32).reshape(32, 4)
    out = np.zeros((32, 4), np.float32)
    body = """
    %v = vector.load %a[%t, %c0] {alignment = 16 : i64} : memref<32x4xf32>, vector<4xf32>
    %w = vector.shuffle %v, %v [3, 2, 1, 4] : vector<4xf32>, vector<4xf32>
    %one = arith.constant dense<1.0> : vector<4xf32>
    %s = arith.addf %w, %one : vector<4xf32>
    %e = vector.extract %v[2] : f32 from vector<4xf32>
    %b4 = vector.broadcast %e : f32 to vector<4xf32>
    %m = vector.fma %b4, %one, %s : vector<4xf32>
    %sum = vector.reduction <add>, %v : vector<4xf32> into f32
    %r = vector.insert %sum, %m[3] : f32 into vector<4xf32>
    vector.store %r, %o[%t, %c0] {alignment = 16 : i64} : memref<32x4xf32>, vector<4xf32>
    """.replace("%b4", "%spread")
    run_device_function(kernel_text(body, "%a: memref<32x4xf32>, %o: memref<32x4xf32>", threads=32), x, out)
    want = x[:, [3, 2, 1, 0]] + 1 + x[:, 2:3]
    want[:, 3] = x.sum(axis=1)
    np.testing.assert_array_equal(out, want)


def test_vector_bitcast():
    x = np.arange(64, dtype=np.uint16).reshape(32, 2).view(np.int16)
    out = np.zeros((32, 1), np.int32)
    body = """
    %v = vector.load %a[%t, %c0] : memref<32x2xi16>, vector<2xi16>
    %w = vector.bitcast %v : vector<2xi16> to vector<1xi32>
    vector.store %w, %o[%t, %c0] : memref<32x1xi32>, vector<1xi32>
    """
    run_device_function(kernel_text(body, "%a: memref<32x2xi16>, %o: memref<32x1xi32>", threads=32), x, out)
    np.testing.assert_array_equal(out, x.view(np.int32))


# -- control flow ---------------------------------------------------------------------------------------------------


def test_divergent_loops_and_branches():
    """Collatz: each thread takes its own number of steps."""
    body = """
    %one = arith.constant 1 : i64
    %two = arith.constant 2 : i64
    %three = arith.constant 3 : i64
    %zero = arith.constant 0 : i64
    %x = memref.load %a[%t] : memref<64xi64>
    %n, %steps = scf.while (%v = %x, %s = %zero) : (i64, i64) -> (i64, i64) {
      %go = arith.cmpi ne, %v, %one : i64
      scf.condition(%go) %v, %s : i64, i64
    } do {
    ^bb0(%v: i64, %s: i64):
      %odd = arith.andi %v, %one : i64
      %is = arith.cmpi ne, %odd, %zero : i64
      %next = scf.if %is -> (i64) {
        %m = arith.muli %v, %three : i64
        %p = arith.addi %m, %one : i64
        scf.yield %p : i64
      } else {
        %h = arith.divui %v, %two : i64
        scf.yield %h : i64
      }
      %more = arith.addi %s, %one : i64
      scf.yield %next, %more : i64, i64
    }
    memref.store %steps, %o[%t] : memref<64xi64>
    """
    x, out = np.arange(1, 65), np.zeros(64, np.int64)
    run_device_function(kernel_text(body, "%a: memref<64xi64>, %o: memref<64xi64>", threads=64), x, out)

    def steps(value: int) -> int:
        return 0 if value == 1 else 1 + steps(3 * value + 1 if value % 2 else value // 2)

    assert out.tolist() == [steps(value) for value in x.tolist()]


def test_loops_of_different_length():
    body = """
    %zero = arith.constant 0 : index
    %sum = scf.for %i = %c0 to %t step %c1 iter_args(%s = %zero) -> (index) {
      %n = arith.addi %s, %i : index
      scf.yield %n : index
    }
    %x = arith.index_cast %sum : index to i64
    memref.store %x, %o[%block, %t] : memref<3x40xi64>
    """
    out = np.zeros((3, 40), np.int64)
    run_device_function(kernel_text(body, "%o: memref<3x40xi64>", threads=40, blocks=3), out)
    np.testing.assert_array_equal(out, np.broadcast_to([t * (t - 1) // 2 for t in range(40)], (3, 40)))


def test_private_memory():
    body = """
    %p = memref.alloca() : memref<4xi64>
    %c4 = arith.constant 4 : index
    scf.for %i = %c0 to %c4 step %c1 {
      %v = arith.muli %i, %t : index
      %x = arith.index_cast %v : index to i64
      memref.store %x, %p[%i] : memref<4xi64>
    }
    %k = arith.remui %t, %c4 : index
    %y = memref.load %p[%k] : memref<4xi64>
    memref.store %y, %o[%t] : memref<32xi64>
    """
    out = np.zeros(32, np.int64)
    run_device_function(kernel_text(body, "%o: memref<32xi64>", threads=32), out)
    np.testing.assert_array_equal(out, [t * (t % 4) for t in range(32)])


# -- warps and blocks -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [32, 8])
@pytest.mark.parametrize("mode", ["xor", "up", "down", "idx"])
def test_shuffles(mode: str, width: int):
    body = f"""
    %x = memref.load %a[%t] : memref<64xf32>
    %by = arith.constant 3 : i32
    %width = arith.constant {width} : i32
    %r, %valid = gpu.shuffle {mode} %x, %by, %width : f32
    memref.store %r, %o[%t] : memref<64xf32>
    memref.store %valid, %v[%t] : memref<64xi1>
    """
    x, out, valid = np.arange(64, dtype=np.float32) * 2, np.zeros(64, np.float32), np.zeros(64, np.bool_)
    parameters = "%a: memref<64xf32>, %o: memref<64xf32>, %v: memref<64xi1>"
    run_device_function(kernel_text(body, parameters, threads=64), x, out, valid)
    for t in range(64):
        first, lane = t // width * width, t % width
        wanted = {"xor": lane ^ 3, "up": lane - 3, "down": lane + 3, "idx": 3}[mode]
        there = 0 <= wanted < width
        assert valid[t] == there
        assert out[t] == (x[first + wanted] if there else x[t])


def test_blocks_and_threads_of_three_dimensions():
    text = """
    gpu.module @kernels {
      gpu.func @k(%o: memref<2x3x4x2x2x8xi32>) kernel attributes
          {known_block_size = array<i32: 8, 2, 2>, known_grid_size = array<i32: 4, 3, 2>} {
        %tx = gpu.thread_id x
        %ty = gpu.thread_id y
        %tz = gpu.thread_id z
        %bx = gpu.block_id x
        %by = gpu.block_id y
        %bz = gpu.block_id z
        %old = memref.load %o[%bz, %by, %bx, %tz, %ty, %tx] : memref<2x3x4x2x2x8xi32>
        %one = arith.constant 1 : i32
        %new = arith.addi %old, %one : i32
        memref.store %new, %o[%bz, %by, %bx, %tz, %ty, %tx] : memref<2x3x4x2x2x8xi32>
        gpu.return
      }
    }
    """
    out = np.arange(2 * 3 * 4 * 2 * 2 * 8, dtype=np.int32).reshape(2, 3, 4, 2, 2, 8)
    want = out + 1
    run_device_function(text, out)
    np.testing.assert_array_equal(out, want)


def test_block_sum_through_shared_memory():
    """A tree reduction over the threads of a block, with barriers in a loop that all threads run."""
    body = f"""
    %x = memref.load %a[%block, %t] : memref<300x64xf32>
    memref.store %x, %s[%t] : memref<64xf32, {SHARED}>
    %two = arith.constant 2 : index
    %six = arith.constant 6 : index
    %half = scf.for %i = %c0 to %six step %c1 iter_args(%h = %c32) -> (index) {{
      gpu.barrier
      %go = arith.cmpi ult, %t, %h : index
      scf.if %go {{
        %other = arith.addi %t, %h : index
        %p = memref.load %s[%t] : memref<64xf32, {SHARED}>
        %q = memref.load %s[%other] : memref<64xf32, {SHARED}>
        %r = arith.addf %p, %q : f32
        memref.store %r, %s[%t] : memref<64xf32, {SHARED}>
      }}
      %n = arith.divui %h, %two : index
      scf.yield %n : index
    }}
    %first = arith.cmpi eq, %t, %c0 : index
    scf.if %first {{
      %sum = memref.load %s[%c0] : memref<64xf32, {SHARED}>
      memref.store %sum, %o[%block] : memref<300xf32>
    }}
    """
    x = np.random.default_rng(0).integers(-50, 50, (300, 64)).astype(np.float32)
    out = np.zeros(300, np.float32)
    parameters = "%a: memref<300x64xf32>, %o: memref<300xf32>"
    run_device_function(kernel_text(body, parameters, threads=64, blocks=300, shared="%s: 64xf32"), x, out)
    np.testing.assert_array_equal(out, x.sum(axis=1))
