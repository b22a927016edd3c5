"""
How operations of torch become hlo: rules by the names of overloads, such as `aten.add.Tensor`.

The files of `rules/` register theirs, and other packages through the entry point group `xhlo.torch_rules`, each a
sequence of (names, rule). A rule takes a `Step` and the operation's arguments, with values of the program in place of
tensors, and returns a value, or a tuple of them. It raises Unlowered for what it does not know.
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


def lowers(names: str) -> Callable[[Rule], Rule]:
    """A decorator: the function lowers these overloads, named with spaces between them; `.default` may be left out."""

    def register(rule: Rule) -> Rule:
        for name in names.split():
            full = name if name.count(".") == 2 else f"{name}.default"
            if full in _RULES:
                raise ValueError(f"there are two rules for {full}")
            _RULES[full] = rule
        return rule

    return register


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
