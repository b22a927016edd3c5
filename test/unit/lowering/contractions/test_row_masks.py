"""Attention under masks of indices on the CPU, whose discarded scores are not computed."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import xhlo
from attention_programs import BFLOAT, FLOAT, Attention, AttentionGradient
from xhlo.lowering.convert_contractions_to_vector.rows import products as row_products
from xhlo.lowering.convert_contractions_to_vector.rows.masks import mask_of
from xhlo.lowering.loop_nests.masks import Condition

Numbers = np.ndarray


@dataclass(frozen=True)
class Mask:
    lines: str
    """Defines %m from the indices %i and %j; INDEX and TRUTH stand for types, C(n) for a constant."""
    holds: Callable[[Numbers, Numbers], Numbers]
    conditions: tuple[Condition, ...] = ()
    """The bounds of the product's columns."""


def compared(sign: str, lhs: str, rhs: str, name: str = "m") -> str:
    return f"%{name} = hlo.compare {sign}, %{lhs}, %{rhs}, SIGNED : (INDEX, INDEX) -> TRUTH\n"


def constant(number: int) -> str:
    return f"%c = hlo.constant dense<{number}> : INDEX\n"


def sum_of(lhs: str, rhs: str) -> str:
    return f"%n = hlo.add %{lhs}, %{rhs} : INDEX\n"


def condition(row: int, column: int, rest: int) -> Condition:
    """`row * i + column * j + rest >= 0`, in a kernel of three loops over rows."""
    return Condition(((2, row), (3, column)), rest)


WINDOW = compared("GE", "i", "j", "a") + constant(20) + sum_of("j", "c") + compared("GT", "n", "i", "b")

MASKS = {
    "causal": Mask(compared("GE", "i", "j"), lambda i, j: i >= j, (condition(1, -1, 0),)),
    "strictly above": Mask(compared("LT", "i", "j"), lambda i, j: i < j, (condition(-1, 1, -1),)),
    "after a cache": Mask(
        constant(9) + sum_of("i", "c") + compared("GE", "n", "j"), lambda i, j: i + 9 >= j, (condition(1, -1, 9),)
    ),
    "none in the first rows": Mask(
        constant(-21) + sum_of("i", "c") + compared("GE", "n", "j"), lambda i, j: i - 21 >= j, (condition(1, -1, -21),)
    ),
    # The first row needs the first, or last, column of a panel alone.
    "one column of a panel": Mask(
        constant(65) + sum_of("i", "j") + compared("LT", "n", "c"),
        lambda i, j: i + j < 65,
        (condition(-1, -1, 64),),
    ),
    "the last column of a panel": Mask(
        constant(62) + sum_of("i", "c") + compared("LT", "n", "j"),
        lambda i, j: i + 62 < j,
        (condition(-1, 1, -63),),
    ),
    "window": Mask(
        WINDOW + "%m = hlo.and %a, %b : TRUTH\n",
        lambda i, j: (i >= j) & (j + 20 > i),
        (condition(1, -1, 0), condition(-1, 1, 19)),
    ),
    # Neither comparison decides alone.
    "either": Mask(WINDOW + "%m = hlo.or %a, %b : TRUTH\n", lambda i, j: (i >= j) | (j + 20 > i)),
    "some columns": Mask(
        constant(40) + compared("LT", "j", "c"), lambda i, j: (j < 40) & (i >= 0), (Condition(((3, -1),), 39),)
    ),
}


def text_of(case: Attention, mask: Mask) -> str:
    found = re.search(r"%m = hlo.compare .* : \((\S*), .*\) -> (\S*)\n", case.text())
    assert found is not None
    lines = mask.lines.replace("INDEX", found[1]).replace("TRUTH", found[2])
    return case.text().replace(found[0], lines)


def expected(case: Attention, inputs: tuple[Numbers, Numbers, Numbers], mask: Mask, low: float = -1e30) -> Numbers:
    q, k, v = (x.astype(np.float64) for x in inputs)
    i, j = np.indices((case.queries, case.keys))
    with np.errstate(invalid="ignore"):
        s = np.where(mask.holds(i, j), np.einsum("bhqd,bhkd->bhqk", q, k) * 0.25, low)
        e = np.exp(s - s.max(-1, keepdims=True))
        return np.einsum("bhqk,bhkd->bhqd", e / e.sum(-1, keepdims=True), v)


