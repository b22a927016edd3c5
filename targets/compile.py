"""From a program to an executable, cached or compiled, and from bytes to an executable."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from ..hlo_dialect.custom_calls.registry import REGISTRY
from ..hlo_dialect.garbage_collector import paused_gc
from ..passes.manager.pipelines import MATH_MODES
from ..passes.manager.timing import Timing
from .program.executable_cache import ExecutableCache
from .program.guard_side import guard_side
from .program.pipeline import parse_source
from .program.source import Source, read_source
from .program.target import Target
from .registry import UnknownTargetError, get_target

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp

    from .program.executable import Executable

CACHED = 256
"""The number of executables that the process caches."""


_CACHE = ExecutableCache(CACHED)


def compile_program(
    program: Any,
    target: str = "cpu",
    *,
    profile: bool = False,
    math: str = "default",
    guard: bool | str | None = None,
) -> Executable:
    """
    Compile a program for a target: "cpu", or "gpu", the GPU at hand (without one, a typical one).

    `program` is StableHLO or hlo text, a path to such a file, a module, or the result of `jax.jit(f).lower(..)`; its
    entry is `@main`. Text of a later level (`hlo-opt --fuse --lower=linalg`) goes on from there. A program that takes
    arrays of unknown sizes is compiled at the call, once for each combination of sizes (`SpecializingExecutable`).

    With `profile=True` every kernel call is timed (see `Executable.kernels`). `math="fast"` lets a GPU approximate
    elementary functions and contract products and sums to fma; "default" and "strict" do not. `guard=True` compiles for
    guard mode (`docs/debugging.md`): calls raise DiagnosticError if a kernel accesses memory outside of its buffers;
    "start" finds reads before their start too, but not all after their end. By default the environment variable
    XHLO_GUARD decides.

    Raises DiagnosticError for an invalid program, or one that the target does not support, ValueError for an unknown
    target, TypeError for a `program` of another kind. Equal programs are compiled once per process; with the
    environment variable XHLO_CACHE_DIR, once for all processes that share the folder.
    """
    try:
        backend = get_target(target).present()
    except UnknownTargetError as error:
        raise ValueError(str(error)) from None
    if math not in MATH_MODES:
        raise ValueError(f"no mode of math is named '{math}'; there are {', '.join(MATH_MODES)}")
    if math != "default" and "math" in backend.options:
        backend = backend.configured({"math": math})
    source = read_source(program)
    guard = guard_side(guard)
    key = (source.text, backend.name, backend.machine, profile, guard, REGISTRY.version)
    return _CACHE.get_or_make(key, partial(_kept_or_compiled, source, backend, profile, guard))


def _kept_or_compiled(source: Source, target: Target, profile: bool, guard: str) -> Executable:
    compile_ = partial(compile_source, source, target, profile, guard=guard)
    if guard or not os.environ.get("XHLO_CACHE_DIR"):
        return compile_()
    from .cache.executables import kept_executable

    return kept_executable(source, target, profile, compile_, load_executable)


def compile_source(
    source: Source,
    target: Target,
    profile: bool = False,
    prepare: Callable[[Context, ModuleOp], Source | None] | None = None,
    guard: bool | str | None = None,
) -> Executable:
    """
    Compile a source, without the process's cache. Raises DiagnosticError.

    `prepare` may change the parsed module; it returns the source of the changed module. `guard`: see compile_program.
    """
    from ..hlo_dialect.dialect import make_context
    from .program.lowering import Lowering
    from .program.unknown_sizes import SpecializingExecutable, has_unknown_sizes

    timing = Timing()
    with paused_gc():
        ctx = make_context()
        with timing.stage("read"):
            module = parse_source(source, ctx)
        if prepare is not None:
            source = prepare(ctx, module) or source
        if has_unknown_sizes(module):
            specialize = partial(_kept_or_compiled, target=target, profile=profile, guard=guard_side(guard))
            return SpecializingExecutable(source, module, specialize)
        lowering = Lowering(ctx, module, target, timing, profile=profile, guard=guard)
        executable = target.build(lowering, partial(target.text_at, source))
    executable.source = source
    return executable


def deserialize(data: bytes) -> Executable:
    """
    The executable that `Executable.serialize` wrote.

    The bytes hold machine code that runs as it is: load only those that come from someone whom you would let run a
    program. The checksum detects accidents, not forgery. With XHLO_TRUSTED_KEYS set, only bytes are loaded that one of
    these keys signed (see `sign_executable`).

    Raises ValueError for bytes that are not an executable, are damaged, lack a required signature, or were made for
    another version or machine, and DiagnosticError if the program calls host functions that are not registered in this
    process.
    """
    from .program.signing import verified

    return load_executable(verified(data))


def load_executable(data: bytes) -> Executable:
    """
    The executable in bytes that are trusted already.

    Raises ValueError for bytes that are not an executable, are damaged or were made for another version or machine, and
    DiagnosticError if the program calls host functions that are not registered in this process.
    """
    from .program.container import reading_fields, unpack

    serialized = unpack(data)
    source = serialized.source
    with reading_fields():
        try:
            target = get_target(serialized.target)
        except UnknownTargetError as error:
            raise ValueError(str(error)) from None
        executable = target.load(serialized, _no_text if source is None else partial(target.text_at, source))
    executable.source = source
    return executable


def _no_text(stage: str) -> str:
    raise ValueError("the executable was serialized without the program's text")
