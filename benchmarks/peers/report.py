"""The results as Markdown, for PEERS.md and the README, and as a plot."""

from __future__ import annotations

import dataclasses
import json
import re
import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .rows import BY_NAME, ROWS
from .worker import MODULES

ROOT = Path(__file__).resolve().parents[2]
PEERS = [system for system in MODULES if system != "xhlo"]
IN_README = ("JAX", "torch.compile", "IREE", "ONNX Runtime")

INTRODUCTION = """\
`make bench` writes this page. Every system runs in a process of its own; blocks of calls alternate between them, and
each result is compared with one computed in float64 before it is timed. Times are medians in milliseconds. The floor is
the larger of two times: that of a copy of as many bytes on this machine, and that of as many operations at the best
rate that its BLAS reaches in f32, times what the processor's instructions for narrower types do more. There is a part
for each kind of machine that was measured, by its vector instructions."""


@dataclass
class Results:
    """The measurements: seconds of each row on each system, by load, and why some are missing."""

    machine: str = ""
    versions: dict[str, str] = field(default_factory=dict[str, str])
    floors: dict[str, float] = field(default_factory=dict[str, float])
    seconds: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict[str, dict[str, dict[str, float]]])
    """Medians by load ("quiet", "hog"), row and system."""
    refused: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    """By row and system: an error, or a difference from the result in float64."""

    @staticmethod
    def read(data: dict[str, Any]) -> Results:
        """The results that were kept, in the order of the rows: they were measured in any."""
        results = Results(**data)
        for load, rows in results.seconds.items():
            results.seconds[load] = {row.name: rows[row.name] for row in ROWS if row.name in rows}
        return results

    def refuse(self, row: str, system: str, reason: str, loads: Iterable[str] | None = None) -> None:
        """Note why a system has no time for a row, and drop the times it had, under the given loads or under all."""
        self.refused.setdefault(row, {})[system] = reason
        for load in self.seconds if loads is None else loads:
            self.seconds.get(load, {}).get(row, {}).pop(system, None)

    def best_peer(self, load: str, row: str) -> tuple[str, float] | None:
        times = {system: t for system, t in self.seconds[load][row].items() if system != "xhlo"}
        return min(times.items(), key=lambda item: item[1]) if times else None

    def ratios(self, load: str) -> dict[str, float]:
        """xhlo's time divided by the best peer's, by row."""
        found: dict[str, float] = {}
        for name, times in self.seconds.get(load, {}).items():
            best = self.best_peer(load, name)
            if best is not None and "xhlo" in times:
                found[name] = times["xhlo"] / best[1]
        return found


Published = dict[str, Results]
"""The results that the page shows, by vector instructions (`machine.vectors`)."""


def read_published(path: Path) -> Published:
    """The results from which the page was written; none if it was not yet."""
    kept: dict[str, dict[str, Any]] = json.loads(path.read_text()) if path.exists() else {}
    return {vectors: Results.read(each) for vectors, each in kept.items()}


def number(seconds: float | None) -> str:
    """Milliseconds with three digits."""
    if seconds is None:
        return "-"
    ms = seconds * 1e3
    return f"{ms:.0f}" if ms >= 100 else f"{ms:.1f}" if ms >= 10 else f"{ms:.2f}" if ms >= 0.1 else f"{ms:.4f}"


