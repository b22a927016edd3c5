"""Targets that only mark their operands: on one device their results are their operands. And assertions on shapes."""

from __future__ import annotations

from typing import Any

from .call import CustomCall
from .registry import CustomCallTarget

IDENTITIES = (
    "Sharding",
    "SPMDFullToShardShape",
    "SPMDShardToFullShape",
    "annotate_device_placement",
    "LayoutConstraint",
    "MoveToHost",
    "MoveToDevice",
    "xla.sdy.FuncResultSharding",
    "xla.sdy.GlobalToLocalShape",
    "xla.sdy.LocalToGlobalShape",
    "xla.sdy.PropagationBarrier",
)
"""Names of targets whose results are their operands."""


class ShapeAssertionError(ValueError):
    """An assertion of a program on its shapes does not hold."""


def _shape_assertion(call: CustomCall, holds: Any, *values: Any) -> None:
    """
    `shape_assertion(condition, values ..)`: an error unless the condition holds.

    Its text is the attribute error_message, in which `{0}` stands for the first value.
    """
    if not holds.all():
        text = str(call.attributes.get("error_message", "an assertion on shapes does not hold"))
        for index, value in enumerate(values):
            text = text.replace(f"{{{index}}}", str(value))
        raise ShapeAssertionError(text)


def _check_assertion(call: CustomCall) -> str | None:
    if not call.operands or call.operands[0].shape != () or call.operands[0].dtype.kind != "b" or call.results:
        return "it takes a tensor<i1> and the values of the message, and gives nothing"
    return None


TARGETS = (
    *(CustomCallTarget(name) for name in IDENTITIES),
    CustomCallTarget("shape_assertion", _shape_assertion, _check_assertion, borrows=True),
)
