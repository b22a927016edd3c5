"""
The plugin's machine code: the entries that JAX calls most often, and trampolines into Python for the rest.

Entries of the API that Python serves come in through a trampoline. It takes the interpreter's lock, sets aside the
exception that may be pending (jaxlib destroys buffers while one is) and calls the dispatcher. When the interpreter is
about to exit, the trampolines return immediately.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import llvmlite.ir

from .c_api import ARGUMENTS, STRUCTURES
from .objects import OBJECTS

ir: Any = llvmlite.ir
"""llvmlite.ir has no type stubs."""

PTR = ir.PointerType()
I64, I32, I8, I1 = (ir.IntType(bits) for bits in (64, 32, 8, 1))
VOID = ir.VoidType()

_LAYOUTS: dict[str, Any] = {**OBJECTS, **STRUCTURES, **{f"{name}_Args": each for name, each in ARGUMENTS.items()}}
_BITS = {ctypes.c_int64: I64, ctypes.c_int32: I32, ctypes.c_bool: I8}


def _fields(layout: str) -> dict[str, Any]:
    """The types of a structure's fields by name."""
    return dict(_LAYOUTS[layout]._fields_)


class Emitter:
    """Functions of one LLVM module; inside a function, loads and stores by the names of fields."""

    def __init__(self) -> None:
        self.module: Any = ir.Module("xhlo.pjrt")
        self.build: Any = None
        self._functions: dict[str, Any] = {}
        self._globals: dict[str, Any] = {}

    # Functions and globals

    def declare(self, name: str, result: Any, *arguments: Any) -> Any:
        """A function of this module or of the C library, by name; made at its first use."""
        if name not in self._functions:
            self._functions[name] = ir.Function(self.module, ir.FunctionType(result, arguments), name)
        return self._functions[name]

    @contextmanager
    def function(self, name: str, result: Any, *arguments: Any) -> Generator[Any]:
        """The body of a function; yields its arguments."""
        function = self.declare(name, result, *arguments)
        outer, self.build = self.build, ir.IRBuilder(function.append_basic_block("entry"))
        yield function.args
        if not self.build.block.is_terminated:
            if result == VOID:
                self.build.ret_void()
            else:
                self.build.ret(result(None) if result == PTR else result(0))
        self.build = outer

    def call(self, name: str, *arguments: Any) -> Any:
        return self.build.call(self._functions[name], arguments)

    def function_address(self, name: str) -> Any:
        """The address of a declared function, a number."""
        return self.number(self._functions[name])

    def call_pointer(self, address: Any, result: Any, *arguments: Any) -> Any:
        """Call a function through its address, a number."""
        type_ = ir.FunctionType(result, [each.type for each in arguments])
        return self.build.call(self.build.inttoptr(address, type_.as_pointer()), arguments)

    def variable(self, name: str, type_: Any = I64) -> Any:
        """A global variable, zero at first."""
        if name not in self._globals:
            made = ir.GlobalVariable(self.module, type_, name)
            made.initializer = ir.Constant(type_, None)
            self._globals[name] = made
        return self._globals[name]

    def text(self, name: str, content: bytes) -> Any:
        """A text as a global variable of that name."""
        made = self.variable(name, ir.ArrayType(I8, len(content)))
        made.initializer = ir.Constant(made.value_type, bytearray(content))
        return made

    # Memory

    def _place(self, pointer: Any, path: str) -> tuple[Any, Any]:
        layout, _, field = path.partition(".")
        kind = _fields(layout)[field]
        offset = getattr(_LAYOUTS[layout], field).offset
        return self.build.gep(self._opaque(pointer), [I64(offset)], source_etype=I8), _BITS[kind]

    def _opaque(self, pointer: Any) -> Any:
        """A pointer without the type of a variable, also from a number."""
        if not isinstance(pointer.type, ir.IntType):
            if pointer.type.is_opaque:
                return pointer
            pointer = self.build.ptrtoint(pointer, I64)  # llvmlite finds nothing to do in a bitcast
        return self.build.inttoptr(pointer, PTR)

    def get(self, pointer: Any, path: str) -> Any:
        """The value of a field, "Buffer.data"."""
        place, type_ = self._place(pointer, path)
        return self.build.load(place, typ=type_)

    def set(self, pointer: Any, path: str, value: Any) -> None:
        place, type_ = self._place(pointer, path)
        if isinstance(value, int):
            value = type_(value)
        elif value.type == PTR:
            value = self.build.ptrtoint(value, I64)
        self.build.store(value, place)

    def place(self, pointer: Any, path: str) -> Any:
        """The address of a field."""
        return self._place(pointer, path)[0]

    def item(self, pointer: Any, index: Any) -> Any:
        """The 64-bit number at an index of an array."""
        return self.build.load(self.slot(pointer, index), typ=I64)

    def put(self, pointer: Any, index: Any, value: Any) -> None:
        self.build.store(value, self.slot(pointer, index))

    def slot(self, pointer: Any, index: Any) -> Any:
        pointer = self._opaque(pointer)
        return self.build.gep(pointer, [I64(index) if isinstance(index, int) else index], source_etype=I64)

    def pointer(self, number: Any) -> Any:
        return self.build.inttoptr(number, PTR)

    def number(self, pointer: Any) -> Any:
        return self.build.ptrtoint(pointer, I64)

    # Control

    def is_zero(self, value: Any) -> Any:
        return self.build.icmp_unsigned("==", value, value.type(0))

    @contextmanager
    def when(self, condition: Any) -> Generator[None]:
        with self.build.if_then(condition):
            yield

    @contextmanager
    def loop(self, count: Any) -> Generator[Any]:
        """`for index in range(count)`; yields the index."""
        build = self.build
        index = build.alloca(I64)
        build.store(I64(0), index)
        head, body, after = (build.append_basic_block(name) for name in ("head", "body", "after"))
        build.branch(head)
        build.position_at_end(head)
        current = build.load(index, typ=I64)
        build.cbranch(build.icmp_unsigned("<", current, count), body, after)
        build.position_at_end(body)
        yield current
        if not build.block.is_terminated:
            build.store(build.add(current, I64(1)), index)
            build.branch(head)
        build.position_at_end(after)

    @contextmanager
    def repeat(self, going: Callable[[], Any]) -> Generator[None]:
        """`while going(): ..`"""
        build = self.build
        head, body, after = (build.append_basic_block(name) for name in ("head", "body", "after"))
        build.branch(head)
        build.position_at_end(head)
        build.cbranch(going(), body, after)
        build.position_at_end(body)
        yield
        build.branch(head)
        build.position_at_end(after)

    @contextmanager
    def locked(self, place: Any) -> Generator[None]:
        """Hold the spin lock at an address: for a few instructions only."""
        self.call("xhlo_lock", place)
        yield
        self.build.atomic_rmw("xchg", place, I64(0), "release")