def table(results: Results, load: str) -> str:
    ratios = results.ratios(load)
    head = ["program (f32 unless said), ms", "floor", *MODULES, "x floor", "x best peer", "asked"]
    lines = [f"| {' | '.join(head)} |", f"| --- |{' ---: |' * (len(head) - 1)}"]
    for name, times in results.seconds[load].items():
        row = BY_NAME[name]
        bounds = results.floors[name]
        cells = [row.title, number(bounds), *(number(times.get(system)) for system in MODULES)]
        cells.append(f"{times['xhlo'] / bounds:.1f}" if "xhlo" in times else "-")
        cells += [f"{ratios[name]:.2f}" if name in ratios else "-", "" if row.target is None else f"{row.target}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def summary(results: Results, load: str) -> str:
    ratios = results.ratios(load)
    if not ratios:
        return ""
    missed = [name for name, ratio in ratios.items() if ratio > (BY_NAME[name].target or 10)]
    return (
        f"xhlo / best peer: geometric mean {statistics.geometric_mean(ratios.values()):.2f} over {len(ratios)} rows, "
        f"ahead of every peer on {sum(ratio < 1 for ratio in ratios.values())}; above what is asked on {len(missed)}."
    )


def slower_with_hog(results: Results) -> str:
    """For each row that has both: how much the ratio to JAX grew with a processor busy."""
    grown: list[tuple[float, str]] = []
    for name, times in results.seconds.get("hog", {}).items():
        quiet = results.seconds.get("quiet", {}).get(name, {})
        if all(system in each for each in (times, quiet) for system in ("xhlo", "JAX")):
            factor = times["xhlo"] / times["JAX"] / (quiet["xhlo"] / quiet["JAX"])
            grown.append((factor, BY_NAME[name].title))
    worst = ", ".join(f"{title} {factor:.2f}" for factor, title in sorted(grown, reverse=True)[:5])
    return (
        f"The ratio xhlo / JAX with a processor busy, relative to the quiet one; the largest: {worst}." if grown else ""
    )


def plot_name(vectors: str) -> str:
    """The path of a kind of machine's plot, from PEERS.md."""
    return f"peers/{vectors.lower().replace('-', '')}.svg"


def section(vectors: str, results: Results) -> list[str]:
    """The paragraphs about one kind of machine."""
    versions = ", ".join(f"{system} {version}" for system, version in results.versions.items())
    parts = [
        f"## {vectors}",
        results.machine + ".",
        versions + ".",
        f"![xhlo's time divided by each system's]({plot_name(vectors)})",
    ]
    for load, title in (("quiet", "Quiet"), ("hog", "With one processor busy")):
        if results.seconds.get(load):
            parts += [f"### {title}", summary(results, load), table(results, load)]
            parts += [slower_with_hog(results)] if load == "hog" else []
    lines = [
        f"* {BY_NAME[name].title}, {system}: {' '.join(why.split())}"
        for name, each in results.refused.items()
        for system, why in each.items()
    ]
    return [*parts, "### Left out", "\n".join(lines)] if lines else parts


def markdown(published: Published) -> str:
    parts = ["# xhlo beside other systems", INTRODUCTION]
    for vectors, results in published.items():
        parts += section(vectors, results)
    return "\n\n".join(part for part in parts if part) + "\n"


def readme_table(results: Results) -> str:
    """The quiet rows beside the compilers that a reader would ask for."""
    lines = [f"| ms | xhlo | {' | '.join(IN_README)} |", f"| --- |{' ---: |' * (len(IN_README) + 1)}"]
    for row in ROWS:
        times = results.seconds.get("quiet", {}).get(row.name)
        if times:
            shown = {system: number(times.get(system)) for system in ("xhlo", *IN_README)}
            fastest = min(shown, key=lambda system: times.get(system, float("inf")))
            shown[fastest] = f"**{shown[fastest]}**"
            lines.append(f"| {row.title} | {' | '.join(shown.values())} |")
    return "\n".join([*lines, "", f"{results.machine}; [all systems and the machine's limits](benchmarks/PEERS.md)."])


def put_between(path: Path, mark: str, text: str) -> None:
    """Replace what the file has between two comments."""
    old = path.read_text()
    begin, end = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
    if begin not in old or end not in old:
        raise SystemExit(f"{path.name} has no {begin} and {end}")
    path.write_text(re.sub(f"{begin}.*{end}", lambda _: f"{begin}\n{text}\n{end}", old, flags=re.DOTALL))


def plot(results: Results, path: Path) -> None:
    """Each peer's time divided by xhlo's, a point a row; above the line xhlo is faster."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "xhlo"
    quiet = {name: times for name, times in results.seconds.get("quiet", {}).items() if "xhlo" in times}
    figure, axes = plt.subplots(figsize=(11, 5.5))
    for system, marker in zip(PEERS, "osD^vPX", strict=True):
        points = [(i, each[system] / each["xhlo"]) for i, each in enumerate(quiet.values()) if system in each]
        if points:
            axes.plot(*zip(*points, strict=True), marker, label=system, markersize=5)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_yscale("log")
    axes.set_ylabel("time / xhlo's time")
    axes.set_xticks(range(len(quiet)), [BY_NAME[name].title for name in quiet], rotation=60, ha="right", fontsize=7)
    axes.legend(ncols=4, fontsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def write(published: Published, path: Path) -> None:
    """PEERS.md, its plots, the table of the README, which is the first kind's, and the results as JSON at `path`."""
    folder = ROOT / "benchmarks"
    (folder / "PEERS.md").write_text(markdown(published))
    for vectors, results in published.items():
        plot(results, folder / plot_name(vectors))
    put_between(ROOT / "README.md", "speed", readme_table(next(iter(published.values()))))
    kept = {vectors: dataclasses.asdict(results) for vectors, results in published.items()}
    path.write_text(json.dumps(kept, indent=1))
