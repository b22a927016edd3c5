"""
Functions of the C runtime that LLVM calls by itself on Windows, for a DLL that is linked without the runtime: copies
and fills of memory, and the probes of large frames on the stack.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..cpu.jit import compile_to_object
from .machine import Machine, kind_of

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


@dataclass(frozen=True)
class Probe:
    """The functions by which a machine's code makes room for a large frame: they touch each page of it."""

    names: tuple[str, ...]
    """As LLVM calls it, for Microsoft's system and for MinGW."""
    code: tuple[tuple[str, str], ...]
    """The machine code, in hexadecimal digits, and its assembly, in AT&T's syntax for x86."""

    @property
    def bytes(self) -> bytes:
        return bytes.fromhex("".join(digits for digits, _ in self.code))


PROBES = {
    "x86_64": Probe(
        ("__chkstk", "___chkstk_ms"),
        (
            ("51", "pushq %rcx"),
            ("52", "pushq %rdx"),
            ("488d4c2418", "leaq 24(%rsp), %rcx"),
            ("4889ca", "movq %rcx, %rdx"),
            ("4829c2", "subq %rax, %rdx"),
            ("4881e900100000", "1: subq $4096, %rcx"),
            ("4839d1", "cmpq %rdx, %rcx"),
            ("7204", "jb 2f"),
            ("8409", "testb %cl, (%rcx)"),
            ("ebf0", "jmp 1b"),
            ("8412", "2: testb %dl, (%rdx)"),
            ("5a", "popq %rdx"),
            ("59", "popq %rcx"),
            ("c3", "retq"),
        ),
    ),
    "aarch64": Probe(
        ("__chkstk",),
        (
            ("f0732fcb", "sub x16, sp, x15, uxtx #4"),
            ("f1030091", "mov x17, sp"),
            ("310640d1", "1: sub x17, x17, #4096"),
            ("3f0210eb", "cmp x17, x16"),
            ("63000054", "b.lo 2f"),
            ("3f0240f9", "ldr xzr, [x17]"),
            ("fcffff17", "b 1b"),
            ("1f0240f9", "2: ldr xzr, [x16]"),
            ("c0035fd6", "ret"),
        ),
    ),
}
"""
Touch each page of the frame below the caller's, from the top, as Windows extends a stack page by page. The frame has
rax bytes on x86-64, where all registers are kept, and x15 times 16 bytes on AArch64, where x16 and x17 are lost; the
caller moves the stack pointer (Microsoft's calling conventions, `__chkstk`). LLVM has no assembler for machines other
than the one where this runs, so that the code is bytes.
"""


def support_object(machine: Machine) -> bytes:
    """The object file with these functions."""
    probe = PROBES[kind_of(machine.triple)]
    code = "".join(f"\\{byte:02X}" for byte in probe.bytes)
    functions = [
        f'define void @{name}() naked nounwind prologue [{len(probe.bytes)} x i8] c"{code}" {{ unreachable }}\n'
        for name in probe.names
    ]
    return compile_to_object(machine.header + COPY + "".join(functions), machine=machine.target_machine)
