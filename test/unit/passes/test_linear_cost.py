"""Programs that people write with loops of Python: the work of a pass is in proportion to their length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xhlo
from xhlo.passes.bufferize.liveness import Liveness
from xhlo.passes.outline_parallel_loops import equal

X = np.linspace(-1, 1, 20_000)
"""Enough for loops that are divided among threads."""


def branches(count: int) -> Callable[[Any], Any]:
    def program(x: Any) -> Any:
        for number in range(count):
            x = xhlo.cond(x[number] > 0, lambda v: v + 1.0, lambda v: v * 2.0, x)
        return x

    return program


def loops(count: int) -> Callable[[Any], Any]:
    def program(x: Any) -> Any:
        for number in range(count):
            x = xhlo.fori_loop(0, 3 + number, lambda i, v: v * 0.9 + 1.0, x)
        return x

    return program


def questions(monkeypatch: pytest.MonkeyPatch, home: Any, name: str, program: Callable[[Any], Any]) -> tuple[int, Any]:
    """How often a function is called while a program is compiled, and what the program returns."""
    asked = [0]
    original = getattr(home, name)

    def counted(*args: Any, **kwargs: Any) -> Any:
        asked[0] += 1
        return original(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(home, name, counted)
        result = xhlo.jit(program)(X)
    return asked[0], result


@pytest.mark.parametrize(
    ("home", "name", "program"), [(Liveness, "needed_after", branches), (equal, "_are_equal", loops)]
)
def test_work_is_in_proportion_to_the_program(
    monkeypatch: pytest.MonkeyPatch, home: Any, name: str, program: Callable[[int], Callable[[Any], Any]]
) -> None:
    few, _ = questions(monkeypatch, home, name, program(20))
    many, result = questions(monkeypatch, home, name, program(40))
    assert many <= 2.5 * few
    np.testing.assert_allclose(result, program_in_numpy(program, 40), rtol=1e-12)


def program_in_numpy(program: Callable[[int], Any], count: int) -> np.ndarray[Any, Any]:
    x = X.copy()
    for number in range(count):
        if program is branches:
            x = x + 1.0 if x[number] > 0 else x * 2.0
        else:
            for _ in range(3 + number):
                x = x * 0.9 + 1.0
    return x
