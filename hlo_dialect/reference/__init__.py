"""The reference interpreter: the NumPy semantics of whole programs."""

from .interpreter import evaluate as evaluate
