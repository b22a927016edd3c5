"""Conversion of everything below the loops to the llvm dialect: one walk that dispatches on the operation class."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import func, llvm, memref
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Attribute, Block, Operation, Region

from ...dialects.cpu import SHARED, GuardOp, HostCallOp
from ...dialects.gpu.functions import GpuModuleOp
from ...dialects.support.creation import new_block
from ...dialects.support.editing import detach_op, erase_op
from ...dialects.support.kernel import (
    ARENA_SIZE,
    BRIEF,
    HOST_CALLS,
    INLINE,
    PARALLEL,
    PARALLEL_BODY,
    PART,
    PURE,
    VARIANTS,
    Kernel,
    entry_name,
    is_kernel,
)
from ...dialects.support.shared_names import VECTOR_VARIANTS, vector_variant
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.hlo_pass import HloPass
from ...hlo_dialect.walking import operations_of
from ..device.parts import is_amd, lowered_parts
from . import cpu
from . import func as func_patterns
from . import memref as memref_patterns
from .bfloat import floats_as_bits
from .builder import UNIT, LlvmBuilder, patterns
from .conventions import AMD_32, AMD_64, CPU, GPU_32, GPU_64, INDEX_BITWIDTH, PTR, Conventions
from .cpu import DECLARED_TRAITS
from .definitions import function_type, llvm_function
from .independence import access_group_attributes, independent_bodies, uses_in
from .kernels import is_launched, mark_kernel
from .subnormals import Registers, flushed

ENTRY = "xhlo_entry"


@dataclass(frozen=True)
class ConvertToLlvmPass(HloPass):
    """
    Convert func, cf, arith, math, memref, vector and cpu to the llvm dialect.

    Before: `memref.load %m[%i, %j] : memref<4x8xf32>`
    After:  `llvm.load (llvm.getelementptr inbounds %m[%i * 8 + %j] : f32)`
    A memref is a pointer to its first element, index is i64, an i1 in memory takes a byte. Private functions become
    internal ones, as does @main: @xhlo_entry(ptr) loads the pointers of its parameters in order and calls it. In a
    module with a gpu.module only its functions are converted: their memrefs are pointers to global memory,
    `!llvm.ptr<1>`, or in the workgroup's space to shared memory, `!llvm.ptr<3>`; index is i32 in a function with
    `xhlo.index_bitwidth = 32`; those with `nvvm.kernel` or `rocdl.kernel` keep it. Operations of llvm are unchanged.
    Assumes: static shapes and strides; no loops (convert-loops-to-cf) and no memref.alloc (plan-buffers).
    Leaves: only llvm in converted functions; the attribute xhlo.host_calls if the host program calls functions.

    soft-half=true converts f16 by integer arithmetic, for CPUs without instructions that do; soft-fma=true does without
    a fused multiply-add, soft-extremes=true without maximum and minimum of doubles. With slow-masks=true LLVM stores
    whole vectors where a loop chooses between new elements and those that are there. flush-subnormals=x86, or aarch64,
    lets subnormal numbers count as zeros while the program runs, host functions that it calls included.
    """

    name = "convert-to-llvm"
    takes_branches = True
    illegal = ("func.*", "cf.*", "arith.*", "math.*", "math_ext.*", "memref.*", "vector.*", "scf.*", "cpu.*")

    soft_half: bool = False
    soft_fma: bool = False
    soft_extremes: bool = False
    slow_masks: bool = False
    flush_subnormals: Registers = "none"

    def run(self, ctx: Context, module: ModuleOp) -> None:
        cpu = replace(
            CPU,
            soft_half=self.soft_half,
            soft_fma=self.soft_fma,
            soft_extremes=self.soft_extremes,
            slow_masks=self.slow_masks,
        )
        for part in lowered_parts(module):
            ModuleConversion(part, cpu, self.flush_subnormals).run()

    def parts(self, module: ModuleOp) -> Sequence[Operation]:
        return lowered_parts(module)


class ModuleConversion:
    """Replaces a module's functions and globals one by one."""

    def __init__(self, module: ModuleOp | GpuModuleOp, cpu: Conventions = CPU, flush: Registers = "none"):
        """`cpu`: the conventions of functions that are no device's; `flush`: the CPU on which subnormals are zeros."""
        self.module = module
        self.flush: Registers = flush
        self.cpu = cpu
        self.device = isinstance(module, GpuModuleOp)
        self.amd = isinstance(module, GpuModuleOp) and is_amd(module)
        self.main = "" if isinstance(module, GpuModuleOp) else entry_name(module)
        self.declared: dict[str, llvm.LLVMFunctionType] = {}
        self.groups = 0
        self.inlined = frozenset[str]()
        """The names of kernels that LLVM may inline."""

    def run(self) -> None:
        block = self.module.body.block
        old_ops = list(block.ops)
        functions = {op.sym_name.data: op for op in old_ops if type(op) is func.FuncOp}
        uses = uses_in(functions.values())
        calls = [each.description for ops in uses.values() for each in ops if type(each) is HostCallOp]
        if calls and not self.device:
            self.module.attributes[HOST_CALLS] = ArrayAttr(calls)
        independent = independent_bodies(uses)
        if not self.device and any(len(op.body.blocks) > 1 and _is_host(op) for op in functions.values()):
            from .host_loops import inlined_kernels  # few programs have loops between their kernels

            self.inlined = inlined_kernels(functions.values())
        new_ops: list[Operation] = []
        for op in old_ops:
            if type(op) is func.FuncOp:
                new_ops.append(self._function(op, independent))
                if PARALLEL_BODY in op.attributes:
                    new_ops.append(self._thunk(op))
            elif type(op) is memref.GlobalOp:
                new_ops.append(memref_patterns.convert_global(op, self._builder(op)))
            elif op.name.startswith("llvm."):
                new_ops.append(op)
            else:
                fail(op, "is not supported by convert-to-llvm at the top of a module")
        if self.main in functions:
            new_ops.append(self._entry(functions[self.main]))
        present = {op.sym_name.data for op in new_ops if type(op) is llvm.FuncOp}
        new_ops += [_declaration(name, type_) for name, type_ in self.declared.items() if name not in present]
        for op in old_ops:
            if op.name.startswith("llvm."):
                detach_op(op)
            else:
                erase_op(op)
        block.add_ops(new_ops)

    def _builder(self, op: Operation) -> LlvmBuilder:
        builder = LlvmBuilder(self._declare, self._conventions(op))
        builder.op, builder.location = op, op.location
        return builder

    def _conventions(self, op: Operation) -> Conventions:
        if not self.device:
            return self.cpu
        width = op.attributes.get(INDEX_BITWIDTH)
        narrow = isinstance(width, IntegerAttr) and width.value.data == 32
        if self.amd:
            return AMD_32 if narrow else AMD_64
        return GPU_32 if narrow else GPU_64

    def _declare(self, name: str, type_: llvm.LLVMFunctionType) -> None:
        self.declared[name] = type_

    def _function(self, op: func.FuncOp, independent: Mapping[str, Collection[int]]) -> llvm.FuncOp:
        to = self._builder(op)
        body = Region(self._blocks(op, to)) if op.body.blocks else Region()
        public = op.sym_visibility is None or op.sym_visibility.data == "public"
        external = not op.body.blocks or (public and (self.device or op.sym_name.data != self.main))
        made = llvm_function(op.sym_name.data, self._type(op, to), "external" if external else "internal", body)
        made.location = op.location
        if to.has_soft_floats and not self.device:
            floats_as_bits(made, self.cpu.soft_half)
        if is_launched(op):
            mark_kernel(made, op)
        elif is_kernel(op) or SHARED in op.attributes:
            made.properties["arg_attrs"] = _no_alias(op.function_type.inputs.data, Kernel(op).shared)
        elif (shared := independent.get(op.sym_name.data)) is not None:
            made.properties["arg_attrs"] = _no_alias(op.function_type.inputs.data, shared)
        elif op.sym_name.data == self.main and ARENA_SIZE in self.module.attributes:
            # Arguments and results may share memory; the arena, which is last, is nobody else's.
            *others, _ = op.function_type.inputs.data
            made.properties["arg_attrs"] = _aliasing((*(False for _ in others), True))
        made.attributes |= {name: op.attributes[name] for name in (SHARED, BRIEF) if name in op.attributes}
        traits = ["nounwind"] if op.sym_name.data in self.inlined else _function_traits(op)
        if self.device and INLINE not in op.attributes and not is_launched(op):
            # It may contain barriers: its calls must not become dependent on more conditions (convergent).
            traits = ["convergent", *traits]
        if traits:
            made.properties["passthrough"] = _passthrough(tuple(traits))
        return made

    def _type(self, op: func.FuncOp, to: LlvmBuilder) -> llvm.LLVMFunctionType:
        inputs = tuple(to.type(type_) for type_ in op.function_type.inputs.data)
        results = [to.type(type_) for type_ in op.function_type.outputs.data]
        return function_type(inputs, func_patterns.result_type(results))

    def _blocks(self, op: func.FuncOp, to: LlvmBuilder) -> list[Block]:
        """Convert a body. Blocks are visited so that definitions come before uses."""
        for old in op.body.blocks:
            to.blocks[old] = new = new_block([to.type(arg.type) for arg in old.args])
            for old_arg, new_arg in zip(old.args, new.args, strict=True):
                to.define(old_arg, new_arg)
        groups = self._find_parallel_loops(op, to)
        converted: dict[Block, list[Block]] = {}
        for old in _from_entry(op.body):
            to.block = to.blocks[old]
            to.new_blocks = [to.block]
            to.access_groups = access_group_attributes(tuple(groups.get(old, ())))
            for inner in operations_of(old):
                pattern = patterns.get(type(inner))
                if pattern is None:
                    fail(inner, "is not supported by convert-to-llvm: it has no lowering there")
                to.op, to.location = inner, inner.location
                pattern(inner, to)
            converted[old] = to.new_blocks
        to.new_blocks = [new for old in op.body.blocks if old in converted for new in converted[old]]
        return to.finish()

    def _find_parallel_loops(self, op: func.FuncOp, to: LlvmBuilder) -> dict[Block, list[int]]:
        """
        Find the access groups of each block: one group per loop whose closing branch carries xhlo.parallel.

        Stack slots that such a loop allocates in each iteration become a single slot; accesses to them stay outside the
        groups.
        """
        groups: dict[Block, list[int]] = {}
        for block in op.body.blocks:
            last = block.last_op
            if last is None or PARALLEL not in last.attributes:
                continue
            to.loop_groups[last] = self.groups
            for inside in _natural_loop(block, last.successors[0]):
                groups.setdefault(inside, []).append(self.groups)
                to.private_buffers.update(inner.memref for inner in inside.ops if type(inner) is memref.AllocaOp)
            self.groups += 1
        return groups

    def _thunk(self, op: func.FuncOp) -> llvm.FuncOp:
        to = self._builder(op)
        captures = [to.type(type_) for type_ in op.function_type.inputs.data[:-2]]
        made = cpu.make_thunk(op.sym_name.data, captures, to, self.flush)
        made.location = op.location
        if to.has_soft_floats:
            floats_as_bits(made, self.cpu.soft_half)
        return made

    def _entry(self, main: func.FuncOp) -> llvm.FuncOp:
        """`void @xhlo_entry(ptr buffers)`: buffers[i] is the address of @main's parameter i."""
        inputs = main.function_type.inputs.data
        if main.function_type.outputs.data or not all(isinstance(type_, MemRefType) for type_ in inputs):
            fail(main, "takes or returns values: the entry takes memrefs only (bufferize first)")
        to = self._builder(main)
        to.block = to.new_block([PTR])
        buffers = to.block.args[0]
        pointers = [to.load(to.gep(buffers, index, PTR), PTR, 8, tagged=False) for index in range(len(inputs))]
        flushed(to, self.flush, lambda: to.call(main.sym_name.data, pointers, None))
        to.add(llvm.ReturnOp.create())
        made = llvm_function(ENTRY, function_type((PTR,)), "external", Region(to.finish()))
        made.location = main.location
        return made


