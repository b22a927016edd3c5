"""Words for the use of the memory of a program's arguments; without xDSL, for programs that are loaded without it."""

UNTOUCHED, OVERWRITTEN = -2, -1
"""An argument that the program only reads; one that it overwrites, though no result is there."""
