"""gpu to nvvm: thread and block numbers, barriers, shuffles, kernels and their shared memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from xdsl.context import Context
from xdsl.dialects import arith, func, llvm, math, memref
from xdsl.dialects.builtin import (
    DenseArrayBase,
    Float32Type,
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
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from ..dialects.gpu import nvvm
from ..dialects.gpu.functions import WORKGROUP, WORKGROUP_ALIGNMENT, GpuFuncOp, GpuModuleOp, GpuReturnOp
from ..dialects.gpu.threads import (
    AXES,
    GpuBarrierOp,
    GpuBlockDimOp,
    GpuBlockIdOp,
    GpuGridDimOp,
    GpuLaneIdOp,
    GpuShuffleOp,
    GpuThreadIdOp,
)
from ..dialects.support.buffers import INDEX, Buffer
from ..dialects.support.scalar import width_of
from ..hlo_dialect.diagnostics import fail
from ..hlo_dialect.hlo_pass import HloPass
from ..hlo_dialect.walking import operations_in
from .convert_to_llvm.conventions import INDEX_BITWIDTH
from .device.chips import CHIPS, DEFAULT_CHIP, MAX_BLOCK_THREADS, MAX_GRID, WARP
from .device.index_ranges import narrow_indices
from .device.parts import chip_of, device_modules, lowered_parts

_KINDS = {"xor": "bfly", "up": "up", "down": "down", "idx": "idx"}
_I1, _I32 = IntegerType(1), IntegerType(32)


@dataclass(frozen=True)
class ConvertGpuToNvvmPass(HloPass):
    """
    Lower the functions of a gpu.module to operations of NVIDIA's hardware.

    Before: `gpu.func @k(%x: ..) workgroup(%s: ..) kernel { %t = gpu.thread_id x .. gpu.return }`
    After:  `func.func @k(%x: ..) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 256, 1, 1>} {
             %s = memref.get_global @k_shared_0; %n = nvvm.read.ptx.sreg.tid.x range <i32, 0, 256>; .. func.return }`
    Each workgroup buffer is a memref.global of the gpu.module; above 48 KB they are views of one global with the
    attribute `nvvm.dynamic_shared`, whose size each launch states. Constants that the functions use are copied into the
    gpu.module. gpu.shuffle exchanges 32 bits at a time: wider values are split, narrower ones extended. A function
    whose index values all fit into 32 bits gets `xhlo.index_bitwidth = 32` (`index-bitwidth=64` forbids it). Elementary
    functions of f32 with `fastmath<afn>` become the chip's approximate instructions.
    Assumes: convert-loops-to-cf; if structured loops are left, indices stay at 64 bits.
    Leaves: no gpu operations inside gpu.modules; the host's gpu.launch_func stays for the runtime.
    """

    name = "convert-gpu-to-nvvm"
    takes_branches = True
    illegal = (
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

    index_bitwidth: int = 0
    """The width of index in device functions: 32, 64, or 0 for 32 if that is known to suffice."""

    def __post_init__(self) -> None:
        if self.index_bitwidth not in (0, 32, 64):
            raise ValueError(f"index-bitwidth is 32, 64, or 0 for what is enough, not {self.index_bitwidth}")

    def run(self, ctx: Context, module: ModuleOp) -> None:
        for device in device_modules(module):
            _copy_globals(module, device)
            for op in list(device.body.block.ops):
                if isinstance(op, GpuFuncOp):
                    self._narrow(convert_function(op, device))
                elif isinstance(op, func.FuncOp):
                    _convert_operations(op, _Sizes(None, None))

    def _narrow(self, function: func.FuncOp) -> None:
        if self.index_bitwidth == 32 or (self.index_bitwidth == 0 and narrow_indices(function.body)):
            function.attributes[INDEX_BITWIDTH] = IntegerAttr(32, i64)

    def parts(self, module: ModuleOp) -> Sequence[Operation]:
        return lowered_parts(module)


@dataclass(frozen=True)
class _Sizes:
    """The known sizes of a function's launches: threads per block, blocks of the grid."""

    block: tuple[int, ...] | None
    grid: tuple[int, ...] | None


