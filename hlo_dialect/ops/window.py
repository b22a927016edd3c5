"""
Sliding windows: reduce_window folds each window, select_and_scatter adds to one element per window.

The window of result index i holds the padded, dilated input at `i * strides + j * window_dilations`, for j up to the
window's dimensions. Negative padding removes elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    SameVariadicOperandSize,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import RecursiveMemoryEffect

from ..attributes import IntArray, ints
from ..op import RegionOp, RegionRunner, Role, reject
from ..shapes import shape_text, shapes_agree, types_agree
from ..types import Array, element_of, i1, is_float_dtype, make_tensor, numpy_dtype, shape_of
from .constraints import (
    check_accumulated,
    check_init_values,
    check_reducer,
    is_promotable,
    refuse_shaped_accumulators,
    scalar_types,
)
from .control_flow import all_agree, region_block, returned_types, types_text
from .creation import splat_of
from .reduction import fold_last, is_elementwise_region, single_combiner
from .slicing import padded
from .window_geometry import Window, per_dimension, verified_padding

_IN_ORDER = 64
"""The window size up to which the reference folds elements one after the other."""

_GATHERED = 1 << 22
"""The total size of all windows up to which the reference lays them out in one array."""


_NEUTRAL: dict[str, Callable[[Any], Any]] = {
    "hlo.add": lambda dtype: 0,
    "hlo.multiply": lambda dtype: 1,
    "hlo.maximum": lambda dtype: _extreme(dtype, "min"),
    "hlo.minimum": lambda dtype: _extreme(dtype, "max"),
    "hlo.and": lambda dtype: True if dtype == np.bool_ else ~dtype.type(0),
    "hlo.or": lambda dtype: 0,
    "hlo.xor": lambda dtype: 0,
}
"""The neutral element of each combiner, by the element type."""


def _extreme(dtype: np.dtype[Any], end: str) -> Any:
    """The least (`min`) or greatest value of a type; None for complex types."""
    if dtype == np.bool_:
        return end == "max"
    if is_float_dtype(dtype):
        return -np.inf if end == "min" else np.inf
    import ml_dtypes  # which takes a while

    return None if dtype.kind == "c" else getattr(ml_dtypes.iinfo(dtype), end)


def is_neutral(combiner: Operation, init: SSAValue) -> bool:
    """Whether folding with `combiner` may begin from `init` any number of times; unknown combiners are trusted."""
    neutral = _NEUTRAL.get(combiner.name)
    if neutral is None:
        return True
    found, dtype = splat_of(init), numpy_dtype(element_of(init))
    if found is None or dtype is None:
        return False
    return bool(found == neutral(dtype))


@irdl_op_definition
class ReduceWindowOp(RegionOp):
    """
    Fold each window of the inputs with `body`, beginning with the initial values, which also pad the inputs.

    Shapes: N inputs of one shape and N scalar init_values; N results with one element per window. All results have one
            shape by construction (c14), because it is inferred.
    Raises: VerifyException naming reduce_window_c1..c13, c15, c16 or reduce_window_i2.
    Spec:   https://openxla.org/stablehlo/spec#reduce_window
    """

    name = "hlo.reduce_window"
    ROLE: ClassVar[Role | None] = "custom"
    READS_REGIONS: ClassVar[bool] = False
    inputs = var_operand_def(TensorType)
    init_values = var_operand_def(TensorType)
    window_dimensions = prop_def(IntArray)
    window_strides = opt_prop_def(IntArray)
    base_dilations = opt_prop_def(IntArray)
    window_dilations = opt_prop_def(IntArray)
    padding = opt_prop_def(DenseIntOrFPElementsAttr)
    outs = var_result_def(TensorType)
    body = region_def()
    traits = traits_def(RecursiveMemoryEffect())
    irdl_options = (SameVariadicOperandSize(),)

    @property
    def input_count(self) -> int:
        return len(self.operands) // 2

    @property
    def window(self) -> Window:
        """The verified geometry. Raises VerifyException naming reduce_window_c4..c12."""
        rank = len(shape_of(self.operands[0]))
        padding = verified_padding(self.padding, rank, "reduce_window_c12")

        def values(attribute: IntArray | None, name: str, first: int) -> tuple[int, ...]:
            size, least = f"reduce_window_c{first}", f"reduce_window_c{first + 1}"
            return per_dimension(attribute, name, rank, size, least)

        return Window(
            values(self.window_dimensions, "window_dimensions", 4),
            values(self.window_strides, "window_strides", 6),
            values(self.base_dilations, "base_dilations", 8),
            values(self.window_dilations, "window_dilations", 10),
            tuple(int(low) for low in padding[:, 0]),
            tuple(int(high) for high in padding[:, 1]),
        )

    @property
    def scan(self) -> tuple[int, bool] | None:
        """
        The (dimension, reverse) of a scan: each result is the fold of all elements up to its own, or with `reverse`
        from its own on.

        The windows of such an operation reach into the padding, which holds initial values: these must be neutral. This
        is checked for the usual combiners; for other functions the spec requires it (a monoid).
        """
        along = self.window.scan_dimension(shape_of(self.operands[0]))
        combiner = single_combiner(self.body)
        if along is None or (combiner is not None and not is_neutral(combiner, self.init_values[0])):
            return None
        return along

    def flops(self) -> int:
        return math.prod(shape_of(self.results[0])) * (1 if self.scan is not None else self.window.size)

    def infer_types(self) -> tuple[Attribute, ...]:
        self._verify_operands()
        block = region_block(self.regions[0], "reduce_window_c13", "body")
        shape = self.window.counts(shape_of(self.operands[0]))
        return tuple(make_tensor(shape, element_of(type_)) for type_ in returned_types(block))

    def _verify_operands(self) -> None:
        count = self.input_count
        if count <= 0 or len(self.operands) != 2 * count:
            reject(f"reduce_window_c1: there are {len(self.operands)} operands, expected as many inputs as init_values")
        shape = shape_of(self.operands[0])
        for value in self.operands[1:count]:
            if not shapes_agree(shape_of(value), shape):
                reject(
                    "reduce_window_c2: inputs have different shapes "
                    f"{shape_text(shape)} and {shape_text(shape_of(value))}"
                )
        limits = ints(self.window_dimensions)
        check_init_values("reduce_window_i2", "reduce_window_c3", self.operands[:count], self.operands[count:], limits)

    def region_arguments(self, index: int) -> Sequence[Attribute]:
        return scalar_types(self.operands[self.input_count :], 2)

    def verify_(self) -> None:
        self._verify_operands()
        block = region_block(self.regions[0], "reduce_window_c13", "body")
        count = self.input_count
        check_reducer("reduce_window_c13", "body", block, self.operands[:count], self.operands[count:])
        check_accumulated(self, "reduce_window_c1", "reduce_window_c16", "reduce_window_c15", self.input_count, "body")

    def reference_with_regions(self, run: RegionRunner, *operands: Array) -> tuple[Array, ...]:
        count, window = self.input_count, self.window
        refuse_shaped_accumulators(self, self.operands[count:])
        dtypes = [numpy_dtype(element_of(type_)) for type_ in self.result_types]
        arrays = [value.astype(dtypes[index % count]) for index, value in enumerate(operands)]
        inputs, inits = arrays[:count], arrays[count:]
        shape = inputs[0].shape
        counts = window.counts(shape)
        if 0 in counts:
            return tuple(np.empty(counts, value.dtype) for value in inputs)
        elementwise = is_elementwise_region(self.body)
        along = window.scan_dimension(shape)
        if along is not None and elementwise and math.prod(counts) * window.size > _GATHERED:
            return _scan(run, self.body, inputs, inits, *along)
        sources = [
            padded(value, init, window.low, window.high, window.interior)
            for value, init in zip(inputs, inits, strict=True)
        ]
        if elementwise and (window.size <= _IN_ORDER or math.prod(counts) * window.size > _GATHERED):
            return _fold_places(run, self.body, sources, (inits, counts), window)
        return fold_last(run, self.body, [_windows(value, window, counts) for value in sources], inits)


def _place(window: Window, counts: Sequence[int], offset: Sequence[int]) -> tuple[slice, ...]:
    """The element at this offset in each window."""
    return tuple(
        slice(start, start + (count - 1) * stride + 1, stride)
        for start, count, stride in zip(offset, counts, window.strides, strict=True)
    )


def _windows(value: Array, window: Window, counts: Sequence[int]) -> Array:
    """An array of each window's elements in its last dimension."""
    return np.stack([value[_place(window, counts, offset)] for offset in window.offsets()], axis=-1)


