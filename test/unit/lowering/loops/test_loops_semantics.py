"""
The lowering to loops keeps the meaning of kernels.

A scalar interpreter runs a kernel of linalg on memrefs as it is and after the lowering; every access is checked
against its buffer's bounds. Thresholds are lowered, so that small shapes take the paths of large ones.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, linalg, memref, scf, vector
from xdsl.dialects import math as math_dialect
from xdsl.parser import Parser

from xhlo.dialects.cpu import DotOp, ParallelForOp, PrefetchOp
from xhlo.lowering.convert_contractions_to_vector import blocking
from xhlo.lowering.convert_contractions_to_vector.conversion import ConvertContractionsToVectorPass
from xhlo.lowering.convert_linalg_to_scf import elementwise, reduction
from xhlo.lowering.convert_linalg_to_scf.conversion import ConvertLinalgToScfPass
from xhlo.lowering.loop_nests import cost
from xhlo.passes.outline_parallel_loops.transform import OutlineParallelLoopsPass

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
            case PrefetchOp.name:
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


def parse(text: str) -> builtin.ModuleOp:
    ctx = Context()
    for dialect in (
        builtin.Builtin,
        arith.Arith,
        func.Func,
        linalg.Linalg,
        memref.MemRef,
        scf.Scf,
        vector.Vector,
        math_dialect.Math,
    ):
        ctx.load_dialect(dialect)
    module = Parser(ctx, text).parse_module()
    module.verify()
    return module


def types_of(module: builtin.ModuleOp) -> list[Any]:
    return list(next(iter(module.body.block.ops)).function_type.inputs.data)  # pyright: ignore


def check(text: str, *, outputs: int = 1, tolerance: float = 1e-5, **options: int) -> builtin.ModuleOp:
    """Run the first function before and after; the last `outputs` arguments must agree, no input may change."""
    rng = np.random.default_rng(0)
    module = parse(text)
    arguments: list[np.ndarray] = []
    for type_ in types_of(module):
        dtype = DTYPES[str(type_.element_type)]
        shape = type_.get_shape()
        values = rng.standard_normal(shape) if np.dtype(dtype).kind == "f" else rng.integers(-3, 4, shape)
        arguments.append(np.asarray(values, dtype).reshape(shape))
    name = next(iter(module.body.block.ops)).sym_name.data  # pyright: ignore
    expected = [x.copy() for x in arguments]
    Interpreter(module).call(name, [whole(x) for x in expected])
    for pass_ in (ConvertContractionsToVectorPass(**options), ConvertLinalgToScfPass(), OutlineParallelLoopsPass()):
        pass_.apply(Context(), module)
        module.verify()
        actual = [x.copy() for x in arguments]
        Interpreter(module).call(name, [whole(x) for x in actual])
        for got, want in zip(actual, expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)
    for before, after in zip(arguments[:-outputs], expected[:-outputs], strict=True):
        np.testing.assert_array_equal(before, after)
    return module


@pytest.fixture(autouse=True, params=["serial", "parallel"])
def thresholds(request: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "parallel":
        monkeypatch.setattr(cost, "PARALLEL_WORK", 16)
        monkeypatch.setattr(cost, "TASK_WORK", 64)
        monkeypatch.setattr(cost, "CACHED_BYTES", 0)
        monkeypatch.setattr(cost, "MAX_TASKS", 5)
        monkeypatch.setattr(reduction, "BLOCK", 8)
        monkeypatch.setattr(reduction, "TILE", 8)
        monkeypatch.setattr(reduction, "COLUMNS", 6)
        monkeypatch.setattr(reduction, "CHUNK_ROWS", 3)
        monkeypatch.setattr(elementwise, "TILE", 3)
        monkeypatch.setattr(elementwise, "COLLIDING", 4)
    return request.param


def generic(
    maps: list[str], iterators: str, ins: list[str], outs: list[str], types: dict[str, str], body: str, attrs: str = ""
) -> str:
    """A linalg.generic over block arguments %x0, %x1, .. (inputs) and %z0, .. (outputs); iterators written as 'ppr'."""
    names = {"p": '"parallel"', "r": '"reduction"'}
    dims = ", ".join(f"d{i}" for i in range(len(iterators)))
    map_list = ", ".join(f"affine_map<({dims}) -> ({m})>" for m in maps)
    args = [f"%x{i}: {types[v].split('x')[-1].rstrip('>').split('<')[-1]}" for i, v in enumerate(ins)]
    args += [f"%z{i}: {types[v].split('x')[-1].rstrip('>').split('<')[-1]}" for i, v in enumerate(outs)]
    in_types, out_types = ", ".join(types[v] for v in ins), ", ".join(types[v] for v in outs)
    in_text = f"ins({', '.join(ins)} : {in_types}) " if ins else ""
    return (
        f"linalg.generic {{indexing_maps = [{map_list}], iterator_types = [{', '.join(names[c] for c in iterators)}]}} "
        f"{in_text}outs({', '.join(outs)} : {out_types}) {attrs} {{\n^bb({', '.join(args)}):\n{body}\n}}"
    )


def kernel(types: dict[str, str], body: str, attributes: str = 'hlo.kernel = "loop"') -> str:
    parameters = ", ".join(f"{name}: {type_}" for name, type_ in types.items())
    return f"func.func private @k({parameters}) attributes {{{attributes}}} {{\n{body}\nfunc.return\n}}"


ADD = "%s = arith.addf %z0, %x0 fastmath<reassoc> : f32\nlinalg.yield %s : f32"
MAX = "%s = arith.maximumf %x0, %z0 : f32\nlinalg.yield %s : f32"
FILL = "%zero = arith.constant 0.0 : f32\nlinalg.fill ins(%zero : f32) outs(%o : {})\n"


@pytest.mark.parametrize(
    "shapes, maps, iterators",
    [
        (["6x7", "6x7"], ["d0, d1", "d0, d1"], "pp"),
        (["7x6", "6x7"], ["d1, d0", "d0, d1"], "pp"),
        (["7", "6x7"], ["d1", "d0, d1"], "pp"),
        (["6", "6x7"], ["d0", "d0, d1"], "pp"),
        (["9x20", "4x5"], ["d0 * 2 + 1, d1 + 3", "d0, d1"], "pp"),
        (["6x7", "6x7"], ["d0, 6 - d1", "d0, d1"], "pp"),
        (["42", "6x7"], ["d0 * 7 + d1", "d0, d1"], "pp"),
        (["1x7", "1x7"], ["d0, d1", "d0, d1"], "pp"),
        (["3x4x5", "4x3x5"], ["d1, d0, d2", "d0, d1, d2"], "ppp"),
        (["", ""], ["", ""], ""),
        (["0x7", "0x7"], ["d0, d1", "d0, d1"], "pp"),
    ],
)
def test_elementwise(shapes: list[str], maps: list[str], iterators: str) -> None:
    a, o = (f"memref<{s + 'x' if s else ''}f32>" for s in shapes)
    types = {"%a": a, "%o": o}
    body = "%s = arith.addf %x0, %x0 : f32\nlinalg.yield %s : f32"
    check(kernel(types, generic(maps, iterators, ["%a"], ["%o"], types, body)))


@pytest.mark.sample(3)
@pytest.mark.parametrize("combiner", [ADD, MAX])
@pytest.mark.parametrize(
    "a, o, maps, iterators",
    [
        ("50x", "", ["d0", ""], "r"),
        ("6x30x", "6x", ["d0, d1", "d0"], "pr"),
        ("30x6x", "6x", ["d1, d0", "d0"], "pr"),
        ("30x40x", "40x", ["d1, d0", "d0"], "pr"),
        ("4x5x6x", "5x", ["d1, d0, d2", "d0"], "prr"),
        ("4x5x6x7x", "5x7x", ["d2, d0, d3, d1", "d0, d1"], "pprr"),
        ("4x5x6x", "", ["d0, d1, d2", ""], "rrr"),
        ("4x30x", "30x4x", ["d1, d0", "d0, d1"], "pp"),
        ("1x30x", "1x", ["d0, d1", "d0"], "pr"),
        ("30x1x", "30x", ["d0, d1", "d0"], "pr"),
        ("5x0x", "5x", ["d0, d1", "d0"], "pr"),
    ],
)
@pytest.mark.parametrize("filled", [True, False])
def test_reduction(a: str, o: str, maps: list[str], iterators: str, combiner: str, filled: bool) -> None:
    types = {"%a": f"memref<{a}f32>", "%o": f"memref<{o}f32>"}
    fill = FILL.format(types["%o"]) if filled else ""
    check(kernel(types, fill + generic(maps, iterators, ["%a"], ["%o"], types, combiner)))


@pytest.mark.parametrize("size", [20, 27])
@pytest.mark.parametrize(
    "dims, o, maps, iterators",
    [
        ("3x{}x", "3x", ["d0, d1", "d0"], "pr"),
        ("{}x", "", ["d0", ""], "r"),
        ("3x{}x", "{}x", ["d1, d0", "d0"], "pr"),
        ("3x4x{}x", "4x{}x", ["d2, d0, d1", "d0, d1"], "ppr"),
    ],
)
def test_reduction_of_exponentials(dims: str, o: str, maps: list[str], iterators: str, size: int) -> None:
    """The last elements of a row are a vector that ends where the row does, unless a task has a part of it."""
    types = {"%a": f"memref<{dims.format(size)}f32>", "%o": f"memref<{o.format(size)}f32>"}
    body = "%e = math.exp %x0 : f32\n" + ADD.replace("%x0", "%e")
    check(kernel(types, FILL.format(types["%o"]) + generic(maps, iterators, ["%a"], ["%o"], types, body)))


def test_reduction_of_unknown_combiner_runs_in_order() -> None:
    types = {"%a": "memref<5x20xf32>", "%v": "memref<5xf32>", "%i": "memref<5xi64>"}
    body = """
    %n = linalg.index 1 : index
    %j = arith.index_cast %n : index to i64
    %c = arith.cmpf ogt, %x0, %z0 : f32
    %s = arith.select %c, %x0, %z0 : f32
    %t = arith.select %c, %j, %z1 : i64
    linalg.yield %s, %t : f32, i64"""
    text = generic(["d0, d1", "d0", "d0"], "pr", ["%a"], ["%v", "%i"], types, body)
    check(kernel(types, text), outputs=2)


def test_copies_into_subviews() -> None:
    types = {"%a": "memref<4x6xf32>", "%o": "memref<9x20xf32>"}
    body = """
    %one = arith.constant 3 : index
    %v = memref.subview %o[%one, 5] [4, 6] [1, 1] : memref<9x20xf32> to memref<4x6xf32, strided<[20, 1], offset: ?>>
    "memref.copy"(%a, %v) : (memref<4x6xf32>, memref<4x6xf32, strided<[20, 1], offset: ?>>) -> ()"""
    check(kernel(types, body))


@pytest.mark.parametrize("lead, dims", [("40x", "d0, "), ("5x8x", "d0, d1, "), ("", "")])
def test_row_kernel(lead: str, dims: str) -> None:
    rows = lead.count("x")
    last = f"d{rows}"
    types = {"%a": f"memref<{lead}12xf32>", "%b": "memref<12xf32>", "%o": f"memref<{lead}12xf32>"}
    inner = {"%m": f"memref<{lead}f32>", "%e": f"memref<{lead}12xf32>", "%t": f"memref<{lead}f32>"}
    every = {**types, **inner}
    wide, thin = f"{dims}{last}", dims.rstrip(", ")
    p, r = "p" * rows + "p", "p" * rows + "r"
    steps = [f"{name} = memref.alloc() : {type_}" for name, type_ in inner.items()]
    steps += [
        "%ninf = arith.constant 0xFF800000 : f32",
        "%zero = arith.constant 0.0 : f32",
        f"linalg.fill ins(%ninf : f32) outs(%m : {inner['%m']})",
        generic([wide, thin], r, ["%a"], ["%m"], every, MAX),
        generic(
            [wide, thin, last, wide],
            p,
            ["%a", "%m", "%b"],
            ["%e"],
            every,
            "%d = arith.subf %x0, %x1 : f32\n%f = math.exp %d : f32\n%g = arith.addf %f, %x2 : f32\nlinalg.yield %g : f32",
        ),
        f"linalg.fill ins(%zero : f32) outs(%t : {inner['%t']})",
        generic([wide, thin], r, ["%e"], ["%t"], every, ADD),
        generic(
            [wide, thin, wide],
            p,
            ["%e", "%t"],
            ["%o"],
            every,
            "%d = arith.divf %x0, %x1 : f32\nlinalg.yield %d : f32",
        ),
    ]
    module = check(kernel(types, "\n".join(steps), f'hlo.kernel = "row", hlo.row_dims = {rows} : i64'))
    if rows:
        assert not any(isinstance(op, memref.AllocOp) for op in module.walk())


@pytest.mark.sample(5)
@pytest.mark.parametrize("filled", [True, False])
@pytest.mark.parametrize(
    "a, b, o, maps, iterators",
    [
        ("9x7", "7x10", "9x10", ["d0, d2", "d2, d1", "d0, d1"], "ppr"),
        ("7x9", "7x10", "9x10", ["d2, d0", "d2, d1", "d0, d1"], "ppr"),
        ("9x7", "10x7", "9x10", ["d0, d2", "d1, d2", "d0, d1"], "ppr"),
        ("9x7", "7x10", "10x9", ["d0, d2", "d2, d1", "d1, d0"], "ppr"),
        ("3x9x7", "3x7x10", "3x9x10", ["d0, d1, d3", "d0, d3, d2", "d0, d1, d2"], "pppr"),
        ("9x3x7", "7x3x10", "3x9x10", ["d1, d0, d3", "d3, d0, d2", "d0, d1, d2"], "pppr"),
        ("5x2x7", "7x4x3", "5x2x4x3", ["d0, d1, d4", "d4, d2, d3", "d0, d1, d2, d3"], "ppppr"),
        ("5x2x7", "7x4x2", "5x4", ["d0, d2, d3", "d3, d1, d2", "d0, d1"], "pprr"),
        ("4x8", "8x16", "4x16", ["d0, d2", "d2, d1", "d0, d1"], "ppr"),
        ("8x8", "8x16", "8x16", ["d0, d2", "d2, d1", "d0, d1"], "ppr"),
    ],
)
@pytest.mark.parametrize("bits", [128, 256])
def test_contraction(
    a: str, b: str, o: str, maps: list[str], iterators: str, filled: bool, bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocking, "MIN_MULTIPLICATIONS", 1)
    types = {"%a": f"memref<{a}xf32>", "%b": f"memref<{b}xf32>", "%o": f"memref<{o}xf32>"}
    body = """
    %p = arith.mulf %x0, %x1 fastmath<reassoc,contract> : f32
    %s = arith.addf %z0, %p fastmath<reassoc,contract> : f32
    linalg.yield %s : f32"""
    fill = FILL.format(types["%o"]) if filled else ""
    text = fill + generic(maps, iterators, ["%a", "%b"], ["%o"], types, body, "attrs = {xhlo.contraction}")
    module = check(kernel(types, text, 'hlo.kernel = "dot"'), vector_bits=bits, l1_bytes=128, l2_bytes=1024)
    assert any(isinstance(op, vector.FMAOp) for op in module.walk())


def test_small_or_integer_contractions_are_plain_loops() -> None:
    types = {"%a": "memref<9x7xi32>", "%b": "memref<7x10xi32>", "%o": "memref<9x10xi32>"}
    body = "%p = arith.muli %x0, %x1 : i32\n%s = arith.addi %z0, %p : i32\nlinalg.yield %s : i32"
    text = generic(
        ["d0, d2", "d2, d1", "d0, d1"], "ppr", ["%a", "%b"], ["%o"], types, body, "attrs = {xhlo.contraction}"
    )
    module = check(kernel(types, text, 'hlo.kernel = "dot"'))
    assert not any(isinstance(op, vector.FMAOp) for op in module.walk())


def test_factors_of_half_precision_are_extended_while_packing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocking, "MIN_MULTIPLICATIONS", 1)
    types = {"%a": "memref<9x7xf16>", "%b": "memref<7x10xf16>", "%o": "memref<9x10xf32>"}
    body = """
    %x = arith.extf %x0 : f16 to f32
    %y = arith.extf %x1 : f16 to f32
    %p = arith.mulf %x, %y fastmath<reassoc,contract> : f32
    %s = arith.addf %z0, %p fastmath<reassoc,contract> : f32
    linalg.yield %s : f32"""
    maps = ["d0, d2", "d2, d1", "d0, d1"]
    text = generic(maps, "ppr", ["%a", "%b"], ["%o"], types, body, "attrs = {xhlo.contraction}")
    check(kernel(types, text, 'hlo.kernel = "dot"'), vector_bits=128)


@pytest.mark.spread(2)
@pytest.mark.parametrize("type_, dots", [("i8", "byte_dots"), ("i8", "pair_dots"), ("i16", "pair_dots")])
@pytest.mark.filterwarnings("ignore:overflow encountered in scalar add")  # integers wrap, as they are to
@pytest.mark.parametrize(
    "a, b, maps",
    [
        ("9x7", "7x10", ["d0, d2", "d2, d1", "d0, d1"]),
        ("8x9", "8x16", ["d2, d0", "d2, d1", "d0, d1"]),
        ("9x70", "10x70", ["d0, d2", "d1, d2", "d0, d1"]),
    ],
)
def test_dot_products_of_integers(
    a: str, b: str, maps: list[str], type_: str, dots: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocking, "MIN_MULTIPLICATIONS", 1)
    o = "9x16" if b == "8x16" else "9x10"
    types = {"%a": f"memref<{a}x{type_}>", "%b": f"memref<{b}x{type_}>", "%o": f"memref<{o}xi32>"}
    body = f"""
    %x = arith.extsi %x0 : {type_} to i32
    %y = arith.extsi %x1 : {type_} to i32
    %p = arith.muli %x, %y : i32
    %s = arith.addi %z0, %p : i32
    linalg.yield %s : i32"""
    text = generic(maps, "ppr", ["%a", "%b"], ["%o"], types, body, "attrs = {xhlo.contraction}")
    module = check(kernel(types, text, 'hlo.kernel = "dot"'), vector_bits=128, l2_bytes=1024, **{dots: True})
    assert any(isinstance(op, DotOp) for op in module.walk())
