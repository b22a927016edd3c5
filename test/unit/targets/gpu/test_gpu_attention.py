"""Attention on GPUs: one kernel over tiles of rows, of every layout, element type and edge, on the SIMT interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attention_programs import BFLOAT, FLOAT, HALF, Attention, AttentionGradient
from cpu_programs import type_of
from simt_programs import check_on_simt, gpu_level, gpu_target, run_on_simt
from test_row_sums import Gradient
from xhlo.dialects.gpu.functions import GpuLaunchFuncOp
from xhlo.dialects.support.kernel import kernels_of
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.lowering.loop_nests.masks import Condition
from xhlo.lowering.map_kernels_to_gpu.reduction.chain import temporaries_of
from xhlo.lowering.map_kernels_to_gpu.streamed_rows.analysis import streamed_form
from xhlo.lowering.map_kernels_to_gpu.streamed_rows.masks import Mask, mask_of
from xhlo.lowering.map_kernels_to_gpu.threads.phases import joined, phases_of
from xhlo.passes.fuse_hlo import repeats
from xhlo.targets.program.module_facts import kernels_of as described
from xhlo.targets.program.pipeline import run_passes

CASES = {
    "plain": Attention(2, 2, 64, 64, 32, 32),
    "odd sizes": Attention(1, 2, 37, 53, 19, 21),
    "one row more": Attention(1, 1, 65, 64, 16, 16),
    "many keys": Attention(1, 1, 18, 300, 16, 16),
    "heads inside": Attention(2, 2, 33, 40, 16, 20, "bnhd"),
    "causal": Attention(1, 2, 80, 80, 16, 16, causal=True),
    "grouped": Attention(1, 2, 33, 40, 16, 16, groups=3),
    "grouped inside": Attention(1, 2, 33, 40, 16, 16, "bnhd", groups=3, causal=True),
    "bf16": Attention(1, 2, 96, 160, 32, 64, dtype=BFLOAT),
    "bf16, causal, odd sizes": Attention(1, 2, 37, 45, 24, 40, dtype=BFLOAT, causal=True),
    "bf16, grouped inside": Attention(1, 2, 33, 40, 16, 16, "bnhd", groups=3, dtype=BFLOAT, causal=True),
    "f16": Attention(1, 2, 80, 72, 64, 16, dtype=HALF),
    "f16, unaligned": Attention(1, 2, 20, 30, 18, 20, dtype=HALF),
    "f16, wide": Attention(1, 1, 32, 64, 128, 128, dtype=HALF, causal=True),
    "f32, wide": Attention(1, 1, 32, 64, 128, 256),
    "weights too": Attention(1, 2, 37, 45, 16, 20, returns_weights=True),
    "bf16 weights too": Attention(1, 2, 37, 45, 16, 20, dtype=BFLOAT, returns_weights=True),
}


def check(case: Attention, chip: str = "sm_90") -> None:
    got = run_on_simt(case.text(), case.inputs(), chip=chip)
    # Exponentials turn the absolute error of scores, which are sums of `depth` products, into a relative one.
    bound = {4: 1e-7 * max(case.depth, 16), 2: 1e-2}[case.dtype.itemsize]
    for result, want in zip(got, case.expected()[0 if case.returns_weights else 1 :], strict=True):
        assert np.abs(result.astype(np.float64) - want).max() < bound * max(1, np.abs(want).max())


@pytest.mark.long(17)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_attention_is_one_launch(case: Attention) -> None:
    module, _ = gpu_level(case.text())
    assert len([op for op in module.walk() if isinstance(op, GpuLaunchFuncOp)]) == 1
    check(case)


@pytest.mark.long(2)
@pytest.mark.parametrize("dtype", [FLOAT, HALF], ids=str)
def test_two_products_of_the_same_weights(dtype: np.dtype[Any]) -> None:
    case = Attention(1, 2, 40, 48, 16, 16, dtype=dtype)
    text, x = case.text(), type_of(case.inputs()[0])
    product = next(line for line in text.splitlines() if "%o = " in line)
    twice = product.replace("%o = ", "%o2 = ").replace("%v", "%k")
    text = text.replace(product, f"{product}\n{twice}").replace(f"-> {x} {{", f"-> ({x}, {x}) {{")
    text = text.replace(f"func.return %o : {x}", f"func.return %o, %o2 : {x}, {x}")
    module, _ = gpu_level(text)
    assert len([op for op in module.walk() if isinstance(op, GpuLaunchFuncOp)]) == 1
    check_on_simt(text, case.inputs())


@pytest.mark.long(2)
@pytest.mark.parametrize("dtype", [FLOAT, BFLOAT], ids=str)
def test_a_result_in_another_layout(dtype: np.dtype[Any]) -> None:
    case = Attention(1, 3, 40, 48, 16, 24, "bnhd", dtype=dtype)
    text = case.text()
    out = text.rsplit(": ", 1)[1].split("\n")[0]
    turned = out.replace("x3x40x", "x40x3x")
    assert turned != out
    transpose = f"%t = hlo.transpose %o, dims = [0, 2, 1, 3] : ({out}) -> {turned}\n  func.return %t : {turned}"
    text = text.replace(f"func.return %o : {out}", transpose).replace(f"-> {out} {{", f"-> {turned} {{")
    module, _ = gpu_level(text)
    assert len([op for op in module.walk() if isinstance(op, GpuLaunchFuncOp)]) == 1
    check_on_simt(text, case.inputs())


GRADIENTS = {
    "plain": AttentionGradient(1, 2, 64, 32),
    "odd sizes": AttentionGradient(2, 1, 37, 20),
    "bf16": AttentionGradient(1, 2, 80, 16, BFLOAT),
    "f16, odd sizes": AttentionGradient(1, 1, 100, 40, HALF),
}


@pytest.mark.long(4)
@pytest.mark.parametrize("case", GRADIENTS.values(), ids=GRADIENTS.keys())
def test_gradients_are_two_launches(case: AttentionGradient) -> None:
    """The second one sums over queries for the gradients of k and v."""
    module, _ = gpu_level(case.text())
    assert len([op for op in module.walk() if isinstance(op, GpuLaunchFuncOp)]) == 2
    for got, want in zip(run_on_simt(case.text(), case.inputs()), case.expected(), strict=True):
        bound = {4: 1e-5, 2: 4e-2}[case.dtype.itemsize]
        assert np.abs(got.astype(np.float64) - want).max() < bound * np.abs(want).max()


@pytest.mark.long(2)
@pytest.mark.parametrize("dtype", [FLOAT, BFLOAT], ids=str)
def test_large_weights_are_computed_again(dtype: np.dtype[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeats, "LARGE", 0)
    case = Gradient(1, 130, 150, 16, dtype, follows=True)
    module, _ = gpu_level(case.text())
    weights = 2 * case.heads * case.queries * case.keys * dtype.itemsize
    assert max(kernel.bytes for kernel in described(module)) < weights
    for got, want in zip(run_on_simt(case.text(), case.inputs()), case.expected(), strict=True):
        bound = {4: 1e-5, 2: 4e-2}[case.dtype.itemsize]
        assert np.abs(got.astype(np.float64) - want).max() < bound * max(1, np.abs(want).max())


def masks(text: str) -> list[tuple[Mask | None, ...]]:
    """For each launch of a program's only kernel: the masks of its passes."""
    ctx = make_context()
    module, target = parse_module(text, "test.mlir", ctx), gpu_target("sm_90")
    run_passes(ctx, module, (*target.passes_to("linalg"), "bufferize"))
    (kernel,) = kernels_of(module)
    phase = joined(kernel, phases_of(kernel))
    form = streamed_form(phase, temporaries_of(phase.ops, phase.nests()))
    forms = [form] if form.sums is None else [form, form.sums]
    return [tuple(mask_of(each, at) for at in range(each.passes)) for each in forms]


