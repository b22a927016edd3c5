"""`--keep-fusions`: the fusions of HLO text as hlo.fusion, through the pipeline, and written again."""

from __future__ import annotations

from typing import Any

import numpy as np

from xhlo.frontends.hlo_text.format import write
from xhlo.hlo_dialect.custom_calls.call import python_value
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.ops.fusion import FusionOp
from xhlo.hlo_dialect.reading import parse_module
from xhlo.targets.compile import compile_program
from xhlo.targets.program.level import level_of
from xhlo.targets.program.pipeline import run_passes

TEXT = """HloModule kept

%sum (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(%a, %b)
}

%inner (p: f32[4,8]) -> f32[4,8] {
  %p = f32[4,8]{1,0} parameter(0)
  ROOT %e = f32[4,8]{1,0} exponential(%p)
}

%sums (q: f32[4,8]) -> (f32[4,8], f32[4]) {
  %q = f32[4,8]{1,0} parameter(0)
  %i = f32[4,8]{1,0} fusion(%q), kind=kLoop, calls=%inner
  %zero = f32[] constant(0)
  %r = f32[4]{0} reduce(%i, %zero), dimensions={1}, to_apply=%sum
  ROOT %t = (f32[4,8]{1,0}, f32[4]{0}) tuple(%i, %r)
}

%turned (c: c64[4]) -> c64[4] {
  %c = c64[4]{0} parameter(0)
  ROOT %squared = c64[4]{0} multiply(%c, %c)
}

%larger (m: f32[], n: f32[]) -> pred[] {
  %m = f32[] parameter(0)
  %n = f32[] parameter(1)
  ROOT %compare = pred[] compare(%m, %n), direction=GT
}

%order (m.1: f32[], n.1: f32[]) -> pred[] {
  %m.1 = f32[] parameter(0)
  %n.1 = f32[] parameter(1)
  ROOT %fusion.3 = pred[] fusion(%m.1, %n.1), kind=kLoop, calls=%larger
}

ENTRY %main (x: f32[4,8], z: c64[4]) -> (f32[4,8], f32[4,8], c64[4]) {
  %x = f32[4,8]{1,0} parameter(0)
  %z = c64[4]{0} parameter(1)
  %both = (f32[4,8]{1,0}, f32[4]{0}) fusion(%x), kind=kInput, calls=%sums
  %e.1 = f32[4,8]{1,0} get-tuple-element(%both), index=0
  %r.1 = f32[4]{0} get-tuple-element(%both), index=1
  %w = f32[4,8]{1,0} broadcast(%r.1), dimensions={0}
  %softmax = f32[4,8]{1,0} divide(%e.1, %w)
  %sorted = f32[4,8]{1,0} sort(%softmax), dimensions={1}, to_apply=%order
  %turned.1 = c64[4]{0} fusion(%z), kind=kLoop, calls=%turned
  ROOT %all = (f32[4,8]{1,0}, f32[4,8]{1,0}, c64[4]{0}) tuple(%softmax, %sorted, %turned.1)
}
"""


def _kept() -> Any:
    ctx = make_context()
    ctx.keep_fusions = True
    return parse_module(TEXT, "kept.hlo", ctx)


def _fusions(module: Any) -> list[FusionOp]:
    return [op for op in module.walk() if isinstance(op, FusionOp)]


def _kinds(module: Any) -> list[Any]:
    """HLO's kinds of the fusions."""
    return [python_value(op.attributes["mhlo.fusion_kind"]) for op in _fusions(module)]


def test_fusions_are_kept() -> None:
    """Two: the one inside of a fusion and the one of a comparison are parts of other kernels."""
    module = _kept()
    assert [op.kind.data for op in _fusions(module)] == ["kept", "kept"] and _kinds(module) == ["kInput", "kLoop"]
    assert level_of(module) == ""
    assert not _fusions(parse_module(TEXT, "kept.hlo"))
    fused = _kept()
    run_passes(make_context(), fused, ["split-complex", "fuse-hlo"])
    assert sum(op.kind.data == "kept" for op in _fusions(fused)) == 2
    assert level_of(fused)


def test_kept_fusions_run() -> None:
    x = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32)
    z = np.array([1j, 2, 1 + 1j, 0], np.complex64)
    softmax, ordered, squared = compile_program(_kept(), "cpu")(x, z)
    expected = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    np.testing.assert_allclose(softmax, expected, rtol=1e-6)
    np.testing.assert_allclose(ordered, -np.sort(-expected, axis=1), rtol=1e-6)
    np.testing.assert_array_equal(squared, z * z)


def test_kept_fusions_are_written_with_their_kinds() -> None:
    text = write(_kept())
    ctx = make_context()
    ctx.keep_fusions = True
    again = parse_module(text, "again.hlo", ctx)
    assert _kinds(again) == ["kInput", "kLoop"]
    assert " fusion(" not in write(parse_module(TEXT, "kept.hlo"))
