"""Shared by the examples: their flags, and a record of losses and times."""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax


def parser(doc: str | None, steps: int) -> argparse.ArgumentParser:
    flags = argparse.ArgumentParser(description=doc)
    flags.add_argument("--steps", type=int, default=steps)
    flags.add_argument("--seed", type=int, default=0)
    flags.add_argument("--json", type=Path, help="write losses and times to this file")
    return flags


@dataclass
class Record:
    """Losses and seconds of every step, and the final figures of a program."""

    losses: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    final: dict[str, float] = field(default_factory=dict)

    def step(self, train_step: Callable[..., tuple[Any, jax.Array]], *arguments: Any) -> Any:
        """Run one step, timed until its loss is available; return the new state."""
        start = time.perf_counter()
        state, loss = train_step(*arguments)
        self.losses.append(float(loss))
        self.seconds.append(time.perf_counter() - start)
        count = len(self.losses) - 1
        if count % 10 == 0:
            print(f"step {count:4d}  loss {self.losses[-1]:.6f}", flush=True)
        return state

    def finish(self, path: Path | None, **final: float) -> None:
        """Print the results, and write them to the file that `--json` names."""
        self.final = {name: float(value) for name, value in final.items()}
        print(f"step {len(self.losses) - 1:4d}  loss {self.losses[-1]:.6f}")
        for name, value in self.final.items():
            print(f"{name}: {value:.6f}")
        later = self.seconds[1:] or self.seconds
        print(
            f"{jax.default_backend()}: first step {self.seconds[0]:.2f} s with its compilation, "
            f"then {statistics.median(later) * 1e3:.1f} ms a step"
        )
        if path is not None:
            content = {"backend": jax.default_backend(), "losses": self.losses, "seconds": self.seconds}
            path.write_text(json.dumps({**content, "final": self.final}, indent=1) + "\n")
