"""
Programs, the passes they go through, and their results:

    Program(text).after("split-complex").same_bits(x, y)
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.test import TestOp as ValuesOp
from xdsl.ir import SSAValue

from xhlo.hlo_dialect.diagnostics import HloContext
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.reference import evaluate
from xhlo.hlo_dialect.types import element_type_of, make_tensor
from xhlo.hlo_dialect.verification import verify_module
from xhlo.passes.manager.pipelines import build_passes


@dataclass(frozen=True)
class Program:
    """A program and the passes it goes through, as `--pass-pipeline` takes them."""

    text: str
    passes: str = ""

    def after(self, *passes: str) -> Program:
        return replace(self, passes=",".join((self.passes, *passes) if self.passes else passes))

    @cached_property
    def context(self) -> HloContext:
        return make_context()

    @cached_property
    def module(self) -> ModuleOp:
        """The module after the passes, verified."""
        module = parse_module(self.text, "test.mlir", self.context)
        for each in build_passes(self.passes):
            each.apply(self.context, module)
        if self.passes:
            verify_module(module)
        return module

    @property
    def messages(self) -> list[str]:
        """The diagnostics of the passes."""
        assert self.module
        return [diagnostic.message for diagnostic in self.context.diagnostics.emitted]

    def count(self, prefix: str = "hlo.") -> Counter[str]:
        """The number of operations of a dialect, by their names."""
        return Counter(op.name for op in self.module.walk() if op.name.startswith(prefix))

    def results(self, *inputs: np.ndarray) -> tuple[np.ndarray, ...]:
        """@main's results, computed by the reference."""
        return evaluate(self.module, inputs)

    def same_bits(self, *inputs: np.ndarray) -> Program:
        """Assert that the results equal those without the passes, bit for bit."""
        wanted = Program(self.text).results(*inputs)
        for expected, actual in zip(wanted, self.results(*inputs), strict=True):
            assert expected.dtype == actual.dtype
            assert expected.shape == actual.shape
            assert expected.tobytes() == actual.tobytes()
        return self

    def same_results(self, *inputs: np.ndarray, rtol: float, atol: float = 1e-6) -> Program:
        """Assert that the results are close to those without the passes."""
        wanted = Program(self.text).results(*inputs)
        for expected, actual in zip(wanted, self.results(*inputs), strict=True):
            np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol)
        return self


def values_of(*arrays: Any) -> list[SSAValue]:
    """Values of the arrays' types."""
    types: list[Any] = []
    for array in arrays:
        element_type = element_type_of(array.dtype)
        assert element_type is not None
        types.append(make_tensor(array.shape, element_type))
    return list(ValuesOp(result_types=types).results)
