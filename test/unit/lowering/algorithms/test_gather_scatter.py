"""gather, scatter and related operations: the reference against the spec's formulas, the CPU against the reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from cpu_programs import DTYPES, TARGETS, TYPES, Batch, apply, edges, random_values, run, same, type_of
from xhlo.hlo_dialect.ops.index_dimensions import (
    GatherDimensionNumbersAttr,
    IndexDimensions,
    ScatterDimensionNumbersAttr,
)

Shape = tuple[int, ...]


def array_text(numbers: Sequence[int]) -> str:
    return f"array<i64: {', '.join(map(str, numbers))}>" if numbers else "array<i64>"


def tensor(shape: Sequence[int], element: str) -> str:
    return f"tensor<{''.join(f'{d}x' for d in shape)}{element}>"


def dimensions_text(cls: Any, dims: IndexDimensions) -> str:
    attribute = cls.of(dims)
    lists = [f"{name} = {list(getattr(attribute, name).get_values())}" for name in cls.FIELDS]
    return f"#{cls.name}<{', '.join(lists)}, index_vector_dim = {dims.vector_dim}>"


def random_geometry(rng: np.random.Generator) -> tuple[Shape, Shape, IndexDimensions, Shape]:
    """Shapes of an operand and of indices, dimension numbers that fit them, and sizes of windows."""
    rank = int(rng.integers(0, 4))
    operand = tuple(int(n) for n in rng.integers(1, 5, rank))
    roles = rng.integers(0, 3, rank)  # window, collapsed, batching
    batching = tuple(int(d) for d in np.flatnonzero(roles == 2))
    collapsed = tuple(int(d) for d in np.flatnonzero(roles == 1))
    others = [d for d in range(rank) if d not in batching]
    index_map = tuple(int(d) for d in rng.permutation(others)[: rng.integers(0, len(others) + 1)])
    extra = [int(n) for n in rng.integers(1, 4, rng.integers(0, 3))]
    batch: list[tuple[int, int | None]] = [*((size, None) for size in extra), *((operand[d], d) for d in batching)]
    rng.shuffle(batch)
    vector_dim = int(rng.integers(0, len(batch) + 1))
    sizes = [size for size, _ in batch]
    if len(index_map) != 1 or rng.random() < 0.5:
        sizes.insert(vector_dim, len(index_map))
        of = {d: i + (i >= vector_dim) for i, (_, d) in enumerate(batch) if d is not None}
    else:
        vector_dim = len(batch)
        of = {d: i for i, (_, d) in enumerate(batch) if d is not None}
    offsets = [d for d in range(rank) if d not in batching and d not in collapsed]
    window = tuple(sorted(int(d) for d in rng.permutation(len(batch) + len(offsets))[: len(offsets)]))
    dims = IndexDimensions(window, collapsed, batching, tuple(of[d] for d in batching), index_map, vector_dim)
    slices = tuple(1 if d not in offsets else int(rng.integers(1, operand[d] + 1)) for d in range(rank))
    return operand, tuple(sizes), dims, slices


def operand_index(dims: IndexDimensions, indices: Any, place: Shape, shape: Shape, slices: Shape | None) -> list[int]:
    """The spec's formula for the operand index of the window element at `place`; clamped if `slices` is given."""
    batch_dims = [d for d in range(len(place)) if d not in dims.window]
    batch = [place[d] for d in batch_dims]
    offset = [place[d] for d in dims.window]
    if dims.vector_dim < indices.ndim:
        vector = indices[(*batch[: dims.vector_dim], slice(None), *batch[dims.vector_dim :])]
    else:
        vector = [indices[tuple(batch)]]
    full = [0] * len(shape)
    for d in range(len(shape)):
        if d in dims.index_map:
            full[d] = int(vector[dims.index_map.index(d)])
            if slices is not None:
                full[d] = min(max(full[d], 0), shape[d] - slices[d])
        if d in dims.batching:
            of = dims.index_batching[dims.batching.index(d)]
            full[d] += batch[of - (1 if of > dims.vector_dim else 0)]
    for d, value in zip([d for d in range(len(shape)) if d not in dims.collapsed + dims.batching], offset, strict=True):
        full[d] += value
    return full


