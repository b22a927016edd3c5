"""LLVM IR text to machine code: optimize, emit assembly or object code, load it into the process."""

from __future__ import annotations

import ctypes
import itertools
import os
import re
import sys
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from ...dialects.support.shared_names import UNOPTIMIZED, VECTOR_VARIANTS
from ...hlo_dialect.threads import own_stacks
from ..cache.files import cache_folder, fingerprint, kept, place, stored, write
from . import direct_calls
from .host import host_cpu, host_features, host_triple, llvm, llvm_version
from .runtime.direct_call import SYMBOL as DIRECT_CALL
from .runtime.direct_call import direct_call_ir
from .runtime.pool import FUNCTIONS, MAX_THREADS
from .runtime.system import runtime_ir
from .stops import ATTENTION, GOES_ON_IR, STOPS, attention_ir, can_attend
from .thread_limits import default_thread_count

Timings = dict[str, float]
"""Seconds by stage: parse, optimize, codegen, load."""

LEVEL = 2
"""The level of LLVM's optimizer. Level 3 takes a tenth longer and does not make kernels faster."""

QUICK = -1
"""Without the optimizer, and with the quick selection of instructions, in a tenth of the time: for cold code."""

IN_VECTORS = -2
"""
For functions that are written in vectors already: without the optimizer where the steps of their loops can be written
out (`vector_loops.py`); else only what simplifies functions, in 0.4 of the optimizer's time, and unrolls marked loops,
in 0.8.
"""

UNROLLED = "llvm.loop.unroll.count"
"""The mark of a loop that is to have several iterations in one."""

_WEIGHTS = {QUICK: 0.06, IN_VECTORS: 0.2}
"""LLVM's time for a character of text at a level, relative to that of the others."""

_lock = threading.RLock()
"""Only one thread at a time may make and use llvmlite's objects."""


@lru_cache(maxsize=1)
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


@lru_cache(maxsize=2)
def _target_machine(quick: bool = False) -> Any:
    """A target machine of this process; used by one thread at a time."""
    _initialize()
    return _host_machine(quick)


def _host_machine(quick: bool) -> Any:
    return _machine(host_triple(), host_cpu(), host_features(), 0 if quick else 3)


def _machine(triple: str, cpu: str, features: str, level: int = 3) -> Any:
    target: Any = llvm.Target.from_triple(triple)
    return target.create_target_machine(cpu=cpu, features=features, opt=level, reloc="pic", codemodel="default")


@lru_cache(maxsize=1)
def _initialize_all() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def target_machine(triple: str, cpu: str, features: str) -> Any:
    """LLVM's description of another machine. Raises RuntimeError for an unknown triple."""
    with _lock:
        _initialize_all()
        return _machine(triple, cpu, features)


def _unlocked(name: str) -> Callable[..., Any]:
    """
    A function of llvmlite's library without the lock that llvmlite holds during every call.

    For the calls that take long: they touch only a module, whose context is its own, and a target machine.
    """
    library = llvm.ffi.lib
    found, locked = getattr(ctypes.CDLL(library._name), name), getattr(library, name)
    found.argtypes, found.restype = locked.argtypes, locked.restype
    return found


_run_passes = _unlocked("LLVMPY_RunNewModulePassManager")
_run_function_passes = _unlocked("LLVMPY_RunNewFunctionPassManager")
_emit = _unlocked("LLVMPY_TargetMachineEmitToMemory")


@contextmanager
def _stage(timings: Timings | None, name: str) -> Generator[None]:
    start = time.perf_counter()
    yield
    if timings is not None:
        timings[name] = timings.get(name, 0.0) + time.perf_counter() - start


def _written_out(text: str) -> str | None:
    from .vector_loops import written_out  # not every program has such functions

    return written_out(text)


def _parsed(text: str) -> Any:
    """A module in a context of its own, because LLVM never frees objects interned in the global one."""
    module: Any = llvm.parse_assembly(text, context=llvm.create_context())
    module.verify()
    return module


def _with_fixed_places(module: Any, text: str) -> Any:
    """The optimized module of a text, in the form of which machine code is made."""
    from .fixed_places import LEAST_WRITTEN, with_fixed_places  # not every program has loops

    fixed = with_fixed_places(str(module)) if text.count(" = getelementptr ") >= LEAST_WRITTEN else None
    return module if fixed is None else _parsed(fixed)


