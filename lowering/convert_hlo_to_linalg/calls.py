"""Custom calls without a decomposition become linalg_ext.host_call."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.ir import Attribute

from ...dialects.linalg_ext.calls import HostCallOp
from ...dialects.support.kernel import COMPLEX_OPERANDS, COMPLEX_RESULTS
from ...hlo_dialect.custom_calls.call import describe_call
from ...hlo_dialect.custom_calls.operations import CustomCallOp
from ...hlo_dialect.custom_calls.registry import target_of
from ...hlo_dialect.diagnostics import fail
from .emission import Emitter, patterns, signless

_ABOUT_MEMORY = frozenset(
    (
        "call_target_name",
        "operand_layouts",
        "result_layouts",
        "output_operand_aliases",
        "has_side_effect",
        COMPLEX_OPERANDS,
        COMPLEX_RESULTS,
    )
)
"""
Properties of a custom call that are not passed to its target's function: arrays are passed as the program has them.
"""


@patterns.on(CustomCallOp)
def _custom_call(op: CustomCallOp, emitter: Emitter) -> None:
    """`hlo.custom_call @f(%a)` becomes `linalg_ext.host_call {target = "f", ..} ins(%a) outs(tensor.empty ..)`."""
    if target_of(op).is_identity:
        fail(op, "has its operands as results: run --resolve-custom-calls before")
    seen = describe_call(op)
    stated: dict[str, Attribute] = {**op.properties, **op.attributes}
    results = emitter.structured(
        HostCallOp,
        [emitter.get(operand) for operand in op.operands],
        [emitter.empty(signless(result.type)) for result in op.results],
        properties={
            "target": op.call_target_name,
            "call": DictionaryAttr({name: stated[name] for name in sorted(stated) if name not in _ABOUT_MEMORY}),
            "operands_as": ArrayAttr(seen.operand_types),
            "results_as": ArrayAttr(seen.result_types),
        },
    )
    for old, new in zip(op.results, results, strict=True):
        emitter.define(old, new)