def convert_function(op: GpuFuncOp, device: GpuModuleOp) -> func.FuncOp:
    """Replace a gpu.func by a func.func in the same gpu.module."""
    sizes = _Sizes(_numbers(op.known_block_size), _numbers(op.known_grid_size))
    _check_sizes(op, sizes, chip_of(device))
    _place_workgroup_buffers(op, device)
    region = op.detach_region(op.body)
    made = func.FuncOp(op.sym_name.data, op.function_type, region)
    made.location = op.location
    made.attributes.update({name: attr for name, attr in op.attributes.items() if name.startswith("nvvm.")})
    if op.kernel is not None:
        made.attributes[nvvm.KERNEL] = UnitAttr()
    if op.known_block_size is not None:
        made.attributes[nvvm.BLOCK_SIZE] = op.known_block_size
    device.body.block.insert_op_before(made, op)
    op.detach()
    op.erase()
    _convert_operations(made, sizes)
    return made


def _numbers(attr: DenseArrayBase[Any] | None) -> tuple[int, ...] | None:
    return None if attr is None else tuple(int(number) for number in attr.get_values())


def _check_sizes(op: GpuFuncOp, sizes: _Sizes, chip: str | None) -> None:
    """Reject sizes that no launch may have: the driver would do so later, without a location."""
    if sizes.block is not None:
        threads = sizes.block[0] * sizes.block[1] * sizes.block[2]
        if not 0 < threads <= MAX_BLOCK_THREADS:
            fail(op, f"has blocks of {threads} threads; NVIDIA's GPUs run up to {MAX_BLOCK_THREADS} in a block")
    for axis, wanted, most in zip(AXES, sizes.grid or (), MAX_GRID, strict=False):
        if not 0 < wanted <= most:
            fail(op, f"has a grid of {wanted} blocks along {axis}; NVIDIA's GPUs run 1 to {most}")
    shared, chip = op.workgroup_offsets[-1], chip or DEFAULT_CHIP
    if chip in CHIPS and shared > CHIPS[chip].shared_per_block:
        fail(op, f"has {shared} bytes of memory of the block; {chip} has {CHIPS[chip].shared_per_block}")


def _place_workgroup_buffers(op: GpuFuncOp, device: GpuModuleOp) -> None:
    """
    Turn the workgroup arguments of a function into memref.globals of the module, one each.

    If they exceed the static limit, they are views of one global, whose size the launch states.
    """
    block = op.body.blocks[0]
    first = block.first_op
    assert first is not None
    to = _Rewriter(first, _Sizes(None, None))
    name = f"{op.sym_name.data}_shared"
    offsets, dynamic = op.workgroup_offsets, op.dynamic_workgroup_bytes
    memory: SSAValue | None = None
    if dynamic:
        whole = MemRefType(IntegerType(8), (dynamic,), NoneAttr(), WORKGROUP)
        _add_global(name, whole, op, device).attributes[nvvm.DYNAMIC] = UnitAttr()
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
        buffer.replace_all_uses_with(value)
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


class _Rewriter:
    """Inserts operations before the one being replaced, with its location."""

    def __init__(self, op: Operation, sizes: _Sizes):
        self.op = op
        self.sizes = sizes

    def add(self, op: Operation) -> None:
        op.location = self.op.location
        cast(Block, self.op.parent).insert_op_before(op, self.op)

    def insert(self, op: Operation) -> SSAValue:
        """Insert an operation; returns its first result."""
        self.add(op)
        return op.results[0]

    def create(self, op_class: type[Operation], operands: Sequence[SSAValue], type_: Attribute) -> SSAValue:
        return self.insert(op_class.create(operands=operands, result_types=[type_]))

    def constant(self, value: int, type_: Attribute = _I32) -> SSAValue:
        return self.insert(arith.ConstantOp(IntegerAttr(value, cast(Any, type_))))

    def replace(self, *values: SSAValue) -> None:
        for result, value in zip(self.op.results, values, strict=True):
            if value.name_hint is None:
                value.name_hint = result.name_hint
            result.replace_all_uses_with(value)
        self.op.detach()
        self.op.erase()


