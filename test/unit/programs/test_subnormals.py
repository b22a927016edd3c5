"""With math=fast, or flushed, subnormal numbers count as zeros, on every thread, and only while the program runs."""

from __future__ import annotations

import platform

import ml_dtypes
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


@pytest.mark.parametrize("name", ["f8E4M3FN", "f8E4M3", "f8E3M4", "f8E5M2FNUZ", "f8E4M3B11FNUZ"])
def test_subnormal_numbers_of_narrow_formats_are_no_zeros(name: str) -> None:
    """They are normal ones of f32."""
    text = f"""func.func @main(%x: tensor<8x{name}>) -> tensor<8xf32> {{
      %0 = hlo.convert %x : (tensor<8x{name}>) -> tensor<8xf32>
      func.return %0 : tensor<8xf32>
    }}"""
    numbers = np.arange(8, dtype=np.uint8).view(getattr(ml_dtypes, f"float8_{name[2:].lower()}"))
    result = np.asarray(xhlo.compile(text, CPU.configured({"subnormals": "flush"}))(numbers))
    assert (result == numbers.astype(np.float32)).all() and (result[1:] > 0).all()
