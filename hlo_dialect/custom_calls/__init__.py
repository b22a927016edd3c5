"""
What the targets of custom calls mean: a registry by name, and the targets that xhlo knows itself.

A family file ends with `TARGETS = (...)`; `registry.py` collects them at the first look-up. Nothing is ever looked up
in the process or on disk by a target's name.
"""
