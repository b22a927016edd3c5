"""Statistics, clustering, regression and random numbers."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax, random

from .program import Programs

PROGRAMS = Programs("statistics")
program = PROGRAMS.add


@program(lambda d: (d.normal(4096, 16), d.normal(8, 16)))
def k_means(points: Array, centers: Array) -> Array:
    """Five rounds."""

    def round_of(_: Array, centers: Array) -> Array:
        distances = jnp.sum((points[:, None] - centers) ** 2, -1)
        member = jax.nn.one_hot(jnp.argmin(distances, 1), centers.shape[0])
        return (member.T @ points) / jnp.maximum(jnp.sum(member, 0), 1)[:, None]

    return lax.fori_loop(0, 5, round_of, centers)


@program(lambda d: (d.normal(4096, 8), d.normal(6, 8)))
def gaussian_mixture(points: Array, means: Array) -> tuple[Array, Array, Array]:
    """Five rounds of expectation and maximization with diagonal covariances."""

    def round_of(_: Array, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        means, variances, shares = state
        apart = (points[:, None] - means) ** 2 / variances
        logs = jnp.log(shares) - 0.5 * jnp.sum(apart + jnp.log(variances), -1)
        weights = jnp.exp(logs - jax.nn.logsumexp(logs, -1, keepdims=True))
        total = jnp.sum(weights, 0)
        means = weights.T @ points / total[:, None]
        variances = jnp.einsum("nk,nkd->kd", weights, (points[:, None] - means) ** 2) / total[:, None] + 1e-3
        return means, variances, total / points.shape[0]

    return lax.fori_loop(0, 5, round_of, (means, jnp.ones_like(means), jnp.full(6, 1 / 6)))


@program(lambda d: (d.normal(512, 32) * 0.85 ** np.arange(32, dtype=np.float32),))
def principal_components(x: Array) -> tuple[Array, Array]:
    """The variances along the components, and the points rebuilt from four of them, which stand out."""
    x = x - jnp.mean(x, 0)
    u, s, v = jnp.linalg.svd(x, full_matrices=False)
    return s**2 / x.shape[0], (u[:, :4] * s[:4]) @ v[:4]


@program(lambda d: (d.normal(2048, 24), d.normal(2048)))
def linear_regression(x: Array, y: Array) -> Array:
    """Ridge regression by the normal equations."""
    return jnp.linalg.solve(x.T @ x + 0.1 * jnp.eye(x.shape[1]), x.T @ y)


@program(lambda d: (d.normal(1024, 32), d.integers(0, 2, 1024)))
def logistic_regression(x: Array, y: Array) -> Array:
    """50 steps of gradient descent."""

    def loss_of(w: Array) -> Array:
        logits = x @ w
        return jnp.mean(jax.nn.softplus(logits) - y * logits)

    return lax.fori_loop(0, 50, lambda _, w: w - 0.5 * jax.grad(loss_of)(w), jnp.zeros(x.shape[1]))


@program(lambda d: (d.normal(128, 2048),))
def quantiles(x: Array) -> Array:
    return jnp.quantile(x, jnp.array([0.05, 0.5, 0.95]), axis=1)


@program(lambda d: (d.normal(1 << 17),))
def median(x: Array) -> Array:
    return jnp.median(x)


@program(lambda d: (d.normal(1 << 17),))
def histogram(x: Array) -> Array:
    return jnp.histogram(x, 64, (-4.0, 4.0))[0]


@program(lambda d: (d.integers(0, 256, 1 << 19),))
def bincount(x: Array) -> Array:
    return jnp.bincount(x, length=256)


@program(lambda d: (d.normal(4096, 64),))
def correlation(x: Array) -> Array:
    return jnp.corrcoef(x, rowvar=False)


@program(lambda d: (d.normal(1 << 16),))
def moving_statistics(x: Array) -> tuple[Array, Array]:
    """Mean and deviation over windows of 64."""
    first = jnp.cumsum(x)
    second = jnp.cumsum(x * x)
    mean = (first[64:] - first[:-64]) / 64
    return mean, jnp.sqrt(jnp.maximum((second[64:] - second[:-64]) / 64 - mean**2, 0))


@program(lambda d: (d.normal(1024, 1000),))
def argmax_rows(x: Array) -> Array:
    return jnp.argmax(x, -1)


@program(lambda d: (d.normal(1024, 1000), d.integers(0, 1000, 1024)))
def accuracy(logits: Array, labels: Array) -> tuple[Array, Array]:
    """The share that is right, and the confusion of labels in ten groups."""
    guess = jnp.argmax(logits, -1)
    confusion = jnp.zeros((10, 10), jnp.int32).at[labels // 100, guess // 100].add(1)
    return jnp.mean(guess == labels), confusion


@program(lambda d: (d.key(),))
def random_normal(key: Array) -> Array:
    return random.normal(key, (1 << 19,))


@program(lambda d: (d.key(),))
def random_uniform(key: Array) -> Array:
    return random.uniform(key, (1024, 1024), minval=-1.0)


@program(lambda d: (d.key(), d.normal(64, 1000)))
def random_categorical(key: Array, logits: Array) -> Array:
    return random.categorical(key, logits)


@program(lambda d: (d.key(), d.normal(10000)))
def random_choice(key: Array, x: Array) -> Array:
    return random.choice(key, x, (4096,))


@program(lambda d: (d.key(), d.normal(1 << 15)))
def random_permutation(key: Array, x: Array) -> Array:
    return random.permutation(key, x)


@program(lambda d: (d.key(), d.normal(256, 512)))
def dropout(key: Array, x: Array) -> Array:
    return jnp.where(random.bernoulli(key, 0.9, x.shape), x / 0.9, 0)


@program(lambda d: (d.integers(0, 1 << 31, 64000, 2, dtype="uint32"),))
def random_of_many_keys(keys: Array) -> tuple[Array, Array]:
    """Two new keys for each of many, and two numbers of one of them."""
    split = jax.vmap(random.split)(keys)
    return split[:, 0], jax.vmap(lambda key: random.uniform(key, (2,)))(split[:, 1])


@program(lambda d: (d.key(),))
def random_walks(key: Array) -> tuple[Array, Array]:
    walks = jnp.cumsum(random.normal(key, (256, 1024)), axis=1)
    return jnp.max(walks, 1), jnp.mean(walks**2, 0)


@program(lambda d: (d.normal(2000), d.uniform(-3, 3, 500)))
def kernel_density(x: Array, places: Array) -> Array:
    """The density of samples by Gaussians."""
    width = 1.06 * x.std() * len(x) ** -0.2
    z = (places[:, None] - x) / width
    return jnp.exp(-0.5 * z * z).sum(1) / (len(x) * width * jnp.sqrt(2 * jnp.pi))


@program(lambda d: (d.normal(4096, 16), d.normal(4096)))
def robust_regression(x: Array, y: Array) -> Array:
    """20 steps of gradient descent on pseudo-Huber loss."""

    def loss_of(w: Array) -> Array:
        return jnp.mean((1 + (x @ w - y) ** 2) ** 0.5 - 1)

    return lax.fori_loop(0, 20, lambda _, w: w - 0.5 * jax.grad(loss_of)(w), jnp.zeros(x.shape[1]))


@program(lambda d: (d.normal(400, 1000),))
def rescaled_features(x: Array) -> tuple[Array, Array]:
    """Positive parts of features, which contain zeros, scaled to their range, and the distances of some rows."""
    x = jax.nn.relu(x)
    low, high = x.min(1, keepdims=True), x.max(1, keepdims=True)
    scaled = (x - low) / (high - low + 1e-6)
    some = scaled[:100, :16]
    return scaled, jnp.sum((some[:, None] - some) ** 2, -1).min(1)


@program(lambda d: (d.normal(12, 30, 14, 16, 10),))
def moments_over_axes_apart(x: Array) -> tuple[Array, Array, Array, Array]:
    """Reductions over dimensions that are no neighbours, the last of them short."""
    return x.sum((0, 2, 4)), x.max((1, 3)), x.min((0, 1, 4)), x.var((1, 4))


@program(lambda d: (d.normal(20, 300, 40),))
def running_along_the_middle(x: Array) -> tuple[Array, Array, Array, Array]:
    """Running sums, products, maxima and sums of exponentials along the middle dimension."""
    return jnp.cumsum(x, 1), jnp.cumprod(1 + 0.1 * x, 1), lax.cummax(x, 1), lax.cumlogsumexp(x, 1)


@program(lambda d: (d.normal(20, 1000),))
def autoregression(series: Array) -> Array:
    """The coefficients of the last eight values of a series, by the Yule-Walker equations."""

    def fitted(x: Array) -> Array:
        correlations = jnp.correlate(x, x, "full")[999:1008] / x.size
        lags = jnp.abs(jnp.arange(8)[:, None] - jnp.arange(8))
        return jnp.linalg.solve(correlations[lags], correlations[1:])

    return jax.vmap(fitted)(series)
