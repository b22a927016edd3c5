"""
One-to-many conversion of values: a tuple to its elements, a complex tensor to two real ones, a fragment to registers.

Operations that only carry values, such as loops, branches and returns, are converted here, because they are all
converted in the same way. The model is MLIR's one-to-N dialect conversion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, FunctionType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from .buffers import i32_array
from .editing import insert_before, replace_uses
from .rewriting import Replaced, like


class Spread:
    """
    The replacements of each converted value of one function, and the conversion of operations that carry values.

    `types` maps a type to the types of its replacements (any number, or none), or to None if it stays. `suffixes` are
    added to a value's name for its replacements. The caller visits operations in program order, converts those that
    compute and calls `replace` for their results; `erase` ends the conversion.
    """

    def __init__(self, types: Callable[[Attribute], Sequence[Attribute] | None], suffixes: Sequence[str] = ()):
        self.types = types
        self.suffixes = suffixes
        self.parts: dict[SSAValue, tuple[SSAValue, ...]] = {}
        self.replaced = Replaced()

    def concerns(self, op: Operation) -> bool:
        """Whether an operand, a result or an argument of a region has a type that is converted."""
        return any(self.types(value.type) is not None for value in (*op.operands, *op.results)) or any(
            self.types(argument.type) is not None
            for region in op.regions
            for block in region.blocks
            for argument in block.args
        )

    def of(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        """The values with each converted one replaced by its parts."""
        return [part for value in values for part in self.parts.get(value, (value,))]

    def types_of(self, types: Sequence[Attribute]) -> list[Attribute]:
        """The types with each converted one replaced by those of its parts."""
        found: list[Attribute] = []
        for type_ in types:
            parts = self.types(type_)
            found += (type_,) if parts is None else parts
        return found

    def replace(self, old: SSAValue, new: Sequence[SSAValue]) -> None:
        """Record the replacements of a value: its parts, or a single value if its type stays."""
        wanted, given = self.types_of([old.type]), [value.type for value in new]
        if given != wanted:
            raise TypeError(f"a value of type {old.type} becomes {_names(wanted)}, not {_names(given)}")
        if self.types(old.type) is None:
            (value,) = new
            replace_uses(old, value)
            return
        self.parts[old] = tuple(new)
        for part, suffix in zip(new, self.suffixes, strict=False):
            if part.name_hint is None and old.name_hint is not None:
                part.name_hint = f"{old.name_hint}{suffix}"

    def arguments(self, block: Block, group: int = 1) -> None:
        """
        Convert the arguments of a block.

        Arguments in groups of `group` values of one type, like the pairs that a sort compares, are converted part by
        part: z, w become z_re, w_re, z_im, w_im.
        """
        old = list(block.args)
        for first in range(0, len(old), group):
            members = old[first : first + group]
            types = self.types(members[0].type)
            if types is None:
                continue
            parts = [block.insert_arg(type_, members[0].index) for type_ in types for _ in members]
            for position, argument in enumerate(members):
                self.replace(argument, parts[position :: len(members)])
            self.replaced.arguments += members

    def operands(self, op: Operation) -> None:
        """Replace the operands of a return or branch by their parts, in place."""
        segments = self._segments(op)
        op.operands = self.of(op.operands)
        op.properties.update(segments)

    def carry(self, op: Operation) -> None:
        """
        Insert the same operation on the parts of its operands and results before `op`, which stays until `erase`.

        The new operation takes the regions, whose arguments and contents the caller has converted. An operation without
        results and regions is changed in place.
        """
        if not op.results and not op.regions:
            self.operands(op)
            return
        new = like(op, self.of(op.operands), self.types_of(op.result_types), self._segments(op))
        insert_before(new, op)
        results = iter(new.results)
        for old in op.results:
            self.replace(old, [next(results) for _ in self.types_of([old.type])])
        self.replaced.operations.append(op)

    def _segments(self, op: Operation) -> dict[str, Attribute]:
        """The sizes of the operand groups, if the operation states them, with all parts counted."""
        stated = op.properties.get("operandSegmentSizes")
        if stated is None:
            return {}
        operands = iter(op.operands)
        sizes = [
            len(self.of([next(operands) for _ in range(int(size))]))
            for size in cast("DenseArrayBase[Any]", stated).get_values()
        ]
        return {"operandSegmentSizes": i32_array(tuple(sizes))}

    def signature(self, function: func.FuncOp) -> None:
        """Convert a function's type; the parts of an argument or result have its attributes."""
        inputs, outputs = function.function_type.inputs.data, function.function_type.outputs.data
        for name, types in (("arg_attrs", inputs), ("res_attrs", outputs)):
            attributes = function.properties.get(name)
            if isinstance(attributes, ArrayAttr):
                each = zip(cast("ArrayAttr[Any]", attributes).data, types, strict=True)
                function.properties[name] = ArrayAttr([entry for entry, t in each for _ in self.types_of([t])])
        function.properties["function_type"] = FunctionType.from_lists(self.types_of(inputs), self.types_of(outputs))

    def erase(self) -> None:
        """Erase all replaced operations and arguments."""
        self.replaced.erase()


def _names(types: Sequence[Attribute]) -> str:
    return ", ".join(map(str, types)) or "nothing"
