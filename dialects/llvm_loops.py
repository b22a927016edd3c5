"""
The attributes of the llvm dialect that state facts about loops, as MLIR writes them.

- `#llvm.access_group<id = distinct[0]<>>`: a parallel loop, named by the accesses inside it;
- `#llvm.loop_annotation<vectorize = <disable = false>, interleave = <count = 2 : i32>, unroll = <count = 4 : i32>,
  parallelAccesses = ..>` on the branch that closes a loop. Other facts that MLIR knows are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeVar, cast

from xdsl.dialects.builtin import ArrayAttr, BoolAttr, IntAttr, IntegerAttr, NoneAttr, i32
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

ACCESS_GROUPS = "access_groups"
LOOP = "loop_annotation"

UNROLL_FULLY, UNROLL_NEVER = 0, 1
"""The unroll factors that stand for all iterations, and for none."""


@irdl_attr_definition
class AccessGroupAttr(ParametrizedAttribute):
    """A parallel loop: accesses of its group in different iterations are independent. Numbers are by module."""

    name = "llvm.access_group"

    number: IntAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            parser.parse_keyword("id")
            parser.parse_punctuation("=")
            parser.parse_keyword("distinct")
            with parser.in_square_brackets():
                number = parser.parse_integer(allow_boolean=False, allow_negative=False)
            parser.parse_punctuation("<")
            parser.parse_punctuation(">")
        return (IntAttr(number),)

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<id = distinct[{self.number.data}]<>>")


@irdl_attr_definition
class LoopVectorizeAttr(ParametrizedAttribute):
    """`<disable = false>`: LLVM is to vectorize the loop whatever it costs; `true`: never."""

    name = "llvm.loop_vectorize"

    disable: BoolAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        return (_parse_fact(parser, ("disable",))[1],)

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<disable = {'true' if self.disable.value.data else 'false'}>")


@irdl_attr_definition
class LoopInterleaveAttr(ParametrizedAttribute):
    """`<count = 4 : i32>`: how many vectors LLVM is to compute in one iteration of the loop that it makes of them."""

    name = "llvm.loop_interleave"

    count: IntAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        start = parser.pos
        _, value = _parse_fact(parser, ("count",))
        number = value.value.data
        if value.type != i32 or number < 1:
            parser.raise_error("expected <count = N : i32>, N from 1", start, parser.pos)
        return (IntAttr(number),)

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<count = {self.count.data} : i32>")


@irdl_attr_definition
class LoopUnrollAttr(ParametrizedAttribute):
    """`<count = 4 : i32>`, `<full = true>` or `<disable = true>`: how often LLVM is to repeat the loop's body."""

    name = "llvm.loop_unroll"

    factor: IntAttr
    """The unroll factor; UNROLL_FULLY or UNROLL_NEVER."""

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        start = parser.pos
        key, value = _parse_fact(parser, ("full", "disable", "count"))
        number = value.value.data
        if (key == "count") != (value.type == i32) or number == 0 or (key == "count" and number < 2):
            expected = "expected <full = true>, <disable = true> or <count = N : i32>, N from 2"
            parser.raise_error(expected, start, parser.pos)
        factor: int = {"full": UNROLL_FULLY, "disable": UNROLL_NEVER}.get(key, number)
        return (IntAttr(factor),)

    def print_parameters(self, printer: Printer) -> None:
        factor = self.factor.data
        text = {UNROLL_FULLY: "full = true", UNROLL_NEVER: "disable = true"}.get(factor, f"count = {factor} : i32")
        printer.print_string(f"<{text}>")


def _parse_fact(parser: AttrParser, keys: Sequence[str]) -> tuple[str, IntegerAttr[Any]]:
    """The one fact of `<key = value>`."""
    with parser.in_angle_brackets():
        start = parser.pos
        key = parser.parse_identifier()
        if key not in keys:
            parser.raise_error(f"'{key}' is not supported here; {' and '.join(keys)} are", start, parser.pos)
        parser.parse_punctuation("=")
        start = parser.pos
        value = parser.parse_attribute()
        if not isinstance(value, IntegerAttr):
            parser.raise_error("expected true, false or a number", start, parser.pos)
    return key, cast("IntegerAttr[Any]", value)


