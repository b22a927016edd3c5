"""
Programs that jax.export wrote for symbolic sizes: at several sizes each, compiled, on the reference and by hlo-run, as
JAX computes them; one compilation for each combination of sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import xhlo
from xhlo.targets.program import unknown_sizes
from xhlo.tools.hlo_run import main

Sizes = Mapping[str, int]

ONE = [{"n": n} for n in (1, 2, 3, 7, 16)]
TWO = [{"b": b, "n": n} for b, n in ((1, 1), (2, 3), (3, 2), (5, 8), (8, 5))]
LONG = [{"b": b, "n": n} for b, n in ((1, 4), (2, 5), (3, 8), (4, 6), (1, 13))]
THREE = [{"b": b, "m": m, "n": n} for b, m, n in ((1, 1, 1), (2, 3, 4), (4, 2, 3), (1, 7, 5), (3, 5, 1))]


@dataclass(frozen=True)
class Case:
    """A function, the symbolic shapes of its arguments (`b, 4*n`; with a type: `i32: n`), and sizes for them."""

    name: str
    function: Callable[..., Any]
    shapes: Sequence[str]
    sizes: Sequence[Sizes]
    constraints: Sequence[str] = field(default_factory=tuple[str, ...])

    def specs(self) -> Any:
        scope = jax.export.SymbolicScope(self.constraints)
        return [
            jax.ShapeDtypeStruct(
                jax.export.symbolic_shape(text.rpartition(":")[2].strip(), scope=scope),
                _TYPES[text.partition(":")[0]] if ":" in text else jnp.float32,
            )
            for text in self.shapes
        ]

    def arrays(self, sizes: Sizes, random: np.random.Generator) -> list[np.ndarray]:
        made: list[np.ndarray] = []
        for text in self.shapes:
            shape = eval(
                f"({text.rpartition(':')[2].strip()},)" if text.rpartition(":")[2].strip() else "()", dict(sizes)
            )
            if text.startswith("i32:"):
                made.append(random.integers(0, min(sizes.values()), shape, np.int32))
            elif text.startswith("i1:"):
                made.append(random.random(shape) < 0.5)
            else:
                made.append(random.standard_normal(shape).astype(np.float32))
        return made


_TYPES = {"i32": jnp.int32, "i1": jnp.bool_}
W48 = np.linspace(-1, 1, 32, dtype=np.float32).reshape(4, 8)
W44 = np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4)


def layer_norm(x: Any) -> Any:
    return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def attention(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
    scores = jnp.einsum("bqd,bkd->bqk", q, k) / np.sqrt(q.shape[-1])
    scores = scores if mask is None else jnp.where(mask, scores, -1e9)
    return jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(scores, axis=-1), v)


def causal(x: Any) -> Any:
    positions = jnp.arange(x.shape[1])
    return attention(x, x, x, positions[:, None] >= positions[None, :])


def recurrent(x: Any) -> Any:
    def step(state: Any, row: Any) -> tuple[Any, Any]:
        state = jnp.tanh(state @ W44 + row)
        return state, state.sum(-1)

    return lax.scan(step, jnp.zeros((x.shape[1], 4)), x)


def powers(x: Any) -> Any:
    return lax.fori_loop(0, x.shape[0], lambda i, total: total * 0.5 + x[i], jnp.zeros(()))


def halving(x: Any) -> Any:
    return lax.while_loop(lambda y: jnp.abs(y).max() > 0.1, lambda y: y / 2, x)


def convolve(x: Any, dims: tuple[str, str, str], kernel: tuple[int, ...], **options: Any) -> Any:
    w = jnp.linspace(-1, 1, int(np.prod(kernel))).reshape(kernel)
    return lax.conv_general_dilated(x, w, dimension_numbers=dims, **options)


def mlp(x: Any) -> Any:
    return jax.nn.relu(x @ W48) @ W48.T


CASES = (
    Case("elementwise", lambda x: jnp.sin(x) * x + 1, ["n"], ONE),
    Case("two_names", lambda x, y: x[:, None] * y[None, :] + jnp.exp(-jnp.abs(x))[:, None], ["b", "n"], TWO),
    Case("softmax", lambda x: jax.nn.softmax(x, axis=-1), ["b, n"], TWO),
    Case("logsumexp", lambda x: jax.nn.logsumexp(x, axis=0), ["b, n"], TWO),
    Case("layer_norm", layer_norm, ["b, n"], TWO),
    Case("statistics", lambda x: (x.mean(), x.var(0), x.min(1), x.max(), jnp.median(x, axis=1)), ["b, n"], TWO),
    Case("product_of_sizes", lambda x: x.sum() / (x.shape[0] * x.shape[1] + 1), ["b, n"], TWO),
    Case("matmul", lambda x, y: x @ y, ["b, m", "m, n"], THREE),
    Case("batched_matmul", lambda x, y: jnp.einsum("bmk,bkn->bmn", x, y), ["b, m, 4", "b, 4, n"], THREE),
    Case("mlp", mlp, ["b, 4"], [{"b": b} for b in (1, 2, 5, 9, 32)]),
    Case("gradient", jax.grad(lambda x: jnp.tanh(mlp(x)).sum()), ["b, 4"], [{"b": b} for b in (1, 2, 5, 9, 32)]),
    Case("flatten", lambda x: x.reshape(-1) * 2, ["b, n"], TWO),
    Case("split_heads", lambda x: x.reshape(x.shape[0], -1, 4).transpose(1, 0, 2), ["b, 4*n"], TWO),
    Case("merge_heads", lambda x: x.transpose(1, 0, 2).reshape(x.shape[1], -1), ["b, n, 4"], TWO),
    Case("concatenate", lambda x, y: jnp.concatenate([x, y, x * 2]), ["b", "n"], TWO),
    Case("stack", lambda x, y: jnp.stack([x, y], axis=1), ["n", "n"], ONE),
    Case("pad", lambda x: jnp.pad(x, ((1, 2), (0, 3)), constant_values=7.0), ["b, n"], TWO),
    Case("pad_by_size", lambda x: jnp.pad(x, (0, x.shape[0])), ["n"], ONE),
    Case("pad_edges", lambda x: jnp.pad(x, ((0, 0), (2, 1)), mode="edge"), ["b, n"], TWO),
    Case("gather", lambda x, i: x[i] * 2, ["n, 4", "i32: b"], TWO),
    Case("take_along", lambda x, i: jnp.take_along_axis(x, i, axis=1), ["b, n", "i32: b, 2"], TWO),
    Case("scatter", lambda x, i, u: x.at[i].add(u), ["n, 4", "i32: b", "b, 4"], TWO),
    Case("segment_sum", lambda x, i: jax.ops.segment_sum(x, i, num_segments=4), ["n, 3", "i32: n"], ONE),
    Case("slices", lambda x: x[:, 1:] - x[:, :-1], ["b, n"], LONG, ["n >= 2"]),
    Case("half", lambda x: (x[: x.shape[0] // 2] * 2, x[x.shape[0] // 2 :]), ["n"], ONE),
    Case("dynamic_slice", lambda x, i: lax.dynamic_slice_in_dim(x, i, x.shape[0] // 2), ["n", "i32:"], ONE),
    Case("update_slice", lambda x, y: lax.dynamic_update_slice(x, y, (1, 0)), ["n+1, 4", "n, 4"], ONE),
    Case("convolution_1d", lambda x: convolve(x, ("NCW", "OIW", "NCW"), (4, 3, 3), window_strides=(1,), padding="SAME"),
         ["b, 3, n"], LONG),
    Case("convolution_2d", lambda x: convolve(x, ("NHWC", "HWIO", "NHWC"), (3, 3, 2, 4), window_strides=(2, 2), padding="VALID"),
         ["b, n, 8, 2"], LONG, ["n >= 3"]),
    Case("max_pool", lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2), (1, 1), "VALID"), ["b, n"], LONG, ["n >= 2"]),
    Case("attention", attention, ["b, m, 8", "b, n, 8", "b, n, 8"], THREE),
    Case("causal_attention", causal, ["b, n, 8"], TWO),
    Case("recurrence", recurrent, ["n, b, 4"], TWO),
    Case("loop_to_size", powers, ["n"], ONE),
    Case("while", halving, ["b, n"], TWO),
    Case("conditional", lambda p, x: lax.cond(p, jnp.sin, lambda y: y * 2, x), ["i1:", "n"], ONE),
    Case("iota", lambda x: x * jnp.arange(x.shape[0]) + lax.broadcasted_iota(jnp.float32, (3, x.shape[0]), 1), ["n"], ONE),
    Case("identity_matrix", lambda x: x @ (jnp.eye(x.shape[1]) + jnp.tri(x.shape[1])), ["b, n"], TWO),
    Case("sort", lambda x: (jnp.sort(x, axis=1), jnp.argsort(x, axis=1)), ["b, n"], TWO),
    Case("cumulative", lambda x: (jnp.cumsum(x, axis=1), jnp.cumprod(x, axis=0), lax.cummax(x, axis=1)), ["b, n"], TWO),
    Case("vmap", jax.vmap(lambda x, y: jnp.dot(x, y) * x), ["b, n", "b, n"], TWO),
    Case("argmax", lambda x: (jnp.argmax(x, axis=1), jnp.where(x > 0, x, 0.0)), ["b, n"], TWO),
    Case("top_k", lambda x: lax.top_k(x, 3), ["b, n"], LONG, ["n >= 3"]),
    Case("random", lambda x: x + jax.random.uniform(jax.random.key(0), x.shape), ["b, n"], TWO),
    Case("one_hot", lambda i: jax.nn.one_hot(i, 5), ["i32: n"], ONE),
    Case("repeat", lambda x: (jnp.tile(x, (2, 1)), jnp.flip(x, 1), jnp.roll(x, 1, axis=0)), ["b, n"], TWO),
)  # fmt: skip


def flat(results: Any) -> list[np.ndarray]:
    return [np.asarray(one) for one in jax.tree.leaves(results)]


@pytest.mark.long(6)
@pytest.mark.sample(8)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_exported_program_at_several_sizes(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exported = jax.export.export(jax.jit(case.function), platforms=["cpu"])(*case.specs())
    made: list[Any] = []
    specialized = unknown_sizes.specialized
    monkeypatch.setattr(unknown_sizes, "specialized", lambda *given: made.append(given[1]) or specialized(*given))
    executable = xhlo.compile(exported.mlir_module())
    program, given, stored = tmp_path / "f.mlir", tmp_path / "in.npz", tmp_path / "out.npz"
    program.write_text(exported.mlir_module())
    random = np.random.default_rng(0)
    for sizes in case.sizes:
        arrays = case.arrays(sizes, random)
        with jax.default_device(jax.devices("cpu")[0]):
            wanted = flat(jax.jit(case.function)(*arrays))
        kept = [arrays[index] for index in exported.module_kept_var_idx]
        before = len(made)
        for _ in range(2):
            same(flat(executable(*kept)), wanted)
        assert len(made) == before + 1, "one compilation for each combination of sizes"
        np.savez(given, **{f"in_{index}": array for index, array in enumerate(kept)})
        assert main([str(program), "-i", str(given), "-o", str(stored), "--compare=reference", "--rtol=1e-3"]) == 0
        with np.load(stored) as file:
            same([file[f"out_{index}"] for index in range(len(wanted))], wanted)


def same(actual: Sequence[np.ndarray], wanted: Sequence[np.ndarray]) -> None:
    assert len(actual) == len(wanted)
    for ours, theirs in zip(actual, wanted, strict=True):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=2e-5)


def test_there_are_forty_programs_at_five_sizes() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 40
    assert all(len(case.sizes) == 5 for case in CASES)
