"""The parameters that functions of memrefs write to."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import func
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Operation

from ...dialects.cpu import WRITTEN
from ...dialects.support.views import uses_through_views
from ...hlo_dialect.walking import int_values

_READS = frozenset({"memref.load", "vector.load", "vector.maskedload", "vector.gather", "vector.transfer_read"})
_READS_OF_FIRST = frozenset({"memref.copy", "cpu.prefetch"})


class Writes:
    """The parameters that functions write to."""

    def __init__(self, functions: Mapping[str, func.FuncOp]):
        self.functions = functions
        self._known: dict[tuple[str, int], bool] = {}

    def of(self, name: str, parameter: int) -> bool:
        """Whether a function may write to the memory of a parameter."""
        key = name, parameter
        if key not in self._known:
            self._known[key] = True  # of a function that calls itself, which there is none of
            function = self.functions.get(name)
            if function is not None and WRITTEN in function.attributes:
                # A function that is known is only declared.
                self._known[key] = parameter in int_values(function.attributes[WRITTEN])
            elif function is not None and not function.is_declaration:
                uses = uses_through_views(function.body.blocks[0].args[parameter])
                self._known[key] = any(self.is_write(use.operation, use.index) for use in uses)
        return self._known[key]

    def is_write(self, op: Operation, index: int) -> bool:
        """Whether an operation may write to the memory of an operand."""
        if isinstance(op, func.CallOp):
            return self.of(op.callee.root_reference.data, index)
        if isinstance(op, GenericOp):
            return index >= len(op.inputs)
        return not (op.name in _READS or (op.name in _READS_OF_FIRST and index == 0))
