"""Convolutions: the reference against plain loops and XLA, the CPU against the reference."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import xhlo
import xhlo.lowering.convert_contractions_to_vector.lanes.row_sums as row_sums
import xhlo.passes.decompose_hlo.convolution as decomposed
from cpu_programs import DTYPES, TYPES, run

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Conv:
    """A convolution by its sizes; the permutations order the dimensions (batch, spatial.., feature)."""

    batch: int
    size: tuple[int, ...]
    taps: tuple[int, ...]
    inputs: int
    outputs: int
    stride: tuple[int, ...]
    pad: tuple[tuple[int, int], ...]
    lhs_dilate: tuple[int, ...]
    rhs_dilate: tuple[int, ...]
    reverse: tuple[bool, ...]
    feature_groups: int = 1
    batch_groups: int = 1
    lhs_order: tuple[int, ...] | None = None
    rhs_order: tuple[int, ...] | None = None
    out_order: tuple[int, ...] | None = None
    element: str = "f32"
    result: str = ""

    @property
    def counts(self) -> tuple[int, ...]:
        found: list[int] = []
        for d, size in enumerate(self.size):
            whole = (max((size - 1) * self.lhs_dilate[d] + 1, 0) if size else 0) + sum(self.pad[d])
            extent = (self.taps[d] - 1) * self.rhs_dilate[d] + 1 if self.taps[d] else 0
            found.append(0 if whole <= 0 or extent > whole else (whole - extent) // self.stride[d] + 1)
        return tuple(found)

    def orders(self) -> list[tuple[int, ...]]:
        plain = tuple(range(len(self.size) + 2))
        return [order or plain for order in (self.lhs_order, self.rhs_order, self.out_order)]

    def shapes(self) -> list[tuple[int, ...]]:
        """The shapes of lhs, rhs and the result, in the order of their dimensions."""
        canonical = (
            (self.batch, *self.size, self.inputs),
            (self.inputs // self.feature_groups, *self.taps, self.outputs),
            (self.batch // self.batch_groups, *self.counts, self.outputs),
        )
        return [tuple(s[d] for d in order) for s, order in zip(canonical, self.orders(), strict=True)]

    def text(self) -> str:
        labels = [["b", *map(str, range(len(self.size))), "f"] for _ in range(3)]
        labels[1][0], labels[1][-1] = "i", "o"
        lists = [f"[{', '.join(names[d] for d in order)}]" for names, order in zip(labels, self.orders(), strict=True)]
        elements = (self.element, self.element, self.result or self.element)
        lhs, rhs, out = (
            f"tensor<{''.join(f'{d}x' for d in shape)}{e}>" for shape, e in zip(self.shapes(), elements, strict=True)
        )
        pad = str([list(pair) for pair in self.pad])
        reverse = str([int(flag) for flag in self.reverse])
        return f"""
        func.func @main(%x: {lhs}, %w: {rhs}) -> {out} {{
          %0 = hlo.convolution(%x, %w) dim_numbers = {lists[0]}x{lists[1]}->{lists[2]},
            window = {{stride = {list(self.stride)}, pad = {pad}, lhs_dilate = {list(self.lhs_dilate)},
              rhs_dilate = {list(self.rhs_dilate)}, reverse = {reverse}}}
            {{batch_group_count = {self.batch_groups} : i64, feature_group_count = {self.feature_groups} : i64}}
            : ({lhs}, {rhs}) -> {out}
          return %0 : {out}
        }}"""

    def plain(self, x: Array, w: Array) -> Array:
        """The convolution element by element, accumulated in a wider type."""
        lhs_order, rhs_order, out_order = self.orders()
        lhs, rhs = x.transpose(np.argsort(lhs_order)), w.transpose(np.argsort(rhs_order))
        out = np.zeros((self.batch // self.batch_groups, *self.counts, self.outputs), np.float64)
        groups = self.feature_groups * self.batch_groups
        for *place, o in np.ndindex(out.shape):
            b, *at = place
            group = o // (self.outputs // groups)
            row = b + (group * out.shape[0] if self.batch_groups > 1 else 0)
            for tap in product(*map(range, self.taps)):
                position: list[int] = []
                for d, t in enumerate(tap):
                    p = at[d] * self.stride[d] + t * self.rhs_dilate[d] - self.pad[d][0]
                    inside = p % self.lhs_dilate[d] == 0 and 0 <= p // self.lhs_dilate[d] < self.size[d]
                    position.append(p // self.lhs_dilate[d] if inside else -1)
                if -1 in position:
                    continue
                read = tuple(n - 1 - t if r else t for t, n, r in zip(tap, self.taps, self.reverse, strict=True))
                for i in range(self.inputs // self.feature_groups):
                    of_lhs = i + (group * (self.inputs // groups) if self.feature_groups > 1 else 0)
                    out[(b, *at, o)] += float(lhs[(row, *position, of_lhs)]) * float(rhs[(i, *read, o)])
        return out.transpose(out_order)

    def xla(self, x: Any, w: Any) -> Any:
        """The convolution in a function that JAX traces."""
        lhs, rhs, out = ([order.index(d) for d in range(len(order))] for order in self.orders())
        numbers = jax.lax.ConvDimensionNumbers(
            (lhs[0], lhs[-1], *lhs[1:-1]), (rhs[-1], rhs[0], *rhs[1:-1]), (out[0], out[-1], *out[1:-1])
        )
        flipped = jnp.flip(w, [rhs[d + 1] for d, flag in enumerate(self.reverse) if flag])
        return jax.lax.conv_general_dilated(
            x, flipped, self.stride, self.pad, self.lhs_dilate, self.rhs_dilate, numbers,
            self.feature_groups, self.batch_groups,
        )  # fmt: skip


def drawn(seed: int, limit: int = 6) -> Conv:
    """A random small convolution."""
    rng = random.Random(seed)
    rank = rng.choice((0, 1, 1, 2, 2, 2, 3))
    dims = range(rank)

    def permutation() -> tuple[int, ...]:
        order = list(range(rank + 2))
        rng.shuffle(order)
        return tuple(order)

    groups = rng.choice((1, 1, 2, 3))
    by_batch = rng.random() < 0.3
    each = (rng.randint(1, 3), rng.randint(1, 3))
    return Conv(
        batch=rng.randint(1, 3) * (groups if by_batch else 1),
        size=tuple(rng.randint(1, limit) for _ in dims),
        taps=tuple(rng.randint(1, 3) for _ in dims),
        inputs=each[0] * (1 if by_batch else groups),
        outputs=each[1] * groups,
        stride=tuple(rng.choice((1, 1, 2, 3)) for _ in dims),
        pad=tuple((rng.randint(-1, 3), rng.randint(-1, 3)) for _ in dims),
        lhs_dilate=tuple(rng.choice((1, 1, 2)) for _ in dims),
        rhs_dilate=tuple(rng.choice((1, 1, 2)) for _ in dims),
        reverse=tuple(rng.random() < 0.2 for _ in dims),
        feature_groups=1 if by_batch else groups,
        batch_groups=groups if by_batch else 1,
        lhs_order=permutation(),
        rhs_order=permutation(),
        out_order=permutation(),
    )


def inputs_of(conv: Conv, seed: int = 0) -> list[Array]:
    """Inputs of small integers, whose products have exact sums in every type."""
    rng = np.random.default_rng(seed)
    dtype = DTYPES[conv.element]
    low = 0 if conv.element.startswith("u") else -2
    return [rng.integers(low, 3, shape).astype(dtype) for shape in conv.shapes()[:2]]


@pytest.mark.long(5)
@pytest.mark.sample(4)
@pytest.mark.parametrize("seed", range(24))
def test_random_convolutions(seed: int) -> None:
    conv = drawn(seed)
    x, w = inputs_of(conv, seed)
    want = conv.plain(x, w)
    for target in ("reference", "cpu"):
        found = run(conv.text(), (x, w), target)[0]
        np.testing.assert_array_equal(found.astype(np.float64), want, err_msg=f"{target}: {conv}")


def random_floats(conv: Conv, seed: int = 0) -> list[Array]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape).astype(DTYPES[conv.element]) for shape in conv.shapes()[:2]]


def plain(size: tuple[int, ...], taps: tuple[int, ...], inputs: int, outputs: int, **others: Any) -> Conv:
    """A convolution with a batch of 2 in the usual order of dimensions; `others` override its attributes."""
    ones = (1,) * len(size)
    unpadded = ((0, 0),) * len(size)
    conv = Conv(2, size, taps, inputs, outputs, ones, unpadded, ones, ones, (False,) * len(size))
    return replace(conv, **others)


BLOCKED = {
    "overlapping windows": plain((20, 21), (3, 3), 16, 64, pad=((1, 1), (1, 1))),
    "rows that panels do not divide": plain((19, 23), (3, 3), 8, 33),
    "rows in bands": plain((128, 10), (3, 3), 16, 32, pad=((1, 1), (1, 1))),
    "rows in bands, strided": plain((198, 12), (5, 3), 16, 48, stride=(2, 1), pad=((2, 1), (1, 1))),
    "strides": plain((31, 30), (5, 3), 8, 40, stride=(2, 3), pad=((2, 2), (0, 1))),
    "channels first": plain((16, 17), (3, 3), 16, 24, pad=((1, 1), (1, 1)), lhs_order=(0, 3, 1, 2), rhs_order=(3, 0, 1, 2), out_order=(0, 3, 1, 2)),
    "channels first, many features": plain((6, 7), (5, 5), 128, 96, pad=((1, 1), (1, 1)), lhs_order=(0, 3, 1, 2), rhs_order=(3, 0, 1, 2), out_order=(0, 3, 1, 2)),
    "reversed, many features": plain((6, 7), (5, 5), 128, 96, reverse=(True, True), pad=((1, 1), (1, 1)), lhs_order=(0, 3, 1, 2), rhs_order=(0, 3, 1, 2), out_order=(0, 3, 1, 2)),
    "batch as features": plain((12, 12), (10, 10), 16, 32, pad=((0, 0), (1, 1)), lhs_order=(3, 1, 2, 0)),
    "dilated input": plain((15, 14), (3, 3), 16, 32, lhs_dilate=(2, 2), pad=((1, 2), (1, 1))),
    "dilated input, fewer results": plain((15, 14), (4, 2), 16, 32, lhs_dilate=(3, 2), stride=(2, 1), pad=((1, 2), (4, -1))),
    "dilated input that the kernel misses": plain((30, 14), (1, 3), 32, 32, lhs_dilate=(2, 2), rhs_dilate=(1, 2), pad=((0, 0), (1, 1))),
    "dilated input, windows of one element": plain((15, 14), (1, 1), 16, 32, lhs_dilate=(2, 3), pad=((0, 1), (1, 1))),
    "dilated windows of a cropped input": plain((30, 15), (15, 8), 16, 32, rhs_dilate=(2, 2), pad=((0, -1), (0, 0))),
    "dilated both": plain((30,), (7,), 32, 64, lhs_dilate=(3,), rhs_dilate=(2,), pad=((5, 6),)),
    "patches' gradient": plain((6, 5), (8, 8), 16, 3, lhs_dilate=(8, 8), pad=((7, 7), (7, 7)), reverse=(True, True)),
    "patches' gradient, channels first": plain((6, 5), (8, 8), 16, 3, lhs_dilate=(8, 8), pad=((7, 7), (7, 7)), lhs_order=(0, 3, 1, 2), rhs_order=(0, 3, 1, 2), out_order=(0, 3, 1, 2)),
    "patches": plain((48, 66), (4, 8), 3, 24, stride=(4, 8), lhs_order=(0, 3, 1, 2), rhs_order=(3, 0, 1, 2), out_order=(0, 3, 1, 2)),
    "patches of a padded image": plain((53, 60), (4, 3), 6, 24, stride=(5, 3), pad=((2, 3), (-1, 1)), lhs_order=(0, 3, 1, 2), rhs_order=(3, 0, 1, 2), out_order=(0, 3, 1, 2)),
    "patches of one image": plain((320,), (4,), 8, 240, batch=1, stride=(4,), lhs_order=(0, 2, 1), rhs_order=(0, 2, 1), out_order=(0, 2, 1)),
    "gradient of patches' filters": plain((16, 24), (4, 6), 16, 64, batch=6, rhs_dilate=(4, 4), lhs_order=(3, 0, 1, 2), rhs_order=(0, 3, 1, 2), out_order=(3, 0, 1, 2)),
    "gradient of strided 1x1 filters": plain((16, 16), (8, 8), 6, 48, batch=24, rhs_dilate=(2, 2), pad=((0, -1), (0, -1)), lhs_order=(3, 1, 2, 0), out_order=(1, 2, 0, 3)),
    "one window with holes beyond the image": plain((15, 9), (8, 5), 16, 48, batch=16, rhs_dilate=(3, 2), pad=((4, 3), (0, 0)), lhs_order=(3, 1, 2, 0)),
    "many phases, several elements each": plain((200,), (19,), 16, 8, lhs_dilate=(8,), pad=((5, 14),)),
    "many phases, some without elements": plain((12, 40), (3, 5), 16, 12, lhs_dilate=(7, 1), stride=(1, 2), pad=((1, 2), (2, 2))),
    "dilated input, depthwise": plain((28, 14), (3, 3), 32, 32, feature_groups=32, lhs_dilate=(2, 2), pad=((1, 2), (1, 1))),
    "dilated input, depthwise, many elements": plain((15,), (25,), 64, 64, feature_groups=64, lhs_dilate=(2,), pad=((12, 13),)),
    "dilated input, depthwise, channels first": plain((28, 14), (5, 5), 24, 24, feature_groups=24, lhs_dilate=(2, 2), pad=((2, 3), (2, 2)), lhs_order=(0, 3, 1, 2), rhs_order=(3, 0, 1, 2), out_order=(0, 3, 1, 2)),
    "groups": plain((20, 20), (3, 3), 32, 64, feature_groups=2),
    "groups of the batch": plain((20, 20), (3, 3), 16, 64, batch=4, batch_groups=2),
    "depthwise": plain((20, 20), (3, 3), 32, 32, feature_groups=32, pad=((1, 1), (1, 1))),
    "gradient of depthwise filters, channels first": plain((17, 20), (15, 18), 3, 24, batch=24, batch_groups=24, pad=((0, 0), (1, 1)), lhs_order=(3, 0, 1, 2), rhs_order=(0, 3, 1, 2), out_order=(3, 0, 1, 2)),
    "gradient of groups' strided filters, channels first": plain((21,), (10,), 24, 64, batch=32, rhs_dilate=(2,), batch_groups=8, pad=((1, 1),), lhs_order=(2, 0, 1), rhs_order=(0, 2, 1), out_order=(2, 0, 1)),
    "reversed": plain((20, 20), (3, 2), 16, 32, reverse=(True, False)),
    "reversed and padded": plain((22, 22), (3, 3), 16, 32, pad=((1, 1), (1, 1)), reverse=(True, True)),
    "reversed, channels first": plain((16, 17), (3, 3), 16, 24, reverse=(True, True), pad=((1, 1), (1, 1)), lhs_order=(0, 3, 1, 2), rhs_order=(3, 0, 1, 2), out_order=(0, 3, 1, 2)),
    "reversed, dilated input": plain((15, 14), (3, 3), 16, 32, lhs_dilate=(2, 2), pad=((1, 2), (1, 1)), reverse=(True, True)),
    "reversed, few features": plain((24, 24), (5, 5), 64, 2, reverse=(True, True)),
    "reversed, many small images": plain((8, 8), (3, 3), 16, 16, batch=9, pad=((1, 1), (1, 1)), reverse=(True, True)),
    "reversed groups": plain((20, 20), (3, 3), 32, 64, feature_groups=2, reverse=(True, True)),
    "windows larger than the input": plain((3, 4), (5, 6), 8, 16, batch=16, stride=(2, 1), lhs_dilate=(1, 2), rhs_dilate=(2, 1), pad=((7, 8), (6, -1))),
    "windows larger than the input, reversed": plain((3, 4), (6, 5), 8, 2, batch=2, pad=((5, 4), (4, 4)), reverse=(True, False), lhs_order=(3, 1, 2, 0), rhs_order=(3, 1, 2, 0)),
    "few channels": plain((40, 40), (3, 3), 1, 32),
    "three dimensions": plain((9, 10, 11), (3, 3, 3), 8, 16, pad=((1, 1), (1, 1), (0, 2))),
}  # fmt: skip


@cache
def xla_results() -> dict[str, Array]:
    """XLA's results of all of these on random floats: it compiles one program in a fifth of the time."""
    inputs = [random_floats(conv) for conv in BLOCKED.values()]
    convolutions = jax.jit(
        lambda inputs: [conv.xla(*each) for conv, each in zip(BLOCKED.values(), inputs, strict=True)]
    )
    return dict(zip(BLOCKED, map(np.asarray, convolutions(inputs)), strict=True))


