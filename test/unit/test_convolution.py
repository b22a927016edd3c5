"""Convolutions: the reference against plain loops and XLA, the CPU against the reference."""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from cpu_programs import DTYPES, run

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Conv:
    """A convolution by its sizes; permutations say which of (batch, spatial.., feature) each dimension is."""

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
        """Of lhs, rhs and the result, in the order of their dimensions."""
        canonical = (
            (self.batch, *self.size, self.inputs),
            (self.inputs // self.feature_groups, *self.taps, self.outputs),
            (self.batch // self.batch_groups, *self.counts, self.outputs),
        )
        return [tuple(s[d] for d in order) for s, order in zip(canonical, self.orders(), strict=True)]

    def text(self) -> str:
        labels = [["b", *map(str, range(len(self.size))), "f"] for _ in range(3)]
        labels[1][0], labels[1][-1] = "i", "o"
        lists = [
            f"[{', '.join(names[d] for d in order)}]" for names, order in zip(labels, self.orders(), strict=True)
        ]
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
        """Element by element, in the wider of the types that make sums exact enough."""
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

    def xla(self, x: Array, w: Array) -> Array:
        lhs, rhs, out = ([order.index(d) for d in range(len(order))] for order in self.orders())
        numbers = jax.lax.ConvDimensionNumbers(
            (lhs[0], lhs[-1], *lhs[1:-1]), (rhs[-1], rhs[0], *rhs[1:-1]), (out[0], out[-1], *out[1:-1])
        )
        flipped = np.flip(w, [rhs[d + 1] for d, flag in enumerate(self.reverse) if flag])
        result = jax.lax.conv_general_dilated(
            jnp.asarray(x), jnp.asarray(flipped), self.stride, self.pad, self.lhs_dilate, self.rhs_dilate, numbers,
            self.feature_groups, self.batch_groups,
        )  # fmt: skip
        return np.asarray(result)


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
    """Small integers: sums of their products are exact in every type."""
    rng = np.random.default_rng(seed)
    dtype = DTYPES[conv.element]
    low = 0 if conv.element.startswith("u") else -2
    return [rng.integers(low, 3, shape).astype(dtype) for shape in conv.shapes()[:2]]


@pytest.mark.parametrize("seed", range(40))
def test_random_convolutions(seed: int) -> None:
    conv = drawn(seed)
    x, w = inputs_of(conv, seed)
    want = conv.plain(x, w)
    for target in ("reference", "cpu"):
        found = run(conv.text(), (x, w), target)[0]
        np.testing.assert_array_equal(found.astype(np.float64), want, err_msg=f"{target}: {conv}")
