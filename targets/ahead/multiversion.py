"""
Several versions of a program in one library, for the levels of x86-64, and the choice among them at the first run.

The levels are those of the x86-64 psABI; what a CPU has is asked by cpuid and xgetbv (Intel SDM, volume 2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..cpu.jit import link_texts

LEVELS = ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4")
"""From the least to the greatest: a CPU of one runs the code of those before."""

_NEEDS: Mapping[str, Mapping[str, int]] = {
    "x86-64": {},
    # SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT; LAHF.
    "x86-64-v2": {"leaf1.c": 1 << 0 | 1 << 9 | 1 << 13 | 1 << 19 | 1 << 20 | 1 << 23, "extended.c": 1 << 0},
    # FMA, MOVBE, OSXSAVE, AVX, F16C; BMI1, AVX2, BMI2; LZCNT; registers of SSE and AVX that the system keeps.
    "x86-64-v3": {
        "leaf1.c": 1 << 12 | 1 << 22 | 1 << 27 | 1 << 28 | 1 << 29,
        "leaf7.known": 1 << 3 | 1 << 5 | 1 << 8,
        "extended.c": 1 << 5,
        "kept": 0x6,
    },
    # AVX-512 F, DQ, CD, BW, VL; its registers.
    "x86-64-v4": {"leaf7.known": 1 << 16 | 1 << 17 | 1 << 28 | 1 << 30 | 1 << 31, "kept": 0xE6},
}
"""The bits that each level adds to those before: of registers that cpuid sets, and of XCR0."""


class LevelError(ValueError):
    """A list of levels that no library has."""


def levels_of(text: str) -> tuple[str, ...]:
    """The levels of `x86-64-v2,v3,v4`, in order. Raises LevelError."""
    names = [word.strip() for word in text.split(",")]
    names = [f"x86-64-{name}" if name.startswith("v") else name for name in names]
    return checked_levels(names)


def checked_levels(names: Sequence[str]) -> tuple[str, ...]:
    """The levels from the least to the greatest. Raises LevelError."""
    for name in names:
        if name not in LEVELS:
            raise LevelError(f"a library has versions for {', '.join(LEVELS)}, not for '{name}'")
    if len(set(names)) < max(len(names), 2):
        raise LevelError("a library of several versions is for two levels or more, each named once")
    return tuple(sorted(names, key=LEVELS.index))


def combined(name: str, texts: Mapping[str, str]) -> str:
    """
    LLVM IR of a library from that of its versions by level, each with functions of its own around `@NAME_run`.

    The level is found at the first run and kept; a run on a CPU below all levels returns 3.
    """
    versions = [_version(text, name, level) for level, text in texts.items()]
    return link_texts([_dispatcher(name, list(texts), _head(versions[0])), *versions])


def _head(text: str) -> str:
    """The lines that name the machine."""
    return "".join(line for line in text.splitlines(keepends=True)[:2] if line.startswith("target "))


def _version(text: str, name: str, level: str) -> str:
    """The program for a level: the attributes of all functions name the CPU."""
    assert "attributes #0 = { " in text
    text = text.replace("attributes #0 = { ", f'attributes #0 = {{ "target-cpu"="{level}" ', 1)
    return text.replace(
        f"define i32 @{name}_run(ptr %args, ptr %results, ptr %arena) nounwind {{",
        f'define hidden i32 @"{name}_run.{level}"(ptr %args, ptr %results, ptr %arena) nounwind #0 {{',
        1,
    )


@dataclass(frozen=True)
class _Instruction:
    """A function around an instruction for which LLVM IR has no name."""

    name: str
    code: tuple[tuple[str, str], ...]
    """The machine code, in hexadecimal digits, and its assembly, in AT&T's syntax."""

    @property
    def bytes(self) -> bytes:
        return bytes.fromhex("".join(digits for digits, _ in self.code))

    def defined(self, result: str, parameters: str) -> str:
        """LLVM IR of the function. Its callers pass arguments as System V's systems do, also on Windows."""
        code = "".join(f"\\{byte:02X}" for byte in self.bytes)
        return (
            f"define internal {_CONVENTION} {result} @{self.name}({parameters}) noinline optnone naked nounwind "
            f'prologue [{len(self.bytes)} x i8] c"{code}" {{\n  unreachable\n}}\n'
        )


_CONVENTION = "x86_64_sysvcc"

_CPUID = _Instruction(
    "xhlo.cpuid",
    (
        ("53", "pushq %rbx"),
        ("89f0", "movl %esi, %eax"),
        ("31c9", "xorl %ecx, %ecx"),
        ("0fa2", "cpuid"),
        ("8907", "movl %eax, (%rdi)"),
        ("895f04", "movl %ebx, 4(%rdi)"),
        ("894f08", "movl %ecx, 8(%rdi)"),
        ("89570c", "movl %edx, 12(%rdi)"),
        ("5b", "popq %rbx"),
        ("c3", "retq"),
    ),
)
"""`void cpuid(uint32_t registers[4], uint32_t leaf)`: eax, ebx, ecx, edx of the leaf."""

