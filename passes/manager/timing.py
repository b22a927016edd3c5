"""Wall-clock time by stage, for `--timing` and `Executable.compile_stages`."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


class Stage:
    """A context that adds the time inside it to a stage's. A compilation enters dozens: a generator takes longer."""

    __slots__ = ("_name", "_seconds", "_start")

    def __init__(self, seconds: dict[str, float], name: str):
        self._seconds, self._name = seconds, name

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, *error: object) -> None:
        seconds = time.perf_counter() - self._start
        self._seconds[self._name] = self._seconds.get(self._name, 0.0) + seconds


@dataclass
class Timing:
    """Seconds by stage, in the order in which the stages first ran; repeated runs of a stage accumulate."""

    seconds: dict[str, float] = field(default_factory=dict[str, float])

    def stage(self, name: str) -> Stage:
        """A context whose time counts for a stage."""
        return Stage(self.seconds, name)

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
