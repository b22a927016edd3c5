"""
The OpenMP runtime of parallel loops: find it, load it, and wrap it in one function for compiled code.

libiomp5 of the `intel-openmp` wheel is preferred, then libgomp; without either, loops run on the calling thread, with
one Python warning. The number of threads follows OMP_NUM_THREADS and `set_thread_count`.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import sys
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

Kind = Literal["kmpc", "gomp", "serial"]


@dataclass(frozen=True)
class OpenMpRuntime:
    """A loaded runtime. `library` is None for the serial one."""

    kind: Kind
    path: str
    library: Any

    @property
    def symbols(self) -> dict[str, int]:
        """Addresses of the functions that `parallel_for_ir` calls."""
        names = {
            "kmpc": ("__kmpc_fork_call", "omp_get_thread_num", "omp_get_num_threads", "omp_in_parallel"),
            "gomp": ("GOMP_parallel", "omp_get_thread_num", "omp_get_num_threads", "omp_in_parallel"),
            "serial": (),
        }[self.kind]
        return {name: ctypes.cast(getattr(self.library, name), ctypes.c_void_p).value or 0 for name in names}


_lock = threading.Lock()
_loaded: OpenMpRuntime | None = None


def runtime() -> OpenMpRuntime:
    """The process's OpenMP runtime, found and loaded on first use."""
    global _loaded
    if _loaded is None:
        with _lock:
            if _loaded is None:
                _loaded = _find_runtime()
    return _loaded


def thread_count() -> int:
    """The number of threads of the next parallel loop of this thread."""
    library = runtime().library
    return 1 if library is None else int(library.omp_get_max_threads())


def set_thread_count(count: int) -> None:
    """Run parallel loops started by this thread on `count` threads from now on. Raises ValueError below 1."""
    if count < 1:
        raise ValueError(f"the number of threads must be at least 1, got {count}")
    library = runtime().library
    if library is not None:
        library.omp_set_num_threads(ctypes.c_int(count))


def _find_runtime() -> OpenMpRuntime:
    for kind, path in _candidates():
        try:
            library = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
            found = OpenMpRuntime(kind, path, library)
            if all(found.symbols.values()):
                return found
        except (OSError, AttributeError):
            continue
    warnings.warn(
        "no OpenMP runtime found (neither libiomp5 of the intel-openmp package nor libgomp): "
        "compiled programs run on one thread",
        RuntimeWarning,
        stacklevel=3,
    )
    return OpenMpRuntime("serial", "", None)


def _candidates() -> Iterator[tuple[Kind, str]]:
    """The libraries to try, best first."""
    names = {"win32": ("libiomp5md.dll",), "darwin": ("libiomp5.dylib", "libomp.dylib")}.get(
        sys.platform, ("libiomp5.so",)
    )
    try:
        for file in metadata.files("intel-openmp") or ():
            if file.name in names:
                yield "kmpc", str(Path(str(file.locate())).resolve())
    except metadata.PackageNotFoundError:
        pass
    for folder in ("lib", "Library/bin"):
        for name in names:
            path = Path(sys.prefix, folder, name)
            if path.exists():
                yield "kmpc", str(path)
    for name in ("iomp5", "omp"):
        found = ctypes.util.find_library(name)
        if found is not None:
            yield "kmpc", found
    found = ctypes.util.find_library("gomp")
    if found is not None:
        yield "gomp", found


_SHARE = """
define internal void @share(ptr %body, ptr %context, i64 %count) #0 {
  %thread = call i32 @omp_get_thread_num()
  %threads = call i32 @omp_get_num_threads()
  %t = zext i32 %thread to i64
  %all = zext i32 %threads to i64
  %next = add i64 %t, 1
  %lo.product = mul i64 %t, %count
  %lo = udiv i64 %lo.product, %all
  %hi.product = mul i64 %next, %count
  %hi = udiv i64 %hi.product, %all
  %some = icmp ult i64 %lo, %hi
  br i1 %some, label %work, label %done
work:
  call void %body(ptr %context, i64 %lo, i64 %hi)
  br label %done
done:
  ret void
}

define void @xhlo_parallel_for(ptr %body, ptr %context, i64 %count) #0 {
  %nested = call i32 @omp_in_parallel()
  %inside = icmp ne i32 %nested, 0
  %single = icmp sle i64 %count, 1
  %alone = or i1 %inside, %single
  br i1 %alone, label %here, label %fork
here:
  call void %body(ptr %context, i64 0, i64 %count)
  ret void
fork:
FORK
  ret void
}

declare i32 @omp_get_thread_num()
declare i32 @omp_get_num_threads()
declare i32 @omp_in_parallel()
attributes #0 = { nounwind }
"""

_KMPC = """
@location = private unnamed_addr constant [23 x i8] c";unknown;unknown;0;0;;\\00"
@ident = private unnamed_addr constant { i32, i32, i32, i32, ptr } { i32 0, i32 2, i32 0, i32 22, ptr @location }
declare void @__kmpc_fork_call(ptr, i32, ptr, ...)

define internal void @team(ptr %global_id, ptr %bound_id, ptr %body, ptr %context, i64 %count) #0 {
  call void @share(ptr %body, ptr %context, i64 %count)
  ret void
}
""" + _SHARE.replace(
    "FORK",
    "  call void (ptr, i32, ptr, ...) @__kmpc_fork_call"
    "(ptr @ident, i32 3, ptr @team, ptr %body, ptr %context, i64 %count)",
)

_GOMP = """
declare void @GOMP_parallel(ptr, ptr, i32, i32)

define internal void @team(ptr %job) #0 {
  %body = load ptr, ptr %job
  %at.context = getelementptr i8, ptr %job, i64 8
  %context = load ptr, ptr %at.context
  %at.count = getelementptr i8, ptr %job, i64 16
  %count = load i64, ptr %at.count
  call void @share(ptr %body, ptr %context, i64 %count)
  ret void
}
""" + _SHARE.replace(
    "FORK",
    """  %job = alloca [24 x i8], align 8
  store ptr %body, ptr %job
  %at.context = getelementptr i8, ptr %job, i64 8
  store ptr %context, ptr %at.context
  %at.count = getelementptr i8, ptr %job, i64 16
  store i64 %count, ptr %at.count
  call void @GOMP_parallel(ptr @team, ptr %job, i32 0, i32 0)""",
)

_SERIAL = """
define void @xhlo_parallel_for(ptr %body, ptr %context, i64 %count) nounwind {
  call void %body(ptr %context, i64 0, i64 %count)
  ret void
}
"""


def parallel_for_ir(kind: Kind) -> str:
    """
    LLVM IR of `void xhlo_parallel_for(void (*body)(void *context, i64 lo, i64 hi), void *context, i64 count)`.

    It forks a team; thread t of T runs body on [t * count / T, (t + 1) * count / T). Inside a parallel region, or for a
    single iteration, the caller runs everything.
    """
    return {"kmpc": _KMPC, "gomp": _GOMP, "serial": _SERIAL}[kind]
