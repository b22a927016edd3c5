"""Names of values, as hints for the printer."""

# The setter of `name_hint` is what this avoids.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from xdsl.ir import SSAValue


def give_name(value: SSAValue, name: str) -> None:
    """
    Set the name hint of a value to a name that is an identifier of MLIR.

    xDSL's setter checks that again, and searches every name for a suffix `_1`, which only names with digits at their
    end can have.
    """
    if name[-1].isdigit() and "_" in name:
        value.name_hint = name
    else:
        value._name = name
