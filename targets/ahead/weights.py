"""
Constants in a file beside the library: which they are, how code finds them, and how the file is checked.

The file has the bytes of each constant, in the machine's order, aligned to 64 bytes. The code adds places in the file
to an address that `model_set_weights` keeps, after it has compared the file's size and its XXH64 with what they were
when the program was compiled. Source of the hash: doc/xxhash_spec.md of xxHash, with seed 0.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, UnitAttr, i8, i32, i64
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.support.buffers import i32_array
from ...hlo_dialect.walking import operations_in
from ..cpu import jit
from ..llvm_text.literals import global_data
from .header import ARENA_ALIGNMENT, CODES
from .interface import Weights

ADDRESS = "_weights"
"""The end of the symbol of the address of the constants."""

LEAST = 4096
"""The size in bytes from which constants are in the file: the JIT, too, keeps those apart from its code."""


class NoWeightsError(ValueError):
    """A program without constants that a file could have."""


@dataclass
class WeightsFile:
    """The file of a library while it is made; equal constants are in it once."""

    name: str
    big_endian: bool
    _parts: list[bytes] = field(default_factory=list[bytes])
    _places: dict[bytes, int] = field(default_factory=dict[bytes, int])
    _size: int = 0

    @property
    def content(self) -> bytes:
        """The whole file."""
        return b"".join(self._parts)

    def take(self, module: ModuleOp, library: str) -> bool:
        """Move the large constants of a module of the llvm dialect into the file. Returns whether there are any."""
        places: dict[str, int] = {}
        for op in [op for op in module.body.block.ops if isinstance(op, llvm.GlobalOp)]:
            data = global_data(op, self.big_endian) if op.constant is not None else None
            if data is not None and len(data) >= LEAST:
                places[op.sym_name.data] = self._place(data)
                op.detach()
                op.erase()
        for function in [op for op in module.body.block.ops if isinstance(op, llvm.FuncOp)]:
            found = [op for op in operations_in(function) if isinstance(op, llvm.AddressOfOp)]
            _load_addresses([op for op in found if op.global_name.root_reference.data in places], places, library)
        return bool(places)

    def _place(self, data: bytes) -> int:
        place = self._places.get(data)
        if place is None:
            place = self._places[data] = self._size
            self._parts.append(data.ljust(-(-len(data) // ARENA_ALIGNMENT) * ARENA_ALIGNMENT, b"\0"))
            self._size += len(self._parts[-1])
        return place

    def described(self) -> Weights:
        """The file as the interface states it. Raises NoWeightsError."""
        if not self._parts:
            raise NoWeightsError(f"the program has no constant of {LEAST} bytes or more to be kept in {self.name}")
        content = self.content
        return Weights(self.name, len(content), digest(content))


def _load_addresses(uses: list[llvm.AddressOfOp], places: dict[str, int], library: str) -> None:
    """
    `llvm.mlir.addressof @constant` becomes an address in the file, whose start each function loads once, first of all.
    """
    if not uses:
        return
    function = cast(llvm.FuncOp, _function_around(uses[0]))
    first = function.body.blocks[0].first_op
    assert first is not None
    address = llvm.AddressOfOp(f"{library}{ADDRESS}", llvm.LLVMPointerType())
    start = llvm.LoadOp(address.result, llvm.LLVMPointerType())
    Rewriter.insert_op([address, start], InsertPoint.before(first))
    for use in uses:
        place = llvm.ConstantOp(IntegerAttr(places[use.global_name.root_reference.data], i64), i64)
        byte = llvm.GEPOp.create(
            operands=[start.dereferenced_value, place.result],
            result_types=[llvm.LLVMPointerType()],
            properties={
                "rawConstantIndices": i32_array((llvm.GEP_USE_SSA_VAL,)),
                "elem_type": i8,
                "noWrapFlags": IntegerAttr(0, i32),
                "inbounds": UnitAttr(),
            },
        )
        Rewriter.insert_op([place, byte], InsertPoint.after(start))
        use.result.replace_all_uses_with(byte.result)
        use.detach()
        use.erase()


def _function_around(op: Operation) -> Operation:
    while not isinstance(op, llvm.FuncOp):
        above = op.parent_op()
        assert above is not None
        op = above
    return op


def digest(content: bytes) -> int:
    """XXH64 of bytes whose number is a multiple of 32, computed as the library does."""
    name = "xhlo_weights_hash"
    code = jit.load(_hash_function("xhlo", False).replace(" hidden ", " "), (name,))
    function = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64)(code.address(name))
    array = np.frombuffer(content, np.uint8)
    return function(array.__array_interface__["data"][0], array.nbytes)


def address_declaration(library: str) -> str:
    """LLVM IR that declares the address of the constants."""
    return f"@{library}{ADDRESS} = external hidden global ptr\n"


def set_weights(library: str, weights: Weights, big_endian: bool) -> str:
    """
    LLVM IR of the address of the constants, and of `int NAME_set_weights(const void *weights, uint64_t size)`.
    """
    return f"""
@{library}{ADDRESS} = hidden global ptr null

