"""Simplification rules and their results."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.rules import Rules


@dataclass(frozen=True)
class Rewrite:
    """Replace the operation by `new_ops` and its results by `values`. Without values it was changed in place."""

    new_ops: Sequence[Operation] = ()
    values: Sequence[SSAValue] | None = None
    touched: Sequence[object] = ()
    """Operations to revisit, besides the users and the operands' owners."""


Rule = Callable[[Operation], Rewrite | None]

EXACT = "nothing: results keep their bits"
"""The assumption of a rule about floats if it states nothing else."""

OPEN_ORDER = "nothing but the order of a product's sums, which HLO leaves open"
"""The assumption of a rule that makes one product of another."""

OPEN_REDUCTION = "nothing but the order of a reduction, which HLO leaves open"
"""The assumption of a rule that reduces in parts."""


simplifications = Rules[Rule]("simplify-hlo", __package__, several=True)

approximations = Rules[Rule]("simplify-hlo with math=fast", __package__, several=True)
"""Rules that may change results of floats: applied if they are asked for."""

_ASSUMPTIONS: dict[Rule, str] = {}


def assumes(assumption: str) -> Callable[[Rule], Rule]:
    """Decorator: what a rule of `approximations` assumes about floats."""

    def note(rule: Rule) -> Rule:
        _ASSUMPTIONS[rule] = assumption
        return rule

    return note


def unknown_rules(names: Sequence[str]) -> list[str]:
    """Those of `names` that no rule of `approximations` has."""
    known = {name_of(rule) for rules in approximations.listed().values() for rule in rules}
    return [name for name in names if name not in known]


@dataclass(frozen=True)
class RuleFacts:
    """One rule, as `hlo-opt --print-rules` lists it."""

    name: str
    """The function's name, with hyphens."""
    operation: str
    summary: str
    source: str
    """The file that defines it, in its package."""
    floats: str = EXACT
    """Its assumption about floats."""


def name_of(rule: Rule) -> str:
    """The name under which a rule is counted and listed."""
    return getattr(rule, "__name__", type(rule).__name__).replace("_", "-")


def rules_of_simplify_hlo() -> list[RuleFacts]:
    """All rules, by the operation that they are for; first those that are always on."""
    found: list[RuleFacts] = []
    for op_type, rules in (*simplifications.listed().items(), *approximations.listed().items()):
        for rule in rules:
            summary = " ".join((inspect.getdoc(rule) or "").split("\n\n")[0].split())
            operation = getattr(op_type, "name", "hlo.*")
            source = rule.__module__.replace("xhlo.", "")
            found.append(RuleFacts(name_of(rule), operation, summary, source, _ASSUMPTIONS.get(rule, EXACT)))
    return found


def start(value: SSAValue) -> Tensor:
    """A handle to compute with; `by` makes a rewrite of the result."""
    return Tensor(Builder(), value)


def by(*results: Tensor) -> Rewrite:
    """The rewrite to the operations that one builder collected."""
    return Rewrite(results[0].builder.ops, [result.value for result in results])


def to(*values: SSAValue) -> Rewrite:
    """The rewrite to values that exist."""
    return Rewrite((), values)
