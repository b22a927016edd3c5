"""Parallel loops of programs compiled ahead of time: the ranges are handed to a function that the caller names."""

from __future__ import annotations

from enum import Enum

from ..cpu.runtime.pool import CHUNKS, MAX_THREADS
from .templates import filled


class Threads(Enum):
    """How the parallel loops of a program run."""

    NONE = "none"
    """One after the other, on the caller's thread."""
    OPENMP = "openmp"
    """By the threads of OpenMP, which the program links."""
    CALLBACK = "callback"
    """By the function that was given to `model_set_parallel_for`; without one as NONE."""

    @classmethod
    def _missing_(cls, value: object) -> Threads:
        raise ValueError(f"threads are one of {', '.join(each.value for each in cls)}, not {value!r}")


def share_functions(name: str, threads: Threads) -> str:
    """LLVM IR of `NAME_share`, which parallel loops call."""
    return {Threads.NONE: lambda _: "", Threads.OPENMP: _by_openmp, Threads.CALLBACK: _by_callback}[threads](name)


def between(name: str, threads: Threads) -> tuple[str, ...]:
    """The functions of the library that are on the stack between a parallel loop and its body."""
    return {Threads.NONE: (), Threads.OPENMP: (f"{name}_share", f"{name}_part"), Threads.CALLBACK: (f"{name}_share",)}[
        threads
    ]


_LINE = 8
"""The words of a line of caches: each share's next iteration has one for itself."""


_BY_OPENMP = """
%NAME_loop = type { ptr, ptr, i64, i64, i64, [WORDS x i64] }
declare i32 @omp_get_max_threads() nounwind
declare i32 @omp_get_thread_num() nounwind
declare void @GOMP_parallel(ptr, ptr, i32, i32) nounwind

define hidden void @NAME_share(ptr %body, ptr %context, i64 %count) nounwind {
entry:
  %loop = alloca %NAME_loop, align 64
  %most = call i32 @omp_get_max_threads()
  %wide = sext i32 %most to i64
  %bounded = call i64 @llvm.smin.i64(i64 %wide, i64 MAX_THREADS)
  %threads = call i64 @llvm.smin.i64(i64 %bounded, i64 %count)
  %alone = icmp sle i64 %threads, 1
  br i1 %alone, label %here, label %fill
here:
  call void %body(ptr %context, i64 0, i64 %count)
  ret void
fill:
  store ptr %body, ptr %loop
  %at.context = getelementptr %NAME_loop, ptr %loop, i32 0, i32 1
  store ptr %context, ptr %at.context
  %at.count = getelementptr %NAME_loop, ptr %loop, i32 0, i32 2
  store i64 %count, ptr %at.count
  %at.threads = getelementptr %NAME_loop, ptr %loop, i32 0, i32 3
  store i64 %threads, ptr %at.threads
  %parts = mul i64 %threads, CHUNKS
  %part = sdiv i64 %count, %parts
  %step = call i64 @llvm.smax.i64(i64 %part, i64 1)
  %at.step = getelementptr %NAME_loop, ptr %loop, i32 0, i32 4
  store i64 %step, ptr %at.step
  br label %shares
shares:
  %share = phi i64 [ 0, %fill ], [ %next, %shares ]
  %scaled = mul i64 %count, %share
  %first = sdiv i64 %scaled, %threads
  %line = mul i64 %share, LINE
  %at = getelementptr %NAME_loop, ptr %loop, i32 0, i32 5, i64 %line
  store i64 %first, ptr %at
  %next = add i64 %share, 1
  %more = icmp slt i64 %next, %threads
  br i1 %more, label %shares, label %run
run:
  %short = trunc i64 %threads to i32
  call void @GOMP_parallel(ptr @NAME_part, ptr %loop, i32 %short, i32 0)
  ret void
}

define internal void @NAME_part(ptr %loop) nounwind {
entry:
  %body = load ptr, ptr %loop
  %at.context = getelementptr %NAME_loop, ptr %loop, i32 0, i32 1
  %context = load ptr, ptr %at.context
  %at.count = getelementptr %NAME_loop, ptr %loop, i32 0, i32 2
  %count = load i64, ptr %at.count
  %at.threads = getelementptr %NAME_loop, ptr %loop, i32 0, i32 3
  %threads = load i64, ptr %at.threads
  %at.step = getelementptr %NAME_loop, ptr %loop, i32 0, i32 4
  %step = load i64, ptr %at.step
  %number = call i32 @omp_get_thread_num()
  %own = sext i32 %number to i64
  br label %shares
shares:
  %other = phi i64 [ 0, %entry ], [ %other.next, %next ]
  %sum = add i64 %own, %other
  %share = srem i64 %sum, %threads
  %after = add i64 %share, 1
  %scaled = mul i64 %count, %after
  %end = sdiv i64 %scaled, %threads
  %line = mul i64 %share, LINE
  %at = getelementptr %NAME_loop, ptr %loop, i32 0, i32 5, i64 %line
  br label %take
take:
  %begin = atomicrmw add ptr %at, i64 %step monotonic
  %is.left = icmp slt i64 %begin, %end
  br i1 %is.left, label %run, label %next
run:
  %last = add i64 %begin, %step
  %stop = call i64 @llvm.smin.i64(i64 %last, i64 %end)
  call void %body(ptr %context, i64 %begin, i64 %stop)
  br label %take
next:
  %other.next = add i64 %other, 1
  %more = icmp slt i64 %other.next, %threads
  br i1 %more, label %shares, label %done
done:
  ret void
}
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
"""


def _by_openmp(name: str) -> str:
    """
    Gcc's libgomp has the three functions of OpenMP, and so has clang's libomp.

    As in the JIT each thread begins with a share of its own, which is often in its caches from the loop before, and
    then takes parts of the others': nobody waits long for one that the system has interrupted. OpenMP may start fewer
    threads than there are shares.
    """
    words = MAX_THREADS * _LINE
    return filled(_BY_OPENMP, NAME=name, WORDS=words, MAX_THREADS=MAX_THREADS, CHUNKS=CHUNKS, LINE=_LINE)


def _by_callback(name: str) -> str:
    """
    LLVM IR of `NAME_share`, and of `NAME_set_parallel_for`.

    The two words that it sets are the only state of the library.
    """
    return f"""
@{name}_parallel_function = internal global ptr null
@{name}_parallel_user = internal global ptr null

define void @{name}_set_parallel_for(ptr %function, ptr %user) nounwind {{
  store ptr %user, ptr @{name}_parallel_user
  store ptr %function, ptr @{name}_parallel_function
  ret void
}}

define hidden void @{name}_share(ptr %body, ptr %context, i64 %count) nounwind {{
  %function = load ptr, ptr @{name}_parallel_function
  %none = icmp eq ptr %function, null
  br i1 %none, label %here, label %share
here:
  call void %body(ptr %context, i64 0, i64 %count)
  ret void
share:
  %user = load ptr, ptr @{name}_parallel_user
  call void %function(ptr %body, ptr %context, i64 %count, ptr %user)
  ret void
}}
"""
