"""
The PJRT C API as ctypes structures.

The layouts are facts of the public header `xla/pjrt/c/pjrt_c_api.h` (openxla/xla) at API 0.112. The API grows by adding
fields at the ends of its structures and functions at the end of its table, and each structure carries its size, so a
caller of another minor version reads the part that both sides know.

A structure is a line of its fields. A field is a pointer or a 64-bit number unless its name says otherwise: `:i32`,
`:bool`. Argument structures begin with `struct_size` and `extension_start`, which are not written out.
"""

from __future__ import annotations

import ctypes
from typing import Any

MAJOR = 0
MINOR = 112

_FUNCTIONS = """
Error_Destroy Error_Message Error_GetCode
Plugin_Initialize Plugin_Attributes
Event_Destroy Event_IsReady Event_Error Event_Await Event_OnReady
Client_Create Client_Destroy Client_PlatformName Client_ProcessIndex Client_PlatformVersion Client_Devices
Client_AddressableDevices Client_LookupDevice Client_LookupAddressableDevice Client_AddressableMemories Client_Compile
Client_DefaultDeviceAssignment Client_BufferFromHostBuffer
DeviceDescription_Id DeviceDescription_ProcessIndex DeviceDescription_Attributes DeviceDescription_Kind
DeviceDescription_DebugString DeviceDescription_ToString
Device_GetDescription Device_IsAddressable Device_LocalHardwareId Device_AddressableMemories Device_DefaultMemory
Device_MemoryStats
Memory_Id Memory_Kind Memory_DebugString Memory_ToString Memory_AddressableByDevices
Executable_Destroy Executable_Name Executable_NumReplicas Executable_NumPartitions Executable_NumOutputs
Executable_SizeOfGeneratedCodeInBytes Executable_GetCostAnalysis Executable_OutputMemoryKinds
Executable_OptimizedProgram Executable_Serialize
LoadedExecutable_Destroy LoadedExecutable_GetExecutable LoadedExecutable_AddressableDevices LoadedExecutable_Delete
LoadedExecutable_IsDeleted LoadedExecutable_Execute Executable_DeserializeAndLoad LoadedExecutable_Fingerprint
Buffer_Destroy Buffer_ElementType Buffer_Dimensions Buffer_UnpaddedDimensions Buffer_DynamicDimensionIndices
Buffer_GetMemoryLayout Buffer_OnDeviceSizeInBytes Buffer_Device Buffer_Memory Buffer_Delete Buffer_IsDeleted
Buffer_CopyToDevice Buffer_ToHostBuffer Buffer_IsOnCpu Buffer_ReadyEvent Buffer_UnsafePointer
Buffer_IncreaseExternalReferenceCount Buffer_DecreaseExternalReferenceCount Buffer_OpaqueDeviceMemoryDataPointer
CopyToDeviceStream_Destroy CopyToDeviceStream_AddChunk CopyToDeviceStream_TotalBytes CopyToDeviceStream_GranuleSize
CopyToDeviceStream_CurrentBytes
TopologyDescription_Create TopologyDescription_Destroy TopologyDescription_PlatformName
TopologyDescription_PlatformVersion TopologyDescription_GetDeviceDescriptions TopologyDescription_Serialize
TopologyDescription_Attributes
Compile Executable_OutputElementTypes Executable_OutputDimensions Buffer_CopyToMemory
Client_CreateViewOfDeviceBuffer Executable_Fingerprint Client_TopologyDescription Executable_GetCompiledMemoryStats
Memory_Kind_Id ExecuteContext_Create ExecuteContext_Destroy Buffer_CopyRawToHost
AsyncHostToDeviceTransferManager_Destroy AsyncHostToDeviceTransferManager_TransferData
Client_CreateBuffersForAsyncHostToDevice AsyncHostToDeviceTransferManager_RetrieveBuffer
AsyncHostToDeviceTransferManager_Device AsyncHostToDeviceTransferManager_BufferCount
AsyncHostToDeviceTransferManager_BufferSize AsyncHostToDeviceTransferManager_SetBufferError
AsyncHostToDeviceTransferManager_AddMetadata
Client_DmaMap Client_DmaUnmap Client_CreateUninitializedBuffer Client_UpdateGlobalProcessInfo
TopologyDescription_Deserialize Client_CreateAliasBuffer Client_FulfillAliasBuffer
LoadedExecutable_GetDeviceAssignment Client_CreateErrorBuffer AsyncHostToDeviceTransferManager_TransferLiteral
Buffer_CopyRawToHostFuture Device_PoisonExecution Device_CreateAsyncTrackingEvent AsyncTrackingEvent_Destroy
Executable_GetCompileOptions Buffer_DonateWithControlDependency Event_Create Event_Set Device_GetAttributes
Client_Load LoadedExecutable_AddressableDeviceLogicalIds Buffer_Bitcast Error_ForEachPayload
TopologyDescription_Fingerprint Executable_ParameterMemoryKinds Device_ClearMemoryStats
TopologyDescription_MakeCanonicalShapeForMemorySpace TopologyDescription_GetMemorySpaceKindIds
"""

