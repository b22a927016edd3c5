"""A compiled program: NumPy arrays in, NumPy arrays out."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...hlo_dialect.types import Array, ArrayType
from ..executable import Executable, Kernel
from .callbacks import Callbacks
from .memory import POOL, Block, new_array

if TYPE_CHECKING:
    from .image import Image


Checker = Callable[[Sequence[Array]], None]


@dataclass
class Program:
    """What the compiler hands to an executable."""

    entry: int
    """Address of `void xhlo_entry(void **buffers)`."""
    inputs: tuple[ArrayType, ...]
    outputs: tuple[ArrayType, ...]
    """Results of the entry, then the operands of the checks."""
    result_count: int
    arena_bytes: int
    kernels: list[Kernel]
    keep_alive: object
    """Whatever owns the machine code."""
    check: Checker | None = None
    """Raises CheckFailure for wrong values of the extra results."""
    callbacks: Callbacks | None = None
    """The functions that the program calls back, if any."""
    profiled: bool = False
    stages: dict[str, float] = field(default_factory=dict[str, float])
    """Seconds of compile time by stage, in order."""
    image: Image | None = None
    """What the program was loaded from."""


class CpuExecutable(Executable):
    """NumPy arrays in, NumPy arrays out. Calls from several threads run at once: each has its own arena and outputs."""

    def __init__(self, program: Program, text_at: Callable[[str], str]):
        super().__init__(text_at)
        self._program = program
        self._function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(program.entry)
        self._inputs = program.inputs
        self._expected = tuple((t.dtype, t.shape) for t in program.inputs)
        self._outputs = tuple((t.shape, t.dtype, t.nbytes) for t in program.outputs)
        # Inputs, outputs, the profile where there is one, the arena (null where it is empty).
        count = len(program.inputs) + len(program.outputs) + program.profiled + 1
        self._pointers = ctypes.c_void_p * count
        self._profile = np.zeros((max(1, len(program.kernels)), 2), np.int64)

    @property
    def input_types(self) -> tuple[ArrayType, ...]:
        return self._inputs

    @property
    def output_types(self) -> tuple[ArrayType, ...]:
        return self._program.outputs[: self._program.result_count]

    @property
    def program(self) -> Program:
        """What the compiler made: the address of the code, and what it needs to run."""
        return self._program

    @property
    def runs_alone(self) -> bool:
        """Whether calling the entry is all there is to a run: no checks after it, no functions called back."""
        program = self._program
        return program.check is None and program.callbacks is None and not program.profiled

    def run_at(self, addresses: Sequence[int]) -> None:
        """
        Run on memory at `addresses`: of each argument, then of each result that `output_types` names.

        Each holds a row-major array of its type. Raises as a call does.
        """
        checked: list[Array] = []
        pointers = list(addresses)
        for shape, dtype, nbytes in self._outputs[self._program.result_count :]:
            checked.append(new_array(shape, dtype, nbytes))
            pointers.append(checked[-1].__array_interface__["data"][0])
        if self._program.profiled:
            pointers.append(self._profile.ctypes.data)
        self._run(pointers)
        if self._program.check is not None:
            # Checks look at extra results only.
            self._program.check([np.empty(0)] * self._program.result_count + checked)

    @property
    def kernels(self) -> list[Kernel]:
        """The program's distinct kernels, with measured times when it was compiled with `profile=True`."""
        for kernel, (nanoseconds, calls) in zip(self._program.kernels, self._profile.tolist(), strict=False):
            kernel.nanoseconds, kernel.calls = nanoseconds, calls
        return self._program.kernels

    @property
    def compile_stages(self) -> dict[str, float]:
        """Seconds of compile time by stage, in order."""
        return dict(self._program.stages)

    def reset_profile(self) -> None:
        self._profile[:] = 0

    def serialize(self) -> bytes:
        """
        The executable as bytes, for `xhlo.deserialize` on a machine with the same CPU and versions of xhlo and LLVM.

        A program that calls functions of the host program keeps their names: they must be registered where it is
        loaded. Raises ValueError for an executable that was not compiled by this package.
        """
        from .serialization import serialize

        if self._program.image is None:
            raise ValueError("the executable has no image of its machine code")
        return serialize(self._program.image, self.source)

    def __call__(self, *arguments: Any) -> Array | tuple[Array, ...]:
        if len(arguments) != len(self._expected):
            raise TypeError(f"expected {len(self._expected)} arguments, got {len(arguments)}")
        arrays: list[Array] = []
        pointers: list[int] = []
        for index, (argument, expected) in enumerate(zip(arguments, self._expected, strict=True)):
            if (
                type(argument) is np.ndarray
                and (argument.dtype, argument.shape) == expected
                and argument.flags.c_contiguous
            ):
                array = argument
            else:
                array = self._convert(argument, index)
            arrays.append(array)
            pointers.append(array.__array_interface__["data"][0])
        outputs = [new_array(*output) for output in self._outputs]
        for output in outputs:
            pointers.append(output.__array_interface__["data"][0])
        if self._program.profiled:
            pointers.append(self._profile.ctypes.data)
        self._run(pointers)
        return self._results(outputs)

    def _run(self, pointers: list[int]) -> None:
        arena: Block | None = None
        if self._program.arena_bytes:
            arena = POOL.take(self._program.arena_bytes)
            pointers.append(arena.address)
        callbacks = self._program.callbacks
        if callbacks is None:
            self._function(self._pointers(*pointers))
            if arena is not None:
                POOL.give_back(arena)
            return
        with callbacks.run():
            self._function(self._pointers(*pointers))
            if arena is not None:
                POOL.give_back(arena)

    def _results(self, outputs: list[Array]) -> Array | tuple[Array, ...]:
        if self._program.check is not None:
            self._program.check(outputs)
        results = outputs[: self._program.result_count]
        return results[0] if len(results) == 1 else tuple(results)

    def _convert(self, argument: Any, index: int) -> Array:
        """A contiguous array of the expected type, or a TypeError that says what was wrong."""
        wanted = self._inputs[index]
        if not hasattr(argument, "__array__") and not hasattr(argument, "__array_interface__"):
            raise TypeError(f"argument {index}: expected an array of type {wanted.text}, got {type(argument).__name__}")
        array: Array = np.asarray(argument)
        if array.dtype != wanted.dtype:
            raise TypeError(f"argument {index}: expected dtype {wanted.dtype} ({wanted.text}), got {array.dtype}")
        if array.shape != wanted.shape:
            raise TypeError(f"argument {index}: expected shape {wanted.shape} ({wanted.text}), got {array.shape}")
        return np.ascontiguousarray(array).reshape(wanted.shape)
