"""
Calls of a routine of Fortran for each matrix of a batch.

A call from Python costs more than a small factorization does. With a compiler (`compile_loops_with`), the loop over a
batch is machine code that takes pointers and strides and calls the routine once for each matrix.
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..arrays import Array

Loader: TypeAlias = Callable[[str, str], int]
"""(LLVM IR, a function's name) to the function's address, which stays valid."""


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


Argument: TypeAlias = "str | int | Array | Each | None"

_INTEGER_SIZE = ctypes.sizeof(ctypes.c_int)
_ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
_loader: Loader | None = None
_loops: dict[tuple[int, int], Any] = {}
_lock = threading.Lock()


def compile_loops_with(loader: Loader) -> None:
    """Compile loops over batches with `loader` from now on."""
    global _loader
    _loader = loader


def call_each(routine: Any, batch: range, arguments: Sequence[Argument]) -> None:
    """
    Call a routine for the matrices of `batch`, one after the other.

    A str is a character, an int an INTEGER, an array is passed by its address to every call (its memory is in Fortran's
    order already), None is a null pointer. The lengths of the characters follow the arguments.
    """
    integers = (ctypes.c_int * len(arguments))()
    letters = ctypes.create_string_buffer(len(arguments))
    of_integers, of_letters = ctypes.addressof(integers), ctypes.addressof(letters)
    addresses: list[int] = []
    strides: list[int] = []
    lengths = 0
    for index, argument in enumerate(arguments):
        stride = 0
        if isinstance(argument, int):
            integers[index] = argument
            address = of_integers + index * _INTEGER_SIZE
        elif isinstance(argument, str):
            letters[index] = argument.encode("ascii")
            address = of_letters + index
            lengths += 1
        elif isinstance(argument, Each):
            stride = argument.stride
            address = _address(argument.array) + batch.start * stride + argument.skipped * argument.array.itemsize
        else:
            address = 0 if argument is None else _address(argument)
        addresses.append(address)
        strides.append(stride)
    loop = _loop(len(addresses), lengths)
    if loop is None:
        hidden = [ctypes.c_size_t(1)] * lengths
        for turn in range(len(batch)):
            at = (ctypes.c_void_p(first + turn * step) for first, step in zip(addresses, strides, strict=True))
            routine(*at, *hidden)
        return
    numbers = ctypes.c_int64 * len(addresses)
    loop(ctypes.cast(routine, ctypes.c_void_p), numbers(*addresses), numbers(*strides), len(batch))


def _address(array: Array) -> int:
    return array.__array_interface__["data"][0]


def _loop(pointers: int, lengths: int) -> Any:
    """The compiled loop for routines with these numbers of arguments and string lengths; None without a compiler."""
    found = _loops.get((pointers, lengths))
    if found is None and _loader is not None:
        with _lock:
            name = f"xhlo_each_{pointers}_{lengths}"
            found = _loops[pointers, lengths] = _ENTRY(_loader(_loop_text(name, pointers, lengths), name))
    return found


def _loop_text(name: str, pointers: int, lengths: int) -> str:
    """`void name(routine, ptr *pointers, i64 *strides, i64 count)`"""
    lines = [f"define void @{name}(ptr %routine, ptr %pointers, ptr %strides, i64 %count) {{", "entry:"]
    for i in range(pointers):
        lines += [
            f"  %pp{i} = getelementptr i64, ptr %pointers, i64 {i}",
            f"  %p{i} = load ptr, ptr %pp{i}",
            f"  %ps{i} = getelementptr i64, ptr %strides, i64 {i}",
            f"  %s{i} = load i64, ptr %ps{i}",
        ]
    lines += [
        "  %some = icmp sgt i64 %count, 0",
        "  br i1 %some, label %body, label %end",
        "body:",
        "  %turn = phi i64 [ 0, %entry ], [ %next, %body ]",
    ]
    for i in range(pointers):
        lines += [f"  %o{i} = mul i64 %turn, %s{i}", f"  %a{i} = getelementptr i8, ptr %p{i}, i64 %o{i}"]
    arguments = ", ".join([*(f"ptr %a{i}" for i in range(pointers)), *(["i64 1"] * lengths)])
    lines += [
        f"  call void %routine({arguments})",
        "  %next = add i64 %turn, 1",
        "  %more = icmp slt i64 %next, %count",
        "  br i1 %more, label %body, label %end",
        "end:",
        "  ret void",
        "}",
    ]
    return "\n".join(lines) + "\n"
