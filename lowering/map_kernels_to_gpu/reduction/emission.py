"""
Emits the computation of a chain at one point of a row, and for a row as a whole.

The caller distributes rows and points over threads: `in_row` binds a row, `vector` emits neighbouring points of a pass
over it. Values that later passes need stay in thread-local arrays, which LLVM promotes to registers once the loops
around their accesses are unrolled; without arrays, they are read and computed again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from xdsl.ir import SSAValue

from ....dialects.support.buffers import memref_type
from ...loop_nests.combination import Combination
from ...loop_nests.emission import NestEmitter
from ...loop_nests.indices import linearized
from ...loop_nests.kernel_builder import Index, IndexValue
from ...loop_nests.loop_builder import buffer_of
from ...loop_nests.nest import Access, Nest
from ..threads.builder import I32, GpuBuilder
from ..threads.items import WRITTEN_OUT, extract, indices_in_view, insert, vector_load, vector_store, zeros
from .block import tree
from .chain import Chain, Link, is_aligned

Place: TypeAlias = tuple[SSAValue, int, tuple[tuple[SSAValue, int], ...], tuple[int, ...]]
"""The element that an access reads, independent of the step that reads it."""

Where: TypeAlias = Callable[[Index], tuple[Sequence[Index] | None, Sequence[Index]]]
"""Maps an index in a vector to the rows' indices (None: the bound row) and the indices inside the row."""

Key: TypeAlias = Link | Place
"""A value that exists at each point of a row: a step's result, or an element of memory."""


def place(access: Access) -> Place:
    return access.root, access.offset, access.dynamic, access.strides


def uses_by_pass(chain: Chain, kept: Collection[Key] | None = None) -> dict[Key, list[int]]:
    """
    For each value inside a row, the passes that need it, in order.

    Pass p ends with the reductions of level p. `kept` are the values that stay in registers after their first pass
    (None: all), so that their inputs are not needed again.
    """
    found: dict[Key, list[int]] = {}

    def need(key: Key, at: int) -> None:
        passes = found.setdefault(key, [])
        again = bool(passes)
        if at not in passes:
            passes.append(at)
        if isinstance(key, Link) and not (again and (kept is None or key in kept or at == passes[0])):
            inputs_of(key.step, at)

    def inputs_of(number: int, at: int) -> None:
        step = chain.steps[number]
        for k, x in enumerate(step.nest.inputs):
            if not isinstance(x, Access):
                continue
            link = step.sources.get(k)
            if link is None:
                if any(x.strides[l] for l in chain.loops):
                    need(place(x), at)
            elif chain.steps[link.step].wide and not chain.steps[link.step].reduces:
                need(link, at)

    for at in range(chain.levels + 1):
        for number in in_pass(chain, at):
            inputs_of(number, at)
            if not chain.steps[number].reduces:
                for k in range(len(chain.steps[number].nest.outputs)):
                    need(Link(number, k), at)
    return found


def in_pass(chain: Chain, at: int) -> list[int]:
    """The steps of pass `at`: its reductions, and the steps whose results it writes to memory."""
    wanted = {*chain.reductions, *chain.wide_outputs}
    return [s for s in sorted(wanted) if chain.steps[s].level == at]


