"""Calls of executables on tensors, without copies where they lie in memory as the program expects."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...targets.cpu.executable import CpuExecutable
from ...targets.cpu.memory import POOL
from ...targets.program.executable import Executable
from .api import required, torch
from .memory import once
from .results import Computed, Constant, View, order_of
from .updates import write

_guards: Any = required("torch._C._dynamo.guards")
_empty: Callable[..., Any] = _guards._empty_strided_cpu


@dataclass(frozen=True)
class Argument:
    """An argument of the program: the graph's argument of that number, as it must lie in memory."""

    number: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """0 along dimensions where elements repeat; the program reads the first of them."""
    dtype: Any
    conjugated: bool = False
    """Whether a lazy conjugation or negation may be outstanding."""

    @property
    def stored(self) -> tuple[int, ...]:
        """The shape that the program reads."""
        return once(self.shape, self.strides)


@dataclass(frozen=True)
class Result:
    """A tensor that the program fills."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: Any


@dataclass(frozen=True)
class Plan:
    """The use of tensors by a call of a graph."""

    arguments: list[Argument]
    results: list[Result]
    """The new values of the arguments `changed`, then what outputs are computed from."""
    outputs: list[Constant | View | Computed]
    changed: list[int]
    """The numbers of the graph's arguments that the first results are written to."""


def _laid_out(tensor: Any, wanted: Argument) -> Any:
    """A tensor in the memory layout that the program expects: itself, or a copy."""
    if wanted.conjugated:
        tensor = tensor.resolve_conj().resolve_neg()
    if tensor.stride() == wanted.strides:
        return tensor
    for dim, size in enumerate(wanted.stored):
        tensor = tensor.narrow(dim, 0, size)
    return torch.empty_strided(wanted.stored, wanted.strides, dtype=wanted.dtype, device=tensor.device).copy_(tensor)


def _outputs(plan: Plan) -> Callable[[Sequence[Any], list[Any]], list[Any]] | None:
    """The function that lists the graph's outputs, from its arguments and what the program computed; None if these."""
    steps = plan.outputs
    if all(isinstance(one, Computed) for one in steps):
        numbers = [one.number for one in steps if isinstance(one, Computed)]
        if numbers == list(range(len(plan.results) - len(plan.changed))):
            return None

    def listed(args: Sequence[Any], computed: list[Any]) -> list[Any]:
        found: list[Any] = []
        for one in steps:
            if isinstance(one, Computed):
                found.append(computed[one.number])
            elif isinstance(one, View):
                base = args[one.argument]
                if one.layout is not None:
                    shape, strides, offset = one.layout
                    base = torch.as_strided(base, shape, strides, base.storage_offset() + offset)
                found.append(base)
            else:
                found.append(one.value)
        return found

    return listed


def caller(executable: Executable | None, plan: Plan) -> Callable[[Sequence[Any]], list[Any]]:
    """The function that runs a graph: from its arguments to its outputs. Without an executable nothing is computed."""
    finish = _outputs(plan)
    if executable is None:
        return lambda args: [] if finish is None else finish(args, [])
    compute = _on_cpu(executable, plan) if isinstance(executable, CpuExecutable) else _by_dlpack(executable, plan)
    return compute if finish is None else lambda args: finish(args, compute(args))


def _on_cpu(executable: CpuExecutable, plan: Plan) -> Callable[[Sequence[Any]], list[Any]]:
    """By addresses; results are written to new tensors, or to the arguments that they are the new values of."""
    entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(executable.entry)
    numbers, strides = [one.number for one in plan.arguments], [one.strides for one in plan.arguments]
    changed, memory = plan.changed, _Memory(executable, plan)
    arena = executable.facts.arena_bytes
    pointers = ctypes.c_void_p * (len(numbers) + len(plan.results) + bool(arena))
    careful = any(one.conjugated for one in plan.arguments)
    results = [(one.shape, one.strides, one.dtype) for one in plan.results]
    alone = executable.runs_alone

    def compute(args: Sequence[Any]) -> list[Any]:
        held = [args[number] for number in numbers]
        if careful or [one.stride() for one in held] != strides:
            held = [_laid_out(one, wanted) for one, wanted in zip(held, plan.arguments, strict=True)]
        if memory.is_shared:
            found = memory.of_results(args, held)
        else:
            found = [_empty(shape, stride, dtype) for shape, stride, dtype in results]
        addresses = [one.data_ptr() for one in (*held, *found)]
        if not alone:
            executable.run_at(addresses, (held, found))
        elif arena:
            block = POOL.take(arena)
            entry(pointers(*addresses, block.address))
            POOL.give_back(block)
        else:
            entry(pointers(*addresses))
        if not changed:
            return found
        for number, value in zip(changed, found, strict=False):
            if value is not args[number]:
                write([args[number]], [value])
        return found[len(changed) :]

    return compute


class _Memory:
    """Memory for the results of a program, some of which are in that of its arguments."""

    def __init__(self, executable: CpuExecutable, plan: Plan):
        self._results, self._changed = plan.results, plan.changed
        read = {one.number: index for index, one in enumerate(plan.arguments)}
        self._places = {place: index for index, place in enumerate(executable.facts.donated) if place >= 0}
        """The program's arguments that it puts results in, by the numbers of these."""
        own = {place: read.get(number) for place, number in enumerate(plan.changed)}
        self._copied = [index for place, index in self._places.items() if own.get(place) != index]
        """Arguments whose memory is not meant to have that result: copies take their place."""
        self._unread = {place for place, index in own.items() if index is None}
        self.is_shared = bool(self._places or self._unread)

    def of_results(self, args: Sequence[Any], held: list[Any]) -> list[Any]:
        """Memory for a call with these arguments of the graph, and of the program, among which copies are put."""
        for index in self._copied:
            held[index] = held[index].clone()
        found: list[Any] = []
        for place, result in enumerate(self._results):
            index = self._places.get(place)
            if index is not None:
                same = held[index].stride() == result.strides
                found.append(held[index] if same else torch.as_strided(held[index], result.shape, result.strides))
            elif place in self._unread and _is_laid_out(args[self._changed[place]], result):
                # The program does not read it.
                found.append(args[self._changed[place]])
            else:
                found.append(_empty(result.shape, result.strides, result.dtype))
        return found


def _is_laid_out(tensor: Any, result: Result) -> bool:
    return tensor.stride() == result.strides and not tensor.is_conj() and not tensor.is_neg()


def _by_dlpack(executable: Executable, plan: Plan) -> Callable[[Sequence[Any]], list[Any]]:
    """For targets that take and return arrays of their own memory."""

    def compute(args: Sequence[Any]) -> list[Any]:
        held = [_laid_out(args[one.number], one) for one in plan.arguments]
        stored = [
            _row_major(one.as_strided(wanted.stored, one.stride())).detach()
            for one, wanted in zip(held, plan.arguments, strict=True)
        ]
        found: Any = executable(*stored)
        each: Any = found if len(plan.results) != 1 else (found,)
        tensors = [_tensor(one, wanted) for one, wanted in zip(each, plan.results, strict=True)]
        count = len(plan.changed)
        write([args[number] for number in plan.changed], tensors[:count])
        return tensors[count:]

    return compute


def _row_major(tensor: Any) -> Any:
    """The memory of a dense tensor, with its dimensions in their order there."""
    order = order_of(tensor)
    return tensor if order is None else tensor.permute(order)


def _tensor(array: Any, wanted: Result) -> Any:
    found = torch.from_dlpack(array)
    return torch.as_strided(found, wanted.shape, wanted.strides)
