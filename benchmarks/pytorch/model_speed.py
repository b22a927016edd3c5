"""
The speed of compiled models beside eager mode and inductor: `models.py speed`.

The systems take turns in one process, block by block; ratios compare the least times, because other work on the machine
can only add to them. A compilation's time is that of the first call without that of a later one; the caches on disk are
empty when the process starts, and each compiler has compiled a small function before.
"""

from __future__ import annotations

import copy
import math
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from zoo import Case

COMPILERS = ("xhlo", "inductor")
HEAD = (
    "| model | mode | xhlo | inductor | eager | xhlo / inductor | xhlo / eager | compiled: xhlo | inductor | ratio |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
)


@dataclass(frozen=True)
class Row:
    """A model in one mode: seconds of a call and of the compilation, by system."""

    name: str
    mode: str
    call: dict[str, float]
    compilation: dict[str, float]

    def ratio(self, other: str) -> float:
        """The time of xhlo to that of another system."""
        return self.call["xhlo"] / self.call[other]

    @property
    def compilation_ratio(self) -> float:
        """The time of xhlo's compilation to that of inductor's."""
        return self.compilation["xhlo"] / self.compilation["inductor"]

    @property
    def line(self) -> str:
        """The row of the table."""
        calls = " | ".join(f"{self.call[one] * 1e3:.3f} ms" for one in (*COMPILERS, "eager"))
        compilations = " | ".join(f"{self.compilation[one]:.1f} s" for one in COMPILERS)
        ratios = f"{self.ratio('inductor'):.2f} | {self.ratio('eager'):.2f}"
        return f"| {self.name} | {self.mode} | {calls} | {ratios} | {compilations} | {self.compilation_ratio:.2f} |"

    @staticmethod
    def read(line: str) -> Row:
        """The row that `line` shows, with the digits that are there."""
        name, mode, *shown = (cell.strip() for cell in line.strip("|\n").split("|"))
        calls = {one: float(cell.split()[0]) / 1e3 for one, cell in zip((*COMPILERS, "eager"), shown[:3], strict=True)}
        compilations = {one: float(cell.split()[0]) for one, cell in zip(COMPILERS, shown[5:7], strict=True)}
        return Row(name, mode, calls, compilations)


def use_empty_caches() -> None:
    """Let both compilers keep what they make in new folders, for this process."""
    folder = tempfile.mkdtemp(prefix="torch-speed-")
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = f"{folder}/inductor"
    os.environ["XHLO_CACHE_DIR"] = f"{folder}/xhlo"


def inference(model: nn.Module, inputs: Sequence[torch.Tensor]) -> Callable[[], Any]:
    """A forward run without gradients."""

    def run() -> Any:
        with torch.no_grad():
            return model(*inputs)

    return run


def training(model: nn.Module, inputs: Sequence[torch.Tensor]) -> Callable[[], Any]:
    """A forward and a backward run."""

    def run() -> None:
        model.zero_grad()
        found = model(*inputs)
        (found * found).mean().backward()

    return run


def _seconds(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _blocks(runs: dict[str, Callable[[], Any]], count: int, seconds: float) -> dict[str, float]:
    """The least time of a call of each, which take turns; a block lasts for some seconds."""
    least = {name: min(_seconds(run) for _ in range(3)) for name, run in runs.items()}
    for _ in range(count):
        for name, run in runs.items():
            # Threads of the one before stop spinning.
            time.sleep(0.1)
            run()
            for _ in range(max(3, min(200, int(seconds / least[name])))):
                least[name] = min(least[name], _seconds(run))
    return least


def rows_of(case: Case, backends: dict[str, Any], blocks: int, seconds: float) -> list[Row]:
    """Inference and a training step of a model."""
    found: list[Row] = []
    for mode, kind in (("inference", inference), ("training", training)):
        torch.manual_seed(0)
        torch._dynamo.reset()
        model, inputs = case.build().train(mode == "training"), case.inputs()
        runs: dict[str, Callable[[], Any]] = {"eager": kind(model, inputs)}
        compilation: dict[str, float] = {}
        for name, backend in backends.items():
            runs[name] = kind(torch.compile(copy.deepcopy(model), backend=backend), inputs)
            first = _seconds(runs[name])
            # The second call of a training step may compile once more: gradients are there.
            second = _seconds(runs[name])
            compilation[name] = first + second - 2 * _seconds(runs[name])
        found.append(Row(case.name, mode, _blocks(runs, blocks, seconds), compilation))
    return found


def summary(rows: Sequence[Row]) -> list[str]:
    """The figures over all rows."""

    def mean(other: str) -> float:
        return math.exp(statistics.fmean(math.log(row.ratio(other)) for row in rows))

    slow = sorted((row.ratio("inductor"), row.name, row.mode) for row in rows)
    above = [f"{name} {mode} ({ratio:.2f})" for ratio, name, mode in reversed(slow) if ratio > 1.3]
    return [
        f"- {len(rows)} rows: geometric mean {mean('inductor'):.2f} of inductor's time, {mean('eager'):.2f} of eager's",
        f"- slower than 1.3 times inductor: {', '.join(above) or 'none'}",
        f"- compilation: median {statistics.median(row.compilation_ratio for row in rows):.2f} of inductor's, "
        f"worst {max(row.compilation_ratio for row in rows):.2f}",
    ]
