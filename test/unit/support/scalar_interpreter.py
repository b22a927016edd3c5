"""
A scalar interpreter for kernels of linalg on memrefs, before and after they are lowered to loops.

Every access is checked against the bounds of its buffer. Iterations of parallel loops run in reverse order.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects import arith, builtin, func, linalg, memref, scf, vector
from xdsl.dialects import math as math_dialect

from xhlo.dialects.cpu import DotOp, ParallelForOp, PrefetchOp
from xhlo.dialects.llvm_ops import FenceOp

DTYPES = {
    "f32": np.float32,
    "f64": np.float64,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "i1": np.bool_,
    "f16": np.float16,
}


class View:
    """A strided view of a flat buffer."""

    def __init__(self, data: np.ndarray, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]):
        self.data, self.offset, self.shape, self.strides = data, offset, shape, strides

    def address(self, indices: list[int], lanes: int = 1) -> int:
        at = self.offset
        for index, size, stride in zip(indices, self.shape, self.strides, strict=True):
            assert 0 <= index < size, (indices, self.shape)
            at += index * stride
        assert lanes == 1 or indices[-1] + lanes <= self.shape[-1], (indices, self.shape)
        assert at >= 0 and at + (lanes - 1 if lanes > 1 else 0) < max(len(self.data), 1)
        return at


def whole(array: np.ndarray) -> View:
    shape = array.shape
    strides = tuple(math.prod(shape[d + 1 :]) for d in range(len(shape)))
    return View(array.reshape(-1), 0, shape, strides)


BINARY = {
    "arith.addf": lambda a, b: a + b,
    "arith.subf": lambda a, b: a - b,
    "arith.mulf": lambda a, b: a * b,
    "arith.divf": lambda a, b: a / b,
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.divui": lambda a, b: a // b,
    "arith.remui": lambda a, b: a % b,
    "arith.minsi": min,
    "arith.maxsi": max,
    "arith.andi": lambda a, b: a & b,
    "arith.ori": lambda a, b: a | b,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
}
COMPARE = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


@dataclass(slots=True)
class Step:
    """An operation that is run many times."""

    op: Any
    operands: tuple[Any, ...]
    results: tuple[Any, ...]
    binary: Callable[[Any, Any], Any] | None
    dtype: Any
    """Its result's elements, None where there are none."""
    ends: bool
    """Whether it ends its block."""


def steps_of(block: Any) -> list[Step]:
    return [
        Step(
            op,
            tuple(op.operands),
            tuple(op.results),
            BINARY.get(op.name),
            DTYPES.get(str(getattr(op.results[0].type, "element_type", op.results[0].type))) if op.results else None,
            op.name in ("scf.yield", "linalg.yield", "scf.reduce", "func.return"),
        )
        for op in block.ops
    ]


