"""
Calls: custom_call, of a registered target, and composite, of the function that decomposes it.

The targets are in custom_calls/; those called `check.*` in check_calls.py.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any, ClassVar, cast

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FlatSymbolRefAttrConstr,
    IndexType,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    TupleType,
)
from xdsl.dialects.utils.enum_attribute import EnumAttribute
from xdsl.ir import Attribute, Operation, Region, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    irdl_attr_definition,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind
from xdsl.utils.str_enum import StrEnum

from ..attributes import OutputOperandAliasAttr, ints
from ..collectives.tokens import TOKEN
from ..op import HloOp, Role, reject
from ..shapes import types_agree
from ..syntax.structural import finish_functional, print_attributes, print_functional, print_values
from ..types import Array, element_of, i1, i32, numpy_dtype, tensor_type
from .call import complex_view, describe_call, is_token, stored_view
from .markers import IDENTITIES
from .registry import run_target, target_of

_EFFECTS = frozenset((EffectInstance(MemoryEffectKind.READ), EffectInstance(MemoryEffectKind.WRITE)))


class CustomCallEffects(MemoryEffect):
    """A custom call has side effects if it says so, or if it is a check."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        stated = op.properties.get("has_side_effect")
        if isinstance(stated, IntegerAttr) and stated.value.data != 0:
            return _EFFECTS
        from ..ops.check_calls import is_check

        return _EFFECTS if is_check(op) else frozenset()


class Schedule(StrEnum):
    """When a custom call should run among those that are ready."""

    NONE = "NONE"
    LATEST = "LATEST"
    EARLIEST = "EARLIEST"


@irdl_attr_definition
class CustomCallScheduleAttr(EnumAttribute[Schedule], SpacedOpaqueSyntaxAttribute):
    """`#hlo<custom_call_schedule LATEST>`: a hint that MHLO has; results do not depend on it."""

    name = "hlo.custom_call_schedule"


