"""Control flow, calls, fusions, tuples, and operations that apply a computation to elements."""

from __future__ import annotations

from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import StringAttr

from ....hlo_dialect.attributes import ints
from ....hlo_dialect.ops.control_flow import CaseOp, IfOp, OptimizationBarrierOp, WhileOp
from ....hlo_dialect.ops.fusion import KEPT_KIND, FusionOp
from ....hlo_dialect.ops.mapping import MapOp
from ....hlo_dialect.ops.reduction import ReduceOp
from ....hlo_dialect.ops.sort import SortOp
from ....hlo_dialect.ops.window import ReduceWindowOp, SelectAndScatterOp
from ....hlo_dialect.types import shape_of
from .contractions import listed_or, padding_of, window_text
from .lines import Lines, captured_values
from .rules import writers
from .values import braced, metadata_text, tuple_text

_KINDS = {"dot": "kOutput", "reduce": "kInput", "row": "kInput", "custom": "kCustom"}
"""HLO's kinds of fusions by ours; the others are kLoop."""


@writers.on(func.CallOp)
def _call(lines: Lines, op: Any) -> None:
    lines.define(op, "call", f"to_apply=%{lines.module.function(op, op.callee.string_value())}")


@writers.on(FusionOp)
def _fusion(lines: Lines, op: Any) -> None:
    """A fusion, or its operation itself if it is only one and the fusion is our own."""
    block = op.body.block
    if op.kind.data != "kept" and len(block.ops) == 2 and list(block.first_op.results) == list(block.last_op.operands):
        inner, names = block.first_op, dict(zip(block.args, lines.operands(op), strict=True))
        lines.names |= names
        lines.operation(inner)
        lines.names |= {ours: lines.names[theirs] for ours, theirs in zip(op.results, inner.results, strict=True)}
        return
    computation = lines.region(op, op.body, "fused_computation")
    lines.define(op, "fusion", f"kind={_kind(op)}", f"calls=%{computation}")


def _kind(op: Any) -> str:
    kept = op.attributes.get(KEPT_KIND)
    return kept.data if isinstance(kept, StringAttr) else _KINDS.get(op.kind.data, "kLoop")


@writers.on(WhileOp)
def _while(lines: Lines, op: Any) -> None:
    """The state is a tuple; what the regions use from outside is a part of it that does not change."""
    captured = captured_values(op.regions)
    names = [*lines.operands(op), *(lines.name(value, op) for value in captured)]
    condition, body = (
        lines.module.computation(
            op, f"while_{what}", region.block.args, region.block, captured=captured, as_tuple=True, keeps=what == "body"
        )
        for what, region in zip(("condition", "body"), op.regions, strict=True)
    )
    start = lines.tuple(op, names)
    shape = lines.shapes[start]
    attributes = [f"condition=%{condition}", f"body=%{body}"]
    result = lines.emit(shape, "while", [start], attributes, metadata_text(op.location), "while")
    for number, value in enumerate(op.results):
        if value.first_use is None:
            continue
        hint, type_ = value.name_hint or "get-tuple-element", lines.type(value.type, op)
        lines.names[value] = lines.emit(type_, "get-tuple-element", [result], [f"index={number}"], "", hint)


@writers.on(IfOp, CaseOp)
def _branches(lines: Lines, op: Any) -> None:
    """Each branch takes a tuple of what it uses from outside."""
    operands, computations = [lines.name(op.operands[0], op)], list[str]()
    for region in op.regions:
        captured = captured_values([region])
        names = [lines.name(value, op) for value in captured]
        operands.append(lines.tuple(op, names))
        computation = lines.module.computation(op, "branch", (), region.block, captured=captured, as_tuple=True)
        computations.append(f"%{computation}")
    if isinstance(op, IfOp):
        chosen = [f"true_computation={computations[0]}", f"false_computation={computations[1]}"]
    else:
        chosen = [f"branch_computations={{{', '.join(computations)}}}"]
    lines.define(op, "conditional", *chosen, operands=operands)


@writers.on(OptimizationBarrierOp)
def _barrier(lines: Lines, op: Any) -> None:
    start = lines.tuple(op, lines.operands(op))
    types = [lines.type(value.type, op) for value in op.results]
    name = lines.add(op, tuple_text(types), "opt-barrier", [start])
    for number, (value, type_) in enumerate(zip(op.results, types, strict=True)):
        hint = value.name_hint or "get-tuple-element"
        lines.names[value] = lines.emit(type_, "get-tuple-element", [name], [f"index={number}"], "", hint)


# Computations on elements -----------------------------------------------------------------------------------------


@writers.on(ReduceOp)
def _reduce(lines: Lines, op: Any) -> None:
    computation = lines.region(op, op.regions[0], "reduce_computation")
    lines.define(op, "reduce", f"dimensions={braced(op.dims)}", f"to_apply=%{computation}")


@writers.on(ReduceWindowOp)
def _reduce_window(lines: Lines, op: Any) -> None:
    sizes = ints(op.window_dimensions)
    rank = len(sizes)
    window = window_text(
        sizes,
        listed_or(op.window_strides, rank),
        padding_of(op, rank),
        listed_or(op.base_dilations, rank),
        listed_or(op.window_dilations, rank),
    )
    computation = lines.region(op, op.regions[0], "reduce_computation")
    lines.define(op, "reduce-window", window, f"to_apply=%{computation}")


@writers.on(SelectAndScatterOp)
def _select_and_scatter(lines: Lines, op: Any) -> None:
    rank = len(shape_of(op.operands[0]))
    one = (1,) * rank
    sizes, strides = listed_or(op.window_dimensions, rank), listed_or(op.window_strides, rank)
    window = window_text(sizes, strides, padding_of(op, rank), one, one)
    select, scatter = (
        lines.region(op, region, what) for region, what in zip(op.regions, ("select", "scatter"), strict=True)
    )
    lines.define(op, "select-and-scatter", window, f"select=%{select}", f"scatter=%{scatter}")


@writers.on(SortOp)
def _sort(lines: Lines, op: Any) -> None:
    dimension = op.properties.get("dimension")
    number = -1 if dimension is None else dimension.value.data
    rank = len(shape_of(op.operands[0]))
    stable = op.properties.get("is_stable")
    computation = lines.region(op, op.regions[0], "compare")
    lines.define(
        op,
        "sort",
        f"dimensions={braced([number % rank])}",
        "is_stable=true" if stable is not None and stable.value.data else "",
        f"to_apply=%{computation}",
    )


@writers.on(MapOp)
def _map(lines: Lines, op: Any) -> None:
    computation = lines.region(op, op.regions[0], "map_computation")
    lines.define(op, "map", f"dimensions={braced(ints(op.dimensions))}", f"to_apply=%{computation}")
