"""Attention on slices of one projection, with its gradients side by side: one kernel, and no copy around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xhlo
from attention_programs import softmax_text
from cpu_programs import on_threads, type_of
from xhlo.passes.fuse_hlo import row_views

FLOAT, BFLOAT = np.dtype(np.float32), np.dtype(ml_dtypes.bfloat16)


@dataclass(frozen=True)
class Merged:
    """softmax(q k^T) v of a batch of two, the gradients of q, k and v, and the result, all in columns of one matrix."""

    heads: int
    length: int
    depth: int
    dtype: np.dtype[Any] = FLOAT
    stacked: bool = False
    """Whether q, k and v are along a dimension of their own, as PyTorch's modules write it."""

    @property
    def shape(self) -> tuple[int, ...]:
        width = self.heads * self.depth
        return (2, self.length, 3, self.heads, self.depth) if self.stacked else (2, self.length, 3 * width)

    def inputs(self) -> list[np.ndarray]:
        rng = np.random.default_rng(0)
        above = (2, self.length, self.heads, self.depth)
        return [(rng.standard_normal(shape) / 2).astype(self.dtype) for shape in (self.shape, above)]

    def text(self) -> str:
        y, d = map(type_of, self.inputs())
        h, n, w, e = self.heads, self.length, self.depth, y.split("x")[-1][:-1]
        rows, out = f"2x{h}x{n}", f"tensor<2x{h}x{n}x{w}x{e}>"
        full, row = f"tensor<{rows}x{n}xf32>", f"tensor<{rows}xf32>"
        narrow, joined = full.replace("f32", e), f"tensor<2x{n}x{3 * h}x{w}x{e}>"
        cuts: list[str] = []
        for number, name in enumerate("qkv"):
            rest = (
                f"{number}:{number + 1}, 0:{h}, 0:{w}" if self.stacked else f"{number * h * w}:{(number + 1) * h * w}"
            )
            part = f"tensor<2x{n}x{f'1x{h}x{w}' if self.stacked else h * w}x{e}>"
            cuts.append(f"%{name}0 = hlo.slice %y [0:2, 0:{n}, {rest}] : ({y}) -> {part}")
            cuts.append(f"%{name} = hlo.reshape %{name}0 : ({part}) -> {d}")
        lines = "\n  ".join(cuts)
        outer = "batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3]"
        mixed = "batching_dims = [0, 1] x [0, 2], contracting_dims"
        turned = "\n  ".join(
            f"%{name}_ = hlo.transpose %{name}, dims = [0, 2, 1, 3] : ({out}) -> {d}"
            for name in ("o", "dq", "dk", "dv")
        )
        return f"""func.func @main(%y: {y}, %d: {d}) -> ({d}, {joined}) {{
  {lines}
  %least = hlo.constant dense<0xFF800000> : tensor<f32>
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %s = hlo.dot_general %q, %k, {outer} : ({d}, {d}) -> {full}
  {softmax_text(full, narrow, row)}
  %o = hlo.dot_general %w, %v, {mixed} = [3] x [1] : ({narrow}, {d}) -> {out}
  %dv = hlo.dot_general %w, %d, {mixed} = [2] x [1] : ({narrow}, {d}) -> {out}
  %dw = hlo.dot_general %d, %v, {outer} : ({d}, {d}) -> {full}
  %a = hlo.multiply %dw, %p : {full}
  %b = hlo.reduce(%a init: %zero) applies hlo.add across dimensions = [3] : ({full}, tensor<f32>) -> {row}
  %c = hlo.broadcast_in_dim %b, dims = [0, 1, 2] : ({row}) -> {full}
  %f = hlo.subtract %dw, %c : {full}
  %g = hlo.multiply %f, %p : {full}
  %ds = hlo.convert %g : ({full}) -> {narrow}
  %dq = hlo.dot_general %ds, %k, {mixed} = [3] x [1] : ({narrow}, {d}) -> {out}
  %dk = hlo.dot_general %ds, %q, {mixed} = [2] x [1] : ({narrow}, {d}) -> {out}
  {turned}
  %all = hlo.concatenate %dq_, %dk_, %dv_, dim = 2 : ({d}, {d}, {d}) -> {joined}
  func.return %o_, %all : {d}, {joined}
}}"""

    def expected(self) -> list[np.ndarray]:
        """In f64."""
        y, d = (x.astype(np.float64) for x in self.inputs())
        q, k, v = y.reshape(2, self.length, 3, self.heads, self.depth).transpose(2, 0, 3, 1, 4)
        d = d.swapaxes(1, 2)
        s = q @ k.swapaxes(2, 3)
        e = np.exp(s - s.max(-1, keepdims=True))
        p = e / e.sum(-1, keepdims=True)
        dw = d @ v.swapaxes(2, 3)
        ds = p * (dw - (dw * p).sum(-1, keepdims=True))
        gradients = (ds @ k, ds.swapaxes(2, 3) @ q, p.swapaxes(2, 3) @ d)
        return [(p @ v).swapaxes(1, 2), np.concatenate([x.swapaxes(1, 2) for x in gradients], 2)]


CASES = {
    "whole tiles": Merged(4, 64, 32),
    "odd sizes": Merged(5, 53, 19),
    "stacked": Merged(4, 40, 16, stacked=True),
    "bf16": Merged(4, 40, 32, BFLOAT),
    "bf16, odd sizes": Merged(5, 37, 21, BFLOAT),
}


def check(case: Merged, level: Any = 2) -> xhlo.Executable:
    executable = xhlo.compile(case.text(), opt_level=level)
    bound = {4: 4e-6, 2: 2e-2}[case.dtype.itemsize]
    for result, want in zip(executable.compute(case.inputs(), None), case.expected(), strict=True):
        assert np.abs(result.astype(np.float64) - want).max() < bound * max(1, np.abs(want).max())
    return executable


@pytest.mark.long(3)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_one_kernel_reads_and_writes_in_place(case: Merged) -> None:
    executable = check(case)
    assert [kernel.kind for kernel in executable.kernels] == ["row"]
    assert executable.kernels[0].bytes == sum(x.nbytes for x in case.inputs()) * 2


def _nothing(*_: object) -> tuple[()]:
    return ()


@pytest.mark.long(3)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_same_bits_as_with_copies(case: Merged, monkeypatch: pytest.MonkeyPatch) -> None:
    merged = on_threads(case.text(), *case.inputs())
    monkeypatch.setattr(row_views, "fuse_row_views", _nothing)
    executable = xhlo.compile(case.text() + "\n// With copies.\n")
    assert [kernel.kind for kernel in executable.kernels] == ["loop", "row", "loop", "concatenate"]
    for result, want in zip(merged, executable.compute(case.inputs(), None), strict=True):
        assert result.tobytes() == want.tobytes()


@pytest.mark.parametrize("level", [0, 1, 3])
def test_every_level(level: Any) -> None:
    check(CASES["odd sizes"], level)


def test_guarded() -> None:
    case = CASES["odd sizes"]
    xhlo.compile(case.text(), guard=True).compute(case.inputs(), None)
