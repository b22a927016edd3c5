"""Operations that are composed of simpler ones, and special functions, compared with torch's eager mode."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch._dynamo.testing import CompileCounterWithBackend

import xhlo
from graph_programs import compiled, each, same_as_eager
from xhlo.frontends.torch import graphs
from xhlo.frontends.torch.backend import xhlo as backend
from xhlo.frontends.torch.lowering import GraphLowering

S = torch.special


def gradients_are_eagers(function: Callable[..., Any], *arguments: torch.Tensor) -> None:
    """Compare the gradients of a weighted sum of the results."""
    found: list[list[torch.Tensor]] = []
    for run in (function, torch.compile(function, backend=backend, options={"strict": True})):
        own = [x.clone().requires_grad_(x.is_floating_point()) for x in arguments]
        results = run(*own)
        total = sum((one * torch.arange(one.numel()).view(one.shape).cos()).sum() for one in results)
        found.append(list(torch.autograd.grad(total, [x for x in own if x.requires_grad])))
    torch.testing.assert_close(found[1], found[0], rtol=1e-4, atol=1e-5)


def test_special_functions() -> None:
    x = torch.cat([torch.linspace(-12, 12, 97), torch.tensor([0.0, -0.0, float("nan"), 2.0, 8.0, -8.0])])
    same_as_eager(
        each(
            S.i0, S.i0e, S.i1, S.i1e, S.modified_bessel_k0, S.modified_bessel_k1, S.scaled_modified_bessel_k0,
            S.scaled_modified_bessel_k1, S.bessel_j0, S.bessel_j1, S.bessel_y0, S.bessel_y1, S.spherical_bessel_j0,
            S.erfcx, S.airy_ai, S.log_ndtr,
        ),
        x, rtol=2e-5, atol=2e-6,
    )  # fmt: skip


def test_bessel_functions_of_doubles() -> None:
    """Values of tables; torch's own differ from them by 3e-7."""
    x = torch.tensor([5.092262268066406], dtype=torch.float64)
    found = torch.compile(lambda x: (S.bessel_j0(x), S.bessel_y0(x)), backend=backend)(x)
    expected = [torch.tensor([one], dtype=torch.float64) for one in (-0.14694074650502251, -0.32071209512507516)]
    torch.testing.assert_close(list(found), expected, rtol=1e-14, atol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_ndtri_of_small_probabilities(dtype: torch.dtype) -> None:
    """Twice the probability less 1 would be -1."""
    p = [0.0, 5e-324, 1e-300, 1e-45, 1e-30, 1e-14, 1e-5, 0.135, 0.1353, 0.1354, 0.25, 0.5, 0.8, 1 - 1e-7, 1.0]
    x = torch.tensor([*p, -1.0, 2.0, float("nan")], dtype=torch.float64).to(dtype)
    same_as_eager(S.ndtri, x, rtol=4 * torch.finfo(dtype).eps, atol=0)


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 1.5, 2.0, float("inf")])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_gradients_of_distances_of_rows(p: float, count: int) -> None:
    """Two rows are equal."""
    torch.manual_seed(0)
    x = torch.randn(count, 3)
    x[-1] = x[0]
    gradients_are_eagers(lambda x: [F.pdist(x, p), torch.cdist(x, x[:1] * 2, p)], x)


@pytest.mark.parametrize("loss", [F.mse_loss, F.smooth_l1_loss, F.huber_loss])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_gradients_of_losses_of_no_elements(loss: Any, reduction: str) -> None:
    x, target = torch.zeros(0, 3), torch.zeros(0, 3)
    gradients_are_eagers(lambda x, target: [loss(x, target, reduction=reduction)], x, target)


def test_incomplete_gamma_functions() -> None:
    a = torch.tensor([0.0, 0.0, 1.0, float("inf"), 2.0, 100.0, 150.0, -1.0, 0.3, 20.0])
    x = torch.tensor([0.0, 1.0, 0.0, 1.0, float("inf"), 100.0, 50.0, 1.0, 0.01, 30.0])
    same_as_eager(each(S.gammainc, S.gammaincc), a, x)


