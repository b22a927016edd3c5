"""Programs of many operations at once, run on the CPU and by the reference; and values at the edges of each type."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

import xhlo
from hlo_programs import Program
from xhlo.targets.cpu import threads

DTYPES: dict[str, np.dtype[Any]] = {
    "i1": np.dtype(np.bool_),
    **{f"i{width}": np.dtype(f"int{width}") for width in (8, 16, 32, 64)},
    **{f"ui{width}": np.dtype(f"uint{width}") for width in (8, 16, 32, 64)},
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
}
SIGNED, UNSIGNED = ["i8", "i16", "i32", "i64"], ["ui8", "ui16", "ui32", "ui64"]
INTEGERS = SIGNED + UNSIGNED
FLOATS = ["bf16", "f16", "f32", "f64"]
TYPES = ["i1", *INTEGERS, *FLOATS]
TYPICAL = ("i1", "i8", "i32", "ui64", "bf16", "f32")
"""The types of `make test` where a test moves or combines elements of any type alike: each kind, at various widths."""
BITS = {"bf16": np.int16, "f16": np.int16, "f32": np.int32, "f64": np.int64}
TARGETS = ("cpu", "reference")


def type_of(array: np.ndarray) -> str:
    """The hlo type of an array."""
    element = next(name for name, dtype in DTYPES.items() if dtype == array.dtype)
    return f"tensor<{''.join(f'{dim}x' for dim in array.shape)}{element}>"


def run(text: str, inputs: Sequence[np.ndarray], target: str = "cpu") -> tuple[np.ndarray, ...]:
    """@main's results on one target."""
    if target == "reference":
        return Program(text).results(*inputs)
    results = xhlo.compile(text)(*inputs)
    return results if isinstance(results, tuple) else (results,)


def exact_product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """
    The product of two matrices as exactly as that of long doubles. Each factor is a sum of parts with so few bits that the products
    of parts are exact in float64, in whatever order they are added up: the BLAS is many times as fast as NumPy's
    product of long doubles.
    """
    bits = (53 - (x.shape[1] - 1).bit_length()) // 2
    parts = [_parts(x, 1, bits), _parts(y, 0, bits)]
    pairs = [(i, j) for i in range(len(parts[0])) for j in range(len(parts[1])) if i + j < 3]
    products = [parts[0][i] @ parts[1][j] for i, j in sorted(pairs, key=sum, reverse=True)]
    return np.sum([one.astype(np.longdouble) for one in products], axis=0)


def _parts(matrix: np.ndarray, axis: int, bits: int) -> list[np.ndarray]:
    """Up to three matrices, each of multiples of a power of 2 for each row or column, which add up to `matrix`."""
    # Where the numbers are those of doubles, so are all differences below.
    narrow = matrix.astype(np.float64)
    rest, parts = narrow if (narrow == matrix).all() else matrix.astype(np.longdouble), list[np.ndarray]()
    unit = np.exp2(np.frexp(np.abs(rest).max(axis, keepdims=True))[1] - bits)
    while len(parts) < 3 and rest.any():
        part = np.rint(rest / unit) * unit
        parts.append(part.astype(np.float64))
        rest = rest - part
        unit /= 2.0**bits
    return parts


def on_threads(text: str, *arguments: Any) -> list[Any]:
    """The results of a program, which are the same on one to three threads."""
    executable, before = xhlo.compile(text), threads.thread_count()
    found: list[Any] = []
    try:
        for count in (1, 2, 3):
            threads.set_thread_count(count)
            results: Any = executable(*arguments)
            found.append([np.asarray(x) for x in (results if isinstance(results, tuple | list) else (results,))])
    finally:
        threads.set_thread_count(before)
    for other in found[1:]:
        assert [x.tobytes() for x in other] == [x.tobytes() for x in found[0]]
    return found[0]


def apply(op: str, inputs: Sequence[np.ndarray], result: str, target: str = "cpu") -> np.ndarray:
    """The results of one operation, given as text on operands `%x0`, `%x1`, .., of result type `result`."""
    parameters = ", ".join(f"%x{i}: {type_of(array)}" for i, array in enumerate(inputs))
    text = f"func.func @main({parameters}) -> {result} {{\n  %0 = {op}\n  func.return %0 : {result}\n}}"
    return run(text, inputs, target)[0]


