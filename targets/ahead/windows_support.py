"""
Functions of the C runtime that LLVM calls by itself on Windows, for a DLL that is linked without the runtime: copies
and fills of memory, and the probes of large frames on the stack.
"""

from __future__ import annotations

import platform
from typing import Any

import llvmlite.binding

from ..cpu.jit import compile_to_object
from .machine import Machine, kind_of

llvm: Any = llvmlite.binding

COPY = """
define ptr @memcpy(ptr %to, ptr %from, i64 %count) #0 {
  %r = call ptr @memmove(ptr %to, ptr %from, i64 %count)
  ret ptr %r
}

define ptr @memmove(ptr %to, ptr %from, i64 %count) #0 {
entry:
  %a = ptrtoint ptr %to to i64
  %b = ptrtoint ptr %from to i64
  %distance = sub i64 %a, %b
  %forward = icmp uge i64 %distance, %count
  %none = icmp eq i64 %count, 0
  br i1 %none, label %end, label %some
some:
  br i1 %forward, label %up, label %down
up:
  %i = phi i64 [ 0, %some ], [ %i.next, %up ]
  %up.from = getelementptr i8, ptr %from, i64 %i
  %up.value = load i8, ptr %up.from
  %up.to = getelementptr i8, ptr %to, i64 %i
  store i8 %up.value, ptr %up.to
  %i.next = add i64 %i, 1
  %up.more = icmp ult i64 %i.next, %count
  br i1 %up.more, label %up, label %end
down:
  %k = phi i64 [ %count, %some ], [ %k.next, %down ]
  %k.next = sub i64 %k, 1
  %down.from = getelementptr i8, ptr %from, i64 %k.next
  %down.value = load i8, ptr %down.from
  %down.to = getelementptr i8, ptr %to, i64 %k.next
  store i8 %down.value, ptr %down.to
  %down.more = icmp ne i64 %k.next, 0
  br i1 %down.more, label %down, label %end
end:
  ret ptr %to
}

define ptr @memset(ptr %to, i32 %value, i64 %count) #0 {
entry:
  %byte = trunc i32 %value to i8
  %none = icmp eq i64 %count, 0
  br i1 %none, label %end, label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %loop ]
  %at = getelementptr i8, ptr %to, i64 %i
  store i8 %byte, ptr %at
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, %count
  br i1 %more, label %loop, label %end
end:
  ret ptr %to
}

attributes #0 = { nounwind "no-builtins" }
"""
"""Without built-in functions, LLVM does not take the loops for calls of themselves."""

PROBE = """
  pushq %rcx
  pushq %rdx
  leaq 24(%rsp), %rcx
  movq %rcx, %rdx
  subq %rax, %rdx
1:
  subq $4096, %rcx
  cmpq %rdx, %rcx
  jb 2f
  testb %cl, (%rcx)
  jmp 1b
2:
  testb %dl, (%rdx)
  popq %rdx
  popq %rcx
  retq
"""
"""
Touch each page of the rax bytes below the caller's frame, from the top: Windows extends a stack page by page. All
registers are kept, and the caller moves the stack pointer (Microsoft's x64 calling convention, `__chkstk`).
"""

_PROBE_NAMES = ("__chkstk", "___chkstk_ms")
"""As windows-msvc and windows-gnu call it."""


def support_object(machine: Machine) -> bytes:
    """
    The object file with these functions. The probe is there if LLVM has the assembler for it, which is that of the
    machine where this runs: for x86-64 on x86-64.
    """
    text = machine.header + COPY
    if kind_of(machine.triple) == "x86_64" and platform.machine() in ("x86_64", "AMD64"):
        llvm.initialize_native_asmparser()
        labels = "".join(f".globl {name}\n{name}:\n" for name in _PROBE_NAMES)
        lines = f".text\n{labels}{PROBE}".splitlines()
        text += "".join(f'module asm "{line.strip()}"\n' for line in lines if line.strip())
    return compile_to_object(text, machine=machine.target_machine)
