"""
custom_call: an operation that the program's environment defines, by name.

What xhlo itself understands: the `check.*` targets (check_calls.py) and targets that only annotate their operand.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
    TupleType,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind

from .attributes import OutputOperandAliasAttr, ints
from .op import HloOp, check
from .structural_syntax import finish_functional, print_attributes, print_functional, print_values
from .types import Array

IDENTITY_TARGETS = frozenset(
    (
        "Sharding",
        "SPMDFullToShardShape",
        "SPMDShardToFullShape",
        "annotate_device_placement",
        "LayoutConstraint",
    )
)
"""Targets that annotate: on one device their results are their operands."""

_EFFECTS = frozenset((EffectInstance(MemoryEffectKind.READ), EffectInstance(MemoryEffectKind.WRITE)))


class CustomCallEffects(MemoryEffect):
    """A custom call is taken for one with side effects unless it states `has_side_effect = false`."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        stated = op.properties.get("has_side_effect")
        pure = isinstance(stated, IntegerAttr) and stated.value.data == 0
        return frozenset() if pure else _EFFECTS


@irdl_op_definition
class CustomCallOp(HloOp):
    """
    Call what the environment knows as `call_target_name`.

    api_version 1 to 3 pass backend_config as a string, 4 (typed FFI) as a dictionary. Layouts, aliases and called
    computations are kept as they are.

    Shapes: operands and results as the target wants them.
    Raises: VerifyException naming custom_call_* (the spec numbers no constraint; these are StableHLO's).
    Spec:   https://openxla.org/stablehlo/spec#custom_call
    """

    name = "hlo.custom_call"
    inputs = var_operand_def()
    call_target_name = prop_def(StringAttr)
    has_side_effect = opt_prop_def(IntegerAttr[IntegerType])
    backend_config = opt_prop_def()
    api_version = opt_prop_def(IntegerAttr[IntegerType])
    called_computations = opt_prop_def(ArrayAttr[SymbolRefAttr])
    operand_layouts = opt_prop_def(ArrayAttr)
    result_layouts = opt_prop_def(ArrayAttr)
    output_operand_aliases = opt_prop_def(ArrayAttr[OutputOperandAliasAttr])
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
        version = 1 if self.api_version is None else self.api_version.value.data
        check(0 <= version <= 4, lambda: f"custom_call_api_version: {version} is not one of 0, 1, 2, 3, 4")
        config = self.backend_config
        if version == 4:
            check(
                config is None or isinstance(config, (DictionaryAttr, StringAttr)),
                "custom_call_backend_config: api_version 4 takes a dictionary",
            )
        else:
            check(
                config is None or isinstance(config, StringAttr),
                lambda: f"custom_call_backend_config: api_version {version} takes a string",
            )
        self._verify_layouts()
        self._verify_aliases()

    def _verify_layouts(self) -> None:
        """operand_layouts and result_layouts: both or neither, one for each operand and result."""
        operands, results = self.operand_layouts, self.result_layouts
        check(
            (operands is None) == (results is None),
            "custom_call_layouts: operand_layouts and result_layouts are given both or neither",
        )
        if operands is None or results is None:
            return
        types = tuple(self.result_types)
        if len(types) == 1 and isinstance(types[0], TupleType):
            types = types[0].types.data
        for name, layouts, count in (
            ("operand", operands, len(self.operands)),
            ("result", results, len(types)),
        ):
            check(
                len(layouts.data) == count,
                lambda name=name, layouts=layouts, count=count: (
                    f"custom_call_layouts: there are {len(layouts.data)} {name}_layouts for {count} {name}s"
                ),
            )

    def _verify_aliases(self) -> None:
        for alias in () if self.output_operand_aliases is None else self.output_operand_aliases.data:
            index = alias.operand_index.value.data
            check(
                0 <= index < len(self.operands),
                lambda index=index: (
                    f"custom_call_output_operand_aliases: operand_index {index} is not in [0, {len(self.operands)})"
                ),
            )
            outputs = ints(alias.output_tuple_indices)
            if len(outputs) == 1 and len(self.results) > 1:
                check(
                    0 <= outputs[0] < len(self.results),
                    lambda outputs=outputs: (
                        f"custom_call_output_operand_aliases: output {outputs[0]} is not in [0, {len(self.results)})"
                    ),
                )

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        if self.target in IDENTITY_TARGETS and tuple(self.operand_types) == tuple(self.result_types):
            return tuple(self.operands)
        return None

    def reference(self, *operands: Array) -> tuple[Array, ...]:
        if self.target in IDENTITY_TARGETS and len(operands) == len(self.results):
            return operands
        raise NotImplementedError(f"custom call target '{self.target}' is unknown")


OPS = (CustomCallOp,)
