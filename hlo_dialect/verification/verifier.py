"""
`verify_module`: everything that must hold of a module before a pass may rely on it, with all errors at once.

Each operation's own constraints, terminators, dominance, calls against one symbol table, no recursion. All linear in
the module's size; xDSL's own verifier checks no dominance, is quadratic in calls, and stops at the first error.
"""

# pyright: reportPrivateUsage=false
# Reads the tuples of operands and arguments, of which xDSL's public views are made anew for each look.
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import cast

from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr, SymbolRefAttr, UnregisteredOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove, IsTerminator, NoTerminator, SymbolOpInterface, SymbolTable
from xdsl.utils.exceptions import VerifyException

from ..custom_calls.operations import CompositeOp
from ..diagnostics import Diagnostic, DiagnosticError, current_operation, op_message
from ..diagnostics.suggestions import did_you_mean
from ..op import HloOp
from ..ops.control_flow import ReturnOp
from ..shapes import types_agree
from ..types import holds_quantized
from .definitions import GOOD, holds_data, is_decided_by_types, remember, verify_alone
from .dominance import dominator_children
from .tensors import has_plain_tensors, verify_tensors
from .unranked import is_unranked, ranked

MAX_ERRORS = 100
"""The number of errors after which the verifier stops, because the rest are mostly consequences."""

_CAPTURE_BY_XDSL = "Operation using value defined out of its IsolatedFromAbove parent"


def verify_module(module: ModuleOp, verified: Iterable[Operation] = ()) -> None:
    """
    Raise DiagnosticError with every error of the module; return when it is valid.

    The constraints of the operations `verified` are known to hold: whoever made them has checked them.
    """
    verifier = _Verifier()
    verifier.verified.update(map(id, verified))
    try:
        verifier.operation(module)
        for table in verifier.symbol_tables:
            _verify_symbols(verifier, table)
    except _TooManyErrors:
        pass
    if verifier.errors:
        raise DiagnosticError(verifier.errors)


def verify_operation(op: Operation) -> None:
    """Check the operation's own constraints, regions aside. Raises DiagnosticError at its location."""
    verifier = _Verifier()
    verifier.own_constraints(op, _kind(type(op)))
    if verifier.errors:
        raise DiagnosticError(verifier.errors)


class _TooManyErrors(Exception):
    pass


def facts_of(
    cls: type[Operation],
    operands: Iterable[SSAValue],
    properties: Mapping[str, Attribute],
    regions: Sequence[Region] = (),
    results: Iterable[SSAValue] = (),
) -> tuple[object, ...] | None:
    """
    All that decides which result types an operation has and, with its results, whether it is valid; None where that is
    more than types and properties.

    These are given by identity: the facts are of use as long as the attributes exist.
    """
    if not _depends_on_types(cls):
        return None
    facts: list[object] = [cls]
    for value in operands:
        facts.append(id(value._type))
    # Something that is no type ends each list of types, so that their lengths are facts too.
    facts.append(None)
    if properties:
        facts += properties
        facts += map(id, properties.values())
    for region in regions:
        block = region._first_block
        if block is None or block is not region._last_block or not isinstance(block._last_op, ReturnOp):
            return None
        if cast("type[HloOp]", cls).READS_REGIONS:
            return None
        facts.append(None)
        facts += [id(value._type) for value in block._args]
        facts.append(None)
        facts += [id(value._type) for value in block._last_op._operands]
        facts.append(None)
    for result in results:
        facts.append(id(result._type))
    return tuple(facts)


@cache
def _depends_on_types(cls: type[Operation]) -> bool:
    if issubclass(cls, HloOp):
        return not cls.READS_CONSTANTS and not cls.has_trait(IsTerminator)
    return is_decided_by_types(cls)


class _Kind:
    """The facts about an operation's class that the verifier needs."""

    def __init__(self, op_type: type[Operation]):
        known = not issubclass(op_type, UnregisteredOp)
        self.isolated = known and op_type.has_trait(IsolatedFromAbove)
        self.terminator = not known or op_type.has_trait(IsTerminator)
        self.without_terminators = not known or op_type.has_trait(NoTerminator)
        self.symbol_table = known and op_type.has_trait(SymbolTable)
        # `isinstance` of xDSL's classes is slow, since they are abstract.
        self.has_named_attributes = issubclass(op_type, (ModuleOp, FuncOp))
        self.is_about_symbols = issubclass(op_type, (ModuleOp, CallOp))
        self.calls = issubclass(op_type, (CallOp, CompositeOp))
        self.function = known and op_type.has_trait(SymbolOpInterface) and not self.symbol_table
        self.is_plain = known and not self.calls and _depends_on_types(op_type)
        """Whether nothing but its facts and its operands' places decides about one without regions and attributes."""


