"""
The fusion's cost model: bytes that a fusion keeps out of memory against work that it repeats.

The cost of an operation is stated by its class (`COST`), in additions of one element.
"""

from __future__ import annotations

REPEATED_WORK_PER_ELEMENT = 8
"""How much repeated work a fusion may do per element of its domain: below it, memory is still the limit."""

NEGLIGIBLE_WORK = 4096
"""Repeated work, in additions, that takes less time than starting one more kernel."""


def repeated_work(cost: int, evaluations: int, elements: int) -> int:
    """The work that is done more than once when `elements` elements are computed `evaluations` times in all."""
    return cost * max(0, evaluations - elements)
