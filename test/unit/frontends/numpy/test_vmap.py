"""xhlo.vmap: a batch's results are those of its elements, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xhlo

RNG = np.random.default_rng(2)
X = RNG.normal(size=(3, 4, 4))
Y = RNG.normal(size=(3, 4, 4))
V = RNG.normal(size=4)
N = np.array([2, 0, 5])
I = np.array([[1, 0], [3, 2], [2, 2]])


def assigned(x: Any, i: Any, n: Any) -> Any:
    x = x.copy()
    x[1] = n
    x[:, ::2] += 1
    x[i, 0] = x[0, i] * 2
    return x


def newton(x: Any, n: Any) -> Any:
    """Each element stops on its own; the count is not what it stops by."""
    value, steps = xhlo.while_loop(
        lambda state: np.abs(state[0] ** 2 - n) > 1e-9, lambda s: ((s[0] + n / s[0]) / 2, s[1] + 1), (x, 0)
    )
    return value, steps


def counted(x: Any, w: Any) -> Any:
    """A loop that all elements leave together, with a constant that it does not change."""
    return xhlo.fori_loop(0, 3, lambda i, s: (s[0] * w + i, s[1] + w), (x, np.zeros(4)))


def nested_loops(x: Any, n: Any) -> Any:
    return xhlo.fori_loop(0, n, lambda i, s: xhlo.fori_loop(0, i + 1, lambda j, t: t * 0.5 + j, s), x)


def branches(x: Any, n: Any, shared: Any) -> Any:
    return (
        xhlo.cond(n > 1, lambda v: v * 2, lambda v: v - n, x),
        xhlo.cond(shared > 0, lambda v: (v, np.zeros(2)), lambda v: (v - n, np.ones(2)), x),
        xhlo.switch(n, [lambda v: v, lambda v: -v, lambda v: v * n], x),
        xhlo.switch(shared, [lambda v: v, lambda v: -v], x),
    )


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], Any]] = {
    "elements": (
        lambda x, n: (np.exp(x) * n + V, np.where(n > 1, x, 0.0), np.clip(x, -n, n), x.astype(int)),
        (X, N),
        0,
    ),
    "reductions": (
        lambda x: (x.sum(), x.max(0), x.argmin(1), np.cumsum(x, 0), np.median(x), x.mean(), x.std(1), np.diff(x)),
        (X,),
        0,
    ),
    "shapes": (
        lambda x, n: (x.T, x.reshape(2, 8), x[::-1, 1:], np.concatenate([x, x * n]), np.pad(x, 1), np.flip(x), x[None]),
        (X, N),
        0,
    ),
    "products": (lambda x, y: (x @ y, x @ V, np.einsum("ij,ij", x, y), np.outer(x[0], V)), (X, Y), 0),
    "one side": (
        lambda x, y: (x @ y, y @ x, np.tensordot(y, x, 1), np.einsum("ij,ij->i", y, x), np.einsum("ik,il->ilk", x, y)),
        (X, Y[0]),
        (0, None),
    ),
    "indices": (
        lambda x, i, n: (x[i], x[:, i], x[n % 4], np.take_along_axis(V, i, 0), np.take_along_axis(x, i[None], 1)),
        (X, I, N),
        0,
    ),
    "assignment": (assigned, (X, I, N), 0),
    "order": (lambda x: (np.sort(x), np.argsort(x, 0), np.searchsorted(np.sort(V), x)), (X,), 0),
    "linear algebra": (
        lambda x, y: (np.linalg.solve(x, y), np.linalg.det(x), np.linalg.eigvalsh(x + x.T), np.fft.fft(x[0])),
        (X, Y),
        0,
    ),
    "a loop that elements leave on their own": (newton, (np.array([1.0, 2.0, 3.0]), np.array([2.0, 9.0, 5.0])), 0),
    "a loop that all leave together": (counted, (V, np.array([0.5, 2.0])), (None, 0)),
    "nested loops": (nested_loops, (X, N), 0),
    "branches": (branches, (X, N, np.array(1)), (0, 0, None)),
    "scan": (lambda x, n: xhlo.scan(lambda c, row: (c + row.sum(), c * n), 0.0, x), (X, N), 0),
    "nothing of the batch": (lambda x, n: (V * 2, 3, x), (X, N), 0),
    "trees": (lambda d, p: {"a": d["x"] + p[0], "b": [p[1]]}, ({"x": X}, (N, V)), ({"x": 0}, (0, None))),
    "keywords": (lambda x, *, n: x * n, (X,), 0),
}


def leaves(tree: Any) -> list[Any]:
    if isinstance(tree, dict):
        return leaves(list(tree.values()))
    return [leaf for part in tree for leaf in leaves(part)] if isinstance(tree, (tuple, list)) else [tree]


def agree(actual: Any, wanted: Any) -> None:
    for have, want in zip(leaves(actual), leaves(wanted), strict=True):
        want = np.asarray(want)
        assert (have.shape, have.dtype) == (want.shape, want.dtype)
        np.testing.assert_allclose(have, want, rtol=1e-9, atol=1e-12)


@pytest.mark.long(4)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    function, arguments, axes = FUNCTIONS[name]
    named = {"n": N} if name == "keywords" else {}
    batched = xhlo.vmap(function, in_axes=axes)
    agree(xhlo.jit(batched)(*arguments, **named), batched(*arguments, **named))


def test_axes_and_nesting() -> None:
    def pairs(x: Any, y: Any) -> Any:
        return xhlo.vmap(lambda a: xhlo.vmap(lambda b: np.dot(a, b) + x[0, 0])(y))(x)

    agree(xhlo.jit(pairs)(X[0], Y[0]), pairs(X[0], Y[0]))
    nested = xhlo.vmap(xhlo.vmap(lambda x, y: x @ y, in_axes=(0, None)), in_axes=(2, 1), out_axes=-1)
    agree(xhlo.jit(nested)(X, Y[0]), nested(X, Y[0]))
    split = xhlo.vmap(lambda x: (x, x.sum(0)), out_axes=(1, 0))
    agree(xhlo.jit(split)(X), split(X))
    shared = xhlo.jit(xhlo.vmap(lambda x, w: (x * 2, w + 1), in_axes=(0, None), out_axes=(0, None)))(X, V)
    agree(shared, (X * 2, V + 1))
    looped = xhlo.jit(lambda x: xhlo.fori_loop(0, 2, lambda i, s: xhlo.vmap(lambda row: row / row.sum() + i)(s), x))(X)
    wanted = X
    for number in range(2):
        wanted = np.stack([row / row.sum() + number for row in wanted])
    agree(looped, wanted)


def test_an_operation_without_a_rule_runs_for_each_element() -> None:
    """An extreme whose identity is the element's own, through a loop."""
    text = xhlo.jit(xhlo.vmap(lambda x, n: np.pad(x, 1, constant_values=n)))
    agree(text(X, N * 1.0), np.stack([np.pad(x, 1, constant_values=n) for x, n in zip(X, N, strict=True)]))
    assert "hlo.while" in text.compiler_ir(X, N * 1.0)
    batched = xhlo.jit(xhlo.vmap(lambda x: np.exp(x).sum(0)))
    assert "hlo.while" not in batched.compiler_ir(X)


def test_wrong_axes() -> None:
    for function, arguments, message in (
        (xhlo.vmap(lambda x, y: x), (X, Y[:2]), r"argument 1 has 2 elements along axis 0, argument 0 has 3"),
        (xhlo.vmap(lambda x: x, in_axes=4), (X,), r"argument 0 has shape \(3, 4, 4\), and no axis 4"),
        (xhlo.vmap(lambda x, y: x, in_axes=(0,)), (X, Y), "in_axes is"),
        (xhlo.vmap(lambda x: x, in_axes=None), (X,), "no argument is mapped"),
        (xhlo.vmap(lambda x: x, out_axes=None), (X,), "its out_axes is None"),
        (xhlo.vmap(lambda x: float(x)), (V,), "its value is needed here"),
    ):
        with pytest.raises(xhlo.TraceError, match=message):
            xhlo.jit(function)(*arguments)
