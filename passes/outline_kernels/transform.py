"""Every fusion becomes a private function; equal fusions share one; the module describes its program."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable
from typing import cast

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from ...dialects.support.attributes import AttributeNumbers, call_op, function_op, return_op
from ...dialects.support.editing import erase_op, insert_before
from ...dialects.support.kernel import PROGRAM, Kernel
from ...hlo_dialect.custom_calls.operations import CustomCallOp
from ...hlo_dialect.hlo_pass import HloPass
from ...hlo_dialect.op import replace_op
from ...hlo_dialect.ops.fusion import FusionOp
from ...hlo_dialect.walking import operations_in, structure
from .description import describe_program, function_of

_PREFIXES = {"loop": "loop_fusion", "reduce": "reduce_fusion", "row": "row_fusion"}


class OutlineKernelsPass(HloPass):
    """
    Outline each hlo.fusion into a private function, one per distinct body.

    Before: `%r = hlo.fusion loop (%a = %x : ..) -> .. {..}`
    After:  `%r = func.call @loop_fusion_0(%x)` and `func.func private @loop_fusion_0` with hlo.kernel = "loop"
    Assumes: fusions are isolated from above.
    Leaves: no hlo.fusion; the attribute xhlo.program.
    """

    name = "outline-kernels"
    illegal = ("hlo.fusion",)

    def run(self, ctx: Context, module: ModuleOp) -> None:
        taken = {op.sym_name.data for op in module.body.block.ops if isinstance(op, func.FuncOp)}
        counts: Counter[str] = Counter()
        known: dict[Hashable, list[str]] = {}
        number = AttributeNumbers()
        for op in operations_in(module):
            if type(op) is not FusionOp:
                continue
            key = (op.kind, op.row_dims, structure(op.body, number))
            # One search: the key is as long as the body.
            found = known.setdefault(key, [])
            if not found:
                found.append(_fresh_name(_prefix(op), counts, taken))
                module.body.block.add_op(_function(found[0], op))
            call = call_op(found[0], op.operands, op.result_types)
            replace_op(op, [call], list(call.results))
        if PROGRAM not in module.attributes and (described := describe_program(module)) is not None:
            module.attributes[PROGRAM] = described


def _prefix(op: FusionOp) -> str:
    """The prefix of a kernel's name: its kind, or the target that it calls."""
    for inner in op.body.block.ops:
        if type(inner) is CustomCallOp:
            return "call_" + re.sub(r"[^A-Za-z0-9_.]", "_", function_of(inner))
    return _PREFIXES.get(op.kind.data, op.kind.data)


def _fresh_name(prefix: str, counts: Counter[str], taken: set[str]) -> str:
    while True:
        name = f"{prefix}_{counts[prefix]}"
        counts[prefix] += 1
        if name not in taken:
            taken.add(name)
            return name


def _function(name: str, op: FusionOp) -> func.FuncOp:
    region = op.detach_region(op.body)
    terminator = cast(Operation, region.block.last_op)
    returned = return_op(terminator.operands)
    block: Block = region.block
    insert_before(returned, terminator)
    erase_op(terminator)
    function = function_op(name, block.arg_types, op.result_types, region)
    function.location = op.location
    tied = (0,) if op.kind.data == "update" else _updated_arguments(block, returned)
    Kernel.mark(function, op.kind, op.row_count, tied)
    return function


def _updated_arguments(block: Block, returned: func.ReturnOp) -> tuple[int, ...]:
    """The arguments whose buffers a scatter or sort may reuse for its results: those that nothing else reads."""
    root = returned.operands[0].owner if returned.operands else None
    if not isinstance(root, Operation) or root.name not in ("hlo.scatter", "hlo.sort"):
        return ()
    if tuple(returned.operands) != tuple(root.results):
        return ()
    values = root.operands[: len(root.results)]
    plain = all(
        value.owner is block and value.has_one_use() and value.type == result.type
        for value, result in zip(values, root.results, strict=True)
    )
    return tuple(block.args.index(value) for value in values) if plain else ()  # pyright: ignore[reportArgumentType]
