"""
The verifiers against the specification's lists of constraints.

Every constraint that a verifier names has a test with an invalid program that fails with that name. Every constraint
of the specification is checked, holds by construction, or concerns quantized types.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import cast

from checkout import ROOT
from xhlo.hlo_dialect.dialect import hlo_operations
from xhlo.hlo_dialect.op import HloOp
from xhlo.hlo_dialect.ops.elementwise import ElementwiseBinaryOp, ElementwiseUnaryOp

_NAME = re.compile(r"\b([a-z]\w*?_[ci]\d+)\b")


def _names(texts: list[str]) -> set[str]:
    return {name for text in texts for name in _NAME.findall(text)}


def _code() -> list[str]:
    """The sources of the dialects without their docstrings."""
    paths = [path for folder in ("hlo_dialect", "dialects") for path in sorted((ROOT / folder).rglob("*.py"))]
    paths = [path for path in paths if path.parent.name != "explanations"]
    return [re.sub(r'"""[\s\S]*?"""', "", path.read_text()) for path in paths]


def constraints_in_code() -> set[str]:
    """The names of the constraints in the sources of the dialects."""
    return _names(_code())


def _tests() -> list[str]:
    """All lit files and the other unit tests."""
    paths = sorted((ROOT / "test").rglob("*.mlir")) + sorted((ROOT / "test" / "unit").rglob("*.py"))
    return [path.read_text() for path in paths if path != Path(__file__)]


def test_every_named_constraint_fails_in_some_test() -> None:
    assert sorted(_names(_code()) - _names(_tests())) == []


_COUNTS = """
    after_all 0  all_gather 6  all_reduce 7  all_to_all 9  batch_norm_grad 5  batch_norm_inference 7
    batch_norm_training 7  bitcast_convert 2  broadcast_in_dim 6  case 4  cholesky 3  clamp 4  collective_broadcast 3
    collective_permute 5  compare 3  complex 3  composite 4  concatenate 6  constant 1  convert 1  convolution 34
    custom_call 0  dot_general 24  dynamic_broadcast_in_dim 10  dynamic_conv 34  dynamic_gather 23  dynamic_iota 2
    dynamic_pad 4  dynamic_reshape 4  dynamic_slice 5  dynamic_update_slice 6  fft 5  gather 23  get_dimension_size 1
    get_tuple_element 2  if 3  infeed 3  iota 1  map 4  optimization_barrier 1  outfeed 0  pad 4  partition_id 0
    recv 8  reduce 8  reduce_precision 3  reduce_scatter 9  reduce_window 16  replica_id 0  reshape 3  reverse 3
    rng 3  rng_bit_generator 2  scatter 25  select 2  select_and_scatter 12  send 5  slice 5  sort 5  transpose 4
    triangular_solve 4  tuple 1  uniform_dequantize 2  uniform_quantize 2  while 3
    abs 2  add 7  and 1  atan2 1  cbrt 1  ceil 1  cosine 1  count_leading_zeros 1  divide 1  exponential 1
    exponential_minus_one 1  floor 1  imag 2  is_finite 1  log 1  log_plus_one 1  logistic 1  maximum 1  minimum 1
    multiply 1  negate 1  not 1  or 1  popcnt 1  power 1  real 2  remainder 1  round_nearest_afz 1
    round_nearest_even 1  rsqrt 1  shift_left 1  shift_right_arithmetic 1  shift_right_logical 1  sign 1  sine 1
    sqrt 1  subtract 1  tan 1  tanh 1  xor 1
"""
"""The number of constraints that the StableHLO specification gives for each of its operations."""

_OUTSIDE = """
    async_done async_start broadcast collective_reduce create_token cross-replica-sum dot einsum fusion real_dynamic_slice return
    set_dimension_size torch_index_select unary_einsum
"""
"""Operations that are not in the specification, or have no list of constraints there."""

_SHARED = {"dynamic_conv": "convolution", "dynamic_gather": "gather"}
"""Operations whose constraints the verifier of another one checks under the same numbers."""


def _said(op: type[HloOp]) -> set[int]:
    """The constraints that hold by construction or concern quantized types, according to the class's docstring."""
    found: set[int] = set()
    for base in op.__mro__:
        for sentence in re.split(r"[.;]\s", re.sub(r"\s+", " ", base.__doc__ or "") + " "):
            if "construction" in sentence or "quantized" in sentence:
                for first, last in re.findall(r"\bc(\d+)(?:\.\.c(\d+))?", sentence):
                    found |= set(range(int(first), int(last or first) + 1))
    return found


def _checked(op: type[HloOp], named: set[str]) -> set[int]:
    """
    The constraints that a verifier names: in its source, in the messages that tests expect, or in an elementwise base.
    """
    name = op.name.partition(".")[2]
    found = {int(entry.rpartition("_c")[2]) for entry in named if re.fullmatch(rf"{re.escape(name)}_c\d+", entry)}
    if name in _SHARED:
        found |= {int(entry.rpartition("_c")[2]) for entry in named if re.fullmatch(rf"{_SHARED[name]}_c\d+", entry)}
    if issubclass(op, ElementwiseUnaryOp):
        found |= {1, *map(int, re.findall(r"c(\d+)", op.ELEMENT_CONSTRAINT))}
    return found | {1} if issubclass(op, ElementwiseBinaryOp) else found


def test_every_constraint_of_the_specification_is_checked_or_accounted_for() -> None:
    words = _COUNTS.split()
    counts = dict(zip(words[::2], map(int, words[1::2]), strict=True))
    named = _names(_code()) | _names(_tests())
    problems: list[str] = []
    for op in cast("tuple[type[HloOp], ...]", hlo_operations()):
        name = op.name.partition(".")[2]
        if name in _OUTSIDE.split():
            continue
        if name not in counts:
            problems.append(f"{name} is not in the table")
            continue
        known = _checked(op, named) | _said(op)
        problems += [f"{name}_c{number}" for number in range(1, counts[name] + 1) if number not in known]
    assert problems == []