@irdl_op_definition
class CustomCallOp(HloOp):
    """
    Call the target registered as `call_target_name`.

    api_version 0 to 3 pass backend_config as a string, 4 (typed FFI) as a dictionary. Layouts, aliases and called
    computations are kept as they are.

    Shapes: operands and results as the target demands; layouts are permutations of their dimensions.
    Types: call_target_name (i2), has_side_effect (i3), backend_config (i4), api_version (i5), called_computations (i6).
    Raises: VerifyException naming custom_call_* (the spec numbers no constraint but types; the others are StableHLO's).
    Spec:   https://openxla.org/stablehlo/spec#custom_call
    """

    name = "hlo.custom_call"
    ROLE: ClassVar[Role | None] = "custom"
    inputs = var_operand_def()
    call_target_name = prop_def(StringAttr)
    has_side_effect = opt_prop_def()
    backend_config = opt_prop_def()
    api_version = opt_prop_def()
    called_computations = opt_prop_def()
    operand_layouts = opt_prop_def(ArrayAttr)
    result_layouts = opt_prop_def(ArrayAttr)
    output_operand_aliases = opt_prop_def(ArrayAttr[OutputOperandAliasAttr])
    custom_call_schedule = opt_prop_def(CustomCallScheduleAttr)
    outs = var_result_def()
    traits = traits_def(CustomCallEffects())

    @property
    def target(self) -> str:
        return self.call_target_name.data

    @classmethod
    def parse(cls, parser: Parser) -> CustomCallOp:
        target = parser.parse_symbol_name()
        operands = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        return finish_functional(cls, parser, operands, {"call_target_name": target})

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.target)
        printer.print_string("(")
        print_values(printer, self.operands)
        printer.print_string(")")
        print_attributes(printer, self, ("call_target_name",))
        print_functional(printer, self)

    def infer_types(self) -> tuple[Attribute, ...]:
        return tuple(self.result_types)

    def verify_(self) -> None:
        effect = self.has_side_effect
        if not (effect is None or (isinstance(effect, IntegerAttr) and cast(Any, effect).type == i1)):
            reject(f"custom_call_i3: has_side_effect is {effect}, expected true or false")
        stated = self.api_version
        version = 1 if stated is None else cast(Any, stated).value.data if isinstance(stated, IntegerAttr) else -1
        if not (0 <= version <= 4):
            reject(f"custom_call_i5: api_version {stated} is not one of 0, 1, 2, 3, 4")
        if not bool(self.target):
            reject("custom_call_i2: call_target_name is empty")
        config = self.backend_config
        if version == 4:
            if not (config is None or isinstance(config, DictionaryAttr)):
                reject("custom_call_i4: backend_config is not a dictionary, which api_version 4 takes")
        else:
            if not (config is None or isinstance(config, StringAttr)):
                reject(f"custom_call_i4: backend_config is not a string, which api_version {version} takes")
        called = self.called_computations
        names = cast("ArrayAttr[Attribute]", called).data if isinstance(called, ArrayAttr) else None
        if not (called is None or (names is not None and all(isinstance(name, SymbolRefAttr) for name in names))):
            reject(f"custom_call_i6: called_computations is {called}, expected names of functions")
        self._verify_layouts()
        self._verify_aliases()

    def _verify_layouts(self) -> None:
        """operand_layouts and result_layouts: both or neither, a permutation for each operand and result."""
        operands, results = self.operand_layouts, self.result_layouts
        if (operands is None) != (results is None):
            reject("custom_call_layouts: operand_layouts and result_layouts are given both or neither")
        if operands is None or results is None:
            return
        for name, layouts, types in (
            ("operand", operands, tuple(self.operand_types)),
            ("result", results, self._result_parts()),
        ):
            each = layouts.data
            if len(each) != len(types):
                reject(f"custom_call_layouts: there are {len(each)} {name}_layouts for {len(types)} {name}s")
            for layout, type_ in zip(each, types, strict=True):
                _verify_layout(layout, type_, name)

    def _result_parts(self) -> tuple[Attribute, ...]:
        """The result types; those of the elements for a single tuple."""
        types = tuple(self.result_types)
        return types[0].types.data if len(types) == 1 and isinstance(types[0], TupleType) else types

    def _verify_aliases(self) -> None:
        """Each alias names a part of an operand and a part of the results, of one type."""
        types: list[Any] = list(self.result_types)
        results: Attribute = types[0] if len(types) == 1 else TupleType(tuple(types))
        for alias in () if self.output_operand_aliases is None else self.output_operand_aliases.data:
            index = alias.operand_index.value.data
            if not (0 <= index < len(self.operands)):
                reject(f"custom_call_output_operand_aliases: operand_index {index} is not in [0, {len(self.operands)})")
            operand = _part(self.operands[index].type, ints(alias.operand_tuple_indices), "operand_tuple_indices")
            output = _part(results, ints(alias.output_tuple_indices), "output_tuple_indices")
            if not types_agree(operand, output):
                reject(
                    f"custom_call_output_operand_aliases: the operand's part has type {operand}, the output's {output}"
                )

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        """A call that only marks its operands folds to them."""
        if self.target in IDENTITIES and tuple(self.operand_types) == tuple(self.result_types):
            return tuple(self.operands)
        return None

    def reference(self, *operands: Array) -> tuple[Array, ...]:
        target = target_of(self)
        if target.is_identity:
            return operands
        call = describe_call(self)
        given = [array for array, value in zip(operands, self.operands, strict=True) if not is_token(value.type)]
        arrays = [complex_view(array, seen) for array, seen in zip(given, call.operands, strict=True)]
        results = iter(run_target(target, call, arrays))
        return tuple(
            TOKEN if is_token(result.type) else stored_view(next(results), numpy_dtype(element_of(result)))
            for result in self.results
        )


