"""
How compiled code calls LAPACK by itself: the arguments of Fortran's routines, and the memory that a call needs.

A plan is for one matrix of the batch: rows become columns in the workspace, a routine is called, and its matrices
become rows again. The results are those of `lapack.py`, whose functions do the same in Python. Sizes of workspaces are
those that LAPACK's documentation states (https://netlib.org/lapack/explore-html), with room for blocks of 32 columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias

import numpy as np

from .call import CustomCall
from .lapack import TARGETS, letter, real_dtype
from .triangular import TRIANGULAR_SOLVE

BLOCK = 32
"""Columns that routines treat at once."""

ALIGNMENT = 64
"""Bytes to which the parts of a workspace are aligned."""

_OTHER = {"L": "U", "U": "L", "R": "L"}


class Where(Enum):
    """The owner of an argument's memory."""

    OPERAND = "operand"
    RESULT = "result"
    WORK = "work"


@dataclass(frozen=True)
class Memory:
    """An argument's memory for one matrix of the batch."""

    where: Where
    index: int
    """The number of the operand or result; of a part of the workspace, its first byte."""
    elements: int
    dtype: np.dtype[Any]
    skipped: int = 0
    """Elements before the argument."""

    @property
    def nbytes(self) -> int:
        """Bytes of one matrix."""
        return self.elements * self.dtype.itemsize


@dataclass(frozen=True)
class Move:
    """A copy; with `rows`, of a matrix of so many rows that becomes one of columns."""

    source: Memory
    target: Memory
    rows: int = 0


@dataclass(frozen=True)
class Clear:
    """Zeros in a result."""

    target: Memory


@dataclass(frozen=True)
class Pair:
    """
    Complex eigenvectors from those that LAPACK gives for a real matrix of n rows, where a pair of conjugates is a real
    and an imaginary part; `imaginary` has the imaginary parts of the eigenvalues.
    """

    source: Memory
    target: Memory
    imaginary: Memory
    n: int


Step: TypeAlias = "Move | Clear | Pair"
Argument: TypeAlias = "str | int | float | Memory | None"


@dataclass
class Plan:
    """The work on each matrix of a call's batch."""

    routine: str
    """Fortran's name of it, without an underscore."""
    batch: int
    dtype: np.dtype[Any]
    before: list[Step] = field(default_factory=list[Step])
    arguments: list[Argument] = field(default_factory=list[Argument])
    """A str is a character, an int an INTEGER, a float a number of the matrices' type, None a null pointer."""
    after: list[Step] = field(default_factory=list[Step])
    finite: Memory | None = None
    """A matrix that must be finite; else `info` is NOT_FINITE and the results are zeros, but for `spoiled`."""
    spoiled: list[Step] = field(default_factory=list[Step])
    info: Memory | None = None
    nbytes: int = 0
    """Bytes of the workspace."""

    @property
    def elements(self) -> int:
        """Elements of the largest matrix that the routine takes or gives."""
        moves = [step for step in (*self.before, *self.after) if isinstance(step, Move)]
        memory = [*self.arguments, *(step.source for step in moves), *(step.target for step in moves)]
        matrices = (each for each in memory if isinstance(each, Memory) and each.where is not Where.WORK)
        return max((each.elements for each in matrices), default=0)