def _optimized(text: str, machine: Any, timings: Timings | None, level: int) -> Any:
    """Parse, verify and optimize. Raises RuntimeError with LLVM's message for invalid text."""
    written = _written_out(text) if level == IN_VECTORS else None
    with _stage(timings, "parse"):
        module = _parsed(written or text)
    if level == QUICK or written is not None:
        return module
    with _stage(timings, "optimize"):
        simplifies = level == IN_VECTORS
        options: Any = llvm.create_pipeline_tuning_options(speed_level=1 if simplifies else level)
        options.loop_vectorization = options.slp_vectorization = options.loop_interleaving = level > 1
        # Only marked loops are unrolled: see lowering/loop_nests/unrolling.py.
        options.loop_unrolling = False
        builder: Any = llvm.create_pass_builder(machine, options)
        # The simplifications of functions unroll loops wholly, or not at all.
        alone = simplifies and UNROLLED not in text
        manager: Any = builder.getFunctionPassManager() if alone else builder.getModulePassManager()
        if alone:
            for function in module.functions:
                if not function.is_declaration:
                    _run_function_passes(manager, function, builder)
        else:
            _run_passes(manager, module, builder)
        if VECTOR_VARIANTS in text:
            # The variants that the vectorizer called are inlined now.
            late: Any = llvm.create_new_module_pass_manager()
            late.add_always_inliner_pass()
            late.add_simplify_cfg_pass()
            late.run(module, builder)
            llvm.newpassmanagers.NewPassManager._dispose(late)
        # llvmlite does not dispose of it: ObjectRef's empty method comes first in the method resolution order.
        llvm.newpassmanagers.NewPassManager._dispose(manager)
        return _with_fixed_places(module, text) if level >= LEVEL else module


_HAS_VECTORS = re.compile(r"<\d+ x ")


def level_of_shared(text: str) -> int:
    """
    The level for a function that programs share, which follows from its text.

    Those that have vectors before the optimizer runs are micro-kernels and the like. They leave nothing to the
    vectorizer, unless a loop is marked as parallel, such as that over part of a block whose columns are not neighbours.
    """
    if text.startswith(UNOPTIMIZED):
        return QUICK
    if any(mark in text for mark in ("llvm.loop.parallel_accesses", "alwaysinline", VECTOR_VARIANTS)):
        return LEVEL
    return IN_VECTORS if _HAS_VECTORS.search(text) else LEVEL


def optimize(text: str, timings: Timings | None = None, level: int = LEVEL) -> str:
    """The LLVM IR after the optimizer, as text."""
    with _lock:
        return str(_optimized(text, _target_machine(), timings, level))


def compile_to_assembly(text: str, machine: Any = None) -> str:
    """Assembly for this machine, or for `machine`, which `target_machine` returned."""
    with _lock:
        machine = machine or _target_machine()
        return str(machine.emit_assembly(_optimized(text, machine, None, LEVEL)))


def compile_to_object(text: str, timings: Timings | None = None, level: int = LEVEL, machine: Any = None) -> bytes:
    """
    A relocatable object file for this machine, or for `machine`, which `target_machine` returned; `timings` receives
    the seconds of each stage.
    """
    with _lock:
        machine = machine or _target_machine(level == QUICK)
        module = _optimized(text, machine, timings, level)
        return _object(module, machine, timings)


def compile_with_text(text: str, timings: Timings | None, machine: Any) -> tuple[bytes, str]:
    """As `compile_to_object`, and the optimized LLVM IR that the object file was made of."""
    with _lock:
        module = _optimized(text, machine, timings, LEVEL)
        optimized = str(module)
        return _object(module, machine, timings), optimized


def _object(module: Any, machine: Any, timings: Timings | None) -> bytes:
    """The object file of an optimized module. Raises RuntimeError with LLVM's message."""
    with _stage(timings, "codegen"):
        with llvm.ffi.OutputString() as message:
            buffer = _emit(machine, module, 1, message)
            if not buffer:
                raise RuntimeError(str(message))
        library = llvm.ffi.lib
        try:
            return ctypes.string_at(library.LLVMPY_GetBufferStart(buffer), library.LLVMPY_GetBufferSize(buffer))
        finally:
            library.LLVMPY_DisposeMemoryBuffer(buffer)


def link_texts(texts: Sequence[str]) -> str:
    """One text of LLVM IR from several, whose internal functions may have the same names."""
    with _lock:
        context: Any = llvm.create_context()
        whole: Any = llvm.parse_assembly(texts[0], context=context)
        for text in texts[1:]:
            whole.link_in(llvm.parse_assembly(text, context=context))
        return str(whole)


