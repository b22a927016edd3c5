"""Programs of one kernel for the tests of convert-hlo-to-linalg and fuse-linalg, and their check against hlo."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp

from linalg_interpreter import interpret
from xhlo.hlo_dialect.printing import print_module
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.reference import evaluate
from xhlo.hlo_dialect.types import element_type_of
from xhlo.lowering.convert_hlo_to_linalg.conversion import ConvertHloToLinalgPass
from xhlo.passes.fuse_linalg.transform import FuseLinalgPass

PASSES = (ConvertHloToLinalgPass(), FuseLinalgPass())


def lowered(text: str) -> ModuleOp:
    """The module after both passes."""
    module = parse_module(text, "test.mlir")
    for pass_ in PASSES:
        pass_.apply(Context(), module)
    return module


def element(dtype: Any) -> str:
    """The spelling of the element type: `ui8`, `bf16`, .."""
    return str(element_type_of(np.dtype(dtype)))


def tensor(shape: Sequence[int], dtype: Any) -> str:
    return f"tensor<{''.join(f'{n}x' for n in shape)}{element(dtype)}>"


def kernel(body: str, arguments: Sequence[str], results: Sequence[str], kind: str = "loop") -> str:
    """A module whose @main calls one kernel; its arguments are %a0, %a1, .. and it returns %r, or %r0, %r1, .."""
    names = ", ".join(f"%a{i}" for i in range(len(arguments)))
    typed = ", ".join(f"%a{i}: {type_}" for i, type_ in enumerate(arguments))
    returned = "%r" if len(results) == 1 else ", ".join(f"%r{i}" for i in range(len(results)))
    outs, ins = ", ".join(results), ", ".join(arguments)
    several = "" if len(results) == 1 else f":{len(results)}"
    handed = "%c" if len(results) == 1 else ", ".join(f"%c#{i}" for i in range(len(results)))
    return f"""
func.func @main({typed}) -> ({outs}) {{
  %c{several} = func.call @k({names}) : ({ins}) -> ({outs})
  return {handed} : {outs}
}}
func.func private @k({typed}) -> ({outs}) attributes {{hlo.kernel = "{kind}"}} {{
{body}
  return {returned} : {outs}
}}
"""


def check(text: str, *inputs: Any, ulps: float = 0, generics: int | None = None) -> None:
    """
    Assert that the program computes the same before, between and after the passes, which leave `generics` in the
    kernel.
    """
    arrays = [np.asarray(array) for array in inputs]
    module = parse_module(text, "test.mlir")
    expected = evaluate(module, arrays)
    for pass_ in PASSES:
        pass_.apply(Context(), module)
        module.verify()
        for actual, wanted in zip(interpret(module, arrays), expected, strict=True):
            same(actual, np.asarray(wanted), ulps, f"after {pass_.name}:\n{print_module(module)}")
    if generics is not None:
        assert sum(isinstance(op, GenericOp) for op in module.walk()) == generics, str(module)


def same(actual: Any, wanted: Any, ulps: float, message: str) -> None:
    """Assert equal bits, except for NaN; floats may differ by `ulps` units in the last place."""
    actual = np.asarray(actual)
    actual = actual.view(wanted.dtype) if wanted.dtype.kind == "u" else actual
    assert actual.dtype == wanted.dtype and actual.shape == wanted.shape, message
    if wanted.dtype.kind in "iub":
        np.testing.assert_array_equal(actual, wanted, message)
        return
    eps = float(ml_dtypes.finfo(wanted.dtype).eps)
    tiny = float(ml_dtypes.finfo(wanted.dtype).smallest_subnormal)
    with np.errstate(invalid="ignore"):  # a signaling NaN
        a, w = actual.astype(np.float64), wanted.astype(np.float64)
    np.testing.assert_allclose(a, w, rtol=ulps * eps, atol=2 * ulps * tiny, equal_nan=True, err_msg=message)
    zero = (a == 0) & (w == 0)
    np.testing.assert_array_equal(np.signbit(a[zero]), np.signbit(w[zero]), message)


def reducer(op: str, scalar: str) -> str:
    return f"""({{
    ^bb0(%p: {scalar}, %q: {scalar}):
      %o = "hlo.{op}"(%p, %q) : ({scalar}, {scalar}) -> {scalar}
      "hlo.return"(%o) : ({scalar}) -> ()
  }})"""


def numbered(*shape: int, dtype: Any = np.float32) -> Any:
    return (np.arange(np.prod(shape, dtype=int)).reshape(shape) + 1).astype(dtype)
