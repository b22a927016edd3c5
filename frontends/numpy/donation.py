"""Arguments that a call may use up: `xhlo.jit(donate_argnames=..)`."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import threading
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from ...targets.cpu.executable import CpuExecutable
from ...targets.cpu.interrupts import StillRunning
from ...targets.cpu.memory import new_array


class Donated:
    """
    The arrays that were donated to one executable on the CPU: the next calls' results are written to them.

    A step that is called again and again, `state = step(state, data)`, then needs the memory of two states.
    """

    def __init__(self) -> None:
        self._spare: list[Any] = []
        self._lock = threading.Lock()

    def run(
        self, executable: CpuExecutable, arguments: Sequence[Any], names: Sequence[str], given: AbstractSet[int]
    ) -> Any:
        """A call, of which the arguments of these numbers are donated. Raises ValueError for one that was before."""
        arrays = [np.require(one, requirements="C") for one in arguments]
        with self._lock:
            for argument, name in zip(arguments, names, strict=True):
                if any(argument is one for one in self._spare):
                    raise ValueError(f"argument {name} was donated to an earlier call; its memory holds other values")
            outputs = [self._taken(type_) for type_ in executable.output_types]
        held = [*arrays, *outputs]
        try:
            executable.run_at([one.__array_interface__["data"][0] for one in held])
        except StillRunning as interrupt:
            interrupt.when_done(held.clear)
            raise
        # Memory of others, and read-only memory, cannot be given.
        with self._lock:
            self._spare = [
                one
                for number, one in enumerate(arguments)
                if number in given and one is arrays[number] and _is_own(one)
            ]
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _taken(self, type_: Any) -> Any:
        for number, one in enumerate(self._spare):
            if (one.shape, one.dtype) == (type_.shape, type_.dtype):
                return self._spare.pop(number)
        return new_array(type_.shape, type_.dtype, type_.nbytes)


def _is_own(array: Any) -> bool:
    """Whether an array's memory is written to, and no view of another array's."""
    return array.flags.writeable and not isinstance(array.base, np.ndarray)
