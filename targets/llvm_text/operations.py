"""The writers of the llvm dialect's operations: each writes a line of LLVM IR, or a literal for a constant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DenseArrayBase, IntAttr, IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from ...dialects import llvm_ops
from ...dialects.llvm_loops import LOOP, LoopAnnotationAttr
from ...dialects.support.editing import operands_of
from ...dialects.support.kernel import UNPREDICTABLE
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.walking import int_values, operand_groups
from .literals import attribute_literal, quoted
from .metadata import Metadata
from .types import type_text


class ModuleState(Protocol):
    """The parts of a module's text that instructions refer to."""

    @property
    def intrinsics(self) -> dict[str, str]: ...

    @property
    def metadata(self) -> Metadata: ...

    def symbol(self, name: str) -> str: ...


class FunctionState(Protocol):
    """The function being written: its `lines` so far, and the names of its values and blocks."""

    @property
    def module(self) -> ModuleState: ...

    @property
    def lines(self) -> list[str]: ...

    def name(self, value: SSAValue) -> str: ...

    def typed(self, value: SSAValue) -> str: ...

    def typed_list(self, values: Sequence[SSAValue]) -> str: ...

    def target_label(self, op: Operation, index: int) -> str: ...


Writer = Callable[[FunctionState, Any], None]


def edges(op: Operation) -> list[tuple[Block, Sequence[SSAValue]]]:
    """A terminator's successors, each with the operands that it passes."""
    if isinstance(op, llvm.BrOp):
        return [(op.successors[0], op.operands)]
    if isinstance(op, llvm.CondBrOp):
        _, *arguments = operand_groups(op)
        return list(zip(op.successors, arguments, strict=True))
    if isinstance(op, llvm_ops.SwitchOp):
        return [(block, operands) for _, block, operands in op.edges()]
    fail(op, "is a terminator that the LLVM IR writer does not know")


# Values that are written inline at their uses.


def _constant_literal(op: llvm.ConstantOp) -> str:
    return attribute_literal(op, op.value, op.result.type)


LITERALS: dict[type, Callable[[Any], str]] = {
    llvm.ConstantOp: _constant_literal,
    llvm.UndefOp: lambda op: "undef",
    llvm_ops.PoisonOp: lambda op: "poison",
    llvm.ZeroOp: lambda op: "null" if isinstance(op.res.type, llvm.LLVMPointerType) else "zeroinitializer",
}


# Operations.


def _no_line(w: FunctionState, op: Operation) -> None:
    """Write nothing: constants and addresses are written inside the lines that use them."""


_FLAG_WORDS: dict[int, str] = {0: "", 1: " nsw", 2: " nuw", 3: " nuw nsw"}


def _overflow_words(op: Operation) -> str:
    flags = op.properties.get("overflowFlags")
    if flags is None:
        return ""
    if type(flags) is IntegerAttr:
        integer: Any = flags
        return _FLAG_WORDS[integer.value.data]
    if isinstance(flags, llvm.OverflowAttr):
        return "".join(f" {flag}" for flag in sorted(flags.data, reverse=True))
    return ""


def _float_words(op: Operation) -> str:
    """Fast-math flags, each with a space before it."""
    flags = op.properties.get("fastmathFlags")
    if type(flags) is llvm.FastMathAttr and flags.data:
        if len(flags.data) == 7:
            return " fast"
        return "".join(f" {flag}" for flag in sorted(flags.data))
    return ""


def _integer_binary(mnemonic: str) -> Writer:
    def write(w: FunctionState, op: Operation) -> None:
        lhs, rhs = operands_of(op)
        words = _overflow_words(op)
        if "isExact" in op.properties:
            words = " exact"
        elif "isDisjoint" in op.properties:
            words = " disjoint"
        (result,) = op.results
        w.lines.append(f"  {w.name(result)} = {mnemonic}{words} {type_text(result.type)} {w.name(lhs)}, {w.name(rhs)}")

    return write


def _float_binary(mnemonic: str) -> Writer:
    def write(w: FunctionState, op: Operation) -> None:
        lhs, rhs = operands_of(op)
        (result,) = op.results
        type_ = type_text(result.type)
        w.lines.append(f"  {w.name(result)} = {mnemonic}{_float_words(op)} {type_} {w.name(lhs)}, {w.name(rhs)}")

    return write


def _negate(w: FunctionState, op: llvm.FNegOp) -> None:
    w.lines.append(f"  {w.name(op.res)} = fneg{_float_words(op)} {w.typed(op.arg)}")


