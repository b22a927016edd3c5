"""Depthwise convolutions, those with few features a group, and their gradients, against the reference."""

from __future__ import annotations

import numpy as np
import pytest

from cpu_programs import run
from test_convolution import Conv, inputs_of, plain
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.targets.cpu import host
from xhlo.targets.cpu.target import CPU
from xhlo.targets.program.pipeline import run_passes

FIRST = (0, 3, 1, 2)
"""The order of dimensions of channels-first models."""

LANES = {
    "depthwise": plain((14, 15), (3, 3), 40, 40, feature_groups=40, pad=((1, 1), (1, 1))),
    "depthwise, without zeros around": plain((14, 15), (3, 3), 40, 40, feature_groups=40),
    "depthwise with strides": plain((15, 17), (5, 5), 24, 24, feature_groups=24, stride=(2, 2), pad=((2, 2), (1, 2))),
    "depthwise with dilation": plain(
        (14, 15), (3, 3), 16, 16, feature_groups=16, rhs_dilate=(2, 2), pad=((2, 2), (2, 2))
    ),
    "depthwise in one dimension": plain((90,), (7,), 21, 21, feature_groups=21, pad=((3, 3),)),
    "depthwise in three dimensions": plain((5, 6, 7), (3, 3, 3), 16, 16, feature_groups=16, pad=((1, 1),) * 3),
    "several features of each channel": plain((12, 13), (3, 3), 8, 32, feature_groups=8, pad=((1, 1), (1, 1))),
    "groups of four": plain((12, 13), (3, 3), 40, 40, feature_groups=10, pad=((1, 1), (1, 1))),
    "groups of eight, filters first": plain((12, 13), (3, 3), 32, 32, feature_groups=4, rhs_order=(3, 0, 1, 2)),
    "groups of two to four": plain((12, 13), (3, 3), 20, 40, feature_groups=10, pad=((1, 1), (1, 1))),
    "doubles": plain((14, 15), (3, 3), 12, 12, feature_groups=12, pad=((1, 1), (1, 1)), element="f64"),
    "rows of places": plain(
        (14, 15), (3, 3), 6, 6, feature_groups=6, pad=((1, 1), (1, 1)), lhs_order=FIRST, out_order=FIRST
    ),
    "rows of places with strides": plain(
        (29, 31), (3, 3), 6, 6, feature_groups=6, stride=(2, 2), lhs_order=FIRST, out_order=FIRST
    ),
    "groups, channels first": plain(
        (12, 13), (3, 3), 24, 24, feature_groups=6, pad=((1, 1), (1, 1)), lhs_order=FIRST, out_order=FIRST
    ),
    "gradient of depthwise filters": plain(
        (30, 31), (28, 29), 2, 40, batch=40, batch_groups=40, lhs_order=(3, 1, 2, 0)
    ),
    "gradient of filters of groups": plain(
        (30, 31), (28, 29), 2, 40, batch=40, batch_groups=10, lhs_order=(3, 1, 2, 0)
    ),
}
"""Convolutions whose vectors hold neighbours of both factors."""

OTHERS = {
    "few channels": plain((20, 20), (3, 3), 3, 3, feature_groups=3),
    "groups that fill vectors": plain((12, 13), (3, 3), 64, 64, feature_groups=2, pad=((1, 1), (1, 1))),
    "groups of three": plain((12, 13), (3, 3), 30, 30, feature_groups=10, pad=((1, 1), (1, 1))),
    "gradient of 1x1 filters, channels first": plain(
        (16, 16), (16, 16), 4, 24, batch=32, lhs_order=(3, 0, 1, 2), rhs_order=(0, 3, 1, 2)
    ),
}


def takes_lanes(conv: Conv) -> bool:
    """Whether a kernel calls the function for products of lanes."""
    context = make_context()
    module = parse_module(conv.text(), "lanes.mlir", context)
    specs = CPU.passes_to("loops")
    last = next(i for i, spec in enumerate(specs) if spec.startswith("convert-contractions-to-vector"))
    run_passes(context, module, specs[: last + 1])
    return "_lanes" in str(module)


@pytest.mark.long(4)
@pytest.mark.parametrize("name", [*LANES, *OTHERS])
def test_lane_products(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    conv = {**LANES, **OTHERS}[name]
    inputs = inputs_of(conv)
    want, found = (run(conv.text(), inputs, target)[0] for target in ("reference", "cpu"))
    np.testing.assert_array_equal(found, want)
    monkeypatch.setattr(host, "host_vector_bits", lambda: 512)
    assert takes_lanes(conv) == (name in LANES)


AFTER = [
    "depthwise",
    "groups of four",
    "rows of places",
    "gradient of depthwise filters",
    "gradient of filters of groups",
]


@pytest.mark.parametrize("name", AFTER)
def test_epilogues_of_lane_products(name: str) -> None:
    conv = LANES[name]
    shape = f"tensor<{'x'.join(map(str, conv.shapes()[2]))}xf32>"
    after = f"""
      %one = hlo.constant dense<1.0> : {shape}
      %1 = hlo.add %0, %one : {shape}
      %2 = hlo.multiply %1, %1 : {shape}
      return %2 :"""
    text = conv.text().replace("return %0 :", after)
    inputs = inputs_of(conv)
    want, found = (run(text, inputs, target)[0] for target in ("reference", "cpu"))
    np.testing.assert_array_equal(found, want)


def test_filters_far_away_and_alternating() -> None:
    """High tiles, and filters that are copied before they are packed, in channels-first order."""
    conv = plain(
        (7, 7), (3, 3), 128, 160, pad=((1, 1), (1, 1)), lhs_order=FIRST, rhs_order=(3, 0, 1, 2), out_order=FIRST
    )
    inputs = inputs_of(conv)
    want, found = (run(conv.text(), inputs, target)[0] for target in ("reference", "cpu"))
    np.testing.assert_array_equal(found, want)
