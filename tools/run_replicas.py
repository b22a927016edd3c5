"""hlo-run on several processes, simulated ones or threads: arrays for each, and the results of each."""

from __future__ import annotations

from ..hlo_dialect.simulated_replicas import evaluate_replicas
from ..hlo_dialect.types import Array
from .arrays import load_npz, pick, random_arrays, save_arrays
from .hlo_run import REFERENCE, Settings
from .run_driver import Program, shown
from .streams import write_text


def run_replicas(settings: Settings, program: Program) -> int:
    """
    The exit status; results are printed by process, or stored as `out_0@0, out_1@0, .., out_0@1, ..`.

    In a file of inputs `in_0@3` is what process 3 gets, `in_0` what all get that have none of their own. Process n is
    partition n modulo the number of partitions. Random inputs differ from process to process.
    """
    arguments = [_inputs(settings, program, number) for number in range(settings.processes)]
    if settings.target == REFERENCE:
        results = evaluate_replicas(program.module, arguments, num_partitions=settings.partitions)
    else:
        results = program.compile_replicated(settings.replicas, settings.partitions)(arguments)
    if settings.outputs is not None:
        named = {f"out_{i}@{n}": array for n, arrays in enumerate(results) for i, array in enumerate(arrays)}
        save_arrays(settings.outputs, named)
        return 0
    for number, arrays in enumerate(results):
        replica, partition = divmod(number, settings.partitions)
        write_text(None, f"replica {replica}, partition {partition}\n")
        write_text(None, "".join(shown(index, array) for index, array in enumerate(arrays)))
    return 0


def _inputs(settings: Settings, program: Program, number: int) -> list[Array]:
    """The arguments of one process."""
    wanted = program.inputs()
    if settings.inputs is None:
        return random_arrays(wanted, settings.seed + number)
    stored = load_npz(settings.inputs)
    shared = {name: array for name, array in stored.items() if "@" not in name}
    suffix = f"@{number}"
    own = {name.removesuffix(suffix): array for name, array in stored.items() if name.endswith(suffix)}
    return pick({**shared, **own}, wanted, "in_", program.argument_names(), settings.inputs)
