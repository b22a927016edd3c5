"""Equal functions that were outlined from several kernels become one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import Operation

from ...dialects.cpu import ParallelForOp
from ...dialects.support.attributes import symbol
from ...dialects.support.editing import erase_op
from ...hlo_dialect.walking import operations_in, operations_inside
from ...lowering.convert_to_llvm.independence import independent_bodies, uses_in

NAME = "sym_name"

FEW = 4
"""Functions that are compared in whole rather than by their facts first."""


def share_equal(module: ModuleOp, functions: Iterable[func.FuncOp]) -> None:
    """
    Erase each of these functions that equals an earlier one but for its name, and let its callers call that one.

    Kernels that differ may have equal loops: the epilogues of convolutions with several dilations, or of layers.
    """
    known: defaultdict[Sequence[type[Operation]], list[func.FuncOp]] = defaultdict(list)
    replaced: dict[str, SymbolRefAttr] = {}
    aliases: Mapping[str, set[int]] | None = None
    facts: dict[func.FuncOp, int] = {}
    for function in functions:
        # Few functions have the same operations in order, so that few are compared in whole.
        alike = known[tuple(map(type, operations_inside(function.body)))]
        if len(alike) > FEW:
            for each in (*alike, function):
                if each not in facts:
                    facts[each] = _facts(each)
        equal = [each for each in alike if facts.get(each) == facts.get(function) and _are_equal(each, function)]
        if equal and aliases is None:
            aliases = independent_bodies(uses_in(op for op in module.body.block.ops if type(op) is func.FuncOp))
        name = function.sym_name.data
        one = next((each for each in equal if _alias_alike(each.sym_name.data, name, aliases or {})), None)
        if one is None:
            alike.append(function)
        else:
            replaced[name] = symbol(one.sym_name.data)
            erase_op(function)
    for op in operations_in(module) if replaced else ():
        if type(op) is func.CallOp or type(op) is ParallelForOp:
            new = replaced.get(op.callee.root_reference.data)
            if new is not None:
                op.properties["callee"] = new


def _facts(function: func.FuncOp) -> int:
    """A number that equal functions share: from what their operations state, such as the lengths of loops."""
    ops = operations_inside(function.body)
    return hash(tuple([(op.result_types, sum(map(hash, op.properties.values()))) for op in ops]))


def _are_equal(first: func.FuncOp, second: func.FuncOp) -> bool:
    same_name = {NAME: first.properties[NAME]}
    return (
        first.attributes == second.attributes
        and first.properties == second.properties | same_name
        and first.body.is_structurally_equivalent(second.body)
    )


def _alias_alike(first: str, second: str, aliases: Mapping[str, set[int]]) -> bool:
    """Whether the buffers that are passed to two functions alias alike: if not, one function would be slower code."""
    return aliases.get(first) == aliases.get(second)
