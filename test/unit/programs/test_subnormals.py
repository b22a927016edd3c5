"""With math=fast, or flushed, subnormal numbers count as zeros, on every thread, and only while the program runs."""

from __future__ import annotations

import platform

import numpy as np
import pytest

import xhlo
from xhlo.targets.cpu.target import CPU
from xhlo.targets.program.target import TargetOptionError

QUARTER = """func.func @main(%x: tensor<SIZExf32>) -> tensor<SIZExf32> {
  %h = hlo.constant dense<0.25> : tensor<SIZExf32>
  %0 = hlo.multiply %x, %h : tensor<SIZExf32>
  func.return %0 : tensor<SIZExf32>
}"""


@pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"), reason="the CPU's control register is not known")
@pytest.mark.parametrize("size", [8, 1 << 21])
def test_products_below_the_normal_numbers(size: int) -> None:
    text = QUARTER.replace("SIZE", str(size))
    x = np.full(size, 2 * np.finfo(np.float32).tiny, np.float32)
    subnormal = x[0] / np.float32(4)
    assert subnormal > 0
    assert (np.asarray(xhlo.compile(text, math="fast")(x)) == 0).all()
    assert x[0] / np.float32(4) == subnormal, "the register is as before"
    assert (np.asarray(xhlo.compile(text)(x)) == subnormal).all()
    assert (np.asarray(xhlo.compile(text, CPU.configured({"subnormals": "flush"}))(x)) == 0).all()


def test_another_value_of_the_option_is_an_error() -> None:
    with pytest.raises(TargetOptionError, match="subnormals=none: the option is keep or flush"):
        CPU.configured({"subnormals": "none"})
