"""Variants of functions for vectors, by which LLVM's vectorizer replaces their calls."""

from __future__ import annotations

VECTOR_VARIANTS = "vector-function-abi-variant"
"""The attribute by which LLVM's vectorizer finds the variants of a function."""


def vector_variant(function: str, width: int) -> str:
    """The name of the variant of a function that takes vectors, and a mask of the lanes that it computes."""
    return f"{function}_x{width}"
