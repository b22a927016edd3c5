"""
Calls of programs by machine code that Python calls as a method: it checks the arrays and runs the program in about 100
nanoseconds, where Python takes microseconds (`targets/cpu/runtime/direct_call.py`).
"""

from __future__ import annotations

import ctypes
import inspect
import itertools
import os
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import Any, ClassVar

import numpy as np

from ...hlo_dialect.arrays import Array, ArrayType
from ...hlo_dialect.outliving import outlive
from .memory import POOL
from .runtime.call_arguments import (
    ARRAYS,
    DATA,
    DTYPE,
    F32,
    F64,
    FLAGS,
    FLOATS,
    I32,
    I64,
    INTEGERS,
    RANK,
    ROW_MAJOR,
    SCALAR_CLASS,
    SCALARS,
    SIZES,
    VALUE,
)
from .runtime.direct_call import CALLS, PLAN, PYTHON

MOST_ON_STACK = 16 << 10
"""The largest arena in bytes on the stack of the thread that calls: half of the smallest stack that Python makes."""

MOST_KEPT = 512 << 10
"""The largest arena in bytes that is kept for calls."""

_FASTCALL, _KEYWORDS = 0x80, 0x02
"""METH_FASTCALL: the function takes an array of arguments and their number; METH_KEYWORDS: and names of the last."""

_NEW_FROM_DESCR = 94
"""The place of `PyArray_NewFromDescr` in NumPy's table of functions."""

_ABI = 0x02000000
"""The version of that table (`PyArray_GetNDArrayCVersion`, the first function in it)."""

NEVER = -1
"""A number of arguments that no call has."""


class _Definition(ctypes.Structure):
    """`PyMethodDef`."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("documentation", ctypes.c_char_p),
    )


@lru_cache(maxsize=1)
def are_possible() -> bool:
    """Whether arrays lie in this Python's memory as the machine code reads them."""
    if sys.implementation.name != "cpython" or os.name != "posix" or object.__basicsize__ != DATA:
        return False
    arrays = np.zeros((2, 3)), np.zeros((4, 2), np.int8)[:, 1], np.zeros(())
    return CalledDirectly.__basicsize__ == PLAN + 8 and all(map(_is_read_right, arrays))


def _is_read_right(array: Array) -> bool:
    place = id(array)
    address, dtype = (ctypes.c_size_t.from_address(place + field).value for field in (DATA, DTYPE))
    rank, flags = (ctypes.c_int.from_address(place + field).value for field in (RANK, FLAGS))
    if rank != array.ndim or ctypes.c_size_t.from_address(place + object.__basicsize__ - 8).value != id(type(array)):
        return False
    sizes = (ctypes.c_ssize_t * rank).from_address(ctypes.c_size_t.from_address(place + SIZES).value) if rank else ()
    is_row_major = array.flags.c_contiguous and array.flags.aligned
    return (address, dtype, tuple(sizes), flags & ROW_MAJOR == ROW_MAJOR) == (
        array.__array_interface__["data"][0],
        id(array.dtype),
        array.shape,
        is_row_major,
    )


def python_functions() -> Mapping[str, int]:
    """The addresses of Python's functions that the machine code calls, by name."""
    return {name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0 for name in PYTHON}


@lru_cache(maxsize=1)
def _allocator() -> int:
    """The address of `PyArray_NewFromDescr`, 0 where NumPy does not offer it as its documentation says."""
    try:
        from numpy._core._multiarray_umath import _ARRAY_API as table  # pyright: ignore
    except ImportError:
        return 0
    address: Any = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )(table, None)
    functions = ctypes.cast(address, ctypes.POINTER(ctypes.c_void_p))
    version: Callable[[], int] = ctypes.PYFUNCTYPE(ctypes.c_uint)(functions[0] or 0)
    return functions[_NEW_FROM_DESCR] or 0 if version() == _ABI else 0


