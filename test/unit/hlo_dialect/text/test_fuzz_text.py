"""Random programs as text: every form reads back as the same module, and broken text is refused with a diagnostic."""

from __future__ import annotations

import random
import re

import pytest

from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.printing import print_module
from xhlo.hlo_dialect.reading import parse_module
from xhlo.tools.fuzzing.checks import FORMS, check_text
from xhlo.tools.fuzzing.operations import random_program
from xhlo.tools.fuzzing.programs import SMALL


@pytest.mark.long
def test_text_reads_back_as_itself() -> None:
    for seed in range(1000, 1012):
        check_text(random_program(random.Random(seed)))


@pytest.mark.long
@pytest.mark.sample(3)
@pytest.mark.parametrize("first", range(0, 60, 20))
def test_text_of_seeds_reads_back_as_itself(first: int) -> None:
    """Each program in one form; those of `test_text_reads_back_as_itself` in all."""
    for seed in range(first, first + 20):
        check_text(random_program(random.Random(seed)), [FORMS[seed % len(FORMS)]])


_TOKEN = re.compile(r'"[^"\n]*"|[%#@!^]?[\w.$-]+(?:#\d+)?|->|\s+|.')


def broken(numbers: random.Random, text: str) -> str:
    """The text with one to three tokens removed, doubled, exchanged or replaced, or with its end cut off."""
    tokens = _TOKEN.findall(text)
    for _ in range(numbers.randint(1, 3)):
        place, other = numbers.randrange(len(tokens)), numbers.randrange(len(tokens))
        way = numbers.randrange(6)
        if way == 0:
            del tokens[place]
        elif way == 1:
            tokens.insert(place, tokens[place])
        elif way == 2:
            tokens[place], tokens[other] = tokens[other], tokens[place]
        elif way == 3:
            tokens[place] = tokens[other]
        elif way == 4:
            names = [i for i, token in enumerate(tokens) if token.isdigit()]
            if names:
                tokens[numbers.choice(names)] = str(numbers.choice((0, 1, 2, 7, -1)))
        elif numbers.random() < 0.3:
            del tokens[place:]
        if not tokens:
            break
    return "".join(tokens)


def check_broken(seed: int) -> None:
    """Broken text is still a valid module, which prints, or a DiagnosticError; both readers agree."""
    numbers = random.Random(seed)
    program = random_program(numbers, SMALL)
    text = print_module(parse_module(program.text, "random.mlir", make_context()), **numbers.choice(FORMS[:3]))  # pyright: ignore
    for _ in range(5):
        changed = broken(numbers, text)
        found: list[str | None] = []
        for fast in (True, False):
            try:
                module = parse_module(changed, "random.mlir", make_context(), fast=fast)
                found.append(print_module(module))
            except DiagnosticError:
                found.append(None)
        assert found[0] == found[1], changed


@pytest.mark.long
@pytest.mark.sample(3)
@pytest.mark.parametrize("first", range(0, 60, 20))
def test_broken_text_is_refused(first: int) -> None:
    for seed in range(first, first + 20):
        try:
            check_broken(seed)
        except Exception as error:
            error.add_note(f"seed: {seed}")
            raise