FUNCTIONS: tuple[str, ...] = tuple(_FUNCTIONS.split())
"""The entries of the table, in order, without their prefix "PJRT_"."""

_LAYOUTS = """
Layouts_MemoryLayout_Destroy Layouts_MemoryLayout_Serialize Layouts_PJRT_Client_GetDefaultLayout
Layouts_PJRT_Buffer_MemoryLayout Layouts_PJRT_Topology_GetDefaultLayout Layouts_PJRT_Executable_GetOutputLayouts
Layouts_PJRT_Executable_GetParameterLayouts
"""

_SHARDINGS = "Shardings_PJRT_Executable_ParameterShardings Shardings_PJRT_Executable_OutputShardings"

EXTENSIONS: dict[int, tuple[str, ...]] = {4: tuple(_LAYOUTS.split()), 19: tuple(_SHARDINGS.split())}
"""
The functions of extensions, in order, by `PJRT_Extension_Type` (`pjrt_c_api_layouts_extension.h` and
`pjrt_c_api_shardings_extension.h`). Without them jaxlib parses the optimized program to learn a few facts.
"""

ENTRY_NAMES: tuple[str, ...] = (*FUNCTIONS, *(name for names in EXTENSIONS.values() for name in names))
"""All functions; their places here are the numbers by which machine code names them."""

