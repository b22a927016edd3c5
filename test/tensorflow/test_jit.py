"""`xhlo.tensorflow.jit` beside TensorFlow's own execution (make tensorflow-test)."""

from __future__ import annotations

import os
import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
tf = pytest.importorskip("tensorflow", reason="needs TensorFlow: make tensorflow-test installs it")
keras = pytest.importorskip("keras")

import xhlo  # noqa: E402
from xhlo.tensorflow import jit  # noqa: E402

RNG = np.random.default_rng(0)
SEQUENCES = RNG.normal(size=(4, 10, 8)).astype(np.float32)
IMAGES = RNG.normal(size=(2, 10, 10, 3)).astype(np.float32)


def loop(x: Any) -> Any:
    total = tf.zeros_like(x)
    for step in tf.range(5):
        if tf.reduce_sum(total) < 10.0:
            total = total + x * tf.cast(step, x.dtype)
    return total


def matrices(x: Any) -> Any:
    return tf.matmul(x, x, transpose_a=True) + 8 * tf.eye(8)


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "autograph": (loop, (SEQUENCES,)),
    "map_fn": (lambda x: tf.map_fn(lambda row: tf.reduce_sum(row) * row, x), (SEQUENCES,)),
    "scan": (lambda x: tf.scan(lambda a, b: a + b, x), (SEQUENCES,)),
    "while_loop": (
        lambda x: tf.while_loop(lambda i, a: i < 5, lambda i, a: (i + 1, a * 1.1), (tf.constant(0), x))[1],
        (SEQUENCES,),
    ),
    "switch_case": (
        lambda x: tf.switch_case(tf.cast(x[0, 0, 0] > 0, tf.int32), [lambda: x, lambda: x * 2]),
        (SEQUENCES,),
    ),
    "einsum": (lambda x: tf.einsum("bij,bkj->bik", x, x), (SEQUENCES,)),
    "top_k": (lambda x: tf.math.top_k(x, 3), (SEQUENCES,)),
    "sort": (lambda x: tf.sort(x, axis=1), (SEQUENCES,)),
    "cholesky": (lambda x: tf.linalg.cholesky(matrices(x)), (SEQUENCES,)),
    "inverse": (lambda x: tf.linalg.inv(matrices(x)), (SEQUENCES,)),
    "fft": (lambda x: tf.abs(tf.signal.rfft(x)), (SEQUENCES,)),
    "resize": (lambda x: tf.image.resize(x, (20, 20)), (IMAGES,)),
    "conv2d": (lambda x: tf.nn.conv2d(x, tf.ones((3, 3, 3, 4)), 2, "SAME"), (IMAGES,)),
    "depthwise_conv2d": (
        lambda x: tf.nn.depthwise_conv2d(x, tf.ones((3, 3, 3, 2)), (1, 1, 1, 1), "SAME"),
        (IMAGES,),
    ),
    "avg_pool2d": (lambda x: tf.nn.avg_pool2d(x, 2, 2, "SAME"), (IMAGES,)),
    "gather": (lambda x, i: tf.gather(x, i, axis=1), (SEQUENCES, np.array([1, 3]))),
    "scatter": (
        lambda x, i: tf.tensor_scatter_nd_add(x, i, tf.ones((2, 10, 8))),
        (SEQUENCES, np.array([[1], [3]])),
    ),
    "segment_sum": (lambda x: tf.math.unsorted_segment_sum(x, [0, 1, 0, 2], 3), (SEQUENCES,)),
    "cumsum": (lambda x: tf.cumsum(x, axis=1), (SEQUENCES,)),
    "integers": (lambda x: (x // 3, x % 3, tf.bitwise.bitwise_xor(x, 5)), (np.arange(-10, 10),)),
    "bool": (lambda x: (x > 0, tf.where(x > 0, x, 0.0)), (SEQUENCES,)),
    "erf of f64": (tf.math.erf, (SEQUENCES.astype(np.float64),)),
    "complex": (lambda x: tf.math.exp(tf.complex(x, x)), (SEQUENCES,)),
    "bfloat16": (lambda x: tf.cast(x, tf.bfloat16) * 2, (SEQUENCES,)),
    "empty": (lambda x: tf.zeros((0, 3)) + x[0, 0, :3], (SEQUENCES,)),
    "cross entropy": (
        lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits([1, 2, 3, 4], x[:, 0]),
        (SEQUENCES,),
    ),
    "TensorArray": (lambda x: tf.TensorArray(tf.float32, 4).unstack(x).stack(), (SEQUENCES,)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_function_gives_tensorflows_results(name: str) -> None:
    function, arguments = CASES[name]
    expected = tf.nest.flatten(function(*map(tf.constant, arguments)))
    found = tf.nest.flatten(jit(function)(*arguments))
    for want, got in zip(expected, found, strict=True):
        assert want.dtype == got.dtype and want.shape == got.shape
        exact = tf.complex128 if want.dtype.is_complex else tf.float64
        np.testing.assert_allclose(
            tf.cast(got, exact).numpy(), tf.cast(want, exact).numpy(), rtol=1e-5, atol=1e-5 * (want.dtype != tf.float64)
        )


@pytest.mark.parametrize(
    "layer",
    [
        lambda: keras.layers.LSTM(16, return_sequences=True),
        lambda: keras.layers.Bidirectional(keras.layers.GRU(4)),
        lambda: keras.layers.LayerNormalization(),
    ],
)
def test_keras_layers(layer: Callable[[], Any]) -> None:
    made = layer()
    np.testing.assert_allclose(jit(made)(SEQUENCES), made(SEQUENCES), rtol=1e-5, atol=1e-6)


def test_results_have_the_functions_structure() -> None:
    @jit
    def f(x: Any, pair: Any, scale: float = 2.0, *, names: Any) -> Any:
        return {"sum": x + pair[0], "rest": (names["b"] * scale, None, [x, 3])}

    x = tf.constant([1.0, 2.0])
    found = f(x, (x, 5), names={"b": x})
    assert found["sum"].numpy().tolist() == [2, 4] and found["rest"][1] is None
    assert found["rest"][0].numpy().tolist() == [2, 4] and int(found["rest"][2][1]) == 3
    assert f(x, (x, 5), 3.0, names={"b": x})["rest"][0].numpy().tolist() == [3, 6]
    assert f.explain().count("\n") == 1 and "f(float32[2], float32[2], float32[2]): compiled in" in f.explain()


def test_variables_are_read_and_assigned() -> None:
    scale, steps, fixed = tf.Variable(2.0), tf.Variable(0, dtype=tf.int64), tf.constant([1.0, 2.0])

    @jit
    def f(x: Any) -> Any:
        scale.assign(scale * 2)
        if tf.reduce_sum(x) > 0:
            steps.assign_add(1)
        return x * scale + fixed

    assert f(tf.constant([1.0, 1.0])).numpy().tolist() == [5, 6]
    kept = scale.read_value()
    assert f(tf.constant([-1.0, -1.0])).numpy().tolist() == [-7, -6]
    assert (scale.numpy(), steps.numpy(), kept.numpy()) == (8, 1, 4)
    scale.assign(0.5)
    assert f(tf.constant([1.0, 1.0])).numpy().tolist() == [2, 3]


def test_gradients_of_arguments_and_variables() -> None:
    weight = tf.Variable([1.0, 2.0, 3.0])

    def f(x: Any, options: Any) -> Any:
        return tf.reduce_sum(tf.sin(x) * weight * options["z"] + options["a"]) ** 2

    x, options = tf.constant([1.0, 2.0, 3.0]), {"z": tf.constant([2.0, 3.0, 4.0]), "a": 5.0}
    results: list[list[Any]] = []
    for function in (f, jit(f)):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch([x, options["z"]])
                y = function(x, options)
                weight.assign_add([1.0, 1.0, 1.0])
            found = tape.gradient(y, [x, options["z"], weight])
        results.append([*found, outer.gradient(found[0], x)])
        weight.assign([1.0, 2.0, 3.0])
    for want, got in zip(*results, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5)


def test_a_gradient_through_gathered_rows() -> None:
    table = tf.Variable(np.arange(12, dtype=np.float32).reshape(4, 3))
    with tf.GradientTape() as tape:
        y = jit(lambda rows: tf.reduce_sum(tf.gather(table, rows) ** 2))(np.array([1, 1, 3]))
    expected = np.zeros((4, 3))
    expected[1], expected[3] = 4 * table[1].numpy(), 2 * table[3].numpy()
    np.testing.assert_allclose(tape.gradient(y, table), expected)


def test_a_derivative_that_would_be_lost_is_refused() -> None:
    captured = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(captured)
        with pytest.raises(ValueError, match="make it an argument"):
            jit(lambda x: x * captured)(tf.constant([1.0, 2.0]))


def test_inside_a_tf_function() -> None:
    inner = jit(lambda x: x * 2)
    assert tf.function(lambda x: inner(x) + 1)(tf.constant(3.0)).numpy() == 7


def losses_of(compile_: Callable[[Callable[..., Any]], Any], images: Any, labels: Any) -> list[float]:
    """The losses of five steps."""
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.layers.Input((12, 12, 1)),
            keras.layers.Conv2D(4, 3, activation="relu"),
            keras.layers.BatchNormalization(),
            keras.layers.MaxPooling2D(),
            keras.layers.Flatten(),
            keras.layers.Dropout(0.2),
            keras.layers.Dense(4),
        ]
    )
    optimizer = keras.optimizers.Adam(1e-2)
    optimizer.build(model.trainable_variables)
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    compiled = compile_(step)
    return [float(compiled(images, labels)) for _ in range(5)]


def test_a_training_step_learns_as_xlas() -> None:
    images = RNG.normal(size=(16, 12, 12, 1)).astype(np.float32)
    labels = np.arange(16) % 4
    xlas = losses_of(lambda step: tf.function(step, jit_compile=True), images, labels)
    ours = losses_of(jit, images, labels)
    np.testing.assert_allclose(ours, xlas, rtol=1e-4)
    assert ours[-1] < ours[0]


@pytest.mark.parametrize(
    "dtype", ["float32", "float16", "bfloat16", "int32", "uint8", "bool", "float64", "complex64", "int64"]
)
def test_large_constants_keep_their_values(dtype: str) -> None:
    """TensorFlow's text of a program leaves them out."""
    constant = tf.cast(tf.constant(RNG.normal(size=(7, 20)) * 5), dtype)
    found = jit(lambda x: (constant[:, ::-1], x))(tf.constant(1.0))[0]
    assert (found.numpy() == constant.numpy()[:, ::-1]).all()


def test_random_numbers_with_a_state() -> None:
    mine, xlas = tf.random.Generator.from_seed(1), tf.random.Generator.from_seed(1)
    ours = jit(lambda: mine.normal((3,)))
    theirs = tf.function(lambda: xlas.normal((3,)), jit_compile=True)
    for _ in range(2):
        np.testing.assert_allclose(ours(), theirs(), rtol=1e-6)


def test_random_numbers_without_one_are_refused() -> None:
    with pytest.raises(xhlo.DiagnosticError, match=r"use tf\.random\.Generator"):
        jit(lambda: tf.random.normal((3,)))()


def test_compile_time_constants_are_built_in() -> None:
    """As `jit_compile=True` does: one program for each value of a shape."""

    def counted(x: Any, shape: Any, k: Any) -> Any:
        return tf.reshape(tf.cumsum(x), shape) * tf.cast(k, x.dtype)

    f = jit(counted)
    x, k = tf.range(6.0), np.int32(2)
    for shape in ([2, 3], [3, 2], [2, 3]):
        np.testing.assert_array_equal(f(x, np.array(shape), k), counted(x, shape, k))
    np.testing.assert_array_equal(f(x + 1, np.array([2, 3]), np.int32(5)), counted(x + 1, [2, 3], 5))
    assert len(f.explain().splitlines()) == 2
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.reduce_sum(f(x, np.array([2, 3]), k))
    np.testing.assert_array_equal(tape.gradient(total, x), [12, 10, 8, 6, 4, 2])


def test_what_cannot_be_compiled_is_tensorflows_error() -> None:
    with pytest.raises(ValueError, match=r"(?s)AsString.*test_jit\.py"):
        jit(lambda x: tf.strings.as_string(x))(tf.constant(1.0))
    with pytest.raises(ValueError, match="must be a compile-time constant"):
        jit(lambda x: tf.reshape(x, tf.cast(x, tf.int32)))(tf.Variable([2.0, 1.0]))
    for sized_by_values in (lambda x: tf.unique(x)[0], lambda x: tf.where(x > 1), lambda x: tf.boolean_mask(x, x > 1)):
        with pytest.raises(xhlo.DiagnosticError, match="makes result 0, whose size depends on values"):
            jit(sized_by_values)(tf.constant([1, 2, 2]))
    sizes = tf.Variable([2, 3])
    with pytest.raises(ValueError, match="must be a compile-time constant"):
        jit(lambda: tf.reshape(tf.range(6.0), sizes))()
    with pytest.raises(TypeError, match=r"the argument x\['a'\] is a set"):
        jit(lambda x: x)({"a": {1}})
    with pytest.raises(TypeError, match="the argument x is a RaggedTensor: expected tensors"):
        jit(lambda x: x)(tf.ragged.constant([[1.0, 2.0], [3.0]]))


def test_locations_are_the_users_lines() -> None:
    """Also in the body of a loop, in a function that the function calls, and for layers."""
    layer = keras.layers.Dense(2)
    layer.build((None, 2))

    def inner(x: Any) -> Any:
        return tf.exp(x)  # exponential

    def f(x: Any) -> Any:
        for _ in tf.range(tf.cast(x[0, 0], tf.int32)):
            x = tf.sin(x)  # sine
        return inner(layer(x)) + tf.linalg.trace(x)  # dot add

    lines = Path(__file__).read_text().splitlines()
    text = jit(f).compiler_ir(tf.ones((2, 2)), stage="tensorflow")
    for opcode in ("exponential", "sine", "dot", "add"):
        (number,) = [at for at, line in enumerate(lines, 1) if re.search(rf"  # .*\b{opcode}\b", line)]
        found = re.findall(rf" {opcode}\(.*source_file=\"([^\"]*)\" source_line=([0-9]+)", text)
        assert (str(Path(__file__)), str(number)) in found, (opcode, found)


SIZED_BY_VALUES: dict[str, Callable[[Any], Any]] = {
    "unique": lambda x: tf.unique(x)[0],
    "unique with counts": lambda x: tf.unique_with_counts(x)[2],
    "where": lambda x: tf.where(x > 1),
    "boolean_mask": lambda x: tf.boolean_mask(x, x > 1),
    "sum of a boolean_mask": lambda x: tf.reduce_sum(tf.boolean_mask(x, x > 1)),
    "gather of where": lambda x: tf.gather(x, tf.where(x > 1)[:, 0]),
    "dynamic_partition": lambda x: tf.dynamic_partition(x, tf.cast(x > 1, tf.int32), 2)[0],
    "unique of a cast": lambda x: tf.cast(tf.unique(x)[0], tf.float32) * 2,
    "non-zeros": lambda x: tf.math.count_nonzero(tf.where(x > 1)[:, 0]),
    "slice": lambda x: x[: x[0]],
    "ragged": lambda x: tf.RaggedTensor.from_row_lengths(x, x[:1] * 3).to_tensor(),
    "setdiff1d": lambda x: tf.sets.difference([x], [x * 2]).values,
}


@pytest.mark.parametrize("name", SIZED_BY_VALUES)
def test_sizes_that_depend_on_values_are_refused(name: str) -> None:
    """By TensorFlow or here: with the line, and what to do instead."""
    with pytest.raises((xhlo.DiagnosticError, ValueError, tf.errors.InvalidArgumentError)) as caught:
        jit(SIZED_BY_VALUES[name])(tf.constant([1, 2, 2]))
    message = str(caught.value)
    assert Path(__file__).name in message, message
    if isinstance(caught.value, xhlo.DiagnosticError):
        (number,) = [at for at, line in enumerate(Path(__file__).read_text().splitlines(), 1) if f'"{name}": ' in line]
        assert f"{Path(__file__)}:{number}:" in message and "Keep all elements and select" in message


def test_stages_as_text() -> None:
    f = jit(lambda x: tf.nn.relu(x) + 1)
    x = tf.ones(4)
    assert f.compiler_ir(x, stage="tensorflow").startswith("HloModule")
    assert "hlo.maximum" in f.compiler_ir(x) and "hlo.fusion" in f.compiler_ir(x, stage="optimized_hlo")
    assert "digraph" in f.compiler_ir(x, stage="optimized_hlo_dot") and ".entry" in f.compiler_ir(x, stage="ptx")
    assert f.executable(x).kernels
    with pytest.raises(ValueError, match="stage"):
        f.compiler_ir(x, stage="nothing")


def test_methods_and_models() -> None:
    class Model(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = tf.Variable(3.0)

        @jit
        def scaled(self, x: Any) -> Any:
            """Times the weight."""
            return x * self.weight

    model = Model()
    assert model.scaled(tf.constant(2.0)).numpy() == 6
    assert Model.scaled.__doc__ == "Times the weight."


def test_a_call_copies_no_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    f, x = jit(lambda x: x + 1), tf.ones(1000)
    kind = type(f.executable(x))
    call, seen = kind.__call__, list[int]()

    def spy(self: Any, *args: Any, **kwargs: Any) -> Any:
        seen.append(np.from_dlpack(args[0]).ctypes.data)
        return call(self, *args, **kwargs)

    monkeypatch.setattr(kind, "__call__", spy)
    assert f(x).numpy()[0] == 2 and seen == [np.from_dlpack(x).ctypes.data]


@pytest.mark.parametrize("name", ["mnist_convnet", "lstm"])
def test_examples(name: str) -> None:
    """The same losses: in float64, and over the first ones in float32, which rounding does not yet part."""
    path = Path(__file__).resolve().parents[2] / "examples" / "tensorflow" / f"{name}.py"
    train = runpy.run_path(str(path))["train"]
    for steps, dtype, error in ((3, "float32", 1e-4), (8, "float64", 1e-6)):
        losses = train(steps=steps, dtype=dtype)
        np.testing.assert_allclose(losses["xhlo"], losses["XLA"], rtol=error)


def test_batch_normalization_is_nearer_to_the_right_values_than_xla() -> None:
    """The difference between the losses of the convnet in float32 is that of XLA's sums of 43,264 squares."""
    x = tf.random.stateless_normal((64, 26, 26, 16), (1, 2))
    layers = [keras.layers.BatchNormalization(dtype=dtype) for dtype in ("float32", "float64")]
    for layer in layers:
        layer.build(x.shape)
    expected = layers[1](tf.cast(x, tf.float64), training=True)

    def normalized(x: Any) -> Any:
        return layers[0](x, training=True)

    errors = [
        float(tf.reduce_max(tf.abs(tf.cast(compiled(x), tf.float64) - expected)))
        for compiled in (xhlo.tensorflow.jit(normalized), tf.function(normalized, jit_compile=True))
    ]
    assert errors[0] < 2e-6 and errors[0] < errors[1]
