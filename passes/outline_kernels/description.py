"""
The attribute `xhlo.program`: what a program takes and returns, and its kernels.

Lower levels do not state it: there types have no signs, complex numbers are pairs, and results are parameters. From it
compiled code is called right, whichever level its text comes from.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.ir import Attribute, Operation

from ...dialects.support import kernel as attributes
from ...dialects.support.attributes import integer_attr, symbol
from ...dialects.support.shared_names import LINKED, ROUTINE
from ...hlo_dialect.custom_calls.call import describe_call
from ...hlo_dialect.custom_calls.operations import CustomCallOp
from ...hlo_dialect.custom_calls.registry import target_of
from ...hlo_dialect.entry import entry_tensors, find_entry
from ...hlo_dialect.op import is_hlo
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import element_of, is_float, numpy_dtype, shape_of
from ...hlo_dialect.walking import operations_in

if TYPE_CHECKING:
    from ...hlo_dialect.ops.dynamic import DynamicUpdateSliceOp
    from ...hlo_dialect.ops.scatter import ScatterOp


def function_of(call: CustomCallOp) -> str:
    """The target of a call; of one that compiled code makes by itself, that of LAPACK."""
    return str(describe_call(call).attributes[ROUTINE]) if call.target == LINKED else call.target


def describe_program(module: ModuleOp) -> DictionaryAttr | None:
    """The value of `xhlo.program` for a module of kernels that hold hlo operations; None without an entry."""
    entry = find_entry(module)
    if entry is None:
        return None
    inputs, outputs = entry_tensors(entry)
    return DictionaryAttr(
        {
            "entry": SymbolRefAttr(entry.sym_name),
            "inputs": ArrayAttr(inputs),
            "outputs": ArrayAttr(outputs),
            "kernels": ArrayAttr(_kernels(module)),
        }
    )


_MOST = (1 << 63) - 1


def _kernels(module: ModuleOp) -> Iterable[DictionaryAttr]:
    sites: Counter[str] = Counter(
        op.callee.root_reference.data for op in operations_in(module) if type(op) is func.CallOp
    )
    for function in attributes.kernels_of(module):
        ops = [op for op in function.body.block.ops if op.name not in ("hlo.constant", "func.return")]
        call = next((op for op in ops if type(op) is CustomCallOp and not target_of(op).loops), None)
        library = "" if call is None else target_of(call).library
        kind = attributes.Kernel(function).kind if call is None else "library" if library else "callback"
        facts: dict[str, str | int] = {
            "kind": kind,
            "ops": len(ops),
            "bytes": bytes_of(function),
            "flops": sum(flops_of(op) for op in ops),
            "sites": sites[function.sym_name.data],
        }
        if call is not None:
            facts |= {"target": function_of(call), "library": library}
        entries = {name: _attribute(value) for name, value in facts.items()}
        yield DictionaryAttr({"name": symbol(function.sym_name.data), **entries})


def _attribute(value: str | int) -> Attribute:
    """
    A count that exceeds i64 is its largest value, one of unknown sizes (negative) is 0: later passes refuse tensors of
    such sizes and name one.
    """
    return StringAttr(value) if isinstance(value, str) else integer_attr(max(0, min(value, _MOST)))


def bytes_of(function: func.FuncOp) -> int:
    """
    The bytes that one call of a kernel moves at least: each argument once, or what operations take out of it, and each
    result once, or what is written of one that updates an argument in place.
    """
    tied = attributes.Kernel(function).tied
    last = function.body.block.last_op
    total = 0
    for argument in function.body.block.args:
        users = [use.operation for use in argument.uses]
        whole = tensor_bytes(argument.type)
        if users and all(op.name in _SLICING and op.operands[0] is argument for op in users):
            whole = min(whole, sum(tensor_bytes(op.results[0].type) for op in users))
        elif argument.index in tied and all(op.name in _UPDATING for op in users):
            continue
        total += whole
    for index, value in enumerate(() if last is None else last.operands):
        name = value.owner.name if index < len(tied) and isinstance(value.owner, Operation) else ""
        if name == "hlo.scatter":
            # It reads what it combines with.
            total += 2 * tensor_bytes(cast("ScatterOp", value.owner).updates[index].type)
        elif name == "hlo.dynamic_update_slice":
            total += tensor_bytes(cast("DynamicUpdateSliceOp", value.owner).update.type)
        else:
            total += tensor_bytes(value.type)
    return total


_SLICING = ("hlo.slice", "hlo.dynamic_slice", "hlo.gather")
_UPDATING = ("hlo.dynamic_update_slice", "hlo.scatter")


def tensor_bytes(type_: Attribute) -> int:
    """Bytes of a tensor; 0 if NumPy lacks the element type, or a size is unknown."""
    dtype = numpy_dtype(element_of(type_))
    return 0 if dtype is None or not is_static(shape_of(type_)) else math.prod(shape_of(type_)) * dtype.itemsize


def flops_of(op: Operation) -> int:
    """Floating-point operations of one hlo operation, an elementary function counted as one."""
    if not is_hlo(op) or not op.results or not is_float(element_of(op.results[0])):
        return 0
    return op.flops()
