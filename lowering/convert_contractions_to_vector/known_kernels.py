"""
Kernels that other programs are likely to contain too: a product or a convolution with all that is fused with it.

Such a kernel is a shared function as a whole, with the loops around its micro-kernels, and found before it is lowered
by what it computes. It takes its scratch buffers as arguments, which are allocated before each call then.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Block, Operation, Region

from ...dialects.cpu import SHARED
from ...dialects.support.attributes import function_op
from ...dialects.support.buffer_ops import alloc
from ...dialects.support.editing import erase_op
from ...dialects.support.kernel import CONTRACTION, OF_KERNELS, Kernel, host_functions
from ...hlo_dialect.walking import TypeFact, operations_in, operations_of, structure
from ..device.cpu import Machine
from .shared_function import KnownFunctions, known_functions

_text = TypeFact(str)


@dataclass(frozen=True)
class KnownKernels:
    """The kernels of a module that may be shared, with their calls."""

    known: KnownFunctions | None
    machine: Machine
    calls: Mapping[str, Sequence[func.CallOp]]

    @classmethod
    def of(cls, module: ModuleOp, machine: Machine) -> KnownKernels:
        """
        None where no compilation leaves out what is known, and in programs with control flow: loops may take kernels
        in (outline-loops), and pack what they pass to them (factors/invariant.py).
        """
        known = known_functions()
        calls: dict[str, list[func.CallOp]] = {}
        for op in () if known is None else _host_operations(module):
            if op.regions:
                return cls(None, machine, {})
            if type(op) is func.CallOp:
                calls.setdefault(op.callee.root_reference.data, []).append(op)
        return cls(known, machine, calls)

    def leave_out(self, kernel: func.FuncOp) -> bool:
        """
        Whether a kernel is known: its calls are those of a function without a body now. One that may become known is
        marked as shared.
        """
        calls = self.calls.get(kernel.sym_name.data)
        if self.known is None or not calls or not _is_alone(kernel):
            return False
        stated = (self.known.target, self.machine, _facts(kernel), structure(kernel.body, _text))
        key = hashlib.sha256(repr(stated).encode()).hexdigest()
        if not self.known.has(key) or key not in self.known.found:
            kernel.attributes[SHARED] = StringAttr(key)
            return False
        types = self.known.scratch[key] = self.known.scratch_of(key)
        inputs = [*kernel.function_type.inputs.data, *types]
        function = function_op(kernel.sym_name.data, inputs, (), Region())
        function.attributes |= {name: each for name, each in kernel.attributes.items() if name not in OF_KERNELS}
        function.attributes[SHARED] = StringAttr(key)
        function.location = kernel.location
        cast(Block, kernel.parent).insert_ops_after([function], kernel)
        erase_op(kernel)
        for call in calls:
            buffers = [alloc(type_) for type_ in types]
            cast(Block, call.parent).insert_ops_before(buffers, call)
            call.operands = [*call.operands, *(buffer.memref for buffer in buffers)]
        return True


def _host_operations(module: ModuleOp) -> Iterator[Operation]:
    functions = (function for function in host_functions(module) if SHARED not in function.attributes)
    return (op for function in functions for block in function.body.blocks for op in operations_of(block))


def _facts(kernel: func.FuncOp) -> Sequence[tuple[str, str]]:
    """The attributes of a kernel, those of its arguments among them, as text."""
    named: Mapping[str, Attribute] = {**kernel.attributes, **kernel.properties}
    return [(name, _text(named[name])) for name in sorted(named) if name != "sym_name"]


def _is_alone(kernel: func.FuncOp) -> bool:
    """Whether a kernel has a product, and depends on nothing else in its module."""
    ops = operations_in(kernel)[1:]
    if Kernel(kernel).constants or not any(CONTRACTION in op.attributes for op in ops):
        return False
    return not any(isinstance(each, SymbolRefAttr) for op in ops for each in op.properties.values())
