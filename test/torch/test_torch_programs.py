"""Programs of Dynamo that are more than plain graphs: checkpoints, graphs within graphs, autocast, hooks, parametrizations."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from xhlo.frontends.torch.backend import xhlo
from xhlo.frontends.torch.errors import FallbackWarning


class Layers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.norm = nn.Linear(6, 8), nn.Linear(8, 6), nn.LayerNorm(6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.second(F.gelu(self.first(x))))


def same_training(model: nn.Module, rough: float = 1e-5, dtype: torch.dtype | None = None) -> None:
    """A step's loss and gradients, from the same seed; with arithmetic in `dtype` if one is given."""
    other = copy.deepcopy(model)
    found: list[Any] = []
    x = torch.randn(3, 6)
    for own, run in ((model, model), (other, torch.compile(other, backend=xhlo))):
        torch.manual_seed(1)
        with torch.autocast("cpu", dtype=dtype, enabled=dtype is not None):
            y = run(x)
        y.float().exp().sum().backward()
        found.append([y.detach(), *(one.grad for one in own.parameters())])
    torch.testing.assert_close(found[1], found[0], rtol=rough, atol=rough)


def test_checkpoints_draw_the_same_numbers_again() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two, self.drop = Layers(), Layers(), nn.Dropout(0.3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = checkpoint(lambda y: self.drop(self.one(y)), x, use_reentrant=False)
            return checkpoint(lambda y: self.drop(self.two(y)), self.drop(x), use_reentrant=False)

    with warnings.catch_warnings():
        warnings.simplefilter("error", FallbackWarning)
        same_training(Twice())


def test_autocast() -> None:
    same_training(Layers(), rough=0.1, dtype=torch.bfloat16)


def test_hooks_and_parametrizations() -> None:
    model = Layers()
    model.first.register_forward_hook(lambda module, given, found: found * 2)
    model.second.register_forward_pre_hook(lambda module, given: (given[0] + 1,))
    model.second.register_full_backward_hook(lambda module, inward, outward: (inward[0] * 3,))
    nn.utils.parametrizations.weight_norm(model.first)
    nn.utils.parametrizations.spectral_norm(model.second)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FallbackWarning)
        same_training(model, rough=1e-4)


def test_encoders_without_gradients() -> None:
    """In inference torch takes whole layers and attentions as one operation."""
    layer = nn.TransformerEncoderLayer(8, 2, 16, activation="gelu", norm_first=True, batch_first=True)
    models = [
        nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2).eval(),
        layer.eval(),
        nn.MultiheadAttention(8, 2, batch_first=True).eval(),
    ]
    x, padding = torch.randn(2, 3, 8), torch.tensor([[False, False, True], [False, False, False]])

    def function(x: torch.Tensor, padding: torch.Tensor) -> Any:
        return (
            models[0](x), models[1](x, src_key_padding_mask=padding),
            models[2](x, x, x, key_padding_mask=padding), models[2](x, x, x, need_weights=False)[0],
        )  # fmt: skip

    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("error", FallbackWarning)
        torch.testing.assert_close(torch.compile(function, backend=xhlo)(x, padding), function(x, padding))


def test_norms_of_lists() -> None:
    model = Layers()
    model(torch.randn(3, 6)).sum().backward()
    clip = torch.compile(lambda: nn.utils.clip_grad_norm_(model.parameters(), 0.1), backend=xhlo)
    expected = torch.cat([one.grad.flatten() for one in model.parameters()]).norm()
    with warnings.catch_warnings():
        warnings.simplefilter("error", FallbackWarning)
        torch.testing.assert_close(clip(), expected)
    total = torch.cat([one.grad.flatten() for one in model.parameters()]).norm()
    torch.testing.assert_close(total, torch.tensor(0.1), rtol=1e-4, atol=0)


