"""
What an operation costs to compute again, in additions of one element.

The fusion's cost model weighs bytes that a fusion keeps out of memory against work that it repeats. The figures are
coarse on purpose: movement and constants are free, an addition is 1, a division 4, and anything that becomes a
polynomial (or that this table does not know, such as an operation added from outside) is 20: it is never repeated.
"""

from __future__ import annotations

FREE = 0
CHEAP = 1
DIVISION = 4
EXPENSIVE = 20

REPEATED_WORK_PER_ELEMENT = 8
"""How much repeated work a fusion may do per element of its domain: below it, memory is still the limit."""

NEGLIGIBLE_WORK = 4096
"""Repeated work, in additions, that takes less time than starting one more kernel."""

_FREE_OPS = ("constant", "iota", "broadcast_in_dim", "reshape", "transpose", "slice", "reverse", "pad", "dynamic_slice")
_CHEAP_OPS = [
    "abs",
    "add",
    "and",
    "ceil",
    "clamp",
    "compare",
    "convert",
    "floor",
    "imag",
    "is_finite",
    "maximum",
    "minimum",
    "multiply",
    "negate",
    "not",
    "or",
    "popcnt",
    "real",
    "round_nearest_afz",
    "round_nearest_even",
    "select",
    "shift_left",
    "shift_right_arithmetic",
    "shift_right_logical",
    "sign",
    "subtract",
    "xor",
    "reduce_precision",
    "bitcast_convert",
    "count_leading_zeros",
    "gather",
]
_DIVISIONS = ("divide", "sqrt")

_COST: dict[str, int] = {
    **{f"hlo.{name}": FREE for name in _FREE_OPS},
    **{f"hlo.{name}": CHEAP for name in _CHEAP_OPS},
    **{f"hlo.{name}": DIVISION for name in _DIVISIONS},
}


def cost_of(op_name: str) -> int:
    """The work of one element of the operation named `op_name` (`hlo.add`), in additions."""
    return _COST.get(op_name, EXPENSIVE)


def repeated_work(cost: int, evaluations: int, elements: int) -> int:
    """The work that is done more than once when `elements` elements are computed `evaluations` times in all."""
    return cost * max(0, evaluations - elements)
