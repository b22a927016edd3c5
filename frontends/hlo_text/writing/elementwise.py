"""Elementwise operations, constants and conversions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....hlo_dialect.collectives.host_transfers import AfterAllOp, CreateTokenOp
from ....hlo_dialect.ops.comparison import CompareOp
from ....hlo_dialect.ops.conversion import ReducePrecisionOp
from ....hlo_dialect.ops.creation import ConstantOp, IotaOp
from ....hlo_dialect.ops.result_accuracy import ResultAccuracyAttr, ResultAccuracyMode
from ....hlo_dialect.types import constant_array, dense_constant, element_of, is_splat, make_tensor, shape_of
from ..opcode_classes import ELEMENTWISE
from ..shapes import type_text
from .lines import Lines
from .rules import writers
from .values import literal_text

_LONGEST_SPLAT = 8
"""Elements of the longest constant of equal elements that is written out."""


def _elementwise(opcode: str) -> Callable[[Lines, Any], None]:
    def write(lines: Lines, op: Any) -> None:
        accuracy = op.properties.get("result_accuracy")
        lines.define(op, opcode, _accuracy(accuracy) if isinstance(accuracy, ResultAccuracyAttr) else "")

    return write


def _accuracy(accuracy: ResultAccuracyAttr) -> str:
    if accuracy.mode.data is ResultAccuracyMode.TOLERANCE:
        fields = f"atol={accuracy.atol.value.data},rtol={accuracy.rtol.value.data},ulps={accuracy.ulps.value.data}"
        return f"result_accuracy={{tolerance={{{fields}}}}}"
    return "" if accuracy.mode.data is ResultAccuracyMode.DEFAULT else "result_accuracy={mode=highest}"


_NEW = ("atan", "mulhi")
"""Opcodes that parsers of 2025 lack; these operations of chlo are decomposed."""

writers.add({cls: _elementwise(name) for name, (cls, _) in ELEMENTWISE.items() if name not in _NEW})


@writers.on(CompareOp)
def _compare(lines: Lines, op: CompareOp) -> None:
    kind = op.compare_type
    type_ = f"type={kind.data.value}" if kind is not None and kind.data.value == "TOTALORDER" else ""
    lines.define(op, "compare", f"direction={op.comparison_direction.data.value}", type_)


@writers.on(ReducePrecisionOp)
def _reduce_precision(lines: Lines, op: Any) -> None:
    bits = [f"{name}={op.properties[name].value.data}" for name in ("exponent_bits", "mantissa_bits")]
    lines.define(op, "reduce-precision", *bits)


@writers.on(ConstantOp)
def _constant(lines: Lines, op: Any) -> None:
    value, result = op.value, op.results[0]
    shape = shape_of(result)
    count = 1
    for size in shape:
        count *= size
    if count <= _LONGEST_SPLAT or not is_splat(value):
        lines.define(op, "constant", text=literal_text(value))
        return
    scalar = make_tensor((), element_of(result))
    lines.type(scalar, op)
    one = lines.add(op, type_text(scalar) or "", "constant", [])
    name, line = lines.lines[-1]
    lines.lines[-1] = name, line.replace(" constant()", f" constant({_splat_text(value, scalar)})", 1)
    lines.define(op, "broadcast", "dimensions={}", operands=[one])


def _splat_text(value: Any, scalar: Any) -> str:
    return literal_text(dense_constant(constant_array(value).reshape(-1)[:1].reshape(()), scalar))


@writers.on(IotaOp)
def _iota(lines: Lines, op: Any) -> None:
    lines.define(op, "iota", f"iota_dimension={op.properties['iota_dimension'].value.data}")


@writers.on(AfterAllOp, CreateTokenOp)
def _after_all(lines: Lines, op: Any) -> None:
    lines.define(op, "after-all")