def test_graphs_within_graphs() -> None:
    from torch._higher_order_ops.scan import scan
    from torch._higher_order_ops.while_loop import while_loop

    def choose(x: torch.Tensor) -> Any:
        return torch.cond(x.sum() > 0, lambda x: (x * 2, x[0] + 1), lambda x: (x - y, x.sum()), (x,))

    def repeat(x: torch.Tensor) -> Any:
        return while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x * 2 + y), (torch.tensor(0), x))

    def function(x: torch.Tensor) -> Any:
        return choose(x), repeat(x), scan(lambda c, x: (c + x, c * x), x * 0, x.tile(4, 1))

    y = torch.ones(3)
    compiled = torch.compile(function, backend=xhlo)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FallbackWarning)
        for x in (torch.ones(3), -torch.ones(3)):
            torch.testing.assert_close(compiled(x), function(x))


def test_attention_with_fewer_heads_of_keys() -> None:
    """Each head of keys and values serves several of queries, and is given the sum of their gradients."""
    torch.manual_seed(0)
    given = [torch.randn(2, heads, 5, 8, requires_grad=True) for heads in (6, 2, 2)]

    def function(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)

    expected = function(*given)
    found = torch.compile(function, backend=xhlo, options={"strict": True})(*given)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
    weight = torch.randn(expected.shape)
    of_found, of_expected = (torch.autograd.grad((one * weight).sum(), given) for one in (found, expected))
    torch.testing.assert_close(of_found, of_expected, rtol=1e-5, atol=1e-5)


def test_draws_after_those_of_operations_that_torch_runs() -> None:
    """How many numbers `poisson` and `rrelu` take depends on elements: later draws must wait for them."""

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        first = torch.rand(3), torch.poisson(x.exp())
        noise = F.rrelu(x - 1, training=True), F.dropout(x, 0.5)
        kept = checkpoint(lambda y: F.dropout(y, 0.5).sin(), x, use_reentrant=False)
        return *first, *noise, kept, torch.poisson(x), torch.randn(2), torch.randperm(5)

    found: list[Any] = []
    for run in (function, torch.compile(function, backend=xhlo)):
        torch.manual_seed(1)
        x = torch.rand(4, 4, generator=torch.Generator().manual_seed(0)).requires_grad_()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FallbackWarning)
            results = run(x)
        (gradient,) = torch.autograd.grad(sum(one.sum() for one in results[2:5]), x)
        found.append([*results, gradient, torch.rand(2)])
    torch.testing.assert_close(found[1], found[0])


def test_operations_of_others_run_in_each_call() -> None:
    """One without arguments is no constant, and may take random numbers, before those that later operations draw."""

    @torch.library.custom_op("xhlo_test::noise", mutates_args=())
    def noise(count: int) -> torch.Tensor:
        return torch.rand(count)

    noise.register_fake(lambda count: torch.empty(count))

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return torch.rand(2), x + noise(3), torch.rand(2)

    found: list[Any] = []
    for run in (function, torch.compile(function, backend=xhlo)):
        torch.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FallbackWarning)
            found.append([run(torch.zeros(3)) for _ in range(2)])
    torch.testing.assert_close(found[1], found[0])


def test_bernoulli_draws_in_the_order_that_its_source_says() -> None:
    def f(x: Any) -> list[Any]:
        y = x.detach().t()
        mask = y.mul(2).bernoulli_(0.3)
        kept = checkpoint(lambda z: F.dropout(z.t(), 0.5).sin(), x, use_reentrant=False)
        return [torch.bernoulli(y, 0.3), y.bernoulli(0.3), mask, kept]

    found: list[Any] = []
    for function in (f, torch.compile(f, backend=xhlo, options={"strict": True})):
        torch.manual_seed(3)
        x = torch.randn(5, 7).requires_grad_()
        results = function(x)
        (gradient,) = torch.autograd.grad(results[-1].sum(), x)
        found.append([*results, gradient, torch.rand(2)])
    torch.testing.assert_close(found[1], found[0])


