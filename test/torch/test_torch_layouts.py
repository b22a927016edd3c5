"""Arguments whose elements repeat in memory, by strides of 0, are passed as they are; images with the channels last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from graph_programs import compiled
from xhlo.frontends.torch import calls
from xhlo.frontends.torch.backend import xhlo
from xhlo.frontends.torch.memory import Stored, stored


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The shapes of arguments, as programs read them, that were copied into another layout."""
    found: list[tuple[int, ...]] = []
    real = calls._laid_out

    def laid_out(tensor: Any, wanted: Any) -> Any:
        given = real(tensor, wanted)
        if given is not tensor:
            found.append(tuple(given.shape))
        return given

    monkeypatch.setattr(calls, "_laid_out", laid_out)
    return found


def as_eager(function: Callable[..., Any], *arguments: torch.Tensor, **options: Any) -> None:
    run = torch.compile(function, backend=xhlo, options=options or None)
    torch.testing.assert_close(run(*arguments), function(*arguments))


@pytest.mark.parametrize("target", ["cpu", "simt"])
def test_repeated_elements_are_not_copied(copied: list[tuple[int, ...]], target: str) -> None:
    def function(a: Any, b: Any, c: Any, d: Any) -> Any:
        return a + b, c * 2, d.sum(1), a.reshape(-1)

    x = torch.randn(3, 4)
    b, d = torch.randn(4, 3).t()[:, None].expand(3, 2, 4), x[:, None].expand(3, 5, 4)
    as_eager(function, x[:, None].expand(3, 2, 4), b, torch.tensor(3.0).expand(2, 5), d, target=target)
    assert copied == []


def test_gaps_are_copied_once(copied: list[tuple[int, ...]]) -> None:
    as_eager(lambda x: x * 2, torch.randn(3, 8)[:, ::2, None].expand(3, 4, 100))
    assert copied == [(3, 4, 1)]


@pytest.mark.parametrize("dynamic", [False, True])
def test_layouts_that_change_between_calls(dynamic: bool) -> None:
    run = torch.compile(lambda x, y: x + y, backend=xhlo, dynamic=dynamic)
    for rows in (3, 5):
        x, y = torch.randn(rows, 4), torch.randn(4)
        for one in (x, y.expand(rows, 4), x[:, :1].expand(rows, 4), torch.randn(4, rows).t()):
            torch.testing.assert_close(run(x, one), x + one)


def test_gradients_and_values_kept_for_them() -> None:
    def function(x: Any, y: Any) -> Any:
        wide = (x.sin().sum(0, keepdim=True)).expand(3, 4)
        return (wide * y).exp(), wide

    def gradients(run: Callable[..., Any]) -> list[Any]:
        torch.manual_seed(0)
        x, y = torch.randn(3, 4, requires_grad=True), torch.randn(3, 1, requires_grad=True)
        found = run(x, y.expand(3, 4))
        torch.autograd.backward(found, [torch.randn(3, 4), torch.randn(3, 4)])
        return [*found, x.grad, y.grad]

    torch.testing.assert_close(gradients(torch.compile(function, backend=xhlo)), gradients(function))


@pytest.mark.parametrize("reduce", ["sum", "mean", "amax"])
def test_scatters_and_gathers_by_an_expanded_index(copied: list[tuple[int, ...]], reduce: str) -> None:
    index = torch.tensor([2, 0, 2, 1, 2])[:, None].expand(5, 4)

    def function(x: Any, index: Any, source: Any) -> Any:
        return x.scatter_reduce(0, index, source, reduce), x.gather(0, index)

    as_eager(function, torch.randn(3, 4), index, torch.randn(5, 4))
    assert copied == []


def test_the_part_that_is_read() -> None:
    assert stored(torch.zeros(3).expand(2, 3)) == (Stored((1, 3), [0, 1]), (0, 1))
    assert stored(torch.zeros(3, 2).t()[None].expand(4, 2, 3)) == (Stored((1, 2, 3), [0, 2, 1]), (0, 1, 2))
    assert stored(torch.zeros(0, 1).expand(0, 5))[0] == Stored((0, 5), [0, 1])
    assert stored(torch.zeros(3, 4)[:, ::2, None].expand(3, 2, 5)) == (Stored((3, 2, 1), [0, 1, 2]), (2, 1, 0))


