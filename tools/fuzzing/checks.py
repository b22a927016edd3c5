"""
The checks of every program: compiled code agrees with the reference, the reference with XLA, and printed text
round-trips.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from ...dialects.support.guard_zones import END
from ...hlo_dialect.diagnostics import DiagnosticError
from ...hlo_dialect.dialect import make_context
from ...hlo_dialect.printing import print_module
from ...hlo_dialect.reading import parse_module
from ...hlo_dialect.reference import evaluate
from ...hlo_dialect.types import Array, is_float_dtype
from ...lowering.device.chips import get_chip
from ...passes.manager.pipelines import OPT_LEVELS
from ...passes.verify_parallel_loops import VerifyParallelLoopsPass
from ...targets.cpu.target import CPU
from ...targets.cpu.threads import set_thread_count, thread_count
from ...targets.nvptx.emission import emit_cubin
from ...targets.nvptx.target import nvptx
from ...targets.program.lowering import Lowering
from ...targets.program.target import Target
from ...targets.simt.target import SIMT
from .arrays import float_info
from .programs import Program, wrong_elements
from .sharded import sharded_results
from .unknown_sizes import with_unknown_sizes

PTX_CHIPS = ("sm_75", "sm_90", "sm_100")
THREADS = (1, 2, 3, 5, 5)
"""The numbers of threads on which a program runs; the last one twice, as shares differ from run to run."""


class Disagreement(Exception):
    """A check failed; the message says where."""


def compiled_results(
    text: str,
    inputs: Sequence[Array],
    fuse: bool = True,
    verify_each: bool = True,
    guard: str | None = None,
) -> tuple[Array, ...]:
    """The CPU's results, with fusion or with one kernel per operation; verified after each pass, or in guard mode."""
    return _results(CPU, _lowering(CPU, text, fuse, verify_each, guard), inputs)


def _results(target: Target, lowering: Lowering, inputs: Sequence[Array]) -> tuple[Array, ...]:
    """The results of a program, which must leave its inputs alone."""
    before = [array.tobytes() for array in inputs]
    results: Array | tuple[Array, ...] = target.build(lowering, str)(*inputs)
    if before != [array.tobytes() for array in inputs]:
        raise Disagreement("the program wrote to its inputs")
    return results if isinstance(results, tuple) else (results,)


def _lowering(target: Target, text: str, fuse: bool = True, verify: bool = True, guard: str | None = None) -> Lowering:
    ctx = make_context()
    return Lowering(ctx, parse_module(text, "random.mlir", ctx), target, fuse=fuse, verify=verify, guard=guard)


def reference_results(text: str, inputs: Sequence[Array]) -> tuple[Array, ...]:
    return evaluate(parse_module(text, "random.mlir", make_context()), inputs)


def xla_results(text: str, inputs: Sequence[Array]) -> tuple[Array, ...]:
    """The results of XLA:CPU for `inputs`. Raises ImportError if JAX is not installed."""
    jax: Any = import_module("jax")
    xla: Any = import_module("jaxlib.xla_client")
    device_list: Any = import_module("jaxlib._jax").DeviceList
    device = jax.devices("cpu")[0]
    options = xla.CompileOptions()
    options.env_option_overrides = [
        ("xla_allow_excess_precision", False),
        ("xla_cpu_enable_fast_min_max", False),
        # The older kernels, which the tests' XLA_FLAGS choose, write outside of an array that an index of 8 bits cannot
        # reach in whole.
        ("xla_cpu_use_fusion_emitters", True),
    ]
    loaded = device.client.compile_and_load(text.encode(), device_list((device,)), options)
    with jax.enable_x64(True):
        buffers = [jax.device_put(array, device) for array in inputs]
        results = loaded.execute_sharded(buffers).disassemble_into_single_device_arrays()
        return tuple(np.asarray(result[0]) for result in results)


def compare(
    program: Program, got: Sequence[Array], want: Sequence[Array], slack: float = 1.0, signed_zeros: bool = True
) -> None:
    """Raise Disagreement if the error of a result exceeds the program's claim."""
    if not len(got) == len(want) == len(program.results):
        raise Disagreement(f"{len(got)} results, expected {len(program.results)}")
    messages = [wrong_elements(*triple, slack, signed_zeros) for triple in zip(got, want, program.results, strict=True)]
    wrong = [message for message in messages if message is not None]
    if wrong:
        raise Disagreement("\n".join(wrong))


def check_compiled(program: Program, fuse: bool, verify_each: bool = True, guard: str | None = None) -> None:
    """Check that compiled code agrees with the reference; in guard mode, that it accesses no other memory."""
    want = reference_results(program.text, program.inputs)
    compare(program, compiled_results(program.text, program.inputs, fuse, verify_each, guard), want)


def check_threads(program: Program) -> None:
    """
    Check that iterations of parallel loops write to places of their own, as far as the IR shows it, and that results
    are right, and the same bits on any number of threads.
    """
    ctx = make_context()
    lowering = Lowering(ctx, parse_module(program.text, "random.mlir", ctx), CPU)
    lowering.to("loops")
    VerifyParallelLoopsPass().apply(ctx, lowering.module)
    executable = CPU.build(lowering, str)
    before, found = thread_count(), list[tuple[Array, ...]]()
    try:
        for count in THREADS:
            set_thread_count(count)
            results: Array | tuple[Array, ...] = executable(*program.inputs)
            found.append(results if isinstance(results, tuple) else (results,))
    finally:
        set_thread_count(before)
    compare(program, found[0], reference_results(program.text, program.inputs))
    alone = [array.tobytes() for array in found[0]]
    for count, arrays in zip(THREADS, found, strict=True):
        if [array.tobytes() for array in arrays] != alone:
            raise Disagreement(f"{count} threads compute other bits than one")


