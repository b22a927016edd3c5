"""nvvm to llvm: each operation becomes the intrinsic that LLVM's NVPTX target selects as an instruction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from xdsl.context import Context
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation
from xdsl.rewriter import Rewriter

from ...dialects.gpu import nvvm
from ...dialects.llvm_ops import RANGE
from ...hlo_dialect.hlo_pass import HloPass
from ...hlo_dialect.walking import operations_in
from ..device.parts import device_modules, lowered_parts
from .tensor_core import PATTERNS as TENSOR_CORE_PATTERNS


@dataclass(frozen=True)
class ConvertNvvmToLlvmPass(HloPass):
    """
    Lower nvvm operations to calls of LLVM's intrinsics.

    Before: `%t = nvvm.read.ptx.sreg.tid.x range <i32, 0, 256> : i32`
    After:  `%t = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.tid.x"() {range = array<i32: 0, 256>} : () -> i32`
    Assumes: nothing; runs before or after convert-to-llvm.
    Leaves: no nvvm operations. Function attributes such as `nvvm.kernel` stay for the LLVM IR writer.
    """

    name = "convert-nvvm-to-llvm"
    illegal = ("nvvm.*",)

    def run(self, ctx: Context, module: ModuleOp) -> None:
        for device in device_modules(module):
            for op in operations_in(device):
                pattern = _pattern_of(op)
                if pattern is not None:
                    pattern(op)

    def parts(self, module: ModuleOp) -> Sequence[Operation]:
        return lowered_parts(module)


_Pattern: TypeAlias = Callable[[Any], None]


def _pattern_of(op: Operation) -> _Pattern | None:
    if isinstance(op, nvvm.SpecialRegisterOp):
        return _special_register
    return _PATTERNS.get(type(op))


def _call(op: Operation, intrinsic: str, attributes: Mapping[str, Attribute] = {}) -> None:
    """Replace an operation by a call of `llvm.nvvm.INTRINSIC` with its operands."""
    types = [result.type for result in op.results]
    call = llvm.CallIntrinsicOp(f"llvm.nvvm.{intrinsic}", list(op.operands), types)
    call.attributes.update(attributes)
    call.location = op.location
    parent = op.parent
    assert isinstance(parent, Block)
    Rewriter.replace_op(op, call)


def _special_register(op: nvvm.SpecialRegisterOp) -> None:
    _call(op, f"read.ptx.sreg.{op.register}", {} if op.range is None else {RANGE: op.range})


def _barrier(op: nvvm.Barrier0Op) -> None:
    _call(op, "barrier0")


def _shuffle(op: nvvm.ShflSyncOp) -> None:
    """`llvm.nvvm.shfl.sync.bfly.f32`; with the suffix `p` it also returns whether the lane may be read."""
    predicate = "p" if op.return_value_and_is_valid is not None else ""
    _call(op, f"shfl.sync.{op.kind.data}.{op.val.type}{predicate}")


_PATTERNS: Mapping[type[Operation], _Pattern] = {
    **TENSOR_CORE_PATTERNS,
    nvvm.Barrier0Op: _barrier,
    nvvm.ShflSyncOp: _shuffle,
}
