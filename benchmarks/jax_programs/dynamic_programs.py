"""Recurrences over sequences, graphs and trees: alignments, paths, and how often states and labels occur."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from .program import Programs

PROGRAMS = Programs("dynamic_programs")
program = PROGRAMS.add

Tree = tuple[Array, Array, Array, Array, Array]


@program(lambda d: (d.integers(0, 4, 16, 60), d.integers(0, 4, 16, 70)))
def edit_distance(first: Array, second: Array) -> Array:
    """16 pairs of words."""

    def of_pair(a: Array, b: Array) -> Array:
        def row(before: Array, letter: tuple[Array, Array]) -> tuple[Array, None]:
            number, character = letter
            best = jnp.minimum(before[:-1] + (b != character), before[1:] + 1)

            def cell(left: Array, best: Array) -> tuple[Array, Array]:
                least = jnp.minimum(left + 1, best)
                return least, least

            return jnp.concatenate([number[None], lax.scan(cell, number, best)[1]]), None

        return lax.scan(row, jnp.arange(71), (jnp.arange(1, 61), a))[0][-1]

    return jax.vmap(of_pair)(first, second)


@program(lambda d: (d.normal(8, 64, 32), d.integers(1, 32, 8, 12), d.integers(40, 65, 8), d.integers(5, 13, 8)))
def connectionist_temporal_classification(
    scores: Array, labels: Array, times: Array, lengths: Array
) -> tuple[Array, Array]:
    """The loss of 8 sequences, and its gradient."""

    def of_one(scores: Array, labels: Array, time: Array, length: Array) -> Array:
        logs = jax.nn.log_softmax(scores)
        padded = jnp.zeros(25, jnp.int32).at[1::2].set(labels)
        may_skip = jnp.zeros(25, bool).at[2:].set((padded[2:] != 0) & (padded[2:] != padded[:-2]))
        begin = jnp.full(25, -1e30).at[0].set(logs[0, 0]).at[1].set(logs[0, padded[1]])

        def step(state: Array, at: Array) -> tuple[Array, None]:
            one = jnp.concatenate([jnp.array([-1e30]), state[:-1]])
            two = jnp.where(may_skip, jnp.concatenate([jnp.full(2, -1e30), state[:-2]]), -1e30)
            after = jnp.logaddexp(jnp.logaddexp(state, one), two) + logs[at, padded]
            return jnp.where(at < time, after, state), None

        state = lax.scan(step, begin, jnp.arange(1, 64))[0]
        return -jnp.logaddexp(state[2 * length], state[2 * length - 1])

    return jax.value_and_grad(lambda x: jnp.mean(jax.vmap(of_one)(x, labels, times, lengths)))(scores)


@program(lambda d: (d.normal(16, 50, 9), d.normal(9, 9)))
def viterbi_paths(emissions: Array, transitions: Array) -> tuple[Array, Array]:
    """The normalization of 16 conditional random fields, and their best paths."""

    def of_one(emissions: Array) -> tuple[Array, Array]:
        def forward(a: Array, e: Array) -> tuple[Array, None]:
            return jax.nn.logsumexp(a[:, None] + transitions, 0) + e, None

        def best(d: Array, e: Array) -> tuple[Array, Array]:
            scores = d[:, None] + transitions
            return jnp.max(scores, 0) + e, jnp.argmax(scores, 0)

        def back(state: Array, before: Array) -> tuple[Array, Array]:
            return before[state], before[state]

        total = jax.nn.logsumexp(lax.scan(forward, emissions[0], emissions[1:])[0])
        last, before = lax.scan(best, emissions[0], emissions[1:])
        end = jnp.argmax(last)
        return total, jnp.append(lax.scan(back, end, before, reverse=True)[1], end)

    return jax.vmap(of_one)(emissions)


@program(lambda d: (d.normal(8, 8), d.normal(8, 12), d.integers(0, 12, 32, 60), d.normal(8)))
def expected_transitions(a: Array, b: Array, observed: Array, start: Array) -> tuple[Array, Array]:
    """Forward and backward passes of a hidden Markov model over 32 sequences, in logarithms."""
    a, b, start = jax.nn.log_softmax(a), jax.nn.log_softmax(b), jax.nn.log_softmax(start)

    def of_one(observed: Array) -> tuple[Array, Array]:
        e = b[:, observed].T

        def forward(x: Array, e: Array) -> tuple[Array, Array]:
            x = jax.nn.logsumexp(x[:, None] + a, 0) + e
            return x, x

        def backward(x: Array, e: Array) -> tuple[Array, Array]:
            after = jax.nn.logsumexp(a + e + x, 1)
            return after, x

        first = start + e[0]
        later = lax.scan(forward, first, e[1:])[1]
        before = jnp.concatenate([first[None], later[:-1]])
        after = lax.scan(backward, jnp.zeros(8), e[1:], reverse=True)[1]
        total = jax.nn.logsumexp(later[-1])
        return total, jnp.sum(jnp.exp(before[:, :, None] + a + (e[1:] + after)[:, None] - total), 0)

    totals, counts = jax.vmap(of_one)(observed)
    return jnp.sum(totals), jnp.sum(counts, 0)


@program(lambda d: (d.integers(0, 2000, 16000), d.integers(0, 2000, 16000)))
def page_rank(sources: Array, targets: Array) -> Array:
    """30 steps over 16000 edges of 2000 nodes."""
    degree = jnp.zeros(2000).at[sources].add(1)

    def step(_: Array, rank: Array) -> Array:
        given = jnp.where(degree > 0, rank / jnp.maximum(degree, 1), 0)
        lost = jnp.sum(jnp.where(degree == 0, rank, 0))
        return 0.15 / 2000 + 0.85 * (jax.ops.segment_sum(given[sources], targets, 2000) + lost / 2000)

    return lax.fori_loop(0, 30, step, jnp.full(2000, 1 / 2000))


@program(lambda d: (d.integers(0, 500, 4000), d.integers(0, 500, 4000), d.uniform(0.1, 1, 4000)))
def shortest_paths(sources: Array, targets: Array, lengths: Array) -> Array:
    """Bellman and Ford's method until nothing changes."""

    def step(state: tuple[Array, Array]) -> tuple[Array, Array]:
        after = state[0].at[targets].min(state[0][sources] + lengths)
        return after, jnp.any(after < state[0])

    return lax.while_loop(lambda state: state[1], step, (jnp.full(500, jnp.inf).at[0].set(0), jnp.array(True)))[0]