@pytest.mark.long(45)
@pytest.mark.parametrize("name", BLOCKED)
def test_large_convolutions_against_xla(name: str) -> None:
    conv = BLOCKED[name]
    x, w = random_floats(conv)
    want = xla_results()[name]
    for target in ("reference", "cpu"):
        found = run(conv.text(), (x, w), target)[0]
        np.testing.assert_allclose(found, want, rtol=0, atol=2e-6 * float(np.abs(want).max()) * 10, err_msg=target)


@pytest.mark.long(3)
@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "name",
    [
        "overlapping windows",
        "channels first",
        "dilated input",
        "groups",
        "patches",
        "many phases, several elements each",
    ],
)
@pytest.mark.parametrize("element", ["f64", "f16", "bf16", "i32", "ui8"])
def test_large_convolutions_of_other_types(name: str, element: str) -> None:
    conv = replace(BLOCKED[name], element=element)
    inputs = inputs_of(conv)
    want, found = (run(conv.text(), inputs, target)[0] for target in ("reference", "cpu"))
    np.testing.assert_array_equal(found, want)


@pytest.mark.long(5)
@pytest.mark.sample(4)
@pytest.mark.parametrize("seed", range(24))
def test_random_phases_as_features(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decomposed, "LARGE", 0)
    monkeypatch.setattr(decomposed, "FEWER", 0)
    conv = drawn(seed + 100)
    dilation = tuple(2 + (seed + dim) % 3 for dim in range(len(conv.size)))
    ones = (1,) * len(conv.size)
    conv = replace(
        conv, lhs_dilate=dilation, stride=ones, rhs_dilate=ones, pad=tuple((low, high + 2) for low, high in conv.pad)
    )
    x, w = inputs_of(conv, seed)
    np.testing.assert_array_equal(run(conv.text(), (x, w), "cpu")[0].astype(np.float64), conv.plain(x, w))


