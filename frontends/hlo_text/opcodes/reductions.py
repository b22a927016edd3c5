"""Opcodes that apply a computation to elements: reduce, windows, sort, map, scan, topk."""

from __future__ import annotations

from xdsl.dialects.builtin import DictionaryAttr, StringAttr

from ....hlo_dialect.attributes import bool_attr, int_array, int_attr
from ....hlo_dialect.chlo.scan import ScanOp
from ....hlo_dialect.custom_calls.operations import CustomCallOp
from ....hlo_dialect.ops.mapping import MapOp
from ....hlo_dialect.ops.reduction import ReduceOp
from ....hlo_dialect.ops.sort import SortOp
from ....hlo_dialect.ops.window import ReduceWindowOp, SelectAndScatterOp
from ..registry import opcode
from ..step import Step, Value
from ..values import Window, read_window
from .contractions import pairs


@opcode("reduce", "dimensions to_apply")
def reduce(step: Step) -> Value:
    _check_halves(step)
    regions = [step.region(step.computation("to_apply"))]
    return step.op(ReduceOp, step.flat(), regions, dimensions=int_array(step.ints("dimensions")))


def _check_halves(step: Step) -> None:
    if not step.operands or len(step.operands) % 2:
        step.fail(f"expected arrays and as many initial values, there are {len(step.operands)} operands")


def _window(step: Step) -> Window:
    return step.attribute("window", read_window, Window())


@opcode("reduce-window", "window to_apply")
def reduce_window(step: Step) -> Value:
    _check_halves(step)
    window, regions = _window(step), [step.region(step.computation("to_apply"))]
    if any(window.reversal):
        step.fail("the window is reversed, which only convolutions support", "window")
    return step.op(
        ReduceWindowOp,
        step.flat(),
        regions,
        window_dimensions=int_array(window.sizes),
        window_strides=int_array(window.strides),
        base_dilations=int_array(window.base_dilations),
        window_dilations=int_array(window.window_dilations),
        padding=pairs(window.padding),
    )


@opcode("select-and-scatter", "window select scatter", 3)
def select_and_scatter(step: Step) -> Value:
    window = _window(step)
    if any(window.reversal) or any(size != 1 for size in (*window.base_dilations, *window.window_dilations)):
        step.fail("the window is dilated or reversed, which is not supported", "window")
    return step.op(
        SelectAndScatterOp,
        step.flat(),
        [step.region(step.computation(name)) for name in ("select", "scatter")],
        window_dimensions=int_array(window.sizes),
        window_strides=int_array(window.strides),
        padding=pairs(window.padding),
    )


@opcode("sort", "dimensions is_stable to_apply")
def sort(step: Step) -> Value:
    return step.op(
        SortOp,
        step.flat(),
        [step.region(step.computation("to_apply"))],
        dimension=int_attr(step.dimension()),
        is_stable=bool_attr(step.bool("is_stable", False)),
    )


@opcode("map", "dimensions to_apply")
def map_(step: Step) -> Value:
    regions = [step.region(step.computation("to_apply"))]
    dims = step.ints("dimensions", tuple(range(len(step.tensor_type.get_shape()))))
    return step.op(MapOp, step.flat(), regions, dimensions=int_array(dims))


@opcode("scan", "dimensions num_carries is_reverse is_associative to_apply")
def scan(step: Step) -> Value:
    carries = step.int("num_carries")
    if not 0 <= carries <= len(step.operands):
        step.fail(f"it has {len(step.operands)} operands, fewer than {carries} carries", "num_carries")
    regions = [step.region(step.computation("to_apply"))]
    op = ScanOp.build(
        operands=[step.flat()[: len(step.operands) - carries], step.flat()[len(step.operands) - carries :]],
        result_types=[step.shape.types()[: -carries or None], step.shape.types()[len(step.shape.types()) - carries :]],
        properties={
            "dimension": int_attr(step.dimension()),
            "is_reverse": bool_attr(step.bool("is_reverse", False)),
            "is_associative": bool_attr(step.bool("is_associative", False)),
        },
        regions=regions,
    )
    step.insert(op)
    results = tuple(op.results)
    return results if step.shape.is_tuple else results[0]


@opcode("topk", "k largest", 1)
def topk(step: Step) -> Value:
    return top_k(step, step.int("k"), step.bool("largest", True))


def top_k(step: Step, k: int, largest: bool) -> Value:
    """The k largest, or smallest, elements of the last dimension, and their indices."""
    attributes = DictionaryAttr({"k": int_attr(k), "largest": bool_attr(largest)})
    value = step.op(CustomCallOp, [step.value(0)], call_target_name=StringAttr("mhlo.topk"))
    step.made[-1].attributes["mhlo.attributes"] = attributes
    return value