@program(lambda d: (d.normal(128, 2), d.normal(160, 2)))
def optimal_transport(x: Array, y: Array) -> Array:
    """Sinkhorn's method in logarithms, until it converges or 50 times."""
    cost = jnp.sum((x[:, None] - y[None]) ** 2, -1)
    a, b = -jnp.log(128.0), -jnp.log(160.0)

    def step(state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        f, g, count, _ = state
        after = -0.1 * jax.nn.logsumexp((g[None] - cost) / 0.1 + b, 1)
        g = -0.1 * jax.nn.logsumexp((after[:, None] - cost) / 0.1 + a, 0)
        return after, g, count + 1, jnp.max(jnp.abs(after - f))

    begin = jnp.zeros(128), jnp.zeros(160), jnp.array(0), jnp.array(jnp.inf)
    f, g, _, _ = lax.while_loop(lambda state: (state[2] < 50) & (state[3] > 1e-4), step, begin)
    return jnp.sum(jnp.exp((f[:, None] + g[None] - cost) / 0.1 + a + b) * cost)


@program(lambda d: (d.uniform(0, 1, 60),))
def optimal_search_tree(weights: Array) -> Array:
    """The least cost of a binary search tree of 60 keys: intervals of one length at a time, with gathers of pairs."""
    n = weights.shape[0]
    sums = jnp.concatenate([jnp.zeros(1), jnp.cumsum(weights)])
    first, roots = jnp.arange(1, n + 1), jnp.arange(1, n + 1)[None]

    def of_length(length: Array, costs: Array) -> Array:
        last = jnp.minimum(first + length, n)
        both = costs[first[:, None], roots - 1] + costs[jnp.minimum(roots + 1, n + 1), last[:, None]]
        inside = (roots >= first[:, None]) & (roots <= last[:, None])
        least = jnp.where(inside, both, jnp.inf).min(1) + sums[last] - sums[first - 1]
        fits = first + length <= n
        return costs.at[jnp.where(fits, first, 0), jnp.where(fits, last, n + 1)].set(jnp.where(fits, least, 0))

    begin = jnp.zeros((n + 2, n + 2)).at[first, first].set(weights)
    return lax.fori_loop(1, n, of_length, begin)[1, n]


@program(lambda d: (d.integers(0, 4, 2, 60), d.uniform(-1, 0, 8, 8, 8), d.uniform(-1, 0, 8, 4)))
def parse_of_grammar(words: Array, rules: Array, letters: Array) -> Array:
    """The best parses of two words by a grammar of eight symbols (Cocke, Younger and Kasami)."""
    n = words.shape[1]
    places = jnp.arange(n)

    def of_word(word: Array) -> Array:
        def of_length(length: Array, table: Array) -> Array:
            def cell(first: Array) -> Array:
                rest = table[jnp.minimum(first + places + 1, n - 1), jnp.maximum(length - places - 1, 0)]
                pairs = table[first][:, :, None] + rest[:, None]
                best = jnp.where((places < length)[:, None, None], pairs, -1e9).max(0)
                return (rules + best).max((1, 2))

            fits = (places + length < n)[:, None]
            found = jnp.where(fits, jax.vmap(cell)(places), -1e9)
            return lax.dynamic_update_slice(table, found[:, None], (0, length, 0))

        begin = jnp.full((n, n, 8), -1e9).at[:, 0].set(letters[:, word].T)
        return lax.fori_loop(1, n, of_length, begin)[0, n - 1].max()

    return jax.vmap(of_word)(words)


@program(lambda d: (d.normal(32, 200, 2),))
def convolutional_code(received: Array) -> Array:
    """The likeliest bits of 32 messages in a code of 64 states."""
    before = np.array([[state >> 1, (state >> 1) | 32] for state in range(64)])
    words = np.array([[(last << 1) | (state & 1) for last in before[state]] for state in range(64)])
    signs = [[[1 - 2 * (int(word & taps).bit_count() % 2) for taps in (0o171, 0o133)] for word in row] for row in words]
    sent = jnp.array(signs, jnp.float32)

    def of_one(received: Array) -> Array:
        def step(metric: Array, symbol: Array) -> tuple[Array, Array]:
            candidates = metric[before] + jnp.sum(sent * symbol, -1)
            return jnp.max(candidates, 1) - jnp.max(candidates), jnp.argmax(candidates, 1).astype(jnp.uint8)

        def back(state: Array, choices: Array) -> tuple[Array, Array]:
            return jnp.asarray(before)[state, choices[state]], state & 1

        metric, choices = lax.scan(step, jnp.full(64, -1e3).at[0].set(0.0), received)
        return lax.scan(back, jnp.argmax(metric), choices, reverse=True)[1]

    return jax.vmap(of_one)(received)


@program(lambda d: (d.normal(8, 8), d.normal(4, 8, 8, scale=0.5)))
def tree_search(roots: Array, moves: Array) -> tuple[Array, Array]:
    """Monte Carlo tree searches: down by upper confidence bounds to a new node, and its value back up to the root."""
    nodes, actions = 33, moves.shape[0]

    def scores(tree: Tree, node: Array) -> Array:
        children, visits, values, _, _ = tree
        child = children[node]
        count = jnp.where(child >= 0, visits[child], 0)
        mean = jnp.where(child >= 0, values[child] / jnp.maximum(visits[child], 1), 0.0)
        return mean + 1.5 * jnp.sqrt(visits[node] + 1.0) / (1 + count) + 0.01 * jnp.arange(actions)

    def simulate(new: Array, tree: Tree) -> Tree:
        children, visits, values, states, parents = tree

        def best(node: Array) -> Array:
            return jnp.argmax(scores(tree, node)).astype(jnp.int32)

        def down(at: tuple[Array, Array]) -> tuple[Array, Array]:
            node = children[at]
            return node, best(node)

        root = jnp.int32(0)
        node, action = lax.while_loop(lambda at: children[at] >= 0, down, (root, best(root)))
        state = jnp.tanh(states[node] @ moves[action])
        value = state.sum()

        def up(carried: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
            node, visits, values, value = carried
            return parents[node], visits.at[node].add(1), values.at[node].add(value), value * 0.99

        children, states = children.at[node, action].set(new), states.at[new].set(state)
        parents = parents.at[new].set(node)
        _, visits, values, _ = lax.while_loop(lambda carried: carried[0] >= 0, up, (new, visits, values, value))
        return children, visits, values, states, parents

    def search(root: Array) -> tuple[Array, Array]:
        children, parents = jnp.full((nodes, actions), -1, jnp.int32), jnp.full(nodes, -1, jnp.int32)
        states = jnp.zeros((nodes, root.shape[0])).at[0].set(root)
        tree = (children, jnp.zeros(nodes, jnp.int32), jnp.zeros(nodes), states, parents)
        children, visits, values, _, _ = lax.fori_loop(1, nodes, simulate, tree)
        return visits[children[0]], values[0]

    return jax.vmap(search)(roots)


@program(lambda d: (d.integers(0, 500, 2000), d.integers(0, 500, 2000)))
def connected_by_edges(starts: Array, ends: Array) -> tuple[Array, Array]:
    """Union-find: 2000 edges one by one, each after two searches for roots; which of them joined two parts."""

    def join(parents: Array, edge: tuple[Array, Array]) -> tuple[Array, Array]:
        def root(node: Array) -> Array:
            return lax.while_loop(lambda at: parents[at] != at, lambda at: parents[at], node)

        a, b = root(edge[0]), root(edge[1])
        return parents.at[jnp.maximum(a, b)].set(jnp.minimum(a, b)), a != b

    return lax.scan(join, jnp.arange(500), (starts, ends))


@program(lambda d: (d.integers(0, 100_000, 200),))
def heap_of_pushes(keys: Array) -> Array:
    """A binary heap after 200 pushes, each of which goes up while it is less than its parent."""

    def push(heap: Array, pushed: tuple[Array, Array]) -> tuple[Array, None]:
        key, place = pushed

        def less(state: tuple[Array, Array]) -> Array:
            heap, at = state
            return (at > 0) & (heap[at] < heap[(at - 1) // 2])

        def up(state: tuple[Array, Array]) -> tuple[Array, Array]:
            heap, at = state
            parent = (at - 1) // 2
            return heap.at[at].set(heap[parent]).at[parent].set(heap[at]), parent

        return lax.while_loop(less, up, (heap.at[place].set(key), place))[0], None

    return lax.scan(push, jnp.full(256, 2**30), (keys, jnp.arange(200)))[0]
