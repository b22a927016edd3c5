"""
A gpu.module's functions on their way to the dialect of a vendor: sizes, workgroup memory, constants, thread numbers.

A vendor's pass (convert-gpu-to-nvvm, convert-gpu-to-rocdl) describes itself by a `Vendor`, with a pattern for each
operation that is its own: barriers, shuffles.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from xdsl.context import Context
from xdsl.dialects import arith, func, llvm, memref
from xdsl.dialects.builtin import (
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    NoneAttr,
    StringAttr,
    UnitAttr,
    VectorType,
    f32,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from ...dialects.gpu.functions import WORKGROUP, WORKGROUP_ALIGNMENT, GpuFuncOp, GpuModuleOp, GpuReturnOp
from ...dialects.gpu.marks import Marks
from ...dialects.gpu.registers import RegisterOp
from ...dialects.gpu.threads import AXES, GpuBlockDimOp, GpuBlockIdOp, GpuGridDimOp, GpuThreadIdOp
from ...dialects.support.buffers import INDEX, Buffer
from ...dialects.support.editing import erase_op, replace_uses
from ...dialects.support.scalar import width_of
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.hlo_pass import HloPass
from ...hlo_dialect.walking import operations_in
from ..convert_to_llvm.conventions import INDEX_BITWIDTH
from .chips import MAX_BLOCK_THREADS, MAX_GRID
from .index_ranges import narrow_indices
from .parts import chip_of, device_modules, lowered_parts
from .vendors import ALL_CHIPS

I1, I32 = IntegerType(1), IntegerType(32)

GPU_OPS = (
    "gpu.func",
    "gpu.return",
    "gpu.thread_id",
    "gpu.block_id",
    "gpu.block_dim",
    "gpu.grid_dim",
    "gpu.lane_id",
    "gpu.barrier",
    "gpu.shuffle",
)
"""The operations that none of the conversions leaves in device functions."""


@dataclass(frozen=True)
class Sizes:
    """The known sizes of a function's launches: threads per block, blocks of the grid; and the threads of a warp."""

    block: tuple[int, ...] | None
    grid: tuple[int, ...] | None
    warp: int


class Inserter:
    """Inserts operations before the one being replaced, with its location."""

    op: Operation

    def add(self, op: Operation) -> None:
        op.location = self.op.location
        cast(Block, self.op.parent).insert_op_before(op, self.op)

    def insert(self, op: Operation) -> SSAValue:
        """Insert an operation; returns its first result."""
        self.add(op)
        return op.results[0]


class Rewriter(Inserter):
    """Replaces an operation of a function whose launches have these sizes."""

    def __init__(self, op: Operation, sizes: Sizes):
        self.op = op
        self.sizes = sizes

    def create(self, op_class: type[Operation], operands: Sequence[SSAValue], type_: Attribute) -> SSAValue:
        return self.insert(op_class.create(operands=operands, result_types=[type_]))

    def constant(self, value: int, type_: Attribute = I32) -> SSAValue:
        return self.insert(arith.ConstantOp(IntegerAttr(value, cast(Any, type_))))

    def replace(self, *values: SSAValue) -> None:
        for result, value in zip(self.op.results, values, strict=True):
            if value.name_hint is None:
                value.name_hint = result.name_hint
            replace_uses(result, value)
        erase_op(self.op)


Pattern: TypeAlias = Callable[[Any, Rewriter], None]

Registers: TypeAlias = Mapping[str, type[RegisterOp]]
"""The operation that reads a number, by axis."""


@dataclass(frozen=True)
class Vendor:
    """The dialect that functions are converted to."""

    name: str
    """In messages: "NVIDIA's GPUs"."""
    prefix: str
    """The dialect's name with a dot; attributes of functions that begin with it are kept."""
    marks: Marks
    default_chip: str
    thread_ids: Registers
    block_ids: Registers
    block_dims: Registers
    grid_dims: Registers
    patterns: Mapping[type[Operation], Pattern]
    """The other operations."""
    most_threads: int | None = None
    """The most threads of a launch along one axis, if they are limited apart from their blocks."""

    def all_patterns(self) -> Mapping[type[Operation], Pattern]:
        return {
            GpuThreadIdOp: _special_register(self.thread_ids, True),
            GpuBlockIdOp: _special_register(self.block_ids, False),
            GpuBlockDimOp: _dimension(self.block_dims, True),
            GpuGridDimOp: _dimension(self.grid_dims, False),
            GpuReturnOp: _return,
            **self.patterns,
        }


