"""The larger pieces of the plugin's machine code: transfers, execution and errors."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from pathlib import Path
from typing import Any

from ...targets.cache.files import fingerprint
from ...targets.cpu.jit import LoadedCode, engine, kept_object, load
from ...targets.cpu.memory import default_limit
from ...targets.cpu.thread_limits import default_thread_count
from . import native
from .c_api import ENTRY_NAMES, STRUCTURES, Semantics
from .native import I8, I32, I64, PTR, VOID, Emitter, ir
from .native_entry import PYTHON, emit_entry, emit_stubs
from .native_events import emit_events, is_ready
from .native_execution import emit_execute
from .native_tasks import RUNTIME, emit_tasks
from .objects import OBJECTS

SPEC_SLOTS = 1024
"""Slots of the table in which machine code finds the spec of a shape (a power of two)."""

SPEC_SALT = 0x9E3779B97F4A7C15
"""An odd multiplier that mixes the bits of a hash (2^64 / the golden ratio)."""


def _emit_spec_lookup(e: Emitter) -> None:
    table = e.variable("xhlo_specs", ir.ArrayType(I64, SPEC_SLOTS))
    with e.function("xhlo_spec_slot", PTR, I32, PTR, I64) as (kind, dims, rank):
        b = e.build
        hash_ = b.alloca(I64)
        b.store(b.zext(kind, I64), hash_)
        with e.loop(rank) as index:
            mixed = b.mul(b.add(b.load(hash_, typ=I64), e.item(dims, index)), I64(SPEC_SALT))
            b.store(b.xor(mixed, b.lshr(mixed, I64(29))), hash_)
        slot = b.and_(b.load(hash_, typ=I64), I64(SPEC_SLOTS - 1))
        b.ret(b.gep(table, [slot], source_etype=I64))

    with e.function("xhlo_spec_find", PTR, I32, PTR, I64) as (kind, dims, rank):
        # The spec of an element type and a shape, or null if its slot in the table holds another one.
        b = e.build
        slot = e.call("xhlo_spec_slot", kind, dims, rank)
        spec = b.load(slot, typ=I64)
        with e.when(e.is_zero(spec)):
            b.ret(PTR(None))
        same = b.and_(
            b.icmp_unsigned("==", e.get(spec, "Spec.element_type"), b.zext(kind, I64)),
            b.icmp_unsigned("==", e.get(spec, "Spec.num_dims"), rank),
        )
        with e.when(b.not_(same)):
            b.ret(PTR(None))
        with e.loop(rank) as index:
            equal = b.icmp_unsigned("==", e.item(e.get(spec, "Spec.dims"), index), e.item(dims, index))
            with e.when(b.not_(equal)):
                b.ret(PTR(None))
        b.ret(e.pointer(spec))


def _emit_transfer_from_host(e: Emitter) -> None:
    name = "Client_BufferFromHostBuffer"
    with e.function(f"PJRT_{name}", PTR, PTR) as (args,):
        b = e.build

        def read(field: str) -> Any:
            return e.get(args, f"{name}_Args.{field}")

        def leave_to_python(condition: Any) -> None:
            with e.when(condition):
                b.ret(e.call("xhlo_enter", I32(ENTRY_NAMES.index(name)), args))

        rank = read("num_dims")
        spec = e.call("xhlo_spec_find", read("type"), e.pointer(read("dims")), rank)
        leave_to_python(e.is_zero(e.number(spec)))
        leave_to_python(b.not_(e.is_zero(read("device_layout"))))
        strides = read("byte_strides")
        has_strides = b.and_(b.not_(e.is_zero(read("num_byte_strides"))), b.not_(e.is_zero(strides)))
        with e.when(has_strides), e.loop(rank) as index:
            leave_to_python(b.icmp_unsigned("!=", e.item(strides, index), e.item(e.get(spec, "Spec.strides"), index)))
        device = b.alloca(I64)
        b.store(read("device"), device)
        memory = read("memory")
        with e.when(b.not_(e.is_zero(memory))):
            b.store(e.get(memory, "Memory.device"), device)
        data, nbytes = read("data"), e.get(spec, "Spec.nbytes")
        ready = e.variable(*native.READY)
        aligned = e.is_zero(b.and_(data, I64(ALIGNMENT - 1)))
        long_lived = b.icmp_unsigned(">=", read("semantics"), I32(Semantics.ZERO_COPY))
        large = b.icmp_unsigned(">=", nbytes, I64(COPY_BELOW))
        with e.when(b.and_(b.and_(aligned, long_lived), large)):
            event = native.new(e, "Event", references=2)
            storage = native.new(e, "Storage", references=1, data=data, event=event)
            e.set(args, f"{name}_Args.buffer", e.call("xhlo_buffer_new", spec, storage, b.load(device, typ=I64)))
            e.set(args, f"{name}_Args.done_with_host_buffer", event)
            b.ret(PTR(None))
        storage = e.call("xhlo_storage_new", nbytes)
        leave_to_python(e.is_zero(e.number(storage)))
        e.call("memcpy", e.pointer(e.get(storage, "Storage.data")), e.pointer(data), nbytes)
        e.set(args, f"{name}_Args.buffer", e.call("xhlo_buffer_new", spec, storage, b.load(device, typ=I64)))
        e.set(args, f"{name}_Args.done_with_host_buffer", ready)


def _emit_transfer_to_host(e: Emitter) -> None:
    name = "Buffer_ToHostBuffer"
    with e.function(f"PJRT_{name}", PTR, PTR) as (args,):
        b = e.build
        buffer, target = e.get(args, f"{name}_Args.src"), e.get(args, f"{name}_Args.dst")
        nbytes = e.get(e.get(buffer, "Buffer.spec"), "Spec.nbytes")
        with e.when(e.is_zero(target)):
            e.set(args, f"{name}_Args.dst_size", nbytes)
            b.ret(PTR(None))
        is_permuted = e.get(e.get(buffer, "Buffer.spec"), "Spec.permuted")
        plain = e.is_zero(b.or_(e.get(args, f"{name}_Args.host_layout"), is_permuted))
        event = e.get(buffer, "Buffer.ready")
        with e.when(b.not_(e.is_zero(event))):
            failed = b.not_(e.is_zero(e.get(event, "Event.error")))
            with e.when(b.or_(b.not_(is_ready(e, event)), failed)):
                b.ret(e.call("xhlo_enter", I32(ENTRY_NAMES.index(name)), args))
        enough = b.icmp_unsigned(">=", e.get(args, f"{name}_Args.dst_size"), nbytes)
        held = b.alloca(PTR)
        b.store(PTR(None), held)
        with e.when(b.and_(plain, enough)):
            b.store(e.call("xhlo_buffer_hold", e.pointer(buffer)), held)
        storage = b.load(held, typ=PTR)
        with e.when(e.is_zero(e.number(storage))):
            b.ret(e.call("xhlo_enter", I32(ENTRY_NAMES.index(name)), args))
        e.call("memcpy", e.pointer(target), e.pointer(e.get(buffer, "Buffer.data")), nbytes)
        e.call("xhlo_storage_drop", storage)
        e.set(args, f"{name}_Args.event", e.variable(*native.READY))


ALIGNMENT = 64
"""
Alignment in bytes that a host array needs to be used in place, as on XLA:CPU. NumPy's own arrays seldom have it;
programs that modify an array after passing it are wrong, but usually got away with it.
"""

COPY_BELOW = 4096
"""Size in bytes below which a host array is copied rather than kept alive."""


def _emit_errors(e: Emitter) -> None:
    table = e.variable("xhlo_error_functions", ir.ArrayType(I64, 7))
    with e.function("xhlo_error_new", PTR, I64, PTR, I64) as (code, text, size):
        b = e.build
        copy = e.call("malloc", b.add(size, I64(1)))
        e.call("memcpy", copy, text, size)
        b.store(I8(0), b.gep(copy, [size], source_etype=I8))
        b.ret(native.new(e, "Error", function_table=table, code=code, message=copy, size=size))

    with e.function("xhlo_error_destroy", VOID, PTR) as (error,):
        with e.when(e.is_zero(e.number(error))):
            e.build.ret_void()
        e.call("free", e.pointer(e.get(error, "Error.message")))
        e.call("free", error)
    with e.function("xhlo_error_message", VOID, PTR, PTR, PTR) as (error, message, size):
        e.put(message, 0, e.get(error, "Error.message"))
        e.put(size, 0, e.get(error, "Error.size"))
    with e.function("xhlo_error_code", I32, PTR) as (error,):
        e.build.ret(e.build.trunc(e.get(error, "Error.code"), I32))
    with e.function("xhlo_error_payloads", VOID, PTR, PTR, PTR):
        pass
    with e.function("xhlo_nothing", PTR, PTR):
        # The deleter of objects that are never freed; for functions of which one is expected, no error.
        pass
    with e.function("PJRT_Error_Destroy", VOID, PTR) as (args,):
        e.call("xhlo_error_destroy", e.pointer(e.get(args, "Error_Destroy_Args.error")))
    with e.function("PJRT_Error_Message", VOID, PTR) as (args,):
        error = e.pointer(e.get(args, "Error_Message_Args.error"))
        places = (e.place(args, f"Error_Message_Args.{field}") for field in ("message", "message_size"))
        e.call("xhlo_error_message", error, *places)
    with e.function("PJRT_Error_GetCode", PTR, PTR) as (args,):
        code = e.call("xhlo_error_code", e.pointer(e.get(args, "Error_GetCode_Args.error")))
        e.set(args, "Error_GetCode_Args.code", code)
    with e.function("PJRT_Error_ForEachPayload", PTR, PTR):
        pass


def _emit_layouts(e: Emitter) -> None:
    """The memory layout of a buffer is its spec, which has the text that jaxlib reads."""
    name = "Layouts_PJRT_Buffer_MemoryLayout"
    with e.function(f"PJRT_{name}", PTR, PTR) as (args,):
        e.set(args, f"{name}_Args.layout", e.get(e.get(args, f"{name}_Args.buffer"), "Buffer.spec"))
    name = "Layouts_MemoryLayout_Serialize"
    with e.function(f"PJRT_{name}", PTR, PTR) as (args,):
        spec = e.get(args, f"{name}_Args.layout")
        e.set(args, f"{name}_Args.serialized_bytes", e.get(spec, "Spec.layout"))
        e.set(args, f"{name}_Args.serialized_bytes_size", e.get(spec, "Spec.layout_size"))
        e.set(args, f"{name}_Args.owner", spec)
        e.set(args, f"{name}_Args.deleter", e.function_address("xhlo_nothing"))
    with e.function("PJRT_Layouts_MemoryLayout_Destroy", PTR, PTR):
        pass  # specs are never freed


def _emit_user_data(e: Emitter) -> None:
    """The user data that jaxlib attaches to memories: a short list each."""

    def find(memory: Any, key: Any) -> Any:
        b = e.build
        entry = b.alloca(I64)
        b.store(e.get(memory, "Memory.user_data"), entry)

        def is_other() -> Any:
            at = b.load(entry, typ=I64)
            wanted = e.variable("xhlo_no_user_data", ir.ArrayType(I64, 4))
            safe = b.select(e.is_zero(at), e.number(wanted), at)
            differs = b.icmp_unsigned("!=", e.get(safe, "UserData.key"), e.number(key))
            return b.and_(b.not_(e.is_zero(at)), differs)

        with e.repeat(is_other):
            b.store(e.get(b.load(entry, typ=I64), "UserData.next"), entry)
        return b.load(entry, typ=I64)

    with e.function("xhlo_memory_get", PTR, PTR, PTR) as (memory, key):
        b = e.build
        found = b.alloca(I64)
        b.store(I64(0), found)
        with e.locked(e.place(memory, "Memory.lock")):
            entry = find(memory, key)
            with e.when(b.not_(e.is_zero(entry))):
                b.store(e.get(entry, "UserData.value"), found)
        b.ret(e.pointer(b.load(found, typ=I64)))

    with e.function("xhlo_memory_set", VOID, PTR, PTR, PTR, PTR) as (memory, key, value, destructor):
        b = e.build
        old_value, old_destructor = b.alloca(I64), b.alloca(I64)
        b.store(I64(0), old_value)
        b.store(I64(0), old_destructor)
        with e.locked(e.place(memory, "Memory.lock")):
            entry = find(memory, key)
            with b.if_else(e.is_zero(entry)) as (missing, there):
                with missing:
                    fields = {"key": key, "value": value, "destructor": destructor}
                    made = native.new(e, "UserData", **fields, next=e.get(memory, "Memory.user_data"))
                    e.set(memory, "Memory.user_data", made)
                with there:
                    b.store(e.get(entry, "UserData.value"), old_value)
                    b.store(e.get(entry, "UserData.destructor"), old_destructor)
                    e.set(entry, "UserData.value", value)
                    e.set(entry, "UserData.destructor", destructor)
        destroys = b.load(old_destructor, typ=I64)
        with e.when(b.not_(e.is_zero(destroys))):
            e.call_pointer(destroys, VOID, b.load(old_value, typ=I64))


def _emit_facts(e: Emitter) -> None:
    """Answers that are fields of an executable or a memory."""
    for name, object_, fields in (
        ("Executable_NumReplicas", "executable", ("num_replicas",)),
        ("Executable_NumPartitions", "executable", ("num_partitions",)),
        ("Executable_NumOutputs", "executable", ("num_outputs",)),
        ("Memory_Kind", "memory", ("kind", "kind_size")),
    ):
        with e.function(f"PJRT_{name}", PTR, PTR) as (args,):
            asked = e.get(args, f"{name}_Args.{object_}")
            for field in fields:
                e.set(args, f"{name}_Args.{field}", e.get(asked, f"{object_.capitalize()}.{field}"))


DIRECT = (
    "Error_Destroy Error_Message Error_GetCode Error_ForEachPayload "
    "Executable_NumReplicas Executable_NumPartitions Executable_NumOutputs Memory_Kind "
    "Event_Destroy Event_IsReady Event_Error Event_Await Event_OnReady "
    "Buffer_ElementType Buffer_Dimensions Buffer_UnpaddedDimensions Buffer_DynamicDimensionIndices "
    "Buffer_GetMemoryLayout Buffer_OnDeviceSizeInBytes Buffer_Device Buffer_Memory Buffer_Delete Buffer_IsDeleted "
    "Buffer_Destroy Buffer_IsOnCpu Buffer_ReadyEvent Buffer_UnsafePointer Buffer_IncreaseExternalReferenceCount "
    "Buffer_DecreaseExternalReferenceCount Buffer_OpaqueDeviceMemoryDataPointer "
    "Layouts_MemoryLayout_Destroy Layouts_MemoryLayout_Serialize Layouts_PJRT_Buffer_MemoryLayout "
    "Client_BufferFromHostBuffer Buffer_ToHostBuffer LoadedExecutable_Execute"
).split()
"""The API functions implemented in machine code; the last three leave unusual cases to Python."""

_EXPORTS = (
    "xhlo_storage_new xhlo_storage_drop xhlo_buffer_new xhlo_buffer_hold xhlo_buffer_give xhlo_buffer_delete "
    "xhlo_error_new xhlo_error_destroy xhlo_error_message xhlo_error_code xhlo_error_payloads xhlo_memory_get "
    "xhlo_memory_set xhlo_nothing xhlo_spec_slot xhlo_capacity xhlo_allocate xhlo_free xhlo_buffer_wait "
    "xhlo_prepare_locks xhlo_host_task xhlo_task_end xhlo_expected_time"
).split()

_VARIABLES = (
    "xhlo_ready",
    "xhlo_dispatcher",
    "xhlo_inside",
    "xhlo_interrupted",
    "xhlo_interrupt_class",
    "xhlo_main_thread",
    "xhlo_error_functions",
    "xhlo_pool_limit",
    "xhlo_pool_kept",
    "xhlo_pool_lock",
    "xhlo_in_use",
    "xhlo_in_use_peak",
    "xhlo_largest",
    "xhlo_allocations",
    "xhlo_tasks",
    "xhlo_ending",
    "xhlo_machine_tasks",
)


def emit() -> str:
    """The module as LLVM IR text."""
    e = Emitter()
    native.emit_memory(e)
    emit_events(e)
    native.emit_storages(e)
    native.emit_buffers(e)
    native.emit_buffer_questions(e)
    native.emit_buffer_ends(e)
    _emit_facts(e)
    emit_entry(e)
    _emit_spec_lookup(e)
    _emit_transfer_from_host(e)
    _emit_transfer_to_host(e)
    emit_tasks(e)
    emit_execute(e)
    _emit_errors(e)
    _emit_layouts(e)
    _emit_user_data(e)
    emit_stubs(e, [name for name in ENTRY_NAMES if name not in DIRECT])
    return str(e.module)


def _key() -> tuple[str, ...]:
    """The text's sources: the files of this folder."""
    folder = Path(__file__).resolve().parent
    return "plugin", fingerprint(folder.parent, (folder.name,))


