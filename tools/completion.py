"""
Completion scripts for bash, zsh and fish, from the tables of options.

shtab and argcomplete write such scripts for parsers of argparse, which the tools do not use (command_line.py says why).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from .command_line import CommandLine, Option

SHELLS = ("bash", "zsh", "fish")

COMPLETION = Option(
    "completion",
    "Print a completion script for a shell, as in: source <(TOOL --completion=bash)",
    takes="required",
    metavar="|".join(SHELLS),
    choices=SHELLS,
)


def completion_script(tool: str, line: CommandLine, passes: Sequence[str], shell: str) -> str:
    """The script for one of SHELLS; `passes` are what an option with the metavariable `PASS,..` takes."""
    rows = [(name, option) for option in line.options for name in (option.name, *option.aliases) if len(name) > 1]
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](tool, rows, passes)


_Rows = Sequence[tuple[str, Option]]


def values_of(option: Option, passes: Sequence[str]) -> tuple[str, ...]:
    """The words that an option may have as its value; empty if it takes others, such as numbers and files."""
    if option.choices:
        return option.choices
    if option.metavar.startswith("PASS"):
        return tuple(passes)
    words = option.metavar.split("|")
    return tuple(words) if len(words) > 1 and all(re.fullmatch(r"[a-z][\w-]*", word) for word in words) else ()


def _takes_file(option: Option) -> bool:
    return option.takes != "nothing" and option.metavar.startswith(("FILE", "DIR"))


_BASH = """\
{function}() {{
  local line="${{COMP_LINE:0:COMP_POINT}}"
  local word="${{line##*[[:space:]]}}" before values=() files=
  before="${{line%"$word"}}"; before="${{before%"${{before##*[![:space:]]}}"}}"; before="${{before##*[[:space:]]}}"
  COMPREPLY=()
  if [[ "$word" == -*=* ]]; then
    before="${{word%%=*}}"; word="${{word#*=}}"
  elif [[ "$word" == -* ]]; then
    COMPREPLY=($(compgen -W "{options}" -- "--${{word##*(-)}}"))
    [[ "${{COMPREPLY[0]}}" == *= ]] && compopt -o nospace 2>/dev/null
    return
  fi
  case "--${{before##*(-)}}" in
{cases}
    *) files=1 ;;
  esac
  if [[ -n "$files" ]]; then
    COMPREPLY=($(compgen -f -- "$word"))
  elif [[ "$word" == *,* ]]; then
    COMPREPLY=($(compgen -P "${{word%,*}}," -W "${{values[*]}}" -- "${{word##*,}}"))
  else
    COMPREPLY=($(compgen -W "${{values[*]}}" -- "$word"))
  fi
}}
shopt -s extglob
complete -o filenames -F {function} {tool}
"""


def _bash(tool: str, rows: _Rows, passes: Sequence[str]) -> str:
    options = " ".join(f"--{name}{'=' if option.takes == 'required' else ''}" for name, option in rows)
    cases = [
        f"    --{name}) values=({' '.join(values)}) ;;"
        for name, option in rows
        if (values := values_of(option, passes))
    ]
    function = "_" + tool.replace("-", "_")
    return _BASH.format(function=function, tool=tool, options=options, cases="\n".join(cases))


def _zsh(tool: str, rows: _Rows, passes: Sequence[str]) -> str:
    lines = [f"#compdef {tool}", "", "_arguments \\"]
    for name, option in rows:
        help_ = re.sub(r"([\[\]:\\])", r"\\\1", option.help)
        value = {"nothing": "", "optional": "=-", "required": "="}[option.takes]
        values = values_of(option, passes)
        action = "_files" if _takes_file(option) else f"({' '.join(values)})" if values else " "
        double = "::" if option.takes == "optional" else ":"
        argument = f"{double}{re.sub(r'[^A-Za-z]', '', option.metavar) or 'value'}:{action}" if value else ""
        lines.append(f"  {shlex.quote(f'*--{name}{value}[{help_}]{argument}')} \\")
    return "\n".join([*lines, "  '*:file:_files'", ""])


def _fish(tool: str, rows: _Rows, passes: Sequence[str]) -> str:
    lines: list[str] = []
    for name, option in rows:
        words = ["complete", "-c", tool, "-l", name]
        words += ["-s", option.short] if len(option.short) == 1 and name == option.name else []
        values = values_of(option, passes)
        if values:
            words += ["-f", "-a", shlex.quote(" ".join(values))]
        if option.takes == "required":
            words += ["-r"]
        lines.append(" ".join([*words, "-d", _fish_quoted(option.help)]))
    return "\n".join(lines) + "\n"


def _fish_quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
