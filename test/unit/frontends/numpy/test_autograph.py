"""xhlo.jit(autograph=True): Python's control flow on traced values does what Python does on NumPy's."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xhlo

X = np.array([1.0, -2.0, 3.0])
SCALE = 2.0


def branches(x: Any, n: Any) -> Any:
    if (n > 2 and x.sum() > 0) or not n >= 0:
        y = x * 2
        z = 1
    elif n == 1:
        y = x - n
        z = 2.5
    else:
        y, z = np.zeros_like(x), n
    return y, z + (1 if 0 < n <= 2 else -1)


def early(x: Any, n: Any) -> Any:
    if n == 0:
        return x
    if n < 0:
        x = -x
        if x[0] < 0:
            return x * 10
    elif n == 1:
        return x + 1
    return x * n


def collatz(n: Any, most: Any = 50) -> Any:
    steps = 0
    while n != 1 and steps < most:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps, n


def primes(n: Any) -> Any:
    """Nested loops over ranges of the run, with continue and break."""
    count = 0
    for number in range(2, n):
        is_prime = True
        if number % 2 == 0 and number > 2:
            continue
        for divisor in range(2, number):
            if number % divisor == 0:
                is_prime = False
                break
        if is_prime:
            count += 1
    return count


def rows(x: Any, limit: Any) -> Any:
    total = np.zeros(3)
    seen = -1
    for row in np.outer(x, x):
        if row.sum() > limit:
            break
        total = total + row
        seen += 1
    else:
        seen = 100
    return total, seen


def python_stays(x: Any, n: Any) -> Any:
    """Lists, strings and sizes are Python's while the function is traced."""
    mode, parts = "sum", []
    for k in range(3):
        if k == 1:
            continue
        parts.append(x[k] * SCALE)
        if k > 5:
            break
    if len(parts) == 2 and mode == "sum":
        total = sum(parts)
    else:
        total = None
    shift = 0 if x.ndim == 1 else 1
    if n > 0:
        mode = "sum"
    return total + shift, np.zeros(len(parts)), mode


def assigned(x: Any, n: Any) -> Any:
    y = x.copy()
    if n > 0:
        y[0] = n
        y += 1
    else:
        y[1:] *= 2
    k = 0
    while k < n:
        y[k % 3] = y[k % 3] - 1
        k += 1
    return y, x


def trees(x: Any, n: Any) -> Any:
    state = {"a": x, "b": (n, 0)}
    while state["b"][0] < 9:
        state = {"a": state["a"] / 2, "b": (state["b"][0] + 3, state["b"][1] + 1)}
    return state


def inner_functions(x: Any, n: Any) -> Any:
    def clipped(value: Any, *, low: Any = 0.0) -> Any:
        if value < low:
            return low
        return value

    total = 0.0
    for value in x:
        total = total + clipped(value, low=n - 2.0)
    return total


def downwards(x: Any, n: Any) -> Any:
    total = 0.0
    for k in range(n, -1, -2):
        total += x[k % 3] * k
    return total


def unrolled_break(x: Any, n: Any) -> Any:
    total = 0.0
    for k in range(3):
        if x[k] < n:
            break
        total += x[k]
    return total


FUNCTIONS: dict[str, tuple[Callable[..., Any], list[tuple[Any, ...]]]] = {
    "branches": (branches, [(X, n) for n in (-1, 0, 1, 2, 3)]),
    "early": (early, [(X, n) for n in (-1, 0, 1, 2)] + [(-X, -1)]),
    "collatz": (collatz, [(6,), (1,), (27,), (7, 3)]),
    "primes": (primes, [(20,), (2,), (3,)]),
    "rows": (rows, [(X, 3.0), (X, 99.0), (X, -9.0)]),
    "python_stays": (python_stays, [(X, 1)]),
    "assigned": (assigned, [(X, 4), (X, -1)]),
    "trees": (trees, [(X, 1), (X, 10)]),
    "inner_functions": (inner_functions, [(X, 1), (X, 5)]),
    "downwards": (downwards, [(X, 7), (X, 4)]),
    "unrolled_break": (unrolled_break, [(X, -1), (X, -9), (X, 5)]),
}


def leaves(tree: Any) -> list[Any]:
    if isinstance(tree, dict):
        return leaves(list(tree.values()))
    return [leaf for part in tree for leaf in leaves(part)] if isinstance(tree, (tuple, list)) else [tree]


@pytest.mark.long(9)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    function, calls = FUNCTIONS[name]
    compiled = xhlo.jit(function, autograph=True)
    for arguments in calls:
        found, wanted = leaves(compiled(*arguments)), leaves(function(*arguments))
        assert len(found) == len(wanted)
        for have, want in zip(found, wanted, strict=True):
            if isinstance(want, str):
                assert have == want
            else:
                np.testing.assert_allclose(have, want, rtol=1e-12)
    assert compiled.cache_info().currsize == len({(*tuple(map(np.shape, call)), len(call)) for call in calls})