BINS = ir.ArrayType(I64, 256)
"""The first kept block of each capacity."""


def emit_memory(e: Emitter) -> None:
    """Locks, and a pool of large blocks that keeps their pages (see targets/cpu/memory.py for why)."""
    e.declare("aligned_alloc", PTR, I64, I64)
    e.declare("malloc", PTR, I64)
    e.declare("free", VOID, PTR)
    e.declare("madvise", I32, PTR, I64, I32)
    e.declare("memcpy", PTR, PTR, PTR, I64)
    e.declare("sched_yield", I32)
    with e.function("xhlo_lock", VOID, PTR) as (place,):

        def taken() -> Any:
            return e.build.extract_value(e.build.cmpxchg(place, I64(0), I64(1), "acquire", "monotonic"), 1)

        with e.repeat(lambda: e.build.not_(taken())):
            e.call("sched_yield")

    with e.function("xhlo_capacity", I64, I64) as (size,):
        # Quarters of powers of two, so that a block is at most a quarter too large.
        b = e.build
        rest = b.sub(size, I64(1))
        zeros = b.ctlz(rest, I1(1))
        unit = b.shl(I64(1), b.sub(I64(61), zeros))
        b.ret(b.mul(b.add(b.udiv(rest, unit), I64(1)), unit))

    with e.function("xhlo_bin", PTR, I64) as (capacity,):
        b = e.build
        rest = b.sub(capacity, I64(1))
        power = b.sub(I64(63), b.ctlz(rest, I1(1)))
        quarter = b.and_(b.lshr(rest, b.sub(power, I64(2))), I64(3))
        index = b.add(b.mul(power, I64(4)), quarter)
        b.ret(b.gep(e.variable("xhlo_pool_bins", BINS), [index], source_etype=I64))

    lock, kept = e.variable("xhlo_pool_lock"), e.variable("xhlo_pool_kept")
    _emit_block(e, lock, kept)

    with e.function("xhlo_allocate", PTR, I64) as (capacity,):
        b = e.build
        block = e.call("xhlo_block", capacity)
        with e.when(b.not_(e.is_zero(e.number(block)))):
            in_use = b.add(b.atomic_rmw("add", e.variable("xhlo_in_use"), capacity, "monotonic"), capacity)
            b.atomic_rmw("umax", e.variable("xhlo_in_use_peak"), in_use, "monotonic")
            b.atomic_rmw("umax", e.variable("xhlo_largest"), capacity, "monotonic")
            b.atomic_rmw("add", e.variable("xhlo_allocations"), I64(1), "monotonic")
        b.ret(block)

    _emit_free(e, lock, kept)

    with e.function("xhlo_prepare_pool", VOID) as ():
        # A thread that the child of a fork lacks may have had the lock, in the midst of a change: it keeps nothing.
        b = e.build
        with e.when(b.not_(e.is_zero(b.load(lock, typ=I64)))):
            bins = e.variable("xhlo_pool_bins", BINS)
            with e.loop(I64(BINS.count)) as index:
                e.put(bins, index, I64(0))
            b.store(I64(0), kept)
            b.store(I64(0), lock)


