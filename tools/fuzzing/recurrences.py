"""Writers of random recurrences: loops over the steps of an input, with products, sums and results of every step."""

from __future__ import annotations

from .arrays import EXACT, FLOATS, Claim, Shape, random_array
from .programs import Builder, Value, ints_text

LIMIT = 3
"""The magnitude to which a state is clamped: sums of products of such whole numbers are exact in any order."""


def write_recurrence(b: Builder) -> None:
    """
    Write `h = clamp(x[i] w + h u)` for every step i, up or down, with some of: a result for every step, the sum of the
    products of inputs and states (as of the gradient of a weight), and the sum of all states.
    """
    steps, rows, size, width = (b.random.choice(sizes) for sizes in ((1, 2, 4, 6), (1, 1, 3, 4), (2, 3, 8), (3, 4, 16)))
    _Recurrence(b, b.random.choice(("f32", "f32", "f64", "i32")), steps, rows, size, width).write()


class _Recurrence:
    """One loop: `steps` times a product of `rows` x `size` and `size` x `width`, and one of the state."""

    def __init__(self, b: Builder, dtype: str, steps: int, rows: int, size: int, width: int):
        self.b, self.dtype, self.steps, self.rows, self.size, self.width = b, dtype, steps, rows, size, width
        self.inputs = self._whole((steps, rows, size))
        self.weight = self._whole((size, width))
        self.square = self._whole((width, width)) if b.chance(0.7) else None
        self.down = b.chance(0.3)
        self.index = b.random.choice(("i32", "i64"))

    def write(self) -> None:
        b, most = self.b, LIMIT * 4 * self.steps * self.rows
        state = [(b.scalar(self.steps - 1 if self.down else 0, self.index), EXACT)]
        state.append((self._splat((self.rows, self.width)), self._claim(LIMIT)))
        wanted = [name for name in ("every", "gradient", "total") if b.chance(0.6)]
        shapes: dict[str, Shape] = {
            "every": (self.steps, self.rows, self.width), "gradient": (self.size, self.width), "total": (self.rows,),
        }  # fmt: skip
        bounds = {"every": LIMIT, "gradient": most, "total": LIMIT * self.steps * self.width}
        state += [(self._splat(shapes[name]), self._claim(bounds[name])) for name in wanted]

        def arguments() -> list[Value]:
            return [Value(b.name(), value.dtype, value.shape, claim) for value, claim in state]

        tested, inside = arguments(), arguments()
        last, direction = (0, "GE") if self.down else (self.steps, "LT")
        condition, _ = b.region(
            tested,
            lambda: [
                b.emit(
                    "compare", [tested[0], b.scalar(last, self.index)], "i1", (),
                    comparison_direction=f"#stablehlo<comparison_direction {direction}>",
                )
            ],
        )  # fmt: skip
        body, _ = b.region(inside, lambda: self._step(inside, wanted))
        results = [Value("", value.dtype, value.shape, claim) for value, claim in state]
        b.emit_with_regions("while", [value for value, _ in state], results, [condition, body])

    def _step(self, state: list[Value], wanted: list[str]) -> list[Value]:
        b, (at, h) = self.b, state[:2]
        zero = b.scalar(0, self.index)
        part = self._emit(
            "dynamic_slice", [self.inputs, at, zero, zero], (1, self.rows, self.size), 4,
            slice_sizes=ints_text((1, self.rows, self.size)),
        )  # fmt: skip
        x = self._emit("reshape", [part], (self.rows, self.size), 4)
        bound = 16 * self.size
        z = self._product(x, self.weight, 1, 0, (self.rows, self.width), bound)
        if self.square is not None:
            bound += LIMIT * 4 * self.width
            recurring = self._product(h, self.square, 1, 0, (self.rows, self.width), bound)
            z = self._emit("add", [z, recurring], z.shape, bound)
        if b.chance(0.3):
            b.write_operations(b, b.random.randint(1, 3))
        limits = [b.scalar(sign * LIMIT, self.dtype) for sign in (-1, 1)]
        new = self._emit("clamp", [limits[0], z, limits[1]], z.shape, LIMIT)
        step = b.emit("add", [at, b.scalar(-1 if self.down else 1, self.index)], self.index, ())
        after = {name: self._next(name, old, at, zero, x, new) for name, old in zip(wanted, state[2:], strict=True)}
        return [step, new, *after.values()]

    def _next(self, name: str, old: Value, at: Value, zero: Value, x: Value, new: Value) -> Value:
        """The next value of what the loop collects, old, at a step of input x and state new."""
        bound = int(old.claim.bound) if self.dtype in FLOATS else 0
        if name == "every":
            update = self._emit("reshape", [new], (1, *new.shape), LIMIT)
            return self._emit("dynamic_update_slice", [old, update, at, zero, zero], old.shape, LIMIT)
        if name == "gradient":
            product = self._product(x, new, 0, 0, old.shape, LIMIT * 4 * self.rows)
            return self._emit("add", [old, product], old.shape, bound)
        left, right = Value(self.b.name(), self.dtype, ()), Value(self.b.name(), self.dtype, ())
        region, _ = self.b.region([left, right], lambda: [self._emit("add", [left, right], (), bound)])
        result = Value("", self.dtype, (self.rows,), self._claim(LIMIT * self.width))
        start = self.b.scalar(0, self.dtype)
        (total,) = self.b.emit_with_regions("reduce", [new, start], [result], [region], dimensions=ints_text([1]))
        return self._emit("add", [old, total], old.shape, bound)

    # Values -----------------------------------------------------------------------------------------------------

    def _claim(self, bound: int) -> Claim:
        return Claim(bound, whole=True) if self.dtype in FLOATS else EXACT

    def _whole(self, shape: Shape) -> Value:
        array = random_array(self.b.random, self.dtype, shape, "whole").clip(-4, 4)
        return self.b.argument(array, self.dtype, self._claim(4))

    def _splat(self, shape: Shape) -> Value:
        return self.b.splat(0, self.dtype, shape)

    def _emit(self, op: str, operands: list[Value], shape: Shape, bound: int, **properties: str) -> Value:
        return self.b.emit(op, operands, self.dtype, shape, self._claim(bound), **properties)

    def _product(self, x: Value, y: Value, left: int, right: int, shape: Shape, bound: int) -> Value:
        """The sum over dimension `left` of x and `right` of y."""
        numbers = f"lhs_contracting_dimensions = [{left}], rhs_contracting_dimensions = [{right}]"
        return self._emit("dot_general", [x, y], shape, bound, dot_dimension_numbers=f"#stablehlo.dot<{numbers}>")
