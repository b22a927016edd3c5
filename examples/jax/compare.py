"""
Compare the losses and times of the examples on xhlo and XLA:CPU: `python examples/jax/compare.py`.

Each run is a process of its own; only the environment variable JAX_PLATFORMS differs. The exit status says whether all
losses agree. "compile" is the time that the first step takes beyond the others: tracing, lowering and compiling.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
EXAMPLES = ("mnist_convnet", "transformer_lm", "diffusion")


def run(example: str, platform: str, flags: list[str]) -> dict[str, Any]:
    """Losses and times of one run."""
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "record.json"
        command = [sys.executable, HERE / f"{example}.py", "--json", record, *flags]
        environment = {**os.environ, "JAX_PLATFORMS": platform}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{example} failed on {platform}:\n{done.stderr}")
        return json.loads(record.read_text())


def difference(a: Iterable[float], b: Iterable[float]) -> float:
    """The worst relative difference."""
    return max(abs(x - y) / abs(y) for x, y in zip(a, b, strict=True))


def compare(example: str, flags: list[str], runs: int = 1) -> dict[str, float]:
    """Run both platforms in turn: the worst difference of losses and of final figures, and the least times."""
    pairs = [(run(example, "xhlo", flags), run(example, "cpu", flags)) for _ in range(runs)]
    row = {
        "losses": max(difference(a["losses"], b["losses"]) for a, b in pairs),
        "final": max(difference(a["final"].values(), b["final"].values()) for a, b in pairs),
    }
    for name, records in zip(("xhlo", "cpu"), zip(*pairs, strict=True), strict=True):
        steps = [statistics.median(record["seconds"][1:]) for record in records]
        row[f"{name}_step"] = min(steps)
        row[f"{name}_first"] = min(record["seconds"][0] for record in records) - min(steps)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("examples", nargs="*", default=EXAMPLES, metavar="EXAMPLE")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--tolerance", type=float, default=1e-4, help="of losses; of the final figures 100 times that")
    options, flags = parser.parse_known_args()
    print(
        "| example | losses differ | final figures differ | compile s | XLA:CPU | ratio | step ms | XLA:CPU | ratio |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    agree = True
    for example in options.examples:
        row = compare(example, ["--steps", str(options.steps), *flags], options.runs)
        ours, theirs = row["xhlo_first"], row["cpu_first"]
        print(f"| {example} | {row['losses']:.1e} | {row['final']:.1e} |", end=" ")
        print(f"{ours:.2f} | {theirs:.2f} | {ours / theirs:.2f} |", end=" ")
        ours, theirs = row["xhlo_step"], row["cpu_step"]
        print(f"{ours * 1e3:.1f} | {theirs * 1e3:.1f} | {ours / theirs:.2f} |", flush=True)
        agree = agree and row["losses"] <= options.tolerance and row["final"] <= 100 * options.tolerance
    if not agree:
        raise SystemExit(f"losses differ by more than {options.tolerance:.0e}, or final figures by 100 times that")


if __name__ == "__main__":
    main()
