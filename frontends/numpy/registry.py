"""The tables of what is compiled: NumPy's functions, methods of arrays, and what only a run knows."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from importlib import import_module
from types import ModuleType
from typing import Any

from ..builder.builder import Builder

FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {}
"""The function that compiles each function of NumPy: `FUNCTIONS[np.sum](x, axis=0)`."""

TRACED_ONLY: dict[Callable[..., Any], Callable[..., Any]] = {}
"""
Those that clusters leave to NumPy: they change an argument, give no arrays, or differ from NumPy where that decides by
elements.
"""

WHY: dict[Callable[..., Any], tuple[str, str]] = {}
"""Why functions of NumPy are not compiled, and what to write instead."""

METHODS: dict[str, Callable[..., Any]] = {}
"""The methods of arrays by name; the first argument is the array."""

CALL_UFUNC: list[Callable[..., Any]] = []
"""The one function that compiles ufuncs, set by ufuncs.py, which needs this file."""


CHOSEN: dict[str, Any] = {}
"""Reads and writes elements that a mask chooses, set by functions/masks.py, which needs this file."""

TRACE: ContextVar[Builder | None] = ContextVar("TRACE", default=None)
"""The program of the function that is being traced."""

STANDARDS = ("2021.12", "2022.12", "2023.12", "2024.12")
"""The versions of the array API standard that `xhlo.numpy` has."""


def namespace(api_version: str | None = None) -> ModuleType:
    """The array API standard's functions, `xhlo.numpy`, which are built on this package. Raises ValueError."""
    if api_version not in (None, *STANDARDS):
        raise ValueError(f"xhlo.numpy has the versions {', '.join(STANDARDS)} of the array API, not {api_version}")
    return import_module("...numpy", __package__)


def implements(
    *functions: Callable[..., Any], method: str | None = None, in_clusters: bool = True
) -> Callable[[Any], Any]:
    """A decorator: the function compiles these functions of NumPy, and the method of that name."""

    def register(function: Any) -> Any:
        for one in functions:
            (FUNCTIONS if in_clusters else TRACED_ONLY)[one] = function
        if method is not None:
            METHODS[method] = function
        return function

    return register


_KEEP = "keep it as an array"
_STATIC = "or make the argument static: xhlo.jit(static_argnames=..)"
MUST_BE_KNOWN = {
    "__bool__": (
        "its truth",
        "np.where(condition, a, b), np.maximum(a, b) for max(a, b), xhlo.cond(condition, f, g, x), or "
        "xhlo.jit(autograph=True)",
    ),
    "__float__": ("its value", f"{_KEEP}, with np.sqrt in place of math.sqrt; {_STATIC}"),
    "__complex__": ("its value", f"{_KEEP}; {_STATIC}"),
    "__int__": ("its value", "x.astype(int); or make the argument static: xhlo.jit(static_argnames=..)"),
    "__index__": (
        "its value, as a size, an axis or a bound,",
        "make the argument static: xhlo.jit(static_argnames=..)",
    ),
    "__hash__": ("its value, as a key,", "make the argument static: xhlo.jit(static_argnames=..)"),
}
"""The value that is needed, and the code to write instead, by the method that asks for it."""