def programs(folder: Path, function: Callable[..., Any], *arguments: torch.Tensor) -> list[str]:
    """The programs of a function and of its gradients, of fusions, that are like eager mode's."""
    given = [one.clone().requires_grad_(one.is_floating_point()) for one in arguments]
    expected = [one.clone().requires_grad_(one.is_floating_point()) for one in arguments]
    found = torch.compile(function, backend=xhlo, options={"strict": True, "dump": str(folder)})(*given)
    wanted = function(*expected)
    assert found.stride() == wanted.stride()
    weights = torch.randn_like(wanted)
    found.backward(weights)
    wanted.backward(weights)
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close([one.grad for one in given], [one.grad for one in expected])
    return [file.read_text() for file in sorted(folder.glob("*.torch.fused.mlir"))]


def test_borders_of_images_with_the_channels_last(tmp_path: Path) -> None:
    x = torch.randn(2, 5, 6, 7).contiguous(memory_format=torch.channels_last)
    forward, _ = programs(tmp_path, lambda x: F.pad(x, (2, 1, 1, 3), mode="reflect"), x)
    assert "hlo.transpose" not in forward


def test_elements_of_images_with_the_channels_last(tmp_path: Path) -> None:
    """Pixels are taken and put with all their channels."""
    x = torch.randn(2, 5, 6, 7).contiguous(memory_format=torch.channels_last)
    rows, columns = torch.arange(12) // 2, torch.arange(14) // 2

    def function(x: torch.Tensor) -> torch.Tensor:
        return x[:, :, rows[:, None], columns].clone(memory_format=torch.channels_last)

    forward, backward = programs(tmp_path, function, x)
    assert "slice_sizes = array<i64: 2, 1, 5>" in forward, forward
    assert "update_window_dims = [0, 2]" in backward, backward


@pytest.mark.parametrize("last", [False, True])
def test_indices_of_dimensions_in_another_order_in_memory(last: bool) -> None:
    put, layout = torch.ops.aten.index_put, torch.channels_last if last else torch.contiguous_format
    x = torch.randn(2, 5, 6, 7).contiguous(memory_format=torch.channels_last)
    i, j, k, one = torch.tensor([[0], [3]]), torch.tensor([4, 0, 2]), torch.tensor([-2, 1, 1]), torch.tensor(1)
    for index in ((None, i, j), (None, i, None, j), (k,), (k, None, j), (None, None, one), (None, i, j, k)):
        taken = [slice(None) if each is None else each for each in index]

        def function(x: Any, v: Any, index: Sequence[Any] = index, taken: Any = taken) -> Any:
            return x[tuple(taken)] + 1, put(x, list(index), v, True), put(x.permute(3, 1, 2, 0), [k], v.sum(), True)

        v = torch.randn(x[tuple(taken)].shape)
        as_eager(function, x, v.contiguous(memory_format=layout) if v.dim() == 4 else v)


def test_maxima_of_images_with_the_channels_last() -> None:
    def gradient(run: Callable[..., Any], x: torch.Tensor) -> Any:
        leaf = x.clone(memory_format=torch.preserve_format).requires_grad_()
        (run(leaf).square().sum()).backward()
        return leaf.grad

    def function(x: Any) -> Any:
        return F.max_pool2d(x, 3, 2, 1)

    x = torch.randn(2, 5, 9, 8).contiguous(memory_format=torch.channels_last)
    found = gradient(torch.compile(function, backend=xhlo), x)
    assert found.stride() == x.stride()
    torch.testing.assert_close(found, gradient(function, x))


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_places_of_maxima(layout: torch.memory_format) -> None:
    """The first of equal elements, the last NaN, and never one of the padding, in windows of -inf too."""

    def function(x: Any) -> Any:
        reaching = F.max_pool2d(x, (2, 3), (3, 2), (1, 0), ceil_mode=True, return_indices=True)
        return (
            *F.max_pool2d(x, 3, 2, 1, return_indices=True),
            *F.max_pool2d(x, 3, 1, 1, 2, return_indices=True),
            *reaching,
        )

    x = torch.randn(2, 3, 9, 8).round().contiguous(memory_format=layout)
    x[0, 1], x[1, 0] = -torch.inf, -torch.inf
    x[0, 0, :4], x[1, 0, 2:, ::2], x[1, 2, 4, 4] = torch.nan, torch.nan, torch.nan
    for one in (x, torch.nan_to_num(x * 3).to(torch.int32)):
        found = torch.compile(function, backend=xhlo)(one)
        torch.testing.assert_close(found, function(one), equal_nan=True)


