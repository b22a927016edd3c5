"""The rules of the operations, by family, compared with torch's eager mode; each family is one graph."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from graph_programs import STRICT, each, same_as_eager
from xhlo import from_torch
from xhlo.frontends.torch.backend import xhlo

SPECIAL = torch.tensor([0.0, -0.0, 1.0, -1.5, 2.5, -0.5, 3e38, float("inf"), float("-inf"), float("nan")])


def test_functions_of_one_element() -> None:
    functions = [
        torch.ceil, torch.floor, torch.round, torch.trunc, torch.sign, torch.sgn, torch.abs, torch.neg, torch.exp2,
        torch.reciprocal, torch.isnan, torch.isinf, torch.isfinite, torch.signbit, torch.relu, torch.sigmoid,
        torch.logical_not, torch.tanh, torch.erf, torch.log1p, torch.expm1, torch.rsqrt, torch.frexp, torch.angle,
        F.silu, F.softplus, torch.nan_to_num, lambda x: F.gelu(x[:6]),
    ]  # fmt: skip
    same_as_eager(each(*functions), SPECIAL, rtol=2e-6)


def test_functions_of_two_elements() -> None:
    x = SPECIAL.repeat_interleave(10)
    y = SPECIAL.repeat(10)
    same_as_eager(
        each(
            torch.add, torch.sub, torch.mul, torch.div, torch.maximum, torch.minimum, torch.fmax, torch.fmin, torch.eq,
            torch.lt, torch.ge, torch.ne, torch.atan2, torch.copysign, torch.pow, torch.logical_xor,
            lambda x, y: torch.div(x, y, rounding_mode="trunc"), lambda x, y: torch.clamp(x, y),
            lambda x, y: torch.where(x > y, x, 1.0), lambda x, y: torch.lerp(x, y, 0.25),
        ),
        x, y, rtol=2e-6,
    )  # fmt: skip


def test_integers() -> None:
    x = torch.tensor([-7, -6, -1, 0, 1, 5, 7, 100], dtype=torch.int32).repeat_interleave(4)
    y = torch.tensor([-3, 2, 5, -1], dtype=torch.int32).repeat(8)
    same_as_eager(
        each(
            torch.floor_divide, torch.remainder, torch.fmod, torch.bitwise_and, torch.bitwise_xor, torch.gcd, torch.div,
            lambda x, y: torch.div(x, y, rounding_mode="trunc"), lambda x, y: x << y.abs(), lambda x, y: x >> y.abs(),
            lambda x, y: x ** y.abs(), lambda x, y: x + 2.5, lambda x, y: x * y.to(torch.int64),
            lambda x, y: (x.to(torch.uint8), x.to(torch.bool), x.double(), x.sum(), x.prod(), x.float().mean()),
            lambda x, y: (x > y).sum(), lambda x, y: (x.bool() | (y > 0)).any(), torch.maximum,
        ),
        x, y,
    )  # fmt: skip


@pytest.mark.parametrize("source", [torch.float32, torch.bfloat16], ids=str)
def test_floats_beyond_short_integers(source: torch.dtype) -> None:
    """The low bits of 32; 0 for what has no room there, infinite or not a number."""
    small = [300.0, -5.7, 255.5, -1.0, 70000.0, -70000.0, 2147483000.0]
    large = [2147483648.0, -2147483904.0, 3e9, -3e9, 1e12, 1e20, -1e20, float("inf"), float("-inf"), float("nan")]
    x = torch.tensor([*small, *large] * 4, dtype=source)
    same_as_eager(each(*[lambda x, to=to: x.to(to) for to in (torch.uint8, torch.int8, torch.int16)]), x)


def test_rounding_division_of_floats() -> None:
    x = torch.tensor([7.0, -7.0, 7.0, -7.0, 0.0, 1.0, -1.0, 6.0])
    y = torch.tensor([2.0, 2.0, -2.0, -2.0, 3.0, 0.1, 0.1, 3.0])
    same_as_eager(
        each(lambda x, y: torch.div(x, y, rounding_mode="floor"), torch.remainder, torch.fmod, torch.floor_divide), x, y
    )


def test_logarithms_of_complex_zero_and_infinity() -> None:
    x = torch.tensor([0, 1 + 2j, -3, complex(float("inf"), 1)], dtype=torch.complex64)
    same_as_eager(each(torch.log2, torch.log10), x)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64, torch.complex64])
def test_dtypes(dtype: torch.dtype) -> None:
    x = torch.randn(4, 6).to(dtype)
    functions = [
        lambda x: x + x * 2, lambda x: x @ x.t(), lambda x: x.sum(1), lambda x: torch.exp(x), lambda x: x.mean(),
        lambda x: x.t().contiguous(), lambda x: torch.cat([x, x]), lambda x: x[1:, ::2], lambda x: x.abs(),
    ]  # fmt: skip
    if not dtype.is_complex:
        functions += [lambda x: F.softmax(x, -1), lambda x: F.layer_norm(x, (6,)), lambda x: x.amax(0)]
    else:
        functions += [lambda x: x.conj() * 2, lambda x: (x.real, x.imag), lambda x: torch.view_as_real(x)]
    rough = 1e-2 if dtype.itemsize == 2 else 1e-5
    same_as_eager(each(*functions), x, rtol=rough, atol=rough)


def test_reductions() -> None:
    x = torch.randn(3, 4, 5)
    x[0, 1, 2] = float("nan")
    same_as_eager(
        each(
            lambda x: x.nansum(1), lambda x: x.amax((0, 2)), lambda x: x.min(), lambda x: x.max(1), lambda x: x.min(-1),
            lambda x: (x.argmax(), x.argmin(2), x.argmax(1, keepdim=True)), lambda x: (x > 0).all(1),
            lambda x: (x > 9).any(), lambda x: x[1:].var(1), lambda x: x[1:].std((0, 2), correction=0),
            lambda x: torch.var_mean(x[1:], 2), lambda x: x[1:].prod(0), lambda x: x[1:].cumsum(1), lambda x: x.cumprod(2),
            lambda x: torch.cummax(x, 2), lambda x: torch.cummin(x[1:], 1), lambda x: torch.logcumsumexp(x, 1),
            lambda x: torch.logsumexp(x[1:], 1), lambda x: torch.linalg.vector_norm(x[1:], 2), lambda x: x.sort(1),
            lambda x: x[1:].topk(2, 2), lambda x: x[1:].argsort(2, descending=True), lambda x: x.new_zeros(0).sum(),
        ),
        x, atol=1e-5,
    )  # fmt: skip


def test_the_first_in_order() -> None:
    """Few of many elements are selected, without sorting all."""
    torch.manual_seed(0)
    x, n = torch.randn(3, 40), torch.randperm(120).view(40, 3)
    x[0, 5], x[1, 7], x[1, 8], x[2, 0] = float("nan"), -float("nan"), float("-inf"), -0.0
    same_as_eager(
        each(
            lambda x, n: x.topk(4), lambda x, n: x.topk(4, largest=False), lambda x, n: x.t().topk(3, 0),
            lambda x, n: n.topk(3, 0), lambda x, n: n.topk(3, 0, largest=False), lambda x, n: n.to(torch.uint8).topk(2, 0),
            lambda x, n: x.double().topk(1), lambda x, n: x.half().topk(2).values, lambda x, n: x.topk(0),
            lambda x, n: x.kthvalue(3), lambda x, n: x.kthvalue(38, keepdim=True), lambda x, n: x.kthvalue(20, -1),
            lambda x, n: n.kthvalue(2, 0), lambda x, n: x[0, 0].kthvalue(1),
        ),
        x, n,
    )  # fmt: skip


def test_elements_along_a_dimension() -> None:
    torch.manual_seed(0)
    x, i = torch.randn(4, 5, 6), torch.randint(0, 4, (2, 3, 4))
    same_as_eager(
        each(
            *(lambda x, i, dim=dim: x.gather(dim, i) for dim in range(-1, 3)), lambda x, i: x[0, 0, 0].gather(0, i[0, 0, 0] * 0),
            lambda x, i: x.gather(1, i[:, :1].expand(2, 5, 4)), lambda x, i: x.gather(0, i[:0]), lambda x, i: x.argmax(1),
            lambda x, i: torch.take_along_dim(x, x.argsort(2), 2),
        ),
        x, i,
    )  # fmt: skip


def test_padding_with_own_elements() -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 3, 4, 5, 6)
    sizes = [((2, 3), 1), ((0, 2, 3, 1), 2), ((-1, 2, 3, -2), 2), ((1, 0, 2, 2, 3, 1), 3)]
    same_as_eager(
        each(
            *(
                lambda x, mode=mode, size=size, rank=rank: F.pad(x[(0,) * (3 - rank)], size, mode=mode)
                for mode in ("reflect", "replicate", "circular")
                for size, rank in sizes
                if mode != "circular" or min(size) >= 0
            )
        ),
        x,
    )


def test_views_and_copies() -> None:
    x = torch.arange(24.0).reshape(2, 3, 4)
    y = torch.full((2, 2, 4), -1.0)
    same_as_eager(
        each(
            lambda x, y: x.permute(2, 0, 1), lambda x, y: x[:, 1], lambda x, y: x[..., ::2], lambda x, y: x[-1, -2:],
            lambda x, y: torch.slice_scatter(x, y, 1, 0, 3, 2),
            lambda x, y: torch.select_scatter(x, x[:, 0] * 2, 1, 2), lambda x, y: x.unfold(2, 2, 1),
            lambda x, y: torch.diagonal(x, 1, 1, 2), lambda x, y: torch.diagonal(x, -1, 2, 0),
            lambda x, y: torch.diagonal(x[None], 1, 3, 1), lambda x, y: torch.diagonal(x, -1, 0, 2),
            lambda x, y: torch.diagonal(x, 1, 0, 2), lambda x, y: torch.diagonal_scatter(x, x[:, 0, :3] + 9, 0, 1, 2),
            lambda x, y: x.flip(0, 2), lambda x, y: x.roll(1, 2), lambda x, y: x.repeat(2, 1, 2), lambda x, y: x.tril(),
            lambda x, y: F.pad(x, (1, -1, 2, 0), value=3.0), lambda x, y: F.pad(x, (1, 2), mode="reflect"),
            lambda x, y: x.split(2, 2), lambda x, y: torch.stack([x, x], 1), lambda x, y: x.unsqueeze(1).expand(2, 5, 3, 4),
            lambda x, y: torch.as_strided(x, (2, 2), (1, 3), 2), lambda x, y: x.view(torch.int32), lambda x, y: x.unbind(1),
            lambda x, y: torch.cat([x, y, x.new_zeros(0)], 1), lambda x, y: torch.einsum("abc,abd->cd", x, x),
            lambda x, y: torch.linspace(0, 1, 5), lambda x, y: torch.eye(3), lambda x, y: torch.arange(1, 9, 3),
        ),
        x, y,
    )  # fmt: skip


def test_elements_by_index() -> None:
    x = torch.randn(5, 4, 3)
    i = torch.tensor([[0, -1], [2, 2]])
    j = torch.tensor([1, 3])
    v = torch.randn(2, 2, 3)
    same_as_eager(
        each(
            lambda x, i, j, v: x[i], lambda x, i, j, v: x[i, j], lambda x, i, j, v: x[i, :, j - 1], lambda x, i, j, v: x[:, j],
            lambda x, i, j, v: x.index_put((i, j), v), lambda x, i, j, v: x.index_put((i, j), v, accumulate=True),
            lambda x, i, j, v: x.index_select(1, j), lambda x, i, j, v: x.gather(1, (i.abs() % 4)[:, :, None].expand(2, 2, 3)),
            lambda x, i, j, v: x.scatter(1, j[:, None, None].expand(2, 2, 3), v), lambda x, i, j, v: x.masked_fill(x > 0, 7),
            lambda x, i, j, v: x.scatter_add(1, j[:, None, None].expand(2, 2, 3), v),
            lambda x, i, j, v: x.scatter_reduce(0, j[:, None, None].expand(2, 2, 3), v, "amax", include_self=False),
            lambda x, i, j, v: x.scatter_reduce(0, j[:, None, None].expand(2, 2, 3), v, "mean"),
            lambda x, i, j, v: x.masked_scatter(x > 0, x * 2), lambda x, i, j, v: F.embedding(i.abs(), x[:, 0]),
            lambda x, i, j, v: torch.searchsorted(x[0, 0].sort()[0], v, right=True),
            lambda x, i, j, v: torch.bucketize(v, x[0, 0].sort()[0]), lambda x, i, j, v: x.take(i.abs()),
            lambda x, i, j, v: x.index_add(1, j, v.new_ones(5, 2, 3)),
        ),
        x, i, j, v,
    )  # fmt: skip


def test_grids_of_indices() -> None:
    """Indices that vary along dimensions of their own are taken one after the other; others are not."""
    x = torch.randn(2, 5, 4, 3)
    i = torch.tensor([0, 4, -1])
    j = torch.tensor([3, 1])
    same_as_eager(
        each(
            lambda x, i, j: x[:, i[:, None], j], lambda x, i, j: x[:, i[:, None], j[None]], lambda x, i, j: x[j - 2, :, 0][:, i - 2],
            lambda x, i, j: x[:, i[:, None, None], j[:, None], i.clamp(max=2)], lambda x, i, j: x[:, i, j[:, None]],
            lambda x, i, j: x[:, i[:, None], :, j.clamp(max=2)], lambda x, i, j: x[:, i[:, None].expand(3, 2), j],
            lambda x, i, j: x[:, i.view(3, 1, 1), j.view(1, 2, 1)], lambda x, i, j: x[:, i[:1, None], j],
            lambda x, i, j: F.interpolate(x, size=(7, 8)), lambda x, i, j: F.interpolate(x, size=(3, 8), mode="nearest-exact"),
            lambda x, i, j: F.interpolate(x, scale_factor=2, mode="bicubic"),
            lambda x, i, j: F.interpolate(x[None], size=(3, 7, 5), mode="trilinear"),
        ),
        x, i, j,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "rows", "columns", "gathers"),
    [
        ((2, 6, 5), 12, 10, 2),
        ((64, 60), 32, 30, 2),
        ((64, 60), 3, 50, 2),
        ((64, 60), 3, 4, 1),
        ((3, 64, 60), 3, 4, 1),
        ((6, 5, 8), 12, 10, 1),
        ((0, 6, 5), 4, 3, 0),
        ((6, 5), 0, 3, 0),
    ],
)
def test_grids_are_taken_in_turn_where_little_is_copied(
    shape: tuple[int, ...], rows: int, columns: int, gathers: int
) -> None:
    """Not a few rows and columns of a large tensor: its rows would be copied for a few elements each."""
    first = 1 if len(shape) == 3 and shape[-1] != 8 else 0
    x, index = torch.randn(shape), (slice(None),) * first
    i = torch.arange(rows)[:, None] * shape[first] // max(rows, 1)
    j = torch.arange(columns) * shape[first + 1] // columns - shape[first + 1]

    class Grid(torch.nn.Module):
        def forward(self, x: torch.Tensor, i: torch.Tensor, j: torch.Tensor) -> torch.Tensor:
            return x[(*index, i, j)]

    same_as_eager(Grid(), x, i, j)
    program = str(from_torch(torch.export.export(Grid(), (x, i, j))))
    assert program.count('"hlo.gather"') == gathers, program


def test_expanded_indices_move_slices() -> None:
    """Where an index is expanded, whole slices are gathered and combined, and no index is in memory for each element."""
    x = torch.randn(5, 4, 3)
    u = torch.randn(7, 4, 3)
    i = torch.tensor([4, 0, 0, 3, 1, 4, 4])
    c = torch.tensor([[0, 2, 2], [1, 1, 3]])
    same_as_eager(
        each(
            lambda x, u, i, c: x.scatter_add(0, i[:, None, None].expand(7, 4, 3), u),
            lambda x, u, i, c: x.scatter_reduce(0, i.view(7, 1, 1).expand_as(u), u, "amax"),
            lambda x, u, i, c: x.scatter_reduce(0, i[:, None, None].expand(7, 4, 3), u, "mean", include_self=False),
            lambda x, u, i, c: x.scatter_add(1, i[None, :4, None].expand(5, 4, 3) % 4, u[:5]),
            lambda x, u, i, c: x[:2].scatter_add(1, c[..., None].expand(2, 3, 3), u[:2]),
            lambda x, u, i, c: x[:, :3, :2].scatter_add(0, c.t()[None].expand(5, 3, 2), u[:5, :3, :2]),
            lambda x, u, i, c: x.scatter_add(0, i[0].expand(1, 4, 3), u), lambda x, u, i, c: x.gather(0, i[:, None, None].expand(7, 2, 2)),
            lambda x, u, i, c: x.gather(1, c[..., None].expand(2, 3, 3)), lambda x, u, i, c: x.gather(2, (i % 3)[None, None].expand(5, 4, 7)),
            lambda x, u, i, c: x.index_add(0, i, u, alpha=2.5), lambda x, u, i, c: x.long().index_add(0, i, u.long(), alpha=3),
            lambda x, u, i, c: x.round().bfloat16().index_add(0, i.int(), u.round().bfloat16()), lambda x, u, i, c: x.sum().index_add(0, i[1:2], u.sum()),
        ),
        x, u, i, c,
    )  # fmt: skip
    found = str(rows_of_scatter(i, u))
    assert "update_window_dims = [1, 2]" in found, found


def rows_of_scatter(i: torch.Tensor, u: torch.Tensor) -> object:
    """The program of sums by an expanded index."""

    class Sums(torch.nn.Module):
        def forward(self, i: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
            return torch.zeros(5, 4, 3).scatter_add(0, i[:, None, None].expand(7, 4, 3), u)

    return from_torch(torch.export.export(Sums(), (i, u)))


def test_windows_are_slices() -> None:
    """A place for each window of `unfold`, and of memory that is viewed with overlaps, not one for each element."""
    x = torch.randn(12, 3, 25)
    windows = [(2, 3, 1), (2, 8, 8), (2, 3, 5), (2, 25, 1), (0, 5, 2), (0, 3, 3), (1, 1, 1), (2, 7, 9), (2, 2, 23)]
    same_as_eager(each(*(lambda x, w=w: x.unfold(*w) + 0 for w in windows)), x)
    views = [((4, 6), (3, 1)), ((3, 2, 5), (7, 2, 1)), ((4, 3), (1, 5)), ((5,), (1,)), ((2, 0), (1, 1)), ((), ())]
    same_as_eager(each(*(lambda x, v=v: x.as_strided(*v) + 0 for v in views)), x)
    same_as_eager(lambda x: [x.unfold(1, 2, 1) + 0], torch.zeros(0, 5))

    class Windows(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return x.unfold(2, 8, 4) + 0, x.as_strided((5, 6), (9, 1)) * 2

    program = str(from_torch(torch.export.export(Windows(), (x,))))
    assert "slice_sizes = array<i64: 12, 3, 8>" in program and "slice_sizes = array<i64: 6>" in program


def test_updates_between_other_dimensions() -> None:
    """The indexed dimensions of `index_put` are first, last, in the middle, or apart."""
    put = torch.ops.aten.index_put
    x = torch.randn(3, 4, 5, 2)
    i = torch.tensor([[0, -1, 2], [2, 0, 0]])
    v = torch.randn(3, 2, 3, 2)
    same_as_eager(
        each(
            lambda x, i, v: put(x, [None, i, i], v, True), lambda x, i, v: put(x, [None, i], v[:, :, :, None], True),
            lambda x, i, v: put(x, [None, None, None, i - i], v[..., 0].sum(0), True), lambda x, i, v: put(x, [i], v[0, 0, 0], True),
            lambda x, i, v: put(x, [None, i, None, i - i], v[0, :, :, :1, None], True),
            lambda x, i, v: put(x, [None, i[0, 0], i[0, 1]], v[:, 0, 0], True), lambda x, i, v: put(x, [None, i[0, 0]], v[0, 0, 0], True),
            lambda x, i, v: put(x.round().bfloat16(), [None, i, i], v.round().bfloat16(), True),
            lambda x, i, v: put(x, [None, i[0], i[0]], v[:, 0]), lambda x, i, v: put(x, [None, i], v.new_ones(()), True),
        ),
        x, i, v,
    )  # fmt: skip


def test_convolutions_and_pooling() -> None:
    x, w = torch.randn(2, 4, 9, 8), torch.randn(6, 2, 3, 2)
    t = torch.randn(4, 3, 3, 2)
    same_as_eager(
        each(
            lambda x, w, t: F.conv2d(x, w, torch.ones(6), stride=(2, 1), padding=(1, 0), dilation=(1, 2), groups=2),
            lambda x, w, t: F.conv_transpose2d(x, t, None, stride=2, padding=1, output_padding=1, groups=2, dilation=(2, 1)),
            lambda x, w, t: F.conv1d(x[:, :, 0], w[:, :, 0], groups=2, padding=1), lambda x, w, t: F.avg_pool2d(x, 3, 2, 1),
            lambda x, w, t: F.max_pool2d(x, 3, 2, 1, return_indices=True), lambda x, w, t: F.max_pool2d(x, 2, ceil_mode=True),
            lambda x, w, t: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False),
            lambda x, w, t: F.adaptive_avg_pool2d(x, (4, 3)), lambda x, w, t: F.adaptive_avg_pool2d(x, 1),
            lambda x, w, t: F.interpolate(x, scale_factor=2, mode="bilinear"), lambda x, w, t: F.interpolate(x, size=(4, 5)),
            lambda x, w, t: torch.fft.rfft2(x), lambda x, w, t: torch.fft.irfft(torch.fft.rfft(x, norm="ortho"), n=8, norm="ortho"),
            lambda x, w, t: torch.fft.ifftn(x, dim=(1, 3)),
        ),
        x, w, t, rtol=1e-4, atol=1e-5,
    )  # fmt: skip


@pytest.mark.parametrize("rank", [2, 3])
def test_poolings_with_the_channels_last(rank: int) -> None:
    """Poolings of tensors that lie so in memory, and gradients of means."""
    torch.manual_seed(0)
    memory = torch.channels_last if rank == 2 else torch.channels_last_3d
    x = torch.randn(2, 5, *(7, 6, 8)[:rank]).to(memory_format=memory)
    maxima, means = (F.max_pool2d, F.avg_pool2d) if rank == 2 else (F.max_pool3d, F.avg_pool3d)
    back = torch.ops.aten.avg_pool2d_backward if rank == 2 else torch.ops.aten.avg_pool3d_backward
    windows = [([2] * rank, [2] * rank, [0] * rank, False), ([3] * rank, [2] * rank, [1] * rank, True)]
    # Windows that overlap in one dimension, and that leave a rest.
    windows += [
        ([5, 2, 3][:rank], [2, 3, 1][:rank], [2, 0, 1][:rank], False),
        ([4] * rank, [3] * rank, [0] * rank, False),
    ]

    def gradient(x: torch.Tensor, kernel: list[int], stride: list[int], padding: list[int], ceil: bool) -> torch.Tensor:
        y = means(x, kernel, stride, padding, ceil, False)
        return back(y, x, kernel, stride, padding, ceil, False, None)

    same_as_eager(
        each(
            *(lambda x, w=w: maxima(x, *w[:3], ceil_mode=w[3], return_indices=True) for w in windows),
            *(lambda x, w=w: means(x, *w, False) for w in windows),
            *(lambda x, w=w: gradient(x, *w) for w in windows),
        ),
        x,
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_patches(dtype: torch.dtype) -> None:
    """(kernel, dilation, padding, stride): patches that overlap, tile, leave gaps, are large; and their sums."""
    torch.manual_seed(0)
    patches = [
        (3, 1, 1, 1), (2, 1, 1, 2), ((2, 3), 2, (0, 1), (3, 1)), ((1, 4), 1, 0, (1, 4)), (6, 1, 2, 1), (3, 1, 0, 5), (1, 1, 0, 1),
        (4, 1, 1, 2), (5, 1, 2, (3, 2)), ((3, 2), 1, (1, 0), (2, 1)),
    ]  # fmt: skip
    for image in ((2, 3, 13, 12), (3, 12, 17)):
        x = torch.randint(-8, 8, image).to(dtype)
        same_as_eager(each(*(lambda x, p=p: F.unfold(x, *p) for p in patches)), x)
        # Sums of few bits, so that their order does not matter.
        columns = [torch.randint(-2, 3, F.unfold(x, *p).shape).to(dtype) for p in patches]
        same_as_eager(
            lambda *given, size=image[-2:]: [F.fold(one, size, *p) for one, p in zip(given, patches, strict=True)],
            *columns,
        )


def test_random_numbers_are_those_of_eager() -> None:
    same_as_eager(
        each(
            lambda x: torch.rand(3, 5), lambda x: torch.randn_like(x), lambda x: torch.randint(0, 9, (7,)),
            lambda x: F.dropout(x, 0.3), lambda x: torch.randperm(6), lambda x: torch.randn(4, generator=None),
            lambda x: torch.rand(4, generator=None), lambda x: torch.randint(3, 9, (4,), generator=None),
            lambda x: torch.randint(9, (4,), generator=None), lambda x: torch.randperm(6, generator=None),
            lambda x: torch.empty(5).normal_(1, 2),
            lambda x: torch.empty(5).exponential_(), lambda x: torch.native_dropout(x, 0.5, True),
            lambda x: F.dropout(x.t(), 0.3), lambda x: F.dropout(x.t()[::2], 0.3), lambda x: F.dropout(x[:, None].expand(4, 3, 8), 0.3),
            lambda x: F.dropout(x, 1.0), lambda x: F.alpha_dropout(x.t(), 0.3, True), lambda x: torch.empty(8, 4).t().bernoulli_(0.3),
            lambda x: x.t().mul(2).bernoulli_(0.3), lambda x: x.t().mul(2).uniform_(), lambda x: torch.rand(2),
        ),
        torch.randn(4, 8),
    )  # fmt: skip
    # A graph that begins with draws, and returns them.
    same_as_eager(lambda x: [torch.rand(2), torch.randn(2), x + 1], torch.zeros(2))


def test_tensors_made_of_numbers_alone() -> None:
    """Windows and frequencies are constants of the program."""
    windows = (torch.hann_window, torch.hamming_window, torch.blackman_window, torch.bartlett_window)
    functions = [lambda x, window=window: (window(5) * x, window(5, periodic=False)) for window in windows]
    functions += [lambda x: torch.kaiser_window(5, True, 3.0) * x, lambda x: torch.fft.fftfreq(5, 0.1) * x]
    functions += [
        lambda x: torch.fft.rfftfreq(9) * x,
        lambda x: torch.triu_indices(2, 4),
        lambda x: torch.logspace(0, 2, 5) * x,
    ]
    same_as_eager(each(*functions), torch.randn(3, 5))
    compiled_whole = torch.compile(lambda x: torch.fft.rfftfreq(9) * x, backend=xhlo, options=STRICT)
    torch.testing.assert_close(compiled_whole(torch.ones(5)), torch.fft.rfftfreq(9))
