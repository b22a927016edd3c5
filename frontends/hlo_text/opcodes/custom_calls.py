"""custom-call: kept as a call of its target, unless the target is XLA's name of something that hlo has."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute
from xdsl.utils.exceptions import ParseError, VerifyException

from ....dialects.support.kernel import COMPLEX_OPERANDS, COMPLEX_RESULTS
from ....hlo_dialect.attributes import OutputOperandAliasAttr, bool_attr, int_array, int_attr, order_attribute
from ....hlo_dialect.custom_calls.operations import CustomCallOp, CustomCallScheduleAttr, Schedule
from ....hlo_dialect.reading.locations import SourcePositions
from ....hlo_dialect.reading.parser import HloParser
from ....hlo_dialect.types import i32
from ..registry import opcode
from ..shapes import Shape
from ..step import Step, Value
from ..values import UnexpectedValueError, read_aliases, read_dictionary, unquoted
from .runtime_calls import MEANINGS

_VERSIONS = {
    "API_VERSION_ORIGINAL": 1,
    "API_VERSION_STATUS_RETURNING": 2,
    "API_VERSION_STATUS_RETURNING_UNIFIED": 3,
    "API_VERSION_TYPED_FFI": 4,
}
_SCHEDULES = {f"SCHEDULE_{schedule.value}": schedule for schedule in Schedule}
_PREFIXES = (
    "__onednn$",
    "__cpu$",
    "__cublas$",
    "__cudnn$",
    "__triton",
    "__xla_internal",
    "xla.gpu",
    "__gpu$",
)
"""Calls of XLA's own runtime, whose meaning is not documented or belongs to a machine."""


@opcode(
    "custom-call",
    "custom_call_target window dim_labels feature_group_count batch_group_count operand_layout_constraints "
    "custom_call_has_side_effect to_apply called_computations output_to_operand_aliasing padding_type literal "
    "operand_precision schedule api_version",
)
def custom_call(step: Step) -> Value:
    target = unquoted(step.text("custom_call_target"))
    if target in MEANINGS:
        return MEANINGS[target](step)
    if target.startswith(_PREFIXES):
        step.fail(f"'{target}' is a call of XLA's own runtime: give the program as it was before XLA optimized it")
    for name in ("window", "dim_labels", "literal"):
        if step.has(name):
            step.fail(f"a call of '{target}' with the attribute {name} is not supported", name)
    version = step.choice("api_version", _VERSIONS, 1)
    called = step.op(
        CustomCallOp,
        step.flat(),
        call_target_name=StringAttr(target),
        has_side_effect=bool_attr(True) if step.bool("custom_call_has_side_effect", False) else None,
        backend_config=_configuration(step, version),
        api_version=int_attr(version, i32) if version != 1 else None,
        called_computations=_called(step),
        output_operand_aliases=_aliases(step),
        custom_call_schedule=_schedule(step),
        **_layouts(step),
    )
    step.made[-1].attributes.update(_pairs(step))
    return called


def _pairs(step: Step) -> dict[str, Attribute]:
    """
    The operands and results that are pairs of real numbers for a complex tensor, which `frontend_attributes` state in
    what is written after split-complex: `xhlo.complex_operands="1,0"`.
    """
    if not step.has("frontend_attributes"):
        return {}
    stated, found = step.attribute("frontend_attributes", read_dictionary), dict[str, Attribute]()
    for name in (COMPLEX_OPERANDS, COMPLEX_RESULTS):
        if name in stated:
            flags = stated[name].split(",") if stated[name] else []
            if not {*flags} <= {"0", "1"}:
                step.fail(f"{name} is '{stated[name][:60]}', expected 0 or 1 for each value", "frontend_attributes")
            found[name] = ArrayAttr([bool_attr(flag == "1") for flag in flags])
    return found


def _configuration(step: Step, version: int) -> Attribute | None:
    """`backend_config={uplo = 76 : ui8}`: a dictionary in MLIR's syntax for the typed FFI, else a string."""
    if not step.has("backend_config"):
        return None
    if version != 4:
        return step.attribute("backend_config", lambda text: StringAttr(unquoted(text)))

    def read(text: str) -> DictionaryAttr:
        text = unquoted(text) if text.startswith('"') else text
        try:
            parser = HloParser(step.converter.ctx, text, "backend_config", SourcePositions(text, "backend_config"))
            found = parser.parse_attribute()
        except (ParseError, VerifyException, RecursionError):
            found = None
        if not isinstance(found, DictionaryAttr):
            raise UnexpectedValueError("a dictionary of attributes in MLIR's syntax")
        return found

    return step.attribute("backend_config", read)


def _called(step: Step) -> Attribute | None:
    names = ("to_apply", "called_computations")
    if not any(map(step.has, names)):
        return None
    called = [step.computation("to_apply")] if step.has("to_apply") else step.computations("called_computations")
    return ArrayAttr([SymbolRefAttr(step.converter.function(each, step).sym_name.data) for each in called])


def _schedule(step: Step) -> Attribute | None:
    schedule = step.choice("schedule", _SCHEDULES, Schedule.NONE)
    return None if schedule is Schedule.NONE else CustomCallScheduleAttr(schedule)


def _layouts(step: Step) -> dict[str, Attribute]:
    """The order of dimensions in memory of each operand and result, where the call states those of its operands."""
    if not step.has("operand_layout_constraints"):
        return {}
    constraints = step.shapes("operand_layout_constraints")
    if not Shape(None, parts=tuple(constraints)).matches(Shape(None, parts=tuple(step.operand_shapes))):
        step.fail("the constraints are of other shapes than the operands", "operand_layout_constraints")
    operands = [leaf for shape in constraints for leaf in shape.leaves()]
    return {
        "operand_layouts": ArrayAttr([order_attribute(shape.order) for shape in operands]),
        "result_layouts": ArrayAttr([order_attribute(leaf.order) for leaf in step.shape.leaves()]),
    }


def _aliases(step: Step) -> Attribute | None:
    """`output_to_operand_aliasing={{0}: (1, {})}`; indices into nested tuples lead to their arrays."""
    if not step.has("output_to_operand_aliasing"):
        return None
    found: list[OutputOperandAliasAttr] = []
    for output, operand, inner, _ in step.attribute("output_to_operand_aliasing", read_aliases):
        if operand >= len(step.operands):
            step.fail(f"there is no operand {operand}", "output_to_operand_aliasing")
        before = sum(len(shape.types()) for shape in step.operand_shapes[:operand])
        source = before + leaf_number(step, step.operand_shapes[operand], inner)
        result = leaf_number(step, step.shape, output)
        indices = int_array([result] if len(step.shape.types()) > 1 else [])
        found.append(OutputOperandAliasAttr(indices, int_attr(source), int_array(())))
    return ArrayAttr(found)


def leaf_number(step: Step, shape: Shape, index: tuple[int, ...]) -> int:
    """The number of the array that an index into nested tuples leads to."""
    number = 0
    for part in index:
        if not 0 <= part < len(shape.parts):
            step.fail(f"there is nothing at the index {index}", "output_to_operand_aliasing")
        number += sum(len(each.types()) for each in shape.parts[:part])
        shape = shape.parts[part]
    return number
