"""The level of a module: how far it is on its way through the pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import StringAttr

from ...dialects.support.kernel import AFTER
from ...hlo_dialect.ops.fusion import FusionOp
from ...hlo_dialect.walking import operations_in
from ...passes.manager.pipelines import FRONT

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

_LINALG = ("linalg.", "linalg_ext.")


def level_of(module: ModuleOp) -> str:
    """
    The name of the last pass that the module has been through; empty at the level of hlo.

    Passes from outline-kernels on leave it as an attribute. Without that, fusions and operations of linalg show the
    level; a module of memrefs or of llvm without it is taken as it is. Fusions of another compiler show nothing.
    """
    after = module.attributes.get(AFTER)
    if isinstance(after, StringAttr):
        return after.data
    level = ""
    for op in operations_in(module):
        if op.name.startswith(_LINALG):
            return "convert-hlo-to-linalg"
        if type(op) is FusionOp and op.kind.data != "kept":
            level = FRONT[-1]
    return level
