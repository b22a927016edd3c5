"""
Options of one compilation, which programs pass to `jax.jit(.., compiler_options=..)` and `lowered.compile(..)`.

They are XLA's. Those about dumps mean here what they mean there; the others are checked and have no effect.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from .c_api import Code
from .entries import PluginError
from .xla_options import COMPOSITE, ENUMERATIONS, TYPES

Value = bool | int | float | str

DUMP_TO, DUMP_PASS_RE = "xla_dump_to", "xla_dump_hlo_pass_re"
"""The options that have an effect."""

_BOUNDS = {"int32": 1 << 31, "int64": 1 << 63}


def check_options(options: Mapping[str, Value]) -> None:
    """Raises PluginError for an option that XLA does not have, or whose value has another type."""
    for name, value in options.items():
        if name in ENUMERATIONS:
            names = ENUMERATIONS[name]
            if value not in names and not (type(value) is int and 0 <= value < len(names)):
                _refuse(name, value, f"there are {', '.join(names)}")
        elif name in TYPES:
            type_ = TYPES[name]
            if not _fits(value, type_):
                _refuse(name, value, f"its type is {type_}")
        elif name in COMPOSITE:
            _refuse(name, value, "options that are lists cannot be set here")
        else:
            near = difflib.get_close_matches(name, (*TYPES, *ENUMERATIONS), 1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise PluginError(Code.INVALID_ARGUMENT, f"No such compile option: '{name}'{hint}")


def _refuse(name: str, value: Value, why: str) -> None:
    raise PluginError(Code.INVALID_ARGUMENT, f"While setting option {name}, '{value}' is not a valid value: {why}.")


def _fits(value: Value, type_: str) -> bool:
    """Whether a value has a type, or is a string that spells a value of it, as flags do."""
    match type_:
        case "string":
            return isinstance(value, str)
        case "bool":
            return isinstance(value, bool) or value in ("true", "false", "True", "False", "0", "1")
        case "float":
            return type(value) in (int, float) or (isinstance(value, str) and _parses(value, float))
        case _:
            if isinstance(value, str) and _parses(value, int):
                value = int(value)
            bound = _BOUNDS[type_]
            return type(value) is int and -bound <= value < bound


def _parses(text: str, type_: type[int] | type[float]) -> bool:
    try:
        type_(text)
    except ValueError:
        return False
    return True
