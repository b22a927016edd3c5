"""
The llvm dialect as LLVM's own text.

One writer per operation, found by its class. Constants, addresses of globals and poison are written where they are
used and cost no line; block arguments become phis. Names and numbers depend on the order of the module only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ..dialects import llvm_ops
from ..hlo_dialect.diagnostics import fail
from .llvm_literals import attribute_literal, global_initializer
from .llvm_metadata import Metadata
from .llvm_types import type_text

Writer: TypeAlias = "Callable[[FunctionWriter, Any], None]"


def emit_llvm_ir(
    module: ModuleOp, *, triple: str | None = None, cpu: str | None = None, features: str | None = None
) -> str:
    """
    The module as LLVM IR.

    `triple`, `cpu` and `features` (comma-separated, `+avx2,-avx512bf16`) are written into the module and the functions'
    attributes where given; without them the text is independent of the machine.
    Raises DiagnosticError for operations outside of the llvm dialect.
    """
    return ModuleWriter(module, triple, cpu, features).text()


class ModuleWriter:
    """Writes globals, functions, declarations of the intrinsics used, attribute groups and metadata."""

    def __init__(self, module: ModuleOp, triple: str | None, cpu: str | None, features: str | None):
        self.module = module
        self.triple = triple
        self.target = _target_attributes(cpu, features)
        self.lines: list[str] = []
        self.metadata = Metadata()
        self.intrinsics: dict[str, str] = {}
        """Declarations by name."""

    def text(self) -> str:
        lines = self.lines
        if self.triple is not None:
            lines.append(f'target triple = "{self.triple}"')
        for op in self.module.body.block.ops:
            if isinstance(op, llvm.FuncOp):
                FunctionWriter(self, op).write()
            elif isinstance(op, llvm.GlobalOp):
                self._global(op)
            else:
                fail(op, "is no part of the llvm dialect: it cannot be written as LLVM IR")
        lines += [""] * bool(self.intrinsics)
        lines += self.intrinsics.values()
        lines += ["", f"attributes #0 = {{ {self.target} }}"] if self.target else []
        lines += self.metadata.lines()
        return "\n".join(lines) + "\n"

    def _global(self, op: llvm.GlobalOp) -> None:
        kind = "constant" if op.constant is not None else "global"
        align = f", align {op.alignment.value.data}" if op.alignment is not None else ""
        unnamed = "unnamed_addr " if op.constant is not None else ""
        linkage = op.linkage.linkage.data
        linkage = "" if linkage == "external" else linkage + " "
        initial = global_initializer(op)
        self.lines.append(f"@{symbol(op.sym_name.data)} = {linkage}{unnamed}{kind} {initial}{align}")


def _target_attributes(cpu: str | None, features: str | None) -> str:
    """The attributes that every function has: the CPU, and vectors as wide as it has registers."""
    found: list[str] = []
    if cpu:
        found.append(f'"target-cpu"="{cpu}"')
    if features:
        found.append(f'"target-features"="{features}"')
        if "+avx512f" in features.split(","):
            found.append('"prefer-vector-width"="512"')
    return " ".join(found)


def symbol(name: str) -> str:
    """A global name as LLVM spells it, without the @: quoted where it has other characters than identifiers."""
    if name.replace(".", "_").replace("$", "_").replace("-", "_").isidentifier() and name.isascii():
        return name
    escaped = "".join(c if c.isascii() and c.isprintable() and c not in '"\\' else _escaped(c) for c in name)
    return f'"{escaped}"'


def _escaped(character: str) -> str:
    return "".join(f"\\{byte:02X}" for byte in character.encode())


class FunctionWriter:
    """
    Writes one function.

    A block that one terminator reaches by several edges with arguments gets a block of its own for each edge but the
    first: a phi cannot tell two edges of one predecessor apart.
    """

    def __init__(self, module: ModuleWriter, op: llvm.FuncOp):
        self.module = module
        self.op = op
        self.lines = module.lines
        self.names: dict[SSAValue, str] = {}
        self.labels: dict[Block, str] = {}
        self.incoming: dict[Block, list[tuple[str, Sequence[SSAValue]]]] = {}
        """For each block with arguments: the label and the operands of each edge into it."""
        self.edge_labels: dict[tuple[Operation, int], str] = {}
        """The extra block of an edge, by terminator and successor number."""

    # Values

    def name(self, value: SSAValue) -> str:
        """A value without its type: `%v3`, or a literal."""
        found = self.names.get(value)
        if found is None:
            owner = value.owner
            literal = _LITERALS.get(type(owner))
            found = literal(owner) if literal is not None else f"%v{len(self.names)}"
            self.names[value] = found
        return found

    def typed(self, value: SSAValue) -> str:
        return f"{type_text(value.type)} {self.name(value)}"

    def typed_list(self, values: Sequence[SSAValue]) -> str:
        return ", ".join([f"{type_text(value.type)} {self.name(value)}" for value in values])

    # Functions

    def write(self) -> None:
        op = self.op
        inputs = op.function_type.inputs.data
        result = type_text(op.function_type.output)
        name = symbol(op.sym_name.data)
        traits = " ".join(self._traits())
        traits = f" {traits}" if traits else ""
        linkage = op.linkage.linkage.data
        linkage = "" if linkage == "external" else linkage + " "
        if not op.body.blocks:
            types = ", ".join(type_text(type_) for type_ in inputs)
            self.lines.append(f"\ndeclare {result} @{name}({types}){traits}")
            return
        entry = op.body.blocks[0]
        marks = self._parameter_marks(len(inputs))
        parameters = ", ".join(
            f"{type_text(arg.type)}{mark} {self.name(arg)}" for arg, mark in zip(entry.args, marks, strict=True)
        )
        self.lines.append(f"\ndefine {linkage}{result} @{name}({parameters}){traits} {{")
        self._name_edges()
        for block in op.body.blocks:
            self._block(block, block is entry)
        self.lines.append("}")

    def _traits(self) -> list[str]:
        passthrough = self.op.passthrough
        traits = [trait.data for trait in passthrough.data if isinstance(trait, StringAttr)] if passthrough else []
        if self.module.target:
            traits.append("#0")
        return traits

    def _parameter_marks(self, count: int) -> list[str]:
        """Attributes after each parameter's type: ` noalias`."""
        if self.op.arg_attrs is None:
            return [""] * count
        marks: list[str] = []
        for attrs in self.op.arg_attrs.data:
            names = [name[5:] for name, value in attrs.data.items() if name.startswith("llvm.") and _is_unit(value)]
            marks.append("".join(f" {name}" for name in names))
        return marks

    # Blocks

    def _name_edges(self) -> None:
        """Label the blocks, and collect the edges into those that have arguments."""
        labels = self.labels
        for number, block in enumerate(self.op.body.blocks):
            labels[block] = f"bb{number}"
        for block in self.op.body.blocks:
            last = block.last_op
            if last is None or not last.successors:
                continue
            seen: set[Block] = set()
            for index, (target, operands) in enumerate(_edges(last)):
                label = labels[block]
                if target.args:
                    if target in seen:
                        label = self.edge_labels[last, index] = f"{label}.edge{index}"
                    self.incoming.setdefault(target, []).append((label, operands))
                seen.add(target)

    def target_label(self, op: Operation, index: int) -> str:
        """Where the `index`-th successor edge of a terminator jumps to."""
        found = self.edge_labels.get((op, index))
        return found if found is not None else self.labels[op.successors[index]]

    def _block(self, block: Block, entry: bool) -> None:
        lines = self.lines
        label = self.labels[block]
        lines.append(f"{label}:")
        if block.args and not entry:
            edges = self.incoming.get(block, [])
            for number, arg in enumerate(block.args):
                values = ", ".join(f"[ {self.name(operands[number])}, %{source} ]" for source, operands in edges)
                lines.append(f"  {self.name(arg)} = phi {type_text(arg.type)} {values}")
        for op in block.ops:
            writer = _WRITERS.get(type(op))
            if writer is None:
                fail(op, "is not supported by the LLVM IR writer")
            writer(self, op)
        last = block.last_op
        if last is not None and self.edge_labels:
            for index, target in enumerate(last.successors):
                extra = self.edge_labels.get((last, index))
                if extra is not None:
                    lines.append(f"{extra}:")
                    lines.append(f"  br label %{self.labels[target]}")


