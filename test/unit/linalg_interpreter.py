"""
A NumPy interpreter of linalg on tensors, scf and func: the oracle of the tests of convert-hlo-to-linalg and fuse-linalg.

A generic runs over all its parallel points at once and over its reduction points one after the other. What arith
leaves undefined (division by zero, shifts past the width, conversions out of range, reads out of bounds) is an error
here, so that a lowering that relies on it fails its test. Integers are signless: NumPy's signed ones, i1 is bool.
"""

from __future__ import annotations

import itertools
import math as pymath
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from xhlo.hlo_dialect.types import constant_array, numpy_dtype

Env = dict[SSAValue, Any]
BF16 = np.dtype(ml_dtypes.bfloat16)
_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


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


def unsigned(x: Any) -> Any:
    x = np.asarray(x)
    return x if x.dtype == bool else x.view(_UNSIGNED[x.dtype.itemsize])


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
        return [np.asarray(SCALARS[op.name](op, *operands)).astype(dtype_of(op.results[0].type), copy=False)]

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
    number = value.value.data
    dtype = dtype_of(type_)
    return np.asarray(bool(number) if dtype.kind == "b" else number).astype(dtype)


# -- scalar operations ---------------------------------------------------------------------------------


def _defined(condition: Any, what: str) -> None:
    assert np.asarray(condition).all(), f"undefined: {what}"


def _division(compute: Callable[[Any, Any], Any], signed: bool) -> Callable[..., Any]:
    def run(op: Any, x: Any, y: Any) -> Any:
        _defined(y != 0, "division by zero")
        if signed:
            _defined((x != np.iinfo(x.dtype).min) | (y != -1), "overflow of a division")
            return compute(x, y)
        return compute(unsigned(x), unsigned(y)).view(x.dtype)

    return run


def _quotient(x: Any, y: Any) -> Any:
    floor = x // y
    return floor + ((floor * y != x) & ((x < 0) != (y < 0))).astype(x.dtype)


