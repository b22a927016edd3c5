"""
The LLVM IR of device functions run on the CPU: each thread of a block is a thread of the process.

PTX cannot be tested without a GPU, but the LLVM IR that it is compiled from can: it is compiled for the CPU instead,
with functions in place of the GPU's registers, barriers and shuffles. That tests the lowering from the gpu-level IR,
which the SIMT interpreter runs, to LLVM: 32-bit indices, address spaces, shared memory, expanded functions. Grids must
be small.
"""

from __future__ import annotations

import ctypes
import itertools
import re
import threading
from collections.abc import Sequence
from typing import Any

import llvmlite.binding
import numpy as np

import emulated_amd
from simt_programs import gpu_level, gpu_target
from xhlo.hlo_dialect.dialect import make_context
from xhlo.lowering.device.amd_chips import AMD_CHIPS
from xhlo.lowering.device.parts import chip_of, device_modules
from xhlo.lowering.device.vendors import ALL_CHIPS
from xhlo.passes.manager.pipelines import LOWER_NVVM, LOWER_NVVM_TO_LLVM, LOWER_ROCDL, LOWER_ROCDL_TO_LLVM
from xhlo.targets.cpu.host import host_cpu, host_features
from xhlo.targets.llvm_text.module import emit_device_llvm_ir
from xhlo.targets.program.pipeline import run_passes
from xhlo.targets.simt.host import HostProgram
from xhlo.targets.simt.memory import undefined

llvm: Any = llvmlite.binding

STACK = 1 << 20
_LIBC = ctypes.CDLL(None)
_BARRIER_BYTES = 64


class _Context(ctypes.Structure):
    """The position of a thread, which the emulation's functions read."""

    _fields_ = [
        *((f"{name}_{axis}", ctypes.c_int32) for name in ("tid", "ctaid") for axis in "xyz"),
        ("laneid", ctypes.c_int32),
        ("unused", ctypes.c_int32),
        ("block", ctypes.c_void_p),
        ("warp", ctypes.c_void_p),
        ("slots", ctypes.c_void_p),
    ]


def _offset(field: str) -> int:
    return getattr(_Context, field).offset


def _register(name: str, field: str) -> str:
    return f"""
define i32 @emulated.{name}() alwaysinline {{
  %c = call ptr @pthread_getspecific(i32 KEY)
  %p = getelementptr i8, ptr %c, i64 {_offset(field)}
  %v = load i32, ptr %p
  ret i32 %v
}}"""


_SHUFFLED = {
    "up": ("%j = sub i32 %lane, %b", "%valid = icmp sge i32 %j, %most"),
    "down": ("%j = add i32 %lane, %b", "%valid = icmp sle i32 %j, %most"),
    "bfly": ("%j = xor i32 %lane, %b", "%valid = icmp sle i32 %j, %most"),
    "idx": ("%in = and i32 %b, %nots\n  %j = or i32 %in, %least", "%valid = icmp sle i32 %j, %most"),
}


