"""The plugin without JAX: its table is called as jaxlib calls it, and reads messages that jaxlib serialized."""

import ctypes
import sys
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from xhlo.frontends.jax.c_api import ARGUMENTS, Api, Code, Semantics
from xhlo.frontends.jax.client import device_count
from xhlo.frontends.jax.entries import Kept, PluginError
from xhlo.frontends.jax.objects import OBJECTS
from xhlo.frontends.jax.plugin import plugin
from xhlo.frontends.jax.protos import parse, read_compile_options
from xhlo.hlo_dialect.protocol_buffers import encode_bytes, encode_number

API: Api = plugin().api


def call(name, **fields):
    """Call a function of the table; returns the arguments after the call. Raises PluginError if it returns an error."""
    arguments = ARGUMENTS[name](**fields)
    arguments.struct_size = ctypes.sizeof(arguments)
    error = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(getattr(API, name))(ctypes.addressof(arguments))
    if error:
        message = ARGUMENTS["Error_Message"](error=error)
        ctypes.CFUNCTYPE(None, ctypes.c_int64)(API.Error_Message)(ctypes.addressof(message))
        text = ctypes.string_at(message.message, message.message_size).decode()
        code = call("Error_GetCode", error=error).code
        destroy = ARGUMENTS["Error_Destroy"](error=error)
        ctypes.CFUNCTYPE(None, ctypes.c_int64)(API.Error_Destroy)(ctypes.addressof(destroy))
        raise PluginError(code, text)
    return arguments


CLIENT = call("Client_Create").client
DEVICE = ctypes.c_int64.from_address(call("Client_Devices", client=CLIENT).devices).value


def to_device(array, semantics=Semantics.ONLY_DURING_CALL, layout=0):
    shape, strides = (
        (ctypes.c_int64 * max(1, array.ndim))(*array.shape),
        (ctypes.c_int64 * max(1, array.ndim))(*array.strides),
    )
    return call(
        "Client_BufferFromHostBuffer", client=CLIENT, data=array.ctypes.data, type=11, dims=ctypes.addressof(shape),
        num_dims=array.ndim, byte_strides=ctypes.addressof(strides), num_byte_strides=array.ndim, semantics=semantics,
        device=DEVICE, device_layout=layout,
    )  # fmt: skip


def to_host(buffer, shape, layout=0):
    out = np.empty(shape, np.float32)
    call("Buffer_ToHostBuffer", src=buffer, dst=out.ctypes.data, dst_size=out.nbytes, host_layout=layout)
    return out


def test_a_buffer_from_birth_to_death():
    value = np.arange(12, dtype=np.float32).reshape(3, 4)
    buffer = to_device(value).buffer
    np.testing.assert_array_equal(to_host(buffer, (3, 4)), value)
    assert call("Buffer_ElementType", buffer=buffer).type == 11
    assert call("Buffer_OnDeviceSizeInBytes", buffer=buffer).size == 48
    assert call("Buffer_Device", buffer=buffer).device == DEVICE
    assert not call("Buffer_IsDeleted", buffer=buffer).is_deleted
    call("Buffer_Delete", buffer=buffer)
    assert call("Buffer_IsDeleted", buffer=buffer).is_deleted
    with pytest.raises(PluginError, match="deleted or donated") as caught:
        to_host(buffer, (3, 4))
    assert caught.value.code == Code.INVALID_ARGUMENT
    call("Buffer_Destroy", buffer=buffer)


def test_references_from_outside_keep_the_memory_of_a_deleted_buffer():
    value = np.full(50_000, 3, np.float32)
    buffer = to_device(value).buffer
    call("Buffer_IncreaseExternalReferenceCount", buffer=buffer)
    address = call("Buffer_OpaqueDeviceMemoryDataPointer", buffer=buffer).device_memory_ptr
    call("Buffer_Delete", buffer=buffer)
    others = [to_device(np.zeros(50_000, np.float32)).buffer for _ in range(3)]
    assert (np.ctypeslib.as_array((ctypes.c_float * 50_000).from_address(address)) == 3).all()
    call("Buffer_DecreaseExternalReferenceCount", buffer=buffer)
    for each in (buffer, *others):
        call("Buffer_Destroy", buffer=each)


def test_the_event_of_a_host_array_that_is_used_where_it_lies():
    raw = np.empty(4 * 5000 + 64, np.uint8)
    start = -raw.ctypes.data % 64
    made = to_device(raw[start : start + 20_000].view(np.float32), Semantics.ZERO_COPY)
    if call("Event_IsReady", event=made.done_with_host_buffer).is_ready:
        # The first transfer of a shape registers it, and is then repeated by machine code.
        pytest.fail("the array was copied")
    told = []
    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(
        lambda error, argument: told.append((error, argument))
    )
    call(
        "Event_OnReady",
        event=made.done_with_host_buffer,
        callback=ctypes.cast(callback, ctypes.c_void_p).value,
        user_arg=7,
    )
    call("Event_Destroy", event=made.done_with_host_buffer)
    assert not told
    call("Buffer_Destroy", buffer=made.buffer)
    assert told == [(None, 7)]


