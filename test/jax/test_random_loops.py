"""
Random nested loops and branches that exchange, keep and mix their state, to test the reuse of buffers.

All values are integers, so results must be equal bit for bit.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

pytest.importorskip("jax", reason="JAX is not installed")

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from platforms import only_on

COUNT = 60
SIZE = 4
State = list[Any]
Statement = Callable[[State, Any], State]
"""The state after a statement, from the state before it and the iteration number of the innermost loop."""

OPERATIONS: list[Callable[[Any, Any, int, Any], Any]] = [
    lambda x, y, n, i: x + y,
    lambda x, y, n, i: x * y + n,
    lambda x, y, n, i: jnp.roll(x, n),
    lambda x, y, n, i: jnp.where(x % 2 == 0, x, y),
    lambda x, y, n, i: lax.dynamic_update_slice(x, y[:2], (i + n,)),
    lambda x, y, n, i: x[y % SIZE],
    lambda x, y, n, i: x.at[n].set(y[0] + i),
    lambda x, y, n, i: jnp.cumsum(x),
    lambda x, y, n, i: jnp.sort(x),
    lambda x, y, n, i: jnp.stack([x, y, x, y]) @ y,
    lambda x, y, n, i: jnp.concatenate([x[n:], y[:n]]),
    lambda x, y, n, i: x,
]

MIXES: list[Callable[[State, State, int, int], Any]] = [
    lambda before, after, k, other: after[k],
    lambda before, after, k, other: after[other],
    lambda before, after, k, other: before[k],
    lambda before, after, k, other: before[other],
    lambda before, after, k, other: after[k] - before[k],
    lambda before, after, k, other: after[k] + before[other],
]
"""An element of the state after a loop, from the states before and after it; the first is chosen most often."""


@dataclass
class Program:
    """Generates statements; `size` is the number of arrays in the state."""

    draw: random.Random
    size: int

    def element(self) -> int:
        return self.draw.randrange(self.size)

    def block(self, depth: int) -> Statement:
        statements = [
            self.nested(depth) if depth and self.draw.random() < 0.6 else self.operation()
            for _ in range(self.draw.randint(1, 4))
        ]

        def run(state: State, i: Any) -> State:
            for statement in statements:
                state = statement(state, i)
            return state

        return run

    def operation(self) -> Statement:
        function, n = self.draw.choice(OPERATIONS), self.draw.randrange(SIZE)
        x, y, target = self.element(), self.element(), self.element()
        return lambda state, i: [function(state[x], state[y], n, i) if k == target else v for k, v in enumerate(state)]

    def nested(self, depth: int) -> Statement:
        """A loop or branch, and the combination of its result with the state before it."""
        inner = self.draw.choice([self.fori, self.while_, self.cond, self.switch, self.scan])(depth)
        mixes = [self.draw.choice([MIXES[0], *MIXES]) for _ in range(self.size)]
        others = [self.element() for _ in range(self.size)]

        def run(state: State, i: Any) -> State:
            after = list(inner(state, i))
            return [mix(state, after, k, other) for k, (mix, other) in enumerate(zip(mixes, others, strict=True))]

        return run

    def fori(self, depth: int) -> Statement:
        body, count = self.block(depth - 1), self.draw.randint(0, 3)
        return lambda state, i: lax.fori_loop(0, count, lambda j, s: body(s, j), state)

    def while_(self, depth: int) -> Statement:
        body, count, tested = self.block(depth - 1), self.draw.randint(0, 3), self.element()
        order = self.draw.choices(range(self.size), k=self.size)

        def step(carry: tuple[Any, State]) -> tuple[Any, State]:
            after = body(carry[1], carry[0])
            return carry[0] + 1, [after[k] for k in order]

        def going_on(carry: tuple[Any, State]) -> Any:
            return (carry[0] < count) & (carry[1][tested].sum() % 7 != 3)

        return lambda state, i: lax.while_loop(going_on, step, (jnp.int32(0), state))[1]

    def cond(self, depth: int) -> Statement:
        then, other, tested = self.block(depth - 1), self.block(depth - 1), self.element()
        return lambda state, i: lax.cond(
            state[tested].sum() % 2 == 0, lambda s: then(s, i), lambda s: other(s, i), state
        )

    def switch(self, depth: int) -> Statement:
        branches = [self.block(depth - 1) for _ in range(3)]
        tested = self.element()

        def branch(body: Statement, i: Any) -> Callable[[State], State]:
            return lambda state: body(state, i)

        return lambda state, i: lax.switch(state[tested][0] % 3, [branch(body, i) for body in branches], state)

    def scan(self, depth: int) -> Statement:
        body, length = self.block(depth - 1), self.draw.randint(1, 4)
        kept, target = self.element(), self.element()

        def step(state: State, x: Any) -> tuple[State, Any]:
            after = body(state, x)
            return after, after[kept]

        def run(state: State, i: Any) -> State:
            after, rows = lax.scan(step, state, jnp.arange(length, dtype=jnp.int32))
            return [v + rows.sum(0) if k == target else v for k, v in enumerate(after)]

        return run


@pytest.mark.long(4)
@pytest.mark.sample(15)
@pytest.mark.parametrize("seed", range(COUNT))
def test_nested_control_flow(seed: int) -> None:
    draw = random.Random(seed)
    program = Program(draw, draw.randint(2, 4))
    body = program.block(draw.randint(2, 3))
    state = [np.array([draw.randint(-9, 9) for _ in range(SIZE)], np.int32) for _ in range(program.size)]
    results: list[Sequence[Any]] = []
    for platform in ("xhlo", "cpu"):
        with only_on(platform):
            placed = jax.device_put(state, jax.devices(platform)[0])
            results.append(jax.jit(lambda s: body(s, jnp.int32(1)))(placed))
    for got, want in zip(*results, strict=True):
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want))
