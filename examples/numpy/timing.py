"""Run a function of NumPy code three ways: as it is, jitted, and clustered; check the results and time them."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import xhlo


def compare(function: Callable[..., Any], *arguments: Any, repeat: int = 5) -> None:
    """Print the shortest time of each way, after checking that all give what NumPy gives."""
    jitted = xhlo.jit(function)
    recorded = [xhlo.asarray(one) for one in arguments]

    def clustered() -> Any:
        with xhlo.autocluster():
            result = function(*recorded)
        return np.asarray(result)

    wanted = function(*arguments)
    ways: list[tuple[str, Callable[[], Any]]] = [
        ("NumPy", lambda: function(*arguments)),
        ("jit", lambda: jitted(*arguments)),
        ("clusters", clustered),
    ]
    for name, way in ways:
        for _ in range(3):
            # The first calls trace, record and compile.
            np.testing.assert_allclose(way(), wanted, rtol=1e-9, atol=1e-9)
        best = min(_seconds(way) for _ in range(repeat))
        print(f"{name:10} {1e3 * best:9.3f} ms")
    print("the results agree")


def _seconds(way: Callable[[], Any]) -> float:
    start = time.perf_counter()
    way()
    return time.perf_counter() - start


def size(default: int) -> int:
    """The argument --size of the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=default)
    return parser.parse_args().size