def _freeze(w: FunctionState, op: llvm_ops.FreezeOp) -> None:
    w.lines.append(f"  {w.name(op.res)} = freeze {w.typed(op.val)}")


def _cast(mnemonic: str) -> Writer:
    def write(w: FunctionState, op: Operation) -> None:
        words = " nneg" if "nonNeg" in op.properties else _overflow_words(op)
        (result,), (operand,) = op.results, operands_of(op)
        w.lines.append(f"  {w.name(result)} = {mnemonic}{words} {w.typed(operand)} to {type_text(result.type)}")

    return write


def _compare_integers(w: FunctionState, op: llvm.ICmpOp) -> None:
    predicate = llvm.ALL_ICMP_FLAGS[op.predicate.value.data].value
    lhs, rhs = operands_of(op)
    (result,) = op.results
    w.lines.append(f"  {w.name(result)} = icmp {predicate} {w.typed(lhs)}, {w.name(rhs)}")


def _compare_floats(w: FunctionState, op: llvm_ops.FCmpOp | llvm.FCmpOp) -> None:
    predicate = llvm.ALL_FCMP_FLAGS[cast("IntegerAttr[Any]", op.predicate).value.data].value.lstrip("_")
    w.lines.append(f"  {w.name(op.res)} = fcmp{_float_words(op)} {predicate} {w.typed(op.lhs)}, {w.name(op.rhs)}")


def _select(w: FunctionState, op: llvm_ops.SelectOp | llvm.SelectOp) -> None:
    cond, lhs, rhs = operands_of(op)
    tail = f", !unpredictable {w.module.metadata.none()}" if UNPREDICTABLE in op.attributes else ""
    values = f"{w.typed(cond)}, {w.typed(lhs)}, {w.typed(rhs)}"
    w.lines.append(f"  {w.name(op.res)} = select{_float_words(op)} {values}{tail}")


def _gep(w: FunctionState, op: llvm.GEPOp) -> None:
    words = " inbounds" if "inbounds" in op.properties else ""
    pointer, *dynamic = operands_of(op)
    parts = [type_text(op.properties["elem_type"]), w.typed(pointer)]
    rest = iter(dynamic)
    for index in int_values(op.properties["rawConstantIndices"]):
        parts.append(w.typed(next(rest)) if index == llvm.GEP_USE_SSA_VAL else f"i32 {index}")
    (result,) = op.results
    w.lines.append(f"  {w.name(result)} = getelementptr{words} {', '.join(parts)}")


def _alloca(w: FunctionState, op: llvm.AllocaOp) -> None:
    align = f", align {op.alignment.value.data}" if op.alignment is not None else ""
    space = cast(llvm.LLVMPointerType, op.res.type).addr_space
    where = f", addrspace({space.data})" if isinstance(space, IntAttr) and space.data else ""
    w.lines.append(f"  {w.name(op.res)} = alloca {type_text(op.elem_type)}, {w.typed(op.size)}{align}{where}")


def _refuse_atomic(op: llvm.LoadOp | llvm.StoreOp) -> None:
    ordering = op.properties.get("ordering")
    if ordering is not None and cast("IntegerAttr[Any]", ordering).value.data:
        fail(op, "is atomic: the LLVM IR writer supports plain accesses only")


def _alignment(op: llvm.LoadOp | llvm.StoreOp) -> str:
    stated = op.properties.get("alignment")
    return "" if stated is None else f", align {cast('IntegerAttr[Any]', stated).value.data}"


def _load(w: FunctionState, op: llvm.LoadOp) -> None:
    (result,), (pointer,) = op.results, operands_of(op)
    align = _alignment(op)
    _refuse_atomic(op)
    tail = w.module.metadata.access_suffix(op) if op.attributes else ""
    w.lines.append(f"  {w.name(result)} = load {type_text(result.type)}, {w.typed(pointer)}{align}{tail}")


def _store(w: FunctionState, op: llvm.StoreOp) -> None:
    value, pointer = operands_of(op)
    align = _alignment(op)
    _refuse_atomic(op)
    volatile = "volatile " if "volatile_" in op.properties else ""
    tail = w.module.metadata.access_suffix(op) if op.attributes else ""
    if "nontemporal" in op.properties:
        tail = f", !nontemporal {w.module.metadata.one()}{tail}"
    w.lines.append(f"  store {volatile}{w.typed(value)}, {w.typed(pointer)}{align}{tail}")


