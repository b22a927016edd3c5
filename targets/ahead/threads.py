"""Parallel loops of programs compiled ahead of time: the ranges are handed to a function that the caller names."""

from __future__ import annotations

from enum import Enum


class Threads(Enum):
    """How the parallel loops of a program run."""

    NONE = "none"
    """One after the other, on the caller's thread."""
    CALLBACK = "callback"
    """By the function that was given to `model_set_parallel_for`; without one as NONE."""

    @classmethod
    def _missing_(cls, value: object) -> Threads:
        raise ValueError(f"threads are one of {', '.join(each.value for each in cls)}, not {value!r}")


def parallel_for(name: str) -> str:
    """
    LLVM IR of `NAME_share`, which parallel loops call, and of `NAME_set_parallel_for`.

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
