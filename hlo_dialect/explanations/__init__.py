"""The constraints that the verifiers name, each with a text, a wrong and a right program (see `table.py`)."""

from __future__ import annotations

from functools import cache

from ..diagnostics.suggestions import did_you_mean
from .elementwise import elementwise_sections
from .table import Explanation, Section, sections
from .tensors import tensor_constraint


class UnknownConstraintError(Exception):
    """No constraint has the name; the message is one line."""


@cache
def all_sections() -> tuple[Section, ...]:
    """The sections of the tables, and those of the operations that differ in their name and element types alone."""
    return (*elementwise_sections(), *sections())


@cache
def explanations() -> dict[str, Explanation]:
    """Every constraint by its name, as messages give it: `transpose_c2`."""
    found: dict[str, Explanation] = {}
    for section in all_sections():
        for one in section.constraints:
            found.setdefault(one.name, one)
    return found


def explanation_of(name: str) -> Explanation | None:
    """The explanation of a constraint; None for a name that no constraint has."""
    return explanations().get(name) or tensor_constraint(name, all_sections())


def explain(name: str) -> str:
    """
    The text that `hlo-opt --explain` prints for a constraint, or for all constraints of an operation: what must hold,
    a program that breaks it, and one that is right. Raises UnknownConstraintError.
    """
    wanted = name.strip().lower().removeprefix("stablehlo.").removeprefix("hlo.").removeprefix("chlo.")
    found = explanation_of(wanted)
    if found is not None:
        return _text(found)
    of_op = [one for one in explanations().values() if one.op.partition(".")[2] == wanted]
    if of_op:
        return "\n".join(map(_text, of_op))
    near = did_you_mean(wanted, explanations())
    raise UnknownConstraintError(f"no constraint is named '{name}'{near}; they are listed in docs/ops.md")


def _text(found: Explanation) -> str:
    from ..diagnostics.specification import citation

    cited = [note.message for note in citation(found.op, f"{found.name}: ")]
    head = "\n".join([f"{found.name}: {found.text}", *cited])
    where = "" if found.replicas is None else f", on {found.replicas} replicas"
    return f"{head}\n\nWrong{where}:\n\n{_indented(found.wrong)}\nRight:\n\n{_indented(found.right)}"


def _indented(program: str) -> str:
    return "".join(f"  {line}\n" for line in program.splitlines())
