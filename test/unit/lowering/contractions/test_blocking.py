"""The tiles of matrix products."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest
from xdsl.dialects.builtin import bf16, f32, i8, i32
from xdsl.utils.test_value import create_ssa_value

from xhlo.dialects.support.buffers import memref_type
from xhlo.lowering.convert_contractions_to_vector.blocking import LOW, PASS_STEPS, TILE_BYTES, Blocking, block
from xhlo.lowering.convert_contractions_to_vector.contraction import Contraction, Loop
from xhlo.lowering.convert_contractions_to_vector.in_place import block_rows, reads_both_in_place, sums_along
from xhlo.lowering.convert_contractions_to_vector.split import block_packed, packs_the_larger
from xhlo.lowering.device.cpu import CPU
from xhlo.lowering.loop_nests.nest import Access


def product_of(m: int, n: int, k: int, factor: Any = f32, element: Any = f32) -> Contraction:
    a, b = (Access(create_ssa_value(memref_type((size,), factor)), 0, (), ()) for size in (m * k, k * n))
    loops = (Loop(m, k, 0, n), Loop(n, 0, 1, 1), Loop(k, 1, n, 0))
    return Contraction(a, b, cast(Any, None), *loops, (), (), element)


def blocking_of(m: int, n: int, k: int) -> Blocking:
    return block(product_of(m, n, k), CPU)


@pytest.mark.parametrize("shape", [(32, 1536, 384), (32, 384, 1536), (64, 1024, 1024)])
def test_few_rows_are_one_tile(shape: tuple[int, int, int]):
    """Each panel of B is then packed by the task that reads it, not beforehand."""
    found = blocking_of(*shape)
    assert found.tile_m == found.m_panels
    assert found.tiles >= 8


def test_few_columns_are_divided_by_rows():
    """With few panels of B, tiles as high as C would be too few tasks."""
    found = blocking_of(112, 64, 512)
    assert found.tile_m < found.m_panels


@pytest.mark.parametrize("k, low", [(128, True), (8192, False)])
def test_short_sums_of_bytes_have_low_blocks(k: int, low: bool) -> None:
    """Writing C takes a part of the time then, and longer where the lines of many rows share a set of the L1 cache."""
    found = block(product_of(1001, 1024, k, i8, i32), replace(CPU, byte_dots=True))
    assert (found.mr <= LOW) == low
    assert found.group == 4


AVX2 = replace(CPU, vector_bits=256, l2_bytes=512 << 10)


@pytest.mark.parametrize("rows, length", [(16, 2048), (64, 2048), (128, 512)])
def test_low_blocks_pack_runs_that_stay_in_the_second_level_cache(rows: int, length: int) -> None:
    """Rows of B are read in long runs, and more rows of A, which write more of C, get deeper panels."""
    found = block(product_of(rows, 2048, 2048), AVX2, packed=True)
    assert found.run == found.tile_n and found.tile_m == found.m_panels
    bytes_of_run = found.run * found.nr * 4
    assert 0.7 * length <= bytes_of_run <= 1.3 * length
    assert bytes_of_run * found.kc <= AVX2.l2_bytes // 2


def test_long_runs_leave_tasks() -> None:
    found = block(product_of(16, 1024, 1024), AVX2, packed=True)
    assert found.tiles >= 4


@pytest.mark.parametrize(
    "machine, columns, steps", [(AVX2, 64, 512), (AVX2, 1024, 32), (AVX2, 4096, 32), (CPU, 64, 64)]
)
def test_low_blocks_pass_over_more_of_the_short_rows_of_a_distant_factor(
    machine: Any, columns: int, steps: int
) -> None:
    """They would write C after few steps, and 64 short rows are on few pages."""
    product = product_of(64, columns, 512)
    assert block_rows(product, block(product, machine), machine, streamed=True).kc == steps


@pytest.mark.parametrize(
    "rows, columns, depth, tiles",
    [
        (512, 1024, 4096, (1, 8)),  # a tile of half the rows would pack B twice for few rows
        (1024, 1024, 1024, (2, 4)),
        (197, 3072, 768, (1, 8)),
        (2000, 4000, 4000, (2, 16)),  # tasks of many multiply-adds are more
    ],
)
def test_low_blocks_have_broad_tiles(rows: int, columns: int, depth: int, tiles: tuple[int, int]) -> None:
    """Tiles of many panels of B, which fit into the L2 cache, in a multiple of eight tasks where that is possible."""
    found = block(product_of(rows, columns, depth), AVX2, packed=True, whole=False)
    assert (-(-found.m_panels // found.tile_m), -(-found.n_panels // found.tile_n)) == tiles
    assert found.broad and found.run == found.tile_n
    assert found.run * found.kc * found.nr * 4 <= AVX2.l2_bytes


def test_matrices_of_a_batch_are_tasks() -> None:
    """Where they are enough, each packs its panels of B once."""
    product = replace(product_of(512, 1024, 1024), outer=(Loop(8, 1 << 19, 1 << 20, 1 << 19),))
    found = block(product, AVX2, packed=True, whole=False)
    assert found.broad and found.tile_m == found.m_panels
    shared = replace(product, outer=(Loop(8, 1 << 19, 0, 1 << 19),))
    assert not block(shared, AVX2, packed=True, whole=False).broad


def test_many_registers_have_no_broad_tiles() -> None:
    assert not block(product_of(1024, 1024, 1024), CPU, packed=True, whole=False).broad


def test_columns_of_a_that_lie_apart_keep_short_passes() -> None:
    product = product_of(64, 64, 512)
    product = replace(product, m=Loop(64, 1, 0, 64), k=Loop(512, 64, 64, 0))
    assert block_rows(product, block(product, AVX2), AVX2, streamed=True).kc == 64


@pytest.mark.parametrize("element, machine, steps", [(f32, AVX2, 4), (f32, CPU, 1), (i32, AVX2, 1)])
def test_low_blocks_of_floats_take_several_steps_at_once(element: Any, machine: Any, steps: int) -> None:
    """Fewer instructions for each multiply-add; LLVM has no registers for several products of integers."""
    assert block(product_of(256, 256, 256, element, element), machine).of_block.steps == steps


def test_low_blocks_have_whole_lines_and_hide_latency() -> None:
    """13 rows of one vector load more than they multiply, and 4 of two have no multiply-add to spare."""
    shapes = [block(product_of(rows, 2048, 2048), AVX2, packed=True) for rows in (8, 16, 64, 1024)]
    assert all(each.vectors > 1 and each.mr * each.vectors == 12 for each in shapes)


def test_many_rows_or_registers_pack_no_such_runs() -> None:
    assert block(product_of(256, 2048, 2048), AVX2, packed=True).run == 0
    assert block(product_of(16, 2048, 2048), CPU, packed=True).run == 0


@pytest.mark.parametrize(
    "rows, bits, factor, in_place",
    [
        (4, 256, f32, True),
        (8, 256, f32, True),
        (18, 256, f32, True),
        (24, 256, f32, False),
        (24, 256, bf16, True),
        (16, 512, f32, True),
        (32, 512, f32, True),
    ],
)
def test_rows_that_read_a_distant_factor_in_place(rows: int, bits: int, factor: Any, in_place: bool) -> None:
    """More than three low blocks pack it, unless it is narrower than its products."""
    machine = CPU if bits == 512 else AVX2
    product = product_of(rows, 2048, 2048)
    product = replace(product, b=Access(create_ssa_value(memref_type((2048 * 2048,), factor)), 0, (), ()))
    assert reads_both_in_place(product, block(product, machine), machine) == in_place


def test_long_panels_are_multiplied_in_parts_where_registers_are_few() -> None:
    """With blocks of few rows, a part of a panel of B stays in the L1 cache; high blocks let all of it stream."""
    found = block(product_of(1024, 1024, 2048), AVX2, whole=False)
    assert found.by_passes
    assert found.kc * found.nr * 4 <= CPU.l1_bytes
    assert found.kc % PASS_STEPS == 0
    assert not block(product_of(1024, 1024, 300), AVX2, whole=False).by_passes  # fits whole
    assert not block(product_of(1024, 1024, 2048), AVX2).by_passes
    assert not block(product_of(1024, 1024, 2048), CPU, whole=False).by_passes


@pytest.mark.parametrize("rows", [4, 8, 16, 32])
def test_few_rows_by_columns_along_k_have_narrow_panels_and_long_passes(rows: int) -> None:
    """Packing takes the time, which reads a piece of each column of a panel for each pass."""
    product = product_of(rows, 1024, 1024)
    found = block(
        replace(product, n=replace(product.n, b=1024), k=replace(product.k, b=1)), AVX2, packed=True, whole=False
    )
    assert (found.nr, found.kc) == (2 * found.lanes, 1024)
    assert not found.by_passes


def test_few_rows_by_a_small_factor_have_no_rows_to_spare() -> None:
    """Nothing waits for a B in the L1 cache: four blocks of 4 rows are all used, three of 6 are not."""
    assert block(product_of(16, 16, 16), AVX2, packed=True).mr == 4


@pytest.mark.parametrize("machine, rows, steps", [(AVX2, 4, 16), (AVX2, 8, 32), (CPU, 8, 16)])
def test_several_low_panels_pass_over_more_rows_from_memory(machine: Any, rows: int, steps: int) -> None:
    """They would read and write C too often."""
    product = product_of(rows, 4096, 4096)
    inside = block(product, machine, most_vectors=2)
    assert block_rows(product, inside, machine, streamed=True).kc == steps


@pytest.mark.parametrize("rows", [13, 14, 28, 33, 56])
def test_low_blocks_of_two_heights_leave_no_rest(rows: int) -> None:
    """Panels that read A in place end with its last row, and few are low."""
    product = product_of(rows, 64, 192)
    found = block_rows(product, block(product, AVX2), AVX2)
    lower = found.m_panels - found.high
    assert found.panels_of(rows) == found.m_panels
    assert found.high * found.mr + lower * found.low == rows
    assert 4 <= found.low < found.mr == 5 + (rows != 13)


def test_high_blocks_have_one_height() -> None:
    """Where registers are many, panels share the rows that they do not divide."""
    product = product_of(25090, 64, 192)
    assert block_rows(product, block(product, CPU), CPU).low == 0


@pytest.mark.parametrize("rows", [24, 25090])
def test_rows_that_panels_nearly_divide_have_one_height(rows: int) -> None:
    """A second micro-kernel would gain nothing."""
    product = product_of(rows, 64, 192)
    found = block_rows(product, block(product, AVX2), AVX2)
    assert (found.mr, found.low, found.m_panels) == (6, 0, -(-rows // 6))


def gradient_of_filters(size: int, inputs: int, features: int, images: int, stride: int) -> Contraction:
    """The product of the gradient of 3x3 filters, features last, of images of `size` x `size` results."""
    row = (size * stride + 2) * inputs
    images_at, results = (size * stride + 2) * row, size * size * features
    a, b = (Access(create_ssa_value(memref_type((count,), f32)), 0, (), ()) for count in (images * images_at, 1))
    m, n = Loop(3 * inputs, 1, 0, features), Loop(features, 0, 1, 1)
    k = Loop(size, stride * inputs, features, 0)
    around = (Loop(images, images_at, results, 0), Loop(size, stride * row, size * features, 0))
    outer = (Loop(3, row, 0, 3 * inputs * features),)
    return Contraction(a, b, cast(Any, None), m, n, k, outer, around, f32)


@pytest.mark.parametrize(
    "form, wide",
    [
        ((28, 128, 128, 8, 2), True),
        ((14, 256, 256, 8, 1), True),
        ((14, 32, 64, 64, 1), False),
        ((7, 512, 512, 8, 1), False),
    ],
)
def test_gradients_of_filters_read_images_once(form: tuple[int, int, int, int, int], wide: bool) -> None:
    """
    Tiles are as wide as C where narrow ones would read much more in all, and C stays in the L2 cache; the number of
    tasks is for a few threads.
    """
    product = gradient_of_filters(*form)
    found = block_rows(product, block(product, AVX2), AVX2)
    assert (found.tile_n == found.n_panels) == wide
    assert found.tiles >= 6
    assert block_rows(product, block(product, CPU), CPU).tile_n < found.n_panels or not wide


@pytest.mark.parametrize(
    "columns, depth, in_place", [(64, 128, False), (64, 32, True), (256, 64, False), (16, 512, True)]
)
def test_panels_whose_lines_share_few_sets_are_packed(columns: int, depth: int, in_place: bool) -> None:
    """Rows of B a few lines apart leave sets of the L1 cache empty, and A does not find room in the others."""
    product = product_of(6272, columns, depth)
    assert reads_both_in_place(product, block(product, AVX2), AVX2) == in_place
    assert reads_both_in_place(product, block(product, CPU, most_vectors=columns // 16), CPU)


@pytest.mark.parametrize("machine, depth, few", [(AVX2, 1024, True), (AVX2, 1000, False), (CPU, 1024, False)])
def test_few_rows_where_lines_of_a_share_sets(machine: Any, depth: int, few: bool) -> None:
    """More lines of A than a set has ways would leave the L1 cache before their next element."""
    product = product_of(1022, machine.vector_bits // 32, depth)
    found = block_rows(product, block(product, machine), machine)
    assert found.vectors == 1 and (found.mr <= 8) == few


@pytest.mark.parametrize(
    "rows, columns, depth, along_k, plain",
    [
        (8, 1024, 1024, True, True),
        (1024, 6, 1024, True, True),
        (9, 1024, 1024, True, False),
        (8, 1024, 60, True, False),  # adding up vectors would take much of the time
        (1024, 6, 1024, False, True),
        (1024, 8, 1024, False, False),  # whole vectors of columns
        (16, 6, 1024, False, False),  # a copy of the columns would take much of the time
    ],
)
def test_few_rows_along_both_factors_are_plain_loops(
    rows: int, columns: int, depth: int, along_k: bool, plain: bool
) -> None:
    """The same for few rows and few columns; with many registers high blocks are as fast."""
    product = product_of(rows, columns, depth)
    if along_k:
        product = replace(product, n=replace(product.n, b=depth), k=replace(product.k, b=1))
    assert sums_along(product, AVX2) == sums_along(product.transposed(), AVX2) == plain
    assert not sums_along(product, CPU)


@pytest.mark.parametrize("rows, columns", [(64, 256), (14, 700)])
def test_chunks_of_a_long_sum_are_tasks(rows: int, columns: int) -> None:
    """Each packs the rows of its chunk, which would be written to memory beforehand, and reads them once."""
    product = product_of(rows, columns, 784)
    chunks = Loop(32, product.k.a * 784, product.k.b * 784, rows * columns)
    found = block_packed(replace(product, outer=(chunks,)), CPU)
    assert (found.tile_m, found.tile_n) == (found.m_panels, found.n_panels)
    assert found.m_panels * found.mr * found.kc * 4 <= TILE_BYTES


def test_rows_of_a_chunk_that_are_too_many_are_packed_before() -> None:
    product = product_of(1022, 32, 784)
    chunks = Loop(32, product.k.a * 784, product.k.b * 784, 1022 * 32)
    found = block_packed(replace(product, outer=(chunks,)), CPU)
    assert found.tile_m < found.m_panels


def test_the_larger_factor_of_a_long_sum_is_packed_by_tasks() -> None:
    product = product_of(256, 64, 25088)
    by_columns = replace(product, m=replace(product.m, a=1), k=replace(product.k, a=256))
    assert packs_the_larger(by_columns, CPU)
    assert not packs_the_larger(by_columns.transposed(), CPU)
    assert not packs_the_larger(product, CPU)
    assert not packs_the_larger(by_columns, AVX2)
