"""Custom calls without a decomposition become linalg_ext.host_call, or loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import ArrayAttr, BoolAttr, DenseArrayBase, DictionaryAttr, StringAttr, i64
from xdsl.ir import Attribute, Block, Region

from ...dialects.linalg_ext.base import DestinationOp, YieldOp
from ...dialects.linalg_ext.calls import CallOp, HostCallOp, UnblockedOp
from ...dialects.linalg_ext.factorization import CholeskyOp, LuOp, TriangularSolveOp
from ...dialects.linalg_ext.fourier import FourierOp
from ...dialects.linalg_ext.indexing import NonzeroOp
from ...dialects.linalg_ext.sort import TopKOp
from ...dialects.support.kernel import COMPLEX_OPERANDS, COMPLEX_RESULTS
from ...dialects.support.scalar import Scalar
from ...dialects.support.shared_names import ROUTINE
from ...hlo_dialect.custom_calls.call import CustomCall, describe_call
from ...hlo_dialect.custom_calls.factorization import FLAGS, GETRF, POTRF, TRSM
from ...hlo_dialect.custom_calls.fourier import FOURIER
from ...hlo_dialect.custom_calls.operations import CustomCallOp
from ...hlo_dialect.custom_calls.registry import target_of
from ...hlo_dialect.custom_calls.selection import NONZERO, TOP_K
from ...hlo_dialect.custom_calls.unblocked import UNBLOCKED
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.types import element_of
from .emission import Emitter, patterns, signless
from .sort import ordered

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
    native = _NATIVE.get(op.call_target_name.data)
    if native is not None:
        native(op, emitter)
        return
    seen = describe_call(op)
    _define(op, emitter, HostCallOp, {"target": op.call_target_name, "call": DictionaryAttr(_passed_on(op))}, seen)


def _passed_on(op: CustomCallOp) -> dict[str, Attribute]:
    """The properties and attributes that a target's function is told."""
    stated: dict[str, Attribute] = {**op.properties, **op.attributes}
    return {name: stated[name] for name in sorted(stated) if name not in _ABOUT_MEMORY}


def _define(
    op: CustomCallOp, emitter: Emitter, cls: type[CallOp], properties: dict[str, Attribute], seen: CustomCall
) -> None:
    types: dict[str, Attribute] = {
        "operands_as": ArrayAttr(seen.operand_types),
        "results_as": ArrayAttr(seen.result_types),
    }
    inputs = [emitter.get(operand) for operand in op.operands]
    outputs = [emitter.empty(signless(result.type)) for result in op.results]
    results = emitter.structured(cls, inputs, outputs, properties=properties | types)
    for old, new in zip(op.results, results, strict=True):
        emitter.define(old, new)


def _unblocked(op: CustomCallOp, emitter: Emitter) -> None:
    """`hlo.custom_call @xhlo.unblocked(%a) {routine = "f"}` becomes `linalg_ext.unblocked {target = "f"}`."""
    seen = describe_call(op)
    properties: dict[str, Attribute] = {
        "target": StringAttr(seen.attributes[ROUTINE]),
        "call": DictionaryAttr(_passed_on(op)),
    }
    _define(op, emitter, UnblockedOp, properties, seen)


def _fourier(op: CustomCallOp, emitter: Emitter) -> None:
    """`hlo.custom_call @xhlo.fourier(%x, %tables)` becomes `linalg_ext.fourier`."""
    stated = describe_call(op).attributes
    properties: dict[str, Attribute] = {
        "kind": StringAttr(stated["kind"]),
        "lengths": DenseArrayBase.from_list(i64, stated["lengths"]),
    }
    inputs, output = [emitter.get(operand) for operand in op.operands], emitter.empty(signless(op.results[0].type))
    (new,) = emitter.structured(FourierOp, inputs, [output], properties=properties)
    emitter.define(op.results[0], new)


def _top_k(op: CustomCallOp, emitter: Emitter) -> None:
    """`hlo.custom_call @xhlo.top_k(%x)` becomes `linalg_ext.top_k` with a region that computes integer keys."""
    stated, element = describe_call(op).attributes, element_of(op.operands[0])
    block = Block(arg_types=[signless(element)])
    x = Scalar(block, block.args[0])
    if stated.get("canonical"):
        x = x.compare("uno", x).select(float("nan"), x.compare("eq", 0.0).select(0.0, x))
    key = ordered(x, element, stated["total_order"], stated["descending"])
    block.add_op(YieldOp(key.value))
    outputs = [emitter.empty(signless(result.type)) for result in op.results]
    results = emitter.structured(TopKOp, [emitter.get(op.operands[0])], outputs, [Region(block)])
    for old, new in zip(op.results, results, strict=True):
        emitter.define(old, new)


def _structured(cls: type[DestinationOp], flags: Sequence[str] = ()) -> Callable[[CustomCallOp, Emitter], None]:
    """The lowering to an operation that states some attributes of the call, all booleans."""

    def convert(op: CustomCallOp, emitter: Emitter) -> None:
        stated = describe_call(op).attributes
        properties: dict[str, Attribute] = {name: BoolAttr.from_bool(stated[name]) for name in flags}
        inputs = [emitter.get(operand) for operand in op.operands]
        outputs = [emitter.empty(signless(result.type)) for result in op.results]
        results = emitter.structured(cls, inputs, outputs, properties=properties)
        for old, new in zip(op.results, results, strict=True):
            emitter.define(old, new)

    return convert


_NATIVE = {
    FOURIER: _fourier,
    TOP_K: _top_k,
    NONZERO: _structured(NonzeroOp),
    POTRF: _structured(CholeskyOp, ("lower",)),
    GETRF: _structured(LuOp),
    TRSM: _structured(TriangularSolveOp, FLAGS),
    UNBLOCKED: _unblocked,
}
"""The targets whose calls become loops, on machines that have these."""
