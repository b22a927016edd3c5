"""The client: its devices, which are shares of this machine's CPU, and their memories."""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import re
import sys
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ...hlo_dialect.machine_memory import max_memory
from ...hlo_dialect.plugins import fingerprint
from ...targets.cpu import host
from ...targets.program.guard_side import guard_side
from . import REPORTED
from .c_api import ARGUMENTS, INT64_LIST, STRUCTURES, Code
from .entries import Kept, PluginError, entry, text
from .native_calls import loaded
from .objects import OBJECTS

MEMORY_KIND = "device"
DEVICES_VARIABLE = "XHLO_NUM_DEVICES"
_XLA_FLAG = "--xla_force_host_platform_device_count"


def device_count() -> int:
    """
    The number of devices that the client shows: XHLO_NUM_DEVICES; else JAX's option jax_num_cpu_devices; else XLA's
    flag for the platform cpu in XLA_FLAGS; else 1. Raises PluginError for nonsense.
    """
    name, given = DEVICES_VARIABLE, os.environ.get(DEVICES_VARIABLE)
    if given is None:
        bridge: Any = sys.modules.get("jax._src.xla_bridge")  # These entries work without JAX, too.
        option = -1 if bridge is None else bridge.num_cpu_devices.value
        name, given = "jax_num_cpu_devices", None if option < 0 else str(option)
    if given is None:
        flags = re.findall(rf"(?<!\S){_XLA_FLAG}[= ](\S+)", os.environ.get("XLA_FLAGS", ""))
        name, given = _XLA_FLAG, flags[-1] if flags else "1"
    if not given.isdecimal() or not 1 <= int(given) <= 4096:
        raise PluginError(Code.INVALID_ARGUMENT, f"{name}={given}: expected a number from 1 to 4096")
    return int(given)


class Client(Kept):
    """One per process. Handles of devices and memories are addresses of the objects that machine code reads."""

    def __init__(self) -> None:
        super().__init__()
        self.handle = self.keep(ctypes.c_int64(1))
        native = loaded()
        table = STRUCTURES["MemoryFunctionTable"](
            struct_size=ctypes.sizeof(STRUCTURES["MemoryFunctionTable"]),
            instance_size=ctypes.sizeof(OBJECTS["Memory"]),
            get_user_data=native.address("memory_get"),
            set_user_data=native.address("memory_set"),
        )
        function_table = self.keep(table)
        self.devices: list[int] = []
        self.memories: list[int] = []
        for ordinal in range(device_count()):
            kind, kind_size = text(MEMORY_KIND)
            memory = self.keep(
                OBJECTS["Memory"](function_table=function_table, ordinal=ordinal, kind=kind, kind_size=kind_size)
            )
            device = self.keep(OBJECTS["Device"](memory=memory, ordinal=ordinal))
            OBJECTS["Memory"].from_address(memory).device = device
            # A device describes itself.
            OBJECTS["Device"].from_address(device).description = device
            self.devices.append(device)
            self.memories.append(memory)
        self.device_array = self.numbers(self.devices)
        self.memory_array = self.numbers(self.memories)


@lru_cache(maxsize=1)
def client() -> Client:
    return Client()


def ordinal_of(handle: int) -> int:
    """The number of a device."""
    return OBJECTS["Device"].from_address(handle).ordinal


@lru_cache(maxsize=1)
def xhlo_version() -> str:
    try:
        return version("xhlo")
    except PackageNotFoundError:
        return "unknown"


def _nothing(args: Any) -> None:
    """Entries with nothing to do: the objects they destroy live as long as the process."""


for _name in ("Plugin_Initialize", "Client_Destroy", "TopologyDescription_Destroy"):
    entry(_name)(_nothing)


