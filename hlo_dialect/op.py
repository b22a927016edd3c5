"""
The base class of the hlo operations.

A family file (elementwise.py, movement.py, ..) defines its operations as subclasses of `HloOp` and ends with
`OPS = (...)`; `dialect.py` collects them, so that adding an operation edits no list elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, Protocol, Self, TypeGuard, cast

import numpy as np
from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr
from xdsl.interfaces import HasFolderInterface
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.ir.core import OpResult, SSAValues
from xdsl.irdl import IRDLOperation
from xdsl.utils.exceptions import VerifyException

from ..dialects import cost
from ..dialects.support.classes import one_of
from ..dialects.support.creation import create_op
from ..dialects.support.editing import erase_op, replace_uses
from .diagnostics import op_error
from .shapes import types_agree
from .types import Array, element_of, numpy_dtype

Role = Literal[
    "elementwise",
    "broadcast",
    "movement",  # transpose, slice, reverse: the result's index is an affine map of the operand's
    "gather",  # pad, dynamic_slice, gather: an index map with a condition or an offset known at run time
    "iota",
    "reshape",  # a bitcast of the buffer outside fusions; an affine index map inside them
    "constant",
    "reduce",
    "dot",
    "update",
    "concatenate",
    "custom",  # a separate kernel
    "dead",  # nothing needs it
    "host",  # stays outside fusions: control flow, calls, terminators, reshapes that need a division
]
"""How an operation can be fused with others."""

FREE, CHEAP, WIDE_CONVERSION, DIVISION, EXPENSIVE, COMPOSED, SPECIAL, SERIES = (
    weight.hlo
    for weight in (
        *(cost.FREE, cost.CHEAP, cost.WIDE_CONVERSION, cost.DIVISION, cost.ELEMENTARY),
        *(cost.COMPOSED, cost.SPECIAL, cost.SERIES),
    )
)
"""The values for an operation's COST."""


_NONE: Mapping[str, Attribute] = {}


class RegionRunner(Protocol):
    """Runs a region in the reference interpreter: from block arguments to the terminator's operands."""

    def __call__(self, region: Region, *arguments: Array) -> tuple[Array, ...]: ...


class HloOp(IRDLOperation, HasFolderInterface):
    """
    An operation of the hlo dialect: one section of the StableHLO specification.

    A subclass defines `name`, operands, properties, results, traits, its syntax (`parse`, `print`), and

    * `infer_types`: the result types that the operands, properties and regions determine;
    * `verify_`: the other constraints, each named in its message (`transpose_c2: ...`);
    * `fold`: the operation's value if it is known (optional);
    * `reference`: its semantics in NumPy.

    Facts that passes need are stated by the class too: `ROLE`, `COST` (and `cost`), `LINEAR`, `COMPUTES`, `flops`.
    """

    ROLE: ClassVar[Role | None] = None
    """
    The role in fusion. None: the operation is gone before fusion, or is another package's, and "custom" if it can be
    lowered.
    """
    COST: ClassVar[int] = EXPENSIVE
    """
    The cost of computing one element again, in operations as dialects/cost.py counts them.

    Deliberately coarse: movement and constants are FREE, additions CHEAP, and operations that become polynomials, or
    that state no cost, are EXPENSIVE: they are never recomputed to save memory traffic.
    """

    LINEAR: ClassVar[bool] = False
    """Whether the operation acts on real and imaginary parts alike: it is linear, or moves whole elements."""
    COMPUTES: ClassVar[bool] = False
    """Whether it computes with its elements' values, regions aside, instead of moving or choosing elements."""

    READS_CONSTANTS: ClassVar[bool] = False
    """Whether `verify_` looks at the values of constant operands, not only at types and properties."""
    READS_REGIONS: ClassVar[bool] = True
    """Whether it looks at more of a region than the types of the arguments and of what `hlo.return` returns."""

    @property
    def mnemonic(self) -> str:
        """The name without the dialect."""
        return self.name.partition(".")[2]

    @property
    def has_short_form(self) -> bool:
        """Whether `print` states all of the operation; otherwise MLIR's generic form is printed."""
        return True

    @property
    def cost(self) -> int:
        """The cost of this operation; COST, unless it depends on types."""
        return self.COST

    @property
    def elementwise(self) -> bool:
        """Whether each element of the results depends on the operands' elements at the same index alone."""
        return self.ROLE == "elementwise"

    def infer_types(self) -> tuple[Attribute, ...]:
        """
        The result types that operands, properties and regions determine.

        Reads only those, never the results. Raises VerifyException if they do not fit each other.
        Operations whose result type is free (constant, convert, ..) return the results they have.
        """
        raise NotImplementedError(f"{self.name} does not infer its result types")

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        """A value or constant for each result, if they are known without new operations; else None."""
        return None

    def reference(self, *operands: Array) -> Array | tuple[Array, ...]:
        """The operation's results in NumPy, of exactly the result dtypes. Never modifies an operand."""
        raise NotImplementedError(f"{self.name} has no reference semantics")

    def result_dtype(self) -> np.dtype[Any]:
        """The dtype in which `reference` returns the first result. Raises DiagnosticError if NumPy has none."""
        element = element_of(self.results[0])
        dtype = numpy_dtype(element)
        if dtype is None:
            raise op_error(self, f"has no reference for elements of type {element}")
        return dtype

    def flops(self) -> int:
        """Operations on elements, such as additions and multiplications; an elementary function counts as one."""
        return 0

    if not TYPE_CHECKING:  # its type is that of `Operation.create`
        create = classmethod(create_op)

    @classmethod
    def infer(
        cls,
        operands: Sequence[SSAValue],
        properties: Mapping[str, Attribute] | None = None,
        regions: Sequence[Region] = (),
        location: LocationAttr = UNKNOWN_LOC,
    ) -> Self:
        """Build the operation with the result types that `infer_types` finds. Raises VerifyException."""
        op = cls.create(operands=operands, properties=properties or _NONE, regions=regions, location=location)
        op.set_results(op.infer_types())
        return op

    def set_results(self, types: Sequence[Attribute]) -> None:
        """Give a new operation its results, of these types."""
        self.results = SSAValues([OpResult(type_, self, index) for index, type_ in enumerate(types)])

    def verify_inferred(self, constraint: str) -> None:
        """Check the results against `infer_types`; `constraint` names the spec's constraint in the message."""
        for index, (actual, wanted) in enumerate(zip(self.results, self.infer_types(), strict=True)):
            if actual.type != wanted:
                which = "result" if len(self.results) == 1 else f"result {index}"
                raise VerifyException(f"{constraint}: {which} has type {actual.type}, expected {wanted}")


