"""Marks the root as a package, so that relative imports between the floors resolve in editors and type checkers."""
