"""Emits one nest: its loops, each operand's load as far out as possible, the body, the stores."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import BoolAttr, FloatAttr, IntegerAttr
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import Operation, SSAValue

from ...dialects.support.buffers import row_major
from ...dialects.support.creation import create_op
from ...dialects.support.editing import clone_op, erase_op, replace_uses
from .borders import Inside
from .loop_builder import CACHED, PARALLEL, SCALAR, Index, LoopBuilder, buffer_of
from .nest import Access, Nest

Bounds = Mapping[int, tuple[Index, Index]]
"""The range of each loop to be run; loops that are not in the mapping run completely."""


@dataclass(frozen=True)
class Tile:
    """A buffer that an output's elements are written to, for the iterations of a loop from `start` on."""

    buffer: SSAValue
    loop: int
    start: Index


class NestEmitter:
    """Tracks the loops of a nest around the insertion point, and the values loaded there."""

    def __init__(self, builder: LoopBuilder, nest: Nest, roots: Mapping[SSAValue, SSAValue] | None = None):
        self.builder = builder
        self.nest = nest
        self.roots = roots or {}
        """Replacements of root buffers."""
        self.indices: list[Index | None] = [None] * len(nest.sizes)
        self.loaded: dict[int, SSAValue] = {}
        """Per input: the value loaded at the insertion point."""
        self.views: dict[int, tuple[SSAValue, list[int]]] = {}
        self.overlaps = False
        """Whether a processor executes instructions of the innermost loop and of other work at once."""
        self.staged: dict[int, tuple[SSAValue, list[tuple[int, Index]]]] = {}
        """Per input: a buffer with a tile of it, and for each dimension the loop and the start of the tile."""
        self.tiles: dict[int, Tile] = {}
        """Per output: a buffer in place of it."""
        self.inside: Inside | None = None
        """The iterations that are being emitted, if they are all inside of a loop."""
        written = {access.root for access in nest.outputs}
        self.hoistable = [isinstance(x, Access) and x.root not in written for x in nest.inputs]

    @contextmanager
    def scope(self) -> Generator[None]:
        """Bindings, views and loads made in the `with` block are forgotten at its end."""
        saved = list(self.indices), dict(self.loaded), dict(self.views)
        yield
        self.indices, self.loaded, self.views = saved

    def bind(self, loop: int, index: Index) -> None:
        """Fix a loop's index, and load the operands that no unbound loop moves."""
        self.indices[loop] = index
        self.load_ready()

    def load_ready(self) -> None:
        for k, x in enumerate(self.nest.inputs):
            if k not in self.loaded and self.hoistable[k] and self.is_ready(x):
                self.load_input(k)

    def is_ready(self, access: Access | SSAValue) -> bool:
        return isinstance(access, Access) and all(
            stride == 0 or index is not None for stride, index in zip(access.strides, self.indices, strict=True)
        )

    # Operands.

    def make_views(self) -> None:
        """Create the views of all operands here, so that no parallel body captures two names of one buffer."""
        for k, access in enumerate((*self.nest.inputs, *self.nest.outputs)):
            if isinstance(access, Access) and k not in self.staged:
                self.view(k, access)

    def view(self, k: int, access: Access) -> tuple[SSAValue, list[int]]:
        """
        A view of an operand with one dimension per loop that moves it, and those loops.

        A loop that moves it backwards visits a forward dimension from its end.
        """
        found = self.views.get(k)
        if found is None:
            found = self.views[k] = self._make_view(access)
        return found

    def _make_view(self, access: Access) -> tuple[SSAValue, list[int]]:
        root = self.roots.get(access.root, access.root)
        loops = [l for l, stride in enumerate(access.strides) if stride]
        shape = buffer_of(root).get_shape()
        if access.offset == 0 and not access.dynamic:
            by_stride = sorted(loops, key=lambda l: -access.strides[l])
            sizes = tuple(self.nest.sizes[l] for l in by_stride)
            if sizes == shape and tuple(access.strides[l] for l in by_stride) == row_major(shape):
                return root, by_stride
        sizes = tuple(self.nest.sizes[l] for l in loops)
        strides = [access.strides[l] for l in loops]
        start = sum((n - 1) * s for n, s in zip(sizes, strides, strict=True) if s < 0)
        offset = replace(access, offset=access.offset + start).offset_at(self.builder)
        return self.builder.strided_view(root, offset, sizes, tuple(abs(s) for s in strides)), loops

    def _indices(self, access: Access, loops: Sequence[int]) -> list[Index]:
        found: list[Index] = []
        for loop in loops:
            index = cast(Index, self.indices[loop])
            backwards = access.strides[loop] < 0
            found.append(self.nest.sizes[loop] - 1 - index if backwards else index)
        return found

    def offset(self, access: Access) -> Index:
        """The offset of the present element of an operand in its buffer. All loops that move it must be bound."""
        offset = access.offset_at(self.builder)
        for stride, index in zip(access.strides, self.indices, strict=True):
            offset += cast(Index, index) * stride if stride else 0
        return offset

    def load_input(self, k: int) -> SSAValue:
        value = self.loaded.get(k)
        if value is None:
            x = self.nest.inputs[k]
            if not isinstance(x, Access):
                return x
            if k in self.staged:
                buffer, origin = self.staged[k]
                at = [cast(Index, self.indices[loop]) - start for loop, start in origin]
                value = self.builder.load(buffer, at)
            else:
                view, loops = self.view(k, x)
                value = self.builder.load(view, self._indices(x, loops))
            if self.hoistable[k]:
                self.loaded[k] = value
        return value

    def load_output(self, k: int) -> SSAValue:
        access = self.nest.outputs[k]
        view, loops = self.view(len(self.nest.inputs) + k, access)
        return self.builder.load(view, self._indices(access, loops))

    def store_output(self, k: int, value: SSAValue) -> None:
        if k in self.tiles:
            tile = self.tiles[k]
            self.builder.store(value, tile.buffer, [cast(Index, self.indices[tile.loop]) - tile.start])
            return
        access = self.nest.outputs[k]
        view, loops = self.view(len(self.nest.inputs) + k, access)
        self.builder.store(value, view, self._indices(access, loops))

    # The body.

    def body(self, outputs: Sequence[SSAValue] | None = None) -> list[SSAValue]:
        """
        Emit one iteration of the body and return the values it yields. All loops must be bound.

        `outputs`: the outputs' present values; without them they are loaded if the body reads them.
        """
        block = self.nest.body
        count = len(self.nest.inputs)
        if block is None:
            return [self.load_input(k) for k in range(count)]
        mapping: dict[SSAValue, SSAValue] = {}
        for k, argument in enumerate(block.args):
            if argument.uses.get_length() == 0:
                continue
            if k < count:
                mapping[argument] = self.load_input(k)
            else:
                mapping[argument] = self.load_output(k - count) if outputs is None else outputs[k - count]
        return self.clone(list(block.ops), mapping)

    def clone(self, ops: Sequence[Operation], mapping: dict[SSAValue, SSAValue]) -> list[SSAValue]:
        """Copy operations here under `mapping`; return the operands of the terminator, which comes last."""
        for op in ops[:-1]:
            self._clone_op(op, mapping)
        return [mapping.get(value, value) for value in ops[-1].operands]

    def _clone_op(self, op: Operation, mapping: dict[SSAValue, SSAValue]) -> None:
        if type(op) is IndexOp:
            mapping[op.result] = self._index_of(op)
        elif type(op) is arith.ConstantOp and isinstance(op.value, (IntegerAttr, FloatAttr)):
            mapping[op.result] = self.builder.scalar(op.value)
        elif self.inside is not None and op in self.inside.clamps:
            mapping[op.results[0]] = mapping.get(op.operands[0], op.operands[0])
        elif self.inside is not None and op in self.inside.tests:
            mapping[op.results[0]] = self.builder.scalar(BoolAttr.from_bool(True))
        elif op.regions:
            new = self.builder.insert(clone_op(op, mapping))
            mapping.update(zip(op.results, new.results, strict=True))
            for inner in [x for x in new.walk() if isinstance(x, IndexOp)]:
                replace_uses(inner.result, self._index_of(inner))
                erase_op(inner)
        else:
            new = create_op(
                type(op),
                operands=[mapping.get(value, value) for value in op.operands],
                result_types=[result.type for result in op.results],
                properties=op.properties,
                attributes=op.attributes,
                location=op.location,
            )
            self.builder.insert(new)
            mapping.update(zip(op.results, new.results, strict=True))

    def _index_of(self, op: IndexOp) -> SSAValue:
        loop = self.nest.dims[int(op.dim.value.data)]
        return self.builder.index(0 if loop is None else cast(Index, self.indices[loop])).value

    # Loops.

    def reads_cached(self, loop: int) -> bool:
        """Whether all that a loop reads is in replacements of buffers: those of a row, which earlier steps wrote."""
        read = [x.root for x in self.nest.inputs if isinstance(x, Access) and x.strides[loop]]
        return bool(read) and all(root in self.roots for root in read)

    @contextmanager
    def element(
        self, position: Sequence[Index], order: Sequence[int], bounds: Bounds | None = None
    ) -> Generator[SSAValue]:
        """
        One element of an elementwise nest, in loops `order` inside those whose indices are `position`: the `with` block
        stores it, with the nest's location.
        """
        location, self.builder.location = self.builder.location, self.nest.op.location
        for k, access in enumerate(self.nest.inputs):
            if isinstance(access, Access):
                self.view(k, access)
        with self.scope():
            self.indices[: len(position)] = position
            self.load_ready()
            with self.loops(order, bounds):
                (value,) = self.body()
                yield value
        self.builder.location = location

    @contextmanager
    def loops(
        self, order: Sequence[int], bounds: Bounds | None = None, innermost: bool = True, scalar: bool = False
    ) -> Generator[None]:
        """
        Loops without carried values, `order[0]` outermost, around what is emitted in the `with` block.

        `innermost`: the block contains no loop, so that the last of these is the one to vectorize. `scalar`: it is not
        to be, even if LLVM unrolls what is in it.
        """
        with ExitStack() as nest:
            for loop in order:
                lower, upper = (bounds or {}).get(loop, (0, self.nest.sizes[loop]))
                attributes = SCALAR if scalar and loop == order[-1] else None
                if innermost and loop == order[-1]:
                    attributes = CACHED if self.reads_cached(loop) and not self.overlaps else PARALLEL
                index = nest.enter_context(self.builder.loop(lower, upper, attributes=attributes))
                nest.enter_context(self.scope())
                self.bind(loop, index)
            yield