class RegionOp(HloOp):
    """An hlo operation with regions; its reference takes a runner for them as the first argument."""

    def region_arguments(self, index: int) -> Sequence[Attribute]:
        """
        The types of the arguments that region `index` takes, where no type is promoted; regions are not read.

        By default none, as branches take.
        """
        return ()

    def reference_with_regions(self, run: RegionRunner, *operands: Array) -> Array | tuple[Array, ...]:
        raise NotImplementedError(f"{self.name} has no reference semantics")


is_hlo = cast("Callable[[object], TypeGuard[HloOp]]", one_of(HloOp))
"""Whether a value is an operation of hlo, as `isinstance` says, for questions about every operation of a module."""


def is_elementwise(op: object) -> TypeGuard[HloOp]:
    """Whether `op` is an operation whose results' elements depend on the operands' at the same index alone."""
    return is_hlo(op) and op.elementwise


def reject(message: str) -> NoReturn:
    """Raise VerifyException; `message` begins with the name of the constraint that does not hold."""
    raise VerifyException(message)


def replace_op(op: Operation, new_ops: Sequence[Operation], new_values: Sequence[SSAValue]) -> None:
    """
    Replace `op` by `new_ops` (inserted before it) and its results by `new_values`.

    The new operations take the old one's location unless they have their own, and the values its name hints:
    xDSL's rewriter drops locations. Raises DiagnosticError at `op` for a value whose type contradicts that of a
    result with uses; a value whose type knows more dimensions is fine.
    """
    block = op.parent
    assert block is not None, "replace_op needs an operation inside a block"
    for old, new in zip(op.results, new_values, strict=True):
        if old.first_use is not None and not types_agree(old.type, new.type):
            raise op_error(op, f"has a result of type {old.type}, but its value has type {new.type}")
    for new_op in new_ops:
        if new_op.location is UNKNOWN_LOC or new_op.location == UNKNOWN_LOC:
            new_op.location = op.location
    if new_ops:
        block.insert_ops_before(new_ops, op)
    for old, new in zip(op.results, new_values, strict=True):
        if new.name_hint is None:
            new.name_hint = old.name_hint
        replace_uses(old, new)
    erase_op(op)
