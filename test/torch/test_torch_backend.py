"""The backend as users meet it: options, what is not lowered, sizes that change, memory, export."""

from __future__ import annotations

import doctest
import re
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
import torch

import xhlo
from graph_programs import compiled
from xhlo.frontends.torch import graphs, registry
from xhlo.frontends.torch.backend import xhlo as backend
from xhlo.frontends.torch.errors import FallbackWarning

ROOT = Path(__file__).resolve().parents[2]


def line_of(text: str) -> int:
    """The number of the first line of this file with a text."""
    lines = Path(__file__).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_the_name_leads_to_the_backend() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    found = re.search(r"\[project.entry-points.torch_dynamo_backends\]\nxhlo = \"(.*)\"", text)
    assert found is not None
    assert EntryPoint("xhlo", found[1], "torch_dynamo_backends").load() is backend


def unlowered(x: torch.Tensor) -> torch.Tensor:
    return torch.linalg.ldl_factor_ex(x * 2)[0] + 1  # the line that is named


def test_torch_runs_what_is_not_lowered() -> None:
    x = torch.randn(3, 3)
    with pytest.warns(FallbackWarning) as said:
        found = torch.compile(unlowered, backend=backend)(x)
    torch.testing.assert_close(found, unlowered(x))
    message = str(said[0].message)
    place = f"({__file__}:{line_of('# the line that is named')})"
    assert message == f"aten.linalg_ldl_factor_ex.default {place}: there is no rule for this operation; torch runs it"


def test_strict_refuses_it_at_its_line() -> None:
    with pytest.raises(Exception, match=r"aten.linalg_ldl_factor_ex.default is not compiled") as caught:
        torch.compile(unlowered, backend=backend, options={"strict": True})(torch.randn(3, 3))
    assert f"{__file__}:{line_of('# the line that is named')}:1: error: " in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"speed": 1}, "there is no option 'speed'; there are target, math, strict, dump, autotune, tuning"),
        ({"tuning": "none.json"}, "none.json"),
        ({"tuning": "none.json", "autotune": True}, "give autotune=, which measures, or tuning="),
        ({"math": "quick"}, "no mode of math is named 'quick'"),
        ({"target": "abacus"}, "abacus"),
    ],
)
def test_wrong_options(options: dict[str, object], message: str) -> None:
    with pytest.raises(Exception, match=re.escape(message)):
        torch.compile(torch.neg, backend=backend, options=options)(torch.randn(2))


def test_a_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="xhlo has no mode 'max-autotune'"):
        backend(torch.fx.symbolic_trace(torch.nn.Identity()), [], mode="max-autotune")


def test_stages_are_dumped(tmp_path: Path) -> None:
    torch.compile(lambda x: x.sin() + 1, backend=backend, options={"dump": str(tmp_path)})(torch.randn(3))
    (text,) = [path.read_text() for path in tmp_path.glob("*.hlo.mlir")]
    assert "hlo.sine" in text


def test_products_are_tuned(monkeypatch: pytest.MonkeyPatch) -> None:
    """The options go the way of `xhlo.compile`'s, which test_autotune measures."""
    given: list[object] = []
    real = graphs.compile_program

    def compile_program(module: object, *args: object, autotune: object, tuning: object, **stated: Any) -> Any:
        given.append((autotune, tuning))
        return real(module, **stated)

    monkeypatch.setattr(graphs, "compile_program", compile_program)
    for options in ({"autotune": "a.json"}, {"tuning": "b.json"}):
        torch._dynamo.reset()
        torch.compile(torch.neg, backend=backend, options=options)(torch.ones(2))
    assert given == [("a.json", None), (False, "b.json")]


