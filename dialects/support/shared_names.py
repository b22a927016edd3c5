"""
Names and words that passes write and compiled programs read.

Without xDSL: a program from a cache or a file is loaded without it.
"""

from __future__ import annotations

UNTOUCHED, OVERWRITTEN = -2, -1
"""An argument that the program only reads; one that it overwrites, though no result is there."""

VECTOR_VARIANTS = "vector-function-abi-variant"
"""The attribute by which LLVM's vectorizer finds the variants of a function for vectors, by which it replaces calls."""

UNOPTIMIZED = "; not worth optimizing\n"
"""The first line of such LLVM IR that is compiled for several programs."""

LINKED = "xhlo.lapack"
"""The target of calls of LAPACK that compiled code makes by itself (hlo_dialect/custom_calls/linked_lapack.py)."""

ROUTINE = "routine"
"""The attribute of such a call that names the target of LAPACK; the other attributes are that target's."""

PARTS = "parts"
"""The attribute of such a call with the number of parts of the batch that threads may take; 1 without it."""


def vector_variant(function: str, width: int) -> str:
    """The name of the variant of a function that takes vectors, and a mask of the lanes that it computes."""
    return f"{function}_x{width}"
