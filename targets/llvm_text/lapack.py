"""
Calls of LAPACK by compiled code: for each, a function in LLVM IR that does what the call's plan says.

The functions are named as convert-to-llvm names calls of the host, and take what those take: an array of the addresses
of operands and results, the workspace last. LAPACK's routines are Fortran's, of 32-bit integers; the lengths of
characters follow the arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...dialects.support.shared_names import PARTS
from ...hlo_dialect.custom_calls.lapack import NOT_FINITE
from ...hlo_dialect.custom_calls.lapack_plans import Argument, Clear, Memory, Move, Pair, Plan, Step, Where, plan_of
from ...hlo_dialect.custom_calls.linked_lapack import called
from ..program.facts import HostCall
from .module import named_by_text

_FLOATS = {4: "float", 8: "double"}
_ROWS = 8
"""Rows that a transposition reads at once: that many cache lines stay in L1, however far apart they are."""
_WORDS = {1: "i8", 2: "i16", 4: "i32", 8: "i64", 16: "<2 x i64>"}
"""Elements as they are moved, by their size."""


@dataclass(frozen=True)
class Naming:
    """The symbols of LAPACK, and of what is around its calls."""

    before: str = ""
    after: str = "_"
    """The letters before and after the name of a routine: Fortran's are `dgetrf_`."""
    set_threads: str = ""
    """The function that sets the number of LAPACK's threads, an i32, if any: each call has one."""
    parallel_for: str = ""
    """The function `void (void (*body)(void *context, i64 first, i64 end), void *context, i64 count)`, if any."""
    loops_apart: bool = False
    """Whether the functions with loops, which do not depend on the calls, are texts of their own."""

    def symbol(self, routine: str) -> str:
        return f"{self.before}{routine}{self.after}"


FORTRAN = Naming()


def with_lapack(text: str, calls: Sequence[HostCall], pointer_bits: int) -> str:
    """The program's LLVM IR with definitions of the functions that call LAPACK."""
    calls = [call for call in calls if call.is_of_lapack]
    for call in calls:
        declared = next(line for line in text.splitlines() if _declares(line, call.symbol))
        text = text.replace(f"{declared}\n", "", 1)
    return f"{text}\n{_definitions(calls, pointer_bits, FORTRAN, 'internal ')}" if calls else text


def lapack_text(calls: Sequence[HostCall], pointer_bits: int, naming: Naming) -> tuple[str, Mapping[str, str]]:
    """
    LLVM IR of the functions that call LAPACK, for texts that declare them, and the texts of those with loops by symbol,
    if they are apart.
    """
    writer = _written(calls, pointer_bits, naming, "")
    return writer.text(), writer.apart


def _definitions(calls: Sequence[HostCall], pointer_bits: int, naming: Naming, linkage: str) -> str:
    return _written(calls, pointer_bits, naming, linkage).text()


def _written(calls: Sequence[HostCall], pointer_bits: int, naming: Naming, linkage: str) -> _Writer:
    writer = _Writer(pointer_bits, naming, linkage)
    for call in calls:
        seen = call.resolve()[1]
        parts = int(seen.attributes.get(PARTS, 1)) if naming.parallel_for else 1
        sizes = [result.nbytes for result in seen.results[:-1]]
        writer.function(call.symbol, plan_of(called(seen)), len(seen.operands), sizes, parts)
    return writer


def _declares(line: str, symbol: str) -> bool:
    return line.startswith("declare ") and any(f"@{name}(" in line for name in (symbol, f'"{symbol}"'))


