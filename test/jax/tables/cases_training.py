"""
Whole training programs: a few steps of gradient descent in a scan, on models of many kinds.

A loss takes (params, batch); `trained` turns it into a program. Keys are the words of threefry keys.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jax import lax, nn, random
from jax.experimental.ode import odeint

from cases import booleans, case, integers, normal, uniform

STEPS = 5
TOLERANCE = (5e-5, 5e-6)
BECAUSE = "several steps of training, each a chain of sums of many products in another order"


def trained(loss, rate=1e-2):
    """The program from (params, batches) to the trained params and the losses."""

    def step(params, batch):
        value, grads = jax.value_and_grad(loss)(params, batch)
        return jax.tree.map(lambda p, g: p - rate * g, params, grads), value

    return lambda params, batches: lax.scan(step, params, batches)


def small(*shape):
    return normal(*shape, scale=0.3)


def keys():
    return integers(STEPS, 2, low=0, high=2**31 - 1, dtype="uint32")


def nll(logits, labels):
    return -jnp.mean(jnp.take_along_axis(nn.log_softmax(logits), labels[..., None], -1))


def standardized(x):
    return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)


def lstm(p, batch):
    xs, labels = batch

    def cell(carry, x):
        h, memory = carry
        i, g, f, o = jnp.split(jnp.concatenate([x, h], -1) @ p["w"] + p["b"], 4, -1)
        memory = nn.sigmoid(f + 1) * memory + nn.sigmoid(i) * jnp.tanh(g)
        h = nn.sigmoid(o) * jnp.tanh(memory)
        return (h, memory), h

    zeros = jnp.zeros((xs.shape[1], 16))
    _, hs = lax.scan(cell, (zeros, zeros), xs, unroll=2)
    return nll(hs @ p["out"], labels)


def variational_autoencoder(p, batch):
    x, words = batch
    mean, log_variance = jnp.split(jnp.tanh(x @ p["a"]) @ p["b"], 2, -1)
    noise = random.normal(random.wrap_key_data(words), mean.shape)
    y = nn.softplus((mean + jnp.exp(log_variance / 2) * noise) @ p["c"]) @ p["d"]
    divergence = 0.5 * jnp.sum(jnp.exp(log_variance) + mean**2 - 1 - log_variance, -1)
    return jnp.mean(jnp.sum((y - x) ** 2, -1) + divergence)


def graph_network(p, batch):
    """Mean and maximum of messages over edges."""
    x, senders, receivers, labels = batch
    count = x.shape[0]
    degree = jnp.maximum(jax.ops.segment_sum(jnp.ones(senders.shape), receivers, count), 1)
    for weight in (p["a"], p["b"]):
        messages = (x @ weight)[senders]
        mean = jax.ops.segment_sum(messages, receivers, count) / degree[:, None]
        most = jax.ops.segment_max(messages, receivers, count)
        x = nn.elu(mean + jnp.where(jnp.isfinite(most), most, 0))
    return nll(x @ p["out"], labels)


def mixture_of_experts(p, x):
    """The best two experts for each token, densely and by ragged products."""
    gates = nn.softmax(x @ p["gate"])
    best, which = lax.top_k(gates, 2)
    combine = (nn.one_hot(which, 4) * (best / best.sum(-1, keepdims=True))[..., None]).sum(1)
    hidden = nn.swish(jnp.einsum("td,edh->teh", x, p["up"]))
    y = jnp.einsum("teh,ehd,te->td", hidden, p["down"], combine)
    sizes = jnp.bincount(which[:, 0], length=4)
    ragged = lax.ragged_dot(x[jnp.argsort(which[:, 0])], p["up"], sizes)
    return jnp.mean((y - x[:, ::-1]) ** 2) + 1e-2 * jnp.mean(ragged**2) + jnp.var(gates.mean(0))


def neural_ode(p, x):
    """Gradients by the adjoint equation."""
    path = odeint(lambda y, t, p: jnp.tanh(y @ p[0]) @ p[1], x, jnp.linspace(0.0, 1.0, 4), p)
    return jnp.mean((path[-1] - x[:, ::-1]) ** 2)


def second_derivatives(p, x):
    """A Laplacian and a Hessian-vector product in the loss."""

    def network(x):
        return (jnp.tanh(x @ p[0]) @ p[1])[..., 0]

    laplacian = jax.vmap(lambda x: jnp.trace(jax.hessian(network)(x)))(x)
    product = jax.jvp(jax.grad(lambda x: network(x).sum()), (x,), (jnp.ones_like(x),))[1]
    return jnp.mean((laplacian - 1) ** 2) + jnp.mean(product**2)


def ensemble(p, batch):
    x, y = batch
    return jnp.sum(jax.vmap(lambda one: jnp.mean((nn.leaky_relu(x @ one[0]) @ one[1] - y) ** 2))(p))


def vision_transformer(p, batch):
    """Patches, a class token, attention, dropout, label smoothing."""
    x, labels, words = batch
    dims = ("NHWC", "HWIO", "NHWC")
    x = lax.conv_general_dilated(x, p["patch"], (4, 4), "VALID", dimension_numbers=dims).reshape(x.shape[0], -1, 32)
    x = jnp.concatenate([jnp.tile(p["class"], (x.shape[0], 1, 1)), x], 1) + p["positions"]
    q, k, v = (y.reshape(*y.shape[:2], 4, 8) for y in jnp.split(standardized(x) @ p["qkv"], 3, -1))
    x = x + nn.dot_product_attention(q, k, v).reshape(x.shape) @ p["mix"]
    hidden = nn.gelu(standardized(x) @ p["up"], approximate=False)
    hidden = jnp.where(random.bernoulli(random.wrap_key_data(words), 0.9, hidden.shape), hidden / 0.9, 0)
    x = x + hidden @ p["down"]
    targets = 0.9 * nn.one_hot(labels, 10) + 0.01
    return -jnp.mean(nn.log_softmax(standardized(x)[:, 0] @ p["head"]) * targets)


def gradient_penalty(p, batch):
    """The critic of a Wasserstein GAN: a gradient within the loss."""
    x, words = batch
    latent, mixing = random.split(random.wrap_key_data(words))
    fake = nn.selu(random.normal(latent, (x.shape[0], 4)) @ p["g1"]) @ p["g2"]

    def critic(v):
        return jnp.squeeze(nn.leaky_relu(v @ p["c1"], 0.2) @ p["c2"])

    share = random.uniform(mixing, (x.shape[0], 1))
    slopes = jax.vmap(jax.grad(critic))(share * x + (1 - share) * fake)
    penalty = jnp.mean((jnp.linalg.norm(slopes, axis=-1) - 1) ** 2)
    return jnp.mean(critic(fake)) - jnp.mean(critic(x)) + penalty


def q_learning(p, words):
    """A rollout by the policy itself, and temporal differences."""

    def values(state):
        return nn.relu(state @ p["a"]) @ p["b"]

    def act(state, key):
        explore, which = random.split(key)
        greedy = jnp.argmax(values(state))
        action = jnp.where(random.uniform(explore) < 0.2, random.randint(which, (), 0, 3), greedy)
        change = jnp.stack([state[1], jnp.sin(state[0]) + action - 1.0, state[3], -state[2]])
        after = jnp.clip(state + 0.1 * change, -2, 2)
        return after, (state, action, -jnp.sum(after**2), after)

    start = jnp.array([0.1, 0.0, 0.2, 0.0])
    _, (states, actions, rewards, after) = lax.scan(act, start, random.split(random.wrap_key_data(words), 24))
    states, after = lax.stop_gradient((states, after))
    wanted = rewards + 0.9 * lax.stop_gradient(values(after).max(-1))
    taken = jnp.take_along_axis(values(states), actions[:, None], 1)[:, 0]
    return jnp.mean((taken - lax.stop_gradient(wanted)) ** 2)


def sound(p, x):
    """Strided, depthwise dilated and transposed convolutions in one dimension; a loss on spectra."""
    dims = ("NWC", "WIO", "NWC")
    h = nn.swish(lax.conv_general_dilated(x, p["a"], (2,), "SAME", dimension_numbers=dims))
    h = lax.conv_general_dilated(
        h, p["b"], (1,), "SAME", rhs_dilation=(2,), feature_group_count=16, dimension_numbers=dims
    )
    y = lax.conv_transpose(nn.hard_swish(h), p["c"], (2,), "SAME", dimension_numbers=dims)
    return jnp.mean(jnp.abs(jnp.fft.rfft(y - x, axis=1)))


def volumes(p, batch):
    """Convolutions in three dimensions, pooled by sums and by maxima."""
    x, y = batch
    dims = ("NDHWC", "DHWIO", "NDHWC")
    h = nn.relu(lax.conv_general_dilated(x, p[0], (1, 1, 1), "SAME", dimension_numbers=dims))
    h = lax.reduce_window(h, 0.0, lax.add, (1, 2, 2, 2, 1), (1, 2, 2, 2, 1), "VALID") / 8
    h = lax.conv_general_dilated(h, p[1], (2, 2, 2), "VALID", dimension_numbers=dims).max((1, 2, 3))
    return jnp.mean((h @ p[2] - y) ** 2)


def rematerialized(p, x):
    """Stacked layers in a scan; products are saved and the rest is recomputed."""

    @functools.partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_saveable)
    def layer(x, w):
        return x + jnp.tanh(x @ w["a"] + w["b"]), None

    y, _ = lax.scan(layer, x, p, unroll=2)
    return jnp.mean(lax.fori_loop(0, 3, lambda _, v: 0.9 * v + jnp.sin(v), y) ** 2)


def gaussian_process(p, batch):
    """The likelihood by a Cholesky factor."""
    x, y = batch
    squares = ((x[:, None] - x[None]) ** 2).sum(-1)
    covariance = jnp.exp(p["scale"] - squares * jnp.exp(-p["length"])) + jnp.exp(p["noise"]) * jnp.eye(len(x))
    factor = jnp.linalg.cholesky(covariance)
    return (0.5 * y @ jax.scipy.linalg.cho_solve((factor, True), y) + jnp.sum(jnp.log(jnp.diag(factor)))) / len(x)


def sorted_and_scanned(p, x):
    """Gradients through sort, cumulative sums, an associative scan and quantiles."""
    y = x @ p
    linear = lax.associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (nn.sigmoid(y), y))[1]
    quantiles = jnp.quantile(y, jnp.array([0.25, 0.5]), axis=0)
    cumulative = jnp.cumsum(nn.softmax(jnp.sort(y)), -1)
    return jnp.mean(cumulative**2) + jnp.mean(linear**2) + jnp.mean(lax.cumlogsumexp(y, axis=1)) + jnp.mean(quantiles)


def complex_weights(p, x):
    z = x @ (p["real"] + 1j * p["imaginary"])
    z = jnp.fft.ifft(jnp.fft.fft(z) * jnp.exp(1j * jnp.arange(8)))
    return jnp.mean(jnp.abs(z) ** 2) + jnp.mean(jnp.angle(z + 2.0))


def state_space(p, x):
    """A linear recurrence by a scan and by a convolution through FFTs."""
    decay, u = -jnp.exp(p["a"]), x @ p["b"].T
    _, states = lax.scan(lambda h, v: ((h * jnp.exp(decay) + v),) * 2, jnp.zeros(u.shape[1:]), u)
    count = x.shape[0]
    kernel = jnp.exp(decay * jnp.arange(count)[:, None])[:, None]
    spectrum = jnp.fft.rfft(u, 2 * count, axis=0) * jnp.fft.rfft(kernel, 2 * count, axis=0)
    convolved = jnp.fft.irfft(spectrum, axis=0)[:count]
    return jnp.mean((states @ p["c"].T) ** 2) + jnp.mean((convolved - jnp.cos(states)) ** 2)


def masked_language_model(p, batch):
    """Embedding lookups in both directions, scores of minus infinity, a weighted loss."""
    text, mask = batch
    x = p["embedding"][jnp.where(mask, 99, text)]
    segment = jnp.cumsum(mask, axis=1) % 2
    scores = jnp.einsum("btd,bsd->bts", x, x @ p["mix"])
    weights = nn.softmax(jnp.where(segment[:, :, None] == segment[:, None], scores, -jnp.inf))
    y = jnp.einsum("bts,bsd->btd", weights, x) * p["scale"]
    each = -jnp.take_along_axis(nn.log_softmax(y @ p["embedding"].T), text[..., None], -1)[..., 0]
    return jnp.sum(each * mask) / jnp.sum(mask)


def scaled_half_precision(params, batches):
    """float16 with dynamic loss scaling."""

    def loss(params, batch):
        x, y = batch
        a, b = (w.astype(jnp.float16) for w in params)
        return jnp.mean((nn.relu(x.astype(jnp.float16) @ a) @ b - y).astype(jnp.float32) ** 2)

    def step(carry, batch):
        params, scale = carry
        value, grads = jax.value_and_grad(lambda p: loss(p, batch) * scale)(params)
        grads = jax.tree.map(lambda g: g / scale, grads)
        finite = jnp.all(jnp.stack([jnp.all(jnp.isfinite(g)) for g in grads]))
        updated = lax.cond(finite, lambda: [p - 0.01 * g for p, g in zip(params, grads, strict=True)], lambda: params)
        return (updated, jnp.where(finite, scale * 2, scale / 2)), (value / scale, finite)

    return lax.scan(step, (params, jnp.float32(2**15)), batches)


def training(name, loss, params, batches, rate=1e-2):
    return case(name, trained(loss, rate), params, batches, tolerance=TOLERANCE, because=BECAUSE)


VISION = {
    "patch": small(4, 4, 3, 32), "positions": small(17, 32), "class": small(1, 1, 32), "qkv": small(32, 96),
    "mix": small(32, 32), "up": small(32, 64), "down": small(64, 32), "head": small(32, 10),
}  # fmt: skip

CASES = [
    training(
        "lstm",
        lstm,
        {"w": small(24, 64), "b": small(64), "out": small(16, 5)},
        (small(STEPS, 12, 4, 8), integers(STEPS, 12, 4, low=0, high=5)),
    ),
    training(
        "variational_autoencoder",
        variational_autoencoder,
        {"a": small(64, 32), "b": small(32, 16), "c": small(8, 32), "d": small(32, 64)},
        (normal(STEPS, 32, 64), keys()),
        1e-3,
    ),
    training(
        "graph_network",
        graph_network,
        {"a": small(8, 16), "b": small(16, 16), "out": small(16, 3)},
        (
            normal(STEPS, 50, 8),
            integers(STEPS, 200, low=0, high=50),
            integers(STEPS, 200, low=0, high=50),
            integers(STEPS, 50, low=0, high=3),
        ),
    ),
    training(
        "mixture_of_experts",
        mixture_of_experts,
        {"gate": small(16, 4), "up": small(4, 16, 32), "down": small(4, 32, 16)},
        normal(STEPS, 40, 16),
    ),
    training("neural_ode", neural_ode, [small(2, 16), small(16, 2)], normal(STEPS, 8, 2)),
    training("second_derivatives", second_derivatives, [small(6, 12), small(12, 1)], normal(STEPS, 10, 6)),
    training("ensemble", ensemble, [small(5, 8, 16), small(5, 16, 3)], (normal(STEPS, 12, 8), normal(STEPS, 12, 3))),
    training(
        "vision_transformer",
        vision_transformer,
        VISION,
        (normal(STEPS, 6, 16, 16, 3), integers(STEPS, 6, low=0, high=10), keys()),
    ),
    training(
        "gradient_penalty",
        gradient_penalty,
        {"g1": small(4, 16), "g2": small(16, 8), "c1": small(8, 16), "c2": small(16, 1)},
        (normal(STEPS, 16, 8), keys()),
        1e-3,
    ),
    training("q_learning", q_learning, {"a": small(4, 32), "b": small(32, 3)}, keys()),
    training(
        "sound", sound, {"a": small(5, 4, 16), "b": small(3, 1, 16), "c": small(3, 16, 4)}, normal(STEPS, 4, 32, 4)
    ),
    training(
        "volumes",
        volumes,
        [small(3, 3, 3, 2, 4), small(2, 2, 2, 4, 4), small(4, 3)],
        (normal(STEPS, 2, 8, 8, 8, 2), normal(STEPS, 2, 3)),
    ),
    training("rematerialized", rematerialized, {"a": small(6, 32, 32), "b": small(6, 32)}, normal(STEPS, 16, 32)),
    training(
        "gaussian_process",
        gaussian_process,
        {"scale": small(), "length": small(), "noise": uniform(low=-2.0, high=-1.0)},
        (normal(STEPS, 30, 2), normal(STEPS, 30)),
    ),
    training("sorted_and_scanned", sorted_and_scanned, small(16, 16), normal(STEPS, 20, 16)),
    training("complex_weights", complex_weights, {"real": small(8, 8), "imaginary": small(8, 8)}, normal(STEPS, 5, 8)),
    training("state_space", state_space, {"a": small(8), "b": small(8, 4), "c": small(4, 8)}, normal(STEPS, 24, 3, 4)),
    training(
        "masked_language_model",
        masked_language_model,
        {"embedding": small(100, 32), "mix": small(32, 32), "scale": uniform(32)},
        (integers(STEPS, 4, 20, low=0, high=99), booleans(STEPS, 4, 20)),
        0.1,
    ),
    case(
        "scaled_half_precision",
        scaled_half_precision,
        [small(16, 32), small(32, 4)],
        (small(STEPS, 8, 16), normal(STEPS, 8, 4)),
        tolerance=(2e-3, 1e-4),
        because="products of float16 are rounded at different places",
    ),
]
