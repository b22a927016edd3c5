"""`hlo-opt --verify-roundtrip`: the printed text parses to the same module."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from ..hlo_dialect.printing import print_module

FORMS: Mapping[str, Mapping[str, Any]] = {
    "hlo": {},
    "generic": {"generic": True},
    "StableHLO": {"spelling": "stablehlo"},
}


class RoundTripError(Exception):
    """A module that changes when it is printed and parsed; the message names the form and shows the lines."""


def verify_round_trip(module: ModuleOp, name: str, read: Callable[[str, str], ModuleOp]) -> None:
    """
    Print the module in each form, with and without locations, parse the text (`read(text, file name)`) and compare.

    Equal texts are not enough: a form that leaves out types would print them equally wrong twice.

    Raises RoundTripError, or the DiagnosticError of a text that does not parse.
    """
    for locations in (False, True):
        expected = print_module(module, locations=locations)
        for form, options in FORMS.items():
            text = print_module(module, locations=locations, **options)
            found = read(text, f"{name} ({form} form)")
            printed = print_module(found, locations=locations)
            wanted = expected
            if printed == wanted and not module.is_structurally_equivalent(found):
                wanted, printed = (print_module(each, generic=True) for each in (module, found))
            if printed != wanted:
                lines = difflib.unified_diff(
                    wanted.splitlines(), printed.splitlines(), "printed", "read", "", "", 0, ""
                )
                shown = "\n".join(list(lines)[:12])
                raise RoundTripError(f"{name} changes when it is printed in {form} form and read:\n{shown}")
