"""A compiled program: NumPy arrays in, NumPy arrays out."""

from __future__ import annotations

import ctypes
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self, cast

import numpy as np

from ...dialects.support.shared_names import OVERWRITTEN, UNTOUCHED
from ...hlo_dialect.arrays import Array, address_of
from ...hlo_dialect.errors import DiagnosticError
from ..program.arguments import host_array
from ..program.errors import hide_our_frames
from ..program.executable import Executable, check_results, overlaps
from ..program.facts import Facts, Kernel
from ..program.signature import Signature
from .callbacks import Callbacks
from .direct_calls import (
    MOST_KEPT,
    MOST_ON_STACK,
    CalledDirectly,
    DirectRun,
    KeptArena,
    Plan,
    Program,
    Result,
    arena_for_calls,
    takes,
    takes_kind,
)
from .image import Image
from .interrupts import run_interruptibly
from .memory import POOL, SMALL, Block, array_maker, new_array
from .stops import ATTENTION

LONG = 0.1
"""Seconds: runs that are expected to take longer are waited for on the main thread, where Ctrl-C is seen."""

SHORT = 1e-6
"""Seconds: runs that are expected to take less keep Python's lock, which other threads would hardly have had."""


class CpuExecutable(Executable, CalledDirectly):
    """NumPy arrays in, NumPy arrays out. Calls from several threads run at once: each has its own arena and outputs."""

    def __init__(
        self, image: Image, entry: int, callbacks: Callbacks, keep_alive: object, text_at: Callable[[str], str]
    ):
        """`entry`: the address of `void xhlo_entry(void **buffers)`. `keep_alive`: the owners of its code and data."""
        facts = image.facts
        super().__init__(facts, text_at)
        self.image = image
        self.entry = entry
        self._keep_alive = keep_alive
        self._callbacks = callbacks if callbacks else None
        self._function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(entry)
        self._expected = tuple((t.dtype, t.shape) for t in facts.inputs)
        self._outputs = tuple((t.shape, t.dtype, t.nbytes) for t in facts.outputs)
        # Inputs, outputs, the profile if there is one, the arena (null if it is empty).
        count = len(facts.inputs) + len(facts.outputs) + facts.profiled + 1
        self._count = count
        self._packed = struct.Struct(f"{count}N").pack
        self._profile = np.zeros((max(1, len(facts.kernels)), 2), np.int64)
        self.may_take_long = facts.loops or estimated_seconds(facts) > LONG
        """Whether Ctrl-C during a run must be seen before it ends; cleared when a run has ended soon."""
        self._call_anew()

    def _call_anew(self) -> None:
        """Let the next call find out whether machine code answers those that follow."""
        self.forget_plans()
        self.__dict__.pop("_direct", None)

    @cached_property
    def _direct(self) -> DirectRun | None:
        """
        Runs the program on given arrays, for a program whose run only calls the entry. From here on machine code
        answers calls of such a program.
        """
        method, program = _direct_call(), self._direct_program(None)
        if method is None or program is None:
            return None
        self.add_plan(method, program, self._unflatten)
        return DirectRun(method, replace(program, results=(), written=self.facts.outputs))

    def add_plan_to(
        self, called: CalledDirectly, finish: Callable[[Any], Any] | None, kinds: Sequence[type]
    ) -> Plan | None:
        """
        Let machine code answer calls of an object with arguments of exactly these classes, arrays that the program
        takes or numbers. None if it cannot, or a run does more than to call the entry.
        """
        method, program = _direct_call(), self._direct_program(kinds)
        return None if method is None or program is None else called.add_plan(method, program, finish)

    def _direct_program(self, kinds: Sequence[type] | None) -> Program | None:
        """The program as machine code calls it directly; None if its run does more than to call the entry."""
        facts = self.facts
        if facts.arena_bytes > MOST_KEPT or facts.donated or not self.runs_alone:
            return None
        if kinds is None:
            taken = list(map(takes, facts.inputs))
        else:
            taken = list(map(takes_kind, facts.inputs, kinds))
        if not all(taken):
            return None
        results = [
            Result(type_, array_maker(*output) if output[2] >= SMALL else None)
            for type_, output in zip(facts.outputs, self._outputs, strict=True)
        ]
        is_short = not facts.loops and estimated_seconds(facts) < SHORT
        arena = self._kept_arena
        return Program(self.entry, facts.arena_bytes, facts.inputs, taken, results, is_short, self._keep_alive, arena)

    @cached_property
    def _kept_arena(self) -> KeptArena | None:
        size = self.facts.arena_bytes
        return arena_for_calls(size) if size > MOST_ON_STACK else None

    @property
    def only_computes(self) -> bool:
        """Whether a run only calls the entry: no checks after it, no host functions, no profile."""
        return not self.facts.checks and self._callbacks is None and not self.facts.profiled

    @property
    def runs_alone(self) -> bool:
        """Whether a run only calls the entry, and nobody waits for an interrupt meanwhile."""
        return self.only_computes and not self.may_take_long and not self.facts.safepoints

    def called_as(self, signature: Signature) -> Self:
        other = super().called_as(signature)
        other._call_anew()
        return other

    def run_at(self, addresses: Sequence[int], owners: object = None) -> None:
        """
        Run on memory at `addresses`: one for each argument, then one for each result of `output_types`.

        Each holds a row-major array of its type. Raises the errors of a call; after an interrupt that leaves a
        run (see `run_left_by`) the memory is in use until that is done, and its `owners` live as long.
        """
        extra = [new_array(*output) for output in self._outputs[self.facts.result_count :]]
        self._run([*addresses, *map(address_of, extra)], (extra, owners))
        check_results(self.facts, extra)

    @property
    def kernels(self) -> list[Kernel]:
        """The program's distinct kernels, with measured times when it was compiled with `profile=True`."""
        for kernel, (nanoseconds, calls) in zip(self.facts.kernels, self._profile.tolist(), strict=False):
            kernel.nanoseconds, kernel.calls = nanoseconds, calls
        return self.facts.kernels

    def reset_profile(self) -> None:
        self._profile[:] = 0

    def serialize(self) -> bytes:
        """
        The executable as bytes, for `xhlo.deserialize` on a machine with the same CPU and versions of xhlo and LLVM.

        A program that calls functions of the host program stores their names: the process that loads it must register
        them.
        """
        from .serialization import serialize

        return serialize(self.image, self.source)

    def __call__(self, *arguments: Any, out: Any = None, **named: Any) -> Any:
        # Machine code answers those that it can (see CalledDirectly); this is for the first call, and the others.
        direct = self._direct
        if direct is not None and not named and out is not None:
            places = cast("Sequence[Any]", out if isinstance(out, tuple | list) else (out,))
            fits = self.signature.out_tree is None and len(places) == len(self._outputs)
            if fits and direct(*arguments, *places) is not None:
                return self.results(places)
        try:
            if direct is not None or named or out is not None or len(arguments) != len(self._expected):
                return self.call(arguments, named, out)
            pointers: list[int] = []
            for argument, expected in zip(arguments, self._expected, strict=True):
                if (
                    type(argument) is np.ndarray
                    and (argument.dtype, argument.shape) == expected
                    and (flags := argument.flags).c_contiguous
                    and flags.aligned
                ):
                    pointers.append(address_of(argument))
                else:
                    return self.call(arguments, named)
            outputs = self._memory(arguments)
            pointers.extend(map(address_of, outputs))
            self._run(pointers, (arguments, outputs))
            return self.results(outputs)
        except (DiagnosticError, TypeError) as error:
            hide_our_frames(error)
            raise

    def compute(self, arguments: Sequence[Any], memory: Sequence[Array] | None) -> Sequence[Array]:
        outputs: list[Array] = []
        if self._direct is not None and memory is None:
            outputs = self._memory(())  # such a program is given no arguments to write to
            if self._direct(*arguments, *outputs) is not None:
                return outputs
        arrays = [host_array(argument, i, self.facts.inputs[i]) for i, argument in enumerate(arguments)]
        if memory is not None:
            outputs = self._memory_at(arrays, memory)
        elif not outputs:
            outputs = self._memory(arrays)
        self._run([*map(address_of, arrays), *map(address_of, outputs)], (arrays, outputs))
        for index, place in enumerate(memory or ()):
            if outputs[index] is not place:
                np.copyto(place, outputs[index])
                outputs[index] = place
        return outputs

    def _memory(self, arrays: Sequence[Array]) -> list[Array]:
        """Memory for the outputs: that of donated arguments, where they are the caller's to give, or new."""
        if not self.facts.donated:
            return [new_array(*output) for output in self._outputs]
        outputs: list[Array | None] = [None] * len(self._outputs)
        for number, place in enumerate(self.facts.donated):
            if place >= 0 and can_be_given(arrays, number):
                shape, dtype, _ = self._outputs[place]
                given = arrays[number]
                same = (given.dtype, given.shape) == (dtype, shape)
                outputs[place] = given if same else given.reshape(-1).view(dtype).reshape(shape)
        return [
            new_array(*output) if place is None else place for place, output in zip(outputs, self._outputs, strict=True)
        ]

    def _memory_at(self, arrays: Sequence[Array], memory: Sequence[Array]) -> list[Array]:
        """
        `memory`, where it is given, or in its place other memory if it overlaps with an argument, which kernels read
        after they have written parts of results; unless it is just where the program puts the result.
        """
        outputs: list[Array] = []
        for index, output in enumerate(self._outputs):
            place = memory[index] if index < len(memory) else None
            others = [each for number, each in enumerate(arrays) if not self._is_updated(number, index, each, place)]
            taken = place is None or overlaps(place, others) or overlaps(place, outputs)
            outputs.append(new_array(*output) if place is None or taken else place)
        return outputs

    def _is_updated(self, number: int, index: int, array: Array, place: Array | None) -> bool:
        """Whether an argument becomes a result in the memory `place`, which is its own."""
        donated = self.facts.donated
        return place is not None and donated[number : number + 1] == (index,) and address_of(array) == address_of(place)

    def _settle(self, pointers: list[int]) -> list[Array]:
        """
        Put donated arguments where the program updates them: in the memory of their results, or where it only
        overwrites them, in other memory, which is returned.
        """
        extra: list[Array] = []
        for number, place in enumerate(self.facts.donated):
            if place == UNTOUCHED:
                continue
            nbytes = self.facts.inputs[number].nbytes
            if place == OVERWRITTEN:
                extra.append(new_array((nbytes,), np.dtype(np.uint8), nbytes))
            target = address_of(extra[-1]) if place == OVERWRITTEN else pointers[len(self.facts.inputs) + place]
            if pointers[number] != target:
                ctypes.memmove(target, pointers[number], nbytes)
                pointers[number] = target
        return extra

    def _run(self, pointers: list[int], held: object) -> None:
        if self.facts.donated:
            held = (held, self._settle(pointers))
        if self.facts.profiled:
            pointers.append(self._profile.ctypes.data)
        arena: Block | None = None
        if self.facts.arena_bytes:
            arena = POOL.take(self.facts.arena_bytes)
            pointers.append(arena.address)
        if self.may_take_long and self._callbacks is None:
            start = time.monotonic()
            run_interruptibly(lambda: self._call(pointers, held), arena)
            self._learn(time.monotonic() - start)
            return
        try:
            if self.facts.safepoints and arena is not None and self._callbacks is None:
                ATTENTION.run(lambda: self._call(pointers, held), arena.address)
            else:
                self._call(pointers, held)
        finally:
            if arena is not None:
                POOL.give_back(arena)

    def _learn(self, seconds: float) -> None:
        """
        Wait for no further run if this one has shown that none takes long: waking another thread, which often begins on
        the processor of a thread of the pool, takes half a millisecond.

        Without loops and branches each run takes as long, but for other threads and processes; with them, what one
        iteration, or all branches, take is estimated.
        """
        varies = self.facts.loops or self.facts.branches
        if seconds < (LONG / 10 if varies else LONG / 2):
            self.may_take_long = varies and estimated_seconds(self.facts) > LONG
            if not self.may_take_long:
                self._call_anew()

    def _call(self, pointers: list[int], held: object) -> None:
        """Run on buffers at these addresses; `held` owns them, and lives as long as this call."""
        if len(pointers) < self._count:
            pointers.append(0)
        if self._callbacks is None:
            self._function(self._packed(*pointers))
        else:
            with self._callbacks.run():
                self._function(self._packed(*pointers))


def _direct_call() -> int | None:
    """The address of the machine code of direct calls."""
    from .jit import engine  # llvmlite takes a while to load, but whoever has machine code has loaded it

    return engine().direct_call


def can_be_given(arrays: Sequence[Array], number: int) -> bool:
    """Whether a program may overwrite an argument: it is writeable, and no other argument shares its memory."""
    return arrays[number].flags.writeable and not overlaps(
        arrays[number], [each for other, each in enumerate(arrays) if other != number]
    )


def estimated_seconds(facts: Facts) -> float:
    """The time of one run without loops, at the rates of a slow core: enough to tell milliseconds from seconds."""
    return sum(kernel.sites * (kernel.bytes / 4e9 + kernel.flops / 1e9) for kernel in facts.kernels)
