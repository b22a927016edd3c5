"""
cuBLASLt without a GPU: Python functions in place of its C functions keep descriptors and compute column by column.

They use only what was set through the functions, by the numbers of cublasLt.h: matrices are read in BLAS's order, by
leading dimensions, batch strides and transposes, from memory at the given addresses.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

SUCCESS, NOT_INITIALIZED, INVALID_VALUE, NOT_SUPPORTED = 0, 1, 7, 15
NAMES = {
    NOT_INITIALIZED: b"CUBLAS_STATUS_NOT_INITIALIZED",
    INVALID_VALUE: b"CUBLAS_STATUS_INVALID_VALUE",
    NOT_SUPPORTED: b"CUBLAS_STATUS_NOT_SUPPORTED",
}

TYPES = {0: np.float32, 1: np.float64, 2: np.float16, 3: np.int8, 10: np.int32, 14: ml_dtypes.bfloat16}
"""Element types by cudaDataType."""
COMPUTE = {68: np.float32, 70: np.float64, 72: np.int32, 77: np.float32}
"""Accumulator types by cublasComputeType_t."""
SCALE = {68: 0, 70: 1, 72: 10, 77: 0}

DESC_BYTES = {3: 4, 4: 4, 7: 4, 8: 8}
LAYOUT_BYTES = {5: 4, 6: 8}
PREFERENCE_BYTES = {1: 8, 3: 4, 5: 4, 6: 4, 7: 4, 8: 4}
"""Sizes of attributes; other sizes are refused, as by the library."""


class _Function:
    """A function called as ctypes calls one: arguments are converted by `argtypes`."""

    def __init__(self, run: Callable[..., Any]):
        self.run = run
        self.argtypes: tuple[Any, ...] = ()
        self.restype: Any = None

    def __call__(self, *arguments: Any) -> Any:
        assert len(arguments) == len(self.argtypes)
        for argument, type_ in zip(arguments, self.argtypes, strict=True):
            type_.from_param(argument)
        return self.run(*(_plain(argument) for argument in arguments))


def _plain(argument: Any) -> Any:
    """Pointers as addresses, numbers as such."""
    if isinstance(argument, ctypes.c_void_p):
        return argument.value or 0
    if hasattr(argument, "_obj"):
        return ctypes.addressof(argument._obj)
    return argument


class FakeCublasLt:
    """Stands in for the library: `CublasLt(FakeCublasLt())`."""

    def __init__(self, memory: Callable[[int, int], np.ndarray] | None = None):
        """`memory(address, nbytes)` returns the bytes at an address of the simulated GPU; by default, of the host."""
        self.memory = memory or _host_memory
        self.calls: list[str] = []
        self.objects: dict[int, dict[Any, Any]] = {}
        self.refuse: dict[str, int] = {}
        """The status that the next call of a function returns, by its name."""
        self.later: Callable[[int, Callable[[], None]], None] | None = None
        """Receives the work of a stream; by default it is done at once."""
        self._numbers = itertools.count(100)
        self._functions: dict[str, _Function] = {}

    def __getattr__(self, name: str) -> _Function:
        if not name.startswith("cublasLt"):
            raise AttributeError(name)
        if name not in self._functions:
            run = getattr(self, f"_{name}")

            def call(*arguments: Any) -> Any:
                self.calls.append(name)
                return self.refuse.pop(name, None) or run(*arguments)

            self._functions[name] = _Function(run if name == "cublasLtGetStatusName" else call)
        return self._functions[name]

    def _cublasLtGetStatusName(self, status: int) -> bytes:
        return NAMES[status]

    def _new(self, address: int, **fields: Any) -> int:
        number = next(self._numbers)
        self.objects[number] = dict(fields)
        ctypes.c_uint64.from_address(address).value = number
        return SUCCESS

    def _cublasLtCreate(self, handle: int) -> int:
        return self._new(handle, kind="handle")

    def _cublasLtMatmulDescCreate(self, address: int, compute: int, scale: int) -> int:
        return self._new(address, kind="desc", compute=compute, scale=scale)

    def _cublasLtMatrixLayoutCreate(self, address: int, type_: int, rows: int, columns: int, leading: int) -> int:
        return self._new(address, kind="layout", type=type_, rows=rows, columns=columns, leading=leading)

    def _cublasLtMatmulPreferenceCreate(self, address: int) -> int:
        return self._new(address, kind="preference")

    def _cublasLtMatmulPreferenceDestroy(self, number: int) -> int:
        del self.objects[number]
        return SUCCESS

    def _set(self, sizes: dict[int, int], kind: str, number: int, attribute: int, value: int, size: int) -> int:
        found = self.objects[number]
        if found["kind"] != kind or sizes.get(attribute) != size:
            return INVALID_VALUE
        found[attribute] = int.from_bytes(ctypes.string_at(value, size), "little", signed=attribute == 6)
        return SUCCESS

    def _cublasLtMatmulDescSetAttribute(self, *arguments: int) -> int:
        return self._set(DESC_BYTES, "desc", *arguments)

    def _cublasLtMatrixLayoutSetAttribute(self, *arguments: int) -> int:
        return self._set(LAYOUT_BYTES, "layout", *arguments)

    def _cublasLtMatmulPreferenceSetAttribute(self, *arguments: int) -> int:
        return self._set(PREFERENCE_BYTES, "preference", *arguments)

    def _cublasLtMatmulAlgoGetHeuristic(
        self,
        handle: int,
        desc: int,
        a: int,
        b: int,
        c: int,
        d: int,
        preference: int,
        asked: int,
        result: int,
        count: int,
    ) -> int:
        assert self.objects[handle]["kind"] == "handle" and asked == 1 and c == d
        self.preference = dict(self.objects[preference])
        status = self._check(desc, a, b, d)
        if status:
            return status
        # cublasLtMatmulHeuristicResult_t: the algorithm's 64 bytes, the workspace's size, the status, waves, 4 ints.
        ctypes.memset(result, 0, 96)
        ctypes.c_uint64.from_address(result).value = 4711
        ctypes.c_uint64.from_address(result + 64).value = 1024
        ctypes.c_int.from_address(count).value = 1
        return SUCCESS

    def _check(self, desc: int, a: int, b: int, d: int) -> int:
        """Check the requirements in the library's documentation."""
        operation, (a, b, d) = self.objects[desc], (self.objects[one] for one in (a, b, d))
        if operation["scale"] != SCALE[operation["compute"]] or a["type"] != b["type"]:
            return NOT_SUPPORTED
        if any(one["leading"] < one["rows"] for one in (a, b, d)):
            return INVALID_VALUE
        if operation["compute"] == 72:
            multiples = [a["rows"], a["columns"], *(one["leading"] for one in (a, b, d))]
            fits = (operation[3], operation[4]) == (1, 0) and all(number % 4 == 0 for number in multiples)
            return SUCCESS if fits and operation[7] == 1 else NOT_SUPPORTED
        return SUCCESS

    def _cublasLtMatmul(
        self, handle: int, desc: int, alpha: int, a: int, a_layout: int, b: int, b_layout: int, beta: int, c: int,
        c_layout: int, d: int, d_layout: int, algorithm: int, workspace: int, workspace_bytes: int, stream: int,
    ) -> int:  # fmt: skip
        assert self.objects[handle]["kind"] == "handle" and (c, c_layout) == (d, d_layout)
        assert ctypes.c_uint64.from_address(algorithm).value == 4711 and workspace_bytes == 1024 and workspace
        if status := self._check(desc, a_layout, b_layout, d_layout):
            return status
        operation = dict(self.objects[desc])
        total = COMPUTE[operation["compute"]]
        assert _scalar(alpha, total) == 1 and _scalar(beta, total) == 0
        layouts = [dict(self.objects[one]) for one in (a_layout, b_layout, d_layout)]

        def work() -> None:
            self._multiply(operation, total, layouts, (a, b, d))

        if self.later is None:
            work()
        else:
            self.later(stream, work)
        return SUCCESS

    def _multiply(self, operation: Any, total: Any, layouts: list[Any], addresses: tuple[int, int, int]) -> None:
        a, b, d = (self._matrix(layout, address) for layout, address in zip(layouts, addresses, strict=True))
        left, right = (np.swapaxes(one, 1, 2) if operation[transposed] else one for one, transposed in ((a, 3), (b, 4)))
        sums = left.astype(total) @ right.astype(total)
        assert sums.shape == d.shape
        epilogue = operation[7]
        if epilogue & 4:
            sums = sums + self._vector(operation[8], d.dtype, d.shape[1])[:, None].astype(total)
        if epilogue & 2:
            sums = np.maximum(sums, 0)
        d[...] = sums.astype(d.dtype)

    def _matrix(self, layout: Any, address: int) -> np.ndarray:
        """The matrix as an array (batch, rows, columns) whose columns are dense in memory."""
        dtype, batch = np.dtype(TYPES[layout["type"]]), layout.get(5, 1)
        step = layout.get(6, 0)
        elements = (batch - 1) * step + (layout["columns"] - 1) * layout["leading"] + layout["rows"]
        flat = self._vector(address, dtype, elements)
        strides = (step * dtype.itemsize, dtype.itemsize, layout["leading"] * dtype.itemsize)
        return np.lib.stride_tricks.as_strided(flat, (batch, layout["rows"], layout["columns"]), strides)

    def _vector(self, address: int, dtype: Any, elements: int) -> np.ndarray:
        dtype = np.dtype(dtype)
        return self.memory(address, elements * dtype.itemsize).view(dtype)


def _scalar(address: int, total: Any) -> Any:
    return np.frombuffer(ctypes.string_at(address, np.dtype(total).itemsize), total)[0]


def _host_memory(address: int, nbytes: int) -> np.ndarray:
    return np.frombuffer((ctypes.c_uint8 * nbytes).from_address(address), np.uint8)
