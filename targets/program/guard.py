"""
Guard mode: what the guard must know about a program to name what accessed memory outside of a buffer.

It is on for programs that are compiled with `guard=True`, and for all if XHLO_GUARD is set.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue

from ...dialects.cpu import GuardOp
from ...dialects.support.guard_zones import END
from ...dialects.support.kernel import Kernel as KernelAttributes
from ...dialects.support.kernel import kernels_of
from ...hlo_dialect.diagnostics import DiagnosticError
from ...hlo_dialect.walking import operations_in


class GuardError(DiagnosticError):
    """A kernel accessed memory outside of its buffers."""


@dataclass(frozen=True)
class Port:
    """A buffer that a kernel takes, and the operation in the kernel that reads or writes it."""

    name: str
    """ "operand 0", "result 1"; with the type."""
    op: str
    location: LocationAttr
    written: bool


@dataclass(frozen=True)
class MemoryAccess:
    """An operation of the host program that accesses memory: the call of a kernel, a copy or a load."""

    op: str
    kernel: str
    """Empty if it calls none."""
    location: LocationAttr
    ports: tuple[Port, ...]
    """One for each buffer."""


@dataclass(frozen=True)
class Slot:
    """A buffer in the arena: its bytes, and the operation that made it."""

    place: slice
    location: LocationAttr


@dataclass
class GuardFacts:
    """The accesses and the slots by the numbers of their `cpu.guard` operations."""

    accesses: list[MemoryAccess] = field(default_factory=list[MemoryAccess])
    side: str = END
    slots: list[Slot] = field(default_factory=list[Slot])
    kernels: dict[str, tuple[Port, ...]] = field(default_factory=dict[str, tuple[Port, ...]])


def read_ports(module: ModuleOp, facts: GuardFacts) -> None:
    """Describe the buffers of kernels, after outline-kernels: those of bufferize in the same order."""
    facts.kernels = {function.sym_name.data: _ports(function) for function in kernels_of(module)}


def _ports(function: func.FuncOp) -> tuple[Port, ...]:
    block, tied = function.body.block, KernelAttributes(function).tied
    returned = block.last_op
    assert returned is not None
    ports = [
        _port(f"operand {i}", argument, next((use.operation for use in argument.uses), returned), function, i in tied)
        for i, argument in enumerate(block.args)
    ]
    for i, value in enumerate(returned.operands):
        if i >= len(tied):
            owner = value.owner if isinstance(value, OpResult) else returned
            ports.append(_port(f"result {i}", value, owner, function, True))
    return tuple(ports)


def _port(name: str, value: SSAValue, op: Operation, function: func.FuncOp, written: bool) -> Port:
    return Port(f"{name}, {value.type}", op.name, op.location or function.location, written)


def read_slots(module: ModuleOp, facts: GuardFacts) -> None:
    """Read the places of buffers in the arena, after plan-buffers."""
    begins = (op for op in operations_in(module) if isinstance(op, GuardOp) and op.event.data == "begin")
    found = {op.number.value.data: Slot(op.place, op.location) for op in begins}
    facts.slots = [found[number] for number in range(len(found))]


def read_accesses(module: ModuleOp, facts: GuardFacts) -> None:
    """Read the accesses of the host program, after guard-kernels."""
    enters = (op for op in operations_in(module) if isinstance(op, GuardOp) and op.event.data == "enter")
    found = {op.number.value.data: _access(op, facts) for op in enters}
    facts.accesses = [found[number] for number in range(len(found))]


def _access(enter: GuardOp, facts: GuardFacts) -> MemoryAccess:
    op, count = enter.next_op, len(enter.buffers)
    assert op is not None
    if isinstance(op, func.CallOp):
        kernel = op.callee.root_reference.data
        known = facts.kernels.get(kernel, ())
    else:
        kernel = ""
        written = {"memref.copy": (False, True), "memref.load": (False,)}.get(op.name, (True,) * count)
        types = (value.type for value in enter.buffers)
        known = tuple(
            Port(f"operand {i}, {type_}", op.name, op.location, w)
            for i, (type_, w) in enumerate(zip(types, written, strict=True))
        )
    scratch = [Port("a scratch buffer", op.name, op.location, True)] * (count - len(known))
    return MemoryAccess(op.name, kernel, op.location, (*known, *scratch))
