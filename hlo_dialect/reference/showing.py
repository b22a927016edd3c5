"""Tensors that test programs print, and keep to compare with: interpreter.print, interpreter.probe and their check."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...dialects.check import ExpectSerializedEqOp
from ...dialects.interpreter import PrintOp, ProbeOp
from ..diagnostics import Diagnostic, op_message
from ..ops.check_calls import CheckFailure
from ..printing.constants import dense_text
from ..types import Array, dense_constant, tensor_type
from .interpreter import Environment, Handler, Interpreter


class ShowingInterpreter(Interpreter):
    """The interpreter with what a program prints and keeps."""

    def __init__(self, module: ModuleOp, probes: dict[str, list[Array]] | None = None):
        super().__init__(module)
        self.probes: dict[str, list[Array]] = {} if probes is None else probes
        """The values that each probe has kept, one for each time that it ran."""

    def _handler(self, op: Operation) -> Handler | None:
        match op:
            case PrintOp():
                return _print
            case ProbeOp():
                return self._probe
            case ExpectSerializedEqOp():
                return self._expect
            case _:
                return super()._handler(op)

    def _probe(self, op: Operation, operands: tuple[Array, ...], environment: Environment) -> tuple[Array, ...]:
        assert isinstance(op, ProbeOp)
        self.probes.setdefault(op.probe_id.data, []).append(operands[0])
        return operands

    def _expect(self, op: Operation, operands: tuple[Array, ...], environment: Environment) -> tuple[Array, ...]:
        assert isinstance(op, ExpectSerializedEqOp)
        name, run, (expected,) = op.probe_id.data, op.run, operands
        kept = self.probes.get(name, [])
        if run >= len(kept):
            problem = f"the probe '{name}' has run {len(kept)} times, number {run} is asked for"
        elif (kept[run].dtype, kept[run].shape, kept[run].tobytes()) != (
            expected.dtype,
            expected.shape,
            expected.tobytes(),
        ):
            problem = f"the probe '{name}' kept {kept[run].tolist()} in run {run}, expected {expected.tolist()}"
        else:
            return ()
        raise CheckFailure(Diagnostic("error", op_message(op, problem), op.location))


def _print(op: Operation, operands: tuple[Array, ...], environment: Environment) -> tuple[Array, ...]:
    type_ = tensor_type(op.operands[0])
    name = op.operands[0].name_hint
    print(f"{f'%{name} = ' if name else ''}{type_} {dense_text(dense_constant(operands[0], type_))}", flush=True)
    return operands
