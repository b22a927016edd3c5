"""
Rewrites a function's source: `if`, `while`, `for`, `and`, `or`, `not`, comparisons in a row and conditional expressions
become calls of runtime.py. Lines and columns stay those of the source.

    if x > 0:            def then():
        y = x                nonlocal y
                             y = x
                         .. and `get`, `put` of y; then
                         if_(x > 0, then, otherwise, get, put, Statement(("y",)))

First `break`, `continue` and `return` are replaced by variables. A loop that contains a `return`, and a statement with
`break` or `return` inside of `with` or `try`, stay as they are: then only Python decides them.
"""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Callable, Sequence
from types import CellType, CodeType, FunctionType
from typing import Any, cast

from ..errors import TraceError
from . import runtime, scopes

RUNTIME = "__xhlo_autograph"
RETURNED = "__xhlo_returned"


def rewritten(function: Callable[..., Any]) -> Callable[..., Any]:
    """
    The function with control flow that the run may decide. Its closure, defaults and lines are the same.

    Raises TraceError for a function without source, or one that is no `def`.
    """
    bound = inspect.unwrap(function)
    if not isinstance(bound, FunctionType) or bound.__name__ == "<lambda>":
        raise TraceError(f"autograph=True rewrites functions with `def`, not {function!r}", "def f(..): return ..")
    code = _inner_code(_compiled(bound), bound.__name__)
    cells = dict(zip(bound.__code__.co_freevars, bound.__closure__ or (), strict=True))
    cells[RUNTIME] = CellType(runtime)
    made = FunctionType(
        code, bound.__globals__, bound.__name__, bound.__defaults__, tuple(cells[name] for name in code.co_freevars)
    )
    made.__kwdefaults__ = bound.__kwdefaults__
    made.__qualname__ = bound.__qualname__
    return made


def _compiled(function: FunctionType) -> CodeType:
    try:
        lines, first = inspect.getsourcelines(function)
    except OSError:
        raise TraceError(
            f"autograph=True: the source of {function.__name__} is not there", "a function in a file"
        ) from None
    # Under an `if` the source may be indented, so that columns stay.
    indented = lines[0][:1].isspace()
    tree = ast.parse(("if 1:\n" if indented else "") + "".join(lines))
    ast.increment_lineno(tree, first - 1 - indented)
    node = next(one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef))
    node.decorator_list = []
    node.returns = None
    _Rewriter().function(node)
    for arguments in (node.args.args, node.args.kwonlyargs, node.args.posonlyargs):
        for argument in arguments:
            argument.annotation = None
    for argument in (node.args.vararg, node.args.kwarg):
        if argument is not None:
            argument.annotation = None
    node.args.defaults, node.args.kw_defaults = [], [None] * len(node.args.kwonlyargs)
    factory = ast.FunctionDef("__xhlo_factory", _arguments([RUNTIME, *function.__code__.co_freevars]), [node], [])
    outer = ast.copy_location(factory, node)
    module = ast.fix_missing_locations(ast.Module([outer], []))
    return compile(module, function.__code__.co_filename, "exec", dont_inherit=True)


def _inner_code(code: CodeType, name: str) -> CodeType:
    (factory,) = (one for one in code.co_consts if isinstance(one, CodeType))
    return next(one for one in factory.co_consts if isinstance(one, CodeType) and one.co_name == name)


def _arguments(names: Sequence[str]) -> ast.arguments:
    return ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _assign(name: str, value: ast.expr, at: ast.AST) -> ast.stmt:
    return ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], value), at)


def _lambda(body: ast.expr) -> ast.Lambda:
    return ast.Lambda(_arguments(()), body)


def _call(name: str, arguments: Sequence[ast.expr], at: ast.AST) -> ast.Call:
    """A call of the runtime, at the place of a node."""
    made = ast.Call(ast.Attribute(_load(RUNTIME), name, ast.Load()), list(arguments), [])
    for node in ast.walk(made):
        if "lineno" in node._attributes and not hasattr(node, "lineno"):
            ast.copy_location(node, at)
    return made


