from collections.abc import Mapping
from xdsl.ir import Operation
from .builder import Pattern
PATTERNS: Mapping[type[Operation], Pattern] = {}
