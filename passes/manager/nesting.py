"""
Nested pipelines: `builtin.module(func.func(cse,canonicalize),inline)`.

A pass inside an anchor runs on each operation of that name directly inside the operation around it, and sees nothing
else of the module.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation
    from xdsl.passes import ModulePass

MODULE = "builtin.module"
ANY = "any"
"""Matches every operation that has regions."""

ANCHORS = (MODULE, "func.func", "gpu.module", "gpu.func", "llvm.func", ANY)

Path: TypeAlias = tuple[str, ...]
"""The anchors around a pass, from the outermost; without the module that the pipeline runs on."""

_OPENING, _CLOSING = "({[", ")}]"


class NestingError(ValueError):
    """Parentheses that do not match, or an anchor that does not exist; `position` is in the pipeline's text."""

    def __init__(self, message: str, position: int):
        super().__init__(message)
        self.position = position


@dataclass(frozen=True)
class NestedPass:
    """A pass that runs on each operation at a path of anchors."""

    inner: ModulePass
    anchors: Path

    @property
    def name(self) -> str:
        return self.inner.name

    def targets(self, module: ModuleOp) -> list[Operation]:
        """The operations to run on."""
        found: list[Operation] = [module]
        for anchor in self.anchors:
            found = [op for parent in found for op in _inside(parent) if _matches(op, anchor)]
        return found

    def apply_to(self, ctx: Context, op: Operation) -> Operation:
        """Run on one operation, in a module of its own; returns the operation that is in its place."""
        from xdsl.dialects.builtin import ModuleOp
        from xdsl.rewriter import InsertPoint, Rewriter

        if isinstance(op, ModuleOp):
            self.inner.apply(ctx, op)
            return op
        block, following = op.parent, op.next_op
        assert block is not None, "an operation with an anchor is inside of another"
        op.detach()
        alone = ModuleOp([op])
        alone.location = op.location
        try:
            self.inner.apply(ctx, alone)
        finally:
            left = list(alone.body.block.ops)
            for one in left:
                one.detach()
            place = InsertPoint.at_end(block) if following is None else InsertPoint.before(following)
            Rewriter.insert_op(left, place)
        return next((one for one in left if one.name == op.name), op)

    def apply(self, ctx: Context, module: ModuleOp) -> None:
        """Run on every operation at the path."""
        for op in self.targets(module):
            self.apply_to(ctx, op)


AnyPass: TypeAlias = "ModulePass | NestedPass"


def _inside(op: Operation) -> Iterator[Operation]:
    for region in op.regions:
        for block in region.blocks:
            yield from block.ops


def _matches(op: Operation, anchor: str) -> bool:
    return bool(op.regions) if anchor == ANY else op.name == anchor


def split_pipeline(text: str) -> list[tuple[Path, str]]:
    """The passes of a pipeline with the anchors around each. Raises NestingError."""
    found = [(path, spec) for path, spec in _elements(text, 0, ())]
    roots = {path[:1] for path, _ in found}
    return [(path[1:], spec) for path, spec in found] if roots == {(MODULE,)} else found


def _elements(text: str, offset: int, path: Path) -> Iterator[tuple[Path, str]]:
    """The passes of `text`, which begins at `offset` of the pipeline, inside the anchors `path`."""
    for start, element in _split_at_commas(text, offset):
        name, parenthesis, rest = element.partition("(")
        if not parenthesis or "{" in name:
            yield path, element.strip()
            continue
        anchor = name.strip()
        if anchor not in ANCHORS:
            raise NestingError(f"'{anchor}' is no anchor; those are {', '.join(ANCHORS)}", start)
        body, tail = rest.rstrip(), ""
        if not body.endswith(")"):
            tail = body[body.rfind(")") + 1 :]
            raise NestingError(f"expected a comma before '{tail.strip()}'", start + len(element.rstrip()) - len(tail))
        yield from _elements(body[:-1], start + len(name) + 1, (*path, anchor))


def _split_at_commas(text: str, offset: int) -> Iterator[tuple[int, str]]:
    """The parts between commas outside of brackets and quotes, each with its position."""
    open_: list[tuple[str, int]] = []
    start, quoted = 0, False
    for index, character in enumerate(text):
        if character == '"':
            quoted = not quoted
        if quoted:
            continue
        if character in _OPENING:
            open_.append((character, index))
        elif character in _CLOSING:
            if not open_ or _OPENING.index(open_.pop()[0]) != _CLOSING.index(character):
                raise NestingError(f"nothing is open that '{character}' closes", offset + index)
        elif character == "," and not open_:
            yield offset + start, text[start:index]
            start = index + 1
    if open_:
        raise NestingError(f"'{open_[-1][0]}' is never closed", offset + open_[-1][1])
    if text.strip():
        yield offset + start, text[start:]


def nested_text(passes: Sequence[tuple[Path, str]]) -> str:
    """The text of passes with the anchors around each; neighbours share their anchors."""
    parts: list[str] = []
    open_: Path = ()
    for path, spec in passes:
        shared = next((n for n, pair in enumerate(zip(open_, path, strict=False)) if pair[0] != pair[1]), -1)
        shared = min(len(open_), len(path)) if shared < 0 else shared
        parts.append(")" * (len(open_) - shared))
        parts.append("," if any(parts) else "")
        parts.append("".join(f"{anchor}(" for anchor in path[shared:]) + spec)
        open_ = path
    return "".join(parts) + ")" * len(open_)
