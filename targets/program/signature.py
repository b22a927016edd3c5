"""
How a program is called from Python: the names of its arguments, and the trees that hold them and its results.

A program takes arrays in an order. A function that JAX lowered takes trees of them, and JAX leaves out of the program
the arguments that it does not use; `in_tree=` and `out_tree=` of `xhlo.compile` state trees for other programs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from ...hlo_dialect.arrays import ArrayType
from .trees import flatten, flatten_as, unflatten


class Tree(Protocol):
    """A structure without leaves; JAX's `PyTreeDef` is one."""

    @property
    def num_leaves(self) -> int: ...

    def flatten_up_to(self, xs: Any, /) -> list[Any]: ...

    def unflatten(self, leaves: Sequence[Any], /) -> Any: ...


@dataclass(frozen=True)
class ExampleTree:
    """The structure of nested tuples, lists, dicts, dataclasses and None."""

    structure: Any

    @staticmethod
    def of(example: Any) -> ExampleTree:
        return ExampleTree(flatten(example)[1])

    @property
    def num_leaves(self) -> int:
        return _leaves(self.structure)

    def flatten_up_to(self, xs: Any, /) -> list[Any]:
        return flatten_as(self.structure, xs)

    def unflatten(self, leaves: Sequence[Any], /) -> Any:
        return unflatten(self.structure, leaves)


def _leaves(structure: Any) -> int:
    return 1 if isinstance(structure, str) else sum(map(_leaves, structure[1]))


def tree_of_arguments(given: Any) -> Tree:
    """
    The tree of (arguments, keyword arguments) for `in_tree=`: a PyTreeDef of those, or a tuple with an example of each
    positional argument.
    """
    if hasattr(given, "flatten_up_to"):
        return cast("Tree", given)
    if not isinstance(given, tuple):
        kind = type(given).__name__
        raise TypeError(f"in_tree= takes a PyTreeDef or a tuple with an example of each argument, got {kind}")
    return ExampleTree.of((cast("tuple[Any, ...]", given), {}))


def tree_of_result(given: Any) -> Tree:
    """The tree for `out_tree=`: a PyTreeDef, or an example of the result."""
    return cast("Tree", given) if hasattr(given, "flatten_up_to") else ExampleTree.of(given)


