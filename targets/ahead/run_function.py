"""The function `model_run` that C calls, as LLVM IR around the program's entry."""

from __future__ import annotations

from .header import ARENA_ALIGNMENT
from .interface import Interface

_ENTRY = "define void @xhlo_entry("
"""The entry that the JIT calls, with an array of addresses of 64 bits."""


def with_run_function(text: str, interface: Interface) -> str:
    """The program's LLVM IR with the JIT's entry made private, so that it vanishes, and with `model_run`."""
    assert _ENTRY in text, "convert-to-llvm makes the entry"
    return f"{text.replace(_ENTRY, _ENTRY.replace('void', 'internal void'), 1)}\n{_run_function(interface)}"


def _run_function(interface: Interface) -> str:
    """
    `int model_run(args, results, arena)`: check the pointers and call @main with them.

    Arguments and results are structures of pointers, so that each is an array of addresses already.
    """
    ports = [("%args", n, port) for n, port in enumerate(interface.arguments)]
    ports += [("%results", n, port) for n, port in enumerate(interface.results)]
    lines = [
        f"define i32 @{interface.name}_run(ptr %args, ptr %results, ptr %arena) nounwind {{",
        "  %no.args = icmp eq ptr %args, null",
        "  %no.results = icmp eq ptr %results, null",
        "  %no.arena = icmp eq ptr %arena, null",
        "  %no.structure = or i1 %no.args, %no.results",
        "  %missing = or i1 %no.structure, %no.arena",
        "  br i1 %missing, label %null, label %structures",
        "structures:",
        "  %address = ptrtoint ptr %arena to i64",
        f"  %rest = and i64 %address, {ARENA_ALIGNMENT - 1}",
        "  %misaligned = icmp ne i64 %rest, 0",
        "  br i1 %misaligned, label %alignment, label %pointers",
        "pointers:",
    ]
    missing = "false"
    for number, (structure, index, port) in enumerate(ports):
        lines += [
            f"  %from.{number} = getelementptr ptr, ptr {structure}, i64 {index}",
            f"  %p.{number} = load ptr, ptr %from.{number}",
        ]
        if port.nbytes:  # an empty array may be anywhere
            lines += [
                f"  %is.null.{number} = icmp eq ptr %p.{number}, null",
                f"  %missing.{number} = or i1 {missing}, %is.null.{number}",
            ]
            missing = f"%missing.{number}"
    pointers = ", ".join([*(f"ptr %p.{number}" for number in range(len(ports))), "ptr %arena"])
    lines += [
        f"  br i1 {missing}, label %null, label %run",
        "run:",
        f"  call void @main({pointers})",
        "  ret i32 0",
        "null:",
        "  ret i32 1",
        "alignment:",
        "  ret i32 2",
        "}",
    ]
    return "\n".join(lines) + "\n"