def _is_unit(attr: Attribute) -> bool:
    return isinstance(attr, UnitAttr)


def _edges(op: Operation) -> list[tuple[Block, Sequence[SSAValue]]]:
    """A terminator's successors, each with the operands that it passes."""
    if isinstance(op, llvm.BrOp):
        return [(op.successor, op.arguments)]
    if isinstance(op, llvm.CondBrOp):
        return [(op.then_block, op.then_arguments), (op.else_block, op.else_arguments)]
    if isinstance(op, llvm_ops.SwitchOp):
        return [(block, operands) for _, block, operands in op.edges()]
    fail(op, "is a terminator that the LLVM IR writer does not know")


# Values that are written where they are used.


def _constant_literal(op: llvm.ConstantOp) -> str:
    return attribute_literal(op, op.value, op.result.type)


_LITERALS: dict[type, Callable[[Any], str]] = {
    llvm.ConstantOp: _constant_literal,
    llvm.AddressOfOp: lambda op: f"@{symbol(op.global_name.root_reference.data)}",
    llvm.UndefOp: lambda op: "undef",
    llvm_ops.PoisonOp: lambda op: "poison",
    llvm.ZeroOp: lambda op: "null" if isinstance(op.res.type, llvm.LLVMPointerType) else "zeroinitializer",
}


