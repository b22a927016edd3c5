"""Reductions and row kernels on the SIMT interpreter: every arrangement, odd sizes, element types; and their PTX."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.linalg.ops import GenericOp

from row_programs import LOWEST, TYPES, array, cross_entropy, layernorm, softmax, tensor
from simt_programs import check_on_simt, gpu_level, run_on_simt
from xhlo.dialects.gpu.functions import GpuFuncOp, GpuLaunchFuncOp
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.lowering.device.chips import get_chip
from xhlo.lowering.loop_nests.combination import Combination, taken_apart
from xhlo.lowering.loop_nests.nest import nest_of_generic
from xhlo.passes.manager.pipelines import FRONT, FUSE
from xhlo.targets.nvptx.assembler import assemble, assemblers
from xhlo.targets.nvptx.emission import emit_ptx
from xhlo.targets.nvptx.target import nvptx
from xhlo.targets.program.pipeline import run_passes
from xhlo.targets.simt.host import HostProgram


def reduction(
    shape: tuple[int, ...], dims: Sequence[int], op: str = "add", init: str = "0.0", type_: str = "f32"
) -> str:
    kept = [n for d, n in enumerate(shape) if d not in dims]
    return f"""
    func.func @main(%x: {tensor(shape, type_)}) -> {tensor(kept, type_)} {{
      %init = stablehlo.constant dense<{init}> : tensor<{type_}>
      %r = stablehlo.reduce(%x init: %init) applies stablehlo.{op} across dimensions = {list(dims)}
        : ({tensor(shape, type_)}, tensor<{type_}>) -> {tensor(kept, type_)}
      return %r : {tensor(kept, type_)}
    }}"""


def functions(text: str, chip: str = "sm_90") -> list[GpuFuncOp]:
    return [op for op in gpu_level(text, chip=chip)[0].walk() if isinstance(op, GpuFuncOp)]


def blocks(function: GpuFuncOp) -> int:
    sizes: Any = function.known_grid_size
    return int(sizes.get_values()[0])


# Reductions -------------------------------------------------------------------------------------------------------

ODD = (1, 2, 31, 33, 255, 257, 1009, 5000)


@pytest.mark.long(3)
@pytest.mark.sample(3)
@pytest.mark.parametrize("n", ODD)
def test_sums_over_each_arrangement_of_dimensions(n: int) -> None:
    cases: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
        ((n,), (0,)), ((3, n), (1,)), ((n, 3), (0,)), ((n, 64), (0,)), ((7, n), (0,)),
        ((3, n, 5), (1,)), ((3, n, 5), (0, 2)), ((5, 3, n), (1,)), ((2, 3, n), (0, 2)), ((2, n, 2, 3), (1, 3)),
    ]  # fmt: skip
    for shape, dims in cases:
        check_on_simt(reduction(shape, dims), [array(shape)])


@pytest.mark.long(3)
@pytest.mark.parametrize(
    "shape, dims", [((300_007,), (0,)), ((2, 200_001), (1,)), ((70_001, 63), (0,)), ((4096, 256), (0,))]
)
def test_several_blocks_share_a_row_in_two_launches(shape: tuple[int, ...], dims: tuple[int, ...]) -> None:
    text = reduction(shape, dims, init="2.5")
    assert len(functions(text)) == 2
    check_on_simt(text, [array(shape)])


def test_nothing_to_reduce() -> None:
    for shape, dims in (((0,), (0,)), ((3, 0), (1,)), ((0, 3), (0,)), ((0, 3), (1,))):
        check_on_simt(reduction(shape, dims, init="2.5"), [array(shape)])


@pytest.mark.long(4)
@pytest.mark.sample(2)
@pytest.mark.parametrize("type_", TYPES)
def test_element_types_and_operations(type_: str) -> None:
    integers = {"and": "-1", "or": "0", "xor": "0"}
    inits = {"add": "0", "maximum": "0", "minimum": "5", "multiply": "1", **(integers if type_[0] in "iu" else {})}
    if type_ == "i1":
        inits = {"and": "true", "or": "false", "add": "false"}
    for op, init in inits.items():
        value = init if type_[0] in "iu" else f"{init}.0"
        value = value.replace("-1", "65535") if type_ == "ui16" else value
        shapes = [((5, 33), (1,)), ((50, 64), (0,))]
        for shape, dims in [*shapes, ((2, 2600), (1,)), ((40, 33), (0,))] if op == "add" else shapes:
            values = array(shape, type_)
            if op == "multiply":
                values = np.where(values > 0, 1, np.ones_like(values) * (1 if type_[0] in "iu" else -1)).astype(
                    values.dtype
                )
            check_on_simt(reduction(shape, dims, op, value, type_), [values])


@pytest.mark.parametrize("op", ["maximum", "minimum"])
def test_nan_and_infinities(op: str) -> None:
    for shape, axis in (((4, 300), 1), ((300, 40), 0)):
        x = array(shape)
        x.flat[77], x.flat[5], x.flat[6] = np.nan, np.inf, -np.inf
        (got,) = run_on_simt(reduction(shape, (axis,), op), [x])
        want = getattr(np, op).reduce(x, axis=axis, initial=0.0)
        np.testing.assert_array_equal(got, want)


def test_the_initial_value_is_taken_in_once() -> None:
    """Also if the reduction is split into parts, and if some threads have no element."""
    for shape, dims in (((3,), (0,)), ((300_007,), (0,)), ((5, 33), (1,)), ((33, 5), (0,)), ((70_001, 3), (0,))):
        (got,) = run_on_simt(reduction(shape, dims, init="1000.0"), [np.zeros(shape, np.float32)])
        np.testing.assert_array_equal(got, np.full_like(got, 1000.0))


CONTENTS = """
func.func @main(%x: memref<SHAPExf32>, %o: memref<KEPTxf32>, %arena: memref<0xi8>) {
  func.call @k(%x, %o) : (memref<SHAPExf32>, memref<KEPTxf32>) -> ()
  func.return
}
func.func private @k(%x: memref<SHAPExf32>, %o: memref<KEPTxf32>) attributes {hlo.kernel = "reduce"} {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (DIM)>],
                  iterator_types = [KINDS]} ins(%x : memref<SHAPExf32>) outs(%o : memref<KEPTxf32>) {
  ^bb(%e: f32, %acc: f32):
    %s = arith.addf %acc, %e : f32
    linalg.yield %s : f32
  }
  func.return
}"""


@pytest.mark.parametrize("axis", [0, 1])
def test_a_reduction_goes_on_from_what_a_buffer_holds(axis: int) -> None:
    kinds = ['"parallel"', '"parallel"']
    kinds[axis] = '"reduction"'
    parts = {"SHAPE": "30x70", "KEPT": str((70, 30)[axis]), "DIM": "ji"[axis], "KINDS": ", ".join(kinds)}
    text = CONTENTS
    for name, value in parts.items():
        text = text.replace(name, value)
    ctx = make_context()
    module = parse_module(text, "test.mlir", ctx)
    run_passes(ctx, module, ("plan-gpu-kernels", "map-kernels-to-gpu"), verify=True)
    x, out = array((30, 70)), np.full((70, 30)[axis], 3.0, np.float32)
    want = x.astype(np.float64).sum(axis) + 3.0
    HostProgram(module).run([x], [out])
    np.testing.assert_allclose(out, want, rtol=1e-5, atol=1e-5)


def test_long_sums_are_accurate() -> None:
    """0.1 is not exact in binary: adding the elements one by one would be off by a percent."""
    n = 1 << 21
    x = np.full(n, 0.1, np.float32)
    want = float(np.float64(np.float32(0.1)) * n)
    for shape, dims in (((n,), (0,)), ((n // 2, 2), (0,)), ((2, n // 2), (1,))):
        (got,) = run_on_simt(reduction(shape, dims), [x.reshape(shape)])
        assert abs(float(got.sum(dtype=np.float64)) / want - 1) < 2e-7


def test_the_same_bits_every_time() -> None:
    for shape, dims in (((300_007,), (0,)), ((5000, 64), (0,))):
        x, text = array(shape), reduction(shape, dims)
        first, second = (run_on_simt(text, [x])[0].tobytes() for _ in range(2))
        assert first == second


MEAN = """
func.func @main(%x: tensor<{n}xf32>, %y: tensor<{n}xf32>) -> tensor<f32> {{
  %three = stablehlo.constant dense<3.0> : tensor<{n}xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %n = stablehlo.constant dense<{n}.0> : tensor<f32>
  %a = stablehlo.multiply %three, %x : tensor<{n}xf32>
  %b = stablehlo.multiply %a, %x : tensor<{n}xf32>
  %c = stablehlo.add %b, %y : tensor<{n}xf32>
  %s = stablehlo.reduce(%c init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<{n}xf32>, tensor<f32>) -> tensor<f32>
  %m = stablehlo.divide %s, %n : tensor<f32>
  return %m : tensor<f32>
}}"""


@pytest.mark.parametrize("n, launches", [(1, 1), (257, 1), (1009, 1), (1 << 20, 2)])
def test_what_is_computed_before_and_after_belongs_to_the_reduction(n: int, launches: int) -> None:
    text = MEAN.format(n=n)
    assert len(functions(text)) == launches
    check_on_simt(text, [array((n,)), array((n,), seed=1)])


def moments(rows: int, columns: int, axis: int, type_: str = "f32") -> str:
    whole, kept = tensor((rows, columns), type_), tensor(((columns, rows)[axis],), type_)
    count = (rows, columns)[axis]
    reduced = f"across dimensions = [{axis}] : ({whole}, tensor<{type_}>) -> {kept}"
    return f"""
    func.func @main(%x: {whole}, %init: tensor<{type_}>) -> ({kept}, {kept}, {kept}) {{
      %one = stablehlo.constant dense<1.0> : tensor<{type_}>
      %n = stablehlo.constant dense<{count}.0> : {kept}
      %xx = stablehlo.multiply %x, %x : {whole}
      %s = stablehlo.reduce(%x init: %one) applies stablehlo.add {reduced}
      %q = stablehlo.reduce(%xx init: %init) applies stablehlo.add {reduced}
      %max = stablehlo.reduce(%x init: %init) applies stablehlo.maximum {reduced}
      %mean = stablehlo.divide %s, %n : {kept}
      %squares = stablehlo.divide %q, %n : {kept}
      %mm = stablehlo.multiply %mean, %mean : {kept}
      %variance = stablehlo.subtract %squares, %mm : {kept}
      return %mean, %variance, %max : {kept}, {kept}, {kept}
    }}"""


@pytest.mark.sample(3)
@pytest.mark.parametrize("rows, columns", [(5, 33), (33, 5), (300, 257), (2, 40_000), (40_000, 2)])
@pytest.mark.parametrize("axis", [0, 1])
def test_several_reductions_together(rows: int, columns: int, axis: int) -> None:
    check_on_simt(moments(rows, columns, axis), [array((rows, columns)), np.float32(0.5)])


# Reductions that choose -------------------------------------------------------------------------------------------


def argmax(shape: tuple[int, ...], axis: int, type_: str = "f32", order: str = "GT") -> str:
    """argmax as JAX writes it: the first of two NaNs wins, and the lower index of equal values."""
    kept = [n for d, n in enumerate(shape) if d != axis]
    lowest = LOWEST[type_] if order == "GT" else {"f32": "0x7F800000"}[type_]
    x, i, v, w = tensor(shape, type_), tensor(shape, "i32"), tensor(kept, type_), tensor(kept, "i32")
    element, number = f"tensor<{type_}>", "tensor<i32>"
    return f"""
    func.func @main(%x: {x}) -> ({v}, {w}) {{
      %lowest = stablehlo.constant dense<{lowest}> : {element}
      %zero = stablehlo.constant dense<0> : {number}
      %i = stablehlo.iota dim = {axis} : {i}
      %r:2 = stablehlo.reduce(%x init: %lowest), (%i init: %zero) across dimensions = [{axis}]
        : ({x}, {i}, {element}, {number}) -> ({v}, {w})
       reducer(%a: {element}, %c: {element}) (%b: {number}, %d: {number}) {{
        %gt = stablehlo.compare {order}, %a, %c : ({element}, {element}) -> tensor<i1>
        %ne = stablehlo.compare NE, %a, %a : ({element}, {element}) -> tensor<i1>
        %wins = stablehlo.or %gt, %ne : tensor<i1>
        %eq = stablehlo.compare EQ, %a, %c : ({element}, {element}) -> tensor<i1>
        %lt = stablehlo.compare LT, %b, %d : ({number}, {number}) -> tensor<i1>
        %tie = stablehlo.and %eq, %lt : tensor<i1>
        %first = stablehlo.or %wins, %tie : tensor<i1>
        %value = stablehlo.select %wins, %a, %c : tensor<i1>, {element}
        %index = stablehlo.select %first, %b, %d : tensor<i1>, {number}
        stablehlo.return %value, %index : {element}, {number}
      }}
      return %r#0, %r#1 : {v}, {w}
    }}"""


@pytest.mark.long(3)
@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "shape, axis", [((5, 33), 1), ((2, 5000), 1), ((300, 64), 0), ((3, 70, 8), 1), ((400_001,), 0)]
)
@pytest.mark.parametrize("type_, order", [("f32", "GT"), ("f32", "LT"), ("bf16", "GT"), ("i32", "GT")])
def test_argmax(shape: tuple[int, ...], axis: int, type_: str, order: str) -> None:
    x = np.random.default_rng(shape).integers(-50, 50, shape).astype(TYPES[type_])
    if type_ != "i32":
        x.flat[np.random.default_rng(1).integers(0, x.size, max(1, x.size // 300))] = np.nan
    _, index = run_on_simt(argmax(shape, axis, type_, order), [x])
    wide = x.astype(np.float64)
    np.testing.assert_array_equal(index, (np.argmax if order == "GT" else np.argmin)(wide, axis))


def test_a_maximum_and_where_it_is_together() -> None:
    """As siblings they share one launch and its reads; each is combined in its own way."""
    text = (
        argmax((70, 300), 1)
        .replace(
            "return %r#0, %r#1 :",
            """
      %m = stablehlo.reduce(%x init: %lowest) applies stablehlo.maximum across dimensions = [1]
        : (tensor<70x300xf32>, tensor<f32>) -> tensor<70xf32>
      return %r#0, %r#1, %m :""",
        )
        .replace("-> (tensor<70xf32>, tensor<70xi32>) {", "-> (tensor<70xf32>, tensor<70xi32>, tensor<70xf32>) {")
    )
    text = text.replace("%m : tensor<70xf32>, tensor<70xi32>", "%m : tensor<70xf32>, tensor<70xi32>, tensor<70xf32>")
    assert len(functions(text)) == 1
    check_on_simt(text, [array((70, 300))])


