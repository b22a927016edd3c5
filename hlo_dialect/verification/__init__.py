"""The verifier: whether a module is valid."""

from .verifier import verify_module as verify_module
from .verifier import verify_operation as verify_operation
