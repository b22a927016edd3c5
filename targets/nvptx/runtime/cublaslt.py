"""
cuBLASLt through ctypes: matrix products of gpu_library.matmul.

The library comes from the wheel nvidia-cublas (CUDA 13) or nvidia-cublas-cu12, else from the system; it is loaded at
the first call. The enumeration values are those of cublasLt.h, cublas_api.h and library_types.h, the same in CUDA 12
and 13.

BLAS uses column-major matrices. It sees a row-major matrix as its transpose, so we request `C^T = B^T A^T`: the
result's rows are dense, like ours, and a bias per row for BLAS is a bias per column for us.

The algorithm is the first choice of the library's heuristic, queried once per problem: it depends on the problem, the
GPU and the library's version, not on addresses. Split-k reductions must run as a separate pass, in order; atomic ones,
and reductions in 16 bits, are not allowed.
"""

from __future__ import annotations

import ctypes
import math
import os
import re
import sys
import threading
from collections.abc import Iterable
from ctypes import byref, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

from ....dialects.gpu.library import Matmul, Matrix
from ....passes.manager.pipelines import LIBRARIES
from ...gpu.runtime.driver import WORKSPACE_BYTES, GpuUnavailableError
from .bindings import load_bindings
from .errors import CudaError

DISTRIBUTIONS = ("nvidia-cublas", "nvidia-cublas-cu12")

ALIGNMENT = 16
"""The least alignment of buffers, in bytes."""

SYSTEM_FOLDERS = ("/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib")

_FILE = re.compile(r"libcublasLt\.so\.\d+|cublasLt64_\d+\.dll")

# cudaDataType, cublasComputeType_t, cublasOperation_t, and the enumerations of cublasLt.h.
DATA_TYPES = {"f32": 0, "f64": 1, "f16": 2, "i8": 3, "i32": 10, "bf16": 14}
COMPUTE_TYPES = {"f32": 68, "f64": 70, "i32": 72}
COMPUTE_TF32 = 77
OPERATION_N, OPERATION_T = 0, 1
DESC_TRANSA, DESC_TRANSB, DESC_EPILOGUE, DESC_BIAS_POINTER = 3, 4, 7, 8
LAYOUT_BATCH_COUNT, LAYOUT_BATCH_OFFSET = 5, 6
PREFERENCE_WORKSPACE, PREFERENCE_REDUCTION = 1, 3
PREFERENCE_ALIGNMENTS = (5, 6, 7, 8)
"""The alignment preferences of A, B, C and D."""
REDUCTION_COMPUTE_TYPE = 2
EPILOGUES = {"": 1, "relu": 2, "gelu_tanh": 32}
EPILOGUE_BIAS = 4

_SCALARS: dict[str, Any] = {"f32": c_float, "f64": c_double, "i32": c_int32}
_BYTES = {"f32": 4, "f64": 8, "f16": 2, "i8": 1, "i32": 4, "bf16": 2}


class Algorithm(ctypes.Structure):
    """cublasLtMatmulAlgo_t"""

    _fields_ = (("data", c_uint64 * 8),)


