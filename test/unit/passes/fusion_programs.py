"""Programs for tests of fuse-hlo, also random ones, and a comparison of their results."""

from __future__ import annotations

import random

import numpy as np

from hlo_programs import Program

FRONT = "inline,simplify-hlo,cse,"


def program(arguments: str, body: str, result: str = "") -> str:
    return f"func.func @main({arguments}) -> {result} {{\n{body}\n}}"


def same_results(text: str, pipeline: str, seed: int = 0) -> None:
    """Fail unless the pipeline keeps the results that the reference gives on random inputs."""
    inputs = random_inputs(Program(text).module, np.random.default_rng(seed))
    Program(text).after(pipeline).same_results(*inputs, rtol=1e-5)


def random_inputs(module, rng: np.random.Generator) -> list[np.ndarray]:
    function = next(op for op in module.body.block.ops if op.sym_name.data == "main")
    return [
        np.asarray(rng.standard_normal(argument.type.get_shape()), np.float32) for argument in function.body.block.args
    ]


def random_program(rng: random.Random, size: int, side: int = 4) -> str:
    """Elementwise operations, reductions, broadcasts, transposes, slices and contractions, at random."""
    lines = ["  %z = hlo.constant dense<0.0> : tensor<f32>", "  %one = hlo.constant dense<1.0> : tensor<f32>"]
    full, row, scalar = (f"tensor<{side}x{side + 1}xf32>", f"tensor<{side}xf32>", "tensor<f32>")
    values: dict[str, list[str]] = {full: ["%x", "%y"], row: ["%v", "%v"], scalar: ["%z", "%one"]}
    for number in range(size):
        name = f"%n{number}"
        type_ = rng.choice([full, full, full, row, scalar])
        pick = lambda t: rng.choice(values[t][-6:])  # noqa: E731
        choice = rng.random()
        if choice < 0.55:
            op = rng.choice(["add", "multiply", "maximum", "subtract"])
            lines.append(f"  {name} = hlo.{op} {pick(type_)}, {pick(type_)} : {type_}")
        elif choice < 0.65:
            op = rng.choice(["tanh", "logistic", "negate", "sine"])
            lines.append(f"  {name} = hlo.{op} {pick(type_)} : {type_}")
        elif type_ == full and choice < 0.8:
            lines.append(
                f"  {name} = hlo.broadcast_in_dim {pick(row)}, dims = [0] : ({row}) -> {full}"
                if rng.random() < 0.7
                else f"  {name} = hlo.reverse {pick(full)}, dims = [1] : {full}"
            )
        elif type_ == full:
            square = f"tensor<{side}x{side}xf32>"
            lines.append(
                f"  {name}s = hlo.dot_general {pick(full)}, {pick(full)}, contracting_dims = [1] x [1]"
                f" : ({full}, {full}) -> {square}"
            )
            lines.append(
                f"  {name} = hlo.dot_general {name}s, {pick(full)}, contracting_dims = [1] x [0]"
                f" : ({square}, {full}) -> {full}"
            )
            lines.append(f"  {name}t = hlo.tanh {name} : {full}")
            name += "t"
        elif type_ == row:
            lines.append(
                f"  {name} = hlo.reduce({pick(full)} init: %z) applies hlo.maximum across dimensions = [1]"
                f" : ({full}, {scalar}) -> {row}"
            )
        else:
            lines.append(
                f"  {name} = hlo.reduce({pick(row)} init: %z) applies hlo.maximum across dimensions = [0]"
                f" : ({row}, {scalar}) -> {scalar}"
            )
        values[type_].append(name)
    outputs = [(values[t][-k], t) for t in (full, row, scalar) for k in (1, 2)]
    lines.append(f"  return {', '.join(v for v, _ in outputs)} : {', '.join(t for _, t in outputs)}")
    types = ", ".join(t for _, t in outputs)
    return program(f"%x: {full}, %y: {full}, %v: {row}", "\n".join(lines), f"({types})")
