"""
The base class of the project's passes.

A pass has a file, or a folder, of its own name: `plan-buffers` is `PlanBuffersPass` in `passes/plan_buffers.py`,
`fuse-hlo` is `FuseHloPass` in `passes/fuse_hlo/transform.py`, the conversion `convert-a-to-b` is `ConvertAToBPass` in
`lowering/convert_a_to_b.py` or `lowering/convert_a_to_b/conversion.py`. `passes/manager/registry.py` finds it there.
The first line of the class's docstring is what `hlo-opt --help` prints.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any, ClassVar, Self, cast

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec

from .diagnostics import op_error
from .walking import Survey, operations_in, operations_of


def _is_unknown(type_: Attribute) -> bool:
    """Whether a type is of tensors of unknown size."""
    return type(type_) is TensorType and DYNAMIC_INDEX in cast("TensorType[Any]", type_).get_shape()


@lru_cache(maxsize=4096)
def _is_illegal(pass_type: type[HloPass], cls: type[Operation]) -> bool:
    """Whether operations of a class must be gone after passes of a type; a compilation has the same ones as others."""
    names = {name for name in pass_type.illegal if not name.endswith(".*")}
    dialects = tuple(name[:-1] for name in pass_type.illegal if name.endswith(".*"))
    return cls.name in names or cls.name.startswith(dialects)


@dataclass(frozen=True)
class HloPass(ModulePass):
    """A pass that states what it leaves: `run` transforms the module, `apply` also checks the contract."""

    illegal: ClassVar[Collection[str]] = ()
    """Names of operations (`hlo.fusion`) or whole dialects (`hlo.*`) that must be gone after the pass."""

    only_for: ClassVar[Collection[str]] = ()
    """
    Names of which a program must contain one for the pass to change or refuse it; without any, it is for all programs:
    operations (`hlo.while`), dialects (`chlo.*`), types (`!complex`, `!tensor<?>`), discardable attributes (`@name`).

    A compilation skips the other passes without importing them: the strings are read in the text of the class, where
    they follow its name.
    """

    takes_tensors: ClassVar[bool] = True
    """Whether the pass takes tensors; False of one that comes after bufferize."""

    takes_buffers: ClassVar[bool] = True
    """Whether functions may take memrefs; False of passes up to bufferize that cannot."""

    takes_unknown_sizes: ClassVar[bool] = True
    """Whether tensors may have sizes that are unknown; False of passes that count or allocate their bytes."""

    works_on_functions: ClassVar[bool] = False
    """Whether the pass changes each function by itself, so that a pipeline may nest it: `func.func(..)`."""

    takes_branches: ClassVar[bool] = False
    """Whether functions may have several blocks, as after convert-loops-to-cf."""

    @classmethod
    def from_pass_spec(cls, spec: ArgSpec) -> Self:
        """The pass that a spec describes. xDSL evaluates the types of all options, also where the spec has none."""
        if spec.parameters or spec.name != cls.name or cls.required_fields():
            return super().from_pass_spec(spec)
        return cls()

    def run(self, ctx: Context, module: ModuleOp) -> None:
        raise NotImplementedError

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.apply_after(None, ctx, op)

    def apply_after(
        self, previous: ModulePass | None, ctx: Context, module: ModuleOp, survey: Survey | None = None
    ) -> Survey | None:
        """
        Apply the pass right after `previous`, if that is given: where neither takes tensors, there are none.

        `survey`: that of the module, if there is one; returns that of what the pass leaves, if it has looked.
        """
        known = isinstance(previous, HloPass) and not previous.takes_tensors
        self._check_level(module, not known, survey)
        del survey  # it would keep what the pass erases
        self.run(ctx, module)
        return self._check_illegal(module) if self.illegal else None

    def _check_level(self, module: ModuleOp, searched: bool, survey: Survey | None) -> None:
        """Refuse functions that no level has on which the pass works; `searched`: operations inside them too."""
        if self.takes_branches and self.takes_buffers and self.takes_tensors:
            return
        searched = searched and not self.takes_tensors
        # Few modules have what is refused: one look at all types tells.
        looks = searched or not self.takes_unknown_sizes
        present = (survey or Survey.of(module)).types if looks else []
        has_tensors = TensorType in map(type, present)
        has_unknown = has_tensors and any(map(_is_unknown, present))
        for function in (op for block in module.body.blocks for op in operations_of(block)):
            if type(function) is not FuncOp:
                continue
            body = function.regions[0]
            if not self.takes_branches and body.first_block is not body.last_block:
                raise op_error(function, f"has several blocks: {self.name} takes no branches")
            if not self.takes_unknown_sizes and (has_unknown or any(map(_is_unknown, function.function_type.inputs))):
                self._check_sizes(function)
            if self.takes_buffers and self.takes_tensors:
                continue
            stated = function.function_type
            types = set(map(type, (*stated.inputs.data, *stated.outputs.data)))
            if not self.takes_buffers and MemRefType in types:
                raise op_error(function, f"has values of memref type: {self.name} takes tensors, as before bufferize")
            if self.takes_tensors:
                continue
            if TensorType in types:
                raise op_error(function, f"has values of tensor type: {self.name} comes after bufferize")
            for op in operations_in(function) if has_tensors else ():
                if any(type(result.type) is TensorType for result in op.results):
                    raise op_error(op, f"has a value of tensor type: {self.name} comes after bufferize")

    def _check_sizes(self, function: FuncOp) -> None:
        for op in (function, *operations_in(function)):
            types = function.function_type.inputs.data if op is function else op.result_types
            for type_ in types:
                if _is_unknown(type_):
                    raise op_error(op, f"has a value of type {type_}; {self.name} needs static shapes")

    def _check_illegal(self, module: ModuleOp) -> Survey | None:
        """Refuse what must be gone after the pass; returns the survey of the module, if all of it was looked at."""
        parts = self.parts(module)
        ops = operations_in(parts[0]) if len(parts) == 1 else list(chain.from_iterable(map(operations_in, parts)))
        classes: set[type[Operation]] = set(map(type, ops))
        wrong = [cls for cls in classes if _is_illegal(type(self), cls)]
        if wrong:
            raise self.unsupported(next(op for op in ops if type(op) in wrong))
        return Survey(ops) if len(parts) == 1 and parts[0] is module else None

    def parts(self, module: ModuleOp) -> Sequence[Operation]:
        """The parts of a module that the pass works on; only these are checked for `illegal` operations."""
        return (module,)

    def unsupported(self, op: Operation) -> Exception:
        """The error for an operation that the pass cannot convert."""
        return op_error(op, f"is not supported by {self.name}: it has no lowering there")
