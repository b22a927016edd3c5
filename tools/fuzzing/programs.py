"""
Random valid programs: text in StableHLO's generic form, inputs, and error bounds of the results.

A program is generated from one `random.Random`, so that a seed identifies it, and hypothesis can shrink it. Integers,
booleans and floats computed by correctly rounded operations alone are `exact`; other floats carry bounds on their
magnitude and error, and are not used by operations that would amplify the error (comparisons, conversions to integers).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...hlo_dialect.types import Array
from .arrays import (
    COMPLEX,
    DTYPES,
    EPSILON,
    EXACT,
    FLOATS,
    INTEGERS,
    LARGEST,
    NARROW_FLOATS,
    SIGNED,
    UNSIGNED,
    Claim,
    Shape,
    claim_of,
    dense_text,
    float_info,
    integer_limits,
    random_array,
)


@dataclass(frozen=True)
class Value:
    """An SSA value: `name` with its sign and result number, element type, shape."""

    name: str
    dtype: str
    shape: Shape
    claim: Claim = EXACT

    @property
    def type(self) -> str:
        return tensor_text(self.dtype, self.shape)

    @property
    def is_float(self) -> bool:
        return self.dtype in FLOATS

    @property
    def is_complex(self) -> bool:
        return self.dtype in COMPLEX

    @property
    def exact(self) -> bool:
        return self.claim.exact

    @property
    def size(self) -> int:
        return math.prod(self.shape)


def tensor_text(dtype: str, shape: Shape) -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}{dtype}>"


def ints_text(values: Any) -> str:
    items = ", ".join(map(str, values))
    return f"array<i64: {items}>" if items else "array<i64>"


@dataclass(frozen=True)
class Profile:
    """The kind of programs to generate."""

    operations: tuple[int, int] = (3, 40)
    sizes: tuple[int, ...] = (1, 2, 3, 4, 5, 7, 8, 13, 17)
    empty: float = 0.02
    """Probability of a dimension of size 0."""
    volume: int = 3000
    """The largest number of elements of a tensor."""
    ranks: tuple[int, ...] = (0, 1, 1, 2, 2, 2, 3, 3, 4, 5)
    dtypes: tuple[str, ...] = ("f32", "f32", "f32", "i32", "i32", "i1", *FLOATS[:4], *SIGNED[:4], *UNSIGNED[:4])
    depth: int = 2
    """The maximum nesting depth of control flow."""
    shapes: tuple[Shape, ...] = ()
    """Shapes that are chosen half of the time, if there are any."""
    favoured: tuple[str, ...] = ()
    """Writers of operations.py that are each chosen more often than all others together."""
    portable: bool = False
    """
    Whether to generate only operations that every implementation computes alike. XLA:CPU flushes denormals, uses a
    reduction's initial value any number of times (which the specification allows), loses NaN in minima, and crashes on
    the smallest integer divided by -1.
    """


SMALL = Profile()
SHARED = Profile(
    operations=(15, 60),
    sizes=(1, 2, 7, 16),
    empty=0.0,
    ranks=(0, 1, 2, 2, 3),
    dtypes=("f32", "f32", "i32", "f64", "i1"),
    depth=1,
    shapes=((7, 16), (7, 16), (7, 16), (7,), (16,), (2, 7, 16), (7, 1), (16, 7), ()),
)
"""Few shapes and types, so that most values fit each other and have several uses."""
LARGE = Profile(
    operations=(3, 10),
    sizes=(1, 3, 16, 31, 64, 130, 257),
    volume=90_000,
    empty=0.0,
    ranks=(1, 2, 2, 3, 4),
    dtypes=("f32", "f32", "f32", "f64", "i32", "i8", "bf16", "f16", "i1", "ui16"),
    depth=1,
    shapes=((300, 257), (70_000,), (64, 65, 16), (257,), (300,), (1024, 64), (2, 35_000), (35_001, 2), (128, 128)),
)


DOTS = replace(
    LARGE,
    operations=(2, 6),
    dtypes=("f32", "f32", "f64", "bf16", "f16", "i32", "i8", "i1"),
    sizes=(1, 2, 5, 8, 16, 17, 31, 33, 64, 100, 129),
    shapes=((128, 128), (129, 65), (4, 33, 64), (2, 3, 17, 40), (300,), (1, 300), (7, 1), (64, 257)),
    favoured=("write_dot_general",),
)
MOVES = replace(
    LARGE,
    operations=(2, 9),
    sizes=(1, 2, 3, 4, 5, 8, 12, 17, 40, 64, 100),
    volume=20_000,
    dtypes=("f32", "f32", "f32", "f64", "i32", "i8", "bf16", "i1"),
    shapes=((100, 2, 4), (40, 3), (64, 5), (17, 100), (2, 40, 64), (300,)),
    favoured=("write_concatenate", "write_pad", "write_slice", "write_dynamic_slice", "write_broadcast"),
)
"""Parts of arrays that are written to their place in others: rows of few elements among them, and long ones."""
REDUCTIONS = replace(LARGE, operations=(2, 6), favoured=("write_reduce",))
LOOPS = replace(
    SMALL,
    operations=(3, 14),
    sizes=(1, 2, 3, 5, 8, 13, 17),
    dtypes=("f32", "f32", "f32", "f64", "i32", "i32", "i1", "bf16"),
    favoured=("write_while", "write_recurrence", "write_dot_general", "write_reduce"),
)
"""Loops, with products and reductions in them and around them."""


TYPES = replace(SMALL, dtypes=("f32", "i32", "i1", *NARROW_FLOATS, *SIGNED[4:], *UNSIGNED[4:], *COMPLEX, *COMPLEX))
"""The types that other profiles omit."""


SHARDED = Profile(
    operations=(5, 30),
    sizes=(1, 2, 4, 6, 8, 12),
    empty=0.0,
    ranks=(0, 1, 2, 2, 3, 3),
    shapes=((8, 12), (12, 8), (8, 4, 6), (12,), (8,), ()),
)
"""Sizes that are divisible among devices."""

PROFILES = {
    "small": SMALL,
    "shared": SHARED,
    "large": LARGE,
    "dots": DOTS,
    "moves": MOVES,
    "reductions": REDUCTIONS,
    "loops": LOOPS,
    "types": TYPES,
    "sharded": SHARDED,
}


@dataclass
class Program:
    """A program and its inputs."""

    text: str
    inputs: list[Array]
    results: list[Value]
    """The types and claims of the results."""


@dataclass
class Builder:
    """Writes a program; `scope` holds the values that are visible at the insertion point."""

    random: random.Random
    profile: Profile
    write_operations: Callable[[Builder, int], None]
    """Writes about that many random operations at the insertion point; see operations.py."""
    lines: list[str] = field(default_factory=list[str])
    arguments: list[Value] = field(default_factory=list[Value])
    inputs: list[Array] = field(default_factory=list[Array])
    scope: list[Value] = field(default_factory=list[Value])
    depth: int = 0
    budget: int = 0
    counter: int = 0
    read: set[str] = field(default_factory=set[str])
    """The names of values with uses."""

    # Choosing --------------------------------------------------------------------------------------------------

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def shape(self, rank: int | None = None) -> Shape:
        """A random shape within the profile's volume."""
        profile, choose = self.profile, self.random.choice
        if rank is None and profile.shapes and self.chance(0.6):
            return choose(profile.shapes)
        rank = choose(profile.ranks) if rank is None else rank
        sizes: list[int] = []
        for _ in range(rank):
            room = profile.volume // max(1, math.prod(sizes))
            fitting = [size for size in profile.sizes if size <= room] or [1]
            sizes.append(0 if self.chance(profile.empty) else choose(fitting))
        return tuple(sizes)

    def pick(self, wanted: Callable[[Value], bool]) -> Value | None:
        """A value in scope; newer ones are more likely."""
        found = [value for value in self.scope if wanted(value)]
        if not found:
            return None
        return found[max(self.random.randrange(len(found)), self.random.randrange(len(found)))]

    def like(self, dtype: str, shape: Shape, wanted: Callable[[Claim], bool] = lambda claim: claim.exact) -> Value:
        """A value of the type, from the scope or new."""
        found = self.pick(lambda v: v.dtype == dtype and v.shape == shape and wanted(v.claim))
        if found is not None and self.chance(0.85):
            return found
        made = self._made_like(dtype, shape)
        return made if made is not None and wanted(made.claim) else self.leaf(dtype, shape, wanted)

    def _made_like(self, dtype: str, shape: Shape) -> Value | None:
        """A value of the type by a broadcast of a smaller value, a conversion, or a reshape; None if nothing fits."""
        way = self.random.randrange(3)
        if way == 0:
            smaller = self.pick(
                lambda v: v.dtype == dtype and embedding(v.shape, shape) is not None and v.shape != shape
            )
            if smaller is not None:
                dims = embedding(smaller.shape, shape)
                return self.emit(
                    "broadcast_in_dim",
                    [smaller],
                    dtype,
                    shape,
                    smaller.claim,
                    broadcast_dimensions=ints_text(dims or ()),
                )
        elif way == 1:
            other = self.pick(lambda v: v.shape == shape and v.dtype != dtype and v.exact and not v.is_complex)
            return None if other is None or dtype in COMPLEX else self.convert(other, dtype)
        else:
            other = self.pick(lambda v: v.dtype == dtype and v.shape != shape and v.size == math.prod(shape))
            return None if other is None else self.emit("reshape", [other], dtype, shape, other.claim)
        return None

    def leaf(self, dtype: str, shape: Shape, wanted: Callable[[Claim], bool] = lambda claim: True) -> Value:
        """A new argument or constant."""
        for _ in range(20):
            kind = self.random.choice(
                ("whole", "whole", "moderate", "special") if dtype in FLOATS else ("whole", "special")
            )
            splat = self.chance(0.3)
            array = random_array(self.random, dtype, () if splat else shape, kind, not self.profile.portable)
            if splat and self.chance(0.5):
                array = np.asarray(self.random.choice((0, 1)), DTYPES[dtype])
            claim = claim_of(array, dtype)
            if wanted(claim):
                break
        else:
            splat, array = True, np.asarray(1, DTYPES[dtype])
            claim = claim_of(array, dtype)
        if splat or (array.size <= 40 and self.chance(0.5)):
            return self.constant(array, dtype, shape, claim)
        return self.argument(array, dtype, claim)

    def constant(self, array: Array, dtype: str, shape: Shape, claim: Claim | None = None) -> Value:
        claim = claim_of(array, dtype) if claim is None else claim
        literal = "" if math.prod(shape) == 0 else dense_text(array, dtype, self.chance(0.5))
        return self.emit("constant", [], dtype, shape, claim, value=f"dense<{literal}> : {tensor_text(dtype, shape)}")

    def scalar(self, number: Any, dtype: str) -> Value:
        return self.constant(np.asarray(number, DTYPES[dtype]), dtype, ())

    def splat(self, number: Any, dtype: str, shape: Shape) -> Value:
        return self.constant(np.asarray(number, DTYPES[dtype]), dtype, shape)

    def initial(self, dtype: str, name: str, wanted: Callable[[Claim], bool]) -> Value:
        """The initial value of a reduction by the operation `name`: any value, or its neutral element."""
        if not self.profile.portable:
            return self.like(dtype, (), wanted)
        low, high = (-math.inf, math.inf) if dtype in FLOATS else (0, 1)
        if dtype in INTEGERS:
            low, high = integer_limits(dtype)
        ones = -1 if dtype in SIGNED else high
        start = {"add": 0, "or": 0, "xor": 0, "multiply": 1, "and": ones, "maximum": low, "minimum": high}[name]
        return self.scalar(start, dtype)

    def argument(self, array: Array, dtype: str, claim: Claim) -> Value:
        value = Value(f"%arg{len(self.arguments)}", dtype, array.shape, claim)
        self.arguments.append(value)
        self.inputs.append(array)
        self.scope.append(value)
        return value

    # Writing ---------------------------------------------------------------------------------------------------

    def name(self) -> str:
        self.counter += 1
        return f"%v{self.counter}"

    def emit(
        self, op: str, operands: list[Value], dtype: str, shape: Shape, claim: Claim = EXACT, **properties: str
    ) -> Value:
        """Write an operation of one result, which is added to the scope."""
        result = Value(self.name(), dtype, shape, claim)
        self.line(result.name, op, operands, [result.type], [], properties)
        self.scope.append(result)
        return result

    def emit_with_regions(
        self, op: str, operands: list[Value], results: list[Value], regions: list[str], **properties: str
    ) -> list[Value]:
        """Write an operation with any number of results, whose names it makes, and with regions."""
        name = self.name()
        group = name if len(results) == 1 else f"{name}:{len(results)}"
        named = [replace(r, name=name if len(results) == 1 else f"{name}#{i}") for i, r in enumerate(results)]
        self.line(group if results else "", op, operands, [r.type for r in results], regions, properties)
        self.scope.extend(named)
        return named

    def line(
        self,
        group: str,
        op: str,
        operands: list[Value],
        types: list[str],
        regions: list[str],
        properties: dict[str, str],
    ) -> None:
        self.read.update(value.name for value in operands)
        head = f"{group} = " if group else ""
        names = ", ".join(value.name for value in operands)
        stated = ", ".join(f"{key} = {text}" for key, text in properties.items())
        middle = (f" <{{{stated}}}>" if stated else "") + (f" ({', '.join(regions)})" if regions else "")
        inputs = ", ".join(value.type for value in operands)
        self.lines.append(f'{head}"stablehlo.{op}"({names}){middle} : ({inputs}) -> ({", ".join(types)})')

    def region(self, arguments: list[Value], write: Callable[[], list[Value]]) -> tuple[str, list[Value]]:
        """
        The text of a region with the operations that `write` writes and the values that it returns; and those values.
        """
        lines, scope = self.lines, self.scope
        self.lines, self.scope = [], [*scope, *arguments]
        self.depth += 1
        results = write()
        self.depth -= 1
        types = ", ".join(value.type for value in results)
        self.lines.append(f'"stablehlo.return"({", ".join(value.name for value in results)}) : ({types}) -> ()')
        header = f"^bb0({', '.join(f'{a.name}: {a.type}' for a in arguments)}):" if arguments else "^bb0:"
        text = "{\n" + "\n".join([header, *self.lines]) + "\n}"
        self.lines, self.scope = lines, [*scope, *(a for a in self.arguments if a not in scope)]
        return text, results

    def convert(self, value: Value, dtype: str) -> Value:
        """Convert `value` to another element type; it must be exact unless that is a float."""
        claim = value.claim
        if dtype not in FLOATS:
            claim = EXACT
        elif not value.is_float:
            bound = 1.0 if value.dtype == "i1" else float(integer_limits(value.dtype)[1]) + 1
            claim = Claim(bound if bound <= LARGEST[dtype] else math.inf, whole=bound * EPSILON[dtype] <= 1)
        else:
            narrow = EPSILON[dtype] > EPSILON[value.dtype] and not (claim.whole and claim.bound * EPSILON[dtype] <= 1)
            bound = claim.bound if claim.bound <= LARGEST[dtype] else math.inf
            error = claim.error + EPSILON[dtype] * claim.bound if claim.error and narrow else claim.error
            claim = replace(claim, bound=bound, error=error, whole=claim.whole and math.isfinite(bound))
            claim = replace(claim, relative=claim.relative + EPSILON[dtype] if claim.relative else 0.0)
        return self.emit("convert", [value], dtype, value.shape, claim)


