"""The kernels of threads.py: each class at sizes that divide among threads evenly and unevenly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Case = tuple[str, Callable[..., Any], tuple[Any, ...]]
"""Its name, a function of JAX, and its arguments."""


class _Drawn:
    """Random arrays, the same in each run."""

    def __init__(self) -> None:
        import numpy as np

        self.generator = np.random.default_rng(0)

    def __call__(self, *shape: int) -> Any:
        """Normal numbers."""
        return self.generator.standard_normal(shape).astype("float32")

    def whole(self, most: int, *shape: int) -> Any:
        """Integers from 0 to `most`, without it."""
        return self.generator.integers(0, most, shape).astype("int32")


def products() -> Iterator[Case]:
    import jax.numpy as jnp

    drawn = _Drawn()
    sizes = [(n, n, n) for n in (64, 96, 128, 200, 256, 512, 1024)]
    sizes += [(m, n, n) for n in (512, 1024, 2048) for m in (1, 2, 4, 8, 16, 32, 64, 100, 197)]
    sizes += [(16384, 64, 64), (64, 64, 16384), (64, 16384, 64), (1024, 1024, 32), (1024, 4, 1024), (32, 784, 512)]
    sizes += [(1024, 1024, 1), (1024, 1024, 8), (2000, 10, 784), (10, 2000, 784), (128, 100, 10), (300, 300, 300)]
    batched = [(1000, 8, 8, 8), (128, 32, 32, 32), (12, 128, 64, 128), (96, 128, 64, 128), (3, 256, 256, 256)]
    for each in sizes:
        *batch, m, k, n = each
        name = "x".join(map(str, each))
        yield f"product {name}", lambda a, b: a @ b, (drawn(m, k), drawn(k, n))
        if m < 128:
            yield f"product {name} tb", lambda a, b: a @ b.T, (drawn(m, k), drawn(n, k))
    for *batch, m, k, n in batched:
        name = "x".join(map(str, (*batch, m, k, n)))
        yield f"products {name}", lambda a, b: a @ b, (drawn(*batch, m, k), drawn(*batch, k, n))
    for m, k, n in ((1, 1024, 1024), (64, 512, 512), (256, 256, 256)):
        a, b = drawn(m, k), drawn(k, n)
        half = (a.astype(jnp.bfloat16), b.astype(jnp.bfloat16))
        yield f"product {m}x{k}x{n} bf16", lambda a, b: a @ b, half
        yield f"product {m}x{k}x{n} f32,bf16", lambda a, b: a @ b.astype(a.dtype), (a, half[1])
        yield f"product {m}x{k}x{n} gelu", lambda a, b: jnp.tanh(a @ b) * 0.5, (a, b)


# Name, batch, features in, image, features out, window, stride, groups.
CONVOLUTIONS = [
    ("depthwise", 4, 32, (112, 112), 32, 3, 1, 32),
    ("depthwise", 4, 512, (14, 14), 512, 3, 1, 512),
    ("depthwise", 4, 128, (56, 56), 128, 3, 2, 128),
    ("depthwise", 1, 768, (7, 7), 768, 7, 1, 768),
    ("grouped", 4, 128, (56, 56), 128, 3, 1, 32),
    ("grouped", 4, 512, (14, 14), 512, 3, 1, 32),
    ("1x1", 4, 64, (56, 56), 256, 1, 1, 1),
    ("1x1", 1, 1024, (14, 14), 256, 1, 1, 1),
    ("1x1", 4, 512, (7, 7), 2048, 1, 1, 1),
    ("3x3", 4, 64, (56, 56), 64, 3, 1, 1),
    ("3x3", 1, 256, (14, 14), 256, 3, 1, 1),
    ("3x3", 1, 512, (7, 7), 512, 3, 1, 1),
    ("3x3", 4, 128, (56, 56), 128, 3, 2, 1),
    ("3x3", 32, 16, (28, 28), 32, 3, 1, 1),
    ("3x3", 1, 8, (28, 28), 16, 3, 1, 1),
    ("stem", 1, 3, (224, 224), 64, 7, 2, 1),
    ("stem", 4, 3, (224, 224), 32, 3, 2, 1),
    ("stem", 64, 1, (28, 28), 32, 3, 1, 1),
    ("patches", 1, 3, (224, 224), 768, 16, 16, 1),
    ("1-D", 1, 80, (3000,), 512, 3, 1, 1),
    ("1-D", 4, 512, (500,), 512, 31, 1, 512),
    ("3-D", 1, 16, (8, 28, 28), 32, 3, 1, 1),
]


def convolutions() -> Iterator[Case]:
    for form in CONVOLUTIONS:
        yield from convolution(*form, "last")
        yield from convolution(*form, "first")


def convolution(
    form: str,
    batch: int,
    inputs: int,
    image: tuple[int, ...],
    outputs: int,
    window: int,
    stride: int,
    groups: int,
    layout: str,
) -> Iterator[Case]:
    """A convolution with its channels last or first, and both gradients."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    places, windows = "DHW"[-len(image) :], (window,) * len(image)
    if layout == "last":
        dims = (f"N{places}C", f"{places}IO", f"N{places}C")
        shapes = (batch, *image, inputs), (*windows, inputs // groups, outputs)
    else:
        dims = (f"NC{places}", f"OI{places}", f"NC{places}")
        shapes = (batch, inputs, *image), (outputs, inputs // groups, *windows)
    pad = 0 if window == stride else (window - 1) // 2

    def forward(x: Any, w: Any) -> Any:
        pads, strides = [(pad, pad)] * len(image), (stride,) * len(image)
        return jax.lax.conv_general_dilated(x, w, strides, pads, dimension_numbers=dims, feature_group_count=groups)

    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(shape).astype(np.float32) for shape in shapes)
    y = rng.standard_normal(jax.eval_shape(forward, x, w).shape).astype(np.float32)

    def by_input(y: Any, w: Any) -> Any:
        return jax.vjp(lambda x: forward(x, w), jnp.zeros(shapes[0], jnp.float32))[1](y)[0]

    def by_filter(x: Any, y: Any) -> Any:
        return jax.vjp(lambda w: forward(x, w), jnp.zeros(shapes[1], jnp.float32))[1](y)[0]

    name = f"conv {form} {window} s{stride} {batch}x{'x'.join(map(str, image))}x{inputs}-{outputs} {layout}"
    yield name, forward, (x, w)
    if inputs > 3:
        yield f"{name} dx", by_input, (y, w)
    yield f"{name} dw", by_filter, (x, y)


def rows() -> Iterator[Case]:
    import jax
    import jax.numpy as jnp
    from jax import lax

    drawn = _Drawn()
    for shape in ((100000,), (1 << 20,), (300, 1000), (3, 100000), (5, 64, 64), (64, 512, 20), (7, 30000)):
        x = drawn(*shape)
        name = "x".join(map(str, shape))
        yield f"elementwise {name}", lambda x: x * 2 + 1, (x,)
        yield f"elementwise tanh {name}", lambda x: jnp.tanh(x) * x, (x,)
        yield f"sum {name}", jnp.sum, (x,)
        yield f"sum of rows {name}", lambda x: jnp.sum(x, -1), (x,)
        yield f"sum of columns {name}", lambda x: jnp.sum(x, 0), (x,)
        yield f"maximum and its place {name}", lambda x: (jnp.max(x, -1), jnp.argmax(x, -1)), (x,)
        yield f"softmax {name}", lambda x: jax.nn.softmax(x, -1), (x,)
        yield f"softmax of columns {name}", lambda x: jax.nn.softmax(x, 0), (x,)
        yield f"cumsum {name}", lambda x: jnp.cumsum(x, -1), (x,)
        yield f"cumsum of columns {name}", lambda x: jnp.cumsum(x, 0), (x,)
        yield f"sort {name}", lambda x: jnp.sort(x, -1), (x,)
        yield f"argsort {name}", lambda x: jnp.argsort(x, -1), (x,)
        yield f"top_k {name}", lambda x: lax.top_k(x, 8), (x,)
        if len(shape) > 1:
            yield f"transpose {name}", lambda x: x.swapaxes(-1, -2) + 0, (x,)
            yield f"reverse, concatenate {name}", lambda x: jnp.concatenate([x[::-1], x], 0), (x,)
            yield f"pad {name}", lambda x: jnp.pad(x, [(1, 1)] * x.ndim), (x,)
            yield (
                f"layer norm {name}",
                lambda x: (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5),
                (x,),
            )


def indexing() -> Iterator[Case]:
    import jax
    import jax.numpy as jnp

    drawn = _Drawn()
    for n, k in ((2000, 64), (1000, 768), (30000, 16), (50, 20000)):
        table, at, segments = drawn(n, k), drawn.whole(n, 3 * n), drawn.whole(64, 3 * n)
        yield f"gather {n}x{k}", lambda table, at: table[at], (table, at)
        yield f"scatter-add {n}x{k}", lambda table, at, u: table.at[at].add(u), (table, at, drawn(3 * n, k))
        yield (
            f"segment sum {n}x{k}",
            lambda u, at: jax.ops.segment_sum(u, at, 64),
            (drawn(3 * n, k), segments),
        )
        yield f"take elements {n}x{k}", lambda t, i: jnp.take_along_axis(t, i, 1), (table, drawn.whole(k, n, k))
    yield "histogram", lambda at: jnp.zeros(256, jnp.int32).at[at].add(1), (drawn.whole(256, 300000),)


def transforms() -> Iterator[Case]:
    import jax.numpy as jnp
    import numpy as np

    drawn = _Drawn()
    for shape in ((1 << 14,), (1 << 18,), (100, 1000), (3, 4096), (256, 256), (37, 37, 37)):
        name = "x".join(map(str, shape))
        z = (drawn(*shape) + 1j * drawn(*shape)).astype(np.complex64)
        yield f"fft {name}", jnp.fft.fft, (z,)
        yield f"rfft {name}", jnp.fft.rfft, (drawn(*shape),)
        if len(shape) > 1:
            yield f"fftn {name}", jnp.fft.fftn, (z,)


def attentions() -> Iterator[Case]:
    import jax

    drawn = _Drawn()

    def attention(q: Any, k: Any, v: Any) -> Any:
        return jax.nn.softmax(q @ k.swapaxes(-1, -2) * 0.125, -1) @ v

    for heads, places, width in ((12, 128, 64), (8, 512, 64), (1, 1024, 64), (3, 197, 64), (32, 77, 80)):
        q, k, v = (drawn(heads, places, width) for _ in range(3))
        name = f"{heads}x{places}x{width}"
        yield f"attention {name}", attention, (q, k, v)
        yield f"attention {name} gradient", jax.grad(lambda *x: attention(*x).sum(), (0, 1, 2)), (q, k, v)
        yield f"attention {name} decode", attention, (q[:, :1], k, v)


def factorizations() -> Iterator[Case]:
    import jax
    import jax.numpy as jnp
    import numpy as np

    drawn = _Drawn()
    for batch, n in ((1, 256), (3, 128), (100, 16), (1000, 8), (5, 64)):
        a = drawn(batch, n, n)
        spd = a @ a.swapaxes(-1, -2) + n * np.eye(n, dtype=np.float32)
        yield f"cholesky {batch}x{n}", jnp.linalg.cholesky, (spd,)
        yield f"solve {batch}x{n}", jnp.linalg.solve, (spd, drawn(batch, n, 4))
        yield (
            f"triangular solve {batch}x{n}",
            lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True),
            (
                spd,
                drawn(batch, n, n),
            ),
        )


def loops_and_windows() -> Iterator[Case]:
    import jax
    import jax.numpy as jnp
    from jax import lax

    drawn = _Drawn()
    c = drawn(300, 300)
    yield (
        "mandelbrot 300",
        lambda c: lax.while_loop(lambda s: s[1] < 60, lambda s: (s[0] * s[0] * 0.5 + c, s[1] + 1), (c, 0))[0],
        (c,),
    )
    yield (
        "scan of a cell",
        lambda x, w: lax.scan(lambda h, x: (jnp.tanh(h @ w + x), h), x[0], x)[0],
        (
            drawn(50, 64, 256),
            drawn(256, 256) * 0.05,
        ),
    )
    yield (
        "pooling",
        lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
        (drawn(8, 56, 56, 64),),
    )
    yield "random bits", lambda: jax.random.normal(jax.random.key(0), (300, 1000)), ()
    yield "distances", lambda x, y: ((x[:, None] - y[None]) ** 2).sum(-1), (drawn(500, 32), drawn(300, 32))


def cases() -> Iterator[Case]:
    """Programs of every class of kernels."""
    for list_ in (products, convolutions, rows, indexing, transforms, attentions, factorizations, loops_and_windows):
        yield from list_()
