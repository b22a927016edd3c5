"""
The targets by name: ours, each in the folder of its name, and those of installed packages (entry points of the group
`xhlo.targets`, each a `Target`). Each is imported on request.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import cast

from .program.target import Target

ENTRY_POINT_GROUP = "xhlo.targets"

OWN_TARGETS = {"cpu": "CPU", "nvptx": "NVPTX", "simt": "SIMT"}
"""The targets of this package: constants in `<name>/target.py`."""

ALIASES = {"gpu": "nvptx"}


class UnknownTargetError(LookupError):
    """There is no target with the name."""


def target_names() -> tuple[str, ...]:
    """The names of all targets, ours first."""
    installed = {point.name for point in entry_points(group=ENTRY_POINT_GROUP)}
    return (*OWN_TARGETS, *sorted(installed - set(OWN_TARGETS)))


@cache
def get_target(name: str) -> Target:
    """The target with that name or alias; other packages cannot replace ours. Raises UnknownTargetError."""
    name = ALIASES.get(name, name)
    if name in OWN_TARGETS:
        module = import_module(f".{name}.target", __package__)
        return cast(Target, getattr(module, OWN_TARGETS[name]))
    for point in entry_points(group=ENTRY_POINT_GROUP):
        if point.name == name:
            return cast(Target, point.load())
    raise UnknownTargetError(f"no target is named '{name}'; there are: {', '.join(target_names())}")
