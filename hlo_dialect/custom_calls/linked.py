"""The names of calls of LAPACK that compiled code makes by itself, for modules that every program loads."""

from __future__ import annotations

LINKED = "xhlo.lapack"
"""The target (linked_lapack.py)."""

ROUTINE = "routine"
"""The attribute that names the target of LAPACK; the other attributes are that target's."""

PARTS = "parts"
"""The attribute with the number of parts of the batch that threads may take; 1 without it."""
