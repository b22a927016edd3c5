"""White space and comments in HLO text."""

from __future__ import annotations

from ...hlo_dialect.regular_expressions import compile_pattern

_COMMENT = r"/\*(?:[^*]|\*(?!/))*+\*/|//[^\n]*+"

BLANK = rf"(?:\s++|{_COMMENT})*+"
"""The pattern of white space and comments, or of nothing."""

SPACE = compile_pattern(BLANK)
COMMENT = compile_pattern(_COMMENT)
