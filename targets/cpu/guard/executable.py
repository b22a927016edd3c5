"""Executables of guard mode."""

from __future__ import annotations

from typing import Any

from ...program.guard import GuardFacts
from ..executable import CpuExecutable
from .memory import Constants
from .runs import GuardedRun


class GuardedExecutable(CpuExecutable):
    """Runs on copies of its arguments in guarded memory. A call raises GuardError if a kernel accesses other memory."""

    def __init__(self, *program: Any, guard: GuardFacts, constants: Constants):
        """`program`: the arguments of CpuExecutable."""
        super().__init__(*program)
        self._guard = guard
        self._constants = constants
        self._words: dict[int, bytes] = {}

    @property
    def only_computes(self) -> bool:
        return False

    def serialize(self) -> bytes:
        """Raises ValueError: guarded programs are not kept."""
        raise ValueError("programs compiled for guard mode are not serialized")

    def _run(self, pointers: list[int], held: object) -> None:
        run = GuardedRun(self.facts, self._guard, self._constants, self._words)
        with run.running(pointers):
            profile = [self._profile.ctypes.data] if self.facts.profiled else []
            arena = [run.arena] if self.facts.arena_bytes else []
            self._call([*run.addresses, *profile, *arena], held)
