"""Recurrent layers, `torch.lstm` and its like, as one loop over time for each layer and direction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from .api import distinct, required, torch

_scan: Any = required("torch._higher_order_ops.scan").scan_op
_functional: Any = required("torch.nn.functional")

State = tuple[Any, ...]
"""The values that a cell carries from one step to the next, each (batch, size): the output, and the LSTM's cell."""


@dataclass(frozen=True)
class Cell:
    """One step of a recurrence, from the products of the step's input and of the last output with their weights."""

    forward: Callable[..., tuple[Any, list[Any], list[Any]]]
    """From both products and the state: the output, the rest of the next state, and what the gradient needs."""
    backward: Callable[..., tuple[Any, Any, Any, list[Any]]]
    """
    From what was kept, the state before, and gradients of the output and the rest of the state: the gradients of both
    products, of the last output beside its product (or None), and of the rest of the state before.
    """


def _of_sigmoid(gradient: Any, y: Any) -> Any:
    return gradient * (y * (1 - y))


def _of_tanh(gradient: Any, y: Any) -> Any:
    return gradient * (1 - y * y)


def _lstm(x: Any, p: Any, _h: Any, c: Any) -> tuple[Any, list[Any], list[Any]]:
    i, f, g, o = (x + p).chunk(4, -1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    cell = f * c + i * g
    bounded = cell.tanh()
    return o * bounded, [cell], [i, f, g, o, bounded]


def _lstm_backward(kept: Sequence[Any], state: State, dh: Any, dc: Any) -> tuple[Any, Any, Any, list[Any]]:
    (i, f, g, o, bounded), (_, c) = kept, state
    dc = dc + _of_tanh(dh * o, bounded)
    gates = [_of_sigmoid(dc * g, i), _of_sigmoid(dc * c, f), _of_tanh(dc * i, g), _of_sigmoid(dh * bounded, o)]
    da = torch.cat(gates, -1)
    return da, da, None, [dc * f]


def _gru(x: Any, p: Any, h: Any) -> tuple[Any, list[Any], list[Any]]:
    (xr, xz, xn), (hr, hz, hn) = x.chunk(3, -1), p.chunk(3, -1)
    r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
    n = (xn + r * hn).tanh()
    return (h - n) * z + n, [], [r, z, n, hn.clone()]


def _gru_backward(kept: Sequence[Any], state: State, dh: Any) -> tuple[Any, Any, Any, list[Any]]:
    (r, z, n, hn), (h,) = kept, state
    dn = _of_tanh(dh * (1 - z), n)
    dr, dz = _of_sigmoid(dn * hn, r), _of_sigmoid(dh * (h - n), z)
    return torch.cat([dr, dz, dn], -1), torch.cat([dr, dz, dn * r], -1), dh * z, []


def _plain(activation: Callable[[Any], Any], x: Any, p: Any, _h: Any) -> tuple[Any, list[Any], list[Any]]:
    y = activation(x + p)
    return y, [], [y]


def _tanh_backward(kept: Sequence[Any], _state: State, dh: Any) -> tuple[Any, Any, Any, list[Any]]:
    da = _of_tanh(dh, kept[0])
    return da, da, None, []


def _relu_backward(kept: Sequence[Any], _state: State, dh: Any) -> tuple[Any, Any, Any, list[Any]]:
    da = torch.where(kept[0] > 0, dh, 0)
    return da, da, None, []


_CELLS = {
    "lstm": Cell(_lstm, _lstm_backward),
    "gru": Cell(_gru, _gru_backward),
    "rnn_tanh": Cell(partial(_plain, torch.tanh), _tanh_backward),
    "rnn_relu": Cell(partial(_plain, torch.relu), _relu_backward),
}


def _before(first: Any, stack: Any) -> Any:
    """The values given to each step, from those given to the first one and those that the steps gave."""
    return torch.cat([first[None], stack[:-1]])


class _Recurrence(torch.autograd.Function):
    """
    The outputs of all steps (time, batch, size), then the last state.

    With a gradient of its own: torch's gradient of a loop stacks a copy of the weights for each step.
    """

    @staticmethod
    def forward(ctx: Any, cell: Cell, x: Any, weight: Any, bias: Any, projection: Any, *first: Any) -> tuple[Any, ...]:
        """`x`: the products (time, batch, gates). `weight` (gates, size), `bias` (gates) or None, `projection`: None
        or (outputs, size)."""
        count = len(first)
        given = [weight.t(), *([] if bias is None else [bias]), *([] if projection is None else [projection.t()])]

        def step(*values: Any) -> list[Any]:
            state, now, (by, *more) = values[:count], values[count], values[count + 1 :]
            product = state[0] @ by if bias is None else torch.addmm(more[0], state[0], by)
            y, rest, kept = cell.forward(now, product, *state)
            h = y if projection is None else y @ more[-1]
            return distinct([h, *rest, h, *rest, *([] if projection is None else [y]), *kept])

        found = _scan(step, distinct([one.clone() for one in first]), [x], tuple(given))
        last, stacks = found[:count], found[count:]
        ctx.cell, ctx.count, ctx.projects, ctx.biased = cell, count, projection is not None, bias is not None
        ctx.save_for_backward(weight, projection, *first, *stacks)
        return stacks[0], *last

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Any, ...]:
        cell, count, projects = ctx.cell, ctx.count, ctx.projects
        weight, projection, *saved = ctx.saved_tensors
        first, stacks = saved[:count], saved[count:]
        before = [_before(one, stack) for one, stack in zip(first, stacks, strict=False)]
        kept, given = stacks[count + projects :], [weight, *([projection] if projects else [])]

        def step(*values: Any) -> list[Any]:
            (dh, *rest), (dy, *more) = values[:count], values[count:]
            state, tail = more[:count], more[count:]
            kept_now, (by, *other) = tail[: len(kept)], tail[len(kept) :]
            dh = dh + dy
            dx, dp, direct, previous = cell.backward(kept_now, state, dh @ other[0] if projects else dh, *rest)
            through = dp @ by
            return distinct(
                [through if direct is None else through + direct, *previous, dx, dp, *([dh] if projects else [])]
            )

        dys, *last = gradients
        backwards = [one.flip(0) for one in (dys, *before, *kept)]
        found = _scan(step, distinct([one.clone() for one in last]), backwards, tuple(given))
        dfirst, (dx, dp, *dhs) = found[:count], [one.flip(0) for one in found[count:]]
        dweight = dp.flatten(0, 1).t() @ before[0].flatten(0, 1)
        dprojection = dhs[0].flatten(0, 1).t() @ stacks[count].flatten(0, 1) if projects else None
        return None, dx, dweight, dp.sum((0, 1)) if ctx.biased else None, dprojection, *dfirst


