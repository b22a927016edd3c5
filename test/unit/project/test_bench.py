"""The benchmark beside other systems: its rows, the check of results, and the page that it writes."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

import bench
from checkout import ROOT
from peers import functions, on_jax, on_numpy, report, worker
from peers.report import Results
from peers.rows import BY_NAME, ROWS


def test_rows() -> None:
    assert len(ROWS) == len(BY_NAME) == 31
    assert all(callable(getattr(functions, row.name)) for row in ROWS)
    assert set(on_numpy.FUNCTIONS) <= set(BY_NAME)


@pytest.mark.parametrize("name", ["small_add", "lstm"])
def test_a_system_is_compared_with_float64(name: str, tmp_path: Path) -> None:
    row, path = BY_NAME[name], tmp_path / "expected.npz"
    right = on_jax.expected(row)
    assert all(array.dtype == np.float64 for array in right)
    np.savez(path, *right)
    run, reply = worker.prepared(on_numpy, "NumPy", row, str(path))
    assert run is not None and reply["state"] == "ready"
    assert len(worker.call_for(run, 0.0)) == 3
    np.savez(path, *(array + 0.01 for array in right))
    run, reply = worker.prepared(on_numpy, "NumPy", row, str(path))
    assert run is None and reply["state"] == "wrong"
    assert "100.00% of its elements are wrong" in reply["error"]


def test_what_a_system_lacks_or_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    assert worker.prepared(on_numpy, "NumPy", BY_NAME["conv2d"], "")[1] == {"state": "absent"}
    monkeypatch.setitem(on_numpy.FUNCTIONS, "small_add", lambda x, y: x @ y[:3])
    reply = worker.prepared(on_numpy, "NumPy", BY_NAME["small_add"], "")[1]
    assert reply["state"] == "failed" and reply["error"].startswith("ValueError: ")


def test_a_system_that_writes_over_its_arguments(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its first result is right, and every later one is that of another program."""
    row, path = BY_NAME["small_add"], tmp_path / "expected.npz"
    np.savez(path, *on_jax.expected(row))
    monkeypatch.setitem(on_numpy.FUNCTIONS, "small_add", lambda x, y: np.add(x, y, out=x))
    run, reply = worker.prepared(on_numpy, "NumPy", row, str(path))
    assert run is None and reply["state"] == "wrong"
    assert reply["error"].startswith("the first call is right, the second, of the same arguments, is not")


def test_a_refused_system_loses_its_earlier_times() -> None:
    results = Results(
        seconds={load: {"softmax": {"xhlo": 2.0, "IREE": 1.0, "torch": 4.0}} for load in ("quiet", "hog")}
    )
    results.refuse("softmax", "torch", "ended while it was timed (hog)", ["hog"])
    assert results.seconds["hog"]["softmax"] == {"xhlo": 2.0, "IREE": 1.0}
    results.refuse("softmax", "IREE", "it writes over its arguments")
    assert results.ratios("quiet") == {"softmax": 0.5} and not results.ratios("hog")


def made_up() -> Results:
    quiet = {
        "softmax": {"xhlo": 0.001, "JAX": 0.002, "IREE": 0.004},
        "top_k": {"xhlo": 0.002, "JAX": 0.001, "torch": 0.0005},
    }
    hog = {"softmax": {"xhlo": 0.003, "JAX": 0.002}}
    floors = {"softmax": 0.0005, "top_k": 0.00002}
    return Results(
        "a machine", {"xhlo": "1", "JAX": "2"}, floors, {"quiet": quiet, "hog": hog}, {"fft": {"IREE": "no"}}
    )


def test_the_page() -> None:
    page = report.markdown({"AVX2": made_up(), "NEON": Results("another")})
    assert "geometric mean 1.41 over 2 rows, ahead of every peer on 1; above what is asked on 1." in page
    assert re.search(r"\| softmax 4096x1024 \| 0\.50 \| 1\.00 \| 2\.00 \|.* \| 2\.0 \| 0\.50 \| 0\.9 \|", page)
    assert "the largest: softmax 4096x1024 3.00." in page
    assert "* FFT 1M, IREE: no" in page
    assert page.index("## AVX2") < page.index("a machine.") < page.index("## NEON") < page.index("another.")
    assert "(peers/avx2.svg)" in page


def test_rows_that_were_measured_in_any_order() -> None:
    results = made_up()
    results.seconds["quiet"] = dict(reversed(results.seconds["quiet"].items()))
    assert list(Results.read(dataclasses.asdict(results)).seconds["quiet"]) == ["softmax", "top_k"]


def test_the_table_in_the_readme(tmp_path: Path) -> None:
    table = report.readme_table(made_up())
    assert "| softmax 4096x1024 | **1.00** | 2.00 | - | 4.00 | - |" in table
    path = tmp_path / "README.md"
    path.write_text((ROOT / "README.md").read_text())
    report.put_between(path, "speed", table)
    assert table in path.read_text() and "XLA:CPU | ratio" not in path.read_text()
    with pytest.raises(SystemExit, match="has no <!-- slow -->"):
        report.put_between(path, "slow", table)


def test_a_system_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Hanging:
        """A process that never replies."""

        def __init__(self, words: list[str], **given: object) -> None:
            reader, self._writer = os.pipe()
            self.stdin, self.stdout = (tmp_path / "requests").open("w"), os.fdopen(reader)
            self.code: int | None = None

        def kill(self) -> None:
            self.code = -9
            os.close(self._writer)

        def poll(self) -> int | None:
            return self.code

        wait = poll

    monkeypatch.setattr(bench, "KEPT", tmp_path)
    monkeypatch.setattr(bench.subprocess, "Popen", Hanging)
    system = bench.System("NumPy", 0.01)
    assert system.first == {"state": "ended", "error": "not done within 0 s"} and not system.is_running


def test_a_run_adds_to_the_published_results_of_the_same_processors(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kept, published = tmp_path / "kept.json", tmp_path / "published.json"
    monkeypatch.setattr(bench, "PUBLISHED", published)
    assert bench.results_so_far(kept) == Results()
    here = Results(machine=f"{bench.machine.processors()}; 20 GB/s", floors={"mean": 1.0})

    def publish(vectors: str, results: Results) -> None:
        published.write_text(json.dumps({vectors: dataclasses.asdict(results)}))

    publish(bench.machine.vectors(), here)
    assert bench.results_so_far(kept) == here
    publish("MMX", here)
    assert bench.results_so_far(kept) == Results()
    publish(bench.machine.vectors(), dataclasses.replace(here, machine="8 processors of another"))
    assert bench.results_so_far(kept) == Results()
    kept.write_text(json.dumps(dataclasses.asdict(dataclasses.replace(here, machine="of a run"))))
    assert bench.results_so_far(kept).machine == "of a run"