def _shuffle(kind: str) -> str:
    """shfl.sync as the PTX ISA defines it: j is the source lane, or the thread's own lane if j is invalid."""
    asked, valid = _SHUFFLED[kind]
    return f"""
define {{ i32, i1 }} @emulated.shfl.{kind}(i32 %value, i32 %offset, i32 %clamp) {{
  %c = call ptr @pthread_getspecific(i32 KEY)
  %lp = getelementptr i8, ptr %c, i64 {_offset("laneid")}
  %lane = load i32, ptr %lp
  %wp = getelementptr i8, ptr %c, i64 {_offset("warp")}
  %warp = load ptr, ptr %wp
  %sp = getelementptr i8, ptr %c, i64 {_offset("slots")}
  %slots = load ptr, ptr %sp
  %own = getelementptr i32, ptr %slots, i32 %lane
  store i32 %value, ptr %own
  call i32 @pthread_barrier_wait(ptr %warp)
  %b = and i32 %offset, 31
  %cval = and i32 %clamp, 31
  %high = lshr i32 %clamp, 8
  %seg = and i32 %high, 31
  %nots = xor i32 %seg, 31
  %least = and i32 %lane, %seg
  %cut = and i32 %cval, %nots
  %most = or i32 %least, %cut
  {asked}
  {valid}
  %from = select i1 %valid, i32 %j, i32 %lane
  %other = getelementptr i32, ptr %slots, i32 %from
  %result = load i32, ptr %other
  call i32 @pthread_barrier_wait(ptr %warp)
  %r0 = insertvalue {{ i32, i1 }} poison, i32 %result, 0
  %r1 = insertvalue {{ i32, i1 }} %r0, i1 %valid, 1
  ret {{ i32, i1 }} %r1
}}
define {{ i32, i1 }} @emulated.shfl.sync.{kind}.i32p(i32 %m, i32 %v, i32 %o, i32 %c) {{
  %r = call {{ i32, i1 }} @emulated.shfl.{kind}(i32 %v, i32 %o, i32 %c)
  ret {{ i32, i1 }} %r
}}
define i32 @emulated.shfl.sync.{kind}.i32(i32 %m, i32 %v, i32 %o, i32 %c) {{
  %r = call {{ i32, i1 }} @emulated.shfl.{kind}(i32 %v, i32 %o, i32 %c)
  %x = extractvalue {{ i32, i1 }} %r, 0
  ret i32 %x
}}
define float @emulated.shfl.sync.{kind}.f32(i32 %m, float %v, i32 %o, i32 %c) {{
  %i = bitcast float %v to i32
  %r = call {{ i32, i1 }} @emulated.shfl.{kind}(i32 %i, i32 %o, i32 %c)
  %x = extractvalue {{ i32, i1 }} %r, 0
  %f = bitcast i32 %x to float
  ret float %f
}}
define {{ float, i1 }} @emulated.shfl.sync.{kind}.f32p(i32 %m, float %v, i32 %o, i32 %c) {{
  %i = bitcast float %v to i32
  %r = call {{ i32, i1 }} @emulated.shfl.{kind}(i32 %i, i32 %o, i32 %c)
  %x = extractvalue {{ i32, i1 }} %r, 0
  %valid = extractvalue {{ i32, i1 }} %r, 1
  %f = bitcast i32 %x to float
  %r0 = insertvalue {{ float, i1 }} poison, float %f, 0
  %r1 = insertvalue {{ float, i1 }} %r0, i1 %valid, 1
  ret {{ float, i1 }} %r1
}}"""


_BARRIER = f"""
define void @emulated.barrier0() {{
  %c = call ptr @pthread_getspecific(i32 KEY)
  %p = getelementptr i8, ptr %c, i64 {_offset("block")}
  %b = load ptr, ptr %p
  call i32 @pthread_barrier_wait(ptr %b)
  ret void
}}"""

_ROUND = """
define bfloat @emulated.round(float %x) alwaysinline {
  %bits = bitcast float %x to i32
  %upper = lshr i32 %bits, 16
  %last = and i32 %upper, 1
  %half = add i32 %last, 32767
  %sum = add i32 %bits, %half
  %rounded = lshr i32 %sum, 16
  %quiet = or i32 %upper, 64
  %nan = fcmp uno float %x, %x
  %chosen = select i1 %nan, i32 %quiet, i32 %rounded
  %short = trunc i32 %chosen to i16
  %r = bitcast i16 %short to bfloat
  ret bfloat %r
}"""
"""x86's own rounding to bfloat flushes denormals; a GPU's does not."""

_ROUND_TWICE = """
define half @emulated.round_double(double %x) alwaysinline {
  %single = fptrunc double %x to float
  %back = fpext float %single to double
  %bits = bitcast float %single to i32
  %bits64 = bitcast double %x to i64
  %size = and i64 %bits64, 9223372036854775807
  %back64 = bitcast double %back to i64
  %back_size = and i64 %back64, 9223372036854775807
  %larger = icmp ugt i64 %back_size, %size
  %less = sub i32 %bits, 1
  %down = select i1 %larger, i32 %less, i32 %bits
  %inexact = fcmp one double %x, %back
  %sticky = zext i1 %inexact to i32
  %odd = or i32 %down, %sticky
  %f = bitcast i32 %odd to float
  %r = fptrunc float %f to half
  ret half %r
}"""
"""x86 calls a compiler's library for it; a GPU has an instruction. Rounding to odd first avoids double rounding."""


