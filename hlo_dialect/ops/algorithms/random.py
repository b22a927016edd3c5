"""
Random numbers: rng_bit_generator, which carries its state, and the older rng, which hides it.

`rng` draws from Philox-4x32. Its key is `RNG_SEED`, and its counters begin at 2**64 times its position among the rng
operations of its function: a program produces the same numbers each time it runs, an operation in a loop the same ones
in each iteration.
"""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar, cast

import numpy as np
from xdsl.dialects.builtin import IndexType, IntegerAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.dialects.utils.enum_attribute import EnumAttribute
from xdsl.ir import Attribute, Operation, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition, irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.str_enum import StrEnum

from ...attributes import int_attr
from ...diagnostics import fail
from ...numbers.number_semantics import round_to
from ...numbers.random_bits import philox_bits, threefry_bits
from ...op import reject
from ...shapes import dims_agree, shape_text, shapes_agree, types_agree
from ...syntax.keywords import KeywordOp, enumeration
from ...types import Array, bit_width, element_of, is_boolean, is_float, is_integer, numpy_dtype, shape_of
from ..constraints import check_static
from ..creation import constant_of

RNG_SEED = 0x5EED_0F_41_0A_11
"""The key of every rng operation."""


class RngAlgorithm(StrEnum):
    """The generator of random bits; DEFAULT is PHILOX here, as in XLA on CPUs."""

    DEFAULT = "DEFAULT"
    THREE_FRY = "THREE_FRY"
    PHILOX = "PHILOX"


class RngDistribution(StrEnum):
    """The distribution of the numbers of an rng."""

    UNIFORM = "UNIFORM"
    NORMAL = "NORMAL"


@irdl_attr_definition
class RngAlgorithmAttr(EnumAttribute[RngAlgorithm], SpacedOpaqueSyntaxAttribute):
    """`#hlo<rng_algorithm PHILOX>`"""

    name = "hlo.rng_algorithm"


@irdl_attr_definition
class RngDistributionAttr(EnumAttribute[RngDistribution], SpacedOpaqueSyntaxAttribute):
    """`#hlo<rng_distribution UNIFORM>`"""

    name = "hlo.rng_distribution"


@cache
def rng_algorithm(name: str) -> RngAlgorithmAttr:
    """The attribute of an algorithm, from a cache."""
    return RngAlgorithmAttr(RngAlgorithm(name))


@irdl_op_definition
class RngBitGeneratorOp(KeywordOp):
    """
    Random bits from a state, and the next state.

    Bits and states are those of XLA on CPUs (see random_bits.py): narrow elements are the low bits of 32-bit numbers,
    floats have random bits.

    Shapes: the state has 2 elements, with PHILOX 2 or 3 (DEFAULT is PHILOX); the output's shape is free.
    Raises: VerifyException naming rng_bit_generator_c1, _c2, _i2 or _o2.
    Spec:   https://openxla.org/stablehlo/spec#rng_bit_generator
    """

    name = "hlo.rng_bit_generator"
    initial_state = operand_def(TensorType)
    rng_algorithm = prop_def(RngAlgorithmAttr)
    output_state = result_def(TensorType)
    output = result_def(TensorType)
    traits = traits_def(Pure())
    KEYWORDS: ClassVar = (enumeration("algorithm", "rng_algorithm", RngAlgorithmAttr),)

    @property
    def is_threefry(self) -> bool:
        return self.rng_algorithm.data is RngAlgorithm.THREE_FRY

    @property
    def has_vector_state(self) -> bool:
        """Whether the state is a vector of ui64; upstream takes others, which the specification gives no meaning."""
        return len(shape_of(self.operands[0])) == 1 and numpy_dtype(element_of(self.operands[0])) == np.uint64

    def refuse_other_states(self) -> None:
        """Raise DiagnosticError for a state that has no meaning."""
        if not self.has_vector_state:
            fail(self, f"cannot run with a state of type {self.operands[0].type}, only with a vector of ui64")

    def infer_types(self) -> tuple[Attribute, ...]:
        return (self.operands[0].type, self.results[1].type)

    def verify_(self) -> None:
        state, shape = self.operands[0].type, shape_of(self.operands[0])
        if not (is_integer(element_of(state)) or is_float(element_of(state))):
            reject(f"rng_bit_generator_i2: initial_state has type {state}, expected integers or floats")
        if not types_agree(state, self.results[0].type):
            reject(f"rng_bit_generator_c1: output_state has type {self.results[0].type}, initial_state {state}")
        allowed = (2,) if self.is_threefry else (2, 3)
        if self.has_vector_state and not any(dims_agree(shape[0], size) for size in allowed):
            reject(
                f"rng_bit_generator_c2: initial_state has {shape[0]} elements, "
                f"{self.rng_algorithm.data.value} takes {' or '.join(map(str, allowed))}"
            )
        check_static("rng_bit_generator_o2", self.results[1])
        element = element_of(self.results[1])
        if not (is_integer(element) or is_float(element)):
            reject(f"rng_bit_generator_o2: output has element type {element}, expected integer or float")

    def reference(self, *operands: Array) -> tuple[Array, Array]:
        self.refuse_other_states()
        shape, element = shape_of(self.results[1]), element_of(self.results[1])
        dtype: Any = numpy_dtype(element)
        width = bit_width(element)
        generate = threefry_bits if self.is_threefry else philox_bits
        state, bits = generate(operands[0], shape, width)
        if width < 8:
            return state, (bits & np.uint32((1 << width) - 1)).astype(np.uint8).view(dtype)
        return state, bits.astype(f"u{dtype.itemsize}").view(dtype)


_POSITION = "xhlo.rng_position"
"""The attribute that `number_rngs` sets on an rng operation."""


