"""Inline every function call and every composite, inside regions too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias, cast

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, SymbolRefAttr
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ..dialects.support.editing import clone_op, erase_op, insert_before, replace_uses
from ..dialects.support.kernel import is_kernel
from ..dialects.support.rewriting import set_type
from ..hlo_dialect.custom_calls.operations import CompositeOp
from ..hlo_dialect.diagnostics import fail
from ..hlo_dialect.hlo_pass import HloPass
from ..hlo_dialect.limits import refuse_size, too_much
from ..hlo_dialect.op import replace_op
from ..hlo_dialect.shapes import is_static, merge_dim, types_agree
from ..hlo_dialect.types import make_tensor, shape_of, tensor_type
from ..hlo_dialect.walking import operations_in

Call: TypeAlias = func.CallOp | CompositeOp
"""A function call; a composite is a call of its decomposition."""


OPERATION_BYTES = 2048
"""The memory that an operation takes while a program is lowered, of which its hlo is 800 bytes."""


def calls_in(op: Operation) -> list[Call]:
    return [inner for inner in operations_in(op) if type(inner) is func.CallOp or type(inner) is CompositeOp]


_HOLD_NAMES = (SymbolRefAttr, ArrayAttr, DictionaryAttr)


def _names_in(attribute: Attribute) -> Iterator[str]:
    """The symbols that an attribute refers to."""
    kind = type(attribute)  # isinstance is slower, because these are abstract base classes.
    if kind is SymbolRefAttr:
        yield cast(SymbolRefAttr, attribute).root_reference.data
    elif kind is ArrayAttr:
        for element in cast("ArrayAttr[Attribute]", attribute).data:
            yield from _names_in(element)
    elif kind is DictionaryAttr:
        for element in cast(DictionaryAttr, attribute).data.values():
            yield from _names_in(element)


def _used(module: ModuleOp) -> set[str]:
    """The symbols that operations refer to: calls, and whatever else names a function."""
    return {
        name
        for op in operations_in(module)
        for attribute in (*op.properties.values(), *op.attributes.values())
        if type(attribute) in _HOLD_NAMES
        for name in _names_in(attribute)
    }


def inline_call(call: Call, callee: func.FuncOp) -> None:
    """Replace a call by a clone of the callee's single block."""
    for argument, operand in zip(callee.body.block.args, call.arguments, strict=True):
        _take_type(call, "parameter", operand, argument.type)
    values: dict[SSAValue, SSAValue] = dict(zip(callee.body.block.args, call.arguments, strict=True))
    last = callee.body.block.last_op
    for op in callee.body.block.ops:
        if op is last:
            break
        clone = clone_op(op, values)
        insert_before(clone, call)
    returned = [values.get(value, value) for value in cast(Operation, last).operands]
    for result, value in zip(call.results, returned, strict=True):
        _take_type(call, "result", value, result.type)
        if value.name_hint is None:
            value.name_hint = result.name_hint
        replace_uses(result, value)
    erase_op(call)


def _restore_top_k(call: Call) -> None:
    """
    The operation chlo.top_k for the composite as which JAX serializes it: shardings do not pass it as they pass the
    sort and the slices in its decomposition.
    """
    if not isinstance(call, CompositeOp) or call.op_name.data != "chlo.top_k":
        return
    from ..hlo_dialect.chlo.structural import TopKOp

    attributes = call.composite_attributes
    made = TopKOp.create(
        operands=call.arguments,
        result_types=call.result_types,
        properties=dict(attributes.data) if isinstance(attributes, DictionaryAttr) else {},
    )
    try:
        made.verify()
        static = all(is_static(shape_of(value)) for value in (*made.operands, *made.results))
    except VerifyException:
        static = False  # it is called like that, and is something else
    if static:
        replace_op(call, [made], made.results)