_PARTS = frozenset((PARALLEL_BODY, PART, SHARED))
"""Attributes of functions that belong to kernels."""


def _is_host(op: func.FuncOp) -> bool:
    """Whether a function is part of the host program."""
    return not is_kernel(op) and _PARTS.isdisjoint(op.attributes) and INLINE not in op.attributes


@lru_cache(maxsize=1024)
def _passthrough(traits: tuple[str, ...]) -> ArrayAttr[StringAttr]:
    return ArrayAttr(map(StringAttr, traits))


def _declaration(name: str, type_: llvm.LLVMFunctionType) -> llvm.FuncOp:
    made = llvm_function(name, type_, "external")
    if name in DECLARED_TRAITS:
        made.properties["passthrough"] = _passthrough(DECLARED_TRAITS[name])
    return made


def _function_traits(op: func.FuncOp) -> list[str]:
    """
    The LLVM attributes of a function: kernels and parallel bodies are not inlined, so that their noalias is kept, but
    for those of `host_loops.py`.

    LLVM leaves the host program of guard mode as it is: it is all events, and takes LLVM longer than kernels do.
    """
    if INLINE in op.attributes:
        return ["alwaysinline", "nounwind"]
    if PURE in op.attributes:
        return ["noinline", "cold", "nounwind", "willreturn", "memory(none)", *_variants(op)]
    if is_kernel(op) or not _PARTS.isdisjoint(op.attributes):
        return ["noinline", "nounwind"]
    if any(type(inner) is GuardOp for block in op.body.blocks for inner in block.ops):
        return ["noinline", "optnone", "nounwind"]
    return ["nounwind"] if op.body.blocks else []