class Plan(bytearray):
    """The words of a plan, and what they point to."""

    __slots__ = ("_kept",)

    def __init__(self, words: Sequence[int], kept: Sequence[object]):
        super().__init__(struct.pack(f"{len(words)}q", *words))
        self._kept = kept

    @property
    def calls(self) -> int:
        """How often its program has run."""
        return struct.unpack_from("q", self, 8 * CALLS)[0]


_STORED = {"float32": F32, "float64": F64, "int32": I32, "int64": I64}
"""How Python's numbers are stored for arguments of these types."""

_CLASSES = id(np.ndarray), id(float), id(int)


def takes(type_: ArrayType) -> int:
    """
    The bits of what a call takes for an argument: an array, or for one without dimensions a scalar of NumPy of its
    dtype, or a number that fits.
    """
    stored = _STORED.get(type_.dtype.name, 0) if not type_.shape else 0
    if not stored:
        return _takes_arrays(type_)
    return _takes_arrays(type_) | INTEGERS | stored | (FLOATS if type_.dtype.kind == "f" else 0)


def _takes_arrays(type_: ArrayType) -> int:
    return ARRAYS if type_.shape or not _has_values_inside(type_.dtype) else ARRAYS | SCALARS


@cache
def _has_values_inside(dtype: np.dtype[Any]) -> bool:
    """Whether the scalars of a dtype lie in memory as the machine code reads them."""
    if ctypes.c_size_t.from_address(id(dtype) + SCALAR_CLASS).value != id(dtype.type):
        return False
    array = np.arange(1, 4).astype(dtype)
    for number, scalar in enumerate(array):
        if type(scalar) is not dtype.type or dtype.type.__basicsize__ < VALUE + dtype.itemsize:
            return False
        if ctypes.string_at(id(scalar) + VALUE, dtype.itemsize) != array[number : number + 1].tobytes():
            return False
    return True


def takes_kind(type_: ArrayType, kind: type) -> int:
    """
    The bits of an argument for which only that class is taken, or arrays and scalars of NumPy alike; 0 if machine code
    does not take it.
    """
    if kind is np.ndarray:
        return _takes_arrays(type_)
    if kind is type_.dtype.type:
        taken = _takes_arrays(type_)
        return taken if taken & SCALARS else 0
    stored = _STORED.get(type_.dtype.name, 0)
    bit = {float: FLOATS, int: INTEGERS}.get(kind, 0)
    return bit and stored and bit | stored


def _words(takes: int, type_: ArrayType) -> tuple[int, ...]:
    return takes, type_.nbytes, id(type_.dtype), len(type_.shape), *type_.shape


@dataclass(frozen=True)
class Result:
    """A result that a direct call makes."""

    type: ArrayType
    maker: Callable[[], Array] | None = None
    """Makes its memory; None for NumPy."""


class KeptArena:
    """An arena for direct calls, one at a time; Python answers others meanwhile. It lives as long as the process."""

    def __init__(self, nbytes: int):
        self.nbytes = nbytes
        self._block = POOL.take(nbytes)
        self._place = ctypes.c_void_p(self._block.address)

    @property
    def place(self) -> int:
        """Where its address is while no call uses it."""
        return ctypes.addressof(self._place)


ARENAS = 4
"""Arenas of one size: as many threads may run other programs at once."""

_turns = itertools.count()


@cache
def _shared_arena(nbytes: int, number: int) -> KeptArena:
    return KeptArena(nbytes)


def arena_for_calls(nbytes: int) -> KeptArena:
    """An arena of at least so many bytes. Programs share a few, which bounds the memory that all of them keep."""
    return _shared_arena(1 << (nbytes - 1).bit_length(), next(_turns) % ARENAS)