CHOOSING = """
func.func private @k(%x: memref<8x9xf32>, %y: memref<8x9xi32>, %o: memref<8xf32>, %p: memref<8xi32>) {{
  %init = arith.constant {init} : f32
  %zero = arith.constant 0 : i32
  linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
                                   affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}}
      ins(%x, %y : memref<8x9xf32>, memref<8x9xi32>) outs(%o, %p : memref<8xf32>, memref<8xi32>) {{
  ^bb(%e: f32, %n: i32, %acc: f32, %m: i32):
    {body}
    linalg.yield %v, %w : f32, i32
  }}
  func.return
}}"""


def combination(body: str, init: str = "0xFF800000") -> Combination | None:
    module = parse_module(CHOOSING.format(body=body, init=init), "test.mlir", make_context())
    function = next(iter(module.body.block.ops))
    constants = [op.results[0] for op in function.walk() if op.name == "arith.constant"]
    generic = next(op for op in function.walk() if isinstance(op, GenericOp))
    found = taken_apart(nest_of_generic(generic), constants[:2])
    return None if found is None else found[1]


BOTH = "%v = arith.select %c, %acc, %e : f32 \n %w = arith.select %c, %m, %n : i32"


@pytest.mark.parametrize(
    "body, positioned",
    [
        # The first of the greatest; NaN never wins, and never loses once it is first: not associative.
        (f"%c = arith.cmpf oge, %acc, %e : f32 \n {BOTH}", None),
        # NaN wins.
        (f"%c = arith.cmpf uge, %acc, %e : f32 \n {BOTH}", None),
        (f"%g = arith.cmpf oge, %acc, %e : f32 \n %u = arith.cmpf uno, %acc, %acc : f32 \n"
         f"%c = arith.ori %g, %u : i1 \n {BOTH}", True),
        # By the integers: the first of equal ones.
        (f"%c = arith.cmpi sle, %m, %n : i32 \n {BOTH}", True),
        # Each by itself: the order does not matter.
        ("%v = arith.maximumf %acc, %e : f32 \n %c = arith.cmpi sle, %m, %n : i32 \n"
         "%w = arith.select %c, %m, %n : i32", False),
        # The last one, whatever it is.
        (f"%c = arith.constant false \n {BOTH}", True),
        # Compares unlike things, or computes.
        ("%c = arith.cmpi sle, %m, %n : i32 \n %v = arith.select %c, %acc, %e : f32 \n %w = arith.subi %m, %n : i32", None),
        # Signed and unsigned order of the same numbers.
        (f"%a = arith.cmpi sle, %m, %n : i32 \n %b = arith.cmpi ule, %m, %n : i32 \n %c = arith.andi %a, %b : i1 \n {BOTH}",
         None),
    ],
)  # fmt: skip
def test_bodies_that_choose_are_checked(body: str, positioned: bool | None) -> None:
    found = combination(body)
    assert (None if found is None else found.positioned) == positioned


