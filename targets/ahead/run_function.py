"""The function `model_run` that C calls, as LLVM IR around the program's entry."""

from __future__ import annotations

from .header import ARENA_ALIGNMENT, CODES
from .interface import Entry
from .weights import ADDRESS

_ENTRY = "define void @xhlo_entry("
"""The entry that the JIT calls, with an array of addresses of 64 bits."""


def with_run_function(text: str, entry: Entry, library: str, has_weights: bool) -> str:
    """The program's LLVM IR with the JIT's entry made private, so that it vanishes, and with `model_run`."""
    assert _ENTRY in text, "convert-to-llvm makes the entry"
    made = _run_function(entry, library if has_weights else None)
    return f"{text.replace(_ENTRY, _ENTRY.replace('void', 'internal void'), 1)}\n{made}"


def _run_function(entry: Entry, weights_of: str | None) -> str:
    """
    `int model_run(args, results, arena)`: check the pointers and call @main with them.

    Arguments and results are structures of pointers, so that each is an array of addresses already.
    """
    ports = [("%args", n, port) for n, port in enumerate(entry.arguments)]
    ports += [("%results", n, port) for n, port in enumerate(entry.results)]
    lines = [
        f"define i32 @{entry.prefix}_run(ptr %args, ptr %results, ptr %arena) nounwind {{",
        *(["  %verdict = alloca i32"] if entry.checks else []),
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
    lines.append(f"  br i1 {missing}, label %null, label %{'weights' if weights_of else 'run'}")
    if weights_of:
        lines += [
            "weights:",
            f"  %constants = load ptr, ptr @{weights_of}{ADDRESS}",
            "  %no.weights = icmp eq ptr %constants, null",
            "  br i1 %no.weights, label %unset, label %run",
            "unset:",
            f"  ret i32 {CODES['NO_WEIGHTS'][0]}",
        ]
    verdict = ["ptr %verdict"] if entry.checks else []
    pointers = ", ".join([*(f"ptr %p.{number}" for number in range(len(ports))), *verdict, "ptr %arena"])
    lines += [
        "run:",
        f"  call void @main({pointers})",
        *(_code_of_verdict(entry) if entry.checks else [f"  ret i32 {CODES['OK'][0]}"]),
        "null:",
        f"  ret i32 {CODES['NULL_POINTER'][0]}",
        "alignment:",
        f"  ret i32 {CODES['MISALIGNED_ARENA'][0]}",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _code_of_verdict(entry: Entry) -> list[str]:
    """Return the code of the first check that failed, whose place, from 1, @main has written."""
    return [
        "  %failed = load i32, ptr %verdict",
        "  %all.hold = icmp eq i32 %failed, 0",
        f"  %code = add i32 %failed, {entry.first_check - 1}",
        f"  %returned = select i1 %all.hold, i32 {CODES['OK'][0]}, i32 %code",
        "  ret i32 %returned",
    ]