_APPROXIMATIONS = {
    "ex2.approx.f": "exp2f",
    "lg2.approx.f": "log2f",
    "sin.approx.f": "sinf",
    "cos.approx.f": "cosf",
    "tanh.approx.f32": "tanhf",
    "sqrt.approx.f": "sqrtf",
}


def _approximation(name: str, function: str) -> str:
    """The exact function in place of the chip's approximation."""
    return f"""
declare float @{function}(float)
define float @emulated.{name}(float %x) {{
  %y = call float @{function}(float %x)
  ret float %y
}}"""


_RSQRT = """
define float @emulated.rsqrt.approx.f(float %x) {
  %root = call float @sqrtf(float %x)
  %y = fdiv float 1.0, %root
  ret float %y
}"""


def _entry(name: str, count: int) -> str:
    """`void name.entry(ptr context, ptr addresses)`."""
    loads = "".join(
        f"  %p{i} = getelementptr ptr, ptr %args, i64 {i}\n  %a{i} = load ptr addrspace(1), ptr %p{i}\n"
        for i in range(count)
    )
    arguments = ", ".join(f"ptr addrspace(1) %a{i}" for i in range(count))
    return f"""
define void @"{name}.entry"(ptr %context, ptr %args) {{
  call i32 @pthread_setspecific(i32 KEY, ptr %context)
{loads}  call void @{name}({arguments})
  call void @emulated.barrier0()
  ret void
}}"""


def _for_cpu(text: str, key: int, warp: int) -> tuple[str, list[str]]:
    """The same functions with the emulation's in place of the GPU's, and the names of the kernels."""
    kernels: dict[str, int] = {}
    text = emulated_amd.for_cpu(text)
    for name, parameters in re.findall(r"define ptx_kernel void @(\S+?)\((.*)\) nounwind", text):
        kernels[name] = parameters.count("%")
    text = text.replace("ptx_kernel ", "")
    text = re.sub(r"declare [^\n]*@llvm\.nvvm\.[^\n]*\n", "", text)
    text = text.replace("@llvm.nvvm.read.ptx.sreg.", "@emulated.").replace("@llvm.nvvm.", "@emulated.")
    text = re.sub(r"= fptrunc float (\S+) to bfloat", r"= call bfloat @emulated.round(float \1)", text)
    text = re.sub(r"= fptrunc double (\S+) to half", r"= call half @emulated.round_double(double \1)", text)
    text = re.sub(
        r"= external addrspace\(3\) global \[0 x i8\]", "= internal addrspace(3) global [262144 x i8] undef", text
    )
    parts = [
        text,
        "declare ptr @pthread_getspecific(i32)\ndeclare i32 @pthread_setspecific(i32, ptr)",
        "declare i32 @pthread_barrier_wait(ptr)",
        *(_register(f"{n}.{axis}", f"{n}_{axis}") for n in ("tid", "ctaid") for axis in "xyz"),
        _register("laneid", "laneid"),
        *map(_shuffle, _SHUFFLED),
        _BARRIER,
        emulated_amd.functions(warp, _offset("laneid"), _offset("warp"), _offset("slots")),
        *itertools.starmap(_approximation, _APPROXIMATIONS.items()),
        _RSQRT,
        _ROUND,
        _ROUND_TWICE,
        *(_entry(name, count) for name, count in kernels.items()),
    ]
    return "\n".join(parts).replace("KEY", str(key)), list(kernels)


