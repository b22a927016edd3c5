"""Selection, order, gather and scatter."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.experimental import sparse

from .program import Programs

PROGRAMS = Programs("indexing")
program = PROGRAMS.add


@program(lambda d: (d.normal(20000, 128), d.integers(0, 20000, 4096)))
def gather_rows(table: Array, rows: Array) -> Array:
    return table[rows]


@program(lambda d: (d.normal(20000, 64), d.integers(0, 20000, 1024, 8)))
def embedding_bag(table: Array, rows: Array) -> Array:
    return jnp.mean(table[rows], 1)


@program(lambda d: (d.normal(4000, 128), d.integers(0, 4000, 4096), d.normal(4096, 128)))
def scatter_add_rows(table: Array, rows: Array, updates: Array) -> Array:
    return table.at[rows].add(updates)


@program(lambda d: (d.normal(1 << 16), d.integers(0, 1 << 16, 1 << 14), d.normal(1 << 14)))
def scatter_max(x: Array, places: Array, updates: Array) -> Array:
    return x.at[places].max(updates)


@program(lambda d: (d.normal(1 << 15, 16), d.integers(0, 500, 1 << 15)))
def segment_sums(x: Array, segments: Array) -> tuple[Array, Array]:
    sums = jax.ops.segment_sum(x, segments, 500)
    return sums, jax.ops.segment_max(x[:, 0], segments, 500)


@program(lambda d: (d.normal(2000, 32), d.integers(0, 2000, 8000), d.integers(0, 2000, 8000), d.dense(32, 32)))
def graph_convolution(x: Array, senders: Array, receivers: Array, w: Array) -> Array:
    """Messages along edges, summed at the nodes."""
    total = jax.ops.segment_sum(x[senders], receivers, x.shape[0])
    degree = jax.ops.segment_sum(jnp.ones(senders.shape[0]), receivers, x.shape[0])
    return jax.nn.relu(total / jnp.maximum(degree, 1)[:, None] @ w)


@program(lambda d: (d.normal(100000),))
def top_k_of_one_row(x: Array) -> tuple[Array, Array]:
    values, places = lax.top_k(x, 50)
    return values, places


@program(lambda d: (d.normal(32, 32000),))
def top_k_of_vocabulary(x: Array) -> tuple[Array, Array]:
    values, places = lax.top_k(x, 40)
    return values, places


@program(lambda d: (d.normal(8, 16000),))
def nucleus(logits: Array) -> Array:
    """The tokens that make nine tenths of the probability, as a mask."""
    p = jax.nn.softmax(logits, -1)
    order = jnp.argsort(-p, -1)
    ordered = jnp.take_along_axis(p, order, -1)
    keep = jnp.cumsum(ordered, -1) - ordered < 0.9
    back = jnp.argsort(order, -1)
    return jnp.sum(jnp.take_along_axis(keep, back, -1), -1)


@program(lambda d: (d.normal(256, 1024),))
def sort_rows(x: Array) -> Array:
    return jnp.sort(x, -1)


@program(lambda d: (d.normal(1 << 17),))
def sort_one_row(x: Array) -> Array:
    return jnp.sort(x)


@program(lambda d: (d.normal(1 << 16),))
def argsort(x: Array) -> Array:
    return jnp.argsort(x)


@program(lambda d: (d.integers(0, 100, 4096), d.integers(0, 100, 4096), d.normal(4096)))
def lexicographic_order(a: Array, b: Array, x: Array) -> Array:
    return x[jnp.lexsort((b, a))]


@program(lambda d: (d.integers(0, 1000, 1 << 14),))
def unique_with_size(x: Array) -> tuple[Array, Array]:
    values, counts = jnp.unique(x, return_counts=True, size=1000)
    return values, counts


@program(lambda d: (d.normal(10000), d.normal(20000)))
def search_sorted(x: Array, wanted: Array) -> Array:
    return jnp.searchsorted(jnp.sort(x), wanted)


@program(lambda d: (d.normal(1000), d.uniform(-2, 2, 1 << 16)))
def interpolation(y: Array, x: Array) -> Array:
    return jnp.interp(x, jnp.linspace(-2, 2, 1000), y)


@program(lambda d: (d.normal(512, 1024), d.integers(0, 1024, 512, 64)))
def take_along_rows(x: Array, places: Array) -> Array:
    return jnp.take_along_axis(x, places, 1)


@program(lambda d: (d.normal(256, 256), d.uniform(0, 255, 65536), d.uniform(0, 255, 65536)))
def bilinear_samples(picture: Array, y: Array, x: Array) -> Array:
    return jax.scipy.ndimage.map_coordinates(picture, [y, x], order=1)


@program(lambda d: (d.integers(-50, 50, 1 << 16),))
def compress(x: Array) -> tuple[Array, Array]:
    """The places of positive elements, and their number."""
    places = jnp.nonzero(x > 0, size=1 << 15, fill_value=-1)[0]
    return places, jnp.sum(x > 0)


@program(lambda d: (d.normal(64, 128, 64), d.integers(0, 64, 64)))
def window_of_each(x: Array, starts: Array) -> Array:
    """A slice of each sequence, at a place of its own."""
    return jax.vmap(lambda one, start: lax.dynamic_slice(one, (start, 0), (32, 64)))(x, starts)


@program(
    lambda d: (
        d.normal(1000, 32),
        d.integers(0, 1000, 5000),
        d.integers(0, 1000, 5000),
        d.dense(32, 64),
        d.normal(2, 4, 16),
    )
)
def graph_attention(nodes: Array, sources: Array, targets: Array, weights: Array, attend: Array) -> Array:
    """Four heads; a softmax over the edges that end in each node."""
    count = len(nodes)
    heads = (nodes @ weights).reshape(count, 4, 16)
    scores = (heads * attend[0]).sum(-1)[sources] + (heads * attend[1]).sum(-1)[targets]
    scores = jax.nn.leaky_relu(scores, 0.2)
    most = jax.ops.segment_max(scores, targets, count)
    each = jnp.exp(scores - most[targets])
    share = each / (jax.ops.segment_sum(each, targets, count)[targets] + 1e-9)
    return jax.nn.elu(jax.ops.segment_sum(heads[sources] * share[..., None], targets, count))


@program(lambda d: (d.normal(300, 16), d.normal(400, 16), d.integers(0, 10, 400)))
def nearest_neighbours(points: Array, known: Array, classes: Array) -> tuple[Array, Array]:
    """The ten nearest of 400 points, and the class that most of them have."""
    squares = jnp.sum((points[:, None] - known[None]) ** 2, -1)
    distances, places = lax.top_k(-squares, 10)
    votes = jax.nn.one_hot(classes[places], 10).sum(1)
    return -distances, jnp.argmax(votes, -1)


@program(lambda d: (d.uniform(0, 1, 16, 80, 80, 3), d.integers(0, 17, 16, 2)))
def random_crops(images: Array, corners: Array) -> Array:
    """A crop of each color image, as for augmentation, with mean and size of one."""

    def cropped(image: Array, corner: Array) -> Array:
        return lax.dynamic_slice(image, (corner[0], corner[1], 0), (64, 64, 3))

    crops = jax.vmap(cropped)(images, corners)
    return (crops - crops.mean((1, 2, 3), keepdims=True)) / crops.std((1, 2, 3), keepdims=True)


@program(lambda d: (d.normal(6, 2000, 32), d.integers(0, 2000, 3000)))
def rows_of_tables(tables: Array, places: Array) -> Array:
    """Embeddings from two of several tables, and from the first rows of a third."""
    return tables[1][places] + tables[4][places] * tables[5, :500][places // 4]


@program(
    lambda d: (d.normal(6000), d.integers(0, 512, 6000), np.linspace(0, 6000, 513).astype(np.int32), d.normal(512))
)
def compressed_rows(elements: Array, columns: Array, starts: Array, x: Array) -> tuple[Array, Array]:
    """20 steps of power iteration with a sparse matrix."""
    matrix = sparse.BCSR((elements, columns, starts), shape=(512, 512))

    def step(x: Array, _: None) -> tuple[Array, Array]:
        y = matrix @ x
        size = jnp.linalg.norm(y)
        return y / size, size

    return lax.scan(step, x, None, length=20)
