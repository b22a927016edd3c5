"""`--verify-numerics`: passes keep a program's results."""


class NumericsError(Exception):
    """A pass that changes a program's results; the message names it and what changed."""
