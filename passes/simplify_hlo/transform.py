"""Fold, evaluate constants, merge movements, simplify control flow, erase dead code; results stay exact."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, cast

from xdsl.context import Context
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import IsTerminator, NoMemoryEffect, Pure, RecursiveMemoryEffect, is_side_effect_free

from ...dialects.support.editing import erase_op, operands_of
from ...hlo_dialect.diagnostics import applied_in
from ...hlo_dialect.hlo_pass import HloPass
from ...hlo_dialect.op import is_hlo, replace_op
from ...hlo_dialect.ops.creation import ConstantOp
from ...hlo_dialect.walking import operations_in
from .constants import evaluate
from .rewrite import Rewrite, Rule, approximations, name_of, simplifications, unknown_rules

MAX_VISITS = 64
"""Most visits of one operation: rules terminate by construction, this limit is a safeguard."""

MOST_ROUNDS = 4
"""Visits of operations in loops after all others have ended, as long as they change something."""

_ON_INDICES = frozenset(("hlo.compare", "hlo.maximum", "hlo.minimum", "hlo.scatter"))

MAX_DESCENT = 1000
"""
Most rewrites from an operation to one that replaces it, beside one for each operation of the module. More than that are
a cycle of rules.
"""


@dataclass(frozen=True, slots=True)
class Descent:
    """How an operation came about: the rule that made it, and the descent of the operation that the rule replaced."""

    rule: str
    parent: Descent | None
    length: int

    def cycle(self) -> list[str]:
        """The rules that repeat at the end of the descent, the shortest period; all of the last ones if none does."""
        rules: list[str] = []
        at: Descent | None = self
        while at is not None and len(rules) < 2 * MAX_VISITS:
            rules.append(at.rule)
            at = at.parent
        rules.reverse()
        periods = (n for n in range(1, len(rules) // 2 + 1) if rules[-n:] == rules[-2 * n : -n])
        return rules[-next(periods, len(rules)) :]


@cache
def _purity(op_type: type[Operation]) -> bool | None:
    """Whether operations of the class have no effect; None if it depends on the operation's regions."""
    if op_type.has_trait(IsTerminator):
        return False
    if op_type.has_trait(Pure) or op_type.has_trait(NoMemoryEffect):
        return True
    return None if op_type.has_trait(RecursiveMemoryEffect) else False


def _is_unused(op: Operation) -> bool:
    return all(result.first_use is None for result in op.results)


def is_pure(op: Operation) -> bool:
    """Whether the operation can be erased if its results are unused."""
    known = _purity(type(op))
    return known if known is not None else is_side_effect_free(op)


@dataclass(frozen=True)
class SimplifyHloPass(HloPass):
    """
    Simplify operations until nothing changes. Every result keeps its exact value.

    Before: `%1 = hlo.reshape %0`, `%2 = hlo.reshape %1`, `%3 = hlo.add %2, %zero` (integers)
    After:  `%2 = hlo.reshape %0`
    Assumes: the level after inline. Functions called from elsewhere keep their signature.
    Leaves: no constant expressions of up to 64 elements, no mergeable chains of movements, no dead code.

    rules=false only folds constants and removes dead code. math=fast also applies the rules that may change results of
    floats, `also=divide-by-constant,merge-sums` some of them by name (`hlo-opt --print-rules` lists them).
    """

    name = "simplify-hlo"
    works_on_functions = True

    rules: bool = True
    math: Literal["default", "fast"] = "default"
    also: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.also and (unknown := unknown_rules(self.also)):
            raise ValueError(f"no rule is named '{unknown[0]}' that may change results of floats")

    def run(self, ctx: Context, module: ModuleOp) -> None:
        Simplifier(module, applied_in(ctx), self.rules, None if self.math == "fast" else self.also).run()