@pytest.mark.sample(4)
@pytest.mark.parametrize("seed", range(24))
def test_random_depthwise_phases(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decomposed, "LARGE", 0)
    conv = drawn(seed + 300)
    groups, dilation = 2 + seed % 11, tuple(1 + (seed + dim) % 3 for dim in range(len(conv.size)))
    conv = replace(conv, lhs_dilate=dilation, inputs=groups, outputs=groups, feature_groups=groups, batch_groups=1)
    conv = replace(conv, pad=tuple((low, high + 2) for low, high in conv.pad))
    x, w = inputs_of(conv, seed)
    np.testing.assert_array_equal(run(conv.text(), (x, w), "cpu")[0].astype(np.float64), conv.plain(x, w))


@pytest.mark.sample(4)
@pytest.mark.parametrize("seed", range(24))
def test_random_patches(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decomposed, "LARGE", 0)
    conv, rng = drawn(seed + 200), random.Random(seed)
    ones = (1,) * len(conv.size)
    conv = replace(conv, lhs_dilate=ones, feature_groups=1, batch_groups=1)
    if seed % 2:
        conv = replace(conv, stride=tuple(taps + rng.randint(0, 1) for taps in conv.taps), rhs_dilate=ones)
    else:
        taps = tuple(rng.randint(1, 3) for _ in conv.size)
        size = tuple(n * 4 - rng.randint(0, 2) for n in taps)
        conv = replace(conv, size=size, taps=taps, stride=ones, rhs_dilate=(4,) * len(taps), pad=((0, 0),) * len(taps))
    x, w = inputs_of(conv, seed)
    np.testing.assert_array_equal(run(conv.text(), (x, w), "cpu")[0].astype(np.float64), conv.plain(x, w))


