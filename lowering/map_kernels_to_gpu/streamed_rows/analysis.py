"""Recognizes the form of streamed rows in the operations of a row kernel."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Operation, SSAValue

from ...convert_contractions_to_vector.rows.plan import RowProductPlan, is_product, plan_row_products, sums_rows
from ...convert_linalg_to_scf.conversion import Absorbed, initial_values
from ...loop_nests.combination import independent_outputs, restricted
from ...loop_nests.loop_builder import buffer_of
from ...loop_nests.nest import Access, Nest
from ..contraction.epilogue import is_zero
from ..contraction.form import Factor, sum_of_products
from ..reduction.chain import Chain, Link, Step, make_chain
from ..threads.phases import Phase
from .form import Mixture, NotStreamedError, ResultStep, RowProduct, StreamedForm, Strides


def streamed_form(phase: Phase, temporaries: Collection[SSAValue]) -> StreamedForm:
    """The form of a phase's operations; `temporaries`: buffers that only they use. Raises NotStreamedError."""
    require(phase.is_structured and phase.rows > 0, "the operations are not a row kernel's")
    plan = plan_row_products(phase.structured, phase.rows)
    require(plan is not None, "the operations do not share loops over rows")
    assert plan is not None
    return _Analysis(phase, plan, temporaries).form()


def require(condition: bool, message: str) -> None:
    """Raises NotStreamedError unless the condition holds."""
    if not condition:
        raise NotStreamedError(message)


