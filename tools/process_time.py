"""The time of a whole process for `--timing`: Python's start and the imports, then the stages."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from ..passes.manager.timing import Timing


@dataclass
class ProcessTime:
    """Made first of all; `whole`: whether the process does nothing else, so that what it did before counts too."""

    whole: bool
    _before: float = 0.0
    _begun: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        # Nobody waits for anything before the first line of a tool: processor time is the time that passed.
        self._before = time.process_time() if self.whole else 0.0

    def elapsed(self) -> float:
        """Seconds since the start of the process."""
        return self._before + time.perf_counter() - self._begun

    def timing(self) -> Timing:
        """A table that begins with the time up to now, in which modules were imported."""
        return Timing({"import": self.elapsed()})