def ulps(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """The distance of two arrays' elements in ulps; NaN equals NaN, -0 and +0 are one apart."""
    name = next(name for name, dtype in DTYPES.items() if dtype == got.dtype)
    ordered: list[np.ndarray] = []
    for array in (got, want):
        bits = np.ascontiguousarray(array).view(BITS[name]).astype(object)
        bits = np.where(bits < 0, -1 - (bits & int(np.iinfo(BITS[name]).max)), bits)
        ordered.append(np.where(np.isnan(array), None, bits))
    same_nan = np.equal(ordered[0], None) & np.equal(ordered[1], None)
    one_nan = np.equal(ordered[0], None) ^ np.equal(ordered[1], None)
    numbers = [np.where(np.equal(bits, None), 0, bits) for bits in ordered]
    return np.where(same_nan, 0, np.where(one_nan, 2**70, np.abs(numbers[0] - numbers[1])))


def wrong(got: np.ndarray, want: np.ndarray, bound: int = 0) -> np.ndarray:
    """Where two arrays differ: integers in any bit; floats by more than `bound` ulps, in NaN or in the sign of zero."""
    assert got.dtype == want.dtype and got.shape == want.shape, (got.dtype, got.shape, want.dtype, want.shape)
    if got.dtype.kind in "iub":
        return np.asarray(got != want)
    bad = np.asarray(np.signbit(got) != np.signbit(want))
    bits = next(BITS[name] for name in FLOATS if DTYPES[name] == got.dtype)
    differs = np.asarray(got).view(bits) != np.asarray(want).view(bits)
    with np.errstate(invalid="ignore"):  # Signalling NaNs.
        differs &= ~(np.isnan(got) & np.isnan(want))
    bad &= differs
    if differs.any():
        bad[differs] |= ulps(got[differs], want[differs]) > bound
    return bad


def same(got: np.ndarray, want: Any, op: str = "") -> None:
    """Assert equality of a result of `op`, bit for bit except for the payloads of NaN."""
    expected = np.asarray(want, got.dtype)
    bad = wrong(got, expected)
    assert not bad.any(), f"got {got[bad][:8]}, want {expected[bad][:8]} {op}"


@dataclass
class Batch:
    """Operations compiled as one module that returns all their results."""

    inputs: dict[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])
    ops: list[tuple[str, tuple[str, ...], int]] = field(default_factory=list[tuple[str, tuple[str, ...], int]])

    def add(self, op: str, *results: str, operands: Sequence[np.ndarray] = (), bound: int = 0) -> None:
        """
        Add an operation as text, with its result types and its error bound in ulps.

        It names the batch's inputs (`hlo.add %x, %y : ..`), or its own operands as `$0`, `$1`, ..
        """
        for i, array in enumerate(operands):
            name = f"p{len(self.inputs)}"
            self.inputs[name] = array
            op = op.replace(f"${i}", f"%{name}")
        self.ops.append((op, results, bound))

    def text(self) -> str:
        parameters = ", ".join(f"%{name}: {type_of(array)}" for name, array in self.inputs.items())
        types = ", ".join(result for _, results, _ in self.ops for result in results)
        lines: list[str] = []
        names: list[str] = []
        for i, (op, results, _) in enumerate(self.ops):
            count = len(results)
            lines.append(f"  %r{i}{f':{count}' if count > 1 else ''} = {op}")
            names += [f"%r{i}#{k}" if count > 1 else f"%r{i}" for k in range(count)]
        body, returned = "\n".join(lines), ", ".join(names)
        return f"func.func @main({parameters}) -> ({types}) {{\n{body}\n  func.return {returned} : {types}\n}}"

    def mistakes(self) -> list[str]:
        """The differences of the CPU and the reference: the operation, and operands and results of a few elements."""
        text, arrays = self.text(), list(self.inputs.values())
        messages: list[str] = []
        owners = [(op, bound) for op, results, bound in self.ops for _ in results]
        for (op, bound), got, want in zip(owners, run(text, arrays), run(text, arrays, "reference"), strict=True):
            bad = wrong(got, want, bound)
            if not bad.any():
                continue
            operands = [f"%{k}={v[bad][:5]}" for k, v in self.inputs.items() if v.shape == got.shape and f"%{k}" in op]
            messages.append(
                f"{op}: {bad.sum()} of {bad.size} wrong: got {got[bad][:5]}, want {want[bad][:5]} {' '.join(operands)}"
            )
        return messages

    def check(self) -> None:
        mistakes = self.mistakes()
        assert not mistakes, "\n".join(mistakes)


