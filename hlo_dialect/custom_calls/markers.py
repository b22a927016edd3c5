"""Targets that only mark their operands: on one device their results are their operands. And assertions on shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import Operation

from ..op import replace_op
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

ASSERTION = "shape_assertion"


class ShapeAssertionError(ValueError):
    """A program's assertion about its shapes does not hold."""


def _shape_assertion(call: CustomCall, holds: Any, *values: Any) -> None:
    """
    `shape_assertion(condition, values ..)`: an error unless the condition holds.

    Its text is the attribute error_message, where `{0}` is replaced by the first value.
    """
    if not holds.all():
        text = assertion_text(call)
        for index, value in enumerate(values):
            text = text.replace(f"{{{index}}}", str(value))
        raise ShapeAssertionError(text)


def assertion_text(call: CustomCall) -> str:
    """The message of an assertion, with `{0}` where the first value is to be."""
    return str(call.attributes.get("error_message", "an assertion on shapes does not hold"))


def _check_assertion(call: CustomCall) -> str | None:
    if not call.operands or call.operands[0].shape != () or call.operands[0].dtype.kind != "b" or call.results:
        return "it takes a tensor<i1> and the values of the message, and gives nothing"
    return None


def _sink(call: CustomCall, *values: Any) -> None:
    """`dce_sink(values ..)`: keeps values alive until here; does nothing when the program runs."""


def _check_sink(call: CustomCall) -> str | None:
    return "it gives nothing" if call.results else None


def _erase(op: Operation) -> Sequence[Operation]:
    replace_op(op, [], [])
    return []


TARGETS = (
    CustomCallTarget("dce_sink", _sink, _check_sink, _erase),
    *(CustomCallTarget(name) for name in IDENTITIES),
    CustomCallTarget(ASSERTION, _shape_assertion, _check_assertion, borrows=True),
)