def test_an_unknown_operation_has_a_thread_for_each_result() -> None:
    """x - y is not associative: elements are combined one after the other, as written."""
    text = reduction((70, 33), (1,), "subtract")
    x = array((70, 33))
    want = np.zeros(70, np.float32)
    for column in x.T:
        want = want - column
    (got,) = run_on_simt(text, [x])
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


# Rows -------------------------------------------------------------------------------------------------------------


@pytest.mark.long(4)
@pytest.mark.sample(3)
@pytest.mark.parametrize("n", [2, 3, 31, 33, 100, 255, 257, 1009, 4096, 5000])
def test_rows(n: int) -> None:
    x, t, scale, shift = array((37, n)), array((37, n), seed=1), array((n,)), array((n,), seed=1)
    for text, inputs in (
        (softmax((37,), n), [x]),
        (layernorm(37, n), [x, scale, shift]),
        (cross_entropy(37, n), [x, t]),
    ):
        assert len(functions(text)) == 1
        check_on_simt(text, inputs)


def test_rows_that_are_too_long_for_registers_are_read_again() -> None:
    n = 40_001
    x, t = array((9, n)), array((9, n), seed=1)
    assert len(functions(softmax((9,), n))) == 1
    check_on_simt(softmax((9,), n), [x])
    check_on_simt(cross_entropy(9, n), [x, t])