def test_layouts_of_the_host():
    from xhlo.frontends.jax.c_api import STRUCTURES

    value = np.arange(6, dtype=np.float32).reshape(2, 3)
    order = (ctypes.c_int64 * 2)(0, 1)
    layout = STRUCTURES["MemoryLayout"](minor_to_major=ctypes.addressof(order), minor_to_major_size=2)
    buffer = to_device(value).buffer
    assert to_host(buffer, 6, ctypes.addressof(layout)).tolist() == [0, 3, 1, 4, 2, 5]
    assert to_host(to_device(value, layout=ctypes.addressof(layout)).buffer, 6).tolist() == [0, 3, 1, 4, 2, 5]
    layout.num_tiles = 1
    with pytest.raises(PluginError, match="tiles"):
        to_host(buffer, 6, ctypes.addressof(layout))
    call("Buffer_Destroy", buffer=buffer)


def test_what_is_not_served_says_so():
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(API.Client_DmaMap)
    handle = function(0)
    assert OBJECTS["Error"].from_address(handle).code == Code.UNIMPLEMENTED
    error = OBJECTS["Error"].from_address(handle)
    assert ctypes.string_at(error.message, error.size) == b"xhlo does not implement PJRT_Client_DmaMap"


def test_devices_that_are_not_there():
    with pytest.raises(PluginError, match="no xhlo device 99"):
        call("Client_LookupDevice", client=CLIENT, id=99)
    with pytest.raises(PluginError, match="XHLO_NUM_DEVICES"):
        call("Client_DefaultDeviceAssignment", client=CLIENT, num_replicas=100, num_partitions=100)


@pytest.mark.parametrize(
    ("ours", "option", "flags", "count"),
    [
        (None, -1, "", 1),
        (None, -1, "--xla_foo=2 --xla_force_host_platform_device_count=5", 5),
        (None, -1, "--no_xla_force_host_platform_device_count=5", 1),
        (None, 3, "--xla_force_host_platform_device_count=5", 3),
        ("2", 3, "--xla_force_host_platform_device_count=5", 2),
        ("0", -1, "", "XHLO_NUM_DEVICES=0"),
        (None, 0, "", "jax_num_cpu_devices=0"),
        (None, -1, "--xla_force_host_platform_device_count=many", "device_count=many"),
    ],
)
def test_the_number_of_devices(
    monkeypatch: pytest.MonkeyPatch, ours: str | None, option: int, flags: str, count: int | str
):
    """XHLO_NUM_DEVICES comes before JAX's option for its platform cpu, and that before XLA's flag."""
    bridge = SimpleNamespace(num_cpu_devices=SimpleNamespace(value=option))
    monkeypatch.setitem(sys.modules, "jax._src.xla_bridge", cast("Any", bridge))
    monkeypatch.setenv("XLA_FLAGS", flags)
    if ours is None:
        monkeypatch.delenv("XHLO_NUM_DEVICES", raising=False)
    else:
        monkeypatch.setenv("XHLO_NUM_DEVICES", ours)
    if isinstance(count, int):
        assert device_count() == count
    else:
        with pytest.raises(PluginError, match=count):
            device_count()


def test_programs_of_other_formats_are_refused():
    from xhlo.frontends.jax.c_api import STRUCTURES

    code, form = ctypes.create_string_buffer(b"HloModule m"), ctypes.create_string_buffer(b"hlo")
    program = STRUCTURES["Program"](
        code=ctypes.addressof(code), code_size=11, format=ctypes.addressof(form), format_size=3
    )
    with pytest.raises(PluginError, match="format 'mlir', not 'hlo'"):
        call("Client_Compile", client=CLIENT, program=ctypes.addressof(program))


def test_serialized_executables_that_are_none():
    junk = ctypes.create_string_buffer(b"XJAX" + bytes(60))
    with pytest.raises(PluginError, match="cannot be loaded"):
        call(
            "Executable_DeserializeAndLoad", client=CLIENT, serialized_executable=ctypes.addressof(junk),
            serialized_executable_size=64,
        )  # fmt: skip


def test_compile_options_as_jaxlib_writes_them():
    xla_client = pytest.importorskip("jaxlib.xla_client")
    options = xla_client.CompileOptions()
    options.num_replicas, options.num_partitions = 2, 3
    assignment = xla_client.DeviceAssignment.create(np.array([[5, 1, 3], [2, 4, 300]]))
    options.device_assignment = assignment
    read = read_compile_options(options.SerializeAsString())
    assert (read.num_replicas, read.num_partitions) == (2, 3)
    assert read.devices == [[5, 1, 3], [2, 4, 300]] and read.device_ids == [5, 1, 3, 2, 4, 300]
    assert read.device_assignment == assignment.serialize()


def test_answers_take_memory_once():
    kept = Kept()
    both = kept.numbers([1, 2]), kept.bytes(b"ab")
    assert (kept.numbers(iter((1, 2))), kept.bytes(b"ab")) == both
    others = {kept.numbers([1, 2], ctypes.c_int32), kept.numbers([1]), kept.numbers([]), kept.bytes(b"a"), *both}
    assert len(others) == 6
    assert (ctypes.c_int64 * 2).from_address(both[0])[:] == [1, 2]
    assert ctypes.string_at(both[1]) == b"ab"


def test_messages():
    data = encode_number(1, 300) + encode_bytes(2, b"abc") + encode_number(1, 7)
    assert parse(data) == {1: [300, 7], 2: [b"abc"]}
    for cut in range(1, len(data)):
        try:
            parse(data[:cut])
        except PluginError as error:
            assert "cut off" in str(error)
    with pytest.raises(PluginError, match="wire type 3"):
        parse(b"\x0b")
