"""The program's own checks, evaluated after a run on the extra results that extract-checks made."""

from __future__ import annotations

from collections.abc import Sequence

from ...hlo_dialect.arrays import Array
from ...hlo_dialect.errors import Diagnostic
from .facts import Facts


def check_results(facts: Facts, extra: Sequence[Array]) -> None:
    """
    Evaluate the checks on `extra`, the outputs after the program's own. Raises CheckFailure for the first check that
    fails.
    """
    if not facts.checks:
        return
    from ...hlo_dialect.ops.check_calls import CheckFailure, run_check

    for check in facts.checks:
        actual, expected = (extra[place - facts.result_count] for place in check.results)
        message = run_check(check.kind, actual, expected, check.attributes)
        if message is not None:
            text = f"check.{check.kind} failed: {message}"
            raise CheckFailure(
                Diagnostic("error", text) if check.location is None else Diagnostic("error", text, check.location)
            )
