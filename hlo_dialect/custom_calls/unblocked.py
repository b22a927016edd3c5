"""LAPACK's routines as loops of the program's own: `xhlo.unblocked`, a call of one of LAPACK's targets."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from ...dialects.support.shared_names import ROUTINE
from ..types import Array
from .call import CustomCall
from .lapack_plans import has_plan
from .registry import REGISTRY, CustomCallTarget

UNBLOCKED = "xhlo.unblocked"


def stated(call: CustomCall) -> CustomCall:
    """The call of LAPACK's target."""
    return replace(call, target=str(call.attributes[ROUTINE]))


def _run(call: CustomCall, *operands: Array) -> tuple[Array, ...]:
    inner = stated(call)
    target = REGISTRY.find(inner.target)
    assert target is not None and target.function is not None, "checked"
    given = target.function(inner, *operands)
    return cast("tuple[Array, ...]", given) if isinstance(given, tuple) else (given,)


def _check(call: CustomCall) -> str | None:
    name = call.attributes.get(ROUTINE)
    target = REGISTRY.find(name) if isinstance(name, str) and has_plan(name) else None
    if target is None or target.check is None:
        return f"{ROUTINE} is {name!r}, expected a target of LAPACK"
    return target.check(stated(call))


TARGETS = (CustomCallTarget(UNBLOCKED, _run, _check, loops=True),)
