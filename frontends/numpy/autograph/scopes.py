"""The names that statements assign, and the jumps in them: the questions of the rewriting of control flow."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
BLOCKED = (ast.Yield, ast.YieldFrom, ast.Await, ast.Delete)


def walk(nodes: Iterable[ast.AST], into_loops: bool = True) -> Iterator[ast.AST]:
    """The nodes of one function: not those of functions in it."""
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, FUNCTIONS) or (isinstance(node, LOOPS) and not into_loops):
            continue
        waiting += ast.iter_child_nodes(node)


def assigned(statements: Sequence[ast.stmt]) -> list[str]:
    """The names that statements bind, item assignment included, in order."""
    found: dict[str, None] = {}
    for node in walk(statements):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found[node.id] = None
        elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            found[node.name] = None
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            base: ast.AST = node.value
            while isinstance(base, ast.Subscript):
                base = base.value
            if isinstance(base, ast.Name):
                found[base.id] = None
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found.update(dict.fromkeys((one.asname or one.name).partition(".")[0] for one in node.names))
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found[node.name] = None
    return sorted(found)


def declared(statements: Sequence[ast.stmt]) -> tuple[set[str], set[str]]:
    """The names that a function declares global, and nonlocal."""
    outer: tuple[set[str], set[str]] = set(), set()
    for node in walk(statements):
        if isinstance(node, ast.Global):
            outer[0].update(node.names)
        elif isinstance(node, ast.Nonlocal):
            outer[1].update(node.names)
    return outer


def leaves(statements: Sequence[ast.stmt], kinds: tuple[type[ast.AST], ...]) -> bool:
    """Whether statements contain a `return`, or a `break` or `continue` of the loop around them."""
    into_loops = not {*kinds} <= {ast.Break, ast.Continue}
    return any(isinstance(node, kinds) for node in walk(statements, into_loops))


def only_under_branches(statements: Sequence[ast.stmt], kinds: tuple[type[ast.AST], ...]) -> bool:
    """Whether they are in `if` statements only, not in loops, `with` or `try`."""
    for statement in statements:
        if isinstance(statement, ast.If):
            if not only_under_branches([*statement.body, *statement.orelse], kinds):
                return False
        elif isinstance(statement, LOOPS) and ast.Return not in kinds:
            continue
        elif not isinstance(statement, kinds) and leaves([statement], kinds):
            return False
    return True


def problem_of(statements: Sequence[ast.stmt]) -> str:
    """Why statements cannot be a part of a program's control flow; empty if they can."""
    for node in walk(statements):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            return f"the attribute .{node.attr} is assigned in line {node.lineno}"
        if isinstance(node, ast.Global | ast.Nonlocal):
            return f"a variable of another function is assigned in line {node.lineno}"
    return ""