class Native:
    """The loaded machine code; its functions are attributes: `native.buffer_new(spec, storage, device)`."""

    def __init__(self) -> None:
        symbols = (*(f"PJRT_{name}" for name in ENTRY_NAMES), *_EXPORTS, *_VARIABLES)
        imports = {name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0 for name in PYTHON}
        imports |= {name: engine().runtime.address(name) for name in RUNTIME}
        self._code: LoadedCode = load(kept_object(_key(), emit), symbols, imports)
        for name in _EXPORTS:
            result = None if name in _WITHOUT_RESULT else ctypes.c_int64
            kind = ctypes.CFUNCTYPE(result, *[ctypes.c_int64] * _ARITY[name])
            setattr(self, name.removeprefix("xhlo_"), kind(self._code.address(name)))
        self.buffer_from_host = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(
            self.entry("Client_BufferFromHostBuffer")
        )
        self.variable("pool_limit").value = default_limit()
        OBJECTS["Queue"].from_address(self.address("machine_tasks")).most = default_thread_count()
        self.prepare_locks()
        functions = STRUCTURES["ErrorFunctionTable"].from_address(self.address("error_functions"))
        functions.struct_size = ctypes.sizeof(functions)
        functions.instance_size = ctypes.sizeof(OBJECTS["Error"])
        for field, name in (
            ("destroy", "destroy"), ("message", "message"), ("get_code", "code"), ("for_each_payload", "payloads")
        ):  # fmt: skip
            setattr(functions, field, self.address(f"error_{name}"))

    def address(self, name: str) -> int:
        """The address of a function or a variable, by its name without the prefix."""
        return self._code.address(f"xhlo_{name}")

    def entry(self, name: str) -> int:
        """The address of a function of the API."""
        return self._code.address(f"PJRT_{name}")

    def variable(self, name: str) -> Any:
        """A 64-bit variable as a ctypes object."""
        return ctypes.c_int64.from_address(self.address(name))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


