"""The layouts of the PJRT C API, against the sizes in its public header (`.._STRUCT_SIZE`, 64-bit)."""

import ctypes

import pytest

from xhlo.frontends.jax import c_api, plugin
from xhlo.frontends.jax.arrays import dtype_of, element_type_of
from xhlo.frontends.jax.entries import ENTRIES
from xhlo.frontends.jax.native_calls import DIRECT
from xhlo.frontends.jax.objects import OBJECTS

# fmt: off
SIZES = {
    "Error_Destroy": 0x18, "Error_Message": 0x28, "Error_GetCode": 0x1C, "Plugin_Initialize": 0x10,
    "Plugin_Attributes": 0x20, "Event_Destroy": 0x18, "Event_IsReady": 0x19, "Event_Error": 0x18,
    "Event_Await": 0x18, "Event_OnReady": 0x28, "Client_Create": 0x58, "Client_Destroy": 0x18,
    "Client_PlatformName": 0x28, "Client_ProcessIndex": 0x1C, "Client_PlatformVersion": 0x28,
    "Client_TopologyDescription": 0x20, "Client_Devices": 0x28, "Client_AddressableDevices": 0x28,
    "Client_LookupDevice": 0x28, "Client_LookupAddressableDevice": 0x28, "Client_AddressableMemories": 0x28,
    "Client_Compile": 0x38, "Client_DefaultDeviceAssignment": 0x30, "Client_BufferFromHostBuffer": 0x78,
    "Client_CreateViewOfDeviceBuffer": 0x70, "Client_CreateUninitializedBuffer": 0x50,
    "Client_CreateErrorBuffer": 0x60, "DeviceDescription_Id": 0x1C, "DeviceDescription_ProcessIndex": 0x1C,
    "DeviceDescription_Attributes": 0x28, "DeviceDescription_Kind": 0x28, "DeviceDescription_DebugString": 0x28,
    "DeviceDescription_ToString": 0x28, "Device_GetDescription": 0x20, "Device_IsAddressable": 0x19,
    "Device_LocalHardwareId": 0x1C, "Device_AddressableMemories": 0x28, "Device_DefaultMemory": 0x20,
    "Device_MemoryStats": 0xB9, "Memory_Id": 0x1C, "Memory_Kind": 0x28, "Memory_Kind_Id": 0x1C,
    "Memory_DebugString": 0x28, "Memory_ToString": 0x28, "Memory_AddressableByDevices": 0x28,
    "ExecuteContext_Create": 0x18, "ExecuteContext_Destroy": 0x18, "Executable_Destroy": 0x18,
    "LoadedExecutable_Destroy": 0x18, "LoadedExecutable_GetExecutable": 0x20,
    "LoadedExecutable_GetDeviceAssignment": 0x38, "Executable_Name": 0x28, "Executable_NumReplicas": 0x20,
    "Executable_NumPartitions": 0x20, "LoadedExecutable_AddressableDevices": 0x28,
    "Executable_OptimizedProgram": 0x20, "LoadedExecutable_Delete": 0x18, "LoadedExecutable_IsDeleted": 0x19,
    "LoadedExecutable_Execute": 0x50, "Executable_NumOutputs": 0x20, "Executable_SizeOfGeneratedCodeInBytes": 0x20,
    "Executable_Fingerprint": 0x28, "Executable_GetCostAnalysis": 0x28, "Executable_GetCompiledMemoryStats": 0x78,
    "Executable_OutputElementTypes": 0x28, "Executable_OutputDimensions": 0x30, "Executable_OutputMemoryKinds": 0x30,
    "Executable_Serialize": 0x38, "Executable_GetCompileOptions": 0x38, "Executable_DeserializeAndLoad": 0x40,
    "LoadedExecutable_Fingerprint": 0x28, "Buffer_Destroy": 0x18, "Buffer_ElementType": 0x1C,
    "Buffer_Dimensions": 0x28, "Buffer_UnpaddedDimensions": 0x28, "Buffer_DynamicDimensionIndices": 0x28,
    "Buffer_GetMemoryLayout": 0x68, "Buffer_ToHostBuffer": 0x38, "Buffer_OnDeviceSizeInBytes": 0x20,
    "Buffer_Delete": 0x18, "Buffer_IsDeleted": 0x19, "Buffer_CopyRawToHost": 0x38, "Buffer_CopyToDevice": 0x28,
    "Buffer_CopyToMemory": 0x28, "Buffer_IsOnCpu": 0x19, "Buffer_Device": 0x20, "Buffer_Memory": 0x20,
    "Buffer_ReadyEvent": 0x20, "Buffer_UnsafePointer": 0x20, "Buffer_IncreaseExternalReferenceCount": 0x18,
    "Buffer_DecreaseExternalReferenceCount": 0x18, "Buffer_OpaqueDeviceMemoryDataPointer": 0x20,
    "TopologyDescription_Create": 0x38, "TopologyDescription_Destroy": 0x18,
    "TopologyDescription_PlatformVersion": 0x28, "TopologyDescription_PlatformName": 0x28,
    "TopologyDescription_GetDeviceDescriptions": 0x28, "TopologyDescription_Serialize": 0x38,
    "TopologyDescription_Attributes": 0x28,
}
NEWER = {  # not in the listing that the sizes above were checked against
    "Error_ForEachPayload": 0x28, "Device_GetAttributes": 0x38, "Device_ClearMemoryStats": 0x18,
    "LoadedExecutable_AddressableDeviceLogicalIds": 0x28,
    "Executable_ParameterMemoryKinds": 0x30,
    "Layouts_MemoryLayout_Destroy": 0x18, "Layouts_MemoryLayout_Serialize": 0x38,
    "Layouts_PJRT_Client_GetDefaultLayout": 0x38, "Layouts_PJRT_Buffer_MemoryLayout": 0x20,
    "Layouts_PJRT_Topology_GetDefaultLayout": 0x38, "Layouts_PJRT_Executable_GetOutputLayouts": 0x28,
    "Layouts_PJRT_Executable_GetParameterLayouts": 0x28, "Shardings_PJRT_Executable_ParameterShardings": 0x30,
    "Shardings_PJRT_Executable_OutputShardings": 0x30,
}
STRUCTURES = {
    "NamedValue": 0x38, "Program": 0x30, "ExecuteOptions": 0x70, "MemoryLayout": 0x4C, "StridesLayout": 0x4C,
    "ErrorFunctionTable": 0x38, "MemoryFunctionTable": 0x28,
}
# fmt: on


