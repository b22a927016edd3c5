"""ONNX Runtime's CPU provider, on models written with ONNX's own operators; products' weights are initializers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

from .rows import WEIGHTS, Arguments, Row

SYSTEMS = ("ONNX Runtime",)
VERSIONS = {"ONNX Runtime": onnxruntime.__version__}


class Graph:
    """A graph that is built node by node."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, value: Any, type_: Any = np.float32) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, type_), name))
        return name

    def __call__(self, kind: str, *inputs: str, outputs: int = 1, domain: str = "", **attributes: Any) -> Any:
        """Add a node; returns the name of its output, or their names."""
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, domain=domain, **attributes))
        return names[0] if outputs == 1 else names


def axis_of(g: Graph, *axes: int) -> str:
    return g.constant(axes, np.int64)


def mean(g: Graph, x: str, y: str) -> str:
    return g("ReduceMean", g("Add", g("Mul", g("Mul", g.constant(3), x), x), y), keepdims=0)


def sum_of_product(g: Graph, x: str, y: str, z: str) -> str:
    return g("ReduceSum", g("Add", x, g("Mul", y, z)), keepdims=0)


def chain(g: Graph, x: str) -> str:
    a = g("Tanh", x)
    b = g("Add", g("Exp", a), x)
    c = g("Log", g("Add", g("Mul", b, b), g.constant(1)))
    d = g("Tanh", g("Mul", c, g.constant(0.5)))
    return g("Add", g("Mul", g("Exp", g("Neg", d)), c), a)


def black_scholes(g: Graph, price: str, strike: str, years: str) -> list[str]:
    def cdf(x: str) -> str:
        erf = g("Erf", g("Mul", x, g.constant(0.7071067811865476)))
        return g("Mul", g.constant(0.5), g("Add", g.constant(1), erf))

    root = g("Mul", g.constant(0.3), g("Sqrt", years))
    drift = g("Mul", g.constant(0.065), years)
    d1 = g("Div", g("Add", g("Log", g("Div", price, strike)), drift), root)
    late = g("Mul", strike, g("Exp", g("Mul", g.constant(-0.02), years)))
    call = g("Sub", g("Mul", price, cdf(d1)), g("Mul", late, cdf(g("Sub", d1, root))))
    return [call, g("Add", g("Sub", call, price), late)]


def layernorm(g: Graph, x: str, gain: str, bias: str) -> str:
    return g("LayerNormalization", x, gain, bias, axis=-1, epsilon=1e-5)


def gelu(g: Graph, x: str) -> str:
    return g("Gelu", x, approximate="tanh")


def mlp(g: Graph, x: str, w1: str, b1: str, w2: str, b2: str) -> str:
    return g("Add", g("MatMul", gelu(g, g("Add", g("MatMul", x, w1), b1)), w2), b2)


def attention(g: Graph, q: str, k: str, v: str) -> str:
    scores = g("Mul", g("MatMul", q, g("Transpose", k, perm=(0, 1, 3, 2))), g.constant(0.125))
    return g("MatMul", g("Softmax", scores, axis=-1), v)


def lstm(g: Graph, inputs: str, w: str, u: str, bias: str) -> str:
    all_states, *_ = g("LSTM", inputs, w, u, bias, outputs=3, hidden_size=100)
    return g("Squeeze", all_states, axis_of(g, 1))


def transformer_block(g: Graph, x: str, *weights: str) -> str:
    g1, b1, g2, b2, qkv, out, up, down = weights
    parts = g("Reshape", g("MatMul", layernorm(g, x, g1, b1), qkv), axis_of(g, 4, 256, 3, 8, 64))
    split = g("Split", g("Transpose", parts, perm=(2, 0, 3, 1, 4)), outputs=3, axis=0, num_outputs=3)
    q, k, v = (g("Squeeze", part, axis_of(g, 0)) for part in split)
    scores = g("Mul", g("MatMul", q, g("Transpose", k, perm=(0, 1, 3, 2))), g.constant(0.125))
    scores = g("Where", g.constant(np.tri(256), np.bool_), scores, g.constant(-1e9))
    mixed = g("Transpose", g("MatMul", g("Softmax", scores, axis=-1), v), perm=(0, 2, 1, 3))
    x = g("Add", x, g("MatMul", g("Reshape", mixed, axis_of(g, 4, 256, 512)), out))
    return g("Add", x, g("MatMul", gelu(g, g("MatMul", layernorm(g, x, g2, b2), up)), down))


