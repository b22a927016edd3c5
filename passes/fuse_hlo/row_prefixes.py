"""
Let a product write the rows that a row fusion begins with: the sum of a residual, before it is normalized.

Where a row fusion adds a residual and a bias to a product, and returns the sum, the product can add them in its
write-back instead. The sum is then written once and read once; the product itself never goes to memory.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from ...dialects.support.creation import append, create_op, new_block
from ...dialects.support.editing import clone_op, erase_op, insert_before, replace_uses
from ...hlo_dialect.ops.control_flow import ReturnOp
from ...hlo_dialect.ops.fusion import FusionOp
from ...hlo_dialect.types import shape_of
from .clusters import MAX_INPUTS, MAX_OPS
from .computed_factors import drop_unread, sources_of, without
from .decisions import Decision, Verdict
from .epilogues import product_in
from .graph import bytes_of


def split_row_prefixes(block: Block, given: Container[Operation]) -> Iterator[Decision]:
    """
    Make loop fusions of what row fusions in `block` apply to products before all else, if they return it; these are
    the products' epilogues.

    Fusions that the program was `given` with stay as they are. Returns a decision per prefix.
    """
    for op in list(block.ops):
        if not isinstance(op, FusionOp) or op in given or op.kind.data != "row":
            continue
        prefixes = (_prefix_of(op, number, given) for number in range(len(op.outs)))
        prefix = next((each for each in prefixes if each is not None), None)
        if prefix is not None:
            yield Decision(Verdict.FUSED, prefix.ops[-1], prefix.product, "dot", bytes_of(op.outs[prefix.number]))
            _split(op, prefix)


@dataclass(frozen=True)
class _Prefix:
    """A result of a row fusion that follows elementwise from a product and other operands."""

    number: int
    """That of the result."""
    ops: tuple[Operation, ...]
    sources: tuple[BlockArgument, ...]
    product: Operation


def _prefix_of(rows: FusionOp, number: int, given: Container[Operation]) -> _Prefix | None:
    """The prefix that makes a result, if the product and all as large are read for it alone; None if it is none."""
    found = sources_of(rows, number)
    if found is None:
        return None
    ops, sources = found
    result = rows.outs[number]
    arguments = tuple(each for each in sources if isinstance(each, BlockArgument))
    large = [each for each in arguments if shape_of(each) == shape_of(result)]
    products = [
        product for each in large if (product := _product_of(rows.operands[each.index], rows, given)) is not None
    ]
    if len(arguments) != len(sources) or len(products) != 1:
        return None
    inside = {*ops}
    made: tuple[SSAValue, ...] = tuple(value for op in ops[:-1] for value in op.results if op.operands)
    if any(use.operation not in inside for value in (*large, *made) for use in value.uses):
        return None
    fusion, product = products[0]
    if len(arguments) + len(fusion.operands) - 1 > MAX_INPUTS or len(ops) + len(list(fusion.body.block.ops)) > MAX_OPS:
        return None
    return _Prefix(number, ops, arguments, product)


def _product_of(value: SSAValue, rows: FusionOp, given: Container[Operation]) -> tuple[FusionOp, Operation] | None:
    """The fusion of a product that is the value, and that the row fusion alone reads, and the product."""
    fusion = value.owner
    if not isinstance(fusion, FusionOp) or fusion in given or fusion.parent is not rows.parent:
        return None
    product = product_in(fusion, convolutions=False)
    alone = len(fusion.outs) == 1 and value.has_one_use()
    return None if product is None or not alone or fusion.kind.data != "dot" else (fusion, product)


def _split(rows: FusionOp, prefix: _Prefix) -> None:
    """Compute the prefix in a loop fusion of its own, whose result the row fusion reads."""
    block = new_block([each.type for each in prefix.sources])
    local: dict[SSAValue, SSAValue] = dict(zip(prefix.sources, block.args, strict=True))
    for old, new in zip(prefix.sources, block.args, strict=True):
        new.name_hint = old.name_hint
    for op in prefix.ops:
        append(block, clone_op(op, local))
    (made,) = prefix.ops[-1].results
    append(block, create_op(ReturnOp, operands=[local[made]], location=prefix.ops[-1].location))
    loop = create_op(
        FusionOp,
        operands=[rows.operands[each.index] for each in prefix.sources],
        result_types=[made.type],
        properties={"kind": StringAttr("loop")},
        regions=[Region([block])],
        location=prefix.ops[-1].location,
    )
    loop.outs[0].name_hint = rows.outs[prefix.number].name_hint
    insert_before(loop, rows)
    rest, _ = without(rows, prefix.number, (), [loop.outs[0]])
    replace_uses(made, rest.body.block.args[-1])
    kept = [out for number, out in enumerate(rows.outs) if number != prefix.number]
    for old, new in zip((*kept, rows.outs[prefix.number]), (*rest.outs, loop.outs[0]), strict=True):
        new.name_hint = old.name_hint
        replace_uses(old, new)
    erase_op(rows)
    drop_unread(rest)
