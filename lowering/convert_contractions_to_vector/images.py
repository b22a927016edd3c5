"""
Convolutions of small images with what comes before and after, image by image, as fuse-hlo puts them into one kernel.

Each task takes its images through all steps, one after the other: the operations that compute an operand, zeros around
it, the product, the operations that follow at other indices. One image is passed between the steps, in a buffer of the
task that stays in its caches. Filters that all images share are packed beforehand. The gradient of filters is a sum
over images: a task adds up its own, and the tasks' sums are added in order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import DenseArrayBase
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Operation, SSAValue

from ...dialects.support.buffer_ops import byte_size
from ...dialects.support.buffers import memref_type
from ...dialects.support.editing import erase_op
from ...dialects.support.kernel import CONTRACTION, PADDING, Kernel
from ...dialects.support.scalar import scalar_attr
from ..convert_linalg_to_scf.conversion import Absorbed, Structured, erase_all, initial_values, nest_of, without_fills
from ..convert_linalg_to_scf.elementwise import emit_elementwise
from ..convert_linalg_to_scf.padding import pad_of
from ..convert_linalg_to_scf.reduction import emit_reduction
from ..device.cpu import Machine
from ..loop_nests.cost import nest_work, task_count, task_size
from ..loop_nests.fills import is_zero
from ..loop_nests.indices import chunk
from ..loop_nests.kernel_builder import IndexValue
from ..loop_nests.loop_builder import PARALLEL, LoopBuilder, buffer_of
from ..loop_nests.nest import Access, Nest
from ..loop_nests.variation import buffers_loaded
from ..loop_nests.windows import IMAGE_BYTES, MOST_FILTERS
from .blocking import Blocking, block
from .clearing import fill_rows
from .constants import KernelConstants
from .contraction import Contraction, Element, canonical_contraction, sums_of_products
from .direct import DirectProductEmitter
from .in_place import block_rows
from .kernel import MULTIPLICATIONS_PER_OPERATION
from .operand import Operand
from .packing import Packer
from .rows.plan import stays_within, used_only_by
from .small import MOST_OF_NARROW, emit_small, is_small
from .vectors import VectorBuilder

LOOPS_OF_MATRICES = 3
"""Loops of a product of two matrices, which has no images."""

Emit = Callable[[IndexValue, Mapping[SSAValue, SSAValue]], None]
"""Emits a step for an image, on the buffers that stand for the kernel's own."""


@dataclass(frozen=True)
class Step:
    """One operation: a nest whose first loop is over the images."""

    nest: Nest
    inits: tuple[SSAValue | None, ...]
    is_product: bool
    pads: bool
    """Whether it copies an image between zeros, which stay."""


@dataclass(frozen=True)
class ImagePlan:
    """The steps of a kernel that each image is taken through."""

    count: int
    steps: tuple[Step, ...]
    buffers: tuple[SSAValue, ...]
    """The kernel's buffers that hold one image at a time."""
    summed: SSAValue | None
    """The result of a product that sums over the images."""