def gradient_of_filters(seed: int) -> Conv:
    """The gradient of the filters of groups of few features, channels first; its window is an image."""
    rng = random.Random(seed)
    rank = rng.choice((1, 2, 2, 3))
    groups, images = rng.choice((2, 3, 8, 20)), rng.randint(1, 3)
    taps = (*(rng.randint(1, 9) for _ in range(rank - 1)), rng.randint(4, 70))
    results = tuple(rng.randint(1, 3) for _ in range(rank))
    dilate = tuple(rng.choice((1, 1, 2)) for _ in range(rank))
    pad = tuple((rng.randint(0, 2), rng.randint(0, 2)) for _ in range(rank))
    size = tuple(max(1, (n - 1) * d + m - sum(p)) for n, d, m, p in zip(taps, dilate, results, pad, strict=True))
    first = (rank + 1, 0, *range(1, rank + 1))
    kernel = (0, rank + 1, *range(1, rank + 1))
    conv = plain(size, taps, images, groups * rng.choice((1, 1, 3)), batch=groups * rng.choice((1, 1, 2)))
    return replace(
        conv, pad=pad, rhs_dilate=dilate, batch_groups=groups, lhs_order=first, rhs_order=kernel, out_order=first
    )


@pytest.mark.sample(4)
@pytest.mark.parametrize("seed", range(24))
def test_random_gradients_of_depthwise_filters(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for least in ("MIN_MULTIPLICATIONS", "LEAST_READS", "LEAST_DEPTH"):
        monkeypatch.setattr(row_sums, least, 0)
    conv = gradient_of_filters(seed)
    inputs = inputs_of(conv, seed)
    want, found = (run(conv.text(), inputs, target)[0] for target in ("reference", "cpu"))
    np.testing.assert_array_equal(found, want)


def test_rows_beside_infinite_ones() -> None:
    """Lanes that two vectors of a row share count once, and none reads a neighbouring row."""
    conv = plain((9, 9), (7, 7), 8, 24, batch=24, batch_groups=24, lhs_order=(3, 0, 1, 2), rhs_order=(0, 3, 1, 2), out_order=(3, 0, 1, 2))  # fmt: skip
    x, w = inputs_of(conv)
    w[:, 5], x[:, 7] = np.inf, np.nan
    want, found = (run(conv.text(), (x, w), target)[0] for target in ("reference", "cpu"))
    assert np.isfinite(found).sum() == 22 * 9
    np.testing.assert_array_equal(found, want)


PAIRED = {
    "features last": plain((20, 22), (3, 3), 16, 40, pad=((1, 1), (1, 1))),
    "features first": plain((14, 14), (3, 3), 48, 64, pad=((1, 1), (1, 1)), lhs_order=(0, 3, 1, 2), rhs_order=(3, 0, 1, 2), out_order=(0, 3, 1, 2)),
    "several passes": plain((9, 9), (3, 3), 640, 32, pad=((1, 1), (1, 1))),
    "strides and holes": plain((60,), (5,), 32, 72, batch=4, stride=(2,), rhs_dilate=(3,), pad=((5, 6),)),
    "dilated input": plain((15, 14), (4, 4), 32, 32, lhs_dilate=(2, 2), pad=((2, 2), (2, 2))),
    "gradient of filters": plain((16, 16), (16, 16), 4, 32, batch=24, pad=((1, 1), (1, 1)), lhs_order=(3, 1, 2, 0), out_order=(1, 2, 0, 3)),
    "gradient of filters, odd images": plain((7, 7), (7, 7), 16, 80, batch=64, pad=((1, 1), (1, 1)), lhs_order=(3, 1, 2, 0), out_order=(1, 2, 0, 3)),
    "gradient of strided filters": plain((31,), (16,), 32, 48, batch=32, pad=((1, 2),), rhs_dilate=(2,), lhs_order=(2, 1, 0), out_order=(1, 0, 2)),
    "gradient of filters, first": plain((16, 16), (16, 16), 4, 32, batch=40, pad=((1, 1), (1, 1)), lhs_order=(3, 0, 1, 2), rhs_order=(0, 3, 1, 2), out_order=(3, 0, 1, 2)),
    "gradient of few features' filters": plain((39, 37), (16, 16), 4, 32, batch=3, pad=((2, 2), (3, 3)), rhs_dilate=(2, 2), lhs_order=(3, 1, 2, 0), out_order=(1, 2, 0, 3)),
    "phases as features": plain((5, 4), (8, 3), 6, 96, lhs_dilate=(7, 4), pad=((3, 3), (0, 0))),
    "an odd number of features": plain((40, 42), (7, 7), 3, 32, stride=(2, 2), pad=((3, 3), (3, 3))),
    "an odd number of features first": plain((40, 42), (7, 7), 3, 32, stride=(2, 2), pad=((3, 3), (3, 3)), lhs_order=(0, 3, 1, 2), rhs_order=(3, 0, 1, 2), out_order=(0, 3, 1, 2)),
    "an odd number of features, holes": plain((200, 42), (3, 5), 7, 32, rhs_dilate=(3, 1), lhs_order=(0, 2, 1, 3)),
}  # fmt: skip
"""Convolutions of bf16 that some machines multiply in pairs."""


@pytest.mark.long(5)
@pytest.mark.parametrize("name", PAIRED)
def test_pairs_of_bf16(name: str) -> None:
    conv = replace(PAIRED[name], element="bf16", result="f32")
    x, w = random_floats(conv)
    compiled = xhlo.compile(conv.text())
    wide = run(replace(conv, element="f32").text(), (x.astype(np.float32), w.astype(np.float32)), "reference")[0]
    found = compiled(x, w)
    np.testing.assert_allclose(found, wide, rtol=0, atol=2e-5 * float(np.abs(wide).max()))
    # Products and sums that are subnormal, which an instruction for pairs would take for zeros.
    x, w = inputs_of(conv)
    x, w = (x.astype(np.float32) * 2.0**-100).astype(x.dtype), (w.astype(np.float32) * 2.0**-33).astype(w.dtype)
    want, found = run(conv.text(), (x, w), "reference")[0], compiled(x, w)
    assert np.abs(want).max() < 2.0**-120 and np.abs(want).max() > 0
    np.testing.assert_array_equal(found, want)


MIXED = [("i8", "i32"), ("ui8", "i16"), ("i8", "f32"), ("bf16", "f32"), ("f16", "f32"), ("f32", "f64"), ("f64", "bf16"), ("f32", "f16"), ("i32", "i8")]  # fmt: skip


@pytest.mark.long(3)
@pytest.mark.sample(2)
@pytest.mark.parametrize(("element", "result"), [(element, "") for element in TYPES] + MIXED)
def test_types(element: str, result: str) -> None:
    conv = plain((5, 6), (3, 2), 3, 4, pad=((1, 0), (0, 1)), element=element, result=result)
    inputs = inputs_of(conv)
    want = conv.plain(*inputs)
    if element == "i1":
        want = want != 0
    for target in ("reference", "cpu"):
        found = run(conv.text(), inputs, target)[0]
        assert found.dtype == DTYPES[result or element]
        np.testing.assert_array_equal(found, want.astype(found.dtype), err_msg=target)


@pytest.mark.spread(2)
@pytest.mark.parametrize("size", [(5, 6), (30, 30)])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex(size: tuple[int, int], dtype: Any) -> None:
    conv = plain(size, (3, 2), 8, 16, pad=((1, 0), (0, 1)))
    rng = np.random.default_rng(0)
    x, w = ((rng.integers(-2, 3, shape) + 1j * rng.integers(-2, 3, shape)).astype(dtype) for shape in conv.shapes()[:2])
    text = conv.text().replace("f32>", "complex<f32>>" if dtype == np.complex64 else "complex<f64>>")
    want = conv.plain(x.real, w.real) - conv.plain(x.imag, w.imag) + 1j * (
        conv.plain(x.real, w.imag) + conv.plain(x.imag, w.real)
    ) if size == (5, 6) else run(text, (x, w), "reference")[0]  # fmt: skip
    for target in ("reference", "cpu"):
        np.testing.assert_array_equal(run(text, (x, w), target)[0], want.astype(dtype))


EMPTY = {
    "no batch": plain((4, 4), (3, 3), 2, 3, batch=0),
    "no input features": plain((4, 4), (3, 3), 0, 3),
    "no output features": plain((4, 4), (3, 3), 2, 0),
    "no window": plain((4, 2), (3, 3), 2, 3),
    "no input": plain((0, 4), (3, 3), 2, 3, pad=((2, 2), (0, 0))),
    "no kernel": plain((4, 4), (0, 3), 2, 3),
    "less than nothing": plain((4, 4), (3, 3), 2, 3, pad=((-3, -3), (0, 0))),
}


@pytest.mark.parametrize("name", EMPTY)
def test_empty(name: str) -> None:
    conv = EMPTY[name]
    inputs = inputs_of(conv)
    for target in ("reference", "cpu"):
        np.testing.assert_array_equal(run(conv.text(), inputs, target)[0], conv.plain(*inputs), err_msg=target)


DYNAMIC = """
func.func @main(%x: tensor<2x5x6x3xf32>, %w: tensor<3x3x2x4xf32>{parameter}) -> {result} {{
  {constant}
  %0 = "hlo.dynamic_conv"(%x, %w, %p) <{{batch_group_count = 1 : i64, feature_group_count = 1 : i64,
    dimension_numbers = #hlo.conv<[b, 0, 1, f]x[i, 0, 1, o]->[b, 0, 1, f]>, window_strides = array<i64: 2, 1>}}>
    : (tensor<2x5x6x3xf32>, tensor<3x3x2x4xf32>, tensor<2x2xi32>) -> {result}
  return %0 : {result}
}}"""


def test_dynamic_conv() -> None:
    conv = plain((5, 6), (3, 2), 3, 4, pad=((1, 0), (0, 1)), stride=(2, 1))
    inputs = inputs_of(conv)
    want = conv.plain(*inputs)
    constant = "%p = hlo.constant dense<[[1, 0], [0, 1]]> : tensor<2x2xi32>"
    for result in ("tensor<2x2x6x4xf32>", "tensor<2x?x?x4xf32>"):
        text = DYNAMIC.format(parameter="", constant=constant, result=result)
        for target in ("reference", "cpu"):
            np.testing.assert_array_equal(run(text, inputs, target)[0], want)
    text = DYNAMIC.format(parameter=", %p: tensor<2x2xi32>", constant="", result="tensor<2x?x?x4xf32>")
    padding = np.array([[1, 0], [0, 1]], np.int32)
    np.testing.assert_array_equal(run(text, (*inputs, padding), "reference")[0], want)
