"""The sizes of small kernels become arguments of their functions, so that programs of other sizes share their code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from xdsl.context import Context
from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    UnitAttr,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ..dialects.cpu import SHARED
from ..dialects.llvm_loops import LOOP, UNROLL_FULLY, LoopAnnotationAttr, LoopUnrollAttr
from ..dialects.support.attributes import integer_attr
from ..dialects.support.buffers import i32_array
from ..dialects.support.classes import one_of
from ..dialects.support.creation import create_op
from ..dialects.support.editing import insert_before, operands_of, set_operand, set_operands
from ..dialects.support.kernel import BRIEF
from ..dialects.support.llvm_layout import byte_width
from ..hlo_dialect.hlo_pass import HloPass
from ..hlo_dialect.walking import operations_inside, operations_of

I64 = IntegerType(64)
NO_WRAP = IntegerAttr(3, i32)

MULTIPLE = 256
"""
Bounds of innermost loops become arguments if they are multiples of it, and stay known as such: code for others has more
loops, for what is left of several vectors and of one.
"""

UNROLLED, UNROLLED_NEST = 1024, 2048
"""The most bytes of a loop that becomes a few vectors, without a loop; of all iterations of several in each other."""

LEAST_LOOPING = 8
"""The least size that becomes an argument in the loops around those."""

LEAST_ONCE = 2
"""The least size that becomes one outside of loops."""

MOST_OPERATIONS = 600
"""
The most operations of a function that other programs are likely to have, too: a special function such as lgamma takes
250, random numbers of a normal distribution 350. Larger ones are mostly a program's own.
"""

KERNEL = ["noinline", "nounwind"]
"""LLVM's attributes of kernels and parallel bodies."""

END = 1 << 40
"""Sizes are smaller."""

Role = Literal["bound", "room", "share", "stride"]
"""The use of a size; "share" is the part of a loop that one task runs."""

_is_arithmetic = one_of(llvm.AddOp, llvm.MulOp, llvm.SDivOp, llvm.SRemOp, llvm.SubOp, llvm.UDivOp, llvm.URemOp)
_is_division = one_of(llvm.SDivOp, llvm.SRemOp, llvm.UDivOp, llvm.URemOp)
_computes_bounds = one_of(llvm.AddOp, llvm.CallIntrinsicOp, llvm.ICmpOp, llvm.MulOp, llvm.SelectOp, llvm.SubOp)
_EXTREMES = ("llvm.smin.i64", "llvm.smax.i64")


class ShareKernelsPass(HloPass):
    """
    Make the sizes in small kernels and parallel bodies with loops arguments of their functions.

    Before: `llvm.func internal @k(%a: !llvm.ptr)` with a loop of 1024 iterations, and `llvm.call @k(%a)`
    After:  `llvm.func internal @k(%a: !llvm.ptr, %n: i64)` with one of %n * 256, and `llvm.call @k(%a, %c4)`; @k has
            the attribute xhlo.shared: it is compiled by itself, and kept for programs with the same or other sizes.
    Sizes are bounds of loops, distances between elements, and lengths of buffers on the stack. Bounds of innermost
    loops are arguments where they are multiples of 256, and known as such. Others stay constants, and so do bounds
    of loops to unroll fully, distances in innermost loops and the sizes of blocks of them. A loop of so few bytes that
    it becomes a few vectors keeps its bound, and the one around it its distances: LLVM keeps values of such vectors in
    registers, and interleaves several.
    Assumes: the llvm dialect. Only programs that this process runs are compiled so: their code is kept.
    Leaves: the same operations on the same values.
    """

    name = "share-kernels"
    takes_branches = True

    def run(self, ctx: Context, module: ModuleOp) -> None:
        functions = {op.sym_name.data: op for op in module.body.block.ops if type(op) is llvm.FuncOp}
        calls: dict[str, list[llvm.CallOp]] = {name: [] for name, op in functions.items() if _is_chosen(op, functions)}
        for function in functions.values() if calls else ():
            for op in operations_inside(function.body):
                if type(op) is llvm.CallOp and op.callee is not None:
                    if (name := op.callee.string_value()) in calls:
                        calls[name].append(op)
                elif type(op) is llvm.AddressOfOp:
                    calls.pop(op.global_name.root_reference.data, None)
        for name, found in calls.items():
            _Sizes(functions[name]).become_arguments(found)


def _is_chosen(op: llvm.FuncOp, functions: Mapping[str, llvm.FuncOp]) -> bool:
    """
    Whether a function is a kernel or a part of one that has loops, calls nothing, needs no constants in memory, and is
    so small that other programs may have it.
    """
    if _traits(op) != KERNEL or SHARED in op.attributes or BRIEF in op.attributes:
        return False
    blocks = list(op.body.blocks)
    if len(blocks) < 3 or not any(_loops(blocks)):
        return False
    ops = operations_inside(op.body)
    if len(ops) > MOST_OPERATIONS or any(type(each) is llvm.AddressOfOp for each in ops):
        return False
    return all(_is_inlined(functions, each) for each in ops if type(each) is llvm.CallOp)