class _Writer:
    """Writes the functions of one text, and what they share."""

    def __init__(self, pointer_bits: int, naming: Naming, linkage: str):
        self.naming = naming
        self.linkage = linkage
        self.length = f"i{pointer_bits}"
        """The type of the lengths of characters."""
        self.shared: dict[str, str] = {}
        """Constants, declarations and functions by symbol."""
        self.apart: dict[str, str] = {}
        """The texts of the functions with loops by symbol, if they are apart."""
        self.functions: list[str] = []
        self.lines: list[str] = []
        self.number = 0

    def text(self) -> str:
        return "\n".join([*self.shared.values(), *self.functions]) + "\n"

    def function(self, symbol: str, plan: Plan, operands: int, result_bytes: Sequence[int], parts: int) -> None:
        """`void SYMBOL(void **buffers)`: the plan for every matrix; threads take parts of the batch."""
        self.lines = [f'define {self.linkage}void @"{symbol}"(ptr %buffers) nounwind {{', "entry:"]
        body = f'@"{symbol}.part"'
        if plan.batch:
            self._set_threads()
            if parts > 1:
                self._share((self.naming.parallel_for, f"declare void @{self.naming.parallel_for}(ptr, ptr, i64)"))
                self.lines.append(f"  call void @{self.naming.parallel_for}(ptr {body}, ptr %buffers, i64 {parts})")
            else:
                self.lines.append(f"  call void {body}(ptr %buffers, i64 0, i64 1)")
        self.lines += ["  ret void", "}"]
        self.functions.append("\n".join(self.lines))
        if plan.batch:
            self._part(body, plan, operands, result_bytes, -(-plan.batch // parts))

    def _part(self, name: str, plan: Plan, operands: int, result_bytes: Sequence[int], share: int) -> None:
        """`void SYMBOL.part(void **buffers, i64 first, i64 end)`: the plan for the matrices of some parts."""
        results = len(result_bytes)
        self.lines = [
            f"define internal void {name}(ptr %buffers, i64 %part, i64 %part.end) nounwind {{",
            "entry:",
            f"  %first = mul i64 %part, {share}",
            f"  %whole.end = mul i64 %part.end, {share}",
            f"  %is.past = icmp sgt i64 %whole.end, {plan.batch}",
            f"  %last = select i1 %is.past, i64 {plan.batch}, i64 %whole.end",
        ]
        for number in range(operands + results + 1):
            buffer = "works" if number == operands + results else f"b{number}"
            self.lines += [
                f"  %{buffer}.at = getelementptr ptr, ptr %buffers, i64 {number}",
                f"  %{buffer} = load ptr, ptr %{buffer}.at",
            ]
        self.lines += [
            f"  %work.begin = mul i64 %part, {plan.nbytes}",
            "  %work = getelementptr i8, ptr %works, i64 %work.begin",
            "  %any = icmp slt i64 %first, %last",
            "  br i1 %any, label %matrix, label %end",
            "matrix:",
            "  %k = phi i64 [ %first, %entry ], [ %next, %done ]",
        ]
        if plan.finite is not None:
            self._check_finite(plan, plan.finite, operands, [size // plan.batch for size in result_bytes])
        self._steps(plan.before, operands)
        self._call(plan, operands)
        self._steps(plan.after, operands)
        self.lines += [
            "  br label %done",
            "done:",
            "  %next = add i64 %k, 1",
            "  %more = icmp slt i64 %next, %last",
            "  br i1 %more, label %matrix, label %end",
            "end:",
            "  ret void",
            "}",
        ]
        self.functions.append("\n".join(self.lines))

    def _set_threads(self) -> None:
        if self.naming.set_threads:
            self._share((self.naming.set_threads, f"declare void @{self.naming.set_threads}(i32)"))
            self.lines.append(f"  call void @{self.naming.set_threads}(i32 1)")

    def _check_finite(self, plan: Plan, memory: Memory, operands: int, sizes: Sequence[int]) -> None:
        """Without a call, fill the results of a matrix that is not finite."""
        part, parts = memory.dtype.itemsize, memory.elements
        if memory.dtype.kind == "c":
            part, parts = part // 2, 2 * parts
        at = self._address(memory, operands)
        is_finite = self._with_loops(_is_finite(_FLOATS[part]))
        self.lines += [
            f"  %finite = call i1 @{is_finite}(ptr {at}, i64 {parts})",
            "  br i1 %finite, label %call, label %spoil",
            "spoil:",
        ]
        for index, size in enumerate(sizes):
            self._zeros(self._address(Memory(Where.RESULT, index, size, np.dtype(np.uint8)), operands), size)
        self._steps(plan.spoiled, operands)
        assert plan.info is not None, "routines that need finite matrices return info"
        self.lines += [
            f"  store i32 {NOT_FINITE}, ptr {self._address(plan.info, operands)}",
            "  br label %done",
            "call:",
        ]

    def _name(self) -> str:
        self.number += 1
        return f"%v{self.number}"

    def _address(self, memory: Memory, operands: int) -> str:
        """The memory's address for the matrix of number %k."""
        skipped = memory.skipped * memory.dtype.itemsize
        place, at = self._name(), self._name()
        if memory.where is Where.WORK:
            self.lines.append(f"  {at} = getelementptr i8, ptr %work, i64 {memory.index + skipped}")
            return at
        number = memory.index + (operands if memory.where is Where.RESULT else 0)
        start = self._name()
        self.lines += [
            f"  {place} = mul i64 %k, {memory.nbytes}",
            f"  {start} = add i64 {place}, {skipped}",
            f"  {at} = getelementptr i8, ptr %b{number}, i64 {start}",
        ]
        return at

    def _steps(self, steps: Sequence[Step], operands: int) -> None:
        for step in steps:
            target = self._address(step.target, operands)
            match step:
                case Clear():
                    self._zeros(target, step.target.nbytes)
                case Move():
                    self._move(step, self._address(step.source, operands), target)
                case Pair():
                    self._pair(step, self._address(step.source, operands), target, operands)

    def _zeros(self, at: str, nbytes: int) -> None:
        self._share(("llvm.memset", "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"))
        self.lines.append(f"  call void @llvm.memset.p0.i64(ptr {at}, i8 0, i64 {nbytes}, i1 false)")

    def _move(self, step: Move, source: str, target: str) -> None:
        size = step.source.dtype.itemsize
        if not step.rows:
            self._share(("llvm.memcpy", "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"))
            sizes = f"i64 {step.source.nbytes}, i1 false"
            self.lines.append(f"  call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, {sizes})")
            return
        transpose = self._with_loops(_transposition(size))
        sizes = f"i64 {step.rows}, i64 {step.target.elements // step.rows}"
        self.lines.append(f"  call void @{transpose}(ptr {target}, ptr {source}, {sizes})")

    def _pair(self, step: Pair, source: str, target: str, operands: int) -> None:
        kind = _FLOATS[step.source.dtype.itemsize]
        pair = self._with_loops(_pairing(kind))
        imaginary = self._address(step.imaginary, operands)
        self.lines.append(f"  call void @{pair}(ptr {target}, ptr {source}, ptr {imaginary}, i64 {step.n})")

    def _call(self, plan: Plan, operands: int) -> None:
        given = [f"ptr {self._argument(argument, plan, operands)}" for argument in plan.arguments]
        given += [f"{self.length} 1" for argument in plan.arguments if isinstance(argument, str)]
        types = ", ".join(each.split()[0] for each in given)
        symbol = self.naming.symbol(plan.routine)
        self._share((symbol, f"declare void @{symbol}({types})"))
        self.lines.append(f"  call void @{symbol}({', '.join(given)})")

    def _argument(self, argument: Argument, plan: Plan, operands: int) -> str:
        match argument:
            case None:
                return "null"
            case Memory():
                return self._address(argument, operands)
            case str():
                return self._constant(f"letter.{argument}", f"i8 {ord(argument)}")
            case int():
                return self._constant(f"integer.{argument}", f"i32 {argument}")
            case float():
                kind = _FLOATS[plan.dtype.itemsize // (2 if plan.dtype.kind == "c" else 1)]
                return self._constant(f"number.{kind}.{argument}", f"[2 x {kind}] [{kind} {argument}, {kind} 0.0]")

    def _constant(self, name: str, value: str) -> str:
        symbol = f'@"lapack.{name}"'
        self._share((symbol, f"{symbol} = private unnamed_addr constant {value}, align 8"))
        return symbol

    def _share(self, made: tuple[str, str]) -> None:
        self.shared.setdefault(*made)

    def _with_loops(self, made: tuple[str, str]) -> str:
        """The symbol of a function with loops, which is written here or apart."""
        name, text = made
        if not self.naming.loops_apart:
            self._share(made)
            return name
        symbol, text = named_by_text(text.replace("define internal", "define hidden", 1) + "\n", name)
        self.apart[symbol] = text
        head = text[len("define hidden ") : text.index(" {\n")]
        self._share((symbol, f"declare {head}"))
        return symbol


def _loop(name: str, count: str, before: str, body: Sequence[str]) -> Iterator[str]:
    """A loop that is known to run: `%NAME` from 0 to `count`, after block `before`; ends in block `NAME.end`."""
    yield from (
        f"  %{name}.any = icmp sgt i64 {count}, 0",
        f"  br i1 %{name}.any, label %{name}_body, label %{name}_end",
        f"{name}_body:",
        f"  %{name} = phi i64 [ 0, %{before} ], [ %{name}.next, %{name}_last ]",
        *body,
        f"  br label %{name}_last",
        f"{name}_last:",
        f"  %{name}.next = add i64 %{name}, 1",
        f"  %{name}.more = icmp slt i64 %{name}.next, {count}",
        f"  br i1 %{name}.more, label %{name}_body, label %{name}_end",
        f"{name}_end:",
    )


def _transposition(size: int) -> tuple[str, str]:
    """`to[c * rows + r] = from[r * columns + c]` for elements of `size` bytes; it reads some rows at a time."""
    name, word, align = f"lapack.transpose.{size}", _WORDS[size], min(size, 8)
    inner = [
        "  %r = add i64 %first, %k",
        "  %from.row = mul i64 %r, %columns",
        "  %from.at = add i64 %from.row, %c",
        f"  %from.p = getelementptr {word}, ptr %from, i64 %from.at",
        f"  %value = load {word}, ptr %from.p, align {align}",
        "  %to.row = mul i64 %c, %rows",
        "  %to.at = add i64 %to.row, %r",
        f"  %to.p = getelementptr {word}, ptr %to, i64 %to.at",
        f"  store {word} %value, ptr %to.p, align {align}",
    ]
    block = [
        f"  %first = mul i64 %b, {_ROWS}",
        "  %left = sub i64 %rows, %first",
        f"  %is.last = icmp slt i64 %left, {_ROWS}",
        f"  %these = select i1 %is.last, i64 %left, i64 {_ROWS}",
        *_loop("c", "%columns", "b_body", [*_loop("k", "%these", "c_body", inner)]),
    ]
    lines = [
        f"define internal void @{name}(ptr %to, ptr %from, i64 %rows, i64 %columns) nounwind {{",
        "entry:",
        f"  %rows.more = add i64 %rows, {_ROWS - 1}",
        f"  %blocks = sdiv i64 %rows.more, {_ROWS}",
        *_loop("b", "%blocks", "entry", block),
        "  ret void",
        "}",
    ]
    return name, "\n".join(lines)


def _is_finite(kind: str) -> tuple[str, str]:
    """Whether all numbers are finite: the difference of each and itself is 0."""
    name = f"lapack.finite.{kind}"
    lines = [
        f"define internal i1 @{name}(ptr %from, i64 %count) nounwind {{",
        "entry:",
        "  br label %test",
        "test:",
        "  %n = phi i64 [ 0, %entry ], [ %next, %good ]",
        "  %more = icmp slt i64 %n, %count",
        "  br i1 %more, label %look, label %all",
        "look:",
        f"  %at = getelementptr {kind}, ptr %from, i64 %n",
        f"  %x = load {kind}, ptr %at",
        f"  %difference = fsub {kind} %x, %x",
        f"  %is.finite = fcmp ord {kind} %difference, %difference",
        "  br i1 %is.finite, label %good, label %bad",
        "good:",
        "  %next = add i64 %n, 1",
        "  br label %test",
        "bad:",
        "  ret i1 false",
        "all:",
        "  ret i1 true",
        "}",
    ]
    return name, "\n".join(lines)


def _pairing(kind: str) -> tuple[str, str]:
    """Complex vectors as columns of a matrix by rows, from LAPACK's of a real matrix: see `Pair`."""
    name = f"lapack.pairs.{kind}"
    inner = [
        "  %real.row = mul i64 %real.column, %n",
        "  %real.at = add i64 %real.row, %r",
        f"  %real.p = getelementptr {kind}, ptr %from, i64 %real.at",
        f"  %real = load {kind}, ptr %real.p",
        "  %part.row = mul i64 %part.column, %n",
        "  %part.at = add i64 %part.row, %r",
        f"  %part.p = getelementptr {kind}, ptr %from, i64 %part.at",
        f"  %part = load {kind}, ptr %part.p",
        f"  %negative = fneg {kind} %part",
        f"  %second.part = select i1 %is.second, {kind} %negative, {kind} 0.0",
        f"  %imaginary.part = select i1 %is.first, {kind} %part, {kind} %second.part",
        "  %to.row = mul i64 %r, %n",
        "  %to.at = add i64 %to.row, %c",
        f"  %to.p = getelementptr [2 x {kind}], ptr %to, i64 %to.at",
        f"  store {kind} %real, ptr %to.p",
        f"  %to.q = getelementptr {kind}, ptr %to.p, i64 1",
        f"  store {kind} %imaginary.part, ptr %to.q",
    ]
    outer = [
        f"  %own.p = getelementptr {kind}, ptr %imaginary, i64 %c",
        f"  %own = load {kind}, ptr %own.p",
        f"  %is.positive = fcmp ogt {kind} %own, 0.0",
        # The last column begins no pair.
        "  %following = add i64 %c, 1",
        "  %has.following = icmp slt i64 %following, %n",
        "  %is.first = and i1 %is.positive, %has.following",
        "  %is.later = icmp sgt i64 %c, 0",
        "  %above = sub i64 %c, 1",
        "  %before.at = select i1 %is.later, i64 %above, i64 0",
        f"  %before.p = getelementptr {kind}, ptr %imaginary, i64 %before.at",
        f"  %before = load {kind}, ptr %before.p",
        f"  %before.positive = fcmp ogt {kind} %before, 0.0",
        "  %follows = and i1 %is.later, %before.positive",
        "  %not.first = xor i1 %is.first, true",
        "  %is.second = and i1 %follows, %not.first",
        "  %real.column = select i1 %is.second, i64 %above, i64 %c",
        "  %part.column = select i1 %is.first, i64 %following, i64 %c",
        *_loop("r", "%n", "c_body", inner),
    ]
    lines = [
        f"define internal void @{name}(ptr %to, ptr %from, ptr %imaginary, i64 %n) nounwind {{",
        "entry:",
        *_loop("c", "%n", "entry", outer),
        "  ret void",
        "}",
    ]
    return name, "\n".join(lines)
