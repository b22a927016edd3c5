"""
Donated arguments: those whose memory a program may overwrite, stated by attributes of the entry's arguments.

`tf.aliasing_output = n` asks that result n be in the argument's memory, `jax.buffer_donor` leaves the choice to the
compiler. JAX writes both, for `donate_argnums`; `input_output_alias` and `buffer_donor` of HLO text are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, UnitAttr, i32
from xdsl.ir import Attribute

DONOR, ALIAS = "jax.buffer_donor", "tf.aliasing_output"


def is_donated(attributes: DictionaryAttr) -> bool:
    """Whether an argument with these attributes is donated."""
    donor = attributes.data.get(DONOR)
    refused = isinstance(donor, IntegerAttr) and not cast("IntegerAttr[Any]", donor).value.data
    return ALIAS in attributes.data or (donor is not None and not refused)


def state_donations(function: func.FuncOp, places: Mapping[int, int | None]) -> None:
    """State which arguments are donated, by number: with the result for their memory, or None to leave it open."""
    count = len(function.function_type.inputs.data)
    known = [DictionaryAttr({})] * count if function.arg_attrs is None else function.arg_attrs.data
    function.arg_attrs = ArrayAttr(
        DictionaryAttr({**each.data, **_stated(places[number])}) if number in places else each
        for number, each in enumerate(known)
    )


def _stated(place: int | None) -> dict[str, Attribute]:
    return {DONOR: UnitAttr()} if place is None else {ALIAS: IntegerAttr(place, i32)}


def keep_arguments(function: func.FuncOp) -> None:
    """Take back all donations: no argument's memory may be overwritten."""
    if function.arg_attrs is not None:
        function.arg_attrs = ArrayAttr(
            DictionaryAttr({name: value for name, value in each.data.items() if name not in (DONOR, ALIAS)})
            for each in function.arg_attrs.data
        )


def stated_donations(function: func.FuncOp) -> dict[int, int | None]:
    """The numbers of a function's donated arguments, each with that of the result for its memory, None without one."""
    types = function.function_type
    if function.arg_attrs is None or len(function.arg_attrs.data) != len(types.inputs.data):
        return {}
    found: dict[int, int | None] = {}
    for number, attributes in enumerate(function.arg_attrs.data):
        if is_donated(attributes):
            alias = attributes.data.get(ALIAS)
            output = cast("IntegerAttr[Any]", alias).value.data if isinstance(alias, IntegerAttr) else None
            found[number] = output if output is not None and 0 <= output < len(types.outputs.data) else None
    return found


def placed_donations(function: func.FuncOp) -> dict[int, int | None]:
    """The donated arguments, each with the result for its memory: as stated, else the first one left of its type."""
    stated = stated_donations(function)
    types = function.function_type
    taken: set[int] = set()
    for number, output in stated.items():
        if output in taken or (output is not None and types.outputs.data[output] != types.inputs.data[number]):
            stated[number] = None
        elif output is not None:
            taken.add(output)
    for number in (number for number, output in stated.items() if output is None):
        same = (i for i, type_ in enumerate(types.outputs.data) if type_ == types.inputs.data[number])
        stated[number] = found = next((output for output in same if output not in taken), None)
        if found is not None:
            taken.add(found)
    return stated
