"""
No input makes compiled code divide by zero, use poison, or trap: by type and operation.

Twice: the results on the extreme values of each type, on the CPU and on the SIMT interpreter, are the reference's; and
in the llvm dialect nothing that was loaded reaches an operand or flag whose wrong value is undefined.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue

import xhlo
from cpu_programs import wrong
from hlo_programs import Program
from xhlo.dialects.llvm_ops import FPToSIOp, FPToUIOp, SelectOp
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.numbers.number_semantics import integer_bounds
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.types import Array
from xhlo.hlo_dialect.verification.dominance import dominator_children
from xhlo.targets.cpu.target import CPU
from xhlo.targets.llvm_text.operations import edges
from xhlo.targets.program.lowering import Lowering

INTEGERS = {
    **{f"i{width}": np.dtype(f"int{width}") for width in (8, 16, 32, 64)},
    **{f"ui{width}": np.dtype(f"uint{width}") for width in (8, 16, 32, 64)},
    "i2": np.dtype(ml_dtypes.int2),
    "i4": np.dtype(ml_dtypes.int4),
    "ui2": np.dtype(ml_dtypes.uint2),
    "ui4": np.dtype(ml_dtypes.uint4),
}
FLOATS = {
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "f8E4M3FN": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "f4E2M1FN": np.dtype(ml_dtypes.float4_e2m1fn),
}
BINARY = ("add", "subtract", "multiply", "divide", "remainder", "power", "maximum", "minimum",
          "shift_left", "shift_right_logical", "shift_right_arithmetic")  # fmt: skip
UNARY = ("negate", "not", "popcnt", "count_leading_zeros")


def extremes(name: str) -> Array:
    """The ends of an integer type, the numbers around zero, and those around its width."""
    low, high = integer_bounds(INTEGERS[name])
    width = (high - low + 1).bit_length() - 1
    chosen = {low, low + 1, high, high - 1, -2, -1, 0, 1, 2, width - 1, width, width + 1, high // 2, low // 2}
    return np.array([np.array(n, np.object_).astype(INTEGERS[name]) for n in sorted(chosen) if low <= n <= high])


def pairs(name: str) -> tuple[Array, Array]:
    values = extremes(name)
    return np.repeat(values, values.size), np.tile(values, values.size)


def arithmetic(name: str, count: int) -> str:
    """All arithmetic of an integer type on two vectors: with unknown operands, and with the edges as constants."""
    type_ = f"tensor<{count}x{name}>"
    signed = not name.startswith("u")
    lines = [f"hlo.{op} %x, %y : {type_}" for op in BINARY]
    lines += [f"hlo.{op} %x : {type_}" for op in (*UNARY, *(("abs", "sign") if signed else ()))]
    low, _ = integer_bounds(INTEGERS[name])
    constants = {"zero": 0, "one": 1, "low": low, **({"ones": -1} if signed else {})}
    for constant in constants:
        lines += [f"hlo.{op} %x, %{constant} : {type_}" for op in ("divide", "remainder", "shift_left", "power")]
        lines += [f"hlo.{op} %{constant}, %x : {type_}" for op in ("divide", "remainder", "shift_left", "power")]
    body = [f"%{key} = hlo.constant dense<{number}> : {type_}" for key, number in constants.items()]
    body += [f"%{index} = {line}" for index, line in enumerate(lines)]
    results = ", ".join(f"%{index}" for index in range(len(lines)))
    types = ", ".join([type_] * len(lines))
    text = "\n".join(body)
    return f"func.func @main(%x: {type_}, %y: {type_}) -> ({types}) {{\n{text}\nreturn {results} : {types}\n}}"


def conversions(name: str, count: int) -> str:
    """A float type to every integer type."""
    source = f"tensor<{count}x{name}>"
    targets = [f"tensor<{count}x{integer}>" for integer in INTEGERS]
    body = "\n".join(f"%{i} = hlo.convert %x : ({source}) -> {target}" for i, target in enumerate(targets))
    results, types = ", ".join(f"%{i}" for i in range(len(targets))), ", ".join(targets)
    return f"func.func @main(%x: {source}) -> ({types}) {{\n{body}\nreturn {results} : {types}\n}}"


def indexing(name: str) -> str:
    """Every operation that takes its positions from the program's input."""
    scalar, rows, x = f"tensor<{name}>", f"tensor<4x1x{name}>", "tensor<5x3xf32>"
    return f"""
    func.func @main(%x: {x}, %u: tensor<2x2xf32>, %i: {scalar}, %j: {scalar}, %n: {rows}, %v: tensor<4x3xf32>)
        -> (tensor<2x2xf32>, {x}, tensor<4x2x3xf32>, {x}, tensor<4x1x{name}>) {{
      %0 = hlo.dynamic_slice %x, %i, %j, sizes = [2, 2] : ({x}, {scalar}, {scalar}) -> tensor<2x2xf32>
      %1 = hlo.dynamic_update_slice %x, %u, %i, %j : ({x}, tensor<2x2xf32>, {scalar}, {scalar}) -> {x}
      %2 = "hlo.gather"(%x, %n) {{dimension_numbers = #hlo.gather<offset_dims = [1, 2], collapsed_slice_dims = [],
        start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 2, 3>, indices_are_sorted = false}}
        : ({x}, {rows}) -> tensor<4x2x3xf32>
      %3 = "hlo.scatter"(%x, %n, %v) ({{
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %s = hlo.add %a, %b : tensor<f32>
          hlo.return %s : tensor<f32>
      }}) {{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
        scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}}
        : ({x}, {rows}, tensor<4x3xf32>) -> {x}
      %4 = "hlo.sort"(%n) ({{
        ^bb0(%a: {scalar}, %b: {scalar}):
          %c = hlo.compare GT, %a, %b : ({scalar}, {scalar}) -> tensor<i1>
          hlo.return %c : tensor<i1>
      }}) {{dimension = 0 : i64}} : ({rows}) -> {rows}
      return %0, %1, %2, %3, %4 : tensor<2x2xf32>, {x}, tensor<4x2x3xf32>, {x}, {rows}
    }}"""