class _Rewriter(ast.NodeTransformer):
    """Rewrites one function; those in it have rewriters of their own."""

    def __init__(self) -> None:
        self._count = 0
        self._globals: set[str] = set()
        self._bound: set[str] = set()
        """The names that functions made here bind, which therefore must be the function's variables."""

    def function(self, node: ast.FunctionDef) -> None:
        """Rewrite a function in place."""
        arguments = {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}
        self._globals, outer = scopes.declared(node.body)
        body = node.body
        early = any(isinstance(one, ast.If) and scopes.leaves([one], (ast.Return,)) for one in body)
        if early and scopes.only_under_branches(body, (ast.Return,)):
            body = [*_without_returns(body, node), ast.copy_location(ast.Return(_load(RETURNED)), body[-1])]
        body = self._statements(body)
        missing = sorted(self._bound - arguments - self._globals - outer)
        undefined = [_assign(name, _call("undefined", [ast.Constant(name)], node), node) for name in missing]
        node.body = [*undefined, *body]

    def _statements(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for statement in statements:
            found = self.visit(statement)
            result += found if isinstance(found, list) else [found]
        return result

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        inner = _Rewriter()
        inner.function(node)
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node

    # Statements.

    def _name(self, what: str) -> str:
        self._count += 1
        return f"__xhlo_{what}_{self._count}"

    def _body(self, name: str, statements: list[ast.stmt], names: list[str], at: ast.AST, item: str = "") -> ast.stmt:
        """Statements as a function that binds the variables of this one."""
        body = [*self._declarations(names), *(statements or [ast.Pass()])]
        made = ast.FunctionDef(name, _arguments([item] if item else []), body, [])
        return ast.copy_location(made, at)

    def _declarations(self, names: list[str]) -> list[ast.stmt]:
        shared = [name for name in names if name in self._globals]
        own = [name for name in names if name not in self._globals]
        self._bound.update(own)
        return [*([ast.Global(shared)] if shared else []), *([ast.Nonlocal(own)] if own else [])]

    def _state(
        self, names: list[str], statements: list[ast.stmt], at: ast.AST
    ) -> tuple[list[ast.stmt], list[ast.expr]]:
        """The functions that read and write the variables, and the arguments that state them."""
        get, put = self._name("get"), self._name("put")
        values = ast.Tuple([_load(name) for name in names], ast.Load())
        targets = ast.Tuple([ast.Name(name, ast.Store()) for name in names], ast.Store())
        write: list[ast.stmt] = [ast.Assign([targets], _load("__xhlo_values"))] if names else []
        made = [
            self._body(get, [ast.Return(values)], names, at),
            self._body(put, write, names, at, "__xhlo_values"),
        ]
        shown: list[ast.expr] = [ast.Constant(runtime.RETURNED if name == RETURNED else name) for name in names]
        statement = _call("Statement", [ast.Tuple(shown, ast.Load()), ast.Constant(scopes.problem_of(statements))], at)
        return made, [_load(get), _load(put), statement]

    def visit_If(self, node: ast.If) -> Any:
        both = [*node.body, *node.orelse]
        if _must_stay(both) or any(scopes.leaves(both, (kind,)) for kind in (ast.Return, ast.Break, ast.Continue)):
            return self.generic_visit(node)
        names = scopes.assigned(both)
        then, otherwise = self._name("then"), self._name("else")
        state, arguments = self._state(names, both, node)
        test = self.visit(node.test)
        made = [
            self._body(then, self._statements(node.body), names, node),
            self._body(otherwise, self._statements(node.orelse), names, node),
            *state,
        ]
        call = _call("if_", [test, _load(then), _load(otherwise), *arguments], node.test)
        return [*made, ast.copy_location(ast.Expr(call), node)]

    def visit_While(self, node: ast.While) -> Any:
        return self._loop(node, node.test)

    def visit_For(self, node: ast.For) -> Any:
        return self._loop(node, None)

    def _loop(self, node: ast.For | ast.While, test: ast.expr | None) -> Any:
        kinds = (ast.Break, ast.Continue)
        if (
            _must_stay([node])
            or (test is not None and any(isinstance(one, ast.NamedExpr) for one in ast.walk(test)))
            or scopes.leaves(node.body, (ast.Return,))
            or not scopes.only_under_branches(node.body, kinds)
        ):
            return self.generic_visit(node)
        before, body, goes_on = self._without_jumps(node)
        after = node.orelse
        if after and goes_on is not None:
            after = [ast.copy_location(ast.If(copy.deepcopy(goes_on), after, []), node)]
        names = scopes.assigned(body)
        if isinstance(node, ast.For):
            names = sorted({*names, *scopes.assigned([ast.Assign([node.target], ast.Constant(None))])})
        state, arguments = self._state(names, body, node)
        name = self._name("body")
        if isinstance(node, ast.For):
            item = self._name("item")
            target = ast.copy_location(ast.Assign([node.target], _load(item)), node.target)
            function = self._body(name, [target, *self._statements(body)], names, node, item)
            more = [] if goes_on is None else [_lambda(self.visit(goes_on))]
            call = _call("for_", [self._items(node.iter), _load(name), *arguments, *more], node.iter)
        else:
            assert test is not None
            whole = test if goes_on is None else ast.copy_location(ast.BoolOp(ast.And(), [goes_on, test]), test)
            function = self._body(name, self._statements(body), names, node)
            call = _call("while_", [_lambda(self.visit(whole)), _load(name), *arguments], test)
        loop = ast.copy_location(ast.Expr(call), node)
        return [*before, function, *state, loop, *self._statements(after)]

    def _items(self, node: ast.expr) -> ast.expr:
        """The iterable of a loop: `range` also of numbers that only the run knows."""
        plain = isinstance(node, ast.Call) and not node.keywords
        visited = self.visit(node)
        if (
            plain
            and isinstance(visited, ast.Call)
            and isinstance(visited.func, ast.Name)
            and visited.func.id == "range"
        ):
            return _call("range_", [visited.func, *visited.args], node)
        return visited

    def _without_jumps(self, node: ast.For | ast.While) -> tuple[list[ast.stmt], list[ast.stmt], ast.expr | None]:
        """The statements before the loop, its body with variables in place of jumps, and whether it goes on."""
        flags = {kind: self._name(kind.__name__.lower()) for kind in (ast.Break, ast.Continue)}
        used = {kind for kind in flags if scopes.leaves(node.body, (kind,))}
        if not used:
            return [], node.body, None
        body = _flagged(node.body, {kind: flags[kind] for kind in used})
        if ast.Continue in used:
            body.insert(0, _assign(flags[ast.Continue], ast.Constant(False), node))
        before = [_assign(flags[kind], ast.Constant(False), node) for kind in used]
        self._bound.update(flags[kind] for kind in used)
        goes_on = _negated([flags[ast.Break]], node) if ast.Break in used else None
        return before, body, goes_on

    # Expressions.

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        visited = cast(ast.BoolOp, self.generic_visit(node))
        if any(isinstance(one, ast.NamedExpr | ast.Yield | ast.Await) for one in ast.walk(node)):
            return visited
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        return _call(name, [_lambda(value) for value in visited.values], node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        visited = cast(ast.UnaryOp, self.generic_visit(node))
        return _call("not_", [visited.operand], node) if isinstance(node.op, ast.Not) else visited

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        visited = cast(ast.IfExp, self.generic_visit(node))
        if any(isinstance(one, ast.NamedExpr | ast.Yield | ast.Await) for one in ast.walk(node)):
            return visited
        return _call("either", [visited.test, _lambda(visited.body), _lambda(visited.orelse)], node)

    def visit_Compare(self, node: ast.Compare) -> Any:
        """`a < b < c`, where b is written twice without computing it twice."""
        visited = cast(ast.Compare, self.generic_visit(node))
        inner = visited.comparators[:-1]
        if not inner or not all(isinstance(one, ast.Name | ast.Constant) for one in inner):
            return visited
        sides = [visited.left, *visited.comparators]
        parts = [
            ast.copy_location(ast.Compare(copy.deepcopy(left), [op], [right]), node)
            for left, op, right in zip(sides, visited.ops, sides[1:], strict=False)
        ]
        return _call("and_", [_lambda(part) for part in parts], node)


def _must_stay(statements: Sequence[ast.stmt]) -> bool:
    return scopes.leaves(statements, scopes.BLOCKED)


def _negated(flags: Sequence[str], at: ast.AST) -> ast.expr:
    tests: list[ast.expr] = [ast.UnaryOp(ast.Not(), _load(flag)) for flag in flags]
    made = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
    for node in ast.walk(made):
        ast.copy_location(node, at)
    return made


def _flagged(statements: Sequence[ast.stmt], flags: dict[type[ast.stmt], str]) -> list[ast.stmt]:
    """Jumps out of a loop's body as assignments to flags, under which the rest does not run."""
    result: list[ast.stmt] = []
    kinds = tuple(flags)
    for number, statement in enumerate(statements):
        if isinstance(statement, kinds):
            return [*result, _assign(flags[type(statement)], ast.Constant(True), statement)]
        if isinstance(statement, ast.If) and scopes.leaves([statement], kinds):
            branches = [_flagged(part, flags) for part in (statement.body, statement.orelse)]
            result.append(ast.copy_location(ast.If(statement.test, *branches), statement))
            rest = _flagged(statements[number + 1 :], flags)
            if rest:
                result.append(ast.copy_location(ast.If(_negated(list(flags.values()), rest[0]), rest, []), rest[0]))
            return result
        result.append(statement)
    return result


def _without_returns(statements: Sequence[ast.stmt], at: ast.AST) -> list[ast.stmt]:
    """`return` as an assignment on every path: what follows an `if` with one becomes a part of its branches."""
    result: list[ast.stmt] = []
    for number, statement in enumerate(statements):
        if isinstance(statement, ast.Return):
            return [*result, _assign(RETURNED, statement.value or ast.Constant(None), statement)]
        if isinstance(statement, ast.If) and scopes.leaves([statement], (ast.Return,)):
            rest = list(statements[number + 1 :])
            branches = [
                _without_returns([*part, *copy.deepcopy(rest)], statement)
                for part in (statement.body, statement.orelse)
            ]
            return [*result, ast.copy_location(ast.If(statement.test, *branches), statement)]
        result.append(statement)
    return [*result, _assign(RETURNED, ast.Constant(None), at)]
