"""
Autotuning: measure how to tile the products of a program on this machine, and write the choices to a file.

A round compiles the program with one candidate for each kernel and takes the time of each kernel from its profile, so
there are as many rounds as a kernel has candidates. Every candidate computes the same bits. A choice is the cost
model's own unless another is faster by `LEAST_GAIN`. Nothing is measured unless it is asked for.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ...dialects.support.kernel import kernels_of
from ...hlo_dialect.arrays import Array
from ...hlo_dialect.dialect import make_context
from ...hlo_dialect.garbage_collector import paused_gc
from ...lowering.apply_tuning import ApplyTuningPass, products_of
from ...lowering.convert_contractions_to_vector.conversion import ConvertContractionsToVectorPass, tilings_of
from ...lowering.device.tuning_file import Choice, Sizes, TuningFile, digest_of, key_of, parse, read_text
from ...passes.manager.places import Placement, pass_name
from ..program.entry import has_unknown_sizes
from ..program.executable import Executable
from ..program.pipeline import cached_passes, parse_source, run_passes
from ..program.source import Source

if TYPE_CHECKING:
    from ..program.target import Target

DEFAULT_FILE = "xhlo-tuning.json"
"""The file in the current folder that is written where none is named."""

LEAST_GAIN = 0.03
"""The part of the time that a choice must save: less may be noise."""

REPEATS, RUNS = 5, 10
"""A kernel's time is the least over REPEATS profiles of RUNS runs each."""

PLACE = "convert-contractions-to-vector"

Measure = Callable[[Sequence[Executable]], Sequence[Mapping[str, float]]]
"""The nanoseconds of a call of each kernel, by name, of each of some programs compiled to profile."""


class TuningError(ValueError):
    """A program or a target that cannot be tuned."""


def host_machine() -> str:
    """The name of this machine in tuning files: what determines which code runs fast."""
    from .host import host_cpu, host_l2_bytes, host_vector_bits

    cache = host_l2_bytes()
    return f"{host_cpu()}, {host_vector_bits()} bits" + (f", {cache >> 10} KB" if cache else "")


def placement(path: Path) -> Placement:
    """The pass that states a file's choices for this machine. Raises TuningFileError."""
    text = read_text(path)
    parse(text, path)
    return {f"before:{PLACE}": ApplyTuningPass(str(path.resolve()), digest_of(text), host_machine())}


def autotune(
    source: Source,
    target: Target,
    path: Path,
    compile_: Callable[[Source, Target, bool], Executable],
    measure: Measure | None = None,
) -> None:
    """
    Add to a file the choices for the products of a program that it lacks for this machine; it need not exist.

    `compile_(source, target, profile)` compiles a program. Raises TuningError for a program of unknown sizes,
    TuningFileError for a file that cannot be read or written, and DiagnosticError.
    """
    file = parse(read_text(path), path) if path.exists() else TuningFile()
    machine = host_machine()
    kernels = {key: found for key, found in _candidates(source, target).items() if key not in file.of(machine)}
    if kernels:
        rounds = _rounds(kernels, source, target, compile_)
        for key, choice in _chosen(kernels, (measure or _profiled)(rounds)).items():
            file.add(machine, key, choice)
    if kernels or not path.exists():
        file.write(path)


class _Kernel:
    """A kernel to tune: its name, and for each candidate the tilings of its products."""

    def __init__(self, name: str, candidates: Sequence[Sequence[Sizes]]):
        self.name = name
        self.candidates = candidates


def _candidates(source: Source, target: Target) -> dict[str, _Kernel]:
    """The kernels of a program that have choices, by key."""
    ctx = make_context()
    with paused_gc():
        module = parse_source(source, ctx)
        if has_unknown_sizes(module):
            raise TuningError("autotuning measures a program of known sizes: compile it for some first")
        specs = list(target.passes_to(target.last_stage))
        at = [pass_name(spec) for spec in specs].index(PLACE)
        run_passes(ctx, module, target.placed(specs[:at]))
        (one,) = cached_passes((specs[at],))
        assert isinstance(one, ConvertContractionsToVectorPass)
        return _of_module(module, one)


def _of_module(module: ModuleOp, one: ConvertContractionsToVectorPass) -> dict[str, _Kernel]:
    found: dict[str, _Kernel] = {}
    for kernel in kernels_of(module):
        products, key = products_of(kernel), key_of(kernel) if products_of(kernel) else ""
        if not products:
            continue
        # Finding what a product computes with its epilogue changes the kernel.
        tilings = tilings_of(kernel, one.machine)
        if not tilings:
            continue
        count = max(map(len, tilings.values()))
        candidates = [
            [tilings[op][min(number, len(tilings[op]) - 1)].sizes if op in tilings else {} for op in products]
            for number in range(count)
        ]
        found[key] = _Kernel(kernel.sym_name.data, candidates)
    return found


def _rounds(
    kernels: Mapping[str, _Kernel],
    source: Source,
    target: Target,
    compile_: Callable[[Source, Target, bool], Executable],
) -> list[Executable]:
    """The program with the first candidate of each kernel, with the second, and so on."""
    rounds: list[Executable] = []
    machine = host_machine()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(max(len(kernel.candidates) for kernel in kernels.values())):
            trial, path = TuningFile(), Path(folder, f"{number}.json")
            for key, kernel in kernels.items():
                if number < len(kernel.candidates):
                    trial.add(machine, key, Choice(kernel.name, kernel.candidates[number], 0, 0))
            trial.write(path)
            rounds.append(compile_(source, target.with_passes(placement(path)), True))
    return rounds


def _chosen(kernels: Mapping[str, _Kernel], times: Sequence[Mapping[str, float]]) -> dict[str, Choice]:
    """The choice for each kernel, from the times of its name in each round."""
    return {
        key: _best(kernel, [found[kernel.name] for found in times[: len(kernel.candidates)]])
        for key, kernel in kernels.items()
    }


def _best(kernel: _Kernel, times: Sequence[float]) -> Choice:
    """The fastest candidate, the first one's if it gains too little; of equal ones the first."""
    number = min(range(len(times)), key=lambda each: times[each])
    if times[number] > (1 - LEAST_GAIN) * times[0]:
        number = 0
    return Choice(kernel.name, kernel.candidates[number], round(times[0]), round(times[number]))


def _profiled(executables: Sequence[Executable]) -> list[dict[str, float]]:
    """The least times of kernels on numbers between 0 and 1, and zeros of other types; the programs take turns."""
    rng = np.random.default_rng(0)
    arguments = [_argument(type_.shape, np.dtype(type_.dtype), rng) for type_ in executables[0].input_types]
    found: list[dict[str, float]] = [{} for _ in executables]
    for _ in range(REPEATS):
        for executable, times in zip(executables, found, strict=True):
            for row in executable.profile(*arguments, runs=RUNS):
                each = row.milliseconds * 1e6 / max(1, row.calls)
                times[row.kernel] = min(times.get(row.kernel, each), each)
    return found


def _argument(shape: Sequence[int], dtype: np.dtype[Any], rng: np.random.Generator) -> Array:
    return rng.random(shape).astype(dtype) if dtype.kind not in "biu" else np.zeros(shape, dtype)


def file_of(asked: bool | str | os.PathLike[str]) -> Path:
    """The file that `autotune=` or `tuning=` names."""
    return Path(DEFAULT_FILE) if isinstance(asked, bool) else Path(asked)
