"""The StableHLO specification: its operations, and the sections that state the verifiers' constraints."""

from __future__ import annotations

import re

from ..errors import Diagnostic

ADDRESS = "https://openxla.org/stablehlo/spec"

OPERATIONS = frozenset(
    """
    abs add after_all all_gather all_reduce all_to_all and atan2 batch_norm_grad batch_norm_inference
    batch_norm_training bitcast_convert broadcast_in_dim case cbrt ceil cholesky clamp collective_broadcast
    collective_permute compare complex composite concatenate constant convert convolution cosine count_leading_zeros
    custom_call divide dot_general dynamic_broadcast_in_dim dynamic_conv dynamic_gather dynamic_iota dynamic_pad
    dynamic_reshape dynamic_slice dynamic_update_slice exponential exponential_minus_one fft floor gather
    get_dimension_size get_tuple_element if imag infeed iota is_finite log log_plus_one logistic map maximum minimum
    multiply negate not optimization_barrier or outfeed pad partition_id popcnt power real recv reduce reduce_precision
    reduce_scatter reduce_window remainder replica_id reshape reverse rng rng_bit_generator round_nearest_afz
    round_nearest_even rsqrt scatter select select_and_scatter send shift_left shift_right_arithmetic
    shift_right_logical sign sine slice sort sqrt subtract tan tanh transpose triangular_solve tuple
    uniform_dequantize uniform_quantize while xor
    """.split()
)
"""Those with a section of their own; numbers of constraints of others (broadcast, dot, ..) are not the spec's."""

_CONSTRAINT = re.compile(r"(\w+)_([ci][0-9]+): ")


def citation(op_name: str, message: str) -> tuple[Diagnostic, ...]:
    """
    A note on the constraint or input that a verifier's message names; empty if it names none.

    `hlo.transpose`, `transpose_c2: ..` gives `StableHLO spec, transpose (C2): https://openxla.org/..#transpose`.
    """
    found = _CONSTRAINT.match(message)
    if found is None or f"hlo.{found[1]}" != op_name or found[1] not in OPERATIONS:
        return ()
    text = f"StableHLO spec, {found[1]} ({found[2].upper()}): {ADDRESS}#{found[1]}"
    return (Diagnostic("note", text, optional=True),)
