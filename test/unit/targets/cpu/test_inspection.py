"""Inspection of executables: profiles, fusions, remarks; errors at the user's line, and what dumps contain."""

from __future__ import annotations

import dataclasses
import json
import sys
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xhlo
from xhlo.targets.program.profile import Profile

TEXT = """
func.func @main(%x: tensor<3xf32>, %scale: tensor<f32>) -> (tensor<3xf32>, tensor<f32>) {
  %0 = hlo.broadcast_in_dim %scale, dims = [] : (tensor<f32>) -> tensor<3xf32>
  %1 = hlo.multiply %x, %0 : tensor<3xf32>
  return %1, %scale : tensor<3xf32>, tensor<f32>
}
"""
X = np.arange(3, dtype=np.float32)


# Profiles, fusions, remarks --------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["cpu", "simt"])
def test_profiles(target: Any) -> None:
    exe = xhlo.compile(TEXT, target)
    profile = exe.profile(X, scale=2.0, runs=3)
    (row,) = profile
    assert (len(profile), profile[0], row.calls, row.kind) == (1, row, 3, "loop")
    assert row.share == 1 and profile.milliseconds == row.milliseconds > 0
    (entry,) = json.loads(profile.to_json())
    assert entry == dataclasses.asdict(row) == profile.to_dicts()[0]
    table = str(profile)
    assert table.splitlines()[0].split() == ["kernel", "calls", "ms", "%", "GB/s", "GFLOP/s"]
    assert row.kernel in table and "<pre>kernel" in profile._repr_html_()
    assert exe.profile(X, 2.0, runs=1)[0].calls == 1, "profiles do not add up"
    assert not exe.facts.profiled


def test_profiles_as_data_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    class Frames:
        @staticmethod
        def DataFrame(rows: Any, columns: Any) -> Any:
            return rows, columns

    profile = xhlo.compile(TEXT).profile(X, 2.0, runs=1)
    monkeypatch.setitem(sys.modules, "pandas", Frames)
    rows, columns = profile.to_dataframe()
    assert rows == profile.to_dicts() and columns[:2] == ["kernel", "kind"]
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        profile.to_dataframe()


def test_an_empty_profile_is_a_table() -> None:
    assert str(Profile(())).splitlines()[1].split() == ["total", "0", "0.000"]


def test_fusions_and_remarks() -> None:
    text = """
func.func @main(%x: tensor<64xf32>) -> tensor<f32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.exponential %x : tensor<64xf32>
  %1 = hlo.reduce(%0 init: %zero) applies hlo.add across dimensions = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}
"""
    exe = xhlo.compile(text)
    (fusion,) = exe.fusions
    assert (fusion.kind, fusion.inputs, fusion.outputs) == ("reduce", ("tensor<64xf32>",), ("tensor<f32>",))
    assert fusion.place.startswith("<text>:5:") and "hlo.exponential" in fusion.operations
    assert str(fusion).startswith(f"{fusion.place}: reduce fusion of ")
    (remark,) = exe.remarks
    assert (remark.file, remark.line) == ("<text>", 4)
    assert (
        str(remark) == "<text>:4:8: remark: fused hlo.exponential into the reduce fusion of hlo.reduce: saves 512 bytes"
    )
    past = xhlo.compile(exe.as_text("linalg"))
    with pytest.raises(ValueError, match="given after the pass 'schedule-kernels'"):
        past.fusions  # noqa: B018


# Errors ----------------------------------------------------------------------------------------------------------


WRONG = "func.func @main(%x: tensor<f32>) -> tensor<f32> {\n  %0 = hlo.add %x, %y : tensor<f32>\n  return %0 : tensor<f32>\n}"


def frames(error: BaseException) -> list[str]:
    return [frame.f_globals["__name__"] for frame, _ in traceback.walk_tb(error.__traceback__)]


