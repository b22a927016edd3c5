"""
Parts of a result that a kernel would copy from the argument that it is written over: the border of an updated grid.

They are in place already if every call gives one buffer for both.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp, YieldOp
from xdsl.ir import BlockArgument, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ...dialects.support.editing import erase_op
from ...lowering.loop_nests.index_maps import without_part
from .kernel_calls import arguments_of


def erase_unchanged_parts(module: ModuleOp, functions: Sequence[func.FuncOp]) -> None:
    """Erase the copies of these kernels whose source and target are the same elements in every call."""
    calls = arguments_of({function.sym_name.data for function in functions}, module)
    for function in functions:
        if given := calls.get(function.sym_name.data):
            _erase_in(function, given)


def _erase_in(function: func.FuncOp, calls: Sequence[Sequence[SSAValue]]) -> None:
    for op in list(function.body.block.ops):
        if isinstance(op, GenericOp) and (pair := _unchanged(op)) is not None:
            source, target = pair
            if all(given[source.index] is given[target.index] for given in calls):
                view = op.operands[-1].owner
                erase_op(op)
                if isinstance(view, memref.SubviewOp) and view.result.first_use is None:
                    erase_op(view)


def _unchanged(op: GenericOp) -> tuple[BlockArgument, BlockArgument] | None:
    """The argument and the result of which an operation copies a part to the same place; None if it does not."""
    if len(op.operands) != 2 or len(op.inputs) != 1:
        return None
    (yielded,), (source, target) = op.body.blocks, op.operands
    last = yielded.first_op
    if not isinstance(last, YieldOp) or last.operands[0] is not yielded.args[0]:
        return None
    read, written = (attribute.data for attribute in op.indexing_maps.data)
    view = target.owner
    if not isinstance(view, memref.SubviewOp) or view.offsets:
        return None
    if not isinstance(source, BlockArgument) or not isinstance(view.source, BlockArgument):
        return None
    begins, steps = view.static_offsets.get_values(), view.static_strides.get_values()
    if any(step != 1 for step in steps) or written != AffineMap.identity(len(begins)):
        return None
    own = [AffineExpr.dimension(dim) + at if at else AffineExpr.dimension(dim) for dim, at in enumerate(begins)]
    return (source, view.source) if list(map(without_part, read.results)) == own else None