@cache
def _kind(op_type: type[Operation]) -> _Kind:
    return _Kind(op_type)


class _Verifier:
    def __init__(self) -> None:
        self.errors: list[Diagnostic] = []
        self.visible: dict[int, None] = {}
        """The values that may be used, by identity, in the order of their blocks: a block's own are the last."""
        self.symbol_tables: list[Operation] = []
        self.good: set[tuple[object, ...]] = set()
        """Operations like those in `GOOD`, with data that may be large, which is not kept."""
        self.verified: set[int] = set()
        """Operations that are known to verify, by identity."""
        self.calls: dict[int, list[Operation]] = {}
        """The calls in each function, by its identity."""
        self.functions: list[list[Operation]] = []
        """The calls in the functions around the operation that is looked at."""

    def error(self, op: Operation, message: str, notes: tuple[Diagnostic, ...] = ()) -> None:
        from ..diagnostics.specification import citation
        from .definition_notes import operand_notes

        notes = (*notes, *citation(op.name, message), *operand_notes(op, message))
        notes = (*notes, *current_operation(op, op.location))
        self.errors.append(Diagnostic("error", op_message(op, message), op.location, notes))
        if len(self.errors) >= MAX_ERRORS:
            raise _TooManyErrors

    def operation(self, op: Operation) -> None:
        """`op` itself and what it holds, of which the operands are visible."""
        kind = _kind(type(op))
        if kind.calls:
            for calls in self.functions:
                calls.append(op)
        if id(op) not in self.verified:
            self.own_constraints(op, kind)
        if op.regions:
            self._regions(op, kind)

    def _regions(self, op: Operation, kind: _Kind) -> None:
        if kind.symbol_table:
            self.symbol_tables.append(op)
        if kind.function:
            self.functions.append(self.calls.setdefault(id(op), []))
        visible = self.visible
        if kind.isolated:
            self.visible = {}
        for region in op.regions:
            self._region(op, region, kind)
        self.visible = visible
        if kind.function:
            self.functions.pop()

    def _invisible_operands(self, op: Operation) -> None:
        for index, operand in enumerate(op.operands):
            if id(operand) not in self.visible:
                self.error(op, *_not_visible(op, index, operand))

    def own_constraints(self, op: Operation, kind: _Kind) -> None:
        if kind.has_named_attributes:
            self._attribute_names(cast("ModuleOp | FuncOp", op))
        if kind.is_about_symbols:
            return  # their constraints are those on symbols
        # A terminator is in the right place or not, which is no fact of its own.
        ends = kind.terminator and type(op) is ReturnOp and op._next_op is None
        key = (
            (ReturnOp, *[id(value._type) for value in op._operands])
            if ends
            else facts_of(type(op), op._operands, op.properties, op.regions, op.results)
        )
        if key is not None and op.attributes:
            key = (*key, *op.attributes, *[id(attribute) for attribute in op.attributes.values()])
        if key is None or not (key in GOOD or key in self.good):
            self._constraints(op, key)

    def _constraints(self, op: Operation, key: tuple[object, ...] | None) -> None:
        """Check an operation's constraints; those of others with its key, if it has one, hold if these do."""
        try:
            verify_constraints(op)
        except VerifyException as error:
            if not str(error).startswith(_CAPTURE_BY_XDSL):  # dominance reports it where it happens
                self.error(op, str(error))
        except DiagnosticError as error:
            self.errors += error.diagnostics
        except Exception as error:
            from ..diagnostics.xdsl_errors import raised_in_xdsl

            if not raised_in_xdsl(error):
                raise
            self.error(op, str(error))
        else:
            if key is not None and holds_data(op):
                self.good.add(key)
            elif key is not None:
                remember(key, op)

    def _attribute_names(self, op: ModuleOp | FuncOp) -> None:
        """Attributes of modules, and of functions' arguments and results, belong to a dialect: `dialect.name`."""
        owners = {"the module": op.attributes} if isinstance(op, ModuleOp) else _attributes_of_values(op)
        for owner, attributes in owners.items():
            for name in attributes:
                if "." not in name and name not in ("sym_name", "sym_visibility"):
                    self.error(op, f"{owner} has an attribute '{name}' whose name has no dialect's prefix")

    def _region(self, op: Operation, region: Region, kind: _Kind) -> None:
        blocks = region.blocks
        entry = blocks.first
        if entry is None:
            return
        if entry is blocks.last:
            outside = len(self.visible)
            self._block(op, entry, kind)
            self._leave(outside)
            return
        children, unreachable = dominator_children(region)
        stack: list[tuple[Block, int | None]] = [(entry, None)]
        while stack:
            block, before = stack.pop()
            if before is not None:
                self._leave(before)
                continue
            stack.append((block, len(self.visible)))
            self._block(op, block, kind)
            stack += [(child, None) for child in reversed(children.get(block, ()))]
        for block in unreachable:
            self._unreachable(op, block, kind)

    def _leave(self, outside: int) -> None:
        """Forget the values of a block; `outside` are as many as there were before it."""
        visible = self.visible
        for _ in range(len(visible) - outside):
            visible.popitem()

    def _unreachable(self, op: Operation, block: Block, kind: _Kind) -> None:
        """A block that nothing branches to: its uses are not checked, all else is."""
        outer, self.visible = self.visible, _Everything()
        self._block(op, block, kind)
        self.visible = outer

    def _block(self, parent: Operation, block: Block, kind: _Kind) -> None:
        """The block's operations in order; what it defines is visible afterwards."""
        visible, good, verified = self.visible, self.good, self.verified
        for argument in block._args:
            visible[id(argument)] = None
        op = block._first_op
        while op is not None:
            operands, results = op._operands, op.results
            for operand in operands:
                if id(operand) not in visible:
                    self._invisible_operands(op)
                    break
            if _kind(type(op)).is_plain and not (op.regions or op.attributes):
                # Most operations, which so take one call.
                if id(op) not in verified:
                    key = facts_of(type(op), operands, op.properties, (), results)
                    if not (key in GOOD or key in good):
                        self._constraints(op, key)
            else:
                self.operation(op)
            for result in results:
                visible[id(result)] = None
            if op._successors:
                self._successors(op, block)
            op = op._next_op
        last = block.last_op
        if kind.without_terminators and block.parent is not None and len(block.parent.blocks) == 1:
            return
        if last is None:
            self.error(parent, "has an empty block, which must end with a terminator")
        elif not _kind(type(last)).terminator:
            self.error(last, f"ends a block of '{parent.name}' but is no terminator")

    def _successors(self, op: Operation, block: Block) -> None:
        if block.last_op is not op:
            self.error(op, "branches but is not the last operation of its block")
        if any(successor.parent is not block.parent for successor in op.successors):
            self.error(op, "branches to a block of another region")


