"""memref and vector operations compute the same as NumPy, run on this machine."""

from __future__ import annotations

import numpy as np
import pytest

from lowered_programs import DTYPES, elementwise, integers, run, same

# memref


def test_memref_of_bits() -> None:
    a = integers("i1")
    same(elementwise("%t = arith.constant true\n%r = arith.xori %a, %t : i1", [a], ["i1"], "i1"), ~a)
    text = "%t = arith.constant dense<true> : vector<8xi1>\n%r = arith.xori %a, %t : vector<8xi1>"
    same(elementwise(text, [a], ["i1"], "i1", vector=True), ~a)


def test_views_and_globals() -> None:
    """Subview with a dynamic offset, view of bytes, reinterpretation, reshapes, a global, and the stack."""
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    arena, out = np.zeros(256, np.uint8), np.zeros((3, 2), np.float32)
    run(
        """
        "memref.global"() <{sym_name = "table", sym_visibility = "private", constant, type = memref<6xf32>,
          initial_value = dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<6xf32>}> : () -> ()
        func.func @main(%x: memref<4x6xf32>, %arena: memref<256xi8>, %out: memref<3x2xf32>) {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c2 = arith.constant 2 : index
          %c3 = arith.constant 3 : index
          %c64 = arith.constant 64 : index
          %part = memref.subview %x[%c1, %c2] [3, 2] [1, 1]
            : memref<4x6xf32> to memref<3x2xf32, strided<[6, 1], offset: ?>>
          %temp = memref.view %arena[%c64][] : memref<256xi8> to memref<3x2xf32>
          %flat = memref.collapse_shape %temp [[0, 1]] : memref<3x2xf32> into memref<6xf32>
          %back = memref.reinterpret_cast %flat to offset: [0], sizes: [3, 2], strides: [2, 1]
            : memref<6xf32> to memref<3x2xf32>
          %table = memref.get_global @table : memref<6xf32>
          %square = memref.expand_shape %table [[0, 1]] output_shape [3, 2] : memref<6xf32> into memref<3x2xf32>
          "memref.copy"(%part, %temp) : (memref<3x2xf32, strided<[6, 1], offset: ?>>, memref<3x2xf32>) -> ()
          scf.for %i = %c0 to %c3 step %c1 {
            %slot = memref.alloca() : memref<2xf32>
            scf.for %j = %c0 to %c2 step %c1 {
              %a = memref.load %back[%i, %j] : memref<3x2xf32>
              memref.store %a, %slot[%j] : memref<2xf32>
            }
            scf.for %j = %c0 to %c2 step %c1 {
              %a = memref.load %slot[%j] : memref<2xf32>
              %b = memref.load %square[%i, %j] : memref<3x2xf32>
              %c = arith.addf %a, %b : f32
              memref.store %c, %out[%i, %j] : memref<3x2xf32>
            }
          }
          func.return
        }
        """,
        x,
        arena,
        out,
    )
    np.testing.assert_array_equal(out, x[1:, 2:4] + np.arange(1, 7, dtype=np.float32).reshape(3, 2))


def test_copies() -> None:
    """Contiguous, with contiguous rows, and element by element."""
    x = np.arange(24, dtype=np.int32).reshape(4, 6)
    whole, rows, columns = np.zeros((4, 6), np.int32), np.zeros((2, 3), np.int32), np.zeros((4, 1), np.int32)
    run(
        """
        func.func @main(%x: memref<4x6xi32>, %whole: memref<4x6xi32>, %rows: memref<2x3xi32>, %cols: memref<4x1xi32>) {
          "memref.copy"(%x, %whole) : (memref<4x6xi32>, memref<4x6xi32>) -> ()
          %r = memref.subview %x[1, 2] [2, 3] [1, 1] : memref<4x6xi32> to memref<2x3xi32, strided<[6, 1], offset: 8>>
          "memref.copy"(%r, %rows) : (memref<2x3xi32, strided<[6, 1], offset: 8>>, memref<2x3xi32>) -> ()
          %c = memref.subview %x[0, 5] [4, 1] [1, 1] : memref<4x6xi32> to memref<4x1xi32, strided<[6, 1], offset: 5>>
          "memref.copy"(%c, %cols) : (memref<4x1xi32, strided<[6, 1], offset: 5>>, memref<4x1xi32>) -> ()
          func.return
        }
        """,
        x,
        whole,
        rows,
        columns,
    )
    np.testing.assert_array_equal(whole, x)
    np.testing.assert_array_equal(rows, x[1:3, 2:5])
    np.testing.assert_array_equal(columns, x[:, 5:])


def test_private_stack_slot_in_a_parallel_loop() -> None:
    """The vectorizer must not separate iterations from the stack slot that each allocates."""
    x = np.arange(64, dtype=np.float32)
    text = """
      %c0_ = arith.constant 0 : index
      %slot = memref.alloca() : memref<2xf32>
      memref.store %a, %slot[%c0_] : memref<2xf32>
      %b = memref.load %slot[%c0_] : memref<2xf32>
      %r = arith.addf %b, %b : f32"""
    same(elementwise(text, [x], ["f32"], "f32"), x + x)


