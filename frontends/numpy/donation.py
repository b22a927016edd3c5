"""Arguments that a call may use up: `xhlo.jit(donate_argnames=..)`."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import ctypes
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from ...hlo_dialect.arrays import address_of
from ...targets.cpu.executable import CpuExecutable, can_be_given
from ...targets.cpu.interrupts import run_left_by
from ...targets.cpu.memory import new_array


class Donated:
    """
    The arrays that were donated to one executable on the CPU: results are written to their memory, by the same call
    where the program updates them in place, else by the next ones.

    A step that is called again and again, `state = step(state, data)`, then needs the memory of one state or of two.
    """

    def __init__(self) -> None:
        self._spare: dict[int, Any] = {}
        """
        The arrays by `id`. There is no lock: a signal's handler, or what a collection of garbage destroys, may call the
        executable in between. Who takes an array out has it.
        """

    def run(
        self, executable: CpuExecutable, arguments: Sequence[Any], names: Sequence[str], given: AbstractSet[int]
    ) -> Any:
        """A call, of which the arguments of these numbers are donated. Raises ValueError for one that was before."""
        arrays = [np.require(one, requirements="C") for one in arguments]
        for argument, name in zip(arguments, names, strict=True):
            if id(argument) in self._spare:
                raise ValueError(f"argument {name} was donated to an earlier call; its memory holds other values")
        updated = self._updated(executable, arguments, arrays, given)
        outputs = [
            self._taken(type_) if number is None else self._same_memory(arrays[number], type_)
            for number, type_ in zip(updated, executable.output_types, strict=True)
        ]
        held = [*arrays, *outputs]
        try:
            executable.run_at(list(map(address_of, held)))
        except KeyboardInterrupt as interrupt:
            if run := run_left_by(interrupt):
                run.when_done(held.clear)
            raise
        # Memory of others, and read-only memory, cannot be given.
        self._spare = {
            id(one): one
            for number, one in enumerate(arguments)
            if number in given and one is arrays[number] and _is_own(one)
        }
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    @staticmethod
    def _updated(
        executable: CpuExecutable, arguments: Sequence[Any], arrays: Sequence[Any], given: AbstractSet[int]
    ) -> list[int | None]:
        """For each result the number of the argument in whose memory it is; None for a result in other memory."""
        found: list[int | None] = [None] * len(executable.output_types)
        for number, place in enumerate(executable.facts.donated):
            own = number in given and arguments[number] is arrays[number] and _is_own(arrays[number])
            if 0 <= place < len(found) and own and can_be_given(arrays, number):
                found[place] = number
        return found

    def _same_memory(self, array: Any, type_: Any) -> Any:
        """Another array in the memory of `array`, which the caller gives: one that was there before, or a new one."""
        found = self._spare_of(type_, address_of(array))
        return _another(array, type_) if found is None else found

    def _taken(self, type_: Any) -> Any:
        found = self._spare_of(type_)
        return new_array(type_.shape, type_.dtype, type_.nbytes) if found is None else found

    def _spare_of(self, type_: Any, address: int | None = None) -> Any:
        """A donated array of a type, at an address if one is given, which is the caller's from here on; or None."""
        for number, one in list(self._spare.items()):
            fits = (one.shape, one.dtype) == (type_.shape, type_.dtype) and address in (None, address_of(one))
            if fits and (taken := self._spare.pop(number, None)) is not None:
                return taken
        return None


def _another(array: Any, type_: Any) -> Any:
    """An array in the memory of another, which it keeps alive: no view of it, so that it can be given too."""
    memory: Any = (ctypes.c_char * array.nbytes).from_address(address_of(array))
    memory.owner = array
    return np.ndarray(type_.shape, type_.dtype, memory)


def _is_own(array: Any) -> bool:
    """Whether an array's memory is written to, and no view of another array's."""
    return array.flags.writeable and not isinstance(array.base, np.ndarray)
