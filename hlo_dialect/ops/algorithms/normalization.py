"""
Batch normalization: features brought to mean 0 and variance 1, then scaled and shifted; and its gradient.

decompose-hlo replaces all three operations by simpler ones. Floats narrower than f32 are computed in f32.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import Float32Type, FloatAttr, IntegerAttr, IntegerType, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from ...numbers.number_semantics import convert, working
from ...op import HloOp, reject
from ...shapes import dims_agree, merge_dim, shape_text, shapes_agree, verify_results_agree
from ...types import Array, element_of, is_float, make_tensor, shape_of


class BatchNormOp(HloOp):
    """
    The base of the three operations: the constants, and the checks of constraint 1 and of the operands' types. It has
    no operands, since xDSL puts those of a base class last.
    """

    epsilon = prop_def(FloatAttr)
    feature_index = prop_def(IntegerAttr[IntegerType])
    traits = traits_def(Pure())

    @property
    def feature(self) -> int:
        """The dimension that has a mean and a variance for each index."""
        return self.feature_index.value.data

    def check_operands(self) -> None:
        """
        Check constraints 1 and 2 of the operands, and that all are floats: the operand of any rank, the others vectors.
        """
        operand = self.operands[0]
        element, rank = element_of(operand), len(shape_of(operand))
        if not is_float(element):
            reject(f"{self.mnemonic}_i1: operand has element type {element}, expected float")
        if not (0 <= self.feature < rank):
            reject(f"{self.mnemonic}_c1: feature_index {self.feature} is not in [0, {rank})")
        if not isinstance(self.epsilon.type, Float32Type):
            reject(f"{self.mnemonic}_i{len(self.operands) + 1}: epsilon has type {self.epsilon.type}, expected f32")
        for number, value in enumerate(self.operands[1:5], 2):
            if number == 5 and self.mnemonic == "batch_norm_grad":
                continue  # grad_output is shaped as the operand
            shape = shape_of(value)
            if len(shape) != 1:
                reject(f"{self.mnemonic}_i{number}: operand of shape {shape_text(shape)} is not 1-dimensional")
        self.check_elements(self.operands)

    def check_elements(self, values: Sequence[Any]) -> None:
        """Check constraint 2: all operands have one element type."""
        element = element_of(self.operands[0])
        for value in values:
            if element_of(value) != element:
                reject(
                    f"{self.mnemonic}_c2: a value of type {value.type} stands beside an operand of "
                    f"elements of {element}"
                )

    def check_size(self, number: int, name: str, value: Any) -> None:
        """Check that a vector has one element per feature."""
        size, wanted = shape_of(value)[0] if shape_of(value) else -2, shape_of(self.operands[0])[self.feature]
        if not (len(shape_of(value)) == 1 and dims_agree(size, wanted)):
            reject(f"{self.mnemonic}_c{number}: {name} has type {value.type}, the operand has {wanted} features")

    def features_type(self) -> Attribute:
        """The type of a vector with one element per feature; its size is merged from both operands."""
        operand = self.operands[0]
        return make_tensor(
            (merge_dim(shape_of(operand)[self.feature], shape_of(self.operands[1])[0]),), element_of(operand)
        )

    # -- reference ---------------------------------------------------------------------------------

    def spread(self, vector: Array, rank: int) -> Array:
        """Reshape a vector of features so that it broadcasts over the operand."""
        return vector.reshape([-1 if dim == self.feature else 1 for dim in range(rank)])

    def others(self, rank: int) -> tuple[int, ...]:
        """The dimensions other than the feature dimension."""
        return tuple(dim for dim in range(rank) if dim != self.feature)

    def epsilon_of(self, array: Array) -> Any:
        """epsilon in the type of an array."""
        return array.dtype.type(self.epsilon.value.data)

    def normalized(self, x: Array, scale: Array, offset: Array, mean: Array, variance: Array) -> Array:
        """(x - mean) * scale / sqrt(variance + epsilon) + offset."""
        factor = scale / np.sqrt(variance + self.epsilon_of(x))
        return (x - self.spread(mean, x.ndim)) * self.spread(factor, x.ndim) + self.spread(offset, x.ndim)


def count_of(shape: Sequence[int], feature: int) -> int:
    """The number of elements per feature."""
    return math.prod(size for dim, size in enumerate(shape) if dim != feature)


@irdl_op_definition
class BatchNormInferenceOp(BatchNormOp):
    """
    Normalize with a given mean and variance.

    Shapes: operand and result any, the others vectors with an element for each index of `feature_index`.
    Types: float (i1..i5), one type (c2). Raises: VerifyException naming batch_norm_inference_c1..c7, i1..i5.
    Spec:   https://openxla.org/stablehlo/spec#batch_norm_inference
    """

    name = "hlo.batch_norm_inference"
    operand = operand_def(TensorType)
    scale = operand_def(TensorType)
    offset = operand_def(TensorType)
    mean = operand_def(TensorType)
    variance = operand_def(TensorType)
    result = result_def(TensorType)

    def infer_types(self) -> tuple[Attribute, ...]:
        self.check_operands()
        for number, name in enumerate(("scale", "offset", "mean", "variance"), 3):
            self.check_size(number, name, self.operands[number - 2])
        return (self.operands[0].type,)

    def verify_(self) -> None:
        self.infer_types()
        self.check_elements(self.results)
        verify_results_agree(self, "batch_norm_inference_c7")

    def reference(self, *operands: Array) -> Array:
        x, scale, offset, mean, variance = (working(operand, wide=False) for operand in operands)
        return convert(self.normalized(x, scale, offset, mean, variance), operands[0].dtype)


@irdl_op_definition
class BatchNormTrainingOp(BatchNormOp):
    """
    Normalize with the mean and the variance of the operand, which are further results.

    Shapes: operand and output any, the others vectors with an element for each index of `feature_index`. The sizes of
    batch_mean and batch_var (c5, c6) are those of the inferred types.
    Types: float (i1..i3), one type (c2). Raises: VerifyException naming batch_norm_training_c1..c7, i1..i3.
    Spec:   https://openxla.org/stablehlo/spec#batch_norm_training
    """

    name = "hlo.batch_norm_training"
    operand = operand_def(TensorType)
    scale = operand_def(TensorType)
    offset = operand_def(TensorType)
    output = result_def(TensorType)
    batch_mean = result_def(TensorType)
    batch_var = result_def(TensorType)

    def infer_types(self) -> tuple[Attribute, ...]:
        self.check_operands()
        self.check_size(3, "scale", self.operands[1])
        self.check_size(4, "offset", self.operands[2])
        features = self.features_type()
        return (self.operands[0].type, features, features)

    def verify_(self) -> None:
        self.infer_types()
        self.check_elements(self.results)
        self.check_size(5, "batch_mean", self.results[1])
        self.check_size(6, "batch_var", self.results[2])
        verify_results_agree(self, "batch_norm_training_c7")

    def reference(self, *operands: Array) -> tuple[Array, ...]:
        x, scale, offset = (working(operand, wide=False) for operand in operands)
        others, count = self.others(x.ndim), x.dtype.type(count_of(x.shape, self.feature))
        mean = x.sum(axis=others) / count
        variance = np.square(x - self.spread(mean, x.ndim)).sum(axis=others) / count
        output = self.normalized(x, scale, offset, mean, variance)
        return tuple(convert(value, operands[0].dtype) for value in (output, mean, variance))


@irdl_op_definition
class BatchNormGradOp(BatchNormOp):
    """
    The gradients of batch_norm_training's operand, scale and offset, given that of its output.

    Shapes: operand, grad_output and grad_operand alike; the others vectors with an element for each index of
    `feature_index`.
    Types: float (i1..i5), one type (c2). Raises: VerifyException naming batch_norm_grad_c1..c5, i1..i4.
    Spec:   https://openxla.org/stablehlo/spec#batch_norm_grad
    """

    name = "hlo.batch_norm_grad"
    operand = operand_def(TensorType)
    scale = operand_def(TensorType)
    mean = operand_def(TensorType)
    variance = operand_def(TensorType)
    grad_output = operand_def(TensorType)
    grad_operand = result_def(TensorType)
    grad_scale = result_def(TensorType)
    grad_offset = result_def(TensorType)

    def infer_types(self) -> tuple[Attribute, ...]:
        self.check_operands()
        operand, scale, mean, variance, grad_output = self.operands
        if not shapes_agree(shape_of(operand), shape_of(grad_output)):
            reject(
                f"batch_norm_grad_c3: operand has shape {shape_text(shape_of(operand))}, "
                f"grad_output {shape_text(shape_of(grad_output))}"
            )
        self._check_vectors((scale, mean, variance))
        self.check_size(5, "scale", scale)
        features = self.features_type()
        return (operand.type, features, features)

    def _check_vectors(self, values: Sequence[Any]) -> None:
        scale = shape_of(self.operands[1])
        for value in values:
            if not shapes_agree(shape_of(value), scale):
                reject(
                    f"batch_norm_grad_c4: scale has shape {shape_text(scale)}, another vector "
                    f"{shape_text(shape_of(value))}"
                )

    def verify_(self) -> None:
        self.infer_types()
        self.check_elements(self.results)
        self._check_vectors(self.results[1:])
        verify_results_agree(self, "batch_norm_grad_c3")

    def reference(self, *operands: Array) -> tuple[Array, ...]:
        x, scale, mean, variance, grad = (working(operand, wide=False) for operand in operands)
        others, count = self.others(x.ndim), x.dtype.type(count_of(x.shape, self.feature))
        spread = variance + self.epsilon_of(x)
        deviation = np.sqrt(spread)
        centered = x - self.spread(mean, x.ndim)
        grad_sum = grad.sum(axis=others)
        product_sum = (grad * centered).sum(axis=others)
        inner = grad * count - self.spread(grad_sum, x.ndim) - centered * self.spread(product_sum / spread, x.ndim)
        grad_operand = inner * self.spread(scale / deviation / count, x.ndim)
        return tuple(convert(value, operands[0].dtype) for value in (grad_operand, product_sum / deviation, grad_sum))


OPS = (BatchNormInferenceOp, BatchNormTrainingOp, BatchNormGradOp)