def test_sizes_that_change() -> None:
    """Each combination of sizes is compiled once, and Dynamo traces only once."""
    traced = 0

    def counting(graph: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> object:
        nonlocal traced
        traced += 1
        return backend(graph, inputs)

    function = torch.compile(lambda x: (x * x.shape[0]).sum(0), backend=counting, dynamic=True)
    for size in (3, 5, 3, 7):
        x = torch.randn(size, 2)
        torch.testing.assert_close(function(x), (x * size).sum(0))
    assert traced == 1


def test_gradients_of_sizes_that_change() -> None:
    layer = torch.nn.Linear(4, 2)
    function = torch.compile(lambda x: layer(x).square().sum(), backend=backend, dynamic=True)
    for size in (3, 5):
        x = torch.randn(size, 4, requires_grad=True)
        (found,) = torch.autograd.grad(function(x), x)
        (expected,) = torch.autograd.grad(layer(x).square().sum(), x)
        torch.testing.assert_close(found, expected)


def test_arguments_and_buffers_are_changed_in_place() -> None:
    class Counter(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(2))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.count += 1
            x.mul_(2)
            return x[1:] + self.count

    model, x = Counter(), torch.ones(3, 2)
    function = torch.compile(model, backend=backend)
    found = [function(x).clone() for _ in range(2)]
    assert (model.count.tolist(), x.tolist()) == ([2, 2], [[4, 4]] * 3)
    torch.testing.assert_close(found[1], torch.full((2, 2), 6.0))


def test_outputs_share_memory_as_in_eager() -> None:
    function = torch.compile(lambda x: (x.t(), x, x[1:], x + 1), backend=backend)
    x = torch.randn(3, 4)
    turned, same, part, new = function(x)
    assert same is x or same.data_ptr() == x.data_ptr()
    assert (turned.data_ptr(), part.data_ptr()) == (x.data_ptr(), x[1:].data_ptr())
    assert (turned.stride(), new.data_ptr() != x.data_ptr()) == ((1, 4), True)


def test_memory_layouts() -> None:
    """Arguments that are transposed, broadcast, with gaps, conjugated; results as eager lays them out."""
    base = torch.randn(4, 6)
    arguments = [base.t(), base[:, ::2], base[:1].expand(4, 6), torch.randn(4, 6, dtype=torch.complex64).conj()]
    for x in arguments:
        (found,) = compiled(lambda x: [x * 2])(x)
        expected = x * 2
        torch.testing.assert_close(found, expected)
    nhwc = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    assert compiled(lambda x: [x + 1])(nhwc)[0].stride() == (nhwc + 1).stride()


def test_constants_of_the_graph() -> None:
    function = torch.compile(lambda x: torch.where(x > 0, x, torch.tensor(-1.0)), backend=backend)
    torch.testing.assert_close(function(torch.tensor([-3.0, 3.0])), torch.tensor([-1.0, 3.0]))


def test_two_rules_for_one_operation() -> None:
    with pytest.raises(ValueError, match=r"there are two rules for aten.add.Tensor"):
        registry.lowers("aten.add.Tensor")(lambda step, x: x)


def exported(model: torch.nn.Module, *arguments: torch.Tensor) -> torch.export.ExportedProgram:
    return torch.export.export(model, arguments)


def test_exported_programs() -> None:
    model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.ReLU()).eval()
    x = torch.randn(1, 1, 5, 5)
    program = exported(model, x)
    executable = xhlo.deserialize(xhlo.compile(program).serialize())
    expected = model(x).detach()
    torch.testing.assert_close(torch.from_numpy(executable(x)), expected)
    module = xhlo.from_torch(program, weights="arguments")
    weights = [program.state_dict[spec.target] for spec in program.graph_signature.input_specs if spec.target]
    found = xhlo.compile(module)(*[one.detach() for one in weights], x)
    torch.testing.assert_close(torch.from_numpy(found), expected)