def _rngs(op: Operation) -> list[Operation]:
    """The rng operations in the function of this one."""
    function: Operation | None = op
    while function is not None and not isinstance(function, FuncOp):
        function = function.parent_op()
    return [op] if function is None else [other for other in function.walk() if isinstance(other, RngOp)]


def number_rngs(op: Operation) -> None:
    """Store on each rng operation of this one's function its position, which then survives the removal of others."""
    for position, other in enumerate(_rngs(op)):
        other.attributes.setdefault(_POSITION, int_attr(position))


@irdl_op_definition
class RngOp(KeywordOp):
    """
    Random numbers: uniform in [a, b), or normal with mean a and standard deviation b.

    The numbers are the implementation's choice: see the top of this file. An empty uniform distribution (a >= b)
    returns a.

    Shapes: a and b scalars, shape a vector of the result's dimensions.
    Raises: VerifyException naming rng_c1..c3 or rng_i1..i3.
    Spec:   https://openxla.org/stablehlo/spec#rng
    """

    name = "hlo.rng"
    READS_CONSTANTS: ClassVar[bool] = True
    COMPUTES: ClassVar[bool] = True
    a = operand_def(TensorType)
    b = operand_def(TensorType)
    shape = operand_def(TensorType)
    rng_distribution = prop_def(RngDistributionAttr)
    result = result_def(TensorType)
    KEYWORDS: ClassVar = (enumeration("distribution", "rng_distribution", RngDistributionAttr),)

    @property
    def is_normal(self) -> bool:
        return self.rng_distribution.data is RngDistribution.NORMAL

    @property
    def state(self) -> Array:
        """Key and counter of the first element."""
        known = self.attributes.get(_POSITION)
        position = _rngs(self).index(self) if known is None else cast("IntegerAttr[Any]", known).value.data
        return np.array([RNG_SEED, 0, position], np.uint64)

    def infer_types(self) -> tuple[Attribute, ...]:
        return (self.results[0].type,)

    def verify_(self) -> None:
        element = element_of(self.results[0])
        for number, (name, value) in enumerate((("a", self.operands[0]), ("b", self.operands[1])), 1):
            if shape_of(value) != ():
                reject(f"rng_i{number}: {name} of type {value.type} is no scalar")
            if element_of(value) != element:
                reject(f"rng_c1: {name} has element type {element_of(value)}, the result {element}")
        if not (is_integer(element) or is_boolean(element) or is_float(element)):
            reject(f"rng_i1: elements of type {element}, expected integer, boolean or float")
        if not (not self.is_normal or is_float(element)):
            reject(f"rng_c2: a normal distribution of {element}, expected float")
        self._verify_shape()

    def _verify_shape(self) -> None:
        given, shape = self.operands[2], shape_of(self.results[0])
        integers = is_integer(element_of(given)) or isinstance(element_of(given), IndexType)
        if not (len(shape_of(given)) == 1 and integers):
            reject(f"rng_i3: shape has type {given.type}, expected a vector of integers")
        known = constant_of(given)
        sizes = None if known is None else tuple(int(size) for size in known)
        if not (dims_agree(shape_of(given)[0], len(shape)) and (sizes is None or shapes_agree(sizes, shape))):
            reject(
                f"rng_c3: the result has shape {shape_text(shape)}, shape "
                f"{'has ' + shape_text(shape_of(given)) + ' elements' if sizes is None else 'is ' + shape_text(sizes)}"
            )

    def reference(self, *operands: Array) -> Array:
        a, b, shape = operands
        dims = tuple(int(size) for size in shape)
        dtype = a.dtype
        if not is_float(element_of(self.results[0])):
            return _uniform_integers(self.state, a, b, dims)
        compute: Any = np.float64 if dtype == np.float64 else np.float32
        first, second = a.astype(compute), b.astype(compute)
        if self.is_normal:
            drawn = _uniform(self.state, (2, *dims), compute)
            radius = np.sqrt(compute(-2) * np.log(compute(1) - drawn[0]))
            return round_to(radius * np.cos(compute(2 * np.pi) * drawn[1]) * second + first, dtype)
        value = _uniform(self.state, dims, compute) * (second - first) + first
        # Rounding may give the end of the interval, which is excluded.
        rounded = round_to(value, dtype)
        return np.where((rounded >= b) | (a >= b), a, rounded)


def _uniform(state: Array, shape: tuple[int, ...], dtype: Any) -> Array:
    """Floats in [0, 1): multiples of 2**-24 or 2**-53."""
    width, kept = (64, 53) if dtype == np.float64 else (32, 24)
    bits = philox_bits(state, shape, width)[1]
    return (bits >> bits.dtype.type(width - kept)).astype(dtype) * dtype(2.0**-kept)


def _uniform_integers(state: Array, a: Array, b: Array, shape: tuple[int, ...]) -> Array:
    """Integers in [a, b) by remainders, with a bias of the range over 2**32 or 2**64."""
    if a.dtype == np.bool_:
        return np.broadcast_to(a, shape)
    bits = philox_bits(state, shape, 64 if a.dtype.itemsize == 8 else 32)[1]
    if int(a) >= int(b):
        return np.broadcast_to(a, shape)
    drawn = bits % bits.dtype.type(int(b) - int(a))
    wide = drawn + np.array(int(a) % (1 << (8 * bits.dtype.itemsize)), bits.dtype)
    if a.dtype.kind in "iu":
        return wide.astype(f"u{a.dtype.itemsize}").view(a.dtype)
    return wide.astype(np.int8).astype(a.dtype)


OPS = (RngBitGeneratorOp, RngOp)
ATTRIBUTES = (RngAlgorithmAttr, RngDistributionAttr)
