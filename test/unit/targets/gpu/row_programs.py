"""Row kernels as programs, and arrays for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

TYPES: dict[str, Any] = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i64": np.int64,
    "i32": np.int32,
    "ui16": np.uint16,
    "i8": np.int8,
    "i1": np.bool_,
}


LOWEST = {"f64": "0xFFF0000000000000", "f32": "0xFF800000", "f16": "0xFC00", "bf16": "0xFF80", "i32": "-2147483648"}


def array(shape: tuple[int, ...], type_: str = "f32", seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng([seed, *shape])
    if type_ == "i1":
        return rng.integers(0, 2, shape).astype(bool)
    if type_[0] in "iu":
        return rng.integers(0, 7, shape).astype(TYPES[type_])
    return rng.standard_normal(shape).astype(TYPES[type_])


def tensor(shape: Sequence[int], type_: str = "f32") -> str:
    return f"tensor<{'x'.join(map(str, (*shape, type_)))}>"


def softmax(lead: tuple[int, ...], n: int, type_: str = "f32") -> str:
    whole, kept, element = tensor((*lead, n), type_), tensor(lead, type_), f"tensor<{type_}>"
    axis, along = len(lead), f"dims = {list(range(len(lead)))} : ({kept}) -> {whole}"
    reduced = f"across dimensions = [{axis}] : ({whole}, {element}) -> {kept}"
    return f"""
    func.func @main(%x: {whole}) -> {whole} {{
      %lowest = stablehlo.constant dense<{LOWEST[type_]}> : {element}
      %zero = stablehlo.constant dense<0.0> : {element}
      %m = stablehlo.reduce(%x init: %lowest) applies stablehlo.maximum {reduced}
      %ms = stablehlo.broadcast_in_dim %m, {along}
      %d = stablehlo.subtract %x, %ms : {whole}
      %e = stablehlo.exponential %d : {whole}
      %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add {reduced}
      %ss = stablehlo.broadcast_in_dim %s, {along}
      %q = stablehlo.divide %e, %ss : {whole}
      return %q : {whole}
    }}"""


def layernorm(rows: int, n: int, type_: str = "f32") -> str:
    whole, kept, row, element = (
        tensor((rows, n), type_),
        tensor((rows,), type_),
        tensor((n,), type_),
        f"tensor<{type_}>",
    )
    reduced = f"across dimensions = [1] : ({whole}, {element}) -> {kept}"
    return f"""
    func.func @main(%x: {whole}, %scale: {row}, %shift: {row}) -> ({whole}, {kept}) {{
      %zero = stablehlo.constant dense<0.0> : {element}
      %n = stablehlo.constant dense<{n}.0> : {kept}
      %eps = stablehlo.constant dense<1.0e-5> : {kept}
      %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add {reduced}
      %mean = stablehlo.divide %s, %n : {kept}
      %means = stablehlo.broadcast_in_dim %mean, dims = [0] : ({kept}) -> {whole}
      %d = stablehlo.subtract %x, %means : {whole}
      %dd = stablehlo.multiply %d, %d : {whole}
      %q = stablehlo.reduce(%dd init: %zero) applies stablehlo.add {reduced}
      %variance = stablehlo.divide %q, %n : {kept}
      %v = stablehlo.add %variance, %eps : {kept}
      %rs = stablehlo.rsqrt %v : {kept}
      %rss = stablehlo.broadcast_in_dim %rs, dims = [0] : ({kept}) -> {whole}
      %y = stablehlo.multiply %d, %rss : {whole}
      %scales = stablehlo.broadcast_in_dim %scale, dims = [1] : ({row}) -> {whole}
      %shifts = stablehlo.broadcast_in_dim %shift, dims = [1] : ({row}) -> {whole}
      %z = stablehlo.multiply %y, %scales : {whole}
      %o = stablehlo.add %z, %shifts : {whole}
      return %o, %mean : {whole}, {kept}
    }}"""


def cross_entropy(rows: int, n: int) -> str:
    """Two inputs, three reductions, and an output that a later reduction reads."""
    whole, kept = tensor((rows, n)), tensor((rows,))
    reduced = f"across dimensions = [1] : ({whole}, tensor<f32>) -> {kept}"
    return f"""
    func.func @main(%x: {whole}, %t: {whole}) -> ({kept}, {whole}) {{
      %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %m = stablehlo.reduce(%x init: %lowest) applies stablehlo.maximum {reduced}
      %ms = stablehlo.broadcast_in_dim %m, dims = [0] : ({kept}) -> {whole}
      %d = stablehlo.subtract %x, %ms : {whole}
      %e = stablehlo.exponential %d : {whole}
      %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add {reduced}
      %l = stablehlo.log %s : {kept}
      %ls = stablehlo.broadcast_in_dim %l, dims = [0] : ({kept}) -> {whole}
      %p = stablehlo.subtract %d, %ls : {whole}
      %pt = stablehlo.multiply %p, %t : {whole}
      %loss = stablehlo.reduce(%pt init: %zero) applies stablehlo.add {reduced}
      %neg = stablehlo.negate %loss : {kept}
      return %neg, %p : {kept}, {whole}
    }}"""