_Pattern: TypeAlias = Callable[[Any, _Rewriter], None]


def _convert_operations(function: func.FuncOp, sizes: _Sizes) -> None:
    for op in operations_in(function):
        pattern = _PATTERNS.get(type(op))
        if pattern is not None:
            pattern(op, _Rewriter(op, sizes))


def _special_register(registers: Mapping[str, type[nvvm.SpecialRegisterOp]], counts_block: bool) -> _Pattern:
    """`gpu.thread_id x` reads a register; its range is stated if the size of the launches is known."""

    def convert(op: GpuThreadIdOp | GpuBlockIdOp, to: _Rewriter) -> None:
        known = to.sizes.block if counts_block else to.sizes.grid
        count = None if known is None else known[AXES.index(op.axis)]
        if count == 1:
            to.replace(to.constant(0, INDEX))
            return
        number = to.insert(registers[op.axis](None if count is None else (0, count)))
        to.replace(to.insert(arith.IndexCastOp(number, INDEX)))

    return convert


def _dimension(registers: Mapping[str, type[nvvm.SpecialRegisterOp]], counts_block: bool) -> _Pattern:
    """`gpu.block_dim x` is a constant if the size of the launches is known."""

    def convert(op: GpuBlockDimOp | GpuGridDimOp, to: _Rewriter) -> None:
        known = to.sizes.block if counts_block else to.sizes.grid
        if known is not None:
            to.replace(to.constant(known[AXES.index(op.axis)], INDEX))
            return
        to.replace(to.insert(arith.IndexCastOp(to.insert(registers[op.axis]()), INDEX)))

    return convert


def _lane_id(op: Operation, to: _Rewriter) -> None:
    to.replace(to.insert(arith.IndexCastOp(to.insert(nvvm.LaneIdOp((0, WARP))), INDEX)))


def _barrier(op: GpuBarrierOp, to: _Rewriter) -> None:
    to.add(nvvm.Barrier0Op.create())
    to.replace()


def _return(op: GpuReturnOp, to: _Rewriter) -> None:
    to.add(func.ReturnOp(*op.values))
    to.replace()


def _shuffle(op: GpuShuffleOp, to: _Rewriter) -> None:
    """
    `gpu.shuffle up %x, %offset, %width` becomes `nvvm.shfl.sync up %all, %x, %offset, %clamp` of each 32 bits of %x.

    Lanes are split into groups of `width`: the clamp's upper part, 32 - width, masks the bits of the lane number that
    identify the group; its lower part is the last lane of a group, or the first for `up`.
    """
    everyone = to.constant(-1)
    split = to.create(arith.SubiOp, (to.constant(WARP), op.width), _I32)
    clamp = to.create(arith.ShLIOp, (split, to.constant(8)), _I32)
    if op.mode.data != "up":
        clamp = to.create(arith.OrIOp, (clamp, to.constant(WARP - 1)), _I32)
    kind = _KINDS[op.mode.data]
    parts = _parts(op.value, to)
    valid: SSAValue | None = None
    moved: list[SSAValue] = []
    for part in parts:
        asks = valid is None and op.valid.first_use is not None
        result = to.insert(nvvm.ShflSyncOp(kind, everyone, part, op.offset, clamp, asks))
        if asks:
            valid = to.insert(llvm.ExtractValueOp(DenseArrayBase.from_list(i64, [1]), result, _I1))
            result = to.insert(llvm.ExtractValueOp(DenseArrayBase.from_list(i64, [0]), result, part.type))
        moved.append(result)
    value = _joined(moved, op.result.type, to)
    to.replace(value, valid if valid is not None else to.constant(1, _I1))


