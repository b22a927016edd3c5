"""
The host program as data: launches and copies with their addresses, and the loops and branches around them.

It is read once from the gpu-level IR (the level after plan-buffers). Memory is named by slots: one per parameter of
@main (its arguments, its results, the arena), and one more for all constants, which share one allocation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, MemRefType, ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ....dialects import cpu
from ....dialects.gpu.functions import GpuFuncOp, GpuLaunchFuncOp, GpuModuleOp
from ....dialects.gpu.library import Matmul, MatmulOp
from ....dialects.support.buffer_ops import byte_size
from ....dialects.support.kernel import is_kernel
from ....hlo_dialect.diagnostics import Diagnostic, DiagnosticError, fail
from ....hlo_dialect.types import constant_array, numpy_dtype
from .driver import Dims

CONSTANT_ALIGNMENT = 256
"""Bytes."""

COPY_BYTES = 1 << 30
"""The most bytes of one copy: a graph's copies have the widths of 2D copies, below 2 GiB (`MAX_PITCH`)."""


@dataclass(frozen=True)
class Place:
    """An address: bytes from the start of a slot's memory."""

    slot: int
    offset: int = 0

    def at(self, offset: int) -> Place:
        """The address that many bytes later."""
        return Place(self.slot, self.offset + offset)


@dataclass(frozen=True)
class LaunchStep:
    """A launch of a device function over a grid."""

    function: str
    kernel: str
    """The program's kernel that it is part of."""
    call: int
    """The number of the kernel call; equal for its launches, which are consecutive."""
    grid: Dims
    block: Dims
    shared_bytes: int
    arguments: tuple[Place, ...]


@dataclass(frozen=True)
class LibraryStep:
    """A matrix product by the vendor's library."""

    problem: Matmul
    kernel: str
    """The program's kernel that it is part of."""
    call: int
    """As in LaunchStep."""
    arguments: tuple[Place, ...]
    """The factors, the bias if there is one, and the result."""


@dataclass(frozen=True)
class CopyStep:
    """A copy between two addresses on the device."""

    target: Place
    source: Place
    nbytes: int


@dataclass(frozen=True)
class ReadStep:
    """Read an element that the host needs into a register."""

    register: int
    place: Place
    dtype: str
    """The name of the NumPy dtype."""


@dataclass(frozen=True)
class HostCallStep:
    """
    Call a function of the host program on copies of buffers: first those that it reads, then those that it writes.
    """

    kernel: str
    call: int
    index: int
    """The index among the program's host calls."""
    buffers: tuple[Place, ...]


@dataclass(frozen=True)
class WhileStep:
    """Run `first`; while the register is not zero, run `again`: the loop's body, and then `first` once more."""

    register: int
    first: Steps
    again: Steps


@dataclass(frozen=True)
class SwitchStep:
    """Run the case whose number the register holds, or the default."""

    register: int
    cases: tuple[tuple[int, Steps], ...]
    default: Steps


Step = LaunchStep | LibraryStep | CopyStep | ReadStep | HostCallStep | WhileStep | SwitchStep
Steps = tuple[Step, ...]


@dataclass(frozen=True)
class HostProgram:
    """The host's steps in a run."""

    steps: Steps
    parameters: int
    """The number of slots before the constants': @main's arguments, results and arena."""
    registers: int
    constants: bytes
    """The contents of the last slot."""

    @property
    def functions(self) -> dict[str, int]:
        """The launched device functions, with the bytes of dynamic shared memory of each."""
        return {step.function: step.shared_bytes for step in walk(self.steps) if isinstance(step, LaunchStep)}


def walk(steps: Steps) -> Iterator[Step]:
    """All steps, including those inside loops and branches."""
    for step in steps:
        yield step
        if isinstance(step, WhileStep):
            yield from walk(step.again)
        elif isinstance(step, SwitchStep):
            for _, case in step.cases:
                yield from walk(case)
            yield from walk(step.default)


def read_host_program(module: ModuleOp, entry: str = "main") -> HostProgram:
    """
    The host program of a module at the level after plan-buffers.

    Raises DiagnosticError for an operation that the host cannot run.
    """
    return _Reader(module, entry).read()


@dataclass
class _Constants:
    """The constants that the host passes to kernels or copies, in one allocation."""

    globals: dict[str, memref.GlobalOp]
    offsets: dict[str, int] = field(default_factory=dict[str, int])
    content: bytearray = field(default_factory=bytearray)

    def offset(self, op: memref.GetGlobalOp) -> int:
        name = op.name_.root_reference.data
        if name not in self.offsets:
            self.content.extend(bytes(-len(self.content) % CONSTANT_ALIGNMENT))
            self.offsets[name] = len(self.content)
            self.content.extend(_bytes_of(self.globals[name]))
        return self.offsets[name]


