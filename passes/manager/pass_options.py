"""The options of a pass in the words of users, and the reason why one is refused."""

from __future__ import annotations

import dataclasses
import types
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec

from ...hlo_dialect.diagnostics.suggestions import did_you_mean

_WORDS: dict[Any, str] = {
    bool: "true|false",
    int: "a whole number",
    float: "a number",
    str: "text",
    type(None): "nothing",
}


def options_of(pass_type: type[ModulePass]) -> list[dataclasses.Field[Any]]:
    """The fields of a pass that are options."""
    return [one for one in dataclasses.fields(pass_type) if one.init and one.name != "name"]


def type_words(hint: Any) -> str:
    """A type as users write its values: `none|dots|all`."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return "|".join(map(str, arguments))
    if origin in (types.UnionType, Union):
        parts = [type_words(part) for part in arguments if part is not type(None)]
        return " or ".join(parts)
    if origin is tuple:
        return f"{type_words(arguments[0])}, or several with commas between"
    return _WORDS.get(hint, getattr(hint, "__name__", str(hint)))


def why_refused(pass_type: type[ModulePass], spec: ArgSpec, error: Exception) -> str:
    """The option that `error`, which making the pass from `spec` raised, is about, and what it takes instead."""
    hints = get_type_hints(pass_type)
    words = {one.name.replace("_", "-"): type_words(hints[one.name]) for one in options_of(pass_type)}
    if not words:
        return f"{', '.join(spec.parameters)} is no option; it takes no options"
    listed = "; its options are " + ", ".join(f"{name}={text}" for name, text in words.items())
    for name, values in spec.parameters.items():
        option = name.replace("_", "-")
        if option not in words:
            return f"{name} is no option{did_you_mean(option, words) or listed}"
        if _is_refused(pass_type, spec, name):
            given, takes = ",".join(map(str, values)), words[option]
            return f"{option} is {takes}, not '{given}'" if values else f"{option} needs a value: {takes}"
    return f"{error}{listed}"


def _is_refused(pass_type: type[ModulePass], spec: ArgSpec, name: str) -> bool:
    """Whether the value of this option is refused where it is the only one."""
    try:
        pass_type.from_pass_spec(ArgSpec(spec.name, {name: spec.parameters[name]}))
    except ValueError as error:
        return str(error).startswith(("Incompatible types", "Argument must contain a value"))
    except TypeError:
        return False
    return False