def _shift(compute: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def run(op: Any, x: Any, y: Any) -> Any:
        _defined((y >= 0) & (y < x.dtype.itemsize * 8), "a shift past the width")
        return compute(x, y)

    return run


def _unsigned(compute: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    return lambda op, x, y: np.asarray(compute(unsigned(x), unsigned(y))).view(x.dtype)


def _maximum(op: Any, x: Any, y: Any) -> Any:
    return np.where((x == 0) & (y == 0), x + y, np.maximum(x, y))


def _minimum(op: Any, x: Any, y: Any) -> Any:
    return np.where((x == 0) & (y == 0), -(-x - y), np.minimum(x, y))


_ORDERED = {1: "equal", 2: "greater", 3: "greater_equal", 4: "less", 5: "less_equal"}
_INTEGER = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


def _cmpf(op: Any, x: Any, y: Any) -> Any:
    code = op.predicate.value.data
    nan = np.isnan(x) | np.isnan(y)
    if code in _ORDERED:
        return getattr(np, _ORDERED[code])(x, y) & ~nan
    return {13: (x != y) | nan, 14: nan}[code]


def _cmpi(op: Any, x: Any, y: Any) -> Any:
    code = op.predicate.value.data
    if code >= 6:
        x, y, code = unsigned(x), unsigned(y), code - 4
    elif code >= 2:
        assert np.asarray(x).dtype != bool, "a signed order of booleans"
    return getattr(np, _INTEGER[code])(x, y)


def _truncf(op: Any, x: Any) -> Any:
    target = dtype_of(op.results[0].type)
    if target != BF16 or x.dtype != np.float64:
        return x.astype(target)
    # ml_dtypes rounds twice here; an f32 rounded to odd has digits enough to round once more.
    near = x.astype(np.float32)
    back = near.astype(np.float64)
    down = np.where(np.abs(back) > np.abs(x), np.nextafter(near, np.float32(0)), near)
    return (down.view(np.uint32) | ((back != x) & ~np.isnan(x))).view(np.float32).astype(target)


def _to_integer(op: Any, x: Any, low: int, high: int) -> Any:
    wide = np.trunc(x.astype(np.float64))
    _defined((wide >= low) & (wide <= high) & (wide < 2.0**64), "a conversion out of range")
    return wide


def _fptosi(op: Any, x: Any) -> Any:
    info = np.iinfo(dtype_of(op.results[0].type))
    wide = _to_integer(op, x, info.min, info.max)
    _defined(wide < -float(info.min), "a conversion out of range")
    return wide.astype(info.dtype)


def _fptoui(op: Any, x: Any) -> Any:
    size = dtype_of(op.results[0].type).itemsize
    return _to_integer(op, x, 0, 2 ** (8 * size) - 1).astype(_UNSIGNED[size]).view(f"i{size}")


def _extui(op: Any, x: Any) -> Any:
    return unsigned(x).astype(f"u{dtype_of(op.results[0].type).itemsize}").view(dtype_of(op.results[0].type))


def _trunci(op: Any, x: Any) -> Any:
    target = dtype_of(op.results[0].type)
    return (x & 1) != 0 if target.kind == "b" else x.astype(target)


def _bitcast(op: Any, x: Any) -> Any:
    return np.asarray(x).view(dtype_of(op.results[0].type))


def _round(op: Any, x: Any) -> Any:
    whole = np.trunc(x)
    return np.copysign(whole + np.where(np.abs(x - whole) >= 0.5, np.copysign(1, x), 0), x).astype(x.dtype)


def _bit_count(count: Callable[[int, int], int]) -> Callable[..., Any]:
    def run(op: Any, x: Any) -> Any:
        width = 8 * x.dtype.itemsize
        return np.vectorize(lambda v: count(int(v), width), otypes=[x.dtype])(unsigned(x))

    return run


def _math(compute: Callable[..., Any]) -> Callable[..., Any]:
    """In f64, rounded to the operation's type."""

    def run(op: Any, *xs: Any) -> Any:
        assert xs[0].dtype in (np.float32, np.float64), f"{op.name} on {xs[0].dtype}: narrow floats go through f32"
        return compute(*(x.astype(np.float64) for x in xs)).astype(xs[0].dtype)

    return run


def _wide(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Arithmetic that narrow floats must take through f32, and booleans not at all."""

    def run(op: Any, *xs: Any) -> Any:
        assert xs[0].dtype not in (np.float16, BF16, np.bool_), f"{op.name} on {xs[0].dtype}"
        return compute(*xs)

    return run


SCALARS: dict[str, Callable[..., Any]] = {
    **{f"arith.{name}": _wide(f) for name, f in (("addf", np.add), ("subf", np.subtract), ("mulf", np.multiply))},
    **{f"arith.{name}": _wide(f) for name, f in (("addi", np.add), ("subi", np.subtract), ("muli", np.multiply))},
    "arith.divf": _wide(np.divide),
    "arith.remf": _wide(np.fmod),
    "arith.negf": lambda op, x: -x,
    "arith.andi": lambda op, x, y: x & y,
    "arith.ori": lambda op, x, y: x | y,
    "arith.xori": lambda op, x, y: x ^ y,
    "arith.divsi": _division(_quotient, True),
    "arith.remsi": _division(np.fmod, True),
    "arith.divui": _division(np.floor_divide, False),
    "arith.remui": _division(np.fmod, False),
    "arith.shli": _shift(np.left_shift),
    "arith.shrsi": _shift(np.right_shift),
    "arith.shrui": _shift(lambda x, y: (unsigned(x) >> unsigned(y)).view(x.dtype)),
    "arith.maxsi": _wide(np.maximum),
    "arith.minsi": _wide(np.minimum),
    "arith.maxui": _unsigned(np.maximum),
    "arith.minui": _unsigned(np.minimum),
    "arith.maximumf": _maximum,
    "arith.minimumf": _minimum,
    "arith.cmpf": _cmpf,
    "arith.cmpi": _cmpi,
    "arith.select": lambda op, c, x, y: np.where(c, x, y),
    "arith.bitcast": _bitcast,
    "arith.extf": lambda op, x: x.astype(dtype_of(op.results[0].type)),
    "arith.truncf": _truncf,
    "arith.sitofp": lambda op, x: x.astype(dtype_of(op.results[0].type)),
    "arith.uitofp": lambda op, x: unsigned(x).astype(dtype_of(op.results[0].type)),
    "arith.fptosi": _fptosi,
    "arith.fptoui": _fptoui,
    "arith.extsi": lambda op, x: x.astype(dtype_of(op.results[0].type)),
    "arith.extui": _extui,
    "arith.trunci": _trunci,
    "arith.index_cast": lambda op, x: x.astype(dtype_of(op.results[0].type)),
    "math.absf": lambda op, x: np.abs(x),
    "math.copysign": lambda op, x, y: np.copysign(x, y),
    "math.ceil": _math(np.ceil),
    "math.floor": _math(np.floor),
    "math.trunc": _math(np.trunc),
    "math.round": _math(lambda x: _round(None, x)),
    "math.roundeven": _math(np.rint),
    "math.sqrt": lambda op, x: np.sqrt(x),
    "math.rsqrt": _math(lambda x: 1 / np.sqrt(x)),
    "math.cbrt": _math(np.cbrt),
    "math.exp": _math(np.exp),
    "math.expm1": _math(np.expm1),
    "math.log": _math(np.log),
    "math.log1p": _math(np.log1p),
    "math.sin": _math(np.sin),
    "math.cos": _math(np.cos),
    "math.tan": _math(np.tan),
    "math.tanh": _math(np.tanh),
    "math.atan2": _math(np.arctan2),
    "math.powf": _math(np.power),
    "math.erf": _math(np.vectorize(pymath.erf, otypes=[np.float64])),
    "math.ctpop": _bit_count(lambda v, width: v.bit_count()),
    "math.ctlz": _bit_count(lambda v, width: width - v.bit_length()),
}
"""What each scalar operation computes from (operation, operand arrays..)."""
