"""Autotuning: what is measured is written and repeated; nothing is measured unasked, and no bit changes."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import xhlo
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.lowering.convert_contractions_to_vector import conversion
from xhlo.lowering.convert_contractions_to_vector.blocking import Blocking
from xhlo.lowering.convert_contractions_to_vector.contraction import Contraction
from xhlo.lowering.convert_contractions_to_vector.tiling import Tiling, tilings
from xhlo.lowering.device.cpu import Machine
from xhlo.lowering.device.tuning_file import Choice, TuningFile, TuningFileError, parse
from xhlo.targets.compile import compile_source
from xhlo.targets.cpu import tuning
from xhlo.targets.cpu.target import CPU
from xhlo.targets.program.executable import Executable
from xhlo.targets.program.source import Source
from xhlo.targets.program.target import Target
from xhlo.tools.hlo_opt import main as hlo_opt

PRODUCT = """func.func @main(%a: tensor<41x40xf32>, %b: tensor<40x70xf32>) -> tensor<41x70xf32> {
  %0 = hlo.dot_general %a, %b, contracting_dims = [1] x [0]
    : (tensor<41x40xf32>, tensor<40x70xf32>) -> tensor<41x70xf32>
  %1 = hlo.negate %0 : tensor<41x70xf32>
  return %1 : tensor<41x70xf32>
}"""
MACHINE = "a machine"

Times = Sequence[Mapping[str, float]]


@pytest.fixture(autouse=True)
def _a_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "host_machine", lambda: MACHINE)


class _Constant(dict[str, float]):
    """One number for every kernel."""

    def __init__(self, number: float):
        super().__init__()
        self.number = number

    def __missing__(self, name: str) -> float:
        return self.number


def tuned(path: Path, best: int, text: str = PRODUCT, factor: float = 0.5) -> int:
    """Tune with a clock on which round `best` takes `factor` of the time of the others; the number of rounds."""
    rounds: list[int] = []

    def compile_(source: Source, target: Target, profile: bool) -> Executable:
        assert profile and target.places.passes
        return cast(Executable, None)

    def measure(executables: Sequence[Executable]) -> Times:
        rounds.append(len(executables))
        return [_Constant(100.0 * (factor if i == best else 1)) for i in range(len(executables))]

    tuning.autotune(Source(text, "<test>"), CPU, path, compile_, measure)
    return sum(rounds)


def choice_in(path: Path) -> Choice:
    (found,) = parse(path.read_text(), path).of(MACHINE).values()
    return found


def test_the_fastest_candidate_is_written_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "tuning.json"
    assert tuned(path, 2) > 4
    found = choice_in(path)
    assert (found.default_ns, found.ns) == (100, 50)
    first = path.read_bytes()
    assert tuned(path, 3) == 0 and path.read_bytes() == first
    again = tmp_path / "again.json"
    tuned(again, 2)
    assert again.read_bytes() == first


def test_a_small_gain_is_no_reason(tmp_path: Path) -> None:
    gains, own = tmp_path / "gains.json", tmp_path / "own.json"
    tuned(gains, 2, factor=0.99)
    tuned(own, 0)
    assert choice_in(gains).tilings == choice_in(own).tilings != []


def test_every_candidate_computes_the_same_bits(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    arguments = [rng.normal(size=shape).astype(np.float32) for shape in ((41, 40), (40, 70))]
    results: list[bytes] = []
    numbers = itertools.count()

    def compile_(source: Source, target: Target, profile: bool) -> Executable:
        if next(numbers) % 4 == 1:  # compiling all of them takes long
            results.append(np.asarray(compile_source(source, target, profile)(*arguments)).tobytes())
        return cast(Executable, None)

    def measure(executables: Sequence[Executable]) -> Times:
        return [_Constant(1.0)] * len(executables)

    tuning.autotune(Source(PRODUCT, "<test>"), CPU, tmp_path / "t.json", compile_, measure)
    assert len(results) > 2
    assert {*results} == {np.asarray(xhlo.compile(PRODUCT)(*arguments)).tobytes()}


def test_compile_uses_a_file_and_measures_only_if_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "tuning.json"
    tuned(path, 2)
    measured: list[int] = []

    def profiled(executables: Sequence[Executable]) -> Times:
        measured.append(len(executables))
        return [{kernel.name: float(i) for kernel in each.kernels} for i, each in enumerate(executables, 1)]

    monkeypatch.setattr(tuning, "_profiled", profiled)
    # The cost model's own is among the candidates.

    def two(product: Contraction, blocking: Blocking, machine: Machine, in_place: bool) -> list[Tiling]:
        return tilings(product, blocking, machine, in_place)[:2]

    monkeypatch.setattr(conversion, "tilings", two)
    used = xhlo.compile(PRODUCT, tuning=path)
    assert xhlo.compile(PRODUCT, tuning=str(path)) is used
    assert xhlo.compile(PRODUCT, autotune=path) is used and not measured
    assert xhlo.compile(PRODUCT) is not used
    monkeypatch.chdir(tmp_path)
    xhlo.compile(PRODUCT, autotune=True)
    assert measured == [2] and choice_in(tmp_path / "xhlo-tuning.json").ns == 1


def test_a_profile_is_what_is_measured() -> None:
    (times,) = tuning._profiled([xhlo.compile(PRODUCT, profile=True)])  # pyright: ignore[reportPrivateUsage]
    assert len(times) == 1 and min(times.values()) > 0


def test_choices_are_attributes_and_other_machines_have_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, program = tmp_path / "tuning.json", tmp_path / "product.mlir"
    tuned(path, 2)
    program.write_text(PRODUCT)
    words = [f"--tuning={path}", "--fuse", "--lower=loops", "--print-ir-after=apply-tuning", str(program)]
    assert hlo_opt(words) == 0
    (sizes,) = choice_in(path).tilings
    stated = ", ".join(f"{name} = {size} : i64" for name, size in sizes.items())
    assert f"xhlo.tiling = {{{stated}}}" in capsys.readouterr().err
    monkeypatch.setattr(tuning, "host_machine", lambda: "another")
    assert hlo_opt(words) == 0
    assert "xhlo.tiling" not in capsys.readouterr().err


def wrong(path: Path, **sizes: int) -> None:
    """Write a file with these sizes for the program's kernel."""
    tuned(path, 2)
    data: Any = json.loads(path.read_text())
    for choice in data["machines"][MACHINE].values():
        choice["tilings"] = [dict(choice["tilings"][0]) | sizes]
    path.write_text(json.dumps(data))


