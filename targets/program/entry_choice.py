"""Another function of a module in the place of @main: `hlo-run --entry`, `hlo-aot --entry`."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute

from ...dialects.support.kernel import PROGRAM
from ...hlo_dialect.diagnostics import Diagnostic, DiagnosticError
from ...hlo_dialect.entry import ENTRY


def public_functions(module: ModuleOp) -> list[str]:
    """The names of the functions that other modules may call, in order. Raises DiagnosticError if there are none."""
    found = [op for op in module.body.block.ops if isinstance(op, func.FuncOp) and not op.is_declaration]
    names = [op.sym_name.data for op in found if op.sym_visibility is None or op.sym_visibility.data == "public"]
    if not names:
        raise DiagnosticError(Diagnostic("error", "the program has no public function", module.location))
    return names


def choose_entry(module: ModuleOp, name: str) -> None:
    """
    Rename function `name` to @main, and the old @main, now private, to @main_0; calls follow. Raises DiagnosticError,
    also for a lowered program, which is called by its attribute's word.
    """
    name = name.removeprefix("@")
    if PROGRAM in module.attributes:
        message = "--entry is for programs of the hlo dialect: this one is lowered, with its entry"
        raise DiagnosticError(Diagnostic("error", message, module.location))
    functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, func.FuncOp)}
    if name not in functions:
        from difflib import get_close_matches

        close = get_close_matches(name, functions, n=1)
        hint = f"; did you mean @{close[0]}?" if close else f"; there are {', '.join('@' + each for each in functions)}"
        raise DiagnosticError(Diagnostic("error", f"--entry: no function is named @{name}{hint}", module.location))
    chosen = functions[name]
    if chosen.is_declaration:
        raise DiagnosticError(Diagnostic("error", f"--entry: @{name} has no body", chosen.location))
    renamed = {name: ENTRY}
    if name != ENTRY and ENTRY in functions:
        renamed[ENTRY] = next(free for n in range(len(functions) + 1) if (free := f"{ENTRY}_{n}") not in functions)
    for symbol, function in functions.items():
        if symbol in renamed:
            function.properties["sym_name"] = StringAttr(renamed[symbol])
        # Only what the entry calls is compiled.
        function.properties["sym_visibility"] = StringAttr("public" if function is chosen else "private")
    for op in module.walk():
        for attributes in (op.properties, op.attributes):
            for key, attribute in attributes.items():
                attributes[key] = _respelled(attribute, renamed)


def hide_other_functions(module: ModuleOp) -> None:
    """Make every function but @main private, so that what it does not call is not compiled."""
    functions = [op for op in module.body.block.ops if isinstance(op, func.FuncOp)]
    if PROGRAM not in module.attributes and any(op.sym_name.data == ENTRY for op in functions):
        for op in functions:
            if op.sym_name.data != ENTRY:
                op.properties["sym_visibility"] = StringAttr("private")


def _respelled(attribute: Attribute, renamed: dict[str, str]) -> Attribute:
    """The attribute with its references to functions renamed."""
    match attribute:
        case SymbolRefAttr() if attribute.root_reference.data in renamed:
            return SymbolRefAttr(renamed[attribute.root_reference.data], attribute.nested_references)
        case ArrayAttr():
            return ArrayAttr([_respelled(part, renamed) for part in attribute])
        case DictionaryAttr():
            return DictionaryAttr({key: _respelled(part, renamed) for key, part in attribute.data.items()})
        case _:
            return attribute
