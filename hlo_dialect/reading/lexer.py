"""
A lexer of MLIR text that finds each token with one regular expression.

xDSL's lexer takes 3 us per token, and the parser spends most of its time in it. The tokens are the same; text that this
lexer does not match (an error, a character outside ASCII) goes to xDSL's, which reports what is wrong.
"""

from __future__ import annotations

import re

from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Position, Span, Token
from xdsl.utils.mlir_lexer import KIND_BY_PUNCTUATION_SPELLING, MLIRLexer, MLIRToken, MLIRTokenKind

from ..regular_expressions import compile_pattern

BLANK = r"\s*+(?://[^\n]*+\s*+)*+"
"""The pattern of white space and comments, or of nothing."""

SUFFIX = r"(?:[0-9]+|[a-zA-Z$._-][a-zA-Z0-9$._-]*)"
"""The pattern of a name after its sigil."""

_TOKEN = compile_pattern(
    rf"{BLANK}"
    r"(?:([a-zA-Z_][a-zA-Z0-9_$.]*)"
    rf"|(%{SUFFIX})"
    r"|(->|[:,()}\[\]<>=+/*?|]|\{(?!-#)|-)"
    r"|([0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?)"
    r"|(0x[0-9a-fA-F]+|[0-9]+)"
    rf"|(\#(?!-\}}){SUFFIX})"
    rf"|(!{SUFFIX})"
    rf"|(\^{SUFFIX})"
    r'|("[^"\\\n\v\f]*")'
    r"|(@[a-zA-Z_][a-zA-Z0-9_$.]*)"
    r")",
    re.ASCII,
)
_KINDS: tuple[MLIRTokenKind | None, ...] = (
    None,
    MLIRTokenKind.BARE_IDENT,
    MLIRTokenKind.PERCENT_IDENT,
    None,
    MLIRTokenKind.FLOAT_LIT,
    MLIRTokenKind.INTEGER_LIT,
    MLIRTokenKind.HASH_IDENT,
    MLIRTokenKind.EXCLAMATION_IDENT,
    MLIRTokenKind.CARET_IDENT,
    MLIRTokenKind.STRING_LIT,
    MLIRTokenKind.AT_IDENT,
)
_PUNCTUATION = 3

MAX_DIGITS = 1000
"""The longest integer token; Python itself refuses a few thousand digits."""


class HloLexer(MLIRLexer):
    """xDSL's lexer, faster."""

    # xDSL's own expression takes exponential time on a string without an end.
    _unescaped_characters_regex = compile_pattern(r'"[^"\\\n\v\f]*+(?:\\(?:["nt\\]|[0-9A-Fa-f]{2})[^"\\\n\v\f]*+)*+"')

    def lex(self) -> MLIRToken:
        match = _TOKEN.match(self.input.content, self.pos)
        if match is None or (group := match.lastindex) is None:
            return super().lex()
        start, self.pos = match.span(group)
        if group == _PUNCTUATION:
            kind = KIND_BY_PUNCTUATION_SPELLING[match[group]]
        else:
            kind = _KINDS[group]
            assert kind is not None
            if kind is MLIRTokenKind.INTEGER_LIT and self.pos - start > MAX_DIGITS:
                message = f"an integer of {self.pos - start} digits is too long"
                raise ParseError(Span(start, self.pos, self.input), message)
        return Token(kind, Span(start, self.pos, self.input))

    def _lex_prefixed_ident(self, start_pos: Position) -> MLIRToken:
        # xDSL's own message has the name of a variable in place of the character.
        if self._suffix_id.match(self.input.content, self.pos) is None:
            span = Span(start_pos, self.pos, self.input)
            raise ParseError(span, f"expected a name or a number after '{span.text}'")
        return super()._lex_prefixed_ident(start_pos)
