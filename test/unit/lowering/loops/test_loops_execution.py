"""Kernels lowered through loops to machine code compute what NumPy computes, whatever the number of threads."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, linalg, memref, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.parser import Parser

from xhlo.passes.manager import pipelines
from xhlo.targets.cpu import jit, threads
from xhlo.targets.llvm_text.module import emit_llvm_ir

PASSES = (*pipelines.LOWER_LOOPS[1:], *pipelines.LOWER_LLVM)


@pytest.fixture(autouse=True)
def _keep_threads() -> Iterator[None]:
    before = threads.thread_count()
    yield
    threads.set_thread_count(before)


def run(text: str, inputs: Sequence[np.ndarray], output: tuple[int, ...]) -> np.ndarray:
    """Compile kernel @k with a @main that calls it; run it on one thread and on several, which must agree."""
    ctx = Context()
    for dialect in (builtin.Builtin, arith.Arith, func.Func, linalg.Linalg, memref.MemRef, scf.Scf):
        ctx.load_dialect(dialect)
    module = Parser(ctx, text).parse_module()
    for pass_ in pipelines.build_passes(PASSES):
        pass_.apply(ctx, module)
        module.verify()
    size = module.attributes["xhlo.arena_size"]
    assert isinstance(size, IntegerAttr)
    code = jit.load(emit_llvm_ir(module))
    arena = np.full(size.value.data + 64, 0xFF, np.uint8)
    arena = arena[-arena.ctypes.data % 64 :]
    results: list[np.ndarray] = []
    for count in (1, 2, 3):
        threads.set_thread_count(count)
        result = np.full(output, np.nan, inputs[0].dtype)
        arrays = [*inputs, result, arena]
        pointers = (ctypes.c_void_p * len(arrays))(*[x.ctypes.data for x in arrays])
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.address("xhlo_entry"))(ctypes.addressof(pointers))
        results.append(result)
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])
    return results[0]


def program(types: Sequence[str], body: str, attributes: str = 'hlo.kernel = "loop"') -> str:
    """@k over %a0, %a1, .. and @main, which calls it."""
    parameters = ", ".join(f"%a{i}: {type_}" for i, type_ in enumerate(types))
    names = ", ".join(f"%a{i}" for i in range(len(types)))
    return (
        f"func.func private @k({parameters}) attributes {{{attributes}}} {{\n{body}\nfunc.return\n}}\n"
        f"func.func @main({parameters}) {{\nfunc.call @k({names}) : ({', '.join(types)}) -> ()\nfunc.return\n}}"
    )


def sum_of(dims: str, source: str, target: str, iterators: str, types: Sequence[str]) -> str:
    """A sum of %a0 into %a2 that starts from the element of %a1."""
    return program(
        types,
        f"""
        %init = memref.load %a1[] : {types[1]}
        linalg.fill ins(%init : f32) outs(%a2 : {types[2]})
        linalg.generic {{indexing_maps = [affine_map<{dims} -> {source}>, affine_map<{dims} -> {target}>],
          iterator_types = [{iterators}]}} ins(%a0 : {types[0]}) outs(%a2 : {types[2]}) {{
        ^bb(%x: f32, %z: f32):
          %s = arith.addf %z, %x fastmath<reassoc> : f32
          linalg.yield %s : f32
        }}""",
        'hlo.kernel = "reduce"',
    )


@pytest.mark.long(4)
@pytest.mark.spread(2)
@pytest.mark.parametrize("shape", [(1_000_003,), (700, 1100), (300_000, 7), (4, 300_000), (3, 5)])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_sum(shape: tuple[int, ...], axis: int | None) -> None:
    values = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    rank = len(shape)
    reduced = set(range(rank)) if axis is None else {axis % rank}
    kept = [d for d in range(rank) if d not in reduced]
    names = [f"d{d}" for d in range(rank)]
    output = tuple(shape[d] for d in kept)
    types = [f"memref<{''.join(f'{n}x' for n in s)}f32>" for s in (shape, (), output)]
    iterators = ", ".join('"reduction"' if d in reduced else '"parallel"' for d in range(rank))
    dims, target = f"({', '.join(names)})", f"({', '.join(names[d] for d in kept)})"
    result = run(sum_of(dims, dims, target, iterators, types), [values, np.array(2.5, np.float32)], output)
    expected = values.astype(np.float64).sum(axis=axis) + 2.5
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6 * np.sqrt(values.size / max(result.size, 1)) * 4)


@pytest.mark.long(3)
@pytest.mark.parametrize("rows, columns", [(1024, 1024), (300, 77), (40, 2000)])
def test_transpose(rows: int, columns: int) -> None:
    values = np.random.default_rng(0).standard_normal((rows, columns)).astype(np.float32)
    types = [f"memref<{rows}x{columns}xf32>", f"memref<{columns}x{rows}xf32>"]
    body = f"""
    linalg.generic {{indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}} ins(%a0 : {types[0]}) outs(%a1 : {types[1]}) {{
    ^bb(%x: f32, %z: f32):
      linalg.yield %x : f32
    }}"""
    np.testing.assert_array_equal(run(program(types, body), [values], (columns, rows)), values.T)


def test_reverse() -> None:
    values = np.arange(100_000, dtype=np.float32)
    types = ["memref<100000xf32>", "memref<100000xf32>"]
    body = f"""
    linalg.generic {{indexing_maps = [affine_map<(i) -> (99999 - i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]}} ins(%a0 : {types[0]}) outs(%a1 : {types[1]}) {{
    ^bb(%x: f32, %z: f32):
      linalg.yield %x : f32
    }}"""
    np.testing.assert_array_equal(run(program(types, body), [values], (100_000,)), values[::-1])


def test_row_kernel() -> None:
    """Each row minus its sum, the sum kept in a temporary of one element."""
    values = np.random.default_rng(0).standard_normal((500, 300)).astype(np.float32)
    wide, thin = "memref<500x300xf32>", "memref<500xf32>"
    body = f"""
    %zero = arith.constant 0.0 : f32
    %t = memref.alloc() : {thin}
    linalg.fill ins(%zero : f32) outs(%t : {thin})
    linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}} ins(%a0 : {wide}) outs(%t : {thin}) {{
    ^bb(%x: f32, %z: f32):
      %s = arith.addf %z, %x fastmath<reassoc> : f32
      linalg.yield %s : f32
    }}
    linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
      affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}}
      ins(%a0, %t : {wide}, {thin}) outs(%a1 : {wide}) {{
    ^bb(%x: f32, %y: f32, %z: f32):
      %d = arith.subf %x, %y : f32
      linalg.yield %d : f32
    }}"""
    text = program([wide, wide], body, 'hlo.kernel = "row", hlo.row_dims = 1 : i64')
    expected = values - values.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(run(text, [values], (500, 300)), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.long(10)
@pytest.mark.spread(2)
@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize(
    "m, n, k", [(256, 256, 256), (101, 203, 1500), (5, 700, 300), (700, 5, 300), (1, 500, 500), (33, 65, 64)]
)
def test_matrix_product(m: int, n: int, k: int, element: str) -> None:
    dtype = np.float32 if element == "f32" else np.float64
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)
    types = [f"memref<{shape}x{element}>" for shape in (f"{m}x{k}", f"{k}x{n}", f"{m}x{n}")]
    body = f"""
    %zero = arith.constant 0.0 : {element}
    linalg.fill ins(%zero : {element}) outs(%a2 : {types[2]})
    linalg.generic {{indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
      affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%a0, %a1 : {types[0]}, {types[1]}) outs(%a2 : {types[2]}) attrs = {{xhlo.contraction}} {{
    ^bb(%x: {element}, %y: {element}, %z: {element}):
      %p = arith.mulf %x, %y fastmath<reassoc,contract> : {element}
      %s = arith.addf %z, %p fastmath<reassoc,contract> : {element}
      linalg.yield %s : {element}
    }}"""
    result = run(program(types, body, 'hlo.kernel = "dot"'), [a, b], (m, n))
    expected = a.astype(np.float64) @ b.astype(np.float64)
    tolerance = 1e-6 * k if element == "f32" else 1e-12 * k
    np.testing.assert_allclose(result, expected, atol=tolerance, rtol=tolerance)
