"""Launches: device functions that take over operations of a host-level kernel."""

from __future__ import annotations

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import FunctionType, IntegerAttr, MemRefType
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ....dialects.gpu.functions import GpuFuncOp, GpuLaunchFuncOp, GpuModuleOp, GpuReturnOp
from ....dialects.support.buffers import INDEX, Buffer, i32_array
from ....dialects.support.editing import erase_op
from ....dialects.support.views import is_view
from ....hlo_dialect.diagnostics import fail
from ...convert_linalg_to_scf.conversion import Structured, initial_values
from ...device.chips import MAX_BLOCK_THREADS
from ...device.gpu import GpuChip
from .builder import GpuBuilder
from .phases import Phase


class KernelMapper:
    """A host-level kernel that is being replaced by launches of device functions."""

    def __init__(self, kernel: func.FuncOp, device: GpuModuleOp, chip: GpuChip):
        self.kernel = kernel
        self.device = device
        self.chip = chip
        self.launches = 0
        last = kernel.body.block.last_op
        assert last is not None
        self.end = last
        """The terminator: launches and scratch buffers go before it; replaced operations are erased later."""
        self.phase = Phase((), {})
        """The phase being mapped."""

    def scratch(self, type_: Buffer) -> SSAValue:
        """A buffer in global memory that passes data between launches of this kernel."""
        op = memref.AllocOp.create(result_types=[type_], properties={"operandSegmentSizes": i32_array((0, 0))})
        op.location = self.end.location
        self.kernel.body.block.insert_op_before(op, self.end)
        return op.memref

    def name(self) -> str:
        """A name for the next device function."""
        base = self.kernel.sym_name.data
        self.launches += 1
        return base if self.launches == 1 else f"{base}_{self.launches - 1}"

    def constant(self, value: int) -> SSAValue:
        op = arith.ConstantOp.create(result_types=[INDEX], properties={"value": IntegerAttr(value, INDEX)})
        self.kernel.body.block.insert_op_before(op, self.end)
        return op.result


