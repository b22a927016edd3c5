"""The opcodes that are one operation of hlo or chlo without attributes of its own: `popcnt`, `add`, `erf`, .."""

from __future__ import annotations

from xdsl.irdl import IRDLOperation

from ...hlo_dialect.chlo import base, elementary, special
from ...hlo_dialect.ops import comparison, conversion, elementwise_binary, elementwise_unary

_OPCODES = """
    abs cbrt ceil cosine count-leading-zeros exponential exponential-minus-one floor imag is-finite log log-plus-one
    logistic negate not popcnt real round-nearest-afz round-nearest-even rsqrt sign sine sqrt tan tanh convert
    bitcast-convert add and atan2 complex divide maximum minimum multiply or power remainder shift-left
    shift-right-arithmetic shift-right-logical subtract xor select clamp
    acos acosh asin asinh atan atanh cosh sinh erf mulhi
""".split()

_FAMILIES = (base, elementary, special, comparison, conversion, elementwise_binary, elementwise_unary)


def _classes() -> dict[str, tuple[type[IRDLOperation], int]]:
    """The class of each opcode and its number of operands; hlo's before chlo's where both have one."""
    found: dict[str, tuple[type[IRDLOperation], int]] = {}
    for family in _FAMILIES:
        for cls in family.OPS:
            name = cls.name.partition(".")[2].replace("_", "-")
            if name in _OPCODES and issubclass(cls, IRDLOperation):
                found[name] = (cls, len(cls.get_irdl_definition().operands))
    return found


ELEMENTWISE = _classes()
"""The class of each of these opcodes, and its number of operands."""
