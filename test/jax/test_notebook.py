"""The notebook of JAX prints what it shows."""

from __future__ import annotations

import notebooks


def test_the_notebook_of_jax(monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "xhlo,cpu")  # restored, though the notebook sets it
    notebook = notebooks.read(notebooks.NOTEBOOKS / "jax.ipynb")
    shown = [cell["outputs"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert notebooks.run_cells(notebook) == shown
