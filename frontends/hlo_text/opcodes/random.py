"""Opcodes of random numbers, and those that have no meaning in hlo."""

from __future__ import annotations

import numpy as np

from ....hlo_dialect.ops.algorithms.random import (
    RngAlgorithm,
    RngAlgorithmAttr,
    RngBitGeneratorOp,
    RngDistribution,
    RngDistributionAttr,
    RngOp,
)
from ..registry import opcode
from ..step import Step, Value

_ALGORITHMS = {
    "rng_default": RngAlgorithmAttr(RngAlgorithm("DEFAULT")),
    "rng_three_fry": RngAlgorithmAttr(RngAlgorithm("THREE_FRY")),
    "rng_philox": RngAlgorithmAttr(RngAlgorithm("PHILOX")),
}
_DISTRIBUTIONS = {
    "rng_uniform": RngDistributionAttr(RngDistribution("UNIFORM")),
    "rng_normal": RngDistributionAttr(RngDistribution("NORMAL")),
}


@opcode("rng-bit-generator", "algorithm", 1)
def rng_bit_generator(step: Step) -> Value:
    algorithm = step.choice("algorithm", _ALGORITHMS)
    if step.shape.is_tuple:
        return step.op(RngBitGeneratorOp, [step.value(0)], rng_algorithm=algorithm)
    state = step.value(0)
    op = RngBitGeneratorOp.create(
        operands=[state], result_types=[state.type, step.type], properties={"rng_algorithm": algorithm}
    )
    return step.insert(op).results[1]


@opcode("rng", "distribution", 2)
def rng(step: Step) -> Value:
    distribution = step.choice("distribution", _DISTRIBUTIONS)
    sizes = step.tensor_type.get_shape()
    if any(size < 0 for size in sizes):
        step.fail("the result has no size")
    shape = step.builder().constant(np.array(sizes, np.int64)).value
    return step.op(RngOp, [step.value(0), step.value(1), shape], rng_distribution=distribution)


_REFUSED = {
    "rng-get-and-update-state": "the state of a generator outlives a run, and programs of xhlo keep none: pass the "
    "state as an argument, to rng-bit-generator",
    "stochastic-convert": "rounding at random is not supported: give the program with convert",
    "ragged-all-to-all": "exchanging ragged parts is not supported: give the program with all-to-all",
    "scaled-dot": "products of scaled operands are not supported: give the program with multiply and dot",
    "shuffle": "exchanging the elements of GPU threads is not supported: give the program before it was optimized",
}


@opcode(
    " ".join(_REFUSED),
    "delta replica_groups channel_id dimensions lhs_batch_dims rhs_batch_dims lhs_contracting_dims "
    "rhs_contracting_dims operand_precision",
)
def refused(step: Step) -> Value:
    step.fail(_REFUSED[step.instruction.opcode])
