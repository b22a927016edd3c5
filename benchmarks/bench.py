"""
Measure the rows of the speed table on xhlo and on other systems: `make bench`, or `python benchmarks/bench.py`.

Each system (peers/on_*.py) runs in a process of its own and gets its row, checks its result against float64, and then
calls it in blocks that alternate between the systems, first on the quiet machine, then with `--hog` processors busy. A
system that is not installed is left out, by name. Results are kept in build/bench/peers.json, row by row, so that a run
of some rows or systems adds to those before; `--write` puts them into PEERS.md, its plots, the README's table, and
peers/results.json, from which the next run begins on a machine with the same processors that has kept none.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import select
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from peers import machine, report
from peers.report import Results
from peers.rows import ROWS, Row
from peers.worker import MODULES
from xla_programs import hogs

HERE = Path(__file__).resolve().parent
KEPT = HERE.parent / "build" / "bench"
PUBLISHED = HERE / "peers" / "results.json"
"""The results from which PEERS.md was written, by the vector instructions of the machine."""
ENVIRONMENT = {**os.environ, "JAX_PLATFORMS": "cpu", "XHLO_CACHE_SIZE": "0"}


class System:
    """A process that runs one system; what takes longer than `limit` seconds is given up."""

    def __init__(self, name: str, limit: float) -> None:
        self.name = name
        self._limit = limit
        self.start()

    def start(self) -> None:
        """Start the process; `first` is what it says: whether the system is installed, and its version."""
        words = [sys.executable, "-m", "peers.worker", self.name]
        with (KEPT / f"{self.name}.log").open("w") as errors:
            self._process = subprocess.Popen(
                words,
                cwd=HERE,
                env=ENVIRONMENT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self.first = self._reply()

    def _reply(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], self._limit)[0]:
            self.close()
            return {"state": "ended", "error": f"not done within {self._limit:.0f} s"}
        line = self._process.stdout.readline()
        if not line:
            return {
                "state": "ended",
                "error": f"the process ended ({self._process.wait()}); build/bench/{self.name}.log",
            }
        return json.loads(line)

    def ask(self, **request: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return {"state": "ended", "error": "the process has ended"}
        return self._reply()

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


def started(names: list[str], results: Results, limit: float) -> list[System]:
    """The systems that are installed."""
    running: list[System] = []
    for name in names:
        system = System(name, limit)
        if system.first["state"] == "ready":
            results.versions[name] = system.first["version"]
            running.append(system)
        else:
            print(f"{name} is left out: {system.first['error']}")
    return running


def ready_for(row: Row, systems: list[System], results: Results) -> list[System]:
    """The systems that have this row, and the right result."""
    path = KEPT / "expected.npz"
    subprocess.run([sys.executable, "-m", "peers.expected", row.name, path], cwd=HERE, env=ENVIRONMENT, check=True)
    ready: list[System] = []
    for system in systems:
        results.refused.get(row.name, {}).pop(system.name, None)
        if not system.is_running:
            system.start()
        reply = system.ask(row=row.name, expected=str(path))
        if reply["state"] == "ready":
            ready.append(system)
        elif reply["state"] != "absent":
            results.refuse(row.name, system.name, reply["error"])
            print(f"{row.title}, {system.name}: {reply['error']}", flush=True)
    return ready


def time_blocks(ready: list[System], blocks: int, seconds: float) -> dict[str, float]:
    """The median of all calls on each system."""
    times: dict[str, list[float]] = {system.name: [] for system in ready}
    for _ in range(blocks):
        for system in ready:
            # The threads of the one before come to rest.
            time.sleep(0.1)
            times[system.name] += system.ask(seconds=seconds).get("times", [])
    return {name: statistics.median(each) for name, each in times.items() if len(each) >= 3 * blocks}


def measure(row: Row, systems: list[System], results: Results, options: argparse.Namespace) -> None:
    results.floors[row.name] = machine.floor(row)
    ready = ready_for(row, systems, results)
    for load, busy in (("quiet", 0), ("hog", options.hog)):
        if load == "quiet" or busy:
            with hogs(busy):
                medians = time_blocks(ready, options.blocks, options.seconds)
            results.seconds.setdefault(load, {}).setdefault(row.name, {}).update(medians)
            for system in ready:
                if system.name not in medians:
                    results.refuse(row.name, system.name, f"ended while it was timed ({load})", [load])
            ready = [system for system in ready if system.is_running]
            shown = ", ".join(f"{name} {report.number(seconds)}" for name, seconds in medians.items())
            print(f"{row.title} [{load}] floor {report.number(results.floors[row.name])}: {shown}", flush=True)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="rows whose names contain one of these words, between commas")
    parser.add_argument("--systems", default=",".join(MODULES), help="between commas: " + ", ".join(MODULES))
    parser.add_argument("--blocks", type=int, default=7, help="blocks of each system")
    parser.add_argument("--seconds", type=float, default=0.25, help="what a block lasts")
    parser.add_argument("--quick", action="store_true", help="two blocks of 0.05 s, on the quiet machine only")
    parser.add_argument("--limit", type=float, default=300, help="seconds until a system is given up for a row")
    parser.add_argument("--hog", type=int, default=1, metavar="N", help="processors busy in the second part")
    parser.add_argument("--list", action="store_true", help="only list the rows")
    parser.add_argument("--report", action="store_true", help="measure nothing, only write what was kept")
    parser.add_argument("--write", action="store_true", help="write PEERS.md, its plots and the README's table")
    options = parser.parse_args()
    if options.quick:
        options.blocks, options.seconds, options.hog = 2, 0.05, 0
    unknown = [name for name in options.systems.split(",") if name not in MODULES]
    if unknown:
        parser.error(f"no system {unknown[0]!r}; there are {', '.join(MODULES)}")
    return options


def results_so_far(path: Path) -> Results:
    """The results that earlier runs have kept; if none has, the published ones of the same processors."""
    if path.exists():
        return Results.read(json.loads(path.read_text()))
    results = report.read_published(PUBLISHED).get(machine.vectors(), Results())
    return results if results.machine.startswith(machine.processors()) else Results()


def main() -> None:
    options = parsed()
    rows = [row for row in ROWS if any(word in row.name for word in options.only.split(","))]
    if options.list:
        print("\n".join(f"{row.name:20} {row.title}" for row in rows))
        return
    KEPT.mkdir(parents=True, exist_ok=True)
    path = KEPT / "peers.json"
    results = results_so_far(path)
    if not options.report:
        results.machine = machine.description()
        systems = started(options.systems.split(","), results, options.limit)
        try:
            for row in rows:
                measure(row, systems, results, options)
                path.write_text(json.dumps(dataclasses.asdict(results), indent=1))
        finally:
            for system in systems:
                system.close()
    for load in ("quiet", "hog"):
        print(report.summary(results, load))
    if options.write or options.report:
        published = report.read_published(PUBLISHED)
        report.write({**published, machine.vectors(): results_so_far(path)}, PUBLISHED)


if __name__ == "__main__":
    main()