def test_orthogonal_polynomials() -> None:
    """130 elements: one loop for all, in tiles."""
    torch.manual_seed(0)
    x, n = torch.randn(130) * 2, torch.randn(130) * 6
    x[:4] = torch.tensor([1.0, -1.0, 0.0, 1.0])
    functions = [getattr(S, f"{shifted}chebyshev_polynomial_{kind}") for shifted in ("", "shifted_") for kind in "tuvw"]
    functions += [S.hermite_polynomial_h, S.hermite_polynomial_he, S.laguerre_polynomial_l, S.legendre_polynomial_p]
    same_as_eager(each(*functions), x, n, rtol=1e-3, atol=1e-3)


def test_factorizations() -> None:
    torch.manual_seed(0)
    a, b = torch.randn(2, 4, 4, dtype=torch.float64), torch.randn(2, 4, 3, dtype=torch.float64)
    functions = [
        lambda a, b: torch.linalg.cholesky_ex(a @ a.mT + torch.eye(4)), lambda a, b: torch.linalg.lu(a),
        lambda a, b: torch.linalg.qr(b), lambda a, b: torch.linalg.qr(b, mode="complete"), lambda a, b: torch.linalg.det(a),
        lambda a, b: torch.linalg.slogdet(a), lambda a, b: torch.linalg.inv_ex(a), lambda a, b: torch.linalg.solve_ex(a, b),
        lambda a, b: torch.linalg.svdvals(b), lambda a, b: torch.linalg.eigvalsh(a), lambda a, b: torch.matrix_exp(a),
        lambda a, b: torch.linalg.lu_solve(*torch.linalg.lu_factor_ex(a)[:2], b, adjoint=True), torch.Tensor.matmul,
        lambda a, b: torch.linalg.solve_triangular(a, b, upper=True), lambda a, b: torch.cholesky_solve(b, a),
        lambda a, b: torch.ormqr(b, b[:, 0], b, transpose=True), lambda a, b: torch.linalg.pinv(b @ b.mT),
        lambda a, b: torch.linalg.pinv(b, atol=torch.tensor([0.0, 2.0])), lambda a, b: torch.linalg.pinv(b.mT, rtol=0.5),
        lambda a, b: torch.linalg.pinv(b @ b.mT - 2 * torch.eye(4), hermitian=True), lambda a, b: torch.linalg.pinv(b + 1j * b.exp()),
    ]  # fmt: skip
    same_as_eager(each(*functions), a, b, rtol=1e-9, atol=1e-9)
    same_as_eager(each(torch.linalg.det, torch.linalg.inv_ex, torch.linalg.cholesky_ex), torch.eye(3) + 0j)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize("row_major", [True, False])
def test_gradients_by_factors(dtype: torch.dtype, row_major: bool) -> None:
    """Eager mode factors the transpose of a row-major real matrix, and its gradients read those factors."""

    def function(a: Any, b: Any) -> list[Any]:
        found = [torch.linalg.det(a), torch.linalg.slogdet(a)[1], torch.linalg.solve(a, b), torch.linalg.inv(a)]
        return [one.abs() for one in found]

    a, b = torch.randn(2, 4, 4, dtype=dtype), torch.randn(2, 4, 3, dtype=dtype)
    given = (a if row_major else a.mT), b
    found: list[Any] = []
    for run in (function, torch.compile(function, backend=backend, options={"strict": True})):
        own = [one.detach().requires_grad_() for one in given]
        total = sum((one * torch.arange(one.numel()).view(one.shape).cos()).sum() for one in run(*own))
        found.append(torch.autograd.grad(total, own))
    torch.testing.assert_close(found[1], found[0], rtol=1e-7, atol=1e-7)


def test_a_singular_matrix_is_an_error() -> None:
    inverse = torch.compile(torch.linalg.inv, backend=backend, options={"strict": True})
    torch.testing.assert_close(inverse(torch.eye(2) * 2), torch.eye(2) / 2)
    with pytest.raises(RuntimeError, match="the input matrix is singular"):
        inverse(torch.zeros(2, 2))


