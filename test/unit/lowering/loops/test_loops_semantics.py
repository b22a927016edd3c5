"""
The lowering to loops keeps the meaning of kernels.

`scalar_interpreter.py` runs a kernel of linalg on memrefs as it is and after the lowering. Thresholds are lowered, so
that small shapes take the paths of large ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, linalg, memref, scf, vector
from xdsl.dialects import math as math_dialect
from xdsl.parser import Parser

from scalar_interpreter import DTYPES, Interpreter, whole
from xhlo.dialects.cpu import DotOp
from xhlo.lowering.convert_contractions_to_vector import blocking
from xhlo.lowering.convert_contractions_to_vector.conversion import ConvertContractionsToVectorPass
from xhlo.lowering.convert_linalg_to_scf import elementwise, reduction
from xhlo.lowering.convert_linalg_to_scf.conversion import ConvertLinalgToScfPass
from xhlo.lowering.loop_nests import cost
from xhlo.passes.outline_parallel_loops.transform import OutlineParallelLoopsPass


def parse(text: str) -> builtin.ModuleOp:
    ctx = Context()
    for dialect in (
        builtin.Builtin,
        arith.Arith,
        func.Func,
        linalg.Linalg,
        memref.MemRef,
        scf.Scf,
        vector.Vector,
        math_dialect.Math,
    ):
        ctx.load_dialect(dialect)
    module = Parser(ctx, text).parse_module()
    module.verify()
    return module


def types_of(module: builtin.ModuleOp) -> list[Any]:
    return list(next(iter(module.body.block.ops)).function_type.inputs.data)  # pyright: ignore


def check(text: str, *, outputs: int = 1, tolerance: float = 1e-5, **options: int) -> builtin.ModuleOp:
    """Run the first function before and after; the last `outputs` arguments must agree, no input may change."""
    rng = np.random.default_rng(0)
    module = parse(text)
    arguments: list[np.ndarray] = []
    for type_ in types_of(module):
        dtype = DTYPES[str(type_.element_type)]
        shape = type_.get_shape()
        values = rng.standard_normal(shape) if np.dtype(dtype).kind == "f" else rng.integers(-3, 4, shape)
        arguments.append(np.asarray(values, dtype).reshape(shape))
    name = next(iter(module.body.block.ops)).sym_name.data  # pyright: ignore
    expected = [x.copy() for x in arguments]
    Interpreter(module).call(name, [whole(x) for x in expected])
    for pass_ in (ConvertContractionsToVectorPass(**options), ConvertLinalgToScfPass(), OutlineParallelLoopsPass()):
        pass_.apply(Context(), module)
        module.verify()
        actual = [x.copy() for x in arguments]
        Interpreter(module).call(name, [whole(x) for x in actual])
        for got, want in zip(actual, expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)
    for before, after in zip(arguments[:-outputs], expected[:-outputs], strict=True):
        np.testing.assert_array_equal(before, after)
    return module


@pytest.fixture(autouse=True, params=["serial", "parallel"])
def thresholds(request: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "parallel":
        monkeypatch.setattr(cost, "PARALLEL_WORK", 16)
        monkeypatch.setattr(cost, "TASK_WORK", 64)
        monkeypatch.setattr(cost, "CACHED_BYTES", 0)
        monkeypatch.setattr(cost, "MAX_TASKS", 5)
        monkeypatch.setattr(reduction, "BLOCK", 8)
        monkeypatch.setattr(reduction, "TILE", 8)
        monkeypatch.setattr(reduction, "COLUMNS", 6)
        monkeypatch.setattr(reduction, "CHUNK_ROWS", 3)
        monkeypatch.setattr(elementwise, "TILE", 3)
        monkeypatch.setattr(elementwise, "COLLIDING", 4)
    return request.param


def generic(
    maps: list[str], iterators: str, ins: list[str], outs: list[str], types: dict[str, str], body: str, attrs: str = ""
) -> str:
    """A linalg.generic over block arguments %x0, %x1, .. (inputs) and %z0, .. (outputs); iterators written as 'ppr'."""
    names = {"p": '"parallel"', "r": '"reduction"'}
    dims = ", ".join(f"d{i}" for i in range(len(iterators)))
    map_list = ", ".join(f"affine_map<({dims}) -> ({m})>" for m in maps)
    args = [f"%x{i}: {types[v].split('x')[-1].rstrip('>').split('<')[-1]}" for i, v in enumerate(ins)]
    args += [f"%z{i}: {types[v].split('x')[-1].rstrip('>').split('<')[-1]}" for i, v in enumerate(outs)]
    in_types, out_types = ", ".join(types[v] for v in ins), ", ".join(types[v] for v in outs)
    in_text = f"ins({', '.join(ins)} : {in_types}) " if ins else ""
    return (
        f"linalg.generic {{indexing_maps = [{map_list}], iterator_types = [{', '.join(names[c] for c in iterators)}]}} "
        f"{in_text}outs({', '.join(outs)} : {out_types}) {attrs} {{\n^bb({', '.join(args)}):\n{body}\n}}"
    )


def kernel(types: dict[str, str], body: str, attributes: str = 'hlo.kernel = "loop"') -> str:
    parameters = ", ".join(f"{name}: {type_}" for name, type_ in types.items())
    return f"func.func private @k({parameters}) attributes {{{attributes}}} {{\n{body}\nfunc.return\n}}"


ADD = "%s = arith.addf %z0, %x0 fastmath<reassoc> : f32\nlinalg.yield %s : f32"
MAX = "%s = arith.maximumf %x0, %z0 : f32\nlinalg.yield %s : f32"
FILL = "%zero = arith.constant 0.0 : f32\nlinalg.fill ins(%zero : f32) outs(%o : {})\n"


@pytest.mark.parametrize(
    "shapes, maps, iterators",
    [
        (["6x7", "6x7"], ["d0, d1", "d0, d1"], "pp"),
        (["7x6", "6x7"], ["d1, d0", "d0, d1"], "pp"),
        (["7", "6x7"], ["d1", "d0, d1"], "pp"),
        (["6", "6x7"], ["d0", "d0, d1"], "pp"),
        (["9x20", "4x5"], ["d0 * 2 + 1, d1 + 3", "d0, d1"], "pp"),
        (["6x7", "6x7"], ["d0, 6 - d1", "d0, d1"], "pp"),
        (["42", "6x7"], ["d0 * 7 + d1", "d0, d1"], "pp"),
        (["1x7", "1x7"], ["d0, d1", "d0, d1"], "pp"),
        (["3x4x5", "4x3x5"], ["d1, d0, d2", "d0, d1, d2"], "ppp"),
        (["", ""], ["", ""], ""),
        (["0x7", "0x7"], ["d0, d1", "d0, d1"], "pp"),
    ],
)
def test_elementwise(shapes: list[str], maps: list[str], iterators: str) -> None:
    a, o = (f"memref<{s + 'x' if s else ''}f32>" for s in shapes)
    types = {"%a": a, "%o": o}
    body = "%s = arith.addf %x0, %x0 : f32\nlinalg.yield %s : f32"
    check(kernel(types, generic(maps, iterators, ["%a"], ["%o"], types, body)))


@pytest.mark.long(3)
@pytest.mark.sample(3)
@pytest.mark.parametrize("combiner", [ADD, MAX])
@pytest.mark.parametrize(
    "a, o, maps, iterators",
    [
        ("50x", "", ["d0", ""], "r"),
        ("6x30x", "6x", ["d0, d1", "d0"], "pr"),
        ("30x6x", "6x", ["d1, d0", "d0"], "pr"),
        ("30x40x", "40x", ["d1, d0", "d0"], "pr"),
        ("4x5x6x", "5x", ["d1, d0, d2", "d0"], "prr"),
        ("4x5x6x7x", "5x7x", ["d2, d0, d3, d1", "d0, d1"], "pprr"),
        ("4x5x6x", "", ["d0, d1, d2", ""], "rrr"),
        ("4x30x", "30x4x", ["d1, d0", "d0, d1"], "pp"),
        ("1x30x", "1x", ["d0, d1", "d0"], "pr"),
        ("30x1x", "30x", ["d0, d1", "d0"], "pr"),
        ("5x0x", "5x", ["d0, d1", "d0"], "pr"),
    ],
)
@pytest.mark.parametrize("filled", [True, False])
def test_reduction(a: str, o: str, maps: list[str], iterators: str, combiner: str, filled: bool) -> None:
    types = {"%a": f"memref<{a}f32>", "%o": f"memref<{o}f32>"}
    fill = FILL.format(types["%o"]) if filled else ""
    check(kernel(types, fill + generic(maps, iterators, ["%a"], ["%o"], types, combiner)))


@pytest.mark.long(3)
@pytest.mark.parametrize("size", [20, 27])
@pytest.mark.parametrize(
    "dims, o, maps, iterators",
    [
        ("3x{}x", "3x", ["d0, d1", "d0"], "pr"),
        ("{}x", "", ["d0", ""], "r"),
        ("3x{}x", "{}x", ["d1, d0", "d0"], "pr"),
        ("3x4x{}x", "4x{}x", ["d2, d0, d1", "d0, d1"], "ppr"),
    ],
)
def test_reduction_of_exponentials(dims: str, o: str, maps: list[str], iterators: str, size: int) -> None:
    """The last elements of a row are a vector that ends where the row does, unless a task has a part of it."""
    types = {"%a": f"memref<{dims.format(size)}f32>", "%o": f"memref<{o.format(size)}f32>"}
    body = "%e = math.exp %x0 : f32\n" + ADD.replace("%x0", "%e")
    check(kernel(types, FILL.format(types["%o"]) + generic(maps, iterators, ["%a"], ["%o"], types, body)))


def test_reduction_of_unknown_combiner_runs_in_order() -> None:
    types = {"%a": "memref<5x20xf32>", "%v": "memref<5xf32>", "%i": "memref<5xi64>"}
    body = """
    %n = linalg.index 1 : index
    %j = arith.index_cast %n : index to i64
    %c = arith.cmpf ogt, %x0, %z0 : f32
    %s = arith.select %c, %x0, %z0 : f32
    %t = arith.select %c, %j, %z1 : i64
    linalg.yield %s, %t : f32, i64"""
    text = generic(["d0, d1", "d0", "d0"], "pr", ["%a"], ["%v", "%i"], types, body)
    check(kernel(types, text), outputs=2)


def test_copies_into_subviews() -> None:
    types = {"%a": "memref<4x6xf32>", "%o": "memref<9x20xf32>"}
    body = """
    %one = arith.constant 3 : index
    %v = memref.subview %o[%one, 5] [4, 6] [1, 1] : memref<9x20xf32> to memref<4x6xf32, strided<[20, 1], offset: ?>>
    "memref.copy"(%a, %v) : (memref<4x6xf32>, memref<4x6xf32, strided<[20, 1], offset: ?>>) -> ()"""
    check(kernel(types, body))


@pytest.mark.long(6)
@pytest.mark.parametrize("lead, dims", [("40x", "d0, "), ("5x8x", "d0, d1, "), ("", "")])
def test_row_kernel(lead: str, dims: str) -> None:
    rows = lead.count("x")
    last = f"d{rows}"
    types = {"%a": f"memref<{lead}12xf32>", "%b": "memref<12xf32>", "%o": f"memref<{lead}12xf32>"}
    inner = {"%m": f"memref<{lead}f32>", "%e": f"memref<{lead}12xf32>", "%t": f"memref<{lead}f32>"}
    every = {**types, **inner}
    wide, thin = f"{dims}{last}", dims.rstrip(", ")
    p, r = "p" * rows + "p", "p" * rows + "r"
    steps = [f"{name} = memref.alloc() : {type_}" for name, type_ in inner.items()]
    steps += [
        "%ninf = arith.constant 0xFF800000 : f32",
        "%zero = arith.constant 0.0 : f32",
        f"linalg.fill ins(%ninf : f32) outs(%m : {inner['%m']})",
        generic([wide, thin], r, ["%a"], ["%m"], every, MAX),
        generic(
            [wide, thin, last, wide],
            p,
            ["%a", "%m", "%b"],
            ["%e"],
            every,
            "%d = arith.subf %x0, %x1 : f32\n%f = math.exp %d : f32\n%g = arith.addf %f, %x2 : f32\nlinalg.yield %g : f32",
        ),
        f"linalg.fill ins(%zero : f32) outs(%t : {inner['%t']})",
        generic([wide, thin], r, ["%e"], ["%t"], every, ADD),
        generic(
            [wide, thin, wide],
            p,
            ["%e", "%t"],
            ["%o"],
            every,
            "%d = arith.divf %x0, %x1 : f32\nlinalg.yield %d : f32",
        ),
    ]
    module = check(kernel(types, "\n".join(steps), f'hlo.kernel = "row", hlo.row_dims = {rows} : i64'))
    if rows:
        assert not any(isinstance(op, memref.AllocOp) for op in module.walk())


@pytest.mark.long(7)
@pytest.mark.sample(5)
@pytest.mark.parametrize("filled", [True, False])
@pytest.mark.parametrize(
    "a, b, o, maps, iterators",
    [
        ("9x7", "7x10", "9x10", ["d0, d2", "d2, d1", "d0, d1"], "ppr"),
        ("7x9", "7x10", "9x10", ["d2, d0", "d2, d1", "d0, d1"], "ppr"),
        ("9x7", "10x7", "9x10", ["d0, d2", "d1, d2", "d0, d1"], "ppr"),
        ("9x7", "7x10", "10x9", ["d0, d2", "d2, d1", "d1, d0"], "ppr"),
        ("3x9x7", "3x7x10", "3x9x10", ["d0, d1, d3", "d0, d3, d2", "d0, d1, d2"], "pppr"),
        ("9x3x7", "7x3x10", "3x9x10", ["d1, d0, d3", "d3, d0, d2", "d0, d1, d2"], "pppr"),
        ("5x2x7", "7x4x3", "5x2x4x3", ["d0, d1, d4", "d4, d2, d3", "d0, d1, d2, d3"], "ppppr"),
        ("5x2x7", "7x4x2", "5x4", ["d0, d2, d3", "d3, d1, d2", "d0, d1"], "pprr"),
        ("4x8", "8x16", "4x16", ["d0, d2", "d2, d1", "d0, d1"], "ppr"),
        ("8x8", "8x16", "8x16", ["d0, d2", "d2, d1", "d0, d1"], "ppr"),
    ],
)
@pytest.mark.parametrize("bits", [128, 256])
def test_contraction(
    a: str, b: str, o: str, maps: list[str], iterators: str, filled: bool, bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocking, "MIN_MULTIPLICATIONS", 1)
    types = {"%a": f"memref<{a}xf32>", "%b": f"memref<{b}xf32>", "%o": f"memref<{o}xf32>"}
    body = """
    %p = arith.mulf %x0, %x1 fastmath<reassoc,contract> : f32
    %s = arith.addf %z0, %p fastmath<reassoc,contract> : f32
    linalg.yield %s : f32"""
    fill = FILL.format(types["%o"]) if filled else ""
    text = fill + generic(maps, iterators, ["%a", "%b"], ["%o"], types, body, "attrs = {xhlo.contraction}")
    module = check(kernel(types, text, 'hlo.kernel = "dot"'), vector_bits=bits, l1_bytes=128, l2_bytes=1024)
    assert any(isinstance(op, vector.FMAOp) for op in module.walk())


def test_small_or_integer_contractions_are_plain_loops() -> None:
    types = {"%a": "memref<9x7xi32>", "%b": "memref<7x10xi32>", "%o": "memref<9x10xi32>"}
    body = "%p = arith.muli %x0, %x1 : i32\n%s = arith.addi %z0, %p : i32\nlinalg.yield %s : i32"
    text = generic(
        ["d0, d2", "d2, d1", "d0, d1"], "ppr", ["%a", "%b"], ["%o"], types, body, "attrs = {xhlo.contraction}"
    )
    module = check(kernel(types, text, 'hlo.kernel = "dot"'))
    assert not any(isinstance(op, vector.FMAOp) for op in module.walk())


def test_factors_of_half_precision_are_extended_while_packing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocking, "MIN_MULTIPLICATIONS", 1)
    types = {"%a": "memref<9x7xf16>", "%b": "memref<7x10xf16>", "%o": "memref<9x10xf32>"}
    body = """
    %x = arith.extf %x0 : f16 to f32
    %y = arith.extf %x1 : f16 to f32
    %p = arith.mulf %x, %y fastmath<reassoc,contract> : f32
    %s = arith.addf %z0, %p fastmath<reassoc,contract> : f32
    linalg.yield %s : f32"""
    maps = ["d0, d2", "d2, d1", "d0, d1"]
    text = generic(maps, "ppr", ["%a", "%b"], ["%o"], types, body, "attrs = {xhlo.contraction}")
    check(kernel(types, text, 'hlo.kernel = "dot"'), vector_bits=128)


@pytest.mark.long(12)
@pytest.mark.spread(2)
@pytest.mark.parametrize("type_, dots", [("i8", "byte_dots"), ("i8", "pair_dots"), ("i16", "pair_dots")])
@pytest.mark.filterwarnings("ignore:overflow encountered in scalar add")  # integers wrap, as they are to
@pytest.mark.parametrize(
    "a, b, maps",
    [
        ("9x7", "7x10", ["d0, d2", "d2, d1", "d0, d1"]),
        ("8x9", "8x16", ["d2, d0", "d2, d1", "d0, d1"]),
        ("9x70", "10x70", ["d0, d2", "d1, d2", "d0, d1"]),
    ],
)
def test_dot_products_of_integers(
    a: str, b: str, maps: list[str], type_: str, dots: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocking, "MIN_MULTIPLICATIONS", 1)
    o = "9x16" if b == "8x16" else "9x10"
    types = {"%a": f"memref<{a}x{type_}>", "%b": f"memref<{b}x{type_}>", "%o": f"memref<{o}xi32>"}
    body = f"""
    %x = arith.extsi %x0 : {type_} to i32
    %y = arith.extsi %x1 : {type_} to i32
    %p = arith.muli %x, %y : i32
    %s = arith.addi %z0, %p : i32
    linalg.yield %s : i32"""
    text = generic(maps, "ppr", ["%a", "%b"], ["%o"], types, body, "attrs = {xhlo.contraction}")
    module = check(kernel(types, text, 'hlo.kernel = "dot"'), vector_bits=128, l2_bytes=1024, **{dots: True})
    assert any(isinstance(op, DotOp) for op in module.walk())