_ARGUMENTS = """
Error_Destroy: error
Error_Message: error message message_size
Error_GetCode: error code:i32
Error_ForEachPayload: error visitor user_arg
Plugin_Initialize:
Plugin_Attributes: attributes num_attributes
Event_Destroy: event
Event_IsReady: event is_ready:bool
Event_Error: event
Event_Await: event
Event_OnReady: event callback user_arg
Client_Create: create_options num_options kv_get_callback kv_get_user_arg kv_put_callback kv_put_user_arg client
  kv_try_get_callback kv_try_get_user_arg
Client_Destroy: client
Client_PlatformName: client platform_name platform_name_size
Client_ProcessIndex: client process_index:i32
Client_PlatformVersion: client platform_version platform_version_size
Client_TopologyDescription: client topology
Client_Devices: client devices num_devices
Client_AddressableDevices: client devices num_devices
Client_LookupDevice: client id:i32 device
Client_LookupAddressableDevice: client local_hardware_id:i32 device
Client_AddressableMemories: client memories num_memories
Client_Compile: client program compile_options compile_options_size executable
Client_DefaultDeviceAssignment: client num_replicas:i32 num_partitions:i32 default_assignment_size default_assignment
Client_BufferFromHostBuffer: client data type:i32 dims num_dims byte_strides num_byte_strides semantics:i32 device
  memory device_layout done_with_host_buffer buffer
Client_CreateViewOfDeviceBuffer: client device_buffer_ptr dims num_dims element_type:i32 layout device
  on_delete_callback on_delete_callback_arg stream buffer memory
Client_CreateUninitializedBuffer: client dims num_dims element_type:i32 layout device memory buffer
Client_CreateErrorBuffer: client error_code:i32 error_message error_message_size dims num_dims element_type:i32 layout
  memory buffer
DeviceDescription_Id: device_description id:i32
DeviceDescription_ProcessIndex: device_description process_index:i32
DeviceDescription_Attributes: device_description num_attributes attributes
DeviceDescription_Kind: device_description device_kind device_kind_size
DeviceDescription_DebugString: device_description debug_string debug_string_size
DeviceDescription_ToString: device_description to_string to_string_size
Device_GetDescription: device device_description
Device_IsAddressable: device is_addressable:bool
Device_LocalHardwareId: device local_hardware_id:i32
Device_AddressableMemories: device memories num_memories
Device_DefaultMemory: device memory
Device_ClearMemoryStats: device
Device_GetAttributes: device attributes num_attributes device_attributes attributes_deleter
Device_MemoryStats: device bytes_in_use peak_bytes_in_use peak_bytes_in_use_is_set:bool num_allocs
  num_allocs_is_set:bool largest_alloc_size largest_alloc_size_is_set:bool bytes_limit bytes_limit_is_set:bool
  bytes_reserved bytes_reserved_is_set:bool peak_bytes_reserved peak_bytes_reserved_is_set:bool
  bytes_reservable_limit bytes_reservable_limit_is_set:bool largest_free_block_bytes
  largest_free_block_bytes_is_set:bool pool_bytes pool_bytes_is_set:bool peak_pool_bytes peak_pool_bytes_is_set:bool
Memory_Id: memory id:i32
Memory_Kind: memory kind kind_size
Memory_Kind_Id: memory kind_id:i32
Memory_DebugString: memory debug_string debug_string_size
Memory_ToString: memory to_string to_string_size
Memory_AddressableByDevices: memory devices num_devices
ExecuteContext_Create: context
ExecuteContext_Destroy: context
Executable_Destroy: executable
Executable_Name: executable executable_name executable_name_size
Executable_NumReplicas: executable num_replicas
Executable_NumPartitions: executable num_partitions
Executable_NumOutputs: executable num_outputs
Executable_SizeOfGeneratedCodeInBytes: executable size_in_bytes
Executable_Fingerprint: executable executable_fingerprint executable_fingerprint_size
Executable_GetCostAnalysis: executable num_properties properties
Executable_GetCompiledMemoryStats: executable generated_code_size argument_size output_size alias_size temp_size
  host_generated_code_size host_argument_size host_output_size host_alias_size host_temp_size peak_memory total_size
Executable_OutputElementTypes: executable output_types num_output_types
Executable_OutputDimensions: executable num_outputs dims dim_sizes
Executable_OutputMemoryKinds: executable num_outputs memory_kinds memory_kind_sizes
Executable_ParameterMemoryKinds: executable num_parameters memory_kinds memory_kind_sizes
Executable_OptimizedProgram: executable program
Executable_Serialize: executable serialized_bytes serialized_bytes_size owner deleter
Executable_GetCompileOptions: executable serialized_bytes serialized_bytes_size owner deleter
Executable_DeserializeAndLoad: client serialized_executable serialized_executable_size loaded_executable
  overridden_compile_options overridden_compile_options_size
LoadedExecutable_Destroy: executable
LoadedExecutable_GetExecutable: loaded_executable executable
LoadedExecutable_AddressableDevices: executable devices num_devices
LoadedExecutable_AddressableDeviceLogicalIds: executable logical_ids num_logical_ids
LoadedExecutable_GetDeviceAssignment: executable serialized_bytes serialized_bytes_size owner deleter
LoadedExecutable_Delete: executable
LoadedExecutable_IsDeleted: executable is_deleted:bool
LoadedExecutable_Fingerprint: executable executable_fingerprint executable_fingerprint_size
LoadedExecutable_Execute: executable options argument_lists num_devices num_args output_lists device_complete_events
  execute_device
Buffer_Destroy: buffer
Buffer_ElementType: buffer type:i32
Buffer_Dimensions: buffer dims num_dims
Buffer_UnpaddedDimensions: buffer dims num_dims
Buffer_DynamicDimensionIndices: buffer dynamic_dim_indices num_dynamic_dims
Buffer_GetMemoryLayout: buffer layout_struct_size layout_extension_start tiled_struct_size tiled_extension_start
  minor_to_major minor_to_major_size tile_dims tile_dim_sizes num_tiles layout_type:i32 padding:i32
Buffer_OnDeviceSizeInBytes: buffer size
Buffer_Device: buffer device
Buffer_Memory: buffer memory
Buffer_Delete: buffer
Buffer_IsDeleted: buffer is_deleted:bool
Buffer_CopyToDevice: buffer dst_device dst_buffer
Buffer_CopyToMemory: buffer dst_memory dst_buffer
Buffer_ToHostBuffer: src host_layout dst dst_size event
Buffer_CopyRawToHost: buffer dst offset transfer_size event
Buffer_IsOnCpu: buffer is_on_cpu:bool
Buffer_ReadyEvent: buffer event
Buffer_UnsafePointer: buffer buffer_pointer
Buffer_IncreaseExternalReferenceCount: buffer
Buffer_DecreaseExternalReferenceCount: buffer
Buffer_OpaqueDeviceMemoryDataPointer: buffer device_memory_ptr
TopologyDescription_Create: topology_name topology_name_size create_options num_options topology
TopologyDescription_Destroy: topology
TopologyDescription_PlatformName: topology platform_name platform_name_size
TopologyDescription_PlatformVersion: topology platform_version platform_version_size
TopologyDescription_GetDeviceDescriptions: topology descriptions num_descriptions
TopologyDescription_Serialize: topology serialized_bytes serialized_bytes_size owner deleter
TopologyDescription_Attributes: topology attributes num_attributes
Layouts_MemoryLayout_Destroy: layout
Layouts_MemoryLayout_Serialize: layout serialized_bytes serialized_bytes_size owner deleter
Layouts_PJRT_Client_GetDefaultLayout: client type:i32 dims num_dims layout
Layouts_PJRT_Buffer_MemoryLayout: buffer layout
Layouts_PJRT_Topology_GetDefaultLayout: topology type:i32 dims num_dims layout
Layouts_PJRT_Executable_GetOutputLayouts: executable num_outputs layouts
Layouts_PJRT_Executable_GetParameterLayouts: executable num_parameters layouts
Shardings_PJRT_Executable_ParameterShardings: executable num_parameters shardings sharding_sizes
Shardings_PJRT_Executable_OutputShardings: executable num_outputs shardings sharding_sizes
"""

