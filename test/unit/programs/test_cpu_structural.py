"""
Every structural operation on every element type and on shapes with 0, 1 and primes: compiled code against the
reference.
"""

from __future__ import annotations

import numpy as np
import pytest

from cpu_programs import (
    DTYPES,
    FLOATS,
    INTEGERS,
    TYPES,
    TYPICAL,
    Batch,
    run,
    same,
    small,
    tensor,
    values,
)

SHAPES: list[tuple[int, ...]] = [
    (),
    (1,),
    (0,),
    (7,),
    (3, 5),
    (1, 13),
    (13, 1),
    (0, 3),
    (3, 0),
    (2, 1, 17),
    (3, 5, 37),
    (2, 3, 1, 5),
]

# Movement --------------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.sample(type_=("i1", "bf16", "ui64"))
@pytest.mark.parametrize("type_", TYPES)
def test_movement(type_: str) -> None:
    batch = Batch()

    def move(op: str, shape: tuple[int, ...], result: tuple[int, ...], same_type: bool = False) -> None:
        types = f"({tensor(shape, type_)}) -> {tensor(result, type_)}"
        suffix = tensor(result, type_) if same_type else types
        batch.add(f"{op} : {suffix}", tensor(result, type_), operands=[values(type_, *shape)])

    for shape, dims, result in (
        ((), [], ()),
        ((), [], (3, 7)),
        ((), [], (0, 7)),
        ((7,), [0], (7, 5)),
        ((7,), [1], (5, 7)),
        ((1,), [0], (5, 7)),
        ((1, 7), [0, 1], (5, 7)),
        ((5, 7), [2, 0], (7, 3, 5)),
        ((5, 1, 2), [0, 1, 3], (5, 17, 3, 2)),
        ((0, 1), [0, 1], (0, 5)),
    ):
        move(f"hlo.broadcast_in_dim $0, dims = {dims}", shape, result)
    for shape, result in (
        ((), (1, 1)),
        ((1, 1), ()),
        ((6, 35), (210,)),
        ((6, 35), (2, 3, 5, 7)),
        ((6, 35), (35, 6)),
        ((6, 35), (5, 42)),
        ((0, 3), (5, 0, 2)),
        ((7, 1, 5), (1, 7, 5, 1)),
    ):
        move("hlo.reshape $0", shape, result)
    for shape, permutation in (((), []), ((7,), [0]), ((5, 37), [1, 0]), ((3, 5, 37), [2, 0, 1]), ((3, 5, 37), [0, 2, 1]), ((3, 5, 37), [1, 0, 2]), ((2, 3, 1, 5), [3, 2, 1, 0]), ((0, 3), [1, 0]), ((33, 65), [1, 0])):  # fmt: skip
        move(f"hlo.transpose $0, dims = {permutation}", shape, tuple(shape[dim] for dim in permutation))
    for shape, spec, result in (
        ((37,), "[0:37]", (37,)),
        ((37,), "[5:36:3]", (11,)),
        ((37,), "[37:37]", (0,)),
        ((37,), "[3:3:2]", (0,)),
        ((5, 37), "[1:4, 36:37]", (3, 1)),
        ((5, 37), "[0:5:4, 0:37:36]", (2, 2)),
        ((0, 3), "[0:0, 1:2]", (0, 1)),
        ((3, 5, 7), "[1:2, 1:4:2, 0:7:5]", (1, 2, 2)),
    ):
        move(f"hlo.slice $0 {spec}", shape, result)
    for shape, dims in (((), []), ((1,), [0]), ((37,), [0]), ((5, 37), [0]), ((5, 37), [1]), ((5, 37), [0, 1]), ((0, 3), [0]), ((2, 3, 5), [])):  # fmt: skip
        move(f"hlo.reverse $0, dims = {dims}", shape, shape, same_type=True)
    batch.check()