def _traits(op: llvm.FuncOp) -> list[str]:
    found = op.properties.get("passthrough")
    return [cast(StringAttr, each).data for each in cast("ArrayAttr[Attribute]", found).data] if found else []


def _is_inlined(functions: Mapping[str, llvm.FuncOp], call: llvm.CallOp) -> bool:
    """Whether each text with the call has the body of the callee, too."""
    callee = None if call.callee is None else functions.get(call.callee.string_value())
    return callee is not None and not {"alwaysinline", "memory(none)"}.isdisjoint(_traits(callee))


def _loops(blocks: Sequence[Block]) -> Iterator[tuple[int, int]]:
    """The numbers of the first and the last block of each loop: a branch leads back from the last to the first."""
    numbers = {block: number for number, block in enumerate(blocks)}
    for block, number in numbers.items():
        for target in _successors(block):
            if numbers[target] <= number:
                yield numbers[target], number


def _innermost(blocks: Sequence[Block]) -> Iterator[tuple[Sequence[Block], bool]]:
    """
    The blocks of each loop that contains no other, or none but brief ones, with whether it is brief itself: such loops
    become a few vectors, and what is around them is innermost then.
    """
    loops = sorted(set(_loops(blocks)), key=lambda loop: loop[1] - loop[0])
    brief: dict[tuple[int, int], int] = {}
    for first, last in loops:
        inside = [(l, end) for l, end in loops if first <= l and end <= last and (l, end) != (first, last)]
        if all(each in brief for each in inside):
            found = blocks[first : last + 1]
            size = _iterations(found) * max((brief[each] for each in inside), default=_width(found))
            if 0 < size <= (UNROLLED_NEST if inside else UNROLLED):
                brief[first, last] = size
            yield found, (first, last) in brief


def _iterations(loop: Sequence[Block]) -> int:
    """The iterations of a loop that are stated; 0 if they are not."""
    test = _test(loop)
    return _number(operands_of(test)[1]) or 0 if type(test) is llvm.ICmpOp else 0


def _test(loop: Sequence[Block]) -> object:
    """The operation that tells whether a loop goes on."""
    operands = operands_of(cast(Operation, loop[-1].last_op))
    return operands[0].owner if operands else None


def _width(loop: Sequence[Block]) -> int:
    """The bytes of the narrowest elements that a loop reads or writes."""
    read = [byte_width(op.results[0].type) for op in _inside(loop) if type(op) is llvm.LoadOp]
    written = [byte_width(operands_of(op)[0].type) for op in _inside(loop) if type(op) is llvm.StoreOp]
    return min((*read, *written), default=0)


def _ends_of_unrolled(blocks: Sequence[Block]) -> Iterator[Operation]:
    for block in blocks:
        branch = block.last_op
        annotation = None if branch is None else branch.attributes.get(LOOP)
        if type(branch) is llvm.CondBrOp and isinstance(annotation, LoopAnnotationAttr):
            unroll = annotation.unroll
            if isinstance(unroll, LoopUnrollAttr) and unroll.factor.data == UNROLL_FULLY:
                yield cast(Operation, branch.cond.owner)


def _inside(blocks: Sequence[Block]) -> Iterator[Operation]:
    return (op for block in blocks for op in operations_of(block))


def _successors(block: Block) -> Sequence[Block]:
    return () if block.last_op is None else block.last_op.successors


