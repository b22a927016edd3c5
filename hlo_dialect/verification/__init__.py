"""The verifier: whether a module is valid."""

from .verifier import facts_of as facts_of
from .verifier import verify_constraints as verify_constraints
from .verifier import verify_module as verify_module
from .verifier import verify_operation as verify_operation
