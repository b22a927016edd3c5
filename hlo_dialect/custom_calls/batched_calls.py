"""
Calls of a routine of Fortran for each matrix of a batch.

A call from Python costs more than a small factorization does. With a compiler (`compile_loops_with`), the loop over a
batch is machine code that takes pointers and strides and calls the routine once for each matrix; a large batch is cut
into parts, which threads take.
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ..arrays import Array, address_of

Loader: TypeAlias = Callable[[str, str], int]
"""
(LLVM IR, a function's name) to the function's address, which stays valid. The text calls `xhlo_parallel_for(body,
context, count)`, which calls `body(context, first, end)` for parts of a range, in any order and number of threads.
"""


@dataclass(frozen=True)
class Each:
    """An argument that differs from matrix to matrix: a slice along the last `rank` dimensions of a whole array."""

    array: Array
    rank: int
    skipped: int = 0
    """Elements of each vector before the argument."""

    @property
    def stride(self) -> int:
        """Bytes from one matrix to the next."""
        array = self.array
        return math.prod(array.shape[array.ndim - self.rank :]) * array.itemsize


@dataclass(frozen=True)
class Scratch:
    """Memory that a routine overwrites, and that calls at the same time do not share."""

    size: int
    """Elements."""
    dtype: Any

    @property
    def stride(self) -> int:
        """Bytes from one part's memory to the next: cache lines of its own."""
        return -(-max(1, self.size) * np.dtype(self.dtype).itemsize // _LINE) * _LINE


Argument: TypeAlias = "str | int | Array | Each | Scratch | None"

PART = 20_000
"""The least cost of a part of a batch: a call counts as 500, and a matrix as its elements to the power of 3/2."""

_CALL = 500
_MOST_PARTS = 64
_LINE = 64

_INTEGER_SIZE = ctypes.sizeof(ctypes.c_int)
_ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)
_loader: Loader | None = None
_loops: dict[tuple[int, int], Any] = {}
_lock = threading.RLock()  # a handler of a signal may run a program meanwhile


def compile_loops_with(loader: Loader) -> None:
    """From now on compile loops over batches with `loader`."""
    global _loader
    _loader = loader


def call_each(routine: Any, batch: range, arguments: Sequence[Argument]) -> None:
    """
    Call a routine for the matrices of `batch`, in threads where there is much to do.

    A str is a character, an int an INTEGER, an array is passed by its address to every call (its memory is in Fortran's
    order already), Scratch is new memory, None is a null pointer. The lengths of the characters follow the arguments.
    """
    integers = (ctypes.c_int * len(arguments))()
    letters = ctypes.create_string_buffer(len(arguments))
    of_integers, of_letters = ctypes.addressof(integers), ctypes.addressof(letters)
    lengths = sum(isinstance(argument, str) for argument in arguments)
    loop = _loop(len(arguments), lengths)
    parts = 1 if loop is None else _parts(len(batch), arguments)
    addresses: list[int] = []
    strides: list[int] = []
    part_strides: list[int] = []
    memory: list[Array] = []
    for index, argument in enumerate(arguments):
        stride = part_stride = 0
        if isinstance(argument, int):
            integers[index] = argument
            address = of_integers + index * _INTEGER_SIZE
        elif isinstance(argument, str):
            letters[index] = argument.encode("ascii")
            address = of_letters + index
        elif isinstance(argument, Each):
            stride = argument.stride
            address = address_of(argument.array) + batch.start * stride + argument.skipped * argument.array.itemsize
        elif isinstance(argument, Scratch):
            part_stride = argument.stride
            memory.append(np.empty(parts * part_stride, np.uint8))
            address = address_of(memory[-1])
        else:
            address = 0 if argument is None else address_of(argument)
        addresses.append(address)
        strides.append(stride)
        part_strides.append(part_stride)
    if loop is None:
        hidden = [ctypes.c_size_t(1)] * lengths
        for turn in range(len(batch)):
            at = (ctypes.c_void_p(first + turn * step) for first, step in zip(addresses, strides, strict=True))
            routine(*at, *hidden)
        return
    code = ctypes.cast(routine, ctypes.c_void_p).value
    numbers = ctypes.c_int64 * (3 + 3 * len(addresses))
    loop(numbers(code, len(batch), -(-len(batch) // parts), *addresses, *strides, *part_strides), parts)


def _parts(count: int, arguments: Sequence[Argument]) -> int:
    elements = max((each.stride // each.array.itemsize for each in arguments if isinstance(each, Each)), default=0)
    return parts_of(count, elements)


def parts_of(count: int, elements: int) -> int:
    """The parts of a batch that threads take: its shape alone decides. `elements`: those of the largest matrix."""
    cost = int(count * (_CALL + elements * math.sqrt(elements)))
    return max(1, min(_MOST_PARTS, count, cost // PART))


def _loop(pointers: int, lengths: int) -> Any:
    """The compiled loop for routines with these numbers of arguments and string lengths; None without a compiler."""
    found = _loops.get((pointers, lengths))
    if found is None and _loader is not None:
        with _lock:
            name = f"xhlo_each_{pointers}_{lengths}"
            found = _loops[pointers, lengths] = _ENTRY(_loader(_loop_text(name, pointers, lengths), name))
    return found


def _loop_text(name: str, pointers: int, lengths: int) -> str:
    """
    `void name(i64 *numbers, i64 parts)`

    The numbers: the routine, the matrices, those of a part, and for all arguments the addresses, the strides from
    matrix to matrix, and the strides from part to part.
    """
    lines = [
        "declare void @xhlo_parallel_for(ptr, ptr, i64)",
        "declare i64 @llvm.smin.i64(i64, i64)",
        f"define void @{name}(ptr %numbers, i64 %parts) {{",
        f"  call void @xhlo_parallel_for(ptr @{name}_parts, ptr %numbers, i64 %parts)",
        "  ret void",
        "}",
        f"define internal void @{name}_parts(ptr %numbers, i64 %lo, i64 %hi) {{",
        "entry:",
        *_load("routine.at", 0),
        "  %routine = inttoptr i64 %routine.at to ptr",
        *_load("count", 1),
        *_load("share", 2),
    ]
    for i in range(pointers):
        lines += [*_load(f"p{i}", 3 + i), *_load(f"s{i}", 3 + pointers + i), *_load(f"t{i}", 3 + 2 * pointers + i)]
    lines += [
        "  br label %part",
        "part:",
        "  %number = phi i64 [ %lo, %entry ], [ %number.next, %part.end ]",
        "  %first = mul i64 %number, %share",
        "  %end.free = add i64 %first, %share",
        "  %end = call i64 @llvm.smin.i64(i64 %end.free, i64 %count)",
        "  %some = icmp slt i64 %first, %end",
        "  br i1 %some, label %body, label %part.end",
        "body:",
        "  %turn = phi i64 [ %first, %part ], [ %next, %body ]",
    ]
    for i in range(pointers):
        lines += [
            f"  %o{i} = mul i64 %turn, %s{i}",
            f"  %q{i} = mul i64 %number, %t{i}",
            f"  %b{i} = add i64 %p{i}, %o{i}",
            f"  %c{i} = add i64 %b{i}, %q{i}",
            f"  %a{i} = inttoptr i64 %c{i} to ptr",
        ]
    arguments = ", ".join([*(f"ptr %a{i}" for i in range(pointers)), *(["i64 1"] * lengths)])
    lines += [
        f"  call void %routine({arguments})",
        "  %next = add i64 %turn, 1",
        "  %more = icmp slt i64 %next, %end",
        "  br i1 %more, label %body, label %part.end",
        "part.end:",
        "  %number.next = add i64 %number, 1",
        "  %parts.more = icmp slt i64 %number.next, %hi",
        "  br i1 %parts.more, label %part, label %done",
        "done:",
        "  ret void",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _load(name: str, index: int) -> tuple[str, str]:
    return f"  %{name}.in = getelementptr i64, ptr %numbers, i64 {index}", f"  %{name} = load i64, ptr %{name}.in"
