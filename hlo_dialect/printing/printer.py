"""
`print_module`: a module as MLIR text that reads back as the same module.

Constants are written as MLIR writes them; results of one operation share a name (`%3:2`, `%3#1`); value names come
from the name hints. The spelling "stablehlo" produces programs that StableHLO's tools read.
"""

# The printer extends xDSL's, whose state is private by name.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from io import StringIO
from types import UnionType
from typing import IO, Any, ClassVar, Literal

from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    LocationAttr,
    ModuleOp,
    TensorType,
    UnregisteredOp,
)
from xdsl.ir import Attribute, Operation, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.printer import Printer

from ...dialects.llvm_loops import AccessGroupAttr
from ...dialects.support.aliases import Alias, AliasedAttr, AliasedType
from ..op import HloOp
from ..types import HloTensor
from .aliases import AliasNames
from .constants import dense_text, float_text
from .locations import LocationNames

Spelling = Literal["hlo", "stablehlo"]

ELIDED = "dense_resource<__elided__>"

_HLO_ONLY = frozenset(("hlo.fusion",))
"""Operations that StableHLO lacks: they keep their name in either spelling."""

_ESCAPES = {byte: f"\\{byte:02X}" for byte in (*range(0x20), 0x22, *range(0x7F, 0x100))} | {0x5C: r"\\"}
"""MLIR's escapes of the bytes that a string literal cannot hold."""


def print_module(
    module: ModuleOp,
    *,
    generic: bool = False,
    locations: bool = False,
    elide_larger_than: int | None = None,
    spelling: Spelling = "hlo",
) -> str:
    """
    The text of a module, with a newline at its end.

    `generic` prints `"hlo.add"(%a, %b) : ..` for every operation, `locations` the `loc(#loc7)` of each with the
    locations after the module; constants of more than `elide_larger_than` elements become `dense_resource<__elided__>`,
    which does not read back.
    """
    return print_operation(
        module, generic=generic, locations=locations, elide_larger_than=elide_larger_than, spelling=spelling
    )


def print_operation(
    op: Operation,
    *,
    generic: bool = False,
    locations: bool = False,
    elide_larger_than: int | None = None,
    spelling: Spelling = "hlo",
) -> str:
    """The text of any operation; see `print_module`."""
    stream = StringIO()
    printer = HloPrinter(
        stream, generic=generic, locations=locations, elide_larger_than=elide_larger_than, spelling=spelling
    )
    printer.print_op(op)
    stream.write("\n")
    aliases = printer.aliases.definitions(printer.definition_of)
    defined = "".join(f"{name} = loc({text})\n" for name, text in printer.locations.definitions)
    # Only the locations after operations may be defined after their uses.
    first, last = (defined, "") if printer.has_location_attributes else ("", defined)
    return f"{first}{aliases}{stream.getvalue()}{last}"