@dataclass(frozen=True)
class Case:
    """One operation as text on its operands, `$0`, `$1`, .., and the type of its result."""

    op: str
    operands: Sequence[np.ndarray]
    result: str


@contextmanager
def as_one_program(target: str) -> Iterator[Callable[[Case, Any], None]]:
    """
    Collect cases and the results that they must have, `gives(case, [1, 2])`, and at the end check all of them in one
    program: most of the time of compiling a small program is the same for one operation as for ten.
    """
    batch, expected = Batch(), list[Any]()

    def gives(case: Case, wanted: Any) -> None:
        batch.add(case.op, case.result, operands=case.operands)
        expected.append(wanted)

    yield gives
    results = run(batch.text(), list(batch.inputs.values()), target)
    for (op, *_), got, wanted in zip(batch.ops, results, expected, strict=True):
        same(got, wanted, op)


def edges(type_: str) -> np.ndarray:
    """The values of a type at which operations change their behaviour."""
    dtype = DTYPES[type_]
    if type_ == "i1":
        return np.array([False, True])
    if type_ in INTEGERS:
        info, width = np.iinfo(dtype), dtype.itemsize * 8
        numbers = [
            0,
            1,
            2,
            3,
            7,
            width - 1,
            width,
            width + 1,
            info.max,
            info.max - 1,
            info.max // 2,
            info.min,
            info.min + 1,
        ]
        if type_ in SIGNED:
            numbers += [-1, -2, -3, -7, -width, info.min // 2]
        return np.array([number for number in numbers if info.min <= number <= info.max], dtype)
    info = ml_dtypes.finfo(dtype)
    tiny, least, largest = float(info.smallest_normal), float(info.smallest_subnormal), float(info.max)
    half_tiny = tiny / 2 + least
    numbers = [
        0.0,
        0.5,
        1.0,
        1.5,
        2.0,
        2.5,
        3.0,
        7.0,
        0.1,
        100.0,
        least,
        3 * least,
        half_tiny,
        tiny,
        largest,
        largest / 2,
    ]
    numbers += [
        np.inf,
        1.0 + float(info.eps),
        1.0 - float(info.epsneg),
        0.5 - float(info.epsneg) / 2,
        1 / float(info.eps),
    ]
    numbers += [2 / float(info.eps) - 1, 0.5 / float(info.eps) + 0.5]
    return np.array([*numbers, *(-number for number in numbers), np.nan]).astype(dtype)


def random_values(type_: str, count: int, seed: int = 0) -> np.ndarray:
    """Random integers over the whole range; floats of every exponent, and as many near 1."""
    rng = np.random.default_rng(seed)
    dtype = DTYPES[type_]
    raw = rng.integers(0, 256, count * dtype.itemsize, np.uint8)
    if type_ == "i1":
        return (raw & 1).astype(np.bool_)
    values = raw.view(dtype)
    if type_ in FLOATS:
        near = rng.normal(0, 4, count).astype(dtype)
        values = np.where(rng.random(count) < 0.5, values, near)
    return values


def values(type_: str, *shape: int, seed: int = 0) -> np.ndarray:
    """Arbitrary values of the type."""
    return random_values(type_, int(np.prod(shape)), seed).reshape(shape)


def small(type_: str, *shape: int, seed: int = 0) -> np.ndarray:
    """Small integers of the type, whose sums and products are exact."""
    low = -3 if type_ in SIGNED or type_ in FLOATS else 0
    numbers = np.random.default_rng(seed).integers(low, 2 if type_ == "i1" else 4, shape)
    return numbers.astype(DTYPES[type_])


def tensor(shape: tuple[int, ...], type_: str) -> str:
    return f"tensor<{''.join(f'{dim}x' for dim in shape)}{type_}>"


def all_pairs(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.repeat(x, y.size), np.tile(y, x.size)
