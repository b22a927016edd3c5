"""From a program to an executable: the pipeline, stage by stage, and a cache of what was compiled before."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..hlo_dialect.custom_calls.registry import REGISTRY
from ..hlo_dialect.garbage_collector import paused_gc
from ..passes.manager.pipelines import FRONT, FUSE, MATH_MODES
from ..passes.manager.timing import Timing
from .registry import BINARY, Target, UnknownTargetError, get_target
from .source import Source, read_source

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

    from .executable import Executable

CACHED = 256
"""Executables that the process keeps for equal programs."""


def parse_source(source: Source, ctx: Context) -> ModuleOp:
    """The verified module of a source. Raises DiagnosticError."""
    from ..hlo_dialect.reading import parse_module

    return parse_module(source.text, source.filename, ctx)


def run_passes(
    ctx: Context, module: ModuleOp, specs: Sequence[str], timing: Timing | None = None, verify: bool = False
) -> None:
    """
    Run the passes named by `specs`, one after the other; `verify` the module after each.

    Raises DiagnosticError for what the program does wrong, PassFailure for a bug of a pass.
    """
    from ..passes.manager.pass_manager import PassManager

    passes = _passes(tuple(specs))
    PassManager(ctx, passes, verify_each=verify, verify_end=False, timing=timing or Timing()).run(module)


@lru_cache(maxsize=256)
def _passes(specs: tuple[str, ...]) -> tuple[ModulePass, ...]:
    """The passes of a list of specs; they hold their options only, and making them takes longer than small programs."""
    from ..passes.manager.pipelines import build_passes

    return tuple(build_passes(specs))


def text_at(source: Source, target: Target, stage: str) -> str:
    """
    The program as text at a stage: "hlo" as it was read, "fused" with its kernels, a stage of the target's lowering,
    or what the target emits (the LLVM text for "llvm"). Raises ValueError for an unknown stage.
    """
    from ..hlo_dialect.dialect import make_context
    from ..hlo_dialect.printing import print_module

    emitters = {name: emit for name, emit in target.emitters.items() if name not in BINARY}
    fused = tuple(map(target.tune, (*FRONT, *FUSE)))
    stages = {"hlo": (), "fused": fused}
    stages |= {name: (*fused, *target.passes_between(None, name)) for name in target.lowering}
    stages |= dict.fromkeys(emitters, stages[target.last_stage])
    if stage not in stages:
        raise ValueError(f"no stage {stage!r}: there are {', '.join(stages)}")
    ctx = make_context()
    with paused_gc():
        module = parse_source(source, ctx)
        run_passes(ctx, module, stages[stage])
        emit = emitters.get(stage, print_module)
        return str(emit(module))


class _Cache:
    """Executables by program, target and options; equal requests at the same time wait for one compilation."""

    def __init__(self, size: int):
        self._size = size
        self._done: OrderedDict[object, Executable] = OrderedDict()
        self._locks: dict[object, threading.Lock] = {}
        self._guard = threading.Lock()

    def lock(self, key: object) -> threading.Lock:
        with self._guard:
            return self._locks.setdefault(key, threading.Lock())

    def get(self, key: object) -> Executable | None:
        with self._guard:
            found = self._done.get(key)
            if found is not None:
                self._done.move_to_end(key)
            return found

    def put(self, key: object, executable: Executable) -> None:
        with self._guard:
            self._done[key] = executable
            while len(self._done) > self._size:
                self._locks.pop(self._done.popitem(last=False)[0], None)


_CACHE = _Cache(CACHED)


def compile_program(program: Any, target: str = "cpu", *, profile: bool = False, math: str = "default") -> Executable:
    """
    Compile a program for a target: "cpu", or "gpu", the GPU at hand (without one, a typical one).

    `program` is StableHLO or hlo text, a path to such a file, a module, or what `jax.jit(f).lower(..)` returns; its
    entry is `@main`. With `profile=True` every kernel call is timed (see `Executable.kernels`).
    `math="fast"` lets a GPU approximate elementary functions and fuse products with sums; "default" and "strict" do
    not.

    Raises DiagnosticError for a program that is wrong or uses something the target does not support, ValueError for an
    unknown target, TypeError for a `program` of another kind. Equal programs are compiled once in a process; with the
    environment variable XHLO_CACHE_DIR, once for all processes that share the folder.
    """
    try:
        backend = get_target(target)
    except UnknownTargetError as error:
        raise ValueError(str(error)) from None
    if backend.present is not None:
        backend = backend.present()
    if math not in MATH_MODES:
        raise ValueError(f"no mode of math is named '{math}'; there are {', '.join(MATH_MODES)}")
    if math != "default" and backend.in_mode is not None:
        backend = backend.in_mode(math)
    source = read_source(program)
    key = (source.text, backend.name, backend.machine, profile, REGISTRY.version)
    with _CACHE.lock(key):
        executable = _CACHE.get(key)
        if executable is None:
            executable = _kept_or_compiled(source, backend, profile)
            _CACHE.put(key, executable)
    return executable


def _kept_or_compiled(source: Source, target: Target, profile: bool) -> Executable:
    """From the folder of executables, where there is one; else compiled, and put there."""
    if not os.environ.get("XHLO_CACHE_DIR"):
        return _compile(source, target, profile)
    from . import disk_cache

    folder = disk_cache.cache_folder()
    path = None if folder is None else disk_cache.cache_path(folder, source, target, profile)
    executable = None if path is None else disk_cache.read(path)
    if executable is None:
        executable = _compile(source, target, profile)
        if path is not None:
            disk_cache.write(path, executable)
    return executable


def _compile(source: Source, target: Target, profile: bool) -> Executable:
    timing = Timing()
    with paused_gc():
        from ..hlo_dialect.dialect import make_context

        ctx = make_context()
        with timing.stage("read"):
            module = parse_source(source, ctx)
        executable = target.build(ctx, module, timing, profile, lambda stage: text_at(source, target, stage))
    executable.source = source
    return executable
