"""The choices of a tuning file, as attributes of the operations that they are about."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp

from ..dialects.support.kernel import CONTRACTION, TILING, kernels_of
from ..hlo_dialect.diagnostics import fail
from ..hlo_dialect.hlo_pass import HloPass
from .convert_contractions_to_vector.tiling import attribute_of
from .device.tuning_file import Choice, TuningFileError, digest_of, key_of, parse, read_text


def products_of(kernel: func.FuncOp) -> list[GenericOp]:
    """The products of a kernel, in their order."""
    return [op for op in kernel.body.block.ops if isinstance(op, GenericOp) and CONTRACTION in op.attributes]


@dataclass(frozen=True)
class ApplyTuningPass(HloPass):
    """
    State what a tuning file chose for the kernels of a module.

    Before: `linalg.generic {.., xhlo.contraction} ..`
    After:  `linalg.generic {.., xhlo.contraction, xhlo.tiling = {rows = 8, vectors = 2, ..}} ..`
    Assumes: the level before convert-contractions-to-vector, where kernels have the keys that the file states. Kernels
             that it does not have for this machine, and products that state a tiling, are left alone.

    Without a file it removes the tilings that products state, so that the cost model decides.

    `digest` is the hash of the file, so that what is compiled with other choices is another program; `machine` is the
    name of the machine in the file.
    """

    name = "apply-tuning"
    takes_tensors = False

    file: str = ""
    digest: str = ""
    machine: str = ""

    def run(self, ctx: Context, module: ModuleOp) -> None:
        if not self.file:
            for kernel in kernels_of(module):
                for op in products_of(kernel):
                    op.attributes.pop(TILING, None)
            return
        path = Path(self.file)
        try:
            text = read_text(path)
            choices = parse(text, path).of(self.machine)
        except TuningFileError as error:
            fail(module, str(error))
        if self.digest and digest_of(text) != self.digest:
            fail(module, f"the tuning file {path} has changed since the compilation began")
        for kernel in kernels_of(module):
            products = [op for op in products_of(kernel) if TILING not in op.attributes]
            choice = choices.get(key_of(kernel)) if products else None
            if choice is not None:
                _apply(kernel, products, choice)


def _apply(kernel: func.FuncOp, products: list[GenericOp], choice: Choice) -> None:
    if len(products) != len(choice.tilings):
        fail(kernel, f"has {len(products)} products, but the tuning file states {len(choice.tilings)} tilings for it")
    for op, sizes in zip(products, choice.tilings, strict=True):
        if sizes:
            op.attributes[TILING] = attribute_of(sizes)
