"""Bounds of counters: comparisons that they decide are those of the reference, also where numbers wrap around."""

from __future__ import annotations

import random

import numpy as np
import pytest

from hlo_programs import Program

TYPES = {"i8": np.int8, "ui8": np.uint8, "i16": np.int16}


def loop(draw: random.Random, element: str) -> str:
    """
    A loop of up to 40 iterations over a counter from within two numbers, which adds up comparisons and extremes of the
    counter and of what follows from it, in its condition's terms and others.
    """
    limits = np.iinfo(TYPES[element])

    def number() -> int:
        near = draw.choice([int(limits.min), 0, int(limits.max)])
        return min(max(near + draw.randint(-12, 12), int(limits.min)), int(limits.max))

    low, high = sorted((number(), number()))
    lines: list[str] = []
    for i in range(6):
        what, counter = draw.choice(["LT", "LE", "GT", "GE", "EQ", "NE"]), draw.choice(["%i", "%j", "%k", "%m"])
        lines.append(
            f"    %n{i} = hlo.constant dense<{number()}> : tensor<{element}>\n"
            f"    %c{i} = hlo.compare {what}, {counter}, %n{i} : (tensor<{element}>, tensor<{element}>) -> tensor<i1>\n"
            f"    %w{i} = hlo.convert %c{i} : (tensor<i1>) -> tensor<i32>\n"
            f"    %s{i + 1} = hlo.add %s{i}, %w{i} : tensor<i32>"
        )
    step = draw.choice(["add %i, %by", "subtract %i, %by"])
    return f"""
func.func @main(%x: tensor<{element}>, %y: tensor<{element}>) -> (tensor<{element}>, tensor<i32>) {{
  %low = hlo.constant dense<{low}> : tensor<{element}>
  %high = hlo.constant dense<{high}> : tensor<{element}>
  %first = hlo.clamp %low, %x, %high : tensor<{element}>
  %one = hlo.constant dense<1> : tensor<{element}>
  %three = hlo.constant dense<3> : tensor<{element}>
  %by = hlo.clamp {draw.choice(["%one, %y, %three", "%one, %one, %one"])} : tensor<{element}>
  %end = hlo.constant dense<{number()}> : tensor<{element}>
  %off = hlo.constant dense<{draw.randint(0, 9)}> : tensor<{element}>
  %zero = hlo.constant dense<0> : tensor<i32>
  %unit = hlo.constant dense<1> : tensor<i32>
  %most = hlo.constant dense<40> : tensor<i32>
  %r:4 = hlo.while(%i = %first, %t = %zero, %s = %zero, %o = %by) : tensor<{element}>, tensor<i32>, tensor<i32>, tensor<{element}>
  cond {{
    %a = hlo.compare {draw.choice(["LT", "LE", "GT", "GE", "NE"])}, %i, %end : (tensor<{element}>, tensor<{element}>) -> tensor<i1>
    %b = hlo.compare LT, %t, %most : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %go = hlo.and %a, %b : tensor<i1>
    hlo.return %go : tensor<i1>
  }} do {{
    %j = hlo.add %i, %off : tensor<{element}>
    %k = hlo.maximum %j, %end : tensor<{element}>
    %m = hlo.minimum %i, %off : tensor<{element}>
    %s0 = hlo.add %s, %t : tensor<i32>
{chr(10).join(lines)}
    %i1 = hlo.{step} : tensor<{element}>
    %t1 = hlo.add %t, %unit : tensor<i32>
    hlo.return %i1, %t1, %s6, %o : tensor<{element}>, tensor<i32>, tensor<i32>, tensor<{element}>
  }}
  func.return %r#0, %r#2 : tensor<{element}>, tensor<i32>
}}
"""


@pytest.mark.long(3)
@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("seed", range(20))
def test_decided_comparisons(element: str, seed: int) -> None:
    draw = random.Random(f"{element} {seed}")
    text, limits = loop(draw, element), np.iinfo(TYPES[element])
    program = Program(text).after("simplify-hlo", "fuse-hlo")
    for _ in range(4):
        x, y = (np.array(draw.randint(limits.min, limits.max), TYPES[element]) for _ in range(2))
        program.same_bits(x, y)


def test_comparisons_are_decided() -> None:
    """Most programs have comparisons that go."""
    texts = [loop(random.Random(f"i8 {seed}"), "i8") for seed in range(20)]
    left = [Program(text).after("simplify-hlo").count()["hlo.compare"] for text in texts]
    assert sum(number < 8 for number in left) > 10