def _attributes_of_values(func: FuncOp) -> dict[str, Mapping[str, Attribute]]:
    lists = (("argument", func.arg_attrs), ("result", func.res_attrs))
    return {
        f"{what} {index}": attributes.data
        for what, values in lists
        for index, attributes in enumerate(values.data if values is not None else ())
    }


class _Everything(dict[int, None]):
    """All values."""

    def __contains__(self, value: object) -> bool:
        return True


def _value_name(value: SSAValue) -> str:
    return f" (%{value.name_hint})" if value.name_hint else ""


def _not_visible(op: Operation, index: int, operand: SSAValue) -> tuple[str, tuple[Diagnostic, ...]]:
    """The diagnostic for an operand that is not defined before its use."""
    from .definition_notes import definition_of

    which = f"operand #{index}{_value_name(operand)}"
    definition = definition_of(operand)
    if definition is None:
        return f"{which} has no definition", ()
    place, location = definition
    note = (Diagnostic("note", f"it is defined here, with type {operand.type}", location),)
    if place is None or _root(place) is not _root(op):
        return f"{which} is defined by an operation that is not in the module", note
    around = op.parent_op()
    while around is not None and not around.is_ancestor(place):
        if _kind(type(around)).isolated:
            return f"{which} is defined outside '{around.name}', whose region is isolated from above", note
        around = around.parent_op()
    return f"{which} does not dominate this use", note


def _root(op: Operation) -> Operation:
    while (parent := op.parent_op()) is not None:
        op = parent
    return op


# Symbols -------------------------------------------------------------------------------------------------------


def verify_constraints(op: Operation) -> None:
    """
    Check an operation's own constraints, those on its regions among them, not on what is in these.

    With quantized operands or results they are `verify_quantized`. Raises VerifyException, DiagnosticError.
    """
    if has_plain_tensors(op):
        verify_alone(op, only_tensors=True)
        return
    if isinstance(op, HloOp):
        if is_unranked(op):
            op = ranked(op)
        verify_tensors(op)
    if isinstance(op, HloOp) and any(map(holds_quantized, (*op.operand_types, *op.result_types))):
        from ..ops.quantized.verification import verify_quantized

        verify_quantized(op)
    else:
        verify_alone(op)