@pytest.mark.filterwarnings("ignore:.*a tensor on the device meta")
def test_tensors_without_memory_are_left_to_torch() -> None:
    """Programs read and write at addresses, which tensors on other devices do not have."""

    def both(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y.add_(1)
        return x * 2 + 1, y.sum(), torch.ones(3, device="meta") * 2, y.to("meta")

    x, y = torch.ones(2), torch.ones(4, device="meta")
    found = torch.compile(both, backend=xhlo)(x, y)
    torch.testing.assert_close(found[0], torch.full((2,), 3.0))
    assert [(one.device.type, tuple(one.shape)) for one in found[1:]] == [("meta", ()), ("meta", (3,)), ("meta", (4,))]
    with pytest.raises(Exception, match="aten.add.Tensor is not compiled: a tensor on the device meta"):
        torch.compile(lambda y: y + 1, backend=xhlo, options={"strict": True})(y)


def test_dropout_of_a_batch_of_vmap() -> None:
    """A tensor to be filled with draws repeats one element by strides of 0; eager mode draws for each place."""

    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.func.vmap(lambda row: F.dropout(row, 0.5), randomness="different")(x)

    found: list[torch.Tensor] = []
    for run in (function, torch.compile(function, backend=xhlo)):
        torch.manual_seed(5)
        found.append(run(torch.ones(4, 9)))
    assert torch.equal(*found)


def test_nested_tensors() -> None:
    """A list of lengths is a size that no program reads; tensors of other lengths and one total share a program."""

    def function(x: torch.Tensor) -> torch.Tensor:
        return (x @ weight).relu()

    weight = torch.randn(4, 3)
    run = torch.compile(function, backend=xhlo)
    for lengths in ((2, 3), (4, 1)):
        x = torch.nested.nested_tensor([torch.randn(one, 4) for one in lengths], layout=torch.jagged)
        for found, expected in zip(run(x.requires_grad_()).unbind(), function(x).unbind(), strict=True):
            torch.testing.assert_close(found, expected)
        (found,), (expected,) = (torch.autograd.grad(one(x).values().sum(), x) for one in (run, function))
        torch.testing.assert_close(found.values(), expected.values())


def test_gradients_of_complex_numbers_in_a_product() -> None:
    x = torch.randn(3, dtype=torch.complex64, requires_grad=True)

    def function(x: torch.Tensor) -> torch.Tensor:
        return (x * 2j + 1).abs().sum()

    (found,), (expected,) = (
        torch.autograd.grad(run(x), x) for run in (torch.compile(function, backend=xhlo), function)
    )
    torch.testing.assert_close(found, expected)


def test_sizes_that_elements_decide_within_a_graph() -> None:
    """With Dynamo's options that keep `nonzero` and `item` in a graph; draws keep their order."""

    def function(x: torch.Tensor, w: torch.Tensor) -> Any:
        rows = torch.nonzero(x[:, 0] > 0).squeeze(1)
        return torch.zeros_like(x).index_add(0, rows, (x[rows] @ w).sin()), rows.shape[0]

    def drawing(x: torch.Tensor) -> Any:
        return torch.rand(2) + x.sum().long().item(), x[x > 0] * torch.rand(1)

    options = {"capture_scalar_outputs": True, "capture_dynamic_output_shape_ops": True}
    with torch._dynamo.config.patch(options), warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        run = torch.compile(function, backend=xhlo, fullgraph=True)
        w = torch.randn(4, 4, requires_grad=True)
        for _ in range(2):
            x = torch.randn(6, 4)
            (found, rows), (expected, count) = run(x, w), function(x, w)
            assert rows == count
            torch.testing.assert_close(found, expected)
            (found,), (expected,) = (torch.autograd.grad(one.square().sum(), w) for one in (found, expected))
            torch.testing.assert_close(found, expected)
        each: list[Any] = []
        for one in (drawing, torch.compile(drawing, backend=xhlo, fullgraph=True)):
            torch.manual_seed(3)
            each.append(one(torch.tensor([1.5, 2.0, -1.0])))
        torch.testing.assert_close(each[1], each[0])
        with pytest.raises(Exception, match="elements decide the size of its result"):
            torch.compile(function, backend=xhlo, fullgraph=True, options={"strict": True})(x, w)