def _bytes_of(op: memref.GlobalOp) -> bytes:
    value = op.initial_value
    if not isinstance(value, DenseIntOrFPElementsAttr):
        fail(op, "is not a constant of known elements; the host cannot put it into the GPU's memory")
    shape = cast("MemRefType[Any]", op.type).get_shape()
    return np.ascontiguousarray(np.broadcast_to(constant_array(value), shape)).tobytes()


class _Reader:
    def __init__(self, module: ModuleOp, entry: str):
        self.functions: dict[str, func.FuncOp] = {}
        self.constants = _Constants({})
        self.device: dict[str, GpuFuncOp] = {}
        for op in module.body.block.ops:
            if isinstance(op, func.FuncOp):
                self.functions[op.sym_name.data] = op
            elif isinstance(op, memref.GlobalOp):
                self.constants.globals[op.sym_name.data] = op
            elif isinstance(op, GpuModuleOp):
                kernels = (one for one in op.body.block.ops if isinstance(one, GpuFuncOp))
                self.device |= {one.sym_name.data: one for one in kernels}
        if entry not in self.functions:
            raise DiagnosticError(Diagnostic("error", f"the module has no function @{entry} to run", module.location))
        self.entry = self.functions[entry]
        self.calls = self.host_calls = self.registers = 0
        self.places: dict[SSAValue, Place] = {}
        self.numbers: dict[SSAValue, int] = {}
        """Constants of type index."""
        self.registers_of: dict[SSAValue, int] = {}
        self.call_numbers: dict[Operation, int] = {}
        """The number of each cpu.host_call in the image, its position in the module."""
        calls = (op for function in self.functions.values() for op in function.walk())
        for op in calls:
            if isinstance(op, cpu.HostCallOp):
                self.call_numbers[op] = len(self.call_numbers)

    def read(self) -> HostProgram:
        block = self.entry.body.block
        self.places.update((argument, Place(slot)) for slot, argument in enumerate(block.args))
        self.constant_slot = len(block.args)
        steps = self.block(block)
        return HostProgram(steps, len(block.args), self.registers, bytes(self.constants.content))

    def block(self, block: Block) -> Steps:
        steps: list[Step] = []
        for op in block.ops:
            read = _READERS.get(op.name)
            if read is None:
                fail(op, "is not supported in the host's part of a GPU program")
            steps += read(self, op)
        return tuple(steps)

    def place(self, op: Operation, value: SSAValue) -> Place:
        found = self.places.get(value)
        if found is None:
            fail(op, f"uses a buffer of type {value.type} whose address the host does not know")
        return found

    def number(self, op: Operation, value: SSAValue) -> int:
        found = self.numbers.get(value)
        if found is None:
            fail(op, "takes a number that is not a constant")
        return found

    def register(self, op: Operation, value: SSAValue) -> int:
        found = self.registers_of.get(value)
        if found is None:
            fail(op, "depends on a value that the host does not read from a buffer; store it to one first")
        return found

    # Values.

    def constant(self, op: arith.ConstantOp) -> Steps:
        if isinstance(op.value, IntegerAttr):
            self.numbers[op.result] = cast("IntegerAttr[Any]", op.value).value.data
        return ()

    def get_global(self, op: memref.GetGlobalOp) -> Steps:
        self.places[op.memref] = Place(self.constant_slot, self.constants.offset(op))
        return ()

    def view(self, op: memref.ViewOp) -> Steps:
        base = self.place(op, op.source)
        self.places[op.result] = Place(base.slot, base.offset + self.number(op, op.byte_shift))
        return ()

    def reinterpret_cast(self, op: memref.ReinterpretCastOp) -> Steps:
        """Host buffers are whole allocations, possibly with another shape."""
        if op.offsets or any(offset != 0 for offset in op.static_offsets.iter_values()):
            fail(op, "has an offset, which the host's part of a GPU program cannot add")
        self.places[op.results[0]] = self.place(op, op.source)
        return ()

    def cast(self, op: memref.CastOp) -> Steps:
        self.places[op.dest] = self.place(op, op.source)
        return ()

    def load(self, op: memref.LoadOp) -> Steps:
        place, type_ = self.place(op, op.memref), cast("MemRefType[Any]", op.memref.type)
        element = cast(Attribute, type_.element_type)
        dtype = numpy_dtype(element)
        if dtype is None or dtype.kind not in "biu":
            fail(op, f"reads a value of type {element}; the host decides by integers and booleans")
        flat = 0
        for index, size in zip(op.indices, type_.get_shape(), strict=True):
            flat = flat * size + self.number(op, index)
        register, self.registers = self.registers, self.registers + 1
        self.registers_of[op.res] = register
        return (ReadStep(register, Place(place.slot, place.offset + flat * dtype.itemsize), dtype.str),)

    def index_cast(self, op: Operation) -> Steps:
        self.registers_of[op.results[0]] = self.register(op, op.operands[0])
        return ()

    # Steps.

    def copy(self, op: memref.CopyOp) -> Steps:
        target, source = self.place(op, op.destination), self.place(op, op.source)
        nbytes = byte_size(cast("MemRefType[Any]", op.source.type))
        if target == source:
            return ()
        return tuple(
            CopyStep(target.at(start), source.at(start), min(COPY_BYTES, nbytes - start))
            for start in range(0, nbytes, COPY_BYTES)
        )

    def call(self, op: func.CallOp) -> Steps:
        """The steps of the kernel's body, on the buffers of the call."""
        kernel = self.functions[op.callee.root_reference.data]
        if not is_kernel(kernel) or kernel.is_declaration:
            fail(op, f"calls @{kernel.sym_name.data}, which is not a kernel; inline it first")
        block = kernel.body.block
        for argument, value in zip(block.args, op.arguments, strict=True):
            self.places[argument] = self.place(op, value)
        self.calls += 1
        return self.block(block)

    def launch(self, op: GpuLaunchFuncOp) -> Steps:
        name = op.kernel.nested_references.data[-1].data
        function = self.device.get(name)
        if function is None:
            fail(op, f"launches @{name}, which is not there")
        grid, block = (_dims([self.number(op, value) for value in values]) for values in (op.grid, op.threads))
        if 0 in grid:
            return ()
        arguments = tuple(self.place(op, value) for value in op.arguments)
        return (LaunchStep(name, self.kernel_of(op), self.calls, grid, block, shared_bytes(function), arguments),)

    def matmul(self, op: MatmulOp) -> Steps:
        arguments = tuple(self.place(op, value) for value in op.operands)
        return (LibraryStep(op.problem, self.kernel_of(op), self.calls, arguments),)

    def host_call(self, op: cpu.HostCallOp) -> Steps:
        buffers = tuple(self.place(op, value) for value in op.buffers)
        return (HostCallStep(self.kernel_of(op), self.calls, self.call_numbers[op], buffers),)

    def kernel_of(self, op: Operation) -> str:
        parent = op.parent_op()
        while parent is not None and not isinstance(parent, func.FuncOp):
            parent = parent.parent_op()
        return "" if parent is None else parent.sym_name.data

    def while_(self, op: scf.WhileOp) -> Steps:
        if op.arguments or op.results:
            fail(op, "carries values; the host's loops keep their state in buffers")
        before, after = op.before_region.block, op.after_region.block
        first = self.block(before)
        condition = cast(Operation, before.last_op)
        register = self.register(condition, condition.operands[0])
        return (WhileStep(register, first, (*self.block(after), *first)),)

    def if_(self, op: scf.IfOp) -> Steps:
        if op.results:
            fail(op, "has results; the host's branches write to buffers")
        register = self.register(op, op.cond)
        other = self.block(op.false_region.block) if op.false_region.blocks else ()
        return (SwitchStep(register, ((0, other),), self.block(op.true_region.block)),)

    def switch(self, op: scf.IndexSwitchOp) -> Steps:
        if op.results:
            fail(op, "has results; the host's branches write to buffers")
        register = self.register(op, op.arg)
        numbers: Sequence[int] = op.cases.get_values()
        cases = tuple((int(n), self.block(region.block)) for n, region in zip(numbers, op.case_regions, strict=True))
        return (SwitchStep(register, cases, self.block(op.default_region.block)),)

    def nothing(self, op: Operation) -> Steps:
        return ()


def shared_bytes(function: GpuFuncOp) -> int:
    """Dynamic shared memory of a launch: all of the block's if it exceeds the static limit, else 0."""
    return function.dynamic_workgroup_bytes


def _dims(numbers: Sequence[int]) -> Dims:
    x, y, z = numbers
    return x, y, z


_READERS: dict[str, Any] = {
    "arith.constant": _Reader.constant,
    "arith.index_cast": _Reader.index_cast,
    "arith.index_castui": _Reader.index_cast,
    "cpu.host_call": _Reader.host_call,
    "func.call": _Reader.call,
    "func.return": _Reader.nothing,
    "gpu.launch_func": _Reader.launch,
    "gpu_library.matmul": _Reader.matmul,
    "memref.cast": _Reader.cast,
    "memref.copy": _Reader.copy,
    "memref.get_global": _Reader.get_global,
    "memref.load": _Reader.load,
    "memref.reinterpret_cast": _Reader.reinterpret_cast,
    "memref.view": _Reader.view,
    "scf.condition": _Reader.nothing,
    "scf.if": _Reader.if_,
    "scf.index_switch": _Reader.switch,
    "scf.while": _Reader.while_,
    "scf.yield": _Reader.nothing,
}