def test_a_few_rows_that_are_long_are_shared_by_blocks() -> None:
    """Two rows alone would keep only two multiprocessors busy, so each reduction is split over all of them."""
    text, x = softmax((2,), 600_000), array((2, 600_000))
    assert max(blocks(function) for function in functions(text)) > 132
    check_on_simt(text, [x])


def test_rows_of_several_dimensions() -> None:
    check_on_simt(softmax((2, 3, 5), 65), [array((2, 3, 5, 65))])


@pytest.mark.sample(5)
@pytest.mark.parametrize("type_", ["bf16", "f16", "f64"])
@pytest.mark.parametrize("n", [31, 64, 257, 4096])
def test_rows_of_other_types(type_: str, n: int) -> None:
    check_on_simt(softmax((9,), n, type_), [array((9, n), type_)])
    check_on_simt(layernorm(9, n, type_), [array((9, n), type_), array((n,), type_), array((n,), type_)])


# PTX --------------------------------------------------------------------------------------------------------------

FAST = {
    "sum_all": reduction((1 << 26,), (0,)),
    "mean": MEAN.format(n=1 << 26),
    "sum_minor": reduction((8192, 8192), (1,)),
    "sum_major": reduction((8192, 8192), (0,)),
    "sum_middle": reduction((128, 512, 1024), (1,)),
    "softmax": softmax((32768,), 4096),
    "softmax_bf16": softmax((32768,), 4096, "bf16"),
    "layernorm": layernorm(65536, 1024),
    "cross_entropy": cross_entropy(32768, 4096),
    "moments_bf16": moments(65536, 1024, 0, "bf16"),
}
"""Programs that are to run at the speed of memory."""


