"""Convolutions whose tasks pad the rows that they read, against the reference."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cpu_programs import run
from test_convolution import inputs_of, plain
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.targets.cpu.target import CPU
from xhlo.targets.program.pipeline import run_passes

PADDED = {
    "square": plain((22, 22), (3, 3), 16, 32, pad=((1, 1), (1, 1))),
    "rows that panels do not divide": plain((21, 23), (3, 3), 8, 33, pad=((2, 0), (1, 3))),
    "strides": plain((41, 45), (3, 3), 16, 64, stride=(2, 2), pad=((0, 1), (2, 1))),
    "deep": plain((14, 15), (3, 3), 128, 64, pad=((1, 1), (1, 1)), rhs_order=(1, 2, 0, 3)),
    "one dimension": plain((200,), (5,), 64, 32, pad=((2, 2),)),
    "padded along columns alone": plain((20, 22), (3, 3), 16, 32, pad=((1, 1), (0, 0))),
    "padded along rows alone": plain((20, 22), (3, 3), 16, 32, pad=((0, 0), (2, 2))),
    "doubles": plain((20, 22), (3, 3), 16, 32, pad=((1, 1), (1, 1)), element="f64"),
    "few rows of bf16": plain(
        (12, 4), (7, 5), 3, 16, pad=((1, 1), (1, 0)), rhs_order=(1, 2, 0, 3), element="bf16", result="f32"
    ),
    "few rows of f16": plain(
        (12, 4), (7, 5), 3, 16, pad=((1, 1), (1, 0)), rhs_order=(1, 2, 0, 3), element="f16", result="f32"
    ),
    "groups": plain((20, 20), (3, 3), 32, 64, feature_groups=2, pad=((1, 1), (1, 1))),
    "groups of few features, strides": plain(
        (31, 29), (3, 3), 72, 96, stride=(2, 1), feature_groups=4, pad=((1, 0), (1, 2)), rhs_dilate=(1, 2)
    ),
    "groups in one dimension": plain((200,), (5,), 96, 144, feature_groups=3, pad=((2, 2),), element="f64"),
}
"""Convolutions that pad rows themselves."""

WHOLE = {
    "many windows have each row": plain((24, 24), (7, 7), 8, 64, pad=((3, 3), (3, 3))),
    "few features": plain((40, 41), (3, 3), 16, 1, pad=((1, 1), (1, 1))),
    "three dimensions": plain((9, 10, 11), (3, 3, 3), 8, 16, pad=((1, 1), (1, 1), (1, 1))),
}
"""Convolutions before which the whole input is padded."""


EDGES = {
    "holes": plain((33, 33), (3, 3), 16, 32, pad=((12, 12), (12, 12)), rhs_dilate=(12, 12)),
    "holes, rows apart": plain((20, 31), (3, 3), 96, 40, batch=1, pad=((7, 5), (6, 9)), rhs_dilate=(6, 6)),
    "holes, several passes": plain((9, 9), (3, 3), 160, 64, batch=3, pad=((8, 8), (8, 8)), rhs_dilate=(8, 8)),
    "holes and strides": plain((33, 34), (3, 3), 16, 64, stride=(2, 1), pad=((10, 9), (7, 8)), rhs_dilate=(10, 8)),
    "places that no element meets": plain((12, 14), (2, 2), 32, 32, pad=((20, 20), (3, 3)), rhs_dilate=(2, 3)),
    "small images": plain((7, 7), (3, 3), 64, 48, batch=3, pad=((1, 1), (1, 1))),
    "small images, many features": plain((7, 7), (3, 3), 512, 40, batch=9, pad=((1, 1), (1, 1))),
    "three dimensions": plain((6, 5, 7), (3, 3, 3), 16, 32, pad=((1, 1), (1, 1), (1, 1))),
    "doubles": plain((8, 8), (5, 5), 16, 32, batch=3, pad=((2, 2), (2, 2)), element="f64"),
}
"""Convolutions that leave out products with padding."""


@pytest.mark.long(4)
@pytest.mark.parametrize("name", EDGES)
def test_products_with_padding(name: str) -> None:
    conv = EDGES[name]
    x, w = inputs_of(conv)
    np.testing.assert_array_equal(run(conv.text(), (x, w), "cpu")[0], run(conv.text(), (x, w), "reference")[0])
    assert calls(conv.text(), "_finite")
    # A product of a zero and an infinity, or NaN, is NaN.
    first, last = (0,) * w.ndim, tuple(n - 1 for n in w.shape)
    w[first], w[last] = np.inf, np.nan
    want, found = (run(conv.text(), (x, w), target)[0] for target in ("reference", "cpu"))
    np.testing.assert_array_equal(found, want)
    assert np.isnan(found).any()


def pads_rows(text: str) -> bool:
    """Whether a kernel calls a function that pads rows."""
    return calls(text, "_pad")


def calls(text: str, suffix: str) -> bool:
    """Whether there is a function of such a name beside the kernels."""
    context = make_context()
    module = parse_module(text, "padded.mlir", context)
    specs = CPU.passes_to("loops")
    last = next(i for i, spec in enumerate(specs) if spec.startswith("convert-contractions-to-vector"))
    run_passes(context, module, specs[: last + 1])
    return any(getattr(op, "sym_name", None) is not None and suffix in op.sym_name.data for op in module.ops)  # pyright: ignore


@pytest.mark.long(3)
@pytest.mark.parametrize("name", [*PADDED, *WHOLE])
def test_padded_convolutions(name: str) -> None:
    conv = {**PADDED, **WHOLE}[name]
    inputs = inputs_of(conv)
    want, found = (run(conv.text(), inputs, target)[0] for target in ("reference", "cpu"))
    np.testing.assert_array_equal(found, want)
    assert pads_rows(conv.text()) == (name in PADDED)


def test_padding_with_another_number() -> None:
    conv = replace(PADDED["square"], pad=((0, 0), (0, 0)), size=(24, 24))
    text = conv.text().replace("%x: tensor<2x24x24x16xf32>", "%s: tensor<2x22x22x16xf32>")
    pad = """
      %one = hlo.constant dense<1.0> : tensor<f32>
      %x = hlo.pad %s, %one, low = [0, 1, 1, 0], high = [0, 1, 1, 0], interior = [0, 0, 0, 0] : (tensor<2x22x22x16xf32>, tensor<f32>) -> tensor<2x24x24x16xf32>
      %0 ="""
    text = text.replace("%0 =", pad, 1)
    x, w = inputs_of(PADDED["square"])
    want, found = (run(text, (x, w), target)[0] for target in ("reference", "cpu"))
    np.testing.assert_array_equal(found, want)
    assert not pads_rows(text)