def plan_images(ops: Sequence[Structured], absorbed: Absorbed) -> ImagePlan | None:
    """The plan; `ops` are the kernel's operations that run, in order. None if they are no convolution of this kind."""
    products = [op for op in ops if CONTRACTION in op.attributes]
    if len(products) != 1 or not isinstance(products[0], GenericOp):
        return None
    product = products[0]
    others = [op for op in ops if op is not product and PADDING not in op.attributes]
    if not others:
        return None  # as most products: nothing else would be done image by image
    nests = {op: _nest_of(op) for op in ops}
    read_for = {op: {access.root for access in nests[op].inputs if isinstance(access, Access)} for op in ops}
    result = nests[product].outputs[0].root
    made = read_for[product].union(
        *(read_for[op] for op in ops if PADDING in op.attributes and nests[op].outputs[0].root in read_for[product])
    )
    written = {access.root: op for op in others for access in nests[op].outputs if access.root in made}
    follows = any(_reads_elsewhere(nests[op], result) for op in others) and _is_local(result)
    images = [result, *written] if follows else [*written]
    if not images or not all(map(_is_local, images)):
        return None
    if not follows and len(nests[product].without_unit_loops().sizes) == LOOPS_OF_MATRICES:
        return None  # One matrix product, which computes its factors while it packs them.
    count = buffer_of(images[0]).get_shape()[0]
    loop = _image_loop(nests[product], [root for root in _roots(nests[product]) if root is not result], count)
    if loop is None or not is_zero(initial_values(product, absorbed)[0]) or count < 2:
        return None
    summed = result if nests[product].reduction[loop] else None
    buffers = {root for op in ops for root in _roots(nests[op]) if _is_local(root) and root is not summed}
    steps = _steps(ops, nests, absorbed, buffers, summed, (count, loop))
    if steps is None or sum(byte_size(buffer_of(root)) // count for root in buffers) > IMAGE_BYTES:
        return None
    if summed is not None and math.prod(buffer_of(summed).get_shape()) > MOST_FILTERS:
        return None
    ordered = dict.fromkeys(root for step in steps for root in _roots(step.nest) if root in buffers)
    return ImagePlan(count, tuple(steps), tuple(ordered), summed)


def _nest_of(op: Structured) -> Nest:
    """The nest of an operation; of a pad the copy of what it surrounds with zeros."""
    pad = pad_of(op) if isinstance(op, GenericOp) else None
    if pad is None or not is_zero(pad.value):
        return nest_of(op)
    lows = cast("DenseArrayBase[Any]", op.attributes[PADDING]).get_values()
    source, whole = pad.source, pad.target
    begin = whole.offset + sum(low * step for low, step in zip(lows, whole.strides, strict=True))
    return Nest(
        op,
        pad.sizes,
        (False,) * len(pad.sizes),
        (Access(source.root, source.offset, source.dynamic, source.strides),),
        (Access(whole.root, begin, whole.dynamic, whole.strides),),
        None,
    )


def _roots(nest: Nest) -> list[SSAValue]:
    return [access.root for access in nest.accesses]


def _is_local(root: SSAValue) -> bool:
    return isinstance(root.owner, memref.AllocOp)


def _reads_elsewhere(nest: Nest, root: SSAValue) -> bool:
    """Whether a nest reads a buffer otherwise than each element at its own index."""
    reads = [access for access in nest.inputs if isinstance(access, Access) and access.root is root]
    return len(reads) > 1 or (len(reads) == 1 and reads[0].strides != nest.outputs[0].strides)


def _image_loop(nest: Nest, roots: Sequence[SSAValue], count: int) -> int | None:
    """The loop over the images of these buffers; None if there is none."""
    accesses = [access for access in nest.accesses if access.root in roots]
    for loop, size in enumerate(nest.sizes):
        if size == count and any(access.strides[loop] for access in accesses):
            moved = [access for access in accesses if access.strides[loop]]
            if all(a.strides[loop] * count == math.prod(buffer_of(a.root).get_shape()) for a in moved):
                return loop
    return None


def _steps(
    ops: Sequence[Structured],
    nests: Mapping[Structured, Nest],
    absorbed: Absorbed,
    buffers: set[SSAValue],
    summed: SSAValue | None,
    images: tuple[int, int],
) -> list[Step] | None:
    """
    The operations on buffers of images; None if one of them does not go through them image by image. `images`: their
    number, and the product's loop over them.
    """
    count, of_product = images
    written = {access.root for op in ops for access in nests[op].outputs}
    read = {access.root for op in ops for access in nests[op].inputs if isinstance(access, Access)}
    passed = (buffers | (written & read)) - {summed}
    steps: list[Step] = []
    inside: set[Operation] = set()
    apart: list[tuple[int, Nest]] = []
    for op in ops:
        nest = nests[op]
        touched = [access for access in nest.accesses if access.root in buffers]
        if not touched:
            apart.append((len(steps), nest))
            continue
        is_product = CONTRACTION in op.attributes
        loop = of_product if is_product else _image_loop(nest, [access.root for access in touched], count)
        if loop is None or 0 in nest.sizes or (nest.reduction[loop] and not is_product):
            return None
        if PADDING in op.attributes and nest.body is not None:
            return None
        if not written.isdisjoint(buffers_loaded(nest)) or (not is_product and summed in _roots(nest)):
            return None
        nest = nest.permuted([loop, *(other for other in range(len(nest.sizes)) if other != loop)])
        for access, moved in zip(nests[op].accesses, nest.accesses, strict=True):
            # All that one step writes and another reads is of the image at hand, also in a result of the kernel.
            if access.root not in passed:
                continue
            size = math.prod(buffer_of(access.root).get_shape())
            if moved.strides[0] * count != size or not stays_within(nest, moved, 1, size // count):
                return None
        steps.append(Step(nest, initial_values(op, absorbed), is_product, PADDING in op.attributes))
        inside.update((op, *(inner for inner in op.walk() if nest.body is None and isinstance(inner, memref.LoadOp))))
    # All steps take the place of the last: what stays before it must not depend on them.
    for before, nest in apart:
        touched = {root for step in steps[:before] for root in _roots(step.nest)}
        written = {access.root for step in steps[:before] for access in step.nest.outputs}
        waits = any(root in written for root in _roots(nest)) or any(x.root in touched for x in nest.outputs)
        if before < len(steps) and waits:
            return None
    return steps if all(used_only_by(root, inside) for root in buffers) else None


class _ByTasks(DirectProductEmitter):
    """A product that reads A in place. The filters of all images are packed beforehand, an image's own by its task."""

    packs_images = False
    """Whether B is an image's own."""

    def packer(self, operand: Operand, bias: int = 0) -> Packer:
        element = self.product.element
        return Packer(
            self.builder, self.kernel, operand, self.blocking, element, bias, self.constants, self.packs_images
        )

    def begin_task(self) -> None:
        """The packers' buffers are allocated before the loop over images."""


class _PacksImages(_ByTasks):
    packs_images = True


class ImageEmitter:
    """Emits the loop over images at the builder's insertion point."""

    def __init__(
        self, builder: LoopBuilder, kernel: func.FuncOp, plan: ImagePlan, machine: Machine, constants: KernelConstants
    ):
        self.builder = builder
        self.kernel = kernel
        self.plan = plan
        self.machine = machine
        self.constants = constants

    def emit(self) -> None:
        builder, plan = self.builder, self.plan
        product = next(step for step in plan.steps if step.is_product)
        found = sums_of_products(cast(GenericOp, product.nest.op))
        assert found is not None, "plan_images is asked for what sums_of_products knows"
        self.element: Element = found[1]
        multiply = self._multiplier(product)
        work = sum(nest_work(step.nest) for step in plan.steps if not step.is_product)
        work += math.prod(product.nest.sizes) // MULTIPLICATIONS_PER_OPERATION
        size = task_size(plan.count, task_count(plan.count, work, plan.count))
        tasks = -(-plan.count // size)
        sums = None
        if plan.summed is not None:
            elements = math.prod(buffer_of(plan.summed).get_shape())
            sums = builder.alloc(memref_type((tasks * elements,), self.element))
        with builder.parallel(tasks) as task:
            roots = {root: builder.alloca(_type_of_image(root, plan.count)) for root in plan.buffers}
            if plan.summed is not None:
                roots[plan.summed] = builder.alloca(memref_type(buffer_of(plan.summed).get_shape(), self.element))
            self._begin_task(roots, task, sums)
            with builder.loop(*chunk(builder, task, size, plan.count)) as image:
                for step in plan.steps:
                    builder.location = step.nest.op.location
                    if step.is_product:
                        multiply(image, roots)
                    else:
                        self._emit_step(step, image, roots)
                if sums is not None and plan.summed is not None:
                    self._add(roots[plan.summed], sums, task)
        if sums is not None and plan.summed is not None:
            self._add_tasks(sums, plan.summed, tasks)

    def _emit_step(self, step: Step, image: IndexValue, roots: Mapping[SSAValue, SSAValue]) -> None:
        nest = replace(
            step.nest,
            inputs=tuple(self._of_image(x) if isinstance(x, Access) else x for x in step.nest.inputs),
            outputs=tuple(map(self._of_image, step.nest.outputs)),
            bound=1,
        )
        if any(nest.reduction):
            emit_reduction(self.builder, nest, step.inits, roots, [image])
        else:
            emit_elementwise(self.builder, nest, roots, [image])

    def _of_image(self, access: Access) -> Access:
        """The access, which the loop over images does not move where the buffer holds one."""
        return replace(access, strides=(0, *access.strides[1:])) if access.root in self.plan.buffers else access

    def _begin_task(self, roots: Mapping[SSAValue, SSAValue], task: IndexValue, sums: SSAValue | None) -> None:
        """Write the zeros that stay, around images and where sums begin."""
        for step in self.plan.steps:
            if step.pads:
                self._clear(roots[step.nest.outputs[0].root], 0)
        if sums is not None and self.plan.summed is not None:
            elements = math.prod(buffer_of(self.plan.summed).get_shape())
            self._clear(sums, task * elements, elements)

    def _clear(self, buffer: SSAValue, at: int | IndexValue, count: int | None = None) -> None:
        builder = self.builder
        count = math.prod(buffer_of(buffer).get_shape()) if count is None else count
        zero = builder.scalar(scalar_attr(0, buffer_of(buffer).element_type))
        fill_rows(builder, self.kernel, zero, (buffer, at, count, 1, count))

    # Products.

    def _sliced(self, step: Step, image: IndexValue | None, roots: Mapping[SSAValue, SSAValue]) -> Nest:
        """The product's nest for one image, without the loop over images."""

        def place(access: Access) -> Access:
            dynamic = access.dynamic
            held = access.root in self.plan.buffers
            if image is not None and not held and access.strides[0]:
                dynamic = (*dynamic, (image.value, access.strides[0]))
            return Access(roots.get(access.root, access.root), access.offset, dynamic, access.strides)

        nest = step.nest
        inputs = tuple(place(x) for x in nest.inputs[:2] if isinstance(x, Access))
        nest = replace(nest, inputs=inputs, outputs=tuple(map(place, nest.outputs)))
        return nest.permuted(range(1, len(nest.sizes)))

    def _multiplier(self, step: Step) -> Emit:
        """Choose how an image is multiplied; emits what is done beforehand."""
        builder, kernel, machine = self.builder, self.kernel, self.machine
        whole = self._sliced(step, None, {})
        product = canonical_contraction(whole, self.element)
        if product is None:
            return lambda image, roots: self._emit_step(step, image, roots)
        if is_small(product, machine) and product.multiplications * self.plan.count <= MOST_OF_NARROW:

            def emit(image: IndexValue, roots: Mapping[SSAValue, SSAValue]) -> None:
                emit_small(builder, kernel, self._contraction(step, image, roots), machine)

            return emit
        emitter = self._blocked(product, {access.root for access in step.nest.accesses if access.strides[0]})
        return lambda image, roots: self._multiply_blocks(emitter, self._contraction(step, image, roots))

    def _contraction(self, step: Step, image: IndexValue, roots: Mapping[SSAValue, SSAValue]) -> Contraction:
        product = canonical_contraction(self._sliced(step, image, roots), self.element)
        assert product is not None, "all images have the same strides"
        return product

    def _blocked(self, product: Contraction, moved: Container[SSAValue]) -> _ByTasks:
        """The emitter of blocks, which has packed the filters that the images share: those that no image `moved`."""
        blocking: Blocking = block_rows(product, block(product, self.machine), self.machine)
        own = product.b.root in moved
        kind = _PacksImages if own else _ByTasks
        emitter = kind(self.builder, self.kernel, self.constants, product, blocking, overwrite=True)
        if not own:
            emitter.emit_packing()
        return emitter

    def _multiply_blocks(self, emitter: _ByTasks, product: Contraction) -> None:
        emitter.product = replace(emitter.product, a=product.a, b=product.b, c=product.c)
        (packer,) = emitter.packers
        if packer.by_tasks:
            packer.begin_task()
            packer.operand = replace(packer.operand, access=product.b)
            with self.builder.loop(0, packer.count) as panel:
                packer.pack_panel(panel)
        emitter.multiply()

    # Sums over images.

    def _add(self, image: SSAValue, sums: SSAValue, task: IndexValue) -> None:
        """Add an image's result to the task's."""
        builder, elements = self.builder, math.prod(buffer_of(image).get_shape())
        source = builder.strided_view(image, 0, (elements,), (1,))
        target = builder.strided_view(sums, task * elements, (elements,), (1,))
        with builder.loop(0, elements, attributes=PARALLEL) as i:
            total = VectorBuilder(builder).add(builder.load(target, [i]), builder.load(source, [i]))
            builder.store(total, target, [i])

    def _add_tasks(self, sums: SSAValue, target: SSAValue, tasks: int) -> None:
        """Write the sum of the tasks' results, in order."""
        builder, elements = self.builder, math.prod(buffer_of(target).get_shape())
        whole = builder.strided_view(target, 0, (elements,), (1,))
        source = builder.strided_view(sums, 0, (tasks, elements), (elements, 1))
        with builder.loop(0, elements, attributes=PARALLEL) as i:
            with builder.loop(1, tasks, carry=[builder.load(source, [0, i])]) as (task, totals):
                builder.yield_(VectorBuilder(builder).add(totals[0], builder.load(source, [task, i])))
            builder.store(totals[0], whole, [i])


def _type_of_image(root: SSAValue, count: int) -> Any:
    type_ = buffer_of(root)
    shape = type_.get_shape()
    assert shape[0] == count, "the first dimension is that of the images"
    return memref_type(shape[1:], type_.element_type)


def convert_images(
    kernel: func.FuncOp,
    structured: Sequence[Structured],
    absorbed: Absorbed,
    machine: Machine,
    constants: KernelConstants,
) -> bool:
    """Lower the steps of a kernel that works image by image; whether it is one. Its other operations stay."""
    ops = without_fills(structured, absorbed)
    # A result in the memory of an argument is written after all reads of that, which images would be before.
    plan = None if Kernel(kernel).shared else plan_images(ops, absorbed)
    if plan is None or sums_of_products(cast(GenericOp, next(s.nest.op for s in plan.steps if s.is_product))) is None:
        return False
    builder = LoopBuilder(kernel)
    builder.insert_at(plan.steps[-1].nest.op)
    ImageEmitter(builder, kernel, plan, machine, constants).emit()
    done = {step.nest.op for step in plan.steps}
    fills = [fill for op in done for fill in absorbed.get(cast(GenericOp, op), ()) if fill is not None]
    erase_all([op for op in structured if op in done or op in fills])
    for buffer in plan.buffers:
        _erase_unread(buffer)
    return True


def _erase_unread(buffer: SSAValue) -> None:
    """Erase a buffer and the views of it, which nothing reads or writes any more."""
    owner = buffer.owner
    if not isinstance(owner, Operation) or owner.parent is None:
        return
    for use in list(buffer.uses):
        for view in use.operation.results:
            _erase_unread(view)
    erase_op(owner)