def _fold_places(
    run: RegionRunner,
    body: Region,
    values: Sequence[Array],
    start: tuple[Sequence[Array], tuple[int, ...]],
    window: Window,
) -> tuple[Array, ...]:
    """Fold all windows together, one element of each at a time; `start`: the initial values in the result's shape."""
    inits, counts = start
    state = tuple(np.broadcast_to(init, counts) for init in inits)
    for offset in window.offsets():
        place = _place(window, counts, offset)
        state = run(body, *state, *(value[place] for value in values))
    return tuple(np.broadcast_to(value, counts) for value in state)


def _scan(
    run: RegionRunner, body: Region, values: Sequence[Array], inits: Sequence[Array], dim: int, reverse: bool
) -> tuple[Array, ...]:
    """Compute all prefixes in log n steps, each of which joins neighbouring runs and doubles their length."""
    order = slice(None, None, -1 if reverse else 1)
    current = [np.moveaxis(value, dim, 0)[order] for value in values]
    step = 1
    while step < len(current[0]):
        early, late = [value[:-step] for value in current], [value[step:] for value in current]
        joined = run(body, *late, *early) if reverse else run(body, *early, *late)
        current = [
            np.concatenate((value[:step], np.broadcast_to(new, value[step:].shape)))
            for value, new in zip(current, joined, strict=True)
        ]
        step *= 2
    starts = [np.broadcast_to(init, value.shape) for init, value in zip(inits, current, strict=True)]
    totals = run(body, *starts, *current)
    shaped = [np.broadcast_to(total, value.shape)[order] for total, value in zip(totals, current, strict=True)]
    return tuple(np.moveaxis(value, 0, dim) for value in shaped)