def _emit_block(e: Emitter, lock: Any, kept: Any) -> None:
    """`xhlo_block(capacity)`: a kept block of that capacity, or a new one."""
    with e.function("xhlo_block", PTR, I64) as (capacity,):
        # `capacity` is a multiple of 64 below SMALL, else what xhlo_capacity gives.
        b = e.build
        with e.when(b.icmp_unsigned("<", capacity, I64(SMALL))):
            b.ret(e.call("aligned_alloc", I64(64), capacity))
        bin_ = e.call("xhlo_bin", capacity)
        found = b.alloca(I64)
        with e.locked(lock):
            first = b.load(bin_, typ=I64)
            b.store(first, found)
            with e.when(b.not_(e.is_zero(first))):
                b.store(e.item(first, 0), bin_)
                b.store(b.sub(b.load(kept, typ=I64), capacity), kept)
        block = b.load(found, typ=I64)
        with e.when(b.not_(e.is_zero(block))):
            b.ret(e.pointer(block))
        with e.when(b.icmp_unsigned("<", capacity, I64(HUGE_PAGE))):
            b.ret(e.call("aligned_alloc", I64(4096), capacity))
        fresh = e.call("aligned_alloc", I64(HUGE_PAGE), capacity)
        with e.when(b.not_(e.is_zero(e.number(fresh)))):
            e.call("madvise", fresh, capacity, I32(MADV_HUGEPAGE))
        b.ret(fresh)


def _emit_free(e: Emitter, lock: Any, kept: Any) -> None:
    """`xhlo_free(block, capacity)`: keep a block, up to the pool's limit, or free it."""
    with e.function("xhlo_free", VOID, PTR, I64) as (block, capacity):
        b = e.build
        b.atomic_rmw("sub", e.variable("xhlo_in_use"), capacity, "monotonic")
        with e.when(b.icmp_unsigned("<", capacity, I64(SMALL))):
            e.call("free", block)
            b.ret_void()
        keep = b.alloca(I64)
        b.store(I64(0), keep)
        with e.locked(lock):
            after = b.add(b.load(kept, typ=I64), capacity)
            with e.when(b.icmp_unsigned("<=", after, b.load(e.variable("xhlo_pool_limit"), typ=I64))):
                bin_ = e.call("xhlo_bin", capacity)
                e.put(block, 0, b.load(bin_, typ=I64))
                b.store(e.number(block), bin_)
                b.store(after, kept)
                b.store(I64(1), keep)
        with e.when(e.is_zero(b.load(keep, typ=I64))):
            e.call("free", block)


SMALL = 64 << 10
"""Bytes below which malloc serves."""
HUGE_PAGE = 2 << 20
MADV_HUGEPAGE = 14

WRITER = (1 << 32) + 1
"""A storage's references count the runs that will write it in their upper half too."""


READY = ("xhlo_ready", ir.ArrayType(I64, 4))
"""The event, a variable, of what was done at once."""


def new(e: Emitter, kind: str, **fields: Any) -> Any:
    """A new object; missing fields are zero."""
    made = e.call("malloc", I64(ctypes.sizeof(OBJECTS[kind])))
    for name, _ in OBJECTS[kind]._fields_:
        e.set(made, f"{kind}.{name}", fields.get(name, 0))
    return made