@pytest.mark.long(3)
@pytest.mark.parametrize("name", MASKS)
def test_masks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores under a mask are not seen, infinite or not; the mask bounds the columns of the first product alone."""
    mask, case = MASKS[name], Attention(1, 2, 50, 83, 16, 20, causal=True)
    found: list[tuple[Condition, ...]] = []

    def record(*arguments: Any) -> Any:
        mask = mask_of(*arguments)
        found.append(() if mask is None else mask.conditions)
        return mask

    monkeypatch.setattr(row_products, "mask_of", record)
    executable = xhlo.compile(text_of(case, mask))
    assert [set(each) for each in found] == [set(mask.conditions), set()]
    q, k, v = case.inputs()
    infinite = k.copy()
    infinite[:, :, 45], infinite[:, :, 7] = np.inf, np.nan
    for keys in (k, infinite):
        (got,) = executable.compute((q, keys, v), None)
        np.testing.assert_allclose(got, expected(case, (q, keys, v), mask), atol=4e-6)


@pytest.mark.long(3)
@pytest.mark.parametrize("dtype", [FLOAT, BFLOAT], ids=["f32", "bf16"])
@pytest.mark.parametrize("name", ["causal", "window", "strictly above"])
def test_values_under_a_mask(name: str, dtype: np.dtype[Any]) -> None:
    """Weights of 0 multiply values that are not finite, and weights that are not 0 all values."""
    mask, case = MASKS[name], Attention(1, 2, 70, 83, 16, 20, dtype=dtype, causal=True)
    q, k, v = case.inputs()
    tolerance = 4e-6 if dtype == FLOAT else 3e-2
    text = text_of(case, mask)
    for place, value in ((0, np.inf), (40, np.nan), (82, -np.inf)):
        values = v.copy()
        values[:, 1, place] = value
        (got,) = xhlo.compile(text).compute((q, k, values), None)
        want = expected(case, (q, k, values), mask)
        np.testing.assert_allclose(got.astype(np.float64), want, atol=tolerance)
        assert np.isfinite(want[:, 0]).all()
    (got,) = xhlo.compile(text.replace("-1.0e30", "-2.0")).compute((q, k, v), None)
    np.testing.assert_allclose(got.astype(np.float64), expected(case, (q, k, v), mask, -2.0), atol=tolerance)


def test_weights_of_zero_change_no_bits() -> None:
    """Values that are looked at, and left out, or multiplied by 0 because one of them is not finite."""
    mask, case = MASKS["causal"], Attention(1, 2, 70, 83, 16, 21, causal=True)
    executable = xhlo.compile(text_of(case, mask))
    q, k, v = case.inputs()
    infinite = v.copy()
    infinite[:, :, 82, 20] = np.inf
    (got,), (whole,) = (executable.compute((q, k, values), None) for values in (v, infinite))
    np.testing.assert_array_equal(got[..., :20], whole[..., :20])
    assert np.isnan(whole[..., 20]).all()


def test_several_passes() -> None:
    """Sums of the first product that begin with zeros in all columns."""
    mask, case = MASKS["causal"], Attention(1, 1, 70, 130, 2100, 8, causal=True)
    (got,) = xhlo.compile(text_of(case, mask)).compute(case.inputs(), None)
    np.testing.assert_allclose(got, expected(case, case.inputs(), mask), atol=2e-5)


def test_scores_that_are_returned_are_computed() -> None:
    """Another reader sees what the mask discards."""
    case = Attention(1, 2, 33, 41, 16, 20, causal=True)
    text = case.text().replace("func.return %o", "func.return %s1, %o")
    types = re.search(r"%s1 = .* : (\S*)\n", text)
    assert types is not None
    text = re.sub(r"-> (\S*) \{", rf"-> ({types[1]}, \1) {{", text, count=1)
    text = re.sub(r"(return .* :) (\S*)\n", rf"\1 {types[1]}, \2\n", text)
    q, k, v = case.inputs()
    scores, got = xhlo.compile(text).compute((q, k, v), None)
    np.testing.assert_allclose(scores, np.einsum("bhqd,bhkd->bhqk", q, k) * 0.25, atol=1e-5)
    np.testing.assert_allclose(got, expected(case, (q, k, v), MASKS["causal"]), atol=4e-6)


def test_gradients_of_causal_attention() -> None:
    case = AttentionGradient(1, 2, 70, 16)
    got = xhlo.compile(case.text()).compute(case.inputs(), None)
    for result, want in zip(got, case.expected(), strict=True):
        np.testing.assert_allclose(result, want, atol=2e-5)
