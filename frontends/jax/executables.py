"""Executables: compiling, running, querying, saving and loading them."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import itertools
import time
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from ...dialects.support.shared_names import OVERWRITTEN
from ...hlo_dialect.arrays import ArrayType
from ...hlo_dialect.numbers.arithmetic_mode import default_arithmetic
from ...targets.cpu.executable import estimated_seconds
from ...targets.cpu.interrupts import run_left_by
from ...targets.program.compiler_start import compiler_start
from . import arrays, host_runs, tracing
from .c_api import ARGUMENTS, STRUCTURES, TOKEN, Code
from .client import client, ordinal_of
from .compile_options import check_options
from .compiled import Artifact, Compiled, Layouts, kept_program, logical_shape
from .entries import Kept, PluginError, compiling, entry, read_text
from .native import SMALL
from .native_calls import loaded
from .native_execution import HOST, MACHINE
from .objects import OBJECTS
from .protos import CompileOptions, read_compile_options

_executables: dict[int, LoadedProgram] = {}
"""By the addresses of handles: each program has one as `PJRT_LoadedExecutable`, others as `PJRT_Executable`."""

_fingerprints: weakref.WeakValueDictionary[str, LoadedProgram] = weakref.WeakValueDictionary()

_serial = itertools.count(1)


def _stop_direct_runs() -> None:
    for program in set(_executables.values()):
        program.stop_direct_runs()


tracing.when_started(_stop_direct_runs)

WATCHED = 1.0
"""Seconds: a run that may take longer is waited for on the main thread, where Ctrl-C is seen and ends it."""

SLOW = 1e-3
"""Seconds of a run that calls functions of libraries, from which on a thread of Python's runs it."""

_dying: set[LoadedProgram] = set()
"""Programs that JAX has destroyed, some of whose runs have not ended."""


@dataclass
class Prepared:
    """A run that can begin: its device, addresses for machine code, new buffers, and what holds the others."""

    device: int
    addresses: list[int]
    made: list[int]
    held: contextlib.ExitStack

    def give_up(self) -> None:
        """Let go of all buffers: the run has failed, or will not begin."""
        destroy_buffers(self.made)
        self.held.close()


