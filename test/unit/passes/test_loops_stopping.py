"""Loops whose elements stop one after the other: which become kernels, and that these compute the same bits."""

from __future__ import annotations

import numpy as np
import pytest

import xhlo
from hlo_programs import Program
from xhlo.passes.manager.pipelines import FRONT

TEXT = """
func.func @main(%x: tensor<70xf32>, %m: tensor<70x{kind}>) -> (tensor<70xf32>, tensor<70x{kind}>) {{
  %zero = hlo.constant dense<0> : tensor<i32>
  %start = hlo.constant dense<{start}> : tensor<70x{kind}>
  %0:3 = hlo.while(%i = %zero, %v = %x, %n = %{given}) : tensor<i32>, tensor<70xf32>, tensor<70x{kind}>
    cond {{
      %most = hlo.constant dense<9> : tensor<i32>
      %limit = hlo.constant dense<20.0> : tensor<70xf32>
      %truth = hlo.constant dense<{neutral}> : tensor<i1>
      %early = hlo.compare LT, %i, %most, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %below = hlo.compare LT, %v, %limit : (tensor<70xf32>, tensor<70xf32>) -> tensor<70xi1>
      %found = hlo.reduce(%{mask} init: %truth) applies hlo.{quantifier} across dimensions = [0]
        : (tensor<70xi1>, tensor<i1>) -> tensor<i1>
      %open = hlo.not %found : tensor<i1>
      %go = hlo.and %early, %{decides} : tensor<i1>
      hlo.return %go : tensor<i1>
    }} do {{
      %one = hlo.constant dense<1> : tensor<i32>
      %limit = hlo.constant dense<20.0> : tensor<70xf32>
      %next = hlo.add %i, %one : tensor<i32>
      %below = hlo.compare LT, %v, %limit : (tensor<70xf32>, tensor<70xf32>) -> tensor<70xi1>
      %doubled = hlo.add %v, %v : tensor<70xf32>
      %grown = hlo.select %{live}, %doubled, %v : tensor<70xi1>, tensor<70xf32>
      {body}
      hlo.return %next, %grown, %r : tensor<i32>, tensor<70xf32>, tensor<70x{kind}>
    }}
  return %0#1, %0#2 : tensor<70xf32>, tensor<70x{kind}>
}}
"""
ANY = {"neutral": "false", "mask": "below", "quantifier": "or", "decides": "found", "live": "below", "given": "start"}
DONE = {"neutral": "true", "mask": "n", "quantifier": "and", "decides": "open", "live": "on", "kind": "i1"}
KERNEL, CHANGES = "one kernel runs the whole loop", "not made a kernel: its body changes elements that do not go on"
CONVERT = "%c = hlo.convert %below : (tensor<70xi1>) -> tensor<70x{kind}>"

LOOPS = {
    "integers count": (
        {**ANY, "kind": "i32", "start": "0", "body": CONVERT + " %r = hlo.add %n, %c : tensor<70xi32>"},
        KERNEL,
    ),
    "floats count from zero": (
        {**ANY, "kind": "f32", "start": "0.0", "body": CONVERT + " %r = hlo.add %c, %n : tensor<70xf32>"},
        KERNEL,
    ),
    "floats count from negative zero": (
        {**ANY, "kind": "f32", "start": "-0.0", "body": CONVERT + " %r = hlo.add %n, %c : tensor<70xf32>"},
        CHANGES,
    ),
    "floats count from anything": (
        {**ANY, "given": "m", "kind": "f32", "start": "0.0", "body": CONVERT + " %r = hlo.add %n, %c : tensor<70xf32>"},
        CHANGES,
    ),
    "floats count down": (
        {**ANY, "given": "m", "kind": "f32", "start": "0.0"}
        | {"body": CONVERT + " %r = hlo.subtract %n, %c : tensor<70xf32>"},
        KERNEL,
    ),
    "integers are scaled": (
        {**ANY, "given": "m", "kind": "i32", "start": "1"}
        | {
            "body": "%k = hlo.constant dense<3> : tensor<70xi32> %u = hlo.constant dense<1> : tensor<70xi32>"
            " %c = hlo.select %below, %k, %u : tensor<70xi1>, tensor<70xi32> %r = hlo.multiply %n, %c : tensor<70xi32>"
        },
        KERNEL,
    ),
    "a product with the mask": (
        {**ANY, "given": "m", "kind": "i32", "start": "1"}
        | {"body": CONVERT + " %r = hlo.multiply %n, %c : tensor<70xi32>"},
        CHANGES,
    ),
    "a mask of what is done": (
        {**DONE, "given": "start", "start": "false"}
        | {
            "body": "%on = hlo.not %n : tensor<70xi1> %out = hlo.not %below : tensor<70xi1>"
            " %r = hlo.or %n, %out : tensor<70xi1>"
        },
        KERNEL,
    ),
    "a mask that forgets": (
        {**DONE, "given": "m", "start": "false"}
        | {"body": "%on = hlo.not %n : tensor<70xi1> %r = hlo.not %below : tensor<70xi1>"},
        CHANGES,
    ),
    "a mask of what goes on": (
        {**ANY, "mask": "n", "live": "n", "given": "m", "kind": "i1", "start": "true"}
        | {"body": "%r = hlo.and %below, %n : tensor<70xi1>"},
        KERNEL,
    ),
}


@pytest.mark.long(3)
@pytest.mark.parametrize("name", LOOPS)
def test_elements_that_stop(name: str) -> None:
    parts, remark = LOOPS[name]
    body = parts["body"].format(kind=parts["kind"])
    # The mask that the selection reads is computed before it.
    text = TEXT.format(**parts | {"body": ""})
    before, after = (body, "") if parts["live"] == "on" else ("", body)
    text = text.replace("%grown =", f"{before}\n      %grown =").replace(
        "hlo.return %next", f"{after}\n hlo.return %next"
    )
    program = Program(text)
    done = program.after(*FRONT, "fuse-loops")
    assert remark in done.messages, done.messages
    x = np.linspace(-1, 25, 70, dtype=np.float32)
    x[3] = np.nan
    dtype = {"i32": np.int32, "f32": np.float32, "i1": np.bool_}[parts["kind"]]
    given = np.where(np.arange(70) % 3 == 0, -0.0, np.arange(70) % 2).astype(dtype)
    for actual, expected in zip(xhlo.compile(text)(x, given), program.results(x, given), strict=True):
        assert actual.tobytes() == expected.tobytes()