def conv2d(g: Graph, x: str, kernel: str) -> str:
    return g("Conv", x, kernel, pads=(1, 1, 1, 1))


def residual_block(g: Graph, x: str, k1: str, k2: str, b1: str, b2: str) -> str:
    y = g("Relu", g("Conv", x, k1, b1, pads=(1, 1, 1, 1)))
    return g("Relu", g("Add", g("Conv", y, k2, b2, pads=(1, 1, 1, 1)), x))


def reduction(axis: int) -> Callable[[Graph, str], str]:
    return lambda g, x: g("ReduceSum", x, axis_of(g, axis), keepdims=0)


GRAPHS: dict[str, Callable[..., Any]] = {
    "mean": mean,
    "sum_of_product": sum_of_product,
    "chain": chain,
    "black_scholes": black_scholes,
    "softmax": lambda g, x: g("Softmax", x, axis=-1),
    "layernorm": layernorm,
    "matmul_1024": lambda g, a, b: g("MatMul", a, b),
    "matmul_2048": lambda g, a, b: g("MatMul", a, b),
    "mlp": mlp,
    "matmul_int8": lambda g, a, b: g("MatMulInteger", a, b),
    "attention": attention,
    "conv2d": conv2d,
    "residual_block": residual_block,
    "lstm": lstm,
    "transformer_block": transformer_block,
    "sort": lambda g, x: g("TopK", x, axis_of(g, 1 << 20), outputs=2, largest=0)[0],
    "cumsum": lambda g, x: g("CumSum", x, g.constant(0, np.int64)),
    "top_k": lambda g, x: g("TopK", x, axis_of(g, 100), outputs=2),
    "gather": lambda g, table, rows: g("Gather", table, rows, axis=0),
    "transpose": lambda g, x: g("Transpose", x, perm=(1, 0)),
    "reduce_0": reduction(0),
    "reduce_1": reduction(1),
    "small_add": lambda g, x, y: g("Add", x, y),
}
"""Inference that ONNX has operators for; its ScatterElements takes an index for each element, not for each row."""
PICTURES = ("conv2d", "residual_block")


def converted(row: Row, arguments: Arguments) -> list[np.ndarray]:
    """The arguments in ONNX's layouts: pictures with channels first, LSTM's gates as i, o, f, c and by rows."""
    if row.name in PICTURES:
        orders = {0: (0, 3, 1, 2)}
        return [
            np.ascontiguousarray(x.transpose(orders.get(i, (3, 2, 0, 1)))) if x.ndim == 4 else x
            for i, x in enumerate(arguments)
        ]
    if row.name == "lstm":
        inputs, w, u, bias = arguments

        def gates(x: np.ndarray) -> np.ndarray:
            i, f, g, o = np.split(x, 4, -1)
            return np.concatenate([i, o, f, g], -1)

        return [inputs, gates(w).T[None], gates(u).T[None], np.concatenate([gates(bias), 0 * bias])[None]]
    return list(arguments)


def back(row: Row, results: list[np.ndarray]) -> list[np.ndarray]:
    return [x.transpose(0, 2, 3, 1) for x in results] if row.name in PICTURES else results


def model_of(row: Row, arguments: list[np.ndarray]) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """The model, and what it is fed."""
    graph = Graph()
    first = WEIGHTS.get(row.name, len(arguments))
    names = [f"a{i}" if i < first else graph.constant(x, x.dtype) for i, x in enumerate(arguments)]
    outputs = GRAPHS[row.name](graph, *names)
    outputs = [outputs] if isinstance(outputs, str) else outputs
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for name, x in zip(names[:first], arguments, strict=False)
    ]
    results = [helper.make_empty_tensor_value_info(name) for name in outputs]
    proto = helper.make_graph(graph.nodes, row.name, inputs, results, graph.constants)
    model = helper.make_model(proto, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    return model, dict(zip(names[:first], arguments, strict=False))


def prepare(row: Row, system: str, arguments: Arguments) -> Callable[[], Any] | None:
    if row.name not in GRAPHS:
        return None
    model, fed = model_of(row, converted(row, arguments))
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return lambda: session.run(None, fed)