@pytest.mark.parametrize("bad", [0, 1, 2], ids=["good", "first", "second"])
def test_checks_of_factorizations_raise_torchs_errors_in_order(bad: int) -> None:
    """The whole graph is one program; arguments do not change if a check fails."""

    def both(a: torch.Tensor, b: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        state.add_(1.0)
        product = torch.linalg.inv(a + 1.0) @ torch.linalg.cholesky(b)
        state.mul_(2.0)
        return product

    a, b = torch.eye(3).repeat(5, 1, 1) * 4, torch.eye(3).repeat(5, 1, 1)
    if bad:
        # The second call's matrices are both bad: the first check speaks.
        b[3, 1, 1] = -1.0
        a[4] = a[4] if bad == 2 else -1.0
    found: list[tuple[torch.Tensor, ...]] = []
    errors: list[str] = []
    for run in (both, torch.compile(both, backend=backend, options={"strict": True})):
        state = torch.ones(2)
        try:
            found.append((run(a, b, state), state))
        except torch.linalg.LinAlgError as error:
            errors.append(str(error))
            assert run is both or torch.equal(state, torch.ones(2))
    if bad:
        assert errors[1] == errors[0]
    else:
        torch.testing.assert_close(found[1], found[0])


def test_a_graph_with_checks_is_one_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "partitioned", None)
    a = torch.eye(3) * 4
    function = torch.compile(lambda a: torch.linalg.solve(a, torch.linalg.cholesky(a)), backend=backend)
    torch.testing.assert_close(function(a), torch.eye(3) / 2)


def test_histograms_count_between_the_edges_that_they_return() -> None:
    function = torch.compile(
        lambda x: torch.histogram(x, 50, range=(-2.3, 1.7)), backend=backend, options={"strict": True}
    )
    edges = function(torch.zeros(153))[1]
    inner = edges[1:-1]
    x = torch.cat([edges, *(torch.nextafter(inner, inner + away) for away in (1, -1)), torch.zeros(4)])
    counts, again = function(x)
    assert torch.equal(edges, again) and torch.equal(counts, torch.histogram(x, edges)[0])


def test_order_and_histograms() -> None:
    torch.manual_seed(0)
    x = torch.randint(0, 5, (7, 6)).float()
    y = x.clone()
    y[2, 3] = float("nan")
    functions = [
        lambda x, y: (x + torch.arange(6) / 10).median(0), lambda x, y: y.median(1)[0], lambda x, y: y.nanmedian(1)[0],
        lambda x, y: (x.median(), y.median(), y.nanmedian()), lambda x, y: x.mode(1)[0], lambda x, y: x.kthvalue(3, 0)[0],
        lambda x, y: torch.histc(x, 4), lambda x, y: torch.histc(x, 5, 1, 3), lambda x, y: torch.histogram(x, 3),
        lambda x, y: torch.histogram(x, torch.tensor([0.0, 1.5, 4.0]), density=True),
        lambda x, y: torch.searchsorted(x, y[:, :2].contiguous(), sorter=x.argsort(1)),
    ]  # fmt: skip
    same_as_eager(each(*functions), x, y)


def test_selection() -> None:
    torch.manual_seed(0)
    x, i, m = torch.randn(5, 3), torch.tensor([0, 4, 2, 4]), torch.tensor([True, False, True, False, True])
    functions = [
        *[lambda x, i, m, how=how: x.index_reduce(0, i, x[:4] * 2, how) for how in ("prod", "mean", "amax", "amin")],
        lambda x, i, m: x.put(i, x[0, 0].expand(4), accumulate=True), lambda x, i, m: torch.nonzero_static(x > 0, size=4),
        lambda x, i, m: x.index_put((m,), x[:3]), lambda x, i, m: x.index_put((m,), x[0]),
        lambda x, i, m: F.embedding_bag(i, x, torch.tensor([0, 1, 1]), mode="mean"),
        lambda x, i, m: F.embedding_bag(i, x, torch.tensor([0, 3]), mode="max"),
        *[
            lambda x, i, m, how=how: torch.segment_reduce(x, how, lengths=torch.tensor([2, 0, 3]), unsafe=True)
            for how in ("sum", "mean", "max", "min", "prod", "amax", "amin")
        ],
        *[
            lambda x, i, m, how=how: torch.segment_reduce(x, how, offsets=torch.tensor([1, 3, 3, 4]), unsafe=True)
            for how in ("sum", "mean", "amin")
        ],
        lambda x, i, m: (x.take(i[:2] - 9), x.take(i[1]), x[0, 0].take(i[:1]), x.clone().resize_(2, 4)),
        lambda x, i, m: torch.hash_tensor(x), lambda x, i, m: torch.addbmm(x[:, :2], x[None], x[None, :3, :2], beta=0),
    ]  # fmt: skip
    same_as_eager(each(*functions), x, i, m)