@dataclass
class _Sizes:
    """The sizes in a function."""

    function: llvm.FuncOp
    _arguments: list[int] = field(default_factory=list[int])
    """The numbers that calls pass on."""
    _marks: list[DictionaryAttr] = field(default_factory=list[DictionaryAttr])
    """The attributes of their parameters."""
    _made: dict[tuple[int, Role, int], SSAValue] = field(default_factory=dict[tuple[int, Role, int], SSAValue])
    """The values of sizes, by number, use, and known factor."""
    _varying: set[SSAValue] = field(default_factory=set[SSAValue])
    """The values that change in innermost loops."""
    _bounding: set[Operation] = field(default_factory=set[Operation])
    """The operations on which the first and last iterations of innermost loops depend."""
    _unrolled: set[Operation] = field(default_factory=set[Operation])
    """The comparisons that end loops that LLVM is to unroll fully: it must know their numbers of iterations."""
    _fixed: set[object] = field(default_factory=set[object])
    """The tests of brief loops."""
    _around: set[object] = field(default_factory=set[object])
    """The tests of loops around those."""

    def become_arguments(self, calls: Sequence[llvm.CallOp]) -> None:
        function, blocks = self.function, list(self.function.body.blocks)
        self._find_innermost(blocks)
        self._unrolled.update(_ends_of_unrolled(blocks))
        for block in blocks:
            for op in list(operations_of(block)):
                self._replace_in(op, block is blocks[0])
        function.attributes[SHARED] = UnitAttr()
        types, count = function.function_type, len(self._arguments)
        inputs = types.inputs.data
        function.properties["function_type"] = llvm.LLVMFunctionType([*inputs, *[I64] * count], types.output)
        marks = [DictionaryAttr({})] * len(inputs) if function.arg_attrs is None else function.arg_attrs.data
        function.properties["arg_attrs"] = ArrayAttr([*marks, *self._marks])
        for call in calls:
            made = [_constant(size) for size in self._arguments]
            for each in made:
                insert_before(each, call)
            set_operands(call, [*operands_of(call), *(each.results[0] for each in made)])
            call.properties["operandSegmentSizes"] = i32_array((len(operands_of(call)), 0))

    def _find_innermost(self, blocks: Sequence[Block]) -> None:
        """Collect what varies in innermost loops, and what bounds them."""
        looping: set[Block] = set()
        for inside, brief in _innermost(blocks):
            if brief:
                self._fixed.add(_test(inside))
            self._varying.update(argument for block in inside for argument in block.args)
            for op in _inside(inside):
                if not self._varying.isdisjoint(operands_of(op)):
                    self._varying.update(op.results)
            if not looping.isdisjoint(inside):
                self._around.add(_test(inside))
                continue
            looping.update(inside)
            before = [block for block in blocks if inside[0] in _successors(block)]
            self._find_bounding([cast(Operation, block.last_op) for block in (*inside, *before)])

    def _find_bounding(self, branches: Sequence[Operation]) -> None:
        waiting = [operand.owner for op in branches for operand in operands_of(op)]
        while waiting:
            op = waiting.pop()
            if isinstance(op, Operation) and op not in self._bounding and _computes_bounds(op):
                self._bounding.add(op)
                waiting += [operand.owner for operand in operands_of(op)]

    def _replace_in(self, op: Operation, once: bool) -> None:
        """Let an operation use sizes instead of constants; `once`: it is outside of all loops."""
        role = _role(op)
        if role is None or op in self._unrolled or op in self._fixed:
            return
        if not once and (role == "room" or _is_division(op)):
            return
        if once and type(op) is llvm.GEPOp:
            return  # parts of one buffer, which instructions address by constants
        short = op in self._bounding or not self._varying.isdisjoint(operands_of(op))
        short = short and op not in self._around
        if short and role != "bound":
            return  # parts of addresses, and the size of a block of a loop
        if once and role != "room":
            role = "share"
        # A short buffer may be kept in registers.
        least = MULTIPLE if role == "room" else LEAST_ONCE if once else LEAST_LOOPING
        for index, operand in enumerate(operands_of(op)):
            value = _number(operand)
            if value is not None and least <= value < END and not (short and value % MULTIPLE):
                set_operand(op, index, self._size(value, role, MULTIPLE if short else 1, least))

    def _size(self, value: int, role: Role, factor: int, least: int) -> SSAValue:
        """A size, which is not less than `least`, as a value of the function: an argument, times a factor."""
        if (value, role, factor) not in self._made:
            self._arguments.append(value // factor)
            self._marks.append(_range(-(-least // factor)))
            entry = cast(Block, self.function.body.first_block)
            size = entry.insert_arg(I64, len(entry.args))
            if factor > 1:
                by = _constant(factor)
                flags = {"overflowFlags": NO_WRAP}
                product = create_op(llvm.MulOp, operands=[size, by.results[0]], result_types=[I64], properties=flags)
                # The first operation may be one that needs the size.
                insert_before(product, cast(Operation, entry.first_op))
                insert_before(by, product)
                size = product.results[0]
            self._made[value, role, factor] = size
        return self._made[value, role, factor]


def _role(op: Operation) -> Role | None:
    """How an operation uses sizes; None if it uses none."""
    if type(op) is llvm.CallIntrinsicOp:
        return "bound" if cast(StringAttr, op.properties["intrin"]).data in _EXTREMES else None
    if type(op) is llvm.ICmpOp:
        return "bound"
    if type(op) is llvm.AllocaOp:
        return "room"
    return "stride" if type(op) is llvm.GEPOp or _is_arithmetic(op) else None


def _number(value: SSAValue) -> int | None:
    """The number that an i64 constant is; None for another value."""
    op = value.owner
    if type(op) is not llvm.ConstantOp or value.type != I64:
        return None
    attribute = op.properties["value"]
    return cast("IntegerAttr[Any]", attribute).value.data if isinstance(attribute, IntegerAttr) else None


def _range(least: int) -> DictionaryAttr:
    """The attribute of a parameter whose least value is known: LLVM makes no second loop for a distance of one."""
    return DictionaryAttr({"llvm.range": DenseArrayBase.from_list(I64, [least, END])})


def _constant(value: int) -> Operation:
    return create_op(llvm.ConstantOp, result_types=[I64], properties={"value": integer_attr(value, I64)})
