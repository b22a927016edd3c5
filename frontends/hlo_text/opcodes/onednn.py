"""
XLA:CPU's calls of oneDNN, `__onednn$matmul` and the like, as the operations that they stand for.

Their `backend_config` is a message of XLA's `onednn_config.proto` as JSON: fields of value zero are left out. The
arithmetic is oneDNN's: in f32 for narrower floats, rounded once at the end.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase

from ....hlo_dialect.attributes import DotDimensionNumbersAttr, int_array, int_attr
from ....hlo_dialect.chlo.special import ErfOp
from ....hlo_dialect.expressions.tensor import Tensor
from ....hlo_dialect.ops.convolution import ConvolutionOp
from ....hlo_dialect.ops.elementwise_binary import MaximumOp
from ....hlo_dialect.ops.elementwise_unary import LogisticOp, RsqrtOp, TanhOp
from ....hlo_dialect.shapes import is_static
from ....hlo_dialect.syntax.convolution import ConvDimensionNumbersAttr, Dimensions
from ....hlo_dialect.types import (
    bit_width,
    dense_constant,
    element_of,
    f32,
    i1,
    is_float,
    make_tensor,
    tensor_type,
)
from ..step import Step, Value

Config = Mapping[str, Any]


def _config(step: Step, name: str) -> Config:
    """A message in the call's configuration; empty if it is not there, as all its fields are zero then."""
    if not step.has("backend_config"):
        return {}
    try:
        found = json.loads(step.text("backend_config"))
        return found.get(name, {})
    except (ValueError, AttributeError, RecursionError):
        step.fail("backend_config is no JSON object", "backend_config")


def _part(step: Step, config: Config, name: str) -> Config:
    found = config.get(name, {})
    if not isinstance(found, dict):
        step.fail(f"{name} in backend_config is no object", "backend_config")
    return cast(Config, found)


def _number(step: Step, config: Config, name: str, default: int = 0) -> int:
    """An integer; JSON has those of 64 bits as strings."""
    try:
        return int(config.get(name, default))
    except (TypeError, ValueError):
        step.fail(f"{name} in backend_config is no integer", "backend_config")


def _numbers(step: Step, config: Config, name: str, added: int = 0) -> list[int]:
    """Integers, to each of which `added` was added: older versions of XLA add one, so that none is zero."""
    found = config.get(name, [])
    try:
        return [int(each) - added for each in found]
    except (TypeError, ValueError):
        step.fail(f"{name} in backend_config is no list of integers", "backend_config")


def _check(step: Step, config: Config) -> None:
    """Refuse packed weights, whose order is oneDNN's own."""
    packed = _part(step, config, "optimization_config").get("weights_prepacked") or config.get("weights_prepacked")
    if packed:
        step.fail("the weights are packed in an order that only oneDNN knows: give the program as it was before")


def _operands(step: Step, least: int, most: int | None = None) -> list[Tensor]:
    """The operands, in f32 if they are narrower."""
    if len(step.operands) < least or (most is not None and len(step.operands) > most):
        step.fail(f"oneDNN takes {least} operands here, there are {len(step.operands)}")
    found = [step.tensor(number) for number in range(len(step.operands))]
    if not all(is_static(x.shape) and is_float(x.element) for x in found):
        step.fail(
            "calls of oneDNN with quantized operands, or of unknown sizes, are not supported: give the program as "
            "it was before XLA optimized it"
        )
    return list(map(_wide, found))


def _wide(x: Tensor) -> Tensor:
    return x.convert(f32) if bit_width(x.element) < 32 else x


def _result(step: Step, x: Tensor) -> Value:
    """The call's value: an array, or a tuple with memory to work in, which has no meaning."""
    shape = step.shape.parts[0] if step.shape.is_tuple and step.shape.parts else step.shape
    if shape.type is None or shape.dims != x.shape:
        step.fail(f"oneDNN returns an array of the shape {list(x.shape)} here")
    value = x.convert(element_of(shape.type)).value
    if not step.shape.is_tuple:
        return value
    return (value, *(x.builder.splat(0, tensor_type(type_)).value for type_ in step.shape.types()[1:]))


# Operations on a product ------------------------------------------------------------------------------------------


def _gelu_tanh(x: Tensor) -> Tensor:
    return x * 0.5 * (1.0 + ((x + x * x * x * 0.044715) * math.sqrt(2 / math.pi)).apply(TanhOp))


_UNARY: dict[str, Callable[[Tensor], Tensor]] = {
    "RELU": lambda x: x.maximum(0.0),
    "RELU6": lambda x: x.maximum(0.0).minimum(6.0),
    "TANH": lambda x: x.apply(TanhOp),
    "SIGMOID": lambda x: x.apply(LogisticOp),
    "SWISH": lambda x: x * x.apply(LogisticOp),
    "ELU": lambda x: x.compare("GT", 0.0).select(x, x.exponential_minus_one()),
    "GELU_ERF": lambda x: x * 0.5 * (1.0 + (x * math.sqrt(0.5)).apply(ErfOp)),
    "GELU_TANH": _gelu_tanh,
}
_BINARY = ("BIAS", "BINARY_ADD", "SUM")


