"""The function that combines rows of partial results, called alone, at numbers of rows and columns around its blocks."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.parser import Parser

from cpu_programs import DTYPES
from xhlo.hlo_dialect.dialect import make_context
from xhlo.lowering.convert_linalg_to_scf.combining import SHORT
from xhlo.lowering.convert_linalg_to_scf.conversion import ConvertLinalgToScfPass
from xhlo.lowering.convert_loops_to_cf import ConvertLoopsToCfPass
from xhlo.lowering.convert_to_llvm.conversion import ConvertToLlvmPass
from xhlo.lowering.loop_nests.cost import CACHED_COLUMNS, PASS_ROWS
from xhlo.targets.cpu import jit
from xhlo.targets.llvm_text.module import emit_llvm_ir

OPERATIONS: dict[str, Any] = {
    "arith.addf": np.add,
    "arith.mulf": np.multiply,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
    "arith.addi": np.add,
    "arith.maxsi": np.maximum,
    "arith.andi": np.bitwise_and,
    "arith.xori": np.bitwise_xor,
}
EDGE = 3
"""Elements before the results and after them, which stay."""


def text_of(operation: str, element: str, starts: bool) -> str:
    """A kernel whose tasks combine parts of many rows, and then these results, from ones or what the output holds."""
    one = "true" if element == "i1" else f"{'1' if element[0] == 'i' else '1.0'} : {element}"
    fill = f"linalg.fill ins(%one : {element}) outs(%o : memref<128x{element}>)" if starts else ""
    return f"""func.func private @f(%a: memref<60000x128x{element}>, %o: memref<128x{element}>)
        attributes {{hlo.kernel = "reduce"}} {{
      %one = arith.constant {one}
      {fill}
      linalg.generic {{indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i)>],
                      iterator_types = ["parallel", "reduction"]}}
          ins(%a : memref<60000x128x{element}>) outs(%o : memref<128x{element}>) {{
      ^bb(%x: {element}, %z: {element}):
        %s = {operation} %z, %x : {element}
        linalg.yield %s : {element}
      }}
      func.return }}"""


def combination(operation: str, element: str, starts: bool, vector_bits: int) -> str:
    """The LLVM IR of the function `f` that the kernel calls."""
    ctx = make_context()
    module = Parser(ctx, text_of(operation, element, starts)).parse_module()
    ConvertLinalgToScfPass(vector_bits).apply(ctx, module)
    functions = (op for op in module.body.block.ops if isinstance(op, func.FuncOp))
    (found,) = (op for op in functions if op.sym_name.data.endswith("_combine"))
    found.detach()
    found.properties["sym_name"], found.properties["sym_visibility"] = StringAttr("f"), StringAttr("public")
    alone = ModuleOp([found])
    for one in (ConvertLoopsToCfPass(), ConvertToLlvmPass()):
        one.apply(ctx, alone)
    return emit_llvm_ir(alone)


def check(text: str, operation: str, element: str, starts: bool, sizes: list[tuple[int, int]]) -> None:
    loaded = jit.load(jit.compile_to_object(text, level=jit.IN_VECTORS), ["f"])
    place, number = ctypes.c_void_p, ctypes.c_int64
    start: list[Any] = {"f32": [ctypes.c_float], "f64": [ctypes.c_double]}.get(element, [number]) if starts else []
    run = ctypes.CFUNCTYPE(None, place, number, place, number, number, number, number, *start)(loaded.address("f"))
    rng = np.random.default_rng(0)
    for rows, columns in sizes:
        apart = columns + 5
        x = rng.integers(-3, 4, EDGE + rows * apart).astype(DTYPES[element])
        if element[0] == "f":
            x[EDGE :: 7 * apart] = np.nan
        y = rng.integers(0, 2, columns + 2 * EDGE).astype(x.dtype)
        wanted = y.copy()
        results = wanted[EDGE : EDGE + columns]
        if starts:
            results[:] = 1
        for row in x[EDGE:].reshape(rows, apart):
            results[:] = OPERATIONS[operation](results, row[:columns])
        run(x.ctypes.data, EDGE, y.ctypes.data, EDGE, apart, columns, rows, *[1] * starts)
        np.testing.assert_array_equal(y, wanted, f"{rows} x {columns}")


SIZES = [
    *((rows, columns) for rows in (1, PASS_ROWS + 1) for columns in (1, 15, 16, 65)),
    (2 * PASS_ROWS, 4 * 64 + 3),
    (38, SHORT),
    *((rows, SHORT + 1) for rows in (PASS_ROWS - 1, PASS_ROWS, 2 * PASS_ROWS + 1)),
    (PASS_ROWS + 2, CACHED_COLUMNS + 70),
    (0, 20),
]


@pytest.mark.long(3)
@pytest.mark.parametrize("starts", [False, True])
@pytest.mark.parametrize(
    "operation, element",
    [
        ("arith.addf", "f32"),
        ("arith.maximumf", "f64"),
        ("arith.addi", "i8"),
        ("arith.andi", "i1"),
        ("arith.maxsi", "i64"),
    ],
)
def test_results(operation: str, element: str, starts: bool) -> None:
    """In order, from what the outputs hold or a value; what is beside the results stays."""
    text = combination(operation, element, starts, 512)
    assert jit.level_of_shared(text) == jit.IN_VECTORS
    check(text, operation, element, starts, SIZES)


@pytest.mark.parametrize("vector_bits", [128, 256, 512])
@pytest.mark.parametrize(
    "operation, element",
    [("arith.addf", "bf16"), ("arith.minimumf", "f16"), ("arith.xori", "i16"), ("arith.mulf", "f32")],
)
def test_short_elements_and_widths_of_vectors(operation: str, element: str, vector_bits: int) -> None:
    """Without masks of 8 and 16 bits, elements fill a part of a vector."""
    text = combination(operation, element, False, vector_bits)
    assert f"<{vector_bits // max(DTYPES[element].itemsize * 8, 32 if vector_bits < 512 else 8)} x " in text
    check(text, operation, element, False, SIZES[:10])