@irdl_attr_definition
class LoopAnnotationAttr(ParametrizedAttribute):
    """Facts about a loop that LLVM's passes obey."""

    name = "llvm.loop_annotation"

    vectorize: LoopVectorizeAttr | NoneAttr
    interleave: LoopInterleaveAttr | NoneAttr
    unroll: LoopUnrollAttr | NoneAttr
    parallel_accesses: ArrayAttr[AccessGroupAttr]
    """The groups whose accesses are independent from iteration to iteration."""

    @classmethod
    def of(
        cls, vectorize: bool | None, unroll: int | None, groups: Sequence[int], interleave: int | None = None
    ) -> LoopAnnotationAttr:
        """
        `vectorize`: whatever it costs, or never; `unroll`: the factor; `groups`: those of a parallel loop;
        `interleave`: how many vectors at once.
        """
        return _annotation(vectorize, interleave, unroll, tuple(groups))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        vectorize, interleave, unroll, groups = NoneAttr(), NoneAttr(), NoneAttr(), list[AccessGroupAttr]()
        with parser.in_angle_brackets():
            while True:
                start = parser.pos
                key = parser.parse_identifier()
                parser.parse_punctuation("=")
                match key:
                    case "vectorize":
                        vectorize = _parse_nested(parser, LoopVectorizeAttr)
                    case "interleave":
                        interleave = _parse_nested(parser, LoopInterleaveAttr)
                    case "unroll":
                        unroll = _parse_nested(parser, LoopUnrollAttr)
                    case "parallelAccesses":
                        groups.append(_parse_nested(parser, AccessGroupAttr))
                        while parser.parse_optional_punctuation(","):
                            groups.append(_parse_nested(parser, AccessGroupAttr))
                        break  # a list without brackets: nothing can follow it
                    case _:
                        supported = "vectorize, interleave, unroll and parallelAccesses are"
                        parser.raise_error(f"'{key}' of a loop is not supported; {supported}", start, parser.pos)
                if parser.parse_optional_punctuation(",") is None:
                    break
        return vectorize, interleave, unroll, ArrayAttr(groups)

    def print_parameters(self, printer: Printer) -> None:
        separator = "<"
        facts = (("vectorize", self.vectorize), ("interleave", self.interleave), ("unroll", self.unroll))
        for key, fact in facts:
            if not isinstance(fact, NoneAttr):
                printer.print_string(f"{separator}{key} = ")
                fact.print_parameters(printer)
                separator = ", "
        if self.parallel_accesses.data:
            printer.print_string(f"{separator}parallelAccesses = ")
            printer.print_list(self.parallel_accesses.data, printer.print_attribute)
            separator = ", "
        printer.print_string("<>" if separator == "<" else ">")


_Fact = TypeVar("_Fact", bound=ParametrizedAttribute)


def _parse_nested(parser: AttrParser, kind: type[_Fact]) -> _Fact:
    """An attribute of this class, or only its parameters."""
    start = parser.pos
    found = parser.parse_optional_attribute()
    if found is None:
        return kind.new(kind.parse_parameters(parser))
    if not isinstance(found, kind):
        parser.raise_error(f"expected #{kind.name}<..>", start, parser.pos)
    return found


def access_groups(op: Operation) -> list[int]:
    """The parallel loops that an access belongs to."""
    found = op.attributes.get(ACCESS_GROUPS)
    members = cast("ArrayAttr[Any]", found).data if isinstance(found, ArrayAttr) else ()
    return [group.number.data for group in members if isinstance(group, AccessGroupAttr)]


OPS: tuple[type[Operation], ...] = ()
ATTRIBUTES = (AccessGroupAttr, LoopVectorizeAttr, LoopInterleaveAttr, LoopUnrollAttr, LoopAnnotationAttr)


@lru_cache(maxsize=1024)
def _annotation(
    vectorize: bool | None, interleave: int | None, unroll: int | None, groups: tuple[int, ...]
) -> LoopAnnotationAttr:
    return LoopAnnotationAttr(
        NoneAttr() if vectorize is None else LoopVectorizeAttr(BoolAttr.from_bool(not vectorize)),
        NoneAttr() if interleave is None else LoopInterleaveAttr(IntAttr(interleave)),
        NoneAttr() if unroll is None else LoopUnrollAttr(IntAttr(unroll)),
        ArrayAttr([AccessGroupAttr(IntAttr(group)) for group in groups]),
    )
