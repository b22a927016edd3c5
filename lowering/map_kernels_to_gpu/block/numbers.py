"""Numbers that every thread of a block has a copy of, such as the counter of a loop: buffers become values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from xdsl.dialects import memref, scf
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ....dialects.support.buffers import Buffer
from ....dialects.support.editing import erase_op, insert_before, replace_uses
from ....dialects.support.scalar import scalar_attr
from ...loop_nests.kernel_builder import KernelBuilder

Values = dict[SSAValue, SSAValue]
"""The value that each buffer holds."""


def promote(builder: KernelBuilder, buffers: Iterable[SSAValue]) -> None:
    """
    Replace loads and stores of buffers of one element by values, which loops carry. `builder`: of the function; the
    buffers are allocated in it. A number that is read before it is written is zero.
    """
    buffers = list(buffers)
    _Promotion(builder, buffers).block(builder.top, {})
    for buffer in buffers:
        erase_op(cast(Operation, buffer.owner))


class _Promotion:
    """The function whose buffers become values."""

    def __init__(self, builder: KernelBuilder, buffers: list[SSAValue]):
        self._builder = builder
        self._buffers = dict.fromkeys(buffers)

    def block(self, block: Block, values: Values) -> None:
        """Replace the accesses of a block; `values` is what it begins with, and afterwards what it ends with."""
        for op in list(block.ops):
            if isinstance(op, memref.LoadOp) and op.memref in self._buffers:
                replace_uses(op.res, self._value(op.memref, values))
                erase_op(op)
            elif isinstance(op, memref.StoreOp) and op.memref in self._buffers:
                values[op.memref] = op.value
                erase_op(op)
            elif op.regions:
                self._structured(op, values)

    def _structured(self, op: Operation, values: Values) -> None:
        written = self._written(op)
        if not written:
            for region in op.regions:
                for block in region.blocks:
                    self.block(block, dict(values))
        elif isinstance(op, scf.WhileOp):
            self._while(op, written, values)
        else:
            assert isinstance(op, (scf.IfOp, scf.IndexSwitchOp))
            self._branches(op, written, values)

    def _written(self, op: Operation) -> list[SSAValue]:
        """The buffers that are written inside of an operation."""
        stores = (inner for inner in op.walk() if isinstance(inner, memref.StoreOp))
        found = dict.fromkeys(store.memref for store in stores)
        return [buffer for buffer in self._buffers if buffer in found]

    def _while(self, op: scf.WhileOp, written: list[SSAValue], values: Values) -> None:
        starts = [self._value(buffer, values) for buffer in written]
        regions = [op.detach_region(region) for region in list(op.regions)]
        for region in regions:
            block = region.block
            inside: Values = dict(values)
            for buffer in written:
                inside[buffer] = block.insert_arg(_element(buffer), len(block.args))
            self.block(block, inside)
            _give(block, [inside[buffer] for buffer in written])
        new = scf.WhileOp.create(
            operands=[*op.operands, *starts],
            result_types=[*op.result_types, *map(_element, written)],
            regions=regions,
            attributes=op.attributes,
            location=op.location,
        )
        self._replace(op, new, written, values)

    def _branches(self, op: Operation, written: list[SSAValue], values: Values) -> None:
        regions: list[Region] = []
        for region in [op.detach_region(region) for region in list(op.regions)]:
            if not region.blocks:
                region.add_block(Block([scf.YieldOp()]))
            inside = dict(values)
            self.block(region.block, inside)
            _give(region.block, [self._value(buffer, inside) for buffer in written])
            regions.append(region)
        new = type(op).create(
            operands=op.operands,
            result_types=[*op.result_types, *map(_element, written)],
            regions=regions,
            properties=op.properties,
            attributes=op.attributes,
            location=op.location,
        )
        self._replace(op, new, written, values)

    def _replace(self, op: Operation, new: Operation, written: list[SSAValue], values: Values) -> None:
        insert_before(new, op)
        for old, result in zip(op.results, new.results, strict=False):
            replace_uses(old, result)
        erase_op(op)
        values.update(zip(written, new.results[len(new.results) - len(written) :], strict=True))

    def _value(self, buffer: SSAValue, values: Mapping[SSAValue, SSAValue]) -> SSAValue:
        found = values.get(buffer)
        if found is not None:
            return found
        return self._builder.scalar(scalar_attr(0, _element(buffer)))


def _element(buffer: SSAValue) -> Attribute:
    return cast(Buffer, buffer.type).element_type


def _give(block: Block, values: list[SSAValue]) -> None:
    """Let the terminator of a block hand on more values."""
    last = block.last_op
    assert last is not None
    last.operands = [*last.operands, *values]