def _variants(op: func.FuncOp) -> list[str]:
    """The attribute by which LLVM's vectorizer finds a function's variants (the vector function ABI of LLVM)."""
    widths = op.attributes.get(VARIANTS)
    if not isinstance(widths, DenseArrayBase):
        return []
    name, kinds = op.sym_name.data, "v" * len(op.function_type.inputs)
    found = [
        f"_ZGV_LLVM_M{width}{kinds}_{name}({vector_variant(name, width)})"
        for width in cast("DenseArrayBase[Any]", widths).get_values()
    ]
    return [f'"{VECTOR_VARIANTS}"="{",".join(found)}"']


_NO_ALIAS, _PLAIN = DictionaryAttr({"llvm.noalias": UNIT}), DictionaryAttr({})


def _no_alias(types: Sequence[Attribute], shared: Collection[int]) -> ArrayAttr[DictionaryAttr]:
    return _aliasing(tuple(type(type_) is MemRefType and i not in shared for i, type_ in enumerate(types)))


@lru_cache(maxsize=1024)
def _aliasing(own: tuple[bool, ...]) -> ArrayAttr[DictionaryAttr]:
    """The attributes of parameters; `own`: whether nothing else points to the memory of each."""
    return ArrayAttr([_NO_ALIAS if each else _PLAIN for each in own])


def _from_entry(region: Region) -> list[Block]:
    """The reachable blocks in depth-first order from the entry: a block comes after those that dominate it."""
    first = region.first_block
    assert first is not None
    found: dict[Block, None] = {}
    waiting = [first]
    while waiting:
        block = waiting.pop()
        if block in found:
            continue
        found[block] = None
        last = block.last_op
        if last is not None:
            waiting += reversed(last.successors)
    return list(found)


def _natural_loop(latch: Block, header: Block) -> list[Block]:
    """The blocks of the loop that `latch` closes: those that reach it without passing the header."""
    found: dict[Block, None] = {header: None}
    waiting = [latch]
    while waiting:
        block = waiting.pop()
        if block not in found:
            found[block] = None
            waiting += block.predecessors()
    return list(found)
