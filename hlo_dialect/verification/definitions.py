"""
Operations against their definitions: how many operands, results and regions, of which types, with which properties.

xDSL checks a definition with a context of variables, for any constraint that there may be, at 20 us an operation.
Definitions of hlo have no variables: what they accept is decided here part by part, and a property once for all
operations that have it. xDSL's own check has the last word on all that is not accepted, and says why. Where
definitions of other dialects have variables, xDSL checks each operation, but equal ones once.
"""

# pyright: reportPrivateUsage=false
# Reads the tuples of operands and blocks, of which xDSL's public views are made anew for each look.
from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, cast

from xdsl.dialects.builtin import (
    ArrayOfConstraint,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    EmptyArrayAttrConstraint,
    SymbolNameConstraint,
    TensorType,
)
from xdsl.interfaces import HasFolderInterface
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    AllOf,
    AnyAttr,
    AnyOf,
    AttrConstraint,
    BaseAttr,
    EqAttrConstraint,
    IRDLOperation,
    MessageConstraint,
    OpDef,
    OptionalDef,
    ParamAttrConstraint,
    RangeConstraint,
    RangeLengthConstraint,
    RangeOf,
    RegionDef,
    SameVariadicOperandSize,
    SameVariadicResultSize,
    SingleBlockRegionDef,
    VariadicDef,
    VerificationContext,
)
from xdsl.traits import IsolatedFromAbove, OpTrait
from xdsl.utils.exceptions import VerifyException

_KEPT = 1024
"""The number of attributes that a definition remembers to be accepted, and of operations."""

_DATA = (DenseIntOrFPElementsAttr, DenseResourceAttr)

_CHECK_TYPES = ("xdsl.dialects.memref", "xdsl.dialects.vector")
"""The modules of operations whose own `verify_` looks at types and properties, not at what is around the operation."""


def verify_alone(op: Operation, only_tensors: bool = False) -> None:
    """
    Do what `op.verify_()` does, except for the search of regions that are isolated for values from outside.

    `only_tensors` states that all operands and results are known to be ranked tensors. Raises VerifyException.
    """
    found = _checker(type(op))
    if found is None:
        known = _known(type(op))
        if known is None or holds_data(op):
            op.verify_()
        else:
            known.verify(op)
    elif not found.definition.accepts(op, only_tensors):
        op.verify_()
    elif found.own is not None:
        found.own(op)


@cache
def is_decided_by_types(cls: type[Operation]) -> bool:
    """
    Whether types and properties decide if an operation of the class is valid: its definition states no attributes,
    regions or successors, and the class checks nothing else, or is known to look at no more.
    """
    parts = _parts(cls)
    if parts is None or any(map(_verifies, cls.traits)):
        return False
    stated, own = parts
    looks_no_further = own is Operation.verify_ or cls.__module__ in _CHECK_TYPES
    return looks_no_further and not (stated.attributes or stated.regions or stated.successors)


def _parts(cls: type[Operation]) -> tuple[OpDef, Callable[[Operation], None] | None] | None:
    """The definition and the class's own `verify_`, of which xDSL has made its method; None if that is not so."""
    if not issubclass(cls, IRDLOperation):
        return None
    stated = cls.get_irdl_definition()
    variables = inspect.getclosurevars(cls.verify_).nonlocals
    # A class may inherit the method of another definition.
    return (stated, variables.get("custom_verify")) if variables.get("op_def") is stated else None


class _NotSimple(Exception):
    """A definition has parts that only xDSL decides."""


class _Checker:
    def __init__(self, definition: _Definition, own: Callable[[Operation], None] | None):
        self.definition = definition
        self.own = own
        """The class's own `verify_`."""


@cache
def _checker(cls: type[Operation]) -> _Checker | None:
    parts = _parts(cls)
    if parts is None:
        return None
    try:
        return _Checker(_Definition(cls, parts[0]), parts[1])
    except _NotSimple:
        return None


_MOST_GOOD = 8192

GOOD: dict[tuple[object, ...], tuple[Attribute, ...]] = {}
"""
Operations that this process has found to verify; most of another program, or of an earlier level, are like these.
Attributes by the facts of an operation that verifies (`facts_of`), which name these attributes by identity: they are
kept, so that the identity is theirs.
"""


