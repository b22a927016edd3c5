"""
Factors of products that no iteration of a loop changes, such as the weights of a recurrence: they are packed before it.

The panels come as a parameter of the kernel, from a buffer that a kernel of its own fills before the loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ArrayAttr, BFloat16Type, DictionaryAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import BlockArgument, Operation, Region, SSAValue

from ....dialects.support.attributes import call_op, function_op, integer_attr, return_op, symbol
from ....dialects.support.buffer_ops import alloc, byte_size
from ....dialects.support.buffers import Buffer, memref_type
from ....dialects.support.creation import new_block
from ....dialects.support.editing import insert_before
from ....dialects.support.kernel import CONTRACTION, PROGRAM, Kernel, host_functions, kernels_of, most_trips
from ....dialects.support.views import root_buffer, uses_through_views
from ....hlo_dialect.walking import operations_in
from ...loop_nests.loop_builder import LoopBuilder, buffer_of
from ...loop_nests.writes import Writes
from ..blocking import Blocking
from ..operand import Operand
from ..packing import Packer
from ..panel import Packed

MOST_BYTES = 3 << 22
"""Bytes of the panels of a factor that are kept through a loop: larger ones come from memory, as the factor does."""


@dataclass(frozen=True)
class Given:
    """The buffer that a call in a loop passes to a parameter."""

    call: func.CallOp
    value: SSAValue
    loop: Operation
    """The outermost loop around the call that does not change it."""


class InvariantFactors:
    """The parameters of the kernels of a module that loops around all calls do not change, and their panels."""

    def __init__(self, module: ModuleOp):
        """Call this before a product is converted."""
        self.module = module
        self._given: dict[tuple[str, int], Sequence[Given]] = {}
        self._panels: dict[tuple[object, ...], SSAValue] = {}
        self._packing: dict[tuple[object, ...], _Packing] = {}
        functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, func.FuncOp)}
        writes = Writes(functions)
        for name, calls in _calls_in_loops(module).items():
            constants = Kernel(functions[name]).constants
            for number in range(len(calls[0].operands)):
                given = [_given(call, call.operands[number], writes) for call in calls]
                if number not in constants and None not in given:
                    self._given[name, number] = [each for each in given if each is not None]

    def given(self, kernel: func.FuncOp, factor: SSAValue) -> Sequence[Given]:
        """The buffers that calls pass to a parameter which no loop around them changes; none for other parameters."""
        number = factor.index if isinstance(factor, BlockArgument) else -1
        return self._given.get((kernel.sym_name.data, number), ())

    def packed(
        self, kernel: func.FuncOp, operand: Operand, blocking: Blocking, element: Packed, bias: int
    ) -> Iterator[tuple[func.CallOp, SSAValue]]:
        """
        The calls of a kernel with the buffer of the panels of a factor for each, which is filled before the loop; none
        if loops change it, or the panels are large, or state a least number (panel.py).
        """
        type_ = memref_type((operand.matrices * operand.panels * operand.panel_size,), element)
        if isinstance(element, BFloat16Type) or byte_size(type_) > MOST_BYTES:
            return
        for given in self.given(kernel, operand.access.root):
            key = given.loop, given.value, operand.layout, element, bias
            if key not in self._panels:
                panels = alloc(type_)
                name = self._kernel(kernel, operand, blocking, panels.memref, bias)
                call = call_op(name, [given.value, panels.memref])
                for op in (panels, call):
                    op.location = given.call.location
                    insert_before(op, given.loop)
                self._panels[key] = panels.memref
            yield given.call, self._panels[key]

    def _kernel(self, kernel: func.FuncOp, operand: Operand, blocking: Blocking, panels: SSAValue, bias: int) -> str:
        """The name of a kernel that packs a factor of `kernel`; it is made if there is none yet."""
        types = operand.access.root.type, panels.type
        key = operand.layout, types, bias
        if key not in self._packing:
            name = f"{kernel.sym_name.data}_panels_{len(self._packing)}"
            block = new_block(types)
            function = function_op(name, types, (), Region(block))
            block.add_op(return_op())
            Kernel.mark(function, StringAttr("pack"), 0, ())
            self.module.body.block.insert_op_after(function, kernel)
            access = replace(operand.access, root=block.args[0])
            whole = replace(operand, access=access, local=False, run=1)
            element, builder = buffer_of(panels).element_type, LoopBuilder(function)
            nothing, target = _NothingPacked(), block.args[1]
            packer = Packer(builder, function, whole, blocking, cast(Packed, element), bias, nothing, into=target)
            packer.pack_beforehand()
            self._packing[key] = _Packing(name, sum(byte_size(cast(Buffer, each)) for each in types))
        self._packing[key].sites += 1
        return self._packing[key].name

    def describe(self) -> None:
        """Describe the kernels that were made, as outline-kernels describes others."""
        program = self.module.attributes.get(PROGRAM)
        if not self._packing or not isinstance(program, DictionaryAttr):
            return
        stated = cast("ArrayAttr[DictionaryAttr]", program.data.get("kernels", ArrayAttr(())))
        found = {cast(SymbolRefAttr, each.data["name"]).root_reference.data: each for each in stated}
        for each in self._packing.values():
            numbers = {"ops": 1, "bytes": each.bytes, "flops": 0, "sites": each.sites}
            facts = {fact: integer_attr(number) for fact, number in numbers.items()}
            found[each.name] = DictionaryAttr({"name": symbol(each.name), "kind": StringAttr("pack"), **facts})
        names = [kernel.sym_name.data for kernel in kernels_of(self.module)]
        kernels = ArrayAttr([found[name] for name in names if name in found])
        self.module.attributes[PROGRAM] = DictionaryAttr({**program.data, "kernels": kernels})


@dataclass
class _Packing:
    """A kernel that packs a factor."""

    name: str
    bytes: int
    sites: int = 0


class _NothingPacked:
    def panels(self, operand: Operand, blocking: Blocking, element: Packed, bias: int) -> SSAValue | None:
        return None


def _calls_in_loops(module: ModuleOp) -> dict[str, list[func.CallOp]]:
    """The calls of the kernels with products all of whose calls are in loops of the host program."""
    names = {
        kernel.sym_name.data
        for kernel in kernels_of(module)
        if any(CONTRACTION in op.attributes for op in kernel.body.block.ops)
    }
    found: dict[str, list[func.CallOp]] = {}
    for function in host_functions(module) if names else ():
        for op in operations_in(function):
            if isinstance(op, func.CallOp) and (name := op.callee.root_reference.data) in names:
                found.setdefault(name, []).append(op)
    return {name: calls for name, calls in found.items() if all(any(_loops_around(call)) for call in calls)}


def _loops_around(op: Operation) -> Iterator[Operation]:
    """The loops around an operation of a host function, from the inside out."""
    while (parent := op.parent_op()) is not None:
        op = parent
        if isinstance(op, (scf.WhileOp, scf.ForOp)):
            yield op


def _given(call: func.CallOp, value: SSAValue, writes: Writes) -> Given | None:
    """The buffer that a call passes to a parameter, if a loop around it that runs more than once does not change it."""
    root, found, repeats = root_buffer(value), None, False
    for loop in _loops_around(call):
        uses = (use for use in uses_through_views(root) if loop.is_ancestor(use.operation))
        if loop.is_ancestor(value.owner) or any(writes.is_write(use.operation, use.index) for use in uses):
            break
        found, repeats = loop, repeats or most_trips(loop) not in (0, 1)
    return Given(call, value, found) if found is not None and repeats else None
