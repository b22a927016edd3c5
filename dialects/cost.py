"""
Cost estimates: bytes, operations, and the weight of each kind of operation.

The unit of work at every level of the compiler is the *operation*: the addition of two f32 elements. All numbers are
estimates. They decide what is recomputed, fused or run in parallel, and never affect results.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

F32_BYTES = 4
"""The element size that estimates assume if the type is unknown."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a computation."""

    bytes: int
    """Read from memory and written to it."""
    operations: int


class Weight(NamedTuple):
    """
    The weight of one element of an operation, in operations.

    The levels differ because they see different parts of the final code: an hlo operation becomes several scalar ones;
    a scalar operation costs its latency if it is recomputed, and its throughput in a vectorized loop.
    """

    hlo: int
    """Recomputed in another kernel: fuse-hlo, which reads it as the `COST` of an operation's class."""
    body: int
    """Recomputed in another loop of the same kernel: fuse-linalg."""
    loop: int
    """In a CPU thread's loop: determines the number of tasks of a parallel loop."""


# fmt: off
#                        hlo body loop
FREE             = Weight(0,   0,   0)  # constants, and movement, which only changes indices
INDEX            = Weight(0,   1,   0)
CHEAP            = Weight(1,   1,   1)  # additions, comparisons, conversions, bits
WIDE_CONVERSION  = Weight(4,   1,   1)  # between floats and integers of 64 bits: AVX2 has no vectors for it
LOAD             = Weight(1,   1,   2)
SIGN             = Weight(1,   1,  12)  # abs and copysign
DIVISION         = Weight(4,   6,   4)
INTEGER_DIVISION = Weight(4,   1,  12)
SQUARE_ROOT      = Weight(4,   6,   6)
RECIPROCAL_ROOT  = Weight(20, 12,   8)
ELEMENTARY       = Weight(20, 12,  12)  # everything computed by a polynomial
COMPOSED         = Weight(40, 40,  40)  # functions of a few elementary ones
SPECIAL          = Weight(120, 120, 120)  # functions that are series, polynomials and logarithms
SERIES           = Weight(800, 800, 800)  # sums of powers
# fmt: on
