"""Tokens: values without content that order side effects. The reference carries an empty array for each."""

from __future__ import annotations

import numpy as np
from xdsl.ir import ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition

TOKEN = np.empty((0,), np.bool_)
"""The value of every token in the interpreter."""


@irdl_attr_definition
class TokenType(ParametrizedAttribute, TypeAttribute):
    """`!hlo.token`: the type of values that hold nothing and order side effects."""

    name = "hlo.token"


token = TokenType()

ATTRIBUTES = (TokenType,)