def test_errors_show_the_line_and_no_frames_of_ours() -> None:
    with pytest.raises(xhlo.DiagnosticError) as caught:
        xhlo.compile(WRONG)
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("<text>:2:20: error: ") and lines[1] == "  %0 = hlo.add %x, %y : tensor<f32>"
    assert lines[2].strip() == "^~" and lines[2].index("^") == 19
    assert frames(caught.value) == [__name__]
    for call in (lambda: xhlo.compile(TEXT)(X), lambda: xhlo.compile(TEXT, "simt")(X), lambda: xhlo.compile(3)):
        with pytest.raises(TypeError) as wrong:
            call()
        assert set(frames(wrong.value)) == {__name__}
    with pytest.raises(ValueError, match="no target is named 'abacus'") as unknown:
        xhlo.compile(TEXT, "abacus")
    assert frames(unknown.value) == [__name__]


def test_errors_that_may_be_bugs_keep_all_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        return int("x")

    monkeypatch.setattr("xhlo.targets.cpu.build.emit_units", fail)
    with pytest.raises(ValueError, match="invalid literal") as caught:
        xhlo.compile(TEXT + "// a bug")
    assert "xhlo.targets.cpu.build" in frames(caught.value)


def test_all_frames_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XHLO_TRACEBACK", "full")
    with pytest.raises(xhlo.DiagnosticError) as caught:
        xhlo.compile(WRONG)
    assert "xhlo.targets.compile" in frames(caught.value)


def test_frames_of_the_users_functions_and_causes_stay() -> None:
    def cry(call: Any, x: Any) -> Any:
        raise RuntimeError("no tickets")

    xhlo.register_custom_call("test_calls.cry", cry, replace=True)
    exe = xhlo.compile(
        "func.func @main(%x: tensor<f32>) -> tensor<f32> {\n"
        "  %0 = hlo.custom_call @test_calls.cry(%x) : (tensor<f32>) -> tensor<f32>\n  return %0 : tensor<f32>\n}"
    )
    with pytest.raises(xhlo.CustomCallError) as caught:
        exe(1.0)
    cause = caught.value.__cause__
    assert isinstance(cause, RuntimeError) and frames(cause)[-1] == __name__
    assert frames(caught.value) == [__name__]


def test_programs_built_in_python_show_their_lines() -> None:
    b = xhlo.Builder()
    x = b.parameter("f32", (2,))
    y = b.custom_call(x, call_target_name="test_calls.unknown", result_type=("f32", (2,)))
    with pytest.raises(xhlo.DiagnosticError, match="is not registered") as caught:
        xhlo.compile(b.build(y))
    assert 'y = b.custom_call(x, call_target_name="test_calls.unknown"' in str(caught.value)


# Dumps -----------------------------------------------------------------------------------------------------------


def test_dumps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XHLO_DUMP_TO", str(tmp_path / "dumps"))
    monkeypatch.setenv("XHLO_DUMP_PASS_RE", "cse|outline-k")
    path = tmp_path / "scaled.mlir"
    path.write_text(TEXT + "// dumped once")
    xhlo.compile(path)
    xhlo.compile(path)
    found = sorted(file.name.partition(".")[2] for file in (tmp_path / "dumps").iterdir())
    stages = ["asm.s", "fused.mlir", "hlo.mlir", "input.mlir", "linalg.mlir", "llvm.ll", "loops.mlir"]
    assert [name for name in found if ".after_" not in name] == [f"scaled.{name}" for name in stages]
    after = [name for name in found if ".after_" in name]
    assert [name.rpartition("_")[2] for name in after] == ["cse.mlir", "outline-kernels.mlir"]
    monkeypatch.setenv("XHLO_DUMP_PASS_RE", "(")
    with pytest.raises(xhlo.DiagnosticError, match="the regular expression"):
        xhlo.compile(TEXT + "// another")
    monkeypatch.setenv("XHLO_DUMP_TO", str(path))
    with pytest.raises(xhlo.DiagnosticError, match="the folder .* for dumps"):
        xhlo.compile(TEXT + "// a third")