_XGETBV = _Instruction("xhlo.xgetbv", (("31c9", "xorl %ecx, %ecx"), ("0f01d0", "xgetbv"), ("c3", "retq")))
"""`uint32_t xgetbv(void)`: the lower half of XCR0."""

INSTRUCTIONS = (_CPUID, _XGETBV)
"""
They are bytes and no inline assembly, for LLVM assembles only for the kind of machine on which it runs: a library for
x86-64 may be made on any other.
"""


def _dispatcher(name: str, levels: Sequence[str], head: str) -> str:
    declared = "\n".join(f'declare hidden i32 @"{name}_run.{level}"(ptr, ptr, ptr) nounwind' for level in levels)
    cases = "\n".join(f"    i32 {number + 2}, label %version.{number}" for number in range(len(levels)))
    calls = "\n".join(
        f"version.{number}:\n"
        f'  %code.{number} = call i32 @"{name}_run.{level}"(ptr %args, ptr %results, ptr %arena)\n'
        f"  ret i32 %code.{number}"
        for number, level in enumerate(levels)
    )
    return f"""{head}
@{name}_level = internal global i32 0
{declared}

define i32 @{name}_run(ptr %args, ptr %results, ptr %arena) nounwind {{
  %known = load atomic i32, ptr @{name}_level monotonic, align 4
  %is.known = icmp ne i32 %known, 0
  br i1 %is.known, label %run, label %find
find:
  %found = call i32 @{name}_find_level()
  store atomic i32 %found, ptr @{name}_level monotonic, align 4
  br label %run
run:
  %level = phi i32 [ %known, %0 ], [ %found, %find ]
  switch i32 %level, label %none [
{cases}
  ]
none:
  ret i32 3
{calls}
}}

{_find_level(name, levels)}"""


def _find_level(name: str, levels: Sequence[str]) -> str:
    """`i32 @NAME_find_level()`: 1 below all levels, else 2 and the number of the greatest that the CPU has."""
    lines = [
        f"define internal i32 @{name}_find_level() noinline nounwind {{",
        "entry:",
        "  %registers = alloca [4 x i32], align 16",
        *_asked("leaves", 0, "a"),
        *_asked("leaf1", 1, "c"),
        *_asked("extended", -2147483647, "c"),
        *_asked("leaf7", 7, "b"),
        "  %has.leaf7 = icmp uge i32 %leaves.a, 7",
        "  %leaf7.known = select i1 %has.leaf7, i32 %leaf7.b, i32 0",
        f"  %osxsave = and i32 %leaf1.c, {1 << 27}",
        "  %has.xgetbv = icmp ne i32 %osxsave, 0",
        "  br i1 %has.xgetbv, label %ask, label %compare",
        "ask:",
        f"  %xcr0 = call {_CONVENTION} i32 @{_XGETBV.name}()",
        "  br label %compare",
        "compare:",
        "  %kept = phi i32 [ 0, %entry ], [ %xcr0, %ask ]",
    ]
    has, result = "true", "1"
    for level in LEVELS[: LEVELS.index(levels[-1]) + 1]:
        for number, (register, mask) in enumerate(_NEEDS[level].items()):
            at = f"{LEVELS.index(level)}.{number}"
            signed = mask - (1 << 32) if mask >> 31 else mask
            lines += [
                f"  %bits.{at} = and i32 %{register}, {signed}",
                f"  %all.{at} = icmp eq i32 %bits.{at}, {signed}",
                f"  %has.{at} = and i1 {has}, %all.{at}",
            ]
            has = f"%has.{at}"
        if level in levels:
            at = LEVELS.index(level)
            lines.append(f"  %level.{at} = select i1 {has}, i32 {levels.index(level) + 2}, i32 {result}")
            result = f"%level.{at}"
    functions = [_CPUID.defined("void", "ptr %registers, i32 %leaf"), _XGETBV.defined("i32", "")]
    return "\n".join([*lines, f"  ret i32 {result}", "}", *functions])


def _asked(name: str, leaf: int, register: str) -> list[str]:
    """A register of a leaf of cpuid as `%NAME.REGISTER`."""
    return [
        f"  call {_CONVENTION} void @{_CPUID.name}(ptr %registers, i32 {leaf})",
        f"  %{name}.at = getelementptr i32, ptr %registers, i64 {'abcd'.index(register)}",
        f"  %{name}.{register} = load i32, ptr %{name}.at",
    ]
