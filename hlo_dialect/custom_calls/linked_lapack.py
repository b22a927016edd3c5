"""LAPACK called by compiled code itself: `xhlo.lapack`, a call of LAPACK's targets with a workspace as a result."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np

from ...dialects.support.shared_names import LINKED, PARTS, ROUTINE
from ..types import Array
from .batched_calls import parts_of
from .call import CustomCall
from .lapack_library import LIBRARY
from .lapack_plans import Plan, has_plan, plan_of
from .registry import REGISTRY, CustomCallTarget


def called(call: CustomCall) -> CustomCall:
    """The call of LAPACK's target, without the workspace."""
    return replace(call, target=str(call.attributes[ROUTINE]), results=call.results[:-1])


MOST_BYTES = 1 << 26
"""The most memory of the workspaces of all parts of a batch, unless one needs more."""


def parts_of_plan(plan: Plan) -> int:
    """The parts of a batch that threads may take, each with a workspace of its own: its shape alone decides."""
    return max(1, min(parts_of(plan.batch, plan.elements), MOST_BYTES // max(1, plan.nbytes)))


def _run(call: CustomCall, *operands: Array) -> tuple[Array, ...]:
    inner = called(call)
    target = REGISTRY.find(inner.target)
    assert target is not None and target.function is not None, "checked"
    given = target.function(inner, *operands)
    workspace: Array = np.zeros(call.results[-1].shape, np.uint8)
    results = cast("tuple[Array, ...]", given) if isinstance(given, tuple) else (given,)
    return (*results, workspace)


def _check(call: CustomCall) -> str | None:
    name, parts = call.attributes.get(ROUTINE), call.attributes.get(PARTS, 1)
    if not isinstance(parts, int) or parts < 1:
        return f"{PARTS} is {parts!r}, expected a positive number"
    target = REGISTRY.find(name) if isinstance(name, str) and has_plan(name) else None
    if target is None or target.check is None or not call.results:
        return f"{ROUTINE} is {name!r}, expected a target of LAPACK; the last result is its workspace"
    inner = called(call)
    problem = target.check(inner)
    if problem is not None:
        return problem
    plan, workspace = plan_of(inner), call.results[-1]
    if workspace.shape != (plan.nbytes * parts,) or workspace.dtype != np.uint8:
        return f"its workspace is {workspace.text}, expected {plan.nbytes} bytes for each of {parts} parts"
    return None


TARGETS = (CustomCallTarget(LINKED, _run, _check, library=LIBRARY, borrows=True),)
