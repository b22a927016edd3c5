"""
The meaning of custom call targets: a registry by name, and the targets that xhlo defines itself.

A family file ends with `TARGETS = (...)`; `registry.py` collects them at the first look-up. A target's name is never
looked up in the process or on disk.
"""