class _Planner:
    """Makes the plan of a call."""

    def __init__(self, call: CustomCall, routine: str, rank: int = 2):
        self.call = call
        shape = call.operands[0].shape
        self.core = shape[len(shape) - rank :]
        self.dtype = call.operands[0].dtype
        self.is_complex = self.dtype.kind == "c"
        self.real = real_dtype(self.dtype)
        letter_of = {"f4": "s", "f8": "d", "c8": "c", "c16": "z"}[self.dtype.str[1:]]
        self.plan = Plan(f"{letter_of}{routine}", math.prod(shape[: len(shape) - rank]), self.dtype)

    def operand(self, index: int, rank: int = 2) -> Memory:
        array = self.call.operands[index]
        return Memory(Where.OPERAND, index, math.prod(array.shape[len(array.shape) - rank :]), array.dtype)

    def result(self, index: int, rank: int = 2) -> Memory:
        array = self.call.results[index]
        return Memory(Where.RESULT, index, math.prod(array.shape[len(array.shape) - rank :]), array.dtype)

    def work(self, elements: int, dtype: Any = None) -> Memory:
        """A part of the workspace."""
        made = Memory(Where.WORK, self.plan.nbytes, max(1, elements), np.dtype(dtype or self.dtype))
        self.plan.nbytes += -(-made.nbytes // ALIGNMENT) * ALIGNMENT
        return made

    def sized(self, elements: int, dtype: Any = None) -> tuple[Memory, int]:
        """A part of the workspace and its size, as two arguments."""
        made = self.work(elements, dtype)
        return made, made.elements

    def load(self, index: int) -> Memory:
        """An operand's matrix by columns, in the workspace."""
        source = self.operand(index)
        area = self.work(source.elements)
        self.plan.before.append(Move(source, area, self.call.operands[index].shape[-2]))
        return area

    def copy(self, operand: int, result: int, rank: int = 2) -> Memory:
        """A result that begins as a copy of an operand."""
        target = self.result(result, rank)
        self.plan.before.append(Move(self.operand(operand, rank), target))
        return target

    def store(self, area: Memory, result: int) -> None:
        """A matrix by columns becomes a result by rows."""
        target = self.result(result)
        # A part of the workspace has one element where a matrix has none.
        if target.elements:
            self.plan.after.append(Move(area, target, self.call.results[result].shape[-1]))

    def finish(self, *arguments: Argument, info: int | None = None, has_info: bool = True) -> Plan:
        """The plan with the routine's arguments; `info`, the last one, is a result, or in the workspace."""
        if has_info:
            self.plan.info = self.work(1, np.int32) if info is None else self.result(info, 0)
        self.plan.arguments = [*arguments, *([self.plan.info] if has_info else [])]
        return self.plan


def _potrf(call: CustomCall) -> Plan:
    p = _Planner(call, "potrf")
    n = p.core[-1]
    return p.finish(_OTHER[letter(call, "uplo")], n, p.copy(0, 0), max(1, n), info=1)


def _getrf(call: CustomCall) -> Plan:
    p = _Planner(call, "getrf")
    m, n = p.core
    factors = p.load(0)
    p.store(factors, 0)
    return p.finish(m, n, factors, max(1, m), p.result(1, 1), info=2)


def _geqrf(call: CustomCall) -> Plan:
    p = _Planner(call, "geqrf")
    m, n = p.core
    factors = p.load(0)
    p.store(factors, 0)
    return p.finish(m, n, factors, max(1, m), p.result(1, 1), *p.sized(n * BLOCK))


def _geqp3(call: CustomCall) -> Plan:
    p = _Planner(call, "geqp3")
    m, n = p.core
    factors = p.load(0)
    p.store(factors, 0)
    reals = (p.work(2 * n, p.real),) if p.is_complex else ()
    given = (factors, max(1, m), p.copy(1, 1, 1), p.result(2, 1))
    return p.finish(m, n, *given, *p.sized(2 * n + (n + 1) * BLOCK), *reals)


def _orgqr(call: CustomCall) -> Plan:
    p = _Planner(call, "ungqr" if call.operands[0].dtype.kind == "c" else "orgqr")
    m, n = p.core
    columns = p.load(0)
    p.store(columns, 0)
    tau = p.operand(1, 1)
    return p.finish(m, n, tau.elements, columns, max(1, m), tau, *p.sized(n * BLOCK))


def _ormqr(call: CustomCall) -> Plan:
    p = _Planner(call, "unmqr" if call.operands[0].dtype.kind == "c" else "ormqr")
    m, n = call.operands[2].shape[-2:]
    q, c, tau = p.load(0), p.load(2), p.operand(1, 1)
    p.store(c, 0)
    left = call.attributes["left"]
    trans = ("C" if p.is_complex else "T") if call.attributes["transpose"] else "N"
    # Newer versions keep the triangular factors of their blocks, of up to 64 columns, in the workspace as well.
    work = p.sized((n if left else m) * BLOCK + 65 * 64)
    given = (q, max(1, p.core[0]), tau, c, max(1, m))
    return p.finish("L" if left else "R", trans, m, n, tau.elements, *given, *work)


def _singular_values(call: CustomCall, routine: str) -> Plan:
    p = _Planner(call, routine)
    (m, n), mode = p.core, letter(call, "mode")
    least, most = min(m, n), max(m, n)
    p.plan.finite = p.operand(0)
    p.plan.spoiled.append(Move(p.operand(0), p.result(0)))
    values, u, vt = p.load(0), p.work(p.result(2).elements), p.work(p.result(3).elements)
    p.store(values, 0)
    for area, result in ((u, 2), (vt, 3)):
        if mode == "N":
            p.plan.after.append(Clear(p.result(result)))
        else:
            p.store(area, result)
    shapes = [call.results[number].shape[-2] for number in (2, 3)]
    arrays = (m, n, values, max(1, m), p.result(1, 1), u, max(1, shapes[0]), vt, max(1, shapes[1]))
    work = p.sized(5 * least * least + 9 * least + most + 2 * BLOCK * (m + n))
    if routine == "gesvd":
        reals = (p.work(5 * least, p.real),) if p.is_complex else ()
        return p.finish(mode, mode, *arrays, *work, *reals, info=4)
    small = 7 * least if mode == "N" else max(5 * least * least + 5 * least, 2 * (most + least) * least + least)
    reals = (p.work(small, p.real),) if p.is_complex else ()
    return p.finish(mode, *arrays, *work, *reals, p.work(8 * least, np.int32), info=4)


def _gesdd(call: CustomCall) -> Plan:
    return _singular_values(call, "gesdd")


def _gesvd(call: CustomCall) -> Plan:
    return _singular_values(call, "gesvd")


def _syevd(call: CustomCall) -> Plan:
    p = _Planner(call, "heevd" if call.operands[0].dtype.kind == "c" else "syevd")
    n, mode, uplo = p.core[-1], letter(call, "mode"), letter(call, "uplo")
    if mode == "N":
        # By rows it is the conjugate, which has the same eigenvalues.
        vectors, uplo = p.copy(0, 0), _OTHER[uplo]
    else:
        vectors = p.load(0)
        p.store(vectors, 0)
    work = p.sized(2 * n + n * n + 1 + BLOCK * n if p.is_complex else 1 + 6 * n + 2 * n * n + BLOCK * n)
    reals = p.sized(1 + 5 * n + 2 * n * n, p.real) if p.is_complex else ()
    given = (mode, uplo, n, vectors, max(1, n), p.result(1, 1))
    return p.finish(*given, *work, *reals, *p.sized(3 + 5 * n, np.int32), info=2)


def _geev(call: CustomCall) -> Plan:
    p = _Planner(call, "geev")
    n = p.core[-1]
    size = max(1, n)
    p.plan.finite = p.operand(0)
    matrix, left, right = p.load(0), p.work(n * n), p.work(n * n)
    parts = [p.result(index, 1) for index in range(1 if p.is_complex else 2)]
    jobs = letter(call, "compute_left"), letter(call, "compute_right")
    for number, (area, job) in enumerate(zip((left, right), jobs, strict=True), len(parts)):
        if job == "N":
            p.plan.after.append(Clear(p.result(number)))
        elif p.is_complex:
            p.store(area, number)
        else:
            p.plan.after.append(Pair(area, p.result(number), parts[1], n))
    reals = (p.work(2 * n, p.real),) if p.is_complex else ()
    given = (matrix, size, *parts, left, size, right, size)
    return p.finish(*jobs, n, *given, *p.sized((4 + BLOCK) * n), *reals, info=len(parts) + 2)


def _gees(call: CustomCall) -> Plan:
    p = _Planner(call, "gees")
    n = p.core[-1]
    t, vectors, mode = p.load(0), p.work(n * n), letter(call, "mode")
    p.store(t, 0)
    if mode == "V":
        p.store(vectors, 1)
    else:
        p.plan.after.append(Clear(p.result(1)))
    parts = [p.result(2 + index, 1) for index in range(1 if p.is_complex else 2)]
    reals = (p.work(n, p.real),) if p.is_complex else ()
    given = (t, max(1, n), p.result(2 + len(parts), 0), *parts, vectors, max(1, n))
    work = (*p.sized((3 + BLOCK) * n), *reals, p.work(n, np.int32))
    return p.finish(mode, "N", None, n, *given, *work, info=3 + len(parts))


def _gehrd(call: CustomCall) -> Plan:
    p = _Planner(call, "gehrd")
    n = p.core[-1]
    h = p.load(0)
    p.store(h, 0)
    low, high = int(call.attributes["low"]), int(call.attributes["high"])
    return p.finish(n, low, high, h, max(1, n), p.result(1, 1), *p.sized(n * BLOCK + 65 * 64), info=2)


def _sytrd(call: CustomCall) -> Plan:
    p = _Planner(call, "hetrd" if call.operands[0].dtype.kind == "c" else "sytrd")
    n = p.core[-1]
    t = p.load(0)
    p.store(t, 0)
    vectors = [p.result(index, 1) for index in (1, 2, 3)]
    return p.finish(letter(call, "uplo"), n, t, max(1, n), *vectors, *p.sized(n * BLOCK), info=4)


def _gtsv(call: CustomCall) -> Plan:
    p = _Planner(call, "gtsv", rank=1)
    n, sides = call.operands[3].shape[-2:]
    lower, diagonal, upper = (p.copy(index, index, 1) for index in range(3))
    lower = Memory(lower.where, lower.index, lower.elements, lower.dtype, skipped=1)
    x = p.load(3)
    p.store(x, 3)
    return p.finish(n, sides, lower, diagonal, upper, x, max(1, n), info=4)


def _trsm(call: CustomCall) -> Plan:
    p = _Planner(call, "trsm")
    if call.target == TRIANGULAR_SOLVE:
        flags = call.attributes
        side, uplo = "L" if flags["left_side"] else "R", "L" if flags["lower"] else "U"
        trans = {"NO_TRANSPOSE": "N", "TRANSPOSE": "T", "ADJOINT": "C"}[flags["transpose_a"]]
        diag = "U" if flags["unit_diagonal"] else "N"
    else:
        side, uplo, trans, diag = (letter(call, name) for name in ("side", "uplo", "trans_x", "diag"))
    # By rows the system is the transposed one: nothing is copied to columns.
    m, n = call.operands[1].shape[-2:]
    x, a = p.copy(1, 0), p.operand(0)
    letters = ("R" if side == "L" else "L", _OTHER[uplo], trans, diag)
    return p.finish(*letters, n, m, 1.0, a, max(1, p.core[-1]), x, max(1, n), has_info=False)


_PLANS: Mapping[str, Callable[[CustomCall], Plan]] = {
    "potrf": _potrf,
    "getrf": _getrf,
    "geqrf": _geqrf,
    "geqp3": _geqp3,
    "orgqr": _orgqr,
    "ungqr": _orgqr,
    "ormqr": _ormqr,
    "unmqr": _ormqr,
    "gesdd": _gesdd,
    "gesvd": _gesvd,
    "syevd": _syevd,
    "heevd": _syevd,
    "geev": _geev,
    "gees": _gees,
    "gehrd": _gehrd,
    "sytrd": _sytrd,
    "hetrd": _sytrd,
    "gtsv": _gtsv,
    "trsm": _trsm,
}
"""The plans by the routines' names without the letter of the type."""

_OWN: Mapping[str, Callable[[CustomCall], Plan]] = {
    "Qr": _geqrf,
    "ProductOfElementaryHouseholderReflectors": _orgqr,
    TRIANGULAR_SOLVE: _trsm,
}

_BY_TARGET: Mapping[str, Callable[[CustomCall], Plan]] = {
    **{target.name: _PLANS[target.name.removeprefix("lapack_").removesuffix("_ffi")[1:]] for target in TARGETS},
    **_OWN,
}


def has_plan(target: str) -> bool:
    """Whether compiled code can call LAPACK for a target by itself."""
    return target in _BY_TARGET


def plan_of(call: CustomCall) -> Plan:
    """The plan of a call of one of these targets, whose operands and results have been checked."""
    return _BY_TARGET[call.target](call)