# Operations.


def _no_line(w: FunctionWriter, op: Operation) -> None:
    """Constants and addresses stand inside the lines that use them."""


_FLAG_WORDS: dict[int, str] = {0: "", 1: " nsw", 2: " nuw", 3: " nuw nsw"}


def _overflow_words(op: Operation) -> str:
    flags = op.properties.get("overflowFlags")
    if isinstance(flags, IntegerAttr):
        return _FLAG_WORDS[cast("IntegerAttr[Any]", flags).value.data]
    if isinstance(flags, llvm.OverflowAttr):
        return "".join(f" {flag}" for flag in sorted(flags.data, reverse=True))
    return ""


def _float_words(op: Operation) -> str:
    """Fast-math flags, each with a space before it."""
    flags = op.properties.get("fastmathFlags")
    if isinstance(flags, llvm.FastMathAttr) and flags.data:
        if len(flags.data) == 7:
            return " fast"
        return "".join(f" {flag}" for flag in sorted(flags.data))
    return ""


def _integer_binary(mnemonic: str) -> Writer:
    def write(w: FunctionWriter, op: Operation) -> None:
        lhs, rhs = op.operands
        words = _overflow_words(op)
        if "isExact" in op.properties:
            words = " exact"
        elif "isDisjoint" in op.properties:
            words = " disjoint"
        result = op.results[0]
        w.lines.append(
            f"  {w.name(result)} = {mnemonic}{words} {type_text(result.type)} {w.name(lhs)}, {w.name(rhs)}"
        )

    return write


def _float_binary(mnemonic: str) -> Writer:
    def write(w: FunctionWriter, op: Operation) -> None:
        lhs, rhs = op.operands
        result = op.results[0]
        type_ = type_text(result.type)
        w.lines.append(
            f"  {w.name(result)} = {mnemonic}{_float_words(op)} {type_} {w.name(lhs)}, {w.name(rhs)}"
        )

    return write


def _negate(w: FunctionWriter, op: llvm.FNegOp) -> None:
    w.lines.append(f"  {w.name(op.res)} = fneg{_float_words(op)} {w.typed(op.arg)}")


def _cast(mnemonic: str) -> Writer:
    def write(w: FunctionWriter, op: Operation) -> None:
        words = " nneg" if "nonNeg" in op.properties else _overflow_words(op)
        result = op.results[0]
        w.lines.append(
            f"  {w.name(result)} = {mnemonic}{words} {w.typed(op.operands[0])} to {type_text(result.type)}"
        )

    return write


def _compare_integers(w: FunctionWriter, op: llvm.ICmpOp) -> None:
    predicate = llvm.ALL_ICMP_FLAGS[op.predicate.value.data].value
    w.lines.append(f"  {w.name(op.res)} = icmp {predicate} {w.typed(op.lhs)}, {w.name(op.rhs)}")