class Launch:
    """
    A device function under construction that takes over operations of the kernel.

    The operations and their inputs are copied into it; `nests` are the loops of the copies, in terms of the function's
    own values. Build with `builder`, then call `finish`.
    """

    def __init__(self, mapper: KernelMapper, phase: Phase):
        self.mapper = mapper
        self.function = GpuFuncOp(mapper.name(), [], (1, 1, 1), (1, 1, 1))
        self.function.location = phase.ops[0].location
        self.block: Block = self.function.body.block
        end = GpuReturnOp()
        end.location = phase.ops[-1].location
        self.block.add_op(end)
        self.end = end
        self.mapping: dict[SSAValue, SSAValue] = {}
        self.arguments: list[SSAValue] = []
        """The kernel's values that are the launch's arguments, in the order of the function's parameters."""
        copies = {op: self._copy(op) for op in phase.ops}
        self.copies = [copies[op] for op in phase.ops]
        self.phase = Phase(
            tuple(self.copies),
            {
                copies[op]: tuple(None if fill is None else copies[fill] for fill in fills)  # pyright: ignore
                for op, fills in phase.absorbed.items()
                if op in copies
            },
            phase.rows,
        )
        self.builder = GpuBuilder(self.function, mapper.chip.warp)
        self.builder.insert_at(self.copies[0])
        self.builder.anchor = end

    def local(self, value: SSAValue) -> SSAValue:
        """The function's own value for a value of the kernel: a parameter, or a copy of its definition."""
        found = self.mapping.get(value)
        if found is not None:
            return found
        owner = value.owner
        if isinstance(owner, (Block, memref.AllocOp)):
            return self.parameter(value)
        self._copy(owner)
        return self.mapping[value]

    def parameter(self, value: SSAValue) -> SSAValue:
        """A parameter for a buffer of the kernel."""
        found = self.mapping.get(value)
        if found is None:
            if isinstance(value, BlockArgument) and value.owner is not self.mapper.kernel.body.block:
                raise AssertionError("a value of a nested block was not copied with its operation")
            found = self.block.insert_arg(value.type, len(self.arguments))
            found.name_hint = value.name_hint
            self.mapping[value] = found
            self.arguments.append(value)
        return found

    def _copy(self, op: Operation) -> Operation:
        inside = {result for inner in op.walk() for result in inner.results}
        inside |= {argument for inner in op.walk() for r in inner.regions for b in r.blocks for argument in b.args}
        for inner in op.walk():
            for operand in inner.operands:
                if operand not in inside:
                    self.local(operand)
        copy = op.clone(self.mapping)
        for old, new in zip(op.walk(), copy.walk(), strict=True):
            new.location = old.location
        self.mapping.update(zip(op.results, copy.results, strict=True))
        self.block.insert_op_before(copy, self.end)
        return copy

    def inits(self, op: Structured) -> tuple[SSAValue | None, ...]:
        """Per output of a reduction: the initial scalar; None: the buffer's contents."""
        return initial_values(op, self.phase.absorbed)

    def finish(self, grid: int, threads: int, blocks: int | None = None) -> None:
        """
        Add the function to the device's module, and its launch to the kernel.

        `grid`: number of blocks; `threads`: per block; `blocks`: resident blocks per multiprocessor that the register
        budget must allow.
        """
        for op in reversed(self.copies):
            if op.parent is not None and isinstance(op, (FillOp, GenericOp, memref.CopyOp)):
                erase_op(op)
        function, mapper = self.function, self.mapper
        _erase_unused(self.block)
        self._drop_unused_parameters()
        inputs = [argument.type for argument in self.block.args[: len(self.arguments)]]
        function.properties["function_type"] = FunctionType.from_lists(inputs, [])
        function.properties["known_block_size"] = i32_array((threads, 1, 1))
        function.properties["known_grid_size"] = i32_array((grid, 1, 1))
        self._check_limits(threads, blocks)
        if blocks is not None:
            function.attributes.update(mapper.chip.launch_bounds(blocks, threads))
        if not all(isinstance(type_, MemRefType) for type_ in inputs):
            fail(function, "takes values that are not memrefs: map-kernels-to-gpu cannot launch it")
        mapper.device.body.block.add_op(function)
        launch = GpuLaunchFuncOp(
            mapper.device.sym_name.data,
            function.sym_name.data,
            [mapper.constant(n) for n in (grid, 1, 1)],
            [mapper.constant(n) for n in (threads, 1, 1)],
            self.arguments,
        )
        launch.location = function.location
        mapper.kernel.body.block.insert_op_before(launch, mapper.end)

    def _check_limits(self, threads: int, blocks: int | None) -> None:
        """Raises DiagnosticError if the plan exceeds the limits of the chip's blocks."""
        phase, chip = self.mapper.phase, self.mapper.chip
        phase.require(threads <= MAX_BLOCK_THREADS, f"{threads} threads of a block; the limit is {MAX_BLOCK_THREADS}")
        shared, most = self.function.workgroup_offsets[-1], chip.shared_per_block
        phase.require(shared <= most, f"{shared} bytes of shared memory; a block of {chip.name} has {most}")
        resident, most = threads * (blocks or 1), chip.threads_per_multiprocessor
        phase.require(resident <= most, f"{resident} resident threads; a multiprocessor of {chip.name} has {most}")

    def _drop_unused_parameters(self) -> None:
        """Drop buffers that the launch does not use, such as those replaced by registers."""
        for number in reversed(range(len(self.arguments))):
            argument = self.block.args[number]
            if not any(True for _ in argument.uses):
                self.block.erase_arg(argument)
                del self.arguments[number]


def _erase_unused(block: Block) -> None:
    """Erase unused views, loads and scalar arithmetic at the function's top level."""
    for op in reversed(list(block.ops)):
        arithmetic = op.name.startswith(("arith.", "math.", "math_ext.")) and not op.regions
        pure = arithmetic or is_view(op) or isinstance(op, (memref.LoadOp, memref.GetGlobalOp))
        if pure and op.results and all(result.uses.get_length() == 0 for result in op.results):
            erase_op(op)
