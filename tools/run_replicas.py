"""hlo-run on several processes, simulated or as threads, each with its arrays and results."""

from __future__ import annotations

from collections.abc import Sequence

from ..hlo_dialect.dialect import make_context
from ..hlo_dialect.reference.replicas import evaluate_replicas
from ..hlo_dialect.types import Array
from ..passes.partition_spmd.transform import states_shardings
from ..targets.cpu.replicated import Shardings, partition
from .array_files import load_arrays, save_arrays
from .arrays import pick, random_arrays
from .run_arrays import read_arguments, store_results
from .run_program import Program, shown
from .run_settings import REFERENCE, Settings
from .streams import write_text


def run_replicas(settings: Settings, program: Program) -> int:
    """
    The exit status; results are printed by process, or stored as `out_0@0, out_1@0, .., out_0@1, ..`.

    In a file of inputs, `in_0@3` is the array of process 3, `in_0` that of all processes without their own. Process n
    is partition n modulo the number of partitions. Random inputs differ from process to process.

    A program with shardings for several partitions takes and returns whole arrays, as on one process.
    """
    if settings.partitions > 1 and states_shardings(program.module):
        return _run_sharded(settings, program)
    arguments = [_inputs(settings, program, number) for number in range(settings.processes)]
    if settings.target == REFERENCE:
        results = evaluate_replicas(program.module, arguments, num_partitions=settings.partitions)
    else:
        results = program.compile_replicated(settings.replicas, settings.partitions, settings.guard)(arguments)
    if settings.outputs:
        named = {f"out_{i}@{n}": array for n, arrays in enumerate(results) for i, array in enumerate(arrays)}
        save_arrays(settings.outputs[-1], named)
        return 0
    for number, arrays in enumerate(results):
        replica, partition_number = divmod(number, settings.partitions)
        write_text(None, f"replica {replica}, partition {partition_number}\n")
        write_text(None, "".join(shown(index, array) for index, array in enumerate(arrays)))
    return 0


def _run_sharded(settings: Settings, program: Program) -> int:
    """Split the arguments, run all partitions, and join the results."""
    whole, outputs = read_arguments(settings, program), program.outputs()
    grid = settings.replicas, settings.partitions
    if settings.target == REFERENCE:
        shardings = partition(make_context(), program.module, *grid)
        arguments = _split(shardings, whole, *grid)
        results = evaluate_replicas(program.module, arguments, num_partitions=settings.partitions)
    else:
        compiled = program.compile_replicated(*grid, settings.guard)
        shardings = compiled.shardings
        results = compiled(_split(shardings, whole, *grid))
    each = zip(*results[: settings.partitions], strict=True)
    joined = [
        tiling.joined(parts, output.shape)
        for tiling, parts, output in zip(shardings.outputs, each, outputs, strict=True)
    ]
    if settings.outputs:
        store_results(settings.outputs, joined)
    else:
        write_text(None, "".join(shown(index, array) for index, array in enumerate(joined)))
    return 0


def _split(shardings: Shardings, whole: Sequence[Array], replicas: int, partitions: int) -> list[list[Array]]:
    """The arguments of each process; all replicas have equal ones."""
    parts = [tiling.split(array) for tiling, array in zip(shardings.parameters, whole, strict=True)]
    return [[part[number] for part in parts] for number in range(partitions)] * replicas


def _inputs(settings: Settings, program: Program, number: int) -> list[Array]:
    """The arguments of one process."""
    wanted = program.inputs()
    if settings.given:
        return list(read_arguments(settings, program))
    if settings.inputs is None:
        return random_arrays(wanted, settings.seed + number)
    stored = load_arrays(settings.inputs)
    shared = {name: array for name, array in stored.items() if "@" not in name}
    suffix = f"@{number}"
    own = {name.removesuffix(suffix): array for name, array in stored.items() if name.endswith(suffix)}
    return pick({**shared, **own}, wanted, "in_", program.argument_names(), settings.inputs)
