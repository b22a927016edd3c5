"""
The memory of a process that compiles a function again and again, with `torch._dynamo.reset()` between.

    python benchmarks/torch_memory.py xhlo [--count=300]
    python benchmarks/torch_memory.py aot_eager

Prints, every 50 compilations of a forward and a backward graph, the resident megabytes and the blocks that Python has
allocated. `aot_eager` compiles nothing: what it keeps is torch's own.
"""

from __future__ import annotations

import argparse
import gc
import resource
import sys
from pathlib import Path

import torch

from xhlo.frontends.torch.backend import xhlo


def resident() -> float:
    """The resident memory of this process in megabytes, after a collection."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("backend", help="xhlo, or the name of another backend")
    parser.add_argument("--count", type=int, default=300, help="compilations")
    stated = parser.parse_args()
    layer = torch.nn.Linear(8, 8)
    for number in range(stated.count + 1):
        torch._dynamo.reset()
        backend = xhlo if stated.backend == "xhlo" else stated.backend
        function = torch.compile(lambda x: torch.relu(layer(x)).sum(0), backend=backend, dynamic=False)
        function(torch.randn(number % 5 + 2, 8)).sum().backward()
        if number % 50 == 0:
            print(number, f"{resident():.1f} MB", sys.getallocatedblocks(), "blocks", flush=True)


if __name__ == "__main__":
    main()