@pytest.mark.long(3)
@pytest.mark.sample(type_=("i1", "bf16", "ui64"))
@pytest.mark.parametrize("type_", TYPES)
def test_concatenate_and_pad(type_: str) -> None:
    batch = Batch()
    for shapes, dim in (([(3,)], 0), ([(3,), (0,), (37,), (1,)], 0), ([(2, 5), (3, 5)], 0), ([(2, 5), (2, 1), (2, 0)], 1), ([(0, 3), (0, 4)], 1), ([(2, 3, 5), (2, 7, 5), (2, 1, 5)], 1)):  # fmt: skip
        result = list(shapes[0])
        result[dim] = sum(shape[dim] for shape in shapes)
        names = ", ".join(f"${i}" for i in range(len(shapes)))
        types = ", ".join(tensor(shape, type_) for shape in shapes)
        out = tensor(tuple(result), type_)
        arrays = [values(type_, *shape, seed=i) for i, shape in enumerate(shapes)]
        batch.add(f"hlo.concatenate {names}, dim = {dim} : ({types}) -> {out}", out, operands=arrays)
    for shape, low, high, interior in (
        ((5,), [0], [0], [0]),
        ((5,), [2], [3], [0]),
        ((5,), [-2], [-1], [0]),
        ((5,), [-3], [4], [2]),
        ((5,), [1], [-9], [3]),
        ((1,), [-1], [3], [5]),
        ((0,), [2], [3], [0]),
        ((0,), [2], [3], [7]),
        ((5,), [-5], [0], [0]),
        ((5, 7), [1, -2], [0, 3], [0, 1]),
        ((5, 7), [-1, -1], [-1, -1], [1, 2]),
        ((0, 3), [1, 0], [1, 0], [0, 0]),
        ((), [], [], []),
        ((2, 3, 5), [1, 0, 2], [0, 1, 0], [2, 0, 1]),
        ((6, 5, 3), [1, 2, 2], [0, 1, 3], [0, 0, 0]),
        ((600, 5, 3), [1, 2, 2], [0, 1, 3], [0, 0, 0]),
        ((600, 5, 3), [0, 2, 0], [1, 1, 0], [1, 2, 0]),
        ((6, 5, 3), [0, 2, 0], [1, 1, 0], [1, 2, 0]),
        ((40, 9, 2), [0, 0, 0], [0, 1, 0], [0, 1, 0]),
        ((1, 7), [0, 0], [0, 0], [3, 0]),
    ):
        sizes = [n + lo + hi + max(n - 1, 0) * inside for n, lo, hi, inside in zip(shape, low, high, interior, strict=True)]  # fmt: skip
        out = tensor(tuple(sizes), type_)
        types = f"({tensor(shape, type_)}, tensor<{type_}>)"
        op = f"hlo.pad $0, $1, low = {low}, high = {high}, interior = {interior} : {types} -> {out}"
        batch.add(op, out, operands=[values(type_, *shape), values(type_, 1, seed=1).reshape(())])
    batch.check()


@pytest.mark.long(5)
@pytest.mark.sample(type_=TYPICAL)
@pytest.mark.parametrize("type_", TYPES[1:])
def test_iota(type_: str) -> None:
    """Also beyond the type's largest integer: i8 wraps, f16 and bf16 round."""
    batch = Batch()
    for shape, dim in (((1,), 0), ((0,), 0), ((5, 7), 0), ((5, 7), 1), ((3, 1, 300), 2), ((300, 2), 0)):
        batch.add(f"hlo.iota dim = {dim} : {tensor(shape, type_)}", tensor(shape, type_))
    if type_ != "i8" and type_ != "ui8":
        batch.add(f"hlo.iota dim = 0 : tensor<3001x{type_}>", f"tensor<3001x{type_}>")
    batch.check()


# Reductions ------------------------------------------------------------------------------------------------------

REDUCTIONS = [
    ((7,), [0]),
    ((1,), [0]),
    ((0,), [0]),
    ((), []),
    ((5, 37), []),
    ((5, 37), [0]),
    ((5, 37), [1]),
    ((5, 37), [0, 1]),
    ((0, 37), [0]),
    ((0, 37), [1]),
    ((37, 0), [1]),
    ((1, 37), [0]),
    ((37, 1), [1]),
    ((3, 17, 35), [1]),
    ((3, 17, 35), [0, 2]),
    ((3, 17, 35), [2]),
    ((2, 131), [1]),
    ((131, 2), [0]),
]