@pytest.mark.parametrize("name", sorted(c_api.ARGUMENTS))
def test_size_of_argument_structure(name: str):
    assert c_api.size_in_c(c_api.ARGUMENTS[name]) == (SIZES | NEWER)[name]


@pytest.mark.parametrize("name", sorted(c_api.STRUCTURES))
def test_size_of_structure(name: str):
    assert c_api.size_in_c(c_api.STRUCTURES[name]) == STRUCTURES[name]


def test_the_table_of_functions():
    assert len(c_api.FUNCTIONS) == len(set(c_api.FUNCTIONS)) == 138
    assert ctypes.sizeof(c_api.Api) == 1144
    assert c_api.Api.Buffer_ToHostBuffer.offset == 600


@pytest.mark.parametrize(("kind", "size"), [(4, 80), (19, 40)])
def test_size_of_extension(kind: int, size: int):
    assert c_api.size_in_c(c_api.extension_structure(kind)) == size


def test_every_function_that_is_served_has_its_structure():
    plugin._load_compiler()  # pyright: ignore[reportPrivateUsage]

    assert set(ENTRIES) | set(DIRECT) <= set(c_api.ARGUMENTS) <= set(c_api.ENTRY_NAMES)


def test_element_types_are_numbered_as_in_the_header():
    numbers = {"bool": 1, "int8": 2, "int64": 5, "uint8": 6, "uint64": 9, "float16": 10, "float32": 11, "float64": 12}
    numbers |= {"bfloat16": 13, "complex64": 14, "complex128": 15, "float8_e5m2": 16, "float8_e4m3fn": 17}
    numbers |= {"int4": 21, "uint4": 22, "int2": 24, "uint2": 25, "float8_e4m3": 26, "float4_e2m1fn": 29}
    for name, number in numbers.items():
        assert dtype_of(number).name == name
        assert element_type_of(dtype_of(number)) == number


def test_our_own_objects_have_no_gaps():
    for structure in OBJECTS.values():
        assert ctypes.sizeof(structure) == 8 * len(structure._fields_)
