"""
Combine one partial result per thread over a group: shuffles within warps, shared memory between them.

The order depends on the thread numbers only. Every thread gets the same bits: lanes exchange values pairwise, and the
combination is commutative.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ...loop_nests.combination import Combination, Joint
from ...loop_nests.kernel_builder import Index
from ..threads.builder import GpuBuilder


def power_of_two_from(count: int) -> int:
    """The least power of two that is at least `count`."""
    return 1 << (count - 1).bit_length()


def tree(builder: GpuBuilder, how: Combination | Joint, values: Sequence[list[SSAValue]]) -> list[SSAValue]:
    """Combine partial results pairwise."""
    values = list(values)
    while len(values) > 1:
        half = (len(values) + 1) // 2
        pairs = [how.combine(builder, a, b) for a, b in zip(values[:half], values[half:], strict=False)]
        values = pairs + values[len(pairs) : half]
    return values[0]


def combine_lanes(
    builder: GpuBuilder, how: Joint, values: Sequence[SSAValue], width: int, least: int = 1
) -> list[SSAValue]:
    """
    Combine over the lanes whose numbers differ in the bits from `least` to below `width`; both powers of two.

    All lanes get the result.
    """
    values = list(values)
    offset = width // 2
    while offset >= least:
        values = how.combine(builder, values, [builder.shuffle("xor", value, offset) for value in values])
        offset //= 2
    return values


def combine_group(builder: GpuBuilder, how: Joint, values: Sequence[SSAValue], threads: int) -> list[SSAValue]:
    """
    Combine over groups of `threads` neighbouring threads; all of them get the result.

    Up to a warp, `threads` is a power of two; otherwise it is a multiple of a warp and the group is the whole block,
    all of whose threads must reach this point.
    """
    size = builder.warp
    if threads <= size:
        return combine_lanes(builder, how, values, threads)
    values = combine_lanes(builder, how, values, size)
    warps = threads // size
    width = power_of_two_from(warps)
    lane, warp = builder.thread_id() % size, builder.thread_id() // size
    shared = [builder.shared((warps,), value.type) for value in values]
    with builder.when(builder.index(lane).compare("eq", 0)):
        for value, buffer in zip(values, shared, strict=True):
            builder.store(value, buffer, [warp])
    builder.barrier()
    number = lane % width
    place: Index = number if width == warps else builder.min(number, warps - 1)
    partial = [builder.load(buffer, [place]) for buffer in shared]
    if width != warps:
        filled = builder.index(number).below(warps)
        pairs = zip(partial, how.neutral(builder), strict=True)
        partial = [filled.select(x, neutral).value for x, neutral in pairs]
    return combine_lanes(builder, how, partial, width)
