"""Rare forms of HLO text: instructions as operands, tuples and old spellings of literals, all asynchronous opcodes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.reference import evaluate


def _run(text: str, *inputs: Any) -> tuple[np.ndarray, ...]:
    return evaluate(parse_module(text, "x.hlo"), [np.asarray(each) for each in inputs])


def test_instructions_as_operands() -> None:
    """As XLA's parser takes them: with shapes or without, without attributes."""
    text = """HloModule nested
ENTRY main {
  %x = f32[2]{0} parameter(0)
  ROOT %r = (f32[2]{0}, f32[]) tuple(f32[2]{0} add(f32[2]{0} multiply(x, f32[2]{0} %x), /*a literal*/f32[2]{0} constant({1, 2})), f32[] constant(7))
}"""
    total, seven = _run(text, np.array([2, 3], np.float32))
    np.testing.assert_array_equal(total, [5, 11])
    assert seven == 7
    hlo = pytest.importorskip("jaxlib._hlo")
    assert "multiply" in hlo.hlo_module_from_text(text).to_string()


def test_operands_nested_too_deep_are_refused() -> None:
    text = f"ENTRY e {{\n  x = f32[] parameter(0)\n  ROOT r = f32[] {'f32[] negate(' * 200}x{')' * 200}\n}}"
    with pytest.raises(DiagnosticError, match="nested more than 64 deep"):
        parse_module(text.replace("f32[] f32[]", "f32[]", 1), "x.hlo")
    wrong = "ENTRY e {\n  x = f32[] parameter(0)\n  ROOT r = f32[] negate(f32[] add(x, y))\n}"
    with pytest.raises(DiagnosticError, match=r"x.hlo:3:31: error: 'add': there is no instruction y before it"):
        parse_module(wrong, "x.hlo")


@pytest.mark.parametrize(
    ("shape", "literal", "expected"),
    [
        ("f32[2]", "f32[2] {1, 2}", [1, 2]),
        ("f32[2]", "f32[2]{0} {1, 2}", [1, 2]),
        ("f32[1]", "f32[1] {1}", [1]),
        ("s32[]", "s32[] -3", -3),
        ("f64[3]", "{0x1.8p3, -0x.8, 0x1p99999}", [12, -0.5, np.inf]),
        ("u32[2]", "{0xff, 0X10}", [255, 16]),
        ("pred[2]", "{1, false}", [True, False]),
        ("s4[2]", "{-8, 7}", [-8, 7]),
        ("f8e4m3fn[2]", "{0.5, 448}", [0.5, 448]),
        ("c64[2]", "{(1, -2), (nan, inf)}", [1 - 2j, complex(np.nan, np.inf)]),
    ],
)
def test_literals(shape: str, literal: str, expected: Any) -> None:
    (found,) = _run(f"ENTRY e {{\n  ROOT c = {shape} constant({literal})\n}}")
    np.testing.assert_array_equal(found.astype(np.complex128), expected)


def test_tuples_of_literals() -> None:
    text = "ENTRY e {\n  ROOT c = (s32[], (f32[2], c64[]), ()) constant((1, ( {2, /*i=1*/3}, (4, 5) ), ()))\n}"
    one, pair, number = _run(text)
    assert one == 1 and number == 4 + 5j
    np.testing.assert_array_equal(pair, [2, 3])
    with pytest.raises(DiagnosticError, match="'constant': expected 2 literals in a tuple, got 1"):
        parse_module("ENTRY e {\n  ROOT c = (s32[], s32[]) constant((1))\n}", "x.hlo")


def test_every_asynchronous_form() -> None:
    """The opcode with an ending and its own attributes, and async-start of a computation."""
    text = """HloModule asynchronous
half (p: f32[4]) -> f32[4] {
  p = f32[4]{0} parameter(0)
  ROOT n = f32[4]{0} negate(p)
}
doubled (q: f32[4]) -> f32[4] {
  q = f32[4]{0} parameter(0)
  ROOT d = f32[4]{0} add(q, q)
}
ENTRY main {
  x = f32[4]{0} parameter(0)
  a = ((f32[4]{0}), f32[4]{0}, s32[]) async-start(x), calls=half, async_execution_thread="main"
  b = ((f32[4]{0}), f32[4]{0}, s32[]) async-update(a), calls=half
  c.0 = f32[4]{0} async-done(b), calls=half
  c.1 = ((f32[4]{0}), f32[4]{0}, s32[]) negate-start(c.0)
  c.2 = f32[4]{0} negate-done(c.1)
  c = f32[4]{0} negate(c.2)
  d = ((f32[4]{0}), f32[4]{0}, s32[]) fusion-start(c), kind=kLoop, calls=doubled
  e = ((f32[4]{0}), f32[4]{0}, s32[]) fusion-update(d)
  f = f32[4]{0} fusion-done(e)
  g = ((f32[4]{0}), f32[4]{0}) call-start(f), to_apply=doubled
  h = f32[4]{0} call-done(g), to_apply=doubled
  i = ((f32[4]{0}), f32[2]{0}, u32[]) slice-start(h), slice={[1:3]}
  j = f32[2]{0} slice-done(i)
  k = (f32[2]{0}, f32[2]{0}, u32[]) copy-start(j), cross_program_prefetch_index=0
  ROOT l = f32[2]{0} copy-done(k)
}"""
    (found,) = _run(text, np.arange(4, dtype=np.float32))
    np.testing.assert_array_equal(found, [-4, -8])
    with pytest.raises(DiagnosticError, match="'slice-start': it has no attribute kind"):
        parse_module(text.replace("slice={[1:3]}", "slice={[1:3]}, kind=kLoop"), "x.hlo")
    with pytest.raises(DiagnosticError, match="'unknown-start': unknown opcode"):
        parse_module(text.replace("slice-start", "unknown-start"), "x.hlo")


