"""Loading the compiler, whose import is the larger part of a process's first compilation."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from ...hlo_dialect.file_scans import remember_in
from ...hlo_dialect.garbage_collector import paused_gc
from ..cache.kept import Kept
from ..cache.modules import kept_code

SCANS = Kept("scans")


@contextmanager
def compiler_start(*, kept: bool = False) -> Generator[None]:
    """
    Imports inside cost less: without the garbage collector (`kept`: see `paused_gc`), with the kept code of
    classes, with what the compiler's files say, and with formats that are read when they are used. Named operands and
    comparisons of operations cost less afterwards.
    """
    remember_in(SCANS)
    with paused_gc(kept=kept), kept_code():
        from ...dialects.support import definitions, late_definitions

        late_definitions.define_late()
        definitions.read_formats_late()
        definitions.read_names_directly()
        definitions.read_fields_directly()
        definitions.compare_operations_directly()
        yield
