"""A program as several LLVM IR texts that are compiled at the same time (targets/llvm_text/parts.py)."""

from __future__ import annotations

import re

import numpy as np
import pytest

import xhlo
from equal_units import compile_every_unit
from test_llvm_ir import accepted, lowered
from xhlo.lowering.loop_nests import brevity
from xhlo.passes import share_kernels
from xhlo.targets.cpu import jit
from xhlo.targets.cpu.executable import CpuExecutable
from xhlo.targets.llvm_text import parts
from xhlo.targets.llvm_text.module import emit_units

KERNELS = """
  func.func private @first(%x: memref<4xf32>) attributes {{hlo.kernel}} {{
    %c0 = arith.constant 0 : index
    %v = memref.load %x[%c0] : memref<4xf32>
    %e = func.call @twice(%v) : (f32) -> f32
    memref.store %e, %x[%c0] : memref<4xf32>
    func.return
  }}
  func.func private @second(%x: memref<4xf32>) attributes {{hlo.kernel}} {{
    %c1 = arith.constant 1 : index
    %v = memref.load %x[%c1] : memref<4xf32>
    %e = func.call @twice(%v) : (f32) -> f32
    memref.store %e, %x[%c1] : memref<4xf32>
    func.return
  }}
  func.func private @twice(%v: f32) -> f32 attributes {{{traits}}} {{
    %e = arith.addf %v, %v : f32
    func.return %e : f32
  }}
  func.func @main(%x: memref<4xf32>) {{
    func.call @first(%x) : (memref<4xf32>) -> ()
    func.call @second(%x) : (memref<4xf32>) -> ()
    func.return
  }}"""


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of any size, and no function is brief or shared for its sizes."""
    monkeypatch.setattr(parts, "PART", 1)
    monkeypatch.setattr(brevity, "MOST", 0)
    monkeypatch.setattr(share_kernels, "MOST_OPERATIONS", 0)


def defined(text: str) -> set[str]:
    return set(re.findall(r"^define .*@([\w.]+)\(", text, re.MULTILINE))


def test_kernels_are_texts_of_their_own_with_what_they_inline() -> None:
    units = emit_units(lowered(KERNELS.format(traits="xhlo.inline")))
    names = [defined(text) for text in units.texts]
    assert names[0] == {"main", "xhlo_entry"} and len(names) == 3
    assert {"xhlo_part_first", "twice"} in names and {"xhlo_part_second", "twice"} in names
    entry, *others = map(accepted, units.texts)
    assert "declare void @xhlo_part_first(ptr" in entry and "call void @xhlo_part_second(ptr" in entry
    assert all("define hidden void @xhlo_part_" in text and "define internal float @twice" in text for text in others)
    x = np.array([1, 2, 3, 4], np.float32)
    code = jit.load(jit.compile_units(units.texts, units.shared, {}), ("xhlo_entry",))
    jit.call(code, "xhlo_entry", np.array([x.ctypes.data]))
    assert x.tolist() == [2, 4, 3, 4]


THRICE = """
  func.func private @thrice(%v: f32) -> f32 attributes {xhlo.pure, xhlo.shared, xhlo.brief} {
    %d = arith.addf %v, %v : f32
    %e = arith.addf %d, %v : f32
    func.return %e : f32
  }"""


def test_a_pure_function_that_programs_share_is_not_copied() -> None:
    kernels = KERNELS.format(traits="xhlo.inline")
    units = emit_units(
        lowered(kernels.replace("arith.addf %v, %v : f32", "func.call @thrice(%v) : (f32) -> f32") + THRICE)
    )
    (symbol,) = units.shared
    assert defined(units.shared[symbol]) == {symbol} and jit.level_of_shared(units.shared[symbol]) == jit.QUICK
    assert not any(symbol in defined(text) for text in units.texts)
    assert sum(f"call float @{symbol}(" in text for text in units.texts) == 2
    x = np.array([1, 2, 3, 4], np.float32)
    code = jit.load(jit.compile_units(units.texts, units.shared, {}), ("xhlo_entry",))
    jit.call(code, "xhlo_entry", np.array([x.ctypes.data]))
    assert x.tolist() == [3, 6, 3, 4]


def test_functions_that_call_one_function_stay_with_it() -> None:
    """It could be inlined, so it is in one text with all that call it."""
    texts = emit_units(lowered(KERNELS.format(traits=""))).texts
    assert [defined(text) for text in texts] == [
        {"main", "xhlo_entry"},
        {"xhlo_part_first", "xhlo_part_second", "twice"},
    ]


def test_the_work_of_a_small_program_is_one_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "PART", 250)
    start, work = emit_units(lowered(KERNELS.format(traits="xhlo.inline"))).texts
    assert defined(start) == {"main", "xhlo_entry"}
    assert defined(work) == {"xhlo_part_first", "xhlo_part_second", "twice"}


def test_two_kernels_are_two_texts_before_there_is_work_for_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "PART", 250)
    monkeypatch.setattr(parts, "HALF", 4)
    start, *work = emit_units(lowered(KERNELS.format(traits="xhlo.inline"))).texts
    assert "define hidden void @xhlo_part_" not in start
    assert ["define hidden void @xhlo_part_" in text for text in work] == [True, True]


PROGRAM = """
func.func @main(%x: tensor<3x20000xf64>, %y: tensor<20000x4xf64>) -> (tensor<3x4xf64>, tensor<3xf64>, tensor<3x8xf64>) {
  %0 = hlo.sine %x : tensor<3x20000xf64>
  %1 = hlo.dot_general %0, %y, contracting_dims = [1] x [0] : (tensor<3x20000xf64>, tensor<20000x4xf64>) -> tensor<3x4xf64>
  %2 = hlo.constant dense<0.0> : tensor<f64>
  %3 = hlo.reduce(%0 init: %2) applies hlo.add across dimensions = [1] : (tensor<3x20000xf64>, tensor<f64>) -> tensor<3xf64>
  %4 = hlo.concatenate %1, %1, dim = 1 : (tensor<3x4xf64>, tensor<3x4xf64>) -> tensor<3x8xf64>
  %5 = hlo.cosine %4 : tensor<3x8xf64>
  return %1, %3, %5 : tensor<3x4xf64>, tensor<3xf64>, tensor<3x8xf64>
}
"""


def test_the_number_of_parts_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    arguments = rng.normal(size=(3, 20000)) * 1e6, rng.normal(size=(20000, 4))
    counts: list[int] = []
    results: list[list[bytes]] = []
    for size in (1, 10**9):
        monkeypatch.setattr(parts, "PART", size)
        executable = xhlo.compile(PROGRAM + f"// {size}")
        assert isinstance(executable, CpuExecutable)
        counts.append(len(executable.image.code))
        results.append([result.tobytes() for result in executable(*arguments)])
    assert counts[0] > counts[1] and results[0] == results[1]


def test_texts_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    compile_every_unit(monkeypatch)
    units = emit_units(lowered(KERNELS.format(traits="xhlo.inline")))
    objects: list[tuple[bytes, ...]] = []
    for threads in ("1", "3"):
        monkeypatch.setenv("XHLO_NUM_THREADS", threads)
        timings: jit.Timings = {}
        objects.append(jit.compile_units(units.texts, units.shared, timings))
        assert {"parse", "optimize", "codegen"} <= timings.keys()
    assert objects[0] == objects[1]


def test_an_error_of_one_text_is_raised() -> None:
    with pytest.raises(RuntimeError, match="expected"):
        jit.compile_units(("define void @f() {\n ret void\n}", "define nonsense"), {}, {})


def test_a_stored_program_of_many_parts_is_loaded() -> None:
    executable = xhlo.compile(PROGRAM + "// stored")
    arguments = np.ones((3, 20000)), np.ones((20000, 4))
    loaded = xhlo.deserialize(executable.serialize())
    for expected, found in zip(executable(*arguments), loaded(*arguments), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_long_texts_first() -> None:
    """Texts for the vectorizer come before longer ones that are written in vectors, and those that only start others."""
    texts, levels = (
        ["x" * 10_000, "x" * 8_000, "x" * 5_000, "x" * 9_000],
        [jit.QUICK, jit.IN_VECTORS, jit.LEVEL, jit.LEVEL],
    )
    assert jit.longest_first(texts, levels) == [3, 2, 1, 0]