class EmulatedKernels:
    """The kernels of a module of the llvm dialect, as machine code for this computer."""

    def __init__(self, module: Any):
        key = ctypes.c_uint32()
        assert _LIBC.pthread_key_create(ctypes.byref(key), None) == 0
        chips = [chip_of(device) for device in device_modules(module)]
        self._warp = next((ALL_CHIPS[chip].warp for chip in chips if chip is not None), 32)
        text, names = _for_cpu(emit_device_llvm_ir(module), key.value, self._warp)
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_default_triple().create_target_machine(
            cpu=host_cpu(), features=host_features(), opt=1, jit=True
        )
        parsed = llvm.parse_assembly(text)
        # Folds bf16 constants, which the code generator would round by a call of a compiler's library.
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1))
        builder.getModulePassManager().run(parsed, builder)
        self._engine = llvm.create_mcjit_compiler(parsed, machine)
        self._engine.finalize_object()
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
        self._entries = {name: kind(self._engine.get_function_address(f"{name}.entry")) for name in names}

    def launch(self, name: str, grid: Sequence[int], block: Sequence[int], arrays: Sequence[np.ndarray]) -> None:
        """Run all blocks, one after the other."""
        addresses = (ctypes.c_void_p * max(1, len(arrays)))(*(array.ctypes.data for array in arrays))
        places = [(x, y, z) for z in range(block[2]) for y in range(block[1]) for x in range(block[0])]
        blocks = [(x, y, z) for z in range(grid[2]) for y in range(grid[1]) for x in range(grid[0])]
        size = self._warp
        warps = -(-len(places) // size)
        barriers = [_barrier(len(places))] + [_barrier(min(size, len(places) - size * w)) for w in range(warps)]
        slots = [(ctypes.c_int32 * size)() for _ in range(warps)]

        def thread(number: int) -> None:
            warp = number // size
            context = _Context(
                *places[number],
                *(0, 0, 0),
                number % size,
                0,
                ctypes.addressof(barriers[0]),
                ctypes.addressof(barriers[1 + warp]),
                ctypes.addressof(slots[warp]),
            )
            for x, y, z in blocks:
                context.ctaid_x, context.ctaid_y, context.ctaid_z = x, y, z
                self._entries[name](ctypes.addressof(context), ctypes.addressof(addresses))

        old = threading.stack_size(STACK)
        try:
            threads = [threading.Thread(target=thread, args=(number,)) for number in range(len(places))]
            for one in threads:
                one.start()
            for one in threads:
                one.join()
        finally:
            threading.stack_size(old)


def _barrier(count: int) -> Any:
    memory = ctypes.create_string_buffer(_BARRIER_BYTES)
    assert _LIBC.pthread_barrier_init(ctypes.byref(memory), None, count) == 0
    return memory


class _Launcher:
    """Replaces a kernel in the SIMT interpreter's host program."""

    def __init__(self, kernels: EmulatedKernels, name: str):
        self.kernels, self.name = kernels, name

    def launch(self, op: Any, grid: Sequence[int], block: Sequence[int], arguments: Sequence[Any]) -> None:
        self.kernels.launch(self.name, grid, block, [view.array() for view in arguments])


def run_emulated(
    text: str, inputs: Sequence[Any], *, chip: str = "sm_90", fuse: bool = True, math: str = "default"
) -> tuple[np.ndarray, ...]:
    """@main's results, computed by the LLVM IR of the device functions."""
    module, (arguments, results) = gpu_level(text, chip=chip, fuse=fuse)
    program = HostProgram(module)
    specs = (*LOWER_ROCDL, *LOWER_ROCDL_TO_LLVM) if chip in AMD_CHIPS else (*LOWER_NVVM, *LOWER_NVVM_TO_LLVM)
    passes = tuple(gpu_target(chip, math).tune(spec) for spec in specs)
    run_passes(make_context(), module, passes, verify=True)
    kernels = EmulatedKernels(module)
    for key in program.kernels:
        program.kernels[key] = _Launcher(kernels, key[1])  # pyright: ignore[reportArgumentType]
    arrays = [np.ascontiguousarray(array).reshape(t.shape) for array, t in zip(inputs, arguments, strict=True)]
    outputs = [undefined(t.shape, t.dtype) for t in results]
    program.run(arrays, outputs)
    return tuple(outputs)
