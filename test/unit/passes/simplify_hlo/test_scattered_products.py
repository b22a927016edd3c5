"""Sums over dimensions that are scattered in memory: the products of matrices that they become have the same results."""

from __future__ import annotations

import numpy as np
import pytest

import xhlo
from xhlo.hlo_dialect.expressions.tensor import Tensor
from xhlo.passes.simplify_hlo import rewrite, scattered_products
from xhlo.passes.simplify_hlo.rewrite import Rewrite

SPECS = {
    "network": ("cabd,cfaeb->dfe", (6, 5, 4, 32), (6, 16, 5, 3, 4)),
    "batches": ("abcde,acefb->bdf", (8, 3, 4, 32, 6), (8, 4, 6, 20, 3)),
    "both moved": ("adbe,bfag->defg", (6, 20, 8, 5), (8, 12, 6, 10)),
    "dimensions of one": ("agdbhe,bhfag->def", (6, 1, 20, 8, 1, 5), (8, 1, 12, 6, 1)),
    "rows of the last dimension": ("xaybz,bwaz->xyw", (12, 4, 9, 3, 8), (3, 50, 4, 8)),
}


def text(spec: str, left: tuple[int, ...], right: tuple[int, ...], element: str) -> str:
    """The product of a specification as einsum has it, whose result is in the order batches, left, right."""
    (a, b), out = spec.split("->")[0].split(","), spec.split("->")[1]
    sizes = dict(zip(a + b, left + right, strict=True))
    x, y, z = ("x".join(str(sizes[dim]) for dim in dims) for dims in (a, b, out))
    batches, terms = [c for c in out if c in a and c in b], [c for c in a if c in b and c not in out]
    pairs = [f"[{', '.join(str(side.index(c)) for c in dims)}]" for dims in (batches, terms) for side in (a, b)]
    stated = f"batching_dims = {pairs[0]} x {pairs[1]}, " if batches else ""
    types = f"(tensor<{x}x{element}>, tensor<{y}x{element}>) -> tensor<{z}x{element}>"
    return f"""func.func @main(%x: tensor<{x}x{element}>, %y: tensor<{y}x{element}>) -> tensor<{z}x{element}> {{
  %0 = hlo.dot_general %x, %y, {stated}contracting_dims = {pairs[2]} x {pairs[3]} : {types}
  return %0 : tensor<{z}x{element}>
}}"""


@pytest.mark.parametrize("case", SPECS)
@pytest.mark.parametrize("element", ["f32", "f64", "i32"])
def test_results(case: str, element: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spec, left, right = SPECS[case]
    dtype = {"f32": np.float32, "f64": np.float64, "i32": np.int32}[element]
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-9, 10, shape).astype(dtype) for shape in (left, right))  # so that sums are exact
    regrouped: list[Rewrite] = []

    def by(*results: Tensor) -> Rewrite:
        regrouped.append(rewrite.by(*results))
        return regrouped[-1]

    monkeypatch.setattr(scattered_products, "by", by)
    result = xhlo.compile(text(spec, left, right, element))(x, y)
    assert len(regrouped) == 1
    np.testing.assert_array_equal(result, np.einsum(spec, x, y))