def _compare_floats(w: FunctionWriter, op: llvm_ops.FCmpOp | llvm.FCmpOp) -> None:
    predicate = llvm.ALL_FCMP_FLAGS[cast("IntegerAttr[Any]", op.predicate).value.data].value.lstrip("_")
    w.lines.append(f"  {w.name(op.res)} = fcmp{_float_words(op)} {predicate} {w.typed(op.lhs)}, {w.name(op.rhs)}")


def _select(w: FunctionWriter, op: llvm_ops.SelectOp | llvm.SelectOp) -> None:
    cond, lhs, rhs = op.operands
    w.lines.append(f"  {w.name(op.res)} = select{_float_words(op)} {w.typed(cond)}, {w.typed(lhs)}, {w.typed(rhs)}")


def _gep(w: FunctionWriter, op: llvm.GEPOp) -> None:
    words = " inbounds" if op.inbounds is not None else ""
    pointer, *dynamic = op.operands
    parts = [type_text(op.elem_type), w.typed(pointer)]
    rest = iter(dynamic)
    for index in op.rawConstantIndices.get_values():
        parts.append(w.typed(next(rest)) if index == llvm.GEP_USE_SSA_VAL else f"i32 {index}")
    w.lines.append(f"  {w.name(op.result)} = getelementptr{words} {', '.join(parts)}")


def _alloca(w: FunctionWriter, op: llvm.AllocaOp) -> None:
    align = f", align {op.alignment.value.data}" if op.alignment is not None else ""
    w.lines.append(f"  {w.name(op.res)} = alloca {type_text(op.elem_type)}, {w.typed(op.size)}{align}")


def _atomic_words(op: Operation) -> str:
    ordering = op.properties.get("ordering")
    number = cast("IntegerAttr[Any]", ordering).value.data if isinstance(ordering, IntegerAttr) else 0
    if number:
        fail(op, "is atomic: the LLVM IR writer supports plain accesses only")
    return ""


def _load(w: FunctionWriter, op: llvm.LoadOp) -> None:
    result = op.dereferenced_value
    align = f", align {op.alignment.value.data}" if op.alignment is not None else ""
    _atomic_words(op)
    tail = w.module.metadata.access_suffix(op) if op.attributes else ""
    w.lines.append(f"  {w.name(result)} = load {type_text(result.type)}, {w.typed(op.ptr)}{align}{tail}")


def _store(w: FunctionWriter, op: llvm.StoreOp) -> None:
    align = f", align {op.alignment.value.data}" if op.alignment is not None else ""
    _atomic_words(op)
    volatile = "volatile " if op.volatile_ is not None else ""
    tail = w.module.metadata.access_suffix(op) if op.attributes else ""
    if op.nontemporal is not None:
        tail = f", !nontemporal {w.module.metadata.one()}{tail}"
    w.lines.append(f"  store {volatile}{w.typed(op.value)}, {w.typed(op.ptr)}{align}{tail}")


def _call(w: FunctionWriter, op: llvm.CallOp) -> None:
    if op.callee is None:
        fail(op, "is an indirect call, which the LLVM IR writer does not support")
    _write_call(w, op, symbol(op.callee.string_value()), op.args, op.returned)


def _call_intrinsic(w: FunctionWriter, op: llvm.CallIntrinsicOp) -> None:
    name = op.intrin.data
    if name not in w.module.intrinsics:
        result = "void" if op.ress is None else type_text(op.ress.type)
        types = ", ".join(type_text(arg.type) for arg in op.args)
        w.module.intrinsics[name] = f"declare {result} @{name}({types})"
    _write_call(w, op, name, op.args, op.ress)


def _write_call(
    w: FunctionWriter, op: Operation, name: str, args: Sequence[SSAValue], result: SSAValue | None
) -> None:
    head = "  call" if result is None else f"  {w.name(result)} = call{_float_words(op)}"
    type_ = "void" if result is None else type_text(result.type)
    tail = w.module.metadata.access_suffix(op) if op.attributes else ""
    w.lines.append(f"{head} {type_} @{name}({w.typed_list(args)}){tail}")


