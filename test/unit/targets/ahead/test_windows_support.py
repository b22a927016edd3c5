"""The functions that a DLL without a C runtime has itself, run here."""

from __future__ import annotations

import ctypes
import mmap
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import llvmlite.binding
import pytest

from xhlo.targets.ahead.library import compile_ahead
from xhlo.targets.ahead.linking import LinkError
from xhlo.targets.ahead.machine import Format, Machine
from xhlo.targets.ahead.object_symbols import undefined_symbols
from xhlo.targets.ahead.windows_support import COPY, PROBES, support_object
from xhlo.targets.cpu import jit

llvm: Any = llvmlite.binding


def loaded(text: str) -> Any:
    """The engine that has compiled a text for this machine."""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), jit.target_machine(llvm.get_process_triple(), "", ""))
    engine.add_module(llvm.parse_assembly(text))
    engine.finalize_object()
    return engine


def test_copies_and_fills() -> None:
    engine = loaded(COPY.replace("@mem", "@own_mem"))
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    move = ctypes.CFUNCTYPE(pointer, pointer, pointer, size)(engine.get_function_address("own_memmove"))
    fill = ctypes.CFUNCTYPE(pointer, pointer, ctypes.c_int, size)(engine.get_function_address("own_memset"))
    for to, source, count in ((0, 3, 50), (3, 0, 50), (7, 7, 20), (10, 60, 0), (0, 64, 64)):
        memory = ctypes.create_string_buffer(bytes(range(128)), 128)
        expected = bytearray(range(128))
        expected[to : to + count] = expected[source : source + count]
        base = ctypes.addressof(memory)
        assert move(base + to, base + source, count) == base + to
        assert memory.raw == bytes(expected)
        fill(base + 5, 0x1FF, count)
        expected[5 : 5 + count] = b"\xff" * count
        assert memory.raw == bytes(expected)


CALL = """
.globl call_probe
call_probe:
  pushq %rbx
  movq %rsp, %rbx
  movq %rsi, %rsp
  movq %rdi, %rax
  movl $7, %ecx
  movl $9, %edx
  callq probe
  movq %rbx, %rsp
  popq %rbx
  subq %rdi, %rax
  subq $7, %rcx
  orq %rcx, %rax
  subq $9, %rdx
  orq %rdx, %rax
  retq
"""
"""A call of the probe for a number of bytes on a stack that ends at an address: 0 if it kept the registers."""


@pytest.mark.skipif(sys.platform != "linux" or platform.machine() != "x86_64", reason="the probe is for x86-64")
def test_the_probe_touches_each_page_and_keeps_registers() -> None:
    llvm.initialize_native_asmparser()
    lines = [*CALL.splitlines(), "probe:", *(line for _, line in PROBES["x86_64"].code)]
    engine = loaded("".join(f'module asm "{line}"\n' for line in lines if line))
    call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(engine.get_function_address("call_probe"))
    page, pages = mmap.PAGESIZE, 16
    for size, touched in ((5 * page, 6), (5 * page + 8, 6), (4096, 2), (0, 1)):
        stack = mmap.mmap(-1, pages * page)
        start = ctypes.addressof(ctypes.c_char.from_buffer(stack))
        # The frame begins 64 bytes below a page's end.
        assert call(size, start + pages * page - 64) == 0
        resident = (ctypes.c_ubyte * pages)()
        assert ctypes.CDLL(None).mincore(ctypes.c_void_p(start), ctypes.c_size_t(pages * page), resident) == 0
        assert [one & 1 for one in resident] == [0] * (pages - touched) + [1] * touched


ASSEMBLERS = {"x86_64": ("as", "objcopy"), "aarch64": ("aarch64-linux-gnu-as", "aarch64-linux-gnu-objcopy")}


@pytest.mark.parametrize("machine", PROBES)
def test_the_bytes_of_the_probes_are_their_assembly(machine: str, tmp_path: Path) -> None:
    assembler, objcopy = ASSEMBLERS[machine]
    if shutil.which(objcopy) is None or (machine == "x86_64" and platform.machine() != machine):
        pytest.skip(f"no assembler for {machine} is installed")
    source = "".join(f"{line}\n" for _, line in PROBES[machine].code)
    subprocess.run([assembler, "-o", "probe.o", "-"], input=source, text=True, cwd=tmp_path, check=True)
    subprocess.run([objcopy, "-O", "binary", "-j", ".text", "probe.o", "probe"], cwd=tmp_path, check=True)
    assert (tmp_path / "probe").read_bytes() == PROBES[machine].bytes
    for triple in (f"{machine}-windows-msvc", f"{machine}-windows-gnu"):
        assert PROBES[machine].bytes in support_object(Machine.named(triple))


TOUCHED = r"""
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
static uint8_t *stack;
__asm__(".globl call_probe\ncall_probe:\n mov x9, sp\n mov x10, x30\n mov x15, x0\n mov sp, x1\n bl probe\n"
        " mov sp, x9\n sub x0, x15, x0\n ret x10\nprobe:\n" CODE);
int64_t call_probe(int64_t words, uint8_t *sp);
int main(void)
{
    const int64_t sizes[] = {5 * 4096, 5 * 4096 + 16, 4096, 0};
    for (int n = 0; n < 4; n++) {
        unsigned char in[16];
        int touched = 0;
        stack = mmap(NULL, 16 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (call_probe(sizes[n] / 16, stack + 16 * 4096 - 64)) return 1;
        mincore(stack, 16 * 4096, in);
        for (int i = 0; i < 16; i++) touched += in[i] & 1;
        printf("%d ", touched);
    }
    return 0;
}
"""


def test_the_probe_of_aarch64_touches_each_page_below_the_stack(tmp_path: Path) -> None:
    compiler, emulator = "aarch64-linux-gnu-gcc", "qemu-aarch64"
    if shutil.which(compiler) is None or shutil.which(emulator) is None:
        pytest.skip(f"{compiler} or {emulator} is not installed")
    code = "".join(f'"{line}\\n"' for _, line in PROBES["aarch64"].code)
    (tmp_path / "touched.c").write_text(TOUCHED.replace("CODE", code))
    subprocess.run([compiler, "-O1", "-static", "touched.c", "-o", "touched"], cwd=tmp_path, check=True)
    shown = subprocess.run([emulator, "./touched"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert shown == "5 5 1 1 "


@pytest.mark.parametrize("triple", ["x86_64-windows-msvc", "x86_64-windows-gnu", "aarch64-windows-msvc"])
def test_a_dll_needs_no_c_runtime(triple: str) -> None:
    program = """func.func @main(%x: tensor<8x64xf32>, %w: tensor<64x512xf32>) -> tensor<512x8xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x512xf32>) -> tensor<8x512xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<8x512xf32>) -> tensor<512x8xf32>
  return %1 : tensor<512x8xf32>
}"""
    library = compile_ahead(program, triple=triple)
    assert undefined_symbols(support_object(library.machine), Format.COFF) == []
    try:
        made = library.shared_library
    except LinkError as error:
        pytest.skip(str(error))
    assert made[:2] == b"MZ" and b"model_run\0" in made