def gather_text(operand: Any, indices: Any, dims: IndexDimensions, slices: Shape) -> tuple[str, str]:
    result = dims.combine(dims.batch_shape(indices.shape), [slices[d] for d in dims.offset_dims(operand.ndim)])
    type_ = tensor(result, type_of(operand).rpartition("x")[2].strip("tensor<>"))
    attribute = dimensions_text(GatherDimensionNumbersAttr, dims)
    text = (
        f'"hlo.gather"($0, $1) <{{dimension_numbers = {attribute}, slice_sizes = {array_text(slices)}}}> : '
        f"({type_of(operand)}, {type_of(indices)}) -> {type_}"
    )
    return text, type_


@pytest.mark.long(2)
@pytest.mark.parametrize("target", TARGETS)
def test_gather_by_the_formula(target: str) -> None:
    """Any dimension numbers; indices that must be clamped on both sides."""
    rng = np.random.default_rng(1)
    batch = Batch()
    wanted: list[Any] = []
    for _ in range(60):
        shape, indices_shape, dims, slices = random_geometry(rng)
        operand = rng.integers(-100, 100, shape).astype(np.int32)
        indices = rng.integers(-2, 6, indices_shape).astype(DTYPES[str(rng.choice(["i8", "i32", "i64"]))])
        text, type_ = gather_text(operand, indices, dims, slices)
        batch.add(text, type_, operands=(operand, indices))
        result = np.empty(
            dims.combine(dims.batch_shape(indices_shape), [slices[d] for d in dims.offset_dims(len(shape))]), np.int32
        )
        for place in np.ndindex(result.shape):
            result[place] = operand[tuple(operand_index(dims, indices, place, shape, slices))]
        wanted.append(result)
    for got, want in zip(run(batch.text(), list(batch.inputs.values()), target), wanted, strict=True):
        np.testing.assert_array_equal(got, want)


ROWS = IndexDimensions((1,), (0,), (), (), (0,), 1)


