"""A program as a graph in the language of Graphviz: an operation of the entry is a node, a value an edge."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ..dialect import make_context
from ..reading import parse_module


def graph_of(text: str) -> str:
    """
    The functions of a program, given as text, as one graph.

    Regions, such as those of kernels and loops, are boxes around their operations.
    """
    module = parse_module(text, "<program>", make_context())
    writer = _Writer()
    for op in module.body.block.ops:
        if isinstance(op, FuncOp):
            writer.lines.append(f"  // {op.sym_name.data}")
            for block in op.body.blocks:
                writer.block(block, "  ")
    return "\n".join(["digraph program {", "  node [shape=box, fontname=monospace];", *writer.lines, "}"]) + "\n"


class _Writer:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self._names: dict[SSAValue | Operation, str] = {}
        self._boxes = 0

    def _named(self, key: SSAValue | Operation) -> str:
        return self._names.setdefault(key, f"n{len(self._names)}")

    def block(self, block: Block, indent: str) -> None:
        for argument in block.args:
            label = f"%{argument.name_hint or f'arg{argument.index}'}\\n{argument.type}"
            self.lines.append(f'{indent}{self._named(argument)} [label="{_quoted(label)}", shape=ellipse];')
        for op in block.ops:
            self._operation(op, indent)

    def _operation(self, op: Operation, indent: str) -> None:
        types = "\\n".join(str(result.type) for result in op.results)
        label = f"{op.name}\\n{types}" if types else op.name
        inner = [block for region in op.regions for block in region.blocks]
        if inner:
            self.lines.append(f'{indent}subgraph cluster_{self._boxes} {{ label="{_quoted(op.name)}";')
            self._boxes += 1
            for block in inner:
                self.block(block, indent + "  ")
            self.lines.append(f'{indent}  {self._named(op)} [label="{_quoted(label)}"];')
            self.lines.append(f"{indent}}}")
        else:
            self.lines.append(f'{indent}{self._named(op)} [label="{_quoted(label)}"];')
        for operand in op.operands:
            source = operand if isinstance(operand, BlockArgument) else operand.owner
            assert not isinstance(source, Block)
            self.lines.append(f"{indent}{self._named(source)} -> {self._named(op)};")


def _quoted(text: str) -> str:
    return text.replace('"', '\\"')
