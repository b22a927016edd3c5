"""gpu to rocdl: thread and block numbers, barriers, shuffles, kernels and their memory of the workgroup (LDS)."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import BFloat16Type, IntegerAttr, IntegerType, VectorType, f32
from xdsl.ir import Attribute, SSAValue

from ..dialects.gpu import rocdl
from ..dialects.gpu.amdgpu import MfmaOp, WmmaOp
from ..dialects.gpu.marks import ROCDL
from ..dialects.gpu.threads import GpuBarrierOp, GpuLaneIdOp, GpuShuffleOp
from ..dialects.support.buffers import INDEX
from .device.amd_chips import DEFAULT_AMD_CHIP, MOST_WORK_ITEMS
from .device.functions import (
    I1,
    I32,
    ConvertGpuPass,
    Rewriter,
    Vendor,
    joined_parts,
    parts_of_value,
)

I16 = IntegerType(16)

_HALF = 32
"""The lanes that ds_swizzle exchanges values among, and that one mbcnt counts."""

_DPP_CONTROLS = {1: 0xB1, 2: 0x4E, 3: 0x1B, 8: 0x128}
"""The control of update.dpp for the lane whose number differs in these bits: permutations of four, and a rotation."""


@dataclass(frozen=True)
class ConvertGpuToRocdlPass(ConvertGpuPass):
    """
    Lower the functions of a gpu.module to operations of AMD's hardware.

    Before: `gpu.func @k(%x: ..) workgroup(%s: ..) kernel { %t = gpu.thread_id x .. gpu.return }`
    After:  `func.func @k(%x: ..) attributes {rocdl.kernel, rocdl.reqd_work_group_size = array<i32: 256, 1, 1>} {
             %s = memref.get_global @k_shared_0; %n = rocdl.workitem.id.x range <i32, 0, 256>; .. func.return }`
    Memory of the workgroup, constants and the width of index are as in convert-gpu-to-nvvm. A gpu.shuffle exchanges 32
    bits at a time: `rocdl.update.dpp` or `rocdl.ds_swizzle` with the lane whose number differs in constant bits,
    `rocdl.ds_bpermute` with any other lane of the wave. The chip of the gpu.module says how many lanes a wave has.
    amdgpu.mfma and amdgpu.wmma become the product of their types.
    Assumes: convert-loops-to-cf; if structured loops are left, indices stay at 64 bits.
    Leaves: no gpu and amdgpu operations inside gpu.modules; the host's gpu.launch_func stays for the runtime.
    """

    name = "convert-gpu-to-rocdl"

    @property
    def vendor(self) -> Vendor:
        return AMD


def _lane(to: Rewriter) -> SSAValue:
    """The number of the thread's lane: the lanes below it."""
    everyone, lane = to.constant(-1), to.insert(rocdl.MbcntLoOp(to.constant(-1), to.constant(0)))
    return to.insert(rocdl.MbcntHiOp(everyone, lane)) if to.sizes.warp > _HALF else lane


def _lane_id(op: GpuLaneIdOp, to: Rewriter) -> None:
    to.replace(to.insert(arith.IndexCastOp(_lane(to), INDEX)))


def _barrier(op: GpuBarrierOp, to: Rewriter) -> None:
    to.add(rocdl.BarrierOp.create())
    to.replace()


def _shuffle(op: GpuShuffleOp, to: Rewriter) -> None:
    """
    `gpu.shuffle up %x, %offset, %width` becomes `rocdl.ds_bpermute %address, %x` of each 32 bits of %x.

    The address is the number of the source lane times 4; the thread's own lane if the source is in another group.
    """
    bits, width = _constant(op.offset), _constant(op.width)
    if op.mode.data == "xor" and bits is not None and width is not None and 0 < bits < min(width, _HALF):
        value = joined_parts([_crossed(part, bits, to) for part in parts_of_value(op.value, to)], op.result.type, to)
        to.replace(value, to.constant(1, I1))
        return
    lane = _lane(to)
    group = to.create(arith.AndIOp, (lane, to.create(arith.SubiOp, (to.constant(0), op.width), I32)), I32)
    source = {"xor": arith.XOrIOp, "up": arith.SubiOp, "down": arith.AddiOp, "idx": arith.AddiOp}[op.mode.data]
    wanted = to.create(source, (group if op.mode.data == "idx" else lane, op.offset), I32)
    inside = to.create(arith.SubiOp, (wanted, group), I32)
    valid = to.insert(arith.CmpiOp(inside, op.width, "ult"))
    chosen = to.insert(arith.SelectOp(valid, wanted, lane))
    address = to.create(arith.ShLIOp, (chosen, to.constant(2)), I32)

    def moved(part: SSAValue) -> SSAValue:
        return _as_float(to.insert(rocdl.DsBpermuteOp(address, _as_integer(part, to))), part.type, to)

    to.replace(joined_parts([moved(part) for part in parts_of_value(op.value, to)], op.result.type, to), valid)