def _extract_value(w: FunctionWriter, op: llvm.ExtractValueOp) -> None:
    position = ", ".join(str(index) for index in op.position.get_values())
    w.lines.append(f"  {w.name(op.res)} = extractvalue {w.typed(op.container)}, {position}")


def _insert_value(w: FunctionWriter, op: llvm.InsertValueOp) -> None:
    position = ", ".join(str(index) for index in op.position.get_values())
    w.lines.append(f"  {w.name(op.res)} = insertvalue {w.typed(op.container)}, {w.typed(op.value)}, {position}")


def _extract_element(w: FunctionWriter, op: llvm_ops.ExtractElementOp) -> None:
    w.lines.append(f"  {w.name(op.res)} = extractelement {w.typed(op.vector)}, {w.typed(op.index)}")


def _insert_element(w: FunctionWriter, op: llvm.InsertElementOp) -> None:
    operands = f"{w.typed(op.vector)}, {w.typed(op.value)}, {w.typed(op.index)}"
    w.lines.append(f"  {w.name(op.res)} = insertelement {operands}")


def _shuffle(w: FunctionWriter, op: llvm.ShuffleVectorOp) -> None:
    lanes = [int(lane) for lane in op.mask.get_values()]
    if any(lanes):
        mask = "<" + ", ".join("i32 poison" if lane < 0 else f"i32 {lane}" for lane in lanes) + ">"
    else:
        mask = "zeroinitializer"
    w.lines.append(
        f"  {w.name(op.res)} = shufflevector {w.typed(op.v1)}, {w.typed(op.v2)}, <{len(lanes)} x i32> {mask}"
    )


def _loop_suffix(w: FunctionWriter, op: Operation) -> str:
    loop = op.attributes.get(llvm_ops.LOOP)
    return f", !llvm.loop {w.module.metadata.loop(loop)}" if isinstance(loop, DictionaryAttr) else ""


def _branch(w: FunctionWriter, op: llvm.BrOp) -> None:
    w.lines.append(f"  br label %{w.target_label(op, 0)}{_loop_suffix(w, op)}")


def _conditional_branch(w: FunctionWriter, op: llvm.CondBrOp) -> None:
    targets = f"label %{w.target_label(op, 0)}, label %{w.target_label(op, 1)}"
    w.lines.append(f"  br i1 {w.name(op.cond)}, {targets}{_loop_suffix(w, op)}")


def _switch(w: FunctionWriter, op: llvm_ops.SwitchOp) -> None:
    type_ = type_text(op.flag.type)
    cases = " ".join(
        f"{type_} {value}, label %{w.target_label(op, index)}"
        for index, (value, _, _) in enumerate(op.edges())
        if value is not None
    )
    w.lines.append(f"  switch {w.typed(op.flag)}, label %{w.target_label(op, 0)} [ {cases} ]")


def _return(w: FunctionWriter, op: llvm.ReturnOp) -> None:
    w.lines.append("  ret void" if op.arg is None else f"  ret {w.typed(op.arg)}")


def _unreachable(w: FunctionWriter, op: llvm.UnreachableOp) -> None:
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
}

_WRITERS: dict[type[Operation], Writer] = {
    **{op: _no_line for op in _LITERALS},
    **{op: _integer_binary(mnemonic) for op, mnemonic in _INTEGER_OPS.items()},
    **{op: _float_binary(mnemonic) for op, mnemonic in _FLOAT_OPS.items()},
    **{op: _cast(mnemonic) for op, mnemonic in _CAST_OPS.items()},
    llvm.FNegOp: _negate,
    llvm.ICmpOp: _compare_integers,
    llvm_ops.FCmpOp: _compare_floats,
    llvm.FCmpOp: _compare_floats,
    llvm_ops.SelectOp: _select,
    llvm.SelectOp: _select,
    llvm.GEPOp: _gep,
    llvm.AllocaOp: _alloca,
    llvm.LoadOp: _load,
    llvm.StoreOp: _store,
    llvm.CallOp: _call,
    llvm.CallIntrinsicOp: _call_intrinsic,
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
