"""`xhlo.explain_clusters`: what was recorded, why clusters ended, what was compiled, and what that saved."""

from __future__ import annotations

import atexit
import os
import sys
from collections import Counter
from pathlib import Path

from .clusters import CLUSTERS, Cluster, forget_clusters

SHOWN = 12
"""The number of operations of a cluster that are listed."""


def _lines(cluster: Cluster) -> str:
    by_file: dict[str, list[int]] = {}
    for name, line in cluster.places:
        by_file.setdefault(name, []).append(line)
    return "; ".join(f"{Path(name).name}:{_ranges(sorted(set(lines)))}" for name, lines in by_file.items())


def _ranges(lines: list[int]) -> str:
    """7, 8, 9, 12 as 7-9, 12."""
    runs: list[list[int]] = []
    for line in lines:
        if runs and line == runs[-1][-1] + 1:
            runs[-1].append(line)
        else:
            runs.append([line])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _state(cluster: Cluster) -> str:
    if cluster.compilations:
        times = "once" if cluster.compilations == 1 else f"{cluster.compilations} times"
        rest = f", ran {cluster.runs} times, saved {cluster.saved_seconds * 1e3:.3g} ms"
        ended = f"; not used: {cluster.rejected}" if cluster.rejected else ""
        return f"compiled {times} in {cluster.compile_seconds:.3g} s{rest}{ended}"
    return f"in NumPy: {cluster.rejected}" if cluster.rejected else "in NumPy so far"


def _described(number: int, cluster: Cluster) -> str:
    shown = ", ".join(
        name if times == 1 else f"{times} {name}" for name, times in Counter(cluster.operations).most_common(SHOWN)
    )
    more = ", .." if len(set(cluster.operations)) > SHOWN else ""
    ends = "; ".join(why if times == 1 else f"{why} ({times} times)" for why, times in cluster.ends.most_common(3))
    given_up = f"\n  not recorded any more where it begins: {cluster.given_up}" if cluster.given_up else ""
    return (
        f"cluster {number}: {len(cluster.operations)} operations at {_lines(cluster)}, seen {cluster.seen} times\n"
        f"  {shown}{more}\n  ended because: {ends}\n  {_state(cluster)}{given_up}"
    )


def explain_clusters() -> str:
    """
    The clusters of this process, in the order in which they were first met.

    For each: its operations and their lines, how often it was seen, why it ended, whether it is compiled, and the time
    saved, in comparison with its fastest run by NumPy.

    >>> import numpy as np
    >>> import xhlo
    >>> with xhlo.autocluster():
    ...     x = xhlo.asarray([1.0, 2.0])
    ...     for _ in range(2):
    ...         total = float((np.sin(x) * x).sum())
    >>> print(xhlo.explain_clusters())
    cluster ...: 3 operations at ...
    ...
    """
    return "\n".join(_described(number, one) for number, one in enumerate(list(CLUSTERS.values()), 1))


def clear_clusters() -> None:
    """Forget all clusters and their programs."""
    forget_clusters()


if os.environ.get("XHLO_CLUSTER_REPORT") == "1":
    atexit.register(lambda: print(explain_clusters(), file=sys.stderr))