def _verify_symbols(verifier: _Verifier, table: Operation) -> None:
    """Names defined once, calls of functions that exist with operands that fit, and no cycle of calls."""
    symbols: dict[str, Operation] = {}
    for op in [op for region in table.regions for block in region.blocks for op in block.ops]:
        name = op.properties.get("sym_name") or op.attributes.get("sym_name")
        if not isinstance(name, StringAttr):
            continue
        if name.data in symbols:
            note = Diagnostic("note", "see existing symbol definition here", symbols[name.data].location)
            verifier.error(op, f"redefinition of symbol '@{name.data}'", (note,))
        symbols[name.data] = op
    calls: dict[str, list[tuple[str, Operation]]] = {}
    for name, op in symbols.items():
        if id(op) in verifier.calls:
            calls[name] = _verify_calls(verifier, op, symbols)
    _verify_no_recursion(verifier, calls)


def _verify_calls(verifier: _Verifier, func: Operation, symbols: dict[str, Operation]) -> list[tuple[str, Operation]]:
    """The functions that `func` calls, each call checked against its callee."""
    found: list[tuple[str, Operation]] = []
    for op in verifier.calls.get(id(func), ()):
        composite = isinstance(op, CompositeOp)
        callee = op.properties.get("decomposition" if composite else "callee")
        if not isinstance(callee, SymbolRefAttr):
            if not composite:  # its own verifier says so
                verifier.error(op, "needs the property 'callee', the name of a function")
            continue
        name = callee.string_value()
        target = symbols.get(name)
        if target is None:
            constraint = "composite_c2: " if composite else ""
            near = did_you_mean(name, symbols, "@")
            verifier.error(op, f"{constraint}calls '@{name}', which is not defined{near}")
        elif not isinstance(target, FuncOp):
            constraint = "composite_c2: " if composite else ""
            verifier.error(op, f"{constraint}calls '@{name}', which is no function but '{target.name}'")
        else:
            _verify_signature(verifier, cast("CallOp | CompositeOp", op), name, target)
            found.append((name, op))
    return found


def _verify_signature(verifier: _Verifier, op: CallOp | CompositeOp, name: str, target: FuncOp) -> None:
    note = (Diagnostic("note", f"'@{name}' is defined here", target.location),)
    if not isinstance(target.properties.get("function_type"), FunctionType):
        return  # its own verifier says so
    pairs = (
        ("operand", op.operand_types, target.function_type.inputs.data, "composite_c3: "),
        ("result", op.result_types, target.function_type.outputs.data, "composite_c4: "),
    )
    composite = isinstance(op, CompositeOp)
    same = types_agree if composite else _same
    for what, actual, wanted, name_of_constraint in pairs:
        constraint = name_of_constraint if composite else ""
        if len(actual) != len(wanted):
            verifier.error(op, f"{constraint}has {len(actual)} {what}s, but '@{name}' has {len(wanted)}", note)
            continue
        for index, (ours, theirs) in enumerate(zip(actual, wanted, strict=True)):
            if not same(ours, theirs):
                verifier.error(op, f"{constraint}{what} #{index} has type {ours}, but '@{name}' has {theirs}", note)


def _same(first: Attribute, second: Attribute) -> bool:
    return first is second or first == second


def _verify_no_recursion(verifier: _Verifier, calls: dict[str, list[tuple[str, Operation]]]) -> None:
    """Depth first over the calls; one error for each call that closes a cycle."""
    finished: set[str] = set()
    for root in calls:
        if root in finished:
            continue
        path: list[str] = [root]
        on_path = {root}
        pending = [iter(calls[root])]
        while pending:
            call = next(pending[-1], None)
            if call is None:
                pending.pop()
                done = path.pop()
                on_path.discard(done)
                finished.add(done)
                continue
            name, op = call
            if name in on_path:
                cycle = [*path[path.index(name) :], name]
                shown = cycle if len(cycle) < 12 else [*cycle[:5], "..", *cycle[-5:]]
                verifier.error(op, "recursive call: " + " -> ".join(f"@{n}" if n != ".." else n for n in shown))
            elif name not in finished and name in calls:
                path.append(name)
                on_path.add(name)
                pending.append(iter(calls[name]))
