"""Which operations compute on parts of arrays, and how: the rules of partition-spmd."""

from __future__ import annotations

from xdsl.ir import Operation

from ..hlo_dialect.calls import CustomCallOp
from .spmd_layouts import Layouts


def partition_operation(op: Operation, layouts: Layouts) -> bool:
    """Put an operation on parts before `op` where operands are split and a rule says how. Whether it did."""
    return False


def run_once(op: CustomCallOp, layouts: Layouts) -> bool:
    """Put a call that has effects on one device only. Whether it did."""
    return False