@dataclass(frozen=True)
class ConvertGpuPass(HloPass):
    """The pass of a vendor."""

    takes_branches = True
    illegal = GPU_OPS

    index_bitwidth: int = 0
    """The width of index in device functions: 32, 64, or 0 for 32 if that is known to suffice."""

    def __post_init__(self) -> None:
        if self.index_bitwidth not in (0, 32, 64):
            raise ValueError(f"index-bitwidth is 32, 64, or 0 for what is enough, not {self.index_bitwidth}")

    @property
    @abstractmethod
    def vendor(self) -> Vendor:
        """The vendor of the GPUs."""

    def run(self, ctx: Context, module: ModuleOp) -> None:
        convert_functions(module, self.vendor, self.index_bitwidth)

    def parts(self, module: ModuleOp) -> Sequence[Operation]:
        return lowered_parts(module)


def convert_functions(module: ModuleOp, vendor: Vendor, index_bitwidth: int) -> None:
    """
    Convert the functions of all gpu.modules. `index_bitwidth`: the width of index in device functions, 32, 64, or 0 for
    32 if that is known to suffice. Raises DiagnosticError.
    """
    patterns = vendor.all_patterns()
    for device in device_modules(module):
        _copy_globals(module, device)
        warp = ALL_CHIPS[_known_chip(device, vendor)].warp
        for op in list(device.body.block.ops):
            if isinstance(op, GpuFuncOp):
                sizes = Sizes(_numbers(op.known_block_size), _numbers(op.known_grid_size), warp)
                function = _convert_function(op, device, vendor)
                _convert_operations(function, sizes, patterns)
                if index_bitwidth == 32 or (index_bitwidth == 0 and narrow_indices(function.body)):
                    function.attributes[INDEX_BITWIDTH] = IntegerAttr(32, i64)
            elif isinstance(op, func.FuncOp):
                _convert_operations(op, Sizes(None, None, warp), patterns)


def _known_chip(device: GpuModuleOp, vendor: Vendor) -> str:
    """The chip of a gpu.module, or the vendor's default for one that is unknown or not stated."""
    chip = chip_of(device)
    return vendor.default_chip if chip not in ALL_CHIPS else str(chip)


def _convert_function(op: GpuFuncOp, device: GpuModuleOp, vendor: Vendor) -> func.FuncOp:
    """Replace a gpu.func by a func.func in the same gpu.module."""
    _check_sizes(op, _known_chip(device, vendor), vendor)
    _place_workgroup_buffers(op, device, vendor)
    region = op.detach_region(op.body)
    made = func.FuncOp(op.sym_name.data, op.function_type, region)
    made.location = op.location
    made.attributes.update({name: attr for name, attr in op.attributes.items() if name.startswith(vendor.prefix)})
    if op.kernel is not None:
        made.attributes[vendor.marks.kernel] = UnitAttr()
    if op.known_block_size is not None:
        made.attributes[vendor.marks.block_size] = op.known_block_size
    device.body.block.insert_op_before(made, op)
    erase_op(op)
    return made


def _numbers(attr: DenseArrayBase[Any] | None) -> tuple[int, ...] | None:
    return None if attr is None else tuple(int(number) for number in attr.get_values())


