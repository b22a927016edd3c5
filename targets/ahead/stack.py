"""
The bytes of stack that a run takes at most: the frames that LLVM lays out, along the deepest chain of calls.

LLVM tells the size of a frame only in warnings, which it prints to standard error, so that another process asks it,
with the same code and machine as for the object file. It does not tell the size of vectors whose length only the CPU
that runs the code knows: see scalable_frames.py.
"""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from .machine import Machine, full_triple
from .scalable_frames import scalable_bytes

_ALIGNMENT = 64
"""The most bytes that a frame skips for the alignment of its vectors, besides its size."""

_CALL = 64
"""Return address, frame pointer and registers that a call may save."""

_ARGUMENT = 16
"""Bytes of an argument that is passed on the stack."""

_ASK = """
import sys
import llvmlite.binding as llvm
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
triple, cpu, features, any_length = sys.argv[1:]
target = llvm.Target.from_triple(triple)
machine = target.create_target_machine(cpu=cpu, features=features, opt=3, reloc="pic", codemodel="default")
module = llvm.parse_assembly(sys.stdin.read())
if any_length == "True":
    print(machine.emit_assembly(module))
else:
    machine.emit_object(module)
"""

_FRAME = re.compile(r"stack frame size \((\d+)\) exceeds limit \(0\) in function '([^']+)'")
_NAMED = re.compile(r'@(?:"([^"]+)"|([\w.$-]+))')

_ALLOCATED = re.compile(r" = alloca (.+?)(?:, i64 (\d+))?, align (\d+)")
_WORD = 8
_SCALAR = {"i1": 1, "i8": 1, "i16": 2, "half": 2, "bfloat": 2, "i32": 4, "float": 4, "i128": 16}
"""Bytes of types that are not as large as a word."""


class StackError(RuntimeError):
    """LLVM does not say how large the frames are: a failure of the compiler."""


def stack_bytes(text: str, machine: Machine, functions: Sequence[str], between: Sequence[str] = ()) -> list[int]:
    """
    The stack that calls of functions of an optimized module take at most, without that of functions elsewhere.

    `between` names functions of which the last calls the address of another: their frames come between any two.
    """
    frames, bodies = _frames(text, machine), dict(_parts(text))
    named = {
        name: [found for found in dict.fromkeys(_names(body)) if found in bodies and found != name]
        for name, body in bodies.items()
    }
    active: set[str] = set()

    @cache
    def depth(name: str) -> int:
        if name in active:
            raise StackError(f"the function {name} calls itself")
        active.add(name)
        below = max(map(depth, named[name]), default=0)
        active.discard(name)
        return below + frame(name)

    def frame(name: str) -> int:
        body = bodies[name]
        if not body.startswith("define"):
            return 0
        arguments = max((line.count(",") + 1 for line in body.splitlines() if "call " in line), default=0)
        moved = _moved(body) if machine.kind.big_endian else 0
        return frames.get(name, 0) + moved + _ALIGNMENT + _CALL + _ARGUMENT * arguments

    extra = sum(frame(name) for name in between if name in bodies)
    return [depth(name) + extra for name in functions]


def _moved(body: str) -> int:
    """The memory with an alignment, which LLVM for s390x does not count as part of a frame."""
    total = 0
    for type_, count, alignment in _ALLOCATED.findall(body):
        if int(alignment) > _WORD:
            lengths = map(int, re.findall(r"(\d+) x ", type_))
            total += math.prod(lengths) * int(count or 1) * _SCALAR.get(type_.split()[-1].strip("]>"), _WORD)
            total += int(alignment)
    return total


def _names(text: str) -> Iterator[str]:
    return (quoted or plain for quoted, plain in _NAMED.findall(text))


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """The functions and the data of a module by name; data may hold addresses of functions."""
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("@"):
            name = next(_names(line))
            yield name, line.partition("=")[2]
        elif line.startswith("define "):
            name = next(_names(line))
            body = [line]
            for inner in lines:
                body.append(inner)
                if inner == "}":
                    break
            yield name, "\n".join(body)


def _frames(text: str, machine: Machine) -> Mapping[str, int]:
    """The sizes of the frames by function; none for a function without one."""
    asked = re.sub(r"^(attributes #\d+ = \{)", r'\1 "warn-stack-size"="0"', text, flags=re.MULTILINE)
    words = [full_triple(machine.triple), machine.cpu, machine.features, str(machine.any_length)]
    done = subprocess.run([sys.executable, "-c", _ASK, *words], input=asked, capture_output=True, text=True)
    if done.returncode:
        raise StackError(f"LLVM cannot compile the program again: {done.stderr}")
    found = {name: int(size) for size, name in _FRAME.findall(done.stderr)}
    for name, size in scalable_bytes(done.stdout).items():
        found[name] = found.get(name, 0) + size
    return found
