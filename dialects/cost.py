"""
What computing costs: bytes, operations, and what each kind of operation weighs.

The unit of work at every level of the compiler is the *operation*: the addition of two f32 elements. All numbers are
estimates. They decide what is computed again, fused or run in parallel, never what a program computes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

F32_BYTES = 4
"""The size of the element that estimates assume where they know no type."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a computation takes."""

    bytes: int
    """Read from memory and written to it."""
    operations: int


class Weight(NamedTuple):
    """
    What one element of an operation counts as, in operations.

    The levels differ because they see different parts of the code that will run: an hlo operation becomes several
    scalar ones; a scalar operation has a latency where it is computed again, and a throughput in a vectorized loop.
    """

    hlo: int
    """Computed again in another kernel: fuse-hlo, which reads it as the `COST` of an operation's class."""
    body: int
    """Computed again in another loop of the same kernel: fuse-linalg."""
    loop: int
    """In a loop of a CPU's thread: how many tasks a parallel loop is cut into."""


# fmt: off
#                        hlo body loop
FREE             = Weight(0,   0,   0)  # constants, and movement, which changes indices alone
INDEX            = Weight(0,   1,   0)
CHEAP            = Weight(1,   1,   1)  # additions, comparisons, conversions, bits
LOAD             = Weight(1,   1,   2)
SIGN             = Weight(1,   1,  12)  # abs and copysign
DIVISION         = Weight(4,   6,   4)
INTEGER_DIVISION = Weight(4,   1,  12)
SQUARE_ROOT      = Weight(4,   6,   6)
RECIPROCAL_ROOT  = Weight(20, 12,   8)
ELEMENTARY       = Weight(20, 12,  12)  # whatever becomes a polynomial
# fmt: on