def _check_sizes(op: GpuFuncOp, chip: str, vendor: Vendor) -> None:
    """Reject sizes that no launch may have: the driver would do so later, without a location."""
    block, grid = _numbers(op.known_block_size), _numbers(op.known_grid_size)
    if block is not None:
        threads = block[0] * block[1] * block[2]
        if not 0 < threads <= MAX_BLOCK_THREADS:
            fail(op, f"has blocks of {threads} threads; {vendor.name} run up to {MAX_BLOCK_THREADS} in a block")
    for axis, wanted, most in zip(AXES, grid or (), MAX_GRID, strict=False):
        if not 0 < wanted <= most:
            fail(op, f"has a grid of {wanted} blocks along {axis}; {vendor.name} run 1 to {most}")
    for axis, blocks, threads in zip(AXES, grid or (), block or (), strict=False):
        if vendor.most_threads is not None and blocks * threads > vendor.most_threads:
            most = vendor.most_threads
            fail(op, f"has {blocks} blocks of {threads} threads along {axis}; {vendor.name} run {most} threads at most")
    shared, most = op.workgroup_offsets[-1], ALL_CHIPS[chip].shared_per_block
    if shared > most:
        fail(op, f"has {shared} bytes of memory of the block; {chip} has {most}")


def _place_workgroup_buffers(op: GpuFuncOp, device: GpuModuleOp, vendor: Vendor) -> None:
    """
    Turn the workgroup arguments of a function into memref.globals of the module, one each.

    If they exceed the static limit, they are views of one global, whose size the launch states.
    """
    block = op.body.blocks[0]
    first = block.first_op
    assert first is not None
    to = Rewriter(first, Sizes(None, None, 0))
    name = f"{op.sym_name.data}_shared"
    offsets, dynamic = op.workgroup_offsets, op.dynamic_workgroup_bytes
    memory: SSAValue | None = None
    if dynamic:
        whole = MemRefType(IntegerType(8), (dynamic,), NoneAttr(), WORKGROUP)
        _add_global(name, whole, op, device).attributes[vendor.marks.dynamic] = UnitAttr()
        memory = to.insert(memref.GetGlobalOp(name, whole))
    for number, buffer in enumerate(op.workgroup_buffers):
        type_ = cast(Buffer, buffer.type)
        if memory is not None:
            place = to.constant(offsets[number], INDEX)
            value = to.insert(memref.ViewOp.build(operands=[memory, place, []], result_types=[type_]))
        else:
            _add_global(f"{name}_{number}", type_, op, device)
            value = to.insert(memref.GetGlobalOp(f"{name}_{number}", type_))
        value.name_hint = buffer.name_hint
        replace_uses(buffer, value)
        block.erase_arg(cast(BlockArgument, buffer))
    op.properties["workgroup_attributions"] = IntegerAttr(0, i64)


def _add_global(name: str, type_: Buffer, like: GpuFuncOp, device: GpuModuleOp) -> memref.GlobalOp:
    """A memref.global without initial value, before the function that uses it."""
    made = memref.GlobalOp.get(StringAttr(name), type_, UnitAttr(), alignment=WORKGROUP_ALIGNMENT)
    made.location = like.location
    device.body.block.insert_op_before(made, like)
    return made


def _copy_globals(module: ModuleOp, device: GpuModuleOp) -> None:
    """Copy the constants of the host module that device functions use into the gpu.module."""
    own = {op.sym_name.data for op in device.body.block.ops if isinstance(op, memref.GlobalOp)}
    around = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, memref.GlobalOp)}
    first = device.body.block.first_op
    for op in operations_in(device):
        if isinstance(op, memref.GetGlobalOp) and (name := op.name_.root_reference.data) not in own:
            if name not in around:
                fail(op, f"uses the constant @{name}, which neither the gpu.module nor the module around it has")
            copy = around[name].clone()
            copy.location = around[name].location
            assert first is not None
            device.body.block.insert_op_before(copy, first)
            own.add(name)


# Operations.


def _convert_operations(function: func.FuncOp, sizes: Sizes, patterns: Mapping[type[Operation], Pattern]) -> None:
    for op in operations_in(function):
        pattern = patterns.get(type(op))
        if pattern is not None:
            pattern(op, Rewriter(op, sizes))