class HloPrinter(Printer):
    """xDSL's printer with MLIR's constants and result groups."""

    def __init__(
        self,
        stream: IO[str] | None = None,
        *,
        generic: bool = False,
        locations: bool = False,
        elide_larger_than: int | None = None,
        spelling: Spelling = "hlo",
    ):
        super().__init__(stream, print_generic_format=generic, print_debuginfo=locations)
        self.elide_larger_than = elide_larger_than
        self.spelling: Spelling = spelling
        self.locations = LocationNames(self.text_of)
        self.aliases = AliasNames()
        self.has_location_attributes = False
        """Whether a location was printed as the value of an attribute."""
        self._dictionaries = 0
        self._groups: dict[int, Alias] = {}
        self._types: dict[int, tuple[Attribute, str]] = {}

    # Names -----------------------------------------------------------------------------------------------------

    def spell(self, name: str) -> str:
        """An operation's or attribute's name in the spelling asked for."""
        if self.spelling == "stablehlo" and name.startswith("hlo.") and name not in _HLO_ONLY:
            return f"stable{name}"
        return name

    def _print_results(self, op: Operation) -> None:
        results = op.results
        if len(results) < 2:
            super()._print_results(op) if not results else self._print_one_result(results[0])
            return
        hints = {result.name_hint for result in results}
        if len(hints) > 1:
            self.print_list(results, self.print_ssa_value)
            self.print_string(" = ")
            return
        self.print_string(f"%{self._group_name(results)}:{len(results)} = ")

    def _print_one_result(self, result: SSAValue) -> None:
        self.print_ssa_value(result)
        self.print_string(" = ")

    def _group_name(self, results: Any) -> str:
        """The common name of several results; each becomes `name#index`."""
        hint = results[0].name_hint
        if hint is None:
            name = self._get_new_valid_name_id()
        else:
            taken = self.ssa_names.get(hint, 0)
            self.ssa_names[hint] = taken + 1
            name = f"{hint}_{taken}" if taken else hint
        for index, result in enumerate(results):
            self._ssa_values[result] = f"{name}#{index}"
        return name

    # Operations ------------------------------------------------------------------------------------------------

    def print_op(self, op: Operation) -> None:
        name = op.name if isinstance(op, UnregisteredOp) else type(op).name
        spelled = self.spell(name)
        generic = isinstance(op, HloOp) and not op.has_short_form
        if generic or (spelled != name and not isinstance(op, UnregisteredOp)):
            self._print_spelled(op, spelled, generic or self.print_generic_format)
        else:
            super().print_op(op)

    def _print_spelled(self, op: Operation, spelled: str, generic: bool) -> None:
        """`print_op` under another name or in generic form, for operations without a scope of their own."""
        self._print_results(op)
        if generic or Operation.print is type(op).print:
            self.print_string(f'"{spelled}"')
            self.print_op_with_default_format(op)
            return
        self.print_string(spelled)
        op.print(self)
        if self.print_debuginfo:
            self.print_string(" ")
            self.print_attribute(op.location)

    def print_op_with_default_format(self, op: Operation) -> None:
        super().print_op_with_default_format(op)
        if self.print_debuginfo:
            self.print_string(" ")
            self.print_attribute(op.location)

    def print_operation_type(self, op: Operation) -> None:
        """Without the location: forms of operations (scf.while) print their type too, before their regions."""
        self.print_function_type(op.operand_types, op.result_types)

    # Strings ---------------------------------------------------------------------------------------------------

    def print_string(self, text: str, *, indent: int | None = None) -> None:
        """Most strings are pieces of a line: they are written without the detour over `print`."""
        if self.stream is None or "\n" in text:
            super().print_string(text, indent=indent)
        else:
            self._current_column += len(text)
            self.stream.write(text)

    def print_bytes_literal(self, bytestring: bytes) -> None:
        """The whole literal at once; xDSL prints each character by itself."""
        self.print_string(f'"{bytestring.decode("latin-1").translate(_ESCAPES)}"')

    # Attributes ------------------------------------------------------------------------------------------------

    def print_attribute(self, attribute: Attribute) -> None:
        own = _own_printing(type(attribute))
        if own is not None:
            own(self, attribute)
        elif self.spelling != "hlo" and attribute.name.startswith("hlo."):
            self._print_spelled_attribute(attribute)
        else:
            super().print_attribute(attribute)

    def print_attr_dict(self, attr_dict: Mapping[str, Attribute]) -> None:
        self._dictionaries += 1
        super().print_attr_dict(attr_dict)
        self._dictionaries -= 1

    def _group_alias(self, group: AccessGroupAttr) -> Alias:
        """The alias of an access group, as MLIR names it."""
        number = group.number.data
        if number not in self._groups:
            self._groups[number] = Alias(f"#access_group{number or ''}", group, -1)
        return self._groups[number]

    def definition_of(self, attribute: Attribute) -> str:
        """The text that the alias of an attribute stands for."""
        return self.text_of(attribute, Printer if isinstance(attribute, AccessGroupAttr) else None)

    def text_of(self, attribute: Attribute, kind: type[Printer] | None = None) -> str:
        """The text of an attribute as this printer writes it; its outermost level as a printer of class `kind` does."""
        stream = StringIO()
        printer = type(self)(stream, spelling=self.spelling, elide_larger_than=self.elide_larger_than)
        printer.locations, printer.aliases, printer._groups = self.locations, self.aliases, self._groups
        (kind or type(self)).print_attribute(printer, attribute)
        return stream.getvalue()

    def _print_tensor_type(self, type_: HloTensor) -> None:
        """Types repeat: their text is kept by identity, with the type so that it stays alive."""
        known = self._types.get(id(type_))
        if known is None:
            known = self._types[id(type_)] = (type_, self.text_of(type_, Printer))
        text = known[1]
        if self.spelling != "hlo":
            text = text.replace("!hlo.", "!stablehlo.").replace("#hlo.", "#stablehlo.")
        self.print_string(text)

    def _print_group(self, group: AccessGroupAttr) -> None:
        self.print_string(self.aliases.name(self._group_alias(group)))

    def _print_location(self, location: LocationAttr) -> None:
        self.has_location_attributes |= self._dictionaries > 0
        self.print_string(f"loc({self.locations.name(location)})")

    def _print_alias(self, attribute: AliasedAttr | AliasedType) -> None:
        self.print_string(self.aliases.name(attribute.data))

    def _print_resource(self, attribute: DenseResourceAttr) -> None:
        self.print_string(f"dense_resource<{attribute.resource_handle.data}> : ")
        self.print_attribute(attribute.get_type())

    def _print_dense(self, attribute: DenseIntOrFPElementsAttr[Any]) -> None:
        limit = self.elide_larger_than
        if limit is not None and _element_count(attribute) > limit:
            self.print_string(ELIDED)
        else:
            self.print_string(f"dense<{dense_text(attribute)}>")
        self.print_string(" : ")
        self.print_attribute(attribute.get_type())

    def _print_spelled_attribute(self, attribute: Attribute) -> None:
        """xDSL takes the name from the class: the text is made first and its head respelled, and what it holds."""
        text = self.text_of(attribute, Printer)
        head = "#hlo<" if isinstance(attribute, SpacedOpaqueSyntaxAttribute) else f"{text[0]}hlo."
        self.print_string(text.replace(head, f"{head[0]}stable{head[1:]}", 1))

    def print_float(self, value: float, type: AnyFloat) -> None:
        self.print_string(float_text(value, type))

    OWN: ClassVar[dict[type[Attribute] | UnionType, Callable[[HloPrinter, Any], None]]] = {
        TensorType: _print_tensor_type,
        DenseIntOrFPElementsAttr: _print_dense,
        AccessGroupAttr: _print_group,
        LocationAttr: _print_location,
        AliasedAttr: _print_alias,
        AliasedType: _print_alias,
        DenseResourceAttr: _print_resource,
    }
    """The attributes that are not written as xDSL writes them, by class."""


@cache
def _own_printing(kind: type[Attribute]) -> Callable[[HloPrinter, Any], None] | None:
    """The method for attributes of a class; `isinstance` of each class, all abstract ones, takes long."""
    return next((method for base, method in HloPrinter.OWN.items() if issubclass(kind, base)), None)


def _element_count(attribute: DenseIntOrFPElementsAttr[Any]) -> int:
    """Elements that would be written: a splat is one."""
    return len(attribute)
