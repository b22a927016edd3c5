"""
The memory of a process that compiles a function again and again, or calls one.

    python benchmarks/pytorch/memory.py xhlo [--action=compile] [--count=1000]
    python benchmarks/pytorch/memory.py aot_eager
    python benchmarks/pytorch/memory.py xhlo --action=train --count=10000

`compile` compiles a forward and a backward graph each time, with `torch._dynamo.reset()` between; `infer` calls a model
without gradients, `train` makes steps of a model and its optimizer, both compiled. Prints ten times the resident
megabytes and the blocks that Python has allocated. `aot_eager` compiles nothing: what it keeps is torch's own.
"""

from __future__ import annotations

import argparse
import gc
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from xhlo.frontends.torch.backend import xhlo


def resident() -> float:
    """The resident memory of this process in megabytes, after a collection."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


def compiling(backend: Any) -> Callable[[int], None]:
    """A compilation, of five sizes in turn."""
    layer = torch.nn.Linear(8, 8)

    def step(number: int) -> None:
        torch._dynamo.reset()
        function = torch.compile(lambda x: torch.relu(layer(x)).sum(0), backend=backend, dynamic=False)
        function(torch.randn(number % 5 + 2, 8)).sum().backward()

    return step


def _model() -> torch.nn.Module:
    nn = torch.nn
    return nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Dropout(0.1), nn.LayerNorm(64), nn.Linear(64, 8))


def inferring(backend: Any) -> Callable[[int], None]:
    """A call without gradients."""
    compiled = torch.compile(_model().eval(), backend=backend)
    return torch.no_grad()(lambda number: compiled(torch.randn(16, 64)))


def training(backend: Any) -> Callable[[int], None]:
    """A step of training."""
    model = _model()
    compiled = torch.compile(model, backend=backend)
    optimizer = torch.optim.Adam(model.parameters())
    update = torch.compile(optimizer.step, backend=backend)

    def step(number: int) -> None:
        optimizer.zero_grad()
        compiled(torch.randn(16, 64)).square().mean().backward()
        update()

    return step


ACTIONS = {"compile": compiling, "infer": inferring, "train": training}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("backend", help="xhlo, or the name of another backend")
    parser.add_argument("--action", choices=list(ACTIONS), default="compile")
    parser.add_argument("--count", type=int, default=1000, help="compilations, or calls")
    stated = parser.parse_args()
    step = ACTIONS[stated.action](xhlo if stated.backend == "xhlo" else stated.backend)
    for number in range(stated.count + 1):
        step(number)
        if number % max(1, stated.count // 10) == 0:
            print(number, f"{resident():.1f} MB", sys.getallocatedblocks(), "blocks", flush=True)


if __name__ == "__main__":
    main()