def _atomic(w: FunctionState, op: llvm_ops.AtomicRMWOp) -> None:
    scope = f' syncscope("{op.syncscope.data}")' if op.syncscope is not None else ""
    operands = f"{w.typed(op.ptr)}, {w.typed(op.val)}"
    w.lines.append(f"  {w.name(op.res)} = atomicrmw {op.operation.lstrip('_')} {operands}{scope} monotonic")


def _fence(w: FunctionState, op: llvm_ops.FenceOp) -> None:
    scope = f' syncscope("{op.syncscope.data}")' if op.syncscope is not None else ""
    w.lines.append(f"  fence{scope} {op.order}")


def _call(w: FunctionState, op: llvm.CallOp) -> None:
    if op.callee is None:
        fail(op, "is an indirect call, which the LLVM IR writer does not support")
    args, _ = operand_groups(op)
    _write_call(w, op, w.module.symbol(op.callee.string_value()), args, op.results[0] if op.results else None)


def _call_intrinsic(w: FunctionState, op: llvm.CallIntrinsicOp) -> None:
    name = op.intrin.data
    args, _ = operand_groups(op)
    value = op.results[0] if op.results else None
    if name not in w.module.intrinsics:
        result = "void" if value is None else type_text(value.type)
        types = ", ".join(type_text(arg.type) for arg in args)
        w.module.intrinsics[name] = f"declare {result} @{name}({types})"
    _write_call(w, op, name, args, value)


def _write_call(w: FunctionState, op: Operation, name: str, args: Sequence[SSAValue], result: SSAValue | None) -> None:
    head = "  call" if result is None else f"  {w.name(result)} = call{_float_words(op)}{_range_words(op)}"
    type_ = "void" if result is None else type_text(result.type)
    tail = w.module.metadata.access_suffix(op) if op.attributes else ""
    w.lines.append(f"{head} {type_} @{name}({w.typed_list(args)}){tail}")


def _range_words(op: Operation) -> str:
    """Bounds of a call's result: ` range(i32 0, 256)`."""
    bounds = op.attributes.get(llvm_ops.RANGE)
    if type(bounds) is not DenseArrayBase:
        return ""
    low, high = cast("DenseArrayBase[Any]", bounds).get_values()
    return f" range({type_text(op.results[0].type)} {low}, {high})"


def _inline_assembly(w: FunctionState, op: llvm.InlineAsmOp) -> None:
    head = "  call" if op.res is None else f"  {w.name(op.res)} = call"
    type_ = "void" if op.res is None else type_text(op.res.type)
    effects = "sideeffect " if op.has_side_effects is not None else ""
    text, constraints = quoted(op.asm_string.data), quoted(op.constraints.data)
    w.lines.append(f"{head} {type_} asm {effects}{text}, {constraints}({w.typed_list(op.operands)})")


def _extract_value(w: FunctionState, op: llvm.ExtractValueOp) -> None:
    position = ", ".join(str(index) for index in op.position.get_values())
    w.lines.append(f"  {w.name(op.res)} = extractvalue {w.typed(op.container)}, {position}")


def _insert_value(w: FunctionState, op: llvm.InsertValueOp) -> None:
    position = ", ".join(str(index) for index in op.position.get_values())
    w.lines.append(f"  {w.name(op.res)} = insertvalue {w.typed(op.container)}, {w.typed(op.value)}, {position}")


def _extract_element(w: FunctionState, op: llvm_ops.ExtractElementOp) -> None:
    w.lines.append(f"  {w.name(op.res)} = extractelement {w.typed(op.vector)}, {w.typed(op.index)}")


def _insert_element(w: FunctionState, op: llvm.InsertElementOp) -> None:
    operands = f"{w.typed(op.vector)}, {w.typed(op.value)}, {w.typed(op.index)}"
    w.lines.append(f"  {w.name(op.res)} = insertelement {operands}")


def _shuffle(w: FunctionState, op: llvm.ShuffleVectorOp) -> None:
    lanes = int_values(op.mask)
    if any(lanes):
        mask = "<" + ", ".join("i32 poison" if lane < 0 else f"i32 {lane}" for lane in lanes) + ">"
    else:
        mask = "zeroinitializer"
    w.lines.append(
        f"  {w.name(op.res)} = shufflevector {w.typed(op.v1)}, {w.typed(op.v2)}, <{len(lanes)} x i32> {mask}"
    )


def _loop_suffix(w: FunctionState, op: Operation) -> str:
    loop = op.attributes.get(LOOP)
    return f", !llvm.loop {w.module.metadata.loop(loop)}" if isinstance(loop, LoopAnnotationAttr) else ""