def _verify_layout(layout: Attribute, type_: Attribute, name: str) -> None:
    """The dimensions of a tensor, minor to major; empty for other types."""
    dense = cast("DenseIntOrFPElementsAttr[Any]", layout) if isinstance(layout, DenseIntOrFPElementsAttr) else None
    known = dense is not None and isinstance(dense.get_element_type(), IndexType) and len(dense.get_shape()) == 1
    if not known:
        reject(f"custom_call_layouts: {name} layout {layout} is no vector of index")
    assert dense is not None
    rank = len(tensor_type(cast(Attribute, type_)).get_shape()) if isinstance(type_, TensorType) else 0
    if dense.get_shape() != (rank,) or sorted(_index_values(dense)) != list(range(rank)):
        reject(f"custom_call_layouts: {name} layout {layout} is no permutation of the {rank} dimensions of {type_}")


def _index_values(dense: DenseIntOrFPElementsAttr[Any]) -> list[int]:
    values = np.frombuffer(dense.data.data, np.int64)
    return values.tolist() * (dense.get_shape()[0] if len(values) == 1 else 1)


def _part(type_: Attribute, indices: Sequence[int], name: str) -> Attribute:
    """The element of nested tuples at these indices."""
    for index in indices:
        inside = isinstance(type_, TupleType) and 0 <= index < len(type_.types.data)
        if not inside:
            reject(f"custom_call_output_operand_aliases: {name}: there is no {index} in {type_}")
        type_ = cast(TupleType, type_).types.data[index]
    return type_


_NAMESPACED = re.compile(r"[a-zA-Z][a-zA-Z0-9_]*([.][a-zA-Z0-9_$]+)+")


@irdl_op_definition
class CompositeOp(HloOp):
    """
    An operation made of others, defined by the function `decomposition`.

    Shapes: operands and results are those of the decomposition (c3, c4).
    Raises: VerifyException naming composite_c1, i3, i5; the module's verifier names c2, c3 and c4, which depend on the
            function.
    Spec:   https://openxla.org/stablehlo/spec#composite
    """

    name = "hlo.composite"
    inputs = var_operand_def()
    op_name = prop_def(StringAttr, prop_name="name")
    composite_attributes = opt_prop_def()
    decomposition = prop_def(FlatSymbolRefAttrConstr)
    version = opt_prop_def(IntegerAttr)
    outs = var_result_def()
    composite_regions = var_region_def()

    @property
    def arguments(self) -> Sequence[SSAValue]:
        """The operands, under the name that func.call uses."""
        return self.operands

    @property
    def callee(self) -> SymbolRefAttr:
        """The decomposition, under the name that func.call uses."""
        return cast(SymbolRefAttr, self.properties["decomposition"])

    @classmethod
    def parse(cls, parser: Parser) -> CompositeOp:
        name = StringAttr(parser.parse_str_literal())
        operands = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        regions: list[Region] = []
        if parser.parse_optional_punctuation("(") is not None:
            regions.append(parser.parse_region())
            while parser.parse_optional_punctuation(",") is not None:
                regions.append(parser.parse_region())
            parser.parse_punctuation(")")
        op = finish_functional(cls, parser, operands or [], {"name": name})
        for region in regions:
            op.add_region(region)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_string_literal(cast(StringAttr, self.properties["name"]).data)
        if self.operands:
            printer.print_string(" ")
            print_values(printer, self.operands)
        if self.regions:
            printer.print_string(" (")
            printer.print_list(self.regions, printer.print_region)
            printer.print_string(")")
        print_attributes(printer, self, ("name",))
        print_functional(printer, self)

    def infer_types(self) -> tuple[Attribute, ...]:
        return tuple(self.result_types)

    def verify_(self) -> None:
        name = cast(StringAttr, self.properties["name"]).data
        if _NAMESPACED.fullmatch(name) is None:
            reject(f"composite_c1: name '{name}' has no namespace before its own name, as 'library.operation' has")
        attributes = self.composite_attributes
        if not (attributes is None or isinstance(attributes, DictionaryAttr)):
            reject("composite_i3: composite_attributes is not a dictionary")
        version = self.version
        if version is not None and version.type != i32:
            reject(f"composite_i5: version has type {cast(Any, version).type}, expected i32")


OPS = (CompositeOp, CustomCallOp)
ATTRIBUTES = (CustomCallScheduleAttr,)