class _Analysis:
    def __init__(self, phase: Phase, plan: RowProductPlan, temporaries: Collection[SSAValue]):
        self.absorbed: Absorbed = phase.absorbed
        self.shape = plan.shape
        parts = [(number in plan.after, part) for number, nest in enumerate(plan.nests) for part in _parts(nest)]
        self.nests = [part for _, part in parts]
        self.after = [part for is_after, part in parts if is_after]
        self.temporaries = set(temporaries)
        self.written = {access.root for nest in self.nests for access in nest.outputs}
        rows = len(plan.shape)
        self.sums = [nest for nest in self.nests if sums_rows(nest, rows)]
        products = [nest for nest in self.nests if is_product(nest) and not sums_rows(nest, rows)]
        self.scored = [nest for nest in products if self._is_scores(nest)]
        self.mixed = [nest for nest in products if not self._is_scores(nest)]
        factors = [nest.inputs[1 - self._rows_input(nest)] for nest in products]
        moving = [l for x in factors if isinstance(x, Access) for l in self._moved(x)]
        self.batch = 1 + max(moving, default=-1)
        if self.sums:
            require(self.batch < rows, "a factor moves with the rows of a matrix")
            self.batch = rows - 1

    def form(self) -> StreamedForm:
        require(bool(self.mixed), "no product contracts the rows")
        scores = [self._product(nest, True) for nest in self.scored]
        later, inner = self._split()
        turned = self._turned(inner, scores) if self.sums else None
        chain = self._chain(inner, {product.root: product for product in scores})
        mixtures = {nest.outputs[0].root: self._mixture(nest, chain) for nest in self.mixed}
        for nest in later:
            self._add_step(nest, chain, mixtures, self.shape)
        ((length, _),) = next(iter(mixtures.values())).product.factor.depth
        products = tuple(scores), tuple(mixtures.values())
        written = self._stored([*later, *self.mixed])
        return StreamedForm(self.shape, self.batch, length, chain, *products, written, turned)

    def _stored(self, nests: Sequence[Nest]) -> frozenset[SSAValue]:
        return frozenset(x.root for nest in nests for x in nest.outputs if x.root not in self.temporaries)

    # Products.

    def _rows_input(self, nest: Nest) -> int:
        """The factor of a product that more loops over rows move than the other."""
        moved = [self._moved(x) for x in nest.inputs if isinstance(x, Access)]
        require(len(moved) == 2, "a product is not one of two factors")
        for own in range(2):
            if moved[1 - own] < moved[own]:
                return own
        raise NotStreamedError("both factors of a product move with the rows")

    def _moved(self, access: Access) -> set[int]:
        """The loops over rows that move an access."""
        return {l for l, size in enumerate(self.shape) if size != 1 and access.strides[l]}

    def _is_scores(self, nest: Nest) -> bool:
        """Whether a product is one of rows that are in memory."""
        access = nest.inputs[self._rows_input(nest)]
        return isinstance(access, Access) and access.root not in self.written

    def _formula(self, nest: Nest) -> tuple[Operation, Operation, tuple[tuple[Operation, ...], tuple[Operation, ...]]]:
        """The multiplication and addition of a product, and the conversions of its factors."""
        op = nest.op
        assert isinstance(op, GenericOp)
        found = sum_of_products(op.body.block)
        alone = len(nest.outputs) == 1 and len(nest.inputs) == 2
        require(found is not None and alone, "a product is no sum of two factors' products")
        require("xhlo.tf32" not in op.attributes, "a product is of tf32")
        (init,) = initial_values(op, self.absorbed)
        require(init is not None and is_zero(init), "a product does not begin with zeros")
        forward = all(stride >= 0 for access in nest.accesses for stride in access.strides)
        require(forward and not nest.outputs[0].dynamic, "a product runs backwards, or is placed at run time")
        assert found is not None
        return found

    def _loops(self, nest: Nest) -> tuple[int, int]:
        """The contracted loop of a product, and the other one that is not over rows."""
        loops = _inner(nest, len(self.shape))
        contracted, others = [l for l in loops if nest.reduction[l]], [l for l in loops if not nest.reduction[l]]
        require(len(contracted) == len(others) == 1, "a product has further loops, or vectors for factors")
        return contracted[0], others[0]

    def _product(self, nest: Nest, streams_result: bool) -> RowProduct:
        """`streams_result`: whether the result's other index is the streamed one, and not the contracted one."""
        multiply, add, conversions = self._formula(nest)
        depth, other = self._loops(nest)
        own = self._rows_input(nest)
        mine, theirs = nest.inputs[own], nest.inputs[1 - own]
        assert isinstance(mine, Access) and isinstance(theirs, Access)
        streamed, fixed = (other, depth) if streams_result else (depth, other)
        heads = range(self.batch)
        factor = _factor(nest, theirs, heads, [fixed], streamed, conversions[1 - own])
        outer = range(self.batch, len(self.shape))
        row_factor = _factor(nest, mine, heads, outer, depth, conversions[own]) if streams_result else None
        (out,) = nest.outputs
        total, element = buffer_of(out.root).element_type, buffer_of(mine.root).element_type
        place = (*_row_strides(out, self.shape), out.strides[other])
        return RowProduct(nest.op, multiply, add, total, row_factor, factor, out.root, place, conversions[own], element)

    # The chain.

    def _split(self) -> tuple[list[Nest], list[Nest]]:
        """The nests that follow mixtures, and the others that are no products."""
        known = {access.root for nest in self.mixed for access in nest.outputs}
        later: list[Nest] = []
        inner: list[Nest] = []
        for nest in self.nests:
            if is_product(nest) or any(nest is each for each in self.after):
                continue
            if any(isinstance(x, Access) and x.root in known for x in nest.inputs):
                known.update(access.root for access in nest.outputs)
                later.append(nest)
            else:
                inner.append(nest)
        return later, inner

    def _chain(self, nests: Sequence[Nest], scores: Mapping[SSAValue, RowProduct]) -> Chain:
        for nest in nests:
            for access in nest.inputs:
                product = scores.get(access.root) if isinstance(access, Access) else None
                if product is not None and isinstance(access, Access):
                    require(_is_at(nest, access, product.place, self.shape), "scores are read at another place")
            require(not any(x.root in scores for x in nest.outputs), "scores are written twice")
        require(all(root in self.temporaries for root in scores), "scores are stored")
        inits = [initial_values(nest.op, self.absorbed) for nest in nests]  # pyright: ignore[reportArgumentType]
        chain = make_chain(nests, inits, len(self.shape), self.temporaries)
        require(chain is not None and len(chain.space) == 1, "the operations are no chain over the same rows")
        assert chain is not None
        lawful = all(chain.steps[s].combination is not None for s in chain.reductions)
        require(lawful, "a reduction is not known to be associative")
        begun = all(init is not None for s in chain.reductions for init in chain.steps[s].inits)
        require(begun, "a reduction begins with what is in memory")
        return chain

    def _mixture(self, nest: Nest, chain: Chain) -> Mixture:
        product = self._product(nest, False)
        source = self._source(nest.inputs[self._rows_input(nest)], self._loops(nest)[0], chain)
        return Mixture(product, source, chain.steps[source.step].level, stored=product.root not in self.temporaries)

    def _source(self, access: Access | SSAValue, inner: int, chain: Chain) -> Link:
        """The step of a chain over rows that computes what a product reads; `inner`: its loop inside rows."""
        link = _link(access, chain)
        elementwise = link is not None and chain.steps[link.step].wide and not chain.steps[link.step].reduces
        require(elementwise, "the rows that a product contracts are no elementwise results")
        assert link is not None and isinstance(access, Access)
        writer, output = self._writer(access.root)
        place = (*_row_strides(access, self.shape), access.strides[inner])
        at_place = _is_at(writer, output, place, self.shape) and not access.offset and not access.dynamic
        require(at_place, "the rows of a product are at another place")
        return link

    def _writer(self, root: SSAValue) -> tuple[Nest, Access]:
        return next((nest, x) for nest in self.nests for x in nest.outputs if x.root is root)

    # Operations after mixtures.

    def _add_step(self, nest: Nest, chain: Chain, mixtures: Mapping[SSAValue, Mixture], shape: tuple[int, ...]) -> None:
        """Add an operation to the mixture that it follows; `shape`: the loops over the mixtures' rows."""
        places = {root: (mixture, mixture.product.place) for root, mixture in mixtures.items()}
        for mixture in mixtures.values():
            for step in mixture.steps:
                places |= {x.root: (mixture, _place(step.nest, x, shape)) for x in step.nest.outputs}
        linked: dict[int, SSAValue | Link] = {}
        own: list[Mixture] = []
        for k, access in enumerate(nest.inputs):
            if not isinstance(access, Access) or access.root not in self.written:
                continue
            if access.root in places:
                mixture, place = places[access.root]
                own.append(mixture)
                require(_is_at(nest, access, place, shape), "a mixture is read at another place")
                linked[k] = access.root
            else:
                linked[k] = self._row_value(access, chain)
        first = own[0]
        require(all(each is first for each in own), "two mixtures are combined")
        body, count = nest.body, len(nest.inputs)
        fresh = body is not None and not any(x.first_use is not None for x in body.args[count:])
        inner = [nest.sizes[l] for l in _inner(nest, len(shape))]
        elementwise = fresh and not any(nest.reduction) and inner == [first.columns]
        require(elementwise, "what follows a mixture is not elementwise")
        first.steps.append(ResultStep(nest, linked))

    def _row_value(self, access: Access, chain: Chain) -> Link:
        """The value of the chain that an operation after a mixture reads, one for each row."""
        link = _link(access, chain)
        per_row = link is not None and (chain.steps[link.step].reduces or not chain.steps[link.step].wide)
        require(per_row, "a mixture is combined with rows")
        assert link is not None
        _, output = self._writer(access.root)
        rows = _row_strides(access, self.shape)
        same = rows == _row_strides(output, self.shape) and not any(access.strides[len(self.shape) :])
        require(same and not access.dynamic and access.offset == output.offset, "a value of another row is read")
        return link

    # Sums over rows.

    def _turned(self, inner: Sequence[Nest], scores: Sequence[RowProduct]) -> StreamedForm:
        """The form of the sums: each element of the rows becomes a row, whose elements are the rows."""
        ((length, _),) = scores[0].factor.depth if scores else ((0, 0),)
        require(length > 0, "sums over rows are of rows that are products")
        shape = (*self.shape[:-1], length)
        by_root = {x.root: nest for nest in inner for x in nest.outputs}
        needed: dict[SSAValue, None] = {}
        pending = [x.root for nest in self.sums for x in nest.inputs if isinstance(x, Access)]
        while pending:
            nest = by_root.get(pending.pop())
            if nest is None or any(x.root in needed for x in nest.outputs):
                continue
            if not _inner(nest, len(self.shape)) or any(nest.reduction):
                # One value per row: the first launch leaves it in memory.
                self.temporaries -= {x.root for x in nest.outputs}
                continue
            needed |= dict.fromkeys(x.root for x in nest.outputs)
            pending += [x.root for x in nest.inputs if isinstance(x, Access)]
        wide = [nest for nest in inner if any(x.root in needed for x in nest.outputs)]
        chain = Chain(shape, (self.shape[-1],), tuple(self._turned_steps(wide)))
        mixtures = {nest.outputs[0].root: self._sum(nest, chain, level) for level, nest in enumerate(self.sums)}
        after = [self._rows_of_sums(nest, mixtures) for nest in self.after]
        for nest in after:
            self._add_step(nest, chain, mixtures, shape)
        turned = tuple(_turned_product(product) for product in scores)
        written = self._stored([*after, *self.sums])
        return StreamedForm(shape, self.batch, self.shape[-1], chain, turned, tuple(mixtures.values()), written)

    def _turned_steps(self, nests: Sequence[Nest]) -> Iterator[Step]:
        """The operations on rows with the loop over a matrix's rows last."""
        rows, links = len(self.shape), dict[SSAValue, Link]()
        for number, nest in enumerate(nests):
            (element,) = _inner(nest, rows)
            sources = {k: links[x.root] for k, x in enumerate(nest.inputs) if isinstance(x, Access) and x.root in links}
            links |= {x.root: Link(number, k) for k, x in enumerate(nest.outputs)}
            turned = nest.permuted([*range(rows - 1), element, rows - 1])
            yield Step(turned, True, False, sources=sources, stored=(False,) * len(nest.outputs))

    def _sum(self, nest: Nest, chain: Chain, level: int) -> Mixture:
        """A sum over rows as a mixture of the rows turned around, each in a pass of its own."""
        multiply, add, conversions = self._formula(nest)
        own = next((k for k, x in enumerate(nest.inputs) if isinstance(x, Access) and x.root in self.written), 0)
        mine, theirs = nest.inputs[own], nest.inputs[1 - own]
        assert isinstance(mine, Access)
        require(isinstance(theirs, Access) and theirs.root not in self.written, "a sum's other factor is computed here")
        assert isinstance(theirs, Access)
        last, loops = len(self.shape) - 1, _inner(nest, len(self.shape))
        elements, columns = [l for l in loops if mine.strides[l]], [l for l in loops if not mine.strides[l]]
        require(len(elements) == len(columns) == 1 and bool(theirs.strides[last]), "a sum over rows has further loops")
        source = self._source(mine, elements[0], chain)
        factor = _factor(nest, theirs, range(last), columns, last, conversions[1 - own])
        (out,) = nest.outputs
        place = (*_row_strides(out, self.shape[:-1]), out.strides[elements[0]], out.strides[columns[0]])
        total, element = buffer_of(out.root).element_type, buffer_of(mine.root).element_type
        product = RowProduct(nest.op, multiply, add, total, None, factor, out.root, place, conversions[own], element)
        return Mixture(product, source, level, stored=out.root not in self.temporaries)

    def _rows_of_sums(self, nest: Nest, mixtures: Mapping[SSAValue, Mixture]) -> Nest:
        """An operation after sums with the loop over their rows first among those inside a matrix."""
        last = len(self.shape) - 1
        read = next(x for x in nest.inputs if isinstance(x, Access) and x.root in self.written)
        mixture = mixtures.get(read.root)
        require(mixture is not None, "an operation follows sums over rows, but not the first one")
        assert mixture is not None
        rows = [l for l in _inner(nest, last) if read.strides[l] == mixture.product.place[last]]
        require(len(rows) == 1, "a sum over rows is read at another place")
        return nest.permuted([*range(last), rows[0], *(l for l in range(last, len(nest.sizes)) if l != rows[0])])


