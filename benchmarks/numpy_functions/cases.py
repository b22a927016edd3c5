"""The list of functions that are measured, and arguments of about `n` numbers for them."""

# pyright: basic
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Case(NamedTuple):
    name: str
    subject: str
    function: Callable[..., Any]
    arguments: Callable[[np.random.Generator, int], tuple[Any, ...]]


CASES: list[Case] = []


def case(subject: str, arguments: Callable[..., Any]) -> Callable[..., Any]:
    def register(function: Any) -> Any:
        CASES.append(Case(function.__name__, subject, function, arguments))
        return function

    return register


def vectors(count: int) -> Any:
    return lambda r, n: tuple(r.uniform(0.1, 1, n) for _ in range(count))


def normals(count: int) -> Any:
    return lambda r, n: tuple(r.normal(size=n) for _ in range(count))


def square(r: Any, n: int) -> Any:
    side = int(n**0.5)
    return r.normal(size=(side, side)) / side


def image(r: Any, n: int) -> Any:
    side = int(n**0.5)
    return (r.uniform(0, 1, (side, side)),)


def colours(r: Any, n: int) -> Any:
    side = int((n / 3) ** 0.5)
    return (r.uniform(0.01, 1, (side, side, 3)),)


def samples(r: Any, n: int) -> Any:
    return r.normal(size=(n // 8, 8))