# Results ---------------------------------------------------------------------------------------------------------


def check(text: str, inputs: list[Array], target: str) -> None:
    want = Program(text).results(*inputs)
    results = xhlo.compile(text, target=target)(*inputs)
    for index, (one, other) in enumerate(zip(results, want, strict=True)):
        assert one.dtype == other.dtype
        if other.dtype.kind in "iub" or other.dtype == np.float32:
            assert not wrong(one, other).any(), f"result {index} is {one}, expected {other}"
        else:
            np.testing.assert_array_equal(one.astype(int), other.astype(int), err_msg=f"result {index}")


@pytest.mark.long(5)
@pytest.mark.sample(5)
@pytest.mark.parametrize("target", ["cpu", "simt"])
@pytest.mark.parametrize("name", INTEGERS)
def test_integer_arithmetic(name: str, target: str) -> None:
    x, y = pairs(name)
    check(arithmetic(name, x.size), [x, y], target)


@pytest.mark.sample(3)
@pytest.mark.parametrize("target", ["cpu", "simt"])
@pytest.mark.parametrize("name", FLOATS)
def test_floats_to_integers(name: str, target: str) -> None:
    ends = [float(end) for dtype in INTEGERS.values() for end in integer_bounds(dtype)]
    numbers = np.array([*ends, *(end * 1.001 for end in ends), 0.5, -0.5, 0.0, 1e300, -1e300, np.inf, -np.inf, np.nan])
    with np.errstate(all="ignore"):
        x = np.concatenate([numbers, np.nextafter(numbers, -np.inf), np.nextafter(numbers, np.inf)]).astype(
            FLOATS[name]
        )
    check(conversions(name, x.size), [x], target)


@pytest.mark.long(3)
@pytest.mark.sample(3)
@pytest.mark.parametrize("target", ["cpu", "simt"])
@pytest.mark.parametrize("name", [name for name in INTEGERS if integer_bounds(INTEGERS[name])[1] > 100])
def test_positions(name: str, target: str) -> None:
    """Slices are moved inside, rows outside are dropped; whatever the type of the index."""
    values = extremes(name)
    floats = np.arange(31, dtype=np.float32)
    for first in range(0, values.size - 3, 3):
        rows = values[first : first + 4].reshape(4, 1)
        inputs = [floats[:15].reshape(5, 3), -floats[:4].reshape(2, 2), rows[0, 0], rows[3, 0], rows]
        check(indexing(name), [*inputs, floats[:12].reshape(4, 3)], target)


# The code itself -------------------------------------------------------------------------------------------------

_DIVISIONS = (llvm.SDivOp, llvm.UDivOp, llvm.SRemOp, llvm.URemOp)
_SHIFTS = (llvm.ShlOp, llvm.LShrOp, llvm.AShrOp)
_BOUNDED = ("llvm.smin", "llvm.smax", "llvm.umin", "llvm.umax")


def compiled(text: str) -> ModuleOp:
    lowering = Lowering(make_context(), parse_module(text, "test.mlir"), CPU)
    lowering.to_the_end()
    return lowering.module


def intrinsic(op: Operation) -> str:
    return op.intrin.data if isinstance(op, llvm.CallIntrinsicOp) else ""


def is_guard(op: Any) -> bool:
    """Whether the result is in a range that the code determines: a select, a clamp, masked bits, a truth value."""
    guards = (SelectOp, llvm.SelectOp, llvm.AndOp, llvm.ICmpOp, llvm.ConstantOp)
    return isinstance(op, guards) or intrinsic(op).startswith(_BOUNDED)


def tainted_values(module: ModuleOp) -> set[SSAValue]:
    """Values that are loaded, or computed from such without a guard between; through the arguments of blocks too."""
    tainted: set[SSAValue] = set()
    pending = [op.results[0] for op in module.walk() if isinstance(op, llvm.LoadOp)]
    while pending:
        value = pending.pop()
        if value in tainted or isinstance(value.type, llvm.LLVMPointerType):
            continue
        tainted.add(value)
        for use in value.uses:
            op = use.operation
            if not is_guard(op):
                pending += op.results
            pending += (
                argument for block in op.successors for argument in block.args if passes(op, block, value, argument)
            )
    return tainted