def _finished(step: Step, config: Config, x: Tensor, operands: Sequence[Tensor], channel: int | None = None) -> Tensor:
    """A product with `fusions` applied: functions, and sums with the other operands, of which a bias is by channel."""
    fusions = _part(step, config, "fusions")
    stated: Any = fusions.get("ops", config.get("fused_ops", []))
    names = cast("list[Any]", stated) if isinstance(stated, list) else [stated]
    scales = iter(_scales(step, config, fusions))
    rest = iter(operands)
    for name in names:
        if name in _UNARY:
            x = _UNARY[name](x)
        elif name == "LINEAR":
            x = x * next(scales, 1.0)
        elif name in _BINARY:
            other = next(rest, None)
            if other is None:
                step.fail(f"there is no operand for {name}")
            x = x + _spread(step, other, x, channel)
        else:
            step.fail(f"'{name}' is no function that is known to be fused by oneDNN", "backend_config")
    if next(rest, None) is not None:
        step.fail("there are more operands than its fusions take")
    return x


def _scales(step: Step, config: Config, fusions: Config) -> list[float]:
    """The factors of LINEAR; older versions have one, as the bits of an integer."""
    stated = fusions.get("alpha")
    if isinstance(stated, list):
        try:
            return [float(each) for each in cast("list[Any]", stated)]
        except (TypeError, ValueError):
            step.fail("alpha in backend_config is no list of numbers", "backend_config")
    given = next((each for each in (fusions, config) if "alpha_typecast" in each), None)
    return [] if given is None else [_float(_number(step, given, "alpha_typecast"))]


def _float(bits: int) -> float:
    return struct.unpack("<f", struct.pack("<I", bits & 0xFFFFFFFF))[0]


def _spread(step: Step, x: Tensor, like: Tensor, channel: int | None) -> Tensor:
    """An operand in the shape of a product: dimensions of one element are repeated, those that lack are the first."""
    if x.shape == like.shape:
        return x
    rank = len(like.shape)
    if channel is not None and len(x.shape) == 1:
        dims = [channel]
    else:
        dims = list(range(rank - len(x.shape), rank))
    if len(x.shape) > rank or any(size not in (1, like.shape[dim]) for size, dim in zip(x.shape, dims, strict=True)):
        step.fail(f"an operand of the shape {list(x.shape)} does not fit a product of the shape {list(like.shape)}")
    kept = [at for at, size in enumerate(x.shape) if size != 1]
    return x.reshape(tuple(x.shape[at] for at in kept)).broadcast(like.shape, [dims[at] for at in kept])


# The calls --------------------------------------------------------------------------------------------------------


def _permutation(step: Step, config: Config, side: str, rank: int) -> list[int]:
    """The order in which oneDNN sees the dimensions of an array, that of the array itself if there is none."""
    tensor = _part(step, _part(step, config, side), "tensor")
    found = _numbers(step, tensor, "dimensions")
    if 0 not in found:
        found = [dim - 1 for dim in found] or list(range(rank))
    if sorted(found) != list(range(rank)):
        step.fail(f"the dimensions of {side} in backend_config are no permutation of {rank}", "backend_config")
    return found


def _matmul(step: Step) -> Value:
    config = _config(step, "onednn_matmul_config")
    operands = _operands(step, 2)
    _check(step, config)
    sides: list[Tensor] = []
    for x, side, flag in zip(operands, ("lhs", "rhs"), ("transpose_a", "transpose_b"), strict=False):
        rank = len(x.shape)
        if rank < 2 or rank != len(operands[0].shape):
            step.fail("oneDNN multiplies arrays of the same number of dimensions, at least two")
        order = _permutation(step, config, side, rank)
        if config.get(flag):
            order[-2:] = order[-1], order[-2]
        sides.append(x.transpose(order))
    lhs, rhs = sides
    rank = len(lhs.shape)
    batch = [max(pair) for pair in zip(lhs.shape[:-2], rhs.shape[:-2], strict=True)]
    lhs = _spread_batch(step, lhs, batch)
    rhs = _spread_batch(step, rhs, batch)
    if lhs.shape[-1] != rhs.shape[-2]:
        step.fail(f"arrays of the shapes {list(lhs.shape)} and {list(rhs.shape)} have no product")
    dims = list(range(rank - 2))
    product = lhs.dot(rhs, DotDimensionNumbersAttr.of(dims, dims, [rank - 1], [rank - 2]))
    product = _finished(step, config, product, operands[2:])
    order = _permutation(step, config, "result", rank)
    return _result(step, product.transpose([order.index(dim) for dim in range(rank)]))


def _spread_batch(step: Step, x: Tensor, batch: Sequence[int]) -> Tensor:
    """Repeat matrices along dimensions of one element."""
    shape = (*batch, *x.shape[-2:])
    if x.shape == shape:
        return x
    if any(size not in (1, whole) for size, whole in zip(x.shape[:-2], batch, strict=True)):
        step.fail(f"{list(x.shape[:-2])} matrices do not fit {list(batch)}")
    kept = [at for at, size in enumerate(x.shape) if size == shape[at]]
    return x.reshape(tuple(x.shape[at] for at in kept)).broadcast(shape, kept)