@lru_cache(maxsize=1)
def _plugin_attributes() -> tuple[Kept, int, int]:
    """The versions of StableHLO that the plugin reads and that JAX writes programs for."""
    from jaxlib.mlir.dialects import stablehlo

    kept = Kept()
    named: Any = STRUCTURES["NamedValue"]
    values = (named * 2)()
    both = (("stablehlo_current_version", stablehlo.get_current_version()),
            ("stablehlo_minimum_version", stablehlo.get_minimum_version()))  # fmt: skip
    for value, (name, number) in zip(values, both, strict=True):
        value.struct_size = ctypes.sizeof(named)
        value.name, value.name_size = text(name)
        value.type, value.value_size = INT64_LIST, 3
        value.value = kept.numbers(int(part) for part in str(number).split("."))
    return kept, kept.keep(values), len(values)


@entry("Plugin_Attributes")
def _attributes(args: Any) -> None:
    _, args.attributes, args.num_attributes = _plugin_attributes()


@entry("Client_Create")
def _create(args: Any) -> None:
    args.client = client().handle


@entry("Client_PlatformName")
def _platform_name(args: Any) -> None:
    args.platform_name, args.platform_name_size = text(REPORTED)


@entry("Client_PlatformVersion")
def _platform_version(args: Any) -> None:
    # It is part of the keys of JAX's persistent cache, whose programs are not guarded, and not changed by packages.
    guard = ", guarded" if guard_side(None) else ""
    packages = fingerprint()
    if packages:
        guard += f", packages {hashlib.sha256(repr(packages).encode()).hexdigest()[:16]}"
    args.platform_version, args.platform_version_size = text(
        f"xhlo {xhlo_version()}, LLVM {'.'.join(map(str, host.llvm.llvm_version_info))}{guard}"
    )


@entry("Client_ProcessIndex")
def _process_index(args: Any) -> None:
    args.process_index = 0


@entry("Client_Devices")
@entry("Client_AddressableDevices")
def _devices(args: Any) -> None:
    args.devices, args.num_devices = client().device_array, len(client().devices)


@entry("Client_AddressableMemories")
def _memories(args: Any) -> None:
    args.memories, args.num_memories = client().memory_array, len(client().memories)


def _device_numbered(number: int) -> int:
    devices = client().devices
    if not 0 <= number < len(devices):
        raise PluginError(Code.NOT_FOUND, f"there is no xhlo device {number}: there are {len(devices)}")
    return devices[number]


@entry("Client_LookupDevice")
def _lookup(args: Any) -> None:
    args.device = _device_numbered(args.id)


@entry("Client_LookupAddressableDevice")
def _lookup_addressable(args: Any) -> None:
    args.device = _device_numbered(args.local_hardware_id)


@entry("Client_DefaultDeviceAssignment")
def _default_assignment(args: Any) -> None:
    """Devices in order, all partitions of a replica side by side."""
    count = args.num_replicas * args.num_partitions
    if count > len(client().devices):
        raise PluginError(
            Code.INVALID_ARGUMENT,
            f"a program for {count} devices, but there are {len(client().devices)}; set {DEVICES_VARIABLE}",
        )
    numbers = (ctypes.c_int * args.default_assignment_size).from_address(args.default_assignment)
    numbers[:count] = range(count)


@entry("DeviceDescription_Id")
def _id(args: Any) -> None:
    args.id = ordinal_of(args.device_description)


@entry("DeviceDescription_ProcessIndex")
def _description_process(args: Any) -> None:
    args.process_index = 0


@entry("DeviceDescription_Attributes")
def _description_attributes(args: Any) -> None:
    args.num_attributes, args.attributes = 0, 0


@entry("DeviceDescription_Kind")
def _kind(args: Any) -> None:
    args.device_kind, args.device_kind_size = text(f"{platform.machine()} {host.host_cpu()}")


@entry("DeviceDescription_DebugString")
def _debug_string(args: Any) -> None:
    args.debug_string, args.debug_string_size = text(f"XhloDevice(id={ordinal_of(args.device_description)})")


@entry("DeviceDescription_ToString")
def _to_string(args: Any) -> None:
    args.to_string, args.to_string_size = text(f"XhloDevice(id={ordinal_of(args.device_description)})")


@entry("Device_GetAttributes")
def _device_attributes(args: Any) -> None:
    args.attributes, args.num_attributes, args.device_attributes = 0, 0, 0
    args.attributes_deleter = loaded().address("nothing")


