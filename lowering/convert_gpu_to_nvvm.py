"""gpu to nvvm: thread and block numbers, barriers, shuffles, kernels and their shared memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects import arith, llvm, math
from xdsl.dialects.builtin import DenseArrayBase, Float32Type, i64
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation, SSAValue

from ..dialects.gpu import nvvm
from ..dialects.gpu.marks import NVVM
from ..dialects.gpu.threads import GpuBarrierOp, GpuLaneIdOp, GpuShuffleOp
from ..dialects.support.buffers import INDEX
from .device.chips import DEFAULT_CHIP, WARP
from .device.functions import (
    I1,
    I32,
    ConvertGpuPass,
    Pattern,
    Rewriter,
    Vendor,
    joined_parts,
    parts_of_value,
)

_KINDS = {"xor": "bfly", "up": "up", "down": "down", "idx": "idx"}


@dataclass(frozen=True)
class ConvertGpuToNvvmPass(ConvertGpuPass):
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

    @property
    def vendor(self) -> Vendor:
        return NVIDIA


def _lane_id(op: Operation, to: Rewriter) -> None:
    to.replace(to.insert(arith.IndexCastOp(to.insert(nvvm.LaneIdOp((0, WARP))), INDEX)))


def _barrier(op: GpuBarrierOp, to: Rewriter) -> None:
    to.add(nvvm.Barrier0Op.create())
    to.replace()


def _shuffle(op: GpuShuffleOp, to: Rewriter) -> None:
    """
    `gpu.shuffle up %x, %offset, %width` becomes `nvvm.shfl.sync up %all, %x, %offset, %clamp` of each 32 bits of %x.

    Lanes are split into groups of `width`: the clamp's upper part, 32 - width, masks the bits of the lane number that
    identify the group; its lower part is the last lane of a group, or the first for `up`.
    """
    everyone = to.constant(-1)
    split = to.create(arith.SubiOp, (to.constant(WARP), op.width), I32)
    clamp = to.create(arith.ShLIOp, (split, to.constant(8)), I32)
    if op.mode.data != "up":
        clamp = to.create(arith.OrIOp, (clamp, to.constant(WARP - 1)), I32)
    kind = _KINDS[op.mode.data]
    parts = parts_of_value(op.value, to)
    valid: SSAValue | None = None
    moved: list[SSAValue] = []
    for part in parts:
        asks = valid is None and op.valid.first_use is not None
        result = to.insert(nvvm.ShflSyncOp(kind, everyone, part, op.offset, clamp, asks))
        if asks:
            valid = to.insert(llvm.ExtractValueOp(DenseArrayBase.from_list(i64, [1]), result, I1))
            result = to.insert(llvm.ExtractValueOp(DenseArrayBase.from_list(i64, [0]), result, part.type))
        moved.append(result)
    value = joined_parts(moved, op.result.type, to)
    to.replace(value, valid if valid is not None else to.constant(1, I1))


_APPROXIMATIONS: Mapping[type[Operation], str] = {
    math.CosOp: "cos.approx.f",
    math.Exp2Op: "ex2.approx.f",
    math.Log2Op: "lg2.approx.f",
    math.RsqrtOp: "rsqrt.approx.f",
    math.SinOp: "sin.approx.f",
    math.SqrtOp: "sqrt.approx.f",
    math.TanhOp: "tanh.approx.f32",
}


def _approximation(name: str) -> Pattern:
    """`math.sin %x fastmath<afn> : f32` is an instruction of the chip; other cases are left to convert-to-llvm."""

    def convert(op: Operation, to: Rewriter) -> None:
        flags = op.properties.get("fastmath")
        may = isinstance(flags, arith.FastMathFlagsAttr) and FastMathFlag.APPROX_FUNC in flags.data
        if may and isinstance(op.results[0].type, Float32Type):
            to.replace(to.insert(llvm.CallIntrinsicOp(f"llvm.nvvm.{name}", list(op.operands), [op.results[0].type])))

    return convert


NVIDIA = Vendor(
    name="NVIDIA's GPUs",
    prefix="nvvm.",
    marks=NVVM,
    default_chip=DEFAULT_CHIP,
    thread_ids=nvvm.THREAD_IDS,
    block_ids=nvvm.BLOCK_IDS,
    block_dims=nvvm.BLOCK_DIMS,
    grid_dims=nvvm.GRID_DIMS,
    patterns={
        **{op: _approximation(name) for op, name in _APPROXIMATIONS.items()},
        GpuLaneIdOp: _lane_id,
        GpuBarrierOp: _barrier,
        GpuShuffleOp: _shuffle,
    },
)
