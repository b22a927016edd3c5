"""The documentation of one pass or option, for `--help=NAME`."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
from typing import Any, get_type_hints

from ..passes.manager.pass_options import options_of, type_words
from ..passes.manager.registry import UnknownPassError, find_pass, get_pass
from .command_line import CommandLine, UsageError


def help_for(name: str, line: CommandLine) -> str:
    """The documentation of a pass or of an option. Raises UsageError."""
    bare = name.lstrip("-").partition("=")[0]
    option = line.find(bare)
    if find_pass(bare) is not None and (option is None or option.name == bare):
        return pass_text(bare)
    if option is not None:
        also = f"\nalso {', '.join('--' + alias for alias in option.aliases)}" if option.aliases else ""
        return f"{option.usage}{also}\n\n{option.help}\n"
    try:
        get_pass(bare)
    except UnknownPassError as error:
        raise UsageError(f"{error}; neither is an option") from None
    raise AssertionError("a pass that is found has an entry")


def pass_text(name: str) -> str:
    """A pass's documentation, and its options with types and defaults."""
    pass_type = get_pass(name)
    entry = find_pass(name)
    assert entry is not None, "get_pass found it"
    origin = {"xhlo": "xhlo", "xdsl": "xDSL"}.get(entry.origin, entry.home)
    text = inspect.cleandoc(pass_type.__doc__ or "It has no documentation.")
    if text.startswith(f"{pass_type.__name__}("):
        text = "It has no documentation."  # dataclass writes the signature where a docstring is missing
    return f"--{name}: a pass of {origin}\n\n{text}\n\n{_options_text(name, pass_type)}"


def _options_text(name: str, pass_type: type[Any]) -> str:
    fields = options_of(pass_type)
    if not fields:
        return "It takes no options.\n"
    hints, notes = get_type_hints(pass_type), _field_notes(pass_type)
    rows = [(one.name.replace("_", "-"), type_words(hints[one.name]), _default_words(one)) for one in fields]
    width = max(len(f"{option}=") for option, _, _ in rows)
    first = rows[0][0]
    lines = [f"Options, written --{name}={first}=.. or --pass-pipeline='{name}{{{first}=..}}':"]
    for (option, words, default), one in zip(rows, fields, strict=True):
        lines.append(f"  {f'{option}=':<{width}}  {words}; {default}")
        if one.name in notes:
            lines.append(textwrap.indent(textwrap.fill(notes[one.name], 100), " " * (width + 4)))
    return "\n".join(lines) + "\n"


def _default_words(one: dataclasses.Field[Any]) -> str:
    if one.default_factory is not dataclasses.MISSING:
        return _value_words(one.default_factory())
    return "must be given" if one.default is dataclasses.MISSING else _value_words(one.default)


def _value_words(value: Any) -> str:
    if value is None or value == () or value == "":
        return "by default not given"
    if isinstance(value, bool):
        return f"by default {str(value).lower()}"
    return f"by default {','.join(map(str, value)) if isinstance(value, tuple) else value}"  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def _field_notes(pass_type: type[Any]) -> dict[str, str]:
    """The docstrings below the fields of a class and of its bases, by field."""
    notes: dict[str, str] = {}
    for base in reversed(pass_type.__mro__):
        if not dataclasses.is_dataclass(base):
            continue
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        assert isinstance(tree, ast.ClassDef)
        for statement, following in zip(tree.body, tree.body[1:], strict=False):
            match statement, following:
                case ast.AnnAssign(target=ast.Name(id=field)), ast.Expr(value=ast.Constant(value=str(note))):
                    notes[field] = " ".join(note.split())
                case _:
                    pass
    return notes
