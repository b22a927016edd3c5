"""Texts of random programs whose loops treat each element by itself."""

from __future__ import annotations

import numpy as np

_FLOAT = ("add", "subtract", "multiply", "maximum", "minimum", "divide")
_INTEGER = ("add", "subtract", "multiply", "maximum", "xor", "and")


class _Region:
    """Lines of a region under construction, and the names of its values by kind."""

    def __init__(self, numbers: np.random.Generator, shape: str, prefix: str):
        self.numbers = numbers
        self.shape = shape
        self.prefix = prefix
        self.lines: list[str] = []
        self.names: dict[str, list[str]] = {"f32": [], "i32": [], "i1": [], "scalar": []}

    def type(self, kind: str) -> str:
        return "tensor<i32>" if kind == "scalar" else f"tensor<{self.shape}x{kind}>"

    def emit(self, kind: str, text: str) -> str:
        name = f"%{self.prefix}{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        self.names[kind].append(name)
        return name

    def pick(self, kind: str) -> str:
        names = self.names[kind]
        if not names or self.numbers.random() < 0.1:
            return self.constant(kind)
        return names[int(self.numbers.integers(len(names)))]

    def constant(self, kind: str) -> str:
        if kind == "i1":
            return self.compare()
        value = f"{self.numbers.uniform(-2, 2):.3e}" if kind == "f32" else str(self.numbers.integers(-3, 9))
        return self.emit(kind, f"hlo.constant dense<{value}> : {self.type(kind)}")

    def compare(self) -> str:
        kind = str(self.numbers.choice(["f32", "i32"]))
        direction = self.numbers.choice(["LT", "LE", "GT", "EQ", "NE"])
        operands = f"{self.pick(kind)}, {self.pick(kind)}"
        types = f"({self.type(kind)}, {self.type(kind)}) -> {self.type('i1')}"
        return self.emit("i1", f"hlo.compare {direction}, {operands} : {types}")

    def grow(self) -> None:
        """One more operation."""
        choice = self.numbers.random()
        if choice < 0.4:
            op = self.numbers.choice(_FLOAT)
            self.emit("f32", f"hlo.{op} {self.pick('f32')}, {self.pick('f32')} : {self.type('f32')}")
        elif choice < 0.55:
            op = self.numbers.choice(_INTEGER)
            self.emit("i32", f"hlo.{op} {self.pick('i32')}, {self.pick('i32')} : {self.type('i32')}")
        elif choice < 0.75:
            kind = str(self.numbers.choice(["f32", "i32"]))
            test, first, second = self.pick("i1"), self.pick(kind), self.pick(kind)
            self.emit(kind, f"hlo.select {test}, {first}, {second} : {self.type('i1')}, {self.type(kind)}")
        elif choice < 0.85:
            self.emit("i32", f"hlo.convert {self.pick('i1')} : ({self.type('i1')}) -> {self.type('i32')}")
        else:
            types = f"(tensor<i32>) -> {self.type('i32')}"
            self.emit("i32", f"hlo.broadcast_in_dim {self.pick('scalar')}, dims = [] : {types}")


def random_loop(seed: int, shape: tuple[int, ...]) -> str:
    """
    A program of two f32 arrays and an i32 array of one shape, and a number; its loop carries three such and a counter.

    One of three programs ends when no element goes on, and leaves alone those that have ended; one counts to a
    constant, and one to the number.
    """
    numbers = np.random.default_rng(seed)
    dims = "x".join(map(str, shape))
    body = _Region(numbers, dims, "b")
    floats, integers = body.type("f32"), body.type("i32")
    body.names.update(f32=["%x", "%y", "%p"], i32=["%n"], scalar=["%i"])
    for _ in range(int(numbers.integers(4, 14))):
        body.grow()
    following = [body.pick("f32"), body.pick("f32"), body.pick("i32")]
    by_element = seed % 3 == 0
    limit = int(numbers.integers(1, 40))
    test: list[str] = []
    if by_element:
        bound = f"hlo.compare LT, %n, %limit : ({integers}, {integers}) -> {body.type('i1')}"
        test = [f"%limit = hlo.constant dense<{limit}> : {integers}", f"%below = {bound}"]
        test.append(f"%small = hlo.compare LT, %x, %p : ({floats}, {floats}) -> {body.type('i1')}")
        test.append(f"%goes = hlo.and %below, %small : {body.type('i1')}")
        body.lines += [
            *test,
            f"%unit = hlo.constant dense<1> : {integers}",
            f"%more = hlo.add %n, %unit : {integers}",
            f"%xn = hlo.select %goes, {following[0]}, %x : {body.type('i1')}, {floats}",
            f"%yn = hlo.select %goes, {following[1]}, %y : {body.type('i1')}, {floats}",
            f"%nn = hlo.select %goes, %more, %n : {body.type('i1')}, {integers}",
        ]
        following = ["%xn", "%yn", "%nn"]
    every = ", ".join(str(i) for i in range(len(shape)))
    if by_element:
        reduced = f"({body.type('i1')}, tensor<i1>) -> tensor<i1>"
        test += [
            "%no = hlo.constant dense<false> : tensor<i1>",
            f"%go = hlo.reduce(%goes init: %no) applies hlo.or across dimensions = [{every}] : {reduced}",
        ]
    else:
        test = [f"%limit = hlo.constant dense<{limit}> : tensor<i32>"] if seed % 3 == 1 else []
        test += [
            f"%go = hlo.compare LT, %i, {'%limit' if seed % 3 == 1 else '%k'} : (tensor<i32>, tensor<i32>) -> tensor<i1>",
        ]
    zero = "%zeros" if by_element else "%m"
    lines = [
        f"func.func @main(%u: {floats}, %p: {floats}, %m: {integers}, %k: tensor<i32>)",
        f"    -> ({floats}, {floats}, {integers}, tensor<i32>) {{",
        "%zero = hlo.constant dense<0> : tensor<i32>",
        f"%zeros = hlo.constant dense<0> : {integers}",
        f"%r:4 = hlo.while(%i = %zero, %x = %u, %y = %p, %n = {zero}) : tensor<i32>, {floats}, {floats}, {integers}",
        "cond {",
        *test,
        "hlo.return %go : tensor<i1>",
        "} do {",
        *body.lines,
        "%one = hlo.constant dense<1> : tensor<i32>",
        "%next = hlo.add %i, %one : tensor<i32>",
        f"hlo.return %next, {', '.join(following)} : tensor<i32>, {floats}, {floats}, {integers}",
        "}",
        f"return %r#1, %r#2, %r#3, {'%k' if by_element else '%r#0'} : {floats}, {floats}, {integers}, tensor<i32>",
        "}",
    ]
    return "\n".join(lines)


def random_arrays(seed: int, shape: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Arguments of such a program."""
    numbers = np.random.default_rng(seed)
    x, y = (numbers.uniform(-2, 2, shape).astype(np.float32) for _ in range(2))
    return x, y, numbers.integers(-4, 10, shape).astype(np.int32), np.int32(numbers.integers(0, 40))
