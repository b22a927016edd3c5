"""
The work of loop nests, which determines among how many threads they are shared.

A core runs vectors over data in its caches many times as fast as other code, so a loop over a few thousand elements
takes less time than to give half of it away: beside the fork, each cache line that one thread has read and the other
writes next must change hands.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from xdsl.dialects import memref
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation, SSAValue

from ...dialects.cost import F32_BYTES
from ...dialects.support.buffer_ops import byte_size
from ...dialects.support.llvm_layout import byte_width
from ..device.cpu import CPU
from .cost import body_cost, weight_of
from .loop_builder import buffer_of
from .nest import Nest
from .variation import loads_of, reads, reads_rows, varying

CACHED_BYTES = CPU.l2_bytes
"""Most bytes that a nest reads and writes without leaving the caches of a thread."""


def nest_work(nest: Nest) -> int:
    """
    Operations of a nest, in the time of operations as CPU.operations_per_ns counts them: its vectors over cached data
    are so much faster that they count as fewer than its body has.

    Each element is taken to be read once and written once. So all loops over the arrays of a program are shared or none
    is: those that copy, and those that read five arrays.
    """
    whole = math.prod(nest.sizes)
    work = whole * body_cost(nest)
    loop = next((l for l in reversed(nest.free) if _is_vector_loop(nest, l)), None)
    if loop is None or _footprint(nest) > CACHED_BYTES:
        return work
    arithmetic = sum(weight_of(op).loop for op in _computations(nest, loop)) * _widest(nest) / F32_BYTES
    computed = whole * arithmetic / CPU.vector_operations_per_ns
    return min(work, max(copy_work(whole * _widest(nest)), int(computed * CPU.operations_per_ns)))


def copy_work(size: int) -> int:
    """The same for `size` cached bytes that are read once and written once."""
    return 2 * size * CPU.operations_per_ns // CPU.cached_bytes_per_ns


def _is_vector_loop(nest: Nest, loop: int) -> bool:
    """Whether a loop fills vectors whose elements are neighbours in memory, or all the same."""
    if nest.sizes[loop] * _widest(nest) * 8 < CPU.vector_bits:
        return False
    if any(access.strides[loop] not in (0, 1) for access in nest.accesses):
        return False
    return not loads_of(nest) or reads_rows(nest, loop)


def _computations(nest: Nest, loop: int) -> Iterator[Operation]:
    """The operations on the elements of a vector: what does not vary along the loop is computed once for all."""
    varies = varying(nest, loop)
    outer = () if nest.body is None else nest.body.ops
    for op in (inner for each in outer if reads(each, varies) for inner in each.walk()):
        if type(op) is not memref.LoadOp and not (op.results and type(op.results[0].type) is IndexType):
            yield op


def _footprint(nest: Nest) -> int:
    """Bytes of the elements that a nest reads and writes."""
    moving = ([l for l, step in enumerate(access.strides) if step] for access in nest.accesses)
    held = (nest.size_of(loops) * _width(access.root) for loops, access in zip(moving, nest.accesses, strict=True))
    return sum(held) + sum(byte_size(buffer_of(load.memref)) for load in loads_of(nest))


def _width(value: SSAValue) -> int:
    return byte_width(buffer_of(value).element_type)


def _widest(nest: Nest) -> int:
    return max(_width(access.root) for access in nest.accesses)