def _dimensions(step: Step, config: Config, side: str, names: Sequence[str], rank: int, added: int) -> Dimensions:
    """The dimensions of one array of a convolution, the two named ones first; `added` was added to the others."""
    part = _part(step, config, side)
    found = _part(step, part, "filter" if side == "kernel" else "data")
    first, second = (_number(step, found, name) for name in names)
    spatial = _numbers(step, found, "spatial_dims", added)
    if sorted((first, second, *spatial)) != list(range(rank)):
        step.fail(f"the dimensions of {side} in backend_config are not those of an array of {rank}", "backend_config")
    return Dimensions(first, second, tuple(spatial))


def _added(step: Step, config: Config, rank: int) -> int:
    """The offset of the numbers of spatial dimensions and of the window: the dimensions must be all there are."""
    found = _part(step, _part(step, config, "input"), "data")
    dims = [_number(step, found, "batch_dim"), _number(step, found, "feature_dim")]
    return 0 if sorted(dims + _numbers(step, found, "spatial_dims")) == list(range(rank)) else 1


def _convolution(step: Step) -> Value:
    config = _config(step, "onednn_conv_config")
    operands = _operands(step, 2)
    _check(step, config)
    x, kernel = operands[:2]
    rank = len(x.shape)
    if len(kernel.shape) != rank or rank < 3:
        step.fail("oneDNN convolves arrays of the same number of dimensions, at least three")
    data = ("batch_dim", "feature_dim")
    added = _added(step, config, rank)
    dims = [
        _dimensions(step, config, "input", data, rank, added),
        _dimensions(step, config, "kernel", ("input_feature_dim", "output_feature_dim"), rank, added),
        _dimensions(step, config, "output", data, rank, added),
    ]
    window = _part(step, config, "window")
    count = rank - 2
    strides, low, high, dilations = (
        _numbers(step, window, name, added) or [default] * count
        for name, default in (("strides", 1), ("pad_left", 0), ("pad_right", 0), ("window_dilations", 1))
    )
    if any(len(each) != count for each in (strides, low, high, dilations)):
        step.fail(f"the window in backend_config is not one of {count} dimensions", "backend_config")
    shape = step.shape.parts[0] if step.shape.is_tuple and step.shape.parts else step.shape
    product = x.builder.op(
        ConvolutionOp,
        [x, kernel],
        make_tensor(shape.dims, x.element),
        window_strides=int_array(strides),
        padding=dense_constant(np.array([low, high], np.int64).T.reshape(count, 2)),
        lhs_dilation=int_array([1] * count),
        rhs_dilation=int_array(dilations),
        window_reversal=DenseArrayBase.from_list(i1, [0] * count),
        dimension_numbers=ConvDimensionNumbersAttr.of(*dims),
        feature_group_count=int_attr(max(1, _number(step, config, "feature_groups"))),
        batch_group_count=int_attr(1),
    )
    return _result(step, _finished(step, config, product, operands[2:], dims[2].feature))


def _softmax(step: Step) -> Value:
    (x,) = _operands(step, 1, 1)
    axis = _number(step, _config(step, "onednn_softmax_config"), "softmax_axis")
    if not 0 <= axis < len(x.shape):
        step.fail(f"there is no dimension {axis}", "backend_config")
    rest = [dim for dim in range(len(x.shape)) if dim != axis]
    low = x.builder.splat(-math.inf, make_tensor((), x.element))
    powers = (x - x.reduce(MaximumOp, low, [axis]).broadcast(x.shape, rest)).exponential()
    return _result(step, powers / powers.sum([axis]).broadcast(x.shape, rest))


def _layer_norm(step: Step) -> Value:
    """Along the last dimension, with a scale and a shift of each of its elements."""
    x, scale, shift = _operands(step, 3, 3)
    if not x.shape or scale.shape != x.shape[-1:] or shift.shape != scale.shape:
        step.fail("the scale and the shift are not of the elements of the last dimension")
    config = _config(step, "onednn_layer_norm_config")
    epsilon = _float(_number(step, config, "epsilon_typecast"))
    last, rest = len(x.shape) - 1, list(range(len(x.shape) - 1))
    count = float(max(1, x.shape[-1]))
    centered = x - (x.sum([last]) / count).broadcast(x.shape, rest)
    variance = (centered * centered).sum([last]) / count
    normal = centered * (variance + epsilon).apply(RsqrtOp).broadcast(x.shape, rest)
    return _result(step, normal * scale.broadcast(x.shape, [last]) + shift.broadcast(x.shape, [last]))


ONEDNN: dict[str, Callable[[Step], Value]] = {
    "__onednn$matmul": _matmul,
    "__onednn$convolution": _convolution,
    "__onednn$softmax": _softmax,
    "__onednn$layernorm": _layer_norm,
}
"""The conversions of calls by their targets."""