def remember(facts: tuple[object, ...], op: Operation) -> None:
    """Keep that operations with these facts verify."""
    values: list[SSAValue] = [*op._operands, *op.results]
    for block in (block for region in op.regions for block in region.blocks):
        values += (*block._args, *cast(Operation, block._last_op)._operands)
    if len(GOOD) >= _MOST_GOOD:
        GOOD.clear()
    GOOD[facts] = (*(value._type for value in values), *op.properties.values(), *op.attributes.values())


class _Known:
    """
    The operations of a class that xDSL has found to fit their definition, for definitions that only xDSL decides.

    They are told apart by all that a definition is about, by value: an equal operation fits as well.
    """

    def __init__(self, cls: type[Operation], own: Callable[[Operation], None] | None):
        self._traits = [one for one in cls.traits if _verifies(one)]
        self._own = None if is_decided_by_types(cls) else own
        self._fit: set[tuple[object, ...]] = set()

    def verify(self, op: Operation) -> None:
        """Raises VerifyException."""
        facts = _facts(op)
        if facts not in self._fit:
            op.verify_()
            if len(self._fit) >= _KEPT:
                self._fit.clear()
            self._fit.add(facts)
            return
        for one in self._traits:
            one.verify(op)
        if self._own is not None:
            self._own(op)


@cache
def _known(cls: type[Operation]) -> _Known | None:
    parts = _parts(cls)
    return None if parts is None else _Known(cls, parts[1])


def _facts(op: Operation) -> tuple[object, ...]:
    """All that a definition is about: types, properties and attributes, each region's first block, the successors."""
    return (
        tuple([value._type for value in op._operands]),
        tuple([value._type for value in op.results]),
        tuple(op.properties.items()),
        tuple(op.attributes.items()),
        tuple([_facts_of_region(region) for region in op.regions]) if op.regions else None,
        len(op._successors),
    )


def _facts_of_region(region: Region) -> tuple[object, ...] | None:
    block = region._first_block
    if block is None:
        return None
    return block is region._last_block, tuple([value._type for value in block._args])


def holds_data(op: Operation) -> bool:
    """Whether an operation has data that may be large: it is not kept, and takes long to compare."""
    for held in (op.properties, op.attributes):
        for one in held.values():
            if type(one) in _DATA:
                return True
    return False


class _Definition:
    def __init__(self, cls: type[Operation], stated: OpDef):
        if stated.attributes or stated.successors:
            raise _NotSimple
        if any(type(option) not in (SameVariadicOperandSize, SameVariadicResultSize) for option in stated.options):
            raise _NotSimple
        self._operands = _Values(stated.operands)
        self._results = _Values(stated.results)
        self._regions = [one for _, one in stated.regions]
        if any(type(one) not in (RegionDef, SingleBlockRegionDef) for one in self._regions):
            raise _NotSimple
        if not all(_takes_all(one.entry_args) for one in self._regions):
            raise _NotSimple
        self._properties = {name: _Property(one.constr) for name, one in stated.properties.items()}
        self._required = {name for name, one in stated.properties.items() if not isinstance(one, OptionalDef)}
        self._traits = [one for one in cls.traits if _verifies(one)]

    def accepts(self, op: Operation, only_tensors: bool) -> bool:
        """Whether the operation fits the definition for sure."""
        if not (self._operands.accept(op._operands, only_tensors) and self._results.accept(op.results, only_tensors)):
            return False
        regions = op.regions
        if op._successors or len(regions) != len(self._regions):
            return False
        for region, one in zip(regions, self._regions, strict=True) if regions else ():
            if type(one) is SingleBlockRegionDef and (region._first_block is not region._last_block):
                return False
            if region._first_block is None:
                return False
        return self._accepts_properties(op.properties) and self._accepts_traits(op)

    def _accepts_properties(self, properties: Mapping[str, Attribute]) -> bool:
        known = self._properties
        for name, attribute in properties.items():
            one = known.get(name)
            if one is None or not one.accepts(attribute):
                return False
        return not self._required or self._required <= properties.keys()

    def _accepts_traits(self, op: Operation) -> bool:
        if not self._traits:
            return True
        try:
            for one in self._traits:
                one.verify(op)
        except VerifyException:
            return False
        return True