def _bits_of(type_: Attribute, op: Operation) -> int:
    """The width in bits of a scalar or vector that fits in a register."""
    if isinstance(type_, VectorType):
        vector = cast("VectorType[Any]", type_)
        if len(vector.get_shape()) == 1:
            return vector.get_shape()[0] * width_of(vector.element_type)
    elif not isinstance(type_, MemRefType):
        return width_of(type_)
    fail(op, f"exchanges values of type {type_}: only scalars and vectors of one dimension are supported")


def _parts(value: SSAValue, to: _Rewriter) -> list[SSAValue]:
    """A value as i32s, low bits first; an f32 or i32 unchanged."""
    type_ = value.type
    bits = _bits_of(type_, to.op)
    if type_ in (_I32, f32):
        return [value]
    if isinstance(type_, IndexType):
        value = to.insert(arith.IndexCastOp(value, i64))
    elif not isinstance(type_, IntegerType):
        value = _bitcast(value, IntegerType(bits), to)
    if bits < 32:
        return [to.create(arith.ExtUIOp, (value,), _I32)]
    parts: list[SSAValue] = []
    for start in range(0, bits, 32):
        rest = value
        if start:
            shift = to.constant(start, value.type)
            rest = to.create(arith.ShRUIOp, (value, shift), value.type)
        parts.append(rest if bits == 32 else to.create(arith.TruncIOp, (rest,), _I32))
    if bits % 32:
        fail(to.op, f"exchanges values of type {type_}, of {bits} bits: neither up to 32 nor a multiple of it")
    return parts


def _joined(parts: list[SSAValue], type_: Attribute, to: _Rewriter) -> SSAValue:
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


def _bitcast(value: SSAValue, type_: Attribute, to: _Rewriter) -> SSAValue:
    """A bitcast between a scalar or vector and an integer; arith.bitcast does not convert vectors to integers."""
    vectors = isinstance(value.type, VectorType) or isinstance(type_, VectorType)
    return to.create(llvm.BitcastOp if vectors else arith.BitcastOp, (value,), cast(Attribute, type_))


_APPROXIMATIONS: Mapping[type[Operation], str] = {
    math.CosOp: "cos.approx.f",
    math.Exp2Op: "ex2.approx.f",
    math.Log2Op: "lg2.approx.f",
    math.RsqrtOp: "rsqrt.approx.f",
    math.SinOp: "sin.approx.f",
    math.SqrtOp: "sqrt.approx.f",
    math.TanhOp: "tanh.approx.f32",
}


def _approximation(name: str) -> _Pattern:
    """`math.sin %x fastmath<afn> : f32` is an instruction of the chip; other cases are left to convert-to-llvm."""

    def convert(op: Operation, to: _Rewriter) -> None:
        flags = op.properties.get("fastmath")
        may = isinstance(flags, arith.FastMathFlagsAttr) and FastMathFlag.APPROX_FUNC in flags.data
        if may and isinstance(op.results[0].type, Float32Type):
            to.replace(to.insert(llvm.CallIntrinsicOp(f"llvm.nvvm.{name}", list(op.operands), [op.results[0].type])))

    return convert


_PATTERNS: Mapping[type[Operation], _Pattern] = {
    **{op: _approximation(name) for op, name in _APPROXIMATIONS.items()},
    GpuThreadIdOp: _special_register(nvvm.THREAD_IDS, True),
    GpuBlockIdOp: _special_register(nvvm.BLOCK_IDS, False),
    GpuBlockDimOp: _dimension(nvvm.BLOCK_DIMS, True),
    GpuGridDimOp: _dimension(nvvm.GRID_DIMS, False),
    GpuLaneIdOp: _lane_id,
    GpuBarrierOp: _barrier,
    GpuReturnOp: _return,
    GpuShuffleOp: _shuffle,
}
