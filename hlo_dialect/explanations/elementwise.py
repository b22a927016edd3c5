"""
The constraints of elementwise operations and their broadcasting forms, which differ in name and element types alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from xdsl.dialects.builtin import ComplexType, f32, i1, i32
from xdsl.ir import Attribute
from xdsl.utils.test_value import create_ssa_value

from ..chlo.base import ChloBinaryOp, ChloUnaryOp
from ..chlo.broadcasts import BroadcastingBinaryOp
from ..dialect import hlo_operations, make_context
from ..ops.elementwise import ElementwiseBinaryOp, ElementwiseUnaryOp, Kind, kind_text
from ..types import element_of, make_tensor
from .table import Explanation, Section, sections

_ELEMENTS = {
    Kind.FLOAT: "f32",
    Kind.SIGNED: "i32",
    Kind.BOOLEAN: "i1",
    Kind.COMPLEX: "complex<f32>",
    Kind.UNSIGNED: "ui32",
}
_ATTRIBUTES: dict[str, Attribute] = {"f32": f32, "i32": i32, "i1": i1, "complex<f32>": ComplexType(f32)}


@cache
def elementwise_sections() -> tuple[Section, ...]:
    """The sections of the operations that the tables leave to their classes."""
    stated = {one.op for section in sections() for one in section.constraints if one.name.endswith(("_c1", "_i1"))}
    ctx = make_context()
    ctx.load_registered_dialect("chlo")
    found: list[Section] = []
    for cls in (*hlo_operations(), *ctx.get_dialect("chlo").operations):
        if cls.name in stated:
            continue
        if issubclass(cls, ElementwiseUnaryOp):
            found.append(_unary(cls))
        elif issubclass(cls, ElementwiseBinaryOp):
            found.append(_binary(cls))
        elif issubclass(cls, BroadcastingBinaryOp):
            found.append(_broadcasting(cls))
    return tuple(found)


@dataclass(frozen=True)
class _Writer:
    """Writes the programs of one operation."""

    name: str
    arrow: bool
    """Whether the types are written `t, t -> t`, as chlo has it, instead of `(t, t) -> t`."""
    attributes: str = ""

    def statement(self, types: Sequence[str], result: str) -> str:
        spelled = f"stable{self.name}" if self.name.startswith("hlo.") else self.name
        operands = ", ".join(f"%{letter}" for letter in "xy"[: len(types)])
        if self.arrow:
            signature = f"{', '.join(types)} -> {result}"
        elif set(types) == {result} and not self.attributes and self.name.startswith("hlo."):
            signature = result
        else:
            signature = f"({', '.join(types)}) -> {result}"
        return f"%0 = {spelled} {operands}{self.attributes} : {signature}"

    def program(self, types: Sequence[str], result: str) -> str:
        arguments = ", ".join(f"%{letter}: {type_}" for letter, type_ in zip("xy", types, strict=False))
        return f"func.func @main({arguments}) {{\n  {self.statement(types, result)}\n  return\n}}\n"

    def section(self, types: Sequence[str], result: str, wrong: Iterable[tuple[str, str, str]]) -> Section:
        """The right program, and for each constraint its number, its text and a wrong program."""
        right, mnemonic = self.program(types, result), self.name.partition(".")[2]
        constraints = (Explanation(f"{mnemonic}_{n}", self.name, text, program, right) for n, text, program in wrong)
        return Section(self.name, self.statement(types, result), right, tuple(constraints))


def _tensor(element: str, sizes: str = "4") -> str:
    return f"tensor<{sizes}x{element}>"


def _element(kinds: Kind) -> str:
    return next(text for kind, text in _ELEMENTS.items() if kind in kinds)


def _kind_constraint(what: str, kinds: Kind) -> tuple[str, str]:
    """The text about the kinds, and an element type that is of none of them: `si32` is of no kind."""
    other = next((text for kind, text in _ELEMENTS.items() if kind not in kinds), "si32")
    return f"{what} elements of a {kind_text(kinds)} type.", other


def _unary(cls: type[ElementwiseUnaryOp]) -> Section:
    writer = _Writer(cls.name, issubclass(cls, ChloUnaryOp))
    element = _element(cls.KINDS)
    operand = _tensor(element)
    type_ = make_tensor((4,), _ATTRIBUTES[element])
    made = cls.create(operands=[create_ssa_value(type_)], result_types=[type_])
    result = _tensor(str(element_of(made.infer_types()[0])))
    kinds, other = _kind_constraint("The operand has", cls.KINDS)
    wrong = [
        ("i1", kinds, writer.program([_tensor(other)], _tensor(other))),
        ("c1", "Operand and result have the same shape.", writer.program([operand], result.replace("4", "5", 1))),
    ]
    if cls.ELEMENT_CONSTRAINT != "c1":
        text = f"The result has elements of type {result.removeprefix('tensor<4x').removesuffix('>')} for {element}."
        wrong.append((cls.ELEMENT_CONSTRAINT, text, writer.program([operand], _tensor("i8"))))
    return writer.section([operand], result, wrong)


def _binary(cls: type[ElementwiseBinaryOp]) -> Section:
    writer = _Writer(cls.name, issubclass(cls, ChloBinaryOp))
    type_ = _tensor(_element(cls.KINDS))
    kinds, other = _kind_constraint("The operands have", cls.KINDS)
    wrong = [
        ("i1", kinds, writer.program([_tensor(other)] * 2, _tensor(other))),
        ("c1", "Operands and result have the same type.", writer.program([type_, type_], type_.replace("4", "5", 1))),
    ]
    return writer.section([type_, type_], type_, wrong)


def _broadcasting(cls: type[BroadcastingBinaryOp]) -> Section:
    def writer(dims: str) -> _Writer:
        return _Writer(cls.name, False, f" {{broadcast_dimensions = array<i64: {dims}>}}")

    element = _element(cls.kinds())
    low, high = _tensor(element, "3"), _tensor(element, "2x3")
    kinds, other = _kind_constraint("The operands have", cls.kinds())
    right, changed = writer("1"), "f64" if element == "f32" else "i64"
    wrong = [
        ("i1", kinds, right.program([_tensor(other, "3"), _tensor(other, "2x3")], _tensor(other, "2x3"))),
        ("c1", "The operands have the same element type.", right.program([low, _tensor(changed, "2x3")], high)),
        (
            "c2",
            "The sizes of a dimension are equal, or one of them is 1.",
            right.program([_tensor(element, "2"), high], high),
        ),
        (
            "c3",
            "There is one entry of broadcast_dimensions for each dimension of the operand of lower rank.",
            writer("0, 1").program([low, high], high),
        ),
        (
            "c4",
            "The entries of broadcast_dimensions are dimensions of the other operand, in rising order.",
            writer("2").program([low, high], high),
        ),
        ("c5", "The result has the shape that both broadcast to.", right.program([low, high], _tensor(element, "3x3"))),
    ]
    return right.section([low, high], high, wrong)