def ptx_of(text: str, chip: str) -> str:
    target, machine, ctx = nvptx(chip), get_chip(chip), make_context()
    module = parse_module(text, "test.mlir", ctx)
    run_passes(ctx, module, (*FRONT, *map(target.tune, FUSE), *target.passes_between(None, target.last_stage)))
    return emit_ptx(module, machine, machine.ptx)


@pytest.mark.long(9)
@pytest.mark.parametrize("name", FAST)
def test_fast_kernels_access_memory_in_vectors_and_spill_nothing(name: str) -> None:
    ptx = ptx_of(FAST[name], "sm_90")
    main = ptx.split(".visible .entry")[1]
    loads = re.findall(r"ld\.global\S*", main)
    assert all(".v4.b32" in load for load in loads if not load.endswith(".b16")), loads
    assert sum(".v4.b32" in load for load in loads) >= 4
    assert all(".v4.b32" in store for store in re.findall(r"st\.global\S*", main)) or name != "softmax"
    assert ".local" not in ptx
    if next(assemblers(), None) is not None:
        for resources in assemble(ptx, get_chip("sm_90")).kernels:
            assert not resources.spills


def test_every_launch_is_of_a_function_of_its_own() -> None:
    module, _ = gpu_level(MEAN.format(n=1 << 20))
    launched = [op.kernel.string_value() for op in module.walk() if isinstance(op, GpuLaunchFuncOp)]
    assert len(launched) == len(set(launched)) == 2


def test_vectors_claim_no_more_alignment_than_buffers_have() -> None:
    """Four f64 beside four f32: 32 bytes, from a buffer that begins at a multiple of 16."""
    wide, narrow = "tensor<512x1024xf64>", "tensor<512x1024xf32>"
    module, _ = gpu_level(f"""func.func @main(%x: {narrow}, %s: tensor<1024xf64>) -> {narrow} {{
      %z = hlo.constant dense<0.0> : tensor<f32>
      %0 = hlo.broadcast_in_dim %s, dims = [1] : (tensor<1024xf64>) -> {wide}
      %1 = hlo.convert %0 : ({wide}) -> {narrow}
      %2 = hlo.multiply %x, %1 : {narrow}
      %3 = hlo.reduce(%2 init: %z) applies hlo.add across dimensions = [1] : ({narrow}, tensor<f32>) -> tensor<512xf32>
      %4 = hlo.broadcast_in_dim %3, dims = [0] : (tensor<512xf32>) -> {narrow}
      %5 = hlo.divide %2, %4 : {narrow}
      func.return %5 : {narrow}
    }}""")
    found = {op.attributes["alignment"] for op in module.walk() if op.name in ("vector.load", "vector.store")}
    assert {attr.value.data for attr in found} == {16}
