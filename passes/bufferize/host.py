"""
Bufferization of a host function: kernel calls get buffers to write to, loops keep their state in buffers.

Every tensor value is mapped to a buffer. A value whose final buffer is known (a result of the function or of a branch,
the state of a loop) is computed there directly; any other gets a memref.alloc before its operation. An in-place update
reuses the operand's buffer when nothing reads the old value afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects import arith, func, memref, scf, tensor
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
)
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.support.buffer_ops import alloc, buffer_type, copy, is_tensor, load, reshape, take_block_arguments
from ...dialects.support.buffers import Buffer
from ...dialects.support.rewriting import Replaced, like, set_type
from ...dialects.support.views import root_buffer
from ...dialects.tensor_ops import CollapseShapeOp, ExpandShapeOp
from ...hlo_dialect.diagnostics import fail


@dataclass
class ConstantPool:
    """One memref.global for each distinct constant of the module."""

    module: ModuleOp
    names: dict[DenseIntOrFPElementsAttr[Any], str] = field(default_factory=dict[DenseIntOrFPElementsAttr[Any], str])

    def get(self, value: DenseIntOrFPElementsAttr[Any], type_: Buffer) -> memref.GetGlobalOp:
        name = self.names.get(value)
        if name is None:
            name = self.names[value] = f"xhlo_constant_{len(self.names)}"
            op = memref.GlobalOp.get(StringAttr(name), type_, value, constant=UnitAttr(), alignment=64)
            self.module.body.block.insert_op_before(op, cast(Operation, self.module.body.block.first_op))
        return memref.GetGlobalOp(name, type_)


@dataclass
class Storage:
    """The contents of a buffer during one interval: the values in it and the block that may overwrite them."""

    block: Block | None
    """The block whose operations may overwrite it once its values are dead; None if never (inputs, constants)."""
    values: list[SSAValue] = field(default_factory=list[SSAValue])


class HostBufferizer:
    """Rewrites one host function in place."""

    def __init__(self, function: func.FuncOp, constants: ConstantPool, tied: Mapping[str, Sequence[int]]):
        self.function = function
        self.constants = constants
        self.tied = tied
        self.buffers: dict[SSAValue, SSAValue] = {}
        self.storage: dict[SSAValue, Storage] = {}
        self.contents: dict[SSAValue, list[Storage]] = {}
        """Every `Storage` that a root buffer holds over time."""
        self.hints: dict[SSAValue, SSAValue] = {}
        self.order: dict[Operation, int] = {}
        """The position of each operation in its block."""
        self.replaced = Replaced()

    def run(self) -> None:
        block = self.function.body.block
        for argument in list(block.args):
            if is_tensor(argument):
                set_type(argument, buffer_type(argument.type))
                self.place(argument, argument, Storage(None))
        terminator = cast(Operation, block.last_op)
        returned = list(terminator.operands)
        outputs = [block.insert_arg(buffer_type(value.type), len(block.args)) for value in returned]
        for value, output in zip(returned, outputs, strict=True):
            self.hint(value, output, block)
        self.rewrite_block(block)
        self.copy_all(returned, outputs, terminator)
        block.insert_op_before(func.ReturnOp(), terminator)
        self.replaced.operations.append(terminator)
        self.replaced.erase()
        take_block_arguments(self.function)
        self.function.properties.pop("res_attrs", None)

    # Buffers of values.

    def place(self, value: SSAValue, buffer: SSAValue, storage: Storage) -> None:
        self.buffers[value] = buffer
        self.storage[value] = storage
        if not storage.values:
            self.contents.setdefault(root_buffer(buffer), []).append(storage)
        storage.values.append(value)

    def hint(self, value: SSAValue, buffer: SSAValue, block: Block) -> None:
        """
        Request that `value` be computed in `buffer`, if an operation of `block` computes it and it has no request yet.
        """
        owner = value.owner
        if isinstance(owner, (func.CallOp, scf.WhileOp, scf.IfOp, scf.IndexSwitchOp)) and owner.parent is block:
            self.hints.setdefault(value, buffer)

    def new_buffer(self, value: SSAValue, before: Operation) -> SSAValue:
        """The buffer in which to compute `value`, a result of `before`."""
        hinted = self.hints.get(value)
        if hinted is not None and not self.in_use(hinted, before):
            return hinted
        fresh = alloc(buffer_type(value.type))
        fresh.memref.name_hint = value.name_hint
        cast(Block, before.parent).insert_op_before(fresh, before)
        return fresh.memref

    def in_use(self, buffer: SSAValue, op: Operation) -> bool:
        """Whether `op`, or anything after it, reads the current contents of `buffer`."""
        return any(
            self.used_after(value, op) or any(operand is value for operand in op.operands)
            for storage in self.contents.get(root_buffer(buffer), ())
            for value in storage.values
        )

    def overwritable(self, value: SSAValue, op: Operation) -> bool:
        """Whether `op`'s block may overwrite the buffer of `value` because `op` is its last reader."""
        storage = self.storage[value]
        if storage.block is None or storage.block is not op.parent:
            return False
        reads = sum(any(operand is alias for alias in storage.values) for operand in op.operands)
        return reads == 1 and not any(self.used_after(alias, op) for alias in storage.values)

    def used_after(self, value: SSAValue, op: Operation) -> bool:
        """Whether an operation after `op`, or inside it, or outside its block, uses `value`."""
        block = op.parent
        for use in value.uses:
            user: Operation | None = use.operation
            while user is not None and user.parent is not block:
                user = user.parent_op()
            if user is None or self.order[user] > self.order[op]:
                return True
            if self.order[user] == self.order[op] and use.operation is not op:
                return True
        return False

    def copy_all(self, values: Sequence[SSAValue], targets: Sequence[SSAValue], before: Operation) -> None:
        """Parallel copy of the values to the targets: a source that is also a target is saved first."""
        block = cast(Block, before.parent)
        moves = [
            (self.buffers[value], target)
            for value, target in zip(values, targets, strict=True)
            if root_buffer(self.buffers[value]) is not root_buffer(target)
        ]
        overwritten = {root_buffer(target) for _, target in moves}
        copies: list[Operation] = []
        for source, target in moves:
            if root_buffer(source) in overwritten:
                saved = alloc(cast(Buffer, source.type))
                block.insert_ops_before([saved, copy(source, saved.memref)], before)
                source = saved.memref
            copies.append(copy(source, target))
        block.insert_ops_before(copies, before)

    # Operations.

    def rewrite_block(self, block: Block) -> None:
        ops = list(block.ops)
        self.order.update((op, position) for position, op in enumerate(ops))
        for op in ops:
            rewrite = _REWRITES.get(type(op))
            if rewrite is not None:
                rewrite(self, op)
            elif any(is_tensor(value) for value in op.results):
                fail(op, "is not supported by bufferize in a host function")

    def constant(self, op: arith.ConstantOp) -> None:
        if not is_tensor(op.result):
            return
        value = cast("DenseIntOrFPElementsAttr[Any]", op.value)
        new = self.constants.get(value, buffer_type(op.result.type))
        cast(Block, op.parent).insert_op_before(new, op)
        self.place(op.result, new.memref, Storage(None))
        self.replaced.operations.append(op)

    def reshape(self, op: CollapseShapeOp | ExpandShapeOp) -> None:
        new = reshape(self.buffers[op.src], buffer_type(op.result.type))
        new.location = op.location
        cast(Block, op.parent).insert_op_before(new, op)
        self.place(op.result, new.result, self.storage[op.src])
        self.replaced.operations.append(op)

    def extract(self, op: tensor.ExtractOp) -> None:
        new = load(self.buffers[op.tensor], list(op.indices))
        cast(Block, op.parent).insert_op_before(new, op)
        op.result.replace_all_uses_with(new.res)
        self.replaced.operations.append(op)

    def call(self, op: func.CallOp) -> None:
        tied = self.tied.get(op.callee.root_reference.data, ())
        arguments = [self.buffers.get(operand, operand) for operand in op.arguments]
        block = cast(Block, op.parent)
        for index, result in enumerate(op.results):
            if index >= len(tied):
                buffer = self.new_buffer(result, op)
                self.place(result, buffer, Storage(block))
                arguments.append(buffer)
                continue
            base = op.arguments[tied[index]]
            if self.overwritable(base, op):
                self.place(result, self.buffers[base], self.storage[base])
            else:
                buffer = self.new_buffer(result, op)
                block.insert_op_before(copy(self.buffers[base], buffer), op)
                self.place(result, buffer, Storage(block))
                arguments[tied[index]] = buffer
        block.insert_op_before(like(op, arguments, ()), op)
        self.replaced.operations.append(op)

    def branch(self, op: scf.IfOp | scf.IndexSwitchOp) -> None:
        """A branch stores its results to buffers of the parent."""
        targets = [self.new_buffer(result, op) for result in op.results]
        for region in op.regions:
            block = region.block
            terminator = cast(Operation, block.last_op)
            values = list(terminator.operands)
            for value, target in zip(values, targets, strict=True):
                self.hint(value, target, block)
            self.rewrite_block(block)
            self.copy_all(values, targets, terminator)
            self.replace_terminator(block, scf.YieldOp())
        new = like(op, op.operands, ())
        parent = cast(Block, op.parent)
        parent.insert_op_before(new, op)
        self.order[new] = self.order[op]
        for result, target in zip(op.results, targets, strict=True):
            self.place(result, target, Storage(parent))
        self.replaced.operations.append(op)

    def replace_terminator(self, block: Block, new: Operation) -> None:
        old = cast(Operation, block.last_op)
        block.insert_op_before(new, old)
        old.detach()
        old.erase(safe_erase=False)

    def while_(self, op: scf.WhileOp) -> None:
        """Keep the state in buffers: the condition reads them, the end of the body writes them."""
        parent = cast(Block, op.parent)
        before, after = op.before_region.block, op.after_region.block
        condition = before.last_op
        if not isinstance(condition, scf.ConditionOp) or list(condition.args) != list(before.args):
            fail(op, "has a condition that does not pass the loop's state on unchanged")
        state = [self.loop_buffer(value, index, op) for index, value in enumerate(op.arguments)]
        for block in (before, after):
            for argument, buffer in zip(block.args, state, strict=True):
                self.place(argument, buffer, Storage(block if block is after else None))
        self.rewrite_block(before)
        self.replace_terminator(before, scf.ConditionOp(condition.condition))
        terminator = cast(Operation, after.last_op)
        yielded = list(terminator.operands)
        for value, buffer in zip(yielded, state, strict=True):
            self.hint(value, buffer, after)
        self.rewrite_block(after)
        self.copy_all(yielded, state, terminator)
        self.replace_terminator(after, scf.YieldOp())
        new = like(op, (), ())
        parent.insert_op_before(new, op)
        self.order[new] = self.order[op]
        for result, buffer in zip(op.results, state, strict=True):
            self.place(result, buffer, Storage(parent))
        self.replaced.arguments += [*before.args, *after.args]
        self.replaced.operations.append(op)

    def loop_buffer(self, value: SSAValue, index: int, op: scf.WhileOp) -> SSAValue:
        """The buffer of one state value, holding its initial value; the initial value's own buffer if it is free."""
        hinted = self.hints.get(op.results[index])
        if self.overwritable(value, op):
            if hinted is None:
                return self.buffers[value]
            if root_buffer(self.buffers[value]) is root_buffer(hinted):
                return hinted
        buffer = self.new_buffer(op.results[index], op)
        cast(Block, op.parent).insert_op_before(copy(self.buffers[value], buffer), op)
        return buffer


def _unchanged(self: HostBufferizer, op: Operation) -> None:
    """Terminators are rewritten by the operation that owns their region."""


_REWRITES: dict[type[Operation], Callable[[HostBufferizer, Any], None]] = {
    arith.ConstantOp: HostBufferizer.constant,
    CollapseShapeOp: HostBufferizer.reshape,
    ExpandShapeOp: HostBufferizer.reshape,
    tensor.ExtractOp: HostBufferizer.extract,
    func.CallOp: HostBufferizer.call,
    scf.IfOp: HostBufferizer.branch,
    scf.IndexSwitchOp: HostBufferizer.branch,
    scf.WhileOp: HostBufferizer.while_,
    func.ReturnOp: _unchanged,
    scf.YieldOp: _unchanged,
    scf.ConditionOp: _unchanged,
}