_ARITY = {
    "xhlo_storage_new": 1, "xhlo_storage_drop": 1, "xhlo_buffer_new": 3, "xhlo_buffer_hold": 1, "xhlo_buffer_give": 2,
    "xhlo_buffer_delete": 1, "xhlo_error_new": 3, "xhlo_error_destroy": 1, "xhlo_error_message": 3,
    "xhlo_error_code": 1, "xhlo_error_payloads": 3, "xhlo_memory_get": 2, "xhlo_memory_set": 4, "xhlo_spec_slot": 3,
    "xhlo_nothing": 1,
    "xhlo_capacity": 1, "xhlo_allocate": 1, "xhlo_free": 2, "xhlo_buffer_wait": 1, "xhlo_prepare_locks": 0,
    "xhlo_host_task": 1, "xhlo_task_end": 1, "xhlo_expected_time": 3,
}  # fmt: skip
_WITHOUT_RESULT = {
    "xhlo_storage_drop", "xhlo_buffer_delete", "xhlo_error_destroy", "xhlo_error_message", "xhlo_error_payloads",
    "xhlo_memory_set", "xhlo_nothing", "xhlo_free", "xhlo_prepare_locks", "xhlo_task_end",
}  # fmt: skip


@lru_cache(maxsize=1)
def loaded() -> Native:
    """The machine code of this process, compiled at first use."""
    return Native()
