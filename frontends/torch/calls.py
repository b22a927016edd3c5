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
from .results import Computed, Constant, View, order_of

_guards: Any = required("torch._C._dynamo.guards")
_empty: Callable[..., Any] = _guards._empty_strided_cpu


@dataclass(frozen=True)
class Argument:
    """An argument of the program: the graph's argument of that number, as it must lie in memory."""

    number: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: Any
    conjugated: bool = False
    """Whether a lazy conjugation or negation may be outstanding."""


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
    draws: list[Callable[[], Any]]
    """Random numbers, the program's last arguments, and how they lie in memory."""
    drawn: list[Argument]
    results: list[Result]
    outputs: list[Constant | View | Computed]


def _laid_out(tensor: Any, wanted: Argument) -> Any:
    """A tensor in the memory layout that the program expects: itself, or a copy."""
    if wanted.conjugated:
        tensor = tensor.resolve_conj().resolve_neg()
    if tensor.stride() == wanted.strides:
        return tensor
    return torch.empty_strided(wanted.shape, wanted.strides, dtype=wanted.dtype, device=tensor.device).copy_(tensor)


def _outputs(plan: Plan) -> Callable[[Sequence[Any], list[Any]], list[Any]] | None:
    """The function that lists the graph's outputs, from its arguments and what the program computed; None if these."""
    steps = plan.outputs
    if all(isinstance(one, Computed) for one in steps):
        numbers = [one.number for one in steps if isinstance(one, Computed)]
        if numbers == list(range(len(plan.results))):
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
    """By addresses; results are written to new tensors."""
    entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(executable.entry)
    numbers, strides = [one.number for one in plan.arguments], [one.strides for one in plan.arguments]
    results = [(one.shape, one.strides, one.dtype) for one in plan.results]
    draws = list(zip(plan.draws, plan.drawn, strict=True))
    arena = executable.facts.arena_bytes
    pointers = ctypes.c_void_p * (len(numbers) + len(draws) + len(results) + bool(arena))
    careful = any(one.conjugated for one in plan.arguments)

    alone = executable.runs_alone

    def compute(args: Sequence[Any]) -> list[Any]:
        held = [args[number] for number in numbers]
        if careful or [one.stride() for one in held] != strides:
            held = [_laid_out(one, wanted) for one, wanted in zip(held, plan.arguments, strict=True)]
        for draw, wanted in draws:
            held.append(_laid_out(draw(), wanted))
        found = [_empty(shape, stride, dtype) for shape, stride, dtype in results]
        addresses = [one.data_ptr() for one in (*held, *found)]
        if not alone:
            executable.run_at(addresses)
        elif arena:
            block = POOL.take(arena)
            entry(pointers(*addresses, block.address))
            POOL.give_back(block)
        else:
            entry(pointers(*addresses))
        return found

    return compute


def _by_dlpack(executable: Executable, plan: Plan) -> Callable[[Sequence[Any]], list[Any]]:
    """For targets that take and return arrays of their own memory."""

    def compute(args: Sequence[Any]) -> list[Any]:
        held = [_laid_out(args[one.number], one) for one in plan.arguments]
        held += [_laid_out(draw(), wanted) for draw, wanted in zip(plan.draws, plan.drawn, strict=True)]
        stored = [_row_major(one).detach() for one in held]
        found: Any = executable(*stored)
        each: Any = found if len(plan.results) != 1 else (found,)
        return [_tensor(one, wanted) for one, wanted in zip(each, plan.results, strict=True)]

    return compute


def _row_major(tensor: Any) -> Any:
    """The memory of a dense tensor, with its dimensions in their order there."""
    order = order_of(tensor)
    return tensor if order is None else tensor.permute(order)


def _tensor(array: Any, wanted: Result) -> Any:
    found = torch.from_dlpack(array)
    return torch.as_strided(found, wanted.shape, wanted.strides)
