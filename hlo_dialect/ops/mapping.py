"""map: a function of scalars, applied to the elements of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, prop_def, region_def, result_def, traits_def, var_operand_def
from xdsl.traits import RecursiveMemoryEffect

from ..attributes import IntArray, ints
from ..op import RegionOp, RegionRunner, reject
from ..shapes import merge_dim, shape_text, shapes_agree, verify_results_agree
from ..types import Array, element_of, make_tensor, numpy_dtype, shape_of
from .constraints import scalar_types
from .control_flow import region_block, returned_types, types_text
from .reduction import is_elementwise_region


@irdl_op_definition
class MapOp(RegionOp):
    """
    `result[i] = computation(inputs[0][i], inputs[1][i], ..)`.

    Shapes: inputs and result of one shape; `dimensions` are all of them.
    Raises: VerifyException naming map_c1..c4.
    Spec:   https://openxla.org/stablehlo/spec#map
    """

    name = "hlo.map"
    READS_REGIONS: ClassVar[bool] = False
    inputs = var_operand_def(TensorType)
    dimensions = prop_def(IntArray)
    result = result_def(TensorType)
    computation = region_def()
    traits = traits_def(RecursiveMemoryEffect())

    def infer_types(self) -> tuple[Attribute, ...]:
        if len(self.operands) <= 0:
            reject("map_c2: there are no inputs")
        shape = shape_of(self.operands[0])
        for value in self.operands[1:]:
            other = shape_of(value)
            if not shapes_agree(shape, other):
                reject(f"map_c1: inputs have different shapes {shape_text(shape)} and {shape_text(other)}")
            shape = tuple(map(merge_dim, shape, other))
        dimensions = ints(self.dimensions)
        if dimensions != tuple(range(len(shape))):
            reject(f"map_c3: dimensions {dimensions} are not those of the inputs, {tuple(range(len(shape)))}")
        block = region_block(self.regions[0], "map_c4", "computation")
        given, returned = [argument.type for argument in block.args], returned_types(block)
        wanted = [make_tensor((), element_of(value)) for value in self.operands]
        if given != wanted or len(returned) != 1 or shape_of(returned[0]) != ():
            reject(
                f"map_c4: computation takes {types_text(given)} and returns {types_text(returned)}, expected "
                f"{types_text(wanted)} and one scalar"
            )
        return (make_tensor(shape, element_of(returned[0])),)

    def region_arguments(self, index: int) -> Sequence[Attribute]:
        return scalar_types(self.operands)

    def verify_(self) -> None:
        (inferred,) = self.infer_types()
        result = self.results[0]
        if element_of(result) != element_of(inferred):
            reject(f"map_c4: result has element type {element_of(result)}, computation returns {element_of(inferred)}")
        verify_results_agree(self, "map_c1")

    def reference_with_regions(self, run: RegionRunner, *operands: Array) -> Array:
        region, shape = self.regions[0], operands[0].shape
        if is_elementwise_region(region):
            return np.broadcast_to(run(region, *operands)[0], shape)
        result = np.empty(shape, numpy_dtype(element_of(self.result_types[0])))
        for place in np.ndindex(shape):
            result[place] = run(region, *(np.asarray(value[place]) for value in operands))[0]
        return result


OPS = (MapOp,)
