"""Fixtures that several test files share."""

from __future__ import annotations

import gc
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from equal_units import compile_equal_units_once
from tool_server import ToolServer
from xhlo.hlo_dialect import garbage_collector
from xhlo.passes.manager import registry
from xhlo.targets import compile as compiling
from xhlo.tools import hlo_opt, hlo_run

# XLA is only the reference: without LLVM's optimizations, without kernels that go through MLIR and with one module of
# LLVM for a program it compiles in a fifth of the time. The older kernels get two things wrong, for which tests choose
# the newer ones again: float8_e5m2fnuz, and slices at an index whose type is too narrow for the array.
os.environ["XLA_FLAGS"] = (
    "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
)
# Programs are compiled each time; tests of the cache have folders of their own.
os.environ["XHLO_CACHE_SIZE"] = "0"
# xhlo's own machine code is kept here, neither in the home directory nor where the user keeps programs.
os.environ.pop("XHLO_CACHE_DIR", None)
os.environ["XDG_CACHE_HOME"] = str(Path(__file__).resolve().parent.parent / "build" / "cache")

AS_PYTHON_DOES = gc.get_threshold()
RARELY = (20_000, 50, 10)
"""
Thresholds of the garbage collector. Objects that a compilation leaves behind are collected after it with either; those
that the tests themselves keep would be looked through again and again.
"""


@dataclass(frozen=True)
class Outcome:
    """The exit status and output of a tool."""

    status: int
    out: str
    err: str


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all-cases", action="store_true", help="run all cases of the tests marked `sample`")
    parser.addoption(
        "--long", choices=["some", "rest"], help="run a part of the cases of tests marked `long`, or the rest"
    )


def pytest_collection(session: pytest.Session) -> None:
    """Nothing is garbage while modules are loaded and thousands of tests made; see `pytest_collection_finish`."""
    gc.disable()


def pytest_collection_finish(session: pytest.Session) -> None:
    """
    Have the collector leave alone what there is before the first test: the modules, JAX's among them, and the tests.
    A collection of all that takes half a second, in the middle of any test. From the first test on equal LLVM IR is
    compiled once.
    """
    gc.freeze()
    # After each million of new objects xhlo would count these again, one by one.
    garbage_collector._frozen = sys.maxsize
    gc.set_threshold(*RARELY)
    gc.enable()
    compile_equal_units_once()


@pytest.fixture(scope="module", autouse=True)
def quick_collections(request: pytest.FixtureRequest) -> Iterator[None]:
    """In a file whose tests collect garbage: as often as Python does, without what earlier files have made."""
    if vars(request.module).get("gc") is not gc:
        yield
        return
    gc.collect()
    gc.freeze()
    gc.set_threshold(*AS_PYTHON_DOES)
    yield
    gc.set_threshold(*RARELY)


@pytest.fixture(autouse=True)
def own_executables(request: pytest.FixtureRequest) -> Iterator[None]:
    """
    A test that changes the compiler does not get what another one has compiled without the change, nor the other way.
    """
    is_changed = "monkeypatch" in request.fixturenames
    if is_changed:
        compiling._CACHE.clear()
    yield
    if is_changed:
        compiling._CACHE.clear()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """
    Deselect what the marks `sample` and `spread` leave out, unless all cases are asked for, then as `long` says.

    `@pytest.mark.sample(4)` keeps each fourth case of a test, from the first on, in the order of collection; n without a
    common factor with the length of any parameter's list reaches all values of each parameter.
    `@pytest.mark.sample(type_=("i32", "f32"))` keeps the cases where a parameter has one of these values.
    `@pytest.mark.spread(2)`, of a test with several parameters, keeps the cases where the positions of their values add
    up to an even number: each value of one stays, with every second value of the others.
    `@pytest.mark.long(3)` has `--long=some` keep each third of the cases that are then left, and `--long=rest` all but
    these, without the tests that have no such mark. `@pytest.mark.long` is kept by `--long=rest` alone.
    """
    if not config.getoption("--all-cases"):
        _keep(config, items, _in_sample())
    if part := config.getoption("--long"):
        is_first = _in_turn()
        _keep(config, items, is_first if part == "some" else lambda item: not is_first(item))


