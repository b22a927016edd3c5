"""
The llvm dialect as LLVM IR text.

One writer per operation, found by its class. Constants, addresses of globals and poison are written inline at their
uses; block arguments become phis. Names and numbers depend on the order of the module only.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.cpu import SHARED
from ...dialects.gpu.functions import GpuModuleOp
from ...dialects.gpu.marks import NVVM, ROCDL, SHARED_SPACE
from ...dialects.support.shared_names import UNOPTIMIZED
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.walking import operations_of
from .literals import global_data, global_initializer, symbol
from .metadata import Metadata
from .operations import LITERALS, WRITERS, edges
from .parts import Graph, Part, alone, divide, traits
from .types import type_text

LARGE_CONSTANT = 4096
"""The size in bytes from which a constant is kept out of the text. LLVM may fold smaller ones."""

_EXPORTED = "xhlo_part_"
"""The beginning of the symbols of functions that other texts call: no function of the C library is named so."""

SHARED_SYMBOL = "xhlo_shared_"
"""The beginning of the symbols of functions that programs share; 24 hexadecimal digits follow."""

_CONVENTIONS = {NVVM.kernel: "ptx_kernel ", ROCDL.kernel: "amdgpu_kernel "}
"""The calling convention of a function that the host launches, by its attribute."""

_ENDS = (llvm.ReturnOp, llvm.UnreachableOp)
"""The terminators without successors."""

_UNNAMED = "xhlo_unnamed"
"""The placeholder name of a function while its text, from which its name is derived, is written."""


def emit_llvm_ir(
    module: ModuleOp,
    *,
    triple: str | None = None,
    cpu: str | None = None,
    features: str | None = None,
    big_endian: bool = False,
) -> str:
    """
    The module as LLVM IR.

    `triple`, `cpu` and `features` (comma-separated, `+avx2,-avx512bf16`) are written into the module and the functions'
    attributes, if given; without them the text is independent of the machine, but for the order of the bytes of
    constants. Raises DiagnosticError for operations outside the llvm dialect.
    """
    return ModuleWriter(_members([module]), triple, cpu, features, big_endian=big_endian).text()


Members: TypeAlias = Sequence[tuple[str, llvm.FuncOp | llvm.GlobalOp]]
"""Functions and globals, with their names."""


@dataclass(frozen=True)
class Units:
    """A module as LLVM IR to be compiled in parts."""

    texts: tuple[str, ...]
    """The texts without `shared` and `data`; the first has the entry."""
    starting: tuple[bool, ...]
    """For each text, whether its functions only start others."""
    shared: Mapping[str, str]
    """
    The functions that other programs are likely to contain too (`SHARED`): texts by symbol, of those with a body. Equal
    functions have equal symbols and texts in every program.
    """
    data: Mapping[str, bytes]
    """Large constants by symbol: as text they would take longer than everything else."""


def emit_units(module: ModuleOp, guarded: bool = False, known: MutableMapping[str, str] | None = None) -> Units:
    """
    The module as LLVM IR, in parts; if it is `guarded`, with no constants in the text, of which only the alignment of
    elements is known. Raises DiagnosticError for operations outside the llvm dialect.

    `known`: the symbols of shared functions by key, which the module only declares; receives those of bodies.
    """
    members = _members([module])
    named = dict(members)
    shared = {name: op for name, op in named.items() if SHARED in op.attributes}
    graph = Graph(named, frozenset(shared))
    apart, symbols = _set_all_apart(members, graph, shared, {} if known is None else known)
    parts = divide(graph)
    symbols |= {name: f"{_EXPORTED}{name}" for part in parts for name in part.exported}
    texts: list[str] = []
    data: dict[str, bytes] = {}
    for part in parts:
        writer = ModuleWriter(members, large=1 if guarded else LARGE_CONSTANT, part=part, symbols=symbols)
        texts.append(writer.text())
        data |= writer.data
    return Units(tuple(texts), tuple(part.starts for part in parts), apart, data)


def _members(modules: Sequence[ModuleOp | GpuModuleOp]) -> Members:
    """The functions and globals of modules, with their names, in order. Raises DiagnosticError for anything else."""
    found: list[tuple[str, llvm.FuncOp | llvm.GlobalOp]] = []
    for op in (op for module in modules for op in module.body.block.ops):
        if not isinstance(op, llvm.FuncOp | llvm.GlobalOp):
            fail(op, "is no part of the llvm dialect: it cannot be written as LLVM IR")
        found.append((op.sym_name.data, op))
    return found


def _set_all_apart(
    members: Members,
    graph: Graph,
    shared: Mapping[str, llvm.FuncOp | llvm.GlobalOp],
    known: MutableMapping[str, str],
) -> tuple[dict[str, str], dict[str, str]]:
    """The texts of the shared functions with a body, by symbol, and the symbols of all by name."""
    apart: dict[str, str] = {}
    symbols: dict[str, str] = {}
    keys = {name: key.data for name, op in shared.items() if isinstance(key := op.attributes[SHARED], StringAttr)}
    bodies = {name: op for name, op in shared.items() if isinstance(op, llvm.FuncOp) and op.body.blocks}
    with_key = {keys[name]: name for name in bodies if name in keys}

    def symbol_of(name: str) -> str:
        """The symbol of a function, from its text, after those of the functions that the text names."""
        if name not in bodies:
            key = keys[name]
            return symbol_of(with_key[key]) if key in with_key else known[key]
        if name not in symbols:
            part = alone(graph, name)
            callees = {callee: symbol_of(callee) for callee in sorted(part.named - part.defined) if callee in shared}
            symbols[name], text = _set_apart(members, name, part, callees)
            apart[symbols[name]] = text
            if name in keys:
                known[keys[name]] = symbols[name]
        return symbols[name]

    return apart, {name: symbol_of(name) for name in shared if name in bodies or name in keys}


def _set_apart(members: Members, name: str, part: Part, callees: Mapping[str, str]) -> tuple[str, str]:
    """
    The symbol of a function, which is derived from its text, and the text, which is that of its part, with functions of
    its own. It only declares the shared functions that it calls, whose symbols are given by name.
    """
    own = sorted(part.defined - part.copied - {name})
    names = {each: f"{_UNNAMED}_{number}" for number, each in enumerate(own)}
    text = ModuleWriter(members, part=part, symbols={**callees, **names, name: _UNNAMED}).text()
    return named_by_text(UNOPTIMIZED * part.starts + text, _UNNAMED)


def named_by_text(text: str, name: str) -> tuple[str, str]:
    """The symbol of a function that programs share, which is derived from its text, and the text with that symbol."""
    symbol = f"{SHARED_SYMBOL}{hashlib.sha256(text.encode()).hexdigest()[:24]}"
    return symbol, text.replace(name, symbol)


def emit_device_llvm_ir(module: ModuleOp, *, triple: str | None = None) -> str:
    """
    The device functions of all gpu.modules as one LLVM IR text, the input of LLVM's NVPTX and AMDGPU
    backends.

    Kernels have the calling convention `ptx_kernel` or `amdgpu_kernel` and state the block sizes of their launches.
    Raises DiagnosticError for operations outside the llvm dialect, and for a module without a gpu.module.
    """
    devices = [op for op in module.body.block.ops if isinstance(op, GpuModuleOp)]
    if not devices:
        fail(module, "has no gpu.module: there are no functions of the device")
    return ModuleWriter(_members(devices), triple, None, None, device=True).text()


class ModuleWriter:
    """Writes globals, functions, declarations of the intrinsics used, attribute groups and metadata."""

    def __init__(
        self,
        members: Members,
        triple: str | None = None,
        cpu: str | None = None,
        features: str | None = None,
        large: int | None = None,
        part: Part | None = None,
        symbols: Mapping[str, str] | None = None,
        big_endian: bool = False,
        device: bool = False,
    ):
        """
        `large`: bytes from which a constant is kept out of the text; None for none. `part`: what the text has of the
        `members`; None for all. `symbols`: the symbols of functions where they are not the names.
        """
        self.members = members
        self.part = part
        self.large = large
        self.big_endian = big_endian
        self.triple = triple
        self.target = "" if device else _target_attributes(cpu, features)
        self.lines: list[str] = []
        self.metadata = Metadata()
        self.intrinsics: dict[str, str] = {}
        """Declarations by name."""
        self.declared: set[str] = set()
        self.data: dict[str, bytes] = {}
        """Constants that are kept out of the text, by symbol."""
        self._symbols = symbols or {}

    def text(self) -> str:
        if self.triple is not None:
            self.lines.append(f'target triple = "{self.triple}"')
        for name, op in self.members:
            if self.part is not None and name not in self.part.named:
                continue
            if isinstance(op, llvm.FuncOp):
                FunctionWriter(self, op).write()
            else:
                self._global(op)
        return self._finished()

    def symbol(self, name: str) -> str:
        """The symbol of a function, without the @."""
        return symbol(self._symbols.get(name, name))

    def is_elsewhere(self, op: llvm.FuncOp) -> bool:
        """Whether the function's body is in another text."""
        return self.part is not None and op.sym_name.data not in self.part.defined

    def linkage(self, op: llvm.FuncOp) -> str:
        """The linkage of a function that is defined in this text, with a space after it."""
        if self.part is not None and op.sym_name.data in self.part.exported:
            return "hidden "
        linkage = op.linkage.linkage.data
        if linkage == "external" and self.part is not None and op.sym_name.data in self.part.copied:
            # The optimizer must keep it, as it keeps what is external, and the linker one of the copies.
            return "weak_odr hidden "
        return "" if linkage == "external" else f"{linkage} "

    def _finished(self) -> str:
        lines = self.lines
        lines += [""] * bool(self.intrinsics)
        lines += self.intrinsics.values()
        if self.target:
            lines += ["", f"attributes #0 = {{ {self.target} }}"]
        lines += self.metadata.lines()
        return "\n".join(lines) + "\n"

    def _global(self, op: llvm.GlobalOp) -> None:
        data = global_data(op, self.big_endian)
        name = op.sym_name.data
        align = f", align {op.alignment.value.data}" if op.alignment is not None else ""
        if op.constant is not None and self.large is not None and data is not None and len(data) >= self.large:
            align = align if self.large == LARGE_CONSTANT else ""
            self.data[name] = data
            self.lines.append(f"@{symbol(name)} = external constant [{len(data)} x i8]{align}")
            return
        kind = "constant" if op.constant is not None else "global"
        space = op.addr_space.value.data
        kind = f"addrspace({space}) {kind}" if space else kind
        unnamed = "unnamed_addr " if op.constant is not None else ""
        linkage = op.linkage.linkage.data
        external = linkage == "external"
        if space == SHARED_SPACE:
            # It has no initializer; each launch states the size of external shared memory.
            initial = type_text(op.global_type) + ("" if external else " undef")
        else:
            initial = global_initializer(op, data)
        linkage = "" if external and space != SHARED_SPACE else linkage + " "
        self.lines.append(f"@{symbol(name)} = {linkage}{unnamed}{kind} {initial}{align}")


