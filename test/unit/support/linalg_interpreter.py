"""
A NumPy interpreter of linalg on tensors, scf and func: the oracle for convert-hlo-to-linalg and fuse-linalg.

A generic runs over all its parallel points at once and over its reduction points one after the other. Operations that
arith leaves undefined (division by zero, shifts past the width, conversions out of range, reads out of bounds) are
errors here, so that a lowering that relies on it fails its test. Integers are signless: NumPy's signed ones, i1 is bool.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from xhlo.hlo_dialect.numbers import scalar_operations
from xhlo.hlo_dialect.numbers.scalar_operations import scalar_function, undefined
from xhlo.hlo_dialect.types import constant_array, numpy_dtype

Env = dict[SSAValue, Any]
BF16 = np.dtype(ml_dtypes.bfloat16)


def dtype_of(type_: Any) -> np.dtype[Any]:
    """The NumPy dtype of a scalar type; index is int64."""
    found = np.dtype(np.int64) if isinstance(type_, IndexType) else numpy_dtype(type_)
    assert found is not None, f"no dtype for {type_}"
    assert found.kind != "u", "types are signless at this level"
    return found


def signless_array(array: Any) -> Any:
    """The same bits as a signed array, where the array is unsigned."""
    array = np.asarray(array)
    return array.view(f"i{array.dtype.itemsize}") if array.dtype.kind == "u" else array


def interpret(module: ModuleOp, inputs: Sequence[Any], entry: str = "main") -> tuple[Any, ...]:
    """The results of a function on arrays; unsigned inputs are taken by their bits."""
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    with np.errstate(all="ignore"):
        return Interpreter(functions).call(entry, [signless_array(array) for array in inputs])


class Interpreter:
    """Runs functions. `env` maps values to arrays; in a generic's body elements are arrays over the parallel points."""

    def __init__(self, functions: dict[str, FuncOp]):
        self.functions = functions
        self.grid: list[Any] = []
        """Inside a generic's body: the position along each dimension."""

    def call(self, name: str, arguments: Sequence[Any]) -> tuple[Any, ...]:
        function = self.functions[name]
        for type_, array in zip(function.function_type.inputs, arguments, strict=True):
            assert type_.get_shape() == array.shape and dtype_of(type_.element_type) == array.dtype, (type_, array)
        return self.block(function.body.block, arguments, {})

    def block(self, block: Block, arguments: Sequence[Any], outer: Env) -> tuple[Any, ...]:
        """Run a block; the operands of its terminator."""
        env = dict(outer)
        env.update(zip(block.args, arguments, strict=True))
        for op in block.ops:
            operands = [env[operand] for operand in op.operands]
            if op is block.last_op:
                return tuple(operands)
            results = self.run(op, operands, env)
            for result, array in zip(op.results, results, strict=True):
                _check_type(result, array)
                env[result] = array
        return ()

    def run(self, op: Operation, operands: list[Any], env: Env) -> Sequence[Any]:
        structured = getattr(self, op.name.replace(".", "_"), None)
        if structured is not None:
            return structured(op, operands, env)
        if op.name == "arith.constant":
            return [_constant(op)]
        if op.name == "linalg.index":
            return [self.grid[op.properties["dim"].value.data]]  # pyright: ignore
        return [np.asarray(_scalar(op, operands)).astype(dtype_of(op.results[0].type), copy=False)]

    # -- functions and control flow ----------------------------------------------------------------

    def func_call(self, op: Any, operands: list[Any], env: Env) -> Sequence[Any]:
        return self.call(op.callee.string_value(), operands)

    def scf_while(self, op: Any, state: Sequence[Any], env: Env) -> Sequence[Any]:
        while True:
            go, *state = self.block(op.before_region.block, state, env)
            if not go:
                return state
            state = self.block(op.after_region.block, state, env)

    def scf_if(self, op: Any, operands: list[Any], env: Env) -> Sequence[Any]:
        return self.block((op.true_region if operands[0] else op.false_region).block, (), env)

    def scf_index_switch(self, op: Any, operands: list[Any], env: Env) -> Sequence[Any]:
        cases = list(op.cases.get_values())
        index = int(operands[0])
        region = op.case_regions[cases.index(index)] if index in cases else op.default_region
        return self.block(region.block, (), env)

    # -- tensors -----------------------------------------------------------------------------------

    def tensor_empty(self, op: Any, operands: list[Any], env: Env) -> Sequence[Any]:
        dtype = dtype_of(op.results[0].type.element_type)
        garbage = np.frombuffer(b"\x2a" * dtype.itemsize, dtype) if dtype.kind != "b" else np.array([True])
        return [np.full(op.results[0].type.get_shape(), garbage[0], dtype)]

    def tensor_extract(self, op: Any, operands: list[Any], env: Env) -> Sequence[Any]:
        source, *indices = operands
        return [_read(source, indices)]

    def tensor_insert_slice(self, op: Any, operands: list[Any], env: Env) -> Sequence[Any]:
        source, dest, *dynamic = operands
        left = iter(dynamic)
        offsets = [int(next(left)) if o == DYNAMIC_INDEX else o for o in op.static_offsets.get_values()]
        sizes, strides = op.static_sizes.get_values(), op.static_strides.get_values()
        assert tuple(sizes) == source.shape
        places = []
        for offset, size, stride, extent in zip(offsets, sizes, strides, dest.shape, strict=True):
            assert offset >= 0 and (size == 0 or offset + (size - 1) * stride < extent), "a slice out of bounds"
            places.append(slice(offset, offset + size * stride, stride))
        result = dest.copy()
        result[tuple(places)] = source
        return [result]

    def _reshaped(self, op: Any, operands: list[Any], env: Env) -> Sequence[Any]:
        return [operands[0].reshape(op.results[0].type.get_shape())]

    tensor_collapse_shape = tensor_expand_shape = _reshaped

    # -- linalg ------------------------------------------------------------------------------------

    def linalg_fill(self, op: Any, operands: list[Any], env: Env) -> Sequence[Any]:
        return [np.full(operands[1].shape, operands[0], operands[1].dtype)]

    def linalg_generic(self, op: Any, operands: list[Any], env: Env) -> Sequence[Any]:
        maps = [attr.data for attr in op.indexing_maps.data]
        sizes = _sizes(op, operands, maps)
        parallel = [kind.data is IteratorType.PARALLEL for kind in op.iterator_types.data]
        count = len(op.inputs)
        outputs = [operand.copy() for operand in operands[count:]]
        axes = [dim for dim, is_parallel in enumerate(parallel) if is_parallel]
        shape = tuple(sizes[dim] for dim in axes)
        outer = self.grid
        for point in itertools.product(
            *(range(1 if is_parallel else n) for n, is_parallel in zip(sizes, parallel, strict=True))
        ):
            if 0 in shape:
                break
            grid: list[Any] = [np.int64(p) for p in point]
            for place, dim in enumerate(axes):
                along = np.arange(sizes[dim]).reshape((-1,) + (1,) * (len(axes) - place - 1))
                grid[dim] = np.broadcast_to(along, shape)
            places = [map_.eval(grid, []) for map_ in maps]
            elements = [_read(x, place, shape) for x, place in zip((*operands[:count], *outputs), places, strict=True)]
            self.grid = grid
            yielded = self.block(op.body.block, elements, env)
            self.grid = outer
            for output, place, value in zip(outputs, places[count:], yielded, strict=True):
                output[tuple(place)] = np.broadcast_to(value, shape)
        return outputs