def compile_to_objects(texts: Sequence[str], timings: Timings, levels: Sequence[int]) -> list[bytes]:
    """
    Object files for this machine, made at the same time by as many threads as the process may use.

    `levels`: that of LLVM's optimizer for each text. `timings` receives the share of each stage in the time passed.
    """
    several = len(texts) - levels.count(QUICK)
    if several <= 1 or (threads := min(several, default_thread_count())) <= 1:
        return [compile_to_object(text, timings, level) for text, level in zip(texts, levels, strict=True)]
    from concurrent.futures import ThreadPoolExecutor

    with _lock:
        _initialize()
        spent, start = [Timings() for _ in texts], time.perf_counter()
        order = longest_first(texts, levels)
        with ThreadPoolExecutor(threads) as pool, own_stacks():
            made = {i: pool.submit(_compile_alone, texts[i], spent[i], levels[i]) for i in order}
        objects = [made[i].result() for i in sorted(made)]
        passed = time.perf_counter() - start
    whole = sum(seconds for each in spent for seconds in each.values())
    for each in spent:
        for name, seconds in each.items():
            timings[name] = timings.get(name, 0.0) + seconds * passed / whole
    return objects


def longest_first(texts: Sequence[str], levels: Sequence[int]) -> list[int]:
    """The texts by the time that LLVM takes, so that no thread begins with a long one when the others have finished."""
    return sorted(range(len(texts)), key=lambda i: -len(texts[i]) * _WEIGHTS.get(levels[i], 1.0))


_free_machines: dict[bool, list[Any]] = {False: [], True: []}
"""Target machines that no thread of `compile_to_objects` uses now, by whether they are quick."""


def _compile_alone(text: str, timings: Timings, level: int) -> bytes:
    free = _free_machines[level == QUICK]
    try:
        machine = free.pop()
    except IndexError:
        machine = _host_machine(level == QUICK)
    try:
        return _object(_optimized(text, machine, timings, level), machine, timings)
    finally:
        free.append(machine)


@lru_cache(maxsize=1)
def made_by() -> tuple[str, ...]:
    """The facts that, with its text, determine an object file."""
    files = fingerprint(os.path.dirname(os.path.dirname(__file__)), ("cpu",))
    return files, llvm_version(), host_triple(), host_cpu(), host_features()


def kept_object(key: Sequence[str], text: Callable[[], str]) -> bytes:
    """
    An object file of xhlo's own code, whose text follows from `key`: kept on disk, see targets/cache/files.py.

    So are the functions that programs share (`compile_units`); other code is kept with the programs' executables.
    """
    return kept(
        [*key, *made_by()],
        ".o",
        lambda: compile_to_object(text(), level=1),
        lambda code: code,
        lambda code: code,
        cache_folder,
    )


_shared: OrderedDict[str, bytes] = OrderedDict()
"""Objects of `compile_units` by symbol, the most recently used last."""

_SHARED_KEPT = 1024


def _shared_file(symbol: str) -> Path | None:
    return place(("shared", symbol, LEVEL, *made_by()), ".o", cache_folder)


def shared_code(symbol: str) -> bytes | None:
    """The object file of a shared function that this process or another has compiled; None if it is not kept."""
    with _lock:
        if symbol not in _shared:
            path = _shared_file(symbol)
            code = path and stored(path, bytes)
            if code is None:
                return None
            _shared[symbol] = code
        return _shared[symbol]


def compile_units(
    texts: Sequence[str],
    shared: Mapping[str, str],
    timings: Timings,
    levels: Sequence[int] | None = None,
    known: Mapping[str, bytes] | None = None,
) -> tuple[bytes, ...]:
    """
    Object files of a program: its own texts, which LLVM optimizes at `levels`, and functions that many programs share,
    each compiled once, and kept.

    `shared`: LLVM IR by symbol, where the symbol is derived from the text (see `emit_units`); `known`: the object files
    of others.
    """
    with _lock:
        places = {symbol: _shared_file(symbol) for symbol in shared if symbol not in _shared}
        found = ((symbol, path and stored(path, bytes)) for symbol, path in places.items())
        _shared.update((symbol, code) for symbol, code in found if code is not None)
        new = [symbol for symbol in shared if symbol not in _shared]
        every = [*(levels or [LEVEL] * len(texts)), *(level_of_shared(shared[symbol]) for symbol in new)]
        made = compile_to_objects([*texts, *(shared[symbol] for symbol in new)], timings, every)
        for symbol, code in zip(new, made[len(texts) :], strict=True):
            _shared[symbol] = code
            if (path := places[symbol]) is not None:
                write(path, code)
        for symbol in shared:
            _shared.move_to_end(symbol)
        found = {symbol: _shared[symbol] for symbol in shared} | dict(known or {})
        objects = (*made[: len(texts)], *(found[symbol] for symbol in sorted(found)))
        while len(_shared) > _SHARED_KEPT:
            _shared.popitem(last=False)
    return objects