@pytest.mark.long
@pytest.mark.sample(type_=("i8", "bf16", "f32"))
@pytest.mark.parametrize("type_", TYPES)
def test_reduce(type_: str) -> None:
    """Every combiner; values whose sums and products are exact in any order."""
    combiners = ["add", "multiply", "maximum", "minimum"]
    if type_ not in FLOATS:
        combiners += ["and", "or", "xor"]
    for combiner in combiners:
        batch = Batch()
        for i, (shape, dims) in enumerate(REDUCTIONS):
            x = small(type_, *shape, seed=i) if combiner in ("add", "multiply") else values(type_, *shape, seed=i)
            if combiner == "multiply" and type_ in FLOATS:
                x = np.where(np.random.default_rng(i).random(shape) < 0.5, 1, -1).astype(x.dtype)
            result = tensor(tuple(n for dim, n in enumerate(shape) if dim not in dims), type_)
            op = f"hlo.reduce($0 init: $1) applies hlo.{combiner} across dimensions = {dims}"
            init = small(type_, seed=3) if i % 2 else np.array(1, DTYPES[type_])
            batch.add(f"{op} : ({tensor(shape, type_)}, tensor<{type_}>) -> {result}", result, operands=[x, init])
        batch.check()


@pytest.mark.long(3)
@pytest.mark.sample(type_=("i8", "bf16", "f32"))
@pytest.mark.parametrize("type_", INTEGERS + FLOATS)
def test_reduce_with_regions(type_: str) -> None:
    """Several operations in the region, constants among them; two inputs of different types at once."""
    s = f"tensor<{type_}>"
    largest_even = f""" {{
      %two = hlo.constant dense<2> : {s}
      %d = hlo.divide %b, %two : {s}
      %c = hlo.compare GE, %a, %b : ({s}, {s}) -> tensor<i1>
      %m = hlo.select %c, %a, %b : tensor<i1>, {s}
      hlo.return %m : {s}
    }}""".replace("dense<2>", "dense<2.0>" if type_ in FLOATS else "dense<2>")
    shifted = f""" {{
      %one = hlo.constant dense<1> : {s}
      %p = hlo.multiply %b, %one : {s}
      %t = hlo.add %a, %p : {s}
      hlo.return %t : {s}
    }}""".replace("dense<1>", "dense<1.0>" if type_ in FLOATS else "dense<1>")
    arg_max = f""" {{
      %c = hlo.compare GT, %a, %b : ({s}, {s}) -> tensor<i1>
      %e = hlo.compare EQ, %a, %b : ({s}, {s}) -> tensor<i1>
      %l = hlo.compare LT, %i, %j : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %k = hlo.and %e, %l : tensor<i1>
      %p = hlo.or %c, %k : tensor<i1>
      %v = hlo.select %p, %a, %b : tensor<i1>, {s}
      %n = hlo.select %p, %i, %j : tensor<i1>, tensor<i32>
      hlo.return %v, %n : {s}, tensor<i32>
    }}"""
    batch = Batch()
    for i, (shape, dims) in enumerate(REDUCTIONS):
        kept = tuple(n for dim, n in enumerate(shape) if dim not in dims)
        x, t, result = small(type_, *shape, seed=i), tensor(shape, type_), tensor(kept, type_)
        init = np.array(0, x.dtype)
        for region in (largest_even, shifted):
            op = f"hlo.reduce($0 init: $1) across dimensions = {dims} : ({t}, {s}) -> {result}"
            batch.add(f"{op}\n    reducer(%a: {s}, %b: {s}){region}", result, operands=[x, init])
        indices = np.arange(x.size, dtype=np.int32).reshape(shape)
        least = np.array(0 if type_.startswith("u") else -7, x.dtype)
        types = f"({t}, {tensor(shape, 'i32')}, {s}, tensor<i32>) -> ({result}, {tensor(kept, 'i32')})"
        op = f"hlo.reduce($0 init: $2), ($1 init: $3) across dimensions = {dims} : {types}"
        arguments = f"reducer(%a: {s}, %b: {s}) (%i: tensor<i32>, %j: tensor<i32>)"
        batch.add(f"{op}\n    {arguments}{arg_max}", result, tensor(kept, "i32"), operands=[x, indices, least, np.array(9999, np.int32)])  # fmt: skip
    batch.check()


