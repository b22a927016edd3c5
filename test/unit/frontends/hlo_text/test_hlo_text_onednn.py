"""XLA:CPU's calls of oneDNN by their meaning, beside NumPy in f64."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from hlo_texts import program
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.reference import evaluate

NUMBERS = np.random.default_rng(0)


def _array(*shape: int) -> np.ndarray:
    return NUMBERS.normal(size=shape).astype(np.float32)


def _text(target: str, config: Any, shapes: Sequence[str], result: str) -> str:
    lines = [f"  p{number} = {shape} parameter({number})" for number, shape in enumerate(shapes)]
    operands = ", ".join(f"p{number}" for number in range(len(shapes)))
    stated = f", backend_config={json.dumps(config)}" if config is not None else ""
    if result.startswith("("):
        first = result[1:].partition(")")[0].rpartition(", ")[0]
        call = f'  c = {result} custom-call({operands}), custom_call_target="{target}"{stated}'
        return program("\n".join([*lines, call, f"  ROOT r = {first} get-tuple-element(c), index=0"]))
    return program(
        "\n".join([*lines, f'  ROOT c = {result} custom-call({operands}), custom_call_target="{target}"{stated}'])
    )


def _run(target: str, config: Any, arrays: Sequence[np.ndarray], result: str) -> np.ndarray:
    names = {"float32": "f32", "bfloat16": "bf16", "float16": "f16"}
    shapes = [f"{names[x.dtype.name]}[{','.join(map(str, x.shape))}]" for x in arrays]
    (found,) = evaluate(parse_module(_text(target, config, shapes, result), "x.hlo"), arrays)
    return found


def _matmul(config: Any, arrays: Sequence[np.ndarray], result: str) -> np.ndarray:
    return _run("__onednn$matmul", {"outer_dimension_partitions": [], "onednn_matmul_config": config}, arrays, result)


def _erf(x: np.ndarray) -> np.ndarray:
    return np.vectorize(math.erf)(x)


FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "RELU": lambda x: np.maximum(x, 0),
    "RELU6": lambda x: np.clip(x, 0, 6),
    "TANH": np.tanh,
    "SIGMOID": lambda x: 1 / (1 + np.exp(-x)),
    "SWISH": lambda x: x / (1 + np.exp(-x)),
    "ELU": lambda x: np.where(x > 0, x, np.expm1(x)),
    "GELU_ERF": lambda x: x / 2 * (1 + _erf(x / np.sqrt(2))),
    "GELU_TANH": lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_a_product(name: str) -> None:
    a, b, bias = _array(3, 4), _array(4, 5), _array(1, 5)
    found = _matmul({"fusions": {"ops": ["BIAS", name]}}, [a, b, bias], "f32[3,5]")
    expected = FUNCTIONS[name](a.astype(np.float64) @ b + bias)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_products() -> None:
    a, b = _array(2, 3, 4), _array(2, 4, 5)
    for config, arrays, shape, expected in (
        (None, [a, b], "f32[2,3,5]", a @ b),
        ({"transpose_a": True}, [a.swapaxes(1, 2), b], "f32[2,3,5]", a @ b),
        ({"transpose_b": True}, [a, b.swapaxes(1, 2)], "f32[2,3,5]", a @ b),
        ({}, [a, b[:1]], "f32[2,3,5]", a @ b[:1]),
        (
            {"lhs": {"dims": "3", "tensor": {"dimensions": ["2", "1", "3"]}}, "result": {"tensor": {"dimensions": ["2", "1", "3"]}}},
            [a.swapaxes(0, 1), b], "f32[3,2,5]", (a @ b).swapaxes(0, 1),
        ),
        ({"fusions": {"ops": ["LINEAR", "BINARY_ADD"], "alpha": [0.5]}}, [a, b, _one := _array(2, 1, 5)], "f32[2,3,5]", a @ b / 2 + _one),
        ({"fusions": {"ops": ["SUM"]}}, [a, b, _all := _array(2, 3, 5)], "f32[2,3,5]", a @ b + _all),
        (
            {"fused_ops": ["LINEAR"], "alpha_typecast": struct.unpack("i", struct.pack("f", 0.25))[0]},
            [a, b], "f32[2,3,5]", a @ b / 4,
        ),
        ({"optimization_config": {"user_scratchpad": True}}, [a, b], "(f32[2,3,5], u8[64])", a @ b),
    ):  # fmt: skip
        found = _matmul({} if config is None else config, [np.ascontiguousarray(x) for x in arrays], shape)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    without = _run("__onednn$matmul", None, [a[0], b[0]], "f32[3,5]")
    np.testing.assert_allclose(without, a[0] @ b[0], rtol=1e-5, atol=1e-6)


def test_narrow_floats_are_rounded_once() -> None:
    a, b, bias = (x.astype(ml_dtypes.bfloat16) for x in (_array(3, 64), _array(64, 5), _array(1, 5)))
    found = _matmul({"fusions": {"ops": ["BIAS"]}}, [a, b, bias], "bf16[3,5]")
    expected = (a.astype(np.float64) @ b.astype(np.float64) + bias.astype(np.float64)).astype(ml_dtypes.bfloat16)
    assert (found == expected).mean() > 0.9


def _conv_config(added: int, **more: Any) -> Any:
    """NHWC images and an HWIO kernel; older versions of XLA add one to the numbers, so that none is left out."""

    def plus(*numbers: int) -> list[str]:
        return [str(number + added) for number in numbers]

    return {
        "outer_dimension_partitions": [],
        "onednn_conv_config": {
            "dims": "4",
            "input": {"dims": "4", "data": {"feature_dim": "3", "spatial_dims": plus(1, 2)}},
            "kernel": {
                "dims": "4",
                "filter": {"input_feature_dim": "2", "output_feature_dim": "3", "spatial_dims": plus(0, 1)},
            },
            "output": {"dims": "4", "data": {"feature_dim": "3", "spatial_dims": plus(1, 2)}},
            "window": {
                "size": ["3", "2"], "pad_left": plus(1, 0), "pad_right": plus(1, 1), "strides": plus(2, 1),
                "window_dilations": plus(1, 2),
            },
            "feature_groups": "1",
        }
        | more,
    }  # fmt: skip


def _convolved(x: np.ndarray, kernel: np.ndarray, groups: int) -> np.ndarray:
    """Padding (1, 1) and (0, 1), strides 2 and 1, the kernel's second dimension dilated by 2."""
    x = np.pad(x.astype(np.float64), ((0, 0), (1, 1), (0, 1), (0, 0)))
    height, width = (x.shape[1] - 3) // 2 + 1, x.shape[2] - 2
    out = np.zeros((x.shape[0], height, width, kernel.shape[3]))
    ins, outs = kernel.shape[2], kernel.shape[3] // groups
    for group in range(groups):
        for i in range(kernel.shape[0]):
            for j in range(kernel.shape[1]):
                part = x[:, i : i + 2 * height - 1 : 2, 2 * j : 2 * j + width, group * ins : (group + 1) * ins]
                out[..., group * outs : (group + 1) * outs] += part @ kernel[i, j, :, group * outs : (group + 1) * outs]
    return out


