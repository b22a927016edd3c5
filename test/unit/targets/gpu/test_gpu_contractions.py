"""Contractions mapped to the GPU, on the SIMT interpreter: every tiling, layout, element type and edge."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest

from simt_programs import check_on_simt, gpu_level
from xhlo.dialects.gpu.functions import GpuFuncOp
from xhlo.lowering.device.chips import CHIPS, get_chip
from xhlo.lowering.map_kernels_to_gpu.contraction.form import split_depth
from xhlo.lowering.plan_gpu_kernels import contraction
from xhlo.lowering.plan_gpu_kernels.contraction import fits
from xhlo.lowering.plan_gpu_kernels.contraction_tiles import (
    REGISTER_TILES,
    TENSOR_TILES,
    WIDE_REGISTER_TILES,
    Candidate,
    choose,
    estimate,
)

TYPES = {
    "f32": np.float32,
    "f64": np.float64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i64": np.int64,
    "i32": np.int32,
    "i16": np.int16,
    "i8": np.int8,
    "i1": np.bool_,
}


def array(shape: tuple[int, ...], element: str, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if element == "i1":
        return rng.integers(0, 2, shape).astype(bool)
    if element.startswith("i"):
        return rng.integers(-8, 9, shape).astype(TYPES[element])
    return rng.standard_normal(shape).astype(TYPES[element])


def tensor(shape: tuple[int, ...], element: str) -> str:
    return f"tensor<{'x'.join(map(str, (*shape, element)))}>"


TF32 = """, algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32,
    lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1,
    allow_imprecise_accumulation = false>"""


@dataclass(frozen=True)
class Dot:
    """A product of m x k and k x n, each factor plain or transposed in memory."""

    m: int
    n: int
    k: int
    element: str = "f32"
    result: str = ""
    transposed: tuple[bool, bool] = (False, False)
    batch: int = 0
    rhs: str = ""
    tf32: bool = False

    def shapes(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        outer = (self.batch,) if self.batch else ()
        lhs, rhs = (self.m, self.k), (self.k, self.n)
        return (
            (*outer, *(lhs[::-1] if self.transposed[0] else lhs)),
            (*outer, *(rhs[::-1] if self.transposed[1] else rhs)),
            (*outer, self.m, self.n),
        )

    def text(self) -> str:
        lhs, rhs, out = self.shapes()
        outer = 1 if self.batch else 0
        batching = "batching_dims = [0] x [0], " if self.batch else ""
        contracting = f"[{outer + (not self.transposed[0])}] x [{outer + self.transposed[1]}]"
        types = (
            tensor(lhs, self.element),
            tensor(rhs, self.rhs or self.element),
            tensor(out, self.result or self.element),
        )
        return f"""
        func.func @main(%a: {types[0]}, %b: {types[1]}) -> {types[2]} {{
          %0 = stablehlo.dot_general %a, %b, {batching}contracting_dims = {contracting}{TF32 if self.tf32 else ""} : ({types[0]}, {types[1]}) -> {types[2]}
          return %0 : {types[2]}
        }}"""

    def check(self, chip: str = "sm_90", rtol: float | None = None) -> None:
        lhs, rhs, _ = self.shapes()
        check_on_simt(
            self.text(), [array(lhs, self.element), array(rhs, self.rhs or self.element, 1)], chip=chip, rtol=rtol
        )


@contextmanager
def only(candidate: Candidate, may_split: bool = True) -> Iterator[None]:
    """All contractions get this tile."""
    with pytest.MonkeyPatch.context() as patch:
        for table in ("REGISTER_TILES", "WIDE_REGISTER_TILES", "TENSOR_TILES"):
            patch.setattr(contraction, table, (candidate,))
        patch.setattr(contraction, "choose", lambda *given: choose(*given, may_split=may_split))
        yield


def name_of(candidate: Candidate) -> str:
    return "x".join(map(str, candidate.tile.tile))


def device_functions(text: str, chip: str = "sm_90") -> list[GpuFuncOp]:
    module, _ = gpu_level(text, chip=chip)
    return [op for op in module.walk() if isinstance(op, GpuFuncOp)]


@pytest.mark.long(3)
@pytest.mark.sample(5)
@pytest.mark.parametrize("size", [1, 2, 31, 33, 255, 257])
@pytest.mark.parametrize("element", ["f32", "bf16"])
def test_square_products_of_any_size(size: int, element: str) -> None:
    Dot(size, size, size, element).check()


@pytest.mark.long(3)
@pytest.mark.parametrize(("m", "n", "k"), [(1, 257, 63), (255, 1, 33), (1, 1, 1021), (3, 127, 2), (61, 5, 509)])
def test_long_and_thin_products(m: int, n: int, k: int) -> None:
    Dot(m, n, k).check()
    Dot(m, n, k, "f16", "f32").check()


@pytest.mark.long(3)
@pytest.mark.sample(3)
@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize("element", ["f32", "f16"])
def test_layouts(element: str, transposed: tuple[bool, bool]) -> None:
    Dot(72, 56, 40, element, transposed=transposed).check()
    Dot(37, 41, 43, element, transposed=transposed).check()


@pytest.mark.long(8)
@pytest.mark.sample(2)
@pytest.mark.parametrize("candidate", REGISTER_TILES, ids=name_of)
def test_register_tilings(candidate: Candidate) -> None:
    tiling = candidate.tile
    with only(candidate):
        Dot(tiling.m, tiling.n * 2, tiling.k * 3).check()
        Dot(tiling.m + 3, tiling.n - 1, tiling.k * 2 + 1, transposed=(True, True)).check()


@pytest.mark.long(3)
@pytest.mark.parametrize("candidate", WIDE_REGISTER_TILES, ids=name_of)
def test_register_tilings_of_8_bytes(candidate: Candidate) -> None:
    tiling = candidate.tile
    with only(candidate):
        Dot(tiling.m + 1, tiling.n, tiling.k * 3, "f64").check()
        Dot(tiling.m, tiling.n + 5, tiling.k + 7, "i64", transposed=(False, True)).check()


@pytest.mark.long(8)
@pytest.mark.sample(3)
@pytest.mark.parametrize("candidate", TENSOR_TILES, ids=name_of)
def test_tensor_core_tilings(candidate: Candidate) -> None:
    tiling = candidate.tile
    with only(candidate):
        Dot(tiling.m, tiling.n, tiling.k * 2, "bf16", "f32").check()
        Dot(tiling.m + 8, tiling.n - 8, tiling.k + 8, "f16", transposed=(True, True)).check()


def test_many_rounds_of_copies() -> None:
    tiling = next(tiling for tiling in TENSOR_TILES if name_of(tiling) == "32x32x64")
    with only(tiling, may_split=False):
        Dot(40, 32, 64 * 17 + 8, "bf16").check()
        Dot(33, 33, 64 * 5 + 1, "bf16", transposed=(False, True)).check()


@pytest.mark.sample(3)
@pytest.mark.parametrize("chip", ["sm_75", "sm_80", "sm_86", "sm_100"])
@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_chips(chip: str, element: str) -> None:
    Dot(64, 48, 80, element, transposed=(False, True)).check(chip)


def test_bf16_has_no_tensor_cores_on_old_chips() -> None:
    def multiplications(element: str, chip: str) -> int:
        functions = device_functions(Dot(64, 64, 64, element).text(), chip)
        return sum(op.name == "nvgpu.mma.sync" for function in functions for op in function.walk())

    assert multiplications("bf16", "sm_75") == 0
    assert multiplications("bf16", "sm_80") > 0
    # 8 products per instruction, twice as many operations.
    assert multiplications("f16", "sm_75") == 2 * multiplications("f16", "sm_80") > 0
    assert multiplications("f32", "sm_90") == 0, "f32 is exact unless the program asks for tf32"


@pytest.mark.long(9)
@pytest.mark.parametrize(
    ("element", "result"),
    [
        ("f64", "f64"),
        ("f16", "f32"),
        ("i64", "i64"),
        ("i32", "i32"),
        ("i16", "i32"),
        ("i8", "i32"),
        ("i8", "i8"),
        ("i1", "i1"),
    ],
)
def test_element_types(element: str, result: str) -> None:
    Dot(33, 37, 65, element, result).check()
    Dot(32, 48, 64, element, result, transposed=(True, False)).check()


@pytest.mark.long(2)
@pytest.mark.sample(2)
@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False)])
def test_tf32_where_the_program_asks_for_it(transposed: tuple[bool, bool]) -> None:
    def multiplies(dot: Dot, chip: str = "sm_90") -> bool:
        return any(
            op.name == "nvgpu.mma.sync" for function in device_functions(dot.text(), chip) for op in function.walk()
        )

    for dot in (Dot(48, 40, 64, tf32=True, transposed=transposed), Dot(33, 37, 65, tf32=True, transposed=transposed)):
        dot.check(rtol=2e-3)
        assert multiplies(dot)
        assert not multiplies(dot, "sm_75")


@pytest.mark.long
@pytest.mark.parametrize("candidate", [TENSOR_TILES[0], TENSOR_TILES[-1]], ids=name_of)
def test_tensor_core_tilings_of_other_widths(candidate: Candidate) -> None:
    tiling = candidate.tile
    with only(candidate):
        Dot(tiling.m, tiling.n, tiling.k * 4, "i8", "i32", transposed=(False, True)).check()
        Dot(tiling.m + 3, tiling.n, 70, "i8", "i32").check()
        Dot(tiling.m + 4, tiling.n, tiling.k * 2, tf32=True, transposed=(False, True)).check(rtol=2e-3)


def test_factors_of_two_types() -> None:
    Dot(33, 37, 65, "bf16", "f32", rhs="f32").check()


@pytest.mark.parametrize("element", ["f32", "f16"])
def test_batches(element: str) -> None:
    Dot(17, 19, 31, element, batch=5).check()
    Dot(16, 32, 64, element, batch=3, transposed=(False, True)).check()


@pytest.mark.long(2)
@pytest.mark.parametrize("element", ["f32", "bf16"])
def test_long_sums_are_split(element: str) -> None:
    dot = Dot(17, 33, 5003, element)
    assert len(device_functions(dot.text())) == 2
    dot.check()


def convolution(
    x: tuple[int, ...], w: tuple[int, ...], y: tuple[int, ...], numbers: str, window: str, **more: int
) -> str:
    groups = more.get("groups", 1)
    types = tensor(x, "f32"), tensor(w, "f32"), tensor(y, "f32")
    return f"""
    func.func @main(%x: {types[0]}, %w: {types[1]}) -> {types[2]} {{
      %0 = stablehlo.convolution(%x, %w) dim_numbers = {numbers}, window = {{{window}}}
        {{batch_group_count = 1 : i64, feature_group_count = {groups} : i64}} : ({types[0]}, {types[1]}) -> {types[2]}
      return %0 : {types[2]}
    }}"""


@pytest.mark.long(3)
@pytest.mark.parametrize(
    ("x", "w", "y", "numbers", "window", "groups"),
    [
        ((2, 9, 9, 3), (3, 3, 3, 5), (2, 7, 7, 5), "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "", 1),
        ((1, 8, 8, 16), (3, 3, 16, 32), (1, 8, 8, 32), "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "pad = [[1, 1], [1, 1]]", 1),
        ((2, 4, 11, 13), (8, 4, 3, 2), (2, 8, 5, 6), "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]", "stride = [2, 2]", 1),
        ((1, 8, 12, 12), (8, 4, 3, 3), (1, 8, 8, 8), "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]", "rhs_dilate = [2, 2]", 2),
    ],
)  # fmt: skip
def test_convolutions(
    x: tuple[int, ...], w: tuple[int, ...], y: tuple[int, ...], numbers: str, window: str, groups: int
) -> None:
    text = convolution(x, w, y, numbers, window, groups=groups)
    check_on_simt(text, [array(x, "f32"), array(w, "f32", 1)])


def test_the_program_sees_no_product_that_its_epilogue_hides() -> None:
    """The f32 accumulators of a bf16 product are narrowed when they are written: one launch, no f32 buffer."""
    (function,) = device_functions(Dot(64, 64, 64, "bf16").text())
    assert all("f32" not in str(argument.type) for argument in function.body.block.args[:3])


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("shape", [(1, 8192, 8192, 8192), (96, 128, 128, 64), (1, 16, 4096, 4096), (1, 33, 31, 100000)])
def test_tilings_suit_the_chip(shape: tuple[int, int, int, int], chip: str) -> None:
    target = get_chip(chip)
    tables = [REGISTER_TILES, WIDE_REGISTER_TILES, [one for one in TENSOR_TILES if fits(one.tile, target)]]
    for table in tables:
        tiling = choose(table, shape, target)
        assert (tiling.splits - 1) * split_depth(tiling, shape[3]) < shape[3], "no split is empty"
        assert estimate(Candidate(tiling, table[0].rate), shape, target) > 0


def test_large_products_get_large_tiles() -> None:
    chip = get_chip("sm_90")
    assert (
        choose(TENSOR_TILES, (1, 8192, 8192, 8192), chip).m * choose(TENSOR_TILES, (1, 8192, 8192, 8192), chip).n
        == 128 * 256
    )
    assert choose(REGISTER_TILES, (1, 4096, 4096, 4096), chip).units == 256
    assert choose(TENSOR_TILES, (1, 64, 64, 65536), chip).splits > 1


def epilogue_program(m: int, n: int, k: int, element: str, batch: tuple[int, ...] = ()) -> str:
    """tanh(a b + bias) * scale + residual; the residual is also a result."""
    a, b, c = (tensor((*batch, *shape), element) for shape in ((m, k), (k, n), (m, n)))
    bias, rank = tensor((n,), element), len(batch)
    batching = f"batching_dims = {list(range(rank))} x {list(range(rank))}, " if batch else ""
    return f"""
    func.func @main(%a: {a}, %b: {b}, %bias: {bias}, %r: {c}) -> ({c}, {c}) {{
      %0 = stablehlo.dot_general %a, %b, {batching}contracting_dims = [{rank + 1}] x [{rank}] : ({a}, {b}) -> {c}
      %1 = stablehlo.broadcast_in_dim %bias, dims = [{rank + 1}] : ({bias}) -> {c}
      %2 = stablehlo.add %0, %1 : {c}
      %3 = stablehlo.tanh %2 : {c}
      %4 = stablehlo.add %3, %r : {c}
      return %3, %4 : {c}, {c}
    }}"""


@pytest.mark.sample(3)
@pytest.mark.parametrize("element", ["f32", "bf16"])
@pytest.mark.parametrize(
    ("m", "n", "k", "batch"), [(33, 37, 65, ()), (64, 48, 32, ()), (17, 31, 3001, ()), (16, 24, 40, (2, 3))]
)
def test_epilogues(m: int, n: int, k: int, batch: tuple[int, ...], element: str) -> None:
    text = epilogue_program(m, n, k, element, batch)
    shapes = ((*batch, m, k), (*batch, k, n), (n,), (*batch, m, n))
    check_on_simt(
        text,
        [array(shape, element, seed) for seed, shape in enumerate(shapes)],
        rtol=0.02 if element == "bf16" else None,
    )
    assert len(device_functions(text)) == (2 if k > 3000 else 1), "the epilogue has no launch of its own"


def test_convolutions_of_short_floats_stay_on_tensor_cores() -> None:
    shapes = (2, 10, 10, 16), (3, 3, 16, 64), (2, 10, 10, 64)
    text = convolution(*shapes, "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "pad = [[1, 1], [1, 1]]").replace(
        "f32", "bf16"
    )
    check_on_simt(text, [array(shapes[0], "bf16"), array(shapes[1], "bf16", 1)])
    names = {op.name for function in device_functions(text) for op in function.walk()}
    assert {"nvgpu.mma.sync", "nvgpu.device_async_copy"} <= names