class ChainEmitter:
    """Emits a chain into a device function."""

    def __init__(self, builder: GpuBuilder, chain: Chain):
        self.builder = builder
        self.chain = chain
        self.emitters = [NestEmitter(builder, step.nest) for step in chain.steps]
        for emitter, step in zip(self.emitters, chain.steps, strict=True):
            for k in step.sources:
                emitter.hoistable[k] = False
        self.results: dict[Link, SSAValue] = {}
        """The known values of the row: results of reductions and of scalar steps."""
        self.arrays: dict[Key, SSAValue] = {}
        """Arrays of the values kept from one pass to the next, indexed by the slot in the thread's part of the row."""
        self.filled: set[Key] = set()
        """The arrays that an earlier pass has filled."""
        self.pending: set[Key] = set()
        """The arrays that the current pass fills."""
        self.uses = uses_by_pass(chain, ())
        self.sums: dict[Link, SSAValue] = {}
        """For each reduction of the current pass: the thread's partial results."""

    # Rows.

    @contextmanager
    def in_row(self, rows: Sequence[Index]) -> Generator[None]:
        """Bind a row in the `with` block; operands that no loop of the row moves are loaded first."""
        with self._scopes():
            for emitter, step in zip(self.emitters, self.chain.steps, strict=True):
                emitter.indices[: len(rows)] = rows
                if step.wide:
                    emitter.load_ready()
            yield

    @contextmanager
    def _scopes(self) -> Generator[None]:
        saved = [(list(e.indices), dict(e.loaded), dict(e.views)) for e in self.emitters]
        results = dict(self.results)
        yield
        self.results = results
        for emitter, (indices, loaded, views) in zip(self.emitters, saved, strict=True):
            emitter.indices, emitter.loaded, emitter.views = indices, loaded, views

    def needed_inside(self, level: int) -> None:
        """Compute the scalar steps of this level that wide ones need; the reductions before them are finished."""
        for step in self.chain.steps:
            if step.wide:
                for link in step.sources.values():
                    source = self.chain.steps[link.step]
                    if source.level == level and not source.wide:
                        self.scalar(link)

    def scalar(self, link: Link) -> SSAValue:
        """The row's value of a scalar step or of a finished reduction."""
        step = self.chain.steps[link.step]
        if link not in self.results and not step.wide:
            emitter = self.emitters[link.step]
            with emitter.scope():
                for k, source in step.sources.items():
                    emitter.loaded[k] = self.scalar(source)
                for k, value in enumerate(emitter.body()):
                    self.results[Link(link.step, k)] = value
        return self.results[link]

    def finish_reduction(self, number: int, values: Sequence[SSAValue]) -> None:
        """
        The values of a reduction over the whole row, combined with its initial values.

        Buffer contents that a result starts from are only added by `store_scalars`.
        """
        for k, value in enumerate(self._combination(number).started(self.builder, values)):
            self.results[Link(number, k)] = value

    def stores_scalars(self) -> bool:
        return any(any(step.stored) for step in self.chain.steps if step.reduces or not step.wide)

    def store_scalars(self) -> None:
        """Write the results of reductions and scalar steps to memory; only one thread of a row runs it."""
        for number, step in enumerate(self.chain.steps):
            if step.wide and not step.reduces:
                continue
            emitter = self.emitters[number]
            self.builder.location = step.nest.op.location
            for k in (k for k, stored in enumerate(step.stored) if stored):
                value = self.scalar(Link(number, k))
                with emitter.scope():
                    if step.reduces and step.inits[k] is None:
                        combiner = self._combination(number).combiners[k]
                        value = combiner.combine(self.builder, emitter.load_output(k), value)
                    emitter.store_output(k, value)

    # Points of a row.

    def keep(self, keys: Collection[Key], count: int) -> None:
        """Allocate arrays of `count` elements for the values that are kept."""
        self.uses = uses_by_pass(self.chain, keys)
        for key in keys:
            if isinstance(key, Link):
                type_ = buffer_of(self.chain.steps[key.step].nest.outputs[key.output].root).element_type
            else:
                type_ = buffer_of(key[0]).element_type
            self.arrays[key] = self.builder.alloca(memref_type((count,), type_))

    def start_pass(self, at: int, copies: int) -> None:
        """Initialize `copies` partial results of each reduction of the pass with neutral values."""
        self.sums = {}
        for number in in_pass(self.chain, at):
            if self.chain.steps[number].reduces:
                for k, neutral in enumerate(self._combination(number).neutral(self.builder)):
                    self.sums[Link(number, k)] = self._filled(neutral, copies)

    def _filled(self, value: SSAValue, count: int) -> SSAValue:
        """A filled thread-local array."""
        buffer = self.builder.alloca(memref_type((count,), value.type))
        with self.builder.loop(0, count, attributes=WRITTEN_OUT) as index:
            self.builder.store(value, buffer, [index])
        return buffer

    def _combination(self, number: int) -> Combination:
        combination = self.chain.steps[number].combination
        assert combination is not None
        return combination

    def vector(self, at: int, width: int, loop: int, where: Where, slot: Index, copy: Index) -> None:
        """
        Emit pass `at` at `width` neighbouring points along `loop`; `where` returns the loops' indices.

        Contiguous elements are loaded and stored as one vector. `slot`: the first point's number in the thread's part
        of the row; `copy`: the partial result that accumulates it, the next one for the next point.
        """
        builder = self.builder
        whole = self._whole_vectors(width, loop)
        loads = {key: reader for key, reader in self._loads(at).items() if whole(self._access(reader))}
        links = [Link(s, k) for s in in_pass(self.chain, at) for k in self._stored(s)]
        stores = [link for link in links if whole(self.chain.steps[link.step].nest.outputs[link.output])]
        with self._at(*where(0), ready=False):
            vectors = {key: self._load_vector(reader, width, loop) for key, reader in loads.items()}
        types = [buffer_of(self.chain.steps[link.step].nest.outputs[link.output].root).element_type for link in stores]
        inits = [zeros(builder, type_, width) for type_ in types]
        with (
            builder.loop(0, width, carry=inits, attributes=WRITTEN_OUT) as (number, results),
            self._at(*where(number)),
        ):
            memo: dict[Key, SSAValue] = {}
            place_ = slot + number
            for key, value in vectors.items():
                memo[key] = extract(builder, value, number)
                self._fill(key, memo[key], place_)
            builder.yield_(*self._point(at, memo, place_, copy + number, number, stores, results))
        with self._at(*where(0), ready=False):
            for link, value in zip(stores, results, strict=True):
                operand = len(self._nest(link).inputs) + link.output
                target, indices = self._vector_place(link.step, operand, loop)
                vector_store(builder, value, target, indices, width)

    def _whole_vectors(self, width: int, loop: int) -> Callable[[Access], bool]:
        return lambda x: width > 1 and x.strides[loop] == 1 and is_aligned(x, loop, width)

    def _loads(self, at: int) -> dict[Place, tuple[int, int]]:
        """The memory reads of pass `at` inside a row, each with a step and an input that reads it."""
        found: dict[Place, tuple[int, int]] = {}
        for number, step in enumerate(self.chain.steps):
            for k, x in enumerate(step.nest.inputs):
                if step.wide and isinstance(x, Access) and k not in step.sources:
                    passes = self.uses.get(place(x), [])
                    if at in passes[:1] if place(x) in self.arrays else at in passes:
                        found.setdefault(place(x), (number, k))
        return found

    def _nest(self, link: Link) -> Nest:
        return self.chain.steps[link.step].nest

    def _access(self, reader: tuple[int, int]) -> Access:
        nest = self.chain.steps[reader[0]].nest
        access = (*nest.inputs, *nest.outputs)[reader[1]]
        assert isinstance(access, Access)
        return access

    def _stored(self, number: int) -> list[int]:
        """The outputs that a pass writes inside a row."""
        step = self.chain.steps[number]
        return [] if step.reduces else [k for k, stored in enumerate(step.stored) if stored]

    def _vector_place(self, number: int, k: int, loop: int) -> tuple[SSAValue, list[Index]]:
        """The address of operand `k` of a step, outputs after inputs, whose vector along `loop` begins here."""
        builder, emitter, access = self.builder, self.emitters[number], self._access((number, k))
        view, loops = emitter.view(k, access)
        indices = [builder.index(0 if i is None else i) for i in emitter.indices]
        if loops[-1] == loop:
            return view, indices_in_view(emitter.nest, access, loops, indices)
        place_ = access.offset_at(builder)
        for stride, index in zip(access.strides, indices, strict=True):
            place_ += index * stride
        count = math.prod(buffer_of(access.root).get_shape())
        return builder.strided_view(access.root, 0, (count,), (1,)), [place_]

    def _load_vector(self, reader: tuple[int, int], width: int, loop: int) -> SSAValue:
        return vector_load(self.builder, *self._vector_place(*reader, loop), width)

    @contextmanager
    def _at(self, rows: Sequence[Index] | None, inside: Sequence[Index], ready: bool = True) -> Generator[None]:
        """Bind a point in the `with` block; `rows` of None: of the row that is bound."""
        with self._scopes():
            for emitter, step in zip(self.emitters, self.chain.steps, strict=True):
                if not step.wide:
                    continue
                if rows is not None:
                    emitter.indices[: len(rows)] = rows
                    if ready:
                        emitter.load_ready()
                emitter.indices[len(self.chain.rows) :] = inside
            yield

    def _point(
        self,
        at: int,
        memo: dict[Key, SSAValue],
        slot: Index,
        copy: Index,
        number: IndexValue,
        stores: Sequence[Link],
        carried: list[SSAValue],
    ) -> list[SSAValue]:
        """Emit pass `at` at one point; returns the vectors `carried` for `stores` with this point's values inserted."""
        carried = list(carried)
        for s in in_pass(self.chain, at):
            step, emitter = self.chain.steps[s], self.emitters[s]
            self.builder.location = step.nest.op.location
            if step.reduces:
                self._take_in(s, self._run(s, memo, slot), copy)
                continue
            for k in self._stored(s):
                value = self._inside(Link(s, k), memo, slot)
                if Link(s, k) in stores:
                    which = stores.index(Link(s, k))
                    carried[which] = insert(self.builder, value, carried[which], number)
                else:
                    emitter.store_output(k, value)
        return carried

    def _take_in(self, number: int, element: list[SSAValue], copy: Index) -> None:
        """Combine an element of a reduction with a partial result."""
        builder, combination = self.builder, self._combination(number)
        # A thread visits a row in order; only partial results of other launches come in any order.
        in_order = len(element) < len(combination.states)
        if in_order:
            element.append(self._position(self.emitters[number]))
        sums = [self.sums[Link(number, k)] for k in range(len(element))]
        before = [builder.load(buffer, [copy]) for buffer in sums]
        for value, buffer in zip(combination.combine(builder, before, element, in_order), sums, strict=True):
            builder.store(value, buffer, [copy])

    def _position(self, emitter: NestEmitter) -> SSAValue:
        """The position of the current point in its row."""
        inside = [0 if index is None else index for index in emitter.indices[len(self.chain.rows) :]]
        return self.builder.index(linearized(inside, self.chain.space)).cast_to(I32)

    def end_pass(self, at: int, copies: int) -> list[tuple[int, list[SSAValue]]]:
        """For each reduction of the pass: its number, and the thread's partial results combined pairwise."""
        self.filled |= self.pending
        self.pending = set()
        found: list[tuple[int, list[SSAValue]]] = []
        for number in in_pass(self.chain, at):
            step = self.chain.steps[number]
            if step.reduces:
                self.builder.location = step.nest.op.location
                combination = self._combination(number)
                sums = [self.sums[Link(number, k)] for k in range(len(combination.states))]
                parts = [[self.builder.load(buffer, [i]) for buffer in sums] for i in range(copies)]
                found.append((number, tree(self.builder, combination, parts)))
        return found

    def _inside(self, key: Link, memo: dict[Key, SSAValue], slot: Index) -> SSAValue:
        """A wide step's value at the current point."""
        if key in memo:
            return memo[key]
        if key in self.filled:
            memo[key] = self.builder.load(self.arrays[key], [slot])
            return memo[key]
        for k, value in enumerate(self._run(key.step, memo, slot)):
            link = Link(key.step, k)
            memo[link] = value
            self._fill(link, value, slot)
        return memo[key]

    def _run(self, number: int, memo: dict[Key, SSAValue], slot: Index) -> list[SSAValue]:
        """A wide step's body at the current point."""
        step, emitter = self.chain.steps[number], self.emitters[number]
        with emitter.scope():
            for k, x in enumerate(step.nest.inputs):
                if not isinstance(x, Access):
                    continue
                link = step.sources.get(k)
                if link is None:
                    if any(x.strides[l] for l in self.chain.loops):
                        emitter.loaded[k] = self._element(x, emitter, k, memo, slot)
                elif self.chain.steps[link.step].wide and not self.chain.steps[link.step].reduces:
                    emitter.loaded[k] = self._inside(link, memo, slot)
                else:
                    emitter.loaded[k] = self.results[link]
            return emitter.body()

    def _element(
        self, access: Access, emitter: NestEmitter, k: int, memo: dict[Key, SSAValue], slot: Index
    ) -> SSAValue:
        key = place(access)
        if key not in memo:
            if key in self.filled:
                memo[key] = self.builder.load(self.arrays[key], [slot])
            else:
                memo[key] = emitter.load_input(k)
                self._fill(key, memo[key], slot)
        return memo[key]

    def _fill(self, key: Key, value: SSAValue, slot: Index) -> None:
        if key in self.arrays and key not in self.filled:
            self.pending.add(key)
            self.builder.store(value, self.arrays[key], [slot])