def _take_type(call: Call, what: str, value: SSAValue, type_: Attribute) -> None:
    """A composite may know more dimensions than its decomposition, or fewer: keep what both know."""
    if value.type == type_:
        return
    if not types_agree(value.type, type_):
        fail(call, f"and its callee disagree: one states a {what} of type {type_}, the other of type {value.type}")
    if isinstance(value, BlockArgument):
        return  # The type of a parameter is the caller's matter.
    tensor = tensor_type(value)
    shape = tuple(map(merge_dim, tensor.get_shape(), shape_of(type_)))
    set_type(value, make_tensor(shape, tensor.element_type))


class InlinePass(HloPass):
    """
    Inline calls and composites; remove private functions and declarations that nothing refers to.

    Before: `%1 = func.call @relu(%0)` and `func.func private @relu(%x) {..}`
    After:  the operations of @relu
    Assumes: no recursion (the verifier checks this); functions of one block. Kernels are not inlined.
    Leaves: calls of declarations and kernels only; composites of declarations are refused.
    """

    name = "inline"

    def run(self, ctx: Context, module: ModuleOp) -> None:
        functions = {
            op.sym_name.data: op
            for op in module.body.block.ops
            if type(op) is func.FuncOp and not op.is_declaration and not is_kernel(op)
        }
        for call in calls_in(module):
            _restore_top_k(call)
        calls = {name: _calls_of(function, functions) for name, function in functions.items()}
        order = _callees_first(calls)
        _check_size(functions, calls, order)
        for name in order:
            _inline_calls(calls[name], functions)
        for op in operations_in(module):
            if type(op) is CompositeOp:
                fail(op, f"has the decomposition @{op.callee.root_reference.data}, which has no body")
        private = [
            op
            for op in module.body.block.ops
            if type(op) is func.FuncOp
            and not is_kernel(op)
            and op.sym_visibility is not None
            and op.sym_visibility.data == "private"
        ]
        used = _used(module) if private else set[str]()
        for function in private:
            if function.sym_name.data not in used:
                erase_op(function)


def _calls_of(function: func.FuncOp, functions: Mapping[str, func.FuncOp]) -> list[Call]:
    return [call for call in calls_in(function) if call.callee.root_reference.data in functions]


def _callees_first(calls: Mapping[str, Sequence[Call]]) -> list[str]:
    """
    The functions, each after those that it calls, so that a body is complete when it is cloned. An explicit stack, for
    deep call chains.
    """
    order: dict[str, None] = {}
    for root in calls:
        stack = [(root, False)]
        open_: set[str] = set()
        while stack:
            name, ready = stack.pop()
            if name in order:
                continue
            if ready:
                order[name] = None
                continue
            open_.add(name)
            stack.append((name, True))
            for call in calls[name]:
                callee = call.callee.root_reference.data
                if callee not in open_ or callee in order:
                    stack.append((callee, False))
                elif (callee, False) not in stack:
                    fail(call, f"calls @{callee} recursively")
    return list(order)


def _check_size(
    functions: Mapping[str, func.FuncOp], calls: Mapping[str, Sequence[Call]], order: Sequence[str]
) -> None:
    """Refuse a function whose operations would not fit in memory: forty that call each other twice make 2^40 of one."""
    sizes: dict[str, int] = {}
    for name in order:
        callees = [call.callee.root_reference.data for call in calls[name]]
        sizes[name] = len(operations_in(functions[name])) + sum(map(sizes.__getitem__, callees))
        if callees and (why := too_much(sizes[name] * OPERATION_BYTES)) is not None:
            largest = max(calls[name], key=lambda call: sizes[call.callee.root_reference.data])
            refuse_size(largest, f"{why}: @{name} has {sizes[name]} operations when its calls are inlined")


def _inline_calls(calls: Iterable[Call], functions: Mapping[str, func.FuncOp]) -> None:
    for call in calls:
        callee = functions[call.callee.root_reference.data]
        if len(callee.body.blocks) != 1:
            fail(call, f"calls @{callee.sym_name.data}, which has several blocks")
        inline_call(call, callee)