def embedding(small: Shape, large: Shape) -> tuple[int, ...] | None:
    """Dimensions of `large`, in order, to which the dimensions of `small` (equal or 1) can be broadcast."""
    dims: list[int] = []
    place = 0
    for size in small:
        while place < len(large) and large[place] != size:
            place += 1
        if place == len(large):
            return None
        dims.append(place)
        place += 1
    return tuple(dims)


def wrong_elements(got: Array, want: Array, result: Value, slack: float = 1.0, signed_zeros: bool = True) -> str | None:
    """The difference of `got` from `want` beyond the result's claim; None if there is none."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{result.name}: got {got.dtype}{got.shape}, expected {want.dtype}{want.shape}"
    if result.is_complex:
        wrong = (got != want) & ~(np.isnan(got) & np.isnan(want))
    elif not result.is_float:
        wrong = got != want
    else:
        with np.errstate(all="ignore"):
            wide_got, wide_want = got.astype(np.float64), want.astype(np.float64)
            same = wide_got == wide_want
            if signed_zeros:
                same &= np.signbit(wide_got) == np.signbit(wide_want)
            same |= np.isnan(wide_got) & np.isnan(wide_want)
            if not result.exact:
                allowed = slack * (result.claim.error + result.claim.relative * np.abs(wide_want))
                allowed = allowed + 2 * float(float_info(DTYPES[result.dtype]).smallest_subnormal)
                same |= np.abs(wide_got - wide_want) <= allowed
        wrong = ~same
    if not wrong.any():
        return None
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    return (
        f"{result.name}: {result.type} {int(wrong.sum())} of {wrong.size} wrong, at {place} got {got[place]!r}, "
        f"expected {want[place]!r} ({result.claim})"
    )
