"""From a program to an executable, cached or compiled, and from bytes to an executable."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..hlo_dialect.custom_calls.registry import REGISTRY
from ..hlo_dialect.errors import DiagnosticError
from ..hlo_dialect.garbage_collector import paused_gc
from ..hlo_dialect.made_once import MadeOnce
from ..passes.manager.pipelines import DEFAULT_OPT_LEVEL, MATH_MODES
from ..passes.manager.places import Placement
from ..passes.manager.timing import Timing
from .cache.files import program_folder
from .program.errors import hide_our_frames, show_source
from .program.executable import Executable, Maker
from .program.guard_side import guard_side
from .program.pipeline import DUMP_VARIABLE, parse_source
from .program.signature import Signature, signature_of, tree_of_arguments, tree_of_result
from .program.source import Source, read_source
from .program.target import Target
from .registry import UnknownTargetError, get_target

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp

CACHED = 256
"""The number of executables that the process caches."""


_CACHE = MadeOnce[object, Executable](CACHED)


TargetName = Literal["cpu", "gpu", "nvptx", "amdgcn", "simt"]
MathMode = Literal["strict", "default", "fast"]
OptLevel = Literal[0, 1, 2, 3]


def compile(
    program: Any,
    target: TargetName | Target = "cpu",
    *,
    profile: bool = False,
    math: MathMode = "default",
    guard: bool | Literal["start", "end"] | None = None,
    opt_level: OptLevel = DEFAULT_OPT_LEVEL,
    pipeline: Placement | None = None,
    autotune: bool | str | os.PathLike[str] = False,
    tuning: str | os.PathLike[str] | None = None,
    in_tree: Any = None,
    out_tree: Any = None,
) -> Executable:
    """
    Compile a program for a target: "cpu", or "gpu", the GPU at hand (without one, a typical one).

    `program` is StableHLO or hlo text, a path to such a file, a module (ours, or `ir.Module` of MLIR's bindings), or a
    result of `jax.jit(f).lower(..)`, `jax.export.export(jax.jit(f))(..)` or `torch.export.export(model, args)` (see
    `from_torch`); its entry is `@main`. Text of a later level (`hlo-opt --fuse --lower=linalg`) continues there. A
    program that takes arrays of unknown sizes is compiled at the call, once for each combination of sizes
    (`SpecializingExecutable`). `target` is a name, or a `Target`, such as another package's; its name will do too.

    With `profile=True` every kernel call is timed (see `Executable.kernels`). `math="fast"` applies rules that may
    change results of floats (docs/numbers.md), and lets a GPU approximate elementary functions and contract products
    and sums to fma; "default" and "strict" do not. `guard=True` compiles for guard mode (`docs/debugging.md`): calls
    raise DiagnosticError if a kernel accesses memory outside of its buffers; "start" finds reads before their start
    too, but not all after their end. By default the environment variable XHLO_GUARD decides.

    `opt_level` is 0 (each operation is a kernel, only constants are folded), 1 (simplified and fused, loops as they
    are), 2 (the default) or 3 (loops that are long to compile are unrolled too). Results of all levels agree, but for
    the rounding of sums whose order is free.

    `autotune=True` measures how to tile the products of the program's kernels on this machine, writes the choices to
    `xhlo-tuning.json`, or the file that it names, and compiles with them; what the file has already is not measured
    again. `tuning` names a file whose choices are used, and nothing is measured. Results are the same bits with and
    without (docs/how-to/autotune.md).

    `pipeline` places passes: `{"before:fuse-hlo": "my-pass{limit=3}"}` (docs/extending.md). `in_tree`, a tuple with an
    example of each positional argument, and `out_tree`, an example of the result, make the executable take and return
    trees of tuples, lists, dicts and dataclasses; a PyTreeDef of JAX will do, and programs that JAX lowered or exported
    have theirs. With the environment variable XHLO_DUMP_TO set, every stage is written to that folder.

    Raises DiagnosticError for an invalid program, or one that the target does not support, ValueError for an unknown
    target, level, place or pass, TypeError for a `program` of another kind. Equal programs are compiled once; they are
    kept in the user's folder for caches, for later processes too (XHLO_CACHE_DIR, XHLO_CACHE_SIZE).

    >>> import numpy as np
    >>> import xhlo
    >>> text = '''func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    ...   %0 = hlo.negate %x : tensor<4xf32>
    ...   return %0 : tensor<4xf32>
    ... }'''
    >>> exe = xhlo.compile(text)
    >>> exe(np.ones(4, np.float32))
    array([-1., -1., -1., -1.], dtype=float32)
    >>> exe = xhlo.compile(text, in_tree=({"x": 0},), out_tree=["y"])
    >>> exe({"x": np.ones(4, np.float32)})
    [array([-1., -1., -1., -1.], dtype=float32)]
    """
    try:
        executable = compile_program(
            program,
            target,
            profile=profile,
            math=math,
            guard=guard,
            opt_level=opt_level,
            pipeline=pipeline,
            autotune=autotune,
            tuning=tuning,
        )
        return _with_trees(executable, signature_of(program), in_tree, out_tree)
    except (DiagnosticError, TypeError, ValueError) as error:
        hide_our_frames(error)
        raise


def compile_program(
    program: Any,
    target: str | Target = "cpu",
    *,
    profile: bool = False,
    math: str = "default",
    guard: bool | str | None = None,
    opt_level: int = DEFAULT_OPT_LEVEL,
    pipeline: Placement | None = None,
    autotune: bool | str | os.PathLike[str] = False,
    tuning: str | os.PathLike[str] | None = None,
    given: bool = False,
) -> Executable:
    """
    `compile` for options that are not checked yet, and without trees.

    `given` says that `program` is a module which the caller will not use again: its text, by which it is found in the
    caches, is then not read again to compile it.
    """
    source = read_source(program)
    module = program if given else None
    try:
        backend = _configured(target, math, opt_level, pipeline)
        if autotune is not False or tuning is not None:
            backend = _tuned(source, backend, autotune, tuning)
        side = guard_side(guard)
        kind = (backend.name, backend.machine, backend.places.key, backend.opt_level)
        key = (source.text, kind, profile, side, REGISTRY.version)
        return _CACHE.get_or_make(key, partial(_kept_or_compiled, source, backend, profile, side, module))
    except DiagnosticError as error:
        show_source(error, {source.filename: source.text})
        raise


@paused_gc(kept=True)
def _configured(target: str | Target, math: str, opt_level: int, pipeline: Placement | None) -> Target:
    """The target with its options. Raises ValueError."""
    try:
        backend = (target if isinstance(target, Target) else get_target(target)).present()
    except UnknownTargetError as error:
        raise ValueError(str(error)) from None
    if math not in MATH_MODES:
        raise ValueError(f"no mode of math is named '{math}'; there are {', '.join(MATH_MODES)}")
    if math != "default" and "math" in backend.options:
        backend = backend.configured({"math": math})
    if opt_level != DEFAULT_OPT_LEVEL:
        backend = backend.at_level(opt_level)
    return backend if pipeline is None else backend.with_passes(pipeline)


def _tuned(
    source: Source,
    target: Target,
    measured: bool | str | os.PathLike[str],
    used: str | os.PathLike[str] | None,
) -> Target:
    """The target with the choices of a tuning file, measured first if asked. Raises ValueError."""
    if target.name != "cpu":
        raise ValueError(f"autotune= and tuning= are for the target cpu, not {target.name}")
    if measured is not False and used is not None:
        raise ValueError("give autotune=, which measures, or tuning=, which does not: both name a file")
    from .cpu.tuning import autotune, file_of, placement

    path = file_of(measured if used is None else used)
    if used is None:
        autotune(source, target, path, compile_source)
    return target.with_passes(placement(path))


def _with_trees(executable: Executable, stated: Signature | None, in_tree: Any, out_tree: Any) -> Executable:
    """The executable as it is called: with the trees of the caller, else with JAX's."""
    inputs, results, names = len(executable.input_types), len(executable.output_types), executable.signature.names
    if in_tree is not None or out_tree is not None:
        trees = Signature(
            names,
            None if in_tree is None else tree_of_arguments(in_tree),
            None if out_tree is None else tree_of_result(out_tree),
        )
        return executable.called_as(trees)
    # JAX passes large constants as arguments of their own in some programs: those take arrays one by one.
    if stated is None or not stated.fits(inputs, results):
        return executable
    kept = range(inputs) if stated.kept is None else stated.kept
    if stated.leaf_names:
        names = tuple(stated.leaf_names[leaf] for leaf in kept)
    return executable.called_as(replace(stated, names=names))


def _kept_or_compiled(
    source: Source, target: Target, profile: bool, guard: str, module: ModuleOp | None = None
) -> Executable:
    """The executable of the folder's cache, or a new one; a module is that of the source, which it may change."""
    if os.environ.get(DUMP_VARIABLE):
        from .program.dump import dump

        dump(Path(source.filename).stem.strip("<>") or "main", source, target)
    compile_ = partial(compile_source, source, target, profile, guard=guard, module=module)
    if guard or program_folder() is None:
        return compile_()
    from .cache.executables import kept_executable

    load = partial(load_executable, opt_level=target.opt_level)
    return kept_executable(source, target, profile, compile_, load)


def compile_source(
    source: Source,
    target: Target,
    profile: bool = False,
    prepare: Callable[[Context, ModuleOp], Source | None] | None = None,
    guard: bool | str | None = None,
    module: ModuleOp | None = None,
) -> Executable:
    """
    Compile a source, without the process's cache. Raises DiagnosticError.

    `prepare` may change the parsed module; it returns the source of the changed module. `guard`: see compile_program.
    `module` is that of the source, if the caller has it and gives it away.
    """
    from ..hlo_dialect.numbers.arithmetic_mode import default_arithmetic
    from .program.compiler_start import compiler_start

    with compiler_start(), default_arithmetic():
        # In a call of its own: the collector finds no IR that a variable here still holds.
        executable, source = _built(source, target, profile, prepare, guard, module)
    return _made(executable, source, target, guard)


def _built(
    source: Source,
    target: Target,
    profile: bool,
    prepare: Callable[[Context, ModuleOp], Source | None] | None,
    guard: bool | str | None,
    module: ModuleOp | None,
) -> tuple[Executable, Source]:
    """The executable, and the source as `prepare` has changed it."""
    from ..hlo_dialect.dialect import make_context
    from ..hlo_dialect.verification.verifier import verify_module
    from .program.entry import has_unknown_sizes
    from .program.lowering import Lowering

    timing = Timing()
    ctx = make_context()
    ctx.diagnostics.remarks = False
    with timing.stage("read"):
        if module is None:
            module = parse_source(source, ctx)
        else:
            verify_module(module)
    if prepare is not None:
        source = prepare(ctx, module) or source
    if has_unknown_sizes(module):
        from .program.unknown_sizes import SpecializingExecutable

        specialize = partial(_kept_or_compiled, target=target, profile=profile, guard=guard_side(guard))
        return SpecializingExecutable(source, module, specialize), source
    lowering = Lowering(ctx, module, target, timing, profile=profile, guard=guard)
    del module  # the target lets go of it early
    return target.build(lowering, partial(target.text_at, source)), source


def _made(executable: Executable, source: Source | None, target: Target, guard: bool | str | None) -> Executable:
    """The executable with what it takes to call it by its names, to show it and to make it again."""
    executable.source = source
    executable.signature = Signature(executable.facts.names)
    again = None if source is None else partial(compile_source, source, target, guard=guard)
    explain = None if source is None else partial(target.explain, source)
    executable.maker = Maker(target.name, deserialize, again, explain)
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

    >>> import numpy as np
    >>> import xhlo
    >>> text = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }"
    >>> data = xhlo.compile(text).serialize()
    >>> xhlo.deserialize(data)(np.ones(2, np.float32))
    array([1., 1.], dtype=float32)
    """
    from .program.signing import verified

    return load_executable(verified(data))


@paused_gc(kept=True)
def load_executable(data: bytes, opt_level: int = DEFAULT_OPT_LEVEL) -> Executable:
    """
    The executable in bytes that are trusted already; its text at later stages is that of a level of optimization.

    Raises ValueError for bytes that are not an executable, are damaged or were made for another version or machine, and
    DiagnosticError if the program calls host functions that are not registered in this process.
    """
    from .program.container import reading_fields, unpack

    serialized = unpack(data)
    source = serialized.source
    with reading_fields():
        try:
            target = get_target(serialized.target).at_level(opt_level)
        except UnknownTargetError as error:
            raise ValueError(str(error)) from None
        executable = target.load(serialized, _no_text if source is None else partial(target.text_at, source))
    return _made(executable, source, target, guard="")


def _no_text(stage: str) -> str:
    raise ValueError("the executable was serialized without the program's text")