def passes(op: Operation, block: Block, value: SSAValue, argument: SSAValue) -> bool:
    place = list(block.args).index(argument)
    return any(target is block and operands[place] is value for target, operands in edges(op))


def discarded(value: SSAValue) -> bool:
    """Whether all users are selects that may take the other arm: a select drops the poison of the arm not taken."""
    return all(isinstance(use.operation, (SelectOp, llvm.SelectOp)) and use.index != 0 for use in value.uses)


def loads(value: SSAValue) -> set[Operation]:
    """The loads that the value is computed from."""
    found: set[Operation] = set()
    pending, seen = [value], set[SSAValue]()
    while pending:
        one = pending.pop()
        if one not in seen and isinstance(one.owner, Operation):
            seen.add(one)
            found |= {one.owner} if isinstance(one.owner, llvm.LoadOp) else set()
            pending += [] if isinstance(one.owner, llvm.LoadOp) else one.owner.operands
    return found


def is_tested(op: Operation, value: SSAValue) -> bool:
    """Whether the block of `op` runs only if a test of the value's loads succeeds."""
    block, wanted = op.parent, loads(value)
    assert block is not None and block.parent is not None
    children, _ = dominator_children(block.parent)
    parents = {child: parent for parent, found in children.items() for child in found}

    def above(one: Block) -> Iterator[Block]:
        while one in parents:
            one = parents[one]
            yield one

    for one in [block, *above(block)]:
        entered_from = [before for before in one.predecessors() if one is not before and one not in above(before)]
        last = entered_from[0].last_op if len(entered_from) == 1 else None
        if isinstance(last, llvm.CondBrOp) and wanted and wanted <= loads(last.cond):
            return True
    return False


def constant(value: SSAValue) -> Any:
    return value.owner.value if isinstance(value.owner, llvm.ConstantOp) else None


def is_division(op: Operation) -> bool:
    """Whether an operation divides integers, or calls a function that does."""
    if isinstance(op, llvm.CallOp) and op.callee is not None:
        return re.match(r"xhlo_math_(div|rem)[su]i_", op.callee.root_reference.data) is not None
    return isinstance(op, _DIVISIONS)


def dangers(module: ModuleOp) -> Iterator[str]:
    """Operations that some loaded value makes undefined."""
    tainted = tainted_values(module)
    for op in module.walk():
        reached = [operand for operand in op.operands if operand in tainted and not is_tested(op, operand)]
        flags = op.properties.get("overflowFlags")
        flagged = isinstance(flags, IntegerAttr) and flags.value.data != 0
        if (flagged or "isExact" in op.properties) and reached:
            yield f"a loaded value reaches the flags of {op}"
        if is_division(op) and op.operands[1] in reached:
            yield f"a loaded divisor: {op}"
        if isinstance(op, _SHIFTS) and op.operands[1] in reached and not discarded(op.results[0]):
            yield f"a loaded shift amount: {op}"
        if isinstance(op, (FPToSIOp, FPToUIOp)) and reached and not discarded(op.results[0]):
            yield f"a loaded float becomes an integer: {op}"
        if isinstance(op, llvm.GEPOp) and any(operand in op.operands[1:] for operand in reached):
            yield f"a loaded index: {op}"
        name = intrinsic(op)
        if name.startswith(("llvm.abs", "llvm.ctlz", "llvm.cttz")) and str(constant(op.operands[1])) not in (
            "false",
            "0 : i1",
        ):
            yield f"poison for one value: {op}"
        words = op.properties.get("fastmathFlags")
        if isinstance(words, llvm.FastMathAttr) and {str(word) for word in words.data} & {"nnan", "ninf"}:
            yield f"NaN or infinity is poison: {op}"


@pytest.mark.long(3)
@pytest.mark.sample(3)
@pytest.mark.parametrize("name", INTEGERS)
def test_no_integer_arithmetic_is_undefined(name: str) -> None:
    assert not list(dangers(compiled(arithmetic(name, 12))))


@pytest.mark.parametrize("name", FLOATS)
def test_no_conversion_is_undefined(name: str) -> None:
    assert not list(dangers(compiled(conversions(name, 12))))


@pytest.mark.parametrize("name", [name for name in INTEGERS if integer_bounds(INTEGERS[name])[1] > 100])
def test_no_position_is_undefined(name: str) -> None:
    assert not list(dangers(compiled(indexing(name))))


@pytest.mark.parametrize("element", ["i32", "i64"])
def test_the_check_of_the_code_finds_a_division(element: str) -> None:
    type_ = f"tensor<4x{element}>"
    module = compiled(f"func.func @main(%x: {type_}) -> {type_} {{\n"
                      f"%0 = hlo.divide %x, %x : {type_}\nreturn %0 : {type_}\n}}")  # fmt: skip
    (division,) = [op for op in module.walk() if is_division(op)]
    loaded = next(op.results[0] for op in module.walk() if isinstance(op, llvm.LoadOp))
    division.operands[1] = loaded
    assert any("divisor" in message for message in dangers(module))
