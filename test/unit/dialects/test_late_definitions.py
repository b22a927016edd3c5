"""Operations whose definitions wait are as xDSL defines them. Each question is asked in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from xhlo.dialects.support.late_definitions import OURS

DESCRIBE = """
import json, sys
from xdsl.context import Context
if sys.argv[1] == "late":
    from xhlo.dialects.support import late_definitions
    late_definitions.define_late()
import xdsl.irdl
from xdsl.parser import Parser
from xdsl.dialects import arith, builtin, func, linalg, llvm, math, memref, scf, tensor, vector
from xhlo.hlo_dialect.ops import control_flow, convolution, elementwise_unary, reduction

DEFINED = {"traits", "get_irdl_definition"}

def operations(module):
    found = (value for value in vars(module).values() if isinstance(value, type))
    return [each for each in found if issubclass(each, xdsl.irdl.IRDLOperation) and DEFINED <= vars(each).keys()]

modules = [arith, llvm, linalg.ops, math, memref, scf, tensor, vector]
modules += [control_flow, convolution, elementwise_unary, reduction]
classes = [cls for module in modules for cls in operations(module)]
waiting = len(late_definitions._waiting) if sys.argv[1] == "late" else 0
ctx = Context()
for dialect in (builtin.Builtin, arith.Arith, func.Func):
    ctx.load_dialect(dialect)
# A format, before anything has asked for the definition.
text = "func.func @f(%x: i32) -> i32 { %0 = arith.addi %x, %x : i32  func.return %0 : i32 }"
printed = str(Parser(ctx, text).parse_module())
told = {}
for cls in classes:
    traits = sorted(type(trait).__name__ for trait in cls.traits)
    stated = cls.get_irdl_definition()
    assert cls.get_irdl_definition() is stated and stated.traits is cls.traits
    told[f"{cls.__module__}.{cls.__qualname__}"] = [
        traits,
        *([f"{name}: {type(each).__name__} {each}" for name, each in part] for part in (stated.operands, stated.results)),
        *(sorted(f"{name}: {each}" for name, each in part.items()) for part in (stated.properties, stated.attributes)),
        [name for name, _ in (*stated.regions, *stated.successors)],
        sorted(f"{name} {type(each).__name__}" for name, each in vars(cls).items() if not name.startswith("__")),
    ]
print(json.dumps([waiting, printed, told]))
"""


def described(when: str) -> Any:
    run = subprocess.run([sys.executable, "-c", DESCRIBE, when], capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


@pytest.mark.long
def test_definitions_are_the_same_late_and_at_once() -> None:
    none, *at_once = described("at once")
    waiting, *late = described("late")
    assert none == 0 and waiting > 200
    assert late == at_once


ELSEWHERE = """
import threading
from xhlo.dialects.support import late_definitions
late_definitions.define_late()
from xdsl.dialects import arith
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def
from xdsl.utils.exceptions import PyRDLOpDefinitionError

class Derived(arith.SignlessIntegerBinaryOperation):
    name = "test.derived"
try:
    @irdl_op_definition
    class Wrong(IRDLOperation):
        name = "test.wrong"
        mistake = 3
except PyRDLOpDefinitionError as error:
    print("refused", error)
assert irdl_op_definition(Derived) not in late_definitions._waiting
assert [name for name, _ in Derived.get_irdl_definition().operands] == ["lhs", "rhs"]

assert arith.MulfOp in late_definitions._waiting
found = []
begin = threading.Barrier(8)
def ask():
    begin.wait()
    found.append(arith.MulfOp.get_irdl_definition())
threads = [threading.Thread(target=ask) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(found) == 8 and len(set(map(id, found))) == 1 and arith.MulfOp not in late_definitions._waiting
"""


@pytest.mark.long
def test_other_packages_define_at_once_and_threads_agree() -> None:
    run = subprocess.run([sys.executable, "-c", ELSEWHERE], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("refused ") and "mistake" in run.stdout


MEANWHILE = """
from xhlo.dialects.support import late_definitions
late_definitions.define_late()
from xdsl.dialects import arith

class Handler:
    \"""Code that comes in between, as a signal's handler does, at the n-th call of a function of Python.\"""
    def __init__(self, place, asked):
        self.left, self.asked, self.found = place, asked, None
    def __call__(self, frame, event, argument):
        if event == "call":
            self.left -= 1
            if not self.left:
                sys.setprofile(None)
                self.found = self.asked.get_irdl_definition()

import sys
waiting = [each for each in late_definitions._waiting if issubclass(each, arith.SignlessIntegerBinaryOperation)]
for place, asked in enumerate(waiting, 1):
    handler = Handler(1 + 12 * place, asked)
    sys.setprofile(handler)
    definition = asked.get_irdl_definition()
    sys.setprofile(None)
    assert handler.found in (definition, None)
    assert [name for name, _ in definition.operands] == ["lhs", "rhs"], asked
"""


def test_a_handler_of_a_signal_may_need_what_is_being_defined() -> None:
    subprocess.run([sys.executable, "-c", MEANWHILE], check=True)


def test_only_modules_that_are_shipped_wait() -> None:
    assert all(each.endswith(".") for each in OURS), "a package whose name begins alike is another's"