def test_masks_of_tiles() -> None:
    """
    Above the diagonal no scores are computed, and there one element stands for all of its row; not where the rows are
    keys, whose weights depend on the maxima and sums of queries.
    """
    diagonal = Condition(((1, 1), (2, -1)), 0)
    assert masks(Attention(1, 2, 80, 80, 16, 16, causal=True).text()) == [(Mask(diagonal, True),) * 3]
    assert masks(Attention(1, 2, 80, 80, 16, 16).text()) == [(None,) * 3]
    first, second = masks(AttentionGradient(1, 2, 64, 32).text())
    assert first == (Mask(diagonal, True), Mask(diagonal, True), None, Mask(diagonal, True))
    turned = Condition(((2, -1), (3, 1)), 0)
    assert set(second) == {Mask(turned, False), Mask(turned, True)}


STRICT = ("GE, %i, %j", "GT, %i, %j")
INFINITE = ("-1.0e30", "0xFF800000")


@pytest.mark.long(8)
@pytest.mark.parametrize("changes", [(), (STRICT,), (INFINITE,), (STRICT, INFINITE)], ids=str)
@pytest.mark.parametrize("dtype", [FLOAT, HALF], ids=str)
def test_masked_rows_and_values_without_numbers(changes: tuple[tuple[str, str], ...], dtype: np.dtype[Any]) -> None:
    """Wholly masked rows, and values that are infinite or NaN at masked places: what the program says, NaN included."""
    case = Attention(1, 1, 80, 150, 16, 16, dtype=dtype, causal=True)
    text = case.text()
    for change in changes:
        assert change[0] in text
        text = text.replace(*change)
    q, k, v = case.inputs()
    v[0, 0, 140, 3], v[0, 0, 149, 5], v[0, 0, 70, 7] = np.inf, np.nan, -np.inf
    check_on_simt(text, [q, k, v])


@pytest.mark.long(6)
@pytest.mark.parametrize("chip", ["sm_75", "sm_86"])
@pytest.mark.parametrize("dtype", [FLOAT, HALF, BFLOAT])
def test_chips_with_less_shared_memory(chip: str, dtype: np.dtype[Any]) -> None:
    check(Attention(1, 1, 40, 80, 64, 48, dtype=dtype, causal=True), chip)