def test_exported_conversions_and_transforms() -> None:
    """Programs of torch.export state the dtypes of what they convert, and have transforms of their own."""

    class Spectrum(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            z = torch.fft.fft(x.to(torch.float32), norm="ortho")
            return z, torch.fft.rfft2(x.float()), torch.fft.irfft(z, n=7), torch.fft.ifft2(z), (x > 0).to(torch.uint8)

    x = torch.randn(3, 6, dtype=torch.float64)
    found = xhlo.compile(exported(Spectrum(), x))(x)
    for value, expected in zip(found, Spectrum()(x), strict=True):
        torch.testing.assert_close(torch.from_numpy(value), expected)


def test_exported_programs_return_new_values_of_arguments() -> None:
    class Add(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.add_(1) * 2

    x = torch.randn(3)
    changed, found = xhlo.compile(exported(Add(), x.clone()))(x)
    torch.testing.assert_close(torch.from_numpy(changed), x + 1)
    torch.testing.assert_close(torch.from_numpy(found), (x + 1) * 2)


@pytest.mark.parametrize("weights", ["constants", "arguments"])
def test_exported_programs_of_symbolic_sizes(weights: Any) -> None:
    class Rows(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(3, 2)

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return self.linear(x) / x.shape[0], torch.cat([x, y]).sum(0)

    model, n = Rows().eval(), torch.export.Dim("n", max=64)
    given = (torch.randn(5, 3), torch.randn(5, 3))
    program = torch.export.export(model, given, dynamic_shapes=({0: n}, {0: n}))
    for count in (2, 7, 64):
        given = (torch.randn(count, 3), torch.randn(count, 3))
        executable = xhlo.compile(xhlo.from_torch(program, weights, arguments=given))
        first = tuple(model.parameters()) if weights == "arguments" else ()
        found = executable(*(one.detach() for one in (*first, *given)))
        for value, expected in zip(found, model(*given), strict=True):
            torch.testing.assert_close(torch.from_numpy(value), expected)


def test_what_export_refuses() -> None:
    x = torch.randn(2, 3)
    with pytest.raises(xhlo.DiagnosticError, match="changes its buffer 'running_mean'; call model.eval"):
        xhlo.compile(exported(torch.nn.BatchNorm1d(3), x))
    with pytest.raises(xhlo.DiagnosticError, match="draws random numbers"):
        xhlo.compile(exported(torch.nn.Dropout(0.5), x))
    sizes = ({0: torch.export.Dim("n", min=2, max=8)},)
    with pytest.raises(xhlo.DiagnosticError, match="symbolic sizes"):
        xhlo.compile(torch.export.export(torch.nn.Linear(3, 2), (x,), dynamic_shapes=sizes))
    program = torch.export.export(torch.nn.Linear(3, 2), (x,), dynamic_shapes=sizes)
    for given, why in (
        (torch.zeros(9, 3), r"does not take these arguments: .*<= 8"),
        (torch.zeros(4, 2), r"does not take these arguments: .*== 3"),
        (torch.zeros(4, 3).double(), "takes tensors of torch.float32, not torch.float64"),
    ):
        with pytest.raises(xhlo.DiagnosticError, match=why):
            xhlo.from_torch(program, arguments=(given,))
    with pytest.raises(ValueError, match="weights: expected 'constants' or 'arguments'"):
        xhlo.from_torch(exported(torch.nn.ReLU(), x), weights="files")  # pyright: ignore[reportArgumentType]


def test_what_from_torch_does_not_take() -> None:
    with pytest.raises(TypeError, match=r"expected a program of torch.export.export\(model, arguments\), got Linear"):
        xhlo.from_torch(torch.nn.Linear(3, 2), (torch.ones(1, 3),))  # pyright: ignore[reportArgumentType]
    program = exported(torch.nn.Linear(3, 2, device="meta"), torch.ones(1, 3, device="meta"))
    with pytest.raises(xhlo.DiagnosticError, match="'weight' is on the device meta, without values"):
        xhlo.from_torch(program)
    assert "%p_weight: tensor<2x3xf32>" in str(xhlo.from_torch(program, weights="arguments"))


def test_the_example_of_from_torch() -> None:
    test = doctest.DocTestParser().get_doctest(xhlo.from_torch.__doc__ or "", {}, "from_torch", None, None)
    assert not doctest.DocTestRunner().run(test).failed
