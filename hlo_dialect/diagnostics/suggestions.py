"""`did_you_mean`: the known name that a misspelled one is nearest to."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

_MAX_KNOWN = 2000
"""The number of names that are compared: a comparison takes microseconds, and a program may have a million values."""

_WIDTHS = {"int": "i", "sint": "si", "uint": "ui", "s": "i", "u": "ui", "float": "f", "fp": "f", "bfloat": "bf"}
_SIZED = re.compile(r"(s?int|uint|s|u|float|fp|bfloat)([0-9]+)(?:_t)?")
_TYPES = {
    "bool": "i1",
    "pred": "i1",
    "boolean": "i1",
    "char": "i8",
    "byte": "i8",
    "short": "i16",
    "int": "i32",
    "long": "i64",
    "half": "f16",
    "bfloat": "bf16",
    "float": "f32",
    "single": "f32",
    "double": "f64",
    "c64": "complex<f32>",
    "c128": "complex<f64>",
    "complex64": "complex<f32>",
    "complex128": "complex<f64>",
}
"""Names of types elsewhere (NumPy, C, XLA's own text), and the types of MLIR."""

_MLIR_TYPES = (
    *(f"{kind}{width}" for kind, widths in (("i", (1, 2, 4, 8, 16, 32, 64)), ("f", (16, 32, 64))) for width in widths),
    *("ui8", "ui16", "ui32", "ui64", "bf16", "tf32", "index", "none", "tensor", "complex", "tuple", "memref", "vector"),
    *("f8E4M3FN", "f8E5M2", "f8E4M3", "f8E3M4", "f8E4M3FNUZ", "f8E5M2FNUZ", "f8E4M3B11FNUZ", "f8E8M0FNU"),
    *("f4E2M1FN", "f6E2M3FN", "f6E3M2FN"),
)


def did_you_mean(name: str, known: Iterable[str], mark: str = "", cutoff: float = 0.7) -> str:
    """
    `; did you mean 'mark+name'?` for the known name nearest to `name`, or nothing where none is near.

    Numbers (`%12`) are near to none: they are counted, not spelled.
    """
    if name.isdecimal():
        return ""
    from difflib import get_close_matches

    candidates = list(islice((one for one in known if one != name), _MAX_KNOWN))
    folded = next((one for one in candidates if one.lower() == name.lower()), None)
    near = [folded] if folded is not None else get_close_matches(name, candidates, n=1, cutoff=cutoff)
    return f"; did you mean '{mark}{near[0]}'?" if near else ""


def type_suggestion(name: str) -> str:
    """The same for the name of a type: `float32` is f32, `bool` i1, `tensr` tensor."""
    sized = _SIZED.fullmatch(name.lower())
    found = _WIDTHS[sized[1]] + sized[2] if sized is not None else _TYPES.get(name.lower())
    if found is not None and found != name:
        return f"; did you mean '{found}'?"
    return did_you_mean(name, _MLIR_TYPES, cutoff=0.6)