# vector


def test_vector_broadcast_insert_extract_shuffle() -> None:
    a = np.arange(16, dtype=np.float32)
    text = """
      %lane = arith.constant 2 : index
      %e = vector.extract %a[3] : f32 from vector<8xf32>
      %d = vector.extract %a[%lane] : f32 from vector<8xf32>
      %s = arith.addf %e, %d : f32
      %bc = vector.broadcast %s : f32 to vector<8xf32>
      %in = vector.insert %e, %bc [0] : f32 into vector<8xf32>
      %r = vector.shuffle %in, %a [0, 1, 15, 14, 13, 12, 11, 10] : vector<8xf32>, vector<8xf32>"""
    got = elementwise(text, [a], ["f32"], "f32", vector=True)
    rows = a.reshape(2, 8)
    total = rows[:, 3] + rows[:, 2]
    expected = np.stack([rows[:, 3], total, *(rows[:, lane] for lane in (7, 6, 5, 4, 3, 2))], axis=1)
    same(got, expected.reshape(-1))


def test_vector_fma_and_bitcast() -> None:
    rng = np.random.default_rng(0)
    a, b, c = (rng.normal(size=16).astype(np.float32) for _ in range(3))
    types = ["f32"] * 3
    got = elementwise("%r = vector.fma %a, %b, %c : vector<8xf32>", [a, b, c], types, "f32", vector=True)
    same(got, (a.astype(np.float64) * b + c).astype(np.float32))
    got = elementwise("%r = vector.bitcast %a : vector<8xf32> to vector<8xi32>", [a], ["f32"], "i32", vector=True)
    same(got, a.view(np.int32))


REDUCTIONS = {
    ("add", "f32"): np.add.reduce,
    ("mul", "f32"): np.multiply.reduce,
    ("maximumf", "f32"): np.maximum.reduce,
    ("minimumf", "f32"): np.minimum.reduce,
    ("maxnumf", "f32"): np.fmax.reduce,
    ("minnumf", "f32"): np.fmin.reduce,
    ("add", "i32"): np.add.reduce,
    ("mul", "i32"): np.multiply.reduce,
    ("maxsi", "i32"): np.maximum.reduce,
    ("minsi", "i32"): np.minimum.reduce,
    ("and", "i32"): np.bitwise_and.reduce,
    ("or", "i32"): np.bitwise_or.reduce,
    ("xor", "i32"): np.bitwise_xor.reduce,
}


@pytest.mark.long(8)
@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize(("kind", "type_"), REDUCTIONS)
def test_vector_reduction(kind: str, type_: str, accumulate: bool) -> None:
    a = np.array([3, -1, 2, 5, -7, 4, 1, 6] * 2, DTYPES[type_])
    value = "%acc = arith.constant 2" + (".0 : f32" if type_ == "f32" else " : i32")
    operands = "%a, %acc" if accumulate else "%a"
    text = f"""{value}
      %x = vector.reduction <{kind}>, {operands} : vector<8x{type_}> into {type_}
      %r = vector.broadcast %x : {type_} to vector<8x{type_}>"""
    got = elementwise(text, [a], [type_], type_, vector=True)
    rows = a.reshape(2, 8)
    if accumulate:
        rows = np.concatenate([np.full((2, 1), 2, a.dtype), rows], axis=1)
    same(got, np.repeat(REDUCTIONS[kind, type_](rows, axis=1).astype(a.dtype), 8))


@pytest.mark.long(4)
@pytest.mark.parametrize("count", [0, 1, 5, 8, 9])
@pytest.mark.parametrize("type_", ["f32", "i8"])
def test_masked_access(type_: str, count: int) -> None:
    x, out = np.arange(1, 9).astype(DTYPES[type_]), np.full(8, 100, DTYPES[type_])
    zero = "0.0" if type_ == "f32" else "0"
    run(
        f"""
        func.func @main(%x: memref<8x{type_}>, %out: memref<8x{type_}>) {{
          %c0 = arith.constant 0 : index
          %n = arith.constant {count} : index
          %n5 = arith.constant 5 : index
          %zero = arith.constant dense<{zero}> : vector<8x{type_}>
          %mask = vector.create_mask %n : vector<8xi1>
          %all = vector.create_mask %n5 : vector<8xi1>
          %v = vector.maskedload %x[%c0], %mask, %zero
            : memref<8x{type_}>, vector<8xi1>, vector<8x{type_}> into vector<8x{type_}>
          vector.maskedstore %out[%c0], %all, %v : memref<8x{type_}>, vector<8xi1>, vector<8x{type_}>
          func.return
        }}
        """,
        x,
        out,
    )
    read = np.where(np.arange(8) < count, x, 0)
    np.testing.assert_array_equal(out, np.where(np.arange(8) < 5, read, 100))
