"""
Sharding rules: how the dimensions of an operation's operands and results correspond, as Shardy's propagation sees them.

`#sdy.op_sharding_rule<([i, j], [j, k])->([i, k]) {i=8, j=16, k=4} reduction={j}>`: a factor is a loop of the operation;
each dimension is a list of factors, the major ones first. JAX attaches such rules to custom calls.
Spec: https://openxla.org/shardy/sharding_representation
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from ..op import reject

Dims: TypeAlias = Sequence[int | None]
"""The dimension of each operand, or of each result, that a factor is part of; None if it is part of none."""
Mapping: TypeAlias = list[list[list[int]]]
"""The factors of each dimension of each operand, or of each result."""


class ShardingRule:
    """
    The factors of an operation whose operands and results have these ranks.

    A special factor is one along which operands are not simply split like results: reduced, permuted or needed whole.
    """

    def __init__(self, operand_ranks: Sequence[int], result_ranks: Sequence[int]):
        self.sizes: list[int] = []
        self.special: set[int] = set()
        self.operands: Mapping = [[[] for _ in range(rank)] for rank in operand_ranks]
        self.results: Mapping = [[[] for _ in range(rank)] for rank in result_ranks]

    @property
    def tensors(self) -> Mapping:
        return [*self.operands, *self.results]

    def add(self, size: int, operands: Dims, results: Dims, special: bool = False) -> None:
        """Append a factor to the dimensions of operands and results that it is part of."""
        number = len(self.sizes)
        self.sizes.append(size)
        if special:
            self.special.add(number)
        for tensor, dim in zip(self.tensors, [*operands, *results], strict=True):
            if dim is not None:
                tensor[dim].append(number)

    def verify_on(self, operands: Sequence[Sequence[int]], results: Sequence[Sequence[int]]) -> None:
        """Raise VerifyException unless the sizes of each dimension's factors make up the dimensions of these shapes."""
        for what, mapping, shapes in (("operand", self.operands, operands), ("result", self.results, results)):
            sizes = [[math.prod(self.sizes[factor] for factor in factors) for factors in dims] for dims in mapping]
            if sizes != [list(shape) for shape in shapes]:
                reject(f"sharding_rule: its {what}s have the shapes {sizes}, those of the operation {list(shapes)}")

    def add_common(self, sizes: Sequence[int], special: Callable[[int], bool] = lambda dim: False) -> ShardingRule:
        """Append a factor for each dimension, which is the same in all operands and results that are not scalars."""
        for dim, size in enumerate(sizes):
            dims = [[dim if dim < len(tensor) else None for tensor in side] for side in (self.operands, self.results)]
            self.add(size, *dims, special=special(dim))
        return self


_TENSOR = re.compile(r"\[([^\[\]]*)\]")
_FACTOR = re.compile(r"[a-z](?:_[0-9]+)?")
_SIZE = re.compile(r"([a-z](?:_[0-9]+)?) *= *([0-9]+)")
_MOST_DIGITS = 18
_SPECIAL = re.compile(r"(?:reduction|need_replication|permutation|blocked_propagation) *= *\{([^{}]*)\}")
_RULE = re.compile(
    r"\((?P<operands>[^()]*)\) *-> *\((?P<results>[^()]*)\) *\{(?P<sizes>[^{}]*)\}(?P<rest>.*)", re.DOTALL
)


def _dimensions(tensor: str) -> list[str]:
    return tensor.split(",") if tensor.strip() else []


def parse_sharding_rule(text: str) -> ShardingRule:
    """The rule in `<([i, j])->([i]) {i=8, j=4} reduction={j}, custom>`. Raises VerifyException for other text."""
    match = _RULE.fullmatch(text.strip().removeprefix("<").removesuffix(">"))
    if match is None:
        reject(f"sharding_rule: {text} is no sharding rule")
    sides = [_TENSOR.findall(match[side]) for side in ("operands", "results")]
    tensors = [[_dimensions(tensor) for tensor in side] for side in sides]
    stated = _SIZE.findall(match["sizes"])
    if any(len(size) > _MOST_DIGITS for _, size in stated):
        reject(f"sharding_rule: a size has more than {_MOST_DIGITS} digits")
    sizes = {name: int(size) for name, size in stated}
    numbers = {name: number for number, name in enumerate(sizes)}
    unknown = [name for names in sides for name in _FACTOR.findall(" ".join(names)) if name not in numbers]
    if unknown:
        reject(f"sharding_rule: the factor {unknown[0]} has no size in {text}")
    found = ShardingRule(*([len(tensor) for tensor in side] for side in tensors))
    found.sizes = list(sizes.values())
    special = [name for names in _SPECIAL.findall(match["rest"]) for name in _FACTOR.findall(names)]
    found.special = {numbers[name] for name in special if name in numbers}
    for side, mapping in zip(tensors, (found.operands, found.results), strict=True):
        for names, dims in zip(side, mapping, strict=True):
            for dim, factors in zip(dims, names, strict=True):
                dim.extend(numbers[name] for name in _FACTOR.findall(factors))
    return found