class LoadedProgram(Kept):
    """A compiled program on its devices."""

    def __init__(self, compiled: Compiled):
        super().__init__()
        self.compiled = compiled
        self.number = next(_serial)
        self.deleted = False
        executable = compiled.executable
        self.inputs, self.outputs = executable.input_types, executable.output_types
        self._estimate = estimated_seconds(executable.facts)
        self._ends_soon = self._estimate < WATCHED and not executable.facts.loops
        """Not known of loops before the first run."""
        self._functions = host_runs.functions_of(executable)
        self._is_slow = False
        self.devices = self._choose_devices(compiled.options)
        self.input_specs = _specs(self.inputs, compiled.tokens[0], compiled.layouts[0])
        self.output_specs = _specs(self.outputs, compiled.tokens[1], compiled.layouts[1])
        """Includes tokens, which `inputs` and `outputs` leave out."""
        self.handle = self._make_record()
        host_runs.PROGRAMS[self.handle] = self
        _executables[self.handle] = self
        _fingerprints[self.fingerprint] = self

    @staticmethod
    def _choose_devices(options: CompileOptions) -> list[int]:
        everywhere = client().devices
        ids = options.device_ids or range(options.num_replicas * options.num_partitions)
        for id_ in ids:
            if not 0 <= id_ < len(everywhere):
                raise PluginError(
                    Code.INVALID_ARGUMENT, f"the program is for device {id_}, but there are {len(everywhere)}"
                )
        return [everywhere[id_] for id_ in ids]

    def _make_record(self) -> int:
        executable, compiled = self.compiled.executable, self.compiled
        arena = executable.facts.arena_bytes
        if arena:
            arena = -(-arena // 64) * 64 if arena < SMALL else loaded().capacity(arena)
        return self.keep(
            OBJECTS["LoadedExecutable"](
                direct=self._direct(),
                entry=executable.entry,
                num_inputs=len(self.input_specs),
                num_outputs=len(self.output_specs),
                input_specs=self.numbers(self.input_specs),
                output_specs=self.numbers(self.output_specs),
                donated=self.numbers(compiled.donated, ctypes.c_uint8),
                has_donations=int(any(compiled.donated)),
                updated=self.numbers(self._updated),
                arena_bytes=arena,
                device=self.devices[0],
                number=self.number,
                nanoseconds=int(min(self._estimate, WATCHED) * 1e9),
            )
        )

    @cached_property
    def fingerprint(self) -> str:
        """The same for equal programs with equal options."""
        return hashlib.sha256(self.compiled.source.encode() + self.compiled.options.serialized).hexdigest()

    @property
    def _has_tokens(self) -> bool:
        return any(any(tokens) for tokens in self.compiled.tokens)

    @cached_property
    def _updated(self) -> list[int]:
        """For each output the number of the donated input in whose memory it is, -1 without one."""
        arguments, results = (
            [index for index, spec in enumerate(specs) if spec != _token_spec()]
            for specs in (self.input_specs, self.output_specs)
        )
        found = [-1] * len(self.output_specs)
        for number, place in enumerate(self.compiled.executable.facts.donated):
            if 0 <= place < len(results):
                found[results[place]] = arguments[number]
        return found

    def run_on(self, device: int, buffers: Sequence[int], kept: Sequence[int] = ()) -> list[int]:
        """
        Run on the buffers of one device, donated ones except those of the numbers `kept`; returns new buffers. Raises
        the program's exceptions.
        """
        return self.run_prepared(self.prepare(device, buffers, kept))

    def prepare(self, device: int, buffers: Sequence[int], kept: Sequence[int]) -> Prepared:
        """
        Hold what a run reads, and make what it writes: from here on it needs the caller's buffers no more. Raises
        PluginError for buffers that do not fit, and the exceptions of the runs that write them.
        """
        name = self.compiled.name
        if len(buffers) != len(self.input_specs):
            raise PluginError(
                Code.INVALID_ARGUMENT, f"{name} takes {len(self.input_specs)} arguments, got {len(buffers)}"
            )
        with contextlib.ExitStack() as stack:
            held = [
                stack.enter_context(arrays.Held(buffer, f"argument {index} of {name}"))
                for index, buffer in enumerate(buffers)
            ]
            for index, (one, spec) in enumerate(zip(held, self.input_specs, strict=True)):
                if one.spec != spec and spec != _token_spec():
                    raise PluginError(
                        Code.INVALID_ARGUMENT,
                        f"argument {index} of {name} is a buffer of {arrays.type_text(one.spec)}, expected was one of "
                        f"{arrays.type_text(spec)}",
                    )
            made: list[int] = []
            try:
                for spec, updated in zip(self.output_specs, self._updated, strict=True):
                    given = held[updated].give() if updated >= 0 and updated not in kept else 0
                    made.append(
                        loaded().buffer_new(spec, given, device) if given else arrays.new_buffer(spec, device)[0]
                    )
            except BaseException:
                destroy_buffers(made)
                raise
            return Prepared(device, self._addresses([one.address for one in held], made), made, stack.pop_all())

    def run_prepared(self, run: Prepared) -> list[int]:
        """Run; returns the new buffers. Raises the program's exceptions."""
        start = time.monotonic_ns()
        try:
            self._run_at(run.device, run.addresses)
        except BaseException as error:
            if left := run_left_by(error):
                left.when_done(run.give_up)
            else:
                run.give_up()
            raise
        run.held.close()
        if not self.record.direct:
            self._allow_direct_runs(time.monotonic_ns() - start)
        return run.made

    def _run_at(self, device: int, addresses: Sequence[int]) -> None:
        if not tracing.is_on():
            self.compiled.executable.run_at(addresses)
            return
        timed = self._timed
        with tracing.traced(ordinal_of(device), self.compiled.name, timed):
            executable = self.compiled.executable if timed is None else timed.executable
            executable.run_at(addresses)

    @cached_property
    def _timed(self) -> tracing.Timed | None:
        """The program with its kernels timed; None for one on several devices, which wait for each other."""
        compiled = self.compiled
        if len(self.devices) > 1 or not compiled.source:
            return None
        from .programs import compile_text

        return tracing.Timed(compile_text(compiled.source, compiled.options, profile=True).executable)

    @property
    def record(self) -> Any:
        """The program's facts that machine code reads."""
        return OBJECTS["LoadedExecutable"].from_address(self.handle)

    def stop_direct_runs(self) -> None:
        """Until `_allow_direct_runs`, which a run calls, machine code does not run the program without Python."""
        self.record.direct = 0

    def _allow_direct_runs(self, nanoseconds: int) -> None:
        """Let machine code run a program if it has turned out to end soon."""
        if not tracing.is_on():
            self.record.nanoseconds = nanoseconds
            self._ends_soon = nanoseconds < WATCHED * 1e9
            self._is_slow = nanoseconds > SLOW * 1e9
        if not self.deleted:
            self.record.direct = self._direct()

    def _direct(self) -> int:
        """Who runs the program when it is called: machine code, a thread of Python's, or 0: the caller."""
        executable = self.compiled.executable
        if tracing.is_on() or len(self.devices) > 1 or OVERWRITTEN in executable.facts.donated:
            return 0
        if self._functions or (executable.facts.host_calls and self._is_slow):
            host_runs.start()
            return HOST
        return MACHINE if executable.only_computes and self._ends_soon and not self._has_tokens else 0

    def run_task(self, pointers: Sequence[int]) -> None:
        """Run at the addresses of inputs and outputs. Raises the program's exceptions."""
        specs = (*self.input_specs, *self.output_specs)
        start = time.monotonic_ns()
        self._run_at(self.devices[0], [at for at, spec in zip(pointers, specs, strict=True) if spec != _token_spec()])
        if self.record.direct == HOST:
            # The first run may have been slow for what it loaded.
            self._allow_direct_runs(time.monotonic_ns() - start)

    def _addresses(self, arguments: Sequence[int], made: Sequence[int]) -> list[int]:
        """The addresses of the buffers that machine code sees: no tokens."""
        results = [OBJECTS["Buffer"].from_address(buffer).data for buffer in made]
        specs = (*self.input_specs, *self.output_specs)
        everything = zip((*arguments, *results), specs, strict=True)
        return [address for address, spec in everything if spec != _token_spec()]

    def donate(self, buffers: Sequence[int], kept: Sequence[int]) -> None:
        for index, (buffer, donated) in enumerate(zip(buffers, self.compiled.donated, strict=True)):
            if donated and index not in kept:
                loaded().buffer_delete(buffer)


def destroy_buffers(buffers: Sequence[int]) -> None:
    destroy = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(loaded().entry("Buffer_Destroy"))
    for buffer in buffers:
        arguments = ARGUMENTS["Buffer_Destroy"](buffer=buffer)
        destroy(ctypes.addressof(arguments))


def _token_spec() -> int:
    return arrays.spec_of(TOKEN, ())


def _specs(types: Sequence[ArrayType], tokens: Sequence[bool], layouts: Layouts) -> list[int]:
    """The specs of arguments or results; the tokens between them are not among the types."""
    rest = iter(types)
    return [
        _token_spec() if is_token else _spec(next(rest), order)
        for is_token, order in itertools.zip_longest(tokens or [False] * len(types), layouts)
    ]


def _spec(type_: ArrayType, order: Sequence[int] | None) -> int:
    shape = logical_shape(type_.shape, order)
    return arrays.spec_of(arrays.element_type_of(np.dtype(type_.dtype)), shape, order)


def program_of(handle: int) -> LoadedProgram:
    try:
        return _executables[handle]
    except KeyError:
        raise PluginError(Code.INVALID_ARGUMENT, "an executable was used that has been destroyed") from None


def by_fingerprint(fingerprint: str) -> LoadedProgram | None:
    """A living program with that fingerprint."""
    found = _fingerprints.get(fingerprint)
    if found is None:
        found = next((each for each in list(_executables.values()) if each.fingerprint == fingerprint), None)
    return found


@entry("Client_Compile")
def _compile(args: Any) -> None:
    program = STRUCTURES["Program"].from_address(args.program)
    code, form = ctypes.string_at(program.code, program.code_size), read_text(program.format, program.format_size)
    options = read_compile_options(ctypes.string_at(args.compile_options, args.compile_options_size))
    check_options(options.overrides)
    artifact = Artifact(code, form)
    with compiling():
        compiled = kept_program(artifact, options, partial(_compiled, artifact, options))
    args.executable = LoadedProgram(compiled).handle


def _compiled(artifact: Artifact, options: CompileOptions) -> Compiled:
    # The compiler itself: programs that a process before compiled do without.
    with compiler_start(kept=True):
        from .programs import compile_artifact

    with default_arithmetic():
        return compile_artifact(artifact, options)


@entry("LoadedExecutable_Execute")
def _execute(args: Any) -> None:
    """The cases that machine code leaves to Python: several devices, checks, callbacks, and errors."""
    loaded_program = program_of(args.executable)
    if loaded_program.deleted:
        raise PluginError(Code.INVALID_ARGUMENT, f"{loaded_program.compiled.name} has been deleted")
    options = STRUCTURES["ExecuteOptions"].from_address(args.options)
    if options.num_send_ops or options.num_recv_ops:
        raise PluginError(Code.UNIMPLEMENTED, "xhlo does not support send and recv callbacks")
    kept = arrays.numbers_at(options.non_donatable_input_indices, options.num_non_donatable_input_indices)
    lists = [
        arrays.numbers_at(each, args.num_args) for each in arrays.numbers_at(args.argument_lists, args.num_devices)
    ]
    # JAX names a device even for programs that were compiled for none; it counts if there is a single one.
    single = args.num_devices == 1 and args.execute_device
    devices = [args.execute_device] if single else loaded_program.devices
    results = _run_everywhere(loaded_program, devices, lists, kept)
    for buffers in lists:
        loaded_program.donate(buffers, kept)
    for target, made in zip(arrays.numbers_at(args.output_lists, args.num_devices), results, strict=True):
        (ctypes.c_int64 * max(1, len(made))).from_address(target)[: len(made)] = made
    if args.device_complete_events:
        events = (ctypes.c_int64 * args.num_devices).from_address(args.device_complete_events)
        events[:] = [loaded().address("ready")] * args.num_devices


def _run_everywhere(
    loaded_program: LoadedProgram, devices: Sequence[int], lists: Sequence[Sequence[int]], kept: Sequence[int]
) -> list[list[int]]:
    if len(lists) != len(devices):
        raise PluginError(
            Code.INVALID_ARGUMENT,
            f"{loaded_program.compiled.name} runs on {len(devices)} devices, got the arguments of {len(lists)}",
        )
    if len(devices) == 1:
        return [loaded_program.run_on(devices[0], lists[0], kept)]
    from ...targets.cpu.replicated import has_collectives, run_on_devices

    compiled, options = loaded_program.compiled, loaded_program.compiled.options
    # An interrupt ends this call when some devices have not begun and others go on. Each run, and each one's results,
    # belong to the thread that takes them out.
    waiting: dict[int, Prepared] = {}
    done: dict[int, list[int]] = {}
    is_over = False

    def run(number: int) -> list[int]:
        begun = waiting.pop(number, None)
        if begun is None:
            return []
        made = done[number] = loaded_program.run_prepared(begun)
        if is_over:
            destroy_buffers(done.pop(number, ()))
        return made

    try:
        for number, (device, buffers) in enumerate(zip(devices, lists, strict=True)):
            waiting[number] = loaded_program.prepare(device, buffers, kept)
        return run_on_devices(
            run,
            options.num_replicas,
            options.num_partitions,
            independent=not has_collectives(compiled.executable),
        )
    except BaseException:
        is_over = True
        for number in range(len(devices)):
            if left := waiting.pop(number, None):
                left.give_up()
            destroy_buffers(done.pop(number, ()))
        raise


@entry("LoadedExecutable_Destroy")
def _destroy_loaded(args: Any) -> None:
    found = _executables.pop(args.executable, None)
    if found is not None:
        _dying.add(found)
    # Each step is one of its own: a collection of garbage, or another thread, may destroy others in between.
    for program in list(_dying):
        if not program.record.pending:
            _dying.discard(program)


@entry("LoadedExecutable_GetExecutable")
def _executable(args: Any) -> None:
    """A second handle, with its own lifetime."""
    found = program_of(args.loaded_executable)
    handle = _Handle(found)
    args.executable = handle.address
    _handles[handle.address] = handle
    _executables[handle.address] = found


class _Handle(Kept):
    def __init__(self, program: LoadedProgram):
        super().__init__()
        self.program = program
        options = program.compiled.options
        self.address = self.keep(
            OBJECTS["Executable"](
                number=program.number,
                num_replicas=options.num_replicas,
                num_partitions=options.num_partitions,
                num_outputs=len(program.output_specs),
            )
        )


_handles: dict[int, _Handle] = {}


@entry("Executable_Destroy")
def _destroy(args: Any) -> None:
    _executables.pop(args.executable, None)
    _handles.pop(args.executable, None)


@entry("LoadedExecutable_Delete")
def _delete(args: Any) -> None:
    found = program_of(args.executable)
    found.deleted = True
    found.stop_direct_runs()


@entry("LoadedExecutable_IsDeleted")
def _is_deleted(args: Any) -> None:
    args.is_deleted = program_of(args.executable).deleted