@irdl_op_definition
class SelectAndScatterOp(RegionOp):
    """
    Select an element of each window of the operand with `select`, and combine the window's source into the result at
    its index.

    `select(a, b)` says whether a stays selected over b; padding is never selected, and a window of padding only
    contributes nothing. Each result element is `scatter` of the initial value and its sources, in order.

    Shapes: operand and result of one shape; source has an element for each window; init_value a scalar.
    Raises: VerifyException naming select_and_scatter_c1..c12 or select_and_scatter_i3.
    Spec:   https://openxla.org/stablehlo/spec#select_and_scatter
    """

    name = "hlo.select_and_scatter"
    ROLE: ClassVar[Role | None] = "custom"
    READS_REGIONS: ClassVar[bool] = False
    operand = operand_def(TensorType)
    source = operand_def(TensorType)
    init_value = operand_def(TensorType)
    window_dimensions = opt_prop_def(IntArray)
    window_strides = opt_prop_def(IntArray)
    padding = opt_prop_def(DenseIntOrFPElementsAttr)
    result = result_def(TensorType)
    select = region_def()
    scatter = region_def()
    traits = traits_def(RecursiveMemoryEffect())

    @property
    def window(self) -> Window:
        """The verified geometry. Raises VerifyException naming select_and_scatter_c4..c8."""
        rank = len(shape_of(self.operands[0]))
        padding = verified_padding(self.padding, rank, "select_and_scatter_c8")
        if self.window_dimensions is None and rank > 0:
            reject(f"select_and_scatter_c4: window_dimensions has 0 entries, expected the operand's rank {rank}")
        dimensions = per_dimension(
            self.window_dimensions, "window_dimensions", rank, "select_and_scatter_c4", "select_and_scatter_c5"
        )
        strides = per_dimension(
            self.window_strides, "window_strides", rank, "select_and_scatter_c6", "select_and_scatter_c7"
        )
        low, high = (tuple(int(pad) for pad in padding[:, side]) for side in (0, 1))
        return Window(dimensions, strides, (1,) * rank, (1,) * rank, low, high)

    def flops(self) -> int:
        return math.prod(shape_of(self.source)) * (self.window.size + 1)

    def infer_types(self) -> tuple[Attribute, ...]:
        block = region_block(self.regions[1], "select_and_scatter_c10", "scatter")
        returned = returned_types(block)
        if len(returned) != 1:
            reject(f"select_and_scatter_c10: scatter returns {types_text(returned)}, expected one scalar")
        return (make_tensor(shape_of(self.operands[0]), element_of(returned[0])),)

    def region_arguments(self, index: int) -> Sequence[Attribute]:
        return scalar_types([self.operands[2 * index]], 2)

    def verify_(self) -> None:
        operand, source, init = self.operands
        element = element_of(operand)
        if element != element_of(source):
            reject(f"select_and_scatter_c1: operand has element type {element}, source {element_of(source)}")
        counts = self.window.counts(shape_of(operand))
        if not shapes_agree(shape_of(source), counts):
            reject(
                f"select_and_scatter_c2: source has shape {shape_text(shape_of(source))}, "
                f"there are {shape_text(counts)} windows"
            )
        if shape_of(init) != ():
            reject(f"select_and_scatter_i3: init_value of type {init.type} is no scalar")
        if element_of(init) != element:
            reject(f"select_and_scatter_c3: operand has element type {element}, init_value {element_of(init)}")
        self._verify_regions(element)
        result = self.result_types[0]
        wanted = self.infer_types()[0]
        if not shapes_agree(shape_of(result), shape_of(operand)):
            reject(
                f"select_and_scatter_c11: result has shape {shape_text(shape_of(result))}, "
                f"operand {shape_text(shape_of(operand))}"
            )
        if not types_agree(result, wanted):
            reject(
                f"select_and_scatter_c12: result has element type {element_of(result)}, "
                f"scatter returns {element_of(wanted)}"
            )

    def _verify_regions(self, element: Attribute) -> None:
        scalar, boolean = make_tensor((), element), make_tensor((), i1)
        select = region_block(self.regions[0], "select_and_scatter_c9", "select")
        given, returned = tuple(argument.type for argument in select.args), returned_types(select)
        if not (all_agree(given, (scalar, scalar)) and all_agree(returned, (boolean,))):
            reject(
                f"select_and_scatter_c9: select takes {types_text(given)} and returns {types_text(returned)}, "
                f"expected ({scalar}, {scalar}) and ({boolean})"
            )
        scatter = region_block(self.regions[1], "select_and_scatter_c10", "scatter")
        taken, made = tuple(argument.type for argument in scatter.args), returned_types(scatter)
        if not (len(made) == 1 and shape_of(made[0]) == () and is_promotable(element, element_of(made[0]))):
            reject(
                f"select_and_scatter_c10: scatter returns {types_text(made)}, expected one scalar of a type that "
                f"{element} promotes to"
            )
        if not all_agree(taken, (made[0], made[0])):
            reject(f"select_and_scatter_c10: scatter takes {types_text(taken)}, expected two of {made[0]}")

    def reference_with_regions(self, run: RegionRunner, *operands: Array) -> Array:
        operand, source, init = operands
        dtype: Any = numpy_dtype(element_of(self.result_types[0]))
        result = np.full(operand.shape, init.astype(dtype), dtype)
        if source.size == 0 or operand.size == 0:
            return result
        places = self._selected(run, operand, source.shape).reshape(-1)
        flat = result.reshape(-1)
        updates = source.astype(dtype).reshape(-1)
        vectorized = is_elementwise_region(self.scatter)
        for wanted in _occurrences(places) if vectorized else (np.array([k]) for k in np.flatnonzero(places >= 0)):
            target = places[wanted]
            shaped = (flat[target], updates[wanted])
            if not vectorized:
                shaped = (shaped[0].reshape(()), shaped[1].reshape(()))
            flat[target] = run(self.scatter, *shaped)[0]
        return result

    def _selected(self, run: RegionRunner, operand: Array, counts: tuple[int, ...]) -> Array:
        """For each window the flat index of the selected operand element; -1 for a window of padding only."""
        window = self.window
        best = np.full(counts, -1, np.int64)
        value = np.zeros(counts, operand.dtype)
        numbers = np.arange(operand.size).reshape(operand.shape)
        vectorized = is_elementwise_region(self.select)
        for offset in window.offsets():
            inside, index = _inside(window, operand.shape, counts, offset)
            number = numbers[index]
            candidate = operand[index]
            kept = _decide(run, self.select, value, candidate, vectorized)
            take = inside & ((best < 0) | ~kept)
            best = np.where(take, number, best)
            value = np.where(take, candidate, value)
        return best


