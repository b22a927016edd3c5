"""From a program to an executable, cached or compiled, and from bytes to an executable."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from ..hlo_dialect.custom_calls.registry import REGISTRY
from ..hlo_dialect.garbage_collector import paused_gc
from ..passes.manager.pipelines import MATH_MODES
from ..passes.manager.timing import Timing
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


class _Cache:
    """Executables by program, target and options; concurrent equal requests share one compilation."""

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

    `program` is StableHLO or hlo text, a path to such a file, a module, or the result of `jax.jit(f).lower(..)`; its
    entry is `@main`. With `profile=True` every kernel call is timed (see `Executable.kernels`). `math="fast"` lets a
    GPU approximate elementary functions and contract products and sums to fma; "default" and "strict" do not.

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
    key = (source.text, backend.name, backend.machine, profile, REGISTRY.version)
    with _CACHE.lock(key):
        executable = _CACHE.get(key)
        if executable is None:
            executable = _kept_or_compiled(source, backend, profile)
            _CACHE.put(key, executable)
    return executable


def _kept_or_compiled(source: Source, target: Target, profile: bool) -> Executable:
    compile_ = partial(compile_source, source, target, profile)
    if not os.environ.get("XHLO_CACHE_DIR"):
        return compile_()
    from .cache.executables import kept_executable

    return kept_executable(source, target, profile, compile_, load_executable)


def compile_source(
    source: Source,
    target: Target,
    profile: bool = False,
    prepare: Callable[[Context, ModuleOp], Source | None] | None = None,
) -> Executable:
    """
    Compile a source, without the process's cache. Raises DiagnosticError.

    `prepare` may change the parsed module; it returns the source of the changed module.
    """
    from ..hlo_dialect.dialect import make_context
    from .program.lowering import Lowering

    timing = Timing()
    with paused_gc():
        ctx = make_context()
        with timing.stage("read"):
            module = parse_source(source, ctx)
        if prepare is not None:
            source = prepare(ctx, module) or source
        lowering = Lowering(ctx, module, target, timing, profile=profile)
        executable = target.build(lowering, partial(target.text_at, source))
    executable.source = source
    return executable


def load_executable(data: bytes) -> Executable:
    """
    The executable that `Executable.serialize` wrote.

    Raises ValueError for bytes that are not an executable, are damaged or were made for another version or machine, and
    DiagnosticError if the program calls host functions that are not registered in this process.
    """
    from .program.container import unpack

    serialized = unpack(data)
    target, source = get_target(serialized.target), serialized.source
    executable = target.load(serialized, _no_text if source is None else partial(target.text_at, source))
    executable.source = source
    return executable


def _no_text(stage: str) -> str:
    raise ValueError("the executable was serialized without the program's text")
