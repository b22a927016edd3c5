"""
Runs passes on a module: times them, prints the IR between them, verifies, and turns a failure into a report.

A DiagnosticError raised by a pass is a user error and propagates unchanged. Any other exception is a compiler bug:
`PassFailure` names the pass and the operation, and holds the path of a reproducer.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from traceback import walk_tb
from types import TracebackType
from typing import TextIO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException, PassFailedException, VerifyException

from ...dialects.support.kernel import AFTER, PROGRAM
from ...hlo_dialect.diagnostics import Diagnostic, DiagnosticError, applied_in, file_location, location_near
from ...hlo_dialect.hlo_pass import HloPass
from ...hlo_dialect.limits import check_limits
from ...hlo_dialect.printing import print_module, print_operation
from ...hlo_dialect.verification import verify_module
from ...hlo_dialect.walking import Survey
from .ir_dumps import NOTHING, Dumps, PrintIR, Statistics, count_operations, difference
from .nesting import AnyPass, NestedPass
from .pipelines import LOWERING, pipeline_text
from .timing import Timing


class PassFailure(Exception):
    """A compiler bug in a pass; the message names the pass and the operation, and tells how to reproduce it."""

    def __init__(self, pass_name: str, message: str, reproducer: Path | None = None):
        self.pass_name = pass_name
        self.reproducer = reproducer
        lines = [message]
        if reproducer is not None:
            from .reproducer import repeat_command

            lines.append(f"the module before the pass is in {reproducer}; repeat with: {repeat_command(reproducer)}")
        super().__init__("\n".join(lines))


@dataclass
class PassManager:
    """Runs `passes` in order; the module is changed in place."""

    ctx: Context
    passes: Sequence[AnyPass]
    verify_each: bool = False
    verify_end: bool = True
    print_ir: PrintIR = NOTHING
    to_text: Callable[[Operation], str] = print_operation
    """Prints the IR between the passes."""
    output: TextIO | None = None
    """The stream to print to; standard error if None."""
    timing: Timing = field(default_factory=Timing)
    statistics: Statistics | None = None
    """Where to count the operations around each pass."""
    debugged: frozenset[str] = frozenset()
    """The passes whose work to describe on the stream."""
    current: str = ""
    """The name of the pass that runs."""
    restore: Callable[[], ModuleOp] | None = None
    """Recreates the pipeline's input, to write a reproducer; without it a failure leaves none."""
    reproducer: Path | None = None
    """Where to write the reproducer; if given, user errors leave one too."""
    survey: Survey | None = None
    """The operations of the module as it is now, if someone has looked since it changed."""
    watch: Callable[[str, ModuleOp], None] | None = None
    """Called after each pass with its name; what it raises ends the run."""

    def run(self, module: ModuleOp) -> None:
        """Raises DiagnosticError (a user error) or PassFailure (a compiler bug)."""
        if self.passes:
            self.survey = self.survey or Survey.of(module)
            check_limits(module, self.survey)
        for index, one in enumerate(self.passes):
            self._run_pass(index, one, module)
            if self.watch is not None:
                self.watch(one.name, module)
        if self.verify_end and not self.verify_each and self.passes:
            with self.timing.stage("verify"):
                self._verify_end(module)

    # One pass --------------------------------------------------------------------------------------------------

    def _run_pass(self, index: int, one: AnyPass, module: ModuleOp) -> None:
        self.current = one.name
        for target in one.targets(module) if isinstance(one, NestedPass) else (module,):
            self._run_on(index, one, module, target)
        if self.verify_each or is_foreign(type(innermost(one))):
            self._verify_after(index, module)

    def _run_on(self, index: int, one: AnyPass, module: ModuleOp, target: Operation) -> None:
        """Run a pass on one operation: the module, or one inside it."""
        dumps = None if self.print_ir is NOTHING else Dumps(self.print_ir, self.to_text, self.output)
        if dumps is not None:
            dumps.before(one.name, target)
        counted = self.statistics is not None or one.name in self.debugged
        before = count_operations(target) if counted else None
        applied = applied_in(self.ctx)
        applied.clear()
        start = time.perf_counter()
        try:
            with self.timing.stage(one.name):
                if isinstance(one, NestedPass):
                    self.survey = None
                    target = one.apply_to(self.ctx, target)
                else:
                    self._apply(one, index, module)
        except (DiagnosticError, PassFailedException, MemoryError, RecursionError) as error:
            if dumps is not None:
                dumps.after_failure(one.name, target)
            self._leave_requested_reproducer(index, error)
            raise self._user_error(one, module, error) from error
        except Exception as error:
            if dumps is not None:
                dumps.after_failure(one.name, target)
            self._verify_each_again()
            raise self._failure(index, error, module, where=operation_in(error.__traceback__)) from error
        if one.name in LOWERING and PROGRAM in module.attributes:
            module.attributes[AFTER] = _stated(one.name)
        if before is not None:
            self._count(one.name, before, count_operations(target), time.perf_counter() - start)
        if dumps is not None:
            dumps.after(one.name, target)

    def _apply(self, one: ModulePass, index: int, module: ModuleOp) -> None:
        survey, self.survey = self.survey, None
        if isinstance(one, HloPass):
            previous = self.passes[index - 1] if index else None
            previous = None if isinstance(previous, NestedPass) else previous
            self.survey = one.apply_after(previous, self.ctx, module, survey)
        else:
            one.apply(self.ctx, module)

    def _count(self, name: str, before: Counter[str], after: Counter[str], seconds: float) -> None:
        if self.statistics is not None:
            self.statistics.record(name, before, after, applied_in(self.ctx))
        if name in self.debugged:
            changes = "".join(f" {count:+} {op}" for op, count in difference(before, after).items()) or " no change"
            done = f"{before.total()} operations before, {after.total()} after,{changes}, {seconds * 1e3:.2f} ms"
            print(f"[{name}] {done}", file=self.output or sys.stderr)

    def _user_error(self, one: AnyPass, module: ModuleOp, error: BaseException) -> DiagnosticError:
        match error:
            case DiagnosticError():
                return error
            case MemoryError():
                message = f"out of memory in pass '{one.name}'"
            case RecursionError():
                message = f"the program is nested too deeply for pass '{one.name}'"
            case _:
                message = f"pass '{one.name}': {error}"
        where = operation_in(error.__traceback__)
        return DiagnosticError(Diagnostic("error", message, location_near(module if where is None else where)))

    # Verification ----------------------------------------------------------------------------------------------

    def _verify_after(self, index: int, module: ModuleOp) -> None:
        try:
            with self.timing.stage("verify"):
                verify_module(module)
        except DiagnosticError as error:
            Dumps(self.print_ir, self.to_text, self.output).after_failure(self.current, module)
            raise self._failure(index, error, module, where=None, invalid=True) from error

    def _verify_end(self, module: ModuleOp) -> None:
        try:
            verify_module(module)
        except DiagnosticError as error:
            self._verify_each_again()
            raise self._failure(len(self.passes) - 1, error, module, where=None, invalid=True) from error

    def _verify_each_again(self) -> None:
        """Run the pipeline again, to report the first pass that leaves an invalid module."""
        if self.restore is not None and not self.verify_each:
            again = PassManager(self.ctx, self.passes, verify_each=True, restore=self.restore)
            again.reproducer = self.reproducer
            again.run(self.restore())

    # Failures --------------------------------------------------------------------------------------------------

    def _failure(
        self, index: int, error: Exception, module: ModuleOp, where: Operation | None, invalid: bool = False
    ) -> PassFailure | DiagnosticError:
        """The report of a failure: a bug of ours, or an error if the pass is one of xDSL's, which we cannot mend."""
        name = self.passes[index].name
        if invalid:
            message = f"the module is invalid after pass '{name}': {_first_error(error)}"
        else:
            kind = "" if isinstance(error, (DiagnosticException, VerifyException)) else f"{type(error).__name__}: "
            message = f"pass '{name}' failed: {kind}{error}"
        if type(innermost(self.passes[index])).__module__.startswith("xdsl."):
            location = location_near(module if where is None else where)
            return DiagnosticError(Diagnostic("error", f"{message} (the pass is xDSL's)", location))
        if where is not None:
            message += f"\nat {describe_operation(where)}"
        return PassFailure(name, message, self._write_reproducer(index, message.splitlines()[0]))

    def _leave_requested_reproducer(self, index: int, error: BaseException) -> None:
        if self.reproducer is not None:
            self._write_reproducer(index, f"pass '{self.passes[index].name}': {error}")

    def _write_reproducer(self, index: int, reason: str) -> Path | None:
        """
        Write the module before pass `index`, and the pipeline from there.

        No copy is kept while passes run: the input is recreated and run up to that pass. If that fails, the reproducer
        holds the input and all passes.
        """
        if self.restore is None:
            return None
        from .reproducer import reproducer_text, write_reproducer

        try:
            module = self.restore()
            for one in self.passes[:index]:
                one.apply(self.ctx, module)
            text, passes = print_module(module, locations=True), self.passes[index:]
        except Exception:
            text, passes = print_module(self.restore(), locations=True), self.passes
        return write_reproducer(reproducer_text(text, pipeline_text(passes), reason), self.reproducer)