FRAMES = """HloModule jit_f

FileNames
1 "train.py"
2 "/usr/lib/python3/site-packages/nets/layers.py"
3 "/venv/lib/python3.12/functools.py"

FunctionNames
1 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=9 end_line=9 column=2 end_column=9}
2 {file_name_id=1 function_name_id=1 line=31 end_line=31 column=4 end_column=9}
3 {file_name_id=2 function_name_id=1 line=500 end_line=500 column=1 end_column=2}
4 {file_name_id=3 function_name_id=1 line=80 end_line=80 column=1 end_column=2}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}
3 {file_location_id=3 parent_frame_id=3}
4 {file_location_id=4 parent_frame_id=4}
5 {file_location_id=3 parent_frame_id=1}
6 {file_location_id=4 parent_frame_id=1}

ENTRY main {
  x = f32[2]{0} parameter(0)
  a = f32[2]{0} negate(x), metadata={op_name="jit(f)/neg" stack_frame_id=4}
  b = f32[2]{0} negate(a), metadata={op_name="jit(f)/neg" stack_frame_id=5}
  ROOT c = f32[2]{0} negate(b), metadata={op_name="jit(f)/neg" stack_frame_id=2}
}
"""


def test_the_users_frame_of_a_stack() -> None:
    """The innermost one outside of installed packages; if there is none, the innermost. Parents are numbered from 1."""
    plain = re.sub(r"parent_frame_id=(\d)", lambda match: f"parent_frame_id={int(match[1]) - 1}", FRAMES)
    for text in (FRAMES, plain):
        places = [str(op.location) for op in parse_module(text, "x.hlo").walk() if op.name == "hlo.negate"]
        assert places == [
            'loc("jit(f)/neg"("train.py":31:4))',
            'loc("jit(f)/neg"("/usr/lib/python3/site-packages/nets/layers.py":500:1))',
            'loc("jit(f)/neg"("train.py":31:4))',
        ]
    endless = FRAMES.replace("4 {file_location_id=4 parent_frame_id=4}", "4 {file_location_id=4 parent_frame_id=5}")
    (first, *_) = [op for op in parse_module(endless, "x.hlo").walk() if op.name == "hlo.negate"]
    assert "functools.py" in str(first.location)


def test_calls_of_the_runtime() -> None:
    text = """HloModule runtime
ENTRY main {
  x = f32[<=5,2]{1,0} parameter(0)
  p = (f32[5,2]{1,0}, s32[], s32[]) custom-call(x), custom_call_target="PadToStatic"
  y = f32[5,2]{1,0} get-tuple-element(p), index=0
  n = s32[] get-tuple-element(p), index=1
  m = s32[] get-tuple-element(p), index=2
  empty = f32[2,2]{1,0} custom-call(), custom_call_target="AllocateBuffer"
  twice = f32[5,2]{1,0} add(y, y)
  z = f32[<=5,2]{1,0} custom-call(twice, n, m), custom_call_target="SliceToDynamic"
  ROOT t = (f32[<=5,2]{1,0}, f32[5,2]{1,0}, s32[], f32[2,2]{1,0}) tuple(z, y, n, empty)
}"""
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    z, y, n, empty = _run(text, x)
    np.testing.assert_array_equal(z, 2 * x)
    np.testing.assert_array_equal(y, np.pad(x, ((0, 2), (0, 0))))
    assert n == 3 and not empty.any()
    for call, message in (
        ('custom-call(x), custom_call_target="SliceToDynamic"', "the size of each"),
        ('custom-call(), custom_call_target="SliceToDynamic"', "the size of each"),
        ('custom-call(x), custom_call_target="AllocateBuffer"', "takes no operands"),
        ('custom-call(x), custom_call_target="PadToStatic"', "expected one array"),
        ('custom-call(x), custom_call_target="TopK"', "returns values and indices"),
    ):
        wrong = f"ENTRY e {{\n  x = f32[5] parameter(0)\n  ROOT y = f32[5] {call}\n}}"
        with pytest.raises(DiagnosticError, match=f"x.hlo:3:.*{message}"):
            parse_module(wrong, "x.hlo")