@dataclass(frozen=True)
class Program:
    """A program whose runs only call its entry."""

    entry: int
    arena_bytes: int
    inputs: Sequence[ArrayType]
    takes: Sequence[int]
    """The bits of what is taken for each."""
    results: Sequence[Result]
    is_short: bool
    """Whether a run takes so little time that other threads of Python may wait for it."""
    owner: object
    """Owns its machine code."""
    arena: KeptArena | None = None
    """The arena, if it is too large for the stack."""
    written: Sequence[ArrayType] = ()
    """Results in whose place a call gives arrays, after the arguments."""


class CalledDirectly:
    """
    An object whose calls machine code answers where they fit its plan; all others are left to `__call__` of its class,
    as Python defines it.

    That is the `__call__` of the class that derives from this one directly. A class that derives from it in turn may
    define its own, which stays as it is, and reaches the machine code by `super()`.
    """

    __slots__ = ("_plan",)

    _plan: Plan
    _called: ClassVar[tuple[type, Callable[..., Any], Plan]]
    """The class that defines `__call__`, its definition, and the plan that no call fits."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if CalledDirectly in cls.__bases__:
            call = vars(cls)["__call__"]
            cls._called = cls, call, Plan((id(call), *[0] * 4, NEVER, *[0] * 9), (call,))

    def forget_plans(self) -> None:
        """Leave all calls to Python."""
        self._plan = self._called[2]

    def add_plan(self, method: int, program: Program, finish: Callable[[Any], Any] | None = None) -> Plan:
        """
        Let machine code answer calls with arrays that the program takes, before it tries earlier plans.

        `method`: the address of that machine code. `finish`: makes the value of the call from a tuple of the results;
        None for one array or a tuple of them, as they are.
        """
        owner, call, _ = self._called
        made = _planned(call, self._plan, program, finish)
        if vars(owner)["__call__"] is call:
            _let_call(owner, method, call)
        self._plan = made
        return made


class DirectRun(CalledDirectly):
    """
    Runs a program on arguments and memory for its results, writeable arrays that share none of it, and returns (). If
    they are not as planned it returns None, and nothing has run.
    """

    __slots__ = ()

    def __init__(self, method: int, program: Program):
        self.forget_plans()
        self.add_plan(method, program)

    def __call__(self, *given: Any) -> tuple[()] | None:
        return None


def _planned(call: Callable[..., Any], after: Plan, program: Program, finish: Callable[[Any], Any] | None) -> Plan:
    """A plan that is tried before another."""
    allocator = _allocator()
    read, given = len(program.inputs), len(program.inputs) + len(program.written)
    words = [id(call), id(after), program.entry, allocator, program.arena_bytes, given, read, len(program.results)]
    kept = 0 if program.arena is None else program.arena.place
    words += [0 if finish is None else id(finish), program.is_short, 0, kept, *_CLASSES]
    makers: list[object] = []
    for taken, each in zip(program.takes, program.inputs, strict=True):
        words += _words(taken, each)
    for each in program.written:
        words += _words(ARRAYS, each)
    for result in program.results:
        type_, maker = result.type, result.maker
        if maker is None and not allocator:
            maker = partial(np.empty, type_.shape, type_.dtype)
        makers.append(maker)
        words += _words(0 if maker is None else id(maker), type_)
    return Plan(words, (call, after, finish, program, makers))


def _let_call(kind: type, method: int, call: Callable[..., Any]) -> None:
    """Put the machine code in the place of `__call__` of a class."""
    parameters = inspect.signature(call).parameters.values()
    plain = ", ".join(str(one.replace(annotation=one.empty)) for one in parameters)
    text = f"__call__(${plain})\n--\n\n{inspect.getdoc(call) or ''}"
    definition = _Definition(b"__call__", method, _FASTCALL | _KEYWORDS, text.encode())
    outlive(definition)  # Python reads it in each call
    type.__setattr__(kind, "__call__", _make_method(kind, ctypes.byref(definition)))


_make_method: Callable[..., Any] = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.POINTER(_Definition))(
    ("PyDescr_NewMethod", ctypes.pythonapi)
)
