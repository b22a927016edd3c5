"""Executables: compiling, running, asking, saving and loading them."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import itertools
import json
import struct
import weakref
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ...hlo_dialect.types import ArrayType
from ..cpu.serialization import load_executable
from . import arrays
from .c_api import FLOAT, STRUCTURES, Code
from .client import MEMORY_KIND, client
from .entries import Kept, PluginError, entry, read_text, text
from .native import SMALL
from .native_calls import loaded
from .objects import OBJECTS
from .programs import Compiled, compile_artifact
from .protos import CompileOptions, read_compile_options

_executables: dict[int, LoadedProgram] = {}
"""By the addresses of handles: each program has one as `PJRT_LoadedExecutable`, others as `PJRT_Executable`."""

_fingerprints: weakref.WeakValueDictionary[str, LoadedProgram] = weakref.WeakValueDictionary()

_serial = itertools.count(1)


class LoadedProgram(Kept):
    """A compiled program on its devices."""

    def __init__(self, compiled: Compiled):
        super().__init__()
        self.compiled = compiled
        self.number = next(_serial)
        self.deleted = False
        executable = compiled.executable
        self.inputs, self.outputs = executable.input_types, executable.output_types
        self.devices = self._choose_devices(compiled.options)
        self.input_specs = _with_tokens([_spec(type_) for type_ in self.inputs], compiled.tokens[0])
        self.output_specs = _with_tokens([_spec(type_) for type_ in self.outputs], compiled.tokens[1])
        """With those of tokens, which `inputs` and `outputs` leave out."""
        self.handle = self._make_record()
        self.executable_handles: list[int] = []
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
        program = executable.program
        arena = program.arena_bytes
        if arena:
            arena = -(-arena // 64) * 64 if arena < SMALL else loaded().capacity(arena)
        return self.keep(
            OBJECTS["LoadedExecutable"](
                direct=int(executable.runs_alone and len(self.devices) == 1 and not self._has_tokens),
                entry=program.entry,
                num_inputs=len(self.input_specs),
                num_outputs=len(self.output_specs),
                input_specs=self.numbers(self.input_specs),
                output_specs=self.numbers(self.output_specs),
                donated=self.numbers(compiled.donated, ctypes.c_uint8),
                has_donations=int(any(compiled.donated)),
                arena_bytes=arena,
                device=self.devices[0],
                number=self.number,
            )
        )

    @cached_property
    def fingerprint(self) -> str:
        """The same for equal programs with equal options."""
        return hashlib.sha256(self.compiled.source.encode() + self.compiled.options.serialized).hexdigest()

    @property
    def _has_tokens(self) -> bool:
        return any(any(tokens) for tokens in self.compiled.tokens)

    def run_on(self, device: int, buffers: Sequence[int]) -> list[int]:
        """Run on the buffers of one device; returns new buffers. Raises what the program raises."""
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
            made = [arrays.new_buffer(spec, device)[0] for spec in self.output_specs]
            arguments = [one.address for one, spec in zip(held, self.input_specs, strict=True) if spec != _token_spec()]
            results = [
                OBJECTS["Buffer"].from_address(each).data
                for each, spec in zip(made, self.output_specs, strict=True)
                if spec != _token_spec()
            ]
            addresses = arguments + results
            try:
                self.compiled.executable.run_at(addresses)
            except BaseException:
                for buffer in made:
                    destroy_buffer(buffer)
                raise
        return made

    def donate(self, buffers: Sequence[int], kept: Sequence[int]) -> None:
        for index, (buffer, donated) in enumerate(zip(buffers, self.compiled.donated, strict=True)):
            if donated and index not in kept:
                loaded().buffer_delete(buffer)


def destroy_buffer(buffer: int) -> None:
    destroy = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(loaded().entry("Buffer_Destroy"))
    arguments = arrays.c_api.ARGUMENTS["Buffer_Destroy"](buffer=buffer)
    destroy(ctypes.addressof(arguments))


def _token_spec() -> int:
    return arrays.spec_of(arrays.TOKEN, ())


def _with_tokens(specs: Sequence[int], tokens: Sequence[bool]) -> list[int]:
    """Specs of arrays, with those of tokens where there are some between them."""
    if not any(tokens):
        return list(specs)
    rest = iter(specs)
    return [_token_spec() if is_token else next(rest) for is_token in tokens]


def _spec(type_: ArrayType) -> int:
    return arrays.spec_of(arrays.element_type_of(np.dtype(type_.dtype)), tuple(type_.shape))


def program_of(handle: int) -> LoadedProgram:
    try:
        return _executables[handle]
    except KeyError:
        raise PluginError(Code.INVALID_ARGUMENT, "an executable was used that has been destroyed") from None


def by_fingerprint(fingerprint: str) -> LoadedProgram | None:
    """A living program with that fingerprint."""
    return _fingerprints.get(fingerprint)


@entry("Client_Compile")
def _compile(args: Any) -> None:
    program = STRUCTURES["Program"].from_address(args.program)
    code = ctypes.string_at(program.code, program.code_size)
    options = read_compile_options(ctypes.string_at(args.compile_options, args.compile_options_size))
    compiled = compile_artifact(code, read_text(program.format, program.format_size), options)
    args.executable = LoadedProgram(compiled).handle


@entry("LoadedExecutable_Execute")
def _execute(args: Any) -> None:
    """What machine code leaves over: several devices, checks, functions called back, and whatever is wrong."""
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
    # A device is named for programs that were compiled for none, too; it counts where there is a single one.
    single = args.num_devices == 1 and args.execute_device
    devices = [args.execute_device] if single else loaded_program.devices
    results = _run_everywhere(loaded_program, devices, lists)
    for buffers in lists:
        loaded_program.donate(buffers, kept)
    for target, made in zip(arrays.numbers_at(args.output_lists, args.num_devices), results, strict=True):
        (ctypes.c_int64 * max(1, len(made))).from_address(target)[: len(made)] = made
    if args.device_complete_events:
        events = (ctypes.c_int64 * args.num_devices).from_address(args.device_complete_events)
        events[:] = [loaded().address("ready")] * args.num_devices


def _run_everywhere(
    loaded_program: LoadedProgram, devices: Sequence[int], lists: Sequence[Sequence[int]]
) -> list[list[int]]:
    if len(lists) != len(devices):
        raise PluginError(
            Code.INVALID_ARGUMENT,
            f"{loaded_program.compiled.name} runs on {len(devices)} devices, got the arguments of {len(lists)}",
        )
    if len(devices) == 1:
        return [loaded_program.run_on(devices[0], lists[0])]
    from ..cpu.replicated import run_on_devices

    options = loaded_program.compiled.options
    return run_on_devices(
        lambda number: loaded_program.run_on(devices[number], lists[number]),
        options.num_replicas,
        options.num_partitions,
    )


@entry("LoadedExecutable_Destroy")
def _destroy_loaded(args: Any) -> None:
    _executables.pop(args.executable, None)


@entry("LoadedExecutable_GetExecutable")
def _executable(args: Any) -> None:
    """A second handle, with a life of its own."""
    found = program_of(args.loaded_executable)
    handle = _Handle(found)
    args.executable = handle.address
    _handles[handle.address] = handle
    _executables[handle.address] = found


class _Handle(Kept):
    def __init__(self, program: LoadedProgram):
        super().__init__()
        self.program = program
        self.address = self.keep(ctypes.c_int64(program.number))


_handles: dict[int, _Handle] = {}


@entry("Executable_Destroy")
def _destroy(args: Any) -> None:
    _executables.pop(args.executable, None)
    _handles.pop(args.executable, None)


@entry("LoadedExecutable_AddressableDevices")
def _devices(args: Any) -> None:
    found = program_of(args.executable)
    args.devices, args.num_devices = found.numbers(found.devices), len(found.devices)


@entry("LoadedExecutable_AddressableDeviceLogicalIds")
def _logical_ids(args: Any) -> None:
    """Pairs (replica, partition) of 32-bit numbers, as the devices are listed."""
    found = program_of(args.executable)
    options = found.compiled.options
    pairs = itertools.product(range(options.num_replicas), range(options.num_partitions))
    args.logical_ids = found.numbers(itertools.chain.from_iterable(pairs), ctypes.c_int32)
    args.num_logical_ids = len(found.devices)


@entry("LoadedExecutable_GetDeviceAssignment")
def _assignment(args: Any) -> None:
    found = program_of(args.executable)
    ids = [arrays.OBJECTS["Device"].from_address(device).ordinal for device in found.devices]
    options = found.compiled.options
    partitions = options.num_partitions
    rows = [ids[at : at + partitions] for at in range(0, len(ids), partitions)]
    data = CompileOptions(options.num_replicas, partitions, rows).device_assignment
    _hand_out(args, found, data)


def _hand_out(args: Any, owner: Kept, data: bytes) -> None:
    """Bytes that their receiver gives back by calling `deleter`; they live as long as the program."""
    args.serialized_bytes, args.serialized_bytes_size = owner.bytes(data), len(data)
    args.owner, args.deleter = args.serialized_bytes, loaded().address("nothing")


@entry("LoadedExecutable_Delete")
def _delete(args: Any) -> None:
    found = program_of(args.executable)
    found.deleted = True
    OBJECTS["LoadedExecutable"].from_address(found.handle).direct = 0


@entry("LoadedExecutable_IsDeleted")
def _is_deleted(args: Any) -> None:
    args.is_deleted = program_of(args.executable).deleted


@entry("Executable_Name")
def _name(args: Any) -> None:
    args.executable_name, args.executable_name_size = text(program_of(args.executable).compiled.name)


@entry("Executable_NumReplicas")
def _num_replicas(args: Any) -> None:
    args.num_replicas = program_of(args.executable).compiled.options.num_replicas


@entry("Executable_NumPartitions")
def _num_partitions(args: Any) -> None:
    args.num_partitions = program_of(args.executable).compiled.options.num_partitions


@entry("Executable_NumOutputs")
def _num_outputs(args: Any) -> None:
    args.num_outputs = len(program_of(args.executable).output_specs)


@entry("Executable_SizeOfGeneratedCodeInBytes")
def _code_size(args: Any) -> None:
    args.size_in_bytes = _code_bytes(program_of(args.executable))


def _code_bytes(found: LoadedProgram) -> int:
    image = found.compiled.executable.program.image
    return len(image.code) if image is not None else 0


@entry("Executable_OutputElementTypes")
def _output_types(args: Any) -> None:
    found = program_of(args.executable)
    types = [OBJECTS["Spec"].from_address(spec).element_type for spec in found.output_specs]
    args.output_types, args.num_output_types = found.numbers(types, ctypes.c_int32), len(types)


@entry("Executable_OutputDimensions")
def _output_dimensions(args: Any) -> None:
    found = program_of(args.executable)
    shapes = [arrays.shape_of(spec) for spec in found.output_specs]
    args.num_outputs = len(shapes)
    args.dims = found.numbers(itertools.chain.from_iterable(shapes))
    args.dim_sizes = found.numbers(map(len, shapes))


def _memory_kinds(args: Any, count: int) -> None:
    address, size = text(MEMORY_KIND)
    found = program_of(args.executable)
    args.memory_kinds = found.numbers([address] * count)
    args.memory_kind_sizes = found.numbers([size] * count)


@entry("Executable_OutputMemoryKinds")
def _output_memory_kinds(args: Any) -> None:
    args.num_outputs = len(program_of(args.executable).output_specs)
    _memory_kinds(args, args.num_outputs)


@entry("Executable_ParameterMemoryKinds")
def _parameter_memory_kinds(args: Any) -> None:
    args.num_parameters = len(program_of(args.executable).input_specs)
    _memory_kinds(args, args.num_parameters)


@entry("Executable_OptimizedProgram")
def _optimized_program(args: Any) -> None:
    """Called twice: for the size, then with memory for it."""
    found = program_of(args.executable)
    program = STRUCTURES["Program"].from_address(args.program)
    program.format, program.format_size = text("mlir")
    code = optimized_program(found).encode()
    program.code_size = len(code)
    if program.code:
        ctypes.memmove(program.code, code, len(code))


def optimized_program(found: LoadedProgram) -> str:
    """The program after simplification, in StableHLO where all of it is that, else as it came."""
    return found.compiled.optimized or found.compiled.source


@entry("Executable_Fingerprint")
@entry("LoadedExecutable_Fingerprint")
def _fingerprint(args: Any) -> None:
    found = program_of(args.executable)
    digest = found.fingerprint.encode()
    args.executable_fingerprint, args.executable_fingerprint_size = found.bytes(digest), len(digest)


@entry("Executable_GetCostAnalysis")
def _cost(args: Any) -> None:
    """Sums over the kernels, each counted once for each place that calls it."""
    found = program_of(args.executable)
    kernels = found.compiled.executable.kernels
    values = {
        "flops": float(sum(kernel.flops * kernel.sites for kernel in kernels)),
        "bytes accessed": float(sum(kernel.bytes * kernel.sites for kernel in kernels)),
    }
    named: Any = STRUCTURES["NamedValue"]
    made = (named * len(values))()
    for value, (name, number) in zip(made, values.items(), strict=True):
        value.struct_size = ctypes.sizeof(named)
        value.name, value.name_size = text(name)
        value.type, value.value_size = FLOAT, 1
        value.value = int.from_bytes(struct.pack("<f", number), "little")
    args.num_properties, args.properties = len(values), found.keep(made)


@entry("Executable_GetCompiledMemoryStats")
def _memory_stats(args: Any) -> None:
    found = program_of(args.executable)
    args.generated_code_size = _code_bytes(found)
    args.argument_size = sum(type_.nbytes for type_ in found.inputs)
    args.output_size = sum(type_.nbytes for type_ in found.outputs)
    args.temp_size = found.compiled.executable.program.arena_bytes
    args.alias_size = 0
    args.peak_memory = args.total_size = args.argument_size + args.output_size + args.temp_size
    for field in ("generated_code_size", "argument_size", "output_size", "alias_size", "temp_size"):
        setattr(args, f"host_{field}", 0)


@entry("Executable_GetCompileOptions")
def _options(args: Any) -> None:
    found = program_of(args.executable)
    _hand_out(args, found, found.compiled.options.serialized)


_HEADER = struct.Struct("<4sQQ")
_MAGIC = b"XJAX"


@entry("Executable_Serialize")
def _serialize(args: Any) -> None:
    """The executable's own bytes behind what JAX needs to know of it."""
    found = program_of(args.executable)
    compiled = found.compiled
    try:
        code = compiled.executable.serialize()
    except ValueError as error:
        raise PluginError(Code.UNIMPLEMENTED, f"{compiled.name} cannot be serialized: {error}") from None
    about = json.dumps(
        {
            "name": compiled.name,
            "donated": compiled.donated,
            "tokens": compiled.tokens,
            "optimized": compiled.optimized,
            "options": compiled.options.serialized.hex(),
        }
    ).encode()
    _hand_out(args, found, _HEADER.pack(_MAGIC, len(about), len(code)) + about + code)


@entry("Executable_DeserializeAndLoad")
def _deserialize(args: Any) -> None:
    data = ctypes.string_at(args.serialized_executable, args.serialized_executable_size)
    try:
        magic, about_size, code_size = _HEADER.unpack_from(data)
        about = json.loads(data[_HEADER.size : _HEADER.size + about_size])
        code = data[_HEADER.size + about_size :]
        if magic != _MAGIC or len(code) != code_size:
            raise ValueError("it is cut off, or was not made by xhlo")
        executable = load_executable(code)
    except (ValueError, struct.error, KeyError) as error:
        raise PluginError(Code.INVALID_ARGUMENT, f"the serialized executable cannot be loaded: {error}") from None
    options = bytes.fromhex(about["options"])
    if args.overridden_compile_options_size:
        options = ctypes.string_at(args.overridden_compile_options, args.overridden_compile_options_size)
    source = executable.source.text if executable.source is not None else ""
    compiled = Compiled(
        executable, about["name"], about["donated"], source, about["tokens"], read_compile_options(options)
    )
    args.loaded_executable = LoadedProgram(compiled).handle