def _one_direction(cell: Cell, x: Any, state: State, weights: Sequence[Any], is_reversed: bool) -> tuple[Any, State]:
    """A layer in one direction: its outputs (time, batch, size) and its last state. Weights that it lacks are None."""
    of_input, of_state, input_bias, bias, projection = weights
    products = _functional.linear(x, of_input, input_bias)
    products = products.flip(0) if is_reversed else products
    # With autocast, all are what it makes of the products.
    rest = [None if one is None else one.to(products.dtype) for one in (of_state, bias, projection, *state)]
    outputs, *last = _Recurrence.apply(cell, products, *rest)
    return (outputs.flip(0) if is_reversed else outputs), tuple(last)


def _weights(params: Sequence[Any], has_biases: bool, count: int) -> list[list[Any]]:
    """For each layer and direction: weights of input and state, their biases, and the projection."""
    length = len(params) // count
    found: list[list[Any]] = []
    for start in range(0, len(params), length):
        of_input, of_state, *rest = params[start : start + length]
        biases = [rest.pop(0), rest.pop(0)] if has_biases else [None, None]
        found.append([of_input, of_state, *biases, *(rest or [None])])
    return found


def _layers(
    cell: Cell,
    x: Any,
    first: Sequence[Any],
    params: Sequence[Any],
    has_biases: bool,
    num_layers: int,
    dropout: Any,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Any, ...]:
    """The outputs of the last layer, and each part of the last states, stacked (layers * directions, batch, size)."""
    directions = 2 if bidirectional else 1
    weights = _weights(params, has_biases, num_layers * directions)
    x = x.transpose(0, 1) if batch_first else x
    states: list[State] = []
    for layer in range(num_layers):
        outputs: list[Any] = []
        for direction in range(directions):
            number = layer * directions + direction
            state = tuple(one[number] for one in first)
            found, last = _one_direction(cell, x, state, weights[number], direction == 1)
            outputs.append(found)
            states.append(last)
        x = torch.cat(outputs, -1) if bidirectional else outputs[0]
        if train and layer + 1 < num_layers and dropout != 0:
            x = _functional.dropout(x, dropout)
    return (x.transpose(0, 1) if batch_first else x), *(torch.stack(part) for part in zip(*states, strict=True))


def _replacing(original: Callable[..., Any], cell: Cell) -> Callable[..., Any]:
    """`original`, such as `torch.gru`, with loops. torch unrolls packed sequences, whose batches shrink on the way."""

    def layers(*args: Any) -> Any:
        x, first, params, *rest = args
        if isinstance(params, torch.Tensor):
            return original(*args)
        return _layers(cell, x, [first] if isinstance(first, torch.Tensor) else first, params, *rest)

    return layers


def replacements() -> dict[Any, Callable[..., Any]]:
    """Replacements of `torch.lstm` and its like, which torch unrolls without the dropout between layers."""
    return {getattr(torch, name): _replacing(getattr(torch, name), cell) for name, cell in _CELLS.items()}


def decompositions() -> dict[Any, Callable[..., Any]]:
    """The same for exported programs, which have `aten.lstm.input` in place of `torch.lstm`."""
    ops = {getattr(torch.ops.aten, name).input: cell for name, cell in _CELLS.items()}
    return {op: _replacing(op, cell) for op, cell in ops.items()}
