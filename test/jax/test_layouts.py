"""Memory layouts: of arguments, results and transfers, on one device and several."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp
import ml_dtypes
from jax.experimental import serialize_executable
from jax.experimental.layout import Format, Layout
from jax.sharding import AxisType, NamedSharding, PartitionSpec, SingleDeviceSharding

from xhlo.frontends.jax.entries import ENTRIES

DEVICE = SingleDeviceSharding(jax.devices("xhlo")[0])
ORDERS = [(0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)]
X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def layout_of(array: Any) -> tuple[int, ...]:
    return array.format.layout.major_to_minor


@pytest.mark.long(3)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.int8, np.bool_, ml_dtypes.bfloat16])
def test_transfers(order: tuple[int, ...], dtype: Any) -> None:
    value = X.astype(dtype)
    array = jax.device_put(value, Format(Layout(order), DEVICE))
    assert layout_of(array) == order
    assert np.asarray(array).tobytes() == value.tobytes()
    again = jax.device_put(array, Format(Layout((0, 1, 2)), DEVICE))
    assert layout_of(again) == (0, 1, 2)
    assert np.asarray(again).tobytes() == value.tobytes()


@pytest.mark.parametrize("order", ORDERS)
def test_arguments_and_results(order: tuple[int, ...]) -> None:
    there = Format(Layout(order), DEVICE)
    array = jax.device_put(X, there)
    function = jax.jit(lambda x: (x * 2, x.sum(1), x.T), in_shardings=there, out_shardings=(there, None, there))
    doubled, sums, turned = function(array)
    assert [layout_of(each) for each in (doubled, sums, turned)] == [order, (0, 1), order]
    np.testing.assert_array_equal(doubled, 2 * X)
    np.testing.assert_array_equal(sums, X.sum(1))
    np.testing.assert_array_equal(turned, X.T)


def test_functions_without_layouts_take_arrays_with_them() -> None:
    array = jax.device_put(X, Format(Layout((2, 0, 1)), DEVICE))
    np.testing.assert_array_equal(array + 1, X + 1)
    np.testing.assert_array_equal(jnp.sort(-array, axis=1), np.sort(-X, axis=1))
    np.testing.assert_array_equal(array[1, :, 2], X[1, :, 2])
    np.testing.assert_array_equal(np.from_dlpack(array), X)
    np.testing.assert_array_equal(jax.grad(lambda x: (x * x).sum())(array), 2 * X)


def test_a_layout_that_xhlo_chooses() -> None:
    automatic = Format(Layout.AUTO, DEVICE)
    compiled = jax.jit(lambda x: x.T, in_shardings=automatic, out_shardings=automatic).lower(X).compile()
    ((taken,), _) = compiled.input_formats
    np.testing.assert_array_equal(compiled(jax.device_put(X, taken)), X.T)


def test_a_layout_of_another_program_is_an_error() -> None:
    compiled = jax.jit(lambda x: x + 1).trace(jax.ShapeDtypeStruct(X.shape, X.dtype, sharding=DEVICE)).lower().compile()
    with pytest.raises(ValueError, match="disagree with the layouts"):
        compiled(jax.device_put(X, Format(Layout((2, 0, 1)), DEVICE)))


def test_donation() -> None:
    there = Format(Layout((2, 0, 1)), DEVICE)
    array = jax.device_put(X, there)
    result = jax.jit(lambda x: x + 1, donate_argnums=0, out_shardings=there)(array)
    assert array.is_deleted()
    np.testing.assert_array_equal(result, X + 1)


def test_several_devices() -> None:
    mesh = jax.make_mesh((2, 4), ("a", "b"), axis_types=(AxisType.Auto,) * 2, devices=jax.devices("xhlo")[:8])
    there = Format(Layout((1, 0)), NamedSharding(mesh, PartitionSpec("a", "b")))
    value = np.arange(64, dtype=np.float32).reshape(8, 8)
    array = jax.device_put(value, there)
    square = jax.jit(lambda x: x @ x.T, out_shardings=there)(array)
    assert layout_of(array) == layout_of(square) == (1, 0)
    np.testing.assert_array_equal(array, value)
    np.testing.assert_array_equal(square, value @ value.T)


def test_saved_executables_keep_their_layouts() -> None:
    there = Format(Layout((2, 0, 1)), DEVICE)
    compiled = jax.jit(lambda x: x + 1, in_shardings=there, out_shardings=there).lower(X).compile()
    loaded = serialize_executable.deserialize_and_load(
        *serialize_executable.serialize(compiled), execution_devices=jax.devices("xhlo")[:1]
    )
    result = loaded(jax.device_put(X, there))
    assert layout_of(result) == (2, 0, 1)
    np.testing.assert_array_equal(result, X + 1)


def test_compilation_does_not_read_the_program_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """jaxlib would parse it and translate it to HLO three times, to learn layouts and shardings."""
    asked: list[Any] = []
    monkeypatch.setitem(ENTRIES, "Executable_OptimizedProgram", asked.append)
    compiled = jax.jit(lambda x: (x.T, x.sum())).lower(jnp.ones((2, 3))).compile()
    assert [each.layout.major_to_minor for each in compiled.output_formats] == [(0, 1), ()]
    assert asked == []