@pytest.mark.parametrize(("groups", "added"), [(1, 0), (2, 0), (2, 1)])
def test_convolutions(groups: int, added: int) -> None:
    x, kernel, bias = _array(2, 7, 6, 4), _array(3, 2, 4 // groups, 6), _array(6)
    config = _conv_config(added, fusions={"ops": ["BIAS", "RELU"]}, feature_groups=str(groups))
    expected = np.maximum(_convolved(x, kernel, groups) + bias, 0)
    shape = f"f32[{','.join(map(str, expected.shape))}]"
    found = _run("__onednn$convolution", config, [x, kernel, bias], shape)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_softmax_and_layer_norm() -> None:
    x, scale, shift = _array(3, 4, 5), _array(5), _array(5)
    wide = x.astype(np.float64)
    for axis in (0, 2):
        config = {"onednn_softmax_config": {"softmax_axis": axis} if axis else {}}
        powers = np.exp(wide - wide.max(axis, keepdims=True))
        found = _run("__onednn$softmax", config, [x], "f32[3,4,5]")
        np.testing.assert_allclose(found, powers / powers.sum(axis, keepdims=True), rtol=1e-5)
    bits = struct.unpack("i", struct.pack("f", 1e-3))[0]
    config = {"onednn_layer_norm_config": {"rescale": "SCALE_AND_SHIFT", "epsilon_typecast": bits}}
    normal = (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-3)
    found = _run("__onednn$layernorm", config, [x, scale, shift], "f32[3,4,5]")
    np.testing.assert_allclose(found, normal * scale + shift, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("target", "config", "shapes", "result", "message"),
    [
        ("matmul", {"fusions": {"ops": ["MISH"]}}, ["f32[2,2]"] * 2, "f32[2,2]", "'MISH' is no function"),
        ("matmul", {"optimization_config": {"weights_prepacked": True}}, ["f32[2,2]"] * 2, "f32[2,2]", "are packed"),
        ("matmul", {"fusions": {"ops": ["BIAS"]}}, ["f32[2,2]"] * 2, "f32[2,2]", "no operand for BIAS"),
        ("matmul", {}, ["f32[2,2]"] * 3, "f32[2,2]", "more operands than its fusions take"),
        ("matmul", {}, ["f32[2,2]", "f32[3,2]"], "f32[2,2]", "have no product"),
        ("matmul", {}, ["f32[2,2]"] * 2, "f32[2,3]", r"returns an array of the shape \[2, 2\]"),
        ("matmul", {}, ["s8[2,2]"] * 2, "f32[2,2]", "with quantized operands"),
        ("matmul", {"lhs": {"tensor": {"dimensions": ["1", "1"]}}}, ["f32[2,2]"] * 2, "f32[2,2]", "no permutation"),
        ("matmul", {"lhs": 1}, ["f32[2,2]"] * 2, "f32[2,2]", "lhs in backend_config is no object"),
        ("convolution", {}, ["f32[1,4,4,1]"] * 2, "f32[1,4,4,1]", "the dimensions of input in backend_config"),
        ("unheard", {}, ["f32[2]"], "f32[2]", "is a call of XLA's own runtime"),
    ],
)
def test_what_is_refused(target: str, config: Any, shapes: list[str], result: str, message: str) -> None:
    key = {"matmul": "onednn_matmul_config", "convolution": "onednn_conv_config"}.get(target, "none")
    text = _text(f"__onednn${target}", {key: config}, shapes, result)
    with pytest.raises(DiagnosticError, match=message):
        parse_module(text, "x.hlo")