def test_a_place_of_a_window_is_compared_twice(tmp_path: Path) -> None:
    """With the maximum so far and with itself; where padding is, which is greater than nothing, is not asked."""
    pool = torch.compile(
        lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), backend=xhlo, options={"dump": str(tmp_path)}
    )
    pool(torch.randn(1, 2, 9, 8))
    (text,) = (one.read_text() for one in tmp_path.glob("*.input.mlir"))
    assert text.count("hlo.compare") == 2 * 8


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("memory", [torch.channels_last, torch.channels_last_3d])
def test_gradients_of_group_norm_with_the_channels_last(dtype: torch.dtype, memory: torch.memory_format) -> None:
    """
    With and without factors; some gradients are not wanted. Eager mode's operation itself, which autograd does not call
    so, is wrong for operands of several layouts.
    """
    torch.manual_seed(0)
    shape = (2, 6, 3, 5) if memory == torch.channels_last else (2, 6, 3, 2, 5)
    x, gradient = (torch.randn(shape).to(dtype, memory_format=memory) for _ in range(2))
    weight = torch.randn(6).to(dtype)
    pixels = x[0, 0].numel()
    _, mean, rstd = torch.native_group_norm(x, None, None, 2, 6, pixels, 3, 1e-5)

    def back(gradient: Any, x: Any, mean: Any, rstd: Any, weight: Any) -> list[Any]:
        grad = torch.ops.aten.native_group_norm_backward
        factors = grad(gradient, x, mean, rstd, weight, 2, 6, pixels, 3, [True, True, True])
        plain = grad(gradient.contiguous(), x, mean, rstd, None, 2, 6, pixels, 3, [True, False, False])[0]
        return [*factors, plain, grad(gradient, x, mean, rstd, weight, 2, 6, pixels, 3, [True, False, True])[2]]

    expected = back(*(one.contiguous().double() for one in (gradient, x, mean, rstd, weight)))
    found = compiled(back)(gradient, x, mean, rstd, weight)
    tolerance = 1e-12 if dtype == torch.float64 else 2e-5 if dtype == torch.float32 else 2e-2
    for one, wanted in zip(found, expected, strict=True):
        assert one.dtype == dtype
        torch.testing.assert_close(one.double(), wanted, rtol=tolerance, atol=tolerance)
    assert found[0].is_contiguous(memory_format=memory) and found[3].is_contiguous(memory_format=memory)


def test_strides_of_dimensions_of_size_1_are_eagers() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return F.conv2d(x, weight)

    weight = torch.randn(1, 3, 1, 1).to(memory_format=torch.channels_last)
    x = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    found, expected = torch.compile(function, backend=xhlo)(x), function(x)
    torch.testing.assert_close(found, expected)
    assert found.stride() == expected.stride() == (20, 1, 5, 1)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.adaptive_max_pool2d(x, (3, 5)),
        lambda x: F.adaptive_max_pool2d(x, (4, 2), return_indices=True)[1],
        lambda x: F.pad(x, (2, 1, 0, 3), mode="reflect"),
        lambda x: F.pad(x, (2, 1, -1, 3), mode="replicate"),
        lambda x: F.max_pool2d(x, 3, 2, return_indices=True)[0],
        lambda x: F.adaptive_max_pool3d(x[:, :, None].expand(-1, -1, 3, -1, -1), (2, 3, 4)),
    ],
)
def test_windows_and_borders_lie_as_eagers(function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    torch._dynamo.reset()
    x = torch.randn(2, 4, 7, 6, dtype=torch.float64).contiguous(memory_format=torch.channels_last).requires_grad_()
    expected, found = function(x), torch.compile(function, backend=xhlo)(x)
    torch.testing.assert_close(found, expected)
    assert found.stride() == expected.stride()
    if not expected.is_floating_point():
        return
    gradient = torch.randn_like(expected)
    by = [torch.autograd.grad(one, x, gradient)[0] for one in (expected, found)]
    torch.testing.assert_close(by[1], by[0])
    assert by[1].stride() == by[0].stride()