def _keep(config: pytest.Config, items: list[pytest.Item], is_kept: Callable[[pytest.Item], bool]) -> None:
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        (kept if is_kept(item) else left_out).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


def _in_sample() -> Callable[[pytest.Item], bool]:
    """Whether an item is in the sample that its marks keep; asked once for each, in order."""
    seen: Counter[object] = Counter()
    positions: dict[Any, dict[tuple[int, ...], int]] = {}

    def is_kept(item: pytest.Item) -> bool:
        if (spread := item.get_closest_marker("spread")) is not None:
            assert isinstance(item, pytest.Function)
            return sum(_positions(item, positions)) % spread.args[0] == 0
        mark = item.get_closest_marker("sample")
        if mark is None:
            return True
        assert isinstance(item, pytest.Function)
        (every,) = mark.args or (1,)
        place, seen[item.function] = seen[item.function], seen[item.function] + 1
        return place % every == 0 and all(item.callspec.params[name] in kept for name, kept in mark.kwargs.items())

    return is_kept


def _in_turn() -> Callable[[pytest.Item], bool]:
    """Whether the mark `long` keeps an item in the first run; asked once for each, in order."""
    seen: Counter[object] = Counter()

    def is_kept(item: pytest.Item) -> bool:
        mark = item.get_closest_marker("long")
        if mark is None:
            return True
        assert isinstance(item, pytest.Function)
        place, seen[item.function] = seen[item.function], seen[item.function] + 1
        return bool(mark.args) and place % mark.args[0] == 0

    return is_kept


def _positions(item: pytest.Function, known: dict[Any, dict[tuple[int, ...], int]]) -> Iterator[int]:
    """The position of each parameter's value in its list; parameters that are listed together are one."""
    lists = [mark.args[0] for mark in item.iter_markers("parametrize")]
    together = [tuple(map(str.strip, names.split(","))) if isinstance(names, str) else tuple(names) for names in lists]
    values = dict(item.callspec.params)
    groups = [(names, tuple(id(values.pop(name)) for name in names)) for names in together]
    for names, value in (*groups, *(((name,), (id(value),)) for name, value in values.items())):
        positions = known.setdefault((item.function, names), {})
        yield positions.setdefault(value, len(positions))


@pytest.fixture(scope="session")
def tool_server() -> Iterator[ToolServer]:
    """The server that runs tools in forks of one process, with this checkout on the module path."""
    server = ToolServer({**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parent.parent)})
    yield server
    server.stop()


@pytest.fixture
def slow_recording(monkeypatch: pytest.MonkeyPatch) -> None:
    """To record an operation of NumPy in a cluster seems to take a second, however long it takes."""
    monkeypatch.setattr("xhlo.frontends.clusters.clusters._each", [1.0])
    monkeypatch.setattr("xhlo.frontends.clusters.clusters._note_recording", lambda depth, seconds: None)


@pytest.fixture
def no_files(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The files of passes (`--load`) that a test reads are forgotten after it."""
    monkeypatch.setattr(registry, "_of_files", [])
    yield
    registry.full_registry.cache_clear()


Tool = Callable[..., Outcome]


@pytest.fixture
def run_hlo_opt(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tool:
    """`run_hlo_opt(text, "--cse", ..)`: hlo-opt in this process, in a directory of its own, on `input.mlir`."""
    return _runner(hlo_opt.main, capsys, tmp_path, monkeypatch)


@pytest.fixture
def run_hlo_run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tool:
    """The same for hlo-run."""
    return _runner(hlo_run.main, capsys, tmp_path, monkeypatch)


def _runner(
    main: Callable[[list[str]], int],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Tool:
    monkeypatch.chdir(tmp_path)

    def run(source: str | bytes, *arguments: str) -> Outcome:
        data = source.encode() if isinstance(source, str) else source
        (tmp_path / "input.mlir").write_bytes(data)
        capsys.readouterr()
        status = main(["input.mlir", *arguments])
        captured = capsys.readouterr()
        return Outcome(status, captured.out, captured.err)

    return run
