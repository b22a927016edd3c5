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

    def table(self, elapsed: float | None = None) -> str:
        """
        One line per stage: milliseconds, share, name; then the total. `elapsed`: the seconds that passed in all, of
        which a line `other` has what no stage took.
        """
        total = self.total() if elapsed is None else elapsed
        rows = list(self.seconds.items())
        if elapsed is not None:
            rows.append(("other", elapsed - self.total()))
        rows.append(("total", total))
        lines = [f"{'ms':>10}{'%':>8}  stage"]
        for name, seconds in rows:
            share = 100 * seconds / total if total else 0.0
            lines.append(f"{seconds * 1e3:>10.2f}{share:>8.1f}  {name}")
        return "\n".join(lines)
