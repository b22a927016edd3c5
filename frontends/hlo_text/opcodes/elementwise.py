"""Elementwise opcodes with attributes, and those that only rename, convert or create arrays."""

from __future__ import annotations

from xdsl.dialects.builtin import FloatAttr, IntegerAttr

from ....hlo_dialect.attributes import int_array, int_attr
from ....hlo_dialect.chlo.special import ErfOp
from ....hlo_dialect.ops.comparison import CompareOp
from ....hlo_dialect.ops.conversion import ReducePrecisionOp
from ....hlo_dialect.ops.creation import IotaOp
from ....hlo_dialect.ops.movement import BroadcastInDimOp
from ....hlo_dialect.ops.result_accuracy import ResultAccuracyAttr, ResultAccuracyMode, ResultAccuracyModeAttr
from ....hlo_dialect.types import f64, i32, i64, shape_of
from ..direct import COMPARISONS, DIRECTIONS
from ..opcode_classes import ELEMENTWISE
from ..registry import opcode
from ..step import Step, Value
from ..values import UnexpectedValueError, read_dictionary, read_float, read_int


@opcode(" ".join(ELEMENTWISE), "result_accuracy")
def elementwise(step: Step) -> Value:
    """One operation of the opcode's class."""
    cls, count = ELEMENTWISE[step.instruction.opcode]
    if len(step.operands) != count:
        step.fail(f"it takes {count} operands, there are {len(step.operands)}")
    operands = [step.value(index) for index in range(count)]
    accuracy = step.attribute("result_accuracy", _accuracy) if step.has("result_accuracy") else None
    if accuracy is None or cls is ErfOp or "result_accuracy" not in cls.get_irdl_definition().properties:  # pyright: ignore
        return step.op(cls, operands)
    return step.op(cls, operands, result_accuracy=accuracy)


def _accuracy(text: str) -> ResultAccuracyAttr:
    """`{mode=highest}`, or `{tolerance={atol=0.1,rtol=0,ulps=2}}`"""
    fields = read_dictionary(text)
    tolerances = read_dictionary(fields["tolerance"].replace(" ", ",")) if "tolerance" in fields else {}
    modes = {"default": ResultAccuracyMode.DEFAULT, "highest": ResultAccuracyMode.HIGHEST}
    mode = ResultAccuracyMode.TOLERANCE if tolerances else modes.get(fields.get("mode", "default").lower())
    if mode is None:
        raise UnexpectedValueError("{mode=default}, {mode=highest} or {tolerance={..}}")
    atol, rtol = (FloatAttr(read_float(tolerances.get(name, "0")), f64) for name in ("atol", "rtol"))
    ulps = IntegerAttr(read_int(tolerances.get("ulps", "0")), i64)
    return ResultAccuracyAttr(atol, rtol, ulps, ResultAccuracyModeAttr(mode))


@opcode("compare", "direction type", 2)
def compare(step: Step) -> Value:
    direction = step.choice("direction", DIRECTIONS)
    kind = step.choice("type", COMPARISONS) if step.has("type") else None
    operands = [step.value(0), step.value(1)]
    return step.op(CompareOp, operands, comparison_direction=direction, compare_type=kind)


@opcode("reduce-precision", "exponent_bits mantissa_bits", 1)
def reduce_precision(step: Step) -> Value:
    bits = {name: int_attr(step.int(name), i32) for name in ("exponent_bits", "mantissa_bits")}
    return step.op(ReducePrecisionOp, step.flat(), **bits)


@opcode("iota", "iota_dimension", 0)
def iota(step: Step) -> Value:
    return step.op(IotaOp, (), iota_dimension=int_attr(step.int("iota_dimension")))


@opcode("broadcast", "dimensions", 1)
def broadcast(step: Step) -> Value:
    """`dimensions` may be left out for a scalar."""
    value = step.value(0)
    is_scalar = not step.has("dimensions") and value.type.name == "tensor" and shape_of(value) == ()
    dims = () if is_scalar else step.ints("dimensions")
    return step.op(BroadcastInDimOp, [value], broadcast_dimensions=int_array(dims))


@opcode("copy", "", 1)
def copy(step: Step) -> Value:
    """A copy is the value itself: layouts and places in memory are the compiler's own."""
    return step.operands[0]


@opcode("domain", "domain", 1)
def domain(step: Step) -> Value:
    """The boundary of a region with one sharding: the value itself."""
    return step.operands[0]


@opcode("add-dependency", "", 2)
def add_dependency(step: Step) -> Value:
    """The first operand; what the token stands for is ordered by the operations that have effects."""
    return step.operands[0]