_OTHERS = """
NamedValue: struct_size extension_start name name_size type:i32 value value_size
Program: struct_size extension_start code code_size format format_size
ExecuteOptions: struct_size extension_start send_callbacks recv_callbacks num_send_ops num_recv_ops launch_id:i32
  non_donatable_input_indices num_non_donatable_input_indices context call_location num_tasks task_ids incarnation_ids
MemoryLayout: struct_size extension_start tiled_struct_size tiled_extension_start minor_to_major minor_to_major_size
  tile_dims tile_dim_sizes num_tiles type:i32
StridesLayout: struct_size extension_start strides_struct_size strides_extension_start byte_strides num_byte_strides
  unused0 unused1 unused2 type:i32
ErrorFunctionTable: struct_size instance_size extension_start destroy message get_code for_each_payload
MemoryFunctionTable: struct_size extension_start instance_size get_user_data set_user_data
"""

_KINDS: dict[str, Any] = {"": ctypes.c_int64, "i32": ctypes.c_int32, "bool": ctypes.c_bool}


def structures(text: str, prefix: tuple[str, ...] = ()) -> dict[str, type[ctypes.Structure]]:
    """A class for each line, `Name: field field:i32 ..`; an indented line continues the one before."""
    made: dict[str, type[ctypes.Structure]] = {}
    for line in text.strip().replace("\n  ", " ").splitlines():
        name, _, fields = line.partition(":")
        pairs = [field.partition(":") for field in (*prefix, *fields.split())]
        made[name] = type(name, (ctypes.Structure,), {"_fields_": [(field, _KINDS[kind]) for field, _, kind in pairs]})
    return made


ARGUMENTS = structures(_ARGUMENTS, ("struct_size", "extension_start"))
"""The argument structure of each function that the plugin has, by the function's name."""

STRUCTURES = structures(_OTHERS)
"""The other structures. Pointers are 64-bit numbers in them."""


def size_in_c(structure: type[ctypes.Structure]) -> int:
    """The header's `.._STRUCT_SIZE`: up to the end of the last field, without padding after it."""
    last: Any = getattr(structure, structure._fields_[-1][0])
    return int(last.offset + last.size)


class Version(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.c_void_p),
        ("major", ctypes.c_int),
        ("minor", ctypes.c_int),
    ]


class Api(ctypes.Structure):
    """`PJRT_Api`: the version and the addresses of the functions."""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.c_void_p),
        ("version", Version),
        *((name, ctypes.c_void_p) for name in FUNCTIONS),
    ]


def extension_structure(kind: int) -> type[ctypes.Structure]:
    """The structure of an extension: `PJRT_Extension_Base`, then the addresses of its functions."""
    base = [("struct_size", ctypes.c_size_t), ("type", ctypes.c_int), ("next", ctypes.c_void_p)]
    functions = [(name, ctypes.c_void_p) for name in EXTENSIONS[kind]]
    return type("Extension", (ctypes.Structure,), {"_fields_": [*base, *functions]})


class Code:
    """`PJRT_Error_Code`, the codes of absl::Status."""

    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    NOT_FOUND = 5
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    UNIMPLEMENTED = 12
    INTERNAL = 13


class Semantics:
    """`PJRT_HostBufferSemantics`: how long the host memory of a new buffer stays unchanged."""

    ONLY_DURING_CALL = 0
    UNTIL_TRANSFER_COMPLETES = 1
    ZERO_COPY = 2
    """As long as the buffer lives: the buffer may be that memory."""
    MUTABLE_ZERO_COPY = 3


STRING, INT64, INT64_LIST, FLOAT, BOOL = range(5)
"""`PJRT_NamedValue_Type`"""

_ELEMENT_TYPES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 bfloat16 complex64 complex128 "
    "float8_e5m2 float8_e4m3fn float8_e4m3b11fnuz float8_e5m2fnuz float8_e4m3fnuz int4 uint4 token int2 uint2 "
    "float8_e4m3 float8_e3m4 float8_e8m0fnu float4_e2m1fn int1 uint1"
)

ELEMENT_TYPES: tuple[str, ...] = tuple(_ELEMENT_TYPES.split())
"""`PJRT_Buffer_Type` by NumPy's and ml_dtypes' names; the first is number 1."""

TOKEN = ELEMENT_TYPES.index("token") + 1
"""The element type of tokens, whose buffers hold nothing."""