def _constant(value: SSAValue) -> int | None:
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None


def _crossed(part: SSAValue, bits: int, to: Rewriter) -> SSAValue:
    """The value of the lane whose number differs in these bits, of the lowest five."""
    value = _as_integer(part, to)
    control = _DPP_CONTROLS.get(bits)
    if control is not None:
        found = to.insert(rocdl.UpdateDppOp(value, value, control))
    else:
        found = to.insert(rocdl.DsSwizzleOp(value, to.constant(bits << 10 | _HALF - 1)))
    return _as_float(found, part.type, to)


def _as_integer(part: SSAValue, to: Rewriter) -> SSAValue:
    return to.create(arith.BitcastOp, (part,), I32) if part.type == f32 else part


def _as_float(value: SSAValue, type_: Attribute, to: Rewriter) -> SSAValue:
    return to.create(arith.BitcastOp, (value,), f32) if type_ == f32 else value


def _as_words(value: SSAValue, words: Attribute, to: Rewriter) -> SSAValue:
    """A lane's elements as the instruction takes them."""
    return to.insert(llvm.BitcastOp.create(operands=[value], result_types=[words]))


def _mfma(op: MfmaOp, to: Rewriter) -> None:
    """`amdgpu.mfma` on bf16 takes vectors of i16, on i8 whole words."""
    product, zero = rocdl.MFMA[str(op.element), op.depth], to.constant(0)
    factors: list[SSAValue] = [op.sourceA, op.sourceB]
    if isinstance(op.element, BFloat16Type):
        factors = [_as_words(value, VectorType(I16, (op.each,)), to) for value in factors]
    elif isinstance(op.element, IntegerType):
        factors = [_as_words(value, IntegerType(8 * op.each), to) for value in factors]
    to.replace(to.insert(product([*factors, op.destC, zero, zero, zero], op.destD.type)))


def _wmma(op: WmmaOp, to: Rewriter) -> None:
    """`amdgpu.wmma` on bf16 takes vectors of i16, on i8 four words and that they have signs."""
    product = rocdl.WMMA[str(op.element)]
    a, b = op.sourceA, op.sourceB
    if isinstance(op.element, IntegerType):
        words = VectorType(I32, (op.each // 4,))
        sign = to.constant(1, I1)
        args = [sign, _as_words(a, words, to), sign, _as_words(b, words, to), op.destC, to.constant(0, I1)]
    elif isinstance(op.element, BFloat16Type):
        args = [*(_as_words(value, VectorType(I16, (op.each,)), to) for value in (a, b)), op.destC]
    else:
        args = [a, b, op.destC]
    to.replace(to.insert(product(args, op.destD.type)))


AMD = Vendor(
    name="AMD's GPUs",
    prefix="rocdl.",
    marks=ROCDL,
    default_chip=DEFAULT_AMD_CHIP,
    thread_ids=rocdl.THREAD_IDS,
    block_ids=rocdl.BLOCK_IDS,
    block_dims=rocdl.BLOCK_DIMS,
    grid_dims=rocdl.GRID_DIMS,
    patterns={GpuLaneIdOp: _lane_id, GpuBarrierOp: _barrier, GpuShuffleOp: _shuffle, MfmaOp: _mfma, WmmaOp: _wmma},
    most_threads=MOST_WORK_ITEMS,
)
