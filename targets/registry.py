"""
The targets by name: ours, each in the folder of its name, and those of installed packages (entry points of the group
`xhlo.targets`, each a `Target`). Each is imported on request.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import cast

from ..hlo_dialect.plugins import describe_error, plugins
from .program.target import Target

ENTRY_POINT_GROUP = "xhlo.targets"

OWN_TARGETS = {"cpu": "CPU", "nvptx": "NVPTX", "amdgcn": "AMDGCN", "simt": "SIMT"}
"""The targets of this package: constants in `<name>/target.py`."""

ALIASES = {"gpu": "nvptx"}


class UnknownTargetError(LookupError):
    """There is no target with the name, or the package that has it cannot be loaded."""


def target_names() -> tuple[str, ...]:
    """The names of all targets, ours first."""
    installed = {plugin.name for plugin in plugins(ENTRY_POINT_GROUP)}
    return (*OWN_TARGETS, *sorted(installed - set(OWN_TARGETS)))


@cache
def get_target(name: str) -> Target:
    """The target with that name or alias; other packages cannot replace ours. Raises UnknownTargetError."""
    name = ALIASES.get(name, name)
    if name in OWN_TARGETS:
        module = import_module(f".{name}.target", __package__)
        return cast(Target, getattr(module, OWN_TARGETS[name]))
    for plugin in plugins(ENTRY_POINT_GROUP):
        if plugin.name == name:
            try:
                found = plugin.load()
            except (Exception, SystemExit) as error:
                problem = describe_error(error)
                raise UnknownTargetError(f"the target '{name}' of {plugin} cannot be loaded: {problem}") from error
            if not isinstance(found, Target):
                raise UnknownTargetError(f"{plugin} is no instance of a class derived from Target, but {found!r}")
            return found
    raise UnknownTargetError(f"no target is named '{name}'; there are: {', '.join(target_names())}")
