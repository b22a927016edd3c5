"""
Programs by the grammar of the dialects: every operation with operands, properties, results and regions as its class
defines them, of types and values at random. Few are valid.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache

from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation, OptionalDef, OptOperandDef, OptResultDef, VarOperandDef, VarRegionDef, VarResultDef

from ...hlo_dialect.dialect import hlo_operations, make_context
from ...hlo_dialect.reading import parse_module
from ...hlo_dialect.reading.older_forms import accepts
from ...hlo_dialect.walking import operations_in
from .operations import random_program

_ELEMENTS = ("f32", "f32", "f32", "i32", "i64", "i1", "ui8", "bf16", "f64", "i4", "f8E4M3FN", "complex<f32>", "index",
             "!quant.uniform<i8:f32, 0.5:3>", "i7", "none")  # fmt: skip
_SIZES = ("0", "1", "1", "2", "3", "4", "4", "8", "?", "16", "1099511627776", "9223372036854775807")
_INTEGERS = (0, 0, 1, 1, 2, 3, 4, -1, 7, 64, 1 << 31, (1 << 63) - 1, -(1 << 63))
_OTHER_TYPES = ("!stablehlo.token", "tuple<tensor<4xf32>, tensor<i32>>", "tuple<>", "!stablehlo.future<tensor<4xf32>>",
                "f32", "index", "memref<4xf32>", "vector<4xf32>", "tensor<*xf32>", "none", "() -> ()")  # fmt: skip


@cache
def _operations() -> tuple[type[IRDLOperation], ...]:
    ctx = make_context()
    chlo = ctx.get_dialect("chlo").operations
    found = [op for op in (*hlo_operations(), *chlo) if issubclass(op, IRDLOperation)]
    return tuple(sorted(found, key=lambda op: op.name))


@cache
def _known_values() -> tuple[tuple[str, Attribute], ...]:
    """Attributes as (text, value): those of random programs, and simple ones."""
    found: dict[str, Attribute] = {}
    for seed in range(40):
        module = parse_module(random_program(random.Random(seed)).text, "random.mlir", make_context())
        for op in operations_in(module):
            found.update((str(value), value) for value in op.properties.values() if len(str(value)) < 400)
    texts = [
        "unit",
        "true",
        "false",
        '"text"',
        "@main",
        "@gone",
        "f32",
        "tensor<4xf32>",
        "[]",
        "{}",
        "dense<0> : tensor<2x2xi64>",
    ]
    texts += [f"{number} : i64" for number in _INTEGERS] + [f"{number} : i32" for number in _INTEGERS[:9]]
    texts += ["1.0 : f32", "0x7FC00000 : f32", "dense<> : tensor<0x2xi64>", "array<i64>", "array<i1: true, false>"]
    text = ", ".join(f"a{index} = {value}" for index, value in enumerate(texts))
    module = parse_module(f"module attributes {{{text}}} {{}}", "values.mlir", make_context(), verify=False)
    found.update((str(value), value) for value in module.attributes.values())
    return tuple(found.items())


@cache
def _fitting(op: type[IRDLOperation], name: str) -> tuple[str, ...]:
    """The texts of the known attributes that a property takes."""
    constraint = op.get_irdl_definition().properties[name].constr
    return tuple(text for text, value in _known_values() if accepts(constraint, value))


class _Writer:
    def __init__(self, numbers: random.Random):
        self.numbers = numbers
        self.values: list[tuple[str, str]] = []
        self.count = 0

    def type(self) -> str:
        numbers = self.numbers
        if numbers.random() < 0.05:
            return numbers.choice(_OTHER_TYPES)
        if self.values and numbers.random() < 0.5:
            return numbers.choice(self.values)[1]
        rank = numbers.choice((0, 0, 1, 1, 1, 2, 2, 3, 4, 65 if numbers.random() < 0.1 else 2))
        return f"tensor<{''.join(f'{numbers.choice(_SIZES)}x' for _ in range(rank))}{numbers.choice(_ELEMENTS)}>"

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def number_of(self, definition: object, optional: type, variadic: type) -> int:
        if isinstance(definition, optional):
            return self.numbers.randrange(2)
        return self.numbers.choice((0, 1, 1, 2, 3)) if isinstance(definition, variadic) else 1

    def property_text(self, op: type[IRDLOperation], name: str) -> str:
        numbers, fitting = self.numbers, _fitting(op, name)
        if numbers.random() < 0.4 and any(text.startswith("array<i64") for text in fitting):
            return f"array<i64: {', '.join(str(numbers.choice(_INTEGERS)) for _ in range(numbers.randint(1, 4)))}>"
        if not fitting or numbers.random() < 0.03:
            return numbers.choice(_known_values())[0]
        return numbers.choice(fitting)

    def operation(self, depth: int = 0) -> str:
        numbers = self.numbers
        op = numbers.choice(_operations())
        definition = op.get_irdl_definition()
        operands: list[tuple[str, str]] = []
        for _, operand in definition.operands:
            count = self.number_of(operand, OptOperandDef, VarOperandDef)
            operands += [numbers.choice(self.values) for _ in range(count)]
        properties = [
            f"{name} = {self.property_text(op, name)}"
            for name, known in definition.properties.items()
            if numbers.random() < (0.3 if isinstance(known, OptionalDef) else 0.97)
        ]
        results: list[str] = []
        for _, result in definition.results:
            for _ in range(self.number_of(result, OptResultDef, VarResultDef)):
                like = operands and numbers.random() < 0.5
                results.append(numbers.choice(operands)[1] if like else self.type())
        regions: list[str] = []
        for _, region in definition.regions:
            count = numbers.choice((0, 1, 2)) if isinstance(region, VarRegionDef) else 1
            regions += [self.region(depth + 1, [type_ for _, type_ in operands]) for _ in range(count)]
        text = f'"{op.name.replace("hlo.", "stablehlo.", 1) if op.name.startswith("hlo.") else op.name}"'
        text += f"({', '.join(name for name, _ in operands)})"
        text += f" <{{{', '.join(properties)}}}>" if properties else ""
        text += f" ({', '.join(regions)})" if regions else ""
        text += f" : ({', '.join(type_ for _, type_ in operands)}) -> ({', '.join(results)})"
        names = [self.name() for _ in results]
        self.values += zip(names, results, strict=True)
        return f"{', '.join(names)} = {text}" if names else text

    def region(self, depth: int, around: Sequence[str]) -> str:
        numbers = self.numbers
        if numbers.random() < 0.05:
            return "{}"
        outer = list(self.values)
        scalars = [f"tensor<{type_.rpartition('x')[2]}" for type_ in around if "x" in type_ and type_.endswith("f32>")]
        types = [numbers.choice((*scalars, *around, "tensor<f32>")) for _ in range(numbers.choice((0, 1, 2, 2, 2, 4)))]
        arguments = [(self.name(), type_) for type_ in types]
        self.values += arguments
        lines = [self.operation(depth) for _ in range(numbers.choice((0, 0, 1, 2)) if depth < 4 else 0)]
        returned = [numbers.choice(self.values) for _ in range(numbers.choice((0, 1, 1, 2)))] if self.values else []
        names, kinds = ", ".join(name for name, _ in returned), ", ".join(type_ for _, type_ in returned)
        if numbers.random() < 0.95:
            lines.append(f'"stablehlo.return"({names}) : ({kinds}) -> ()')
        self.values = outer
        head = f"^bb0({', '.join(f'{name}: {type_}' for name, type_ in arguments)}):\n" if arguments else ""
        return "{\n" + head + "\n".join(lines) + "\n}"

    def program(self) -> str:
        numbers = self.numbers
        self.values = [(self.name(), self.type()) for _ in range(numbers.randint(2, 5))]
        arguments = ", ".join(f"{name}: {type_}" for name, type_ in self.values)
        lines = [self.operation() for _ in range(numbers.choice((1, 1, 2, 4)))]
        results = [numbers.choice(self.values) for _ in range(numbers.randint(0, 2))]
        names, kinds = ", ".join(name for name, _ in results), ", ".join(type_ for _, type_ in results)
        lines.append(f"return {names} : {kinds}" if results else "return")
        body = "\n".join(f"  {line}" for line in lines)
        return f"func.func @main({arguments}) -> ({kinds}) {{\n{body}\n}}\n"


def grammatical_program(numbers: random.Random) -> str:
    """The text of a program with one to four operations, in generic syntax."""
    return _Writer(numbers).program()