def _check_type(result: SSAValue, array: Any) -> None:
    type_ = result.type
    if isinstance(type_, TensorType):
        assert array.shape == type_.get_shape(), (result, array.shape)
        assert array.dtype == dtype_of(type_.element_type), (result, array.dtype)
    else:
        assert np.asarray(array).dtype == dtype_of(type_), (result, np.asarray(array).dtype)


def _read(source: Any, indices: Sequence[Any], shape: tuple[int, ...] = ()) -> Any:
    """Elements at index arrays, all of them inside."""
    for index, extent in zip(indices, source.shape, strict=True):
        index = np.asarray(index)
        assert ((index >= 0) & (index < extent)).all(), f"reads element {index} of {extent}"
    found = source[tuple(indices)]
    return np.broadcast_to(found, shape) if shape else np.asarray(found)


def _sizes(op: Any, operands: list[Any], maps: list[Any]) -> list[int]:
    """The loops' sizes: every dimension must index some operand plainly, and all operands must agree."""
    sizes: dict[int, int] = {}
    for operand, map_ in zip(operands, maps, strict=True):
        for expr, extent in zip(map_.results, operand.shape, strict=True):
            if isinstance(expr, AffineDimExpr):
                assert sizes.setdefault(expr.position, extent) == extent, "operands disagree on a loop's size"
    missing = set(range(len(op.iterator_types))) - set(sizes)
    assert not missing, f"no operand gives the size of dimensions {missing}"
    return [sizes[dim] for dim in range(len(op.iterator_types))]


def _constant(op: Any) -> Any:
    value, type_ = op.value, op.results[0].type
    if isinstance(type_, TensorType):
        return constant_array(value)
    return scalar_operations.constant(op).reshape(())


# -- scalar operations ---------------------------------------------------------------------------------

_NOT_NARROW = frozenset(f"arith.{name}" for name in "addf subf mulf divf remf addi subi muli maxsi minsi".split())
"""Arithmetic that narrow floats must take through f32, and booleans not at all."""
_AS_IT_IS = frozenset(f"math.{name}" for name in "absf copysign sqrt ctpop ctlz".split())
"""Functions that are exact, or correctly rounded, in every type; the others are computed in f32 or f64."""


def _scalar(op: Operation, operands: list[Any]) -> Any:
    """The operation's result, which must be defined, in a type that targets compute in."""
    first = operands[0].dtype
    if op.name in _NOT_NARROW:
        assert first not in (np.float16, BF16, np.bool_), f"{op.name} on {first}"
    if op.name.startswith("math.") and op.name not in _AS_IT_IS:
        assert first in (np.float32, np.float64), f"{op.name} on {first}: narrow floats go through f32"
    for reason, bad in undefined(op, *operands):
        assert not np.asarray(bad).any(), f"undefined: {op.name} {reason}"
    function = scalar_function(op)
    assert function is not None, f"no semantics of {op.name}"
    return function(*operands)
