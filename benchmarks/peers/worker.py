"""
One system in a process of its own: `python -m peers.worker torch`, driven by ../bench.py.

Requests and replies are lines of JSON. `{"row": .., "expected": ..}` prepares a row and compares its result with the
arrays of that file; `{"seconds": ..}` calls it for so long, three times at least, and replies the seconds of each call.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from .rows import BY_NAME, Row

MODULES = {
    "xhlo": "on_xhlo",
    "JAX": "on_jax",
    "torch": "on_torch",
    "torch.compile": "on_torch",
    "IREE": "on_iree",
    "ONNX Runtime": "on_onnxruntime",
    "numba": "on_numba",
    "NumPy": "on_numpy",
}
"""All systems, in the order of the table, and the file of each."""


def leaves(results: Any) -> list[np.ndarray]:
    """The arrays of nested tuples and lists."""
    if isinstance(results, (tuple, list)):
        return [leaf for each in results for leaf in leaves(each)]
    return [np.asarray(results)]


def difference(row: Row, found: list[np.ndarray], expected: list[np.ndarray]) -> str | None:
    """How results differ from the expected ones by more than the row allows; None if they do not."""
    if len(found) != len(expected):
        return f"{len(found)} results, expected {len(expected)}"
    for place, (mine, right) in enumerate(zip(found, expected, strict=True)):
        if mine.shape != right.shape:
            return f"result {place} has shape {mine.shape}, expected {right.shape}"
        error = np.abs(mine.astype(right.dtype) - right)
        bound = row.tolerance * (np.abs(right) + np.sqrt(np.mean(np.abs(right) ** 2)))
        wrong = float(np.mean(~(error <= bound)))
        if wrong > row.exceptions:
            return f"result {place}: {wrong:.2%} of its elements are wrong, by up to {np.nanmax(error):.3g}"
    return None


def call_for(run: Callable[[], Any], seconds: float) -> list[float]:
    """Seconds of each call, after one that does not count."""
    run()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return times


def prepared(module: ModuleType, system: str, row: Row, path: str) -> tuple[Callable[[], Any] | None, dict[str, Any]]:
    """
    A function that computes the row, and the reply; no function if this system has none, or it is wrong.

    Two calls are checked: a system may compute a result where it keeps its arguments.
    """
    start = time.perf_counter()
    try:
        run = module.prepare(row, system, row.arguments())
        if run is None:
            return None, {"state": "absent"}
        results = run()
        seconds = time.perf_counter() - start
        if hasattr(module, "back"):
            results = module.back(row, results)
        checked = [leaf.copy() for leaf in leaves(results)]
        again = run()
        if hasattr(module, "back"):
            again = module.back(row, again)
    except Exception as error:  # An error of a system, of any type, is its result for this row.
        return None, {"state": "failed", "error": f"{type(error).__name__}: {error}"[:300]}
    with np.load(path) as file:
        expected = list(file.values())
    wrong = difference(row, checked, expected)
    if wrong is None and (changed := difference(row, leaves(again), expected)) is not None:
        wrong = f"the first call is right, the second, of the same arguments, is not: it writes over them; {changed}"
    if wrong is not None:
        return None, {"state": "wrong", "error": wrong}
    return run, {"state": "ready", "compile": seconds}


def main() -> None:
    # Libraries may print; the replies keep the first output to themselves.
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    system = sys.argv[1]
    try:
        module = importlib.import_module(f".{MODULES[system]}", __package__)
    except ImportError as error:
        replies.write(json.dumps({"state": "missing", "error": str(error)}) + "\n")
        return
    replies.write(json.dumps({"state": "ready", "version": module.VERSIONS[system]}) + "\n")
    run: Callable[[], Any] | None = None
    for line in sys.stdin:
        request = json.loads(line)
        if "row" in request:
            run = None
            run, reply = prepared(module, system, BY_NAME[request["row"]], request["expected"])
        else:
            assert run is not None
            reply = {"times": call_for(run, request["seconds"])}
        replies.write(json.dumps(reply) + "\n")


if __name__ == "__main__":
    main()