def test_random_numbers_with_parameters_of_tensors() -> None:
    p = torch.tensor([[0.1, 0.7, 0.2, 0.0], [0.25, 0.25, 0.25, 0.25]])
    same_as_eager(
        each(
            torch.bernoulli, lambda p: torch.multinomial(p, 1), lambda p: torch.multinomial(p, 2),
            lambda p: torch.multinomial(p, 5, replacement=True), lambda p: torch.normal(p, p + 1), lambda p: torch.normal(0.0, p),
        ),
        p,
    )  # fmt: skip


@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_resized_bytes(mode: str, antialias: bool) -> None:
    """Eager mode's bytes, also where cubic weights reach beyond 0 and 255, and where weights are small."""
    x = torch.tensor([0, 255], dtype=torch.uint8)[torch.randint(0, 2, (1, 2, 36, 30))]
    noise = torch.randint(0, 256, (2, 3, 90, 30), dtype=torch.uint8)
    wide = torch.randint(0, 256, (1, 1, 3, 300), dtype=torch.uint8)
    last, many = noise.contiguous(memory_format=torch.channels_last), noise.repeat(1, 2, 1, 1)
    to = partial(F.interpolate, mode=mode, antialias=antialias)

    def resized(x: Any, noise: Any, last: Any, wide: Any, many: Any) -> list[Any]:
        found = [to(one, size) for one in (noise, last) for size in ((7, 8), (40, 3))]
        found += [
            to(x, (36, 31)),
            to(many, (36, 31)),
            to(noise, (20, 13), align_corners=True),
            to(last, (100, 30), align_corners=True),
            to(wide, (5, 8)),
        ]
        found += [to(last, scale_factor=0.37), to(noise, scale_factor=(1.0, 2.6), recompute_scale_factor=True)]
        return [*found, to(last, scale_factor=(2, 0.5)), to(noise, (90, 30)), to(x, (1, 2))]

    given = (x, noise, last, wide, many)
    function = torch.compile(resized, backend=backend, options={"strict": True})
    for got, wanted in zip(function(*given), resized(*given), strict=True):
        assert got.dtype == torch.uint8 and torch.equal(got, wanted) and got.stride() == wanted.stride()


@pytest.mark.parametrize("antialias", [True, False])
def test_resized_bytes_of_several_sizes(antialias: bool) -> None:
    """One graph of symbolic sizes, with the weights of each."""
    torch._dynamo.reset()

    def resized(x: Any) -> Any:
        return F.interpolate(x, (16, 24), mode="bilinear", antialias=antialias)

    counted = CompileCounterWithBackend("xhlo")
    function = torch.compile(resized, backend=counted, dynamic=True)
    for shape in ((60, 70), (61, 75), (20, 90), (16, 200)):
        x = torch.randint(0, 256, (1, 3, *shape), dtype=torch.uint8)
        assert torch.equal(function(x), resized(x))
    assert counted.frame_count == 1


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_resized_bytes_in_exported_programs(mode: str) -> None:
    class Resized(torch.nn.Module):
        def forward(self, x: Any) -> tuple[Any, Any]:
            resized = partial(F.interpolate, x, mode=mode)
            return resized((30, 35)), resized(scale_factor=(1.7, 0.4), align_corners=True)

    x = torch.randint(0, 256, (1, 3, 64, 50), dtype=torch.uint8)
    executable = xhlo.compile(torch.export.export(Resized(), (x,)))
    for found, expected in zip(executable(x.numpy()), Resized()(x), strict=True):
        assert (found == expected.numpy()).all()


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_margins_of_several_labels(reduction: str) -> None:
    """Entries after the first -1 are no labels; a row without a class has a loss of zero."""
    t = torch.tensor([[3, 0, -1, 2], [-1, 1, 2, 3], [2, 1, 0, 3], [1, -1, -1, -1]])
    for x, target in ((torch.randn(4, 4), t), (torch.randn(4), t[0]), (torch.randn(4), t[1])):

        def loss(x: Any, t: Any) -> Any:
            return F.multilabel_margin_loss(x, t, reduction=reduction)

        found: list[Any] = []
        for run in (loss, torch.compile(loss, backend=backend, options={"strict": True})):
            leaf = x.clone().requires_grad_()
            value = run(leaf, target)
            value.sum().backward()
            found.append((value, leaf.grad))
        torch.testing.assert_close(found[1], found[0])


