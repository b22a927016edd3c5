"""Optimizers in the style of optax: `init(params)` returns the state, `update(grads, state, params)` the change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

Schedule = Callable[[Array], Array]


class Optimizer(NamedTuple):
    """A pair of pure functions."""

    init: Callable[[Any], Any]
    update: Callable[[Any, Any, Any], tuple[Any, Any]]


def apply_updates(params: Any, updates: Any) -> Any:
    return jax.tree.map(lambda p, u: p + u.astype(p.dtype), params, updates)


def global_norm(tree: Any) -> Array:
    return jnp.sqrt(sum(jnp.sum(jnp.square(leaf)) for leaf in jax.tree.leaves(tree)))


def chain(*optimizers: Optimizer) -> Optimizer:
    """Apply several transformations of the gradients one after the other."""

    def init(params: Any) -> tuple[Any, ...]:
        return tuple(optimizer.init(params) for optimizer in optimizers)

    def update(updates: Any, state: tuple[Any, ...], params: Any) -> tuple[Any, tuple[Any, ...]]:
        states: list[Any] = []
        for optimizer, old in zip(optimizers, state, strict=True):
            updates, new = optimizer.update(updates, old, params)
            states.append(new)
        return updates, tuple(states)

    return Optimizer(init, update)


def clip_by_global_norm(limit: float) -> Optimizer:
    """Scale gradients down so that their common norm is at most the limit."""

    def update(updates: Any, state: tuple[()], _params: Any) -> tuple[Any, tuple[()]]:
        norm = global_norm(updates)
        scale = jnp.where(norm < limit, 1.0, limit / norm)
        return jax.tree.map(lambda u: u * scale, updates), state

    return Optimizer(lambda _params: (), update)


def sgd(rate: float, momentum: float) -> Optimizer:
    """Gradient descent with Nesterov's momentum."""

    def init(params: Any) -> Any:
        return jax.tree.map(jnp.zeros_like, params)

    def update(grads: Any, trace: Any, _params: Any) -> tuple[Any, Any]:
        trace = jax.tree.map(lambda g, t: g + momentum * t, grads, trace)
        return jax.tree.map(lambda g, t: -rate * (g + momentum * t), grads, trace), trace

    return Optimizer(init, update)


class AdamState(NamedTuple):
    count: Array
    mean: Any
    square: Any


def adam(rate: Schedule, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8, decay: float = 0.0) -> Optimizer:
    """Adam, with decoupled weight decay for parameters of two dimensions or more."""

    def init(params: Any) -> AdamState:
        zeros = jax.tree.map(jnp.zeros_like, params)
        return AdamState(jnp.zeros((), jnp.int32), zeros, jax.tree.map(jnp.zeros_like, params))

    def update(grads: Any, state: AdamState, params: Any) -> tuple[Any, AdamState]:
        count = state.count + 1
        mean = jax.tree.map(lambda g, m: b1 * m + (1 - b1) * g, grads, state.mean)
        square = jax.tree.map(lambda g, s: b2 * s + (1 - b2) * g * g, grads, state.square)
        step = -rate(state.count)
        unbias1, unbias2 = 1 - b1**count, 1 - b2**count

        def change(p: Array, m: Array, s: Array) -> Array:
            direction = (m / unbias1) / (jnp.sqrt(s / unbias2) + eps)
            return step * (direction + decay * p if p.ndim > 1 else direction)

        return jax.tree.map(change, params, mean, square), AdamState(count, mean, square)

    return Optimizer(init, update)


def warmup_cosine(peak: float, warmup: int, steps: int, floor: float = 0.0) -> Schedule:
    """Linear from 0 to the peak, then half a cosine down to the floor."""

    def rate(count: Array) -> Array:
        rising = peak * (count + 1) / warmup
        progress = jnp.clip((count - warmup) / max(1, steps - warmup), 0.0, 1.0)
        falling = floor + (peak - floor) * 0.5 * (1 + jnp.cos(jnp.pi * progress))
        return jnp.where(count < warmup, rising, falling)

    return rate