def test_loops_are_loops_of_the_program() -> None:
    compiled = xhlo.jit(primes, autograph=True)
    text = compiled.compiler_ir(20)
    assert text.count("hlo.while") == 2 and "hlo.if" in text


def test_closures_defaults_and_methods() -> None:
    factor = 3.0

    class Model:
        offset = 5.0

        @xhlo.jit(static_argnames="self", autograph=True)
        def __call__(self, x: Any, *, low: float = -1.5, **others: Any) -> Any:
            """Documented."""
            if x.sum() > low:
                return x * factor + self.offset
            return x + others["y"]

    assert Model.__call__.__doc__ == "Documented."
    np.testing.assert_array_equal(Model()(X, y=X), X * 3 + 5)
    np.testing.assert_array_equal(Model()(X, low=9.0, y=X), X * 2)


# Errors, at the original lines.


def other_shape(x: Any) -> Any:
    if x.sum() > 0:
        y = x
    else:
        y = x[:2]
    return y + 1  # here: y is used here, and is float64[3] in one branch and float64[2] in the other


def one_branch(x: Any) -> Any:
    if x.sum() > 0:
        y = x
    return y * 2  # here: y is used here, and has a value only in one of the branches before


def one_returns(x: Any) -> Any:
    if x.sum() > 0:  # here: the returned value is float64[3] in one branch and None in the other
        return x


def inside_a_loop(x: Any) -> Any:
    while x.sum() > 1:
        y = x
        x = x / 2
    return y.sum()  # here: y is used here, and has a value only inside of a loop before


def growing(x: Any) -> Any:
    while x.sum() < 10:  # here: x has shape (3,) before a loop, and (6,) after an iteration
        x = np.concatenate([x, x])
    return x


def text(x: Any, n: Any = 0) -> Any:
    mode = "a"
    while x.sum() < n:  # here: mode is 'a' before a loop, and 'b' after an iteration
        mode = "b"
        x = x + 1
    return x, mode


def an_attribute(x: Any, box: Any = None) -> Any:
    if x.sum() > 0:  # here: this depends on elements, and the attribute .value is assigned in line
        box.value = x
    return x


def of_an_array(x: Any) -> Any:
    if x > 0:  # here: the truth of an array of shape (3,) is ambiguous
        return x
    return -x


def returns_in_a_loop(x: Any) -> Any:
    for value in x:
        if value > 0:  # here: its truth is needed here
            return value
    return x[0]


def a_step(x: Any, n: Any = 1) -> Any:
    total = 0.0
    for _ in range(0, 10, n):  # here: the step of a range depends on the function's arguments
        total = total + x.sum()
    return total


def fractional(x: Any) -> Any:
    for k in range(x[0]):  # here: a bound of a range is float64[]
        x = x + k
    return x


def a_structure(x: Any) -> Any:
    state = (x, 1)
    while state[0].sum() < 9:  # here: state is tuple before a loop, and list after an iteration
        state = [state[0] + 1, 2]
    return state


@pytest.mark.parametrize(
    "function",
    [
        other_shape,
        one_branch,
        one_returns,
        inside_a_loop,
        growing,
        text,
        an_attribute,
        of_an_array,
        returns_in_a_loop,
        a_step,
        fractional,
        a_structure,
    ],
)
def test_errors_are_at_the_original_lines(function: Callable[..., Any]) -> None:
    lines, first = inspect.getsourcelines(function)
    number, wanted = next(
        (first + i, line.split("# here: ")[1].strip()) for i, line in enumerate(lines) if "# here" in line
    )
    arguments = (X, 1) if function in (a_step, text) else (X,)
    with pytest.raises(xhlo.TraceError, match=re.escape(wanted)) as caught:
        xhlo.jit(function, autograph=True)(*arguments)
    place, *rest = str(caught.value).splitlines()
    assert re.match(rf"{re.escape(__file__)}:{number}:\d+: error: ", place), place
    assert rest[0].strip() == lines[number - first].strip() and "instead: " in rest[-1]


def test_what_is_not_rewritten() -> None:
    with pytest.raises(xhlo.TraceError, match="rewrites functions with `def`"):
        xhlo.jit(lambda x: x if x.sum() > 0 else -x, autograph=True)(X)
    with pytest.raises(UnboundLocalError, match="'y'"):
        xhlo.jit(undefined, autograph=True)(X)


def undefined(x: Any) -> Any:
    if len(x) > 5:
        y = x
    return y + 1