def emit_storages(e: Emitter) -> None:
    with e.function("xhlo_storage_new", PTR, I64) as (nbytes,):
        b = e.build
        capacity = b.alloca(I64)
        small = b.and_(b.add(b.select(e.is_zero(nbytes), I64(1), nbytes), I64(63)), I64(-64))
        b.store(small, capacity)
        with e.when(b.icmp_unsigned(">=", small, I64(SMALL))):
            b.store(e.call("xhlo_capacity", small), capacity)
        data = e.call("xhlo_allocate", b.load(capacity, typ=I64))
        with e.when(e.is_zero(e.number(data))):
            b.ret(PTR(None))
        b.ret(new(e, "Storage", references=1, data=data, capacity=b.load(capacity, typ=I64)))

    with e.function("xhlo_storage_release", VOID, PTR, I64) as (storage, references):
        b = e.build
        before = b.atomic_rmw("sub", e.place(storage, "Storage.references"), references, "acq_rel")
        with e.when(b.icmp_unsigned("!=", before, references)):
            b.ret_void()
        data = e.get(storage, "Storage.data")
        capacity, release = e.get(storage, "Storage.capacity"), e.get(storage, "Storage.release")
        event = e.get(storage, "Storage.event")
        with e.when(b.not_(e.is_zero(capacity))):
            e.call("xhlo_free", e.pointer(data), capacity)
        with e.when(b.not_(e.is_zero(release))):
            e.call_pointer(release, VOID, data, e.get(storage, "Storage.release_argument"))
        with e.when(b.not_(e.is_zero(event))):
            e.call("xhlo_event_set", e.pointer(event))
        e.call("free", storage)

    with e.function("xhlo_storage_drop", VOID, PTR) as (storage,):
        e.call("xhlo_storage_release", storage, I64(1))


def emit_buffers(e: Emitter) -> None:
    with e.function("xhlo_buffer_new", PTR, PTR, PTR, I64) as (spec, storage, device):
        e.build.ret(
            new(
                e, "Buffer", spec=spec, storage=storage, origin=storage,
                data=e.get(storage, "Storage.data"), device=device,
            )
        )  # fmt: skip

    with e.function("xhlo_buffer_hold", PTR, PTR) as (buffer,):
        # Its storage, with one more reference, or null if the buffer is deleted.
        b = e.build
        held = b.alloca(I64)
        with e.locked(e.place(buffer, "Buffer.lock")):
            storage = e.get(buffer, "Buffer.storage")
            b.store(storage, held)
            with e.when(b.not_(e.is_zero(storage))):
                b.atomic_rmw("add", e.place(storage, "Storage.references"), I64(1), "monotonic")
        b.ret(e.pointer(b.load(held, typ=I64)))

    with e.function("xhlo_buffer_give", PTR, PTR, PTR) as (buffer, storage):
        # Delete the buffer and return its storage, of which the caller holds one reference already; null if anybody
        # else has another one, or if the memory belongs to another library: then the buffer stays. Runs that will write
        # the memory may have one each: who takes the memory waits for the buffer, and so for all of them.
        b = e.build
        given = b.alloca(I64)
        b.store(I64(0), given)
        with e.locked(e.place(buffer, "Buffer.lock")):
            held = b.atomic_rmw("or", e.place(storage, "Storage.references"), I64(0), "acquire")
            ours = b.icmp_unsigned("==", e.get(buffer, "Buffer.storage"), e.number(storage))
            others = b.sub(b.and_(held, I64((1 << 32) - 1)), b.lshr(held, I64(32)))
            alone = b.and_(ours, b.icmp_unsigned("==", others, I64(2)))
            with e.when(b.and_(alone, b.not_(e.is_zero(e.get(storage, "Storage.capacity"))))):
                b.store(e.number(storage), given)
                e.set(buffer, "Buffer.storage", 0)
        b.ret(e.pointer(b.load(given, typ=I64)))

    with (
        e.function("xhlo_buffer_take_back", VOID, PTR, PTR) as (buffer, storage),
        e.locked(e.place(buffer, "Buffer.lock")),
    ):
        # Undo xhlo_buffer_give.
        e.set(buffer, "Buffer.storage", e.number(storage))

    with e.function("xhlo_buffer_delete", VOID, PTR) as (buffer,):
        b = e.build
        held = b.alloca(I64)
        with e.locked(e.place(buffer, "Buffer.lock")):
            b.store(e.get(buffer, "Buffer.storage"), held)
            e.set(buffer, "Buffer.storage", 0)
        storage = b.load(held, typ=I64)
        with e.when(b.not_(e.is_zero(storage))):
            e.call("xhlo_storage_drop", e.pointer(storage))