@dataclass(frozen=True)
class Signature:
    """The way a program is called."""

    names: tuple[str, ...] = ()
    """The program's arguments by name, empty if they have none."""
    in_tree: Tree | None = None
    """The tree of (arguments, keyword arguments)."""
    out_tree: Tree | None = None
    kept: tuple[int, ...] | None = None
    """The leaves of `in_tree` that the program takes; None for all."""
    leaf_names: tuple[str, ...] = ()
    """The leaves of `in_tree` by name, if known."""

    def fits(self, inputs: int, outputs: int) -> bool:
        """Whether the trees have as many leaves as the program has arguments and results."""
        try:
            self.check(inputs, outputs)
        except ValueError:
            return False
        return True

    def check(self, inputs: int, outputs: int) -> None:
        """Check that the trees have as many leaves as the program arguments and results. Raises ValueError."""
        if self.in_tree is not None:
            count = self.in_tree.num_leaves if self.kept is None else len(self.kept)
            if count != inputs or any(leaf >= self.in_tree.num_leaves for leaf in self.kept or ()):
                raise ValueError(f"in_tree has {count} leaves, but the program takes {inputs} arrays")
        if self.out_tree is not None and self.out_tree.num_leaves != outputs:
            count = self.out_tree.num_leaves
            raise ValueError(f"out_tree has {count} leaves, but the program returns {outputs} arrays")

    def bind(self, arguments: Sequence[Any], named: Mapping[str, Any], inputs: Sequence[ArrayType]) -> Sequence[Any]:
        """
        The program's arguments in order, from those of a call: trees as the function took them, or arrays one by one,
        by position or name. Raises TypeError.
        """
        if self.in_tree is not None:
            try:
                leaves = self.in_tree.flatten_up_to((tuple(arguments), dict(named)))
            except (TypeError, ValueError, KeyError) as error:
                # One by one, as the program takes them, is fine too; but not if something is no array.
                if len(arguments) + len(named) != len(inputs) or any(map(_is_container, arguments)):
                    raise TypeError(self._wrong_tree(len(arguments) + len(named), error)) from None
            else:
                return leaves if self.kept is None else [leaves[number] for number in self.kept]
        return self._bind_flat(arguments, named, inputs)

    def _bind_flat(self, arguments: Sequence[Any], named: Mapping[str, Any], inputs: Sequence[ArrayType]) -> list[Any]:
        found: dict[int, Any] = dict(enumerate(arguments))
        names = {name: index for index, name in enumerate(self.names)}
        for name, value in named.items():
            index = names.get(name)
            if index is None:
                raise TypeError(f"no argument is named '{name}'; the program takes {self.text(inputs)}")
            if index in found:
                raise TypeError(f"argument {index} ('{name}') is given twice, by position and by name")
            found[index] = value
        if sorted(found) != list(range(len(inputs))):
            raise TypeError(f"expected {len(inputs)} arguments, got {len(found)}{self._missing(found, inputs)}")
        return [found[index] for index in range(len(inputs))]

    def _missing(self, found: Mapping[int, Any], inputs: Sequence[ArrayType]) -> str:
        missing = [self._name(index) for index in range(len(inputs)) if index not in found]
        text = f"; missing: {', '.join(missing)}" if missing else f"; the program takes {self.text(inputs)}"
        return text + self.dropped_text

    def _wrong_tree(self, count: int, error: Exception) -> str:
        problem = " ".join(str(error).split()).removesuffix(".")
        given = f"{count} arguments do" if count != 1 else "the argument does"
        return f"{given} not have the structure that the function takes: {problem}{self.dropped_text}"

    def result_builder(self) -> Callable[[Sequence[Any]], Any] | None:
        """Makes the result from its arrays; None if that is one array or a tuple of them, as without a tree."""
        if self.out_tree is None:
            return None
        leaves = [object() for _ in range(self.out_tree.num_leaves)]
        built: Any = self.out_tree.unflatten(leaves)
        plain = leaves[0] if len(leaves) == 1 else tuple(leaves)
        return None if type(built) is type(plain) and built == plain else self.out_tree.unflatten

    @property
    def dropped(self) -> tuple[int, ...]:
        """The leaves of `in_tree` that the program does not take."""
        if self.in_tree is None or self.kept is None:
            return ()
        return tuple(sorted(set(range(self.in_tree.num_leaves)) - set(self.kept)))

    @property
    def dropped_text(self) -> str:
        """Which arguments JAX left out, for messages."""
        if not self.dropped:
            return ""
        names = [self.leaf_names[leaf] if self.leaf_names else str(leaf) for leaf in self.dropped]
        which = f"argument{'s' * (len(names) > 1)} {', '.join(names)}"
        return f"; JAX dropped the {which} of the function, which the program does not use"

    def _name(self, index: int) -> str:
        return self.names[index] if index < len(self.names) and self.names[index] else f"argument {index}"

    def text(self, inputs: Sequence[ArrayType]) -> str:
        """`(x: float32[4, 8], float32[])`."""
        names = self.names or ("",) * len(inputs)
        types = map(shape_text, inputs)
        return f"({', '.join(f'{name}: {type_}' if name else type_ for name, type_ in zip(names, types, strict=True))})"


def signature_of(program: Any) -> Signature | None:
    """
    The signature of what JAX lowered or exported: its trees, the leaves that are arguments of the program, and the
    names of JAX's debug information. None for any other program.
    """
    in_tree, out_tree = getattr(program, "in_tree", None), getattr(program, "out_tree", None)
    if not hasattr(in_tree, "flatten_up_to") or not hasattr(out_tree, "flatten_up_to"):
        return None
    # A Lowered does not show these two; without them its arguments are all leaves, without names.
    compiled: Any = getattr(getattr(program, "_lowering", None), "compile_args", None) or {}
    kept: Any = getattr(program, "module_kept_var_idx", None)
    if kept is None:
        kept = compiled.get("kept_var_idx")
    debug: Any = getattr(compiled.get("all_args_info"), "debug_info", None)
    names = tuple(map(str, getattr(debug, "arg_names", None) or ()))
    leaves = cast("Tree", in_tree).num_leaves
    return Signature(
        in_tree=cast("Tree", in_tree),
        out_tree=cast("Tree", out_tree),
        kept=None if kept is None else tuple(sorted(kept)),
        leaf_names=names if len(names) == leaves else (),
    )


def shape_text(type_: ArrayType) -> str:
    """`float32[4, 8]`, as jax prints types; `?` for unknown sizes."""
    return f"{type_.dtype}[{', '.join('?' if size < 0 else str(size) for size in type_.shape)}]"


def _is_container(value: Any) -> bool:
    return value is None or isinstance(value, (tuple, list, dict))