def test_resized_without_aliasing() -> None:
    """Sums of neighbours, along one dimension or both; an infinite element reaches those that it has a weight in."""
    torch.manual_seed(0)
    x = torch.randn(1, 2, 90, 130)
    for mode, target in (("bilinear", (31, 40)), ("bicubic", (40, 140))):

        def resized(x: Any, mode: str = mode, target: Any = target) -> list[Any]:
            return [F.interpolate(x, target, mode=mode, antialias=True)]

        function = compiled(resized)
        # Eager mode computes places in f32.
        (found,), (expected,) = function(x), resized(x.double())
        torch.testing.assert_close(found, expected.float(), rtol=1e-5, atol=1e-5)
        if mode == "bilinear":
            infinite = x.clone()
            infinite[0, 0, 3, 4] = float("inf")
            (found,), (expected,) = function(infinite), resized(infinite)
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4, equal_nan=True)


def test_gradients_of_windows_and_samples() -> None:
    torch.manual_seed(0)
    x, v = torch.randn(2, 3, 7, 6), torch.randn(1, 2, 4, 5, 3)
    places, grid = torch.rand(2, 3, 4, 2) * 2.6 - 1.3, torch.rand(1, 3, 2, 2, 3) * 2.6 - 1.3

    def function(x: Any, v: Any, places: Any, grid: Any) -> list[Any]:
        found = [
            F.adaptive_max_pool2d(x, (3, 4)), F.adaptive_max_pool3d(v, (2, 3, 2)), F.max_pool3d(v, 2, 1),
            F.interpolate(x, (3, 9), mode="bilinear", antialias=True), F.interpolate(x, (3, 9), mode="bicubic", antialias=True),
            F.pad(x, (2, 1, 0, 3), mode="replicate"), F.pad(x, (2, 1, 0, 3), mode="reflect"), torch.cdist(x[0, 0], x[0, 1]), F.pdist(x[0, 0], 3.0),
        ]  # fmt: skip
        for kind, how in (
            ("bilinear", "zeros"), ("bilinear", "reflection"), ("bicubic", "reflection"), ("bicubic", "zeros"),
        ):  # fmt: skip
            found.append(F.grid_sample(x, places, mode=kind, padding_mode=how, align_corners=False))
        return [*found, F.grid_sample(v, grid, padding_mode="border", align_corners=True)]

    gradients_are_eagers(function, x, v, places, grid)


def test_gradients_of_selections() -> None:
    torch.manual_seed(0)
    x, i, m = torch.randn(5, 3), torch.tensor([0, 4, 2, 4]), torch.randn(5, 3) > 0

    def function(x: Any, i: Any, m: Any) -> list[Any]:
        lengths = torch.tensor([2, 0, 3])
        found = [torch.segment_reduce(x, how, lengths=lengths, unsafe=True) for how in ("sum", "max", "amin")]
        found.append(torch.segment_reduce(x, "amax", offsets=torch.tensor([1, 3, 4]), unsafe=True))
        found += [F.embedding_bag(i, x, torch.tensor([0, 1]), mode=how) for how in ("sum", "mean", "max")]
        found += [x.put(i, x[0, 0].expand(4)), x[0, 0].put(i[0], x[0, 1])]
        return [*found, x.masked_scatter(m, x * 2), x.median(0)[0], torch.linalg.solve(x[:3], x[:3] + 1)]

    gradients_are_eagers(function, x, i, m)


