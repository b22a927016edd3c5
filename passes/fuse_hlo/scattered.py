"""
Let a scatter compute its indices and updates: the bins of a histogram, a constant that is added, rows of a table that
are summed, values that are widened first.

Results of elementwise operations, gathers and broadcasts that a scatter alone reads are never written then; the kernel
computes them where it combines an update (`lowering/convert_linalg_ext_to_scf/computed_inputs.py`).
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ...dialects.cost import ELEMENTARY
from ...dialects.support.creation import new_block
from ...dialects.support.editing import clone_op, erase_op
from ...hlo_dialect.op import CHEAP
from ...hlo_dialect.ops.control_flow import ReturnOp
from ...hlo_dialect.ops.fusion import FusionOp
from ...hlo_dialect.ops.movement import ReshapeOp
from ...hlo_dialect.types import shape_of
from ...lowering.loop_nests.cost import PARALLEL_WORK
from ...lowering.loop_nests.scatter_dimensions import UPDATES, ScatterDimensions
from .clusters import MAX_INPUTS, MAX_OPS
from .decisions import Decision, Verdict
from .epilogues import replace_results, taken_into
from .graph import LOOP_ROLES, bytes_of, role_of
from .packages import cost_of, reason_apart

if TYPE_CHECKING:
    from ...hlo_dialect.ops.scatter import ScatterOp

MOST_REPEATED = 4
"""Operations that each of several scatters does again sooner than it reads what they come to."""


def fuse_scattered(block: Block, given: Container[Operation]) -> Iterator[Decision]:
    """
    Merge each scatter in `block` with the loop fusions that compute its indices and updates, and nothing else.

    Fusions that the program was `given` with stay as they are. Returns a decision per result of such a fusion.
    """
    for op in list(block.ops):
        fusion, refused = op, set[FusionOp]()
        while isinstance(fusion, FusionOp) and fusion not in given and (scatter := _scatter_in(fusion)) is not None:
            made = next(_made_for(fusion, scatter, given, refused), None)
            if made is None:
                break
            reason = _reason_apart(made, scatter)
            yield from _decisions(made, scatter, reason)
            if reason is not None:
                refused.add(made.maker)
            else:
                fusion = _merged(made, fusion)


@dataclass(frozen=True)
class _Made:
    """A fusion whose results are a scatter's indices and updates."""

    maker: FusionOp
    reads: dict[int, tuple[int, ReshapeOp | None]]
    """Per operand of the scatter: the number of the result that it is, and the reshape that it is read through."""
    is_whole: bool
    """Whether nothing else reads the results."""

    @property
    def returned(self) -> list[SSAValue]:
        last = self.maker.body.block.last_op
        return [] if last is None else list(last.operands)

    @property
    def ops(self) -> list[Operation]:
        """The operations that compute the results."""
        return [op for op in self.maker.body.block.ops if not isinstance(op, ReturnOp)]

    @property
    def cost(self) -> int:
        """Operations for each element."""
        return sum(map(cost_of, self.ops))


def _scatter_in(fusion: FusionOp) -> ScatterOp | None:
    """The scatter of a fusion that returns its results and nothing else."""
    last = fusion.body.block.last_op
    scatter = last.operands[0].owner if fusion.kind.data == "custom" and last is not None and last.operands else None
    if not isinstance(scatter, Operation) or scatter.name != "hlo.scatter":  # few programs need the class
        return None
    return cast("ScatterOp", scatter) if last is not None and [*last.operands] == [*scatter.results] else None


def _made_for(
    fusion: FusionOp, scatter: ScatterOp, given: Container[Operation], refused: Container[Operation]
) -> Iterator[_Made]:
    """The fusions whose results a scatter can compute itself."""
    read: dict[SSAValue, int] = {}
    for number, operand in enumerate(scatter.operands):
        if number >= len(scatter.results) and isinstance(operand, BlockArgument) and operand.has_one_use():
            read[fusion.operands[operand.index]] = number
    written = {_root(fusion, operand) for operand in scatter.operands[: len(scatter.results)]}
    makers = dict.fromkeys(_without_reshape(value).owner for value in read)
    for maker in makers:
        if not isinstance(maker, FusionOp) or maker.kind.data != "loop" or maker in given or maker in refused:
            continue
        made = _made_by(maker, fusion, read)
        sizes = len({*maker.operands, *fusion.operands}), len(list(maker.body.block.ops)) + len(list(fusion.walk()))
        # A result that is combined in place cannot be read meanwhile.
        in_place = any(_without_reshape(value) in written for value in maker.operands)
        if made is not None and not in_place and sizes[0] <= MAX_INPUTS and sizes[1] <= MAX_OPS:
            yield made