class HeuristicResult(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t"""

    _fields_ = (
        ("algo", Algorithm),
        ("workspace", c_size_t),
        ("state", c_int),
        ("waves", c_float),
        ("reserved", c_int * 4),
    )


_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "cublasLtCreate": (c_void_p,),
    "cublasLtMatmulDescCreate": (c_void_p, c_int, c_int),
    "cublasLtMatmulDescSetAttribute": (c_void_p, c_int, c_void_p, c_size_t),
    "cublasLtMatrixLayoutCreate": (c_void_p, c_int, c_uint64, c_uint64, c_int64),
    "cublasLtMatrixLayoutSetAttribute": (c_void_p, c_int, c_void_p, c_size_t),
    "cublasLtMatmulPreferenceCreate": (c_void_p,),
    "cublasLtMatmulPreferenceDestroy": (c_void_p,),
    "cublasLtMatmulPreferenceSetAttribute": (c_void_p, c_int, c_void_p, c_size_t),
    "cublasLtMatmulAlgoGetHeuristic": (*[c_void_p] * 7, c_int, c_void_p, c_void_p),
    "cublasLtMatmul": (*[c_void_p] * 14, c_size_t, c_void_p),
}
"""The parameters of the functions; each returns a cublasStatus_t."""


VARIABLE = "XHLO_GPU_LIBRARIES"
"""
The environment variable that chooses which contractions of a program compiled to run call cuBLASLt: never, auto or
always. The default is auto if the library is installed.
"""


def present_libraries() -> str:
    """The choice for programs that run on this machine. Raises GpuUnavailableError for an invalid value."""
    chosen = os.environ.get(VARIABLE)
    if chosen and chosen not in LIBRARIES:
        raise GpuUnavailableError(f"{VARIABLE} is one of {', '.join(LIBRARIES)}, not '{chosen}'")
    return chosen or ("never" if find_library() is None else "auto")


def find_library() -> str | None:
    """
    The path, or the loader's name, of a library that the driver can run; None if none is installed.

    Nothing is loaded. Without a driver any version is accepted, because programs are compiled for machines that have
    one.
    """
    most: int | None = None
    for number, path in enumerate(_installed(DISTRIBUTIONS, tuple(sys.path), _folders_of_the_system())):
        if number == 0:
            most = driver_major()
        if most is None or _major(path) <= most:
            return path
    return None


def driver_major() -> int | None:
    """The CUDA version of the driver, such as 13; None without a driver."""
    try:
        status, version = load_bindings().cuDriverGetVersion()
    except (GpuUnavailableError, RuntimeError):
        return None
    return version // 1000 if status == 0 and version else None


def _major(path: str) -> int:
    """The CUDA version of a library, from its file name; 0 if the name has none."""
    found = re.search(r"(\d+)(?:\.dll)?$", path)
    return 0 if found is None else int(found[1])


@lru_cache(maxsize=8)
def _installed(distributions: tuple[str, ...], path: tuple[str, ...], folders: tuple[str, ...]) -> tuple[str, ...]:
    """
    The libraries of wheels, with or without metadata, then those of the folders; newest versions first.
    """
    found: list[Path] = []
    for distribution in distributions:
        try:
            files = metadata.files(distribution) or ()
        except metadata.PackageNotFoundError:
            continue
        found += [Path(str(file.locate())) for file in files]
    for folder in path:
        found += _newest(Path(folder or ".").glob("nvidia/*/lib/libcublasLt.so.*"))
    for folder in folders:
        found += _newest(Path(folder).glob("libcublasLt.so.*"))
    named = (each for each in found if _FILE.fullmatch(each.name) and each.exists())
    return tuple(dict.fromkeys(map(str, named)))


def _newest(paths: Iterable[Path]) -> list[Path]:
    return sorted(paths, key=lambda path: _major(path.name), reverse=True)


def _folders_of_the_system() -> tuple[str, ...]:
    """The folders that the loader searches, and those of toolkits."""
    variables = [os.environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH")]
    toolkits = [*filter(None, variables), "/usr/local/cuda"]
    folders = [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) if folder]
    folders += [os.path.join(toolkit, name) for toolkit in toolkits for name in ("lib64", "lib")]
    return (*folders, *SYSTEM_FOLDERS)


@dataclass
class Plan:
    """A prepared problem: the library's descriptors, and the algorithm."""

    problem: Matmul
    description: c_void_p
    layouts: tuple[c_void_p, c_void_p, c_void_p]
    """The layouts of BLAS's A, B and result."""
    one: Any
    zero: Any
    algorithm: Algorithm = field(default_factory=Algorithm)
    workspace: int = 0
    """Bytes of workspace that the algorithm needs."""


class CublasLt:
    """
    The library on the device that is current at calls, which is always the same. Thread-safe.

    Raises GpuUnavailableError if the library is missing or does not start, CudaError for a problem that it refuses.
    """

    def __init__(self, library: Any = None):
        """`library`: used instead of the installed one."""
        self._library = _load() if library is None else library
        for name, parameters in _FUNCTIONS.items():
            function = getattr(self._library, name)
            function.argtypes, function.restype = parameters, c_int
        self._library.cublasLtGetStatusName.argtypes = (c_int,)
        self._library.cublasLtGetStatusName.restype = c_char_p
        self._handle: c_void_p | None = None
        self._plans: dict[Matmul, Plan] = {}
        self._lock = threading.Lock()

    def prepare(self, problem: Matmul, kernel: str) -> None:
        """Start the library and choose an algorithm, so that the next call only enqueues work."""
        with self._lock:
            self._plan(problem, kernel)

    def matmul(self, problem: Matmul, addresses: tuple[int, ...], workspace: int, stream: int, kernel: str) -> None:
        """
        Enqueue a product in a stream.

        `addresses`: of lhs, rhs, the bias if there is one, and the result; `workspace`: the address of WORKSPACE_BYTES
        that no other stream uses; `kernel`: the name for messages.
        """
        with self._lock:
            plan = self._plan(problem, kernel)
            if problem.bias:
                # All calls of the plan share the description, so it is read before the lock is released.
                self._set(plan.description, DESC_BIAS_POINTER, c_void_p(addresses[2]), kernel)
            size, result = _BYTES[problem.element], _BYTES[problem.result]
            lhs = addresses[0] + problem.lhs.offset * size
            rhs = addresses[1] + problem.rhs.offset * size
            out = addresses[-1] + problem.out.offset * result
            a, b, d = plan.layouts
            self._call(
                "cublasLtMatmul",
                kernel,
                *(self._handle, plan.description, byref(plan.one), rhs, a, lhs, b, byref(plan.zero), out, d, out, d),
                *(byref(plan.algorithm), workspace, plan.workspace, stream),
            )

    # Plans.

    def _plan(self, problem: Matmul, kernel: str) -> Plan:
        found = self._plans.get(problem)
        if found is None:
            if self._handle is None:
                self._start(kernel)
            found = self.describe(problem, kernel)
            self._choose(found, kernel)
            self._plans[problem] = found
        return found

    def _start(self, kernel: str) -> None:
        handle = c_void_p()
        try:
            self._call("cublasLtCreate", kernel, byref(handle))
        except CudaError as error:
            reason = "does the driver know its version of CUDA?"
            raise GpuUnavailableError(f"cuBLASLt does not start ({error.name}): {reason}") from error
        self._handle = handle

    def describe(self, problem: Matmul, kernel: str = "") -> Plan:
        """The problem's descriptors, without an algorithm; no device is needed."""
        compute = COMPUTE_TF32 if problem.tf32 else COMPUTE_TYPES[problem.total]
        description = c_void_p()
        self._call("cublasLtMatmulDescCreate", kernel, byref(description), compute, DATA_TYPES[problem.total])
        self._set(description, DESC_TRANSA, c_int32(_operation(problem.rhs)), kernel)
        self._set(description, DESC_TRANSB, c_int32(_operation(problem.lhs)), kernel)
        epilogue = EPILOGUES[problem.activation]
        if problem.bias:
            epilogue = (epilogue if problem.activation else 0) | EPILOGUE_BIAS
        self._set(description, DESC_EPILOGUE, c_uint32(epilogue), kernel)
        if problem.bias:
            # A placeholder until the first call: the heuristic only looks at its alignment.
            self._set(description, DESC_BIAS_POINTER, c_void_p(ALIGNMENT), kernel)
        layouts = (
            self._layout(problem.rhs, problem.element, problem.batch, kernel),
            self._layout(problem.lhs, problem.element, problem.batch, kernel),
            self._layout(problem.out, problem.result, problem.batch, kernel),
        )
        scalar = _SCALARS[problem.total]
        return Plan(problem, description, layouts, scalar(1), scalar(0))

    def _layout(self, matrix: Matrix, element: str, batch: int, kernel: str) -> c_void_p:
        """The column-major layout: the transpose of a row-major matrix, a column-major matrix unchanged."""
        rows, columns = (matrix.columns, matrix.rows) if matrix.row_major else (matrix.rows, matrix.columns)
        layout = c_void_p()
        self._call(
            "cublasLtMatrixLayoutCreate", kernel, byref(layout), DATA_TYPES[element], rows, columns, matrix.leading
        )
        if batch > 1:
            for attribute, value in (
                (LAYOUT_BATCH_COUNT, c_int32(batch)),
                (LAYOUT_BATCH_OFFSET, c_int64(matrix.batch_stride)),
            ):
                size = ctypes.sizeof(value)
                self._call("cublasLtMatrixLayoutSetAttribute", kernel, layout, attribute, byref(value), size)
        return layout

    def _set(self, description: c_void_p, attribute: int, value: Any, kernel: str) -> None:
        size = ctypes.sizeof(value)
        self._call("cublasLtMatmulDescSetAttribute", kernel, description, attribute, byref(value), size)

    def _choose(self, plan: Plan, kernel: str) -> None:
        """Choose the algorithm by the library's heuristic."""
        preference = self.preference(plan.problem, kernel)
        result, count = HeuristicResult(), c_int()
        a, b, d = plan.layouts
        try:
            self._call(
                "cublasLtMatmulAlgoGetHeuristic",
                kernel,
                *(self._handle, plan.description, a, b, d, d, preference, 1, byref(result), byref(count)),
            )
        finally:
            self._library.cublasLtMatmulPreferenceDestroy(preference)
        if count.value < 1 or result.state != 0:
            self._fail("cublasLtMatmulAlgoGetHeuristic", result.state or NOT_SUPPORTED, kernel)
        plan.algorithm, plan.workspace = result.algo, result.workspace

    def preference(self, problem: Matmul, kernel: str = "") -> c_void_p:
        """The resources and alignments that an algorithm may rely on; no device is needed."""
        settings: list[tuple[int, Any]] = [
            (PREFERENCE_WORKSPACE, c_uint64(WORKSPACE_BYTES)),
            (PREFERENCE_REDUCTION, c_uint32(REDUCTION_COMPUTE_TYPE)),
        ]
        operands = (problem.rhs, problem.element), (problem.lhs, problem.element), *[(problem.out, problem.result)] * 2
        for attribute, (matrix, element) in zip(PREFERENCE_ALIGNMENTS, operands, strict=True):
            settings.append((attribute, c_uint32(math.gcd(ALIGNMENT, matrix.offset * _BYTES[element]))))
        preference = c_void_p()
        self._call("cublasLtMatmulPreferenceCreate", kernel, byref(preference))
        for attribute, value in settings:
            size = ctypes.sizeof(value)
            self._call("cublasLtMatmulPreferenceSetAttribute", kernel, preference, attribute, byref(value), size)
        return preference

    # Errors.

    def _call(self, name: str, kernel: str, *arguments: Any) -> None:
        status = getattr(self._library, name)(*arguments)
        if status:
            self._fail(name, status, kernel)

    def _fail(self, what: str, status: int, kernel: str) -> None:
        name = self._library.cublasLtGetStatusName(status)
        text = name.decode() if isinstance(name, bytes) else str(status)
        raise CudaError(
            text, f"{what} refuses it; XHLO_GPU_LIBRARIES=never compiles without the library", kernel or None
        )


NOT_SUPPORTED = 15
"""CUBLAS_STATUS_NOT_SUPPORTED"""


def _operation(matrix: Matrix) -> int:
    """The operation that turns BLAS's matrix into the transpose of ours: none if ours is row-major."""
    return OPERATION_N if matrix.row_major else OPERATION_T


def _load() -> Any:
    path = find_library()
    if path is None:
        reason = "the program calls cuBLASLt, which is not installed"
        raise GpuUnavailableError(f"{reason}: `pip install xhlo[gpu-libraries]` brings it")
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        raise GpuUnavailableError(f"cuBLASLt cannot be loaded from {path}: {error}") from error