class Interpreter:
    """Runs functions of one module."""

    def __init__(self, module: builtin.ModuleOp):
        self.functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, func.FuncOp)}
        self.steps: dict[Any, list[Step]] = {}

    def call(self, name: str, arguments: list[Any]) -> None:
        block = self.functions[name].body.block
        self.block(block, dict(zip(block.args, arguments, strict=True)))

    def block(self, block: Any, env: dict[Any, Any]) -> list[Any]:
        if (steps := self.steps.get(block)) is None:
            steps = self.steps[block] = steps_of(block)
        for step in steps:
            if step.ends:
                return [env[x] for x in step.operands]
            self.step(step, env)
        return []

    def step(self, step: Step, env: dict[Any, Any]) -> None:
        if step.binary is not None:
            left, right = step.operands
            env[step.results[0]] = step.binary(env[left], env[right])
            return
        results = self.run(step, [env[x] for x in step.operands], env)
        for result, value in zip(step.results, results, strict=True):
            env[result] = value

    def run(self, step: Step, args: list[Any], env: dict[Any, Any]) -> list[Any]:
        op = step.op
        match op.name:
            case arith.ConstantOp.name:
                value = op.value.value.data
                return [value if step.dtype is None else step.dtype(value)]
            case arith.ExtFOp.name | arith.ExtSIOp.name:
                return [args[0].astype(step.dtype)]
            case arith.IndexCastOp.name:
                return [step.dtype(args[0])]
            case arith.CmpiOp.name:
                return [COMPARE[op.predicate.value.data](*args)]
            case arith.CmpfOp.name:
                return [{4: args[0] < args[1], 2: args[0] > args[1]}[op.predicate.value.data]]
            case arith.SelectOp.name:
                return [args[1] if args[0] else args[2]]
            case math_dialect.ExpOp.name:
                return [np.exp(args[0])]
            case memref.LoadOp.name:
                return [args[0].data[args[0].address(args[1:])]]
            case memref.StoreOp.name:
                args[1].data[args[1].address(args[2:])] = args[0]
                return []
            case memref.AllocOp.name | memref.AllocaOp.name:
                shape = op.memref.type.get_shape()
                return [whole(np.full(shape, 99, DTYPES[str(op.memref.type.element_type)]))]
            case memref.ReinterpretCastOp.name:
                offset = args[1] if len(args) > 1 else op.static_offsets.get_values()[0]
                sizes, strides = op.static_sizes.get_values(), op.static_strides.get_values()
                return [View(args[0].data, offset, tuple(sizes), tuple(strides))]
            case memref.SubviewOp.name:
                values = iter(args[1:])
                starts = [next(values) if s < 0 else s for s in op.static_offsets.get_values()]
                offset = args[0].offset + sum(s * t for s, t in zip(starts, args[0].strides, strict=True))
                return [View(args[0].data, offset, tuple(op.static_sizes.get_values()), args[0].strides)]
            case memref.CopyOp.name:
                for index in itertools.product(*map(range, args[0].shape)):
                    at = list(index)
                    args[1].data[args[1].address(at)] = args[0].data[args[0].address(at)]
                return []
            case vector.LoadOp.name:
                lanes = op.result.type.get_shape()[0]
                at = args[0].address(args[1:], lanes)
                return [args[0].data[at : at + lanes].copy()]
            case vector.StoreOp.name:
                at = args[1].address(args[2:], len(args[0]))
                args[1].data[at : at + len(args[0])] = args[0]
                return []
            case vector.CreateMaskOp.name:
                return [np.arange(op.mask_vector.type.get_shape()[0]) < args[0]]
            case vector.MaskedLoadOp.name:
                view, *indices, mask, beyond = args
                # Lanes beyond the mask lie outside of the buffer.
                count = np.count_nonzero(mask)
                at = view.address(indices, count)
                return [np.concatenate([view.data[at : at + count], beyond[count:]])]
            case vector.MaskedStoreOp.name:
                view, *indices, mask, value = args
                count = np.count_nonzero(mask)
                at = view.address(indices, count)
                view.data[at : at + count] = value[:count]
                return []
            case vector.BroadcastOp.name:
                return [np.full(op.vector.type.get_shape(), args[0])]
            case vector.ShuffleOp.name:
                return [np.concatenate(args)[list(op.mask.get_values())]]
            case vector.BitcastOp.name:
                return [args[0].view(step.dtype)]
            case PrefetchOp.name | FenceOp.name:
                return []
            case DotOp.name:
                x = args[0].view(np.uint8) if op.unsigned else args[0]
                products = x.astype(np.int32) * args[1].astype(np.int32)
                return [args[2] + products.reshape(len(args[2]), op.group).sum(1, dtype=np.int32)]
            case vector.FMAOp.name:
                return [args[0] * args[1] + args[2]]
            case scf.IfOp.name:
                return self.block((op.true_region if args[0] else op.false_region).block, env)
            case scf.ForOp.name:
                carried = args[3:]
                for i in range(args[0], args[1], args[2]):
                    env.update(zip(op.body.block.args, [i, *carried], strict=True))
                    carried = self.block(op.body.block, env)
                return carried
            case scf.ParallelOp.name:
                # Not in order: iterations must not depend on each other.
                for i in reversed(range(args[0], args[1], args[2])):
                    env[op.body.block.args[0]] = i
                    self.block(op.body.block, env)
                return []
            case ParallelForOp.name:
                count = op.count.value.data
                # Not in order, on three threads.
                for iteration in reversed(range(count)):
                    self.call(op.callee.root_reference.data, [*args, iteration, iteration % 3])
                return []
            case func.CallOp.name:
                self.call(op.callee.root_reference.data, args)
                return []
            case linalg.ops.FillOp.name:
                for index in itertools.product(*map(range, args[1].shape)):
                    args[1].data[args[1].address(list(index))] = args[0]
                return []
            case linalg.ops.GenericOp.name:
                self.generic(op, args, env)
                return []
            case _:
                raise NotImplementedError(op.name)

    def generic(self, op: Any, args: list[Any], env: dict[Any, Any]) -> None:
        maps = [m.data for m in op.indexing_maps.data]
        sizes: dict[int, int] = {}
        for view, map_ in zip(args, maps, strict=True):
            for d, expr in enumerate(map_.results):
                if hasattr(expr, "position"):
                    sizes[expr.position] = view.shape[d]
        count = len(op.inputs)
        body = op.body.block
        *steps, end = (step for step in steps_of(body) if not isinstance(step.op, linalg.ops.IndexOp))
        indices = [inner for inner in op.body.walk() if isinstance(inner, linalg.ops.IndexOp)]
        for index in itertools.product(*(range(sizes[d]) for d in range(len(op.iterator_types.data)))):
            at = [
                v.address(list(m.eval(index, []))) if isinstance(v, View) else None
                for v, m in zip(args, maps, strict=True)
            ]
            values = [v if a is None else v.data[a] for v, a in zip(args, at, strict=True)]
            env.update(zip(body.args, values, strict=True))
            for inner in indices:
                env[inner.result] = index[inner.dim.value.data]
            for step in steps:
                self.step(step, env)
            for k, value in enumerate(end.operands):
                args[count + k].data[at[count + k]] = env[value]
