"""
Reductions in two launches: the first writes the results of parts of rows to global memory, the second combines them.

The second launch is a chain of its own, with the same rows and with the parts as the loop inside them. It includes the
steps that use the results.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from xdsl.dialects.linalg.ops import YieldOp
from xdsl.ir import Block, SSAValue

from ....dialects.support.buffers import Buffer, memref_type, row_major
from ...loop_nests.nest import Access, Nest
from .chain import Chain, Step


def partial_types(chain: Chain, parts: int) -> list[Buffer]:
    """The buffers for the results of `parts` parts of each row, by reduction and output."""
    count = math.prod(chain.rows) * parts
    return [memref_type((count,), type_) for part in chain.joint.parts for type_ in part.states]


def second_stage(chain: Chain, partial: Sequence[SSAValue], parts: int, parts_inside: bool) -> Chain:
    """
    The chain that reduces the partial results, which are in buffers of `partial_types`.

    `parts_inside`: the parts of one row are adjacent; otherwise the rows of one part are.
    """
    rows = math.prod(chain.rows)
    row_step, part_step = (parts, 1) if parts_inside else (1, rows)
    strides = (*(stride * row_step for stride in row_major(chain.rows)), part_step)
    buffers = iter(partial)
    steps = [_combining(step, chain, parts, strides, buffers) if step.reduces else step for step in chain.steps]
    return Chain(chain.rows, (parts,), tuple(steps))


def _combining(step: Step, chain: Chain, parts: int, strides: tuple[int, ...], buffers: Iterator[SSAValue]) -> Step:
    """The reduction of a reduction's partial results, which become its elements."""
    assert step.combination is not None
    states, types = step.combination.states, step.combination.types
    body = Block(arg_types=[*states, *types])
    body.add_op(YieldOp(*body.args[: len(states)]))
    rows = len(chain.rows)
    nest = Nest(
        step.nest.op,
        (*chain.rows, parts),
        (*(False for _ in chain.rows), True),
        tuple(Access(next(buffers), 0, (), strides) for _ in states),
        tuple(replace(x, strides=(*x.strides[:rows], 0)) for x in step.nest.outputs),
        body,
    )
    return replace(step, nest=nest, sources={}, level=0)