PROMOTIONS = [
    ("bf16", "f32"),
    ("f16", "f64"),
    ("f32", "f64"),
    ("f16", "bf16"),
    ("i8", "i32"),
    ("ui8", "ui32"),
    ("i8", "ui16"),
    ("ui8", "i64"),
]


@pytest.mark.long(3)
@pytest.mark.sample(3)
@pytest.mark.parametrize(("source", "total"), PROMOTIONS)
def test_reduce_into_another_type(source: str, total: str) -> None:
    """Accumulators of a wider type: the sums exceed the range of the element type."""
    batch = Batch()
    s = f"tensor<{total}>"
    for i, (shape, dims) in enumerate(REDUCTIONS):
        result = tensor(tuple(n for dim, n in enumerate(shape) if dim not in dims), total)
        x = values(source, *shape, seed=i) if source in INTEGERS else small(source, *shape, seed=i)
        types = f"({tensor(shape, source)}, tensor<{source}>) -> {result}"
        operands = [x, np.array(3, DTYPES[source])]
        for combiner in ("add", "maximum"):
            op = f"hlo.reduce($0 init: $1) applies hlo.{combiner} across dimensions = {dims} : {types}"
            batch.add(op, result, operands=operands)
        region = f"{{ %2 = hlo.negate %b : {s}\n %3 = hlo.subtract %a, %2 : {s}\n hlo.return %3 : {s} }}"
        op = f"hlo.reduce($0 init: $1) across dimensions = {dims} : {types} reducer(%a: {s}, %b: {s}) {region}"
        batch.add(op, result, operands=operands)
    batch.check()


# Dynamic ---------------------------------------------------------------------------------------------------------


@pytest.mark.long(3)
@pytest.mark.sample(index=TYPICAL)
@pytest.mark.parametrize("index", INTEGERS)
def test_dynamic_slices_clamp(index: str) -> None:
    """Starts before the beginning, past the end, and at the ends of the index type, signed and unsigned."""
    info = np.iinfo(DTYPES[index])
    starts = sorted({max(info.min, n) for n in (-1, -100, info.min)} | {0, 1, 3, 4, 5, 100, info.max})
    batch = Batch()
    t, i = "tensor<5x7xf32>", f"tensor<{index}>"
    for n, start in enumerate(starts):
        x = values("f32", 5, 7, seed=n)
        at = [np.array(start, DTYPES[index]), np.array(starts[(n * 3) % len(starts)], DTYPES[index])]
        for size in ((2, 3), (5, 7), (0, 1), (1, 0), (1, 1)):
            part = tensor(size, "f32")
            sizes = f"sizes = {list(size)}"
            batch.add(f"hlo.dynamic_slice $0, $1, $2, {sizes} : ({t}, {i}, {i}) -> {part}", part, operands=[x, *at])
            update = values("f32", *size, seed=n + 50)
            op = f"hlo.dynamic_update_slice $0, $1, $2, $3 : ({t}, {part}, {i}, {i}) -> {t}"
            batch.add(op, t, operands=[x, update, *at])
    batch.check()


@pytest.mark.sample(type_=TYPICAL)
@pytest.mark.parametrize("type_", TYPES)
def test_dynamic_slices_of_every_type(type_: str) -> None:
    batch = Batch()
    at = np.array(3, np.int32)
    for shape, size in (((7,), (3,)), ((1,), (1,)), ((0,), (0,)), ((), ())):
        names = "".join(f", ${k + 1}" for k in range(len(shape)))
        types = f"({tensor(shape, type_)}{', tensor<i32>' * len(shape)})"
        part = tensor(size, type_)
        x = values(type_, *shape)
        starts = [at] * len(shape)
        batch.add(f"hlo.dynamic_slice $0{names}, sizes = {list(size)} : {types} -> {part}", part, operands=[x, *starts])
        names = "".join(f", ${k + 2}" for k in range(len(shape)))
        types = f"({tensor(shape, type_)}, {part}{', tensor<i32>' * len(shape)}) -> {tensor(shape, type_)}"
        update = values(type_, *size, seed=9)
        batch.add(f"hlo.dynamic_update_slice $0, $1{names} : {types}", tensor(shape, type_), operands=[x, update, *starts])  # fmt: skip
    batch.check()


