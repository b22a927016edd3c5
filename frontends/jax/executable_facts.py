"""JAX's queries about an executable: names, devices, shapes, costs, its program; and executables as bytes."""

from __future__ import annotations

import ctypes
import itertools
import struct
from typing import Any

from ...targets.program.signing import is_required
from . import arrays
from .c_api import FLOAT, STRUCTURES, Code
from .client import MEMORY_KIND, ordinal_of
from .compiled import from_bytes, to_bytes
from .entries import Kept, PluginError, entry, text
from .executables import LoadedProgram, program_of
from .native_calls import loaded
from .objects import OBJECTS
from .protos import CompileOptions


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
    ids = [ordinal_of(device) for device in found.devices]
    options = found.compiled.options
    partitions = options.num_partitions
    rows = [ids[at : at + partitions] for at in range(0, len(ids), partitions)]
    data = CompileOptions(options.num_replicas, partitions, rows).device_assignment
    _hand_out(args, found, data)


def _hand_out(args: Any, owner: Kept, data: bytes) -> None:
    """Bytes that their receiver releases by calling `deleter`; they live as long as the program."""
    args.serialized_bytes, args.serialized_bytes_size = owner.bytes(data), len(data)
    args.owner, args.deleter = args.serialized_bytes, loaded().address("nothing")


@entry("Executable_Name")
def _name(args: Any) -> None:
    args.executable_name, args.executable_name_size = text(program_of(args.executable).compiled.name)


@entry("Executable_SizeOfGeneratedCodeInBytes")
def _code_size(args: Any) -> None:
    args.size_in_bytes = _code_bytes(program_of(args.executable))


def _code_bytes(found: LoadedProgram) -> int:
    return sum(map(len, found.compiled.executable.image.code))


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


@entry("Layouts_PJRT_Executable_GetOutputLayouts")
def _output_layouts(args: Any) -> None:
    found = program_of(args.executable)
    args.layouts, args.num_outputs = found.numbers(found.output_specs), len(found.output_specs)


@entry("Layouts_PJRT_Executable_GetParameterLayouts")
def _parameter_layouts(args: Any) -> None:
    found = program_of(args.executable)
    args.layouts, args.num_parameters = found.numbers(found.input_specs), len(found.input_specs)


@entry("Shardings_PJRT_Executable_OutputShardings")
def _output_shardings(args: Any) -> None:
    found = program_of(args.executable)
    args.num_outputs = len(found.output_specs)
    _hand_out_shardings(args, found, found.compiled.shardings[1])


@entry("Shardings_PJRT_Executable_ParameterShardings")
def _parameter_shardings(args: Any) -> None:
    found = program_of(args.executable)
    args.num_parameters = len(found.input_specs)
    _hand_out_shardings(args, found, found.compiled.shardings[0])


def _hand_out_shardings(args: Any, found: LoadedProgram, shardings: list[bytes] | None) -> None:
    """Serialized messages `xla.OpSharding`; null for a program of one device."""
    args.shardings = args.sharding_sizes = 0
    if shardings is not None:
        args.shardings = found.numbers(map(found.bytes, shardings))
        args.sharding_sizes = found.numbers(map(len, shardings))


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
    """The program after simplification, in StableHLO if all its operations are StableHLO's, else the original."""
    return found.compiled.optimized or found.compiled.source


@entry("Executable_Fingerprint")
@entry("LoadedExecutable_Fingerprint")
def _fingerprint(args: Any) -> None:
    found = program_of(args.executable)
    digest = found.fingerprint.encode()
    args.executable_fingerprint, args.executable_fingerprint_size = found.bytes(digest), len(digest)


@entry("Executable_GetCostAnalysis")
def _cost(args: Any) -> None:
    """Sums over the kernels, each counted once per call site."""
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
    args.temp_size = found.compiled.executable.facts.arena_bytes
    args.alias_size = 0
    args.peak_memory = args.total_size = args.argument_size + args.output_size + args.temp_size
    for field in ("generated_code_size", "argument_size", "output_size", "alias_size", "temp_size"):
        setattr(args, f"host_{field}", 0)


@entry("Executable_GetCompileOptions")
def _options(args: Any) -> None:
    found = program_of(args.executable)
    _hand_out(args, found, found.compiled.options.serialized)


@entry("Executable_Serialize")
def _serialize(args: Any) -> None:
    """The executable's own bytes, after the facts that JAX needs."""
    found = program_of(args.executable)
    try:
        data = to_bytes(found.compiled)
    except ValueError as error:
        raise PluginError(Code.UNIMPLEMENTED, f"{found.compiled.name} cannot be serialized: {error}") from None
    _hand_out(args, found, data)


@entry("Executable_DeserializeAndLoad")
def _deserialize(args: Any) -> None:
    data = ctypes.string_at(args.serialized_executable, args.serialized_executable_size)
    options = b""
    if args.overridden_compile_options_size:
        options = ctypes.string_at(args.overridden_compile_options, args.overridden_compile_options_size)
    try:
        if is_required():
            raise ValueError("XHLO_TRUSTED_KEYS asks for signatures, which executables that JAX serializes lack")
        compiled = from_bytes(data, options)
    except ValueError as error:
        raise PluginError(Code.INVALID_ARGUMENT, f"the serialized executable cannot be loaded: {error}") from None
    args.loaded_executable = LoadedProgram(compiled).handle
