"""Where operations enter a program that `Builder` makes: with the user's line, and checked."""

# pyright: reportPrivateUsage=false
# Reads the tuple of operands, of which xDSL's public view is made anew for each look.
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue
from xdsl.ir.core import SSAValues
from xdsl.utils.exceptions import VerifyException

from ...dialects.support.creation import append
from ...hlo_dialect.diagnostics import op_error
from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.op import HloOp
from ...hlo_dialect.types import HloTensor, is_float, numpy_dtype
from ...hlo_dialect.verification import facts_of, verify_constraints
from .locations import callers_location
from .types import fitted

ALWAYS = 8.0
"""The number up to which all types of floats go."""

Scope: TypeAlias = tuple[Block, dict[Any, Tensor]]
"""A block, and the constants that are known in it."""


class Inserting(Builder):
    """
    Inserts where the builder is at work, at the user's line, what is valid.

    Operations of the same class on operands of the same types with the same properties are checked once.
    """

    def __init__(self, block: Block, watch: Callable[[Operation], None] | None):
        super().__init__()
        self.block = block
        self._watch = watch
        self._known: dict[object, tuple[Sequence[Attribute], object]] = {}
        """The result types of valid operations, by their facts."""
        self.verified: list[Operation] = []
        """Operations whose constraints hold."""

    def place(self) -> LocationAttr:
        return callers_location()

    def truth(self) -> bool:
        raise TypeError(
            "the truth of a value is not known while the program is built: select(condition, a, b), Builder.cond, "
            "Builder.while_loop"
        )

    def enter(self, block: Block) -> Scope:
        """
        Go on at the end of a block, as long as the scope is that of the block; return the one to go back to.

        Constants built in a block are not used outside of it, nor the other way round.
        """
        outside = self.block, self._splats
        self.block, self._splats = block, {}
        return outside

    def leave(self, outside: Scope) -> None:
        """Go on where the work was before `enter`."""
        self.block, self._splats = outside

    def end(self) -> None:
        """Add nothing more."""
        self._watch = _refuse

    def insert(self, op: Operation) -> None:
        if op.location is UNKNOWN_LOC:
            op.location = callers_location()
        if self._watch is not None:
            self._watch(op)
        append(self.block, op)

    def add(self, op: Operation) -> Tensor:
        """Insert an operation with one result. Raises DiagnosticError."""
        op.location = callers_location()
        self.check(op)
        self.insert(op)
        (result,) = op.results
        return Tensor(self, result)

    def splat(self, number: Any, type_: HloTensor) -> Tensor:
        """
        A constant whose elements are all `number`, or an array of the type's shape. Raises ValueError and
        OverflowError for a number that the element type does not have, TypeError.
        """
        kind = cast("type[Any]", type(number))
        if kind is float or kind is int or kind is bool:
            found = self._splats.get((number, math.copysign(1.0, number), type_))
            if found is not None:
                return found
            floats = is_float(type_.element_type)
            if kind is int and not floats:
                # NumPy's own OverflowError, but for types that NumPy does not have.
                np.asarray(number, numpy_dtype(type_.element_type))
            if kind is int or (kind is float and (abs(number) > ALWAYS or not floats)):
                fitted(np.asarray(number), type_.element_type)
            return super().splat(number, type_)
        if not isinstance(number, np.ndarray | np.generic):
            raise TypeError(f"expected a value, an array or a number, got {kind.__name__}")
        return self.constant(np.asarray(cast(Any, number)))

    def op(
        self,
        cls: type[Operation],
        operands: Sequence[Tensor | SSAValue] = (),
        type_: Attribute | None = None,
        regions: Sequence[Region] = (),
        /,
        **properties: Attribute,
    ) -> Tensor:
        values = [one.value if isinstance(one, Tensor) else one for one in operands]
        types = () if type_ is None else (type_,)
        return self.add(cls.create(operands=values, result_types=types, properties=properties, regions=regions))

    def check(self, op: Operation) -> None:
        """
        Check an operation's constraints; one without results gets those that `infer_types` finds.

        Raises DiagnosticError.
        """
        results = op.results
        facts = facts_of(type(op), op._operands, op.properties, op.regions)
        if facts is not None and results:
            facts = *facts, _RESULTS, *[id(result.type) for result in results]
        known = self._known.get(facts)
        if known is None:
            try:
                if not results:
                    set_results(op, _inferred(op))
                verify_constraints(op)
            except VerifyException as error:
                raise op_error(op, str(error)) from None
            if facts is not None:
                # The objects that the facts name are kept, so that no other object has its identity.
                self._known[facts] = op.result_types, (op, op.operand_types, *op.properties.values())
        elif not results:
            set_results(op, known[0])
        if facts is not None:
            self.verified.append(op)


def _refuse(op: Operation) -> None:
    raise ValueError(f"the program is built already: {op.name} cannot be added; begin another xhlo.Builder()")


_RESULTS = object()
"""Between the facts of an operation and its results' types, where these are stated."""


def _inferred(op: Operation) -> Sequence[Attribute]:
    """The types that the operation's class infers. Raises VerifyException, TypeError."""
    if not isinstance(op, HloOp):
        return ()
    try:
        return op.infer_types()
    except IndexError:
        raise TypeError(f"{op.name}: the operands do not determine the type: state result_type=") from None


def set_results(op: Operation, types: Sequence[Attribute]) -> None:
    op.results = SSAValues([OpResult(type_, op, index) for index, type_ in enumerate(types)])