def _branch(w: FunctionState, op: llvm.BrOp) -> None:
    w.lines.append(f"  br label %{w.target_label(op, 0)}{_loop_suffix(w, op)}")


def _conditional_branch(w: FunctionState, op: llvm.CondBrOp) -> None:
    targets = f"label %{w.target_label(op, 0)}, label %{w.target_label(op, 1)}"
    w.lines.append(f"  br i1 {w.name(operands_of(op)[0])}, {targets}{_loop_suffix(w, op)}")


def _switch(w: FunctionState, op: llvm_ops.SwitchOp) -> None:
    type_ = type_text(op.flag.type)
    cases = " ".join(
        f"{type_} {value}, label %{w.target_label(op, index)}"
        for index, (value, _, _) in enumerate(op.edges())
        if value is not None
    )
    w.lines.append(f"  switch {w.typed(op.flag)}, label %{w.target_label(op, 0)} [ {cases} ]")


def _return(w: FunctionState, op: llvm.ReturnOp) -> None:
    w.lines.append("  ret void" if op.arg is None else f"  ret {w.typed(op.arg)}")


def _unreachable(w: FunctionState, op: llvm.UnreachableOp) -> None:
    w.lines.append("  unreachable")


_INTEGER_OPS: dict[type[Operation], str] = {
    llvm.AddOp: "add",
    llvm.SubOp: "sub",
    llvm.MulOp: "mul",
    llvm.UDivOp: "udiv",
    llvm.SDivOp: "sdiv",
    llvm.URemOp: "urem",
    llvm.SRemOp: "srem",
    llvm.AndOp: "and",
    llvm.OrOp: "or",
    llvm.XOrOp: "xor",
    llvm.ShlOp: "shl",
    llvm.LShrOp: "lshr",
    llvm.AShrOp: "ashr",
}
_FLOAT_OPS: dict[type[Operation], str] = {
    llvm.FAddOp: "fadd",
    llvm.FSubOp: "fsub",
    llvm.FMulOp: "fmul",
    llvm.FDivOp: "fdiv",
    llvm.FRemOp: "frem",
}
_CAST_OPS: dict[type[Operation], str] = {
    llvm.TruncOp: "trunc",
    llvm.ZExtOp: "zext",
    llvm.SExtOp: "sext",
    llvm.FPExtOp: "fpext",
    llvm.FPTruncOp: "fptrunc",
    llvm.SIToFPOp: "sitofp",
    llvm_ops.UIToFPOp: "uitofp",
    llvm_ops.FPToSIOp: "fptosi",
    llvm_ops.FPToUIOp: "fptoui",
    llvm.BitcastOp: "bitcast",
    llvm.PtrToIntOp: "ptrtoint",
    llvm.IntToPtrOp: "inttoptr",
    llvm_ops.AddrSpaceCastOp: "addrspacecast",
}

WRITERS: dict[type[Operation], Writer] = {
    **dict.fromkeys((*LITERALS, llvm.AddressOfOp), _no_line),
    **{op: _integer_binary(mnemonic) for op, mnemonic in _INTEGER_OPS.items()},
    **{op: _float_binary(mnemonic) for op, mnemonic in _FLOAT_OPS.items()},
    **{op: _cast(mnemonic) for op, mnemonic in _CAST_OPS.items()},
    llvm.FNegOp: _negate,
    llvm.ICmpOp: _compare_integers,
    llvm_ops.FCmpOp: _compare_floats,
    llvm.FCmpOp: _compare_floats,
    llvm_ops.SelectOp: _select,
    llvm_ops.FreezeOp: _freeze,
    llvm.SelectOp: _select,
    llvm.GEPOp: _gep,
    llvm.AllocaOp: _alloca,
    llvm.LoadOp: _load,
    llvm.StoreOp: _store,
    llvm_ops.AtomicRMWOp: _atomic,
    llvm_ops.FenceOp: _fence,
    llvm.CallOp: _call,
    llvm.CallIntrinsicOp: _call_intrinsic,
    llvm.InlineAsmOp: _inline_assembly,
    llvm.ExtractValueOp: _extract_value,
    llvm.InsertValueOp: _insert_value,
    llvm_ops.ExtractElementOp: _extract_element,
    llvm.InsertElementOp: _insert_element,
    llvm.ShuffleVectorOp: _shuffle,
    llvm.BrOp: _branch,
    llvm.CondBrOp: _conditional_branch,
    llvm_ops.SwitchOp: _switch,
    llvm.ReturnOp: _return,
    llvm.UnreachableOp: _unreachable,
}
