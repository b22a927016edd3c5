"""
Bufferization of a host function: kernel calls get buffers to write to, loops keep their state in buffers.

Every tensor value is mapped to a buffer. A value whose final buffer is known (a result of the function or of a branch,
the state of a loop) is computed there directly; any other gets a memref.alloc before its operation. An in-place update
reuses the operand's buffer when nothing reads the old value afterwards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, cast

from xdsl.dialects import arith, func, memref, scf, tensor
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from ...dialects.support.attributes import return_op
from ...dialects.support.buffer_ops import alloc, buffer_type, copy, is_tensor, load, reshape, take_block_arguments
from ...dialects.support.buffers import Buffer
from ...dialects.support.editing import insert_before, replace_uses
from ...dialects.support.rewriting import Replaced, add_arguments, like, set_arguments
from ...dialects.support.shared_names import OVERWRITTEN, UNTOUCHED
from ...dialects.support.views import root_buffer
from ...dialects.tensor_ops import CollapseShapeOp, ExpandShapeOp, is_reshape
from ...hlo_dialect.diagnostics import fail
from .in_place import KernelFacts
from .liveness import Liveness
from .update_order import read_before_updates


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
    """The contents of a buffer during one interval, and the values in it."""

    overwritable: bool
    """Whether it may be overwritten once its values are dead; never inputs that are not donated, and constants."""
    values: list[SSAValue] = field(default_factory=list[SSAValue])
    updated: bool = False
    """Whether it was overwritten by a value that is in `values` too."""


class Bases:
    """The values that results of one operation may be placed over, by their root buffers."""

    def __init__(self, taken: set[SSAValue], free: Mapping[SSAValue, SSAValue] = MappingProxyType({})):
        self.taken = taken
        """The root buffers of other results of the operation."""
        self._free = free

    def over(self, root: SSAValue) -> SSAValue | None:
        """The value in a root buffer."""
        return None if root in self.taken else self._free.get(root)

    def first_but(self, roots: Collection[SSAValue]) -> SSAValue | None:
        """The first value whose buffer is none of `roots`."""
        found = (value for root, value in self._free.items() if root not in roots and root not in self.taken)
        return next(found, None)


class HostBufferizer:
    """Rewrites one host function in place."""

    def __init__(
        self,
        function: func.FuncOp,
        constants: ConstantPool,
        kernels: Mapping[str, KernelFacts],
        donations: Mapping[int, int | None] = MappingProxyType({}),
    ):
        """
        `donations`: the arguments whose memory the function may overwrite, each with the number of the result that it
        is for.
        """
        self.function = function
        self.constants = constants
        self.kernels = kernels
        self.donations = donations
        self.buffers: dict[SSAValue, SSAValue] = {}
        self.storage: dict[SSAValue, Storage] = {}
        self.contents: dict[SSAValue, list[Storage]] = {}
        """Every `Storage` that a root buffer holds over time."""
        self.hints: dict[SSAValue, list[SSAValue]] = {}
        self.requested: set[SSAValue] = set()
        """The root buffers of `hints`, which are kept free for the values that are to be computed there."""
        self.liveness = Liveness()
        self.replaced = Replaced()
        self._counted: tuple[Operation, Counter[SSAValue]] | None = None

    def run(self) -> list[int]:
        """Returns what becomes of each argument's memory, as the attribute DONATED states it."""
        block = self.function.body.block
        arguments = [self.parameter(argument, number) for number, argument in enumerate(block.args)]
        set_arguments(
            block, [*dict.fromkeys(each for pair in zip(arguments, block.args, strict=True) for each in pair)]
        )
        terminator = cast(Operation, block.last_op)
        returned = list(terminator.operands)
        outputs = add_arguments(block, [buffer_type(value.type) for value in returned])
        self.liveness.number(list(block.ops))
        for number, output in self.donations.items():
            if output is not None:
                self.hint(returned[output], arguments[number], block)
        for value, output in zip(returned, outputs, strict=True):
            self.hint(value, output, block)
        self.rewrite_block(block)
        places = self.places(returned, arguments)
        stays = set(places)
        kept = [index for index in range(len(returned)) if index not in stays]
        self.copy_all([returned[index] for index in kept], [outputs[index] for index in kept], terminator)
        insert_before(return_op(), terminator)
        self.replaced.operations.append(terminator)
        self.replaced.erase()
        take_block_arguments(self.function)
        self.function.properties.pop("res_attrs", None)
        return places

    def parameter(self, argument: BlockArgument, number: int) -> BlockArgument:
        """The buffer of an argument of the function, a parameter that is to take its place."""
        if not is_tensor(argument):
            return argument
        buffer = BlockArgument(buffer_type(argument.type), argument.block, number)
        buffer.name_hint = argument.name_hint
        buffer.location = argument.location
        self.place(argument, buffer, Storage(number in self.donations))
        self.replaced.arguments.append(argument)
        return buffer

    def places(self, returned: Sequence[SSAValue], arguments: Sequence[SSAValue]) -> list[int]:
        """The use of each argument's memory; see `run`."""
        found = [UNTOUCHED] * len(arguments)
        numbers = {arguments[number]: number for number in self.donations}
        for index, value in enumerate(returned):
            number = numbers.get(root_buffer(self.buffers[value]))
            if number is not None and found[number] < 0:
                found[number] = index
        for number in self.donations:
            if found[number] < 0 and self.is_written(arguments[number]):
                found[number] = OVERWRITTEN
        return found

    def is_written(self, parameter: SSAValue) -> bool:
        """Whether a parameter's memory holds another value than the argument's, sooner or later."""
        stored = self.contents.get(parameter, ())
        return len(stored) > 1 or any(storage.updated for storage in stored)

    # Buffers of values.

    def place(self, value: SSAValue, buffer: SSAValue, storage: Storage) -> None:
        self.buffers[value] = buffer
        self.storage[value] = storage
        if not storage.values:
            self.contents.setdefault(root_buffer(buffer), []).append(storage)
        storage.values.append(value)

    def update(self, value: SSAValue, base: SSAValue) -> None:
        """Place `value`, a result, where `base` was, which is dead; forget values there that nothing reads later."""
        storage, op = self.storage[base], cast(OpResult, value).op
        storage.updated = True
        self.place(value, self.buffers[base], storage)
        reads = self.reads(op)
        # Else a chain of updates would ask about all values before it, each time.
        storage.values = [
            one for one in storage.values if one is value or one in reads or not self.liveness.is_over(one, op)
        ]

    def hint(self, value: SSAValue, buffer: SSAValue, block: Block) -> None:
        """
        Request that `value` be computed in `buffer`, if an operation of `block` computes it, whose operations are
        numbered; earlier requests for it come first.
        """
        while isinstance(value, OpResult) and (op := value.op).parent is block:
            if is_reshape(op):
                value = op.src
                continue
            if not isinstance(op, (func.CallOp, scf.WhileOp, scf.IfOp, scf.IndexSwitchOp)):
                return
            wanted = self.hints.setdefault(value, [])
            wanted.append(buffer)
            self.requested.add(root_buffer(buffer))
            if len(wanted) > 1:
                return  # a result in a donated argument's memory: nothing may be in its own, which may be the same
            # The value that a loop or an update starts from is best there too.
            if isinstance(op, scf.WhileOp):
                value = op.operands[value.index]
            elif isinstance(op, func.CallOp) and (base := self.base_of(op, value.index)) is not None:
                value = base
            else:
                return
            if self.liveness.needed_after(value, op):
                return

    def base_of(self, call: func.CallOp, index: int) -> SSAValue | None:
        """The argument that a result of a call updates, or one computed by an operation that it may be written over."""
        tied = self.tied(call)
        if index < len(tied):
            return call.operands[tied[index]]
        facts = self.kernels.get(call.callee.root_reference.data)
        numbers = () if facts is None else facts.updated(index)
        found = (value for value in map(call.operands.__getitem__, numbers) if isinstance(value, OpResult))
        return next((value for value in found if not self.is_read_later(value, call)), None)

    def is_read_later(self, value: SSAValue, op: Operation) -> bool:
        """Whether an operation may read `value`, under any shape, after `op` has run."""
        while is_reshape(value.owner):
            value = value.owner.src
        pending = [value]
        while pending:
            form = pending.pop()
            if self.liveness.needed_after(form, op):
                return True
            users = (use.operation for use in form.uses)
            pending += [user.result for user in users if is_reshape(user)]
        return False

    def tied(self, call: func.CallOp) -> Sequence[int]:
        """The arguments that the first results of a call update."""
        facts = self.kernels.get(call.callee.root_reference.data)
        return () if facts is None else facts.kernel.tied

    def buffer_for(self, value: SSAValue, op: Operation, bases: Bases) -> SSAValue | None:
        """
        Place `value`, a result of `op`: in a buffer that was requested for it, over one of `bases`, or in a new one;
        never in those that other results of `op` have taken. Returns the value that it is placed over.

        A kernel leaves buffers free that were requested for others; a loop or a branch would copy to a new one.
        """
        found = self._place_for(value, op, bases)
        bases.taken.add(root_buffer(self.buffers[value]))
        return found

    def _place_for(self, value: SSAValue, op: Operation, bases: Bases) -> SSAValue | None:
        for hinted in self.hints.get(value, ()):
            root = root_buffer(hinted)
            over = bases.over(root)
            if over is not None:
                self.update(value, over)
                return over
            if root not in bases.taken and not self.in_use(hinted, op):
                self.place(value, self.shaped(hinted, value, op), Storage(True))
                return None
        if isinstance(op, func.CallOp):
            over = None if value in self.hints else bases.first_but(self.requested)
        else:
            over = bases.first_but(())
        if over is not None:
            self.update(value, over)
            return over
        fresh = alloc(buffer_type(value.type))
        fresh.memref.name_hint = value.name_hint
        insert_before(fresh, op)
        self.place(value, fresh.memref, Storage(True))
        return None

    def bases(self, values: Iterable[SSAValue], op: Operation, taken: set[SSAValue], inside: bool = True) -> Bases:
        """Those of `values` that results of `op` may be placed over; see `overwritable`."""
        free: dict[SSAValue, SSAValue] = {}
        for value in values:
            if self.overwritable(value, op, inside):
                free.setdefault(root_buffer(self.buffers[value]), value)
        return Bases(taken, free)

    def shaped(self, buffer: SSAValue, value: SSAValue, before: Operation) -> SSAValue:
        """A buffer under the shape of `value`, which has as many elements."""
        type_ = buffer_type(value.type)
        if buffer.type == type_:
            return buffer
        view = reshape(buffer, type_)
        insert_before(view, before)
        return view.result

    def in_use(self, buffer: SSAValue, op: Operation) -> bool:
        """Whether `op`, or anything after it, reads the current contents of `buffer`."""
        reads = self.reads(op)
        return any(
            value in reads or self.liveness.needed_after(value, op)
            for storage in self.contents.get(root_buffer(buffer), ())
            for value in storage.values
        )

    def overwritable(self, value: SSAValue, op: Operation, inside: bool = True) -> bool:
        """
        Whether the buffer of `value` may be overwritten because `op` is its last reader, once; without `inside`, the
        regions of `op` may read it.
        """
        storage = self.storage[value]
        if not storage.overwritable:
            return False
        reads = self.reads(op)
        return sum(reads[alias] for alias in storage.values) <= 1 and not any(
            self.liveness.needed_after(alias, op, inside) for alias in storage.values
        )

    def reads(self, op: Operation) -> Counter[SSAValue]:
        """How often `op` has each value as an operand; asked for of one operation after the other."""
        if self._counted is None or self._counted[0] is not op:
            self._counted = op, Counter(op.operands)
        return self._counted[1]

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
        ops = read_before_updates(block, self.kernels)
        self.liveness.number(ops)
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
        insert_before(new, op)
        self.place(op.result, new.memref, Storage(False))
        self.replaced.operations.append(op)

    def reshape(self, op: CollapseShapeOp | ExpandShapeOp) -> None:
        new = reshape(self.buffers[op.src], buffer_type(op.result.type))
        new.location = op.location
        insert_before(new, op)
        self.place(op.result, new.result, self.storage[op.src])
        self.replaced.operations.append(op)

    def extract(self, op: tensor.ExtractOp) -> None:
        new = load(self.buffers[op.tensor], list(op.indices))
        insert_before(new, op)
        replace_uses(op.result, new.res)
        self.replaced.operations.append(op)

    def call(self, op: func.CallOp) -> None:
        facts, tied = self.kernels.get(op.callee.root_reference.data), self.tied(op)
        operands = list(op.operands)
        arguments = [self.buffers.get(operand, operand) for operand in operands]
        taken: set[SSAValue] = set()
        shared: set[int] = set()
        over: dict[Sequence[int], Bases] = {}
        for index, result in enumerate(op.results):
            if index < len(tied):
                base = operands[tied[index]]
                if self.overwritable(base, op):
                    self.update(result, base)
                    taken.add(root_buffer(self.buffers[result]))
                else:
                    self.buffer_for(result, op, Bases(taken))
                    insert_before(copy(self.buffers[base], self.buffers[result]), op)
                    arguments[tied[index]] = self.buffers[result]
            else:
                numbers = () if facts is None else facts.updated(index)
                if numbers not in over:
                    over[numbers] = self.bases(dict.fromkeys(operands[number] for number in numbers), op, taken)
                found = self.buffer_for(result, op, over[numbers])
                if found is not None:
                    shared |= {max(number for number in numbers if operands[number] is found), len(arguments)}
                arguments.append(self.buffers[result])
        if facts is not None and shared:
            facts.kernel.shared = {*facts.kernel.shared, *shared}
        insert_before(like(op, arguments, ()), op)
        self.replaced.operations.append(op)

    def branch(self, op: scf.IfOp | scf.IndexSwitchOp) -> None:
        """A branch stores its results to buffers of the parent, or leaves them where all branches may update them."""
        targets: list[SSAValue] = []
        taken: set[SSAValue] = set()
        for index, result in enumerate(op.results):
            sources = (self.source(cast(Operation, region.block.last_op).operands[index], op) for region in op.regions)
            bases = [source for source in dict.fromkeys(sources) if source is not None and source.type == result.type]
            self.buffer_for(result, op, self.bases(bases, op, taken, inside=False))
            targets.append(self.buffers[result])
        for region in op.regions:
            self.rewrite_into(region.block, targets)
        new = like(op, op.operands, ())
        insert_before(new, op)
        self.liveness.replace(op, new)
        self.replaced.operations.append(op)

    def source(self, value: SSAValue, op: Operation) -> SSAValue | None:
        """The value from outside of `op` in whose buffer a branch of `op` may compute `value`, if it is overwritten."""
        while isinstance(value, OpResult) and op.is_ancestor(owner := value.op):
            if isinstance(owner, scf.WhileOp):
                value = owner.operands[value.index]
            elif isinstance(owner, func.CallOp) and (base := self.tied_operand(owner, value)) is not None:
                value = base
            else:
                return None
        return value if value in self.buffers else None

    def tied_operand(self, call: func.CallOp, result: OpResult) -> SSAValue | None:
        """The argument of a kernel that a result updates, or may be written over."""
        facts = self.kernels.get(call.callee.root_reference.data)
        updated = () if facts is None else facts.updated(result.index)
        return call.operands[updated[0]] if updated else None

    def rewrite_into(self, block: Block, targets: Sequence[SSAValue]) -> None:
        """Rewrite a block whose values go into these buffers, and are yielded no more."""
        terminator = cast(Operation, block.last_op)
        values = list(terminator.operands)
        self.liveness.number(list(block.ops))
        for value, target in zip(values, targets, strict=True):
            self.hint(value, target, block)
        self.rewrite_block(block)
        self.copy_all(values, targets, terminator)
        self.replace_terminator(block, scf.YieldOp())

    def replace_terminator(self, block: Block, new: Operation) -> None:
        old = cast(Operation, block.last_op)
        insert_before(new, old)
        old.detach()
        old.erase(safe_erase=False)

    def while_(self, op: scf.WhileOp) -> None:
        """Keep the state in buffers: the condition reads them, the end of the body writes them."""
        before, after = op.before_region.block, op.after_region.block
        condition = before.last_op
        if not isinstance(condition, scf.ConditionOp) or list(condition.args) != list(before.args):
            fail(op, "has a condition that does not pass the loop's state on unchanged")
        taken: set[SSAValue] = set()
        state = [
            self.loop_buffer(value, result, op, taken)
            for value, result in zip(list(op.operands), op.results, strict=True)
        ]
        for block in (before, after):
            for argument, buffer in zip(block.args, state, strict=True):
                self.place(argument, buffer, Storage(block is after))
        self.rewrite_block(before)
        self.replace_terminator(before, scf.ConditionOp(condition.condition))
        self.rewrite_into(after, state)
        new = like(op, (), ())
        insert_before(new, op)
        self.liveness.replace(op, new)
        self.replaced.arguments += [*before.args, *after.args]
        self.replaced.operations.append(op)

    def loop_buffer(self, value: SSAValue, result: SSAValue, op: scf.WhileOp, taken: set[SSAValue]) -> SSAValue:
        """The buffer of one state value, holding its initial value; the initial value's own buffer if it is free."""
        bases = () if isinstance(value.owner, tensor.EmptyOp) else (value,)
        if self.buffer_for(result, op, self.bases(bases, op, taken)) is None and bases:
            insert_before(copy(self.buffers[value], self.buffers[result]), op)
        return self.buffers[result]


def _unchanged(self: HostBufferizer, op: Operation) -> None:
    """Terminators are rewritten by the operation that owns their region."""


_REWRITES: dict[type[Operation], Callable[[HostBufferizer, Any], None]] = {
    arith.ConstantOp: HostBufferizer.constant,
    CollapseShapeOp: HostBufferizer.reshape,
    ExpandShapeOp: HostBufferizer.reshape,
    tensor.EmptyOp: lambda self, op: self.replaced.operations.append(op),
    tensor.ExtractOp: HostBufferizer.extract,
    func.CallOp: HostBufferizer.call,
    scf.IfOp: HostBufferizer.branch,
    scf.IndexSwitchOp: HostBufferizer.branch,
    scf.WhileOp: HostBufferizer.while_,
    func.ReturnOp: _unchanged,
    scf.YieldOp: _unchanged,
    scf.ConditionOp: _unchanged,
}
