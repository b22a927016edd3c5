"""Group operations that can run as one kernel into one hlo.fusion, and explain each decision."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast, get_args

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...dialects.support.attributes import integer_attr
from ...dialects.support.creation import append, create_op, new_block
from ...dialects.support.editing import clone_op, detach_op, erase_op, insert_before, set_operands
from ...dialects.support.kernel import IN_BOUNDS, MOST_TRIPS, TRIP_COUNT, UNREAD, host_functions
from ...hlo_dialect.diagnostics import engine_of
from ...hlo_dialect.hlo_pass import HloPass
from ...hlo_dialect.op import is_elementwise
from ...hlo_dialect.ops.contraction import DotGeneralOp
from ...hlo_dialect.ops.control_flow import OptimizationBarrierOp, ReturnOp, WhileOp
from ...hlo_dialect.ops.creation import ConstantOp, is_splat_op
from ...hlo_dialect.ops.fusion import FusionKind, FusionOp, in_fusion
from ...hlo_dialect.ops.movement import BroadcastInDimOp, ReshapeOp
from ...hlo_dialect.ops.slicing import ConcatenateOp
from ...hlo_dialect.types import i64
from ...hlo_dialect.walking import operations_in
from .clusters import MAX_LOOP_OPS
from .decisions import Decision
from .epilogues import fuse_epilogues
from .factors import fuse_factors
from .graph import bytes_of
from .plan import Step, plan_block

if TYPE_CHECKING:
    from ...hlo_dialect.loops import Loop
    from ...hlo_dialect.ops.dynamic import DynamicSliceOp, DynamicUpdateSliceOp

_KINDS: dict[str, StringAttr] = {kind: StringAttr(kind) for kind in get_args(FusionKind)}


@dataclass(frozen=True)
class FuseHloPass(HloPass):
    """
    Partition every block into fusions that save memory traffic.

    Before: `%0 = hlo.multiply %x, %x`, `%1 = hlo.add %0, %y`
    After:  `%1 = hlo.fusion loop (%a = %x : .., %b = %y : ..) -> .. { multiply, add }`
    Assumes: the level after simplify-hlo: no tuples, no complex numbers, functions of one block.
    Leaves: every computing operation in a fusion; outside them constants, reshapes, control flow and calls.
            Fusions that the program has already stay as they are.

    strategy=none makes each operation a fusion of its own. Elementwise operations are fused into the matrix product or
    convolution that they follow, with the transpose that puts a convolution's features first, the zeros around its
    input into a convolution, as well as what comes before and after one of small images at other indices, and the
    conversion of a narrow factor, the slice of stacked ones, and the sums of a factor's columns, or the result's, into
    a product, sums of the columns of all rows into a row fusion; values that large products alone read are computed
    while they pack them, where that moves fewer bytes, and what a scatter alone reads while it combines its updates;
    epilogues=dots, or none, is for targets whose kernels apply
    elementwise operations to matrix products only, or to nothing. Products of rows are part of row fusions, by factors
    that a kernel packs, which may be slices, with the transposes and concatenations of their results, or by factors
    whose tiles it streams, which is for GPUs; row-products=none is for targets whose row kernels cannot multiply.
    Concatenations of rows of one tensor, such as rotated ones, that elements are computed of become gathers, which
    loops take in, and those of a long part and a few elements of each row selections. Elementwise operations that
    alone read a concatenation of long parts are computed of the parts, and those that read a value with its dimensions
    joined before they are joined. Broadcasts before a loop are repeated where it computes elements of them.

    A loop or reduction of more than most-ops operations is cut where the fewest bytes cross from one part to the next.
    """

    name = "fuse-hlo"
    works_on_functions = True
    illegal = ("hlo.optimization_barrier",)

    strategy: Literal["default", "none"] = "default"
    epilogues: Literal["none", "dots", "all"] = "all"
    row_products: Literal["none", "packed", "streamed"] = "packed"
    most_ops: int = MAX_LOOP_OPS

    def __post_init__(self) -> None:
        if self.most_ops < 1:
            raise ValueError(f"a fusion has at least one operation, not {self.most_ops}")

    def _joined(self, block: Block, given: Container[Operation]) -> Iterator[Decision]:
        """Merge fusions around products and convolutions."""
        if self.epilogues == "none" or self.strategy != "default":
            return
        kinds = {op.kind.data for op in block.ops if isinstance(op, FusionOp)}
        products = self.epilogues == "all" and bool(kinds & {"dot", "custom"})
        # Only programs with products or windows import what is done around them.
        if products:
            from .padding import fuse_padding

            yield from fuse_padding(block, given)
        if self.epilogues == "all":
            yield from fuse_factors(block, given)
            if _has_products(block):
                from .row_prefixes import split_row_prefixes

                yield from split_row_prefixes(block, given)
        yield from fuse_epilogues(block, given, self.epilogues == "all")
        if products:
            from .factor_sums import fuse_factor_sums
            from .images import fuse_images

            yield from fuse_images(block, given)
            yield from fuse_factor_sums(block, given)
        if self.epilogues == "all":
            kinds = {op.kind.data for op in block.ops if isinstance(op, FusionOp)}
            if "reduce" in kinds and kinds & {"dot", "custom"}:
                # Most first programs have no such sums.
                from .result_sums import fuse_result_sums

                yield from fuse_result_sums(block, given)
            if _has_products(block):
                from .computed_factors import fuse_computed_factors

                yield from fuse_computed_factors(block, given)
            if kinds >= {"reduce", "row"}:
                from .column_sums import fuse_column_sums

                yield from fuse_column_sums(block, given)
            if _has_scatters(block):
                from .scattered import fuse_scattered

                yield from fuse_scattered(block, given)
        if self.row_products == "packed" and _has_row_products(block):
            from .row_views import fuse_row_views

            yield from fuse_row_views(block, given)

    def run(self, ctx: Context, module: ModuleOp) -> None:
        engine = engine_of(ctx)
        for function in host_functions(module):
            mark_bounded(function)
            pending = list(function.body.blocks)
            while pending:
                block = pending.pop(0)
                sink_values(block)
                prepare_loops(block)
                if self.strategy == "default" and any(isinstance(op, ConcatenateOp) for op in block.ops):
                    from .parts import compute_in_parts  # few programs concatenate
                    from .rolls import gather_rolled_rows
                    from .shifts import select_shifted_elements

                    gather_rolled_rows(block)
                    compute_in_parts(block)
                    select_shifted_elements(block)
                if self.strategy == "default" and any(isinstance(op, ReshapeOp) for op in block.ops):
                    from .reshapes import compute_before_joining

                    compute_before_joining(block)
                plan = plan_block(
                    block, self.strategy, self.row_products, self.epilogues == "all", self.most_ops, engine.remarks
                )
                if plan.unknown:
                    raise self.unsupported(plan.unknown[0])
                given = {op for op in block.ops if type(op) is FusionOp}
                pending[:0] = Rewriter(block, plan.steps).run()
                revised = {decision.node: decision for decision in self._joined(block, given)}
                final = [revised.get(decision.node, decision) for decision in plan.decisions]
                for decision in dict.fromkeys((*final, *revised.values())) if engine.remarks else ():
                    engine.emit(decision.remark())


def mark_bounded(function: Operation) -> None:
    """
    State which slices need no clamping, and how often loops of no known number of iterations run at most: kernels do
    not know what a loop counts, nor loops what one around them does.
    """
    for op in operations_in(function):
        if op.name not in ("hlo.dynamic_slice", "hlo.dynamic_update_slice", "hlo.while"):
            continue
        from ...hlo_dialect.loops.bounds import is_in_bounds, most_trips  # not every program has these

        if isinstance(op, WhileOp):
            most = most_trips(op) if _facts_of(op).trip_count is None else None
            if most is not None and not in_fusion(op):
                op.attributes[MOST_TRIPS] = integer_attr(most)
        elif is_in_bounds(cast("DynamicSliceOp | DynamicUpdateSliceOp", op)):
            op.attributes[IN_BOUNDS] = UnitAttr()


def _has_products(block: Block) -> bool:
    return any(isinstance(op, FusionOp) and op.kind.data == "dot" for op in block.ops)


def _has_scatters(block: Block) -> bool:
    custom = (op for op in block.ops if isinstance(op, FusionOp) and op.kind.data == "custom")
    return any(inner.name == "hlo.scatter" for op in custom for inner in op.body.block.ops)


def _has_row_products(block: Block) -> bool:
    rows = (op for op in block.ops if isinstance(op, FusionOp) and op.kind.data == "row")
    return any(isinstance(inner, DotGeneralOp) for op in rows for inner in op.body.block.ops)


def sink_values(block: Block) -> None:
    """
    Clone splat constants into the regions that use them, so that fusions there see them as constants, and broadcasts of
    which elements are computed there: these would be written before a loop, and read by each of its iterations.
    """
    for op in list(block.ops):
        if not op.regions or isinstance(op, FusionOp):
            continue
        for region in op.regions:
            for inner in region.blocks:
                _sink_into(block, inner)


FILLED_BYTES = 4096
"""Bytes of a tensor whose copy takes longer than starting a kernel."""


def prepare_loops(block: Block) -> None:
    """
    State how often loops run, and give each large state that begins as a splat a constant of its own.

    Filling one moves less than copying one; a constant that the loop writes over without reading it is not filled.
    """
    for op in list(block.ops):
        if type(op) is not WhileOp:
            continue
        loop = _facts_of(op)
        if loop.trip_count is not None:
            op.attributes[TRIP_COUNT] = integer_attr(loop.trip_count)
        for index, value in enumerate(op.operands):
            owner = value.owner
            if not isinstance(owner, ConstantOp) or owner.parent is not block:
                continue
            if not is_splat_op(owner):
                continue
            unread = loop.writes_all(index)
            if not unread and (value.has_one_use() or bytes_of(value) < FILLED_BYTES):
                continue
            clone = owner.clone()
            if unread:
                clone.attributes[UNREAD] = UnitAttr()
            insert_before(clone, op)
            op.operands[index] = clone.results[0]


def _facts_of(op: WhileOp) -> Loop:
    # Only programs with loops import what is known about loops.
    from ...hlo_dialect.loops import Loop

    return Loop(op)


def _sink_into(block: Block, inner: Block) -> None:
    clones: dict[SSAValue, SSAValue] = {}
    for op in list(inner.walk()):
        for index, value in enumerate(op.operands):
            owner = value.owner
            if not isinstance(owner, Operation) or owner.parent is not block or not _sinks(owner, op):
                continue
            if value not in clones:
                clone = owner.clone()
                first = inner.first_op
                assert first is not None
                insert_before(clone, first)
                clones[value] = clone.results[0]
            op.operands[index] = clones[value]


def _sinks(owner: Operation, user: Operation) -> bool:
    if isinstance(owner, ConstantOp):
        return is_splat_op(owner)
    return isinstance(owner, BroadcastInDimOp) and is_elementwise(user)


class Rewriter:
    """Rebuilds a block from the steps of its plan."""

    def __init__(self, block: Block, steps: Sequence[Step]):
        self.block = block
        self.steps = steps
        self.outside: dict[SSAValue, SSAValue] = {}
        """The replacements of the original values outside the fusions."""
        self.originals = {op: tuple(op.operands) for op in block.ops}

    def run(self) -> list[Block]:
        """Rewrite the block. Returns the blocks of its control flow, which are still to be planned."""
        kept: set[Operation] = set()
        inner: list[Block] = []
        terminator = self.block.last_op
        assert terminator is not None
        for step in self.steps:
            if step.kind == "host":
                op = step.ops[0]
                self._redirect(op)
                if isinstance(op, OptimizationBarrierOp):
                    self.outside.update(zip(op.results, tuple(op.operands), strict=True))
                    continue
                if not isinstance(op, FusionOp):
                    inner += [block for region in op.regions for block in region.blocks]
            else:
                kept.update(step.moved)
                op = self._fusion(step)
            kept.add(op)
            if op is not terminator:
                if op.parent is not None:
                    op.detach()
                insert_before(op, terminator)
        self._erase_rest(kept)
        return inner

    def _redirect(self, op: Operation) -> None:
        outside = self.outside
        for each in op.walk() if op.regions else (op,):
            if any(value in outside for value in each.operands):
                each.operands = [outside.get(value, value) for value in each.operands]

    def _fusion(self, step: Step) -> FusionOp:
        block = new_block([value.type for value in step.inputs])
        local: dict[SSAValue, SSAValue] = dict(zip(step.inputs, block.args, strict=True))
        for value, argument in zip(step.inputs, block.args, strict=True):
            argument.name_hint = value.name_hint
        for op in step.ops:
            operands = [self._inside(value, local, block) for value in self.originals[op]]
            if op in step.moved:
                detach_op(op)
                set_operands(op, operands)
                placed = op
            else:
                placed = clone_op(op, local, operands)
            append(block, placed)
        returned = [local.get(value, value) for value in step.outputs]
        location = step.ops[-1].location
        append(block, create_op(ReturnOp, operands=returned, location=location))
        properties: dict[str, Attribute] = {"kind": _KINDS[step.kind]}
        if step.kind == "row":
            properties["row_dims"] = integer_attr(step.row_dims, i64)
        fusion = create_op(
            FusionOp,
            operands=[self.outside.get(value, value) for value in step.inputs],
            result_types=[value.type for value in step.outputs],
            properties=properties,
            regions=[Region([block])],
            location=location,
        )
        for value, result in zip(step.outputs, fusion.results, strict=True):
            self.outside[value] = result
            result.name_hint = value.name_hint
        return fusion

    def _inside(self, value: SSAValue, local: dict[SSAValue, SSAValue], block: Block) -> SSAValue:
        """
        The value inside the fusion that replaces an original one; a splat constant is cloned into it at its first use.
        """
        owner = value.owner
        if value not in local and is_splat_op(owner):
            append(block, clone_op(cast(Operation, owner), local))
        return local.get(value, value)

    def _erase_rest(self, kept: set[Operation]) -> None:
        for op in reversed(list(self.block.ops)):
            if op not in kept:
                erase_op(op)
