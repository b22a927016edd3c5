"""Loops of unblocked: LAPACK's routines on one matrix at a time, for programs without LAPACK."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...dialects.linalg_ext.calls import UnblockedOp
from ...hlo_dialect.custom_calls.triangular import TRIANGULAR_SOLVE
from ..loop_nests.loop_builder import LoopBuilder
from .conversion import patterns
from .jacobi_lanes import Spectra, fits
from .unblocked.factors import getrf, gtsv, potrf, trsm
from .unblocked.job import Emission, Job, call_of_lapack
from .unblocked.orthogonal import gehrd, geqp3, geqrf, orgqr, ormqr, sytrd
from .unblocked.reflections import Reflections, reflects
from .unblocked.spectral import gees, geev, gesdd, syevd

_JOBS: Mapping[str, Callable[[Job], None]] = {
    "geqrf": geqrf,
    "Qr": geqrf,
    "geqp3": geqp3,
    "orgqr": orgqr,
    "ungqr": orgqr,
    "ProductOfElementaryHouseholderReflectors": orgqr,
    "ormqr": ormqr,
    "unmqr": ormqr,
    "gesdd": gesdd,
    "gesvd": gesdd,
    "syevd": syevd,
    "heevd": syevd,
    "geev": geev,
    "gees": gees,
    "gehrd": gehrd,
    "sytrd": sytrd,
    "hetrd": sytrd,
    "potrf": potrf,
    "getrf": getrf,
    "trsm": trsm,
    TRIANGULAR_SOLVE: trsm,
    "gtsv": gtsv,
}
"""The function that builds the loops of each routine."""


@patterns.on(UnblockedOp)
def _unblocked(op: UnblockedOp, builder: LoopBuilder) -> None:
    """`linalg_ext.unblocked {target = "lapack_dgeqrf_ffi", ..}` becomes a loop over matrices that calls functions."""
    call = call_of_lapack(op)
    if fits(call):
        spectra = Spectra(op, builder, call)
        if spectra.wide:
            spectra.emit()
            return
    if reflects(call):
        Reflections(op, builder, call).emit()
        return
    job = Job(call, rank=1 if call.target.endswith("gtsv_ffi") else 2)
    if 0 in call.operands[0].shape[: len(call.operands[0].shape) - job.rank]:
        return
    _JOBS[job.routine](job)
    rows, columns = (1, *job.core)[-2:]
    Emission(op, builder, job).emit(8 * rows * columns * max(rows, columns))