@entry("Device_GetDescription")
def _description(args: Any) -> None:
    args.device_description = args.device


@entry("Device_IsAddressable")
def _is_addressable(args: Any) -> None:
    args.is_addressable = True


@entry("Device_LocalHardwareId")
def _hardware_id(args: Any) -> None:
    args.local_hardware_id = ordinal_of(args.device)


@entry("Device_MemoryStats")
def _memory_stats(args: Any) -> None:
    """The bytes of memory that all devices share; host memory that a buffer only refers to does not count."""

    native = loaded()
    args.bytes_in_use = native.variable("in_use").value
    found = {
        "peak_bytes_in_use": native.variable("in_use_peak").value,
        "num_allocs": native.variable("allocations").value,
        "largest_alloc_size": native.variable("largest").value,
        "pool_bytes": native.variable("pool_kept").value,
        "bytes_limit": max_memory(),
    }
    layout = ARGUMENTS["Device_MemoryStats"]
    for name in (field[0] for field in layout._fields_):
        place: Any = getattr(layout, f"{name}_is_set", None)
        # The caller clears nothing, and its structure may be that of an earlier version, which ends sooner.
        if place is not None and place.offset < args.struct_size:
            setattr(args, name, found.get(name, 0))
            setattr(args, f"{name}_is_set", name in found)


@entry("Device_ClearMemoryStats")
def _clear_memory_stats(args: Any) -> None:
    """The peaks begin anew."""
    native = loaded()
    native.variable("in_use_peak").value = native.variable("in_use").value
    native.variable("largest").value = native.variable("allocations").value = 0


@entry("Device_AddressableMemories")
def _device_memories(args: Any) -> None:
    args.memories, args.num_memories = ctypes.addressof(ctypes.c_int64.from_address(
        client().memory_array + 8 * ordinal_of(args.device)
    )), 1  # fmt: skip


@entry("Device_DefaultMemory")
def _default_memory(args: Any) -> None:
    args.memory = client().memories[ordinal_of(args.device)]


@entry("Memory_Id")
def _memory_id(args: Any) -> None:
    args.id = OBJECTS["Memory"].from_address(args.memory).ordinal


@entry("Memory_Kind_Id")
def _memory_kind_id(args: Any) -> None:
    args.kind_id = 0


@entry("Memory_DebugString")
def _memory_debug_string(args: Any) -> None:
    ordinal = OBJECTS["Memory"].from_address(args.memory).ordinal
    args.debug_string, args.debug_string_size = text(f"XhloMemory(id={ordinal}, kind={MEMORY_KIND})")


@entry("Memory_ToString")
def _memory_to_string(args: Any) -> None:
    args.to_string, args.to_string_size = text(f"XhloMemory(id={OBJECTS['Memory'].from_address(args.memory).ordinal})")


@entry("Memory_AddressableByDevices")
def _memory_devices(args: Any) -> None:
    ordinal = OBJECTS["Memory"].from_address(args.memory).ordinal
    args.devices, args.num_devices = client().device_array + 8 * ordinal, 1


@entry("Client_TopologyDescription")
def _topology(args: Any) -> None:
    args.topology = client().handle


@entry("TopologyDescription_PlatformName")
def _topology_name(args: Any) -> None:
    _platform_name(args)


@entry("TopologyDescription_PlatformVersion")
def _topology_version(args: Any) -> None:
    _platform_version(args)


@entry("TopologyDescription_GetDeviceDescriptions")
def _topology_devices(args: Any) -> None:
    args.descriptions, args.num_descriptions = client().device_array, len(client().devices)


@entry("TopologyDescription_Attributes")
def _topology_attributes(args: Any) -> None:
    args.attributes, args.num_attributes = 0, 0


@entry("ExecuteContext_Create")
def _context(args: Any) -> None:
    args.context = client().handle


@entry("ExecuteContext_Destroy")
def _context_destroy(args: Any) -> None:
    """Contexts hold nothing."""