class _Values:
    """The operands or results of a definition, of which several lists have the same length."""

    def __init__(self, definitions: Sequence[tuple[str, Any]]):
        if any(isinstance(one, OptionalDef) for _, one in definitions):
            raise _NotSimple
        self._many = [isinstance(one, VariadicDef) for _, one in definitions]
        self._lists = sum(self._many)
        self._single = len(definitions) - self._lists
        self._types = [_types_of_range(one.constr) for _, one in definitions]
        self._all_alike = len(set(self._types)) == 1
        self._take_tensors = all(types is None or TensorType in types for types in self._types)

    def accept(self, values: Sequence[SSAValue], only_tensors: bool) -> bool:
        rest = len(values) - self._single
        if rest < 0 or (rest % self._lists if self._lists else rest):
            return False
        if only_tensors and self._take_tensors:
            return True
        if self._all_alike:
            return _are_of(self._types[0], values)
        at, length = 0, rest // self._lists if self._lists else 0
        for many, types in zip(self._many, self._types, strict=True):
            end = at + (length if many else 1)
            if not _are_of(types, values[at:end]):
                return False
            at = end
        return True


def _are_of(types: frozenset[type] | None, values: Sequence[SSAValue]) -> bool:
    if types is not None:
        for value in values:
            if type(value._type) not in types:
                return False
    return True


class _Property:
    """A property of a definition."""

    def __init__(self, constraint: AttrConstraint):
        if not _without_variables(constraint):
            raise _NotSimple
        self._constraint = constraint
        try:
            self._types = _types(constraint)
            self._by_type = True
        except _NotSimple:
            self._types = None
            self._by_type = False
        self._accepted: dict[int, Attribute] = {}
        """Attributes by identity; they are kept, so that no other one has it."""

    def accepts(self, attribute: Attribute) -> bool:
        if self._by_type:
            return self._types is None or type(attribute) in self._types
        if id(attribute) in self._accepted:
            return True
        try:
            self._constraint.verify(attribute, VerificationContext())
        except VerifyException:
            return False
        if len(self._accepted) >= _KEPT:
            self._accepted.clear()
        self._accepted[id(attribute)] = attribute
        return True


_FOLDER = {type(one) for one in HasFolderInterface.traits}


def _verifies(trait: OpTrait) -> bool:
    """Whether a trait is more than a mark, and not one that dominance shows."""
    return type(trait).verify is not OpTrait.verify and type(trait) not in (IsolatedFromAbove, *_FOLDER)


def _types_of_range(constraint: RangeConstraint) -> frozenset[type] | None:
    """The classes of which each value's type must be; None for any. The length is the definition's kind."""
    inner = constraint.constraint if isinstance(constraint, RangeLengthConstraint) else constraint
    if not isinstance(inner, RangeOf):
        raise _NotSimple
    return _types(inner.constr)


def _types(constraint: AttrConstraint) -> frozenset[type] | None:
    if isinstance(constraint, AnyAttr):
        return None
    if isinstance(constraint, BaseAttr):
        return frozenset((cast(type, constraint.attr),))
    if isinstance(constraint, AnyOf):
        found = [_types(one) for one in constraint.attr_constrs]
        if None not in found:
            return frozenset[type]().union(*[one for one in found if one is not None])
    raise _NotSimple


def _takes_all(constraint: RangeConstraint) -> bool:
    return isinstance(constraint, RangeOf) and isinstance(constraint.constr, AnyAttr)


def _without_variables(constraint: AttrConstraint) -> bool:
    """Whether what a constraint accepts depends on the attribute alone."""
    match constraint:
        case AnyAttr() | BaseAttr() | EqAttrConstraint() | SymbolNameConstraint() | EmptyArrayAttrConstraint():
            return True
        case ParamAttrConstraint():
            return all(map(_without_variables, constraint.param_constrs))
        case AnyOf() | AllOf():
            return all(map(_without_variables, constraint.attr_constrs))
        case MessageConstraint():
            return _without_variables(constraint.constr)
        case ArrayOfConstraint():
            inner = constraint.elem_range_constraint
            return isinstance(inner, RangeOf) and _without_variables(inner.constr)
        case _:
            return False