def check_levels(program: Program) -> None:
    """
    Check that compiled code agrees with the reference at every level of optimization.

    A level whose kernels are those of another is not compiled again. The check `fuse` verifies the passes' results.
    """
    want = reference_results(program.text, program.inputs)
    seen: set[str] = set()
    for level in OPT_LEVELS:
        target = CPU.at_level(level)
        lowering = _lowering(target, program.text, verify=False)
        lowering.to(next(iter(target.lowering)))
        kernels = print_module(lowering.module)
        if kernels in seen:
            continue
        seen.add(kernels)
        try:
            compare(program, _results(target, lowering, program.inputs), want)
        except Disagreement as error:
            raise Disagreement(f"at level {level}: {error}") from None


def check_simt(program: Program) -> None:
    """Check that the GPU kernels, interpreted, agree with the reference and have no undefined behaviour."""
    got = _results(SIMT, _lowering(SIMT, program.text), program.inputs)
    compare(program, got, reference_results(program.text, program.inputs))


def check_ptx(program: Program) -> None:
    """
    Check that ptxas accepts the GPU kernels for the oldest chip, the usual one and the newest, and spills no registers.
    """
    for name in PTX_CHIPS:
        chip, lowering = get_chip(name), _lowering(nvptx(name), program.text)
        lowering.to_the_end()
        spilling = [kernel.name for kernel in emit_cubin(lowering.module, chip, chip.ptx).kernels if kernel.spills]
        if spilling:
            raise Disagreement(f"registers are spilled in {', '.join(spilling)} on {name}")


def _flushed(arrays: Sequence[Array]) -> tuple[Array, ...]:
    """The arrays with zeros for denormal numbers."""
    with np.errstate(invalid="ignore"):  # signaling NaNs
        return tuple(
            np.where((np.abs(a) >= float_info(a.dtype).tiny) | np.isnan(a), a, a.dtype.type(0))
            if is_float_dtype(a.dtype)
            else a
            for a in arrays
        )


def check_xla(program: Program) -> None:
    """
    Check that the reference agrees with XLA:CPU, except for denormals, which XLA flushes, and the signs of zeros in
    sums.
    """
    want = xla_results(program.text, program.inputs)
    got = reference_results(program.text, program.inputs)
    compare(program, _flushed(got), _flushed(want), slack=2.0, signed_zeros=False)


def check_sharded(program: Program) -> None:
    """Check that several devices, which split the program's arrays, compute the same as one device."""
    want = reference_results(program.text, program.inputs)
    compare(program, sharded_results(program.text, program.inputs), want, slack=2.0, signed_zeros=False)


def check_sizes(program: Program) -> None:
    """Check that the program with sizes unknown or contradictory is refused, or right and guarded."""
    text = with_unknown_sizes(program.text, random.Random(program.text))
    try:
        got = compiled_results(text, program.inputs, verify_each=False, guard=END)
    except DiagnosticError:
        return
    try:
        want = reference_results(text, program.inputs)
    except DiagnosticError as error:
        if _UNSUPPORTED in error.diagnostics[0].message:
            return  # The reference does not infer shapes backwards.
        raise
    if [array.shape for array in want] == [value.shape for value in program.results]:
        compare(program, got, want)
    elif [(array.dtype, array.shape) for array in got] != [(array.dtype, array.shape) for array in want]:
        raise Disagreement(f"results {_types(got)}, expected {_types(want)}")


_UNSUPPORTED = "is not supported by the reference interpreter"


def _types(arrays: Sequence[Array]) -> str:
    return ", ".join(f"{array.dtype}{array.shape}" for array in arrays)


FORMS: tuple[Mapping[str, Any], ...] = (
    {},
    {"spelling": "stablehlo"},
    {"generic": True},
    {"generic": True, "spelling": "stablehlo"},
    {"locations": True},
)


def check_text(program: Program, forms: Sequence[Mapping[str, Any]] = FORMS) -> None:
    """Check that each form of the text parses to the same module: all print alike."""
    module = parse_module(program.text, "random.mlir", make_context())
    plain = print_module(module)
    for form in forms:
        text = print_module(module, **form) if form else plain
        again = parse_module(text, "random.mlir", make_context())
        if form and "locations" not in form and print_module(again, **form) != text:
            raise Disagreement(f"text printed with {dict(form)} is no fixpoint")
        if print_module(again) != plain:
            raise Disagreement(f"text printed with {dict(form)} reads back as another module")
        if "generic" not in form:
            slow = parse_module(text, "random.mlir", make_context(), fast=False)
            if print_module(slow) != plain:
                raise Disagreement(f"the general parser reads text printed with {dict(form)} as another module")


CHECKS: Mapping[str, Callable[[Program], None]] = {
    "fuse": lambda program: check_compiled(program, True),
    "guard": lambda program: check_compiled(program, True, guard=END),
    "levels": check_levels,
    "none": lambda program: check_compiled(program, False),
    "ptx": check_ptx,
    "sharded": check_sharded,
    "sizes": check_sizes,
    "simt": check_simt,
    "text": check_text,
    "threads": check_threads,
    "xla": check_xla,
}
"""The checks by their names in hlo-fuzz."""
