"""The function `model_run` that C calls, as LLVM IR around the program's entry."""

from __future__ import annotations

from .header import ARENA_ALIGNMENT
from .interface import Interface

ENTRY = "xhlo_entry"
"""The entry that convert-to-llvm makes: it takes an array of the addresses of all buffers."""


def with_run_function(text: str, interface: Interface) -> str:
    """The program's LLVM IR with the entry private to it, and `int model_run(args, results, arena)`."""
    text = text.replace(f"define void @{ENTRY}(", f"define internal void @{ENTRY}(", 1)
    return f"{text}\n{_run_function(interface)}"


def _run_function(interface: Interface) -> str:
    """
    Check the pointers, put them into one array on the stack, and call the entry.

    Arguments and results are structures of pointers, so that each is an array of addresses already.
    """
    ports = [("%args", n, port) for n, port in enumerate(interface.arguments)]
    ports += [("%results", n, port) for n, port in enumerate(interface.results)]
    count = len(ports) + 1
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
        f"  %buffers = alloca [{count} x ptr], align 16",
        "  %none.0 = icmp eq ptr null, %arena",
    ]
    for number, (structure, index, port) in enumerate(ports):
        null = "null" if port.nbytes else "inttoptr (i64 -1 to ptr)"  # an empty array may be anywhere
        lines += [
            f"  %from.{number} = getelementptr ptr, ptr {structure}, i64 {index}",
            f"  %p.{number} = load ptr, ptr %from.{number}",
            f"  %to.{number} = getelementptr ptr, ptr %buffers, i64 {number}",
            f"  store ptr %p.{number}, ptr %to.{number}",
            f"  %is.null.{number} = icmp eq ptr %p.{number}, {null}",
            f"  %none.{number + 1} = or i1 %none.{number}, %is.null.{number}",
        ]
    lines += [
        f"  %to.arena = getelementptr ptr, ptr %buffers, i64 {count - 1}",
        "  store ptr %arena, ptr %to.arena",
        f"  br i1 %none.{len(ports)}, label %null, label %run",
        "run:",
        f"  call void @{ENTRY}(ptr %buffers)",
        "  ret i32 0",
        "null:",
        "  ret i32 1",
        "alignment:",
        "  ret i32 2",
        "}",
    ]
    return "\n".join(lines) + "\n"
