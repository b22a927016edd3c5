"""
Command lines of the tools: a table of options, parsed in order.

argparse does not keep the order of flags, takes a file name as an optional value, and cannot group hundreds of passes.
"""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ..passes.manager.pipelines import OPT_LEVELS

Takes = Literal["nothing", "optional", "required"]


_COLUMN = 34
"""The column in which descriptions of options begin."""


class UsageError(Exception):
    """An invalid command line; the message is one line."""


@dataclass(frozen=True)
class Option:
    """One flag: `--name`, `--name=VALUE`; `short` is a one-letter form, `aliases` are other long names."""

    name: str
    help: str
    group: str = "General"
    takes: Takes = "nothing"
    metavar: str = "VALUE"
    short: str = ""
    aliases: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()

    @property
    def usage(self) -> str:
        if self.short == self.name:
            return f"-{self.short} {self.metavar}"
        value = {"nothing": "", "optional": f"[={self.metavar}]", "required": f"={self.metavar}"}[self.takes]
        return (f"-{self.short}, " if self.short else "") + f"--{self.name}{value}"


@dataclass
class Arguments:
    """A parsed command line: flags with their values, in order, and the positional arguments."""

    flags: list[tuple[str, str | None]] = field(default_factory=list[tuple[str, "str | None"]])
    words: list[str] = field(default_factory=list[str])

    def has(self, name: str) -> bool:
        return any(flag == name for flag, _ in self.flags)

    def value(self, name: str, default: str | None = None) -> str | None:
        """The last value of the flag; `default` if there is none."""
        return next((value for flag, value in reversed(self.flags) if flag == name and value is not None), default)

    def number(self, name: str, default: int) -> int:
        """The flag's value as a non-negative integer. Raises UsageError."""
        text = self.value(name)
        if text is None:
            return default
        if not text.isascii() or not text.isdigit() or len(text) > 18:
            raise UsageError(f"--{name} takes a number, not '{text}'")
        return int(text)


MAX_MEMORY = Option(
    "max-memory",
    "Refuse what takes more memory, such as 512M or 8G (XHLO_MAX_MEMORY, or what the machine has)",
    takes="required",
    metavar="SIZE",
)


def opt_level_option(group: str) -> Option:
    """`--opt-level`, among the options of a group."""
    levels = tuple(map(str, OPT_LEVELS))
    return Option("opt-level", "Optimize nothing (0), without loops (1), as usual (2, default), or for longer (3)",
                  group, "required", "|".join(levels), choices=levels)  # fmt: skip


_FORMATS = ("text", "json", "sarif")

DIAGNOSTICS_OPTIONS = (
    Option("diagnostics", "Write diagnostics as text (default), as lines of JSON, or as a SARIF 2.1.0 document",
           takes="required", metavar="|".join(_FORMATS), choices=_FORMATS),
    Option("diagnostics-file", "Write diagnostics there instead of standard error", takes="required", metavar="FILE"),
)  # fmt: skip


def limit_memory(arguments: Arguments) -> None:
    """Obey `--max-memory` in this process. Raises UsageError."""
    text = arguments.value(MAX_MEMORY.name)
    if text is None:
        return
    from ..hlo_dialect.machine_memory import parse_size, set_max_memory

    try:
        set_max_memory(parse_size(text))
    except ValueError as error:
        raise UsageError(f"--{MAX_MEMORY.name}: {error}") from None


class CommandLine:
    """A tool's options."""

    def __init__(self, options: Iterable[Option]) -> None:
        self.options = tuple(options)
        self._long = {name: option for option in self.options for name in (option.name, *option.aliases)}
        self._short = {option.short: option for option in self.options if option.short}

    def parse(self, argv: Sequence[str]) -> Arguments:
        """Parse a command line. Raises UsageError."""
        arguments = Arguments()
        rest = list(argv)
        while rest:
            word = rest.pop(0)
            if word == "--":
                arguments.words += rest
                break
            if word == "-" or not word.startswith("-"):
                arguments.words.append(word)
                continue
            option, value = self._option(word)
            if option.takes == "required" and value is None:
                if not rest:
                    raise UsageError(f"{word} needs a value: {option.usage}")
                value = rest.pop(0)
            self._check(option, word, value)
            arguments.flags.append((option.name, value))
        return arguments

    def _option(self, word: str) -> tuple[Option, str | None]:
        """The option that a word names, and the value after its `=`. One dash works like two, as in mlir-opt."""
        name, equals, value = word.partition("=")
        bare = name[2:] if name.startswith("--") else name[1:]
        option = self._long.get(bare)
        if option is None and not name.startswith("--"):
            option = self._short.get(bare)
        if option is None:
            raise UsageError(f"unknown option '{name}'{self._similar(bare)}")
        return option, value if equals else None

    def find(self, name: str) -> Option | None:
        """The option of that name, without dashes; None if there is none."""
        return self._long.get(name) or self._short.get(name)

    def _check(self, option: Option, word: str, value: str | None) -> None:
        if option.takes == "nothing" and value is not None:
            raise UsageError(f"--{option.name} takes no value, got '{word}'")
        if option.choices and value is not None and value not in option.choices:
            raise UsageError(f"--{option.name} is one of {', '.join(option.choices)}, not '{value}'")

    def _similar(self, name: str) -> str:
        from difflib import get_close_matches

        close = get_close_matches(name, self._long, n=1)
        return f"; did you mean --{close[0]}?" if close else ""

    def help(self, usage: str, overview: str, footers: Mapping[str, str] | None = None) -> str:
        """The help text, options by group; `footers` are printed below the group that they name."""
        width = min(shutil.get_terminal_size((110, 24)).columns, 120)
        parts = [f"usage: {usage}", "", textwrap.fill(overview, width)]
        groups = dict.fromkeys(option.group for option in self.options)
        for group in groups:
            parts += ["", f"{group}:"]
            parts += [_help_line(option, width) for option in self.options if option.group == group]
            if footers and group in footers:
                parts.append(textwrap.indent(footers[group], "  "))
        return "\n".join(parts) + "\n"


def _help_line(option: Option, width: int) -> str:
    """`  --flag=VALUE    what it does`; the description is on a second line if the flag is long."""
    usage = f"  {option.usage}"
    gap = "\n" + " " * _COLUMN if len(usage) >= _COLUMN else " " * (_COLUMN - len(usage))
    also = f"also {', '.join('--' + alias for alias in option.aliases)}" if option.aliases else ""
    return usage + gap + _shorten(option.help, width - _COLUMN) + ("\n" + " " * _COLUMN + also if also else "")


def _shorten(text: str, width: int) -> str:
    """One line of at most `width`."""
    return text if len(text) <= width else text[: max(0, width - 2)].rstrip() + ".."