def _special_register(registers: Registers, counts_block: bool) -> Pattern:
    """`gpu.thread_id x` reads a register; its range is stated if the size of the launches is known."""

    def convert(op: GpuThreadIdOp | GpuBlockIdOp, to: Rewriter) -> None:
        known = to.sizes.block if counts_block else to.sizes.grid
        count = None if known is None else known[AXES.index(op.axis)]
        if count == 1:
            to.replace(to.constant(0, INDEX))
            return
        number = to.insert(registers[op.axis](None if count is None else (0, count)))
        to.replace(to.insert(arith.IndexCastOp(number, INDEX)))

    return convert


def _dimension(registers: Registers, counts_block: bool) -> Pattern:
    """`gpu.block_dim x` is a constant if the size of the launches is known."""

    def convert(op: GpuBlockDimOp | GpuGridDimOp, to: Rewriter) -> None:
        known = to.sizes.block if counts_block else to.sizes.grid
        if known is not None:
            to.replace(to.constant(known[AXES.index(op.axis)], INDEX))
            return
        to.replace(to.insert(arith.IndexCastOp(to.insert(registers[op.axis]()), INDEX)))

    return convert


def _return(op: GpuReturnOp, to: Rewriter) -> None:
    to.add(func.ReturnOp(*op.values))
    to.replace()


# Values as numbers of 32 bits, which shuffles exchange.


def _bits_of(type_: Attribute, op: Operation) -> int:
    """The width in bits of a scalar or vector that fits in a register."""
    if isinstance(type_, VectorType):
        vector = cast("VectorType[Any]", type_)
        if len(vector.get_shape()) == 1:
            return vector.get_shape()[0] * width_of(vector.element_type)
    elif not isinstance(type_, MemRefType):
        return width_of(type_)
    fail(op, f"exchanges values of type {type_}: only scalars and vectors of one dimension are supported")


def parts_of_value(value: SSAValue, to: Rewriter) -> list[SSAValue]:
    """A value as i32s, low bits first; an f32 or i32 unchanged."""
    type_ = value.type
    bits = _bits_of(type_, to.op)
    if type_ in (I32, f32):
        return [value]
    if isinstance(type_, IndexType):
        value = to.insert(arith.IndexCastOp(value, i64))
    elif not isinstance(type_, IntegerType):
        value = _bitcast(value, IntegerType(bits), to)
    if bits < 32:
        return [to.create(arith.ExtUIOp, (value,), I32)]
    parts: list[SSAValue] = []
    for start in range(0, bits, 32):
        rest = value
        if start:
            shift = to.constant(start, value.type)
            rest = to.create(arith.ShRUIOp, (value, shift), value.type)
        parts.append(rest if bits == 32 else to.create(arith.TruncIOp, (rest,), I32))
    if bits % 32:
        fail(to.op, f"exchanges values of type {type_}, of {bits} bits: neither up to 32 nor a multiple of it")
    return parts


def joined_parts(parts: list[SSAValue], type_: Attribute, to: Rewriter) -> SSAValue:
    """The value of that type whose bits are the parts."""
    value: SSAValue = parts[0]
    if value.type == type_:
        return value
    bits = _bits_of(type_, to.op)
    whole = IntegerType(bits)
    if bits < 32:
        value = to.create(arith.TruncIOp, (value,), whole)
    elif bits > 32:
        value = to.create(arith.ExtUIOp, (value,), whole)
        for number, part in enumerate(parts[1:], 1):
            wide = to.create(arith.ExtUIOp, (part,), whole)
            high = to.create(arith.ShLIOp, (wide, to.constant(32 * number, whole)), whole)
            value = to.create(arith.OrIOp, (value, high), whole)
    if isinstance(type_, IndexType):
        return to.insert(arith.IndexCastOp(value, INDEX))
    return value if value.type == type_ else _bitcast(value, type_, to)


def _bitcast(value: SSAValue, type_: Attribute, to: Rewriter) -> SSAValue:
    """A bitcast between a scalar or vector and an integer; arith.bitcast does not convert vectors to integers."""
    vectors = isinstance(value.type, VectorType) or isinstance(type_, VectorType)
    return to.create(llvm.BitcastOp if vectors else arith.BitcastOp, (value,), cast(Attribute, type_))