@dataclass
class LoadedCode:
    """Machine code in this process; it lives as long as this object."""

    addresses: Mapping[str, int]
    """The addresses of the requested symbols."""
    timings: Timings = field(default_factory=Timings)
    _needs: object = None
    """Other loaded code that this code calls."""

    def address(self, symbol: str) -> int:
        """The address of a requested symbol. Raises KeyError for others."""
        return self.addresses[symbol]


RUNTIME_FUNCTIONS = ("xhlo_parallel_for", "xhlo_clock", "xhlo_goes_on")
"""The functions that compiled code may call besides the C library."""


PER_LINKER = 64
"""Libraries that one of LLVM's linkers takes: it keeps 9 KB of each until it goes itself."""


def _new_linker() -> Any:
    return llvm.create_lljit_compiler(_target_machine(), use_jit_link=sys.platform.startswith("linux"))


def _unlink(tracker: Any, linker: Any) -> None:
    """Free the code that `linker` linked, and `linker` with the last of its code."""
    tracker.close()


class Engine:
    """The process's linker, and the runtime functions that compiled code and Python may call."""

    def __init__(self) -> None:
        _initialize()
        threads = min(default_thread_count(), MAX_THREADS)
        self.linker = _new_linker()
        self._numbers = itertools.count(1)
        self.imports: dict[str, int] = {}
        text, symbols = runtime_ir(host_triple()) + GOES_ON_IR + attention_ir(), (*RUNTIME_FUNCTIONS, *FUNCTIONS)
        imports = dict(STOPS.symbols)
        if can_attend():
            imports |= ATTENTION.symbols
        if direct_calls.are_possible():
            text, symbols = text + direct_call_ir(), (*symbols, DIRECT_CALL)
            imports = {**imports, **direct_calls.python_functions()}
        code = kept_object((text,), lambda: text)
        self.runtime = self.link([code], symbols, imports)
        self.imports = {name: self.runtime.address(name) for name in RUNTIME_FUNCTIONS}
        self.direct_call = self.runtime.addresses.get(DIRECT_CALL)
        """The address of the machine code of direct calls, where they are possible."""
        self._start_threads(threads)

    def function(self, name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
        """One of the runtime's functions."""
        return ctypes.CFUNCTYPE(result, *arguments)(self.runtime.address(name))

    def _start_threads(self, count: int) -> None:
        if not self.function("xhlo_start_threads", ctypes.c_bool, ctypes.c_int64)(count):
            raise OSError("no room for another word of each thread's own memory (pthread_key_create)")
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.function("xhlo_forget_threads", None))

    def link(self, code: Sequence[bytes], symbols: Sequence[str], imports: Mapping[str, int]) -> LoadedCode:
        library: Any = llvm.JITLibraryBuilder()
        for each in code:
            library.add_object_img(each)
        library.add_current_process()
        for name, address in {**self.imports, **imports}.items():
            library.import_symbol(name, address)
        for name in symbols:
            library.export_symbol(name)
        number = next(self._numbers)
        if number % PER_LINKER == 0:
            self.linker = _new_linker()
        tracker: Any = library.link(self.linker, f"xhlo.{number}")
        loaded = LoadedCode({name: int(tracker[name]) for name in symbols})
        weakref.finalize(loaded, _unlink, tracker, self.linker).atexit = False
        return loaded


_engine: Engine | None = None


def engine(timings: Timings | None = None) -> Engine:
    """The process's engine, made at the first use. Raises DiagnosticError if XHLO_NUM_THREADS is no number."""
    global _engine
    with _lock:
        if _engine is None:
            with _stage(timings, "runtime"):
                _engine = Engine()
        return _engine


def load(
    code: str | bytes | Sequence[bytes],
    symbols: Sequence[str] = ("xhlo_entry",),
    imports: Mapping[str, int] | None = None,
) -> LoadedCode:
    """
    Put code into this process and find the addresses of `symbols`.

    `code` is LLVM IR text, which is compiled first, or object code from one or more files. It may call the runtime's
    functions, the C library, and `imports` (addresses by name). Raises RuntimeError if LLVM rejects the code or a
    symbol is missing.
    """
    timings = Timings()
    with _lock:
        linker = engine(timings)
        if isinstance(code, str):
            code = compile_to_object(code, timings)
        with _stage(timings, "load"):
            loaded = linker.link([code] if isinstance(code, bytes) else code, symbols, imports or {})
    loaded.timings = timings
    loaded._needs = linker.runtime  # pyright: ignore[reportPrivateUsage]
    return loaded


def call(loaded: LoadedCode, symbol: str, *arrays: Any) -> None:
    """Call a function that takes pointers with the data of NumPy arrays; for tests and experiments."""
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arrays))(loaded.address(symbol))
    function(*(array.__array_interface__["data"][0] for array in arrays))