class Simplifier:
    """A worklist of operations; operations that a rewrite touches are visited again."""

    def __init__(
        self, module: ModuleOp, applied: Counter[str], rules: bool = True, approximate: Collection[str] | None = ()
    ):
        """`approximate`: the names of the rules of `approximations` to apply, None for all."""
        self.module = module
        self.approximate = approximate
        self.rules = rules
        """Whether to apply rules, beside folding."""
        self.applied = applied
        """Counts the rules that are applied."""
        self.queue: deque[Operation] = deque(op for op in operations_in(module) if is_hlo(op))
        self.waiting: set[Operation] = set(self.queue)
        self.visits: dict[Operation, int] = {}
        self.descents: dict[Operation, Descent] = {}
        """The descents of operations that rules made."""
        self.longest = MAX_DESCENT + len(self.queue)

    def run(self) -> None:
        self._drain()
        for _ in range(MOST_ROUNDS if self.rules else 0):
            # The bounds of an index follow from its loop, which may have become simpler after the index was visited.
            before = self.applied.total()
            for op in self._on_indices():
                self._push(op)
            self._drain()
            if self.applied.total() == before:
                break

    def _on_indices(self) -> list[Operation]:
        """The operations in loops that rules may change by the bounds of integers."""
        loops = [op for op in operations_in(self.module) if op.name == "hlo.while"]
        inside = (op for loop in loops for op in operations_in(loop) if op.name in _ON_INDICES)
        return list(dict.fromkeys(inside))

    def _drain(self) -> None:
        while self.queue:
            op = self.queue.popleft()
            if op in self.waiting:
                self.waiting.remove(op)
                if op.parent is not None:
                    self._visit(op)

    def _push(self, op: object) -> None:
        if is_hlo(op) and op not in self.waiting and op.parent is not None:
            visits = self.visits.get(op, 0)
            if visits < MAX_VISITS:
                self.visits[op] = visits + 1
                self.waiting.add(op)
                self.queue.append(op)

    def _visit(self, op: Operation) -> None:
        if _is_unused(op) and is_pure(op):
            self.applied["erase-dead"] += 1
            self._erase(op)
            return
        if type(op) is ConstantOp:
            return
        rewrite, name = self._fold(op), "fold"
        if rewrite is None and self.rules:
            for rule in self._rules_for(type(op)):
                rewrite = rule(op)
                if rewrite is not None:
                    name = name_of(rule)
                    break
        if rewrite is not None:
            self.applied[name] += 1
            self._descend(op, rewrite, name)
            self._replace(op, rewrite)

    def _rules_for(self, op_type: type[Operation]) -> tuple[Rule, ...]:
        rules = simplifications.all(op_type)
        if self.approximate == ():
            return rules
        chosen = self.approximate
        return rules + tuple(r for r in approximations.all(op_type) if chosen is None or name_of(r) in chosen)

    def _descend(self, op: Operation, rewrite: Rewrite, rule: str) -> None:
        """Note where the new operations come from; raise if rules undo each other."""
        parent = self.descents.pop(op, None)
        descent = Descent(rule, parent, 1 if parent is None else parent.length + 1)
        if descent.length > self.longest:
            raise RuntimeError(f"simplification does not end: the rules {', '.join(descent.cycle())} repeat")
        for new in rewrite.new_ops if rewrite.values is not None else (op,):
            self.descents[new] = descent

    def _fold(self, op: Operation) -> Rewrite | None:
        assert is_hlo(op)
        folded: Sequence[SSAValue | Attribute] | None = op.fold() or evaluate(op)
        if not folded:
            return None
        new_ops: list[Operation] = []
        values: list[SSAValue] = []
        for result, value in zip(op.results, folded, strict=True):
            if isinstance(value, Attribute):
                if not isinstance(value, DenseIntOrFPElementsAttr) or cast("Any", value).type != result.type:
                    return None
                constant = ConstantOp.create(properties={"value": cast(Attribute, value)}, result_types=[result.type])
                new_ops.append(constant)
                value = constant.results[0]
            values.append(value)
        return Rewrite(new_ops, values)

    def _replace(self, op: Operation, rewrite: Rewrite) -> None:
        for touched in rewrite.touched:
            self._push(touched)
        if rewrite.values is None:
            self._push(op)
            return
        users = [use.operation for result in op.results for use in result.uses]
        sources = [value.owner for inner in operations_in(op) for value in operands_of(inner)]
        replace_op(op, rewrite.new_ops, rewrite.values)
        # Operations that are dead now go first, so that rules see how many uses are left.
        dead = [each for each in sources if is_hlo(each) and _is_unused(each)]
        for each in (*dead, *rewrite.new_ops, *users, *sources):
            self._push(each)

    def _erase(self, op: Operation) -> None:
        sources = [value.owner for inner in operations_in(op) for value in operands_of(inner)]
        erase_op(op)
        for source in sources:
            self._push(source)
