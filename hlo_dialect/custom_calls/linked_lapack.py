"""LAPACK called by compiled code itself: `xhlo.lapack`, a call of LAPACK's targets with a workspace as a result."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np

from ..types import Array
from .batched_calls import parts_of
from .call import CustomCall
from .lapack_library import LIBRARY
from .lapack_plans import has_plan, plan_of
from .linked import LINKED, ROUTINE
from .registry import REGISTRY, CustomCallTarget


def called(call: CustomCall) -> CustomCall:
    """The call of LAPACK's target, without the workspace."""
    return replace(call, target=str(call.attributes[ROUTINE]), results=call.results[:-1])


def is_for_one_thread(call: CustomCall) -> bool:
    """Whether LAPACK's call has one matrix, or a batch too small to be shared among threads."""
    plan = plan_of(call)
    return plan.batch == 1 or parts_of(plan.batch, plan.elements) == 1


def _run(call: CustomCall, *operands: Array) -> tuple[Array, ...]:
    inner = called(call)
    target = REGISTRY.find(inner.target)
    assert target is not None and target.function is not None, "checked"
    given = target.function(inner, *operands)
    workspace: Array = np.zeros(call.results[-1].shape, np.uint8)
    results = cast("tuple[Array, ...]", given) if isinstance(given, tuple) else (given,)
    return (*results, workspace)


def _check(call: CustomCall) -> str | None:
    name = call.attributes.get(ROUTINE)
    target = REGISTRY.find(name) if isinstance(name, str) and has_plan(name) else None
    if target is None or target.check is None or not call.results:
        return f"{ROUTINE} is {name!r}, expected a target of LAPACK; the last result is its workspace"
    inner = called(call)
    problem = target.check(inner)
    if problem is not None:
        return problem
    nbytes, workspace = plan_of(inner).nbytes, call.results[-1]
    if workspace.shape != (nbytes,) or workspace.dtype != np.uint8:
        return f"its workspace is {workspace.text}, expected {nbytes} bytes"
    return None


TARGETS = (CustomCallTarget(LINKED, _run, _check, library=LIBRARY, borrows=True),)