def test_gather_of_every_type() -> None:
    batch = Batch()
    for type_ in TYPES:
        operand = edges(type_)
        operand = np.resize(operand, (len(operand) // 2, 2))
        text, result = gather_text(operand, np.array([[0], [1], [99], [-1]]), ROWS, (1, 2))
        batch.add(text, result, operands=(operand, np.array([[0], [1], [99], [-1]])))
    batch.check()


@pytest.mark.parametrize("target", TARGETS)
def test_indices_at_the_ends_of_their_types(target: str) -> None:
    """Clamping treats unsigned indices as unsigned, and nothing overflows."""
    x = np.arange(5, dtype=np.float32)
    dims = IndexDimensions((), (0,), (), (), (0,), 1)
    for type_ in ("i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64"):
        info = np.iinfo(DTYPES[type_])
        indices = np.array([info.min, 0, 3, info.max], info.dtype)
        text, result = gather_text(x, indices, dims, (1,))
        got = apply(text.replace("$0", "%x0").replace("$1", "%x1"), [x, indices], result, target)
        np.testing.assert_array_equal(got, [0, 0, 3, 4])


@pytest.mark.parametrize("target", TARGETS)
def test_gather_of_nothing(target: str) -> None:
    empty = np.empty((0, 2), np.float32)
    text, result = gather_text(empty, np.zeros((3, 1), np.int32), ROWS, (0, 2))
    got = apply(text.replace("$0", "%x0").replace("$1", "%x1"), [empty, np.zeros((3, 1), np.int32)], result, target)
    np.testing.assert_array_equal(got, np.zeros((3, 2)))
    none = np.zeros((0, 1), np.int32)
    table = np.ones((4, 2), np.float32)
    text, result = gather_text(table, none, ROWS, (1, 2))
    assert apply(text.replace("$0", "%x0").replace("$1", "%x1"), [table, none], result, target).shape == (0, 2)


@pytest.mark.parametrize("target", TARGETS)
def test_dynamic_gather_and_torch_index_select(target: str) -> None:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    index = np.array([[1, 9], [-1, 2]], np.int32)
    got = apply(
        '"hlo.torch_index_select"(%x0, %x1) <{dim = 2 : i64, batch_dims = 1 : i64}> : '
        f"({type_of(x)}, {type_of(index)}) -> tensor<2x3x2xf32>",
        [x, index],
        "tensor<2x3x2xf32>",
        target,
    )
    np.testing.assert_array_equal(got, [x[b][:, np.clip(index[b], 0, 3)] for b in range(2)])
    sizes = np.array([1, 3, 2])
    got = apply(
        '"hlo.dynamic_gather"(%x0, %x1, %x2) <{dimension_numbers = #hlo.gather<offset_dims = [1, 2], '
        "collapsed_slice_dims = [0], start_index_map = [0, 2], index_vector_dim = 1>}> : "
        f"({type_of(x)}, {type_of(index)}, {type_of(sizes)}) -> tensor<2x3x2xf32>",
        [x, index, sizes],
        "tensor<2x3x2xf32>",
        target,
    )
    np.testing.assert_array_equal(got, [x[1][:, 2:4], x[0][:, 2:4]])


@pytest.mark.parametrize("target", TARGETS)
def test_map(target: str) -> None:
    x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.full((2, 3), 2, np.float32)
    got = apply(
        """"hlo.map"(%x0, %x1) <{dimensions = array<i64: 0, 1>}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %one = hlo.constant dense<1.0> : tensor<f32>
          %0 = hlo.multiply %a, %b : tensor<f32>
          %1 = hlo.add %0, %one : tensor<f32>
          %2 = hlo.compare GT, %1, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
          hlo.return %2 : tensor<i1>
        }) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>""",
        [x, y],
        "tensor<2x3xi1>",
        target,
    )
    np.testing.assert_array_equal(got, x * y + 1 > y)


# Scatter.

BODIES: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "set": ("", lambda a, b: b),
    "keep": ("", lambda a, b: a),
    "add": ("%m = hlo.add %a, %b : tensor<{t}>", lambda a, b: a + b),
    "multiply": ("%m = hlo.multiply %a, %b : tensor<{t}>", lambda a, b: a * b),
    "maximum": ("%m = hlo.maximum %a, %b : tensor<{t}>", max),
    "minimum": ("%m = hlo.minimum %a, %b : tensor<{t}>", min),
    "other": ("%d = hlo.subtract %b, %a : tensor<{t}>\n%m = hlo.subtract %d, %b : tensor<{t}>", lambda a, b: -a),
    "order": ("%d = hlo.add %a, %a : tensor<{t}>\n%m = hlo.add %d, %b : tensor<{t}>", lambda a, b: a + a + b),
}


def scatter_text(kind: str, operand: Any, indices: Any, updates: Any, dims: IndexDimensions, flags: str = "") -> str:
    element = next(name for name, dtype in DTYPES.items() if dtype == operand.dtype)
    returned = {"set": "%b", "keep": "%a"}.get(kind, "%m")
    attribute = dimensions_text(ScatterDimensionNumbersAttr, dims)
    return f""""hlo.scatter"($0, $1, $2) <{{scatter_dimension_numbers = {attribute}{flags}}}> ({{
    ^bb0(%a: tensor<{element}>, %b: tensor<{element}>):
      {BODIES[kind][0].format(t=element)}
      hlo.return {returned} : tensor<{element}>
    }}) : ({type_of(operand)}, {type_of(indices)}, {type_of(updates)}) -> {type_of(operand)}"""


def inside(dims: IndexDimensions, indices: Any, place: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    to = operand_index(dims, indices, place, shape, None)
    return all(0 <= index < size for index, size in zip(to, shape, strict=True))


def corners(dims: IndexDimensions, place: tuple[int, ...], updates: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The first and the last element of the window that an update belongs to."""
    return [tuple(end(size) if d in dims.window else place[d] for d, size in enumerate(updates)) for end in _ENDS]


_ENDS: tuple[Callable[[int], int], ...] = (lambda size: 0, lambda size: size - 1)


@pytest.mark.long(2)
@pytest.mark.parametrize("target", TARGETS)
def test_scatter_by_the_formula(target: str) -> None:
    """Any dimension numbers and windows; repeated updates, in order; windows outside, or partly outside."""
    rng = np.random.default_rng(2)
    batch = Batch()
    wanted: list[Any] = []
    for number in range(64):
        shape, indices_shape, dims, slices = random_geometry(rng)
        operand = rng.integers(-9, 9, shape).astype(np.int32)
        indices = rng.integers(-2, 6, indices_shape).astype(DTYPES[str(rng.choice(["i8", "i32", "i64"]))])
        offsets = [slices[d] for d in dims.offset_dims(len(shape))]
        updates = rng.integers(-9, 9, dims.combine(dims.batch_shape(indices_shape), offsets)).astype(np.int32)
        kind = list(BODIES)[number % len(BODIES)]
        batch.add(
            scatter_text(kind, operand, indices, updates, dims), type_of(operand), operands=(operand, indices, updates)
        )
        result = operand.copy()
        for place in np.ndindex(updates.shape):
            if all(inside(dims, indices, corner, shape) for corner in corners(dims, place, updates.shape)):
                to = tuple(operand_index(dims, indices, place, shape, None))
                result[to] = BODIES[kind][1](result[to], updates[place])
        wanted.append(result)
    for got, want in zip(run(batch.text(), list(batch.inputs.values()), target), wanted, strict=True):
        np.testing.assert_array_equal(got, want)


POINTS = IndexDimensions((), (0,), (), (), (0,), 1)


@pytest.mark.long
def test_scatter_of_every_type() -> None:
    """Repeated updates in order, at the edges of every type: floats round in each step."""
    batch = Batch()
    rng = np.random.default_rng(3)
    for type_ in TYPES:
        values = np.concatenate([edges(type_), random_values(type_, 20)])
        indices = rng.integers(-1, 9, (len(values), 1))
        operand = np.resize(values, 8)
        for kind in ("set", "add", "multiply", "maximum", "minimum"):
            batch.add(
                scatter_text(kind, operand, indices, values, POINTS),
                type_of(operand),
                operands=(operand, indices, values),
            )
    batch.check()


@pytest.mark.parametrize("target", TARGETS)
def test_scatter_indices_at_the_ends_of_their_types(target: str) -> None:
    """A start beyond the operand does not come back by an offset that overflows."""
    x, updates = np.zeros(4, np.float32), np.ones((4, 3), np.float32)
    dims = IndexDimensions((1,), (), (), (), (0,), 1)
    for type_ in ("i8", "i32", "i64", "ui8", "ui32", "ui64"):
        info = np.iinfo(DTYPES[type_])
        indices = np.array([[info.min], [info.max], [info.max - 1], [3]], info.dtype)
        text = scatter_text("add", x, indices, updates, dims)
        for i in range(3):
            text = text.replace(f"${i}", f"%x{i}")
        got = apply(text, [x, indices, updates], "tensor<4xf32>", target)
        np.testing.assert_array_equal(got, [1, 1, 1, 0] if info.min == 0 else [0, 0, 0, 0])


@pytest.mark.parametrize("flags", ["", ", unique_indices = true", ", indices_are_sorted = true"])
def test_scatter_of_many_rows(flags: str) -> None:
    """Large enough for several tasks; the same bits each time."""
    rng = np.random.default_rng(4)
    table, updates = (
        rng.standard_normal((300, 130)).astype(np.float32),
        rng.standard_normal((250, 130)).astype(np.float32),
    )
    rows = rng.permutation(300)[:250, None] if flags else rng.integers(0, 300, (250, 1))
    indices = np.sort(rows, axis=0) if "sorted" in flags else rows
    batch = Batch()
    batch.add(
        scatter_text("add", table, indices, updates, ROWS, flags), type_of(table), operands=(table, indices, updates)
    )
    batch.check()


def test_scatter_of_two_tensors_and_wider_results() -> None:
    """Several inputs with one region; a region may accumulate in a wider type."""
    x, y = np.arange(5, dtype=np.float32), np.arange(5, dtype=np.int32)
    u, v = np.array([5, 7, 9], np.float32), np.array([1, 2, 3], np.int32)
    i = np.array([[1], [1], [4]])
    numbers = dimensions_text(ScatterDimensionNumbersAttr, POINTS)
    batch = Batch()
    batch.add(
        f""""hlo.scatter"($0, $1, $2, $3, $4) <{{scatter_dimension_numbers = {numbers}}}> ({{
        ^bb0(%a: tensor<f32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<i32>):
          %p = hlo.compare GT, %c, %a : (tensor<f32>, tensor<f32>) -> tensor<i1>
          %m = hlo.select %p, %c, %a : tensor<i1>, tensor<f32>
          %n = hlo.select %p, %d, %b : tensor<i1>, tensor<i32>
          hlo.return %m, %n : tensor<f32>, tensor<i32>
        }}) : (tensor<5xf32>, tensor<5xi32>, tensor<3x1xi64>, tensor<3xf32>, tensor<3xi32>)
          -> (tensor<5xf32>, tensor<5xi32>)""",
        "tensor<5xf32>",
        "tensor<5xi32>",
        operands=(x, y, i, u, v),
    )
    h, w = x.astype(np.float16), u.astype(np.float16)
    batch.add(
        f""""hlo.scatter"($0, $1, $2) <{{scatter_dimension_numbers = {numbers}}}> ({{
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %m = hlo.add %a, %b : tensor<f32>
          hlo.return %m : tensor<f32>
        }}) : (tensor<5xf16>, tensor<3x1xi64>, tensor<3xf16>) -> tensor<5xf32>""",
        "tensor<5xf32>",
        operands=(h, i, w),
    )
    batch.check()
    first, second, third = run(batch.text(), list(batch.inputs.values()), "reference")
    same(first, [0, 7, 2, 3, 9])
    same(second, [0, 2, 2, 3, 3])
    same(third, [0, 13, 2, 3, 13])


@pytest.mark.parametrize("target", TARGETS)
def test_complex_operands(target: str) -> None:
    z = (np.arange(6) + 1j * np.arange(6)[::-1]).astype(np.complex64)
    u, i = np.array([1 + 2j, 3 - 1j], np.complex64), np.array([[2], [2]])
    text = f"""func.func @main(%z: tensor<6xcomplex<f32>>, %i: tensor<2x1xi64>, %u: tensor<2xcomplex<f32>>)
        -> (tensor<2xcomplex<f32>>, tensor<6xcomplex<f32>>) {{
      %0 = "hlo.gather"(%z, %i) <{{dimension_numbers = #hlo.gather<collapsed_slice_dims = [0], start_index_map = [0],
        index_vector_dim = 1>, slice_sizes = array<i64: 1>}}>
        : (tensor<6xcomplex<f32>>, tensor<2x1xi64>) -> tensor<2xcomplex<f32>>
      %1 = "hlo.scatter"(%z, %i, %u) <{{scatter_dimension_numbers =
        {dimensions_text(ScatterDimensionNumbersAttr, POINTS)}}}> ({{
      ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>):
        %m = hlo.multiply %a, %b : tensor<complex<f32>>
        hlo.return %m : tensor<complex<f32>>
      }}) : (tensor<6xcomplex<f32>>, tensor<2x1xi64>, tensor<2xcomplex<f32>>) -> tensor<6xcomplex<f32>>
      return %0, %1 : tensor<2xcomplex<f32>>, tensor<6xcomplex<f32>>
    }}"""
    gathered, scattered = run(text, [z, i, u], target)
    np.testing.assert_array_equal(gathered, z[[2, 2]])
    want = z.copy()
    want[2] = z[2] * u[0] * u[1]
    np.testing.assert_array_equal(scattered, want)