def _target_attributes(cpu: str | None, features: str | None) -> str:
    """
    The attributes of every function: the CPU, and vectors of the full register width.

    LLVM prefers 256 bits on many CPUs with AVX-512; without such registers the attribute has no effect.
    """
    found = ['"prefer-vector-width"="512"']
    if cpu:
        found.append(f'"target-cpu"="{cpu}"')
    if features:
        found.append(f'"target-features"="{features}"')
    return " ".join(found)


class FunctionWriter:
    """
    Writes one function.

    If one terminator reaches a block by several edges with arguments, each edge but the first gets an extra block,
    because a phi cannot distinguish two edges of one predecessor.
    """

    def __init__(self, module: ModuleWriter, op: llvm.FuncOp):
        self.module = module
        self.op = op
        self.lines = module.lines
        self.names: dict[int, str] = {}
        """By the identity of a value: xDSL's hash of one is a call."""
        self._typed: dict[int, str] = {}
        self.labels: dict[Block, str] = {}
        self.incoming: dict[Block, list[tuple[str, Sequence[SSAValue]]]] = {}
        """The label and the operands of each edge into a block with arguments."""
        self.edge_labels: dict[tuple[Operation, int], str] = {}
        """The extra block of an edge, by terminator and successor number."""

    # Values

    def name(self, value: SSAValue) -> str:
        """A value without its type: `%v3`, or a literal."""
        found = self.names.get(id(value))
        if found is None:
            owner = value.owner
            literal = LITERALS.get(type(owner))
            if type(owner) is llvm.AddressOfOp:
                found = f"@{self.module.symbol(owner.global_name.root_reference.data)}"
            else:
                found = literal(owner) if literal is not None else f"%v{len(self.names)}"
            self.names[id(value)] = found
        return found

    def typed(self, value: SSAValue) -> str:
        found = self._typed.get(id(value))
        if found is None:
            found = self._typed[id(value)] = f"{type_text(value.type)} {self.name(value)}"
        return found

    def typed_list(self, values: Sequence[SSAValue]) -> str:
        return ", ".join([self.typed(value) for value in values])

    # Functions

    def write(self) -> None:
        op = self.op
        inputs = op.function_type.inputs.data
        result = type_text(op.function_type.output)
        name = self.module.symbol(op.sym_name.data)
        words = "".join(f" {trait}" for trait in self._traits())
        if not op.body.blocks or self.module.is_elsewhere(op):
            if name in self.module.declared:
                return
            self.module.declared.add(name)
            types = ", ".join(type_text(type_) for type_ in inputs)
            self.lines.append(f"\ndeclare {result} @{name}({types}){words}")
            return
        entry = op.body.blocks[0]
        marks = self._parameter_marks(len(inputs))
        parameters = ", ".join(
            f"{type_text(arg.type)}{mark} {self.name(arg)}" for arg, mark in zip(entry.args, marks, strict=True)
        )
        convention = next((words for name, words in _CONVENTIONS.items() if name in op.attributes), "")
        self.lines.append(f"\ndefine {self.module.linkage(op)}{convention}{result} @{name}({parameters}){words} {{")
        self._name_edges()
        for block in op.body.blocks:
            self._block(block, block is entry)
        self.lines.append("}")

    def _traits(self) -> list[str]:
        found = traits(self.op)
        block = self.op.attributes.get(NVVM.block_size)
        if isinstance(block, DenseArrayBase):
            sizes = ",".join(str(size) for size in cast("DenseArrayBase[Any]", block).get_values())
            found.append(f'"{NVVM.block_size}"="{sizes}"')
        blocks = self.op.attributes.get(NVVM.resident)
        if isinstance(blocks, IntegerAttr):
            found.append(f'"{NVVM.resident}"="{blocks.value.data}"')
        if ROCDL.kernel in self.op.attributes:
            found += self._amd_traits()
        # A shared function is declared in the same way whether the module has its body or not.
        is_ours = self.op.body.blocks or SHARED in self.op.attributes
        return [*found, "#0"] if is_ours and self.module.target else found

    def _amd_traits(self) -> list[str]:
        """The attributes of a kernel of AMD's: threads of a workgroup, and waves that its registers must allow."""
        found: list[str] = []
        block = self.op.attributes.get(ROCDL.block_size)
        if isinstance(block, DenseArrayBase):
            threads = math.prod(int(size) for size in cast("DenseArrayBase[Any]", block).get_values())
            found += [f'"amdgpu-flat-work-group-size"="{threads},{threads}"', '"uniform-work-group-size"="true"']
        waves = self.op.attributes.get(ROCDL.resident)
        if isinstance(waves, IntegerAttr):
            found.append(f'"amdgpu-waves-per-eu"="{waves.value.data}"')
        return found

    def _parameter_marks(self, count: int) -> list[str]:
        """Attributes after each parameter's type: ` noalias align 16`."""
        if self.op.arg_attrs is None:
            return [""] * count
        marks: list[str] = []
        for attrs in self.op.arg_attrs.data:
            found = [_mark(name[5:], value) for name, value in attrs.data.items() if name.startswith("llvm.")]
            marks.append("".join(found))
        return marks

    # Blocks

    def _name_edges(self) -> None:
        """Label the blocks, and collect the edges into those that have arguments."""
        labels = self.labels
        for number, block in enumerate(self.op.body.blocks):
            labels[block] = f"bb{number}"
        for block in labels:
            last = block.last_op
            if last is None or type(last) in _ENDS:
                continue
            seen: set[Block] = set()
            for index, (target, operands) in enumerate(edges(last)):
                label = labels[block]
                if target.args:
                    if target in seen:
                        label = self.edge_labels[last, index] = f"{label}.edge{index}"
                    self.incoming.setdefault(target, []).append((label, operands))
                seen.add(target)

    def target_label(self, op: Operation, index: int) -> str:
        """The label that the `index`-th successor edge of a terminator jumps to."""
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
        for op in operations_of(block):
            writer = WRITERS.get(type(op))
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


def _mark(name: str, value: Attribute) -> str:
    """An attribute of a parameter, with a space before it; empty for an unknown attribute."""
    if isinstance(value, IntegerAttr):
        return f" {name} {cast('IntegerAttr[Any]', value).value.data}"
    if isinstance(value, DenseArrayBase):
        least, end = cast("DenseArrayBase[Any]", value).get_values()
        return f" {name}({type_text(cast('DenseArrayBase[Any]', value).elt_type)} {least}, {end})"
    return f" {name}" if isinstance(value, UnitAttr) else ""
