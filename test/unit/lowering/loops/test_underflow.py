"""Elementary functions of normal numbers whose results are normal compute no subnormal one, which Intel's CPUs do slowly."""

from __future__ import annotations

import ctypes
import ctypes.util
from typing import cast

import numpy as np
import pytest
from llvmlite import binding

import xhlo

SLOW = 0x12
"""The bits of x86's MXCSR, as C's fenv.h has them: an operand was subnormal, a result underflowed."""

TINY = tuple(range(-100, -20, 7))
"""Powers of two whose squares or cubes underflow in f32, but not the numbers themselves or their quarters."""

CASES = [
    *((op, TINY) for op in ("hlo.exponential_minus_one", "hlo.log_plus_one", "hlo.tanh")),
    *((f"chlo.{op}", TINY) for op in ("asin", "acos", "atan", "sinh", "asinh", "erf")),
    ("chlo.erfc", (*TINY, 0, 1, 2, 4, 5, 20, 60)),
]


def is_x86_with_fma() -> bool:
    features = cast("dict[str, bool]", binding.get_host_cpu_features())
    return "x86" in binding.get_process_triple() and features.get("fma", False)


@pytest.mark.skipif(not is_x86_with_fma(), reason="reads the flags of x86's MXCSR")
@pytest.mark.parametrize(("op", "powers"), CASES, ids=[op for op, _ in CASES])
def test_no_product_underflows(op: str, powers: tuple[int, ...]) -> None:
    arrow = " -> tensor<64xf32>" if op.startswith("chlo") else ""
    function = xhlo.compile(
        f"func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {{\n"
        f"  %0 = {op} %x : tensor<64xf32>{arrow}\n  func.return %0 : tensor<64xf32>\n}}"
    )
    environment = ctypes.CDLL(ctypes.util.find_library("m"))
    rng = np.random.default_rng(0)
    for power in powers:
        x = (np.exp2(power + rng.uniform(0, 1, 64)) * rng.choice([-1, 1], 64)).astype(np.float32)
        function(x)
        environment.feclearexcept(SLOW)
        function(x)
        assert not environment.fetestexcept(SLOW), f"{op} of numbers around 2^{power}"