def _parts(nest: Nest) -> list[Nest]:
    """An elementwise operation with a part for each of its independent results, which were fused as siblings."""
    if is_product(nest) or any(nest.reduction) or nest.body is None:
        return [nest]
    groups = independent_outputs(nest)
    if len(groups) == 1:
        return [nest]
    found: list[Nest] = []
    for group in groups:
        part = restricted(nest, group)
        assert part.body is not None
        read = [argument.first_use is not None for argument in part.body.args]
        inputs = [x if used else value for x, value, used in zip(nest.inputs, nest.op.operands, read, strict=False)]
        found.append(replace(part, inputs=tuple(inputs)))
    return found


def _turned_product(product: RowProduct) -> RowProduct:
    """Scores with rows and elements exchanged."""
    rows, factor = product.rows, product.factor
    assert rows is not None
    *heads, row, element = product.place
    return replace(
        product,
        rows=Factor(factor.access, factor.batch, factor.depth, factor.outer, factor.conversions),
        factor=Factor(rows.access, rows.batch, rows.depth, rows.outer, rows.conversions),
        place=(*heads, element, row),
        row_conversions=factor.conversions,
        element=factor.element,
    )


def _factor(
    nest: Nest,
    access: Access,
    batch: Sequence[int],
    outer: Sequence[int],
    depth: int,
    conversions: tuple[Operation, ...],
) -> Factor:
    """A factor of a nest's product, by the loops that index it."""

    def digits(loops: Sequence[int]) -> tuple[tuple[int, int], ...]:
        return tuple((nest.sizes[l], access.strides[l]) for l in loops)

    # Without its loops: factors at one place are one.
    start = replace(access, strides=())
    return Factor(start, digits(batch), digits(outer), digits([depth]), conversions)


def _link(access: Access | SSAValue, chain: Chain) -> Link | None:
    """The step of a chain that writes what an access reads."""
    for s, step in enumerate(chain.steps):
        for k, output in enumerate(step.nest.outputs):
            if isinstance(access, Access) and output.root is access.root:
                return Link(s, k)
    return None


def _inner(nest: Nest, rows: int) -> list[int]:
    """The loops inside a row, without those of size 1."""
    return [l for l in range(rows, len(nest.sizes)) if nest.sizes[l] != 1]


def _place(nest: Nest, access: Access, shape: tuple[int, ...]) -> Strides:
    """The strides along the loops over rows and inside of them."""
    return (*_row_strides(access, shape), *(access.strides[l] for l in _inner(nest, len(shape))))


def _is_at(nest: Nest, access: Access, place: Strides, shape: tuple[int, ...]) -> bool:
    """Whether an access of a nest whose first loops are over rows is at a place, from the buffer's beginning."""
    return not access.offset and not access.dynamic and _place(nest, access, shape) == place


def _row_strides(access: Access, shape: tuple[int, ...]) -> Strides:
    return tuple(0 if size == 1 else stride for size, stride in zip(shape, access.strides, strict=False))