@contextmanager
def _question(e: Emitter, name: str) -> Generator[tuple[Any, Any]]:
    """The body of a function of the C API that tells something of a buffer: its arguments and the buffer."""
    with e.function(f"PJRT_Buffer_{name}", PTR, PTR) as (args,):
        yield args, e.get(args, f"Buffer_{name}_Args.buffer")


def _emit_copied(e: Emitter, name: str, **fields: str) -> None:
    """A function that answers with fields of the buffer or of its spec."""
    with _question(e, name) as (args, buffer):
        for field, source in fields.items():
            start = buffer if source.startswith("Buffer.") else e.get(buffer, "Buffer.spec")
            value = e.get(start, source)
            if _BITS[_fields(f"Buffer_{name}_Args")[field]] is I32:
                value = e.build.trunc(value, I32)
            e.set(args, f"Buffer_{name}_Args.{field}", value)


def emit_buffer_questions(e: Emitter) -> None:
    _emit_copied(e, "ElementType", type="Spec.element_type")
    _emit_copied(e, "Dimensions", dims="Spec.dims", num_dims="Spec.num_dims")
    _emit_copied(e, "UnpaddedDimensions", dims="Spec.dims", num_dims="Spec.num_dims")
    _emit_copied(e, "OnDeviceSizeInBytes", size="Spec.nbytes")
    _emit_copied(e, "Device", device="Buffer.device")
    _emit_copied(e, "UnsafePointer", buffer_pointer="Buffer.data")
    _emit_copied(e, "OpaqueDeviceMemoryDataPointer", device_memory_ptr="Buffer.data")

    with _question(e, "DynamicDimensionIndices") as (args, buffer):
        e.set(args, "Buffer_DynamicDimensionIndices_Args.dynamic_dim_indices", 0)
        e.set(args, "Buffer_DynamicDimensionIndices_Args.num_dynamic_dims", 0)

    with _question(e, "ReadyEvent") as (args, buffer):
        event = e.get(buffer, "Buffer.ready")
        e.set(args, "Buffer_ReadyEvent_Args.event", e.variable(*READY))
        with e.when(e.build.not_(e.is_zero(event))):
            e.build.atomic_rmw("add", e.place(event, "Event.references"), I64(1), "monotonic")
            e.set(args, "Buffer_ReadyEvent_Args.event", event)

    with _question(e, "IsOnCpu") as (args, buffer):
        # JAX reads the memory of a buffer on the CPU as a row-major array.
        plain = e.is_zero(e.get(e.get(buffer, "Buffer.spec"), "Spec.permuted"))
        e.set(args, "Buffer_IsOnCpu_Args.is_on_cpu", e.build.zext(plain, I8))

    with _question(e, "Memory") as (args, buffer):
        e.set(args, "Buffer_Memory_Args.memory", e.get(e.get(buffer, "Buffer.device"), "Device.memory"))

    with _question(e, "GetMemoryLayout") as (args, buffer):
        spec = e.get(buffer, "Buffer.spec")
        for field, value in {
            "minor_to_major": e.get(spec, "Spec.minor_to_major"),
            "minor_to_major_size": e.get(spec, "Spec.num_dims"),
            **dict.fromkeys(("tile_dims", "tile_dim_sizes", "num_tiles", "layout_type"), 0),
        }.items():
            e.set(args, f"Buffer_GetMemoryLayout_Args.{field}", value)


def emit_buffer_ends(e: Emitter) -> None:
    """The functions of the C API that delete a buffer, or keep its memory."""
    with _question(e, "IsDeleted") as (args, buffer):
        gone = e.is_zero(e.get(buffer, "Buffer.storage"))
        e.set(args, "Buffer_IsDeleted_Args.is_deleted", e.build.zext(gone, I8))

    with _question(e, "Destroy") as (_, buffer):
        e.call("xhlo_buffer_delete", e.pointer(buffer))
        event = e.get(buffer, "Buffer.ready")
        with e.when(e.build.not_(e.is_zero(event))):
            e.call("xhlo_event_drop", e.pointer(event))
        e.call("free", e.pointer(buffer))

    with _question(e, "Delete") as (_, buffer):
        e.call("xhlo_buffer_delete", e.pointer(buffer))

    with _question(e, "IncreaseExternalReferenceCount") as (_, buffer):
        e.build.atomic_rmw("add", e.place(e.get(buffer, "Buffer.origin"), "Storage.references"), I64(1), "monotonic")

    with _question(e, "DecreaseExternalReferenceCount") as (_, buffer):
        e.call("xhlo_storage_drop", e.pointer(e.get(buffer, "Buffer.origin")))
