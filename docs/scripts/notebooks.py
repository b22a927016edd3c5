"""
Runs the notebooks of docs/notebooks and stores what their cells print: `python docs/scripts/notebooks.py FILE.ipynb ..`

The cells of a notebook run in this process, one after the other, in one namespace. Outputs are text: what a cell
prints, and the value of the expression that it ends with.
"""

from __future__ import annotations

import ast
import io
import json
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def run_cells(notebook: Any) -> list[list[Any]]:
    """The outputs of each code cell, as the notebook format stores them. Raises what a cell raises."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return [run_cell("".join(cell["source"]), number, namespace) for number, cell in enumerate(cells, 1)]


def run_cell(source: str, number: int, namespace: dict[str, Any]) -> list[Any]:
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    name = f"<cell {number}>"
    with redirect_stdout(printed):
        exec(compile(tree, name, "exec"), namespace)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), name, "eval"), namespace)
    outputs: list[Any] = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())})
    if value is not None:
        data = {"text/plain": _lines(repr(value))}
        outputs.append({"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
    return outputs


def text_of(outputs: list[Any]) -> str:
    """The outputs of a cell as one text."""
    return "\n".join("".join(output.get("text") or output["data"]["text/plain"]).rstrip() for output in outputs)


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main(paths: list[str]) -> None:
    for path in map(Path, paths):
        notebook = read(path)
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        for number, (cell, outputs) in enumerate(zip(cells, run_cells(notebook), strict=True), 1):
            cell |= {"outputs": outputs, "execution_count": number}
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