# Control flow ----------------------------------------------------------------------------------------------------


@pytest.mark.sample(index=TYPICAL)
@pytest.mark.parametrize("index", [-(2**31), -1, 0, 1, 2, 3, 2**31 - 1])
def test_case_takes_the_last_branch_by_default(index: int) -> None:
    branches = "\n}, {\n".join(
        f"%c{k} = hlo.constant dense<{k}.0> : tensor<3xf32>\n%s{k} = hlo.add %x, %c{k} : tensor<3xf32>\nhlo.return %s{k} : tensor<3xf32>"
        for k in range(3)
    )
    text = f"""func.func @main(%i: tensor<i32>, %x: tensor<3xf32>) -> tensor<3xf32> {{
      %0 = "hlo.case"(%i) ({{\n{branches}\n}}) : (tensor<i32>) -> tensor<3xf32>
      func.return %0 : tensor<3xf32>
    }}"""
    x = np.arange(3, dtype=np.float32)
    wanted = x + (index if 0 <= index < 3 else 2)
    for target in ("cpu", "reference"):
        same(run(text, [np.array(index, np.int32), x], target)[0], wanted)


@pytest.mark.parametrize("flag", [False, True])
def test_if_of_several_results(flag: bool) -> None:
    """Branches that compute nothing and return captured values, in either order."""
    text = """func.func @main(%p: tensor<i1>, %x: tensor<5xf32>, %y: tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>, tensor<0xi8>) {
      %0:3 = "hlo.if"(%p) ({
        %e = hlo.constant dense<> : tensor<0xi8>
        hlo.return %y, %x, %e : tensor<5xf32>, tensor<5xf32>, tensor<0xi8>
      }, {
        %e = hlo.constant dense<> : tensor<0xi8>
        %s = hlo.add %x, %y : tensor<5xf32>
        hlo.return %s, %s, %e : tensor<5xf32>, tensor<5xf32>, tensor<0xi8>
      }) : (tensor<i1>) -> (tensor<5xf32>, tensor<5xf32>, tensor<0xi8>)
      func.return %0#0, %0#1, %0#2 : tensor<5xf32>, tensor<5xf32>, tensor<0xi8>
    }"""
    x, y = np.arange(5, dtype=np.float32), -np.ones(5, np.float32)
    first, second = (y, x) if flag else (x + y, x + y)
    for target in ("cpu", "reference"):
        got = run(text, [np.array(flag), x, y], target)
        same(got[0], first)
        same(got[1], second)
        assert got[2].shape == (0,)


@pytest.mark.parametrize("count", [0, 1, 2, 9])
def test_while_exchanges_its_state(count: int) -> None:
    """Each state value is computed from the other: (a, b) <- (b, a + b); the condition reads a result."""
    text = """func.func @main(%n: tensor<i64>, %x: tensor<7xi64>, %y: tensor<7xi64>) -> (tensor<7xi64>, tensor<7xi64>, tensor<i64>) {
      %zero = hlo.constant dense<0> : tensor<i64>
      %one = hlo.constant dense<1> : tensor<i64>
      %0:3 = hlo.while(%i = %zero, %a = %x, %b = %y) : tensor<i64>, tensor<7xi64>, tensor<7xi64>
      cond {
        %c = hlo.compare LT, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
        hlo.return %c : tensor<i1>
      } do {
        %s = hlo.add %a, %b : tensor<7xi64>
        %k = hlo.add %i, %one : tensor<i64>
        hlo.return %k, %b, %s : tensor<i64>, tensor<7xi64>, tensor<7xi64>
      }
      func.return %0#1, %0#2, %0#0 : tensor<7xi64>, tensor<7xi64>, tensor<i64>
    }"""
    x, y = np.arange(7), np.arange(7, 14)
    a, b = x, y
    for _ in range(count):
        a, b = b, a + b
    for target in ("cpu", "reference"):
        got = run(text, [np.array(count), x, y], target)
        for one, wanted in zip(got, (a, b, count), strict=True):
            same(one, wanted)
