"""Wall-clock time by stage, for `--timing` and `Executable.compile_stages`."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Timing:
    """Seconds by stage, in the order in which the stages first ran; repeated runs of a stage accumulate."""

    seconds: dict[str, float] = field(default_factory=dict[str, float])

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    def total(self) -> float:
        return sum(self.seconds.values())

    def table(self) -> str:
        """One line per stage: milliseconds, share, name; then the total."""
        total = self.total()
        rows = [(name, seconds) for name, seconds in self.seconds.items()] + [("total", total)]
        lines = [f"{'ms':>10}{'%':>8}  stage"]
        for name, seconds in rows:
            share = 100 * seconds / total if total else 0.0
            lines.append(f"{seconds * 1e3:>10.2f}{share:>8.1f}  {name}")
        return "\n".join(lines)
