"""Maps row kernels with products, such as attention, to launches that stream the elements of their rows."""

from __future__ import annotations

from collections.abc import Collection

from xdsl.dialects.builtin import Float32Type
from xdsl.ir import SSAValue

from ....dialects.gpu.nvgpu import bits_of
from ....dialects.gpu.plans import StreamedRows
from ...device.gpu import GpuChip
from ..contraction.tensor_cores import multiplies
from ..reduction.chain import temporaries_of
from ..threads.launch import KernelMapper, Launch
from ..threads.phases import Phase
from .analysis import streamed_form
from .form import NotStreamedError, RowProduct, StreamedForm
from .kernel import StreamedKernel
from .tiles import Layout


def map_streamed_rows(mapper: KernelMapper, phase: Phase) -> None:
    """Map a row kernel with products: to one launch, or two if products sum over the rows."""
    plan = phase.plans[0]
    assert isinstance(plan, StreamedRows)
    temporaries = temporaries_of(phase.ops, phase.nests()) if phase.is_structured else set[SSAValue]()
    try:
        form = streamed_form(phase, temporaries)
    except NotStreamedError as error:
        return phase.require(False, str(error))
    phase.require(form.sums is None or plan.then is not None, "a product sums over rows: it takes a plan, `then`")
    phase.require(form.sums is not None or plan.then is None, "no product sums over rows")
    for part, how in ((form, plan), (form.sums, plan.then)):
        if part is not None and isinstance(how, StreamedRows):
            problem = misfit(part, how, mapper.chip)
            phase.require(problem is None, problem or "")
    _launch(mapper, phase, temporaries, plan)
    if isinstance(plan.then, StreamedRows):
        _launch(mapper, phase, temporaries, plan.then, sums=True)


def _launch(
    mapper: KernelMapper, phase: Phase, temporaries: Collection[SSAValue], plan: StreamedRows, sums: bool = False
) -> None:
    launch = Launch(mapper, phase)
    form = streamed_form(launch.phase, {launch.mapping[buffer] for buffer in temporaries if buffer in launch.mapping})
    part = form.sums if sums else form
    assert part is not None
    StreamedKernel(launch, part, plan).emit()


def misfit(form: StreamedForm, plan: StreamedRows, chip: GpuChip) -> str | None:
    """Why a plan does not fit the form or the chip; None if it does."""
    if plan.tensor and not all(takes_tensor_cores(product, chip) for product in form.products):
        return f"{chip.name} has no tensor cores for these types"
    if not plan.tensor and not all(_sums_f32(product) for product in form.products):
        return "a product is not one of floats that are summed in f32"
    if plan.copies and not chip.has_async_copies:
        return f"{chip.name} has no asynchronous copies"
    size = Layout.of(form, plan).size
    if size > chip.shared_per_block:
        return f"{size} bytes of shared memory; a block of {chip.name} has {chip.shared_per_block}"
    return None


def takes_tensor_cores(product: RowProduct, chip: GpuChip) -> bool:
    """Whether NVIDIA's tensor cores multiply rows with a factor: f16 or bf16, summed in f32."""
    both = (product.row_conversions, product.factor.conversions)
    same = product.element == product.factor.element and bits_of(product.element) == 16
    return same and chip.has_tensor_cores and multiplies(product.element, both, product.total, chip)


def _sums_f32(product: RowProduct) -> bool:
    """Whether both factors are converted to f32, if they are not f32 already."""
    pairs = ((product.element, product.row_conversions), (product.factor.element, product.factor.conversions))
    types = [conversions[-1].results[0].type if conversions else element for element, conversions in pairs]
    return all(isinstance(type_, Float32Type) for type_ in (*types, product.total))
