"""The verifier: whether a module is valid."""

from .verifier import verify_module as verify_module
