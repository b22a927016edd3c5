"""The reference interpreter: the NumPy semantics of whole programs."""

from .programs import evaluate as evaluate