def _decide(run: RegionRunner, select: Region, value: Array, candidate: Array, vectorized: bool) -> Array:
    """The mask of the windows in which `select` keeps `value`."""
    if vectorized:
        return np.broadcast_to(run(select, value, candidate)[0], value.shape)
    kept = np.empty(value.shape, np.bool_)
    for place in np.ndindex(value.shape):
        kept[place] = run(select, value[place].reshape(()), candidate[place].reshape(()))[0]
    return kept


def _inside(
    window: Window, shape: Sequence[int], counts: Sequence[int], offset: Sequence[int]
) -> tuple[Array, tuple[Array, ...]]:
    """Whether each window's element at `offset` is inside the operand, and its index (clamped)."""
    axes = [
        np.arange(count) * stride + start - low
        for count, stride, start, low in zip(counts, window.strides, offset, window.low, strict=True)
    ]
    places = np.meshgrid(*axes, indexing="ij")
    inside = np.ones(tuple(counts), np.bool_)
    for place, size in zip(places, shape, strict=True):
        inside &= (place >= 0) & (place < size)
    return inside, tuple(np.clip(place, 0, size - 1) for place, size in zip(places, shape, strict=True))


def _occurrences(places: Array) -> Iterator[Array]:
    """
    Positions in `places`, grouped so that indices within a group are distinct: the first occurrences, the second, ..
    """
    order = np.argsort(places, kind="stable")
    order = order[places[order] >= 0]
    ordered = places[order]
    starts = np.r_[True, ordered[1:] != ordered[:-1]]
    first = np.maximum.accumulate(np.where(starts, np.arange(ordered.size), 0))
    rank = np.arange(ordered.size) - first
    for number in range(int(rank.max(initial=-1)) + 1):
        yield order[rank == number]


OPS = (ReduceWindowOp, SelectAndScatterOp)