def _made_by(maker: FusionOp, fusion: FusionOp, read: dict[SSAValue, int]) -> _Made | None:
    """
    How a scatter reads the results of a fusion; None if others read them, unless these are scatters, too, and it is
    cheap, or it is a constant.
    """
    reads: dict[int, tuple[int, ReshapeOp | None]] = {}
    others: list[Operation] = []
    for number, result in enumerate(maker.outs):
        for user, value, reshape in _users_of(result):
            if user is fusion and value in read and list(fusion.operands).count(value) == 1:
                reads[read[value]] = number, reshape
            else:
                others.append(user)
    ops = [op for op in maker.body.block.ops if not isinstance(op, ReturnOp)]
    roles = {role_of(op) for op in ops}
    if not reads or maker.parent is not fusion.parent or not roles <= {*LOOP_ROLES, "constant"}:
        return None
    if not all(reshape is None or _keeps_sides(reshape) for _, reshape in reads.values()):
        return None
    sizes = [sum(map(bytes_of, values)) for values in (maker.operands, maker.outs)]
    is_cheap = sum(map(cost_of, ops)) <= MOST_REPEATED and sizes[0] <= sizes[1]
    repeats = roles == {"constant"} or (is_cheap and all(_scatters(other) for other in others))
    return _Made(maker, reads, not others) if repeats or not others else None


def _users_of(result: SSAValue) -> Iterator[tuple[Operation, SSAValue, ReshapeOp | None]]:
    """The operations that read a result, the value that each reads, and a reshape between the two."""
    for use in result.uses:
        reshape = use.operation
        if isinstance(reshape, ReshapeOp):
            for other in reshape.result.uses:
                yield other.operation, reshape.result, reshape
        else:
            yield reshape, result, None


def _scatters(op: Operation) -> bool:
    return isinstance(op, FusionOp) and _scatter_in(op) is not None


def _keeps_sides(reshape: ReshapeOp) -> bool:
    """Whether a reshape only puts in dimensions of one element, or leaves such out."""
    before, after = ([size for size in shape_of(value) if size != 1] for value in (*reshape.operands, reshape.result))
    return before == after


def _without_reshape(value: SSAValue) -> SSAValue:
    while isinstance(value.owner, ReshapeOp):
        value = value.owner.operands[0]
    return value


def _root(fusion: FusionOp, value: SSAValue) -> SSAValue:
    """The value outside of a fusion that an argument is, or a reshape of it."""
    return _without_reshape(fusion.operands[value.index]) if isinstance(value, BlockArgument) else value


def _reason_apart(made: _Made, scatter: ScatterOp) -> str | None:
    """Why a scatter is not to compute what is made for it; None if nothing is against it."""
    for op in made.ops:
        reason = reason_apart(op, scatter)
        if reason is not None:
            return reason
    count = len(scatter.results)
    shape, updates = shape_of(scatter.operands[0]), shape_of(scatter.operands[count + 1])
    loops = ScatterDimensions(scatter.dims, shape, updates, scatter.is_unique)
    inner, cost = loops.innermost, made.cost
    if count in made.reads:  # the indices
        again = math.prod(updates[dim] for dim in loops.leading)
        if again > 1 and cost > CHEAP:
            return f"would be recomputed {again}x"
        if inner is not None and inner not in loops.batch and cost >= ELEMENTARY.hlo + updates[inner]:
            return "computing one index at a time takes longer than keeping them"
    divided = loops.cut is not None or math.prod(updates) >= 2 * UPDATES * math.prod(shape)
    if not divided and cost >= ELEMENTARY.hlo and cost * math.prod(updates) >= PARALLEL_WORK:
        return "several threads compute it, and one combines the updates"
    return None


def _decisions(made: _Made, scatter: ScatterOp, reason: str | None) -> Iterator[Decision]:
    for number in dict.fromkeys(number for number, _ in made.reads.values()):
        node = made.returned[number].owner
        if not isinstance(node, Operation):
            continue
        if reason is not None:
            yield Decision(Verdict.APART, node, scatter, reason=reason)
        else:
            saved = bytes_of(made.maker.outs[number]) * (1 + made.is_whole)
            yield Decision(Verdict.FUSED if made.is_whole else Verdict.REPEATED, node, scatter, "custom", saved)


def _merged(made: _Made, fusion: FusionOp) -> FusionOp:
    """Replace the fusion of a scatter by one that computes what was made for it, too."""
    maker, scatter = made.maker, _scatter_in(fusion)
    assert scatter is not None
    read: dict[SSAValue, tuple[int, ReshapeOp | None]] = {}
    for operand, found in made.reads.items():
        argument = scatter.operands[operand]
        assert isinstance(argument, BlockArgument)
        read[fusion.operands[argument.index]] = found
    # The scatter's own operands come first: results may be written over them.
    inputs = [value for value in dict.fromkeys([*fusion.operands, *maker.operands]) if value not in read]
    block = new_block([value.type for value in inputs])
    local: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=True))
    for value, argument in local.items():
        argument.name_hint = value.name_hint
    results = taken_into(block, maker, local, copies=not made.is_whole)
    for value, (number, reshape) in read.items():
        local[value] = results[number]
        if reshape is not None:
            inside = clone_op(reshape, {reshape.operands[0]: results[number]})
            block.add_op(inside)
            local[value] = inside.results[0]
    returned = taken_into(block, fusion, local)
    merged = replace_results(fusion.outs, fusion, inputs, block, returned, {"kind": StringAttr("custom")})
    erase_op(fusion)
    for reshape in dict.fromkeys(reshape for _, reshape in read.values()):
        if reshape is not None and reshape.result.first_use is None:
            erase_op(reshape)
    if made.is_whole:
        erase_op(maker)
    return merged
