"""
Statements of other packages to fuse-hlo: operations to keep apart, and the costs of operations.

    def keep_apart(producer, user):                  # an entry point in the group xhlo.fusion_rules loads as
        return "the pool runs on another unit"       # ((PoolOp, keep_apart),)

A rule is asked for each operation and each user of its results, if it is registered for the class of one of them. It
returns the reason to keep the two in different kernels, which the remark prints, or None. Results do not depend on it.

An entry point in the group `xhlo.costs` loads as a sequence of (operation class, cost): the cost of computing one
element again, in additions (dialects/cost.py), for operations of any dialect. A class of one's own states it as `COST`.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation

from ...hlo_dialect.op import EXPENSIVE, is_hlo
from ...hlo_dialect.rules import Rules

Apart = Callable[[Operation, Operation], str | None]
"""(producer, user) to the reason to keep them apart, or None."""

fusion_rules = Rules[Apart]("fuse-hlo", None, "xhlo.fusion_rules", several=True)
costs = Rules[int]("the costs of fuse-hlo", None, "xhlo.costs")


def reason_apart(producer: Operation, user: Operation) -> str | None:
    """Why the two are not to be in one kernel; None if nothing is against it."""
    if not fusion_rules:
        return None
    rules = dict.fromkeys((*fusion_rules.all(type(producer)), *fusion_rules.all(type(user))))
    return next((reason for rule in rules if (reason := rule(producer, user)) is not None), None)


def cost_of(op: Operation) -> int:
    """The cost of computing one element of the operation again, in additions."""
    stated = costs.get(type(op)) if costs else None
    if stated is not None:
        return stated
    return op.cost if is_hlo(op) else EXPENSIVE
