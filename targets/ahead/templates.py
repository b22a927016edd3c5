"""Texts of other languages with names in place of what differs: those of the program, and numbers."""

from __future__ import annotations

import re


def filled(template: str, **words: object) -> str:
    """The text with these words in place of their names; a word is not looked through for others' names."""
    return re.sub("|".join(words), lambda name: str(words[name[0]]), template)
