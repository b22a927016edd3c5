"""Shardings in HLO's spelling: those of `mhlo.sharding` as they are, Shardy's as the tilings that they stand for."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from ....hlo_dialect.diagnostics import fail
from ....hlo_dialect.sharding.operations import ConstraintOp
from ....passes.partition_spmd.transform import stated_tiling
from .lines import Lines
from .rules import writers

STATED = ("mhlo.sharding", "sdy.sharding")


def sharding_text(stated: Mapping[str, Attribute], user: Operation, type_: Attribute, partitions: int) -> str:
    """The sharding among the attributes of an operation, an argument or a result; empty if there is none."""
    given = next((stated[name] for name in STATED if name in stated), None)
    if given is None or isinstance(given, StringAttr):
        return "" if given is None else given.data
    if partitions <= 1:
        return ""
    try:
        tiling = stated_tiling(given, user, type_, partitions)
    except VerifyException as error:
        fail(user, f"has a sharding that is wrong: {error}")
    return "" if tiling is None else tiling.text


@writers.on(ConstraintOp)
def _constraint(lines: Lines, op: ConstraintOp) -> None:
    """`custom-call(x), custom_call_target="Sharding", sharding={..}`"""
    text = lines.module.sharding({"sdy.sharding": op.properties["sharding"]}, op, op.results[0].type)
    lines.define(op, "custom-call", 'custom_call_target="Sharding"', f"sharding={text}" if text else "")
