"""Ordinary JAX programs of all classes, a file each: what people run on a CPU. xla_programs.py times them."""

from . import (
    codes,
    convolutions,
    dynamic_programs,
    grids,
    indexing,
    linear_algebra,
    models,
    products,
    recurrent,
    searches,
    simulation,
    statistics,
    training,
)
from .program import Entry, JaxProgram

CLASSES = (
    models,
    recurrent,
    convolutions,
    training,
    simulation,
    grids,
    statistics,
    indexing,
    dynamic_programs,
    searches,
    linear_algebra,
    products,
    codes,
)


def entries(only: str = "") -> list[Entry]:
    """The programs whose name, which begins with its class, contains one of the words in `only`."""
    words = only.split(",")
    found = [entry for file in CLASSES for entry in file.PROGRAMS.entries]
    return [entry for entry in found if any(word in entry.name for word in words)]


__all__ = ["CLASSES", "Entry", "JaxProgram", "entries"]
