"""The kernels of a module with what its description states of them, to which loops of the host program are added."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr

from ...dialects.support.attributes import integer_attr, symbol
from ...dialects.support.editing import erase_op
from ...dialects.support.kernel import PROGRAM, Kernel, entry_name, kernels_of
from ...hlo_dialect.walking import operations_in
from ..outline_parallel_loops.equal import share_equal


class StatedKernels:
    """The kernels of a module that outline-kernels has described."""

    def __init__(self, module: ModuleOp):
        self.module = module
        self.given = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, func.FuncOp)}
        """All functions that the module had, by name."""
        self.kernels = {function.sym_name.data: function for function in kernels_of(module)}
        self._program = cast(DictionaryAttr, module.attributes[PROGRAM])
        entries = cast("ArrayAttr[DictionaryAttr]", self._program.data.get("kernels", ArrayAttr(())))
        self._facts = {cast(Any, each.data["name"]).root_reference.data: each for each in entries}
        self._outlined: list[func.FuncOp] = []

    @property
    def entry(self) -> func.FuncOp | None:
        """The function that the host calls, if it has a body."""
        entry = self.given.get(entry_name(self.module))
        return entry if entry is not None and entry.body.blocks else None

    def names(self) -> Iterator[str]:
        """Names of functions made of loops, which no function of the module has."""
        return (name for name in map("loop_{}".format, itertools.count()) if name not in self.given)

    def is_stated(self, name: str) -> bool:
        """Whether a function is a kernel about which there are facts."""
        return name in self._facts

    def fact(self, name: str, fact: str) -> int:
        """The number of `ops`, `bytes` or `flops` of a kernel."""
        return cast("IntegerAttr[Any]", self._facts[name].data[fact]).value.data

    def add(self, function: func.FuncOp, facts: Mapping[str, int]) -> None:
        """Add a kernel that was made of a loop, about which these facts are known."""
        name = function.sym_name.data
        entries = {fact: integer_attr(number) for fact, number in facts.items()}
        kind = StringAttr(Kernel(function).kind)
        self.kernels[name] = function
        self._facts[name] = DictionaryAttr({"name": symbol(name), "kind": kind, **entries})
        self._outlined.append(function)

    def finish(self) -> None:
        """Make one of equal kernels that were added, erase those that nothing calls any more, and state the others."""
        if not self._outlined:
            return
        share_equal(self.module, self._outlined)
        calls = (op for op in operations_in(self.module) if isinstance(op, func.CallOp))
        called = Counter(op.callee.root_reference.data for op in calls)
        rows: list[DictionaryAttr] = []
        for function in list(kernels_of(self.module)):
            name = function.sym_name.data
            if not called[name]:
                erase_op(function)
            elif self.is_stated(name):
                rows.append(DictionaryAttr({**self._facts[name].data, "sites": integer_attr(called[name])}))
        self.module.attributes[PROGRAM] = DictionaryAttr({**self._program.data, "kernels": ArrayAttr(rows)})