@pytest.mark.long(3)
@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"rows": 99}, "this machine does not have"),
        ({"vectors": 0}, "this machine does not have"),
        ({"tile_rows": 0}, "this machine does not have"),
        ({"columns": 1}, "expected numbers for rows, vectors, tile_rows, tile_columns"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(tmp_path: Path, sizes: dict[str, int], message: str) -> None:
    path = tmp_path / "tuning.json"
    wrong(path, **sizes)
    with pytest.raises(DiagnosticError, match=message):
        xhlo.compile(PRODUCT + f"// {sizes}", tuning=path)


CHOICE = (
    '{"format": 1, "machines": {"m": {"k": {"kernel": "k", "tilings": [{"rows": %s}], "default_ns": 1, "ns": %s}}}}'
)


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{}", '{"format": 2, "machines": {}}', '{"format": 1, "machines": {"m": []}}'),
        *(
            CHOICE % (1 << 63, 1),
            CHOICE % ("1e999", 1),
            CHOICE % (1, "-1e999"),
            CHOICE % (1.5, 1),
            CHOICE % ("true", 1),
        ),
    ],
)
def test_what_is_no_tuning_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "tuning.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"tuning\.json is"):
        xhlo.compile(PRODUCT, tuning=path)
    with pytest.raises(TuningFileError):
        tuned(path, 0)
    assert path.read_text() == text


def test_uses_that_make_no_sense_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "tuning.json"
    with pytest.raises(ValueError, match="cannot be read"):
        xhlo.compile(PRODUCT, tuning=path)
    with pytest.raises(ValueError, match="both name a file"):
        xhlo.compile(PRODUCT, tuning=path, autotune=path)
    with pytest.raises(ValueError, match="for the target cpu"):
        xhlo.compile(PRODUCT, "simt", tuning=path)
    unknown = "func.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> { return %x : tensor<?x4xf32> }"
    with pytest.raises(ValueError, match="known sizes"):
        xhlo.compile(unknown, autotune=path)
    with pytest.raises(ValueError, match="cannot be written"):
        tuning.TuningFile().write(tmp_path / "missing" / "t.json")
    assert hlo_opt([f"--tuning={path}", "--fuse", "--target=nvptx", "-"]) != 0
    assert "--tuning" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_keys_do_not_depend_on_names(tmp_path: Path) -> None:
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    tuned(one, 2)
    tuned(other, 2, PRODUCT.replace("%a", "%left").replace("%0", "%product"))
    assert one.read_text() == other.read_text()


def test_a_program_without_products_has_nothing_to_tune(tmp_path: Path) -> None:
    path = tmp_path / "tuning.json"
    text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"
    assert tuned(path, 0, text) == 0
    assert parse(path.read_text(), path) == TuningFile()
