"""PyTorch, eager and through torch.compile, in its own layouts: channels first, and weights that its functions take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from .rows import Arguments, Row

SYSTEMS = ("torch", "torch.compile")
VERSIONS = dict.fromkeys(SYSTEMS, torch.__version__)


def layernorm(x: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], gain, bias)


def chain(x: Tensor) -> Tensor:
    a = torch.tanh(x)
    b = torch.exp(a) + x
    c = torch.log(b * b + 1.0)
    return torch.exp(-torch.tanh(c * 0.5)) * c + a


def black_scholes(price: Tensor, strike: Tensor, years: Tensor) -> tuple[Tensor, Tensor]:
    root = 0.3 * torch.sqrt(years)
    d1 = (torch.log(price / strike) + 0.065 * years) / root
    late = strike * torch.exp(-0.02 * years)
    call = price * normal_cdf(d1) - late * normal_cdf(d1 - root)
    return call, call - price + late


def normal_cdf(x: Tensor) -> Tensor:
    return 0.5 * (1 + torch.erf(x * 0.7071067811865476))


def mlp(x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor) -> Tensor:
    return torch.addmm(b2, F.gelu(torch.addmm(b1, x, w1), approximate="tanh"), w2)


def descended(loss: Tensor, params: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """The parameters after a step, and the loss."""
    gradients = torch.autograd.grad(loss, params)
    with torch.no_grad():
        return *(p - 0.1 * g for p, g in zip(params, gradients, strict=True)), loss.detach()


def mlp_step(w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor, x: Tensor, labels: Tensor) -> tuple[Tensor, ...]:
    loss = F.cross_entropy(torch.addmm(b2, F.relu(torch.addmm(b1, x, w1)), w2), labels)
    return descended(loss, (w1, b1, w2, b2))


def conv2d(x: Tensor, kernel: Tensor) -> Tensor:
    return F.conv2d(x, kernel, padding=1)


def residual_block(x: Tensor, k1: Tensor, k2: Tensor, b1: Tensor, b2: Tensor) -> Tensor:
    return F.relu(F.conv2d(F.relu(F.conv2d(x, k1, b1, padding=1)), k2, b2, padding=1) + x)


def convnet_step(k1: Tensor, k2: Tensor, w1: Tensor, w2: Tensor, x: Tensor, labels: Tensor) -> tuple[Tensor, ...]:
    h = F.max_pool2d(F.relu(conv2d(x, k1)), 2)
    h = F.max_pool2d(F.relu(conv2d(h, k2)), 2).permute(0, 2, 3, 1).reshape(x.shape[0], -1)
    return descended(F.cross_entropy(F.relu(h @ w1) @ w2, labels), (k1, k2, w1, w2))


def lstm_module(inputs: Tensor, w: Tensor, u: Tensor, bias: Tensor) -> Callable[[], Tensor]:
    module = torch.nn.LSTM(inputs.shape[-1], u.shape[0])
    with torch.no_grad():
        for parameter, value in zip(module.parameters(), (w.T, u.T, bias, 0 * bias), strict=True):
            parameter.copy_(value)
    return lambda: module(inputs)[0]


def block(x: Tensor, heads: int, weights: tuple[Tensor, ...]) -> Tensor:
    g1, b1, g2, b2, qkv, out, up, down = weights
    batch, length, width = x.shape
    q, k, v = (layernorm(x, g1, b1) @ qkv).reshape(batch, length, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    x = x + mixed.transpose(1, 2).reshape(batch, length, width) @ out
    return x + F.gelu(layernorm(x, g2, b2) @ up, approximate="tanh") @ down


def transformer_step(
    params: tuple[Tensor, ...], first: tuple[Tensor, ...], second: tuple[Tensor, ...], tokens: Tensor
) -> tuple[Tensor, ...]:
    x = F.embedding(tokens, params[0]) + params[1]
    for start in range(2, len(params), 8):
        x = block(x, 4, params[start : start + 8])
    logits = (x @ params[0].T)[:, :-1]
    loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), tokens[:, 1:].reshape(-1))
    gradients = torch.autograd.grad(loss, params)
    with torch.no_grad():
        first = tuple(0.9 * m + 0.1 * g for m, g in zip(first, gradients, strict=True))
        second = tuple(0.999 * v + 0.001 * g * g for v, g in zip(second, gradients, strict=True))
        changed = zip(params, first, second, strict=True)
        params = tuple(p - 1e-3 * m / (torch.sqrt(v) + 1e-8) for p, m, v in changed)
    return *params, *first, *second, loss.detach()


def mandelbrot(x: Tensor, y: Tensor) -> Tensor:
    x, y = x[None], y[:, None]
    a = b = torch.zeros(y.shape[0], x.shape[1])
    count = torch.zeros(a.shape, dtype=torch.int32)
    for _ in range(100):
        inside = a * a + b * b < 4
        a, b = torch.where(inside, a * a - b * b + x, a), torch.where(inside, 2 * a * b + y, b)
        count = count + inside
    return count


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "mean": lambda x, y: torch.mean(3 * x * x + y),
    "sum_of_product": lambda x, y, z: torch.sum(x + y * z),
    "chain": chain,
    "black_scholes": black_scholes,
    "softmax": lambda x: torch.softmax(x, -1),
    "layernorm": layernorm,
    "matmul_1024": torch.matmul,
    "matmul_2048": torch.matmul,
    "mlp": mlp,
    "mlp_step": mlp_step,
    "matmul_bf16": torch.matmul,
    "matmul_int8": torch._int_mm,
    "attention": F.scaled_dot_product_attention,
    "conv2d": conv2d,
    "residual_block": residual_block,
    "convnet_step": convnet_step,
    "transformer_block": lambda x, *weights: block(x, 8, weights),
    "transformer_step": transformer_step,
    "sort": lambda x: torch.sort(x)[0],
    "cumsum": lambda x: torch.cumsum(x, 0),
    "top_k": lambda x: torch.topk(x, 100),
    "gather": lambda table, rows: table[rows],
    "scatter_add": lambda table, rows, updates: table.index_add(0, rows, updates),
    "transpose": lambda x: x.T.contiguous(),
    "reduce_0": lambda x: torch.sum(x, 0),
    "reduce_1": lambda x: torch.sum(x, 1),
    "mandelbrot": mandelbrot,
    "fft": torch.fft.fft,
    "cholesky": torch.linalg.cholesky,
    "small_add": torch.add,
}
STEPS = {"mlp_step": 4, "convnet_step": 4}
"""Training steps, and how many of their arguments are parameters."""
PICTURES = ("conv2d", "residual_block", "convnet_step")
"""Rows whose arguments of four dimensions are pictures with channels last, or kernels in the order HWIO."""


def tensor(x: Any) -> Any:
    """The same values for torch, which indexes by i64."""
    if isinstance(x, tuple):
        return tuple(map(tensor, x))
    if x.dtype.name == "bfloat16":
        return torch.from_numpy(x.astype(np.float32)).bfloat16()
    return torch.from_numpy(x.astype(np.int64) if x.dtype == np.int32 else x)


def to_torch(row: Row, arguments: Arguments) -> list[Any]:
    """Tensors; pictures in torch's order of dimensions and kept channels last in memory, as torch is fastest."""
    tensors = [tensor(x) for x in arguments]
    if row.name in PICTURES:
        for place, x in enumerate(tensors):
            if x.ndim == 4:
                order = (3, 2, 0, 1) if x.shape[0] == x.shape[1] == 3 else (0, 3, 1, 2)
                tensors[place] = x.permute(order).contiguous(memory_format=torch.channels_last)
    for x in tensors[: STEPS.get(row.name, 0)]:
        x.requires_grad_()
    if row.name == "transformer_step":
        for x in tensors[0]:
            x.requires_grad_()
    return tensors


def back(row: Row, results: Any) -> Any:
    """Pictures and kernels in JAX's order again, to be compared."""
    found = list(results) if isinstance(results, (tuple, list)) else [results]
    if row.name in PICTURES:
        kernel = row.name == "convnet_step"
        found = [x.permute((2, 3, 1, 0) if kernel else (0, 2, 3, 1)) if x.ndim == 4 else x for x in found]
    return [x.detach().float().numpy() if x.dtype == torch.bfloat16 else x.detach().numpy() for x in found]


def prepare(row: Row, system: str, arguments: Arguments) -> Callable[[], Any] | None:
    tensors = to_torch(row, arguments)
    if row.name == "lstm":
        run = lstm_module(*tensors)
        if system == "torch.compile":
            return None
    else:
        function = FUNCTIONS[row.name]
        if system == "torch.compile":
            function = torch.compile(function, dynamic=False)

        def run() -> Any:
            return function(*tensors)

    if row.name in STEPS or row.name == "transformer_step":
        return run
    return torch.inference_mode()(run)
