"""
Functions next to a kernel that other programs are likely to contain too.

The code of those whose facts are stated is kept, on disk too (`targets/cpu/known_code.py`). Where a compilation uses
it, a function that is known is only declared, because most of a product's code, and of the time to lower it, is in such
functions.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, StringAttr, UnitAttr
from xdsl.ir import Attribute, Block, Region, SSAValue

from ...dialects.cpu import SHARED, WRITTEN
from ...dialects.support.attributes import call_op, function_op, return_op
from ...dialects.support.buffers import Buffer
from ...hlo_dialect.attributes import int_array
from ...hlo_dialect.walking import TypeFact
from ..loop_nests.loop_builder import Index, LoopBuilder

if TYPE_CHECKING:
    from ..loop_nests.scalar_block import ScalarBlock

FactsT = TypeVar("FactsT")


class KnownFunctions:
    """
    The shared functions that one compilation knows: the symbols of those that others have compiled, by key, and the
    keys of those in its own module.
    """

    def __init__(
        self,
        symbol_of: Callable[[str], str | None],
        scratch_of: Callable[[str], Sequence[Buffer]] = lambda key: (),
        target: str = "",
    ):
        """
        `symbol_of`: the symbol of a key whose code there is; `scratch_of`: the types of the buffers that a kernel
        with such a key takes after its arguments; `target`: the target's options that code depends on.
        """
        self._symbol_of = symbol_of
        self._scratch_of = scratch_of
        self.target = target
        self.found: dict[str, str] = {}
        """Those that the compilation uses."""
        self.scratch: dict[str, Sequence[Buffer]] = {}
        """The buffers that kernels in the module take after their arguments (plan-buffers)."""
        self._own: set[str] = set()

    def has(self, key: str) -> bool:
        """Whether a function is known, or in the module; if not, it will be."""
        if key in self._own or key in self.found:
            return True
        symbol = self._symbol_of(key)
        if symbol is None:
            self._own.add(key)
            return False
        self.found[key] = symbol
        return True

    def scratch_of(self, key: str) -> Sequence[Buffer]:
        """The types of the buffers that a known kernel takes after its arguments."""
        return self._scratch_of(key)


EmitT = TypeVar("EmitT", bound=Callable[..., None])

_WRITTEN: dict[Callable[..., None], Attribute] = {}


def writes(*parameters: int) -> Callable[[EmitT], EmitT]:
    """Decorator of what `call_known` emits: the numbers of the only parameters that the body writes."""

    def note(emit: EmitT) -> EmitT:
        _WRITTEN[emit] = int_array(parameters)
        return emit

    return note


_known: ContextVar[KnownFunctions | None] = ContextVar("known shared functions", default=None)


def known_functions() -> KnownFunctions | None:
    """Those of the compilation that runs, if it leaves out the bodies of known functions."""
    return _known.get()


@contextmanager
def knowing(known: KnownFunctions | None) -> Generator[None]:
    """A compilation that leaves out the bodies of known functions."""
    token = _known.set(known)
    try:
        yield
    finally:
        _known.reset(token)


def call_known(
    builder: LoopBuilder,
    kernel: func.FuncOp,
    suffix: str,
    arguments: Sequence[Index | SSAValue],
    facts: FactsT,
    emit: Callable[[LoopBuilder, Sequence[SSAValue], FactsT], None],
) -> None:
    """
    As `call_shared`, for a body that depends on nothing but `facts`, whose representation states them, and the types of
    the parameters: the elements of buffers, not their sizes. `emit` is a function of a module, which captures nothing.
    """
    stated = (emit.__module__, emit.__qualname__, repr(facts))
    function = call_stated(builder, kernel, suffix, arguments, stated, lambda inside, given: emit(inside, given, facts))
    if emit in _WRITTEN:
        function.attributes[WRITTEN] = _WRITTEN[emit]


def call_or_emit(
    builder: LoopBuilder,
    kernel: func.FuncOp,
    suffix: str,
    arguments: Sequence[Index | SSAValue],
    facts: FactsT,
    emit: Callable[[LoopBuilder, Sequence[SSAValue], FactsT], None],
    blocks: Sequence[ScalarBlock],
) -> None:
    """As `call_known`; but if one of the `blocks` among the facts is not alone, the body is written here."""
    if all(block.is_alone for block in blocks):
        call_known(builder, kernel, suffix, arguments, facts, emit)
    else:
        emit(builder, _values(builder, arguments), facts)


def call_stated(
    builder: LoopBuilder,
    kernel: func.FuncOp,
    suffix: str,
    arguments: Sequence[Index | SSAValue],
    stated: Sequence[str],
    emit: Callable[[LoopBuilder, Sequence[SSAValue]], None],
) -> func.FuncOp:
    """As `call_known`; `stated` is all that the body depends on. Returns the function."""
    known = _known.get()
    if known is None:
        return call_shared(builder, kernel, suffix, arguments, emit)
    operands = _values(builder, arguments)
    types = [value.type for value in operands]
    key = hashlib.sha256("\n".join((*stated, *map(_kind, types))).encode()).hexdigest()
    if known.has(key):
        name = _free_name(kernel, suffix)
        function = function_op(name, types, (), Region())
        function.location = builder.location
        cast(Block, kernel.parent).insert_ops_after([function], kernel)
        builder.insert(call_op(name, operands))
    else:
        function = call_shared(builder, kernel, suffix, operands, emit)
    function.attributes[SHARED] = StringAttr(key)
    return function


def _describe(type_: Attribute) -> str:
    """The type of a parameter as far as code depends on it: a buffer is a pointer to elements."""
    if not isinstance(type_, MemRefType):
        return str(type_)
    buffer = cast(Buffer, type_)
    return f"memref {buffer.element_type} {buffer.memory_space}"


_kind = TypeFact(_describe)


def call_shared(
    builder: LoopBuilder,
    kernel: func.FuncOp,
    suffix: str,
    arguments: Sequence[Index | SSAValue],
    emit: Callable[[LoopBuilder, Sequence[SSAValue]], None],
) -> func.FuncOp:
    """
    Define a function next to `kernel`, named by the kernel and the suffix, and call it at the builder's insertion
    point.

    `emit` writes its body from its parameters. For programs to share it, the body should depend on few numbers that are
    not parameters.
    """
    operands = _values(builder, arguments)
    block = Block(arg_types=[value.type for value in operands])
    block.add_op(return_op())
    function = function_op(_free_name(kernel, suffix), block.arg_types, (), Region(block))
    function.attributes[SHARED] = UnitAttr()
    function.location = builder.location
    cast(Block, kernel.parent).insert_ops_after([function], kernel)
    inside = LoopBuilder(function)
    inside.location = builder.location
    emit(inside, block.args)
    builder.insert(call_op(function.sym_name.data, operands))
    return function


def _values(builder: LoopBuilder, arguments: Sequence[Index | SSAValue]) -> list[SSAValue]:
    return [value if isinstance(value, SSAValue) else builder.index(value).value for value in arguments]


class SharedFunctions:
    """The functions next to one kernel that are called from several places, or in several ways."""

    def __init__(self, builder: LoopBuilder, kernel: func.FuncOp):
        self.builder = builder
        self.kernel = kernel
        self._names: dict[tuple[str, tuple[Attribute, ...]], str] = {}

    def call(
        self,
        suffix: str,
        arguments: Sequence[Index | SSAValue],
        stated: Sequence[str],
        emit: Callable[[LoopBuilder, Sequence[SSAValue]], None],
    ) -> None:
        """As `call_stated`; a suffix with arguments of the same types names the same function again."""
        operands = _values(self.builder, arguments)
        key = suffix, tuple(value.type for value in operands)
        if key in self._names:
            self.builder.insert(call_op(self._names[key], operands))
        else:
            function = call_stated(self.builder, self.kernel, suffix, operands, stated, emit)
            self._names[key] = function.sym_name.data


def _free_name(kernel: func.FuncOp, suffix: str) -> str:
    """A name such as `dot_0_block`, numbered if the kernel has several."""
    module = cast(Block, kernel.parent)
    base = f"{kernel.sym_name.data}_{suffix}"
    taken = {op.sym_name.data for op in module.ops if type(op) is func.FuncOp}
    names = itertools.chain([base], (f"{base}_{number}" for number in itertools.count(1)))
    return next(name for name in names if name not in taken)
