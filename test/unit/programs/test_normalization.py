"""
Batch normalization: the reference against its definition in f64 and JAX's gradient, the CPU against the reference.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cpu_programs import DTYPES, FLOATS, TARGETS, run

Array = np.ndarray[Any, Any]
EPSILON = 0.01
TOLERANCE = {"f64": 1e-6, "f32": 2e-5, "f16": 4e-3, "bf16": 3e-2}
"""The tolerance by type; epsilon itself is an f32 for every type."""


def program(kind: str, shape: tuple[int, ...], feature: int, element: str) -> str:
    """@main with one operation on operands of these sizes."""
    operand = f"tensor<{''.join(f'{d}x' for d in shape)}{element}>"
    vector = f"tensor<{shape[feature]}x{element}>"
    inputs = {
        "inference": [operand, *[vector] * 4],
        "training": [operand, vector, vector],
        "grad": [operand, vector, vector, vector, operand],
    }[kind]
    outputs = [operand] if kind == "inference" else [operand, vector, vector]
    count = len(outputs)
    names = ", ".join(f"%x{i}" for i in range(len(inputs)))
    parameters = ", ".join(f"%x{i}: {type_}" for i, type_ in enumerate(inputs))
    results = ", ".join(f"%0#{i}" if count > 1 else "%0" for i in range(count))
    return f"""
    func.func @main({parameters}) -> ({", ".join(outputs)}) {{
      %0{f":{count}" if count > 1 else ""} = "hlo.batch_norm_{kind}"({names})
        <{{epsilon = {EPSILON} : f32, feature_index = {feature} : i64}}>
        : ({", ".join(inputs)}) -> ({", ".join(outputs)})
      return {results} : {", ".join(outputs)}
    }}"""


def values(element: str, *shapes: tuple[int, ...]) -> list[Array]:
    rng = np.random.default_rng(0)
    return [rng.normal(1, 2, shape).astype(DTYPES[element]) for shape in shapes]


def spread(vector: Array, shape: tuple[int, ...], feature: int) -> Array:
    return vector.reshape([-1 if dim == feature else 1 for dim in range(len(shape))])


def close(got: tuple[Array, ...], want: list[Array], element: str) -> None:
    for ours, theirs in zip(got, want, strict=True):
        assert ours.dtype == DTYPES[element]
        scale = max(1.0, float(np.abs(theirs).max(initial=0)))
        np.testing.assert_allclose(ours.astype(np.float64), theirs, rtol=0, atol=TOLERANCE[element] * scale)


SHAPES = [((2, 3, 4), 2), ((4, 3, 5), 1), ((7,), 0), ((2, 5, 5, 33), 3)]


def normalized(x: Any, scale: Any, offset: Any, feature: int) -> Any:
    """The definition in JAX, for differentiation."""
    others = tuple(dim for dim in range(x.ndim) if dim != feature)
    mean = x.mean(others, keepdims=True)
    variance = ((x - mean) ** 2).mean(others, keepdims=True)
    result = (x - mean) / jnp.sqrt(variance + EPSILON)
    return result * spread(scale, x.shape, feature) + spread(offset, x.shape, feature)


@pytest.mark.sample(3)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("element", FLOATS)
@pytest.mark.parametrize(("shape", "feature"), SHAPES)
def test_inference(shape: tuple[int, ...], feature: int, element: str, target: str) -> None:
    size = (shape[feature],)
    x, scale, offset, mean, variance = values(element, shape, size, size, size, size)
    variance = np.abs(variance)
    wide = [a.astype(np.float64) for a in (x, scale, offset, mean, variance)]
    factor = wide[1] / np.sqrt(wide[4] + EPSILON)
    want = (wide[0] - spread(wide[3], shape, feature)) * spread(factor, shape, feature)
    want += spread(wide[2], shape, feature)
    got = run(program("inference", shape, feature, element), [x, scale, offset, mean, variance], target)
    close(got, [want], element)


@pytest.mark.long
@pytest.mark.sample(3)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("element", FLOATS)
@pytest.mark.parametrize(("shape", "feature"), SHAPES)
def test_training_and_its_gradient(shape: tuple[int, ...], feature: int, element: str, target: str) -> None:
    size = (shape[feature],)
    x, scale, offset, grad = values(element, shape, size, size, shape)
    wide = [a.astype(np.float64) for a in (x, scale, offset, grad)]
    others = tuple(dim for dim in range(len(shape)) if dim != feature)
    mean, variance = wide[0].mean(others), wide[0].var(others)
    with jax.enable_x64(True):
        output, back = jax.vjp(lambda *args: normalized(*args, feature), *map(jnp.asarray, wide[:3]))
        gradients = [np.asarray(part) for part in back(jnp.asarray(wide[3]))]
    got = run(program("training", shape, feature, element), [x, scale, offset], target)
    close(got, [np.asarray(output), mean, variance], element)
    means = [a.astype(DTYPES[element]) for a in (mean, variance)]
    got = run(program("grad", shape, feature, element), [x, scale, *means, grad], target)
    if element in ("f32", "f64"):
        close(got, gradients, element)
    else:
        close(
            got,
            list(run(program("grad", shape, feature, "f64"), [*map(np.float64, [x, scale, *means, grad])])),
            element,
        )


@pytest.mark.parametrize("target", TARGETS)
def test_empty_and_degenerate(target: str) -> None:
    x = np.zeros((0, 3), np.float32)
    vector = np.ones(3, np.float32)
    output, mean, variance = run(program("training", (0, 3), 1, "f32"), [x, vector, vector], target)
    assert output.shape == (0, 3) and np.isnan(mean).all() and np.isnan(variance).all()
    (result,) = run(program("inference", (2, 0), 1, "f32"), [np.zeros((2, 0), np.float32), *[vector[:0]] * 4], target)
    assert result.shape == (2, 0)
