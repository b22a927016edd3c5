"""Formats of operations that are read when they are used first."""

from __future__ import annotations

import pytest
from xdsl.irdl import IRDLOperation, irdl_op_definition
from xdsl.utils.exceptions import PyRDLOpDefinitionError

from xhlo.dialects.support.definitions import SHIPPED, LaterFormat, read_formats_late
from xhlo.hlo_dialect.dialect import dialect_names, make_context


def test_formats_of_known_dialects_are_read_when_they_are_used() -> None:
    read_formats_late()

    @irdl_op_definition
    class Later(IRDLOperation):
        name = "arith.later"
        assembly_format = "attr-dict"

    (found,) = (cell.cell_contents for cell in Later.print.__closure__ or ())
    assert isinstance(found, LaterFormat) and found._program is None  # pyright: ignore[reportPrivateUsage]
    assert str(Later()) == "arith.later"
    assert found._program is not None  # pyright: ignore[reportPrivateUsage]


def test_a_mistake_in_a_format_of_another_dialect_is_found_at_once() -> None:
    read_formats_late()
    with pytest.raises(PyRDLOpDefinitionError, match="assembly format"):

        @irdl_op_definition
        class Wrong(IRDLOperation):
            name = "mine.wrong"
            assembly_format = "$nothing attr-dict"


def test_every_format_that_is_read_late_is_right() -> None:
    context = make_context()
    known = set(SHIPPED).intersection(dialect_names())
    operations = [op for name in sorted(known) for op in context.get_dialect(name).operations]
    definitions_ = [op.get_irdl_definition() for op in operations if issubclass(op, IRDLOperation)]
    formats = [(each.assembly_format, each) for each in definitions_ if each.assembly_format is not None]
    assert len(formats) > 180 and known >= {"arith", "builtin", "cpu", "func", "linalg", "llvm", "memref", "scf"}
    for text, definition in formats:
        assert LaterFormat(text, definition).stmts is not None