def test_samples_outside_of_images() -> None:
    """An element outside counts nothing, even if the one that it is clamped to is infinite."""
    torch.manual_seed(0)
    x, places = torch.randn(2, 3, 5, 6), torch.rand(2, 4, 4, 2) * 3 - 1.5
    x[:, :, 0] = float("inf")
    same_as_eager(
        each(
            *(
                lambda x, places, kind=kind, how=how, align=align: F.grid_sample(
                    x, places, mode=kind, padding_mode=how, align_corners=align
                )
                for kind in ("bilinear", "nearest", "bicubic")
                for how in ("zeros", "border")
                for align in (False, True)
                if (kind, how) != ("bicubic", "zeros")
            ),
            lambda x, places: F.grid_sample(x[:1].expand(2, -1, -1, -1), places, align_corners=False),
        ),
        x, places,
    )  # fmt: skip


def test_rounding_to_integers() -> None:
    torch.manual_seed(0)
    x = torch.cat([torch.randn(4, 20) * 3, torch.tensor([[float("nan"), float("inf"), -float("inf"), 0.25] * 5])])
    scale, zero = torch.rand(5) * 0.1 + 0.01, torch.randint(-3, 3, (5,), dtype=torch.int32)
    fake = torch.ops.aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams
    same_as_eager(
        each(
            lambda x, s, z: torch.fake_quantize_per_tensor_affine(x, 0.05, 3, 0, 255),
            lambda x, s, z: torch.fake_quantize_per_tensor_affine(x.half(), 0.05, -3, -128, 127),
            lambda x, s, z: torch.fake_quantize_per_channel_affine(x, s, z, 0, -8, 7),
            lambda x, s, z: torch.fake_quantize_per_channel_affine(x.t(), s, z, 1, -8, 7),
            lambda x, s, z: fake(x, s[:1], z[:1], torch.ones(1), -8, 7),
            lambda x, s, z: fake(x, s[:1], z[:1], torch.zeros(1), -8, 7),
        ),
        x, scale, zero,
    )  # fmt: skip
    gradients_are_eagers(lambda x: [torch.fake_quantize_per_channel_affine(x, scale[:4], zero[:4], 0, -8, 7)], x[:4])


def test_derivatives_forwards() -> None:
    def function(x: Any) -> Any:
        return torch.func.jvp(lambda y: (y.sin() * y.sum()).softmax(0), (x,), (torch.ones_like(x),))

    x = torch.randn(5)
    found = torch.compile(function, backend=backend, options={"strict": True})(x)
    torch.testing.assert_close(found, function(x))


def test_sums_of_windows() -> None:
    """The gradient of `unfold`: a few shifted additions, or a scatter where many windows overlap."""
    shapes = [(2, 5), (3, 3), (5, 2), (1, 19)]
    functions = [
        lambda g, step=step, size=size: torch.ops.aten.unfold_backward(
            g[:, : (19 - size) // step + 1, :, :size], [3, 19, 2], 1, size, step
        )
        for step, size in shapes
    ]
    same_as_eager(each(*functions), torch.randn(3, 19, 2, 19), rtol=0, atol=0)
    gradients_are_eagers(lambda x: [x.unfold(1, 6, 2).sin()], torch.randn(2, 15))


def test_inverse_of_a_short_time_transform_adds_whole_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph of few operations, however long the windows are."""
    sizes: list[int] = []
    lower = GraphLowering.operation
    monkeypatch.setattr(GraphLowering, "operation", lambda self, node: (sizes.append(1), lower(self, node))[1])
    window = torch.hann_window(64)
    x = torch.stft(torch.randn(2, 300), 64, 16, window=window, return_complex=True)
    same_as_eager(lambda x, w: [torch.istft(x, 64, 16, window=w, length=300)], x, window, rtol=1e-4, atol=1e-5)
    assert 10 < len(sizes) < 100


def test_random_slopes_in_evaluation_are_their_mean() -> None:
    x = torch.randn(3, 4)
    same_as_eager(each(lambda x: F.rrelu(x), lambda x: F.rrelu(x, 0.1, 0.5)), x)
    gradients_are_eagers(lambda x: [F.rrelu(x, 0.1, 0.5).sin()], x)


@pytest.mark.parametrize("padding", [None, 1])
def test_gradients_of_embeddings_by_their_frequency(padding: int | None) -> None:
    index = torch.tensor([[1, 2, 2], [0, 2, 1]])

    def function(weight: torch.Tensor) -> list[torch.Tensor]:
        return [F.embedding(index, weight, padding_idx=padding, scale_grad_by_freq=True).sin()]

    gradients_are_eagers(function, torch.randn(4, 3))
