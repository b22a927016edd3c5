"""Which index arithmetic fits into 32 bits: the analysed ranges against the results of the arithmetic."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import ModuleOp

from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.walking import operations_in
from xhlo.lowering.device.index_ranges import IndexRanges, narrow_indices
from xhlo.targets.program.pipeline import parse_source
from xhlo.targets.program.source import read_source


def device_function(body: str, arguments: str = "", passes: tuple[str, ...] = ("convert-loops-to-cf",)) -> ModuleOp:
    """A kernel of 8 blocks of 256 threads with that body."""
    from xhlo.passes.manager.pipelines import build_passes

    text = f"""
      gpu.module @kernels {{
        gpu.func @k({arguments}) kernel attributes {{known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 8, 1, 1>}} {{
          {body}
          gpu.return
        }}
      }}"""
    ctx = make_context()
    module = parse_source(read_source(text), ctx)
    for one in build_passes(passes):
        one.apply(ctx, module)
    return module


def width(body: str, arguments: str = "") -> int:
    """The width of index that the conversion chooses."""
    module = device_function(body, arguments, ("convert-loops-to-cf", "convert-gpu-to-nvvm"))
    function = next(op for op in operations_in(module) if op.name == "func.func")
    attribute = function.attributes.get("xhlo.index_bitwidth")
    return 64 if attribute is None else int(str(attribute).split()[0])


IDS = "%t = gpu.thread_id x\n %b = gpu.block_id x\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # 8 blocks: 7 * 2^28 fits; 7 * 2^29 does not, even as an intermediate result of a small number.
        ("%c = arith.constant 268435456 : index\n %x = arith.muli %b, %c : index", 32),
        ("%c = arith.constant 536870912 : index\n %x = arith.muli %b, %c : index", 64),
        (
            "%c = arith.constant 536870912 : index\n %x = arith.muli %b, %c : index\n %y = arith.divui %x, %c : index",
            64,
        ),
        ("%c = arith.constant 2147483648 : index\n %x = arith.remui %b, %c : index", 64),
        # A loop's counter ends at its bound or one step less before it.
        (
            "%z = arith.constant 0 : index\n %n = arith.constant 1000 : index\n %s = arith.constant 3 : index\n"
            " scf.for %i = %t to %n step %s { %x = arith.muli %i, %n : index }",
            32,
        ),
        (
            "%n = arith.constant 2147483647 : index\n %s = arith.constant 2 : index\n"
            " scf.for %i = %t to %n step %s { %x = arith.addi %i, %t : index }",
            64,
        ),
        # An index that a loop carries may grow without bound.
        (
            "%z = arith.constant 0 : index\n %n = arith.constant 1000 : index\n %s = arith.constant 3 : index\n"
            " %r = scf.for %i = %t to %n step %s iter_args(%a = %z) -> (index) {"
            " %x = arith.addi %a, %i : index\n scf.yield %x : index }",
            64,
        ),
        # A value read from memory is unbounded until it is clamped.
        ("%v = memref.load %m[%t] : memref<256xi64>\n %x = arith.index_cast %v : i64 to index", 64),
        (
            "%v = memref.load %m[%t] : memref<256xi64>\n %c0 = arith.constant 0 : i64\n %c9 = arith.constant 9 : i64\n"
            " %p = arith.maxsi %v, %c0 : i64\n %q = arith.minsi %p, %c9 : i64\n"
            " %x = arith.index_cast %q : i64 to index",
            32,
        ),
        (
            "%v = memref.load %m[%t] : memref<256xi64>\n %c9 = arith.constant 9 : i64\n"
            " %q = arith.minui %v, %c9 : i64\n %x = arith.index_cast %q : i64 to index",
            32,
        ),
        # Unsigned division of a number that may be negative gives a huge one.
        (
            "%c = arith.constant 3 : index\n %x = arith.subi %t, %c : index\n %y = arith.divui %x, %c : index",
            64,
        ),
        (
            "%c = arith.constant 3 : index\n %x = arith.subi %t, %c : index\n %y = arith.floordivsi %x, %c : index",
            32,
        ),
        # Where the comparison holds it is not negative.
        (
            "%c = arith.constant 3 : index\n %f = arith.cmpi ult, %t, %c : index\n"
            " scf.if %f { } else { %x = arith.subi %t, %c : index\n %y = arith.divui %x, %c : index }",
            32,
        ),
        (
            "%c = arith.constant 3 : index\n %f = arith.cmpi ult, %t, %c : index\n"
            " scf.if %f { %x = arith.subi %t, %c : index\n %y = arith.divui %x, %c : index }",
            64,
        ),
        (
            "%c = arith.constant 3 : index\n %n = arith.constant 4 : index\n %f = arith.cmpi sge, %t, %c : index\n"
            " %g = arith.cmpi sgt, %b, %n : index\n %h = arith.andi %f, %g : i1\n"
            " scf.if %h { %x = arith.subi %t, %c : index\n %z = arith.subi %b, %n : index\n"
            " %p = arith.divui %x, %c : index\n %q = arith.divui %z, %c : index }",
            32,
        ),
        # Index in a condition's results.
        (
            "%c = arith.constant 3 : index\n %f = arith.cmpi ult, %t, %c : index\n"
            " %y = scf.if %f -> (index) { scf.yield %t : index } else { scf.yield %b : index }",
            32,
        ),
    ],
)
def test_width(body: str, expected: int):
    assert width(IDS + body, "%m: memref<256xi64>") == expected


@pytest.mark.parametrize(
    ("type_", "expected"),
    [
        ("memref<2147483648xi8>", 32),  # its last element has the number 2^31 - 1
        ("memref<2147483649xi8>", 64),
        ("memref<65536x65536xf32>", 64),
        ("memref<4xindex>", 64),
    ],
)
def test_buffers_count(type_: str, expected: int):
    assert width("", f"%m: {type_}") == expected


def smaller(a: int, b: int) -> int:
    return min(a, b)


def larger(a: int, b: int) -> int:
    return max(a, b)


def floor_divide(a: int, b: int) -> int:
    return a // b


def ceiling_divide(a: int, b: int) -> int:
    return -(-a // b)


def truncating_divide(a: int, b: int) -> int:
    return abs(a) // b * (1 if a >= 0 else -1)


def truncating_rest(a: int, b: int) -> int:
    return a - b * truncating_divide(a, b)


@pytest.mark.long(5)
@pytest.mark.parametrize(
    ("op", "function", "signed"),
    [
        ("addi", int.__add__, True),
        ("subi", int.__sub__, True),
        ("muli", int.__mul__, True),
        ("divui", floor_divide, False),
        ("remui", int.__mod__, False),
        ("floordivsi", floor_divide, True),
        ("divsi", truncating_divide, True),
        ("ceildivsi", ceiling_divide, True),
        ("remsi", truncating_rest, True),
        ("minsi", smaller, True),
        ("maxsi", larger, True),
        ("minui", smaller, False),
        ("maxui", larger, False),
        ("andi", int.__and__, False),
        ("ori", int.__or__, False),
        ("xori", int.__xor__, False),
    ],
)
def test_ranges_hold_all_results(op: str, function: Callable[[int, int], int], signed: bool):
    """Over small intervals, every result is in the computed range."""
    lows = (-7, -3, 0, 2, 6) if signed else (0, 2, 6)
    divides = "div" in op or "rem" in op
    for low, more in itertools.product(lows, (0, 3, 9)):
        left = (low, low + more)
        for right in ((1, 1), (3, 3), (2, 9)) if divides else ((-4, 1), (2, 9)) if signed else ((0, 0), (2, 9)):
            body = f"""
              %a0 = arith.constant {left[0]} : index
              %a1 = arith.constant {left[1]} : index
              %b0 = arith.constant {right[0]} : index
              %b1 = arith.constant {right[1]} : index
              %f = arith.cmpi eq, %t, %t : index
              %p = arith.select %f, %a0, %a1 : index
              %q = arith.select %f, %b0, %b1 : index
              %x = arith.{op} %p, %q : index"""
            module = device_function(IDS + body, passes=())
            function_op = next(one for one in operations_in(module) if one.name == "gpu.func")
            result = next(one for one in operations_in(module) if one.name == f"arith.{op}").results[0]
            found = IndexRanges(function_op.regions[0]).of(result)
            assert found is not None, (op, left, right)
            for a, b in itertools.product(range(left[0], left[1] + 1), range(right[0], right[1] + 1)):
                assert found[0] <= function(a, b) <= found[1], (op, a, b, found)


@pytest.mark.long(3)
@pytest.mark.parametrize("predicate", ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"])
def test_what_branches_tell(predicate: str):
    """In both branches of a comparison, every pair that takes the branch is in the refined ranges."""
    compare: dict[str, Callable[[int, int], bool]] = {
        "eq": int.__eq__, "ne": int.__ne__, "lt": int.__lt__, "le": int.__le__, "gt": int.__gt__, "ge": int.__ge__
    }  # fmt: skip
    holds = compare[predicate if predicate in compare else predicate[1:]]
    unsigned = predicate.startswith("u")
    for left, right in itertools.product([(-5, 2), (0, 6), (3, 4)], repeat=2):
        body = f"""
          %a0 = arith.constant {left[0]} : index
          %a1 = arith.constant {left[1]} : index
          %b0 = arith.constant {right[0]} : index
          %b1 = arith.constant {right[1]} : index
          %f = arith.cmpi eq, %t, %t : index
          %p = arith.select %f, %a0, %a1 : index
          %q = arith.select %f, %b0, %b1 : index
          %g = arith.cmpi {predicate}, %p, %q : index
          %zero = arith.constant 0 : index
          scf.if %g {{
            %x = arith.addi %p, %zero {{then}} : index
            %y = arith.addi %q, %zero {{then}} : index
          }} else {{
            %x = arith.addi %p, %zero : index
            %y = arith.addi %q, %zero : index
          }}"""
        module = device_function(IDS + body)
        function_op = next(one for one in operations_in(module) if one.name == "gpu.func")
        ranges = IndexRanges(function_op.regions[0])
        sums = [one for one in operations_in(module) if one.name == "arith.addi"]
        for a, b in itertools.product(range(left[0], left[1] + 1), range(right[0], right[1] + 1)):
            taken = holds(a % 2**64, b % 2**64) if unsigned else holds(a, b)
            x, y = (ranges.of(one.results[0]) for one in sums if ("then" in one.attributes) == taken)
            assert x is not None and y is not None
            assert x[0] <= a <= x[1] and y[0] <= b <= y[1], (predicate, a, b, x, y)


def test_marks_only_what_fits():
    module = device_function(IDS + "%x = arith.addi %t, %b : index", passes=())
    function = next(op for op in operations_in(module) if op.name == "gpu.func")
    # The analysis does not know thread numbers before they are read from registers.
    assert not narrow_indices(function.regions[0])
    assert all("overflow" not in str(op) for op in operations_in(module))