define i32 @{library}_set_weights(ptr %weights, i64 %size) nounwind {{
  %none = icmp eq ptr %weights, null
  br i1 %none, label %null, label %aligned
null:
  ret i32 {CODES["NULL_POINTER"][0]}
aligned:
  %address = ptrtoint ptr %weights to i64
  %rest = and i64 %address, {ARENA_ALIGNMENT - 1}
  %is.aligned = icmp eq i64 %rest, 0
  br i1 %is.aligned, label %sized, label %misaligned
misaligned:
  ret i32 {CODES["MISALIGNED_WEIGHTS"][0]}
sized:
  %is.sized = icmp eq i64 %size, {weights.nbytes}
  br i1 %is.sized, label %hashed, label %wrong
hashed:
  %hash = call i64 @{library}_weights_hash(ptr %weights, i64 %size)
  %is.same = icmp eq i64 %hash, {_signed(weights.digest)}
  br i1 %is.same, label %keep, label %wrong
wrong:
  ret i32 {CODES["WRONG_WEIGHTS"][0]}
keep:
  store ptr %weights, ptr @{library}{ADDRESS}
  ret i32 {CODES["OK"][0]}
}}
{_hash_function(library, big_endian)}"""


_PRIMES = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63)
_WORDS = 1 << 64


def _signed(number: int) -> int:
    """A number of 64 bits in LLVM's decimal notation."""
    number %= _WORDS
    return number - _WORDS if number >> 63 else number


def _hash_function(library: str, big_endian: bool) -> str:
    """LLVM IR of `uint64_t NAME_weights_hash(data, size)`: XXH64 of `size` bytes, a multiple of 32 and not 0."""
    p1, p2, p3, p4 = map(_signed, _PRIMES)

    def splat(number: int) -> str:
        return f"<{', '.join([f'i64 {number}'] * 4)}>"

    start = ", ".join(f"i64 {_signed(number)}" for number in (_PRIMES[0] + _PRIMES[1], _PRIMES[1], 0, -_PRIMES[0]))
    read = "%words.read = load <4 x i64>, ptr %at, align 8"
    order = "or <4 x i64> %words.read, zeroinitializer"
    if big_endian:
        order = "call <4 x i64> @llvm.bswap.v4i64(<4 x i64> %words.read)"
    lines = [
        f"define hidden i64 @{library}_weights_hash(ptr %data, i64 %size) nounwind {{",
        "entry:",
        "  br label %stripes",
        "stripes:",
        "  %place = phi i64 [ 0, %entry ], [ %next, %stripes ]",
        f"  %state = phi <4 x i64> [ <{start}>, %entry ], [ %state.next, %stripes ]",
        "  %at = getelementptr i8, ptr %data, i64 %place",
        f"  {read}",
        f"  %words = {order}",
        f"  %scaled = mul <4 x i64> %words, {splat(p2)}",
        "  %sum = add <4 x i64> %state, %scaled",
        f"  %turned = call <4 x i64> @llvm.fshl.v4i64(<4 x i64> %sum, <4 x i64> %sum, <4 x i64> {splat(31)})",
        f"  %state.next = mul <4 x i64> %turned, {splat(p1)}",
        "  %next = add i64 %place, 32",
        "  %more = icmp ult i64 %next, %size",
        "  br i1 %more, label %stripes, label %merge",
        "merge:",
        "  %turned.apart = call <4 x i64> @llvm.fshl.v4i64(<4 x i64> %state.next, <4 x i64> %state.next, "
        "<4 x i64> <i64 1, i64 7, i64 12, i64 18>)",
        "  %h.0 = call i64 @llvm.vector.reduce.add.v4i64(<4 x i64> %turned.apart)",
        f"  %a = mul <4 x i64> %state.next, {splat(p2)}",
        f"  %b = call <4 x i64> @llvm.fshl.v4i64(<4 x i64> %a, <4 x i64> %a, <4 x i64> {splat(31)})",
        f"  %c = mul <4 x i64> %b, {splat(p1)}",
    ]
    for lane in range(4):
        lines += [
            f"  %lane.{lane} = extractelement <4 x i64> %c, i64 {lane}",
            f"  %x.{lane} = xor i64 %h.{lane}, %lane.{lane}",
            f"  %m.{lane} = mul i64 %x.{lane}, {p1}",
            f"  %h.{lane + 1} = add i64 %m.{lane}, {p4}",
        ]
    lines += [
        "  %l.0 = add i64 %h.4, %size",
        "  %l.1 = lshr i64 %l.0, 33",
        "  %l.2 = xor i64 %l.0, %l.1",
        f"  %l.3 = mul i64 %l.2, {p2}",
        "  %l.4 = lshr i64 %l.3, 29",
        "  %l.5 = xor i64 %l.3, %l.4",
        f"  %l.6 = mul i64 %l.5, {p3}",
        "  %l.7 = lshr i64 %l.6, 32",
        "  %l.8 = xor i64 %l.6, %l.7",
        "  ret i64 %l.8",
        "}",
        "declare <4 x i64> @llvm.fshl.v4i64(<4 x i64>, <4 x i64>, <4 x i64>)",
        "declare <4 x i64> @llvm.bswap.v4i64(<4 x i64>)",
        "declare i64 @llvm.vector.reduce.add.v4i64(<4 x i64>)",
    ]
    return "\n".join(lines) + "\n"
