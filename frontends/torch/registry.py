"""
How operations of torch become hlo: rules by the names of overloads, such as `aten.add.Tensor`.

The files of `rules/` register theirs, and other packages through the entry point group `xhlo.torch_rules`, each a
sequence of (names, rule). A rule takes a `Step` and the operation's arguments, with values of the program in place of
tensors, and returns a value, or a tuple of them. It raises Unlowered for what it does not know.

The files of `compositions/` register functions of tensors of torch that replace operations by simpler ones, where torch
has no decomposition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from ...hlo_dialect.plugins import leave_out, loaded
from ...hlo_dialect.rules import import_files

Rule = Callable[..., Any]
"""From a `Step` and the operation's arguments to its results."""

_RULES: dict[str, Rule] = {}
_COMPOSITIONS: dict[str, Callable[..., Any]] = {}


def lowers(names: str) -> Callable[[Rule], Rule]:
    """
    A decorator: the function lowers these overloads, named with spaces between them; `.default` may be left out.
    Operations that run graphs have one name, `cond`.
    """

    return _registers(_RULES, "rules", names)


def composes(names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: the function of tensors of torch takes the place of these overloads, named as for `lowers`."""
    return _registers(_COMPOSITIONS, "compositions", names)


def _registers(table: dict[str, Any], kind: str, names: str) -> Callable[[Any], Any]:
    def register(function: Any) -> Any:
        for name in names.split():
            full = name if name.count(".") in (0, 2) else f"{name}.default"
            if full in table:
                raise ValueError(f"there are two {kind} for {full}")
            table[full] = function
        return function

    return register


@cache
def compositions() -> Mapping[str, Callable[..., Any]]:
    """All compositions, by the names of overloads."""
    import_files(f"{(__package__ or '')}.compositions")
    return _COMPOSITIONS


@cache
def rules() -> Mapping[str, Rule]:
    """All rules, by the names of overloads."""
    import_files(f"{(__package__ or '')}.rules")
    for plugin, added in loaded("xhlo.torch_rules"):
        try:
            for names, rule in added:
                lowers(names)(rule)
        except (TypeError, ValueError) as error:
            leave_out(plugin, error)
    return _RULES
