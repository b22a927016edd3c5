"""The functions that a custom call names in `called_computations`, as regions of the operation that replaces it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, Region

from ..diagnostics import fail
from ..op import replace_op
from ..ops.control_flow import ReturnOp


def called_region(op: Operation, target: str, takes: Sequence[Attribute], what: str) -> Region:
    """
    A copy of the body of the one function that `op`, a call of `target`, names.

    Raises DiagnosticError if it names none, or one that does not take these types: that does not do `what`.
    """
    called = cast(Any, op.properties.get("called_computations"))
    names = [] if called is None else [name.root_reference.data for name in called.data]
    module = op.get_toplevel_object()
    functions = module.body.block.ops if isinstance(module, ModuleOp) else ()
    found = [f for f in functions if isinstance(f, func.FuncOp) and names == [f.sym_name.data] and not f.is_declaration]
    if not found:
        fail(op, f"calls '{target}', which needs one called computation to {what}; it has {names}")
    if [argument.type for argument in found[0].body.block.args] != list(takes):
        fail(op, f"calls '{target}' with the computation @{names[0]}, which does not {what}")
    region = found[0].body.clone()
    last = region.block.last_op
    if isinstance(last, func.ReturnOp):
        replace_op(last, [ReturnOp.create(operands=last.operands)], [])
    return region