@cache
def _stated(name: str) -> StringAttr:
    """A pass's name as an attribute."""
    return StringAttr(name)


def innermost(one: AnyPass) -> ModulePass:
    """The pass itself, without the anchors around it."""
    return one.inner if isinstance(one, NestedPass) else one


def is_foreign(pass_type: type[ModulePass]) -> bool:
    """Whether a pass is neither ours nor xDSL's: what it leaves is always verified."""
    return not pass_type.__module__.startswith(_OWN_MODULES)


_OWN_MODULES = (__name__.partition(".passes.")[0] + ".", "xdsl.")


def _first_error(error: Exception) -> str:
    if isinstance(error, DiagnosticError) and error.diagnostics:
        more = len(error.diagnostics) - 1
        return error.diagnostics[0].message + (f" (and {more} more)" if more else "")
    return str(error)


def operation_in(traceback: TracebackType | None) -> Operation | None:
    """The operation that the innermost frame worked on: its local `op`, else any operation among its locals."""
    found: Operation | None = None
    for frame, _ in walk_tb(traceback):
        values = frame.f_locals
        preferred = values.get("op")
        if isinstance(preferred, Operation) and not isinstance(preferred, ModuleOp):
            found = preferred
        else:
            held = (v for v in values.values() if isinstance(v, Operation) and not isinstance(v, ModuleOp))
            found = next(held, found)
    return found


def describe_operation(op: Operation) -> str:
    """`'hlo.add' op (model.mlir:3:8)`."""
    location = file_location(op.location)
    where = f" ({location.filename.data}:{location.line.data}:{location.column.data})" if location else ""
    return f"'{op.name}' op{where}"
